/* control.c: inlines the bodies of If, Loop, Scan and SequenceMap, so that the network is one flat list of nodes.
 *
 * An If with a known condition gives one branch, otherwise both. A loop body appears once with a repeat count, or is
 * unrolled if shapes change between rounds. */
#include "base/nesting.h"
#include "graph/infer.h"

enum { MAX_UNROLLED_ROUNDS = 256 };

typedef struct control {
    sooth_model *model;
    network *net;
    const node *node; /* Node of the source. */
    const scope *scope;
} control;

static value *value_of(const control *c, value_id id)
{
    return id == NO_VALUE ? NULL : &c->net->values.items[id];
}

/* Returns the id in the network of input or output i of the control node. */
static value_id input_id(const control *c, int i)
{
    return i < c->node->input_count ? scope_value(c->scope, c->node->inputs[i]) : NO_VALUE;
}

static value_id output_id(const control *c, int i)
{
    return i < c->node->output_count ? scope_value(c->scope, c->node->outputs[i]) : NO_VALUE;
}

static const graph *body_of(const control *c, const char *name)
{
    const attr *a = node_attr(c->node, name);
    return a && a->kind == ATTR_GRAPH ? a->graph : NULL;
}

static scope inner_scope(const control *c, int64_t rounds)
{
    scope s = {.outer = c->scope, .repeat = c->scope->repeat, .depth = c->scope->depth + 1};
    if (s.depth > MAX_NESTING)
        fail_with(&c->model->fail, SOOTH_ERROR_INPUT, "control flow is nested more than %d levels deep, at node '%.*s'",
                  MAX_NESTING, STR_ARG(c->node->name));
    if (__builtin_mul_overflow(s.repeat, rounds, &s.repeat))
        s.repeat = INT64_MAX; /* The count overflows; cost.c reports that if the node has a cost. */
    return s;
}

static void note(const control *c, const char *what)
{
    network_note(c->net, "node '%.*s' (%.*s): %s", STR_ARG(c->node->name), STR_ARG(c->node->type), what);
}

/* Copies type and shape from one value to another, and with `with_data` its folded data. */
static void copy_value(const control *c, value_id to, value_id from, bool with_data)
{
    value *t = value_of(c, to);
    const value *f = value_of(c, from);
    if (!t || !f || t == f)
        return;
    t->kind = f->kind;
    t->dtype = f->dtype;
    t->rank = f->rank;
    t->dims = f->dims;
    t->elements = with_data ? f->elements : NULL;
    t->element_count = with_data ? f->element_count : f->kind == VALUE_TENSOR ? 0 : -1;
    t->ints = with_data ? f->ints : NULL;
    t->reals = with_data ? f->reals : NULL;
    t->tensor = with_data ? f->tensor : NULL;
}

/* Appends an Identity between two network values, so that readers of the output find its producer. */
static void append_identity(const control *c, value_id from, value_id to)
{
    if (to == NO_VALUE || from == NO_VALUE)
        return;
    value_id *ids = ARENA_ARRAY(c->net->arena, value_id, 2); /* Not a local array, because the network keeps it. */
    ids[0] = from;
    ids[1] = to;
    node n = {.type = STR("Identity"),
              .domain = STR(""),
              .name = c->node->name,
              .opset = c->node->opset,
              .input_count = 1,
              .output_count = 1,
              .inputs = &ids[0],
              .outputs = &ids[1],
              .repeat = 1,
              .fused_count = 1};
    n.op = ops_find(c->model->ops, n.domain, n.type);
    scope plain = {.repeat = c->scope->repeat};
    infer_append(c->model, &n, &plain);
    copy_value(c, to, from, true);
}

static bool scalar_value(const control *c, value_id id, num *x)
{
    value *v = value_of(c, id);
    int32_t count;
    const num *ints = v ? value_ints(c->net, v, &count) : NULL;
    if (!ints || count != 1)
        return false;
    *x = ints[0];
    return true;
}

