/* tf_control.c: maps TensorFlow's calls, branches, loops and tensor lists.
 *
 * A tensor list becomes one tensor whose first dimension is the list index. A While with functions becomes a Loop:
 * unchanged carried values are read from outside, so that weights stay weights; the Loop stacks a list that the body
 * fills; the trip count is the limit that the condition compares a counter with. Old loops (Enter, Merge, Switch,
 * NextIteration, Exit) become the same. */
#include "front/tensorflow/tf.h"

static void map_call(tf_op *o, const char *attribute)
{
    str function = tf_attr_function(o->node, attribute);
    tf_inline(o->g, function, o->e->name, o->in, o->in_count, o->out, o->out_count);
}

/* ---- branches -------------------------------------------------------------------------------------------------- */

static graph *branch_of(tf_op *o, const char *attribute)
{
    builder *b = o->e->b;
    graph *g = ARENA_NEW(b->arena, graph);
    value_id *results = ARENA_ARRAY(b->arena, value_id, (size_t)o->out_count + 1);
    g->name = arena_str(b->arena, tf_attr_function(o->node, attribute));
    build_open(b, g, false);
    tf_inline(o->g, tf_attr_function(o->node, attribute), o->e->name, o->in + 1, o->in_count - 1, results,
              o->out_count);
    /* a function's result may be an outer value, but an output must belong to the graph */
    for (int i = 0; i < o->out_count; i++)
        build_output(b, results[i] == NO_VALUE ? emit_scalar(o->e, DT_FLOAT32, 0)
                                               : emit_1(o->e, "Identity", results[i], NO_VALUE));
    build_close(b);
    return g;
}

static void map_if(tf_op *o, const char *canonical)
{
    if (o->in_count < 1)
        return;
    graph *then_branch = branch_of(o, "then_branch"), *else_branch = branch_of(o, "else_branch");
    node *n = emit_many(o->e, canonical, o->in, 1, o->out, o->out_count);
    emit_graph(n, "then_branch", then_branch);
    emit_graph(n, "else_branch", else_branch);
}

/* ---- loops of both kinds ---------------------------------------------------------------------------------------- */

/* A loop that is about to be written; its body is in graph g. */
typedef struct loop {
    tf_op *o;
    tf_graph *g;
    int count; /* number of carried values */
    value_id *initial;
    tf_edge *results;    /* results of one round */
    int32_t *switches;   /* old loops: the node whose output 1 is the argument; NULL for functions */
    value_id *arguments; /* values that g reads, if the loop has functions */
    value_id trips;      /* trip count; NO_VALUE if unknown */
    value_id *finals;    /* receives the values after the last round */
} loop;

/* Returns which carried value an edge refers to, looking through Identities; -1 if none. */
static int carried_behind(const loop *l, tf_edge e)
{
    for (int steps = 0; steps < 16; steps++) {
        if (e.node < 0)
            return l->switches || e.output >= l->count ? -1 : e.output;
        const tf_node *n = &l->g->nodes[e.node];
        for (int i = 0; l->switches && i < l->count; i++)
            if (l->switches[i] == e.node)
                return i;
        if (!str_is(n->op, "Identity") || n->input_count != 1)
            return -1;
        e = tf_resolve(l->g, n->input_texts[0]);
    }
    return -1;
}

/* Returns the node that an edge refers to, looking through Identities; NULL for an argument. */
static const tf_node *node_behind(const tf_graph *g, tf_edge e)
{
    for (int steps = 0; steps < 16 && e.node >= 0; steps++) {
        const tf_node *n = &g->nodes[e.node];
        if (!str_is(n->op, "Identity") || n->input_count != 1)
            return n;
        e = tf_resolve(g, n->input_texts[0]);
    }
    return NULL;
}

typedef enum carried_kind { CARRIED, INVARIANT, FILLED_LIST } carried_kind;

/* How a round changes a carried value. *element is the value written into a list. */
static carried_kind kind_of(const loop *l, int i, tf_edge *element)
{
    const tf_node *maker = node_behind(l->g, l->results[i]);
    if (carried_behind(l, l->results[i]) == i)
        return INVARIANT;
    bool sets = maker && str_is(maker->op, "TensorListSetItem") && maker->input_count >= 3;
    bool pushes = maker && str_is(maker->op, "TensorListPushBack") && maker->input_count >= 2;
    bool writes = maker && str_is(maker->op, "TensorArrayWriteV3") && maker->input_count >= 4;
    if (!sets && !pushes && !writes)
        return CARRIED;
    if (carried_behind(l, tf_resolve(l->g, maker->input_texts[writes ? 3 : 0])) != i)
        return CARRIED;
    *element = tf_resolve(l->g, maker->input_texts[pushes ? 1 : 2]);
    return FILLED_LIST;
}

