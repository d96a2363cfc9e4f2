/* tfjs.c: reads TensorFlow.js model.json: a graph model or a layers model.
 *
 *   {"format": "graph-model" | "layers-model", "generatedBy", "convertedBy",
 *    "modelTopology": a GraphDef in protobuf's JSON form, or {"model_config": a Keras model, "keras_version"},
 *    "weightsManifest": [{"paths": [shard…], "weights": [{"name", "shape", "dtype"}…]}…]}
 *
 * The manifest has the shapes of weights; the shards are never opened. Constants used in shape arithmetic are
 * therefore unknown; the input's shape and the graph's _output_shapes help. */
#include "base/json_read.h"
#include "base/path.h"
#include "front/common/wire_write.h"
#include "front/front.h"
#include "front/keras/keras.h"
#include "front/tensorflow/tf.h"
#include "front/tensorflow/tf_schema.h"

#include <stdlib.h>

enum { MAX_WEIGHTS = 1 << 20 };

bool tfjs_sniff(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    return i < size && bytes[i] == '{' && str_contains((str){(const char *)bytes, size}, "\"modelTopology\"");
}

/* ---- JSON to the wire format ------------------------------------------------------------------------------------- */

/* Six bits per character; padding and other characters end the text. */
static str from_base64(arena *a, str text)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *to = arena_room(a, text.len / 4 * 3 + 4, 1);
    size_t count = 0;
    uint32_t bits = 0;
    int bit_count = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.ptr[i] ? strchr(DIGITS, text.ptr[i] == '-'   ? '+'
                                                         : text.ptr[i] == '_' ? '/'
                                                                              : text.ptr[i])
                                        : NULL;
        if (!digit)
            break;
        bits = bits << 6 | (uint32_t)(digit - DIGITS);
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            to[count++] = (uint8_t)(bits >> bit_count);
        }
    }
    return (str){(const char *)to, count};
}

/* Reads an integer. JSON has 64-bit integers as strings. */
static int64_t int_of(const json_node *n)
{
    char text[32] = {0};
    str s = json_text(n);
    if (!json_is(n, JSON_TEXT) || !s.ptr)
        return json_int(n, 0);
    memcpy(text, s.ptr, s.len < sizeof text - 1 ? s.len : sizeof text - 1);
    return strtoll(text, NULL, 10);
}

static void put_message(wire_writer *w, const json_node *n, tf_message message);

static void put_value(wire_writer *w, const json_node *n, const tf_field *f)
{
    switch (f->kind) {
    case TF_TEXT:
        if (json_is(n, JSON_TEXT))
            wire_put_str(w, f->number, f->is_bytes ? from_base64(w->arena, json_text(n)) : json_decoded(n, w->arena));
        break;
    case TF_INT:
        wire_put_int(w, f->number, int_of(n));
        break;
    case TF_FLOAT:
        wire_put_float(w, f->number, (float)json_double(n, 0));
        break;
    case TF_DOUBLE:
        wire_put_double(w, f->number, json_double(n, 0));
        break;
    case TF_TYPE:
        wire_put_int(w, f->number, json_is(n, JSON_TEXT) ? tf_type_number(json_text(n)) : json_int(n, 0));
        break;
    case TF_MESSAGE: {
        size_t inner = wire_begin(w, f->number);
        put_message(w, n, f->message);
        wire_end(w, inner);
        break;
    }
    }
}

/* Writes a map whose entries are the members of an object. */
static void put_map(wire_writer *w, const json_node *n, const tf_field *f)
{
    const tf_field *value = tf_field_named(f->message, STR("value"));
    for (const json_node *x = json_first(n); x; x = x->next) {
        size_t entry = wire_begin(w, f->number);
        wire_put_str(w, 1, x->key);
        put_value(w, x, value);
        wire_end(w, entry);
    }
}

