/* sweep.c: `sooth sweep`: predicts every combination of a plan into an SQLite file and reports the results. */
#include "cli/cluster.h"
#include "cli/inputs.h"
#include "cli/lock.h"
#include "cli/options.h"
#include "cli/sweep_sums.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *const FORMATS[] = {"table", "json", "html", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_HTML};
static const char DEFAULT_GPU[] = "a100-sxm4-40gb";

typedef struct sweep_args {
    const char *lists[STUDY_KEYS];
    const char *database, *report, *weights;
    bool memory;
    int format;
} sweep_args;

typedef struct sweeping {
    const sweep_args *args;
    inputs in;
    const study_plan *plan;
    const sweep *sweep;
    sweep_file *file;
    size_t first; /* First chunk of this run. */
    int code;
    bool shows_progress;
    double began_s, shown_s;
} sweeping;

static void help(const option *options, size_t count)
{
    puts("usage: sooth sweep PLAN -o OUT.db [OPTION]...\n\n"
         "Predicts every combination of a plan: families of networks with the values of their parameters and batches, "
         "on\n"
         "GPUs, slices, precisions, layouts and runtimes. doc/sweep.md has the format of plans and the schema of the\n"
         "file; its view 'results' has everything in one table.\n\nOptions:");
    options_help(options, count);
    puts("\nThe same command resumes an interrupted sweep.\n\n"
         "Examples:\n"
         "  sooth sweep plan.txt -o out.db --gpu a100,h100\n"
         "  sooth sweep plan.txt -o out.db --format html --report page.html\n"
         "  sqlite3 out.db \"SELECT gpu, max(throughput_per_s) FROM results WHERE latency_ms_high < 10 GROUP BY gpu\"");
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void compute(void *context, size_t chunk, size_t worker, bytes *result)
{
    const sweeping *s = context;
    (void)worker;
    sweep_compute(s->sweep, chunk, result);
}

static bool consume(void *context, size_t chunk, str result)
{
    sweeping *s = context;
    s->code = sweep_file_add(s->file, s->sweep, chunk, result);
    size_t done = chunk + 1 - s->first, all = s->sweep->chunk_count - s->first;
    double now = now_s();
    if (s->shows_progress && (now - s->shown_s > 0.1 || done == all)) {
        double spent = now - s->began_s;
        s->shown_s = now;
        fprintf(stderr, "\r  %.1f %% of %.0f combinations, %.0f s, %.0f s left %s",
                100 * (double)(chunk + 1) / (double)s->sweep->chunk_count, (double)s->sweep->points, spent,
                spent * (double)(all - done) / (double)done, done == all ? "\n" : "");
    }
    return s->code == SOOTH_OK;
}

static int run_job(sweeping *s)
{
    ordered_job job = {.first = s->first,
                       .end = s->sweep->chunk_count,
                       .threads = cluster_threads(),
                       .team = cluster_team(),
                       .context = s,
                       .compute = compute,
                       .consume = consume};
    s->began_s = now_s();
    bool is_done = ordered_run(&job);
    if (s->code != SOOTH_OK)
        return s->code;
    if (is_done)
        return cluster_leads() ? sweep_file_end(s->file) : SOOTH_OK;
    return cli_fail(SOOTH_ERROR_SYSTEM, "sweep", "out of memory or threads");
}

static int write_report(sweeping *s, const char *plan)
{
    sweep_summary summary = {.plan = plan, .database = s->args->database, .is_complete = true};
    sooth_report_options options = {.format = FORMAT_OF[s->args->format]};
    int code = sweep_sum_up(s->file, s->sweep, &summary, &s->in.arena, &s->in.fail);
    if (code != SOOTH_OK)
        return code;
    if (!s->args->report && options.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&options);
    char *text;
    size_t size;
    sooth_error error;
    sooth_status status = sweep_report(&summary, &options, &text, &size, &error);
    code = cli_report("sweep", s->args->report, status, &error, text, size);
    return code == SOOTH_OK && summary.failed_networks + summary.failed_points ? SOOTH_ANSWER_NO : code;
}

static int prepare(sweeping *s, const char *path, sooth_gpus *gpus, const sooth_predictor *predictor)
{
    inputs *in = &s->in;
    if (setjmp(in->fail.jump))
        return in->error.code == SOOTH_ERROR_USAGE ? cli_usage("sweep", "%s", in->error.message)
                                                   : cli_fail(in->error.code, "sweep", "%s", in->error.message);
    s->plan = study_plan_open(path, &in->arena, &in->fail);
    const char *names = s->args->lists[STUDY_GPU] ? s->args->lists[STUDY_GPU] : s->plan->lists[STUDY_GPU];
    const fail outer = in->fail; /* inputs_read_gpus() overwrites the jump. */
    int code = inputs_read_gpus(in, gpus, names ? names : DEFAULT_GPU);
    in->fail = outer;
    if (code != SOOTH_OK)
        return code;
    sweep_options options = {.gpus = in->options.gpus,
                             .gpu_count = in->options.gpu_count,
                             .predictor = predictor,
                             .memory = s->args->memory};
    memcpy(options.lists, s->args->lists, sizeof options.lists);
    s->sweep = sweep_prepare(s->plan, &options, &in->arena, &in->fail);
    return SOOTH_OK;
}

/* Process 0 has the file and tells the others where to begin. */
static int open_file(sweeping *s, output_lock *lock)
{
    int code = lock_take(lock, "sweep", s->args->database);
    return code == SOOTH_OK ? sweep_file_open(&s->file, s->args->database, s->sweep, s->plan->text, &s->first) : code;
}

static int sweep_plan(sweeping *s, const char *plan, sooth_gpus *gpus, const sooth_predictor *predictor)
{
    const team *team = cluster_team();
    output_lock lock = {.file = -1};
    int code = prepare(s, plan, gpus, predictor);
    if (code == SOOTH_OK && cluster_leads())
        code = open_file(s, &lock);
    code = cluster_agree(code);
    if (code == SOOTH_OK && team)
        team->share(team->context, &s->first, sizeof s->first);
    if (code == SOOTH_OK)
        code = run_job(s);
    if (code == SOOTH_OK && cluster_leads())
        code = write_report(s, plan);
    sweep_file_close(s->file);
    lock_release(&lock);
    return code;
}

static int with_resources(const sweep_args *args, const char *plan)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        sweeping s = {.args = args, .shows_progress = cluster_leads() && isatty(STDERR_FILENO)};
        inputs_open(&s.in, "sweep");
        code = sweep_plan(&s, plan, gpus, predictor);
        inputs_free(&s.in);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

int sweep_main(int argc, char **argv)
{
    sweep_args args = {.database = NULL};
    const option options[] = {
        TEXT_OPTION("gpu", &args.lists[STUDY_GPU], "NAME,...", "GPUs, or paths of GPU files, in place of the plan's"),
        TEXT_OPTION("slice", &args.lists[STUDY_SLICE], "NAME,...", "MIG slices; 'whole' stands for the whole GPU"),
        TEXT_OPTION("precision", &args.lists[STUDY_PRECISION], "NAME,...",
                    "precisions as in `sooth predict`; amp by default"),
        TEXT_OPTION("layout", &args.lists[STUDY_LAYOUT], "NAME,...", "nchw (default), nhwc"),
        TEXT_OPTION("runtime", &args.lists[STUDY_RUNTIME], "NAME,...", "eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.lists[STUDY_MODE], "NAME,...", "infer (default), train, train-forward"),
        TEXT_OPTION("optimizer", &args.lists[STUDY_OPTIMIZER], "NAME,...", "optimizers of training"),
        TEXT_OPTION("stack", &args.lists[STUDY_STACK], "NAME,...", "software versions, such as pt2.4-cu124"),
        FLAG_OPTION("memory", &args.memory, "also predict memory"),
        FORMAT_OPTION(&args.format, "table|json|html", FORMATS,
                      "format of the report; html is a page with heat maps and Pareto fronts"),
        TEXT_OPTION("report", &args.report, "FILE", "write the report to FILE"),
        WEIGHTS_OPTION(&args.weights),
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .target = &args.database,
         .argument = "OUT.db",
         .help = "SQLite file that keeps the results"},
    };
    int code;
    if (options_done("sweep", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc != 2)
        return cli_usage("sweep", "which PLAN?");
    if (!args.database || strcmp(args.database, "-") == 0)
        return cli_usage("sweep", "-o OUT.db is needed: results are kept in an SQLite file");
    return with_resources(&args, argv[1]);
}
