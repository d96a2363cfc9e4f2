/* infer.c: walks the source, appends every node to the network, and infers its shapes. */
#include "graph/infer.h"
#include "base/nesting.h"
#include "graph/bind.h"
#include "graph/elaborate.h"
#include "graph/functions.h"
#include "graph/shape/shape.h"

#include <stdio.h>

enum { MAX_ADDED_WORK = 500000 };

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void copy_values(sooth_model *model)
{
    ARENA_RESERVE(model->net.arena, &model->net.nodes, (size_t)model->source.main.nodes.count);
    network *net = &model->net;
    const value_list *from = &model->source.values;
    net->values.items = arena_copy(net->arena, from->items, (size_t)from->count, sizeof *from->items);
    net->values.count = net->values.capacity = from->count;
    for (int32_t i = 0; i < from->count; i++) {
        value *v = &net->values.items[i];
        v->producer = NO_NODE;
        v->copied_from = NO_VALUE;
        if (v->is_initializer)
            continue;
        /* Declared shapes are merged after the rules have run (infer_merge_declared). */
        v->rank = RANK_UNKNOWN;
        v->dims = NULL;
        v->dtype = DT_UNKNOWN;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

value_id scope_value(const scope *s, value_id id)
{
    if (id == NO_VALUE)
        return NO_VALUE;
    for (; s; s = s->outer)
        if (s->map && id >= s->first && id < s->end)
            return s->map[id - s->first];
    return id;
}

static bool is_identity(const scope *s)
{
    for (; s; s = s->outer)
        if (s->map)
            return false;
    return true;
}

static value_id *mapped(network *net, const scope *s, const value_id *ids, int32_t count)
{
    value_id *result = ARENA_ARRAY(net->arena, value_id, (size_t)count);
    for (int32_t i = 0; i < count; i++)
        result[i] = scope_value(s, ids[i]);
    return result;
}

value_id *scope_fresh_values(sooth_model *model, const graph *g, str prefix)
{
    network *net = &model->net;
    int32_t count = g->end_value - g->first_value;
    value_id *map = ARENA_ARRAY(net->arena, value_id, (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        value copy = model->source.values.items[g->first_value + i];
        if (prefix.len)
            copy.name = arena_printf(net->arena, "%.*s/%.*s", STR_ARG(prefix), STR_ARG(copy.name));
        copy.copied_from = NO_VALUE;
        if (!copy.is_initializer) {
            copy.rank = RANK_UNKNOWN;
            copy.dims = NULL;
        }
        copy.is_declared = false;
        *(value *)ARENA_PUSH(net->arena, &net->values) = copy;
        map[i] = net->values.count - 1;
    }
    return map;
}

/* Resolves the attributes of a node inside a function: references get the caller's values. */
static void resolve_attrs(sooth_model *model, node *n, const scope *s)
{
    bool has_reference = false;
    for (int32_t i = 0; i < n->attr_count; i++)
        has_reference |= n->attrs[i].kind == ATTR_REFERENCE;
    if (!has_reference)
        return;
    attr *attrs = arena_copy(model->net.arena, n->attrs, (size_t)n->attr_count, sizeof *attrs);
    int32_t kept = 0;
    for (int32_t i = 0; i < n->attr_count; i++) {
        attr a = n->attrs[i];
        if (a.kind == ATTR_REFERENCE) {
            const scope *f = s;
            while (f && !f->function)
                f = f->outer;
            const attr *given = NULL;
            for (int32_t k = 0; f && k < f->call->attr_count && !given; k++)
                given = str_eq(f->call->attrs[k].name, a.string) ? &f->call->attrs[k] : NULL;
            for (int32_t k = 0; f && k < f->function->default_count && !given; k++)
                given = str_eq(f->function->defaults[k].name, a.string) ? &f->function->defaults[k] : NULL;
            if (!given)
                continue; /* An optional attribute that the caller omitted. */
            str name = a.name;
            a = *given;
            a.name = name;
        }
        attrs[kept++] = a;
    }
    n->attrs = attrs;
    n->attr_count = kept;
}

/* Fills in dimensions and types that the file declares and inference left unknown. */
void infer_merge_declared(sooth_model *model, value_id id)
{
    network *net = &model->net;
    value *v = &net->values.items[id];
    const value *declared = id < model->source.values.count ? &model->source.values.items[id] : NULL;
    if (!declared || !declared->is_declared || !v->is_declared || declared->is_initializer)
        return;
    if (v->dtype == DT_UNKNOWN)
        v->dtype = declared->dtype;
    if (v->kind == VALUE_TENSOR && v->rank == RANK_UNKNOWN && v->element_count == 0)
        v->kind = declared->kind;
    if (v->rank == RANK_UNKNOWN && declared->rank >= 0) {
        v->rank = declared->rank;
        v->dims = ARENA_ARRAY(net->arena, num, (size_t)declared->rank);
        for (int i = 0; i < v->rank; i++)
            v->dims[i] = NUM_UNKNOWN;
    }
    if (v->rank != declared->rank)
        return;
    for (int i = 0; i < v->rank; i++)
        if (v->dims[i] == NUM_UNKNOWN)
            v->dims[i] = bind_dim(model->binding, declared->dims[i]);
}

static bool all_outputs_folded(const network *net, const node *n)
{
    for (int32_t i = 0; i < n->output_count; i++) {
        const value *v = n->outputs[i] == NO_VALUE ? NULL : &net->values.items[n->outputs[i]];
        if (v && !v->ints && !v->reals)
            return false;
    }
    return n->output_count > 0;
}

/* True if the file distinguishes parameters from constants, and its framework runs the program as written. */
static bool states_parameters(const sooth_model *model)
{
    str format = model->source.format, producer = model->source.producer;
    if (str_is(format, "onnx"))
        return str_starts(producer, "pytorch");
    return str_is(format, "pt2") || str_is(format, "torchscript");
}

/* True for arithmetic on stored parameters, such as exp(scale). A program repeats it in every pass, and training
 * updates what it reads, although the result is known here. */
static bool computes_parameter(network *net, const node *n)
{
    bool reads_parameter = false;
    for (int32_t i = 0; i < n->input_count; i++) {
        const value *v = n->inputs[i] == NO_VALUE ? NULL : &net->values.items[n->inputs[i]];
        bool is_vector = v && v->kind == VALUE_TENSOR && v->rank > 0 && dtype_is_float(v->dtype);
        reads_parameter |= is_vector && (v->of_parameter || (v->is_initializer && !v->is_constant_node));
    }
    value *y = n->output_count == 1 && n->outputs[0] != NO_VALUE ? &net->values.items[n->outputs[0]] : NULL;
    if (!reads_parameter || !y || y->rank < 1 || !dtype_is_float(y->dtype) || value_elements(net, y) <= 1)
        return false;
    y->of_parameter = true;
    return true;
}

/* Constants, and Identities of them, are stored data and not work. Exporters merge equal weights and read them
 * through Identity, so each Identity represents a parameter of its own. */
static bool is_stored_constant(network *net, const node *n)
{
    bool is_constant = node_is(n, "Constant"), is_copy = false;
    if (n->output_count != 1 || n->outputs[0] == NO_VALUE)
        return false;
    value *v = &net->values.items[n->outputs[0]];
    if (node_is(n, "Identity") && n->input_count == 1 && n->inputs[0] != NO_VALUE) {
        const value *from = &net->values.items[n->inputs[0]];
        is_copy = from->is_initializer && from->kind == VALUE_TENSOR;
        v->copied_from = n->inputs[0];
        if (is_copy)
            v->tensor = from->tensor;
    }
    if (!is_constant && !is_copy)
        return false;
    v->is_initializer = true;
    v->is_constant_node = is_constant || net->values.items[v->copied_from].is_constant_node;
    v->producer = NO_NODE;
    return true;
}

/* Limits the work. Only nodes added by inlining and unrolling count, not the file's own. */
static int64_t most_work(const sooth_model *model)
{
    return MAX_ADDED_WORK + (int64_t)model->source.node_count;
}

static void count_work(sooth_model *model, str where)
{
    int64_t limit = most_work(model);
    if (++model->net.work > limit)
        fail_with(&model->fail, SOOTH_ERROR_INPUT,
                  "more than %lld nodes after inlining and unrolling, at '%.*s'; no real network is that large",
                  (long long)limit, STR_ARG(where));
}

void infer_append(sooth_model *model, const node *source_node, const scope *s)
{
    network *net = &model->net;
    count_work(model, source_node->name);
    node *n = ARENA_PUSH_ROOM(net->arena, &net->nodes);
    *n = *source_node;
    n->repeat = source_node->repeat ? s->repeat : 0;
    if (!is_identity(s)) {
        n->inputs = mapped(net, s, n->inputs, n->input_count);
        n->outputs = mapped(net, s, n->outputs, n->output_count);
        resolve_attrs(model, n, s);
    }
    for (int32_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] != NO_VALUE)
            net->values.items[n->outputs[i]].producer = net->nodes.count - 1;
    infer c = {.model = model, .net = net, .node = n, .nums = &net->nums, .arena = net->arena};
    if (n->op) {
        if (n->input_count < n->op->min_inputs || (n->op->max_inputs != ANY && n->input_count > n->op->max_inputs))
            complain(&c, "it has %d inputs; the operator takes %d to %d", n->input_count, n->op->min_inputs,
                     n->op->max_inputs);
        if (n->input_count >= n->op->min_inputs) {
            n->op->shape(&c);
            if (n->op->fold)
                n->op->fold(&c);
        }
    }
    for (int32_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] != NO_VALUE)
            infer_merge_declared(model, n->outputs[i]);
    rebatch_keep(&c);
    n->is_host = all_outputs_folded(net, n) && !(states_parameters(model) && computes_parameter(net, n));
    if (is_stored_constant(net, n))
        net->nodes.count--;
}

static void inline_call(sooth_model *model, const node *n, const function *f, const scope *s)
{
    network *net = &model->net;
    if (s->depth >= MAX_NESTING)
        fail_with(&model->fail, SOOTH_ERROR_INPUT,
                  "functions call each other more than %d levels deep, at '%.*s'; is it recursive?", MAX_NESTING,
                  STR_ARG(f->name));
    /* Resolved copy of the call, with the caller's ids and attributes, for references inside the function. */
    node *call = arena_copy(net->arena, n, 1, sizeof *n);
    resolve_attrs(model, call, s);
    value_id *map = scope_fresh_values(model, &f->graph, n->name.len ? n->name : n->type);
    const graph *g = &f->graph;
    for (int32_t i = 0; i < g->inputs.count; i++)
        map[g->inputs.items[i] - g->first_value] = i < n->input_count ? scope_value(s, n->inputs[i]) : NO_VALUE;
    for (int32_t i = 0; i < g->outputs.count && i < n->output_count; i++) {
        value_id formal = g->outputs.items[i];
        bool is_input = false;
        for (int32_t k = 0; k < g->inputs.count; k++)
            is_input |= g->inputs.items[k] == formal;
        if (n->outputs[i] != NO_VALUE && !is_input)
            map[formal - g->first_value] = scope_value(s, n->outputs[i]);
    }
    scope inner = {.outer = s,
                   .map = map,
                   .first = g->first_value,
                   .end = g->end_value,
                   .call = call,
                   .function = f,
                   .repeat = s->repeat,
                   .depth = s->depth + 1};
    infer_nodes(model, g, &inner);
}

static bool has_subgraph(const node *n)
{
    for (int32_t i = 0; i < n->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            return true;
    return false;
}

void infer_nodes(sooth_model *model, const graph *g, const scope *s)
{
    count_work(model, g->name);
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        const function *f = functions_find(&model->source, n);
        if (f)
            inline_call(model, n, f, s);
        else if (n->op && n->op->kind == OP_CONTROL && has_subgraph(n))
            control_expand(model, n, s);
        else
            infer_append(model, n, s);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Checks the replacement of a fixed batch: no rule may have complained, and outputs that began with the batch must
 * still do so. */
static void check_rebatch(sooth_model *model)
{
    network *net = &model->net;
    if (!net->batch_from)
        return;
    if (net->complaint)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the batch is fixed at %lld inside the graph: %s; export it with a dynamic batch",
                  (long long)net->batch_from, net->complaint);
    for (int32_t i = 0; i < net->outputs.count; i++) {
        const value *v = &net->values.items[net->outputs.items[i]];
        const value *declared = &model->source.values.items[net->outputs.items[i]];
        if (v->rank < 1 || declared->rank < 1 || declared->dims[0] != net->batch_from || !dim_known(v->dims[0]))
            continue;
        if (v->dims[0] != net->batch_to)
            fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                      "output '%.*s' keeps the file's fixed batch of %lld; export it with a dynamic batch",
                      STR_ARG(v->name), (long long)net->batch_from);
    }
    network_note(net, "the file fixes a batch of %lld; it was replaced by %lld", (long long)net->batch_from,
                 (long long)net->batch_to);
}

/* Starts an empty network and binds its inputs. */
static void begin(binding *b)
{
    sooth_model *model = b->model;
    network *net = &model->net;
    elaborate_undo(model);
    *net = (network){.arena = &model->bound_arena};
    num_table_init(&net->nums, net->arena);
    const num_table *symbols = &model->source.symbols;
    for (int32_t i = 0; i < symbols->expressions.count; i++)
        num_symbol(&net->nums, str_of(num_text(symbols, INT64_MIN + 1 + i)));
    for (int32_t i = 0; i < model->source.notes.count; i++)
        network_note(net, "%s", model->source.notes.items[i].ptr);
    copy_values(model);
    model->binding = b;
    bind_inputs(b);
    if (b->overrides)
        for (int32_t i = 0; i < net->values.count; i++)
            net->values.items[i].is_declared = false;
}

/* Infers all nodes of the main graph. */
static void run(sooth_model *model)
{
    scope top = {.repeat = 1};
    functions_index(model, most_work(model));
    if (model->source.elaboration)
        elaborate_run(model);
    else
        infer_nodes(model, &model->source.main, &top);
}

static void begin_and_run(binding *b)
{
    begin(b);
    run(b->model);
}

/* True if the user's dimensions are wrong: a rule complains about them but accepts the file's. */
static void check_fit(binding *b)
{
    sooth_model *model = b->model;
    char complaint[256];
    snprintf(complaint, sizeof complaint, "%s", model->net.complaint);
    binding as_in_file = {.model = model};
    begin_and_run(&as_in_file);
    if (!model->net.complaint)
        fail_with(&model->fail, SOOTH_ERROR_USAGE, "the given dimensions do not fit the network: %s", complaint);
    *b = (binding){.model = model, .options = b->options, .batch = b->batch, .at_file_batch = b->at_file_batch};
    begin_and_run(b);
}

/* Copies the shapes, because dimensions made by an elaboration are freed with it. Folded data live in the network's
 * arena and need no copy. */
static const file_shape *keep_shapes(network *net)
{
    const value *values = net->values.items;
    size_t dims = 0;
    for (int32_t i = 0; i < net->values.count; i++)
        dims += value_shape_known(&values[i]) ? (size_t)values[i].rank : 0;
    file_shape *shapes = arena_room(net->arena, (size_t)net->values.count, sizeof *shapes);
    num *next = arena_room(net->arena, dims, sizeof *next);
    for (int32_t i = 0; i < net->values.count; i++) {
        const value *v = &values[i];
        shapes[i] = (file_shape){.rank = RANK_UNKNOWN};
        if (!value_shape_known(v))
            continue;
        shapes[i] = (file_shape){v->rank, next, v->ints};
        for (int k = 0; k < v->rank; k++)
            *next++ = v->dims[k];
    }
    return shapes;
}

/* Infers the whole network with this batch (0: the file's). If the batch replaces a fixed one, the network is first
 * inferred at the file's batch, for comparison in shape_rebatch.c. */
static void run_at_batch(binding *b, int64_t batch)
{
    network *net = &b->model->net;
    *b = (binding){.model = b->model, .options = b->options, .batch = batch};
    begin(b);
    if (net->batch_from) {
        binding first = {.model = b->model, .options = b->options, .batch = batch, .at_file_batch = true};
        begin_and_run(&first);
        if (net->complaint)
            check_fit(&first);
        const file_shape *shapes = keep_shapes(net);
        int32_t count = net->values.count;
        *b = (binding){.model = b->model, .options = b->options, .batch = batch};
        begin(b);
        net->file_shapes = shapes;
        net->file_shape_count = count;
    }
    run(b->model);
}

void infer_network(sooth_model *model, const sooth_options *options)
{
    network *net = &model->net;
    arena_free(&model->bound_arena);
    if (options)
        bind_check(model, options);
    binding b = {.model = model, .options = options};
    run_at_batch(&b, options ? options->batch : 0);
    int64_t batch = net->complaint && !b.batch ? bind_batch_of_shapes(model, options) : 0;
    if (batch) { /* The options' shapes may also replace the fixed batch. */
        run_at_batch(&b, batch);
        if (net->complaint)
            run_at_batch(&b, 0);
    }
    if (net->complaint && !net->batch_from && options)
        check_fit(&b);
    model->binding = NULL;
    for (int32_t i = 0; i < model->source.main.outputs.count; i++) {
        value_id id = model->source.main.outputs.items[i];
        *(int32_t *)ARENA_PUSH(net->arena, &net->outputs) = id;
        net->values.items[id].is_output = true;
    }
    net->file_value_count = net->values.count;
    check_rebatch(model);
    bind_note_unbound(&b);
}

/* ---- while a source is being built ------------------------------------------------------------------------------- */

void infer_built(sooth_model *model, infer_progress *p)
{
    network *net = &model->net;
    const graph *g = &model->source.main;
    binding as_in_file = {.model = model, .batch_symbol = NUM_UNKNOWN};
    scope top = {.repeat = 1};
    if (!net->arena) {
        *net = (network){.arena = &model->bound_arena};
        num_table_init(&net->nums, net->arena);
    }
    const binding *running = model->binding; /* Not NULL while an elaboration runs. */
    if (!running)
        model->binding = &as_in_file;
    for (; p->values < model->source.values.count; p->values++) {
        value *v = ARENA_PUSH_ROOM(net->arena, &net->values);
        *v = model->source.values.items[p->values];
        if (v->is_initializer)
            continue;
        v->rank = RANK_UNKNOWN;
        v->dims = NULL;
        v->dtype = DT_UNKNOWN;
    }
    for (; p->inputs < g->inputs.count; p->inputs++)
        infer_merge_declared(model, g->inputs.items[p->inputs]);
    for (; p->nodes < g->nodes.count; p->nodes++) {
        const node *n = &g->nodes.items[p->nodes];
        for (int32_t i = 0; i < n->output_count; i++) /* A declaration may come after the node that writes the value. */
            if (n->outputs[i] != NO_VALUE)
                net->values.items[n->outputs[i]].is_declared = model->source.values.items[n->outputs[i]].is_declared;
        infer_append(model, n, &top);
    }
    model->binding = running;
}

void infer_forget(sooth_model *model)
{
    arena_free(&model->bound_arena);
    model->net = (network){0};
}
