/* hash.h: 64-bit hashes that compare kernels. Collisions are accepted. */
#ifndef SOOTH_LOWER_HASH_H
#define SOOTH_LOWER_HASH_H

#include "lower/lower.h"

static inline uint64_t hash_mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* Multiplies each number by a random odd constant and adds the products, so that the steps are independent. */
static inline uint64_t hash_sizes(const int64_t *sizes, int count)
{
    enum { AT_ONCE = 6 };
    static const uint64_t FACTORS[AT_ONCE] = {0x9fb21c651e98df25u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u,
                                              0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};
    uint64_t sum = 0;
    int at_once = count < AT_ONCE ? count : AT_ONCE;
    for (int i = 0; i < at_once; i++)
        sum += (uint64_t)sizes[i] * FACTORS[i];
    for (int i = AT_ONCE; i < count; i++)
        sum = hash_mix(sum, (uint64_t)sizes[i]);
    return sum;
}

static inline uint64_t hash_shape(const placed_tensor *t)
{
    uint64_t strides = hash_sizes(t->strides, t->rank);
    return ((uint64_t)t->dtype << 16 | (uint64_t)(uint8_t)t->rank << 8 | t->is_weight) + hash_sizes(t->dims, t->rank) +
           (strides << 21 | strides >> 43) * 0x8ebc6af09c88c6e3u;
}

#endif
