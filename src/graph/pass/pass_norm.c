/* pass_norm.c: recovers layer norm, RMS norm, group norm, L2 normalization and weight standardization.
 *
 * PyTorch has layer norm and RMS norm as single operators over the last dimensions only. Over the channels of an
 * NCHW tensor it runs the same arithmetic step by step, so that stays unmerged here. */
#include "graph/pass/pass.h"

/* True if `v` is a constant with one number for each element of the last `count` dimensions of x. */
static bool fits_last(pass_context *p, value_id v, value_id x, int count)
{
    const value *c = pass_value(p, v), *y = pass_value(p, x);
    if (!c || !y || !p->is_static[v] || c->rank < count || y->rank < c->rank)
        return false;
    for (int i = 1; i <= c->rank; i++)
        if (c->dims[c->rank - i] != (i <= count ? y->dims[y->rank - i] : 1))
            return false;
    return true;
}

/* Returns the number of axes if the reduction is over the last axes with keepdims; otherwise 0. */
static int last_axes(pass_context *p, const node *reduce)
{
    int64_t axes[MAX_RANK];
    int count = pass_axes(p, reduce, axes);
    const value *x = pass_value(p, reduce->inputs[0]);
    if (count < 1 || count >= x->rank || node_attr_int(reduce, "keepdims", 1) != 1 || axes[0] != x->rank - count)
        return 0;
    return count;
}

/* Matches y * y. Returns y, or NO_VALUE. */
static value_id squared(pass_context *p, pass_group *g, value_id v)
{
    double exponent;
    node *n = pass_up(p, g, v, "Pow");
    if (n && n->input_count == 2 && pass_scalar(p, n->inputs[1], &exponent) && exponent == 2)
        return n->inputs[0];
    n = pass_up(p, g, v, "Mul");
    return n && n->input_count == 2 && n->inputs[0] == n->inputs[1] ? n->inputs[0] : NO_VALUE;
}

/* Matches sqrt(mean(y^2) + epsilon) over the last axes. Returns y, or NO_VALUE. */
static value_id deviation(pass_context *p, pass_group *g, value_id v, double *epsilon, int *count)
{
    node *root = pass_up(p, g, v, "Sqrt");
    node *sum = root ? pass_up(p, g, root->inputs[0], "Add") : NULL;
    value_id variance = sum ? pass_beside_scalar(p, sum, epsilon) : NO_VALUE;
    node *mean = variance == NO_VALUE ? NULL : pass_up(p, g, variance, "ReduceMean");
    if (!mean || (*count = last_axes(p, mean)) == 0)
        return NO_VALUE;
    return squared(p, g, mean->inputs[0]);
}

/* Matches numerator / deviation, as a division or a product with the inverse. Returns the numerator, or NO_VALUE. */
static value_id quotient(pass_context *p, pass_group *g, node *n, value_id *y, double *epsilon, int *count)
{
    group_add(g, n);
    if (pass_is(n, "Div")) {
        *y = deviation(p, g, n->inputs[1], epsilon, count);
        return n->inputs[0];
    }
    for (int i = 0; i < 2; i++) {
        pass_group tried = *g;
        double one;
        node *inverse = pass_up(p, &tried, n->inputs[i], "Reciprocal");
        value_id root = inverse ? inverse->inputs[0] : NO_VALUE;
        if (!inverse && (inverse = pass_up(p, &tried, n->inputs[i], "Div")) != NULL &&
            pass_scalar(p, inverse->inputs[0], &one) && one == 1)
            root = inverse->inputs[1];
        *y = root == NO_VALUE ? NO_VALUE : deviation(p, &tried, root, epsilon, count);
        if (*y != NO_VALUE) {
            *g = tried;
            return n->inputs[1 - i];
        }
    }
    return NO_VALUE;
}

/* Matches x - mean(x) over the same axes. Returns x, or NO_VALUE. */
static value_id centered(pass_context *p, pass_group *g, value_id v, int count)
{
    node *difference = pass_up(p, g, v, "Sub");
    node *mean = difference ? pass_up(p, g, difference->inputs[1], "ReduceMean") : NULL;
    if (!mean || last_axes(p, mean) != count ||
        pass_origin(p, mean->inputs[0]) != pass_origin(p, difference->inputs[0]))
        return NO_VALUE;
    return difference->inputs[0];
}

