/* fusion.c: fuses loops into groups; fusion_kernels.c writes their kernels. Each round collects pairs of groups that
 * share a buffer and sorts them by gain: same kind first, then bytes saved, then distance. It fuses every allowed pair.
 * Rounds end when nothing changes. */
#include "lower/fused/fusion_groups.h"

#include <stdlib.h>

enum {
    MAX_GROUP_NODES = 64,
    MAX_PARTNERS = 64, /* Largest number of partners tried per reader of a buffer. */
    MAX_DISTANCE = 64, /* Largest distance between siblings, in nodes. */
    MIN_SHARED_BYTES = 10,
    MAX_ROUNDS = 10,
    MAX_SEARCH = 4096,  /* Largest number of groups visited in a path search. */
    MEMORY_FACTOR = 32, /* Elements that fusion may keep alive per byte saved. */
};

/* ---- may two groups be one kernel? ------------------------------------------------------------------------------- */

static bool sizes_match(const group *a, const group *b)
{
    if (a->reduced != 1 && b->reduced != 1)
        return a->elements == b->elements && a->reduced == b->reduced;
    if (a->reduced == 1 && b->reduced == 1)
        return a->elements == b->elements;
    const group *flat = a->reduced == 1 ? a : b, *deep = a->reduced == 1 ? b : a;
    return flat->elements == mul_wrapping(deep->elements, deep->reduced) || flat->elements == deep->elements;
}

/* True if `reader` can use the values of `writer` within one kernel. */
static bool read_matches(const fuse_buffer *b, const fuse_node *writer, const fuse_node *reader, const fuse_read *r,
                         bool may_turn)
{
    if (writer->is_apart || !access_covers(&r->at, b->elements))
        return false;
    int64_t repeated = access_repeated(&r->at);
    int64_t loops = mul_wrapping(reader->elements, reader->reduced);
    if (writer->reduced == 1 && repeated == 1)
        return loops == writer->elements && (may_turn || reader->reduced != 1 || r->is_in_order);
    /* A reduction produces its outputs in order and holds each only until the next. */
    if (!access_is_row(&r->at))
        return false;
    return reader->reduced == 1 || repeated == reader->reduced;
}

/* True if group `b` can read all results of group `a` inside one kernel. Sets `*depends` if `b` reads any. */
static bool reads_match(const joiner *j, int32_t a, int32_t b, bool *depends)
{
    for (int32_t n = j->groups[b].first; n != NO_ITEM; n = j->next[n]) {
        const fuse_node *reader = node_at(j, n);
        for (int i = 0; i < reader->read_count; i++) {
            const fuse_buffer *buffer = &j->f->buffers.items[reader->reads[i].buffer];
            if (buffer->writer == NO_FUSE_NODE || group_of(j, buffer->writer) != a)
                continue;
            *depends = true;
            if (!read_matches(buffer, node_at(j, buffer->writer), reader, &reader->reads[i], j->may_turn))
                return false;
        }
    }
    return true;
}

/* Records the first position of the group in each chain. */
static void note_chains(joiner *j, int32_t g)
{
    for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n]) {
        int32_t c = j->chain[n];
        if (j->noted[c].stamp != j->stamp || j->in_chain[n] < j->noted[c].first) {
            j->noted[c].stamp = j->stamp;
            j->noted[c].first = j->in_chain[n];
        }
    }
}

/* True if a chain leads from the marked group to node `n`. */
static bool is_chained(const joiner *j, int32_t n)
{
    return j->noted[j->chain[n]].stamp == j->stamp && j->noted[j->chain[n]].first < j->in_chain[n];
}

/* True if a path leads from group `from` to group `to` through another group. Chains shorten the search. */
static bool has_detour(joiner *j, int32_t from, int32_t to)
{
    int32_t depth = 0, looked = 0, least = j->groups[from].least;
    j->stamp++;
    note_chains(j, from);
    j->stack[depth++] = to;
    while (depth > 0) {
        int32_t g = j->stack[--depth];
        for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n])
            for (int i = 0; i < node_at(j, n)->read_count; i++) {
                int32_t writer = j->f->buffers.items[node_at(j, n)->reads[i].buffer].writer;
                if (writer == NO_FUSE_NODE)
                    continue;
                int32_t before = group_of(j, writer);
                if (before == from && g != to)
                    return true;
                if (before == from || before == to || j->seen[before] == j->stamp || j->groups[before].most < least)
                    continue;
                if (is_chained(j, writer) || ++looked > MAX_SEARCH)
                    return true;
                j->seen[before] = j->stamp;
                j->stack[depth++] = before;
            }
    }
    return false;
}

