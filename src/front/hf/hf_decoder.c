/* hf_decoder.c: builds decoder-only language models from their configuration. One reader serves all families: keys
 * (experts, low-rank codes, windows, states), per-layer lists, and the family's row describe the differences. */
#include "front/hf/hf.h"

#include <math.h>

enum {
    MOST_LAYERS = 256,
    MOST_WIDTH = 1 << 20,
    MOST_HEADS_WIDTH = 1 << 22,
    MOST_HEADS = 1 << 14,
    MOST_EXPERTS = 1 << 14
};

static bool is_type(const hf *c, const char *type)
{
    return str_is(c->type, type);
}

/* ---- parts of a layer -------------------------------------------------------------------------------------------- */

static bool family_has(const hf *c, unsigned flag)
{
    return (c->family->flags & flag) != 0;
}

/* Number of elements of a head with rotary positions. */
static int64_t rotary_of(const hf *c, int64_t size)
{
    if (family_has(c, HF_POSITIONS | HF_ALIBI | HF_NO_ROTARY))
        return 0;
    if (hf_int(c, "rotary_dim", 0))
        return hf_int(c, "rotary_dim", 0);
    double share = hf_real(c, "partial_rotary_factor rotary_pct", 0);
    const json_node *rope = json_get(c->config, "rope_parameters");
    if (!share)
        share = json_double(json_get(rope, "partial_rotary_factor"), c->family->rotary_share);
    if (!(share > 0 && share <= 1))
        share = 1;
    return (int64_t)((double)size * share) / 2 * 2;
}

static void check_width(const hf *c, int64_t heads, int64_t size)
{
    if (heads < 1 || heads > MOST_HEADS || size < 1 || size > 65536 || heads * size > MOST_HEADS_WIDTH)
        hf_fail(c, "num_attention_heads n_head num_heads n_heads", "%lld heads of %lld elements are not possible",
                (long long)heads, (long long)size);
}

void hf_read_attention(const hf *c, int64_t hidden, lm_attention *a)
{
    a->heads = hf_size(c, "num_attention_heads n_head num_heads n_heads", MOST_HEADS);
    a->kv_heads = hf_int(c, "num_key_value_heads", a->heads);
    if (is_type(c, "falcon"))
        a->kv_heads = hf_flag(c, "new_decoder_architecture", false) ? hf_int(c, "num_kv_heads", a->heads)
                      : hf_flag(c, "multi_query", true)             ? 1
                                                                    : a->heads;
    if (is_type(c, "gpt_bigcode"))
        a->kv_heads = hf_flag(c, "multi_query", true) ? 1 : a->heads;
    if (a->kv_heads < 1 || a->kv_heads > a->heads || a->heads % a->kv_heads)
        hf_fail(c, "num_key_value_heads num_kv_heads", "%lld heads cannot share %lld key-value heads",
                (long long)a->heads, (long long)a->kv_heads);
    a->size = hf_int(c, "head_dim attention_head_dim d_kv", 0);
    if (!a->size)
        a->size = hidden / a->heads;
    a->v_size = is_type(c, "mimo_v2_flash") ? hf_int(c, "v_head_dim", a->size) : a->size;
    check_width(c, a->heads, a->size);
    check_width(c, a->heads, a->v_size);
    a->rotary = rotary_of(c, a->size);
    bool all = hf_flag(c, "attention_bias use_bias bias enable_bias", false);
    bool inner = hf_flag(c, "qkv_bias use_qkv_bias add_qkv_bias", family_has(c, HF_QKV_BIAS));
    a->q_bias = a->k_bias = a->v_bias = inner || all;
    a->o_bias = family_has(c, HF_O_BIAS) || (all && !family_has(c, HF_NO_O_BIAS));
    a->is_packed = family_has(c, HF_PACKED_QKV);
    bool has_norm = hf_flag(c, "use_qk_norm qk_layernorm", false) && !is_type(c, "llama4_text");
    a->qk_norm = family_has(c, HF_QK_WIDTH)              ? LM_BY_WIDTH
                 : family_has(c, HF_QK_HEAD) || has_norm ? LM_BY_HEAD
                                                         : LM_NOT_NORMED;
    a->qk_norm_kind = c->family->norm;
    a->is_gated = family_has(c, HF_GATED_ATTENTION);
    a->has_sinks = family_has(c, HF_SINKS);
}

