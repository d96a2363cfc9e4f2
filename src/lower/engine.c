/* engine.c: lowering to an inference engine that compiles the network ahead (as TensorRT does): weights are prepared
 * once, batch norms are folded into the convolutions before them, bias, activation and residual sum run inside the
 * product that makes their input, chains of elementwise work are one kernel, attention is one kernel, parts of a
 * concatenation are written where they belong.
 *
 * Kernels keep ATen's names for their main operator; the rest is in `fused`. In int8 and fp8 products of activations
 * and weights read 8 bits, which the kernels before them write; everything else runs in fp16. Which of several
 * implementations an engine picks by timing is not here. */
#include "graph/infer.h"
#include "graph/ops.h"
#include "lower/layout.h"

enum { NO_GROUP = -1, MAX_FULL_INPUTS = 3, MAX_GROUP_KERNELS = 64 };

typedef enum group_kind {
    GROUP_POINTWISE,
    GROUP_PRODUCT, /* takes elementwise work on what it makes */
    GROUP_ROWS,    /* norms, softmax, sums: the same, and elementwise work on what they read */
    GROUP_CALL,    /* takes nothing */
    GROUP_GONE,    /* became part of another */
} group_kind;

typedef struct group {
    group_kind kind;
    const kernel *main;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } kernels;        /* in order */
    tensor_id output; /* what it makes last */
    int full_inputs;  /* besides the first, as large as the output */
    bool has_scores;  /* a product whose softmax is in it: half of an attention */
    bool is_attention;
    const kernel *pad; /* of what it reads first, done by its window; NULL: none */
} group;

typedef struct engine {
    arena *arena;
    network *net;
    const program *in;
    program *out;
    dtype narrow;           /* of products; DT_UNKNOWN: as everything else */
    int32_t *maker;         /* by storage: the group that wrote it last; NO_GROUP: there before the pass */
    int32_t *readers;       /* by storage: kernels that read it, views looked through */
    int32_t *wide_readers;  /* those of them that are not narrow products */
    bool *is_output;        /* by storage */
    bool *is_constant;      /* by storage: weights, and what is computed from them alone when the engine is built */
    tensor_id *narrow_copy; /* by tensor: the same in 8 bits, plus one */
    struct {
        group *items;
        int32_t count, capacity;
    } groups;
} engine;

/* ---- what kernels are -------------------------------------------------------------------------------------------- */

static bool is_op(const kernel *k, const char *op)
{
    return strcmp(k->op, op) == 0;
}

static bool is_in(const kernel *k, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_op(k, names[i]))
            return true;
    return false;
}
#define IS_IN(k, names) is_in((k), (names), sizeof(names) / sizeof *(names))

static bool is_product(const kernel *k)
{
    static const char *const NAMES[] = {"convolution", "addmm", "mm", "bmm", "baddbmm"};
    return IS_IN(k, NAMES);
}

static bool is_rows(const kernel *k)
{
    static const char *const NAMES[] = {"native_layer_norm",
                                        "_fused_rms_norm",
                                        "native_group_norm",
                                        "_softmax",
                                        "_log_softmax",
                                        "mean",
                                        "sum",
                                        "amax",
                                        "amin",
                                        "linalg_vector_norm",
                                        "var_mean",
                                        "adaptive_max_pool2d"};
    return IS_IN(k, NAMES);
}

static bool is_batch_norm(const kernel *k)
{
    return (is_op(k, "cudnn_batch_norm") || is_op(k, "native_batch_norm")) && k->input_count > 2;
}

/* Runs on weights and activations in 8 bits, if the precision says so. */
static bool is_narrow(const engine *e, const kernel *k)
{
    return e->narrow != DT_UNKNOWN && (is_op(k, "convolution") || is_op(k, "addmm") || is_op(k, "mm"));
}

static const placed_tensor *tensor_at(const engine *e, tensor_id t)
{
    return &e->out->tensors.items[t];
}

static int64_t elements_of(const engine *e, tensor_id t)
{
    extent x = extent_of(tensor_at(e, t));
    return extent_elements(&x);
}