/* If the next operator multiplies or adds a fitting constant, adds it to the group and advances *output. Returns the
 * constant. */
static value_id affine(pass_context *p, pass_group *g, value_id *output, const char *name, int count)
{
    pass_group tried = *g;
    node *n = pass_down(p, &tried, *output, name);
    value_id constant = n ? pass_other(p, n, *output) : NO_VALUE;
    if (constant == NO_VALUE || !fits_last(p, constant, n->outputs[0], count))
        return NO_VALUE;
    constant = pass_weight(p, &tried, constant, NULL);
    *g = tried;
    *output = n->outputs[0];
    return constant;
}

static void try_layer_norm(pass_context *p, node *n)
{
    pass_group g = {.count = 0};
    value_id y = NO_VALUE;
    double epsilon = 0;
    int count = 0;
    value_id numerator = quotient(p, &g, n, &y, &epsilon, &count);
    if (numerator == NO_VALUE || y == NO_VALUE)
        return;
    pass_group with_mean = g;
    value_id x = centered(p, &with_mean, numerator, count);
    bool has_mean = x != NO_VALUE;
    if (has_mean && pass_origin(p, y) != pass_origin(p, numerator)) /* some exporters write the difference twice */
        has_mean = centered(p, &with_mean, y, count) == x;
    if (has_mean)
        g = with_mean;
    else if (pass_origin(p, y) == pass_origin(p, numerator))
        x = numerator;
    else
        return;
    if (y != numerator)
        group_add_copies(p, &g, y);
    value_id output = n->outputs[0];
    value_id inputs[3] = {x, NO_VALUE, NO_VALUE};
    inputs[1] = affine(p, &g, &output, "Mul", count);
    if (has_mean)
        inputs[2] = affine(p, &g, &output, "Add", count);
    /* Without weights of that shape, a norm over height and width is an instance norm. */
    if (count > 1 && inputs[1] == NO_VALUE)
        return;
    node *made = pass_replace_group(p, &g, n, has_mean ? "LayerNormalization" : "RMSNormalization", inputs,
                                    has_mean && inputs[2] != NO_VALUE ? 3 : 2, output);
    if (!made)
        return;
    pass_attr_int(p, made, "axis", -count);
    pass_attr_real(p, made, "epsilon", epsilon);
}

/* Matches bias - mean * a, or bias + -mean * a. Returns the bias and the mean, or NO_VALUE. */
static value_id folded_bias(pass_context *p, pass_group *g, value_id v, value_id a, value_id *mean)
{
    node *offset = pass_up(p, g, v, "Sub");
    node *moved = offset ? pass_up(p, g, offset->inputs[1], "Mul") : NULL;
    if (moved) {
        *mean = pass_other(p, moved, a);
        return offset->inputs[0];
    }
    offset = offset ? NULL : pass_up(p, g, v, "Add");
    for (int i = 0; offset && i < 2; i++) {
        moved = p->is_static[offset->inputs[1 - i]] ? pass_up(p, g, offset->inputs[i], "Mul") : NULL;
        node *negative = moved ? pass_up(p, g, pass_other(p, moved, a), "Neg") : NULL;
        if (!negative)
            continue;
        *mean = negative->inputs[0];
        return offset->inputs[1 - i];
    }
    return NO_VALUE;
}

/* Matches TensorFlow's form, starting at the inverse of the deviation: a = scale / deviation; x * a + (bias - mean *
 * a). */
