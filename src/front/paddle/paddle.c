/* paddle.c: reads PaddlePaddle's ProgramDesc: .pdmodel, __model__ (protobuf, proto2).
 *
 *   ProgramDesc  1 blocks, 4 version
 *   BlockDesc    1 idx, 2 parent_idx, 3 vars, 4 ops
 *   VarDesc      1 name, 2 type (VarType), 3 persistable
 *   VarType      1 type, 3 lod_tensor (1 tensor), 4 tensor_array (1 tensor)
 *   TensorDesc   1 data_type, 2 dims
 *   OpDesc       1 inputs, 2 outputs (1 parameter, 2 arguments), 3 type, 4 attrs
 *   Attr         1 name, 2 type, 3 i, 4 f, 5 s, 6 ints, 7 floats, 10 b, 11 bools, 12 block_idx, 13 l, 15 longs, 16
 *   float64s,
 *                19 float64, 20 scalar (2 b, 3 i, 4 r)
 *
 * The weights file (.pdiparams) is not needed: the variables have the shapes. */
#include "front/paddle/paddle.h"
#include "front/common/wire.h"
#include "front/front.h"

enum { MAX_BLOCKS = 100000 };

dtype paddle_type(int64_t number)
{
    static const dtype TYPES[] = {DT_BOOL, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT16, DT_FLOAT32, DT_FLOAT64};
    static const dtype LATER[] = {DT_UINT64, DT_UINT8, DT_INT8, DT_BFLOAT16, DT_COMPLEX64, DT_COMPLEX128};
    if (number >= 0 && number < (int64_t)(sizeof TYPES / sizeof *TYPES))
        return TYPES[number];
    if (number >= 19 && number < 19 + (int64_t)(sizeof LATER / sizeof *LATER))
        return LATER[number - 19];
    return number == 32 ? DT_FLOAT8E4M3FN : number == 33 ? DT_FLOAT8E5M2 : DT_UNKNOWN;
}

/* ---- variables ------------------------------------------------------------------------------------------------- */

static void read_tensor(builder *b, wire w, paddle_var *v)
{
    num dims[MAX_RANK];
    wire_field f;
    const uint8_t *start = w.at;
    v->rank = 0;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            v->type = paddle_type((int64_t)f.varint);
        if (f.number != 2)
            continue;
        int64_t some[MAX_RANK];
        size_t count = wire_ints(&w, &f, some, MAX_RANK);
        if (count > (size_t)(MAX_RANK - v->rank))
            wire_fail(&w, start, "a variable has more than 64 dimensions");
        for (size_t i = 0; i < count; i++)
            dims[v->rank++] = build_dim(b, some[i]);
    }
    v->dims = arena_copy(b->arena, dims, (size_t)v->rank, sizeof *dims);
}

/* Reads VarType: sets the variable's type and shape, and returns its kind, or `kind` if it states none. */
static int64_t read_var_type(builder *b, wire w, int64_t kind, paddle_var *v)
{
    wire_field f, g;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            kind = (int64_t)f.varint;
        if (f.number != 3)
            continue;
        for (wire tensor = wire_message(&w, &f); wire_next(&tensor, &g);)
            if (g.number == 1)
                read_tensor(b, wire_message(&tensor, &g), v);
    }
    return kind;
}

static void read_var(builder *b, wire w, paddle_var *v)
{
    enum { LOD_TENSOR = 7 };
    wire_field f;
    int64_t kind = LOD_TENSOR;
    v->rank = RANK_UNKNOWN;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            v->name = wire_str(&f);
        else if (f.number == 2)
            kind = read_var_type(b, wire_message(&w, &f), kind, v);
        else if (f.number == 3)
            v->is_persistable = f.varint != 0;
    }
    if (kind != LOD_TENSOR) { /* not tensors: arrays, scopes, feed and fetch */
        v->rank = RANK_UNKNOWN;
        v->is_persistable = false;
    }
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

typedef struct numbers {
    struct {
        int64_t *items;
        int32_t count, capacity;
    } ints;
    struct {
        double *items;
        int32_t count, capacity;
    } reals;
} numbers;

static double real_of(const wire_field *f)
{
    double x;
    if (f->type == 5)
        return wire_float(f);
    memcpy(&x, &f->varint, sizeof x);
    return x;
}

static void add_int(builder *b, numbers *n, int64_t x)
{
    *(int64_t *)ARENA_PUSH(b->arena, &n->ints) = x;
}

