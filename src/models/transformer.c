/* transformer.c: networks of attention layers.
 *
 *   ViT   Dosovitskiy and others, "An Image is Worth 16x16 Words", arXiv:2010.11929, as torchvision writes it
 *   BERT  Devlin and others, "BERT: Pre-training of Deep Bidirectional Transformers …", arXiv:1810.04805, with pooler */
#include "models/net.h"

enum { WIDTH = 768, HEADS = 12, LAYERS = 12, INNER = 3072 };

/* ---- ViT ------------------------------------------------------------------------------------------------------------ */

/* Query, key and value in one product; attention before the sum, norm before both. */
static value_id vit_layer(builder *b, int index, value_id x)
{
    const char *scope = NAME("encoder.layers.%d.", index).ptr;
    value_id y = net_layer_norm(b, NAME("%sln_1", scope), x, WIDTH, 1e-6);
    y = net_linear(b, NAME("%sself_attention.in_proj", scope), y, WIDTH, (int64_t)3 * WIDTH);
    node *split = build_node(b, STR(""), STR("Split"), NAME("%sself_attention.split", scope), 1, 3, 2);
    split->opset = ZOO_OPSET;
    split->inputs[0] = y;
    value_id qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = split->outputs[i] = build_fresh(b, NAME("%sself_attention.%c", scope, "qkv"[i]));
    build_attr_int(b, split, 0, "axis", -1);
    build_attr_int(b, split, 1, "num_outputs", 3);
    y = net_attention(b, NAME("%sself_attention", scope), qkv[0], qkv[1], qkv[2], NO_VALUE, HEADS);
    y = net_linear(b, NAME("%sself_attention.out_proj", scope), y, WIDTH, WIDTH);
    x = net_binary(b, "Add", NAME("%sadd_1", scope), x, y);
    y = net_layer_norm(b, NAME("%sln_2", scope), x, WIDTH, 1e-6);
    y = net_linear(b, NAME("%smlp.0", scope), y, WIDTH, INNER);
    y = net_unary(b, "Gelu", NAME("%smlp.1", scope), y);
    y = net_linear(b, NAME("%smlp.3", scope), y, INNER, WIDTH);
    return net_binary(b, "Add", NAME("%sadd_2", scope), x, y);
}

void zoo_vit(builder *b, const zoo_arguments *a)
{
    int64_t patch = a->entry->variant, patches = (224 / patch) * (224 / patch);
    net_begin(b);
    value_id images = net_input(b, "input", DT_FLOAT32, 4, (num[]){net_batch(b), 3, 224, 224});
    value_id x = net_conv(b, STR("conv_proj"), images, (net_conv_shape){3, WIDTH, patch, patch, 0, 1, true});
    x = net_reshape(b, STR("patches"), x, (int64_t[]){0, WIDTH, patches}, 3);
    node *n;
    value_id tokens = net_node(b, "Transpose", STR("tokens"), &x, 1, 1, &n);
    build_attr_ints(b, n, 0, "perm", (int64_t[]){0, 2, 1}, 3);
    value_id first = net_token(b, "class_token", images, WIDTH);
    x = net_node(b, "Concat", STR("encoder.tokens"), (value_id[]){first, tokens}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", 1);
    value_id positions = net_weight(b, STR("encoder.pos_embedding"), 3, (int64_t[]){1, patches + 1, WIDTH});
    x = net_binary(b, "Add", STR("encoder.add"), x, positions);
    for (int i = 0; i < LAYERS; i++)
        x = vit_layer(b, i, x);
    x = net_layer_norm(b, STR("encoder.ln"), x, WIDTH, 1e-6);
    x = net_gather(b, STR("first_token"), x, net_ints(b, "first_token.index", 0, (int64_t[]){0}, 1), 1);
    x = net_gemm(b, STR("heads.head"), x, WIDTH, 1000);
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), 1000});
    net_end(b);
}

/* ---- BERT ----------------------------------------------------------------------------------------------------------- */

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

/* True where a token is, for the scores of all heads and queries: (N, 1, 1, tokens). */
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
    enum { MOST_TOKENS = POSITIONS };
    int64_t tokens = a->entry->variant, numbers[MOST_TOKENS];
    for (int64_t i = 0; i < tokens; i++)
        numbers[i] = i;
    net_begin(b);
    num dims[] = {net_batch(b), tokens};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims);
    value_id mask = net_input(b, "attention_mask", DT_INT64, 2, dims);
    value_id types = net_input(b, "token_type_ids", DT_INT64, 2, dims);
    value_id positions = net_ints(b, "embeddings.position_ids", 1, numbers, (int)tokens);

    value_id x = embedding(b, "word_embeddings", ids, VOCABULARY);
    x = net_binary(b, "Add", STR("embeddings.add_types"), x, embedding(b, "token_type_embeddings", types, TOKEN_TYPES));
    x = net_binary(b, "Add", STR("embeddings.add_positions"), x,
                   embedding(b, "position_embeddings", positions, POSITIONS));
    x = net_layer_norm(b, STR("embeddings.LayerNorm"), x, WIDTH, 1e-12);
    value_id tokens_there = bert_mask(b, mask);
    for (int i = 0; i < LAYERS; i++)
        x = bert_layer(b, i, x, tokens_there);
    net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), tokens, WIDTH});
    x = net_gather(b, STR("pooler.first_token"), x, net_ints(b, "pooler.index", 0, (int64_t[]){0}, 1), 1);
    x = net_gemm(b, STR("pooler.dense"), x, WIDTH, WIDTH);
    x = net_unary(b, "Tanh", STR("pooler.activation"), x);
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), WIDTH});
    net_end(b);
}
