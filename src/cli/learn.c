/* learn.c: `sooth learn`: trains weights on tables of measured rows. */
#include "learn/learn.h"
#include "cli/cluster.h"
#include "cli/learn_energy.h"
#include "cli/learn_tables.h"
#include "cli/lock.h"
#include "cli/predict_args.h"
#include "learn/slices.h"
#include "predict/setting.h"
#include "report/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t ARENA_CAP = ARENA_GIB(32);

static void help(const option *options, size_t count)
{
    puts("usage: sooth learn ROWS.csv[@SHARE]... -o WEIGHTS [OPTION]...\n\n"
         "Trains the predictor on tables of measured networks and operators (those of `sooth eval`).\n"
         "@0.1 takes a tenth of a table's operator shapes, always the same ones. After an interruption (Ctrl-C) the\n"
         "same command resumes from its checkpoint.\n\nOptions:");
    options_help(options, count);
}

/* Set by a signal handler; the training checks it between steps. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

typedef struct learn_job {
    sooth_error error;
    fail fail;
    arena arena;
    const char *subject;
    const char *output;
    char checkpoint[4096];
    learn_options options;
    dataset data;
    const void *bytes;
    size_t size;
    const char *apart_path;
    side_table apart;
    bool quiet;
    bool fits_slices;
    text slices; /* text of the constants' file */
    int agreed;  /* SOOTH_OK, or the exit code of a process that cannot start */
} job;

static bool ready(void *context)
{
    job *j = context;
    j->agreed = cluster_agree(SOOTH_OK);
    return j->agreed == SOOTH_OK;
}

static void show_loading(void *context, size_t done, size_t all)
{
    (void)context;
    if (cluster_leads() && isatty(STDERR_FILENO) && (done % 16 == 0 || done == all))
        fprintf(stderr, "\r%zu of %zu networks and parts of tables", done, all);
}

static void show_epoch(void *context, const learn_report *r)
{
    static const char *const STAGES[] = {"GPUs apart",     "for new GPUs",   "families apart", "families apart",
                                         "families apart", "families apart", "networks apart", "all rows"};
    const job *j = context;
    if (j->quiet || !cluster_leads())
        return;
    fprintf(stderr, "%d/%d %-14s epoch %d/%d  loss %.5f", r->stage + 1, STAGE_COUNT, STAGES[r->stage], r->epoch,
            r->epochs, r->loss);
    if (!isnan(r->mean_error))
        fprintf(stderr, "  %zu rows apart: mean %.2f %% median %.2f %%", r->kept_apart, 100 * r->mean_error,
                100 * r->median_error);
    fprintf(stderr, "  %.0f s, %.0f s left\n", r->seconds, r->seconds_left);
}

static void show_trees(void *context, int done, int all)
{
    const job *j = context;
    if (!j->quiet && cluster_leads() && isatty(STDERR_FILENO))
        fprintf(stderr, "\rtrees of %d of %d groups of kernels on GPUs%s", done, all, done == all ? "\n" : "");
}

/* Writes a hold-out row and its prediction by the training that held it out. */
static void write_apart(void *context, const char *why, const example *e, const residual *x,
                        const float halves[INTERVAL_LEVELS])
{
    job *j = context;
    const measured_row *r = e->row;
    text *apart = &j->apart.text;
    if (!j->apart.path)
        return;
    static const char *const GRAPHS[] = {"known", "alike", "strange"};
    text_printf(apart, "%s,%d,%s,%s,", why, x->model, GRAPHS[x->graph], r->graph.len ? "network" : "operator");
    table_put_csv(apart, r->name);
    table_put_csv(apart, r->family);
    table_put_csv(apart, r->gpu);
    table_put_csv(apart, r->where.stack);
    table_put_csv(apart, r->source);
    text_printf(apart, "%s,%s,%s,%s,%lld,%.6g,%.6g,%u", setting_name(&r->where, SETTING_PRECISION),
                setting_name(&r->where, SETTING_LAYOUT), setting_name(&r->where, SETTING_RUNTIME),
                setting_name(&r->where, SETTING_MODE), (long long)r->batch, r->latency_ms,
                r->latency_ms * exp((double)x->error), (unsigned)((r->graph.len ? e->architecture : r->shape) % 1000));
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        text_printf(apart, ",%.5g", (double)halves[i]);
    for (int i = 0; i < INTERVAL_TRAITS; i++)
        text_printf(apart, ",%.4g", (double)x->traits[i]);
    text_puts(apart, "\n");
}

