/* hlo_ops.c: maps operators of StableHLO, CHLO and HLO to canonical ones, one row each. Products are in hlo_dot.c,
 * windows and reductions in hlo_window.c, gathers and scatters in hlo_index.c, control flow in hlo_control.c.
 * Operators without a row keep their name under the domain "stablehlo" and the file's types. */
#include "front/hlo/hlo_map.h"

static value_id in_at(hlo_writer *w, const hlo_op *o, int32_t i)
{
    return i < o->operand_count ? hlo_in(w, o->operands[i]) : NO_VALUE;
}

void hlo_foreign(hlo_writer *w, const hlo_op *o)
{
    builder *b = w->e.b;
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, (size_t)o->operand_count + 1);
    value_id *outputs = ARENA_ARRAY(b->arena, value_id, (size_t)o->result_count + 1);
    int count = 0, output_count = 0;
    for (int32_t i = 0; i < o->operand_count; i++) {
        inputs[count] = hlo_in(w, o->operands[i]);
        count += inputs[count] != NO_VALUE;
    }
    for (int32_t i = 0; i < o->result_count; i++) {
        hlo_value v = o->first_result + i;
        const hlo_type *t = hlo_type_of(w, v);
        if (t->elements) { /* an HLO operator with several results has a tuple */
            hlo_bound *elements = ARENA_ARRAY(b->arena, hlo_bound, (size_t)t->element_count + 1);
            for (int32_t k = 0; k < t->element_count; k++) {
                value_id id = emit_temp(&w->e);
                if (t->elements[k].rank >= 0)
                    build_type(b, id, t->elements[k].dtype, t->elements[k].rank, t->elements[k].dims);
                elements[k] = (hlo_bound){.kind = HLO_PLAIN, .id = id, .shape = NO_VALUE, .whole = NO_VALUE};
            }
            outputs = ARENA_ARRAY(b->arena, value_id, (size_t)t->element_count + 1);
            for (output_count = 0; output_count < t->element_count; output_count++)
                outputs[output_count] = elements[output_count].id;
            hlo_bind_as(
                w, v,
                (hlo_bound){
                    .kind = HLO_TUPLE, .id = NO_VALUE, .elements = elements, .element_count = t->element_count});
        } else if (t->rank < 0 && t->dtype == DT_UNKNOWN) {
            hlo_bind_as(w, v, (hlo_bound){.kind = HLO_NOTHING, .id = NO_VALUE});
        } else {
            outputs[output_count] = hlo_result(w, v);
            hlo_bind(w, v, outputs[output_count++]);
        }
    }
    str type = str_is(o->name, "custom_call") && o->callee.len ? o->callee : o->name;
    if (count || output_count)
        emit_foreign(&w->e, STR("stablehlo"), arena_str(b->arena, type), inputs, count, outputs, output_count);
}

/* ---- the same tensor --------------------------------------------------------------------------------------------- */

void hlo_map_same(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    for (int32_t i = 0; i < o->result_count && i < o->operand_count; i++) {
        hlo_bound same = *hlo_bound_of(w, o->operands[i]);
        hlo_bind_as(w, o->first_result + i, same);
    }
}

static void map_nothing(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    for (int32_t i = 0; i < o->result_count; i++)
        hlo_bind_as(w, o->first_result + i, (hlo_bound){.kind = HLO_NOTHING, .id = NO_VALUE});
}

static void map_tuple(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    hlo_bound *elements = ARENA_ARRAY(w->e.b->arena, hlo_bound, (size_t)o->operand_count + 1);
    for (int32_t i = 0; i < o->operand_count; i++) {
        elements[i] = *hlo_bound_of(w, o->operands[i]);
        bool is_view = elements[i].kind == HLO_PERMUTED || elements[i].kind == HLO_BROADCAST ||
                       elements[i].kind == HLO_SQUEEZED || elements[i].kind == HLO_SPLIT;
        if (is_view) /* the element's readers need the tensor itself */
            elements[i] =
                (hlo_bound){.kind = HLO_PLAIN, .id = hlo_in(w, o->operands[i]), .shape = NO_VALUE, .whole = NO_VALUE};
    }
    hlo_bind_as(
        w, o->first_result,
        (hlo_bound){.kind = HLO_TUPLE, .id = NO_VALUE, .elements = elements, .element_count = o->operand_count});
}

