/* dataset_rows.c: measured rows of the user, joined to the items of a data set. */
#include "base/csv.h"
#include "base/names.h"
#include "base/path.h"
#include "cli/dataset_args.h"

#include <math.h>
#include <stdlib.h>
#include <zlib.h>

typedef enum row_column {
    ROW_FINGERPRINT,
    ROW_GRAPH,
    ROW_NAME,
    ROW_BATCH,
    ROW_GPU,
    ROW_MIG,
    ROW_PRECISION,
    ROW_LAYOUT,
    ROW_RUNTIME,
    ROW_MODE,
    ROW_OPTIMIZER,
    ROW_STACK,
    ROW_LATENCY,
    ROW_ENERGY,
    ROW_MEMORY,
    ROW_UTILIZATION,
    ROW_SOURCE,
    ROW_COLUMNS
} row_column;

static const char *const COLUMN_NAMES[ROW_COLUMNS] = {
    "fingerprint", "graph",     "name",  "batch",      "gpu",      "mig",        "precision",   "layout", "runtime",
    "mode",        "optimizer", "stack", "latency_ms", "energy_j", "memory_mib", "utilization", "source"};

typedef struct joining {
    inputs *in;
    const char *path;
    set_items *items;
    bool keeps_batches;
    size_t threads;
    csv table;
    int columns[ROW_COLUMNS];
    names by_name, by_file; /* items by name, and by file name without folder and endings */
    struct {
        struct fingerprint_of {
            uint64_t fingerprint;
            int32_t item;
            int64_t batch;
        } * items;
        int32_t count, capacity;
    } fingerprints;
    dataset_joined result;
} joining;

static _Noreturn void refuse(const joining *j, const char *what, str about)
{
    fail_with(&((joining *)(uintptr_t)j)->in->fail, SOOTH_ERROR_INPUT, "%s: line %d: %s '%.*s'", j->path,
              (int)j->table.line, what, STR_ARG(about));
}

/* Returns "resnet50@224" for "models/resnet50@224.onnx.gz"; names of zoo networks stay unchanged. */
static str file_name(str graph)
{
    return str_starts(graph, "zoo:") ? graph : path_stem(graph);
}

static void index_items(joining *j)
{
    names_init(&j->by_name, &j->in->arena);
    names_init(&j->by_file, &j->in->arena);
    for (int32_t i = 0; i < j->items->count; i++) {
        names_put(&j->by_name, str_of(j->items->items[i].name), i);
        names_put(&j->by_file, file_name(str_of(j->items->items[i].spec)), i);
    }
}

/* ---- joining by fingerprint -------------------------------------------------------------------------------------- */

static int by_fingerprint(const void *a, const void *b)
{
    const struct fingerprint_of *x = a, *y = b;
    return x->fingerprint < y->fingerprint ? -1 : x->fingerprint > y->fingerprint;
}

static void index_fingerprints(joining *j)
{
    arena *a = &j->in->arena;
    uint64_t **all = ARENA_ARRAY(a, uint64_t *, (size_t)j->items->count + 1);
    set_fingerprints(j->items, j->threads, all, a, &j->in->fail);
    for (int32_t i = 0; i < j->items->count; i++)
        for (size_t b = 0; b < j->items->items[i].batch_count; b++)
            *(struct fingerprint_of *)ARENA_PUSH(a, &j->fingerprints) =
                (struct fingerprint_of){all[i][b], i, j->items->items[i].batches[b]};
    qsort(j->fingerprints.items, (size_t)j->fingerprints.count, sizeof *j->fingerprints.items, by_fingerprint);
}