/* The recursion ends, because no message of the schema contains itself. */
static void put_message(wire_writer *w, const json_node *n, tf_message message)
{
    if (!json_is(n, JSON_OBJECT))
        return;
    for (const json_node *x = json_first(n); x; x = x->next) {
        const tf_field *f = tf_field_named(message, x->key);
        if (!f)
            continue;
        if (f->is_map)
            put_map(w, x, f);
        else if (json_is(x, JSON_ARRAY))
            for (const json_node *y = json_first(x); y; y = y->next)
                put_value(w, y, f);
        else
            put_value(w, x, f);
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static dtype dtype_named(str name)
{
    return str_is(name, "int32")       ? DT_INT32
           : str_is(name, "bool")      ? DT_BOOL
           : str_is(name, "string")    ? DT_STRING
           : str_is(name, "complex64") ? DT_COMPLEX64
                                       : DT_FLOAT32;
}

static void check_paths(builder *b, const json_node *manifest)
{
    for (const json_node *group = json_first(manifest); group; group = group->next)
        for (const json_node *n = json_first(json_get(group, "paths")); n; n = n->next) {
            str path = json_decoded(n, b->arena);
            if (path_leads_out(path))
                fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                          "weightsManifest has weights in '%.*s', which is outside of the model's directory; do not "
                          "trust this file",
                          STR_ARG(path));
        }
}

/* True if a graph could compute shapes from these numbers. */
static bool may_set_shapes(dtype type, int rank, const int64_t *dims)
{
    return type == DT_INT32 && (rank == 0 || (rank <= 2 && dims[0] <= MAX_RANK && dims[rank - 1] <= MAX_RANK));
}

static void declare_weights(emitter *e, const json_node *manifest)
{
    int32_t count = 0;
    bool may_lack_shapes = false;
    for (const json_node *group = json_first(manifest); group; group = group->next)
        for (const json_node *n = json_first(json_get(group, "weights")); n && count < MAX_WEIGHTS;
             n = n->next, count++) {
            int64_t dims[MAX_RANK];
            const json_node *shape = json_get(n, "shape");
            str name = json_decoded(json_get(n, "name"), e->b->arena);
            if (name.len == 0 || !json_is(shape, JSON_ARRAY) || shape->count > MAX_RANK)
                continue;
            int rank = keras_ints(shape, dims, MAX_RANK);
            e->name = name;
            dtype type = dtype_named(json_text(json_get(n, "dtype")));
            emit_weight(e, name, type, rank, dims);
            may_lack_shapes |= may_set_shapes(type, rank, dims);
        }
    if (may_lack_shapes)
        *(str *)ARENA_PUSH(e->b->arena, &e->b->source->notes) =
            STR("constants for shape arithmetic are in the weight shards, which are not read; the original model (a "
                "SavedModel, Keras) has them");
}

void tfjs_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    const json_node *root = json_read((str){(const char *)bytes, size}, "the file", b->arena, f);
    const json_node *topology = json_get(root, "modelTopology"), *config = json_get(topology, "model_config");
    str producer = json_decoded(json_get(root, "convertedBy"), b->arena);
    if (!producer.len)
        producer = json_decoded(json_get(root, "generatedBy"), b->arena);
    check_paths(b, json_get(root, "weightsManifest"));
    if (!json_get(topology, "node")) {
        if (!config)
            config = topology;
        if (json_is(config, JSON_TEXT))
            config = json_read(json_decoded(config, b->arena), "model_config", b->arena, f);
        if (!json_is(config, JSON_OBJECT))
            fail_with(f, SOOTH_ERROR_INPUT,
                      "modelTopology has neither nodes nor a model_config; convert the model again");
        keras_read_config(b, config, "tfjs-layers", json_text(json_get(topology, "keras_version")));
    } else {
        tf_file file = {.fail = f};
        wire_writer w = {.fail = f, .arena = b->arena};
        put_message(&w, topology, TF_GRAPH);
        if (w.size == 0)
            fail_with(f, SOOTH_ERROR_INPUT, "the graph of modelTopology has no node; convert the model again");
        emit_begin(&file.e, b, "tfjs-graph");
        build_open(b, &b->source->main, false);
        declare_weights(&file.e, json_get(root, "weightsManifest"));
        tf_read_graph(&file, wire_of(w.bytes, w.size, f));
        build_close(b);
    }
    if (producer.len)
        b->source->producer = arena_str(b->arena, producer);
}
