/* inductor.c: lowers a network to the kernels of a compiling runtime, as TorchInductor of PyTorch 2.15 does.
 * Pointwise operators become formulas, which each reader recomputes. A formula with many readers or loads is stored
 * in a buffer instead. Library calls always read and write buffers; fusion.c fuses the remaining loops. Not
 * modelled: choices that the compiler makes by timing kernels. */
#include "lower/fused/inductor.h"

#include "graph/infer.h"

/* Limits of PyTorch's torch/_inductor/config.py: realize_reads_threshold and realize_opcount_threshold. The last one
 * is the threshold of has_large_inner_fn() in run_node() of torch/_inductor/graph.py. */
enum {
    MAX_READS_SHARED = 4, /* A formula with more loads that has several readers is stored in a buffer. */
    MAX_OPS = 30,
    MAX_OPS_ALONE = 100, /* Largest operation count of a formula with a single load. */
};

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static access identity(inductor *c, int64_t elements)
{
    return access_of(c->arena, &(piece){elements, 1}, 1);
}

int32_t inductor_add_buffer(inductor *c, tensor_id t, int32_t writer)
{
    fuse_buffer *b = ARENA_PUSH(c->arena, &c->f.buffers);
    const placed_tensor *x = tensor_at(c, t);
    b->tensor = t;
    b->elements = 1;
    for (int i = 0; i < x->rank; i++)
        b->elements = mul_wrapping(b->elements, x->dims[i]);
    for (int i = 0; i < x->rank; i++) /* Broadcast dimensions take no memory. */
        if (x->strides[i] == 0 && x->dims[i] > 1)
            b->elements /= x->dims[i];
    b->bytes = b->elements * dtype_bits(x->dtype) / 8;
    b->layout = identity(c, b->elements);
    b->writer = writer;
    return c->f.buffers.count - 1;
}

int32_t inductor_add_box(inductor *c, tensor_id t)
{
    box *b = ARENA_PUSH(c->arena, &c->boxes);
    b->buffer = NO_BOX;
    b->tensor = t;
    b->dtype = tensor_at(c, t)->dtype;
    extent_read(&b->own, tensor_at(c, t));
    return c->boxes.count - 1;
}

tensor_id inductor_new_tensor(inductor *c, const extent *x, dtype type)
{
    int64_t *numbers = arena_room(c->arena, 2 * (size_t)x->rank + 1, sizeof *numbers);
    memcpy(numbers, x->dims, (size_t)x->rank * sizeof *numbers);
    memcpy(numbers + x->rank, x->strides, (size_t)x->rank * sizeof *numbers);
    placed_tensor *t = ARENA_PUSH(c->arena, &c->f.out->tensors);
    *t = (placed_tensor){.dtype = type,
                         .rank = (int8_t)x->rank,
                         .dims = numbers,
                         .strides = numbers + x->rank,
                         .storage = c->f.out->storage_count++,
                         .value = NO_VALUE};
    return c->f.out->tensors.count - 1;
}

/* Returns the box of a tensor that is the first of equal tensors (`same`). */
static int32_t box_of_first(inductor *c, tensor_id t)
{
    int32_t *b = &c->box_of_storage[tensor_at(c, t)->storage];
    if (*b == NO_BOX) { /* The tensor is a weight or an input of the network. */
        tensor_id whole = c->first[tensor_at(c, t)->storage];
        *b = inductor_add_box(c, whole);
        c->boxes.items[*b].buffer = inductor_add_buffer(c, whole, NO_FUSE_NODE);
        fuse_buffer *made = &c->f.buffers.items[c->boxes.items[*b].buffer];
        made->is_fixed = true;
        int32_t storage = tensor_at(c, t)->storage;
        if (c->kept && storage < c->kept_count && c->kept[storage].placed) { /* Another part wrote it. */
            made->layout = c->kept[storage].layout;
            made->placed = c->kept[storage].placed;
        }
    }
    return *b;
}

static int32_t box_of(inductor *c, tensor_id t)
{
    return box_of_first(c, c->same[t]);
}

void inductor_operand_of(inductor *c, tensor_id t, operand *made)
{
    t = c->same[t];
    made->box = box_of_first(c, t);
    made->part = c->part[t];
    extent_read(&made->at, tensor_at(c, t));
}

