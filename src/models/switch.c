/* switch.c: the Switch Transformer (Fedus and others, arXiv:2101.03961) as Hugging Face Transformers runs it in eager
 * PyTorch: an encoder and a decoder with T5's layers, where every second feed-forward layer has experts.
 *
 * The router depends on data. Here every expert gets the same number of tokens, at most its capacity. Relative
 * position tables are constants. */
#include "models/net.h"

#include <float.h>
#include <math.h>

enum { P_LAYERS, P_DECODER, P_HIDDEN, P_HEADS, P_KV, P_FFN, P_EXPERTS, P_CAPACITY, P_STEP, P_VOCAB, P_SEQ };
const zoo_parameter ZOO_SWITCH[] = {
    [P_LAYERS] = {"layers", "12", 1, 512, "layers of the encoder", false},
    [P_DECODER] = {"decoder", "12", 0, 512, "layers of the decoder", false},
    [P_HIDDEN] = {"hidden", "768", 1, 65536, "hidden size", false},
    [P_HEADS] = {"heads", "12", 1, 1024, "attention heads", false},
    [P_KV] = {"kv", "64", 1, 4096, "width of a head", false},
    [P_FFN] = {"ffn", "3072", 1, 1 << 20, "width of the feed-forward layers", false},
    [P_EXPERTS] = {"experts", "8", 1, 4096, "experts of a sparse layer", false},
    [P_CAPACITY] = {"capacity", "64", 1, 1 << 20, "tokens of a sequence that an expert takes", false},
    [P_STEP] = {"step", "2", 1, 512, "every n-th layer is sparse", false},
    [P_VOCAB] = {"vocab", "32128", 1, 10000000, "size of the vocabulary", false},
    [P_SEQ] = {"seq", "512", 1, 16384, "tokens of the input", false},
    {0},
};

enum { BUCKETS = 32 };

typedef struct sizes {
    int64_t layers, decoder, hidden, heads, width, inner, ffn, experts, capacity, step, vocab, tokens;
} sizes;

/* Constants shared by many nodes. */
typedef struct shared {
    net_rms rms;
    value_id ratio, one, least, depth, on_off, capacity, axis_1, first, taken, flat, rows;
} shared;

static shared share(builder *b, const sizes *s)
{
    int64_t taken = (s->tokens + s->experts - 1) / s->experts;
    return (shared){
        .ratio = net_real(b, "dropout.ratio", 0.1F),
        .rms = net_rms_numbers(b, 1e-6F),
        .one = net_real(b, "one", 1),
        .least = net_real(b, "least", -FLT_MAX),
        .depth = net_ints(b, "experts", 0, (int64_t[]){s->experts}, 1),
        .on_off = net_ints(b, "on_off", 1, (int64_t[]){0, 1}, 2),
        .capacity = net_ints(b, "capacity", 0, (int64_t[]){s->capacity}, 1),
        .axis_1 = net_ints(b, "axis_1", 0, (int64_t[]){1}, 1),
        .first = net_ints(b, "first", 1, (int64_t[]){0}, 1),
        .taken = net_ints(b, "taken", 1, (int64_t[]){taken < s->capacity ? taken : s->capacity}, 1),
        .flat = net_ints(b, "flat", 1, (int64_t[]){-1, s->hidden}, 2),
        .rows = net_ints(b, "rows", 1, (int64_t[]){-1, 1}, 2),
    };
}

