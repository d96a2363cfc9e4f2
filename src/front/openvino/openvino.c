/* openvino.c: reads OpenVINO's intermediate representation (.xml): layers with ports, and edges between them.
 *
 *   <net name version> <layers> <layer id name type version>
 *       <data attribute="…"/> <input><port id><dim/>…</port></input> <output><port id precision><dim/>…</port></output>
 *   </layer> … </layers> <edges><edge from-layer from-port to-layer to-port/></edges></net>
 *
 * Weights are in a .bin with the same base name; a Const has offset and size there. Only small constants for shapes
 * and axes are read from it. Without the .bin the declared ports are used. Before version 10 layers have weights in
 * <blobs>, whose shapes follow from their attributes. */
#include "front/openvino/openvino.h"
#include "front/front.h"

#include "base/file.h"
#include "base/names.h"
#include "base/xml.h"

typedef struct net {
    emitter *e;
    bool is_old;
    const file_map *weights; /* NULL: no .bin */
    names outputs;           /* "layer:port" → value */
    names sources;           /* "layer:port" of an input → value */
    names read;              /* "layer:port" where an edge begins */
    names layers;            /* id → 1, to detect duplicates */
    names bound;             /* id of a body's Parameter → outer value */
} net;

/* ---- names and types ------------------------------------------------------------------------------------------- */

static str port_key(const net *n, str layer, str port)
{
    return arena_printf(n->e->b->arena, "%.*s:%.*s", STR_ARG(layer), STR_ARG(port));
}

dtype openvino_type(str name)
{
    static const struct {
        const char *name;
        dtype type;
    } TYPES[] = {
        {"f32", DT_FLOAT32},       {"FP32", DT_FLOAT32},
        {"f16", DT_FLOAT16},       {"FP16", DT_FLOAT16},
        {"i64", DT_INT64},         {"I64", DT_INT64},
        {"i32", DT_INT32},         {"I32", DT_INT32},
        {"u8", DT_UINT8},          {"U8", DT_UINT8},
        {"i8", DT_INT8},           {"I8", DT_INT8},
        {"boolean", DT_BOOL},      {"BOOL", DT_BOOL},
        {"bf16", DT_BFLOAT16},     {"BF16", DT_BFLOAT16},
        {"f64", DT_FLOAT64},       {"FP64", DT_FLOAT64},
        {"i16", DT_INT16},         {"I16", DT_INT16},
        {"u16", DT_UINT16},        {"U16", DT_UINT16},
        {"u32", DT_UINT32},        {"U32", DT_UINT32},
        {"u64", DT_UINT64},        {"U64", DT_UINT64},
        {"i4", DT_INT4},           {"I4", DT_INT4},
        {"u4", DT_UINT4},          {"U4", DT_UINT4},
        {"u2", DT_UINT2},          {"string", DT_STRING},
        {"STRING", DT_STRING},     {"f8e4m3", DT_FLOAT8E4M3FN},
        {"f8e5m2", DT_FLOAT8E5M2}, {"f8e8m0", DT_FLOAT8E8M0},
        {"f4e2m1", DT_FLOAT4E2M1}, {"nf4", DT_UINT4},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(name, TYPES[i].name))
            return TYPES[i].type;
    return DT_UNKNOWN;
}

static bool text_number(net *n, str text, int64_t *number)
{
    named_attr a = {.name = STR("v"), .kind = NAMED_TEXT, .text = text};
    named_op o = {.attrs = &a, .attr_count = 1};
    return named_ints(n->e, &o, "v", number, 1) == 1;
}

static int port_dims(net *n, const xml_node *port, num *dims)
{
    int rank = 0;
    for (const xml_node *d = xml_first(port); d; d = d->next) {
        int64_t dim;
        if (!str_is(d->name, "dim"))
            continue;
        if (rank == MAX_RANK)
            fail_with(&n->e->b->model->fail, SOOTH_ERROR_INPUT,
                      "a port has more than %d dimensions; write the model again", MAX_RANK);
        dims[rank++] = text_number(n, d->text, &dim) ? build_dim(n->e->b, dim) : NUM_UNKNOWN;
    }
    return rank;
}

