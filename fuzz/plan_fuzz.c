/* plan_fuzz.c: libFuzzer target for the plans of sweeps and data sets: the reader, the spaces of the families, the
 * numbers of a sweep, and the first networks if all come from the zoo. */
#include "plan/sweep.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_COMPUTED = 4 };

static sooth_gpus *gpus;

/* Names of the first and the last candidate; false: they are too long. */
static bool name_candidates(const space *s, sooth_error *error)
{
    fail f = {.error = error};
    if (setjmp(f.jump))
        return false;
    for (int i = 0; i < 2; i++) {
        char room[SPACE_GRAPH_ROOM];
        sooth_dim_binding bindings[SPACE_MAX_CHOICES];
        sooth_options dims;
        genes g = space_candidate(s, i && s->candidates < 1e18 ? (uint64_t)s->candidates - 1 : 0);
        space_architecture(s, &g, room, &f);
        space_graph(s, &g, room, &f);
        study_bind(s, &g, 1, &dims, bindings);
        if (dims.dim_count > (size_t)s->choice_count || dims.batch < 1)
            abort();
    }
    return true;
}

/* sweep_take_network and sweep_take_point must read exactly the whole result. */
static void compute(const sweep *s)
{
    bytes result = {0};
    uint64_t from, count;
    sweep_chunk(s, 0, &from, &count);
    sweep_compute(s, 0, &result);
    str at = {(const char *)result.data, result.size};
    for (uint64_t i = 0; i < count; i++) {
        sweep_network n = sweep_take_network(&at);
        if (*n.error)
            continue;
        if (n.params < 0 || n.macs < 0 || n.flops < 0)
            abort();
        for (size_t k = 0; k < s->setting_count; k++) {
            sweep_point p = sweep_take_point(&at);
            if (!*p.error && !(p.latency_ms.low <= p.latency_ms.value && p.latency_ms.value <= p.latency_ms.high))
                abort();
        }
    }
    if (at.len)
        abort();
    free(result.data);
}

static void read_and_prepare(str text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return;
    const study_plan *plan = study_plan_read("fuzz", text, a, f);
    bool is_zoo = true;
    for (int32_t i = 0; i < plan->families.count; i++) {
        sooth_error error;
        is_zoo &= name_candidates(plan->families.items[i].space, &error) &&
                  str_starts(plan->families.items[i].space->graph, "zoo:");
    }
    const sooth_gpu *some[] = {sooth_gpus_at(gpus, 0), sooth_gpus_at(gpus, 1)};
    const sweep *s = sweep_prepare(plan, &(sweep_options){.gpus = some, .gpu_count = 2}, a, f);
    if (s->points != s->networks * s->setting_count)
        abort();
    if (is_zoo && s->points <= MOST_COMPUTED)
        compute(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!gpus && sooth_gpus_open(NULL, &gpus, NULL) != SOOTH_OK)
        abort();
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)256 << 20);
    read_and_prepare((str){(const char *)bytes, size}, &a, &f);
    arena_free(&a);
    return 0;
}