static void map_tuple_element(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    const hlo_bound *b = o->operand_count ? hlo_bound_of(w, o->operands[0]) : NULL;
    int64_t index = hlo_int(o, "index", "list", 0);
    if (b && b->kind == HLO_TUPLE && index >= 0 && index < b->element_count)
        hlo_bind_as(w, o->first_result, b->elements[index]);
    else
        hlo_foreign(w, o);
}

static void map_constant(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    builder *b = w->e.b;
    const tensor *t = o->constant;
    const hlo_type *type = hlo_type_of(w, o->first_result);
    if (!t) {
        hlo_foreign(w, o);
        return;
    }
    bool is_same = t->encoding == TENSOR_RAW && t->rank > 0;
    size_t bytes = (size_t)dtype_bits(t->dtype) / 8;
    for (size_t i = bytes; is_same && i < t->size; i++)
        is_same = t->bytes[i] == t->bytes[i - bytes];
    bool is_one = true;
    for (int i = 0; i < t->rank; i++)
        is_one &= t->dims[i] == 1;
    if (is_same && !is_one) { /* one number for all elements */
        tensor *single = ARENA_NEW(b->arena, tensor);
        *single = *t;
        single->rank = 0;
        single->size = bytes;
        single->stored_bytes = (int64_t)bytes;
        value_id id = emit_temp(&w->e);
        build_constant(b, id, single);
        build_at(b, id)->is_constant_node = true;
        hlo_bind_as(
            w, o->first_result,
            (hlo_bound){.kind = HLO_BROADCAST, .id = id, .repeated = UINT64_MAX, .shape = NO_VALUE, .whole = NO_VALUE});
        return;
    }
    value_id id = hlo_result(w, o->first_result);
    build_constant(b, id, t);
    /* Arrays are parameters; single numbers are not. */
    bool is_weight = dtype_is_float(type->dtype) && type->rank > 0 && !is_one;
    build_at(b, id)->is_constant_node = !is_weight;
    hlo_bind(w, o->first_result, id);
    hlo_bound_of(w, o->first_result)->is_weight = is_weight && t->encoding != TENSOR_RAW;
}

