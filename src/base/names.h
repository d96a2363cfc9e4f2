/* names.h: from names to numbers: a hash table in an arena. */
#ifndef SOOTH_BASE_NAMES_H
#define SOOTH_BASE_NAMES_H

#include "base/arena.h"

typedef struct names {
    arena *arena;
    struct names_slot {
        str name; /* of the caller */
        int32_t number;
        bool used;
    } * slots;
    uint32_t mask;
    int32_t count;
} names;

void names_init(names *n, arena *a);
/* Replaces the number if the name is there. */
void names_put(names *n, str name, int32_t number);
int32_t names_get(const names *n, str name, int32_t otherwise);

#endif
