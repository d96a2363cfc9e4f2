/* torch_aten_recurrent.c: ATen's recurrent layers. PyTorch has one matrix per layer and direction, ONNX one for both
 * directions, so matrices are joined here. They are constants; only their shapes matter. */
#include "front/torch/torch.h"

struct torch_joined {
    value_id first;
    int what;
    value_id joined;
};

typedef struct layer {
    const char *op;         /* LSTM, GRU, RNN */
    value_id weights[2][4]; /* indexed by direction: input weight, recurrent weight, and their biases or NO_VALUE */
    int directions;
    bool reverse;
    int64_t hidden;
} layer;

/* Joins the weights of all directions into one constant (directions, rows, columns), and biases into (directions,
 * sum of both). */
static value_id joined_weight(torch *t, const layer *l, int what)
{
    value_id first = l->weights[0][what];
    if (first == NO_VALUE)
        return NO_VALUE;
    for (int32_t i = 0; i < t->joined.count; i++)
        if (t->joined.items[i].first == first && t->joined.items[i].what == what + 4 * l->directions)
            return t->joined.items[i].joined;
    const value *v = torch_at(t, first);
    int64_t dims[3] = {l->directions, v->rank > 0 ? v->dims[0] : 0, v->rank > 1 ? v->dims[1] : 0};
    if (what == 2)
        dims[1] *= 2;
    tensor *x = ARENA_NEW(t->kept, tensor);
    *x = (tensor){.dtype = v->dtype, .rank = what < 2 ? 3 : 2, .encoding = TENSOR_ELSEWHERE};
    x->dims = arena_copy(t->kept, dims, 3, sizeof *dims);
    x->stored_bytes = dims[0] * dims[1] * (what < 2 ? dims[2] : 1) * dtype_bits(v->dtype) / 8;
    value_id id = elaborate_constant(t->model, arena_printf(t->kept, "%.*s+%d", STR_ARG(v->name), t->serial++), x);
    *(struct torch_joined *)ARENA_PUSH(t->arena, &t->joined) =
        (struct torch_joined){first, what + 4 * l->directions, id};
    return id;
}

static bool is_matrix(const torch *t, value_id id)
{
    const int64_t most = 1 << 28;
    return torch_rank(t, id) == 2 && dim_known(torch_dim(t, id, 0)) && dim_known(torch_dim(t, id, 1)) &&
           torch_dim(t, id, 0) < most && torch_dim(t, id, 1) < most;
}

static bool sound_weights(const torch *t, const layer *l)
{
    for (int d = 0; d < l->directions; d++)
        for (int i = 0; i < 4; i++) {
            value_id id = l->weights[d][i];
            bool fits = i < 2 ? is_matrix(t, id)
                              : id == NO_VALUE || (torch_rank(t, id) == 1 && dim_known(torch_dim(t, id, 0)) &&
                                                   torch_dim(t, id, 0) < 1 << 28);
            if (!fits)
                return false;
        }
    return true;
}

/* x is (steps, batch, features); states are (directions, batch, hidden) or NO_VALUE. Outputs: (steps, batch,
 * directions * hidden), and the last states. */
static void emit_layer(torch *t, const layer *l, value_id x, value_id h, value_id c, value_id outputs[3])
{
    bool has_cell = l->op[0] == 'L';
    torch_node n = torch_begin(t, l->op);
    torch_in(&n, x);
    torch_in(&n, joined_weight(t, l, 0));
    torch_in(&n, joined_weight(t, l, 1));
    torch_in(&n, joined_weight(t, l, 2));
    torch_in(&n, NO_VALUE);
    torch_in(&n, h);
    if (has_cell)
        torch_in(&n, c);
    torch_attr_int(&n, "hidden_size", l->hidden);
    if (l->directions == 2 || l->reverse)
        torch_attr_text(&n, "direction", l->directions == 2 ? STR("bidirectional") : STR("reverse"));
    if (l->op[0] == 'G')
        torch_attr_int(&n, "linear_before_reset", 1);
    torch_end_many(&n, outputs, has_cell ? 3 : 2);
    value_id all = outputs[0];
    if (l->directions == 1) {
        outputs[0] = torch_squeeze(t, all, 1);
        return;
    }
    num dims[3] = {torch_dim(t, all, 0), torch_dim(t, all, 2), 2 * l->hidden};
    outputs[0] = torch_reshape(t, torch_transpose(t, all, (int64_t[]){0, 2, 1, 3}, 4), dims, 3);
}

