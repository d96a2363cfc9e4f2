/* predict_trace.c: `sooth predict --format trace`: a timeline in Chrome's trace format (JSON), for Perfetto and
 * chrome://tracing. One process per prediction, with tracks for the host's launches, the layers and the kernels. A gap
 * before a kernel is the device waiting for the host. */
#include "report/json.h"
#include "report/predict_report.h"
#include "report/trace.h"

#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

enum { HOST_TRACK = 1, LAYER_TRACK = 2, KERNEL_TRACK = 3 };

/* Leaves the object open for the arguments. */
static void begin_event(json *j, int64_t process, int64_t track, const char *name, const char *category,
                        double start_us, double length_us)
{
    trace_event(j, process, track, name, category, start_us, length_us);
    json_key(j, "args");
    json_open(j, '{', true);
}

static void end_event(json *j)
{
    json_close(j, '}');
    json_close(j, '}');
}

static void kernel_event(predict_report *r, json *j, int64_t process, const sooth_prediction *p, size_t index,
                         const sooth_predicted_kernel *k, double start_us, double length_us)
{
    begin_event(j, process, KERNEL_TRACK, k->name, k->phase, start_us, length_us);
    json_pair_string(j, "layer", sooth_predicted_layer_at(p, k->layer).name);
    if (k->algorithm)
        json_pair_string(j, "algorithm", k->algorithm);
    json_pair_string(j, "bound", k->bound);
    json_pair_number(j, "flops", k->flops);
    json_pair_number(j, "bytes", k->bytes);
    if (k->repeat != 1)
        json_pair_number(j, "repeat", k->repeat);
    if (k->output_count) {
        sooth_predicted_tensor t = sooth_predicted_output(p, index, 0);
        json_pair_string(j, "output", arena_printf(r->scratch, "%s %s", t.dtype, predict_shape(r, t, "x")).ptr);
    }
    end_event(j);
}

static void layer_event(json *j, int64_t process, const sooth_predicted_layer *l, double start_us, double end_us)
{
    begin_event(j, process, LAYER_TRACK, l->name, "layer", start_us, end_us - start_us);
    json_pair_string(j, "op", l->op);
    end_event(j);
}

static void timeline(predict_report *r, json *j, int64_t process, const sooth_prediction *p)
{
    size_t count = sooth_predicted_kernel_count(p);
    double now_us = 0, host_us = 0, layer_start_us = 0;
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        double whole_us = k.latency_ms * 1e3, busy_us = fmin(k.device_us, whole_us); /* rounding */
        double start_us = now_us + whole_us - busy_us;
        /* The host runs ahead of the device, so a launch ends before its kernel begins. */
        double launch_us = fmin(k.host_us, fmax(start_us - host_us, 0));
        begin_event(j, process, HOST_TRACK, k.op, "launch", host_us, launch_us);
        end_event(j);
        host_us += launch_us;
        kernel_event(r, j, process, p, i, &k, start_us, busy_us);
        now_us += whole_us;
        if (i + 1 == count || sooth_predicted_kernel_at(p, i + 1).layer != k.layer) {
            sooth_predicted_layer l = sooth_predicted_layer_at(p, k.layer);
            layer_event(j, process, &l, layer_start_us, now_us);
            layer_start_us = now_us;
        }
    }
}

void predict_trace(predict_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_pair_string(j, "displayTimeUnit", "ns");
    json_identity(j, SCHEMA, r->count ? sooth_prediction_totals_of(r->predictions[0]).weights : NULL);
    json_key(j, "traceEvents");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->count; i++) {
        int64_t process = (int64_t)i + 1;
        sooth_prediction_totals t = sooth_prediction_totals_of(r->predictions[i]);
        trace_name(j, "process_name", process, 0,
                   arena_printf(r->scratch, "%s, %s%s%s, batch %lld", t.file, t.gpu, *t.mig ? " " : "", t.mig,
                                (long long)t.batch)
                       .ptr);
        trace_name(j, "thread_name", process, HOST_TRACK, "host: launches");
        trace_name(j, "thread_name", process, LAYER_TRACK, "layers");
        trace_name(j, "thread_name", process, KERNEL_TRACK, "kernels");
        timeline(r, j, process, r->predictions[i]);
    }
    json_close(j, ']');
    json_close(j, '}');
    text_puts(r->out, "\n");
}
