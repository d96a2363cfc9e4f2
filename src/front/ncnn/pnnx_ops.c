/* pnnx_ops.c: maps pnnx operators: PyTorch's modules and functions with named arguments. The file has the shapes of
 * blobs and weights, which give the results of unknown operators. */
#include "front/ncnn/ncnn.h"

#include <stdio.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static bool flag(const ncnn_call *c, const char *key, bool otherwise)
{
    str text = ncnn_text(c->layer, key);
    return text.len ? str_is(text, "True") : otherwise;
}

static int64_t number(const ncnn_call *c, const char *key, int64_t otherwise)
{
    double value = ncnn_real_of(ncnn_text(c->layer, key), (double)otherwise);
    return value >= -9e15 && value <= 9e15 ? (int64_t)value : otherwise;
}

static double real(const ncnn_call *c, const char *key, double otherwise)
{
    return ncnn_real_of(ncnn_text(c->layer, key), otherwise);
}

/* Reads a tuple, or one number for all axes. */
static bool tuple(const ncnn_call *c, const char *key, int axes, int64_t least, int64_t *to)
{
    int count = ncnn_numbers(ncnn_text(c->layer, key), to, axes);
    for (int i = count; i < axes && count > 0; i++)
        to[i] = to[0];
    for (int i = 0; i < axes && count > 0; i++)
        if (to[i] < least || to[i] > NCNN_MAX_SIZE)
            fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT,
                      "'%s' of '%.*s' has a size of %lld; convert the model again", key, STR_ARG(c->layer->name),
                      (long long)to[i]);
    return count > 0;
}

static void declare(ncnn_call *c)
{
    for (int i = 0; i < c->out_count; i++) {
        char key[300];
        num dims[MAX_RANK];
        str name = build_at(&c->g->b, c->outs[i])->name;
        snprintf(key, sizeof key, "#%.*s", STR_ARG(name));
        str text = ncnn_text(c->layer, key);
        const char *end = text.len ? memchr(text.ptr, ')', text.len) : NULL;
        int rank = end ? ncnn_numbers((str){text.ptr, (size_t)(end - text.ptr)}, dims, MAX_RANK) : -1;
        bool is_known = rank >= 0;
        for (int k = 0; k < rank; k++)
            is_known &= dims[k] >= 0 && dims[k] <= NCNN_MAX_SIZE;
        if (is_known)
            build_type(&c->g->b, c->outs[i], str_ends(text, "i64") ? DT_INT64 : DT_FLOAT32, rank, dims);
    }
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static void map_same(ncnn_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->x, c->out);
}

static emit_window window_of(const ncnn_call *c, int axes)
{
    emit_window w = {.axes = axes, .padding = EMIT_PADS, .group = 1, .channels_first = true};
    for (int i = 0; i < axes; i++)
        w.kernel[i] = w.strides[i] = w.dilations[i] = 1;
    tuple(c, "kernel_size", axes, 1, w.kernel);
    tuple(c, "dilation", axes, 1, w.dilations);
    tuple(c, "padding", axes, 0, w.pads);
    if (str_is(ncnn_text(c->layer, "padding"), "same"))
        w.padding = EMIT_SAME;
    memcpy(w.pads + axes, w.pads, (size_t)axes * sizeof *w.pads);
    return w;
}

static void map_conv(ncnn_call *c, const char *canonical)
{
    int axes = str_ends(c->layer->type, "1d") ? 1 : str_ends(c->layer->type, "3d") ? 3 : 2;
    emit_window w = window_of(c, axes);
    tuple(c, "stride", axes, 1, w.strides);
    w.group = number(c, "groups", 1);
    grow_conv(c->g, canonical, c->x, &w, number(c, "out_channels", 1), flag(c, "bias", true), c->out);
}

static void map_pool(ncnn_call *c, const char *canonical)
{
    int axes = str_ends(c->layer->type, "1d") ? 1 : 2;
    emit_window w = window_of(c, axes);
    memcpy(w.strides, w.kernel, sizeof w.strides);
    tuple(c, "stride", axes, 1, w.strides);
    node *n = emit_pool(c->e, canonical, c->x, &w, c->out);
    if (flag(c, "ceil_mode", false))
        emit_int(n, "ceil_mode", 1);
}

