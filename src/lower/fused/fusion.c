/* fusion.c: fuses loops into kernels and writes the kernels. Each round collects pairs of groups that share a buffer
 * and sorts them by gain: same kind first, then bytes saved, then distance. It fuses every allowed pair. Rounds end
 * when nothing changes. */
#include "lower/fused/fusion.h"

#include <stdlib.h>

enum {
    MAX_GROUP_NODES = 64,
    MAX_PARTNERS = 64, /* Largest number of partners tried per reader of a buffer. */
    MAX_DISTANCE = 64, /* Largest distance between siblings, in nodes. */
    MIN_SHARED_BYTES = 10,
    MAX_ROUNDS = 10,
    MAX_SEARCH = 4096,  /* Largest number of groups visited in a path search. */
    MAX_LOADS = 64,     /* Largest number of distinct accesses per buffer. */
    MEMORY_FACTOR = 32, /* Elements that fusion may keep alive per byte saved. */
    NO_ITEM = -1,
};

typedef struct group {
    int32_t first, last, node_count; /* Linked list of nodes, in order. */
    int32_t least, most;             /* Smallest and largest index of its nodes. */
    int64_t elements, reduced;
} group;

typedef struct pair {
    int32_t a, b, distance;
    bool alike;
    int64_t shared_bytes;
} pair;

typedef struct joiner {
    fusion *f;
    int32_t *parent;       /* Indexed by node: parent in a union-find tree; the root identifies the group. */
    int32_t *next;         /* Indexed by node: next node of the same group. */
    group *groups;         /* Indexed by root node. */
    int32_t *reader_start; /* Indexed by buffer: start of its readers in `readers`. */
    int32_t *readers;
    int32_t *chain;    /* Indexed by node: its chain. In a chain, each node reads the output of the one before. */
    int32_t *in_chain; /* Indexed by node: position in its chain. */
    struct {
        /* The search that wrote the entry, and the position in the chain at which the searched group begins. */
        int32_t stamp, first;
    } * noted;     /* Indexed by chain. */
    int32_t *seen; /* Indexed by group: stamp of the last visit. */
    int32_t stamp;
    int32_t *collected, *paired; /* Indexed by group: stamps of the last visit while pairs are collected. */
    int32_t collect_stamp;
    bool may_turn; /* True if loops may be reordered to match each other. */
    int32_t *stack;
    struct {
        pair *items;
        int32_t count, capacity;
    } pairs;
} joiner;

static int32_t group_of(const joiner *j, int32_t n)
{
    while (j->parent[n] != n) {
        j->parent[n] = j->parent[j->parent[n]];
        n = j->parent[n];
    }
    return n;
}

static const fuse_node *node_at(const joiner *j, int32_t n)
{
    return &j->f->nodes.items[n];
}

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

