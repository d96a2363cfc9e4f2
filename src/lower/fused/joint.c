/* joint.c: splits the operators of an eager training program into the steps that a compiler fuses separately, as
 * PyTorch's decompositions do: norms into statistics and a formula, their gradients into sums and formulas. */
#include "lower/fused/joint.h"

#include "graph/infer.h"
#include "lower/aten.h"

/* ---- building ---------------------------------------------------------------------------------------------------- */

static const placed_tensor *at(const joint *j, tensor_id t)
{
    return &j->p->tensors.items[t];
}

/* Returns a tensor with these dimensions in the memory of `t`; a stride of 0 repeats. */
static tensor_id in_memory_of(joint *j, tensor_id t, const extent *x)
{
    placed_tensor made = *at(j, t);
    int64_t *numbers = ARENA_ARRAY(j->arena, int64_t, 2 * (size_t)x->rank + 1);
    memcpy(numbers, x->dims, (size_t)x->rank * sizeof *numbers);
    memcpy(numbers + x->rank, x->strides, (size_t)x->rank * sizeof *numbers);
    made.rank = (int8_t)x->rank;
    made.dims = numbers;
    made.strides = numbers + x->rank;
    made.value = NO_VALUE;
    *(placed_tensor *)ARENA_PUSH(j->arena, &j->p->tensors) = made;
    return j->p->tensors.count - 1;
}

static tensor_id in_own_memory(joint *j, dtype type, const extent *x, tensor_id like)
{
    tensor_id t = in_memory_of(j, like, x);
    placed_tensor *made = &j->p->tensors.items[t];
    made->dtype = type;
    made->storage = j->p->storage_count++;
    made->is_weight = made->is_state = made->is_number = false;
    return t;
}

/* Returns a one-dimensional tensor of channels as a view with the rank of `like`. */
static tensor_id by_channel(joint *j, tensor_id t, tensor_id like)
{
    extent x = {.rank = at(j, like)->rank};
    for (int i = 0; i < x.rank; i++)
        x.dims[i] = i == 1 ? at(j, like)->dims[1] : 1;
    extent_contiguous(&x);
    return in_memory_of(j, t, &x);
}

static kernel *add(joint *j, const kernel *like, const char *op, const tensor_id *inputs, int input_count,
                   const tensor_id *outputs, int output_count)
{
    tensor_id *held = ARENA_ARRAY(j->arena, tensor_id, (size_t)(input_count + output_count) + 1);
    for (int i = 0; i < input_count; i++)
        held[i] = inputs[i];
    for (int i = 0; i < output_count; i++)
        held[input_count + i] = outputs[i];
    kernel *k = ARENA_PUSH(j->arena, &j->kernels);
    *k = (kernel){.op = op,
                  .layer = like->layer,
                  .phase = like->phase,
                  .flags = like->flags & KERNEL_AGAIN,
                  .repeat = like->repeat,
                  .inputs = held,
                  .input_count = input_count,
                  .outputs = held + input_count,
                  .output_count = output_count};
    return k;
}

/* Sets the FLOPs to `per_element` for each element of the first output. */
static void count_flops(joint *j, kernel *k, tensor_id over, int64_t per_element)
{
    extent x = extent_of(at(j, over));
    int64_t flops;
    k->flops = __builtin_mul_overflow(extent_elements(&x), per_element, &flops) ? INT64_MAX : flops;
}

static kernel *add_formula(joint *j, const kernel *like, const char *op, const tensor_id *inputs, int count,
                           tensor_id output, int64_t flops)
{
    kernel *k = add(j, like, op, inputs, count, &output, 1);
    count_flops(j, k, output, flops);
    return k;
}

