/* dataset_make.c: `sooth dataset make`: draws or lists the items of a data set, and writes their graphs and labels. */
#include "base/path.h"
#include "cli/cluster.h"
#include "cli/dataset_args.h"
#include "cli/lock.h"
#include "cli/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char DEFAULT_GPU[] = "a100-sxm4-40gb";

typedef struct making {
    const dataset_args *args;
    inputs in;
    const study_plan *plan; /* NULL: the operands are the networks */
    set_items items;
    set_labels labels;
    const char *weights; /* identity */
    dataset_joined joined;
    size_t graph_count; /* planned */
    dataset_file *file;
    int code; /* exit code of the first failure */
    size_t skipped;
    const char *why; /* reason of the first item without a graph or a label */
    bool shows_progress;
    double began_s, shown_s;
} making;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static const char *either(const char *given, const char *planned)
{
    return given ? given : planned;
}

static const char *planned(const making *m, study_key key)
{
    return m->plan ? m->plan->lists[key] : NULL;
}

static int read_labels(making *m, sooth_gpus *gpus)
{
    const dataset_args *args = m->args;
    bool is_predicted = strcmp(args->labels, "predicted") == 0;
    const char *names = either(args->gpus, planned(m, STUDY_GPU));
    int code = inputs_read_gpus(&m->in, gpus, names ? names : DEFAULT_GPU);
    set_labels *l = &m->labels;
    l->settings = args->settings;
    l->gpus = m->in.options.gpus;
    l->gpu_count = is_predicted ? m->in.options.gpu_count : 0;
    if (code == SOOTH_OK)
        code = inputs_read_names(&m->in, either(args->precisions, planned(m, STUDY_PRECISION)), &l->precisions,
                                 &l->precision_count);
    if (code == SOOTH_OK)
        code =
            inputs_read_names(&m->in, either(args->layouts, planned(m, STUDY_LAYOUT)), &l->layouts, &l->layout_count);
    if (code == SOOTH_OK)
        code = inputs_read_names(&m->in, either(args->runtimes, planned(m, STUDY_RUNTIME)), &l->runtimes,
                                 &l->runtime_count);
    const char *const singles[] = {planned(m, STUDY_MODE), planned(m, STUDY_OPTIMIZER), planned(m, STUDY_STACK)};
    const char **const settings[] = {&l->settings.mode, &l->settings.optimizer, &l->settings.stack};
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        if (!*settings[i])
            *settings[i] = singles[i];
    return code;
}

/* Refuses wrong names before anything is computed, and gets the identity of the weights. */
static int check_settings(making *m)
{
    sooth_error error;
    sooth_model *model = NULL;
    sooth_status status = sooth_load_file("zoo:nasbench201", &model, &error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, &(sooth_options){.batch = 1}, &error);
    const set_labels *l = &m->labels;
    size_t precisions = l->precision_count ? l->precision_count : 1, layouts = l->layout_count ? l->layout_count : 1;
    size_t runtimes = l->runtime_count ? l->runtime_count : 1;
    for (size_t i = 0; i < precisions * layouts * runtimes && status == SOOTH_OK; i++) {
        sooth_predict_options where = l->settings;
        sooth_prediction *prediction = NULL;
        where.device = m->in.options.gpus[0];
        where.precision = l->precision_count ? l->precisions[i / runtimes / layouts] : where.precision;
        where.layout = l->layout_count ? l->layouts[i / runtimes % layouts] : where.layout;
        where.runtime = l->runtime_count ? l->runtimes[i % runtimes] : where.runtime;
        status = sooth_predict(model, &where, &prediction, &error);
        if (status == SOOTH_OK)
            m->weights = arena_str(&m->in.arena, str_of(sooth_prediction_totals_of(prediction).weights)).ptr;
        sooth_prediction_free(prediction);
        /* Such as fp8 on a GPU without fp8 units; its labels contain the error. */
        if (status == SOOTH_ERROR_UNSUPPORTED)
            status = SOOTH_OK;
    }
    sooth_free(model);
    if (status == SOOTH_ERROR_USAGE)
        return cli_usage("dataset", "%s", error.message);
    return status == SOOTH_OK ? SOOTH_OK : cli_fail(status, "dataset", "%s", error.message);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static void show_drawing(void *context, size_t drawn, size_t wanted)
{
    making *m = context;
    double now = now_s();
    if (!m->shows_progress || (now - m->shown_s < 0.1 && drawn < wanted))
        return;
    m->shown_s = now;
    fprintf(stderr, "\r  %zu of %zu graphs drawn %s", drawn, wanted, drawn == wanted ? "\n" : "");
}

static const char *plain_name(making *m, const char *graph)
{
    if (strncmp(graph, "zoo:", 4) == 0)
        return graph + strlen("zoo:");
    return arena_str(&m->in.arena, path_stem(str_of(graph))).ptr;
}

/* The family of a file is unknown, so graphs of one architecture are grouped by `architecture`. */
static void list_networks(making *m)
{
    const sooth_survey_options *o = &m->in.options;
    for (size_t i = 0; i < o->network_count; i++) {
        set_item *item = ARENA_PUSH(&m->in.arena, &m->items);
        item->spec = o->networks[i].graph;
        item->name = o->networks[i].name ? o->networks[i].name : plain_name(m, item->spec);
        item->family = "";
        item->batches = o->batches;
        item->batch_count = o->batch_count;
    }
}

static int fill_items(making *m)
{
    inputs *in = &m->in;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "dataset", "%s", in->error.message);
    if (m->plan)
        set_draw(m->plan, &(set_drawing){cluster_threads(), show_drawing, m}, &m->items, &in->arena, &in->fail);
    else
        list_networks(m);
    const char *labels = m->args->labels;
    if (strcmp(labels, "predicted") != 0 && strcmp(labels, "none") != 0)
        m->joined = dataset_rows_join(in, labels, &m->items, m->plan || m->args->batches, cluster_threads());
    for (int32_t i = 0; i < m->items.count; i++)
        m->graph_count += m->items.items[i].batch_count;
    return SOOTH_OK;
}

