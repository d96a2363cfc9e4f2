/* rows.c: reads tables of measured whole models; rows_operators.c reads tables of operators. */
#include "device/mig.h"
#include "learn/rows_table.h"
#include "predict/setting.h"
#include "predict/source.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what both kinds share --------------------------------------------------------------------------------------- */

static void grow_texts(table_reader *t)
{
    size_t old_room = t->texts.room, room = old_room ? 2 * old_room : 1024;
    str *old = t->texts.items;
    t->texts.items = ARENA_ARRAY(t->scratch, str, room);
    t->texts.room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].ptr) {
            size_t at = str_hash(old[i]) & (room - 1);
            while (t->texts.items[at].ptr)
                at = (at + 1) & (room - 1);
            t->texts.items[at] = old[i];
        }
}

str table_text(table_reader *t, str s)
{
    if (2 * t->texts.count >= t->texts.room)
        grow_texts(t);
    size_t at = str_hash(s) & (t->texts.room - 1);
    while (t->texts.items[at].ptr && !str_eq(t->texts.items[at], s))
        at = (at + 1) & (t->texts.room - 1);
    if (!t->texts.items[at].ptr) {
        t->texts.items[at] = arena_str(t->arena, s);
        t->texts.count++;
    }
    return t->texts.items[at];
}

void table_reject(table_reader *t, measured_row *row, const char *format, ...)
{
    if (row->reason)
        return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    row->reason = table_text(t, str_of(text)).ptr;
}

static const device *find_device(table_reader *t, str gpu)
{
    for (size_t i = 0; i < t->gpus.count; i++)
        if (t->gpus.names[i].ptr == gpu.ptr)
            return t->gpus.devices[i];
    const device *d = device_list_find(t->devices, gpu);
    if (t->gpus.count < sizeof t->gpus.names / sizeof *t->gpus.names) {
        t->gpus.names[t->gpus.count] = gpu;
        t->gpus.devices[t->gpus.count++] = d;
    }
    return d;
}

void table_set_gpu(table_reader *t, measured_row *row, str name, str shown)
{
    row->where.device = find_device(t, table_text(t, name));
    row->gpu = row->where.device ? row->where.device->texts[DEVICE_NAME] : table_text(t, shown);
    if (!row->where.device)
        table_reject(t, row, shown.len ? "no file describes a GPU called '%.*s'" : "it names no GPU", STR_ARG(shown));
}

bool table_positive(table_reader *t, measured_row *row, int column, const char *what, double *number)
{
    str field = csv_at(&t->csv, column);
    *number = NAN;
    if (!field.len)
        return true;
    double x;
    if (csv_real(field, &x) && x > 0 && x < 1e15) {
        *number = x;
        return true;
    }
    table_reject(t, row, "%s is '%.*s', which is not a positive number", what, STR_ARG(field));
    return false;
}

/* ---- whole models ------------------------------------------------------------------------------------------------ */

enum label_column {
    LABEL_NAME,
    LABEL_GRAPH,
    LABEL_BATCH,
    LABEL_GPU,
    LABEL_PRECISION,
    LABEL_LAYOUT,
    LABEL_RUNTIME,
    LABEL_STACK,
    LABEL_MODE,
    LABEL_OPTIMIZER,
    LABEL_MIG,
    LABEL_LATENCY,
    LABEL_MEMORY,
    LABEL_ENERGY,
    LABEL_SOURCE,
    LABEL_POWER,
    LABEL_POWER_LIMIT,
    LABEL_IDLE_GPUS,
    LABEL_COUNT
};
static const char *const LABEL_NAMES[LABEL_COUNT] = {
    "name",      "graph", "batch",      "gpu",        "precision", "layout", "runtime", "stack",         "mode",
    "optimizer", "mig",   "latency_ms", "memory_mib", "energy_j",  "source", "power_w", "power_limit_w", "idle_gpus"};

/* Paths in a table are relative to its folder. */
static str graph_path(table_reader *t, str graph)
{
    if (!graph.len || graph.ptr[0] == '/' || str_starts(graph, "zoo:"))
        return table_text(t, graph);
    const char *slash = strrchr(t->path, '/');
    if (!slash)
        return table_text(t, graph);
    size_t folder = (size_t)(slash - t->path) + 1;
    char *joined = arena_room(t->scratch, folder + graph.len, 1);
    memcpy(joined, t->path, folder);
    memcpy(joined + folder, graph.ptr, graph.len);
    return table_text(t, (str){joined, folder + graph.len});
}

