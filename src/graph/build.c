/* build.c: builds source graphs and resolves names to values. */
#include "graph/build.h"
#include "base/nesting.h"

#include <stdlib.h>

typedef struct name_slot {
    uint32_t hash; /* Comparing hashes first avoids most string comparisons, and rehashing when the table grows. */
    int32_t id;    /* Value id + 1; 0 if free. */
} name_slot;

/* Hash table from the names of one graph to value ids (open addressing). */
struct builder_scope {
    builder_scope *outer;
    graph *graph;
    bool closed;
    name_slot *slots;
    uint32_t mask;
    uint32_t used;
};

void build_begin(builder *b, sooth_model *model)
{
    *b = (builder){
        .model = model, .source = &model->source, .arena = &model->source_arena, .scratch = &model->scratch_arena};
    b->ops = ops_index_new(b->arena);
    model->ops = b->ops;
    num_table_init(&b->source->symbols, b->arena);
}

static void resize(builder *b, builder_scope *s, uint32_t size)
{
    name_slot *slots = ARENA_ARRAY(b->scratch, name_slot, size);
    for (uint32_t i = 0; s->slots && i <= s->mask; i++) {
        if (!s->slots[i].id)
            continue;
        uint32_t k = s->slots[i].hash;
        while (slots[k & (size - 1)].id)
            k++;
        slots[k & (size - 1)] = s->slots[i];
    }
    s->slots = slots;
    s->mask = size - 1;
}

/* Returns the slot of the name, or a free slot for it. */
static inline name_slot *find_slot(builder *b, builder_scope *s, str name, uint32_t hash)
{
    for (uint32_t k = hash;; k++) {
        name_slot *slot = &s->slots[k & s->mask];
        if (!slot->id || (slot->hash == hash && str_eq(b->source->values.items[slot->id - 1].name, name)))
            return slot;
    }
}

void build_open(builder *b, graph *g, bool closed)
{
    if (++b->depth > MAX_NESTING)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "graphs are nested more than %d levels deep, at graph '%.*s'; no real exporter does that",
                  MAX_NESTING, STR_ARG(g->name));
    g->first_value = b->source->values.count;
    builder_scope *s = ARENA_NEW(b->scratch, builder_scope);
    *s = (builder_scope){.outer = b->scope, .graph = g, .closed = closed};
    resize(b, s, 16);
    b->scope = s;
}

void build_reserve(builder *b, size_t nodes, size_t values)
{
    builder_scope *s = b->scope;
    uint32_t size = s->mask + 1;
    while (size < values + values / 2 + 2 && size < 1u << 28)
        size *= 2;
    if (size > s->mask + 1)
        resize(b, s, size);
    ARENA_RESERVE(b->arena, &s->graph->nodes, nodes);
    ARENA_RESERVE(b->arena, &b->source->values, values);
}

/* Adds a value to the innermost graph; `slot` is the place of its name. */
static value_id add_local(builder *b, name_slot *slot, str name, uint32_t hash)
{
    builder_scope *s = b->scope;
    if (s->used > s->mask / 3 * 2) {
        resize(b, s, (s->mask + 1) * 2);
        slot = find_slot(b, s, name, hash);
    }
    value *v = ARENA_PUSH_ROOM(b->arena, &b->source->values);
    *v = (value){.name = arena_str(b->arena, name),
                 .rank = RANK_UNKNOWN,
                 .producer = NO_NODE,
                 .copied_from = NO_VALUE,
                 .reordered_of = NO_VALUE};
    value_id id = b->source->values.count - 1;
    *slot = (name_slot){.hash = hash, .id = id + 1};
    s->used++;
    return id;
}

uint32_t build_look_ahead(const builder *b, str name)
{
    uint32_t hash = str_hash(name);
    __builtin_prefetch(&b->scope->slots[hash & b->scope->mask]);
    return hash;
}

