/* hf_image.c: builds transformers for images and sound from their configuration: ViT-like models, CLIP, Whisper. */
#include "front/hf/hf.h"

enum { MOST_WIDTH = 1 << 16, MOST_IMAGE = 1 << 14, MOST_TOKENS = 1 << 20 };

static bool is_type(const hf *c, const char *type)
{
    return str_is(c->type, type);
}

/* Reads pre-norm layers with all biases, the common case. */
static lm read_stack(const hf *c, const char *scope, lm_layer *first)
{
    int64_t hidden = hf_size(c, "hidden_size d_model", MOST_WIDTH);
    *first = (lm_layer){.order = LM_PRE, .mixer = LM_ATTENTION};
    hf_read_attention(c, hidden, &first->attention);
    lm_attention *a = &first->attention;
    a->q_bias = a->k_bias = a->v_bias = a->o_bias = true;
    a->rotary = 0;
    first->feed =
        (lm_feed){.inner = hf_int(c, "intermediate_size", 0), .activation = hf_activation(c), .has_bias = true};
    if (!first->feed.inner)
        first->feed.inner = hf_int(c, "mlp_ratio", 4) * hidden;
    if (first->feed.inner > 1 << 20)
        hf_fail(c, "intermediate_size mlp_ratio", "a size is larger than in any real network");
    lm m = {.scope = str_of(scope),
            .hidden = hidden,
            .embedded = hidden,
            .norm = LM_LAYER,
            .epsilon = hf_real(c, "layer_norm_eps", 1e-6),
            .norms_last = true,
            .tokens = "seq",
            .layers = first};
    return m;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

typedef struct picture {
    value_id images;
    int64_t size, patch, channels, patches;
} picture;

static picture read_picture(const hf *c)
{
    picture p = {.size = hf_size(c, "image_size", MOST_IMAGE),
                 .patch = hf_size(c, "patch_size", MOST_IMAGE),
                 .channels = hf_size(c, "num_channels", 4096)};
    if (p.patch > p.size)
        hf_fail(c, "patch_size", "patches are larger than the image");
    p.patches = (p.size / p.patch) * (p.size / p.patch);
    p.images = net_input(c->b, "pixel_values", DT_FLOAT32, 4, (num[]){net_batch(c->b), p.channels, p.size, p.size});
    return p;
}

/* (N, patches, hidden) */
static value_id cut_into_patches(const hf *c, const picture *p, int64_t hidden, bool has_bias)
{
    builder *b = c->b;
    net_conv_shape shape = {p->channels, hidden, p->patch, p->patch, 0, 1, has_bias};
    value_id x = net_conv(b, STR("patch_embeddings.projection"), p->images, shape);
    x = net_reshape(b, STR("patches"), x, (int64_t[]){0, hidden, p->patches}, 3);
    return net_transpose(b, STR("tokens"), x, (int64_t[]){0, 2, 1}, 3);
}

static value_id put_before(builder *b, str name, value_id token, value_id x)
{
    node *n;
    value_id out = net_node(b, "Concat", name, (value_id[]){token, x}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", 1);
    return out;
}

static value_id add_positions(builder *b, value_id x, int64_t tokens, int64_t hidden)
{
    value_id table = net_weight(b, STR("embeddings.position_embeddings"), 3, (int64_t[]){1, tokens, hidden});
    return net_binary(b, "Add", STR("embeddings.add"), x, table);
}

/* Passes image patches, preceded by special tokens, through the layers. */
static value_id see(const hf *c, lm *m, const picture *p, bool has_class, bool has_second, bool has_positions,
                    bool has_bias, bool norms_first)
{
    builder *b = c->b;
    value_id x = cut_into_patches(c, p, m->hidden, has_bias);
    if (has_second)
        x = put_before(b, STR("embeddings.cat_2"), net_token(b, "embeddings.distillation_token", p->images, m->hidden),
                       x);
    if (has_class)
        x = put_before(b, STR("embeddings.cat"), net_token(b, "embeddings.cls_token", p->images, m->hidden), x);
    if (has_positions)
        x = add_positions(b, x, p->patches + has_class + has_second, m->hidden);
    if (norms_first)
        x = net_layer_norm(b, STR("pre_layrnorm"), x, m->hidden, m->epsilon);
    return lm_stack(b, m, x, NO_VALUE);
}

static value_id first_token(builder *b, const char *name, value_id x)
{
    return net_gather(b, NAME("%s.first_token", name), x, net_ints(b, NAME("%s.index", name).ptr, 0, (int64_t[]){0}, 1),
                      1);
}

static value_id mean_of_tokens(builder *b, const char *name, value_id x, bool leaves_first)
{
    if (leaves_first) {
        node *n;
        value_id inputs[4] = {x, net_ints(b, NAME("%s.begin", name).ptr, 1, (int64_t[]){1}, 1),
                              net_ints(b, NAME("%s.end", name).ptr, 1, (int64_t[]){INT64_MAX}, 1),
                              net_ints(b, NAME("%s.axis", name).ptr, 1, (int64_t[]){1}, 1)};
        x = net_node(b, "Slice", NAME("%s.patches", name), inputs, 4, 0, &n);
    }
    node *n;
    value_id axes = net_ints(b, NAME("%s.axes", name).ptr, 1, (int64_t[]){1}, 1);
    x = net_node(b, "ReduceMean", NAME("%s.mean", name), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    return x;
}

/* SigLIP: a learned query attends to all patches. */
static value_id attention_pool(const hf *c, const lm *m, value_id images, value_id x)
{
    builder *b = c->b;
    int64_t hidden = m->hidden, inner = m->layers[0].feed.inner;
    value_id probe = net_token(b, "head.probe", images, hidden);
    value_id q = net_linear(b, STR("head.attention.q"), probe, hidden, hidden);
    value_id k = net_linear(b, STR("head.attention.k"), x, hidden, hidden);
    value_id v = net_linear(b, STR("head.attention.v"), x, hidden, hidden);
    value_id y = net_attention(b, STR("head.attention"), q, k, v, NO_VALUE, m->layers[0].attention.heads);
    y = net_linear(b, STR("head.attention.out_proj"), y, hidden, hidden);
    x = net_layer_norm(b, STR("head.layernorm"), y, hidden, m->epsilon);
    x = net_linear(b, STR("head.mlp.fc1"), x, hidden, inner);
    x = net_unary(b, "Gelu", STR("head.mlp.gelu"), x);
    x = net_linear(b, STR("head.mlp.fc2"), x, inner, hidden);
    return first_token(b, "head", net_binary(b, "Add", STR("head.add"), y, x));
}

void hf_image(hf *c)
{
    builder *b = c->b;
    lm_layer first;
    lm m = read_stack(c, "encoder.", &first);
    bool is_beit = is_type(c, "beit"), is_deit = is_type(c, "deit"), is_dino = is_type(c, "dinov2");
    bool is_siglip = str_starts(c->type, "siglip");
    first.attention.k_bias = !is_beit;
    first.has_scale = is_beit || is_dino;
    m.norms_last = !is_beit;
    if (is_beit &&
        (hf_flag(c, "use_relative_position_bias", false) || hf_flag(c, "use_shared_relative_position_bias", false)))
        hf_unsupported(c, "BEiT with relative positions is not supported");
    if (hf_flag(c, "use_swiglu_ffn", false))
        hf_unsupported(c, "DINOv2 with gated layers is not supported");
    hf_layers(c, &m, hf_int(c, "num_hidden_layers", 12));
    net_begin_literal(b);
    picture p = read_picture(c);
    bool has_positions = !is_beit || hf_flag(c, "use_absolute_position_embeddings", false);
    value_id x = see(c, &m, &p, !is_siglip, is_deit, has_positions, true, false);
    bool classifies = hf_architecture(c, "ForImageClassification");
    int64_t width = m.hidden;
    if (is_siglip) {
        x = attention_pool(c, &m, p.images, x);
    } else if (is_beit) {
        x = net_layer_norm(b, STR("pooler.layernorm"), mean_of_tokens(b, "pooler", x, true), width, m.epsilon);
    } else if (is_dino && classifies) {
        node *n;
        x = net_node(b, "Concat", STR("pooler.cat"),
                     (value_id[]){first_token(b, "pooler", x), mean_of_tokens(b, "pooler_mean", x, true)}, 2, 1, &n);
        build_attr_int(b, n, 0, "axis", -1);
        width *= 2;
    } else if (classifies || hf_architecture(c, "Model")) {
        x = first_token(b, "pooler", x);
        if (!classifies && !is_dino) {
            x = net_gemm(b, STR("pooler.dense"), x, width, width);
            x = net_unary(b, "Tanh", STR("pooler.activation"), x);
        }
    }
    int64_t classes = hf_class_count(c);
    if (classifies) {
        x = net_gemm(b, STR("classifier"), x, width, classes);
        width = classes;
    }
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), width});
    net_end(b);
}

