/* op_memo.h: caches properties of operators by the address of their names. Names are string literals and a program uses
 * few, so comparing addresses usually replaces comparing strings. */
#ifndef SOOTH_LOWER_OP_MEMO_H
#define SOOTH_LOWER_OP_MEMO_H

#include <stdbool.h>
#include <stdint.h>

enum { OP_MEMO_BITS = 7, OP_MEMO_SLOTS = 1 << OP_MEMO_BITS, OP_MEMO_TRIED = 8 };

typedef struct op_memo {
    struct {
        const char *name; /* NULL if the slot is free. */
        uint32_t known;
    } slots[OP_MEMO_SLOTS];
} op_memo; /* Must be zero-initialized. */

/* Returns the slot of the operator. If `*is_new`, the slot is empty and the caller fills it. */
static inline uint32_t *op_memo_at(op_memo *m, const char *name, bool *is_new)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u >> (64 - OP_MEMO_BITS));
    /* If all probed slots are taken, replaces the last one. */
    for (int tried = 1; m->slots[at].name && m->slots[at].name != name && tried < OP_MEMO_TRIED; tried++)
        at = (at + 1) % OP_MEMO_SLOTS;
    *is_new = m->slots[at].name != name;
    m->slots[at].name = name;
    return &m->slots[at].known;
}

#endif
