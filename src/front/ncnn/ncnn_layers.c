/* ncnn_layers.c: maps ncnn layers to canonical operators, one row per type. Axes in the file do not count the batch. */
#include "front/ncnn/ncnn.h"

#include <math.h>

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static int64_t size_at(const ncnn_call *c, int key, int64_t otherwise, int64_t least)
{
    int64_t size = ncnn_int(c->layer, key, otherwise);
    if (size < least || size > NCNN_MAX_SIZE)
        fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT,
                  "parameter %d of layer '%.*s' is %lld; convert the model again", key, STR_ARG(c->layer->name),
                  (long long)size);
    return size;
}

/* Returns an axis that counts the batch. */
static int axis_at(const ncnn_call *c, int key, int64_t otherwise)
{
    int64_t axis = ncnn_int(c->layer, key, otherwise);
    return (int)(axis < -8 || axis > 8 ? otherwise : axis) + (axis >= 0);
}

static void foreign(ncnn_call *c)
{
    num dims[MAX_RANK];
    for (int i = 0; i < c->out_count; i++) {
        int rank = ncnn_hint(c->layer, i, dims);
        if (rank > 0)
            build_type(&c->g->b, c->outs[i], DT_FLOAT32, rank, dims);
    }
    grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Adds the activation of convolutions and inner products, given as a number and its parameters. */
static void activate(ncnn_call *c, int64_t kind, value_id x, value_id output)
{
    str text = ncnn_text(c->layer, "-23310");
    const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
    str rest = comma ? (str){comma + 1, text.len - (size_t)(comma - text.ptr) - 1} : (str){0};
    const char *second = rest.len ? memchr(rest.ptr, ',', rest.len) : NULL;
    double first = ncnn_real_of(second ? (str){rest.ptr, (size_t)(second - rest.ptr)} : rest, 0);
    double last = second ? ncnn_real_of((str){second + 1, rest.len - (size_t)(second - rest.ptr) - 1}, 0) : 0;
    if (kind == 1)
        emit_1(c->e, "Relu", x, output);
    else if (kind == 2)
        emit_real(emit_op(c->e, "LeakyRelu", &x, 1, output), "alpha", first);
    else if (kind == 3)
        grow_clip(c->g, x, first, last, output);
    else
        emit_1(c->e, kind == 4 ? "Sigmoid" : kind == 5 ? "Mish" : kind == 6 ? "HardSwish" : "Identity", x, output);
}

static void map_same(ncnn_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->x, c->out);
}

static void map_relu(ncnn_call *c, const char *canonical)
{
    double slope = ncnn_real(c->layer, 0, 0);
    if (slope != 0)
        emit_real(emit_op(c->e, "LeakyRelu", &c->x, 1, c->out), "alpha", slope);
    else
        emit_1(c->e, canonical, c->x, c->out);
}

static void map_clip(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_clip(c->g, c->x, ncnn_real(c->layer, 0, -3.4e38), ncnn_real(c->layer, 1, 3.4e38), c->out);
}

static void map_swish(ncnn_call *c, const char *unused)
{
    (void)unused;
    emit_2(c->e, "Mul", c->x, emit_1(c->e, "Sigmoid", c->x, NO_VALUE), c->out);
}

static void map_prelu(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_prelu(c->g, c->x, size_at(c, 0, 1, 1), c->out);
}

static void map_unary(ncnn_call *c, const char *unused)
{
    (void)unused;
    static const char *const OPS[] = {"Abs",  "Neg",        "Floor", "Ceil", NULL,    "Sqrt", NULL,
                                      "Exp",  "Log",        "Sin",   "Cos",  "Tan",   "Asin", "Acos",
                                      "Atan", "Reciprocal", "Tanh",  "Log",  "Round", "Floor"};
    int64_t kind = ncnn_int(c->layer, 0, 0);
    if (kind == 4)
        emit_2(c->e, "Mul", c->x, c->x, c->out);
    else if (kind == 6)
        emit_1(c->e, "Reciprocal", emit_1(c->e, "Sqrt", c->x, NO_VALUE), c->out);
    else if (kind >= 0 && kind < (int64_t)(sizeof OPS / sizeof *OPS))
        emit_1(c->e, OPS[kind], c->x, c->out);
    else
        grow_foreign_like(c->g, c->layer->type, c->in, c->in_count, c->x, c->out);
}

