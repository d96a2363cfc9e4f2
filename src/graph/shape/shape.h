/* shape.h: all shape and fold rules of the operator table, one section per file. */
#ifndef SOOTH_GRAPH_SHAPE_SHAPE_H
#define SOOTH_GRAPH_SHAPE_SHAPE_H

#include "graph/infer.h"

/* ---- shape_basic.c: pointwise, reductions, types --------------------------------------------------------------- */
void shape_same(infer *c);      /* Output 0 has the type and shape of input 0. */
void shape_same_bool(infer *c); /* Shape of input 0, as bools. */
void shape_identity(infer *c);
void shape_broadcast(infer *c);       /* All inputs broadcast; one dtype. */
void shape_broadcast_first(infer *c); /* All inputs broadcast; dtype of input 0. */
void shape_compare(infer *c);
void shape_where(infer *c);
void shape_cast(infer *c);
void shape_cast_like(infer *c);
void shape_like_with_dtype(infer *c);
void shape_random(infer *c);
void shape_multinomial(infer *c);
void shape_reduce(infer *c);
void shape_arg_max(infer *c);
void shape_loss(infer *c);
void shape_top_k(infer *c);

/* ---- shape_move.c: data movement ------------------------------------------------------------------------------- */
void shape_reshape(infer *c);
void shape_flatten(infer *c);
void shape_squeeze(infer *c);
void shape_unsqueeze(infer *c);
void shape_transpose(infer *c);
void shape_concat(infer *c);
void shape_split(infer *c);
void shape_slice(infer *c);
void shape_expand(infer *c);
void shape_tile(infer *c);
void shape_pad(infer *c);
void shape_center_crop_pad(infer *c);

/* Maps each output axis to its input axis; false with a note if `perm` is invalid. */
bool transpose_axes(infer *c, int rank, int *axes);
/* The range that a Slice takes from each axis, as given; NUM_UNKNOWN where unknown. */
typedef struct slice_axis {
    num start, end, step;
    bool is_cut;
} slice_axis;
/* False if the sliced axes are unknown. */
bool slice_arguments(infer *c, int rank, slice_axis *axes);
/* Returns first element and length of a range; false unless all numbers are plain. */
bool slice_range(num whole, num start, num end, num step, int64_t *first, int64_t *count);

/* ---- shape_rebatch.c: a fixed batch that is being replaced ----------------------------------------------------- */
/* Changes the batch in a constant target of Reshape; returns false if the target stays unchanged. */
bool rebatch_reshape(infer *c, const num *target, int rank, num *dims);
/* Replaces a leading batch by the new one, in dimensions taken from a constant input. */
void rebatch_target(infer *c, int input, num *dims, int rank);
/* True if a concatenation along an axis other than the batch has an input with the new batch. All its inputs then
 * need the new batch. */
bool rebatch_joins(infer *c, int axis);
/* Returns the first dimension of an input of such a concatenation, at the new batch. */
num rebatch_joined(infer *c, value_id id);
/* Keeps the declared output shapes of a node without a rule, if the batch does not affect its inputs. */
void rebatch_keep(infer *c);

/* ---- shape_index.c: picking, counting, ranges, fills ----------------------------------------------------------- */
void shape_shape(infer *c);
/* Returns the range of axes that a Shape operator covers. */
void shape_bounds(const infer *c, int rank, int *first, int *end);
void shape_size(infer *c);
void shape_gather(infer *c);
void shape_gather_elements(infer *c);
void shape_gather_nd(infer *c);
void shape_non_zero(infer *c);
void shape_compress(infer *c);
void shape_unique(infer *c);
void shape_non_max_suppression(infer *c);
void shape_one_hot(infer *c);
void shape_range(infer *c);
void shape_constant_of_shape(infer *c);
void shape_old_fill(infer *c);

/* ---- shape_sequence.c: sequences and optionals ----------------------------------------------------------------- */
void shape_sequence_construct(infer *c);
void shape_sequence_empty(infer *c);
void shape_sequence_insert(infer *c);
void shape_sequence_erase(infer *c);
void shape_sequence_at(infer *c);
void shape_sequence_length(infer *c);
void shape_split_to_sequence(infer *c);
void shape_concat_from_sequence(infer *c);
void shape_optional(infer *c);
void shape_optional_get_element(infer *c);
void shape_optional_has_element(infer *c);

/* ---- shape_ml.c: classical learning and training --------------------------------------------------------------- */
void shape_classifier(infer *c);
void shape_regressor(infer *c);
void shape_tree_ensemble(infer *c);
void shape_same_float(infer *c);
void shape_label_encoder(infer *c);
void shape_category_mapper(infer *c);
void shape_one_hot_encoder(infer *c);
void shape_array_feature_extractor(infer *c);
void shape_feature_vectorizer(infer *c);
void shape_zip_map(infer *c);
void shape_dict_vectorizer(infer *c);
void shape_cast_map(infer *c);
void shape_optimizer_one_state(infer *c);
void shape_optimizer_two_states(infer *c);
void shape_gradient(infer *c);

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
void shape_concat_training(infer *c);
void shape_layer_norm_grad(infer *c);
void shape_from_second(infer *c);
void shape_loss_internal(infer *c);
void shape_accumulator(infer *c);

/* ---- shape_other.c: everything else ---------------------------------------------------------------------------- */
void shape_constant(infer *c);
void shape_unknown(infer *c); /* Nothing can be inferred. */
void shape_window(infer *c);
void shape_mel_weight_matrix(infer *c);
void shape_dft(infer *c);
void shape_stft(infer *c);
void shape_string_split(infer *c);
void shape_string_normalizer(infer *c);
void shape_tf_idf_vectorizer(infer *c);
void shape_image_decoder(infer *c);
void shape_crop(infer *c);

/* ---- fold.c: arithmetic on known data, element by element ------------------------------------------------------ */
void fold_elementwise(infer *c);
void fold_where(infer *c);
void fold_clip(infer *c);
void fold_cast(infer *c);

/* ---- fold_move.c: known data moved ----------------------------------------------------------------------------- */
void fold_view(infer *c);
void fold_shape(infer *c);
void fold_size(infer *c);
void fold_transpose(infer *c);
void fold_expand(infer *c);
void fold_slice(infer *c);
void fold_split(infer *c);
void fold_tile(infer *c);
void fold_pad(infer *c);
void fold_concat(infer *c);
void fold_concat_from_sequence(infer *c);
void fold_gather(infer *c);
void fold_gather_elements(infer *c);
void fold_gather_nd(infer *c);
void fold_scatter_nd(infer *c);
void fold_scatter_elements(infer *c);
void fold_range(infer *c);
void fold_constant_of_shape(infer *c);
void fold_non_zero(infer *c);
void fold_compress(infer *c);
void fold_eye_like(infer *c);
void fold_trilu(infer *c);

/* ---- fold_reduce.c: known data summed and ordered -------------------------------------------------------------- */
void fold_reduce(infer *c);
void fold_cum_sum(infer *c);
void fold_arg_max(infer *c);
void fold_top_k(infer *c);
void fold_one_hot(infer *c);

#endif
