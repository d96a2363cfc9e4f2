/* fold.h: what the fold rules share: known data of any kind, read and written element by element. */
#ifndef SOOTH_GRAPH_FOLD_FOLD_H
#define SOOTH_GRAPH_FOLD_FOLD_H

#include "graph/shape/shape.h"

/* Shapes are computed from few floats (scales); more of them are weights, which are never decoded for this. */
enum { MAX_FOLDED_REALS = 64 };
/* Shape arithmetic of real networks stays far below; a hostile file could ask for endless work. */
enum { MAX_FOLDED_IN_ALL = 1 << 23 };

/* Known data: ints (whole numbers and bools, maybe symbolic or unknown) or reals. */
typedef struct data {
    const num *ints;
    const double *reals;
    int32_t count;
    int rank;
    const num *dims; /* plain numbers */
    dtype dtype;
} data;

/* Data of input i; false if they are not known. Cheap when they are not. */
bool fold_input(infer *c, int i, data *d);

/* Room for the data of output i, of the same kind as `like`; false if it is absent or too large. */
typedef struct folded {
    num *ints;
    double *reals;
    int32_t count;
    int rank;
    const num *dims;
} folded;
bool fold_output(infer *c, int i, const data *like, folded *f);
/* Ints that are all unknown are no knowledge: then nothing is set. */
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
