/* kernels.h: what kernels do (work.h), each distinct one once and packed.
 *
 * Rows of a table have many kernels in common: networks repeat their layers and one another's, on every GPU. What a kernel is on a
 * device is computed from its work when it is needed: features of all kernels of all rows would take ten times the room. Nothing is lost: a
 * work comes out as it went in, bit by bit. */
#ifndef SOOTH_LEARN_KERNELS_H
#define SOOTH_LEARN_KERNELS_H

#include "predict/work.h"

typedef struct kernel_store kernel_store;

/* A kernel in a program: its work, and what differs from place to place: how often it runs, and what of its inputs may be in a cache. */
typedef struct kernel_number {
    uint32_t work; /* of KERNEL_BITS */
    uint32_t place;
} kernel_number;
enum { KERNEL_BITS = 31 };

/* NULL: no memory. */
kernel_store *kernels_new(void);
void kernels_free(kernel_store *s);
/* What is needed to find equal ones is given back: nothing can be added any more. */
void kernels_close(kernel_store *s);

/* The numbers of works, the same for equal ones. False: no memory. May be called by several threads. */
bool kernels_add(kernel_store *s, const work *works, int32_t count, kernel_number *numbers);

/* What is looked at without the rest. */
typedef struct kernel_head {
    uint32_t kin;
    int16_t op;
    uint8_t group;
} kernel_head;
kernel_head kernels_head(const kernel_store *s, uint32_t work);
/* How often it runs, as training counts. */
float kernels_count(const kernel_store *s, uint32_t place);
/* The work again, but for `like`, and with the count that training takes. */
void kernels_get(const kernel_store *s, kernel_number number, work *w);

#endif