/* DeepSeek V4: one key head serves as the value too; queries and output use low-rank codes. */
static void read_codes(const hf *c, lm_attention *a)
{
    a->q_rank = hf_size(c, "q_lora_rank", MOST_WIDTH);
    a->o_rank = hf_size(c, "o_lora_rank", MOST_WIDTH);
    a->o_groups = hf_size(c, "o_groups", MOST_HEADS);
    a->values_are_keys = true;
    if (a->heads % a->o_groups || a->o_groups * a->o_rank > MOST_HEADS_WIDTH)
        hf_fail(c, "o_groups", "%lld heads do not divide into %lld groups", (long long)a->heads,
                (long long)a->o_groups);
    hf_note(c,
            "DeepSeek V4 is built without compressed keys (compress_ratios), their index, and hyper-connections: a "
            "query sees only the last %lld keys",
            (long long)hf_int(c, "sliding_window", 0));
}

static void read_latent(const hf *c, lm_attention *a)
{
    a->q_rank = hf_int(c, "q_lora_rank", 0);
    a->kv_rank = hf_size(c, "kv_lora_rank", MOST_WIDTH);
    a->nope = hf_int(c, "qk_nope_head_dim", 128);
    a->rope = hf_int(c, "qk_rope_head_dim", 64);
    a->v_size = hf_int(c, "v_head_dim", 128);
    a->size = a->nope + a->rope;
    check_width(c, a->heads, a->size);
    check_width(c, a->heads, a->nope + a->v_size);
    if (a->nope < 1 || a->rope < 2 || a->v_size < 1 || a->q_rank > MOST_WIDTH)
        hf_fail(c, "qk_rope_head_dim", "impossible head sizes");
    bool has_bias = hf_flag(c, "attention_bias", false);
    a->q_bias = a->k_bias = a->o_bias = has_bias;
    a->index_heads = hf_int(c, "index_n_heads", 0);
    a->index_size = hf_int(c, "index_head_dim", 128);
    a->index_count = hf_int(c, "index_topk", 2048);
    if (a->index_heads)
        check_width(c, a->index_heads, a->index_size);
}

static void read_recurrence(const hf *c, const json_node *kda, int64_t hidden, lm_layer *l)
{
    lm_recurrence *r = &l->recurrence;
    if (is_type(c, "mamba") || is_type(c, "falcon_mamba")) {
        l->mixer = LM_MAMBA;
        int64_t inner = hf_int(c, "intermediate_size", hf_int(c, "expand", 2) * hidden);
        *r = (lm_recurrence){.heads = 1, .key_heads = 1, .size = hf_int(c, "state_size", 16), .v_size = inner};
        r->step_rank = hf_int(c, "time_step_rank", (hidden + 15) / 16);
        r->window = hf_int(c, "conv_kernel", 4);
    } else if (hf_int(c, "mamba_num_heads", 0) || is_type(c, "mamba2")) {
        l->mixer = LM_MAMBA_2;
        *r = (lm_recurrence){hf_int(c, "mamba_num_heads num_heads", 128),
                             hf_int(c, "n_groups", 8),
                             hf_int(c, "ssm_state_size state_size", 128),
                             hf_int(c, "mamba_head_dim head_dim", 64),
                             hf_int(c, "conv_kernel", 4),
                             0,
                             true,
                             false,
                             false,
                             false};
    } else if (is_type(c, "minimax")) {
        l->mixer = LM_DECAY;
        *r = (lm_recurrence){.heads = l->attention.heads,
                             .key_heads = l->attention.heads,
                             .size = l->attention.size,
                             .v_size = l->attention.size,
                             .window = 1};
    } else {
        l->mixer = LM_DELTA;
        hf part = *c;
        part.config = kda ? kda : c->config;
        int64_t heads = hf_int(&part, "linear_num_value_heads linear_num_heads num_heads", 32);
        int64_t size = hf_int(&part, "linear_value_head_dim linear_head_dim head_dim", 128);
        *r = (lm_recurrence){.heads = heads,
                             .key_heads = hf_int(&part, "linear_num_key_heads", heads),
                             .size = hf_int(&part, "linear_key_head_dim", size),
                             .v_size = size};
        r->window = hf_int(&part, "linear_conv_kernel_dim short_conv_kernel_size", 4);
        r->is_channelwise = kda != NULL || is_type(c, "kimi_linear");
        r->is_full_gate = hf_flag(&part, "use_full_rank_gate", false);
    }
    if (l->mixer == LM_MAMBA || l->mixer == LM_MAMBA_2) {
        r->conv_bias = hf_flag(c, "use_conv_bias", true);
        r->bias = hf_flag(c, "use_bias mamba_proj_bias", false);
    }
    check_width(c, r->heads, r->size);
    if (r->v_size < 1 || r->v_size > MOST_WIDTH || r->heads * r->v_size > MOST_HEADS_WIDTH || r->key_heads < 1 ||
        r->heads % r->key_heads || r->window < 1 || r->window > 4096 || r->step_rank > MOST_WIDTH)
        hf_fail(c, "linear_num_value_heads mamba_num_heads state_size", "impossible sizes of a recurrent layer");
}

