/* tf_graph.c: nodes of a GraphDef or FunctionDef: resolves names to edges, writes needed nodes in order of use, inlines
 * function calls.
 *
 * NodeDef: 1 name, 2 op, 3 input, 5 attr. FunctionDefLibrary: 1 function. FunctionDef: 1 signature (OpDef), 3 node_def,
 * 4 ret (map: 1 result, 2 edge). OpDef: 1 name, 2 input_arg, 3 output_arg (ArgDef: 1 name).
 *
 * The graph walk has its own stack, because a chain of nodes may be as long as the file. */
#include "base/nesting.h"
#include "front/tensorflow/tf.h"

enum { MAX_WRITTEN = 1 << 20, MAX_OUTPUTS = 1 << 16 };

/* ---- names ----------------------------------------------------------------------------------------------------- */

static uint32_t slots_for(int32_t count)
{
    uint32_t size = 16;
    while (size < 2 * (uint32_t)count + 2)
        size *= 2;
    return size;
}

tf_node *tf_find_node(const tf_graph *g, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        int32_t slot = g->slots[k & g->mask];
        if (!slot)
            return NULL;
        if (slot > 0 && str_eq(g->nodes[slot - 1].name, name))
            return &g->nodes[slot - 1];
    }
}

static void take_slot(tf_graph *g, str name, int32_t what)
{
    uint32_t k = str_hash(name);
    while (g->slots[k & g->mask])
        k++;
    g->slots[k & g->mask] = what;
}

/* Finds a function's argument. Arguments are in the same table as nodes, in negative slots. */
static int32_t find_argument(const tf_graph *g, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        int32_t slot = g->slots[k & g->mask];
        if (!slot)
            return -1;
        if (slot < 0 && str_eq(g->function->arguments[-slot - 1], name))
            return -slot - 1;
    }
}

tf_function *tf_find_function(tf_file *f, str name)
{
    for (uint32_t k = str_hash(name); f->function_count; k++) {
        int32_t slot = f->function_slots[k & f->function_mask];
        if (!slot)
            return NULL;
        if (str_eq(f->functions[slot - 1].name, name))
            return &f->functions[slot - 1];
    }
    return NULL;
}

/* ---- the library ----------------------------------------------------------------------------------------------- */

static str argument_name(wire w)
{
    wire_field f;
    str name = {0};
    while (wire_next(&w, &f))
        if (f.number == 1)
            name = wire_str(&f);
    return name;
}

static void read_signature(tf_file *f, wire w, tf_function *fn)
{
    wire all = w;
    wire_field field;
    while (wire_next(&w, &field)) {
        if (field.number == 1)
            fn->name = wire_str(&field);
        fn->argument_count += field.number == 2;
        fn->result_count += field.number == 3;
    }
    fn->arguments = ARENA_ARRAY(f->e.b->arena, str, (size_t)fn->argument_count + 1);
    fn->results = ARENA_ARRAY(f->e.b->arena, str, (size_t)fn->result_count + 1);
    int32_t arguments = 0, results = 0;
    while (wire_next(&all, &field)) {
        if (field.number == 2)
            fn->arguments[arguments++] = argument_name(wire_message(&all, &field));
        else if (field.number == 3)
            fn->results[results++] = argument_name(wire_message(&all, &field));
    }
}

