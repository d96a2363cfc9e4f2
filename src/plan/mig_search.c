/* mig_search.c: finds the layout with the fewest GPUs.
 *    1. Profiles dominated by another acceptable one are dropped; demands with the same remaining profiles form a
 *      class.
 *    2. All sets of slices that fit one GPU are listed once, as counts per class (a few hundred on an A100). The
 *      maximal ones are the patterns.
 *    3. A search finds the fewest patterns that cover all instances, starting from a lower bound. It tries each pattern
 *      with the first uncovered class, and remembers the uncovered instances of failures.
 *    4. The chosen patterns are placed, and instances are assigned to their slices. */
#include "plan/mig_search.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_CLASSES = 32, MAX_PATTERNS = 20000, MEMO_SLOTS = 1 << 16, MEMO_TRIES = 8 };
/* Limit of the slices tried while patterns are listed. Real GPUs need a few thousand; this bounds the time for
 * invented tables. */
static const int64_t MOST_STEPS = 5000000;

typedef struct pattern {
    uint8_t counts[MAX_CLASSES];
} pattern;

/* A set of uncovered instances that `gpus` GPUs cannot cover. */
typedef struct memo {
    uint16_t left[MAX_CLASSES];
    int32_t gpus; /* 0: free slot */
} memo;

typedef struct search {
    const mig_table *table;
    arena *arena;
    uint32_t classes[MAX_CLASSES]; /* acceptable profiles of each class, those with the largest slices first */
    int32_t class_count;
    int32_t class_of[MIG_MAX_DEMANDS];
    int32_t size[MAX_CLASSES], compute[MAX_CLASSES]; /* smallest slots and compute slices among the class's profiles */
    int32_t needed[MAX_CLASSES];
    struct {
        pattern *items;
        int32_t count, capacity;
    } patterns;
    uint8_t most[MAX_CLASSES]; /* largest number of instances in any pattern */
    int64_t steps;
    bool is_cut; /* A limit cut the search short, so the result may not be optimal. */
    memo *memo;
    int32_t *taken; /* pattern chosen for each GPU */
    int64_t nodes;
    bool stopped, is_bounded;
    double began_s, shown_s, limit_s;
    int32_t tried, best; /* current GPU count and best known one, for the progress callback */
    const mig_search_options *options;
} search;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- one GPU ----------------------------------------------------------------------------------------------------- */

static uint32_t places_of(const mig_profile *p, int32_t start)
{
    return (uint32_t)(((1ULL << p->size) - 1) << start);
}

bool mig_is_legal(const mig_table *table, const mig_gpu *gpu)
{
    uint32_t used = 0;
    int32_t compute = 0, of_profile[MIG_MAX_PROFILES] = {0};
    for (int32_t i = 0; i < gpu->count; i++) {
        const mig_slice *s = &gpu->slices[i];
        const mig_profile *p = &table->profiles[s->profile];
        if (!(p->starts & 1U << s->start) || used & places_of(p, s->start) || ++of_profile[s->profile] > p->most)
            return false;
        used |= places_of(p, s->start);
        compute += p->compute;
    }
    return compute <= table->compute;
}

typedef struct placing {
    search *s;
    uint8_t left[MAX_CLASSES];
    int32_t of_profile[MIG_MAX_PROFILES];
    mig_gpu *gpu;
} placing;

/* Places an instance of the next class. Instances of a class are interchangeable, so each has the same or a later
 * profile than the one before, and starts after it if the profile is the same. */
