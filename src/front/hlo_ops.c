/* hlo_ops.c: operators of StableHLO, CHLO and HLO as canonical ones: one row for each. Products are in hlo_dot.c, windows and reductions in
 * hlo_window.c, gathers and scatters in hlo_index.c, loops and branches in hlo_control.c. What has no row keeps its name under the domain
 * "stablehlo" and the types that the file gives it. */
#include "front/hlo.h"

typedef void (*hlo_mapper)(hlo_writer *w, const hlo_op *o, const char *canonical);

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
        if (t->elements) { /* HLO's operators with several results */
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

/* ---- pointwise ---------------------------------------------------------------------------------------------------- */

/* Are all operands squeezed alike, but for single numbers? Then the operator works on what they are seen through. */
static bool squeezed_alike(hlo_writer *w, const hlo_op *o, hlo_bound *as)
{
    as->kind = HLO_UNBOUND;
    for (int32_t i = 0; i < o->operand_count; i++) {
        const hlo_bound *b = hlo_bound_of(w, o->operands[i]);
        bool is_single = (b->kind == HLO_BROADCAST && b->id_rank == 0) ||
                         (b->kind == HLO_PLAIN && hlo_type_of(w, o->operands[i])->rank == 0);
        if (is_single)
            continue;
        if (b->kind != HLO_SQUEEZED ||
            (as->kind == HLO_SQUEEZED && (as->repeated != b->repeated || as->id_rank != b->id_rank)))
            return false;
        *as = (hlo_bound){
            .kind = HLO_SQUEEZED, .repeated = b->repeated, .id_rank = b->id_rank, .shape = NO_VALUE, .whole = NO_VALUE};
    }
    return as->kind == HLO_SQUEEZED;
}

/* Operand for a pointwise operator whose target is known. */
static value_id operand_for(hlo_writer *w, const hlo_op *o, int32_t i)
{
    hlo_bound as;
    return hlo_bound_of(w, o->operands[i])->kind == HLO_SQUEEZED && squeezed_alike(w, o, &as)
               ? hlo_kept(w, o->operands[i])
               : hlo_operand(w, o->operands[i]);
}

/* The result of a pointwise operator on broadcasts alone is a broadcast itself. */
static hlo_bound joined(hlo_writer *w, const hlo_op *o)
{
    hlo_bound squeezed;
    if (squeezed_alike(w, o, &squeezed))
        return squeezed;
    hlo_bound j = {.kind = HLO_BROADCAST, .repeated = UINT64_MAX, .shape = NO_VALUE, .whole = NO_VALUE};
    for (int32_t i = 0; i < o->operand_count; i++) {
        const hlo_bound *b = hlo_bound_of(w, o->operands[i]);
        if (b->kind != HLO_BROADCAST) {
            if (hlo_type_of(w, o->operands[i])->rank == 0) /* the predicate of a select, the bounds of a clamp */
                continue;
            return (hlo_bound){.kind = HLO_PLAIN};
        }
        if (hlo_type_of(w, o->first_result)->rank < 0 || hlo_type_of(w, o->first_result)->rank > 60)
            return (hlo_bound){.kind = HLO_PLAIN};
        j.repeated &= b->repeated & ((UINT64_C(1) << hlo_type_of(w, o->first_result)->rank) - 1);
        j.id_rank = b->id_rank > j.id_rank ? b->id_rank : j.id_rank;
        j.shape = j.shape == NO_VALUE ? b->shape : j.shape;
    }
    return j;
}

/* Where the result of a pointwise operator goes; what is bound to the result at the end. */
typedef struct target {
    value_id id;
    hlo_bound as;
} target;

static target target_of(hlo_writer *w, const hlo_op *o)
{
    target t = {.as = joined(w, o)};
    const hlo_type *type = hlo_type_of(w, o->first_result);
    bool is_whole = t.as.kind != HLO_SQUEEZED && (type->rank == 0 || t.as.kind != HLO_BROADCAST);
    if (t.as.kind == HLO_BROADCAST && t.as.id_rank == type->rank && !t.as.repeated)
        is_whole = true;
    t.id = is_whole ? hlo_result(w, o->first_result) : emit_temp(&w->e);
    if (is_whole)
        t.as = (hlo_bound){.kind = HLO_PLAIN, .shape = NO_VALUE, .whole = NO_VALUE};
    t.as.id = t.id;
    return t;
}

static void finish(hlo_writer *w, const hlo_op *o, target t)
{
    hlo_bind_as(w, o->first_result, t.as);
}

enum { MAX_OPERANDS = 3 };

static node *write_pointwise(hlo_writer *w, const hlo_op *o, const char *op)
{
    value_id inputs[MAX_OPERANDS] = {NO_VALUE, NO_VALUE, NO_VALUE};
    int count = o->operand_count < MAX_OPERANDS ? o->operand_count : MAX_OPERANDS;
    for (int i = 0; i < count; i++)
        inputs[i] = operand_for(w, o, i);
    target t = target_of(w, o);
    node *n = emit_op(&w->e, op, inputs, count, t.id);
    finish(w, o, t);
    return n;
}

static void map_pointwise(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    write_pointwise(w, o, canonical);
}

static void map_abs(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (hlo_type_of(w, o->operands[0])->dtype == hlo_type_of(w, o->first_result)->dtype)
        write_pointwise(w, o, canonical);
    else
        hlo_foreign(w, o); /* of complex numbers */
}

static void map_add(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (!hlo_map_bias(w, o))
        write_pointwise(w, o, canonical);
}

static void map_quotient(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (!hlo_map_mean(w, o))
        write_pointwise(w, o, canonical);
}

static bool is_bool(hlo_writer *w, const hlo_op *o)
{
    return o->operand_count && hlo_type_of(w, o->operands[0])->dtype == DT_BOOL;
}

static void map_logical(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    write_pointwise(w, o, is_bool(w, o) ? canonical + strlen("Bitwise") : canonical);
}

/* The smaller or larger of x and a number that is known: an activation. */
static bool map_bound(hlo_writer *w, const hlo_op *o)
{
    double x;
    bool is_max = str_is(o->name, "maximum");
    if (o->operand_count != 2 || !dtype_is_float(hlo_type_of(w, o->first_result)->dtype))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!hlo_scalar(w, o->operands[i], &x))
            continue;
        hlo_value other = o->operands[1 - i];
        if (is_max && x == -__builtin_inf()) { /* max(x, -inf): what JAX writes around every maximum */
            hlo_bound same = *hlo_bound_of(w, other);
            hlo_bind_as(w, o->first_result, same);
            return true;
        }
        if (is_max && x == 0) {
            const hlo_op only = {
                .operands = &other, .operand_count = 1, .first_result = o->first_result, .result_count = 1};
            value_id y = operand_for(w, &only, 0);
            target t = target_of(w, &only);
            emit_1(&w->e, "Relu", y, t.id);
            finish(w, o, t);
            return true;
        }
    }
    return false;
}

