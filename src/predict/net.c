/* net.c: layout of the parameters, and the forward pass. */
#include "predict/net.h"
#include "predict/matrix.h"

#include <math.h>

/* Sizes of the hidden layers. Products and convolutions are irregular; kernels that only move memory need fewer
 * units. */
group_shape net_group_shape(work_group g)
{
    switch (g) {
    case WORK_CONV:
    case WORK_CONV_BACKWARD:
        return (group_shape){128, 96};
    case WORK_PRODUCT:
        return (group_shape){160, 96};
    case WORK_DEPTHWISE:
    case WORK_GROUPED:
    case WORK_DEPTHWISE_BACKWARD:
    case WORK_ATTENTION:
        return (group_shape){96, 64};
    default:
        return (group_shape){64, 64};
    }
}

net_layout net_layout_of(int op_count, int stack_count, int gpu_count)
{
    net_layout at = {.ops = 0};
    size_t next = (size_t)op_count * OP_WIDTH, stacks = (size_t)stack_count;
    at.stacks = next;
    next += stacks * STACK_WIDTH;
    at.gpus = next;
    next += (size_t)gpu_count * GPU_WIDTH;
    at.stack_fixed = next;
    next += stacks;
    at.stack_host = next;
    next += stacks;
    at.group_host = next;
    next += WORK_GROUP_COUNT;
    at.gpu_host = next;
    next += (size_t)gpu_count;
    at.machine_host = next;
    next += stacks * (size_t)gpu_count;
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape s = net_group_shape((work_group)g);
        at.first[g] = next;
        next += INPUT_WIDTH * s.first;
        at.first_bias[g] = next;
        next += s.first;
        at.second[g] = next;
        next += s.first * s.second;
        at.second_bias[g] = next;
        next += s.second;
        at.heads[g] = next;
        next += HEADS * s.second;
        at.heads_bias[g] = next;
        next += HEADS;
    }
    at.count = next;
    return at;
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* Splits "pt2.4-cu124" into the text before the first digit and the version. */
static double version_of(str name, size_t *kind_length)
{
    size_t i = 0;
    while (i < name.len && (name.ptr[i] < '0' || name.ptr[i] > '9'))
        i++;
    *kind_length = i;
    double major = 0, minor = 0;
    while (i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && major < 1000)
        major = major * 10 + (name.ptr[i++] - '0');
    if (i < name.len && name.ptr[i] == '.')
        for (i++; i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && minor < 1000; i++)
            minor = minor * 10 + (name.ptr[i] - '0');
    return major + minor / 1000;
}

static bool runs_in(const net *n, int stack, int runtime)
{
    uint32_t seen = runtime == ANY_RUNTIME ? 0 : n->stack_groups[stack];
    return seen & SEEN_IN_NETWORKS ? seen >> (SEEN_RUNTIMES + runtime) & 1
                                   : runtime == ANY_RUNTIME || runtime == (int)RUNTIME_ENGINE;
}

int net_stack_find(const net *n, str name, int otherwise, int runtime)
{
    int best = otherwise;
    double least = 0.5; /* A different major version is never a substitute. */
    size_t kind, other_kind;
    double version = version_of(name, &kind);
    for (int i = UNKNOWN_STACKS; i < n->stack_count; i++) {
        if (!runs_in(n, i, runtime))
            continue;
        if (str_eq(n->stacks[i], name))
            return i;
        double away = fabs(version_of(n->stacks[i], &other_kind) - version);
        if (version > 0 && kind == other_kind && memcmp(n->stacks[i].ptr, name.ptr, kind) == 0 && away < least) {
            least = away;
            best = i;
        }
    }
    return best;
}

static bool is_cuda_build(str name)
{
    for (size_t i = 0; i + 3 <= name.len; i++)
        if (memcmp(name.ptr + i, "-cu", 3) == 0)
            return true;
    return false;
}

