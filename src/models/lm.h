/* lm.h: builds transformers from parameters: embeddings, a stack of layers, a head. A configuration file or a
 * checkpoint's header provides all of them (front/hf/hf.h, front/hf/gguf.c).
 *
 * Graphs follow Hugging Face Transformers in eager PyTorch: each operator is a node, except attention, which PyTorch
 * runs as one operator, and the experts of a layer. (models/language.c has older versions, with attention step by
 * step.)
 *
 * Dimensions: the batch N, `seq` new tokens, `past` tokens whose keys and values are cached. past = 0 is the
 * prefill, seq = 1 a decoding step. Layers have the names of Llama's implementation. */
#ifndef SOOTH_MODELS_LM_H
#define SOOTH_MODELS_LM_H

#include "models/net.h"

typedef enum lm_norm {
    LM_RMS,
    LM_LAYER,          /* layer norm with weight and bias */
    LM_LAYER_UNBIASED, /* layer norm with a weight only */
    LM_BARE,           /* layer norm without weight and bias */
} lm_norm;

/* Positions of the norms around a part f of a layer (mixer or feed-forward). */
typedef enum lm_order {
    LM_PRE,        /* x + f(norm(x)) */
    LM_POST,       /* norm(x + f(x)) */
    LM_OUT,        /* x + norm(f(x)) */
    LM_SANDWICH,   /* x + norm(f(norm(x))) */
    LM_PARALLEL,   /* x + mixer(norm(x)) + feed_forward(norm(x)), one norm for both */
    LM_PARALLEL_2, /* like LM_PARALLEL, with a norm for each part */
} lm_order;

typedef enum lm_mixer {
    LM_NO_MIXER,
    LM_ATTENTION,
    LM_LATENT,  /* keys and values come from a low-rank code, which is cached (DeepSeek) */
    LM_DELTA,   /* gated delta rule (Qwen3-Next, Qwen3.5, Kimi Linear) */
    LM_MAMBA,   /* selective scan */
    LM_MAMBA_2, /* state space model with heads */
    LM_DECAY,   /* linear attention with a fixed decay (MiniMax) */
} lm_mixer;

typedef enum lm_head_norm {
    LM_NOT_NORMED,
    LM_BY_HEAD,  /* one weight per element of a head, shared by all heads */
    LM_BY_WIDTH, /* one norm over all heads together */
} lm_head_norm;

typedef struct lm_attention {
    int64_t heads, kv_heads, size, v_size;
    int64_t rotary; /* elements of each head with rotary positions; 0: none */
    int64_t window; /* keys that a query attends to; 0: all */
    bool q_bias, k_bias, v_bias, o_bias;
    bool is_packed; /* one product computes queries, keys and values */
    lm_head_norm qk_norm;
    lm_norm qk_norm_kind;
    bool norms_values;        /* normalizes values by head, without a weight */
    bool is_gated;            /* the output is multiplied by sigmoid gates, computed with the queries */
    bool has_sinks;           /* a learned extra score for each head (attention sinks) */
    bool values_are_keys;     /* keys and values are the same tensor */
    bool reads_earlier;       /* uses the keys and values of an earlier layer */
    int64_t q_rank;           /* queries come from a normalized code of that width; 0: from one product */
    int64_t o_rank, o_groups; /* the output passes through a code of that width per group of heads; 0: one product */
    /* For LM_LATENT. */
    int64_t kv_rank, nope, rope;
    /* Number of small heads that select the keys to attend to (DeepSeek Sparse Attention); 0: none. */
    int64_t index_heads, index_size, index_count;
    bool index_is_normed; /* the selecting heads have norms, and no weights per head (MiniMax) */
} lm_attention;

