/* emit.c: writes nodes, attributes and constants for front ends (emit.h). Layers of several nodes are in
 * emit_layers.c. */
#include "front/common/emit.h"

#include <assert.h>

void emit_begin(emitter *e, builder *b, const char *format)
{
    *e = (emitter){.b = b, .name = STR("")};
    b->source->format = str_of(format);
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = (opset_import){STR(""), EMIT_OPSET};
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

value_id emit_temp(emitter *e)
{
    return build_local(e->b, arena_printf(e->b->arena, "%.*s~%d", STR_ARG(e->name), e->made++));
}

static node *new_node(emitter *e, str domain, str type, const value_id *inputs, int count, const value_id *outputs,
                      int output_count)
{
    node *n = build_node(e->b, domain, type, e->name, count, output_count, EMIT_ATTRS);
    n->opset = EMIT_OPSET;
    n->attr_count = 0;
    for (int i = 0; i < count; i++)
        n->inputs[i] = inputs[i];
    for (int i = 0; i < output_count; i++)
        n->outputs[i] = outputs[i];
    return n;
}

node *emit_many(emitter *e, const char *op, const value_id *inputs, int count, const value_id *outputs,
                int output_count)
{
    while (count > 0 && inputs[count - 1] == NO_VALUE)
        count--;
    return new_node(e, STR(""), str_of(op), inputs, count, outputs, output_count);
}

/* A model must import the operator sets that it uses. */
static void import_domain(emitter *e, str domain)
{
    opset_list *opsets = &e->b->source->opsets;
    for (int32_t i = 0; i < opsets->count; i++)
        if (str_eq(opsets->items[i].domain, domain))
            return;
    *(opset_import *)ARENA_PUSH(e->b->arena, opsets) = (opset_import){domain, 1};
}

node *emit_foreign(emitter *e, str domain, str type, const value_id *inputs, int count, const value_id *outputs,
                   int output_count)
{
    import_domain(e, domain);
    return new_node(e, domain, type, inputs, count, outputs, output_count);
}

node *emit_op(emitter *e, const char *op, const value_id *inputs, int count, value_id output)
{
    value_id out = output == NO_VALUE ? emit_temp(e) : output;
    return emit_many(e, op, inputs, count, &out, 1);
}

value_id emit_1(emitter *e, const char *op, value_id x, value_id output)
{
    return emit_op(e, op, &x, 1, output)->outputs[0];
}

value_id emit_2(emitter *e, const char *op, value_id x, value_id y, value_id output)
{
    return emit_op(e, op, (const value_id[]){x, y}, 2, output)->outputs[0];
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

static attr *add_attr(node *n, const char *name, attr_kind kind)
{
    assert(n->attr_count < EMIT_ATTRS);
    attr *a = &n->attrs[n->attr_count++];
    *a = (attr){.name = str_of(name), .kind = kind};
    return a;
}

void emit_int(node *n, const char *name, int64_t number)
{
    add_attr(n, name, ATTR_INT)->integer = number;
}

void emit_real(node *n, const char *name, double number)
{
    add_attr(n, name, ATTR_FLOAT)->real = number;
}

void emit_ints(emitter *e, node *n, const char *name, const int64_t *numbers, int count)
{
    attr *a = add_attr(n, name, ATTR_INTS);
    a->ints = arena_copy(e->b->arena, numbers, (size_t)count, sizeof *numbers);
    a->count = count;
}

void emit_text(node *n, const char *name, str text)
{
    add_attr(n, name, ATTR_STRING)->string = text;
}

void emit_graph(node *n, const char *name, graph *g)
{
    add_attr(n, name, ATTR_GRAPH)->graph = g;
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Byte size of a tensor; -1 on overflow. */
static int64_t bytes_of(dtype type, int rank, const int64_t *dims)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count))
            return -1;
    int64_t bits;
    return __builtin_mul_overflow(count, (int64_t)dtype_bits(type), &bits) || bits > INT64_MAX - 7 ? -1
                                                                                                   : (bits + 7) / 8;
}

static tensor *new_tensor(emitter *e, dtype type, int rank, const int64_t *dims)
{
    tensor *t = ARENA_NEW(e->b->arena, tensor);
    *t = (tensor){.dtype = type, .rank = (int8_t)rank, .encoding = TENSOR_ELSEWHERE};
    t->dims = arena_copy(e->b->arena, dims, (size_t)rank, sizeof *dims);
    t->stored_bytes = bytes_of(type, rank, dims);
    if (t->stored_bytes < 0)
        fail_with(&e->b->model->fail, SOOTH_ERROR_INPUT,
                  "a constant of '%.*s' has too many elements (2^63 or more); export the model again",
                  STR_ARG(e->name));
    return t;
}

const tensor *emit_tensor(emitter *e, dtype type, int rank, const int64_t *dims)
{
    return new_tensor(e, type, rank, dims);
}

value_id emit_weight(emitter *e, str name, dtype type, int rank, const int64_t *dims)
{
    value_id v = build_local(e->b, name);
    if (!build_at(e->b, v)->is_initializer)
        build_constant(e->b, v, emit_tensor(e, type, rank, dims));
    return v;
}

