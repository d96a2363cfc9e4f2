/* engine.c: lowers a network to the kernels of an ahead-of-time inference engine such as TensorRT. Batch norms are
 * folded into convolutions. Bias, activation and residual sum run in the epilogue of the preceding product. Chains
 * of pointwise operators become one kernel, and so does attention. Concatenations are written in place. In int8 and
 * fp8, products of activations and weights read 8-bit operands, and maps of int8 stay in 8 bits; everything else runs
 * in fp16. Not modelled: choices that an engine makes by timing kernels. */
#include "lower/fused/engine.h"

#include "graph/infer.h"
#include "graph/ops.h"

/* ---- what kernels are -------------------------------------------------------------------------------------------- */

static bool is_rows(const kernel *k)
{
    static const char *const NAMES[] = {"native_layer_norm",
                                        "_fused_rms_norm",
                                        "native_group_norm",
                                        "_softmax",
                                        "_log_softmax",
                                        "mean",
                                        "sum",
                                        "amax",
                                        "amin",
                                        "linalg_vector_norm",
                                        "var_mean",
                                        "adaptive_max_pool2d"};
    return IS_IN(k, NAMES);
}

static bool same_dims(const engine *e, tensor_id a, tensor_id b)
{
    const placed_tensor *x = tensor_at(e, a), *y = tensor_at(e, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0;
}

/* True if each output element depends on the same position of every operand, up to broadcasting. */
static bool is_elementwise(const engine *e, const kernel *k)
{
    static const char *const OTHERS[] = {"cat", "stack", "index", "roll", "embedding", "gather", "repeat"};
    if (k->input_count == 0 || k->window || k->flags & KERNEL_UNKNOWN || IS_IN(k, OTHERS) || kernel_is_attention(k))
        return false;
    for (int i = 0; i < k->input_count; i++)
        if (same_dims(e, k->inputs[i], k->outputs[0]))
            return true;
    /* Operators that may broadcast each operand along different dimensions. */
    static const char *const PAIRS[] = {"add",         "sub", "mul", "div", "maximum", "minimum", "logical_and",
                                        "bitwise_and", "eq",  "gt",  "ge",  "lt",      "le"};
    return IS_IN(k, PAIRS);
}

/* ---- grouping ---------------------------------------------------------------------------------------------------- */

/* Returns the group that writes the whole storage of this tensor, or NO_GROUP if the storage has other readers. */
static int32_t own_maker(const engine *e, tensor_id t)
{
    int32_t s = storage_of(e, t), g = e->maker[s];
    /* True if the group writes the whole storage. */
    bool is_own = g != NO_GROUP && storage_of(e, e->groups.items[g].output) == s;
    return is_own && e->readers[s] == 1 && !e->is_output[s] ? g : NO_GROUP;
}

static void add_to_group(engine *e, int32_t g, int32_t kernel_number)
{
    group *x = &e->groups.items[g];
    const kernel *k = &e->in->kernels.items[kernel_number];
    *(int32_t *)ARENA_PUSH(e->arena, &x->kernels) = kernel_number;
    x->output = k->outputs[0];
    e->maker[storage_of(e, k->outputs[0])] = g;
}

static void new_group(engine *e, group_kind kind, int32_t kernel_number)
{
    group *x = ARENA_PUSH(e->arena, &e->groups);
    x->kind = kind;
    x->main = &e->in->kernels.items[kernel_number];
    add_to_group(e, e->groups.count - 1, kernel_number);
}

/* Merges group `from` into group `to`. */
static void absorb(engine *e, int32_t to, int32_t from)
{
    group *x = &e->groups.items[to], *y = &e->groups.items[from];
    for (int32_t i = 0; i < y->kernels.count; i++)
        *(int32_t *)ARENA_PUSH(e->arena, &x->kernels) = y->kernels.items[i];
    y->kernels.count = 0;
    y->kind = GROUP_GONE;
}

/* Fuses the pointwise groups whose only reader is this kernel. It recomputes them for each broadcast element, as for
 * masks. */
static void take_operands(engine *e, int32_t g, const kernel *k)
{
    for (int i = 0; i < k->input_count; i++) {
        int32_t from = own_maker(e, k->inputs[i]);
        if (from != NO_GROUP && from != g && e->groups.items[from].kind == GROUP_POINTWISE &&
            e->groups.items[g].full_inputs + e->groups.items[from].full_inputs <= MAX_FULL_INPUTS &&
            e->groups.items[g].kernels.count + e->groups.items[from].kernels.count < MAX_GROUP_KERNELS) {
            e->groups.items[g].full_inputs += e->groups.items[from].full_inputs;
            absorb(e, g, from);
        }
    }
}

static bool does_less(const engine *e, int32_t g, int32_t than)
{
    if (than == NO_GROUP)
        return false;
    int64_t own = e->groups.items[g].main->macs, other = e->groups.items[than].main->macs;
    return own < other || (own == other && g <= than);
}

/* Adds a pointwise kernel to the group that computes one of its operands for it alone. Among several groups, the one
 * with the most MACs wins, so that the order of the file does not matter; among equals, the last wins. */
static void place_elementwise(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t best = NO_GROUP;
    int full = 0;
    for (int i = 0; i < k->input_count; i++) {
        tensor_id t = k->inputs[i];
        bool is_full = same_dims(e, t, k->outputs[0]);
        full += is_full;
        int32_t g = is_full ? own_maker(e, t) : NO_GROUP;
        if (g == NO_GROUP || does_less(e, g, best) || e->groups.items[g].kind == GROUP_CALL)
            continue;
        if (e->groups.items[g].is_attention) { /* Attention fuses only a copy of its result to another layout. */
            best = is_op(k, "clone") ? g : best;
            continue;
        }
        const group *x = &e->groups.items[g];
        bool lies_alike =
            is_op(k, "clone") ? x->kind == GROUP_POINTWISE : elements_of(e, x->output) == elements_of(e, k->outputs[0]);
        if (lies_alike && x->kernels.count < MAX_GROUP_KERNELS && x->full_inputs + is_full <= MAX_FULL_INPUTS)
            best = g;
    }
    if (best == NO_GROUP) {
        new_group(e, GROUP_POINTWISE, number);
        int32_t g = e->groups.count - 1;
        e->groups.items[g].kernels.count = 0;
        take_operands(e, g, k);
        add_to_group(e, g, number);
        return;
    }
    e->groups.items[best].full_inputs += full - 1;
    if (e->groups.items[best].kind == GROUP_POINTWISE)
        take_operands(e, best, k);
    add_to_group(e, best, number);
}

/* Norms and sums fuse preceding pointwise kernels. A softmax after a product is the first half of attention. */
static void place_rows(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t before = own_maker(e, k->inputs[0]);
    if (before != NO_GROUP && is_op(k, "_softmax") && is_op(e->groups.items[before].main, "bmm")) {
        e->groups.items[before].has_scores = true;
        add_to_group(e, before, number);
        return;
    }
    new_group(e, GROUP_ROWS, number);
    if (before != NO_GROUP && e->groups.items[before].kind == GROUP_POINTWISE) {
        int32_t own = e->groups.count - 1;
        e->groups.items[own].kernels.count = 0;
        absorb(e, own, before);
        add_to_group(e, own, number);
    }
}

/* Attention fuses copies of queries, keys and values that only it reads, because it reads them in any layout. */
static void take_copies(engine *e, int32_t g)
{
    int32_t count = e->groups.items[g].kernels.count, *own = e->groups.items[g].kernels.items;
    e->groups.items[g].kernels.items = NULL;
    e->groups.items[g].kernels.count = e->groups.items[g].kernels.capacity = 0;
    for (int32_t i = 0; i < count; i++) {
        const kernel *k = &e->in->kernels.items[own[i]];
        for (int n = 0; n < k->input_count; n++) {
            int32_t from = own_maker(e, k->inputs[n]);
            if (from != NO_GROUP && from != g && e->groups.items[from].kind == GROUP_POINTWISE &&
                e->groups.items[from].kernels.count == 1 && is_op(e->groups.items[from].main, "clone"))
                absorb(e, g, from);
        }
    }
    for (int32_t i = 0; i < count; i++)
        *(int32_t *)ARENA_PUSH(e->arena, &e->groups.items[g].kernels) = own[i];
}

/* True if the padding value does not change the reader's result: zero before a convolution, a very small value before
 * max pooling. */
static bool pads_with_nothing(const engine *e, const kernel *pad, const kernel *reader, const group *before)
{
    const node *n = pad->layer == NO_NODE ? NULL : &e->net->nodes.items[pad->layer];
    double with = 0;
    if (n && node_is(n, "Pad") && n->input_count > 2 && n->inputs[2] != NO_VALUE) {
        int32_t count;
        const double *reals = value_reals(e->net, &e->net->values.items[n->inputs[2]], &count);
        if (!reals || count != 1)
            return false;
        with = reals[0];
    }
    static const char *const RECTIFIERS[] = {"relu", "hardtanh"};
    if (is_op(reader, "convolution"))
        return with == 0 && !reader->window->transposed;
    return is_op(reader, "max_pool2d_with_indices") &&
           (with < -1e4 ||
            (with == 0 && before &&
             IS_IN(&e->in->kernels.items[before->kernels.items[before->kernels.count - 1]], RECTIFIERS)));
}

/* Merges a pad into the window of its only reader. */
static void take_pad(engine *e, int32_t g)
{
    const kernel *k = e->groups.items[g].main;
    int32_t from = k->window && k->input_count > 0 ? own_maker(e, k->inputs[0]) : NO_GROUP;
    if (from == NO_GROUP || !is_op(e->groups.items[from].main, "constant_pad_nd"))
        return;
    group *pad = &e->groups.items[from];
    int32_t maker = e->maker[storage_of(e, pad->main->inputs[0])];
    if (pad->kernels.count != 1 || tensor_at(e, pad->output)->rank != 4 || tensor_at(e, k->inputs[0])->rank != 4 ||
        k->window->rank != 2 || !pads_with_nothing(e, pad->main, k, maker == NO_GROUP ? NULL : &e->groups.items[maker]))
        return;
    e->groups.items[g].pad = pad->main;
    pad->kernels.count = 0;
    pad->kind = GROUP_GONE;
}

static void place_product(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t before = is_op(k, "bmm") ? own_maker(e, k->inputs[0]) : NO_GROUP;
    if (before != NO_GROUP && e->groups.items[before].has_scores && !e->groups.items[before].is_attention) {
        e->groups.items[before].is_attention = true;
        add_to_group(e, before, number);
        take_copies(e, before);
        return;
    }
    new_group(e, GROUP_PRODUCT, number);
    take_pad(e, e->groups.count - 1);
}

/* True if each part can be written directly into the concatenation. */
static bool joins_in_place(const engine *e, const kernel *k)
{
    for (int i = 0; i < k->input_count; i++)
        if (own_maker(e, k->inputs[i]) == NO_GROUP)
            return false;
    return true;
}

/* True if the kernel appends keys or values to a cache. Servers reserve memory for the cache and write into it. */
static bool appends_to_cache(const engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    const placed_tensor *cache = tensor_at(e, k->inputs[0]);
    if (!is_op(k, "cat") || k->input_count < 2 || cache->is_weight || e->maker[cache->storage] != NO_GROUP)
        return false;
    for (int32_t i = number + 1; i < e->in->kernels.count && e->in->kernels.items[i].layer == k->layer; i++)
        if (kernel_is_attention(&e->in->kernels.items[i]))
            return true;
    return false;
}

/* True if an engine computes the kernel once, when it is built. Zeros are left out: recurrent layers begin with them. */
static bool is_constant(const engine *e, const kernel *k)
{
    bool all = k->input_count > 0 || is_op(k, "arange") || is_op(k, "linspace");
    for (int i = 0; i < k->input_count; i++)
        all &= e->is_constant[storage_of(e, k->inputs[i])];
    return all;
}

static void place(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    bool is_bias = k->flags & KERNEL_HIDDEN && k->flags & KERNEL_IN_PLACE;
    if (is_constant(e, k)) {
        e->is_constant[storage_of(e, k->outputs[0])] = true;
        return;
    }
    if (is_op(k, "_cudnn_rnn")) { /* This kernel owns the layer's outputs; the kernels after it do the work. */
        new_group(e, GROUP_CALL, number);
        return;
    }
    if (k->flags & KERNEL_VIEW || (k->flags & KERNEL_HIDDEN && !is_bias))
        return;
    if (is_bias)
        add_to_group(e, e->maker[storage_of(e, k->outputs[0])], number);
    else if (is_product(k))
        place_product(e, number);
    else if (is_rows(k))
        place_rows(e, number);
    else if ((is_op(k, "cat") && joins_in_place(e, k)) || appends_to_cache(e, number))
        e->maker[storage_of(e, k->outputs[0])] = NO_GROUP;
    else if (is_elementwise(e, k))
        place_elementwise(e, number);
    else {
        new_group(e, GROUP_CALL, number);
        take_pad(e, e->groups.count - 1);
    }
}

static void count_readers(engine *e)
{
    for (int32_t i = 0; i < e->in->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[i];
        if (k->flags & (KERNEL_VIEW | KERNEL_HIDDEN))
            continue;
        for (int n = 0; n < k->input_count; n++) {
            e->readers[storage_of(e, k->inputs[n])]++;
            e->wide_readers[storage_of(e, k->inputs[n])] += !(is_narrow(e, k) && n < 3);
        }
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Returns the precision of everything except matrix products. Engines have no autocast. */
static lower_precision plain_precision(lower_precision p)
{
    switch (p) {
    case PRECISION_AMP_FP16:
    case PRECISION_INT8:
    case PRECISION_FP8:
    case PRECISION_INT4:
        return PRECISION_FP16;
    case PRECISION_AMP_BF16:
        return PRECISION_BF16;
    default:
        return p;
    }
}

static dtype narrow_dtype(lower_precision p)
{
    return p == PRECISION_INT8 ? DT_INT8 : p == PRECISION_FP8 ? DT_FLOAT8E4M3FN : DT_UNKNOWN;
}

/* Marks block-quantized weights, which stay packed in any precision; kernels read the packed bytes. */
static void keep_packed(engine *e)
{
    for (tensor_id t = 0; t < e->out->tensors.count; t++) {
        placed_tensor *p = &e->out->tensors.items[t];
        const tensor *stored = p->is_weight && p->value != NO_VALUE ? e->net->values.items[p->value].tensor : NULL;
        int64_t elements = elements_of(e, t);
        if (!stored || stored->packed_bytes <= 0 || elements <= 0)
            continue;
        p->packed_bytes = stored->packed_bytes;
        e->packed[p->storage] = (double)stored->packed_bytes / (double)elements;
    }
}

/* 4 bits, and a 16-bit scale and a zero point for each group of 128, as AWQ and GPTQ usually store them. */
static const double WEIGHT_BITS = 4 + 20.0 / 128;

/* Keeps weights that only products read in a few bits. The last product, whose result leaves the network, stays in 16
 * bits, as quantizers leave it. */
static void quantize_weights(engine *e, double bits)
{
    int32_t *by_products = ARENA_ARRAY(e->arena, int32_t, (size_t)e->in->storage_count + 1);
    for (int32_t i = 0; i < e->in->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[i];
        int at = is_op(k, "addmm") ? 2 : 1;
        bool is_layer = is_op(k, "addmm") || is_op(k, "mm") || is_op(k, "bmm");
        if (is_layer && k->input_count > at && !e->is_output[storage_of(e, k->outputs[0])])
            by_products[storage_of(e, k->inputs[at])]++;
    }
    for (tensor_id t = 0; t < e->out->tensors.count; t++) {
        placed_tensor *p = &e->out->tensors.items[t];
        bool is_quantized = p->is_weight && p->rank >= 2 && !p->packed_bytes && by_products[p->storage] > 0 &&
                            by_products[p->storage] == e->readers[p->storage];
        if (!is_quantized)
            continue;
        p->packed_bytes = (int64_t)(bits / 8 * (double)elements_of(e, t) + 0.5);
        e->packed[p->storage] = bits / 8;
    }
}

/* Stores keys and values in 8 bits from the cache on. */
static void narrow_caches(engine *e)
{
    bool *is_cache = ARENA_ARRAY(e->arena, bool, (size_t)e->in->storage_count + 1);
    for (int32_t i = 0; i < e->in->kernels.count; i++)
        if (appends_to_cache(e, i)) {
            const kernel *k = &e->in->kernels.items[i];
            is_cache[storage_of(e, k->inputs[0])] = is_cache[storage_of(e, k->outputs[0])] = true;
        }
    for (tensor_id t = 0; t < e->out->tensors.count; t++)
        if (is_cache[e->out->tensors.items[t].storage])
            e->out->tensors.items[t].dtype = DT_FLOAT8E4M3FN;
}

program *lower_engine(sooth_model *model, const lower_options *options, arena *a)
{
    lower_options plain = *options;
    plain.precision = plain_precision(options->precision);
    const program *in = lower_eager(model, &plain, a);
    program *out = ARENA_NEW(a, program);
    out->tensors = in->tensors;
    out->storage_count = in->storage_count;
    out->unknown_count = in->unknown_count;
    out->is_engine = true;
    for (tensor_id t = 0; t < out->tensors.count; t++) /* Engines use 32-bit integers. */
        if (out->tensors.items[t].dtype == DT_INT64)
            out->tensors.items[t].dtype = DT_INT32;
    size_t storages = (size_t)in->storage_count + 1;
    engine e = {.arena = a,
                .net = &model->net,
                .in = in,
                .out = out,
                .narrow = narrow_dtype(options->precision),
                .maker = ARENA_ARRAY(a, int32_t, storages),
                .readers = ARENA_ARRAY(a, int32_t, storages),
                .wide_readers = ARENA_ARRAY(a, int32_t, storages),
                .is_output = ARENA_ARRAY(a, bool, storages),
                .is_constant = ARENA_ARRAY(a, bool, storages),
                .is_read = ARENA_ARRAY(a, bool, storages),
                .packed = ARENA_ARRAY(a, double, storages),
                .narrow_copy = ARENA_ARRAY(a, tensor_id, (size_t)in->tensors.count + 1)};
    const bool *is_value = lower_output_values(&model->net, a);
    for (tensor_id t = 0; t < in->tensors.count; t++) {
        value_id v = in->tensors.items[t].value;
        e.is_output[in->tensors.items[t].storage] |= v != NO_VALUE && is_value[v];
        e.is_constant[in->tensors.items[t].storage] |= in->tensors.items[t].is_weight;
    }
    keep_packed(&e);
    for (size_t i = 0; i < storages; i++)
        e.maker[i] = NO_GROUP;
    count_readers(&e);
    const own_types *own = &model->source.own_types;
    if (options->precision == PRECISION_INT4)
        quantize_weights(&e, own->quantized == DT_INT4 ? own->weight_bits : WEIGHT_BITS);
    if (options->narrow_cache)
        narrow_caches(&e);
    for (int32_t i = 0; i < in->kernels.count; i++)
        place(&e, i);
    if (e.narrow == DT_INT8)
        engine_narrow_maps(&e);
    engine_emit(&e);
    return out;
}
