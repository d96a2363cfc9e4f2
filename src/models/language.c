/* language.c: language models as Hugging Face Transformers runs them in eager PyTorch: attention is two products and a
 * softmax, masks are added or selected, and every operator of the source code is a node. Dropouts are in the graph,
 * because they take time in training.
 *
 *   BERT         Devlin and others, arXiv:1810.04805; with the heads of sequence classification and of pre-training
 *   GPT-2/GPT-3  Radford and others, 2019; Brown and others, arXiv:2005.14165 (GPT-3 with dense attention)
 *   OPT          Zhang and others, arXiv:2205.01068
 *
 * The language-model heads share the weight of the word embedding. */
#include "models/net.h"

#include <float.h>
#include <math.h>

enum { P_LAYERS, P_HIDDEN, P_HEADS, P_FFN, P_VOCAB, P_POSITIONS, P_SEQ, P_HEAD };
enum { MOST_LAYERS = 512, MOST_HIDDEN = 65536, MOST_HEADS = 1024, MOST_FFN = 1 << 20, MOST_TOKENS = 1 << 20 };
enum { MOST_WORDS = 10000000 };

#define SIZES(layers, hidden, heads, vocab, positions, seq)                                                            \
    [P_LAYERS] = {"layers", layers, 1, MOST_LAYERS, "layers", false},                                                  \
    [P_HIDDEN] = {"hidden", hidden, 1, MOST_HIDDEN, "hidden size", false}, [P_HEADS] = {"heads",                       \
                                                                                        heads,                         \
                                                                                        1,                             \
                                                                                        MOST_HEADS,                    \
                                                                                        "attention heads",             \
                                                                                        false},                        \
    [P_FFN] = {"ffn", "0", 0, MOST_FFN, "width of the feed-forward layers; 0: four times hidden", false},              \
    [P_VOCAB] = {"vocab", vocab, 1, MOST_WORDS, "size of the vocabulary", false}, [P_POSITIONS] = {"positions",        \
                                                                                                   positions,          \
                                                                                                   1,                  \
                                                                                                   MOST_TOKENS,        \
                                                                                                   "longest sequence", \
                                                                                                   false},             \
    [P_SEQ] = {"seq", seq, 1, MOST_TOKENS, "tokens of the input", false}

const zoo_parameter ZOO_BERT[] = {SIZES("12", "768", "12", "30522", "512", "512"),
                                  [P_HEAD] = {"head", "none", 0, 0, "none, classify or pretrain", false},
                                  {0}};
const zoo_parameter ZOO_GPT2[] = {SIZES("12", "768", "12", "50257", "1024", "1024"), {0}};
const zoo_parameter ZOO_OPT[] = {SIZES("12", "768", "12", "50272", "2048", "2048"), {0}};

typedef struct sizes {
    int64_t layers, hidden, heads, width, ffn, vocab, positions, tokens; /* `width` is the size of a head */
} sizes;

static sizes read_sizes(builder *b, const zoo_arguments *a)
{
    const int64_t *n = a->numbers;
    sizes s = {n[P_LAYERS], n[P_HIDDEN],    n[P_HEADS], n[P_HIDDEN] / n[P_HEADS], n[P_FFN] ? n[P_FFN] : 4 * n[P_HIDDEN],
               n[P_VOCAB],  n[P_POSITIONS], n[P_SEQ]};
    if (s.hidden % s.heads)
        zoo_refuse(b, a, P_HEADS, "the hidden size %lld must be a multiple of it", (long long)s.hidden);
    if (s.tokens > s.positions)
        zoo_refuse(b, a, P_SEQ, "there are only %lld positions", (long long)s.positions);
    return s;
}

/* Constants shared by many nodes. */
typedef struct shared {
    value_id ratio; /* dropout ratio */
    value_id least; /* the lowest float, which replaces masked scores */
    value_id scale; /* factor on the scores */
} shared;

static shared share(builder *b, double scale)
{
    return (shared){net_real(b, "dropout.ratio", 0.1F), net_real(b, "least", -FLT_MAX),
                    net_real(b, "scale", (float)scale)};
}

