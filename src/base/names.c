#include "base/names.h"

void names_init(names *n, arena *a)
{
    *n = (names){.arena = a, .mask = 15};
    n->slots = ARENA_ARRAY(a, struct names_slot, 16);
}

static struct names_slot *find(const names *n, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        struct names_slot *slot = &n->slots[k & n->mask];
        if (!slot->used || str_eq(slot->name, name))
            return slot;
    }
}

static void grow(names *n)
{
    const names old = *n;
    n->mask = 2 * n->mask + 1;
    n->slots = ARENA_ARRAY(n->arena, struct names_slot, (size_t)n->mask + 1);
    for (uint32_t i = 0; i <= old.mask; i++)
        if (old.slots[i].used)
            *find(n, old.slots[i].name) = old.slots[i];
}

void names_put(names *n, str name, int32_t number)
{
    if (2 * (uint32_t)n->count > n->mask)
        grow(n);
    struct names_slot *slot = find(n, name);
    n->count += !slot->used;
    *slot = (struct names_slot){name, number, true};
}

int32_t names_get(const names *n, str name, int32_t otherwise)
{
    const struct names_slot *slot = find(n, name);
    return slot->used ? slot->number : otherwise;
}
