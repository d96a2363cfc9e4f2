#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct arena_block {
    arena_block *older;
    alignas(ARENA_ALIGN) char memory[]; /* malloc's alignment, which exceeds max_align_t on some machines */
};

/* Allocates each object separately in checked builds, and frees it on a rewind. In large blocks, rewound memory
 * stays readable and objects are adjacent, which hides memory errors from sanitizers and valgrind. */
#ifdef SOOTH_ARENA_CHECKED
enum { IS_CHECKED = true };
#else
enum { IS_CHECKED = false };
#endif

static void free_newest(arena *a)
{
    arena_block *b = a->head;
    a->head = b->older;
    free(b);
}

void arena_init(arena *a, fail *f, size_t cap_bytes)
{
    *a = (arena){.fail = f, .cap_bytes = cap_bytes, .block_bytes = (size_t)64 << 10};
}

void arena_free(arena *a)
{
    while (a->head)
        free_newest(a);
    a->next = a->end = NULL;
    a->used_bytes = 0;
}

arena_mark arena_marked(const arena *a)
{
    return (arena_mark){a->head, a->next, a->end, a->used_bytes};
}

void arena_rewind(arena *a, arena_mark mark)
{
    while (a->head != mark.head)
        free_newest(a);
    a->next = mark.next;
    a->end = mark.end;
    a->used_bytes = mark.used_bytes;
}

/* Requests huge pages for a block that is certain to be used, because they cause hundreds of times fewer page
 * faults. Only a hint. */
static void ask_for_huge_pages(void *block, size_t size, size_t surely_used)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, huge = (uintptr_t)2 << 20;
    if (surely_used < 2 * huge)
        return;
    uintptr_t first = ((uintptr_t)block + page - 1) & ~(page - 1), end = ((uintptr_t)block + size) & ~(page - 1);
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)block, (void)size, (void)surely_used;
#endif
}

static void add_block_of(arena *a, size_t size, size_t need)
{
    /* Not calloc(): memory is zeroed when it is allocated from the block, so unused pages are never touched. */
    arena_block *b = malloc(sizeof *b + size);
    if (!b)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory after %zu bytes", a->used_bytes);
    ask_for_huge_pages(b, size, a->used_bytes + need);
    b->older = a->head;
    a->head = b;
}

/* Blocks grow with the arena, so that large models need few mallocs and small ones waste little. */
static void add_block(arena *a, size_t need)
{
    size_t size = a->used_bytes / 2;
    if (size < a->block_bytes)
        size = a->block_bytes;
    if (size > a->cap_bytes - a->used_bytes)
        size = a->cap_bytes - a->used_bytes;
    if (size < need)
        size = need;
    add_block_of(a, size, need);
    a->next = a->head->memory;
    a->end = a->next + size;
}

void *arena_room_slow(arena *a, size_t count, size_t size)
{
    size_t exact;
    if (__builtin_mul_overflow(count, size, &exact) || exact > SIZE_MAX - ARENA_ALIGN)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "an allocation of %zu times %zu bytes is too large", count, size);
    size_t bytes = (exact + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (bytes > a->cap_bytes - a->used_bytes)
        fail_with(a->fail, SOOTH_ERROR_INPUT,
                  "the graph needs more than %zu MiB of memory; it is larger than any real network",
                  a->cap_bytes >> 20);
    if (IS_CHECKED) {
        add_block_of(a, exact, exact);
        a->used_bytes += bytes;
        return a->head->memory;
    }
    if (!a->next || bytes > (size_t)(a->end - a->next))
        add_block(a, bytes);
    void *p = a->next;
    a->next += bytes;
    a->used_bytes += bytes;
    return p;
}

void *arena_alloc(arena *a, size_t count, size_t size)
{
    void *p = arena_room(a, count, size);
    memset(p, 0, count * size);
    return p;
}

enum { FEW_BYTES = 64 };

void *arena_copy(arena *a, const void *from, size_t count, size_t size)
{
    char *p = arena_room(a, count, size);
    size_t bytes = count * size;
    if (bytes <= FEW_BYTES && bytes % 8 == 0) /* For a few dimensions, calling memcpy would take longer than copying. */
        for (size_t i = 0; i < bytes; i += 8)
            memcpy(p + i, (const char *)from + i, 8);
    else if (count)
        memcpy(p, from, bytes);
    return p;
}

str arena_printf(arena *a, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return arena_str(a, (str){text, len});
}

static void resize(arena *a, void **array, int32_t count, int32_t *capacity, int32_t larger, size_t size)
{
    char *p = arena_room(a, (size_t)larger, size);
    if (count)
        memcpy(p, *array, (size_t)count * size);
    *array = p;
    *capacity = larger;
}

void arena_reserve(arena *a, void **array, const int32_t *count, int32_t *capacity, size_t more, size_t size)
{
    if (more > (size_t)(INT32_MAX - *count))
        fail_with(a->fail, SOOTH_ERROR_INPUT, "more than %d elements in one list", INT32_MAX);
    int32_t need = *count + (int32_t)more;
    if (need <= *capacity)
        return;
    /* Doubles an existing list at least, so that many small reservations do not copy it each time. */
    int32_t doubled = *capacity > INT32_MAX / 2 ? INT32_MAX : *capacity * 2;
    resize(a, array, *count, capacity, need > doubled ? need : doubled, size);
}

void arena_grow(arena *a, void **array, int32_t count, int32_t *capacity, size_t size)
{
    if (*capacity > INT32_MAX / 2)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "more than %d elements in one list", *capacity);
    resize(a, array, count, capacity, *capacity ? *capacity * 2 : 16, size);
}
