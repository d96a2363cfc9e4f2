/* conv_library.h: time of a convolution by library, from arithmetic, bytes and launches: im2col + GEMM by cuBLAS as in
 * Caffe and Torch7, and the algorithms of cuDNN R1 to 6. Constants are in data/libraries.txt. */
#ifndef SOOTH_PLAN_CONV_LIBRARY_H
#define SOOTH_PLAN_CONV_LIBRARY_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct conv_shape {
    double batch, channels, height, width; /* input */
    double outputs, out_height, out_width; /* output */
    double kernel_height, kernel_width, groups;
    double element_bytes;
    bool is_pointwise; /* 1×1 with stride 1, which Caffe multiplies without im2col */
    double stride;
    bool needs_data; /* computes the gradient of the input too */
} conv_shape;

typedef struct conv_gpu {
    double flops_s, bytes_s, multiprocessors;
    double vector_flops_s; /* fp32 without tensor cores */
    double launch_s;       /* host time of a launch; 0: that of frameworks of the library's time */
    bool is_kepler, is_pascal;
    bool is_modern; /* Volta or later, with a current cuBLAS */
} conv_gpu;

/* Parts of cuBLAS's time; 0 for cuDNN. */
typedef struct conv_parts {
    double products_ms, copies_ms, launches_ms, launches;
} conv_parts;

typedef struct conv_times {
    double forward_ms, data_ms, weights_ms;
    conv_parts parts;
    double workspace_bytes;
    const char *algorithm; /* algorithm of the forward pass */
} conv_times;

enum { CONV_TILES = 6 }; /* 128×128, 128×64, 64×64, 32×32, 8×128, 256×128 */

/* Constants of a library's matrix products. */
typedef struct conv_product {
    double efficiency[CONV_TILES]; /* share of a multiprocessor's peak; 0: the library has no such tile */
    double alone;                  /* share of the peak that one thread block reaches on a multiprocessor */
    double ramp;                   /* start and end of a block, as multiplications per output */
    double bandwidth;
    double bandwidth_backward;
    double launch_us;
    double step_ns; /* least time of a block per multiplication and output */
} conv_product;

typedef struct conv_version {
    char name[8];
    double speed[3];    /* speed relative to R4: forward, data, weights */
    double winograd[3]; /* gain of Winograd over implicit GEMM for 3×3 with stride 1 */
    bool has_fft;
} conv_version;

enum { CONV_VERSIONS = 8 };

typedef struct conv_constants {
    conv_product cublas, modern, cudnn; /* cublas: GPUs before Volta; modern: Volta and later */
    double im2col_bandwidth, col2im_bandwidth, tap_ns, split_blocks;
    double modern_fill;               /* blocks per multiprocessor up to which long sums are split */
    double data_speed, weights_speed; /* speed of R4's gradients relative to its forward pass */
    double fft_efficiency;
    double kepler, pascal;
    double pool_bytes, pool_tap, pool_backward_tap, pool_backward_input; /* see data/libraries.txt */
    double error_percent;
    conv_version versions[CONV_VERSIONS];
    int version_count;
} conv_constants;

/* The constants of data/libraries.txt. Returns false if a line cannot be read or a number is missing. */
bool conv_constants_shipped(conv_constants *c);
/* Returns the index of a version; -1 if there is none of that name. */
int conv_version_of(const conv_constants *c, const char *name);

conv_times conv_by_cublas(const conv_constants *c, const conv_gpu *g, const conv_shape *s);
conv_times conv_by_cudnn(const conv_constants *c, const conv_gpu *g, const conv_shape *s, int version);

/* Times of other layers in the frameworks of that time, in which each pass is one kernel. */
typedef struct window_times {
    double forward_ms, backward_ms;
} window_times;
/* Pooling in fp32. `taps` is the number of outputs times the elements of their windows. */
window_times conv_pool_by_framework(const conv_constants *c, const conv_gpu *g, double inputs, double outputs,
                                    double taps);
/* Local response normalization of this many elements. */
window_times conv_norm_by_framework(const conv_constants *c, const conv_gpu *g, double elements);

#endif
