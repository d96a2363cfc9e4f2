/* train.c: forward pass, backward pass and update (Adam with decoupled weight decay and parameter averaging). */
#include "learn/train.h"
#include "base/ordered.h"
#include "base/threads.h"
#include "predict/matrix.h"
#include "predict/weights.h"

#include <math.h>
#include <stdlib.h>

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* The part of a batch that one thread processes. */
typedef struct shard {
    const dataset *data;
    const net *net;
    const int32_t *order;
    int32_t count;
    const uint8_t *hides; /* flags by position in `order`: HIDES_STACK, HIDES_GPU; NULL: hides nothing */
    uint32_t salt;        /* seed that selects the kernels with a hidden operator */
    uint32_t op_limit;    /* share of these kernels, times 2^32 */
    double huber, pair_weight;
    float *gradient;     /* NULL: forward pass only */
    float *errors;       /* log(predicted / measured); may be NULL */
    interval_sums *sums; /* what intervals depend on, by example; may be NULL */
    double loss;
    bool has_no_memory;
    /* Totals in microseconds, by example. */
    double *device_us, *latency_us, *least_us;
    float *slope;                         /* derivative of the loss by the example's device time */
    sample_time *times[WORK_GROUP_COUNT]; /* times of kernels, in the order of the forward pass */
} shard;

enum { HIDES_STACK = 1, HIDES_GPU = 2 };

static int stack_of(const shard *s, int32_t i)
{
    return s->hides && s->hides[i] & HIDES_STACK ? s->data->items[s->order[i]].unknown_stack
                                                 : s->data->items[s->order[i]].stack;
}

static int gpu_of(const shard *s, int32_t i)
{
    return s->hides && s->hides[i] & HIDES_GPU ? UNKNOWN : s->data->items[s->order[i]].gpu;
}

static int stack_in(const shard *s, int32_t i, int g)
{
    return net_stack_in(s->net, stack_of(s, i), s->data->items[s->order[i]].unknown_stack, (work_group)g);
}

static int gpu_in(const shard *s, int32_t i, int g)
{
    return net_gpu_in(s->net, gpu_of(s, i), (work_group)g);
}

/* True if the kernel hides its operator. Pseudo-random, but equal in forward and backward and for any number of
 * cores. */
static int op_of(const shard *s, int32_t i, const example *e, int32_t k)
{
    int op = net_op(s->net, sample_head(s->data, &e->program->samples[k]).op);
    if (e->is_unmeasured) /* Both examples of a pair must hide the same operators. */
        return op;
    uint32_t h = s->salt ^ ((uint32_t)i * 0x9e3779b1u + (uint32_t)k * 0x85ebca77u);
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return (h ^ (h >> 16)) < s->op_limit ? UNKNOWN : op;
}

static size_t group_samples(const shard *s, int g)
{
    size_t n = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        n += (size_t)(e->program->first_of_group[g + 1] - e->program->first_of_group[g]);
    }
    return n;
}

/* Number of kernels of a group that pass its network at once: whole tiles of matrix.c. A shard keeps only the inputs
 * of the activations for the backward pass and recomputes the rest. */
enum { CHUNK = 252 };

/* The kernels of an example that are in a chunk. The chunk starts at kernel `from` of the group, the example at
 * `first`. */
typedef struct range {
    int32_t from, end;
} range;

static range within(const example *e, int g, size_t first, size_t from, size_t count)
{
    const int32_t *at = e->program->first_of_group + g;
    size_t own = (size_t)(at[1] - at[0]), end = from + count;
    size_t low = from > first ? from - first : 0, high = end > first ? end - first : 0;
    return (range){at[0] + (int32_t)(low < own ? low : own), at[0] + (int32_t)(high < own ? high : own)};
}

static size_t group_count(const example *e, int g)
{
    return (size_t)(e->program->first_of_group[g + 1] - e->program->first_of_group[g]);
}