static void map_max_min(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (!map_bound(w, o))
        write_pointwise(w, o, is_bool(w, o) ? (canonical[1] == 'a' ? "Or" : "And") : canonical);
}

static void map_remainder(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    emit_int(write_pointwise(w, o, canonical), "fmod", 1);
}

static void map_shift(hlo_writer *w, const hlo_op *o, const char *direction)
{
    emit_text(write_pointwise(w, o, "BitShift"), "direction", str_of(direction));
}

static void map_square(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id x = operand_for(w, o, 0);
    target t = target_of(w, o);
    emit_2(&w->e, canonical, x, x, t.id);
    finish(w, o, t);
}

static void map_rsqrt(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id root = emit_1(&w->e, "Sqrt", operand_for(w, o, 0), NO_VALUE);
    target t = target_of(w, o);
    emit_1(&w->e, canonical, root, t.id);
    finish(w, o, t);
}

static void map_cbrt(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id x = operand_for(w, o, 0);
    value_id third = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1.0 / 3);
    target t = target_of(w, o);
    emit_2(&w->e, canonical, x, third, t.id);
    finish(w, o, t);
}

/* exp(x) - 1, log(x + 1) */
static void map_expm1(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    value_id x = emit_1(&w->e, "Exp", operand_for(w, o, 0), NO_VALUE);
    value_id one = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1);
    target t = target_of(w, o);
    emit_2(&w->e, "Sub", x, one, t.id);
    finish(w, o, t);
}

static void map_log1p(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    value_id one = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1);
    value_id x = emit_2(&w->e, "Add", operand_for(w, o, 0), one, NO_VALUE);
    target t = target_of(w, o);
    emit_1(&w->e, "Log", x, t.id);
    finish(w, o, t);
}

