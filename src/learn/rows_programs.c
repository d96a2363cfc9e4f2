/* rows_programs.c: builds the program of one call of a measured operator from the numbers in its row. */
#include "learn/rows_operators.h"

static eager *begin(operator_reader *o, const char *canonical)
{
    return single_begin(o->single, canonical, &o->row->where.lower, o->table->arena);
}

#define DIMS(...)                                                                                                      \
    (const int64_t[])                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Creates a matrix (rows, columns), row-major or transposed. */
static tensor_id matrix(eager *e, dtype type, int64_t rows, int64_t columns, bool is_turned)
{
    if (!is_turned)
        return single_tensor(e, type, 2, DIMS(rows, columns));
    return eager_transpose_last(e, single_tensor(e, type, 2, DIMS(columns, rows)));
}

/* Products of quantized operands have a different result type. */
static void set_output_type(operator_reader *o, eager *e)
{
    if (o->output == o->input)
        return;
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    placed_tensor *y = &e->out->tensors.items[k->outputs[0]];
    y->dtype = o->output;
    extent x = extent_of(y);
    k->bytes_written = extent_elements(&x) * dtype_bits(o->output) / 8;
}

static void make_bmm(operator_reader *o)
{
    int64_t batch = operator_number(o, COLUMN_BATCH, 1, 1), m = operator_number(o, COLUMN_M, 1, -1),
            n = operator_number(o, COLUMN_N, 1, -1), k = operator_number(o, COLUMN_K, 1, -1);
    eager *e = begin(o, "MatMul");
    tensor_id a = single_tensor(e, o->input, 3, DIMS(batch, m, k));
    eager_batched_product(e, a, single_tensor(e, o->weight, 3, DIMS(batch, k, n)));
    set_output_type(o, e);
}

/* Tables in BLAS notation are column-major: their product (m, k) by (k, n) is PyTorch's (n, k) by (k, m). */
static void make_gemm(operator_reader *o)
{
    if (operator_number(o, COLUMN_BATCH, 1, 1) > 1) {
        make_bmm(o);
        return;
    }
    int64_t m = operator_number(o, COLUMN_M, 1, -1), n = operator_number(o, COLUMN_N, 1, -1),
            k = operator_number(o, COLUMN_K, 1, -1);
    eager *e = begin(o, "MatMul");
    str turn_a = operator_text(o, COLUMN_TRANS_A), turn_b = operator_text(o, COLUMN_TRANS_B);
    if (turn_a.len) {
        tensor_id b = matrix(e, o->input, n, k, str_is(turn_b, "T"));
        eager_matmul(e, b, matrix(e, o->weight, k, m, str_is(turn_a, "T")), false);
    } else {
        tensor_id x = single_tensor(e, o->input, 2, DIMS(m, k));
        eager_linear(e, x, single_weight(e, o->weight, 2, DIMS(n, k)), NO_TENSOR);
    }
    set_output_type(o, e);
}

static void make_linear_of(operator_reader *o, int64_t m, int64_t n, int64_t k)
{
    eager *e = begin(o, "Linear");
    tensor_id x = single_tensor(e, o->input, 2, DIMS(m, k)), w = single_weight(e, o->weight, 2, DIMS(n, k));
    eager_linear(e, x, w, single_weight(e, o->weight, 1, DIMS(n)));
}

/* Returns the first number after `key` in a module's text ("Linear(in_features=9216, out_features=4096,
 * bias=True)"). */
static int64_t described(operator_reader *o, const char *key)
{
    str text = operator_text(o, COLUMN_DESCRIPTION);
    size_t n = strlen(key);
    int64_t number = 0;
    for (size_t i = 0; i + n <= text.len; i++) {
        if (memcmp(text.ptr + i, key, n) != 0)
            continue;
        for (size_t k = i + n; k < text.len && text.ptr[k] >= '0' && text.ptr[k] <= '9' && number < INT32_MAX; k++)
            number = number * 10 + (text.ptr[k] - '0');
        break;
    }
    if (number < 1 || number > INT32_MAX) {
        table_reject(o->table, o->row, "its description has no %s", key);
        return 1;
    }
    return number;
}