int net_stack_major(const str *names, int count, int stack)
{
    size_t kind, other_kind;
    double version = version_of(names[stack], &kind);
    for (int i = UNKNOWN_STACKS; i < stack && i < count && is_cuda_build(names[stack]); i++) {
        double other = version_of(names[i], &other_kind);
        if (is_cuda_build(names[i]) && floor(other) == floor(version) && kind == other_kind &&
            memcmp(names[i].ptr, names[stack].ptr, kind) == 0)
            return i;
    }
    return stack;
}

int net_gpu_find(const net *n, str name)
{
    for (int i = 1; i < n->gpu_count; i++)
        if (str_eq(n->gpus[i], name))
            return i;
    return UNKNOWN;
}

int net_stack_in(const net *n, int stack, int otherwise, work_group g)
{
    const int tried[] = {stack, otherwise, net_unknown_stack(RUNTIME_EAGER)};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        if (n->stack_groups[tried[i]] >> g & 1)
            return tried[i];
    return UNKNOWN;
}

int net_gpu_in(const net *n, int gpu, work_group g)
{
    return n->gpu_groups[gpu] >> g & 1 ? gpu : UNKNOWN;
}

bool net_gpu_ran(const net *n, int gpu, work_group g, work_unit u, int op)
{
    if (gpu == UNKNOWN || !(n->gpu_units[gpu * WORK_UNITS + (int)u] >> g & 1))
        return false;
    const uint32_t *ops = n->gpu_ops + (size_t)gpu * net_op_words(n->op_count);
    return u != UNIT_NONE || op >= n->op_count || (ops[op / 32] >> op % 32 & 1);
}

int net_op(const net *n, int op)
{
    return op < n->op_count && n->op_seen[op] ? op : UNKNOWN;
}

bool net_gpu_known(const net *n, int gpu, uint32_t groups)
{
    return gpu != UNKNOWN && (n->gpu_groups[gpu] & SEEN_IN_NETWORKS || (groups & ~n->gpu_groups[gpu]) == 0);
}

bool net_has_host(const net *n, int stack)
{
    return (n->stack_groups[stack] & SEEN_IN_NETWORKS) != 0;
}

int net_host_gpu(const net *n, int gpu)
{
    return n->gpu_groups[gpu] & SEEN_IN_NETWORKS ? gpu : UNKNOWN;
}

