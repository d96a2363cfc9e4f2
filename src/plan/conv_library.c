/* conv_library.c: times of convolutions by library: matrix products by tile and wave, and the kernels around them. */
#include "plan/conv_library.h"

#include <math.h>

static const double TILES[CONV_TILES][2] = {{128, 128}, {128, 64}, {64, 64}, {32, 32}, {8, 128}, {256, 128}};
/* Limits on splitting the sum of a product with few tiles. Modern cuBLAS, and implicit GEMM, split until all
 * multiprocessors are busy. */
static const double LEAST_SPLIT = 512, LEAST_SPLIT_MODERN = 256, LONG_SUM = 1024, MOST_SPLIT = 16,
                    MOST_SPLIT_IMPLICIT = 64;
/* Tiles of cuFFT for the FFT algorithms, and the kernels for which they are used. */
enum { FFT_LEAST_KERNEL = 7, FFT_MOST_TILE = 64, FFT_MOST_TILE_DATA = 32 };
enum { WINOGRAD_KERNEL = 3 };

typedef enum splitting { SPLIT_RARELY, SPLIT_MODERN, SPLIT_NEVER, SPLIT_TO_FILL } splitting;

static double splits_of(splitting how, double tiles, double sum, const conv_constants *c, const conv_gpu *g)
{
    if (how == SPLIT_RARELY && tiles <= c->split_blocks && sum >= LONG_SUM)
        return fmin(MOST_SPLIT, floor(sum / LEAST_SPLIT));
    if (how == SPLIT_MODERN)
        return fmax(1, fmin(fmin(MOST_SPLIT, floor(c->modern_fill * g->multiprocessors / tiles)),
                            floor(sum / LEAST_SPLIT_MODERN)));
    if (how == SPLIT_TO_FILL)
        return fmax(1, fmin(MOST_SPLIT_IMPLICIT, floor(2 * g->multiprocessors / tiles)));
    return 1;
}

/* Time in seconds of an m×n product with sums over `sum` elements, on the fastest tile, without memory traffic. */
static double product_s(const conv_constants *c, const conv_product *p, const conv_gpu *g, double m, double n,
                        double sum, splitting how)
{
    double multiprocessor = g->flops_s / g->multiprocessors, best = INFINITY;
    for (int i = 0; i < 2 * CONV_TILES; i++) {
        const double *tile = TILES[i / 2];
        double rows = tile[i % 2], columns = tile[1 - i % 2], efficiency = p->efficiency[i / 2];
        if (!(efficiency > 0))
            continue;
        double tiles = ceil(m / rows) * ceil(n / columns), splits = splits_of(how, tiles, sum, c, g);
        double block_s = 2 * rows * columns * (sum / splits + p->ramp) / multiprocessor / efficiency;
        double waves = tiles * splits / g->multiprocessors;
        bool is_whole = how == SPLIT_RARELY || how == SPLIT_MODERN;
        double tile_s = block_s * fmax(is_whole ? ceil(waves) : waves, 1 / p->alone);
        best = fmin(best, fmax(tile_s, sum / splits * p->step_ns * 1e-9));
    }
    return best * (g->is_kepler ? 1 / c->kepler : 1);
}

/* ---- cuBLAS ------------------------------------------------------------------------------------------------------ */

typedef struct lowering {
    double product_s, copy_s, launches;
} lowering;

static const conv_product *cublas_of(const conv_constants *c, const conv_gpu *g)
{
    return g->is_modern ? &c->modern : &c->cublas;
}

static double gemm_s(const conv_constants *c, const conv_gpu *g, const conv_shape *s, double m, double n, double sum)
{
    double bytes = s->element_bytes * (m * sum + sum * n + m * n);
    const conv_product *p = cublas_of(c, g);
    return fmax(product_s(c, p, g, m, n, sum, g->is_modern ? SPLIT_MODERN : SPLIT_RARELY),
                bytes / (g->bytes_s * p->bandwidth));
}

