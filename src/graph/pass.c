/* pass.c: runs the recovery passes, and the tools that they are written with. */
#include "graph/pass.h"

#include "graph/infer.h"

/* ---- tools ----------------------------------------------------------------------------------------------------- */

static void count_readers(pass_context *p)
{
    network *net = p->net;
    size_t values = (size_t)net->values.count;
    p->reader_start = ARENA_ARRAY(net->arena, int32_t, values + 2);
    int32_t total = 0;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        for (int32_t k = 0; !n->is_dead && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE) {
                p->reader_start[n->inputs[k] + 2]++;
                total++;
            }
    }
    for (size_t v = 1; v < values + 2; v++)
        p->reader_start[v] += p->reader_start[v - 1];
    p->readers = ARENA_ARRAY(net->arena, node_id, (size_t)total);
    /* reader_start[v + 1] is where the next reader of v goes; at the end it is where the readers of v end. */
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        for (int32_t k = 0; !n->is_dead && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE)
                p->readers[p->reader_start[n->inputs[k] + 1]++] = i;
    }
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
    return maker && (!name || node_is(maker, name)) ? maker : NULL;
}

static bool reads(const node *n, value_id v)
{
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] == v)
            return true;
    return false;
}

int pass_reader_count(pass_context *p, value_id v)
{
    int count = p->net->values.items[v].is_output;
    for (int32_t i = p->reader_start[v]; i < p->reader_start[v + 1]; i++) {
        const node *n = &p->net->nodes.items[p->readers[i]];
        count += !n->is_dead && reads(n, v);
    }
    return count;
}

node *pass_only_reader(pass_context *p, const node *n, const char *name)
{
    value_id v = n->output_count ? n->outputs[0] : NO_VALUE;
    if (v == NO_VALUE || pass_reader_count(p, v) != 1 || p->net->values.items[v].is_output)
        return NULL;
    for (int32_t i = p->reader_start[v]; i < p->reader_start[v + 1]; i++) {
        node *reader = &p->net->nodes.items[p->readers[i]];
        if (!reader->is_dead && reads(reader, v))
            return !name || node_is(reader, name) ? reader : NULL;
    }
    return NULL;
}

bool pass_constant(pass_context *p, value_id v)
{
    if (v == NO_VALUE)
        return false;
    const value *x = &p->net->values.items[v];
    return x->is_initializer || x->ints || x->reals;
}

bool pass_scalar(pass_context *p, value_id v, double *x)
{
    if (v == NO_VALUE)
        return false;
    value *c = &p->net->values.items[v];
    int32_t count;
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

/* No value inside the group may be read outside it, except its declared outputs. */
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
                const node *reader = &p->net->nodes.items[p->readers[r]];
                if (!reader->is_dead && reads(reader, v) && !in_group(group, count, reader))
                    return false;
            }
        }
    return true;
}

/* The new node takes the place of a member in the lists of readers; a value that no member read needs new lists. */
static void update_readers(pass_context *p, node *const *group, int group_count, node_id made)
{
    const node *n = &p->net->nodes.items[made];
    for (int32_t i = 0; i < n->input_count; i++) {
        value_id v = n->inputs[i];
        bool found = v == NO_VALUE;
        for (int32_t r = found ? 0 : p->reader_start[v]; !found && r < p->reader_start[v + 1]; r++)
            if (in_group(group, group_count, &p->net->nodes.items[p->readers[r]])) {
                p->readers[r] = made;
                found = true;
            }
        if (!found) {
            count_readers(p);
            return;
        }
    }
}

/* The new node stands in the place of the last member, so that all its inputs are made before it; nobody may read its outputs
 * earlier than that. */
node *pass_replace(pass_context *p, node *const *group, int group_count, const node *named_after, const char *name,
                   const value_id *inputs, int input_count, const value_id *outputs, int output_count)
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
            const node *reader = &net->nodes.items[p->readers[r]];
            if (!reader->is_dead && reads(reader, v) && !in_group(group, group_count, reader) && reader < last)
                return NULL;
        }
    }
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
    for (int i = 0; i < group_count; i++)
        group[i]->is_dead = true;
    *last = made;
    for (int i = 0; i < output_count; i++)
        if (outputs[i] != NO_VALUE)
            net->values.items[outputs[i]].producer = (node_id)(last - net->nodes.items);
    update_readers(p, group, group_count, (node_id)(last - net->nodes.items));
    return last;
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

void pass_attr_ints(pass_context *p, node *n, const char *name, const int64_t *values, int count)
{
    attr *a = add_attr(p, n, name, ATTR_INTS);
    a->ints = arena_copy(p->net->arena, values, (size_t)count, sizeof *values);
    a->count = count;
}

/* ---- the simplest pass ----------------------------------------------------------------------------------------- */

/* Shape arithmetic whose results are known runs nowhere; what nobody reads any more after that goes too. */
static void drop_shape_arithmetic(pass_context *p)
{
    for (int32_t i = p->net->nodes.count - 1; i >= 0; i--) {
        node *n = &p->net->nodes.items[i];
        bool read = false;
        for (int32_t k = 0; k < n->output_count; k++)
            read |= n->outputs[k] != NO_VALUE && pass_reader_count(p, n->outputs[k]) > 0;
        bool shows = false;
        for (int32_t k = 0; k < n->output_count; k++)
            shows |= n->outputs[k] != NO_VALUE && p->net->values.items[n->outputs[k]].is_output;
        n->is_dead = !shows && n->op && (n->is_host || !read);
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const pass_info PASSES[] = {
    {"shape-arithmetic", "drops nodes that only compute shapes, and what nobody reads", drop_shape_arithmetic},
};

const pass_info *pass_table(size_t *count)
{
    *count = sizeof PASSES / sizeof *PASSES;
    return PASSES;
}

static bool is_skipped(const char *skip, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = skip; at && *at;) {
        size_t n = strcspn(at, ",");
        if ((n == len && memcmp(at, name, len) == 0) || (n == 3 && memcmp(at, "all", 3) == 0))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static void check_skip(sooth_model *model, const char *skip)
{
    for (const char *at = skip; at && *at;) {
        size_t n = strcspn(at, ",");
        bool known = n == 3 && memcmp(at, "all", 3) == 0;
        for (size_t i = 0; i < sizeof PASSES / sizeof *PASSES && !known; i++)
            known = strlen(PASSES[i].name) == n && memcmp(at, PASSES[i].name, n) == 0;
        if (!known)
            fail_with(&model->fail, SOOTH_ERROR_USAGE, "no pass is called '%.*s'; 'sooth inspect --help' lists them",
                      (int)n, at);
        at += n + (at[n] == ',');
    }
}

static void compact(network *net)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        node *n = &net->nodes.items[i];
        if (n->is_dead)
            continue;
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                net->values.items[n->outputs[k]].producer = kept;
        if (!n->name.len && n->output_count && n->outputs[0] != NO_VALUE)
            n->name = net->values.items[n->outputs[0]].name;
        if (!n->name.len)
            n->name = STR("");
        net->nodes.items[kept++] = *n;
    }
    net->nodes.count = kept;
}

void pass_run_all(sooth_model *model, const char *skip)
{
    check_skip(model, skip);
    pass_context p = {.model = model, .net = &model->net, .ops = model->ops};
    for (size_t i = 0; i < sizeof PASSES / sizeof *PASSES; i++) {
        if (is_skipped(skip, PASSES[i].name))
            continue;
        count_readers(&p);
        PASSES[i].run(&p);
    }
    compact(&model->net);
}
