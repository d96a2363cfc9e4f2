/* gnn_train.c: `sooth gnn train` and `sooth gnn gradient`. */
#include "base/statistics.h"
#include "cli/cluster.h"
#include "cli/gnn_args.h"
#include "cli/lock.h"
#include "cli/npz.h"
#include "cli/terminal.h"
#include "report/gnn_report.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A checkpoint is written when the last one took less than this share of the time since. */
enum { KEEP_SHARE = 20 };

/* Set by a signal handler; the training checks it between steps. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

typedef struct training {
    gnn_job job;
    gnn_trainer trainer;
    gnn_options options;
    char checkpoint[4096];
    const char *set, *subject; /* subject: of an error message */
    bool shows_progress;
    double began_s, shown_s, kept_s, keeping_s;
    double *epoch_seconds, *epoch_processor_seconds; /* durations of this run's epochs */
    int epochs_run;
} training;

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

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static int read_number(const char *name, const char *given, double least, double most, double otherwise, double *to)
{
    *to = otherwise;
    if (given && !options_decimal(given, least, most, to))
        return cli_usage("gnn", "--%s takes a number from %g to %g, not '%.60s'", name, least, most, given);
    return SOOTH_OK;
}

static int read_options(training *t, const gnn_args *args)
{
    gnn_options *o = &t->options;
    *o = (gnn_options){.kind = (gnn_kind)args->kind,
                       .hidden = (size_t)args->hidden,
                       .seed = (uint64_t)args->seed,
                       .epochs = (int)args->epochs,
                       .graphs = (int32_t)args->graphs,
                       .is_linear = args->schedule == 1};
    if (args->hidden % 32)
        return cli_usage("gnn", "--hidden takes a multiple of 32, not %lld", (long long)args->hidden);
    int code = read_number("rate", args->rate, 1e-9, 1, 2.754e-5, &o->rate);
    if (code == SOOTH_OK)
        code = read_number("dropout", args->dropout, 0, 0.9, 0.05, &o->dropout);
    if (code == SOOTH_OK)
        code = read_number("huber", args->huber, 1e-4, 100, 1, &o->huber);
    return code;
}

static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
    const uint8_t *at = from;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* Hash of the set, the split and all options. */