/* Broadcasts the operand of lower rank along the inner dimensions: a vector has one number per channel. */
static value_id spread(ncnn_call *c, value_id v, value_id other)
{
    num own[MAX_RANK], dims[MAX_RANK];
    int64_t axes[MAX_RANK];
    int rank = grow_shape(c->g, v, own), wanted = grow_shape(c->g, other, dims), count = 0;
    if (rank < 2 || wanted <= rank || own[1] != dims[1])
        return v;
    for (int i = rank; i < wanted; i++)
        axes[count++] = i;
    return emit_unsqueeze(c->e, v, axes, count, NO_VALUE);
}

static void map_binary(ncnn_call *c, const char *unused)
{
    (void)unused;
    static const char *const OPS[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Sub", "Div", "Pow"};
    int64_t kind = ncnn_int(c->layer, 0, 0);
    bool has_number = ncnn_int(c->layer, 1, 0) != 0;
    if (kind < 0 || kind > 9 || (!has_number && c->in_count < 2)) {
        foreign(c);
        return;
    }
    value_id a = c->x, b = has_number ? emit_scalar(c->e, DT_FLOAT32, ncnn_real(c->layer, 2, 0)) : c->in[1];
    if (!has_number) {
        a = spread(c, c->in[0], c->in[1]);
        b = spread(c, c->in[1], c->in[0]);
    }
    emit_2(c->e, OPS[kind], kind > 6 ? b : a, kind > 6 ? a : b, c->out);
}

static void map_eltwise(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t kind = ncnn_int(c->layer, 0, 0);
    const char *op = kind == 0 ? "Mul" : kind == 1 ? "Add" : "Max";
    value_id sum = c->x;
    for (int i = 1; i < c->in_count; i++)
        sum = emit_2(c->e, op, sum, c->in[i], i == c->in_count - 1 ? c->out : NO_VALUE);
    if (c->in_count == 1)
        emit_1(c->e, "Identity", sum, c->out);
}

/* ---- convolutions and products ----------------------------------------------------------------------------------- */

/* Sets the padding; -233 and -234 stand for as much as keeps the size. */
static void set_padding(const ncnn_call *c, emit_window *w, int left, int top, int right, int bottom)
{
    int64_t before = ncnn_int(c->layer, left, 0), above = ncnn_int(c->layer, top, before);
    int64_t pads[4] = {above, before, ncnn_int(c->layer, bottom, above), ncnn_int(c->layer, right, before)};
    w->padding = before == -233 || before == -234 ? EMIT_SAME : EMIT_PADS;
    for (int i = 0; i < 4; i++) {
        if (w->padding == EMIT_PADS && (pads[i] < 0 || pads[i] > NCNN_MAX_SIZE))
            fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT,
                      "layer '%.*s' has a padding of %lld; convert the model again", STR_ARG(c->layer->name),
                      (long long)pads[i]);
        w->pads[i] = pads[i];
    }
}

static emit_window conv_window(const ncnn_call *c)
{
    int64_t width = size_at(c, 1, 1, 1), dilation = size_at(c, 2, 1, 1), stride = size_at(c, 3, 1, 1);
    emit_window w = grow_window(size_at(c, 11, width, 1), width, size_at(c, 13, stride, 1), stride, 0, 0);
    w.dilations[0] = size_at(c, 12, dilation, 1);
    w.dilations[1] = dilation;
    set_padding(c, &w, 4, 14, 15, 16);
    w.group = size_at(c, 7, 1, 1);
    return w;
}

