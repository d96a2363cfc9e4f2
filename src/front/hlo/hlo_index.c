/* hlo_index.c: maps gathers, scatters and slices with computed positions. */
#include "front/hlo/hlo.h"

typedef struct gathering {
    int64_t offset[HLO_FEW], collapsed[HLO_FEW], indexed[HLO_FEW];
    int offset_count, collapsed_count, indexed_count;
    /* dimension of the indices along which a position is stored; equal to their rank if each position is a single
     * number */
    int64_t vector;
} gathering;

static bool has(const int64_t *list, int count, int64_t x)
{
    for (int i = 0; i < count; i++)
        if (list[i] == x)
            return true;
    return false;
}

static bool read_gathering(hlo_writer *w, const hlo_op *o, gathering *g)
{
    int64_t batching[HLO_FEW];
    g->offset_count = hlo_ints(o, "offset_dims", "", g->offset, HLO_FEW);
    g->collapsed_count = hlo_ints(o, "collapsed_slice_dims", "", g->collapsed, HLO_FEW);
    g->indexed_count = hlo_ints(o, "start_index_map", "", g->indexed, HLO_FEW);
    /* An absent list counts as empty. */
    g->offset_count = g->offset_count < 0 ? 0 : g->offset_count;
    g->collapsed_count = g->collapsed_count < 0 ? 0 : g->collapsed_count;
    g->vector = hlo_int(o, "index_vector_dim", "", 0);
    int rank = hlo_type_of(w, o->operands[1])->rank;
    return g->indexed_count > 0 && rank >= 0 && g->vector >= 0 && g->vector <= rank &&
           hlo_ints(o, "operand_batching_dims", "", batching, HLO_FEW) <= 0;
}

/* Returns the indices without their position dimension, which has size 1. */
static value_id single_indices(hlo_writer *w, const hlo_op *o, const gathering *g)
{
    value_id v = hlo_in(w, o->operands[1]);
    if (g->vector == hlo_type_of(w, o->operands[1])->rank)
        return v;
    return emit_squeeze(&w->e, v, &g->vector, 1, NO_VALUE);
}

/* Finds the select that computes v, also through a function call, and resolves its operands to v's scope. */
static bool find_select(hlo_writer *w, hlo_value v, hlo_value operands[3])
{
    const hlo_op *maker = hlo_at(w->m, v)->maker, *select = maker;
    const hlo_function *f = NULL;
    if (maker && str_is(maker->name, "call") && maker->result_count == 1) {
        f = hlo_find_function(w->m, maker->callee);
        const hlo_op *end = f ? hlo_terminator(&f->body) : NULL;
        select = end && end->operand_count == 1 ? hlo_at(w->m, end->operands[0])->maker : NULL;
    }
    if (!select || !str_is(select->name, "select") || select->operand_count != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        hlo_value at = select->operands[i];
        if (f && (at < f->body.first_argument || at >= f->body.first_argument + maker->operand_count))
            return false;
        operands[i] = f ? maker->operands[at - f->body.first_argument] : at;
    }
    return true;
}

/* Undoes JAX's index wrapping, i < 0 ? i + n : i. Returns the user's indices. */
static hlo_value unwrapped(hlo_writer *w, hlo_value v)
{
    hlo_value parts[3];
    double zero;
    if (!find_select(w, v, parts))
        return v;
    const hlo_op *compare = hlo_at(w->m, parts[0])->maker, *add = hlo_at(w->m, parts[1])->maker;
    if (compare && add && str_is(compare->name, "compare") && str_is(add->name, "add") && compare->operand_count == 2 &&
        add->operand_count == 2 && compare->operands[0] == parts[2] && add->operands[0] == parts[2] &&
        hlo_scalar(w, compare->operands[1], &zero) && zero == 0)
        return parts[2];
    return v;
}