static uint64_t identity_of(const training *t)
{
    const gnn_options *o = &t->options;
    uint64_t hash = gnn_set_identity(&t->job.set);
    const int64_t numbers[] = {o->kind,   (int64_t)o->hidden, (int64_t)o->seed,      o->epochs,
                               o->graphs, o->is_linear,       t->job.args->features, t->job.args->split};
    const double reals[] = {o->rate, o->dropout, o->huber};
    return mix(mix(hash, numbers, sizeof numbers), reals, sizeof reals);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static void show_step(void *context, int64_t step, int64_t steps)
{
    training *t = context;
    double now = now_s();
    if (!t->shows_progress || now - t->shown_s < 0.2)
        return;
    double done = (double)t->epochs_run + (double)step / (double)steps;
    double left = (double)(t->options.epochs - t->trainer.epoch) - (double)step / (double)steps;
    t->shown_s = now;
    fprintf(stderr, "\r  epoch %d of %d, step %lld of %lld, %.0f s, %.0f s left \033[K", t->trainer.epoch + 1,
            t->options.epochs, (long long)step, (long long)steps, now - t->began_s, (now - t->began_s) * left / done);
}

static int interrupted(const training *t)
{
    bool is_kept = file_is_there(t->checkpoint);
    return cli_fail(SOOTH_ERROR_SYSTEM, "gnn", "interrupted; the same command resumes from %s",
                    is_kept ? t->checkpoint : "the beginning");
}

/* Runs the remaining epochs. */
static int run_epochs(training *t, uint64_t identity)
{
    gnn_trainer *trainer = &t->trainer;
    inputs *in = &t->job.in;
    const gnn_watch watch = {&stop, show_step, t};
    t->epoch_seconds = ARENA_ARRAY(&in->arena, double, (size_t)t->options.epochs + 1);
    t->epoch_processor_seconds = ARENA_ARRAY(&in->arena, double, (size_t)t->options.epochs + 1);
    t->began_s = t->kept_s = now_s();
    while (trainer->epoch < t->options.epochs) {
        double begun = now_s(), processor_begun = processor_s();
        double loss = gnn_trainer_epoch(trainer, &watch);
        if (stop)
            return interrupted(t);
        t->epoch_processor_seconds[t->epochs_run] = processor_s() - processor_begun;
        t->epoch_seconds[t->epochs_run++] = now_s() - begun;
        double error = gnn_trainer_validate(trainer, &in->arena), now = now_s();
        if (!t->job.args->quiet && cluster_leads())
            fprintf(stderr, "%sepoch %d/%d  loss %.5f  validation error %.2f %%  %.1f s\n",
                    t->shows_progress ? "\r\033[K" : "", trainer->epoch, t->options.epochs, loss, 100 * expm1(error),
                    now - t->began_s);
        if (isnan(loss) || isnan(error))
            return cli_fail(SOOTH_ERROR_UNSUPPORTED, "gnn", "the training diverged in epoch %d: use a smaller --rate",
                            trainer->epoch);
        if (cluster_leads() && trainer->epoch < t->options.epochs && now - t->kept_s >= KEEP_SHARE * t->keeping_s) {
            t->subject = t->checkpoint;
            gnn_file_keep(t->checkpoint, trainer, identity, &in->fail);
            t->subject = "gnn";
            t->kept_s = now_s();
            t->keeping_s = t->kept_s - now;
        }
    }
    return SOOTH_OK;
}

/* Quantiles of log(label / output) on the validation labels. */
static void set_intervals(training *t, gnn_model *m)
{
    const gnn_set *set = &t->job.set;
    arena *a = &t->job.in.arena;
    float *outputs = ARENA_ARRAY(a, float, (size_t)set->rows.count *GNN_OUTPUTS + 1);
    double *errors = ARENA_ARRAY(a, double, (size_t)set->rows.count + 1);
    const gnn_evaluated of = {.set = set,
                              .scaling = &t->trainer.scaling,
                              .net = {t->trainer.layout, t->trainer.best, NULL},
                              .roles = 1U << GNN_VALIDATE,
                              .threads = t->trainer.threads,
                              .team = t->trainer.team};
    gnn_evaluate(&of, outputs, &t->job.in.fail);
    for (int o = 0; o < GNN_OUTPUTS; o++) {
        size_t count = 0;
        for (int32_t r = 0; r < set->rows.count; r++)
            if (set->roles[r] == GNN_VALIDATE && !isnan(set->rows.items[r].target[o]))
                errors[count++] =
                    (double)set->rows.items[r].target[o] - (double)outputs[(size_t)r * GNN_OUTPUTS + (size_t)o];
        qsort(errors, count, sizeof *errors, statistics_ascending);
        m->low[o] = count ? (float)statistics_quantile(errors, count, 0.05) : 0;
        m->high[o] = count ? (float)statistics_quantile(errors, count, 0.95) : 0;
    }
}

static int write_model(training *t)
{
    const gnn_set *set = &t->job.set;
    gnn_model m = {.which = (gnn_features)t->job.args->features,
                   .layout = t->trainer.layout,
                   .outputs = gnn_set_outputs(set),
                   .split = (gnn_split)t->job.args->split,
                   .seed = t->options.seed,
                   .identity = gnn_set_identity(set),
                   .epochs = (uint32_t)t->options.epochs,
                   .scaling = t->trainer.scaling,
                   .params = t->trainer.best};
    set_intervals(t, &m);
    if (!cluster_leads())
        return SOOTH_OK;
    str bytes = gnn_file_encode(&m, &t->job.in.arena);
    int code = cli_write(t->job.args->output, bytes.ptr, bytes.len);
    if (code == SOOTH_OK)
        unlink(t->checkpoint);
    return code;
}

static double median_of(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, statistics_ascending);
    return statistics_quantile(seconds, (size_t)count, 0.5);
}