/* Variables of other dialects, which stand for weights stored elsewhere. */
static void map_global(hlo_writer *w, const hlo_op *o, const char *unused)
{
    int64_t dims[MAX_RANK];
    (void)unused;
    const hlo_type *t = o->result_count ? hlo_type_of(w, o->first_result) : NULL;
    if (!t || t->rank < 0 || !hlo_static_dims(t, dims)) {
        map_nothing(w, o, NULL);
        return;
    }
    str name =
        arena_printf(w->e.b->arena, "%.*s%.*s", STR_ARG(w->prefix), STR_ARG(hlo_at(w->m, o->first_result)->name));
    hlo_bind(w, o->first_result, emit_weight(&w->e, name, t->dtype, t->rank, dims));
    hlo_bound_of(w, o->first_result)->is_weight = true;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

static void map_concatenate(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id *inputs = ARENA_ARRAY(w->e.b->arena, value_id, (size_t)o->operand_count + 1);
    for (int32_t i = 0; i < o->operand_count; i++)
        inputs[i] = hlo_in(w, o->operands[i]);
    node *n = emit_op(&w->e, canonical, inputs, o->operand_count, hlo_result(w, o->first_result));
    emit_int(n, "axis", hlo_int(o, "dimension", "dim", hlo_int(o, "dimensions", "", 0)));
    hlo_bind(w, o->first_result, n->outputs[0]);
}

static void map_slice(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    int64_t starts[MAX_RANK], limits[MAX_RANK], strides[MAX_RANK], axes[MAX_RANK];
    emitter *e = &w->e;
    const hlo_type *t = hlo_type_of(w, o->operands[0]);
    int count = hlo_ints(o, "start_indices", "", starts, MAX_RANK), kept = 0;
    int steps = hlo_ints(o, "strides", "", strides, MAX_RANK);
    if (count < 0 || count != t->rank || hlo_ints(o, "limit_indices", "", limits, MAX_RANK) != count) {
        hlo_foreign(w, o);
        return;
    }
    for (int i = 0; i < count; i++) {
        int64_t step = steps == count ? strides[i] : 1;
        if (starts[i] == 0 && step == 1 && limits[i] == t->dims[i])
            continue;
        starts[kept] = starts[i];
        limits[kept] = limits[i];
        strides[kept] = step;
        axes[kept++] = i;
    }
    value_id x = hlo_in(w, o->operands[0]);
    if (!kept) {
        hlo_bind(w, o->first_result, x);
        return;
    }
    value_id inputs[] = {x, emit_list(e, starts, kept), emit_list(e, limits, kept), emit_list(e, axes, kept),
                         emit_list(e, strides, kept)};
    hlo_bind(w, o->first_result, emit_op(e, canonical, inputs, 5, hlo_result(w, o->first_result))->outputs[0]);
}

/* Inputs: x, starts, limits, strides as values. */
static void map_real_dynamic_slice(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    emitter *e = &w->e;
    int64_t axes[MAX_RANK];
    int rank = hlo_type_of(w, o->operands[0])->rank;
    if (o->operand_count != 4 || rank < 0) {
        hlo_foreign(w, o);
        return;
    }
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    value_id inputs[5] = {in_at(w, o, 0)};
    for (int i = 1; i < 3; i++)
        inputs[i] = emit_index(e, in_at(w, o, i));
    inputs[3] = emit_list(e, axes, rank);
    inputs[4] = emit_index(e, in_at(w, o, 3));
    hlo_bind(w, o->first_result, emit_op(e, canonical, inputs, 5, hlo_result(w, o->first_result))->outputs[0]);
}

/* Negative pads crop. ONNX has no operator for interior padding. */
static void map_pad(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    int64_t low[MAX_RANK], high[MAX_RANK], interior[MAX_RANK], pads[2 * MAX_RANK];
    int count = hlo_ints(o, "edge_padding_low", "low", low, MAX_RANK);
    bool is_plain =
        count >= 0 && hlo_ints(o, "edge_padding_high", "high", high, MAX_RANK) == count && o->operand_count == 2;
    int gaps = hlo_ints(o, "interior_padding", "interior", interior, MAX_RANK);
    for (int i = 0; i < gaps; i++)
        is_plain &= interior[i] == 0;
    if (!is_plain) {
        hlo_foreign(w, o);
        return;
    }
    for (int i = 0; i < count; i++) {
        pads[i] = low[i];
        pads[count + i] = high[i];
    }
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_list(&w->e, pads, 2 * count), hlo_operand(w, o->operands[1])};
    hlo_bind(w, o->first_result, emit_op(&w->e, canonical, inputs, 3, hlo_result(w, o->first_result))->outputs[0]);
}

/* Inputs: x, value, low, high, interior as values. */
static void map_dynamic_pad(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (o->operand_count != 5) {
        hlo_foreign(w, o);
        return;
    }
    value_id parts[] = {emit_index(&w->e, in_at(w, o, 2)), emit_index(&w->e, in_at(w, o, 3))};
    node *pads = emit_op(&w->e, "Concat", parts, 2, NO_VALUE);
    emit_int(pads, "axis", 0);
    value_id inputs[] = {in_at(w, o, 0), pads->outputs[0], hlo_operand(w, o->operands[1])};
    hlo_bind(w, o->first_result, emit_op(&w->e, canonical, inputs, 3, hlo_result(w, o->first_result))->outputs[0]);
}

static void map_reverse(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    int64_t axes[MAX_RANK];
    int count = hlo_ints(o, "dimensions", "dims", axes, MAX_RANK);
    if (count < 0) {
        hlo_foreign(w, o);
        return;
    }
    value_id y = hlo_result(w, o->first_result), x = hlo_in(w, o->operands[0]);
    emit_reverse(&w->e, x, emit_list(&w->e, axes, count), y);
    hlo_bind(w, o->first_result, y);
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

/* Sorts the first operand and reorders the others in the same way. */
static void map_sort(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    emitter *e = &w->e;
    int64_t axis = hlo_int(o, "dimension", "dimensions", -1);
    const hlo_type *t = o->operand_count ? hlo_type_of(w, o->operands[0]) : NULL;
    axis = t && axis < 0 ? axis + t->rank : axis;
    if (!t || t->rank < 1 || axis < 0 || axis >= t->rank || !dim_known(t->dims[axis]) ||
        o->result_count != o->operand_count) {
        hlo_foreign(w, o);
        return;
    }
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_list(e, &t->dims[axis], 1)};
    value_id outputs[] = {hlo_result(w, o->first_result), o->operand_count > 1 ? emit_temp(e) : NO_VALUE};
    emit_int(emit_many(e, canonical, inputs, 2, outputs, 2), "axis", axis);
    hlo_bind(w, o->first_result, outputs[0]);
    for (int32_t i = 1; i < o->operand_count; i++) {
        value_id x = hlo_in(w, o->operands[i]), y = hlo_result(w, o->first_result + i);
        emit_int(emit_op(e, "GatherElements", (const value_id[]){x, outputs[1]}, 2, y), "axis", axis);
        hlo_bind(w, o->first_result + i, y);
    }
}

