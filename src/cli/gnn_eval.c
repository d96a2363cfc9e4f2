/* gnn_eval.c: `sooth gnn eval` and `sooth gnn predict`. */
#include "base/threads.h"
#include "cli/gnn_args.h"
#include "cli/terminal.h"
#include "gnn/baseline.h"
#include "gnn/use.h"
#include "learn/score.h"
#include "report/gnn_report.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static const char DEFAULT_GPU[] = "a100-sxm4-40gb";

typedef struct scoring {
    gnn_job job;
    gnn_role role;
    const char *model_path, *set_path;
    double seconds, processor_seconds;
    struct {
        gnn_score *items;
        int32_t count, capacity;
    } scores;
} scoring;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Group of a label: all, its family, or its GPU. */
typedef enum grouping { ALL, BY_GPU, BY_FAMILY, GROUPINGS } grouping;
static const char *const GROUPING_NAMES[GROUPINGS] = {"", "gpu", "family"};

static const char *group_of(const gnn_set *s, int32_t row, grouping by)
{
    const gnn_row *r = &s->rows.items[row];
    return by == ALL ? "" : by == BY_GPU ? s->settings.items[r->setting].is.gpu : s->examples.items[r->graph].family;
}

static bool is_trained(const scoring *s, int output)
{
    return s->job.model.outputs >> output & 1;
}

/* Adds the score of one output over a group. `values` and their interval factors are in the output's unit. */
static void add_score(scoring *s, const char *predictor, int output, grouping by, const char *group,
                      const double *values, bool has_interval)
{
    const gnn_set *set = &s->job.set;
    arena *a = &s->job.in.arena;
    const gnn_model *m = &s->job.model;
    arena_mark mark = arena_marked(&set->scratch);
    arena *scratch = &s->job.set.scratch;
    scored *rows = ARENA_ARRAY(scratch, scored, (size_t)set->rows.count + 1);
    size_t count = 0;
    for (int32_t r = 0; r < set->rows.count; r++) {
        double value = values[(size_t)r * GNN_OUTPUTS + (size_t)output];
        float target = set->rows.items[r].target[output];
        if (set->roles[r] != s->role || isnan(target) || isnan(value) || strcmp(group_of(set, r, by), group) != 0)
            continue;
        rows[count++] = (scored){exp((double)target), value, has_interval ? value * exp((double)m->low[output]) : NAN,
                                 has_interval ? value * exp((double)m->high[output]) : NAN};
    }
    if (count) {
        score x = score_of(rows, count, scratch);
        gnn_score *to = ARENA_PUSH(a, &s->scores);
        *to = (gnn_score){.predictor = predictor,
                          .output = GNN_OUTPUT_NAMES[output],
                          .by = GROUPING_NAMES[by],
                          .group = group,
                          .labels = (int64_t)x.n,
                          .mape = x.mape,
                          .median = x.median,
                          .p90 = x.p90,
                          .within10 = x.within10,
                          .spearman = x.spearman,
                          .coverage90 = x.coverage90};
    }
    arena_rewind(scratch, mark);
}

/* Calls add_score for each group that has a label of the role. */
static void add_groups(scoring *s, const char *predictor, int output, grouping by, const double *values)
{
    const gnn_set *set = &s->job.set;
    struct {
        const char **items;
        int32_t count, capacity;
    } seen = {0};
    for (int32_t r = 0; r < set->rows.count; r++) {
        const char *group = group_of(set, r, by);
        bool is_new = set->roles[r] == s->role;
        for (int32_t i = 0; i < seen.count && is_new; i++)
            is_new = strcmp(seen.items[i], group) != 0;
        if (is_new)
            *(const char **)ARENA_PUSH(&s->job.in.arena, &seen) = group;
    }
    for (int32_t i = 0; i < seen.count && seen.count > 1; i++)
        add_score(s, predictor, output, by, seen.items[i], values, true);
}

