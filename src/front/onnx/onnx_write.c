/* onnx_write.c: writes the source graph as an ONNX file without weights (sooth_write_onnx). Field numbers are in
 * onnx.c, onnx_attr.c and onnx_tensor.c.
 *
 * Small constants (up to 64 elements) and integers used by shape arithmetic keep their data. All others become
 * inputs of the main graph, marked by their documentation (onnx_tensor.h), so that onnx.checker and ONNX Runtime
 * accept the file; missing external data would be an error. Constants of functions and constant outputs cannot be
 * inputs: they refer to an external file "stripped". Documentation and metadata are not written, and all maps get
 * the type int64 to float32. */
#include "front/onnx/onnx_write.h"
#include "base/names.h"
#include "front/onnx/onnx_tensor.h"
#include "graph/elaborate.h"
#include "graph/ops.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SMALL_CONSTANT = 64,
    IR_VERSION = 8,         /* first version with functions, so that older readers can use the file */
    IR_VERSION_NEWEST = 13, /* version for element types newer than bfloat16 */
};

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static int64_t element_count(const tensor *t)
{
    int64_t n = 1; /* cannot overflow, because the reader checked the product */
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

static void put_external(wire_writer *w)
{
    size_t entry = wire_begin(w, 13);
    wire_put_str(w, 1, STR("location"));
    wire_put_str(w, 2, STR("stripped"));
    wire_end(w, entry);
    wire_put_int(w, 14, 1);
}

static uint32_t varints_field(dtype t)
{
    return t == DT_INT64 ? 7 : t == DT_UINT32 || t == DT_UINT64 ? 11 : 5;
}

static bool keeps_data(const tensor *t)
{
    int64_t count = element_count(t);
    bool is_small = count <= SMALL_CONSTANT || (dtype_is_integer(t->dtype) && count <= MAX_FOLDED);
    return count == 0 || (is_small && t->encoding != TENSOR_ELSEWHERE);
}

static void put_data(wire_writer *w, const tensor *t)
{
    if (element_count(t) == 0 && t->encoding == TENSOR_ELSEWHERE)
        wire_put_bytes(w, 9, NULL, 0);
    else if (!keeps_data(t))
        put_external(w);
    else
        wire_put_bytes(w,
                       t->encoding == TENSOR_FLOATS    ? 4
                       : t->encoding == TENSOR_DOUBLES ? 10
                       : t->encoding == TENSOR_RAW     ? 9
                                                       : varints_field(t->dtype),
                       t->bytes, t->size);
}

/* Writes the fields of a TensorProto. */
static void put_tensor(wire_writer *w, const tensor *t, onnx_label label)
{
    for (int i = 0; i < t->rank; i++)
        wire_put_int(w, 1, t->dims[i]);
    wire_put_int(w, 2, t->dtype);
    if (label.name.len)
        wire_put_str(w, 8, label.name);
    put_data(w, t);
    if (label.doc.len)
        wire_put_str(w, 12, label.doc);
}

/* Returns the number of values if there are fewer than the dimensions imply, which means a sparse tensor. */
static int64_t sparse_values(const tensor *t)
{
    int64_t bits = dtype_bits(t->dtype);
    if (bits < 8 || t->stored_bytes == element_count(t) * (bits / 8))
        return -1;
    return t->stored_bytes / (bits / 8);
}

/* Writes the fields of a SparseTensorProto: values, indices, dims. */
static void put_sparse(wire_writer *w, const tensor *t, int64_t count, onnx_label label)
{
    const tensor values = {.dtype = t->dtype, .rank = 1, .dims = &count, .encoding = TENSOR_ELSEWHERE};
    const tensor indices = {.dtype = DT_INT64, .rank = 1, .dims = &count, .encoding = TENSOR_ELSEWHERE};
    size_t message = wire_begin(w, 1);
    put_tensor(w, &values, label);
    wire_end(w, message);
    message = wire_begin(w, 2);
    put_tensor(w, &indices, (onnx_label){0});
    wire_end(w, message);
    for (int i = 0; i < t->rank; i++)
        wire_put_int(w, 3, t->dims[i]);
}

/* Writes a tensor to field `dense`, or a sparse tensor to field `sparse`. */
static void put_constant(wire_writer *w, uint32_t dense, uint32_t sparse, const tensor *t, onnx_label label)
{
    int64_t values = sparse_values(t);
    size_t message = wire_begin(w, values < 0 ? dense : sparse);
    if (values < 0)
        put_tensor(w, t, label);
    else
        put_sparse(w, t, values, label);
    wire_end(w, message);
}

str onnx_value_name(const onnx_writer *o, value_id id)
{
    if (id == NO_VALUE)
        return STR("");
    return o->renamed[id].len ? o->renamed[id] : o->s->values.items[id].name;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Returns the name of an open dimension, from the file or the bound network; NULL if it has none or is computed. */
static const char *dim_name(const onnx_writer *o, const value *v, int i)
{
    if (v->is_declared || !o->net)
        return v->is_declared ? num_text(&o->s->symbols, v->dims[i]) : NULL;
    const char *text = num_symbolic(v->dims[i]) ? num_text(&o->net->nums, v->dims[i]) : NULL;
    return text && !strpbrk(text, "*+-/() ") ? text : NULL;
}

static void put_tensor_type(onnx_writer *o, const value *v)
{
    wire_writer *w = o->w;
    size_t type = wire_begin(w, v->kind == VALUE_SPARSE ? 8 : 1);
    wire_put_int(w, 1, v->dtype);
    if (v->rank >= 0) {
        size_t shape = wire_begin(w, 2);
        for (int i = 0; i < v->rank; i++) {
            const char *symbol = dim_name(o, v, i);
            size_t dim = wire_begin(w, 1);
            if (dim_known(v->dims[i]))
                wire_put_int(w, 1, v->dims[i]);
            else if (symbol)
                wire_put_str(w, 2, str_of(symbol));
            wire_end(w, dim);
        }
        wire_end(w, shape);
    }
    wire_end(w, type);
}

static void put_map_type(wire_writer *w)
{
    size_t map = wire_begin(w, 5);
    wire_put_int(w, 1, DT_INT64);
    size_t element = wire_begin(w, 2), tensor = wire_begin(w, 1);
    wire_put_int(w, 1, DT_FLOAT32);
    wire_end(w, tensor);
    wire_end(w, element);
    wire_end(w, map);
}

static void put_value_info(onnx_writer *o, uint32_t field, value_id id)
{
    wire_writer *w = o->w;
    num dims[MAX_RANK];
    value turned = o->s->values.items[id];
    const value *v = &turned;
    if (turned.rank > 0) {
        turned.rank = (int8_t)onnx_layout_dims(o, id, v, dims);
        turned.dims = dims;
    }
    const value *bound = o->net && id < o->net->values.count ? &o->net->values.items[id] : NULL;
    bool is_bound = bound && bound->kind == VALUE_TENSOR;
    if (turned.dtype == DT_UNKNOWN && is_bound)
        turned.dtype = bound->dtype;
    size_t info = wire_begin(w, field);
    wire_put_str(w, 1, onnx_value_name(o, id));
    bool is_ranked = v->kind != VALUE_TENSOR || v->rank >= 0;
    if (v->is_declared && (is_ranked || !is_bound || bound->rank < 0)) {
        size_t type = wire_begin(w, 2);
        if (v->kind == VALUE_MAP) {
            put_map_type(w);
        } else if (v->kind == VALUE_SEQUENCE || v->kind == VALUE_OPTIONAL) {
            size_t outer = wire_begin(w, v->kind == VALUE_SEQUENCE ? 4 : 9), element = wire_begin(w, 1);
            put_tensor_type(o, v);
            wire_end(w, element);
            wire_end(w, outer);
        } else {
            put_tensor_type(o, v);
        }
        wire_end(w, type);
    } else if (is_bound) {
        size_t type = wire_begin(w, 2);
        put_tensor_type(o, bound);
        wire_end(w, type);
    }
    wire_end(w, info);
}

/* Writes a constant without data as an input of the main graph. */
static void put_left_out(onnx_writer *o, value_id id)
{
    wire_writer *w = o->w;
    const tensor *t = o->without[id];
    num dims[MAX_RANK];
    value v = {.dtype = t->dtype, .rank = t->rank, .dims = (num *)t->dims, .is_declared = true};
    v.rank = (int8_t)onnx_layout_dims(o, id, &v, dims);
    v.dims = dims;
    bool is_weight =
        o->s->values.items[id].tensor && !o->s->values.items[id].is_constant_node && !onnx_layout_is_data(o, id);
    size_t info = wire_begin(w, 11);
    wire_put_str(w, 1, onnx_value_name(o, id));
    size_t type = wire_begin(w, 2);
    put_tensor_type(o, &v);
    wire_end(w, type);
    char doc[128], packed[64] = "";
    if (t->packed_bytes > 0)
        snprintf(packed, sizeof packed, "%s%lld", ONNX_PACKED, (long long)t->packed_bytes);
    snprintf(doc, sizeof doc, "%s%s", is_weight ? ONNX_WEIGHT_LEFT_OUT : ONNX_CONSTANT_LEFT_OUT, packed);
    wire_put_str(w, 3, str_of(doc));
    wire_end(w, info);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void put_graph(onnx_writer *o, const graph *g);

/* AttributeProto.AttributeType of each kind. */
static int attribute_type(const attr *a)
{
    switch (a->kind) {
    case ATTR_FLOAT:
        return 1;
    case ATTR_INT:
        return 2;
    case ATTR_STRING:
        return 3;
    case ATTR_TENSOR:
        return sparse_values(a->tensor) < 0 ? 4 : 11;
    case ATTR_GRAPH:
        return 5;
    case ATTR_FLOATS:
        return 6;
    case ATTR_INTS:
        return 7;
    case ATTR_STRINGS:
        return 8;
    case ATTR_REFERENCE:
        return a->count;
    default:
        return 0;
    }
}

static void put_attr_value(onnx_writer *o, const attr *a)
{
    wire_writer *w = o->w;
    size_t body;
    switch (a->kind) {
    case ATTR_INT:
        wire_put_int(w, 3, a->integer);
        break;
    case ATTR_FLOAT:
        wire_put_float(w, 2, (float)a->real);
        break;
    case ATTR_STRING:
        wire_put_str(w, 4, a->string);
        break;
    case ATTR_TENSOR:
        put_constant(w, 5, 22, a->tensor, (onnx_label){0});
        break;
    case ATTR_GRAPH: /* the reader limits nesting to 32 */
        body = wire_begin(w, 6);
        put_graph(o, a->graph);
        wire_end(w, body);
        break;
    case ATTR_REFERENCE:
        wire_put_str(w, 21, a->string);
        break;
    case ATTR_INTS:
        for (int32_t i = 0; i < a->count; i++)
            wire_put_int(w, 8, a->ints[i]);
        break;
    case ATTR_FLOATS:
        for (int32_t i = 0; i < a->count; i++)
            wire_put_float(w, 7, (float)a->reals[i]);
        break;
    case ATTR_STRINGS:
        for (int32_t i = 0; i < a->count; i++)
            wire_put_str(w, 9, a->strings[i]);
        break;
    default:
        break;
    }
}

static void put_attr(onnx_writer *o, uint32_t field, const attr *a)
{
    if (a->kind == ATTR_NONE)
        return;
    if (a->kind == ATTR_OTHER) {
        wire_put_str(o->w, field, a->string);
        return;
    }
    size_t message = wire_begin(o->w, field);
    wire_put_str(o->w, 1, a->name);
    put_attr_value(o, a);
    wire_put_int(o->w, 20, attribute_type(a));
    wire_end(o->w, message);
}

/* Several nodes may come from one operator and share its name, but ONNX Runtime needs unique names. */
static str unique_name(onnx_writer *o, str name)
{
    int32_t count = names_get(&o->nodes, name, 0);
    str unique = name;
    while (count && names_get(&o->nodes, unique, 0))
        unique = arena_printf(o->arena, "%.*s~%d", STR_ARG(name), (int)++count);
    names_put(&o->nodes, name, count ? count : 1);
    if (unique.ptr != name.ptr)
        names_put(&o->nodes, unique, 1);
    return unique;
}

static void put_node(onnx_writer *o, uint32_t field, const node *n)
{
    wire_writer *w = o->w;
    if (n->output_count == 1 && n->outputs[0] != NO_VALUE && o->without[n->outputs[0]]) {
        onnx_layout_settle(o, field, n->outputs[0]);
        return;
    }
    str *inputs = ARENA_ARRAY(o->arena, str, (size_t)n->input_count + 1);
    for (int32_t i = 0; i < n->input_count; i++) {
        inputs[i] = onnx_layout_input(o, field, n, i);
        if (n->inputs[i] != NO_VALUE)
            (str_eq(inputs[i], onnx_value_name(o, n->inputs[i])) ? o->is_read : o->is_replaced)[n->inputs[i]] = true;
    }
    size_t message = wire_begin(w, field);
    for (int32_t i = 0; i < n->input_count; i++)
        wire_put_str(w, 1, inputs[i]);
    for (int32_t i = 0; i < n->output_count; i++)
        wire_put_str(w, 2, onnx_layout_output(o, n->outputs[i]));
    if (n->name.len)
        wire_put_str(w, 3, unique_name(o, n->name));
    wire_put_str(w, 4, n->type);
    for (int32_t i = 0; i < n->attr_count; i++) {
        attr a = n->attrs[i];
        bool is_own = n->domain.len == 0 && str_starts(a.name, "eager_");
        if (!is_own && onnx_layout_attr(o, n, &a))
            put_attr(o, 5, &a);
    }
    if (n->repeat == 0)
        wire_put_str(w, 6, STR(ONNX_NOT_TAKEN));
    if (n->domain.len)
        wire_put_str(w, 7, n->domain);
    wire_end(w, message);
    for (int32_t i = 0; i < n->output_count; i++)
        onnx_layout_settle(o, field, n->outputs[i]);
}

/* ---- graphs and functions ---------------------------------------------------------------------------------------- */

/* Values of inner graphs are inside the outer graph's range, so inner graphs claim theirs afterwards. */
static void claim_values(onnx_writer *o, const graph *g)
{
    for (value_id v = g->first_value; v < g->end_value; v++)
        o->owner[v] = g;
    for (int32_t i = 0; i < g->nodes.count; i++)
        for (int32_t k = 0; k < g->nodes.items[i].attr_count; k++)
            if (g->nodes.items[i].attrs[k].kind == ATTR_GRAPH)
                claim_values(o, g->nodes.items[i].attrs[k].graph);
}

static bool is_output(const graph *g, value_id v)
{
    for (int32_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == v)
            return true;
    return false;
}

static void leave_out_one(onnx_writer *o, arena *a, const graph *g, value_id v, const tensor *t)
{
    if ((keeps_data(t) && sparse_values(t) < 0) || is_output(g, v))
        return;
    o->without[v] = t;
    *(value_id *)ARENA_PUSH(a, &o->left_out) = v;
}

/* Marks the values that a graph outputs, and that its nodes and subgraphs read. */
static void mark_used(onnx_writer *o, const graph *g)
{
    for (int32_t i = 0; i < g->outputs.count; i++)
        o->is_used[g->outputs.items[i]] = true;
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE)
                o->is_used[n->inputs[k]] = true;
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                mark_used(o, n->attrs[k].graph);
    }
}

/* True for a constant without readers, which front ends leave when they reorder weights. It is not written. */
static bool is_unused_constant(const onnx_writer *o, value_id v)
{
    return o->s->values.items[v].tensor && !o->is_used[v] && o->s->main.nodes.count;
}

/* Selects the weights and Constant nodes whose data are left out, in a graph and its subgraphs. */
static void leave_out(onnx_writer *o, arena *a, const graph *g)
{
    for (value_id v = g->first_value; v < g->end_value; v++)
        if (o->owner[v] == g && o->s->values.items[v].tensor && !is_unused_constant(o, v))
            leave_out_one(o, a, g, v, o->s->values.items[v].tensor);
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        if (node_is(n, "Constant") && n->domain.len == 0 && n->attr_count == 1 && n->attrs[0].kind == ATTR_TENSOR &&
            n->output_count == 1 && n->outputs[0] != NO_VALUE)
            leave_out_one(o, a, g, n->outputs[0], n->attrs[0].tensor);
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                leave_out(o, a, n->attrs[k].graph);
    }
}