/* Gathers the network's inputs for the chunk that starts at kernel `from` of the group. */
static void gather(const shard *s, int g, const net_pass *p, size_t from)
{
    float *input = p->input;
    sample_time *t = s->times[g] + from;
    size_t first = 0;
    const float *mean = s->data->mean + (size_t)g * FEATURE_COUNT, *scale = s->data->scale + (size_t)g * FEATURE_COUNT;
    for (int32_t i = 0; i < s->count && first < from + p->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        const float *stack = s->net->params + s->net->at.stacks + (size_t)stack_in(s, i, g) * STACK_WIDTH;
        const float *gpu = s->net->params + s->net->at.gpus + (size_t)gpu_in(s, i, g) * GPU_WIDTH;
        range r = within(e, g, first, from, p->count);
        for (int32_t k = r.from; k < r.end; k++, t++, input += INPUT_WIDTH) {
            const float *op = s->net->params + s->net->at.ops + (size_t)op_of(s, i, e, k) * OP_WIDTH;
            *t = sample_features(s->data, e, &e->program->samples[k], input);
            net_clamp(s->net, (work_group)g, input);
            for (int j = 0; j < FEATURE_COUNT; j++)
                input[j] = (input[j] - mean[j]) * scale[j];
            memcpy(input + FEATURE_COUNT, op, OP_WIDTH * sizeof *op);
            memcpy(input + KERNEL_WIDTH, stack, STACK_WIDTH * sizeof *stack);
            memcpy(input + KERNEL_WIDTH + STACK_WIDTH, gpu, GPU_WIDTH * sizeof *gpu);
        }
        first += group_count(e, g);
    }
}

static double sample_us(const sample_time *k, const float *heads, const head_bounds *most)
{
    return k->compute_us * net_factor(heads[HEAD_COMPUTE], most->compute) +
           k->memory_us * net_factor(heads[HEAD_MEMORY], most->memory) +
           net_fixed_us(heads[HEAD_FIXED], most->fixed_us);
}

static void add_sums(interval_sums *sums, const sample *from, int g, double us, double ideal_us)
{
    sums->us[g] += us;
    sums->ideal_us += ideal_us;
    sums->new_us += from->is_new ? us : 0;
    sums->new_ideal_us += from->is_new ? ideal_us : 0;
    sums->strange_us += us * (double)from->strange;
}

static void add_times(const shard *s, int g, const float *heads)
{
    const sample_time *t = s->times[g];
    const head_bounds most = net_bounds((work_group)g);
    for (int32_t i = 0; i < s->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        for (int32_t k = e->program->first_of_group[g]; k < e->program->first_of_group[g + 1];
             k++, t++, heads += HEADS) {
            float count = sample_count(s->data, &e->program->samples[k]);
            double us = sample_us(t, heads, &most);
            if (e->corrections && e->corrections[k] != 0)
                us *= exp((double)e->corrections[k]);
            us = fmin(us, (double)t->most_us) * count;
            s->device_us[i] += us;
            s->least_us[i] += (double)(t->least_us * count);
            if (s->sums)
                add_sums(&s->sums[i], &e->program->samples[k], g, us,
                         (double)(fmaxf(t->compute_us, t->memory_us) * count));
        }
    }
}

