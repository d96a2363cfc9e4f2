/* rows_operators.c: reads tables of measured operators: their sources, timers, element types and devices. */
#include "learn/rows_operators.h"

#include <math.h>
#include <stdio.h>

static const char *const COLUMN_NAMES[COLUMN_COUNT] = {
    [COLUMN_OP] = "op",
    [COLUMN_LAYER_OP] = "layer_op",
    [COLUMN_DEVICE] = "device",
    [COLUMN_DTYPE] = "dtype",
    [COLUMN_KV_DTYPE] = "kv_dtype",
    [COLUMN_FRAMEWORK] = "framework",
    [COLUMN_SOURCE] = "source",
    [COLUMN_BATCH] = "batch",
    [COLUMN_M] = "m",
    [COLUMN_N] = "n",
    [COLUMN_K] = "k",
    [COLUMN_TRANS_A] = "trans_a",
    [COLUMN_TRANS_B] = "trans_b",
    [COLUMN_GATED] = "gated_mlp",
    [COLUMN_ROWS] = "rows",
    [COLUMN_COLS] = "cols",
    [COLUMN_DIRECTION] = "direction",
    [COLUMN_IMAGES] = "N",
    [COLUMN_CHANNELS] = "C",
    [COLUMN_DEPTH] = "D",
    [COLUMN_HEIGHT] = "H",
    [COLUMN_WIDTH] = "W",
    [COLUMN_FILTERS] = "K",
    [COLUMN_FILTER_HEIGHT] = "R",
    [COLUMN_FILTER_WIDTH] = "S",
    [COLUMN_STRIDE] = "stride",
    [COLUMN_STRIDE_H] = "stride_h",
    [COLUMN_STRIDE_W] = "stride_w",
    [COLUMN_PAD] = "pad",
    [COLUMN_PAD_H] = "pad_h",
    [COLUMN_PAD_W] = "pad_w",
    [COLUMN_DILATION] = "dilation",
    [COLUMN_GROUPS] = "groups",
    [COLUMN_LAYOUT] = "layout",
    [COLUMN_DESCRIPTION] = "desc",
    [COLUMN_ACTIVATION_BYTES] = "activation_bytes",
    [COLUMN_Q_LEN] = "q_len",
    [COLUMN_PAST_LEN] = "past_len",
    [COLUMN_HEADS] = "heads",
    [COLUMN_KV_HEADS] = "kv_heads",
    [COLUMN_HEAD_DIM] = "head_dim",
    [COLUMN_WINDOW] = "window",
    [COLUMN_HIDDEN] = "hidden",
    [COLUMN_STEPS] = "timesteps",
    [COLUMN_LATENCY] = "latency_ms",
    [COLUMN_FORWARD_MS] = "fwd_ms",
    [COLUMN_BACKWARD_MS] = "bwd_ms",
    [COLUMN_BACKWARD_DATA_MS] = "bwd_data_ms",
    [COLUMN_BACKWARD_WEIGHT_MS] = "bwd_weight_ms",
    [COLUMN_POWER] = "power_w",
};

str operator_text(const operator_reader *o, operator_column column)
{
    return csv_at(&o->table->csv, o->columns[column]);
}

