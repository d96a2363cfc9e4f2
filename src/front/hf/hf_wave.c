/* hf_wave.c: builds Wav2Vec2, a transformer on raw audio, from its configuration. Convolutions turn samples into
 * frames; a wide convolution encodes positions. */
#include "front/hf/hf.h"

enum { MOST_CONVOLUTIONS = 32, MOST_WIDTH = 1 << 16, MOST_KERNEL = 1 << 14, DEFAULT_SAMPLES = 16000 };

typedef struct conv_1d {
    int64_t in, out, kernel, stride, pad, groups;
} conv_1d;

static value_id convolve(builder *b, str name, value_id x, value_id weight, bool has_bias, conv_1d s)
{
    node *n;
    value_id inputs[3] = {x, weight};
    if (has_bias)
        inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &s.out);
    x = net_node(b, "Conv", name, inputs, has_bias ? 3 : 2, 4, &n);
    build_attr_ints(b, n, 0, "kernel_shape", &s.kernel, 1);
    build_attr_ints(b, n, 1, "strides", &s.stride, 1);
    build_attr_ints(b, n, 2, "pads", (int64_t[]){s.pad, s.pad}, 2);
    build_attr_int(b, n, 3, "group", s.groups);
    return x;
}

static value_id turn(builder *b, str name, value_id x)
{
    return net_transpose(b, name, x, (int64_t[]){0, 2, 1}, 3);
}

/* Samples (N, samples) → frames (N, frames, *width). */
static value_id extract_features(const hf *c, value_id x, int64_t *width)
{
    builder *b = c->b;
    node *n;
    conv_1d s = {.out = 1, .groups = 1};
    int64_t sizes[MOST_CONVOLUTIONS], kernels[MOST_CONVOLUTIONS], strides[MOST_CONVOLUTIONS];
    int count = hf_sizes(c, "conv_dim", sizes, MOST_CONVOLUTIONS, MOST_WIDTH);
    if (hf_sizes(c, "conv_kernel", kernels, MOST_CONVOLUTIONS, MOST_KERNEL) != count)
        hf_fail(c, "conv_kernel", "there must be one size for each of the %d convolutions", count);
    if (hf_sizes(c, "conv_stride", strides, MOST_CONVOLUTIONS, MOST_KERNEL) != count)
        hf_fail(c, "conv_stride", "there must be one size for each of the %d convolutions", count);
    bool has_bias = hf_flag(c, "conv_bias", false), norms_all = str_is(hf_text(c, "feat_extract_norm"), "layer");
    const char *activation = hf_activation_at(c, "feat_extract_activation");
    x = net_node(b, "Unsqueeze", STR("feature_extractor.unsqueeze"),
                 (value_id[]){x, net_ints(b, "feature_extractor.axis", 1, (int64_t[]){1}, 1)}, 2, 0, &n);
    for (int i = 0; i < count; i++) {
        str scope = NAME("feature_extractor.conv_layers.%d", i), norm = net_join(b, scope, ".layer_norm");
        s.in = s.out;
        s.out = sizes[i];
        s.kernel = kernels[i];
        s.stride = strides[i];
        value_id weight = net_weight(b, net_join(b, scope, ".conv.weight"), 3, (int64_t[]){s.out, s.in, s.kernel});
        x = convolve(b, net_join(b, scope, ".conv"), x, weight, has_bias, s);
        if (norms_all) {
            x = turn(b, net_join(b, scope, ".transpose"), x);
            x = net_layer_norm(b, norm, x, s.out, 1e-5);
            x = turn(b, net_join(b, scope, ".transpose_back"), x);
        } else if (i == 0) { /* a norm per channel */
            value_id inputs[3] = {x, net_weight(b, net_join(b, norm, ".weight"), 1, &s.out),
                                  net_weight(b, net_join(b, norm, ".bias"), 1, &s.out)};
            x = net_node(b, "GroupNormalization", norm, inputs, 3, 1, &n);
            build_attr_int(b, n, 0, "num_groups", s.out);
        }
        x = net_unary(b, activation, net_join(b, scope, ".activation"), x);
    }
    *width = s.out;
    return turn(b, STR("feature_extractor.transpose"), x);
}

/* Adds the result of a wide convolution to each frame. Its weight is normalized in each pass: a direction, and a
 * length per kernel position. */