static const int64_t SWAPPED[3] = {1, 0, 2};

/* lstm, gru, rnn_tanh, rnn_relu: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
 * batch_first) */
static void rule_layers(torch_call *c)
{
    torch *t = c->torch;
    enum { MAX_LAYERS = 64 };
    const torch_list *params = torch_is_list(c->args[2]) ? c->args[2].list : NULL;
    bool has_cell = c->op->canonical[0] == 'L', biases = torch_arg_bool(c, 3, true),
         batch_first = torch_arg_bool(c, 8, false);
    int directions = torch_arg_bool(c, 7, false) ? 2 : 1, each = biases ? 4 : 2;
    num layers = torch_arg_int(c, 4, 1);
    value_id x = torch_arg_tensor(c, 0), states[2] = {NO_VALUE, NO_VALUE}, last[2][MAX_LAYERS];
    if (torch_is_list(c->args[1])) {
        for (int i = 0; i < 2 && i < c->args[1].list->count; i++)
            states[i] = torch_operand(t, c->args[1].list->items[i], DT_UNKNOWN);
    } else {
        states[0] = torch_arg_tensor(c, 1);
    }
    if (!params || !(layers >= 1 && layers <= MAX_LAYERS) || params->count != layers * directions * each ||
        x == NO_VALUE) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    value_id first = torch_operand(t, params->items[0], DT_UNKNOWN);
    torch_expect(t, x, first == NO_VALUE ? DT_UNKNOWN : torch_at(t, first)->dtype, 0, 0);
    bool unbatched = torch_rank(t, x) == 2;
    if (unbatched)
        x = torch_unsqueeze(t, x, 1);
    else if (batch_first)
        x = torch_transpose(t, x, SWAPPED, 3);
    for (int i = 0; i < layers; i++) {
        layer l = {.op = c->op->canonical, .directions = directions};
        for (int d = 0; d < directions; d++)
            for (int k = 0; k < 4; k++)
                l.weights[d][k] =
                    k < each ? torch_operand(t, params->items[(i * directions + d) * each + k], DT_UNKNOWN) : NO_VALUE;
        if (!sound_weights(t, &l)) {
            torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
            return;
        }
        l.hidden = torch_dim(t, l.weights[0][1], 1);
        value_id own[2] = {NO_VALUE, NO_VALUE}, outputs[3];
        for (int k = 0; k < 2; k++)
            if (states[k] != NO_VALUE)
                own[k] = layers == 1 ? states[k]
                                     : torch_slice(t, states[k], 0, (num)i * directions, (num)(i + 1) * directions, 1);
        emit_layer(t, &l, x, own[0], own[1], outputs);
        x = outputs[0];
        last[0][i] = outputs[1];
        last[1][i] = has_cell ? outputs[2] : NO_VALUE;
    }
    if (unbatched)
        x = torch_squeeze(t, x, 1);
    else if (batch_first)
        x = torch_transpose(t, x, SWAPPED, 3);
    torch_return(c, x);
    torch_return(c, torch_concat(t, last[0], (int)layers, 0));
    if (has_cell)
        torch_return(c, torch_concat(t, last[1], (int)layers, 0));
}

/* One layer and direction, as torch.export 2.1 writes it for CPUs. */
static void rule_mkldnn_layer(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), outputs[3], states[2];
    layer l = {.op = "LSTM", .directions = 1, .reverse = torch_arg_bool(c, 7, false)};
    bool biases = torch_arg_bool(c, 12, true), batch_first = torch_arg_bool(c, 14, false);
    for (int i = 0; i < 4; i++)
        l.weights[0][i] = i < 2 || biases ? torch_arg_tensor(c, 1 + i) : NO_VALUE;
    if (!sound_weights(t, &l) || x == NO_VALUE) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    l.hidden = torch_dim(t, l.weights[0][1], 1);
    for (int i = 0; i < 2; i++) {
        states[i] = torch_arg_tensor(c, 5 + i);
        if (torch_rank(t, states[i]) == 2)
            states[i] = torch_unsqueeze(t, states[i], 0);
    }
    if (batch_first)
        x = torch_transpose(t, x, SWAPPED, 3);
    emit_layer(t, &l, x, states[0], states[1], outputs);
    torch_return(c, batch_first ? torch_transpose(t, outputs[0], SWAPPED, 3) : outputs[0]);
    torch_return(c, outputs[1]);
    torch_return(c, outputs[2]);
}

