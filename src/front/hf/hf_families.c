/* hf_families.c: properties of Hugging Face model_types: places of norms and biases, and the default sizes of their
 * classes. */
#include "front/hf/hf.h"

#define ALL_BIAS (HF_QKV_BIAS | HF_O_BIAS | HF_MLP_BIAS)
#define GPT (ALL_BIAS | HF_PLAIN_MLP)
#define BERT (GPT | HF_POSITIONS | HF_EMBED_NORM)

/* clang-format off */
static const hf_family FAMILIES[] = {
    {"llama", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"mistral", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"ministral", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"mixtral", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"qwen2", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS, 0},
    {"qwen2_vl", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS, 0},
    {"qwen2_vl_text", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS, 0},
    {"qwen2_5_vl", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS, 0},
    {"qwen2_5_vl_text", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS, 0},
    {"qwen2_moe", hf_decoder, LM_PRE, LM_RMS, HF_QKV_BIAS | HF_GATED_SHARED, 0},
    {"qwen3", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"qwen3_moe", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"qwen3_vl_text", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"qwen3_vl_moe_text", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"qwen3_next", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD | HF_GATED_ATTENTION | HF_GATED_SHARED, 0.25},
    {"qwen3_5_text", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD | HF_GATED_ATTENTION | HF_GATED_SHARED, 0.25},
    {"qwen3_5_moe_text", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD | HF_GATED_ATTENTION | HF_GATED_SHARED, 0.25},
    {"mimo", hf_decoder, LM_PRE, LM_RMS, HF_NO_O_BIAS, 0},
    {"mimo_v2_flash", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"gemma", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"gemma2", hf_decoder, LM_SANDWICH, LM_RMS, 0, 0},
    {"gemma3_text", hf_decoder, LM_SANDWICH, LM_RMS, HF_QK_HEAD, 0},
    {"gemma4_text", hf_decoder, LM_SANDWICH, LM_RMS, HF_QK_HEAD, 0},
    {"phi", hf_decoder, LM_PARALLEL, LM_LAYER, GPT | HF_HEAD_BIAS, 0.5},
    {"phi3", hf_decoder, LM_PRE, LM_RMS, HF_PACKED_QKV | HF_PACKED_MLP, 0},
    {"phi4", hf_decoder, LM_PRE, LM_RMS, HF_PACKED_QKV | HF_PACKED_MLP, 0},
    {"phimoe", hf_decoder, LM_PRE, LM_LAYER, 0, 0},
    {"gpt2", hf_decoder, LM_PRE, LM_LAYER, GPT | HF_PACKED_QKV | HF_POSITIONS, 0},
    {"gpt_bigcode", hf_decoder, LM_PRE, LM_LAYER, GPT | HF_PACKED_QKV | HF_POSITIONS, 0},
    {"gpt_neo", hf_decoder, LM_PRE, LM_LAYER, HF_O_BIAS | HF_MLP_BIAS | HF_PLAIN_MLP | HF_POSITIONS, 0},
    {"gpt_neox", hf_decoder, LM_PARALLEL_2, LM_LAYER, HF_MLP_BIAS | HF_PLAIN_MLP | HF_PACKED_QKV, 0.25},
    {"gptj", hf_decoder, LM_PARALLEL, LM_LAYER, HF_MLP_BIAS | HF_PLAIN_MLP | HF_HEAD_BIAS, 0},
    {"codegen", hf_decoder, LM_PARALLEL, LM_LAYER, HF_MLP_BIAS | HF_PLAIN_MLP | HF_HEAD_BIAS | HF_PACKED_QKV, 0},
    {"opt", hf_decoder, LM_PRE, LM_LAYER, GPT | HF_POSITIONS, 0},
    {"bloom", hf_decoder, LM_PRE, LM_LAYER, GPT | HF_PACKED_QKV | HF_ALIBI | HF_EMBED_NORM, 0},
    {"mpt", hf_decoder, LM_PRE, LM_LAYER_UNBIASED, HF_PLAIN_MLP | HF_PACKED_QKV | HF_ALIBI, 0},
    {"falcon", hf_decoder, LM_PARALLEL, LM_LAYER, HF_PLAIN_MLP | HF_PACKED_QKV, 0},
    {"cohere", hf_decoder, LM_PARALLEL, LM_LAYER_UNBIASED, 0, 0},
    {"cohere2", hf_decoder, LM_PARALLEL, LM_LAYER_UNBIASED, 0, 0},
    {"glm", hf_decoder, LM_PRE, LM_RMS, HF_PACKED_MLP | HF_NO_O_BIAS, 0.5},
    {"glm4", hf_decoder, LM_SANDWICH, LM_RMS, HF_PACKED_MLP | HF_NO_O_BIAS, 0.5},
    {"glm4_moe", hf_decoder, LM_PRE, LM_RMS, HF_NO_O_BIAS, 0.5},
    {"granite", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"granitemoe", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"smollm3", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"stablelm", hf_decoder, LM_PRE, LM_LAYER, 0, 0.25},
    {"starcoder2", hf_decoder, LM_PRE, LM_LAYER, HF_PLAIN_MLP, 0},
    {"olmo", hf_decoder, LM_PRE, LM_BARE, 0, 0},
    {"olmo2", hf_decoder, LM_OUT, LM_RMS, HF_QK_WIDTH, 0},
    {"olmo3", hf_decoder, LM_OUT, LM_RMS, HF_QK_WIDTH, 0},
    {"olmoe", hf_decoder, LM_PRE, LM_RMS, HF_QK_WIDTH, 0},
    {"deepseek_v2", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"deepseek_v3", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"deepseek_v32", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"deepseek_v4", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"kimi_k2", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"kimi_linear", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"glm_moe_dsa", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"llama4_text", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"minimax", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"minimax_m2", hf_decoder, LM_PRE, LM_RMS, HF_QK_WIDTH, 0},
    {"minimax_m3", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"step3p7", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"gpt_oss", hf_decoder, LM_PRE, LM_RMS, HF_SINKS | HF_EXPERT_BIAS, 0},
    {"nemotron", hf_decoder, LM_PRE, LM_LAYER, HF_PLAIN_MLP, 0.5},
    {"nemotron-nas", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"nemotron_h", hf_decoder, LM_PRE, LM_RMS, HF_PLAIN_MLP | HF_NO_ROTARY, 0},
    {"mamba", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"falcon_mamba", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"mamba2", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"ernie4_5", hf_decoder, LM_PRE, LM_RMS, 0, 0},
    {"seed_oss", hf_decoder, LM_PRE, LM_RMS, HF_NO_O_BIAS, 0},
    {"hunyuan_v1_dense", hf_decoder, LM_PRE, LM_RMS, HF_QK_HEAD, 0},
    {"bert", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"roberta", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"xlm-roberta", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"camembert", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"data2vec-text", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"ernie", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"electra", hf_encoder, LM_POST, LM_LAYER, BERT, 0},
    {"distilbert", hf_encoder, LM_POST, LM_LAYER, BERT, 0},
    {"albert", hf_encoder, LM_POST, LM_LAYER, BERT | HF_POOLER, 0},
    {"deberta-v2", hf_deberta, LM_POST, LM_LAYER, 0, 0},
    {"modernbert", hf_encoder, LM_PRE, LM_LAYER_UNBIASED, HF_PACKED_QKV | HF_PACKED_MLP | HF_EMBED_NORM, 0},
    {"t5", hf_pair, LM_PRE, LM_RMS, 0, 0},
    {"mt5", hf_pair, LM_PRE, LM_RMS, 0, 0},
    {"umt5", hf_pair, LM_PRE, LM_RMS, 0, 0},
    {"switch_transformers", hf_pair, LM_PRE, LM_RMS, 0, 0},
    {"bart", hf_pair, LM_POST, LM_LAYER, BERT, 0},
    {"mbart", hf_pair, LM_PRE, LM_LAYER, BERT, 0},
    {"marian", hf_pair, LM_POST, LM_LAYER, GPT | HF_POSITIONS, 0},
    {"vit", hf_image, LM_PRE, LM_LAYER, 0, 0},
    {"deit", hf_image, LM_PRE, LM_LAYER, 0, 0},
    {"beit", hf_image, LM_PRE, LM_LAYER, 0, 0},
    {"dinov2", hf_image, LM_PRE, LM_LAYER, 0, 0},
    {"siglip_vision_model", hf_image, LM_PRE, LM_LAYER, 0, 0},
    {"resnet", hf_resnet, LM_PRE, LM_LAYER, 0, 0},
    {"convnext", hf_convnext, LM_PRE, LM_LAYER, 0, 0},
    {"segformer", hf_segformer, LM_PRE, LM_LAYER, 0, 0},
    {"swin", hf_swin, LM_PRE, LM_LAYER, 0, 0},
    {"mobilevit", hf_mobilevit, LM_PRE, LM_LAYER, 0, 0},
    {"clip", hf_clip, LM_PRE, LM_LAYER, 0, 0},
    {"whisper", hf_whisper, LM_PRE, LM_LAYER, 0, 0},
    {"wav2vec2", hf_wave, LM_POST, LM_LAYER, 0, 0},
    {"pegasus", hf_pair, LM_PRE, LM_LAYER, GPT | HF_POSITIONS, 0},
};