/* True if exactly one node reads the buffer. */
static bool is_read_once(const joiner *j, int32_t buffer)
{
    int32_t first = j->reader_start[buffer], end = j->reader_start[buffer + 1];
    return j->f->buffers.items[buffer].writer != NO_FUSE_NODE && end > first &&
           j->readers[first] == j->readers[end - 1]; /* Readers are sorted. */
}

/* Returns the bytes that both groups read in the same order, plus those that `a` reads from `b`. */
static int64_t shared_bytes(const joiner *j, int32_t a, int32_t b)
{
    int64_t sum = 0;
    for (int32_t n = j->groups[a].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            const fuse_read *r = &node_at(j, n)->reads[i];
            int32_t writer = j->f->buffers.items[r->buffer].writer;
            bool shares = writer != NO_FUSE_NODE && group_of(j, writer) == b;
            for (int32_t m = j->groups[b].first; m != NO_ITEM && !shares; m = j->next[m])
                for (int k = 0; k < node_at(j, m)->read_count && !shares; k++)
                    shares = node_at(j, m)->reads[k].buffer == r->buffer &&
                             (j->may_turn ? access_hash(&node_at(j, m)->reads[k].at) == access_hash(&r->at)
                                          : node_at(j, m)->reads[k].order_hash == r->order_hash);
            sum += shares ? touched_bytes(j->f, r) : 0;
        }
    return sum;
}

/* Returns the elements of buffers that could share memory only if the groups are not fused: buffers of equal size
 * with one reader each, in different groups. Each size counts once. */
static int64_t memory_kept(const joiner *j, int32_t a, int32_t b)
{
    int64_t sizes[MAX_LOADS], sum = 0;
    int count = 0;
    for (int32_t n = j->groups[a].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            const fuse_buffer *x = &j->f->buffers.items[node_at(j, n)->reads[i].buffer];
            bool is_kept = false;
            if (!is_read_once(j, node_at(j, n)->reads[i].buffer))
                continue;
            for (int32_t m = j->groups[b].first; m != NO_ITEM && !is_kept; m = j->next[m])
                for (int k = 0; k < node_at(j, m)->read_count && !is_kept; k++) {
                    int32_t other = node_at(j, m)->reads[k].buffer;
                    const fuse_buffer *y = &j->f->buffers.items[other];
                    is_kept = y != x && y->elements == x->elements && y->bytes == x->bytes && is_read_once(j, other);
                }
            for (int k = 0; k < count && is_kept; k++)
                is_kept = sizes[k] != x->bytes;
            if (is_kept && count < MAX_LOADS) {
                sizes[count++] = x->bytes;
                sum += x->elements;
            }
        }
    return sum;
}