/* Computes the host time of each example, the loss and its derivatives. */
static void finish_examples(shard *s)
{
    const float *w = s->net->params;
    const net_layout *at = &s->net->at;
    for (int32_t i = 0; i < s->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        if (e->is_unmeasured)
            continue;
        size_t stack = (size_t)stack_of(s, i), gpu = (size_t)net_host_gpu(s->net, gpu_of(s, i));
        double each = e->row->where.is_operator || !net_has_host(s->net, (int)stack)
                          ? 0
                          : net_launch_us(s->net, (int)stack, (int)gpu),
               host = 0;
        for (int g = 0; g < WORK_GROUP_COUNT; g++)
            host += e->program->host_count[g] * exp((double)w[at->group_host + (size_t)g]);
        host *= each;
        double fixed = exp((double)w[at->stack_fixed + stack]);
        /* Predictions raise kernels to their floors and shorten the others by as much, so only the sum has a limit. */
        bool is_least = s->device_us[i] < s->least_us[i];
        s->device_us[i] = fmax(s->device_us[i], s->least_us[i]);
        double joint = net_smooth_max(s->device_us[i], host);
        s->latency_us[i] = joint + fixed + e->timer_us;
        double error = log(s->latency_us[i] / e->latency_us), scaled = error / s->huber;
        if (s->errors)
            s->errors[i] = (float)error;
        if (s->sums) {
            s->sums[i].host_us = host;
            s->sums[i].latency_us = s->latency_us[i];
        }
        s->loss += e->weight * (sqrt(1 + scaled * scaled) - 1) * s->huber;
        if (!s->gradient)
            continue;
        double slope =
            e->weight * scaled / sqrt(1 + scaled * scaled) / s->latency_us[i]; /* derivative of the loss by the
                                                                                * latency */
        double device_part = pow(s->device_us[i] / joint, OVERLAP_POWER - 1);
        double host_part = pow(host / joint, OVERLAP_POWER - 1) * slope;
        s->slope[i] = is_least && slope > 0 ? 0 : (float)(slope * device_part);
        s->gradient[at->stack_fixed + stack] += (float)(slope * fixed);
        s->gradient[at->stack_host + stack] += (float)(host_part * host);
        s->gradient[at->gpu_host + gpu] += (float)(host_part * host);
        s->gradient[at->machine_host + stack * (size_t)s->net->gpu_count + gpu] += (float)(host_part * host);
        for (int g = 0; g < WORK_GROUP_COUNT; g++)
            s->gradient[at->group_host + (size_t)g] +=
                (float)(host_part * each * e->program->host_count[g] * exp((double)w[at->group_host + (size_t)g]));
    }
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Gradient of an output with bounds. An output beyond its bounds may return but is not pushed further out: Adam's
 * step does not shrink with the gradient, so an unbounded output would drag its weights along. */
static float slope_within(float head, float most, float slope)
{
    return (head > most && slope < 0) || (head < LEAST_HEAD && slope > 0) ? 0 : slope;
}

/* Converts `slope`, the derivative of the loss by the kernel's time, into derivatives by the network's three
 * outputs. */
static void slope_numbers(const sample_time *x, const head_bounds *most, float *heads, float slope)
{
    float compute = slope * x->compute_us * net_factor(heads[HEAD_COMPUTE], most->compute);
    float memory = slope * x->memory_us * net_factor(heads[HEAD_MEMORY], most->memory);
    double fixed_us = net_fixed_us(heads[HEAD_FIXED], most->fixed_us);
    float fixed = slope * (float)net_fixed_slope_us(fixed_us, most->fixed_us);
    heads[HEAD_COMPUTE] = slope_within(heads[HEAD_COMPUTE], most->compute, compute);
    heads[HEAD_MEMORY] = slope_within(heads[HEAD_MEMORY], most->memory, memory);
    heads[HEAD_FIXED] = slope_within(heads[HEAD_FIXED], -LEAST_HEAD, fixed);
}

/* Bounds on the time at half the batch, relative to the time at the whole batch. At most 0.75, unless the kernel is
 * too short to fill the GPU. At least 0.25: half of the work, all of it in the cache. */
static const double MOST_OF_HALF = 0.75, SHORT_US = 8, LEAST_OF_HALF = 0.25;

/* Adds the gradient of a pair. Its kernels are weighted by their share of the larger example's time. */
static void slope_pair(const shard *s, int g, int32_t i, const sample_time *times, float *heads)
{
    const example *half = &s->data->items[s->order[i]], *whole = half + 1;
    const head_bounds bounds = net_bounds((work_group)g);
    int32_t from = half->program->first_of_group[g], count = half->program->first_of_group[g + 1] - from;
    for (int32_t k = 0; k < count; k++) {
        const sample_time *x = times + k, *y = x + count;
        float *heads_x = heads + (ptrdiff_t)k * HEADS, *heads_y = heads_x + (ptrdiff_t)count * HEADS;
        double half_us = sample_us(x, heads_x, &bounds), whole_us = sample_us(y, heads_y, &bounds);
        double most_us = MOST_OF_HALF * whole_us + SHORT_US, least_us = LEAST_OF_HALF * whole_us;
        double slope =
            s->pair_weight * whole_us * sample_count(s->data, &whole->program->samples[from + k]) / s->device_us[i + 1];
        double of_half = half_us > most_us ? slope : half_us < least_us ? -slope : 0;
        double of_whole = half_us > most_us    ? -slope * MOST_OF_HALF / most_us
                          : half_us < least_us ? slope / whole_us
                                               : 0;
        slope_numbers(x, &bounds, heads_x, (float)(of_half / half_us));
        slope_numbers(y, &bounds, heads_y, (float)of_whole);
    }
}

/* Replaces `heads` by the gradient of the three outputs. */
static void slope_heads(const shard *s, int g, float *heads)
{
    const sample_time *t = s->times[g];
    const head_bounds most = net_bounds((work_group)g);
    for (int32_t i = 0; i < s->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        int32_t count = e->program->first_of_group[g + 1] - e->program->first_of_group[g];
        if (e->is_unmeasured) {
            slope_pair(s, g, i++, t, heads);
            heads += (ptrdiff_t)2 * count * HEADS;
            t += (ptrdiff_t)2 * count;
            continue;
        }
        for (int32_t k = e->program->first_of_group[g]; k < e->program->first_of_group[g + 1];
             k++, t++, heads += HEADS) {
            bool is_most = s->slope[i] < 0 && sample_us(t, heads, &most) > (double)t->most_us;
            slope_numbers(t, &most, heads, is_most ? 0 : s->slope[i] * sample_count(s->data, &e->program->samples[k]));
        }
    }
}

/* Slope of the activation's gradient where it is inactive. Without it, a unit that one bad step turned off could
 * never recover. */
static const float SLOPE_OFF = 0.02F;

/* Replaces `sum` by its gradient, given the gradient of the activation. */
static void slope_activation(float *restrict sum, const float *restrict slope, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float x = sum[i], d = x * (1.0F / 3) + 0.5F;
        d = x < -3 ? SLOPE_OFF : d;
        d = x > 3 ? 1 : d;
        sum[i] = slope[i] * d;
    }
}