void tf_read_library(tf_file *f, wire library)
{
    arena *a = f->e.b->arena;
    wire w = library;
    wire_field field, part;
    while (wire_next(&w, &field))
        f->function_count += field.number == 1;
    f->functions = ARENA_ARRAY(a, tf_function, (size_t)f->function_count + 1);
    uint32_t size = slots_for(f->function_count);
    f->function_slots = ARENA_ARRAY(a, int32_t, size);
    f->function_mask = size - 1;
    int32_t count = 0;
    for (w = library; wire_next(&w, &field);) {
        if (field.number != 1)
            continue;
        tf_function *fn = &f->functions[count++];
        fn->body = wire_message(&w, &field);
        wire body = fn->body;
        while (wire_next(&body, &part))
            if (part.number == 1)
                read_signature(f, wire_message(&body, &part), fn);
        uint32_t k = str_hash(fn->name);
        while (f->function_slots[k & f->function_mask])
            k++;
        f->function_slots[k & f->function_mask] = count;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static void read_node(tf_graph *g, wire w, tf_node *n)
{
    wire all = w;
    wire_field f;
    int32_t inputs = 0;
    n->attrs = w;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            n->name = wire_str(&f);
        else if (f.number == 2)
            n->op = wire_str(&f);
        else if (f.number == 3 && !(f.size && f.bytes[0] == '^'))
            inputs++;
    }
    str *texts = ARENA_ARRAY(g->file->e.b->arena, str, (size_t)inputs + 1);
    n->input_texts = texts;
    while (wire_next(&all, &f))
        if (f.number == 3 && !(f.size && f.bytes[0] == '^'))
            texts[n->input_count++] = wire_str(&f);
}

/* Splits "name:3" into name and number. */
static int split_number(str *text)
{
    size_t i = text->len;
    int64_t number = 0, power = 1;
    while (i > 0 && text->ptr[i - 1] >= '0' && text->ptr[i - 1] <= '9' && power < MAX_OUTPUTS) {
        number += (text->ptr[i - 1] - '0') * power;
        power *= 10;
        i--;
    }
    if (i == text->len || i == 0 || text->ptr[i - 1] != ':')
        return 0;
    text->len = i - 1;
    return number < MAX_OUTPUTS ? (int)number : MAX_OUTPUTS - 1;
}

tf_edge tf_resolve(const tf_graph *g, str text)
{
    str name = text, output = {0};
    int index = split_number(&name);
    if (g->function) {
        int32_t argument = find_argument(g, text);
        if (argument >= 0)
            return (tf_edge){-1, argument};
        for (size_t i = name.len; i > 0; i--)
            if (name.ptr[i - 1] == ':') {
                output = (str){name.ptr + i, name.len - i};
                name.len = i - 1;
                break;
            }
    }
    const tf_node *n = tf_find_node(g, name);
    if (!n && !g->function) /* some tools remove the weights from a graph in text form, so the node may be missing */
        return (tf_edge){-1, -2};
    if (!n)
        fail_with(g->file->fail, SOOTH_ERROR_INPUT, "'%.*s' is read, but no node makes it; export the model again",
                  STR_ARG(text));
    if (output.len) {
        const tf_function *called = tf_find_function(g->file, n->op);
        if (!called)
            index = tf_output_place(n->op, output, index);
        for (int32_t i = 0; called && i < called->result_count; i++)
            if (str_eq(called->results[i], output))
                index += i;
    }
    return (tf_edge){(int32_t)(n - g->nodes), index < MAX_OUTPUTS ? index : MAX_OUTPUTS - 1};
}

void tf_open_graph(tf_graph *g, wire w, uint32_t node_field)
{
    arena *a = g->file->e.b->arena;
    wire_field f;
    for (wire c = w; wire_next(&c, &f);)
        g->count += f.number == node_field;
    g->nodes = ARENA_ARRAY(a, tf_node, (size_t)g->count + 1);
    int32_t arguments = g->function ? g->function->argument_count : 0;
    uint32_t size = slots_for(g->count + arguments);
    g->slots = ARENA_ARRAY(a, int32_t, size);
    g->mask = size - 1;
    g->stack = ARENA_ARRAY(a, int32_t, (size_t)g->count + 1);
    g->open_nodes = ARENA_ARRAY(a, int32_t, (size_t)g->count + 1);
    for (int32_t i = 0; i < arguments; i++)
        take_slot(g, g->function->arguments[i], -1 - i);
    int32_t count = 0;
    while (wire_next(&w, &f)) {
        if (f.number != node_field)
            continue;
        tf_node *n = &g->nodes[count++];
        read_node(g, wire_message(&w, &f), n);
        if (n->name.len == 0 || n->op.len == 0)
            wire_fail(&w, f.bytes, "a node has no name or no operator");
        if (!tf_find_node(g, n->name)) /* of nodes with equal names, the first is used */
            take_slot(g, n->name, count);
    }
}

/* Called when a node is first needed. */
static void resolve_inputs(tf_graph *g, tf_node *n)
{
    n->inputs = ARENA_ARRAY(g->file->e.b->arena, tf_edge, (size_t)n->input_count + 1);
    for (int32_t i = 0; i < n->input_count; i++)
        n->inputs[i] = tf_resolve(g, n->input_texts[i]);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static str joined(arena *a, str first, char between, str second)
{
    char *text = arena_room(a, first.len + second.len + 2, 1);
    memcpy(text, first.ptr, first.len);
    text[first.len] = between;
    memcpy(text + first.len + 1, second.ptr, second.len);
    text[first.len + second.len + 1] = '\0';
    return (str){text, first.len + second.len + 1};
}

/* Creates the value under its own name, or prefixed with the call's name if inlined functions repeat it. */
static value_id output_value(tf_graph *g, const tf_node *n, int i)
{
    builder *b = g->file->e.b;
    str name =
        i == 0 ? (n->shown.len ? n->shown : n->name) : joined(b->arena, n->name, ':', arena_printf(b->arena, "%d", i));
    int32_t before = b->source->values.count;
    value_id v = build_local(b, name);
    bool is_weight_told_before = !g->function && str_is(n->op, "Const") && build_at(b, v)->is_initializer;
    if (b->source->values.count > before || is_weight_told_before)
        return v;
    v = build_local(b, joined(b->arena, g->prefix, '/', name));
    while (b->source->values.count == before)
        v = build_local(b, joined(b->arena, name, '#', arena_printf(b->arena, "%d", g->file->e.made++)));
    return v;
}

/* Applies the output shapes that converters noted. */
static void declare_outputs(tf_graph *g, const tf_node *n, const tf_op *o)
{
    num dims[MAX_RANK];
    /* lists and arrays are stated as handles */
    if (str_starts(n->op, "TensorList") || str_starts(n->op, "TensorArray"))
        return;
    for (int i = 0; i < o->out_count && i < 8; i++) {
        int rank = tf_attr_shape_at(n, "_output_shapes", i, dims);
        if (rank < 0 || o->out[i] == NO_VALUE)
            continue;
        value *v = build_at(g->file->e.b, o->out[i]);
        if (!v->is_declared && !v->is_initializer)
            build_type(g->file->e.b, o->out[i], DT_UNKNOWN, rank, dims);
    }
}

static const tf_row *row_of(const tf_row *rows, size_t count, str op)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].op[0] == op.ptr[0] && str_is(op, rows[i].op))
            return &rows[i];
    return NULL;
}

