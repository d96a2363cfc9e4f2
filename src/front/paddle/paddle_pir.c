/* paddle_pir.c: reads Paddle 3 programs (.json): PIR, in which each value is written once.
 *
 *   {"base_code": {"magic": "pir", "version": 1 … 4}, "program": {"regions": [{"blocks": [{"args": […], "ops": [op
 *   …]}]}]}}
 *   op     {"#": "1.conv2d", "I": [{"%": id}], "O": [{"%": id, "TT": type}], "A": [{"N": name, "AT": attribute}],
 *   "regions": […]}
 *   "p"    a parameter: "A": [is_distributed, is_parameter, need_clip, name], "O": {"%": id, "TT": type}
 *   type   {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [dims], layout, lod, offset]}; {"#": "0.t_vec", "D": [type …]}
 *
 * Dialects are digits: 0 builtin, 1 pd_op, 2 control flow. Lists of tensors are values too: 0.combine makes them,
 * 0.split takes them apart. Id 0 is not a value. */
#include "front/front.h"
#include "front/paddle/paddle.h"

#include "base/json_read.h"
#include "base/names.h"

/* What an id stands for: one tensor, or a list. */
typedef struct pir_value {
    const value_id *ids;
    int32_t count;
    const json_node *op; /* operator that writes it */
} pir_value;

typedef struct pir {
    emitter e;
    names places; /* ids (eight bytes) and their indices in `values` */
    names read;   /* ids that some operator reads */
    struct {
        pir_value *items;
        int32_t count, capacity;
    } values;
} pir;

static const pir_value *value_at(const pir *p, int64_t id)
{
    static const pir_value NONE = {0};
    int32_t place = names_get(&p->places, (str){(const char *)&id, sizeof id}, -1);
    return place >= 0 ? &p->values.items[place] : &NONE;
}

static void put_value(pir *p, int64_t id, pir_value v)
{
    arena *a = p->e.b->arena;
    names_put(&p->places, (str){arena_copy(a, &id, 1, sizeof id), sizeof id}, p->values.count);
    *(pir_value *)ARENA_PUSH(a, &p->values) = v;
}

static int64_t id_of(const json_node *n)
{
    return json_int(json_get(n, "%"), 0);
}

static bool is_read(const pir *p, int64_t id)
{
    return names_get(&p->read, (str){(const char *)&id, sizeof id}, 0) != 0;
}

