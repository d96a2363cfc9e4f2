/* coreml_program.c: reads CoreML ML programs: the intermediate language MIL in protobuf.
 *
 *   Program         2 functions {1 key, 2 Function}
 *   Function        1 inputs (NamedValueType), 2 opset, 3 block_specializations {1 key, 2 Block}
 *   Block           1 inputs, 2 outputs (names), 3 operations
 *   Operation       1 type, 2 inputs {1 key, 2 Argument}, 3 outputs (NamedValueType), 4 blocks, 5 attributes {1 key, 2
 *   Value}
 *   Argument        1 arguments (1 name | 2 Value)
 *   NamedValueType  1 name, 2 type (ValueType: 1 tensorType: 1 dataType, 2 rank, 3 dimensions (1 constant: 1 size))
 *   Value           2 type, 3 immediateValue (1 tensor: 1 floats, 2 ints, 3 bools, 4 strings, 5 longInts, 6 doubles, 7
 *   bytes),
 *                   5 blobFileValue (1 fileName)
 *
 * Every value has its type in the program. A constant in a blob file is a weight whose data are not read; the file's
 * name must not lead out of the model's directory. A list of tensors is a tensor with the elements along the first
 * axis. */
#include "front/coreml/coreml.h"

#include "base/names.h"
#include "base/path.h"

typedef struct program {
    emitter *e;
    names texts; /* names of string values, and their indices in `list` */
    struct {
        str *items;
        int32_t count, capacity;
    } list;
    int32_t serial;
} program;

enum { MAX_OPERANDS = 4096 };

/* ---- types ----------------------------------------------------------------------------------------------------- */

static dtype element_type(uint64_t number)
{
    static const struct {
        uint8_t number;
        dtype type;
    } TYPES[] = {{1, DT_BOOL},      {2, DT_STRING}, {10, DT_FLOAT16},      {11, DT_FLOAT32},   {12, DT_FLOAT64},
                 {13, DT_BFLOAT16}, {21, DT_INT8},  {22, DT_INT16},        {23, DT_INT32},     {24, DT_INT64},
                 {25, DT_INT4},     {31, DT_UINT8}, {32, DT_UINT16},       {33, DT_UINT32},    {34, DT_UINT64},
                 {35, DT_UINT4},    {36, DT_UINT2}, {40, DT_FLOAT8E4M3FN}, {41, DT_FLOAT8E5M2}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].number == number)
            return TYPES[i].type;
    return DT_UNKNOWN;
}

typedef struct mil_type {
    dtype type;
    int rank;
    num dims[MAX_RANK];
} mil_type;

static num read_dim(wire w)
{
    wire_field f, part;
    num size = NUM_UNKNOWN;
    while (wire_next(&w, &f))
        if (f.number == 1) {
            size = 0;
            for (wire constant = wire_message(&w, &f); wire_next(&constant, &part);)
                if (part.number == 1)
                    size = part.varint <= INT64_MAX ? (num)part.varint : NUM_UNKNOWN;
        }
    return size;
}

static void read_tensor_type(wire w, mil_type *t)
{
    wire_field f;
    int64_t rank = 0;
    t->rank = 0;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            t->type = element_type(f.varint);
        else if (f.number == 2)
            rank = (int64_t)f.varint;
        else if (f.number == 3) {
            if (t->rank == MAX_RANK)
                wire_fail(&w, f.bytes, "a tensor has more than 64 dimensions");
            t->dims[t->rank++] = read_dim(wire_message(&w, &f));
        }
    }
    if (rank < 0 || (rank > 0 && t->rank == 0))
        t->rank = RANK_UNKNOWN;
}

static mil_type read_type(wire w)
{
    wire_field f;
    mil_type t = {.rank = RANK_UNKNOWN};
    while (wire_next(&w, &f))
        if (f.number == 1)
            read_tensor_type(wire_message(&w, &f), &t);
    return t;
}

typedef struct mil_named {
    str name;
    mil_type type;
} mil_named;

static mil_named read_named(wire w)
{
    wire_field f;
    mil_named n = {.type = {.rank = RANK_UNKNOWN}};
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            n.name = wire_str(&f);
        else if (f.number == 2)
            n.type = read_type(wire_message(&w, &f));
    }
    return n;
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Returns the list inside one of TensorValue's messages. */
static str values_of(wire w)
{
    wire_field f;
    str values = {0};
    while (wire_next(&w, &f))
        if (f.number == 1 && f.type == 2)
            values = wire_str(&f);
    return values;
}

