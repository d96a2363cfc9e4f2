#include "memory/allocator.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)

static const int64_t ROUND = 512, SMALL_MOST = 1 * MIB, SMALL_SEGMENT = 2 * MIB, MIDDLE_MOST = 10 * MIB,
                     MIDDLE_SEGMENT = 20 * MIB, LARGE_ROUND = 2 * MIB, KEPT_WHOLE = 1 * MIB;
/* Requests stay below it: sums of a few cannot overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 60;

typedef struct block {
    int64_t bytes, address;
    int32_t before, after; /* neighbours in the segment; -1: none */
    bool is_small, is_used;
} block;

/* Free blocks by size, then address. They lie in chunks, so that a list of a million moves a few hundred for a new
 * one. */
enum { CHUNK_MOST = 256 };

typedef struct chunk {
    struct chunk *next_spare;
    int32_t count; /* at least one */
    int32_t items[CHUNK_MOST];
} chunk;

typedef struct free_list {
    chunk **items;
    int32_t count, capacity;
} free_list;

/* Of a block in a free list. */
typedef struct place {
    int32_t chunk, at;
} place;

struct allocator {
    arena *arena;
    struct {
        block *items;
        int32_t count, capacity;
    } blocks;
    int32_t unused; /* blocks that joined others, linked by `after` */
    free_list free[2];
    chunk *spare;
    int64_t limit, next_address;
    int64_t allocated, reserved, peak_allocated, peak_reserved;
};

allocator *allocator_new(arena *a, int64_t limit_bytes)
{
    allocator *m = ARENA_NEW(a, allocator);
    m->arena = a;
    m->unused = -1;
    m->limit = limit_bytes;
    return m;
}

int64_t allocator_rounded(int64_t bytes)
{
    if (bytes <= ROUND)
        return ROUND;
    return bytes < MOST_BYTES ? (bytes + ROUND - 1) / ROUND * ROUND : MOST_BYTES;
}

/* ---- free blocks --------------------------------------------------------------------------------------------------- */

static bool is_before(const allocator *m, int32_t block_index, int64_t bytes, int64_t address)
{
    const block *b = &m->blocks.items[block_index];
    return b->bytes != bytes ? b->bytes < bytes : b->address < address;
}

