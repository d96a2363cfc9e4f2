#include "predict/footprint.h"
#include "memory/backend.h"
#include "memory/constants.h"
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
    view.allows_tf32 = true; /* Default of PyTorch for convolutions. */
    kernel_workspace *of_work = arena_room(a, (size_t)works->count + 1, sizeof *of_work);
    for (int32_t i = 0; i < works->count; i++)
        of_work[i].first = -1;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        int32_t of = works->of_kernel[i];
        const kernel *k = &p->kernels.items[i];
        if (of < 0 || !kernel_is_convolution(k))
            continue;
        /* An equal kernel that differs only in its inputs' cache reuse has the same workspaces. */
        if (of_work[of].first < 0) {
            int32_t like = works->items[of].like;
            of_work[of] = of_work[like].first >= 0 ? of_work[like] : workspace_of(&works->items[of], k, &view);
        }
        bytes[i] = of_work[of];
    }
    return bytes;
}

static double capacity_of(const device *d)
{
    double usable = d->numbers[DEVICE_USABLE_MIB];
    return isnan(usable) ? d->numbers[DEVICE_MEMORY_GIB] * 1024 : usable;
}

footprint_key footprint_key_of(const setting *where)
{
    return (footprint_key){torch_version(where->stack), where->autotunes, where->returns, where->norms_in_place};
}

const footprint_basis *footprint_basis_of(const program *p, const network *net, const lower_options *options,
                                          footprint_key key, arena *a, arena *scratch)
{
    footprint_basis *basis = ARENA_NEW(a, footprint_basis);
    lifetime_rules rules = lifetime_rules_of(key.version, key.norms_in_place && lifetime_has_abn(net));
    requests_question q = {.program = p,
                           .lifetimes = lifetimes_of(p, net, options, rules, a, scratch),
                           .options = options,
                           .version = key.version,
                           .autotunes = key.autotunes,
                           .returns = key.returns};
    basis->requests = memory_requests_of(&q, a, scratch);
    for (int32_t i = 0; i < p->kernels.count && !basis->convolves; i++)
        basis->convolves = p->kernels.items[i].window != NULL && p->kernels.items[i].macs > 0;
    basis->limit = limit_of(p, key.version);
    return basis;
}

static double context_of(const memory_constants *c, const footprint_basis *basis, const setting *where)
{
    double sms = where->device->numbers[DEVICE_SMS];
    bool trains = where->lower.mode != MODE_INFER;
    double of_cudnn = c->of[trains ? CONTEXT_CONVOLUTIONS_TRAIN_MIB : CONTEXT_CONVOLUTIONS_INFER_MIB];
    bool loads_all = torch_version(where->stack) < 113; /* CUDA before 11.7 loads all kernels at once. */
    double tried = 0;
    if (where->autotunes && where->lower.runtime == RUNTIME_EAGER && !loads_all)
        tried =
            fmin(c->of[CONTEXT_AUTOTUNED_EACH_MIB] * basis->requests->tuned_convolutions, c->of[CONTEXT_AUTOTUNED_MIB]);
    return c->of[trains ? CONTEXT_TRAIN_MIB : CONTEXT_INFER_MIB] + (loads_all ? c->of[CONTEXT_UNLAZY_MIB] : 0) + tried +
           (isnan(sms) ? 0 : sms * c->of[CONTEXT_PER_SM_MIB]) + (basis->convolves ? of_cudnn : 0);
}

static int64_t largest_live(const memory_requests *requests)
{
    int64_t most = requests->live_before;
    for (int i = 0; i <= PHASE_UPDATE; i++)
        most = requests->live_peak[i] > most ? requests->live_peak[i] : most;
    return most;
}

/* Computes the memory without a limit. Reuses an earlier result with equal workspaces. */
static const memory_use *use_of(const memory_question *q, kept_uses *kept, arena *kept_arena, arena *a)
{
    size_t kernels = (size_t)q->requests->kernel_count;
    if (!kept || !q->workspaces)
        return memory_of(q, a, a);
    for (int32_t i = 0; i < kept->count; i++)
        if (kept->items[i].product_workspace_bytes == q->product_workspace_bytes &&
            memcmp(kept->items[i].workspaces, q->workspaces, kernels * sizeof *q->workspaces) == 0)
            return kept->items[i].use;
    if (kept->count == KEPT_USES)
        return memory_of(q, a, a);
    const memory_use *use = memory_of(q, kept_arena, a);
    kept->items[kept->count].product_workspace_bytes = q->product_workspace_bytes;
    kept->items[kept->count].workspaces = arena_copy(kept_arena, q->workspaces, kernels, sizeof *q->workspaces);
    kept->items[kept->count++].use = use;
    return use;
}

footprint footprint_of(const footprint_basis *basis, const setting *where, const kernel_workspace *workspaces,
                       kept_uses *kept, arena *kept_arena, arena *a)
{
    memory_constants c = memory_constants_for(where->device, a->fail);
    bool is_training = where->lower.mode != MODE_INFER;
    footprint f = {.capacity_mib = capacity_of(where->device), .context_mib = context_of(&c, basis, where)};
    /* Adds PyTorch's memory beyond the simulated allocator, as far as it fits. */
    double held = is_training ? 1 + c.of[ALLOCATOR_TRAIN_PERCENT] / 100 : 1;
    memory_question q = {.requests = basis->requests,
                         .workspaces = workspaces,
                         .product_workspace_bytes = (int64_t)(c.of[PRODUCT_WORKSPACE_KIB] * 1024),
                         .limit_bytes = INT64_MAX};
    f.use = use_of(&q, kept, kept_arena, a);
    double room_mib = f.capacity_mib - f.context_mib;
    f.live_mib = (double)largest_live(basis->requests) / MIB + f.context_mib;
    f.fits = held * (double)f.use->reserved / MIB <= room_mib;
    if (!f.fits && (double)largest_live(basis->requests) / MIB <= room_mib) {
        /* Before the allocator fails, it frees its cache, and convolutions change to algorithms with less workspace. */
        q.limit_bytes = (int64_t)(room_mib * MIB);
        const memory_use *squeezed = memory_of(&q, a, a);
        f.fits = squeezed->fits;
        f.use = squeezed->fits ? squeezed : f.use;
        held = squeezed->fits ? 1 : held;
    }
    f.limit = basis->limit.reached;
    f.value_mib = held * (double)f.use->reserved / MIB + f.context_mib;
    double half = c.of[is_training ? ERROR_TRAIN_PERCENT : ERROR_INFER_PERCENT] / 100;
    f.low_mib = f.value_mib / (1 + half);
    f.high_mib = f.value_mib * (1 + half);
    f.cache_mib = (held * (double)f.use->reserved - (double)f.use->allocated) / MIB;
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        f.parts_mib[i] = (double)f.use->parts[i] / MIB;
    return f;
}
