#include "report/picture.h"

const picture_paint *picture_paints(size_t *count)
{
    static const picture_paint paints[] = {
        {"conv", "convolution", "#d6e6fb", "#2f6fc4"},    {"matmul", "matrix product", "#d3f0de", "#1f8a4c"},
        {"attention", "attention", "#ecdcfa", "#8440c0"}, {"recurrent", "recurrent", "#f9d9ea", "#b8327f"},
        {"norm", "normalization", "#fdeec3", "#b98300"},  {"pool", "pooling", "#cdeff2", "#138a99"},
        {"reduce", "reduction", "#d9ecec", "#4a8080"},    {"pointwise", "pointwise", "#f3efe8", "#a09482"},
        {"move", "data movement", "#ececf1", "#8b8b9c"},  {"view", "view", "#f7f7f9", "#b9b9c4"},
        {"sort", "selection", "#ffe2d0", "#c4622a"},      {"control", "control flow", "#fbd8d8", "#c03a3a"},
        {"other", "other", "#ffffff", "#555555"},         {"", "input, output", "#33373d", "#33373d"},
    };
    *count = sizeof paints / sizeof *paints;
    return paints;
}

const picture_paint *picture_paint_of(const char *kind)
{
    size_t count;
    const picture_paint *paints = picture_paints(&count);
    for (size_t i = 0; kind && i < count; i++)
        if (strcmp(paints[i].kind, kind) == 0)
            return &paints[i];
    return &paints[count - 2];
}

box_role picture_box(const picture *p, int32_t box, size_t *index)
{
    if (box < p->input_count) {
        *index = sooth_input(p->r->model, (size_t)box);
        return BOX_INPUT;
    }
    box -= p->input_count;
    if (box < p->layer_count) {
        *index = (size_t)box;
        return BOX_LAYER;
    }
    *index = sooth_output(p->r->model, (size_t)(box - p->layer_count));
    return BOX_OUTPUT;
}

/* Large enough to include values of layers that recovery passes added after those of the file. */
static size_t value_limit(const sooth_model *m)
{
    size_t limit = sooth_value_count(m);
    for (size_t i = 0; i < sooth_layer_count(m); i++) {
        sooth_layer l = sooth_layer_at(m, i);
        for (size_t k = 0; k < l.output_count; k++) {
            size_t v = sooth_layer_output(m, i, k);
            if (v != SIZE_MAX && v >= limit)
                limit = v + 1;
        }
    }
    return limit;
}

/* `seen[from]` is the last box that was connected with `from`, so that each edge is drawn once. */
static void connect(picture *p, const int32_t *maker, int32_t *seen, size_t limit, size_t value, int32_t to)
{
    if (value >= limit || maker[value] == 0)
        return;
    int32_t from = maker[value] - 1;
    if (from >= to || seen[from] == to)
        return;
    seen[from] = to;
    picture_edge *e = ARENA_PUSH(p->r->scratch, &p->edges);
    *e = (picture_edge){from, to, value};
}

void picture_make(picture *p, report *r)
{
    const sooth_model *m = r->model;
    size_t inputs = sooth_input_count(m), layers = sooth_layer_count(m), outputs = sooth_output_count(m);
    if (inputs + layers + outputs > INT32_MAX / 4)
        fail_with(r->out->fail, SOOTH_ERROR_UNSUPPORTED, "the graph has too many layers for a picture");
    *p = (picture){.r = r};
    p->input_count = (int32_t)inputs;
    p->layer_count = (int32_t)layers;
    p->output_count = (int32_t)outputs;
    p->box_count = (int32_t)(inputs + layers + outputs);

    size_t limit = value_limit(m);
    int32_t *maker = ARENA_ARRAY(r->scratch, int32_t, limit); /* indexed by value: box + 1 */
    int32_t *seen = ARENA_ARRAY(r->scratch, int32_t, (size_t)p->box_count);
    for (size_t i = 0; i < inputs; i++)
        maker[sooth_input(m, i)] = (int32_t)i + 1;
    for (size_t i = 0; i < layers; i++) {
        sooth_layer l = sooth_layer_at(m, i);
        int32_t box = (int32_t)(inputs + i);
        for (size_t k = 0; k < l.input_count; k++)
            connect(p, maker, seen, limit, sooth_layer_input(m, i, k), box);
        for (size_t k = 0; k < l.output_count; k++) {
            size_t v = sooth_layer_output(m, i, k);
            if (v != SIZE_MAX)
                maker[v] = box + 1;
        }
    }
    for (size_t i = 0; i < outputs; i++)
        connect(p, maker, seen, limit, sooth_output(m, i), (int32_t)(inputs + layers + i));
}

const char *picture_name(report *r, const char *name, size_t width)
{
    size_t start = r->out->size;
    text_name(r->out, name, width, false);
    str copy = arena_str(r->scratch, (str){r->out->bytes + start, r->out->size - start});
    r->out->size = start;
    return copy.ptr;
}