static const struct {
    const char *type, *sizes;
} DEFAULTS[] = {
    {"llama",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 vocab_size 32000 "
     "hidden_act silu"},
    {"mistral",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 8 "
     "intermediate_size 14336 vocab_size 32000 hidden_act silu sliding_window 4096"},
    {"mixtral",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 8 "
     "intermediate_size 14336 vocab_size 32000 hidden_act silu num_local_experts 8 num_experts_per_tok 2"},
    {"qwen2",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 "
     "intermediate_size 22016 vocab_size 151936 hidden_act silu"},
    {"qwen2_moe",
     "hidden_size 2048 num_hidden_layers 24 num_attention_heads 16 num_key_value_heads 16 "
     "intermediate_size 5632 vocab_size 151936 hidden_act silu qkv_bias 1 num_experts 60 "
     "num_experts_per_tok 4 moe_intermediate_size 1408 shared_expert_intermediate_size 5632 "
     "decoder_sparse_step 1"},
    {"qwen3",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 head_dim 128 "
     "intermediate_size 22016 vocab_size 151936 hidden_act silu"},
    {"qwen3_moe",
     "hidden_size 2048 num_hidden_layers 24 num_attention_heads 32 num_key_value_heads 4 "
     "intermediate_size 6144 vocab_size 151936 hidden_act silu num_local_experts 128 num_experts_per_tok 8 "
     "moe_intermediate_size 768 decoder_sparse_step 1"},
    {"qwen3_next",
     "hidden_size 2048 num_hidden_layers 48 num_attention_heads 16 num_key_value_heads 2 head_dim 256 "
     "intermediate_size 5632 vocab_size 151936 hidden_act silu num_experts 512 num_experts_per_tok 10 "
     "moe_intermediate_size 512 shared_expert_intermediate_size 512 decoder_sparse_step 1 "
     "linear_num_value_heads 32 linear_num_key_heads 16 linear_key_head_dim 128 linear_value_head_dim 128 "
     "linear_conv_kernel_dim 4"},
    {"qwen3_5_text",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 16 num_key_value_heads 4 head_dim 256 "
     "intermediate_size 12288 vocab_size 248320 hidden_act silu linear_num_value_heads 32 "
     "linear_num_key_heads 16 linear_key_head_dim 128 linear_value_head_dim 128 linear_conv_kernel_dim 4"},
    {"qwen3_5_moe_text",
     "hidden_size 2048 num_hidden_layers 40 num_attention_heads 16 num_key_value_heads 2 head_dim 256 "
     "vocab_size 248320 hidden_act silu num_experts 256 num_experts_per_tok 8 moe_intermediate_size 512 "
     "shared_expert_intermediate_size 512 linear_num_value_heads 32 linear_num_key_heads 16 "
     "linear_key_head_dim 128 linear_value_head_dim 128 linear_conv_kernel_dim 4"},
    {"qwen3_vl_text",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 head_dim 128 "
     "intermediate_size 22016 vocab_size 151936 hidden_act silu"},
    {"qwen3_vl_moe_text",
     "hidden_size 2048 num_hidden_layers 24 num_attention_heads 16 num_key_value_heads 16 head_dim 128 "
     "intermediate_size 5632 vocab_size 151936 hidden_act silu tie_word_embeddings 1 num_local_experts 60 "
     "num_experts_per_tok 4 moe_intermediate_size 1408 decoder_sparse_step 1"},
    {"gemma",
     "hidden_size 3072 num_hidden_layers 28 num_attention_heads 16 num_key_value_heads 16 head_dim 256 "
     "intermediate_size 24576 vocab_size 256000 hidden_act gelu_pytorch_tanh tie_word_embeddings 1"},
    {"gemma2",
     "hidden_size 2304 num_hidden_layers 26 num_attention_heads 8 num_key_value_heads 4 head_dim 256 "
     "intermediate_size 9216 vocab_size 256000 hidden_activation gelu_pytorch_tanh tie_word_embeddings 1 "
     "sliding_window 4096"},
    {"gemma3_text",
     "hidden_size 2304 num_hidden_layers 26 num_attention_heads 8 num_key_value_heads 4 head_dim 256 "
     "intermediate_size 9216 vocab_size 262208 hidden_activation gelu_pytorch_tanh tie_word_embeddings 1 "
     "sliding_window 4096"},
    {"gemma4_text",
     "hidden_size 2304 num_hidden_layers 30 num_attention_heads 8 num_key_value_heads 4 head_dim 256 "
     "intermediate_size 9216 vocab_size 262144 hidden_activation gelu_pytorch_tanh tie_word_embeddings 1 "
     "sliding_window 512 hidden_size_per_layer_input 256"},
    {"phi",
     "hidden_size 2048 num_hidden_layers 24 num_attention_heads 32 intermediate_size 8192 vocab_size 51200 "
     "hidden_act gelu_new"},
    {"phi3",
     "hidden_size 3072 num_hidden_layers 32 num_attention_heads 32 intermediate_size 8192 vocab_size 32064 "
     "hidden_act silu"},
    {"phimoe",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 8 "
     "intermediate_size 6400 vocab_size 32064 hidden_act silu num_local_experts 16 num_experts_per_tok 2"},
    {"gpt2",
     "n_embd 768 n_layer 12 n_head 12 vocab_size 50257 n_positions 1024 activation_function gelu_new "
     "tie_word_embeddings 1"},
    {"gpt_neo",
     "hidden_size 2048 num_layers 24 num_heads 16 vocab_size 50257 max_position_embeddings 2048 "
     "activation_function gelu_new tie_word_embeddings 1"},
    {"gpt_neox",
     "hidden_size 6144 num_hidden_layers 44 num_attention_heads 64 intermediate_size 24576 vocab_size 50432 "
     "max_position_embeddings 2048 hidden_act gelu attention_bias 1"},
    {"gptj",
     "n_embd 4096 n_layer 28 n_head 16 vocab_size 50400 n_positions 2048 activation_function gelu_new "
     "rotary_dim 64"},
    {"gpt_bigcode",
     "n_embd 768 n_layer 12 n_head 12 num_key_value_heads 1 vocab_size 50257 n_positions 1024 "
     "activation_function gelu_pytorch_tanh tie_word_embeddings 1 multi_query 1"},
    {"codegen",
     "n_embd 4096 n_layer 28 n_head 16 vocab_size 50400 n_positions 2048 n_ctx 2048 "
     "activation_function gelu_new rotary_dim 64"},
    {"opt",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 ffn_dim 3072 vocab_size 50272 "
     "max_position_embeddings 2048 activation_function relu tie_word_embeddings 1 do_layer_norm_before 1"},
    {"bloom", "hidden_size 64 n_layer 2 n_head 8 vocab_size 250880 tie_word_embeddings 1"},
    {"falcon",
     "hidden_size 4544 num_hidden_layers 32 num_attention_heads 71 vocab_size 65024 activation gelu "
     "tie_word_embeddings 1 multi_query 1 parallel_attn 1"},
    {"mpt", "d_model 2048 n_layers 24 n_heads 16 vocab_size 50368 tie_word_embeddings 1"},
    {"cohere",
     "hidden_size 8192 num_hidden_layers 40 num_attention_heads 64 intermediate_size 22528 "
     "vocab_size 256000 hidden_act silu tie_word_embeddings 1"},
    {"cohere2",
     "hidden_size 8192 num_hidden_layers 40 num_attention_heads 64 intermediate_size 22528 "
     "vocab_size 256000 hidden_act silu tie_word_embeddings 1 sliding_window 4096"},
    {"glm",
     "hidden_size 4096 num_hidden_layers 40 num_attention_heads 32 num_key_value_heads 2 head_dim 128 "
     "intermediate_size 13696 vocab_size 151552 hidden_act silu attention_bias 1"},
    {"glm4",
     "hidden_size 4096 num_hidden_layers 40 num_attention_heads 32 num_key_value_heads 2 head_dim 128 "
     "intermediate_size 13696 vocab_size 151552 hidden_act silu attention_bias 1"},
    {"glm4_moe",
     "hidden_size 4096 num_hidden_layers 46 num_attention_heads 96 num_key_value_heads 8 "
     "intermediate_size 10944 vocab_size 151552 hidden_act silu n_routed_experts 128 num_experts_per_tok 8 "
     "moe_intermediate_size 1408 n_shared_experts 1 first_k_dense_replace 1"},
    {"granite",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 vocab_size 32000 "
     "hidden_act silu"},
    {"granitemoe",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 "
     "intermediate_size 11008 vocab_size 32000 hidden_act silu num_local_experts 8 num_experts_per_tok 2"},
    {"smollm3",
     "hidden_size 2048 num_hidden_layers 36 num_attention_heads 16 num_key_value_heads 4 "
     "intermediate_size 11008 vocab_size 128256 hidden_act silu tie_word_embeddings 1 "
     "no_rope_layer_interval 4"},
    {"stablelm",
     "hidden_size 2560 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 "
     "intermediate_size 6912 vocab_size 50304 hidden_act silu"},
    {"starcoder2",
     "hidden_size 3072 num_hidden_layers 30 num_attention_heads 24 num_key_value_heads 2 "
     "intermediate_size 12288 vocab_size 49152 hidden_act gelu_pytorch_tanh tie_word_embeddings 1 "
     "use_bias 1"},
    {"olmo",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 vocab_size 50304 "
     "hidden_act silu"},
    {"olmo2",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 vocab_size 50304 "
     "hidden_act silu"},
    {"olmo3",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 vocab_size 50304 "
     "hidden_act silu sliding_window 4096"},
    {"olmoe",
     "hidden_size 2048 num_hidden_layers 16 num_attention_heads 16 num_key_value_heads 16 "
     "intermediate_size 2048 vocab_size 50304 hidden_act silu num_experts 64 num_experts_per_tok 8"},
    {"deepseek_v2",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 32 "
     "intermediate_size 11008 vocab_size 102400 hidden_act silu n_routed_experts 64 "
     "moe_intermediate_size 1407 n_shared_experts 2 q_lora_rank 1536 kv_lora_rank 512 qk_nope_head_dim 128 "
     "qk_rope_head_dim 64 v_head_dim 128"},
    {"deepseek_v3",
     "hidden_size 7168 num_hidden_layers 61 num_attention_heads 128 num_key_value_heads 128 "
     "intermediate_size 18432 vocab_size 129280 hidden_act silu n_routed_experts 256 num_experts_per_tok 8 "
     "moe_intermediate_size 2048 n_shared_experts 1 first_k_dense_replace 3 q_lora_rank 1536 "
     "kv_lora_rank 512 qk_nope_head_dim 128 qk_rope_head_dim 64 v_head_dim 128"},
    {"deepseek_v32",
     "hidden_size 7168 num_hidden_layers 61 num_attention_heads 128 num_key_value_heads 128 "
     "intermediate_size 18432 vocab_size 129280 hidden_act silu n_routed_experts 256 num_experts_per_tok 8 "
     "moe_intermediate_size 2048 n_shared_experts 1 first_k_dense_replace 3 q_lora_rank 1536 "
     "kv_lora_rank 512 qk_nope_head_dim 128 qk_rope_head_dim 64 v_head_dim 128 index_head_dim 128 "
     "index_n_heads 64 index_topk 2048"},
    {"deepseek_v4",
     "hidden_size 4096 num_hidden_layers 43 num_attention_heads 64 num_key_value_heads 1 head_dim 512 "
     "vocab_size 129280 hidden_act silu sliding_window 128 partial_rotary_factor 0.125 n_routed_experts 256 "
     "num_experts_per_tok 6 moe_intermediate_size 2048 n_shared_experts 1 q_lora_rank 1024 "
     "qk_rope_head_dim 64 index_head_dim 128 index_n_heads 64 index_topk 512 hc_mult 4 o_lora_rank 1024 "
     "o_groups 8"},
    {"glm_moe_dsa",
     "hidden_size 6144 num_hidden_layers 78 num_attention_heads 64 num_key_value_heads 64 "
     "intermediate_size 12288 vocab_size 154880 hidden_act silu n_routed_experts 256 num_experts_per_tok 8 "
     "moe_intermediate_size 2048 n_shared_experts 1 first_k_dense_replace 3 q_lora_rank 2048 "
     "kv_lora_rank 512 qk_nope_head_dim 192 qk_rope_head_dim 64 v_head_dim 256 index_head_dim 128 "
     "index_n_heads 32 index_topk 2048"},
    {"minimax",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 num_key_value_heads 8 "
     "intermediate_size 14336 vocab_size 32000 hidden_act silu num_local_experts 8 num_experts_per_tok 2"},
    {"minimax_m2",
     "hidden_size 3072 num_hidden_layers 62 num_attention_heads 48 num_key_value_heads 8 head_dim 128 "
     "intermediate_size 1536 vocab_size 200064 hidden_act silu num_local_experts 256 num_experts_per_tok 8"},
    {"llama4_text",
     "hidden_size 5120 num_hidden_layers 48 num_attention_heads 40 num_key_value_heads 8 head_dim 128 "
     "intermediate_size 8192 vocab_size 202048 hidden_act silu use_qk_norm 1 num_local_experts 16 "
     "num_experts_per_tok 1 interleave_moe_layer_step 1 intermediate_size_mlp 16384 "
     "no_rope_layer_interval 4"},
    {"mimo_v2_flash",
     "hidden_size 4096 num_hidden_layers 48 num_attention_heads 64 num_key_value_heads 4 head_dim 192 "
     "intermediate_size 16384 vocab_size 152576 hidden_act silu sliding_window 129 n_routed_experts 256 "
     "num_experts_per_tok 8 moe_intermediate_size 2048 v_head_dim 128"},
    {"nemotron",
     "hidden_size 6144 num_hidden_layers 32 num_attention_heads 48 intermediate_size 24576 "
     "vocab_size 256000 hidden_act relu2"},
    {"nemotron_h",
     "hidden_size 4096 num_attention_heads 32 num_key_value_heads 8 head_dim 128 intermediate_size 21504 "
     "vocab_size 131072 mlp_hidden_act relu2 n_routed_experts 8 num_experts_per_tok 2 "
     "moe_intermediate_size 7688 n_shared_experts 1 moe_shared_expert_intermediate_size 7688 "
     "mamba_num_heads 128 mamba_head_dim 64 ssm_state_size 128 n_groups 8 conv_kernel 4 use_conv_bias 1"},
    {"gpt_oss",
     "hidden_size 2880 num_hidden_layers 36 num_attention_heads 64 num_key_value_heads 8 head_dim 64 "
     "intermediate_size 2880 vocab_size 201088 hidden_act silu attention_bias 1 sliding_window 128 "
     "num_local_experts 128 num_experts_per_tok 4"},
    {"kimi_linear",
     "hidden_size 2304 num_hidden_layers 27 num_attention_heads 32 num_key_value_heads 32 "
     "intermediate_size 9216 vocab_size 163840 hidden_act silu num_experts 256 num_experts_per_token 8 "
     "moe_intermediate_size 1024 num_shared_experts 1 kv_lora_rank 512 qk_nope_head_dim 128 "
     "qk_rope_head_dim 64 v_head_dim 128 linear_conv_kernel_dim 4"},
    {"mamba",
     "hidden_size 768 num_hidden_layers 32 vocab_size 50280 hidden_act silu tie_word_embeddings 1 "
     "conv_kernel 4 use_conv_bias 1 state_size 16"},
    {"mamba2",
     "hidden_size 4096 num_hidden_layers 64 num_heads 128 head_dim 64 vocab_size 32768 hidden_act silu "
     "n_groups 8 conv_kernel 4 use_conv_bias 1 state_size 128"},
    {"falcon_mamba",
     "hidden_size 768 num_hidden_layers 32 vocab_size 50280 hidden_act silu tie_word_embeddings 1 "
     "conv_kernel 4 use_conv_bias 1 state_size 16"},
    {"ernie4_5",
     "hidden_size 1024 num_hidden_layers 18 num_attention_heads 16 num_key_value_heads 2 head_dim 128 "
     "intermediate_size 3072 vocab_size 103424 hidden_act silu tie_word_embeddings 1"},
    {"hunyuan_v1_dense",
     "hidden_size 4096 num_hidden_layers 32 num_attention_heads 32 intermediate_size 11008 "
     "vocab_size 290943 hidden_act silu"},
    {"seed_oss",
     "hidden_size 4096 num_hidden_layers 64 num_attention_heads 80 num_key_value_heads 8 head_dim 128 "
     "intermediate_size 27648 vocab_size 155136 hidden_act silu attention_bias 1"},
    {"bert",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"roberta",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 50265 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"xlm-roberta",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"camembert",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"data2vec-text",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"ernie",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 type_vocab_size 2"},
    {"distilbert",
     "dim 768 n_layers 6 n_heads 12 hidden_dim 3072 vocab_size 30522 max_position_embeddings 512 "
     "activation gelu tie_word_embeddings 1"},
    {"albert",
     "hidden_size 4096 num_hidden_layers 12 num_attention_heads 64 intermediate_size 16384 vocab_size 30000 "
     "max_position_embeddings 512 hidden_act gelu_new tie_word_embeddings 1 embedding_size 128 "
     "type_vocab_size 2"},
    {"electra",
     "hidden_size 256 num_hidden_layers 12 num_attention_heads 4 intermediate_size 1024 vocab_size 30522 "
     "max_position_embeddings 512 hidden_act gelu tie_word_embeddings 1 embedding_size 128 "
     "type_vocab_size 2"},
    {"deberta-v2",
     "hidden_size 1536 num_hidden_layers 24 num_attention_heads 24 intermediate_size 6144 vocab_size 128100 "
     "max_position_embeddings 512 hidden_act gelu pooler_hidden_act gelu"},
    {"modernbert",
     "hidden_size 768 num_hidden_layers 22 num_attention_heads 12 intermediate_size 1152 vocab_size 50368 "
     "max_position_embeddings 8192 hidden_activation gelu tie_word_embeddings 1"},
    {"t5",
     "d_model 512 num_layers 6 num_heads 8 d_kv 64 d_ff 2048 vocab_size 32128 dense_act_fn relu "
     "feed_forward_proj relu tie_word_embeddings 1 relative_attention_num_buckets 32 num_decoder_layers 6"},
    {"mt5",
     "d_model 512 num_layers 8 num_heads 6 d_kv 64 d_ff 1024 vocab_size 250112 dense_act_fn gelu_new "
     "feed_forward_proj gated-gelu tie_word_embeddings 1 relative_attention_num_buckets 32 "
     "num_decoder_layers 8 is_gated_act 1"},
    {"bart",
     "d_model 1024 vocab_size 50265 max_position_embeddings 1024 activation_function gelu "
     "tie_word_embeddings 1 encoder_layers 12 decoder_layers 12 encoder_attention_heads 16 "
     "decoder_attention_heads 16 encoder_ffn_dim 4096 decoder_ffn_dim 4096"},
    {"mbart",
     "d_model 1024 vocab_size 50265 max_position_embeddings 1024 activation_function gelu "
     "tie_word_embeddings 1 encoder_layers 12 decoder_layers 12 encoder_attention_heads 16 "
     "decoder_attention_heads 16 encoder_ffn_dim 4096 decoder_ffn_dim 4096"},
    {"pegasus",
     "d_model 1024 vocab_size 50265 max_position_embeddings 1024 activation_function gelu "
     "tie_word_embeddings 1 encoder_layers 12 decoder_layers 12 encoder_attention_heads 16 "
     "decoder_attention_heads 16 encoder_ffn_dim 4096 decoder_ffn_dim 4096"},
    {"marian",
     "d_model 1024 vocab_size 58101 max_position_embeddings 1024 activation_function gelu "
     "tie_word_embeddings 1 encoder_layers 12 decoder_layers 12 encoder_attention_heads 16 "
     "decoder_attention_heads 16 encoder_ffn_dim 4096 decoder_ffn_dim 4096"},
    {"whisper",
     "d_model 384 vocab_size 51865 activation_function gelu tie_word_embeddings 1 encoder_layers 4 "
     "decoder_layers 4 encoder_attention_heads 6 decoder_attention_heads 6 encoder_ffn_dim 1536 "
     "decoder_ffn_dim 1536 max_source_positions 1500 max_target_positions 448 num_mel_bins 80"},
    {"wav2vec2",
     "vocab_size 32 hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 hidden_act gelu "
     "feat_extract_norm group feat_extract_activation gelu conv_dim 512,512,512,512,512,512,512 "
     "conv_stride 5,2,2,2,2,2,2 conv_kernel 10,3,3,3,3,2,2 num_conv_pos_embeddings 128 "
     "num_conv_pos_embedding_groups 16"},
    {"switch_transformers",
     "d_model 768 num_layers 12 num_heads 12 d_kv 64 d_ff 2048 vocab_size 32128 dense_act_fn relu "
     "tie_word_embeddings 1 num_experts 8 decoder_sparse_step 4 relative_attention_num_buckets 32 "
     "num_decoder_layers 12 num_sparse_encoder_layers 3 num_sparse_decoder_layers 3 encoder_sparse_step 4"},
    {"vit",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 hidden_act gelu "
     "qkv_bias 1 image_size 224 patch_size 16 num_channels 3"},
    {"deit",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 hidden_act gelu "
     "qkv_bias 1 image_size 224 patch_size 16 num_channels 3"},
    {"beit",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 8192 "
     "hidden_act gelu image_size 224 patch_size 16 num_channels 3"},
    {"dinov2",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 hidden_act gelu qkv_bias 1 image_size 224 "
     "patch_size 14 num_channels 3 mlp_ratio 4"},
    {"resnet",
     "num_channels 3 embedding_size 64 hidden_sizes 256,512,1024,2048 depths 3,4,6,3 layer_type bottleneck "
     "hidden_act relu image_size 224"},
    {"convnext",
     "num_channels 3 patch_size 4 hidden_sizes 96,192,384,768 depths 3,3,9,3 hidden_act gelu "
     "layer_scale_init_value 1e-6 image_size 224"},
    {"segformer",
     "num_channels 3 depths 2,2,2,2 sr_ratios 8,4,2,1 hidden_sizes 32,64,160,256 patch_sizes 7,3,3,3 strides 4,2,2,2 "
     "num_attention_heads 1,2,5,8 mlp_ratios 4,4,4,4 hidden_act gelu decoder_hidden_size 256 image_size 224"},
    {"swin",
     "image_size 224 patch_size 4 num_channels 3 embed_dim 96 depths 2,2,6,2 num_heads 3,6,12,24 window_size 7 "
     "mlp_ratio 4 qkv_bias 1 hidden_act gelu"},
    {"mobilevit",
     "num_channels 3 image_size 256 patch_size 2 hidden_sizes 144,192,240 neck_hidden_sizes 16,32,64,96,128,160,640 "
     "num_attention_heads 4 mlp_ratio 2 expand_ratio 4 hidden_act silu conv_kernel_size 3 output_stride 32"},
    {"siglip_vision_model",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 "
     "hidden_act gelu_pytorch_tanh image_size 224 patch_size 16 num_channels 3"},
    {"siglip_text_model",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 vocab_size 32000 "
     "max_position_embeddings 64 hidden_act gelu_pytorch_tanh"},
    {"clip_vision_model",
     "hidden_size 768 num_hidden_layers 12 num_attention_heads 12 intermediate_size 3072 "
     "hidden_act quick_gelu image_size 224 patch_size 32 num_channels 3 projection_dim 512"},
    {"clip_text_model",
     "hidden_size 512 num_hidden_layers 12 num_attention_heads 8 intermediate_size 2048 vocab_size 49408 "
     "max_position_embeddings 77 hidden_act quick_gelu projection_dim 512"},
};
/* clang-format on */

const hf_family *hf_family_of(str type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (str_is(type, FAMILIES[i].type))
            return &FAMILIES[i];
    return NULL;
}

const char *hf_defaults_of(str type)
{
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (str_is(type, DEFAULTS[i].type))
            return DEFAULTS[i].sizes;
    return "";
}
