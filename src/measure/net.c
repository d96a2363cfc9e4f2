/* net.c: decodes the layers of a bound network. */
#include "measure/net.h"
#include "graph/infer.h"

#include <math.h>

typedef struct reader {
    sooth_model *model;
    network *net;
    arena *arena;
    fail *fail;
    run_net *run;
    int *value_of; /* indexed by value_id: index of the run's value, or NO_RUN */
    const node *node;
    run_layer *layer;
} reader;

static const char *node_title(const node *n)
{
    return n->name.len ? n->name.ptr : n->type.ptr;
}

_Noreturn static void refuse(const reader *r, const char *what)
{
    fail_with(r->fail, SOOTH_ERROR_UNSUPPORTED, "layer '%.100s' (%.40s): %s", node_title(r->node), r->node->type.ptr,
              what);
}

static run_shape shape_of(const reader *r, const value *v)
{
    run_shape s = {.rank = v->rank, .elements = 1};
    if (!value_shape_known(v) || v->rank < 0 || v->rank > RUN_RANK)
        refuse(r, "measure needs known shapes of at most five dimensions; bind all dimensions");
    for (int i = 0; i < v->rank; i++) {
        s.dims[i] = (int64_t)v->dims[i];
        if (s.dims[i] < 1 || __builtin_mul_overflow(s.elements, s.dims[i], &s.elements) || s.elements > INT32_MAX)
            refuse(r, "a tensor is empty or has more than 2^31 elements; use a smaller batch");
    }
    return s;
}

static value *input_of(const reader *r, int i)
{
    const node *n = r->node;
    return i < n->input_count && n->inputs[i] != NO_VALUE ? &r->net->values.items[n->inputs[i]] : NULL;
}

static int add_value(reader *r, value_id id, int producer)
{
    const value *v = &r->net->values.items[id];
    int index = r->run->value_count++;
    if (v->dtype != DT_FLOAT32)
        refuse(r, "measure runs networks in float32");
    r->run->values[index] = (run_value){.name = v->name.ptr,
                                        .shape = shape_of(r, v),
                                        .producer = producer,
                                        .shares = NO_RUN,
                                        .has_gradient = producer != NO_RUN};
    r->value_of[id] = index;
    return index;
}

static void read_inputs(reader *r, int count)
{
    int *inputs = ARENA_ARRAY(r->arena, int, (size_t)count);
    for (int i = 0; i < count; i++) {
        value_id id = i < r->node->input_count ? r->node->inputs[i] : NO_VALUE;
        inputs[i] = id == NO_VALUE ? NO_RUN : r->value_of[id];
        if (inputs[i] == NO_RUN)
            refuse(r, "measure cannot run it with this constant or missing input");
        r->run->values[inputs[i]].readers++;
    }
    r->layer->inputs = inputs;
    r->layer->input_count = count;
}

static const run_shape *input_shape(const reader *r, int i)
{
    return &r->run->values[r->layer->inputs[i]].shape;
}

