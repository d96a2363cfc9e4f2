/* onnx_layout.c: writes channels-last networks (TensorFlow's) with ONNX's channels-first operators.
 *
 * A transpose before and after each operator would be correct, but would hide the network's structure. The operators
 * in between (activations, sums, concatenations, pads, means over the image) therefore become channels-first too,
 * with changed axes, and transposes remain only at the network's borders. This needs the ranks of a bound network.
 * Without them, only operators that must be channels-first change. */
#include "front/onnx/onnx_write.h"
#include "graph/ops.h"

enum {
    MADE_FIRST = 1,  /* its producer runs channels-first */
    NEEDS_FIRST = 2, /* a reader needs it channels-first */
    NEEDS_LAST = 4,  /* a reader needs it channels-last, as in the network */
    RUNS_FIRST = 8,  /* on a node's first output: the node runs channels-first */
    /* For a value with one number per channel: a copy with trailing dimensions of 1 exists, for channels-first
     * readers. */
    MADE_CHANNELS = 16,
    NEEDS_CHANNELS = 32,
    PREFERS_LAST = 64, /* a reader works along the channels, so all readers stay channels-last */
    IS_DATA = 128,     /* a layer reads it as data, not as weights */
};
enum { IMAGE_RANK = 4 };

static int first_axis(int axis, int rank)
{
    return axis == 0 ? 0 : axis == rank - 1 ? 1 : axis + 1;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static const value *known_value(const onnx_writer *o, value_id v)
{
    const value *bound = o->net && v < o->net->values.count ? &o->net->values.items[v] : NULL;
    return bound && bound->rank >= 0 ? bound : &o->s->values.items[v];
}

static int rank_of(const onnx_writer *o, value_id v)
{
    const value *x = known_value(o, v);
    return x->kind == VALUE_TENSOR ? x->rank : RANK_UNKNOWN;
}

static bool is_one_element(const onnx_writer *o, value_id v)
{
    const value *x = known_value(o, v);
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != 1)
            return false;
    return x->rank >= 0;
}

/* True for an image of one pixel, whose bytes are the same in both layouts. */
static bool is_one_place(const onnx_writer *o, value_id v)
{
    const value *x = known_value(o, v);
    for (int i = 1; i < x->rank - 1; i++)
        if (x->dims[i] != 1)
            return false;
    return x->rank > 2;
}

/* True if there is one number per channel: all other dimensions are 1. */
static bool is_per_channel(const onnx_writer *o, value_id v)
{
    const value *x = known_value(o, v);
    for (int i = 0; i < x->rank - 1; i++)
        if (x->dims[i] != 1)
            return false;
    return x->rank > 0;
}

/* True if v has one number per channel of y. A single number counts only if y has one channel. */
static bool is_per_channel_of(const onnx_writer *o, value_id v, value_id y)
{
    const value *x = known_value(o, v), *of = known_value(o, y);
    return x->rank > 0 && of->rank > 0 && x->dims[x->rank - 1] == of->dims[of->rank - 1];
}

/* Returns the rank: from the window, or the known rank, or else that of an image. */
static int turned_rank(const onnx_writer *o, const node *n)
{
    int32_t count;
    if (node_attr_ints(n, "strides", &count))
        return count + 2;
    int rank = rank_of(o, n->inputs[0]);
    return rank >= 2 ? rank : IMAGE_RANK;
}

/* ---- which nodes ------------------------------------------------------------------------------------------------- */

static bool is_one_of(const node *n, const char *const *names)
{
    while (*names && !node_is(n, *names))
        names++;
    return *names != NULL;
}