static int read_plan(making *m, int operand_count)
{
    inputs *in = &m->in;
    if (operand_count && m->args->plan)
        return cli_usage("dataset", "give --plan or networks, not both");
    if (operand_count)
        return SOOTH_OK;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "dataset", "%s", in->error.message);
    study_plan *plan = arena_copy(
        &in->arena, study_plan_open(m->args->plan ? m->args->plan : "dippm", &in->arena, &in->fail), 1, sizeof *plan);
    if (m->args->seed >= 0)
        plan->seed = (uint64_t)m->args->seed;
    m->plan = plan;
    return SOOTH_OK;
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
    const uint8_t *at = from;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *s)
{
    return mix(hash, s ? s : "", strlen(s ? s : "") + 1);
}

static uint64_t mix_list(uint64_t hash, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = mix_text(hash, list[i]);
    return mix(hash, &count, sizeof count);
}

/* Hashes everything that determines the contents of the set. */
static uint64_t identity_of(const making *m)
{
    const set_labels *l = &m->labels;
    uint64_t hash = mix_text(mix_text(0xcbf29ce484222325u, sooth_version()), m->weights);
    for (int32_t i = 0; i < m->items.count; i++) {
        const set_item *item = &m->items.items[i];
        struct stat file;
        hash = mix_text(mix_text(hash, item->spec), item->name);
        hash = mix(hash, item->batches, item->batch_count * sizeof *item->batches);
        if (stat(item->spec, &file) == 0)
            hash = mix(mix(hash, &file.st_size, sizeof file.st_size), &file.st_mtim, sizeof file.st_mtim);
    }
    for (size_t g = 0; g < l->gpu_count; g++) {
        const char *field;
        hash = mix_text(hash, sooth_gpu_text(l->gpus[g], "name"));
        for (size_t i = 0; (field = sooth_gpu_field(i)); i++) {
            double number = sooth_gpu_number(l->gpus[g], field);
            hash = mix(hash, &number, sizeof number);
        }
    }
    hash = mix_list(hash, l->precisions, l->precision_count);
    hash = mix_list(mix_list(hash, l->layouts, l->layout_count), l->runtimes, l->runtime_count);
    const sooth_predict_options *s = &l->settings;
    hash = mix_text(mix_text(mix_text(mix_text(mix_text(mix_text(hash, s->precision), s->layout), s->runtime), s->mode),
                             s->optimizer),
                    s->stack);
    hash = mix(hash, &m->joined.hash, sizeof m->joined.hash);
    return mix_text(hash, m->args->labels);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void compute(void *context, size_t item, size_t worker, bytes *result)
{
    const making *m = context;
    (void)worker;
    set_item_compute(&m->items.items[item], &m->labels, result);
}

static bool consume(void *context, size_t item, str result)
{
    making *m = context;
    const char *why;
    double now = now_s();
    m->code = dataset_file_add(m->file, item, result, &why);
    if (*why) {
        m->skipped++;
        if (!m->why)
            m->why = strdup(why);
    }
    size_t done = item + 1, count = (size_t)m->items.count;
    if (m->shows_progress && (now - m->shown_s > 0.1 || done == count)) {
        double spent = now - m->began_s;
        m->shown_s = now;
        fprintf(stderr, "\r  %zu of %zu networks, %.0f s, %.0f s left %s", done, count, spent,
                spent * (double)(count - done) / (double)done, done == count ? "\n" : "");
    }
    return m->code == SOOTH_OK;
}

static int run_job(making *m, dataset_begun *begun)
{
    ordered_job job = {.first = begun->next_item,
                       .end = (size_t)m->items.count,
                       .threads = cluster_threads(),
                       .team = cluster_team(),
                       .context = m,
                       .compute = compute,
                       .consume = consume};
    bool is_done = ordered_run(&job);
    if (m->code != SOOTH_OK)
        return m->code;
    if (!is_done)
        return cli_fail(SOOTH_ERROR_SYSTEM, "dataset", "out of memory or threads");
    return cluster_leads() ? dataset_file_end(m->file, true) : SOOTH_OK;
}

static int report_end(const making *m, const dataset_begun *begun, int64_t graphs)
{
    size_t skipped = m->skipped + (size_t)begun->skipped;
    printf("%s: %" PRId64 " graphs of %" PRId32 " networks", m->args->output, graphs, m->items.count);
    if (m->joined.rows)
        printf(", %zu measured rows; %zu rows of the table belong to none", m->joined.rows, m->joined.unjoined);
    puts("");
    int code = cli_flush();
    if (code == SOOTH_OK && skipped)
        return cli_fail(SOOTH_ANSWER_NO, "dataset", "%zu networks have no graph at some batch, or lack a label%s%s",
                        skipped, m->why ? "; the first: " : "", m->why ? m->why : "");
    return code;
}

/* Process 0 has the file and tells the others where to begin. */
static int open_set(making *m, dataset_begun *begun, output_lock *lock)
{
    int code = lock_take(lock, "dataset", m->args->output);
    if (code == SOOTH_OK)
        code = dataset_file_write(&m->file, m->args->output, begun);
    if (code == SOOTH_OK && begun->next_item > (size_t)m->items.count)
        code = cli_fail(SOOTH_ERROR_INPUT, m->args->output, "is damaged: it has more networks than the set; remove it");
    return code;
}

static int write_set(making *m)
{
    const team *team = cluster_team();
    dataset_begun begun = {.identity = identity_of(m),
                           .weights = m->weights ? m->weights : "",
                           .plan = m->plan ? arena_str(&m->in.arena, m->plan->text).ptr : NULL,
                           .graph_count = (int64_t)m->graph_count};
    output_lock lock = {.file = -1};
    int code = cluster_agree(cluster_leads() ? open_set(m, &begun, &lock) : SOOTH_OK);
    if (code == SOOTH_OK && team)
        team->share(team->context, &begun.next_item, sizeof begun.next_item);
    m->began_s = now_s();
    if (code == SOOTH_OK)
        code = run_job(m, &begun);
    int64_t graphs = code == SOOTH_OK && m->file ? dataset_file_graphs(m->file) : 0;
    dataset_file_close(m->file);
    lock_release(&lock);
    return code == SOOTH_OK && cluster_leads() ? report_end(m, &begun, graphs) : code;
}

static int make(making *m, int operand_count, char **operands, sooth_gpus *gpus)
{
    int code = read_plan(m, operand_count);
    if (code == SOOTH_OK && !m->plan)
        code = inputs_read_networks(&m->in, operands, operand_count, NULL);
    if (code == SOOTH_OK && !m->plan)
        code = inputs_read_batches(&m->in, m->args->batches ? m->args->batches : "1");
    if (code == SOOTH_OK)
        code = read_labels(m, gpus);
    if (code == SOOTH_OK)
        code = check_settings(m);
    if (code == SOOTH_OK)
        code = fill_items(m);
    return code == SOOTH_OK ? write_set(m) : code;
}

int dataset_make(const dataset_args *args, int operand_count, char **operands)
{
    if (!args->output || strcmp(args->output, "-") == 0)
        return cli_usage("dataset", "-o SET.db is needed: a data set is an SQLite file");
    sooth_gpus *gpus;
    int code = cli_open_gpus(&gpus);
    if (code != SOOTH_OK)
        return code;
    making m = {.args = args, .shows_progress = cluster_leads() && isatty(STDERR_FILENO)};
    inputs_open(&m.in, "dataset");
    code = make(&m, operand_count, operands, gpus);
    free((char *)(uintptr_t)m.why);
    inputs_free(&m.in);
    sooth_gpus_free(gpus);
    return code;
}