static void sum_columns(const float *rows, size_t count, size_t units, float *sum)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < units; j++)
            sum[j] += rows[i * units + j];
}

static void transpose(const float *from, size_t rows, size_t columns, float *to)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

/* Adds the gradients of the three embeddings, which are at the end of each input, to the embeddings' own gradients. */
static void scatter_vectors(const shard *s, int g, const net_pass *p, size_t from, const float *slopes, size_t width)
{
    const net_layout *at = &s->net->at;
    size_t first = 0;
    for (int32_t i = 0; i < s->count && first < from + p->count; i++) {
        const example *e = &s->data->items[s->order[i]];
        float *stack = s->gradient + at->stacks + (size_t)stack_in(s, i, g) * STACK_WIDTH;
        float *gpu = s->gradient + at->gpus + (size_t)gpu_in(s, i, g) * GPU_WIDTH;
        range r = within(e, g, first, from, p->count);
        for (int32_t k = r.from; k < r.end; k++, slopes += width) {
            float *op = s->gradient + at->ops + (size_t)op_of(s, i, e, k) * OP_WIDTH;
            for (int j = 0; j < OP_WIDTH; j++)
                op[j] += slopes[j];
            for (int j = 0; j < STACK_WIDTH; j++)
                stack[j] += slopes[OP_WIDTH + j];
            for (int j = 0; j < GPU_WIDTH; j++)
                gpu[j] += slopes[OP_WIDTH + STACK_WIDTH + j];
        }
        first += group_count(e, g);
    }
}

enum { VECTORS = 32 /* VECTORS_WIDTH, rounded up to a tile */ };

/* Transposed weights of a group, for the backward pass. */
typedef struct turned {
    float *second;  /* [second][first] */
    float *vectors; /* [first][VECTORS] */
} turned;

static void turn_weights(const shard *s, int g, const turned *to)
{
    const net_layout *at = &s->net->at;
    group_shape shape = net_group_shape((work_group)g);
    const float *w = s->net->params;
    transpose(w + at->second[g], shape.first, shape.second, to->second);
    memset(to->vectors, 0, shape.first * VECTORS * sizeof(float));
    for (size_t i = 0; i < VECTORS_WIDTH; i++)
        for (size_t j = 0; j < shape.first; j++)
            to->vectors[j * VECTORS + i] = w[at->first[g] + (FEATURE_COUNT + i) * shape.first + j];
}