/* ---- CLIP -------------------------------------------------------------------------------------------------------- */

void hf_clip(hf *c)
{
    builder *b = c->b;
    lm_layer first[2];
    const json_node *text_config = json_get(c->root, "text_config"),
                    *vision_config = json_get(c->root, "vision_config");
    hf text = hf_part(c, text_config, "clip_text_model"), vision = hf_part(c, vision_config, "clip_vision_model");
    if (str_is(text.type, "clip"))
        text = hf_part(c, NULL, "clip_text_model");
    int64_t joint = hf_int(c, "projection_dim", 512);
    lm words = read_stack(&text, "text_model.", &first[0]), seen = read_stack(&vision, "vision_model.", &first[1]);
    if (joint < 1 || joint > MOST_WIDTH)
        hf_fail(c, "projection_dim", "not a possible size");
    words.is_causal = true;
    seen.norms_last = false;
    hf_layers(c, &words, hf_int(&text, "num_hidden_layers", 12));
    hf_layers(c, &seen, hf_int(&vision, "num_hidden_layers", 12));
    int64_t positions = hf_size(&text, "max_position_embeddings", MOST_TOKENS);
    hf_default(c, "seq", positions);
    net_begin_literal(b);
    picture p = read_picture(&vision);
    value_id image = see(&vision, &seen, &p, true, false, true, false, true);
    image = net_layer_norm(b, STR("post_layernorm"), first_token(b, "vision_model", image), seen.hidden, seen.epsilon);
    image = net_product(b, STR("visual_projection"), image, seen.hidden, joint);
    num dims[] = {net_batch(b), num_symbol(&b->source->symbols, STR("seq"))};
    value_id ids = net_input(b, "input_ids", DT_INT64, 2, dims),
             places = net_input(b, "position_ids", DT_INT64, 2, dims);
    value_id table = net_weight(b, STR("text_model.token_embedding.weight"), 2,
                                (int64_t[]){hf_size(&text, "vocab_size", HF_MOST), words.hidden});
    value_id x = net_gather(b, STR("text_model.token_embedding"), table, ids, 0);
    table = net_weight(b, STR("text_model.position_embedding.weight"), 2, (int64_t[]){positions, words.hidden});
    x = net_binary(b, "Add", STR("text_model.add"), x,
                   net_gather(b, STR("text_model.position_embedding"), table, places, 0));
    x = first_token(b, "text_model", lm_stack(b, &words, x, NO_VALUE));
    x = net_product(b, STR("text_projection"), x, words.hidden, joint);
    image = net_transpose(b, STR("image.transpose"), image, (int64_t[]){1, 0}, 2);
    x = net_binary(b, "MatMul", STR("logits"), x, image);
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), net_batch(b)});
    net_end(b);
}