/* Reads a tensor's data from the file; a string goes to *text. */
static void read_data(wire w, tensor *t, str *text)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        str values = values_of(wire_message(&w, &f));
        if (f.number == 4) {
            *text = values;
            continue;
        }
        t->bytes = (const uint8_t *)values.ptr;
        t->size = values.len;
        if (f.number == 1)
            t->encoding = TENSOR_FLOATS;
        else if (f.number == 6)
            t->encoding = TENSOR_DOUBLES;
        else if (f.number == 2 || f.number == 3 || f.number == 5)
            t->encoding = TENSOR_VARINTS;
        else if (f.number == 7 && (int64_t)values.len >= t->stored_bytes)
            t->encoding = TENSOR_RAW;
        else
            t->encoding = TENSOR_ELSEWHERE;
    }
}

/* Makes a constant with a new name in the open graph. */
static value_id make_constant(program *p, str name, wire value)
{
    builder *b = p->e->b;
    wire_field f, part;
    mil_type type = {.rank = RANK_UNKNOWN};
    for (wire w = value; wire_next(&w, &f);)
        if (f.number == 2)
            type = read_type(wire_message(&w, &f));
    for (int i = 0; i < type.rank; i++)
        if (!dim_known(type.dims[i]))
            fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "constant '%.*s' has an open dimension", STR_ARG(name));
    p->e->name = name;
    tensor *t = ARENA_NEW(b->arena, tensor);
    *t = *emit_tensor(p->e, type.type, type.rank < 0 ? 0 : type.rank, type.dims);
    str text = {0};
    for (wire w = value; wire_next(&w, &f);)
        if (f.number == 3)
            for (wire immediate = wire_message(&w, &f); wire_next(&immediate, &part);)
                if (part.number == 1)
                    read_data(wire_message(&immediate, &part), t, &text);
    value_id v = build_local(b, name);
    if (build_at(b, v)->is_initializer || build_at(b, v)->is_declared)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "value '%.*s' is made twice; export the model again",
                  STR_ARG(name));
    build_constant(b, v, t);
    bool is_single = true;
    for (int i = 0; i < type.rank; i++)
        is_single = is_single && type.dims[i] == 1;
    build_at(b, v)->is_constant_node = is_single || !dtype_is_float(type.type);
    if (type.type == DT_STRING) {
        names_put(&p->texts, build_at(b, v)->name, p->list.count);
        *(str *)ARENA_PUSH(b->arena, &p->list) = text;
    }
    return v;
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

/* Splits a map entry into its key and message. */
static wire read_entry(wire w, str *key)
{
    wire_field f;
    wire value = {.at = w.end, .end = w.end, .file = w.file, .fail = w.fail};
    *key = (str){0};
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            *key = wire_str(&f);
        else if (f.number == 2)
            value = wire_message(&w, &f);
    }
    return value;
}

typedef struct mil_op {
    str type;
    wire whole;
    struct {
        named_slot *items;
        int32_t count, capacity;
    } in, out;
    struct {
        named_attr *items;
        int32_t count, capacity;
    } attrs;
    struct {
        wire *items;
        int32_t count, capacity;
    } blocks;
    wire value; /* value, if the operation is a const */
    bool has_value;
} mil_op;

static void read_argument(program *p, mil_op *o, str name, wire w)
{
    arena *a = p->e->b->arena;
    struct {
        value_id *items;
        int32_t count, capacity;
    } ids = {0};
    wire_field f, part;
    while (wire_next(&w, &f))
        for (wire binding = wire_message(&w, &f); wire_next(&binding, &part);) {
            value_id v = NO_VALUE;
            if (ids.count == MAX_OPERANDS)
                wire_fail(&w, part.bytes, "an argument has more than 4096 values");
            if (part.number == 1)
                v = build_value(p->e->b, wire_str(&part));
            else if (part.number == 2)
                v = make_constant(p, arena_printf(a, "%.*s~v%d", STR_ARG(name), p->serial++),
                                  wire_message(&binding, &part));
            *(value_id *)ARENA_PUSH(a, &ids) = v;
        }
    if (ids.count == 1 && ids.items[0] != NO_VALUE) {
        int32_t text = names_get(&p->texts, build_at(p->e->b, ids.items[0])->name, -1);
        if (text >= 0) {
            *(named_attr *)ARENA_PUSH(a, &o->attrs) =
                (named_attr){.name = name, .kind = NAMED_TEXT, .text = p->list.items[text]};
            return;
        }
    }
    *(named_slot *)ARENA_PUSH(a, &o->in) = (named_slot){.name = name, .ids = ids.items, .count = ids.count};
}

