/* hlo_proto.c: reads HLO as protobuf: HloModuleProto, written by JAX's `as_serialized_hlo_module_proto()`, and HloProto
 * around it, dumped by XLA. Field numbers (XLA's hlo.proto and xla_data.proto; others are skipped):
 *
 *   HloProto      1 module
 *   module        1 name, 3 computations, 6 id of the entry
 *   computation   1 name, 2 instructions (operands before their users), 5 id, 6 id of the root
 *   instruction   1 name, 2 opcode, 3 shape, 7 metadata (2 op_name), 8 literal, 9 parameter number, 13 tuple index,
 *                 14 dimensions, 17 slice ranges, 35 id, 36 operand ids, 38 ids of called computations, 43 backend
 *                 configuration; attributes: LISTS, TEXTS and PARTS below
 *   shape         2 element type, 3 dimensions, 4 shapes of a tuple, 6 is a dimension dynamic
 *   literal       2 to 17: elements, one field for each type
 *
 * Attributes get their names in HLO text. */
#include "front/common/wire.h"
#include "front/front.h"
#include "front/hlo/hlo.h"

typedef struct computation {
    wire message;
    hlo_function *function;
    uint64_t root;
} computation;

typedef struct reader {
    hlo_module *m;
    arena *arena;
    struct {
        computation *items;
        int32_t count, capacity;
    } computations;
    names by_id;  /* computations */
    names values; /* values of the current computation, by instruction id */
} reader;

typedef struct attr_list {
    hlo_attr *items;
    int32_t count, capacity;
} attr_list;

/* Returns the eight bytes of an id, as a hash key. */
static str key_of(reader *r, uint64_t id)
{
    return (str){arena_copy(r->arena, &id, 1, sizeof id), sizeof id};
}

static int32_t find(const names *n, uint64_t id)
{
    return names_get(n, (str){(const char *)&id, sizeof id}, -1);
}

static const int64_t *read_ints(reader *r, const wire *w, const wire_field *f, int32_t *count)
{
    size_t room = wire_ints(w, f, NULL, 0);
    int64_t *to = ARENA_ARRAY(r->arena, int64_t, room);
    *count = (int32_t)wire_ints(w, f, to, room);
    return to;
}

/* ---- types and constants ----------------------------------------------------------------------------------------- */

static hlo_type read_shape(reader *r, wire w, int depth)
{
    static const char *const NAMES[] = {
        "",     "pred",   "s8",       "s16", "s32",   "s64",           "u8",         "u16",        "u32",
        "u64",  "f16",    "f32",      "f64", "tuple", "opaque",        "c64",        "bf16",       "token",
        "c128", "f8E5M2", "f8E4M3FN", "s4",  "u4",    "f8E4M3B11FNUZ", "f8E5M2FNUZ", "f8E4M3FNUZ", "s2",
        "u2",   "f8E4M3", "f8E3M4",   "s1",  "u1",    "f4E2M1FN",      "f8E8M0FNU"};
    enum { TUPLE = 13, NAME_COUNT = sizeof NAMES / sizeof *NAMES };
    wire_field f;
    struct {
        hlo_type *items;
        int32_t count, capacity;
    } elements = {0};
    uint64_t type = 0;
    int64_t dims[MAX_RANK], dynamic[MAX_RANK];
    size_t rank = 0, dynamic_count = 0;
    if (depth > MAX_NESTING)
        wire_fail(&w, w.at, "types are nested too deeply");
    while (wire_next(&w, &f)) {
        if (f.number == 2)
            type = f.varint;
        else if (f.number == 3)
            rank += wire_ints(&w, &f, dims + rank, MAX_RANK - rank);
        else if (f.number == 6)
            dynamic_count += wire_ints(&w, &f, dynamic + dynamic_count, MAX_RANK - dynamic_count);
        else if (f.number == 4)
            *(hlo_type *)ARENA_PUSH(r->arena, &elements) = read_shape(r, wire_message(&w, &f), depth + 1);
        if (rank > MAX_RANK || dynamic_count > MAX_RANK)
            wire_fail(&w, f.bytes, "a tensor has more than 64 dimensions");
    }
    if (type == TUPLE)
        return (hlo_type){.rank = RANK_UNKNOWN,
                          .elements = elements.items ? elements.items : ARENA_NEW(r->arena, hlo_type),
                          .element_count = elements.count};
    hlo_type t = {.dtype = type < NAME_COUNT ? hlo_dtype(str_of(NAMES[type])) : DT_UNKNOWN, .rank = (int8_t)rank};
    if (t.dtype == DT_UNKNOWN) /* tokens and opaque types */
        return (hlo_type){.rank = RANK_UNKNOWN};
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > INT64_MAX / 100)
            wire_fail(&w, w.end, "a dimension is larger than any tensor");
        dims[i] = i < dynamic_count && dynamic[i] ? NUM_UNKNOWN : dims[i];
    }
    t.dims = rank ? arena_copy(r->arena, dims, rank, sizeof *dims) : NULL;
    return t;
}