/* Keeps in `to` only the dimensions in which both shapes agree. */
static void merge_shape(const control *c, value_id to, value_id other)
{
    value *t = value_of(c, to);
    const value *o = value_of(c, other);
    if (!t || !o)
        return;
    t->ints = NULL;
    t->reals = NULL;
    t->tensor = NULL;
    if (t->dtype != o->dtype)
        t->dtype = DT_UNKNOWN;
    if (t->elements != o->elements || t->element_count != o->element_count) {
        t->elements = NULL;
        t->element_count = t->kind == VALUE_TENSOR ? 0 : -1;
    }
    if (t->rank != o->rank) {
        t->rank = RANK_UNKNOWN;
        return;
    }
    num *dims = ARENA_ARRAY(c->net->arena, num, (size_t)(t->rank > 0 ? t->rank : 0));
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->dims[i] == o->dims[i] ? t->dims[i] : NUM_UNKNOWN;
    t->dims = dims;
}

/* Adds inputs to the newest node. */
static void add_inputs(const control *c, const value_id *ids, int32_t count)
{
    node *n = &c->net->nodes.items[c->net->nodes.count - 1];
    value_id *inputs = ARENA_ARRAY(c->net->arena, value_id, (size_t)n->input_count + (size_t)count);
    if (n->input_count)
        memcpy(inputs, n->inputs, (size_t)n->input_count * sizeof *inputs);
    if (count)
        memcpy(inputs + n->input_count, ids, (size_t)count * sizeof *ids);
    n->inputs = inputs;
    n->input_count += count;
}

static void read_outputs(const control *c, const graph *body, const scope *s)
{
    value_id *ids = ARENA_ARRAY(c->net->arena, value_id, (size_t)body->outputs.count);
    for (int32_t i = 0; i < body->outputs.count; i++)
        ids[i] = scope_value(s, body->outputs.items[i]);
    add_inputs(c, ids, body->outputs.count);
}

/* Appends the control node, which produces the results. It reads its bodies' outputs, so that they count as used. */
static void append_result(const control *c, const graph *body, const scope *s)
{
    infer_append(c->model, c->node, c->scope);
    read_outputs(c, body, s);
}

/* ---- If -------------------------------------------------------------------------------------------------------- */

static void expand_if(const control *c)
{
    const graph *branches[2] = {body_of(c, "else_branch"), body_of(c, "then_branch")};
    num condition = NUM_UNKNOWN;
    bool decided = scalar_value(c, input_id(c, 0), &condition) && num_known(condition);
    scope inner = inner_scope(c, 1);
    for (int side = 1; side >= 0; side--) {
        const graph *g = branches[side];
        if (!g || (decided && (condition != 0) != side))
            continue;
        infer_nodes(c->model, g, &inner);
        for (int32_t i = 0; decided && i < g->outputs.count; i++)
            append_identity(c, scope_value(&inner, g->outputs.items[i]), output_id(c, i));
    }
    if (decided || !branches[0] || !branches[1])
        return;
    note(c, "the branch depends on data; both branches are listed and counted");
    append_result(c, branches[1], &inner);
    read_outputs(c, branches[0], &inner);
    for (int32_t i = 0; i < c->node->output_count && i < branches[1]->outputs.count && i < branches[0]->outputs.count;
         i++) {
        copy_value(c, output_id(c, i), scope_value(&inner, branches[1]->outputs.items[i]), true);
        merge_shape(c, output_id(c, i), scope_value(&inner, branches[0]->outputs.items[i]));
    }
}

/* ---- Loop ------------------------------------------------------------------------------------------------------ */

typedef struct loop {
    const graph *body;
    int carried;    /* Number of loop-carried values: body inputs from index 2 on, body outputs from index 1 on. */
    num trip_count; /* NUM_UNKNOWN if it depends on data. */
} loop;