int openvino_dims(emitter *e, value_id v, int64_t *to)
{
    const value *d = named_declared(e, v);
    for (int i = 0; i < d->rank; i++) {
        if (!dim_known(d->dims[i]))
            return -1;
        to[i] = d->dims[i];
    }
    return d->rank;
}

int openvino_target(emitter *e, value_id v, int64_t *to)
{
    const value *d = named_declared(e, v);
    int open = 0;
    for (int i = 0; i < d->rank; i++) {
        open += !dim_known(d->dims[i]);
        to[i] = dim_known(d->dims[i]) ? d->dims[i] : -1;
    }
    return open > 1 ? -1 : d->rank;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static value_id fresh(net *n, str name)
{
    builder *b = n->e->b;
    int32_t before = b->source->values.count;
    if (name.len == 0)
        name = STR("layer");
    value_id v = build_local(b, name);
    for (int copy = 2; b->source->values.count == before; copy++)
        v = build_local(b, arena_printf(b->arena, "%.*s#%d.%d", STR_ARG(name), before, copy));
    return v;
}

static void declare_outputs(net *n, const xml_node *layer)
{
    builder *b = n->e->b;
    str id = xml_attr_of(layer, "id"), name = xml_attr_of(layer, "name");
    int place = 0;
    if (id.len == 0 || names_get(&n->layers, id, 0))
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "two layers have the id '%.*s', or none; write the model again",
                  STR_ARG(id));
    names_put(&n->layers, id, 1);
    for (const xml_node *port = xml_first(xml_get(layer, "output")); port; port = port->next, place++) {
        num dims[MAX_RANK];
        str key = port_key(n, id, xml_attr_of(port, "id"));
        /* outputs that are often unused, such as indices of maxima or last states */
        if (place > 0 && !names_get(&n->read, key, 0))
            continue;
        str precision = xml_attr_of(port, "precision");
        value_id v = names_get(&n->bound, id, NO_VALUE);
        if (v == NO_VALUE) {
            int rank = port_dims(n, port, dims);
            v = fresh(n, place == 0 ? name : arena_printf(b->arena, "%.*s.%d", STR_ARG(name), place));
            build_type(b, v, openvino_type(precision.len ? precision : xml_attr_of(layer, "precision")), rank, dims);
        }
        names_put(&n->outputs, key, v);
    }
}

static void read_edges(net *n, const xml_node *edges)
{
    for (const xml_node *edge = xml_first(edges); edge; edge = edge->next) {
        str from = port_key(n, xml_attr_of(edge, "from-layer"), xml_attr_of(edge, "from-port"));
        value_id v = names_get(&n->outputs, from, NO_VALUE);
        if (v == NO_VALUE)
            fail_with(&n->e->b->model->fail, SOOTH_ERROR_INPUT,
                      "an edge begins at port '%.*s', which does not exist; write the model again", STR_ARG(from));
        names_put(&n->sources, port_key(n, xml_attr_of(edge, "to-layer"), xml_attr_of(edge, "to-port")), v);
    }
}

/* ---- layers ---------------------------------------------------------------------------------------------------- */