/* Backward pass of one chunk. The heads of `p` already have their gradients. `room` is for gradients. */
static void backward(const shard *s, int g, const net_pass *p, size_t from, const turned *w_turned, float *room)
{
    const net_layout *at = &s->net->at;
    group_shape shape = net_group_shape((work_group)g);
    size_t n = p->count, h1 = shape.first, h2 = shape.second;
    const float *w = s->net->params;
    float *d = s->gradient;
    gather(s, g, p, from);
    matrix_activate(p->first_sum, p->first, n * h1);
    matrix_activate(p->second_sum, p->second, n * h2);
    float *slope_second = room;
    for (size_t i = 0; i < n; i++) {
        const float *h = p->heads + i * HEADS, *a = p->second + i * h2;
        float *out = slope_second + i * h2;
        memset(out, 0, h2 * sizeof *out);
        for (int k = 0; k < HEADS; k++) {
            const float *weights = w + at->heads[g] + (size_t)k * h2;
            float *gradient = d + at->heads[g] + (size_t)k * h2;
            for (size_t j = 0; j < h2; j++) {
                out[j] += h[k] * weights[j];
                gradient[j] += h[k] * a[j];
            }
        }
    }
    slope_activation(p->second_sum, slope_second, n * h2);
    sum_columns(p->second_sum, n, h2, d + at->second_bias[g]);
    matrix_multiply_add(&(matrix_product){h1, h2, n, p->first, 1, h1, p->second_sum, h2, d + at->second[g], h2, NULL});
    float *slope_first = room;
    memset(slope_first, 0, n * h1 * sizeof(float));
    matrix_multiply_add(
        &(matrix_product){n, h1, h2, p->second_sum, h2, 1, w_turned->second, h1, slope_first, h1, NULL});
    slope_activation(p->first_sum, slope_first, n * h1);
    sum_columns(p->first_sum, n, h1, d + at->first_bias[g]);
    matrix_multiply_add(
        &(matrix_product){INPUT_WIDTH, h1, n, p->input, 1, INPUT_WIDTH, p->first_sum, h1, d + at->first[g], h1, NULL});
    float *slope_vectors = room;
    memset(slope_vectors, 0, n * VECTORS * sizeof(float));
    matrix_multiply_add(&(matrix_product){n, VECTORS, h1, p->first_sum, h1, 1, w_turned->vectors, VECTORS,
                                          slope_vectors, VECTORS, NULL});
    scatter_vectors(s, g, p, from, slope_vectors, VECTORS);
}

/* ---- a shard ----------------------------------------------------------------------------------------------------- */

/* Values of all kernels of a group that are kept for the backward pass: [kernels][width]. */
typedef struct kept {
    float *first_sum, *second_sum, *heads;
    size_t count;
} kept;

/* Scratch buffers for one chunk. */
typedef struct bench {
    float *input, *first, *second, *slopes;
    float *first_sum, *second_sum; /* Used if nothing is kept for the backward pass. */
    turned turned;
} bench;

static float *take(float **next, size_t count)
{
    float *room = *next;
    *next += count;
    return room;
}

/* Largest layer sizes over all groups. */
static group_shape widest(void)
{
    group_shape most = {VECTORS, 0}; /* gradients of the embeddings reuse the memory of the first layer's gradients */
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape s = net_group_shape((work_group)g);
        most.first = s.first > most.first ? s.first : most.first;
        most.second = s.second > most.second ? s.second : most.second;
    }
    most.first = most.second > most.first ? most.second : most.first;
    return most;
}

static bench bench_at(float **next)
{
    group_shape most = widest();
    return (bench){.input = take(next, (size_t)CHUNK * INPUT_WIDTH),
                   .first = take(next, CHUNK * most.first),
                   .second = take(next, CHUNK * most.second),
                   .slopes = take(next, CHUNK * most.first),
                   .first_sum = take(next, CHUNK * most.first),
                   .second_sum = take(next, CHUNK * most.second),
                   .turned = {take(next, most.first * most.second), take(next, most.first * VECTORS)}};
}