static void map_special(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    value_id inputs[MAX_OPERANDS] = {NO_VALUE, NO_VALUE, NO_VALUE};
    int count = o->operand_count < MAX_OPERANDS ? o->operand_count : MAX_OPERANDS;
    for (int i = 0; i < count; i++)
        inputs[i] = operand_for(w, o, i);
    target t = target_of(w, o);
    node *n = emit_foreign(&w->e, STR("sooth"), STR("SpecialFunction"), inputs, count, &t.id, 1);
    emit_text(n, "function", arena_str(w->e.b->arena, o->name));
    finish(w, o, t);
}

/* 1 - erf(x); of a negated x, which is how GELU is written, 1 + erf(-x). */
static void map_erfc(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    emitter *e = &w->e;
    const hlo_op *product = hlo_at(w->m, o->operands[0])->maker;
    const hlo_op *negated = NULL;
    value_id one = emit_scalar(e, hlo_type_of(w, o->operands[0])->dtype, 1), x = NO_VALUE;
    if (product && str_is(product->name, "multiply"))
        negated = hlo_at(w->m, product->operands[0])->maker;
    if (negated && str_is(negated->name, "negate") && hlo_bound_of(w, negated->operands[0])->kind == HLO_PLAIN)
        x = emit_2(e, "Mul", hlo_in(w, negated->operands[0]), hlo_operand(w, product->operands[1]), NO_VALUE);
    value_id y = emit_1(e, "Erf", x != NO_VALUE ? x : operand_for(w, o, 0), NO_VALUE);
    target t = target_of(w, o);
    if (x != NO_VALUE)
        emit_2(e, "Add", y, one, t.id);
    else
        emit_2(e, "Sub", one, y, t.id);
    finish(w, o, t);
}

static void map_compare(hlo_writer *w, const hlo_op *o, const char *unused)
{
    static const struct {
        const char *direction, *op;
    } DIRECTIONS[] = {{"EQ", "Equal"},          {"NE", "Equal"}, {"GT", "Greater"},
                      {"GE", "GreaterOrEqual"}, {"LT", "Less"},  {"LE", "LessOrEqual"}};
    (void)unused;
    const hlo_attr *direction = hlo_attr_of(o, "comparison_direction", "direction");
    str name = direction ? direction->text : STR("");
    for (int32_t i = 0; !name.len && i < o->attr_count; i++)
        if (str_is(o->attrs[i].name, "word"))
            name = o->attrs[i].text;
    for (size_t i = 0; i < sizeof DIRECTIONS / sizeof *DIRECTIONS; i++) {
        if (!str_is(name, DIRECTIONS[i].direction) || o->operand_count != 2)
            continue;
        if (i != 1) {
            write_pointwise(w, o, DIRECTIONS[i].op);
            return;
        }
        value_id equal = emit_2(&w->e, "Equal", operand_for(w, o, 0), operand_for(w, o, 1), NO_VALUE);
        target t = target_of(w, o);
        emit_1(&w->e, "Not", equal, t.id);
        finish(w, o, t);
        return;
    }
    hlo_foreign(w, o);
}

/* What a gather puts in the place of elements that are not there is NaN: lookups of other frameworks do not look. */
static bool is_filled_gather(hlo_writer *w, const hlo_op *o)
{
    double x;
    const hlo_op *maker = hlo_at(w->m, o->operands[1])->maker;
    return maker && (str_is(maker->name, "gather") || str_is(maker->name, "dynamic_gather")) &&
           hlo_scalar(w, o->operands[2], &x) && x != x;
}

static void map_select(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (is_filled_gather(w, o)) {
        hlo_bound same = *hlo_bound_of(w, o->operands[1]);
        hlo_bind_as(w, o->first_result, same);
        return;
    }
    write_pointwise(w, o, canonical);
}

/* min, x, max; both bounds known and single numbers: Clip */
static void map_clamp(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    double low, high;
    if (o->operand_count != 3) {
        hlo_foreign(w, o);
        return;
    }
    if (hlo_scalar(w, o->operands[0], &low) && hlo_scalar(w, o->operands[2], &high)) {
        dtype type = hlo_type_of(w, o->operands[1])->dtype;
        const hlo_op only = {.operands = &o->operands[1], .operand_count = 1, .first_result = o->first_result};
        value_id x = operand_for(w, &only, 0);
        value_id inputs[] = {x, emit_scalar(&w->e, type, low), emit_scalar(&w->e, type, high)};
        target t = target_of(w, &only);
        emit_op(&w->e, canonical, inputs, 3, t.id);
        finish(w, o, t);
        return;
    }
    value_id at_least = emit_2(&w->e, "Max", operand_for(w, o, 0), operand_for(w, o, 1), NO_VALUE);
    value_id most = operand_for(w, o, 2);
    target t = target_of(w, o);
    emit_2(&w->e, "Min", at_least, most, t.id);
    finish(w, o, t);
}

