/* work_list.c: finds the distinct works of a program, and the cache reuse of their inputs. */
#include "lower/hash.h"
#include "lower/op_memo.h"
#include "predict/work.h"

#include <math.h>

/* Reuse distance that stands for no reuse: inputs last touched this many bytes ago, or before the pass, are in no
 * cache. */
static const float FAR_LOG2 = 40;

/* Hash that is equal for kernels that differ only in cache reuse. */
static uint64_t signature(const program *p, const kernel *k)
{
    uint64_t hash = hash_mix((uint64_t)(uintptr_t)k->op, (uint64_t)k->flops);
    hash = hash_mix(hash, (uint64_t)k->flags << 40 | (uint64_t)k->fused_count << 20 | (uint64_t)k->input_count);
    hash = hash_mix(hash, (uint64_t)k->bytes_read * 3 + (uint64_t)k->bytes_written);
    hash = hash_mix(hash,
                    (uint64_t)k->loops.scattered << 32 ^ (uint64_t)k->loops.turned << 16 ^ (uint64_t)k->loops.reduced);
    hash =
        hash_mix(hash, (uint64_t)k->loops.gathered << 32 ^ (uint64_t)k->loops.loads ^ (uint64_t)k->axes_behind << 56);
    if (k->window)
        for (int i = 0; i < k->window->rank; i++)
            hash = hash_mix(hash, (uint64_t)k->window->size[i] << 30 | (uint64_t)k->window->stride[i] << 15 |
                                      (uint64_t)(k->window->padding[i] * 64 + k->window->dilation[i]));
    for (int32_t i = 0; i < k->input_count && i < 4; i++)
        hash = hash_mix(hash, hash_shape(&p->tensors.items[k->inputs[i]]));
    for (int32_t i = 0; i < k->output_count && i < 2; i++)
        hash = hash_mix(hash, hash_shape(&p->tensors.items[k->outputs[i]]));
    return hash;
}

static uint64_t with_reuse(uint64_t signature, const float *reuse)
{
    return hash_mix(signature, (uint64_t)(reuse[0] * 16) << 16 | (uint64_t)(reuse[1] * 16) | (uint64_t)1 << 32);
}

/* Hash table of works; 0 marks a free slot. */
typedef struct work_table {
    uint64_t *hashes;
    int32_t *works;
    size_t slots; /* A power of two. */
    size_t used;  /* At most half of the slots. */
} work_table;

/* Returns the slot of the hash, or a free slot. */
static size_t slot_of(const work_table *t, uint64_t hash)
{
    size_t slot = hash & (t->slots - 1);
    while (t->hashes[slot] && t->hashes[slot] != hash)
        slot = (slot + 1) & (t->slots - 1);
    return slot;
}

static void keep_slot(work_table *t, size_t slot, uint64_t hash, int32_t index)
{
    t->hashes[slot] = hash;
    t->works[slot] = index;
    t->used++;
}

/* Makes room for two more entries. Most kernels repeat, so the table starts small. */
static void widen(work_table *t, arena *a)
{
    if (t->slots && 2 * (t->used + 2) <= t->slots)
        return;
    work_table wider = {.slots = t->slots ? 4 * t->slots : 256};
    wider.hashes = ARENA_ARRAY(a, uint64_t, wider.slots);
    wider.works = arena_room(a, wider.slots, sizeof *wider.works);
    for (size_t i = 0; i < t->slots; i++)
        if (t->hashes[i])
            keep_slot(&wider, slot_of(&wider, t->hashes[i]), t->hashes[i], t->works[i]);
    *t = wider;
}

/* Returns floor(log2(x)), at least 0. log2() may round up just below a power of two, so the result is checked. */
static float whole_lg(double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (!(x > 1))
        return 0;
    if ((bits & 0x7fffff) >= 0x7fff00)
        return floorf(log2f(single));
    return (float)((int)(bits >> 23) - 127);
}

/* Sets number and group of the operator. */
static void set_op(work *w, op_memo *memo, const char *name)
{
    bool is_new;
    uint32_t *known = op_memo_at(memo, name, &is_new);
    if (is_new) {
        const aten_op *op = aten_find(name);
        *known = (uint32_t)op->number << 8 | (uint32_t)op->group;
    }
    w->op = (int16_t)(*known >> 8);
    w->group = (work_group)(*known & 0xff);
}

/* Items are zeroed on demand, in chunks, because most kernels repeat. */
enum { ZEROED_AT_ONCE = 32 };

/* Appends a work: a new description, or a copy of an entry that differs only in cache reuse. */
static void add_work(work_list *list, const program *p, const kernel *k, const float *reuse, const work *like,
                     op_memo *ops, work_logs *logs)
{
    work *w = &list->items[list->count];
    if (list->count % ZEROED_AT_ONCE == 0)
        memset(w, 0, ZEROED_AT_ONCE * sizeof *w);
    list->count++;
    if (like) {
        *w = *like;
        w->count = w->library_count = 0;
        w->features[WORK_REUSE] = reuse[0];
        w->features[WORK_REUSE + 1] = reuse[1];
    }
    w->reuse[0] = reuse[0];
    w->reuse[1] = reuse[1];
    if (!like) {
        set_op(w, ops, k->op);
        w->like = list->count - 1;
        work_describe(p, k, w, logs);
    }
}

/* Returns log2 of the bytes that one pass touches. Passes and timed operators run repeatedly, so data that this pass
 * has not touched was last touched in the previous one. */
