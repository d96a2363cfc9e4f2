/* pass_attention.c: recovers scaled dot-product attention: softmax(q k^T * scale + bias) v.
 *
 * PyTorch runs the same arithmetic as one kernel (F.scaled_dot_product_attention) or step by step. The way the exporter
 * wrote it decides:
 *   - q and k are both scaled, by the root of the scale: an exported F.scaled_dot_product_attention. One kernel.
 *   - only q is scaled: the replacement that libraries write for the fused operator, on (N,heads,L,E) or on maps
 *     (N,heads,E,L). One kernel, except:
 *       . maps without a heads axis (EfficientViT-M): fused kernels need four dimensions;
 *       . more than two leading dimensions (Hiera, NesT, Twins): PyTorch falls back to steps;
 *       . a single query reshaped into heads (VOLO's class attention): the fused operator gets transposed queries;
 *       . Swin's window attention with a relative position table (packed q, k, v; windows in the batch): it adds bias
 *       and mask by hand. If one block of a network does so, its other blocks with a bias do too.
 *   - the scores are scaled: step by step, except if q, k and v are unpacked from one product in the order of the fused
 *     operator (MetaFormer) and no block of the network mixes its scores by hand.
 *   - nothing is scaled, or the scale is learned: step by step.
 *   - einsum products with heads after the length, (N,L,heads,E): Keras, which has an operator for it. One kernel.
 * The optional pass `explicit-attention` merges step-by-step attention as well, for runtimes that search for it. */
#include "graph/pass/pass.h"

typedef enum attention_style { STYLE_UNSCALED, STYLE_BOTH, STYLE_QUERY, STYLE_SCORES } attention_style;