static void map_convert(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    const hlo_type *to = hlo_type_of(w, o->first_result);
    if (to->dtype == hlo_type_of(w, o->operands[0])->dtype) {
        hlo_bound same = *hlo_bound_of(w, o->operands[0]);
        hlo_bind_as(w, o->first_result, same);
        return;
    }
    emit_int(write_pointwise(w, o, "Cast"), "to", to->dtype);
}

/* ---- the same tensor ---------------------------------------------------------------------------------------------- */

static void map_same(hlo_writer *w, const hlo_op *o, const char *unused)
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
        if (elements[i].kind == HLO_PERMUTED || elements[i].kind == HLO_BROADCAST)
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
    if (is_same && !is_one) { /* one number for all */
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
    /* Numbers of the program are no parameters; tables of them are. */
    bool is_weight = dtype_is_float(type->dtype) && type->rank > 0 && !is_one;
    build_at(b, id)->is_constant_node = !is_weight;
    hlo_bind(w, o->first_result, id);
    hlo_bound_of(w, o->first_result)->is_weight = is_weight && t->encoding != TENSOR_RAW;
}

/* Variables of other dialects: weights that are elsewhere. */
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

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

static void map_reshape(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    const hlo_type *t = hlo_type_of(w, o->first_result);
    const hlo_bound *b = hlo_bound_of(w, o->operands[0]);
    bool is_static = hlo_static_dims(t, dims);
    if (b->is_weight && is_static) {
        hlo_bind(w, o->first_result, hlo_reshaped_weight(w, hlo_in(w, o->operands[0]), dims, t->rank));
        hlo_bound_of(w, o->first_result)->is_weight = true;
        return;
    }
    if (b->kind == HLO_BROADCAST && b->id_rank == 0 && is_static) {
        hlo_bound same = *b;
        same.whole = NO_VALUE;
        same.shape = NO_VALUE;
        hlo_bind_as(w, o->first_result, same);
        return;
    }
    if (b->kind == HLO_SQUEEZED && is_static && b->id_rank == t->rank) { /* the dimensions of 1 come back */
        const hlo_type *from = hlo_type_of(w, o->operands[0]);
        bool is_kept = true;
        for (int i = 0, at = 0; i < t->rank && is_kept; i++)
            is_kept = b->repeated >> i & 1 ? dims[i] == 1 : at < from->rank && from->dims[at++] == dims[i];
        if (is_kept) {
            hlo_bind(w, o->first_result, hlo_kept(w, o->operands[0]));
            return;
        }
    }
    value_id x = hlo_in(w, o->operands[0]), shape = NO_VALUE;
    if (is_static)
        shape = emit_list(&w->e, dims, t->rank);
    else if (o->operand_count > 1)
        shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
    if (shape == NO_VALUE) {
        hlo_foreign(w, o);
        return;
    }
    hlo_bind(w, o->first_result, emit_2(&w->e, "Reshape", x, shape, hlo_result(w, o->first_result)));
}

static void map_transpose(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    int64_t *perm = ARENA_ARRAY(w->e.b->arena, int64_t, MAX_RANK);
    hlo_bound b = *hlo_bound_of(w, o->operands[0]);
    int rank = hlo_type_of(w, o->operands[0])->rank, count = hlo_ints(o, "permutation", "dims", perm, MAX_RANK);
    if (count < 0)
        count = hlo_ints(o, "dimensions", "", perm, MAX_RANK);
    bool is_identity = true, is_sound = count == rank;
    for (int i = 0; i < count; i++) {
        is_sound &= perm[i] >= 0 && perm[i] < count;
        is_identity &= perm[i] == i;
    }
    if (!is_sound) {
        hlo_foreign(w, o);
        return;
    }
    if (is_identity) {
        map_same(w, o, NULL);
        return;
    }
    if (b.is_weight && b.kind == HLO_PLAIN) {
        hlo_bind(w, o->first_result, emit_permuted(&w->e, b.id, perm, rank));
        hlo_bound_of(w, o->first_result)->is_weight = true;
        return;
    }
    if (b.kind == HLO_PERMUTED) { /* the second on top of the first */
        is_identity = true;
        for (int i = 0; i < rank; i++) {
            perm[i] = b.perm[perm[i]];
            is_identity &= perm[i] == i;
        }
        if (is_identity) {
            hlo_bind(w, o->first_result, b.id);
            return;
        }
    } else {
        b.id = hlo_in(w, o->operands[0]);
    }
    hlo_bind_as(w, o->first_result,
                (hlo_bound){.kind = HLO_PERMUTED, .id = b.id, .perm = perm, .shape = NO_VALUE, .whole = NO_VALUE});
}