/* Integers of 32 and 64 bits are varints; other types are raw bytes. */
static const tensor *read_literal(reader *r, wire w, const hlo_type *type)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        bool is_varint = f.number >= 4 && f.number <= 7;
        bool is_raw = f.number == 2 || f.number == 3 || f.number == 8 || f.number == 9 || f.number == 11 ||
                      f.number == 13 || (f.number >= 15 && f.number <= 17);
        if (is_raw)
            return hlo_raw_constant(r->m, type, f.bytes, f.size);
        if (is_varint && f.size <= 10 * (size_t)MAX_FOLDED) {
            int32_t count;
            const int64_t *numbers = read_ints(r, &w, &f, &count);
            size_t bytes = f.number == 4 || f.number == 6 ? 4 : 8;
            uint8_t *data = ARENA_ARRAY(r->arena, uint8_t, bytes * (size_t)count);
            for (size_t i = 0; i < bytes * (size_t)count; i++)
                data[i] = (uint8_t)((uint64_t)numbers[i / bytes] >> 8 * (i % bytes));
            return hlo_raw_constant(r->m, type, data, bytes * (size_t)count);
        }
    }
    return hlo_raw_constant(r->m, type, NULL, 0);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static void add_ints(reader *r, attr_list *to, const char *name, const int64_t *ints, int32_t count)
{
    *(hlo_attr *)ARENA_PUSH(r->arena, to) = (hlo_attr){str_of(name), ints, count, {0}};
}

/* Attributes that are number fields of the instruction. */
static const struct numbered {
    uint32_t number;
    const char *name;
} LISTS[] = {{20, "dynamic_slice_sizes"}, {24, "feature_index"},     {34, "slice_sizes"},
             {50, "feature_group_count"}, {58, "batch_group_count"}, {81, "k"}};

static const struct numbered TEXTS[] = {{28, "custom_call_target"}, {63, "direction"}};

/* Members of a message attribute. Each becomes a list, which is empty if the file lacks it. */
enum { MAX_PARTS = 9 };
static const struct message {
    uint32_t number;
    struct numbered parts[MAX_PARTS];
} PARTS[] = {
    {16,
     {{7, "input_batch_dimension"},
      {8, "input_feature_dimension"},
      {11, "input_spatial_dimensions"},
      {3, "kernel_input_feature_dimension"},
      {4, "kernel_output_feature_dimension"},
      {6, "kernel_spatial_dimensions"},
      {9, "output_batch_dimension"},
      {10, "output_feature_dimension"},
      {12, "output_spatial_dimensions"}}},
    {30, {{1, "lhs_contracting_dims"}, {2, "rhs_contracting_dims"}, {3, "lhs_batch_dims"}, {4, "rhs_batch_dims"}}},
    {33,
     {{1, "offset_dims"},
      {2, "collapsed_slice_dims"},
      {3, "start_index_map"},
      {4, "index_vector_dim"},
      {5, "operand_batching_dims"},
      {6, "start_indices_batching_dims"}}},
    {48,
     {{1, "update_window_dims"},
      {2, "inserted_window_dims"},
      {3, "scatter_dims_to_operand_dims"},
      {4, "index_vector_dim"},
      {5, "input_batching_dims"},
      {6, "scatter_indices_batching_dims"}}},
};

