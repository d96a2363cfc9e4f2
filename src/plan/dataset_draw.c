/* dataset_draw.c: draws the graphs of a plan. Tries the candidates of a family in random order without repetition.
 * Takes every candidate that can be built and has a new fingerprint. */
#include "plan/dataset.h"

#include <math.h>
#include <stdlib.h>

/* ---- a random order of 0 … count - 1 without a table: a bijection of k bits; numbers beyond the count are skipped  */

typedef struct shuffle {
    uint64_t count, mask, keys[4];
    int half; /* half of the number of bits */
    uint64_t next;
} shuffle;

static uint64_t next_key(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static shuffle shuffle_of(uint64_t count, uint64_t seed)
{
    shuffle s = {.count = count};
    int bits = 1;
    while (bits < 63 && (uint64_t)1 << bits < count)
        bits++;
    s.mask = ((uint64_t)1 << bits) - 1;
    s.half = bits / 2 ? bits / 2 : 1;
    for (size_t i = 0; i < sizeof s.keys / sizeof *s.keys; i++)
        s.keys[i] = next_key(&seed) | 1;
    return s;
}

/* Returns false if there are no more. */
static bool shuffle_next(shuffle *s, uint64_t *number)
{
    while (s->next <= s->mask) {
        uint64_t x = s->next++;
        /* Every step can be undone, so this is a bijection. */
        for (size_t i = 0; i < sizeof s->keys / sizeof *s->keys; i++) {
            x = x * s->keys[i] & s->mask;
            x ^= x >> s->half;
        }
        if (x < s->count) {
            *number = x;
            return true;
        }
    }
    return false;
}

/* ---- fingerprints that are taken --------------------------------------------------------------------------------- */

typedef struct taken {
    uint64_t *slots; /* 0 marks a free slot */
    size_t mask;
} taken;

/* Adds the fingerprint; false if it is already in the set. */
static bool take(taken *t, uint64_t fingerprint)
{
    fingerprint = fingerprint ? fingerprint : 1;
    size_t slot = (size_t)fingerprint & t->mask;
    while (t->slots[slot] && t->slots[slot] != fingerprint)
        slot = (slot + 1) & t->mask;
    bool is_new = !t->slots[slot];
    t->slots[slot] = fingerprint;
    return is_new;
}

/* ---- fingerprints ------------------------------------------------------------------------------------------------ */

/* Returns 0 if the network cannot be built. */
static uint64_t fingerprint_of(sooth_model *model, const sooth_options *dims, arena *scratch, fail *f)
{
    if (setjmp(f->jump) || sooth_bind(model, dims, f->error) != SOOTH_OK)
        return 0;
    set_graph g = set_graph_of(model, scratch);
    return set_fingerprint(&g);
}

static void put_fingerprints(const char *spec, const sooth_options *dims, const int64_t *batches, size_t count,
                             bytes *b)
{
    sooth_error error = {.code = SOOTH_OK};
    fail f = {.error = &error};
    arena scratch;
    sooth_model *model = NULL;
    arena_init(&scratch, &f, ARENA_GIB(4));
    sooth_status status = sooth_load_file(spec, &model, &error);
    for (size_t i = 0; i < count; i++) {
        sooth_options bound = *dims;
        bound.batch = batches[i];
        bytes_whole(b, status == SOOTH_OK ? (int64_t)fingerprint_of(model, &bound, &scratch, &f) : 0);
    }
    bytes_str(b, str_of(error.code == SOOTH_OK ? "" : error.message));
    sooth_free(model);
    arena_free(&scratch);
}

/* ---- one family -------------------------------------------------------------------------------------------------- */

typedef struct drawing {
    const study_family *family;
    const set_drawing *how;
    set_items *items;
    arena *arena;
    fail *fail;
    taken *taken;
    uint64_t *numbers; /* candidates of the current round */
    int64_t drawn;
    size_t wanted;   /* number of graphs in the whole plan */
    bool failed;     /* `error` has the reason */
    const char *why; /* reason of the first candidate that cannot be built */
} drawing;

/* For use in threads: a failure goes to an error of its own. */
static bool spec_of(const drawing *d, uint64_t number, char spec[SPACE_GRAPH_ROOM])
{
    sooth_error error;
    fail f = {.error = &error};
    if (setjmp(f.jump))
        return false;
    genes g = space_candidate(d->family->space, number);
    space_graph(d->family->space, &g, spec, &f);
    return true;
}

static void compute(void *context, size_t item, size_t worker, bytes *result)
{
    const drawing *d = context;
    char spec[SPACE_GRAPH_ROOM];
    sooth_dim_binding bindings[SPACE_MAX_CHOICES];
    sooth_options dims;
    (void)worker;
    genes g = space_candidate(d->family->space, d->numbers[item]);
    study_bind(d->family->space, &g, 1, &dims, bindings);
    if (!spec_of(d, d->numbers[item], spec)) {
        bytes_whole(result, 0);
        bytes_str(result, STR("its name is too long"));
        return;
    }
    put_fingerprints(spec, &dims, &dims.batch, 1, result);
}

static void add_item(drawing *d, uint64_t number, uint64_t fingerprint)
{
    const space *s = d->family->space;
    arena *a = d->arena;
    char spec[SPACE_GRAPH_ROOM];
    sooth_dim_binding bindings[SPACE_MAX_CHOICES];
    sooth_options dims;
    genes g = space_candidate(s, number);
    study_bind(s, &g, 1, &dims, bindings);
    space_graph(s, &g, spec, d->fail);
    set_item *item = ARENA_PUSH(a, d->items);
    *item = (set_item){
        .name = arena_printf(a, "%.*s-%05lld", STR_ARG(d->family->name), (long long)++d->drawn).ptr,
        .family = d->family->family.ptr,
        .spec = arena_str(a, str_of(spec)).ptr,
        .batches = arena_copy(a, &dims.batch, 1, sizeof dims.batch),
        .batch_count = 1,
        .dims = dims.dim_count ? arena_copy(a, bindings, dims.dim_count, sizeof *bindings) : NULL,
        .dim_count = dims.dim_count,
        .fingerprint = fingerprint,
    };
}

/* Results arrive in the order of the shuffle, so the number of threads does not change what is drawn. */
static void take_result(drawing *d, size_t item, str result)
{
    uint64_t fingerprint = (uint64_t)bytes_take_whole(&result);
    str why = bytes_take_str(&result);
    if (!fingerprint && !d->why)
        d->why = arena_str(d->arena, why).ptr;
    if (fingerprint && take(d->taken, fingerprint))
        add_item(d, d->numbers[item], fingerprint);
    if (d->how->progress && d->items->count % 64 == 0)
        d->how->progress(d->how->context, (size_t)d->items->count, d->wanted);
}

/* Must not longjmp, because threads are still running. */
static bool consume(void *context, size_t item, str result)
{
    drawing *d = context;
    fail outer = *d->fail;
    if (!setjmp(d->fail->jump))
        take_result(d, item, result);
    else
        d->failed = true;
    *d->fail = outer;
    return !d->failed && d->drawn < d->family->count;
}

enum { ROUND = 4096 };

static void draw_family(drawing *d, uint64_t seed)
{
    const study_family *family = d->family;
    if (!family->count)
        fail_with(d->fail, SOOTH_ERROR_INPUT,
                  "the family '%.*s' of the plan has no count of graphs to draw: add 'count = N'",
                  STR_ARG(family->name));
    if (family->space->candidates > 0x1p62)
        fail_with(d->fail, SOOTH_ERROR_INPUT, "the family '%.*s' has %.3g combinations, more than can be counted",
                  STR_ARG(family->name), family->space->candidates);
    shuffle order = shuffle_of((uint64_t)family->space->candidates, seed);
    bool has_more = true;
    while (has_more && d->drawn < family->count) {
        size_t count = 0;
        while (count < ROUND && (has_more = shuffle_next(&order, &d->numbers[count])))
            count++;
        ordered_job job = {
            .end = count, .threads = d->how->threads, .context = d, .compute = compute, .consume = consume};
        bool is_done = ordered_run(&job);
        if (d->failed)
            longjmp(d->fail->jump, 1);
        if (!is_done && d->drawn < family->count)
            fail_with(d->fail, SOOTH_ERROR_SYSTEM, "out of memory or threads");
    }
    if (d->drawn < family->count)
        fail_with(d->fail, SOOTH_ERROR_INPUT,
                  "the family '%.*s' has %lld distinct graphs among its %.0f combinations; its count is %lld%s%s",
                  STR_ARG(family->name), (long long)d->drawn, family->space->candidates, (long long)family->count,
                  d->why ? "; the first that cannot be built: " : "", d->why ? d->why : "");
}

void set_draw(const study_plan *plan, const set_drawing *how, set_items *items, arena *a, fail *f)
{
    size_t wanted = 0;
    for (int32_t i = 0; i < plan->families.count; i++)
        wanted += (size_t)plan->families.items[i].count;
    taken t = {.mask = 1023};
    while (t.mask < wanted * 2)
        t.mask = t.mask * 2 + 1;
    t.slots = ARENA_ARRAY(a, uint64_t, t.mask + 1);
    drawing d = {.how = how, .items = items, .arena = a, .fail = f, .taken = &t, .wanted = wanted};
    d.numbers = ARENA_ARRAY(a, uint64_t, ROUND);
    ARENA_RESERVE(a, items, wanted);
    for (int32_t i = 0; i < plan->families.count; i++) {
        d.family = &plan->families.items[i];
        d.drawn = 0;
        d.why = NULL;
        draw_family(&d, plan->seed * 0x9e3779b97f4a7c15u + str_hash(d.family->name));
    }
    if (how->progress)
        how->progress(how->context, wanted, wanted);
}

/* ---- fingerprints of given items --------------------------------------------------------------------------------- */

typedef struct listing {
    const set_items *items;
    uint64_t **fingerprints;
} listing;

static void compute_listed(void *context, size_t item, size_t worker, bytes *result)
{
    const set_item *i = &((const listing *)context)->items->items[item];
    sooth_options dims = {.dims = i->dims, .dim_count = i->dim_count};
    (void)worker;
    put_fingerprints(i->spec, &dims, i->batches, i->batch_count, result);
}

static bool consume_listed(void *context, size_t item, str result)
{
    const listing *l = context;
    for (size_t b = 0; b < l->items->items[item].batch_count; b++)
        l->fingerprints[item][b] = (uint64_t)bytes_take_whole(&result);
    return true;
}

void set_fingerprints(const set_items *items, size_t threads, uint64_t **fingerprints, arena *a, fail *f)
{
    for (int32_t i = 0; i < items->count; i++)
        fingerprints[i] = ARENA_ARRAY(a, uint64_t, items->items[i].batch_count);
    listing l = {items, fingerprints};
    ordered_job job = {.end = (size_t)items->count,
                       .threads = threads,
                       .context = &l,
                       .compute = compute_listed,
                       .consume = consume_listed};
    if (!ordered_run(&job))
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory or threads");
}
