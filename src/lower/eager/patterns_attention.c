/* patterns_attention.c: finds attention that PyTorch does not run as the fused operator of rank 4. */
#include "graph/infer.h"
#include "lower/eager/eager.h"

/* ---- attention without a kernel ---------------------------------------------------------------------------------- */

/* Lowers F.scaled_dot_product_attention of rank above 4, which PyTorch runs as separate kernels. */
typedef struct attention_steps {
    const node *scale, *turn, *scores, *softmax;
} attention_steps;

static bool read_steps(const eager *e, const node *last, attention_steps *s)
{
    s->softmax = eager_own_maker_of(e, last->inputs[0], "Softmax");
    s->scores = s->softmax ? eager_own_maker_of(e, s->softmax->inputs[0], "MatMul") : NULL;
    s->scale = s->scores ? eager_own_maker_of(e, s->scores->inputs[0], "Mul") : NULL;
    s->turn = s->scores ? eager_own_maker_of(e, s->scores->inputs[1], "Transpose") : NULL;
    double x;
    return s->scale && s->turn && eager_value_is_number((eager *)e, s->scale->inputs[1], &x);
}

static void lower_attention_steps(eager *e)
{
    attention_steps s;
    const node *last = e->node;
    read_steps(e, last, &s);
    tensor_id v = eager_tensor_of(e, last->inputs[1]);
    dtype type;
    tensor_id scores = eager_attention_scores(e, eager_tensor_of(e, s.scale->inputs[0]),
                                              eager_tensor_of(e, s.turn->inputs[0]), &v, &type);
    extent x = tensor_extent(e, scores);
    extent_contiguous(&x);
    tensor_id weights = eager_launch_new(e, "_safe_softmax", &scores, 1, tensor_dtype(e, scores), &x);
    if (tensor_dtype(e, weights) != type)
        eager_cast(e, weights, type); /* PyTorch also casts the weights, an output that nothing uses. */
    tensor_id y = eager_matmul(e, weights, v, false);
    eager_set_result(e, 0, eager_cast(e, y, type));
}

void eager_find_attention_steps(eager *e, const node *last)
{
    attention_steps s;
    enum { MOST_DIMENSIONS = 4 }; /* Largest rank of the fused kernels. */
    if (e->options->explicit_attention || e->net->values.items[last->outputs[0]].rank <= MOST_DIMENSIONS ||
        !read_steps(e, last, &s))
        return;
    e->has_steps = true;
    eager_absorb(e, s.scale);
    eager_absorb(e, s.turn);
    eager_absorb(e, s.scores);
    eager_absorb(e, s.softmax);
    eager_replace_rule(e, last, lower_attention_steps);
}

/* ---- differential attention -------------------------------------------------------------------------------------- */

/* Lowers differential attention, (softmax(q1 k1^T) - lambda softmax(q2 k2^T)) v. Exporters compute both maps in one
 * product over twice the heads, in which the two heads of a pair are adjacent. PyTorch calls the fused operator for
 * each map and subtracts the results. */
typedef struct differential {
    const node *scale, *scores, *softmax, *pairs, *half[2], *times, *minus;
    value_id lambda;
} differential;

static bool read_differential(const eager *e, const node *last, differential *d)
{
    *d = (differential){.lambda = NO_VALUE};
    d->minus = eager_own_maker_of(e, last->inputs[0], "Sub");
    d->half[0] = d->minus ? eager_own_maker_of(e, d->minus->inputs[0], "Gather") : NULL;
    d->times = d->half[0] ? eager_own_maker_of(e, d->minus->inputs[1], "Mul") : NULL;
    for (int side = 0; d->times && !d->half[1] && side < 2; side++) {
        d->half[1] = eager_own_maker_of(e, d->times->inputs[side], "Gather");
        d->lambda = d->times->inputs[1 - side];
    }
    if (!d->half[1] || d->half[0]->inputs[0] != d->half[1]->inputs[0] || e->readers[d->half[0]->inputs[0]] != 2)
        return false;
    d->pairs = eager_maker_of(e, d->half[0]->inputs[0], "Reshape");
    d->softmax = d->pairs ? eager_own_maker_of(e, d->pairs->inputs[0], "Softmax") : NULL;
    d->scores = d->softmax ? eager_own_maker_of(e, d->softmax->inputs[0], "MatMul") : NULL;
    d->scale = d->scores ? eager_own_maker_of(e, d->scores->inputs[0], "Mul") : NULL;
    double x;
    return d->scale && eager_value_is_number((eager *)e, d->scale->inputs[1], &x);
}

