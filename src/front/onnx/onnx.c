/* onnx.c: reads ONNX files: ModelProto in the protobuf wire format.
 *
 * A graph's inputs and constants are read first, then its nodes. Weights are skipped by their length.
 *
 * ModelProto: 1 ir_version, 2 producer_name, 3 producer_version, 7 graph, 8 opset_import, 25 functions.
 * GraphProto: 1 node, 2 name, 5 initializer, 11 input, 12 output, 13 value_info, 15 sparse_initializer.
 * NodeProto: 1 input, 2 output, 3 name, 4 op_type, 5 attribute, 7 domain.
 * ValueInfoProto: 1 name, 2 type, 3 doc_string. TypeProto: 1 tensor, 4 sequence, 5 map, 8 sparse tensor, 9 optional.
 * FunctionProto: 1 name, 4 input, 5 output, 7 node, 9 opset_import, 10 domain, 11 attribute_proto. */
#include "base/decimal.h"
#include "front/front.h"
#include "front/onnx/onnx_tensor.h"

/* ---- types ----------------------------------------------------------------------------------------------------- */

typedef struct declared_type {
    value_kind kind;
    dtype dtype;
    int rank;
    num dims[MAX_RANK];
} declared_type;

/* Names an input dimension without number and name after its position, so that it can be traced and bound. */
static num read_dim(builder *b, wire w, str input_name, int index)
{
    num dim = NUM_UNKNOWN;
    wire_field f;
    while (wire_next(&w, &f)) {
        int64_t number = (int64_t)f.varint;
        if (f.number == 1 && f.type == 0)
            dim = build_dim(b, number);
        else if (f.number == 2)
            dim = num_symbol(&b->source->symbols, wire_str(&f));
    }
    if (dim == NUM_UNKNOWN && input_name.len)
        dim = num_symbol(&b->source->symbols, arena_printf(b->arena, "%.*s[%d]", STR_ARG(input_name), index));
    return dim;
}

static void read_tensor_type(builder *b, wire w, str input_name, declared_type *t)
{
    wire_field f, d;
    while (wire_next(&w, &f)) {
        if (f.number == 1) {
            t->dtype = dtype_of_onnx((int64_t)f.varint);
        } else if (f.number == 2) {
            wire shape = wire_message(&w, &f);
            t->rank = 0;
            while (wire_next(&shape, &d)) {
                if (d.number != 1)
                    continue;
                if (t->rank == MAX_RANK)
                    wire_fail(&shape, d.bytes, "a shape has more than 64 dimensions");
                t->dims[t->rank] = read_dim(b, wire_message(&shape, &d), input_name, t->rank);
                t->rank++;
            }
        }
    }
}

/* Sequences and optionals get the type of their elements; a map only its kind. */
static void read_type(builder *b, wire w, str input_name, declared_type *t, int depth)
{
    enum { MAX_TYPE_DEPTH = 8 };
    wire_field f, inner;
    while (depth < MAX_TYPE_DEPTH && wire_next(&w, &f)) {
        if (f.number == 1 || f.number == 8) {
            if (f.number == 8)
                t->kind = VALUE_SPARSE;
            read_tensor_type(b, wire_message(&w, &f), depth ? (str){0} : input_name, t);
        } else if (f.number == 4 || f.number == 9) {
            if (depth == 0)
                t->kind = f.number == 4 ? VALUE_SEQUENCE : VALUE_OPTIONAL;
            wire element = wire_message(&w, &f);
            while (wire_next(&element, &inner))
                if (inner.number == 1)
                    read_type(b, wire_message(&element, &inner), input_name, t, depth + 1);
        } else if (f.number == 5) {
            t->kind = VALUE_MAP;
        }
    }
}

static onnx_label value_info_label(wire w)
{
    wire_field f;
    onnx_label label = {0};
    while (wire_next(&w, &f))
        if (f.number == 1)
            label.name = wire_str(&f);
        else if (f.number == 3)
            label.doc = wire_str(&f);
    return label;
}