static bool same_shape(const value *a, const value *b)
{
    if (a->rank != b->rank || a->dtype != b->dtype || a->element_count != b->element_count)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return a->elements == b->elements;
}

static bool is_constant_true(const control *c, value_id id)
{
    num x;
    return id == NO_VALUE || (scalar_value(c, id, &x) && num_known(x) && x != 0);
}

/* Binds the body's inputs for one round. */
static void start_round(const control *c, const loop *l, const scope *s, num round, const value_id *carried)
{
    const graph *g = l->body;
    for (int32_t i = 0; i < g->inputs.count; i++) {
        value_id id = scope_value(s, g->inputs.items[i]);
        value *v = value_of(c, id);
        if (i >= 2) {
            if (i - 2 < l->carried)
                copy_value(c, id, carried[i - 2], round >= 0);
            continue;
        }
        v->dtype = i == 0 ? DT_INT64 : DT_BOOL;
        v->rank = 0;
        v->dims = ARENA_ARRAY(c->net->arena, num, 0);
        num known = i == 0 ? round : 1;
        v->ints = round >= 0 ? arena_copy(c->net->arena, &known, 1, sizeof known) : NULL;
    }
}

static value_id body_output(const loop *l, const scope *s, int i)
{
    return i < l->body->outputs.count ? scope_value(s, l->body->outputs.items[i]) : NO_VALUE;
}

/* Runs the body once for all rounds; false if a carried shape changes between the first and the second round. */
static bool run_uniform(const control *c, const loop *l, value_id *carried)
{
    scope s = inner_scope(c, dim_known(l->trip_count) ? l->trip_count : 1);
    start_round(c, l, &s, NUM_UNKNOWN, carried);
    infer_nodes(c->model, l->body, &s);
    bool same = true;
    for (int i = 0; i < l->carried; i++) {
        value_id now = body_output(l, &s, 1 + i);
        const value *v = value_of(c, now), *was = value_of(c, carried[i]);
        /* A sequence may change its length, and shapes of its elements do not matter. */
        same &= v && was && (same_shape(v, was) || (v->rank == RANK_UNKNOWN && v->kind != VALUE_SEQUENCE));
    }
    return same;
}

/* A copy of a carried value, so that inference inside the loop does not change the value outside. */
static value_id own_carried(const control *c, value_id carried)
{
    value copy = carried == NO_VALUE ? (value){.name = STR(""), .rank = RANK_UNKNOWN} : *value_of(c, carried);
    copy.is_declared = false;
    copy.is_initializer = false;
    copy.producer = NO_NODE;
    copy.ints = NULL;
    copy.reals = NULL;
    copy.tensor = NULL;
    *(value *)ARENA_PUSH(c->net->arena, &c->net->values) = copy;
    return c->net->values.count - 1;
}

/* Makes dimensions that change between rounds unknown. */
static void widen_carried(const control *c, const loop *l, value_id *carried)
{
    scope s = inner_scope(c, 1);
    for (int i = 0; i < l->carried; i++) {
        carried[i] = own_carried(c, carried[i]);
        merge_shape(c, carried[i], body_output(l, &s, 1 + i));
    }
}

static void forget_shapes(const control *c, const loop *l, value_id *carried)
{
    for (int i = 0; i < l->carried; i++) {
        carried[i] = own_carried(c, carried[i]);
        value_of(c, carried[i])->rank = RANK_UNKNOWN;
        value_of(c, carried[i])->elements = NULL;
        value_of(c, carried[i])->element_count = value_of(c, carried[i])->kind == VALUE_TENSOR ? 0 : -1;
    }
}