static bool has_rank(const value *v, int rank)
{
    return v->rank == rank && value_shape_known(v);
}

/* Returns the index of the lookup along the axis of pairs; -1 if there is none. */
static int64_t picked(const eager *e, const node *lookup)
{
    int32_t count;
    const int64_t *index = value_ints(e->net, &e->net->values.items[lookup->inputs[1]], &count);
    bool is_one = index && count == 1 && has_rank(&e->net->values.items[lookup->outputs[0]], 4);
    return is_one && node_attr_int(lookup, "axis", 0) == 2 ? index[0] : -1;
}

static bool is_one_element(const value *v)
{
    bool is_one = value_shape_known(v);
    for (int i = 0; is_one && i < v->rank; i++)
        is_one = v->dims[i] == 1;
    return is_one;
}

/* True if the halves are the two maps of each pair of heads, and lambda is a scalar. */
static bool takes_pairs_apart(const eager *e, const node *last, const differential *d)
{
    const value *items = e->net->values.items, *pairs = &items[d->pairs->outputs[0]];
    const value *scores = &items[d->scores->outputs[0]], *q = &items[d->scale->inputs[0]];
    const value *k = &items[d->scores->inputs[1]], *v = &items[last->inputs[1]];
    if (!has_rank(pairs, 5) || !has_rank(scores, 4) || !has_rank(q, 4) || !has_rank(k, 4) || !has_rank(v, 4) ||
        pairs->dims[2] != 2 || pairs->dims[1] != scores->dims[1] / 2 || pairs->dims[3] != scores->dims[2])
        return false;
    for (int i = 0; i < 2; i++)
        if (q->dims[i] != scores->dims[i] || k->dims[i] != scores->dims[i] || v->dims[i] != pairs->dims[i])
            return false;
    int64_t axis = node_attr_int(d->softmax, "axis", d->softmax->opset < 13 ? 1 : -1);
    return (axis == -1 || axis == 3) && picked(e, d->half[0]) + picked(e, d->half[1]) == 1 &&
           is_one_element(&items[d->lambda]);
}

/* Splits (N, 2 heads, L, E) into views of the first and second head of each pair, (N, heads, L, E). */
static void unbind_pairs(eager *e, tensor_id t, tensor_id halves[2])
{
    extent x = tensor_extent(e, t);
    const int64_t dims[] = {x.dims[0], x.dims[1] / 2, 2, x.dims[2], x.dims[3]};
    t = eager_reshape(e, t, 5, dims);
    extent half = tensor_extent(e, t);
    half.dims[2] = 1;
    for (int i = 0; i < 2; i++)
        halves[i] = eager_view_as(e, "split", t, &half);
    x.dims[1] = dims[1];
    for (int i = 0; i < 2; i++)
        halves[i] = eager_reshape(e, halves[i], 4, x.dims);
}

/* Appends exp(sum(a * b)) for two parameter vectors a and b. */
static tensor_id exp_of_product(eager *e, int64_t width)
{
    extent x = {.rank = 1, .dims = {width}, .strides = {1}}, one = {.rank = 0};
    tensor_id pair[2];
    for (int i = 0; i < 2; i++) {
        pair[i] = eager_tensor_new(e, e->weight_dtype, &x);
        e->out->tensors.items[pair[i]].is_weight = true;
    }
    tensor_id product = eager_binary(e, "mul", pair[0], pair[1]);
    tensor_id sum = eager_launch_new(e, "sum", &product, 1, tensor_dtype(e, product), &one);
    return eager_unary(e, "exp", eager_cast(e, sum, DT_FLOAT32));
}

/* Computes lambda = exp(a b) - exp(c d) + constant in every pass. The exporter computed it in advance, so the file
 * has only the result. */