/* Selects whole slices along one axis, as Gather does. `offset_dims` lists the result's other dimensions. */
static bool gather_axis(hlo_writer *w, const hlo_op *o, const gathering *g)
{
    const hlo_type *x = hlo_type_of(w, o->operands[0]), *indices = hlo_type_of(w, o->operands[1]);
    const hlo_type *result = hlo_type_of(w, o->first_result);
    int64_t axis = g->indexed[0], sizes[HLO_FEW];
    if (g->indexed_count != 1 || x->rank < 1 || x->rank > HLO_FEW || axis < 0 || axis >= x->rank)
        return false;
    bool is_collapsed = g->collapsed_count == 1 && g->collapsed[0] == axis;
    int size_count = hlo_ints(o, "slice_sizes", "", sizes, HLO_FEW);
    if ((!is_collapsed && g->collapsed_count) || (size_count >= 0 && size_count != x->rank))
        return false;
    for (int i = 0; i < size_count; i++)
        if (i == axis ? sizes[i] != 1 : sizes[i] != x->dims[i])
            return false;
    if (size_count < 0 && !is_collapsed)
        return false;
    int index_rank = indices->rank - (g->vector < indices->rank);
    int kept = x->rank - is_collapsed;
    if (result->rank != index_rank + kept || g->offset_count != kept || result->rank > HLO_FEW)
        return false;
    if (g->vector < indices->rank && indices->dims[g->vector] != 1)
        return false;
    /* Order of Gather's result: dimensions before the axis, index dimensions, dimensions after the axis. */
    int64_t *perm = ARENA_ARRAY(w->e.b->arena, int64_t, HLO_FEW);
    bool is_same = true;
    int batch = 0, offset = 0;
    for (int i = 0; i < result->rank; i++) {
        if (has(g->offset, g->offset_count, i)) {
            int at = offset++; /* index among the operand's kept dimensions */
            int dim = is_collapsed && at >= axis ? at + 1 : at;
            perm[i] = dim < axis ? dim : dim > axis ? dim - 1 + index_rank : -1;
            if (!is_collapsed)
                perm[i] = dim <= axis ? dim : dim + index_rank; /* the axis stays, with size 1 */
        } else {
            perm[i] = axis + batch++ + !is_collapsed;
        }
        is_same &= perm[i] == i;
    }
    hlo_value inner = o->operands[1];
    const hlo_op *view = hlo_at(w->m, inner)->maker;
    value_id ids = NO_VALUE;
    /* Looks through a reshape (…) → (…, 1) to the indices before wrapping. */
    if (view && (str_is(view->name, "broadcast_in_dim") || str_is(view->name, "reshape")) &&
        g->vector == indices->rank - 1 && hlo_type_of(w, view->operands[0])->rank == indices->rank - 1 &&
        hlo_bound_of(w, view->operands[0])->kind != HLO_UNBOUND) {
        hlo_value user = unwrapped(w, view->operands[0]);
        ids = hlo_in(w, hlo_bound_of(w, user)->kind != HLO_UNBOUND ? user : view->operands[0]);
    }
    if (ids == NO_VALUE)
        ids = single_indices(w, o, g);
    value_id data = hlo_in(w, o->operands[0]);
    if (!is_collapsed)
        ids = emit_unsqueeze(&w->e, ids, (const int64_t[]){0}, 1, NO_VALUE);
    node *n =
        emit_op(&w->e, "Gather", (const value_id[]){data, ids}, 2, is_same ? hlo_result(w, o->first_result) : NO_VALUE);
    emit_int(n, "axis", axis);
    if (is_same)
        hlo_bind(w, o->first_result, n->outputs[0]);
    else
        hlo_bind_as(
            w, o->first_result,
            (hlo_bound){.kind = HLO_PERMUTED, .id = n->outputs[0], .perm = perm, .shape = NO_VALUE, .whole = NO_VALUE});
    return true;
}

/* Selects single elements, or slices of the last dimensions, at positions in the first dimensions, as GatherND does. */
static bool gather_places(hlo_writer *w, const hlo_op *o, const gathering *g)
{
    const hlo_type *x = hlo_type_of(w, o->operands[0]), *indices = hlo_type_of(w, o->operands[1]);
    int64_t sizes[HLO_FEW];
    int batch = indices->rank - 1;
    if (x->rank < 1 || x->rank > HLO_FEW || g->vector != indices->rank - 1 || g->collapsed_count != g->indexed_count ||
        hlo_ints(o, "slice_sizes", "", sizes, HLO_FEW) != x->rank)
        return false;
    for (int i = 0; i < g->indexed_count; i++)
        if (g->indexed[i] != i || g->collapsed[i] != i || sizes[i] != 1)
            return false;
    for (int i = g->indexed_count; i < x->rank; i++)
        if (sizes[i] != x->dims[i] || g->offset_count != x->rank - g->indexed_count ||
            g->offset[i - g->indexed_count] != batch + i - g->indexed_count)
            return false;
    value_id inputs[] = {hlo_in(w, o->operands[0]), emit_index(&w->e, hlo_in(w, o->operands[1]))};
    hlo_bind(w, o->first_result, emit_op(&w->e, "GatherND", inputs, 2, hlo_result(w, o->first_result))->outputs[0]);
    return true;
}

bool hlo_map_gather(hlo_writer *w, const hlo_op *o)
{
    gathering g;
    return read_gathering(w, o, &g) && (gather_axis(w, o, &g) || gather_places(w, o, &g));
}