/* Are the dimensions that a broadcast adds those that were squeezed away? */
static bool brings_back(const hlo_bound *b, const int64_t *dims, int count)
{
    uint64_t kept = 0;
    for (int i = 0; i < count; i++)
        kept |= UINT64_C(1) << dims[i];
    return (kept ^ b->repeated) == (b->id_rank < 64 ? (UINT64_C(1) << b->id_rank) - 1 : UINT64_MAX);
}

/* Dimension i of the operand becomes dimension dims[i]; the others are new. */
static void map_broadcast(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    hlo_value x = o->operands[0];
    const hlo_type *from = hlo_type_of(w, x), *to = hlo_type_of(w, o->first_result);
    int count = hlo_ints(o, "broadcast_dimensions", "dims", dims, MAX_RANK);
    if (count < 0)
        count = hlo_ints(o, "dimensions", "", dims, MAX_RANK);
    bool is_sound = count == from->rank && to->rank >= from->rank && to->rank < 64;
    for (int i = 0; i < count && is_sound; i++)
        is_sound = dims[i] >= (i ? dims[i - 1] + 1 : 0) && dims[i] < to->rank;
    if (!is_sound) {
        hlo_foreign(w, o);
        return;
    }
    hlo_bound b = *hlo_bound_of(w, x);
    if (b.kind == HLO_SQUEEZED && b.id_rank == to->rank && brings_back(&b, dims, count)) {
        hlo_bound back = {.kind = HLO_SQUEEZED,
                          .id = b.id,
                          .reduced = b.reduced,
                          .id_rank = to->rank,
                          .shape = NO_VALUE,
                          .whole = NO_VALUE};
        for (int i = 0; i < to->rank; i++)
            if ((b.repeated >> i & 1) && to->dims[i] != 1)
                back.repeated |= UINT64_C(1) << i;
        if (back.repeated) {
            back.kind = HLO_BROADCAST;
            back.id = hlo_kept(w, x);
            back.reduced = NULL;
            if (o->operand_count > 1)
                back.shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
        }
        hlo_bind_as(w, o->first_result, back);
        return;
    }
    if (b.kind != HLO_BROADCAST) {
        bool is_weight = b.is_weight;
        b = (hlo_bound){.kind = HLO_BROADCAST, .id = hlo_in(w, x), .id_rank = from->rank, .is_weight = is_weight};
    }
    hlo_bound made = {.kind = HLO_BROADCAST, .is_weight = b.is_weight, .shape = NO_VALUE, .whole = NO_VALUE};
    uint64_t repeated = (UINT64_C(1) << to->rank) - 1;
    for (int i = 0; i < from->rank; i++) {
        bool was_repeated = (b.repeated >> i & 1) || i < from->rank - b.id_rank;
        bool may_grow = from->dims[i] == 1 && to->dims[dims[i]] != 1;
        if (!was_repeated && !may_grow)
            repeated &= ~(UINT64_C(1) << dims[i]);
    }
    for (int i = 0; i < to->rank; i++)
        if (to->dims[i] == 1)
            repeated &= ~(UINT64_C(1) << i);
    made.repeated = repeated;
    int first = from->rank - b.id_rank; /* of the operand's dimensions that id has */
    int64_t added[MAX_RANK], place = 0;
    int added_count = 0;
    if (b.id_rank > 0) {
        for (int k = (int)dims[first], i = first; k < to->rank; k++, place++) {
            if (i < from->rank && dims[i] == k)
                i++;
            else
                added[added_count++] = place;
        }
        made.id_rank = to->rank - (int)dims[first];
    }
    made.id = b.id;
    if (added_count && b.is_weight && emit_constant_of(&w->e, b.id)) {
        const tensor *t = emit_constant_of(&w->e, b.id);
        int64_t shape[MAX_RANK];
        int at = 0, rank = 0;
        for (int i = 0; i < made.id_rank; i++)
            shape[rank++] = at < added_count && added[at] == i ? (at++, 1) : t->dims[i - at];
        made.id = hlo_reshaped_weight(w, b.id, shape, rank);
    } else if (added_count) {
        made.id = emit_unsqueeze(&w->e, b.id, added, added_count, NO_VALUE);
    }
    if (o->operand_count > 1)
        made.shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
    if (!repeated && made.id_rank == to->rank)
        made.kind = HLO_PLAIN;
    hlo_bind_as(w, o->first_result, made);
}