static void count_refused(const job *j, measured_rows *const *tables, int count)
{
    size_t all = 0, refused = 0;
    for (int t = 0; t < count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++, all++)
            refused += tables[t]->rows.items[i].reason != NULL;
    if (!j->quiet && cluster_leads())
        fprintf(stderr, "%s%zu rows, %zu of them left out (an unknown GPU, an operator without a program …)\n",
                isatty(STDERR_FILENO) ? "\r\033[K" : "", all, refused);
}

/* ---- the constants of slices ------------------------------------------------------------------------------------- */

static void write_slices(job *j, const slices_fit *fit)
{
    const slice_constants *c = &fit->constants;
    text *out = &j->slices;
    out->fail = &j->fail;
    text_printf(out,
                "# How kernels run on slices of GPUs: src/predict/slice.h explains the constants.\n"
                "# Fitted by `sooth learn --slices` on %zu measured rows of slices (%s); on %zu rows of\n"
                "# held-out workloads the mean error is %.1f %%, the median %.1f %%.\n\n",
                fit->fitted, fit->sources.ptr, fit->apart, 100 * fit->apart_error, 100 * fit->apart_median);
    for (int i = 0; i < SLICE_CONSTANT_COUNT; i++)
        text_printf(out, "%s = %.4f  # %s\n", slice_constant_name((slice_constant)i), c->values[i],
                    slice_constant_summary((slice_constant)i));
    text_puts(out, "\n# Microseconds for a launch of the forward pass on the hosts of the measured rows.\n");
    for (int i = 0; i < c->host_count; i++)
        text_printf(out, "host_us %.*s = %.3f\n", STR_ARG(c->hosts[i].stack), c->hosts[i].launch_us);
    j->bytes = out->bytes;
    j->size = out->size;
    if (!j->quiet)
        fprintf(stderr, "%zu rows fitted: mean error %.2f %%; %zu rows kept apart: mean %.2f %%, median %.2f %%\n",
                fit->fitted, 100 * fit->fitted_error, fit->apart, 100 * fit->apart_error, 100 * fit->apart_median);
}

static sooth_status run(job *j, const sooth_gpus *gpus, int count, char **operands)
{
    j->fail.error = &j->error;
    arena_init(&j->arena, &j->fail, ARENA_CAP);
    if (setjmp(j->fail.jump))
        return j->error.code;
    text_puts(&j->apart.text, "apart,model,graph,what,name,family,gpu,stack,source,precision,layout,runtime,mode,batch,"
                              "measured_ms,predicted_ms,part");
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        text_printf(&j->apart.text, ",half%d", INTERVAL_PERCENT[i]);
    for (int i = 0; i < INTERVAL_TRAITS; i++)
        text_printf(&j->apart.text, ",trait%d", i);
    text_puts(&j->apart.text, "\n");
    measured_rows **tables = table_operands(operands, count, gpus, &j->subject, &j->arena, &j->fail);
    if (j->fits_slices) {
        slices_fit fit;
        slices_learn(&fit, tables, count, &j->arena, &j->fail);
        write_slices(j, &fit);
        return SOOTH_OK;
    }
    dataset_build(&j->data, tables, count, &j->arena, &j->fail, show_loading, NULL);
    count_refused(j, tables, count);
    j->subject = j->options.checkpoint ? j->options.checkpoint : "learn";
    j->bytes = learn(&j->data, &j->options, &j->size, &j->arena, &j->fail);
    return SOOTH_OK;
}

static int finish(job *j, sooth_status status)
{
    if (status != SOOTH_OK)
        return cli_fail(status, j->subject, "%s", j->error.message);
    if (j->agreed != SOOTH_OK)
        return j->agreed;
    if (!j->bytes)
        return cli_fail(SOOTH_ERROR_SYSTEM, "learn", "interrupted; the same command resumes from %s", j->checkpoint);
    int code = cluster_leads() ? cli_write(j->output, j->bytes, j->size) : SOOTH_OK;
    if (code == SOOTH_OK && j->options.checkpoint && cluster_leads())
        unlink(j->checkpoint);
    return code;
}

static int train(job *j, int count, char **operands)
{
    sooth_gpus *gpus;
    int code = cli_open_gpus(&gpus);
    if (code != SOOTH_OK)
        return code;
    j->apart = (side_table){.text.fail = &j->fail, .path = cluster_leads() ? j->apart_path : NULL};
    j->subject = "learn";
    if (!cluster_team()) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    code = finish(j, run(j, gpus, count, operands));
    code = side_table_close(&j->apart, code);
    dataset_free(&j->data);
    free(j->slices.bytes);
    arena_free(&j->arena);
    sooth_gpus_free(gpus);
    return code;
}