static int report(const training *t)
{
    const gnn_args *args = t->job.args;
    const gnn_set *set = &t->job.set;
    gnn_trained shown = {.set = t->set,
                         .output = args->output,
                         .model = GNN_KIND_NAMES[args->kind],
                         .node_features = GNN_FEATURE_NAMES[args->features],
                         .split = GNN_SPLIT_NAMES[args->split],
                         .schedule = t->options.is_linear ? "linear" : "constant",
                         .hidden = args->hidden,
                         .parameters = (int64_t)t->trainer.layout.count,
                         .graphs = set->examples.count,
                         .epochs = t->options.epochs,
                         .best_epoch = t->trainer.best_epoch,
                         .batch_size = t->options.graphs,
                         .seed = args->seed,
                         .left_out = (int64_t)(set->unknown_gpu + set->no_number),
                         .rate = t->options.rate,
                         .validation_error = t->trainer.best_error,
                         .seconds = now_s() - t->began_s};
    for (int32_t i = 0; i < set->examples.count; i++)
        shown.nodes += set->examples.items[i].graph.node_count;
    for (int role = 0; role < GNN_ROLES; role++)
        shown.labels[role] = (int64_t)gnn_set_role_count(set, (gnn_role)role);
    shown.epoch_seconds = median_of(t->epoch_seconds, t->epochs_run);
    shown.epoch_processor_seconds = median_of(t->epoch_processor_seconds, t->epochs_run);
    sooth_report_options options = {.format = args->format == GNN_JSON ? SOOTH_FORMAT_JSON : SOOTH_FORMAT_TABLE};
    if (args->format == GNN_TABLE)
        fit_terminal(&options);
    sooth_error error;
    char *text;
    size_t size;
    if (gnn_trained_report(&shown, &options, &text, &size, &error) != SOOTH_OK)
        return cli_fail(error.code, "gnn", "%s", error.message);
    int code = cli_write(NULL, text, size);
    free(text);
    return code;
}

/* A separate function, because it calls setjmp. */
static int begin(training *t, uint64_t *identity)
{
    inputs *in = &t->job.in;
    const char *volatile subject = "gnn";
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, subject, "%s", in->error.message);
    gnn_trainer_init(&t->trainer, &t->job.set, &t->options, cluster_threads(), cluster_team(), &in->arena);
    *identity = identity_of(t);
    subject = t->checkpoint;
    gnn_file_go_on(t->checkpoint, &t->trainer, *identity, &in->fail);
    return SOOTH_OK;
}

static int train(training *t, uint64_t identity)
{
    inputs *in = &t->job.in;
    t->subject = "gnn";
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, t->subject, "%s", in->error.message);
    int code = run_epochs(t, identity);
    return code == SOOTH_OK ? write_model(t) : code;
}

static int open_training(training *t, const gnn_args *args, const char *set)
{
    int code = gnn_job_open(&t->job, args);
    if (code == SOOTH_OK)
        code = gnn_job_read_set(&t->job, set, (gnn_features)args->features, NULL);
    t->set = set;
    return code;
}

static void close_training(training *t)
{
    gnn_trainer_free(&t->trainer);
    gnn_job_close(&t->job);
}

int gnn_train(const gnn_args *args, const char *set)
{
    training t = {.shows_progress = !args->quiet && cluster_leads() && isatty(STDERR_FILENO)};
    output_lock lock = {.file = -1};
    uint64_t identity = 0;
    if (!args->output || strcmp(args->output, "-") == 0)
        return cli_usage("gnn", "which file for the model? use -o FILE");
    if (args->format == GNN_CSV)
        return cli_usage("gnn", "-f takes table or json here; only `sooth gnn eval` writes csv");
    if (snprintf(t.checkpoint, sizeof t.checkpoint, "%s.checkpoint", args->output) >= (int)sizeof t.checkpoint)
        return cli_usage("gnn", "the path of -o is too long");
    int code = read_options(&t, args);
    if (code != SOOTH_OK)
        return code;
    code = open_training(&t, args, set);
    if (code == SOOTH_OK && cluster_leads())
        code = lock_take(&lock, "gnn", args->output);
    if (code == SOOTH_OK)
        code = begin(&t, &identity);
    code = cluster_agree(code);
    if (!cluster_team()) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    if (code == SOOTH_OK)
        code = train(&t, identity);
    if (code == SOOTH_OK && cluster_leads())
        code = report(&t);
    lock_release(&lock);
    close_training(&t);
    return code;
}

