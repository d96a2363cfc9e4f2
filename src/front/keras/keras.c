/* keras.c: reads Keras models from their configuration: .keras (a ZIP with config.json), .h5 (attribute model_config),
 * .json. Keras 1, 2, 3.
 *
 * Model: {"class_name": "Sequential" | "Model" | "Functional", "config": {"layers": [layer…], "input_layers",
 * "output_layers"}};
 *   in Keras 1 and early 2 the config of a Sequential is the list itself.
 * Layer: {"class_name", "config": {"name", …}, "name", "inbound_nodes": [call…]}
 * Call:  Keras 1, 2  [[layer, call, tensor, {keywords}]…], or one such list by itself
 *        Keras 3     {"args": […], "kwargs": {…}} with {"class_name": "__keras_tensor__", "config": {"shape",
 *        "keras_history":
 *                    [layer, call, tensor]}} anywhere inside
 *
 * Weight shapes are not in the file: they follow from the layers' inputs, whose shapes are inferred while the graph
 * is built. A layer called twice has its weights once, because they are found by name. */
#include "front/keras/keras.h"
#include "base/nesting.h"
#include "base/zip.h"
#include "front/common/hdf5.h"
#include "front/front.h"

enum { MAX_CALLS = 200000, MAX_CONFIG_BYTES = 1 << 28 };

str keras_joined(arena *a, str first, str second)
{
    if (first.len == 0)
        return arena_str(a, second);
    char *text = arena_room(a, first.len + second.len + 2, 1);
    memcpy(text, first.ptr, first.len);
    text[first.len] = '/';
    memcpy(text + first.len + 1, second.ptr, second.len);
    text[first.len + second.len + 1] = '\0';
    return (str){text, first.len + second.len + 1};
}

/* ---- layers and calls ------------------------------------------------------------------------------------------ */

typedef struct reference {
    int32_t layer, call, tensor;
} reference;

typedef struct call {
    int32_t layer;
    int32_t index; /* Number of this call among those of its layer. */
    reference *inputs;
    int32_t input_count;
    const json_node *arguments, *keywords, *shape;
    value_id *outputs;
    int32_t output_count;
    bool is_done, is_open;
} call;

typedef struct layer {
    str name, class_name;
    const json_node *config;
    int32_t first_call, call_count;
} layer;

typedef struct model {
    keras_call *owner; /* the call that stands for this nested model */
    layer *layers;
    int32_t layer_count;
    int32_t *slots;
    uint32_t mask;
    struct {
        call *items;
        int32_t count, capacity;
    } calls;
    int32_t *stack;
} model;

static _Noreturn void config_fail(const keras_call *c, const char *what, str where)
{
    fail_with(&c->e->b->model->fail, SOOTH_ERROR_INPUT, "%s, at layer '%.*s'; save the model again", what,
              STR_ARG(where));
}

static int32_t find_layer(const model *m, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        int32_t slot = m->slots[k & m->mask];
        if (!slot || str_eq(m->layers[slot - 1].name, name))
            return slot - 1;
    }
}

static void read_layers(model *m, const json_node *list)
{
    arena *a = m->owner->e->b->arena;
    uint32_t size = 16;
    m->layer_count = list->count;
    while (size < 2 * (uint32_t)m->layer_count + 2)
        size *= 2;
    m->layers = ARENA_ARRAY(a, layer, (size_t)m->layer_count + 1);
    m->slots = ARENA_ARRAY(a, int32_t, size);
    m->mask = size - 1;
    int32_t i = 0;
    for (const json_node *n = json_first(list); n; n = n->next, i++) {
        layer *l = &m->layers[i];
        l->class_name = json_text(json_get(n, "class_name"));
        l->config = json_get(n, "config");
        l->name = json_decoded(json_get(n, "name"), a);
        if (l->name.len == 0)
            l->name = json_decoded(json_get(l->config, "name"), a);
        if (l->name.len == 0)
            l->name = arena_printf(a, "%.*s_%d", STR_ARG(l->class_name), i);
        if (l->class_name.len == 0)
            config_fail(m->owner, "a layer has no class", l->name);
        uint32_t k = str_hash(l->name);
        while (m->slots[k & m->mask] && !str_eq(m->layers[m->slots[k & m->mask] - 1].name, l->name))
            k++;
        if (!m->slots[k & m->mask])
            m->slots[k & m->mask] = i + 1;
    }
}

