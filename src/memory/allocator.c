#include "memory/allocator.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)

static const int64_t ROUND = 512, SMALL_MOST = 1 * MIB, SMALL_SEGMENT = 2 * MIB, MIDDLE_MOST = 10 * MIB,
                     MIDDLE_SEGMENT = 20 * MIB, LARGE_ROUND = 2 * MIB, KEPT_WHOLE = 1 * MIB;
/* Upper bound on a request, so that the sum of a few requests cannot overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 60;

typedef struct block {
    int64_t bytes, address;
    int32_t before, after; /* Neighbours in the segment; -1 if there is none. */
    bool is_small, is_used;
} block;

/* Free blocks in chunks, sorted by size and address, so that an insertion moves few items. */
enum { CHUNK_MOST = 128 };

typedef struct free_block {
    int64_t bytes, address;
    int32_t index; /* Index of the block. */
} free_block;

typedef struct chunk {
    struct chunk *next_spare;
    int32_t count; /* Number of blocks, at least one. */
    free_block items[CHUNK_MOST];
} chunk;

typedef struct free_list {
    chunk **items;
    int32_t count, capacity;
} free_list;

/* Key of a block in a free list. */
typedef struct place {
    int32_t chunk, at;
} place;

struct allocator {
    arena *arena;
    struct {
        block *items;
        int32_t count, capacity;
    } blocks;
    int32_t unused; /* Unused entries, linked by `after`. */
    free_list free[2];
    chunk *spare;
    int64_t limit, next_address;
    int64_t allocated, reserved, peak_reserved;
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

/* ---- copies ------------------------------------------------------------------------------------------------------ */

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

allocator *allocator_copy(arena *a, const allocator *from, int64_t limit_bytes)
{
    allocator *m = arena_copy(a, from, 1, sizeof *from);
    m->arena = a;
    m->limit = limit_bytes;
    m->spare = NULL;
    m->blocks.items = arena_room(a, (size_t)from->blocks.capacity, sizeof *m->blocks.items);
    if (from->blocks.count)
        memcpy(m->blocks.items, from->blocks.items, (size_t)from->blocks.count * sizeof *m->blocks.items);
    for (int pool = 0; pool < 2; pool++) {
        free_list *list = &m->free[pool];
        list->items = arena_room(a, (size_t)list->capacity, sizeof *list->items);
        for (int32_t i = 0; i < list->count; i++) {
            const chunk *c = from->free[pool].items[i];
            list->items[i] = new_chunk(m);
            list->items[i]->count = c->count;
            memcpy(list->items[i]->items, c->items, (size_t)c->count * sizeof *c->items);
        }
    }
    return m;
}

/* ---- free blocks ------------------------------------------------------------------------------------------------- */

/* Compares without branches, which would be mispredicted. */
static inline bool is_before(const free_block *f, int64_t bytes, int64_t address)
{
    return (f->bytes < bytes) | ((f->bytes == bytes) & (f->address < address));
}

/* Returns the first index whose block does not sort before this size and address, or `count`. */
static inline int32_t find_in(const free_block *items, int32_t count, int64_t bytes, int64_t address)
{
    const free_block *first = items;
    if (count == 0)
        return 0;
    while (count > 1) {
        int32_t half = count / 2;
        first += is_before(first + half - 1, bytes, address) ? half : 0;
        count -= half;
    }
    return (int32_t)(first - items) + is_before(first, bytes, address);
}

/* Finds a block by size and address, or its insertion point. The point may be after the last chunk. */
static inline place find_place(const free_list *list, int64_t bytes, int64_t address)
{
    int32_t low = 0, high = list->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const chunk *c = list->items[middle];
        if (is_before(&c->items[c->count - 1], bytes, address))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count)
        return (place){low, 0};
    return (place){low, find_in(list->items[low]->items, list->items[low]->count, bytes, address)};
}

static void insert_chunk(allocator *m, free_list *list, int32_t at, chunk *c)
{
    (void)ARENA_PUSH_ROOM(m->arena, list);
    memmove(list->items + at + 1, list->items + at, (size_t)(list->count - 1 - at) * sizeof *list->items);
    list->items[at] = c;
}

/* Moves the upper half of a full chunk to a new chunk after it. */
static void split_chunk(allocator *m, free_list *list, int32_t index)
{
    chunk *full = list->items[index], *upper = new_chunk(m);
    full->count = CHUNK_MOST / 2;
    upper->count = CHUNK_MOST - full->count;
    memcpy(upper->items, full->items + full->count, (size_t)upper->count * sizeof *upper->items);
    insert_chunk(m, list, index + 1, upper);
}

/* Shifts items in a loop, because there are usually few or none and a call of memmove() costs more. */
static inline void move_up(free_block *items, int32_t from, int32_t end)
{
    for (int32_t i = end; i > from; i--)
        items[i] = items[i - 1];
}

static inline void move_down(free_block *items, int32_t from, int32_t end)
{
    for (int32_t i = from; i < end; i++)
        items[i] = items[i + 1];
}