static void map_iota(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    emitter *e = &w->e;
    const hlo_type *t = hlo_type_of(w, o->first_result);
    int64_t axis = hlo_int(o, "iota_dimension", "dim", 0), added[MAX_RANK];
    int added_count = 0;
    if (t->rank < 1 || axis < 0 || axis >= t->rank) {
        hlo_foreign(w, o);
        return;
    }
    value_id count, shape = NO_VALUE;
    if (o->operand_count) {
        shape = emit_index(e, hlo_in(w, o->operands[0]));
        count = emit_2(e, "Gather", shape, emit_number(e, axis), NO_VALUE);
    } else {
        count = emit_number(e, dim_known(t->dims[axis]) ? t->dims[axis] : 0);
    }
    value_id inputs[] = {emit_number(e, 0), count, emit_number(e, 1)};
    value_id x = emit_op(e, "Range", inputs, 3, NO_VALUE)->outputs[0];
    if (t->dtype != DT_INT64)
        x = emit_cast(e, x, t->dtype, NO_VALUE);
    for (int64_t i = axis + 1; i < t->rank; i++)
        added[added_count++] = i - axis;
    if (added_count)
        x = emit_unsqueeze(e, x, added, added_count, NO_VALUE);
    hlo_bound made = {
        .kind = HLO_BROADCAST, .id = x, .id_rank = t->rank - (int32_t)axis, .shape = shape, .whole = NO_VALUE};
    for (int i = 0; i < t->rank && t->rank < 64; i++)
        if (i != axis && t->dims[i] != 1)
            made.repeated |= UINT64_C(1) << i;
    if (!made.repeated && axis == 0)
        made.kind = HLO_PLAIN;
    hlo_bind_as(w, o->first_result, made);
}

static void map_dimension_size(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    emitter *e = &w->e;
    int64_t axis = hlo_int(o, "dimension", "dim", 0);
    value_id shape = hlo_shape_of(w, o->operands[0]);
    value_id size = emit_2(e, "Gather", shape, emit_number(e, axis), NO_VALUE);
    hlo_bind(w, o->first_result,
             emit_cast(e, size, hlo_type_of(w, o->first_result)->dtype, hlo_result(w, o->first_result)));
}

/* ---- moving ------------------------------------------------------------------------------------------------------- */

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

/* x, starts, limits, strides as values */
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

/* Negative pads cut. Gaps between the elements are no operator of ONNX's. */
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
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_list(&w->e, pads, 2 * count), operand_for(w, o, 1)};
    hlo_bind(w, o->first_result, emit_op(&w->e, canonical, inputs, 3, hlo_result(w, o->first_result))->outputs[0]);
}

/* x, value, low, high, interior as values */
static void map_dynamic_pad(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (o->operand_count != 5) {
        hlo_foreign(w, o);
        return;
    }
    value_id parts[] = {emit_index(&w->e, in_at(w, o, 2)), emit_index(&w->e, in_at(w, o, 3))};
    node *pads = emit_op(&w->e, "Concat", parts, 2, NO_VALUE);
    emit_int(pads, "axis", 0);
    value_id inputs[] = {in_at(w, o, 0), pads->outputs[0], operand_for(w, o, 1)};
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

/* ---- others ------------------------------------------------------------------------------------------------------- */

/* The first operand is sorted, the others follow it. */
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

/* x, scale, offset, mean, variance */
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
        map_reshape(w, o, NULL);
        return;
    }
    emit_int(write_pointwise(w, o, canonical), "to", to->dtype);
}