static const tf_row *find_row(str op)
{
    static const tf_row *(*const TABLES[])(size_t *) = {tf_rows_nn, tf_rows_move, tf_rows_control, tf_rows};
    const tf_row *row = NULL;
    for (size_t i = 0; !row && i < sizeof TABLES / sizeof *TABLES; i++) {
        size_t count;
        const tf_row *rows = TABLES[i](&count);
        row = row_of(rows, count, op);
    }
    return row;
}

static bool is_missing(tf_edge e)
{
    return e.node == -1 && e.output == -2;
}

/* Creates a value that no node writes, about which nothing is known. */
static value_id missing_value(tf_graph *g, str text)
{
    enum { MAX_NOTES = 20 };
    builder *b = g->file->e.b;
    int32_t before = b->source->values.count;
    value_id v = build_local(b, text);
    if (b->source->values.count > before && b->source->notes.count < MAX_NOTES)
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = arena_printf(
            b->arena, "'%.*s' is read, but no node of the file makes it; its shape is not known", STR_ARG(text));
    return v;
}

static void write_node(tf_graph *g, tf_node *n)
{
    tf_file *f = g->file;
    arena *a = f->e.b->arena;
    if (++f->written > MAX_WRITTEN)
        fail_with(f->fail, SOOTH_ERROR_INPUT, "its functions call one another and expand to more than %d nodes",
                  MAX_WRITTEN);
    enum { MOST_READ = 16 }; /* mappings may read inputs that a damaged file omits */
    value_id *in = ARENA_ARRAY(a, value_id, (size_t)n->input_count + MOST_READ);
    for (int32_t i = 0; i < MOST_READ; i++)
        in[n->input_count + i] = NO_VALUE;
    for (int32_t i = 0; i < n->input_count; i++)
        in[i] = is_missing(n->inputs[i]) ? missing_value(g, n->input_texts[i])
                                         : tf_write(g, n->inputs[i]); /* already written, so this does not recurse */
    n->output_count = tf_output_count(n, n->output_count > 0 ? n->output_count : 1);
    n->outputs = ARENA_ARRAY(a, value_id, (size_t)n->output_count);
    for (int32_t i = 0; i < n->output_count; i++)
        n->outputs[i] = output_value(g, n, i);
    tf_op o = {.g = g,
               .e = &f->e,
               .node = n,
               .in = in,
               .in_count = n->input_count,
               .out = n->outputs,
               .out_count = n->output_count};
    str outer = f->e.name;
    f->e.name = build_at(f->e.b, n->outputs[0])->name;
    declare_outputs(g, n, &o);
    const tf_row *row = find_row(n->op);
    bool is_source = str_starts(n->op, "Placeholder") || str_starts(n->op, "Var") || str_is(n->op, "Const") ||
                     str_is(n->op, "NoOp") || str_is(n->op, "Assert");
    bool has_inputs = is_source || n->input_count > 0,
         may_lack = str_is(n->op, "Merge"); /* a Merge lacks its input from the next round */
    for (int i = 0; i < o.in_count && !may_lack; i++)
        has_inputs &= in[i] != NO_VALUE;
    if (tf_find_function(f, n->op))
        tf_inline(g, n->op, f->e.name, in, o.in_count, n->outputs, n->output_count);
    else if (row && has_inputs)
        row->map(&o, row->canonical);
    else
        tf_foreign(&o);
    f->e.name = outer;
}

