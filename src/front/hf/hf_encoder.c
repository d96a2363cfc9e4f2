/* hf_encoder.c: builds BERT-like encoders, and encoder-decoder models, from their configuration. */
#include "front/hf/hf.h"

enum { MOST_WIDTH = 1 << 20 };

static bool family_has(const hf *c, unsigned flag)
{
    return (c->family->flags & flag) != 0;
}

static lm_feed read_feed(const hf *c, const char *keys)
{
    return (lm_feed){.inner = hf_size(c, keys, MOST_WIDTH),
                     .activation = hf_activation(c),
                     .is_gated = !family_has(c, HF_PLAIN_MLP),
                     .is_packed = family_has(c, HF_PACKED_MLP),
                     .has_bias = family_has(c, HF_MLP_BIAS)};
}

void hf_encoder(hf *c)
{
    lm_layer first = {.order = c->family->order, .mixer = LM_ATTENTION};
    int64_t hidden = hf_size(c, "hidden_size dim d_model", MOST_WIDTH);
    hf_read_attention(c, hidden, &first.attention);
    first.feed = read_feed(c, "intermediate_size hidden_dim");
    lm m = {.scope = STR("encoder."),
            .hidden = hidden,
            .vocab = hf_size(c, "vocab_size", HF_MOST),
            .embedded = hf_int(c, "embedding_size", hidden),
            .embedded_bias = true,
            .positions = family_has(c, HF_POSITIONS) ? hf_size(c, "max_position_embeddings", HF_MOST) : 0,
            .token_types = hf_int(c, "type_vocab_size", 0),
            .norm = c->family->norm,
            .epsilon = hf_real(c, "layer_norm_eps norm_eps", 1e-12),
            .norms_embeddings = family_has(c, HF_EMBED_NORM),
            .norms_last = first.order == LM_PRE,
            .has_pooler = family_has(c, HF_POOLER) && !hf_architecture(c, "MaskedLM"),
            .shares_layers = str_is(c->type, "albert"),
            .tokens = "seq",
            .layers = &first};
    if (m.embedded < 1 || m.embedded > MOST_WIDTH)
        m.embedded = hidden;
    if (hf_architecture(c, "MaskedLM") || hf_architecture(c, "PreTraining")) {
        m.head = LM_TIED_HEAD;
        m.head_bias = m.has_transform = true;
    } else if (hf_architecture(c, "Classification")) {
        m.classes = hf_class_count(c);
    }
    hf_layers(c, &m, hf_int(c, "num_hidden_layers n_layers", 12));
    if (str_is(c->type, "modernbert"))
        m.layers[0].is_first_bare = true;
    lm_build(c->b, &m);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* T5 and its successors have no biases, positions by distance, and keys of a separate width. */
static void t5_pair(hf *c)
{
    lm_layer first = {.order = LM_PRE, .mixer = LM_ATTENTION};
    int64_t hidden = hf_size(c, "d_model", MOST_WIDTH);
    hf_read_attention(c, hidden, &first.attention);
    first.attention.rotary = 0;
    str form = hf_text(c, "feed_forward_proj");
    first.feed = read_feed(c, "d_ff");
    first.feed.is_gated = str_starts(form, "gated") || hf_flag(c, "is_gated_act", false);
    first.feed.activation = str_contains(form, "gelu")   ? "Gelu"
                            : str_contains(form, "silu") ? "Swish"
                                                         : first.feed.activation;
    lm encoder = {.scope = STR("encoder."),
                  .hidden = hidden,
                  .vocab = hf_size(c, "vocab_size", HF_MOST),
                  .embedded = hidden,
                  .norm = LM_RMS,
                  .epsilon = hf_real(c, "layer_norm_epsilon", 1e-6),
                  .norms_last = true,
                  .buckets = hf_size(c, "relative_attention_num_buckets", 65536),
                  .tokens = "seq",
                  .layers = &first};
    lm decoder = encoder;
    decoder.scope = STR("decoder.");
    decoder.is_causal = decoder.has_cache = true;
    decoder.tokens = "decoder_seq";
    decoder.head = hf_head(c);
    int64_t layers = hf_int(c, "num_layers", 0);
    hf_layers(c, &encoder, layers);
    hf_layers(c, &decoder, hf_int(c, "num_decoder_layers", layers));
    int64_t experts = hf_int(c, "num_experts", 0);
    if (experts > 1 << 14)
        hf_fail(c, "num_experts", "a size is larger than in any real network");
    int64_t steps[] = {hf_int(c, "encoder_sparse_step", 2), hf_int(c, "decoder_sparse_step", 2)};
    lm *stacks[] = {&encoder, &decoder};
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < stacks[s]->layer_count; i++) {
            lm_layer *l = &stacks[s]->layers[i];
            l->has_cross = s == 1;
            if (experts && steps[s] > 0 && i % steps[s] == (steps[s] > 1)) {
                l->feed.experts = experts;
                l->feed.chosen = 1;
                l->feed.expert_inner = l->feed.inner;
            }
        }
    hf_default(c, "decoder_seq", 1);
    hf_default(c, "past", 0);
    lm_build_pair(c->b, &encoder, &decoder);
}

static lm bart_stack(const hf *c, bool is_decoder, lm_layer *first)
{
    int64_t hidden = hf_size(c, "d_model", MOST_WIDTH);
    *first = (lm_layer){.order = c->family->order, .mixer = LM_ATTENTION, .has_cross = is_decoder};
    lm_attention *a = &first->attention;
    a->heads = a->kv_heads = hf_size(c, is_decoder ? "decoder_attention_heads" : "encoder_attention_heads", 1 << 14);
    a->size = a->v_size = hidden / a->heads;
    if (a->size < 1)
        hf_fail(c, is_decoder ? "decoder_attention_heads" : "encoder_attention_heads", "more heads than elements");
    a->q_bias = a->k_bias = a->v_bias = a->o_bias = true;
    first->feed = read_feed(c, is_decoder ? "decoder_ffn_dim" : "encoder_ffn_dim");
    return (lm){.scope = is_decoder ? STR("decoder.") : STR("encoder."),
                .hidden = hidden,
                .vocab = hf_size(c, "vocab_size", HF_MOST),
                .embedded = hidden,
                /* Learned positions start after two rows for padding; sinusoidal ones have no table. */
                .positions = hf_size(c, "max_position_embeddings", HF_MOST) + (family_has(c, HF_EMBED_NORM) ? 2 : 0),
                .norm = LM_LAYER,
                .epsilon = 1e-5,
                .norms_embeddings = family_has(c, HF_EMBED_NORM),
                .norms_last = first->order == LM_PRE,
                .is_causal = is_decoder,
                .has_cache = is_decoder,
                .tokens = is_decoder ? "decoder_seq" : "seq",
                .head = is_decoder ? hf_head(c) : LM_NO_HEAD,
                .layers = first};
}

void hf_pair(hf *c)
{
    if (c->family->norm == LM_RMS) {
        t5_pair(c);
        return;
    }
    lm_layer first[2];
    lm encoder = bart_stack(c, false, &first[0]), decoder = bart_stack(c, true, &first[1]);
    hf_layers(c, &encoder, hf_int(c, "encoder_layers", 0));
    hf_layers(c, &decoder, hf_int(c, "decoder_layers", 0));
    hf_default(c, "decoder_seq", 1);
    hf_default(c, "past", 0);
    lm_build_pair(c->b, &encoder, &decoder);
}
