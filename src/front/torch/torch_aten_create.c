/* torch_aten_create.c: ATen operators that create tensors: fills, ranges, literals. */
#include "front/torch/torch.h"

static void give_up(torch_call *c)
{
    torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
}

/* An explicit type is usually that of another tensor, not PyTorch's default. */
static void note_type(torch_call *c)
{
    bool is_given = torch_arg_dtype(c, 1, DT_UNKNOWN) != DT_UNKNOWN;
    if (c->torch->is_exact && is_given && c->results[0].kind == TORCH_TENSOR)
        torch_mark(c->torch, c->results[0].tensor, "eager_typed");
}

static void rule_filled(torch_call *c)
{
    num dims[MAX_RANK];
    int rank = torch_arg_ints(c, 0, dims);
    bool ones = str_is(str_of(c->op->name), "ones");
    if (rank < 0)
        give_up(c);
    else
        torch_return(c, torch_filled(c->torch, dims, rank, ones, torch_arg_dtype(c, 1, DT_FLOAT32)));
    note_type(c);
}

static void rule_full(torch_call *c)
{
    num dims[MAX_RANK];
    int rank = torch_arg_ints(c, 0, dims);
    dtype natural = c->args[1].kind == TORCH_BOOL ? DT_BOOL : c->args[1].kind == TORCH_INT ? DT_INT64 : DT_FLOAT32;
    if (rank < 0)
        give_up(c);
    else
        torch_return(c, torch_filled(c->torch, dims, rank, torch_arg_real(c, 1, 0), torch_arg_dtype(c, 2, natural)));
}

/* zeros_like, new_zeros …: type and shape of the first argument, unless given. */
static void like(torch_call *c, int size_at, int type_at, double x)
{
    torch *t = c->torch;
    value_id first = torch_arg_tensor(c, 0);
    num dims[MAX_RANK];
    int rank = size_at ? torch_arg_ints(c, size_at, dims) : torch_rank(t, first);
    if (rank < 0 || first == NO_VALUE) {
        give_up(c);
        return;
    }
    for (int i = 0; !size_at && i < rank; i++)
        dims[i] = torch_dim(t, first, i);
    torch_return(c, torch_filled(t, dims, rank, x, torch_arg_dtype(c, type_at, torch_at(t, first)->dtype)));
}

static void rule_zeros_like(torch_call *c)
{
    like(c, 0, 1, str_is(str_of(c->op->name), "ones_like"));
}

static void rule_full_like(torch_call *c)
{
    like(c, 0, 2, torch_arg_real(c, 1, 0));
}

static void rule_new_zeros(torch_call *c)
{
    like(c, 1, 2, str_is(str_of(c->op->name), "new_ones"));
}

static void rule_new_full(torch_call *c)
{
    like(c, 1, 3, torch_arg_real(c, 2, 0));
}

/* Collects the numbers of nested lists; false if an element is not a number. */
static bool numbers_in(torch_value v, int depth, num *dims, int *rank, torch_value *numbers, int *count, int room)
{
    if (!torch_is_list(v)) {
        if (*count >= room || (v.kind != TORCH_INT && v.kind != TORCH_REAL && v.kind != TORCH_BOOL))
            return false;
        numbers[(*count)++] = v;
        return true;
    }
    if (depth > 4)
        return false;
    if (depth >= *rank)
        *rank = depth + 1;
    dims[depth] = v.list->count;
    for (int32_t i = 0; i < v.list->count; i++)
        if (!numbers_in(v.list->items[i], depth + 1, dims, rank, numbers, count, room))
            return false;
    return true;
}

/* Makes a tensor from a literal. A single number stays a number, so that results computed from it are known. */
static void rule_tensor(torch_call *c)
{
    torch *t = c->torch;
    torch_value v = c->args[0];
    dtype type = torch_arg_dtype(c, 1, DT_UNKNOWN);
    if (v.kind == TORCH_TENSOR) {
        torch_return(c, torch_cast(t, v.tensor, type));
        return;
    }
    if (v.kind == TORCH_INT || v.kind == TORCH_REAL || v.kind == TORCH_BOOL || v.kind == TORCH_UNKNOWN) {
        if (type == DT_UNKNOWN || (v.kind == TORCH_INT && type == DT_INT64)) {
            v.is_number_tensor = true;
            c->results[c->result_count++] = v;
        } else {
            torch_return(c, torch_operand(t, v, type));
        }
        return;
    }
    enum { ROOM = 256 };
    num dims[MAX_RANK];
    int rank = 0, count = 0;
    torch_value *numbers = ARENA_ARRAY(t->arena, torch_value, ROOM);
    if (!numbers_in(v, 0, dims, &rank, numbers, &count, ROOM)) {
        give_up(c);
        return;
    }
    bool all_ints = count > 0 && count <= MAX_RANK && rank == 1;
    num ints[MAX_RANK];
    for (int i = 0; i < count && all_ints; i++) {
        all_ints = numbers[i].kind == TORCH_INT;
        ints[i] = numbers[i].integer;
    }
    if (all_ints)
        torch_return(c, torch_cast(t, torch_const_ints(t, ints, count), type));
    else
        torch_return(c, torch_filled(t, dims, rank, 0, type == DT_UNKNOWN ? DT_FLOAT32 : type));
}

