/* hf_pyramid.c: builds image transformers with shrinking stages from their configuration: SegFormer, whose keys and
 * values are subsampled, and Swin, whose attention stays inside windows. */
#include "front/hf/hf.h"

enum { MOST_STAGES = 16, MOST_DEPTH = 1024, MOST_WIDTH = 1 << 16, MOST_IMAGE = 1 << 14, MOST_RATIO = 64 };

/* A stage: tokens of a map of `side` × `side`, `width` channels. */
typedef struct stage {
    int64_t side, width, depth, heads;
} stage;

/* (N, side · side, width) → (N, width, side, side), and back. */
static value_id to_places(builder *b, str name, value_id x, int64_t side, int64_t width)
{
    x = net_transpose(b, net_join(b, name, ".transpose"), x, (int64_t[]){0, 2, 1}, 3);
    return net_reshape(b, net_join(b, name, ".places"), x, (int64_t[]){0, width, side, side}, 4);
}

static value_id to_tokens(builder *b, str name, value_id x, int64_t side, int64_t width)
{
    x = net_reshape(b, net_join(b, name, ".flatten"), x, (int64_t[]){0, width, side * side}, 3);
    return net_transpose(b, net_join(b, name, ".tokens"), x, (int64_t[]){0, 2, 1}, 3);
}

