/* train_findings.c: computes the findings of a study of 2018 (doc/training.md) for a training step. */
#include "plan/train_layers.h"

#include <math.h>

/* Findings of the study: convolutions use resources 50 % better than fully connected layers, and memory usage stays
 * below 20 %. */
static const double STUDY_CONVOLUTION = 1.5, STUDY_MEMORY_PERCENT = 20;

/* Mean efficiency of one kind of layer, weighted by forward and backward time; NAN without such layers. */
static double efficiency_of(const sooth_train *t, const char *kind)
{
    double weighted = 0, ms = 0;
    for (size_t i = 0; i < t->layer_count; i++) {
        const sooth_train_layer *l = &t->layers[i];
        double own = l->forward_ms + l->backward_ms;
        if (strcmp(l->kind, kind) != 0 || !isfinite(l->efficiency))
            continue;
        weighted += l->efficiency * own;
        ms += own;
    }
    return ms > 0 ? weighted / ms : NAN;
}

static void add_finding(sooth_train *t, sooth_train_finding finding)
{
    t->findings[t->finding_count++] = finding;
}

static void compare_convolutions(sooth_train *t)
{
    double conv = efficiency_of(t, "conv"), linear = efficiency_of(t, "matmul"), ratio = conv / linear;
    sooth_train_finding f = {.name = "convolution_over_linear", .value = ratio, .study = STUDY_CONVOLUTION};
    f.holds = ratio >= STUDY_CONVOLUTION;
    if (!isfinite(conv) || !isfinite(linear))
        f.why = isfinite(conv) ? "the network has no fully connected layer" : "the network has no convolution";
    else
        f.why = arena_printf(&t->arena, "convolutions reach %.1f %% of the peak, fully connected layers %.1f %%", conv,
                             linear)
                    .ptr;
    add_finding(t, f);
}

static void compare_memory(sooth_train *t)
{
    const sooth_memory *m = &t->totals.memory;
    double share = m->known ? 100 * m->total_mib.value / m->capacity_mib : NAN;
    sooth_train_finding f = {.name = "memory_share", .value = share, .study = STUDY_MEMORY_PERCENT};
    f.holds = share <= STUDY_MEMORY_PERCENT;
    f.why = isfinite(share)
                ? arena_printf(&t->arena, "%.0f of %.0f MiB at batch %d, %.0f of them feature maps", m->total_mib.value,
                               m->capacity_mib, (int)t->totals.batch, m->activations_mib)
                      .ptr
                : "the memory of the device is not known";
    add_finding(t, f);
}

void train_findings(sooth_train *t)
{
    compare_convolutions(t);
    compare_memory(t);
}
