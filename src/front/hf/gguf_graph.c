/* gguf_graph.c: builds the graph of a GGUF file. The metadata give the sizes; the tensors present show which biases,
 * norms, gates and experts a layer has, so that architectures need no rows of their own. A file without tensors (a
 * vocabulary) is built from its metadata alone. */
#include "front/hf/gguf.h"
#include "models/lm.h"

enum { MOST_LAYERS = 256, MOST_WIDTH = 1 << 20, MOST_HEADS = 1 << 14, MOST_EXPERTS = 1 << 14, MOST_WORDS = 1 << 24 };

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Values per block, bytes per block, nearest plain type. */
static const struct {
    int16_t values, bytes;
    dtype plain;
} TYPES[] = {
    [0] = {1, 4, DT_FLOAT32},      [1] = {1, 2, DT_FLOAT16},      [2] = {32, 18, DT_FLOAT32},
    [3] = {32, 20, DT_FLOAT32},    [6] = {32, 22, DT_FLOAT32},    [7] = {32, 24, DT_FLOAT32},
    [8] = {32, 34, DT_FLOAT32},    [9] = {32, 36, DT_FLOAT32},    [10] = {256, 84, DT_FLOAT32},
    [11] = {256, 110, DT_FLOAT32}, [12] = {256, 144, DT_FLOAT32}, [13] = {256, 176, DT_FLOAT32},
    [14] = {256, 210, DT_FLOAT32}, [15] = {256, 292, DT_FLOAT32}, [16] = {256, 66, DT_FLOAT32},
    [17] = {256, 74, DT_FLOAT32},  [18] = {256, 98, DT_FLOAT32},  [19] = {256, 50, DT_FLOAT32},
    [20] = {32, 18, DT_FLOAT32},   [21] = {256, 110, DT_FLOAT32}, [22] = {256, 82, DT_FLOAT32},
    [23] = {256, 136, DT_FLOAT32}, [24] = {1, 1, DT_INT8},        [25] = {1, 2, DT_INT16},
    [26] = {1, 4, DT_INT32},       [27] = {1, 8, DT_INT64},       [28] = {1, 8, DT_FLOAT64},
    [29] = {256, 56, DT_FLOAT32},  [30] = {1, 2, DT_BFLOAT16},    [34] = {256, 54, DT_FLOAT32},
    [35] = {256, 66, DT_FLOAT32},  [39] = {32, 17, DT_FLOAT32},
};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

dtype gguf_dtype(int type)
{
    return type >= 0 && type < TYPE_COUNT && TYPES[type].values ? TYPES[type].plain : DT_FLOAT32;
}

