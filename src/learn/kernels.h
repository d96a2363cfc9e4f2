/* kernels.h: kernel descriptions (work.h), each distinct one packed and stored once. Rows share many kernels, because
 * networks repeat layers on every GPU. Features on a device are computed on demand, because storing them would take ten
 * times the memory. Packing is lossless. */
#ifndef SOOTH_LEARN_KERNELS_H
#define SOOTH_LEARN_KERNELS_H

#include "predict/work.h"

typedef struct kernel_store kernel_store;

/* A kernel in a program: its work, its number of runs and its cache reuse. */
typedef struct kernel_number {
    uint32_t work; /* index of KERNEL_BITS bits */
    uint32_t place;
} kernel_number;
enum { KERNEL_BITS = 31 };

/* Returns NULL without memory. */
kernel_store *kernels_new(void);
void kernels_free(kernel_store *s);
/* Frees the search tables. Nothing can be added afterwards. */
void kernels_close(kernel_store *s);

/* Assigns numbers to works; equal works get equal numbers. Returns false without memory. Thread-safe. */
bool kernels_add(kernel_store *s, const work *works, int32_t count, kernel_number *numbers);

/* Fields that can be read without unpacking. */
typedef struct kernel_head {
    uint32_t kin;
    int16_t op;
    uint8_t group;
} kernel_head;
kernel_head kernels_head(const kernel_store *s, uint32_t work);
/* Number of runs that training counts. */
float kernels_count(const kernel_store *s, uint32_t place);
/* Unpacks a work, without `like`. Its runs are those that training counts. */
void kernels_get(const kernel_store *s, kernel_number number, work *w);

#endif
