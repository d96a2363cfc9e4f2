/* hf_deberta.c: builds DeBERTa 2 and 3 from their configuration: BERT with up to two more terms in the scores. One
 * depends on query and distance (c2p), one on key and distance (p2c). */
#include "front/hf/hf.h"

#include <math.h>

enum {
    MOST_WIDTH = 1 << 16,
    MOST_HEADS = 1 << 14,
    MOST_LAYERS = 1024,
    MOST_POSITIONS = 1 << 20,
    MOST_KERNEL = 1 << 10
};

typedef struct deberta {
    const hf *c;
    builder *b;
    int64_t hidden, heads, size, inner;
    int64_t span; /* number of distances per side that have a row in the table; 0: no distances */
    bool has_c2p, has_p2c;
    bool shares_projections; /* distances are projected with the words' weights */
    double epsilon;
    value_id rows, c2p_index, p2c_index; /* distance table (1, 2 · span, hidden) and indices (1, 1, seq, seq) */
    value_id scale;
} deberta;

typedef struct linear {
    str name;
    value_id weight, bias;
    int64_t out;
} linear;

static linear new_linear(builder *b, str name, int64_t in, int64_t out)
{
    return (linear){name, net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){in, out}),
                    net_weight(b, net_join(b, name, ".bias"), 1, &out), out};
}

/* Projects to heads: (N, heads, tokens, size). `part` distinguishes two uses of one projection. */
static value_id by_heads(const deberta *d, const linear *l, const char *part, value_id x)
{
    builder *b = d->b;
    str name = net_join(b, l->name, part);
    x = net_binary(b, "MatMul", name, x, l->weight);
    x = net_binary(b, "Add", net_join(b, name, ".Add"), x, l->bias);
    x = net_reshape(b, net_join(b, name, ".heads"), x, (int64_t[]){0, -1, d->heads, d->size}, 4);
    return net_transpose(b, net_join(b, name, ".permute"), x, (int64_t[]){0, 2, 1, 3}, 4);
}

/* x · yᵀ */
static value_id scores_of(builder *b, str name, value_id x, value_id y)
{
    y = net_transpose(b, net_join(b, name, ".transpose"), y, (int64_t[]){0, 1, 3, 2}, 4);
    return net_binary(b, "MatMul", name, x, y);
}