void emit_listed(emitter *e, str name, dtype type, int rank, const int64_t *dims, int64_t packed_bytes)
{
    e->name = name;
    e->b->source->is_list = true;
    value_id weight = emit_weight(e, name, type, rank, dims);
    if (packed_bytes) {
        tensor *own = arena_copy(e->b->arena, build_at(e->b, weight)->tensor, 1, sizeof *own);
        own->packed_bytes = packed_bytes;
        build_at(e->b, weight)->tensor = own;
    }
    value_id out = emit_temp(e);
    emit_1(e, "Identity", weight, out);
    build_output(e->b, out);
}

static value_id own_constant(emitter *e, dtype type, int rank, int64_t count, const void *bytes, size_t size)
{
    tensor *t = new_tensor(e, type, rank, &count);
    t->encoding = TENSOR_RAW;
    t->bytes = arena_copy(e->b->arena, bytes, size, 1);
    t->size = size;
    value_id v = emit_temp(e);
    build_constant(e->b, v, t);
    build_at(e->b, v)->is_constant_node = true;
    return v;
}

static void little_endian(uint8_t *to, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
}

static value_id own_ints(emitter *e, int rank, const int64_t *numbers, int count)
{
    uint8_t *bytes = ARENA_ARRAY(e->b->arena, uint8_t, (size_t)count * 8 + 1);
    for (int i = 0; i < count; i++)
        little_endian(bytes + (size_t)8 * (size_t)i, (uint64_t)numbers[i], 8);
    return own_constant(e, DT_INT64, rank, count, bytes, (size_t)count * 8);
}

value_id emit_list(emitter *e, const int64_t *numbers, int count)
{
    return own_ints(e, 1, numbers, count);
}

value_id emit_reals(emitter *e, const float *numbers, int count)
{
    uint8_t *bytes = ARENA_ARRAY(e->b->arena, uint8_t, (size_t)count * 4 + 1);
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        little_endian(bytes + (size_t)4 * (size_t)i, bits, 4);
    }
    return own_constant(e, DT_FLOAT32, 1, count, bytes, (size_t)count * 4);
}

value_id emit_number(emitter *e, int64_t number)
{
    return own_ints(e, 0, &number, 1);
}

value_id emit_scalar(emitter *e, dtype type, double number)
{
    uint8_t bytes[8];
    uint64_t bits;
    float single = (float)number;
    uint32_t single_bits;
    int size = dtype_bits(type) / 8;
    memcpy(&bits, &number, sizeof bits);
    memcpy(&single_bits, &single, sizeof single_bits);
    if (type == DT_FLOAT64) {
        little_endian(bytes, bits, 8);
    } else if (dtype_is_integer(type) && size > 0) {
        little_endian(bytes, (uint64_t)(int64_t)number, size);
    } else { /* stays zero, also for half precision, which no rule reads */
        type = DT_FLOAT32;
        size = 4;
        little_endian(bytes, single_bits, 4);
    }
    return own_constant(e, type, 0, 1, bytes, (size_t)size);
}

const tensor *emit_constant_of(emitter *e, value_id v)
{
    return v == NO_VALUE ? NULL : build_at(e->b, v)->tensor;
}

static int64_t element_count(const tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(count, t->dims[i], &count))
            return -1;
    return count;
}

int emit_known_ints(emitter *e, value_id v, int64_t *to, int room)
{
    const tensor *t = emit_constant_of(e, v);
    int64_t count = t && dtype_is_integer(t->dtype) ? element_count(t) : -1;
    return count >= 0 && count <= room && tensor_ints(t, to, count) ? (int)count : -1;
}

bool emit_known_int(emitter *e, value_id v, int64_t *number)
{
    return emit_known_ints(e, v, number, 1) == 1;
}

value_id emit_index(emitter *e, value_id v)
{
    int64_t numbers[MAX_RANK];
    const tensor *t = emit_constant_of(e, v);
    if (v == NO_VALUE || build_at(e->b, v)->dtype == DT_INT64)
        return v;
    int count = t && t->rank <= 1 ? emit_known_ints(e, v, numbers, MAX_RANK) : -1;
    if (count < 0)
        return emit_cast(e, v, DT_INT64, NO_VALUE);
    return own_ints(e, t->rank, numbers, count);
}

value_id emit_index_list(emitter *e, value_id v)
{
    const tensor *t = emit_constant_of(e, v);
    int64_t number;
    if (t && t->rank == 0 && emit_known_int(e, v, &number))
        return emit_list(e, &number, 1);
    v = emit_index(e, v);
    return v == NO_VALUE || t ? v : emit_2(e, "Reshape", v, emit_list(e, (const int64_t[]){-1}, 1), NO_VALUE);
}

/* ---- weights in another order ---------------------------------------------------------------------------------- */

