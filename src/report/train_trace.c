/* train_trace.c: `sooth train-phase --format trace`: two steps in Chrome's trace format, with tracks for the loader,
 * the link, the GPU's stages and the layers. */
#include "report/trace.h"
#include "report/train_report.h"

#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */
enum { PROCESS = 1 };
enum { LOADER_TRACK = 1, LINK_TRACK, GPU_TRACK, LAYER_TRACK, STEPS = 2 };

static void event(json *j, int64_t track, const char *name, const char *category, double start_ms, double length_ms)
{
    if (!(length_ms > 0))
        return;
    trace_event(j, PROCESS, track, name, category, start_ms * 1e3, length_ms * 1e3);
    json_close(j, '}');
}

static double stage_ms(const train_report *r, size_t stage)
{
    return sooth_train_stage_at(r->train, stage).latency_ms.value;
}

/* Writes the layers: forward in order, backward in reverse. */
static void gpu_events(train_report *r, json *j, double start_ms)
{
    size_t count = sooth_train_layer_count(r->train);
    double at = start_ms;
    for (size_t i = 0; i < count; i++) {
        sooth_train_layer l = sooth_train_layer_at(r->train, i);
        event(j, LAYER_TRACK, l.name, "forward", at, l.forward_ms);
        at += l.forward_ms;
    }
    for (size_t i = count; i-- > 0;) {
        sooth_train_layer l = sooth_train_layer_at(r->train, i);
        event(j, LAYER_TRACK, l.name, "backward", at, l.backward_ms);
        at += l.backward_ms;
    }
    at = start_ms;
    for (size_t i = 3; i < SOOTH_TRAIN_STAGES; i++) {
        event(j, GPU_TRACK, sooth_train_stage_at(r->train, i).stage, "GPU", at, stage_ms(r, i));
        at += stage_ms(r, i);
    }
}

/* The loader prepares step k + 1 while the GPU computes step k. */
static void overlapped(train_report *r, json *j)
{
    const sooth_train_totals *t = &r->totals;
    for (int step = 0; step < STEPS; step++) {
        double start_ms = step * t->step_ms_overlapped, copy_ms = stage_ms(r, 2);
        event(j, LOADER_TRACK, "read and decode the next batch", "loader", start_ms, t->loader_ms);
        event(j, LINK_TRACK, "copy", "link", start_ms, copy_ms);
        gpu_events(r, j, start_ms + (t->pinned ? 0 : copy_ms));
    }
}

static void one_after_another(train_report *r, json *j)
{
    double at = 0;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < 3; i++) {
            event(j, i < 2 ? LOADER_TRACK : LINK_TRACK, sooth_train_stage_at(r->train, i).stage, "host", at,
                  stage_ms(r, i));
            at += stage_ms(r, i);
        }
        gpu_events(r, j, at);
        at += stage_ms(r, 3) + stage_ms(r, 4) + stage_ms(r, 5);
    }
}

void train_trace(train_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_pair_string(j, "displayTimeUnit", "ms");
    json_identity(j, SCHEMA, r->totals.weights);
    json_key(j, "traceEvents");
    json_open(j, '[', false);
    trace_name(
        j, "process_name", PROCESS, 0,
        arena_printf(r->scratch, "%s, %s, batch %lld", r->totals.file, r->totals.gpu, (long long)r->totals.batch).ptr);
    trace_name(j, "thread_name", PROCESS, LOADER_TRACK, "loader");
    trace_name(j, "thread_name", PROCESS, LINK_TRACK, "link");
    trace_name(j, "thread_name", PROCESS, GPU_TRACK, "GPU");
    trace_name(j, "thread_name", PROCESS, LAYER_TRACK, "layers");
    if (r->totals.overlaps)
        overlapped(r, j);
    else
        one_after_another(r, j);
    json_close(j, ']');
    json_close(j, '}');
    text_puts(r->out, "\n");
}