static value_id dropout(builder *b, str name, value_id x, const shared *c)
{
    return net_binary(b, "Dropout", name, x, c->ratio);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static value_id split_heads(builder *b, str name, value_id x, const sizes *s)
{
    x = net_product(b, name, x, s->hidden, s->inner);
    x = net_reshape(b, net_join(b, name, ".view"), x, (int64_t[]){0, s->tokens, s->heads, s->width}, 4);
    return net_transpose(b, net_join(b, name, ".transpose"), x, (int64_t[]){0, 2, 1, 3}, 4);
}

/* `from` is x for self-attention; for cross-attention it is the encoder's output. */
static value_id attention(builder *b, str scope, value_id x, value_id from, value_id bias, const sizes *s,
                          const shared *c)
{
    value_id q = split_heads(b, net_join(b, scope, "q"), x, s);
    value_id k = split_heads(b, net_join(b, scope, "k"), from, s);
    value_id v = split_heads(b, net_join(b, scope, "v"), from, s);
    k = net_transpose(b, net_join(b, scope, "transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    value_id y = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);
    y = net_binary(b, "Add", net_join(b, scope, "add_bias"), y, bias);
    y = net_softmax(b, net_join(b, scope, "softmax"), y);
    y = dropout(b, net_join(b, scope, "dropout"), y, c);
    y = net_binary(b, "MatMul", net_join(b, scope, "context"), y, v);
    y = net_transpose(b, net_join(b, scope, "context.transpose"), y, (int64_t[]){0, 2, 1, 3}, 4);
    y = net_reshape(b, net_join(b, scope, "context.view"), y, (int64_t[]){0, s->tokens, s->inner}, 3);
    return net_product(b, net_join(b, scope, "o"), y, s->inner, s->hidden);
}

/* Relative position bias plus mask, shared by all layers of a stack: (N, heads, tokens, tokens). */
static value_id position_bias(builder *b, str scope, value_id mask, const sizes *s)
{
    str name = net_join(b, scope, "relative_attention_bias");
    value_id buckets = net_buffer(b, net_join(b, name, ".buckets"), DT_INT64, 2, (int64_t[]){s->tokens, s->tokens});
    value_id table = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){BUCKETS, s->heads});
    value_id x = net_gather(b, name, table, buckets, 0);
    x = net_transpose(b, net_join(b, name, ".permute"), x, (int64_t[]){2, 0, 1}, 3);
    x = net_binary(b, "Unsqueeze", net_join(b, name, ".unsqueeze"), x,
                   net_ints(b, net_join(b, name, ".axis").ptr, 1, (int64_t[]){0}, 1));
    return net_binary(b, "Add", net_join(b, name, ".add_mask"), x, mask);
}

/* ---- experts ----------------------------------------------------------------------------------------------------- */

static value_id dense(builder *b, str scope, value_id x, const sizes *s, const shared *c)
{
    x = net_product(b, net_join(b, scope, "wi"), x, s->hidden, s->ffn);
    x = net_unary(b, "Relu", net_join(b, scope, "act"), x);
    x = dropout(b, net_join(b, scope, "dropout"), x, c);
    return net_product(b, net_join(b, scope, "wo"), x, s->ffn, s->hidden);
}

/* One-hot expert of each token; all zeros if the expert is at capacity. */
static value_id router_mask(builder *b, str scope, value_id probabilities, const shared *c)
{
    node *n;
    value_id index = net_node(b, "ArgMax", net_join(b, scope, "argmax"), &probabilities, 1, 2, &n);
    build_attr_int(b, n, 0, "axis", -1);
    build_attr_int(b, n, 1, "keepdims", 0);
    value_id mask =
        net_node(b, "OneHot", net_join(b, scope, "one_hot"), (value_id[]){index, c->depth, c->on_off}, 3, 0, &n);
    value_id order = net_binary(b, "CumSum", net_join(b, scope, "cumsum"), mask, c->axis_1);
    value_id fits = net_binary(b, "LessOrEqual", net_join(b, scope, "le"), order, c->capacity);
    fits = net_cast(b, net_join(b, scope, "long"), fits, DT_INT64);
    return net_binary(b, "Mul", net_join(b, scope, "mul"), mask, fits);
}

static value_id experts(builder *b, str scope, value_id x, const sizes *s, const shared *c)
{
    node *n;
    str router = net_join(b, scope, "router.");
    value_id logits = net_product(b, net_join(b, router, "classifier"), x, s->hidden, s->experts);
    value_id probabilities = net_softmax(b, net_join(b, router, "softmax"), logits);
    value_id mask = router_mask(b, router, probabilities, c);
    value_id best = net_binary(b, "ReduceMax", net_join(b, router, "max"), probabilities, c->rms.last_axis);
    value_id tokens = net_binary(b, "Reshape", net_join(b, scope, "tokens"), x, c->flat), next = tokens;
    for (int64_t i = 0; i < s->experts; i++) {
        str part = NAME("%sexperts.expert_%lld.", scope.ptr, (long long)i);
        /* the indices of this expert's tokens in each sequence */
        value_id own =
            net_gather(b, net_join(b, part, "mask"), mask, net_ints(b, net_join(b, part, "index").ptr, 0, &i, 1), 2);
        value_id bits = net_cast(b, net_join(b, part, "bool"), own, DT_BOOL);
        own = net_cast(b, net_join(b, part, "nonzero"), bits, DT_INT64);
        own = net_node(
            b, "Slice", net_join(b, part, "taken"),
            (value_id[]){own, c->first, c->taken, net_ints(b, net_join(b, part, "axis").ptr, 1, (int64_t[]){1}, 1)}, 4,
            0, &n);
        value_id rows = net_reshape(b, net_join(b, part, "rows"), own, (int64_t[]){-1}, 1);
        value_id y = dense(b, part, net_gather(b, net_join(b, part, "gather"), tokens, rows, 0), s, c);
        rows = net_binary(b, "Reshape", net_join(b, part, "places"), rows, c->rows);
        next = net_node(b, "ScatterND", net_join(b, part, "put"), (value_id[]){next, rows, y}, 3, 0, &n);
    }
    next = net_reshape(b, net_join(b, scope, "next"), next, (int64_t[]){-1, s->tokens, s->hidden}, 3);
    return net_binary(b, "Mul", net_join(b, scope, "weigh"), best, next);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

typedef struct stack {
    const char *name;
    int64_t layers;
    value_id x, bias;             /* layer input; position bias including the mask */
    value_id encoded, cross_bias; /* encoder output and the bias of its mask; NO_VALUE in the encoder */
} stack;

static value_id run_stack(builder *b, const stack *k, const sizes *s, const shared *c)
{
    value_id x = dropout(b, NAME("%s.dropout", k->name), k->x, c);
    for (int64_t i = 0; i < k->layers; i++) {
        str scope = NAME("%s.block.%lld.layer.", k->name, (long long)i);
        value_id y = net_rms_norm(b, net_join(b, scope, "0.layer_norm"), x, s->hidden, &c->rms);
        y = attention(b, net_join(b, scope, "0.SelfAttention."), y, y, k->bias, s, c);
        y = dropout(b, net_join(b, scope, "0.dropout"), y, c);
        x = net_binary(b, "Add", net_join(b, scope, "0.add"), x, y);
        if (k->encoded != NO_VALUE) {
            y = net_rms_norm(b, net_join(b, scope, "1.layer_norm"), x, s->hidden, &c->rms);
            y = attention(b, net_join(b, scope, "1.EncDecAttention."), y, k->encoded, k->cross_bias, s, c);
            y = dropout(b, net_join(b, scope, "1.dropout"), y, c);
            x = net_binary(b, "Add", net_join(b, scope, "1.add"), x, y);
        }
        bool is_sparse = i % s->step == s->step - 1;
        y = net_rms_norm(b, net_join(b, scope, "2.layer_norm"), x, s->hidden, &c->rms);
        y = (is_sparse ? experts : dense)(b, net_join(b, scope, "2.mlp."), y, s, c);
        y = dropout(b, net_join(b, scope, "2.dropout"), y, c);
        x = net_binary(b, "Add", net_join(b, scope, "2.add"), x, y);
    }
    x = net_rms_norm(b, NAME("%s.final_layer_norm", k->name), x, s->hidden, &c->rms);
    return dropout(b, NAME("%s.final_dropout", k->name), x, c);
}

/* (1 - mask) · the lowest float: (N, 1, 1, tokens) */
static value_id extended_mask(builder *b, const char *name, value_id mask, const shared *c)
{
    str scope = str_of(name);
    value_id axes = net_ints(b, net_join(b, scope, ".axes").ptr, 1, (int64_t[]){1, 2}, 2);
    value_id x = net_binary(b, "Unsqueeze", net_join(b, scope, ".unsqueeze"), mask, axes);
    x = net_binary(b, "Sub", net_join(b, scope, ".sub"), c->one, x);
    return net_binary(b, "Mul", net_join(b, scope, ".mul"), x, c->least);
}

void zoo_switch(builder *b, const zoo_arguments *a)
{
    const int64_t *p = a->numbers;
    sizes s = {p[P_LAYERS], p[P_DECODER], p[P_HIDDEN],   p[P_HEADS], p[P_KV],    p[P_HEADS] * p[P_KV],
               p[P_FFN],    p[P_EXPERTS], p[P_CAPACITY], p[P_STEP],  p[P_VOCAB], p[P_SEQ]};
    net_begin_literal(b);
    num dims[] = {net_batch(b), s.tokens};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims);
    value_id mask = net_input(b, "attention_mask", DT_FLOAT32, 2, dims);
    value_id decoder_ids = s.decoder ? net_input(b, "decoder_input_ids", DT_INT64, 2, dims) : NO_VALUE;
    shared c = share(b, &s);
    value_id words = net_weight(b, STR("shared.weight"), 2, (int64_t[]){s.vocab, s.hidden});
    value_id hidden = extended_mask(b, "encoder.mask", mask, &c);
    stack encoder = {"encoder",
                     s.layers,
                     net_gather(b, STR("encoder.embed_tokens"), words, ids, 0),
                     position_bias(b, STR("encoder.block.0.layer.0.SelfAttention."), hidden, &s),
                     NO_VALUE,
                     NO_VALUE};
    value_id x = run_stack(b, &encoder, &s, &c);
    if (!s.decoder) {
        net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.hidden});
        net_end(b);
        return;
    }
    value_id causal = net_buffer(b, STR("decoder.causal_mask"), DT_FLOAT32, 4, (int64_t[]){1, 1, s.tokens, s.tokens});
    causal = net_binary(b, "Mul", STR("decoder.mask.causal"), causal, c.least);
    value_id zeros =
        net_buffer(b, STR("decoder.zero_bias"), DT_FLOAT32, 4, (int64_t[]){1, s.heads, s.tokens, s.tokens});
    hidden = extended_mask(b, "decoder.encoder_mask", mask, &c);
    stack decoder = {"decoder",
                     s.decoder,
                     net_gather(b, STR("decoder.embed_tokens"), words, decoder_ids, 0),
                     position_bias(b, STR("decoder.block.0.layer.0.SelfAttention."), causal, &s),
                     x,
                     net_binary(b, "Add", STR("decoder.cross_bias"), zeros, hidden)};
    x = run_stack(b, &decoder, &s, &c);
    x = net_binary(b, "Mul", STR("lm_head.scale"), x,
                   net_real(b, "lm_head.factor", (float)(1 / sqrt((double)s.hidden))));
    x = net_tied_product(b, STR("lm_head"), x, words);
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.vocab});
    net_end(b);
}