/* Returns the constant integers of an input; NULL if they are unknown. */
static const int64_t *input_ints(const onnx_writer *o, const node *n, int index, int32_t *count)
{
    *count = 0;
    if (index >= n->input_count || n->inputs[index] == NO_VALUE)
        return NULL;
    const tensor *t = o->s->values.items[n->inputs[index]].tensor;
    if (!t || t->rank > 1 || (t->rank == 1 && (t->dims[0] < 1 || t->dims[0] / 2 > MAX_RANK)))
        return NULL;
    int32_t length = t->rank ? (int32_t)t->dims[0] : 1;
    int64_t *ints = ARENA_ARRAY(o->arena, int64_t, (size_t)length);
    if (!tensor_ints(t, ints, length))
        return NULL;
    *count = length;
    return ints;
}

/* Returns the axes of a reduction or resize, which are an attribute or input `index`. */
static const int64_t *axes_of(const onnx_writer *o, const node *n, int index, int32_t *count)
{
    const int64_t *axes = node_attr_ints(n, "axes", count);
    return axes ? axes : input_ints(o, n, index, count);
}

static bool are_axes(const int64_t *axes, int32_t count, int rank)
{
    for (int32_t i = 0; i < count; i++)
        if (axes[i] < -rank || axes[i] >= rank)
            return false;
    return axes && count > 0;
}

static bool is_reduction(const node *n)
{
    return str_starts(n->type, "Reduce");
}

/* True if these are exactly the spatial axes. */
static bool is_over_image(const int64_t *axes, int32_t count, int rank)
{
    uint64_t seen = 0;
    for (int32_t i = 0; i < count; i++)
        seen |= 1ULL << (axes[i] < 0 ? axes[i] + rank : axes[i]);
    return seen == (1ULL << (rank - 1)) - 2;
}

static bool must_run_first(const node *n)
{
    return n->domain.len == 0 && node_attr_int(n, "channels_last", 0) && !node_is(n, "Resize") && n->input_count > 0 &&
           n->inputs[0] != NO_VALUE && n->output_count > 0 && n->outputs[0] != NO_VALUE;
}

/* True for a pointwise operator whose inputs all have the full shape, one number per channel, or one number. */
static bool can_run_pointwise(const onnx_writer *o, const node *n)
{
    int rank = rank_of(o, n->outputs[0]);
    for (int32_t i = 0; i < n->input_count; i++) {
        int own = n->inputs[i] == NO_VALUE ? rank : rank_of(o, n->inputs[i]);
        if (own != rank && (own > rank || !is_per_channel(o, n->inputs[i])) && !is_one_element(o, n->inputs[i]))
            return false;
    }
    return rank > 2 && !node_attr(n, "axis");
}

static bool can_run_joined(const onnx_writer *o, const node *n)
{
    int rank = rank_of(o, n->outputs[0]);
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] == NO_VALUE || rank_of(o, n->inputs[i]) != rank)
            return false;
    int64_t axis = node_attr_int(n, "axis", 0);
    return rank > 2 && axis >= -rank && axis < rank;
}

/* True if the pad can be written channels-first: it lists pads for axes named by an input, or for all axes. */
static bool can_run_pad(const onnx_writer *o, const node *n, int rank)
{
    int32_t count;
    if (n->input_count > 3 && n->inputs[3] != NO_VALUE) {
        const int64_t *axes = input_ints(o, n, 3, &count);
        return are_axes(axes, count, rank);
    }
    const int64_t *pads = node_attr_ints(n, "pads", &count);
    pads = pads ? pads : input_ints(o, n, 1, &count);
    return pads && count == 2 * rank;
}

static const char *const QUANTIZE[] = {"QuantizeLinear", "DequantizeLinear", NULL};

static bool is_pointwise(const node *n)
{
    static const char *const OTHERS[] = {"Identity", "Cast", NULL};
    return (n->op->kind == OP_POINTWISE && !is_one_of(n, QUANTIZE)) || is_one_of(n, OTHERS);
}

/* True for weights of one pixel, which only change their shape. */
static bool is_shaped_weight(const onnx_writer *o, const node *n)
{
    return node_is(n, "Reshape") && n->outputs[0] < o->net->values.count &&
           o->net->values.items[n->outputs[0]].is_weight && is_one_place(o, n->outputs[0]);
}