static void map_top_k(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    emitter *e = &w->e;
    int64_t k = hlo_int(o, "k", "", -1);
    const hlo_type *t = hlo_type_of(w, o->first_result);
    if (k < 0 && t->rank > 0)
        k = t->dims[t->rank - 1];
    if (o->result_count != 2 || o->operand_count < 1 || k < 0) {
        hlo_foreign(w, o);
        return;
    }
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_list(e, &k, 1)};
    value_id outputs[] = {hlo_result(w, o->first_result), emit_temp(e)};
    emit_int(emit_many(e, canonical, inputs, 2, outputs, 2), "axis", -1);
    hlo_bind(w, o->first_result, outputs[0]);
    hlo_bind(w, o->first_result + 1,
             emit_cast(e, outputs[1], hlo_type_of(w, o->first_result + 1)->dtype, hlo_result(w, o->first_result + 1)));
}

static void map_random(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    int64_t dims[MAX_RANK];
    const hlo_type *t = hlo_type_of(w, o->first_result);
    if (!hlo_static_dims(t, dims)) {
        hlo_foreign(w, o);
        return;
    }
    node *n = emit_op(&w->e, canonical, NULL, 0, hlo_result(w, o->first_result));
    emit_ints(&w->e, n, "shape", dims, t->rank);
    emit_int(n, "dtype", t->dtype);
    hlo_bind(w, o->first_result, n->outputs[0]);
}

/* Inputs: x, scale, offset, mean, variance. */
static void map_batch_norm(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id inputs[5];
    int64_t axis = hlo_int(o, "feature_index", "", 1);
    int rank = hlo_type_of(w, o->operands[0])->rank;
    if (o->operand_count != 5 || (axis != 1 && axis != rank - 1)) {
        hlo_foreign(w, o);
        return;
    }
    for (int i = 0; i < 5; i++)
        inputs[i] = hlo_in(w, o->operands[i]);
    node *n = emit_op(&w->e, canonical, inputs, 5, hlo_result(w, o->first_result));
    if (axis != 1)
        emit_int(n, "channels_last", 1);
    hlo_bind(w, o->first_result, n->outputs[0]);
}

static void map_quantize(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_scalar(&w->e, DT_FLOAT32, 1)};
    node *n = emit_op(&w->e, canonical, inputs, 2, hlo_result(w, o->first_result));
    if (canonical[0] == 'Q')
        emit_int(n, "output_dtype", hlo_type_of(w, o->first_result)->dtype);
    hlo_bind(w, o->first_result, n->outputs[0]);
}

static void map_index_select(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (o->operand_count != 2 || hlo_int(o, "batch_dims", "", 0) != 0) {
        hlo_foreign(w, o);
        return;
    }
    value_id inputs[] = {hlo_in(w, o->operands[0]), hlo_in(w, o->operands[1])};
    node *n = emit_op(&w->e, canonical, inputs, 2, hlo_result(w, o->first_result));
    emit_int(n, "axis", hlo_int(o, "dim", "", 0));
    hlo_bind(w, o->first_result, n->outputs[0]);
}

static void map_bitcast(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    const hlo_type *from = hlo_type_of(w, o->operands[0]), *to = hlo_type_of(w, o->first_result);
    if (dtype_bits(from->dtype) != dtype_bits(to->dtype)) {
        hlo_foreign(w, o);
        return;
    }
    if (from->dtype == to->dtype) {
        hlo_map_reshape(w, o, NULL);
        return;
    }
    emit_int(hlo_write_pointwise(w, o, canonical), "to", to->dtype);
}