static value_id rows_of(emitter *e, value_id list)
{
    value_id shape = emit_1(e, "Shape", list, NO_VALUE);
    return emit_2(e, "Gather", shape, emit_list(e, (const int64_t[]){0}, 1), NO_VALUE);
}

/* Keeps as many of the stacked elements as the list has room for: all of them, or the last ones. */
static value_id take_last(emitter *e, value_id stacked, value_id list)
{
    value_id start = emit_1(e, "Neg", rows_of(e, list), NO_VALUE);
    value_id inputs[] = {stacked, start, emit_list(e, (const int64_t[]){INT64_MAX}, 1),
                         emit_list(e, (const int64_t[]){0}, 1)};
    return emit_op(e, "Slice", inputs, 4, NO_VALUE)->outputs[0];
}

static void set_argument(loop *l, int i, value_id v)
{
    if (l->arguments)
        l->arguments[i] = v;
    else if (l->g->nodes[l->switches[i]].output_count > 1)
        l->g->nodes[l->switches[i]].outputs[1] = v;
}

/* Adds a result to a body. A body's result must be made inside it. */
static void add_result(emitter *e, value_id v, value_id otherwise)
{
    build_output(e->b, emit_1(e, "Identity", v == NO_VALUE ? otherwise : v, NO_VALUE));
}

static void write_loop(loop *l)
{
    emitter *e = l->o->e;
    builder *b = e->b;
    size_t room = (size_t)l->count + 2;
    carried_kind *kinds = ARENA_ARRAY(b->arena, carried_kind, room);
    tf_edge *elements = ARENA_ARRAY(b->arena, tf_edge, room);
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, room), *outputs = ARENA_ARRAY(b->arena, value_id, room);
    graph *body = ARENA_NEW(b->arena, graph);
    inputs[0] = l->trips;
    inputs[1] = emit_scalar(e, DT_BOOL, 1);
    build_open(b, body, false);
    build_input(b, emit_temp(e));
    value_id condition = emit_temp(e);
    build_input(b, condition);
    int carried = 0, lists = 0;
    for (int i = 0; i < l->count; i++) {
        kinds[i] = kind_of(l, i, &elements[i]);
        set_argument(l, i, l->initial[i]);
        if (kinds[i] != CARRIED)
            continue;
        value_id v = emit_temp(e);
        build_input(b, v);
        set_argument(l, i, v);
        inputs[2 + carried++] = l->initial[i];
    }
    add_result(e, condition, condition);
    for (int i = 0; i < l->count; i++)
        if (kinds[i] != INVARIANT)
            tf_need(l->g, kinds[i] == CARRIED ? l->results[i] : elements[i]);
    for (int i = 0; i < l->count; i++)
        if (kinds[i] == CARRIED)
            add_result(e, tf_write(l->g, l->results[i]), l->initial[i]);
    for (int i = 0; i < l->count; i++)
        if (kinds[i] == FILLED_LIST) {
            add_result(e, tf_write(l->g, elements[i]), condition);
            lists++;
        }
    build_close(b);
    for (int i = 0; i < carried + lists; i++)
        outputs[i] = emit_temp(e);
    emit_graph(emit_many(e, "Loop", inputs, carried + 2, outputs, carried + lists), "body", body);
    for (int i = 0, c = 0, s = carried; i < l->count; i++)
        l->finals[i] = kinds[i] == CARRIED     ? outputs[c++]
                       : kinds[i] == INVARIANT ? l->initial[i]
                                               : take_last(e, outputs[s++], l->initial[i]);
}

/* Writes the number of rounds: limit - start. */
static value_id rounds_between(emitter *e, value_id start, value_id limit)
{
    start = emit_index(e, start);
    limit = emit_index(e, limit);
    return start == NO_VALUE || limit == NO_VALUE ? NO_VALUE : emit_2(e, "Sub", limit, start, NO_VALUE);
}

/* ---- While with functions ---------------------------------------------------------------------------------------- */

