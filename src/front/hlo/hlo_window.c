/* hlo_window.c: maps convolutions, reductions, and reductions over windows. */
#include "front/hlo/hlo.h"

/* ---- convolution ------------------------------------------------------------------------------------------------- */

typedef struct layout {
    int64_t first, second; /* batch and feature dimension; of a kernel, output and input feature dimension */
    int64_t spatial[HLO_FEW];
    int rank;
} layout;

static bool read_layout(const hlo_op *o, const char *first, const char *second, const char *spatial, int rank,
                        layout *l)
{
    l->first = hlo_int(o, first, "", -1);
    l->second = hlo_int(o, second, "", -1);
    l->rank = rank;
    bool is_used[HLO_FEW] = {false};
    if (rank < 3 || rank > 5 || hlo_ints(o, spatial, "", l->spatial, HLO_FEW) != rank - 2)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t at = i == 0 ? l->first : i == 1 ? l->second : l->spatial[i - 2];
        if (at < 0 || at >= rank || is_used[at])
            return false;
        is_used[at] = true;
    }
    return true;
}

/* Returns the order (first, second, spatial), or with the second one at the end. */
static void order_of(const layout *l, bool is_last, int64_t *perm)
{
    perm[0] = l->first;
    perm[is_last ? l->rank - 1 : 1] = l->second;
    for (int i = 0; i < l->rank - 2; i++)
        perm[(is_last ? 1 : 2) + i] = l->spatial[i];
}

