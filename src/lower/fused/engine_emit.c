/* engine_emit.c: writes the kernels of an inference engine from the groups of engine.c. Exporters differ in zero
 * biases, shared constants and weight layouts, which an engine removes. The same network from any exporter therefore
 * results in the same kernels. */
#include "lower/fused/engine.h"

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static int64_t tensor_bytes(const engine *e, tensor_id t)
{
    const placed_tensor *p = tensor_at(e, t);
    if (p->packed_bytes)
        return p->packed_bytes;
    int64_t stored = 1; /* Broadcast dimensions take no memory. */
    for (int i = 0; i < p->rank; i++)
        stored = mul_wrapping(stored, p->strides[i] || p->dims[i] == 0 ? p->dims[i] : 1);
    return stored * dtype_bits(p->dtype) / 8;
}

static tensor_id narrowed(engine *e, tensor_id t)
{
    bool is_kept = t < e->in->tensors.count;
    if (is_kept && e->narrow_copy[t] != 0)
        return e->narrow_copy[t] - 1;
    placed_tensor made = *tensor_at(e, t);
    made.dtype = e->narrow;
    *(placed_tensor *)ARENA_PUSH(e->arena, &e->out->tensors) = made;
    if (is_kept)
        e->narrow_copy[t] = e->out->tensors.count;
    return e->out->tensors.count - 1;
}

/* True if a batch norm's parameters fold into the weight and bias of the preceding convolution. If the convolution
 * has no bias, one parameter stays and becomes its bias. */
static bool is_folded(const group *x, const kernel *k, int input)
{
    return x->kind == GROUP_PRODUCT && is_op(x->main, "convolution") && is_batch_norm(k) &&
           input > (x->main->input_count > 2 ? 0 : 1);
}

/* Returns a view of the tensor with dimensions `first` and `first + 1` swapped. */
static tensor_id with_axes_swapped(engine *e, tensor_id id, int first)
{
    placed_tensor t = *tensor_at(e, id);
    int64_t *numbers = ARENA_ARRAY(e->arena, int64_t, 2 * (size_t)t.rank);
    memcpy(numbers, t.dims, (size_t)t.rank * sizeof *numbers);
    memcpy(numbers + t.rank, t.strides, (size_t)t.rank * sizeof *numbers);
    for (int n = 0; n < 2; n++) {
        int64_t *pair = numbers + n * t.rank + first, swapped = pair[0];
        pair[0] = pair[1];
        pair[1] = swapped;
    }
    t.dims = numbers;
    t.strides = numbers + t.rank;
    *(placed_tensor *)ARENA_PUSH(e->arena, &e->out->tensors) = t;
    return e->out->tensors.count - 1;
}

/* Adds a tensor like `t` with the dimensions and strides of `x`. */
static tensor_id add_seen(engine *e, const placed_tensor *t, const extent *x)
{
    placed_tensor made = *t;
    int64_t *numbers = ARENA_ARRAY(e->arena, int64_t, 2 * (size_t)x->rank + 1);
    memcpy(numbers, x->dims, (size_t)x->rank * sizeof *numbers);
    memcpy(numbers + x->rank, x->strides, (size_t)x->rank * sizeof *numbers);
    made.rank = (int8_t)x->rank;
    made.dims = numbers;
    made.strides = numbers + x->rank;
    *(placed_tensor *)ARENA_PUSH(e->arena, &e->out->tensors) = made;
    return e->out->tensors.count - 1;
}

/* Returns the source of a copy made inside the group; any other storage is returned unchanged. */
static int32_t copied_from(const engine *e, const group *x, int32_t storage)
{
    for (int32_t i = 0; i < x->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[x->kernels.items[i]];
        if (is_op(k, "clone") && storage_of(e, k->outputs[0]) == storage)
            return storage_of(e, k->inputs[0]);
    }
    return storage;
}