int row_graph_error(const measured_row *row)
{
    return str_starts(row->graph, "zoo:") || access(row->graph.ptr, R_OK) == 0 ? 0 : errno;
}

/* The bandwidth of copies from pageable memory follows from torchvision's rows. fp16 halves the input; where the device
 * is not the bottleneck (squeezenet and resnet18 on the A100), the latency drops by the saved copy time. */
double row_copy_ms(const measured_row *row, double input_bytes)
{
    static const double PAGEABLE_GB_S = 2.3;
    return row->copies_input ? input_bytes / (PAGEABLE_GB_S * 1e6) : 0;
}

static void set_parts(table_reader *t, measured_row *row, const int *columns)
{
    static const struct {
        setting_part part;
        enum label_column column;
    } PARTS[] = {
        {SETTING_PRECISION, LABEL_PRECISION}, {SETTING_LAYOUT, LABEL_LAYOUT},       {SETTING_RUNTIME, LABEL_RUNTIME},
        {SETTING_MODE, LABEL_MODE},           {SETTING_OPTIMIZER, LABEL_OPTIMIZER},
    };
    row->where = setting_default();
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        str name = csv_at(&t->csv, columns[PARTS[i].column]);
        if (!setting_set(&row->where, PARTS[i].part, name))
            table_reject(t, row, "there is no %s '%.*s'", setting_part_name(PARTS[i].part), STR_ARG(name));
    }
    setting_set_stack(&row->where, table_text(t, csv_at(&t->csv, columns[LABEL_STACK])));
}

/* Creates each slice once. */
static void set_slice(table_reader *t, measured_row *row, str mig)
{
    const device *whole = row->where.device;
    const mig_profile *profile = whole->slices ? mig_find(whole->slices, mig) : NULL;
    if (!profile) {
        table_reject(t, row, "%.*s has no slice '%.*s'", STR_ARG(row->gpu), STR_ARG(mig));
        return;
    }
    for (int32_t i = 0; i < t->slices.count; i++)
        if (t->slices.items[i]->whole == whole && t->slices.items[i]->profile == profile) {
            row->where.device = t->slices.items[i];
            return;
        }
    device *slice = ARENA_NEW(t->arena, device);
    device_slice(slice, whole, profile);
    *(const device **)ARENA_PUSH(t->scratch, &t->slices) = slice;
    row->where.device = slice;
}

static void read_label(table_reader *t, measured_row *row, const int *columns)
{
    const csv *c = &t->csv;
    row->line = c->line;
    row->name = table_text(t, csv_at(c, columns[LABEL_NAME]));
    row->graph = graph_path(t, csv_at(c, columns[LABEL_GRAPH]));
    row->family = row_family(row->name);
    row->source = table_text(t, csv_at(c, columns[LABEL_SOURCE]));
    if (!row->graph.len)
        table_reject(t, row, "it names no graph");
    if (!csv_whole(csv_at(c, columns[LABEL_BATCH]), &row->batch) || row->batch < 1 || row->batch > INT32_MAX) {
        row->batch = 0;
        table_reject(t, row, "batch is '%.*s', which is not a positive whole number",
                     STR_ARG(csv_at(c, columns[LABEL_BATCH])));
    }
    set_parts(t, row, columns);
    str gpu = csv_at(c, columns[LABEL_GPU]), mig = csv_at(c, columns[LABEL_MIG]);
    table_set_gpu(t, row, gpu, gpu);
    if (mig.len && row->where.device)
        set_slice(t, row, mig);
    setting_settle(&row->where);
    row->where.on_own_host = row->source.len > 0; /* A row without a source is predicted like a user's call. */
    source_follow(&row->where, row->source, t->fail);
    row->copies_input = str_starts(row->source, "torchvision");
    table_positive(t, row, columns[LABEL_LATENCY], "latency_ms", &row->latency_ms);
    table_positive(t, row, columns[LABEL_MEMORY], "memory_mib", &row->memory_mib);
    table_positive(t, row, columns[LABEL_ENERGY], "energy_j", &row->energy_j);
    table_positive(t, row, columns[LABEL_POWER], "power_w", &row->power_w);
    table_positive(t, row, columns[LABEL_POWER_LIMIT], "power_limit_w", &row->power_limit_w);
    if (csv_at(c, columns[LABEL_IDLE_GPUS]).len && (!csv_whole(csv_at(c, columns[LABEL_IDLE_GPUS]), &row->idle_gpus) ||
                                                    row->idle_gpus < 0 || row->idle_gpus > 1024)) {
        row->idle_gpus = 0;
        table_reject(t, row, "idle_gpus is '%.*s', which is not a number of GPUs",
                     STR_ARG(csv_at(c, columns[LABEL_IDLE_GPUS])));
    }
    /* Sources gpumemnet-failed, -full and -spike: runs that ended early, filled the card, or measured something
     * else. */
    if (str_starts(row->source, "gpumemnet-"))
        table_reject(t, row, "its memory measurement is unreliable (%.*s)", STR_ARG(row->source));
}

