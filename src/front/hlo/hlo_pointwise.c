/* hlo_pointwise.c: maps pointwise operators of HLO. If all operands have the same view (hlo.h), the result has it
 * too. */
#include "front/hlo/hlo_map.h"

/* True if all operands except single numbers are squeezed alike. The operator then works on the underlying tensors. */
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

/* Returns an operand in the form that the operator's target requires. */
static value_id operand_for(hlo_writer *w, const hlo_op *o, int32_t i)
{
    hlo_bound as;
    return hlo_bound_of(w, o->operands[i])->kind == HLO_SQUEEZED && squeezed_alike(w, o, &as)
               ? hlo_kept(w, o->operands[i])
               : hlo_operand(w, o->operands[i]);
}

/* A pointwise operator on broadcasts of the same form results in such a broadcast. */
static hlo_bound joined(hlo_writer *w, const hlo_op *o)
{
    hlo_bound squeezed;
    if (squeezed_alike(w, o, &squeezed))
        return squeezed;
    hlo_bound j = {.kind = HLO_BROADCAST, .repeated = UINT64_MAX, .shape = NO_VALUE, .whole = NO_VALUE};
    for (int32_t i = 0; i < o->operand_count; i++) {
        const hlo_bound *b = hlo_bound_of(w, o->operands[i]);
        if (b->kind != HLO_BROADCAST) {
            /* scalars such as the predicate of a select or the bounds of a clamp */
            if (hlo_type_of(w, o->operands[i])->rank == 0)
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

/* Output of a pointwise operator, and the view of it that is the result. */
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

node *hlo_write_pointwise(hlo_writer *w, const hlo_op *o, const char *op)
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

void hlo_map_pointwise(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    hlo_write_pointwise(w, o, canonical);
}

void hlo_map_abs(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (hlo_type_of(w, o->operands[0])->dtype == hlo_type_of(w, o->first_result)->dtype)
        hlo_write_pointwise(w, o, canonical);
    else
        hlo_foreign(w, o); /* complex numbers have no canonical operator */
}

void hlo_map_add(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (!hlo_map_bias(w, o))
        hlo_write_pointwise(w, o, canonical);
}

void hlo_map_quotient(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (!hlo_map_mean(w, o))
        hlo_write_pointwise(w, o, canonical);
}

static bool is_bool(hlo_writer *w, const hlo_op *o)
{
    return o->operand_count && hlo_type_of(w, o->operands[0])->dtype == DT_BOOL;
}

void hlo_map_logical(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    hlo_write_pointwise(w, o, is_bool(w, o) ? canonical + strlen("Bitwise") : canonical);
}

/* Maps the minimum or maximum of x and a known number, which is an activation. */
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
        if (is_max && x == -__builtin_inf()) { /* JAX writes max(x, -inf) around every maximum */
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

/* min(max(x, low), high) */
static bool map_clip(hlo_writer *w, const hlo_op *o)
{
    double low, high;
    for (int i = 0; i < 2 && str_is(o->name, "minimum"); i++) {
        const hlo_op *most = hlo_at(w->m, o->operands[i])->maker;
        if (!most || !str_is(most->name, "maximum") || !hlo_scalar(w, o->operands[1 - i], &high))
            continue;
        for (int k = 0; k < 2; k++) {
            hlo_value x = most->operands[k];
            if (!hlo_scalar(w, most->operands[1 - k], &low) || hlo_bound_of(w, x)->kind == HLO_UNBOUND)
                continue;
            const hlo_op only = {.operands = &x, .operand_count = 1, .first_result = o->first_result};
            dtype type = hlo_type_of(w, x)->dtype;
            value_id inputs[] = {operand_for(w, &only, 0), emit_scalar(&w->e, type, low),
                                 emit_scalar(&w->e, type, high)};
            target t = target_of(w, &only);
            emit_op(&w->e, "Clip", inputs, 3, t.id);
            finish(w, o, t);
            return true;
        }
    }
    return false;
}

void hlo_map_max_min(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    if (map_clip(w, o))
        return;
    if (!map_bound(w, o))
        hlo_write_pointwise(w, o, is_bool(w, o) ? (canonical[1] == 'a' ? "Or" : "And") : canonical);
}

void hlo_map_remainder(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    emit_int(hlo_write_pointwise(w, o, canonical), "fmod", 1);
}

void hlo_map_shift(hlo_writer *w, const hlo_op *o, const char *direction)
{
    emit_text(hlo_write_pointwise(w, o, "BitShift"), "direction", str_of(direction));
}

void hlo_map_square(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id x = operand_for(w, o, 0);
    target t = target_of(w, o);
    emit_2(&w->e, canonical, x, x, t.id);
    finish(w, o, t);
}

void hlo_map_rsqrt(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id root = emit_1(&w->e, "Sqrt", operand_for(w, o, 0), NO_VALUE);
    target t = target_of(w, o);
    emit_1(&w->e, canonical, root, t.id);
    finish(w, o, t);
}

void hlo_map_cbrt(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    value_id x = operand_for(w, o, 0);
    value_id third = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1.0 / 3);
    target t = target_of(w, o);
    emit_2(&w->e, canonical, x, third, t.id);
    finish(w, o, t);
}

/* exp(x) - 1, log(x + 1) */
void hlo_map_expm1(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    value_id x = emit_1(&w->e, "Exp", operand_for(w, o, 0), NO_VALUE);
    value_id one = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1);
    target t = target_of(w, o);
    emit_2(&w->e, "Sub", x, one, t.id);
    finish(w, o, t);
}

void hlo_map_log1p(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    value_id one = emit_scalar(&w->e, hlo_type_of(w, o->operands[0])->dtype, 1);
    value_id x = emit_2(&w->e, "Add", operand_for(w, o, 0), one, NO_VALUE);
    target t = target_of(w, o);
    emit_1(&w->e, "Log", x, t.id);
    finish(w, o, t);
}

void hlo_map_special(hlo_writer *w, const hlo_op *o, const char *unused)
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

/* 1 - erf(x); for a negated x, as in GELU, 1 + erf(-x). */
void hlo_map_erfc(hlo_writer *w, const hlo_op *o, const char *unused)
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

static str direction_of(const hlo_op *o)
{
    const hlo_attr *direction = hlo_attr_of(o, "comparison_direction", "direction");
    if (!direction)
        direction = hlo_attr_of(o, "word", "");
    return direction ? direction->text : STR("");
}

/* Maps the comparison of x with 0, where x is a boolean that was converted to a number. */
static bool is_truth(hlo_writer *w, const hlo_op *o)
{
    double zero;
    return hlo_bound_of(w, o->operands[0])->truth && hlo_scalar(w, o->operands[1], &zero) && zero == 0;
}

void hlo_map_compare(hlo_writer *w, const hlo_op *o, const char *unused)
{
    static const struct {
        const char *direction, *op;
    } DIRECTIONS[] = {{"EQ", "Equal"},          {"NE", "Equal"}, {"GT", "Greater"},
                      {"GE", "GreaterOrEqual"}, {"LT", "Less"},  {"LE", "LessOrEqual"}};
    (void)unused;
    str name = direction_of(o);
    for (size_t i = 0; i < sizeof DIRECTIONS / sizeof *DIRECTIONS; i++) {
        if (!str_is(name, DIRECTIONS[i].direction) || o->operand_count != 2)
            continue;
        if (i == 1 && is_truth(w, o)) {
            hlo_bind(w, o->first_result, hlo_bound_of(w, o->operands[0])->truth - 1);
            return;
        }
        if (i != 1) {
            hlo_write_pointwise(w, o, DIRECTIONS[i].op);
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

/* Drops JAX's replacement of out-of-range elements by NaN after a gather; other frameworks do not check. */
static bool is_filled_gather(hlo_writer *w, const hlo_op *o)
{
    double x;
    const hlo_op *maker = hlo_at(w->m, o->operands[1])->maker;
    return maker && (str_is(maker->name, "gather") || str_is(maker->name, "dynamic_gather")) &&
           hlo_scalar(w, o->operands[2], &x) && x != x;
}

static const hlo_op *maker_named(hlo_writer *w, hlo_value v, const char *name, int32_t operands)
{
    const hlo_op *maker = hlo_at(w->m, v)->maker;
    return maker && str_is(maker->name, name) && maker->operand_count == operands ? maker : NULL;
}

static bool is_less_than(hlo_writer *w, const hlo_op *compare, double limit)
{
    double x;
    return compare && str_is(direction_of(compare), "LT") && hlo_scalar(w, compare->operands[1], &x) && x == limit;
}

/* XLA expands erfc to |x| < 1 ? 1 - p(x) : (x < 0 ? 2 - q(x) : q(x)) with polynomials p and q. Returns x, or
 * HLO_NO_VALUE. */
static hlo_value complementary_error(hlo_writer *w, const hlo_op *o)
{
    const hlo_op *small = maker_named(w, o->operands[0], "compare", 2);
    const hlo_op *magnitude = small ? maker_named(w, small->operands[0], "abs", 1) : NULL;
    const hlo_op *inner = maker_named(w, o->operands[1], "subtract", 2);
    const hlo_op *outer = maker_named(w, o->operands[2], "select", 3);
    if (!magnitude || !inner || !outer || !is_less_than(w, small, 1))
        return HLO_NO_VALUE;
    const hlo_op *negative = maker_named(w, outer->operands[0], "compare", 2);
    const hlo_op *mirrored = maker_named(w, outer->operands[1], "subtract", 2);
    hlo_value x = magnitude->operands[0];
    double one, two;
    bool fits = negative && mirrored && is_less_than(w, negative, 0) && negative->operands[0] == x &&
                mirrored->operands[1] == outer->operands[2] && hlo_scalar(w, inner->operands[0], &one) && one == 1 &&
                hlo_scalar(w, mirrored->operands[0], &two) && two == 2;
    return fits ? x : HLO_NO_VALUE;
}

void hlo_map_select(hlo_writer *w, const hlo_op *o, const char *canonical)
{
    hlo_value x = complementary_error(w, o);
    if (x != HLO_NO_VALUE) {
        const hlo_op erfc = {.name = STR("erfc"),
                             .operands = &x,
                             .operand_count = 1,
                             .first_result = o->first_result,
                             .result_count = 1};
        hlo_map_erfc(w, &erfc, NULL);
        return;
    }
    if (is_filled_gather(w, o)) {
        hlo_bound same = *hlo_bound_of(w, o->operands[1]);
        hlo_bind_as(w, o->first_result, same);
        return;
    }
    hlo_write_pointwise(w, o, canonical);
}

/* Inputs: min, x, max. Maps to Clip if both bounds are known single numbers. */
void hlo_map_clamp(hlo_writer *w, const hlo_op *o, const char *canonical)
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

void hlo_map_convert(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    const hlo_type *to = hlo_type_of(w, o->first_result);
    if (to->dtype == hlo_type_of(w, o->operands[0])->dtype) {
        hlo_bound same = *hlo_bound_of(w, o->operands[0]);
        hlo_bind_as(w, o->first_result, same);
        return;
    }
    const hlo_bound from = *hlo_bound_of(w, o->operands[0]);
    emit_int(hlo_write_pointwise(w, o, "Cast"), "to", to->dtype);
    if (from.kind == HLO_PLAIN && hlo_type_of(w, o->operands[0])->dtype == DT_BOOL)
        hlo_bound_of(w, o->first_result)->truth = from.id + 1;
}