static bool place_rest(placing *p, uint32_t used, int32_t compute, int32_t last_class, int32_t last_profile,
                       int32_t last_start)
{
    const mig_table *t = p->s->table;
    int32_t c = last_class;
    while (c < p->s->class_count && !p->left[c])
        c++;
    if (c == p->s->class_count)
        return true;
    bool is_same = c == last_class;
    for (int32_t i = is_same ? last_profile : 0; i < t->profile_count; i++) {
        const mig_profile *profile = &t->profiles[i];
        if (!(p->s->classes[c] & 1U << i) || p->of_profile[i] == profile->most ||
            compute + profile->compute > t->compute)
            continue;
        for (int32_t at = is_same && i == last_profile ? last_start + 1 : 0; at + profile->size <= t->slots; at++) {
            if (!(profile->starts & 1U << at) || used & places_of(profile, at))
                continue;
            if (++p->s->steps > MOST_STEPS) {
                p->s->is_cut = true;
                return false;
            }
            p->left[c]--;
            p->of_profile[i]++;
            p->gpu->slices[p->gpu->count++] = (mig_slice){c, i, at};
            if (place_rest(p, used | places_of(profile, at), compute + profile->compute, c, i, at))
                return true;
            p->gpu->count--;
            p->of_profile[i]--;
            p->left[c]++;
        }
    }
    return false;
}