/* Returns the trip count if the condition is counter < limit; NO_VALUE otherwise. */
static value_id trip_count(tf_op *o)
{
    tf_function *f = tf_find_function(o->g->file, tf_attr_function(o->node, "cond"));
    tf_graph g;
    value_id result = NO_VALUE;
    if (!f)
        return NO_VALUE;
    tf_open_function(&g, o->g, f, o->e->name, o->in, o->in_count);
    loop l = {.o = o, .g = &g, .count = o->in_count};
    for (int32_t i = 0; i < g.count && result == NO_VALUE; i++) {
        const tf_node *n = &g.nodes[i];
        if (!str_is(n->op, "Less") || n->input_count != 2)
            continue;
        int counter = carried_behind(&l, tf_resolve(&g, n->input_texts[0]));
        tf_edge edge = tf_resolve(&g, n->input_texts[1]);
        const tf_node *constant = node_behind(&g, edge);
        int limit = carried_behind(&l, edge);
        if (counter >= 0 && (limit >= 0 || (constant && str_is(constant->op, "Const"))))
            result = rounds_between(o->e, tf_in(o, counter), limit >= 0 ? tf_in(o, limit) : tf_write(&g, edge));
    }
    tf_close_function(&g, f);
    return result;
}

static void map_while(tf_op *o, const char *unused)
{
    (void)unused;
    arena *a = o->e->b->arena;
    size_t room = (size_t)o->in_count + 1;
    tf_function *f = tf_find_function(o->g->file, tf_attr_function(o->node, "body"));
    if (!f || f->result_count < o->in_count || f->argument_count < o->in_count) {
        tf_foreign(o);
        return;
    }
    tf_graph g;
    loop l = {.o = o, .g = &g, .count = o->in_count};
    l.initial = arena_copy(a, o->in, (size_t)o->in_count, sizeof *o->in);
    l.results = ARENA_ARRAY(a, tf_edge, room);
    l.arguments = ARENA_ARRAY(a, value_id, room);
    l.finals = ARENA_ARRAY(a, value_id, room);
    l.trips = trip_count(o);
    tf_open_function(&g, o->g, f, o->e->name, l.arguments, o->in_count);
    for (int i = 0; i < l.count; i++)
        l.results[i] = tf_result(&g, i);
    write_loop(&l);
    tf_close_function(&g, f);
    for (int i = 0; i < o->out_count && i < l.count; i++)
        o->out[i] = l.finals[i];
}

/* ---- loops of TensorFlow 1: Enter → Merge → Switch → body → NextIteration → Merge; Switch → Exit ----------------- */

static const tf_node *input_node(const tf_graph *g, const tf_node *n, int i)
{
    return i < n->input_count ? node_behind(g, tf_resolve(g, n->input_texts[i])) : NULL;
}

/* Returns the Merge that feeds a Switch, if it belongs to the frame. */
static const tf_node *merge_of(const tf_graph *g, const tf_node *n, str frame)
{
    const tf_node *merge = n && str_is(n->op, "Switch") ? input_node(g, n, 0) : NULL;
    if (!merge || !str_is(merge->op, "Merge") || merge->input_count != 2)
        return NULL;
    const tf_node *enter = input_node(g, merge, 0), *next = input_node(g, merge, 1);
    bool is_loop = enter && next && str_is(enter->op, "Enter") && str_is(next->op, "NextIteration");
    return is_loop && (!frame.ptr || str_eq(tf_attr_text(enter, "frame_name"), frame)) ? merge : NULL;
}

static value_id value_of(const tf_node *n)
{
    return n && n->is_written && n->output_count ? n->outputs[0] : NO_VALUE;
}

/* Matches counter < limit, where the counter is a Merge of the frame and the limit is from outside. */
static value_id frame_trips(tf_op *o, loop *l, const tf_node *condition)
{
    tf_graph *g = l->g;
    const tf_node *less = input_node(g, condition, 0);
    for (int depth = 0; less && str_is(less->op, "LogicalAnd") && depth < 4; depth++)
        less = input_node(g, less, 0);
    if (!less || !str_is(less->op, "Less"))
        return NO_VALUE;
    const tf_node *counter = input_node(g, less, 0), *limit = input_node(g, less, 1);
    if (limit && str_is(limit->op, "Merge"))
        limit = input_node(g, limit, 0);
    if (!counter || !str_is(counter->op, "Merge") || !limit)
        return NO_VALUE;
    return rounds_between(o->e, value_of(input_node(g, counter, 0)), value_of(limit));
}

