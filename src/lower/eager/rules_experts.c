/* rules_experts.c: mixture-of-experts layers as in Transformers. Tokens are sorted by expert, each expert with tokens
 * runs its products, and each token receives the weighted sum of its experts' results. */
#include "lower/eager/eager.h"

/* Rows per expert depend on the data, so tokens are assumed to be spread evenly. */
typedef struct routing {
    int64_t tokens, chosen, active, rows; /* `active`: experts that have tokens. */
} routing;

/* Views the first `active` experts of a weight (experts, out, in) as (active, in, out). */
static tensor_id active_weights(eager *e, tensor_id w, int64_t active)
{
    extent x = tensor_extent(e, w);
    x.dims[0] = active;
    return eager_transpose_last(e, eager_to_low(e, eager_view_as(e, "slice", w, &x)));
}

/* Multiplies (active, rows, in) by each expert's weight and adds its bias. */
static tensor_id product(eager *e, tensor_id x, int weight, const routing *r)
{
    tensor_id y = eager_batched_product(e, eager_to_low(e, x), active_weights(e, eager_input_of(e, weight), r->active));
    tensor_id bias = eager_input_of(e, weight + 1);
    if (bias == NO_TENSOR || tensor_at(e, bias)->rank != 2)
        return y;
    extent b = {.rank = 3, .dims = {r->active, 1, tensor_at(e, bias)->dims[1]}};
    extent_contiguous(&b);
    return eager_binary(e, "add", y, eager_view_as(e, "slice", bias, &b));
}

static tensor_id half_of(eager *e, tensor_id t, int64_t width)
{
    extent x = tensor_extent(e, t);
    x.dims[2] = width;
    return eager_view_as(e, "slice", t, &x);
}

static bool read_routing(eager *e, routing *r)
{
    tensor_id x = eager_input_of(e, 0), up = eager_input_of(e, 2), down = eager_input_of(e, 4);
    if (x == NO_TENSOR || eager_input_of(e, 1) == NO_TENSOR || up == NO_TENSOR || down == NO_TENSOR)
        return false;
    const placed_tensor *px = tensor_at(e, x), *pu = tensor_at(e, up), *pd = tensor_at(e, down);
    if (px->rank < 1 || pu->rank != 3 || pd->rank != 3 || eager_input_of(e, 6) != NO_TENSOR)
        return false;
    int64_t hidden = px->dims[px->rank - 1], inner = pd->dims[2];
    bool fits = pu->dims[2] == hidden && pd->dims[1] == hidden && pd->dims[0] == pu->dims[0] && pu->dims[0] > 0 &&
                (pu->dims[1] == inner || pu->dims[1] == 2 * inner);
    r->tokens = 1;
    for (int i = 0; i + 1 < px->rank; i++)
        r->tokens = mul_wrapping(r->tokens, px->dims[i]);
    r->chosen = node_attr_int(e->node, "k", 1);
    int64_t pairs = mul_wrapping(r->tokens, r->chosen);
    if (!fits || r->tokens < 1 || r->chosen < 1 || r->chosen > pu->dims[0] || pairs < 1)
        return false;
    r->active = pairs < pu->dims[0] ? pairs : pu->dims[0];
    r->rows = (pairs - 1) / r->active + 1;
    return true;
}

/* Selects the top experts of each token and their weights. */
static tensor_id choose(eager *e, const routing *r)
{
    extent x = {.rank = 2, .dims = {r->tokens, r->chosen}};
    extent_contiguous(&x);
    tensor_id scores = eager_input_of(e, 1);
    tensor_id best = eager_launch_new(e, "topk", &scores, 1, tensor_dtype(e, scores), &x);
    tensor_id places = eager_add_output(e, DT_INT64, &x);
    eager_launch_new(e, "sort", &places, 1, DT_INT64, &x);
    extent one = {.rank = 2, .dims = {r->tokens, 1}};
    extent_contiguous(&one);
    tensor_id sum = eager_launch_new(e, "sum", &best, 1, tensor_dtype(e, best), &one);
    return eager_binary(e, "div", best, sum);
}

void lower_experts(eager *e)
{
    routing r;
    if (!read_routing(e, &r)) {
        lower_unknown(e);
        return;
    }
    tensor_id x = eager_input_of(e, 0), weights = choose(e, &r);
    int64_t hidden = tensor_at(e, eager_input_of(e, 4))->dims[1], inner = tensor_at(e, eager_input_of(e, 4))->dims[2];
    bool is_gated = tensor_at(e, eager_input_of(e, 2))->dims[1] == 2 * inner;
    extent sorted = {.rank = 3, .dims = {r.active, r.rows, hidden}};
    extent_contiguous(&sorted);
    tensor_id y = eager_launch_new(e, "index", &x, 1, tensor_dtype(e, x), &sorted);
    y = product(e, y, 2, &r);
    if (is_gated) {
        tensor_id gate = eager_unary(e, "silu", half_of(e, y, inner));
        y = eager_binary(e, "mul", gate, half_of(e, y, inner));
    } else {
        y = eager_unary(e, "relu", y);
    }
    y = product(e, y, 4, &r);
    extent by_row = {.rank = 3, .dims = {r.active, r.rows, 1}};
    extent_contiguous(&by_row);
    weights = eager_launch_new(e, "index", &weights, 1, tensor_dtype(e, weights), &by_row);
    y = eager_binary(e, "mul", y, weights);
    extent out = eager_output_extent(e, 0);
    extent_contiguous(&out);
    eager_set_result(e, 0, eager_launch_new(e, "index_add", &y, 1, tensor_dtype(e, x), &out));
}