static void set_scan_output(const control *c, value_id to, value_id element, num rounds, int axis)
{
    value *t = value_of(c, to);
    const value *e = value_of(c, element);
    if (!t || !e)
        return;
    t->dtype = e->dtype;
    if (e->rank < 0 || e->rank >= MAX_RANK)
        return;
    int rank = e->rank + 1;
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis >= rank)
        return;
    num *dims = ARENA_ARRAY(c->net->arena, num, (size_t)rank);
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? rounds : e->dims[i - (i > axis)];
    t->rank = (int8_t)rank;
    t->dims = dims;
}

static void finish_loop(const control *c, const loop *l, const scope *s, const value_id *final, bool unrolled)
{
    append_result(c, l->body, s);
    for (int32_t i = 0; i < c->node->output_count; i++) {
        if (i < l->carried)
            copy_value(c, output_id(c, i), final[i], unrolled);
        else
            set_scan_output(c, output_id(c, i), body_output(l, s, 1 + i), l->trip_count, 0);
    }
}

/* Unrolls the loop with new values per round. Returns false if a round does not determine whether another follows; the
 * caller then drops the nodes. */
static bool unroll(const control *c, const loop *l, const value_id *initial)
{
    scope s = inner_scope(c, 1);
    s.first = l->body->first_value;
    s.end = l->body->end_value;
    loop counted = *l;
    value_id *carried = arena_copy(c->net->arena, initial, (size_t)l->carried, sizeof *initial);
    num round = 0, go_on = 1;
    id_list scanned = {0};
    for (; round < l->trip_count && go_on; round++) {
        s.map = scope_fresh_values(c->model, l->body,
                                   arena_printf(c->net->arena, "%.*s.%lld", STR_ARG(c->node->name), (long long)round));
        start_round(c, l, &s, round, carried);
        infer_nodes(c->model, l->body, &s);
        for (int i = 0; i < l->carried; i++)
            carried[i] = body_output(l, &s, 1 + i);
        for (int32_t i = 1 + l->carried; i < l->body->outputs.count; i++)
            *(int32_t *)ARENA_PUSH(c->net->arena, &scanned) = body_output(l, &s, i);
        if (!scalar_value(c, body_output(l, &s, 0), &go_on) || !num_known(go_on))
            return false;
    }
    counted.trip_count = round;
    finish_loop(c, &counted, &s, carried, true);
    add_inputs(c, scanned.items, scanned.count);
    return true;
}

/* Resets the repeat count to one, because the trip count depends on data after all. */
static void count_once(const control *c, int32_t first_node, num rounds)
{
    /* Divides by the factor that was applied, because the product may have been clamped: exporters write 2^63 - 1
     * rounds for "until it ends". */
    int64_t factor = c->scope->repeat > 0 ? inner_scope(c, rounds).repeat / c->scope->repeat : 1;
    for (int32_t i = first_node; rounds > 1 && i < c->net->nodes.count; i++) {
        int64_t all = c->net->nodes.items[i].repeat, once = all / factor;
        c->net->nodes.items[i].repeat = once > 0 || all == 0 ? once : 1;
    }
}

/* True if the body runs until the trip count is reached: its condition is always true or passed through. */
static bool goes_on(const control *c, const loop *l, const scope *s)
{
    value_id given = scope_value(s, l->body->inputs.items[1]), result = body_output(l, s, 0);
    return is_constant_true(c, input_id(c, 1)) &&
           (is_constant_true(c, result) || result == given || value_of(c, result)->copied_from == given);
}

