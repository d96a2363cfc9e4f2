/* torch_export.c: reads torch.export archives (.pt2): a graph of ATen operators as JSON in a ZIP archive.
 *
 *   1. The program is the entry serialized_exported_program.json (PyTorch 2.1 to 2.8) or <root>/models/<name>.json (2.9
 *      and later). Weights are other entries and are not read.
 *   2. graph_module.graph has inputs, outputs, nodes in order, and tensor_values: type and sizes of every tensor.
 *      graph_module.signature says which input is a parameter, a buffer, a constant or the user's.
 *   3. An argument is a union: an object with one member that is not null ("as_tensor", "as_ints" …). 2.1 writes all
 *      members.
 *   4. A size is as_int or as_expr: text ("s0") up to 2.5, then sympy's constructors ("Symbol('s0', …)").
 *
 * The file has every tensor's shape. It fills in shapes that inference leaves unknown; a note reports
 * contradictions. */
#include "base/json_read.h"
#include "base/names.h"
#include "base/nesting.h"
#include "base/zip.h"
#include "front/torch/torch.h"
#include "front/torch/torch_archive.h"
#include "graph/bind.h"

#include <math.h>

/* Limit on the program's text, most of which is stack traces; the largest program seen has 9 MB. */
static const size_t MAX_PROGRAM_BYTES = (size_t)512 << 20;

/* Type and shape that the file declares for a tensor. */
typedef struct declaration {
    dtype dtype;
    int rank;
    num *dims;
} declaration;

typedef struct declarations {
    names names;
    declaration *items;
    int32_t count, capacity;
} declarations;

typedef struct program {
    const json_node *graph, *signature;
    declarations declared;
    names inputs; /* names of inputs, and their values in the source */
} program;

/* Names of values while the program runs. */
typedef struct environment {
    torch *torch;
    const program *program;
    names names;
    struct {
        torch_value *items;
        int32_t count, capacity;
    } values;
    names undefined; /* names read without a definition */
    int depth;       /* nesting of branch graphs */
} environment;

/* ---- types and sizes --------------------------------------------------------------------------------------------- */

/* ScalarType numbers of the export schema. */
static dtype schema_dtype(int64_t code)
{
    static const dtype TYPES[] = {DT_UNKNOWN,   DT_UINT8,      DT_INT8,    DT_INT16,   DT_INT32,
                                  DT_INT64,     DT_FLOAT16,    DT_FLOAT32, DT_FLOAT64, DT_UNKNOWN,
                                  DT_COMPLEX64, DT_COMPLEX128, DT_BOOL,    DT_BFLOAT16};
    static const dtype LATER[] = {DT_UINT16,         DT_FLOAT8E4M3FN, DT_FLOAT8E5M2, DT_FLOAT8E4M3FNUZ,
                                  DT_FLOAT8E5M2FNUZ, DT_FLOAT8E8M0,   DT_UINT32,     DT_UINT64};
    if (code >= 0 && code < (int64_t)(sizeof TYPES / sizeof *TYPES))
        return TYPES[code];
    return code >= 28 && code < 36 ? LATER[code - 28] : DT_UNKNOWN;
}

static bool is_word(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return s.len > 0 && s.len < 64;
}

/* Returns a single symbol; expressions of symbols are left to inference. */
static num symbol_of(builder *b, str text)
{
    static const char OPENING[] = "Symbol('";
    if (str_starts(text, OPENING)) {
        str name = {text.ptr + sizeof OPENING - 1, text.len - (sizeof OPENING - 1)};
        const char *end = memchr(name.ptr, '\'', name.len);
        text = (str){name.ptr, end ? (size_t)(end - name.ptr) : 0};
    }
    return is_word(text) ? num_symbol(&b->source->symbols, text) : NUM_UNKNOWN;
}

static num read_size(builder *b, const json_node *size)
{
    const json_node *number = json_get(size, "as_int"), *expression = json_get(size, "as_expr");
    if (!json_is_null(number))
        return build_dim(b, json_int(number, -1));
    return json_is_null(expression) ? NUM_UNKNOWN
                                    : symbol_of(b, json_decoded(json_get(expression, "expr_str"), b->arena));
}