static void map_conv(ncnn_call *c, const char *canonical)
{
    emit_window w = conv_window(c);
    int64_t kind = ncnn_int(c->layer, 9, 0), right = ncnn_int(c->layer, 18, 0);
    int64_t more[2] = {ncnn_int(c->layer, 19, right), right};
    bool has_activation = kind >= 1 && kind <= 6, is_transposed = canonical[4] == 'T';
    value_id y = grow_conv(c->g, canonical, c->x, &w, size_at(c, 0, 1, 1), ncnn_int(c->layer, 5, 0) != 0,
                           has_activation ? NO_VALUE : c->out);
    node *n = &c->g->b.source->main.nodes.items[c->g->b.source->main.nodes.count - 1];
    if (is_transposed && n->op && (more[0] > 0 || more[1] > 0) && more[0] < 64 && more[1] < 64)
        emit_ints(c->e, n, "output_padding", more, 2);
    if (has_activation)
        activate(c, kind, y, c->out);
}

/* Multiplies each row of a matrix if the rows match the weights; otherwise the flattened input. */
static void map_inner_product(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t units = size_at(c, 0, 1, 1), width = ncnn_int(c->layer, 2, 0) / units, kind = ncnn_int(c->layer, 9, 0),
            all = 1;
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims);
    bool by_row = rank == 3 && dims[2] == width, has_activation = kind >= 1 && kind <= 6;
    for (int i = 1; i < rank && all > 0; i++)
        if (!dim_known(dims[i]) || __builtin_mul_overflow(all, dims[i], &all))
            all = 0;
    if (!by_row && all > 0 && width > 0 && all != width)
        grow_complain(c->g, "the weights of an inner product do not match its input");
    value_id y = grow_dense(c->g, c->x, by_row ? 2 : 1, units, ncnn_int(c->layer, 1, 0) != 0,
                            has_activation ? NO_VALUE : c->out);
    if (has_activation)
        activate(c, kind, y, c->out);
}

static value_id turned(ncnn_call *c, value_id v, bool is_turned)
{
    num dims[MAX_RANK];
    int64_t perm[MAX_RANK];
    int rank = grow_shape(c->g, v, dims);
    if (!is_turned || rank < 3)
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return emit_transpose(c->e, v, perm, rank, NO_VALUE);
}

/* A·B; either matrix may be stored with the weights. */
static void map_gemm(ncnn_call *c, const char *unused)
{
    (void)unused;
    bool has_weight = ncnn_int(c->layer, 5, 0) != 0;
    if (has_weight) {
        grow_dense(c->g, turned(c, c->x, ncnn_int(c->layer, 2, 0) != 0), -1, size_at(c, 8, 1, 1),
                   ncnn_int(c->layer, 6, 0) != 0 && ncnn_int(c->layer, 10, 0) != -1, c->out);
    } else if (c->in_count > 1) {
        emit_2(c->e, "MatMul", turned(c, c->x, ncnn_int(c->layer, 2, 0) != 0),
               turned(c, c->in[1], ncnn_int(c->layer, 3, 0) != 0), c->out);
    } else {
        foreign(c);
    }
}

static void map_matmul(ncnn_call *c, const char *canonical)
{
    if (c->in_count < 2)
        foreign(c);
    else
        emit_2(c->e, canonical, c->x, turned(c, c->in[1], ncnn_int(c->layer, 0, 0) != 0), c->out);
}

static void map_embed(ncnn_call *c, const char *canonical)
{
    int64_t dims[2] = {size_at(c, 1, 1, 1), size_at(c, 0, 1, 1)};
    emit_2(c->e, canonical, grow_weight(c->g, "weight", 2, dims), emit_cast(c->e, c->x, DT_INT64, NO_VALUE), c->out);
}

/* softmax(q·kᵀ·scale + mask)·v, all (…, tokens, head size) */
static value_id attention(ncnn_call *c, value_id q, value_id k, value_id v, value_id mask, double scale,
                          value_id output)
{
    num dims[MAX_RANK];
    value_id scores = emit_2(c->e, "MatMul", q, turned(c, k, true), NO_VALUE);
    scores = emit_2(c->e, "Mul", scores, emit_scalar(c->e, DT_FLOAT32, scale), NO_VALUE);
    if (mask != NO_VALUE && grow_shape(c->g, mask, dims) >= 2)
        scores = emit_2(c->e, "Add", scores, mask, NO_VALUE);
    return emit_2(c->e, "MatMul", grow_softmax(c->g, scores, -1, NO_VALUE), v, output);
}