static bool same_dims(const engine *e, tensor_id a, tensor_id b)
{
    const placed_tensor *x = tensor_at(e, a), *y = tensor_at(e, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0;
}

static bool is_fused_attention(const kernel *k)
{
    static const char BEGIN[] = "_scaled_dot_product";
    return strncmp(k->op, BEGIN, sizeof BEGIN - 1) == 0;
}

/* Each element from the same place of every operand, or from a broadcast one. */
static bool is_elementwise(const engine *e, const kernel *k)
{
    static const char *const OTHERS[] = {"cat", "stack", "index", "roll", "embedding", "gather", "repeat"};
    if (k->input_count == 0 || k->window || k->flags & KERNEL_UNKNOWN || IS_IN(k, OTHERS) || is_fused_attention(k))
        return false;
    for (int i = 0; i < k->input_count; i++)
        if (same_dims(e, k->inputs[i], k->outputs[0]))
            return true;
    return false;
}

/* ---- grouping ---------------------------------------------------------------------------------------------------- */

static int32_t storage_of(const engine *e, tensor_id t)
{
    return tensor_at(e, t)->storage;
}

/* The group that makes this input whole, if nobody else reads it. */
static int32_t own_maker(const engine *e, tensor_id t)
{
    int32_t s = storage_of(e, t), g = e->maker[s];
    bool is_own = g != NO_GROUP && storage_of(e, e->groups.items[g].output) == s; /* not just a part of it */
    return is_own && e->readers[s] == 1 && !e->is_output[s] ? g : NO_GROUP;
}

static void add_to_group(engine *e, int32_t g, int32_t kernel_number)
{
    group *x = &e->groups.items[g];
    const kernel *k = &e->in->kernels.items[kernel_number];
    *(int32_t *)ARENA_PUSH(e->arena, &x->kernels) = kernel_number;
    x->output = k->outputs[0];
    e->maker[storage_of(e, k->outputs[0])] = g;
}

static void new_group(engine *e, group_kind kind, int32_t kernel_number)
{
    group *x = ARENA_PUSH(e->arena, &e->groups);
    x->kind = kind;
    x->main = &e->in->kernels.items[kernel_number];
    add_to_group(e, e->groups.count - 1, kernel_number);
}

/* The kernels of group `from` run inside `to`. */
static void absorb(engine *e, int32_t to, int32_t from)
{
    group *x = &e->groups.items[to], *y = &e->groups.items[from];
    for (int32_t i = 0; i < y->kernels.count; i++)
        *(int32_t *)ARENA_PUSH(e->arena, &x->kernels) = y->kernels.items[i];
    y->kernels.count = 0;
    y->kind = GROUP_GONE;
}

/* Elementwise work goes into the last group that makes one of its operands for it alone. */
static void place_elementwise(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t best = NO_GROUP;
    int full = 0;
    for (int i = 0; i < k->input_count; i++) {
        tensor_id t = k->inputs[i];
        bool is_full = same_dims(e, t, k->outputs[0]);
        full += is_full;
        int32_t g = is_full ? own_maker(e, t) : NO_GROUP;
        if (g == NO_GROUP || g <= best || e->groups.items[g].kind == GROUP_CALL)
            continue;
        if (e->groups.items[g].is_attention) { /* it writes its result as it is wanted, but takes nothing else */
            best = is_op(k, "clone") ? g : best;
            continue;
        }
        const group *x = &e->groups.items[g];
        bool lies_alike =
            is_op(k, "clone") ? x->kind == GROUP_POINTWISE : elements_of(e, x->output) == elements_of(e, k->outputs[0]);
        if (lies_alike && x->kernels.count < MAX_GROUP_KERNELS && x->full_inputs + is_full <= MAX_FULL_INPUTS)
            best = g;
    }
    if (best == NO_GROUP) {
        new_group(e, GROUP_POINTWISE, number);
        return;
    }
    e->groups.items[best].full_inputs += full - 1;
    add_to_group(e, best, number);
}

/* Norms and sums take the elementwise work before them. Softmax behind a product is half of an attention. */
static void place_rows(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t before = own_maker(e, k->inputs[0]);
    if (before != NO_GROUP && is_op(k, "_softmax") && is_op(e->groups.items[before].main, "bmm")) {
        e->groups.items[before].has_scores = true;
        add_to_group(e, before, number);
        return;
    }
    new_group(e, GROUP_ROWS, number);
    if (before != NO_GROUP && e->groups.items[before].kind == GROUP_POINTWISE) {
        int32_t own = e->groups.count - 1;
        e->groups.items[own].kernels.count = 0;
        absorb(e, own, before);
        add_to_group(e, own, number);
    }
}

/* An attention reads queries, keys and values however they lie: copies made for it alone are part of it. */
static void take_copies(engine *e, int32_t g)
{
    int32_t count = e->groups.items[g].kernels.count, *own = e->groups.items[g].kernels.items;
    e->groups.items[g].kernels.items = NULL;
    e->groups.items[g].kernels.count = e->groups.items[g].kernels.capacity = 0;
    for (int32_t i = 0; i < count; i++) {
        const kernel *k = &e->in->kernels.items[own[i]];
        for (int n = 0; n < k->input_count; n++) {
            int32_t from = own_maker(e, k->inputs[n]);
            if (from != NO_GROUP && from != g && e->groups.items[from].kind == GROUP_POINTWISE &&
                e->groups.items[from].kernels.count == 1 && is_op(e->groups.items[from].main, "clone"))
                absorb(e, g, from);
        }
    }
    for (int32_t i = 0; i < count; i++)
        *(int32_t *)ARENA_PUSH(e->arena, &e->groups.items[g].kernels) = own[i];
}

/* Does the pad add what the window of its reader adds: zeros before a convolution; nothing that wins before a maximum? */
static bool pads_with_nothing(const engine *e, const kernel *pad, const kernel *reader, const group *before)
{
    const node *n = pad->layer == NO_NODE ? NULL : &e->net->nodes.items[pad->layer];
    double with = 0;
    if (n && node_is(n, "Pad") && n->input_count > 2 && n->inputs[2] != NO_VALUE) {
        int32_t count;
        const double *reals = value_reals(e->net, &e->net->values.items[n->inputs[2]], &count);
        if (!reals || count != 1)
            return false;
        with = reals[0];
    }
    static const char *const RECTIFIERS[] = {"relu", "hardtanh"};
    if (is_op(reader, "convolution"))
        return with == 0 && !reader->window->transposed;
    return is_op(reader, "max_pool2d_with_indices") &&
           (with < -1e4 || (with == 0 && before &&
                            IS_IN(&e->in->kernels.items[before->kernels.items[before->kernels.count - 1]], RECTIFIERS)));
}

/* A pad that only this kernel reads becomes part of its window. */
static void take_pad(engine *e, int32_t g)
{
    const kernel *k = e->groups.items[g].main;
    int32_t from = k->window && k->input_count > 0 ? own_maker(e, k->inputs[0]) : NO_GROUP;
    if (from == NO_GROUP || !is_op(e->groups.items[from].main, "constant_pad_nd"))
        return;
    group *pad = &e->groups.items[from];
    int32_t maker = e->maker[storage_of(e, pad->main->inputs[0])];
    if (pad->kernels.count != 1 || tensor_at(e, pad->output)->rank != 4 || tensor_at(e, k->inputs[0])->rank != 4 ||
        k->window->rank != 2 ||
        !pads_with_nothing(e, pad->main, k, maker == NO_GROUP ? NULL : &e->groups.items[maker]))
        return;
    e->groups.items[g].pad = pad->main;
    pad->kernels.count = 0;
    pad->kind = GROUP_GONE;
}

static void place_product(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    int32_t before = is_op(k, "bmm") ? own_maker(e, k->inputs[0]) : NO_GROUP;
    if (before != NO_GROUP && e->groups.items[before].has_scores && !e->groups.items[before].is_attention) {
        e->groups.items[before].is_attention = true;
        add_to_group(e, before, number);
        take_copies(e, before);
        return;
    }
    new_group(e, GROUP_PRODUCT, number);
    take_pad(e, e->groups.count - 1);
}

/* Are all parts made by kernels that can write them where they belong? */
static bool joins_in_place(const engine *e, const kernel *k)
{
    for (int i = 0; i < k->input_count; i++)
        if (own_maker(e, k->inputs[i]) == NO_GROUP)
            return false;
    return true;
}

static bool is_constant(const engine *e, const kernel *k)
{
    bool all = k->input_count > 0;
    for (int i = 0; i < k->input_count; i++)
        all &= e->is_constant[storage_of(e, k->inputs[i])];
    return all;
}

static void place(engine *e, int32_t number)
{
    const kernel *k = &e->in->kernels.items[number];
    bool is_bias = k->flags & KERNEL_HIDDEN && k->flags & KERNEL_IN_PLACE;
    if (is_constant(e, k)) {
        e->is_constant[storage_of(e, k->outputs[0])] = true;
        return;
    }
    if (is_op(k, "_cudnn_rnn")) { /* the kernels behind it do the work; it makes what the layer returns */
        new_group(e, GROUP_CALL, number);
        return;
    }
    if (k->flags & KERNEL_VIEW || (k->flags & KERNEL_HIDDEN && !is_bias))
        return;
    if (is_bias)
        add_to_group(e, e->maker[storage_of(e, k->outputs[0])], number);
    else if (is_product(k))
        place_product(e, number);
    else if (is_rows(k))
        place_rows(e, number);
    else if (is_op(k, "cat") && joins_in_place(e, k))
        e->maker[storage_of(e, k->outputs[0])] = NO_GROUP;
    else if (is_elementwise(e, k))
        place_elementwise(e, number);
    else {
        new_group(e, GROUP_CALL, number);
        take_pad(e, e->groups.count - 1);
    }
}

static void count_readers(engine *e)
{
    for (int32_t i = 0; i < e->in->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[i];
        if (k->flags & (KERNEL_VIEW | KERNEL_HIDDEN))
            continue;
        for (int n = 0; n < k->input_count; n++) {
            e->readers[storage_of(e, k->inputs[n])]++;
            e->wide_readers[storage_of(e, k->inputs[n])] += !(is_narrow(e, k) && n < 3);
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static int64_t tensor_bytes(const engine *e, tensor_id t)
{
    const placed_tensor *p = tensor_at(e, t);
    int64_t stored = 1; /* broadcast dimensions have no memory */
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

/* Folded into weight and bias: the numbers of a batch norm behind a convolution. One vector is left if it had no bias. */
static bool is_folded(const group *x, const kernel *k, int input)
{
    return x->kind == GROUP_PRODUCT && is_op(x->main, "convolution") && is_batch_norm(k) &&
           input > (x->main->input_count > 2 ? 0 : 1);
}

/* The same memory with two neighbouring dimensions the other way round. */
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

/* A tensor like t with these dimensions and strides. */
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

/* What a storage is a copy of inside the group; itself if it is none. */
static int32_t copied_from(const engine *e, const group *x, int32_t storage)
{
    for (int32_t i = 0; i < x->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[x->kernels.items[i]];
        if (is_op(k, "clone") && storage_of(e, k->outputs[0]) == storage)
            return storage_of(e, k->inputs[0]);
    }
    return storage;
}

/* The operands of an attention that was written as products, in the order of one that was not: queries, keys, values, bias. The keys come as
 * (…, E, L); as the others, they are (…, L, E). */
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

/* What a window reads whose pad is its own: the tensor before the pad, seen as the padded one was; and the window with the larger half of
 * the pad. */
static tensor_id before_pad(engine *e, const group *x, kernel *k)
{
    const placed_tensor *from = tensor_at(e, x->pad->inputs[0]), *padded = tensor_at(e, x->pad->outputs[0]);
    placed_tensor t = *tensor_at(e, x->main->inputs[0]);
    bool is_turned = padded->dims[1] != t.dims[1] || padded->dims[2] != t.dims[2]; /* the file has its channels last */
    extent seen = extent_of(&t);
    bool is_last = extent_is_channels_last(&seen);
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

/* The bias of queries, keys and values as every score sees it. */
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

static void move_to(tensor_id *held, int from, int to)
{
    tensor_id moved = held[from];
    for (int i = from; i > to; i--)
        held[i] = held[i - 1];
    held[to] = moved;
}

/* A bias of so many elements: zeros, where a file has none. */
static tensor_id zero_bias(engine *e, dtype type, int64_t elements)
{
    placed_tensor t = {.dtype = type, .is_weight = true, .storage = e->out->storage_count++, .value = NO_VALUE};
    extent x = {.rank = 1, .dims = {elements}, .strides = {1}};
    return add_seen(e, &t, &x);
}

/* A sum with a weight of one number for each column, right behind a product: where it is among what is held; -1: there is none. */
static int added_bias(const engine *e, const group *x, const tensor_id *held, int count, int64_t columns)
{
    const kernel *add = x->kernels.count > 1 ? &e->in->kernels.items[x->kernels.items[1]] : NULL;
    for (int i = 0; add && is_op(add, "add") && i < count; i++)
        for (int n = 0; n < add->input_count; n++)
            if (held[i] == add->inputs[n] && e->is_constant[storage_of(e, held[i])] && elements_of(e, held[i]) == columns)
                return i;
    return -1;
}

/* An engine's products with weights have a bias, whatever the file says: exporters leave out those that are zero, and write those of others as a
 * sum. What else is added to a product stands in front of it, as for ATen's operators. */
static void give_bias(engine *e, const group *x, kernel *k, tensor_id *held, const char **ops)
{
    const kernel *main = x->main;
    if (is_op(main, "convolution")) {
        bool has_bias = main->input_count > 2;
        for (int32_t i = 0; i < x->kernels.count; i++)
            has_bias |= is_batch_norm(&e->in->kernels.items[x->kernels.items[i]]);
        if (has_bias)
            return;
        const placed_tensor *y = tensor_at(e, main->outputs[0]);
        held[k->input_count++] = zero_bias(e, y->dtype, y->rank > 1 ? y->dims[1] : 1);
        move_to(held, k->input_count - 1, 2);
        ops[k->fused_count++] = "add_";
        return;
    }
    bool is_mm = is_op(main, "mm"), is_layer = is_mm && e->is_constant[storage_of(e, main->inputs[1])];
    if (is_layer) {
        const placed_tensor *y = tensor_at(e, main->outputs[0]);
        int bias = added_bias(e, x, held, k->input_count, y->dims[1]);
        if (bias < 0)
            held[bias = k->input_count++] = zero_bias(e, y->dtype, y->dims[1]);
        else
            memmove(ops + 1, ops + 2, (size_t)(--k->fused_count - 1) * sizeof *ops);
        move_to(held, bias, 0);
    } else if ((is_mm || is_op(main, "bmm")) && k->input_count > 2) {
        move_to(held, 2, 0);
    } else {
        return;
    }
    k->op = ops[0] = is_mm ? "addmm" : "baddbmm";
}

/* Is it the same for all heads? An engine reads such a mask as it goes, and has no other kernel for it. */
static bool is_mask(const engine *e, tensor_id bias, tensor_id queries)
{
    const placed_tensor *b = tensor_at(e, bias), *q = tensor_at(e, queries);
    return q->rank == 4 && (b->rank < 3 || (b->rank == 3 && b->dims[0] == 1) ||
                            (b->rank == 4 && (b->dims[1] == 1 || b->strides[1] == 0)));
}

static void emit_group(engine *e, const group *x)
{
    size_t most = 3;
    for (int32_t i = 0; i < x->kernels.count; i++)
        most += (size_t)e->in->kernels.items[x->kernels.items[i]].input_count;
    tensor_id *held = ARENA_ARRAY(e->arena, tensor_id, most);
    const char **ops = ARENA_ARRAY(e->arena, const char *, (size_t)x->kernels.count + 2);
    bool is_plain = x->kind == GROUP_POINTWISE && x->kernels.count > 1;
    kernel k = *x->main;
    bool is_attention = x->is_attention || is_fused_attention(x->main);
    k.op = is_attention ? "_scaled_dot_product_flash_attention" : is_plain ? "fused_pointwise" : x->main->op;
    k.flags = x->main->flags & (KERNEL_UNKNOWN | KERNEL_VIEW);
    k.input_count = k.output_count = 0;
    k.macs = k.flops = k.bytes_read = k.bytes_written = 0;
    for (int32_t i = 0; i < x->kernels.count; i++) {
        const kernel *part = &e->in->kernels.items[x->kernels.items[i]];
        for (int n = 0; n < part->input_count; n++) {
            tensor_id t = part->inputs[n];
            bool is_made_here = false, is_held = false;
            for (int32_t m = 0; m < i; m++)
                is_made_here |= storage_of(e, e->in->kernels.items[x->kernels.items[m]].outputs[0]) == storage_of(e, t);
            if (is_made_here || is_folded(x, part, n))
                continue;
            if (part == x->main && n == 0 && x->pad)
                t = before_pad(e, x, &k);
            bool is_bias = is_op(part, "addmm") ? n == 0 : n == 2;
            t = part == x->main && is_narrow(e, part) && !is_bias ? narrowed(e, t) : t;
            for (int m = 0; m < k.input_count; m++)
                is_held |= held[m] == t;
            if (is_held)
                continue;
            held[k.input_count++] = t;
            k.bytes_read = add_saturated(k.bytes_read, tensor_bytes(e, t));
        }
        bool is_free = is_batch_norm(part) && is_op(x->main, "convolution");
        k.macs = add_saturated(k.macs, part->macs);
        is_free |= x->is_attention && !is_product(part); /* as it is counted for attention that comes as one operator */
        k.flops = add_saturated(k.flops, is_free ? 0 : part->flops);
        /* Beside a bias, a batch norm that was folded is nothing that runs. */
        if (!is_batch_norm(part) || !is_free || x->main->input_count < 3)
            ops[k.fused_count++] = part->op;
    }
    if (x->is_attention) {
        order_operands(e, x, held, k.input_count);
        if (k.input_count == 4)
            held[3] = expanded_bias(e, held);
        k.fused_count = 0; /* the name says it all, and it is the name of what comes as one operator too */
    } else if (x->kind == GROUP_PRODUCT) {
        give_bias(e, x, &k, held, ops);
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
    /* (N, L, heads, E) behind the copy: as attention itself has it. */
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

/* Inputs of the network that products read in 8 bits. */
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

/* By the last operator in each: others read what that one makes, and all it reads is there by then. */
static void emit_all(engine *e)
{
    int32_t *ends = ARENA_ARRAY(e->arena, int32_t, (size_t)e->in->kernels.count + 1); /* group plus one */
    for (int32_t g = 0; g < e->groups.count; g++) {
        const group *x = &e->groups.items[g];
        if (x->kind != GROUP_GONE)
            ends[x->kernels.items[x->kernels.count - 1]] = g + 1;
    }
    for (int32_t i = 0; i < e->in->kernels.count; i++)
        if (ends[i] != 0)
            emit_group(e, &e->groups.items[ends[i] - 1]);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The precision in which everything but the products runs: an engine has no autocast. */
static lower_precision plain_precision(lower_precision p)
{
    switch (p) {
    case PRECISION_AMP_FP16:
    case PRECISION_INT8:
    case PRECISION_FP8:
        return PRECISION_FP16;
    case PRECISION_AMP_BF16:
        return PRECISION_BF16;
    default:
        return p;
    }
}

static dtype narrow_dtype(lower_precision p)
{
    return p == PRECISION_INT8 ? DT_INT8 : p == PRECISION_FP8 ? DT_FLOAT8E4M3FN : DT_UNKNOWN;
}

program *lower_engine(sooth_model *model, const lower_options *options, arena *a)
{
    lower_options plain = *options;
    plain.precision = plain_precision(options->precision);
    const program *in = lower_eager(model, &plain, a);
    program *out = ARENA_NEW(a, program);
    out->tensors = in->tensors;
    out->storage_count = in->storage_count;
    out->unknown_count = in->unknown_count;
    size_t storages = (size_t)in->storage_count + 1;
    engine e = {.arena = a,
                .net = &model->net,
                .in = in,
                .out = out,
                .narrow = narrow_dtype(options->precision),
                .maker = ARENA_ARRAY(a, int32_t, storages),
                .readers = ARENA_ARRAY(a, int32_t, storages),
                .wide_readers = ARENA_ARRAY(a, int32_t, storages),
                .is_output = ARENA_ARRAY(a, bool, storages),
                .is_constant = ARENA_ARRAY(a, bool, storages),
                .narrow_copy = ARENA_ARRAY(a, tensor_id, (size_t)in->tensors.count + 1)};
    bool *is_value = ARENA_ARRAY(a, bool, (size_t)model->net.values.count + 1);
    for (int32_t i = 0; i < model->net.outputs.count; i++)
        is_value[model->net.outputs.items[i]] = true;
    for (tensor_id t = 0; t < in->tensors.count; t++) {
        value_id v = in->tensors.items[t].value;
        e.is_output[in->tensors.items[t].storage] |= v != NO_VALUE && is_value[v];
        e.is_constant[in->tensors.items[t].storage] |= in->tensors.items[t].is_weight;
    }
    for (size_t i = 0; i < storages; i++)
        e.maker[i] = NO_GROUP;
    count_readers(&e);
    for (int32_t i = 0; i < in->kernels.count; i++)
        place(&e, i);
    if (e.narrow != DT_UNKNOWN)
        emit_quantization(&e);
    emit_all(&e);
    return out;
}
