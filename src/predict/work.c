/* work.c: describes a kernel and its tensors by the numbers that determine its time. */
#include "predict/work.h"
#include "lower/hash.h"

#include <math.h>

/* ---- small pieces ------------------------------------------------------------------------------------------------ */

/* Returns the number of trailing zero bits of a size, at most 7. They limit vector width and tile. */
static float alignment(double size)
{
    uint64_t n = size > 0 && size < 9e18 ? (uint64_t)size : 0;
    return n ? (float)__builtin_ctzll(n | 128) : 7;
}

/* Returns the used share of the last tile. */
static float filling(double size, double tile)
{
    return size > 0 ? (float)(size / (round_up(size / tile) * tile)) : 1;
}

static double elements_of(const placed_tensor *t)
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

/* Memory layout of a tensor. */
typedef enum lie { LIE_CONTIGUOUS, LIE_CHANNELS_LAST, LIE_STRIDED, LIE_BROADCAST } lie;

typedef struct lay {
    lie lie;
    double inner; /* Number of contiguous elements. */
} lay;

static lay lay_of(const placed_tensor *t)
{
    lay l = {LIE_CONTIGUOUS, 1};
    int64_t expected = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] == 1)
            continue;
        if (t->strides[i] == 0)
            return (lay){LIE_BROADCAST, l.inner};
        if (t->strides[i] != expected && l.lie == LIE_CONTIGUOUS)
            l.lie = LIE_STRIDED;
        expected *= t->dims[i];
    }
    if (l.lie == LIE_CONTIGUOUS) {
        l.inner = (double)expected;
        return l;
    }
    /* For a strided tensor, finds the contiguous run: the dimension of stride one, extended by adjacent dimensions. */
    int64_t run = 1;
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < t->rank; i++)
            if (t->dims[i] > 1 && t->strides[i] == run) {
                run *= t->dims[i];
                grew = true;
                break;
            }
    }
    l.inner = (double)run;
    if (t->rank == 4 && t->strides[1] == 1 && t->strides[3] == t->dims[1] && t->strides[2] == t->dims[1] * t->dims[3])
        l.lie = LIE_CHANNELS_LAST;
    return l;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

/* An input with properties that several features use. */
typedef struct operand {
    const placed_tensor *tensor;
    double elements;
    lay lay;
} operand;

enum { OPERANDS = 8 /* Limit of the inputs that are examined; few kernels have more. */ };
typedef struct writer {
    const program *p;
    const kernel *k;
    work *w;
    work_logs *logs;
    float *next;
    operand operands[OPERANDS];
    /* Finds the largest input other than weights, which determines the size of the work. Its tensor is NULL if there
     * are no inputs. */
    operand main;
} writer;

static float lg(const writer *o, double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (!(x > 1))
        return 0;
    if (!(bits & 0x7fffff))
        return (float)((int)(bits >> 23) - 127);
    size_t slot = bits * 0x9e3779b1u >> 26;
    if (o->logs->of[slot] != single) {
        o->logs->of[slot] = single;
        o->logs->log2[slot] = log2f(single);
    }
    return o->logs->log2[slot];
}

static operand operand_of(const placed_tensor *t)
{
    return (operand){t, elements_of(t), lay_of(t)};
}

static operand operand_at(const writer *o, int32_t i)
{
    return i < OPERANDS ? o->operands[i] : operand_of(&o->p->tensors.items[o->k->inputs[i]]);
}

/* A convolution that writes channels last copies its input to that layout first (a hidden kernel). */
static bool runs_channels_last(const writer *o)
{
    return kernel_is_convolution(o->k) && o->k->output_count > 0 &&
           lay_of(&o->p->tensors.items[o->k->outputs[0]]).lie == LIE_CHANNELS_LAST;
}

static void measure_operands(writer *o)
{
    double most = -1;
    o->main.tensor = NULL;
    for (int32_t i = 0; i < o->k->input_count; i++) {
        operand x = operand_of(&o->p->tensors.items[o->k->inputs[i]]);
        if (i < OPERANDS)
            o->operands[i] = x;
        double n = x.elements - (x.tensor->is_weight ? 1e30 : 0);
        if (n > most || !o->main.tensor) {
            o->main = x;
            most = n;
        }
    }
    if (o->main.tensor && o->main.lay.lie == LIE_CONTIGUOUS && runs_channels_last(o))
        o->main.lay.lie = LIE_CHANNELS_LAST;
}