static value_id define(program *p, const mil_named *n)
{
    builder *b = p->e->b;
    if (n->name.len == 0)
        return NO_VALUE;
    value_id v = build_local(b, n->name);
    if (build_at(b, v)->is_declared)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "value '%.*s' is made twice; export the model again",
                  STR_ARG(n->name));
    build_type(b, v, n->type.type, n->type.rank, n->type.dims);
    return v;
}

/* Collects arguments first, because outputs may reuse their names. */
/* BlobFileValue: 1 fileName. The file is not opened. */
static void check_blob(wire value)
{
    wire_field f, g;
    while (wire_next(&value, &f))
        for (wire x = wire_message(&value, &f); f.number == 5 && wire_next(&x, &g);)
            if (g.number == 1 && path_leads_out(wire_str(&g)))
                fail_with(value.fail, SOOTH_ERROR_INPUT,
                          "a constant has its data in '%.*s', which is outside of the model's directory, at byte %zu; "
                          "do not trust this file",
                          STR_ARG(wire_str(&g)), (size_t)(g.bytes - value.file));
}

static void read_operation(program *p, wire w, mil_op *o)
{
    arena *a = p->e->b->arena;
    wire_field f;
    str key = {0};
    o->whole = w;
    for (wire x = w; wire_next(&x, &f);) {
        if (f.number == 1)
            o->type = wire_str(&f);
        else if (f.number == 4)
            *(wire *)ARENA_PUSH(a, &o->blocks) = wire_message(&x, &f);
        else if (f.number == 5) {
            wire value = read_entry(wire_message(&x, &f), &key);
            if (str_is(key, "val")) {
                o->value = value;
                o->has_value = true;
                check_blob(value);
            }
        } else if (f.number == 2) {
            wire value = read_entry(wire_message(&x, &f), &key);
            read_argument(p, o, key, value);
        }
    }
}

static void define_outputs(program *p, mil_op *o)
{
    arena *a = p->e->b->arena;
    wire_field f;
    for (wire x = o->whole; wire_next(&x, &f);)
        if (f.number == 3) {
            mil_named n = read_named(wire_message(&x, &f));
            value_id v = define(p, &n);
            *(named_slot *)ARENA_PUSH(a, &o->out) =
                (named_slot){.name = n.name, .ids = arena_copy(a, &v, 1, sizeof v), .count = 1};
        }
}

static str first_output(wire w)
{
    wire_field f;
    while (wire_next(&w, &f))
        if (f.number == 3)
            return read_named(wire_message(&w, &f)).name;
    return (str){0};
}

/* ---- branches and loops ---------------------------------------------------------------------------------------- */

static void write_operations(program *p, wire block);

static void give_outputs(program *p, wire block)
{
    wire_field f;
    while (wire_next(&block, &f))
        if (f.number == 2) {
            value_id v = build_value(p->e->b, wire_str(&f));
            if (v != NO_VALUE && !build_is_local(p->e->b, v))
                v = emit_1(p->e, "Identity", v, NO_VALUE);
            build_output(p->e->b, v);
        }
}

static value_id *all_outputs(program *p, const mil_op *o)
{
    value_id *ids = ARENA_ARRAY(p->e->b->arena, value_id, (size_t)o->out.count + 1);
    for (int32_t i = 0; i < o->out.count; i++)
        ids[i] = o->out.items[i].ids[0];
    return ids;
}

static void write_cond(program *p, mil_op *o)
{
    builder *b = p->e->b;
    named_op view = {.in = o->in.items, .in_count = o->in.count};
    value_id condition = named_in(&view, "pred");
    graph *sides[2];
    str name = first_output(o->whole);
    for (int i = 0; i < 2; i++) {
        sides[i] = ARENA_NEW(b->arena, graph);
        build_open(b, sides[i], false);
        write_operations(p, o->blocks.items[i]);
        give_outputs(p, o->blocks.items[i]);
        build_close(b);
    }
    define_outputs(p, o);
    p->e->name = name;
    node *n = emit_many(p->e, "If", &condition, 1, all_outputs(p, o), o->out.count);
    emit_graph(n, "then_branch", sides[0]);
    emit_graph(n, "else_branch", sides[1]);
}

