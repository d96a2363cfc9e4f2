/* mxnet.c: reads MXNet symbols (-symbol.json). Operators are in mxnet_ops.c.
 *
 *   {"nodes": [{"op": "null" | operator, "name", "attrs": {name: text}, "inputs": [[node, output, version]…]}…],
 *    "arg_nodes": [node…], "heads": [[node, output, version]…], "attrs": {"mxnet_version": ["int", 10901]}}
 *
 * Nodes read earlier nodes. Those of op "null" are inputs and weights: a weight is where its operator expects one.
 * Older versions have "attr" and "param" instead of "attrs". Shapes are missing: images of 3 x 224 x 224 are assumed
 * (299, 112, 512 or 32 if operators complain), or 128 tokens (384 …); weights follow from them. */
#include "front/mxnet/mxnet.h"
#include "front/front.h"

#include <stdlib.h>

enum { MAX_NODES = 1 << 20, TOKENS = 128 };

typedef struct mxnet {
    mxnet_node *nodes;
    int32_t count;
    mxnet_source *heads;
    int32_t head_count;
    grow_guesses guesses;
} mxnet;

bool mxnet_sniff(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    str all = {(const char *)bytes, size}, head = {(const char *)bytes, size < 65536 ? size : 65536};
    return i < size && bytes[i] == '{' && str_contains(head, "\"op\"") && str_contains(head, "\"inputs\"") &&
           str_contains(all, "\"arg_nodes\"");
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

str mxnet_text(const mxnet_node *n, const char *name)
{
    return json_text(json_get(n->attrs, name));
}

int mxnet_ints(str text, int64_t *to, int room)
{
    int count = 0;
    for (size_t i = 0; i < text.len;) {
        char c = text.ptr[i], number[32];
        size_t length = 0;
        if (c == '(' || c == '[' || c == ')' || c == ']' || c == ',' || c == ' ' || c == 'L') {
            i++;
            continue;
        }
        if (str_starts((str){text.ptr + i, text.len - i}, "None")) {
            if (count < room)
                to[count++] = INT64_MIN;
            i += 4;
            continue;
        }
        while (i < text.len && length + 1 < sizeof number &&
               ((text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '-' || text.ptr[i] == '.' ||
                text.ptr[i] == 'e' || text.ptr[i] == '+'))
            number[length++] = text.ptr[i++];
        if (length == 0)
            return -1;
        number[length] = '\0';
        if (count < room)
            to[count++] = strtoll(number, NULL, 10);
    }
    return count;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static mxnet_source read_source(builder *b, const json_node *n, int32_t before)
{
    int64_t node = json_int(json_is(n, JSON_ARRAY) ? json_at(n, 0) : n, -1), output = json_int(json_at(n, 1), 0);
    if (node < 0 || node >= before || output < 0 || output >= MXNET_MAX_OUTPUTS)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "node %lld is read, but it does not come before its reader, node %d; save the symbol again",
                  (long long)node, before);
    return (mxnet_source){(int32_t)node, (int32_t)output};
}

static void read_node(builder *b, mxnet *m, const json_node *from, int32_t index)
{
    mxnet_node *n = &m->nodes[index];
    const json_node *inputs = json_get(from, "inputs");
    *n = (mxnet_node){.op = json_text(json_get(from, "op")), .input = NO_VALUE, .output_count = 1, .reader = -1};
    n->name = json_decoded(json_get(from, "name"), b->arena);
    if (n->name.len == 0)
        n->name = arena_printf(b->arena, "node_%d", index);
    if (n->op.len == 0)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "node %d has no operator; save the symbol again", index);
    static const char *const NAMES[] = {"attrs", "attr", "param"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !json_first(n->attrs); i++)
        n->attrs = json_get(from, NAMES[i]);
    if (json_is(inputs, JSON_ARRAY) && inputs->count > MXNET_MAX_INPUTS)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "node %d has more than %d inputs", index, MXNET_MAX_INPUTS);
    n->inputs = ARENA_ARRAY(b->arena, mxnet_source, json_is(inputs, JSON_ARRAY) ? (size_t)inputs->count : 0);
    int first_weight = mxnet_first_weight(n->op);
    for (const json_node *x = json_first(inputs); x; x = x->next) {
        mxnet_source s = read_source(b, x, index);
        mxnet_node *other = &m->nodes[s.node];
        other->output_count = s.output >= other->output_count ? s.output + 1 : other->output_count;
        other->is_weight |= n->input_count >= first_weight;
        other->is_length |= n->input_count == 1 && str_is(n->op, "SequenceMask");
        if (other->reader < 0) {
            other->reader = index;
            other->place = n->input_count;
        }
        n->inputs[n->input_count++] = s;
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Returns the first operator that reads the input, looking through casts and copies. */
static const mxnet_node *first_reader(const mxnet *m, const mxnet_node *n, int *place)
{
    while (n->reader >= 0) {
        const mxnet_node *reader = &m->nodes[n->reader];
        *place = n->place;
        if (!str_is(reader->op, "Cast") && !str_is(reader->op, "cast") && !str_is(reader->op, "_copy") &&
            !str_is(reader->op, "identity"))
            return reader;
        n = reader;
    }
    return NULL;
}

/* Returns the shape in the file of a node with op "null", if it is complete: 0, -1 and None (INT64_MIN) are open. */
static int known_shape(const builder *b, const mxnet_node *n, int64_t *dims)
{
    bool is_open = false;
    int rank = mxnet_ints(mxnet_text(n, "__shape__"), dims, MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if ((dims[i] < -1 && dims[i] != INT64_MIN) || dims[i] > MXNET_MAX_SIZE)
            fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                      "'__shape__' of node '%.*s' has a dimension of %lld; save the symbol again", STR_ARG(n->name),
                      (long long)dims[i]);
        is_open = is_open || dims[i] < 1;
    }
    return rank > 0 && !is_open ? rank : -1;
}

/* True for parameters made by MXNet's layers, which have learning rate factors; inputs do not. */
static bool is_input(const mxnet_node *n)
{
    return str_is(n->op, "null") && !n->is_weight && !mxnet_text(n, "__lr_mult__").len &&
           !mxnet_text(n, "__init__").len;
}

static void add_input(builder *b, mxnet *m, mxnet_node *n)
{
    int64_t dims[MAX_RANK];
    int place = 0, rank = known_shape(b, n, dims);
    const mxnet_node *reader = first_reader(m, n, &place);
    bool is_label = str_ends(n->name, "label") || (reader && place > 0 && str_contains(reader->op, "Output"));
    if (rank > 0) {
        n->input = grow_input(b, n->name, DT_FLOAT32, rank, dims);
    } else if (is_label || n->is_length) {
        n->input = grow_input(b, n->name, DT_FLOAT32, 1, (const num[]){1});
    } else if (reader && (str_is(reader->op, "Embedding") || str_is(reader->op, "take"))) {
        n->input = grow_guess_input(b, &m->guesses, n->name, 2, (const num[]){1, TOKENS});
    } else {
        n->input = grow_guess_input(b, &m->guesses, n->name, 4, (const num[]){1, 3, 224, 224});
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Returns a constant whose shape is in the file; NO_VALUE if the reading operator decides the shape. */
static value_id constant_of(grower *g, const mxnet_node *n)
{
    int64_t dims[MAX_RANK];
    int rank = n->is_weight ? -1 : known_shape(&g->b, n, dims);
    return rank > 0 ? emit_weight(&g->e, n->name, DT_FLOAT32, rank, dims) : NO_VALUE;
}

static value_id *outputs_of(grower *g, const mxnet_node *n)
{
    value_id *outs = ARENA_ARRAY(g->b.arena, value_id, (size_t)n->output_count);
    for (int i = 0; i < n->output_count; i++)
        outs[i] = grow_value(g, n->output_count == 1 ? arena_printf(g->b.arena, "%.*s_output", STR_ARG(n->name))
                                                     : arena_printf(g->b.arena, "%.*s_output%d", STR_ARG(n->name), i));
    return outs;
}

static void write_network(grower *g, void *program)
{
    mxnet *m = program;
    value_id in[MXNET_MAX_INPUTS];
    str given[MXNET_MAX_INPUTS];
    grow_guess_notes(g, &m->guesses);
    for (int32_t i = 0; i < m->count; i++) {
        mxnet_node *n = &m->nodes[i];
        if (str_is(n->op, "null")) {
            n->outputs = ARENA_ARRAY(g->b.arena, value_id, (size_t)n->output_count);
            for (int k = 0; k < n->output_count; k++)
                n->outputs[k] = n->input != NO_VALUE ? n->input : constant_of(g, n);
            continue;
        }
        g->e.name = n->name;
        g->given_count = 0;
        g->given = given;
        for (int k = 0; k < n->input_count; k++) {
            const mxnet_node *from = &m->nodes[n->inputs[k].node];
            in[k] = from->outputs[n->inputs[k].output];
            if (k >= mxnet_first_weight(n->op))
                given[g->given_count++] = str_is(from->op, "null") ? from->name : (str){0};
            else if (in[k] == NO_VALUE) /* a weight that exists already */
                in[k] = build_local(&g->b, from->name);
        }
        n->outputs = outputs_of(g, n);
        mxnet_write(&(mxnet_call){.g = g,
                                  .e = &g->e,
                                  .node = n,
                                  .in = in,
                                  .in_count = n->input_count,
                                  .x = n->input_count ? in[0] : NO_VALUE,
                                  .out = n->outputs[0],
                                  .outs = n->outputs,
                                  .out_count = n->output_count});
    }
    for (int32_t i = 0; i < m->head_count; i++) {
        const mxnet_node *head = &m->nodes[m->heads[i].node];
        value_id v = head->outputs[m->heads[i].output];
        /* a weight exists only after an operator made it */
        grow_output(g, v == NO_VALUE ? build_local(&g->b, head->name) : v);
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void mxnet_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    const json_node *root = json_read((str){(const char *)bytes, size}, "the file", b->arena, f);
    const json_node *nodes = json_get(root, "nodes"), *heads = json_get(root, "heads"),
                    *attrs = json_get(root, "attrs");
    mxnet *m = ARENA_NEW(b->arena, mxnet);
    if (!json_is(nodes, JSON_ARRAY) || nodes->count == 0 || nodes->count > MAX_NODES)
        fail_with(f, SOOTH_ERROR_INPUT, "the symbol has no nodes; save it again");
    m->nodes = ARENA_ARRAY(b->arena, mxnet_node, (size_t)nodes->count);
    for (const json_node *n = json_first(nodes); n; n = n->next)
        read_node(b, m, n, m->count++);
    m->heads = ARENA_ARRAY(b->arena, mxnet_source, json_is(heads, JSON_ARRAY) ? (size_t)heads->count : 0);
    for (const json_node *n = json_first(heads); n; n = n->next) {
        mxnet_source s = m->heads[m->head_count++] = read_source(b, n, m->count);
        mxnet_node *from = &m->nodes[s.node];
        from->output_count = s.output >= from->output_count ? s.output + 1 : from->output_count;
    }
    grow_begin(b, "mxnet");
    int64_t version = json_int(json_at(json_get(attrs, "mxnet_version"), 1), 0);
    if (version > 0)
        b->source->producer = arena_printf(b->arena, "mxnet %lld.%lld.%lld", (long long)(version / 10000),
                                           (long long)(version / 100 % 100), (long long)(version % 100));
    for (int32_t i = 0; i < m->count; i++)
        if (is_input(&m->nodes[i]))
            add_input(b, m, &m->nodes[i]);
    grow_layers(b, write_network, m);
    grow_guess_sizes(b, &m->guesses);
}