static float pass_log2(const program *p)
{
    double bytes = 1;
    for (int32_t i = 0; i < p->kernels.count; i++)
        if (!(p->kernels.items[i].flags & KERNEL_VIEW))
            bytes += (double)p->kernels.items[i].bytes_read + (double)p->kernels.items[i].bytes_written;
    return fminf(log2f((float)bytes), FAR_LOG2);
}

/* Removes fused epilogues from an engine's products, because they take almost no time and serving frameworks were
 * measured without them. */
static const kernel *as_measured(const program *p, const kernel *k, kernel *bare)
{
    if (!p->is_engine || k->input_count < 3 || strcmp(k->op, "addmm") != 0)
        return k;
    *bare = *k;
    bare->op = "mm";
    bare->inputs++; /* Skips the bias. */
    bare->input_count = 2;
    bare->fused = NULL;
    bare->fused_count = 0;
    return bare;
}

/* Number of kernels in a chain. */
enum { CHAIN = 4 };

/* Hash of what a kernel does, without sizes. Networks of one family have it in common. */
static uint64_t style_of(const work *w, const kernel *k)
{
    uint64_t style = hash_mix((uint64_t)w->op + 1, (uint64_t)w->group);
    if (k->window)
        style = hash_mix(style, (uint64_t)k->window->size[0] << 32 | (uint64_t)k->window->stride[0] << 1 |
                                    (uint64_t)(k->window->groups > 1));
    return style;
}

static void add_chains(const program *p, work_list *list)
{
    uint64_t last[CHAIN] = {0};
    for (int32_t i = 0, n = 0; i < p->kernels.count; i++) {
        list->chains[i] = 0;
        if (list->of_kernel[i] < 0)
            continue;
        last[n++ % CHAIN] = style_of(&list->items[list->of_kernel[i]], &p->kernels.items[i]);
        uint64_t hash = 0;
        for (int k = 0; k < CHAIN; k++)
            hash = hash_mix(hash, last[(n + k) % CHAIN]);
        list->chains[i] = (uint32_t)(hash >> 32);
    }
}

/* A sum, so that kernels that differ only in cache reuse may be separate works or not. */
static uint64_t graph_of(const work_list *list)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < list->count; i++)
        if (list->items[i].macs > 0)
            sum += hash_mix(1, list->items[i].kin) * (uint64_t)list->items[i].count;
    return sum;
}

work_list work_of_program(const program *p, arena *a)
{
    int32_t count = p->kernels.count;
    work_table table = {.slots = 0};
    /* Bytes touched up to the last use, indexed by storage. */
    double *touched = ARENA_ARRAY(a, double, (size_t)p->storage_count + 1);
    work_list list = {.items = arena_room(a, (size_t)count + ZEROED_AT_ONCE, sizeof *list.items),
                      .of_kernel = arena_room(a, (size_t)count + 1, sizeof *list.of_kernel),
                      .chains = arena_room(a, (size_t)count + 1, sizeof *list.chains)};
    uint64_t *alikes = arena_room(a, (size_t)count + 1, sizeof *alikes); /* Hashes of signature(), indexed by kernel. */
    op_memo ops = {0};
    work_logs logs = {.of = {0}};
    double clock = 1;
    const float pass = pass_log2(p);
    for (int32_t i = 0; i < count; i++) {
        kernel bare;
        const kernel *k = as_measured(p, &p->kernels.items[i], &bare);
        list.of_kernel[i] = -1;
        if (k->flags & KERNEL_VIEW)
            continue;
        /* Rounds reuse to powers of two, so that more kernels are equal. */
        float reuse[2] = {FAR_LOG2, FAR_LOG2};
        for (int32_t j = 0; j < k->input_count && j < 2; j++) {
            const placed_tensor *input = &p->tensors.items[k->inputs[j]];
            double last = touched[input->storage];
            /* Weights never count as reused: most shared weights are equal weights that the exporter merged. */
            bool is_first = last == 0 || (input->is_weight && k->phase == PHASE_FORWARD);
            reuse[j] = is_first ? pass : whole_lg(clock - last);
        }
        int32_t like = i < p->like.count ? p->like.items[i] : 0;
        uint64_t alike = alikes[i] = like ? alikes[like - 1] : signature(p, k) | 1;
        uint64_t hash = with_reuse(alike, reuse) | 1;
        widen(&table, a);
        size_t slot = slot_of(&table, hash);
        if (!table.hashes[slot]) {
            keep_slot(&table, slot, hash, list.count);
            size_t other = slot_of(&table, alike);
            add_work(&list, p, k, reuse, table.hashes[other] ? &list.items[table.works[other]] : NULL, &ops, &logs);
            if (!table.hashes[other])
                keep_slot(&table, other, alike, list.count - 1);
        }
        list.items[table.works[slot]].count += (double)k->repeat;
        list.items[table.works[slot]].library_count += k->flags & KERNEL_LIBRARY ? (double)k->repeat : 0;
        list.of_kernel[i] = table.works[slot];
        clock += (double)k->bytes_read + (double)k->bytes_written;
        for (int32_t j = 0; j < k->input_count; j++)
            touched[p->tensors.items[k->inputs[j]].storage] = clock;
        for (int32_t j = 0; j < k->output_count; j++)
            touched[p->tensors.items[k->outputs[j]].storage] = clock;
    }
    add_chains(p, &list);
    list.graph = graph_of(&list);
    return list;
}