static tensor_id lambda_of(eager *e, value_id v, int64_t width)
{
    const value *val = &e->net->values.items[v];
    bool is_known = e->is_static[v] && val->producer == NO_NODE;
    if (!is_known)
        return eager_tensor_of(e, v);
    tensor_id first = exp_of_product(e, width), second = exp_of_product(e, width);
    return eager_unary(e, "add", eager_binary(e, "sub", first, second));
}

static void lower_differential(eager *e)
{
    differential d;
    read_differential(e, e->node, &d);
    tensor_id queries = eager_tensor_of(e, d.scale->inputs[0]), v = eager_tensor_of(e, e->node->inputs[1]), q[2], k[2];
    tensor_id lambda = lambda_of(e, d.lambda, tensor_at(e, queries)->dims[3]);
    if (!tensor_at(e, lambda)->is_number)
        lambda = eager_cast(e, lambda, tensor_dtype(e, queries));
    unbind_pairs(e, queries, q);
    unbind_pairs(e, eager_transpose_last(e, eager_tensor_of(e, d.scores->inputs[1])), k);
    tensor_id first = eager_attention(e, q[0], k[0], v, NO_TENSOR),
              second = eager_attention(e, q[1], k[1], v, NO_TENSOR);
    eager_set_result(e, 0, eager_binary(e, "sub", first, eager_binary(e, "mul", lambda, second)));
}

/* Not for engines, which run the file as written. */
void eager_find_differential(eager *e, const node *last)
{
    differential d;
    if (e->options->explicit_attention || e->options->runtime == RUNTIME_ENGINE || !read_differential(e, last, &d) ||
        !takes_pairs_apart(e, last, &d))
        return;
    const node *inner[] = {d.scale, d.scores, d.softmax, d.pairs, d.half[0], d.half[1], d.times, d.minus};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        eager_absorb(e, inner[i]);
    eager_replace_rule(e, last, lower_differential);
}

/* ---- nn.MultiheadAttention --------------------------------------------------------------------------------------- */

/* Lowers sequence-first attention: (L,N,C) → (L,N,3C), split in three; each part (L,N·heads,E) is transposed to
 * (N·heads,L,E). */
typedef struct multihead {
    const node *packed, *cut[3], *split[3], *turn[3];
    /* Nodes of batch-first attention: it is transposed before and after, and without casts it is a single operator. */
    const node *enter, *leave, *flatten, *project, *unflatten, *back;
    int64_t length, batch, heads, width;
} multihead;

static bool read_sizes(const eager *e, multihead *m)
{
    const value *packed = &e->net->values.items[m->packed->outputs[0]];
    const value *split = &e->net->values.items[m->split[0]->outputs[0]];
    if (packed->rank != 3 || split->rank != 3 || !value_shape_known(packed) || !value_shape_known(split))
        return false;
    m->length = packed->dims[0];
    m->batch = packed->dims[1];
    m->width = split->dims[2];
    if (m->batch < 1 || m->width < 1 || split->dims[1] % m->batch != 0)
        return false;
    m->heads = split->dims[1] / m->batch;
    return packed->dims[2] == mul_wrapping(mul_wrapping(3, m->heads), m->width);
}

static bool read_multihead(const eager *e, const node *attention, multihead *m)
{
    *m = (multihead){.packed = NULL};
    if (attention->input_count != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        m->turn[i] = eager_own_maker_of(e, attention->inputs[i], "Transpose");
        m->split[i] = m->turn[i] ? eager_own_maker_of(e, m->turn[i]->inputs[0], "Reshape") : NULL;
        value_id part = m->split[i] ? m->split[i]->inputs[0] : NO_VALUE;
        m->cut[i] = eager_own_maker_of(e, part, "Slice") ? eager_own_maker_of(e, part, "Slice")
                                                         : eager_own_maker_of(e, part, "Split");
        const node *packed = m->cut[i] ? eager_maker_of(e, m->cut[i]->inputs[0], "Linear") : NULL;
        if (!packed || (m->packed && m->packed != packed))
            return false;
        m->packed = packed;
    }
    return read_sizes(e, m);
}