static value_id dropout(builder *b, str name, value_id x, const shared *c)
{
    return net_binary(b, "Dropout", name, x, c->ratio);
}

static value_id embedding(builder *b, str name, value_id indices, int64_t rows, int64_t width, value_id *table)
{
    *table = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){rows, width});
    return net_gather(b, name, *table, indices, 0);
}

/* Writes the numbers 0 … tokens - 1. */
static value_id position_numbers(builder *b, const char *name, int64_t tokens)
{
    int64_t *numbers = ARENA_ARRAY(b->arena, int64_t, (size_t)tokens);
    for (int64_t i = 0; i < tokens; i++)
        numbers[i] = i;
    return net_ints(b, name, 1, numbers, (int)tokens);
}

/* (N, tokens, hidden) → (N, heads, tokens, width) */
static value_id split_heads(builder *b, str name, value_id x, const sizes *s)
{
    x = net_reshape(b, net_join(b, name, ".view"), x, (int64_t[]){0, s->tokens, s->heads, s->width}, 4);
    return net_transpose(b, net_join(b, name, ".permute"), x, (int64_t[]){0, 2, 1, 3}, 4);
}

static value_id join_heads(builder *b, str name, value_id x, const sizes *s)
{
    x = net_transpose(b, net_join(b, name, ".permute"), x, (int64_t[]){0, 2, 1, 3}, 4);
    return net_reshape(b, net_join(b, name, ".view"), x, (int64_t[]){0, s->tokens, s->hidden}, 3);
}

/* ---- BERT -------------------------------------------------------------------------------------------------------- */

