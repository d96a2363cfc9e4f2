/* torch_emit.c: writes constants and nodes of a PyTorch program into source and network. */
#include "front/torch/torch.h"
#include "graph/infer.h"

#include <math.h>

/* ---- values ------------------------------------------------------------------------------------------------------ */

torch_value torch_new_list(torch *t, torch_kind kind, int32_t count)
{
    torch_list *list = ARENA_NEW(t->arena, torch_list);
    list->items = ARENA_ARRAY(t->arena, torch_value, (size_t)count);
    list->count = list->capacity = count;
    return (torch_value){.kind = kind, .list = list};
}

void torch_append(torch *t, torch_list *list, torch_value v)
{
    *(torch_value *)ARENA_PUSH(t->arena, list) = v;
}

int torch_rank(const torch *t, value_id id)
{
    return id == NO_VALUE ? RANK_UNKNOWN : torch_at(t, id)->rank;
}

num torch_dim(const torch *t, value_id id, int axis)
{
    int rank = torch_rank(t, id);
    return axis >= 0 && axis < rank ? torch_at(t, id)->dims[axis] : NUM_UNKNOWN;
}

int torch_axis(num axis, int rank)
{
    if (rank < 0 || !num_known(axis))
        return -1;
    num from_start = axis < 0 ? axis + rank : axis;
    return from_start >= 0 && from_start < rank ? (int)from_start : -1;
}

num torch_item(torch *t, value_id id)
{
    int32_t count;
    if (id == NO_VALUE)
        return NUM_UNKNOWN;
    const num *ints = value_ints(t->net, &t->net->values.items[id], &count);
    return ints && count == 1 ? ints[0] : NUM_UNKNOWN;
}

value_id torch_current(const torch *t, value_id id)
{
    while (id != NO_VALUE && id < t->written.count && t->written.items[id])
        id = t->written.items[id] - 1;
    return id;
}

void torch_write(torch *t, value_id before, value_id since)
{
    before = torch_current(t, before);
    since = torch_current(t, since);
    if (before == since || before == NO_VALUE || since == NO_VALUE || torch_at(t, before)->is_initializer)
        return;
    while (t->written.count <= before)
        ARENA_PUSH(t->arena, &t->written);
    t->written.items[before] = since + 1;
}

torch_value torch_number(torch *t, value_id id)
{
    value *v = &t->net->values.items[id];
    int32_t count;
    num n = dtype_is_integer(v->dtype) ? torch_item(t, id) : NUM_UNKNOWN;
    if (n != NUM_UNKNOWN)
        return v->dtype == DT_BOOL ? torch_bool(n != 0) : torch_int(n);
    const double *reals = dtype_is_float(v->dtype) ? value_reals(t->net, v, &count) : NULL;
    return reals && count == 1 ? torch_real(reals[0]) : torch_unknown();
}

void torch_expect(torch *t, value_id x, dtype type, int rank, num channels)
{
    if (x == NO_VALUE || !torch_at(t, x)->is_input)
        return;
    value *v = &t->net->values.items[x];
    if (v->dtype == DT_UNKNOWN)
        v->dtype = type;
    if (!t->expected || v->rank >= 0 || rank < 1)
        return;
    for (int32_t i = 0; i < t->expected_count; i++)
        if (t->expected[i].input == x)
            return;
    if (t->expected_count < TORCH_MAX_EXPECTED)
        t->expected[t->expected_count++] = (torch_expected){x, type, rank, channels};
}

/* Indexed by c10::ScalarType. */
static const dtype DTYPES[] = {DT_UINT8,   DT_INT8,    DT_INT16,   DT_INT32,     DT_INT64,      DT_FLOAT16,
                               DT_FLOAT32, DT_FLOAT64, DT_UNKNOWN, DT_COMPLEX64, DT_COMPLEX128, DT_BOOL,
                               DT_INT8,    DT_UINT8,   DT_INT32,   DT_BFLOAT16};