/* Applies the type that the file declares to a value. */
static void read_value_type(builder *b, wire w, value_id id, bool is_input)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number != 2)
            continue;
        declared_type t = {.kind = VALUE_TENSOR, .rank = RANK_UNKNOWN};
        read_type(b, wire_message(&w, &f), is_input ? build_at(b, id)->name : (str){0}, &t, 0);
        build_type(b, id, t.dtype, t.rank, t.dims);
        value *v = build_at(b, id);
        v->kind = t.kind;
        v->element_count = t.kind == VALUE_SEQUENCE || t.kind == VALUE_OPTIONAL ? -1 : 0;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static int32_t opset_of(const builder *b, str domain)
{
    if (str_is(domain, "ai.onnx"))
        domain = STR("");
    for (int32_t i = 0; i < b->source->opsets.count; i++)
        if (str_eq(b->source->opsets.items[i].domain, domain))
            return b->source->opsets.items[i].version;
    return 1;
}

static void read_opset(builder *b, wire w)
{
    enum { MAX_VERSION = 100000 };
    opset_import o = {.version = 1};
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            o.domain = arena_str(b->arena, wire_str(&f));
        else if (f.number == 2)
            o.version = f.varint < MAX_VERSION ? (int32_t)f.varint : MAX_VERSION;
    }
    if (str_is(o.domain, "ai.onnx"))
        o.domain = STR("");
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = o;
}

/* Fields of a node, up to a number that is enough for nearly all nodes; a second reading finds the others. */
enum { FEW = 16 };
typedef struct node_parts {
    str name, type, domain, doc;
    str inputs[FEW], outputs[FEW];
    wire attrs; /* span from the first to the last attribute */
    int input_count, output_count, attr_count;
    bool attrs_together; /* true if that span contains only attributes */
} node_parts;

/* Reads the fields with this number that come next and have fewer than 128 bytes. Of more than `room`, keeps the last
 * in the last place: of a field that should occur once, the last counts. */
static inline const uint8_t *read_texts(const uint8_t *at, const uint8_t *end, uint8_t number, str *to, int room,
                                        int *count)
{
    const uint8_t key = (uint8_t)(number << 3 | 2);
    int found = 0;
    for (; end - at >= 2 && at[0] == key && at[1] < 128 && at[1] <= end - at - 2; at += 2 + at[1]) {
        if (room)
            to[found < room ? found : room - 1] = (str){(const char *)at + 2, at[1]};
        found++;
    }
    *count = found;
    return at;
}

/* Writers order fields by their numbers, so most nodes are read without asking each field what it is. */
static const uint8_t *read_usual_parts(const wire *w, node_parts *p)
{
    int count = 0;
    const uint8_t *at = read_texts(w->at, w->end, 1, p->inputs, FEW, &p->input_count);
    at = read_texts(at, w->end, 2, p->outputs, FEW, &p->output_count);
    at = read_texts(at, w->end, 3, &p->name, 1, &count);
    at = read_texts(at, w->end, 4, &p->type, 1, &count);
    p->attrs.at = at;
    at = read_texts(at, w->end, 5, NULL, 0, &p->attr_count);
    p->attrs.end = at;
    return at;
}

static void read_parts(wire w, node_parts *p)
{
    wire_field f;
    p->name = p->type = p->domain = p->doc = (str){0};
    p->attrs = w;
    p->attrs_together = true;
    w.at = read_usual_parts(&w, p);
    for (const uint8_t *start = w.at; wire_next(&w, &f); start = w.at) {
        switch (f.number) {
        case 1:
            if (p->input_count < FEW)
                p->inputs[p->input_count] = wire_str(&f);
            p->input_count++;
            break;
        case 2:
            if (p->output_count < FEW)
                p->outputs[p->output_count] = wire_str(&f);
            p->output_count++;
            break;
        case 3:
            p->name = wire_str(&f);
            break;
        case 4:
            p->type = wire_str(&f);
            break;
        case 5:
            if (p->attr_count++ == 0)
                p->attrs.at = start;
            else
                p->attrs_together = p->attrs_together && p->attrs.end == start;
            p->attrs.end = w.at;
            break;
        case 6:
            p->doc = wire_str(&f);
            break;
        case 7:
            p->domain = wire_str(&f);
            break;
        default:
            break;
        }
    }
}

static void read_many_values(builder *b, wire w, node *n)
{
    int inputs = 0, outputs = 0;
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            n->inputs[inputs++] = build_value(b, wire_str(&f));
        else if (f.number == 2)
            n->outputs[outputs++] = build_local(b, wire_str(&f));
    }
}