/* `power` is NULL unless power coefficients are fitted. */
static int locked(job *j, int count, char **operands, const learn_energy_args *power)
{
    output_lock lock = {.file = -1};
    int code = cluster_leads() ? lock_take(&lock, "learn", j->output) : SOOTH_OK;
    if (code != SOOTH_OK)
        return code;
    code = power ? learn_energy(power, count, operands) : train(j, count, operands);
    lock_release(&lock);
    return code;
}

int learn_main(int argc, char **argv)
{
    static job j;
    int64_t epochs = 60, seed = 1, networks = 32, operators = 320, patience = 30;
    const char *rate = "0.002", *apart = "0";
    learn_energy_args power = {0};
    bool is_power = false;
    const option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .target = &j.output,
         .argument = "FILE",
         .help = "file for the weights; FILE.checkpoint holds unfinished work, and FILE.lock\nkeeps a second "
                 "training out"},
        NUMBER_OPTION("epochs", &epochs, "N", 1, 100000, "epochs of the longest training (default 60)"),
        NUMBER_OPTION("seed", &seed, "N", 0, INT32_MAX,
                      "random seed; the same seed and rows give the same weights (default 1)"),
        TEXT_OPTION("rate", &rate, "X", "learning rate (default 0.002)"),
        NUMBER_OPTION("networks", &networks, "N", 1, MAX_BATCH / 2, "networks per step (default 32)"),
        NUMBER_OPTION("operators", &operators, "N", 1, MAX_BATCH / 2, "operators per step (default 320)"),
        NUMBER_OPTION("patience", &patience, "N", 1, 100000,
                      "evaluations on the hold-out rows without improvement that end a training\n(default 30)"),
        TEXT_OPTION("leave-gpus", &j.options.leave_gpus, "GPU,...",
                    "exclude the rows of these GPUs from every training"),
        TEXT_OPTION("leave-families", &j.options.leave_families, "FAMILY,...",
                    "exclude the rows of these families of networks"),
        TEXT_OPTION("leave-share", &apart, "X", "exclude a share of the architectures and operator shapes"),
        TEXT_OPTION("apart", &j.apart_path, "OUT.csv",
                    "write the hold-out rows of the trainings with their predictions"),
        FLAG_OPTION("slices", &j.fits_slices, "fit the constants of MIG slices instead of weights, on rows of slices"),
        FLAG_OPTION("energy", &is_power,
                    "fit the power coefficients (data/energy.txt) instead of weights, on rows\nwith power_w; only "
                    "--output, --apart and --quiet apply"),
        {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .target = &j.quiet, .help = "show no progress"},
    };
    int code;
    if (options_done("learn", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc < 2)
        return cli_usage("learn", "which tables of measured rows?");
    if (!j.output)
        return cli_usage("learn", "which file for the weights? use -o FILE");
    if ((is_power || j.fits_slices) && cluster_team())
        return cli_usage("learn", "--slices and --energy run on one process");
    if (is_power) {
        power.output = j.output;
        power.apart = j.apart_path;
        power.quiet = j.quiet;
        return locked(&j, argc - 1, argv + 1, &power);
    }
    j.options.epochs = (int)epochs;
    j.options.seed = (uint64_t)seed;
    j.options.networks = (int32_t)networks;
    j.options.operators = (int32_t)operators;
    j.options.patience = (int)patience;
    if (!options_decimal(rate, 1e-7, 1, &j.options.rate))
        return cli_usage("learn", "--rate takes a number from 1e-7 to 1, not '%.60s'", rate);
    if (!options_decimal(apart, 0, 0.9, &j.options.leave_share))
        return cli_usage("learn", "--leave-share takes a number from 0 to 0.9, not '%.60s'", apart);
    if (snprintf(j.checkpoint, sizeof j.checkpoint, "%s.checkpoint", j.output) >= (int)sizeof j.checkpoint)
        return cli_usage("learn", "the path of -o is too long");
    j.options.checkpoint = j.checkpoint;
    j.options.apart = write_apart;
    j.options.progress = show_epoch;
    j.options.growing = show_trees;
    j.options.threads = cluster_threads();
    j.options.team = cluster_team();
    j.options.ready = ready;
    j.options.context = &j;
    j.options.stop = &stop;
    return locked(&j, argc - 1, argv + 1, NULL);
}