static void add_sums(joint *j, const kernel *like, const char *op, const tensor_id *inputs, int count,
                     const tensor_id *outputs, int output_count, int64_t flops)
{
    kernel *k = add(j, like, op, inputs, count, outputs, output_count);
    count_flops(j, k, inputs[0], flops);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static bool is_batch_norm(const kernel *k)
{
    return strncmp(k->op, "cudnn_batch_norm", 16) == 0 || strncmp(k->op, "native_batch_norm", 17) == 0;
}

static bool is_group_norm(const kernel *k)
{
    return strncmp(k->op, "native_group_norm", 17) == 0;
}

static bool is_rms_norm(const kernel *k)
{
    return strncmp(k->op, "_fused_rms_norm", 15) == 0;
}

static bool is_row_norm(const kernel *k)
{
    return is_rms_norm(k) || strncmp(k->op, "native_layer_norm", 17) == 0;
}

/* Tensors of a norm as views that broadcast: input, mean (NO_TENSOR for RMS norm), deviation, weight, bias. */
typedef struct norm {
    tensor_id x, mean, deviation, weight, bias;
} norm;

/* Returns a view of `t`, which has one number per row of `x`, as `x` with its last `rank` dimensions reduced to 1. */
static tensor_id by_row(joint *j, tensor_id t, tensor_id x, int rank)
{
    extent rows = extent_of(at(j, x));
    for (int i = 0; i < rows.rank; i++)
        rows.dims[i] = i >= rows.rank - rank ? 1 : rows.dims[i];
    extent_contiguous(&rows);
    return in_memory_of(j, t, &rows);
}

/* Returns statistics of groups (N, G) as a view per channel, (N, C, 1, …). The channels of a group share them. */
static tensor_id by_group(joint *j, tensor_id t, tensor_id x)
{
    extent rows = {.rank = at(j, x)->rank};
    int64_t groups = at(j, t)->rank > 1 ? at(j, t)->dims[1] : 1;
    for (int i = 0; i < rows.rank; i++) {
        rows.dims[i] = i < 2 ? at(j, x)->dims[i] : 1;
        rows.strides[i] = i == 0 ? groups : i == 1 && groups == rows.dims[1] ? 1 : 0;
    }
    return in_memory_of(j, t, &rows);
}

static norm norm_of(joint *j, const kernel *k, tensor_id x, tensor_id weight, tensor_id bias, const tensor_id *kept)
{
    norm n = {x, kept[0], kept[1], weight, bias};
    if (is_row_norm(k)) {
        int rank = weight != NO_TENSOR ? at(j, weight)->rank : 1;
        n.mean = is_rms_norm(k) ? NO_TENSOR : by_row(j, kept[0], x, rank);
        n.deviation = by_row(j, kept[1], x, rank);
        return n;
    }
    bool is_group = is_group_norm(k);
    n.mean = is_group ? by_group(j, kept[0], x) : by_channel(j, kept[0], x);
    n.deviation = is_group ? by_group(j, kept[1], x) : by_channel(j, kept[1], x);
    n.weight = weight == NO_TENSOR ? NO_TENSOR : by_channel(j, weight, x);
    n.bias = bias == NO_TENSOR ? NO_TENSOR : by_channel(j, bias, x);
    return n;
}

/* Appends the existing ones of the tensors. Returns the new count. */
static int append(tensor_id *list, int count, const tensor_id *more, int more_count)
{
    for (int i = 0; i < more_count; i++)
        if (more[i] != NO_TENSOR)
            list[count++] = more[i];
    return count;
}

/* Returns a view of `x`, or of its statistics, with groups as a dimension: (N, G, C/G, …) or (N, G, 1, …). */
static tensor_id grouped(joint *j, tensor_id x, int64_t groups)
{
    extent from = extent_of(at(j, x)), to = {.rank = from.rank + 1};
    for (int i = 0; i < to.rank; i++) {
        int own = i < 2 ? i : i - 1;
        to.dims[i] = i == 1 ? groups : i == 2 ? from.dims[1] / groups : from.dims[own];
        to.strides[i] = i == 1 ? mul_wrapping(from.strides[1], from.dims[1] / groups) : from.strides[own];
    }
    return in_memory_of(j, x, &to);
}

static tensor_id rows_of_groups(joint *j, tensor_id t, int rank)
{
    extent rows = {.rank = rank};
    for (int i = 0; i < rank; i++)
        rows.dims[i] = i < 2 ? at(j, t)->dims[i] : 1;
    extent_contiguous(&rows);
    return in_memory_of(j, t, &rows);
}

/* Splits a norm into its statistics and a formula. Running statistics are updated by small formulas. */
static void split_norm(joint *j, const kernel *k)
{
    tensor_id x = k->inputs[0];
    tensor_id weight = k->input_count > 1 ? k->inputs[1] : NO_TENSOR;
    tensor_id bias = k->input_count > 2 ? k->inputs[2] : NO_TENSOR;
    norm n = norm_of(j, k, x, weight, bias, k->outputs + 1);
    tensor_id made[2] = {n.mean, n.deviation}, from = x;
    if (is_group_norm(k)) {
        from = grouped(j, x, at(j, k->outputs[1])->dims[1]);
        for (int i = 0; i < 2; i++)
            made[i] = rows_of_groups(j, k->outputs[1 + i], at(j, from)->rank);
    }
    bool is_rms = n.mean == NO_TENSOR;
    add_sums(j, k, is_rms ? "mean" : "var_mean", &from, 1, made + is_rms, is_rms ? 1 : 2, is_rms ? 2 : 4);
    tensor_id inputs[5] = {x};
    int count = append(inputs, 1, (const tensor_id[]){n.mean, n.deviation, n.weight, n.bias}, 4);
    add_formula(j, k, is_rms ? "mul" : "addcmul", inputs, count, k->outputs[0], 4);
    for (int i = 3; i < k->input_count && i < 5 && is_batch_norm(k); i++) {
        tensor_id running = by_channel(j, k->inputs[i], x), both[2] = {running, i == 3 ? n.mean : n.deviation};
        add_formula(j, k, "lerp", both, 2, running, 3);
    }
}

/* Adds the gradients of a norm's weights: sums over all dimensions except their own. */
static void add_weight_gradients(joint *j, const kernel *k, const norm *n, tensor_id dy)
{
    extent x = extent_of(at(j, n->x)), shape = x;
    int rank = at(j, k->outputs[1])->rank;
    for (int i = 0; i < x.rank; i++)
        shape.dims[i] = i >= x.rank - rank ? x.dims[i] : 1;
    extent_contiguous(&shape);
    tensor_id inputs[4] = {dy, n->x}, made[2];
    int count = append(inputs, 2, (const tensor_id[]){n->mean, n->deviation}, 2), outputs = 0;
    for (int i = 1; i < k->output_count && i < 3; i++)
        made[outputs++] = in_memory_of(j, k->outputs[i], &shape);
    add_sums(j, k, "sum", inputs, count, made, outputs, 4);
}

/* Sums of dy and of dy times the normalized input, per row, group or channel. */
static int add_gradient_sums(joint *j, const kernel *k, const norm *n, tensor_id dy, tensor_id *sums)
{
    bool is_rms = n->mean == NO_TENSOR, scales_first = is_row_norm(k);
    extent rows = extent_of(at(j, n->deviation));
    extent_contiguous(&rows); /* For groups, one sum per channel. */
    int count = is_rms ? 1 : 2;
    for (int i = 0; i < count; i++)
        sums[i] = in_own_memory(j, DT_FLOAT32, &rows, n->deviation);
    tensor_id inputs[5] = {dy, n->x};
    int given = append(inputs, 2, (const tensor_id[]){n->mean, n->deviation, scales_first ? n->weight : NO_TENSOR}, 3);
    add_sums(j, k, "sum", inputs, given, sums, count, 4);
    return count;
}

static void split_norm_gradient(joint *j, const kernel *k)
{
    const tensor_id *kept = k->inputs + k->input_count - 2;
    tensor_id dy = k->inputs[0], weight = k->input_count > 4 ? k->inputs[2] : NO_TENSOR, sums[2];
    norm n = norm_of(j, k, k->inputs[1], weight, NO_TENSOR, kept);
    int count = add_gradient_sums(j, k, &n, dy, sums);
    tensor_id inputs[7] = {dy, n.x};
    int given = append(inputs, 2, (const tensor_id[]){n.mean, n.deviation, n.weight}, 3);
    given = append(inputs, given, sums, count);
    add_formula(j, k, k->op, inputs, given, k->outputs[0], 8);
    if (k->output_count < 2)
        return;
    if (is_row_norm(k)) {
        add_weight_gradients(j, k, &n, dy);
        return;
    }
    for (int i = 1; i < k->output_count && i < 3; i++) { /* The sums are the gradients, except for a factor. */
        tensor_id made = by_channel(j, k->outputs[i], n.x), from[2] = {sums[i == 1 ? 1 : 0], n.deviation};
        if (is_group_norm(k))
            add_sums(j, k, "sum", from, 2, &made, 1, 2);
        else
            add_formula(j, k, "mul", from, 2, made, 1);
    }
}

/* ---- other operators --------------------------------------------------------------------------------------------- */

/* Splits dropout: the mask is stored, and a formula scales the kept elements. */
static void split_dropout(joint *j, const kernel *k)
{
    add_formula(j, k, "bernoulli_", NULL, 0, k->outputs[1], 1);
    add_formula(j, k, k->op, (const tensor_id[]){k->inputs[0], k->outputs[1]}, 2, k->outputs[0], 2);
}

static void split_softmax_gradient(joint *j, const network *net, const kernel *k)
{
    const node *n = k->layer == NO_NODE ? NULL : &net->nodes.items[k->layer];
    extent rows = extent_of(at(j, k->outputs[0]));
    int64_t axis = n && node_is(n, "Softmax") ? node_attr_int(n, "axis", -1) : -1;
    axis = axis < 0 ? axis + rows.rank : axis;
    if (axis < 0 || axis >= rows.rank) {
        *(kernel *)ARENA_PUSH(j->arena, &j->kernels) = *k;
        return;
    }
    rows.dims[axis] = 1;
    extent_contiguous(&rows);
    tensor_id sums = in_own_memory(j, DT_FLOAT32, &rows, k->outputs[0]);
    add_sums(j, k, "sum", k->inputs, 2, &sums, 1, 2);
    add_formula(j, k, k->op, (const tensor_id[]){k->inputs[0], k->inputs[1], sums}, 3, k->outputs[0], 3);
}

/* The gradient of the bias becomes a separate sum. */
static void split_convolution_gradient(joint *j, const kernel *k, bool has_bias)
{
    kernel *own = ARENA_PUSH(j->arena, &j->kernels);
    *own = *k;
    if (!has_bias)
        return;
    own->output_count--;
    tensor_id bias = by_channel(j, k->outputs[k->output_count - 1], k->inputs[0]);
    add_sums(j, k, "sum", k->inputs, 1, &bias, 1, 1);
}

static int64_t taps_of(const kernel *k)
{
    int64_t taps = 1;
    for (int i = 0; k->window && i < k->window->rank; i++)
        taps = mul_wrapping(taps, k->window->size[i] > 0 ? k->window->size[i] : 1);
    return taps;
}

/* Positions of the maxima are offsets within the window, in 8 bits. */
static void split_max_pool(joint *j, const kernel *k)
{
    kernel *own = ARENA_PUSH(j->arena, &j->kernels);
    *own = *k;
    if (taps_of(k) > MAX_TAPS)
        return;
    own->output_count = 1;
    j->p->tensors.items[k->outputs[1]].dtype = DT_INT8;
    add(j, k, k->op, k->inputs, 1, k->outputs + 1, 1)->window = k->window;
}

/* Gradients of pooling gather from windows and do not read the pooled map. */
static void split_pool_gradient(joint *j, const kernel *k)
{
    kernel *own = ARENA_PUSH(j->arena, &j->kernels);
    *own = *k;
    bool is_offsets = k->input_count > 2 && at(j, k->inputs[2])->dtype == DT_INT8;
    if (k->input_count > 2 ? !is_offsets : taps_of(k) > MAX_TAPS)
        return;
    tensor_id *held = ARENA_ARRAY(j->arena, tensor_id, 2);
    held[0] = k->inputs[0];
    held[1] = is_offsets ? k->inputs[2] : NO_TENSOR;
    own->inputs = held;
    own->input_count = is_offsets ? 2 : 1;
}

/* The gradient reads a mask of positive results, one byte per element, instead of the result itself. */
static void split_threshold_gradient(joint *j, const kernel *k)
{
    extent x = extent_of(at(j, k->inputs[0]));
    tensor_id mask = in_own_memory(j, DT_BOOL, &x, k->inputs[0]);
    add_formula(j, k, "le", k->inputs, 1, mask, 1);
    add_formula(j, k, k->op, (const tensor_id[]){mask, k->inputs[1]}, 2, k->outputs[0], 1);
}

static bool has_name(const kernel *k, const char *op)
{
    return strcmp(k->op, op) == 0;
}

static bool ends_backward(const char *op)
{
    static const char END[] = "_backward";
    size_t length = strlen(op);
    return length >= sizeof END - 1 && strcmp(op + length - (sizeof END - 1), END) == 0;
}

/* A convolution's gradients are those of data, weight and bias, in this order; the data's may be missing. */
static bool has_bias_gradient(const joint *j, const kernel *k)
{
    tensor_id last = k->outputs[k->output_count - 1];
    return k->output_count > 1 && at(j, last)->rank == 1;
}

static void split(joint *j, const network *net, const kernel *k)
{
    bool is_norm = aten_find(k->op)->group == WORK_NORM, is_gradient = ends_backward(k->op);
    if (is_norm && is_gradient && k->input_count >= 4 && at(j, k->outputs[0])->rank > 1)
        split_norm_gradient(j, k);
    else if (is_norm && !is_gradient && k->output_count == 3 && at(j, k->outputs[0])->rank > 1)
        split_norm(j, k);
    else if (has_name(k, "native_dropout") && k->output_count == 2)
        split_dropout(j, k);
    else if (has_name(k, "_softmax_backward_data"))
        split_softmax_gradient(j, net, k);
    else if (has_name(k, "convolution_backward"))
        split_convolution_gradient(j, k, has_bias_gradient(j, k));
    else if (has_name(k, "max_pool2d_with_indices") && k->output_count == 2)
        split_max_pool(j, k);
    else if (aten_find(k->op)->compiled == COMPILED_WINDOW_GRADIENT)
        split_pool_gradient(j, k);
    else if (has_name(k, "threshold_backward"))
        split_threshold_gradient(j, k);
    else
        *(kernel *)ARENA_PUSH(j->arena, &j->kernels) = *k;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void index_storages(joint *j)
{
    size_t count = (size_t)j->p->storage_count + 1;
    j->writer = arena_room(j->arena, count, sizeof *j->writer);
    j->bytes = ARENA_ARRAY(j->arena, int64_t, count);
    for (int32_t s = 0; s < j->p->storage_count; s++)
        j->writer[s] = NO_WRITER;
    for (tensor_id t = j->p->tensors.count - 1; t >= 0; t--) {
        extent x = extent_of(at(j, t));
        int64_t bytes = mul_wrapping(extent_elements(&x), dtype_bits(at(j, t)->dtype)) / 8;
        for (int i = 0; i < x.rank; i++)
            bytes = x.strides[i] == 0 && x.dims[i] > 1 ? bytes / x.dims[i] : bytes;
        j->bytes[joint_storage(j, t)] = bytes > j->bytes[joint_storage(j, t)] ? bytes : j->bytes[joint_storage(j, t)];
    }
    for (int32_t i = 0; i < j->kernels.count; i++)
        for (int n = 0; n < j->kernels.items[i].output_count && !(j->kernels.items[i].flags & KERNEL_VIEW); n++)
            j->writer[joint_storage(j, j->kernels.items[i].outputs[n])] = i;
}

/* Kernels outside any layer at the end of the forward pass, and those at the beginning of the backward pass, belong
 * to the loss. */
static void find_places(joint *j)
{
    /* Indexed by storage: its contents depend on the gradient of the outputs. */
    bool *is_given = ARENA_ARRAY(j->arena, bool, (size_t)j->p->storage_count + 1);
    int32_t loss = 0, after = 0;
    j->place = ARENA_ARRAY(j->arena, joint_place, (size_t)j->kernels.count + 1);
    const kernel *all = j->kernels.items;
    while (loss < j->kernels.count && all[loss].phase == PHASE_FORWARD)
        loss++;
    for (after = loss; loss > 0 && all[loss - 1].layer == NO_NODE;)
        loss--;
    while (after < j->kernels.count && all[after].phase == PHASE_BACKWARD && all[after].layer == NO_NODE)
        after++;
    for (int32_t i = 0; i < j->kernels.count; i++) {
        const kernel *k = &all[i];
        bool depends = (i >= loss && i < after) || k->flags & KERNEL_AGAIN;
        for (int n = 0; n < k->input_count && i >= after; n++)
            depends |= is_given[joint_storage(j, k->inputs[n])];
        for (int n = 0; n < k->output_count; n++)
            is_given[joint_storage(j, k->outputs[n])] |= depends;
        j->place[i] = i < loss                     ? JOINT_FORWARD
                      : i < after                  ? JOINT_LOSS
                      : k->phase == PHASE_UPDATE   ? JOINT_UPDATE
                      : depends || !k->input_count ? JOINT_BACKWARD
                                                   : JOINT_EITHER;
    }
}

joint *joint_of(program *p, const network *net, arena *a)
{
    joint *j = ARENA_NEW(a, joint);
    *j = (joint){.arena = a, .p = p};
    ARENA_RESERVE(a, &j->kernels, 2 * (size_t)p->kernels.count + 1);
    for (int32_t i = 0; i < p->kernels.count; i++) {
        bool is_whole = p->kernels.items[i].phase != PHASE_UPDATE &&
                        !(p->kernels.items[i].flags & (KERNEL_VIEW | KERNEL_UNKNOWN | KERNEL_HIDDEN));
        if (is_whole && p->kernels.items[i].layer != NO_NODE)
            split(j, net, &p->kernels.items[i]);
        else
            *(kernel *)ARENA_PUSH(a, &j->kernels) = p->kernels.items[i];
    }
    find_places(j);
    index_storages(j);
    return j;
}