static void put(writer *o, float x)
{
    *o->next++ = x;
}

static void put_flag(writer *o, bool x)
{
    put(o, x ? 1.0F : 0.0F);
}

static void put_lay(writer *o, const placed_tensor *t, lay l)
{
    double bytes = dtype_bits(t->dtype) / 8.0;
    put_flag(o, l.lie == LIE_CONTIGUOUS);
    put_flag(o, l.lie == LIE_CHANNELS_LAST);
    put_flag(o, l.lie == LIE_BROADCAST);
    put(o, lg(o, l.inner));
    put(o, alignment(l.inner * bytes));
}

static const placed_tensor *placed(const program *p, const tensor_id *ids, int32_t count, int32_t i)
{
    return i < count ? &p->tensors.items[ids[i]] : NULL;
}

static void put_general(writer *o)
{
    const kernel *k = o->k;
    const placed_tensor *in = o->main.tensor, *out = placed(o->p, k->outputs, k->output_count, 0);
    put(o, lg(o, (double)k->flops));
    put(o, lg(o, (double)k->bytes_read));
    put(o, lg(o, (double)k->bytes_written));
    put(o, lg(o, o->w->elements));
    put(o, in ? (float)dtype_bits(in->dtype) / 32 : 0);
    put(o, out ? (float)dtype_bits(out->dtype) / 32 : 0);
    put_flag(o, in && in->is_weight);
    put(o, (float)(k->input_count > 8 ? 8 : k->input_count));
    put_flag(o, (k->flags & KERNEL_IN_PLACE) != 0);
    if (in)
        put_lay(o, in, o->main.lay);
    else
        o->next += 5;
    if (out)
        put_lay(o, out, lay_of(out));
    else
        o->next += 5;
    /* Counts operands that differ from the main one: broadcast, smaller, or of another type. */
    int broadcast = 0, mixed = 0, smaller = 0, strided = 0;
    for (int32_t i = 0; i < k->input_count; i++) {
        operand x = operand_at(o, i);
        broadcast += x.lay.lie == LIE_BROADCAST;
        strided += x.lay.lie == LIE_STRIDED;
        mixed += in && x.tensor->dtype != in->dtype;
        smaller += x.elements * 2 < o->w->elements;
    }
    put(o, (float)broadcast);
    put(o, (float)mixed);
    put(o, (float)smaller);
    put(o, (float)strided);
    put(o, o->w->reuse[0]);
    put(o, o->w->reuse[1]);
}

/* Sizes of a product, for every group that is one. */
static void put_product(writer *o, bool first_turned, bool second_turned)
{
    const double *g = o->w->gemm;
    for (int i = 0; i < 4; i++)
        put(o, lg(o, g[i]));
    for (int i = 1; i < 4; i++)
        put(o, alignment(g[i]));
    put(o, filling(g[1], 16));
    put(o, filling(g[1], 32));
    put(o, filling(g[1], 64));
    put(o, filling(g[1], 128));
    put(o, filling(g[1], 256));
    put(o, filling(g[2], 32));
    put(o, filling(g[2], 64));
    put(o, filling(g[2], 128));
    put(o, filling(g[2], 256));
    put(o, filling(g[3], 32));
    put(o, filling(g[3], 64));
    put(o, first_turned);
    put(o, second_turned);
}

/* True if the matrix of the last two dimensions is column-major. */
static bool is_turned(const placed_tensor *t)
{
    return t->rank >= 2 && t->dims[t->rank - 1] > 1 && t->strides[t->rank - 1] != 1;
}

