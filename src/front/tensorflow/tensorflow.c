/* tensorflow.c: reads TensorFlow files: frozen GraphDef (.pb, .pbtxt), MetaGraphDef (.meta), SavedModel
 * (saved_model.pb, .pbtxt).
 *
 * GraphDef: 1 node, 2 library, 3 version, 4 versions.
 * SavedModel: 1 saved_model_schema_version, 2 meta_graphs. MetaGraphDef: 1 meta_info_def, 2 graph_def, 5 signature_def.
 * MetaInfoDef: 4 tags, 5 tensorflow_version. signature_def is a map of SignatureDef: 1 inputs, 2 outputs (maps of
 * TensorInfo), 3 method.
 * TensorInfo: 1 name, 2 dtype, 3 tensor_shape.
 *
 * The network of a SavedModel is its signature "serving_default", or the first with outputs. Without a signature,
 * nodes without readers are the outputs. Nodes that the outputs do not need (initialization, saving) are skipped.
 * Variables have their shapes in the graph; the files with their data are never opened. */
#include "front/front.h"
#include "front/tensorflow/tf.h"

/* ---- sniffing -------------------------------------------------------------------------------------------------- */

static bool is_printable(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ')
            return false;
    return s.len > 0;
}

/* True for a NodeDef: a name, then an operator. */
static bool is_node(str message)
{
    const uint8_t *p = (const uint8_t *)message.ptr, *end = p + message.len;
    str name, op;
    return wire_part(&p, end, 1, &name) && wire_part(&p, end, 2, &op) && is_printable(name) && is_printable(op);
}

static bool is_graph(const uint8_t *bytes, size_t size)
{
    const uint8_t *p = bytes, *end = bytes + size;
    str part;
    while (p < end) {
        if (wire_part(&p, end, 1, &part))
            return is_node(part);
        if (!wire_part(&p, end, 2, &part) && !wire_part(&p, end, 4, &part))
            return false;
    }
    return false;
}

/* True if there are only fields of a MetaGraphDef (messages 1 to 7). A string of ONNX in the same place has others. */
static bool is_meta_graph_def(str message)
{
    const uint8_t *p = (const uint8_t *)message.ptr, *end = p + message.len;
    str part;
    while (p < end) {
        bool is_known = false;
        for (uint32_t field = 1; field <= 7 && !is_known; field++)
            is_known = wire_part(&p, end, field, &part);
        if (!is_known)
            return false;
    }
    return message.len > 0;
}

/* True for schema version 1, then a MetaGraphDef. */
static bool is_saved_model(const uint8_t *bytes, size_t size)
{
    const uint8_t *p = bytes + 2, *end = bytes + size;
    str meta;
    return size >= 4 && bytes[0] == 1 << 3 && bytes[1] == 1 && wire_part(&p, end, 2, &meta) && is_meta_graph_def(meta);
}

/* True for MetaInfoDef, then a GraphDef. */
static bool is_meta_graph(const uint8_t *bytes, size_t size)
{
    const uint8_t *p = bytes, *end = bytes + size;
    str info, graph;
    return wire_part(&p, end, 1, &info) && wire_part(&p, end, 2, &graph) &&
           is_graph((const uint8_t *)graph.ptr, graph.len);
}

static str skip_space(str s)
{
    while (s.len) {
        bool is_space = *s.ptr == ' ' || *s.ptr == '\t' || *s.ptr == '\n' || *s.ptr == '\r';
        if (*s.ptr == '#') {
            while (s.len && *s.ptr != '\n') {
                s.ptr++;
                s.len--;
            }
        } else if (!is_space) {
            return s;
        } else {
            s.ptr++;
            s.len--;
        }
    }
    return s;
}

static bool is_text(const uint8_t *bytes, size_t size)
{
    static const char *const FIRST[] = {"node", "library", "versions", "saved_model_schema_version", "meta_graphs"};
    str s = skip_space((str){(const char *)bytes, size < 4096 ? size : 4096});
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++) {
        if (!str_starts(s, FIRST[i]))
            continue;
        str rest = {s.ptr + strlen(FIRST[i]), s.len - strlen(FIRST[i])};
        rest = skip_space(rest);
        if (rest.len && (*rest.ptr == '{' || *rest.ptr == ':' || *rest.ptr == '<'))
            return true;
    }
    return false;
}

bool tensorflow_sniff(const uint8_t *bytes, size_t size)
{
    return is_saved_model(bytes, size) || is_graph(bytes, size) || is_meta_graph(bytes, size) || is_text(bytes, size);
}

/* ---- signatures ------------------------------------------------------------------------------------------------ */