static size_t bench_floats(void)
{
    group_shape most = widest();
    return CHUNK * (INPUT_WIDTH + 3 * most.first + 2 * most.second) + most.first * (most.second + VECTORS);
}

static net_pass chunk_at(const shard *s, int g, const kept *k, const bench *b, size_t from)
{
    group_shape shape = net_group_shape((work_group)g);
    size_t rest = k->count - from;
    return (net_pass){.count = rest < CHUNK ? rest : CHUNK,
                      .width = INPUT_WIDTH,
                      .first_bias = s->net->params + s->net->at.first_bias[g],
                      .input = b->input,
                      .first_sum = k->first_sum ? k->first_sum + from * shape.first : b->first_sum,
                      .first = b->first,
                      .second_sum = k->second_sum ? k->second_sum + from * shape.second : b->second_sum,
                      .second = b->second,
                      .heads = k->heads + from * HEADS};
}

static void run_forward(shard *s, int g, const kept *k, const bench *b)
{
    for (size_t from = 0; from < k->count; from += CHUNK) {
        net_pass p = chunk_at(s, g, k, b, from);
        gather(s, g, &p, from);
        net_forward(s->net, (work_group)g, &p);
    }
    add_times(s, g, k->heads);
}

static void run_backward(const shard *s, int g, const kept *k, const bench *b)
{
    if (!k->count)
        return;
    slope_heads(s, g, k->heads);
    sum_columns(k->heads, k->count, HEADS, s->gradient + s->net->at.heads_bias[g]);
    turn_weights(s, g, &b->turned);
    for (size_t from = 0; from < k->count; from += CHUNK) {
        net_pass p = chunk_at(s, g, k, b, from);
        backward(s, g, &p, from, &b->turned, b->slopes);
    }
}

/* Allocates a shard's memory for one step with malloc, because arenas are not thread-safe. */
static bool run_shard(shard *s)
{
    bool goes_back = s->gradient != NULL;
    size_t floats = bench_floats(), samples = 0, count = (size_t)s->count;
    kept kept_of[WORK_GROUP_COUNT];
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape shape = net_group_shape((work_group)g);
        size_t n = group_samples(s, g);
        kept_of[g] = (kept){.count = n};
        floats += n * (HEADS + (goes_back ? shape.first + shape.second : 0));
        samples += n;
    }
    float *room =
        malloc((floats + count) * sizeof(float) + count * 3 * sizeof(double) + samples * sizeof(sample_time) + 1);
    if (!room)
        return false;
    double *doubles = (double *)(void *)room; /* doubles come first, for alignment */
    s->device_us = doubles;
    s->latency_us = doubles + count;
    s->least_us = doubles + 2 * count;
    sample_time *times = (sample_time *)(void *)(doubles + 3 * count);
    float *next = (float *)(void *)(times + samples);
    memset(doubles, 0, 3 * count * sizeof(double));
    if (s->sums)
        memset(s->sums, 0, count * sizeof *s->sums);
    s->slope = take(&next, count);
    const bench b = bench_at(&next);
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape shape = net_group_shape((work_group)g);
        kept *k = &kept_of[g];
        k->heads = take(&next, k->count * HEADS);
        if (goes_back) {
            k->first_sum = take(&next, k->count * shape.first);
            k->second_sum = take(&next, k->count * shape.second);
        }
        s->times[g] = times;
        times += k->count;
        run_forward(s, g, k, &b);
    }
    finish_examples(s);
    for (int g = 0; goes_back && g < WORK_GROUP_COUNT; g++)
        run_backward(s, g, &kept_of[g], &b);
    free(room);
    return true;
}

static void run_one_shard(void *context, size_t item, size_t worker)
{
    (void)worker;
    shard *s = (shard *)context + item;
    s->has_no_memory = !run_shard(s);
}

static bool is_short_of_memory(const shard *shards, size_t count)
{
    bool is_short = false;
    for (size_t i = 0; i < count; i++)
        is_short |= shards[i].has_no_memory;
    return is_short;
}