/* Inputs: q, k, v, mask, and cached keys and values, which are empty here. */
static void map_sdpa(ncnn_call *c, const char *unused)
{
    (void)unused;
    num width = grow_dim(c->g, c->x, -1);
    if (c->in_count < 3 || !dim_known(width) || width < 1) {
        foreign(c);
        return;
    }
    bool has_mask = ncnn_int(c->layer, 5, 0) != 0 && c->in_count > 3;
    double scale = ncnn_real(c->layer, 6, 0);
    attention(c, c->x, c->in[1], c->in[2], has_mask ? c->in[3] : NO_VALUE, scale != 0 ? scale : 1 / sqrt((double)width),
              c->out);
    for (int i = 1; i < c->out_count && i < 3; i++)
        emit_1(c->e, "Identity", c->in[i], c->outs[i]);
}

/* Attention on (N, tokens, embedding): projections to queries, keys and values, heads, output projection. */
static void map_multi_head(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t embedding = size_at(c, 0, 1, 1), heads = size_at(c, 1, 1, 1);
    num dims[MAX_RANK];
    static const char *const PARTS[] = {"q", "k", "v"};
    value_id parts[3];
    if (grow_shape(c->g, c->x, dims) != 3 || embedding % heads != 0) {
        foreign(c);
        return;
    }
    str name = c->g->e.name;
    for (int i = 0; i < 3; i++) {
        value_id x = i < c->in_count && c->in_count >= 3 ? c->in[i] : i > 0 && c->in_count == 2 ? c->in[1] : c->x;
        c->e->name = arena_printf(c->g->b.arena, "%.*s/%s", STR_ARG(name), PARTS[i]);
        value_id rows = grow_dense(c->g, x, -1, embedding, true, NO_VALUE);
        rows = emit_reshaped(c->e, rows, (const int64_t[]){0, 0, heads, embedding / heads}, 4, NO_VALUE);
        parts[i] = emit_transpose(c->e, rows, (const int64_t[]){0, 2, 1, 3}, 4, NO_VALUE);
    }
    c->e->name = name;
    value_id y = attention(c, parts[0], parts[1], parts[2], NO_VALUE, 1 / sqrt((double)(embedding / heads)), NO_VALUE);
    y = emit_transpose(c->e, y, (const int64_t[]){0, 2, 1, 3}, 4, NO_VALUE);
    y = emit_reshaped(c->e, y, (const int64_t[]){0, 0, -1}, 3, NO_VALUE);
    c->e->name = arena_printf(c->g->b.arena, "%.*s/out", STR_ARG(name));
    grow_dense(c->g, y, -1, embedding, true, c->out);
    c->e->name = name;
}

/* ---- pools and norms --------------------------------------------------------------------------------------------- */

/* Global pooling gives a vector. */
static void map_pool(ncnn_call *c, const char *unused)
{
    (void)unused;
    bool is_average = ncnn_int(c->layer, 0, 0) == 1, is_adaptive = ncnn_int(c->layer, 7, 0) != 0;
    int64_t width = size_at(c, 1, 1, 0), stride = size_at(c, 2, 1, 1), mode = ncnn_int(c->layer, 5, 0);
    if (ncnn_int(c->layer, 4, 0) || (is_adaptive && ncnn_int(c->layer, 8, 1) == 1 && ncnn_int(c->layer, 18, 1) == 1)) {
        value_id y =
            emit_1(c->e, is_average ? "GlobalAveragePool" : "GlobalMaxPool", c->x, is_adaptive ? c->out : NO_VALUE);
        if (!is_adaptive)
            emit_int(emit_op(c->e, "Flatten", &y, 1, c->out), "axis", 1);
        return;
    }
    if (is_adaptive || width < 1) {
        foreign(c);
        return;
    }
    emit_window w = grow_window(size_at(c, 11, width, 1), width, size_at(c, 12, stride, 1), stride, 0, 0);
    set_padding(c, &w, 3, 13, 14, 15);
    if (mode >= 2)
        w.padding = EMIT_SAME;
    node *n = emit_pool(c->e, is_average ? "AveragePool" : "MaxPool", c->x, &w, c->out);
    if (mode == 0)
        emit_int(n, "ceil_mode", 1);
}

