/* relatives.h: measured relatives of a GPU on which a kind of kernel was never measured. A kin has the same chip:
 * its efficiencies hold for every GPU with that chip, combined with the GPU's own peaks and bandwidth. A GPU that is
 * at least as good in every number that the kernels use is no slower, so measured GPUs below and above bound the
 * time. */
#ifndef SOOTH_PREDICT_RELATIVES_H
#define SOOTH_PREDICT_RELATIVES_H

#include "predict/net.h"

enum { MOST_BELOW = 2 };

typedef struct relatives {
    int kin;   /* UNKNOWN: none */
    int above; /* Nearest measured GPU that is no worse in any number. */
    /* Nearest GPU that is no better in any number, if it lacks such measurements and is nearer than `below`. */
    int near;
    /* Nearest measured GPUs that are no better in any number; none of them is better than another in all numbers. */
    int below[MOST_BELOW];
} relatives;

/* Finds the relatives of `d` on which kernels of group `g` were measured on unit `u`. For kernels without products,
 * all operators in `ops` must have been measured too. */
relatives relatives_of(const net *n, const device_view *d, work_group g, work_unit u, const int16_t *ops, size_t count);

#endif
