#include "predict/weights_order.h"

#include <pthread.h>
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
    /* Names are bytes; trees are last, and all between them has 32 bits. */
    char *words = (char *)bytes + sizeof *counts + ((size_t)counts->stack_count + counts->gpu_count) * WEIGHTS_NAME;
    forest_tree *trees =
        (forest_tree *)(void *)((char *)bytes + weights_size(counts) - counts->tree_count * sizeof(forest_tree));
    turn_words(words, (size_t)((char *)trees - words) / sizeof(uint32_t));
    for (uint32_t i = 0; i < counts->tree_count; i++)
        turn_leaves(&trees[i]);
}

/* A constant that is computed on first use: it never changes afterwards. */
static pthread_once_t turned_once = PTHREAD_ONCE_INIT;
static const predictor *turned;

static void turn_shipped(void)
{
    weights_header h = shipped_weights.header;
    weights_turn_header(&h);
    size_t size = weights_size(&h);
    char *copy = size ? malloc(size) : NULL;
    if (!copy)
        return;
    memcpy(copy, &shipped_weights, size);
    weights_turn_rest(copy, &h);
    memcpy(copy, &h, sizeof h);
    turned = (const predictor *)(const void *)copy;
}

const predictor *weights_shipped(void)
{
    if (!WEIGHTS_TURNED)
        return &shipped_weights;
    pthread_once(&turned_once, turn_shipped);
    return turned;
}
