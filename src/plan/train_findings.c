/* train_findings.c: computes the findings of a study of 2018 (doc/training.md) for a training step. */
#include "plan/train_layers.h"

#include <math.h>

/* The study: convolutions by cuDNN are twice as efficient as by cuBLAS, and use resources 50 % better than fully
 * connected layers; memory stays below 20 %. */
static const double STUDY_LIBRARIES = 2, STUDY_CONVOLUTION = 1.5, STUDY_MEMORY_PERCENT = 20;

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

/* Returns the time of all convolutions by one library, and their mean efficiency weighted by time. */
static double library_ms(const sooth_train *t, bool is_cublas, double *efficiency)
{
    double ms = 0, weighted = 0;
    for (size_t i = 0; i < t->layer_count; i++) {
        const sooth_train_library *l = is_cublas ? &t->layers[i].cublas : &t->layers[i].cudnn;
        if (!isfinite(l->forward_ms) || !isfinite(l->backward_ms))
            continue;
        ms += l->forward_ms + l->backward_ms;
        weighted += l->efficiency * (l->forward_ms + l->backward_ms);
    }
    *efficiency = weighted / ms;
    return ms;
}

static void compare_libraries(sooth_train *t)
{
    double of_cublas, of_cudnn, cublas = library_ms(t, true, &of_cublas), cudnn = library_ms(t, false, &of_cudnn);
    const train_parts *p = &t->cublas_parts;
    sooth_train_finding f = {.name = "cudnn_over_cublas", .value = cublas / cudnn, .study = STUDY_LIBRARIES};
    f.holds = f.value >= STUDY_LIBRARIES;
    if (!(cublas > 0) || !(cudnn > 0)) {
        f.value = NAN;
        f.holds = false;
        f.why = cublas > 0 || cudnn > 0 ? "only one library is computed" : "the network has no convolution";
    } else {
        f.why = arena_printf(&t->arena,
                             "cuDNN reaches %.0f %% of the peak, cuBLAS %.0f %%: %.0f %% of its time are products, "
                             "%.0f %% im2col and biases, %.0f %% launches of %.0f kernels",
                             of_cudnn, of_cublas, 100 * p->products_ms / cublas, 100 * p->copies_ms / cublas,
                             100 * p->launches_ms / cublas, p->launches)
                    .ptr;
    }
    add_finding(t, f);
}

static void compare_convolutions(sooth_train *t)
{
    double conv = efficiency_of(t, "conv"), linear = efficiency_of(t, "matmul"), ratio = conv / linear;
    sooth_train_finding f = {.name = "convolution_over_linear", .value = ratio, .study = STUDY_CONVOLUTION};
    f.holds = ratio >= STUDY_CONVOLUTION;
    if (!isfinite(conv) || !isfinite(linear))
        f.why = isfinite(conv)     ? "the network has no fully connected layer"
                : isfinite(linear) ? "the network has no convolution"
                                   : "the network has neither convolutions nor fully connected layers";
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
    compare_libraries(t);
    compare_convolutions(t);
    compare_memory(t);
}