value_id emit_reordered(emitter *e, value_id v, int rank, const int64_t *dims, const char *order)
{
    const value *from = build_at(e->b, v);
    const tensor *t = from->tensor;
    bool is_constant_node = from->is_constant_node;
    value_id reordered_of = from->reordered_of == NO_VALUE ? v : from->reordered_of;
    /* Truncates long names; the number keeps them unique. */
    str name = from->name.len <= 256 ? arena_printf(e->b->arena, "%.*s~%s", STR_ARG(from->name), order)
                                     : arena_printf(e->b->arena, "%.*s~%d~%s", STR_ARG(from->name), v, order);
    value_id made = build_local(e->b, name);
    if (build_at(e->b, made)->is_initializer)
        return made;
    tensor *other = new_tensor(e, t->dtype, rank, dims);
    other->stored_bytes = t->stored_bytes;
    build_constant(e->b, made, other);
    build_at(e->b, made)->is_constant_node = is_constant_node;
    build_at(e->b, made)->reordered_of = reordered_of;
    return made;
}

value_id emit_permuted(emitter *e, value_id v, const int64_t *perm, int rank)
{
    const tensor *t = emit_constant_of(e, v);
    char order[MAX_RANK + 1];
    int64_t dims[MAX_RANK];
    if (!t || t->rank != rank)
        return emit_transpose(e, v, perm, rank, NO_VALUE);
    for (int i = 0; i < rank; i++) {
        dims[i] = t->dims[perm[i]];
        order[i] = (char)('0' + perm[i]);
    }
    order[rank] = '\0';
    return emit_reordered(e, v, rank, dims, order);
}

value_id emit_viewed(emitter *e, value_id v, const int64_t *dims, int rank)
{
    return emit_constant_of(e, v) ? emit_reordered(e, v, rank, dims, "view")
                                  : emit_reshaped(e, v, dims, rank, NO_VALUE);
}

value_id emit_turned(emitter *e, value_id v, bool turn)
{
    int64_t perm[MAX_RANK];
    int rank = v == NO_VALUE ? RANK_UNKNOWN : build_at(e->b, v)->rank;
    if (!turn || rank < 2)
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return emit_permuted(e, v, perm, rank);
}

value_id emit_depthwise_weight(emitter *e, value_id v, int axes, int64_t *group)
{
    const tensor *t = emit_constant_of(e, v);
    int64_t dims[5] = {-1, 1}, perm[5] = {axes, axes + 1};
    *group = 1;
    if (v == NO_VALUE)
        return NO_VALUE;
    const value *declared = build_at(e->b, v);
    if (t && t->rank == axes + 2) {
        *group = t->dims[axes];
        if (__builtin_mul_overflow(t->dims[axes], t->dims[axes + 1], &dims[0]))
            dims[0] = 0;
        memcpy(dims + 2, t->dims, (size_t)axes * sizeof *dims);
        return emit_reordered(e, v, axes + 2, dims, "depthwise");
    }
    if (declared->rank == axes + 2 && dim_known(declared->dims[axes]))
        *group = declared->dims[axes];
    for (int i = 0; i < axes; i++) {
        perm[2 + i] = i;
        dims[2 + i] = declared->rank == axes + 2 && dim_known(declared->dims[i]) ? declared->dims[i] : 0;
    }
    /* (C, multiplier, kernel…) → (C·multiplier, 1, kernel…); 0 keeps a dimension */
    return emit_reshaped(e, emit_transpose(e, v, perm, axes + 2, NO_VALUE), dims, axes + 2, NO_VALUE);
}

/* ---- single nodes with their arguments ------------------------------------------------------------------------- */

value_id emit_reshaped(emitter *e, value_id v, const int64_t *dims, int rank, value_id output)
{
    return emit_2(e, "Reshape", v, emit_list(e, dims, rank), output);
}

value_id emit_squeeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output)
{
    return emit_2(e, "Squeeze", x, emit_list(e, axes, count), output);
}

value_id emit_unsqueeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output)
{
    return emit_2(e, "Unsqueeze", x, emit_list(e, axes, count), output);
}

value_id emit_transpose(emitter *e, value_id x, const int64_t *perm, int count, value_id output)
{
    node *n = emit_op(e, "Transpose", &x, 1, output);
    emit_ints(e, n, "perm", perm, count);
    return n->outputs[0];
}

value_id emit_cast(emitter *e, value_id x, dtype to, value_id output)
{
    node *n = emit_op(e, "Cast", &x, 1, output);
    emit_int(n, "to", to);
    return n->outputs[0];
}

node *emit_reduce(emitter *e, const char *op, value_id x, value_id axes, bool keep, value_id output)
{
    int64_t none;
    /* an empty list of axes reduces nothing, which ONNX writes in another way */
    if (emit_known_ints(e, axes, &none, 0) == 0) {
        node *n = emit_op(e, op, (const value_id[]){x, emit_list(e, NULL, 0)}, 2, output);
        emit_int(n, "keepdims", keep);
        emit_int(n, "noop_with_empty_axes", 1);
        return n;
    }
    node *n = emit_op(e, op, (const value_id[]){x, emit_index_list(e, axes)}, 2, output);
    emit_int(n, "keepdims", keep);
    return n;
}
