/* op_memo.h: properties of operators by the address of their names. Names are literals and a program has few, so most
 * addresses were met before, and texts need not be compared. */
#ifndef SOOTH_LOWER_OP_MEMO_H
#define SOOTH_LOWER_OP_MEMO_H

#include <stdbool.h>
#include <stdint.h>

enum { OP_MEMO_BITS = 7, OP_MEMO_SLOTS = 1 << OP_MEMO_BITS, OP_MEMO_TRIED = 8 };

typedef struct op_memo {
    struct {
        const char *name; /* NULL: free */
        uint32_t known;
    } slots[OP_MEMO_SLOTS];
} op_memo; /* all zero at first */

/* The place of what is known of the operator. `is_new`: nothing is known yet, and the caller writes it there. */
static inline uint32_t *op_memo_at(op_memo *m, const char *name, bool *is_new)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u >> (64 - OP_MEMO_BITS));
    /* If all slots that are tried are taken, the last one is given to this operator. */
    for (int tried = 1; m->slots[at].name && m->slots[at].name != name && tried < OP_MEMO_TRIED; tried++)
        at = (at + 1) % OP_MEMO_SLOTS;
    *is_new = m->slots[at].name != name;
    m->slots[at].name = name;
    return &m->slots[at].known;
}

#endif
