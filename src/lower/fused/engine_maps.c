/* engine_maps.c: finds the feature maps that an int8 engine stores in 8 bits alone. TensorRT gives every map between
 * convolutions, pools and pointwise layers a scale of its own, so residual sums and pools read and write 8 bits too. */
#include "lower/fused/engine.h"

enum { MAP_RANK = 4 };

/* True if the group can read and write 8-bit maps. */
static bool takes_maps(const group *x)
{
    static const char *const CALLS[] = {
        "max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool2d", "upsample_nearest2d",
        "upsample_bilinear2d",     "cat"};
    switch (x->kind) {
    case GROUP_PRODUCT:
        return is_op(x->main, "convolution");
    case GROUP_POINTWISE:
        return true;
    case GROUP_ROWS:
        return is_op(x->main, "mean");
    default:
        return x->kind == GROUP_CALL && IS_IN(x->main, CALLS);
    }
}

/* Marks the storages that a group writes as maps, and those that some group needs in 16 bits. */
static void mark_maps(const engine *e, bool *is_map, bool *is_wide, bool *has_group)
{
    for (int32_t g = 0; g < e->groups.count; g++) {
        const group *x = &e->groups.items[g];
        if (x->kind == GROUP_GONE)
            continue;
        const placed_tensor *y = tensor_at(e, x->output);
        is_map[y->storage] |= takes_maps(x) && y->rank >= MAP_RANK && y->dtype == DT_FLOAT16;
        for (int32_t i = 0; i < x->kernels.count; i++) {
            const kernel *k = &e->in->kernels.items[x->kernels.items[i]];
            has_group[x->kernels.items[i]] = true;
            for (int n = 0; n < k->input_count && !takes_maps(x); n++)
                is_wide[storage_of(e, k->inputs[n])] = true;
        }
    }
}

/* Gives the parts of an in-place concatenation and the whole one type. Returns true if a type changed. */
static bool unite_parts(const engine *e, const bool *has_group, bool *is_map)
{
    bool is_changed = false;
    for (int32_t i = 0; i < e->in->kernels.count; i++) {
        const kernel *k = &e->in->kernels.items[i];
        if (has_group[i] || !is_op(k, "cat"))
            continue;
        bool *whole = &is_map[storage_of(e, k->outputs[0])], all = *whole;
        for (int n = 0; n < k->input_count; n++)
            all &= is_map[storage_of(e, k->inputs[n])];
        is_changed |= *whole != all;
        *whole = all;
        for (int n = 0; n < k->input_count; n++) {
            is_changed |= is_map[storage_of(e, k->inputs[n])] != all;
            is_map[storage_of(e, k->inputs[n])] = all;
        }
    }
    return is_changed;
}

void engine_narrow_maps(engine *e)
{
    size_t storages = (size_t)e->in->storage_count + 1, kernels = (size_t)e->in->kernels.count + 1;
    bool *is_map = ARENA_ARRAY(e->arena, bool, storages), *is_wide = ARENA_ARRAY(e->arena, bool, storages),
         *has_group = ARENA_ARRAY(e->arena, bool, kernels);
    mark_maps(e, is_map, is_wide, has_group);
    for (int32_t i = 0; i < e->in->kernels.count; i++) { /* Memory that a concatenation fills in place. */
        const kernel *k = &e->in->kernels.items[i];
        if (!has_group[i] && is_op(k, "cat"))
            is_map[storage_of(e, k->outputs[0])] = tensor_at(e, k->outputs[0])->rank >= MAP_RANK;
    }
    for (size_t s = 0; s < storages; s++)
        is_map[s] &= !is_wide[s] && !e->is_output[s] && !e->is_constant[s];
    while (unite_parts(e, has_group, is_map))
        ;
    for (tensor_id t = 0; t < e->in->tensors.count; t++) {
        placed_tensor *p = &e->out->tensors.items[t];
        if (!is_map[p->storage] || p->dtype != DT_FLOAT16)
            continue;
        p->dtype = e->narrow;
        e->narrow_copy[t] = t + 1;
        e->wide_readers[p->storage] = e->readers[p->storage]; /* No second copy exists. */
    }
}