/* The first Exit of a frame writes the loop. Other Exits find their results in the first outputs of the Switches. */
static void map_exit(tf_op *o, const char *canonical)
{
    tf_graph *g = o->g;
    arena *a = o->e->b->arena;
    const tf_node *own_switch = input_node(g, o->node, 0), *own = merge_of(g, own_switch, (str){0});
    if (!own || own_switch->is_final) {
        emit_1(o->e, canonical, tf_in(o, 0), tf_out(o, 0));
        return;
    }
    str frame = tf_attr_text(input_node(g, own, 0), "frame_name");
    loop l = {.o = o, .g = g};
    for (int32_t i = 0; i < g->count; i++)
        l.count += merge_of(g, &g->nodes[i], frame) != NULL;
    size_t room = (size_t)l.count + 1;
    l.initial = ARENA_ARRAY(a, value_id, room);
    l.results = ARENA_ARRAY(a, tf_edge, room);
    l.switches = ARENA_ARRAY(a, int32_t, room);
    l.finals = ARENA_ARRAY(a, value_id, room);
    l.count = 0;
    for (int32_t i = 0; i < g->count; i++) {
        const tf_node *merge = merge_of(g, &g->nodes[i], frame);
        if (!merge)
            continue;
        tf_edge data = {i, 1};
        tf_need(g, data);
        const tf_node *enter = input_node(g, merge, 0);
        l.switches[l.count] = i;
        l.results[l.count] = tf_resolve(g, input_node(g, merge, 1)->input_texts[0]);
        tf_write(g, data);
        l.initial[l.count++] = value_of(enter);
    }
    for (int32_t i = 0; i < g->count; i++) /* writes the outer values that the body reads before the loop */
        if (str_is(g->nodes[i].op, "Enter") && str_eq(tf_attr_text(&g->nodes[i], "frame_name"), frame))
            tf_write(g, (tf_edge){i, 0});
    const tf_node *condition = input_node(g, own_switch, 1);
    l.trips = condition && str_is(condition->op, "LoopCond") ? frame_trips(o, &l, condition) : NO_VALUE;
    write_loop(&l);
    for (int i = 0; i < l.count; i++) {
        tf_node *s = &g->nodes[l.switches[i]];
        s->is_final = true;
        s->outputs[0] = l.finals[i];
        if (s == own_switch)
            emit_1(o->e, canonical, l.finals[i], tf_out(o, 0));
    }
}

/* ---- control flow of TensorFlow 1 ------------------------------------------------------------------------------ */

static void map_pass(tf_op *o, const char *canonical)
{
    value_id x = tf_in(o, 0);
    for (int i = 0; i < o->out_count; i++)
        emit_1(o->e, canonical, x, tf_out(o, i));
}

/* Outputs the first available input; output 1 is its index. */
static void map_merge(tf_op *o, const char *canonical)
{
    value_id x = NO_VALUE;
    for (int i = o->in_count - 1; i >= 0; i--)
        x = tf_in(o, i) != NO_VALUE ? tf_in(o, i) : x;
    emit_1(o->e, canonical, x, tf_out(o, 0));
    if (o->out_count > 1)
        emit_1(o->e, canonical, emit_scalar(o->e, DT_INT32, 0), tf_out(o, 1));
}

static void map_enter(tf_op *o, const char *canonical)
{
    const tensor *t = emit_constant_of(o->e, tf_in(o, 0));
    if (t) { /* keeps weights as weights, and the name for lookups */
        build_constant(o->e->b, tf_out(o, 0), t);
        o->out[0] = tf_in(o, 0);
    } else {
        emit_1(o->e, canonical, tf_in(o, 0), tf_out(o, 0));
    }
}

/* ---- lists of tensors ------------------------------------------------------------------------------------------ */

/* A list with room for `count` elements; only its length matters. */
static void map_reserve(tf_op *o, const char *unused)
{
    (void)unused;
    value_id count = emit_index_list(o->e, tf_in(o, 1));
    emit_2(o->e, "Expand", emit_scalar(o->e, tf_attr_type(o->node, "element_dtype"), 0), count, tf_out(o, 0));
}