static void work_product(writer *o)
{
    const kernel *k = o->k;
    int32_t first = k->input_count >= 3 ? 1 : 0; /* addmm and baddbmm have the addend first. */
    const placed_tensor *a = placed(o->p, k->inputs, k->input_count, first);
    const placed_tensor *b = placed(o->p, k->inputs, k->input_count, first + 1);
    if (!a || !b || a->rank < 2 || b->rank < 2)
        return;
    double *g = o->w->gemm;
    g[0] = 1;
    for (int i = 0; i < a->rank - 2; i++)
        g[0] *= (double)a->dims[i];
    g[1] = (double)a->dims[a->rank - 2];
    g[3] = (double)a->dims[a->rank - 1];
    g[2] = (double)b->dims[b->rank - 1];
    o->w->product_dtype = (uint8_t)a->dtype;
    put_product(o, is_turned(a), is_turned(b));
    put_flag(o, first == 1);
    put(o, b->is_weight);
    put(o, (float)k->fused_count);
    put_flag(o, operand_at(o, first).lay.lie == LIE_STRIDED && !is_turned(a));
    put_flag(o, operand_at(o, first + 1).lay.lie == LIE_STRIDED && !is_turned(b));
    /* fp8 is as wide as int8, but has other kernels. */
    put_flag(o, a->dtype == DT_FLOAT8E4M3FN || a->dtype == DT_FLOAT8E5M2);
}

static double window_at(const int64_t *values, int rank, int from_end)
{
    return rank - 1 - from_end >= 0 ? (double)values[rank - 1 - from_end] : 1;
}

/* True if a library has a kernel for this depthwise window; others run a general one, which is several times slower.
 * cuDNN has them for channels last (measured/kernel_choice), PyTorch for channels first. */
static bool has_own_kernel(const writer *o, double channels, double filters)
{
    const kernel_window *v = o->k->window;
    bool is_last = o->main.lay.lie == LIE_CHANNELS_LAST;
    if (v->rank != 2 || v->size[0] != v->size[1] || v->dilation[0] != 1 || v->transposed || channels != filters ||
        (double)v->groups != channels)
        return false;
    int64_t side = v->size[0];
    return side == 3 || side == 5 ? !is_last || v->stride[0] <= 2
           : is_last              ? side == 7 && v->stride[0] <= 2
                                  : side == 1;
}

/* Describes a convolution as a product: output pixels by filters, over the window of all channels. */
static void work_convolution(writer *o)
{
    const kernel *k = o->k;
    bool backward = kernel_is(k, "convolution_backward");
    const placed_tensor *x = placed(o->p, k->inputs, k->input_count, backward ? 1 : 0);
    const placed_tensor *w = placed(o->p, k->inputs, k->input_count, backward ? 2 : 1);
    const placed_tensor *y =
        backward ? placed(o->p, k->inputs, k->input_count, 0) : placed(o->p, k->outputs, k->output_count, 0);
    const kernel_window *v = k->window;
    if (!x || !w || !y || !v || x->rank < 3 || w->rank != x->rank || y->rank != x->rank)
        return;
    double groups = v->groups > 0 ? (double)v->groups : 1;
    double channels = (double)x->dims[1], filters = (double)y->dims[1];
    double pixels = (double)y->dims[0], window = 1;
    for (int i = 2; i < y->rank; i++)
        pixels *= (double)(v->transposed ? x : y)->dims[i];
    for (int i = 0; i < v->rank; i++)
        window *= (double)v->size[i];
    double *g = o->w->gemm;
    g[0] = groups;
    g[1] = pixels;
    g[2] = filters / groups;
    g[3] = channels / groups * window;
    if (v->transposed) {
        g[2] = filters / groups * window;
        g[3] = channels / groups;
    }
    o->w->product_dtype = (uint8_t)x->dtype;
    if (groups > 1)
        o->w->group = backward ? WORK_DEPTHWISE_BACKWARD : groups >= channels ? WORK_DEPTHWISE : WORK_GROUPED;
    for (int i = 0; i < 4; i++)
        put(o, lg(o, g[i]));
    put(o, alignment(channels / groups));
    put(o, alignment(filters / groups));
    put(o, alignment(channels));
    put(o, filling(g[2], 64));
    put(o, filling(g[2], 128));
    put(o, filling(g[2], 256));
    put(o, filling(g[3], 64));
    put(o, lg(o, channels / groups));
    for (int i = 0; i < 2; i++) {
        put(o, (float)window_at(v->size, v->rank, i));
        put(o, (float)window_at(v->stride, v->rank, i));
    }
    put(o, (float)window_at(v->dilation, v->rank, 0));
    put(o, (float)window_at(v->padding, v->rank, 0));
    put(o, v->transposed);
    put(o, lg(o, (double)x->dims[x->rank - 1]));
    put(o, lg(o, (double)y->dims[y->rank - 1]));
    put(o, filling((double)y->dims[y->rank - 1], 8));
    put(o, lg(o, (double)x->dims[0]));
    /* Winograd requires 3 x 3 windows with stride 1. */
    put_flag(o, groups > 1 ? has_own_kernel(o, channels, filters)
                           : v->rank == 2 && v->size[0] == 3 && v->size[1] == 3 && v->stride[0] == 1 &&
                                 v->stride[1] == 1 && v->dilation[0] == 1);
    put(o, (float)k->output_count);
    put(o, (float)k->fused_count);
}