static value_id bert_attention(builder *b, str scope, value_id x, value_id mask, const sizes *s, const shared *c)
{
    value_id q = net_linear(b, net_join(b, scope, "query"), x, s->hidden, s->hidden);
    value_id k = net_linear(b, net_join(b, scope, "key"), x, s->hidden, s->hidden);
    k = split_heads(b, net_join(b, scope, "k"), k, s);
    value_id v = net_linear(b, net_join(b, scope, "value"), x, s->hidden, s->hidden);
    v = split_heads(b, net_join(b, scope, "v"), v, s);
    q = split_heads(b, net_join(b, scope, "q"), q, s);
    k = net_transpose(b, net_join(b, scope, "transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    value_id y = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);
    y = net_binary(b, "Div", net_join(b, scope, "div"), y, c->scale);
    y = net_binary(b, "Add", net_join(b, scope, "add_mask"), y, mask);
    y = net_softmax(b, net_join(b, scope, "softmax"), y);
    y = dropout(b, net_join(b, scope, "dropout"), y, c);
    y = net_binary(b, "MatMul", net_join(b, scope, "context"), y, v);
    return join_heads(b, net_join(b, scope, "context"), y, s);
}

static value_id bert_layer(builder *b, int64_t index, value_id x, value_id mask, const sizes *s, const shared *c)
{
    str scope = NAME("bert.encoder.layer.%lld.", (long long)index);
    value_id y = bert_attention(b, net_join(b, scope, "attention.self."), x, mask, s, c);
    y = net_linear(b, net_join(b, scope, "attention.output.dense"), y, s->hidden, s->hidden);
    y = dropout(b, net_join(b, scope, "attention.output.dropout"), y, c);
    y = net_binary(b, "Add", net_join(b, scope, "attention.output.add"), y, x);
    x = net_layer_norm(b, net_join(b, scope, "attention.output.LayerNorm"), y, s->hidden, 1e-12);
    y = net_linear(b, net_join(b, scope, "intermediate.dense"), x, s->hidden, s->ffn);
    y = net_unary(b, "Gelu", net_join(b, scope, "intermediate.gelu"), y);
    y = net_linear(b, net_join(b, scope, "output.dense"), y, s->ffn, s->hidden);
    y = dropout(b, net_join(b, scope, "output.dropout"), y, c);
    y = net_binary(b, "Add", net_join(b, scope, "output.add"), y, x);
    return net_layer_norm(b, net_join(b, scope, "output.LayerNorm"), y, s->hidden, 1e-12);
}

/* (1 - mask) · the lowest float, broadcast to the scores of all heads and queries. */
static value_id bert_mask(builder *b, value_id mask, const shared *c)
{
    value_id x =
        net_binary(b, "Unsqueeze", STR("mask.unsqueeze"), mask, net_ints(b, "mask.axes", 1, (int64_t[]){1, 2}, 2));
    x = net_binary(b, "Sub", STR("mask.sub"), net_real(b, "mask.one", 1), x);
    return net_binary(b, "Mul", STR("mask.mul"), x, c->least);
}

static value_id bert_embeddings(builder *b, value_id ids, value_id types, const sizes *s, const shared *c,
                                value_id *words)
{
    enum { TOKEN_TYPES = 2 };
    value_id table;
    value_id x = embedding(b, STR("bert.embeddings.word_embeddings"), ids, s->vocab, s->hidden, words);
    value_id y = embedding(b, STR("bert.embeddings.token_type_embeddings"), types, TOKEN_TYPES, s->hidden, &table);
    x = net_binary(b, "Add", STR("bert.embeddings.add_types"), x, y);
    value_id positions = position_numbers(b, "bert.embeddings.position_ids", s->tokens);
    y = embedding(b, STR("bert.embeddings.position_embeddings"), positions, s->positions, s->hidden, &table);
    x = net_binary(b, "Add", STR("bert.embeddings.add_positions"), x, y);
    x = net_layer_norm(b, STR("bert.embeddings.LayerNorm"), x, s->hidden, 1e-12);
    return dropout(b, STR("bert.embeddings.dropout"), x, c);
}

static value_id bert_pooler(builder *b, value_id x, const sizes *s)
{
    x = net_gather(b, STR("bert.pooler.first_token"), x, net_ints(b, "bert.pooler.index", 0, (int64_t[]){0}, 1), 1);
    x = net_gemm(b, STR("bert.pooler.dense"), x, s->hidden, s->hidden);
    return net_unary(b, "Tanh", STR("bert.pooler.activation"), x);
}

/* Masked-word predictions for every token. */
static value_id bert_predictions(builder *b, value_id x, const sizes *s, value_id words)
{
    x = net_linear(b, STR("cls.predictions.transform.dense"), x, s->hidden, s->hidden);
    x = net_unary(b, "Gelu", STR("cls.predictions.transform.gelu"), x);
    x = net_layer_norm(b, STR("cls.predictions.transform.LayerNorm"), x, s->hidden, 1e-12);
    x = net_tied_product(b, STR("cls.predictions.decoder"), x, words);
    return net_binary(b, "Add", STR("cls.predictions.add"), x,
                      net_weight(b, STR("cls.predictions.bias"), 1, &s->vocab));
}

void zoo_bert(builder *b, const zoo_arguments *a)
{
    enum { HEAD_NONE, HEAD_CLASSIFY, HEAD_PRETRAIN, CLASSES = 2 };
    int head = zoo_choice(b, a, P_HEAD, (const char *const[]){"none", "classify", "pretrain", NULL});
    sizes s = read_sizes(b, a);
    net_begin_literal(b);
    num dims[] = {net_batch(b), s.tokens};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims);
    value_id types = net_input(b, "token_type_ids", DT_INT64, 2, dims);
    value_id mask = net_input(b, "attention_mask", DT_FLOAT32, 2, dims), words;
    shared c = share(b, sqrt((double)s.width));
    mask = bert_mask(b, mask, &c);
    value_id x = bert_embeddings(b, ids, types, &s, &c, &words);
    for (int64_t i = 0; i < s.layers; i++)
        x = bert_layer(b, i, x, mask, &s, &c);
    value_id pooled = bert_pooler(b, x, &s);
    if (head == HEAD_CLASSIFY) {
        pooled = dropout(b, STR("dropout"), pooled, &c);
        x = net_gemm(b, STR("classifier"), pooled, s.hidden, CLASSES);
        net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), CLASSES});
    } else if (head == HEAD_PRETRAIN) {
        x = bert_predictions(b, x, &s, words);
        net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.vocab});
        x = net_gemm(b, STR("cls.seq_relationship"), pooled, s.hidden, CLASSES);
        net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), CLASSES});
    } else {
        net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.hidden});
        net_output(b, pooled, DT_FLOAT32, 2, (num[]){net_batch(b), s.hidden});
    }
    net_end(b);
}