/* ---- Whisper ----------------------------------------------------------------------------------------------------- */

static value_id conv_1d(builder *b, str name, value_id x, int64_t in, int64_t out, int64_t stride)
{
    node *n;
    value_id inputs[3] = {x, net_weight(b, net_join(b, name, ".weight"), 3, (int64_t[]){out, in, 3}),
                          net_weight(b, net_join(b, name, ".bias"), 1, &out)};
    x = net_node(b, "Conv", name, inputs, 3, 3, &n);
    build_attr_ints(b, n, 0, "kernel_shape", (int64_t[]){3}, 1);
    build_attr_ints(b, n, 1, "strides", &stride, 1);
    build_attr_ints(b, n, 2, "pads", (int64_t[]){1, 1}, 2);
    return net_unary(b, "Gelu", net_join(b, name, ".gelu"), x);
}

static lm whisper_stack(const hf *c, bool is_decoder, lm_layer *first)
{
    hf part = *c;
    lm m = {.scope = is_decoder ? STR("decoder.") : STR("encoder."),
            .hidden = hf_size(c, "d_model", MOST_WIDTH),
            .norm = LM_LAYER,
            .epsilon = 1e-5,
            .norms_last = true,
            .is_causal = is_decoder,
            .has_cache = is_decoder,
            .tokens = "seq",
            .layers = first};
    *first = (lm_layer){.order = LM_PRE, .mixer = LM_ATTENTION, .has_cross = is_decoder};
    lm_attention *a = &first->attention;
    a->heads = a->kv_heads = hf_size(&part, is_decoder ? "decoder_attention_heads" : "encoder_attention_heads", 4096);
    a->size = a->v_size = m.hidden / a->heads;
    if (a->size < 1)
        hf_fail(c, is_decoder ? "decoder_attention_heads" : "encoder_attention_heads", "more heads than elements");
    a->q_bias = a->v_bias = a->o_bias = true;
    first->feed = (lm_feed){.inner = hf_size(c, is_decoder ? "decoder_ffn_dim" : "encoder_ffn_dim", 1 << 20),
                            .activation = hf_activation(c),
                            .has_bias = true};
    m.embedded = m.hidden;
    hf_layers(c, &m, hf_int(c, is_decoder ? "decoder_layers" : "encoder_layers", 0));
    return m;
}