value_id build_local_hashed(builder *b, str name, uint32_t hash)
{
    if (name.len == 0)
        return NO_VALUE;
    name_slot *slot = find_slot(b, b->scope, name, hash);
    return slot->id ? slot->id - 1 : add_local(b, slot, name, hash);
}

value_id build_local(builder *b, str name)
{
    return build_local_hashed(b, name, str_hash(name));
}

value_id build_fresh(builder *b, str name)
{
    value *v = ARENA_PUSH_ROOM(b->arena, &b->source->values);
    *v = (value){
        .name = name, .rank = RANK_UNKNOWN, .producer = NO_NODE, .copied_from = NO_VALUE, .reordered_of = NO_VALUE};
    return b->source->values.count - 1;
}

value_id build_value_hashed(builder *b, str name, uint32_t hash)
{
    if (name.len == 0)
        return NO_VALUE;
    builder_scope *s = b->scope;
    name_slot *own = find_slot(b, s, name, hash);
    if (own->id)
        return own->id - 1;
    for (s = s->closed ? NULL : s->outer; s; s = s->closed ? NULL : s->outer) {
        name_slot *slot = find_slot(b, s, name, hash);
        if (slot->id)
            return slot->id - 1;
    }
    return add_local(b, own, name, hash);
}

value_id build_value(builder *b, str name)
{
    return build_value_hashed(b, name, str_hash(name));
}

bool build_is_local(builder *b, value_id id)
{
    str name = build_at(b, id)->name;
    return find_slot(b, b->scope, name, str_hash(name))->id == id + 1;
}

value *build_at(builder *b, value_id id)
{
    return &b->source->values.items[id];
}

num build_dim(builder *b, int64_t dim)
{
    if (dim < -1)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "a tensor of graph '%.*s' has a dimension of %lld; export the model again",
                  STR_ARG(b->scope ? b->scope->graph->name : STR("")), (long long)dim);
    return dim < 0 ? NUM_UNKNOWN : dim;
}

/* Fails if the byte count overflows; open dimensions count as 1. */
static void check_size(builder *b, str name, dtype t, int rank, const num *dims)
{
    int64_t bits = dtype_bits(t) ? dtype_bits(t) : 8;
    bool is_empty = false, is_too_large = false;
    for (int i = 0; i < rank; i++) {
        is_empty = is_empty || dims[i] == 0;
        if (dims[i] > 0 && __builtin_mul_overflow(bits, dims[i], &bits))
            is_too_large = true;
    }
    if (is_too_large && !is_empty)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "'%.*s' has more elements than can be counted; export the model again", STR_ARG(name));
}

void build_type(builder *b, value_id id, dtype t, int rank, const num *dims)
{
    value *v = build_at(b, id);
    if (v->is_initializer) /* The type of the data overrides the declared type. */
        return;
    check_size(b, v->name, t, rank > MAX_RANK ? 0 : rank, dims);
    v->dtype = t;
    v->is_declared = true;
    v->rank = (int8_t)(rank > MAX_RANK ? RANK_UNKNOWN : rank);
    v->dims = v->rank >= 0 ? arena_copy(b->arena, dims, (size_t)rank, sizeof *dims) : NULL;
}

void build_constant(builder *b, value_id id, const tensor *t)
{
    build_type(b, id, t->dtype, t->rank, t->dims);
    value *v = build_at(b, id);
    v->is_initializer = true;
    v->tensor = t;
}

static void check_named(builder *b, value_id id)
{
    if (id == NO_VALUE)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "an input or output of graph '%.*s' has no name; export the model again",
                  STR_ARG(b->scope->graph->name));
}

void build_input(builder *b, value_id id)
{
    check_named(b, id);
    *(int32_t *)ARENA_PUSH(b->arena, &b->scope->graph->inputs) = id;
}

void build_output(builder *b, value_id id)
{
    check_named(b, id);
    *(int32_t *)ARENA_PUSH(b->arena, &b->scope->graph->outputs) = id;
}

