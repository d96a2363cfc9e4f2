/* algorithm.c: rules for the algorithm and workspace of a convolution, and for the launch of every kernel.
 *
 * Each threshold names its data: "cudnn": choices of cuDNN 9.26 for 14,800 convolutions on five GPUs (compute
 * capability 7.5 to 9.0), one fifth held out; "cublas": names and grids of measured fp32 products on eight GPUs;
 * "autotuned": the fastest algorithm of 22,000 measured 3 x 3 convolutions in fp32 (cuDNN 8.9); "launches": recorded
 * launches of PyTorch 2.15. */
#include "predict/algorithm.h"

#include <math.h>
#include <stdio.h>

/* ---- what the rules look at -------------------------------------------------------------------------------------- */

static bool is_amd(const device *d)
{
    str vendor = d->texts[DEVICE_VENDOR];
    return vendor.len == 3 && memcmp(vendor.ptr, "AMD", 3) == 0;
}

static bool has(double number)
{
    return number > 0; /* False for NAN, the value of a missing unit. */
}

static bool has_tensor_cores(const work *w, const device_view *d)
{
    const double *n = d->device->numbers;
    switch ((dtype)w->product_dtype) {
    case DT_FLOAT16:
        return has(n[DEVICE_TENSOR_FP16]);
    case DT_BFLOAT16:
        return has(n[DEVICE_TENSOR_BF16]);
    case DT_INT8:
    case DT_UINT8:
        return has(n[DEVICE_TENSOR_INT8]);
    case DT_FLOAT8E4M3FN:
    case DT_FLOAT8E5M2:
        return has(n[DEVICE_TENSOR_FP8]);
    case DT_FLOAT32:
        return d->allows_tf32 && d->capability >= 8 && has(n[DEVICE_TENSOR_TF32]);
    default:
        return false;
    }
}

typedef struct conv {
    double groups, channels, filters; /* Groups, and channels and filters of one group. */
    double images, pixels;            /* Output pixels of all images. */
    double taps;                      /* Size of the window. */
    double rows, columns, stride, padding;
    double input_bytes, output_bytes, weight_bytes, element_bytes;
    double macs;
    double intensity;      /* MACs per element read or written. */
    double compute_excess; /* Compute time without tensor cores ÷ memory time. */
    double capability;
    bool channels_last, dilated;
} conv;

static conv conv_of(const work *w, const kernel *k, const device_view *d)
{
    const kernel_window *v = k->window;
    int last = v->rank > 0 ? v->rank - 1 : 0, first = v->rank > 1 ? v->rank - 2 : last;
    conv c = {.groups = w->gemm[0], .pixels = w->gemm[1], .taps = 1, .capability = d->capability};
    for (int i = 0; i < v->rank; i++) {
        c.taps *= (double)v->size[i];
        c.dilated |= v->dilation[i] > 1;
    }
    c.channels = v->transposed ? w->gemm[3] : w->gemm[3] / c.taps;
    c.filters = v->transposed ? w->gemm[2] / c.taps : w->gemm[2];
    c.rows = v->rank > 1 ? (double)v->size[first] : 1;
    c.columns = (double)v->size[last];
    c.stride = (double)v->stride[first];
    c.padding = (double)v->padding[first];
    c.element_bytes = dtype_bits((dtype)w->product_dtype) / 8.0;
    c.weight_bytes = c.groups * c.channels * c.filters * c.taps * c.element_bytes;
    bool backward = k->phase == PHASE_BACKWARD;
    double gradient = backward ? c.pixels * c.groups * c.filters * c.element_bytes : 0;
    c.output_bytes = backward ? gradient : (double)k->bytes_written;
    c.input_bytes = fmax((double)k->bytes_read - c.weight_bytes - gradient, c.element_bytes);
    c.macs = c.groups * c.pixels * c.filters * c.channels * c.taps;
    double bytes = c.input_bytes + c.output_bytes + c.weight_bytes;
    c.intensity = c.macs * c.element_bytes / bytes;
    c.compute_excess = 2 * c.macs / d->vector_flops / (bytes / d->bandwidth_b_s);
    c.channels_last = w->features[WORK_INPUT_CHANNELS_LAST] > 0;
    c.images = round(exp2((double)w->features[WORK_CONV_IMAGES]));
    return c;
}

