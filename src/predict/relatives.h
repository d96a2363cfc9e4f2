/* relatives.h: measured relatives of a GPU on which a kind of kernel was never measured.
 *
 * Kin has the same chip: its efficiencies hold for every GPU of that chip, with the GPU's own peaks and bandwidth. A
 * GPU that is at least as good in every number that the kernels can use is no slower, so measured GPUs below and above
 * bracket the time. */
#ifndef SOOTH_PREDICT_RELATIVES_H
#define SOOTH_PREDICT_RELATIVES_H

#include "predict/net.h"

enum { MOST_BELOW = 2 };

typedef struct relatives {
    int kin;   /* UNKNOWN: none */
    int above; /* nearest measured GPU that is no worse in any number */
    int near;  /* GPU without such measurements that is no better in any number, nearer than the measured ones */
    int below[MOST_BELOW]; /* nearest measured GPUs that are no better in any number, and no worse than each other */
} relatives;

/* Finds the relatives of `d` on which kernels of group `g` were measured on unit `u`. For kernels without products, all
 * of these operators must have been measured too. */
relatives relatives_of(const net *n, const device_view *d, work_group g, work_unit u, const int16_t *ops, size_t count);

#endif