static void note_read(pir *p, const json_node *block)
{
    for (const json_node *op = json_first(json_get(block, "ops")); op; op = op->next) {
        for (const json_node *n = json_first(json_get(op, "I")); n; n = n->next) {
            int64_t id = id_of(n);
            if (!is_read(p, id))
                names_put(&p->read, (str){arena_copy(p->e.b->arena, &id, 1, sizeof id), sizeof id}, 1);
        }
        for (const json_node *region = json_first(json_get(op, "regions")); region; region = region->next)
            note_read(p, json_at(json_get(region, "blocks"), 0));
    }
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

static dtype element_type(str name)
{
    static const struct {
        const char *name;
        dtype type;
    } TYPES[] = {
        {"t_f32", DT_FLOAT32},
        {"t_i64", DT_INT64},
        {"t_i32", DT_INT32},
        {"t_bool", DT_BOOL},
        {"t_f16", DT_FLOAT16},
        {"t_bf16", DT_BFLOAT16},
        {"t_f64", DT_FLOAT64},
        {"t_i8", DT_INT8},
        {"t_ui8", DT_UINT8},
        {"t_i16", DT_INT16},
        {"t_c64", DT_COMPLEX64},
        {"t_c128", DT_COMPLEX128},
        {"t_f8e4m3fn", DT_FLOAT8E4M3FN},
        {"t_f8e5m2", DT_FLOAT8E5M2},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_ends(name, TYPES[i].name))
            return TYPES[i].type;
    return DT_UNKNOWN;
}

static str kind_of(const json_node *n)
{
    return json_text(json_get(n, "#"));
}

/* False if it is not a tensor. */
static bool read_type(pir *p, const json_node *type, dtype *element, int *rank, num *dims)
{
    const json_node *data = json_get(type, "D"), *shape = json_at(data, 1);
    if (!str_ends(kind_of(type), "t_dtensor"))
        return false;
    *element = element_type(kind_of(json_at(data, 0)));
    *rank = 0;
    for (const json_node *d = json_first(shape); d; d = d->next) {
        int64_t dim = json_int(d, -1);
        if (*rank == MAX_RANK)
            fail_with(&p->e.b->model->fail, SOOTH_ERROR_INPUT,
                      "a tensor has more than %d dimensions; export the model again", MAX_RANK);
        dims[(*rank)++] = build_dim(p->e.b, dim);
    }
    return true;
}

static value_id declared_value(pir *p, const json_node *type, str name)
{
    builder *b = p->e.b;
    num dims[MAX_RANK];
    int rank;
    dtype element;
    int32_t before = b->source->values.count;
    value_id v = build_local(b, name);
    for (int copy = 2; b->source->values.count == before; copy++)
        v = build_local(b, arena_printf(b->arena, "%.*s#%d.%d", STR_ARG(name), before, copy));
    if (read_type(p, type, &element, &rank, dims))
        build_type(b, v, element, rank, dims);
    return v;
}

/* Creates a value for each tensor of the type. */
static pir_value define(pir *p, const json_node *output, str name, const json_node *op)
{
    builder *b = p->e.b;
    const json_node *type = json_get(output, "TT"), *parts = json_get(type, "D");
    bool is_list = str_ends(kind_of(type), "t_vec");
    int32_t count = is_list ? parts ? parts->count : 0 : 1, i = 0;
    value_id *ids = ARENA_ARRAY(b->arena, value_id, (size_t)count + 1);
    if (!is_list)
        ids[0] = declared_value(p, type, name);
    else
        for (const json_node *part = json_first(parts); part && i < count; part = part->next, i++)
            ids[i] = declared_value(p, part, arena_printf(b->arena, "%.*s.%d", STR_ARG(name), i));
    pir_value v = {.ids = ids, .count = count, .op = op};
    put_value(p, id_of(output), v);
    return v;
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

static void read_numbers(pir *p, const json_node *list, named_attr *a)
{
    int32_t count = list ? list->count : 0, i = 0;
    bool is_whole = true;
    for (const json_node *n = json_first(list); n; n = n->next) {
        const json_node *number = json_is(n, JSON_OBJECT) ? json_get(n, "D") : n;
        is_whole = is_whole && !json_is(number, JSON_REAL);
    }
    int64_t *ints = ARENA_ARRAY(p->e.b->arena, int64_t, (size_t)count + 1);
    double *reals = ARENA_ARRAY(p->e.b->arena, double, (size_t)count + 1);
    for (const json_node *n = json_first(list); n && i < count; n = n->next, i++) {
        const json_node *number = json_is(n, JSON_OBJECT) ? json_get(n, "D") : n;
        ints[i] = json_int(number, 0);
        reals[i] = json_double(number, 0);
    }
    a->count = count;
    a->kind = is_whole ? NAMED_INTS : NAMED_REALS;
    if (is_whole)
        a->ints = ints;
    else
        a->reals = reals;
}

static void read_attr(pir *p, const json_node *n, named_attr *a)
{
    const json_node *data = json_get(json_get(n, "AT"), "D");
    a->name = json_text(json_get(n, "N"));
    if (json_is(data, JSON_ARRAY)) {
        read_numbers(p, data, a);
    } else if (json_is(data, JSON_TEXT)) {
        a->kind = NAMED_TEXT;
        a->text = json_decoded(data, p->e.b->arena);
    } else if (json_is(data, JSON_INT) || json_is(data, JSON_BOOL)) {
        a->kind = NAMED_INTS;
        a->count = 1;
        a->ints = arena_copy(p->e.b->arena, &data->integer, 1, sizeof data->integer);
    } else if (json_is(data, JSON_REAL)) {
        a->kind = NAMED_REALS;
        a->count = 1;
        a->reals = arena_copy(p->e.b->arena, &data->real, 1, sizeof data->real);
    }
}

static str text_attr(const json_node *op, const char *name)
{
    for (const json_node *a = json_first(json_get(op, "A")); a; a = a->next)
        if (str_is(json_text(json_get(a, "N")), name))
            return json_text(json_get(json_get(a, "AT"), "D"));
    return (str){0};
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* "1.conv2d" → "conv2d" */
static str plain_type(const json_node *op)
{
    str type = kind_of(op);
    size_t i = 0;
    while (i < type.len && type.ptr[i] >= '0' && type.ptr[i] <= '9')
        i++;
    return i > 0 && i < type.len && type.ptr[i] == '.' ? (str){type.ptr + i + 1, type.len - i - 1} : type;
}

static str next_word(const char **words)
{
    const char *from = *words;
    while (**words && **words != ' ')
        (*words)++;
    str word = {from, (size_t)(*words - from)};
    if (**words)
        (*words)++;
    return word;
}

static str value_name(pir *p, str type, int64_t id)
{
    return arena_printf(p->e.b->arena, "%.*s.%lld", STR_ARG(type), (long long)id);
}

static void write_plain(pir *p, const json_node *op)
{
    arena *a = p->e.b->arena;
    const json_node *inputs = json_get(op, "I"), *outputs = json_get(op, "O"), *attrs = json_get(op, "A");
    named_op o = {.type = plain_type(op)};
    const char *words = paddle_operands(o.type);
    words = words ? words : "";
    named_slot *in = ARENA_ARRAY(a, named_slot, inputs ? (size_t)inputs->count + 1 : 1);
    for (const json_node *n = json_first(inputs); n; n = n->next) {
        const pir_value *v = value_at(p, id_of(n));
        in[o.in_count++] = (named_slot){.name = next_word(&words), .ids = v->ids, .count = v->count};
    }
    named_attr *list = ARENA_ARRAY(a, named_attr, attrs ? (size_t)attrs->count + 1 : 1);
    for (const json_node *n = json_first(attrs); n; n = n->next)
        read_attr(p, n, &list[o.attr_count++]);
    named_slot *out = ARENA_ARRAY(a, named_slot, outputs ? (size_t)outputs->count + 1 : 1);
    for (const json_node *n = json_first(outputs); n; n = n->next) {
        /* Results that no operator reads are usually for the gradient. */
        bool is_result = n == json_first(outputs) || is_read(p, id_of(n));
        pir_value v = is_result ? define(p, n, value_name(p, o.type, id_of(n)), op) : (pir_value){0};
        out[o.out_count++] = (named_slot){.ids = v.ids, .count = v.count};
    }
    o.in = in;
    o.out = out;
    o.attrs = list;
    value_id first = named_out_at(&o, 0);
    p->e.name = first == NO_VALUE ? STR("") : build_at(p->e.b, first)->name;
    paddle_map(&p->e, &o);
}

static void write_parameter(pir *p, const json_node *op)
{
    builder *b = p->e.b;
    const json_node *output = json_get(op, "O");
    num dims[MAX_RANK];
    int rank;
    dtype element;
    str name = json_decoded(json_at(json_get(op, "A"), 3), b->arena);
    bool is_known = read_type(p, json_get(output, "TT"), &element, &rank, dims) && name.len > 0;
    for (int i = 0; is_known && i < rank; i++)
        is_known = dim_known(dims[i]);
    if (!is_known)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "parameter '%.*s' has no shape or no name; export the model again", STR_ARG(name));
    p->e.name = name;
    value_id v = emit_weight(&p->e, name, element, rank, dims);
    put_value(p, id_of(output), (pir_value){.ids = arena_copy(b->arena, &v, 1, sizeof v), .count = 1, .op = op});
}

static void write_input(pir *p, const json_node *op)
{
    builder *b = p->e.b;
    const json_node *output = json_at(json_get(op, "O"), 0);
    str name = text_attr(op, "name");
    pir_value v = define(p, output, name.len ? name : STR("data"), op);
    value *declared = v.count == 1 ? build_at(b, v.ids[0]) : NULL;
    for (int i = 0; declared && i < declared->rank; i++)
        if (!dim_known(declared->dims[i]))
            declared->dims[i] = num_symbol(&b->source->symbols,
                                           i == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(name), i));
    if (declared)
        build_input(b, v.ids[0]);
}

/* 0.combine */
static void join_list(pir *p, const json_node *op)
{
    const json_node *inputs = json_get(op, "I");
    int32_t count = 0;
    value_id *ids = ARENA_ARRAY(p->e.b->arena, value_id, inputs ? (size_t)inputs->count + 1 : 1);
    for (const json_node *n = json_first(inputs); n; n = n->next) {
        const pir_value *v = value_at(p, id_of(n));
        ids[count++] = v->count ? v->ids[0] : NO_VALUE;
    }
    put_value(p, id_of(json_at(json_get(op, "O"), 0)), (pir_value){.ids = ids, .count = count, .op = op});
}

/* 0.split, 0.slice: gives elements of a list their own ids. */
static void take_apart(pir *p, const json_node *op, int32_t from)
{
    const pir_value list = *value_at(p, id_of(json_at(json_get(op, "I"), 0)));
    for (const json_node *n = json_first(json_get(op, "O")); n; n = n->next, from++)
        if (from >= 0 && from < list.count)
            put_value(p, id_of(n), (pir_value){.ids = list.ids + from, .count = 1, .op = list.op});
}

static int32_t index_attr(const json_node *op)
{
    for (const json_node *a = json_first(json_get(op, "A")); a; a = a->next)
        if (str_is(json_text(json_get(a, "N")), "index")) {
            int64_t index = json_int(json_get(json_get(a, "AT"), "D"), -1);
            return index >= 0 && index < INT32_MAX ? (int32_t)index : -1;
        }
    return -1;
}

/* ---- branches and loops ---------------------------------------------------------------------------------------- */

static void write_ops(pir *p, const json_node *block);

static const json_node *block_at(const json_node *op, int region)
{
    return json_at(json_get(json_at(json_get(op, "regions"), region), "blocks"), 0);
}

/* Adds a block's results, which are the operands of its 2.yield from `skipped` on. */
static void give_yielded(pir *p, const json_node *block, int32_t skipped)
{
    const json_node *last = NULL;
    for (const json_node *op = json_first(json_get(block, "ops")); op; op = op->next)
        if (str_ends(kind_of(op), ".yield"))
            last = op;
    for (const json_node *n = json_first(json_get(last, "I")); n; n = n->next) {
        const pir_value *v = value_at(p, id_of(n));
        if (skipped-- > 0 || v->count == 0)
            continue;
        value_id id = v->ids[0];
        if (!build_is_local(p->e.b, id))
            id = emit_1(&p->e, "Identity", id, NO_VALUE);
        build_output(p->e.b, id);
    }
}

static value_id *define_all(pir *p, const json_node *op, int32_t *count)
{
    const json_node *outputs = json_get(op, "O");
    value_id *ids = ARENA_ARRAY(p->e.b->arena, value_id, outputs ? (size_t)outputs->count + 1 : 1);
    *count = 0;
    for (const json_node *n = json_first(outputs); n; n = n->next) {
        pir_value v = define(p, n, value_name(p, plain_type(op), id_of(n)), op);
        ids[(*count)++] = v.count ? v.ids[0] : NO_VALUE;
    }
    return ids;
}

static void write_if(pir *p, const json_node *op)
{
    builder *b = p->e.b;
    const pir_value *condition = value_at(p, id_of(json_at(json_get(op, "I"), 0)));
    graph *sides[2];
    int32_t count;
    value_id given = condition->count ? condition->ids[0] : NO_VALUE;
    for (int i = 0; i < 2; i++) {
        sides[i] = ARENA_NEW(b->arena, graph);
        build_open(b, sides[i], false);
        write_ops(p, block_at(op, i));
        give_yielded(p, block_at(op, i), 0);
        build_close(b);
    }
    value_id *outputs = define_all(p, op, &count);
    p->e.name = count && outputs[0] != NO_VALUE ? build_at(b, outputs[0])->name : STR("if");
    node *n = emit_many(&p->e, "If", &given, 1, outputs, count);
    emit_graph(n, "then_branch", sides[0]);
    emit_graph(n, "else_branch", sides[1]);
}

/* Returns the trip count, limit - counter, if the condition compares both and the counter grows by 1. */
static value_id trip_count(pir *p, const json_node *condition)
{
    const json_node *op = value_at(p, id_of(condition))->op;
    if (!op || !str_is(plain_type(op), "less_than"))
        return NO_VALUE;
    const pir_value *counter = value_at(p, id_of(json_at(json_get(op, "I"), 0)));
    const pir_value *limit = value_at(p, id_of(json_at(json_get(op, "I"), 1)));
    if (counter->count == 0 || limit->count == 0)
        return NO_VALUE;
    value_id end = emit_index(&p->e, limit->ids[0]), start = emit_index(&p->e, counter->ids[0]);
    return end == NO_VALUE || start == NO_VALUE ? NO_VALUE : emit_2(&p->e, "Sub", end, start, NO_VALUE);
}

static void write_while(pir *p, const json_node *op)
{
    builder *b = p->e.b;
    const json_node *operands = json_get(op, "I"), *body = block_at(op, 0);
    graph *g = ARENA_NEW(b->arena, graph);
    int32_t count = 0, output_count;
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, operands ? (size_t)operands->count + 3 : 3);
    inputs[0] = trip_count(p, json_at(operands, 0));
    inputs[1] = emit_scalar(&p->e, DT_BOOL, 1);
    const json_node *first = json_first(operands);
    for (const json_node *n = first ? first->next : NULL; n; n = n->next) {
        const pir_value *v = value_at(p, id_of(n));
        inputs[2 + count++] = v->count ? v->ids[0] : NO_VALUE;
    }
    build_open(b, g, false);
    build_input(b, emit_temp(&p->e));
    value_id goes_on = emit_temp(&p->e);
    build_input(b, goes_on);
    for (const json_node *n = json_first(json_get(body, "args")); n; n = n->next) {
        int64_t id = json_int(json_get(n, "#"), 0);
        value_id v = declared_value(p, json_get(n, "TT"), value_name(p, STR("arg"), id));
        put_value(p, id, (pir_value){.ids = arena_copy(b->arena, &v, 1, sizeof v), .count = 1});
        build_input(b, v);
    }
    build_output(b, emit_1(&p->e, "Identity", goes_on, NO_VALUE));
    write_ops(p, body);
    give_yielded(p, body, 1);
    build_close(b);
    value_id *outputs = define_all(p, op, &output_count);
    p->e.name = output_count && outputs[0] != NO_VALUE ? build_at(b, outputs[0])->name : STR("while");
    emit_graph(emit_many(&p->e, "Loop", inputs, count + 2, outputs, output_count), "body", g);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void give_fetched(pir *p, const json_node *op)
{
    const pir_value *v = value_at(p, id_of(json_at(json_get(op, "I"), 0)));
    if (v->count && p->e.b->scope && build_is_local(p->e.b, v->ids[0]))
        build_output(p->e.b, v->ids[0]);
}

static void write_ops(pir *p, const json_node *block)
{
    for (const json_node *op = json_first(json_get(block, "ops")); op; op = op->next) {
        str kind = kind_of(op), type = plain_type(op);
        if (str_is(kind, "p") || str_is(kind, "0.parameter"))
            write_parameter(p, op);
        else if (str_is(kind, "1.data") || str_is(kind, "1.feed"))
            write_input(p, op);
        else if (str_is(kind, "1.fetch") || str_is(kind, "0.shadow_output"))
            give_fetched(p, op);
        else if (str_is(kind, "0.combine"))
            join_list(p, op);
        else if (str_is(kind, "0.split"))
            take_apart(p, op, 0);
        else if (str_is(kind, "0.slice"))
            take_apart(p, op, index_attr(op));
        else if (str_is(kind, "1.if"))
            write_if(p, op);
        else if (str_is(kind, "1.while"))
            write_while(p, op);
        else if (!str_is(type, "yield"))
            write_plain(p, op);
    }
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

bool paddle_pir_sniff(const uint8_t *bytes, size_t size)
{
    enum { LOOKED_AT = 512 };
    str start = {(const char *)bytes, size < LOOKED_AT ? size : LOOKED_AT};
    return size && bytes[0] == '{' && str_contains(start, "\"base_code\"") && str_contains(start, "\"pir\"");
}

void paddle_pir_read(builder *b, const uint8_t *bytes, size_t size)
{
    pir p = {0};
    emit_begin(&p.e, b, "paddle");
    names_init(&p.places, b->arena);
    names_init(&p.read, b->arena);
    const json_node *root = json_read((str){(const char *)bytes, size}, "the program", b->arena, &b->model->fail);
    const json_node *program = json_get(root, "program");
    const json_node *block = block_at(program, 0);
    if (!block)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the program has no block; export the model again");
    b->source->producer = arena_printf(b->arena, "PaddlePaddle (PIR version %lld)",
                                       (long long)json_int(json_get(json_get(root, "base_code"), "version"), 0));
    note_read(&p, block);
    build_open(b, &b->source->main, false);
    write_ops(&p, block);
    build_close(b);
}