/* ---- algorithms of convolutions ---------------------------------------------------------------------------------- */

typedef struct choice {
    const char *name, *reason;
    bool tensor;
} choice;

static const char IMPLICIT[] = "implicit GEMM", WINOGRAD[] = "Winograd", WINOGRAD_STEPS[] = "Winograd, not fused",
                  IM2COL[] = "im2col + GEMM", DEPTHWISE[] = "direct depthwise", GROUPED[] = "direct grouped",
                  DIRECT[] = "direct";

static bool fits_winograd(const conv *c)
{
    return c->rows == 3 && c->columns == 3 && c->stride == 1 && !c->dilated && c->groups == 1;
}

/* MIOpen: fitted to its 75 choices in DeepBench (two GPUs, fp32). */
static choice choose_amd(const conv *c)
{
    if (fits_winograd(c))
        return (choice){WINOGRAD, "3 x 3 with stride 1", false};
    if (c->taps == 1)
        return (choice){IM2COL, "a 1 x 1 window is a product without im2col", false};
    return (choice){DIRECT, "no window for Winograd", false};
}

/* Before Turing: autotuned choices on V100, P100 and P4. There is no rule for FFT, because only 1 shape in 250 uses
 * it. */
static choice choose_before_turing(const conv *c)
{
    if (!fits_winograd(c))
        return (choice){IMPLICIT, "no tensor cores, no window for Winograd", false};
    if (c->intensity <= 9 * 74.6) {
        if (c->channels <= 43)
            return (choice){IMPLICIT, "too few channels for Winograd", false};
        if (c->filters > 593)
            return (choice){IMPLICIT, "too many filters for the tiles of Winograd", false};
        return (choice){WINOGRAD, "few MACs per byte: all steps in one kernel", false};
    }
    return (choice){WINOGRAD_STEPS, "many MACs per byte: products in a kernel of their own", false};
}

/* fp32 without tensor cores. cudnn, fwd f32: 2,200 shapes. Hopper has no Winograd in this version. */
static choice choose_vector(const conv *c, const char *reason)
{
    if (c->groups > 1)
        return (choice){GROUPED, reason, false};
    if (fits_winograd(c) && c->padding == 1 && c->capability < 9 && c->compute_excess > 2.5)
        return (choice){WINOGRAD, "float32 without tensor cores, and computing takes 2.5 times as long as loading",
                        false};
    return (choice){IMPLICIT, reason, false};
}

/* TF32 copies tensors to the tensor-core layout and back, so products must outweigh the copies. cudnn, fwd tf32: 2,200
 * shapes. */
static choice choose_tf32(const conv *c)
{
    static const char PAYS[] = "TF32 saves more than the change of layout costs";
    static const char PAYS_NOT[] = "TF32 would save less than the change of layout costs";
    bool pays;
    if (c->groups > 1)
        pays = c->channels >= 3 && c->capability != 8.6 && c->compute_excess > 0.75 && c->groups <= 58;
    else if (c->compute_excess > 1.92)
        pays = c->channels * c->taps > 116 || c->macs > 1.1e8;
    else if (c->compute_excess > 1.03)
        pays = c->capability > 8.75 || c->filters > 130;
    else
        pays = c->pixels <= 92864 && c->channels * c->taps > 93;
    return pays ? (choice){IMPLICIT, PAYS, true} : choose_vector(c, PAYS_NOT);
}

