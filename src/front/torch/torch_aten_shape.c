/* torch_aten_shape.c: ATen's views, joins, splits and movements. Copies and casts are in torch_aten_copy.c. */
#include "front/torch/torch.h"
#include "graph/ops.h"

static void give_up(torch_call *c)
{
    torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* Returns a shape in which -1 takes the remaining elements. It is resolved here if possible, so that sizes are known
 * at once. */
static void rule_view(torch_call *c)
{
    torch *t = c->torch;
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_arg_ints(c, 1, dims);
    if (rank < 0 || x == NO_VALUE || !torch_is_list(c->args[1])) {
        torch_return(c, x); /* view(dtype) keeps the bytes, so it returns x */
        return;
    }
    torch_return(c, torch_reshape(t, x, dims, rank));
}

static void rule_view_as(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), like = torch_arg_tensor(c, 1);
    int rank = torch_rank(t, like);
    if (rank < 0) {
        give_up(c);
        return;
    }
    const num *dims = arena_copy(t->arena, torch_at(t, like)->dims, (size_t)rank, sizeof(num));
    torch_return(c, str_is(str_of(c->op->name), "expand_as") ? torch_expand(t, x, dims, rank)
                                                             : torch_reshape(t, x, dims, rank));
}

static void rule_flatten(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    num start = torch_arg_int(c, 1, 0), end = torch_arg_int(c, 2, -1);
    if (rank == 0) {
        torch_return(c, torch_reshape(t, x, (num[]){1}, 1));
        return;
    }
    if (start == 1 && (end == -1 || end == rank - 1)) {
        torch_node n = torch_begin(t, "Flatten");
        torch_in(&n, x);
        torch_attr_int(&n, "axis", 1);
        torch_return(c, torch_end(&n));
        return;
    }
    int first = torch_axis(start, rank), last = torch_axis(end, rank), count = 0;
    if (first < 0 || last < first) {
        if (start == 0 && end == -1)
            torch_return(c, torch_reshape(t, x, (num[]){-1}, 1));
        else
            give_up(c);
        return;
    }
    num dims[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        num dim = torch_dim(t, x, i);
        if (i > first && i <= last)
            dims[count - 1] = num_mul(t->nums, dims[count - 1], dim);
        else
            dims[count++] = dim;
    }
    torch_return(c, torch_reshape(t, x, dims, count));
}