static int32_t find_fingerprint(const joining *j, str digits, int64_t *batch)
{
    struct fingerprint_of key = {.fingerprint = strtoull(arena_str(&j->in->arena, digits).ptr, NULL, 16)};
    const struct fingerprint_of *found =
        j->fingerprints.count
            ? bsearch(&key, j->fingerprints.items, (size_t)j->fingerprints.count, sizeof key, by_fingerprint)
            : NULL;
    if (found)
        *batch = found->batch;
    return found ? found->item : -1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static str field(const joining *j, row_column c)
{
    return csv_at(&j->table, j->columns[c]);
}

static const char *text_of(joining *j, row_column c, const char *otherwise)
{
    str s = field(j, c);
    return s.len ? arena_str(&j->in->arena, s).ptr : otherwise;
}

static double real_of(const joining *j, row_column c)
{
    double x;
    str s = field(j, c);
    if (!s.len)
        return NAN;
    if (!csv_real(s, &x) || !(x >= 0))
        refuse(j, arena_printf(&j->in->arena, "%s is not a number from 0 on:", COLUMN_NAMES[c]).ptr, s);
    return x;
}

static int32_t item_of(joining *j, int64_t *batch)
{
    str fingerprint = field(j, ROW_FINGERPRINT), graph = field(j, ROW_GRAPH);
    int32_t item = -1;
    if (fingerprint.len)
        item = find_fingerprint(j, fingerprint, batch);
    if (item < 0 && graph.len)
        item = names_get(&j->by_file, file_name(graph), -1);
    if (item < 0 && !graph.len && !fingerprint.len)
        item = names_get(&j->by_name, field(j, ROW_NAME), -1);
    return item;
}

static bool has_batch(const set_item *item, int64_t batch)
{
    for (size_t i = 0; i < item->batch_count; i++)
        if (item->batches[i] == batch)
            return true;
    return false;
}

static void add_row(joining *j)
{
    int64_t batch = 1;
    str given = field(j, ROW_BATCH);
    if (given.len && (!csv_whole(given, &batch) || batch < 1 || batch > INT32_MAX))
        refuse(j, "batch is not a whole number above 0:", given);
    int32_t index = item_of(j, &batch);
    set_item *item = index < 0 ? NULL : &j->items->items[index];
    if (!item || (j->keeps_batches && !has_batch(item, batch))) {
        j->result.unjoined++;
        return;
    }
    set_row *row = ARENA_NEW(&j->in->arena, set_row);
    *row = (set_row){
        .setting = {text_of(j, ROW_GPU, ""), text_of(j, ROW_MIG, ""), text_of(j, ROW_PRECISION, ""),
                    text_of(j, ROW_LAYOUT, ""), text_of(j, ROW_RUNTIME, ""), text_of(j, ROW_MODE, "infer"),
                    text_of(j, ROW_OPTIMIZER, ""), text_of(j, ROW_STACK, "")},
        .batch = batch,
        .latency_ms = real_of(j, ROW_LATENCY),
        .energy_j = real_of(j, ROW_ENERGY),
        .memory_mib = real_of(j, ROW_MEMORY),
        .utilization = real_of(j, ROW_UTILIZATION),
        .source = text_of(j, ROW_SOURCE, ""),
        .next = (set_row *)(uintptr_t)item->rows, /* linked in reverse order, which is corrected at the end */
    };
    item->rows = row;
    j->result.rows++;
}

/* ---- batches and order ------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Puts the rows in the order of the table, and collects their batches. */
static void settle_item(joining *j, set_item *item)
{
    set_row *ordered = NULL;
    size_t count = 0, kept = 0;
    for (set_row *row = (set_row *)(uintptr_t)item->rows, *next; row; row = next, count++) {
        next = row->next;
        row->next = ordered;
        ordered = row;
    }
    item->rows = ordered;
    if (j->keeps_batches)
        return;
    int64_t *batches = ARENA_ARRAY(&j->in->arena, int64_t, count + 1);
    for (const set_row *row = ordered; row; row = row->next)
        batches[kept++] = row->batch;
    qsort(batches, kept, sizeof *batches, ascending);
    item->batch_count = 0;
    for (size_t i = 0; i < kept; i++)
        if (!i || batches[i] != batches[i - 1])
            batches[item->batch_count++] = batches[i];
    item->batches = batches;
}

dataset_joined dataset_rows_join(inputs *in, const char *path, set_items *items, bool keeps_batches, size_t threads)
{
    joining j = {.in = in, .path = path, .items = items, .keeps_batches = keeps_batches, .threads = threads};
    file_close(&in->table);
    file_open(&in->table, path, &in->fail);
    file_inflate(&in->table, &in->fail);
    j.result.hash = crc32_z(0, in->table.bytes, in->table.size);
    csv_begin(&j.table, (str){(const char *)in->table.bytes, in->table.size}, &in->arena);
    if (!csv_next(&j.table))
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: the table is empty: a header is needed", path);
    for (int c = 0; c < ROW_COLUMNS; c++)
        j.columns[c] = csv_find(&j.table, COLUMN_NAMES[c]);
    if (j.columns[ROW_GPU] < 0 || j.columns[ROW_LATENCY] < 0 ||
        (j.columns[ROW_NAME] < 0 && j.columns[ROW_GRAPH] < 0 && j.columns[ROW_FINGERPRINT] < 0))
        fail_with(&in->fail, SOOTH_ERROR_INPUT,
                  "%s: the header needs the columns 'gpu', 'latency_ms', and 'fingerprint', 'graph' or 'name'", path);
    index_items(&j);
    if (j.columns[ROW_FINGERPRINT] >= 0)
        index_fingerprints(&j);
    while (csv_next(&j.table))
        add_row(&j);
    if (!j.result.rows)
        fail_with(&in->fail, SOOTH_ERROR_INPUT,
                  "%s: none of its %zu rows belongs to a graph of the set, such as '%s'; the column 'name' has "
                  "a graph's name, or 'graph' its file",
                  path, j.result.unjoined, items->count ? items->items[0].name : "");
    for (int32_t i = 0; i < items->count; i++)
        settle_item(&j, &items->items[i]);
    return j.result;
}