/* Operands of the comparison in the condition's block: the index of a loop variable, and an outer value or a
 * constant. */
typedef struct limit {
    int32_t counter;
    str name;
    wire constant;
    bool has_constant;
} limit;

static int32_t place_of(wire block, str name)
{
    wire_field f;
    int32_t place = 0;
    while (wire_next(&block, &f))
        if (f.number == 1) {
            if (str_eq(read_named(wire_message(&block, &f)).name, name))
                return place;
            place++;
        }
    return -1;
}

/* Returns the name that an operation's argument is bound to. */
static str bound_name(wire op, const char *argument)
{
    wire_field f, g, h;
    str key = {0};
    while (wire_next(&op, &f)) {
        if (f.number != 2)
            continue;
        wire value = read_entry(wire_message(&op, &f), &key);
        if (!str_is(key, argument))
            continue;
        while (wire_next(&value, &g))
            for (wire binding = wire_message(&value, &g); wire_next(&binding, &h);)
                if (h.number == 1)
                    return wire_str(&h);
    }
    return (str){0};
}

static str type_of(wire op)
{
    wire_field f;
    while (wire_next(&op, &f))
        if (f.number == 1)
            return wire_str(&f);
    return (str){0};
}

/* Finds a constant of the block by name. */
static bool find_constant(wire block, str name, wire *value)
{
    wire_field f, g;
    str key = {0};
    while (wire_next(&block, &f)) {
        wire op = wire_message(&block, &f);
        if (f.number != 3 || !str_is(type_of(op), "const") || !str_eq(first_output(op), name))
            continue;
        for (wire x = op; wire_next(&x, &g);)
            if (g.number == 5) {
                *value = read_entry(wire_message(&x, &g), &key);
                if (str_is(key, "val"))
                    return true;
            }
    }
    return false;
}

static bool find_limit(wire block, limit *l)
{
    enum { MOST_LOOKED_AT = 64 };
    wire_field f;
    int looked_at = 0;
    for (wire x = block; looked_at < MOST_LOOKED_AT && wire_next(&x, &f);) {
        wire op = wire_message(&x, &f);
        if (f.number != 3 || !str_is(type_of(op), "less"))
            continue;
        looked_at++;
        l->counter = place_of(block, bound_name(op, "x"));
        l->name = bound_name(op, "y");
        if (l->counter < 0 || l->name.len == 0)
            continue;
        l->has_constant = find_constant(block, l->name, &l->constant);
        return true;
    }
    return false;
}

static value_id trip_count(program *p, const mil_op *o, const named_slot *vars)
{
    limit l = {0};
    if (!find_limit(o->blocks.items[0], &l) || l.counter >= vars->count)
        return NO_VALUE;
    value_id end =
        l.has_constant
            ? make_constant(p, arena_printf(p->e->b->arena, "%.*s~v%d", STR_ARG(l.name), p->serial++), l.constant)
            : build_value(p->e->b, l.name);
    int32_t place = place_of(o->blocks.items[0], l.name);
    if (!l.has_constant && place >= 0) /* the limit is a loop variable that does not change */
        end = place < vars->count ? vars->ids[place] : NO_VALUE;
    value_id limit_value = emit_index(p->e, end), start = emit_index(p->e, vars->ids[l.counter]);
    return limit_value == NO_VALUE || start == NO_VALUE ? NO_VALUE : emit_2(p->e, "Sub", limit_value, start, NO_VALUE);
}