/* [layer, call, tensor, …] */
static bool read_reference(const model *m, const json_node *n, reference *r)
{
    const json_node *name = json_at(n, 0);
    if (!json_is(n, JSON_ARRAY) || !json_is(name, JSON_TEXT) || n->count < 3 || !json_is(json_at(n, 1), JSON_INT))
        return false;
    *r = (reference){find_layer(m, json_decoded(name, m->owner->e->b->arena)), (int32_t)json_int(json_at(n, 1), 0),
                     (int32_t)json_int(json_at(n, 2), 0)};
    if (r->layer < 0)
        config_fail(m->owner, "a layer is read that does not exist", json_text(name));
    return true;
}

typedef struct reference_list {
    reference *items;
    int32_t count, capacity;
} reference_list;

static void add_reference(model *m, reference_list *list, reference r)
{
    if (list->count >= KERAS_MAX_INPUTS)
        config_fail(m->owner, "a layer has too many inputs", m->layers[r.layer].name);
    *(reference *)ARENA_PUSH(m->owner->e->b->arena, list) = r;
}

/* Collects all tensors in the arguments of a call, in order, with the shapes that the file states for them. */
static void collect(model *m, const json_node *n, reference_list *list, int depth)
{
    reference r;
    if (!n || depth > MAX_NESTING)
        return;
    if (read_reference(m, n, &r)) {
        add_reference(m, list, r);
        return;
    }
    const json_node *config = json_get(n, "config"), *history = json_get(config, "keras_history");
    if (history && read_reference(m, history, &r)) {
        add_reference(m, list, r);
        const layer *l = &m->layers[r.layer];
        if (r.call >= 0 && r.call < l->call_count && r.tensor == 0)
            m->calls.items[l->first_call + r.call].shape = json_get(config, "shape");
        return;
    }
    for (const json_node *x = json_first(n); x; x = x->next)
        collect(m, x, list, depth + 1);
}

static void read_call(model *m, const json_node *n, call *c)
{
    reference_list list = {0};
    if (json_is(n, JSON_OBJECT)) {
        c->arguments = json_get(n, "args");
        c->keywords = json_get(n, "kwargs");
        collect(m, c->arguments, &list, 0);
        collect(m, c->keywords, &list, 0);
    } else {
        const json_node *last = NULL, *first = json_at(n, 0);
        collect(m, n, &list, 0);
        /* Keyword arguments come after the first tensor; those of operators may be tensors too. */
        const json_node *entry = json_is(first, JSON_TEXT) ? n : first;
        last = json_at(entry, 3);
        c->keywords = json_is(last, JSON_OBJECT) ? last : NULL;
        for (const json_node *x = json_first(c->keywords); x; x = x->next)
            collect(m, x, &list, 0);
    }
    c->inputs = list.items;
    c->input_count = list.count;
}

static void read_calls(model *m, const json_node *list)
{
    arena *a = m->owner->e->b->arena;
    int32_t i = 0;
    for (const json_node *n = json_first(list); n; n = n->next, i++) {
        const json_node *inbound = json_get(n, "inbound_nodes");
        layer *l = &m->layers[i];
        l->first_call = m->calls.count;
        /* an InputLayer without inbound nodes has one call */
        l->call_count = inbound && inbound->count > 0 ? inbound->count : 1;
        for (int32_t k = 0; k < l->call_count; k++)
            *(call *)ARENA_PUSH(a, &m->calls) = (call){.layer = i, .index = k};
    }
    i = 0;
    for (const json_node *n = json_first(list); n; n = n->next, i++) {
        int32_t k = m->layers[i].first_call;
        for (const json_node *x = json_first(json_get(n, "inbound_nodes")); x; x = x->next)
            read_call(m, x, &m->calls.items[k++]);
    }
    m->stack = ARENA_ARRAY(a, int32_t, (size_t)m->calls.count + 1);
}