static value_id add_positions(const hf *c, value_id x, int64_t hidden)
{
    builder *b = c->b;
    int64_t kernel = hf_size(c, "num_conv_pos_embeddings", MOST_KERNEL),
            groups = hf_size(c, "num_conv_pos_embedding_groups", MOST_WIDTH);
    if (hidden % groups)
        hf_fail(c, "num_conv_pos_embedding_groups", "%lld channels do not divide into %lld groups", (long long)hidden,
                (long long)groups);
    str name = STR("encoder.pos_conv_embed.conv"), made = net_join(b, name, ".parametrizations.weight");
    value_id length = net_weight(b, net_join(b, made, ".original0"), 3, (int64_t[]){1, 1, kernel});
    value_id direction =
        net_weight(b, net_join(b, made, ".original1"), 3, (int64_t[]){hidden, hidden / groups, kernel});
    value_id axes = net_ints(b, "encoder.pos_conv_embed.axes", 1, (int64_t[]){0, 1}, 2);
    value_id weight = net_binary(b, "ReduceL2", net_join(b, made, ".norm"), direction, axes);
    weight = net_binary(b, "Div", net_join(b, made, ".div"), length, weight);
    weight = net_binary(b, "Mul", net_join(b, made, ".mul"), direction, weight);
    value_id y = turn(b, STR("encoder.pos_conv_embed.transpose"), x);
    y = convolve(b, name, y, weight, true, (conv_1d){hidden, hidden, kernel, 1, kernel / 2, groups});
    if (kernel % 2 == 0) { /* drops one frame */
        node *n;
        value_id inputs[4] = {y, net_ints(b, "encoder.pos_conv_embed.begin", 1, (int64_t[]){0}, 1),
                              net_ints(b, "encoder.pos_conv_embed.end", 1, (int64_t[]){-1}, 1),
                              net_ints(b, "encoder.pos_conv_embed.axis", 1, (int64_t[]){2}, 1)};
        y = net_node(b, "Slice", STR("encoder.pos_conv_embed.padding"), inputs, 4, 0, &n);
    }
    y = net_unary(b, hf_activation_at(c, "feat_extract_activation"), STR("encoder.pos_conv_embed.activation"), y);
    y = turn(b, STR("encoder.pos_conv_embed.transpose_back"), y);
    return net_binary(b, "Add", STR("encoder.pos_conv_embed.add"), x, y);
}

void hf_wave(hf *c)
{
    builder *b = c->b;
    bool is_stable = hf_flag(c, "do_stable_layer_norm", false), has_words = hf_architecture(c, "ForCTC");
    int64_t hidden = hf_size(c, "hidden_size", MOST_WIDTH), heads = hf_size(c, "num_attention_heads", MOST_WIDTH);
    if (hidden % heads)
        hf_fail(c, "num_attention_heads", "%lld heads do not divide %lld elements", (long long)heads,
                (long long)hidden);
    if (!has_words && json_get(c->root, "architectures") && !hf_architecture(c, "Model"))
        hf_unsupported(c, "Wav2Vec2 with a head other than words (ForCTC) is not supported");
    if (hf_flag(c, "add_adapter", false) || hf_int(c, "adapter_attn_dim", 0))
        hf_unsupported(c, "Wav2Vec2 with adapters is not supported");
    lm_layer first = {
        .order = is_stable ? LM_PRE : LM_POST,
        .mixer = LM_ATTENTION,
        .attention = {.heads = heads, .kv_heads = heads, .size = hidden / heads, .v_size = hidden / heads},
        .feed = {.inner = hf_size(c, "intermediate_size", 1 << 20), .activation = hf_activation(c), .has_bias = true}};
    lm_attention *a = &first.attention;
    a->q_bias = a->k_bias = a->v_bias = a->o_bias = true;
    lm m = {.scope = STR("encoder."),
            .hidden = hidden,
            .embedded = hidden,
            .norm = LM_LAYER,
            .epsilon = hf_real(c, "layer_norm_eps", 1e-5),
            .norms_last = is_stable,
            .tokens = "samples", /* the number of frames follows from it */
            .layers = &first};
    hf_layers(c, &m, hf_int(c, "num_hidden_layers", 12));
    hf_default(c, "samples", DEFAULT_SAMPLES);
    net_begin_literal(b);
    num dims[] = {net_batch(b), num_symbol(&b->source->symbols, STR("samples"))};
    int64_t width;
    value_id x = extract_features(c, net_input(b, "input_values", DT_FLOAT32, 2, dims), &width);
    x = net_layer_norm(b, STR("feature_projection.layer_norm"), x, width, m.epsilon);
    x = lm_linear(b, STR("feature_projection.projection"), x, width, hidden, true);
    x = add_positions(c, x, hidden);
    if (!is_stable)
        x = net_layer_norm(b, STR("encoder.layer_norm"), x, hidden, m.epsilon);
    x = lm_stack(b, &m, x, NO_VALUE);
    if (has_words) {
        int64_t words = hf_size(c, "vocab_size", HF_MOST);
        x = lm_linear(b, STR("lm_head"), x, hidden, words, true);
    }
    build_output(b, x);
    net_end(b);
}