/* True if the node computes the same in channels-first layout. */
static bool can_run_first(const onnx_writer *o, const node *n)
{
    if (!o->net || n->domain.len || !n->op || n->input_count < 1 || n->inputs[0] == NO_VALUE || n->output_count < 1 ||
        n->outputs[0] == NO_VALUE)
        return false;
    if (node_is(n, "Concat"))
        return can_run_joined(o, n);
    if (is_pointwise(n))
        return can_run_pointwise(o, n);
    int rank = rank_of(o, n->inputs[0]);
    int32_t count;
    if (rank < 3)
        return is_shaped_weight(o, n);
    if (is_one_of(n, QUANTIZE))
        return n->input_count > 1 && n->inputs[1] != NO_VALUE && is_one_element(o, n->inputs[1]);
    if (node_is(n, "Pad"))
        return can_run_pad(o, n, rank);
    if (node_is(n, "Resize")) {
        const int64_t *axes = node_attr_ints(n, "axes", &count);
        return are_axes(axes, count, rank) && (n->input_count < 2 || n->inputs[1] == NO_VALUE);
    }
    if (is_reduction(n)) {
        const int64_t *axes = axes_of(o, n, 1, &count);
        return are_axes(axes, count, rank) && (node_attr_int(n, "keepdims", 1) || is_over_image(axes, count, rank));
    }
    return false;
}

/* False for a reduction over channels alone. It belongs to a layer norm or a softmax, which are recognized by the
 * last dimension. */
static bool is_along_channels(const onnx_writer *o, const node *n)
{
    int32_t count;
    if (!is_reduction(n) || n->input_count < 1 || n->inputs[0] == NO_VALUE)
        return false;
    const int64_t *axes = axes_of(o, n, 1, &count);
    return axes && count == 1 && (axes[0] == -1 || axes[0] == rank_of(o, n->inputs[0]) - 1);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

/* True if this channels-last node is written channels-first. */
static bool runs_first(const onnx_writer *o, const node *n)
{
    return n->output_count > 0 && n->outputs[0] != NO_VALUE && o->layout[n->outputs[0]] & RUNS_FIRST;
}

/* True if a channels-first node reads this input channels-first. */
static bool is_turned_input(const onnx_writer *o, const node *n, int32_t index)
{
    if (must_run_first(n) || !(is_pointwise(n) || node_is(n, "Concat")))
        return index == 0 && !node_is(n, "Reshape");
    value_id v = n->inputs[index];
    return rank_of(o, v) > 2 && (o->layout[v] & MADE_FIRST || !is_one_element(o, v));
}

/* True if the output still has a channel axis. */
static bool keeps_channels(const node *n)
{
    return !is_reduction(n) || node_attr_int(n, "keepdims", 1);
}

/* Forward pass over the nodes: marks those that must run channels-first, and readers that can. */
static void follow(onnx_writer *o, const graph *g)
{
    for (int32_t i = 0; i < g->nodes.count; i++)
        if (is_along_channels(o, &g->nodes.items[i]))
            o->layout[g->nodes.items[i].inputs[0]] |= PREFERS_LAST;
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                follow(o, n->attrs[k].graph);
        bool must = must_run_first(n), reads = false;
        if (!must && !can_run_first(o, n))
            continue;
        for (int32_t k = 0; k < n->input_count; k++)
            reads |= n->inputs[k] != NO_VALUE &&
                     (o->layout[n->inputs[k]] & (MADE_FIRST | PREFERS_LAST)) == MADE_FIRST && is_turned_input(o, n, k);
        if (!must && !reads)
            continue;
        o->layout[n->outputs[0]] |= RUNS_FIRST;
        for (int32_t k = 0; k < (must ? 1 : n->output_count) && keeps_channels(n); k++)
            if (n->outputs[k] != NO_VALUE)
                o->layout[n->outputs[k]] |= MADE_FIRST;
    }
}