static void expand_loop(const control *c)
{
    /* Loops nested more deeply are not retried, because retries multiply. */
    enum { MAX_RETRIED_DEPTH = 3 };
    loop l = {.body = body_of(c, "body"), .carried = c->node->input_count - 2, .trip_count = NUM_UNKNOWN};
    if (!l.body || l.carried < 0 || l.body->inputs.count < 2 + l.carried || l.body->outputs.count < 1 + l.carried) {
        note(c, "its body does not match its inputs; nothing of it is counted");
        infer_append(c->model, c->node, c->scope);
        return;
    }
    bool may_retry = c->scope->depth < MAX_RETRIED_DEPTH;
    value_id *carried = ARENA_ARRAY(c->net->arena, value_id, (size_t)l.carried);
    for (int i = 0; i < l.carried; i++)
        carried[i] = input_id(c, 2 + i);
    num trips = NUM_UNKNOWN;
    bool limited = scalar_value(c, input_id(c, 0), &trips) && dim_known(trips);
    int32_t nodes_before = c->net->nodes.count;
    l.trip_count = limited ? trips : NUM_UNKNOWN;
    if (!may_retry)
        forget_shapes(c, &l, carried);
    bool uniform = run_uniform(c, &l, carried);
    scope s = inner_scope(c, 1);
    bool exact = limited && goes_on(c, &l, &s);
    if (limited && trips <= MAX_UNROLLED_ROUNDS && may_retry && (!uniform || !exact || trips == 1)) {
        c->net->nodes.count = nodes_before;
        if (unroll(c, &l, carried))
            return;
        c->net->nodes.count = nodes_before;
        run_uniform(c, &l, carried);
    }
    if (!uniform && may_retry) {
        c->net->nodes.count = nodes_before;
        widen_carried(c, &l, carried);
        if (!run_uniform(c, &l, carried))
            widen_carried(c, &l, carried);
    }
    if (!exact) {
        note(c, "its trip count depends on data; its body is counted once");
        if (limited)
            count_once(c, nodes_before, trips);
        l.trip_count = NUM_UNKNOWN;
    }
    value_id *final = ARENA_ARRAY(c->net->arena, value_id, (size_t)l.carried);
    for (int i = 0; i < l.carried; i++)
        final[i] = uniform ? body_output(&l, &s, 1 + i) : carried[i];
    finish_loop(c, &l, &s, final, false);
}

/* ---- Scan ------------------------------------------------------------------------------------------------------ */

static int64_t axis_at(const control *c, const char *name, int i)
{
    int32_t count;
    const int64_t *axes = node_attr_ints(c->node, name, &count);
    return axes && i < count ? axes[i] : 0;
}

/* Before operator set 9, Scan has a leading batch dimension and the sequence lengths as its first input. */
static void expand_scan(const control *c)
{
    const graph *g = body_of(c, "body");
    bool batched = c->node->opset < 9;
    int first = batched ? 1 : 0;
    int64_t scans = node_attr_int(c->node, "num_scan_inputs", 0);
    int64_t states = c->node->input_count - first - scans;
    if (!g || scans < 1 || states < 0 || g->inputs.count < states + scans || g->outputs.count < states) {
        note(c, "its body does not match its inputs; nothing of it is counted");
        infer_append(c->model, c->node, c->scope);
        return;
    }
    num rounds = NUM_UNKNOWN, batch = NUM_UNKNOWN;
    scope s = inner_scope(c, 1);
    for (int32_t i = 0; i < states + scans; i++) {
        value_id formal = scope_value(&s, g->inputs.items[i]), actual = input_id(c, first + i);
        copy_value(c, formal, actual, false);
        value *v = value_of(c, formal);
        const value *a = value_of(c, actual);
        if (!v || !a || a->rank < 1)
            continue;
        int dropped = batched ? 0 : -1;
        if (batched)
            batch = a->dims[0];
        num dims[MAX_RANK];
        int axis = i < states ? -1 : (int)axis_at(c, "scan_input_axes", (int)(i - states)) + first;
        if (!batched && axis < 0 && i >= states)
            axis += a->rank;
        if (i >= states && (axis < 0 || axis >= a->rank))
            continue;
        if (i >= states)
            rounds = a->dims[axis];
        int rank = 0;
        for (int k = 0; k < a->rank; k++)
            if (k != dropped && !(i >= states && k == axis))
                dims[rank++] = a->dims[k];
        v->rank = (int8_t)rank;
        v->dims = arena_copy(c->net->arena, dims, (size_t)rank, sizeof *dims);
    }
    if (dim_known(rounds) && __builtin_mul_overflow(c->scope->repeat, rounds, &s.repeat))
        s.repeat = INT64_MAX; /* The count overflows; cost.c reports that. */
    infer_nodes(c->model, g, &s);
    append_result(c, g, &s);
    for (int32_t i = 0; i < c->node->output_count && i < g->outputs.count; i++) {
        value_id formal = scope_value(&s, g->outputs.items[i]), actual = output_id(c, i);
        if (i < states)
            copy_value(c, actual, formal, false);
        else
            set_scan_output(c, actual, formal, rounds, (int)axis_at(c, "scan_output_axes", (int)(i - states)));
        if (batched)
            set_scan_output(c, actual, actual, batch, 0);
    }
}