/* Index of the first item that does not sort before this size and address; `count` if all do. */
static int32_t find_in(const allocator *m, const int32_t *items, int32_t count, int64_t bytes, int64_t address)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (is_before(m, items[middle], bytes, address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Place of a block with this size and address, or where it belongs; behind the last chunk if all sort before it. */
static place find_place(const allocator *m, const free_list *list, int64_t bytes, int64_t address)
{
    int32_t low = 0, high = list->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const chunk *c = list->items[middle];
        if (is_before(m, c->items[c->count - 1], bytes, address))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count)
        return (place){low, 0};
    return (place){low, find_in(m, list->items[low]->items, list->items[low]->count, bytes, address)};
}

static void insert_chunk(allocator *m, free_list *list, int32_t at, chunk *c)
{
    (void)ARENA_PUSH_ROOM(m->arena, list);
    memmove(list->items + at + 1, list->items + at, (size_t)(list->count - 1 - at) * sizeof *list->items);
    list->items[at] = c;
}

static chunk *new_chunk(allocator *m)
{
    chunk *c = m->spare;
    if (c)
        m->spare = c->next_spare;
    else
        c = arena_room(m->arena, 1, sizeof *c);
    c->next_spare = NULL;
    c->count = 0;
    return c;
}

/* Moves the upper half of a full chunk to a new chunk behind it. */
static void split_chunk(allocator *m, free_list *list, int32_t index)
{
    chunk *full = list->items[index], *upper = new_chunk(m);
    full->count = CHUNK_MOST / 2;
    upper->count = CHUNK_MOST - full->count;
    memcpy(upper->items, full->items + full->count, (size_t)upper->count * sizeof *upper->items);
    insert_chunk(m, list, index + 1, upper);
}

static void add_free(allocator *m, int32_t index)
{
    const block *b = &m->blocks.items[index];
    free_list *list = &m->free[b->is_small];
    place where = find_place(m, list, b->bytes, b->address);
    if (where.chunk == list->count) { /* the last of all */
        if (list->count == 0)
            insert_chunk(m, list, 0, new_chunk(m));
        where.chunk = list->count - 1;
        where.at = list->items[where.chunk]->count;
    }
    if (list->items[where.chunk]->count == CHUNK_MOST) {
        split_chunk(m, list, where.chunk);
        int32_t lower = list->items[where.chunk]->count;
        if (where.at > lower)
            where = (place){where.chunk + 1, where.at - lower};
    }
    chunk *c = list->items[where.chunk];
    memmove(c->items + where.at + 1, c->items + where.at, (size_t)(c->count - where.at) * sizeof *c->items);
    c->items[where.at] = index;
    c->count++;
}

static void remove_at(allocator *m, free_list *list, place where)
{
    chunk *c = list->items[where.chunk];
    c->count--;
    memmove(c->items + where.at, c->items + where.at + 1, (size_t)(c->count - where.at) * sizeof *c->items);
    if (c->count)
        return;
    list->count--;
    memmove(list->items + where.chunk, list->items + where.chunk + 1,
            (size_t)(list->count - where.chunk) * sizeof *list->items);
    c->next_spare = m->spare;
    m->spare = c;
}

static void remove_free(allocator *m, int32_t index)
{
    const block *b = &m->blocks.items[index];
    free_list *list = &m->free[b->is_small];
    remove_at(m, list, find_place(m, list, b->bytes, b->address));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static int32_t new_block(allocator *m, block of)
{
    int32_t index = m->unused;
    if (index >= 0) {
        m->unused = m->blocks.items[index].after;
    } else {
        index = m->blocks.count;
        (void)ARENA_PUSH_ROOM(m->arena, &m->blocks);
    }
    m->blocks.items[index] = of;
    return index;
}

static void drop_block(allocator *m, int32_t index)
{
    m->blocks.items[index].after = m->unused;
    m->unused = index;
}

/* Segments of which nothing is in use. */
static void release(allocator *m, free_list *list)
{
    for (int32_t i = list->count - 1; i >= 0; i--) {
        for (int32_t at = list->items[i]->count - 1; at >= 0; at--) { /* the chunk goes with its last block */
            int32_t index = list->items[i]->items[at];
            const block *b = &m->blocks.items[index];
            if (b->before >= 0 || b->after >= 0)
                continue;
            m->reserved -= b->bytes;
            drop_block(m, index);
            remove_at(m, list, (place){i, at});
        }
    }
}

void allocator_empty_cache(allocator *m)
{
    release(m, &m->free[false]);
    release(m, &m->free[true]);
}

static int32_t new_segment(allocator *m, int64_t bytes, bool is_small)
{
    int64_t size = is_small              ? SMALL_SEGMENT
                   : bytes < MIDDLE_MOST ? MIDDLE_SEGMENT
                                         : (bytes + LARGE_ROUND - 1) / LARGE_ROUND * LARGE_ROUND;
    if (size > m->limit - m->reserved)
        allocator_empty_cache(m);
    if (size > m->limit - m->reserved)
        return NO_ALLOCATION;
    m->reserved += size;
    if (m->reserved > m->peak_reserved)
        m->peak_reserved = m->reserved;
    m->next_address += size;
    return new_block(
        m, (block){.bytes = size, .address = m->next_address - size, .before = -1, .after = -1, .is_small = is_small});
}

static int32_t take_free(allocator *m, int64_t bytes, bool is_small)
{
    free_list *list = &m->free[is_small];
    place where = find_place(m, list, bytes, 0);
    if (where.chunk == list->count)
        return NO_ALLOCATION;
    int32_t index = list->items[where.chunk]->items[where.at];
    remove_at(m, list, where);
    return index;
}

static void split(allocator *m, int32_t index, int64_t bytes)
{
    const block *whole = &m->blocks.items[index];
    int64_t rest = whole->bytes - bytes;
    if (whole->is_small ? rest < ROUND : rest <= KEPT_WHOLE)
        return;
    block part = {.bytes = rest,
                  .address = whole->address + bytes,
                  .before = index,
                  .after = whole->after,
                  .is_small = whole->is_small};
    int32_t behind = new_block(m, part);
    if (part.after >= 0)
        m->blocks.items[part.after].before = behind;
    m->blocks.items[index].after = behind;
    m->blocks.items[index].bytes = bytes;
    add_free(m, behind);
}

allocation allocator_take(allocator *m, int64_t bytes)
{
    bytes = allocator_rounded(bytes);
    bool is_small = bytes <= SMALL_MOST;
    int32_t index = take_free(m, bytes, is_small);
    if (index == NO_ALLOCATION)
        index = new_segment(m, bytes, is_small);
    if (index == NO_ALLOCATION)
        return NO_ALLOCATION;
    split(m, index, bytes);
    m->blocks.items[index].is_used = true;
    m->allocated += m->blocks.items[index].bytes;
    if (m->allocated > m->peak_allocated)
        m->peak_allocated = m->allocated;
    return index;
}

/* Takes the free neighbour behind a block into it. */
static void join_next(allocator *m, int32_t index)
{
    block *b = &m->blocks.items[index];
    int32_t next = b->after;
    b->bytes += m->blocks.items[next].bytes;
    b->after = m->blocks.items[next].after;
    if (b->after >= 0)
        m->blocks.items[b->after].before = index;
    drop_block(m, next);
}

void allocator_give(allocator *m, allocation index)
{
    block *b = &m->blocks.items[index];
    m->allocated -= b->bytes;
    b->is_used = false;
    if (b->after >= 0 && !m->blocks.items[b->after].is_used) {
        remove_free(m, b->after);
        join_next(m, index);
    }
    int32_t before = b->before;
    if (before >= 0 && !m->blocks.items[before].is_used) {
        remove_free(m, before);
        join_next(m, before);
        index = before;
    }
    add_free(m, index);
}

/* ---- figures --------------------------------------------------------------------------------------------------------- */

int64_t allocator_allocated(const allocator *m)
{
    return m->allocated;
}

int64_t allocator_reserved(const allocator *m)
{
    return m->reserved;
}

int64_t allocator_peak_allocated(const allocator *m)
{
    return m->peak_allocated;
}

int64_t allocator_peak_reserved(const allocator *m)
{
    return m->peak_reserved;
}