static void read_declarations(builder *b, const json_node *values, declarations *d)
{
    for (const json_node *v = json_first(values); v; v = v->next) {
        const json_node *meta = json_get(v, "meta") ? json_get(v, "meta") : v, *sizes = json_get(meta, "sizes");
        declaration *x = ARENA_PUSH(b->arena, d);
        x->dtype = schema_dtype(json_int(json_get(meta, "dtype"), 0));
        x->rank = json_is(sizes, JSON_ARRAY) && sizes->count <= MAX_RANK ? (int)sizes->count : RANK_UNKNOWN;
        x->dims = ARENA_ARRAY(b->arena, num, x->rank > 0 ? (size_t)x->rank : 0);
        int i = 0;
        for (const json_node *size = json_first(sizes); size && i < x->rank; size = size->next)
            x->dims[i++] = read_size(b, size);
        names_put(&d->names, v->key, d->count - 1);
    }
}

static const declaration *declared(const program *p, str name)
{
    int32_t i = names_get(&p->declared.names, name, -1);
    return i < 0 ? NULL : &p->declared.items[i];
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Returns the member of a union that is set. */
static const json_node *chosen(const json_node *alternatives)
{
    const json_node *x = json_first(alternatives);
    while (x && json_is_null(x))
        x = x->next;
    return x;
}

static bool has_plain_dims(const declaration *d)
{
    int64_t bytes = 16;
    for (int i = 0; i < d->rank; i++)
        if (!dim_known(d->dims[i]) || __builtin_mul_overflow(bytes, d->dims[i] ? d->dims[i] : 1, &bytes))
            return false;
    return d->rank >= 0;
}

/* Buffers and constants are not parameters. */
static void add_weight(builder *b, program *p, str name, bool is_parameter)
{
    const declaration *d = declared(p, name);
    if (!d || !has_plain_dims(d))
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "the shape of weight '%.*s' is missing or invalid; export the program again", STR_ARG(name));
    tensor *x = ARENA_NEW(b->arena, tensor);
    *x = (tensor){.dtype = d->dtype, .rank = (int8_t)d->rank, .dims = d->dims, .encoding = TENSOR_ELSEWHERE};
    x->stored_bytes = dtype_bits(d->dtype) / 8;
    for (int i = 0; i < d->rank; i++)
        x->stored_bytes *= d->dims[i];
    value_id id = build_local(b, name);
    build_constant(b, id, x);
    build_at(b, id)->is_constant_node = !is_parameter;
    names_put(&p->inputs, name, id);
}

static void add_input(builder *b, program *p, str name)
{
    const declaration *d = declared(p, name);
    value_id id = build_local(b, name);
    if (id == NO_VALUE)
        return;
    if (d)
        build_type(b, id, d->dtype, d->rank, d->dims);
    build_input(b, id);
    names_put(&p->inputs, name, id);
}

static str tensor_name(const json_node *argument)
{
    return json_text(json_get(json_get(argument, "as_tensor"), "name"));
}

/* Version 2.1 lists the user's inputs by name; all others are weights. */
static void read_old_signature(builder *b, program *p)
{
    names user, parameters;
    names_init(&user, b->arena);
    names_init(&parameters, b->arena);
    for (const json_node *x = json_first(json_get(p->signature, "inputs_to_parameters")); x; x = x->next)
        names_put(&parameters, x->key, 1);
    for (const json_node *x = json_first(json_get(p->signature, "user_inputs")); x; x = x->next)
        names_put(&user, json_text(x), 1);
    for (const json_node *x = json_first(json_get(p->graph, "inputs")); x; x = x->next) {
        str name = tensor_name(x);
        if (name.len && names_get(&user, name, 0))
            add_input(b, p, name);
        else if (name.len)
            add_weight(b, p, name, names_get(&parameters, name, 0));
    }
}

