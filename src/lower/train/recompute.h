/* recompute.h: activation checkpointing. The forward pass of a region keeps only what the region reads from outside;
 * the backward pass runs its kernels again before the first gradient in it, as torch.utils.checkpoint does without
 * reentry. */
#ifndef SOOTH_LOWER_TRAIN_RECOMPUTE_H
#define SOOTH_LOWER_TRAIN_RECOMPUTE_H

#include "lower/train/backward.h"

typedef struct recompute recompute;

/* `end`: number of kernels of the forward pass. Returns NULL if the model has no regions (model->regions). */
recompute *back_recompute_begin(eager *e, int32_t end);
/* Call before and after kernel `at` of the forward pass is differentiated. The second call lets the new kernels
 * read the recomputed tensors. Both do nothing for NULL. */
void back_recompute_before(recompute *r, int32_t at);
void back_recompute_after(recompute *r, int32_t at);
/* Removes the kernels at the end of each region whose results no gradient needs, as PyTorch stops early. */
void back_recompute_end(recompute *r);

#endif