void build_last_output_first(builder *b)
{
    int32_t *items = b->scope->graph->outputs.items, count = b->scope->graph->outputs.count, last = items[count - 1];
    memmove(items + 1, items, (size_t)(count - 1) * sizeof *items);
    items[0] = last;
}

node *build_node(builder *b, str domain, str type, str name, int inputs, int outputs, int attrs)
{
    if (!type.len)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "node '%.*s' has no operator; export the model again",
                  STR_ARG(name));
    const op_info *op = ops_find(b->ops, domain, type);
    node *n = ARENA_PUSH_ROOM(b->arena, &b->scope->graph->nodes);
    b->source->node_count++;
    *n = (node){
        .type = op ? (str){op->name, type.len} : arena_str(b->arena, type),
        .domain = domain.len ? arena_str(b->arena, domain) : STR(""),
        .name = name.len ? arena_str(b->arena, name) : STR(""),
        .op = op,
        .input_count = inputs,
        .output_count = outputs,
        .attr_count = attrs,
        .repeat = 1,
        .fused_count = 1,
    };
    n->inputs = arena_room(b->arena, (size_t)inputs + (size_t)outputs, sizeof *n->inputs);
    n->outputs = n->inputs + inputs;
    for (int i = 0; i < inputs + outputs; i++)
        n->inputs[i] = NO_VALUE;
    n->attrs = attrs ? ARENA_ARRAY(b->arena, attr, (size_t)attrs) : NULL;
    return n;
}

static attr *named_attr(builder *b, node *n, int i, const char *name, attr_kind kind)
{
    attr *a = &n->attrs[i];
    a->name = arena_str(b->arena, str_of(name));
    a->kind = kind;
    return a;
}

void build_attr_int(builder *b, node *n, int i, const char *name, int64_t value)
{
    named_attr(b, n, i, name, ATTR_INT)->integer = value;
}

void build_attr_real(builder *b, node *n, int i, const char *name, double value)
{
    named_attr(b, n, i, name, ATTR_FLOAT)->real = value;
}

void build_attr_ints(builder *b, node *n, int i, const char *name, const int64_t *values, int count)
{
    attr *a = named_attr(b, n, i, name, ATTR_INTS);
    a->ints = arena_copy(b->arena, values, (size_t)count, sizeof *values);
    a->count = count;
}

/* ---- topological order ----------------------------------------------------------------------------------------- */

/* Topological sort of a graph; reads inside subgraphs count as well. */
typedef struct order {
    builder *b;
    graph *g;
    int32_t *maker; /* Indexed by value: 1 + the node that writes it. */
    uint8_t *state; /* State of each node: 0 new, 1 open, 2 done. */
    int32_t *stack; /* Stack of open nodes. */
    int32_t *result;
    int32_t stack_count, result_count;
} order;

/* Returns an unfinished node that `n` or its subgraphs depend on; -1 if there is none. */
static int32_t missing_input(order *o, const node *n)
{
    for (int32_t i = 0; i < n->input_count; i++) {
        int32_t m = n->inputs[i] == NO_VALUE ? 0 : o->maker[n->inputs[i]];
        if (m && o->state[m - 1] != 2)
            return m - 1;
    }
    for (int32_t i = 0; i < n->attr_count; i++) {
        if (n->attrs[i].kind != ATTR_GRAPH)
            continue;
        const graph *body = n->attrs[i].graph;
        for (int32_t k = 0; k < body->nodes.count; k++) {
            int32_t m = missing_input(o, &body->nodes.items[k]);
            if (m >= 0)
                return m;
        }
        for (int32_t k = 0; k < body->outputs.count; k++) {
            int32_t m = body->outputs.items[k] == NO_VALUE ? 0 : o->maker[body->outputs.items[k]];
            if (m && o->state[m - 1] != 2)
                return m - 1;
        }
    }
    return -1;
}