static value_id linear_of(torch_call *c, value_id x, int weight, int bias)
{
    torch_node n = torch_begin(c->torch, "Gemm");
    torch_in(&n, x);
    torch_in(&n, torch_arg_tensor(c, weight));
    torch_in(&n, torch_arg_tensor(c, bias));
    torch_attr_int(&n, "transB", 1);
    return torch_end(&n);
}

static void split_gates(torch *t, value_id x, value_id *gates, int count)
{
    torch_node n = torch_begin(t, "Split");
    torch_in(&n, x);
    torch_attr_int(&n, "axis", 1);
    torch_attr_int(&n, "num_outputs", count);
    torch_end_many(&n, gates, count);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh): one step as basic operators. */
static void rule_lstm_cell(torch_call *c)
{
    torch *t = c->torch;
    const torch_list *states = torch_is_list(c->args[1]) ? c->args[1].list : NULL;
    if (!states || states->count != 2 || states->items[0].kind != TORCH_TENSOR ||
        states->items[1].kind != TORCH_TENSOR) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    value_id gates[4];
    split_gates(
        t,
        torch_emit2(t, "Add", linear_of(c, torch_arg_tensor(c, 0), 2, 4), linear_of(c, states->items[0].tensor, 3, 5)),
        gates, 4);
    for (int i = 0; i < 4; i++)
        gates[i] = torch_emit1(t, i == 2 ? "Tanh" : "Sigmoid", gates[i]);
    value_id cell = torch_emit2(t, "Add", torch_emit2(t, "Mul", gates[1], states->items[1].tensor),
                                torch_emit2(t, "Mul", gates[0], gates[2]));
    torch_return(c, torch_emit2(t, "Mul", gates[3], torch_emit1(t, "Tanh", cell)));
    torch_return(c, cell);
}

static void rule_gru_cell(torch_call *c)
{
    torch *t = c->torch;
    value_id h = torch_arg_tensor(c, 1), from_input[3], from_state[3];
    split_gates(t, linear_of(c, torch_arg_tensor(c, 0), 2, 4), from_input, 3);
    split_gates(t, linear_of(c, h, 3, 5), from_state, 3);
    value_id reset = torch_emit1(t, "Sigmoid", torch_emit2(t, "Add", from_input[0], from_state[0]));
    value_id update = torch_emit1(t, "Sigmoid", torch_emit2(t, "Add", from_input[1], from_state[1]));
    value_id fresh =
        torch_emit1(t, "Tanh", torch_emit2(t, "Add", from_input[2], torch_emit2(t, "Mul", reset, from_state[2])));
    torch_return(c, torch_emit2(t, "Add", fresh, torch_emit2(t, "Mul", update, torch_emit2(t, "Sub", h, fresh))));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"gru", "input hx params has_biases num_layers dropout train bidirectional batch_first", rule_layers, "GRU"},
    {"gru_cell", "input hx w_ih w_hh b_ih b_hh", rule_gru_cell, NULL},
    {"lstm", "input hx params has_biases num_layers dropout train bidirectional batch_first", rule_layers, "LSTM"},
    {"lstm_cell", "input hx w_ih w_hh b_ih b_hh", rule_lstm_cell, NULL},
    {"mkldnn_rnn_layer", "input weight0 weight1 weight2 weight3 hx_ cx_ reverse batch_sizes mode hidden_size num_layers "
     "has_biases bidirectional batch_first train", rule_mkldnn_layer, NULL},
    {"rnn_relu", "input hx params has_biases num_layers dropout train bidirectional batch_first", rule_layers, "RNN"},
    {"rnn_tanh", "input hx params has_biases num_layers dropout train bidirectional batch_first", rule_layers, "RNN"},
};
/* clang-format on */

const torch_op *torch_ops_recurrent(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
