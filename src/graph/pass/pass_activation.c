/* pass_activation.c: recovers activation functions: GELU, SiLU, hard sigmoid, hard swish, softplus, Mish. */
#include "graph/pass/pass.h"

/* Undoes a multiplication by factor, or a division by its inverse. Returns the value before it, or NO_VALUE. */
static value_id scaled_by(pass_context *p, pass_group *g, value_id v, double factor)
{
    double found;
    pass_group tried = *g;
    value_id before = pass_unscale(p, &tried, v, &found);
    if (before == v || !pass_near(found, factor))
        return NO_VALUE;
    *g = tried;
    return before;
}

/* Matches x * 0.5 * bell in any order, where `sum` outputs bell = 1 + erf(…), 1 + tanh(…) or erfc(…). Returns the
 * product, or NO_VALUE. */
static value_id half_times(pass_context *p, pass_group *g, value_id x, node *sum)
{
    double half;
    x = pass_origin(p, x);
    node *first = pass_down(p, g, sum->outputs[0], "Mul");
    if (!first)
        return NO_VALUE;
    value_id other = pass_other(p, first, sum->outputs[0]);
    if (other == NO_VALUE)
        return NO_VALUE;
    value_id halved = scaled_by(p, g, other, 0.5);
    if (halved != NO_VALUE) /* (x * 0.5) * bell */
        return pass_origin(p, halved) == x ? first->outputs[0] : NO_VALUE;
    node *second = pass_down(p, g, first->outputs[0], "Mul");
    if (second && pass_scalar(p, other, &half)) /* (0.5 * bell) * x */
        return pass_near(half, 0.5) && pass_origin(p, pass_other(p, second, first->outputs[0])) == x
                   ? second->outputs[0]
                   : NO_VALUE;
    if (pass_origin(p, other) != x)
        return NO_VALUE;
    if (second) /* (x * bell) * 0.5 */
        return pass_scalar(p, pass_other(p, second, first->outputs[0]), &half) && pass_near(half, 0.5)
                   ? second->outputs[0]
                   : NO_VALUE;
    second = pass_down(p, g, first->outputs[0], "Div");
    return second && pass_scalar(p, second->inputs[1], &half) && pass_near(half, 2) ? second->outputs[0] : NO_VALUE;
}

static void finish_gelu(pass_context *p, pass_group *g, node *bell, value_id x, const char *approximate)
{
    double one;
    node *sum = pass_down(p, g, bell->outputs[0], "Add");
    if (!sum || pass_beside_scalar(p, sum, &one) == NO_VALUE || one != 1)
        return;
    value_id output = half_times(p, g, x, sum);
    node *made = output == NO_VALUE ? NULL : pass_replace_group(p, g, bell, "Gelu", &x, 1, output);
    if (made)
        pass_attr_string(p, made, "approximate", approximate);
}

/* Matches v = factor * x^degree, as any tree of products and powers of a few nodes. */
static bool monomial(pass_context *p, pass_group *g, value_id v, value_id x, double *factor, int *degree, int depth)
{
    double c;
    if (pass_origin(p, v) == x) {
        ++*degree;
        return true;
    }
    if (pass_scalar(p, v, &c)) {
        *factor *= c;
        return true;
    }
    node *n = depth ? pass_up(p, g, v, "Mul") : NULL;
    if (n && n->input_count == 2)
        return monomial(p, g, n->inputs[0], x, factor, degree, depth - 1) &&
               monomial(p, g, n->inputs[1], x, factor, degree, depth - 1);
    n = pass_up(p, g, v, "Pow");
    if (n && n->input_count == 2 && pass_scalar(p, n->inputs[1], &c) && pass_origin(p, n->inputs[0]) == x &&
        (c == 2 || c == 3)) {
        *degree += (int)c;
        return true;
    }
    return false;
}

static bool is_monomial(pass_context *p, pass_group *g, value_id v, value_id x, double factor, int degree)
{
    double found = 1;
    int power = 0;
    pass_group tried = *g;
    if (!monomial(p, &tried, v, x, &found, &power, 4) || power != degree || !pass_near(found, factor))
        return false;
    *g = tried;
    return true;
}

static const double GELU_CUBE = 0.044715, GELU_SLOPE = 0.7978845608;