/* Time of im2col or its inverse: one thread per element loops over the kernel's taps. */
static double copy_s(const conv_constants *c, const conv_gpu *g, const conv_shape *s, double bandwidth)
{
    double taps = s->kernel_height * s->kernel_width, places = s->out_height * s->out_width;
    double bytes = s->element_bytes * s->channels * (s->height * s->width + taps * places);
    return fmax(bytes / (g->bytes_s * bandwidth), taps * c->tap_ns * 1e-9);
}

/* Modern frameworks launch while the device works. Frameworks of 2014 to 2017 waited for each image. */
static void add_pass(conv_times *t, double *ms, const lowering *one, const conv_shape *s, const conv_gpu *g,
                     double kernel_launch_s, double speed)
{
    double images = s->batch / speed, device_s = one->product_s + one->copy_s;
    double launch_s = one->launches * kernel_launch_s;
    if (g->is_modern)
        launch_s = fmax(0, launch_s - device_s);
    t->parts.products_ms += images * one->product_s * 1e3;
    t->parts.copies_ms += images * one->copy_s * 1e3;
    t->parts.launches_ms += images * launch_s * 1e3;
    t->parts.launches += s->batch * one->launches;
    *ms = images * (device_s + launch_s) * 1e3;
}

/* Every pass handles one image at a time: im2col, one product per group, and the bias as a product with ones. */
conv_times conv_by_cublas(const conv_constants *c, const conv_gpu *g, const conv_shape *s)
{
    double taps = s->kernel_height * s->kernel_width, places = s->out_height * s->out_width;
    double m = s->outputs / s->groups, k = s->channels / s->groups * taps, groups = s->groups;
    double speed = g->is_pascal ? c->pascal : 1;
    double launch_s = g->launch_s > 0 ? g->launch_s : c->cublas.launch_us * 1e-6;
    double bias_s = 2 * s->element_bytes * s->outputs * places / (g->bytes_s * cublas_of(c, g)->bandwidth);
    double gather_s = s->is_pointwise ? 0 : copy_s(c, g, s, c->im2col_bandwidth), copies = s->is_pointwise ? 0 : 1;
    double scatter_s = s->is_pointwise ? 0 : copy_s(c, g, s, c->col2im_bandwidth);
    lowering forward = {groups * gemm_s(c, g, s, m, places, k), gather_s + bias_s, groups + copies + 1};
    lowering weights = {groups * gemm_s(c, g, s, m, k, places), gather_s + bias_s, groups + copies + 1};
    lowering data = {groups * gemm_s(c, g, s, k, places, m), scatter_s, groups + copies};
    conv_times t = {.algorithm = s->is_pointwise ? "GEMM per image" : "im2col + GEMM per image",
                    .workspace_bytes = s->is_pointwise ? 0 : s->element_bytes * s->channels * taps * places};
    add_pass(&t, &t.forward_ms, &forward, s, g, launch_s, speed);
    add_pass(&t, &t.weights_ms, &weights, s, g, launch_s, speed);
    if (s->needs_data)
        add_pass(&t, &t.data_ms, &data, s, g, launch_s, speed);
    return t;
}

/* ---- cuDNN ------------------------------------------------------------------------------------------------------- */

static double fft_tile(const conv_shape *s)
{
    double side = fmax(s->height, s->width), tile = 8;
    while (tile < side)
        tile *= 2;
    return tile;
}

static bool serves_fft(const conv_version *v, const conv_shape *s, double most_tile)
{
    return v->has_fft && s->stride == 1 && s->groups == 1 && s->kernel_height >= FFT_LEAST_KERNEL &&
           fft_tile(s) <= most_tile;
}

/* Number of frequencies of a map; for real data, half of them are redundant. */
static double frequencies(double tile)
{
    return tile * (tile / 2 + 1);
}

static double fft_bytes(const conv_shape *s)
{
    double maps = s->batch * s->channels + s->batch * s->outputs + s->channels * s->outputs;
    return maps * frequencies(fft_tile(s)) * 8;
}

/* FFT: transforms maps and filters, multiplies complex matrices for each frequency, and transforms back. */
static double fft_s(const conv_constants *c, const conv_gpu *g, const conv_shape *s)
{
    double flops = 8 * s->batch * s->channels * s->outputs * frequencies(fft_tile(s));
    return (flops / g->flops_s + 2 * fft_bytes(s) / g->bytes_s) / c->fft_efficiency;
}

