/* fold.h: shared by the fold rules: known data of any kind, read and written element by element. */
#ifndef SOOTH_GRAPH_FOLD_FOLD_H
#define SOOTH_GRAPH_FOLD_FOLD_H

#include "graph/shape/shape.h"

/* Limit on decoded floats. Shape arithmetic needs few (scales); larger tensors are weights. */
enum { MAX_FOLDED_REALS = 64 };
/* Limit on folded elements in one network, far above real shape arithmetic, so that a hostile file cannot cause
 * endless work. */
enum { MAX_FOLDED_IN_ALL = 1 << 23 };

/* Known data: ints (integers and bools, possibly symbolic or unknown) or reals. */
typedef struct data {
    const num *ints;
    const double *reals;
    int32_t count;
    int rank;
    const num *dims; /* Plain numbers only. */
    dtype dtype;
} data;

/* Reads the data of input i. Returns false if they are unknown, which is cheap to detect. */
bool fold_input(infer *c, int i, data *d);

/* Buffer for the data of output i, of the same kind as `like`; false if the output is absent or too large. */
typedef struct folded {
    num *ints;
    double *reals;
    int32_t count;
    int rank;
    const num *dims;
} folded;
bool fold_output(infer *c, int i, const data *like, folded *f);
/* Stores the data of output i. Ints that are all unknown are not stored. */
void fold_store(infer *c, int i, const folded *f);

static inline void fold_copy(folded *to, int32_t at, const data *from, int32_t index)
{
    if (to->ints)
        to->ints[at] = from->ints[index];
    else
        to->reals[at] = from->reals[index];
}

/* Row-major strides of plain dimensions. */
void fold_strides(const num *dims, int rank, int64_t *strides);
/* Advances the position `at` in row-major order. */
void fold_next(int32_t *at, const num *dims, int rank);

#endif