/* Finds constants without data in the file (torch.export before 2.3): values that have readers, but no producer. */
static void leave_out_unmade(onnx_writer *o, arena *a, const graph *g)
{
    bool *is_made = ARENA_ARRAY(a, bool, (size_t)o->s->values.count);
    for (int32_t i = 0; i < g->inputs.count; i++)
        is_made[g->inputs.items[i]] = true;
    for (int32_t i = 0; i < g->nodes.count; i++)
        for (int32_t k = 0; k < g->nodes.items[i].output_count; k++)
            if (g->nodes.items[i].outputs[k] != NO_VALUE)
                is_made[g->nodes.items[i].outputs[k]] = true;
    for (int32_t i = 0; i < g->nodes.count; i++)
        for (int32_t k = 0; k < g->nodes.items[i].input_count; k++) {
            value_id v = g->nodes.items[i].inputs[k];
            const value *x = v == NO_VALUE || is_made[v] || o->owner[v] != g ? NULL : &o->s->values.items[v];
            if (!x || x->tensor)
                continue;
            const op_info *op = g->nodes.items[i].op;
            if (op && (op->kind == OP_CONV || op->kind == OP_MATMUL || op->kind == OP_NORM || op->kind == OP_RECURRENT))
                fail_with(o->w->fail, SOOTH_ERROR_UNSUPPORTED,
                          "'%.*s', which node '%.*s' (%.*s) reads, is neither an input nor a weight, and no node makes "
                          "it; export the model again",
                          STR_ARG(x->name), STR_ARG(g->nodes.items[i].name), STR_ARG(g->nodes.items[i].type));
            if (!x->is_declared || x->kind != VALUE_TENSOR || x->rank < 0)
                continue;
            bool is_known = true;
            for (int d = 0; d < x->rank; d++)
                is_known = is_known && dim_known(x->dims[d]);
            if (!is_known)
                continue;
            tensor *t = ARENA_NEW(a, tensor);
            *t = (tensor){.dtype = x->dtype, .rank = x->rank, .dims = x->dims, .encoding = TENSOR_ELSEWHERE};
            is_made[v] = true;
            o->without[v] = t;
            *(value_id *)ARENA_PUSH(a, &o->left_out) = v;
        }
}