static void read_operands(net *n, const xml_node *layer, named_op *o)
{
    arena *a = n->e->b->arena;
    str id = xml_attr_of(layer, "id");
    const xml_node *ports[2] = {xml_get(layer, "input"), xml_get(layer, "output")};
    for (int side = 0; side < 2; side++) {
        const names *from = side == 0 ? &n->sources : &n->outputs;
        int32_t count = 0;
        for (const xml_node *port = xml_first(ports[side]); port; port = port->next)
            count++;
        if (count > INT16_MAX)
            fail_with(&n->e->b->model->fail, SOOTH_ERROR_INPUT, "layer '%.*s' has more than %d ports",
                      STR_ARG(xml_attr_of(layer, "name")), INT16_MAX);
        named_slot *slots = ARENA_ARRAY(a, named_slot, (size_t)count + 1);
        value_id *ids = ARENA_ARRAY(a, value_id, (size_t)count + 1);
        int32_t i = 0;
        for (const xml_node *port = xml_first(ports[side]); port; port = port->next, i++) {
            ids[i] = names_get(from, port_key(n, id, xml_attr_of(port, "id")), NO_VALUE);
            slots[i] = (named_slot){.ids = &ids[i], .count = 1};
        }
        if (side == 0) {
            o->in = slots;
            o->in_count = count;
        } else {
            o->out = slots;
            o->out_count = count;
        }
    }
}

static void read_attrs(net *n, const xml_node *layer, named_op *o)
{
    const xml_node *data = xml_get(layer, "data");
    int32_t count = data ? data->attr_count : 0;
    named_attr *attrs = ARENA_ARRAY(n->e->b->arena, named_attr, (size_t)count + 1);
    for (int32_t i = 0; i < count; i++)
        attrs[i] = (named_attr){.name = data->attrs[i].name, .kind = NAMED_TEXT, .text = data->attrs[i].value};
    o->attrs = attrs;
    o->attr_count = count;
}

/* Reads data of integers and of a few reals in place, because shapes may be computed from them. */
static void find_data(net *n, const named_op *o, tensor *t)
{
    enum { FEW_REALS = 8, FEW_INTS = 4096 };
    int64_t offset = named_int(n->e, o, "offset", -1), size = named_int(n->e, o, "size", -1), count = 1;
    bool is_integer = dtype_is_integer(t->dtype) && dtype_bits(t->dtype) >= 8;
    for (int i = 0; i < t->rank; i++) /* cannot overflow, because emit_tensor checked the product */
        count *= t->dims[i];
    if (!n->weights || offset < 0 || size != t->stored_bytes || count > (is_integer ? FEW_INTS : FEW_REALS) ||
        (!is_integer && t->dtype != DT_FLOAT32 && t->dtype != DT_FLOAT64))
        return;
    if ((uint64_t)offset > n->weights->size || (uint64_t)size > n->weights->size - (uint64_t)offset)
        fail_with(&n->e->b->model->fail, SOOTH_ERROR_INPUT,
                  "constant '%.*s' is outside of the .bin file; copy both files again", STR_ARG(n->e->name));
    t->encoding = TENSOR_RAW;
    t->bytes = n->weights->bytes + offset;
    t->size = (size_t)size;
}

static void write_constant(net *n, const named_op *o)
{
    value_id v = named_out_at(o, 0);
    int64_t dims[MAX_RANK];
    int rank = openvino_dims(n->e, v, dims);
    dtype type = openvino_type(named_text(o, "element_type", ""));
    if (v == NO_VALUE)
        return;
    if (rank < 0)
        fail_with(&n->e->b->model->fail, SOOTH_ERROR_INPUT, "constant '%.*s' has an open dimension",
                  STR_ARG(n->e->name));
    tensor *t = ARENA_NEW(n->e->b->arena, tensor);
    *t = *emit_tensor(n->e, type == DT_UNKNOWN ? build_at(n->e->b, v)->dtype : type, rank, dims);
    find_data(n, o, t);
    build_constant(n->e->b, v, t);
    /* A single number is a factor or an index, not a weight. */
    bool is_single = true;
    for (int i = 0; i < rank; i++)
        is_single = is_single && dims[i] == 1;
    build_at(n->e->b, v)->is_constant_node = is_single;
}