/* 16 bits or less. cudnn: fwd 6,000 shapes, dgrad and wgrad 2,200 each. */
static choice choose_tensor(const conv *c, conv_direction direction, double sms)
{
    double outputs_per_sm = c->pixels * c->filters * c->groups / sms;
    if (direction == CONV_DATA_GRADIENT && c->groups == 1) {
        if (c->stride >= 4 && sms > 95)
            return (choice){IMPLICIT, "gradient of patches that do not overlap: without tensor cores", false};
        if (outputs_per_sm <= 69 && c->filters <= 101)
            return (choice){IMPLICIT, "too small for tensor cores", false};
    }
    if (direction == CONV_FILTER_GRADIENT && c->macs <= 1.7e6 && c->intensity <= 12 && sms > 95)
        return (choice){IMPLICIT, "too small for tensor cores", false};
    return (choice){IMPLICIT, "tensor cores", true};
}

static choice choose_conv(const conv *c, const work *w, const device_view *d, conv_direction direction)
{
    bool depthwise = c->groups > 1 && c->channels == 1;
    bool tensor = has_tensor_cores(w, d);
    /* cudnn, wgrad: windows above 8 x 8 with much arithmetic are the exception. */
    if (depthwise && !(tensor && direction == CONV_FILTER_GRADIENT && c->taps > 65 && c->intensity > 16))
        return (choice){DEPTHWISE, "one channel in each group: no product to tile", false};
    if (is_amd(d->device) && !tensor)
        return choose_amd(c);
    if (!tensor)
        return c->capability < 7.4 && c->groups == 1 ? choose_before_turing(c)
                                                     : choose_vector(c, "no tensor cores for this type");
    if (w->product_dtype == DT_FLOAT32)
        return choose_tf32(c);
    return choose_tensor(c, direction, d->sms);
}

/* ---- workspace of convolutions ----------------------------------------------------------------------------------- */

static double padded(double size, double to)
{
    return ceil(size / to) * to;
}

/* Returns the bytes of copies that pad channels to a multiple of eight, which tensor cores need to load operands. */
static double padding_copies(const conv *c, conv_direction direction)
{
    double all_in = c->channels * c->groups, all_out = c->filters * c->groups, bytes = 0;
    /* In the forward pass, the first layer has special kernels. */
    if (fmod(all_in, 8) != 0 && !(direction == CONV_FORWARD && all_in <= 4))
        bytes += c->input_bytes * padded(all_in, 8) / all_in;
    if (fmod(all_out, 8) != 0)
        bytes += c->output_bytes * padded(all_out, 8) / all_out;
    return bytes;
}

/* Grouped convolutions have kernels for 4, 8, 16 and 32 channels per group. Other groups are copied and merged. */
static double group_copies(const conv *c)
{
    double n = c->channels;
    if (n == c->filters && (n == 4 || n == 8 || n == 16 || n == 32))
        return 0;
    double factor = n < 32 ? exp2(ceil(log2(n))) / n : 1;
    return (c->input_bytes + c->output_bytes) * factor;
}