/* ---- GPT-2 ------------------------------------------------------------------------------------------------------- */

static value_id gpt2_attention(builder *b, str scope, value_id x, value_id mask, const sizes *s, const shared *c)
{
    x = net_linear(b, net_join(b, scope, "c_attn"), x, s->hidden, 3 * s->hidden);
    node *split = build_node(b, STR(""), STR("Split"), net_join(b, scope, "split"), 1, 3, 2);
    split->opset = ZOO_OPSET;
    split->inputs[0] = x;
    value_id parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = split->outputs[i] = build_fresh(b, net_join(b, scope, (const char *const[]){"q", "k", "v"}[i]));
    build_attr_int(b, split, 0, "axis", 2);
    build_attr_int(b, split, 1, "num_outputs", 3);
    for (int i = 0; i < 3; i++)
        parts[i] = split_heads(b, net_join(b, scope, (const char *const[]){"q", "k", "v"}[i]), parts[i], s);
    value_id k = net_transpose(b, net_join(b, scope, "transpose"), parts[1], (int64_t[]){0, 1, 3, 2}, 4);
    value_id y = net_binary(b, "MatMul", net_join(b, scope, "scores"), parts[0], k);
    y = net_binary(b, "Div", net_join(b, scope, "div"), y, c->scale);
    node *n;
    y = net_node(b, "Where", net_join(b, scope, "where"), (value_id[]){mask, y, c->least}, 3, 0, &n);
    y = net_softmax(b, net_join(b, scope, "softmax"), y);
    y = dropout(b, net_join(b, scope, "attn_dropout"), y, c);
    y = net_binary(b, "MatMul", net_join(b, scope, "context"), y, parts[2]);
    y = join_heads(b, net_join(b, scope, "context"), y, s);
    y = net_linear(b, net_join(b, scope, "c_proj"), y, s->hidden, s->hidden);
    return dropout(b, net_join(b, scope, "resid_dropout"), y, c);
}

/* "gelu_new": 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), as separate operators. */
typedef struct gelu_numbers {
    value_id half, one, three, cubic, root;
} gelu_numbers;

static value_id gelu_new(builder *b, str scope, value_id x, const gelu_numbers *g)
{
    value_id half = net_binary(b, "Mul", net_join(b, scope, "half"), x, g->half);
    value_id y = net_binary(b, "Pow", net_join(b, scope, "pow"), x, g->three);
    y = net_binary(b, "Mul", net_join(b, scope, "cubic"), y, g->cubic);
    y = net_binary(b, "Add", net_join(b, scope, "add"), x, y);
    y = net_binary(b, "Mul", net_join(b, scope, "root"), y, g->root);
    y = net_unary(b, "Tanh", net_join(b, scope, "tanh"), y);
    y = net_binary(b, "Add", net_join(b, scope, "one"), y, g->one);
    return net_binary(b, "Mul", net_join(b, scope, "mul"), half, y);
}

