/* nas.c: `sooth nas`: searches architectures. Reads limits, tables and the method; the library does the search. */
#include "base/threads.h"
#include "cli/nas_args.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const FORMATS[] = {"table", "json", "csv", "html", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_HTML};
const char *const NAS_METHODS[] = {"all", "random", "evolution", "local", NULL};

static void help(const option *options, size_t count)
{
    puts("usage: sooth nas SPACE [OPTION]...\n\n"
         "Predicts the candidates of a search space on a GPU, keeps those within the limits, and finds the most\n"
         "accurate ones with few evaluations. Without accuracies: the Pareto front of latency and MACs.\n\n"
         "SPACE is one of these, or a file (doc/nas.md has the format):");
    for (size_t i = 0; sooth_nas_space_name(i); i++)
        printf("  %-15s %s\n", sooth_nas_space_name(i), sooth_nas_space_summary(i));
    puts("\nOptions:");
    options_help(options, count);
    puts("\nExamples:\n"
         "  sooth nas nasbench201 --gpu a100 --batch 256 --latency-ms 5\n"
         "  sooth nas nasbench201 --accuracy table.csv:cifar10_test --search evolution --prune utilization:25%\n"
         "  sooth nas space.txt --evaluate ./train.sh --results results.db --search local --trials 50");
}

static bool look_up(void *context, sooth_nas_column column, const char *architecture, double *value)
{
    const nas_context *c = context;
    return nas_table_find(&c->columns[column], str_of(architecture), value);
}

static bool evaluate(void *context, const char *const *architectures, size_t count, double *values)
{
    return nas_evaluator_run(((nas_context *)context)->evaluator, architectures, count, values);
}

static bool show_progress(void *context, size_t done, size_t count, double seconds)
{
    (void)context;
    double left = done ? seconds * (double)(count - done) / (double)done : 0;
    fprintf(stderr, "\r  %zu of %zu candidates, %.0f s, %.0f s left %s", done, count, seconds, left,
            done == count ? "\n" : "");
    return true;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_limit(const char *name, const char *text, double *limit)
{
    if (!text || options_decimal(text, 1e-6, 1e9, limit))
        return SOOTH_OK;
    return cli_usage("nas", "--%s takes a number above 0, not '%.60s'", name, text);
}

/* Returns the table that an argument names. Every table is read once, even if several queries name it. */
static nas_column_table table_of(nas_context *c, const char *argument, const char *otherwise)
{
    for (int32_t i = 0; i < c->tables.count; i++)
        if (strcmp(c->tables.items[i].argument, argument) == 0)
            return c->tables.items[i].column;
    nas_open_table *t = ARENA_PUSH(&c->arena, &c->tables);
    *t = (nas_open_table){.argument = argument, .map = {.descriptor = -1}};
    nas_table_read(&t->column, argument, otherwise, &t->map, &c->arena, &c->fail);
    return t->column;
}

/* Parses "utilization:25%" or "table.csv:column:10%". */
static int read_prune(nas_context *c, const char *text, sooth_nas_options *o)
{
    if (!text)
        return SOOTH_OK;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? strlen(colon + 1) : 0;
    bool is_percent = length > 1 && colon[length] == '%';
    double percent;
    char number[32];
    if (!is_percent || length >= sizeof number)
        return cli_usage("nas", "--prune takes METRIC:SHARE%%, such as utilization:25%%, not '%.60s'", text);
    memcpy(number, colon + 1, length - 1);
    number[length - 1] = '\0';
    if (!options_decimal(number, 0.001, 100, &percent))
        return cli_usage("nas", "--prune takes a share from 0.001%% to 100%%, not '%.60s'", colon + 1);
    o->prune_share = percent / 100;
    o->prune_by = arena_str(&c->arena, (str){text, (size_t)(colon - text)}).ptr;
    if (strchr(o->prune_by, '.')) { /* A name with a dot is a file. */
        c->columns[SOOTH_NAS_METRIC] = table_of(c, o->prune_by, "metric");
        o->has_column[SOOTH_NAS_METRIC] = true;
        o->prune_by = "table";
    }
    return SOOTH_OK;
}

static int read_within(const char *text, sooth_nas_options *o)
{
    for (const char *at = text ? text : "0.5,1"; *at;) {
        size_t length = strcspn(at, ",");
        char number[32];
        if (length >= sizeof number || o->within_count == sizeof o->within / sizeof *o->within)
            return cli_usage("nas", "--within takes up to four numbers with commas between them, not '%.60s'", text);
        memcpy(number, at, length);
        number[length] = '\0';
        if (!options_decimal(number, 0, 1e6, &o->within[o->within_count++]))
            return cli_usage("nas", "--within takes up to four numbers with commas between them, not '%.60s'", text);
        at += length + (at[length] == ',');
    }
    return SOOTH_OK;
}

static int read_tables(nas_context *c, const nas_args *args, sooth_nas_options *o)
{
    if (setjmp(c->fail.jump))
        return cli_fail(c->error.code, "nas", "%s", c->error.message);
    const struct {
        const char *argument, *otherwise;
        sooth_nas_column column;
    } tables[] = {{args->accuracy, "accuracy", SOOTH_NAS_ACCURACY},
                  {args->measured, "latency_ms", SOOTH_NAS_LATENCY_MS}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!tables[i].argument)
            continue;
        sooth_nas_column column = tables[i].column;
        c->columns[column] = table_of(c, tables[i].argument, tables[i].otherwise);
        o->has_column[column] = true;
    }
    return read_prune(c, args->prune, o);
}

