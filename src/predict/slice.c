/* slice.c: reads the constants for MIG slices and predicts kernel times on slices. */
#include "predict/slice.h"
#include "base/lines.h"
#include "base/nearest.h"

#include <math.h>

/* data/slices.txt, NUL-terminated. */
extern const char slice_shipped_text[];

static const struct {
    const char *key, *summary;
    double least, most;
} CONSTANTS[SLICE_CONSTANT_COUNT] = {
    [SLICE_PRODUCT_FP32] = {"product_fp32", "compute time of products in fp32 / roofline", 0.2, 20},
    [SLICE_PRODUCT_TENSOR] = {"product_tensor", "the same on tensor cores", 0.2, 20},
    [SLICE_PRODUCT_BACKWARD] = {"product_backward", "further factor in the backward pass, on tensor cores", 0.2, 20},
    [SLICE_CONV] = {"conv", "compute time of convolutions / roofline", 0.2, 20},
    [SLICE_CONV_BACKWARD] = {"conv_backward", "further factor in the backward pass", 0.2, 20},
    [SLICE_OTHER] = {"other", "instruction time of other kernels / roofline", 0.01, 20},
    [SLICE_MEMORY_PRODUCT] = {"memory_product", "memory time of products / roofline", 0.01, 20},
    [SLICE_MEMORY_CONV] = {"memory_conv", "memory time of convolutions / roofline", 0.01, 20},
    [SLICE_MEMORY_CONV_BACKWARD] = {"memory_conv_backward", "further factor in the backward pass", 0.01, 20},
    [SLICE_MEMORY_NORM] = {"memory_norm", "memory time of norms and reductions / roofline", 0.01, 20},
    [SLICE_MEMORY_POINTWISE] = {"memory_pointwise", "memory time of pointwise kernels / roofline", 0.01, 20},
    [SLICE_MEMORY_MOVE] = {"memory_move", "memory time of copies / roofline", 0.01, 20},
    [SLICE_MEMORY_UPDATE] = {"memory_update", "memory time of updates of many parameters at once / roofline", 0.01, 20},
    [SLICE_MEMORY_OTHER] = {"memory_other", "memory time of other kernels / roofline", 0.01, 20},
    [SLICE_ROUND_PRODUCT] = {"round_product", "waves of thread blocks that a product loses", 0.001, 20},
    [SLICE_ROUND_CONV] = {"round_conv", "waves of thread blocks that a convolution loses", 0.001, 20},
    [SLICE_FIXED_US] = {"fixed_us", "microseconds that every kernel takes in addition", 0.1, 50},
    [SLICE_HOST_VIEW] = {"host_view", "host time of a view / host time of a forward launch", 0.01, 10},
    [SLICE_HOST_LIBRARY] = {"host_library",
                            "additional host time of a convolution or batch norm / that of a forward launch", 0.01, 10},
    [SLICE_HOST_BACKWARD] = {"host_backward", "host time of a backward launch / that of a forward launch", 0.01, 10},
    [SLICE_HOST_UPDATE] = {"host_update", "host time of an update launch / that of a forward launch", 0.01, 10},
    [SLICE_INTERVAL] = {"interval", "half of the 90 % interval's width on hold-out rows, as a logarithm", 0.001, 5},
};

const char *slice_constant_name(slice_constant c)
{
    return CONSTANTS[c].key;
}

const char *slice_constant_summary(slice_constant c)
{
    return CONSTANTS[c].summary;
}