static void read_feed(const hf *c, int64_t hidden, lm_feed *f)
{
    f->inner =
        hf_int(c, "dense_intermediate_size intermediate_size_mlp intermediate_size n_inner ffn_dim ffn_hidden_size", 0);
    if (!f->inner)
        f->inner = hf_int(c, "expansion_ratio", 4) * hidden;
    f->activation = hf_activation(c);
    f->is_gated = !family_has(c, HF_PLAIN_MLP);
    f->is_packed = family_has(c, HF_PACKED_MLP);
    f->has_bias = hf_flag(c, "mlp_bias use_bias bias enable_bias", family_has(c, HF_MLP_BIAS));
    f->experts = hf_int(c, "num_local_experts num_experts n_routed_experts moe_num_experts", 0);
    if (is_type(c, "gemma4_text") && !hf_flag(c, "enable_moe_block", false))
        f->experts = 0;
    if (f->inner > MOST_WIDTH || f->experts > MOST_EXPERTS)
        hf_fail(c, "intermediate_size", "a size is larger than in any real network");
    if (!f->experts)
        return;
    f->chosen = hf_int(c, "num_experts_per_tok num_experts_per_token experts_per_token top_k_experts moe_topk", 1);
    f->expert_inner = hf_int(c, "moe_intermediate_size expert_ffn_hidden_size intermediate_size", f->inner);
    f->expert_hidden = hf_int(c, "moe_latent_size routed_expert_hidden_size", 0);
    int64_t shared = hf_int(c, "n_shared_experts num_shared_experts", 0);
    f->shared_inner = hf_int(c,
                             "shared_expert_intermediate_size moe_shared_expert_intermediate_size share_expert_dim "
                             "shared_intermediate_size",
                             shared * f->expert_inner);
    if (is_type(c, "llama4_text"))
        f->shared_inner = f->expert_inner;
    if (f->chosen < 1 || f->chosen > f->experts || f->expert_inner < 1 || f->expert_inner > MOST_WIDTH ||
        f->shared_inner > MOST_WIDTH || f->expert_hidden > MOST_WIDTH)
        hf_fail(c, "num_experts_per_tok moe_intermediate_size", "%lld of %lld experts of width %lld are not possible",
                (long long)f->chosen, (long long)f->experts, (long long)f->expert_inner);
    f->gates_shared = family_has(c, HF_GATED_SHARED);
    f->expert_bias = f->router_bias = family_has(c, HF_EXPERT_BIAS);
    str scoring = hf_text(c, "topk_method");
    f->has_correction = str_is(scoring, "noaux_tc") || hf_flag(c, "use_routing_bias use_moe_router_bias", false) ||
                        is_type(c, "deepseek_v3") || is_type(c, "nemotron_h");
    f->has_both = is_type(c, "gemma4_text");
}

/* ---- one layer after the other ----------------------------------------------------------------------------------- */