static value_id mean_of_tokens(builder *b, const char *name, value_id x)
{
    node *n;
    value_id axes = net_ints(b, NAME("%s.axes", name).ptr, 1, (int64_t[]){1}, 1);
    x = net_node(b, "ReduceMean", str_of(name), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    return x;
}

static value_id concat(builder *b, str name, const value_id *parts, int count, int64_t axis)
{
    node *n;
    value_id out = net_node(b, "Concat", name, parts, count, 1, &n);
    build_attr_int(b, n, 0, "axis", axis);
    return out;
}

static void check_heads(const hf *c, const char *key, int64_t width, int64_t heads)
{
    if (width % heads)
        hf_fail(c, key, "%lld heads do not divide %lld elements", (long long)heads, (long long)width);
}

/* Reads a configuration list with one entry per stage. */
static void read_list(const hf *c, const char *key, int64_t *list, int count, int64_t most)
{
    if (hf_sizes(c, key, list, MOST_STAGES, most) != count)
        hf_fail(c, key, "there must be one size for each of the %d stages", count);
}

/* ---- SegFormer --------------------------------------------------------------------------------------------------- */

static const double SEGFORMER_EPSILON = 1e-5; /* the class ignores the setting layer_norm_eps */

static value_id segformer_attention(builder *b, str scope, value_id x, const stage *s, int64_t reduction)
{
    value_id q = lm_linear(b, net_join(b, scope, ".q_proj"), x, s->width, s->width, true);
    if (reduction > 1) {
        str name = net_join(b, scope, ".sequence_reduction.sequence_reduction");
        x = to_places(b, name, x, s->side, s->width);
        x = net_conv(b, name, x, (net_conv_shape){s->width, s->width, reduction, reduction, 0, 1, true});
        x = to_tokens(b, name, x, s->side / reduction, s->width);
        x = net_layer_norm(b, net_join(b, scope, ".sequence_reduction.layer_norm"), x, s->width, SEGFORMER_EPSILON);
    }
    value_id k = lm_linear(b, net_join(b, scope, ".k_proj"), x, s->width, s->width, true);
    value_id v = lm_linear(b, net_join(b, scope, ".v_proj"), x, s->width, s->width, true);
    x = net_attention(b, net_join(b, scope, ".attention"), q, k, v, NO_VALUE, s->heads);
    return lm_linear(b, net_join(b, scope, ".o_proj"), x, s->width, s->width, true);
}

static value_id segformer_block(const hf *c, str scope, value_id x, const stage *s, int64_t reduction, int64_t inner)
{
    builder *b = c->b;
    value_id y = net_layer_norm(b, net_join(b, scope, ".layernorm_before"), x, s->width, SEGFORMER_EPSILON);
    y = segformer_attention(b, net_join(b, scope, ".attention"), y, s, reduction);
    x = net_binary(b, "Add", net_join(b, scope, ".add_1"), y, x);
    y = net_layer_norm(b, net_join(b, scope, ".layernorm_after"), x, s->width, SEGFORMER_EPSILON);
    y = lm_linear(b, net_join(b, scope, ".mlp.fc1"), y, s->width, inner, true);
    str name = net_join(b, scope, ".mlp.dwconv.dwconv");
    y = to_places(b, name, y, s->side, inner);
    y = net_conv(b, name, y, (net_conv_shape){inner, inner, 3, 1, 1, inner, true});
    y = to_tokens(b, name, y, s->side, inner);
    y = net_unary(b, hf_activation(c), net_join(b, scope, ".mlp.activation_fn"), y);
    y = lm_linear(b, net_join(b, scope, ".mlp.fc2"), y, inner, s->width, true);
    return net_binary(b, "Add", net_join(b, scope, ".add_2"), y, x);
}

/* Projects every stage to one width, resizes it to the first stage's map, and fuses all with one product. */
static value_id segment(const hf *c, const value_id *seen, const stage *s, int count, int64_t classes)
{
    builder *b = c->b;
    int64_t width = hf_size(c, "decoder_hidden_size", MOST_WIDTH), side = s[0].side;
    value_id parts[MOST_STAGES];
    for (int i = 0; i < count; i++) {
        str name = NAME("decode_head.linear_projections.%d.proj", i);
        value_id x = to_tokens(b, name, seen[i], s[i].side, s[i].width);
        x = lm_linear(b, name, x, s[i].width, width, true);
        x = to_places(b, name, x, s[i].side, width);
        value_id sizes = net_ints(b, NAME("%s.sizes", name.ptr).ptr, 1, (int64_t[]){side, side}, 2);
        node *n;
        x = net_node(b, "Resize", net_join(b, name, ".interpolate"), (value_id[]){x, NO_VALUE, NO_VALUE, sizes}, 4, 2,
                     &n);
        n->attrs[0] = (attr){.name = STR("mode"), .kind = ATTR_STRING, .string = STR("linear")};
        build_attr_ints(b, n, 1, "axes", (int64_t[]){2, 3}, 2);
        parts[count - 1 - i] = x;
    }
    value_id x = concat(b, STR("decode_head.cat"), parts, count, 1);
    x = net_conv(b, STR("decode_head.linear_fuse"), x, (net_conv_shape){width * count, width, 1, 1, 0, 1, false});
    x = net_batch_norm(b, STR("decode_head.batch_norm"), x, width);
    x = net_unary(b, "Relu", STR("decode_head.activation"), x);
    return net_conv(b, STR("decode_head.classifier"), x, (net_conv_shape){width, classes, 1, 1, 0, 1, true});
}

void hf_segformer(hf *c)
{
    builder *b = c->b;
    int64_t depth[MOST_STAGES], width[MOST_STAGES], heads[MOST_STAGES], patch[MOST_STAGES], stride[MOST_STAGES],
        reduction[MOST_STAGES], ratio[MOST_STAGES], in = hf_size(c, "num_channels", 4096),
                                                    side = hf_size(c, "image_size", MOST_IMAGE);
    int count = hf_sizes(c, "depths", depth, MOST_STAGES, MOST_DEPTH);
    read_list(c, "hidden_sizes", width, count, MOST_WIDTH);
    read_list(c, "num_attention_heads", heads, count, MOST_WIDTH);
    read_list(c, "patch_sizes", patch, count, MOST_IMAGE);
    read_list(c, "strides", stride, count, MOST_IMAGE);
    read_list(c, "sr_ratios", reduction, count, MOST_IMAGE);
    read_list(c, "mlp_ratios", ratio, count, MOST_RATIO);
    stage stages[MOST_STAGES] = {0};
    value_id seen[MOST_STAGES];
    net_begin_literal(b);
    value_id x = net_input(b, "pixel_values", DT_FLOAT32, 4, (num[]){net_batch(b), in, side, side});
    for (int i = 0; i < count; i++) {
        check_heads(c, "num_attention_heads", width[i], heads[i]);
        side = (side + patch[i] / 2 * 2 - patch[i]) / stride[i] + 1;
        if (side < reduction[i])
            hf_fail(c, "sr_ratios", "keys of stage %d come from more pixels than there are", i);
        stages[i] = (stage){side, width[i], depth[i], heads[i]};
        str name = NAME("stages.%d.patch_embeddings.proj", i);
        x = net_conv(b, name, x, (net_conv_shape){in, width[i], patch[i], stride[i], patch[i] / 2, 1, true});
        x = to_tokens(b, name, x, side, width[i]);
        x = net_layer_norm(b, NAME("stages.%d.patch_embeddings.layer_norm", i), x, width[i], SEGFORMER_EPSILON);
        for (int j = 0; j < depth[i]; j++)
            x = segformer_block(c, NAME("stages.%d.blocks.%d", i, j), x, &stages[i], reduction[i], width[i] * ratio[i]);
        x = net_layer_norm(b, NAME("stages.%d.layer_norm", i), x, width[i], SEGFORMER_EPSILON);
        x = seen[i] = to_places(b, NAME("stages.%d.reshape", i), x, side, width[i]);
        in = width[i];
    }
    int64_t classes = hf_class_count(c);
    if (hf_architecture(c, "ForSemanticSegmentation")) {
        x = segment(c, seen, stages, count, classes);
        net_output(b, x, DT_FLOAT32, 4, (num[]){net_batch(b), classes, stages[0].side, stages[0].side});
    } else if (hf_architecture(c, "ForImageClassification")) {
        x = mean_of_tokens(b, "mean", to_tokens(b, STR("mean"), x, side, in));
        net_output(b, net_gemm(b, STR("classifier"), x, in, classes), DT_FLOAT32, 2, (num[]){net_batch(b), classes});
    } else {
        net_output(b, x, DT_FLOAT32, 4, (num[]){net_batch(b), in, side, side});
    }
    net_end(b);
}

/* ---- Swin -------------------------------------------------------------------------------------------------------- */

typedef struct swin {
    const hf *c;
    int64_t window, inner_ratio_1000; /* inner_ratio_1000: ratio of the feed-forward width, in thousandths */
    bool has_bias;
    double epsilon;
} swin;

static value_id slice(builder *b, str name, value_id x, int64_t axis, int64_t begin, int64_t end, int64_t step)
{
    node *n;
    value_id inputs[5] = {x, net_ints(b, NAME("%s.begin", name.ptr).ptr, 1, &begin, 1),
                          net_ints(b, NAME("%s.end", name.ptr).ptr, 1, &end, 1),
                          net_ints(b, NAME("%s.axis", name.ptr).ptr, 1, &axis, 1),
                          net_ints(b, NAME("%s.step", name.ptr).ptr, 1, &step, 1)};
    return net_node(b, "Slice", name, inputs, 5, 0, &n);
}

/* torch.roll over height and width. */
static value_id roll(builder *b, str name, value_id x, int64_t shift)
{
    node *n = build_node(b, STR("sooth"), STR("Roll"), name, 1, 1, 2);
    n->inputs[0] = x;
    n->outputs[0] = build_fresh(b, net_join(b, name, ".out"));
    build_attr_ints(b, n, 0, "axes", (int64_t[]){1, 2}, 2);
    build_attr_ints(b, n, 1, "shifts", (int64_t[]){shift, shift}, 2);
    return n->outputs[0];
}

/* Score bias: a learned number per head and distance, and in shifted windows a mask between pixels that are not
 * adjacent: (1 or N · windows, heads, pixels, pixels). */
static value_id score_bias(const swin *w, str scope, value_id images, const stage *s, bool is_shifted)
{
    builder *b = w->c->b;
    int64_t places = w->window * w->window, distances = (2 * w->window - 1) * (2 * w->window - 1),
            windows = (s->side / w->window) * (s->side / w->window), all = places * places;
    str name = net_join(b, scope, ".relative_position_bias");
    value_id table =
        net_weight(b, net_join(b, name, ".relative_position_bias_table"), 2, (int64_t[]){distances, s->heads});
    value_id index = net_buffer(b, net_join(b, name, ".relative_position_index"), DT_INT64, 1, &all);
    value_id bias = net_gather(b, name, table, index, 0);
    bias = net_reshape(b, net_join(b, name, ".view"), bias, (int64_t[]){1, places, places, s->heads}, 4);
    bias = net_transpose(b, net_join(b, name, ".permute"), bias, (int64_t[]){0, 3, 1, 2}, 4);
    if (!is_shifted)
        return bias;
    node *n;
    name = net_join(b, scope, ".attn_mask");
    value_id mask = net_buffer(b, name, DT_FLOAT32, 5, (int64_t[]){1, windows, 1, places, places});
    value_id batch = net_node(b, "Shape", net_join(b, name, ".batch"), &images, 1, 2, &n);
    build_attr_int(b, n, 0, "start", 0);
    build_attr_int(b, n, 1, "end", 1);
    value_id rest = net_ints(b, NAME("%s.rest", name.ptr).ptr, 1, (int64_t[]){windows, 1, places, places}, 4);
    value_id dims = concat(b, net_join(b, name, ".dims"), (value_id[]){batch, rest}, 2, 0);
    mask = net_binary(b, "Expand", net_join(b, name, ".expand"), mask, dims);
    mask = net_reshape(b, net_join(b, name, ".view"), mask, (int64_t[]){-1, 1, places, places}, 4);
    return net_binary(b, "Add", net_join(b, name, ".add"), bias, mask);
}

/* (N, side, side, width) → (N · windows, pixels, width) */
static value_id cut_into_windows(builder *b, str scope, value_id x, const stage *s, int64_t window)
{
    int64_t count = s->side / window;
    x = net_reshape(b, net_join(b, scope, ".rows"), x, (int64_t[]){0, count, window, count, window, s->width}, 6);
    x = net_transpose(b, net_join(b, scope, ".transpose"), x, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
    return net_reshape(b, net_join(b, scope, ".windows"), x, (int64_t[]){-1, window * window, s->width}, 3);
}

static value_id put_together(builder *b, str scope, value_id x, const stage *s, int64_t window)
{
    int64_t count = s->side / window;
    x = net_reshape(b, net_join(b, scope, ".windows"), x, (int64_t[]){-1, count, count, window, window, s->width}, 6);
    x = net_transpose(b, net_join(b, scope, ".transpose"), x, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
    return net_reshape(b, net_join(b, scope, ".rows"), x, (int64_t[]){-1, s->side, s->side, s->width}, 4);
}

static value_id swin_block(const swin *w, str scope, value_id images, value_id x, const stage *s, bool is_shifted)
{
    builder *b = w->c->b;
    int64_t width = s->width, inner = w->inner_ratio_1000 * width / 1000, shift = w->window / 2;
    is_shifted &= s->side > w->window && shift > 0;
    value_id y = net_layer_norm(b, net_join(b, scope, ".layernorm_before"), x, width, w->epsilon);
    y = net_reshape(b, net_join(b, scope, ".places"), y, (int64_t[]){0, s->side, s->side, width}, 4);
    if (is_shifted)
        y = roll(b, net_join(b, scope, ".cyclic_shift"), y, -shift);
    y = cut_into_windows(b, net_join(b, scope, ".window_partition"), y, s, w->window);
    str name = net_join(b, scope, ".attention");
    value_id q = lm_linear(b, net_join(b, name, ".q_proj"), y, width, width, w->has_bias);
    value_id k = lm_linear(b, net_join(b, name, ".k_proj"), y, width, width, w->has_bias);
    value_id v = lm_linear(b, net_join(b, name, ".v_proj"), y, width, width, w->has_bias);
    value_id bias = score_bias(w, name, images, s, is_shifted);
    y = net_attention(b, net_join(b, name, ".attention"), q, k, v, bias, s->heads);
    y = lm_linear(b, net_join(b, name, ".o_proj"), y, width, width, true);
    y = put_together(b, net_join(b, scope, ".window_reverse"), y, s, w->window);
    if (is_shifted)
        y = roll(b, net_join(b, scope, ".cyclic_shift_back"), y, shift);
    y = net_reshape(b, net_join(b, scope, ".tokens"), y, (int64_t[]){0, s->side * s->side, width}, 3);
    x = net_binary(b, "Add", net_join(b, scope, ".add_1"), x, y);
    y = net_layer_norm(b, net_join(b, scope, ".layernorm_after"), x, width, w->epsilon);
    y = lm_linear(b, net_join(b, scope, ".mlp.fc1"), y, width, inner, true);
    y = net_unary(b, hf_activation(w->c), net_join(b, scope, ".mlp.activation_fn"), y);
    y = lm_linear(b, net_join(b, scope, ".mlp.fc2"), y, inner, width, true);
    return net_binary(b, "Add", net_join(b, scope, ".add_2"), y, x);
}

/* Merges 2 × 2 pixels into one of twice the width. */
static value_id merge_patches(builder *b, str scope, value_id x, const stage *s)
{
    value_id parts[4];
    x = net_reshape(b, net_join(b, scope, ".places"), x, (int64_t[]){0, s->side, s->side, s->width}, 4);
    for (int i = 0; i < 4; i++) {
        parts[i] = slice(b, NAME("%s.row%d", scope.ptr, i), x, 1, i % 2, INT64_MAX, 2);
        parts[i] = slice(b, NAME("%s.column%d", scope.ptr, i), parts[i], 2, i / 2, INT64_MAX, 2);
    }
    x = concat(b, net_join(b, scope, ".cat"), parts, 4, -1);
    x = net_reshape(b, net_join(b, scope, ".tokens"), x, (int64_t[]){0, s->side * s->side / 4, 4 * s->width}, 3);
    x = net_layer_norm(b, net_join(b, scope, ".norm"), x, 4 * s->width, 1e-5);
    return lm_linear(b, net_join(b, scope, ".reduction"), x, 4 * s->width, 2 * s->width, false);
}

void hf_swin(hf *c)
{
    builder *b = c->b;
    int64_t depth[MOST_STAGES], heads[MOST_STAGES], channels = hf_size(c, "num_channels", 4096),
                                                    size = hf_size(c, "image_size", MOST_IMAGE),
                                                    patch = hf_size(c, "patch_size", MOST_IMAGE);
    int count = hf_sizes(c, "depths", depth, MOST_STAGES, MOST_DEPTH);
    read_list(c, "num_heads", heads, count, MOST_WIDTH);
    double ratio = hf_real(c, "mlp_ratio", 4);
    if (!(ratio >= 0.001 && ratio <= MOST_RATIO))
        hf_fail(c, "mlp_ratio", "not a possible ratio");
    swin w = {.c = c,
              .window = hf_size(c, "window_size", 1024),
              .inner_ratio_1000 = (int64_t)(ratio * 1000 + 0.5),
              .has_bias = hf_flag(c, "qkv_bias", true),
              .epsilon = hf_real(c, "layer_norm_eps", 1e-5)};
    stage s = {.side = size / patch, .width = hf_size(c, "embed_dim", MOST_WIDTH)};
    if (size % patch)
        hf_unsupported(c, "Swin with images that patches do not divide is not supported");
    net_begin_literal(b);
    value_id images = net_input(b, "pixel_values", DT_FLOAT32, 4, (num[]){net_batch(b), channels, size, size});
    value_id x = net_conv(b, STR("embeddings.patch_embeddings.projection"), images,
                          (net_conv_shape){channels, s.width, patch, patch, 0, 1, true});
    x = to_tokens(b, STR("embeddings.patch_embeddings"), x, s.side, s.width);
    x = net_layer_norm(b, STR("embeddings.norm"), x, s.width, 1e-5);
    if (hf_flag(c, "use_absolute_embeddings", false))
        x = net_binary(
            b, "Add", STR("embeddings.add"), x,
            net_weight(b, STR("embeddings.position_embeddings"), 3, (int64_t[]){1, s.side * s.side, s.width}));
    for (int i = 0; i < count; i++) {
        s.heads = heads[i];
        check_heads(c, "num_heads", s.width, s.heads);
        if (s.side % w.window || (i + 1 < count && s.side % 2))
            hf_unsupported(c, "Swin with windows or merged patches that do not divide each stage is not supported");
        for (int j = 0; j < depth[i]; j++)
            x = swin_block(&w, NAME("encoder.layers.%d.blocks.%d", i, j), images, x, &s, j % 2);
        if (i + 1 < count) {
            x = merge_patches(b, NAME("encoder.layers.%d.downsample", i), x, &s);
            s.side /= 2;
            s.width *= 2;
        }
    }
    x = net_layer_norm(b, STR("layernorm"), x, s.width, w.epsilon);
    x = mean_of_tokens(b, "pooler", x);
    if (hf_architecture(c, "ForImageClassification")) {
        int64_t classes = hf_class_count(c);
        x = net_gemm(b, STR("classifier"), x, s.width, classes);
        s.width = classes;
    }
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), s.width});
    net_end(b);
}
