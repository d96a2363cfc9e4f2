/* coreml_layers.c: maps CoreML neural network layers without weights. The others are in coreml_net.c. */
#include "front/coreml/coreml_net.h"

static value_id x_of(const coreml_layer *l)
{
    return layer_in(l, 0);
}

static value_id out(const coreml_layer *l)
{
    return layer_out(l, 0);
}

void layer_foreign(emitter *e, const coreml_layer *l)
{
    emit_foreign(e, STR("coreml"), arena_printf(e->b->arena, "layer_%u", (unsigned)l->kind), l->in, l->in_count, l->out,
                 l->out_count);
}

/* ---- one operator each ----------------------------------------------------------------------------------------- */

static const struct {
    uint32_t kind;
    const char *canonical;
} PLAIN[] = {
    {600, "Identity"},    {665, "Ceil"},    {670, "Floor"},
    {680, "Sign"},        {685, "Round"},   {700, "Exp"},
    {710, "Sin"},         {715, "Cos"},     {720, "Tan"},
    {730, "Asin"},        {735, "Acos"},    {740, "Atan"},
    {750, "Sinh"},        {755, "Cosh"},    {760, "Tanh"},
    {770, "Asinh"},       {775, "Acosh"},   {780, "Atanh"},
    {790, "Erf"},         {815, "Equal"},   {825, "Less"},
    {827, "LessOrEqual"}, {830, "Greater"}, {832, "GreaterOrEqual"},
    {840, "Or"},          {845, "Xor"},     {850, "Not"},
    {855, "And"},         {865, "Mod"},     {870, "Min"},
    {875, "Max"},         {880, "Add"},     {885, "Pow"},
    {890, "Div"},         {895, "Div"},     {900, "Mul"},
    {905, "Sub"},         {1065, "Shape"},  {240, "Mean"},
    {260, "Max"},         {261, "Min"},     {940, "GatherND"},
    {1313, "NonZero"},    {1330, "Where"},  {170, "LpNormalization"},
};

static bool write_plain(emitter *e, const coreml_layer *l)
{
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (PLAIN[i].kind == l->kind) {
            bool compares = l->kind >= 815 && l->kind <= 832;
            if (compares && l->in_count == 1) /* a single input is compared with a number */
                emit_2(e, PLAIN[i].canonical, x_of(l), emit_scalar(e, DT_FLOAT32, layer_real(l->params, 2, 0)), out(l));
            else
                emit_op(e, PLAIN[i].canonical, l->in, l->in_count, out(l));
            return true;
        }
    return false;
}

static const struct {
    uint32_t kind;
    const char *canonical;
} REDUCTIONS[] = {{1250, "ReduceL1"},        {1255, "ReduceL2"},       {1260, "ReduceMax"},  {1265, "ReduceMin"},
                  {1270, "ReduceSum"},       {1275, "ReduceProd"},     {1280, "ReduceMean"}, {1285, "ReduceLogSum"},
                  {1290, "ReduceSumSquare"}, {1295, "ReduceLogSumExp"}};

static bool write_reduction(emitter *e, const coreml_layer *l)
{
    int64_t axes[MAX_RANK];
    for (size_t i = 0; i < sizeof REDUCTIONS / sizeof *REDUCTIONS; i++) {
        if (REDUCTIONS[i].kind != l->kind)
            continue;
        int count = layer_ints(l->params, 1, axes, MAX_RANK);
        bool keeps = layer_int(l->params, 2, 0) != 0;
        value_id x = x_of(l);
        if (count > 0 && !layer_int(l->params, 3, 0))
            emit_reduce(e, REDUCTIONS[i].canonical, x, emit_list(e, axes, count), keeps, out(l));
        else
            emit_int(emit_op(e, REDUCTIONS[i].canonical, &x, 1, out(l)), "keepdims", keeps);
        return true;
    }
    return false;
}

/* ---- activations ----------------------------------------------------------------------------------------------- */