/* Places counts[c] instances of each class c on one GPU; false if they do not fit. */
static bool place(search *s, const uint8_t *counts, mig_gpu *gpu)
{
    placing p = {.s = s, .gpu = gpu};
    int32_t all = 0;
    for (int32_t c = 0; c < s->class_count; c++) {
        p.left[c] = counts[c];
        all += counts[c];
    }
    gpu->count = 0;
    return all <= s->table->slots && place_rest(&p, 0, 0, 0, 0, -1);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* True if profile a dominates b: a fits wherever b fits, takes no more slots and compute, and has no tighter limit
 * on its number. */
static bool is_never_worse(const mig_table *t, const mig_profile *a, const mig_profile *b)
{
    if (a->compute > b->compute || a->most < mig_room_for(a, t->slots))
        return false;
    for (int32_t at = 0; at < MIG_MAX_SLOTS; at++) {
        if (!(b->starts & 1U << at))
            continue;
        bool found = false;
        for (int32_t inner = at; inner + a->size <= at + b->size && !found; inner++)
            found = a->starts & 1U << inner;
        if (!found)
            return false;
    }
    return true;
}

static uint32_t without_worse(const mig_table *t, uint32_t profiles)
{
    uint32_t kept = profiles;
    for (int32_t b = 0; b < t->profile_count; b++)
        for (int32_t a = 0; a < t->profile_count && kept & 1U << b; a++)
            if (a != b && kept & 1U << a && is_never_worse(t, &t->profiles[a], &t->profiles[b]))
                kept &= ~(1U << b);
    return kept;
}

static int32_t least_size(const mig_table *t, uint32_t profiles, bool of_compute)
{
    int32_t least = INT32_MAX;
    for (int32_t i = 0; i < t->profile_count; i++) {
        int32_t x = of_compute ? t->profiles[i].compute : t->profiles[i].size;
        if (profiles & 1U << i && x < least)
            least = x;
    }
    return least;
}

/* Sorts larger slices first, because they leave the fewest choices. */
static void make_classes(search *s, const mig_demand *demands, int32_t count)
{
    const mig_table *t = s->table;
    uint32_t sets[MIG_MAX_DEMANDS];
    for (int32_t d = 0; d < count; d++) {
        sets[d] = without_worse(t, demands[d].profiles);
        bool is_new = demands[d].count > 0;
        for (int32_t c = 0; c < s->class_count && is_new; c++)
            is_new = s->classes[c] != sets[d];
        if (!is_new || s->class_count == MAX_CLASSES)
            continue;
        int32_t at = s->class_count++;
        for (; at > 0 && least_size(t, s->classes[at - 1], false) * 64 + least_size(t, s->classes[at - 1], true) <
                             least_size(t, sets[d], false) * 64 + least_size(t, sets[d], true);
             at--)
            s->classes[at] = s->classes[at - 1];
        s->classes[at] = sets[d];
    }
    for (int32_t c = 0; c < s->class_count; c++) {
        s->size[c] = least_size(t, s->classes[c], false);
        s->compute[c] = least_size(t, s->classes[c], true);
    }
    for (int32_t d = 0; d < count; d++)
        for (int32_t c = 0; c < s->class_count; c++)
            if (s->classes[c] == sets[d]) {
                s->class_of[d] = c;
                s->needed[c] += demands[d].count;
            }
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

/* True if no uncovered instance can be added. */
static bool is_full(search *s, pattern *p)
{
    mig_gpu gpu;
    bool full = true;
    for (int32_t c = 0; c < s->class_count && full; c++) {
        if (p->counts[c] >= s->needed[c])
            continue;
        p->counts[c]++;
        full = !place(s, p->counts, &gpu);
        p->counts[c]--;
    }
    return full;
}

static void keep_pattern(search *s, const pattern *p)
{
    s->is_cut = s->is_cut || s->patterns.count >= MAX_PATTERNS;
    if (s->patterns.count >= MAX_PATTERNS)
        return;
    *(pattern *)ARENA_PUSH(s->arena, &s->patterns) = *p;
    for (int32_t c = 0; c < s->class_count; c++)
        if (p->counts[c] > s->most[c])
            s->most[c] = p->counts[c];
}

/* Lists the patterns with the given counts of the classes before c; recurses over the counts of c. At most 32
 * classes and 16 slots bound the recursion. */
static void list_patterns(search *s, pattern *p, int32_t c)
{
    mig_gpu gpu;
    if (s->is_cut)
        return;
    if (c == s->class_count) {
        if (is_full(s, p))
            keep_pattern(s, p);
        return;
    }
    for (p->counts[c] = 0; p->counts[c] <= s->needed[c] && place(s, p->counts, &gpu); p->counts[c]++)
        list_patterns(s, p, c + 1);
    p->counts[c] = 0;
}

/* Lists the patterns of a single class, largest class first, so that every instance has a pattern even if the other
 * lists are cut. */
static void list_single_patterns(search *s)
{
    for (int32_t c = 0; c < s->class_count; c++) {
        mig_gpu gpu;
        pattern p = {{0}};
        while (p.counts[c] < s->needed[c] && p.counts[c] < s->table->slots) {
            p.counts[c]++;
            s->steps = 0;
            if (place(s, p.counts, &gpu))
                continue;
            p.counts[c]--;
            break;
        }
        keep_pattern(s, &p);
    }
    s->steps = 0;
}

/* Sorts patterns with more of the largest class first; classes are already sorted by size. */
static int by_weight(const void *a, const void *b)
{
    const pattern *x = a, *y = b;
    return memcmp(y->counts, x->counts, sizeof x->counts);
}

/* ---- covering ---------------------------------------------------------------------------------------------------- */

static int32_t divided_up(int64_t a, int64_t b)
{
    return b > 0 ? (int32_t)((a + b - 1) / b) : 0;
}

/* Lower bound on the number of GPUs: by slots, by compute slices, and by the instances of one class per GPU. */
static int32_t bound_of(const search *s, const int32_t *left)
{
    int64_t places = 0, compute = 0;
    int32_t bound = 0;
    for (int32_t c = 0; c < s->class_count; c++) {
        places += (int64_t)left[c] * s->size[c];
        compute += (int64_t)left[c] * s->compute[c];
        int32_t alone = divided_up(left[c], s->most[c]);
        bound = alone > bound ? alone : bound;
    }
    int32_t by_places = divided_up(places, s->table->slots), by_compute = divided_up(compute, s->table->compute);
    bound = by_places > bound ? by_places : bound;
    return by_compute > bound ? by_compute : bound;
}

static memo *memo_of(const search *s, const int32_t *left, bool *is_known)
{
    memo key = {.gpus = 0};
    uint64_t hash = 1469598103934665603u;
    for (int32_t c = 0; c < s->class_count; c++) {
        key.left[c] = (uint16_t)left[c];
        hash = (hash ^ (uint64_t)left[c]) * 1099511628211u;
    }
    memo *slot = NULL;
    *is_known = false;
    for (uint64_t i = 0; i < MEMO_TRIES; i++) {
        slot = &s->memo[((hash ^ hash >> 29) + i) & (MEMO_SLOTS - 1)];
        if (!slot->gpus)
            break;
        if (memcmp(slot->left, key.left, sizeof key.left) == 0) {
            *is_known = true;
            return slot;
        }
    }
    if (!slot->gpus) /* if all probed slots are taken, the last one is replaced */
        memcpy(slot->left, key.left, sizeof key.left);
    return slot;
}

static bool is_over(search *s)
{
    static const int64_t MOST_NODES = 20000000; /* real tables with eight GPUs take thousands */
    if (s->nodes > MOST_NODES)
        s->stopped = true;
    if (!s->is_bounded || s->nodes % 256)
        return s->stopped;
    double now = now_s();
    if (now - s->began_s > s->limit_s)
        s->stopped = true;
    if (s->options->progress && now - s->shown_s > 0.2) {
        s->shown_s = now;
        if (!s->options->progress(s->options->context, s->tried, s->best, now - s->began_s))
            s->stopped = true;
    }
    return s->stopped;
}

/* True if pattern a covers at least as many remaining instances of every class as pattern b. */
static bool takes_more(const search *s, const pattern *a, const pattern *b, const int32_t *left)
{
    for (int32_t c = 0; c < s->class_count; c++) {
        int32_t of_a = a->counts[c] < left[c] ? a->counts[c] : left[c];
        int32_t of_b = b->counts[c] < left[c] ? b->counts[c] : left[c];
        if (of_a < of_b)
            return false;
    }
    return true;
}

/* Covers the remaining instances with `gpus` more patterns and stores the first in taken[depth]. */
static bool cover(search *s, const int32_t *left, int32_t depth, int32_t gpus)
{
    s->nodes++;
    int32_t first = 0;
    while (first < s->class_count && !left[first])
        first++;
    if (first == s->class_count) {
        s->tried = depth; /* number of GPUs that sufficed */
        return true;
    }
    if (bound_of(s, left) > gpus || is_over(s))
        return false;
    bool is_known;
    memo *known = memo_of(s, left, &is_known);
    if (is_known && known->gpus >= gpus)
        return false;
    for (int32_t i = 0; i < s->patterns.count && !s->stopped; i++) {
        const pattern *p = &s->patterns.items[i];
        if (!p->counts[first])
            continue;
        bool is_worse = false; /* an earlier, failed pattern covers at least as much */
        for (int32_t k = 0; k < i && !is_worse; k++)
            is_worse = s->patterns.items[k].counts[first] && takes_more(s, &s->patterns.items[k], p, left);
        if (is_worse)
            continue;
        int32_t rest[MAX_CLASSES];
        for (int32_t c = 0; c < s->class_count; c++)
            rest[c] = left[c] > p->counts[c] ? left[c] - p->counts[c] : 0;
        s->taken[depth] = i;
        if (cover(s, rest, depth + 1, gpus - 1))
            return true;
    }
    if (!s->stopped) {
        known = memo_of(s, left, &is_known); /* deeper levels may have replaced the slot */
        if (!is_known || known->gpus < gpus) {
            for (int32_t c = 0; c < s->class_count; c++)
                known->left[c] = (uint16_t)left[c];
            known->gpus = gpus;
        }
    }
    return false;
}

/* Greedy cover: repeatedly takes the pattern that covers the most remaining slots. Returns the number of patterns. */
static int32_t cover_greedily(search *s, int32_t *taken)
{
    int32_t left[MAX_CLASSES], gpus = 0;
    memcpy(left, s->needed, sizeof left);
    for (;;) {
        int32_t best = -1;
        int64_t best_places = 0;
        for (int32_t i = 0; i < s->patterns.count; i++) {
            int64_t places = 0;
            for (int32_t c = 0; c < s->class_count; c++) {
                int32_t n = s->patterns.items[i].counts[c] < left[c] ? s->patterns.items[i].counts[c] : left[c];
                places += (int64_t)n * (s->size[c] * 64 + s->compute[c]);
            }
            if (places > best_places) {
                best_places = places;
                best = i;
            }
        }
        if (best < 0)
            return gpus;
        for (int32_t c = 0; c < s->class_count; c++) {
            int32_t n = s->patterns.items[best].counts[c];
            left[c] = left[c] > n ? left[c] - n : 0;
        }
        taken[gpus++] = best;
    }
}

/* ---- the layout -------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    return ((const mig_slice *)a)->start - ((const mig_slice *)b)->start;
}

/* Assigns the slices of a class to its demands in order. */
static void hand_out(search *s, const mig_demand *demands, int32_t demand_count, mig_layout *layout)
{
    int32_t left[MAX_CLASSES], *of_demand = ARENA_ARRAY(s->arena, int32_t, (size_t)demand_count + 1);
    memcpy(left, s->needed, sizeof left);
    for (int32_t d = 0; d < demand_count; d++)
        of_demand[d] = demands[d].count;
    for (int32_t g = 0; g < layout->gpu_count; g++) {
        uint8_t counts[MAX_CLASSES] = {0};
        const pattern *p = &s->patterns.items[s->taken[g]];
        for (int32_t c = 0; c < s->class_count; c++) {
            counts[c] = (uint8_t)(p->counts[c] < left[c] ? p->counts[c] : left[c]);
            left[c] -= counts[c];
        }
        mig_gpu *gpu = &layout->gpus[g];
        s->steps = INT64_MIN / 2; /* the same placement succeeded before */
        place(s, counts, gpu);
        qsort(gpu->slices, (size_t)gpu->count, sizeof *gpu->slices, by_start);
        for (int32_t i = 0; i < gpu->count; i++) {
            int32_t class = gpu->slices[i].demand, d = 0;
            while (d < demand_count - 1 && !(s->class_of[d] == class && of_demand[d]))
                d++;
            of_demand[d]--;
            gpu->slices[i].demand = d;
        }
    }
}

mig_layout mig_search(const mig_table *table, const mig_demand *demands, int32_t demand_count,
                      const mig_search_options *options, arena *a)
{
    static const mig_search_options NO_OPTIONS = {0};
    search *s = ARENA_NEW(a, search);
    int32_t instances = 0;
    s->table = table;
    s->arena = a;
    s->options = options ? options : &NO_OPTIONS;
    s->limit_s = s->options->time_limit_s > 0 ? s->options->time_limit_s : 10;
    make_classes(s, demands, demand_count);
    for (int32_t c = 0; c < s->class_count; c++)
        instances += s->needed[c];
    mig_layout layout = {0};
    if (!instances)
        return layout;
    pattern none = {{0}};
    list_single_patterns(s);
    list_patterns(s, &none, 0);
    qsort(s->patterns.items, (size_t)s->patterns.count, sizeof *s->patterns.items, by_weight);
    s->memo = ARENA_ARRAY(a, memo, MEMO_SLOTS);
    s->taken = ARENA_ARRAY(a, int32_t, (size_t)instances + 1);
    int32_t *greedy = ARENA_ARRAY(a, int32_t, (size_t)instances + 1);
    s->best = cover_greedily(s, greedy);
    int32_t least = bound_of(s, s->needed), exact = s->options->exact_gpus > 0 ? s->options->exact_gpus : 8;
    s->is_bounded = s->best > exact;
    s->began_s = s->shown_s = now_s();
    bool found = false;
    while (least < s->best && !s->stopped) {
        s->tried = least;
        found = cover(s, s->needed, 0, least);
        if (found || s->stopped)
            break;
        least++;
    }
    if (!found)
        memcpy(s->taken, greedy, (size_t)s->best * sizeof *greedy);
    layout.gpu_count = found ? s->tried : s->best;
    layout.least = found ? layout.gpu_count : least;
    if (s->is_cut) {
        int64_t places = 0;
        for (int32_t c = 0; c < s->class_count; c++)
            places += (int64_t)s->needed[c] * s->size[c];
        layout.least = divided_up(places, table->slots);
    }
    layout.nodes = s->nodes;
    layout.gpus = ARENA_ARRAY(a, mig_gpu, (size_t)layout.gpu_count);
    hand_out(s, demands, demand_count, &layout);
    for (int32_t i = 0; i < layout.gpu_count; i++)
        assert(mig_is_legal(table, &layout.gpus[i]));
    return layout;
}
