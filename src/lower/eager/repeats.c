/* repeats.c: copies the kernels of an equal earlier layer. Networks repeat a few layers many times; with equal
 * operator, attributes and inputs, a rule launches the same kernels on other tensors. Only for operators whose rules
 * depend on nothing else (RULES in eager.c), and never in training. */
#include "lower/eager/eager.h"
#include "lower/hash.h"

/* A lowered layer and the kernels that its rule appended. */
typedef struct layer_record {
    uint64_t hash;
    const node *node;
    int32_t first_kernel, end_kernel;
    tensor_id first_tensor, end_tensor;
    int32_t first_storage;
    tensor_id result;
} layer_record;

struct repeats {
    struct {
        layer_record *items;
        int32_t count, capacity;
    } records;
    int32_t *slots;        /* Indexed by hash: 1 + index of a record; 0 if free. */
    size_t slot_count;     /* A power of two, at least twice the number of layers. */
    layer_record open;     /* Record of the current layer; its hash is 0 if it is not to be stored. */
    int32_t unknown_count; /* Size of the program before the current layer. */
};

static uint64_t hash_text(str s)
{
    uint64_t hash = s.len;
    for (size_t i = 0; i + 8 < s.len; i += 8)
        hash = hash_mix(hash, str_eight(s.ptr + i));
    return hash_mix(hash, s.len < 8 ? str_short(s) : str_eight(s.ptr + s.len - 8));
}

/* Returns false if a dimension is unknown. */
static bool hash_attr(const attr *a, uint64_t *hash)
{
    uint64_t content;
    switch (a->kind) {
    case ATTR_INT:
        content = (uint64_t)a->integer;
        break;
    case ATTR_FLOAT:
        memcpy(&content, &a->real, sizeof content);
        break;
    case ATTR_STRING:
        content = hash_text(a->string);
        break;
    case ATTR_INTS:
        content = hash_sizes(a->ints, a->count) + (uint64_t)a->count;
        break;
    default:
        return false;
    }
    *hash = hash_mix(hash_mix(*hash, hash_text(a->name) + (uint64_t)a->kind), content);
    return true;
}

/* Hashes all properties of a value that rules read: its tensor, or the fields that determine the tensor. */
static bool hash_value(const eager *e, value_id v, uint64_t *hash)
{
    if (v == NO_VALUE) {
        *hash = hash_mix(*hash, 1);
        return true;
    }
    const value *val = &e->net->values.items[v];
    if (e->of_turned[v] != NO_TENSOR || val->kind != VALUE_TENSOR || val->rank < 0)
        return false;
    if (e->of_value[v] != NO_TENSOR) {
        const placed_tensor *t = tensor_at(e, e->of_value[v]);
        uint64_t kinds = (uint64_t)t->is_number << 1 | (uint64_t)t->is_turned << 2 | (uint64_t)t->keeps_float << 3;
        *hash = hash_mix(*hash, hash_shape(t) ^ (kinds + 1) << 56);
        return true;
    }
    uint64_t kinds = (uint64_t)val->dtype << 16 | (uint64_t)(uint8_t)val->rank << 8 |
                     (uint64_t)(val->producer == NO_NODE) << 2 | (uint64_t)val->is_input << 3 | 2;
    *hash = hash_mix(*hash, hash_sizes(val->dims, val->rank) + kinds);
    return true;
}

/* Returns the hash of the layer, or 0 if its kernels cannot be copied. */
static uint64_t hash_layer(const eager *e)
{
    const node *n = e->node;
    uint64_t hash = hash_mix((uint64_t)(n->op - e->ops), (uint64_t)n->input_count << 32 | (uint64_t)n->attr_count);
    hash = hash_mix(hash, (uint64_t)n->repeat);
    if (n->output_count != 1 || e->is_turned || !hash_value(e, n->outputs[0], &hash))
        return 0;
    for (int i = 0; i < n->attr_count; i++)
        if (!hash_attr(&n->attrs[i], &hash))
            return 0;
    for (int i = 0; i < n->input_count; i++) {
        for (int other = 0; other < i; other++)
            if (n->inputs[other] == n->inputs[i] && n->inputs[i] != NO_VALUE)
                return 0; /* If two inputs are equal, it is ambiguous which of them a kernel's operand refers to. */
        if (!hash_value(e, n->inputs[i], &hash))
            return 0;
    }
    return hash | 1;
}

/* Returns the tensor of the current layer that corresponds to tensor `t` of the other layer. */
static tensor_id counterpart(const eager *e, const layer_record *r, tensor_id base, tensor_id t)
{
    if (t >= r->first_tensor && t < r->end_tensor)
        return base + (t - r->first_tensor);
    for (int i = 0; i < r->node->input_count; i++)
        if (r->node->inputs[i] != NO_VALUE && e->of_value[r->node->inputs[i]] == t)
            return e->of_value[e->node->inputs[i]];
    return t;
}