/* Workspace in bytes, from "cudnn" for the same shapes, without offset tables of a few kilobytes. */
static double conv_workspace(const conv *c, const choice *chosen, conv_direction direction, double split_k)
{
    if (chosen->name == WINOGRAD)
        return 4 * c->weight_bytes;     /* A 3 x 3 window is transformed to 6 x 6. */
    if (chosen->name == WINOGRAD_STEPS) /* Windows, and tiles of 4 x 4 outputs, transformed to 6 x 6. */
        return 4 * c->weight_bytes + 2.25 * (c->input_bytes + c->output_bytes);
    if (chosen->name == IM2COL)
        return c->taps > 1 ? c->pixels * c->taps * c->channels * c->groups * c->element_bytes : 0;
    if (direction == CONV_FILTER_GRADIENT && chosen->name == DEPTHWISE && c->element_bytes < 4) {
        /* Eight fp32 partial sums per image and 32 channels. Almost none if another kernel applies, which needs
         * small windows and vectors of eight channels. */
        bool in_vectors = fmod(c->groups, 8) == 0 && c->taps < 49;
        return in_vectors ? 0 : 8 * c->images * padded(c->groups, 32) * c->taps * 4;
    }
    /* float32 in channels first: both gradients run in the tensor-core layout. cuDNN's choices have no such rows, so
     * the rule follows the allocator's memory in training steps (data/memory.txt). */
    if (direction != CONV_FORWARD && !c->channels_last && c->element_bytes == 4 && chosen->name != DEPTHWISE)
        return c->output_bytes + c->weight_bytes + (direction == CONV_FILTER_GRADIENT ? c->input_bytes : 0);
    if (!chosen->tensor)
        return 0;
    if (!c->channels_last) { /* Copies to the tensor-core layout; Hopper's kernels cannot write the other layout. */
        bool writes_back = c->groups > 1 || c->capability >= 9;
        return c->input_bytes + (writes_back ? c->output_bytes : c->weight_bytes);
    }
    if (c->groups > 1)
        return group_copies(c);
    double bytes = padding_copies(c, direction);
    if (direction == CONV_FILTER_GRADIENT && c->capability <= 8 && split_k > 1)
        bytes += c->weight_bytes * 4 / c->element_bytes * split_k; /* Partial sums in fp32. */
    return bytes;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Tiles that a library has on a GPU generation, with the time per output relative to the best tile. The library
 * selects the tile with the least cost: waves x outputs per wave x this factor. */
typedef struct tile {
    int16_t m, n;
    float factor;
} tile;

enum { MAX_TILES = 6 };
typedef struct tile_set {
    double from_capability;
    double resident; /* Resident thread blocks per multiprocessor. */
    tile tiles[MAX_TILES];
} tile_set;

/* cublas: 36,132 fp32 products of linear layers. Factors were fitted so that the tile and the number of blocks
 * agree. */
static const tile_set SINGLE_TILES[] = {
    {9.0, 1, {{128, 128, 1.00F}, {64, 64, 1.20F}, {64, 256, 1.67F}, {256, 128, 1.40F}}},
    {8.6, 2, {{64, 128, 1.00F}, {64, 64, 1.19F}, {128, 256, 1.18F}, {128, 128, 1.40F}, {32, 64, 1.41F}}},
    {8.0,
     1,
     {{64, 128, 1.00F}, {32, 128, 1.06F}, {128, 32, 1.06F}, {128, 128, 1.08F}, {32, 32, 1.29F}, {32, 64, 1.81F}}},
    {7.5,
     1,
     {{128, 128, 1.00F}, {64, 128, 1.01F}, {64, 64, 1.29F}, {128, 32, 1.74F}, {32, 128, 1.74F}, {32, 32, 2.46F}}},
    {7.0,
     4,
     {{64, 128, 1.00F}, {128, 128, 1.08F}, {32, 128, 1.14F}, {128, 32, 1.14F}, {32, 32, 2.31F}, {32, 64, 2.36F}}},
    {6.1, 4, {{64, 64, 1.00F}, {128, 32, 1.00F}, {128, 128, 1.57F}, {32, 128, 2.22F}}},
    {0.0, 1, {{128, 32, 1.00F}, {64, 64, 1.07F}, {32, 128, 1.88F}}},
};

/* cublas: 90,944 batched fp32 products. Most generations use one tile for all. */
static const tile_set BATCHED_TILES[] = {
    {9.0, 1, {{128, 128, 1.00F}, {64, 64, 1.06F}, {128, 256, 1.40F}, {32, 32, 1.50F}}},
    {8.0, 1, {{128, 128, 1.00F}}},
    {7.5, 1, {{64, 128, 1.00F}, {64, 64, 1.19F}, {32, 128, 1.19F}}},
    {7.0, 2, {{64, 64, 1.00F}, {128, 32, 1.00F}, {32, 128, 2.56F}}},
    {0.0, 1, {{64, 128, 1.00F}}},
};

/* Tensor cores: names of the measured kernels are not available, so these are common tiles. Larger ones need fewer
 * loads per product. Hopper's warp groups fill 128 rows. */
static const tile_set TENSOR_TILES[] = {
    {9.0, 1, {{128, 256, 1.00F}, {128, 128, 1.10F}, {128, 64, 1.30F}, {64, 64, 1.60F}}},
    {0.0, 1, {{128, 256, 1.00F}, {256, 128, 1.00F}, {128, 128, 1.08F}, {128, 64, 1.25F}, {64, 64, 1.50F}}},
};

static const tile_set *tile_set_of(const tile_set *sets, double capability)
{
    while (sets->from_capability > capability)
        sets++;
    return sets;
}

static const tile *choose_tile(const tile_set *set, double batch, double m, double n, double sms)
{
    const tile *best = NULL;
    double least = INFINITY, slots = sms * set->resident;
    for (const tile *t = set->tiles; t < set->tiles + MAX_TILES && t->m; t++) {
        double blocks = batch * round_up(m / t->m) * round_up(n / t->n);
        double cost = round_up(blocks / slots) * t->m * t->n * t->factor;
        if (cost < least) {
            least = cost;
            best = t;
        }
    }
    return best ? best : set->tiles;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static double limit_or(double limit, double otherwise)
{
    return has(limit) ? limit : otherwise;
}

/* Computes waves and occupancy of `blocks` with this many threads and registers per thread. */
static void launch(algorithm *a, const device_view *d, double blocks, double threads, double registers)
{
    const double *n = d->device->numbers;
    double most = limit_or(n[DEVICE_THREADS], 2048);
    double resident = fmin(most / threads, limit_or(n[DEVICE_REGISTERS], 65536) / (threads * registers));
    resident = fmax(floor(fmin(resident, limit_or(n[DEVICE_BLOCKS], 32))), 1);
    a->blocks = fmax(blocks, 1);
    a->waves = a->blocks / (d->sms * resident);
    a->wave_efficiency = a->waves / round_up(a->waves);
    a->occupancy = fmin(fmin(resident, round_up(a->blocks / d->sms)) * threads / most, 1);
}

/* Accumulators are in registers; operands and addresses take as many registers again. */
static const double OTHER_REGISTERS = 64, MOST_REGISTERS = 255;

static void launch_tiles(algorithm *a, const device_view *d, const tile *t, double batch, double m, double n)
{
    a->tile_m = t->m;
    a->tile_n = t->n;
    double threads = t->m * t->n >= 128 * 128 ? 256 : 128;
    double registers = fmin(t->m * t->n / threads + OTHER_REGISTERS, MOST_REGISTERS);
    launch(a, d, batch * round_up(m / t->m) * round_up(n / t->n) * a->split_k, threads, registers);
}

static void launch_product(algorithm *a, const device_view *d, double batch, double m, double n)
{
    const tile_set *sets = a->uses_tensor_cores ? TENSOR_TILES : batch > 1 ? BATCHED_TILES : SINGLE_TILES;
    launch_tiles(a, d, choose_tile(tile_set_of(sets, d->capability), batch, m, n, d->sms), batch, m, n);
}

/* Profiles of a V100, fp32: implicit GEMM has large tiles even where they leave most multiprocessors empty, and two
 * thread blocks are resident. */
static bool has_large_tiles(const choice *chosen, const conv *c)
{
    return chosen->name == IMPLICIT && !chosen->tensor && c->capability < 7.4 && c->groups == 1;
}

static void launch_large_tiles(algorithm *a, const device_view *d, const conv *c)
{
    a->tile_m = 128;
    a->tile_n = c->filters >= 512 ? 128 : 64;
    launch(a, d, round_up(c->pixels / a->tile_m) * round_up(c->filters / a->tile_n), 256, 128);
}

/* Splits the sum over all pixels, so that the few tiles of a filter gradient fill the device. */
static double slices(const conv *c, double sms)
{
    double tiles = c->groups * ceil(c->filters / 128) * ceil(c->channels * c->taps / 128);
    return fmax(floor(fmin(sms / tiles, c->pixels / 256)), 1);
}

/* Other kernels use at most 64 registers per thread (measured launches; assumed elsewhere). */
static const double PLAIN_REGISTERS = 32;

/* Rule "launches". Softmax: four warps, each with two rows of up to 128 numbers or one longer row. Sums: 16 warps,
 * each with a row; if channels are last, 128 threads, each with four columns. */
static double launch_reduction(const work *w, const kernel *k, double rows, double *threads)
{
    if (strstr(k->op, "softmax"))
        return rows / (w->features[WORK_REDUCED_LENGTH] <= 7 ? 8 : 4);
    if (w->features[WORK_INPUT_CHANNELS_LAST] > 0)
        return rows / 512;
    *threads = 512;
    return rows / 16;
}

/* Profiles of a V100, channels first: in inference a block per channel and image with a thread per four pixels, in
 * training a block per channel. Channels last is assumed to launch as many. */
static double launch_batch_norm(const work *w, const kernel *k, double *threads)
{
    double channels = round(exp2((double)w->features[WORK_NORM_CHANNELS]));
    bool is_training = k->output_count > 1 || k->phase == PHASE_BACKWARD;
    *threads = is_training ? 512 : fmin(fmax(exp2(ceil((double)w->features[WORK_NORM_PIXELS]) - 2), 32), 512);
    return is_training ? channels : channels * round(exp2((double)w->features[WORK_NORM_IMAGES]));
}

static void launch_plain(algorithm *a, const work *w, const kernel *k, const device_view *d)
{
    double rows = round(exp2((double)w->features[WORK_REDUCED_ROWS])); /* Launches of norms and reductions. */
    double bytes = w->features[WORK_INPUT_BITS_32] * 4;
    bool irregular = w->features[WORK_BROADCAST_INPUTS] > 0 || w->features[WORK_STRIDED_INPUTS] > 0;
    double threads = 128,
           elements = 8; /* Rule "launches": 1,477 of 1,497 pointwise kernels have ceil(elements / 1024) blocks. */
    double blocks = 0;
    switch (w->group) {
    case WORK_NORM: /* Rule "launches": one block per row. */
        blocks = rows;
        if (strstr(k->op, "batch_norm"))
            blocks = launch_batch_norm(w, k, &threads);
        break;
    case WORK_REDUCE:
        blocks = launch_reduction(w, k, rows, &threads);
        break;
    case WORK_WINDOW:
    case WORK_RESIZE:
        threads = 256;
        elements = 1;
        break;
    case WORK_UPDATE: /* Rule "launches": multi_tensor_apply has 512 threads for each chunk of 65,536 elements. */
        threads = 512;
        elements = 128;
        break;
    case WORK_MOVE:
    /* Rule "launches": elementwise_kernel<128, 4> for elements of at most two bytes, otherwise <128, 2>. */
    case WORK_POINTWISE:
        if (irregular)
            elements = bytes < 4 ? 4 : 2;
        break;
    default:
        break;
    }
    if (blocks <= 0)
        blocks = w->elements / (threads * elements);
    launch(a, d, round_up(blocks), threads, PLAIN_REGISTERS);
}

static void attend(algorithm *a, const work *w, const kernel *k, const device_view *d)
{
    bool flash = strstr(k->op, "flash") != NULL, cudnn = strstr(k->op, "cudnn") != NULL;
    a->name = flash ? "flash attention" : cudnn ? "flash attention of cuDNN" : "memory-efficient attention";
    a->reason = flash   ? "16 bits without a bias"
                : cudnn ? "16 bits on a GPU that the library prefers"
                        : "a bias, or float32";
    a->uses_tensor_cores = has_tensor_cores(w, d);
    /* Rule "launches": flash_fwd_kernel has 128 threads per 128 queries of a head, fmha_cutlassF per 64 queries. */
    tile t = {.m = flash || cudnn ? 128 : 64, .n = 64};
    launch_tiles(a, d, &t, w->gemm[0], w->gemm[1], 1);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static bool is_conv(const work *w, const kernel *k)
{
    return w->gemm[0] > 0 && k->window && k->window->rank > 0 && w->group != WORK_PRODUCT && w->group != WORK_ATTENTION;
}

algorithm algorithm_of_direction(const work *w, const kernel *k, const device_view *d, conv_direction direction)
{
    algorithm a = {.split_k = 1};
    conv c = conv_of(w, k, d);
    choice chosen = choose_conv(&c, w, d, direction);
    a.name = chosen.name;
    a.reason = chosen.reason;
    a.uses_tensor_cores = chosen.tensor;
    double inputs = c.input_bytes / c.element_bytes;
    if (chosen.name == DEPTHWISE) {
        /* Rule "launches": conv_depthwise2d_forward_kernel, 1024 threads with one output each. */
        double outputs = direction == CONV_DATA_GRADIENT ? inputs : c.pixels * c.filters * c.groups;
        launch(&a, d, ceil(outputs / 1024), 1024, PLAIN_REGISTERS);
    } else if (direction == CONV_FILTER_GRADIENT) {
        a.split_k = slices(&c, d->sms);
        launch_product(&a, d, c.groups, c.filters, c.channels * c.taps);
    } else if (direction == CONV_DATA_GRADIENT) {
        launch_product(&a, d, c.groups, inputs / (c.channels * c.groups), c.channels);
    } else if (has_large_tiles(&chosen, &c)) {
        launch_large_tiles(&a, d, &c);
    } else {
        launch_product(&a, d, c.groups, c.pixels, c.filters);
    }
    double bytes = conv_workspace(&c, &chosen, direction, a.split_k);
    a.workspace_bytes = bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
    return a;
}

/* Describes the data gradient if there is one, because it is the larger product. The workspace is the larger of
 * both. */
static algorithm backward_of(const work *w, const kernel *k, const device_view *d)
{
    algorithm filters = algorithm_of_direction(w, k, d, CONV_FILTER_GRADIENT);
    double one = w->gemm[0] * w->gemm[1] * w->gemm[2] * w->gemm[3];
    if (w->macs < 1.5 * one)
        return filters;
    algorithm data = algorithm_of_direction(w, k, d, CONV_DATA_GRADIENT);
    if (filters.workspace_bytes > data.workspace_bytes)
        data.workspace_bytes = filters.workspace_bytes;
    return data;
}

algorithm algorithm_of(const work *w, const kernel *k, const device_view *d)
{
    if (is_conv(w, k)) {
        bool turned = k->window->transposed;
        return k->phase == PHASE_BACKWARD ? backward_of(w, k, d)
                                          : algorithm_of_direction(w, k, d, turned ? CONV_DATA_GRADIENT : CONV_FORWARD);
    }
    algorithm a = {.split_k = 1};
    if (w->group == WORK_PRODUCT && w->gemm[0] > 0) {
        a.name = w->gemm[0] > 1 ? "batched GEMM" : "GEMM";
        a.uses_tensor_cores = has_tensor_cores(w, d);
        a.reason = a.uses_tensor_cores ? "tensor cores" : "no tensor cores for this type";
        launch_product(&a, d, w->gemm[0], w->gemm[1], w->gemm[2]);
    } else if (w->group == WORK_ATTENTION && w->gemm[0] > 0) {
        attend(&a, w, k, d);
    } else {
        launch_plain(&a, w, k, d);
    }
    return a;
}
