/* ops.c: finding a row of the operator table. */
#include "graph/ops.h"

typedef struct op_slot {
    uint16_t row; /* of the table + 1; 0 = free */
    uint16_t name_len;
    uint32_t hash;
} op_slot;

struct ops_index {
    const op_info *table;
    op_slot *slots;
    uint32_t mask;
};

/* The index is made for each model, so it must be quick: the length and a few letters tell operators apart well enough. */
static uint32_t hash_name(str type)
{
    if (type.len == 0)
        return 0;
    const uint8_t *p = (const uint8_t *)type.ptr;
    size_t n = type.len;
    uint32_t h = (uint32_t)n | (uint32_t)p[0] << 8 | (uint32_t)p[n / 2] << 16 | (uint32_t)p[n - 1] << 24;
    h = (h ^ p[n / 4] ^ (uint32_t)p[n * 3 / 4] << 12) * 0x9e3779b1u;
    return h ^ (h >> 15);
}

ops_index *ops_index_new(arena *a)
{
    size_t count;
    const op_info *all = ops_all(&count);
    ops_index *index = ARENA_NEW(a, ops_index);
    uint32_t size = 64;
    while (size < 2 * count)
        size *= 2;
    index->slots = ARENA_ARRAY(a, op_slot, size);
    index->mask = size - 1;
    index->table = all;
    for (size_t i = 0; i < count; i++) {
        str name = str_of(all[i].name);
        uint32_t hash = hash_name(name), slot = hash;
        while (index->slots[slot & index->mask].row)
            slot++;
        index->slots[slot & index->mask] = (op_slot){(uint16_t)(i + 1), (uint16_t)name.len, hash};
    }
    return index;
}

/* Domains under which the same operators are found in real files. */
static str canonical_domain(str domain)
{
    static const struct {
        const char *alias, *domain;
    } ALIASES[] = {
        {"ai.onnx", ""},
        {"com.microsoft.nchwc", "com.microsoft"},
        {"com.microsoft.experimental", "com.microsoft"},
        {"ai.onnx.preview.training", "ai.onnx.training"},
    };
    for (size_t i = 0; domain.len && i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (str_is(domain, ALIASES[i].alias))
            return str_of(ALIASES[i].domain);
    return domain;
}

const op_info *ops_find(const ops_index *index, str domain, str type)
{
    domain = canonical_domain(domain);
    uint32_t hash = hash_name(type);
    for (uint32_t at = hash; index->slots[at & index->mask].row; at++) {
        const op_slot *slot = &index->slots[at & index->mask];
        const op_info *op = &index->table[slot->row - 1];
        if (slot->hash == hash && slot->name_len == type.len && memcmp(op->name, type.ptr, type.len) == 0 &&
            str_is(domain, op->domain))
            return op;
    }
    return NULL;
}

const op_info *ops_find_canonical(const ops_index *index, const char *name)
{
    static const char *const DOMAINS[] = {"", "sooth", "com.microsoft", "ai.onnx.ml"};
    for (size_t i = 0; i < sizeof DOMAINS / sizeof *DOMAINS; i++) {
        const op_info *op = ops_find(index, str_of(DOMAINS[i]), str_of(name));
        if (op)
            return op;
    }
    return NULL;
}
