/* train_regions.c: see train_regions.h. */
#include "plan/train_regions.h"
#include "base/names.h"

#include <math.h>

static recomputed_regions *regions_new(sooth_train *t, const sooth_model *model, int32_t **region_of)
{
    size_t layers = sooth_layer_count(model);
    recomputed_regions *r = ARENA_NEW(&t->arena, recomputed_regions);
    *region_of = ARENA_ARRAY(&t->arena, int32_t, layers + 1);
    for (size_t i = 0; i < layers; i++)
        (*region_of)[i] = -1;
    r->region_of = *region_of;
    r->node_count = (int32_t)layers;
    return r;
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

/* True if the whole text matches. '*' stands for any characters, '?' for one. */
static bool matches(str pattern, str text)
{
    size_t p = 0, i = 0, star = SIZE_MAX, retry = 0;
    while (i < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            retry = i;
        } else if (p < pattern.len && (pattern.ptr[p] == '?' || pattern.ptr[p] == text.ptr[i])) {
            p++;
            i++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            i = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static bool matches_any(const char *patterns, str text)
{
    for (const char *begin = patterns;;) {
        const char *end = strchr(begin, ',');
        size_t length = end ? (size_t)(end - begin) : strlen(begin);
        if (length > 0 && matches((str){begin, length}, text))
            return true;
        if (!end)
            return false;
        begin = end + 1;
    }
}

/* Returns the path of the outermost module around the layer that matches; empty if there is none. Names are paths,
 * "/blocks/blocks.0/mlp/fc1/MatMul" or "model.layers.0.mlp.gate_proj". */
static str module_around(const char *patterns, str name)
{
    if (name.len > 0 && name.ptr[0] == '/')
        name = (str){name.ptr + 1, name.len - 1};
    char separator = memchr(name.ptr, '/', name.len) ? '/' : '.';
    for (size_t i = 0; i <= name.len; i++) {
        str path = {name.ptr, i};
        if ((i == name.len || name.ptr[i] == separator) && i > 0 && matches_any(patterns, path))
            return path;
    }
    return (str){"", 0};
}

const recomputed_regions *train_regions_named(sooth_train *t, const sooth_model *model, const char *patterns)
{
    int32_t *region_of;
    size_t layers = sooth_layer_count(model);
    recomputed_regions *r = regions_new(t, model, &region_of);
    names modules;
    names_init(&modules, &t->arena);
    for (size_t i = 0; i < layers; i++) {
        str path = module_around(patterns, str_of(sooth_layer_at(model, i).name));
        if (path.len == 0)
            continue;
        region_of[i] = names_get(&modules, path, r->count);
        if (region_of[i] == r->count)
            names_put(&modules, path, r->count++);
    }
    if (r->count == 0)
        fail_with(&t->fail, SOOTH_ERROR_USAGE,
                  "no module matches '%.100s'; layers are named such as '%.100s' (sooth inspect lists them)", patterns,
                  layers ? sooth_layer_at(model, layers / 2).name : "");
    return r;
}

/* ---- by memory --------------------------------------------------------------------------------------------------- */

/* Last layer that reads each value. */
static size_t *last_readers(sooth_train *t, const sooth_model *model)
{
    size_t *last = ARENA_ARRAY(&t->arena, size_t, sooth_value_count(model) + 1);
    for (size_t i = 0; i < sooth_layer_count(model); i++)
        for (size_t k = 0; k < sooth_layer_at(model, i).input_count; k++) {
            size_t value = sooth_layer_input(model, i, k);
            if (value != SIZE_MAX)
                last[value] = i;
        }
    return last;
}

/* True for layers after which only their own output is read. A segment may end there. */
static bool *cuts_of(sooth_train *t, const sooth_model *model)
{
    size_t layers = sooth_layer_count(model), reach = 0;
    const size_t *last = last_readers(t, model);
    bool *is_cut = ARENA_ARRAY(&t->arena, bool, layers + 1);
    for (size_t i = 0; i < layers; i++) {
        size_t outputs = sooth_layer_at(model, i).output_count;
        is_cut[i] = reach <= i && outputs == 1;
        for (size_t k = 0; k < outputs; k++) {
            size_t value = sooth_layer_output(model, i, k), reader = value == SIZE_MAX ? 0 : last[value];
            reach = reader > reach ? reader : reach;
        }
    }
    return is_cut;
}

/* Number of gradients alive in a segment's backward pass: that of a layer's output and that of its input. */
static const double GRADIENT_MAPS = 2;

typedef struct cutter {
    const sooth_model *model;
    const sooth_prediction *prediction;
    const bool *is_cut;
    size_t layers;
} cutter;

static double kept_bytes(const cutter *c, size_t layer)
{
    return (double)sooth_predicted_layer_at(c->prediction, layer).kept_bytes;
}

/* Joins layers until a segment holds `most_bytes`. Returns the bytes that all segments need; fills `region_of` and
 * `count` if they are not NULL. */
static double cut(const cutter *c, double most_bytes, int32_t *region_of, int32_t *count)
{
    double bytes = 0, largest_map = 0, kept = 0, largest = 0;
    int32_t segments = 0;
    size_t first = 0;
    for (size_t i = 0; i < c->layers; i++) {
        double own = kept_bytes(c, i);
        bytes += own;
        largest_map = fmax(largest_map, own);
        if (!c->is_cut[i] || bytes < most_bytes)
            continue;
        largest = fmax(largest, bytes + GRADIENT_MAPS * largest_map);
        kept += own > 0 ? own : (double)sooth_layer_at(c->model, i).activation_bytes;
        for (size_t k = first; region_of && k <= i; k++)
            region_of[k] = segments;
        segments++;
        first = i + 1;
        bytes = largest_map = 0;
    }
    if (count)
        *count = segments;
    return kept + fmax(largest, bytes + GRADIENT_MAPS * largest_map);
}

const recomputed_regions *train_regions_of_least_memory(sooth_train *t, const sooth_model *model,
                                                        const sooth_prediction *p)
{
    enum { TRIES = 64 };
    cutter c = {.model = model, .prediction = p, .is_cut = cuts_of(t, model), .layers = sooth_layer_count(model)};
    double all = 0, best = INFINITY, best_least = INFINITY;
    int32_t *region_of;
    recomputed_regions *r = regions_new(t, model, &region_of);
    for (size_t i = 0; i < c.layers; i++)
        all += kept_bytes(&c, i);
    for (int i = 0; i <= TRIES; i++) { /* First: no cut. */
        double most = i ? all / i : INFINITY, bytes = cut(&c, most, NULL, NULL);
        if (bytes < best) {
            best = bytes;
            best_least = most;
        }
    }
    cut(&c, best_least, region_of, &r->count);
    return r;
}