/* Matches sqrt(2/pi) * (x + 0.044715 x^3). Returns x, or NO_VALUE. */
static value_id tanh_argument(pass_context *p, pass_group *g, value_id v)
{
    value_id inner = scaled_by(p, g, v, GELU_SLOPE);
    node *sum = inner == NO_VALUE ? NULL : pass_up(p, g, inner, "Add");
    for (int i = 0; sum && sum->input_count == 2 && i < 2; i++) {
        if (is_monomial(p, g, sum->inputs[1 - i], pass_origin(p, sum->inputs[i]), GELU_CUBE, 3))
            return sum->inputs[i];
    }
    return NO_VALUE;
}

/* Matches (x * sqrt(2/pi)) * (1 + 0.044715 x^2), in any order. Returns x, or NO_VALUE. */
static value_id tanh_argument_factored(pass_context *p, pass_group *g, value_id v)
{
    node *product = pass_up(p, g, v, "Mul");
    for (int i = 0; product && product->input_count == 2 && i < 2; i++) {
        pass_group tried = *g;
        double one;
        node *sum = pass_up(p, &tried, product->inputs[i], "Add");
        value_id square = sum ? pass_beside_scalar(p, sum, &one) : NO_VALUE;
        value_id x = square == NO_VALUE ? NO_VALUE : scaled_by(p, &tried, product->inputs[1 - i], GELU_SLOPE);
        if (x != NO_VALUE && one == 1 && is_monomial(p, &tried, square, pass_origin(p, x), GELU_CUBE, 2)) {
            *g = tried;
            return x;
        }
    }
    return NO_VALUE;
}

static const double SQRT_HALF = 0.7071067812;

/* Matches x * 0.5 * erfc(-x * sqrt(1/2)), which TensorFlow writes. */
static void try_erfc_gelu(pass_context *p, node *n)
{
    pass_group g = {.count = 0};
    group_add(&g, n);
    value_id x = scaled_by(p, &g, n->inputs[0], -SQRT_HALF);
    if (x == NO_VALUE) {
        value_id negative = scaled_by(p, &g, n->inputs[0], SQRT_HALF);
        node *sign = negative == NO_VALUE ? NULL : pass_up(p, &g, negative, "Neg");
        x = sign ? sign->inputs[0] : NO_VALUE;
    }
    value_id output = x == NO_VALUE ? NO_VALUE : half_times(p, &g, x, n);
    node *made = output == NO_VALUE ? NULL : pass_replace_group(p, &g, n, "Gelu", &x, 1, output);
    if (made)
        pass_attr_string(p, made, "approximate", "none");
}

void pass_gelu(pass_context *p)
{
    PASS_FOR_EACH (p, n, "SpecialFunction")
        if (str_is(node_attr_string(n, "function", ""), "Erfc"))
            try_erfc_gelu(p, n);
    PASS_FOR_EACH (p, n, "Erf") {
        pass_group g = {.count = 0};
        group_add(&g, n);
        value_id x = scaled_by(p, &g, n->inputs[0], SQRT_HALF);
        if (x != NO_VALUE)
            finish_gelu(p, &g, n, x, "none");
    }
    PASS_FOR_EACH (p, n, "Tanh") {
        pass_group g = {.count = 0}, factored = {.count = 0};
        group_add(&g, n);
        group_add(&factored, n);
        value_id x = tanh_argument(p, &g, n->inputs[0]);
        if (x == NO_VALUE) {
            x = tanh_argument_factored(p, &factored, n->inputs[0]);
            g = factored;
        }
        if (x != NO_VALUE)
            finish_gelu(p, &g, n, x, "tanh");
    }
}

/* Matches `gate` times x, and replaces the group. */
static void times_self(pass_context *p, pass_group *g, node *gate, value_id x, const char *name)
{
    node *product = pass_down(p, g, gate->outputs[0], "Mul");
    value_id other = product ? pass_other(p, product, gate->outputs[0]) : NO_VALUE;
    if (other != NO_VALUE && pass_origin(p, other) == pass_origin(p, x))
        pass_replace_group(p, g, product, name, &x, 1, product->outputs[0]);
}

