/* pass_batch_norm.c: recovers batch norm and softmax written as basic arithmetic, as in StableHLO and TensorFlow since
 * 2.16.
 *
 * With a = scale / sqrt(variance + epsilon), where all four are constants with one number per channel:
 *     (x - mean) * a + offset
 *     x * a + (offset - mean * a) */
#include "graph/pass/pass.h"

/* Returns the dimension of x along which the constant v varies; -1 if there is none or more than one. */
static int channel_axis(pass_context *p, value_id v, value_id x)
{
    const value *c = pass_value(p, v), *y = pass_value(p, x);
    if (!c || !y || !p->is_static[v] || c->rank < 1 || c->rank > y->rank)
        return -1;
    int axis = -1;
    for (int i = 0; i < c->rank; i++) {
        int at = y->rank - c->rank + i;
        if (c->dims[i] == 1)
            continue;
        if (axis >= 0 || c->dims[i] != y->dims[at])
            return -1;
        axis = at;
    }
    return axis;
}

/* Finds scale / sqrt(variance + epsilon) from the inverse; *slope is the product. */
typedef struct slope {
    pass_group group;
    value_id variance, scale, value;
    double epsilon;
} slope;

static bool find_slope(pass_context *p, node *inverse, slope *s)
{
    *s = (slope){.scale = NO_VALUE};
    group_add(&s->group, inverse);
    node *root = pass_up(p, &s->group, inverse->inputs[0], "Sqrt");
    node *sum = root ? pass_up(p, &s->group, root->inputs[0], "Add") : NULL;
    s->variance = sum ? pass_beside_scalar(p, sum, &s->epsilon) : NO_VALUE;
    if (s->variance == NO_VALUE || !p->is_static[s->variance])
        return false;
    node *product = pass_down(p, &s->group, inverse->outputs[0], "Mul");
    value_id scale = product ? pass_other(p, product, inverse->outputs[0]) : NO_VALUE;
    if (scale == NO_VALUE || !p->is_static[scale])
        return false;
    s->scale = scale;
    s->value = product->outputs[0];
    return true;
}

/* Finds the two readers of the slope in x * a + (offset - mean * a). */
static bool find_two_products(pass_context *p, const slope *s, node **of_x, node **of_mean)
{
    *of_x = *of_mean = NULL;
    for (int32_t i = p->reader_start[s->value]; i < p->reader_start[s->value + 1]; i++) {
        node *n = &p->net->nodes.items[p->readers[i]];
        value_id other = pass_is(n, "Mul") ? pass_other(p, n, s->value) : NO_VALUE;
        if (other == NO_VALUE)
            return false;
        *(p->is_static[other] ? of_mean : of_x) = n;
    }
    return *of_x && *of_mean && p->reader_start[s->value + 1] - p->reader_start[s->value] == 2;
}

static void replace_batch_norm(pass_context *p, slope *s, value_id x, value_id mean, value_id offset, node *sum)
{
    int axis = channel_axis(p, mean, x), rank = pass_value(p, x)->rank;
    const value_id constants[] = {s->scale, offset, mean, s->variance};
    value_id inputs[5] = {x};
    if (axis < 1 || (axis != 1 && axis != rank - 1))
        return;
    for (int i = 0; i < 4; i++) {
        if (channel_axis(p, constants[i], sum->outputs[0]) != axis)
            return;
        inputs[1 + i] = pass_weight(p, &s->group, constants[i], NULL);
    }
    node *made = pass_replace_group(p, &s->group, sum, "BatchNormalization", inputs, 5, sum->outputs[0]);
    if (!made)
        return;
    pass_attr_real(p, made, "epsilon", s->epsilon);
    if (axis != 1)
        pass_attr_int(p, made, "channels_last", 1);
}

