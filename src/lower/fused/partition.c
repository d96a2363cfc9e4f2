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
};

typedef struct partition {
    const joint *j;
    arena *arena;
    int32_t *user_start, *users; /* Indexed by storage: the kernels that read it, in order; no views. */
    int32_t *distance;           /* Indexed by kernel: operators between it and the backward part. */
    bool *is_banned;             /* Indexed by kernel: it may not be recomputed. */
    bool *has_other_writer;      /* Indexed by storage: several kernels write parts of it. */
} partition;

static const kernel *kernel_at(const partition *p, int32_t i)
{
    return &p->j->kernels.items[i];
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

bool partition_recomputes(const kernel *k)
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
    return partition_recomputes(k) || strcmp(k->op, "bernoulli_") == 0;
}

/* True if a loop of `reader` may read what a loop of `writer` computes. */
static bool fuses(const kernel *writer, const kernel *reader)
{
    return strcmp(reader->op, "cat") == 0 || (may_fuse(writer) && may_fuse(reader));
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

static int32_t first_user(const partition *p, tensor_id t)
{
    return p->user_start[joint_storage(p->j, t)];
}

static int32_t end_of_users(const partition *p, tensor_id t)
{
    return p->user_start[joint_storage(p->j, t) + 1];
}

static void find_distances(partition *p)
{
    const joint *j = p->j;
    p->distance = ARENA_ARRAY(p->arena, int32_t, (size_t)j->kernels.count + 1);
    for (int32_t i = j->kernels.count - 1; i >= 0; i--) {
        const kernel *k = kernel_at(p, i);
        int32_t *own = &p->distance[i];
        if (!is_in_parts(p, i) || j->place[i] != JOINT_FORWARD)
            continue;
        *own = FAR_AWAY;
        for (int n = 0; n < k->output_count; n++)
            for (int32_t u = first_user(p, k->outputs[n]); u < end_of_users(p, k->outputs[n]); u++)
                if (p->users[u] > i && p->distance[p->users[u]] + 1 < *own)
                    *own = p->distance[p->users[u]] + 1;
    }
}

/* ---- what must not be computed again ----------------------------------------------------------------------------- */

static bool is_stored_for_backward(const partition *p, int32_t i)
{
    const kernel *k = kernel_at(p, i);
    for (int n = 0; n < k->output_count; n++)
        for (int32_t u = first_user(p, k->outputs[n]); u < end_of_users(p, k->outputs[n]); u++)
            if (p->j->place[p->users[u]] != JOINT_FORWARD && !fuses(k, kernel_at(p, p->users[u])))
                return true;
    return false;
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

static bool must_not_repeat(const partition *p, int32_t i)
{
    const kernel *k = kernel_at(p, i);
    for (int n = 0; n < k->output_count; n++)
        if (p->has_other_writer[joint_storage(p->j, k->outputs[n])])
            return true;
    bool is_far = p->distance[i] < FAR_AWAY && p->distance[i] > MOST_DISTANCE;
    return !partition_recomputes(k) || is_far || is_stored_for_backward(p, i) || is_reduction(p, k);
}

/* Bans recomputing the readers of a value that come after the first operator that does not fuse: they are too far from
 * the other readers to share one computation of the value. `reached`: indexed by kernel; zero on entry and on return. */
static void ban_far_readers(partition *p, int32_t from, int32_t end, uint8_t *reached)
{
    enum { FUSED = 1, NOT_FUSED = 2 };
    int32_t first = p->users[from], last = first, stop;
    for (int32_t u = from; u < end; u++)
        if (p->j->place[p->users[u]] == JOINT_FORWARD) {
            reached[p->users[u]] = FUSED;
            last = p->users[u];
        }
    for (stop = first; stop < last && !(reached[stop] & NOT_FUSED); stop++) {
        const kernel *k = kernel_at(p, stop);
        for (int n = 0; reached[stop] && n < k->output_count; n++)
            for (int32_t u = first_user(p, k->outputs[n]); u < end_of_users(p, k->outputs[n]); u++)
                if (p->users[u] > stop && p->users[u] <= last)
                    reached[p->users[u]] |= fuses(k, kernel_at(p, p->users[u])) ? FUSED : NOT_FUSED;
    }
    memset(reached + first, 0, (size_t)(last - first) + 1);
    for (int32_t u = from; u < end; u++)
        if (p->j->place[p->users[u]] == JOINT_FORWARD && p->users[u] > stop && may_fuse(kernel_at(p, p->users[u])))
            p->is_banned[p->users[u]] = true;
}

static void ban_all_far_readers(partition *p)
{
    uint8_t *reached = ARENA_ARRAY(p->arena, uint8_t, (size_t)p->j->kernels.count + 1);
    for (int32_t s = 0; s < p->j->p->storage_count; s++) {
        int32_t from = p->user_start[s], end = p->user_start[s + 1];
        while (from < end && p->j->place[p->users[end - 1]] != JOINT_FORWARD)
            end--;
        int32_t writer = p->j->writer[s];
        bool may = writer != NO_WRITER && p->j->place[writer] == JOINT_FORWARD && may_fuse(kernel_at(p, writer));
        if (may && end - from > 1 && p->users[end - 1] > p->users[from])
            ban_far_readers(p, from, end, reached);
    }
}

/* Interrupts long runs of operators that all fuse, so that the backward part does not recompute most of the network. */
static void ban_in_long_chains(partition *p)
{
    const joint *j = p->j;
    int32_t *begin = ARENA_ARRAY(p->arena, int32_t, (size_t)j->kernels.count + 1); /* First operator of the chain. */
    for (int32_t i = 0; i < j->kernels.count; i++)
        begin[i] = i;
    for (int32_t i = 0; i < j->kernels.count; i++) {
        const kernel *k = kernel_at(p, i);
        if (!is_in_parts(p, i) || j->place[i] != JOINT_FORWARD)
            continue;
        if (i > begin[i] + LONG_CHAIN && may_fuse(k)) {
            p->is_banned[i] = true;
            begin[i] = i;
        }
        for (int n = 0; n < k->output_count; n++)
            for (int32_t u = first_user(p, k->outputs[n]); u < end_of_users(p, k->outputs[n]); u++) {
                int32_t user = p->users[u];
                if (user > i && fuses(k, kernel_at(p, user)) && !p->is_banned[user] && begin[i] < begin[user])
                    begin[user] = begin[i];
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
            is_stored |= !fuses(kernel_at(p, writer), kernel_at(p, p->users[u]));
    }
    double cost = (double)j->bytes[storage] * pow(1.1, distance > 1 ? distance : 1) * (is_stored ? 1 : 2);
    return cost < (double)most ? (int64_t)cost : most;
}

static void add_storages(const partition *p, cut_graph *g, const bool *is_weight, int32_t source, int32_t sink)
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
            const kernel *k = kernel_at(p, p->users[u]);
            if (j->place[p->users[u]] == JOINT_BACKWARD) {
                cut_add_edge(g, 2 * s + 1, sink, CUT_UNLIMITED);
                continue;
            }
            for (int n = 0; n < k->output_count; n++)
                if (joint_storage(j, k->outputs[n]) != s)
                    cut_add_edge(g, 2 * s + 1, 2 * joint_storage(j, k->outputs[n]), CUT_UNLIMITED);
        }
    }
}