dtype torch_dtype(int64_t scalar_type)
{
    static const dtype LATER[] = {DT_FLOAT8E5M2, DT_FLOAT8E4M3FN, DT_FLOAT8E5M2FNUZ, DT_FLOAT8E4M3FNUZ,
                                  DT_UINT16,     DT_UINT32,       DT_UINT64};
    if (scalar_type >= 0 && scalar_type < (int64_t)(sizeof DTYPES / sizeof *DTYPES))
        return DTYPES[scalar_type];
    return scalar_type >= 23 && scalar_type < 30 ? LATER[scalar_type - 23] : DT_UNKNOWN;
}

int64_t torch_scalar_type(dtype type)
{
    for (int64_t i = 0; type != DT_UNKNOWN && i < 30; i++)
        if (torch_dtype(i) == type)
            return i;
    return -1;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static str new_name(torch *t, str what)
{
    return arena_printf(t->kept, "%.*s%s%.*s_%d", STR_ARG(t->module), t->module.len ? "/" : "", STR_ARG(what),
                        t->serial++);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static tensor *new_tensor(torch *t, dtype type, int rank, int64_t count)
{
    tensor *x = ARENA_NEW(t->kept, tensor);
    *x = (tensor){.dtype = type, .rank = (int8_t)rank, .encoding = TENSOR_ELSEWHERE};
    x->dims = arena_copy(t->kept, &count, 1, sizeof count);
    x->stored_bytes = count * dtype_bits(type) / 8;
    return x;
}

static void put_bytes(torch *t, tensor *x, const uint64_t *elements, size_t count)
{
    const size_t bytes = (size_t)dtype_bits(x->dtype) / 8; /* eight bytes at most */
    uint8_t *room = ARENA_ARRAY(t->kept, uint8_t, count * bytes);
    for (size_t i = 0; i < count * bytes; i++)
        room[i] = (uint8_t)(elements[i / bytes] >> (8 * (i % bytes)));
    x->encoding = TENSOR_RAW;
    x->bytes = room;
    x->size = count * bytes;
}

/* The network holds a symbolic number; the source cannot store it and only declares it. */
static value_id const_nums(torch *t, const num *ints, int rank, int count, bool joker)
{
    uint64_t *plain = ARENA_ARRAY(t->arena, uint64_t, (size_t)count);
    int symbolic = 0;
    for (int i = 0; i < count; i++) {
        symbolic += !num_known(ints[i]);
        plain[i] = (uint64_t)(num_known(ints[i]) ? ints[i] : -1);
    }
    tensor *x = new_tensor(t, DT_INT64, rank, count);
    if (!symbolic || (joker && symbolic == 1))
        put_bytes(t, x, plain, (size_t)count);
    value_id id = elaborate_constant(t->model, new_name(t, STR("const")), x);
    if (symbolic)
        t->net->values.items[id].ints = arena_copy(t->arena, ints, (size_t)count, sizeof *ints);
    return id;
}

value_id torch_const_ints(torch *t, const num *ints, int count)
{
    return const_nums(t, ints, 1, count, false);
}

value_id torch_const_int(torch *t, num n, dtype type)
{
    if (type == DT_INT64 || !num_known(n))
        return const_nums(t, &n, 0, 1, false);
    if (dtype_is_float(type))
        return torch_const_real(t, (double)n, type);
    tensor *x = new_tensor(t, dtype_is_integer(type) ? type : DT_INT64, 0, 1);
    put_bytes(t, x, &(uint64_t){(uint64_t)n}, 1);
    return elaborate_constant(t->model, new_name(t, STR("const")), x);
}

/* Converts float32 bits to half precision: rounds to nearest; tiny numbers become zero. */
static uint16_t half_of(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 255, fraction = bits & 0x7fffff;
    if (exponent >= 143)
        return (uint16_t)(sign | 0x7c00 | (exponent == 255 && fraction ? 0x200 : 0));
    if (exponent < 113)
        return (uint16_t)sign;
    return (uint16_t)(sign | (((exponent - 112) << 10 | fraction >> 13) + (fraction >> 12 & 1)));
}

value_id torch_const_real(torch *t, double x, dtype type)
{
    if (dtype_is_integer(type))
        return torch_const_int(t, isfinite(x) && fabs(x) < 1e18 ? (num)x : 0, type);
    if (type != DT_FLOAT64 && type != DT_FLOAT16 && type != DT_BFLOAT16)
        type = DT_FLOAT32;
    tensor *constant = new_tensor(t, type, 0, 1);
    float single = (float)x;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &single, sizeof bits);
    memcpy(&wide, &x, sizeof wide);
    if (type != DT_FLOAT64)
        wide = type == DT_FLOAT32 ? bits : type == DT_BFLOAT16 ? bits >> 16 : half_of(bits);
    put_bytes(t, constant, &wide, 1);
    return elaborate_constant(t->model, new_name(t, STR("const")), constant);
}

value_id torch_operand(torch *t, torch_value v, dtype type)
{
    switch (v.kind) {
    case TORCH_TENSOR:
        return v.tensor;
    case TORCH_INT:
    case TORCH_BOOL:
        return torch_const_int(t, v.integer, type == DT_UNKNOWN ? v.kind == TORCH_BOOL ? DT_BOOL : DT_INT64 : type);
    case TORCH_REAL:
        return torch_const_real(t, v.real, type == DT_UNKNOWN ? DT_FLOAT32 : type);
    case TORCH_UNKNOWN:
        return torch_const_int(t, NUM_UNKNOWN, DT_INT64);
    default:
        return NO_VALUE;
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

torch_node torch_begin(torch *t, const char *type)
{
    return (torch_node){.torch = t, .type = type, .domain = ""};
}

void torch_in(torch_node *n, value_id id)
{
    if (n->input_count == n->input_room) {
        int32_t room = n->input_room ? 2 * n->input_room : 6;
        value_id *inputs = arena_room(n->torch->kept, (size_t)room, sizeof *inputs);
        if (n->input_count)
            memcpy(inputs, n->inputs, (size_t)n->input_count * sizeof *inputs);
        n->inputs = inputs;
        n->input_room = room;
    }
    n->inputs[n->input_count++] = id;
}

static attr *add_attr(torch_node *n, const char *name, attr_kind kind)
{
    attr *a = &n->attrs[n->attr_count++];
    *a = (attr){.name = str_of(name), .kind = kind};
    return a;
}

void torch_attr_int(torch_node *n, const char *name, int64_t value)
{
    add_attr(n, name, ATTR_INT)->integer = value;
}

void torch_attr_real(torch_node *n, const char *name, double value)
{
    add_attr(n, name, ATTR_FLOAT)->real = value;
}

void torch_attr_ints(torch_node *n, const char *name, const int64_t *values, int count)
{
    attr *a = add_attr(n, name, ATTR_INTS);
    a->ints = arena_copy(n->torch->kept, values, (size_t)count, sizeof *values);
    a->count = count;
}

void torch_attr_text(torch_node *n, const char *name, str text)
{
    add_attr(n, name, ATTR_STRING)->string = arena_str(n->torch->kept, text);
}

void torch_end_many(torch_node *n, value_id *outputs, int count)
{
    torch *t = n->torch;
    const str domain = str_of(n->domain);
    const op_info *op = ops_find(t->model->ops, domain, str_of(n->type));
    while (n->input_count && n->inputs[n->input_count - 1] == NO_VALUE)
        n->input_count--;
    str name = new_name(t, t->op.len ? t->op : str_of(n->type));
    value_id *kept = ARENA_ARRAY(t->kept, value_id, (size_t)count);
    for (int i = 0; i < count; i++)
        outputs[i] = kept[i] = elaborate_value(t->model, i ? arena_printf(t->kept, "%.*s.%d", STR_ARG(name), i) : name);
    elaborate_node(t->model, &(node){
                                 .op = op,
                                 .type = op ? str_of(op->name) : arena_str(t->kept, str_of(n->type)),
                                 .domain = domain,
                                 .name = name,
                                 .opset = domain.len ? 1 : TORCH_OPSET,
                                 .inputs = n->inputs,
                                 .outputs = kept,
                                 .input_count = n->input_count,
                                 .output_count = count,
                                 .attrs = arena_copy(t->kept, n->attrs, (size_t)n->attr_count, sizeof *n->attrs),
                                 .attr_count = n->attr_count,
                                 .repeat = t->repeat,
                                 .fused_count = 1,
                             });
}

value_id torch_end(torch_node *n)
{
    value_id output;
    torch_end_many(n, &output, 1);
    return output;
}

value_id torch_emit3(torch *t, const char *type, value_id a, value_id b, value_id c)
{
    torch_node n = torch_begin(t, type);
    torch_in(&n, a);
    torch_in(&n, b);
    torch_in(&n, c);
    return torch_end(&n);
}

value_id torch_emit2(torch *t, const char *type, value_id a, value_id b)
{
    return torch_emit3(t, type, a, b, NO_VALUE);
}

value_id torch_emit1(torch *t, const char *type, value_id a)
{
    return torch_emit3(t, type, a, NO_VALUE, NO_VALUE);
}

/* ---- compositions ------------------------------------------------------------------------------------------------ */

value_id torch_reshape(torch *t, value_id x, const num *dims, int rank)
{
    return torch_emit2(t, "Reshape", x, const_nums(t, dims, 1, rank, true));
}

value_id torch_transpose(torch *t, value_id x, const int64_t *order, int rank)
{
    torch_node n = torch_begin(t, "Transpose");
    torch_in(&n, x);
    torch_attr_ints(&n, "perm", order, rank);
    return torch_end(&n);
}

value_id torch_unsqueeze(torch *t, value_id x, int64_t axis)
{
    return torch_emit2(t, "Unsqueeze", x, torch_const_ints(t, &axis, 1));
}

value_id torch_squeeze(torch *t, value_id x, int64_t axis)
{
    return torch_emit2(t, "Squeeze", x, torch_const_ints(t, &axis, 1));
}

value_id torch_cast(torch *t, value_id x, dtype type)
{
    if (x == NO_VALUE || type == DT_UNKNOWN || torch_at(t, x)->dtype == type)
        return x;
    torch_node n = torch_begin(t, "Cast");
    torch_in(&n, x);
    torch_attr_int(&n, "to", type);
    return torch_end(&n);
}

value_id torch_slice(torch *t, value_id x, int64_t axis, num from, num to, num step)
{
    torch_node n = torch_begin(t, "Slice");
    torch_in(&n, x);
    torch_in(&n, torch_const_ints(t, &from, 1));
    torch_in(&n, torch_const_ints(t, &to, 1));
    torch_in(&n, torch_const_ints(t, &axis, 1));
    if (step != 1)
        torch_in(&n, torch_const_ints(t, &step, 1));
    return torch_end(&n);
}

value_id torch_concat(torch *t, const value_id *parts, int count, int64_t axis)
{
    if (count == 1)
        return parts[0];
    torch_node n = torch_begin(t, "Concat");
    for (int i = 0; i < count; i++)
        torch_in(&n, parts[i]);
    torch_attr_int(&n, "axis", axis);
    return torch_end(&n);
}

value_id torch_expand(torch *t, value_id x, const num *dims, int rank)
{
    return torch_emit2(t, "Expand", x, torch_const_ints(t, dims, rank));
}

value_id torch_filled(torch *t, const num *dims, int rank, double x, dtype type)
{
    value_id number = torch_const_real(t, x, type);
    tensor *one = arena_copy(t->kept, torch_at(t, number)->tensor, 1, sizeof *one);
    one->rank = 1;
    torch_node n = torch_begin(t, "ConstantOfShape");
    torch_in(&n, torch_const_ints(t, dims, rank));
    add_attr(&n, "value", ATTR_TENSOR)->tensor = one;
    return torch_end(&n);
}

value_id torch_foreign(torch *t, const value_id *inputs, int count, dtype type, int rank, const num *dims)
{
    bool has_space = t->op.len && memchr(t->op.ptr, ':', t->op.len);
    str name = arena_printf(t->kept, "%s%.*s", has_space ? "" : "aten::", STR_ARG(t->op));
    torch_node n = torch_begin(t, name.ptr);
    n.domain = TORCH_DOMAIN;
    for (int i = 0; i < count; i++)
        torch_in(&n, inputs[i]);
    value_id id = torch_end(&n);
    value *v = &t->net->values.items[id];
    v->dtype = type;
    if (rank >= 0 && rank <= MAX_RANK) {
        v->rank = (int8_t)rank;
        v->dims = arena_copy(t->arena, dims, (size_t)rank, sizeof *dims);
    }
    return id;
}
