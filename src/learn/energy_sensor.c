/* energy_sensor.c: models the readings of a slow sensor as mixtures of an operator's own power and the power before
 * it. */
#include "learn/energy_sensor.h"

#include <math.h>

static const double SAMPLED_EVERY_S = 0.1, RUN_S = 1, MOST_CALLS = 3000;
enum { LAYERS_OF_A_CALL = 6 };

/* True for the largest products of the sweep, whose weights are zeros. The sweep leaves out the very largest. */
static bool is_last_of_sweep(const int64_t gemm[4])
{
    enum { LARGEST = 65536, SECOND = 51200 };
    return gemm[3] == LARGEST || (gemm[2] == LARGEST && gemm[3] == SECOND);
}

sensor_run sensor_run_of(const measured_row *row, const kernel_time *main)
{
    if (!row->kernels || !str_is(row->source, "aiconfigurator"))
        return (sensor_run){.is_own = true};
    bool is_product = str_is(row->name, "gemm");
    bool is_plain = is_product && row->where.lower.precision == PRECISION_BF16;
    double call_s = row->latency_ms * 1e-3 * (is_plain ? LAYERS_OF_A_CALL : 1);
    sensor_run run = {.run_s = fmin(MOST_CALLS * call_s, RUN_S)};
    run.is_own = run.run_s >= RUN_S && (is_plain || str_is(row->name, "encoder_attention"));
    run.has_zeros = is_plain && is_last_of_sweep(main->figures->gemm);
    return run;
}

/* Share of a reading that is the run's own power, for a run of `run_s` seconds. */
static double weight_of(double window_s, double run_s)
{
    int readings = 1 + (int)(run_s / SAMPLED_EVERY_S);
    double sum = 0;
    for (int i = 0; i < readings; i++)
        sum += fmin(i * SAMPLED_EVERY_S / window_s, 1);
    return sum / readings;
}

static double mixture(const sensor *s, double run_s, double own_w, double base_w)
{
    double weight = weight_of(s->window_s, run_s);
    return weight * own_w + (1 - weight) * s->idle * base_w;
}

double sensor_reading(const sensor *s, const sensor_run *run, double own_w, double base_w)
{
    return run->is_own ? own_w : mixture(s, run->run_s, own_w, base_w);
}

sensor sensor_fit(const sensor_row *rows, size_t count)
{
    static const double WINDOWS_S[] = {0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5}, STEP = 0.1;
    enum { WINDOWS = sizeof WINDOWS_S / sizeof *WINDOWS_S, IDLE_STEPS = 20 };
    sensor best = {.window_s = WINDOWS_S[0], .idle = 1};
    double least = INFINITY;
    for (int w = 0; w < WINDOWS; w++)
        for (int i = 1; i <= IDLE_STEPS; i++) {
            sensor s = {WINDOWS_S[w], STEP * i};
            double sum = 0;
            for (size_t r = 0; r < count; r++)
                sum += fabs(log(mixture(&s, rows[r].run_s, rows[r].own_w, rows[r].base_w) / rows[r].measured_w));
            if (sum < least) {
                least = sum;
                best = s;
            }
        }
    return best;
}