static void work_attention(writer *o)
{
    const kernel *k = o->k;
    int32_t first = strstr(k->op, "backward") ? 1 : 0; /* In a backward kernel, the gradient is the first input. */
    const placed_tensor *q = placed(o->p, k->inputs, k->input_count, first);
    const placed_tensor *s = placed(o->p, k->inputs, k->input_count, first + 1);
    if (!q || !s || q->rank < 3 || s->rank < 3)
        return;
    double heads = 1, shared = 1;
    for (int i = 0; i < q->rank - 2; i++) {
        heads *= (double)q->dims[i];
        shared *= i < s->rank - 2 ? (double)s->dims[i] : 1;
    }
    double queries = (double)q->dims[q->rank - 2], keys = (double)s->dims[s->rank - 2];
    double width = (double)q->dims[q->rank - 1];
    o->w->gemm[0] = heads;
    o->w->gemm[1] = queries;
    o->w->gemm[2] = keys;
    o->w->gemm[3] = width;
    o->w->product_dtype = (uint8_t)q->dtype;
    for (int i = 0; i < 4; i++)
        put(o, lg(o, o->w->gemm[i]));
    put(o, filling(queries, 64));
    put(o, filling(queries, 128));
    put(o, filling(keys, 64));
    put(o, filling(keys, 128));
    put(o, filling(width, 32));
    put(o, filling(width, 64));
    put(o, alignment(width));
    put(o, lg(o, heads / fmax(shared, 1)));
    put_flag(o, k->input_count > first + 3); /* A bias or mask. */
    put_flag(o, queries == keys);
    put(o, alignment(keys));
    put(o, lg(o, queries * heads));
}

/* PyTorch's softmax over another axis than the last has its own kernel: each thread takes one position after the axis,
 * and up to 1024 threads share the axis if there are at most 64 positions. Returns the number of threads. */
static double spatial_threads(double length, double rows, double inner)
{
    enum { BLOCK = 1024, FEW = 64 };
    double sharing = 1;
    while (inner <= FEW && length >= FEW && 2 * sharing * inner <= BLOCK && 2 * sharing <= length)
        sharing *= 2;
    return rows * sharing;
}