void zoo_gpt2(builder *b, const zoo_arguments *a)
{
    sizes s = read_sizes(b, a);
    net_begin_literal(b);
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, (num[]){net_batch(b), s.tokens}), words, table;
    shared c = share(b, sqrt((double)s.width));
    gelu_numbers g = {net_real(b, "gelu.half", 0.5F), net_real(b, "gelu.one", 1), net_real(b, "gelu.three", 3),
                      net_real(b, "gelu.cubic", 0.044715F), net_real(b, "gelu.root", 0.79788456F)};
    value_id mask = net_buffer(b, STR("transformer.causal_mask"), DT_BOOL, 4, (int64_t[]){1, 1, s.tokens, s.tokens});
    value_id x = embedding(b, STR("transformer.wte"), ids, s.vocab, s.hidden, &words);
    value_id positions = position_numbers(b, "transformer.position_ids", s.tokens);
    value_id y = embedding(b, STR("transformer.wpe"), positions, s.positions, s.hidden, &table);
    x = net_binary(b, "Add", STR("transformer.add"), x, y);
    x = dropout(b, STR("transformer.drop"), x, &c);
    for (int64_t i = 0; i < s.layers; i++) {
        str scope = NAME("transformer.h.%lld.", (long long)i);
        y = net_layer_norm(b, net_join(b, scope, "ln_1"), x, s.hidden, 1e-5);
        y = gpt2_attention(b, net_join(b, scope, "attn."), y, mask, &s, &c);
        x = net_binary(b, "Add", net_join(b, scope, "add_1"), y, x);
        y = net_layer_norm(b, net_join(b, scope, "ln_2"), x, s.hidden, 1e-5);
        y = net_linear(b, net_join(b, scope, "mlp.c_fc"), y, s.hidden, s.ffn);
        y = gelu_new(b, net_join(b, scope, "mlp.act."), y, &g);
        y = net_linear(b, net_join(b, scope, "mlp.c_proj"), y, s.ffn, s.hidden);
        y = dropout(b, net_join(b, scope, "mlp.dropout"), y, &c);
        x = net_binary(b, "Add", net_join(b, scope, "add_2"), x, y);
    }
    x = net_layer_norm(b, STR("transformer.ln_f"), x, s.hidden, 1e-5);
    x = net_tied_product(b, STR("lm_head"), x, words);
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.vocab});
    net_end(b);
}

/* ---- OPT --------------------------------------------------------------------------------------------------------- */

/* (N, tokens, hidden) → (N · heads, tokens, width); copies */
static value_id opt_heads(builder *b, str name, value_id x, const sizes *s)
{
    x = split_heads(b, name, x, s);
    return net_reshape(b, net_join(b, name, ".batch"), x, (int64_t[]){-1, s->tokens, s->width}, 3);
}

static value_id opt_attention(builder *b, str scope, value_id x, value_id mask, const sizes *s, const shared *c)
{
    value_id q = net_linear(b, net_join(b, scope, "q_proj"), x, s->hidden, s->hidden);
    q = net_binary(b, "Mul", net_join(b, scope, "scaling"), q, c->scale);
    value_id k = net_linear(b, net_join(b, scope, "k_proj"), x, s->hidden, s->hidden);
    k = opt_heads(b, net_join(b, scope, "k"), k, s);
    value_id v = net_linear(b, net_join(b, scope, "v_proj"), x, s->hidden, s->hidden);
    v = opt_heads(b, net_join(b, scope, "v"), v, s);
    q = opt_heads(b, net_join(b, scope, "q"), q, s);
    k = net_transpose(b, net_join(b, scope, "transpose"), k, (int64_t[]){0, 2, 1}, 3);
    value_id y = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);
    y = net_reshape(b, net_join(b, scope, "scores.split"), y, (int64_t[]){-1, s->heads, s->tokens, s->tokens}, 4);
    y = net_binary(b, "Add", net_join(b, scope, "add_mask"), y, mask);
    y = net_binary(b, "Max", net_join(b, scope, "max"), y, c->least);
    y = net_reshape(b, net_join(b, scope, "scores.join"), y, (int64_t[]){-1, s->tokens, s->tokens}, 3);
    y = net_softmax(b, net_join(b, scope, "softmax"), y);
    y = net_binary(b, "MatMul", net_join(b, scope, "context"), y, v);
    y = net_reshape(b, net_join(b, scope, "context.split"), y, (int64_t[]){-1, s->heads, s->tokens, s->width}, 4);
    y = join_heads(b, net_join(b, scope, "context"), y, s);
    return net_linear(b, net_join(b, scope, "out_proj"), y, s->hidden, s->hidden);
}

/* (N, 1, tokens, tokens): the lowest float where the token mask or the causal mask is 0. */
static value_id opt_mask(builder *b, value_id mask, const sizes *s, const shared *c)
{
    node *n;
    value_id causal = net_buffer(b, STR("causal_mask"), DT_FLOAT32, 4, (int64_t[]){1, 1, s->tokens, s->tokens});
    value_id x =
        net_binary(b, "Unsqueeze", STR("mask.unsqueeze"), mask, net_ints(b, "mask.axes", 1, (int64_t[]){1, 2}, 2));
    x = net_binary(b, "Expand", STR("mask.expand"), x,
                   net_ints(b, "mask.shape", 1, (int64_t[]){1, 1, s->tokens, s->tokens}, 4));
    x = net_binary(b, "Sub", STR("mask.sub"), net_real(b, "mask.one", 1), x);
    value_id hidden = net_cast(b, STR("mask.bool_1"), x, DT_BOOL);
    x = net_node(b, "Where", STR("mask.fill_1"), (value_id[]){hidden, c->least, x}, 3, 0, &n);
    hidden = net_cast(b, STR("mask.bool_2"), x, DT_BOOL);
    return net_node(b, "Where", STR("mask.fill_2"), (value_id[]){hidden, c->least, causal}, 3, 0, &n);
}