static void rule_unflatten(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num parts[MAX_RANK], dims[2 * MAX_RANK];
    int rank = torch_rank(t, x), axis = torch_axis(torch_arg_int(c, 1, 0), rank);
    int count = torch_arg_ints(c, 2, parts), used = 0;
    if (axis < 0 || count < 0 || rank + count > MAX_RANK) {
        give_up(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        if (i != axis)
            dims[used++] = torch_dim(t, x, i);
        else
            for (int k = 0; k < count; k++)
                dims[used++] = parts[k];
    torch_return(c, torch_reshape(t, x, dims, used));
}

static void rule_unsqueeze(torch_call *c)
{
    torch *t = c->torch;
    num axis = torch_arg_int(c, 1, 0);
    value_id x = torch_arg_tensor(c, 0);
    torch_return(c, torch_unsqueeze(t, x, num_known(axis) ? axis : 0));
}

/* Removes only dimensions of size 1. */
static void rule_squeeze(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axes[MAX_RANK], gone[MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 1, axes), used = 0;
    if (rank < 0) {
        give_up(c);
        return;
    }
    for (int i = 0; i < rank; i++) {
        bool asked = count < 0;
        for (int k = 0; k < count; k++)
            asked = asked || torch_axis(axes[k], rank) == i;
        if (asked && torch_dim(t, x, i) == 1)
            gone[used++] = i;
    }
    torch_return(c, used ? torch_emit2(t, "Squeeze", x, torch_const_ints(t, gone, used)) : x);
}

static void rule_permute(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axes[MAX_RANK];
    int64_t order[MAX_RANK];
    int rank = torch_arg_ints(c, 1, axes);
    for (int i = 0; i < rank; i++) {
        order[i] = torch_axis(axes[i], rank);
        if (order[i] < 0)
            rank = -1;
    }
    if (rank < 1)
        torch_return(c, x);
    else
        torch_return(c, torch_transpose(t, x, order, rank));
}

static void swap_axes(torch_call *c, num a, num b)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x), first = torch_axis(a, rank), second = torch_axis(b, rank);
    if (first < 0 || second < 0) {
        if (rank >= 0)
            torch_return(c, x);
        else
            give_up(c);
        return;
    }
    int64_t order[MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = i == first ? second : i == second ? first : i;
    torch_return(c, first == second ? x : torch_transpose(t, x, order, rank));
}

static void rule_transpose(torch_call *c)
{
    swap_axes(c, torch_arg_int(c, 1, 0), torch_arg_int(c, 2, 1));
}

static void rule_t(torch_call *c)
{
    if (torch_rank(c->torch, torch_arg_tensor(c, 0)) < 2)
        torch_return_same(c);
    else
        swap_axes(c, -2, -1);
}

static void rule_movedim(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num from[MAX_RANK], to[MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 1, from);
    int64_t order[MAX_RANK];
    bool taken[MAX_RANK] = {false}, known = rank >= 0 && torch_arg_ints(c, 2, to) == count;
    for (int i = 0; known && i < rank; i++)
        order[i] = -1;
    for (int k = 0; known && k < count; k++) {
        int source = torch_axis(from[k], rank), target = torch_axis(to[k], rank);
        known = source >= 0 && target >= 0;
        if (known) {
            order[target] = source;
            taken[source] = true;
        }
    }
    for (int i = 0, next = 0; known && i < rank; i++) {
        if (order[i] >= 0)
            continue;
        while (next < rank - 1 && taken[next])
            next++;
        order[i] = next++;
    }
    if (known)
        torch_return(c, torch_transpose(t, x, order, rank));
    else
        give_up(c);
}

static void rule_expand(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num dims[MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 1, dims);
    bool same = rank == count;
    for (int i = 0; i < count && rank >= 0; i++) {
        int own = i - (count - rank);
        if (dims[i] == -1 && own >= 0)
            dims[i] = torch_dim(t, x, own);
        same = same && dims[i] == torch_dim(t, x, own);
    }
    if (count < 0)
        give_up(c);
    else
        torch_return(c, same ? x : torch_expand(t, x, dims, count));
}

static void rule_repeat(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num times[MAX_RANK], dims[MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 1, times);
    if (rank < 0 || count < 0) {
        give_up(c);
        return;
    }
    if (count < rank) { /* tile() with fewer repeats than dimensions: they apply to the last ones */
        memmove(times + rank - count, times, (size_t)count * sizeof *times);
        for (int i = 0; i < rank - count; i++)
            times[i] = 1;
        count = rank;
    }
    for (int i = 0; i < count; i++)
        dims[i] = i < count - rank ? 1 : torch_dim(t, x, i - (count - rank));
    if (count > rank)
        x = torch_reshape(t, x, dims, count);
    torch_return(c, torch_emit2(t, "Tile", x, torch_const_ints(t, times, count)));
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void rule_slice(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 1, 0), from = torch_arg_int(c, 2, 0), to = torch_arg_int(c, 3, INT64_MAX);
    num step = torch_arg_int(c, 4, 1), size = torch_dim(t, x, torch_axis(axis, torch_rank(t, x)));
    bool whole =
        from == 0 && step == 1 && (to == INT64_MAX || (dim_known(size) && num_known(to) && to >= size) || to == size);
    if (whole || !num_known(axis))
        torch_return(c, x);
    else
        torch_return(c, torch_slice(t, x, axis, from, to, step));
}

static value_id selected(torch *t, value_id x, num axis, num index, bool is_unbind)
{
    torch_node n = torch_begin(t, "Gather");
    torch_in(&n, x);
    torch_in(&n, torch_const_int(t, index, DT_INT64));
    torch_attr_int(&n, "axis", num_known(axis) ? axis : 0);
    if (is_unbind && t->is_exact)
        torch_attr_int(&n, "eager_unbind", 1);
    return torch_end(&n);
}

static void rule_select(torch_call *c)
{
    torch_return(c, selected(c->torch, torch_arg_tensor(c, 0), torch_arg_int(c, 1, 0), torch_arg_int(c, 2, 0), false));
}

/* Returns a list of tensors as the only result. */
static void return_list(torch_call *c, const value_id *ids, int count)
{
    torch_value list = torch_new_list(c->torch, TORCH_LIST, count);
    for (int i = 0; i < count; i++)
        list.list->items[i] = torch_tensor(ids[i]);
    c->results[c->result_count++] = list;
}

enum { MAX_PARTS = 4096 };

static void split_into(torch_call *c, value_id x, num axis, const num *sizes, int count)
{
    torch *t = c->torch;
    if (count < 1 || count > MAX_PARTS) {
        give_up(c);
        return;
    }
    value_id *ids = ARENA_ARRAY(t->arena, value_id, (size_t)count);
    torch_node n = torch_begin(t, "Split");
    torch_in(&n, x);
    if (count <= MAX_RANK)
        torch_in(&n, torch_const_ints(t, sizes, count));
    else
        torch_attr_int(&n, "num_outputs", count);
    torch_attr_int(&n, "axis", num_known(axis) ? axis : 0);
    torch_end_many(&n, ids, count);
    return_list(c, ids, count);
}

/* Splits into equal parts; the last one has the rest. */
static void split_by(torch_call *c, value_id x, num axis, num part)
{
    torch *t = c->torch;
    num whole = torch_dim(t, x, torch_axis(axis, torch_rank(t, x)));
    if (!dim_known(whole) || !num_known(part) || part <= 0) {
        give_up(c);
        return;
    }
    num count = whole ? (whole - 1) / part + 1 : 1;
    if (count > MAX_PARTS) {
        give_up(c);
        return;
    }
    num *sizes = ARENA_ARRAY(t->arena, num, (size_t)count);
    for (num i = 0; i < count; i++)
        sizes[i] = i + 1 < count ? part : whole - part * (count - 1);
    split_into(c, x, axis, sizes, (int)count);
}

static void rule_split(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    num sizes[MAX_RANK], axis = torch_arg_int(c, 2, 0);
    if (!torch_is_list(c->args[1]))
        split_by(c, x, axis, torch_arg_int(c, 1, NUM_UNKNOWN));
    else
        split_into(c, x, axis, sizes, torch_arg_ints(c, 1, sizes));
}

static void rule_chunk(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 2, 0), chunks = torch_arg_int(c, 1, 1);
    num whole = torch_dim(t, x, torch_axis(axis, torch_rank(t, x)));
    if (!num_known(chunks) || chunks < 1 || chunks > MAX_PARTS)
        give_up(c);
    else if (dim_known(whole))
        split_by(c, x, axis, whole ? (whole - 1) / chunks + 1 : 1);
    else {
        num sizes[MAX_RANK];
        for (num i = 0; i < chunks && i < MAX_RANK; i++)
            sizes[i] = num_floordiv(t->nums, whole, chunks);
        split_into(c, x, axis, sizes, (int)(chunks < MAX_RANK ? chunks : MAX_RANK));
    }
}