void slice_constant_bounds(slice_constant c, double *least, double *most)
{
    *least = CONSTANTS[c].least;
    *most = CONSTANTS[c].most;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef struct reader {
    slice_constants *to;
    const char *prefix;
    fail *fail;
    int line;
} reader;

#define WRONG(r, format, ...)                                                                                          \
    fail_with((r)->fail, SOOTH_ERROR_INPUT, "%sline %d: " format, (r)->prefix, (r)->line, __VA_ARGS__)

static double read_number(reader *r, str key, str value, double least, double most)
{
    double number;
    if (!line_number(value, &number) || !(number >= least && number <= most))
        WRONG(r, "'%.*s = %.*s' cannot be: it is a number between %g and %g", STR_ARG(key), STR_ARG(value), least,
              most);
    return number;
}

static void read_host(reader *r, str stack, str value)
{
    slice_constants *c = r->to;
    if (c->host_count == SLICE_MAX_HOSTS)
        WRONG(r, "more than %d stacks", SLICE_MAX_HOSTS);
    for (int i = 0; i < c->host_count; i++)
        if (str_eq(c->hosts[i].stack, stack))
            WRONG(r, "the host of %.*s is given twice", STR_ARG(stack));
    c->hosts[c->host_count].stack = stack;
    c->hosts[c->host_count++].launch_us = read_number(r, stack, value, 0.1, 1000);
}

static void read_line(reader *r, str line)
{
    line_check(line, r->line, r->prefix, r->fail);
    str statement = line_trimmed(line_taken(&line, '#'));
    if (!statement.len)
        return;
    str key = line_trimmed(line_taken(&statement, '=')), value = line_trimmed(statement);
    if (str_starts(key, "host_us ")) {
        read_host(r, line_trimmed((str){key.ptr + 8, key.len - 8}), value);
        return;
    }
    nearest near = nearest_to(key);
    for (int i = 0; i < SLICE_CONSTANT_COUNT; i++) {
        if (str_is(key, CONSTANTS[i].key)) {
            if (!isnan(r->to->values[i]))
                WRONG(r, "'%.*s' is given twice", STR_ARG(key));
            r->to->values[i] = read_number(r, key, value, CONSTANTS[i].least, CONSTANTS[i].most);
            return;
        }
        nearest_try(&near, str_of(CONSTANTS[i].key));
    }
    WRONG(r, "there is no constant '%.*s'%s%.*s", STR_ARG(key), near.best.len ? "; did you mean " : "",
          STR_ARG(near.best));
}

static void slice_read(slice_constants *c, str text, const char *prefix, fail *f)
{
    enum { MAX_FILE_BYTES = 64 * 1024 };
    reader r = {.to = c, .prefix = prefix, .fail = f};
    if (text.len > MAX_FILE_BYTES)
        fail_with(f, SOOTH_ERROR_INPUT, "%sis larger than %d KiB; are these the constants of slices?", prefix,
                  MAX_FILE_BYTES >> 10);
    c->host_count = 0;
    for (int i = 0; i < SLICE_CONSTANT_COUNT; i++)
        c->values[i] = NAN;
    while (text.len) {
        r.line++;
        read_line(&r, line_taken(&text, '\n'));
    }
    for (int i = 0; i < SLICE_CONSTANT_COUNT; i++)
        if (isnan(c->values[i]))
            fail_with(f, SOOTH_ERROR_INPUT, "%shas no '%s' (%s)", prefix, CONSTANTS[i].key, CONSTANTS[i].summary);
}

void slice_read_shipped(slice_constants *c, fail *f)
{
    slice_read(c, str_of(slice_shipped_text), "data/slices.txt: ", f);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static slice_constant compute_class(const work *w, bool has_tensor_cores)
{
    switch (w->group) {
    case WORK_CONV:
    case WORK_DEPTHWISE:
    case WORK_GROUPED:
        return SLICE_CONV;
    case WORK_CONV_BACKWARD:
    case WORK_DEPTHWISE_BACKWARD:
        return SLICE_CONV_BACKWARD;
    case WORK_PRODUCT:
    case WORK_ATTENTION:
        return has_tensor_cores ? SLICE_PRODUCT_TENSOR : SLICE_PRODUCT_FP32;
    default:
        return SLICE_OTHER;
    }
}

static slice_constant memory_class(work_group g)
{
    switch (g) {
    case WORK_CONV:
    case WORK_DEPTHWISE:
    case WORK_GROUPED:
        return SLICE_MEMORY_CONV;
    case WORK_CONV_BACKWARD:
    case WORK_DEPTHWISE_BACKWARD:
        return SLICE_MEMORY_CONV_BACKWARD;
    case WORK_PRODUCT:
    case WORK_ATTENTION:
        return SLICE_MEMORY_PRODUCT;
    case WORK_NORM:
    case WORK_REDUCE:
        return SLICE_MEMORY_NORM;
    case WORK_POINTWISE:
    case WORK_FUSED:
        return SLICE_MEMORY_POINTWISE;
    case WORK_MOVE:
        return SLICE_MEMORY_MOVE;
    case WORK_UPDATE:
        return SLICE_MEMORY_UPDATE;
    default:
        return SLICE_MEMORY_OTHER;
    }
}

slice_term slice_term_of(const work *w, const ideal_time *ideal, double rounds, bool is_backward, bool has_tensor_cores)
{
    slice_constant compute = compute_class(w, has_tensor_cores);
    return (slice_term){.compute = (uint8_t)compute,
                        .memory = (uint8_t)memory_class(w->group),
                        .is_backward_product = is_backward && compute == SLICE_PRODUCT_TENSOR,
                        .count = w->count,
                        .compute_us = ideal->compute_us,
                        .memory_us = ideal->memory_us,
                        .rounds = rounds};
}

/* Partly filled last waves, and the initial wait for operands, cost as much as this many full waves. */
static double lost_rounds(const slice_term *t, const slice_constants *c)
{
    if (t->compute == SLICE_OTHER || !(t->rounds > 0))
        return 0;
    bool is_conv = t->compute == SLICE_CONV || t->compute == SLICE_CONV_BACKWARD;
    return c->values[is_conv ? SLICE_ROUND_CONV : SLICE_ROUND_PRODUCT] / fmax(t->rounds, 1e-3);
}

slice_time slice_time_of(const slice_term *t, const slice_constants *c)
{
    double factor = c->values[t->compute] * (t->is_backward_product ? c->values[SLICE_PRODUCT_BACKWARD] : 1);
    return (slice_time){.compute_us = t->compute_us * factor * (1 + lost_rounds(t, c)),
                        .memory_us = t->memory_us * c->values[t->memory],
                        .fixed_us = c->values[SLICE_FIXED_US]};
}

/* ---- the host ---------------------------------------------------------------------------------------------------- */

static bool is_library_call(const work *w, const kernel *k)
{
    slice_constant kind = compute_class(w, true);
    return kind == SLICE_CONV || kind == SLICE_CONV_BACKWARD || strstr(k->op, "batch_norm") != NULL;
}

slice_launches slice_launches_of(const program *p, const work_list *list)
{
    slice_launches l = {0};
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (list->of_kernel[i] < 0)
            l.views[k->phase] += (double)k->repeat;
        else if (!(k->flags & KERNEL_HIDDEN)) {
            l.launches[k->phase] += (double)k->repeat;
            if (is_library_call(&list->items[list->of_kernel[i]], k))
                l.library[k->phase] += (double)k->repeat;
        }
    }
    return l;
}

double slice_host_ms(const slice_launches *l, const slice_constants *c, double launch_us)
{
    const double weights[3] = {
        [PHASE_FORWARD] = 1,
        [PHASE_BACKWARD] = c->values[SLICE_HOST_BACKWARD],
        [PHASE_UPDATE] = c->values[SLICE_HOST_UPDATE],
    };
    double sum = 0;
    for (int phase = 0; phase < 3; phase++)
        sum += weights[phase] * (l->launches[phase] + c->values[SLICE_HOST_LIBRARY] * l->library[phase] +
                                 c->values[SLICE_HOST_VIEW] * l->views[phase]);
    return sum * launch_us / 1e3;
}

double slice_launch_us(const slice_constants *c, str stack)
{
    for (int i = 0; i < c->host_count; i++)
        if (str_eq(c->hosts[i].stack, stack))
            return c->hosts[i].launch_us;
    return NAN;
}

bool slice_is_measured(const setting *where)
{
    return where->lower.runtime == RUNTIME_EAGER && str_is(where->device->texts[DEVICE_CHIP], "GA100") &&
           (where->lower.precision == PRECISION_FP32 || where->lower.precision == PRECISION_TF32);
}
