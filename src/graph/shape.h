/* shape.h: all shape and fold rules that the operator table names. One section per file. */
#ifndef SOOTH_GRAPH_SHAPE_H
#define SOOTH_GRAPH_SHAPE_H

#include "graph/infer.h"

/* ---- shape_basic.c: pointwise, reductions, types --------------------------------------------------------------- */
void shape_same(infer *c);      /* output 0 is like input 0 */
void shape_broadcast(infer *c); /* all inputs broadcast; dtype of input 0 */

/* ---- shape_move.c: data movement ------------------------------------------------------------------------------- */

/* ---- shape_conv.c: convolution, pooling -------------------------------------------------------------------------- */
void shape_conv(infer *c);
void shape_conv_integer(infer *c);
void shape_qlinear_conv(infer *c);
void shape_conv_nhwc(infer *c);
void shape_causal_conv(infer *c);
void shape_conv_transpose(infer *c);
void shape_pool(infer *c);
void shape_pool_nhwc(infer *c);
void shape_qlinear_pool(infer *c);
void shape_global_pool(infer *c);
void shape_max_unpool(infer *c);

/* ---- shape_resize.c: resizing, sampling, blocks ------------------------------------------------------------------ */
void shape_resize(infer *c);
void shape_upsample(infer *c);
void shape_depth_to_space(infer *c);
void shape_space_to_depth(infer *c);
void shape_col2im(infer *c);
void shape_grid_sample(infer *c);
void shape_affine_grid(infer *c);
void shape_max_roi_pool(infer *c);
void shape_roi_align(infer *c);
void shape_crop_and_resize(infer *c);
void shape_dropout(infer *c);

/* ---- shape_matmul.c: matrix products ----------------------------------------------------------------------------- */
void shape_matmul(infer *c);
void shape_matmul_integer(infer *c);
void shape_qlinear_matmul(infer *c);
void shape_matmul_to_float(infer *c);
void shape_fused_matmul(infer *c);
void shape_gemm(infer *c);
void shape_qgemm(infer *c);
void shape_gemm_float8(infer *c);
void shape_matmul_packed(infer *c);
void shape_matmul_fp_q4(infer *c);
void shape_linear(infer *c);
void shape_einsum(infer *c);
void shape_det(infer *c);
void shape_sparse_matmul(infer *c);

/* ---- shape_norm.c: normalization --------------------------------------------------------------------------------- */
void shape_batch_norm(infer *c);
void shape_layer_norm(infer *c);
void shape_rms_norm(infer *c);
void shape_skip_norm(infer *c);
void shape_skip_group_norm(infer *c);
void shape_embed_norm(infer *c);
void shape_qembed_norm(infer *c);

/* ---- shape_attention.c ------------------------------------------------------------------------------------------- */
void shape_attention(infer *c);
void shape_attention_projected(infer *c);
void shape_qattention(infer *c);
void shape_packed_attention(infer *c);
void shape_multi_head_attention(infer *c);
void shape_decoder_multi_head_attention(infer *c);
void shape_group_query_attention(infer *c);
void shape_sparse_attention(infer *c);
void shape_paged_attention(infer *c);
void shape_decoder_attention(infer *c);
void shape_linear_attention(infer *c);
void shape_relative_position_bias(infer *c);
void shape_gated_position_bias(infer *c);
void shape_remove_padding(infer *c);
void shape_restore_padding(infer *c);
void shape_gemma_rotary(infer *c);

/* ---- shape_recurrent.c ------------------------------------------------------------------------------------------- */
void shape_recurrent(infer *c);

/* ---- shape_quant.c: quantization --------------------------------------------------------------------------------- */
void shape_quantize(infer *c);
void shape_dequantize(infer *c);
void shape_dynamic_quantize(infer *c);
void shape_qlinear_binary(infer *c);
void shape_qlinear_where(infer *c);
void shape_qlinear_concat(infer *c);
void shape_qlinear_reduce(infer *c);

/* ---- shape_contrib.c: contrib operators of no larger family ------------------------------------------------------ */
void shape_keep(infer *c);
void shape_bias_split_gelu(infer *c);
void shape_bias_dropout(infer *c);
void shape_bitmask_dropout(infer *c);
void shape_beam_search(infer *c);
void shape_greedy_search(infer *c);
void shape_like_second(infer *c);
void shape_rfft(infer *c);
void shape_irfft(infer *c);
void shape_unfold(infer *c);
void shape_expand_dims(infer *c);
void shape_cdist(infer *c);
void shape_gather_block_quantized(infer *c);
void shape_reorder_output(infer *c);
void shape_reorder_input(infer *c);
void shape_tokenizer(infer *c);
void shape_word_conv_embedding(infer *c);
void shape_murmur_hash(infer *c);
void shape_unique_contrib(infer *c);
void shape_time_warping(infer *c);
void shape_bifurcation(infer *c);
void shape_layer_norm_grad(infer *c);
void shape_from_second(infer *c);
void shape_loss_internal(infer *c);
void shape_accumulator(infer *c);

/* ---- shape_other.c: everything else ---------------------------------------------------------------------------- */
void shape_constant(infer *c);

/* ---- fold.c: data of outputs from data of inputs --------------------------------------------------------------- */

#endif