static _Noreturn void fail_cycle(const tf_graph *g, const tf_node *n)
{
    fail_with(g->file->fail, SOOTH_ERROR_INPUT,
              "the graph has a cycle through node '%.*s' (%.*s); export the model again", STR_ARG(n->name),
              STR_ARG(n->op));
}

/* The back edge of an old loop is not followed: the first round stands for all rounds. */
static bool is_back_edge(const tf_graph *g, const tf_node *n, int32_t input)
{
    int32_t from = n->inputs[input].node;
    return from >= 0 && str_is(g->nodes[from].op, "NextIteration") && str_is(n->op, "Merge");
}

void tf_need(tf_graph *g, tf_edge edge)
{
    int32_t depth = 0;
    if (edge.node < 0 || g->nodes[edge.node].is_written)
        return;
    tf_node *root = &g->nodes[edge.node];
    if (edge.output >= root->output_count)
        root->output_count = edge.output + 1;
    if (!root->is_needed) {
        root->is_needed = true;
        g->stack[depth++] = edge.node;
    }
    while (depth > 0) {
        tf_node *n = &g->nodes[g->stack[--depth]];
        resolve_inputs(g, n);
        for (int32_t i = 0; i < n->input_count; i++) {
            tf_edge e = n->inputs[i];
            if (is_back_edge(g, n, i)) /* a loop writes its body, but the body's inputs must be written before */
                n->inputs[i] = (tf_edge){-1, -1};
            if (e.node < 0)
                continue;
            tf_node *from = &g->nodes[e.node];
            if (!from->is_written && e.output >= from->output_count)
                from->output_count = e.output + 1;
            if (!from->is_needed) {
                from->is_needed = true;
                g->stack[depth++] = e.node;
            }
        }
    }
}

