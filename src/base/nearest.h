/* nearest.h: finds the existing name that was probably meant, for error messages. */
#ifndef SOOTH_BASE_NEAREST_H
#define SOOTH_BASE_NEAREST_H

#include "base/str.h"

/* Edit distance (insert, delete, change, swap neighbours). Long strings are never near. */
unsigned nearest_distance(str a, str b);

/* A search for the nearest of several names, which are tried one by one. */
typedef struct nearest {
    str wanted;
    str best; /* empty if no name is near enough */
    unsigned best_distance;
} nearest;

static inline nearest nearest_to(str wanted)
{
    return (nearest){.wanted = wanted, .best_distance = (unsigned)(wanted.len < 12 ? 1 + wanted.len / 3 : 5)};
}

static inline void nearest_try(nearest *n, str name)
{
    /* The difference of the lengths is a lower bound on the distance. */
    size_t apart = n->wanted.len > name.len ? n->wanted.len - name.len : name.len - n->wanted.len;
    if (apart > n->best_distance)
        return;
    unsigned distance = nearest_distance(n->wanted, name);
    if (distance < n->best_distance || (n->best.len == 0 && distance == n->best_distance)) {
        n->best = name;
        n->best_distance = distance;
    }
}

#endif