/* A weight may be stored in a narrow type; then the converted tensor is the weight. */
static bool write_wide_constant(net *n, const named_op *o)
{
    value_id from = named_in_at(o, 0), v = named_out_at(o, 0);
    const tensor *t = emit_constant_of(n->e, from);
    dtype type = openvino_type(named_text(o, "destination_type", ""));
    if (!t || v == NO_VALUE || type == DT_UNKNOWN || !dtype_is_float(type))
        return false;
    bool is_constant_node = build_at(n->e->b, from)->is_constant_node;
    tensor *wide = ARENA_NEW(n->e->b->arena, tensor);
    *wide = *emit_tensor(n->e, type, t->rank, t->dims);
    wide->stored_bytes = t->stored_bytes;
    build_constant(n->e->b, v, wide);
    build_at(n->e->b, v)->is_constant_node = is_constant_node;
    return true;
}

static void write_input(net *n, value_id v)
{
    builder *b = n->e->b;
    if (v == NO_VALUE || !build_is_local(b, v))
        return; /* a body's parameter, bound to an outer value */
    value *declared = build_at(b, v);
    for (int i = 0; i < declared->rank; i++)
        if (!dim_known(declared->dims[i]))
            declared->dims[i] =
                num_symbol(&b->source->symbols,
                           i == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(declared->name), i));
    build_input(b, v);
}

static void write_result(net *n, value_id v)
{
    if (v == NO_VALUE)
        return;
    if (!build_is_local(n->e->b, v))
        v = emit_1(n->e, "Identity", v, NO_VALUE);
    build_output(n->e->b, v);
}

static void write_if(net *n, const xml_node *layer, const named_op *o);

static void write_layer(net *n, const xml_node *layer)
{
    named_op o = {.type = xml_attr_of(layer, "type")};
    read_operands(n, layer, &o);
    read_attrs(n, layer, &o);
    n->e->name = xml_attr_of(layer, "name");
    if (str_is(o.type, "Parameter") || str_is(o.type, "Input"))
        write_input(n, named_out_at(&o, 0));
    else if (str_is(o.type, "Const"))
        write_constant(n, &o);
    else if (str_is(o.type, "Result"))
        write_result(n, named_in_at(&o, 0));
    else if (str_is(o.type, "If"))
        write_if(n, layer, &o);
    else if (!str_is(o.type, "Convert") || !write_wide_constant(n, &o))
        openvino_map(n->e, &o, n->is_old);
}

/* Without Result layers, outputs without an edge are the network's outputs. */
static void give_ends(net *n, const xml_node *layers)
{
    for (const xml_node *layer = xml_first(layers); layer; layer = layer->next)
        for (const xml_node *port = xml_first(xml_get(layer, "output")); port; port = port->next) {
            str key = port_key(n, xml_attr_of(layer, "id"), xml_attr_of(port, "id"));
            value_id v = names_get(&n->outputs, key, NO_VALUE);
            if (v != NO_VALUE && !names_get(&n->read, key, 0))
                build_output(n->e->b, v);
        }
}

static void write_net(net *n, const xml_node *root, const graph *g)
{
    const xml_node *layers = xml_get(root, "layers"), *edges = xml_get(root, "edges");
    for (const xml_node *edge = xml_first(edges); edge; edge = edge->next)
        names_put(&n->read, port_key(n, xml_attr_of(edge, "from-layer"), xml_attr_of(edge, "from-port")), 1);
    for (const xml_node *layer = xml_first(layers); layer; layer = layer->next)
        declare_outputs(n, layer);
    read_edges(n, edges);
    for (const xml_node *layer = xml_first(layers); layer; layer = layer->next)
        write_layer(n, layer);
    if (g->outputs.count == 0)
        give_ends(n, layers);
}

/* ---- branches -------------------------------------------------------------------------------------------------- */

