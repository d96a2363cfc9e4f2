/* lm.h: transformers by their parameters: embeddings, a stack of layers, a head. What a configuration file or the
 * header of a checkpoint says (front/hf/hf.h, front/hf/gguf.c) is all that is needed to build the graph.
 *
 * Graphs are as Hugging Face's Transformers run them in eager PyTorch: each operator is a node, but attention, which
 * PyTorch runs as one, and the experts of a layer. (models/language.c has the same of older versions, attention step by
 * step.)
 *
 * Dimensions: the batch N, `seq` tokens that are new, `past` tokens whose keys and values are in the cache. A pass
 * with past = 0 is the prefill; one with seq = 1 is a step of decoding. Names of layers are those of Llama's
 * implementation. */
#ifndef SOOTH_MODELS_LM_H
#define SOOTH_MODELS_LM_H

#include "models/net.h"

typedef enum lm_norm {
    LM_RMS,
    LM_LAYER,          /* layer norm with weight and bias */
    LM_LAYER_UNBIASED, /* with a weight alone */
    LM_BARE,           /* layer norm without either */
} lm_norm;

/* Where norms stand around a part f of a layer (mixer, feed-forward). */
typedef enum lm_order {
    LM_PRE,        /* x + f(norm(x)) */
    LM_POST,       /* norm(x + f(x)) */
    LM_OUT,        /* x + norm(f(x)) */
    LM_SANDWICH,   /* x + norm(f(norm(x))) */
    LM_PARALLEL,   /* x + mixer(norm(x)) + feed_forward(norm(x)), one norm for both */
    LM_PARALLEL_2, /* the same, a norm for each */
} lm_order;

typedef enum lm_mixer {
    LM_NO_MIXER,
    LM_ATTENTION,
    LM_LATENT,  /* attention whose keys and values come from a low-rank code, which is what is cached (DeepSeek) */
    LM_DELTA,   /* gated delta rule (Qwen3-Next, Qwen3.5, Kimi Linear) */
    LM_MAMBA,   /* selective scan */
    LM_MAMBA_2, /* state space by heads */
    LM_DECAY,   /* linear attention with a fixed decay (MiniMax) */
} lm_mixer;

typedef enum lm_head_norm {
    LM_NOT_NORMED,
    LM_BY_HEAD,  /* one weight for the elements of a head */
    LM_BY_WIDTH, /* over all heads at once */
} lm_head_norm;

typedef struct lm_attention {
    int64_t heads, kv_heads, size, v_size;
    int64_t rotary; /* elements of each head that are turned by the position; 0: none */
    int64_t window; /* keys that a query sees; 0: all */
    bool q_bias, k_bias, v_bias, o_bias;
    bool is_packed; /* queries, keys and values from one product */
    lm_head_norm qk_norm;
    lm_norm qk_norm_kind;
    bool norms_values;        /* by head, without a weight */
    bool is_gated;            /* the output is multiplied by sigmoids that come with the queries */
    bool has_sinks;           /* a learned score for each head beside those of the keys */
    bool values_are_keys;     /* one product for both */
    bool reads_earlier;       /* keys and values of an earlier layer: none of its own */
    int64_t q_rank;           /* queries come from a normed code of that width; 0: from one product */
    int64_t o_rank, o_groups; /* the output goes through a code of that width for each group of heads; 0: one product */
    /* LM_LATENT. */
    int64_t kv_rank, nope, rope;
    /* Small heads find out first which keys matter (DeepSeek Sparse Attention); 0: none do. */
    int64_t index_heads, index_size, index_count;
    bool index_is_normed; /* … with norms, and without weights of the heads (MiniMax) */
} lm_attention;

/* LM_DELTA, LM_MAMBA, LM_MAMBA_2, LM_DECAY. */
typedef struct lm_recurrence {
    int64_t heads, key_heads, size, v_size; /* key_heads share keys among heads; sizes of keys and of values */
    int64_t window;                         /* of the convolution before it */
    int64_t step_rank;                      /* LM_MAMBA: of the product that the step sizes come from */
    bool conv_bias, bias;
    bool is_channelwise; /* LM_DELTA: a decay for each element of a key (Kimi), from products of low rank */
    bool is_full_gate;   /* … and the gate of the output from one product */
} lm_recurrence;

typedef struct lm_feed {
    int64_t inner;          /* 0: no dense part */
    const char *activation; /* an operator of ONNX; "Relu2": the square of Relu */
    bool is_gated, is_packed, has_bias;
    /* Experts; 0: none. expert_hidden: of a smaller stream that they work on; 0: the same. */
    int64_t experts, chosen, expert_inner, expert_hidden;
    int64_t shared_inner; /* of the expert that all tokens go through; 0: none */
    bool expert_bias, router_bias, gates_shared;
    bool has_correction; /* a learned number for each expert is added before the best are chosen */
    bool has_both;       /* dense part and experts side by side, each with norms of its own (Gemma 4) */
} lm_feed;

typedef struct lm_layer {
    lm_order order;
    lm_mixer mixer;
    lm_attention attention;
    lm_recurrence recurrence;
    lm_feed feed;
    bool has_cross;        /* attention to what the encoder made, between the two */
    bool has_scale;        /* a learned number for each element behind each part (LayerScale) */
    bool is_output_scaled; /* a number behind the whole layer */
    bool is_first_bare;    /* no norm before its first part: one stands behind the embeddings already (ModernBERT) */
} lm_layer;

typedef enum lm_head { LM_NO_HEAD, LM_TIED_HEAD, LM_OWN_HEAD } lm_head;

typedef struct lm {
    str scope; /* of all names: "model." */
    int64_t hidden, vocab;
    int64_t embedded;    /* width of the word table; where it is not `hidden`, a product follows */
    bool embedded_bias;  /* of that product */
    int64_t positions;   /* rows of the table of positions; 0: none */
    int64_t token_types; /* rows of that table; 0: none */
    lm_norm norm;
    double epsilon;
    bool is_causal, has_cache;
    bool norms_embeddings, norms_last;
    bool has_alibi;  /* scores get a bias that grows with the distance of query and key */
    int64_t buckets; /* scores get a learned bias by the distance (T5): rows of its table; 0: not */
    lm_head head;
    bool head_bias;
    bool has_transform; /* a linear layer, an activation and a norm before the head (BERT) */
    bool has_pooler;    /* a linear layer on the first token */
    int64_t classes;    /* of a classifier behind the pooler, or on the first token; 0: none */
    int64_t per_layer;  /* width of what every layer gets of each token beside the stream (Gemma 4); 0: none */
    bool shares_layers; /* all layers have the weights of the first (ALBERT) */
    const char *tokens; /* name of the dimension: "seq" */
    lm_layer *layers;
    int32_t layer_count;
} lm;

/* The whole: inputs, embeddings, layers, head, outputs. */
void lm_build(builder *b, const lm *m);
/* The same of an encoder and of a decoder that reads it; they share the word table if the decoder has none of its
 * own. */
void lm_build_pair(builder *b, const lm *encoder, const lm *decoder);

/* Between net_begin and net_end: the decoder of such a pair behind an encoder that is there already. */
void lm_decode(builder *b, const lm *decoder, value_id encoded);

/* Between net_begin and net_end: x (N, tokens, hidden) through the layers and the last norm. `positions` are the
 * numbers of the tokens (N, tokens); NO_VALUE where nothing needs them. */
value_id lm_stack(builder *b, const lm *m, value_id x, value_id positions);

/* A linear layer over the last axis. */
value_id lm_linear(builder *b, str name, value_id x, int64_t in, int64_t out, bool has_bias);

#endif
