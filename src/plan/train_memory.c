/* train_memory.c: memory of a training step over time. */
#include "plan/train_memory.h"

#include <math.h>

enum { MOST_MOMENTS = 400 };
static const double MIB = 1024 * 1024;

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
