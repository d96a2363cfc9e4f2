/* torch_aten_composed.c: ATen operators that are written as compositions of others. Reductions are in
 * torch_aten_reduced.c. */
#include "front/torch/torch_compose.h"

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void rule_outer(torch_call *c)
{
    torch *t = c->torch;
    torch_return(c, torch_emit2(t, "Mul", torch_unsqueeze(t, torch_arg_tensor(c, 0), 1),
                                torch_unsqueeze(t, torch_arg_tensor(c, 1), 0)));
}

static value_id last_two_swapped(torch *t, value_id x)
{
    int64_t order[MAX_RANK];
    int rank = torch_rank(t, x);
    for (int i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return torch_transpose(t, x, order, rank);
}

static void rule_inner(torch_call *c)
{
    torch *t = c->torch;
    value_id a = torch_arg_tensor(c, 0), b = torch_arg_tensor(c, 1);
    if (torch_rank(t, b) == 1 || torch_rank(t, a) == 1 || torch_rank(t, b) == 2)
        torch_return(c, torch_emit2(t, "MatMul", a, torch_rank(t, b) == 2 ? last_two_swapped(t, b) : b));
    else
        give_up(c);
}

/* input + a @ b; also for the outer product, and for the sum of a batch of products. */
static void rule_add_product(torch_call *c)
{
    torch *t = c->torch;
    torch_value product = call(c, c->op->canonical, &c->args[1], 2);
    if (str_is(str_of(c->op->name), "addbmm"))
        product = call(c, "sum", (const torch_value[]){product, ints(t, (const num[]){0}, 1)}, 2);
    give(c, call(c, "add", (const torch_value[]){c->args[0], product}, 2));
}

static void rule_multi_dot(torch_call *c)
{
    if (!torch_is_list(c->args[0]) || c->args[0].list->count < 1) {
        give_up(c);
        return;
    }
    torch_value product = c->args[0].list->items[0];
    for (int32_t i = 1; i < c->args[0].list->count; i++)
        product = call(c, "matmul", (const torch_value[]){product, c->args[0].list->items[i]}, 2);
    give(c, product);
}

/* Moves the summed axes to the end of a and to the front of b. */
static void rule_tensordot(torch_call *c)
{
    torch *t = c->torch;
    value_id sides[2] = {torch_arg_tensor(c, 0), torch_arg_tensor(c, 1)};
    num axes[2][MAX_RANK], dims[MAX_RANK], inner = 1;
    int ranks[2] = {torch_rank(t, sides[0]), torch_rank(t, sides[1])}, kept = 0;
    int counts[2] = {torch_arg_ints(c, 2, axes[0]), torch_arg_ints(c, 3, axes[1])};
    if (ranks[0] < 1 || ranks[1] < 1 || counts[0] < 1 || counts[0] != counts[1] || ranks[0] + ranks[1] > MAX_RANK) {
        give_up(c);
        return;
    }
    for (int side = 0; side < 2; side++) {
        int64_t order[MAX_RANK], rest[MAX_RANK];
        bool is_summed[MAX_RANK] = {false};
        int free_count = 0;
        num free_size = 1;
        for (int i = 0; i < counts[0]; i++) {
            int axis = torch_axis(axes[side][i], ranks[side]);
            if (axis < 0 || is_summed[axis]) {
                give_up(c);
                return;
            }
            is_summed[axis] = true;
            axes[side][i] = axis;
            if (side == 0)
                inner = num_mul(t->nums, inner, torch_dim(t, sides[0], axis));
        }
        for (int i = 0; i < ranks[side]; i++)
            if (!is_summed[i]) {
                rest[free_count++] = i;
                dims[kept++] = torch_dim(t, sides[side], i);
                free_size = num_mul(t->nums, free_size, torch_dim(t, sides[side], i));
            }
        for (int i = 0; i < ranks[side]; i++)
            order[i] = side == 0 ? (i < free_count ? rest[i] : axes[0][i - free_count])
                                 : (i < counts[0] ? axes[1][i] : rest[i - counts[0]]);
        sides[side] = torch_transpose(t, sides[side], order, ranks[side]);
        const num flat[2][2] = {{free_size, inner}, {inner, free_size}};
        sides[side] = torch_reshape(t, sides[side], flat[side], 2);
    }
    torch_return(c, torch_reshape(t, torch_emit2(t, "MatMul", sides[0], sides[1]), dims, kept));
}

/* y[o] = x1[i] * w[o,i,j] * x2[j] + b[o]. */
static void rule_bilinear(torch_call *c)
{
    torch *t = c->torch;
    value_id a = torch_arg_tensor(c, 0), b = torch_arg_tensor(c, 1), w = torch_arg_tensor(c, 2);
    if (torch_rank(t, w) != 3 || torch_rank(t, a) < 1 || torch_rank(t, a) >= MAX_RANK - 1) {
        give_up(c);
        return;
    }
    const num outputs = torch_dim(t, w, 0), first = torch_dim(t, w, 1), second = torch_dim(t, w, 2);
    int rank = torch_rank(t, a);
    num dims[MAX_RANK];
    for (int i = 0; i < rank - 1; i++)
        dims[i] = torch_dim(t, a, i);
    dims[rank - 1] = outputs;
    dims[rank] = second;
    w = torch_transpose(t, w, (const int64_t[]){1, 0, 2}, 3);
    w = torch_reshape(t, w, (const num[]){first, num_mul(t->nums, outputs, second)}, 2);
    value_id products = torch_reshape(t, torch_emit2(t, "MatMul", a, w), dims, rank + 1);
    torch_value y = torch_tensor(torch_emit2(t, "Mul", products, torch_unsqueeze(t, b, -2)));
    y = call(c, "sum", (const torch_value[]){y, ints(t, (const num[]){-1}, 1)}, 2);
    give(c, c->args[3].kind == TORCH_NONE ? y : call(c, "add", (const torch_value[]){y, c->args[3]}, 2));
}

/* Distances by a matrix product, as PyTorch computes them for 25 rows and more. */
static void rule_distances(torch_call *c)
{
    torch *t = c->torch;
    value_id a = torch_arg_tensor(c, 0), b = torch_arg_tensor(c, 1);
    if (torch_rank(t, a) < 2 || torch_rank(t, b) < 2)
        give_up(c);
    else
        torch_return(c, torch_emit1(t, "Sqrt", torch_emit2(t, "MatMul", a, last_two_swapped(t, b))));
}

static void rule_cosine(torch_call *c)
{
    torch *t = c->torch;
    value_id a = torch_arg_tensor(c, 0), b = torch_arg_tensor(c, 1);
    torch_value axis = ints(t, (const num[]){torch_arg_int(c, 2, 1)}, 1);
    torch_value sums[3];
    const value_id pairs[3][2] = {{a, b}, {a, a}, {b, b}};
    for (int i = 0; i < 3; i++)
        sums[i] = call(c, "sum",
                       (const torch_value[]){torch_tensor(torch_emit2(t, "Mul", pairs[i][0], pairs[i][1])), axis}, 2);
    torch_value norm = call(c, "sqrt", (const torch_value[]){call(c, "mul", &sums[1], 2)}, 1);
    give(c, call(c, "div", (const torch_value[]){sums[0], norm}, 2));
}

static void rule_pair_distance(torch_call *c)
{
    torch *t = c->torch;
    value_id difference = torch_emit2(t, "Sub", torch_arg_tensor(c, 0), torch_arg_tensor(c, 1));
    give(c, call(c, "linalg_vector_norm",
                 (const torch_value[]){torch_tensor(difference), torch_real(2), ints(t, (const num[]){-1}, 1),
                                       torch_bool(torch_arg_bool(c, 4, false))},
                 4));
}

/* weight = g * v / |v|, with a norm per slice along `dim`. */
static void rule_weight_norm(torch_call *c)
{
    torch *t = c->torch;
    value_id v = torch_arg_tensor(c, 0), g = torch_arg_tensor(c, 1);
    int rank = torch_rank(t, v), axis = torch_axis(torch_arg_int(c, 2, 0), rank), count = 0;
    int64_t axes[MAX_RANK];
    if (rank < 1 || axis < 0) {
        give_up(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        if (i != axis)
            axes[count++] = i;
    torch_node n = torch_begin(t, "ReduceL2");
    torch_in(&n, v);
    torch_in(&n, torch_const_ints(t, axes, count));
    torch_attr_int(&n, "keepdims", 1);
    value_id norm = torch_end(&n);
    torch_return(c, torch_emit2(t, "Mul", v, torch_emit2(t, "Div", g, norm)));
    torch_return(c, norm);
    if (!str_ends(str_of(c->op->name), "interface"))
        c->result_count--;
}

/* Table rows, reduced bag by bag. */
static void rule_embedding_bag(torch_call *c)
{
    enum { SUM, MEAN, MAX };
    torch *t = c->torch;
    value_id table = torch_arg_tensor(c, 0), indices = torch_arg_tensor(c, 1), offsets = torch_arg_tensor(c, 2);
    num rows = torch_dim(t, indices, 0), bags = torch_dim(t, offsets, 0), mode = torch_arg_int(c, 4, SUM);
    if (torch_arg_bool(c, 7, false) && dim_known(bags) && bags > 0)
        bags--;
    bool is_even = torch_rank(t, indices) == 1 && torch_rank(t, offsets) == 1 && torch_rank(t, table) == 2 &&
                   dim_known(rows) && dim_known(bags) && bags > 0 && rows > 0;
    value_id found = torch_gather(t, table, indices, 0), bag;
    num width = torch_dim(t, table, 1);
    if (is_even && rows % bags == 0) {
        const num dims[3] = {bags, rows / bags, width};
        torch_node n = torch_begin(t, mode == MAX ? "ReduceMax" : mode == MEAN ? "ReduceMean" : "ReduceSum");
        torch_in(&n, torch_reshape(t, found, dims, 3));
        torch_in(&n, torch_const_ints(t, (const num[]){1}, 1));
        torch_attr_int(&n, "keepdims", 0);
        bag = torch_end(&n);
    } else {
        const num dims[2] = {bags, width};
        bag = torch_foreign(t, &found, 1, torch_at(t, table)->dtype, 2, dims);
    }
    torch_return(c, bag);
    for (int i = 0; i < 3; i++)
        torch_return(c, offsets);
}

static void rule_recurrent_cell(torch_call *c)
{
    torch_value input = call(c, "linear", (const torch_value[]){c->args[0], c->args[2], c->args[4]}, 3);
    torch_value state = call(c, "linear", (const torch_value[]){c->args[1], c->args[3], c->args[5]}, 3);
    torch_value sum = call(c, "add", (const torch_value[]){input, state}, 2);
    give(c, call(c, c->op->canonical, &sum, 1));
}

static void rule_conv_mode(torch_call *c)
{
    int rank = torch_rank(c->torch, torch_arg_tensor(c, 1));
    if (rank < 3 || rank > 5) {
        give_up(c);
        return;
    }
    give(c, call(c, rank == 3 ? "conv1d" : rank == 4 ? "conv2d" : "conv3d", c->args, 7));
}

/* Deformable convolution: as many multiplications as without offsets, plus the lookups. */
static void rule_deform_conv(torch_call *c)
{
    torch *t = c->torch;
    num sizes[3][2];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            sizes[i][k] = torch_arg_int(c, 5 + 2 * i + k, i == 1 ? 0 : 1);
    give(c, call(c, "conv2d",
                 (const torch_value[]){c->args[0], c->args[1], c->args[4], ints(t, sizes[0], 2), ints(t, sizes[1], 2),
                                       ints(t, sizes[2], 2), torch_int(torch_arg_int(c, 11, 1))},
                 7));
}

/* ---- places of elements ------------------------------------------------------------------------------------------ */

static void rule_narrow(torch_call *c)
{
    num start = torch_arg_int(c, 2, 0), length = torch_arg_int(c, 3, 0);
    give(c, call(c, "slice",
                 (const torch_value[]){c->args[0], c->args[1], torch_int(start),
                                       torch_int(num_add(c->torch->nums, start, length)), torch_int(1)},
                 5));
}

static void rule_ravel(torch_call *c)
{
    give(c, call(c, "flatten", (const torch_value[]){c->args[0], torch_int(0), torch_int(-1)}, 3));
}

static void rule_matrix_turned(torch_call *c)
{
    give(c, call(c, "transpose", (const torch_value[]){c->args[0], torch_int(-2), torch_int(-1)}, 3));
}

/* Adds leading dimensions of 1 up to rank 1, 2 or 3. */
static torch_value at_least(torch_call *c, torch_value v, int least)
{
    torch *t = c->torch;
    if (v.kind != TORCH_TENSOR || torch_rank(t, v.tensor) < 0)
        return v;
    for (int rank = torch_rank(t, v.tensor); rank < least; rank++)
        v = torch_tensor(torch_unsqueeze(t, v.tensor, rank == 2 ? 2 : 0));
    return v;
}

static void rule_at_least(torch_call *c)
{
    give(c, at_least(c, c->args[0], c->op->name[8] - '0'));
}

static void rule_stacked(torch_call *c)
{
    torch *t = c->torch;
    str name = str_of(c->op->name);
    int least = str_is(name, "vstack") || str_is(name, "row_stack") ? 2 : str_is(name, "dstack") ? 3 : 1;
    int axis = least == 2 ? 0 : least == 3 ? 2 : 1;
    if (!torch_is_list(c->args[0])) {
        give_up(c);
        return;
    }
    torch_value parts = torch_new_list(t, TORCH_LIST, c->args[0].list->count);
    for (int32_t i = 0; i < parts.list->count; i++) {
        torch_value v = at_least(c, c->args[0].list->items[i], least);
        bool is_flat = v.kind == TORCH_TENSOR && torch_rank(t, v.tensor) == 1;
        if (is_flat && str_is(name, "column_stack"))
            v = torch_tensor(torch_unsqueeze(t, v.tensor, 1));
        else if (is_flat && least == 1)
            axis = 0;
        parts.list->items[i] = v;
    }
    give(c, call(c, "cat", (const torch_value[]){parts, torch_int(axis)}, 2));
}

static void rule_split_along(torch_call *c)
{
    int axis = c->op->name[0] == 'v' ? 0 : c->op->name[0] == 'd' ? 2 : 1;
    if (c->op->name[0] == 'h' && torch_rank(c->torch, torch_arg_tensor(c, 0)) == 1)
        axis = 0;
    give(c, call(c, "tensor_split", (const torch_value[]){c->args[0], c->args[1], torch_int(axis)}, 3));
}

static void rule_flip_one(torch_call *c)
{
    num axis = str_is(str_of(c->op->name), "fliplr");
    give(c, call(c, "flip", (const torch_value[]){c->args[0], ints(c->torch, &axis, 1)}, 2));
}

static void rule_rot90(torch_call *c)
{
    num axes[MAX_RANK] = {0, 1}, turns = torch_arg_int(c, 1, 1);
    if (torch_arg_ints(c, 2, axes) < 0) {
        axes[0] = 0;
        axes[1] = 1;
    }
    torch_value x = call(c, "flip", (const torch_value[]){c->args[0], ints(c->torch, axes, turns % 2 ? 1 : 2)}, 2);
    give(c, turns % 2 ? call(c, "transpose", (const torch_value[]){x, torch_int(axes[0]), torch_int(axes[1])}, 3) : x);
}

/* (N, groups * per, …) → (N, per * groups, …). */
static void rule_channel_shuffle(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    num groups = torch_arg_int(c, 1, 1), channels = rank > 1 ? torch_dim(t, x, 1) : NUM_UNKNOWN, dims[MAX_RANK];
    int64_t order[MAX_RANK];
    if (rank < 2 || rank >= MAX_RANK - 1 || !dim_known(channels) || groups < 1 || channels % groups) {
        give_up(c);
        return;
    }
    for (int i = 0; i < rank + 1; i++) {
        dims[i] = i == 1 ? groups : i == 2 ? channels / groups : torch_dim(t, x, i < 1 ? i : i - 1);
        order[i] = i == 1 ? 2 : i == 2 ? 1 : i;
    }
    value_id turned = torch_transpose(t, torch_reshape(t, x, dims, rank + 1), order, rank + 1);
    for (int i = 0; i < rank; i++)
        dims[i] = torch_dim(t, x, i);
    torch_return(c, torch_reshape(t, turned, dims, rank));
}

/* Repeats each element: a new dimension, expanded and merged. */
static void rule_repeat_interleave(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num times = torch_arg_int(c, 1, NUM_UNKNOWN), dims[MAX_RANK];
    if (c->args[2].kind == TORCH_NONE && torch_rank(t, x) > 1) {
        torch_value flat = call(c, "flatten", (const torch_value[]){c->args[0], torch_int(0), torch_int(-1)}, 3);
        x = flat.kind == TORCH_TENSOR ? flat.tensor : NO_VALUE;
    }
    int rank = torch_rank(t, x), axis = torch_axis(torch_arg_int(c, 2, 0), rank);
    if (rank < 1 || rank >= MAX_RANK - 1 || axis < 0 || !num_known(times) || times < 1) {
        give_up(c);
        return;
    }
    for (int i = 0; i <= rank; i++)
        dims[i] = i == axis + 1 ? times : torch_dim(t, x, i <= axis ? i : i - 1);
    value_id wide = torch_expand(t, torch_unsqueeze(t, x, axis + 1), dims, rank + 1);
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? num_mul(t->nums, torch_dim(t, x, i), times) : torch_dim(t, x, i);
    torch_return(c, torch_reshape(t, wide, dims, rank));
}

/* Returns the elements on a diagonal, as the last dimension. */
static value_id diagonal_of(torch *t, value_id x, num offset, int first, int second)
{
    int rank = torch_rank(t, x), count = 0;
    int64_t order[MAX_RANK];
    for (int i = 0; i < rank; i++)
        if (i != first && i != second)
            order[count++] = i;
    order[rank - 2] = first;
    order[rank - 1] = second;
    num rows = torch_dim(t, x, first), columns = torch_dim(t, x, second);
    num length = !dim_known(rows) || !dim_known(columns) ? NUM_UNKNOWN
                 : offset >= 0                           ? (rows < columns - offset ? rows : columns - offset)
                                                         : (rows + offset < columns ? rows + offset : columns);
    value_id turned = torch_transpose(t, x, order, rank);
    if (!num_known(length) || length < 0)
        length = 0;
    turned = torch_slice(t, torch_slice(t, turned, rank - 1, 0, 1, 1), rank - 2, 0, length, 1);
    return torch_squeeze(t, turned, rank - 1);
}

static void rule_diagonal(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x), first = torch_axis(torch_arg_int(c, 2, 0), rank),
        second = torch_axis(torch_arg_int(c, 3, 1), rank);
    num offset = torch_arg_int(c, 1, 0);
    if (rank < 2 || first < 0 || second < 0 || first == second || offset < -INT32_MAX || offset > INT32_MAX) {
        give_up(c);
        return;
    }
    value_id diagonal = diagonal_of(t, x, offset, first, second);
    give(c, str_is(str_of(c->op->name), "trace") ? call(c, "sum", (const torch_value[]){torch_tensor(diagonal)}, 1)
                                                 : torch_tensor(diagonal));
}

/* Makes a matrix that is zero outside its diagonal, by a product with an identity matrix. */
static void rule_diag_embed(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    num offset = torch_arg_int(c, 1, 0), size = rank > 0 ? torch_dim(t, x, rank - 1) : NUM_UNKNOWN;
    if (str_is(str_of(c->op->name), "diag") && rank == 2) {
        torch_return(c, diagonal_of(t, x, offset > -INT32_MAX && offset < INT32_MAX ? offset : 0, 0, 1));
        return;
    }
    if (rank < 1 || rank >= MAX_RANK - 1 || !dim_known(size) || offset < -INT32_MAX || offset > INT32_MAX ||
        size > INT32_MAX) {
        give_up(c);
        return;
    }
    size += offset < 0 ? -offset : offset;
    const num dims[2] = {size, size};
    value_id mask = torch_filled(t, dims, 2, 0, torch_at(t, x)->dtype);
    if (offset)
        torch_return_foreign(c, torch_at(t, x)->dtype, RANK_UNKNOWN, NULL);
    else
        torch_return(c, torch_emit2(t, "Mul", torch_unsqueeze(t, x, rank), mask));
}

static void rule_kron(torch_call *c)
{
    torch *t = c->torch;
    value_id a = torch_arg_tensor(c, 0), b = torch_arg_tensor(c, 1);
    if (torch_rank(t, a) != 2 || torch_rank(t, b) != 2) {
        give_up(c);
        return;
    }
    value_id wide = torch_emit2(t, "Mul", torch_unsqueeze(t, torch_unsqueeze(t, a, 1), 3),
                                torch_unsqueeze(t, torch_unsqueeze(t, b, 0), 2));
    const num dims[2] = {num_mul(t->nums, torch_dim(t, a, 0), torch_dim(t, b, 0)),
                         num_mul(t->nums, torch_dim(t, a, 1), torch_dim(t, b, 1))};
    torch_return(c, torch_reshape(t, wide, dims, 2));
}

static void rule_take_along(torch_call *c)
{
    give(c, call(c, "gather", (const torch_value[]){c->args[0], c->args[2], c->args[1]}, 3));
}

static void rule_take(torch_call *c)
{
    torch_value flat = call(c, "flatten", (const torch_value[]){c->args[0], torch_int(0), torch_int(-1)}, 3);
    torch_return(c, torch_gather(c->torch, torch_operand(c->torch, flat, DT_UNKNOWN), torch_arg_tensor(c, 1), 0));
}

/* ---- created tensors ------------------------------------------------------------------------------------- */

static void rule_eye(torch_call *c)
{
    num rows = torch_arg_int(c, 0, NUM_UNKNOWN), columns = torch_arg_int(c, 1, rows);
    torch_return(c, torch_filled(c->torch, (const num[]){rows, columns}, 2, 0, torch_arg_dtype(c, 2, DT_FLOAT32)));
}

static void rule_signal_window(torch_call *c)
{
    num length = torch_arg_int(c, 0, NUM_UNKNOWN);
    torch_return(c, torch_filled(c->torch, &length, 1, 0, DT_FLOAT32));
}

static void rule_like(torch_call *c)
{
    torch *t = c->torch;
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    if (rank < 0) {
        give_up(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        dims[i] = torch_dim(t, x, i);
    torch_return(c, torch_filled(t, dims, rank, 0, torch_at(t, x)->dtype));
}

static void rule_randint(torch_call *c)
{
    num dims[MAX_RANK];
    int rank = torch_arg_ints(c, torch_is_list(c->args[1]) ? 1 : 2, dims);
    if (rank < 0)
        give_up(c);
    else
        torch_return(c, torch_filled(c->torch, dims, rank, 0, DT_INT64));
}

static void rule_logspace(torch_call *c)
{
    num steps = torch_arg_int(c, 2, NUM_UNKNOWN);
    torch_return(c, torch_filled(c->torch, &steps, 1, 0, DT_FLOAT32));
}

/* Row and column indices of a matrix's triangle. */
static void rule_triangle(torch_call *c)
{
    enum { MOST = 1 << 15 };
    num rows = torch_arg_int(c, 0, NUM_UNKNOWN), columns = torch_arg_int(c, 1, NUM_UNKNOWN),
        offset = torch_arg_int(c, 2, 0), count = 0;
    bool is_lower = str_is(str_of(c->op->name), "tril_indices");
    if (rows < 0 || columns < 0 || rows > MOST || columns > MOST || offset < -MOST || offset > MOST) {
        give_up(c);
        return;
    }
    for (num i = 0; i < rows; i++) {
        num below = i + offset + (is_lower ? 1 : 0); /* number of columns left of the border in this row */
        below = below < 0 ? 0 : below > columns ? columns : below;
        count += is_lower ? below : columns - below;
    }
    torch_return(c, torch_filled(c->torch, (const num[]){2, count}, 2, 0, DT_INT64));
}

/* Sampling grid of a map, with one coordinate pair per output pixel. */
static void rule_affine_grid(torch_call *c)
{
    num size[MAX_RANK];
    int rank = torch_arg_ints(c, 1, size);
    if (rank != 4 && rank != 5) {
        give_up(c);
        return;
    }
    num dims[5] = {size[0], size[2], size[3], rank == 4 ? 2 : size[4], 3};
    torch_return_foreign(c, torch_at(c->torch, torch_arg_tensor(c, 0))->dtype, rank, dims);
}

static void rule_multinomial(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    const num dims[2] = {rank == 2 ? torch_dim(t, x, 0) : torch_arg_int(c, 1, 1), torch_arg_int(c, 1, 1)};
    torch_return_foreign(c, DT_INT64, rank == 1 || rank == 2 ? rank : RANK_UNKNOWN, dims);
}

static void rule_max_unpool(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num dims[MAX_RANK], size[MAX_RANK];
    int rank = torch_rank(t, x), count = torch_arg_ints(c, 2, size);
    for (int i = 0; i < rank; i++)
        dims[i] = count > 0 && i >= rank - count ? size[i - (rank - count)] : torch_dim(t, x, i);
    torch_return_foreign(c, torch_at(t, x)->dtype, rank, dims);
}

/* Regions pooled to one size: (regions, channels, height, width). */
static void rule_regions(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num height = torch_arg_int(c, 3, 1), width = torch_arg_int(c, 4, 1), channels = torch_dim(t, x, 1);
    if (c->op->name[0] == 'p')
        channels = dim_known(channels) && height > 0 && width > 0 && height < INT32_MAX && width < INT32_MAX
                       ? channels / (height * width)
                       : NUM_UNKNOWN;
    const num dims[4] = {torch_dim(t, torch_arg_tensor(c, 1), 0), channels, height, width};
    torch_return_foreign(c, torch_at(t, x)->dtype, 4, dims);
    torch_return(c, c->results[0].kind == TORCH_TENSOR ? c->results[0].tensor : NO_VALUE);
}

static void rule_no_version(torch_call *c)
{
    give(c, torch_int(-1));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"addbmm", "input batch1 batch2", rule_add_product, "bmm"},
    {"addmv", "input mat vec", rule_add_product, "mv"},
    {"addr", "input vec1 vec2", rule_add_product, "outer"},
    {"bilinear", "input1 input2 weight bias", rule_bilinear, NULL},
    {"cdist", "x1 x2 p compute_mode", rule_distances, NULL},
    {"_cdist_forward", "x1 x2 p compute_mode", rule_distances, NULL},
    {"chain_matmul", "tensors", rule_multi_dot, NULL},
    {"_convolution_mode", "input weight bias stride padding dilation groups", rule_conv_mode, NULL},
    {"cosine_similarity", "x1 x2 dim eps", rule_cosine, NULL},
    {"deform_conv2d", "input weight offset mask bias stride_h stride_w pad_h pad_w dilation_h dilation_w n_weight_grps "
     "n_offset_grps use_mask", rule_deform_conv, NULL},
    {"embedding_bag", "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights include_last_offset padding_idx",
     rule_embedding_bag, NULL},
    {"_embedding_bag", "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights include_last_offset padding_idx",
     rule_embedding_bag, NULL},
    {"_embedding_bag_forward_only", "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights include_last_offset "
     "padding_idx", rule_embedding_bag, NULL},
    {"ger", "input vec2", rule_outer, NULL},
    {"inner", "input other", rule_inner, NULL},
    {"kron", "input other", rule_kron, NULL},
    {"linalg_matmul", "input other", rule_renamed, "matmul"},
    {"linalg_multi_dot", "tensors", rule_multi_dot, NULL},
    {"linalg_outer", "input vec2", rule_outer, NULL},
    {"outer", "input vec2", rule_outer, NULL},
    {"pairwise_distance", "x1 x2 p eps keepdim", rule_pair_distance, NULL},
    {"rnn_relu_cell", "input hx w_ih w_hh b_ih b_hh", rule_recurrent_cell, "relu"},
    {"rnn_tanh_cell", "input hx w_ih w_hh b_ih b_hh", rule_recurrent_cell, "tanh"},
    {"tensordot", "input other dims_self dims_other", rule_tensordot, NULL},
    {"_weight_norm", "v g dim", rule_weight_norm, NULL},
    {"_weight_norm_interface", "v g dim", rule_weight_norm, NULL},

    {"adjoint", "input", rule_matrix_turned, NULL},
    {"atleast_1d", "input", rule_at_least, NULL},
    {"atleast_2d", "input", rule_at_least, NULL},
    {"atleast_3d", "input", rule_at_least, NULL},
    {"channel_shuffle", "input groups", rule_channel_shuffle, NULL},
    {"native_channel_shuffle", "input groups", rule_channel_shuffle, NULL},
    {"column_stack", "tensors", rule_stacked, NULL},
    {"diag", "input diagonal", rule_diag_embed, NULL},
    {"diag_embed", "input offset dim1 dim2", rule_diag_embed, NULL},
    {"diagonal", "input offset dim1 dim2", rule_diagonal, NULL},
    {"dsplit", "input sections", rule_split_along, NULL},
    {"dstack", "tensors", rule_stacked, NULL},
    {"fliplr", "input", rule_flip_one, NULL},
    {"flipud", "input", rule_flip_one, NULL},
    {"hsplit", "input sections", rule_split_along, NULL},
    {"hstack", "tensors", rule_stacked, NULL},
    {"mH", "input", rule_matrix_turned, NULL},
    {"mT", "input", rule_matrix_turned, NULL},
    {"moveaxis", "input source destination", rule_renamed, "movedim"},
    {"narrow", "input dim start length", rule_narrow, NULL},
    {"narrow_copy", "input dim start length", rule_narrow, NULL},
    {"ravel", "input", rule_ravel, NULL},
    {"repeat_interleave", "input repeats dim output_size", rule_repeat_interleave, NULL},
    {"rot90", "input k dims", rule_rot90, NULL},
    {"row_stack", "tensors", rule_stacked, NULL},
    {"swapdims", "input dim0 dim1", rule_renamed, "transpose"},
    {"take", "input index", rule_take, NULL},
    {"take_along_dim", "input indices dim", rule_take_along, NULL},
    {"trace", "input", rule_diagonal, NULL},
    {"unsafe_chunk", "input chunks dim", rule_renamed, "chunk"},
    {"unsafe_split", "input split_size dim", rule_renamed, "split"},
    {"unsafe_split_with_sizes", "input split_sizes dim", rule_renamed, "split_with_sizes"},
    {"vsplit", "input sections", rule_split_along, NULL},
    {"vstack", "tensors", rule_stacked, NULL},

    {"affine_grid_generator", "theta size align_corners", rule_affine_grid, NULL},
    {"bartlett_window", "window_length", rule_signal_window, NULL},
    {"blackman_window", "window_length", rule_signal_window, NULL},
    {"_cuda_version", "", rule_no_version, NULL},
    {"eye", "n m dtype", rule_eye, NULL},
    {"hamming_window", "window_length", rule_signal_window, NULL},
    {"hann_window", "window_length", rule_signal_window, NULL},
    {"kaiser_window", "window_length", rule_signal_window, NULL},
    {"logspace", "start end steps base", rule_logspace, NULL},
    {"max_unpool2d", "input indices output_size", rule_max_unpool, NULL},
    {"max_unpool3d", "input indices output_size", rule_max_unpool, NULL},
    {"multinomial", "input num_samples replacement", rule_multinomial, NULL},
    {"ps_roi_align", "input rois spatial_scale pooled_height pooled_width sampling_ratio", rule_regions, NULL},
    {"ps_roi_pool", "input rois spatial_scale pooled_height pooled_width", rule_regions, NULL},
    {"rand_like", "input", rule_like, NULL},
    {"randint", "high size low", rule_randint, NULL},
    {"randn_like", "input", rule_like, NULL},
    {"roi_pool", "input rois spatial_scale pooled_height pooled_width", rule_regions, NULL},
    {"tril_indices", "row col offset", rule_triangle, NULL},
    {"triu_indices", "row col offset", rule_triangle, NULL},
};
/* clang-format on */

const torch_op *torch_ops_composed(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