static void add_param(reader *r, int slot, int input, run_role role, int64_t fan_in)
{
    const value *v = input_of(r, input);
    r->layer->params[slot] = NO_RUN;
    if (!v)
        return;
    if (!v->is_initializer && !v->is_constant_node && v->producer != NO_NODE)
        refuse(r, "measure needs a weight that the file stores; this one is computed");
    for (int i = 0; i < r->run->param_count; i++)
        if (r->run->params[i].name == v->name.ptr)
            refuse(r, "two layers share a weight, which measure cannot train");
    int index = r->run->param_count++;
    int layer = (int)(r->layer - r->run->layers);
    r->run->params[index] = (run_param){v->name.ptr, shape_of(r, v), role, layer, fan_in};
    r->layer->params[slot] = index;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static void read_pair(const reader *r, const char *name, int64_t to[2], int64_t otherwise)
{
    int32_t count;
    const int64_t *ints = node_attr_ints(r->node, name, &count);
    to[0] = to[1] = otherwise;
    if (count != 0 && count != 2)
        refuse(r, "measure runs windows of two dimensions");
    for (int i = 0; i < count; i++)
        to[i] = ints[i];
}

/* Computes the padding at the end from the output's size, which covers any rounding and automatic padding. */
static void read_padding(const reader *r, run_window *w, const run_shape *x, const run_shape *y)
{
    int32_t count;
    const int64_t *pads = node_attr_ints(r->node, "pads", &count);
    str mode = node_attr_string(r->node, "auto_pad", "NOTSET");
    bool is_same = str_eq(mode, STR("SAME_UPPER")) || str_eq(mode, STR("SAME_LOWER"));
    for (int i = 0; i < 2; i++) {
        int64_t extent = (w->size[i] - 1) * w->dilation[i] + 1;
        int64_t needed = (y->dims[2 + i] - 1) * w->stride[i] + extent - x->dims[2 + i];
        w->before[i] = count == 4 ? pads[i] : 0;
        if (is_same && needed > 0)
            w->before[i] = (needed + str_eq(mode, STR("SAME_LOWER"))) / 2;
        w->after[i] = needed - w->before[i];
    }
}

static void read_window(reader *r, const int64_t size[2])
{
    run_window *w = &r->layer->window;
    const run_shape *x = input_shape(r, 0), *y = &r->run->values[r->layer->output].shape;
    if (x->rank != 4 || y->rank != 4)
        refuse(r, "measure runs windows over images of four dimensions");
    read_pair(r, "kernel_shape", w->size, 1);
    if (size)
        memcpy(w->size, size, sizeof w->size);
    read_pair(r, "strides", w->stride, 1);
    read_pair(r, "dilations", w->dilation, 1);
    w->groups = node_attr_int(r->node, "group", 1);
    w->counts_padding = node_attr_int(r->node, "count_include_pad", 0) != 0;
    read_padding(r, w, x, y);
}

static double scalar_of(const reader *r, int input, const char *attribute, double otherwise)
{
    value *v = input_of(r, input);
    int32_t count;
    if (!v)
        return node_attr_real(r->node, attribute, otherwise);
    const double *reals = value_reals(r->net, v, &count);
    if (!reals || count != 1)
        refuse(r, "measure needs constant limits");
    return reals[0];
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static void read_conv(reader *r)
{
    const value *w = input_of(r, 1);
    read_inputs(r, 1);
    run_shape s = w ? shape_of(r, w) : (run_shape){0};
    if (s.rank != 4)
        refuse(r, "measure runs convolutions over two dimensions");
    read_window(r, &s.dims[2]);
    add_param(r, 0, 1, ROLE_WEIGHT, s.dims[1] * s.dims[2] * s.dims[3]);
    add_param(r, 1, 2, ROLE_BIAS, 1);
    r->layer->macs = r->run->values[r->layer->output].shape.elements * s.dims[1] * s.dims[2] * s.dims[3];
}

static void read_linear(reader *r)
{
    const value *w = input_of(r, 1);
    read_inputs(r, 1);
    run_shape s = w ? shape_of(r, w) : (run_shape){0};
    bool is_turned = node_attr_int(r->node, "transB", 0) != 0;
    const run_shape *x = input_shape(r, 0);
    int64_t in = is_turned ? s.dims[1] : s.dims[0];
    if (s.rank != 2 || x->rank < 2 || x->dims[x->rank - 1] != in)
        refuse(r, "measure runs products with a matrix of weights");
    r->layer->is_turned = is_turned;
    add_param(r, 0, 1, ROLE_WEIGHT, in);
    add_param(r, 1, 2, ROLE_BIAS, 1);
    r->layer->macs = r->run->values[r->layer->output].shape.elements * in;
}

static void read_batch_norm(reader *r)
{
    static const run_role ROLES[] = {ROLE_SCALE, ROLE_BIAS, ROLE_MEAN, ROLE_VARIANCE};
    read_inputs(r, 1);
    if (input_shape(r, 0)->rank < 2)
        refuse(r, "measure needs channels in the second dimension");
    for (int i = 0; i < 4; i++)
        add_param(r, i, i + 1, ROLES[i], 1);
    for (int i = 0; i < 4; i++)
        if (r->layer->params[i] == NO_RUN)
            refuse(r, "measure needs a batch norm with scale, bias, mean and variance");
    r->layer->a = node_attr_real(r->node, "epsilon", 1e-5);
    r->layer->b = node_attr_real(r->node, "momentum", 0.9);
}

static void read_pool(reader *r)
{
    read_inputs(r, 1);
    read_window(r, NULL);
    if (r->layer->kind == RUN_AVERAGE_POOL && (r->layer->window.dilation[0] != 1 || r->layer->window.dilation[1] != 1))
        refuse(r, "measure runs average pooling without dilation");
}

static void read_global_pool(reader *r)
{
    read_inputs(r, 1);
    const run_shape *x = input_shape(r, 0);
    if (x->rank != 4)
        refuse(r, "measure runs global pooling over images of four dimensions");
    r->layer->window = (run_window){
        .size = {x->dims[2], x->dims[3]}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1, .counts_padding = true};
}

static void read_unary(reader *r)
{
    static const struct {
        const char *op;
        run_unary unary;
        const char *a, *b;
        double a_default, b_default;
    } ROWS[] = {{"Relu", UNARY_RELU, "", "", 0, 0},
                {"LeakyRelu", UNARY_LEAKY, "alpha", "", 0.01, 0},
                {"Elu", UNARY_ELU, "alpha", "", 1, 0},
                {"Sigmoid", UNARY_SIGMOID, "", "", 0, 0},
                {"Tanh", UNARY_TANH, "", "", 0, 0},
                {"Silu", UNARY_SWISH, "", "", 0, 0},
                {"HardSigmoid", UNARY_HARD_SIGMOID, "alpha", "beta", 0.2, 0.5},
                {"HardSwish", UNARY_HARD_SWISH, "", "", 0, 0},
                {"Gelu", UNARY_GELU, "", "", 0, 0}};
    read_inputs(r, 1);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (str_eq(r->node->type, str_of(ROWS[i].op))) {
            r->layer->unary = ROWS[i].unary;
            r->layer->a = node_attr_real(r->node, ROWS[i].a, ROWS[i].a_default);
            r->layer->b = node_attr_real(r->node, ROWS[i].b, ROWS[i].b_default);
        }
    if (r->layer->unary == UNARY_GELU && str_eq(node_attr_string(r->node, "approximate", "none"), STR("tanh")))
        refuse(r, "measure runs the exact GELU, not its approximation");
}

static void read_clip(reader *r)
{
    read_inputs(r, 1);
    r->layer->unary = UNARY_CLIP;
    r->layer->a = scalar_of(r, 1, "min", -INFINITY);
    r->layer->b = scalar_of(r, 2, "max", INFINITY);
}

static void read_binary(reader *r)
{
    read_inputs(r, 2);
    const run_shape *y = &r->run->values[r->layer->output].shape;
    for (int k = 0; k < 2; k++)
        if (input_shape(r, k)->rank != y->rank)
            refuse(r, "measure broadcasts tensors of equal rank");
}

static int axis_in(const reader *r, int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        refuse(r, "the axis is out of range");
    return (int)axis;
}

static void read_concat(reader *r)
{
    read_inputs(r, r->node->input_count);
    r->layer->axis = axis_in(r, node_attr_int(r->node, "axis", 1), input_shape(r, 0)->rank);
}

static void read_reshape(reader *r)
{
    read_inputs(r, 1);
    if (input_shape(r, 0)->elements != r->run->values[r->layer->output].shape.elements)
        refuse(r, "its output has other elements than its input");
}

static void read_lrn(reader *r)
{
    read_inputs(r, 1);
    r->layer->size = node_attr_int(r->node, "size", 5);
    r->layer->a = node_attr_real(r->node, "alpha", 1e-4);
    r->layer->b = node_attr_real(r->node, "beta", 0.75);
    r->layer->bias = node_attr_real(r->node, "bias", 1);
    if (input_shape(r, 0)->rank != 4 || r->layer->size < 1)
        refuse(r, "measure normalizes images of four dimensions");
}

static void read_softmax(reader *r)
{
    read_inputs(r, 1);
    int rank = input_shape(r, 0)->rank;
    r->layer->axis = axis_in(r, node_attr_int(r->node, "axis", r->node->opset < 13 ? 1 : -1), rank);
    if (r->layer->axis != rank - 1)
        refuse(r, "measure runs softmax over the last dimension");
}

static const struct {
    const char *op;
    run_kind kind;
    void (*read)(reader *r);
} OPERATORS[] = {
    {"Conv", RUN_CONV, read_conv},
    {"Linear", RUN_LINEAR, read_linear},
    {"Gemm", RUN_LINEAR, read_linear},
    {"BatchNormalization", RUN_BATCH_NORM, read_batch_norm},
    {"Relu", RUN_UNARY, read_unary},
    {"LeakyRelu", RUN_UNARY, read_unary},
    {"Elu", RUN_UNARY, read_unary},
    {"Sigmoid", RUN_UNARY, read_unary},
    {"Tanh", RUN_UNARY, read_unary},
    {"Silu", RUN_UNARY, read_unary},
    {"HardSigmoid", RUN_UNARY, read_unary},
    {"HardSwish", RUN_UNARY, read_unary},
    {"Gelu", RUN_UNARY, read_unary},
    {"Clip", RUN_UNARY, read_clip},
    {"MaxPool", RUN_MAX_POOL, read_pool},
    {"AveragePool", RUN_AVERAGE_POOL, read_pool},
    {"GlobalAveragePool", RUN_AVERAGE_POOL, read_global_pool},
    {"Add", RUN_SUM, read_binary},
    {"Mul", RUN_PRODUCT, read_binary},
    {"Concat", RUN_CONCAT, read_concat},
    {"Flatten", RUN_RESHAPE, read_reshape},
    {"Reshape", RUN_RESHAPE, read_reshape},
    {"Squeeze", RUN_RESHAPE, read_reshape},
    {"Unsqueeze", RUN_RESHAPE, read_reshape},
    {"Identity", RUN_RESHAPE, read_reshape},
    {"Dropout", RUN_RESHAPE, read_reshape},
    {"LRN", RUN_LRN, read_lrn},
    {"Softmax", RUN_SOFTMAX, read_softmax},
};

static void read_node(reader *r, int index)
{
    size_t row = 0, rows = sizeof OPERATORS / sizeof *OPERATORS;
    while (row < rows && !str_eq(r->node->type, str_of(OPERATORS[row].op)))
        row++;
    if (row == rows)
        refuse(r, "measure cannot run this operator; doc/measure.md lists those that it can");
    if (r->node->repeat != 1)
        refuse(r, "measure cannot run layers inside of loops and branches");
    run_layer *l = r->layer = &r->run->layers[r->run->layer_count++];
    *l = (run_layer){.kind = OPERATORS[row].kind, .name = node_title(r->node), .op = OPERATORS[row].op, .node = index};
    for (int i = 0; i < RUN_PARAMS; i++)
        l->params[i] = NO_RUN;
    for (int i = 1; i < r->node->output_count; i++)
        if (r->node->outputs[i] != NO_VALUE && l->kind != RUN_BATCH_NORM && l->kind != RUN_RESHAPE)
            refuse(r, "measure cannot compute its further outputs");
    /* Reads the shape before the inputs, because windows need it. */
    l->output = add_value(r, r->node->outputs[0], r->run->layer_count - 1);
    OPERATORS[row].read(r);
    bool has_gradient = l->params[0] != NO_RUN;
    for (int i = 0; i < l->input_count; i++)
        has_gradient = has_gradient || r->run->values[l->inputs[i]].has_gradient;
    r->run->values[l->output].has_gradient = has_gradient;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static void add_loss(reader *r)
{
    static const node LOSS = {.type = {"Loss", 4}, .name = {"loss", 4}};
    run_net *run = r->run;
    r->node = &LOSS;
    int output = r->net->outputs.count ? r->value_of[r->net->outputs.items[0]] : NO_RUN;
    if (output == NO_RUN || run->values[output].producer == NO_RUN)
        refuse(r, "the network computes no output");
    const run_shape *s = &run->values[output].shape;
    if (s->rank != 2)
        refuse(r, "measure trains classifiers: the first output must be (batch, classes)");
    run->batch = s->dims[0];
    run->classes = s->dims[1];
    run_layer *l = &run->layers[run->layer_count++];
    int *inputs = ARENA_ARRAY(r->arena, int, 1);
    inputs[0] = output;
    run->values[output].readers++;
    *l = (run_layer){.kind = RUN_LOSS,
                     .name = "loss",
                     .op = "Loss",
                     .node = NO_RUN,
                     .inputs = inputs,
                     .input_count = 1,
                     .output = NO_RUN,
                     .axis = 1,
                     .params = {NO_RUN, NO_RUN, NO_RUN, NO_RUN}};
}

/* True if the layer's backward pass reads its own output. */
static bool keeps_output(const run_layer *l)
{
    return l->kind == RUN_UNARY || l->kind == RUN_SOFTMAX || l->kind == RUN_MAX_POOL;
}

/* True if the result is enough to compute the function's gradient. */
static bool works_in_place(const run_layer *l)
{
    return l->kind == RUN_UNARY && (l->unary == UNARY_RELU || l->unary == UNARY_CLIP);
}

static void share_memory(run_net *run)
{
    for (int i = 0; i < run->layer_count; i++) {
        const run_layer *l = &run->layers[i];
        if (!works_in_place(l))
            continue;
        const run_value *x = &run->values[l->inputs[0]];
        if (x->readers == 1 && x->producer != NO_RUN && !keeps_output(&run->layers[x->producer]) &&
            run->layers[x->producer].kind != RUN_RESHAPE)
            run->values[l->output].shares = l->inputs[0];
    }
}

static int input_value(reader *r)
{
    static const node INPUT = {.type = {"input", 5}, .name = {"input", 5}};
    r->node = &INPUT;
    if (r->net->inputs.count != 1)
        refuse(r, "measure feeds networks with one input");
    return add_value(r, r->net->inputs.items[0], NO_RUN);
}

run_net *run_net_of(sooth_model *model, arena *a, fail *f)
{
    network *net = &model->net;
    run_net *run = ARENA_NEW(a, run_net);
    reader r = {.model = model, .net = net, .arena = a, .fail = f, .run = run};
    size_t nodes = (size_t)net->nodes.count;
    run->values = ARENA_ARRAY(a, run_value, nodes + 1);
    run->layers = ARENA_ARRAY(a, run_layer, nodes + 1);
    run->params = ARENA_ARRAY(a, run_param, nodes * RUN_PARAMS + 1);
    r.value_of = ARENA_ARRAY(a, int, (size_t)net->values.count);
    for (int i = 0; i < net->values.count; i++)
        r.value_of[i] = NO_RUN;
    run->input = input_value(&r);
    for (int i = 0; i < net->nodes.count; i++) {
        r.node = &net->nodes.items[i];
        if (!r.node->is_dead && !r.node->is_host)
            read_node(&r, i);
    }
    add_loss(&r);
    share_memory(run);
    return run;
}