/* Renames the value if its name is already taken. */
static void claim_name(onnx_writer *o, names *seen, value_id v)
{
    str name = onnx_value_name(o, v);
    value_id first = names_get(seen, name, NO_VALUE);
    if (first == NO_VALUE)
        names_put(seen, name, v);
    else if (first != v && name.len)
        o->renamed[v] = arena_printf(o->arena, "%.*s~%d", STR_ARG(name), v);
}

/* Makes names unique in the main graph; its inputs and outputs keep theirs. Constants of inner graphs become its
 * inputs, and sibling graphs may use the same name. */
static void make_names_unique(onnx_writer *o)
{
    const graph *main = &o->s->main;
    names seen, counts;
    names_init(&seen, o->arena);
    names_init(&counts, o->arena);
    for (int32_t i = 0; i < main->inputs.count; i++)
        claim_name(o, &seen, main->inputs.items[i]);
    for (int32_t i = 0; i < main->outputs.count; i++)
        claim_name(o, &seen, main->outputs.items[i]);
    for (value_id v = main->first_value; v < main->end_value; v++) {
        str name = o->s->values.items[v].name;
        names_put(&counts, name, names_get(&counts, name, 0) + 1);
        if (o->owner[v] == main)
            claim_name(o, &seen, v);
    }
    for (int32_t i = 0; i < o->left_out.count; i++) {
        value_id v = o->left_out.items[i];
        str name = o->s->values.items[v].name;
        if (o->owner[v] != main && names_get(&counts, name, 0) > 1)
            o->renamed[v] = arena_printf(o->arena, "%.*s~%d", STR_ARG(name), v);
    }
}

