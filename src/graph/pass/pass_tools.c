/* pass_tools.c: functions that the recovery passes are written with: readers, patterns, replacing a group by one
 * node. */
#include "graph/pass/pass.h"

#include "graph/infer.h"

#include <assert.h>
#include <math.h>

/* ---- tools ----------------------------------------------------------------------------------------------------- */

bool pass_is_whole(const node *n)
{
    if (n->is_dead || n->input_count < n->op->min_inputs || n->output_count < 1 || n->outputs[0] == NO_VALUE)
        return false;
    for (int32_t i = 0; i < n->op->min_inputs; i++)
        if (n->inputs[i] == NO_VALUE)
            return false;
    return true;
}

static void count_readers(pass_context *p)
{
    network *net = p->net;
    size_t values = (size_t)net->values.count;
    memset(p->reader_start, 0, (values + 2) * sizeof *p->reader_start);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        for (int32_t k = 0; !n->is_dead && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE)
                p->reader_start[n->inputs[k] + 2]++;
    }
    for (size_t v = 1; v < values + 2; v++)
        p->reader_start[v] += p->reader_start[v - 1];
    /* reader_start[v + 1] is the next free place for a reader of v; at the end it is the end of v's readers. */
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        for (int32_t k = 0; !n->is_dead && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE)
                p->readers[p->reader_start[n->inputs[k] + 1]++] = i;
    }
}

static void find_static(pass_context *p)
{
    network *net = p->net;
    for (int32_t v = 0; v < net->values.count; v++)
        p->is_static[v] =
            net->values.items[v].is_initializer || net->values.items[v].ints || net->values.items[v].reals;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        bool all = n->input_count > 0;
        for (int32_t k = 0; k < n->input_count; k++)
            all &= n->inputs[k] == NO_VALUE || p->is_static[n->inputs[k]];
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                p->is_static[n->outputs[k]] |= all;
    }
}

/* Large enough for all passes, because passes only remove nodes and inputs. */
void pass_begin(pass_context *p)
{
    network *net = p->net;
    arena *scratch = &p->model->scratch_arena;
    size_t total = 0;
    for (int32_t i = 0; i < net->nodes.count; i++)
        total += (size_t)net->nodes.items[i].input_count;
    p->reader_start = ARENA_ARRAY(scratch, int32_t, (size_t)net->values.count + 2);
    p->readers = ARENA_ARRAY(scratch, node_id, total);
    p->is_static = ARENA_ARRAY(scratch, bool, (size_t)net->values.count);
    p->is_made = ARENA_ARRAY(scratch, bool, (size_t)net->nodes.count);
    p->merged_into = ARENA_ARRAY(scratch, node_id, (size_t)net->nodes.count);
    p->marks = ARENA_ARRAY(scratch, uint8_t, (size_t)net->nodes.count);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        p->merged_into[i] = i;
        p->marks[i] = pass_mark(net->nodes.items[i].type);
    }
    count_readers(p);
    find_static(p);
}

int32_t pass_next(const pass_context *p, int32_t from, uint8_t mark)
{
    int32_t count = p->net->nodes.count;
    const uint8_t *found = from < count ? memchr(p->marks + from, mark, (size_t)(count - from)) : NULL;
    return found ? (int32_t)(found - p->marks) : count;
}

node *pass_maker(pass_context *p, value_id v)
{
    if (v == NO_VALUE)
        return NULL;
    node_id id = p->net->values.items[v].producer;
    return id == NO_NODE || p->net->nodes.items[id].is_dead ? NULL : &p->net->nodes.items[id];
}

node *pass_producer(pass_context *p, const node *n, int input, const char *name)
{
    node *maker = input < n->input_count ? pass_maker(p, n->inputs[input]) : NULL;
    return maker && (!name || pass_is(maker, name)) ? maker : NULL;
}

static bool reads(const node *n, value_id v)
{
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] == v)
            return true;
    return false;
}

/* Returns the node that now stands for reader i of the list; NULL if it no longer reads v. */
static node *reader_at(pass_context *p, int32_t i, value_id v)
{
    node_id id = p->readers[i];
    while (p->merged_into[id] != id)
        id = p->merged_into[id] = p->merged_into[p->merged_into[id]];
    p->readers[i] = id;
    node *n = &p->net->nodes.items[id];
    /* Searches only nodes made by a pass, because others still read v, and may have very many inputs. */
    return n->is_dead || (p->is_made[id] && !reads(n, v)) ? NULL : n;
}

