/* partition.c: decides what the forward part of a compiled training step keeps for its backward part. Follows the
 * min-cut partitioner of PyTorch 2.15 (torch/_functorch/partitioners.py): it finds the cheapest set of tensors from
 * which the backward part can compute everything it needs with operators that fuse into its own loops. */
#include "lower/aten.h"
#include "lower/fused/joint.h"

#include <math.h>

enum {
    FAR_AWAY = 1000000000,
    MOST_DISTANCE = 1000, /* max_dist_from_bw of torch/_functorch/config.py */
    MOST_WEIGHTED = 100,  /* Larger distances have no further effect. */
    LONG_CHAIN = 100,     /* Longest run of operators that may be recomputed without interruption. */
    SMALL_RESULT = 4,     /* A result this many times smaller than its operands is stored. */
    MOST_BETWEEN = 250,   /* Readers with more kernels between them do not share a computation. */
    MOST_EDGES = 4096,    /* An operator with more pairs of operands and results is a node of the cut. */
};

typedef struct partition {
    const joint *j;
    arena *arena;
    int32_t *user_start, *users; /* Indexed by storage: the kernels that read it, in order; no views. */
    int32_t *distance;           /* Indexed by kernel: operators between it and the backward part. */
    bool *is_banned;             /* Indexed by kernel: it may not be recomputed. */
    bool *has_other_writer;      /* Indexed by storage: several kernels write parts of it. */
    uint8_t *fusible;            /* Indexed by kernel: may_fuse(). */
} partition;

/* Storages that many kernels write have many readers for each of them: work that the writers have in common is done
 * once for writers that fuse, and once for others. */