/* ---- inputs ---------------------------------------------------------------------------------------------------- */

/* Reads a list of sizes, in which null means unknown. */
static int read_shape(keras_call *c, const json_node *n, str name, num *dims)
{
    builder *b = c->e->b;
    int rank = 0;
    if (json_is(n, JSON_ARRAY) && json_is(json_at(n, 0), JSON_ARRAY)) /* a list with a single shape */
        n = json_at(n, 0);
    if (!json_is(n, JSON_ARRAY) || n->count > MAX_RANK)
        return RANK_UNKNOWN;
    for (const json_node *x = json_first(n); x; x = x->next, rank++) {
        dims[rank] = build_dim(b, json_int(x, -1));
        if (dims[rank] == NUM_UNKNOWN)
            dims[rank] = num_symbol(&b->source->symbols,
                                    rank == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(name), rank));
    }
    return rank;
}

static const json_node *input_shape_of(const json_node *config)
{
    const json_node *shape = json_get(config, "batch_input_shape");
    shape = shape ? shape : json_get(config, "batch_shape");
    return shape;
}

static dtype dtype_named(str name)
{
    static const struct {
        const char *name;
        dtype dtype;
    } TYPES[] = {{"float16", DT_FLOAT16}, {"float64", DT_FLOAT64}, {"int32", DT_INT32},   {"int64", DT_INT64},
                 {"uint8", DT_UINT8},     {"bool", DT_BOOL},       {"string", DT_STRING}, {"bfloat16", DT_BFLOAT16}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(name, TYPES[i].name))
            return TYPES[i].dtype;
    return DT_FLOAT32;
}

static value_id add_input(keras_call *c, str name, dtype type, int rank, const num *dims)
{
    builder *b = c->e->b;
    value_id v = build_local(b, name);
    build_type(b, v, type, rank, dims);
    build_input(b, v);
    infer_built(b->model, &c->k->done);
    return v;
}

/* Returns the input shape in the first layer of a Sequential without an input layer; RANK_UNKNOWN if there is none. */
static int first_shape(keras_call *c, const json_node *config, str class_name, num *dims)
{
    const json_node *shape = input_shape_of(config);
    if (json_is(shape, JSON_ARRAY))
        return read_shape(c, shape, c->path, dims);
    shape = json_get(config, "input_shape");
    dims[0] = num_symbol(&c->e->b->source->symbols, STR("N"));
    if (json_is(shape, JSON_ARRAY) && shape->count < MAX_RANK) {
        int rank = 1;
        for (const json_node *x = json_first(shape); x; x = x->next, rank++)
            dims[rank] = json_int(x, -1) >= 0
                             ? json_int(x, -1)
                             : num_symbol(&c->e->b->source->symbols, arena_printf(c->e->b->arena, "input[%d]", rank));
        return rank;
    }
    int64_t width = json_int(json_get(config, "input_dim"), -1),
            length = json_int(json_get(config, "input_length"), -1);
    if (str_is(class_name, "Embedding")) {
        dims[1] = length > 0 ? length : num_symbol(&c->e->b->source->symbols, STR("input[1]"));
        return 2;
    }
    if (width < 0)
        return RANK_UNKNOWN;
    if (length > 0) {
        dims[1] = length;
        dims[2] = width;
        return 3;
    }
    dims[1] = width;
    return 2;
}

/* ---- writing a call -------------------------------------------------------------------------------------------- */

static bool is_model(str class_name, const json_node *config)
{
    bool is_named = str_is(class_name, "Model") || str_is(class_name, "Functional") || str_is(class_name, "Sequential");
    return is_named || json_is(json_get(config, "layers"), JSON_ARRAY);
}

/* Applies the result shape stated in the file, for results that inference cannot know. */
static void declare(keras_call *c, const json_node *shape)
{
    builder *b = c->e->b;
    num dims[MAX_RANK];
    if (!shape || !json_is(shape, JSON_ARRAY) || shape->count > MAX_RANK)
        return;
    int rank = 0;
    for (const json_node *x = json_first(shape); x; x = x->next, rank++) {
        dims[rank] = build_dim(b, json_int(x, -1));
        if (rank == 0 && dims[rank] == NUM_UNKNOWN)
            dims[rank] = num_symbol(&b->source->symbols, STR("N"));
    }
    build_type(b, c->out, DT_UNKNOWN, rank, dims);
}

