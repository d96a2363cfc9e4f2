/* torch_aten.c: calls ATen operators: finds the operator, orders its arguments, runs its rule. */
#include "front/torch/torch.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void add_op(torch *t, const torch_op *op)
{
    uint32_t k = str_hash(str_of(op->name));
    while (t->ops[k & t->ops_mask])
        k++;
    t->ops[k & t->ops_mask] = op;
}

torch torch_start(sooth_model *model)
{
    enum { SLOTS = 1024 };
    torch t = {.model = model, .net = &model->net, .nums = &model->net.nums, .kept = &model->source_arena, .repeat = 1};
    t.arena = model->net.arena;
    t.ops = ARENA_ARRAY(t.arena, const torch_op *, SLOTS);
    t.ops_mask = SLOTS - 1;
    static const torch_op *(*const tables[])(size_t *) = {torch_ops_nn,      torch_ops_math,      torch_ops_shape,
                                                          torch_ops_copy,    torch_ops_create,    torch_ops_index,
                                                          torch_ops_window,  torch_ops_recurrent, torch_ops_fused,
                                                          torch_ops_special, torch_ops_composed,  torch_ops_reduced};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        size_t count;
        const torch_op *ops = tables[i](&count);
        for (size_t k = 0; k < count; k++)
            add_op(&t, &ops[k]);
    }
    return t;
}

static const torch_op *find_op(const torch *t, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        const torch_op *op = t->ops[k & t->ops_mask];
        if (!op || str_is(name, op->name))
            return op;
    }
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static bool next_word(str *rest, str *word)
{
    const char *space = rest->len ? memchr(rest->ptr, ' ', rest->len) : NULL;
    *word = (str){rest->ptr, space ? (size_t)(space - rest->ptr) : rest->len};
    *rest = space ? (str){space + 1, rest->len - word->len - 1} : (str){0};
    return word->len > 0;
}

/* Maps names that overloads use for the same argument. */
static str usual_name(str name)
{
    static const char *const SAME[][2] = {
        {"self", "input"}, {"x", "input"}, {"tensor", "input"}, {"exponent", "other"}, {"indices", "sections"}};
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (str_is(name, SAME[i][0]))
            return str_of(SAME[i][1]);
    return name;
}

static void place_arguments(torch_call *c, const torch_op *op, const torch_argument *arguments, int count)
{
    for (int i = 0; i < count; i++) {
        str rest = str_of(op->arguments), word;
        int place = -1;
        if (arguments[i].name.len == 0)
            place = i;
        for (int k = 0; place < 0 && next_word(&rest, &word); k++)
            if (str_eq(usual_name(word), usual_name(arguments[i].name)))
                place = k;
        if (place < 0 &&
            str_is(arguments[i].name, "other")) /* the overload max.other has another second argument than max.dim */
            place = 1;
        if (place >= 0 && place < TORCH_MAX_ARGS) {
            c->args[place] = arguments[i].value;
            c->given[place] = true;
        }
    }
}

value_id torch_arg_tensor(torch_call *c, int i)
{
    return torch_operand(c->torch, c->args[i], DT_UNKNOWN);
}

num torch_arg_int(torch_call *c, int i, num otherwise)
{
    const torch_value v = c->args[i];
    if (v.kind == TORCH_INT || v.kind == TORCH_BOOL)
        return v.integer;
    if (v.kind == TORCH_REAL && v.real > -9e18 && v.real < 9e18 && v.real == (double)(num)v.real)
        return (num)v.real;
    if (v.kind == TORCH_TENSOR)
        return torch_item(c->torch, v.tensor);
    return v.kind == TORCH_UNKNOWN ? NUM_UNKNOWN : otherwise;
}

double torch_arg_real(torch_call *c, int i, double otherwise)
{
    const torch_value v = c->args[i];
    if (v.kind == TORCH_REAL)
        return v.real;
    return (v.kind == TORCH_INT || v.kind == TORCH_BOOL) && num_known(v.integer) ? (double)v.integer : otherwise;
}

bool torch_arg_bool(torch_call *c, int i, bool otherwise)
{
    num n = torch_arg_int(c, i, otherwise);
    return num_known(n) ? n != 0 : otherwise;
}