static void map_custom_call(hlo_writer *w, const hlo_op *o, const char *unused)
{
    static const struct {
        const char *target;
        hlo_mapper map;
        const char *canonical;
    } TARGETS[] = {
        {"Sharding", map_same, NULL},
        {"annotate_device_placement", map_same, NULL},
        {"SPMDFullToShardShape", map_same, NULL},
        {"SPMDShardToFullShape", map_same, NULL},
        {"LayoutConstraint", map_same, NULL},
        {"shape_assertion", map_nothing, NULL},
        {"mhlo.erf", map_pointwise, "Erf"},
        {"mhlo.topk", map_top_k, "TopK"},
        {"mhlo.tan", map_pointwise, "Tan"},
        {"mhlo.asin", map_pointwise, "Asin"},
        {"mhlo.acos", map_pointwise, "Acos"},
        {"mhlo.sinh", map_pointwise, "Sinh"},
        {"mhlo.cosh", map_pointwise, "Cosh"},
        {"mhlo.asinh", map_pointwise, "Asinh"},
        {"mhlo.acosh", map_pointwise, "Acosh"},
        {"mhlo.atanh", map_pointwise, "Atanh"},
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

/* ---- the table ---------------------------------------------------------------------------------------------------- */

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

/* Operands: the least that the mapping looks at. */
static const struct {
    const char *name;
    hlo_mapper map;
    const char *canonical;
    int operands;
} OPERATORS[] = {
    {"abs", map_abs, "Abs", 1},
    {"acos", map_pointwise, "Acos", 1},
    {"acosh", map_pointwise, "Acosh", 1},
    {"add", map_add, "Add", 2},
    {"after_all", map_nothing, NULL, 0},
    {"and", map_logical, "BitwiseAnd", 2},
    {"asin", map_pointwise, "Asin", 1},
    {"asinh", map_pointwise, "Asinh", 1},
    {"atan", map_pointwise, "Atan", 1},
    {"atan2", map_special, NULL, 2},
    {"atanh", map_pointwise, "Atanh", 1},
    {"batch_norm_inference", map_batch_norm, "BatchNormalization", 5},
    {"bessel_i1e", map_special, NULL, 1},
    {"bitcast", map_bitcast, "BitCast", 1},
    {"bitcast_convert", map_bitcast, "BitCast", 1},
    {"broadcast", map_broadcast, NULL, 1},
    {"broadcast_in_dim", map_broadcast, NULL, 1},
    {"call", map_call, NULL, 0},
    {"case", map_case, NULL, 1},
    {"cbrt", map_cbrt, "Pow", 1},
    {"ceil", map_pointwise, "Ceil", 1},
    {"check.expect_almost_eq", map_nothing, NULL, 0},
    {"check.expect_almost_eq_const", map_nothing, NULL, 0},
    {"check.expect_eq", map_nothing, NULL, 0},
    {"check.expect_eq_const", map_nothing, NULL, 0},
    {"clamp", map_clamp, "Clip", 3},
    {"compare", map_compare, NULL, 2},
    {"composite", map_call, NULL, 0},
    {"concatenate", map_concatenate, "Concat", 1},
    {"conditional", map_case, NULL, 1},
    {"constant", map_constant, NULL, 0},
    {"convert", map_convert, NULL, 1},
    {"convolution", map_convolution, NULL, 2},
    {"copy", map_same, NULL, 1},
    {"cosh", map_pointwise, "Cosh", 1},
    {"cosine", map_pointwise, "Cos", 1},
    {"create_token", map_nothing, NULL, 0},
    {"custom_call", map_custom_call, NULL, 0},
    {"digamma", map_special, NULL, 1},
    {"divide", map_quotient, "Div", 2},
    {"dot", map_dot, NULL, 2},
    {"dot_general", map_dot, NULL, 2},
    {"dynamic_broadcast_in_dim", map_broadcast, NULL, 2},
    {"dynamic_gather", map_gather, NULL, 3},
    {"dynamic_iota", map_iota, NULL, 1},
    {"dynamic_pad", map_dynamic_pad, "Pad", 5},
    {"dynamic_reshape", map_reshape, NULL, 2},
    {"dynamic_slice", map_dynamic_slice, NULL, 1},
    {"dynamic_update_slice", map_dynamic_update_slice, NULL, 2},
    {"erf", map_pointwise, "Erf", 1},
    {"erf_inv", map_special, NULL, 1},
    {"erfc", map_erfc, NULL, 1},
    {"exponential", map_pointwise, "Exp", 1},
    {"exponential_minus_one", map_expm1, NULL, 1},
    {"floor", map_pointwise, "Floor", 1},
    {"fusion", map_call, NULL, 0},
    {"gather", map_gather, NULL, 2},
    {"get_dimension_size", map_dimension_size, NULL, 1},
    {"get_tuple_element", map_tuple_element, NULL, 1},
    {"if", map_case, NULL, 1},
    {"iota", map_iota, NULL, 0},
    {"is_finite", map_special, NULL, 1},
    {"is_inf", map_pointwise, "IsInf", 1},
    {"is_neg_inf", map_pointwise, "IsInf", 1},
    {"is_pos_inf", map_pointwise, "IsInf", 1},
    {"lgamma", map_special, NULL, 1},
    {"log", map_pointwise, "Log", 1},
    {"log_plus_one", map_log1p, NULL, 1},
    {"logistic", map_pointwise, "Sigmoid", 1},
    {"maximum", map_max_min, "Max", 2},
    {"minimum", map_max_min, "Min", 2},
    {"ml_program.global_load", map_global, NULL, 0},
    {"ml_program.global_store", map_nothing, NULL, 0},
    {"multiply", map_quotient, "Mul", 2},
    {"negate", map_pointwise, "Neg", 1},
    {"next_after", map_special, NULL, 2},
    {"not", map_logical, "BitwiseNot", 1},
    {"optimization_barrier", map_same, NULL, 1},
    {"or", map_logical, "BitwiseOr", 2},
    {"pad", map_pad, "Pad", 2},
    {"polygamma", map_special, NULL, 2},
    {"popcnt", map_special, NULL, 1},
    {"power", map_pointwise, "Pow", 2},
    {"real_dynamic_slice", map_real_dynamic_slice, "Slice", 4},
    {"reduce", map_reduce, NULL, 2},
    {"reduce_precision", map_same, NULL, 1},
    {"reduce_window", map_reduce_window, NULL, 2},
    {"remainder", map_remainder, "Mod", 2},
    {"reshape", map_reshape, NULL, 1},
    {"reverse", map_reverse, NULL, 1},
    {"rng", map_random, "RandomUniform", 0},
    {"round_nearest_afz", map_pointwise, "Round", 1},
    {"round_nearest_even", map_pointwise, "Round", 1},
    {"rsqrt", map_rsqrt, "Reciprocal", 1},
    {"scatter", map_scatter, NULL, 3},
    {"select", map_select, "Where", 3},
    {"shift_left", map_shift, "LEFT", 2},
    {"shift_right_arithmetic", map_shift, "RIGHT", 2},
    {"shift_right_logical", map_shift, "RIGHT", 2},
    {"sign", map_pointwise, "Sign", 1},
    {"sine", map_pointwise, "Sin", 1},
    {"sinh", map_pointwise, "Sinh", 1},
    {"slice", map_slice, "Slice", 1},
    {"sort", map_sort, "TopK", 1},
    {"sqrt", map_pointwise, "Sqrt", 1},
    {"square", map_square, "Mul", 1},
    {"subtract", map_pointwise, "Sub", 2},
    {"tan", map_pointwise, "Tan", 1},
    {"tanh", map_pointwise, "Tanh", 1},
    {"tensor.cast", map_same, NULL, 1},
    {"top_k", map_top_k, "TopK", 1},
    {"torch_index_select", map_index_select, "Gather", 2},
    {"transpose", map_transpose, NULL, 1},
    {"tuple", map_tuple, NULL, 0},
    {"uniform_dequantize", map_quantize, "DequantizeLinear", 1},
    {"uniform_quantize", map_quantize, "QuantizeLinear", 1},
    {"util.global.address", map_nothing, NULL, 0},
    {"util.global.load", map_global, NULL, 0},
    {"util.global.load.indirect", map_global, NULL, 0},
    {"util.global.store", map_nothing, NULL, 0},
    {"util.optimization_barrier", map_same, NULL, 1},
    {"while", map_while, NULL, 0},
    {"xor", map_logical, "BitwiseXor", 2},
    {"zeta", map_special, NULL, 2},
};

/* Operators that hand back nothing but a tensor must say its type; of what has none nothing can be told. */
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
            bool moves = OPERATORS[middle].map == map_tuple || OPERATORS[middle].map == map_same ||
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