static int64_t touched_bytes(const fusion *f, const fuse_read *r)
{
    const fuse_buffer *b = &f->buffers.items[r->buffer];
    int64_t touched = access_touched(&r->at);
    return touched < b->elements ? touched * (b->bytes / b->elements) : b->bytes;
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

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Returns the tensor with its strides in the buffer's memory layout. */
static tensor_id placed(fusion *f, tensor_id seen, const access *layout)
{
    placed_tensor made = f->out->tensors.items[seen];
    int64_t strides[MAX_PLACED_RANK + 1];
    bool same = true;
    for (int i = 0; i < made.rank; i++) {
        if (access_along(layout, made.dims[i], made.strides[i], &strides[i]) != 1)
            strides[i] = made.strides[i];
        same &= strides[i] == made.strides[i];
    }
    if (same)
        return seen;
    made.strides = arena_copy(f->arena, strides, (size_t)made.rank, sizeof *strides);
    *(placed_tensor *)ARENA_PUSH(f->arena, &f->out->tensors) = made;
    return f->out->tensors.count - 1;
}

/* Returns the tensor of a whole buffer and caches it. */
tensor_id fusion_tensor_of(fusion *f, int32_t buffer)
{
    fuse_buffer *b = &f->buffers.items[buffer];
    if (b->placed == 0)
        b->placed = 1 + placed(f, b->tensor, &b->layout);
    return b->placed - 1;
}

/* Returns the operand of a library call. A buffer inside a concatenation is a part of the larger buffer. */
static tensor_id seen_by_call(fusion *f, const fuse_read *r)
{
    tensor_id all = fusion_tensor_of(f, r->buffer);
    if (r->tensor == f->buffers.items[r->buffer].tensor)
        return all;
    tensor_id seen = placed(f, r->tensor, &f->buffers.items[r->buffer].layout);
    const placed_tensor *x = &f->out->tensors.items[seen], *y = &f->out->tensors.items[all];
    if (x->storage == y->storage)
        return seen;
    if (x->rank == y->rank && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0)
        return all;
    placed_tensor made = *x;
    made.storage = y->storage;
    *(placed_tensor *)ARENA_PUSH(f->arena, &f->out->tensors) = made;
    return f->out->tensors.count - 1;
}

/* Emits the copy that a library convolution makes of a non-dense map, such as a slice of channels. */
static void emit_hidden_copy(fusion *f, tensor_id seen, const kernel *call)
{
    extent x = extent_of(&f->out->tensors.items[seen]);
    bool last = extent_suggests_channels_last(&x);
    if (strcmp(call->op, "convolution") != 0 || (last ? extent_is_channels_last(&x) : extent_is_contiguous(&x)))
        return;
    if (last)
        extent_channels_last(&x);
    else
        extent_contiguous(&x);
    placed_tensor made = f->out->tensors.items[seen];
    made.strides = arena_copy(f->arena, x.strides, (size_t)x.rank + 1, sizeof *x.strides);
    made.storage = f->out->storage_count++;
    made.value = NO_VALUE;
    *(placed_tensor *)ARENA_PUSH(f->arena, &f->out->tensors) = made;
    tensor_id *held = ARENA_ARRAY(f->arena, tensor_id, 2);
    held[0] = seen;
    held[1] = f->out->tensors.count - 1;
    int64_t bytes = extent_elements(&x) * dtype_bits(made.dtype) / 8;
    *(kernel *)ARENA_PUSH(f->arena, &f->out->kernels) = (kernel){.op = "clone",
                                                                 .layer = call->layer,
                                                                 .flags = KERNEL_HIDDEN,
                                                                 .phase = call->phase,
                                                                 .input_count = 1,
                                                                 .output_count = 1,
                                                                 .inputs = held,
                                                                 .outputs = held + 1,
                                                                 .bytes_read = bytes,
                                                                 .bytes_written = bytes,
                                                                 .repeat = call->repeat};
}

static void emit_call(fusion *f, const fuse_node *n)
{
    kernel *k = ARENA_PUSH(f->arena, &f->out->kernels);
    *k = *n->call;
    tensor_id *held = ARENA_ARRAY(f->arena, tensor_id, (size_t)n->read_count + MAX_NODE_WRITES);
    k->bytes_read = 0;
    for (int i = 0; i < n->read_count; i++) {
        held[i] = seen_by_call(f, &n->reads[i]);
        k->bytes_read = add_saturated(k->bytes_read, touched_bytes(f, &n->reads[i]));
    }
    for (int i = 0; i < n->write_count; i++)
        held[n->read_count + i] = fusion_tensor_of(f, n->writes[i]);
    k->input_count = n->read_count;
    k->inputs = held;
    k->outputs = held + n->read_count;
    k->output_count = n->write_count;
    if (n->read_count > 0)
        emit_hidden_copy(f, held[0], n->call);
}

static bool is_read_outside(const joiner *j, int32_t buffer, int32_t g)
{
    if (j->f->buffers.items[buffer].is_output)
        return true;
    for (int32_t i = j->reader_start[buffer]; i < j->reader_start[buffer + 1]; i++)
        if (group_of(j, j->readers[i]) != g)
            return true;
    return false;
}

/* Returns the bytes that a group reads from a buffer. As in the compiler, a buffer no larger than the loops counts
 * once; of a larger one, each load counts separately (slices, window taps). */
static int64_t bytes_of_input(const joiner *j, int32_t g, int32_t buffer)
{
    const fuse_buffer *b = &j->f->buffers.items[buffer];
    int64_t loops = mul_wrapping(j->groups[g].elements, j->groups[g].reduced), loads = 0, elements;
    if (b->elements <= loops)
        return b->bytes;
    uint64_t seen[MAX_LOADS];
    int count = 0;
    for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            const fuse_read *r = &node_at(j, n)->reads[i];
            int at = 0;
            if (r->buffer != buffer)
                continue;
            uint64_t hash = access_hash(&r->at);
            while (at < count && seen[at] != hash)
                at++;
            if (at < count)
                continue;
            if (count < MAX_LOADS)
                seen[count++] = hash;
            loads += r->times;
        }
    if (__builtin_mul_overflow(loads, loops, &elements) ||
        __builtin_mul_overflow(elements, b->bytes / b->elements, &elements))
        return INT64_MAX;
    return elements;
}