static bool is_identity(const int64_t *perm, int rank)
{
    for (int i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

static value_id permuted(hlo_writer *w, hlo_value v, const int64_t *perm, int rank)
{
    if (is_identity(perm, rank))
        return hlo_in(w, v);
    if (hlo_is_weight(w, v))
        return emit_permuted(&w->e, hlo_in(w, v), perm, rank);
    return emit_transpose(&w->e, hlo_in(w, v), perm, rank, NO_VALUE);
}

/* Reads one number per axis, or `otherwise` for all if the attribute is absent. */
static bool axis_numbers(const hlo_op *o, const char *name, const char *other, int axes, int64_t otherwise, int64_t *to)
{
    const hlo_attr *a = hlo_attr_of(o, name, other);
    for (int i = 0; i < axes; i++)
        to[i] = otherwise;
    if (!a || a->count == 0)
        return true;
    return hlo_ints(o, name, other, to, axes) == axes;
}

/* Maps a convolution with zeros between input elements, which is a transposed convolution with that stride. */
static bool write_transposed(hlo_writer *w, const hlo_op *o, value_id x, emit_window *window, const int64_t *spread,
                             const layout *kernel, value_id output)
{
    int64_t perm[HLO_FEW] = {0}, out_pads[3];
    hlo_value k = o->operands[1];
    const hlo_type *t = hlo_type_of(w, k);
    if (window->group != 1)
        return false;
    for (int i = 0; i < window->axes; i++) {
        int64_t size = t->dims[kernel->spatial[i]], reach;
        if (window->strides[i] != 1 || !dim_known(size) ||
            __builtin_mul_overflow(window->dilations[i], size - 1, &reach))
            return false;
        /* At the end, padding beyond the kernel's reach enlarges the output. */
        int64_t low = reach - window->pads[i], high = reach - window->pads[window->axes + i];
        out_pads[i] = low < 0 || high >= 0 ? 0 : -high;
        window->pads[i] = low;
        window->pads[window->axes + i] = high > 0 ? high : 0;
        window->strides[i] = spread[i];
        if (low < 0)
            return false;
    }
    /* Canonical order: (input features, output features, kernel…). */
    perm[0] = kernel->second;
    perm[1] = kernel->first;
    for (int i = 0; i < window->axes; i++)
        perm[2 + i] = kernel->spatial[i];
    node *n = emit_conv(&w->e, "ConvTranspose", x, permuted(w, k, perm, kernel->rank), NO_VALUE, window, output);
    bool is_more = false;
    for (int i = 0; i < window->axes; i++)
        is_more |= out_pads[i] != 0;
    if (is_more)
        emit_ints(&w->e, n, "output_padding", out_pads, window->axes);
    return true;
}

bool hlo_map_convolution(hlo_writer *w, const hlo_op *o)
{
    layout in, kernel, out;
    int rank = hlo_type_of(w, o->operands[0])->rank;
    int64_t perm[HLO_FEW] = {0}, spread[3], pads[6];
    if (!read_layout(o, "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", rank, &in) ||
        !read_layout(o, "kernel_output_feature_dimension", "kernel_input_feature_dimension",
                     "kernel_spatial_dimensions", hlo_type_of(w, o->operands[1])->rank, &kernel) ||
        !read_layout(o, "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions",
                     hlo_type_of(w, o->first_result)->rank, &out) ||
        in.rank != kernel.rank || in.rank != out.rank || hlo_int(o, "batch_group_count", "", 1) != 1)
        return false;
    emit_window window = {.axes = rank - 2, .padding = EMIT_PADS, .group = hlo_int(o, "feature_group_count", "", 1)};
    if (!axis_numbers(o, "window_strides", "stride", window.axes, 1, window.strides) ||
        !axis_numbers(o, "rhs_dilation", "rhs_dilate", window.axes, 1, window.dilations) ||
        !axis_numbers(o, "lhs_dilation", "lhs_dilate", window.axes, 1, spread) ||
        !axis_numbers(o, "padding", "pad", 2 * window.axes, 0, pads))
        return false;
    bool is_spread = false;
    for (int i = 0; i < window.axes; i++) {
        window.pads[i] = pads[2 * i];
        window.pads[window.axes + i] = pads[2 * i + 1];
        is_spread |= spread[i] > 1;
        if (window.strides[i] < 1 || window.dilations[i] < 1 || spread[i] < 1)
            return false;
    }
    /* A reversed window costs nothing, so it is ignored. An input that is neither channels-first nor channels-last
     * is transposed. */
    order_of(&in, true, perm);
    window.channels_first = !is_identity(perm, rank);
    order_of(&in, !window.channels_first, perm);
    if (window.group < 1)
        return false;
    value_id x = permuted(w, o->operands[0], perm, rank);
    int64_t *back = ARENA_ARRAY(w->e.b->arena, int64_t, HLO_FEW);
    int64_t order[HLO_FEW];
    order_of(&out, !window.channels_first, order);
    for (int i = 0; i < rank; i++)
        back[order[i]] = i;
    bool is_direct = is_identity(back, rank);
    value_id y = is_direct ? hlo_result(w, o->first_result) : emit_temp(&w->e);
    if (is_spread) {
        if (!write_transposed(w, o, x, &window, spread, &kernel, y))
            return false;
    } else {
        order_of(&kernel, false, perm);
        dtype type = hlo_type_of(w, o->operands[0])->dtype, wide = hlo_type_of(w, o->first_result)->dtype;
        bool is_integer = dtype_is_integer(type) && dtype_bits(type) == 8 && wide == DT_INT32;
        emit_conv(&w->e, is_integer ? "ConvInteger" : "Conv", x, permuted(w, o->operands[1], perm, rank), NO_VALUE,
                  &window, y);
    }
    if (is_direct)
        hlo_bind(w, o->first_result, y);
    else
        hlo_bind_as(w, o->first_result,
                    (hlo_bound){.kind = HLO_PERMUTED, .id = y, .perm = back, .shape = NO_VALUE, .whole = NO_VALUE});
    return true;
}

/* ---- reductions over windows ------------------------------------------------------------------------------------- */

/* A running sum is a window over all preceding elements. */
static bool map_running(hlo_writer *w, const hlo_op *o, const int64_t *size, const int64_t *pads,
                        const int64_t *strides)
{
    str combiner = hlo_combiner(o);
    const hlo_type *t = hlo_type_of(w, o->operands[0]);
    int axis = -1;
    const char *op = str_is(combiner, "add") ? "CumSum" : str_is(combiner, "multiply") ? "CumProd" : NULL;
    bool is_reversed = false;
    for (int i = 0; i < t->rank; i++) {
        if (size[i] == 1 && pads[2 * i] == 0 && pads[2 * i + 1] == 0 && strides[i] == 1)
            continue;
        bool before = pads[2 * i] == size[i] - 1 && pads[2 * i + 1] == 0;
        bool behind = pads[2 * i + 1] == size[i] - 1 && pads[2 * i] == 0;
        if (axis >= 0 || size[i] != t->dims[i] || strides[i] != 1 || (!before && !behind))
            return false;
        is_reversed = behind && !before;
        axis = i;
    }
    if (axis < 0 || !op)
        return false;
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_number(&w->e, axis)};
    node *n = emit_op(&w->e, op, inputs, 2, hlo_result(w, o->first_result));
    if (is_reversed)
        emit_int(n, "reverse", 1);
    hlo_bind(w, o->first_result, n->outputs[0]);
    return true;
}

/* Maps a mean: a sum over windows, divided by their size. Writes the division's result. */
static bool is_mean(hlo_writer *w, const hlo_op *o, int64_t elements)
{
    const hlo_value_info *v = hlo_at(w->m, o->first_result);
    double x;
    return v->uses == 1 && str_is(v->user->name, "divide") && v->user->operands[0] == o->first_result &&
           hlo_scalar_ahead(w, v->user->operands[1], &x) && x == (double)elements;
}

bool hlo_map_reduce_window(hlo_writer *w, const hlo_op *o)
{
    const hlo_type *t = hlo_type_of(w, o->operands[0]);
    str combiner = hlo_combiner(o);
    int64_t size[HLO_FEW] = {0}, strides[HLO_FEW] = {0}, dilations[HLO_FEW] = {0}, spread[HLO_FEW] = {0};
    int64_t pads[2 * HLO_FEW] = {0}, elements = 1;
    int rank = t->rank;
    if (o->operand_count != 2 || rank < 1 || rank > HLO_FEW ||
        hlo_ints(o, "window_dimensions", "size", size, HLO_FEW) != rank ||
        !axis_numbers(o, "window_strides", "stride", rank, 1, strides) ||
        !axis_numbers(o, "window_dilations", "rhs_dilate", rank, 1, dilations) ||
        !axis_numbers(o, "base_dilations", "lhs_dilate", rank, 1, spread) ||
        !axis_numbers(o, "padding", "pad", 2 * rank, 0, pads))
        return false;
    for (int i = 0; i < rank; i++)
        if (spread[i] != 1 || size[i] < 1 || strides[i] < 1 || dilations[i] < 1 ||
            __builtin_mul_overflow(elements, size[i], &elements))
            return false;
    if (map_running(w, o, size, pads, strides))
        return true;
    bool is_max = str_is(combiner, "maximum"), is_sum = str_is(combiner, "add");
    bool is_last = rank > 2 && size[rank - 1] == 1 && strides[rank - 1] == 1;
    if ((!is_max && !is_sum) || rank < 3 || rank > 5 || size[0] != 1 || strides[0] != 1 || pads[0] || pads[1] ||
        (!is_last && (size[1] != 1 || strides[1] != 1)))
        return false;
    emit_window window = {.axes = rank - 2, .padding = EMIT_PADS, .channels_first = !is_last};
    for (int i = 0; i < window.axes; i++) {
        int axis = (is_last ? 1 : 2) + i;
        window.kernel[i] = size[axis];
        window.strides[i] = strides[axis];
        window.dilations[i] = dilations[axis];
        window.pads[i] = pads[2 * axis];
        window.pads[window.axes + i] = pads[2 * axis + 1];
        if (pads[2 * axis] < 0 || pads[2 * axis + 1] < 0)
            return false;
    }
    value_id x = hlo_in(w, o->operands[0]);
    if (is_max) {
        hlo_bind(w, o->first_result,
                 emit_pool(&w->e, "MaxPool", x, &window, hlo_result(w, o->first_result))->outputs[0]);
        return true;
    }
    hlo_value result = o->first_result;
    bool has_mean = is_mean(w, o, elements);
    if (has_mean) {
        result = hlo_at(w->m, o->first_result)->user->first_result;
        w->is_done[result] = true;
    }
    node *n = emit_pool(&w->e, "AveragePool", x, &window, has_mean ? hlo_result(w, result) : NO_VALUE);
    emit_int(n, "count_include_pad", 1);
    value_id y = n->outputs[0];
    if (!has_mean)
        y = emit_2(&w->e, "Mul", y, emit_scalar(&w->e, t->dtype, (double)elements), hlo_result(w, o->first_result));
    hlo_bind(w, result, y);
    return true;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Maps a reduction over pairs of values and indices, which is ArgMax or ArgMin. */
static bool map_arg_max(hlo_writer *w, const hlo_op *o, const int64_t *axes, int count)
{
    const hlo_region *r = o->region_count == 1 ? o->regions[0] : NULL;
    const char *op = NULL, *reduce = NULL;
    for (int32_t i = 0; r && i < r->ops.count && !op; i++) {
        const hlo_op *c = r->ops.items[i];
        const hlo_attr *direction = hlo_attr_of(c, "comparison_direction", "direction");
        str name = direction ? direction->text : STR("");
        for (int32_t k = 0; !name.len && k < c->attr_count; k++)
            if (str_is(c->attrs[k].name, "word"))
                name = c->attrs[k].text;
        bool is_greater = str_starts(name, "G"), is_less = str_starts(name, "L");
        if (str_is(c->name, "compare") && (is_greater || is_less)) {
            op = is_greater ? "ArgMax" : "ArgMin";
            reduce = is_greater ? "ReduceMax" : "ReduceMin";
        }
    }
    if (!op || count != 1 || o->result_count != 2 || o->operand_count != 4 ||
        !dtype_is_integer(hlo_type_of(w, o->first_result + 1)->dtype))
        return false;
    value_id x = hlo_in(w, o->operands[0]);
    hlo_bind(
        w, o->first_result,
        emit_reduce(&w->e, reduce, x, emit_list(&w->e, axes, 1), false, hlo_result(w, o->first_result))->outputs[0]);
    node *n = emit_op(&w->e, op, &x, 1, NO_VALUE);
    emit_int(n, "axis", axes[0]);
    emit_int(n, "keepdims", 0);
    value_id index = n->outputs[0];
    hlo_bind(w, o->first_result + 1,
             emit_cast(&w->e, index, hlo_type_of(w, o->first_result + 1)->dtype, hlo_result(w, o->first_result + 1)));
    return true;
}

bool hlo_map_reduce(hlo_writer *w, const hlo_op *o)
{
    static const struct {
        const char *combiner, *op;
    } OPS[] = {{"add", "ReduceSum"},       {"maximum", "ReduceMax"}, {"minimum", "ReduceMin"},
               {"multiply", "ReduceProd"}, {"and", "ReduceMin"},     {"or", "ReduceMax"}};
    const hlo_type *t = hlo_type_of(w, o->operands[0]);
    str combiner = hlo_combiner(o);
    int64_t axes[HLO_FEW];
    int count = hlo_ints(o, "dimensions", "", axes, HLO_FEW);
    if (count < 0 || t->rank < 0 || t->rank > 60)
        return false;
    for (int i = 0; i < count; i++)
        if (axes[i] < 0 || axes[i] >= t->rank)
            return false;
    if (o->operand_count == 4)
        return map_arg_max(w, o, axes, count);
    const char *op = NULL;
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (str_is(combiner, OPS[i].combiner))
            op = OPS[i].op;
    if (!op || o->operand_count != 2 || o->result_count != 1)
        return false;
    if (t->dtype == DT_BOOL && str_is(combiner, "add"))
        return false;
    value_id x = hlo_in(w, o->operands[0]);
    if (count == 0) {
        hlo_bind(w, o->first_result, x);
        return true;
    }
    hlo_reduced *r = ARENA_NEW(w->e.b->arena, hlo_reduced);
    *r = (hlo_reduced){.op = op, .x = x, .axis_count = count, .elements = 1, .made = NO_VALUE};
    hlo_bound b = {
        .kind = HLO_SQUEEZED, .id = NO_VALUE, .id_rank = t->rank, .reduced = r, .shape = NO_VALUE, .whole = NO_VALUE};
    for (int i = 0; i < count; i++) {
        r->axes[i] = axes[i];
        b.repeated |= UINT64_C(1) << axes[i];
        if (!dim_known(t->dims[axes[i]]) || __builtin_mul_overflow(r->elements, t->dims[axes[i]], &r->elements))
            r->elements = 0;
    }
    hlo_bind_as(w, o->first_result, b);
    return true;
}

/* Maps a mean: a sum divided by its number of elements. The kept dimensions may be broadcast in between. */
bool hlo_map_mean(hlo_writer *w, const hlo_op *o)
{
    const hlo_bound b = *hlo_bound_of(w, o->operands[0]);
    double x;
    if (b.kind != HLO_SQUEEZED || !b.reduced || b.reduced->made != NO_VALUE ||
        strcmp(b.reduced->op, "ReduceSum") != 0 || b.reduced->elements < 1 || !hlo_scalar(w, o->operands[1], &x) ||
        hlo_at(w->m, o->operands[0])->uses != 1)
        return false;
    double wanted = (double)b.reduced->elements;
    if (str_is(o->name, "multiply"))
        wanted = 1 / wanted;
    if (x < wanted * (1 - 1e-6) || x > wanted * (1 + 1e-6))
        return false;
    hlo_bound mean = b;
    mean.reduced = ARENA_NEW(w->e.b->arena, hlo_reduced);
    *mean.reduced = *b.reduced;
    mean.reduced->op = "ReduceMean";
    mean.whole = NO_VALUE;
    hlo_bind_as(w, o->first_result, mean);
    return true;
}
