/* device.h: a GPU as numbers, and the text file that gives them.
 *
 * The file, one GPU each (data/gpus has those that ship):
 *   1. Text in lines of at most 1000 bytes, at most 64 KiB. What follows '#' is a comment; empty lines count for nothing.
 *   2. Every other line is `key = value  # origin`. The origin says where the number is from, for people.
 *   3. Keys are those of device_fields(), each at most once, in any order; some must be there.
 *   4. A number is digits with an optional decimal point. `none` is 0: the GPU has no such thing. `unknown` is not known, as is
 *      a field that is not there.
 *   5. Numbers lie within the bounds of their field and do not contradict each other: bandwidth is bus width times data rate, a
 *      published peak is multiprocessors times clock times rate.
 *
 * Figures are those of one device as a program sees it: of a board that shows itself as two devices, of one of them. Every
 * number stands by itself (bandwidth is not computed from the bus, nor L2 from the chip), so that a slice of a GPU is a device
 * as well: the same numbers but for its share of multiprocessors, memory, bandwidth and cache. */
#ifndef SOOTH_DEVICE_DEVICE_H
#define SOOTH_DEVICE_DEVICE_H

#include "base/arena.h"
#include "base/file.h"

/* One row of device_fields() each, in the same order. Rates are FLOPs (two for each multiply-add) in each clock in each
 * multiprocessor, without sparsity; tensor rates accumulate in fp32 where nothing else is said. */
typedef enum device_field {
    DEVICE_NAME, /* the first are texts */
    DEVICE_ALIASES,
    DEVICE_VENDOR,
    DEVICE_ARCHITECTURE,
    DEVICE_CHIP,
    DEVICE_COMPUTE_CAPABILITY,
    DEVICE_MEMORY_TYPE,
    DEVICE_LINK,
    DEVICE_SMS, /* the others are numbers */
    DEVICE_BASE_MHZ,
    DEVICE_BOOST_MHZ,
    DEVICE_TENSOR_MHZ,
    DEVICE_FP64,
    DEVICE_FP32,
    DEVICE_FP16,
    DEVICE_BF16,
    DEVICE_INT8,
    DEVICE_TENSOR_FP32,
    DEVICE_TENSOR_TF32,
    DEVICE_TENSOR_FP16,
    DEVICE_TENSOR_FP16_ACC16,
    DEVICE_TENSOR_BF16,
    DEVICE_TENSOR_FP8,
    DEVICE_TENSOR_INT8,
    DEVICE_MEMORY_GIB,
    DEVICE_USABLE_MIB,
    DEVICE_MEMORY_BUS_BITS,
    DEVICE_MEMORY_GBIT_S,
    DEVICE_BANDWIDTH_GB_S,
    DEVICE_L2_MIB,
    DEVICE_L3_MIB,
    DEVICE_L1_KIB,
    DEVICE_SHARED_KIB,
    DEVICE_REGISTERS,
    DEVICE_THREADS,
    DEVICE_BLOCKS,
    DEVICE_WARP,
    DEVICE_PCIE_GENERATION,
    DEVICE_PCIE_LANES,
    DEVICE_LINK_GB_S,
    DEVICE_PER_BOARD,
    DEVICE_TDP_W,
    DEVICE_IDLE_W,
    DEVICE_PROCESS_NM,
    DEVICE_PUBLISHED_FP32,
    DEVICE_PUBLISHED_TF32,
    DEVICE_PUBLISHED_FP16,
    DEVICE_PUBLISHED_FP8,
    DEVICE_PUBLISHED_INT8,
    DEVICE_FIELD_COUNT,
    DEVICE_FIRST_NUMBER = DEVICE_SMS,
} device_field;

typedef struct device_field_info {
    const char *key;
    const char *summary;
    double least, most; /* of a number; least 0 allows `none` */
    bool is_required;
} device_field_info;

const device_field_info *device_fields(void); /* DEVICE_FIELD_COUNT rows */

typedef struct sooth_gpu {
    str file;      /* where it came from, for people */
    bool is_other; /* has the name of a GPU that ships, and other numbers: nothing was measured on it */
    str texts[DEVICE_FIRST_NUMBER];     /* empty: not given */
    double numbers[DEVICE_FIELD_COUNT]; /* by field; NAN: not known */
    str origins[DEVICE_FIELD_COUNT];    /* empty: not given */
    str *aliases;
    int32_t alias_count;
    const struct mig_table *slices;    /* that it can be cut into (mig.h); NULL: none */
    const struct sooth_gpu *whole;     /* of a slice: the GPU; NULL: this is one */
    const struct mig_profile *profile; /* of a slice */
} device;

/* Reads one file's text, which must live as long as the device. `prefix` stands before every message ("" or "FILE: "). */
void device_read(device *d, str text, const char *prefix, arena *a, fail *f);

/* Peak FLOP/s of the fastest unit for a precision ("fp32", "tf32" …), and of the units that are not tensor cores: 0 if there is none,
 * NAN if it is not known or there is no such precision. */
double device_peak_flops(const device *d, str precision);
double device_vector_flops(const device *d, str precision);
const char *device_precision(size_t index); /* NULL after the last */

/* ---- those that are known --------------------------------------------------------------------------------------- */

typedef struct sooth_gpus {
    arena arena;
    fail fail;
    struct {
        device **items;
        int32_t count, capacity;
    } devices;               /* names differ from one another */
    struct mig_list *slices; /* mig.h */
    file_map map;            /* of the file that is being read */
    void
        *directory; /* DIR of the one that is being read; NULL otherwise. <dirent.h> has names that collide with ours */
} device_list;

void device_list_add_shipped(device_list *list);
/* Every *.txt of a directory; a GPU of the same name takes the place of the one that was there. */
void device_list_add_directory(device_list *list, const char *path);
/* One file, which is not added to the list. */
device *device_list_read_file(device_list *list, const char *path, const char *prefix);
/* By name or alias; letter case, separators and words of the vendor ("NVIDIA GeForce") do not matter. NULL: none has it. */
device *device_list_find(const device_list *list, str name);
/* Which name was probably meant; empty if none is near. */
str device_list_nearest(const device_list *list, str name);

#endif
