/* arena.h: a region allocator: memory is handed out in sequence and freed all at once.
 *
 * A loaded model has thousands of small objects with one lifetime. Allocation never returns NULL: it fails through
 * the arena's `fail`. Memory is zeroed. An arena has a cap, so that a small hostile file cannot exhaust memory. */
#ifndef SOOTH_BASE_ARENA_H
#define SOOTH_BASE_ARENA_H

#include "base/fail.h"
#include "base/str.h"

#include <stdint.h>

typedef struct arena_block arena_block;

typedef struct arena {
    arena_block *head; /* Newest block first. */
    char *next;        /* Free room in the newest block. */
    char *end;
    size_t used_bytes;
    size_t cap_bytes;
    size_t block_bytes; /* Smallest malloc; 64 KiB unless changed after arena_init. */
    fail *fail;
} arena;

/* At most half of the address space on 32-bit machines. */
#define ARENA_GIB(count) ((count) < (SIZE_MAX >> 31) ? (size_t)(count) << 30 : SIZE_MAX / 2)
void arena_init(arena *a, fail *f, size_t cap_bytes);
void arena_free(arena *a); /* Frees everything; the arena can be used again. */

/* A position in the arena. Rewinding to it frees everything allocated since. */
typedef struct arena_mark {
    arena_block *head;
    char *next, *end;
    size_t used_bytes;
} arena_mark;
arena_mark arena_marked(const arena *a);
void arena_rewind(arena *a, arena_mark mark);

/* Returns `count` zeroed elements of `size` bytes. Fails on overflow, at the cap, and if out of memory. */
void *arena_alloc(arena *a, size_t count, size_t size);
/* The same without zeroing, for memory that the caller fills at once. Inline, because most allocations are small. */
enum { ARENA_ALIGN = 16, ARENA_SMALL = 1024 };
void *arena_room_slow(arena *a, size_t count, size_t size);
static inline void *arena_room(arena *a, size_t count, size_t size)
{
    size_t bytes = count <= ARENA_SMALL && size <= ARENA_SMALL
                       ? (count * size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)
                       : SIZE_MAX;
    if (bytes >= (size_t)(a->end - a->next)) /* Blocks never exceed the cap, so this check respects it. */
        return arena_room_slow(a, count, size);
    char *p = a->next;
    a->next = p + bytes;
    a->used_bytes += bytes;
    return p;
}
void *arena_copy(arena *a, const void *from, size_t count, size_t size);
/* Allocates unaligned bytes, from the far end of the block. */
static inline char *arena_bytes(arena *a, size_t size)
{
    if (size > ARENA_SMALL || size >= (size_t)(a->end - a->next))
        return arena_room_slow(a, size, 1);
    a->end -= size;
    a->used_bytes += size;
    return a->end;
}
/* Copies the bytes and adds a NUL, so that .ptr is a C string. */
static inline str arena_str(arena *a, str s)
{
    char *p = arena_bytes(a, s.len + 1);
    str_copy(p, s);
    p[s.len] = '\0';
    return (str){p, s.len};
}
/* Formats a name or message, truncated at 1023 bytes. */
str arena_printf(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type) ((type *)memset(arena_room((a), 1, sizeof(type)), 0, sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_alloc((a), (count), sizeof(type)))

/* Appends room for one element to a growing array and returns its address; the element is zeroed, or with _ROOM
 * uninitialized. Old copies of the array stay in the arena; together they are at most as large as the array. */
void arena_grow(arena *a, void **array, int32_t count, int32_t *capacity, size_t size);
static inline void *arena_push(arena *a, void **array, int32_t *count, int32_t *capacity, size_t size)
{
    if (*count == *capacity)
        arena_grow(a, array, *count, capacity, size);
    return (char *)*array + (size_t)(*count)++ * size;
}
#define ARENA_PUSH_ROOM(a, list)                                                                                       \
    arena_push((a), (void **)&(list)->items, &(list)->count, &(list)->capacity, sizeof *(list)->items)
#define ARENA_PUSH(a, list) memset(ARENA_PUSH_ROOM((a), (list)), 0, sizeof *(list)->items)
/* Makes room for `more` further elements, if their number is known in advance. */
void arena_reserve(arena *a, void **array, const int32_t *count, int32_t *capacity, size_t more, size_t size);
#define ARENA_RESERVE(a, list, more)                                                                                   \
    arena_reserve((a), (void **)&(list)->items, &(list)->count, &(list)->capacity, (more), sizeof *(list)->items)

#endif