/* Writes the transposes of inputs and constants before all nodes. */
static void settle_given(onnx_writer *o, uint32_t field, const graph *g)
{
    for (int32_t i = 0; i < g->inputs.count; i++)
        if (!o->s->values.items[g->inputs.items[i]].tensor)
            onnx_layout_settle(o, field, g->inputs.items[i]);
    for (value_id v = g->first_value; v < g->end_value; v++)
        if (o->owner[v] == g && o->s->values.items[v].tensor)
            onnx_layout_settle(o, field, v);
}

/* Writes the fields of a GraphProto. */
static void put_graph(onnx_writer *o, const graph *g)
{
    wire_writer *w = o->w;
    settle_given(o, 1, g);
    for (int32_t i = 0; i < g->nodes.count; i++)
        put_node(o, 1, &g->nodes.items[i]);
    wire_put_str(w, 2, g->name.len ? g->name : STR("graph"));
    for (value_id v = g->first_value; v < g->end_value; v++) {
        const value *constant = &o->s->values.items[v];
        if (o->owner[v] != g || !constant->tensor || o->without[v] || is_unused_constant(o, v))
            continue;
        /* Selects sizes and axes that are only read by channels-first nodes, and are written in their order. */
        if (o->is_replaced[v] && !o->is_read[v] && constant->rank <= 1 && dtype_is_integer(constant->tensor->dtype) &&
            !is_output(g, v))
            continue;
        bool is_plain = constant->is_constant_node || onnx_layout_is_data(o, v);
        onnx_label label = {onnx_value_name(o, v), is_plain ? STR(ONNX_CONSTANT) : (str){0}};
        num dims[MAX_RANK];
        const value declared = {.rank = constant->tensor->rank, .dims = (num *)constant->tensor->dims};
        tensor t = *constant->tensor;
        t.rank = (int8_t)onnx_layout_dims(o, v, &declared, dims);
        t.dims = dims;
        put_constant(w, 5, 15, &t, label);
    }
    for (int32_t i = 0; i < g->inputs.count; i++) {
        if (!o->without[g->inputs.items[i]] && !is_unused_constant(o, g->inputs.items[i]))
            put_value_info(o, 11, g->inputs.items[i]);
        o->border[g->inputs.items[i]] = g;
    }
    for (int32_t i = 0; g == &o->s->main && i < o->left_out.count; i++)
        put_left_out(o, o->left_out.items[i]);
    for (int32_t i = 0; i < g->outputs.count; i++) {
        put_value_info(o, 12, g->outputs.items[i]);
        o->border[g->outputs.items[i]] = g;
    }
    for (value_id v = g->first_value; v < g->end_value; v++) {
        const value *inner = &o->s->values.items[v];
        if (o->owner[v] == g && inner->is_declared && !inner->tensor && o->border[v] != g && !o->without[v])
            put_value_info(o, 13, v);
    }
}