static void score_all(scoring *s)
{
    const gnn_set *set = &s->job.set;
    const gnn_model *m = &s->job.model;
    arena *a = &s->job.in.arena;
    size_t numbers = (size_t)set->rows.count * GNN_OUTPUTS;
    float *outputs = ARENA_ARRAY(a, float, numbers + 1);
    double *values = ARENA_ARRAY(a, double, numbers + 1);
    const gnn_evaluated of = {.set = set,
                              .scaling = &m->scaling,
                              .net = {m->layout, m->params, NULL},
                              .roles = 1U << s->role,
                              .threads = threads_available()};
    double begun = now_s(), processor_begun = processor_s();
    gnn_evaluate(&of, outputs, &s->job.in.fail);
    s->seconds = now_s() - begun;
    s->processor_seconds = processor_s() - processor_begun;
    for (size_t i = 0; i < numbers; i++)
        values[i] = is_trained(s, (int)(i % GNN_OUTPUTS)) ? exp((double)outputs[i]) : NAN;
    const char *name = GNN_KIND_NAMES[m->layout.kind];
    for (int o = 0; o < GNN_OUTPUTS; o++)
        add_score(s, name, o, ALL, "", values, true);
    for (int o = 0; o < GNN_OUTPUTS; o++)
        for (grouping by = BY_GPU; by < GROUPINGS; by++)
            add_groups(s, name, o, by, values);
    for (int i = 0; i < GNN_BASELINES; i++) {
        gnn_baseline_predict(set, (gnn_baseline)i, s->role, values, &s->job.set.scratch);
        for (int o = 0; o < GNN_OUTPUTS; o++)
            add_score(s, GNN_BASELINE_NAMES[i], o, ALL, "", values, false);
    }
}

static int64_t scored_graphs(const scoring *s)
{
    const gnn_set *set = &s->job.set;
    int64_t count = 0;
    for (int32_t r = 0, last = -1; r < set->rows.count; r++)
        if (set->roles[r] == s->role && set->rows.items[r].graph != last) {
            last = set->rows.items[r].graph;
            count++;
        }
    return count;
}

static int write_evaluation(const scoring *s)
{
    static const sooth_format FORMATS[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV};
    const gnn_args *args = s->job.args;
    const gnn_model *m = &s->job.model;
    gnn_evaluation e = {.model_path = s->model_path,
                        .set = s->set_path,
                        .model = GNN_KIND_NAMES[m->layout.kind],
                        .node_features = GNN_FEATURE_NAMES[m->which],
                        .split = GNN_SPLIT_NAMES[args->has_split ? args->split : (int)m->split],
                        .part = GNN_ROLE_NAMES[s->role],
                        .hidden = (int64_t)m->layout.hidden,
                        .epochs = m->epochs,
                        .graphs = s->job.set.examples.count,
                        .labels = (int64_t)gnn_set_role_count(&s->job.set, s->role),
                        .scored_graphs = scored_graphs(s),
                        .seconds = s->seconds,
                        .processor_seconds = s->processor_seconds,
                        .scores = s->scores.items,
                        .score_count = (size_t)s->scores.count};
    sooth_report_options options = {.format = FORMATS[args->format]};
    if (!args->output && args->format == GNN_TABLE)
        fit_terminal(&options);
    sooth_error error;
    char *text;
    size_t size;
    if (gnn_evaluation_report(&e, &options, &text, &size, &error) != SOOTH_OK)
        return cli_fail(error.code, "gnn", "%s", error.message);
    int code = cli_write(args->output, text, size);
    free(text);
    return code;
}

static int score_model(scoring *s)
{
    inputs *in = &s->job.in;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "gnn", "%s", in->error.message);
    if (gnn_set_identity(&s->job.set) != s->job.model.identity)
        cli_fail(SOOTH_ANSWER_NO, s->model_path,
                 "was trained on another set or split, and may have seen some of these labels in training");
    score_all(s);
    return write_evaluation(s);
}

int gnn_eval(const gnn_args *args, const char *model, const char *set)
{
    static const gnn_role PARTS[] = {GNN_TEST, GNN_VALIDATE, GNN_TRAIN};
    scoring s = {.role = PARTS[args->part], .model_path = model, .set_path = set};
    int code = gnn_job_open(&s.job, args);
    if (code == SOOTH_OK)
        code = gnn_job_read_model(&s.job, model);
    if (code == SOOTH_OK)
        code = gnn_job_read_set(&s.job, set, s.job.model.which, &s.job.model);
    if (code == SOOTH_OK)
        code = score_model(&s);
    gnn_job_close(&s.job);
    return code;
}

