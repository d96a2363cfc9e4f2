/* mig.h: slices of GPUs (NVIDIA MIG: GPU instances), and the text file that lists them.
 *
 * File format (data/mig.txt is shipped; a mig.txt in the user's GPU directory adds to it):
 *   1. Lines as in GPU files: `key = value  # origin`, at most 1000 bytes each, at most 256 KiB in all.
 *   2. `gpu = NAME, NAME` starts the slices of those GPUs and replaces their slices from earlier files.
 *   3. `slots = N, compute M`: a GPU has N memory slots and M compute slices.
 *   4. Every other line is a profile, `1g.5gb = id 19, compute 1, ...`: its name as nvidia-smi prints it, and a value
 *      for each field of mig_fields(), in any order. `bandwidth` and `l2` are shares, `starts` the slots where a slice
 *      may begin, `size` the number of slots it takes.
 *   5. Numbers must be within bounds and consistent: the name states the compute slices and at least the usable memory,
 *      slices end within the GPU, `most` slices fit side by side, none exceeds its GPU.
 *
 * device_slice() makes a slice into a device with its share of multiprocessors, memory, bandwidth and cache. */
#ifndef SOOTH_DEVICE_MIG_H
#define SOOTH_DEVICE_MIG_H

#include "device/device.h"

enum { MIG_MAX_SLOTS = 16, MIG_MAX_PROFILES = 32 };

typedef struct mig_profile {
    str name, origin;
    int32_t id;      /* Profile ID in nvidia-smi. */
    int32_t compute; /* Number of compute slices. */
    int32_t size;    /* number of memory slots */
    int32_t most;    /* largest number of instances on one GPU */
    int32_t copy_engines;
    uint32_t starts; /* bit i is set if an instance may begin at slot i */
    double sms, memory_gib;
    double bandwidth_share, l2_share;
    bool has_media; /* "+me": includes the media engines, which only one slice of a GPU can have */
} mig_profile;

typedef struct mig_table {
    int32_t slots, compute; /* Slots of the whole GPU; 0 until given. */
    mig_profile profiles[MIG_MAX_PROFILES];
    int32_t profile_count; /* In file order, from small to large. */
} mig_table;

/* GPUs and the slices that they have. */
typedef struct mig_entry {
    str gpu;
    const mig_table *table;
} mig_entry;
typedef struct mig_list {
    mig_entry *items;
    int32_t count, capacity;
} mig_list;

/* Reads a file's text, which must live as long as the list. `prefix` starts every message. */
void mig_read(mig_list *list, str text, const char *prefix, arena *a, fail *f);
/* Gives the device its slices, if the list has any. Fails if a slice is larger than the device. */
void mig_attach(const mig_list *list, device *d, const char *prefix, fail *f);

/* Finds a profile by name, ignoring case and a leading "MIG ". "2g" is enough if only one profile without media
 * engines has two compute slices. NULL if there is none. */
const mig_profile *mig_find(const mig_table *table, str name);
/* Number of slices of a profile that fit on one GPU. */
int32_t mig_room_for(const mig_profile *p, int32_t slots);
/* Profile names for messages: "1g.5gb, 1g.10gb ...". */
str mig_names(const mig_table *table, arena *a);

/* Makes the slice into a device. Its texts are those of the whole GPU. */
void device_slice(device *slice, const device *whole, const mig_profile *profile);

#endif