void hf_whisper(hf *c)
{
    builder *b = c->b;
    lm_layer first[2];
    lm encoder = whisper_stack(c, false, &first[0]), decoder = whisper_stack(c, true, &first[1]);
    int64_t frames = hf_size(c, "max_source_positions", MOST_TOKENS), bins = hf_size(c, "num_mel_bins", 65536);
    decoder.vocab = hf_size(c, "vocab_size", HF_MOST);
    decoder.positions = hf_size(c, "max_target_positions", MOST_TOKENS);
    decoder.head = hf_head(c);
    hf_default(c, "seq", 1);
    hf_default(c, "past", 0);
    net_begin_literal(b);
    value_id x = net_input(b, "input_features", DT_FLOAT32, 3, (num[]){net_batch(b), bins, 2 * frames});
    x = conv_1d(b, STR("encoder.conv1"), x, bins, encoder.hidden, 1);
    x = conv_1d(b, STR("encoder.conv2"), x, encoder.hidden, encoder.hidden, 2);
    x = net_transpose(b, STR("encoder.permute"), x, (int64_t[]){0, 2, 1}, 3);
    value_id table = net_weight(b, STR("encoder.embed_positions.weight"), 2, (int64_t[]){frames, encoder.hidden});
    x = net_binary(b, "Add", STR("encoder.add"), x, table);
    lm_decode(b, &decoder, lm_stack(b, &encoder, x, NO_VALUE));
    net_end(b);
}