bool pass_is_read(pass_context *p, value_id v)
{
    bool found = p->net->values.items[v].is_output;
    for (int32_t i = p->reader_start[v]; i < p->reader_start[v + 1] && !found; i++)
        found = reader_at(p, i, v) != NULL;
    return found;
}

node *pass_only_reader(pass_context *p, value_id v)
{
    if (v == NO_VALUE || p->net->values.items[v].is_output)
        return NULL;
    node *found = NULL;
    for (int32_t i = p->reader_start[v]; i < p->reader_start[v + 1]; i++) {
        node *n = reader_at(p, i, v);
        if (!n || n == found)
            continue;
        if (found)
            return NULL;
        found = n;
    }
    return found;
}

bool pass_scalar(pass_context *p, value_id v, double *x)
{
    if (v == NO_VALUE)
        return false;
    value *c = &p->net->values.items[v];
    int32_t count;
    if (value_elements(p->net, c) != 1)
        return false;
    const double *reals = value_reals(p->net, c, &count);
    if (reals && count == 1) {
        *x = reals[0];
        return true;
    }
    const num *ints = value_ints(p->net, c, &count);
    if (!ints || count != 1 || !num_known(ints[0]))
        return false;
    *x = (double)ints[0];
    return true;
}

bool pass_near(double x, double y)
{
    return fabs(x - y) <= 1e-3 * fabs(y);
}

const value *pass_value(const pass_context *p, value_id v)
{
    return v == NO_VALUE ? NULL : &p->net->values.items[v];
}

num pass_dim(const pass_context *p, value_id v, int axis)
{
    const value *x = pass_value(p, v);
    if (!x || x->rank < 0)
        return NUM_UNKNOWN;
    axis += axis < 0 ? x->rank : 0;
    return axis >= 0 && axis < x->rank ? x->dims[axis] : NUM_UNKNOWN;
}

bool pass_same_shape(const pass_context *p, value_id a, value_id b)
{
    const value *x = pass_value(p, a), *y = pass_value(p, b);
    if (!x || !y || x->rank < 0 || x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i] || x->dims[i] == NUM_UNKNOWN)
            return false;
    return true;
}

/* ---- patterns --------------------------------------------------------------------------------------------------- */

void group_add(pass_group *g, node *n)
{
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i] == n)
            return;
    if (g->count == GROUP_MAX)
        g->is_full = true;
    else
        g->nodes[g->count++] = n;
}

static bool is_copy(pass_context *p, const node *n)
{
    if (n->input_count < 1 || n->output_count < 1 || n->inputs[0] == NO_VALUE || n->outputs[0] == NO_VALUE)
        return false;
    if (pass_is(n, "Cast"))
        return dtype_is_float(pass_value(p, n->inputs[0])->dtype) &&
               dtype_is_float(pass_value(p, n->outputs[0])->dtype);
    return pass_is(n, "Identity") || pass_is(n, "Dropout");
}

/* Limit on chained copies. Exporters chain one or two; a hostile file may chain thousands. */
enum { MAX_COPIES = 4 };

value_id pass_origin(pass_context *p, value_id v)
{
    for (int i = 0; i < MAX_COPIES; i++) {
        const node *n = pass_maker(p, v);
        if (!n || !is_copy(p, n))
            break;
        v = n->inputs[0];
    }
    return v;
}

void group_add_copies(pass_context *p, pass_group *g, value_id v)
{
    for (int i = 0; i < MAX_COPIES; i++) {
        node *n = pass_maker(p, v);
        if (!n || !is_copy(p, n))
            break;
        group_add(g, n);
        v = n->inputs[0];
    }
}

/* Finds the nearest node of that operator upstream (producers) or downstream (only readers), looking through copies.
 * It and the copies join the group. */
static node *walk(pass_context *p, pass_group *g, value_id v, const char *name, bool up)
{
    node *copies[MAX_COPIES];
    int count = 0;
    node *n = up ? pass_maker(p, v) : pass_only_reader(p, v);
    while (n && !pass_is(n, name) && is_copy(p, n) && count < MAX_COPIES) {
        copies[count++] = n;
        n = up ? pass_maker(p, n->inputs[0]) : pass_only_reader(p, n->outputs[0]);
    }
    if (!n || !pass_is(n, name))
        return NULL;
    for (int i = 0; i < count; i++)
        group_add(g, copies[i]);
    group_add(g, n);
    return n;
}