/* Lists with one entry per layer, or the rules that replace them. */
typedef struct plan {
    const json_node *types, *mlp_types, *hybrid, *moe_layers, *mlp_only, *no_rope, *blocks, *indexers, *attention_kinds;
    const json_node *kda, *kda_layers, *sparse;
    str pattern; /* Nemotron-H: one letter per layer */
    int64_t window, window_period, full_period, first_dense, sparse_step, moe_step, no_rope_period, shared_kv;
    int64_t layers;
} plan;

static const json_node *list_of(const hf *c, const char *key)
{
    const json_node *n = json_get(c->config, key);
    return json_is(n, JSON_ARRAY) ? n : NULL;
}

static int64_t window_period(const hf *c)
{
    static const struct {
        const char *type;
        int period;
    } PERIODS[] = {{"gemma2", 2}, {"gpt_oss", 2}, {"gemma3_text", 6}, {"gemma4_text", 6}, {"cohere2", 4}, {"olmo3", 4}};
    for (size_t i = 0; i < sizeof PERIODS / sizeof *PERIODS; i++)
        if (is_type(c, PERIODS[i].type))
            return hf_int(c, "sliding_window_pattern _sliding_window_pattern", PERIODS[i].period);
    return hf_int(c, "sliding_window_pattern", 0);
}

static plan read_plan(const hf *c, int64_t layers)
{
    plan p = {.types = list_of(c, "layer_types"),
              .mlp_types = list_of(c, "mlp_layer_types"),
              .hybrid = list_of(c, "hybrid_layer_pattern"),
              .moe_layers = list_of(c, "moe_layer_freq"),
              .mlp_only = list_of(c, "mlp_only_layers"),
              .no_rope = list_of(c, "no_rope_layers"),
              .blocks = list_of(c, "block_configs"),
              .indexers = list_of(c, "indexer_types"),
              .attention_kinds = list_of(c, "attn_type_list"),
              .kda = json_get(c->config, "linear_attn_config"),
              .sparse = json_get(json_get(c->config, "sparse_attention_config"), "sparse_attention_freq"),
              .pattern = json_text(json_get(c->config, "hybrid_override_pattern")),
              .layers = layers};
    if (!p.types)
        p.types = list_of(c, "layers_block_type");
    p.kda_layers = json_get(p.kda, "kda_layers");
    bool slides = hf_flag(c, "use_sliding_window", !str_starts(c->type, "qwen"));
    p.window = slides ? hf_int(c, "sliding_window attention_chunk_size", 0) : 0;
    p.window_period = window_period(c);
    p.full_period = hf_int(c, "full_attention_interval", 4);
    p.first_dense = hf_int(c, "first_k_dense_replace", 0);
    p.sparse_step = hf_int(c, "decoder_sparse_step", 1);
    p.moe_step = hf_int(c, "interleave_moe_layer_step", 1);
    p.no_rope_period = hf_int(c, "no_rope_layer_interval", 0);
    p.shared_kv = hf_int(c, "num_kv_shared_layers", 0);
    return p;
}

static str word_at(const json_node *list, int64_t i)
{
    str word = json_text(json_at(list, (int32_t)i));
    return word.ptr ? word : STR("");
}

static bool lists(const json_node *list, int64_t number)
{
    for (const json_node *x = json_first(list); x; x = x->next)
        if (json_int(x, -1) == number)
            return true;
    return false;
}

static bool has_experts(const plan *p, int64_t i)
{
    if (p->mlp_types)
        return str_is(word_at(p->mlp_types, i), "sparse") || str_is(word_at(p->mlp_types, i), "moe");
    if (p->moe_layers)
        return json_int(json_at(p->moe_layers, (int32_t)i), 0) != 0;
    return i >= p->first_dense && !lists(p->mlp_only, i) && (p->sparse_step < 2 || (i + 1) % p->sparse_step == 0) &&
           (p->moe_step < 2 || (i + 1) % p->moe_step == 0);
}

static bool slides_at(const plan *p, int64_t i)
{
    if (p->hybrid)
        return json_int(json_at(p->hybrid, (int32_t)i), 0) != 0;
    if (p->types)
        return str_contains(word_at(p->types, i), "sliding") || str_contains(word_at(p->types, i), "chunked");
    return !p->window_period || (i + 1) % p->window_period != 0;
}