static void make_linear(operator_reader *o)
{
    bool is_described = operator_text(o, COLUMN_DESCRIPTION).len > 0;
    if (is_described) {
        int64_t m = operator_number(o, COLUMN_IMAGES, 1, -1), k = described(o, "in_features=");
        make_linear_of(o, m, described(o, "out_features="), k);
    } else {
        int64_t m = operator_number(o, COLUMN_M, 1, -1), n = operator_number(o, COLUMN_N, 1, -1);
        make_linear_of(o, m, n, operator_number(o, COLUMN_K, 1, -1));
    }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Creates a tensor stored as (N, L, heads, width), like the output of projections, and viewed as (N, heads, L,
 * width). */
static tensor_id heads_of(eager *e, dtype type, int64_t batch, int64_t heads, int64_t length, int64_t width)
{
    tensor_id t = single_tensor(e, type, 4, DIMS(batch, length, heads, width));
    return eager_permute(e, t, DIMS(0, 2, 1, 3));
}

/* Number of query-key pairs of a sequence. */
static double pairs_of(double queries, double past, double window, bool is_causal)
{
    if (!is_causal)
        return queries * (past + queries);
    if (window <= 0 || window >= past + queries)
        return queries * past + queries * (queries + 1) / 2;
    double growing = window > past ? window - past : 0; /* Queries that see less than a whole window of keys. */
    return growing * past + growing * (growing + 1) / 2 + (queries - growing) * window;
}

static void make_attention(operator_reader *o)
{
    int64_t batch = operator_number(o, COLUMN_BATCH, 1, 1), queries = operator_number(o, COLUMN_Q_LEN, 1, -1),
            past = operator_number(o, COLUMN_PAST_LEN, 0, 0), heads = operator_number(o, COLUMN_HEADS, 1, -1),
            kv_heads = operator_number(o, COLUMN_KV_HEADS, 1, -1), width = operator_number(o, COLUMN_HEAD_DIM, 1, -1),
            window = operator_number(o, COLUMN_WINDOW, 0, 0);
    str kv_type = operator_text(o, COLUMN_KV_DTYPE);
    dtype stored = str_is(kv_type, "fp8") ? DT_FLOAT8E4M3FN : o->input;
    eager *e = begin(o, "ScaledDotProductAttention");
    tensor_id q = heads_of(e, o->input, batch, heads, queries, width);
    tensor_id k = heads_of(e, stored, batch, kv_heads, past + queries, width);
    eager_attention(e, q, k, heads_of(e, stored, batch, kv_heads, past + queries, width), NO_TENSOR);
    for (int32_t i = 0; i < e->out->kernels.count; i++) {
        kernel *made = &e->out->kernels.items[i];
        if (!made->macs)
            continue;
        bool is_causal = !str_is(o->op, "encoder_attention");
        double pairs = pairs_of((double)queries, (double)past, (double)window, is_causal);
        double macs = (double)batch * (double)heads * pairs * 2 * (double)width;
        made->macs = macs < 4e18 ? (int64_t)macs : INT64_MAX;
        made->flops = macs < 4e18 ? 2 * made->macs : INT64_MAX;
    }
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

static bool is_biased(const operator_reader *o)
{
    static const char no_bias[] = "bias=False";
    str text = operator_text(o, COLUMN_DESCRIPTION);
    for (size_t i = 0; i + sizeof no_bias - 1 <= text.len; i++)
        if (memcmp(text.ptr + i, no_bias, sizeof no_bias - 1) == 0)
            return false;
    return text.len > 0;
}

static void read_window(operator_reader *o, kernel_window *w, bool is_deep)
{
    w->rank = is_deep ? 3 : 2;
    w->groups = operator_number(o, COLUMN_GROUPS, 1, 1);
    int64_t size = operator_number(o, COLUMN_FILTER_HEIGHT, 1, -1);
    int64_t dilation = operator_number(o, COLUMN_DILATION, 1, 1);
    for (int i = 0; i < w->rank; i++) {
        w->size[i] = size;
        w->dilation[i] = dilation;
        w->stride[i] = is_deep ? operator_number(o, COLUMN_STRIDE, 1, -1)
                               : operator_number(o, i ? COLUMN_STRIDE_W : COLUMN_STRIDE_H, 1, -1);
        w->padding[i] = is_deep ? operator_number(o, COLUMN_PAD, 0, -1)
                                : operator_number(o, i ? COLUMN_PAD_W : COLUMN_PAD_H, 0, -1);
    }
    if (!is_deep)
        w->size[1] = operator_number(o, COLUMN_FILTER_WIDTH, 1, -1);
}

/* Computes the dimensions of the result. Rejects the row if the window does not fit. */
static extent swept(operator_reader *o, const kernel_window *w, const extent *x, int64_t filters)
{
    extent y = {.rank = x->rank, .dims = {x->dims[0], filters}};
    for (int i = 0; i < w->rank; i++) {
        int64_t room = x->dims[2 + i] + 2 * w->padding[i] - w->dilation[i] * (w->size[i] - 1) - 1;
        y.dims[2 + i] = room < 0 ? 1 : room / w->stride[i] + 1;
        if (room < 0)
            table_reject(o->table, o->row, "the window is larger than the map");
    }
    return y;
}

static void make_convolution(operator_reader *o)
{
    bool is_deep = str_is(o->op, "conv3d");
    extent x = {.rank = is_deep ? 5 : 4};
    int at = 0;
    x.dims[at++] = operator_number(o, COLUMN_IMAGES, 1, -1);
    x.dims[at++] = operator_number(o, COLUMN_CHANNELS, 1, -1);
    if (is_deep)
        x.dims[at++] = operator_number(o, COLUMN_DEPTH, 1, -1);
    x.dims[at++] = operator_number(o, COLUMN_HEIGHT, 1, -1);
    x.dims[at++] = operator_number(o, COLUMN_WIDTH, 1, -1);
    int64_t filters = operator_number(o, COLUMN_FILTERS, 1, -1);
    kernel_window *window = ARENA_NEW(o->table->arena, kernel_window);
    read_window(o, window, is_deep);
    if (x.dims[1] % window->groups || filters % window->groups)
        table_reject(o->table, o->row, "the channels are not divisible into %lld groups", (long long)window->groups);
    extent y = swept(o, window, &x, filters), w = {.rank = x.rank, .dims = {filters, x.dims[1] / window->groups}};
    memcpy(w.dims + 2, window->size, (size_t)window->rank * sizeof *w.dims);
    if (o->row->reason)
        return;
    eager *e = begin(o, "Conv");
    tensor_id input = single_tensor(e, o->input, x.rank, x.dims), weight = single_weight(e, o->weight, w.rank, w.dims);
    if (!str_starts(o->direction, "bwd")) {
        tensor_id bias = is_biased(o) ? single_weight(e, o->weight, 1, &filters) : NO_TENSOR;
        eager_convolution(e, input, weight, bias, window, &y);
        if (bias == NO_TENSOR)
            set_output_type(o, e);
        return;
    }
    bool of_input = !str_is(o->direction, "bwd_weight"), of_weight = !str_is(o->direction, "bwd_data");
    single_convolution_backward(e, input, weight, window, y, of_input, of_weight);
}

/* ---- recurrent layers -------------------------------------------------------------------------------------------- */

/* Omits the product of the inputs: DeepBench's layers are as wide as their inputs, so cuDNN adds the inputs
 * directly. (The measured weight gradients reach the GPU's peak without that product.) */
static void make_recurrent(operator_reader *o)
{
    const char *canonical = str_is(o->op, "lstm") ? "LSTM" : str_is(o->op, "gru") ? "GRU" : "RNN";
    recurrent r = *eager_recurrent_named(str_of(canonical));
    r.hidden = operator_number(o, COLUMN_HIDDEN, 1, -1);
    r.batch = operator_number(o, COLUMN_BATCH, 1, -1);
    r.steps = operator_number(o, COLUMN_STEPS, 1, -1);
    if (o->row->reason)
        return;
    int64_t rows = r.steps * r.batch, gates = r.gates * r.hidden;
    eager *e = begin(o, canonical);
    if (str_is(o->direction, "bwd_weight")) {
        tensor_id made = single_tensor(e, o->input, 2, DIMS(rows, gates));
        eager_matmul(e, eager_transpose_last(e, made), single_tensor(e, o->input, 2, DIMS(rows, r.hidden)), false);
        return;
    }
    tensor_id weight = single_weight(e, o->weight, 2, DIMS(gates, r.hidden));
    if (str_is(o->direction, "bwd_data")) {
        eager_recurrent_steps_backward(e, &r, single_tensor(e, o->input, 2, DIMS(rows, gates)), weight);
        return;
    }
    tensor_id h = single_tensor(e, o->input, 2, DIMS(r.batch, r.hidden));
    tensor_id c = r.has_cell ? single_tensor(e, o->input, 2, DIMS(r.batch, r.hidden)) : NO_TENSOR;
    eager_recurrent_steps(e, &r, single_tensor(e, o->input, 2, DIMS(rows, r.hidden)), weight, h, c);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* Tables of language models call the rows and columns m and n; all others have rows and columns. */
static void read_rows(operator_reader *o, int64_t *rows, int64_t *columns)
{
    bool has_m = operator_text(o, COLUMN_M).len > 0;
    *rows = operator_number(o, has_m ? COLUMN_M : COLUMN_ROWS, 1, -1);
    *columns = operator_number(o, has_m ? COLUMN_N : COLUMN_COLS, 1, -1);
}

/* Creates a pointwise operand. An in-place ReLU of a convolutional network has only a size in bytes. */
static tensor_id pointwise_input(operator_reader *o, eager *e)
{
    if (operator_text(o, COLUMN_ACTIVATION_BYTES).len) {
        int64_t elements = operator_number(o, COLUMN_ACTIVATION_BYTES, 4, -1) / 4;
        return single_tensor(e, o->input, 1, &elements);
    }
    int64_t rows, columns;
    read_rows(o, &rows, &columns);
    return single_tensor(e, o->input, 2, DIMS(rows, columns));
}

static void make_pointwise(operator_reader *o)
{
    const operator_kind *kind = operator_kind_of(o->op);
    eager *e = begin(o, kind->canonical);
    tensor_id inputs[2] = {pointwise_input(o, e), NO_TENSOR};
    if (kind->operands == 2) {
        extent x = tensor_extent(e, inputs[0]);
        inputs[1] = eager_tensor_new(e, o->input, &x);
    }
    eager_pointwise(e, kind->aten, inputs, kind->operands, o->input);
}

/* Pointwise activation with a gate; gate and value are contiguous in memory. */
static void make_activation(operator_reader *o)
{
    int64_t rows, columns;
    read_rows(o, &rows, &columns);
    bool is_gated = operator_number(o, COLUMN_GATED, 0, 0) == 1;
    eager *e = begin(o, is_gated ? "Silu" : "Gelu");
    tensor_id x = single_tensor(e, o->input, 2, DIMS(rows, is_gated ? 2 * columns : columns));
    if (!is_gated) {
        eager_unary(e, "gelu", x);
        return;
    }
    extent half = {.rank = 2, .dims = {rows, columns}, .strides = {2 * columns, 1}};
    tensor_id gate = eager_view_as(e, "split", x, &half), value = eager_view_as(e, "split", x, &half);
    eager_pointwise(e, "silu", (const tensor_id[]){gate, value}, 2, o->input);
}

static void make_layer_norm(operator_reader *o)
{
    int64_t rows, columns;
    read_rows(o, &rows, &columns);
    bool is_rms = operator_number(o, COLUMN_GATED, 0, 0) == 1; /* models with gates use RMS norm */
    eager *e = begin(o, is_rms ? "RMSNormalization" : "LayerNormalization");
    tensor_id x = single_tensor(e, o->input, 2, DIMS(rows, columns)), w = single_weight(e, o->weight, 1, &columns);
    tensor_id inputs[3] = {x, w, is_rms ? NO_TENSOR : single_weight(e, o->weight, 1, &columns)};
    extent y = tensor_extent(e, x);
    eager_normalised(e, is_rms ? "_fused_rms_norm" : "native_layer_norm", inputs, 3, &y);
}

static void make_softmax(operator_reader *o)
{
    int64_t rows, columns;
    read_rows(o, &rows, &columns);
    eager *e = begin(o, "Softmax");
    eager_softmax(e, "_softmax", single_tensor(e, o->input, 2, DIMS(rows, columns)));
}

static void make_batch_norm(operator_reader *o)
{
    int64_t dims[5] = {operator_number(o, COLUMN_IMAGES, 1, -1), operator_number(o, COLUMN_CHANNELS, 1, -1),
                       operator_number(o, COLUMN_DEPTH, 1, -1), operator_number(o, COLUMN_HEIGHT, 1, -1),
                       operator_number(o, COLUMN_WIDTH, 1, -1)};
    eager *e = begin(o, "BatchNormalization");
    tensor_id inputs[5] = {single_tensor(e, o->input, 5, dims)};
    for (int i = 1; i < 5; i++) /* Weight, bias, running mean and variance. */
        inputs[i] = single_weight(e, o->weight, 1, dims + 1);
    extent y = tensor_extent(e, inputs[0]);
    if (str_starts(o->direction, "bwd"))
        single_norm_backward(e, "native_batch_norm_backward", inputs, 5);
    else
        eager_normalised(e, "native_batch_norm", inputs, 5, &y);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

const operator_kind *operator_kind_of(str op)
{
    static const operator_kind KINDS[] = {
        {"gemm", make_gemm, NULL, NULL, 0},
        {"linear", make_linear, NULL, NULL, 0},
        {"bmm", make_bmm, NULL, NULL, 0},
        {"conv2d", make_convolution, NULL, NULL, 0},
        {"conv3d", make_convolution, NULL, NULL, 0},
        {"context_attention", make_attention, NULL, NULL, 0},
        {"generation_attention", make_attention, NULL, NULL, 0},
        {"encoder_attention", make_attention, NULL, NULL, 0},
        {"lstm", make_recurrent, NULL, NULL, 0},
        {"gru", make_recurrent, NULL, NULL, 0},
        {"vanilla", make_recurrent, NULL, NULL, 0},
        {"ln", make_layer_norm, NULL, NULL, 0},
        {"layernorm", make_layer_norm, NULL, NULL, 0},
        {"input_layernorm", make_layer_norm, NULL, NULL, 0},
        {"post_attention_layernorm", make_layer_norm, NULL, NULL, 0},
        {"batchnorm3d", make_batch_norm, NULL, NULL, 0},
        {"softmax", make_softmax, NULL, NULL, 0},
        {"mlp_act", make_activation, NULL, NULL, 0},
        {"add", make_pointwise, "Add", "add", 2},
        {"mul", make_pointwise, "Mul", "mul", 2},
        {"div", make_pointwise, "Div", "div", 2},
        {"pow", make_pointwise, "Pow", "pow", 2},
        {"addu", make_pointwise, "Add", "add", 1}, /* adds a scalar */
        {"mulu", make_pointwise, "Mul", "mul", 1},
        {"divu", make_pointwise, "Div", "div", 1},
        {"powu", make_pointwise, "Pow", "pow", 1},
        {"tanh", make_pointwise, "Tanh", "tanh", 1},
        {"relu", make_pointwise, "Relu", "relu", 1},
        {"gelu", make_pointwise, "Gelu", "gelu", 1},
    };
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_is(op, KINDS[i].op))
            return &KINDS[i];
    return NULL;
}

void operator_make(operator_reader *o, const operator_kind *kind)
{
    if (setjmp(o->single->model.fail.jump)) {
        const sooth_error *why = o->single->model.fail.error;
        if (why->code == SOOTH_ERROR_SYSTEM)
            fail_with(o->table->fail, why->code, "%s", why->message);
        table_reject(o->table, o->row, "one of its tensors is too large");
        return;
    }
    o->single->eager.out = NULL;
    kind->make(o);
    o->row->kernels = o->row->reason ? NULL : o->single->eager.out;
}