bool *partition_kept(const joint *j)
{
    partition p = {.j = j, .arena = j->arena};
    int32_t storages = j->p->storage_count, source = 2 * storages, sink = source + 1;
    index_users(&p);
    find_distances(&p);
    p.is_banned = ARENA_ARRAY(p.arena, bool, (size_t)j->kernels.count + 1);
    for (int32_t i = 0; i < j->kernels.count; i++)
        p.is_banned[i] = is_in_parts(&p, i) && j->place[i] == JOINT_FORWARD && must_not_repeat(&p, i);
    ban_all_far_readers(&p);
    ban_in_long_chains(&p);
    bool *is_weight = ARENA_ARRAY(p.arena, bool, (size_t)storages + 1);
    for (tensor_id t = 0; t < j->p->tensors.count; t++)
        is_weight[joint_storage(j, t)] |= j->p->tensors.items[t].is_weight;
    cut_graph g = cut_graph_new(p.arena, sink + 1);
    add_storages(&p, &g, is_weight, source, sink);
    const bool *is_near = cut_source_side(&g, source, sink);
    bool *is_kept = ARENA_ARRAY(p.arena, bool, (size_t)storages + 1);
    for (int32_t s = 0; s < storages; s++)
        is_kept[s] = is_near[2 * s] && !is_near[2 * s + 1] && g.first[2 * s + 1] != -1;
    return is_kept;
}