/* Splits a map entry: returns the key, and the value's message in *value. */
static str entry_key(const wire *w, const wire_field *f, wire *value)
{
    wire entry = wire_message(w, f);
    wire_field part;
    str key = {0};
    *value = (wire){.at = f->bytes, .end = f->bytes, .file = w->file, .fail = w->fail};
    while (wire_next(&entry, &part)) {
        if (part.number == 1)
            key = wire_str(&part);
        else if (part.number == 2)
            *value = wire_message(&entry, &part);
    }
    return key;
}

static bool has_field(wire w, uint32_t number)
{
    wire_field f;
    while (wire_next(&w, &f))
        if (f.number == number)
            return true;
    return false;
}

/* Finds the signature of the network; false if there is none. */
static bool find_signature(wire meta, wire *signature)
{
    wire_field f;
    bool found = false;
    while (wire_next(&meta, &f)) {
        wire value;
        if (f.number != 5)
            continue;
        str key = entry_key(&meta, &f, &value);
        if (!has_field(value, 2) || str_starts(key, "__saved_model"))
            continue;
        bool is_default = str_is(key, "serving_default");
        if (!found || is_default)
            *signature = value;
        found = true;
        if (is_default)
            return true;
    }
    return found;
}

static str tensor_name(wire info)
{
    wire_field f;
    str name = {0};
    while (wire_next(&info, &f))
        if (f.number == 1)
            name = wire_str(&f);
    return name;
}