static void rule_arange(torch_call *c)
{
    torch *t = c->torch;
    /* (end), (start, end), (start, end, step), positional or by name */
    bool named = c->given[6];
    int numbers = 0;
    while (numbers < 3 && (c->args[numbers].kind == TORCH_INT || c->args[numbers].kind == TORCH_REAL ||
                           c->args[numbers].kind == TORCH_UNKNOWN || c->args[numbers].kind == TORCH_TENSOR))
        numbers++;
    torch_value start = torch_int(0), end = c->args[0], step = torch_int(1);
    if (named)
        end = c->args[6];
    if (named && numbers)
        start = c->args[0];
    if (!named && numbers >= 2) {
        start = c->args[0];
        end = c->args[1];
    }
    if (numbers >= 3 || c->given[2])
        step = c->args[2].kind == TORCH_NONE ? step : c->args[2];
    bool real = start.kind == TORCH_REAL || end.kind == TORCH_REAL || step.kind == TORCH_REAL;
    dtype type = real ? DT_FLOAT32 : DT_INT64, wanted = DT_UNKNOWN;
    for (int i = numbers ? numbers : 1; i < 6; i++)
        if (c->args[i].kind == TORCH_INT && wanted == DT_UNKNOWN && i >= (named ? 3 : numbers))
            wanted = torch_arg_dtype(c, i, DT_UNKNOWN);
    value_id range = torch_emit3(t, "Range", torch_operand(t, start, type), torch_operand(t, end, type),
                                 torch_operand(t, step, type));
    torch_return(c, torch_cast(t, range, wanted));
}

static void rule_linspace(torch_call *c)
{
    torch *t = c->torch;
    num steps = torch_arg_int(c, 2, NUM_UNKNOWN);
    double start = torch_arg_real(c, 0, 0), end = torch_arg_real(c, 1, 0);
    value_id range = torch_emit3(t, "Range", torch_const_int(t, 0, DT_INT64), torch_const_int(t, steps, DT_INT64),
                                 torch_const_int(t, 1, DT_INT64));
    range = torch_cast(t, range, torch_arg_dtype(c, 3, DT_FLOAT32));
    double step = num_known(steps) && steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    dtype type = torch_at(t, range)->dtype;
    range = torch_emit2(t, "Mul", range, torch_const_real(t, step, type));
    torch_return(c, torch_emit2(t, "Add", range, torch_const_real(t, start, type)));
}

static void rule_scalar_tensor(torch_call *c)
{
    torch_return(c, torch_operand(c->torch, c->args[0], torch_arg_dtype(c, 1, DT_FLOAT32)));
}

static void rule_one_hot(torch_call *c)
{
    torch *t = c->torch;
    num ends[2] = {0, 1};
    value_id depth = torch_const_int(t, torch_arg_int(c, 1, NUM_UNKNOWN), DT_INT64);
    torch_return(c, torch_emit3(t, "OneHot", torch_arg_tensor(c, 0), depth, torch_const_ints(t, ends, 2)));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"arange", "start start2 step dtype layout device end", rule_arange, NULL},
    {"empty", "size dtype", rule_filled, NULL},
    {"empty_like", "input dtype", rule_zeros_like, NULL},
    {"full", "size fill_value dtype", rule_full, NULL},
    {"full_like", "input fill_value dtype", rule_full_like, NULL},
    {"linspace", "start end steps dtype", rule_linspace, NULL},
    {"new_empty", "input size dtype", rule_new_zeros, NULL},
    {"new_full", "input size fill_value dtype", rule_new_full, NULL},
    {"new_ones", "input size dtype", rule_new_zeros, NULL},
    {"new_zeros", "input size dtype", rule_new_zeros, NULL},
    {"one_hot", "input num_classes", rule_one_hot, NULL},
    {"ones", "size dtype", rule_filled, NULL},
    {"ones_like", "input dtype", rule_zeros_like, NULL},
    {"rand", "size dtype", rule_filled, NULL},
    {"randn", "size dtype", rule_filled, NULL},
    {"scalar_tensor", "s dtype", rule_scalar_tensor, NULL},
    {"tensor", "data dtype device", rule_tensor, NULL},
    {"as_tensor", "data dtype device", rule_tensor, NULL},
    {"zeros", "size dtype", rule_filled, NULL},
    {"zeros_like", "input dtype", rule_zeros_like, NULL},
};
/* clang-format on */

const torch_op *torch_ops_create(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