static void map_custom_call(hlo_writer *w, const hlo_op *o, const char *unused)
{
    static const struct {
        const char *target;
        hlo_mapper *map;
        const char *canonical;
    } TARGETS[] = {
        {"Sharding", hlo_map_same, NULL},
        {"annotate_device_placement", hlo_map_same, NULL},
        {"SPMDFullToShardShape", hlo_map_same, NULL},
        {"SPMDShardToFullShape", hlo_map_same, NULL},
        {"LayoutConstraint", hlo_map_same, NULL},
        {"shape_assertion", map_nothing, NULL},
        {"mhlo.erf", hlo_map_pointwise, "Erf"},
        {"mhlo.topk", map_top_k, "TopK"},
        {"mhlo.tan", hlo_map_pointwise, "Tan"},
        {"mhlo.asin", hlo_map_pointwise, "Asin"},
        {"mhlo.acos", hlo_map_pointwise, "Acos"},
        {"mhlo.sinh", hlo_map_pointwise, "Sinh"},
        {"mhlo.cosh", hlo_map_pointwise, "Cosh"},
        {"mhlo.asinh", hlo_map_pointwise, "Asinh"},
        {"mhlo.acosh", hlo_map_pointwise, "Acosh"},
        {"mhlo.atanh", hlo_map_pointwise, "Atanh"},
    };
    (void)unused;
    str target = o->callee;
    const hlo_attr *named = hlo_attr_of(o, "call_target_name", "custom_call_target");
    if (!target.len && named)
        target = named->text;
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++)
        if (str_is(target, TARGETS[i].target)) {
            TARGETS[i].map(w, o, TARGETS[i].canonical);
            return;
        }
    if (str_starts(target, "check.")) {
        map_nothing(w, o, NULL);
        return;
    }
    hlo_op with_target = *o;
    with_target.callee = target;
    hlo_foreign(w, &with_target);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define OR_FOREIGN(name, function)                                                                                     \
    static void name(hlo_writer *w, const hlo_op *o, const char *unused)                                               \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        if (!function(w, o))                                                                                           \
            hlo_foreign(w, o);                                                                                         \
    }
OR_FOREIGN(map_dot, hlo_map_dot)
OR_FOREIGN(map_convolution, hlo_map_convolution)
OR_FOREIGN(map_reduce_window, hlo_map_reduce_window)
OR_FOREIGN(map_reduce, hlo_map_reduce)
OR_FOREIGN(map_gather, hlo_map_gather)
OR_FOREIGN(map_scatter, hlo_map_scatter)
OR_FOREIGN(map_dynamic_slice, hlo_map_dynamic_slice)
OR_FOREIGN(map_dynamic_update_slice, hlo_map_dynamic_update_slice)
OR_FOREIGN(map_while, hlo_map_while)
OR_FOREIGN(map_case, hlo_map_case)

static void map_call(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    hlo_map_call(w, o);
}

