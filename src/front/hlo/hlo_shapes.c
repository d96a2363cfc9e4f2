/* hlo_shapes.c: maps HLO operators that change a tensor's shape: reshapes, permutations, broadcasts, iota. */
#include "front/hlo/hlo_map.h"

/* True if the reshape only removes dimensions of 1, which a later broadcast may restore. */
static bool drops_ones(hlo_writer *w, hlo_value x, const hlo_type *to, hlo_bound *as)
{
    const hlo_type *from = hlo_type_of(w, x);
    *as = (hlo_bound){.kind = HLO_SQUEEZED, .id_rank = from->rank, .shape = NO_VALUE, .whole = NO_VALUE};
    if (from->rank <= to->rank || from->rank > 60 || to->rank < 1)
        return false;
    int at = 0;
    for (int i = 0; i < from->rank; i++) {
        if (at < to->rank && from->dims[i] == to->dims[at])
            at++;
        else if (from->dims[i] == 1)
            as->repeated |= UINT64_C(1) << i;
        else
            return false;
    }
    return at == to->rank;
}

value_id hlo_reshape(hlo_writer *w, value_id x, const int64_t *dims, int rank, value_id output)
{
    node *n = emit_op(&w->e, "Reshape", (const value_id[]){x, emit_list(&w->e, dims, rank)}, 2, output);
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) { /* in ONNX 0 means "keep this dimension" */
            emit_int(n, "allowzero", 1);
            break;
        }
    return n->outputs[0];
}

void hlo_map_reshape(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    hlo_bound as;
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
    if (b->kind == HLO_PLAIN && is_static && drops_ones(w, o->operands[0], t, &as)) {
        as.id = b->id;
        hlo_bind_as(w, o->first_result, as);
        return;
    }
    if (b->kind == HLO_SQUEEZED && is_static && b->id_rank == t->rank) { /* the removed dimensions of 1 come back */
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
    if (is_static) {
        hlo_bind(w, o->first_result, hlo_reshape(w, x, dims, t->rank, hlo_result(w, o->first_result)));
        return;
    }
    if (o->operand_count > 1)
        shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
    if (shape == NO_VALUE) {
        hlo_foreign(w, o);
        return;
    }
    hlo_bind(w, o->first_result, emit_2(&w->e, "Reshape", x, shape, hlo_result(w, o->first_result)));
}

void hlo_map_transpose(hlo_writer *w, const hlo_op *o, const char *unused)
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
        hlo_map_same(w, o, NULL);
        return;
    }
    if (b.is_weight && b.kind == HLO_PLAIN) {
        hlo_bind(w, o->first_result, emit_permuted(&w->e, b.id, perm, rank));
        hlo_bound_of(w, o->first_result)->is_weight = true;
        return;
    }
    if (b.kind == HLO_PERMUTED) { /* merges both permutations into one */
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

/* True if the broadcast restores exactly the squeezed dimensions. */
static bool brings_back(const hlo_bound *b, const int64_t *dims, int count)
{
    uint64_t kept = 0;
    for (int i = 0; i < count; i++)
        kept |= UINT64_C(1) << dims[i];
    return (kept ^ b->repeated) == (b->id_rank < 64 ? (UINT64_C(1) << b->id_rank) - 1 : UINT64_MAX);
}

/* Binds the result of a broadcast that restores the squeezed dimensions of `b`. */
static void bring_back(hlo_writer *w, const hlo_op *o, const hlo_bound *b, const hlo_type *to)
{
    hlo_bound back = {.kind = HLO_SQUEEZED,
                      .id = b->id,
                      .reduced = b->reduced,
                      .id_rank = to->rank,
                      .shape = NO_VALUE,
                      .whole = NO_VALUE};
    for (int i = 0; i < to->rank; i++)
        if ((b->repeated >> i & 1) && to->dims[i] != 1)
            back.repeated |= UINT64_C(1) << i;
    if (back.repeated) {
        back.kind = HLO_BROADCAST;
        back.id = hlo_kept(w, o->operands[0]);
        back.reduced = NULL;
        if (o->operand_count > 1)
            back.shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
    }
    hlo_bind_as(w, o->first_result, back);
}

/* Returns the dimensions of the result along which values repeat, as a bit mask. */
static uint64_t repeated_by(const hlo_bound *b, const hlo_type *from, const hlo_type *to, const int64_t *dims)
{
    uint64_t repeated = (UINT64_C(1) << to->rank) - 1;
    for (int i = 0; i < from->rank; i++) {
        bool was_repeated = (b->repeated >> i & 1) || i < from->rank - b->id_rank;
        bool may_grow = from->dims[i] == 1 && to->dims[dims[i]] != 1;
        if (!was_repeated && !may_grow)
            repeated &= ~(UINT64_C(1) << dims[i]);
    }
    for (int i = 0; i < to->rank; i++)
        if (to->dims[i] == 1)
            repeated &= ~(UINT64_C(1) << i);
    return repeated;
}

/* Inserts dimensions of size 1 into the value of `b`, which then has `rank` dimensions. */
static value_id with_added(hlo_writer *w, const hlo_bound *b, const int64_t *added, int count, int rank)
{
    const tensor *t = b->is_weight ? emit_constant_of(&w->e, b->id) : NULL;
    if (!t)
        return emit_unsqueeze(&w->e, b->id, added, count, NO_VALUE);
    int64_t shape[MAX_RANK];
    int at = 0;
    for (int i = 0; i < rank; i++) {
        bool is_added = at < count && added[at] == i;
        shape[i] = is_added ? 1 : t->dims[i - at];
        at += is_added;
    }
    return hlo_reshaped_weight(w, b->id, shape, rank);
}

/* Dimension i of the operand becomes dimension dims[i]; the others are new. */
void hlo_map_broadcast(hlo_writer *w, const hlo_op *o, const char *unused)
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
        bring_back(w, o, &b, to);
        return;
    }
    if (b.kind != HLO_BROADCAST) {
        bool is_weight = b.is_weight;
        b = (hlo_bound){.kind = HLO_BROADCAST, .id = hlo_in(w, x), .id_rank = from->rank, .is_weight = is_weight};
    }
    hlo_bound made = {.kind = HLO_BROADCAST, .is_weight = b.is_weight, .shape = NO_VALUE, .whole = NO_VALUE};
    made.repeated = repeated_by(&b, from, to, dims);
    int first = from->rank - b.id_rank; /* index of the operand's first dimension that `id` has */
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
    made.id = added_count ? with_added(w, &b, added, added_count, made.id_rank) : b.id;
    if (o->operand_count > 1)
        made.shape = emit_index(&w->e, hlo_in(w, o->operands[1]));
    if (!made.repeated && made.id_rank == to->rank)
        made.kind = HLO_PLAIN;
    hlo_bind_as(w, o->first_result, made);
}

void hlo_map_iota(hlo_writer *w, const hlo_op *o, const char *unused)
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

void hlo_map_dimension_size(hlo_writer *w, const hlo_op *o, const char *unused)
{
    (void)unused;
    emitter *e = &w->e;
    int64_t axis = hlo_int(o, "dimension", "dim", 0);
    value_id shape = hlo_shape_of(w, o->operands[0]);
    value_id size = emit_2(e, "Gather", shape, emit_number(e, axis), NO_VALUE);
    hlo_bind(w, o->first_result,
             emit_cast(e, size, hlo_type_of(w, o->first_result)->dtype, hlo_result(w, o->first_result)));
}
