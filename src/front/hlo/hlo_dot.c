/* hlo_dot.c: maps products. A dot_general has shared (batch), summed and free dimensions in any order; its result is
 * (batch, left free, right free). The canonical form is MatMul of (batch, M, K) with (batch, K, N). */
#include "front/hlo/hlo.h"

typedef struct side {
    hlo_value v;
    int batch_count, free_count, summed_count;
    int64_t batch[HLO_FEW], free[HLO_FEW], summed[HLO_FEW];
} side;

static bool read_side(hlo_writer *w, const hlo_op *o, int index, side *s)
{
    static const char *const BATCH[] = {"lhs_batching_dimensions", "rhs_batching_dimensions"};
    static const char *const HLO_BATCH[] = {"lhs_batch_dims", "rhs_batch_dims"};
    static const char *const SUMMED[] = {"lhs_contracting_dimensions", "rhs_contracting_dimensions"};
    static const char *const HLO_SUMMED[] = {"lhs_contracting_dims", "rhs_contracting_dims"};
    bool is_used[HLO_FEW] = {false};
    s->v = o->operands[index];
    int rank = hlo_type_of(w, s->v)->rank;
    if (rank < 0 || rank > HLO_FEW)
        return false;
    s->batch_count = hlo_ints(o, BATCH[index], HLO_BATCH[index], s->batch, HLO_FEW);
    s->summed_count = hlo_ints(o, SUMMED[index], HLO_SUMMED[index], s->summed, HLO_FEW);
    if (s->batch_count < 0)
        s->batch_count = 0;
    if (s->summed_count < 0) { /* "dot" sums the last dimension of the left operand and the first of the right */
        s->summed_count = rank > 0;
        s->summed[0] = index ? 0 : rank - 1;
    }
    for (int i = 0; i < s->batch_count + s->summed_count; i++) {
        int64_t dim = i < s->batch_count ? s->batch[i] : s->summed[i - s->batch_count];
        if (dim < 0 || dim >= rank || is_used[dim])
            return false;
        is_used[dim] = true;
    }
    s->free_count = 0;
    for (int i = 0; i < rank; i++)
        if (!is_used[i])
            s->free[s->free_count++] = i;
    return true;
}

/* Returns the product's order: (batch, free, summed) for the left operand, (batch, summed, free) for the right. */
static int order_of(const side *s, bool is_left, int64_t *perm)
{
    int n = 0;
    for (int i = 0; i < s->batch_count; i++)
        perm[n++] = s->batch[i];
    for (int i = 0; is_left && i < s->free_count; i++)
        perm[n++] = s->free[i];
    for (int i = 0; i < s->summed_count; i++)
        perm[n++] = s->summed[i];
    for (int i = 0; !is_left && i < s->free_count; i++)
        perm[n++] = s->free[i];
    return n;
}