/* Copies the first operand and overwrites some elements. */
bool hlo_map_scatter(hlo_writer *w, const hlo_op *o)
{
    if (o->operand_count != 3 || o->result_count != 1)
        return false;
    value_id inputs[] = {hlo_in(w, o->operands[0]), hlo_in(w, o->operands[1]), hlo_in(w, o->operands[2])};
    node *n = emit_op(&w->e, "ScatterND", inputs, 3, hlo_result(w, o->first_result));
    str combiner = hlo_combiner(o);
    if (str_is(combiner, "add"))
        emit_text(n, "reduction", STR("add"));
    else if (str_is(combiner, "multiply"))
        emit_text(n, "reduction", STR("mul"));
    else if (str_is(combiner, "maximum") || str_is(combiner, "minimum"))
        emit_text(n, "reduction", str_is(combiner, "maximum") ? STR("max") : STR("min"));
    hlo_bind(w, o->first_result, n->outputs[0]);
    return true;
}

/* Inputs: x, one start per axis. Selects the rows start … start + size - 1. */
bool hlo_map_dynamic_slice(hlo_writer *w, const hlo_op *o)
{
    enum { MAX_ROWS = 4096 };
    emitter *e = &w->e;
    const hlo_type *t = hlo_type_of(w, o->operands[0]);
    int64_t sizes[HLO_FEW], starts[HLO_FEW], ends[HLO_FEW];
    int count = hlo_ints(o, "slice_sizes", "sizes", sizes, HLO_FEW);
    if (count < 0)
        count = hlo_ints(o, "dynamic_slice_sizes", "", sizes, HLO_FEW);
    if (count < 0 || count != t->rank || o->operand_count != 1 + count)
        return false;
    bool is_known = true;
    for (int i = 0; i < count; i++) {
        is_known &= sizes[i] == t->dims[i] || hlo_number(w, o->operands[1 + i], &starts[i]);
        if (sizes[i] < 0 || (sizes[i] != t->dims[i] && sizes[i] > MAX_ROWS))
            return false;
    }
    value_id x = hlo_in(w, o->operands[0]);
    if (is_known) {
        int64_t axes[HLO_FEW];
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (sizes[i] == t->dims[i])
                continue;
            int64_t most = dim_known(t->dims[i]) && t->dims[i] > sizes[i] ? t->dims[i] - sizes[i] : 0;
            starts[kept] = starts[i] < 0 ? 0 : starts[i] > most ? most : starts[i];
            ends[kept] = starts[kept] + sizes[i];
            axes[kept++] = i;
        }
        if (!kept) {
            hlo_bind(w, o->first_result, x);
            return true;
        }
        value_id inputs[] = {x, emit_list(e, starts, kept), emit_list(e, ends, kept), emit_list(e, axes, kept)};
        hlo_bind(w, o->first_result, emit_op(e, "Slice", inputs, 4, hlo_result(w, o->first_result))->outputs[0]);
        return true;
    }
    int last = -1;
    for (int i = 0; i < count; i++)
        if (sizes[i] != t->dims[i])
            last = i;
    for (int i = 0; i <= last; i++) {
        if (sizes[i] == t->dims[i])
            continue;
        int64_t rows[MAX_ROWS];
        for (int64_t k = 0; k < sizes[i]; k++)
            rows[k] = k;
        value_id start = emit_index(e, hlo_in(w, o->operands[1 + i]));
        value_id places = sizes[i] == 1 ? emit_unsqueeze(e, start, (const int64_t[]){0}, 1, NO_VALUE)
                                        : emit_2(e, "Add", start, emit_list(e, rows, (int)sizes[i]), NO_VALUE);
        node *n = emit_op(e, "Gather", (const value_id[]){x, places}, 2,
                          i == last ? hlo_result(w, o->first_result) : NO_VALUE);
        emit_int(n, "axis", i);
        x = n->outputs[0];
    }
    hlo_bind(w, o->first_result, x);
    return true;
}

/* Inputs: x, the part to write, one start per axis. */
bool hlo_map_dynamic_update_slice(hlo_writer *w, const hlo_op *o)
{
    emitter *e = &w->e;
    int rank = hlo_type_of(w, o->operands[0])->rank;
    if (rank < 1 || rank > HLO_FEW || o->operand_count != 2 + rank)
        return false;
    value_id places[HLO_FEW];
    for (int i = 0; i < rank; i++)
        places[i] = emit_unsqueeze(e, emit_index(e, hlo_in(w, o->operands[2 + i])), (const int64_t[]){0}, 1, NO_VALUE);
    node *joined = emit_op(e, "Concat", places, rank, NO_VALUE);
    emit_int(joined, "axis", 0);
    value_id inputs[] = {hlo_in(w, o->operands[0]), joined->outputs[0], hlo_in(w, o->operands[1])};
    hlo_bind(w, o->first_result, emit_op(e, "ScatterND", inputs, 3, hlo_result(w, o->first_result))->outputs[0]);
    return true;
}