/* Describes norms, softmax and sums: rows of values that are reduced or normalized. */
static void work_reduction(writer *o)
{
    const kernel *k = o->k;
    const placed_tensor *in = o->main.tensor, *out = placed(o->p, k->outputs, k->output_count, 0);
    if (!in || !out)
        return;
    double all = o->main.elements, kept = elements_of(out);
    double length = kept < all ? all / fmax(kept, 1) : in->rank ? (double)in->dims[in->rank - 1] : 1;
    double behind = 1;
    bool is_spatial = k->axes_behind > 0 && k->axes_behind < in->rank;
    if (is_spatial) {
        length = (double)in->dims[in->rank - 1 - k->axes_behind];
        for (int i = in->rank - k->axes_behind; i < in->rank; i++)
            behind *= (double)in->dims[i];
    }
    double rows = all / fmax(length, 1);
    if (is_spatial)
        o->w->threads = spatial_threads(length, rows, behind);
    put(o, lg(o, length));
    put(o, lg(o, rows));
    put(o, alignment(length));
    put(o, filling(length, 32));
    put(o, filling(length, 1024));
    put_flag(o, kept < all);
    put(o, in->rank > 1 ? lg(o, (double)in->dims[1]) : 0);
    put(o, in->rank > 1 ? alignment((double)in->dims[1]) : 0);
    put(o, in->rank ? lg(o, (double)in->dims[0]) : 0);
    put(o, in->rank ? lg(o, (double)in->dims[in->rank - 1]) : 0);
    double inner = 1;
    for (int i = 2; i < in->rank; i++)
        inner *= (double)in->dims[i];
    put(o, lg(o, is_spatial ? behind : inner));
    put(o, (float)in->rank);
    /* False if the rows are not contiguous, or the last dimension is reduced. */
    put_flag(o, !is_spatial && out->rank && in->rank && out->rank == in->rank &&
                    out->dims[out->rank - 1] == in->dims[in->rank - 1]);
    put(o, (float)k->output_count);
}

static void work_window(writer *o)
{
    const kernel *k = o->k;
    const placed_tensor *in = o->main.tensor, *out = placed(o->p, k->outputs, k->output_count, 0);
    if (!in || !out)
        return;
    for (int i = 0; i < 4; i++) {
        put(o, i < in->rank ? lg(o, (double)in->dims[i]) : 0);
        put(o, i < out->rank ? lg(o, (double)out->dims[i]) : 0);
    }
    const kernel_window *v = k->window;
    put(o, v ? (float)window_at(v->size, v->rank, 0) : 0);
    put(o, v ? (float)window_at(v->size, v->rank, 1) : 0);
    put(o, v ? (float)window_at(v->stride, v->rank, 0) : 0);
    put(o, v ? (float)window_at(v->padding, v->rank, 0) : 0);
    put(o, in->rank > 1 ? alignment((double)in->dims[1]) : 0);
    put(o, lg(o, o->main.elements / fmax(elements_of(out), 1)));
    /* PyTorch has a kernel over all elements only for channels last. */
    if (o->w->group == WORK_RESIZE && out->rank == 4 && o->main.lay.lie != LIE_CHANNELS_LAST)
        o->w->threads = (double)out->dims[2] * (double)out->dims[3];
}

/* Elements along the contiguous dimension: channels of a channels-last map. */
static double innermost(const placed_tensor *t)
{
    int at = -1;
    for (int i = t->rank - 1; i >= 0; i--)
        if (t->dims[i] > 1 && t->strides[i] > 0 && (at < 0 || t->strides[i] < t->strides[at]))
            at = i;
    return at < 0 ? 1 : (double)t->dims[at];
}

/* Returns the number of bytes that a thread loads and stores at once: the largest power of two that divides the
 * contiguous run of the output and of each large input. Compilers do not vectorize across an index that is divided. */
static void put_vectors(writer *o, const placed_tensor *out)
{
    float least = 7;
    for (int32_t i = 0; i < o->k->input_count; i++) {
        operand x = operand_at(o, i);
        if (x.elements * 8 >= o->w->elements)
            least = fminf(least, alignment(innermost(x.tensor) * dtype_bits(x.tensor->dtype) / 8));
    }
    put(o, alignment(innermost(out) * dtype_bits(out->dtype) / 8));
    put(o, least);
}