int64_t operator_number(operator_reader *o, operator_column column, int64_t least, int64_t otherwise)
{
    str field = operator_text(o, column);
    int64_t number = otherwise;
    bool is_right =
        field.len ? csv_whole(field, &number) && number >= least && number <= (int64_t)1 << 31 : otherwise >= 0;
    if (!is_right) {
        table_reject(o->table, o->row, "%s is '%.*s', which is not a size", COLUMN_NAMES[column], STR_ARG(field));
        return 1;
    }
    return number;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* A table belongs to the source whose columns it has. Times below `floor_ms` measure the timer rather than the
 * kernel. */
static const struct operator_source {
    const char *name;
    const char *has[2];
    double floor_ms;
    double timer_us;   /* time that the timer adds to every call; for NeuSight it depends on the operator */
    const char *stack; /* NULL: the serving framework's stack, or the source's name if the table has no framework. */
} SOURCES[] = {
    {"aiconfigurator", {"framework", "kernel_source"}, 0, 0, NULL}, /* replayed CUDA graphs: kernel time only */
    {"vidur", {"layer_op", "num_tokens"}, 0, 0, NULL},              /* a profiler's sum of kernel times */
    {"xla", {"sm", "tflops"}, 0, 0, NULL},                          /* measured by a kernel tracer */
    /* back-to-back calls, so launches overlap with kernels */
    {"deepbench", {"suite", "precision_note"}, 0, 0, NULL},
    {"pipedream", {"fwd_ms", "desc"}, 1, 270, NULL}, /* host timer and synchronization around each
                                                                     * layer */
    /* many calls; each takes the larger of launch time (0.05 to 0.18 ms) and kernel time */
    {"xwang", {"run", "layout"}, 0.19, 0, NULL},
    {"llmcompass", {"throughput", "m"}, 0, 12, NULL}, /* host timer with synchronization */
    /* The stack of the source's networks, because they run the same kernels. */
    {"neusight", {"source_split", "torch"}, 0, 0, "pt2.x"},
    {"", {"op", "device"}, 0, 0, NULL},
};
typedef struct operator_source operator_source;

static const operator_source *find_source(const csv *header)
{
    const operator_source *s = SOURCES;
    while (csv_find(header, s->has[0]) < 0 || csv_find(header, s->has[1]) < 0) {
        s++;
        if (s == SOURCES + sizeof SOURCES / sizeof *SOURCES)
            return NULL;
    }
    return s;
}

/* NeuSight times one eager call with a pair of events, which includes the host's launch. The values are the floors of
 * its tables on the A100, T4 and P4, minus 3 us for the smallest kernel. Hosts of other GPUs were faster or slower. */
static double neusight_timer_us(str op, const device *d)
{
    static const struct {
        const char *op;
        double us;
    } FLOORS[] = {{"add", 23},    {"mul", 23},  {"div", 23},     {"pow", 23},   {"tanh", 22}, {"addu", 28},
                  {"mulu", 28},   {"divu", 28}, {"relu", 28},    {"gelu", 27},  {"powu", 26}, {"bmm", 28},
                  {"linear", 48}, {"ln", 43},   {"softmax", 29}, {"conv2d", 55}};
    static const struct {
        const char *gpu;
        double factor;
    } HOSTS[] = {{"v100-pcie-32gb", 1.25}, {"p100-pcie-16gb", 1.65}, {"h100-sxm5-80gb", 0.8}};
    double us = 0, factor = 1;
    for (size_t i = 0; i < sizeof FLOORS / sizeof *FLOORS; i++)
        if (str_is(op, FLOORS[i].op))
            us = FLOORS[i].us;
    for (size_t i = 0; i < sizeof HOSTS / sizeof *HOSTS; i++)
        if (d && str_is(d->texts[DEVICE_NAME], HOSTS[i].gpu) && !str_is(op, "ln"))
            factor = HOSTS[i].factor;
    return us * factor;
}

/* NeuSight's timer drifts along its convolutions, equally on all five GPUs: the shortest time of any row is 0.1 ms
 * at the start of a GPU's rows and 0.3 to 0.8 ms at their end. The position of a row among those of its GPU gives
 * the added time, so a table must keep its order. (With this correction, the error of convolutions falls from 17 %
 * to 8 %.) */
static const struct convolution_drift {
    const char *gpu;
    double start_us, rise_us, bend_us; /* added time at position p (0 to 1): start + rise p + bend p² */
} DRIFTS[] = {
    {"a100-pcie-80gb", 61, 27, 273},  {"p100-pcie-16gb", 0, 390, 390}, {"p4", 8, 372, 361}, {"t4", 89, 332, 100},
    {"v100-pcie-32gb", 55, 153, 115},
};

static bool is_drifting(const measured_row *r)
{
    return str_is(r->source, "neusight") && str_is(r->name, "conv2d") && r->where.device;
}

static void set_drift(const measured_rows *rows, const struct convolution_drift *d)
{
    double count = 0, place = 0;
    for (int32_t i = 0; i < rows->rows.count; i++) {
        const measured_row *r = &rows->rows.items[i];
        count += is_drifting(r) && str_is(r->where.device->texts[DEVICE_NAME], d->gpu);
    }
    for (int32_t i = 0; i < rows->rows.count; i++) {
        measured_row *r = &rows->rows.items[i];
        if (!is_drifting(r) || !str_is(r->where.device->texts[DEVICE_NAME], d->gpu))
            continue;
        double part = (place++ + 0.5) / count;
        r->timer_us = d->start_us + part * (d->rise_us + part * d->bend_us);
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const struct operator_type {
    const char *name;
    lower_precision precision;
    dtype input, weight, output;
} TYPES[] = {
    {"fp32", PRECISION_FP32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT32},
    {"f32xf32->f32", PRECISION_TF32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT32}, /* XLA runs this type on tensor cores */
    {"tf32", PRECISION_TF32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT32},
    {"fp16", PRECISION_FP16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16},
    {"float16", PRECISION_FP16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16},
    {"fp16_tensorcore_fp32acc", PRECISION_FP16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16},
    {"bf16", PRECISION_BF16, DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16},
    {"bfloat16", PRECISION_BF16, DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16},
    {"bf16xbf16->bf16", PRECISION_BF16, DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16},
    {"int8_wo", PRECISION_BF16, DT_BFLOAT16, DT_INT8, DT_BFLOAT16}, /* weight-only quantization */
    {"int4_wo", PRECISION_BF16, DT_BFLOAT16, DT_INT4, DT_BFLOAT16},
    {"sq", PRECISION_INT8, DT_INT8, DT_INT8, DT_BFLOAT16},
    {"int8", PRECISION_INT8, DT_INT8, DT_INT8, DT_INT32},
    {"int8_acc32", PRECISION_INT8, DT_INT8, DT_INT8, DT_INT32},
    {"fp8", PRECISION_FP8, DT_FLOAT8E4M3FN, DT_FLOAT8E4M3FN, DT_BFLOAT16},
    {"fp8_block", PRECISION_FP8, DT_FLOAT8E4M3FN, DT_FLOAT8E4M3FN, DT_BFLOAT16},
    {"f8e4m3fnxf8e4m3fn->bf16", PRECISION_FP8, DT_FLOAT8E4M3FN, DT_FLOAT8E4M3FN, DT_BFLOAT16},
    {"f8e4m3fnxf8e5m2->bf16", PRECISION_FP8, DT_FLOAT8E4M3FN, DT_FLOAT8E5M2, DT_BFLOAT16},
    {"f8e5m2xf8e4m3fn->bf16", PRECISION_FP8, DT_FLOAT8E5M2, DT_FLOAT8E4M3FN, DT_BFLOAT16},
};

static void set_type(operator_reader *o)
{
    str name = operator_text(o, COLUMN_DTYPE);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(name, TYPES[i].name)) {
            o->row->where.lower.precision = TYPES[i].precision;
            o->input = TYPES[i].input;
            o->weight = TYPES[i].weight;
            o->output = TYPES[i].output;
            return;
        }
    table_reject(o->table, o->row, "there is no precision '%.*s'", STR_ARG(name));
}

/* Returns the source, or the serving framework and its version. Quantized weights have a stack of their own, because
 * their kernels differ in more than bytes. */
static str stack_of(operator_reader *o, const operator_source *s)
{
    str framework = operator_text(o, COLUMN_FRAMEWORK), type = operator_text(o, COLUMN_DTYPE);
    if (s->stack || !framework.len)
        return table_text(o->table, str_of(s->stack ? s->stack : s->name));
    char text[128];
    bool is_plain = str_is(type, "bfloat16") || str_is(type, "fp8");
    int n = snprintf(text, sizeof text, "%.*s%s%.*s", STR_ARG(framework), is_plain ? "" : "-",
                     is_plain ? 0 : (int)(type.len < 32 ? type.len : 32), type.ptr);
    for (char *p = text; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
        else if (*p == ' ')
            *p = '-';
    return table_text(o->table, (str){text, n < (int)sizeof text ? (size_t)n : sizeof text - 1});
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void set_device(operator_reader *o)
{
    str shown = operator_text(o, COLUMN_DEVICE), name = shown;
    for (size_t i = 0; i + 1 < name.len; i++) /* removes remarks in brackets after the name */
        if (name.ptr[i] == ' ' && name.ptr[i + 1] == '(')
            name.len = i;
    table_set_gpu(o->table, o->row, name, shown);
}

/* Rejects three-dimensional networks and rows that the source's notes warn of. */
static void check_row(operator_reader *o, const operator_source *s)
{
    measured_row *row = o->row;
    if (str_is(operator_text(o, COLUMN_LAYOUT), "ndhwc"))
        table_reject(o->table, row, "channels last in three dimensions is not supported");
    if (row->latency_ms < s->floor_ms)
        table_reject(o->table, row, "it is too short for its source's timer (below %g ms)", s->floor_ms);
    if (isnan(row->latency_ms))
        table_reject(o->table, row, "it has no time");
}

/* Hash of the operator, the direction and every number of the shape, without device and precision. */
static uint32_t shape_of(const operator_reader *o)
{
    static const operator_column PARTS[] = {
        COLUMN_BATCH,
        COLUMN_M,
        COLUMN_N,
        COLUMN_K,
        COLUMN_ROWS,
        COLUMN_COLS,
        COLUMN_IMAGES,
        COLUMN_CHANNELS,
        COLUMN_DEPTH,
        COLUMN_HEIGHT,
        COLUMN_WIDTH,
        COLUMN_FILTERS,
        COLUMN_FILTER_HEIGHT,
        COLUMN_FILTER_WIDTH,
        COLUMN_STRIDE,
        COLUMN_STRIDE_H,
        COLUMN_STRIDE_W,
        COLUMN_PAD,
        COLUMN_PAD_H,
        COLUMN_PAD_W,
        COLUMN_DILATION,
        COLUMN_GROUPS,
        COLUMN_ACTIVATION_BYTES,
        COLUMN_Q_LEN,
        COLUMN_PAST_LEN,
        COLUMN_HEADS,
        COLUMN_KV_HEADS,
        COLUMN_HEAD_DIM,
        COLUMN_WINDOW,
        COLUMN_HIDDEN,
        COLUMN_STEPS,
    };
    uint32_t hash = str_hash(o->op) ^ 31 * str_hash(o->direction);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        hash = (hash ^ str_hash(operator_text(o, PARTS[i]))) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    return hash;
}

/* Reads one measurement. A row may have several, such as forward and backward. */
static void read_row(operator_reader *o, const operator_source *s, str direction, operator_column time)
{
    table_reader *t = o->table;
    o->op = operator_text(o, COLUMN_OP);
    o->direction = direction;
    uint32_t shape = shape_of(o);
    if (t->options.keep > 0 && shape >= t->options.keep * 4294967296.0)
        return;
    measured_row *row = o->row = ARENA_PUSH(t->arena, &t->out->rows);
    row->line = t->csv.line;
    row->shape = shape;
    row->name = row->family = table_text(t, o->op);
    row->source = table_text(t, o->columns[COLUMN_SOURCE] >= 0 ? operator_text(o, COLUMN_SOURCE) : str_of(s->name));
    row->batch = 1;
    row->memory_mib = row->energy_j = row->power_w = row->power_limit_w = NAN;
    const operator_kind *kind = operator_kind_of(o->op);
    if (!kind)
        table_reject(t, row, "the operator '%.*s' is unknown", STR_ARG(o->op));
    set_device(o);
    set_type(o);
    row->where.stack = stack_of(o, s);
    row->where.is_operator = true;
    /* Operators of a serving framework belong to a language model engine, because no network rows of such engines
     * exist. */
    if (operator_text(o, COLUMN_FRAMEWORK).len)
        row->where.lower.runtime = RUNTIME_ENGINE;
    double watts;
    table_positive(t, row, o->columns[time], COLUMN_NAMES[time], &row->latency_ms);
    if (table_positive(t, row, o->columns[COLUMN_POWER], COLUMN_NAMES[COLUMN_POWER], &watts))
        row->energy_j = watts * row->latency_ms / 1e3;
    row->power_w = watts;
    row->timer_us = str_is(row->source, "neusight") ? neusight_timer_us(o->op, row->where.device) : s->timer_us;
    check_row(o, s);
    if (!row->reason)
        operator_make(o, kind);
}

void table_read_operators(table_reader *t)
{
    const operator_source *source = find_source(&t->csv);
    if (!source)
        fail_with(t->fail, SOOTH_ERROR_INPUT, "has no column 'device': a table of operators names the GPU of each row");
    operator_reader *o = ARENA_NEW(t->scratch, operator_reader);
    o->table = t;
    o->fail.error = &o->error;
    o->single = single_new(t->scratch, &o->fail);
    for (int i = 0; i < COLUMN_COUNT; i++)
        o->columns[i] = csv_find(&t->csv, COLUMN_NAMES[i]);
    bool is_both_ways = o->columns[COLUMN_FORWARD_MS] >= 0 && o->columns[COLUMN_LATENCY] < 0;
    while (csv_next(&t->csv)) {
        if (!is_both_ways) {
            read_row(o, source, operator_text(o, COLUMN_DIRECTION), COLUMN_LATENCY);
            continue;
        }
        read_row(o, source, STR("fwd"), COLUMN_FORWARD_MS);
        /* in tables, gradients of other operators are operators of their own */
        if (str_starts(operator_text(o, COLUMN_OP), "conv"))
            read_row(o, source, STR("bwd"), COLUMN_BACKWARD_MS);
        if (operator_text(o, COLUMN_BACKWARD_DATA_MS).len)
            read_row(o, source, STR("bwd_data"), COLUMN_BACKWARD_DATA_MS);
        if (operator_text(o, COLUMN_BACKWARD_WEIGHT_MS).len)
            read_row(o, source, STR("bwd_weight"), COLUMN_BACKWARD_WEIGHT_MS);
    }
    for (size_t i = 0; i < sizeof DRIFTS / sizeof *DRIFTS; i++)
        set_drift(t->out, &DRIFTS[i]);
}