static void read_signature(builder *b, program *p)
{
    for (const json_node *x = json_first(json_get(p->signature, "input_specs")); x; x = x->next) {
        const json_node *spec = chosen(x);
        if (!spec)
            continue;
        str name = json_text(json_get(json_get(spec, "arg"), "name"));
        if (str_is(spec->key, "user_input"))
            add_input(b, p, tensor_name(json_get(spec, "arg")));
        else if (name.len && declared(p, name))
            add_weight(b, p, name, str_is(spec->key, "parameter"));
    }
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static void define(environment *e, str name, torch_value v)
{
    if (e->undefined.count && names_get(&e->undefined, name, -1) >= 0)
        fail_with(&e->torch->model->fail, SOOTH_ERROR_INPUT,
                  "value '%.*s' is read before it is made: a program must not contain a cycle; export it again",
                  STR_ARG(name));
    *(torch_value *)ARENA_PUSH(e->torch->arena, &e->values) = v;
    names_put(&e->names, name, e->values.count - 1);
}

static value_id bare_value(environment *e, str name)
{
    torch *t = e->torch;
    value_id id = elaborate_value(t->model, arena_str(t->kept, name));
    const declaration *d = declared(e->program, name);
    if (d)
        elaborate_declare(t->model, id, d->dtype, d->rank, d->dims);
    return id;
}

/* Makes a value for a name without a definition: an output that the file declares and the operator's rule does not
 * make. */
static torch_value named(environment *e, str name)
{
    int32_t i = names_get(&e->names, name, -1);
    if (i < 0) {
        define(e, name, torch_tensor(name.len ? bare_value(e, name) : NO_VALUE));
        i = e->values.count - 1;
        if (name.len)
            names_put(&e->undefined, name, i);
    }
    return e->values.items[i];
}

static torch_value number_named(environment *e, str name)
{
    int32_t i = names_get(&e->names, name, -1);
    return i < 0 ? torch_unknown() : e->values.items[i];
}

static torch_value read_argument(environment *e, const json_node *argument);

static torch_value read_list(environment *e, const json_node *list,
                             torch_value (*one)(environment *, const json_node *))
{
    torch_value v = torch_new_list(e->torch, TORCH_LIST, list->count);
    int32_t i = 0;
    for (const json_node *x = json_first(list); x && i < list->count; x = x->next)
        v.list->items[i++] = one(e, x);
    return v;
}

static torch_value read_tensor(environment *e, const json_node *x)
{
    return named(e, json_text(json_get(x, "name")));
}

static torch_value read_symbolic(environment *e, const json_node *x)
{
    const json_node *number = chosen(x);
    if (!number)
        return torch_none();
    if (str_is(number->key, "as_name"))
        return number_named(e, json_text(number));
    return str_is(number->key, "as_float")  ? torch_real(json_double(number, 0))
           : str_is(number->key, "as_bool") ? torch_bool(json_int(number, 0))
                                            : torch_int(json_int(number, 0));
}

static torch_value read_plain(environment *e, const json_node *x)
{
    switch (x->kind) {
    case JSON_INT:
        return num_known(x->integer) ? torch_int(x->integer) : torch_unknown();
    case JSON_BOOL:
        return torch_bool(x->integer);
    case JSON_REAL:
        return torch_real(x->real);
    case JSON_TEXT:
        return torch_text(json_decoded(x, e->torch->arena));
    default:
        return torch_none();
    }
}

static torch_value read_real(environment *e, const json_node *x)
{
    (void)e;
    str s = json_text(x); /* newer files write infinities as strings */
    if (s.len)
        return torch_real(str_is(s, "-Infinity") ? -INFINITY : str_is(s, "Infinity") ? INFINITY : NAN);
    return torch_real(json_double(x, 0));
}

static torch_value read_argument(environment *e, const json_node *argument)
{
    const json_node *x = chosen(argument);
    if (!x)
        return torch_none();
    str kind = x->key;
    if (str_is(kind, "as_tensor"))
        return read_tensor(e, x);
    if (str_is(kind, "as_tensors"))
        return read_list(e, x, read_tensor);
    if (str_is(kind, "as_optional_tensor"))
        return read_argument(e, x);
    if (str_is(kind, "as_optional_tensors"))
        return read_list(e, x, read_argument);
    if (str_is(kind, "as_sym_int") || str_is(kind, "as_sym_float") || str_is(kind, "as_sym_bool"))
        return read_symbolic(e, x);
    if (str_is(kind, "as_sym_ints") || str_is(kind, "as_sym_floats") || str_is(kind, "as_sym_bools"))
        return read_list(e, x, read_symbolic);
    if (str_is(kind, "as_ints") || str_is(kind, "as_bools") || str_is(kind, "as_strings"))
        return read_list(e, x, read_plain);
    if (str_is(kind, "as_float"))
        return read_real(e, x);
    if (str_is(kind, "as_floats"))
        return read_list(e, x, read_real);
    if (str_is(kind, "as_scalar_type"))
        return torch_int(torch_scalar_type(schema_dtype(json_int(x, 0))));
    if (str_is(kind, "as_int") || str_is(kind, "as_bool") || str_is(kind, "as_string"))
        return read_plain(e, x);
    return torch_none(); /* unused kinds: devices, layouts, memory formats, graphs */
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void check_shape(environment *e, value_id id, const declaration *d)
{
    torch *t = e->torch;
    value *v = &t->net->values.items[id];
    if (t->model->binding->overrides || d->rank < 0 || v->rank < 0)
        return;
    bool same = v->rank == d->rank;
    for (int i = 0; same && i < d->rank; i++)
        same = !dim_known(d->dims[i]) || !dim_known(v->dims[i]) || d->dims[i] == v->dims[i];
    if (same)
        return;
    network_note(t->net, "'%.*s' has different shapes by its operator's rule and in the file; the file's is used",
                 STR_ARG(v->name));
    t->model->source.elaboration->contradicted = v->name;
    v->rank = (int8_t)d->rank;
    v->dims = arena_copy(t->arena, d->dims, (size_t)d->rank, sizeof *d->dims);
    v->ints = NULL;
    v->reals = NULL;
}

/* Defines `name` as the value `v`. A tensor made since `first` gets the name and shape that the file declares. */
static void name_tensor(environment *e, str name, torch_value v, value_id first)
{
    torch *t = e->torch;
    if (v.kind != TORCH_TENSOR) {
        bool number = v.kind == TORCH_INT || v.kind == TORCH_REAL || v.kind == TORCH_BOOL;
        if (v.kind == TORCH_UNKNOWN || (v.kind == TORCH_NONE && declared(e->program, name)))
            v = torch_tensor(bare_value(e, name));
        else if (number)
            v = torch_tensor(torch_operand(t, v, DT_UNKNOWN));
        define(e, name, v);
        return;
    }
    const declaration *d = declared(e->program, name);
    value *own = &t->model->source.values.items[v.tensor];
    if (e->depth == 0 && v.tensor >= first && !own->is_initializer && !own->is_declared) {
        own->name = t->net->values.items[v.tensor].name = arena_str(t->kept, name);
        if (d) {
            elaborate_declare(t->model, v.tensor, d->dtype, d->rank, d->dims);
            check_shape(e, v.tensor, d);
        }
    }
    define(e, name, v);
}

static void name_results(environment *e, const json_node *outputs, torch_value result, value_id first)
{
    int32_t i = 0, count = outputs ? outputs->count : 0;
    for (const json_node *x = json_first(outputs); x; x = x->next, i++) {
        torch_value v = result;
        if (result.kind == TORCH_TUPLE)
            v = i < result.list->count ? result.list->items[i] : torch_none();
        else if (i > 0 && count > 1)
            v = torch_none();
        const json_node *output = chosen(x);
        if (!output)
            continue;
        if (str_is(output->key, "as_tensors")) {
            v = count == 1 ? result : v;
            int32_t k = 0;
            for (const json_node *part = json_first(output); part; part = part->next, k++)
                name_tensor(e, json_text(json_get(part, "name")),
                            torch_is_list(v) && k < v.list->count ? v.list->items[k] : torch_none(), first);
        } else if (str_is(output->key, "as_tensor")) {
            name_tensor(e, json_text(json_get(output, "name")), v, first);
        } else {
            define(e, json_text(json_get(output, "as_name")), v);
        }
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Returns the innermost module's path in "key,path,class;key,path,class", without the prefix of old versions. */
static str module_path(const json_node *node)
{
    str s = json_text(json_get(json_get(node, "metadata"), "nn_module_stack"));
    for (size_t i = s.len; i-- > 0;)
        if (s.ptr[i] == ';') {
            s = (str){s.ptr + i + 1, s.len - i - 1};
            break;
        }
    const char *comma = s.len ? memchr(s.ptr, ',', s.len) : NULL;
    if (!comma)
        return (str){0};
    s = (str){comma + 1, s.len - (size_t)(comma + 1 - s.ptr)};
    comma = s.len ? memchr(s.ptr, ',', s.len) : NULL;
    s.len = comma ? (size_t)(comma - s.ptr) : 0;
    static const char *const BEFORE[] = {"L['self'].", "L__self___", "L['self']", "L__self__"};
    for (size_t i = 0; i < sizeof BEFORE / sizeof *BEFORE; i++)
        if (str_starts(s, BEFORE[i]))
            return (str){s.ptr + strlen(BEFORE[i]), s.len - strlen(BEFORE[i])};
    return s;
}

enum { MAX_ARGUMENTS = 32 };

static int read_arguments(environment *e, const json_node *inputs, torch_argument *arguments)
{
    int count = 0;
    for (const json_node *x = json_first(inputs); x && count < MAX_ARGUMENTS; x = x->next)
        arguments[count++] = (torch_argument){json_text(json_get(x, "name")), read_argument(e, json_get(x, "arg"))};
    return count;
}

/* Arithmetic on sizes. */
static torch_value scalar(environment *e, str op, const torch_argument *a, int count)
{
    num_table *t = e->torch->nums;
    num x = count > 0 && a[0].value.kind == TORCH_INT ? a[0].value.integer : NUM_UNKNOWN;
    num y = count > 1 && a[1].value.kind == TORCH_INT ? a[1].value.integer : NUM_UNKNOWN;
    bool known = num_known(x) && num_known(y);
    if (str_is(op, "mul"))
        return torch_int(num_mul(t, x, y));
    if (str_is(op, "add"))
        return torch_int(num_add(t, x, y));
    if (str_is(op, "sub"))
        return torch_int(num_sub(t, x, y));
    if (str_is(op, "floordiv"))
        return torch_int(num_floordiv(t, x, y));
    if (str_is(op, "mod"))
        return torch_int(num_mod(t, x, y));
    if (str_is(op, "neg"))
        return torch_int(num_sub(t, 0, x));
    if (str_is(op, "sym_max"))
        return torch_int(num_max(t, x, y));
    if (str_is(op, "sym_min"))
        return torch_int(num_min(t, x, y));
    if (known && str_is(op, "eq"))
        return torch_bool(x == y);
    if (known && str_is(op, "ge"))
        return torch_bool(x >= y);
    return torch_unknown();
}

static void run_graph(environment *e, const json_node *graph);

/* Combines the results of both branches, so that neither is dead code. */
static torch_value either(torch *t, torch_value condition, torch_value yes, torch_value no)
{
    if (condition.kind != TORCH_TENSOR || yes.kind != TORCH_TENSOR || no.kind != TORCH_TENSOR)
        return yes;
    return torch_tensor(torch_emit3(t, "Where", condition.tensor, yes.tensor, no.tensor));
}

static void enter_graph(const environment *e)
{
    if (e->depth >= MAX_NESTING)
        fail_with(&e->torch->model->fail, SOOTH_ERROR_INPUT, "graphs are nested more than %d levels deep", MAX_NESTING);
}

static void begin_inner(environment *inner, program *p)
{
    names_init(&p->declared.names, inner->torch->arena);
    names_init(&inner->names, inner->torch->arena);
    names_init(&inner->undefined, inner->torch->arena);
}

/* If the condition depends on data, counts the first branch and lists the other without cost. */
static torch_value run_cond(environment *e, const json_node *node)
{
    torch *t = e->torch;
    const json_node *branches[2], *inputs = json_get(node, "inputs");
    torch_value operands, result = torch_none();
    enter_graph(e);
    for (int i = 0; i < 2; i++)
        branches[i] = json_get(json_get(json_get(json_at(inputs, i + 1), "arg"), "as_graph"), "graph");
    operands = read_argument(e, json_get(json_at(inputs, 3), "arg"));
    torch_value condition = read_argument(e, json_get(json_at(inputs, 0), "arg"));
    for (int i = 0; i < 2; i++) {
        program inner_program = {.graph = branches[i]};
        environment inner = {.torch = t, .program = &inner_program, .depth = e->depth + 1};
        begin_inner(&inner, &inner_program);
        int32_t k = 0;
        for (const json_node *x = json_first(json_get(branches[i], "inputs")); x; x = x->next, k++)
            define(&inner, tensor_name(x),
                   torch_is_list(operands) && k < operands.list->count ? operands.list->items[k] : torch_none());
        int64_t outer = t->repeat;
        t->repeat = i ? 0 : outer;
        run_graph(&inner, branches[i]);
        const json_node *outputs = json_get(branches[i], "outputs");
        if (!i)
            result = torch_new_list(t, TORCH_TUPLE, outputs ? outputs->count : 0);
        k = 0;
        for (const json_node *x = json_first(outputs); x && k < result.list->count; x = x->next, k++)
            result.list->items[k] = i ? either(t, condition, result.list->items[k], named(&inner, tensor_name(x)))
                                      : named(&inner, tensor_name(x));
        t->repeat = outer;
    }
    network_note(t->net, "a branch depends on data: the first branch is counted");
    return result;
}

/* True for wrap_with_autocast(device, type, enabled = False, …). */
static bool turns_autocast_off(const json_node *node)
{
    const json_node *enabled = json_get(json_get(json_at(json_get(node, "inputs"), 2), "arg"), "as_bool");
    return str_starts(json_text(json_get(node, "target")), "torch.ops.higher_order.wrap_with_autocast") && enabled &&
           enabled->kind == JSON_BOOL && !enabled->integer;
}

/* Runs a subgraph under another setting (gradients off, autocast). Arguments: settings, the subgraph, its inputs. */
static torch_value run_wrapped(environment *e, const json_node *node)
{
    torch *t = e->torch;
    const json_node *input = json_first(json_get(node, "inputs")), *graph = NULL;
    enter_graph(e);
    for (; input && !graph; input = input->next)
        graph = json_get(json_get(json_get(input, "arg"), "as_graph"), "graph");
    program inner_program = {.graph = graph};
    environment inner = {.torch = t, .program = &inner_program, .depth = e->depth + 1};
    begin_inner(&inner, &inner_program);
    for (const json_node *x = json_first(json_get(graph, "inputs")); x; x = x->next) {
        define(&inner, tensor_name(x), input ? read_argument(e, json_get(input, "arg")) : torch_none());
        input = input ? input->next : NULL;
    }
    int32_t start = t->net->nodes.count;
    run_graph(&inner, graph);
    if (turns_autocast_off(node))
        torch_mark_since(t, start, "eager_exact");
    const json_node *outputs = json_get(graph, "outputs");
    torch_value result = torch_new_list(t, TORCH_TUPLE, outputs ? outputs->count : 0);
    int32_t k = 0;
    for (const json_node *x = json_first(outputs); x && k < result.list->count; x = x->next, k++)
        result.list->items[k] = named(&inner, tensor_name(x));
    return result;
}

static str after(str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return str_starts(s, prefix) ? (str){s.ptr + n, s.len - n} : (str){0};
}

static void run_node(environment *e, const json_node *node)
{
    torch *t = e->torch;
    torch_argument arguments[MAX_ARGUMENTS];
    str target = json_text(json_get(node, "target")), aten = after(target, "torch.ops.aten.");
    value_id first = t->net->values.count;
    torch_value result;
    t->module = module_path(node);
    if (str_starts(target, "torch.ops.higher_order.cond")) {
        result = run_cond(e, node);
    } else if (str_starts(target, "torch.ops.higher_order.wrap_with_")) {
        result = run_wrapped(e, node);
    } else {
        int count = read_arguments(e, json_get(node, "inputs"), arguments);
        const char *dot = aten.len ? memchr(aten.ptr, '.', aten.len) : NULL;
        if (dot)
            aten.len = (size_t)(dot - aten.ptr);
        if (str_is(aten, "sym_size") && count > 1 && arguments[0].value.kind == TORCH_TENSOR) {
            int rank = torch_rank(t, arguments[0].value.tensor);
            int axis = arguments[1].value.kind == TORCH_INT ? torch_axis(arguments[1].value.integer, rank) : -1;
            result = torch_int(torch_dim(t, arguments[0].value.tensor, axis));
        } else if (str_starts(aten, "_assert") || str_starts(aten, "sym_constrain")) {
            return;
        } else if (str_starts(target, "_operator.") || str_starts(target, "torch.sym_")) {
            str op = str_starts(target, "_operator.") ? after(target, "_operator.") : after(target, "torch.");
            result = scalar(e, op, arguments, count);
        } else if (aten.len) {
            result = torch_aten(t, aten, arguments, count);
        } else {
            str name = target;
            if (str_starts(target, "torch.ops."))
                name = after(target, "torch.ops.");
            dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
            str space = {name.ptr, dot ? (size_t)(dot - name.ptr) : 0};
            if (dot && str_is(space, "torchvision")) {
                name = (str){dot + 1, name.len - space.len - 1};
                dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
                name.len = dot ? (size_t)(dot - name.ptr) : name.len;
            }
            result = torch_aten(t, name, arguments, count);
        }
    }
    name_results(e, json_get(node, "outputs"), result, first);
}

static void run_graph(environment *e, const json_node *graph)
{
    for (const json_node *node = json_first(json_get(graph, "nodes")); node; node = node->next)
        run_node(e, node);
}

static void add_output(environment *e, str name)
{
    torch_value v = name.len ? named(e, name) : torch_none();
    if (v.kind == TORCH_TENSOR)
        elaborate_output(e->torch->model, v.tensor);
}

static void run_program(sooth_model *model, void *front)
{
    const program *p = front;
    torch t = torch_start(model);
    environment e = {.torch = &t, .program = p};
    t.is_exact = model->source.is_literal;
    names_init(&e.names, t.arena);
    names_init(&e.undefined, t.arena);
    for (const json_node *x = json_first(json_get(p->graph, "inputs")); x; x = x->next) {
        str name = tensor_name(x);
        value_id id = names_get(&p->inputs, name, NO_VALUE);
        if (id != NO_VALUE)
            define(&e, name, torch_tensor(id));
    }
    run_graph(&e, p->graph);
    for (const json_node *x = json_first(json_get(p->signature, "user_outputs")); x; x = x->next)
        add_output(&e, json_text(x));
    for (const json_node *x = json_first(json_get(p->signature, "output_specs")); x; x = x->next) {
        const json_node *spec = chosen(x);
        if (spec && (str_is(spec->key, "user_output") || str_is(spec->key, "loss_output")))
            add_output(&e, tensor_name(json_get(spec, "arg")));
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool in_folder(str name, const char *folder)
{
    size_t length = strlen(folder);
    for (size_t i = 0; i + length < name.len; i++)
        if (memcmp(name.ptr + i, folder, length) == 0)
            return true;
    return false;
}

static const zip_entry *find_program(const zip *z, int *count)
{
    const zip_entry *found = NULL;
    *count = 0;
    for (int32_t i = 0; i < z->count; i++) {
        const zip_entry *e = &z->entries[i];
        bool old = str_is(e->name, "serialized_exported_program.json") ||
                   str_ends(e->name, "/serialized_exported_program.json");
        bool new = str_ends(e->name, ".json") && in_folder(e->name, "/models/");
        if (!old && !new)
            continue;
        ++*count;
        if (!found || str_ends(e->name, "/model.json"))
            found = e;
    }
    return found;
}

bool torch_export_has(const zip *z)
{
    int count;
    return find_program(z, &count) != NULL;
}

static void check_version(builder *b, const json_node *root)
{
    const json_node *version = json_get(root, "schema_version");
    int64_t major = json_is(version, JSON_OBJECT) ? json_int(json_get(version, "major"), 0) : json_int(version, 0);
    str torch_version = json_text(json_get(root, "torch_version"));
    b->source->producer = torch_version.len ? arena_printf(b->arena, "torch %.*s", STR_ARG(torch_version))
                                            : arena_printf(b->arena, "torch.export schema %lld", (long long)major);
    if (major < 1 || major > 8)
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = arena_printf(
            b->arena, "schema version %lld of torch.export is untested (tested are 1 to 8)", (long long)major);
}

/* Returns the name of a call without its namespace: "linear.default" of "torch.ops.aten.linear.default". */
static str short_target(const json_node *node)
{
    str target = json_text(json_get(node, "target"));
    size_t dot = target.len;
    for (int dots = 0; dot > 0; dot--)
        if (target.ptr[dot - 1] == '.' && ++dots == 2)
            break;
    return target.len ? (str){target.ptr + dot, target.len - dot} : STR("");
}

static bool is_among(str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* True if the program was decomposed (run_decompositions): it has operators that modules seldom call, and none that a
 * decomposition takes apart. */
static bool is_decomposed(const json_node *graph)
{
    static const char *const PARTS[] = {"convolution.default", "addmm.default",
                                        "mm.default",          "native_layer_norm.default",
                                        "_softmax.default",    "_native_batch_norm_legit_no_training.default",
                                        "view_copy.default",   "_to_copy.default"};
    static const char *const WHOLE[] = {"linear.default",     "layer_norm.default", "conv1d.default",
                                        "conv2d.default",     "batch_norm.default", "matmul.default",
                                        "reshape.default",    "softmax.int",        "dropout.default",
                                        "contiguous.default", "flatten.using_ints"};
    bool has_parts = false;
    for (const json_node *x = json_first(json_get(graph, "nodes")); x; x = x->next) {
        str name = short_target(x);
        if (is_among(name, WHOLE, sizeof WHOLE / sizeof *WHOLE))
            return false;
        has_parts |= is_among(name, PARTS, sizeof PARTS / sizeof *PARTS);
    }
    return has_parts;
}

void torch_export_read(builder *b, zip *z)
{
    int count;
    const zip_entry *e = find_program(z, &count);
    str text = zip_read(z, e, MAX_PROGRAM_BYTES);
    const char *subject = arena_str(b->arena, e->name).ptr;
    const json_node *root = json_read(text, subject, b->arena, &b->model->fail);
    program *p = ARENA_NEW(b->arena, program);
    p->graph = json_get(json_get(root, "graph_module"), "graph");
    p->signature = json_get(json_get(root, "graph_module"), "signature");
    if (!p->graph || !p->signature)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "%s has no graph_module with graph and signature; export the program again", subject);
    b->source->format = STR("pt2");
    b->source->is_literal = !is_decomposed(p->graph);
    b->source->states_in_place = true;
    check_version(b, root);
    if (count > 1)
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) =
            arena_printf(b->arena, "the archive has %d models; '%s' is read", count, subject);
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = (opset_import){STR(""), TORCH_OPSET};
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = (opset_import){STR(TORCH_DOMAIN), 1};
    names_init(&p->declared.names, b->arena);
    names_init(&p->inputs, b->arena);
    read_declarations(b, json_get(p->graph, "tensor_values"), &p->declared);
    build_open(b, &b->source->main, false);
    if (json_get(p->signature, "input_specs"))
        read_signature(b, p);
    else
        read_old_signature(b, p);
    build_close(b);
    elaborate_begin(b, run_program, p);
}