/* Writes inputs and outputs under the signature's names. */
static void write_signature(tf_graph *g, wire signature)
{
    tf_file *f = g->file;
    wire_field field;
    wire info;
    for (wire w = signature; wire_next(&w, &field);) {
        if (field.number != 1)
            continue;
        str key = entry_key(&w, &field, &info);
        tf_edge edge = tf_resolve(g, tensor_name(info));
        if (edge.node >= 0 && key.len && !tf_find_node(g, key))
            g->nodes[edge.node].shown = key;
        value_id v = tf_write(g, edge);
        num dims[MAX_RANK];
        wire shape;
        wire_field part;
        while (wire_next(&info, &part)) {
            if (part.number != 3 || v == NO_VALUE || build_at(f->e.b, v)->rank != RANK_UNKNOWN)
                continue;
            shape = wire_message(&info, &part);
            int rank = tf_shape(shape, dims);
            for (int i = 0; i < rank; i++)
                if (dims[i] == NUM_UNKNOWN)
                    dims[i] = num_symbol(&f->e.b->source->symbols,
                                         i == 0 ? STR("N") : arena_printf(f->e.b->arena, "%.*s[%d]", STR_ARG(key), i));
            build_type(f->e.b, v, build_at(f->e.b, v)->dtype, rank, dims);
        }
    }
    for (wire w = signature; wire_next(&w, &field);)
        if (field.number == 2) {
            entry_key(&w, &field, &info);
            tf_need(g, tf_resolve(g, tensor_name(info)));
        }
    for (wire w = signature; wire_next(&w, &field);) {
        if (field.number != 2)
            continue;
        str key = entry_key(&w, &field, &info);
        value_id v = tf_write(g, tf_resolve(g, tensor_name(info)));
        if (v == NO_VALUE)
            continue;
        f->e.name = key;
        int32_t before = f->e.b->source->values.count;
        value_id named = build_local(f->e.b, key);
        if (f->e.b->source->values.count == before)
            build_output(f->e.b, v);
        else
            build_output(f->e.b, emit_1(&f->e, "Identity", v, named));
    }
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

/* True for operators that run for their side effects, not for their results. */
static bool is_side_effect(str op)
{
    static const char *const OPS[] = {"NoOp",
                                      "Assert",
                                      "Assign",
                                      "AssignVariableOp",
                                      "SaveV2",
                                      "RestoreV2",
                                      "Print",
                                      "PrintV2",
                                      "Const",
                                      "MergeV2Checkpoints",
                                      "AssignAdd",
                                      "AssignSub",
                                      "ShardedFilename",
                                      "VarHandleOp",
                                      "VarIsInitializedOp",
                                      "VariableV2",
                                      "NextIteration",
                                      "ControlTrigger",
                                      "Placeholder",
                                      "ApplyAdam",
                                      "ApplyGradientDescent",
                                      "ResourceApplyAdam",
                                      "ResourceApplyGradientDescent"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (str_is(op, OPS[i]))
            return true;
    return false;
}

/* Fails for a graph without an output, in which every path along the readers leads to a cycle. */
_Noreturn static void fail_without_output(const tf_graph *g, const int32_t *readers)
{
    int32_t at = 0;
    while (at < g->count - 1 && is_side_effect(g->nodes[at].op))
        at++;
    for (int32_t i = 0; i < g->count && readers[at] > 0; i++)
        at = readers[at] - 1;
    fail_with(g->file->fail, SOOTH_ERROR_INPUT,
              "every node of the graph is read by another, so it has no output: '%.*s' (%.*s) depends on itself; "
              "export or freeze the model again with its outputs named",
              STR_ARG(g->nodes[at].name), STR_ARG(g->nodes[at].op));
}

static void write_unread(tf_graph *g)
{
    builder *b = g->file->e.b;
    bool *is_read = ARENA_ARRAY(b->arena, bool, (size_t)g->count + 1);
    /* index of each node's reader + 1; 0: none */
    int32_t *readers = ARENA_ARRAY(b->arena, int32_t, (size_t)g->count + 1);
    bool has_other = false, has_unread = false;
    for (int32_t i = 0; i < g->count; i++) {
        has_other |= !is_side_effect(g->nodes[i].op);
        for (int32_t k = 0; k < g->nodes[i].input_count; k++) {
            tf_edge e = tf_resolve(g, g->nodes[i].input_texts[k]);
            /* values that only side effects read still count as outputs */
            bool counts = !is_side_effect(g->nodes[i].op) || str_is(g->nodes[i].op, "NextIteration");
            if (e.node >= 0 && e.node != i && counts) {
                is_read[e.node] = true;
                readers[e.node] = i + 1;
            }
        }
    }
    for (int32_t i = 0; i < g->count; i++) {
        is_read[i] |= has_other && is_side_effect(g->nodes[i].op);
        has_unread |= !is_read[i];
        if (!is_read[i])
            tf_need(g, (tf_edge){i, 0});
    }
    if (!has_unread)
        fail_without_output(g, readers);
    for (int32_t i = 0; i < g->count; i++) /* adds inputs in the order of the file */
        if (g->nodes[i].is_needed && str_starts(g->nodes[i].op, "Placeholder"))
            tf_write(g, (tf_edge){i, 0});
    for (int32_t i = 0; i < g->count; i++) {
        if (is_read[i])
            continue;
        tf_write(g, (tf_edge){i, 0});
        for (int32_t k = 0; k < g->nodes[i].output_count; k++)
            if (g->nodes[i].outputs[k] != NO_VALUE)
                build_output(b, g->nodes[i].outputs[k]);
    }
}

static void read_graph(tf_file *f, wire graph, const wire *signature)
{
    wire_field field;
    for (wire w = graph; wire_next(&w, &field);)
        if (field.number == 2)
            tf_read_library(f, wire_message(&w, &field));
    tf_graph g = {.file = f, .prefix = STR("")};
    tf_open_graph(&g, graph, 1);
    if (g.count == 0)
        wire_fail(&graph, graph.at, "the graph has no node");
    if (signature)
        write_signature(&g, *signature);
    else
        write_unread(&g);
}

void tf_read_graph(tf_file *f, wire graph)
{
    read_graph(f, graph, NULL);
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static str version_in(wire meta)
{
    wire_field f, part;
    str version = {0};
    while (wire_next(&meta, &f)) {
        if (f.number != 1)
            continue;
        wire info = wire_message(&meta, &f);
        while (wire_next(&info, &part))
            if (part.number == 5)
                version = wire_str(&part);
    }
    return version;
}

static void read_meta_graph(tf_file *f, wire meta)
{
    wire signature;
    wire_field field;
    wire graph = {.at = meta.at, .end = meta.at, .file = meta.file, .fail = meta.fail};
    str version = version_in(meta);
    for (wire w = meta; wire_next(&w, &field);)
        if (field.number == 2)
            graph = wire_message(&w, &field);
    if (version.len)
        f->e.b->source->producer = arena_printf(f->e.b->arena, "tensorflow %.*s", STR_ARG(version));
    read_graph(f, graph, find_signature(meta, &signature) ? &signature : NULL);
}

void tensorflow_read(builder *b, const uint8_t *bytes, size_t size)
{
    tf_file f = {.fail = &b->model->fail};
    wire_field field;
    bool is_saved = is_saved_model(bytes, size), is_meta = !is_graph(bytes, size) && is_meta_graph(bytes, size);
    str raw = {(const char *)bytes, size};
    if (!is_saved && !is_meta && is_text(bytes, size))
        raw = tf_text_to_wire(b, raw, &is_saved);
    emit_begin(&f.e, b, is_saved ? "tensorflow-savedmodel" : "tensorflow-graphdef");
    build_open(b, &b->source->main, false);
    wire w = wire_of((const uint8_t *)raw.ptr, raw.len, f.fail);
    bool is_done = false;
    if (is_meta) {
        read_meta_graph(&f, w);
    } else if (!is_saved) {
        read_graph(&f, w, NULL);
    } else {
        while (!is_done && wire_next(&w, &field))
            if (field.number == 2) { /* there is one MetaGraphDef per use (serving, training); the first is read */
                read_meta_graph(&f, wire_message(&w, &field));
                is_done = true;
            }
        if (!is_done)
            wire_fail(&w, w.at, "the SavedModel has no graph");
    }
    build_close(b);
}