/* A value with a new name. */
static value_id new_value(keras_call *c, str name)
{
    builder *b = c->e->b;
    int32_t before = b->source->values.count;
    value_id v = build_local(b, name);
    while (b->source->values.count == before)
        v = build_local(b, arena_printf(b->arena, "%.*s#%d", STR_ARG(name), c->e->made++));
    return v;
}

/* Writes one layer or nested model. */
static void run_call(keras_call *c, str name, const json_node *shape, value_id *results)
{
    c->out = new_value(c, name);
    c->results = results;
    for (int i = 0; i < KERAS_MAX_RESULTS; i++)
        results[i] = c->out;
    declare(c, shape);
    c->e->name = name;
    if (is_model(c->class_name, c->config))
        keras_model(c);
    else
        keras_layer(c);
    infer_built(c->e->b->model, &c->k->done);
}

static void write_call(model *m, call *c)
{
    keras_call *owner = m->owner;
    const layer *l = &m->layers[c->layer];
    arena *a = owner->e->b->arena;
    value_id *in = ARENA_ARRAY(a, value_id, (size_t)c->input_count + 1);
    int in_count = 0;
    for (int32_t i = 0; i < c->input_count; i++) {
        const layer *from = &m->layers[c->inputs[i].layer];
        const call *made = &m->calls.items[from->first_call + c->inputs[i].call];
        int32_t tensor = c->inputs[i].tensor;
        in[in_count++] = made->outputs[tensor >= 0 && tensor < made->output_count ? tensor : 0];
    }
    if (++owner->k->calls > MAX_CALLS)
        fail_with(&owner->e->b->model->fail, SOOTH_ERROR_INPUT, "nested models have more than %d layers in total",
                  MAX_CALLS);
    keras_call inner = *owner;
    inner.class_name = l->class_name;
    inner.path = keras_joined(a, owner->path, l->name);
    inner.config = l->config;
    inner.arguments = c->arguments;
    inner.keywords = c->keywords;
    inner.in = in;
    inner.in_count = in_count;
    str outer = owner->e->name;
    owner->e->name = inner.path;
    c->outputs = ARENA_ARRAY(a, value_id, KERAS_MAX_RESULTS);
    c->output_count = KERAS_MAX_RESULTS;
    run_call(&inner, inner.path, c->shape, c->outputs);
    owner->e->name = outer;
    c->is_done = true;
}