int nas_read_options(nas_context *c, const nas_args *args, sooth_nas_options *o)
{
    int code = read_limit("latency-ms", args->latency_ms, &o->latency_ms);
    if (code == SOOTH_OK)
        code = read_limit("memory-mib", args->memory_mib, &o->memory_mib);
    if (code == SOOTH_OK)
        code = read_limit("energy-j", args->energy_j, &o->energy_j);
    if (code == SOOTH_OK)
        code = read_tables(c, args, o);
    if (code == SOOTH_OK && args->repeat)
        code = read_within(args->within, o);
    if (code == SOOTH_OK && args->evaluate && !args->results)
        code = cli_usage("nas", "--evaluate needs --results FILE.db, which keeps what was computed");
    if (code == SOOTH_OK && args->evaluate)
        code = nas_evaluator_open(&c->evaluator, args->evaluate, args->results);
    return code;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Refuses an accuracy table that contains none of the candidates, which is a mistake in the table or in the space. */
static int check_join(const nas_context *c, const nas_args *args, const sooth_nas *nas)
{
    if (!args->accuracy || args->evaluate)
        return SOOTH_OK;
    for (size_t i = 0; i < sooth_nas_candidate_count(nas); i++) {
        double accuracy = sooth_nas_candidate_at(nas, i).accuracy;
        if (accuracy == accuracy)
            return SOOTH_OK;
    }
    char name[SOOTH_NAS_NAME_ROOM] = "";
    (void)c;
    (void)sooth_nas_name(nas, 0, name, NULL, sizeof name);
    return cli_fail(SOOTH_ERROR_INPUT, args->accuracy, "no row has the name of a candidate, such as '%.200s'", name);
}

static int write_search(const nas_args *args, const sooth_nas *nas)
{
    sooth_report_options report = {.format = FORMAT_OF[args->format], .top = (size_t)args->top};
    if (!args->output && report.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = sooth_nas_report(nas, &report, &text, &size, &error);
    return cli_report("nas", args->output, status, &error, text, size);
}

static int search(nas_context *c, const nas_args *args, const sooth_nas_options *o)
{
    sooth_error error;
    sooth_nas *nas;
    sooth_status status = sooth_nas_search(o, &nas, &error);
    int code = status;
    if (status == SOOTH_ERROR_USAGE)
        code = cli_usage("nas", "%s", error.message);
    else if (nas_evaluator_failure(c->evaluator))
        code = nas_evaluator_failure(c->evaluator); /* already reported */
    else if (status != SOOTH_OK && !nas)
        code = cli_fail(status, "nas", "%s", error.message);
    if (nas && code != SOOTH_ERROR_SYSTEM) {
        int written = check_join(c, args, nas);
        if (written == SOOTH_OK)
            written = write_search(args, nas);
        if (written != SOOTH_OK)
            code = written;
        else if (status == SOOTH_ANSWER_NO)
            cli_fail(status, "nas", "%s", error.message);
    }
    sooth_nas_free(nas);
    return code;
}

static int run(const nas_args *args, const char *space, const sooth_gpu *device, const sooth_predictor *predictor)
{
    nas_context c = {.fail = {.error = &c.error}};
    arena_init(&c.arena, &c.fail, ARENA_GIB(4));
    sooth_nas_options o = {.space = space,
                           .device = device,
                           .batch = args->batch,
                           .settings = args->settings,
                           .method = (sooth_nas_method)args->method,
                           .trials = (size_t)args->trials,
                           .seed = (uint64_t)args->seed,
                           .repeats = (size_t)args->repeat,
                           .jobs = args->jobs ? (size_t)args->jobs : threads_available(),
                           .lookup = look_up,
                           .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
                           .context = &c};
    o.settings.predictor = predictor;
    int code = args->queries ? SOOTH_OK : nas_read_options(&c, args, &o);
    if (c.evaluator)
        o.evaluate = evaluate;
    if (args->queries)
        code = nas_queries_run(&c, args, &o);
    else if (code == SOOTH_OK)
        code = search(&c, args, &o);
    nas_evaluator_close(c.evaluator);
    for (int32_t i = 0; i < c.tables.count; i++)
        file_close(&c.tables.items[i].map);
    arena_free(&c.arena);
    return code;
}

static int with_resources(const nas_args *args, const char *space)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    const sooth_gpu *device;
    sooth_gpus *gpus;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        if (sooth_gpus_find(gpus, args->gpu ? args->gpu : "a100-sxm4-40gb", &device, &error) == SOOTH_OK)
            code = run(args, space, device, predictor);
        else
            code = cli_usage("nas", "%s", error.message);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

int nas_main(int argc, char **argv)
{
    nas_args args = {0};
    const option options[] = {
        TEXT_OPTION("gpu", &args.gpu, "NAME", "GPU, or path of a GPU file; a100-sxm4-40gb by default"),
        NUMBER_OPTION("batch", &args.batch, "N", 1, INT32_MAX, "batch size; 1 by default"),
        TEXT_OPTION("precision", &args.settings.precision, "NAME", "precision as in `sooth predict`"),
        TEXT_OPTION("layout", &args.settings.layout, "NAME", "nchw (default), nhwc"),
        TEXT_OPTION("runtime", &args.settings.runtime, "NAME", "eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.settings.mode, "NAME", "infer (default), train, train-forward"),
        TEXT_OPTION("stack", &args.settings.stack, "NAME", "software version, such as pt2.4-cu124"),
        TEXT_OPTION("latency-ms", &args.latency_ms, "MS", "limit on the latency"),
        TEXT_OPTION("memory-mib", &args.memory_mib, "MIB", "limit on the memory"),
        TEXT_OPTION("energy-j", &args.energy_j, "J", "limit on the energy of a pass"),
        TEXT_OPTION("accuracy", &args.accuracy, "FILE.csv[:COLUMN]",
                    "table of accuracies, joined by the column architecture, arch_str,\narch, name or graph"),
        TEXT_OPTION("measured", &args.measured, "FILE.csv[:COLUMN]", "measured latencies in place of predicted ones"),
        TEXT_OPTION("evaluate", &args.evaluate, "COMMAND",
                    "program that is given an architecture and prints its accuracy"),
        TEXT_OPTION("results", &args.results, "FILE.db", "SQLite file that keeps the results of --evaluate"),
        NUMBER_OPTION("jobs", &args.jobs, "N", 1, 256,
                      "evaluations at once with --search all and random; one for each core by default"),
        CHOICE_OPTION("search", &args.method, "all|random|evolution|local", NAS_METHODS, "method; all by default"),
        TEXT_OPTION("prune", &args.prune, "METRIC:SHARE%",
                    "search only the best share by utilization, macs, params, latency,\nenergy, or FILE.csv:COLUMN"),
        NUMBER_OPTION("trials", &args.trials, "N", 1, INT32_MAX,
                      "evaluations; 100 by default, all candidates with --search all"),
        NUMBER_OPTION("seed", &args.seed, "N", 0, INT64_MAX, "seed of the search; 0 by default"),
        NUMBER_OPTION("repeat", &args.repeat, "N", 1, 1000000,
                      "repeat the search with other seeds and count evaluations"),
        TEXT_OPTION("within", &args.within, "POINTS,...",
                    "--repeat counts evaluations until these distances from the best accuracy; 0.5,1"),
        NUMBER_OPTION("top", &args.top, "N", 1, 100, "how many of the best to list; 10 by default"),
        FORMAT_OPTION(&args.format, "table|json|csv|html", FORMATS,
                      "output format; csv has all candidates, html is a page with charts"),
        TEXT_OPTION("queries", &args.queries, "IN.csv",
                    "a search for every row of a table, with one prediction of the space; columns\naccuracy, measured, "
                    "latency_ms, search, prune, trials, seed; options apply to\nempty fields"),
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (options_done("nas", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc != 2)
        return cli_usage("nas", argc < 2 ? "which SPACE?" : "one SPACE at a time; '%.100s' is one too many",
                         argv[argc - 1]);
    if (args.queries && args.evaluate)
        return cli_usage("nas", "--queries takes accuracies from tables; leave --evaluate out");
    return with_resources(&args, argv[1]);
}