/* Minimum number of operands that a mapping needs. */
static const struct {
    const char *name;
    hlo_mapper *map;
    const char *canonical;
    int operands;
} OPERATORS[] = {
    {"abs", hlo_map_abs, "Abs", 1},
    {"acos", hlo_map_pointwise, "Acos", 1},
    {"acosh", hlo_map_pointwise, "Acosh", 1},
    {"add", hlo_map_add, "Add", 2},
    {"after_all", map_nothing, NULL, 0},
    {"and", hlo_map_logical, "BitwiseAnd", 2},
    {"asin", hlo_map_pointwise, "Asin", 1},
    {"asinh", hlo_map_pointwise, "Asinh", 1},
    {"atan", hlo_map_pointwise, "Atan", 1},
    {"atan2", hlo_map_special, NULL, 2},
    {"atanh", hlo_map_pointwise, "Atanh", 1},
    {"batch_norm_inference", map_batch_norm, "BatchNormalization", 5},
    {"bessel_i1e", hlo_map_special, NULL, 1},
    {"bitcast", map_bitcast, "BitCast", 1},
    {"bitcast_convert", map_bitcast, "BitCast", 1},
    {"broadcast", hlo_map_broadcast, NULL, 1},
    {"broadcast_in_dim", hlo_map_broadcast, NULL, 1},
    {"call", map_call, NULL, 0},
    {"case", map_case, NULL, 1},
    {"cbrt", hlo_map_cbrt, "Pow", 1},
    {"ceil", hlo_map_pointwise, "Ceil", 1},
    {"check.expect_almost_eq", map_nothing, NULL, 0},
    {"check.expect_almost_eq_const", map_nothing, NULL, 0},
    {"check.expect_eq", map_nothing, NULL, 0},
    {"check.expect_eq_const", map_nothing, NULL, 0},
    {"clamp", hlo_map_clamp, "Clip", 3},
    {"compare", hlo_map_compare, NULL, 2},
    {"composite", map_call, NULL, 0},
    {"concatenate", map_concatenate, "Concat", 1},
    {"conditional", map_case, NULL, 1},
    {"constant", map_constant, NULL, 0},
    {"convert", hlo_map_convert, NULL, 1},
    {"convolution", map_convolution, NULL, 2},
    {"copy", hlo_map_same, NULL, 1},
    {"cosh", hlo_map_pointwise, "Cosh", 1},
    {"cosine", hlo_map_pointwise, "Cos", 1},
    {"create_token", map_nothing, NULL, 0},
    {"custom_call", map_custom_call, NULL, 0},
    {"digamma", hlo_map_special, NULL, 1},
    {"divide", hlo_map_quotient, "Div", 2},
    {"dot", map_dot, NULL, 2},
    {"dot_general", map_dot, NULL, 2},
    {"dynamic_broadcast_in_dim", hlo_map_broadcast, NULL, 2},
    {"dynamic_gather", map_gather, NULL, 3},
    {"dynamic_iota", hlo_map_iota, NULL, 1},
    {"dynamic_pad", map_dynamic_pad, "Pad", 5},
    {"dynamic_reshape", hlo_map_reshape, NULL, 2},
    {"dynamic_slice", map_dynamic_slice, NULL, 1},
    {"dynamic_update_slice", map_dynamic_update_slice, NULL, 2},
    {"erf", hlo_map_pointwise, "Erf", 1},
    {"erf_inv", hlo_map_special, NULL, 1},
    {"erfc", hlo_map_erfc, NULL, 1},
    {"exponential", hlo_map_pointwise, "Exp", 1},
    {"exponential_minus_one", hlo_map_expm1, NULL, 1},
    {"floor", hlo_map_pointwise, "Floor", 1},
    {"fusion", map_call, NULL, 0},
    {"gather", map_gather, NULL, 2},
    {"get_dimension_size", hlo_map_dimension_size, NULL, 1},
    {"get_tuple_element", map_tuple_element, NULL, 1},
    {"if", map_case, NULL, 1},
    {"iota", hlo_map_iota, NULL, 0},
    {"is_finite", hlo_map_pointwise, "IsInf", 1},
    {"is_inf", hlo_map_pointwise, "IsInf", 1},
    {"is_neg_inf", hlo_map_pointwise, "IsInf", 1},
    {"is_pos_inf", hlo_map_pointwise, "IsInf", 1},
    {"lgamma", hlo_map_special, NULL, 1},
    {"log", hlo_map_pointwise, "Log", 1},
    {"log_plus_one", hlo_map_log1p, NULL, 1},
    {"logistic", hlo_map_pointwise, "Sigmoid", 1},
    {"maximum", hlo_map_max_min, "Max", 2},
    {"minimum", hlo_map_max_min, "Min", 2},
    {"ml_program.global_load", map_global, NULL, 0},
    {"ml_program.global_store", map_nothing, NULL, 0},
    {"multiply", hlo_map_quotient, "Mul", 2},
    {"negate", hlo_map_pointwise, "Neg", 1},
    {"next_after", hlo_map_special, NULL, 2},
    {"not", hlo_map_logical, "BitwiseNot", 1},
    {"optimization_barrier", hlo_map_same, NULL, 1},
    {"or", hlo_map_logical, "BitwiseOr", 2},
    {"pad", map_pad, "Pad", 2},
    {"polygamma", hlo_map_special, NULL, 2},
    {"popcnt", hlo_map_special, NULL, 1},
    {"power", hlo_map_pointwise, "Pow", 2},
    {"real_dynamic_slice", map_real_dynamic_slice, "Slice", 4},
    {"reduce", map_reduce, NULL, 2},
    {"reduce_precision", hlo_map_same, NULL, 1},
    {"reduce_window", map_reduce_window, NULL, 2},
    {"remainder", hlo_map_remainder, "Mod", 2},
    {"reshape", hlo_map_reshape, NULL, 1},
    {"reverse", map_reverse, NULL, 1},
    {"rng", map_random, "RandomUniform", 0},
    {"round_nearest_afz", hlo_map_pointwise, "Round", 1},
    {"round_nearest_even", hlo_map_pointwise, "Round", 1},
    {"rsqrt", hlo_map_rsqrt, "Reciprocal", 1},
    {"scatter", map_scatter, NULL, 3},
    {"select", hlo_map_select, "Where", 3},
    {"shift_left", hlo_map_shift, "LEFT", 2},
    {"shift_right_arithmetic", hlo_map_shift, "RIGHT", 2},
    {"shift_right_logical", hlo_map_shift, "RIGHT", 2},
    {"sign", hlo_map_pointwise, "Sign", 1},
    {"sine", hlo_map_pointwise, "Sin", 1},
    {"sinh", hlo_map_pointwise, "Sinh", 1},
    {"slice", map_slice, "Slice", 1},
    {"sort", map_sort, "TopK", 1},
    {"sqrt", hlo_map_pointwise, "Sqrt", 1},
    {"square", hlo_map_square, "Mul", 1},
    {"subtract", hlo_map_pointwise, "Sub", 2},
    {"tan", hlo_map_pointwise, "Tan", 1},
    {"tanh", hlo_map_pointwise, "Tanh", 1},
    {"tensor.cast", hlo_map_same, NULL, 1},
    {"top_k", map_top_k, "TopK", 1},
    {"torch_index_select", map_index_select, "Gather", 2},
    {"transpose", hlo_map_transpose, NULL, 1},
    {"tuple", map_tuple, NULL, 0},
    {"uniform_dequantize", map_quantize, "DequantizeLinear", 1},
    {"uniform_quantize", map_quantize, "QuantizeLinear", 1},
    {"util.global.address", map_nothing, NULL, 0},
    {"util.global.load", map_global, NULL, 0},
    {"util.global.load.indirect", map_global, NULL, 0},
    {"util.global.store", map_nothing, NULL, 0},
    {"util.optimization_barrier", hlo_map_same, NULL, 1},
    {"while", map_while, NULL, 0},
    {"xor", hlo_map_logical, "BitwiseXor", 2},
    {"zeta", hlo_map_special, NULL, 2},
};

