/* graph.c: accessors of nodes and values. */
#include "graph/graph.h"

#include "graph/ops.h"

#include <stdarg.h>
#include <stdio.h>

const attr *node_attr_named(const node *n, str name)
{
    for (int32_t i = 0; i < n->attr_count; i++)
        if (str_eq(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

double node_attr_real(const node *n, const char *name, double otherwise)
{
    const attr *a = node_attr(n, name);
    return a && a->kind == ATTR_FLOAT ? a->real : a && a->kind == ATTR_INT ? (double)a->integer : otherwise;
}

static bool is_kept(const network *net, const value *v)
{
    return v->dims == net->sizes.dims && v->rank == net->sizes.rank && net->sizes.is_kept;
}

num value_elements(network *net, const value *v)
{
    if (v->rank < 0)
        return NUM_UNKNOWN;
    if (is_kept(net, v))
        return net->sizes.elements;
    num elements = num_product(&net->nums, v->dims, v->rank);
    if (net->sizes.is_kept && !v->is_initializer) {
        net->sizes.dims = v->dims;
        net->sizes.rank = v->rank;
        net->sizes.elements = elements;
        net->sizes.bits = 0;
    }
    return elements;
}

bool value_shape_known(const value *v)
{
    for (int i = 0; i < v->rank; i++)
        if (!dim_known(v->dims[i]))
            return false;
    return v->rank >= 0;
}

num value_bytes(network *net, const value *v)
{
    int bits = dtype_bits(v->dtype);
    if (v->kind != VALUE_TENSOR || bits == 0)
        return NUM_UNKNOWN;
    if (is_kept(net, v) && net->sizes.bits == bits)
        return net->sizes.bytes;
    num elements = value_elements(net, v);
    num bytes = bits % 8 == 0 ? num_mul(&net->nums, elements, bits / 8)
                              : num_ceildiv(&net->nums, num_mul(&net->nums, elements, bits), 8);
    if (is_kept(net, v)) {
        net->sizes.bits = bits;
        net->sizes.bytes = bytes;
    }
    return bytes;
}

void network_note(network *net, const char *format, ...)
{
    enum { MAX_NOTES = 100 };
    if (net->notes.count >= MAX_NOTES)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (int32_t i = 0; i < net->notes.count; i++)
        if (str_is(net->notes.items[i], text))
            return;
    str copy = arena_str(net->arena, str_of(text));
    *(str *)ARENA_PUSH(net->arena, &net->notes) = copy;
}

sooth_info model_info(const sooth_model *model)
{
    const source *s = &model->source;
    return (sooth_info){
        .file = model->file.ptr,
        .format = s->format.len ? s->format.ptr : "",
        .producer = s->producer.len ? s->producer.ptr : "",
        .graph_name = s->main.name.len ? s->main.name.ptr : "",
    };
}