static void map_batch_norm(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_batch_norm(c->g, c->x, true, true, ncnn_real(c->layer, 1, 0), c->out);
}

static void map_scale(ncnn_call *c, const char *unused)
{
    (void)unused;
    if (ncnn_int(c->layer, 0, 0) == NCNN_NONE && c->in_count > 1)
        emit_2(c->e, "Mul", c->x, spread(c, c->in[1], c->x), c->out);
    else
        grow_scale(c->g, c->x, 1, 1, ncnn_int(c->layer, 1, 0) != 0, c->out);
}

/* Over the last axis: layer norm with a bias, RMS norm without. */
static void map_norm(ncnn_call *c, const char *canonical)
{
    num width = grow_dim(c->g, c->x, -1);
    value_id inputs[3] = {c->x, NO_VALUE, NO_VALUE};
    if (!dim_known(width)) {
        foreign(c);
        return;
    }
    bool has_weights = ncnn_int(c->layer, 2, 1) != 0;
    inputs[1] = has_weights ? grow_weight(c->g, "gamma", 1, &width) : grow_buffer(c->g, "gamma", 1, &width);
    if (has_weights && canonical[0] == 'L')
        inputs[2] = grow_weight(c->g, "beta", 1, &width);
    node *n = emit_op(c->e, canonical, inputs, 3, c->out);
    emit_int(n, "axis", -1);
    emit_real(n, "epsilon", ncnn_real(c->layer, 1, 1e-5));
}

static void map_channel_norm(ncnn_call *c, const char *canonical)
{
    bool is_group = canonical[0] == 'G';
    num channels = grow_dim(c->g, c->x, 1);
    value_id inputs[3] = {c->x};
    if (!dim_known(channels)) {
        foreign(c);
        return;
    }
    inputs[1] = grow_weight(c->g, "gamma", 1, &channels);
    inputs[2] = grow_weight(c->g, "beta", 1, &channels);
    node *n = emit_op(c->e, canonical, inputs, 3, c->out);
    if (is_group)
        emit_int(n, "num_groups", size_at(c, 0, 1, 1));
}

static void map_normalize(ncnn_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "axis", 1);
}

static void map_lrn(ncnn_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "size", size_at(c, 1, 5, 1));
}

static void map_softmax(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_softmax(c->g, c->x, axis_at(c, 0, 0), c->out);
}

static void map_reduction(ncnn_call *c, const char *unused)
{
    (void)unused;
    static const char *const OPS[] = {"ReduceSum", "ReduceL1",     "ReduceSumSquare", "ReduceMean",
                                      "ReduceMax", "ReduceMin",    "ReduceProd",      "ReduceL1",
                                      "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp"};
    int64_t kind = ncnn_int(c->layer, 0, 0), axes[MAX_RANK];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), count = ncnn_list(c->layer, 3, axes, 8);
    for (int i = 0; i < count; i++)
        axes[i] += axes[i] >= 0;
    bool is_whole = ncnn_int(c->layer, 1, 1) || count < 1, keeps = ncnn_int(c->layer, 4, 0) != 0;
    for (int i = 1; is_whole && i < rank; i++)
        axes[i - 1] = i;
    count = is_whole ? rank - 1 : count;
    if (kind < 0 || kind > 10 || count < 1) {
        foreign(c);
    } else if (is_whole && !keeps) { /* a result of a single number is a row */
        node *n = emit_reduce(c->e, OPS[kind], c->x, emit_list(c->e, axes, count), false, NO_VALUE);
        emit_unsqueeze(c->e, n->outputs[0], (const int64_t[]){1}, 1, c->out);
    } else
        emit_reduce(c->e, OPS[kind], c->x, emit_list(c->e, axes, count), keeps, c->out);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static void map_split(ncnn_call *c, const char *canonical)
{
    for (int i = 0; i < c->out_count; i++)
        emit_1(c->e, canonical, i < c->in_count && c->in_count == c->out_count ? c->in[i] : c->x, c->outs[i]);
}