/* True if all results are tensors with types, without which nothing can be inferred. */
static bool has_tensors(hlo_writer *w, const hlo_op *o)
{
    for (int32_t i = 0; i < o->operand_count; i++)
        if (hlo_bound_of(w, o->operands[i])->kind == HLO_NOTHING)
            return false;
    return true;
}

void hlo_map(hlo_writer *w, const hlo_op *o)
{
    size_t low = 0, high = sizeof OPERATORS / sizeof *OPERATORS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        str name = str_of(OPERATORS[middle].name);
        int order = memcmp(o->name.ptr, name.ptr, o->name.len < name.len ? o->name.len : name.len);
        if (order == 0)
            order = (o->name.len > name.len) - (o->name.len < name.len);
        if (order == 0) {
            bool needs_result = OPERATORS[middle].map != map_nothing && OPERATORS[middle].map != map_call &&
                                OPERATORS[middle].map != map_custom_call && OPERATORS[middle].map != map_while &&
                                OPERATORS[middle].map != map_case;
            bool moves = OPERATORS[middle].map == map_tuple || OPERATORS[middle].map == hlo_map_same ||
                         OPERATORS[middle].map == map_global || !needs_result;
            if (o->operand_count < OPERATORS[middle].operands || (needs_result && o->result_count == 0) ||
                (!moves && !has_tensors(w, o)))
                hlo_foreign(w, o);
            else
                OPERATORS[middle].map(w, o, OPERATORS[middle].canonical);
            return;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    hlo_foreign(w, o);
}
