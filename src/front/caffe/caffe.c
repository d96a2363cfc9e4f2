/* caffe.c: reads Caffe networks in protobuf's text form (.prototxt): NetParameter. Layers are in caffe_layers.c.
 *
 *   name: "net"
 *   input: "data"  input_shape { dim: 1 dim: 3 … }, or input_dim: four numbers for each input
 *   layer { name type bottom… top… include { phase: TEST } <type>_param { … } }        since 2014
 *   layers { the same, with type: CONVOLUTION }                                        before
 *
 * Blobs are found by name; a layer may overwrite its input. Only layers of the phase TEST are read. The weights file
 * is not needed. Data layers are inputs; most do not state their size: then images of 3 x 224 x 224 are assumed,
 * with a note. */
#include "front/caffe/caffe.h"
#include "base/names.h"
#include "front/front.h"

enum { MAX_LAYERS = 200000, DEFAULT_SIZE = 224 };

void caffe_fail(fail *f, str layer, const char *what)
{
    fail_with(f, SOOTH_ERROR_INPUT, "%s, at layer '%.*s'; correct the network", what, STR_ARG(layer));
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

bool caffe_is_type(str type, const char *name)
{
    size_t i = 0;
    for (; *name; name++, i++) {
        while (i < type.len && type.ptr[i] == '_')
            i++;
        if (i >= type.len || folded(type.ptr[i]) != folded(*name))
            return false;
    }
    return i == type.len;
}

/* ---- sniffing ---------------------------------------------------------------------------------------------------- */

/* True if s begins with this field, including its separator. */
static bool starts_field(str s, const char *name)
{
    size_t at = strlen(name);
    if (!str_starts(s, name))
        return false;
    while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t' || s.ptr[at] == '\r' || s.ptr[at] == '\n'))
        at++;
    return at < s.len && (s.ptr[at] == ':' || s.ptr[at] == '{');
}

/* True if the text has a field of a network, and a layer in its first part. */
bool caffe_sniff(const uint8_t *bytes, size_t size)
{
    str head = {(const char *)bytes, size < 65536 ? size : 65536};
    bool at_line = true, has_field = false;
    for (size_t i = 0; i < head.len; i++) {
        str rest = {head.ptr + i, head.len - i};
        char c = head.ptr[i];
        if (c == '\0')
            return false;
        if (at_line && c == '#') {
            while (i + 1 < head.len && head.ptr[i] != '\n')
                i++;
            continue;
        }
        if (at_line && (starts_field(rest, "layer") || starts_field(rest, "layers")))
            return true;
        if (at_line && !has_field && c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            has_field = (c >= 'a' && c <= 'z') || c == '_';
            if (!has_field)
                return false;
        }
        at_line = c == '\n' || (at_line && (c == ' ' || c == '\t'));
    }
    return false;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* True if the rule applies to the phase TEST, at level 0 and without a stage. */
static bool holds(const proto_node *rule)
{
    str phase = proto_string(rule, "phase");
    if (phase.len && !str_is(phase, "TEST") && !str_is(phase, "1"))
        return false;
    return proto_int(rule, "min_level", 0) <= 0 && proto_int(rule, "max_level", 0) >= 0 && !proto_first(rule, "stage");
}

static bool runs(const proto_node *layer)
{
    const proto_node *include = proto_first(layer, "include");
    for (const proto_node *rule = proto_first(layer, "exclude"); rule; rule = proto_next(rule))
        if (holds(rule))
            return false;
    if (!include)
        return true;
    for (; include; include = proto_next(include))
        if (holds(include))
            return true;
    return false;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

typedef struct reader {
    builder *b;
    caffe *c;
    names blobs;    /* for each name, the blob that was written last */
    names written;  /* all names that some layer writes */
    bool has_image; /* an input of unknown size was assumed to be an image */
} reader;

static int32_t add_blob(reader *r, str name)
{
    caffe_blob *blob = ARENA_PUSH(r->b->arena, &r->c->blobs);
    *blob = (caffe_blob){.name = name, .last_reader = -1, .value = NO_VALUE};
    names_put(&r->blobs, name, r->c->blobs.count - 1);
    return r->c->blobs.count - 1;
}

static void add_input(reader *r, str name, int rank, const num *dims)
{
    if (name.len == 0)
        caffe_fail(r->c->fail, name, "an input has no name");
    int32_t index = add_blob(r, name);
    str unique = name;
    for (int copy = 2; build_at(r->b, build_local(r->b, unique))->is_declared; copy++)
        unique = arena_printf(r->b->arena, "%.*s#%d", STR_ARG(name), copy);
    r->c->blobs.items[index].value = grow_input(r->b, unique, DT_FLOAT32, rank, dims);
    r->c->blobs.items[index].is_input = true;
}

static void check_dims(const reader *r, str name, const int64_t *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || dims[i] > CAFFE_MAX_SIZE)
            fail_with(r->c->fail, SOOTH_ERROR_INPUT, "dimension %d of input '%.*s' is %lld; correct the network", i,
                      STR_ARG(name), (long long)dims[i]);
}

/* Adds an input without a shape; the first one is assumed to be an image. */
static void add_unknown_input(reader *r, str name, int64_t batch, int64_t height, int64_t width)
{
    batch = batch > 0 && batch <= CAFFE_MAX_SIZE ? batch : 1;
    bool is_image = str_starts(name, "data") || str_starts(name, "image") || str_starts(name, "img");
    if (str_contains(name, "label")) {
        add_input(r, name, 1, (const num[]){batch});
    } else if (str_is(name, "im_info")) {
        add_input(r, name, 2, (const num[]){1, 3});
    } else if (is_image || !r->has_image) {
        r->has_image = true;
        if (height <= 0 || width <= 0 || height > CAFFE_MAX_SIZE || width > CAFFE_MAX_SIZE) {
            height = width = DEFAULT_SIZE;
            *(str *)ARENA_PUSH(r->b->arena, &r->b->source->notes) =
                arena_printf(r->b->arena,
                             "the file does not have the size of input '%.*s': images of 3 x %d x %d are assumed; give "
                             "--shape '%.*s=%lld,CHANNELS,HEIGHT,WIDTH'",
                             STR_ARG(name), DEFAULT_SIZE, DEFAULT_SIZE, STR_ARG(name), (long long)batch);
        }
        add_input(r, name, 4, (const num[]){batch, 3, height, width});
    } else {
        add_input(r, name, RANK_UNKNOWN, NULL);
    }
}

/* Reads the inputs, each with input_shape or four input_dim. */
static void read_inputs(reader *r, const proto_node *net)
{
    const proto_node *shape = proto_first(net, "input_shape"), *dim = proto_first(net, "input_dim");
    for (const proto_node *n = proto_first(net, "input"); n; n = proto_next(n)) {
        int64_t dims[MAX_RANK];
        int rank = 0;
        if (shape) {
            rank = proto_ints(shape, "dim", dims, MAX_RANK);
            shape = proto_next(shape);
        } else {
            for (; dim && rank < 4; dim = proto_next(dim))
                dims[rank++] = proto_text_int(dim->text);
        }
        check_dims(r, n->text, dims, rank);
        if (rank)
            add_input(r, n->text, rank, dims);
        else
            add_unknown_input(r, n->text, 1, 0, 0);
    }
}

/* Reads an input or data layer; returns false for other layers. */
static bool read_data_layer(reader *r, const proto_node *layer, str type)
{
    static const char *const KINDS[] = {"Data",         "ImageData",      "HDF5Data",      "WindowData",
                                        "ImageSegData", "DenseImageData", "AnnotatedData", "LMDB"};
    static const char *const PARAMETERS[] = {"data_param", "image_data_param", "hdf5_data_param", "window_data_param"};
    const proto_node *top = proto_first(layer, "top"), *shape = NULL;
    int64_t dims[MAX_RANK], batch = 0, crop = 0, height = 0, width = 0;
    bool is_shaped = caffe_is_type(type, "Input") || caffe_is_type(type, "DummyData"), is_data = false;
    const proto_node *memory = proto_first(layer, "memory_data_param");
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        is_data |= caffe_is_type(type, KINDS[i]);
    is_data |= !proto_first(layer, "bottom") && top && (caffe_is_type(type, "Python") || str_ends(type, "Data"));
    if (is_shaped) {
        const proto_node *parameters = proto_first(layer, "input_param");
        if (!parameters)
            parameters = proto_first(layer, "dummy_data_param");
        shape = proto_first(parameters, "shape");
        for (; top; top = proto_next(top)) {
            int rank = proto_ints(shape, "dim", dims, MAX_RANK);
            if (!shape && proto_first(parameters, "num")) {
                static const char *const NAMES[] = {"num", "channels", "height", "width"};
                for (rank = 0; rank < 4; rank++)
                    dims[rank] = proto_int(parameters, NAMES[rank], 1);
            }
            check_dims(r, top->text, dims, rank);
            if (rank)
                add_input(r, top->text, rank, dims);
            else
                add_unknown_input(r, top->text, 1, 0, 0);
            if (shape && proto_next(shape)) /* a single shape applies to all inputs */
                shape = proto_next(shape);
        }
        return true;
    }
    if (caffe_is_type(type, "MemoryData") && memory && top) {
        static const char *const NAMES[] = {"batch_size", "channels", "height", "width"};
        for (int i = 0; i < 4; i++)
            dims[i] = proto_int(memory, NAMES[i], 1);
        check_dims(r, top->text, dims, 4);
        add_input(r, top->text, 4, dims);
        for (top = proto_next(top); top; top = proto_next(top))
            add_input(r, top->text, 1, dims);
        return true;
    }
    if (!is_data)
        return false;
    for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
        const proto_node *parameters = proto_first(layer, PARAMETERS[i]);
        batch = proto_int(parameters, "batch_size", batch);
        crop = proto_int(parameters, "crop_size", crop);
        height = proto_int(parameters, "new_height", height);
        width = proto_int(parameters, "new_width", width);
    }
    crop = proto_int(proto_first(layer, "transform_param"), "crop_size", crop);
    for (; top; top = proto_next(top))
        add_unknown_input(r, top->text, batch, crop ? crop : height, crop ? crop : width);
    return true;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static int count_of(const proto_node *layer, const char *name)
{
    int count = 0;
    for (const proto_node *n = proto_first(layer, name); n; n = proto_next(n))
        count++;
    return count;
}

static void read_layer(reader *r, const proto_node *node, str type)
{
    arena *a = r->b->arena;
    int32_t index = r->c->layers.count;
    caffe_layer l = {.name = proto_string(node, "name"), .type = type, .node = node};
    if (l.name.len == 0)
        l.name = arena_printf(a, "%.*s_%d", STR_ARG(type), index);
    l.in_count = count_of(node, "bottom");
    l.out_count = count_of(node, "top");
    if (l.in_count > CAFFE_MAX_INPUTS || l.out_count > CAFFE_MAX_INPUTS)
        caffe_fail(r->c->fail, l.name, "a layer has more than 1024 blobs");
    l.in = ARENA_ARRAY(a, int32_t, (size_t)l.in_count);
    l.out = ARENA_ARRAY(a, int32_t, (size_t)l.out_count);
    int i = 0;
    for (const proto_node *n = proto_first(node, "bottom"); n; n = proto_next(n), i++) {
        l.in[i] = names_get(&r->blobs, n->text, -1);
        if (l.in[i] < 0) {
            if (names_get(&r->written, n->text, 0))
                caffe_fail(r->c->fail, l.name, "a blob is read before it is written: layers must not form a cycle");
            add_unknown_input(r, n->text, 1, 0, 0);
            l.in[i] = names_get(&r->blobs, n->text, -1);
        }
        caffe_blob *blob = &r->c->blobs.items[l.in[i]];
        blob->readers++;
        blob->last_reader = index;
    }
    i = 0;
    for (const proto_node *n = proto_first(node, "top"); n; n = proto_next(n), i++)
        l.out[i] = add_blob(r, n->text);
    *(caffe_layer *)ARENA_PUSH(a, &r->c->layers) = l;
}

static bool is_layer(const proto_node *n)
{
    return n->is_message && (str_is(n->name, "layer") || str_is(n->name, "layers"));
}

static void read_layers(reader *r, const proto_node *net)
{
    int32_t count = 0;
    for (const proto_node *n = net->first; n; n = n->next) /* first finds all names that are written */
        if (is_layer(n) && runs(n)) {
            if (++count > MAX_LAYERS)
                fail_with(r->c->fail, SOOTH_ERROR_INPUT, "more than %d layers; no real network has them", MAX_LAYERS);
            for (const proto_node *top = proto_first(n, "top"); top; top = proto_next(top))
                names_put(&r->written, top->text, 1);
        }
    for (const proto_node *n = net->first; n; n = n->next) {
        if (!is_layer(n) || !runs(n))
            continue;
        const proto_node *old = proto_first(n, "layer"); /* name of the field in the oldest files */
        str type = proto_string(n, "type");
        if (old || type.len == 0)
            fail_with(r->c->fail, SOOTH_ERROR_UNSUPPORTED,
                      "layer '%.*s' has no type; bring the file up to date with Caffe's upgrade_net_proto_text",
                      STR_ARG(proto_string(n, "name")));
        if (!read_data_layer(r, n, type))
            read_layer(r, n, type);
    }
}

/* Caffe's BatchNorm only normalizes; the following Scale has the weights. Together they are a usual batch norm. */
static void merge_scales(caffe *c)
{
    for (int32_t i = 0; i < c->layers.count; i++) {
        caffe_layer *l = &c->layers.items[i];
        if (!caffe_is_type(l->type, "BatchNorm") || l->in_count != 1 || l->out_count != 1)
            continue;
        const caffe_blob *blob = &c->blobs.items[l->out[0]];
        caffe_layer *next = blob->readers == 1 ? &c->layers.items[blob->last_reader] : NULL;
        const proto_node *scale = next ? proto_first(next->node, "scale_param") : NULL;
        if (next && caffe_is_type(next->type, "Scale") && next->in_count == 1 && next->out_count == 1 &&
            proto_int(scale, "axis", 1) == 1 && proto_int(scale, "num_axes", 1) == 1) {
            l->scale = next;
            next->is_merged = true;
        }
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_network(grower *g, void *program)
{
    caffe *c = program;
    for (int32_t i = 0; i < c->layers.count; i++) {
        const caffe_layer *l = &c->layers.items[i];
        value_id in[CAFFE_MAX_INPUTS], outs[CAFFE_MAX_INPUTS];
        if (l->is_merged)
            continue;
        g->e.name = l->name;
        g->owner = proto_string(proto_first(l->node, "param"), "name"); /* Layers that share weights name them. */
        const caffe_layer *last = l->scale ? l->scale : l;
        for (int k = 0; k < l->in_count; k++)
            in[k] = c->blobs.items[l->in[k]].value;
        for (int k = 0; k < last->out_count; k++) {
            caffe_blob *blob = &c->blobs.items[last->out[k]];
            outs[k] = blob->value = grow_value(g, blob->name);
        }
        caffe_write(&(caffe_call){.g = g,
                                  .e = &g->e,
                                  .layer = l,
                                  .x = l->in_count ? in[0] : NO_VALUE,
                                  .out = last->out_count ? outs[0] : NO_VALUE,
                                  .in = in,
                                  .outs = outs,
                                  .in_count = l->in_count,
                                  .out_count = last->out_count});
    }
    for (int32_t i = 0; i < c->layers.count; i++) {
        const caffe_layer *l = &c->layers.items[i];
        for (int k = 0; k < l->out_count && !l->scale; k++)
            if (c->blobs.items[l->out[k]].readers == 0)
                grow_output(g, c->blobs.items[l->out[k]].value);
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void caffe_read(builder *b, const uint8_t *bytes, size_t size)
{
    reader r = {.b = b, .c = ARENA_NEW(b->arena, caffe)};
    r.c->fail = &b->model->fail;
    proto_text text = proto_text_of((str){(const char *)bytes, size}, "Caffe network", b->arena, r.c->fail);
    const proto_node *net = proto_text_tree(&text), *inner = proto_first(net, "net_param");
    if (inner && inner->is_message) /* a solver file that contains the network */
        net = inner;
    names_init(&r.blobs, b->arena);
    names_init(&r.written, b->arena);
    grow_begin(b, "caffe");
    b->source->main.name = arena_str(b->arena, proto_string(net, "name"));
    read_inputs(&r, net);
    read_layers(&r, net);
    if (r.c->layers.count == 0)
        fail_with(r.c->fail, SOOTH_ERROR_INPUT,
                  "the network has no layer that runs in the phase TEST; give the file with the layers");
    merge_scales(r.c);
    grow_layers(b, write_network, r.c);
}