/* ---- the gradient of the first step ------------------------------------------------------------------------------ */

static void put(npz *z, const char *name, const char *type, size_t rows, size_t columns, const void *numbers)
{
    npz_begin(z, name, type, 4, rows, columns);
    npz_put(z, numbers, 4 * rows * (columns ? columns : 1));
    npz_end(z);
}

static void put_matrices(npz *z, const gnn_layout *l, const char *what, const float *values, arena *a)
{
    gnn_matrix m;
    char name[32];
    for (size_t i = 0; gnn_layout_matrix(l, i, &m, name); i++)
        put(z, arena_printf(a, "%s.%s", what, name).ptr, "<f4", m.rows, m.columns, values + m.at);
}

static int write_probe(training *t, const gnn_probe *p)
{
    cli_output out = {.path = t->job.args->output};
    npz z = {.out = &out};
    arena *a = &t->job.in.arena;
    const gnn_batch *b = &p->batch;
    int32_t *edges = ARENA_ARRAY(a, int32_t, 2 * (size_t)b->edge_count + 1);
    int32_t *graph = ARENA_ARRAY(a, int32_t, (size_t)b->node_count + 1);
    for (int32_t i = 0; i < b->node_count; i++)
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++) {
            edges[e] = b->from[e];
            edges[b->edge_count + e] = i;
        }
    for (int32_t g = 0; g < b->graph_count; g++)
        for (int32_t i = b->graph_first[g]; i < b->graph_first[g + 1]; i++)
            graph[i] = g;
    size_t nodes = (size_t)b->node_count, rows = (size_t)b->row_count;
    float loss = (float)p->loss, huber = (float)t->options.huber;
    put(&z, "nodes", "<f4", nodes, GNN_NODE_WIDTH, b->nodes);
    put(&z, "edges", "<i4", 2, (size_t)b->edge_count, edges);
    put(&z, "graph", "<i4", nodes, 0, graph);
    put(&z, "rows", "<f4", rows, GNN_ROW_WIDTH, b->rows);
    put(&z, "row_graph", "<i4", rows, 0, b->row_graph);
    put(&z, "targets", "<f4", rows, GNN_OUTPUTS, b->targets);
    put(&z, "outputs", "<f4", rows, GNN_OUTPUTS, p->outputs);
    put(&z, "loss", "<f4", 1, 0, &loss);
    put(&z, "huber", "<f4", 1, 0, &huber);
    put_matrices(&z, &t->trainer.layout, "parameter", t->trainer.params, a);
    put_matrices(&z, &t->trainer.layout, "gradient", p->gradient, a);
    npz_finish(&z);
    free(z.buffer.data);
    return cli_end(&out, !z.failed);
}

static int probe(training *t)
{
    inputs *in = &t->job.in;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "gnn", "%s", in->error.message);
    gnn_trainer_init(&t->trainer, &t->job.set, &t->options, 1, NULL, &in->arena);
    gnn_probe p = gnn_trainer_probe(&t->trainer, (int32_t)t->job.args->probed);
    return write_probe(t, &p);
}

int gnn_gradient(const gnn_args *args, const char *set)
{
    training t = {.set = set};
    if (!args->output)
        return cli_usage("gnn", "which file for the arrays? use -o OUT.npz");
    int code = read_options(&t, args);
    if (code != SOOTH_OK)
        return code;
    code = open_training(&t, args, set);
    if (code == SOOTH_OK)
        code = probe(&t);
    close_training(&t);
    return code;
}