/* For LM_DELTA, LM_MAMBA, LM_MAMBA_2 and LM_DECAY. */
typedef struct lm_recurrence {
    int64_t heads, key_heads, size, v_size; /* heads share the keys of key_heads; sizes of keys and of values */
    int64_t window;                         /* kernel size of the preceding convolution */
    int64_t step_rank;                      /* LM_MAMBA: rank of the product for the step sizes */
    bool conv_bias, bias;
    bool is_channelwise; /* LM_DELTA: a decay for each element of a key (Kimi), from low-rank products */
    bool is_full_gate;   /* LM_DELTA: a single full-rank product for the output gate */
} lm_recurrence;

typedef struct lm_feed {
    int64_t inner;          /* 0: no dense part */
    const char *activation; /* ONNX operator name; "Relu2": the square of Relu */
    bool is_gated, is_packed, has_bias;
    /* Experts; 0: none. expert_hidden: width of a smaller stream for the experts; 0: `hidden`. */
    int64_t experts, chosen, expert_inner, expert_hidden;
    int64_t shared_inner; /* width of the expert that all tokens use; 0: none */
    bool expert_bias, router_bias, gates_shared;
    bool has_correction; /* a learned bias per expert is added before the best are selected */
    bool has_both;       /* dense part and experts in parallel, each with its own norms (Gemma 4) */
} lm_feed;

typedef struct lm_layer {
    lm_order order;
    lm_mixer mixer;
    lm_attention attention;
    lm_recurrence recurrence;
    lm_feed feed;
    bool has_cross;        /* cross-attention to the encoder, between mixer and feed-forward */
    bool has_scale;        /* a learned factor per element after each part (LayerScale) */
    bool is_output_scaled; /* a learned factor after the whole layer */
    bool is_first_bare;    /* no norm before its first part, because the embeddings end with one (ModernBERT) */
} lm_layer;

typedef enum lm_head { LM_NO_HEAD, LM_TIED_HEAD, LM_OWN_HEAD } lm_head;

typedef struct lm {
    str scope; /* prefix of all names: "model." */
    int64_t hidden, vocab;
    int64_t embedded;    /* width of the word table; if it is not `hidden`, a product follows */
    bool embedded_bias;  /* bias of that product */
    int64_t positions;   /* rows of the position table; 0: none */
    int64_t token_types; /* rows of the token type table; 0: none */
    lm_norm norm;
    double epsilon;
    bool is_causal, has_cache;
    bool norms_embeddings, norms_last;
    bool has_alibi;  /* scores get a bias proportional to the distance of query and key (ALiBi) */
    int64_t buckets; /* scores get a learned bias by distance (T5): rows of its table; 0: none */
    lm_head head;
    bool head_bias;
    bool has_transform; /* linear layer, activation and norm before the head (BERT) */
    bool has_pooler;    /* a linear layer on the first token */
    int64_t classes;    /* classes of a classifier on the pooler or the first token; 0: none */
    int64_t per_layer;  /* width of an extra per-token input to every layer (Gemma 4); 0: none */
    bool shares_layers; /* all layers share the weights of the first (ALBERT) */
    const char *tokens; /* name of the token dimension: "seq" */
    lm_layer *layers;
    int32_t layer_count;
} lm;

/* Builds the whole model: inputs, embeddings, layers, head, outputs. */
void lm_build(builder *b, const lm *m);
/* Builds an encoder and a decoder that reads it. They share the word table unless the decoder has its own. */
void lm_build_pair(builder *b, const lm *encoder, const lm *decoder);

/* For use between net_begin and net_end: adds a decoder to an existing encoder. */
void lm_decode(builder *b, const lm *decoder, value_id encoded);

/* For use between net_begin and net_end: passes x (N, tokens, hidden) through the layers and the last norm.
 * `positions` (N, tokens) may be NO_VALUE if nothing needs them. */
value_id lm_stack(builder *b, const lm *m, value_id x, value_id positions);

/* A linear layer over the last axis. */
value_id lm_linear(builder *b, str name, value_id x, int64_t in, int64_t out, bool has_bias);

#endif