static void try_folded_layer_norm(pass_context *p, node *inverse)
{
    pass_group g = {.count = 0};
    group_add(&g, inverse);
    double epsilon = 0;
    int count = 0;
    value_id y = deviation(p, &g, inverse->inputs[0], &epsilon, &count);
    value_id x = y == NO_VALUE ? NO_VALUE : centered(p, &g, y, count);
    node *slope = x == NO_VALUE ? NULL : pass_down(p, &g, inverse->outputs[0], "Mul");
    if (!slope)
        return;
    value_id scale = pass_other(p, slope, inverse->outputs[0]), a = slope->outputs[0];
    node *sum = NULL;
    for (int32_t i = p->reader_start[a]; i < p->reader_start[a + 1] && !sum; i++) {
        node *product = &p->net->nodes.items[p->readers[i]];
        if (!pass_is(product, "Mul") || pass_origin(p, pass_other(p, product, a)) != pass_origin(p, x))
            continue;
        group_add(&g, product);
        sum = pass_down(p, &g, product->outputs[0], "Add");
        if (!sum)
            return;
        value_id mean = NO_VALUE, bias = folded_bias(p, &g, pass_other(p, sum, product->outputs[0]), a, &mean);
        const node *reduce = mean == NO_VALUE ? NULL : pass_maker(p, pass_origin(p, mean));
        if (!reduce || !pass_is(reduce, "ReduceMean") || pass_origin(p, reduce->inputs[0]) != pass_origin(p, x) ||
            last_axes(p, reduce) != count || !fits_last(p, scale, sum->outputs[0], count) ||
            !fits_last(p, bias, sum->outputs[0], count))
            return;
        value_id inputs[3] = {x, pass_weight(p, &g, scale, NULL), pass_weight(p, &g, bias, NULL)};
        node *made = pass_replace_group(p, &g, inverse, "LayerNormalization", inputs, 3, sum->outputs[0]);
        if (made) {
            pass_attr_int(p, made, "axis", -count);
            pass_attr_real(p, made, "epsilon", epsilon);
        }
    }
}

/* Matches mean(x^2) - mean(x)^2, clamped at zero, or mean((x - mean(x))^2). Returns x, or NO_VALUE. */
static value_id variance_of(pass_context *p, pass_group *g, value_id v, int *count)
{
    node *n = pass_up(p, g, v, "Relu");
    if (n)
        v = n->inputs[0];
    node *difference = pass_up(p, g, v, "Sub");
    node *power = difference ? pass_up(p, g, difference->inputs[0], "ReduceMean") : NULL;
    if (!power) {
        node *mean = difference ? NULL : pass_up(p, g, v, "ReduceMean");
        value_id y = mean && (*count = last_axes(p, mean)) ? squared(p, g, mean->inputs[0]) : NO_VALUE;
        return y == NO_VALUE ? NO_VALUE : centered(p, g, y, *count);
    }
    *count = last_axes(p, power);
    value_id x = *count ? squared(p, g, power->inputs[0]) : NO_VALUE;
    value_id mean = x == NO_VALUE ? NO_VALUE : squared(p, g, difference->inputs[1]);
    node *reduce = mean == NO_VALUE ? NULL : pass_up(p, g, mean, "ReduceMean");
    bool fits = reduce && last_axes(p, reduce) == *count && pass_origin(p, reduce->inputs[0]) == pass_origin(p, x);
    return fits ? x : NO_VALUE;
}

/* Matches JAX's form, starting at the inverse of the deviation: (x - mean) * (scale / deviation) + bias. */
static void try_sloped_layer_norm(pass_context *p, node *inverse)
{
    pass_group g = {.count = 0};
    double epsilon = 0;
    int count = 0;
    group_add(&g, inverse);
    node *root = pass_up(p, &g, inverse->inputs[0], "Sqrt");
    node *moved = root ? pass_up(p, &g, root->inputs[0], "Add") : NULL;
    value_id variance = moved ? pass_beside_scalar(p, moved, &epsilon) : NO_VALUE;
    value_id x = variance == NO_VALUE ? NO_VALUE : variance_of(p, &g, variance, &count);
    node *slope = x == NO_VALUE ? NULL : pass_down(p, &g, inverse->outputs[0], "Mul");
    value_id scale = slope ? pass_other(p, slope, inverse->outputs[0]) : NO_VALUE;
    node *product = scale == NO_VALUE || !p->is_static[scale] ? NULL : pass_down(p, &g, slope->outputs[0], "Mul");
    value_id numerator = product ? pass_other(p, product, slope->outputs[0]) : NO_VALUE;
    if (numerator == NO_VALUE || pass_origin(p, centered(p, &g, numerator, count)) != pass_origin(p, x) ||
        !fits_last(p, scale, product->outputs[0], count))
        return;
    value_id output = product->outputs[0];
    value_id inputs[3] = {x, pass_weight(p, &g, scale, NULL), NO_VALUE};
    inputs[2] = affine(p, &g, &output, "Add", count);
    node *made =
        pass_replace_group(p, &g, inverse, "LayerNormalization", inputs, inputs[2] == NO_VALUE ? 2 : 3, output);
    if (!made)
        return;
    pass_attr_int(p, made, "axis", -count);
    pass_attr_real(p, made, "epsilon", epsilon);
}