/* Identifies the operands of an attention written as two products: queries, keys, values, bias. Transposes keys from
 * (…, E, L) to (…, L, E). */
static void order_operands(engine *e, const group *x, tensor_id *held, int count)
{
    const kernel *last = x->main;
    for (int32_t i = 0; i < x->kernels.count; i++)
        if (is_product(&e->in->kernels.items[x->kernels.items[i]]))
            last = &e->in->kernels.items[x->kernels.items[i]];
    const int32_t wanted[] = {copied_from(e, x, storage_of(e, x->main->inputs[0])),
                              copied_from(e, x, storage_of(e, x->main->inputs[1])),
                              copied_from(e, x, storage_of(e, last->inputs[1]))};
    for (int place = 0; place < 3; place++)
        for (int i = place; i < count; i++)
            if (storage_of(e, held[i]) == wanted[place]) {
                tensor_id found = held[i];
                for (int n = i; n > place; n--)
                    held[n] = held[n - 1];
                held[place] = found;
                break;
            }
    if (count > 1 && storage_of(e, held[1]) == wanted[1] && tensor_at(e, held[1])->rank > 1)
        held[1] = with_axes_swapped(e, held[1], tensor_at(e, held[1])->rank - 2);
}

/* Returns the input of a window that absorbed a pad: the unpadded tensor in the layout of the reader. Adds the
 * larger half of the pad to the window's padding. */
static tensor_id before_pad(engine *e, const group *x, kernel *k)
{
    const placed_tensor *from = tensor_at(e, x->pad->inputs[0]), *padded = tensor_at(e, x->pad->outputs[0]);
    placed_tensor t = *tensor_at(e, x->main->inputs[0]);
    bool is_turned = padded->dims[1] != t.dims[1] || padded->dims[2] != t.dims[2]; /* The file stores channels last. */
    extent seen = extent_of(&t), y = extent_of(tensor_at(e, x->main->outputs[0]));
    bool is_last = extent_is_channels_last(&seen) || extent_is_channels_last(&y);
    kernel_window *window = ARENA_NEW(e->arena, kernel_window);
    *window = *k->window;
    for (int i = 0; i < 2; i++) {
        seen.dims[2 + i] = from->dims[(is_turned ? 1 : 2) + i];
        int64_t more = t.dims[2 + i] - seen.dims[2 + i];
        window->padding[i] += more / 2 + more % 2;
    }
    k->window = window;
    if (is_last)
        extent_channels_last(&seen);
    else
        extent_contiguous(&seen);
    t.storage = from->storage;
    t.value = from->value;
    return add_seen(e, &t, &seen);
}

/* Broadcasts the attention bias to the shape of the scores. */
static tensor_id expanded_bias(engine *e, const tensor_id *held)
{
    const placed_tensor *q = tensor_at(e, held[0]), *keys = tensor_at(e, held[1]);
    placed_tensor bias = *tensor_at(e, held[3]);
    enum { RANK = 4 };
    if (q->rank != RANK || keys->rank != RANK || bias.rank != RANK)
        return held[3];
    const int64_t scores[RANK] = {q->dims[0], q->dims[1], q->dims[2], keys->dims[2]};
    int64_t *numbers = ARENA_ARRAY(e->arena, int64_t, 2 * RANK);
    for (int i = 0; i < RANK; i++) {
        if (bias.dims[i] != 1 && bias.dims[i] != scores[i])
            return held[3];
        numbers[i] = scores[i];
        numbers[RANK + i] = bias.dims[i] == scores[i] ? bias.strides[i] : 0;
    }
    bias.dims = numbers;
    bias.strides = numbers + RANK;
    *(placed_tensor *)ARENA_PUSH(e->arena, &e->out->tensors) = bias;
    return e->out->tensors.count - 1;
}

/* Gives each layer its own copy of a small weight: exporters merge equal small weights, but an engine stores the
 * weights of each layer together. */