static void write_needed(model *m, int32_t root)
{
    int32_t depth = 0;
    if (m->calls.items[root].is_done)
        return;
    m->stack[depth++] = root;
    while (depth > 0) {
        call *c = &m->calls.items[m->stack[depth - 1]];
        int32_t next = -1;
        c->is_open = true;
        for (int32_t i = 0; i < c->input_count && next < 0; i++) {
            const layer *from = &m->layers[c->inputs[i].layer];
            if (c->inputs[i].call < 0 || c->inputs[i].call >= from->call_count)
                c->inputs[i].call = 0;
            int32_t needed = from->first_call + c->inputs[i].call;
            if (!m->calls.items[needed].is_done)
                next = needed;
        }
        if (next < 0) {
            write_call(m, c);
            c = &m->calls.items[m->stack[--depth]];
            c->is_open = false;
            continue;
        }
        if (m->calls.items[next].is_open)
            config_fail(m->owner, "the layers depend on one another in a cycle",
                        m->layers[m->calls.items[next].layer].name);
        m->stack[depth++] = next;
    }
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

static void bind_input_layer(model *m, reference r, int place)
{
    keras_call *owner = m->owner;
    arena *a = owner->e->b->arena;
    const layer *l = &m->layers[r.layer];
    call *c = &m->calls.items[l->first_call];
    if (c->is_done)
        return;
    num dims[MAX_RANK];
    c->outputs = ARENA_ARRAY(a, value_id, 1);
    c->output_count = 1;
    c->is_done = true;
    if (place < owner->in_count) {
        c->outputs[0] = owner->in[place];
        return;
    }
    str name = keras_joined(a, owner->path, l->name);
    int rank = read_shape(owner, input_shape_of(l->config), name, dims);
    c->outputs[0] = add_input(owner, name, dtype_named(json_text(json_get(l->config, "dtype"))), rank, dims);
}

static void finish(keras_call *c, const value_id *outputs, int count)
{
    if (count == 0)
        config_fail(c, "a model has no output", c->path);
    if (c->out == NO_VALUE) { /* the network itself has no call */
        for (int i = 0; i < count; i++)
            build_output(c->e->b, outputs[i]);
        return;
    }
    c->e->name = c->path;
    emit_1(c->e, "Identity", outputs[0], c->out);
    for (int i = 1; i < count && i < KERAS_MAX_RESULTS; i++)
        c->results[i] = outputs[i];
}

/* Calls of a layer are numbered from its creation, and creating a nested model counts as a call. If the numbers do
 * not start at 0, the first one that is used counts as 0. */
static void count_from_first(model *m, reference_list *outputs)
{
    int32_t *first = ARENA_ARRAY(m->owner->e->b->arena, int32_t, (size_t)m->layer_count + 1);
    for (int32_t i = 0; i < m->layer_count; i++)
        first[i] = INT32_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i <= m->calls.count; i++) {
            reference *items = i < m->calls.count ? m->calls.items[i].inputs : outputs->items;
            int32_t count = i < m->calls.count ? m->calls.items[i].input_count : outputs->count;
            for (int32_t k = 0; k < count; k++) {
                int32_t *least = &first[items[k].layer];
                if (pass == 0)
                    *least = items[k].call >= 0 && items[k].call < *least ? items[k].call : *least;
                else if (*least != INT32_MAX && items[k].call >= *least)
                    items[k].call -= *least;
            }
        }
    }
}

static void functional(keras_call *c, const json_node *layers)
{
    model m = {.owner = c};
    reference_list inputs = {0}, outputs = {0};
    read_layers(&m, layers);
    read_calls(&m, layers);
    /* Accepts a single reference, a list, or an object of references. */
    collect(&m, json_get(c->config, "input_layers"), &inputs, 0);
    collect(&m, json_get(c->config, "output_layers"), &outputs, 0);
    count_from_first(&m, &outputs);
    for (int32_t i = 0; i < inputs.count; i++)
        bind_input_layer(&m, inputs.items[i], i);
    for (int32_t i = 0; i < m.layer_count; i++) /* some files do not list all outputs */
        if (str_is(m.layers[i].class_name, "InputLayer"))
            bind_input_layer(&m, (reference){i, 0, 0}, KERAS_MAX_INPUTS);
    value_id *results = ARENA_ARRAY(c->e->b->arena, value_id, (size_t)outputs.count + 1);
    for (int32_t i = 0; i < outputs.count; i++) {
        const layer *l = &m.layers[outputs.items[i].layer];
        int32_t place = outputs.items[i].call, tensor = outputs.items[i].tensor;
        place = l->first_call + (place >= 0 && place < l->call_count ? place : 0);
        write_needed(&m, place);
        const call *made = &m.calls.items[place];
        results[i] = made->outputs[tensor >= 0 && tensor < made->output_count ? tensor : 0];
    }
    finish(c, results, outputs.count);
}

/* In Keras 1 the first layer of a Sequential may join several branches. */
static value_id merged_branches(keras_call *c, const json_node *config)
{
    value_id in[KERAS_MAX_INPUTS];
    int count = 0;
    for (const json_node *n = json_first(json_get(config, "layers")); n && count < KERAS_MAX_INPUTS; n = n->next) {
        keras_call branch = *c;
        value_id results[KERAS_MAX_RESULTS];
        branch.class_name = json_text(json_get(n, "class_name"));
        branch.config = json_get(n, "config");
        branch.path = keras_joined(c->e->b->arena, c->path, arena_printf(c->e->b->arena, "branch_%d", count));
        branch.in_count = 0;
        run_call(&branch, branch.path, NULL, results);
        in[count++] = results[0];
    }
    keras_call merge = *c;
    value_id results[KERAS_MAX_RESULTS];
    merge.class_name = STR("Merge");
    merge.config = config;
    merge.in = in;
    merge.in_count = count;
    run_call(&merge, keras_joined(c->e->b->arena, c->path, STR("merge")), NULL, results);
    return results[0];
}

