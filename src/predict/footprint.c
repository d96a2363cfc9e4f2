#include "predict/footprint.h"
#include "memory/backend.h"
#include "memory/constants.h"
#include "memory/limits.h"
#include "predict/algorithm.h"

#include <math.h>

static const double MIB = 1024 * 1024;

static kernel_workspace workspace_of(const work *w, const kernel *k, const device_view *view)
{
    if (k->phase != PHASE_BACKWARD)
        return (kernel_workspace){.first = algorithm_of(w, k, view).workspace_bytes};
    kernel_workspace both = {.second = algorithm_of_direction(w, k, view, CONV_FILTER_GRADIENT).workspace_bytes};
    if (w->macs >= 1.5 * w->gemm[0] * w->gemm[1] * w->gemm[2] * w->gemm[3])
        both.first = algorithm_of_direction(w, k, view, CONV_DATA_GRADIENT).workspace_bytes;
    return both;
}

kernel_workspace *workspaces_of(const program *p, const work_list *works, const setting *where, arena *a)
{
    kernel_workspace *bytes = ARENA_ARRAY(a, kernel_workspace, (size_t)p->kernels.count + 1);
    device_view view = view_device(where);
    view.allows_tf32 = true; /* PyTorch lets convolutions use it unless told otherwise */
    kernel_workspace *of_work = arena_room(a, (size_t)works->count + 1, sizeof *of_work);
    for (int32_t i = 0; i < works->count; i++)
        of_work[i].first = -1;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        int32_t of = works->of_kernel[i];
        const kernel *k = &p->kernels.items[i];
        if (of < 0 || !kernel_is_convolution(k))
            continue;
        if (of_work[of].first < 0)
            of_work[of] = workspace_of(&works->items[of], k, &view);
        bytes[i] = of_work[of];
    }
    return bytes;
}

static double capacity_of(const device *d)
{
    double usable = d->numbers[DEVICE_USABLE_MIB];
    return isnan(usable) ? d->numbers[DEVICE_MEMORY_GIB] * 1024 : usable;
}

static double context_of(const memory_constants *c, const program *p, const setting *where, arena *a)
{
    bool convolves = false;
    for (int32_t i = 0; i < p->kernels.count && !convolves; i++)
        convolves = p->kernels.items[i].window != NULL && p->kernels.items[i].macs > 0;
    double sms = where->device->numbers[DEVICE_SMS];
    bool trains = where->lower.mode != MODE_INFER;
    double of_cudnn = c->of[trains ? CONTEXT_CONVOLUTIONS_TRAIN_MIB : CONTEXT_CONVOLUTIONS_INFER_MIB];
    int version = torch_version(where->stack);
    bool loads_all = version < 113; /* CUDA before 11.7 */
    double tried = 0;
    if (where->autotunes && where->lower.runtime == RUNTIME_EAGER && !loads_all)
        tried = fmin(c->of[CONTEXT_AUTOTUNED_EACH_MIB] * memory_tuned_convolutions(p, version, a),
                     c->of[CONTEXT_AUTOTUNED_MIB]);
    return c->of[trains ? CONTEXT_TRAIN_MIB : CONTEXT_INFER_MIB] + (loads_all ? c->of[CONTEXT_UNLAZY_MIB] : 0) + tried +
           (isnan(sms) ? 0 : sms * c->of[CONTEXT_PER_SM_MIB]) + (convolves ? of_cudnn : 0);
}

static int64_t largest_live(const memory_use *u)
{
    int64_t most = u->live_before;
    for (int i = 0; i <= PHASE_UPDATE; i++)
        most = u->live_peak[i] > most ? u->live_peak[i] : most;
    return most;
}

lifetime_rules footprint_rules(const setting *where)
{
    return lifetime_rules_of(torch_version(where->stack), where->norms_in_place);
}

footprint footprint_of(const program *p, const lifetime *lifetimes, const setting *where,
                       const kernel_workspace *workspaces, arena *a)
{
    memory_constants c = memory_constants_for(where->device, a->fail);
    bool is_training = where->lower.mode != MODE_INFER;
    footprint f = {.capacity_mib = capacity_of(where->device), .context_mib = context_of(&c, p, where, a)};
    /* By PyTorch's allocator for what ours holds, as long as there is room. */
    double held = is_training ? 1 + c.of[ALLOCATOR_TRAIN_PERCENT] / 100 : 1;
    memory_question q = {.program = p,
                         .lifetimes = lifetimes,
                         .options = &where->lower,
                         .workspaces = workspaces,
                         .version = torch_version(where->stack),
                         .autotunes = where->autotunes,
                         .returns = where->returns,
                         .product_workspace_bytes = (int64_t)(c.of[PRODUCT_WORKSPACE_KIB] * 1024),
                         .limit_bytes = INT64_MAX};
    f.use = memory_of(&q, a);
    double room_mib = f.capacity_mib - f.context_mib;
    f.fits = held * (double)f.use->reserved / MIB <= room_mib;
    if (!f.fits && (double)largest_live(f.use) / MIB <= room_mib) {
        /* The allocator gives back what it keeps before it fails, and convolutions go on to algorithms that need less. */
        q.limit_bytes = (int64_t)(room_mib * MIB);
        const memory_use *squeezed = memory_of(&q, a);
        f.fits = squeezed->fits;
        f.use = squeezed->fits ? squeezed : f.use;
        held = squeezed->fits ? 1 : held;
    }
    f.limit = limit_reached(p, where->stack);
    f.value_mib = held * (double)f.use->reserved / MIB + f.context_mib;
    double half = c.of[is_training ? ERROR_TRAIN_PERCENT : ERROR_INFER_PERCENT] / 100;
    f.low_mib = f.value_mib / (1 + half);
    f.high_mib = f.value_mib * (1 + half);
    f.cache_mib = (held * (double)f.use->reserved - (double)f.use->allocated) / MIB;
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        f.parts_mib[i] = (double)f.use->parts[i] / MIB;
    return f;
}