static bool recurs_at(const hf *c, const plan *p, int64_t i)
{
    if (p->kda_layers)
        return lists(p->kda_layers, i + 1);
    if (p->attention_kinds)
        return json_int(json_at(p->attention_kinds, (int32_t)i), 1) == 0;
    if (p->types)
        return str_contains(word_at(p->types, i), "linear_attention") || str_contains(word_at(p->types, i), "mamba");
    bool may_recur = hf_int(c, "linear_num_value_heads", 0) > 0;
    return str_ends(c->type, "mamba") || is_type(c, "mamba2") || (may_recur && (i + 1) % p->full_period != 0);
}

/* Reads layers that have a single part (Nemotron-H). */
static void single_part(const hf *c, const plan *p, int64_t i, lm_layer *l, const lm_layer *recurrent)
{
    str word = p->pattern.len ? (str){p->pattern.ptr + i, 1} : word_at(p->types, i);
    char kind = word.len ? word.ptr[0] : '?';
    bool is_mamba = kind == 'M' || str_is(word, "mamba") || str_is(word, "linear_attention");
    bool is_attention = kind == '*' || str_is(word, "attention") || str_is(word, "full_attention");
    bool is_moe = kind == 'E' || str_is(word, "moe");
    if (!is_mamba && !is_moe && !is_attention && kind != '-' && !str_is(word, "mlp"))
        hf_fail(c, "layers_block_type hybrid_override_pattern layer_types", "layer %lld has an unknown kind",
                (long long)i);
    if (is_mamba) {
        l->mixer = recurrent->mixer;
        l->recurrence = recurrent->recurrence;
    } else if (!is_attention) {
        l->mixer = LM_NO_MIXER;
    }
    if (is_mamba || is_attention)
        l->feed = (lm_feed){.activation = l->feed.activation};
    else if (!is_moe)
        l->feed.experts = 0;
}

/* Reads a network that was pruned layer by layer: each part has its own settings (heads per group, ffn_mult), or is
 * absent. */
static void cut_part(const hf *c, const json_node *block, int64_t hidden, lm_layer *l)
{
    const json_node *attention = json_get(block, "attention"), *ffn = json_get(block, "ffn");
    if (json_int(json_get(attention, "no_op"), 0))
        l->mixer = LM_NO_MIXER;
    int64_t group = json_int(json_get(attention, "n_heads_in_group"), 1);
    if (group > 0 && l->attention.heads % group == 0)
        l->attention.kv_heads = l->attention.heads / group;
    double mult = json_double(json_get(ffn, "ffn_mult"), 0);
    if (!(mult >= 0 && mult < 64) || json_int(json_get(ffn, "replace_with_linear"), 0) ||
        json_int(json_get(attention, "replace_with_linear"), 0))
        hf_unsupported(c, "a block with a replaced attention or feed-forward part is not supported");
    int64_t inner = (int64_t)(2 * mult * (double)hidden / 3);
    l->feed.inner = json_int(json_get(ffn, "no_op"), 0) ? 0 : (inner + 255) / 256 * 256;
}

/* Gemma 4: layers with full attention have larger heads, and the last layers reuse the keys of earlier ones. */
static void gemma4_layer(const hf *c, const plan *p, int64_t i, bool slides, lm_layer *l)
{
    lm_attention *a = &l->attention;
    a->norms_values = true;
    if (!slides) {
        a->size = a->v_size = a->rotary = hf_int(c, "global_head_dim", 512);
        a->values_are_keys = hf_flag(c, "attention_k_eq_v", false);
        if (a->values_are_keys)
            a->kv_heads = hf_int(c, "num_global_key_value_heads", a->kv_heads);
        check_width(c, a->heads, a->size);
        if (a->kv_heads < 1 || a->heads % a->kv_heads)
            hf_fail(c, "num_global_key_value_heads", "impossible head sizes");
    }
    a->reads_earlier = p->shared_kv && i >= p->layers - p->shared_kv && i > 0;
    if (a->reads_earlier && hf_flag(c, "use_double_wide_mlp", false))
        l->feed.inner *= 2;
    l->is_output_scaled = true;
}