/* ---- SequenceMap ----------------------------------------------------------------------------------------------- */

static void expand_sequence_map(const control *c)
{
    const graph *g = body_of(c, "body");
    const value *sequence = value_of(c, input_id(c, 0));
    int32_t count = sequence && sequence->elements ? sequence->element_count : -1;
    if (!g || count < 0 || count > MAX_UNROLLED_ROUNDS) {
        note(c, "the length of its sequence is not known; its body is not counted");
        infer_append(c->model, c->node, c->scope);
        for (int32_t i = 0; i < c->node->output_count; i++) {
            value *v = value_of(c, output_id(c, i));
            if (v) {
                v->kind = VALUE_SEQUENCE;
                v->element_count = -1;
            }
        }
        return;
    }
    scope s = inner_scope(c, 1);
    s.first = g->first_value;
    s.end = g->end_value;
    value_id **results = ARENA_ARRAY(c->net->arena, value_id *, (size_t)g->outputs.count);
    for (int32_t k = 0; k < g->outputs.count; k++)
        results[k] = ARENA_ARRAY(c->net->arena, value_id, (size_t)count);
    for (int32_t round = 0; round < count; round++) {
        s.map = scope_fresh_values(c->model, g, arena_printf(c->net->arena, "%.*s.%d", STR_ARG(c->node->name), round));
        for (int32_t i = 0; i < g->inputs.count && i < c->node->input_count; i++) {
            value_id actual = input_id(c, i);
            const value *v = value_of(c, actual);
            if (v && v->kind == VALUE_SEQUENCE)
                actual = v->elements && round < v->element_count ? v->elements[round] : NO_VALUE;
            copy_value(c, scope_value(&s, g->inputs.items[i]), actual, true);
        }
        infer_nodes(c->model, g, &s);
        for (int32_t k = 0; k < g->outputs.count; k++)
            results[k][round] = scope_value(&s, g->outputs.items[k]);
    }
    infer_append(c->model, c->node, c->scope);
    for (int32_t k = 0; k < g->outputs.count; k++) {
        value *v = value_of(c, output_id(c, k));
        add_inputs(c, results[k], count);
        if (!v)
            continue;
        if (count)
            copy_value(c, output_id(c, k), results[k][0], false);
        for (int32_t round = 1; round < count; round++)
            merge_shape(c, output_id(c, k), results[k][round]);
        v->kind = VALUE_SEQUENCE;
        v->elements = results[k];
        v->element_count = count;
    }
}

void control_expand(sooth_model *model, const node *n, const scope *s)
{
    control c = {.model = model, .net = &model->net, .node = n, .scope = s};
    if (str_is(n->type, "If"))
        expand_if(&c);
    else if (str_is(n->type, "Loop"))
        expand_loop(&c);
    else if (str_is(n->type, "Scan"))
        expand_scan(&c);
    else if (str_is(n->type, "SequenceMap"))
        expand_sequence_map(&c);
    else
        infer_append(model, n, s);
    for (int32_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] != NO_VALUE)
            infer_merge_declared(model, scope_value(s, n->outputs[i]));
}