/* ---- one network ------------------------------------------------------------------------------------------------- */

static const char *either(const char *given, const char *otherwise)
{
    return given ? given : otherwise;
}

static int write_answer(const gnn_args *args, const gnn_answer *a)
{
    sooth_report_options options = {.format = args->format == GNN_JSON ? SOOTH_FORMAT_JSON : SOOTH_FORMAT_TABLE};
    if (!args->output && args->format == GNN_TABLE)
        fit_terminal(&options);
    sooth_error error;
    char *text;
    size_t size;
    if (gnn_answer_report(a, &options, &text, &size, &error) != SOOTH_OK)
        return cli_fail(error.code, "gnn", "%s", error.message);
    int code = cli_write(args->output, text, size);
    free(text);
    return code;
}

/* A separate function, because it calls setjmp. */
static int answer(gnn_job *j, const sooth_model *model, gnn_answer *a, const sooth_gpu *gpu)
{
    const sooth_predict_options *s = &j->args->settings;
    float setting[GNN_SETTINGS];
    if (setjmp(j->in.fail.jump))
        return cli_fail(j->in.error.code, a->network, "%s", j->in.error.message);
    a->precision = either(s->precision, "amp-fp16");
    a->layout = either(s->layout, "nchw");
    a->runtime = either(s->runtime, "eager");
    a->mode = either(s->mode, "infer");
    gnn_features_of_setting(gpu, a->precision, a->layout, a->runtime, a->mode, either(s->stack, ""), setting);
    gnn_prediction p = gnn_use(&j->model, model, setting, &j->in.arena);
    set_graph g = set_graph_of(model, &j->in.arena);
    a->batch = set_figures_of(&g).batch;
    a->latency_ms = p.outputs[0];
    a->energy_j = p.outputs[1];
    a->memory_mib = p.outputs[2];
    a->dippm_profile = isnan(p.outputs[2].value) ? "" : gnn_use_profile(gpu, p.outputs[2].value);
    return write_answer(j->args, a);
}

static int with_network(gnn_job *j, const char *model_path, const char *network, const sooth_gpu *gpu)
{
    model_dims dims;
    model_file file = {.model = NULL};
    sooth_error error;
    int code = model_dims_read("gnn", &j->args->dimensions, &dims);
    if (code != SOOTH_OK)
        return code;
    code = model_load(network, &file);
    if (code == SOOTH_OK && sooth_bind_open(file.model, &dims.options, &error) != SOOTH_OK)
        code = model_failed(network, &error);
    gnn_answer a = {.model_path = model_path,
                    .network = network,
                    .gpu = sooth_gpu_text(gpu, "name"),
                    .model = GNN_KIND_NAMES[j->model.layout.kind],
                    .node_features = GNN_FEATURE_NAMES[j->model.which]};
    if (code == SOOTH_OK)
        code = answer(j, file.model, &a, gpu);
    if (file.model)
        model_close(&file);
    model_dims_free(&dims);
    return code;
}

int gnn_predict(const gnn_args *args, const char *model, const char *network)
{
    gnn_job j;
    sooth_error error;
    const sooth_gpu *gpu;
    if (args->format == GNN_CSV)
        return cli_usage("gnn", "-f takes table or json here; only `sooth gnn eval` writes csv");
    int code = gnn_job_open(&j, args);
    if (code == SOOTH_OK && sooth_gpus_find(j.gpus, either(args->gpus, DEFAULT_GPU), &gpu, &error) != SOOTH_OK)
        code = error.code == SOOTH_ERROR_USAGE ? cli_usage("gnn", "--gpu: %s", error.message)
                                               : cli_fail(error.code, "gnn", "%s", error.message);
    if (code == SOOTH_OK)
        code = gnn_job_read_model(&j, model);
    if (code == SOOTH_OK)
        code = with_network(&j, model, network, gpu);
    gnn_job_close(&j);
    return code;
}