static const node *only_reader(const eager *e, const node *n, const char *op)
{
    const node *reader = n && e->readers[n->outputs[0]] == 1 ? eager_reader_of(e, n->outputs[0]) : NULL;
    return reader && node_is(reader, op) ? reader : NULL;
}

static bool is_batch_first(const eager *e, const node *attention, multihead *m)
{
    m->enter = eager_own_maker_of(e, m->packed->inputs[0], "Transpose");
    m->leave = only_reader(e, attention, "Transpose");
    m->flatten = only_reader(e, m->leave, "Reshape");
    m->project = only_reader(e, m->flatten, "Linear");
    m->unflatten = only_reader(e, m->project, "Reshape");
    m->back = only_reader(e, m->unflatten, "Transpose");
    return m->enter && m->back && m->packed->input_count == 3 && m->project->input_count == 3;
}

/* Copies the packed product to make queries, keys and values contiguous. */
static void lower_multihead(eager *e)
{
    multihead m;
    read_multihead(e, e->node, &m);
    int64_t channels = mul_wrapping(m.heads, m.width);
    tensor_id packed = eager_tensor_of(e, m.packed->outputs[0]);
    packed = eager_reshape(e, packed, 4, (const int64_t[]){m.length, m.batch, 3, channels});
    packed = eager_clone(e, eager_permute(e, packed, (const int64_t[]){2, 0, 1, 3}));
    extent heads = {.rank = 4,
                    .dims = {m.batch, m.heads, m.length, m.width},
                    .strides = {channels, m.width, mul_wrapping(m.batch, channels), 1}};
    tensor_id parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = eager_view_as(e, "select", packed, &heads);
    eager_set_result(e, 0, eager_attention(e, parts[0], parts[1], parts[2], NO_TENSOR));
}

static void lower_native_multihead(eager *e)
{
    multihead m;
    const node *unflatten = eager_maker_of(e, e->node->inputs[0], "Reshape");
    const node *project = eager_maker_of(e, unflatten->inputs[0], "Linear");
    const node *flatten = eager_maker_of(e, project->inputs[0], "Reshape");
    const node *leave = eager_maker_of(e, flatten->inputs[0], "Transpose");
    const node *core = eager_maker_of(e, leave->inputs[0], "ScaledDotProductAttention");
    if (!core || !read_multihead(e, core, &m))
        return; /* Cannot fail, because it matched when the pattern was found. */
    tensor_id from = eager_tensor_of(e, eager_maker_of(e, m.packed->inputs[0], "Transpose")->inputs[0]);
    tensor_id inputs[7] = {from, from, from, eager_layer_weight(e, m.packed), eager_tensor_of(e, m.packed->inputs[2])};
    inputs[5] = eager_layer_weight(e, project);
    inputs[6] = eager_tensor_of(e, project->inputs[2]);
    extent x = eager_output_extent(e, 0);
    tensor_id made = eager_launch_new(e, "_native_multi_head_attention", inputs, 7, tensor_dtype(e, from), &x);
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    double channels = (double)m.heads * (double)m.width, rows = (double)m.length * (double)m.batch;
    double macs = rows * channels * (4 * channels + 2 * (double)m.length);
    k->macs = macs < 4e18 ? (int64_t)macs : INT64_MAX;
    k->flops = macs < 4e18 ? 2 * k->macs : INT64_MAX;
    eager_set_result(e, 0, made);
}

void eager_find_multihead(eager *e, const node *core)
{
    multihead m;
    if (e->options->explicit_attention || !read_multihead(e, core, &m))
        return;
    for (int i = 0; i < 3; i++) {
        eager_absorb(e, m.cut[i]);
        eager_absorb(e, m.split[i]);
        eager_absorb(e, m.turn[i]);
    }
    if (e->low != DT_UNKNOWN || e->trains || !is_batch_first(e, core, &m)) {
        eager_replace_rule(e, core, lower_multihead);
        return;
    }
    const node *inner[] = {m.enter, m.packed, core, m.leave, m.flatten, m.project, m.unflatten};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        eager_absorb(e, inner[i]);
    eager_replace_rule(e, m.back, lower_native_multihead);
}