static void write_activation(emitter *e, const coreml_layer *l)
{
    static const struct {
        uint32_t number;
        const char *canonical;
        bool has_alpha;
    } ACTIVATIONS[] = {{10, "Relu", false},       {15, "LeakyRelu", true}, {20, "ThresholdedRelu", true},
                       {30, "Tanh", false},       {31, "Tanh", false},     {40, "Sigmoid", false},
                       {41, "HardSigmoid", true}, {50, "Elu", true},       {60, "Softsign", false},
                       {70, "Softplus", false},   {71, "Softplus", false}};
    value_id x = x_of(l);
    for (size_t i = 0; i < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; i++)
        if (layer_has(l->params, ACTIVATIONS[i].number)) {
            node *n = emit_op(e, ACTIVATIONS[i].canonical, &x, 1, out(l));
            if (ACTIVATIONS[i].has_alpha)
                emit_real(n, "alpha", layer_real(layer_inner(l->params, ACTIVATIONS[i].number), 1, 0));
            return;
        }
    wire linear = layer_inner(l->params, 5);
    value_id y = emit_2(e, "Mul", x, emit_scalar(e, DT_FLOAT32, layer_real(linear, 1, 1)), NO_VALUE);
    emit_2(e, "Add", y, emit_scalar(e, DT_FLOAT32, layer_real(linear, 2, 0)), out(l));
}

/* Writes a unary function. Omits shift and scale of x if they have no effect. */
static void write_unary(emitter *e, const coreml_layer *l)
{
    enum { SQRT, RSQRT, INVERSE, POWER, EXP, LOG, ABS, THRESHOLD };
    double alpha = layer_real(l->params, 2, 1), shift = layer_real(l->params, 4, 0),
           scale = layer_real(l->params, 5, 1);
    value_id x = x_of(l);
    if (scale != 1 && scale != 0)
        x = emit_2(e, "Mul", x, emit_scalar(e, DT_FLOAT32, scale), NO_VALUE);
    if (shift != 0)
        x = emit_2(e, "Add", x, emit_scalar(e, DT_FLOAT32, shift), NO_VALUE);
    switch (layer_int(l->params, 1, 0)) {
    case SQRT:
        emit_1(e, "Sqrt", x, out(l));
        break;
    case RSQRT:
        emit_1(e, "Reciprocal", emit_1(e, "Sqrt", x, NO_VALUE), out(l));
        break;
    case INVERSE:
        emit_1(e, "Reciprocal", x, out(l));
        break;
    case POWER:
        emit_2(e, "Pow", x, emit_scalar(e, DT_FLOAT32, alpha), out(l));
        break;
    case EXP:
        emit_1(e, "Exp", x, out(l));
        break;
    case LOG:
        emit_1(e, "Log", x, out(l));
        break;
    case ABS:
        emit_1(e, "Abs", x, out(l));
        break;
    case THRESHOLD:
        emit_2(e, "Max", x, emit_scalar(e, DT_FLOAT32, alpha), out(l));
        break;
    default:
        layer_foreign(e, l);
    }
}

