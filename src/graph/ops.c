/* ops.c: finding a row of the operator table. */
#include "graph/ops.h"

struct ops_index {
    const op_info **slots;
    uint32_t mask;
};

static uint32_t hash_name(str type)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < type.len; i++)
        h = (h ^ (uint8_t)type.ptr[i]) * 16777619u;
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
    index->slots = ARENA_ARRAY(a, const op_info *, size);
    index->mask = size - 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = hash_name(str_of(all[i].name)) & index->mask;
        while (index->slots[slot])
            slot = (slot + 1) & index->mask;
        index->slots[slot] = &all[i];
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
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (str_is(domain, ALIASES[i].alias))
            return str_of(ALIASES[i].domain);
    return domain;
}

const op_info *ops_find(const ops_index *index, str domain, str type)
{
    domain = canonical_domain(domain);
    const op_info *op;
    for (uint32_t slot = hash_name(type) & index->mask; (op = index->slots[slot]); slot = (slot + 1) & index->mask)
        if (str_is(type, op->name) && str_is(domain, op->domain))
            return op;
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
