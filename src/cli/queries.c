/* queries.c: `sooth predict --queries`: a table of questions in, the same table with answers out. Every distinct network is
 * loaded once and bound once for each batch; networks are shared out among threads. */
#include "base/csv.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/predict_args.h"
#include "report/text.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const size_t ARENA_CAP = (size_t)8 << 30;
enum { MESSAGE_ROOM = 256 };

/* The columns that are looked at. */
typedef enum column { GRAPH, BATCH, GPU, PRECISION, LAYOUT, RUNTIME, MODE, OPTIMIZER, STACK, MIG, COLUMN_COUNT } column;
static const char *const COLUMNS[COLUMN_COUNT] = {"graph",   "batch", "gpu",       "precision", "layout",
                                                  "runtime", "mode",  "optimizer", "stack",     "mig"};

typedef struct query {
    str row; /* as it stands in the table */
    int field_count;
    const char *graph; /* as it can be opened */
    int64_t batch;     /* 0: as in the file */
    sooth_predict_options options;
    char error[MESSAGE_ROOM]; /* why there is no answer; "" if there is one */
    sooth_interval latency_ms, memory_mib, energy_j;
    double utilization;
} query;

/* A GPU as rows name it. */
typedef struct named_gpu {
    str name;
    const sooth_gpu *gpu;
    const char *error; /* NULL: it is known */
} named_gpu;

typedef struct queries {
    fail fail;
    arena arena;
    file_map map;
    csv table;
    const char *input;
    const predict_args *args;
    int64_t default_batch;
    sooth_gpus *gpus;
    struct {
        query *items;
        int32_t count, capacity;
    } rows;
    struct {
        named_gpu *items;
        int32_t count, capacity;
    } named_gpus;
    query **by_graph; /* rows that can be asked, those of one network together, batch after batch */
    size_t *first;    /* of each network's rows, and after the last */
    size_t graph_count;
    int columns[COLUMN_COUNT];
    str header;
    int header_count;
    atomic_size_t graphs_done;
    bool shows_progress;
    double began_s, shown_s;
    text out;
} queries;

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static const named_gpu *gpu_called(queries *q, str name)
{
    for (int32_t i = 0; i < q->named_gpus.count; i++)
        if (str_eq(q->named_gpus.items[i].name, name))
            return &q->named_gpus.items[i];
    named_gpu *g = ARENA_PUSH(&q->arena, &q->named_gpus);
    g->name = arena_str(&q->arena, name);
    sooth_error error;
    if (sooth_gpus_find(q->gpus, g->name.ptr, &g->gpu, &error) != SOOTH_OK)
        g->error = arena_str(&q->arena, str_of(error.message)).ptr;
    return g;
}

static str field(queries *q, column c)
{
    return csv_at(&q->table, q->columns[c]);
}

/* A text of the row, or what the command line says. */
static const char *text_or(queries *q, column c, const char *otherwise)
{
    str s = field(q, c);
    return s.len ? arena_str(&q->arena, s).ptr : otherwise;
}

/* Paths are relative to the table. */
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

static const char *read_query(queries *q, query *x)
{
    const sooth_predict_options *given = &q->args->options;
    x->options = *given;
    x->options.precision = text_or(q, PRECISION, given->precision);
    x->options.layout = text_or(q, LAYOUT, given->layout);
    x->options.runtime = text_or(q, RUNTIME, given->runtime);
    x->options.mode = text_or(q, MODE, given->mode);
    x->options.optimizer = text_or(q, OPTIMIZER, given->optimizer);
    x->options.stack = text_or(q, STACK, given->stack);
    x->options.mig = text_or(q, MIG, given->mig);
    if (x->field_count > q->header_count)
        return "the row has more fields than the header";
    if (!field(q, GRAPH).len)
        return "the row names no graph";
    x->graph = graph_path(q, field(q, GRAPH));
    x->batch = q->default_batch;
    if (field(q, BATCH).len && (!csv_whole(field(q, BATCH), &x->batch) || x->batch < 1 || x->batch > INT32_MAX))
        return "batch is not a whole number of at least 1";
    str gpu = field(q, GPU).len ? field(q, GPU) : str_of(q->args->gpus ? q->args->gpus : "a100-sxm4-40gb");
    const named_gpu *g = gpu_called(q, gpu);
    x->options.device = g->gpu;
    return g->error;
}

/* The row as it stands: from where the reader was to where it is, without line ends. */
static str raw_row(const char *from, const char *to)
{
    while (from < to && (*from == '\n' || *from == '\r'))
        from++;
    while (to > from && (to[-1] == '\n' || to[-1] == '\r'))
        to--;
    return (str){from, (size_t)(to - from)};
}

