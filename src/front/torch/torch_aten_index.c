/* torch_aten_index.c: ATen's lookups and sorts. */
#include "front/torch/torch.h"

value_id torch_gather(torch *t, value_id table, value_id indices, int64_t axis)
{
    torch_node n = torch_begin(t, "Gather");
    torch_in(&n, table);
    torch_in(&n, indices);
    torch_attr_int(&n, "axis", axis);
    return torch_end(&n);
}

static void rule_embedding(torch_call *c)
{
    torch_expect(c->torch, torch_arg_tensor(c, 1), DT_INT64, 0, 0);
    torch_node n = torch_begin(c->torch, "Gather");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_in(&n, torch_arg_tensor(c, 1));
    torch_attr_int(&n, "axis", 0);
    if (c->torch->is_exact)
        torch_attr_int(&n, "eager_embedding", 1);
    torch_return(c, torch_end(&n));
}

static void rule_index_select(torch_call *c)
{
    num axis = torch_arg_int(c, 1, 0);
    torch_return(c, torch_gather(c->torch, torch_arg_tensor(c, 0), torch_arg_tensor(c, 2), num_known(axis) ? axis : 0));
}

static void rule_gather(torch_call *c)
{
    num axis = torch_arg_int(c, 1, 0);
    torch_node n = torch_begin(c->torch, "GatherElements");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_in(&n, torch_arg_tensor(c, 2));
    torch_attr_int(&n, "axis", num_known(axis) ? axis : 0);
    torch_return(c, torch_end(&n));
}

static void rule_scatter(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), indices = torch_arg_tensor(c, 2);
    num axis = torch_arg_int(c, 1, 0);
    const torch_value given = c->args[3].kind == TORCH_NONE ? c->args[4] : c->args[3];
    value_id source = torch_operand(t, given, torch_at(t, x)->dtype);
    if (given.kind != TORCH_TENSOR && torch_rank(t, indices) >= 0)
        source = torch_expand(t, source, torch_at(t, indices)->dims, torch_rank(t, indices));
    torch_node n = torch_begin(t, "ScatterElements");
    torch_in(&n, x);
    torch_in(&n, indices);
    torch_in(&n, source);
    torch_attr_int(&n, "axis", num_known(axis) ? axis : 0);
    if (str_starts(str_of(c->op->name), "scatter_add"))
        torch_attr_text(&n, "reduction", STR("add"));
    torch_return(c, torch_end(&n));
}

/* Computes the result's shape. Index tensors are broadcast together; their dimensions replace the first indexed one,
 * or come first if the indexed ones are not adjacent. False if the shape is unknown. */
static bool indexed_shape(torch *t, value_id x, const torch_list *list, num *dims, int *rank)
{
    int x_rank = torch_rank(t, x), index_rank = 0, first = -1, last = -1, used = 0, count = 0;
    num index_dims[MAX_RANK];
    if (x_rank < 0 || list->count > x_rank)
        return false;
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].kind != TORCH_TENSOR)
            continue;
        value_id index = list->items[i].tensor;
        if (torch_rank(t, index) < 0 || torch_at(t, index)->dtype == DT_BOOL || torch_at(t, index)->dtype == DT_UINT8)
            return false;
        index_rank = torch_rank(t, index) > index_rank ? torch_rank(t, index) : index_rank;
        first = first < 0 ? i : first;
        last = i;
        count++;
    }
    if (count == 0 || x_rank + index_rank > MAX_RANK)
        return false;
    for (int k = 0; k < index_rank; k++) {
        index_dims[k] = 1;
        for (int i = 0; i < list->count; i++) {
            if (list->items[i].kind != TORCH_TENSOR)
                continue;
            int own = k - (index_rank - torch_rank(t, list->items[i].tensor));
            num dim = own < 0 ? 1 : torch_dim(t, list->items[i].tensor, own);
            if (dim != 1)
                index_dims[k] = dim;
        }
    }
    bool together = last - first + 1 == count;
    for (int i = 0; i <= x_rank; i++) {
        if (i == (together ? first : 0))
            for (int k = 0; k < index_rank; k++)
                dims[used++] = index_dims[k];
        if (i < x_rank && (i >= list->count || list->items[i].kind != TORCH_TENSOR))
            dims[used++] = torch_dim(t, x, i);
    }
    *rank = used;
    return true;
}

/* Joins the indices of the leading dimensions, so that each row addresses one element or slice. */
static value_id gathered_nd(torch *t, value_id x, const torch_list *list, const num *dims, int index_rank)
{
    value_id parts[MAX_RANK];
    for (int32_t i = 0; i < list->count; i++)
        parts[i] = torch_unsqueeze(t, torch_expand(t, list->items[i].tensor, dims, index_rank), -1);
    return torch_emit2(t, "GatherND", x, torch_concat(t, parts, (int)list->count, -1));
}