/* Counts the inputs that would need a transpose if the node ran channels-first. */
static int transpositions(const onnx_writer *o, const node *n)
{
    int count = 0;
    for (int32_t i = 0; i < n->input_count; i++)
        count += n->inputs[i] != NO_VALUE && is_turned_input(o, n, i) && !(o->layout[n->inputs[i]] & MADE_FIRST) &&
                 !is_one_place(o, n->inputs[i]);
    return count;
}

/* Returns the rank of the tensors to which the node applies its per-channel numbers. */
static int channels_rank(const onnx_writer *o, const node *n)
{
    return o->layout[n->outputs[0]] & MADE_CHANNELS ? o->turned_rank[n->outputs[0]] : rank_of(o, n->outputs[0]);
}

/* True if this input is per-channel numbers that need trailing dimensions of 1 in the file. */
static bool is_channels_input(const onnx_writer *o, const node *n, int32_t index)
{
    value_id v = n->inputs[index], y = n->outputs[0];
    if (!(o->layout[y] & (RUNS_FIRST | MADE_CHANNELS)) || must_run_first(n) || !is_pointwise(n) ||
        !is_per_channel(o, v) || !is_per_channel_of(o, v, y))
        return false;
    return rank_of(o, v) < channels_rank(o, n);
}

/* Sets the one rank in which per-channel numbers are written: that of the first reader. */
static uint8_t need_channels(onnx_writer *o, value_id v, int rank)
{
    if (o->turned_rank[v] && o->turned_rank[v] != rank)
        return NEEDS_LAST;
    o->turned_rank[v] = (int8_t)rank;
    return NEEDS_CHANNELS;
}

static void need_inputs(onnx_writer *o, const node *n)
{
    bool is_first = runs_first(o, n), has_output = n->output_count > 0 && n->outputs[0] != NO_VALUE;
    for (int32_t i = 0; i < n->input_count; i++) {
        value_id v = n->inputs[i];
        if (v != NO_VALUE && has_output && is_channels_input(o, n, i))
            o->layout[v] |= need_channels(o, v, channels_rank(o, n));
        else if (v != NO_VALUE)
            o->layout[v] |= is_first && is_turned_input(o, n, i) ? NEEDS_FIRST : NEEDS_LAST;
        if (v != NO_VALUE && i == 0 && must_run_first(n))
            o->layout[v] |= IS_DATA;
    }
}

/* True if the node computes per-channel numbers from others. */
static bool can_make_channels(const onnx_writer *o, const node *n)
{
    if (!o->net || n->domain.len || !n->op || !is_pointwise(n) || node_attr(n, "axis"))
        return false;
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != NO_VALUE && !is_per_channel(o, n->inputs[i]) && !is_one_element(o, n->inputs[i]))
            return false;
    return true;
}

/* Backward pass over the nodes: collects what readers need. A value that is only needed channels-first is made so if
 * possible: reshaped weights, pads before the first convolution. */
static void demand(onnx_writer *o, const graph *g)
{
    for (int32_t i = 0; i < g->outputs.count; i++)
        o->layout[g->outputs.items[i]] |= NEEDS_LAST;
    for (int32_t i = g->nodes.count - 1; i >= 0; i--) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                demand(o, n->attrs[k].graph);
        uint8_t *state = n->output_count == 1 && n->outputs[0] != NO_VALUE ? &o->layout[n->outputs[0]] : NULL;
        if (state && (*state & (MADE_FIRST | NEEDS_FIRST | NEEDS_LAST)) == NEEDS_FIRST && can_run_first(o, n) &&
            keeps_channels(n) && transpositions(o, n) <= 1)
            *state |= RUNS_FIRST | MADE_FIRST;
        if (state && (*state & (MADE_FIRST | NEEDS_FIRST | NEEDS_LAST | NEEDS_CHANNELS)) == NEEDS_CHANNELS &&
            can_make_channels(o, n))
            *state |= MADE_CHANNELS;
        need_inputs(o, n);
    }
}