/* Gathers scores of all distances (N, heads, seq, 2 · span) for the actual pairs. */
static value_id choose_distances(const deberta *d, str name, value_id scores, value_id index, value_id like)
{
    builder *b = d->b;
    node *n;
    value_id shape = net_unary(b, "Shape", net_join(b, name, ".shape"), like);
    index = net_binary(b, "Expand", net_join(b, name, ".expand"), index, shape);
    scores = net_node(b, "GatherElements", net_join(b, name, ".gather"), (value_id[]){scores, index}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", -1);
    return scores;
}

static value_id attend(const deberta *d, str scope, value_id x)
{
    builder *b = d->b;
    int64_t all = d->heads * d->size;
    const linear query = new_linear(b, net_join(b, scope, ".query_proj"), d->hidden, all),
                 key = new_linear(b, net_join(b, scope, ".key_proj"), d->hidden, all),
                 value = new_linear(b, net_join(b, scope, ".value_proj"), d->hidden, all);
    value_id q = by_heads(d, &query, "", x), k = by_heads(d, &key, "", x), v = by_heads(d, &value, "", x);
    value_id turned = net_transpose(b, net_join(b, scope, ".transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    turned = net_binary(b, "Div", net_join(b, scope, ".scale"), turned, d->scale);
    value_id scores = net_binary(b, "MatMul", net_join(b, scope, ".scores"), q, turned);
    value_id pairs = scores;
    if (d->has_c2p) {
        const linear own =
            d->shares_projections ? key : new_linear(b, net_join(b, scope, ".pos_key_proj"), d->hidden, all);
        str name = net_join(b, scope, ".c2p");
        value_id y = scores_of(b, name, q, by_heads(d, &own, ".distances", d->rows));
        y = choose_distances(d, name, y, d->c2p_index, pairs);
        y = net_binary(b, "Div", net_join(b, name, ".scale"), y, d->scale);
        scores = net_binary(b, "Add", net_join(b, name, ".add"), scores, y);
    }
    if (d->has_p2c) {
        const linear own =
            d->shares_projections ? query : new_linear(b, net_join(b, scope, ".pos_query_proj"), d->hidden, all);
        str name = net_join(b, scope, ".p2c");
        value_id y = scores_of(b, name, k, by_heads(d, &own, ".distances", d->rows));
        y = choose_distances(d, name, y, d->p2c_index, pairs);
        y = net_transpose(b, net_join(b, name, ".turn"), y, (int64_t[]){0, 1, 3, 2}, 4);
        y = net_binary(b, "Div", net_join(b, name, ".scale"), y, d->scale);
        scores = net_binary(b, "Add", net_join(b, name, ".add"), scores, y);
    }
    scores = net_softmax(b, net_join(b, scope, ".softmax"), scores);
    x = net_binary(b, "MatMul", net_join(b, scope, ".context"), scores, v);
    x = net_transpose(b, net_join(b, scope, ".permute"), x, (int64_t[]){0, 2, 1, 3}, 4);
    return net_reshape(b, net_join(b, scope, ".view"), x, (int64_t[]){0, -1, all}, 3);
}

static value_id add_and_norm(const deberta *d, str scope, value_id y, value_id x)
{
    builder *b = d->b;
    y = net_binary(b, "Add", net_join(b, scope, ".add"), y, x);
    return net_layer_norm(b, net_join(b, scope, ".LayerNorm"), y, d->hidden, d->epsilon);
}

static value_id layer(const deberta *d, str scope, value_id x)
{
    builder *b = d->b;
    value_id y = attend(d, net_join(b, scope, ".attention.self"), x);
    y = lm_linear(b, net_join(b, scope, ".attention.output.dense"), y, d->heads * d->size, d->hidden, true);
    x = add_and_norm(d, net_join(b, scope, ".attention.output"), y, x);
    y = lm_linear(b, net_join(b, scope, ".intermediate.dense"), x, d->hidden, d->inner, true);
    y = net_unary(b, hf_activation(d->c), net_join(b, scope, ".intermediate.act"), y);
    y = lm_linear(b, net_join(b, scope, ".output.dense"), y, d->inner, d->hidden, true);
    return add_and_norm(d, net_join(b, scope, ".output"), y, x);
}

/* A convolution over the embeddings is added after the first layer. */
static value_id convolve(const deberta *d, value_id embedded, value_id x, int64_t kernel)
{
    const hf *c = d->c;
    builder *b = d->b;
    node *n;
    int64_t groups = hf_int(c, "conv_groups", 1), pad = (kernel - 1) / 2;
    if (groups < 1 || d->hidden % groups)
        hf_fail(c, "conv_groups", "%lld channels do not divide into %lld groups", (long long)d->hidden,
                (long long)groups);
    if (kernel % 2 == 0)
        hf_fail(c, "conv_kernel_size", "the convolution would lose a token");
    value_id y = net_transpose(b, STR("encoder.conv.permute"), embedded, (int64_t[]){0, 2, 1}, 3);
    value_id inputs[3] = {
        y, net_weight(b, STR("encoder.conv.conv.weight"), 3, (int64_t[]){d->hidden, d->hidden / groups, kernel}),
        net_weight(b, STR("encoder.conv.conv.bias"), 1, &d->hidden)};
    y = net_node(b, "Conv", STR("encoder.conv.conv"), inputs, 3, 3, &n);
    build_attr_ints(b, n, 0, "kernel_shape", &kernel, 1);
    build_attr_ints(b, n, 1, "pads", (int64_t[]){pad, pad}, 2);
    build_attr_int(b, n, 2, "group", groups);
    y = net_transpose(b, STR("encoder.conv.permute_back"), y, (int64_t[]){0, 2, 1}, 3);
    y = net_unary(b, hf_has(c, "conv_act") ? hf_activation_at(c, "conv_act") : "Tanh", STR("encoder.conv.conv_act"), y);
    return add_and_norm(d, STR("encoder.conv"), x, y);
}

/* Table rows of the distances, and the row index of each token pair. */
static void read_distances(deberta *d, num seq)
{
    builder *b = d->b;
    d->rows = net_weight(b, STR("encoder.rel_embeddings.weight"), 2, (int64_t[]){2 * d->span, d->hidden});
    d->rows = net_reshape(b, STR("encoder.rel_embeddings"), d->rows, (int64_t[]){1, 2 * d->span, d->hidden}, 3);
    if (str_contains(hf_text(d->c, "norm_rel_ebd"), "layer_norm"))
        d->rows = net_layer_norm(b, STR("encoder.LayerNorm"), d->rows, d->hidden, d->epsilon);
    num dims[] = {1, 1, seq, seq};
    if (d->has_c2p)
        d->c2p_index = net_input(b, "c2p_pos", DT_INT64, 4, dims);
    if (d->has_p2c)
        d->p2c_index = net_input(b, "p2c_pos", DT_INT64, 4, dims);
}

static value_id embed(const deberta *d, num seq, int64_t width, value_id *words)
{
    const hf *c = d->c;
    builder *b = d->b;
    num dims[] = {net_batch(b), seq};
    int64_t vocab = hf_size(c, "vocab_size", HF_MOST), types = hf_int(c, "type_vocab_size", 0);
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims);
    *words = net_weight(b, STR("embeddings.word_embeddings.weight"), 2, (int64_t[]){vocab, width});
    value_id x = net_gather(b, STR("embeddings.word_embeddings"), *words, ids, 0);
    if (hf_flag(c, "position_biased_input", true)) {
        int64_t positions = hf_size(c, "max_position_embeddings", MOST_POSITIONS);
        value_id places = net_input(b, "position_ids", DT_INT64, 2, (num[]){1, seq});
        value_id table = net_weight(b, STR("embeddings.position_embeddings.weight"), 2, (int64_t[]){positions, width});
        value_id rows = net_gather(b, STR("embeddings.position_embeddings"), table, places, 0);
        x = net_binary(b, "Add", STR("embeddings.add"), x, rows);
    }
    if (types) {
        value_id kinds = net_input(b, "token_type_ids", DT_INT64, 2, dims);
        value_id table = net_weight(b, STR("embeddings.token_type_embeddings.weight"), 2, (int64_t[]){types, width});
        value_id rows = net_gather(b, STR("embeddings.token_type_embeddings"), table, kinds, 0);
        x = net_binary(b, "Add", STR("embeddings.add_types"), x, rows);
    }
    if (width != d->hidden)
        x = lm_linear(b, STR("embeddings.embed_proj"), x, width, d->hidden, false);
    return net_layer_norm(b, STR("embeddings.LayerNorm"), x, d->hidden, d->epsilon);
}

/* Writes the architecture's head and the output. */
static void finish(const deberta *d, num seq, int64_t width, value_id words, value_id x)
{
    const hf *c = d->c;
    builder *b = d->b;
    int64_t last = d->hidden;
    if (hf_architecture(c, "ForSequenceClassification")) {
        value_id first = net_ints(b, "pooler.index", 0, (int64_t[]){0}, 1);
        last = hf_class_count(c);
        x = net_gather(b, STR("pooler.first_token"), x, first, 1);
        x = net_gemm(b, STR("pooler.dense"), x, d->hidden, d->hidden);
        x = net_unary(b, hf_activation_at(c, "pooler_hidden_act"), STR("pooler.activation"), x);
        x = net_gemm(b, STR("classifier"), x, d->hidden, last);
        net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), last});
        return;
    }
    if (hf_architecture(c, "ForMaskedLM")) {
        last = hf_size(c, "vocab_size", HF_MOST);
        x = lm_linear(b, STR("cls.predictions.transform.dense"), x, d->hidden, width, true);
        x = net_unary(b, hf_activation(c), STR("cls.predictions.transform.transform_act_fn"), x);
        x = net_layer_norm(b, STR("cls.predictions.transform.LayerNorm"), x, width, d->epsilon);
        x = net_tied_product(b, STR("cls.predictions.decoder"), x, words);
        x = net_binary(b, "Add", STR("cls.predictions.add"), x, net_weight(b, STR("cls.predictions.bias"), 1, &last));
    } else if (hf_architecture(c, "ForTokenClassification") || hf_architecture(c, "ForQuestionAnswering")) {
        last = hf_class_count(c);
        x = lm_linear(b, STR("classifier"), x, d->hidden, last, true);
    }
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), seq, last});
}

