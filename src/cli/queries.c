/* queries.c: `sooth predict --queries`: reads a table of questions and writes the same table with answers. Loads
 * every distinct network once and binds it once per set of dimensions; threads share the networks. */
#include "base/csv.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/predict_args.h"
#include "report/text.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const size_t ARENA_CAP = ARENA_GIB(8);
enum { MESSAGE_ROOM = 800 }; /* room for a sooth_error and its prefix */

/* Columns of the table of questions. */
typedef enum column {
    GRAPH,
    BATCH,
    SEQ,
    PAST,
    DIMS,
    GPU,
    PRECISION,
    LAYOUT,
    RUNTIME,
    MODE,
    OPTIMIZER,
    STACK,
    SOURCE,
    NAME,
    MIG,
    COLUMN_COUNT
} column;
static const char *const COLUMNS[COLUMN_COUNT] = {"graph",     "batch",     "seq",    "past",    "dims",
                                                  "gpu",       "precision", "layout", "runtime", "mode",
                                                  "optimizer", "stack",     "source", "name",    "mig"};

typedef struct query {
    str row; /* text of the row in the table */
    int field_count;
    int32_t line;
    const char *graph;     /* path to open, relative to the working directory */
    sooth_options binding; /* `batch` 0 keeps that of the file */
    struct {
        sooth_dim_binding *items;
        int32_t count, capacity;
    } dims; /* dimensions of `binding` */
    sooth_predict_options options;
    char error[MESSAGE_ROOM]; /* reason if there is no answer; otherwise "" */
    bool is_of_system;        /* True if a system error is the reason, so the row may be correct. */
    sooth_interval latency_ms, memory_mib, energy_j;
    double utilization, co2_g;
} query;

/* A GPU and its name in the rows. */
typedef struct named_gpu {
    str name;
    const sooth_gpu *gpu;
    const char *error; /* NULL if the GPU is known */
} named_gpu;

typedef struct queries {
    fail fail;
    arena arena;
    file_map map;
    csv table;
    const char *input;
    const predict_args *args;
    int64_t default_batch;
    model_dims dims; /* dimensions of the command line */
    bool has_co2;
    sooth_gpus *gpus;
    struct {
        query *items;
        int32_t count, capacity;
    } rows;
    struct {
        named_gpu *items;
        int32_t count, capacity;
    } named_gpus;
    query **by_graph; /* rows to predict, sorted by network, then by batch */
    size_t *first;    /* First row of each network in by_graph; then the number of rows. */
    size_t graph_count;
    int columns[COLUMN_COUNT];
    str header;
    int header_count;
    atomic_size_t graphs_done;
    bool shows_progress;
    double began_s, shown_s;
    text out;
} queries;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const named_gpu *gpu_called(queries *q, str name)
{
    for (int32_t i = 0; i < q->named_gpus.count; i++)
        if (str_eq(q->named_gpus.items[i].name, name))
            return &q->named_gpus.items[i];
    named_gpu *g = ARENA_PUSH(&q->arena, &q->named_gpus);
    g->name = arena_str(&q->arena, name);
    sooth_error error;
    if (sooth_gpus_find(q->gpus, g->name.ptr, &g->gpu, &error) == SOOTH_ERROR_SYSTEM)
        fail_with(&q->fail, error.code, "%s", error.message);
    if (!g->gpu)
        g->error = arena_str(&q->arena, str_of(error.message)).ptr;
    return g;
}

static str field(queries *q, column c)
{
    return csv_at(&q->table, q->columns[c]);
}

/* Returns the row's text, or that of the command line if the field is empty. */
static const char *text_or(queries *q, column c, const char *otherwise)
{
    str s = field(q, c);
    return s.len ? arena_str(&q->arena, s).ptr : otherwise;
}

/* Resolves a path relative to the table. */
static const char *graph_path(queries *q, str graph)
{
    const char *slash = strrchr(q->input, '/');
    if (!slash || graph.ptr[0] == '/' || str_starts(graph, "zoo:"))
        return arena_str(&q->arena, graph).ptr;
    size_t folder = (size_t)(slash + 1 - q->input);
    char *path = arena_room(&q->arena, folder + graph.len + 1, 1);
    memcpy(path, q->input, folder);
    memcpy(path + folder, graph.ptr, graph.len);
    path[folder + graph.len] = '\0';
    return path;
}

/* Reads a whole number from the row, or from the command line. Returns false if it is malformed. */
static bool number_or(queries *q, column c, int64_t least, int64_t otherwise, int64_t *number)
{
    str s = field(q, c);
    *number = otherwise;
    return !s.len || (csv_whole(s, number) && *number >= least && *number <= INT32_MAX);
}

