/* bert.c: BERT base, Devlin and others, "BERT: Pre-training of Deep Bidirectional Transformers …", arXiv:1810.04805,
 * with pooler; attention is one operator. The family zoo:bert (language.c) runs it in pieces, as Hugging Face's code
 * did. */
#include "models/net.h"

enum { WIDTH = 768, HEADS = 12, LAYERS = 12, INNER = 3072, TOKENS = 128 };
enum { VOCABULARY = 30522, POSITIONS = 512, TOKEN_TYPES = 2 };

static value_id bert_layer(builder *b, int index, value_id x, value_id mask)
{
    const char *scope = NAME("encoder.layer.%d.", index).ptr;
    value_id q = net_linear(b, NAME("%sattention.self.query", scope), x, WIDTH, WIDTH);
    value_id k = net_linear(b, NAME("%sattention.self.key", scope), x, WIDTH, WIDTH);
    value_id v = net_linear(b, NAME("%sattention.self.value", scope), x, WIDTH, WIDTH);
    value_id y = net_attention(b, NAME("%sattention.self", scope), q, k, v, mask, HEADS);
    y = net_linear(b, NAME("%sattention.output.dense", scope), y, WIDTH, WIDTH);
    x = net_binary(b, "Add", NAME("%sattention.output.add", scope), x, y);
    x = net_layer_norm(b, NAME("%sattention.output.LayerNorm", scope), x, WIDTH, 1e-12);
    y = net_linear(b, NAME("%sintermediate.dense", scope), x, WIDTH, INNER);
    y = net_unary(b, "Gelu", NAME("%sintermediate.gelu", scope), y);
    y = net_linear(b, NAME("%soutput.dense", scope), y, INNER, WIDTH);
    x = net_binary(b, "Add", NAME("%soutput.add", scope), x, y);
    return net_layer_norm(b, NAME("%soutput.LayerNorm", scope), x, WIDTH, 1e-12);
}

/* Attention mask (N, 1, 1, tokens): true where there is a token. */
static value_id bert_mask(builder *b, value_id mask)
{
    node *n;
    value_id axes = net_ints(b, "mask.axes", 1, (int64_t[]){1, 2}, 2);
    value_id x = net_binary(b, "Unsqueeze", STR("mask.unsqueeze"), mask, axes);
    x = net_node(b, "Cast", STR("mask.cast"), &x, 1, 1, &n);
    build_attr_int(b, n, 0, "to", DT_BOOL);
    return x;
}

static value_id embedding(builder *b, const char *name, value_id indices, int64_t rows)
{
    value_id table = net_weight(b, NAME("embeddings.%s.weight", name), 2, (int64_t[]){rows, WIDTH});
    return net_gather(b, NAME("embeddings.%s", name), table, indices, 0);
}

void zoo_bert_base(builder *b, const zoo_arguments *a)
{
    int64_t numbers[TOKENS];
    for (int64_t i = 0; i < TOKENS; i++)
        numbers[i] = i;
    (void)a;
    net_begin(b);
    num dims[] = {net_batch(b), TOKENS};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims);
    value_id mask = net_input(b, "attention_mask", DT_INT64, 2, dims);
    value_id types = net_input(b, "token_type_ids", DT_INT64, 2, dims);
    value_id positions = net_ints(b, "embeddings.position_ids", 1, numbers, TOKENS);

    value_id x = embedding(b, "word_embeddings", ids, VOCABULARY);
    x = net_binary(b, "Add", STR("embeddings.add_types"), x, embedding(b, "token_type_embeddings", types, TOKEN_TYPES));
    x = net_binary(b, "Add", STR("embeddings.add_positions"), x,
                   embedding(b, "position_embeddings", positions, POSITIONS));
    x = net_layer_norm(b, STR("embeddings.LayerNorm"), x, WIDTH, 1e-12);
    value_id tokens_there = bert_mask(b, mask);
    for (int i = 0; i < LAYERS; i++)
        x = bert_layer(b, i, x, tokens_there);
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), TOKENS, WIDTH});
    x = net_gather(b, STR("pooler.first_token"), x, net_ints(b, "pooler.index", 0, (int64_t[]){0}, 1), 1);
    x = net_gemm(b, STR("pooler.dense"), x, WIDTH, WIDTH);
    x = net_unary(b, "Tanh", STR("pooler.activation"), x);
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), WIDTH});
    net_end(b);
}