/* Splits into parts whose sizes differ by at most one, or that begin at given positions. */
static void rule_tensor_split(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num sizes[MAX_RANK], at[MAX_RANK], axis = torch_arg_int(c, 2, 0);
    num whole = torch_dim(t, x, torch_axis(axis, torch_rank(t, x)));
    int count = torch_arg_ints(c, 1, at);
    bool by_count = !torch_is_list(c->args[1]);
    if (!dim_known(whole) || count < 0 || count + 1 > MAX_RANK || (by_count && !(at[0] > 0 && at[0] < MAX_RANK))) {
        give_up(c);
        return;
    }
    num from = 0;
    for (int i = 0; !by_count && i <= count; i++) {
        num to = i < count && num_known(at[i]) && at[i] < whole ? at[i] : whole;
        if (to < 0)
            to = to + whole > from ? to + whole : from;
        sizes[i] = to > from ? to - from : 0;
        from = to > from ? to : from;
    }
    for (num i = 0; by_count && i < at[0]; i++)
        sizes[i] = whole / at[0] + (i < whole % at[0]);
    split_into(c, x, axis, sizes, by_count ? (int)at[0] : count + 1);
}

static void rule_unbind(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 1, 0), count = torch_dim(t, x, torch_axis(axis, torch_rank(t, x)));
    if (!dim_known(count) || count > MAX_PARTS) {
        give_up(c);
        return;
    }
    value_id *ids = ARENA_ARRAY(t->arena, value_id, (size_t)count);
    for (num i = 0; i < count; i++)
        ids[i] = selected(t, x, axis, i, true);
    return_list(c, ids, (int)count);
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