/* Adds the members of a message. protobuf omits zeros; members with plural names are lists. */
static void add_parts(reader *r, attr_list *to, const struct message *kind, wire w)
{
    static const int64_t ZERO;
    const int32_t first = to->count;
    wire_field f;
    for (int i = 0; i < MAX_PARTS && kind->parts[i].name; i++) {
        str name = str_of(kind->parts[i].name);
        bool is_list = name.ptr[name.len - 1] == 's' || str_is(name, "start_index_map");
        add_ints(r, to, kind->parts[i].name, &ZERO, !is_list);
    }
    while (wire_next(&w, &f))
        for (int i = 0; i < MAX_PARTS && kind->parts[i].name; i++)
            if (kind->parts[i].number == f.number)
                to->items[first + i].ints = read_ints(r, &w, &f, &to->items[first + i].count);
}

/* Messages that occur once per dimension, each with one number of every list. `step` and `offset` give the number's
 * place in its list: a window's paddings are interleaved. */
typedef struct column {
    uint32_t number;
    const char *name;
    int32_t step, offset;
} column;

static const column WINDOW[] = {{1, "size", 1, 0},
                                {2, "stride", 1, 0},
                                {3, "pad", 2, 0},
                                {4, "pad", 2, 1},
                                {5, "rhs_dilate", 1, 0},
                                {6, "lhs_dilate", 1, 0},
                                {0}};
static const column SLICE[] = {{1, "start_indices", 1, 0}, {2, "limit_indices", 1, 0}, {3, "strides", 1, 0}, {0}};
static const column PADDING[] = {{1, "low", 1, 0}, {2, "high", 1, 0}, {3, "interior", 1, 0}, {0}};

static void add_columns(reader *r, attr_list *to, const column *columns, wire w, uint32_t row_number)
{
    int32_t rows = 0, row = 0;
    wire_field f, part;
    for (wire each = w; wire_next(&each, &f);)
        rows += f.number == row_number && rows <= MAX_RANK;
    if (rows > MAX_RANK)
        wire_fail(&w, w.at, "a tensor has more than 64 dimensions");
    const int32_t first = to->count;
    for (const column *c = columns; c->number; c++)
        add_ints(r, to, c->name,
                 c->offset ? to->items[to->count - 1].ints : ARENA_ARRAY(r->arena, int64_t, (size_t)(rows * c->step)),
                 rows * c->step);
    while (wire_next(&w, &f)) {
        if (f.number != row_number)
            continue;
        for (wire each = wire_message(&w, &f); wire_next(&each, &part);)
            for (const column *c = columns; c->number; c++)
                if (c->number == part.number)
                    ((int64_t *)to->items[first + (c - columns)].ints)[row * c->step + c->offset] =
                        (int64_t)part.varint;
        row++;
    }
}

static void add_calls(reader *r, hlo_op *o, const wire *w, const wire_field *f)
{
    int32_t count;
    const int64_t *ids = read_ints(r, w, f, &count);
    const hlo_region **regions = ARENA_ARRAY(r->arena, const hlo_region *, (size_t)count);
    /* in this format the body comes first; in text, the condition does */
    bool is_loop = str_is(o->name, "while") && count == 2;
    for (int32_t i = 0; i < count; i++) {
        int32_t at = find(&r->by_id, (uint64_t)ids[i]);
        if (at < 0)
            wire_fail(w, f->bytes, "a computation is called that is not in the file");
        const hlo_function *called = r->computations.items[at].function;
        regions[is_loop ? 1 - i : i] = &called->body;
        if (str_is(o->name, "call") || str_is(o->name, "fusion"))
            o->callee = called->name;
    }
    o->regions = regions;
    o->region_count = count;
}