static attr *read_scattered_attrs(builder *b, wire w, int count)
{
    attr *attrs = ARENA_ARRAY(b->arena, attr, (size_t)count);
    int i = 0;
    wire_field f;
    while (wire_next(&w, &f))
        if (f.number == 5)
            onnx_attr(b, wire_message(&w, &f), &attrs[i++]);
    return attrs;
}

static void read_node(builder *b, wire w)
{
    node_parts p;
    read_parts(w, &p);
    if (p.type.len == 0)
        wire_fail(&w, w.at, "a node has no operator");
    uint32_t input_hashes[FEW], output_hashes[FEW];
    const bool is_usual = p.input_count <= FEW && p.output_count <= FEW;
    for (int i = 0; is_usual && i < p.input_count; i++)
        input_hashes[i] = build_look_ahead(b, p.inputs[i]);
    for (int i = 0; is_usual && i < p.output_count; i++)
        output_hashes[i] = build_look_ahead(b, p.outputs[i]);
    /* Stays valid, because reading a subgraph only adds nodes to other graphs. */
    node *n = build_node(b, p.domain, p.type, p.name, p.input_count, p.output_count, 0);
    n->opset = opset_of(b, n->domain);
    if (p.doc.len && str_is(p.doc, ONNX_NOT_TAKEN))
        n->repeat = 0;
    if (!is_usual)
        read_many_values(b, w, n);
    for (int i = 0; is_usual && i < p.input_count; i++)
        n->inputs[i] = build_value_hashed(b, p.inputs[i], input_hashes[i]);
    for (int i = 0; is_usual && i < p.output_count; i++)
        n->outputs[i] = build_local_hashed(b, p.outputs[i], output_hashes[i]);
    n->attr_count = p.attr_count;
    if (p.attr_count)
        n->attrs =
            p.attrs_together ? onnx_attrs(b, p.attrs, p.attr_count) : read_scattered_attrs(b, p.attrs, p.attr_count);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

/* A graph or function being read. A subgraph may read outputs of nodes that come later, so all outputs are declared
 * at the first subgraph, which most networks do not have. */
typedef struct open_graph {
    wire whole;
    uint32_t node_field; /* protobuf field that holds nodes */
    bool outputs_declared;
} open_graph;

static void declare_outputs(builder *b, open_graph *open)
{
    wire w = open->whole;
    wire_field f, part;
    if (open->outputs_declared)
        return;
    open->outputs_declared = true;
    while (wire_next(&w, &f)) {
        if (f.number != open->node_field)
            continue;
        wire n = wire_message(&w, &f);
        while (wire_next(&n, &part))
            if (part.number == 2)
                build_local(b, wire_str(&part));
    }
}

/* True if the documentation begins with this text. *packed_bytes is the number after it, or 0. */
static bool says(str doc, const char *what, int64_t *packed_bytes)
{
    decimal d = {0};
    size_t said = strlen(what);
    *packed_bytes = 0;
    if (!str_starts(doc, what))
        return false;
    str rest = {doc.ptr + said, doc.len - said};
    if (str_starts(rest, ONNX_PACKED)) {
        said = strlen(ONNX_PACKED);
        if (decimal_read((str){rest.ptr + said, rest.len - said}, &d) && d.is_whole)
            *packed_bytes = d.whole;
        return true;
    }
    return rest.len == 0;
}

static bool is_static(const value *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dims[i] < 0)
            return false;
    return v->kind == VALUE_TENSOR && v->rank >= 0;
}

/* An input of the main graph may be a constant whose data `sooth convert` left out. */
static void read_input(builder *b, wire w)
{
    onnx_label label = value_info_label(w);
    value_id id = build_local(b, label.name);
    if (id == NO_VALUE)
        return;
    read_value_type(b, w, id, b->depth == 1);
    bool may_be_constant = label.doc.len && b->depth == 1 && is_static(build_at(b, id));
    int64_t packed_bytes = 0;
    bool is_weight = may_be_constant && says(label.doc, ONNX_WEIGHT_LEFT_OUT, &packed_bytes);
    if (!is_weight && !(may_be_constant && says(label.doc, ONNX_CONSTANT_LEFT_OUT, &packed_bytes))) {
        build_input(b, id);
        return;
    }
    build_constant(b, id, onnx_left_out(b, w, build_at(b, id), packed_bytes));
    build_at(b, id)->is_constant_node = !is_weight;
}

