#include "predict/weights_order.h"

#include <stdatomic.h>
#include <stdlib.h>

static void turn_words(void *words, size_t count)
{
    unsigned char *p = words;
    for (size_t i = 0; i < count; i++, p += sizeof(uint32_t)) {
        uint32_t x;
        memcpy(&x, p, sizeof x);
        x = __builtin_bswap32(x);
        memcpy(p, &x, sizeof x);
    }
}

static void turn_leaves(forest_tree *tree)
{
    for (int i = 0; i < FOREST_LEAVES; i++)
        tree->leaves[i] = (int16_t)__builtin_bswap16((uint16_t)tree->leaves[i]);
}

void weights_turn_header(weights_header *h)
{
    size_t text = sizeof h->magic;
    if (WEIGHTS_TURNED)
        turn_words((char *)h + text, (sizeof *h - text) / sizeof(uint32_t));
}

void weights_turn_rest(void *bytes, const weights_header *counts)
{
    if (!WEIGHTS_TURNED)
        return;
    /* Names are byte strings and trees come last; everything in between has 32 bits. */
    char *words = (char *)bytes + sizeof *counts + ((size_t)counts->stack_count + counts->gpu_count) * WEIGHTS_NAME;
    forest_tree *trees =
        (forest_tree *)(void *)((char *)bytes + weights_size(counts) - counts->tree_count * sizeof(forest_tree));
    turn_words(words, (size_t)((char *)trees - words) / sizeof(uint32_t));
    for (uint32_t i = 0; i < counts->tree_count; i++)
        turn_leaves(&trees[i]);
}

static const predictor *turn_shipped(void)
{
    weights_header h = shipped_weights.header;
    weights_turn_header(&h);
    size_t size = weights_size(&h);
    char *copy = malloc(size > sizeof h ? size : sizeof h);
    if (!copy)
        return NULL;
    if (size > 0) { /* A size of 0 means another version, which the caller reports. */
        memcpy(copy, &shipped_weights, size);
        weights_turn_rest(copy, &h);
    }
    memcpy(copy, &h, sizeof h);
    return (const predictor *)(const void *)copy;
}

const predictor *weights_shipped(void)
{
    static _Atomic(const predictor *) turned; /* Set once, by the first thread that needs it. */
    if (!WEIGHTS_TURNED)
        return &shipped_weights;
    const predictor *none = NULL, *made = atomic_load(&turned);
    if (made)
        return made;
    made = turn_shipped();
    if (made && !atomic_compare_exchange_strong(&turned, &none, made)) {
        free((void *)made);
        made = none;
    }
    return made;
}