static void add_ints(builder *b, numbers *n, const wire *w, const wire_field *f)
{
    if (f->type == 2) {
        size_t count = wire_packed_ints(wire_message(w, f), NULL, 0);
        int64_t *all = ARENA_ARRAY(b->arena, int64_t, count + 1);
        wire_packed_ints(wire_message(w, f), all, count);
        for (size_t i = 0; i < count; i++)
            add_int(b, n, all[i]);
    } else {
        add_int(b, n, (int64_t)f->varint);
    }
}

static void read_attr(builder *b, wire w, named_attr *a)
{
    enum { INTS = 3, BOOLEANS = 7, LONGS = 11 };
    numbers n = {0};
    wire_field f, g;
    int64_t type = -1;
    bool has_text = false;
    while (wire_next(&w, &f)) {
        switch (f.number) {
        case 1:
            a->name = wire_str(&f);
            break;
        case 2:
            type = (int64_t)f.varint;
            break;
        case 5:
            a->text = wire_str(&f);
            has_text = true;
            break;
        case 3:
        case 6:
        case 10:
        case 11:
        case 12:
        case 13:
        case 15:
            add_ints(b, &n, &w, &f);
            break;
        case 4:
        case 7:
        case 16:
        case 19:
            if (f.type == 1 || f.type == 5)
                *(double *)ARENA_PUSH(b->arena, &n.reals) = real_of(&f);
            break;
        case 20:
            for (wire scalar = wire_message(&w, &f); wire_next(&scalar, &g);) {
                if (g.number == 2 || g.number == 3)
                    add_int(b, &n, (int64_t)g.varint);
                else if (g.number == 4)
                    *(double *)ARENA_PUSH(b->arena, &n.reals) = real_of(&g);
            }
            break;
        default:
            break;
        }
    }
    if (has_text) {
        a->kind = NAMED_TEXT;
    } else if (n.reals.count) {
        a->kind = NAMED_REALS;
        a->reals = n.reals.items;
        a->count = n.reals.count;
    } else if (n.ints.count || type == INTS || type == BOOLEANS || type == LONGS) {
        a->kind = NAMED_INTS;
        a->ints = n.ints.items;
        a->count = n.ints.count;
    }
}

static void read_slot(builder *b, wire w, paddle_slot *s)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            s->name = wire_str(&f);
        else if (f.number == 2)
            *(str *)ARENA_PUSH(b->arena, &s->vars) = wire_str(&f);
    }
}

static void read_op(builder *b, wire w, paddle_desc *d)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            read_slot(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &d->in));
        else if (f.number == 2)
            read_slot(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &d->out));
        else if (f.number == 3)
            d->type = wire_str(&f);
        else if (f.number == 4)
            read_attr(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &d->attrs));
    }
}

static void read_block(builder *b, wire w, paddle_block *block)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 3)
            read_var(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &block->vars));
        else if (f.number == 4)
            read_op(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &block->descs));
    }
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* True if the file begins with a block that has index 0 and no parent, as in no other protobuf format. */
static bool begins_program(const uint8_t *bytes, size_t size)
{
    static const uint8_t BLOCK[] = {0x08, 0x00, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    size_t i = 1;
    if (size == 0 || bytes[0] != 0x0a)
        return false;
    while (i < size && i < 6 && bytes[i] >= 128)
        i++;
    return size > i && size - i - 1 >= sizeof BLOCK && memcmp(bytes + i + 1, BLOCK, sizeof BLOCK) == 0;
}

bool paddle_sniff(const uint8_t *bytes, size_t size)
{
    return begins_program(bytes, size);
}

void paddle_read(builder *b, const uint8_t *bytes, size_t size)
{
    emitter e;
    emit_begin(&e, b, "paddle");
    paddle_blocks blocks = {0};
    wire_field f, v;
    int64_t version = 0;
    for (wire w = wire_of(bytes, size, &b->model->fail); wire_next(&w, &f);) {
        if (f.number == 1) {
            if (blocks.count == MAX_BLOCKS)
                wire_fail(&w, f.bytes, "the program has more than 100000 blocks");
            read_block(b, wire_message(&w, &f), ARENA_PUSH(b->arena, &blocks));
        }
        if (f.number == 4)
            for (wire inner = wire_message(&w, &f); wire_next(&inner, &v);)
                version = v.number == 1 && v.varint < INT32_MAX ? (int64_t)v.varint : version;
    }
    b->source->producer = version > 0 ? arena_printf(b->arena, "PaddlePaddle %d.%d.%d", (int)(version / 1000000),
                                                     (int)(version / 1000 % 1000), (int)(version % 1000))
                                      : STR("PaddlePaddle");
    paddle_write_program(&e, &blocks);
}
