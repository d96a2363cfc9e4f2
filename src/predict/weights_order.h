/* weights_order.h: files of weights are little endian; big-endian machines swap their numbers in memory. */
#ifndef SOOTH_PREDICT_WEIGHTS_ORDER_H
#define SOOTH_PREDICT_WEIGHTS_ORDER_H

#include "predict/weights.h"

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { WEIGHTS_TURNED = true };
#else
enum { WEIGHTS_TURNED = false };
#endif

/* Convert between file order and memory order; do nothing if they are equal. */
void weights_turn_header(weights_header *h);
/* Converts everything after the header; weights_size has validated the counts. */
void weights_turn_rest(void *bytes, const weights_header *counts);

/* The shipped weights (data/weights.bin), embedded by shipped.S. */
extern const predictor shipped_weights;
/* Returns the shipped weights in memory order. A big-endian machine converts them once, on first use. NULL if out of
 * memory. */
const predictor *weights_shipped(void);

#endif