double net_launch_us(const net *n, int stack, int gpu)
{
    const net_layout *at = &n->at;
    const float *w = n->params;
    return exp((double)w[at->stack_host + (size_t)stack] + (double)w[at->gpu_host + (size_t)gpu] +
               (double)w[at->machine_host + (size_t)stack * (size_t)n->gpu_count + (size_t)gpu]);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

size_t net_pass_floats(work_group g, size_t count)
{
    group_shape s = net_group_shape(g);
    return count * (INPUT_WIDTH + 2 * s.first + 2 * s.second + HEADS);
}

net_pass net_pass_at(const net *n, work_group g, size_t count, float *room)
{
    group_shape s = net_group_shape(g);
    net_pass p = {.count = count, .width = INPUT_WIDTH, .first_bias = n->params + n->at.first_bias[g], .input = room};
    p.first_sum = p.input + count * INPUT_WIDTH;
    p.first = p.first_sum + count * s.first;
    p.second_sum = p.first + count * s.first;
    p.second = p.second_sum + count * s.second;
    p.heads = p.second + count * s.second;
    return p;
}

void net_bias_of(const net *n, work_group g, int stack, int gpu, float *bias)
{
    size_t units = net_group_shape(g).first;
    const float *weights = n->params + n->at.first[g] + (size_t)KERNEL_WIDTH * units;
    matrix_multiply_add(&(matrix_product){1, units, STACK_WIDTH, n->params + n->at.stacks + (size_t)stack * STACK_WIDTH,
                                          STACK_WIDTH, 1, weights, units, bias, units,
                                          n->params + n->at.first_bias[g]});
    matrix_multiply_add(&(matrix_product){1, units, GPU_WIDTH, n->params + n->at.gpus + (size_t)gpu * GPU_WIDTH,
                                          GPU_WIDTH, 1, weights + STACK_WIDTH * units, units, bias, units, NULL});
}

static void layer(const float *input, size_t width, const float *weights, const float *bias, size_t units, size_t count,
                  float *sum)
{
    matrix_multiply_add(&(matrix_product){count, units, width, input, width, 1, weights, units, sum, units, bias});
}

/* Adds the first layer's products. Skips columns of zeros, because most groups use only some features. */
static void first_layer(const net_pass *p, const float *weights, size_t units)
{
    matrix_multiply_picked(&(matrix_product){p->count, units, p->pick_count, p->input, p->width, 1, weights, units,
                                             p->first_sum, units, p->first_bias},
                           p->picks);
}

void net_forward(const net *n, work_group g, const net_pass *p)
{
    group_shape s = net_group_shape(g);
    const float *w = n->params;
    if (p->picks)
        first_layer(p, w + n->at.first[g], s.first);
    else
        layer(p->input, p->width, w + n->at.first[g], p->first_bias, s.first, p->count, p->first_sum);
    matrix_activate(p->first_sum, p->first, p->count * s.first);
    layer(p->first, s.first, w + n->at.second[g], w + n->at.second_bias[g], s.second, p->count, p->second_sum);
    matrix_activate(p->second_sum, p->second, p->count * s.second);
    const float *heads = w + n->at.heads[g], *bias = w + n->at.heads_bias[g];
    for (size_t h = 0; h < HEADS; h++) {
        matrix_dots(p->second, p->count, s.second, heads + h * s.second, p->heads + h, HEADS);
        for (size_t i = 0; i < p->count; i++)
            p->heads[i * HEADS + h] += bias[h];
    }
}

void net_clamp(const net *n, work_group g, float features[FEATURE_COUNT])
{
    const float *low = n->low + (size_t)g * FEATURE_COUNT, *high = n->high + (size_t)g * FEATURE_COUNT;
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        float x = features[i] < low[i] ? low[i] : features[i];
        features[i] = x > high[i] ? high[i] : x;
    }
}

head_bounds net_bounds(work_group g)
{
    static const float FREE =
        8; /* A factor of 3,000: unsuitable shapes and types slow convolutions and attention down by hundreds. */
    switch (g) {
    case WORK_PRODUCT: /* Bytes count all experts' matrices, but experts without tokens are not read. */
        return (head_bounds){logf(50), logf(8), 16};
    case WORK_ATTENTION:
        return (head_bounds){FREE, FREE, 16};
    case WORK_NORM:
    case WORK_REDUCE:
    case WORK_MOVE:
    case WORK_WINDOW:
    case WORK_FUSED: /* Large kernels never take ten times as long as their bytes. */
        return (head_bounds){logf(16), logf(16), 6};
    case WORK_POINTWISE:
    case WORK_UPDATE: /* A factor of five. */
        return (head_bounds){logf(8), logf(8), 6};
    default:
        return (head_bounds){FREE, FREE, 6};
    }
}

float net_factor(float head, float most)
{
    return expf(head > most ? most : head < LEAST_HEAD ? LEAST_HEAD : head);
}

double net_fixed_us(float head, double most_us)
{
    return most_us / (1 + (most_us / FIXED_US - 1) * (double)net_factor(-head, -LEAST_HEAD));
}

double net_fixed_slope_us(double fixed_us, double most_us)
{
    return fixed_us * (1 - fixed_us / most_us);
}

double net_smooth_max(double x, double y)
{
    double larger = fmax(x, y), smaller = fmin(x, y);
    return larger > 0 ? larger * pow(1 + pow(smaller / larger, OVERLAP_POWER), 1.0 / OVERLAP_POWER) : 0;
}