node *pass_up(pass_context *p, pass_group *g, value_id v, const char *name)
{
    return walk(p, g, v, name, true);
}

node *pass_down(pass_context *p, pass_group *g, value_id v, const char *name)
{
    return walk(p, g, v, name, false);
}

value_id pass_other(pass_context *p, const node *n, value_id v)
{
    if (n->input_count != 2)
        return NO_VALUE;
    value_id origin = pass_origin(p, v);
    if (pass_origin(p, n->inputs[0]) == origin)
        return n->inputs[1];
    return pass_origin(p, n->inputs[1]) == origin ? n->inputs[0] : NO_VALUE;
}

value_id pass_beside_scalar(pass_context *p, const node *n, double *x)
{
    if (n->input_count != 2)
        return NO_VALUE;
    if (pass_scalar(p, n->inputs[1], x))
        return n->inputs[0];
    return pass_scalar(p, n->inputs[0], x) ? n->inputs[1] : NO_VALUE;
}

value_id pass_unscale(pass_context *p, pass_group *g, value_id v, double *factor)
{
    pass_group tried = *g;
    node *n;
    double x;
    value_id before = NO_VALUE;
    *factor = 1;
    if ((n = pass_up(p, &tried, v, "Mul")) != NULL) {
        before = pass_beside_scalar(p, n, factor);
    } else if ((n = pass_up(p, &tried, v, "Div")) != NULL && n->input_count == 2 && pass_scalar(p, n->inputs[1], &x) &&
               x != 0) {
        *factor = 1 / x;
        before = n->inputs[0];
    }
    if (before == NO_VALUE) {
        *factor = 1;
        return v;
    }
    *g = tried;
    return before;
}

static bool is_view(const node *n)
{
    static const char *const VIEWS[] = {"Identity", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Flatten", "Cast"};
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (pass_is(n, VIEWS[i]))
            return true;
    return false;
}

value_id pass_weight(pass_context *p, pass_group *g, value_id v, int *transposed)
{
    enum { MAX_VIEWS = 8 };
    pass_group tried = *g;
    value_id at = v;
    int swaps = 0;
    for (int i = 0; i < MAX_VIEWS && at != NO_VALUE && !p->net->values.items[at].is_initializer; i++) {
        node *n = pass_maker(p, at);
        if (!n || n->input_count < 1 || !is_view(n) || !pass_only_reader(p, at))
            return v;
        swaps += pass_is(n, "Transpose");
        group_add(&tried, n);
        at = n->inputs[0];
    }
    if (at == NO_VALUE || !p->net->values.items[at].is_initializer)
        return v;
    *g = tried;
    if (transposed)
        *transposed += swaps;
    return at;
}

int pass_axes(pass_context *p, const node *n, int64_t axes[MAX_RANK])
{
    const value *x = n->input_count ? pass_value(p, n->inputs[0]) : NULL;
    if (!x || x->rank < 0)
        return -1;
    int32_t count = 0;
    const int64_t *given = node_attr_ints(n, "axes", &count);
    if (!given && n->input_count > 1 && n->inputs[1] != NO_VALUE) {
        given = value_ints(p->net, &p->net->values.items[n->inputs[1]], &count);
        if (!given)
            return -1;
    }
    bool is_reduced[MAX_RANK] = {false};
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = given[i] < 0 ? given[i] + x->rank : given[i];
        if (axis < 0 || axis >= x->rank)
            return -1;
        is_reduced[axis] = true;
    }
    int found = 0;
    for (int i = 0; i < x->rank; i++)
        if (is_reduced[i] || !given)
            axes[found++] = i;
    return found;
}

/* ---- replacing -------------------------------------------------------------------------------------------------- */

static bool in_group(node *const *group, int count, const node *n)
{
    for (int i = 0; i < count; i++)
        if (group[i] == n)
            return true;
    return false;
}

