/* names.h: a hash table in an arena, from names to numbers. */
#ifndef SOOTH_BASE_NAMES_H
#define SOOTH_BASE_NAMES_H

#include "base/arena.h"

typedef struct names {
    arena *arena;
    struct names_slot {
        str name; /* owned by the caller */
        int32_t number;
        bool used;
    } * slots;
    uint32_t mask;
    int32_t count;
} names;

void names_init(names *n, arena *a);
/* Replaces the number if the name exists. */
void names_put(names *n, str name, int32_t number);
int32_t names_get(const names *n, str name, int32_t otherwise);

#endif