/* Runs on literal sources, too, where the node must say that it was one call. */
void pass_silu(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Sigmoid") {
        const node *reader = p->model->source.is_literal ? pass_only_reader(p, n->outputs[0]) : NULL;
        if (p->model->source.is_literal && !(reader && node_attr_int(reader, "eager_silu", 0)))
            continue;
        pass_group g = {.count = 0};
        group_add(&g, n);
        pass_group scaled = g;
        double factor;
        value_id x = pass_unscale(p, &scaled, n->inputs[0], &factor);
        if (factor == 1 && x != n->inputs[0]) /* Keras writes x * sigmoid(1 * x) */
            times_self(p, &scaled, n, x, "Silu");
        else
            times_self(p, &g, n, n->inputs[0], "Silu");
    }
}

/* Matches clip(x + 3, 0, 6) / 6. */
static void try_hard_sigmoid(pass_context *p, node *clip)
{
    double low = node_attr_real(clip, "min", -1), high = node_attr_real(clip, "max", -1), three;
    if (clip->input_count > 1)
        pass_scalar(p, clip->inputs[1], &low);
    if (clip->input_count > 2)
        pass_scalar(p, clip->inputs[2], &high);
    if (low != 0 || high != 6)
        return;
    pass_group g = {.count = 0};
    group_add(&g, clip);
    node *shift = pass_up(p, &g, clip->inputs[0], "Add");
    value_id x = shift ? pass_beside_scalar(p, shift, &three) : NO_VALUE;
    if (x == NO_VALUE || three != 3)
        return;
    node *next = pass_only_reader(p, clip->outputs[0]);
    double six;
    value_id other = next && pass_is(next, "Mul") ? pass_other(p, next, clip->outputs[0]) : NO_VALUE;
    node *last =
        other != NO_VALUE && pass_origin(p, other) == pass_origin(p, x) ? pass_only_reader(p, next->outputs[0]) : NULL;
    if (last) { /* x * clip(x + 3, 0, 6) / 6 */
        group_add(&g, next);
        group_add(&g, last);
        if ((pass_is(last, "Div") && pass_scalar(p, last->inputs[1], &six) && six == 6) ||
            (pass_is(last, "Mul") && pass_beside_scalar(p, last, &six) != NO_VALUE && pass_near(six, 1. / 6)))
            pass_replace_group(p, &g, clip, "HardSwish", &x, 1, last->outputs[0]);
        return;
    }
    if (!next || !((pass_is(next, "Div") && pass_scalar(p, next->inputs[1], &six) && six == 6) ||
                   (pass_is(next, "Mul") && pass_beside_scalar(p, next, &six) != NO_VALUE && pass_near(six, 1. / 6))))
        return;
    group_add(&g, next);
    node *made = pass_replace_group(p, &g, clip, "HardSigmoid", &x, 1, next->outputs[0]);
    if (made) {
        pass_attr_real(p, made, "alpha", 1. / 6);
        pass_attr_real(p, made, "beta", 0.5);
    }
}

void pass_hard_swish(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Clip")
        try_hard_sigmoid(p, n);
    PASS_FOR_EACH (p, n, "HardSigmoid") {
        if (!pass_near(node_attr_real(n, "alpha", 0.2), 1. / 6) || node_attr_real(n, "beta", 0.5) != 0.5)
            continue;
        pass_group g = {.count = 0};
        group_add(&g, n);
        times_self(p, &g, n, n->inputs[0], "HardSwish");
    }
}

void pass_mish(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Log") {
        pass_group g = {.count = 0};
        group_add(&g, n);
        double one;
        node *sum = pass_up(p, &g, n->inputs[0], "Add");
        value_id power = sum ? pass_beside_scalar(p, sum, &one) : NO_VALUE;
        node *exponential = power == NO_VALUE || one != 1 ? NULL : pass_up(p, &g, power, "Exp");
        if (exponential)
            pass_replace_group(p, &g, n, "Softplus", &exponential->inputs[0], 1, n->outputs[0]);
    }
    PASS_FOR_EACH (p, n, "Tanh") {
        pass_group g = {.count = 0};
        group_add(&g, n);
        node *softplus = pass_up(p, &g, n->inputs[0], "Softplus");
        if (softplus)
            times_self(p, &g, n, softplus->inputs[0], "Mish");
    }
}