static int list_tensors(torch_call *c, int i, value_id **ids)
{
    torch *t = c->torch;
    if (!torch_is_list(c->args[i]))
        return 0;
    const torch_list *list = c->args[i].list;
    *ids = ARENA_ARRAY(t->arena, value_id, (size_t)list->count);
    int count = 0;
    for (int32_t k = 0; k < list->count; k++) {
        (*ids)[count] = torch_operand(t, list->items[k], DT_UNKNOWN);
        count += (*ids)[count] != NO_VALUE;
    }
    return count;
}

/* An empty one-dimensional tensor can be concatenated with anything. */
static void rule_cat(torch_call *c)
{
    torch *t = c->torch;
    value_id *ids = NULL;
    int count = list_tensors(c, 0, &ids), used = 0;
    num axis = torch_arg_int(c, 1, 0);
    dtype type = DT_UNKNOWN;
    for (int i = 0; i < count; i++) {
        bool empty = torch_rank(t, ids[i]) == 1 && torch_dim(t, ids[i], 0) == 0 && count > 1;
        if (!empty)
            ids[used++] = ids[i];
    }
    if (!used) {
        give_up(c);
        return;
    }
    type = torch_at(t, ids[0])->dtype;
    for (int i = 1; i < used; i++)
        type = torch_promoted(t, torch_tensor(ids[i]), (torch_value){.kind = TORCH_NONE}) == type
                   ? type
                   : torch_promoted(t, torch_tensor(ids[0]), torch_tensor(ids[i]));
    for (int i = 0; i < used; i++)
        ids[i] = torch_cast(t, ids[i], type);
    torch_return(c, torch_concat(t, ids, used, num_known(axis) ? axis : 0));
}

static void rule_stack(torch_call *c)
{
    torch *t = c->torch;
    value_id *ids = NULL;
    int count = list_tensors(c, 0, &ids);
    num axis = torch_arg_int(c, 1, 0);
    if (!count || !num_known(axis)) {
        give_up(c);
        return;
    }
    for (int i = 0; i < count; i++)
        ids[i] = torch_unsqueeze(t, ids[i], axis);
    torch_return(c, torch_concat(t, ids, count, axis));
}

static void rule_meshgrid(torch_call *c)
{
    torch *t = c->torch;
    value_id *ids = NULL;
    int count = list_tensors(c, 0, &ids);
    bool by_columns = c->args[1].kind == TORCH_TEXT && str_is(c->args[1].text, "xy") && count >= 2;
    num dims[MAX_RANK];
    if (count < 1 || count > MAX_RANK) {
        give_up(c);
        return;
    }
    for (int i = 0; i < count; i++)
        dims[by_columns && i < 2 ? 1 - i : i] = torch_rank(t, ids[i]) == 0 ? 1 : torch_dim(t, ids[i], 0);
    for (int i = 0; i < count; i++) {
        num own[MAX_RANK];
        int place = by_columns && i < 2 ? 1 - i : i;
        for (int k = 0; k < count; k++)
            own[k] = k == place ? dims[k] : 1;
        ids[i] = torch_expand(t, torch_reshape(t, ids[i], own, count), dims, count);
    }
    return_list(c, ids, count);
}