static void add_free(allocator *m, bool is_small, free_block f)
{
    free_list *list = &m->free[is_small];
    place where = find_place(list, f.bytes, f.address);
    if (where.chunk == list->count) { /* Append after the last item. */
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
    move_up(c->items, where.at, c->count);
    c->items[where.at] = f;
    c->count++;
}

/* Frees an empty chunk. */
static void drop_chunk(allocator *m, free_list *list, int32_t index)
{
    chunk *c = list->items[index];
    list->count--;
    memmove(list->items + index, list->items + index + 1, (size_t)(list->count - index) * sizeof *list->items);
    c->next_spare = m->spare;
    m->spare = c;
}

static void remove_at(allocator *m, free_list *list, place where)
{
    chunk *c = list->items[where.chunk];
    c->count--;
    move_down(c->items, where.at, c->count);
    if (c->count == 0)
        drop_chunk(m, list, where.chunk);
}

static place place_of(const allocator *m, int32_t index)
{
    const block *b = &m->blocks.items[index];
    return find_place(&m->free[b->is_small], b->bytes, b->address);
}

/* Replaces a block by a smaller one, usually within the same chunk. */
static void make_smaller(allocator *m, bool is_small, place where, free_block f)
{
    free_list *list = &m->free[is_small];
    chunk *c = list->items[where.chunk];
    int32_t to = find_in(c->items, where.at, f.bytes, f.address);
    if (to == 0 && where.chunk > 0) {
        remove_at(m, list, where);
        add_free(m, is_small, f);
        return;
    }
    move_up(c->items, to, where.at);
    c->items[to] = f;
}

/* Replaces a block by a larger one. */
static void make_larger(allocator *m, bool is_small, place where, free_block f)
{
    free_list *list = &m->free[is_small];
    chunk *c = list->items[where.chunk];
    int32_t behind = where.at + 1;
    int32_t to = where.at + find_in(c->items + behind, c->count - behind, f.bytes, f.address);
    if (to == c->count - 1 && where.chunk + 1 < list->count) {
        remove_at(m, list, where);
        add_free(m, is_small, f);
        return;
    }
    move_down(c->items, where.at, to);
    c->items[to] = f;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

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

/* Returns the unused segments of one free list to the device. */
static void release(allocator *m, free_list *list)
{
    for (int32_t i = list->count - 1; i >= 0; i--) {
        chunk *c = list->items[i];
        int32_t kept = 0;
        for (int32_t at = 0; at < c->count; at++) {
            const block *b = &m->blocks.items[c->items[at].index];
            if (b->before >= 0 || b->after >= 0) {
                c->items[kept++] = c->items[at];
                continue;
            }
            m->reserved -= b->bytes;
            drop_block(m, c->items[at].index);
        }
        c->count = kept;
        if (kept == 0)
            drop_chunk(m, list, i);
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

/* Splits `bytes` off the front of a block. Returns the remaining block, or NO_ALLOCATION if it was not split. */
static int32_t split(allocator *m, int32_t index, int64_t bytes)
{
    const block *whole = &m->blocks.items[index];
    int64_t rest = whole->bytes - bytes;
    if (whole->is_small ? rest < ROUND : rest <= KEPT_WHOLE)
        return NO_ALLOCATION;
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
    return behind;
}

static free_block free_of(const allocator *m, int32_t index)
{
    const block *b = &m->blocks.items[index];
    return (free_block){b->bytes, b->address, index};
}

allocation allocator_take(allocator *m, int64_t bytes)
{
    bytes = allocator_rounded(bytes);
    bool is_small = bytes <= SMALL_MOST;
    free_list *list = &m->free[is_small];
    place where = find_place(list, bytes, 0);
    bool is_free = where.chunk < list->count;
    int32_t index = is_free ? list->items[where.chunk]->items[where.at].index : new_segment(m, bytes, is_small);
    if (index == NO_ALLOCATION)
        return NO_ALLOCATION;
    int32_t rest = split(m, index, bytes);
    if (rest == NO_ALLOCATION) {
        if (is_free)
            remove_at(m, list, where);
    } else if (is_free) {
        make_smaller(m, is_small, where, free_of(m, rest));
    } else {
        add_free(m, is_small, free_of(m, rest));
    }
    m->blocks.items[index].is_used = true;
    m->allocated += m->blocks.items[index].bytes;
    return index;
}

/* Merges a block with the free block after it. */
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
    bool is_small = b->is_small;
    int32_t before = b->before, after = b->after;
    bool joins_before = before >= 0 && !m->blocks.items[before].is_used;
    bool joins_after = after >= 0 && !m->blocks.items[after].is_used;
    m->allocated -= b->bytes;
    b->is_used = false;
    if (joins_after && joins_before)
        remove_at(m, &m->free[is_small], place_of(m, after));
    /* The list has the free neighbour; the merged block takes its place there. */
    int32_t listed = joins_before ? before : after;
    place where = joins_before || joins_after ? place_of(m, listed) : (place){0, 0};
    if (joins_after)
        join_next(m, index);
    if (joins_before) {
        join_next(m, before);
        index = before;
    }
    if (joins_before || joins_after)
        make_larger(m, is_small, where, free_of(m, index));
    else
        add_free(m, is_small, free_of(m, index));
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

int64_t allocator_allocated(const allocator *m)
{
    return m->allocated;
}

int64_t allocator_reserved(const allocator *m)
{
    return m->reserved;
}

int64_t allocator_peak_reserved(const allocator *m)
{
    return m->peak_reserved;
}