static void put_opset(wire_writer *w, uint32_t field, str domain, int32_t version)
{
    size_t message = wire_begin(w, field);
    wire_put_str(w, 1, domain);
    wire_put_int(w, 2, version);
    wire_end(w, message);
}

/* Names and operator sets that a function's nodes use; each is written once. */
typedef struct function_uses {
    str names[256];
    int32_t name_count;
    opset_import opsets[64];
    int32_t opset_count;
} function_uses;

static void collect_uses(function_uses *u, const graph *g)
{
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        int32_t k = 0;
        while (k < u->opset_count && !str_eq(u->opsets[k].domain, n->domain))
            k++;
        if (k == u->opset_count && k < 64)
            u->opsets[u->opset_count++] = (opset_import){n->domain, n->opset};
        for (int32_t a = 0; a < n->attr_count; a++) {
            const attr *at = &n->attrs[a];
            if (at->kind == ATTR_GRAPH)
                collect_uses(u, at->graph);
            if (at->kind != ATTR_REFERENCE)
                continue;
            for (k = 0; k < u->name_count && !str_eq(u->names[k], at->string);)
                k++;
            if (k == u->name_count && k < 256)
                u->names[u->name_count++] = at->string;
        }
    }
}

static void put_function(onnx_writer *o, const function *f)
{
    wire_writer *w = o->w;
    function_uses uses = {.name_count = 0};
    collect_uses(&uses, &f->graph);
    size_t message = wire_begin(w, 25);
    wire_put_str(w, 1, f->name);
    for (int32_t i = 0; i < f->graph.inputs.count; i++)
        wire_put_str(w, 4, onnx_value_name(o, f->graph.inputs.items[i]));
    for (int32_t i = 0; i < f->graph.outputs.count; i++)
        wire_put_str(w, 5, onnx_value_name(o, f->graph.outputs.items[i]));
    for (int32_t i = 0; i < uses.name_count; i++) {
        bool has_default = false;
        for (int32_t k = 0; k < f->default_count; k++)
            has_default = has_default || str_eq(f->defaults[k].name, uses.names[i]);
        if (!has_default)
            wire_put_str(w, 6, uses.names[i]);
    }
    settle_given(o, 7, &f->graph);
    for (int32_t i = 0; i < f->graph.nodes.count; i++)
        put_node(o, 7, &f->graph.nodes.items[i]);
    for (int32_t i = 0; i < uses.opset_count; i++)
        put_opset(w, 9, uses.opsets[i].domain, uses.opsets[i].version);
    wire_put_str(w, 10, f->domain);
    for (int32_t i = 0; i < f->default_count; i++)
        put_attr(o, 11, &f->defaults[i]);
    wire_end(w, message);
}