void inductor_operand_broadcast(operand *made, const operand *x, const extent *to, int first_dim)
{
    made->box = x->box;
    made->part = x->part;
    made->at.rank = to->rank;
    for (int i = 0; i < to->rank; i++) {
        int own = i - first_dim;
        made->at.dims[i] = to->dims[i];
        made->at.strides[i] =
            own < 0 || own >= x->at.rank || (x->at.dims[own] == 1 && to->dims[i] != 1) ? 0 : x->at.strides[own];
    }
}

/* Sorts the dimensions by stride, largest first. */
static void walk_order(const extent *x, int *order)
{
    for (int i = 0; i < x->rank; i++) {
        int at = i;
        while (at > 0 && x->strides[order[at - 1]] < x->strides[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

access inductor_walk_operand(inductor *c, const operand *x, const int *order, int count)
{
    piece loops[MAX_PLACED_RANK];
    for (int i = 0; i < count; i++)
        loops[i] = (piece){x->at.dims[order[i]], x->at.strides[order[i]]};
    access made = access_of(c->arena, loops, count);
    made.part = x->part;
    return made;
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

void inductor_add_read(read_list *l, fuse_read r)
{
    for (int i = 0; i < l->count; i++)
        if (l->items[i].buffer == r.buffer && l->items[i].times == r.times &&
            access_hash(&l->items[i].at) == access_hash(&r.at))
            return;
    if (l->count < (int)(sizeof l->items / sizeof *l->items))
        l->items[l->count++] = r;
}

/* Appends the operand's reads to the list, composed with the loops `outer`, and in a reduction also with `inner`. */
void inductor_read_operand(inductor *c, read_list *l, const operand *x, const access *outer, const access *inner,
                           int times)
{
    const box *b = &c->boxes.items[x->box];
    if (b->buffer != NO_BOX) {
        inductor_add_read(l, (fuse_read){.buffer = b->buffer,
                                         .times = times,
                                         .at = inner ? access_join(c->arena, outer, inner) : *outer});
        return;
    }
    for (int i = 0; i < b->read_count; i++) {
        fuse_read r = b->reads[i];
        r.at = access_compose(c->arena, outer, &b->reads[i].at);
        if (inner) {
            access near = access_compose(c->arena, inner, &b->reads[i].at);
            r.at = access_join(c->arena, &r.at, &near);
        }
        r.times *= times;
        inductor_add_read(l, r);
    }
}

void inductor_keep_ops(inductor *c, const char ***ops, int32_t *count, const char *op, const operand *in, int operands)
{
    int32_t most = 1;
    for (int i = 0; i < operands; i++)
        most += c->boxes.items[in[i].box].buffer == NO_BOX ? c->boxes.items[in[i].box].op_count : 0;
    const char **made = ARENA_ARRAY(c->arena, const char *, (size_t)most + 1);
    int32_t n = 0;
    for (int i = 0; i < operands; i++) {
        const box *b = &c->boxes.items[in[i].box];
        for (int k = 0; b->buffer == NO_BOX && k < b->op_count; k++) {
            int32_t at = 0;
            while (at < n && made[at] != b->ops[k])
                at++;
            if (at == n)
                made[n++] = b->ops[k];
        }
    }
    made[n++] = op;
    *ops = made;
    *count = n;
}

/* True if the operand is stored as a channels-last map. */
static bool lies_last(inductor *c, const operand *x)
{
    const box *b = &c->boxes.items[x->box];
    if (x->at.rank != 4)
        return false;
    if (b->buffer == NO_BOX)
        return b->is_last ? memcmp(x->at.strides, b->own.strides, 4 * sizeof(int64_t)) == 0
                          : extent_suggests_channels_last(&x->at);
    const access *layout = &c->f.buffers.items[b->buffer].layout;
    extent real;
    real.rank = 4;
    for (int i = 0; i < 4; i++) {
        int64_t stride;
        real.dims[i] = x->at.dims[i];
        int loops = access_along(layout, x->at.dims[i], x->at.strides[i], &stride);
        if (loops < 0 || loops > 1)
            return false;
        real.strides[i] = loops ? stride : 1;
    }
    return extent_is_channels_last(&real) || extent_suggests_channels_last(&real);
}

static bool wants_last(inductor *c, const extent *out, const operand *in, int count)
{
    for (int i = 0; c->is_last && out->rank == 4 && i < count; i++)
        if (in[i].at.rank == 4 && in[i].at.dims[0] == out->dims[0] && in[i].at.dims[2] > 1 &&
            in[i].at.strides[1] != 0 && lies_last(c, &in[i]))
            return true;
    return false;
}

static int32_t finish_formula(inductor *c, const char *op, const extent *out, dtype type, const operand *in, int count,
                              const read_list *l, int op_total)
{
    tensor_id t = c->k->outputs[0];
    extent made = extent_of(tensor_at(c, t));
    if (tensor_at(c, t)->dtype != type || made.rank != out->rank ||
        memcmp(made.dims, out->dims, (size_t)out->rank * sizeof *out->dims) != 0 ||
        memcmp(made.strides, out->strides, (size_t)out->rank * sizeof *out->strides) != 0)
        t = inductor_new_tensor(c, out, type);
    bool is_last = wants_last(c, out, in, count);
    int32_t made_box = inductor_add_box(c, t);
    box *b = &c->boxes.items[made_box];
    b->is_last = is_last;
    b->is_computed = true;
    b->reads = arena_copy(c->arena, l->items, (size_t)l->count, sizeof *l->items);
    b->read_count = l->count;
    b->op_total = op_total;
    b->flops = c->k->flops;
    for (int i = 0; i < l->count; i++)
        b->reads_all += l->items[i].times;
    for (int i = 0; i < count; i++) {
        const box *from = &c->boxes.items[in[i].box];
        b->op_total += from->buffer == NO_BOX ? from->op_total : 1;
        b->flops = add_saturated(b->flops, from->buffer == NO_BOX ? from->flops : 0);
    }
    inductor_keep_ops(c, &b->ops, &b->op_count, op, in, count);
    return made_box;
}

int32_t inductor_make_pointwise(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int op_total)
{
    int order[MAX_PLACED_RANK] = {0};
    read_list l; /* Large, so only the first `count` entries are initialized. */
    l.count = 0;
    operand wide[MAX_OPERANDS];
    count = count < MAX_OPERANDS ? count : MAX_OPERANDS;
    walk_order(out, order);
    for (int i = 0; i < count; i++) {
        inductor_operand_broadcast(&wide[i], &in[i], out, out->rank - in[i].at.rank);
        access at = inductor_walk_operand(c, &wide[i], order, out->rank);
        inductor_read_operand(c, &l, &wide[i], &at, NULL, 1);
    }
    return finish_formula(c, op, out, type, wide, count, &l, op_total);
}

int32_t inductor_make_scattered(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int times, bool is_gathered)
{
    read_list l; /* Large, so only the first `count` entries are initialized. */
    l.count = 0;
    count = count < MAX_OPERANDS ? count : MAX_OPERANDS;
    for (int i = 0; i < count; i++) {
        int64_t read = extent_elements(&in[i].at), made = mul_wrapping(extent_elements(out), times);
        access at = access_scattered(c->arena, read < made ? read : made);
        at.part = in[i].part;
        at.is_gathered = is_gathered;
        inductor_read_operand(c, &l, &in[i], &at, NULL, times);
    }
    return finish_formula(c, op, out, type, in, count, &l, 2 * times);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

fuse_node *inductor_add_node(inductor *c, fuse_kind kind)
{
    fuse_node *n = ARENA_PUSH(c->arena, &c->f.nodes);
    n->kind = kind;
    n->elements = n->reduced = 1;
    n->layer = c->k->layer;
    n->repeat = c->k->repeat;
    return n;
}

/* Returns the channels-last layout of `x`. */
static access last_layout(inductor *c, const extent *x)
{
    operand real;
    int order[MAX_PLACED_RANK] = {0};
    walk_order(x, order);
    real.part = 0;
    real.at.rank = x->rank;
    memcpy(real.at.dims, x->dims, (size_t)x->rank * sizeof *x->dims);
    extent_channels_last(&real.at);
    return inductor_walk_operand(c, &real, order, x->rank);
}

void inductor_realize(inductor *c, int32_t number)
{
    box *b = &c->boxes.items[number];
    if (b->buffer != NO_BOX)
        return;
    int32_t node = c->f.nodes.count, buffer = inductor_add_buffer(c, b->tensor, node);
    if (b->is_last)
        c->f.buffers.items[buffer].layout = last_layout(c, &b->own);
    fuse_node *n = inductor_add_node(c, FUSE_LOOP);
    n->elements = extent_elements(&b->own);
    n->reads = b->reads;
    n->read_count = b->read_count;
    n->writes[n->write_count++] = buffer;
    n->ops = b->ops;
    n->op_count = b->op_count;
    n->flops = b->flops;
    b->buffer = buffer;
    b->reads_all = b->op_total = 1;
}

/* Stores a formula in a buffer. Near a convolution, a 4-D buffer becomes channels last. Its layout is then fixed. */
static void realize_near(inductor *c, int32_t number)
{
    box *b = &c->boxes.items[number];
    bool is_settled = b->buffer == NO_BOX && c->prefers_last && b->own.rank == 4;
    b->is_last |= is_settled;
    inductor_realize(c, number);
    c->f.buffers.items[c->boxes.items[number].buffer].is_fixed |= is_settled;
}

void inductor_mark_reuse(inductor *c, int32_t number, int users)
{
    box *b = &c->boxes.items[number];
    if (b->buffer != NO_BOX || users < 2 || (b->reads_all <= MAX_READS_SHARED && b->op_total <= MAX_OPS))
        return;
    realize_near(c, number);
}

static void realize_hint(inductor *c, int32_t number)
{
    if (c->boxes.items[number].reads_all > 1)
        inductor_realize(c, number);
}

void inductor_set_tensor(inductor *c, tensor_id t, int32_t b)
{
    c->box_of_storage[tensor_at(c, t)->storage] = b;
}

/* ---- library calls ----------------------------------------------------------------------------------------------- */

static bool is_own_tensor(const box *b, const placed_tensor *t)
{
    return b->own.rank == t->rank && memcmp(b->own.dims, t->dims, (size_t)t->rank * sizeof *t->dims) == 0 &&
           memcmp(b->own.strides, t->strides, (size_t)t->rank * sizeof *t->strides) == 0;
}

static bool is_repeated(const extent *x)
{
    for (int i = 0; i < x->rank; i++)
        if (x->strides[i] == 0 && x->dims[i] > 1)
            return true;
    return false;
}

/* Returns a contiguous copy of the operand. */
static operand copied(inductor *c, const operand *x)
{
    operand made = {.at = x->at};
    extent_contiguous(&made.at);
    made.box = inductor_make_pointwise(c, "clone", &made.at, c->boxes.items[x->box].dtype, x, 1, 1);
    const box *from = &c->boxes.items[x->box];
    c->boxes.items[made.box].flops =
        from->buffer == NO_BOX ? from->flops : 0; /* The result of a library call keeps its FLOPs. */
    return made;
}

/* Stores the tensor in a buffer for a library call, channels last if `last`. Returns the read of the buffer. */
static fuse_read read_for_call(inductor *c, tensor_id t, bool last)
{
    operand x;
    inductor_operand_of(c, t, &x);
    box *b = &c->boxes.items[x.box];
    last &= x.at.rank == 4;
    bool is_own = is_own_tensor(b, tensor_at(c, c->same[t]));
    if (b->buffer == NO_BOX && !last && !extent_is_contiguous(&x.at) && !is_repeated(&x.at)) {
        x = copied(c, &x); /* Under a transposing view, the formula is computed in the order of the view. */
        b = &c->boxes.items[x.box];
    } else if (b->buffer == NO_BOX) {
        b->is_last = is_own && (last || b->is_last); /* Other views expect the layout of the eager program. */
        inductor_realize(c, x.box);
        b = &c->boxes.items[x.box];
    } else if (last && is_own && !c->f.buffers.items[b->buffer].is_fixed && b->is_computed) {
        c->f.buffers.items[b->buffer].layout = last_layout(c, &b->own);
    }
    if (last && !lies_last(c, &x)) {
        x = copied(c, &x);
        c->boxes.items[x.box].is_last = true;
        b = &c->boxes.items[x.box];
    }
    inductor_realize(c, x.box);
    c->f.buffers.items[b->buffer].is_fixed = true;
    int order[MAX_PLACED_RANK] = {0};
    walk_order(&x.at, order);
    tensor_id seen = x.box == box_of(c, t) ? t : b->tensor;
    return (fuse_read){
        .buffer = b->buffer, .times = 1, .tensor = seen, .at = inductor_walk_operand(c, &x, order, x.at.rank)};
}

/* Adds a library call or a concatenation. The layout of its results is fixed. */
static void add_fixed(inductor *c, fuse_kind kind, fuse_read *reads, int count, bool is_last)
{
    int results = c->trains && c->k->output_count < MAX_NODE_WRITES ? c->k->output_count
                  : c->trains                                       ? MAX_NODE_WRITES
                                                                    : 1;
    int32_t number = c->f.nodes.count, writes[MAX_NODE_WRITES] = {0};
    for (int i = 0; i < results; i++) {
        tensor_id t = c->k->outputs[i];
        int32_t b = inductor_add_box(c, t);
        writes[i] = c->boxes.items[b].buffer = inductor_add_buffer(c, t, number);
        c->boxes.items[b].reads_all = c->boxes.items[b].op_total = 1;
        c->f.buffers.items[writes[i]].is_fixed = true;
        if (is_last && tensor_at(c, t)->rank == 4)
            c->f.buffers.items[writes[i]].layout = last_layout(c, &c->boxes.items[b].own);
        inductor_set_tensor(c, t, b);
    }
    fuse_node *n = inductor_add_node(c, kind);
    n->call = c->k;
    n->reads = reads;
    n->read_count = count;
    n->write_count = results;
    memcpy(n->writes, writes, sizeof writes);
}

void inductor_call_library(inductor *c)
{
    const kernel *k = c->k;
    bool is_conv = is_op(k, "convolution"), last = (is_conv || is_op(k, "convolution_backward")) && c->is_last;
    int32_t count = k->input_count;
    fuse_read *reads = ARENA_ARRAY(c->arena, fuse_read, (size_t)count + 1);
    if (is_conv && count > 2) { /* The bias sum becomes part of the next loop. */
        if (!c->is_last)
            inductor_realize(c, box_of(c, k->inputs[2]));
        count = 2;
    }
    for (int i = 0; i < count; i++)
        reads[i] = read_for_call(c, k->inputs[i], last);
    add_fixed(c, FUSE_CALL, reads, count, last);
}

void inductor_join_buffers(inductor *c, fuse_read *reads, int count, bool is_last)
{
    add_fixed(c, FUSE_JOIN, reads, count, is_last);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Returns the number of nodes that the operator has in the compiler's graph after decomposition. */
int32_t inductor_graph_nodes(const kernel *k)
{
    static const struct {
        const char *op;
        int nodes;
    } PARTS[] = {{"cudnn_batch_norm", 18},
                 {"native_batch_norm", 18},
                 {"native_layer_norm", 10},
                 {"native_group_norm", 14},
                 {"gelu", 8},
                 {"silu", 5},
                 {"_softmax", 6},
                 {"hardswish", 7}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (is_op(k, PARTS[i].op))
            return PARTS[i].nodes;
    return 1;
}

/* True if the network's convolutions run channels last, which a weighted sum of their FLOPs decides. The four
 * weights and the limit of 300 nodes per convolution are those of decide_layout_opt() in PyTorch's
 * torch/_inductor/graph.py (2.1 to 2.9). */
static bool chooses_last(const inductor *c)
{
    double nodes = 0, convolutions = 0, all = 0, weighted = 0;
    for (int32_t i = 0; i < c->in->kernels.count; i++) {
        const kernel *k = &c->in->kernels.items[i];
        nodes += inductor_graph_nodes(k);
        for (int n = 0; n < k->input_count; n++)
            nodes += tensor_at(c, k->inputs[n])->is_weight;
        if (!is_op(k, "convolution"))
            continue;
        const placed_tensor *w = tensor_at(c, k->inputs[1]);
        int64_t out = w->dims[0], in = w->dims[1];
        bool is_grouped = k->window && k->window->groups > 1 && in > 1;
        double weight = is_grouped                                       ? 1.358
                        : out <= 64 && in <= 64                          ? 0.783
                        : out <= in / 2 && w->rank > 2 && w->dims[2] > 1 ? 0.725
                                                                         : 0.823;
        convolutions++;
        all += (double)k->flops;
        weighted += weight * (double)k->flops;
    }
    return convolutions > 0 && nodes < 300 * convolutions && weighted <= all;
}

static bool is_plain_view(const kernel *k)
{
    return k->flags & KERNEL_VIEW && strcmp(k->op, "split") != 0 && strcmp(k->op, "slice") != 0 &&
           strcmp(k->op, "select") != 0 && strcmp(k->op, "unfold") != 0;
}

/* Merges equal casts, copies and views of activations, but not those of weights, because exporters merge weights of
 * equal value. */
static void find_equal(inductor *c)
{
    const program *p = c->in;
    /* Indexed by input: output of its last reader so far. */
    tensor_id *first = ARENA_ARRAY(c->arena, tensor_id, (size_t)p->tensors.count + 1);
    /* Indexed by output: next output that reads the same input. */
    tensor_id *next = ARENA_ARRAY(c->arena, tensor_id, (size_t)p->tensors.count + 1);
    const kernel **maker = ARENA_ARRAY(c->arena, const kernel *, (size_t)p->tensors.count + 1);
    for (tensor_id t = 0; t < p->tensors.count; t++) {
        first[t] = next[t] = NO_TENSOR;
        c->same[t] = t;
    }
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        tensor_id out = k->outputs[0];
        if (k->input_count == 0)
            continue;
        tensor_id in = c->same[k->inputs[0]];
        if (k->flags & KERNEL_VIEW)
            c->part[out] = is_plain_view(k) ? c->part[in] : out + 1;
        bool may = is_plain_view(k) && k->input_count == 1 && !p->tensors.items[in].is_weight;
        if (!may || k->flags & (KERNEL_HIDDEN | KERNEL_IN_PLACE))
            continue;
        const placed_tensor *made = &p->tensors.items[out];
        int tried = 0; /* Limits the search for tensors with very many readers. */
        for (tensor_id t = first[in]; t != NO_TENSOR && c->same[out] == out && tried++ < 32; t = next[t]) {
            const placed_tensor *other = &p->tensors.items[t];
            if (strcmp(maker[t]->op, k->op) == 0 && other->dtype == made->dtype && other->rank == made->rank &&
                memcmp(other->dims, made->dims, (size_t)made->rank * sizeof *made->dims) == 0 &&
                memcmp(other->strides, made->strides, (size_t)made->rank * sizeof *made->strides) == 0)
                c->same[out] = t;
        }
        c->is_dropped[i] = c->same[out] != out;
        maker[out] = k;
        next[out] = first[in];
        first[in] = out;
    }
}

/* True for a split that counts as the same reader as an earlier one. A split in two, or along the last dimension,
 * counts as one reader; other splits become slices that count separately. */
static bool is_other_half(const inductor *c, int32_t i)
{
    const kernel *all = c->in->kernels.items, *k = &all[i];
    int32_t first = i, last = i;
    if (!is_op(k, "split"))
        return false;
    while (first > 0 && i - first < 2 && strcmp(all[first - 1].op, "split") == 0 && all[first - 1].layer == k->layer)
        first--;
    while (last + 1 < c->in->kernels.count && last - i < 2 && strcmp(all[last + 1].op, "split") == 0 &&
           all[last + 1].layer == k->layer)
        last++;
    const placed_tensor *part = tensor_at(c, k->outputs[0]);
    bool is_of_rows = part->dims[part->rank - 1] != tensor_at(c, k->inputs[0])->dims[part->rank - 1];
    return i > first && (is_of_rows || last - first == 1);
}

/* Drops views without readers. */
static void drop_idle_views(inductor *c)
{
    const program *p = c->in;
    bool *is_read = ARENA_ARRAY(c->arena, bool, (size_t)p->tensors.count + 1);
    for (int32_t i = p->kernels.count - 1; i >= 0; i--) {
        const kernel *k = &p->kernels.items[i];
        if (c->is_dropped[i])
            continue;
        tensor_id made = k->outputs[0];
        c->is_dropped[i] = k->flags & KERNEL_VIEW && !is_read[made] && !c->is_output[made];
        for (int n = 0; !c->is_dropped[i] && n < k->input_count; n++)
            is_read[c->same[k->inputs[n]]] = true;
    }
}

static void index_users(inductor *c)
{
    const program *p = c->in;
    int32_t *start = c->user_start;
    bool *is_counted = arena_room(c->arena, (size_t)p->kernels.count + 1, sizeof *is_counted); /* Indexed by kernel. */
    for (int32_t i = 0; i < p->kernels.count; i++)
        is_counted[i] = !c->is_dropped[i] && !(p->kernels.items[i].flags & KERNEL_HIDDEN) && !is_other_half(c, i);
    for (int32_t i = 0; i < p->kernels.count; i++)
        for (int k = 0; is_counted[i] && k < p->kernels.items[i].input_count; k++)
            start[c->same[p->kernels.items[i].inputs[k]] + 1]++;
    for (tensor_id t = 0; t < p->tensors.count; t++)
        start[t + 1] += start[t];
    int32_t *at = arena_copy(c->arena, start, (size_t)p->tensors.count + 1, sizeof *start);
    c->users = ARENA_ARRAY(c->arena, int32_t, (size_t)start[p->tensors.count] + 1);
    for (int32_t i = 0; i < p->kernels.count; i++)
        for (int k = 0; is_counted[i] && k < p->kernels.items[i].input_count; k++)
            c->users[at[c->same[p->kernels.items[i].inputs[k]]]++] = i;
}

/* Marks the kernels that are connected to a convolution: those that lead to one, and those after one, up to the last
 * convolution. Batched products stop the search. */
static void find_near(inductor *c)
{
    int32_t last = NO_BOX;
    for (int32_t i = c->in->kernels.count - 1; i >= 0; i--) {
        const kernel *k = &c->in->kernels.items[i];
        tensor_id t = k->outputs[0];
        bool is_conv = is_op(k, "convolution") || is_op(k, "convolution_backward");
        last = is_conv && last == NO_BOX ? i : last;
        c->is_near[i] = is_conv;
        for (int32_t u = c->user_start[t]; !is_conv && !is_op(k, "bmm") && u < c->user_start[t + 1]; u++)
            c->is_near[i] |= c->is_near[c->users[u]];
    }
    for (int32_t i = 0; i < last; i++) {
        tensor_id t = c->in->kernels.items[i].outputs[0];
        for (int32_t u = c->user_start[t]; c->is_near[i] && u < c->user_start[t + 1]; u++)
            c->is_near[c->users[u]] |= !is_op(&c->in->kernels.items[c->users[u]], "bmm");
    }
}

/* Marks what the kernels of a training step's part write for others. */
static void find_kept(inductor *c, const bool *is_kept)
{
    for (int32_t i = 0; i < c->in->kernels.count; i++) {
        const kernel *k = &c->in->kernels.items[i];
        for (int n = 0; n < k->output_count && !(k->flags & KERNEL_VIEW); n++)
            c->is_output[k->outputs[n]] = is_kept[tensor_at(c, k->outputs[n])->storage];
    }
}

static void find_outputs(inductor *c)
{
    const bool *is_value = lower_output_values(&c->model->net, c->arena);
    for (tensor_id t = 0; t < c->in->tensors.count; t++) {
        value_id v = c->in->tensors.items[t].value;
        c->is_output[t] = v != NO_VALUE && is_value[v];
    }
}

/* Gives a buffer the strides of the eager program as soon as it is viewed, unless its layout is already fixed. */
static void settle_under_view(inductor *c, tensor_id t)
{
    int32_t b = c->box_of_storage[tensor_at(c, t)->storage];
    if (b == NO_BOX || c->boxes.items[b].buffer == NO_BOX || !c->boxes.items[b].is_computed)
        return;
    fuse_buffer *buffer = &c->f.buffers.items[c->boxes.items[b].buffer];
    if (!buffer->is_fixed)
        buffer->layout = identity(c, buffer->elements);
    buffer->is_fixed = true;
}

/* Decides whether the result of a kernel is stored in a buffer. */
static void settle(inductor *c, tensor_id t)
{
    int32_t b = c->box_of_storage[tensor_at(c, t)->storage];
    int users = c->user_start[t + 1] - c->user_start[t] + c->is_output[t];
    if (b == NO_BOX || c->boxes.items[b].buffer != NO_BOX)
        return;
    if (!is_own_tensor(&c->boxes.items[b], tensor_at(c, t))) {
        c->prefers_last = false;
        if (users > 1)
            c->boxes.items[b].is_last = false; /* Views expect the layout of the eager program. */
    }
    for (int32_t i = c->user_start[t]; users > 1 && i < c->user_start[t + 1]; i++) {
        const kernel *user = &c->in->kernels.items[c->users[i]];
        if (strcmp(user->op, "mm") == 0 || (!c->is_last && strcmp(user->op, "convolution") == 0))
            inductor_realize(c, b); /* These operators need the layout before they are lowered. */
        else if (inductor_needs_buffers(user))
            realize_hint(c, b);
    }
    inductor_mark_reuse(c, b, users);
    if (c->boxes.items[b].reads_all > MAX_READS || c->boxes.items[b].op_total > MAX_OPS) {
        if (c->boxes.items[b].reads_all > 1 || c->boxes.items[b].op_total > MAX_OPS_ALONE)
            realize_near(c, b);
    }
}

/* Lowers the kernels of c->in to loops and calls. */
static void lower_all(inductor *c)
{
    for (int32_t i = 0; i < c->in->kernels.count; i++) {
        c->k = &c->in->kernels.items[i];
        if (c->is_dropped[i])
            continue;
        c->prefers_last = c->is_last && c->is_near[i];
        if (c->k->flags & KERNEL_VIEW)
            settle_under_view(c, c->k->outputs[0]);
        lower_kernel(c);
        for (int n = 0; n < (c->trains ? c->k->output_count : 1); n++)
            settle(c, c->k->outputs[n]);
    }
}

/* Remembers where the part put a tensor that others read. */
static void note_kept(inductor *c, int32_t storage, int32_t buffer)
{
    if (c->kept && storage < c->kept_count)
        c->kept[storage] = (inductor_kept){c->f.buffers.items[buffer].layout, 1 + fusion_tensor_of(&c->f, buffer)};
}

void inductor_compile(inductor *c, program *in, program *out, const bool *is_kept)
{
    arena *a = c->arena;
    size_t tensors = (size_t)in->tensors.count + 2;
    c->f = (fusion){.arena = a, .out = out};
    c->in = in;
    c->boxes.items = NULL;
    c->boxes.count = c->boxes.capacity = 0;
    c->box_of_storage = ARENA_ARRAY(a, int32_t, (size_t)in->storage_count + 1);
    c->first = ARENA_ARRAY(a, tensor_id, (size_t)in->storage_count + 1);
    c->same = ARENA_ARRAY(a, tensor_id, tensors);
    c->part = ARENA_ARRAY(a, int32_t, tensors);
    c->user_start = ARENA_ARRAY(a, int32_t, tensors);
    c->is_dropped = ARENA_ARRAY(a, bool, (size_t)in->kernels.count + 1);
    c->is_near = ARENA_ARRAY(a, bool, (size_t)in->kernels.count + 1);
    c->is_output = ARENA_ARRAY(a, bool, tensors);
    ARENA_RESERVE(a, &c->boxes, (size_t)in->storage_count + 1);
    ARENA_RESERVE(a, &c->f.buffers, (size_t)in->storage_count + 1);
    ARENA_RESERVE(a, &c->f.nodes, (size_t)in->kernels.count + 1);
    for (int32_t i = 0; i < in->storage_count; i++)
        c->box_of_storage[i] = NO_BOX;
    for (tensor_id t = in->tensors.count - 1; t >= 0; t--)
        c->first[in->tensors.items[t].storage] = t;
    if (!c->trains)
        c->is_last = chooses_last(c);
    find_equal(c);
    if (is_kept)
        find_kept(c, is_kept);
    else
        find_outputs(c);
    drop_idle_views(c);
    index_users(c);
    find_near(c);
    lower_all(c);
    for (tensor_id t = 0; t < in->tensors.count; t++) {
        int32_t b = c->box_of_storage[in->tensors.items[t].storage];
        if (!c->is_output[t] || b == NO_BOX)
            continue;
        inductor_realize(c, b);
        c->f.buffers.items[c->boxes.items[b].buffer].is_output = true;
    }
    fusion_emit(&c->f);
    for (int32_t s = 0; is_kept && s < in->storage_count; s++)
        if (is_kept[s] && c->box_of_storage[s] != NO_BOX)
            note_kept(c, s, c->boxes.items[c->box_of_storage[s]].buffer);
}

program *inductor_program(const program *in, arena *a)
{
    program *out = ARENA_NEW(a, program);
    out->tensors = in->tensors;
    out->storage_count = in->storage_count;
    out->unknown_count = in->unknown_count;
    out->has_packed_weights = in->has_packed_weights;
    out->most_multiprocessors = UINT16_MAX;
    return out;
}

program *lower_inductor(sooth_model *model, const lower_options *options, arena *a)
{
    program *in = lower_eager(model, options, a);
    if (options->mode != MODE_INFER)
        return inductor_train(model, options, in, a);
    inductor_batch_turned_products(in, a);
    program *out = inductor_program(in, a);
    inductor c = {.model = model, .options = options, .arena = a};
    inductor_compile(&c, in, out, NULL);
    return out;
}