/* ---- the update -------------------------------------------------------------------------------------------------- */

typedef struct update {
    trainer *t;
    double rate;
    float scale;
} update;

enum { UPDATE_PART = 16384 };

/* Clips the gradient to this multiple of its usual size. Otherwise an outlier row would move all parameters of a
 * group the same way for a dozen steps, most of all when the second moment has decayed, and could disable units for
 * good. */
static const float MOST_SLOPE = 4;

static void update_part(void *context, size_t item, size_t worker)
{
    (void)worker;
    const update *u = context;
    trainer *t = u->t;
    size_t count = t->net.at.count, from = item * UPDATE_PART, end = from + UPDATE_PART;
    end = end > count ? count : end;
    double step = (double)t->step;
    float first_bias = (float)(1 / (1 - pow(0.9, step))), second_bias = (float)(1 / (1 - pow(0.999, step)));
    float keep = (float)fmin(0.999, step / (step + 10));
    float rate = (float)u->rate, decay = (float)(u->rate * t->decay), stack_decay = (float)(u->rate * t->stack_decay);
    const float *g0 = t->gradients;
    int shards = t->team ? 1 : SHARDS; /* exchange() has added them */
    for (size_t i = from; i < end; i++) {
        float g = 0;
        for (int s = 0; s < shards; s++)
            g += g0[(size_t)s * count + i];
        g *= u->scale;
        t->second_moment[i] = 0.999F * t->second_moment[i] + 0.001F * g * g;
        float usual = sqrtf(t->second_moment[i] * second_bias), most = MOST_SLOPE * usual;
        g = g > most ? most : g < -most ? -most : g;
        t->first_moment[i] = 0.9F * t->first_moment[i] + 0.1F * g;
        float move = t->first_moment[i] * first_bias / (usual + 1e-7F);
        move = move > 1 ? 1 : move < -1 ? -1 : move;
        bool is_stack = i >= t->net.at.stacks && i < t->net.at.gpus;
        t->params[i] -= rate * move + (is_stack ? stack_decay : decay) * t->params[i];
        t->average[i] = keep * t->average[i] + (1 - keep) * t->params[i];
    }
}

static uint8_t hides_by_chance(trainer *t)
{
    uint8_t hides = trainer_between(t, 0, 1) < (float)t->unknown_stack ? HIDES_STACK : 0;
    return hides | (trainer_between(t, 0, 1) < (float)t->unknown_gpu ? HIDES_GPU : 0);
}

/* Process 0 adds the gradients of all shards in the order of update_part(), and shares the sum and the losses. */
static void exchange(trainer *t, double losses[SHARDS])
{
    const team *all = t->team;
    size_t count = t->net.at.count;
    if (!team_gather(all, t->gradients, SHARDS, count * sizeof(float)) ||
        !team_gather(all, losses, SHARDS, sizeof *losses))
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for the gradients of other processes");
    for (int s = 1; s < SHARDS && !all->rank; s++)
        for (size_t i = 0; i < count; i++)
            t->gradients[i] += t->gradients[(size_t)s * count + i];
    all->share(all->context, t->gradients, count * sizeof(float));
    all->share(all->context, losses, SHARDS * sizeof *losses);
}