/* Positions count the unmasked tokens, starting at 2. */
static value_id opt_positions(builder *b, value_id mask, const sizes *s)
{
    enum { OFFSET = 2 };
    value_id there = net_cast(b, STR("model.decoder.embed_positions.long"), mask, DT_INT64), table;
    value_id x = net_binary(b, "CumSum", STR("model.decoder.embed_positions.cumsum"), there,
                            net_ints(b, "model.decoder.embed_positions.axis", 0, (int64_t[]){1}, 1));
    x = net_binary(b, "Mul", STR("model.decoder.embed_positions.mul"), x, there);
    x = net_binary(b, "Sub", STR("model.decoder.embed_positions.sub"), x,
                   net_ints(b, "model.decoder.embed_positions.one", 0, (int64_t[]){1}, 1));
    x = net_binary(b, "Add", STR("model.decoder.embed_positions.add"), x,
                   net_ints(b, "model.decoder.embed_positions.offset", 0, (int64_t[]){OFFSET}, 1));
    return embedding(b, STR("model.decoder.embed_positions"), x, s->positions + OFFSET, s->hidden, &table);
}

static value_id opt_layer(builder *b, str scope, value_id x, value_id mask, const sizes *s, const shared *c)
{
    value_id y = net_layer_norm(b, net_join(b, scope, "self_attn_layer_norm"), x, s->hidden, 1e-5);
    y = opt_attention(b, net_join(b, scope, "self_attn."), y, mask, s, c);
    y = dropout(b, net_join(b, scope, "dropout_1"), y, c);
    x = net_binary(b, "Add", net_join(b, scope, "add_1"), x, y);
    x = net_reshape(b, net_join(b, scope, "rows"), x, (int64_t[]){-1, s->hidden}, 2);
    y = net_layer_norm(b, net_join(b, scope, "final_layer_norm"), x, s->hidden, 1e-5);
    y = net_linear(b, net_join(b, scope, "fc1"), y, s->hidden, s->ffn);
    y = net_unary(b, "Relu", net_join(b, scope, "activation_fn"), y);
    y = net_linear(b, net_join(b, scope, "fc2"), y, s->ffn, s->hidden);
    y = dropout(b, net_join(b, scope, "dropout_2"), y, c);
    x = net_binary(b, "Add", net_join(b, scope, "add_2"), x, y);
    return net_reshape(b, net_join(b, scope, "tokens"), x, (int64_t[]){-1, s->tokens, s->hidden}, 3);
}

void zoo_opt(builder *b, const zoo_arguments *a)
{
    sizes s = read_sizes(b, a);
    net_begin_literal(b);
    num dims[] = {net_batch(b), s.tokens};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims), words;
    value_id there = net_input(b, "attention_mask", DT_FLOAT32, 2, dims);
    shared c = share(b, 1 / sqrt((double)s.width));
    value_id x = embedding(b, STR("model.decoder.embed_tokens"), ids, s.vocab, s.hidden, &words);
    value_id mask = opt_mask(b, there, &s, &c);
    x = net_binary(b, "Add", STR("model.decoder.add"), x, opt_positions(b, there, &s));
    for (int64_t i = 0; i < s.layers; i++)
        x = opt_layer(b, NAME("model.decoder.layers.%lld.", (long long)i), x, mask, &s, &c);
    x = net_layer_norm(b, STR("model.decoder.final_layer_norm"), x, s.hidden, 1e-5);
    x = net_tied_product(b, STR("lm_head"), x, words);
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), s.tokens, s.vocab});
    net_end(b);
}
