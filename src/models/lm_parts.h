/* lm_parts.h: shared by the files that build a transformer (lm.h): state that is passed from layer to layer. */
#ifndef SOOTH_MODELS_LM_PARTS_H
#define SOOTH_MODELS_LM_PARTS_H

#include "models/lm.h"

enum { LM_MAX_ROTARY = 4 };

typedef struct lm_run {
    builder *b;
    const lm *m;
    num tokens, past;
    value_id positions; /* (N, tokens) */
    value_id encoded;   /* encoder output for cross-attention; NO_VALUE if there is none */
    value_id bias;      /* bias of the scores of all layers; NO_VALUE: none */
    net_rms rms;
    /* Sines and cosines for each number of rotated elements: (N, 1, tokens, width). */
    struct lm_rotation {
        int64_t width;
        value_id cos, sin;
    } rotations[LM_MAX_ROTARY];
    int rotation_count;
    /* Keys and values of the last layer that computed them, indexed by whether the layer has a window. */
    value_id earlier[2][2];
    int32_t layer;
} lm_run;

value_id lm_normed(lm_run *r, str name, value_id x, int64_t width, lm_norm kind);
/* Splits the last axis into parts of the given sizes. */
void lm_split(builder *b, str name, value_id x, const int64_t *sizes, int count, value_id *parts);
/* Adds an activation, named as in lm_feed. */
value_id lm_activation(builder *b, str name, const char *activation, value_id x);
/* (N, tokens, heads · size) → (N, tokens, heads, size) → (N, heads, tokens, size), and back. */
value_id lm_by_head(builder *b, str name, value_id x, int64_t heads, int64_t size);
value_id lm_heads_first(builder *b, str name, value_id x);
value_id lm_join_heads(builder *b, str name, value_id x, int64_t width);
value_id lm_concat(builder *b, str name, value_id x, value_id y, int64_t axis);
/* x[…, begin:end, …] along one axis */
value_id lm_slice(builder *b, str name, value_id x, int64_t axis, int64_t begin, int64_t end);
value_id lm_scalar(builder *b, str name, value_id x, const char *op, double number);
/* Returns the shape of x as a tensor, with the dimensions from `end` on replaced by `dims`. */
value_id lm_shape(builder *b, str name, value_id x, int64_t end, const int64_t *dims, int count);

value_id lm_attend(lm_run *r, str scope, value_id x, const lm_attention *a); /* lm_attention.c */
value_id lm_attend_latent(lm_run *r, str scope, value_id x, const lm_attention *a);
value_id lm_attend_encoded(lm_run *r, str scope, value_id x, const lm_attention *a);
value_id lm_feed_forward(lm_run *r, str scope, value_id x, const lm_feed *f); /* lm_feed.c */
value_id lm_dense(lm_run *r, str scope, value_id x, int64_t inner, const lm_feed *f);
value_id lm_experts(lm_run *r, str scope, value_id x, value_id routed_by, const lm_feed *f);
value_id lm_recur(lm_run *r, str scope, value_id x, const lm_layer *l); /* lm_recurrence.c */

#endif