static void map_adaptive_pool(ncnn_call *c, const char *canonical)
{
    int64_t size[2] = {0, 0};
    if (tuple(c, "output_size", 2, 0, size) && size[0] == 1 && size[1] == 1)
        emit_1(c->e, canonical, c->x, c->out);
    else
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

static void map_linear(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_dense(c->g, c->x, -1, number(c, "out_features", 1), flag(c, "bias", true), c->out);
}

static void map_batch_norm(ncnn_call *c, const char *unused)
{
    (void)unused;
    bool has_weights = flag(c, "affine", true);
    grow_batch_norm(c->g, c->x, has_weights, has_weights, real(c, "eps", 1e-5), c->out);
}

static void map_layer_norm(ncnn_call *c, const char *canonical)
{
    num width = grow_dim(c->g, c->x, -1);
    if (!dim_known(width)) {
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
        return;
    }
    value_id inputs[3] = {c->x};
    inputs[1] = grow_weight(c->g, "weight", 1, &width);
    inputs[2] = grow_weight(c->g, "bias", 1, &width);
    emit_int(emit_op(c->e, canonical, inputs, 3, c->out), "axis", -1);
}

static void map_leaky(ncnn_call *c, const char *canonical)
{
    emit_real(emit_op(c->e, canonical, &c->x, 1, c->out), "alpha", real(c, "negative_slope", 0.01));
}

static void map_relu6(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_clip(c->g, c->x, real(c, "min_val", 0), real(c, "max_val", 6), c->out);
}

static void map_silu(ncnn_call *c, const char *unused)
{
    (void)unused;
    emit_2(c->e, "Mul", c->x, emit_1(c->e, "Sigmoid", c->x, NO_VALUE), c->out);
}

static void map_softmax(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_softmax(c->g, c->x, number(c, "dim", -1), c->out);
}

static void map_cat(ncnn_call *c, const char *unused)
{
    (void)unused;
    grow_concat(c->g, c->in, c->in_count, number(c, "dim", 0), c->out);
}

static void map_slice(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t axis = number(c, "dim", 0), start = number(c, "start", 0), end = number(c, "end", INT32_MAX);
    int64_t step = number(c, "step", 1);
    value_id inputs[] = {c->x, emit_list(c->e, &start, 1), emit_list(c->e, &end, 1), emit_list(c->e, &axis, 1),
                         emit_list(c->e, &step, 1)};
    emit_op(c->e, "Slice", inputs, 5, c->out);
}

/* Pads start with the last axis. */
static void map_pad(ncnn_call *c, const char *canonical)
{
    int64_t pairs[2 * MAX_RANK], pads[2 * MAX_RANK], axes[MAX_RANK];
    int count = ncnn_numbers(ncnn_text(c->layer, "pad"), pairs, 2 * MAX_RANK) / 2;
    for (int i = 0; i < count; i++) {
        axes[i] = -1 - i;
        pads[i] = pairs[(size_t)2 * (size_t)i];
        pads[count + i] = pairs[2 * i + 1];
    }
    value_id inputs[] = {c->x, emit_list(c->e, pads, 2 * count), NO_VALUE, emit_list(c->e, axes, count)};
    emit_op(c->e, canonical, inputs, 4, c->out);
}

/* Reshapes to the file's shape of the result, but keeps the batch. */
static void map_view(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t shape[MAX_RANK];
    num first = grow_dim(c->g, c->x, 0);
    const value *declared = build_at(&c->g->b, c->out);
    if (declared->rank < 1 || !dim_known(first)) {
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
        return;
    }
    for (int i = 0; i < declared->rank; i++)
        shape[i] = declared->dims[i];
    if (shape[0] == first)
        shape[0] = 0;
    emit_reshaped(c->e, c->x, shape, declared->rank, c->out);
}

static void map_flatten(ncnn_call *c, const char *canonical)
{
    if (number(c, "start_dim", 0) == 1 && number(c, "end_dim", -1) == -1)
        emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "axis", 1);
    else
        map_view(c, NULL);
}

