/* patterns_attention.c: attention that PyTorch runs otherwise than by the fused operator on four dimensions. */
#include "lower/eager.h"

/* ---- attention without a kernel ---------------------------------------------------------------------------------- */

/* F.scaled_dot_product_attention on more than four dimensions: PyTorch falls back to steps. */
typedef struct attention_steps {
    const node *scale, *turn, *scores, *softmax;
} attention_steps;

static bool read_steps(const eager *e, const node *last, attention_steps *s)
{
    s->softmax = own_maker_of(e, last->inputs[0], "Softmax");
    s->scores = s->softmax ? own_maker_of(e, s->softmax->inputs[0], "MatMul") : NULL;
    s->scale = s->scores ? own_maker_of(e, s->scores->inputs[0], "Mul") : NULL;
    s->turn = s->scores ? own_maker_of(e, s->scores->inputs[1], "Transpose") : NULL;
    double x;
    return s->scale && s->turn && value_is_number((eager *)e, s->scale->inputs[1], &x);
}

static void lower_attention_steps(eager *e)
{
    attention_steps s;
    const node *last = e->node;
    read_steps(e, last, &s);
    tensor_id v = tensor_of(e, last->inputs[1]);
    dtype type;
    tensor_id scores =
        attention_scores(e, tensor_of(e, s.scale->inputs[0]), tensor_of(e, s.turn->inputs[0]), &v, &type);
    extent x = tensor_extent(e, scores);
    extent_contiguous(&x);
    tensor_id weights = launch_new(e, "_safe_softmax", &scores, 1, tensor_dtype(e, scores), &x);
    if (tensor_dtype(e, weights) != type)
        cast(e, weights, type); /* an output of the operator that nobody asks for */
    tensor_id y = matmul(e, weights, v, false);
    set_result(e, 0, cast(e, y, type));
}

void find_attention_steps(eager *e, const node *last)
{
    attention_steps s;
    enum { MOST_DIMENSIONS = 4 }; /* of the fused kernels */
    if (e->options->explicit_attention || e->net->values.items[last->outputs[0]].rank <= MOST_DIMENSIONS ||
        !read_steps(e, last, &s))
        return;
    e->has_steps = true;
    absorb(e, s.scale);
    absorb(e, s.turn);
    absorb(e, s.scores);
    absorb(e, s.softmax);
    replace_rule(e, last, lower_attention_steps);
}

/* ---- nn.MultiheadAttention --------------------------------------------------------------------------------------- */

/* Sequence first: (L,N,C) → (L,N,3C), cut in three, each (L,N·heads,E) turned to (N·heads,L,E), attention, the way
 * back. */
typedef struct multihead {
    const node *packed, *cut[3], *split[3], *turn[3];
    /* With the batch first: turned before and after; all of it is one operator where nothing is cast. */
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
        m->turn[i] = own_maker_of(e, attention->inputs[i], "Transpose");
        m->split[i] = m->turn[i] ? own_maker_of(e, m->turn[i]->inputs[0], "Reshape") : NULL;
        value_id part = m->split[i] ? m->split[i]->inputs[0] : NO_VALUE;
        m->cut[i] = own_maker_of(e, part, "Slice") ? own_maker_of(e, part, "Slice") : own_maker_of(e, part, "Split");
        const node *packed = m->cut[i] ? maker_of(e, m->cut[i]->inputs[0], "Linear") : NULL;
        if (!packed || (m->packed && m->packed != packed))
            return false;
        m->packed = packed;
    }
    return read_sizes(e, m);
}

static const node *only_reader(const eager *e, const node *n, const char *op)
{
    const node *reader = n && e->readers[n->outputs[0]] == 1 ? reader_of(e, n->outputs[0]) : NULL;
    return reader && node_is(reader, op) ? reader : NULL;
}

static bool is_batch_first(const eager *e, const node *attention, multihead *m)
{
    m->enter = own_maker_of(e, m->packed->inputs[0], "Transpose");
    m->leave = only_reader(e, attention, "Transpose");
    m->flatten = only_reader(e, m->leave, "Reshape");
    m->project = only_reader(e, m->flatten, "Linear");
    m->unflatten = only_reader(e, m->project, "Reshape");
    m->back = only_reader(e, m->unflatten, "Transpose");
    return m->enter && m->back && m->packed->input_count == 3 && m->project->input_count == 3;
}

/* The packed product is copied so that queries, keys and values lie one behind the other. */
static void lower_multihead(eager *e)
{
    multihead m;
    read_multihead(e, e->node, &m);
    int64_t channels = mul_wrapping(m.heads, m.width);
    tensor_id packed = tensor_of(e, m.packed->outputs[0]);
    packed = reshape(e, packed, 4, (const int64_t[]){m.length, m.batch, 3, channels});
    packed = clone(e, permute(e, packed, (const int64_t[]){2, 0, 1, 3}));
    extent heads = {.rank = 4,
                    .dims = {m.batch, m.heads, m.length, m.width},
                    .strides = {channels, m.width, mul_wrapping(m.batch, channels), 1}};
    tensor_id parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = view_as(e, "select", packed, &heads);
    set_result(e, 0, attention(e, parts[0], parts[1], parts[2], NO_TENSOR));
}

static void lower_native_multihead(eager *e)
{
    multihead m;
    const node *unflatten = maker_of(e, e->node->inputs[0], "Reshape");
    const node *project = maker_of(e, unflatten->inputs[0], "Linear");
    const node *flatten = maker_of(e, project->inputs[0], "Reshape");
    const node *leave = maker_of(e, flatten->inputs[0], "Transpose");
    const node *core = maker_of(e, leave->inputs[0], "ScaledDotProductAttention");
    if (!core || !read_multihead(e, core, &m))
        return; /* it was one when the pattern was found */
    tensor_id from = tensor_of(e, maker_of(e, m.packed->inputs[0], "Transpose")->inputs[0]);
    tensor_id inputs[7] = {from, from, from, layer_weight(e, m.packed), tensor_of(e, m.packed->inputs[2])};
    inputs[5] = layer_weight(e, project);
    inputs[6] = tensor_of(e, project->inputs[2]);
    extent x = output_extent(e, 0);
    tensor_id made = launch_new(e, "_native_multi_head_attention", inputs, 7, tensor_dtype(e, from), &x);
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    double channels = (double)m.heads * (double)m.width, rows = (double)m.length * (double)m.batch;
    double macs = rows * channels * (4 * channels + 2 * (double)m.length);
    k->macs = macs < 4e18 ? (int64_t)macs : INT64_MAX;
    k->flops = macs < 4e18 ? 2 * k->macs : INT64_MAX;
    set_result(e, 0, made);
}

void find_multihead(eager *e, const node *core)
{
    multihead m;
    if (e->options->explicit_attention || !read_multihead(e, core, &m))
        return;
    for (int i = 0; i < 3; i++) {
        absorb(e, m.cut[i]);
        absorb(e, m.split[i]);
        absorb(e, m.turn[i]);
    }
    if (e->low != DT_UNKNOWN || e->trains || !is_batch_first(e, core, &m)) {
        replace_rule(e, core, lower_multihead);
        return;
    }
    const node *inner[] = {m.enter, m.packed, core, m.leave, m.flatten, m.project, m.unflatten};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        absorb(e, inner[i]);
    replace_rule(e, m.back, lower_native_multihead);
}
