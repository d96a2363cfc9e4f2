/* rules_recurrent.c: lowers LSTM, GRU and plain recurrent layers to cuDNN's standard algorithm. Each direction runs
 * one product for the inputs of all steps, then per step a product with the state and a kernel that combines the
 * gates. The first kernel is `_cudnn_rnn`, which PyTorch dispatches: it takes no device time, has the outputs and
 * the gradient rule. cuDNN's persistent algorithm for small 16-bit weights depends on the GPU and is not modelled. */
#include "lower/train/backward.h"

static kernel *last_kernel(eager *e)
{
    return &e->out->kernels.items[e->out->kernels.count - 1];
}

/* FLOPs per unit: two additions and an activation per gate, plus 4 (GRU) or 5 (LSTM) to combine the gates. */
static const recurrent CELLS[] = {
    {"LSTM", "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward", 4, 17, true, 0, 0, 0},
    {"GRU", "_thnn_fused_gru_cell", "_thnn_fused_gru_cell_backward", 3, 13, false, 0, 0, 0},
    {"RNN", "rnn_tanh_cell", "tanh_backward", 1, 3, false, 0, 0, 0},
};

const recurrent *eager_recurrent_named(str op)
{
    for (size_t i = 0; i < sizeof CELLS / sizeof *CELLS; i++)
        if (str_is(op, CELLS[i].op))
            return &CELLS[i];
    return NULL;
}

/* Sets the number of runs of the last kernel, all inside one call of cuDNN. */
static void run_times(eager *e, int64_t times)
{
    kernel *k = last_kernel(e);
    k->flags |= KERNEL_LIBRARY;
    if (__builtin_mul_overflow(k->repeat, times, &k->repeat))
        k->repeat = INT64_MAX;
}

static extent matrix_extent(int64_t rows, int64_t columns)
{
    extent x = {.rank = 2, .dims = {rows, columns}};
    extent_contiguous(&x);
    return x;
}

/* Returns the rows of one step from a matrix with the rows of all steps. */
static tensor_id one_step(eager *e, const recurrent *r, tensor_id all)
{
    extent x = matrix_extent(r->batch, tensor_at(e, all)->dims[1]);
    return eager_view_as(e, "select", all, &x);
}

/* Only the first step reads the weights from memory; later steps find them in the cache. */
static int64_t next_steps(const recurrent *r, int64_t done)
{
    return done == 0 ? 1 : r->steps - done;
}

void eager_recurrent_steps(eager *e, const recurrent *r, tensor_id gates, tensor_id weight, tensor_id h, tensor_id c)
{
    dtype type = tensor_dtype(e, gates);
    extent state = matrix_extent(r->batch, r->hidden);
    tensor_id turned = eager_transpose_last(e, weight), from_input = one_step(e, r, gates);
    for (int64_t done = 0, steps; done < r->steps; done += steps) {
        steps = next_steps(r, done);
        tensor_id from_state = eager_matmul(e, h, turned, false);
        run_times(e, steps);
        tensor_id inputs[3] = {from_input, from_state, r->has_cell ? c : r->gates > 1 ? h : NO_TENSOR};
        h = eager_launch_new(e, r->cell, inputs, 3, type, &state);
        if (r->has_cell)
            c = eager_add_output(e, type, &state);
        eager_count_flops(e, r->flops);
        run_times(e, steps);
    }
}