/* Collects the tensors that a group reads from outside, without duplicates. Returns their number. */
static int collect_inputs(const joiner *j, int32_t g, tensor_id *held, kernel *k)
{
    fusion *f = j->f;
    int32_t *buffers = (int32_t *)held; /* First holds buffer indices; then tensor ids replace them in place. */
    int count = 0;
    for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            int32_t b = node_at(j, n)->reads[i].buffer, writer = f->buffers.items[b].writer, at = 0;
            if (writer != NO_FUSE_NODE && group_of(j, writer) == g)
                continue;
            while (at < count && buffers[at] != b)
                at++;
            if (at == count)
                buffers[count++] = b;
        }
    for (int at = 0; at < count; at++)
        k->bytes_read = add_saturated(k->bytes_read, bytes_of_input(j, g, buffers[at]));
    for (int at = 0; at < count; at++)
        held[at] = fusion_tensor_of(f, buffers[at]);
    return count;
}

/* Returns a buffer of the loops' size that the group writes for others, or its first buffer if there is none. */
static int32_t written_by(const joiner *j, int32_t g)
{
    int64_t loops = mul_wrapping(j->groups[g].elements, j->groups[g].reduced);
    int32_t found = node_at(j, j->groups[g].first)->writes[0];
    for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->write_count; i++) {
            int32_t b = node_at(j, n)->writes[i];
            if (j->f->buffers.items[b].elements == loops && is_read_outside(j, b, g))
                found = b;
        }
    return found;
}

/* One map is NCHW and the other NHWC; fused, one would be read against its memory order. */
static bool lies_otherwise(fusion *f, int32_t read, int32_t written)
{
    tensor_id x = fusion_tensor_of(f, read), y = fusion_tensor_of(f, written);
    extent from = extent_of(&f->out->tensors.items[x]), to = extent_of(&f->out->tensors.items[y]);
    bool are_maps = from.rank == 4 && to.rank == 4 && from.dims[1] > 1 && from.dims[2] > 1 && to.dims[1] > 1;
    return are_maps && extent_suggests_channels_last(&from) != extent_suggests_channels_last(&to);
}

/* True if the group contains the same load before read `i` of node `n`. */
static bool is_loaded_before(const joiner *j, int32_t g, int32_t n, int i)
{
    const fuse_read *r = &node_at(j, n)->reads[i];
    for (int32_t m = j->groups[g].first; m != NO_ITEM && m <= n; m = j->next[m])
        for (int k = 0; k < (m == n ? i : node_at(j, m)->read_count); k++)
            if (node_at(j, m)->reads[k].buffer == r->buffer &&
                access_hash(&node_at(j, m)->reads[k].at) == access_hash(&r->at))
                return true;
    return false;
}

/* Counts the loads of a group by kind. The memory order of buffers much smaller than the loops does not matter,
 * because they come from the cache. */
static kernel_loops loops_of(const joiner *j, int32_t g)
{
    kernel_loops loops = {.reduced = j->groups[g].reduced};
    int64_t count = mul_wrapping(j->groups[g].elements, j->groups[g].reduced);
    int32_t written = written_by(j, g);
    for (int32_t n = j->groups[g].first; n != NO_ITEM; n = j->next[n])
        for (int i = 0; i < node_at(j, n)->read_count; i++) {
            const fuse_read *r = &node_at(j, n)->reads[i];
            const fuse_buffer *b = &j->f->buffers.items[r->buffer];
            if ((b->writer != NO_FUSE_NODE && group_of(j, b->writer) == g) || is_loaded_before(j, g, n, i))
                continue;
            bool is_scattered = r->at.is_scattered && !r->at.is_narrow;
            loops.loads += r->times;
            loops.scattered += is_scattered ? r->times : 0;
            loops.gathered += is_scattered && r->at.is_gathered ? r->times : 0;
            if (r->at.is_scattered ? is_scattered && lies_otherwise(j->f, r->buffer, written)
                                   : !r->is_in_order && b->elements > count / 2)
                loops.turned += r->times;
        }
    return loops;
}

