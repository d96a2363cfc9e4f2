/* memory.c: runs the requests of a program through the allocator. */
#include "memory/memory.h"

typedef struct player {
    const memory_question *question;
    const memory_requests *requests;
    memory_use *use;
    allocator *allocator;
    allocation *blocks; /* Indexed by storage. */
    bool is_last_step;
} player;

static allocation take(player *p, int64_t bytes)
{
    allocation block = allocator_take(p->allocator, bytes);
    p->use->fits &= block != NO_ALLOCATION;
    return block;
}

static void note(player *p, int32_t kernel_index)
{
    memory_use *u = p->use;
    int64_t now = allocator_allocated(p->allocator);
    if (p->is_last_step) {
        if (now > u->of_kernel[kernel_index])
            u->of_kernel[kernel_index] = now;
        u->reserved_of_kernel[kernel_index] = allocator_reserved(p->allocator);
    }
    if (now > u->allocated) {
        u->allocated = now;
        u->peak_kernel = kernel_index;
    }
}

static void work_in(player *p, int32_t kernel_index, int64_t bytes)
{
    /* If its workspace does not fit, PyTorch uses an algorithm with less workspace. */
    allocation room = bytes > 0 ? allocator_take(p->allocator, bytes) : NO_ALLOCATION;
    note(p, kernel_index);
    if (room != NO_ALLOCATION)
        allocator_give(p->allocator, room);
}

static void run(player *p, int32_t kernel_index)
{
    const kernel_workspace none = {0},
                           *rooms = p->question->workspaces ? &p->question->workspaces[kernel_index] : &none;
    work_in(p, kernel_index, rooms->first);
    if (rooms->second > 0)
        work_in(p, kernel_index, rooms->second);
}

/* Runs requests until all are done or one fails. Returns the number of completed requests. */
static int32_t play(player *p)
{
    const memory_requests *of = p->requests;
    allocation beside = NO_ALLOCATION;
    for (int32_t i = 0; i < of->count; i++) {
        request r = of->items[i];
        allocation before;
        switch (r.kind) {
        case REQUEST_TAKE:
            p->blocks[r.index] = take(p, of->lifetimes[r.index].bytes);
            break;
        case REQUEST_RENEW:
            before = p->blocks[r.index];
            p->blocks[r.index] = take(p, of->lifetimes[r.index].bytes);
            allocator_give(p->allocator, before);
            break;
        case REQUEST_GIVE:
            allocator_give(p->allocator, p->blocks[r.index]);
            break;
        case REQUEST_TAKE_BESIDE:
            beside = take(p, of->beside_bytes[r.index]);
            break;
        case REQUEST_GIVE_BESIDE:
            allocator_give(p->allocator, beside);
            break;
        case REQUEST_PRODUCTS: /* Kept. */
            if (p->question->product_workspace_bytes > 0)
                take(p, p->question->product_workspace_bytes);
            break;
        case REQUEST_RUN:
            run(p, r.index);
            break;
        case REQUEST_EMPTY:
            allocator_empty_cache(p->allocator);
            break;
        case REQUEST_LAST_STEP:
            p->is_last_step = true;
            break;
        }
        if (!p->use->fits)
            return i;
    }
    return of->count;
}

static void sum_parts(const memory_requests *of, memory_use *u)
{
    int32_t at = u->peak_kernel;
    memcpy(u->parts, of->parts_before, sizeof u->parts);
    for (int32_t i = 0; i < of->made.count; i++) {
        const held_storage *s = &of->made.items[i];
        u->parts[s->part] += ((s->birth <= at) & (s->death >= at)) ? s->bytes : 0;
    }
    int64_t sum = 0;
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        sum += u->parts[i];
    u->parts[MEMORY_WORKSPACE] = u->allocated > sum ? u->allocated - sum : 0;
}

memory_use *memory_of(const memory_question *q, arena *a, arena *scratch)
{
    const memory_requests *of = q->requests;
    size_t kernels = (size_t)of->kernel_count + 1;
    memory_use *u = ARENA_NEW(a, memory_use);
    u->fits = allocator_reserved(of->start) <= q->limit_bytes;
    u->failed_kernel = -1;
    u->requests = of;
    u->of_kernel = ARENA_ARRAY(a, int64_t, kernels);
    u->reserved_of_kernel = ARENA_ARRAY(a, int64_t, kernels);
    player p = {.question = q,
                .requests = of,
                .use = u,
                .allocator = allocator_copy(scratch, of->start, q->limit_bytes),
                .blocks = arena_copy(scratch, of->start_blocks, (size_t)of->storage_count, sizeof(allocation))};
    int32_t played = u->fits ? play(&p) : 0;
    for (int32_t i = played; i < of->count && u->failed_kernel < 0; i++)
        if (played > 0 && of->items[i].kind == REQUEST_RUN)
            u->failed_kernel = of->items[i].index;
    u->reserved = allocator_peak_reserved(p.allocator);
    sum_parts(of, u);
    return u;
}
