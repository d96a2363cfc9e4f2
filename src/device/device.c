/* device.c: the fields of a GPU and values derived from them. */
#include "device/device.h"

#include <math.h>

static const device_field_info FIELDS[DEVICE_FIELD_COUNT] = {
    [DEVICE_NAME] = {"name", "its name: lower-case letters, digits, '-' and '.'", 0, 0, true},
    [DEVICE_ALIASES] = {"aliases", "other names, separated by commas", 0, 0, false},
    [DEVICE_VENDOR] = {"vendor", "NVIDIA, AMD …", 0, 0, true},
    [DEVICE_ARCHITECTURE] = {"architecture", "Ampere, CDNA 2 …", 0, 0, true},
    [DEVICE_CHIP] = {"chip", "GA100, Aldebaran …", 0, 0, false},
    [DEVICE_COMPUTE_CAPABILITY] = {"compute_capability", "8.0, gfx90a …", 0, 0, true},
    [DEVICE_MEMORY_TYPE] = {"memory_type", "HBM2e, GDDR6 …", 0, 0, true},
    [DEVICE_LINK] = {"link", "interconnect between GPUs: NVLink 3, Infinity Fabric 3 … or none", 0, 0, false},
    [DEVICE_SMS] = {"sms", "multiprocessors (AMD: compute units)", 1, 4096, true},
    [DEVICE_BASE_MHZ] = {"base_mhz", "base clock", 100, 10000, false},
    [DEVICE_BOOST_MHZ] = {"boost_mhz", "boost clock", 100, 10000, true},
    [DEVICE_TENSOR_MHZ] = {"tensor_mhz", "clock of the vendor's tensor peaks, if not the boost clock", 100, 10000,
                           false},
    [DEVICE_FP64] = {"fp64_per_clock", "FLOPs per clock and multiprocessor, fp64", 0, 65536, false},
    [DEVICE_FP32] = {"fp32_per_clock", "FLOPs per clock and multiprocessor, fp32", 1, 65536, true},
    [DEVICE_FP16] = {"fp16_per_clock", "FLOPs per clock and multiprocessor, fp16, no tensor core", 0, 65536, true},
    [DEVICE_BF16] = {"bf16_per_clock", "FLOPs per clock and multiprocessor, bf16, no tensor core", 0, 65536, false},
    [DEVICE_INT8] = {"int8_per_clock", "operations per clock and multiprocessor, int8, no tensor core", 0, 65536,
                     false},
    [DEVICE_TENSOR_FP32] = {"tensor_fp32_per_clock", "same for tensor cores, fp32", 0, 1 << 20, false},
    [DEVICE_TENSOR_TF32] = {"tensor_tf32_per_clock", "same for tensor cores, tf32", 0, 1 << 20, true},
    [DEVICE_TENSOR_FP16] = {"tensor_fp16_per_clock", "same for tensor cores, fp16 accumulated in fp32", 0, 1 << 20,
                            true},
    [DEVICE_TENSOR_FP16_ACC16] = {"tensor_fp16_acc16_per_clock", "same for tensor cores, fp16 accumulated in fp16", 0,
                                  1 << 20, false},
    [DEVICE_TENSOR_BF16] = {"tensor_bf16_per_clock", "same for tensor cores, bf16", 0, 1 << 20, true},
    [DEVICE_TENSOR_FP8] = {"tensor_fp8_per_clock", "same for tensor cores, fp8 accumulated in fp32", 0, 1 << 20, true},
    [DEVICE_TENSOR_INT8] = {"tensor_int8_per_clock", "same for tensor cores, int8", 0, 1 << 20, true},
    [DEVICE_MEMORY_GIB] = {"memory_gib", "installed memory", 0.25, 65536, true},
    [DEVICE_USABLE_MIB] = {"usable_mib", "memory as the driver reports it", 256, 1 << 26, false},
    [DEVICE_MEMORY_BUS_BITS] = {"memory_bus_bits", "width of the memory bus", 32, 65536, true},
    [DEVICE_MEMORY_GBIT_S] = {"memory_gbit_s", "data rate per pin of the memory bus", 0.1, 1000, true},
    [DEVICE_BANDWIDTH_GB_S] = {"bandwidth_gb_s", "memory bandwidth", 1, 100000, true},
    [DEVICE_L2_MIB] = {"l2_mib", "L2 cache", 0.0625, 4096, true},
    [DEVICE_L3_MIB] = {"l3_mib", "cache between L2 and memory", 0, 16384, false},
    [DEVICE_L1_KIB] = {"l1_kib_per_sm", "L1 cache of a multiprocessor, including shared memory if they are one", 1,
                       4096, true},
    [DEVICE_SHARED_KIB] = {"shared_kib_per_sm", "shared memory of a multiprocessor (AMD: LDS)", 1, 4096, true},
    [DEVICE_REGISTERS] = {"registers_per_sm", "32-bit registers of a multiprocessor", 1024, 1 << 22, true},
    [DEVICE_THREADS] = {"threads_per_sm", "threads that can be resident on a multiprocessor", 32, 65536, true},
    [DEVICE_BLOCKS] = {"blocks_per_sm", "thread blocks that can be resident on a multiprocessor", 1, 1024, false},
    [DEVICE_WARP] = {"warp", "threads per warp (AMD: wavefront)", 1, 1024, true},
    [DEVICE_PCIE_GENERATION] = {"pcie_generation", "PCI Express generation", 1, 10, false},
    [DEVICE_PCIE_LANES] = {"pcie_lanes", "PCI Express lanes", 1, 32, false},
    [DEVICE_LINK_GB_S] = {"link_gb_s", "bandwidth of all links to other GPUs, both directions", 0, 100000, false},
    [DEVICE_PER_BOARD] = {"devices_per_board", "devices that a program sees on one board; 1 if not given", 1, 16,
                          false},
    [DEVICE_TDP_W] = {"tdp_w", "default power limit", 1, 10000, true},
    [DEVICE_IDLE_W] = {"idle_w", "power when idle", 0.1, 1000, false},
    [DEVICE_PROCESS_NM] = {"process_nm", "process node", 1, 100, false},
    [DEVICE_PUBLISHED_FP32] = {"published_fp32_tflops", "the vendor's peak, fp32, no tensor core", 0.001, 1e6, false},
    [DEVICE_PUBLISHED_TF32] = {"published_tf32_tflops", "the vendor's peak, tf32", 0.001, 1e6, false},
    [DEVICE_PUBLISHED_FP16] = {"published_fp16_tflops", "the vendor's peak, fp16", 0.001, 1e6, false},
    [DEVICE_PUBLISHED_FP8] = {"published_fp8_tflops", "the vendor's peak, fp8", 0.001, 1e6, false},
    [DEVICE_PUBLISHED_INT8] = {"published_int8_tops", "the vendor's peak, int8", 0.001, 1e6, false},
};