/* Combines several inputs, or one input with a number. */
static void write_sum(emitter *e, const coreml_layer *l, const char *canonical, double otherwise)
{
    value_id sum = x_of(l);
    if (l->in_count == 1) {
        emit_2(e, canonical, sum, emit_scalar(e, DT_FLOAT32, layer_real(l->params, 1, otherwise)), out(l));
        return;
    }
    for (int32_t i = 1; i < l->in_count; i++)
        sum = emit_2(e, canonical, sum, layer_in(l, i), i + 1 == l->in_count ? out(l) : NO_VALUE);
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static void with_axis(emitter *e, const coreml_layer *l, const char *canonical, int64_t axis)
{
    emit_int(emit_op(e, canonical, l->in, l->in_count, out(l)), "axis", axis);
}

static void write_reshape(emitter *e, const coreml_layer *l)
{
    int64_t dims[MAX_RANK];
    bool is_first = l->kind == 300; /* (C, H, W) after a batch */
    int count = layer_ints(l->params, 1, dims + 1, MAX_RANK - 1);
    if (count < 0) {
        layer_foreign(e, l);
        return;
    }
    dims[0] = 0;
    emit_reshaped(e, x_of(l), is_first && count == 3 ? dims : dims + 1, is_first && count == 3 ? 4 : count, out(l));
}

static void write_transpose(emitter *e, const coreml_layer *l)
{
    int64_t axes[MAX_RANK];
    int count = layer_ints(l->params, 1, axes, MAX_RANK);
    if (count > 0)
        emit_transpose(e, x_of(l), axes, count, out(l));
    else
        layer_foreign(e, l);
}

static void write_axes(emitter *e, const coreml_layer *l, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = layer_ints(l->params, 1, axes, MAX_RANK);
    bool is_all = canonical[0] == 'S' && layer_int(l->params, 2, 0) != 0;
    emit_2(e, canonical, x_of(l), count > 0 && !is_all ? emit_list(e, axes, count) : NO_VALUE, out(l));
}

static void write_split(emitter *e, const coreml_layer *l, int64_t axis, uint32_t sizes_field)
{
    int64_t sizes[MAX_RANK];
    int count = sizes_field ? layer_ints(l->params, sizes_field, sizes, MAX_RANK) : 0;
    bool given = count > 0 && count == l->out_count;
    node *n = emit_many(e, "Split", (const value_id[]){x_of(l), given ? emit_list(e, sizes, count) : NO_VALUE}, 2,
                        l->out, l->out_count);
    emit_int(n, "axis", axis);
    if (!given)
        emit_int(n, "num_outputs", l->out_count);
}

static int64_t mask_of(wire params, uint32_t number)
{
    int64_t flags[MAX_RANK];
    return emit_mask(flags, layer_ints(params, number, flags, MAX_RANK));
}

static void write_slice_static(emitter *e, const coreml_layer *l)
{
    int64_t begins[MAX_RANK], ends[MAX_RANK], strides[MAX_RANK];
    int count = layer_ints(l->params, 1, begins, MAX_RANK);
    if (count <= 0 || layer_ints(l->params, 3, ends, MAX_RANK) != count ||
        layer_ints(l->params, 5, strides, MAX_RANK) != count) {
        layer_foreign(e, l);
        return;
    }
    emit_slice s = {.begin = emit_list(e, begins, count),
                    .end = emit_list(e, ends, count),
                    .strides = emit_list(e, strides, count),
                    .begin_mask = mask_of(l->params, 2),
                    .end_mask = mask_of(l->params, 4),
                    .shrink_axis_mask = mask_of(l->params, 6),
                    .rank = count};
    emit_strided_slice(e, x_of(l), &s, out(l));
}

/* Axis: 0 channels, 1 height, 2 width. */
static void write_slice(emitter *e, const coreml_layer *l)
{
    int64_t from = layer_int(l->params, 1, 0), to = layer_int(l->params, 2, 0), step = layer_int(l->params, 3, 1);
    int64_t axis = layer_int(l->params, 4, 0) - 3;
    const value_id inputs[5] = {x_of(l), emit_list(e, &from, 1), emit_list(e, &to, 1), emit_list(e, &axis, 1),
                                emit_list(e, &step, 1)};
    emit_op(e, "Slice", inputs, 5, out(l));
}

static void write_constant_pad(emitter *e, const coreml_layer *l)
{
    int64_t pairs[2 * MAX_RANK], pads[2 * MAX_RANK];
    int count = layer_ints(l->params, 2, pairs, 2 * MAX_RANK);
    if (count <= 0 || count % 2) {
        layer_foreign(e, l);
        return;
    }
    for (int i = 0; i < count / 2; i++) {
        pads[i] = pairs[(size_t)2 * (size_t)i];
        pads[count / 2 + i] = pairs[2 * i + 1];
    }
    emit_2(e, "Pad", x_of(l), emit_list(e, pads, count), out(l));
}

/* Padding of height and width: 10 paddingAmounts (10 borderAmounts). */
static void write_padding(emitter *e, const coreml_layer *l)
{
    int64_t pads[4] = {0};
    wire borders = layer_inner(l->params, 10);
    wire_field f;
    int axis = 0;
    while (wire_next(&borders, &f))
        if (f.number == 10 && axis < 2) {
            pads[axis] = layer_int(wire_message(&borders, &f), 1, 0);
            pads[2 + axis++] = layer_int(wire_message(&borders, &f), 2, 0);
        }
    const value_id inputs[4] = {x_of(l), emit_list(e, pads, 4), NO_VALUE, emit_list(e, (const int64_t[]){-2, -1}, 2)};
    node *n = emit_op(e, "Pad", inputs, 4, out(l));
    if (layer_has(l->params, 2) || layer_has(l->params, 3))
        emit_text(n, "mode", layer_has(l->params, 2) ? STR("reflect") : STR("edge"));
}

static void write_upsample(emitter *e, const coreml_layer *l)
{
    int64_t factors[2];
    bool by_size = l->kind == 211;
    if (layer_ints(l->params, 1, factors, 2) != 2 || factors[0] < 1 || factors[1] < 1) {
        layer_foreign(e, l);
        return;
    }
    const float scales[2] = {(float)factors[0], (float)factors[1]};
    const value_id inputs[4] = {x_of(l), NO_VALUE, by_size ? NO_VALUE : emit_reals(e, scales, 2),
                                by_size ? emit_list(e, factors, 2) : NO_VALUE};
    node *n = emit_op(e, "Resize", inputs, 4, out(l));
    emit_text(n, "mode", by_size || layer_int(l->params, 5, 0) == 1 ? STR("linear") : STR("nearest"));
    emit_ints(e, n, "axes", (const int64_t[]){-2, -1}, 2);
}

static void write_blocks(emitter *e, const coreml_layer *l)
{
    enum { SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE };
    int64_t mode = layer_int(l->params, 1, 0);
    value_id x = x_of(l);
    node *n = emit_op(e, mode == SPACE_TO_DEPTH ? "SpaceToDepth" : "DepthToSpace", &x, 1, out(l));
    emit_int(n, "blocksize", layer_int(l->params, 2, 1));
    if (mode == PIXEL_SHUFFLE)
        emit_text(n, "mode", STR("CRD"));
}

static void write_normalized(emitter *e, const coreml_layer *l)
{
    value_id x = x_of(l);
    node *n = emit_op(e, "MeanVarianceNormalization", &x, 1, out(l));
    bool across = layer_int(l->params, 1, 0) != 0;
    emit_ints(e, n, "axes", (const int64_t[]){-2, -1, -3}, across ? 3 : 2);
}

static void write_reduce(emitter *e, const coreml_layer *l)
{
    static const char *const NAMES[] = {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceLogSum", "ReduceSumSquare",
                                        "ReduceL1",  "ReduceL2",   "ReduceMax",  "ReduceMin"};
    /* CHW, HW, C, H, W */
    static const int64_t AXES[][3] = {{-3, -2, -1}, {-2, -1}, {-3}, {-2}, {-1}};
    static const int COUNTS[] = {3, 2, 1, 1, 1};
    int64_t mode = layer_int(l->params, 1, 0), axis = layer_int(l->params, 3, 0);
    if (mode < 0 || mode > 8 || axis < 0 || axis > 4)
        layer_foreign(e, l);
    else
        emit_reduce(e, NAMES[mode], x_of(l), emit_list(e, AXES[axis], COUNTS[axis]), true, out(l));
}

static void write_static(emitter *e, const coreml_layer *l, const char *canonical, uint32_t field)
{
    int64_t dims[MAX_RANK];
    int count = layer_ints(l->params, field, dims, MAX_RANK);
    if (count >= 0)
        emit_2(e, canonical, x_of(l), emit_list(e, dims, count), out(l));
    else
        layer_foreign(e, l);
}

static void write_top(emitter *e, const coreml_layer *l)
{
    value_id outputs[2] = {out(l), layer_out(l, 1)};
    int64_t k = layer_int(l->params, 2, 1);
    node *n = emit_many(e, "TopK", (const value_id[]){x_of(l), emit_list(e, &k, 1)}, 2, outputs, 2);
    emit_int(n, "axis", layer_int(l->params, 1, -1));
}

static void write_arg(emitter *e, const coreml_layer *l, const char *canonical)
{
    value_id x = x_of(l);
    node *n = emit_op(e, canonical, &x, 1, out(l));
    emit_int(n, "axis", layer_int(l->params, 1, 0));
    emit_int(n, "keepdims", layer_int(l->params, 2, 0) == 0);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Layers of the first versions of the format; operators work on channels, height and width. */
static bool write_first(emitter *e, const coreml_layer *l)
{
    wire p = l->params;
    value_id x = x_of(l);
    switch (l->kind) {
    case 130:
        write_activation(e, l);
        return true;
    case 165:
        write_normalized(e, l);
        return true;
    case 175:
        with_axis(e, l, "Softmax", -3);
        return true;
    case 180:
        emit_int(emit_op(e, "LRN", &x, 1, out(l)), "size", layer_int(p, 3, 1));
        return true;
    case 200:
        write_padding(e, l);
        return true;
    case 210:
    case 211:
        write_upsample(e, l);
        return true;
    case 220:
        write_unary(e, l);
        return true;
    case 230:
        write_sum(e, l, "Add", 0);
        return true;
    case 231:
        write_sum(e, l, "Mul", 1);
        return true;
    case 280:
        write_reduce(e, l);
        return true;
    case 300:
    case 1140:
    case 1150:
        write_reshape(e, l);
        return true;
    case 301:
        emit_reshaped(e, x, (const int64_t[]){0, -1, 1, 1}, l->is_exact ? 2 : 4, out(l));
        return true;
    case 310:
    case 985:
        write_transpose(e, l);
        return true;
    case 320:
        with_axis(e, l, "Concat", layer_int(p, 100, 0) ? 0 : -3);
        return true;
    case 330:
        write_split(e, l, -3, 0);
        return true;
    case 345:
        write_blocks(e, l);
        return true;
    case 350:
        write_slice(e, l);
        return true;
    default:
        return false;
    }
}

/* Layers since version 4 of the specification; operators work on any rank. */
static bool write_later(emitter *e, const coreml_layer *l)
{
    wire p = l->params;
    value_id x = x_of(l);
    switch (l->kind) {
    case 660:
        emit_clip(e, x, layer_real(p, 1, 0), layer_real(p, 2, 0), out(l));
        return true;
    case 795:
        emit_1(e, "Gelu", x, out(l));
        return true;
    case 820:
        emit_1(e, "Not", emit_2(e, "Equal", x, layer_in(l, 1), NO_VALUE), out(l));
        return true;
    case 920:
        write_static(e, l, "Tile", 1);
        return true;
    case 925:
        emit_pack(e, l->in, l->in_count, layer_int(p, 1, 0), out(l));
        return true;
    case 930:
        with_axis(e, l, "Gather", layer_int(p, 1, 0));
        return true;
    case 950:
        with_axis(e, l, "Softmax", layer_int(p, 1, 0));
        return true;
    case 952:
        with_axis(e, l, "GatherElements", layer_int(p, 1, 0));
        return true;
    case 975:
        write_split(e, l, layer_int(p, 1, 0), 3);
        return true;
    case 980:
        with_axis(e, l, "Concat", layer_int(p, 1, 0));
        return true;
    case 995:
        write_slice_static(e, l);
        return true;
    case 1015:
        write_top(e, l);
        return true;
    case 1020:
        write_arg(e, l, "ArgMin");
        return true;
    case 1025:
        write_arg(e, l, "ArgMax");
        return true;
    case 1105:
        write_static(e, l, "Expand", 1);
        return true;
    case 1120:
        write_axes(e, l, "Squeeze");
        return true;
    case 1125:
        write_axes(e, l, "Unsqueeze");
        return true;
    case 1130:
        with_axis(e, l, "Flatten", layer_int(p, 1, 1));
        return true;
    case 1145:
        emit_2(e, "Reshape", x, emit_index_list(e, layer_in(l, 1)), out(l));
        return true;
    case 1155:
        write_constant_pad(e, l);
        return true;
    case 1460:
        emit_clip(e, x, 0, layer_real(p, 2, 6), out(l));
        return true;
    default:
        return false;
    }
}

bool coreml_write_layer(emitter *e, const coreml_layer *l)
{
    return write_plain(e, l) || write_reduction(e, l) || write_first(e, l) || write_later(e, l);
}