static bool is_identity(const int64_t *perm, int rank)
{
    for (int i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/* True if the operand has that order already and needs no transpose. */
static bool is_ordered(hlo_writer *w, const side *s, bool is_left)
{
    int64_t perm[HLO_FEW];
    int rank = order_of(s, is_left, perm);
    const hlo_bound *b = hlo_bound_of(w, s->v);
    if (b->is_weight && b->kind == HLO_PLAIN)
        return true;
    for (int i = 0; b->kind == HLO_PERMUTED && i < rank; i++)
        perm[i] = b->perm[perm[i]];
    return is_identity(perm, rank);
}

static num product_of(const hlo_type *t, const int64_t *axes, int count)
{
    num product = 1;
    for (int i = 0; i < count; i++)
        if (!dim_known(t->dims[axes[i]]) || __builtin_mul_overflow(product, t->dims[axes[i]], &product))
            return NUM_UNKNOWN;
    return product;
}

/* Transposes before scaling if x is scaled and then transposed, so that the scale is next to the product. */
static value_id ordered_before_scale(hlo_writer *w, hlo_value v, const int64_t *perm, int rank)
{
    const hlo_op *maker = hlo_at(w->m, v)->maker;
    double number;
    if (!maker || maker->operand_count != 2 || hlo_at(w->m, v)->uses != 1 || hlo_bound_of(w, v)->kind != HLO_PLAIN ||
        (!str_is(maker->name, "divide") && !str_is(maker->name, "multiply")))
        return NO_VALUE;
    const hlo_bound *scale = hlo_bound_of(w, maker->operands[1]);
    bool is_single = scale->kind == HLO_BROADCAST && scale->id_rank == 0;
    if (!is_single && !hlo_scalar(w, maker->operands[1], &number))
        return NO_VALUE;
    hlo_bound x = *hlo_bound_of(w, maker->operands[0]);
    if (x.kind == HLO_UNBOUND || x.kind == HLO_NOTHING || x.kind == HLO_TUPLE)
        return NO_VALUE;
    value_id moved = emit_transpose(&w->e, hlo_in(w, maker->operands[0]), perm, rank, NO_VALUE);
    return emit_2(&w->e, str_is(maker->name, "divide") ? "Div" : "Mul", moved, hlo_operand(w, maker->operands[1]),
                  NO_VALUE);
}

static value_id permuted(hlo_writer *w, hlo_value v, const int64_t *perm, int rank)
{
    int64_t both[HLO_FEW];
    const hlo_bound b = *hlo_bound_of(w, v);
    if (is_identity(perm, rank))
        return hlo_in(w, v);
    if (b.is_weight && b.kind == HLO_PLAIN)
        return emit_permuted(&w->e, b.id, perm, rank);
    if (b.kind == HLO_PERMUTED) {
        for (int i = 0; i < rank; i++)
            both[i] = b.perm[perm[i]];
        return is_identity(both, rank) ? b.id : emit_transpose(&w->e, b.id, both, rank, NO_VALUE);
    }
    value_id scaled = ordered_before_scale(w, v, perm, rank);
    return scaled != NO_VALUE ? scaled : emit_transpose(&w->e, hlo_in(w, v), perm, rank, NO_VALUE);
}

/* Returns the operand as (batch, M, K) or (batch, K, N). Without a batch, a left operand keeps its free dimensions,
 * and an operand without free dimensions stays a vector. */
static value_id matrix_of(hlo_writer *w, const side *s, bool is_left, bool has_batch)
{
    int64_t perm[HLO_FEW], dims[HLO_FEW];
    const hlo_type *t = hlo_type_of(w, s->v);
    int rank = order_of(s, is_left, perm), n = 0;
    value_id x = permuted(w, s->v, perm, rank);
    bool keeps_free = !has_batch && is_left;
    bool is_plain = s->summed_count == 1 && (s->free_count == 1 || keeps_free || (!has_batch && s->free_count == 0));
    if (is_plain)
        return x;
    num summed = product_of(t, s->summed, s->summed_count), open = product_of(t, s->free, s->free_count);
    for (int i = 0; i < s->batch_count; i++)
        dims[n++] = 0;
    if (is_left) {
        for (int i = 0; keeps_free && i < s->free_count; i++)
            dims[n++] = 0;
        if (!keeps_free)
            dims[n++] = open == NUM_UNKNOWN ? -1 : open;
    }
    dims[n++] = summed == NUM_UNKNOWN ? -1 : summed;
    if (!is_left && (has_batch || s->free_count))
        dims[n++] = open == NUM_UNKNOWN ? -1 : open;
    if (hlo_is_weight(w, s->v) && summed != NUM_UNKNOWN && open != NUM_UNKNOWN && emit_constant_of(&w->e, x)) {
        const tensor *c = emit_constant_of(&w->e, x);
        for (int i = 0; i < n && i < c->rank; i++)
            if (dims[i] == 0)
                dims[i] = c->dims[i];
        return hlo_reshaped_weight(w, x, dims, n);
    }
    return emit_reshaped(&w->e, x, dims, n, NO_VALUE);
}

/* Casts an operand to the type of the product, which may be wider. */
static value_id as_type(hlo_writer *w, value_id x, dtype from, dtype to)
{
    return from == to ? x : emit_cast(&w->e, x, to, NO_VALUE);
}

/* Converts the merged (batch, first free, second free) to the operator's result. */
static void bind_product(hlo_writer *w, const hlo_op *o, value_id y, const side *first, const side *second,
                         bool is_swapped)
{
    const hlo_type *t = hlo_type_of(w, o->first_result);
    bool has_batch = first->batch_count > 0;
    int head = first->batch_count, merged = second->free_count;
    bool is_whole = has_batch ? first->free_count == 1 && merged == 1 : merged <= 1;
    if (!is_whole && !has_batch && !is_swapped && merged > 1) {
        hlo_bind_as(w, o->first_result,
                    (hlo_bound){.kind = HLO_SPLIT, .id = y, .id_rank = merged, .shape = NO_VALUE, .whole = NO_VALUE});
        return;
    }
    /* Dimensions of the result in the product's order. */
    int64_t dims[MAX_RANK], *perm = ARENA_ARRAY(w->e.b->arena, int64_t, MAX_RANK);
    int left = is_swapped ? merged : first->free_count; /* number of free dimensions of the operator's left operand */
    int n = 0;
    for (int i = 0; i < head; i++)
        perm[n++] = i;
    for (int i = 0; i < left; i++)
        perm[n++] = head + (is_swapped ? first->free_count : 0) + i;
    for (int i = 0; n < t->rank; i++)
        perm[n++] = head + (is_swapped ? 0 : first->free_count) + i;
    if (!is_whole) {
        for (int i = 0; i < t->rank; i++) {
            int64_t from = 0;
            while (perm[from] != i)
                from++;
            dims[i] = i < head ? 0 : dim_known(t->dims[from]) ? t->dims[from] : -1;
        }
        y = emit_reshaped(&w->e, y, dims, t->rank, is_swapped ? NO_VALUE : hlo_result(w, o->first_result));
    }
    if (is_swapped && !is_identity(perm, t->rank))
        hlo_bind_as(w, o->first_result,
                    (hlo_bound){.kind = HLO_PERMUTED, .id = y, .perm = perm, .shape = NO_VALUE, .whole = NO_VALUE});
    else
        hlo_bind(w, o->first_result, y);
}

bool hlo_map_dot(hlo_writer *w, const hlo_op *o)
{
    side sides[2];
    if (!read_side(w, o, 0, &sides[0]) || !read_side(w, o, 1, &sides[1]) ||
        sides[0].summed_count != sides[1].summed_count || sides[0].batch_count != sides[1].batch_count)
        return false;
    const hlo_type *t = hlo_type_of(w, o->first_result);
    bool has_batch = sides[0].batch_count > 0;
    if (t->rank != sides[0].batch_count + sides[0].free_count + sides[1].free_count || t->rank > HLO_FEW)
        return false;
    if (!has_batch && sides[0].summed_count == 0) /* an outer product, whose K is 1 */
        has_batch = true;
    /* Selects the order that needs fewer transposes; weights go to the right. */
    bool is_swapped;
    if (has_batch)
        is_swapped = !is_ordered(w, &sides[0], true) + !is_ordered(w, &sides[1], false) >
                     !is_ordered(w, &sides[1], true) + !is_ordered(w, &sides[0], false);
    else
        is_swapped = hlo_is_weight(w, sides[0].v) && !hlo_is_weight(w, sides[1].v) && sides[1].free_count > 0;
    const side *first = &sides[is_swapped], *second = &sides[!is_swapped];
    if (!has_batch && first->free_count == 0 && second->free_count > 1)
        has_batch = true; /* a vector times a matrix with several free dimensions becomes a batch of one */
    dtype types[2] = {hlo_type_of(w, first->v)->dtype, hlo_type_of(w, second->v)->dtype};
    dtype common = dtype_bits(types[0]) >= dtype_bits(types[1]) ? types[0] : types[1];
    value_id a = matrix_of(w, first, true, has_batch), b = matrix_of(w, second, false, has_batch);
    a = as_type(w, a, types[0], common);
    b = as_type(w, b, types[1], common);
    bool is_last = common == t->dtype;
    bool is_whole =
        has_batch ? first->batch_count && first->free_count == 1 && second->free_count == 1 : second->free_count <= 1;
    value_id named = is_whole && !is_swapped ? hlo_result(w, o->first_result) : NO_VALUE;
    value_id y = emit_2(&w->e, "MatMul", a, b, is_last ? named : NO_VALUE);
    if (!is_last)
        y = emit_cast(&w->e, y, t->dtype, named);
    if (has_batch && !first->batch_count) { /* merged to (M, N); a reshape restores all dimensions */
        int64_t dims[MAX_RANK];
        if (!hlo_static_dims(t, dims))
            for (int i = 0; i < t->rank; i++)
                dims[i] = dim_known(t->dims[i]) ? t->dims[i] : -1;
        hlo_bind(w, o->first_result, emit_reshaped(&w->e, y, dims, t->rank, hlo_result(w, o->first_result)));
        return true;
    }
    bind_product(w, o, y, first, second, is_swapped);
    return true;
}

/* ---- bias -------------------------------------------------------------------------------------------------------- */

/* Adds a bias to a product before it is split into several dimensions, as a linear layer does. */
static bool add_to_split(hlo_writer *w, const hlo_op *o, hlo_value product, hlo_value bias)
{
    const hlo_bound p = *hlo_bound_of(w, product), b = *hlo_bound_of(w, bias);
    const hlo_type *t = hlo_type_of(w, product);
    const tensor *c = emit_constant_of(&w->e, b.id);
    num columns = 1;
    if (p.kind != HLO_SPLIT || !b.is_weight || !c || (b.kind != HLO_BROADCAST && b.kind != HLO_PLAIN) ||
        c->rank < p.id_rank || hlo_at(w->m, product)->uses != 1)
        return false;
    for (int i = 1; i <= c->rank; i++) {
        num dim = i <= p.id_rank ? t->dims[t->rank - i] : 1;
        if (c->dims[c->rank - i] != dim || __builtin_mul_overflow(columns, dim, &columns))
            return false;
    }
    value_id row = hlo_reshaped_weight(w, b.id, &columns, 1);
    hlo_bound sum = p;
    sum.id = emit_2(&w->e, "Add", p.id, row, NO_VALUE);
    sum.whole = NO_VALUE;
    hlo_bind_as(w, o->first_result, sum);
    return true;
}

/* Adds a per-channel bias to a convolution. */
static bool add_to_convolution(hlo_writer *w, const hlo_op *o, hlo_value product, hlo_value bias)
{
    const hlo_op *maker = hlo_at(w->m, product)->maker;
    const hlo_bound p = *hlo_bound_of(w, product), b = *hlo_bound_of(w, bias);
    const tensor *c = emit_constant_of(&w->e, b.id);
    graph *g = &w->e.b->source->main;
    if (!maker || !str_is(maker->name, "convolution") || p.kind != HLO_PLAIN || !b.is_weight || !c || c->rank < 1 ||
        w->graph != 0 || hlo_at(w->m, product)->uses != 1)
        return false;
    node *n = NULL;
    enum { NEAR = 16 }; /* the product was written shortly before its bias */
    int64_t feature = hlo_int(maker, "output_feature_dimension", "", 0);
    int64_t channels = hlo_type_of(w, product)->dims[feature];
    feature += c->rank - hlo_type_of(w, product)->rank;
    for (int i = 0; i < c->rank; i++)
        if (c->dims[i] != (i == feature ? channels : 1))
            return false;
    value_id row = hlo_reshaped_weight(w, b.id, &channels, 1);
    for (int32_t i = g->nodes.count - 1; i >= 0 && i >= g->nodes.count - NEAR && !n; i--)
        if (g->nodes.items[i].output_count == 1 && g->nodes.items[i].outputs[0] == p.id)
            n = &g->nodes.items[i];
    if (!n || n->input_count != 2)
        return false;
    value_id *inputs = ARENA_ARRAY(w->e.b->arena, value_id, 3);
    inputs[0] = n->inputs[0];
    inputs[1] = n->inputs[1];
    inputs[2] = row;
    n->inputs = inputs;
    n->input_count = 3;
    hlo_bind(w, o->first_result, p.id);
    return true;
}

bool hlo_map_bias(hlo_writer *w, const hlo_op *o)
{
    for (int i = 0; i < 2; i++)
        if (add_to_split(w, o, o->operands[i], o->operands[1 - i]) ||
            add_to_convolution(w, o, o->operands[i], o->operands[1 - i]))
            return true;
    return false;
}