static void write_loop(program *p, mil_op *o)
{
    builder *b = p->e->b;
    named_op view = {.in = o->in.items, .in_count = o->in.count};
    const named_slot *vars = named_list(&view, "loop_vars");
    wire body = o->blocks.items[1];
    wire_field f;
    graph *g = ARENA_NEW(b->arena, graph);
    str name = first_output(o->whole);
    p->e->name = name;
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, (size_t)vars->count + 2);
    inputs[0] = trip_count(p, o, vars);
    inputs[1] = emit_scalar(p->e, DT_BOOL, 1);
    for (int32_t i = 0; i < vars->count; i++)
        inputs[2 + i] = vars->ids[i];
    build_open(b, g, false);
    build_input(b, emit_temp(p->e));
    value_id goes_on = emit_temp(p->e);
    build_input(b, goes_on);
    for (wire w = body; wire_next(&w, &f);)
        if (f.number == 1) {
            mil_named n = read_named(wire_message(&w, &f));
            build_input(b, define(p, &n));
        }
    build_output(b, emit_1(p->e, "Identity", goes_on, NO_VALUE));
    write_operations(p, body);
    give_outputs(p, body);
    build_close(b);
    define_outputs(p, o);
    p->e->name = name;
    emit_graph(emit_many(p->e, "Loop", inputs, vars->count + 2, all_outputs(p, o), o->out.count), "body", g);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* Unpacks packed weights to the output's type. Done at load time, so it costs nothing. */
static void write_packed_weight(program *p, const mil_op *o)
{
    builder *b = p->e->b;
    value_id v = o->out.count ? o->out.items[0].ids[0] : NO_VALUE;
    const value *declared = named_declared(p->e, v);
    for (int i = 0; i < declared->rank; i++)
        if (!dim_known(declared->dims[i]))
            return;
    if (v != NO_VALUE && declared->rank >= 0)
        build_constant(b, v, emit_tensor(p->e, declared->dtype, declared->rank, declared->dims));
}

static void write_operation(program *p, wire w)
{
    mil_op o = {0};
    read_operation(p, w, &o);
    if (str_is(o.type, "const")) {
        str name = first_output(w);
        if (o.has_value && name.len)
            make_constant(p, name, o.value);
        return;
    }
    if (str_is(o.type, "cond") && o.blocks.count == 2) {
        write_cond(p, &o);
        return;
    }
    if (str_is(o.type, "while_loop") && o.blocks.count == 2) {
        write_loop(p, &o);
        return;
    }
    define_outputs(p, &o);
    p->e->name = o.out.count ? o.out.items[0].name : o.type;
    if (str_starts(o.type, "constexpr_")) {
        write_packed_weight(p, &o);
        return;
    }
    named_op op = {.type = o.type,
                   .in = o.in.items,
                   .in_count = o.in.count,
                   .out = o.out.items,
                   .out_count = o.out.count,
                   .attrs = o.attrs.items,
                   .attr_count = o.attrs.count};
    coreml_map(p->e, &op);
}

static void write_operations(program *p, wire block)
{
    wire_field f;
    while (wire_next(&block, &f))
        if (f.number == 3)
            write_operation(p, wire_message(&block, &f));
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

/* Finds the function "main", or the first one. */
static bool find_function(wire program_wire, wire *function)
{
    wire_field f;
    bool found = false;
    while (wire_next(&program_wire, &f))
        if (f.number == 2) {
            str key = {0};
            wire value = read_entry(wire_message(&program_wire, &f), &key);
            if (!found || str_is(key, "main"))
                *function = value;
            found = true;
        }
    return found;
}

static bool find_block(wire function, wire *block)
{
    wire_field f;
    str opset = {0};
    bool found = false;
    for (wire w = function; wire_next(&w, &f);)
        if (f.number == 2)
            opset = wire_str(&f);
    while (wire_next(&function, &f))
        if (f.number == 3) {
            str key = {0};
            wire value = read_entry(wire_message(&function, &f), &key);
            if (!found || str_eq(key, opset))
                *block = value;
            found = true;
        }
    return found;
}

static void add_input(program *p, mil_named n)
{
    builder *b = p->e->b;
    for (int i = 0; i < n.type.rank; i++)
        if (!dim_known(n.type.dims[i]))
            n.type.dims[i] = num_symbol(&b->source->symbols,
                                        i == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(n.name), i));
    build_input(b, define(p, &n));
}

void coreml_read_program(emitter *e, wire w)
{
    program p = {.e = e};
    wire function, block;
    wire_field f;
    names_init(&p.texts, e->b->arena);
    if (!find_function(w, &function) || !find_block(function, &block))
        fail_with(&e->b->model->fail, SOOTH_ERROR_INPUT,
                  "the program has no function with a block; export the model again");
    build_open(e->b, &e->b->source->main, false);
    for (wire x = function; wire_next(&x, &f);)
        if (f.number == 1)
            add_input(&p, read_named(wire_message(&x, &f)));
    write_operations(&p, block);
    give_outputs(&p, block);
    build_close(e->b);
}