/* Decides whether two groups may be fused and fills `*found`. Group `a` begins before group `b`. */
static bool may_join(joiner *j, int32_t a, int32_t b, pair *found)
{
    const group *x = &j->groups[a], *y = &j->groups[b];
    bool depends = false;
    if (x->node_count + y->node_count > MAX_GROUP_NODES || !sizes_match(x, y) ||
        node_at(j, x->first)->repeat != node_at(j, y->first)->repeat || !reads_match(j, a, b, &depends) ||
        !reads_match(j, b, a, &depends))
        return false;
    int32_t over = abs(x->least - y->most), under = abs(y->least - x->most);
    *found = (pair){.a = a,
                    .b = b,
                    .distance = over > under ? over : under,
                    .alike = (x->reduced == 1) == (y->reduced == 1),
                    .shared_bytes = shared_bytes(j, a, b) + (depends ? shared_bytes(j, b, a) : 0)};
    if (!depends && (found->distance > MAX_DISTANCE || found->shared_bytes < MIN_SHARED_BYTES))
        return false;
    if (memory_kept(j, a, b) / MEMORY_FACTOR > found->shared_bytes)
        return false;
    return !has_detour(j, a, b) && !has_detour(j, b, a);
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static int by_gain(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    if (p->alike != q->alike)
        return p->alike ? -1 : 1;
    if (p->shared_bytes != q->shared_bytes)
        return p->shared_bytes > q->shared_bytes ? -1 : 1;
    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

static void join(joiner *j, int32_t a, int32_t b)
{
    group *x = &j->groups[a], *y = &j->groups[b];
    /* Merges the two sorted lists. */
    int32_t p = x->first, q = y->first, first = NO_ITEM, last = NO_ITEM;
    while (p != NO_ITEM || q != NO_ITEM) {
        int32_t *from = q == NO_ITEM || (p != NO_ITEM && p < q) ? &p : &q;
        int32_t n = *from;
        *from = j->next[n];
        if (last == NO_ITEM)
            first = n;
        else
            j->next[last] = n;
        last = n;
    }
    j->next[last] = NO_ITEM;
    x->first = first;
    x->last = last;
    x->node_count += y->node_count;
    x->least = x->least < y->least ? x->least : y->least;
    x->most = x->most > y->most ? x->most : y->most;
    if (x->reduced == 1) {
        x->elements = y->elements;
        x->reduced = y->reduced;
    }
    j->parent[b] = a;
}

static void add_pair(joiner *j, int32_t a, int32_t b)
{
    pair found;
    if (a == b)
        return;
    if (j->groups[a].least > j->groups[b].least) {
        int32_t swapped = a;
        a = b;
        b = swapped;
    }
    if (may_join(j, a, b, &found))
        *(pair *)ARENA_PUSH(j->f->arena, &j->pairs) = found;
}

static bool is_loop(const joiner *j, int32_t n)
{
    return n != NO_FUSE_NODE && node_at(j, n)->kind == FUSE_LOOP;
}

/* Collects each pair of groups that share the buffer once. */
static void collect_pairs_at(joiner *j, int32_t b)
{
    int32_t writer = j->f->buffers.items[b].writer, end = j->reader_start[b + 1], at_buffer = ++j->collect_stamp;
    for (int32_t i = j->reader_start[b]; i < end; i++) {
        if (!is_loop(j, j->readers[i]))
            continue;
        int32_t g = group_of(j, j->readers[i]);
        if (j->collected[g] >= at_buffer)
            continue;
        int32_t at_group = ++j->collect_stamp;
        j->collected[g] = at_group;
        if (is_loop(j, writer))
            add_pair(j, group_of(j, writer), g);
        for (int32_t k = i + 1; k < end && k <= i + MAX_PARTNERS; k++) {
            int32_t other = is_loop(j, j->readers[k]) ? group_of(j, j->readers[k]) : g;
            if (j->paired[other] == at_group || j->collected[other] >= at_buffer)
                continue;
            j->paired[other] = at_group;
            add_pair(j, g, other);
        }
    }
}

static void collect_pairs(joiner *j)
{
    j->pairs.count = 0;
    for (int32_t b = 0; b < j->f->buffers.count; b++)
        collect_pairs_at(j, b);
    if (j->pairs.count > 1)
        qsort(j->pairs.items, (size_t)j->pairs.count, sizeof *j->pairs.items, by_gain);
}

static bool join_round(joiner *j)
{
    bool changed = false;
    collect_pairs(j);
    for (int32_t i = 0; i < j->pairs.count; i++) {
        int32_t a = group_of(j, j->pairs.items[i].a), b = group_of(j, j->pairs.items[i].b);
        pair again;
        if (a == b)
            continue;
        if (j->groups[a].least > j->groups[b].least) {
            int32_t swapped = a;
            a = b;
            b = swapped;
        }
        if (may_join(j, a, b, &again)) {
            join(j, a, b);
            changed = true;
        }
    }
    return changed;
}

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static void index_readers(joiner *j)
{
    fusion *f = j->f;
    j->reader_start = ARENA_ARRAY(f->arena, int32_t, (size_t)f->buffers.count + 2);
    int32_t *start = j->reader_start;
    for (int32_t n = 0; n < f->nodes.count; n++)
        for (int i = 0; i < f->nodes.items[n].read_count; i++)
            start[f->nodes.items[n].reads[i].buffer + 1]++;
    for (int32_t b = 0; b < f->buffers.count; b++)
        start[b + 1] += start[b];
    int32_t *at = arena_copy(f->arena, start, (size_t)f->buffers.count + 1, sizeof *start);
    j->readers = ARENA_ARRAY(f->arena, int32_t, (size_t)start[f->buffers.count] + 1);
    for (int32_t n = 0; n < f->nodes.count; n++)
        for (int i = 0; i < f->nodes.items[n].read_count; i++)
            j->readers[at[f->nodes.items[n].reads[i].buffer]++] = n;
}

/* Splits the nodes into chains: a node continues the nearest chain whose last node it reads. */
static void make_chains(joiner *j)
{
    const fusion *f = j->f;
    int32_t count = 0;
    bool *is_continued = ARENA_ARRAY(f->arena, bool, (size_t)f->nodes.count + 1);
    for (int32_t n = 0; n < f->nodes.count; n++) {
        int32_t before = NO_FUSE_NODE;
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            int32_t writer = f->buffers.items[node_at(j, n)->reads[i].buffer].writer;
            if (writer > before && writer < n && !is_continued[writer])
                before = writer;
        }
        if (before == NO_FUSE_NODE) {
            j->chain[n] = count++;
            continue;
        }
        is_continued[before] = true;
        j->chain[n] = j->chain[before];
        j->in_chain[n] = j->in_chain[before] + 1;
    }
}

/* Sorts the reads of each loop by the order of its writes. */
static void order_reads(fusion *f)
{
    for (int32_t i = 0; i < f->nodes.count; i++) {
        fuse_node *n = &f->nodes.items[i];
        if (n->kind != FUSE_LOOP)
            continue;
        const access *order = &f->buffers.items[n->writes[0]].layout;
        for (int k = 0; k < n->read_count; k++) {
            fuse_read *r = &n->reads[k];
            if (n->reduced == 1)
                r->at = access_sorted(f->arena, &r->at, order);
            /* True if the loops of the reduction continue the loops around it. */
            bool is_one_row = r->at.is_scattered || r->at.outer_count == r->at.count;
            access all = is_one_row ? r->at : access_of(f->arena, r->at.pieces, r->at.count);
            access there = access_compose(f->arena, &all, &f->buffers.items[r->buffer].layout);
            there.part = r->at.part;
            r->is_in_order = access_is_row(&there);
            r->order_hash = access_order_hash(&there);
        }
    }
}

void fusion_emit(fusion *f)
{
    size_t count = (size_t)f->nodes.count + 1;
    joiner j = {.f = f,
                .parent = ARENA_ARRAY(f->arena, int32_t, count),
                .next = ARENA_ARRAY(f->arena, int32_t, count),
                .groups = ARENA_ARRAY(f->arena, group, count),
                .chain = ARENA_ARRAY(f->arena, int32_t, count),
                .in_chain = ARENA_ARRAY(f->arena, int32_t, count),
                .seen = ARENA_ARRAY(f->arena, int32_t, count),
                .collected = ARENA_ARRAY(f->arena, int32_t, count),
                .paired = ARENA_ARRAY(f->arena, int32_t, count),
                .stack = ARENA_ARRAY(f->arena, int32_t, count)};
    for (int32_t n = 0; n < f->nodes.count; n++) {
        j.parent[n] = n;
        j.next[n] = NO_ITEM;
        j.groups[n] = (group){n, n, 1, n, n, f->nodes.items[n].elements, f->nodes.items[n].reduced};
    }
    j.noted = arena_alloc(f->arena, count, sizeof *j.noted);
    order_reads(f);
    index_readers(&j);
    make_chains(&j);
    for (int round = 0; round < MAX_ROUNDS && join_round(&j); round++)
        ;
    j.may_turn = true;
    join_round(&j);
    fusion_write_kernels(&j);
}