static void sequential(keras_call *c, const json_node *layers)
{
    arena *a = c->e->b->arena;
    model m = {.owner = c};
    num dims[MAX_RANK];
    read_layers(&m, layers);
    value_id x = c->in_count ? c->in[0] : NO_VALUE;
    for (int32_t i = 0; i < m.layer_count; i++) {
        const layer *l = &m.layers[i];
        str name = keras_joined(a, c->path, l->name);
        bool is_input = str_is(l->class_name, "InputLayer");
        if (x == NO_VALUE && str_is(l->class_name, "Merge") && json_get(l->config, "layers")) {
            x = merged_branches(c, l->config);
            continue;
        }
        if (x == NO_VALUE && !(is_model(l->class_name, l->config) && !is_input)) {
            const json_node *wrapped = json_get(json_get(l->config, "layer"), "config");
            int rank = first_shape(c, l->config, l->class_name, dims);
            if (rank == RANK_UNKNOWN && wrapped)
                rank = first_shape(c, wrapped, json_text(json_get(json_get(l->config, "layer"), "class_name")), dims);
            str input = is_input ? name : keras_joined(a, c->path, STR("input"));
            x = add_input(c, input, dtype_named(json_text(json_get(l->config, "dtype"))), rank, dims);
        }
        if (is_input)
            continue;
        keras_call inner = *c;
        value_id *results = ARENA_ARRAY(a, value_id, KERAS_MAX_RESULTS);
        if (++c->k->calls > MAX_CALLS)
            fail_with(&c->e->b->model->fail, SOOTH_ERROR_INPUT, "nested models have more than %d layers in total",
                      MAX_CALLS);
        inner.class_name = l->class_name;
        inner.path = name;
        inner.config = l->config;
        inner.arguments = inner.keywords = NULL;
        inner.in = &x;
        inner.in_count = x == NO_VALUE ? 0 : 1;
        run_call(&inner, name, NULL, results);
        x = results[0];
    }
    finish(c, &x, x == NO_VALUE ? 0 : 1);
}

void keras_model(keras_call *c)
{
    const json_node *layers = json_is(c->config, JSON_ARRAY) ? c->config : json_get(c->config, "layers");
    if (++c->k->depth > MAX_NESTING)
        config_fail(c, "models are nested too deeply", c->path);
    if (!json_is(layers, JSON_ARRAY)) {
        if (c->out == NO_VALUE)
            fail_with(
                &c->e->b->model->fail, SOOTH_ERROR_UNSUPPORTED,
                "the model is of class '%.*s', whose layers are in its Python code and not in the file; save it with "
                "model.export() and give the SavedModel",
                STR_ARG(c->class_name));
        keras_foreign(c);
    } else if (str_is(c->class_name, "Sequential") || !json_get(c->config, "output_layers")) {
        sequential(c, layers);
    } else {
        functional(c, layers);
    }
    c->k->depth--;
}