/* Writes nodes as they are needed. A loop writes its body with the part of the stack above it. */
value_id tf_write(tf_graph *g, tf_edge edge)
{
    if (edge.node < 0)
        return edge.output >= 0 && edge.output < g->argument_count ? g->arguments[edge.output] : NO_VALUE;
    tf_node *root = &g->nodes[edge.node];
    tf_need(g, edge);
    int32_t *open = g->open_nodes, bottom = g->open_count;
    if (!root->is_written) {
        if (root->is_open)
            fail_cycle(g, root);
        open[g->open_count++] = edge.node;
    }
    while (g->open_count > bottom) {
        tf_node *n = &g->nodes[open[g->open_count - 1]];
        n->is_open = true;
        int32_t next = -1;
        for (int32_t i = 0; i < n->input_count && next < 0; i++)
            if (n->inputs[i].node >= 0 && !g->nodes[n->inputs[i].node].is_written)
                next = n->inputs[i].node;
        if (next >= 0) {
            if (g->nodes[next].is_open)
                fail_cycle(g, &g->nodes[next]);
            open[g->open_count++] = next;
            continue;
        }
        write_node(g, n);
        n->is_written = true;
        n->is_open = false;
        g->open_count--;
    }
    return edge.output < root->output_count ? root->outputs[edge.output] : NO_VALUE;
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

void tf_open_function(tf_graph *g, tf_graph *caller, tf_function *function, str prefix, const value_id *arguments,
                      int count)
{
    tf_file *f = caller->file;
    if (function->is_open)
        fail_with(f->fail, SOOTH_ERROR_INPUT, "function '%.*s' calls itself; its depth is known only at run time",
                  STR_ARG(function->name));
    if (caller->depth + 1 > MAX_NESTING)
        fail_with(f->fail, SOOTH_ERROR_INPUT, "functions call one another more than %d levels deep, at '%.*s'",
                  MAX_NESTING, STR_ARG(function->name));
    function->is_open = true;
    *g = (tf_graph){.file = f,
                    .function = function,
                    .prefix = prefix,
                    .arguments = arguments,
                    .argument_count = count,
                    .depth = caller->depth + 1};
    tf_open_graph(g, function->body, 3);
}

void tf_close_function(tf_graph *g, tf_function *function)
{
    (void)g;
    function->is_open = false;
}

tf_edge tf_result(const tf_graph *g, int i)
{
    wire w = g->function->body;
    wire_field f, part;
    while (wire_next(&w, &f)) {
        if (f.number != 4)
            continue;
        wire entry = wire_message(&w, &f);
        str key = {0}, edge = {0};
        while (wire_next(&entry, &part)) {
            if (part.number == 1)
                key = wire_str(&part);
            else if (part.number == 2)
                edge = wire_str(&part);
        }
        if (str_eq(key, g->function->results[i]))
            return tf_resolve(g, edge);
    }
    return (tf_edge){-1, -1};
}

void tf_inline(tf_graph *caller, str function, str prefix, const value_id *arguments, int count, value_id *results,
               int result_count)
{
    tf_function *fn = tf_find_function(caller->file, function);
    if (!fn)
        fail_with(caller->file->fail, SOOTH_ERROR_INPUT,
                  "function '%.*s' is called, but it is not in the file's library", STR_ARG(function));
    tf_graph g;
    tf_open_function(&g, caller, fn, prefix, arguments, count);
    tf_edge *edges = ARENA_ARRAY(caller->file->e.b->arena, tf_edge, (size_t)result_count + 1);
    for (int i = 0; i < result_count; i++) {
        edges[i] = i < fn->result_count ? tf_result(&g, i) : (tf_edge){-1, -1};
        tf_need(&g, edges[i]);
    }
    for (int i = 0; i < result_count; i++)
        results[i] = tf_write(&g, edges[i]);
    tf_close_function(&g, fn);
}