static void add_dim(queries *q, query *x, str name, int64_t value)
{
    sooth_dim_binding *d = ARENA_PUSH(&q->arena, &x->dims);
    *d = (sooth_dim_binding){arena_str(&q->arena, name).ptr, value};
}

/* Parses "NAME=N;NAME=N". Returns false if it is malformed. */
static bool add_dims(queries *q, query *x, str list)
{
    while (list.len) {
        const char *semicolon = memchr(list.ptr, ';', list.len);
        str part = {list.ptr, semicolon ? (size_t)(semicolon - list.ptr) : list.len}, name;
        int64_t value;
        if (!model_read_dim(part, &name, &value))
            return false;
        add_dim(q, x, name, value);
        size_t taken = part.len + (semicolon != NULL);
        list = (str){list.ptr + taken, list.len - taken};
    }
    return true;
}

/* Returns what is wrong with the dimensions of the row; NULL if they are valid. Empty fields take those of the
 * command line. */
static const char *read_dimensions(queries *q, query *x)
{
    const model_args *given = &q->args->dimensions;
    int64_t seq, past;
    if (!number_or(q, BATCH, 1, q->default_batch, &x->binding.batch))
        return "batch is not a whole number of at least 1";
    if (!number_or(q, SEQ, 1, given->seq, &seq))
        return "seq is not a whole number of at least 1";
    if (!number_or(q, PAST, 0, given->past, &past))
        return "past is not a whole number";
    /* The dimensions of --seq and --past follow these. */
    for (size_t i = 0; !field(q, DIMS).len && i < given->dims.count; i++)
        add_dim(q, x, str_of(q->dims.dims[i].name), q->dims.dims[i].value);
    if (!add_dims(q, x, field(q, DIMS)))
        return "dims is not a list NAME=N;NAME=N";
    if (seq)
        add_dim(q, x, STR("seq"), seq);
    if (past)
        add_dim(q, x, STR("past"), past);
    x->binding.dims = x->dims.items;
    x->binding.dim_count = (size_t)x->dims.count;
    return NULL;
}

static const char *read_query(queries *q, query *x)
{
    const sooth_predict_options *given = &q->args->options;
    x->options = *given;
    x->options.precision = text_or(q, PRECISION, given->precision);
    x->options.layout = text_or(q, LAYOUT, given->layout);
    x->options.runtime = text_or(q, RUNTIME, given->runtime);
    x->options.mode = text_or(q, MODE, given->mode);
    x->options.optimizer = text_or(q, OPTIMIZER, given->optimizer);
    /* Tables of measured rows contain "unknown" if the optimizer was not recorded. */
    if (str_is(field(q, OPTIMIZER), "unknown"))
        x->options.optimizer = given->optimizer;
    x->options.stack = text_or(q, STACK, given->stack);
    x->options.source = text_or(q, SOURCE, NULL);
    x->options.mig = text_or(q, MIG, given->mig);
    if (x->field_count > q->header_count)
        return "the row has more fields than the header";
    if (!field(q, GRAPH).len)
        return "the row names no graph";
    x->graph = graph_path(q, field(q, GRAPH));
    const char *wrong = read_dimensions(q, x);
    if (wrong)
        return wrong;
    str gpu = field(q, GPU).len ? field(q, GPU) : str_of(q->args->gpus ? q->args->gpus : "a100-sxm4-40gb");
    const named_gpu *g = gpu_called(q, gpu);
    x->options.device = g->gpu;
    return g->error;
}