double trainer_step(trainer *t, const dataset *data, const batch *b, double rate)
{
    shard shards[SHARDS];
    enum { MOST = MAX_BATCH + 2 * MAX_PAIRS };
    int32_t order[MOST], count = 0;
    uint8_t hides[MOST];
    memset(t->gradients, 0, t->net.at.count * SHARDS * sizeof(float));
    for (int s = 0; s < SHARDS; s++) {
        int32_t from = (int32_t)((int64_t)b->count * s / SHARDS), end = (int32_t)((int64_t)b->count * (s + 1) / SHARDS);
        int32_t first = count;
        for (int32_t i = from; i < end; i++, count++) {
            order[count] = b->order[i];
            hides[count] = hides_by_chance(t);
        }
        for (int32_t i = s; i < b->pair_count; i += SHARDS, count += 2) {
            order[count] = b->pairs[i];
            order[count + 1] = b->pairs[i] + 1;
            hides[count] = hides[count + 1] = hides_by_chance(t);
        }
        shards[s] = (shard){.data = data,
                            .net = &t->net,
                            .order = order + first,
                            .count = count - first,
                            .hides = hides + first,
                            .pair_weight = t->pair_weight,
                            .salt = (uint32_t)trainer_random(t),
                            .op_limit = (uint32_t)(t->unknown_op * 0x1p32),
                            .huber = t->huber,
                            .gradient = t->gradients + (size_t)s * t->net.at.count};
    }
    int own = t->team ? team_first(t->team, t->team->rank, SHARDS) : 0;
    int end = t->team ? team_first(t->team, t->team->rank + 1, SHARDS) : SHARDS;
    parallel_for((size_t)(end - own), t->threads, run_one_shard, shards + own);
    if (is_short_of_memory(shards, SHARDS))
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for a step of the training");
    double losses[SHARDS], loss = 0;
    for (int s = 0; s < SHARDS; s++)
        losses[s] = shards[s].loss;
    if (t->team)
        exchange(t, losses);
    t->step++;
    update u = {t, rate, 1.0F / (float)b->count};
    parallel_for((t->net.at.count + UPDATE_PART - 1) / UPDATE_PART, t->threads, update_part, &u);
    for (int s = 0; s < SHARDS; s++)
        loss += losses[s];
    return loss / b->count;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum { EXAMPLES_AT_ONCE = 16 };

typedef struct evaluation {
    const trainer *t;
    const dataset *data;
    net averaged;
    const int32_t *order;
    int32_t count;
    float *errors;
    interval_sums *sums; /* may be NULL */
} evaluation;

static int32_t piece_size(const evaluation *e, size_t item)
{
    int32_t rest = e->count - (int32_t)item * EXAMPLES_AT_ONCE;
    return rest < EXAMPLES_AT_ONCE ? rest : EXAMPLES_AT_ONCE;
}

static void compute_errors(void *context, size_t item, size_t worker, bytes *result)
{
    const evaluation *e = context;
    float errors[EXAMPLES_AT_ONCE];
    interval_sums sums[EXAMPLES_AT_ONCE];
    (void)worker;
    shard s = {.data = e->data,
               .net = &e->averaged,
               .order = e->order + item * EXAMPLES_AT_ONCE,
               .count = piece_size(e, item),
               .huber = e->t->huber,
               .errors = errors,
               .sums = e->sums ? sums : NULL};
    memset(errors, 0, sizeof errors);
    result->failed = !run_shard(&s);
    bytes_add(result, errors, (size_t)s.count * sizeof *errors);
    if (e->sums)
        bytes_add(result, sums, (size_t)s.count * sizeof *sums);
}

static bool take_errors(void *context, size_t item, str result)
{
    const evaluation *e = context;
    size_t count = (size_t)piece_size(e, item), size = count * sizeof *e->errors;
    if (result.len != size + (e->sums ? count * sizeof *e->sums : 0))
        return false; /* out of memory */
    memcpy(e->errors + item * EXAMPLES_AT_ONCE, result.ptr, size);
    if (e->sums)
        memcpy(e->sums + item * EXAMPLES_AT_ONCE, result.ptr + size, count * sizeof *e->sums);
    return true;
}

void trainer_errors(const trainer *t, const dataset *data, const int32_t *order, int32_t count, float *errors,
                    interval_sums *sums)
{
    evaluation e = {t, data, t->net, order, count, errors, sums};
    e.averaged.params = t->average;
    if (!ordered_run(&(ordered_job){.end = ((size_t)count + EXAMPLES_AT_ONCE - 1) / EXAMPLES_AT_ONCE,
                                    .threads = t->threads,
                                    .team = t->team,
                                    .context = &e,
                                    .compute = compute_errors,
                                    .consume = take_errors}))
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for %d rows", count);
    if (!t->team)
        return;
    t->team->share(t->team->context, errors, (size_t)count * sizeof *errors);
    if (sums)
        t->team->share(t->team->context, sums, (size_t)count * sizeof *sums);
}