void eager_recurrent_steps_backward(eager *e, const recurrent *r, tensor_id gates, tensor_id weight)
{
    dtype type = tensor_dtype(e, gates);
    extent state = matrix_extent(r->batch, r->hidden), wide = matrix_extent(r->batch, r->gates * r->hidden);
    tensor_id dh = eager_tensor_new(e, type, &state), dc = r->has_cell ? eager_tensor_new(e, type, &state) : NO_TENSOR;
    tensor_id saved = one_step(e, r, gates);
    for (int64_t done = 0, steps; done < r->steps; done += steps) {
        steps = next_steps(r, done);
        tensor_id inputs[3] = {dh, saved, dc};
        tensor_id step = eager_launch_new(e, r->cell_backward, inputs, 3, type, &wide);
        if (r->has_cell)
            dc = eager_add_output(e, type, &state);
        eager_count_flops(e, 2 * r->flops / r->gates);
        run_times(e, steps);
        dh = eager_matmul(e, step, weight, false);
        run_times(e, steps);
    }
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Reads the sizes of the layer. Returns false for an unknown kind or inconsistent shapes. */
static bool read_layer(eager *e, const node *n, recurrent *r, int64_t *directions, int64_t *features)
{
    const recurrent *cell = eager_recurrent_named(n->type);
    if (!cell || n->input_count < 3)
        return false;
    const value *x = &e->net->values.items[n->inputs[0]], *w = &e->net->values.items[n->inputs[1]],
                *recurrence = &e->net->values.items[n->inputs[2]];
    if (x->rank != 3 || w->rank != 3 || recurrence->rank != 3)
        return false;
    bool batch_first = node_attr_int(n, "layout", 0) == 1;
    *r = *cell;
    r->steps = x->dims[batch_first ? 1 : 0];
    r->batch = x->dims[batch_first ? 0 : 1];
    r->hidden = recurrence->dims[2];
    *directions = w->dims[0];
    *features = x->dims[2];
    int64_t rows = mul_wrapping(r->gates, r->hidden);
    return r->steps > 0 && r->batch > 0 && r->hidden > 0 && *directions >= 1 && *directions <= 2 &&
           recurrence->dims[0] == *directions && w->dims[1] == rows && recurrence->dims[1] == rows &&
           w->dims[2] == *features;
}

/* Returns the weights or state of one direction from (directions, …). */
static tensor_id of_direction(eager *e, tensor_id t, int64_t rows, int64_t columns)
{
    extent x = matrix_extent(rows, columns);
    return eager_view_as(e, "select", t, &x);
}

/* Returns the input biases, one per gate. The cell adds the state biases. */
static tensor_id bias_of(eager *e, tensor_id bias, int64_t rows)
{
    if (bias == NO_TENSOR || tensor_at(e, bias)->rank != 2 || tensor_at(e, bias)->dims[1] < rows)
        return NO_TENSOR;
    extent x = {.rank = 1, .dims = {rows}};
    extent_contiguous(&x);
    return eager_view_as(e, "select", bias, &x);
}

/* Returns the state (directions, batch, hidden), or zeros if the network gives none. */
static tensor_id initial_states(eager *e, int input, dtype type, const extent *x)
{
    tensor_id given = eager_input_of(e, input);
    if (given == NO_TENSOR || tensor_at(e, given)->rank != 3)
        return eager_launch_new(e, "zeros", NULL, 0, type, x);
    return eager_to_low(e, given);
}

/* The layer's result has shape (steps, batch, directions, hidden). */
static void set_results(eager *e, const recurrent *r, const tensor_id *outputs)
{
    bool batch_first = node_attr_int(e->node, "layout", 0) == 1;
    for (int i = 0; i < e->node->output_count && i < (r->has_cell ? 3 : 2); i++) {
        if (e->node->outputs[i] == NO_VALUE)
            continue;
        tensor_id t = outputs[i];
        if (i == 0)
            t = eager_permute(e, t, batch_first ? (const int64_t[]){1, 0, 2, 3} : (const int64_t[]){0, 2, 1, 3});
        else if (batch_first)
            t = eager_permute(e, t, (const int64_t[]){1, 0, 2});
        eager_set_result(e, i, t);
    }
}

void lower_recurrent(eager *e)
{
    recurrent r;
    int64_t directions, features;
    if (!read_layer(e, e->node, &r, &directions, &features)) {
        lower_unknown(e);
        return;
    }
    tensor_id x = eager_to_low(e, eager_input_of(e, 0)), w = eager_to_low(e, eager_input_of(e, 1)),
              recurrence = eager_to_low(e, eager_input_of(e, 2)), bias = eager_to_low(e, eager_input_of(e, 3));
    if (node_attr_int(e->node, "layout", 0) == 1)
        x = eager_permute(e, x, (const int64_t[]){1, 0, 2});
    int64_t rows = mul_wrapping(r.gates, r.hidden), all = mul_wrapping(r.steps, r.batch);
    x = eager_reshape(e, x, 2, (const int64_t[]){all, features});
    dtype type = tensor_dtype(e, x);
    extent y = {.rank = 4, .dims = {r.steps, r.batch, directions, r.hidden}},
           last = {.rank = 3, .dims = {directions, r.batch, r.hidden}};
    extent_contiguous(&y);
    extent_contiguous(&last);
    tensor_id outputs[3] = {eager_tensor_new(e, type, &y), NO_TENSOR, NO_TENSOR};
    eager_launch(e, "_cudnn_rnn", (const tensor_id[]){x, w, recurrence, bias}, 4, outputs[0], KERNEL_VIEW);
    outputs[1] = eager_add_output(e, type, &last);
    if (r.has_cell)
        outputs[2] = eager_add_output(e, type, &last);
    if (e->trains) { /* Training saves the gates of all steps. */
        extent kept = matrix_extent(mul_wrapping(directions, all), rows);
        eager_add_output(e, type, &kept);
    }
    last_kernel(e)->bytes_written = 0;
    tensor_id h = initial_states(e, 5, type, &last), c = r.has_cell ? initial_states(e, 6, type, &last) : NO_TENSOR;
    for (int64_t d = 0; d < directions; d++) {
        tensor_id gates = eager_linear(e, x, of_direction(e, w, rows, features), bias_of(e, bias, rows));
        tensor_id own_h = of_direction(e, h, r.batch, r.hidden);
        tensor_id own_c = r.has_cell ? of_direction(e, c, r.batch, r.hidden) : NO_TENSOR;
        eager_recurrent_steps(e, &r, gates, of_direction(e, recurrence, rows, r.hidden), own_h, own_c);
    }
    set_results(e, &r, outputs);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Returns one tensor with the weight gradients of both directions, as the network stores weights. */
static tensor_id joined(eager *e, const tensor_id *parts, int64_t directions, tensor_id like)
{
    extent x = tensor_extent(e, like);
    extent_contiguous(&x);
    if (directions == 1)
        return eager_view_as(e, "view", parts[0], &x);
    return eager_launch_new(e, "stack", parts, 2, tensor_dtype(e, parts[0]), &x);
}

/* Gradient rule of `_cudnn_rnn`. Its inputs are the inputs of all steps, both weights and the biases. */
void back_recurrent(backward *b)
{
    eager *e = b->e;
    recurrent r;
    int64_t directions, features;
    if (!e->node || !read_layer(e, e->node, &r, &directions, &features) || b->k.input_count < 3)
        return;
    const tensor_id *in = b->k.inputs;
    dtype type = tensor_dtype(e, in[0]);
    int64_t rows = r.gates * r.hidden, all = r.steps * r.batch;
    extent wide = matrix_extent(all, rows), narrow = matrix_extent(all, r.hidden);
    tensor_id dx = NO_TENSOR, dw[2], dr[2], gates[2] = {NO_TENSOR, NO_TENSOR};
    tensor_id given[3] = {b->dy, b->k.outputs[0], b->k.outputs[b->k.output_count - 1]};
    for (int64_t d = 0; d < directions; d++) {
        gates[d] = eager_tensor_new(e, type, &wide);
        eager_launch(e, "_cudnn_rnn_backward", given, 3, gates[d], KERNEL_VIEW);
        tensor_id kept = eager_view_as(e, "select", given[2], &wide);
        eager_recurrent_steps_backward(e, &r, kept, of_direction(e, in[2], rows, r.hidden));
        tensor_id turned = eager_transpose_last(e, gates[d]), states = eager_view_as(e, "select", given[1], &narrow);
        dr[d] = back_product_of(e, turned, states);
        dw[d] = back_product_of(e, turned, in[0]);
        if (!back_wants(b, 0))
            continue;
        tensor_id part = back_product_of(e, gates[d], of_direction(e, in[1], rows, features));
        dx = dx == NO_TENSOR ? part : back_work(e, "add", (const tensor_id[]){dx, part}, 2, type, 1);
    }
    back_give(b, 0, dx);
    back_give(b, 1, joined(e, dw, directions, in[1]));
    back_give(b, 2, joined(e, dr, directions, in[2]));
    if (b->k.input_count < 4 || !back_wants(b, 3))
        return;
    extent bias = tensor_extent(e, in[3]);
    extent_contiguous(&bias);
    tensor_id db = eager_launch_new(e, "sum", gates, 2, type, &bias);
    last_kernel(e)->flops = extent_elements(&wide);
    back_give(b, 3, db);
}