static void read_table(queries *q)
{
    csv *t = &q->table;
    csv_begin(t, (str){(const char *)q->map.bytes, q->map.size}, &q->arena);
    const char *from = t->next;
    if (!csv_next(t))
        fail_with(&q->fail, SOOTH_ERROR_INPUT, "the table is empty: a header with the column 'graph' is needed");
    q->header = csv_text(t, from);
    q->header_count = t->count;
    for (int c = 0; c < COLUMN_COUNT; c++)
        q->columns[c] = csv_find(t, COLUMNS[c]);
    if (q->columns[GRAPH] < 0)
        fail_with(&q->fail, SOOTH_ERROR_INPUT, "the header (line %d) has no column 'graph'", (int)t->line);
    for (from = t->next; csv_next(t); from = t->next) {
        query *x = ARENA_PUSH(&q->arena, &q->rows);
        x->row = csv_text(t, from);
        x->field_count = t->count;
        x->line = t->line;
        const char *wrong = read_query(q, x);
        snprintf(x->error, sizeof x->error, "%s", wrong ? wrong : "");
    }
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_bindings(const sooth_options *a, const sooth_options *b)
{
    int order = compare_numbers(a->batch, b->batch);
    if (!order)
        order = compare_numbers((int64_t)a->dim_count, (int64_t)b->dim_count);
    for (size_t i = 0; !order && i < a->dim_count; i++) {
        order = strcmp(a->dims[i].name, b->dims[i].name);
        if (!order)
            order = compare_numbers(a->dims[i].value, b->dims[i].value);
    }
    return order;
}

/* Sorts rows that differ only in the GPU next to each other, because they share a program. */
static int compare_queries(const void *a, const void *b)
{
    const query *x = *(query *const *)a, *y = *(query *const *)b;
    int order = strcmp(x->graph, y->graph);
    if (!order)
        order = compare_bindings(&x->binding, &y->binding);
    if (!order)
        order = compare_texts(x->options.precision, y->options.precision);
    if (!order)
        order = compare_texts(x->options.layout, y->options.layout);
    if (!order)
        order = compare_texts(x->options.runtime, y->options.runtime);
    if (!order)
        order = compare_texts(x->options.mode, y->options.mode);
    if (!order)
        order = compare_texts(x->options.stack, y->options.stack);
    return order ? order : x < y ? -1 : x > y;
}

static void group(queries *q)
{
    size_t rows = (size_t)q->rows.count, used = 0;
    q->by_graph = ARENA_ARRAY(&q->arena, query *, rows + 1);
    q->first = ARENA_ARRAY(&q->arena, size_t, rows + 1);
    for (size_t i = 0; i < rows; i++)
        if (!*q->rows.items[i].error)
            q->by_graph[used++] = &q->rows.items[i];
    if (used)
        qsort(q->by_graph, used, sizeof *q->by_graph, compare_queries);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || strcmp(q->by_graph[i]->graph, q->by_graph[i - 1]->graph) != 0)
            q->first[q->graph_count++] = i;
    q->first[q->graph_count] = used;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void fail_rows(query **rows, size_t count, const char *what, const sooth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(rows[i]->error, sizeof rows[i]->error, "%s%.*s", what, MESSAGE_ROOM - 16, error->message);
        rows[i]->is_of_system = error->code == SOOTH_ERROR_SYSTEM;
    }
}

/* A graph that cannot be opened is an error of its rows; other system errors end the command. */
static void fail_to_load(query **rows, size_t count, sooth_error *error)
{
    const char *graph = rows[0]->graph;
    if (error->code == SOOTH_ERROR_SYSTEM && !str_starts(str_of(graph), "zoo:") && access(graph, R_OK) != 0) {
        error->code = SOOTH_ERROR_INPUT;
        snprintf(error->message, sizeof error->message, "cannot be opened: %s", strerror(errno));
    }
    fail_rows(rows, count, "graph: ", error);
}

static void answer_row(sooth_model *model, query *x)
{
    sooth_error error;
    sooth_prediction *prediction;
    if (sooth_predict(model, &x->options, &prediction, &error) != SOOTH_OK) {
        fail_rows(&x, 1, "", &error);
        return;
    }
    sooth_prediction_totals totals = sooth_prediction_totals_of(prediction);
    x->latency_ms = totals.latency_ms;
    x->energy_j = totals.energy_j;
    x->utilization = totals.compute_share;
    x->co2_g = totals.co2_g;
    x->memory_mib = sooth_prediction_memory(prediction).total_mib;
    sooth_prediction_free(prediction);
}

static void answer_rows(query **rows, size_t count)
{
    sooth_error error;
    sooth_model *model;
    if (sooth_load_file(rows[0]->graph, &model, &error) != SOOTH_OK) {
        fail_to_load(rows, count, &error);
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && compare_bindings(&rows[end]->binding, &rows[i]->binding) == 0)
            end++;
        sooth_options binding = rows[i]->binding;
        if (sooth_bind_open(model, &binding, &error) == SOOTH_OK)
            for (; i < end; i++)
                answer_row(model, rows[i]);
        else
            fail_rows(rows + i, end - i, "graph: ", &error);
        i = end;
    }
    sooth_free(model);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void show_progress(queries *q, size_t done)
{
    double now = now_s();
    if (now - q->shown_s < 0.1 && done < q->graph_count) /* at most ten updates per second */
        return;
    q->shown_s = now;
    fprintf(stderr, "\r  %zu of %zu networks, %.0f s%s", done, q->graph_count, now - q->began_s,
            done == q->graph_count ? "\n" : " ");
}