static void rule_broadcast_tensors(torch_call *c)
{
    torch *t = c->torch;
    value_id *ids = NULL;
    int count = list_tensors(c, 0, &ids), rank = 0;
    num dims[MAX_RANK];
    for (int i = 0; i < count; i++)
        rank = torch_rank(t, ids[i]) > rank ? torch_rank(t, ids[i]) : rank;
    for (int k = 0; k < rank; k++) {
        dims[k] = 1;
        for (int i = 0; i < count; i++) {
            num dim = torch_dim(t, ids[i], k - (rank - torch_rank(t, ids[i])));
            if (k >= rank - torch_rank(t, ids[i]) && dim != 1)
                dims[k] = dim;
        }
    }
    for (int i = 0; i < count; i++)
        ids[i] = torch_expand(t, ids[i], dims, rank);
    return_list(c, ids, count);
}

/* ---- movements --------------------------------------------------------------------------------------------------- */

/* Moves the last `shift` elements to the front, as exporters write it: two slices and a Concat. */
static void rule_roll(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num shifts[MAX_RANK], axes[MAX_RANK];
    int count = torch_arg_ints(c, 1, shifts), axis_count = torch_arg_ints(c, 2, axes);
    for (int i = 0; i < count; i++) {
        num axis = i < axis_count ? axes[i] : 0;
        if (!num_known(axis) || shifts[i] == 0)
            continue;
        num cut = num_sub(t->nums, 0, shifts[i]);
        value_id parts[2] = {torch_slice(t, x, axis, cut, INT64_MAX, 1), torch_slice(t, x, axis, 0, cut, 1)};
        x = torch_concat(t, parts, 2, axis);
    }
    torch_return(c, x);
}

static void rule_flip(torch_call *c)
{
    static const num BEFORE_ALL = -((num)1 << 40); /* smaller values would be taken for symbols */
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axes[MAX_RANK];
    int count = torch_arg_ints(c, 1, axes);
    for (int i = 0; i < count; i++)
        if (num_known(axes[i]))
            x = torch_slice(t, x, axes[i], -1, BEFORE_ALL, -1);
    torch_return(c, x);
}

static void rule_trilu(torch_call *c)
{
    torch *t = c->torch;
    torch_node n = torch_begin(t, "Trilu");
    torch_in(&n, torch_arg_tensor(c, 0));
    if (torch_arg_int(c, 1, 0) != 0)
        torch_in(&n, torch_const_int(t, torch_arg_int(c, 1, 0), DT_INT64));
    torch_attr_int(&n, "upper", str_is(str_of(c->op->name), "triu"));
    torch_return(c, torch_end(&n));
}

/* PyTorch lists start and end pads from the last dimension on; ONNX has all starts, then all ends. */
static void rule_pad(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num given[MAX_RANK], pads[2 * MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 1, given);
    bool none = true;
    if (rank < 1 || count < 0 || count / 2 > rank || 2 * rank > MAX_RANK) {
        give_up(c);
        return;
    }
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = 0;
    for (int i = 0; i + 1 < count; i += 2) {
        pads[rank - 1 - i / 2] = given[i];
        pads[2 * rank - 1 - i / 2] = given[i + 1];
        none = none && given[i] == 0 && given[i + 1] == 0;
    }
    if (none && !t->is_exact) { /* PyTorch copies even then. */
        torch_return(c, x);
        return;
    }
    str mode = c->args[2].kind == TORCH_TEXT ? c->args[2].text : str_of(c->op->canonical);
    torch_node n = torch_begin(t, "Pad");
    torch_in(&n, x);
    torch_in(&n, torch_const_ints(t, pads, 2 * rank));
    int filler = str_is(str_of(c->op->name), "constant_pad_nd") ? 2 : 3;
    if (str_is(mode, "constant") && c->args[filler].kind != TORCH_NONE)
        torch_in(&n, torch_operand(t, c->args[filler], torch_at(t, x)->dtype));
    torch_attr_text(&n, "mode",
                    str_is(mode, "replicate")  ? STR("edge")
                    : str_is(mode, "circular") ? STR("wrap")
                                               : mode);
    torch_return(c, torch_end(&n));
}