static void read_labels(table_reader *t)
{
    int columns[LABEL_COUNT];
    for (int i = 0; i < LABEL_COUNT; i++)
        columns[i] = csv_find(&t->csv, LABEL_NAMES[i]);
    while (csv_next(&t->csv))
        read_label(t, ARENA_PUSH(t->arena, &t->out->rows), columns);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Reserves room for all lines, or for the share that is kept, plus a margin. Pages that no row uses are never
 * touched. */
static void reserve_rows(table_reader *t, str bytes)
{
    double lines = 1;
    for (const char *at = bytes.ptr, *end = at + bytes.len; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    bool keeps_part = t->options.keep > 0 && t->options.keep < 1;
    ARENA_RESERVE(t->arena, &t->out->rows, (size_t)(keeps_part ? lines * t->options.keep + lines / 64 : lines));
}

/* Not inlined, because its variables would then be in a function with setjmp. */
__attribute__((noinline)) static void read_table(table_reader *t, str bytes)
{
    reserve_rows(t, bytes);
    csv_begin(&t->csv, bytes, t->scratch);
    if (!csv_next(&t->csv))
        fail_with(t->fail, SOOTH_ERROR_INPUT, "is empty; a table of measured rows starts with a line of column names");
    bool is_labels =
        csv_find(&t->csv, "graph") >= 0 && csv_find(&t->csv, "batch") >= 0 && csv_find(&t->csv, "gpu") >= 0;
    if (is_labels)
        read_labels(t);
    else if (csv_find(&t->csv, "op") >= 0)
        table_read_operators(t);
    else
        fail_with(t->fail, SOOTH_ERROR_INPUT,
                  "has no header: the first line must name the columns of measured networks (graph, batch, gpu, "
                  "latency_ms ...) or of measured operators (op, device ...)");
}

typedef struct rows_job {
    fail fail; /* catches the job's failure, so that its files are closed first */
    sooth_error error;
    bool has_bytes; /* the bytes are given; nothing is read from the path */
    file_map map;
    arena scratch;
    table_reader reader;
} rows_job;

static bool run_job(rows_job *job)
{
    if (setjmp(job->fail.jump))
        return false;
    if (!job->has_bytes)
        file_open(&job->map, job->reader.path, &job->fail);
    file_inflate(&job->map, &job->fail);
    read_table(&job->reader, (str){(const char *)job->map.bytes, job->map.size});
    return true;
}

static measured_rows *read_rows(const char *path, const str *bytes, const device_list *devices,
                                const rows_options *options, arena *a, fail *f)
{
    static const size_t SCRATCH_CAP = (size_t)1 << 30;
    rows_job *job = ARENA_NEW(a, rows_job);
    job->fail.error = &job->error;
    job->map.descriptor = -1;
    job->has_bytes = bytes != NULL;
    if (bytes)
        file_of_memory(&job->map, bytes->ptr, bytes->len);
    arena_init(&job->scratch, &job->fail, SCRATCH_CAP);
    job->reader = (table_reader){.arena = a,
                                 .scratch = &job->scratch,
                                 .fail = &job->fail,
                                 .path = path,
                                 .devices = devices,
                                 .options = options ? *options : (rows_options){0},
                                 .out = ARENA_NEW(a, measured_rows)};
    fail *outer = a->fail;
    a->fail = &job->fail;
    bool done = run_job(job);
    a->fail = outer;
    file_close(&job->map);
    arena_free(&job->scratch);
    if (!done)
        fail_with(f, job->error.code, "%s", job->error.message);
    return job->reader.out;
}

measured_rows *rows_read(const char *path, const device_list *devices, const rows_options *options, arena *a, fail *f)
{
    return read_rows(path, NULL, devices, options, a, f);
}

measured_rows *rows_of_bytes(str bytes, const char *path, const device_list *devices, const rows_options *options,
                             arena *a, fail *f)
{
    return read_rows(path, &bytes, devices, options, a, f);
}