int torch_arg_ints(torch_call *c, int i, num *ints)
{
    const torch_value v = c->args[i];
    if (!torch_is_list(v)) {
        ints[0] = torch_arg_int(c, i, NUM_UNKNOWN);
        return v.kind == TORCH_NONE ? -1 : 1;
    }
    int count = v.list->count < MAX_RANK ? (int)v.list->count : MAX_RANK;
    for (int k = 0; k < count; k++) {
        const torch_value x = v.list->items[k];
        ints[k] = x.kind == TORCH_INT || x.kind == TORCH_BOOL               ? x.integer
                  : x.kind == TORCH_TENSOR                                  ? torch_item(c->torch, x.tensor)
                  : x.kind == TORCH_REAL && x.real > -1e15 && x.real < 1e15 ? (num)x.real
                                                                            : NUM_UNKNOWN;
    }
    return count;
}

bool torch_arg_sizes(torch_call *c, int i, int64_t *sizes, int want, int64_t otherwise)
{
    num ints[MAX_RANK];
    int count = torch_arg_ints(c, i, ints);
    for (int k = 0; k < want; k++) {
        sizes[k] = count <= 0 ? otherwise : count == 1 ? ints[0] : k < count ? ints[k] : NUM_UNKNOWN;
        if (!num_known(sizes[k]))
            return false;
    }
    return true;
}

dtype torch_arg_dtype(torch_call *c, int i, dtype otherwise)
{
    num n = c->args[i].kind == TORCH_INT ? c->args[i].integer : NUM_UNKNOWN;
    dtype t = num_known(n) ? torch_dtype(n) : DT_UNKNOWN;
    return t == DT_UNKNOWN ? otherwise : t;
}

/* ---- element types ----------------------------------------------------------------------------------------------- */

static int category(dtype t)
{
    return t == DT_UNKNOWN ? -1 : t == DT_BOOL ? 0 : dtype_is_integer(t) ? 1 : dtype_is_float(t) ? 2 : 3;
}

static dtype wider(dtype a, dtype b)
{
    if (category(a) != category(b))
        return category(a) > category(b) ? a : b;
    if ((a == DT_FLOAT16 && b == DT_BFLOAT16) || (a == DT_BFLOAT16 && b == DT_FLOAT16))
        return DT_FLOAT32;
    return dtype_bits(a) >= dtype_bits(b) ? a : b;
}

/* Tensors with dimensions decide; scalars and numbers only if they are of a higher category. */
dtype torch_promoted(const torch *t, torch_value a, torch_value b)
{
    dtype by_level[3] = {DT_UNKNOWN, DT_UNKNOWN, DT_UNKNOWN}; /* tensors, scalar tensors, numbers */
    const torch_value both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const torch_value v = both[i];
        int level = v.kind == TORCH_TENSOR ? torch_rank(t, v.tensor) == 0 : 2;
        dtype type = v.kind == TORCH_TENSOR ? torch_at(t, v.tensor)->dtype
                     : v.kind == TORCH_REAL ? DT_FLOAT32
                     : v.kind == TORCH_BOOL ? DT_BOOL
                     : v.kind == TORCH_NONE ? DT_UNKNOWN
                                            : DT_INT64;
        by_level[level] = wider(by_level[level], type);
    }
    dtype result = by_level[0];
    for (int level = 1; level < 3; level++)
        if (category(by_level[level]) > category(result))
            result = by_level[level];
    return result;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int collect_tensors(const torch_value *values, int count, value_id *ids, int used, int room)
{
    for (int i = 0; i < count && used < room; i++) {
        if (values[i].kind == TORCH_TENSOR)
            ids[used++] = values[i].tensor;
        else if (torch_is_list(values[i]))
            for (int32_t k = 0; k < values[i].list->count && used < room; k++)
                if (values[i].list->items[k].kind == TORCH_TENSOR)
                    ids[used++] = values[i].list->items[k].tensor;
    }
    return used;
}

void torch_return_foreign(torch_call *c, dtype type, int rank, const num *dims)
{
    value_id ids[64];
    int count = collect_tensors(c->args, TORCH_MAX_ARGS, ids, 0, 64);
    torch_return(c, torch_foreign(c->torch, ids, count, type, rank, dims));
}

static void add_attr(torch *t, node *n, attr added)
{
    attr *attrs = ARENA_ARRAY(t->arena, attr, (size_t)n->attr_count + 1);
    if (n->attr_count)
        memcpy(attrs, n->attrs, (size_t)n->attr_count * sizeof *attrs);
    attrs[n->attr_count++] = added;
    n->attrs = attrs;
}

void torch_mark_since(torch *t, int32_t first, const char *name)
{
    for (int32_t i = first; i < t->net->nodes.count; i++)
        add_attr(t, &t->net->nodes.items[i], (attr){.name = str_of(name), .kind = ATTR_INT, .integer = 1});
}