static void map_concat(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_concat(c->g, c->in, c->in_count, axis_at(c, 0, 0), c->out);
}

/* Sizes of the parts; -233 divides the rest equally. */
static void map_slice(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t sizes[256], begin = 0;
    int axis = axis_at(c, 1, 0), count = ncnn_list(c->layer, 0, sizes, 256);
    num all = grow_dim(c->g, c->x, axis);
    for (int i = 0; i < c->out_count; i++) {
        int64_t size = i < count ? sizes[i] : NCNN_NONE;
        if (size == NCNN_NONE)
            size = dim_known(all) && all >= begin ? (all - begin) / (c->out_count - i) : 1;
        if (size < 0 || size > NCNN_MAX_SIZE) {
            foreign(c);
            return;
        }
        grow_slice(c->g, c->x, axis, begin, begin + size, c->outs[i]);
        begin += size;
    }
}

/* Slices by starts, ends and axes as in Python, or by offsets and sizes of width, height and channels. */
static void map_crop(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t starts[8], ends[8], axes[8];
    num dims[MAX_RANK], like[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), count = ncnn_list(c->layer, 9, starts, 8);
    if (count > 0 && ncnn_list(c->layer, 10, ends, 8) == count) {
        int named = ncnn_list(c->layer, 11, axes, 8);
        for (int i = 0; i < count; i++) {
            axes[i] = named == count ? axes[i] + (axes[i] >= 0) : i + 1;
            starts[i] = starts[i] == NCNN_NONE ? 0 : starts[i];
            ends[i] = ends[i] == NCNN_NONE || ends[i] == 0 ? INT64_MAX : ends[i];
        }
    } else {
        static const int OFFSETS[] = {0, 1, 2}, SIZES[] = {3, 4, 5}, BEHIND[] = {6, 7, 8}; /* width, height, channels */
        bool has_reference = c->in_count > 1 && grow_shape(c->g, c->in[1], like) == rank;
        for (count = 0; count < rank - 1 && count < 3; count++) {
            int64_t offset = ncnn_int(c->layer, OFFSETS[count], 0), behind = ncnn_int(c->layer, BEHIND[count], 0);
            int64_t size = ncnn_int(c->layer, SIZES[count], 0);
            num whole = dims[rank - 1 - count];
            offset = offset > 0 ? offset : 0;
            if (has_reference)
                size = dim_known(like[rank - 1 - count]) ? like[rank - 1 - count] : NCNN_NONE;
            if (size <= 0)
                size = dim_known(whole) ? whole - offset - (behind > 0 ? behind : 0) : INT32_MAX;
            axes[count] = rank - 1 - count;
            starts[count] = offset;
            ends[count] = offset + size;
        }
    }
    if (count < 1) {
        foreign(c);
        return;
    }
    value_id inputs[] = {c->x, emit_list(c->e, starts, count), emit_list(c->e, ends, count),
                         emit_list(c->e, axes, count)};
    emit_op(c->e, "Slice", inputs, 4, c->out);
}

/* Reshapes to width, height, depth and channels, as far as they are given; 0 keeps, -1 takes the rest. */
static void map_reshape(ncnn_call *c, const char *unused)
{
    (void)unused;
    static const int KEYS[] = {2, 11, 1, 0};
    int64_t shape[5] = {0};
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), count = 1;
    for (int i = 0; i < 4; i++) {
        int64_t size = ncnn_int(c->layer, KEYS[i], NCNN_NONE);
        if (size == NCNN_NONE)
            continue;
        int from_end = i == 3 ? 1 : i == 2 ? 2 : rank - 1;
        if (size == 0 && rank > from_end && from_end > 0 && dim_known(dims[rank - from_end]))
            size = dims[rank - from_end];
        shape[count++] = size;
    }
    if (count == 1 || rank < 0)
        foreign(c);
    else
        emit_reshaped(c->e, c->x, shape, count, c->out);
}