/* A transpose around a node whose input has another rank would hide that the network is invalid. */
static int checked_rank(const onnx_writer *o, const node *n)
{
    int rank = turned_rank(o, n), known = rank_of(o, n->inputs[0]);
    if (known >= 0 && known != rank)
        fail_with(o->w->fail, SOOTH_ERROR_UNSUPPORTED,
                  "layer '%.*s' (%.*s) works on %d dimensions and its input has %d, which ONNX cannot express; export "
                  "the model again",
                  STR_ARG(n->name), STR_ARG(n->type), rank, known);
    return rank;
}

/* Finds the ranks at which values are transposed. */
static void measure(onnx_writer *o, const graph *g)
{
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                measure(o, n->attrs[k].graph);
        if (must_run_first(n))
            o->turned_rank[n->inputs[0]] = o->turned_rank[n->outputs[0]] = (int8_t)checked_rank(o, n);
    }
}

static void plan_graph(onnx_writer *o, const graph *g)
{
    follow(o, g);
    demand(o, g);
    measure(o, g);
}

/* Constants that are only needed channels-first are written that way, because their bytes are the same. */
static void turn_constants(onnx_writer *o)
{
    for (value_id v = 0; v < o->s->values.count; v++) {
        uint8_t *state = &o->layout[v], needs = *state & (NEEDS_FIRST | NEEDS_LAST | NEEDS_CHANNELS);
        if (o->s->values.items[v].tensor && needs == NEEDS_CHANNELS)
            *state |= MADE_CHANNELS;
        if (o->s->values.items[v].tensor && needs == NEEDS_FIRST && is_one_place(o, v))
            *state |= MADE_FIRST;
    }
}

