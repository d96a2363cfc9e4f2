/* torch_aten_reduced.c: ATen's reductions and sorts that are compositions of others. */
#include "front/torch/torch_compose.h"

/* Values and indices along one dimension, as max returns them; without a dimension over all elements. */
static void rule_along(torch_call *c)
{
    bool has_rank = str_is(str_of(c->op->name), "kthvalue");
    torch_value axis = c->args[has_rank ? 2 : 1], keeps = c->args[has_rank ? 3 : 2];
    if (axis.kind == TORCH_NONE && (has_rank || str_is(str_of(c->op->name), "mode")))
        axis = torch_int(-1);
    if (axis.kind == TORCH_NONE) {
        give(c, call(c, "max", c->args, 1));
        return;
    }
    torch_value both = call(
        c, "max", (const torch_value[]){c->args[0], axis, torch_bool(keeps.kind == TORCH_BOOL && keeps.integer)}, 3);
    for (int32_t i = 0; torch_is_list(both) && i < both.list->count && i < 2; i++)
        give(c, both.list->items[i]);
    if (!c->result_count)
        give_up(c);
}

static void rule_cumulative(torch_call *c)
{
    torch_value sums = call(c, "cumsum", (const torch_value[]){c->args[0], c->args[1]}, 2);
    give(c, sums);
    give(c, sums);
}

static void rule_least_and_most(torch_call *c)
{
    torch_value axis = c->args[1].kind == TORCH_INT ? ints(c->torch, &c->args[1].integer, 1) : torch_none();
    const torch_value args[3] = {c->args[0], axis, torch_bool(torch_arg_bool(c, 2, false))};
    give(c, call(c, "amin", args, axis.kind == TORCH_NONE ? 1 : 3));
    give(c, call(c, "amax", args, axis.kind == TORCH_NONE ? 1 : 3));
}

/* Sort, then select: one result per row for a single quantile. */
static void rule_quantile(torch_call *c)
{
    torch_value q = c->args[1];
    if (q.kind == TORCH_TENSOR && torch_rank(c->torch, q.tensor) != 0) {
        give_up(c);
        return;
    }
    torch_value axis = c->args[2].kind == TORCH_INT ? ints(c->torch, &c->args[2].integer, 1) : torch_none();
    const torch_value args[3] = {c->args[0], axis, torch_bool(torch_arg_bool(c, 3, false))};
    give(c, call(c, "mean", args, axis.kind == TORCH_NONE ? 1 : 3));
}

static void rule_matrix_norm(torch_call *c)
{
    torch *t = c->torch;
    torch_value axes = torch_is_list(c->args[2])                      ? c->args[2]
                       : str_ends(str_of(c->op->name), "matrix_norm") ? ints(t, (const num[]){-2, -1}, 2)
                                                                      : torch_none();
    give(c, call(c, "linalg_vector_norm",
                 (const torch_value[]){c->args[0], torch_real(2), axes, torch_bool(torch_arg_bool(c, 3, false))}, 4));
}

/* Differences of neighbours along a dimension, n times, with tensors put before and after. */
static void rule_diff(torch_call *c)
{
    torch *t = c->torch;
    torch_value x = c->args[0], parts = torch_new_list(t, TORCH_LIST, 0);
    num times = torch_arg_int(c, 1, 1), axis = torch_arg_int(c, 2, -1);
    const torch_value all[3] = {c->args[3], x, c->args[4]};
    for (int i = 0; i < 3; i++)
        if (all[i].kind == TORCH_TENSOR)
            torch_append(t, parts.list, all[i]);
    if (parts.list->count > 1)
        x = call(c, "cat", (const torch_value[]){parts, torch_int(axis)}, 2);
    bool is_bool = x.kind == TORCH_TENSOR && torch_at(t, x.tensor)->dtype == DT_BOOL;
    int rank = x.kind == TORCH_TENSOR ? torch_rank(t, x.tensor) : RANK_UNKNOWN;
    if (torch_axis(axis, rank) < 0 || times < 1 || times > MAX_RANK) {
        give_up(c);
        return;
    }
    for (num i = 0; i < times; i++) {
        num size = torch_dim(t, x.tensor, torch_axis(axis, rank));
        torch_value before =
            call(c, "slice",
                 (const torch_value[]){x, torch_int(axis), torch_int(0), torch_int(num_sub(t->nums, size, 1))}, 4);
        torch_value after =
            call(c, "slice", (const torch_value[]){x, torch_int(axis), torch_int(1), torch_int(size)}, 4);
        x = call(c, is_bool ? "logical_xor" : "sub", (const torch_value[]){after, before}, 2);
        if (x.kind != TORCH_TENSOR) {
            give_up(c);
            return;
        }
    }
    give(c, x);
}

static void rule_sorted(torch_call *c)
{
    torch_value both = call(c, "sort", (const torch_value[]){c->args[0], torch_int(0)}, 2);
    give(c, torch_is_list(both) && both.list->count ? both.list->items[0] : both);
}

/* clang-format off */
static const torch_op OPS[] = {
    {"aminmax", "input dim keepdim", rule_least_and_most, NULL},
    {"count_nonzero", "input dim", rule_renamed, "sum"},
    {"cummax", "input dim", rule_cumulative, NULL},
    {"cummin", "input dim", rule_cumulative, NULL},
    {"diff", "input n dim prepend append", rule_diff, NULL},
    {"kthvalue", "input k dim keepdim", rule_along, NULL},
    {"linalg_matrix_norm", "input ord dim keepdim", rule_matrix_norm, NULL},
    {"linalg_norm", "input ord dim keepdim", rule_matrix_norm, NULL},
    {"median", "input dim keepdim", rule_along, NULL},
    {"nanmedian", "input dim keepdim", rule_along, NULL},
    {"mode", "input dim keepdim", rule_along, NULL},
    {"msort", "input", rule_sorted, NULL},
    {"nanmean", "input dim keepdim", rule_renamed, "mean"},
    {"nanquantile", "input q dim keepdim", rule_quantile, NULL},
    {"nansum", "input dim keepdim", rule_renamed, "sum"},
    {"quantile", "input q dim keepdim", rule_quantile, NULL},
};
/* clang-format on */

const torch_op *torch_ops_reduced(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