/* x[a, :, b]. A single index is a Gather; a mask selects a number of elements that depends on the data. */
static void rule_index(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    const torch_list *list = torch_is_list(c->args[1]) ? c->args[1].list : NULL;
    num dims[2 * MAX_RANK];
    int rank = RANK_UNKNOWN, given = 0, at = -1;
    for (int i = 0; list && i < list->count; i++)
        if (list->items[i].kind == TORCH_TENSOR) {
            given++;
            at = i;
        }
    bool known = list && x != NO_VALUE && indexed_shape(t, x, list, dims, &rank);
    if (known && given == 1) {
        torch_return(c, torch_gather(t, x, list->items[at].tensor, at));
        return;
    }
    if (known && list->count == given) {
        torch_return(c, gathered_nd(t, x, list, dims, rank - (torch_rank(t, x) - given)));
        return;
    }
    bool is_mask = given == 1 && (torch_at(t, list->items[at].tensor)->dtype == DT_BOOL ||
                                  torch_at(t, list->items[at].tensor)->dtype == DT_UINT8);
    if (is_mask && at == 0 && x != NO_VALUE && torch_rank(t, list->items[at].tensor) >= 1) {
        value_id places = torch_emit1(t, "NonZero", list->items[at].tensor);
        torch_return(c, torch_emit2(t, "GatherND", x, torch_transpose(t, places, (int64_t[]){1, 0}, 2)));
        return;
    }
    int mask_rank = given == 1 ? torch_rank(t, list->items[at].tensor) : -1;
    if (!known && mask_rank >= 1 && at + mask_rank <= torch_rank(t, x)) {
        rank = torch_rank(t, x) - mask_rank + 1;
        for (int i = 0; i < rank; i++)
            dims[i] = i == at ? NUM_UNKNOWN : torch_dim(t, x, i < at ? i : i + mask_rank - 1);
    }
    torch_return_foreign(c, x == NO_VALUE ? DT_UNKNOWN : torch_at(t, x)->dtype, rank, dims);
}

static void top_k(torch_call *c, value_id x, num k, num axis, bool largest)
{
    torch *t = c->torch;
    value_id outputs[2];
    torch_node n = torch_begin(t, "TopK");
    torch_in(&n, x);
    torch_in(&n, torch_const_ints(t, &k, 1));
    torch_attr_int(&n, "axis", num_known(axis) ? axis : -1);
    torch_attr_int(&n, "largest", largest);
    torch_end_many(&n, outputs, 2);
    torch_return(c, outputs[0]);
    torch_return(c, outputs[1]);
}

static void rule_topk(torch_call *c)
{
    top_k(c, torch_arg_tensor(c, 0), torch_arg_int(c, 1, 1), torch_arg_int(c, 2, -1), torch_arg_bool(c, 3, true));
}

/* (self, dim, descending), or (self, stable, dim, descending) */
static void rule_sort(torch_call *c)
{
    torch *t = c->torch;
    int shift = c->args[1].kind == TORCH_BOOL || (c->args[1].kind == TORCH_NONE && c->given[2]);
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 1 + shift, -1);
    top_k(c, x, torch_dim(t, x, torch_axis(axis, torch_rank(t, x))), axis, torch_arg_bool(c, 2 + shift, false));
    if (str_is(str_of(c->op->name), "argsort")) {
        c->results[0] = c->results[1];
        c->result_count = 1;
    }
}

static void rule_nonzero(torch_call *c)
{
    torch *t = c->torch;
    torch_return(c, torch_transpose(t, torch_emit1(t, "NonZero", torch_arg_tensor(c, 0)), (int64_t[]){1, 0}, 2));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"_unsafe_index", "input indices", rule_index, NULL},
    {"argsort", "input dim descending", rule_sort, NULL},
    {"embedding", "weight indices padding_idx scale_grad_by_freq sparse", rule_embedding, NULL},
    {"gather", "input dim index sparse_grad", rule_gather, NULL},
    {"index", "input indices", rule_index, NULL},
    {"index_select", "input dim index", rule_index_select, NULL},
    {"nonzero", "input", rule_nonzero, NULL},
    {"scatter", "input dim index src value", rule_scatter, NULL},
    {"scatter_add", "input dim index src", rule_scatter, NULL},
    {"sort", "input dim descending", rule_sort, NULL},
    {"topk", "input k dim largest sorted", rule_topk, NULL},
};
/* clang-format on */

const torch_op *torch_ops_index(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