/* Matches OpenVINO's form: mean and deviation in one operator, then scale and bias. */
static void try_scaled_layer_norm(pass_context *p, node *n)
{
    int32_t given;
    int count = node_attr_ints(n, "axes", &given) ? last_axes(p, n) : 0;
    if (!count)
        return;
    pass_group g = {.count = 0};
    group_add(&g, n);
    value_id output = n->outputs[0];
    value_id inputs[3] = {n->inputs[0], NO_VALUE, NO_VALUE};
    inputs[1] = affine(p, &g, &output, "Mul", count);
    inputs[2] = affine(p, &g, &output, "Add", count);
    if (count > 1 && inputs[1] == NO_VALUE)
        return;
    double epsilon = node_attr_real(n, "epsilon", 1e-5);
    node *made = pass_replace_group(p, &g, n, "LayerNormalization", inputs, inputs[2] == NO_VALUE ? 2 : 3, output);
    if (!made)
        return;
    pass_attr_int(p, made, "axis", -count);
    pass_attr_real(p, made, "epsilon", epsilon);
}

void pass_layer_norm(pass_context *p)
{
    PASS_FOR_EACH (p, n, "MeanVarianceNormalization")
        try_scaled_layer_norm(p, n);
    PASS_FOR_EACH (p, n, "Reciprocal")
        try_sloped_layer_norm(p, n);
    PASS_FOR_EACH (p, n, "Reciprocal")
        try_folded_layer_norm(p, n);
    PASS_FOR_EACH (p, n, "Div")
        try_layer_norm(p, n);
    PASS_FOR_EACH (p, n, "Mul")
        try_layer_norm(p, n);
}

/* ---- group norm -------------------------------------------------------------------------------------------------- */

/* True if v is a constant with one number per channel of x (N,C,…). */
static bool fits_channels(pass_context *p, value_id v, value_id x)
{
    const value *c = pass_value(p, v), *y = pass_value(p, x);
    if (!c || !y || !p->is_static[v] || y->rank < 2 || c->rank > y->rank || c->rank < y->rank - 1)
        return false;
    for (int i = 1; i <= c->rank; i++)
        if (c->dims[c->rank - i] != (i == y->rank - 1 ? y->dims[1] : 1))
            return false;
    return true;
}

static value_id per_channel(pass_context *p, pass_group *g, value_id *output, const char *name)
{
    pass_group tried = *g;
    node *n = pass_down(p, &tried, *output, name);
    value_id constant = n ? pass_other(p, n, *output) : NO_VALUE;
    if (constant == NO_VALUE || !fits_channels(p, constant, n->outputs[0]))
        return NO_VALUE;
    constant = pass_weight(p, &tried, constant, NULL);
    *g = tried;
    *output = n->outputs[0];
    return constant;
}

/* Matches Reshape (N,groups,rest), InstanceNormalization, Reshape back, Mul, Add. */
static void try_group_norm(pass_context *p, node *n)
{
    pass_group g = {.count = 0};
    group_add(&g, n);
    node *split = pass_up(p, &g, n->inputs[0], "Reshape");
    node *join = split ? pass_down(p, &g, n->outputs[0], "Reshape") : NULL;
    if (!join || !pass_same_shape(p, split->inputs[0], join->outputs[0]) ||
        pass_dim(p, split->outputs[0], 0) != pass_dim(p, split->inputs[0], 0))
        return;
    num groups = pass_dim(p, split->outputs[0], 1);
    value_id output = join->outputs[0];
    value_id inputs[3] = {split->inputs[0], NO_VALUE, NO_VALUE};
    inputs[1] = per_channel(p, &g, &output, "Mul");
    inputs[2] = per_channel(p, &g, &output, "Add");
    double epsilon = node_attr_real(n, "epsilon", 1e-5);
    node *made = pass_replace_group(p, &g, n, "GroupNormalization", inputs, 3, output);
    if (!made)
        return;
    pass_attr_int(p, made, "num_groups", num_known(groups) ? groups : 0);
    pass_attr_real(p, made, "epsilon", epsilon);
}