/* Describes pointwise kernels, copies and others: sizes of the output and of the operands by dimension. */
static void work_plain(writer *o)
{
    const kernel *k = o->k;
    const placed_tensor *in = o->main.tensor, *out = placed(o->p, k->outputs, k->output_count, 0);
    if (!out)
        return;
    for (int i = 1; i <= 4; i++)
        put(o, out->rank >= i ? lg(o, (double)out->dims[out->rank - i]) : 0);
    put(o, out->rank ? alignment((double)out->dims[out->rank - 1]) : 0);
    put(o, (float)out->rank);
    float elements = lg(o, o->w->elements);
    put(o, in ? lg(o, o->main.elements) - elements : 0);
    bool is_fused = o->w->group == WORK_FUSED;
    for (int32_t i = 0; i < (is_fused ? 2 : 3); i++) {
        bool is_there = i < k->input_count;
        const operand *x = &o->operands[i];
        put(o, is_there ? lg(o, x->elements) - elements : -20);
        put(o, is_there ? lg(o, x->lay.inner) : 0);
        put(o, is_there ? (float)dtype_bits(x->tensor->dtype) / 32 : 0);
        put_flag(o, is_there && x->lay.lie == LIE_STRIDED);
    }
    if (is_fused) {
        put_vectors(o, out);
        put(o, lg(o, (double)k->loops.gathered + 1));
        put(o, lg(o, (double)k->loops.loads + 1));
    }
    put(o, (float)k->fused_count);
    put(o, lg(o, (double)k->flops) - elements);
    put(o, (float)(k->input_count > 64 ? 64 : k->input_count));
    put(o, (float)(k->output_count > 64 ? 64 : k->output_count));
    put(o, lg(o, (double)k->loops.scattered + 1));
    put(o, lg(o, (double)k->loops.turned + 1));
    put(o, lg(o, (double)k->loops.reduced));
}

/* Hashes the sizes without the first dimension, which is usually the batch. For products, hashes the sizes of the
 * weight. */
static uint32_t kin_of(const writer *o)
{
    const kernel *k = o->k;
    const work *w = o->w;
    uint64_t hash = hash_mix((uint64_t)w->op, (uint64_t)w->product_dtype);
    if (w->group == WORK_PRODUCT) {
        hash = hash_mix(hash_mix(hash, (uint64_t)w->gemm[2]), (uint64_t)w->gemm[3]);
        return (uint32_t)(hash >> 32);
    }
    const placed_tensor *in = o->main.tensor;
    if (in)
        for (int i = 1; i < in->rank; i++)
            hash = hash_mix(hash, (uint64_t)in->dims[i] << 1 | (in->strides[i] == 1));
    if (k->window)
        hash = hash_mix(hash, (uint64_t)k->window->size[0] << 32 | (uint64_t)k->window->stride[0] << 16 |
                                  (uint64_t)(k->window->groups & 0xffff));
    return (uint32_t)(hash_mix(hash, (uint64_t)w->gemm[2]) >> 32);
}

void work_describe(const program *p, const kernel *k, work *w, work_logs *logs)
{
    writer o; /* Not zeroed; only the kernel's operands are valid. */
    o.p = p;
    o.k = k;
    o.w = w;
    o.logs = logs;
    o.next = w->features;
    measure_operands(&o);
    w->is_unknown = (k->flags & KERNEL_UNKNOWN) != 0;
    w->flops = (double)k->flops;
    w->macs = (double)k->macs;
    w->bytes = (double)k->bytes_read + (double)k->bytes_written;
    for (int32_t i = 0; i < k->output_count; i++) {
        double n = elements_of(&p->tensors.items[k->outputs[i]]);
        w->elements = fmax(w->elements, n);
        w->operands += n;
    }
    for (int32_t i = 0; i < k->input_count; i++) {
        operand x = operand_at(&o, i);
        w->operands += x.elements;
        if (x.tensor->is_weight)
            w->weight_bytes += x.tensor->packed_bytes > 0 ? (double)x.tensor->packed_bytes
                                                          : x.elements * dtype_bits(x.tensor->dtype) / 8;
    }
    w->operands = fmin(w->operands, w->bytes); /* A lookup reads only part of the table. */
    put_general(&o);
    o.next = w->features + WORK_GENERAL;
    switch (w->group) {
    case WORK_CONV:
    case WORK_CONV_BACKWARD:
        work_convolution(&o);
        break;
    case WORK_PRODUCT:
        work_product(&o);
        break;
    case WORK_ATTENTION:
        work_attention(&o);
        break;
    case WORK_NORM:
    case WORK_REDUCE:
        work_reduction(&o);
        break;
    case WORK_WINDOW:
    case WORK_RESIZE:
        work_window(&o);
        break;
    default:
        work_plain(&o);
        break;
    }
    w->kin = kin_of(&o);
}