static int ir_version(const source *s)
{
    for (int32_t i = 0; i < s->values.count; i++)
        if (s->values.items[i].dtype > DT_BFLOAT16)
            return IR_VERSION_NEWEST;
    return IR_VERSION;
}

static void put_metadata(wire_writer *w, str key, str value)
{
    size_t message = wire_begin(w, 14);
    wire_put_str(w, 1, key);
    wire_put_str(w, 2, value);
    wire_end(w, message);
}

static void put_model(onnx_writer *o)
{
    wire_writer *w = o->w;
    const source *s = o->s;
    wire_put_int(w, 1, ir_version(s));
    if (s->producer.len)
        wire_put_str(w, 2, s->producer);
    size_t main = wire_begin(w, 7);
    put_graph(o, &s->main);
    wire_end(w, main);
    bool has_default = false;
    for (int32_t i = 0; i < s->opsets.count; i++) {
        put_opset(w, 8, s->opsets.items[i].domain, s->opsets.items[i].version);
        has_default = has_default || s->opsets.items[i].domain.len == 0;
    }
    if (!has_default) /* the dimension keeps the reader's name */
        put_opset(w, 8, STR(""), 1);
    function_uses uses = {.name_count = 0};
    collect_uses(&uses, &s->main);
    for (int32_t i = 0; i < uses.opset_count; i++) {
        bool is_there = uses.opsets[i].domain.len == 0;
        for (int32_t k = 0; k < s->opsets.count; k++)
            is_there = is_there || str_eq(s->opsets.items[k].domain, uses.opsets[i].domain);
        if (!is_there)
            put_opset(w, 8, uses.opsets[i].domain, uses.opsets[i].version);
    }
    /* The file loses eager_ attributes, so a network that has them is not marked as literal. */
    if (s->is_literal && !s->states_in_place)
        put_metadata(w, STR(ONNX_LITERAL), STR("1"));
    for (int32_t i = 0; i < s->defaults.count; i++)
        put_metadata(w, arena_printf(o->arena, "%s%.*s", ONNX_DIMENSION, STR_ARG(s->defaults.items[i].name)),
                     arena_printf(o->arena, "%lld", (long long)s->defaults.items[i].value));
    for (int32_t i = 0; i < s->functions.count; i++)
        put_function(o, &s->functions.items[i]);
}

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_all(onnx_writer *o, arena *scratch)
{
    if (setjmp(o->w->fail->jump))
        return false;
    const elaboration *made = o->s->elaboration;
    if (made && made->contradicted.len)
        fail_with(o->w->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the shape of '%.*s' in the file contradicts its operator, which ONNX cannot express; export the "
                  "model again",
                  STR_ARG(made->contradicted));
    if (o->s->is_list)
        fail_with(o->w->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the file has weights but no network that could be converted; give its directory, the config.json "
                  "next to it, or the whole model");
    o->arena = scratch;
    o->owner = ARENA_ARRAY(scratch, const graph *, (size_t)o->s->values.count);
    o->border = ARENA_ARRAY(scratch, const graph *, (size_t)o->s->values.count);
    for (int32_t i = 0; i < o->s->functions.count; i++)
        claim_values(o, &o->s->functions.items[i].graph);
    claim_values(o, &o->s->main);
    o->without = ARENA_ARRAY(scratch, const tensor *, (size_t)o->s->values.count);
    o->renamed = ARENA_ARRAY(scratch, str, (size_t)o->s->values.count);
    o->is_used = ARENA_ARRAY(scratch, bool, (size_t)o->s->values.count);
    mark_used(o, &o->s->main);
    for (int32_t i = 0; i < o->s->functions.count; i++)
        mark_used(o, &o->s->functions.items[i].graph);
    o->is_read = ARENA_ARRAY(scratch, bool, (size_t)o->s->values.count);
    o->is_replaced = ARENA_ARRAY(scratch, bool, (size_t)o->s->values.count);
    leave_out(o, scratch, &o->s->main);
    leave_out_unmade(o, scratch, &o->s->main);
    make_names_unique(o);
    names_init(&o->nodes, scratch);
    onnx_layout_plan(o);
    put_model(o);
    return true;
}

sooth_status sooth_write_onnx(const sooth_model *model, void **bytes, size_t *size, sooth_error *error)
{
    sooth_error own = {.code = SOOTH_OK};
    sooth_error *e = error ? error : &own;
    *e = (sooth_error){.code = SOOTH_OK};
    *bytes = NULL;
    *size = 0;
    fail f = {.error = e};
    arena scratch;
    arena_init(&scratch, &f, SIZE_MAX);
    wire_writer w = {.fail = &f};
    onnx_writer o = {.w = &w, .s = &model->source, .net = model->is_bound ? &model->net : NULL};
    bool done = write_all(&o, &scratch);
    arena_free(&scratch);
    if (!done) {
        free(w.bytes);
        return e->code;
    }
    *bytes = w.bytes;
    *size = w.size;
    return SOOTH_OK;
}
