/* seen.h: what a training sees in networks: kernels, sequences of kernels, graphs. The weights record it, and rows that
 * a training holds out are compared with it. */
#ifndef SOOTH_LEARN_SEEN_H
#define SOOTH_LEARN_SEEN_H

#include "learn/dataset.h"
#include "predict/weights.h"

/* Lists on the heap. */
typedef struct seen_numbers {
    number_list kernels, chains, graphs;
} seen_numbers;

/* Collects the numbers of the networks of `l`. */
seen_numbers seen_collect(const dataset *d, const lists *l, fail *f);
void seen_free(seen_numbers *s);
/* Marks the kernels of these examples that are not in the lists. */
void seen_mark(const dataset *d, const seen_numbers *s, const int32_t *order, int32_t count);

/* Class of a row's interval. */
interval_class seen_class(const example *e, uint32_t *groups);
/* True if training saw the graph of the example. */
bool seen_graph(const seen_numbers *s, const example *e);

#endif
