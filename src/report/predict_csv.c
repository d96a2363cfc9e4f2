/* predict_csv.c: `sooth predict --format csv`: one row for each prediction; with --layers for each layer, with --kernels for each
 * kernel. An empty field is not known. */
#include "report/predict_report.h"

#include <inttypes.h>
#include <math.h>

static void real_field(text *out, double x)
{
    char room[NUMBER_ROOM];
    text_puts(out, ",");
    if (isfinite(x))
        text_puts(out, number_real(room, x));
}

static void number_field(text *out, int64_t n)
{
    text_printf(out, ",%" PRId64, n);
}

static void text_field(text *out, const char *s)
{
    text_puts(out, ",");
    text_csv(out, s ? s : "");
}

static void totals_row(text *out, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    text_csv(out, t->file);
    text_field(out, t->gpu);
    number_field(out, t->batch);
    text_field(out, t->precision);
    text_field(out, t->layout);
    text_field(out, t->runtime);
    text_field(out, t->mode);
    real_field(out, t->latency_ms.value);
    real_field(out, t->latency_ms.low);
    real_field(out, t->latency_ms.high);
    real_field(out, t->throughput_per_s);
    real_field(out, t->compute_share);
    real_field(out, t->dram_share);
    real_field(out, t->occupancy);
    number_field(out, t->flops);
    number_field(out, t->bytes);
    text_field(out, t->mig);
    real_field(out, t->energy_j.value);
    real_field(out, t->energy_j.low);
    real_field(out, t->energy_j.high);
    real_field(out, t->power_w.value);
    real_field(out, t->energy_j_per_1000);
    real_field(out, t->co2_g);
    sooth_memory m = sooth_prediction_memory(p);
    real_field(out, m.known ? m.total_mib.value : NAN);
    real_field(out, m.known ? m.total_mib.low : NAN);
    real_field(out, m.known ? m.total_mib.high : NAN);
    bool is_known = m.known && m.capacity_mib > 0;
    text_field(out, !is_known ? "" : m.fits ? "1" : "0");
    text_field(out, !is_known ? "" : m.fits_upper ? "1" : "0");
    text_field(out, t->arithmetic);
    int64_t unknown = 0;
    for (size_t i = 0, count; sooth_prediction_unknown(p, i, &count); i++)
        unknown += (int64_t)count;
    number_field(out, unknown);
    text_puts(out, "\n");
}

static void layer_rows(text *out, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    for (size_t i = 0; i < sooth_predicted_layer_count(p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, i);
        text_csv(out, t->gpu);
        number_field(out, t->batch);
        text_field(out, l.name);
        text_field(out, l.op);
        real_field(out, l.latency_ms);
        number_field(out, l.flops);
        number_field(out, l.bytes);
        real_field(out, l.compute_share);
        text_field(out, l.bound);
        real_field(out, l.ideal_ms);
        number_field(out, (int64_t)l.kernel_count);
        real_field(out, l.energy_j);
        text_puts(out, "\n");
    }
}

static void kernel_rows(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    text *out = r->out;
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        text_csv(out, t->gpu);
        number_field(out, t->batch);
        text_field(out, k.name);
        text_field(out, k.op);
        text_field(out, sooth_predicted_layer_at(p, k.layer).name);
        real_field(out, k.latency_ms);
        number_field(out, k.flops);
        number_field(out, k.bytes);
        real_field(out, k.device_us);
        text_field(out, k.bound);
        text_field(out, k.phase);
        text_field(out, k.algorithm);
        text_field(out, k.output_count ? predict_shape(r, sooth_predicted_output(p, i, 0), "x") : "");
        text_field(out, k.output_count ? sooth_predicted_output(p, i, 0).dtype : "");
        text_puts(out, k.is_hidden ? ",1" : ",0");
        real_field(out, k.energy_j);
        text_puts(out, "\n");
    }
}

void predict_csv(predict_report *r)
{
    text_puts(
        r->out,
        r->options.kernels ? "gpu,batch,name,op,layer,latency_ms,flops,bytes,device_us,bound,phase,algorithm,shape,"
                             "dtype,hidden,energy_j\n"
        : r->options.layers
            ? "gpu,batch,name,op,latency_ms,flops,bytes,utilization,bound,ideal_ms,kernels,energy_j\n"
            : "model,gpu,batch,precision,layout,runtime,mode,latency_ms,latency_ms_low,latency_ms_high,"
              "throughput_per_s,utilization_compute,utilization_dram,utilization_occupancy,flops,bytes,mig,energy_j,"
              "energy_j_low,energy_j_high,power_w,energy_j_per_1000,co2_g,"
              "memory_mib,memory_mib_low,memory_mib_high,fits,fits_upper,arithmetic,unknown_operators\n");
    for (size_t i = 0; i < r->count; i++) {
        sooth_prediction_totals t = sooth_prediction_totals_of(r->predictions[i]);
        if (r->options.kernels)
            kernel_rows(r, r->predictions[i], &t);
        else if (r->options.layers)
            layer_rows(r->out, r->predictions[i], &t);
        else
            totals_row(r->out, r->predictions[i], &t);
    }
}