static void map_permute(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = ncnn_numbers(ncnn_text(c->layer, "dims"), perm, MAX_RANK);
    emit_transpose(c->e, c->x, perm, count, c->out);
}

static void map_two(ncnn_call *c, const char *canonical)
{
    if (c->in_count == 2)
        emit_2(c->e, canonical, c->in[0], c->in[1], c->out);
    else
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

static void map_embedding(ncnn_call *c, const char *canonical)
{
    int64_t dims[2] = {1, 1};
    tuple(c, "num_embeddings", 1, 1, &dims[0]);
    tuple(c, "embedding_dim", 1, 1, &dims[1]);
    emit_2(c->e, canonical, grow_weight(c->g, "weight", 2, dims), c->x, c->out);
}

static void map_attribute(ncnn_call *c, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    str text = ncnn_text(c->layer, "@data");
    const char *end = text.len ? memchr(text.ptr, ')', text.len) : NULL;
    int rank = end ? ncnn_numbers((str){text.ptr, (size_t)(end - text.ptr)}, dims, MAX_RANK) : -1;
    bool is_known = rank >= 0;
    for (int i = 0; i < rank; i++)
        is_known &= dims[i] >= 0 && dims[i] <= NCNN_MAX_SIZE;
    if (is_known)
        emit_1(c->e, "Identity", grow_weight(c->g, "data", rank, dims), c->out);
    else
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

/* ---- expressions: add(@0,mul(@1,2.0)) ---------------------------------------------------------------------------- */

typedef struct expression {
    ncnn_call *c;
    str rest;
    bool is_known;
} expression;

static const char *canonical_of(str name)
{
    static const struct {
        const char *name, *canonical;
    } OPS[] = {{"add", "Add"},     {"sub", "Sub"},     {"mul", "Mul"},     {"div", "Div"},
               {"pow", "Pow"},     {"max", "Max"},     {"maximum", "Max"}, {"min", "Min"},
               {"minimum", "Min"}, {"sqrt", "Sqrt"},   {"exp", "Exp"},     {"log", "Log"},
               {"neg", "Neg"},     {"abs", "Abs"},     {"tanh", "Tanh"},   {"sin", "Sin"},
               {"cos", "Cos"},     {"floor", "Floor"}, {"ceil", "Ceil"},   {"reciprocal", "Reciprocal"},
               {"round", "Round"}};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (str_is(name, OPS[i].name))
            return OPS[i].canonical;
    return NULL;
}

static value_id evaluate(expression *x, value_id output, int depth)
{
    size_t length = 0;
    while (length < x->rest.len && !strchr("(),", x->rest.ptr[length]))
        length++;
    str word = {x->rest.ptr, length};
    x->rest = (str){x->rest.ptr + length, x->rest.len - length};
    bool is_call = x->rest.len && x->rest.ptr[0] == '(';
    if (!is_call && word.len && word.ptr[0] == '@') {
        double index = ncnn_real_of((str){word.ptr + 1, word.len - 1}, -1);
        x->is_known &= index >= 0 && index < x->c->in_count;
        return x->is_known ? x->c->in[(int)index] : NO_VALUE;
    }
    if (!is_call)
        return emit_scalar(x->c->e, DT_FLOAT32, ncnn_real_of(word, 0));
    const char *op = canonical_of(word);
    value_id operands[2];
    int count = 0;
    x->is_known &= op && depth < 32;
    while (x->is_known && x->rest.len && x->rest.ptr[0] != ')') {
        x->rest = (str){x->rest.ptr + 1, x->rest.len - 1};
        value_id operand = evaluate(x, NO_VALUE, depth + 1);
        x->is_known &= count < 2;
        if (x->is_known)
            operands[count++] = operand;
    }
    if (x->rest.len)
        x->rest = (str){x->rest.ptr + 1, x->rest.len - 1};
    x->is_known &= count > 0;
    return x->is_known ? emit_op(x->c->e, op, operands, count, output)->outputs[0] : NO_VALUE;
}

static void map_expression(ncnn_call *c, const char *unused)
{
    (void)unused;
    expression x = {.c = c, .rest = ncnn_text(c->layer, "expr"), .is_known = true};
    bool is_call = x.rest.len && memchr(x.rest.ptr, '(', x.rest.len) && x.rest.ptr[0] != '[';
    value_id y = is_call ? evaluate(&x, c->out, 0) : NO_VALUE;
    if (!is_call || !x.is_known || y != c->out)
        grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct pnnx_row {
    const char *type; /* without the prefix "nn.", "F.", "torch." or "Tensor." */
    void (*map)(ncnn_call *c, const char *canonical);
    const char *canonical;
} pnnx_row;

static const pnnx_row ROWS[] = {
    {"AdaptiveAvgPool2d", map_adaptive_pool, "GlobalAveragePool"},
    {"Attribute", map_attribute, NULL},
    {"AvgPool2d", map_pool, "AveragePool"},
    {"BatchNorm1d", map_batch_norm, NULL},
    {"BatchNorm2d", map_batch_norm, NULL},
    {"Conv1d", map_conv, "Conv"},
    {"Conv2d", map_conv, "Conv"},
    {"Conv3d", map_conv, "Conv"},
    {"Dropout", map_same, "Dropout"},
    {"Embedding", map_embedding, "Gather"},
    {"Expression", map_expression, NULL},
    {"Flatten", map_flatten, "Flatten"},
    {"GELU", map_same, "Gelu"},
    {"Hardsigmoid", map_same, "HardSigmoid"},
    {"Hardswish", map_same, "HardSwish"},
    {"Hardtanh", map_relu6, NULL},
    {"LayerNorm", map_layer_norm, "LayerNormalization"},
    {"LeakyReLU", map_leaky, "LeakyRelu"},
    {"Linear", map_linear, NULL},
    {"MaxPool2d", map_pool, "MaxPool"},
    {"Mish", map_same, "Mish"},
    {"ReLU", map_same, "Relu"},
    {"ReLU6", map_relu6, NULL},
    {"SiLU", map_silu, NULL},
    {"Sigmoid", map_same, "Sigmoid"},
    {"Softmax", map_softmax, NULL},
    {"Tanh", map_same, "Tanh"},
    {"adaptive_avg_pool2d", map_adaptive_pool, "GlobalAveragePool"},
    {"avg_pool2d", map_pool, "AveragePool"},
    {"bmm", map_two, "MatMul"},
    {"cat", map_cat, NULL},
    {"flatten", map_flatten, "Flatten"},
    {"gelu", map_same, "Gelu"},
    {"hardsigmoid", map_same, "HardSigmoid"},
    {"hardswish", map_same, "HardSwish"},
    {"hardtanh", map_relu6, NULL},
    {"leaky_relu", map_leaky, "LeakyRelu"},
    {"matmul", map_two, "MatMul"},
    {"max_pool2d", map_pool, "MaxPool"},
    {"mish", map_same, "Mish"},
    {"pad", map_pad, "Pad"},
    {"permute", map_permute, NULL},
    {"relu", map_same, "Relu"},
    {"relu6", map_relu6, NULL},
    {"reshape", map_view, NULL},
    {"sigmoid", map_same, "Sigmoid"},
    {"silu", map_silu, NULL},
    {"slice", map_slice, NULL},
    {"softmax", map_softmax, NULL},
    {"squeeze", map_view, NULL},
    {"tanh", map_same, "Tanh"},
    {"unsqueeze", map_view, NULL},
    {"view", map_view, NULL},
};

void pnnx_write(ncnn_call *c)
{
    str type = c->layer->type;
    for (size_t i = type.len; i > 0; i--)
        if (type.ptr[i - 1] == '.') {
            type = (str){type.ptr + i, type.len - i};
            break;
        }
    declare(c);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS && c->out != NO_VALUE; i++)
        if (str_is(type, ROWS[i].type) && (c->x != NO_VALUE || ROWS[i].map == map_attribute)) {
            ROWS[i].map(c, ROWS[i].canonical);
            return;
        }
    grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}