int64_t gguf_tensor_bytes(const gguf_tensor *t)
{
    int64_t bytes;
    if (t->type < 0 || t->type >= TYPE_COUNT || !TYPES[t->type].values)
        return 0;
    int64_t blocks = t->elements / TYPES[t->type].values + (t->elements % TYPES[t->type].values != 0);
    return __builtin_mul_overflow(blocks, (int64_t)TYPES[t->type].bytes, &bytes) ? 0 : bytes;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static gguf_tensor *layer_tensor(const gguf *g, int64_t layer, const char *name)
{
    char text[160];
    int length = snprintf(text, sizeof text, "blk.%lld.%s", (long long)layer, name);
    return gguf_find(g, (str){text, (size_t)length});
}

static int64_t checked(const gguf *g, const char *key, int64_t number, int64_t most)
{
    if (number < 1 || number > most)
        fail_with(g->fail, SOOTH_ERROR_INPUT,
                  "%lld is not possible, at '%.*s.%s' of the metadata; convert the model again", (long long)number,
                  STR_ARG(g->architecture), key);
    return number;
}

static void read_attention(const gguf *g, int64_t i, int64_t hidden, bool has_tensors, lm_layer *l)
{
    lm_attention *a = &l->attention;
    a->heads = checked(g, "attention.head_count", gguf_int(g, "attention.head_count", i, 0), MOST_HEADS);
    a->kv_heads = checked(g, "attention.head_count_kv", gguf_int(g, "attention.head_count_kv", i, a->heads), a->heads);
    a->size = checked(g, "attention.key_length", gguf_int(g, "attention.key_length", i, hidden / a->heads), 65536);
    a->v_size = checked(g, "attention.value_length", gguf_int(g, "attention.value_length", i, a->size), 65536);
    if (a->heads % a->kv_heads || a->heads * a->size > 4 * MOST_WIDTH || a->heads * a->v_size > 4 * MOST_WIDTH)
        fail_with(g->fail, SOOTH_ERROR_INPUT,
                  "%lld heads cannot share %lld key-value heads, in the metadata; convert the model again",
                  (long long)a->heads, (long long)a->kv_heads);
    bool is_turned = !gguf_find(g, STR("position_embd.weight")) && gguf_int(g, "rope.dimension_count", 0, has_tensors);
    a->rotary = is_turned ? gguf_int(g, "rope.dimension_count", 0, a->size) : 0;
    if (a->rotary < 2 && is_turned)
        a->rotary = a->size;
    a->window = gguf_int(g, "attention.sliding_window", i, 0);
    a->is_packed = layer_tensor(g, i, "attn_qkv.weight") != NULL;
    a->q_bias = layer_tensor(g, i, "attn_q.bias") || layer_tensor(g, i, "attn_qkv.bias");
    a->k_bias = layer_tensor(g, i, "attn_k.bias") != NULL;
    a->v_bias = layer_tensor(g, i, "attn_v.bias") != NULL;
    a->o_bias = layer_tensor(g, i, "attn_output.bias") != NULL;
    a->has_sinks = layer_tensor(g, i, "attn_sinks.weight") != NULL;
    const gguf_tensor *norm = layer_tensor(g, i, "attn_q_norm.weight");
    a->qk_norm = !norm ? LM_NOT_NORMED : norm->elements == a->size ? LM_BY_HEAD : LM_BY_WIDTH;
    a->qk_norm_kind = LM_RMS;
    if (!layer_tensor(g, i, "attn_kv_a_mqa.weight"))
        return;
    l->mixer = LM_LATENT;
    a->q_rank = gguf_int(g, "attention.q_lora_rank", i, 0);
    a->kv_rank = checked(g, "attention.kv_lora_rank", gguf_int(g, "attention.kv_lora_rank", i, 0), MOST_WIDTH);
    a->size = gguf_int(g, "attention.key_length_mla", i, a->size);
    a->v_size =
        checked(g, "attention.value_length_mla", gguf_int(g, "attention.value_length_mla", i, a->v_size), 65536);
    a->rope = gguf_int(g, "rope.dimension_count", i, 64);
    a->nope = a->size - a->rope;
    if (a->nope < 1 || a->rope < 2 || a->q_rank > MOST_WIDTH || a->heads * (a->nope + a->v_size) > 4 * MOST_WIDTH)
        fail_with(g->fail, SOOTH_ERROR_INPUT, "impossible head sizes in the metadata; convert the model again");
}

static void read_feed(const gguf *g, int64_t i, bool has_tensors, bool is_rms, lm_feed *f)
{
    f->inner = gguf_int(g, "feed_forward_length", i, 0);
    f->activation = is_rms ? "Swish" : "Gelu";
    const gguf_tensor *up = layer_tensor(g, i, "ffn_up.weight"), *experts = layer_tensor(g, i, "ffn_up_exps.weight");
    f->is_gated =
        has_tensors ? layer_tensor(g, i, "ffn_gate.weight") || layer_tensor(g, i, "ffn_gate_exps.weight") : is_rms;
    if (up && up->rank == 2 && !f->is_gated && up->dims[0] == 2 * f->inner)
        f->is_gated = f->is_packed = true;
    f->has_bias = layer_tensor(g, i, "ffn_up.bias") != NULL;
    if (f->inner < 1 || f->inner > MOST_WIDTH)
        checked(g, "feed_forward_length", experts ? 1 : f->inner, MOST_WIDTH);
    if (!experts)
        return;
    f->experts = checked(g, "expert_count", gguf_int(g, "expert_count", i, 0), MOST_EXPERTS);
    f->chosen = checked(g, "expert_used_count", gguf_int(g, "expert_used_count", i, 1), f->experts);
    f->expert_inner =
        checked(g, "expert_feed_forward_length", gguf_int(g, "expert_feed_forward_length", i, f->inner), MOST_WIDTH);
    f->expert_bias = layer_tensor(g, i, "ffn_up_exps.bias") != NULL;
    f->router_bias = layer_tensor(g, i, "ffn_gate_inp.bias") != NULL;
    f->has_correction = layer_tensor(g, i, "exp_probs_b.bias") != NULL;
    f->gates_shared = layer_tensor(g, i, "ffn_gate_inp_shexp.weight") != NULL;
    const gguf_tensor *shared = layer_tensor(g, i, "ffn_up_shexp.weight");
    f->shared_inner = shared && shared->rank == 2 && shared->dims[0] <= MOST_WIDTH ? shared->dims[0] : 0;
}

static lm_order read_order(const gguf *g, int64_t i, bool has_tensors, bool is_causal)
{
    if (!has_tensors)
        return is_causal ? LM_PRE : LM_POST;
    if (layer_tensor(g, i, "attn_output_norm.weight"))
        return LM_POST;
    bool before = layer_tensor(g, i, "attn_norm.weight"), feed = layer_tensor(g, i, "ffn_norm.weight") != NULL;
    if (layer_tensor(g, i, "post_ffw_norm.weight"))
        return before ? LM_SANDWICH : LM_OUT;
    if (layer_tensor(g, i, "attn_norm_2.weight") || (feed && gguf_int(g, "use_parallel_residual", 0, 0)))
        return LM_PARALLEL_2;
    return feed || layer_tensor(g, i, "post_attention_norm.weight") ? LM_PRE : LM_PARALLEL;
}

/* ---- which tensor is which --------------------------------------------------------------------------------------- */

/* Names of weights: in the graph after "model.layers.N.", and in the file after "blk.N.". Two names in the file if
 * one weight of the graph is two tensors. */
static const struct {
    const char *graph, *file, *other;
} NAMES[] = {
    {"self_attn.q_proj.", "attn_q.", NULL},
    {"self_attn.k_proj.", "attn_k.", NULL},
    {"self_attn.v_proj.", "attn_v.", NULL},
    {"self_attn.qkv_proj.", "attn_qkv.", NULL},
    {"self_attn.o_proj.", "attn_output.", NULL},
    {"self_attn.q_norm.", "attn_q_norm.", NULL},
    {"self_attn.k_norm.", "attn_k_norm.", NULL},
    {"self_attn.q_a_proj.", "attn_q_a.", NULL},
    {"self_attn.q_a_layernorm.", "attn_q_a_norm.", NULL},
    {"self_attn.q_b_proj.", "attn_q_b.", NULL},
    {"self_attn.kv_a_proj_with_mqa.", "attn_kv_a_mqa.", NULL},
    {"self_attn.kv_a_layernorm.", "attn_kv_a_norm.", NULL},
    {"self_attn.kv_b_proj.", "attn_kv_b.", NULL},
    {"self_attn.sinks", "attn_sinks.weight", NULL},
    {"input_layernorm.", "attn_norm.", NULL},
    {"pre_feedforward_layernorm.", "ffn_norm.", NULL},
    {"mlp.gate_proj.", "ffn_gate.", NULL},
    {"mlp.up_proj.", "ffn_up.", NULL},
    {"mlp.gate_up_proj.", "ffn_up.", NULL},
    {"mlp.down_proj.", "ffn_down.", NULL},
    {"mlp.gate.", "ffn_gate_inp.", NULL},
    {"mlp.experts.gate_up_proj_bias", "ffn_gate_exps.bias", "ffn_up_exps.bias"},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps.weight", "ffn_up_exps.weight"},
    {"mlp.experts.down_proj_bias", "ffn_down_exps.bias", NULL},
    {"mlp.experts.down_proj", "ffn_down_exps.weight", NULL},
    {"mlp.shared_experts.gate_proj.", "ffn_gate_shexp.", NULL},
    {"mlp.shared_experts.up_proj.", "ffn_up_shexp.", NULL},
    {"mlp.shared_experts.down_proj.", "ffn_down_shexp.", NULL},
    {"mlp.shared_expert_gate.", "ffn_gate_inp_shexp.", NULL},
    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias", NULL},
};

/* Tensors outside the layers. Norms have several candidate names, because names depend on their position. */
static const struct {
    const char *graph, *files[3];
} OTHERS[] = {
    {"model.embed_tokens.weight", {"token_embd.weight", NULL, NULL}},
    {"model.embed_positions.weight", {"position_embd.weight", NULL, NULL}},
    {"model.embed_types.weight", {"token_types.weight", NULL, NULL}},
    {"model.embed_norm.", {"token_embd_norm.", NULL, NULL}},
    {"model.norm.", {"output_norm.", NULL, NULL}},
    {"lm_head.", {"output.", NULL, NULL}},
};
static const struct {
    const char *graph, *files[3];
} NORMS[] = {
    {"post_attention_layernorm.", {"post_attention_norm.", "attn_output_norm.", "ffn_norm."}},
    {"post_feedforward_layernorm.", {"post_ffw_norm.", "layer_output_norm.", NULL}},
};

static str behind(str s, size_t count)
{
    return (str){s.ptr + count, s.len - count};
}

/* Finds the weight's tensor in the file and adds its bytes. */
static void add_bytes(const gguf *g, str prefix, const char *name, str rest, gguf_tensor **found, int64_t *bytes)
{
    char text[200];
    int length = snprintf(text, sizeof text, "%.*s%s%.*s", STR_ARG(prefix), name, STR_ARG(rest));
    gguf_tensor *t = length > 0 && (size_t)length < sizeof text ? gguf_find(g, (str){text, (size_t)length}) : NULL;
    if (!t)
        return;
    *found = t;
    t->is_used = true;
    if (__builtin_add_overflow(*bytes, gguf_tensor_bytes(t), bytes))
        *bytes = 0;
}

static int64_t stored_bytes(const gguf *g, str name)
{
    gguf_tensor *found = NULL;
    int64_t bytes = 0;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (str_starts(name, OTHERS[i].graph))
            add_bytes(g, STR(""), OTHERS[i].files[0], behind(name, strlen(OTHERS[i].graph)), &found, &bytes);
    if (found || !str_starts(name, "model.layers."))
        return bytes;
    str inner = behind(name, strlen("model.layers."));
    const char *dot = memchr(inner.ptr, '.', inner.len);
    if (!dot)
        return 0;
    char text[32];
    snprintf(text, sizeof text, "blk.%.*s", (int)(dot - inner.ptr + 1), inner.ptr);
    str prefix = str_of(text);
    inner = behind(inner, (size_t)(dot - inner.ptr) + 1);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !found; i++)
        if (str_starts(inner, NAMES[i].graph)) {
            str rest = behind(inner, strlen(NAMES[i].graph));
            add_bytes(g, prefix, NAMES[i].file, rest, &found, &bytes);
            if (NAMES[i].other)
                add_bytes(g, prefix, NAMES[i].other, rest, &found, &bytes);
        }
    for (size_t i = 0; i < sizeof NORMS / sizeof *NORMS && !found; i++)
        for (int k = 0; k < 3 && NORMS[i].files[k] && !found && str_starts(inner, NORMS[i].graph); k++)
            add_bytes(g, prefix, NORMS[i].files[k], behind(inner, strlen(NORMS[i].graph)), &found, &bytes);
    return bytes;
}