static tensor_id own_weight(engine *e, tensor_id t)
{
    placed_tensor own = *tensor_at(e, t);
    if (!own.is_weight || own.storage >= e->in->storage_count || elements_of(e, t) > LOWER_LARGEST_MERGED)
        return t;
    if (!e->is_read[own.storage]) {
        e->is_read[own.storage] = true;
        return t;
    }
    extent seen = extent_of(&own);
    own.storage = e->out->storage_count++;
    return add_seen(e, &own, &seen);
}

/* Returns a block-quantized weight, or a part of one, with the size of its packed bytes. A product reads it as 4 or
 * 8 bits, whichever is nearer. */
static tensor_id packed_weight(engine *e, const kernel *part, tensor_id t)
{
    enum { NEARER_TO_4 = 6, NEARER_TO_8 = 12 };
    placed_tensor own = *tensor_at(e, t);
    double bytes = own.storage < e->in->storage_count ? e->packed[own.storage] : 0;
    if (!(bytes > 0))
        return t;
    own.packed_bytes = (int64_t)(bytes * (double)elements_of(e, t) + 0.5);
    if (is_product(part) && 8 * bytes < NEARER_TO_8)
        own.dtype = 8 * bytes < NEARER_TO_4 ? DT_INT4 : DT_INT8;
    extent seen = extent_of(&own);
    return add_seen(e, &own, &seen);
}

static void move_to(tensor_id *held, int from, int to)
{
    tensor_id moved = held[from];
    for (int i = from; i > to; i--)
        held[i] = held[i - 1];
    held[to] = moved;
}

/* Adds a bias of this size to the kernel. */
static tensor_id zero_bias(engine *e, kernel *k, dtype type, int64_t elements)
{
    placed_tensor t = {.dtype = type, .is_weight = true, .storage = e->out->storage_count++, .value = NO_VALUE};
    extent x = {.rank = 1, .dims = {elements}, .strides = {1}};
    tensor_id made = add_seen(e, &t, &x);
    k->bytes_read = add_saturated(k->bytes_read, tensor_bytes(e, made));
    return made;
}

/* True for a weight with one element per column that is added directly after the product. */
static bool is_added_bias(const engine *e, const group *x, int32_t part_number, tensor_id t)
{
    const kernel *part = &e->in->kernels.items[x->kernels.items[part_number]];
    return part_number == 1 && is_op(part, "add") && is_op(x->main, "mm") && e->is_constant[storage_of(e, t)] &&
           elements_of(e, t) == tensor_at(e, x->main->outputs[0])->dims[1];
}

/* Sets the weight layout that an engine prefers: stored as (out, in), viewed as (in, out). A bias becomes a row. */
static void lay_weight(engine *e, const kernel *main, const kernel *k, tensor_id *held)
{
    int at = is_op(main, "addmm") ? 2 : 1;
    bool is_layer = (is_op(main, "addmm") || is_op(main, "mm")) && main->input_count > at;
    if (!is_layer || k->input_count <= at || !e->is_constant[storage_of(e, main->inputs[at])])
        return;
    placed_tensor w = *tensor_at(e, held[at]);
    extent x = extent_of(&w);
    x.strides[0] = 1;
    x.strides[1] = x.dims[0];
    if (at == 2 && elements_of(e, held[0]) == x.dims[1] && tensor_at(e, held[0])->rank != 1) {
        placed_tensor bias = *tensor_at(e, held[0]);
        extent row = {.rank = 1, .dims = {x.dims[1]}, .strides = {1}};
        held[0] = add_seen(e, &bias, &row);
    }
    w.is_weight = false; /* In other places, products also read views of weights that are not marked as weights. */
    held[at] = add_seen(e, &w, &x);
}

/* Gives every product with a weight a bias: exporters omit zero biases and write others as a sum. `bias` is the
 * index of that operand, or -1. Other addends come first, as in ATen. */