typedef struct implicit {
    double m, n, sum;
    splitting how;
    double speed, bandwidth;
} implicit;

static double implicit_s(const conv_constants *c, const conv_gpu *g, const conv_shape *s, const implicit *p)
{
    double maps = s->batch * (s->channels * s->height * s->width + s->outputs * s->out_height * s->out_width);
    double weights = s->outputs * s->channels / s->groups * s->kernel_height * s->kernel_width;
    double bytes_s = s->element_bytes * (maps + weights) / (g->bytes_s * p->bandwidth);
    return fmax(s->groups * product_s(c, &c->cudnn, g, p->m, p->n, p->sum, p->how) / p->speed, bytes_s);
}

conv_times conv_by_cudnn(const conv_constants *c, const conv_gpu *g, const conv_shape *s, int version)
{
    const conv_version *v = &c->versions[version];
    double taps = s->kernel_height * s->kernel_width, places = s->batch * s->out_height * s->out_width;
    double m = s->outputs / s->groups, channels = s->channels / s->groups, stride2 = s->stride * s->stride;
    bool is_winograd = s->kernel_height == WINOGRAD_KERNEL && s->kernel_width == WINOGRAD_KERNEL && s->stride == 1 &&
                       s->groups == 1 && v->winograd[0] > 1;
    double gain[3];
    for (int i = 0; i < 3; i++)
        gain[i] = v->speed[i] * (is_winograd ? v->winograd[i] : 1);
    implicit forward = {m, places, channels * taps, SPLIT_NEVER, gain[0], c->cudnn.bandwidth};
    implicit data = {channels,    s->batch * s->height * s->width, m * taps / stride2,
                     SPLIT_NEVER, gain[1] * c->data_speed,         c->cudnn.bandwidth_backward};
    implicit weights = {
        m, channels * taps, places, SPLIT_TO_FILL, gain[2] * c->weights_speed, c->cudnn.bandwidth_backward};
    bool is_fft = serves_fft(v, s, FFT_MOST_TILE);
    double launch_s = c->cudnn.launch_us * 1e-6;
    conv_times t = {.algorithm = is_fft        ? "FFT"
                                 : is_winograd ? "Winograd"
                                               : "implicit GEMM",
                    .workspace_bytes = is_fft ? fft_bytes(s) : 0};
    t.forward_ms = (launch_s + (is_fft ? fft_s(c, g, s) : implicit_s(c, g, s, &forward))) * 1e3;
    t.weights_ms = (launch_s + (is_fft ? fft_s(c, g, s) : implicit_s(c, g, s, &weights))) * 1e3;
    if (s->needs_data)
        t.data_ms =
            (launch_s + (serves_fft(v, s, FFT_MOST_TILE_DATA) ? fft_s(c, g, s) : implicit_s(c, g, s, &data))) * 1e3;
    t.parts.launches = s->needs_data ? 3 : 2;
    return t;
}

/* ---- other layers ------------------------------------------------------------------------------------------------ */

enum { FLOAT_BYTES = 4 };

window_times conv_pool_by_framework(const conv_constants *c, const conv_gpu *g, double inputs, double outputs,
                                    double taps)
{
    double bytes = FLOAT_BYTES * (inputs + 2 * outputs), launch_s = c->cublas.launch_us * 1e-6; /* results and places */
    double forward = c->pool_bytes * bytes / g->bytes_s + c->pool_tap * taps / g->vector_flops_s;
    double backward = (c->pool_backward_tap * taps + c->pool_backward_input * inputs) / g->vector_flops_s;
    return (window_times){1e3 * (launch_s + forward), 1e3 * (launch_s + backward)};
}

window_times conv_norm_by_framework(const conv_constants *c, const conv_gpu *g, double elements)
{
    enum { FORWARD = 3, BACKWARD = 5 }; /* Maps that are read or written: input, output, sums; and their gradients. */
    double map_s = FLOAT_BYTES * elements / (c->im2col_bandwidth * g->bytes_s), launch_s = c->cublas.launch_us * 1e-6;
    return (window_times){1e3 * (launch_s + FORWARD * map_s), 1e3 * (launch_s + BACKWARD * map_s)};
}