typedef struct candidate {
    node *softmax;
    pass_group group;
    value_id q, k, v, bias;
    value_id output;
    attention_style style;
    double scale;
    bool key_transposed; /* k is (…,E,L). */
    bool is_upright;     /* q, k, v and the result are (…,E,L): attention on NCHW maps */
    bool is_packed;      /* q, k, v are parts of one tensor (3,N,heads,L,E). */
    bool is_windowed;    /* The first dimension is not the batch. */
    bool is_one_query;   /* True if there is a single query, reshaped into heads without a transpose. */
    bool is_reshaped;    /* The scores are reshaped for the mask: Swin's shifted windows. */
    bool is_whole;       /* True if all operators from q to the product with v were found. */
    bool has_table;      /* The bias is looked up in a table of relative positions. */
} candidate;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static bool swaps_last_two(const node *transpose)
{
    int32_t rank;
    const int64_t *perm = node_attr_ints(transpose, "perm", &rank);
    if (!perm || rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1)
        return false;
    for (int32_t i = 0; i < rank - 2; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/* Finds k from k^T. Newer exporters write the transpose between two reshapes. Sets key_transposed if only k^T
 * exists. */
static void find_key(pass_context *p, candidate *c, value_id transposed)
{
    c->k = transposed;
    c->key_transposed = true;
    pass_group tried = c->group;
    node *t = pass_up(p, &tried, transposed, "Transpose");
    if (t && swaps_last_two(t)) {
        c->group = tried;
        c->k = t->inputs[0];
        c->key_transposed = false;
        return;
    }
    tried = c->group;
    node *after = pass_up(p, &tried, transposed, "Reshape");
    t = after ? pass_up(p, &tried, after->inputs[0], "Transpose") : NULL;
    node *before = t && swaps_last_two(t) ? pass_up(p, &tried, t->inputs[0], "Reshape") : NULL;
    value_id k = before ? before->inputs[0] : NO_VALUE;
    if (k != NO_VALUE && pass_dim(p, k, -1) == pass_dim(p, transposed, -2) &&
        pass_dim(p, k, -2) == pass_dim(p, transposed, -1) && pass_dim(p, k, -1) != NUM_UNKNOWN) {
        c->group = tried;
        c->k = k;
        c->key_transposed = false;
    }
}

/* ---- how it is written ------------------------------------------------------------------------------------------- */

/* Returns the tensor that v slices along the first axis, by any operator; NO_VALUE if there is none. */
static value_id unpacked_from(pass_context *p, value_id v)
{
    static const char *const SLICES[] = {"Squeeze", "Split", "Slice", "Gather"};
    for (int step = 0; step < 3; step++) {
        node *n = pass_maker(p, pass_origin(p, v));
        bool is_slice = false;
        for (size_t i = 0; n && i < sizeof SLICES / sizeof *SLICES; i++)
            is_slice |= pass_is(n, SLICES[i]);
        if (!is_slice)
            return n && pass_is(n, "Transpose") ? n->outputs[0] : NO_VALUE;
        v = n->inputs[0];
    }
    return NO_VALUE;
}

/* Matches Linear, Reshape (N,L,3,heads,E), Transpose (3,N,heads,L,E), three slices. */
static bool is_packed(pass_context *p, const candidate *c)
{
    static const int64_t PACKED[] = {2, 0, 3, 1, 4};
    value_id from = unpacked_from(p, c->q);
    if (from == NO_VALUE || from != unpacked_from(p, c->k) || from != unpacked_from(p, c->v))
        return false;
    int32_t count;
    const int64_t *perm = node_attr_ints(pass_maker(p, from), "perm", &count);
    return perm && count == 5 && memcmp(perm, PACKED, sizeof PACKED) == 0;
}

/* True if the bias is looked up in a table (positions, heads), or stored as the result of such a lookup. */
static bool has_table(pass_context *p, value_id bias)
{
    static const char *const VIEWS[] = {"Unsqueeze", "Transpose", "Reshape", "Squeeze"};
    enum { MAX_VIEWS = 8 };
    for (int step = 0; step < MAX_VIEWS && bias != NO_VALUE; step++) {
        bias = pass_origin(p, bias);
        const node *n = pass_maker(p, bias);
        if (!n)
            return pass_value(p, bias)->is_initializer;
        if (pass_is(n, "Gather"))
            return n->input_count == 2 && p->is_static[n->inputs[0]] && pass_value(p, n->inputs[0])->rank == 2;
        bool is_view = false;
        for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
            is_view |= pass_is(n, VIEWS[i]);
        if (!is_view)
            return false;
        bias = n->inputs[0];
    }
    return false;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* True if v comes from a product of two activations through a few pointwise nodes and reshapes. Distinguishes scores
 * from bias. */
static bool holds_scores(pass_context *p, value_id v)
{
    static const char *const STEPS[] = {"Mul", "Div", "Reshape", "Cast", "Add", "Identity"};
    enum { MAX_STEPS = 8 };
    for (int step = 0; step < MAX_STEPS; step++) {
        const node *n = pass_maker(p, v);
        if (!n || n->input_count < 1)
            return false;
        if (pass_is(n, "MatMul"))
            return true;
        bool passes = false;
        for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
            passes |= pass_is(n, STEPS[i]);
        if (!passes)
            return false;
        v = n->inputs[0];
    }
    return false;
}

/* Returns the index of the Where input that has the scores, if the other input is a large negative number (GPT-2:
 * -10000); otherwise 0. */
static int masked_side(pass_context *p, const node *n)
{
    double number;
    for (int i = 1; i <= 2; i++)
        if (pass_scalar(p, n->inputs[3 - i], &number) && number <= -1e4 && holds_scores(p, n->inputs[i]))
            return i;
    return 0;
}

/* Walks from the softmax up to q k^T. Returns the product, or NULL. */
static node *find_scores(pass_context *p, candidate *c)
{
    enum { MAX_STEPS = 8 };
    value_id at = c->softmax->inputs[0];
    for (int step = 0; step < MAX_STEPS; step++) {
        node *n = pass_up(p, &c->group, at, "MatMul");
        if (n)
            return n;
        double factor;
        value_id before = pass_unscale(p, &c->group, at, &factor);
        if (before != at) {
            c->scale *= factor;
            c->style = STYLE_SCORES;
            at = before;
            continue;
        }
        if ((n = pass_up(p, &c->group, at, "Reshape")) != NULL) {
            c->is_reshaped = true;
            at = n->inputs[0];
            continue;
        }
        /* A Where between the scores and a large negative number is a mask. */
        n = pass_up(p, &c->group, at, "Where");
        int chosen = n && n->input_count == 3 ? masked_side(p, n) : 0;
        if (chosen && c->bias == NO_VALUE) {
            c->bias = n->inputs[0];
            at = n->inputs[chosen];
            continue;
        }
        n = pass_up(p, &c->group, at, "Add");
        if (!n || n->input_count != 2)
            return NULL;
        int side = holds_scores(p, n->inputs[0]) ? 0 : 1;
        c->is_reshaped |= c->bias != NO_VALUE; /* A single bias input cannot hold the sum of two. */
        c->bias = n->inputs[1 - side];
        at = n->inputs[side];
    }
    return NULL;
}

/* Matches (q * scale)^T k with q and k as (…,E,L). */
static bool find_upright_operands(pass_context *p, candidate *c, const node *product)
{
    double factor;
    pass_group tried = c->group;
    node *t = pass_up(p, &tried, product->inputs[0], "Transpose");
    if (!t || !swaps_last_two(t))
        return false;
    value_id q = pass_unscale(p, &tried, t->inputs[0], &factor);
    if (q == t->inputs[0] || c->style != STYLE_UNSCALED)
        return false;
    c->group = tried;
    c->q = q;
    c->k = product->inputs[1];
    c->scale *= factor;
    c->style = STYLE_QUERY;
    return true;
}

/* Returns the softmax's output. If a mask may hide all keys, PyTorch first replaces NaN by zero. */
static value_id find_weights(pass_context *p, candidate *c)
{
    value_id v = c->softmax->outputs[0];
    node *test = NULL, *choice = NULL;
    for (int32_t i = p->reader_start[v]; i < p->reader_start[v + 1] && i < p->reader_start[v] + 2; i++) {
        node *n = &p->net->nodes.items[p->readers[i]];
        if (pass_is(n, "IsNaN"))
            test = n;
        else if (pass_is(n, "Where"))
            choice = n;
    }
    if (!test || !choice || choice->inputs[0] != test->outputs[0] || choice->inputs[2] != v)
        return v;
    group_add(&c->group, test);
    group_add(&c->group, choice);
    return choice->outputs[0];
}

/* Finds v times the transposed weights: (…,E,L). Returns the product, or NULL. */
static node *find_upright_result(pass_context *p, candidate *c, value_id weights)
{
    node *t = pass_down(p, &c->group, weights, "Transpose");
    node *last = t && swaps_last_two(t) ? pass_down(p, &c->group, t->outputs[0], "MatMul") : NULL;
    if (!last || pass_origin(p, last->inputs[1]) != pass_origin(p, t->outputs[0]))
        return NULL;
    c->v = last->inputs[0];
    return last;
}

/* Undoes the scaling of q and k. */
static void find_operands(pass_context *p, candidate *c, const node *product)
{
    double q_factor, k_factor, before_transpose;
    pass_group tried = c->group;
    value_id q = pass_unscale(p, &tried, product->inputs[0], &q_factor);
    value_id kt = pass_unscale(p, &tried, product->inputs[1], &k_factor);
    c->group = tried;
    c->q = q;
    find_key(p, c, kt);
    if (k_factor == 1 && !c->key_transposed) { /* some networks scale k before they transpose it */
        tried = c->group;
        value_id k = pass_unscale(p, &tried, c->k, &before_transpose);
        if (q_factor != 1 && before_transpose == q_factor) {
            c->group = tried;
            c->k = k;
            k_factor = before_transpose;
        }
    }
    if (q != product->inputs[0] && k_factor == 1 && c->style == STYLE_UNSCALED)
        c->style = STYLE_QUERY;
    else if (q != product->inputs[0] && k_factor == q_factor && c->style == STYLE_UNSCALED)
        c->style = STYLE_BOTH;
    c->scale *= q_factor * k_factor;
}

static bool read_candidate(pass_context *p, node *softmax, candidate *c)
{
    *c = (candidate){.softmax = softmax, .q = NO_VALUE, .bias = NO_VALUE, .scale = 1};
    group_add(&c->group, softmax);
    const value *scores = pass_value(p, softmax->inputs[0]);
    int64_t axis = node_attr_int(softmax, "axis", softmax->opset < 13 ? 1 : -1);
    if (!scores || scores->rank < 3 || (axis < 0 ? axis + scores->rank : axis) != scores->rank - 1)
        return false;
    node *product = find_scores(p, c);
    if (!product || p->is_static[product->inputs[1]])
        return false;
    c->is_upright = find_upright_operands(p, c, product);
    if (!c->is_upright)
        find_operands(p, c, product);
    value_id weights = find_weights(p, c);
    node *last = c->is_upright ? find_upright_result(p, c, weights) : pass_down(p, &c->group, weights, "MatMul");
    c->is_whole = last && (c->is_upright || pass_origin(p, last->inputs[0]) == pass_origin(p, weights));
    if (!c->is_whole)
        return true;
    if (!c->is_upright)
        c->v = last->inputs[1];
    c->output = last->outputs[0];
    /* Queries must not be broadcast, because the cost uses the leading dimensions of q; keys and values may be. */
    const value *q = pass_value(p, c->q), *y = pass_value(p, c->output);
    c->is_whole = q->rank >= 3 && q->rank == y->rank;
    for (int i = 0; c->is_whole && i < q->rank - 2; i++)
        c->is_whole = q->dims[i] == y->dims[i];
    c->is_packed = is_packed(p, c);
    const node *maker = pass_maker(p, pass_origin(p, c->q));
    c->is_one_query = maker && pass_is(maker, "Reshape") && pass_dim(p, c->q, -2) == 1;
    c->has_table = c->bias != NO_VALUE && has_table(p, c->bias);
    num batch = p->net->inputs.count ? pass_dim(p, p->net->inputs.items[0], 0) : NUM_UNKNOWN;
    c->is_windowed = q->rank > 0 && q->dims[0] != batch;
    return true;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

typedef struct habits {
    bool adds_bias_by_hand;     /* The network has a Swin-like block. */
    bool scales_scores_by_hand; /* A block scales its scores and applies more than a softmax. */
} habits;

static void note_habits(habits *h, const candidate *c)
{
    if (c->style == STYLE_QUERY && c->bias != NO_VALUE &&
        (c->is_reshaped || (c->is_whole && c->is_windowed && c->is_packed && c->has_table)))
        h->adds_bias_by_hand = true;
    if (c->style == STYLE_SCORES && !c->is_whole)
        h->scales_scores_by_hand = true;
}

static bool is_one_kernel(pass_context *p, const candidate *c, const habits *h)
{
    int rank = c->is_whole ? pass_value(p, c->q)->rank : 0;
    if (!c->is_whole || c->is_reshaped || rank > 4 || (c->is_upright && rank < 4))
        return false;
    switch (c->style) {
    case STYLE_BOTH:
        return true;
    case STYLE_QUERY:
        return !c->is_one_query && (c->bias == NO_VALUE || !h->adds_bias_by_hand);
    case STYLE_SCORES:
        return c->is_packed && c->bias == NO_VALUE && !h->scales_scores_by_hand;
    case STYLE_UNSCALED:
        break;
    }
    return false;
}

static void fuse(pass_context *p, const candidate *c)
{
    value_id inputs[4] = {c->q, c->k, c->v, c->bias};
    node *made = pass_replace_group(p, &c->group, c->softmax, "ScaledDotProductAttention", inputs,
                                    c->bias == NO_VALUE ? 3 : 4, c->output);
    if (!made)
        return;
    pass_attr_real(p, made, "scale", c->scale);
    if (c->key_transposed)
        pass_attr_int(p, made, "key_transposed", 1);
    if (c->is_upright)
        pass_attr_int(p, made, "upright", 1);
}

/* ---- written as sums over labels --------------------------------------------------------------------------------- */

enum { LABELS = 4 };

/* Reads the labels of an equation such as "aecd,abcd->acbe"; false for other forms. */
static bool read_labels(const node *n, char terms[3][LABELS])
{
    static const char FORM[] = "aaaa,aaaa->aaaa";
    str s = node_attr_string(n, "equation", "");
    size_t at = 0;
    int counts[3] = {0}, term = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ' ')
            continue;
        bool is_label = (s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z');
        if (at >= sizeof FORM - 1 || (FORM[at] == 'a' ? !is_label : s.ptr[i] != FORM[at]))
            return false;
        term += FORM[at] == ',' || FORM[at] == '>';
        if (is_label)
            terms[term][counts[term]++] = s.ptr[i];
        at++;
    }
    return at == sizeof FORM - 1 && n->input_count == 2;
}

/* True if the term consists of batch, length, heads and head size, in this order. */
static bool is_term(const char *term, char batch, char length, char heads, char size)
{
    return term[0] == batch && term[1] == length && term[2] == heads && term[3] == size;
}

/* Finds a mask: a large negative number that is added to, or replaces, the scores of hidden keys. Returns the
 * scores. */
static value_id find_added_mask(pass_context *p, candidate *c, value_id at)
{
    node *n = pass_up(p, &c->group, at, "Add");
    if (!n || n->input_count != 2)
        return at;
    for (int i = 0; i < 2; i++) {
        const node *maker = pass_maker(p, pass_origin(p, n->inputs[i]));
        if (maker && (pass_is(maker, "Einsum") || pass_is(maker, "Mul") || pass_is(maker, "Div"))) {
            c->bias = n->inputs[1 - i];
            return n->inputs[i];
        }
    }
    return NO_VALUE;
}

/* Keras attention on (N,L,heads,E): k, q → (N,heads,queries,keys); softmax; times v → (N,L,heads,E). */
static bool read_einsum_candidate(pass_context *p, node *softmax, candidate *c)
{
    *c = (candidate){.softmax = softmax, .q = NO_VALUE, .bias = NO_VALUE, .scale = 1};
    group_add(&c->group, softmax);
    char in[3][LABELS], out[3][LABELS];
    double factor;
    value_id at = find_added_mask(p, c, softmax->inputs[0]);
    value_id scores = at == NO_VALUE ? NO_VALUE : pass_unscale(p, &c->group, at, &factor);
    node *first = scores == NO_VALUE ? NULL : pass_up(p, &c->group, scores, "Einsum");
    node *last = first ? pass_down(p, &c->group, softmax->outputs[0], "Einsum") : NULL;
    if (!last || !read_labels(first, in) || !read_labels(last, out))
        return false;
    c->scale = factor;
    const char *s = in[2], *w = out[0]; /* both (N, heads, queries, keys) */
    for (int i = 0; i < 2; i++) {
        char size = in[i][3];
        if (is_term(in[i], s[0], s[2], s[1], size) && is_term(in[1 - i], s[0], s[3], s[1], size)) {
            c->q = first->inputs[i];
            c->k = first->inputs[1 - i];
        }
    }
    c->v = last->inputs[1];
    c->output = last->outputs[0];
    bool is_back = is_term(out[1], w[0], w[3], w[1], out[1][3]) && is_term(out[2], w[0], w[2], w[1], out[1][3]);
    return c->q != NO_VALUE && is_back && pass_origin(p, last->inputs[0]) == pass_origin(p, softmax->outputs[0]);
}

static void fuse_einsums(pass_context *p)
{
    candidate c;
    PASS_FOR_EACH (p, n, "Softmax") {
        if (!read_einsum_candidate(p, n, &c))
            continue;
        double factor;
        value_id q = pass_unscale(p, &c.group, c.q, &factor); /* older Keras versions scale the queries */
        value_id inputs[4] = {q, c.k, c.v, c.bias};
        node *made = pass_replace_group(p, &c.group, c.softmax, "ScaledDotProductAttention", inputs,
                                        c.bias == NO_VALUE ? 3 : 4, c.output);
        if (!made)
            continue;
        pass_attr_real(p, made, "scale", c.scale * factor);
        pass_attr_int(p, made, "heads_behind", 1);
    }
}

void pass_attention(pass_context *p)
{
    fuse_einsums(p);
    habits h = {0};
    candidate c;
    PASS_FOR_EACH (p, n, "Softmax")
        if (read_candidate(p, n, &c))
            note_habits(&h, &c);
    PASS_FOR_EACH (p, n, "Softmax")
        if (read_candidate(p, n, &c) && is_one_kernel(p, &c, &h))
            fuse(p, &c);
}

void pass_explicit_attention(pass_context *p)
{
    candidate c;
    PASS_FOR_EACH (p, n, "Softmax")
        if (read_candidate(p, n, &c) && c.is_whole && !c.is_reshaped)
            fuse(p, &c);
}