static void give_bias(engine *e, const group *x, kernel *k, tensor_id *held, const char **ops, int bias)
{
    const kernel *main = x->main;
    if (is_op(main, "convolution")) {
        bool has_bias = main->input_count > 2;
        for (int32_t i = 0; i < x->kernels.count; i++)
            has_bias |= is_batch_norm(&e->in->kernels.items[x->kernels.items[i]]);
        if (has_bias)
            return;
        const placed_tensor *y = tensor_at(e, main->outputs[0]);
        held[k->input_count++] = zero_bias(e, k, y->dtype, y->rank > 1 ? y->dims[1] : 1);
        move_to(held, k->input_count - 1, 2);
        memmove(ops + 2, ops + 1, (size_t)(k->fused_count++ - 1) * sizeof *ops);
        ops[1] = "add_";
        return;
    }
    bool is_mm = is_op(main, "mm"), is_layer = is_mm && e->is_constant[storage_of(e, main->inputs[1])];
    lay_weight(e, main, k, held);
    if (is_layer) {
        const placed_tensor *y = tensor_at(e, main->outputs[0]);
        extent row = {.rank = 1, .dims = {y->dims[1]}, .strides = {1}};
        if (bias < 0) {
            held[bias = k->input_count++] = zero_bias(e, k, y->dtype, row.dims[0]);
        } else {
            placed_tensor own = *tensor_at(e, held[bias]);
            held[bias] = add_seen(e, &own, &row);
            memmove(ops + 1, ops + 2, (size_t)(--k->fused_count - 1) * sizeof *ops);
        }
        move_to(held, bias, 0);
    } else if ((is_mm || is_op(main, "bmm")) && k->input_count > 2) {
        move_to(held, 2, 0);
    } else {
        return;
    }
    k->op = ops[0] = is_mm ? "addmm" : "baddbmm";
}

/* True if all heads share the bias. An engine then applies it as a mask without another kernel. */
static bool is_mask(const engine *e, tensor_id bias, tensor_id queries)
{
    const placed_tensor *b = tensor_at(e, bias), *q = tensor_at(e, queries);
    return q->rank == 4 && (b->rank < 3 || (b->rank == 3 && b->dims[0] == 1) ||
                            (b->rank == 4 && (b->dims[1] == 1 || b->strides[1] == 0)));
}