static void answer_graph(void *context, size_t item, size_t worker)
{
    queries *q = context;
    answer_rows(q->by_graph + q->first[item], q->first[item + 1] - q->first[item]);
    size_t done = atomic_fetch_add(&q->graphs_done, 1) + 1;
    if (q->shows_progress && worker == 0 && done < q->graph_count)
        show_progress(q, done);
}

/* Fails if a system error left rows without an answer, because such a table would mislead. */
static void check_system(queries *q)
{
    for (int32_t i = 0; i < q->rows.count; i++)
        if (q->rows.items[i].is_of_system)
            fail_with(&q->fail, SOOTH_ERROR_SYSTEM, "line %d: %s", (int)q->rows.items[i].line, q->rows.items[i].error);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_interval(text *out, sooth_interval x)
{
    text_csv_real(out, x.value);
    text_csv_real(out, x.low);
    text_csv_real(out, x.high);
}

static void write_answer(text *out, const query *x, bool has_co2)
{
    if (!*x->error) {
        write_interval(out, x->latency_ms);
        write_interval(out, x->memory_mib);
        write_interval(out, x->energy_j);
        text_csv_real(out, x->utilization);
        if (has_co2)
            text_csv_real(out, x->co2_g);
    } else {
        text_repeat(out, ",", has_co2 ? 11 : 10);
    }
    text_csv_text(out, x->error);
    text_puts(out, "\n");
}

static void write_table(queries *q)
{
    text *out = &q->out;
    text_add(out, q->header.ptr, q->header.len);
    text_puts(out, ",latency_ms_pred,latency_ms_low,latency_ms_high,memory_mib_pred,memory_mib_low,memory_mib_high,"
                   "energy_j_pred,energy_j_low,energy_j_high,utilization");
    text_puts(out, q->has_co2 ? ",co2_g,error\n" : ",error\n");
    for (int32_t i = 0; i < q->rows.count; i++) {
        const query *x = &q->rows.items[i];
        text_add(out, x->row.ptr, x->row.len);
        for (int missing = x->field_count; missing < q->header_count; missing++)
            text_puts(out, ",");
        write_answer(out, x, q->has_co2);
    }
}

/* Returns exit code 0 if every row has an answer; otherwise reports how many do not, and the first of them. */
static int tell_unanswered(const queries *q, const char *output)
{
    const query *first = NULL;
    int count = 0;
    for (int32_t i = q->rows.count; i > 0; i--) {
        if (!*q->rows.items[i - 1].error)
            continue;
        first = &q->rows.items[i - 1];
        count++;
    }
    if (!first)
        return SOOTH_OK;
    return cli_fail(SOOTH_ANSWER_NO, q->input,
                    "%d of %d rows have no answer; the column 'error' of %s says why; the first is in line %d: %s",
                    count, (int)q->rows.count, output && strcmp(output, "-") != 0 ? output : "the output",
                    (int)first->line, first->error);
}

static int answer_table(queries *q, const char *output)
{
    if (setjmp(q->fail.jump))
        return cli_fail(q->fail.error->code, q->input, "%s", q->fail.error->message);
    file_open(&q->map, q->input, &q->fail);
    file_inflate(&q->map, &q->fail);
    read_table(q);
    group(q);
    q->began_s = now_s();
    parallel_for(q->graph_count, threads_available(), answer_graph, q);
    if (q->shows_progress)
        show_progress(q, q->graph_count);
    check_system(q);
    write_table(q);
    int code = cli_write(output, q->out.bytes, q->out.size);
    return code == SOOTH_OK ? tell_unanswered(q, output) : code;
}

int queries_run(const char *input, const char *output, const predict_args *args, sooth_gpus *gpus)
{
    sooth_error error = {.code = SOOTH_OK};
    queries q = {.fail = {.error = &error},
                 .map = {.descriptor = -1},
                 .input = input,
                 .args = args,
                 .gpus = gpus,
                 .has_co2 = args->options.co2_g_per_kwh > 0,
                 .shows_progress = isatty(STDERR_FILENO),
                 .out = {.fail = &q.fail}};
    if (args->batches && !(options_number(args->batches, strlen(args->batches), &q.default_batch) &&
                           q.default_batch >= 1 && q.default_batch <= INT32_MAX))
        return cli_usage("predict", "--batch takes one whole number with --queries, not '%.60s'", args->batches);
    int code = model_dims_read("predict", &args->dimensions, &q.dims);
    if (code != SOOTH_OK)
        return code;
    arena_init(&q.arena, &q.fail, ARENA_CAP);
    code = answer_table(&q, output);
    free(q.out.bytes);
    file_close(&q.map);
    arena_free(&q.arena);
    model_dims_free(&q.dims);
    return code;
}
