/* ops.c: looks up rows of the operator table. */
#include "graph/ops.h"

typedef struct op_slot {
    uint16_t row; /* row of the table + 1; 0: free */
    uint16_t name_len;
} op_slot;

struct ops_index {
    const op_info *table;
    op_slot *slots;
    uint32_t mask;
};

/* Uses only the length and both ends of the name, because the index is built for every model and must be quick. */
static inline uint32_t hash_name(str type)
{
    uint64_t ends = type.len < 8 ? str_short(type) : str_eight(type.ptr) * 31 + str_eight(type.ptr + type.len - 8);
    return (uint32_t)(((ends + type.len) * 0x9e3779b97f4a7c15u) >> 40);
}

ops_index *ops_index_new(arena *a)
{
    size_t count;
    const op_info *all = ops_all(&count);
    ops_index *index = ARENA_NEW(a, ops_index);
    uint32_t size = 64;
    while (size < 2 * count)
        size *= 2;
    op_slot *slots = ARENA_ARRAY(a, op_slot, size);
    for (size_t i = 0; i < count; i++) {
        str name = str_of(all[i].name);
        uint32_t at = hash_name(name) & (size - 1);
        while (slots[at].row)
            at = (at + 1) & (size - 1);
        slots[at] = (op_slot){(uint16_t)(i + 1), (uint16_t)name.len};
    }
    *index = (ops_index){.table = all, .slots = slots, .mask = size - 1};
    return index;
}

/* Maps other spellings of a domain in real files to the table's. */
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
    for (uint32_t at = hash_name(type);; at++) {
        const op_slot *slot = &index->slots[at & index->mask];
        if (!slot->row)
            return NULL;
        const op_info *op = &index->table[slot->row - 1];
        if (slot->name_len == type.len && str_eq((str){op->name, type.len}, type) &&
            (domain.len ? str_is(domain, op->domain) : op->domain[0] == '\0'))
            return op;
    }
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