static void read_constant(builder *b, wire w, bool is_sparse)
{
    onnx_label label;
    const tensor *t = is_sparse ? onnx_sparse_tensor(b, w, &label) : onnx_tensor(b, w, &label);
    value_id id = build_local(b, label.name);
    if (id == NO_VALUE)
        return;
    build_constant(b, id, t);
    if (label.doc.len)
        build_at(b, id)->is_constant_node = str_is(label.doc, ONNX_CONSTANT);
}

static void read_inputs_and_constants(builder *b, wire w, graph *g)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 2) {
            g->name = arena_str(b->arena, wire_str(&f));
        } else if (f.number == 11) {
            read_input(b, wire_message(&w, &f));
        } else if (f.number == 5 || f.number == 15) {
            read_constant(b, wire_message(&w, &f), f.number == 15);
        }
    }
}

/* An output or declared inner value may belong to an enclosing graph and must not hide it. */
static void read_declarations(builder *b, wire w)
{
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number != 12 && f.number != 13)
            continue;
        value_id id = build_value(b, value_info_label(wire_message(&w, &f)).name);
        if (id == NO_VALUE)
            continue;
        if (build_is_local(b, id) && !(f.number == 12 && build_at(b, id)->is_declared))
            read_value_type(b, wire_message(&w, &f), id, false);
        if (f.number == 12)
            build_output(b, id);
    }
}

/* Spans of a graph's parts, from the first to the last of each kind. They are contiguous in nearly all files, so
 * each is read once; other fields in between are skipped. */
typedef struct graph_parts {
    wire nodes, values, declarations;
    size_t node_count, other_count;
} graph_parts;

static graph_parts find_parts(wire w)
{
    enum { AHEAD = 1024 }; /* Nodes are found by their lengths, one after another, so each would wait for memory. */
    const wire none = {.file = w.file, .fail = w.fail};
    graph_parts p = {.nodes = none, .values = none, .declarations = none};
    const uint8_t *start = w.at;
    wire_field f;
    for (; wire_next(&w, &f); start = w.at) {
        if ((size_t)(w.end - w.at) > AHEAD)
            __builtin_prefetch(w.at + AHEAD);
        wire *part = &p.values;
        if (f.number == 1) {
            part = &p.nodes;
            p.node_count++;
        } else if (f.number == 12 || f.number == 13) {
            part = &p.declarations;
        }
        if (!part->at)
            part->at = start;
        part->end = w.at;
        p.other_count += f.number != 1;
    }
    return p;
}

void onnx_graph(builder *b, wire w, graph *g)
{
    onnx_reader *reader = b->front;
    open_graph *outer = reader->open, own = {.whole = w, .node_field = 1};
    if (outer)
        declare_outputs(b, outer);
    build_open(b, g, false);
    reader->open = &own;
    graph_parts parts = find_parts(w);
    build_reserve(b, parts.node_count, parts.node_count + parts.node_count / 4 + parts.other_count);
    if (outer) /* names that hide outer ones must be declared before names are looked up */
        declare_outputs(b, &own);
    read_inputs_and_constants(b, parts.values, g);
    read_declarations(b, parts.declarations);
    wire_field f;
    while (wire_next(&parts.nodes, &f))
        if (f.number == 1)
            read_node(b, wire_message(&parts.nodes, &f));
    build_close(b);
    reader->open = outer;
}

