/* weights_order.h: files of weights are little endian; on other machines their numbers are turned around in memory. */
#ifndef SOOTH_PREDICT_WEIGHTS_ORDER_H
#define SOOTH_PREDICT_WEIGHTS_ORDER_H

#include "predict/weights.h"

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { WEIGHTS_TURNED = true };
#else
enum { WEIGHTS_TURNED = false };
#endif

/* From the order of the file to that of memory, or back; nothing where they are the same. */
void weights_turn_header(weights_header *h);
/* All that follows the header of a file with these counts, which weights_size has found to be sound. */
void weights_turn_rest(void *bytes, const weights_header *counts);

/* The weights that ship, as data/weights.bin has them: taken in by shipped.S. */
extern const predictor shipped_weights;
/* The same in the order of memory, which a big endian machine makes once, on first use. NULL: no memory. */
const predictor *weights_shipped(void);

#endif