static void try_batch_norm(pass_context *p, node *inverse)
{
    slope s;
    node *of_x, *of_mean;
    if (!find_slope(p, inverse, &s))
        return;
    if (find_two_products(p, &s, &of_x, &of_mean)) {
        group_add(&s.group, of_x);
        group_add(&s.group, of_mean);
        value_id x = pass_other(p, of_x, s.value), mean = pass_other(p, of_mean, s.value);
        node *offset = pass_down(p, &s.group, of_mean->outputs[0], "Sub");
        node *sum = offset ? pass_down(p, &s.group, of_x->outputs[0], "Add") : NULL;
        if (sum && pass_other(p, sum, of_x->outputs[0]) != NO_VALUE &&
            pass_origin(p, pass_other(p, sum, of_x->outputs[0])) == offset->outputs[0])
            replace_batch_norm(p, &s, x, mean, offset->inputs[0], sum);
        return;
    }
    node *product = pass_down(p, &s.group, s.value, "Mul");
    node *difference = product ? pass_up(p, &s.group, pass_other(p, product, s.value), "Sub") : NULL;
    node *sum = difference ? pass_down(p, &s.group, product->outputs[0], "Add") : NULL;
    value_id offset = sum ? pass_other(p, sum, product->outputs[0]) : NO_VALUE;
    if (offset != NO_VALUE && !p->is_static[difference->inputs[0]])
        replace_batch_norm(p, &s, difference->inputs[0], difference->inputs[1], offset, sum);
}

void pass_batch_norm(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Reciprocal")
        try_batch_norm(p, n);
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

/* Returns the axis of a reduction over one axis with keepdims; -1 for other reductions. */
static int64_t kept_axis(pass_context *p, const node *reduce)
{
    int64_t axes[MAX_RANK];
    return pass_axes(p, reduce, axes) == 1 && node_attr_int(reduce, "keepdims", 1) == 1 ? axes[0] : -1;
}

/* Undoes x - max(x) along the axis. Returns x, or v itself. */
static value_id unshifted(pass_context *p, pass_group *g, value_id v, int64_t axis)
{
    pass_group tried = *g;
    node *difference = pass_up(p, &tried, v, "Sub");
    node *most = difference ? pass_up(p, &tried, difference->inputs[1], "ReduceMax") : NULL;
    if (!most || kept_axis(p, most) != axis || pass_origin(p, most->inputs[0]) != pass_origin(p, difference->inputs[0]))
        return v;
    *g = tried;
    return difference->inputs[0];
}

/* Matches exp(y) / sum(exp(y)). */
static void try_softmax(pass_context *p, node *quotient)
{
    pass_group g = {.count = 0};
    group_add(&g, quotient);
    node *sum = pass_up(p, &g, quotient->inputs[1], "ReduceSum");
    node *power = sum ? pass_up(p, &g, quotient->inputs[0], "Exp") : NULL;
    int64_t axis = power ? kept_axis(p, sum) : -1;
    if (axis < 0 || pass_origin(p, sum->inputs[0]) != power->outputs[0])
        return;
    value_id x = unshifted(p, &g, power->inputs[0], axis);
    node *made = pass_replace_group(p, &g, quotient, "Softmax", &x, 1, quotient->outputs[0]);
    if (made)
        pass_attr_int(p, made, "axis", axis - pass_value(p, x)->rank);
}

/* Matches y - log(sum(exp(y))). */
static void try_log_softmax(pass_context *p, node *difference)
{
    pass_group g = {.count = 0};
    group_add(&g, difference);
    node *log = pass_up(p, &g, difference->inputs[1], "Log");
    node *sum = log ? pass_up(p, &g, log->inputs[0], "ReduceSum") : NULL;
    node *power = sum ? pass_up(p, &g, sum->inputs[0], "Exp") : NULL;
    int64_t axis = power ? kept_axis(p, sum) : -1;
    if (axis < 0 || pass_origin(p, power->inputs[0]) != pass_origin(p, difference->inputs[0]))
        return;
    value_id x = unshifted(p, &g, difference->inputs[0], axis);
    node *made = pass_replace_group(p, &g, difference, "LogSoftmax", &x, 1, difference->outputs[0]);
    if (made)
        pass_attr_int(p, made, "axis", axis - pass_value(p, x)->rank);
}

void pass_softmax(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Div")
        try_softmax(p, n);
    PASS_FOR_EACH (p, n, "Sub")
        try_log_softmax(p, n);
}
