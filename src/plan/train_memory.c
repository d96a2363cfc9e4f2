/* train_memory.c: memory of a training step over time, and the memory that activation checkpointing saves. */
#include "plan/train_memory.h"

#include <math.h>

enum { MOST_MOMENTS = 400 };
static const double MIB = 1024 * 1024;

/* ---- over time --------------------------------------------------------------------------------------------------- */

/* The kernel with the most memory stands for all kernels of a moment. No moment spans two stages. */
void train_moments(sooth_train *t, const sooth_prediction *p)
{
    size_t kernels = sooth_predicted_kernel_count(p), each = kernels / MOST_MOMENTS + 1;
    double now_ms = 0;
    int64_t most = -1;
    sooth_memory_parts *parts = ARENA_ARRAY(&t->arena, sooth_memory_parts, kernels + 1);
    sooth_prediction_memory_parts(p, parts);
    t->moments = ARENA_ARRAY(&t->arena, sooth_train_moment, kernels + 1);
    for (size_t i = 0, in_moment = 0; i < kernels; i++, in_moment++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        sooth_train_moment *last = t->moment_count ? &t->moments[t->moment_count - 1] : NULL;
        if (!last || in_moment == each || last->phase[0] != k.phase[0]) {
            last = &t->moments[t->moment_count++];
            *last = (sooth_train_moment){.begin_ms = now_ms, .phase = arena_str(&t->arena, str_of(k.phase)).ptr};
            in_moment = 0;
            most = -1;
        }
        now_ms += k.latency_ms;
        if (k.allocated_bytes > most) {
            most = k.allocated_bytes;
            last->weights_mib = parts[i].weights_mib;
            last->gradients_mib = parts[i].gradients_mib;
            last->optimizer_mib = parts[i].optimizer_mib;
            last->inputs_mib = parts[i].inputs_mib;
            last->activations_mib = parts[i].activations_mib;
            last->workspace_mib = parts[i].workspace_mib;
            last->cache_mib = fmax(0, (double)(k.reserved_bytes - k.allocated_bytes) / MIB);
        }
        last->end_ms = now_ms;
    }
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

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

typedef struct segments {
    double kept_bytes;    /* outputs of segments */
    double largest_bytes; /* Feature maps of the largest segment, and the gradients during its recomputation. */
    double all_bytes;
    int count;
} segments;

/* Number of gradients alive in a segment's backward pass: that of a layer's output and that of its input. */
static const double GRADIENT_MAPS = 2;

/* Joins layers until a segment holds `most_bytes`. The last segment is not checkpointed. */
static segments segments_of(const sooth_train *t, const sooth_model *model, const bool *is_cut, double most_bytes)
{
    segments s = {0};
    double bytes = 0, largest_map = 0;
    for (size_t i = 0; i < sooth_layer_count(model) && i < t->layer_count; i++) {
        double own = (double)t->layers[i].feature_map_bytes;
        bytes += own;
        largest_map = fmax(largest_map, own);
        s.all_bytes += own;
        if (!is_cut[i] || bytes < most_bytes)
            continue;
        s.largest_bytes = fmax(s.largest_bytes, bytes + GRADIENT_MAPS * largest_map);
        s.kept_bytes += own > 0 ? own : (double)sooth_layer_at(model, i).activation_bytes;
        s.count++;
        bytes = largest_map = 0;
    }
    s.largest_bytes = fmax(s.largest_bytes, bytes + GRADIENT_MAPS * largest_map);
    return s;
}

train_checkpoints train_checkpoints_of(sooth_train *t, const sooth_model *model)
{
    enum { TRIES = 64 };
    const bool *is_cut = cuts_of(t, model);
    segments all = segments_of(t, model, is_cut, INFINITY), best = all;
    for (int i = 1; i <= TRIES; i++) {
        segments s = segments_of(t, model, is_cut, all.all_bytes / i);
        if (s.kept_bytes + s.largest_bytes < best.kept_bytes + best.largest_bytes)
            best = s;
    }
    return (train_checkpoints){
        .segments = best.count + 1,
        .saved_mib = fmax(0, all.all_bytes - best.kept_bytes - best.largest_bytes) / MIB,
    };
}

/* Removes the freed feature maps from the peak of the backward pass, but not from the update's. The cache shrinks in
 * proportion. */
void train_apply_checkpoints(sooth_train *t, const train_checkpoints *c)
{
    sooth_memory *m = &t->totals.memory;
    if (!m->known || !(m->activations_mib > 0))
        return;
    double after = fmax(0, m->activations_mib - c->saved_mib), share = after / m->activations_mib;
    double least = m->weights_mib + m->gradients_mib + m->optimizer_mib + m->context_mib + m->inputs_mib;
    double cache = m->cache_mib * share, workspace = m->workspace_mib;
    double was = m->total_mib.value, total = fmax(least, was - (m->activations_mib - after) - (m->cache_mib - cache));
    m->activations_mib = fmax(0, total - least - workspace - cache);
    m->cache_mib = cache;
    m->total_mib = (sooth_interval){total, m->total_mib.low * total / was, m->total_mib.high * total / was};
    m->fits = m->total_mib.value <= m->capacity_mib;
    m->fits_upper = m->total_mib.high <= m->capacity_mib;
    for (size_t i = 0; i < t->moment_count; i++)
        if (t->moments[i].phase[0] != 'u') {
            t->moments[i].activations_mib *= share;
            t->moments[i].cache_mib *= share;
        }
}