static void read_table(queries *q)
{
    csv *t = &q->table;
    csv_begin(t, (str){(const char *)q->map.bytes, q->map.size}, &q->arena);
    const char *from = t->next;
    if (!csv_next(t))
        fail_with(&q->fail, SOOTH_ERROR_INPUT, "the table is empty: a header with the column 'graph' is needed");
    q->header = raw_row(from, t->next);
    q->header_count = t->count;
    for (int c = 0; c < COLUMN_COUNT; c++)
        q->columns[c] = csv_find(t, COLUMNS[c]);
    if (q->columns[GRAPH] < 0)
        fail_with(&q->fail, SOOTH_ERROR_INPUT, "the header (line %d) has no column 'graph'", (int)t->line);
    for (from = t->next; csv_next(t); from = t->next) {
        query *x = ARENA_PUSH(&q->arena, &q->rows);
        x->row = raw_row(from, t->next);
        x->field_count = t->count;
        const char *wrong = read_query(q, x);
        snprintf(x->error, sizeof x->error, "%s", wrong ? wrong : "");
    }
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Rows that differ in the GPU alone follow one another: what they launch is the same. */
static int compare_queries(const void *a, const void *b)
{
    const query *x = *(query *const *)a, *y = *(query *const *)b;
    int order = strcmp(x->graph, y->graph);
    if (!order)
        order = x->batch != y->batch ? (x->batch < y->batch ? -1 : 1) : 0;
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

/* ---- answering ------------------------------------------------------------------------------------------------------- */

static bool bind_batch(sooth_model *model, int64_t batch, sooth_error *error)
{
    sooth_options options = {.batch = batch};
    if (sooth_bind(model, &options, error) != SOOTH_OK)
        return false;
    if (batch || !model_has_open_batch(model))
        return true;
    options.batch = 1;
    return sooth_bind(model, &options, error) == SOOTH_OK;
}

static void fail_rows(query **rows, size_t count, const char *what, const sooth_error *error)
{
    for (size_t i = 0; i < count; i++)
        snprintf(rows[i]->error, sizeof rows[i]->error, "%s%.*s", what, MESSAGE_ROOM - 16, error->message);
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
    x->memory_mib = sooth_prediction_memory(prediction).total_mib;
    sooth_prediction_free(prediction);
}

static void answer_rows(query **rows, size_t count)
{
    sooth_error error;
    sooth_model *model;
    if (sooth_load_file(rows[0]->graph, &model, &error) != SOOTH_OK) {
        fail_rows(rows, count, "graph: ", &error);
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && rows[end]->batch == rows[i]->batch)
            end++;
        if (bind_batch(model, rows[i]->batch, &error))
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
    if (now - q->shown_s < 0.1 && done < q->graph_count) /* often enough for the eye */
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

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static void write_interval(text *out, sooth_interval x)
{
    char room[NUMBER_ROOM];
    text_printf(out, ",%s", number_real(room, x.value));
    text_printf(out, ",%s", number_real(room, x.low));
    text_printf(out, ",%s", number_real(room, x.high));
}

static void write_answer(text *out, const query *x)
{
    char room[NUMBER_ROOM];
    if (!*x->error) {
        write_interval(out, x->latency_ms);
        write_interval(out, x->memory_mib);
        write_interval(out, x->energy_j);
        text_printf(out, ",%s,", isfinite(x->utilization) ? number_real(room, x->utilization) : "");
    } else {
        text_puts(out, ",,,,,,,,,,,");
        text_csv(out, x->error);
    }
    text_puts(out, "\n");
}

static size_t write_table(queries *q)
{
    text *out = &q->out;
    size_t unanswered = 0;
    text_add(out, q->header.ptr, q->header.len);
    text_puts(out, ",latency_ms_pred,latency_ms_low,latency_ms_high,memory_mib_pred,memory_mib_low,memory_mib_high,"
                   "energy_j_pred,energy_j_low,energy_j_high,utilization,error\n");
    for (int32_t i = 0; i < q->rows.count; i++) {
        const query *x = &q->rows.items[i];
        text_add(out, x->row.ptr, x->row.len);
        for (int missing = x->field_count; missing < q->header_count; missing++)
            text_puts(out, ",");
        write_answer(out, x);
        unanswered += *x->error != '\0';
    }
    return unanswered;
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
    size_t unanswered = write_table(q);
    int code = cli_write(output, q->out.bytes, q->out.size);
    if (code == SOOTH_OK && unanswered)
        fprintf(stderr, "sooth: %s: %zu of %d rows have no answer; the column 'error' says why\n", q->input, unanswered,
                (int)q->rows.count);
    return code;
}

int queries_run(const char *input, const char *output, const predict_args *args, sooth_gpus *gpus)
{
    sooth_error error = {.code = SOOTH_OK};
    queries q = {.fail = {.error = &error},
                 .map = {.descriptor = -1},
                 .input = input,
                 .args = args,
                 .gpus = gpus,
                 .shows_progress = isatty(STDERR_FILENO),
                 .out = {.fail = &q.fail}};
    if (args->batches && !(options_number(args->batches, strlen(args->batches), &q.default_batch) &&
                           q.default_batch >= 1 && q.default_batch <= INT32_MAX))
        return cli_usage("predict", "--batch takes one whole number with --queries, not '%.60s'", args->batches);
    arena_init(&q.arena, &q.fail, ARENA_CAP);
    int code = answer_table(&q, output);
    free(q.out.bytes);
    file_close(&q.map);
    arena_free(&q.arena);
    return code;
}