/* True if the setting, "c2p|p2c" or a list, has this part. */
static bool has_part(const hf *c, const char *part)
{
    if (str_contains(hf_text(c, "pos_att_type"), part))
        return true;
    for (const json_node *x = json_first(json_get(c->config, "pos_att_type")); x; x = x->next)
        if (str_is(json_text(x), part))
            return true;
    return false;
}

/* Distances per side: position_buckets, or max_relative_positions, where -1 means all positions. */
static int64_t count_distances(const hf *c)
{
    static const char *const KEYS[] = {"position_buckets", "max_relative_positions"};
    for (int i = 0; i < 2; i++)
        if (json_int(json_get(c->config, KEYS[i]), -1) > 0)
            return hf_size(c, KEYS[i], MOST_POSITIONS);
    return hf_size(c, "max_position_embeddings", MOST_POSITIONS);
}

void hf_deberta(hf *c)
{
    builder *b = c->b;
    deberta d = {.c = c,
                 .b = b,
                 .hidden = hf_size(c, "hidden_size", MOST_WIDTH),
                 .heads = hf_size(c, "num_attention_heads", MOST_HEADS),
                 .inner = hf_size(c, "intermediate_size", 1 << 20),
                 .shares_projections = hf_flag(c, "share_att_key", false),
                 .epsilon = hf_real(c, "layer_norm_eps", 1e-7)};
    int64_t layers = hf_size(c, "num_hidden_layers", MOST_LAYERS), width = hf_int(c, "embedding_size", d.hidden),
            kernel = hf_int(c, "conv_kernel_size", 0);
    if (d.hidden % d.heads)
        hf_fail(c, "num_attention_heads", "%lld heads do not divide %lld elements", (long long)d.heads,
                (long long)d.hidden);
    d.size = hf_int(c, "attention_head_size", d.hidden / d.heads);
    if (d.size < 1 || d.size > MOST_WIDTH)
        hf_fail(c, "attention_head_size", "not a possible size");
    if (width < 1 || width > MOST_WIDTH)
        hf_fail(c, "embedding_size", "not a possible size");
    if (kernel > MOST_KERNEL)
        hf_fail(c, "conv_kernel_size", "a size is larger than in any real network");
    if (hf_flag(c, "relative_attention", false)) {
        d.has_c2p = has_part(c, "c2p");
        d.has_p2c = has_part(c, "p2c");
        d.span = count_distances(c);
    }
    net_begin_literal(b);
    num seq = num_symbol(&b->source->symbols, STR("seq"));
    value_id words, x = embed(&d, seq, width, &words), embedded = x;
    d.scale = net_real(b, "scale", (float)sqrt((double)(d.size * (1 + d.has_c2p + d.has_p2c))));
    if (d.has_c2p || d.has_p2c)
        read_distances(&d, seq);
    for (int64_t i = 0; i < layers; i++) {
        x = layer(&d, NAME("encoder.layer.%d", (int)i), x);
        if (i == 0 && kernel)
            x = convolve(&d, embedded, x, kernel);
    }
    finish(&d, seq, width, words, x);
    net_end(b);
}