static bool is_listed(const value_id *list, int count, value_id v)
{
    for (int i = 0; i < count; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* True if the group may be merged: no inner value has a reader outside, except the declared outputs. */
static bool is_closed(pass_context *p, node *const *group, int count, const value_id *outputs, int output_count)
{
    for (int i = 0; i < count; i++)
        for (int32_t k = 0; k < group[i]->output_count; k++) {
            value_id v = group[i]->outputs[k];
            if (v == NO_VALUE || is_listed(outputs, output_count, v))
                continue;
            if (p->net->values.items[v].is_output)
                return false;
            for (int32_t r = p->reader_start[v]; r < p->reader_start[v + 1]; r++) {
                const node *reader = reader_at(p, r, v);
                if (reader && !in_group(group, count, reader))
                    return false;
            }
        }
    return true;
}

/* Reader lists stay valid only if members of the group already read all inputs. */
static inline bool is_read_in(node *const *group, int count, value_id v)
{
    for (int i = 0; i < count; i++)
        if (reads(group[i], v))
            return true;
    return false;
}

/* The new node takes the place of the last member, where all its inputs exist. Its outputs must not be read before. */
static node *pass_replace(pass_context *p, node *const *group, int group_count, const node *named_after,
                          const char *name, const value_id *inputs, int input_count, const value_id *outputs,
                          int output_count)
{
    network *net = p->net;
    if (!is_closed(p, group, group_count, outputs, output_count))
        return NULL;
    node *last = group[0];
    int32_t fused = 0;
    for (int i = 0; i < group_count; i++) {
        if (group[i]->repeat != last->repeat)
            return NULL;
        if (group[i] > last)
            last = group[i];
        fused += group[i]->fused_count;
    }
    for (int i = 0; i < output_count; i++) {
        value_id v = outputs[i];
        for (int32_t r = v == NO_VALUE ? 0 : p->reader_start[v]; v != NO_VALUE && r < p->reader_start[v + 1]; r++) {
            const node *reader = reader_at(p, r, v);
            if (reader && !in_group(group, group_count, reader) && reader < last)
                return NULL;
        }
    }
    for (int i = 0; i < input_count; i++)
        assert(inputs[i] == NO_VALUE || is_read_in(group, group_count, inputs[i]));
    const op_info *op = ops_find_canonical(p->ops, name);
    node made = {
        .op = op,
        .type = str_of(op ? op->name : name),
        .domain = str_of(op ? op->domain : ""),
        .name = named_after->name,
        .opset = named_after->opset,
        .input_count = input_count,
        .output_count = output_count,
        .inputs = arena_copy(net->arena, inputs, (size_t)input_count, sizeof *inputs),
        .outputs = arena_copy(net->arena, outputs, (size_t)output_count, sizeof *outputs),
        .repeat = last->repeat,
        .fused_count = fused,
    };
    node_id id = (node_id)(last - net->nodes.items);
    for (int i = 0; i < group_count; i++) {
        group[i]->is_dead = true;
        p->merged_into[group[i] - net->nodes.items] = id;
    }
    *last = made;
    p->is_made[id] = true;
    p->marks[id] = pass_mark(made.type);
    for (int i = 0; i < output_count; i++)
        if (outputs[i] != NO_VALUE)
            net->values.items[outputs[i]].producer = id;
    return last;
}

node *pass_replace_group(pass_context *p, const pass_group *g, const node *named_after, const char *name,
                         const value_id *inputs, int input_count, value_id output)
{
    return g->is_full ? NULL : pass_replace(p, g->nodes, g->count, named_after, name, inputs, input_count, &output, 1);
}

static attr *add_attr(pass_context *p, node *n, const char *name, attr_kind kind)
{
    attr *attrs = ARENA_ARRAY(p->net->arena, attr, (size_t)n->attr_count + 1);
    if (n->attr_count)
        memcpy(attrs, n->attrs, (size_t)n->attr_count * sizeof *attrs);
    n->attrs = attrs;
    attr *a = &attrs[n->attr_count++];
    a->name = str_of(name);
    a->kind = kind;
    return a;
}

void pass_attr_int(pass_context *p, node *n, const char *name, int64_t value)
{
    add_attr(p, n, name, ATTR_INT)->integer = value;
}

void pass_attr_real(pass_context *p, node *n, const char *name, double value)
{
    add_attr(p, n, name, ATTR_FLOAT)->real = value;
}

void pass_attr_string(pass_context *p, node *n, const char *name, const char *value)
{
    add_attr(p, n, name, ATTR_STRING)->string = str_of(value);
}

void pass_attr_ints(pass_context *p, node *n, const char *name, const int64_t *values, int count)
{
    attr *a = add_attr(p, n, name, ATTR_INTS);
    a->ints = arena_copy(p->net->arena, values, (size_t)count, sizeof *values);
    a->count = count;
}