static void emit_group(engine *e, const group *x)
{
    size_t most = 3;
    int bias = -1;
    for (int32_t i = 0; i < x->kernels.count; i++)
        most += (size_t)e->in->kernels.items[x->kernels.items[i]].input_count;
    tensor_id *held = ARENA_ARRAY(e->arena, tensor_id, most);
    const char **ops = ARENA_ARRAY(e->arena, const char *, (size_t)x->kernels.count + 2);
    bool is_plain = x->kind == GROUP_POINTWISE && x->kernels.count > 1;
    kernel k = *x->main;
    bool is_attention = x->is_attention || kernel_is_attention(x->main);
    k.op = is_attention ? "_scaled_dot_product_flash_attention" : is_plain ? "fused_pointwise" : x->main->op;
    k.flags = x->main->flags & (KERNEL_UNKNOWN | KERNEL_VIEW);
    k.input_count = k.output_count = 0;
    k.macs = k.flops = k.bytes_read = k.bytes_written = 0;
    for (int32_t i = 0; i < x->kernels.count; i++) {
        const kernel *part = &e->in->kernels.items[x->kernels.items[i]];
        int operands =
            part->flags & KERNEL_HIDDEN ? 0 : part->input_count; /* The product already has the bias as an operand. */
        for (int n = 0; n < operands; n++) {
            tensor_id t = part->inputs[n];
            bool is_made_here = false, is_held = false;
            for (int32_t m = 0; m < i; m++)
                is_made_here |= storage_of(e, e->in->kernels.items[x->kernels.items[m]].outputs[0]) == storage_of(e, t);
            if (is_made_here || is_folded(x, part, n))
                continue;
            if (part == x->main && n == 0 && x->pad)
                t = before_pad(e, x, &k);
            t = packed_weight(e, part, own_weight(e, t));
            bool is_bias = is_op(part, "addmm") ? n == 0 : n == 2;
            bool is_packed = tensor_at(e, t)->packed_bytes > 0;
            t = part == x->main && is_narrow(e, part) && !is_bias && !is_packed ? narrowed(e, t) : t;
            for (int m = 0; m < k.input_count; m++)
                is_held |= held[m] == t;
            if (is_held)
                continue;
            bias = is_added_bias(e, x, i, part->inputs[n]) ? k.input_count : bias;
            held[k.input_count++] = t;
            int64_t all = tensor_bytes(e, t), output = tensor_bytes(e, part->outputs[0]);
            k.bytes_read = add_saturated(k.bytes_read, layout_picked_bytes(part->op, all, output, all));
        }
        bool is_free = is_batch_norm(part) && is_op(x->main, "convolution");
        k.macs = add_saturated(k.macs, part->macs);
        /* As in the single attention operator, the softmax counts no FLOPs. */
        is_free |= x->is_attention && !is_product(part);
        k.flops = add_saturated(k.flops, is_free ? 0 : part->flops);
        /* A batch norm that folds into an existing bias needs no kernel. */
        if (!is_batch_norm(part) || !is_free || x->main->input_count < 3)
            ops[k.fused_count++] = kernel_name(part);
    }
    if (x->is_attention) {
        order_operands(e, x, held, k.input_count);
        if (k.input_count == 4)
            held[3] = expanded_bias(e, held);
        k.fused_count = 0; /* The kernel is named after the single attention operator and does not list its parts. */
    } else if (x->kind == GROUP_PRODUCT) {
        give_bias(e, x, &k, held, ops, bias);
    } else if (is_op(x->main, "native_layer_norm") && x->main->input_count == 2) {
        held[k.input_count++] = zero_bias(e, &k, tensor_at(e, x->output)->dtype, elements_of(e, x->main->inputs[1]));
    }
    if (is_attention && k.input_count == 4 && is_mask(e, held[3], held[0]))
        k.input_count = 3;
    int32_t s = storage_of(e, x->output);
    bool writes_narrow = e->readers[s] > e->wide_readers[s], writes_wide = e->wide_readers[s] > 0 || e->is_output[s];
    k.inputs = held;
    k.outputs = held + k.input_count;
    if (writes_wide || !writes_narrow)
        held[k.input_count + k.output_count++] = x->output;
    if (writes_narrow)
        held[k.input_count + k.output_count++] = narrowed(e, x->output);
    /* Attention writes (N, L, heads, E), which is the layout after the copy. */
    const kernel *last = &e->in->kernels.items[x->kernels.items[x->kernels.count - 1]];
    if (x->is_attention && is_op(last, "clone") && tensor_at(e, x->output)->rank == 4 && k.output_count == 1 &&
        !writes_narrow)
        held[k.input_count] = with_axes_swapped(e, x->output, 1);
    for (int i = 0; i < k.output_count; i++)
        k.bytes_written = add_saturated(k.bytes_written, tensor_bytes(e, k.outputs[i]));
    k.fused = k.fused_count > 1 ? ops : NULL;
    k.fused_count = k.fused_count > 1 ? k.fused_count : 0;
    *(kernel *)ARENA_PUSH(e->arena, &e->out->kernels) = k;
}

