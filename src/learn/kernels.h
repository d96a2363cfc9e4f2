/* kernels.h: stores kernel descriptions (work.h), each distinct one once, packed without loss. Rows share many
 * kernels, because tables repeat networks on every GPU. Features on a device are computed on demand; storing them
 * would take ten times the memory. */
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

/* Returns NULL if out of memory. */
kernel_store *kernels_new(void);
void kernels_free(kernel_store *s);
/* Frees the search tables. Nothing can be added afterwards. */
void kernels_close(kernel_store *s);

/* Assigns equal numbers to equal works. Returns false if out of memory. Thread-safe. */
bool kernels_add(kernel_store *s, const work *works, int32_t count, kernel_number *numbers);

/* Fields that can be read without unpacking. */
typedef struct kernel_head {
    uint32_t kin;
    int16_t op;
    uint8_t group;
} kernel_head;
kernel_head kernels_head(const kernel_store *s, uint32_t work);
/* Number of runs as training weights them. */
float kernels_count(const kernel_store *s, uint32_t place);
/* Unpacks a work, without `like`. `count` is the number of runs that training uses. */
void kernels_get(const kernel_store *s, kernel_number number, work *w);

#endif