/* Sets the size in the file of the graph's weights, and adds notes on weights and tensors without a counterpart. */
static void compare(builder *b, gguf *g)
{
    int32_t missing = 0, unused = 0;
    for (int32_t i = 0; i < b->source->values.count; i++) {
        value *v = &b->source->values.items[i];
        if (!v->is_initializer || v->is_constant_node || !v->tensor || v->tensor->encoding != TENSOR_ELSEWHERE)
            continue;
        int64_t bytes = stored_bytes(g, v->name);
        tensor *own = arena_copy(b->arena, v->tensor, 1, sizeof *own);
        own->packed_bytes = bytes;
        v->tensor = own;
        missing += bytes == 0;
    }
    for (int32_t i = 0; i < g->tensor_count; i++)
        unused += !g->tensors[i].is_used;
    if (missing || unused)
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = arena_printf(
            b->arena, "%d weights of the graph are not in the file, and %d tensors of the file are not in the graph",
            (int)missing, (int)unused);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int64_t vocabulary(const gguf *g)
{
    const gguf_tensor *words = gguf_find(g, STR("token_embd.weight"));
    int64_t count = words && words->rank == 2 ? words->dims[0] : gguf_int(g, "vocab_size", 0, 0);
    return count ? count : gguf_array_length(g, "tokenizer.ggml.tokens");
}

static int64_t table_rows(const gguf *g, const char *name)
{
    const gguf_tensor *t = gguf_find(g, str_of(name));
    return t && t->rank == 2 && t->dims[0] <= MOST_WORDS ? t->dims[0] : 0;
}

bool gguf_build(builder *b, gguf *g)
{
    bool has_tensors = g->tensor_count > 0;
    int64_t layers = gguf_int(g, "block_count", 0, 0), hidden = gguf_int(g, "embedding_length", 0, 0);
    bool has_attention = layer_tensor(g, 0, "attn_q.weight") || layer_tensor(g, 0, "attn_qkv.weight") ||
                         layer_tensor(g, 0, "attn_kv_a_mqa.weight");
    if (layers < 1 || hidden < 1 || (has_tensors && !has_attention))
        return false;
    checked(g, "block_count", layers, MOST_LAYERS);
    checked(g, "embedding_length", hidden, MOST_WIDTH);
    double rms = gguf_real(g, "attention.layer_norm_rms_epsilon", 0);
    bool is_rms = rms > 0 || !(gguf_real(g, "attention.layer_norm_epsilon", 0) > 0);
    bool is_causal = gguf_int(g, "attention.causal", 0, 1) != 0;
    bool has_bias = !has_tensors || gguf_find(g, STR("output_norm.bias")) || layer_tensor(g, 0, "attn_norm.bias") ||
                    layer_tensor(g, 0, "attn_output_norm.bias");
    lm m = {.scope = STR("model."),
            .hidden = hidden,
            .embedded = hidden,
            .vocab = checked(g, "vocab_size", vocabulary(g), MOST_WORDS),
            .positions = table_rows(g, "position_embd.weight"),
            .token_types = table_rows(g, "token_types.weight"),
            .norm = is_rms     ? LM_RMS
                    : has_bias ? LM_LAYER
                               : LM_LAYER_UNBIASED,
            .epsilon = rms > 0 ? rms : gguf_real(g, "attention.layer_norm_epsilon", 1e-5),
            .is_causal = is_causal,
            .has_cache = is_causal,
            .norms_embeddings = gguf_find(g, STR("token_embd_norm.weight")) != NULL,
            .norms_last = has_tensors ? gguf_find(g, STR("output_norm.weight")) != NULL : is_causal,
            .head = !is_causal                           ? LM_NO_HEAD
                    : gguf_find(g, STR("output.weight")) ? LM_OWN_HEAD
                                                         : LM_TIED_HEAD,
            .head_bias = gguf_find(g, STR("output.bias")) != NULL,
            .tokens = "seq",
            .layer_count = (int32_t)layers};
    m.layers = ARENA_ARRAY(b->arena, lm_layer, (size_t)layers);
    for (int64_t i = 0; i < layers; i++) {
        lm_layer *l = &m.layers[i];
        l->order = read_order(g, i, has_tensors, is_causal);
        l->mixer = LM_ATTENTION;
        read_attention(g, i, hidden, has_tensors, l);
        read_feed(g, i, has_tensors, is_rms, &l->feed);
    }
    if (is_causal)
        *(dim_default *)ARENA_PUSH(b->arena, &b->source->defaults) = (dim_default){STR("past"), 0};
    lm_build(b, &m);
    if (has_tensors)
        compare(b, g);
    else
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = STR(
            "the file has no tensors (a vocabulary?): the graph follows its metadata only, so biases may be missing");
    return true;
}