/* Adds kernels that quantize network inputs to 8 bits for the products that read them. */
static void emit_quantization(engine *e)
{
    for (tensor_id t = 0; t < e->in->tensors.count; t++) {
        const placed_tensor *p = tensor_at(e, t);
        int32_t s = p->storage;
        if (p->is_weight || p->value == NO_VALUE || e->maker[s] != NO_GROUP || e->is_output[s] ||
            e->readers[s] == e->wide_readers[s] || e->narrow_copy[t] != 0)
            continue;
        tensor_id *held = ARENA_ARRAY(e->arena, tensor_id, 2);
        held[0] = t;
        held[1] = narrowed(e, t);
        *(kernel *)ARENA_PUSH(e->arena, &e->out->kernels) = (kernel){.op = "quantize",
                                                                     .layer = NO_NODE,
                                                                     .input_count = 1,
                                                                     .output_count = 1,
                                                                     .inputs = held,
                                                                     .outputs = held + 1,
                                                                     .flops = elements_of(e, t),
                                                                     .bytes_read = tensor_bytes(e, t),
                                                                     .bytes_written = tensor_bytes(e, held[1]),
                                                                     .repeat = 1};
    }
}

/* Emits each group at the position of its last operator, where all its inputs exist. */
static void emit_all(engine *e)
{
    int32_t *ends = ARENA_ARRAY(e->arena, int32_t, (size_t)e->in->kernels.count + 1); /* Index of the group + 1. */
    for (int32_t g = 0; g < e->groups.count; g++) {
        const group *x = &e->groups.items[g];
        if (x->kind != GROUP_GONE)
            ends[x->kernels.items[x->kernels.count - 1]] = g + 1;
    }
    for (int32_t i = 0; i < e->in->kernels.count; i++)
        if (ends[i] != 0)
            emit_group(e, &e->groups.items[ends[i] - 1]);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

enum { NEAR = 8 /* Number of kernels before an attention that are searched for its operands. */ };

/* Returns the kernel in [first, end) that writes the tensor, or -1. */
static int32_t made_at(const engine *e, tensor_id t, int32_t first, int32_t end)
{
    for (int32_t i = end - 1; i >= first; i--) {
        const kernel *k = &e->out->kernels.items[i];
        for (int n = 0; n < k->output_count; n++)
            if (storage_of(e, k->outputs[n]) == storage_of(e, t))
                return i;
    }
    return -1;
}

/* Sorts the three products that compute queries, keys and values, because files list them in any order and all three
 * read the same tensor. */
static void order_projections(engine *e, int32_t attention)
{
    const kernel *k = &e->out->kernels.items[attention];
    int32_t from = attention > NEAR ? attention - NEAR : 0, makers[3], places[3];
    for (int i = 0; i < 3; i++) {
        makers[i] = made_at(e, k->inputs[i], from, attention);
        for (int n = 0; n < i; n++)
            if (makers[i] == makers[n])
                return;
        if (makers[i] < 0 || !is_op(&e->out->kernels.items[makers[i]], "addmm"))
            return;
        places[i] = makers[i];
    }
    for (int i = 0; i < 3; i++)
        for (int n = i + 1; n < 3; n++)
            if (places[n] < places[i]) {
                int32_t swapped = places[i];
                places[i] = places[n];
                places[n] = swapped;
            }
    kernel products[3];
    for (int i = 0; i < 3; i++) {
        products[i] = e->out->kernels.items[makers[i]];
        for (int n = 0; n < products[i].input_count; n++)
            if (made_at(e, products[i].inputs[n], places[0], attention) >= 0)
                return;
    }
    /* Checks that no kernel between the products reads their results. */
    for (int32_t i = places[0]; i < attention; i++)
        for (int n = 0; n < e->out->kernels.items[i].input_count; n++)
            if (made_at(e, e->out->kernels.items[i].inputs[n], places[0], attention) >= 0 && i != makers[0] &&
                i != makers[1] && i != makers[2])
                return;
    for (int i = 0; i < 3; i++)
        e->out->kernels.items[places[i]] = products[i];
}

void engine_emit(engine *e)
{
    if (e->narrow != DT_UNKNOWN)
        emit_quantization(e);
    emit_all(e);
    for (int32_t i = 0; i < e->out->kernels.count; i++)
        if (kernel_is_attention(&e->out->kernels.items[i]) && e->out->kernels.items[i].input_count >= 3)
            order_projections(e, i);
}