void pass_group_norm(pass_context *p)
{
    PASS_FOR_EACH (p, n, "InstanceNormalization")
        try_group_norm(p, n);
}

/* ---- L2 normalization -------------------------------------------------------------------------------------------- */

/* Matches the norm of x along one axis, clamped above zero and broadcast. Returns the reduction, or NULL. */
static node *euclidean_norm(pass_context *p, pass_group *g, value_id v)
{
    node *n = pass_up(p, g, v, "Expand");
    if (n)
        v = n->inputs[0];
    if ((n = pass_up(p, g, v, "Clip")) != NULL || (n = pass_up(p, g, v, "Max")) != NULL)
        v = n->inputs[0];
    return pass_up(p, g, v, "ReduceL2");
}

void pass_l2_normalize(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Div") {
        pass_group g = {.count = 0};
        group_add(&g, n);
        node *norm = euclidean_norm(p, &g, n->inputs[1]);
        int64_t axes[MAX_RANK];
        if (!norm || pass_axes(p, norm, axes) != 1 || node_attr_int(norm, "keepdims", 1) != 1 ||
            pass_origin(p, norm->inputs[0]) != pass_origin(p, n->inputs[0]))
            continue;
        node *made = pass_replace_group(p, &g, n, "LpNormalization", &n->inputs[0], 1, n->outputs[0]);
        if (made) {
            pass_attr_int(p, made, "axis", axes[0]);
            pass_attr_int(p, made, "p", 2);
        }
    }
}

/* ---- standardised weights ---------------------------------------------------------------------------------------- */

/* Adds all nodes that compute `v` from constants. The stored floating-point constants become inputs. */
static bool gather_static(pass_context *p, pass_group *g, value_id v, value_id *inputs, int *count, int room)
{
    value_id todo[GROUP_MAX];
    int waiting = 0;
    todo[waiting++] = v;
    while (waiting) {
        value_id at = todo[--waiting];
        node *n = pass_maker(p, at);
        if (!n) {
            bool listed = p->net->values.items[at].is_constant_node || !dtype_is_float(p->net->values.items[at].dtype);
            for (int i = 0; i < *count; i++)
                listed |= inputs[i] == at;
            if (listed)
                continue;
            if (*count == room)
                return false;
            inputs[(*count)++] = at;
            continue;
        }
        int before = g->count;
        group_add(g, n);
        if (g->is_full || waiting + n->input_count > GROUP_MAX)
            return false;
        for (int32_t i = 0; g->count > before && i < n->input_count; i++)
            if (n->inputs[i] != NO_VALUE)
                todo[waiting++] = n->inputs[i];
    }
    return true;
}

/* Matches F.batch_norm of a weight (1,out,rest) in training mode: NFNet and BiT normalize each filter in every pass. */
static void try_weight_standardization(pass_context *p, node *n)
{
    enum { ROOM = 3 };
    pass_group g = {.count = 0};
    group_add(&g, n);
    value_id inputs[ROOM];
    int count = 0;
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != NO_VALUE && !gather_static(p, &g, n->inputs[i], inputs, &count, ROOM))
            return;
    value_id output = n->outputs[0];
    node *join = pass_down(p, &g, output, "Reshape");
    if (join)
        output = join->outputs[0];
    double epsilon = node_attr_real(n, "epsilon", 1e-5);
    node *made = count ? pass_replace_group(p, &g, n, "WeightStandardization", inputs, count, output) : NULL;
    if (made)
        pass_attr_real(p, made, "epsilon", epsilon);
}

void pass_weight_standardization(pass_context *p)
{
    PASS_FOR_EACH (p, n, "BatchNormalization")
        if (node_attr_int(n, "training_mode", 0) == 1 && n->inputs[0] != NO_VALUE && p->is_static[n->inputs[0]])
            try_weight_standardization(p, n);
}
