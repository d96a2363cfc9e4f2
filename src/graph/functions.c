#include "graph/functions.h"

enum { MAX_DEPTH = 64, VALUES_PER_NODE = 8 };

typedef struct function_size {
    int64_t nodes;
    bool is_known, is_open; /* `is_open` marks a function that is being counted; a call to it is recursive */
} function_size;

struct function_index {
    int32_t *slots; /* 1 + index of the function; 0 if free. */
    uint32_t mask;
};

static uint32_t hash_of(str name, str domain)
{
    return str_hash(name) ^ str_hash(domain) * 0x9e3779b1u;
}

/* Slot of the function, or the free slot where it belongs. */
static int32_t *slot_of(const source *s, str name, str domain)
{
    const struct function_index *index = s->function_index;
    uint32_t at = hash_of(name, domain) & index->mask;
    while (index->slots[at]) {
        const function *f = &s->functions.items[index->slots[at] - 1];
        if (str_eq(f->name, name) && str_eq(f->domain, domain))
            break;
        at = (at + 1) & index->mask;
    }
    return &index->slots[at];
}

const function *functions_find(const source *s, const node *n)
{
    if (!s->function_index)
        return NULL;
    int32_t found = *slot_of(s, n->type, n->domain);
    return found ? &s->functions.items[found - 1] : NULL;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static int64_t sum(int64_t a, int64_t b)
{
    int64_t both;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

typedef struct counter {
    const source *source;
    function_size *sizes; /* Indexed by function. */
} counter;

static int64_t nodes_of_graph(const counter *c, const graph *g, int depth);

/* Counts the nodes that a call copies. Many values count as nodes too, because they take memory. */
static int64_t nodes_of_call(const counter *c, const function *f, int depth)
{
    function_size *size = &c->sizes[f - c->source->functions.items];
    if (size->is_known || size->is_open)
        return size->nodes;
    size->is_open = true;
    int64_t nodes =
        sum(nodes_of_graph(c, &f->graph, depth), (f->graph.end_value - f->graph.first_value) / VALUES_PER_NODE);
    *size = (function_size){.nodes = nodes, .is_known = true};
    return nodes;
}

/* Lower bound on the nodes of a control operator: an If counts its smaller branch, and a loop may run no rounds. */
static int64_t nodes_of_control(const counter *c, const node *n, int depth)
{
    int64_t least = 0;
    int branches = 0;
    for (int32_t i = 0; i < n->attr_count && node_is(n, "If"); i++)
        if (n->attrs[i].kind == ATTR_GRAPH && n->attrs[i].graph) {
            int64_t nodes = nodes_of_graph(c, n->attrs[i].graph, depth);
            least = branches++ == 0 || nodes < least ? nodes : least;
        }
    return branches == 2 ? least : 0;
}

static bool has_graph(const node *n)
{
    for (int32_t i = 0; i < n->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            return true;
    return false;
}

static int64_t nodes_of(const counter *c, const node *n, int depth)
{
    const function *f = functions_find(c->source, n);
    if (depth >= MAX_DEPTH) /* Its expansion fails later and reports the depth. */
        return 0;
    return f ? nodes_of_call(c, f, depth + 1) : has_graph(n) ? nodes_of_control(c, n, depth + 1) : 1;
}

static int64_t nodes_of_graph(const counter *c, const graph *g, int depth)
{
    int64_t nodes = 1; /* Starts at one, so that an empty graph counts too. */
    for (int32_t i = 0; i < g->nodes.count; i++)
        nodes = sum(nodes, nodes_of(c, &g->nodes.items[i], depth));
    return nodes;
}

static void check_size(sooth_model *model, int64_t most_nodes)
{
    const source *s = &model->source;
    counter c = {.source = s, .sizes = ARENA_ARRAY(&model->source_arena, function_size, (size_t)s->functions.count)};
    int64_t nodes = 0;
    for (int32_t i = 0; i < s->main.nodes.count; i++) {
        const node *n = &s->main.nodes.items[i];
        nodes = sum(nodes, nodes_of(&c, n, 0));
        if (nodes > most_nodes)
            fail_with(&model->fail, SOOTH_ERROR_INPUT,
                      "more than %lld nodes after the calls of functions are inlined, at '%.*s'; no real network is "
                      "that large",
                      (long long)most_nodes, STR_ARG(n->name.len ? n->name : n->type));
    }
}

void functions_index(sooth_model *model, int64_t most_nodes)
{
    source *s = &model->source;
    if (s->function_index || s->functions.count == 0)
        return;
    struct function_index *index = ARENA_NEW(&model->source_arena, struct function_index);
    uint32_t room = 16;
    while (room < 2 * (uint32_t)s->functions.count)
        room *= 2;
    index->mask = room - 1;
    index->slots = ARENA_ARRAY(&model->source_arena, int32_t, room);
    s->function_index = index;
    for (int32_t i = 0; i < s->functions.count; i++) {
        int32_t *slot = slot_of(s, s->functions.items[i].name, s->functions.items[i].domain);
        if (!*slot) /* Of two functions with one name, keeps the first. */
            *slot = i + 1;
    }
    check_size(model, most_nodes);
}