/* Returns the value of the current layer that corresponds to value `v` of the other layer. */
static value_id counterpart_value(const eager *e, const layer_record *r, value_id v)
{
    if (v == NO_VALUE || v == r->node->outputs[0])
        return v == NO_VALUE ? v : e->node->outputs[0];
    for (int i = 0; i < r->node->input_count; i++)
        if (r->node->inputs[i] == v)
            return e->node->inputs[i];
    return v;
}

static void copy_layer(eager *e, const layer_record *r)
{
    program *p = e->out;
    tensor_id base = p->tensors.count;
    int32_t storage_base = p->storage_count;
    int32_t tensor_count = r->end_tensor - r->first_tensor;
    ARENA_RESERVE(e->arena, &p->tensors, (size_t)tensor_count);
    ARENA_RESERVE(e->arena, &e->bytes, (size_t)tensor_count);
    for (int32_t i = 0; i < tensor_count; i++) {
        placed_tensor *made = &p->tensors.items[base + i];
        *made = p->tensors.items[r->first_tensor + i];
        made->storage += storage_base - r->first_storage;
        p->storage_count = made->storage >= p->storage_count ? made->storage + 1 : p->storage_count;
        value_id of = made->value;
        made->value = counterpart_value(e, r, of);
        if (made->value != of && e->of_value[made->value] == NO_TENSOR)
            e->of_value[made->value] = base + i;
        e->bytes.items[base + i] = e->bytes.items[r->first_tensor + i];
    }
    p->tensors.count += tensor_count;
    e->bytes.count += tensor_count;
    for (int32_t i = r->first_kernel; i < r->end_kernel; i++) {
        kernel *made = ARENA_PUSH_ROOM(e->arena, &p->kernels);
        const kernel *k = &p->kernels.items[i];
        tensor_id *held = arena_room(e->arena, (size_t)k->input_count + (size_t)k->output_count, sizeof *held);
        for (int n = 0; n < k->input_count; n++)
            held[n] = counterpart(e, r, base, k->inputs[n]);
        for (int n = 0; n < k->output_count; n++)
            held[k->input_count + n] = counterpart(e, r, base, k->outputs[n]);
        *made = *k;
        while (p->like.count < p->kernels.count - 1)
            *(int32_t *)ARENA_PUSH_ROOM(e->arena, &p->like) = 0;
        *(int32_t *)ARENA_PUSH_ROOM(e->arena, &p->like) = i + 1;
        made->layer = e->layer;
        made->inputs = held;
        made->outputs = held + k->input_count;
    }
    e->of_value[e->node->outputs[0]] = counterpart(e, r, base, r->result);
}

/* Returns the slot of the hash, or a free slot for it. */
static int32_t *slot_of(const repeats *of, uint64_t hash)
{
    size_t slot = hash >> 1 & (of->slot_count - 1);
    while (of->slots[slot] && of->records.items[of->slots[slot] - 1].hash != hash)
        slot = (slot + 1) & (of->slot_count - 1);
    return &of->slots[slot];
}

void repeats_begin(eager *e)
{
    repeats *of = ARENA_NEW(e->arena, repeats);
    of->slot_count = 16;
    while (of->slot_count < 2 * (size_t)e->net->nodes.count)
        of->slot_count *= 2;
    of->slots = ARENA_ARRAY(e->arena, int32_t, of->slot_count);
    e->repeats = of;
}

bool repeats_copied(eager *e)
{
    repeats *of = e->repeats;
    const program *p = e->out;
    of->unknown_count = p->unknown_count;
    of->open = (layer_record){.hash = hash_layer(e),
                              .node = e->node,
                              .first_kernel = p->kernels.count,
                              .first_tensor = p->tensors.count,
                              .first_storage = p->storage_count};
    int32_t found = of->open.hash ? *slot_of(of, of->open.hash) : 0;
    if (!found)
        return false;
    const layer_record *r = &of->records.items[found - 1];
    if (r->node->op != e->node->op || r->node->input_count != e->node->input_count) {
        of->open.hash = 0;
        return false;
    }
    copy_layer(e, r);
    return true;
}

void repeats_keep(eager *e)
{
    layer_record *r = &e->repeats->open;
    const program *p = e->out;
    r->end_kernel = p->kernels.count;
    r->end_tensor = p->tensors.count;
    r->result = e->of_value[e->node->outputs[0]];
    if (!r->hash || p->unknown_count != e->repeats->unknown_count || r->result < r->first_tensor)
        return;
    for (tensor_id t = r->first_tensor; t < r->end_tensor; t++)
        if (p->tensors.items[t].storage < r->first_storage) /* The rule reads memory that existed before the layer. */
            return;
    *(layer_record *)ARENA_PUSH_ROOM(e->arena, &e->repeats->records) = *r;
    *slot_of(e->repeats, r->hash) = e->repeats->records.count;
}