static void read_attribute(reader *r, hlo_op *o, attr_list *attrs, const wire *w, const wire_field *f)
{
    int32_t count;
    int64_t *rounds;
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++)
        if (f->number == LISTS[i].number) {
            const int64_t *ints = read_ints(r, w, f, &count);
            add_ints(r, attrs, LISTS[i].name, ints, count);
        }
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        if (f->number == TEXTS[i].number)
            *(hlo_attr *)ARENA_PUSH(r->arena, attrs) = (hlo_attr){str_of(TEXTS[i].name), NULL, 0, wire_str(f)};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (f->number == PARTS[i].number)
            add_parts(r, attrs, &PARTS[i], wire_message(w, f));
    switch (f->number) {
    case 15:
        add_columns(r, attrs, WINDOW, wire_message(w, f), 1);
        break;
    case 21:
        add_columns(r, attrs, PADDING, wire_message(w, f), 1);
        break;
    case 38:
        add_calls(r, o, w, f);
        break;
    case 43:
        rounds = ARENA_NEW(r->arena, int64_t);
        if (hlo_trip_count(wire_str(f), rounds))
            add_ints(r, attrs, "known_trip_count", rounds, 1);
        break;
    default:
        break;
    }
}

/* ---- computations ------------------------------------------------------------------------------------------------ */

static void read_instruction(reader *r, hlo_function *f, wire w)
{
    hlo_op *o = ARENA_NEW(r->arena, hlo_op);
    attr_list attrs = {0};
    hlo_type type = {.rank = RANK_UNKNOWN};
    str name = {0};
    wire_field part, dimensions = {0}, operands = {0};
    wire literal = {.at = w.at, .end = w.at, .file = w.file, .fail = w.fail}, metadata = literal;
    uint64_t id = 0, parameter = 0, element = 0;
    for (wire each = w; wire_next(&each, &part);)
        switch (part.number) {
        case 1:
            name = wire_str(&part);
            break;
        case 2:
            o->name = hlo_opcode(r->m, wire_str(&part));
            break;
        case 3:
            type = read_shape(r, wire_message(&w, &part), 0);
            break;
        case 7:
            metadata = wire_message(&w, &part);
            break;
        case 8:
            literal = wire_message(&w, &part);
            break;
        case 9:
            parameter = part.varint;
            break;
        case 13:
            element = part.varint;
            break;
        case 14:
            dimensions = part;
            break;
        case 35:
            id = part.varint;
            break;
        case 36:
            operands = part;
            break;
        default: /* attributes come after the opcode */
            read_attribute(r, o, &attrs, &w, &part);
            break;
        }
    while (wire_next(&metadata, &part))
        o->label = part.number == 2 ? wire_str(&part) : o->label;
    if (str_is(o->name, "parameter")) {
        if (parameter >= (uint64_t)f->body.argument_count)
            wire_fail(&w, w.at, "a parameter has a number that is out of range");
        hlo_value v = f->body.first_argument + (hlo_value)parameter;
        *hlo_at(r->m, v) = (hlo_value_info){.type = type, .name = name, .label = o->label.len ? o->label : name};
        names_put(&r->values, key_of(r, id), v);
        return;
    }
    if (str_is(o->name, "constant") && !type.elements)
        o->constant = read_literal(r, literal, &type);
    if (str_is(o->name, "get_tuple_element"))
        add_ints(r, &attrs, "index", arena_copy(r->arena, &(int64_t){(int64_t)element}, 1, sizeof(int64_t)), 1);
    if (str_is(o->name, "slice"))
        add_columns(r, &attrs, SLICE, w, 17);
    int32_t count = 0;
    const int64_t *ints = dimensions.bytes ? read_ints(r, &w, &dimensions, &count) : NULL;
    add_ints(r, &attrs, str_is(o->name, "iota") ? "iota_dimension" : "dimensions", ints, count);
    ints = operands.bytes ? read_ints(r, &w, &operands, &o->operand_count) : NULL;
    hlo_value *values = ARENA_ARRAY(r->arena, hlo_value, (size_t)o->operand_count);
    for (int32_t i = 0; i < o->operand_count; i++)
        if ((values[i] = find(&r->values, (uint64_t)ints[i])) < 0)
            wire_fail(&w, operands.bytes, "a value is used before it is made");
    o->operands = values;
    o->attrs = attrs.items;
    o->attr_count = attrs.count;
    names_put(&r->values, key_of(r, id), hlo_add_op(r->m, f, o, type, name));
}