static void mimo_layer(const hf *c, bool slides, lm_layer *l)
{
    lm_attention *a = &l->attention;
    if (slides) {
        a->kv_heads = hf_int(c, "swa_num_key_value_heads", a->kv_heads);
        a->size = hf_int(c, "swa_head_dim", a->size);
        a->v_size = hf_int(c, "swa_v_head_dim", a->v_size);
        check_width(c, a->heads, a->size);
        check_width(c, a->heads, a->v_size);
        if (a->kv_heads < 1 || a->heads % a->kv_heads)
            hf_fail(c, "swa_num_key_value_heads", "impossible head sizes");
    }
    a->has_sinks = hf_flag(c, slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias", slides);
}

static void plan_layer(const hf *c, const plan *p, int64_t i, int64_t hidden, lm_layer *l, const lm_layer *recurrent)
{
    bool slides = p->window && slides_at(p, i);
    if (is_type(c, "nemotron_h")) {
        single_part(c, p, i, l, recurrent);
        return;
    }
    if (p->blocks)
        cut_part(c, json_at(p->blocks, (int32_t)i), hidden, l);
    if (recurrent->mixer != LM_NO_MIXER && recurs_at(c, p, i)) {
        l->mixer = recurrent->mixer;
        l->recurrence = recurrent->recurrence;
    }
    l->attention.window = slides && l->mixer == LM_ATTENTION ? p->window : 0;
    if (p->no_rope ? json_int(json_at(p->no_rope, (int32_t)i), 1) == 0
                   : p->no_rope_period && (i + 1) % p->no_rope_period == 0)
        l->attention.rotary = 0;
    if (l->feed.experts && !l->feed.has_both && !has_experts(p, i))
        l->feed.experts = 0;
    if (p->indexers && !str_is(word_at(p->indexers, i), "full"))
        l->attention.index_heads = 0;
    if (p->sparse && !json_int(json_at(p->sparse, (int32_t)i), 0))
        l->attention.index_heads = 0;
    if (is_type(c, "gemma4_text"))
        gemma4_layer(c, p, i, slides, l);
    if (is_type(c, "mimo_v2_flash"))
        mimo_layer(c, slides, l);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

lm_head hf_head(const hf *c)
{
    bool is_bare = hf_architecture(c, "Model") && !hf_architecture(c, "LMHeadModel") && !hf_architecture(c, "MTModel");
    bool is_other = hf_architecture(c, "Classification") || hf_architecture(c, "QuestionAnswering") || is_bare;
    /* In a composite model, either the outer or the inner part may have the key. */
    const json_node *outer = hf_has(c, "tie_word_embeddings") ? NULL : json_get(c->root, "tie_word_embeddings");
    bool tied = outer ? json_int(outer, 0) != 0 : hf_flag(c, "tie_word_embeddings", false);
    return is_other ? LM_NO_HEAD : tied ? LM_TIED_HEAD : LM_OWN_HEAD;
}

static int64_t read_layer_count(const hf *c, const plan *p)
{
    int64_t count = hf_int(c, "num_hidden_layers n_layer num_layers n_layers", 0);
    if (is_type(c, "nemotron_h"))
        count = p->pattern.len ? (int64_t)p->pattern.len : p->types ? p->types->count : count;
    if (count < 1 || count > MOST_LAYERS)
        hf_fail(c, "num_hidden_layers n_layer num_layers n_layers", "%lld layers are not possible", (long long)count);
    return count;
}

static lm_order order_of(const hf *c)
{
    if (is_type(c, "falcon"))
        return !hf_flag(c, "parallel_attn", true)              ? LM_PRE
               : hf_flag(c, "new_decoder_architecture", false) ? LM_PARALLEL_2
                                                               : LM_PARALLEL;
    if (is_type(c, "opt"))
        return hf_flag(c, "do_layer_norm_before", true) ? LM_PRE : LM_POST;
    bool may_be_parallel = is_type(c, "gpt_neox") || is_type(c, "stablelm");
    if (may_be_parallel && hf_has(c, "use_parallel_residual"))
        return !hf_flag(c, "use_parallel_residual", true) ? LM_PRE
               : is_type(c, "gpt_neox")                   ? LM_PARALLEL_2
                                                          : LM_PARALLEL;
    return c->family->order;
}

static lm_layer first_layer(const hf *c, int64_t hidden, const plan *p, lm_layer *recurrent)
{
    lm_layer l = {.order = order_of(c), .mixer = LM_ATTENTION};
    bool has_attention = !str_ends(c->type, "mamba") && !is_type(c, "mamba2");
    if (has_attention)
        hf_read_attention(c, hidden, &l.attention);
    if (is_type(c, "deepseek_v4"))
        read_codes(c, &l.attention);
    if (has_attention && hf_int(c, "kv_lora_rank", 0)) {
        l.mixer = LM_LATENT;
        read_latent(c, &l.attention);
    }
    if (p->sparse) {
        l.attention.index_heads =
            json_int(json_get(json_get(c->config, "sparse_attention_config"), "sparse_num_index_heads"), 4);
        l.attention.index_size =
            json_int(json_get(json_get(c->config, "sparse_attention_config"), "sparse_index_dim"), 128);
        l.attention.index_is_normed = true;
        check_width(c, l.attention.index_heads, l.attention.index_size);
    }
    if (has_attention)
        read_feed(c, hidden, &l.feed);
    *recurrent = l;
    recurrent->mixer = LM_NO_MIXER;
    bool recurs = !has_attention || p->kda_layers || p->attention_kinds || is_type(c, "nemotron_h") ||
                  is_type(c, "minimax") || hf_int(c, "linear_num_value_heads", 0);
    if (recurs)
        read_recurrence(c, json_is(p->kda, JSON_OBJECT) ? p->kda : NULL, hidden, recurrent);
    return l;
}

static void read_embedding(const hf *c, lm *m)
{
    m->embedded = hf_int(c, "word_embed_proj_dim", m->hidden);
    if (m->embedded < 1 || m->embedded > MOST_WIDTH)
        m->embedded = m->hidden;
    if (family_has(c, HF_POSITIONS))
        m->positions = hf_size(c, "max_position_embeddings n_positions n_ctx", HF_MOST) + (is_type(c, "opt") ? 2 : 0);
    m->has_alibi = family_has(c, HF_ALIBI) || hf_flag(c, "alibi", false);
    m->norms_embeddings = family_has(c, HF_EMBED_NORM);
    m->per_layer = is_type(c, "gemma4_text") ? hf_int(c, "hidden_size_per_layer_input", 0) : 0;
    if (m->per_layer > 65536)
        hf_fail(c, "hidden_size_per_layer_input", "a size is larger than in any real network");
}

void hf_decoder(hf *c)
{
    int64_t hidden = hf_size(c, "hidden_size n_embd d_model", MOST_WIDTH);
    plan p = read_plan(c, 0);
    p.layers = read_layer_count(c, &p);
    lm m = {.scope = STR("model."),
            .hidden = hidden,
            .vocab = hf_size(c, "vocab_size", HF_MOST),
            .norm = c->family->norm,
            .epsilon = hf_real(c, "rms_norm_eps layer_norm_eps layer_norm_epsilon norm_eps norm_epsilon", 1e-5),
            .is_causal = true,
            .has_cache = true,
            .norms_last = true,
            .head = hf_head(c),
            .head_bias = hf_flag(c, "lm_head_bias", family_has(c, HF_HEAD_BIAS)),
            .tokens = "seq",
            .layer_count = (int32_t)p.layers};
    read_embedding(c, &m);
    lm_layer recurrent, first = first_layer(c, hidden, &p, &recurrent);
    if (m.has_alibi)
        first.attention.rotary = 0;
    m.layers = ARENA_ARRAY(c->b->arena, lm_layer, (size_t)p.layers);
    for (int64_t i = 0; i < p.layers; i++) {
        m.layers[i] = first;
        plan_layer(c, &p, i, hidden, &m.layers[i], &recurrent);
    }
    m.norms_last = first.order != LM_POST;
    hf_default(c, "past", 0);
    lm_build(c->b, &m);
}

void hf_layers(const hf *c, lm *m, int64_t count)
{
    if (count < 1 || count > MOST_LAYERS)
        hf_fail(c, "num_hidden_layers num_layers encoder_layers decoder_layers", "%lld layers are not possible",
                (long long)count);
    lm_layer first = m->layers[0];
    m->layer_count = (int32_t)count;
    m->layers = ARENA_ARRAY(c->b->arena, lm_layer, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        m->layers[i] = first;
}