static void map_flatten(ncnn_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "axis", 1);
}

/* Permutes; the order type gives the new order of width, height and channels. */
static void map_permute(ncnn_call *c, const char *unused)
{
    (void)unused;
    static const int64_t IMAGES[6][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3},
                                         {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}};
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims);
    int64_t kind = ncnn_int(c->layer, 0, 0);
    if (rank == 3 && (kind == 0 || kind == 1))
        emit_transpose(c->e, c->x, kind ? (const int64_t[]){0, 2, 1} : (const int64_t[]){0, 1, 2}, 3, c->out);
    else if (rank == 4 && kind >= 0 && kind < 6)
        emit_transpose(c->e, c->x, IMAGES[kind], 4, c->out);
    else
        foreign(c);
}

static void map_expand_dims(ncnn_call *c, const char *canonical)
{
    int64_t axes[8];
    int count = ncnn_list(c->layer, 3, axes, 8);
    for (int i = 0; i < count; i++)
        axes[i] += axes[i] >= 0;
    if (count < 1)
        foreign(c);
    else
        emit_2(c->e, canonical, c->x, emit_list(c->e, axes, count), c->out);
}

static void map_tile(ncnn_call *c, const char *canonical)
{
    int64_t repeats[MAX_RANK], given[8];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), count = ncnn_list(c->layer, 2, given, 8);
    for (int i = 0; i < rank; i++)
        repeats[i] = 1;
    if (rank < 2 || count > rank - 1) {
        foreign(c);
        return;
    }
    if (count > 0)
        for (int i = 0; i < count; i++)
            repeats[rank - count + i] = given[i];
    else if (axis_at(c, 0, 0) > 0 && axis_at(c, 0, 0) < rank)
        repeats[axis_at(c, 0, 0)] = size_at(c, 1, 1, 1);
    emit_2(c->e, canonical, c->x, emit_list(c->e, repeats, rank), c->out);
}

static void map_padding(ncnn_call *c, const char *canonical)
{
    int64_t pads[6] = {ncnn_int(c->layer, 7, 0), ncnn_int(c->layer, 0, 0), ncnn_int(c->layer, 2, 0),
                       ncnn_int(c->layer, 8, 0), ncnn_int(c->layer, 1, 0), ncnn_int(c->layer, 3, 0)};
    value_id inputs[] = {c->x, emit_list(c->e, pads, 6), NO_VALUE, emit_list(c->e, (const int64_t[]){1, 2, 3}, 3)};
    emit_op(c->e, canonical, inputs, 4, c->out);
}

static void map_interp(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t kind = ncnn_int(c->layer, 0, 0), size[2] = {size_at(c, 3, 0, 0), size_at(c, 4, 0, 0)};
    const char *mode = kind == 2 ? "linear" : kind == 3 ? "cubic" : "nearest";
    double height = ncnn_real(c->layer, 1, 1), width = ncnn_real(c->layer, 2, 1);
    if (c->in_count > 1) {
        size[0] = grow_dim(c->g, c->in[1], 2);
        size[1] = grow_dim(c->g, c->in[1], 3);
    }
    if (size[0] > 0 && size[1] > 0 && dim_known(size[0]) && dim_known(size[1]))
        emit_resize(c->e, mode, c->x, emit_list(c->e, size, 2), true, c->out);
    else if (height > 0 && width > 0 && height < 4096 && width < 4096)
        grow_upsample(c->g, mode, c->x, height, width, c->out);
    else
        foreign(c);
}

static void map_shuffle(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_shuffle(c->g, c->x, size_at(c, 0, 1, 1), c->out);
}

static void map_blocks(ncnn_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "blocksize", size_at(c, 0, 1, 1));
}

