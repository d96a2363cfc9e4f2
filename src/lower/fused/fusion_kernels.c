/* fusion_kernels.c: writes the kernels of fused groups: their inputs and outputs, bytes and loads. */
#include "lower/fused/fusion_groups.h"

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

void fusion_write_kernels(joiner *j)
{
    fusion *f = j->f;
    place_parts(f);
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