static void read_function(builder *b, wire w)
{
    function fn = {0};
    const wire whole = w;
    wire_field f;
    size_t defaults = 0;
    /* Sets the function's own operator sets while its nodes are read. */
    const opset_list outer = b->source->opsets;
    b->source->opsets = (opset_list){0};
    while (wire_next(&w, &f)) {
        if (f.number == 1)
            fn.name = arena_str(b->arena, wire_str(&f));
        else if (f.number == 10)
            fn.domain = arena_str(b->arena, wire_str(&f));
        else if (f.number == 11)
            defaults++;
        else if (f.number == 9)
            read_opset(b, wire_message(&w, &f));
    }
    fn.graph.name = fn.name;
    fn.defaults = ARENA_ARRAY(b->arena, attr, defaults);
    open_graph own = {.whole = whole, .node_field = 7};
    build_open(b, &fn.graph, true);
    onnx_reader *reader = b->front;
    reader->open = &own;
    for (w = whole; wire_next(&w, &f);) {
        if (f.number == 4)
            build_input(b, build_local(b, wire_str(&f)));
        else if (f.number == 11)
            onnx_attr(b, wire_message(&w, &f), &fn.defaults[fn.default_count++]);
    }
    for (w = whole; wire_next(&w, &f);) {
        if (f.number == 5)
            build_output(b, build_local(b, wire_str(&f)));
        else if (f.number == 7)
            read_node(b, wire_message(&w, &f));
    }
    build_close(b);
    reader->open = NULL;
    b->source->opsets = outer;
    *(function *)ARENA_PUSH(b->arena, &b->source->functions) = fn;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* True if every field before the graph belongs to ModelProto and has the right type. */
bool onnx_sniff(const uint8_t *bytes, size_t size)
{
    const uint8_t *p = bytes, *end = bytes + size;
    while (p < end) {
        uint8_t key = *p++;
        uint64_t number = 0;
        for (int shift = 0;; shift += 7) {
            if (p == end || shift > 63)
                return false;
            number |= (uint64_t)(*p & 127) << shift;
            if (*p++ < 128)
                break;
        }
        switch (key) {
        case 1 << 3: /* ir_version */
            if (number > 1000)
                return false;
            break;
        case 5 << 3: /* model_version */
            break;
        case 7 << 3 | 2: /* graph */
            return true;
        case 2 << 3 | 2: /* texts and operator sets */
        case 3 << 3 | 2:
        case 4 << 3 | 2:
        case 6 << 3 | 2:
        case 8 << 3 | 2:
        case 14 << 3 | 2:
            if (number > (uint64_t)(end - p))
                return false;
            p += number;
            break;
        default: /* functions (25) have a two-byte key and come after the graph */
            return false;
        }
    }
    return size > 0;
}

/* Metadata that sooth_write_onnx adds to the graph. */
static void read_metadata(builder *b, wire w)
{
    str key = {0}, value = {0};
    for (wire_field f; wire_next(&w, &f);) {
        if (f.number == 1)
            key = wire_str(&f);
        else if (f.number == 2)
            value = wire_str(&f);
    }
    if (str_is(key, ONNX_LITERAL))
        b->source->is_literal = true;
    if (!str_starts(key, ONNX_DIMENSION))
        return;
    str name = {key.ptr + strlen(ONNX_DIMENSION), key.len - strlen(ONNX_DIMENSION)};
    int64_t number = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9' || number > INT32_MAX / 10)
            return;
        number = 10 * number + (value.ptr[i] - '0');
    }
    if (name.len && value.len)
        *(dim_default *)ARENA_PUSH(b->arena, &b->source->defaults) = (dim_default){arena_str(b->arena, name), number};
}

void onnx_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    source *s = b->source;
    wire w = wire_of(bytes, size, f);
    wire_field field;
    wire graph_bytes = {0};
    str producer = {0}, version = {0};
    onnx_reader reader = {0};
    b->front = &reader;
    s->format = STR("onnx");
    while (wire_next(&w, &field)) {
        switch (field.number) {
        case 2:
            producer = wire_str(&field);
            break;
        case 3:
            version = wire_str(&field);
            break;
        case 7:
            graph_bytes = wire_message(&w, &field);
            break;
        case 8:
            read_opset(b, wire_message(&w, &field));
            break;
        case 14:
            read_metadata(b, wire_message(&w, &field));
            break;
        default:
            break;
        }
    }
    if (!graph_bytes.at)
        wire_fail(&w, bytes + size, "the file ends without a graph");
    s->producer = arena_printf(b->arena, "%.*s%s%.*s", STR_ARG(producer), producer.len && version.len ? " " : "",
                               STR_ARG(version));
    for (w = wire_of(bytes, size, f); wire_next(&w, &field);)
        if (field.number == 25)
            read_function(b, wire_message(&w, &field));
    onnx_graph(b, graph_bytes, &s->main);
    b->front = NULL;
}