static void map_list_get(tf_op *o, const char *unused)
{
    (void)unused;
    emit_int(emit_op(o->e, "Gather", (const value_id[]){tf_in(o, 0), tf_in(o, 1)}, 2, tf_out(o, 0)), "axis", 0);
}

/* Sets an element (list, index, element): the list gets the element's shape. */
static void map_list_set(tf_op *o, const char *unused)
{
    (void)unused;
    emitter *e = o->e;
    value_id parts[] = {rows_of(e, tf_in(o, 0)), emit_1(e, "Shape", tf_in(o, 2), NO_VALUE)};
    node *shape = emit_op(e, "Concat", parts, 2, NO_VALUE);
    emit_int(shape, "axis", 0);
    emit_2(e, "Expand", tf_in(o, 2), shape->outputs[0], tf_out(o, 0));
}

/* ---- arrays of tensors of TensorFlow 1 --------------------------------------------------------------------------- */

/* Names the flow value, which stands for the array. A lookup of its name gives a number. */
static void name_flow(tf_op *o, int i, value_id array)
{
    build_constant(o->e->b, tf_out(o, i), emit_constant_of(o->e, emit_scalar(o->e, DT_FLOAT32, 0)));
    build_at(o->e->b, tf_out(o, i))->is_constant_node = true;
    o->out[i] = array;
}

static void map_array(tf_op *o, const char *unused)
{
    (void)unused;
    value_id zero = emit_scalar(o->e, tf_attr_type(o->node, "dtype"), 0);
    value_id array = emit_2(o->e, "Expand", zero, emit_index_list(o->e, tf_in(o, 0)), NO_VALUE);
    for (int i = 0; i < o->out_count; i++)
        name_flow(o, i, array);
}

static void map_array_scatter(tf_op *o, const char *unused)
{
    (void)unused;
    name_flow(o, 0, tf_in(o, 2));
}

static void map_array_write(tf_op *o, const char *unused)
{
    (void)unused;
    emitter *e = o->e;
    value_id parts[] = {rows_of(e, tf_in(o, 3)), emit_1(e, "Shape", tf_in(o, 2), NO_VALUE)};
    node *shape = emit_op(e, "Concat", parts, 2, NO_VALUE);
    emit_int(shape, "axis", 0);
    name_flow(o, 0, emit_2(e, "Expand", tf_in(o, 2), shape->outputs[0], NO_VALUE));
}

/* Inputs: handle, index or indices, flow. */
static void map_array_read(tf_op *o, const char *unused)
{
    (void)unused;
    emit_int(emit_op(o->e, "Gather", (const value_id[]){tf_in(o, 2), tf_in(o, 1)}, 2, tf_out(o, 0)), "axis", 0);
}

static void map_array_size(tf_op *o, const char *unused)
{
    (void)unused;
    value_id count = emit_squeeze(o->e, rows_of(o->e, tf_in(o, 1)), (const int64_t[]){0}, 1, NO_VALUE);
    emit_cast(o->e, count, DT_INT32, tf_out(o, 0));
}

static const tf_row ROWS[] = {
    {"Enter", map_enter, "Identity"},
    {"Exit", map_exit, "Identity"},
    {"If", map_if, "If"},
    {"LoopCond", map_pass, "Identity"},
    {"Merge", map_merge, "Identity"},
    {"NextIteration", map_pass, "Identity"},
    {"PartitionedCall", map_call, "f"},
    {"RefEnter", map_enter, "Identity"},
    {"RefSwitch", map_pass, "Identity"},
    {"StatefulPartitionedCall", map_call, "f"},
    {"StatelessIf", map_if, "If"},
    {"StatelessWhile", map_while, NULL},
    {"Switch", map_pass, "Identity"},
    {"TensorArrayGatherV3", map_array_read, NULL},
    {"TensorArrayReadV3", map_array_read, NULL},
    {"TensorArrayScatterV3", map_array_scatter, NULL},
    {"TensorArraySizeV3", map_array_size, NULL},
    {"TensorArrayV3", map_array, NULL},
    {"TensorArrayWriteV3", map_array_write, NULL},
    {"TensorListFromTensor", map_pass, "Identity"},
    {"TensorListGetItem", map_list_get, NULL},
    {"TensorListReserve", map_reserve, NULL},
    {"TensorListSetItem", map_list_set, NULL},
    {"TensorListStack", map_pass, "Identity"},
    {"While", map_while, NULL},
};

const tf_row *tf_rows_control(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
