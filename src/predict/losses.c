#include "predict/losses.h"

#include <math.h>

/* Tensor cores multiply in steps of this many elements along the summed dimension. Shorter sums are padded. */
static const double TENSOR_STEP = 8;

static double rounded_up(double size, double step)
{
    return ceil(size / step) * step;
}

/* Work of a matrix product including the padding of tiles ÷ its work without; 1 if the kernel is not a tiled
 * product. */
static double padded_work(const kernel_figures *f)
{
    double m = (double)f->gemm[1], n = (double)f->gemm[2], k = (double)f->gemm[3];
    if (!(m > 0 && n > 0 && k > 0) || f->tile_m <= 0 || f->tile_n <= 0)
        return 1;
    double tiles = rounded_up(m, f->tile_m) * rounded_up(n, f->tile_n);
    double depth = f->uses_tensor_cores ? rounded_up(k, TENSOR_STEP) : k;
    return tiles * depth / (m * n * k);
}

/* Moves up to `amount` of the unassigned time into a loss. */
static void take(double *left_us, double *loss_us, double amount)
{
    double taken = fmin(fmax(amount, 0), *left_us);
    *loss_us += taken;
    *left_us -= taken;
}

/* Splits the busy time of one kernel; `useful_us` is its FLOPs at the peak for the precision. */
static void split_kernel(sooth_losses *sum_us, const kernel_figures *f, double busy_us, double useful_us, double runs)
{
    double left_us = busy_us - useful_us;
    if (left_us <= 0) { /* Winograd multiplies less than the counted FLOPs, so useful time may exceed the total. */
        sum_us->other += left_us;
        return;
    }
    double compute_us = fmax(f->compute_us * runs, useful_us), memory_us = f->memory_us * runs;
    bool is_memory_bound = memory_us > compute_us;
    double padded = padded_work(f);
    take(&left_us, &sum_us->units, compute_us - useful_us);
    if (is_memory_bound)
        take(&left_us, &sum_us->memory, memory_us - compute_us);
    else
        take(&left_us, &sum_us->alignment, compute_us * (padded - 1));
    if (f->wave_efficiency > 0) {
        double full_us = is_memory_bound ? memory_us : compute_us * padded;
        take(&left_us, &sum_us->waves, full_us * (1 / f->wave_efficiency - 1));
    }
    *(is_memory_bound ? &sum_us->memory : &sum_us->other) += left_us;
}

sooth_losses losses_of(const sooth_prediction *answer)
{
    const sooth_prediction_totals *t = &answer->totals;
    double latency_us = t->latency_ms.value * 1e3;
    if (!(latency_us > 0) || !(t->peak_flops > 0) || !isfinite(t->peak_flops))
        return (sooth_losses){NAN, NAN, NAN, NAN, NAN, NAN};
    sooth_losses us = {.launch = latency_us};
    for (int32_t i = 0; i < answer->kernel_count; i++) {
        const kernel *k = &answer->program->kernels.items[answer->kernels[i].index];
        const kernel_time *time = &answer->times->kernels[answer->kernels[i].index];
        double runs = (double)k->repeat, busy_us = time->device_us * runs;
        us.launch -= busy_us;
        split_kernel(&us, time->figures, busy_us, (double)k->flops * runs / t->peak_flops * 1e6, runs);
    }
    if (us.launch < 0) { /* Guards against rounding errors of sums over thousands of kernels. */
        us.other += us.launch;
        us.launch = 0;
    }
    double percent = 100 / latency_us;
    return (sooth_losses){us.launch * percent, us.memory * percent,    us.units * percent,
                          us.waves * percent,  us.alignment * percent, us.other * percent};
}