/* Registers a computation's name, id and number of parameters, because calls may come before it. */
static void declare(reader *r, wire w)
{
    wire_field f, part;
    str name = {0};
    computation c = {.message = w};
    uint64_t id = 0;
    int32_t parameters = 0;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            name = wire_str(&f);
        else if (f.number == 2)
            for (wire each = wire_message(&w, &f); wire_next(&each, &part);)
                parameters += part.number == 2 && str_is(wire_str(&part), "parameter");
        else if (f.number == 5)
            id = f.varint;
        else if (f.number == 6)
            c.root = f.varint;
    }
    c.function = hlo_new_function(r->m, name);
    c.function->has_body = true;
    c.function->body.argument_count = parameters;
    names_put(&r->by_id, key_of(r, id), r->computations.count);
    *(computation *)ARENA_PUSH(r->arena, &r->computations) = c;
}

static void read_computation(reader *r, const computation *c)
{
    hlo_region *body = &c->function->body;
    body->first_argument = r->m->values.count;
    for (int32_t i = 0; i < body->argument_count; i++)
        hlo_new_value(r->m, (hlo_type){.rank = RANK_UNKNOWN}, STR(""));
    names_init(&r->values, r->arena);
    wire w = c->message;
    for (wire_field f; wire_next(&w, &f);)
        if (f.number == 2)
            read_instruction(r, c->function, wire_message(&w, &f));
    hlo_value root = find(&r->values, c->root);
    if (root < 0)
        wire_fail(&w, c->message.at, "a computation has no root");
    hlo_add_return(r->m, c->function, root);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* True for strings (name and entry name), then a computation: a name, and an instruction with a name and an opcode. */
static bool is_module(str s)
{
    const uint8_t *p = (const uint8_t *)s.ptr, *end = p + s.len;
    str part;
    wire_part(&p, end, 1, &part);
    wire_part(&p, end, 2, &part);
    if (!wire_part(&p, end, 3, &part))
        return false;
    p = (const uint8_t *)part.ptr;
    end = p + part.len;
    if (!wire_part(&p, end, 1, &part) || !wire_part(&p, end, 2, &part))
        return false;
    p = (const uint8_t *)part.ptr;
    end = p + part.len;
    if (!wire_part(&p, end, 1, &part) || !wire_part(&p, end, 2, &part))
        return false;
    for (size_t i = 0; i < part.len; i++)
        if (!(part.ptr[i] >= 'a' && part.ptr[i] <= 'z') && part.ptr[i] != '-')
            return false;
    return part.len > 0;
}

/* Finds the module inside an HloProto. */
static bool is_wrapped(const uint8_t *bytes, size_t size, str *module)
{
    const uint8_t *p = bytes;
    return wire_part(&p, bytes + size, 1, module) && is_module(*module);
}

bool hlo_proto_sniff(const uint8_t *bytes, size_t size)
{
    str module;
    return is_module((str){(const char *)bytes, size}) || is_wrapped(bytes, size, &module);
}

void hlo_proto_read(builder *b, const uint8_t *bytes, size_t size)
{
    hlo_module m;
    reader r = {.m = &m, .arena = b->arena};
    wire w = wire_of(bytes, size, &b->model->fail);
    wire_field f;
    uint64_t entry = 0;
    str module;
    if (is_wrapped(bytes, size, &module)) {
        w.at = (const uint8_t *)module.ptr;
        w.end = w.at + module.len;
    }
    hlo_begin(&m, b, "hlo");
    names_init(&r.by_id, b->arena);
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            m.name = wire_str(&f);
        else if (f.number == 3)
            declare(&r, wire_message(&w, &f));
        else if (f.number == 6)
            entry = f.varint;
    }
    for (int32_t i = 0; i < r.computations.count; i++)
        read_computation(&r, &r.computations.items[i]);
    int32_t at = find(&r.by_id, entry);
    if (at < 0)
        wire_fail(&w, bytes, "the module has no entry");
    m.entry = r.computations.items[at].function;
    hlo_write(&m);
}