void keras_read_config(builder *b, const json_node *config, const char *format, str version)
{
    keras k = {0};
    emit_begin(&k.e, b, format);
    if (!version.len)
        version = json_text(json_get(config, "keras_version"));
    if (version.len)
        b->source->producer = arena_printf(b->arena, "keras %.*s", STR_ARG(version));
    k.is_first_version = str_starts(version, "1.");
    build_open(b, &b->source->main, false);
    b->source->main.name = arena_str(b->arena, json_text(json_get(json_get(config, "config"), "name")));
    keras_call c = {.k = &k,
                    .e = &k.e,
                    .class_name = json_text(json_get(config, "class_name")),
                    .path = STR(""),
                    .config = json_get(config, "config"),
                    .out = NO_VALUE};
    if (!c.class_name.len || !c.config)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the configuration has no class and no config of a model");
    keras_model(&c);
    build_close(b);
    infer_forget(b->model);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static bool is_config(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    bool is_json = i < size && (bytes[i] == '{' || bytes[i] == '"');
    str head = {(const char *)bytes, size < 65536 ? size : 65536};
    return is_json && str_contains(head, "class_name") && str_contains(head, "config");
}

static bool is_keras_archive(const uint8_t *bytes, size_t size)
{
    /* The directory is at the end; its names are not compressed. */
    size_t length = size < 65536 ? size : 65536;
    str tail = {(const char *)bytes + size - length, length};
    return zip_sniff(bytes, size) && str_contains(tail, "config.json") && str_contains(tail, "metadata.json");
}

bool keras_sniff(const uint8_t *bytes, size_t size)
{
    return hdf5_sniff(bytes, size) || is_keras_archive(bytes, size) || is_config(bytes, size);
}

/* A file that has only weights: their shapes, but no network. */
typedef struct weight_list {
    emitter e;
    int32_t count;
} weight_list;

static void add_weight(void *context, const hdf5_dataset *d)
{
    weight_list *w = context;
    dtype type = d->element_class == 1   ? (d->element_bytes == 2   ? DT_FLOAT16
                                            : d->element_bytes == 8 ? DT_FLOAT64
                                                                    : DT_FLOAT32)
                 : d->element_class == 0 ? (d->element_bytes == 8 ? DT_INT64 : DT_INT32)
                                         : DT_UNKNOWN;
    if (type == DT_UNKNOWN || d->path.len < 2)
        return;
    emit_listed(&w->e, (str){d->path.ptr + 1, d->path.len - 1}, type, d->rank, d->dims, 0);
    w->count++;
}

static void read_weights(builder *b, hdf5 *h)
{
    weight_list w = {0};
    emit_begin(&w.e, b, "keras-weights");
    build_open(b, &b->source->main, false);
    hdf5_datasets(h, add_weight, &w);
    if (w.count == 0)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "the HDF5 file has neither model_config nor weights; save the whole model with model.save(...)");
    *(str *)ARENA_PUSH(b->arena, &b->source->notes) =
        STR("the file has weights but no network: only their number is known; save the whole model with model.save()");
    build_close(b);
}

/* Some writers store the configuration as a string inside JSON. */
static const json_node *parse(builder *b, str text, const char *subject)
{
    const json_node *n = json_read(text, subject, b->arena, &b->model->fail);
    return json_is(n, JSON_TEXT) ? json_read(json_decoded(n, b->arena), subject, b->arena, &b->model->fail) : n;
}

void keras_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    str version = {0};
    if (hdf5_sniff(bytes, size)) {
        hdf5 h;
        str config;
        hdf5_open(&h, bytes, size, b->arena, f);
        if (h.end > size)
            *(str *)ARENA_PUSH(b->arena, &b->source->notes) =
                arena_printf(b->arena, "the file is cut off: it has %llu bytes of %llu; the missing part is not needed",
                             (unsigned long long)size, (unsigned long long)h.end);
        if (!hdf5_root_text(&h, "model_config", &config)) {
            read_weights(b, &h);
            return;
        }
        hdf5_root_text(&h, "keras_version", &version);
        keras_read_config(b, parse(b, config, "model_config"), "keras-h5", version);
    } else if (zip_sniff(bytes, size)) {
        zip z;
        zip_open(&z, bytes, size, b->arena, f);
        const zip_entry *config = zip_find(&z, STR("config.json")), *metadata = zip_find(&z, STR("metadata.json"));
        if (!config)
            fail_with(f, SOOTH_ERROR_INPUT, "the archive has no config.json; save the model again with Keras");
        if (metadata)
            version = json_text(
                json_get(parse(b, zip_read(&z, metadata, MAX_CONFIG_BYTES), "metadata.json"), "keras_version"));
        keras_read_config(b, parse(b, zip_read(&z, config, MAX_CONFIG_BYTES), "config.json"), "keras", version);
    } else {
        keras_read_config(b, parse(b, (str){(const char *)bytes, size}, "the file"), "keras-json", version);
    }
}
