/* predict_csv.c: `sooth predict --format csv`: one row per prediction, per layer with --layers, per kernel with
 * --kernels. An empty field is unknown. */
#include "report/predict_report.h"

#include <inttypes.h>
#include <math.h>

static void totals_row(text *out, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    text_csv(out, t->file);
    text_csv_text(out, t->gpu);
    text_csv_number(out, t->batch);
    text_csv_text(out, t->precision);
    text_csv_text(out, t->layout);
    text_csv_text(out, t->runtime);
    text_csv_text(out, t->mode);
    text_csv_real(out, t->latency_ms.value);
    text_csv_real(out, t->latency_ms.low);
    text_csv_real(out, t->latency_ms.high);
    text_csv_real(out, t->throughput_per_s);
    text_csv_real(out, t->compute_share);
    text_csv_real(out, t->dram_share);
    text_csv_real(out, t->occupancy);
    text_csv_number(out, t->flops);
    text_csv_number(out, t->bytes);
    text_csv_text(out, t->mig);
    text_csv_real(out, t->energy_j.value);
    text_csv_real(out, t->energy_j.low);
    text_csv_real(out, t->energy_j.high);
    text_csv_real(out, t->power_w.value);
    text_csv_real(out, t->energy_j_per_1000);
    text_csv_real(out, t->co2_g);
    sooth_memory m = sooth_prediction_memory(p);
    text_csv_real(out, m.known ? m.total_mib.value : NAN);
    text_csv_real(out, m.known ? m.total_mib.low : NAN);
    text_csv_real(out, m.known ? m.total_mib.high : NAN);
    bool is_known = m.known && m.capacity_mib > 0;
    text_csv_text(out, !is_known ? "" : m.fits ? "1" : "0");
    text_csv_text(out, !is_known ? "" : m.fits_upper ? "1" : "0");
    text_csv_text(out, t->arithmetic);
    int64_t unknown = 0;
    for (size_t i = 0, count; sooth_prediction_unknown(p, i, &count); i++)
        unknown += (int64_t)count;
    text_csv_number(out, unknown);
    text_puts(out, ",\n"); /* the error field is empty */
}

static void refused_row(text *out, const sooth_prediction_totals *others, const sooth_refusal *no)
{
    enum { BEFORE_MIG = 9, AFTER_MIG = 13 }; /* Number of empty fields before and after the column "mig". */
    text_csv(out, others->file);
    text_csv_text(out, no->gpu);
    text_csv_number(out, no->batch > 0 ? no->batch : -1);
    text_csv_text(out, others->precision);
    text_csv_text(out, others->layout);
    text_csv_text(out, others->runtime);
    text_csv_text(out, others->mode);
    text_repeat(out, ",", BEFORE_MIG);
    text_csv_text(out, no->mig);
    text_repeat(out, ",", AFTER_MIG);
    text_csv_text(out, no->reason);
    text_puts(out, "\n");
}

static void layer_rows(text *out, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    for (size_t i = 0; i < sooth_predicted_layer_count(p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, i);
        text_csv(out, t->gpu);
        text_csv_number(out, t->batch);
        text_csv_text(out, l.name);
        text_csv_text(out, l.op);
        text_csv_real(out, l.latency_ms);
        text_csv_number(out, l.flops);
        text_csv_number(out, l.bytes);
        text_csv_real(out, l.compute_share);
        text_csv_text(out, l.bound);
        text_csv_real(out, l.ideal_ms);
        text_csv_number(out, (int64_t)l.kernel_count);
        text_csv_real(out, l.energy_j);
        text_csv_real(out, l.device_ms);
        text_puts(out, "\n");
    }
}

static void kernel_rows(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    text *out = r->out;
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        text_csv(out, t->gpu);
        text_csv_number(out, t->batch);
        text_csv_text(out, k.name);
        text_csv_text(out, k.op);
        text_csv_text(out, sooth_predicted_layer_at(p, k.layer).name);
        text_csv_real(out, k.latency_ms);
        text_csv_number(out, k.flops);
        text_csv_number(out, k.bytes);
        text_csv_real(out, k.device_us);
        text_csv_text(out, k.bound);
        text_csv_text(out, k.phase);
        text_csv_text(out, k.algorithm);
        text_csv_text(out, k.output_count ? predict_shape(r, sooth_predicted_output(p, i, 0), "x") : "");
        text_csv_text(out, k.output_count ? sooth_predicted_output(p, i, 0).dtype : "");
        text_puts(out, k.is_hidden ? ",1" : ",0");
        text_csv_real(out, k.energy_j);
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
            ? "gpu,batch,name,op,latency_ms,flops,bytes,utilization,bound,ideal_ms,kernels,energy_j,device_ms\n"
            : "model,gpu,batch,precision,layout,runtime,mode,latency_ms,latency_ms_low,latency_ms_high,"
              "throughput_per_s,utilization_compute,utilization_dram,utilization_occupancy,flops,bytes,mig,energy_j,"
              "energy_j_low,energy_j_high,power_w,energy_j_per_1000,co2_g,"
              "memory_mib,memory_mib_low,memory_mib_high,fits,fits_upper,arithmetic,unknown_operators,error\n");
    sooth_prediction_totals first = sooth_prediction_totals_of(r->predictions[0]);
    for (size_t i = 0; i < r->count + r->options.refusal_count; i++) {
        compared row = predict_compared(r, i);
        if (row.refusal) {
            if (!r->options.kernels && !r->options.layers)
                refused_row(r->out, &first, row.refusal);
            continue;
        }
        sooth_prediction_totals t = sooth_prediction_totals_of(row.prediction);
        if (r->options.kernels)
            kernel_rows(r, row.prediction, &t);
        else if (r->options.layers)
            layer_rows(r->out, row.prediction, &t);
        else
            totals_row(r->out, row.prediction, &t);
    }
}
