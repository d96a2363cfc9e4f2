/* device.h: a GPU as numbers, and the text file that holds them.
 *
 * File format, one file per GPU (data/gpus has the shipped ones):
 *   1. Text of at most 64 KiB, lines of at most 1000 bytes. '#' starts a comment; empty lines are ignored.
 *   2. Every other line is `key = value  # origin`. The origin names the source of the number, for people.
 *   3. Keys are those of device_fields(), each at most once, in any order; some are required.
 *   4. A number is digits with an optional decimal point. `none` is 0: the GPU does not have it. `unknown` or a missing
 *      line: not known.
 *   5. Numbers must be within the bounds of their field and consistent: bandwidth is bus width times data rate, a
 *      published peak is multiprocessors times clock times rate.
 *
 * Figures are for one device as a program sees it; a board may have two. Numbers are not derived from each other
 * (bandwidth from the bus, L2 from the chip). A slice of a GPU is therefore a device too, with its share of
 * multiprocessors, memory, bandwidth and cache. */
#ifndef SOOTH_DEVICE_DEVICE_H
#define SOOTH_DEVICE_DEVICE_H

#include "base/arena.h"
#include "base/file.h"

/* One row of device_fields() each, in the same order. Rates are FLOPs per clock and multiprocessor (two per
 * multiply-add), without sparsity; tensor rates accumulate in fp32 unless stated otherwise. */
typedef enum device_field {
    DEVICE_NAME, /* text fields */
    DEVICE_ALIASES,
    DEVICE_VENDOR,
    DEVICE_ARCHITECTURE,
    DEVICE_CHIP,
    DEVICE_COMPUTE_CAPABILITY,
    DEVICE_MEMORY_TYPE,
    DEVICE_LINK,
    DEVICE_SMS, /* number fields */
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
    double least, most; /* bounds of a number; 0 as `least` allows `none` */
    bool is_required;
} device_field_info;

const device_field_info *device_fields(void); /* `none`, which is 0, is allowed if `least` is 0. */

typedef struct sooth_gpu {
    str file;      /* file name, for people */
    bool is_other; /* True if it has a shipped GPU's name but other numbers; measurements of that GPU do not apply. */
    str texts[DEVICE_FIRST_NUMBER];     /* empty if the file does not state it */
    double numbers[DEVICE_FIELD_COUNT]; /* indexed by field; NAN: unknown */
    str origins[DEVICE_FIELD_COUNT];    /* origin of each value; empty if the file does not state it */
    str *aliases;
    int32_t alias_count;
    const struct mig_table *slices;    /* Slices of this GPU (mig.h); NULL if there are none. */
    const struct sooth_gpu *whole;     /* GPU of a slice; NULL for a whole GPU. */
    const struct mig_profile *profile; /* Profile of a slice. */
} device;

/* Reads a file's text, which must live as long as the device. `prefix` ("" or "FILE: ") starts every message. */
void device_read(device *d, str text, const char *prefix, arena *a, fail *f);

/* Peak FLOP/s of the fastest unit for a precision ("fp32", "tf32" …), and of units other than tensor cores. 0: no
 * such unit; NAN: unknown, or no such precision. */
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
    } devices;               /* All names are distinct. */
    struct mig_list *slices; /* mig.h */
    file_map map;            /* File being read. */
    void *directory;         /* Open DIR, or NULL. A void pointer, because names of <dirent.h> collide with ours. */
} device_list;

void device_list_add_shipped(device_list *list);
/* Adds every *.txt of a directory; a GPU replaces an earlier one of the same name. */
void device_list_add_directory(device_list *list, const char *path);
/* Reads one file without adding it to the list. */
device *device_list_read_file(device_list *list, const char *path, const char *prefix);
/* Finds a GPU by name or alias, ignoring case, separators and vendor words ("NVIDIA GeForce"). NULL: none. */
device *device_list_find(const device_list *list, str name);
/* Returns the nearest name; empty if none is near. */
str device_list_nearest(const device_list *list, str name);

#endif