void onnx_layout_plan(onnx_writer *o)
{
    o->layout = ARENA_ARRAY(o->arena, uint8_t, (size_t)o->s->values.count);
    o->turned_rank = ARENA_ARRAY(o->arena, int8_t, (size_t)o->s->values.count);
    const network *net = o->net;
    o->net = NULL; /* Plans functions without shapes, because the ranks in a function depend on the call. */
    for (int32_t i = 0; i < o->s->functions.count; i++)
        plan_graph(o, &o->s->functions.items[i].graph);
    o->net = net;
    plan_graph(o, &o->s->main);
    turn_constants(o);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool is_turned_alone(const onnx_writer *o, value_id v)
{
    return (o->layout[v] & (MADE_FIRST | NEEDS_LAST)) == MADE_FIRST;
}

/* Computes the dimensions of a value as written in the file under its own name; `dims` has room for MAX_RANK. */
int onnx_layout_dims(const onnx_writer *o, value_id v, const value *declared, num *dims)
{
    bool is_turned = is_turned_alone(o, v);
    for (int i = 0; i < declared->rank; i++)
        dims[is_turned ? first_axis(i, declared->rank) : i] = declared->dims[i];
    if (!(o->layout[v] & MADE_CHANNELS))
        return declared->rank;
    dims[0] = declared->dims[declared->rank - 1];
    for (int i = 1; i < o->turned_rank[v] - 1; i++)
        dims[i] = 1;
    return o->turned_rank[v] - 1;
}

bool onnx_layout_is_data(const onnx_writer *o, value_id v)
{
    return o->layout[v] & IS_DATA && !(o->layout[v] & MADE_FIRST);
}

static str first_name(const onnx_writer *o, value_id v)
{
    str name = onnx_value_name(o, v);
    return is_turned_alone(o, v) ? name : arena_printf(o->arena, "%.*s~first", STR_ARG(name));
}

str onnx_layout_output(const onnx_writer *o, value_id v)
{
    return v != NO_VALUE && o->layout[v] & MADE_FIRST ? first_name(o, v) : onnx_value_name(o, v);
}

static void put_node(onnx_writer *o, uint32_t field, const char *op, const str *inputs, int count, str output,
                     const int64_t *perm, int rank)
{
    wire_writer *w = o->w;
    size_t message = wire_begin(w, field);
    for (int i = 0; i < count; i++)
        wire_put_str(w, 1, inputs[i]);
    wire_put_str(w, 2, output);
    wire_put_str(w, 4, str_of(op));
    if (perm) {
        size_t attribute = wire_begin(w, 5);
        wire_put_str(w, 1, STR("perm"));
        for (int i = 0; i < rank; i++)
            wire_put_int(w, 8, perm[i]);
        wire_put_int(w, 20, 7); /* INTS */
        wire_end(w, attribute);
    }
    wire_end(w, message);
}

/* Writes a list of integers as a constant of the graph. */
static str put_list(onnx_writer *o, str name, const int64_t *ints, int count)
{
    enum { INITIALIZER = 5 };
    wire_writer *w = o->w;
    size_t message = wire_begin(w, INITIALIZER);
    wire_put_int(w, 1, count);
    wire_put_int(w, 2, DT_INT64);
    for (int i = 0; i < count; i++)
        wire_put_int(w, 7, ints[i]);
    wire_put_str(w, 8, name);
    wire_end(w, message);
    return name;
}

/* Writes per-channel numbers with a trailing dimension of 1 per spatial axis. */
static void put_channels(onnx_writer *o, uint32_t field, value_id v, int rank, str output)
{
    int64_t shape[MAX_RANK] = {-1};
    for (int i = 1; i < rank - 1; i++)
        shape[i] = 1;
    str inputs[2] = {onnx_value_name(o, v),
                     put_list(o, arena_printf(o->arena, "%.*s~shape", STR_ARG(output)), shape, rank - 1)};
    put_node(o, field, "Reshape", inputs, 2, output, NULL, 0);
}

static str channels_name(const onnx_writer *o, value_id v)
{
    str name = onnx_value_name(o, v);
    return o->layout[v] & MADE_CHANNELS ? name : arena_printf(o->arena, "%.*s~channels", STR_ARG(name));
}

/* Reshapes per-channel numbers for one node that needs another rank than their first reader. */
static str other_channels(onnx_writer *o, uint32_t field, const node *n, int32_t index)
{
    str name = arena_printf(o->arena, "%.*s~channels%d", STR_ARG(onnx_value_name(o, n->outputs[0])), (int)index);
    put_channels(o, field, n->inputs[index], channels_rank(o, n), name);
    return name;
}

void onnx_layout_settle(onnx_writer *o, uint32_t field, value_id v)
{
    uint8_t state = v == NO_VALUE ? 0 : o->layout[v];
    if (state & NEEDS_CHANNELS && !(state & MADE_CHANNELS))
        put_channels(o, field, v, o->turned_rank[v], channels_name(o, v));
    bool to_last = state & MADE_FIRST && state & NEEDS_LAST, to_first = !(state & MADE_FIRST) && state & NEEDS_FIRST;
    if (!to_last && !to_first)
        return;
    int64_t list[MAX_RANK];
    int rank = o->turned_rank[v] ? o->turned_rank[v] : rank_of(o, v);
    str last = onnx_value_name(o, v), first = first_name(o, v);
    str inputs[2] = {to_last ? first : last}, output = to_last ? last : first;
    if (is_one_place(o, v)) {
        for (int i = 0; i < rank; i++)
            /* 0 keeps a dimension, -1 takes the remaining elements */
            list[i] = i == 0 ? 0 : i == (to_last ? rank - 1 : 1) ? -1 : 1;
        inputs[1] = put_list(o, arena_printf(o->arena, "%.*s~shape", STR_ARG(output)), list, rank);
        put_node(o, field, "Reshape", inputs, 2, output, NULL, 0);
        return;
    }
    for (int i = 0; i < rank; i++) {
        int moved = first_axis(i, rank);
        list[to_last ? i : moved] = to_last ? moved : i;
    }
    put_node(o, field, "Transpose", inputs, 1, output, list, rank);
}

static const int64_t *moved_axes(const onnx_writer *o, const int64_t *axes, int32_t count, int rank)
{
    int64_t *moved = ARENA_ARRAY(o->arena, int64_t, (size_t)count);
    for (int32_t i = 0; i < count; i++)
        moved[i] = first_axis((int)(axes[i] < 0 ? axes[i] + rank : axes[i]), rank);
    return moved;
}

/* Returns pads in the other layout: all starts, then all ends. */
static const int64_t *moved_pads(const onnx_writer *o, const int64_t *pads, int rank)
{
    int64_t *moved = ARENA_ARRAY(o->arena, int64_t, (size_t)(2 * rank));
    for (int i = 0; i < 2 * rank; i++)
        moved[i / rank * rank + first_axis(i % rank, rank)] = pads[i];
    return moved;
}

static str put_weight_shape(onnx_writer *o, value_id v, str name)
{
    int64_t shape[MAX_RANK];
    const value *x = known_value(o, v);
    for (int i = 0; i < x->rank; i++)
        shape[first_axis(i, x->rank)] = x->dims[i]; /* all dimensions of a weight are known */
    return put_list(o, name, shape, x->rank);
}

str onnx_layout_input(onnx_writer *o, uint32_t field, const node *n, int32_t index)
{
    value_id v = n->inputs[index];
    bool has_output = n->output_count > 0 && n->outputs[0] != NO_VALUE;
    if (v != NO_VALUE && has_output && is_channels_input(o, n, index))
        return o->turned_rank[v] == channels_rank(o, n) ? channels_name(o, v) : other_channels(o, field, n, index);
    if (v == NO_VALUE || !runs_first(o, n))
        return onnx_value_name(o, v);
    if (is_turned_input(o, n, index))
        return first_name(o, v);
    if (must_run_first(n))
        return onnx_value_name(o, v);
    int32_t count;
    int rank = rank_of(o, n->inputs[0]);
    bool is_pad = node_is(n, "Pad"), has_axes = is_pad && n->input_count > 3 && n->inputs[3] != NO_VALUE;
    const int64_t *ints = input_ints(o, n, index, &count);
    str name = arena_printf(o->arena, "%.*s~axes", STR_ARG(onnx_value_name(o, n->outputs[0])));
    if (ints && ((is_reduction(n) && index == 1) || (has_axes && index == 3)))
        return put_list(o, name, moved_axes(o, ints, count, rank), count);
    if (ints && is_pad && !has_axes && index == 1)
        return put_list(o, name, moved_pads(o, ints, rank), count);
    if (node_is(n, "Reshape") && index == 1)
        return put_weight_shape(o, n->outputs[0], name);
    return onnx_value_name(o, v);
}

bool onnx_layout_attr(const onnx_writer *o, const node *n, attr *a)
{
    if (n->domain.len == 0 && str_is(a->name, "channels_last"))
        return false;
    if (!runs_first(o, n) || must_run_first(n))
        return true;
    int rank = rank_of(o, n->inputs[0]);
    if (a->kind == ATTR_INT && str_is(a->name, "axis"))
        a->integer = moved_axes(o, &a->integer, 1, rank)[0];
    else if (a->kind == ATTR_INTS && str_is(a->name, "axes"))
        a->ints = moved_axes(o, a->ints, a->count, rank);
    else if (a->kind == ATTR_INTS && str_is(a->name, "pads"))
        a->ints = moved_pads(o, a->ints, rank);
    return true;
}