enum { BY_FUSING = 2 };

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static const kernel *kernel_at(const partition *p, int32_t i)
{
    return &p->j->kernels.items[i];
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* True if a compiler may recompute the operator in the backward part. */
static bool recomputes(const kernel *k)
{
    const aten_op *op = aten_find(k->op);
    if (k->flags & (KERNEL_UNKNOWN | KERNEL_HIDDEN | KERNEL_IN_PLACE) || k->window)
        return false;
    if (op->flags & RECOMPUTED)
        return true;
    bool is_formula = op->compiled == COMPILED_FORMULA;
    return (is_formula && (op->group == WORK_POINTWISE || op->group == WORK_OTHER) &&
            strcmp(k->op, "bernoulli_") != 0) ||
           (op->compiled == COMPILED_REDUCTION && op->group == WORK_REDUCE);
}

static bool may_fuse(const kernel *k)
{
    return recomputes(k) || strcmp(k->op, "bernoulli_") == 0;
}

/* True if a loop of kernel `reader` may read what a loop of kernel `writer` computes. */
static bool fuses(const partition *p, int32_t writer, int32_t reader)
{
    return (p->fusible[writer] && p->fusible[reader]) || strcmp(kernel_at(p, reader)->op, "cat") == 0;
}

static bool is_view(const kernel *k)
{
    return k->flags & KERNEL_VIEW;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static bool is_in_parts(const partition *p, int32_t i)
{
    return p->j->place[i] <= JOINT_BACKWARD && !is_view(kernel_at(p, i));
}

static void index_users(partition *p)
{
    const joint *j = p->j;
    size_t storages = (size_t)j->p->storage_count + 2;
    int32_t *start = p->user_start = ARENA_ARRAY(p->arena, int32_t, storages);
    for (int32_t i = 0; i < j->kernels.count; i++)
        for (int n = 0; is_in_parts(p, i) && n < kernel_at(p, i)->input_count; n++)
            start[joint_storage(j, kernel_at(p, i)->inputs[n]) + 1]++;
    for (int32_t s = 0; s < j->p->storage_count; s++)
        start[s + 1] += start[s];
    int32_t *to = arena_copy(p->arena, start, storages - 1, sizeof *start);
    p->users = ARENA_ARRAY(p->arena, int32_t, (size_t)start[j->p->storage_count] + 1);
    p->has_other_writer = ARENA_ARRAY(p->arena, bool, storages);
    for (int32_t i = 0; i < j->kernels.count; i++) {
        for (int n = 0; is_in_parts(p, i) && n < kernel_at(p, i)->input_count; n++)
            p->users[to[joint_storage(j, kernel_at(p, i)->inputs[n])]++] = i;
        for (int n = 0; is_in_parts(p, i) && n < kernel_at(p, i)->output_count; n++) {
            int32_t s = joint_storage(j, kernel_at(p, i)->outputs[n]);
            p->has_other_writer[s] |= j->writer[s] != i;
        }
    }
}

static void find_distances(partition *p)
{
    const joint *j = p->j;
    p->distance = ARENA_ARRAY(p->arena, int32_t, (size_t)j->kernels.count + 1);
    /* Indexed by storage: the least distance of its readers that come later. */
    int32_t *nearest = ARENA_ARRAY(p->arena, int32_t, (size_t)j->p->storage_count + 1);
    for (int32_t s = 0; s < j->p->storage_count; s++)
        nearest[s] = FAR_AWAY;
    for (int32_t i = j->kernels.count - 1; i >= 0; i--) {
        const kernel *k = kernel_at(p, i);
        int32_t *own = &p->distance[i];
        if (!is_in_parts(p, i))
            continue;
        *own = j->place[i] == JOINT_FORWARD ? FAR_AWAY : 0;
        for (int n = 0; n < k->output_count && j->place[i] == JOINT_FORWARD; n++)
            *own = least(*own, nearest[joint_storage(j, k->outputs[n])]);
        for (int n = 0; n < k->input_count; n++) {
            int32_t *to = &nearest[joint_storage(j, k->inputs[n])];
            *to = least(*to, *own + 1);
        }
    }
}

/* ---- what must not be computed again ----------------------------------------------------------------------------- */

/* Marks storages that a later part reads without fusing: by whether their writer fuses. */
static void find_stored(const partition *p, bool (*is_stored)[BY_FUSING])
{
    for (int32_t s = 0; s < p->j->p->storage_count; s++)
        for (int32_t u = p->user_start[s]; u < p->user_start[s + 1]; u++) {
            int32_t user = p->users[u];
            bool is_later = p->j->place[user] != JOINT_FORWARD;
            bool is_cat = is_later && strcmp(kernel_at(p, user)->op, "cat") == 0;
            is_stored[s][0] |= is_later && !is_cat;
            is_stored[s][1] |= is_later && !is_cat && !p->fusible[user];
        }
}

static bool is_reduction(const partition *p, const kernel *k)
{
    int64_t read = 0, made = 0;
    for (int n = 0; n < k->input_count; n++)
        read = add_saturated(read, p->j->bytes[joint_storage(p->j, k->inputs[n])]);
    for (int n = 0; n < k->output_count; n++)
        made = add_saturated(made, p->j->bytes[joint_storage(p->j, k->outputs[n])]);
    return made < read / SMALL_RESULT;
}

static bool must_not_repeat(const partition *p, int32_t i, bool (*is_stored)[BY_FUSING])
{
    const kernel *k = kernel_at(p, i);
    for (int n = 0; n < k->output_count; n++) {
        int32_t s = joint_storage(p->j, k->outputs[n]);
        if (p->has_other_writer[s] || is_stored[s][p->fusible[i]])
            return true;
    }
    bool is_far = p->distance[i] < FAR_AWAY && p->distance[i] > MOST_DISTANCE;
    return !recomputes(k) || is_far || is_reduction(p, k);
}

/* Marks of ban_far_readers. All are zero between calls; `scanned` has the number of the call. */
typedef struct reach {
    uint8_t *reached;              /* Indexed by kernel. */
    int32_t (*scanned)[BY_FUSING]; /* Indexed by storage: its readers are marked, for such writers. */
    int32_t call;
} reach;

/* First place in `users` of a reader of storage `s` that comes after kernel `i`. */
static int32_t user_after(const partition *p, int32_t s, int32_t i)
{
    int32_t low = p->user_start[s], high = p->user_start[s + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->users[middle] > i)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum { FUSED = 1, NOT_FUSED = 2 };

static void mark_readers(const partition *p, reach *r, int32_t i, int32_t last)
{
    const kernel *k = kernel_at(p, i);
    for (int n = 0; n < k->output_count; n++) {
        int32_t s = joint_storage(p->j, k->outputs[n]), *scanned = &r->scanned[s][p->fusible[i]];
        if (*scanned == r->call)
            continue;
        *scanned = r->call;
        for (int32_t u = user_after(p, s, i); u < p->user_start[s + 1] && p->users[u] <= last; u++)
            r->reached[p->users[u]] |= fuses(p, i, p->users[u]) ? FUSED : NOT_FUSED;
    }
}

/* Bans recomputing the readers of a value that come after the first operator that does not fuse: they are too far from
 * the other readers to share one computation of the value. */
static void ban_far_readers(partition *p, int32_t from, int32_t end, reach *r)
{
    int32_t first = p->users[from], last = least(p->users[end - 1], first + MOST_BETWEEN), stop;
    r->call++;
    for (int32_t u = from; u < end && p->users[u] <= last; u++)
        r->reached[p->users[u]] = FUSED;
    for (stop = first; stop < last && !(r->reached[stop] & NOT_FUSED); stop++)
        if (r->reached[stop])
            mark_readers(p, r, stop, last);
    memset(r->reached + first, 0, (size_t)(last - first) + 1);
    for (int32_t u = from; u < end; u++)
        if (p->users[u] > stop && p->fusible[p->users[u]])
            p->is_banned[p->users[u]] = true;
}

static void ban_all_far_readers(partition *p)
{
    reach r = {ARENA_ARRAY(p->arena, uint8_t, (size_t)p->j->kernels.count + 1),
               arena_alloc(p->arena, (size_t)p->j->p->storage_count + 1, sizeof *r.scanned), 0};
    for (int32_t s = 0; s < p->j->p->storage_count; s++) {
        int32_t from = p->user_start[s], end = p->user_start[s + 1];
        while (from < end && p->j->place[p->users[end - 1]] != JOINT_FORWARD)
            end--;
        int32_t writer = p->j->writer[s];
        bool may = writer != NO_WRITER && p->j->place[writer] == JOINT_FORWARD && p->fusible[writer];
        if (may && end - from > 1 && p->users[end - 1] > p->users[from])
            ban_far_readers(p, from, end, &r);
    }
}

/* Interrupts long runs of operators that all fuse, so that the backward part does not recompute most of the network. */
static void ban_in_long_chains(partition *p)
{
    const joint *j = p->j;
    int32_t *begin = ARENA_ARRAY(p->arena, int32_t, (size_t)j->kernels.count + 1); /* First operator of the chain. */
    /* Indexed by storage: the first operator of the chain that its readers have from such writers. */
    int32_t(*passed_on)[BY_FUSING] = arena_room(p->arena, (size_t)j->p->storage_count + 1, sizeof *passed_on);
    for (int32_t i = 0; i < j->kernels.count; i++)
        begin[i] = i;
    for (int32_t s = 0; s < j->p->storage_count; s++)
        passed_on[s][0] = passed_on[s][1] = INT32_MAX;
    for (int32_t i = 0; i < j->kernels.count; i++) {
        const kernel *k = kernel_at(p, i);
        if (!is_in_parts(p, i) || j->place[i] != JOINT_FORWARD)
            continue;
        if (i > begin[i] + LONG_CHAIN && p->fusible[i]) {
            p->is_banned[i] = true;
            begin[i] = i;
        }
        for (int n = 0; n < k->output_count; n++) {
            int32_t s = joint_storage(j, k->outputs[n]), *passed = &passed_on[s][p->fusible[i]];
            if (*passed <= begin[i])
                continue; /* Its later readers have one that begins no later. */
            *passed = begin[i];
            for (int32_t u = user_after(p, s, i); u < p->user_start[s + 1]; u++) {
                int32_t user = p->users[u];
                if (fuses(p, i, user) && !p->is_banned[user])
                    begin[user] = least(begin[user], begin[i]);
            }
        }
    }
}

/* ---- the cut ----------------------------------------------------------------------------------------------------- */

/* Returns the cost of keeping a storage. Parameters are free; tensors near the backward part, and tensors that must
 * be stored anyway, are preferred. */
static int64_t cost_of(const partition *p, int32_t storage)
{
    const joint *j = p->j;
    const int64_t most = CUT_UNLIMITED / 1024;
    int32_t writer = j->writer[storage], distance = 1;
    bool is_stored = writer == NO_WRITER;
    if (writer != NO_WRITER) {
        distance = p->distance[writer] < MOST_WEIGHTED ? p->distance[writer] : MOST_WEIGHTED;
        for (int32_t u = p->user_start[storage]; u < p->user_start[storage + 1]; u++)
            is_stored |= !fuses(p, writer, p->users[u]);
    }
    double cost = (double)j->bytes[storage] * pow(1.1, distance > 1 ? distance : 1) * (is_stored ? 1 : 2);
    return cost < (double)most ? (int64_t)cost : most;
}

/* Adds edges from a storage to the results of an operator that reads it. `wide`: the node of an operator with many
 * operands and results, or 0. */
static void add_results(const partition *p, cut_graph *g, int32_t storage, int32_t reader, int32_t wide)
{
    const kernel *k = kernel_at(p, reader);
    if (wide) {
        cut_add_edge(g, 2 * storage + 1, wide, CUT_UNLIMITED);
        return;
    }
    for (int n = 0; n < k->output_count; n++)
        if (joint_storage(p->j, k->outputs[n]) != storage)
            cut_add_edge(g, 2 * storage + 1, 2 * joint_storage(p->j, k->outputs[n]), CUT_UNLIMITED);
}

static void add_storages(const partition *p, cut_graph *g, const bool *is_weight, int32_t source, int32_t sink,
                         const int32_t *wide)
{
    const joint *j = p->j;
    for (int32_t s = 0; s < j->p->storage_count; s++) {
        int32_t writer = j->writer[s];
        joint_place place = writer == NO_WRITER ? JOINT_FORWARD : j->place[writer];
        if (p->user_start[s] == p->user_start[s + 1] || (place != JOINT_FORWARD && place != JOINT_EITHER))
            continue;
        if (writer == NO_WRITER || p->is_banned[writer] || is_weight[s])
            cut_add_edge(g, source, 2 * s, CUT_UNLIMITED);
        cut_add_edge(g, 2 * s, 2 * s + 1, is_weight[s] ? 0 : cost_of(p, s));
        for (int32_t u = p->user_start[s]; u < p->user_start[s + 1]; u++) {
            if (j->place[p->users[u]] == JOINT_BACKWARD)
                cut_add_edge(g, 2 * s + 1, sink, CUT_UNLIMITED);
            else
                add_results(p, g, s, p->users[u], wide[p->users[u]]);
        }
    }
}

/* An operator with many operands and many results gets a node of its own, because an edge for each pair would be too
 * many. */
static int32_t *find_wide(const partition *p, int32_t *node_count)
{
    int32_t *wide = ARENA_ARRAY(p->arena, int32_t, (size_t)p->j->kernels.count + 1);
    for (int32_t i = 0; i < p->j->kernels.count; i++)
        if (is_in_parts(p, i) && (int64_t)kernel_at(p, i)->input_count * kernel_at(p, i)->output_count > MOST_EDGES)
            wide[i] = (*node_count)++;
    return wide;
}

static void add_wide(const partition *p, cut_graph *g, const int32_t *wide)
{
    for (int32_t i = 0; i < p->j->kernels.count; i++)
        for (int n = 0; wide[i] && n < kernel_at(p, i)->output_count; n++)
            cut_add_edge(g, wide[i], 2 * joint_storage(p->j, kernel_at(p, i)->outputs[n]), CUT_UNLIMITED);
}

bool *partition_kept(const joint *j)
{
    partition p = {.j = j, .arena = j->arena};
    int32_t storages = j->p->storage_count, source = 2 * storages, sink = source + 1, nodes = sink + 1;
    index_users(&p);
    p.fusible = ARENA_ARRAY(p.arena, uint8_t, (size_t)j->kernels.count + 1);
    for (int32_t i = 0; i < j->kernels.count; i++)
        p.fusible[i] = is_in_parts(&p, i) && may_fuse(kernel_at(&p, i));
    find_distances(&p);
    bool(*is_stored)[BY_FUSING] = arena_alloc(p.arena, (size_t)storages + 1, sizeof *is_stored);
    find_stored(&p, is_stored);
    p.is_banned = ARENA_ARRAY(p.arena, bool, (size_t)j->kernels.count + 1);
    for (int32_t i = 0; i < j->kernels.count; i++)
        p.is_banned[i] = is_in_parts(&p, i) && j->place[i] == JOINT_FORWARD && must_not_repeat(&p, i, is_stored);
    ban_all_far_readers(&p);
    ban_in_long_chains(&p);
    bool *is_weight = ARENA_ARRAY(p.arena, bool, (size_t)storages + 1);
    for (tensor_id t = 0; t < j->p->tensors.count; t++)
        is_weight[joint_storage(j, t)] |= j->p->tensors.items[t].is_weight;
    const int32_t *wide = find_wide(&p, &nodes);
    cut_graph g = cut_graph_new(p.arena, nodes);
    add_storages(&p, &g, is_weight, source, sink, wide);
    add_wide(&p, &g, wide);
    const bool *is_near = cut_source_side(&g, source, sink);
    bool *is_kept = ARENA_ARRAY(p.arena, bool, (size_t)storages + 1);
    for (int32_t s = 0; s < storages; s++)
        is_kept[s] = is_near[2 * s] && !is_near[2 * s + 1] && g.first[2 * s + 1] != -1;
    return is_kept;
}