void torch_mark(torch *t, value_id result, const char *name)
{
    node_id id = torch_at(t, result)->producer;
    if (id != NO_NODE)
        add_attr(t, &t->net->nodes.items[id], (attr){.name = str_of(name), .kind = ATTR_INT, .integer = 1});
}

static bool is_among(const value_id *ids, int count, value_id id)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* False for a constant that only the rule uses: it is no result, and no argument or node of the call leads to it. `ids`
 * has the results, then the arguments. */
static bool is_of_call(const network *net, const node *n, const value_id *ids, int results, int count,
                       const int64_t *tensors)
{
    if (n->output_count > 0 && is_among(ids, results, n->outputs[0]))
        return true;
    for (int32_t i = 0; i < n->input_count; i++) {
        value_id v = n->inputs[i];
        if (v == NO_VALUE)
            continue;
        node_id maker = net->values.items[v].producer;
        int32_t made_count;
        if (is_among(ids + results, count - results, v) ||
            (maker != NO_NODE && node_attr_ints(&net->nodes.items[maker], "eager_tensors", &made_count) == tensors))
            return true;
    }
    return false;
}

/* Marks the nodes that a call of a literal program made since `first`, so that lowering can launch the operator itself:
 * eager_call is its name; eager_tensors is a number shared by these nodes, the number of results, the results, and the
 * tensors among the arguments. A call made by another call's rule keeps its own mark. */
static void state_call(torch *t, const torch_call *c, str name, int32_t first)
{
    enum { MOST_TENSORS = 256 };
    network *net = t->net;
    value_id ids[MOST_TENSORS];
    int results = collect_tensors(c->results, c->result_count, ids, 0, 8);
    int count = collect_tensors(c->args, TORCH_MAX_ARGS, ids, results, MOST_TENSORS);
    bool is_own = results > 0 && count < MOST_TENSORS;
    for (int32_t i = first; is_own && i < net->nodes.count; i++)
        is_own = !node_attr(&net->nodes.items[i], "eager_call");
    if (!is_own)
        return;
    int64_t *tensors = ARENA_ARRAY(t->arena, int64_t, (size_t)count + 2);
    tensors[0] = first;
    tensors[1] = results;
    for (int i = 0; i < count; i++)
        tensors[2 + i] = ids[i];
    for (int32_t i = first; i < net->nodes.count; i++) {
        node *n = &net->nodes.items[i];
        if (n->is_host && !is_of_call(net, n, ids, results, count, tensors))
            continue;
        add_attr(t, n, (attr){.name = STR("eager_call"), .kind = ATTR_STRING, .string = name});
        add_attr(t, n, (attr){.name = STR("eager_tensors"), .kind = ATTR_INTS, .ints = tensors, .count = count + 2});
    }
}

torch_value torch_aten(torch *t, str name, const torch_argument *arguments, int count)
{
    str plain = name;
    if (name.len > 1 && str_ends(name, "_") && !str_ends(name, "__"))
        plain.len--;
    const torch_op *op = find_op(t, plain);
    str outer = t->op;
    t->op = plain;
    torch_call c = {.torch = t, .op = op, .in_place = plain.len < name.len};
    int32_t first = t->net->nodes.count;
    for (int i = 0; i < TORCH_MAX_ARGS; i++)
        c.results[i % 8] = c.args[i] = torch_none();
    if (op) {
        place_arguments(&c, op, arguments, count);
        op->rule(&c);
        /* copy() records its write itself. */
        bool is_written = c.in_place && c.result_count == 1 && !str_is(plain, "copy");
        if (is_written && c.args[0].kind == TORCH_TENSOR && c.results[0].kind == TORCH_TENSOR) {
            if (c.results[0].tensor != c.args[0].tensor)
                torch_mark(t, c.results[0].tensor, "eager_in_place"); /* Writes it over its first input. */
            torch_write_view(t, c.args[0].tensor, c.results[0].tensor);
        }
    } else {
        for (int i = 0; i < count && i < TORCH_MAX_ARGS; i++)
            c.args[i] = arguments[i].value;
        torch_return_foreign(&c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
    }
    if (t->is_exact)
        state_call(t, &c, arena_str(t->kept, name), first);
    t->op = outer;
    if (c.result_count == 1)
        return c.results[0];
    torch_value tuple = torch_new_list(t, TORCH_TUPLE, c.result_count);
    for (int i = 0; i < c.result_count; i++)
        tuple.list->items[i] = c.results[i];
    return c.result_count ? tuple : torch_none();
}