static void emit_group(const joiner *j, int32_t g)
{
    fusion *f = j->f;
    const group *x = &j->groups[g];
    int32_t read_count = 0, write_count = 0, op_count = 0;
    for (int32_t n = x->first; n != NO_ITEM; n = j->next[n]) {
        read_count += node_at(j, n)->read_count;
        write_count += node_at(j, n)->write_count;
        op_count += node_at(j, n)->op_count;
    }
    kernel k = {.op = x->reduced == 1      ? "triton_poi"
                      : x->reduced <= 1024 ? "triton_per"
                                           : "triton_red",
                .layer = NO_NODE,
                .loops = loops_of(j, g),
                .repeat = node_at(j, x->first)->repeat};
    tensor_id *held = ARENA_ARRAY(f->arena, tensor_id, (size_t)read_count + (size_t)write_count + 1);
    const char **ops = ARENA_ARRAY(f->arena, const char *, (size_t)op_count + 1);
    k.inputs = held;
    k.input_count = collect_inputs(j, g, held, &k);
    k.outputs = held + k.input_count;
    int64_t most_flops = -1;
    for (int32_t n = x->first; n != NO_ITEM; n = j->next[n]) {
        const fuse_node *node = node_at(j, n);
        for (int i = 0; i < node->write_count; i++)
            if (is_read_outside(j, node->writes[i], g)) {
                k.bytes_written = add_saturated(k.bytes_written, f->buffers.items[node->writes[i]].bytes);
                held[k.input_count + k.output_count++] = fusion_tensor_of(f, node->writes[i]);
            }
        for (int i = 0; i < node->op_count; i++) {
            int at = 0;
            while (at < k.fused_count && strcmp(ops[at], node->ops[i]) != 0)
                at++;
            if (at == k.fused_count)
                ops[k.fused_count++] = node->ops[i];
        }
        k.flops = add_saturated(k.flops, node->flops);
        if (node->flops > most_flops) {
            most_flops = node->flops;
            k.layer = node->layer;
        }
    }
    k.fused = ops;
    if (k.output_count > 0)
        *(kernel *)ARENA_PUSH(f->arena, &f->out->kernels) = k;
}

/* True if the part differs from the whole in exactly one dimension. That is never so for a stack, or for a
 * concatenation under a view. */
static bool is_part(const placed_tensor *part, const placed_tensor *all)
{
    int differ = 0;
    for (int i = 0; i < all->rank && part->rank == all->rank; i++)
        differ += part->dims[i] != all->dims[i];
    return part->rank == all->rank && differ == 1;
}

/* Places the parts of each concatenation in its memory, with its strides. */
static void place_parts(fusion *f)
{
    for (int32_t i = 0; i < f->nodes.count; i++) {
        const fuse_node *n = &f->nodes.items[i];
        if (n->kind != FUSE_JOIN)
            continue;
        tensor_id joined = fusion_tensor_of(f, n->writes[0]); /* May move the array of tensors. */
        for (int k = 0; k < n->read_count; k++) {
            fuse_buffer *part = &f->buffers.items[n->reads[k].buffer];
            placed_tensor made = f->out->tensors.items[part->tensor];
            const placed_tensor *all = &f->out->tensors.items[joined];
            if (!is_part(&made, all))
                continue;
            made.strides = all->strides;
            made.storage = all->storage;
            *(placed_tensor *)ARENA_PUSH(f->arena, &f->out->tensors) = made;
            part->placed = f->out->tensors.count;
        }
    }
}

/* Returns a group that node `n` reads from and that was not visited yet; NO_ITEM if there is none. */
static int32_t unvisited_before(joiner *j, int32_t n, const bool *is_done, const int32_t *cursor)
{
    const fuse_node *x = node_at(j, n);
    for (int i = 0; i < x->read_count; i++) {
        int32_t writer = j->f->buffers.items[x->reads[i].buffer].writer;
        int32_t before = writer == NO_FUSE_NODE ? NO_ITEM : group_of(j, writer);
        if (before != NO_ITEM && before != group_of(j, n) && !is_done[before] && !cursor[before])
            return before;
    }
    return NO_ITEM;
}

/* Emits the kernels of all groups, each after the kernels that it reads from. */
static void emit_all(joiner *j)
{
    fusion *f = j->f;
    int32_t *cursor =
        ARENA_ARRAY(f->arena, int32_t, (size_t)f->nodes.count + 1); /* Indexed by group: 1 + the next node to visit. */
    bool *is_done = ARENA_ARRAY(f->arena, bool, (size_t)f->nodes.count + 1);
    for (int32_t start = 0; start < f->nodes.count; start++) {
        int32_t depth = 0, g = group_of(j, start);
        if (is_done[g])
            continue;
        j->stack[depth++] = g;
        while (depth > 0) {
            g = j->stack[depth - 1];
            int32_t waits_for = NO_ITEM;
            int32_t n = cursor[g] ? cursor[g] - 1 : j->groups[g].first;
            for (; n != NO_ITEM; n = j->next[n]) {
                waits_for = unvisited_before(j, n, is_done, cursor);
                if (waits_for != NO_ITEM)
                    break;
            }
            cursor[g] = (n == NO_ITEM ? j->groups[g].last : n) + 1;
            if (waits_for != NO_ITEM) {
                j->stack[depth++] = waits_for;
                continue;
            }
            depth--;
            is_done[g] = true;
            if (node_at(j, g)->kind == FUSE_CALL)
                emit_call(f, node_at(j, g));
            else if (node_at(j, g)->kind == FUSE_LOOP)
                emit_group(j, g);
        }
    }
}

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
    place_parts(f);
    emit_all(&j);
}
