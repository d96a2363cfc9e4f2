/* kernels.h: descriptions of kernels (work.h), each distinct one stored once and packed.
 *
 * Rows share many kernels: networks repeat layers, on every GPU. Features on a device are computed from the work on
 * demand, because storing them would take ten times the memory. Packing is lossless. */
#ifndef SOOTH_LEARN_KERNELS_H
#define SOOTH_LEARN_KERNELS_H

#include "predict/work.h"

typedef struct kernel_store kernel_store;

/* A kernel in a program: its work, its number of runs and its cache reuse. */
typedef struct kernel_number {
    uint32_t work; /* of KERNEL_BITS */
    uint32_t place;
} kernel_number;
enum { KERNEL_BITS = 31 };

/* NULL: out of memory. */
kernel_store *kernels_new(void);
void kernels_free(kernel_store *s);
/* Frees the search tables; nothing can be added any more. */
void kernels_close(kernel_store *s);

/* Numbers of works, equal for equal ones. False: out of memory. Thread-safe. */
bool kernels_add(kernel_store *s, const work *works, int32_t count, kernel_number *numbers);

/* Fields that are read without unpacking. */
typedef struct kernel_head {
    uint32_t kin;
    int16_t op;
    uint8_t group;
} kernel_head;
kernel_head kernels_head(const kernel_store *s, uint32_t work);
/* Runs as training counts them. */
float kernels_count(const kernel_store *s, uint32_t place);
/* Unpacks the work without `like`, with the runs that training counts. */
void kernels_get(const kernel_store *s, kernel_number number, work *w);

#endif
