/* torch_aten_copy.c: ATen's copies, casts, writes to views, and operators that return their input. */
#include "front/torch/torch.h"
#include "graph/ops.h"

/* ---- writes and copies ------------------------------------------------------------------------------------------- */

/* The tensor that x was sliced from, if any. */
static value_id base_of(const torch *t, value_id x)
{
    for (int steps = 0; steps < 16; steps++) {
        const value *v = torch_at(t, x);
        const node *n = v->producer == NO_NODE ? NULL : &t->net->nodes.items[v->producer];
        if (!n || !(node_is(n, "Slice") || node_is(n, "Gather") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze")))
            return x;
        x = n->inputs[0];
    }
    return x;
}

static bool are_same_dims(const value *a, const value *b)
{
    for (int i = 0; i < a->rank && a->rank == b->rank; i++)
        if (a->dims[i] != b->dims[i] || !dim_known(a->dims[i]))
            return false;
    return a->rank == b->rank && a->rank >= 0;
}

void torch_write_view(torch *t, value_id target, value_id result)
{
    value_id base = base_of(t, target);
    torch_write(t, target, result);
    /* An operator that changes the shape in place (squeeze_) does not affect the tensor that x is a view of. */
    if (base == target || torch_rank(t, base) < 0 || !are_same_dims(torch_at(t, target), torch_at(t, result)))
        return;
    int rank = torch_rank(t, base);
    const num *whole = arena_copy(t->arena, torch_at(t, base)->dims, (size_t)rank, sizeof *whole);
    if (num_product(t->nums, whole, rank) == num_product(t->nums, torch_at(t, result)->dims, torch_at(t, result)->rank))
        torch_write(t, base, torch_reshape(t, result, whole, rank));
}

/* Overwrites `self` with `src`. If `self` is a part of another tensor, that tensor changes too. */
static void rule_copy(torch_call *c)
{
    torch *t = c->torch;
    value_id target = torch_arg_tensor(c, 0), source = torch_arg_tensor(c, 1);
    if (target == NO_VALUE || source == NO_VALUE || torch_rank(t, target) < 0 || torch_rank(t, source) < 0) {
        torch_return_same(c);
        return;
    }
    source = torch_cast(t, source, torch_at(t, target)->dtype);
    value_id base = base_of(t, target);
    int rank = torch_rank(t, target), base_rank = torch_rank(t, base);
    const num *dims = arena_copy(t->arena, torch_at(t, target)->dims, (size_t)rank, sizeof *dims);
    bool same = rank == torch_rank(t, source);
    for (int i = 0; i < rank && same; i++)
        same = dims[i] == torch_dim(t, source, i);
    value_id result = same ? source : torch_expand(t, source, dims, rank);
    torch_return(c, result);
    /* Masks that are filled with numbers part by part stay constants. */
    if (!c->in_place || torch_at(t, source)->is_initializer || base_rank < 0 || torch_at(t, base)->is_initializer ||
        !torch_at(t, source)->dims)
        return;
    const num *whole = arena_copy(t->arena, torch_at(t, base)->dims, (size_t)base_rank, sizeof *whole);
    bool all = num_product(t->nums, whole, base_rank) == num_product(t->nums, dims, rank);
    value_id since = base == target ? result
                     : all
                         ? torch_reshape(t, result, whole, base_rank)
                         : torch_foreign(t, (value_id[]){base, result}, 2, torch_at(t, base)->dtype, base_rank, whole);
    torch_write(t, base, since);
}

/* A copy to other memory, which a runtime makes ("clone"), or makes if the layout is another ("contiguous"). */
static void rule_copied(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    if (!c->torch->is_exact || x == NO_VALUE || torch_at(c->torch, x)->is_initializer ||
        !dtype_is_float(torch_at(c->torch, x)->dtype)) {
        torch_return_same(c);
        return;
    }
    torch_node n = torch_begin(c->torch, "Identity");
    torch_in(&n, x);
    torch_attr_text(&n, "eager_copies", str_of(c->op->canonical));
    torch_return(c, torch_end(&n));
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* x.float() and x.type_as(y) of a float32 program matter in half precision. */
static value_id cast_as_stated(torch *t, value_id x, dtype type)
{
    const value *v = torch_at(t, x);
    bool is_parameter = v->is_initializer && !v->is_constant_node;
    if (!t->is_exact || v->dtype != type || !dtype_is_float(type) || is_parameter || v->rank == 0)
        return torch_cast(t, x, type);
    torch_node n = torch_begin(t, "Cast");
    torch_in(&n, x);
    torch_attr_int(&n, "to", type);
    return torch_end(&n);
}

/* to(dtype), to(device, dtype), to(other): finds the argument that is an element type. */
static void rule_to(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    dtype type = DT_UNKNOWN;
    if (c->args[0].kind != TORCH_TENSOR && c->args[0].kind != TORCH_NONE && !c->args[0].is_number_tensor) {
        torch_return_same(c);
        return;
    }
    if (c->args[1].kind == TORCH_TENSOR)
        type = torch_at(t, c->args[1].tensor)->dtype;
    for (int i = 1; i < 4 && type == DT_UNKNOWN; i++)
        if (c->args[i].kind == TORCH_INT)
            type = torch_arg_dtype(c, i, DT_UNKNOWN);
    if (c->args[0].kind != TORCH_TENSOR) { /* a number that is held as a tensor stays a number */
        torch_return_same(c);
        return;
    }
    torch_return(c, type == DT_UNKNOWN ? x : cast_as_stated(t, x, type));
}

static void rule_to_fixed(torch_call *c)
{
    static const struct {
        const char *name;
        dtype type;
    } TYPES[] = {{"float", DT_FLOAT32}, {"double", DT_FLOAT64}, {"half", DT_FLOAT16}, {"bfloat16", DT_BFLOAT16},
                 {"int", DT_INT32},     {"long", DT_INT64},     {"bool", DT_BOOL}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(str_of(c->op->name), TYPES[i].name))
            torch_return(c, cast_as_stated(c->torch, torch_arg_tensor(c, 0), TYPES[i].type));
}

/* Writes over its argument: fill_, zero_, index_put_. */
static void rule_overwritten(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    if (c->torch->is_exact && x != NO_VALUE && !torch_at(c->torch, x)->is_initializer)
        torch_return(c, torch_emit1(c->torch, "Identity", x));
    else
        torch_return_same(c);
}

/* clang-format off */
static const torch_op OPS[] = {
    {"alias", "input", torch_return_same, NULL},
    {"clone", "input memory_format", rule_copied, "clone"},
    {"contiguous", "input memory_format", rule_copied, "contiguous"},
    {"copy", "input src", rule_copy, NULL},
    {"detach", "input", torch_return_same, NULL},
    {"fill", "input value", rule_overwritten, NULL},
    {"lift_fresh", "input", torch_return_same, NULL},
    {"lift_fresh_copy", "input", torch_return_same, NULL},
    {"requires_grad", "input requires_grad", torch_return_same, NULL},
    {"to_dense", "input", torch_return_same, NULL},
    {"to_mkldnn", "input dtype", torch_return_same, NULL},
    {"zero", "input", rule_overwritten, NULL},
    {"uniform", "input from to", torch_return_same, NULL},
    {"bernoulli", "input p", torch_return_same, NULL},
    {"index_put", "input indices values accumulate", rule_overwritten, NULL},

    {"_to_copy", "input dtype layout device", rule_to, NULL},
    {"to", "input dtype layout device", rule_to, NULL},
    {"type_as", "input other", rule_to, NULL},
    {"float", "input", rule_to_fixed, NULL},
    {"double", "input", rule_to_fixed, NULL},
    {"half", "input", rule_to_fixed, NULL},
    {"bfloat16", "input", rule_to_fixed, NULL},
    {"int", "input", rule_to_fixed, NULL},
    {"long", "input", rule_to_fixed, NULL},
    {"bool", "input", rule_to_fixed, NULL},
};
/* clang-format on */

const torch_op *torch_ops_copy(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