/* Overwrites a part of `self` with `src`: a Concat with the parts before and after. */
static void rule_slice_scatter(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), source = torch_arg_tensor(c, 1);
    int rank = torch_rank(t, x), axis = torch_axis(torch_arg_int(c, 2, 0), rank);
    num size = torch_dim(t, x, axis), from = torch_arg_int(c, 3, 0), to = torch_arg_int(c, 4, INT64_MAX);
    if (axis < 0 || !dim_known(size) || !num_known(from) || !num_known(to) || torch_arg_int(c, 5, 1) != 1) {
        torch_return_foreign(c, torch_at(t, x)->dtype, rank, rank >= 0 ? torch_at(t, x)->dims : NULL);
        return;
    }
    from = from < 0 ? from + size : from;
    to = to < 0 ? to + size : to;
    to = to > size ? size : to;
    value_id parts[3];
    int count = 0;
    if (from > 0)
        parts[count++] = torch_slice(t, x, axis, 0, from, 1);
    parts[count++] = source;
    if (to < size)
        parts[count++] = torch_slice(t, x, axis, to, INT64_MAX, 1);
    torch_return(c, torch_concat(t, parts, count, axis));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"_reshape_alias", "input size", rule_view, NULL},
    {"_unsafe_view", "input size", rule_view, NULL},
    {"expand", "input size implicit", rule_expand, NULL},
    {"expand_as", "input other", rule_view_as, NULL},
    {"broadcast_to", "input size", rule_expand, NULL},
    {"flatten", "input start_dim end_dim", rule_flatten, NULL},
    {"movedim", "input source destination", rule_movedim, NULL},
    {"permute", "input dims", rule_permute, NULL},
    {"repeat", "input repeats", rule_repeat, NULL},
    {"tile", "input dims", rule_repeat, NULL},
    {"reshape", "input shape", rule_view, NULL},
    {"reshape_as", "input other", rule_view_as, NULL},
    {"squeeze", "input dim", rule_squeeze, NULL},
    {"t", "input", rule_t, NULL},
    {"numpy_T", "input", rule_t, NULL},
    {"transpose", "input dim0 dim1", rule_transpose, NULL},
    {"swapaxes", "input axis0 axis1", rule_transpose, NULL},
    {"unflatten", "input dim sizes", rule_unflatten, NULL},
    {"unsqueeze", "input dim", rule_unsqueeze, NULL},
    {"view", "input size", rule_view, NULL},
    {"view_as", "input other", rule_view_as, NULL},

    {"broadcast_tensors", "tensors", rule_broadcast_tensors, NULL},
    {"cat", "tensors dim", rule_cat, NULL},
    {"concat", "tensors dim", rule_cat, NULL},
    {"concatenate", "tensors dim", rule_cat, NULL},
    {"chunk", "input chunks dim", rule_chunk, NULL},
    {"meshgrid", "tensors indexing", rule_meshgrid, NULL},
    {"select", "input dim index", rule_select, NULL},
    {"slice", "input dim start end step", rule_slice, NULL},
    {"split", "input split_size dim", rule_split, NULL},
    {"split_with_sizes", "input split_sizes dim", rule_split, NULL},
    {"stack", "tensors dim", rule_stack, NULL},
    {"tensor_split", "input sections dim", rule_tensor_split, NULL},
    {"unbind", "input dim", rule_unbind, NULL},

    {"constant_pad_nd", "input pad value", rule_pad, "constant"},
    {"flip", "input dims", rule_flip, NULL},
    {"pad", "input pad mode value", rule_pad, "constant"},
    {"reflection_pad1d", "input padding", rule_pad, "reflect"},
    {"reflection_pad2d", "input padding", rule_pad, "reflect"},
    {"reflection_pad3d", "input padding", rule_pad, "reflect"},
    {"replication_pad1d", "input padding", rule_pad, "replicate"},
    {"replication_pad2d", "input padding", rule_pad, "replicate"},
    {"replication_pad3d", "input padding", rule_pad, "replicate"},
    {"roll", "input shifts dims", rule_roll, NULL},
    {"slice_scatter", "input src dim start end step", rule_slice_scatter, NULL},
    {"tril", "input diagonal", rule_trilu, NULL},
    {"triu", "input diagonal", rule_trilu, NULL},
};
/* clang-format on */

const torch_op *torch_ops_shape(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