const device_field_info *device_fields(void)
{
    return FIELDS;
}

/* The fields that give the rates of a precision; DEVICE_NAME stands for none. */
static const struct {
    const char *name;
    device_field vector, tensor;
} PRECISIONS[] = {
    {"fp64", DEVICE_FP64, DEVICE_NAME},        {"fp32", DEVICE_FP32, DEVICE_TENSOR_FP32},
    {"tf32", DEVICE_NAME, DEVICE_TENSOR_TF32}, {"fp16", DEVICE_FP16, DEVICE_TENSOR_FP16},
    {"bf16", DEVICE_BF16, DEVICE_TENSOR_BF16}, {"fp8", DEVICE_NAME, DEVICE_TENSOR_FP8},
    {"int8", DEVICE_INT8, DEVICE_TENSOR_INT8},
};
enum { PRECISION_COUNT = sizeof PRECISIONS / sizeof *PRECISIONS };

const char *device_precision(size_t index)
{
    return index < PRECISION_COUNT ? PRECISIONS[index].name : NULL;
}

static double flops_at(const device *d, device_field rate, device_field clock)
{
    if (rate == DEVICE_NAME)
        return 0;
    double mhz = isnan(d->numbers[clock]) ? d->numbers[DEVICE_BOOST_MHZ] : d->numbers[clock];
    return d->numbers[DEVICE_SMS] * mhz * 1e6 * d->numbers[rate];
}

double device_vector_flops(const device *d, str precision)
{
    for (size_t i = 0; i < PRECISION_COUNT; i++)
        if (str_is(precision, PRECISIONS[i].name))
            return flops_at(d, PRECISIONS[i].vector, DEVICE_BOOST_MHZ);
    return NAN;
}

/* Returns the larger rate. An unknown rate is ignored, unless the other is 0; then the result is unknown. */
static double fastest(double a, double b)
{
    double known = fmax(a, b); /* fmax ignores NAN */
    return (isnan(a) || isnan(b)) && known == 0 ? NAN : known;
}

double device_peak_flops(const device *d, str precision)
{
    for (size_t i = 0; i < PRECISION_COUNT; i++)
        if (str_is(precision, PRECISIONS[i].name))
            return fastest(flops_at(d, PRECISIONS[i].vector, DEVICE_BOOST_MHZ),
                           flops_at(d, PRECISIONS[i].tensor, DEVICE_TENSOR_MHZ));
    return NAN;
}