/* A tensor that is stored in the weights file. */
static void map_memory(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t width = size_at(c, 0, 0, 0), height = size_at(c, 1, 0, 0), channels = size_at(c, 2, 0, 0), dims[4] = {1};
    int rank = 1;
    if (channels > 0)
        dims[rank++] = channels;
    if (height > 0)
        dims[rank++] = height;
    dims[rank++] = width;
    emit_1(c->e, "Identity", grow_weight(c->g, "data", rank, dims), c->out);
}

static void map_foreign_like(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_foreign_like(c->g, c->layer->type, c->in, c->in_count, c->x, c->out);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct ncnn_row {
    const char *type;
    void (*map)(ncnn_call *c, const char *canonical);
    const char *canonical;
} ncnn_row;

static const ncnn_row ROWS[] = {
    {"AbsVal", map_same, "Abs"},
    {"BatchNorm", map_batch_norm, NULL},
    {"BinaryOp", map_binary, NULL},
    {"Clip", map_clip, NULL},
    {"Concat", map_concat, NULL},
    {"Convolution", map_conv, "Conv"},
    {"ConvolutionDepthWise", map_conv, "Conv"},
    {"Crop", map_crop, NULL},
    {"Deconvolution", map_conv, "ConvTranspose"},
    {"DeconvolutionDepthWise", map_conv, "ConvTranspose"},
    {"Dropout", map_same, "Dropout"},
    {"ELU", map_same, "Elu"},
    {"Eltwise", map_eltwise, NULL},
    {"Embed", map_embed, "Gather"},
    {"ExpandDims", map_expand_dims, "Unsqueeze"},
    {"Flatten", map_flatten, "Flatten"},
    {"GELU", map_same, "Gelu"},
    {"Gemm", map_gemm, NULL},
    {"GroupNorm", map_channel_norm, "GroupNormalization"},
    {"HardSigmoid", map_same, "HardSigmoid"},
    {"HardSwish", map_same, "HardSwish"},
    {"InnerProduct", map_inner_product, NULL},
    {"InstanceNorm", map_channel_norm, "InstanceNormalization"},
    {"Interp", map_interp, NULL},
    {"LRN", map_lrn, "LRN"},
    {"LayerNorm", map_norm, "LayerNormalization"},
    {"MatMul", map_matmul, "MatMul"},
    {"MemoryData", map_memory, NULL},
    {"Mish", map_same, "Mish"},
    {"MultiHeadAttention", map_multi_head, NULL},
    {"Noop", map_split, "Identity"},
    {"Normalize", map_normalize, "LpNormalization"},
    {"PReLU", map_prelu, NULL},
    {"Padding", map_padding, "Pad"},
    {"Permute", map_permute, NULL},
    {"PixelShuffle", map_blocks, "DepthToSpace"},
    {"Pooling", map_pool, NULL},
    {"RMSNorm", map_norm, "RMSNormalization"},
    {"ReLU", map_relu, "Relu"},
    {"Reduction", map_reduction, NULL},
    {"Reorg", map_blocks, "SpaceToDepth"},
    {"Reshape", map_reshape, NULL},
    {"RotaryEmbed", map_foreign_like, NULL},
    {"SDPA", map_sdpa, NULL},
    {"SELU", map_same, "Selu"},
    {"Scale", map_scale, NULL},
    {"ShuffleChannel", map_shuffle, NULL},
    {"Sigmoid", map_same, "Sigmoid"},
    {"Slice", map_slice, NULL},
    {"Softmax", map_softmax, NULL},
    {"Softplus", map_same, "Softplus"},
    {"Split", map_split, "Identity"},
    {"Squeeze", map_expand_dims, "Squeeze"},
    {"Swish", map_swish, NULL},
    {"TanH", map_same, "Tanh"},
    {"Tile", map_tile, "Tile"},
    {"UnaryOp", map_unary, NULL},
};

void ncnn_write(ncnn_call *c)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS && c->out != NO_VALUE; i++)
        if (str_is(c->layer->type, ROWS[i].type) && (c->x != NO_VALUE || ROWS[i].map == map_memory)) {
            ROWS[i].map(c, ROWS[i].canonical);
            return;
        }
    foreign(c);
}