static void sort_nodes(order *o)
{
    graph *g = o->g;
    for (int32_t root = 0; root < g->nodes.count; root++) {
        if (o->state[root])
            continue;
        o->stack[o->stack_count++] = root;
        o->state[root] = 1;
        while (o->stack_count) {
            int32_t top = o->stack[o->stack_count - 1];
            int32_t need = missing_input(o, &g->nodes.items[top]);
            if (need < 0) {
                o->state[top] = 2;
                o->result[o->result_count++] = top;
                o->stack_count--;
            } else if (o->state[need] == 1) {
                const node *n = &g->nodes.items[need];
                fail_with(&o->b->model->fail, SOOTH_ERROR_INPUT,
                          "the graph has a cycle through node %d '%.*s' (%.*s); export the model again", need,
                          STR_ARG(n->name), STR_ARG(n->type));
            } else {
                o->state[need] = 1;
                o->stack[o->stack_count++] = need;
            }
        }
    }
}

/* In some real files two nodes write one name, usually equal constants. Runtimes use the first. */
static void drop_second_writer(builder *b, node *n, int32_t output)
{
    enum { MAX_NOTES = 20 };
    if (b->source->notes.count < MAX_NOTES)
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) =
            arena_printf(b->arena, "'%.*s' is written by two nodes; the first is used, not '%.*s' (%.*s)",
                         STR_ARG(build_at(b, n->outputs[output])->name), STR_ARG(n->name), STR_ARG(n->type));
    n->outputs[output] = NO_VALUE;
}

/* One entry per value, all zero between graphs. Each graph clears only its own entries, so files with many small graphs
 * stay fast. */
static int32_t *makers(builder *b)
{
    if (b->makers.count < b->source->values.count) {
        b->makers.count = b->source->values.count > INT32_MAX / 2 ? INT32_MAX : b->source->values.count * 2;
        b->makers.items = ARENA_ARRAY(b->scratch, int32_t, (size_t)b->makers.count);
    }
    return b->makers.items;
}

static void enter_makers(builder *b, graph *g, int32_t *maker)
{
    for (int32_t i = 0; i < g->nodes.count; i++) {
        node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->output_count; k++) {
            if (n->outputs[k] == NO_VALUE)
                continue;
            if (maker[n->outputs[k]]) {
                drop_second_writer(b, n, k);
                continue;
            }
            maker[n->outputs[k]] = i + 1;
        }
    }
}

static void leave_makers(const graph *g, int32_t *maker)
{
    for (int32_t i = 0; i < g->nodes.count; i++)
        for (int32_t k = 0; k < g->nodes.items[i].output_count; k++)
            if (g->nodes.items[i].outputs[k] != NO_VALUE)
                maker[g->nodes.items[i].outputs[k]] = 0;
}

void build_close(builder *b)
{
    graph *g = b->scope->graph;
    size_t node_count = (size_t)g->nodes.count;
    order o = {.b = b, .g = g, .maker = makers(b)};
    bool sorted = true;
    enter_makers(b, g, o.maker);
    o.state = ARENA_ARRAY(b->scratch, uint8_t, node_count);
    for (int32_t i = 0; i < g->nodes.count && sorted; i++) {
        sorted = missing_input(&o, &g->nodes.items[i]) < 0;
        o.state[i] = 2;
    }
    if (!sorted) {
        memset(o.state, 0, node_count);
        o.stack = ARENA_ARRAY(b->scratch, int32_t, node_count);
        o.result = ARENA_ARRAY(b->scratch, int32_t, node_count);
        sort_nodes(&o);
        node *nodes = ARENA_ARRAY(b->arena, node, node_count);
        for (size_t i = 0; i < node_count; i++)
            nodes[i] = g->nodes.items[o.result[i]];
        g->nodes.items = nodes;
        g->nodes.capacity = g->nodes.count;
    }
    leave_makers(g, o.maker);
    g->end_value = b->source->values.count;
    b->scope = b->scope->outer;
    b->depth--;
}