static net inner_net(const net *n)
{
    arena *a = n->e->b->arena;
    net inner = {.e = n->e, .is_old = n->is_old, .weights = n->weights};
    names_init(&inner.outputs, a);
    names_init(&inner.sources, a);
    names_init(&inner.read, a);
    names_init(&inner.layers, a);
    names_init(&inner.bound, a);
    return inner;
}

/* Binds the parameters of a body to operands of the layer. */
static void bind_parameters(net *inner, const xml_node *map, const named_op *o)
{
    for (const xml_node *x = xml_first(map); x; x = x->next) {
        int64_t port;
        if (str_is(x->name, "input") && text_number(inner, xml_attr_of(x, "external_port_id"), &port) && port >= 0 &&
            port < o->in_count && named_in_at(o, (int)port) != NO_VALUE)
            names_put(&inner->bound, xml_attr_of(x, "internal_layer_id"), named_in_at(o, (int)port));
    }
}

static void write_if(net *n, const xml_node *layer, const named_op *o)
{
    static const char *const BODIES[] = {"then_body", "else_body"}, *const MAPS[] = {"then_port_map", "else_port_map"};
    builder *b = n->e->b;
    graph *sides[2];
    value_id *outputs = ARENA_ARRAY(b->arena, value_id, (size_t)o->out_count + 1);
    str name = n->e->name;
    for (int i = 0; i < 2; i++) {
        net inner = inner_net(n);
        sides[i] = ARENA_NEW(b->arena, graph);
        bind_parameters(&inner, xml_get(layer, MAPS[i]), o);
        build_open(b, sides[i], false);
        write_net(&inner, xml_get(layer, BODIES[i]), sides[i]);
        build_close(b);
    }
    for (int32_t i = 0; i < o->out_count; i++)
        outputs[i] = named_out_at(o, i);
    n->e->name = name;
    node *made = emit_many(n->e, "If", (const value_id[]){named_in_at(o, 0)}, 1, outputs, o->out_count);
    emit_graph(made, "then_branch", sides[0]);
    emit_graph(made, "else_branch", sides[1]);
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* Opens "net.bin" for "net.xml" if it exists. Memory and streams have no such file. */
static const file_map *open_weights(builder *b)
{
    sooth_model *model = b->model;
    str path = model->file;
    if (!model->map->mapping)
        return NULL;
    if (str_ends(path, ".gz"))
        path.len -= 3;
    if (!str_ends(path, ".xml"))
        return NULL;
    char *beside = arena_room(b->arena, path.len + 1, 1);
    memcpy(beside, path.ptr, path.len - 3);
    memcpy(beside + path.len - 3, "bin", 4);
    if (!file_is_there(beside))
        return NULL;
    file_map *map = ARENA_NEW(b->arena, file_map);
    map->descriptor = -1;
    model->beside = map;
    file_open(map, beside, &model->fail);
    return map;
}

bool openvino_sniff(const uint8_t *bytes, size_t size)
{
    return xml_sniff(bytes, size, "net");
}

void openvino_read(builder *b, const uint8_t *bytes, size_t size)
{
    emitter e;
    int64_t version = 0;
    emit_begin(&e, b, "openvino");
    const xml_node *root = xml_read((str){(const char *)bytes, size}, b->arena, &b->model->fail);
    net first = {.e = &e}, n = inner_net(&first);
    if (!text_number(&n, xml_attr_of(root, "version"), &version) || version < 2 || version > 11)
        fail_with(&b->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "version '%.*s' of OpenVINO's representation is not supported (2 to 11 are)",
                  STR_ARG(xml_attr_of(root, "version")));
    if (!xml_get(root, "layers"))
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the network has no layers; write the model again");
    n.is_old = version < 10;
    n.weights = open_weights(b);
    b->source->producer = arena_printf(b->arena, "OpenVINO IR %d", (int)version);
    build_open(b, &b->source->main, false);
    b->source->main.name = arena_str(b->arena, xml_attr_of(root, "name"));
    write_net(&n, root, &b->source->main);
    build_close(b);
}
