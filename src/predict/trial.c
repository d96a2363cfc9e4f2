#include "predict/trial.h"

void memory_trial_keep(memory_trial *t, const footprint *f, const footprint_basis *basis, const setting *where,
                       const kernel_workspace *workspaces, arena *a)
{
    const memory_requests *r = basis->requests;
    t->footprint = *f;
    t->footprint.use = NULL;
    t->where = *where;
    t->where.device = arena_copy(a, where->device, 1, sizeof *where->device);
    t->basis = *basis;
    t->requests = *r;
    t->requests.start = NULL;
    t->requests.start_blocks = NULL;
    t->requests.made.items = NULL;
    t->requests.made.count = t->requests.made.capacity = 0;
    t->requests.items = arena_copy(a, r->items, (size_t)r->count, sizeof *r->items);
    t->requests.lifetimes = arena_copy(a, r->lifetimes, (size_t)r->storage_count, sizeof *r->lifetimes);
    t->requests.beside_bytes = arena_copy(a, r->beside_bytes, (size_t)r->beside_count, sizeof *r->beside_bytes);
    t->workspaces = arena_copy(a, workspaces, (size_t)r->kernel_count, sizeof *workspaces);
}

/* ---- a batch beside two others ----------------------------------------------------------------------------------- */

typedef struct line {
    double share; /* Interpolation weight between the two trials; negative or above 1 for batches outside them. */
} line;

static int64_t on_line(line l, int64_t first, int64_t second)
{
    if (first == second)
        return first;
    double at = (double)first + l.share * (double)(second - first); /* Exact up to 2^53. */
    return at > 0 ? (int64_t)(at + 0.5) : 0;
}

static bool has_same_requests(const memory_requests *a, const memory_requests *b)
{
    if (a->count != b->count || a->storage_count != b->storage_count || a->kernel_count != b->kernel_count ||
        a->beside_count != b->beside_count || memcmp(a->items, b->items, (size_t)a->count * sizeof *a->items) != 0)
        return false;
    for (int32_t i = 0; i < a->storage_count; i++)
        if (a->lifetimes[i].birth != b->lifetimes[i].birth || a->lifetimes[i].part != b->lifetimes[i].part)
            return false;
    return true;
}

static memory_requests requests_between(line l, const memory_requests *a, const memory_requests *b, arena *scratch)
{
    memory_requests r = *a;
    lifetime *lifetimes = arena_copy(scratch, a->lifetimes, (size_t)a->storage_count, sizeof *lifetimes);
    int64_t *beside = arena_room(scratch, (size_t)a->beside_count, sizeof *beside);
    for (int32_t i = 0; i < a->storage_count; i++)
        lifetimes[i].bytes = on_line(l, a->lifetimes[i].bytes, b->lifetimes[i].bytes);
    for (int32_t i = 0; i < a->beside_count; i++)
        beside[i] = on_line(l, a->beside_bytes[i], b->beside_bytes[i]);
    r.lifetimes = lifetimes;
    r.beside_bytes = beside;
    r.live_before = on_line(l, a->live_before, b->live_before);
    for (int i = 0; i <= PHASE_UPDATE; i++)
        r.live_peak[i] = on_line(l, a->live_peak[i], b->live_peak[i]);
    memory_requests_start(&r, scratch);
    return r;
}

bool memory_trial_between(const memory_trial *one, const memory_trial *other, int64_t batch, footprint *f,
                          arena *scratch)
{
    const memory_requests *a = &one->requests, *b = &other->requests;
    if (one->batch == other->batch || !has_same_requests(a, b))
        return false;
    line l = {(double)(batch - one->batch) / (double)(other->batch - one->batch)};
    memory_requests r = requests_between(l, a, b, scratch);
    footprint_basis basis = one->basis;
    basis.requests = &r;
    basis.limit = (limit_distance){0};
    kernel_workspace *workspaces = arena_room(scratch, (size_t)a->kernel_count, sizeof *workspaces);
    for (int32_t i = 0; i < a->kernel_count; i++)
        workspaces[i] = (kernel_workspace){on_line(l, one->workspaces[i].first, other->workspaces[i].first),
                                           on_line(l, one->workspaces[i].second, other->workspaces[i].second)};
    *f = footprint_of(&basis, &one->where, workspaces, NULL, NULL, scratch);
    f->use = NULL; /* A pointer to the local variable `r` would dangle. */
    return true;
}
