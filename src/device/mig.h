/* mig.h: slices of GPUs (NVIDIA's MIG: GPU instances), and the text file that lists them.
 *
 * The file (data/mig.txt is the one that ships; a mig.txt in the user's directory of GPUs adds to it):
 *   1. Lines as in GPU files: `key = value  # origin`, at most 1000 bytes each, at most 256 KiB in all.
 *   2. `gpu = NAME, NAME` begins the slices of those GPUs. GPUs of a later file take the place of those of an earlier one.
 *   3. `slots = N, compute M`: a GPU has N places along its memory and M compute slices.
 *   4. Every other line is a profile, `1g.5gb = id 19, compute 1, ...`: its name as nvidia-smi prints it, and a value for each field of
 *      mig_fields(), in any order. `bandwidth` and `l2` are shares, `starts` the places that a slice may begin at, `size` how
 *      many places it takes.
 *   5. Numbers lie within bounds and fit each other: a name says the compute slices and no less than the usable memory, slices end
 *      within the GPU, as many as `most` have room beside each other, none has more than its GPU.
 *
 * A slice is a device: device_slice() makes one, with its share of multiprocessors, memory, bandwidth and cache. */
#ifndef SOOTH_DEVICE_MIG_H
#define SOOTH_DEVICE_MIG_H

#include "device/device.h"

enum { MIG_MAX_SLOTS = 16, MIG_MAX_PROFILES = 32 };

typedef struct mig_profile {
    str name, origin;
    int32_t id;      /* as nvidia-smi numbers it */
    int32_t compute; /* compute slices */
    int32_t size;    /* places along the memory */
    int32_t most;    /* of them on one GPU */
    int32_t copy_engines;
    uint32_t starts; /* bit i: it may begin at place i */
    double sms, memory_gib;
    double bandwidth_share, l2_share;
    bool has_media; /* "+me": one slice of the GPU may have the media engines */
} mig_profile;

typedef struct mig_table {
    int32_t slots, compute; /* of a GPU; slots 0: not given yet */
    mig_profile profiles[MIG_MAX_PROFILES];
    int32_t profile_count; /* in the file's order: from small to large */
} mig_table;

/* Names of GPUs and the slices that they have. */
typedef struct mig_entry {
    str gpu;
    const mig_table *table;
} mig_entry;
typedef struct mig_list {
    mig_entry *items;
    int32_t count, capacity;
} mig_list;

/* Reads a file's text, which must live as long as the list. `prefix` stands before every message. */
void mig_read(mig_list *list, str text, const char *prefix, arena *a, fail *f);
/* Gives the device its slices, if the list has any. Fails if one of them is larger than the device. */
void mig_attach(const mig_list *list, device *d, const char *prefix, fail *f);

/* By name; letter case and a leading "MIG " do not matter, and "2g" is enough where one profile alone without media engines has so
 * many compute slices. NULL: there is none. */
const mig_profile *mig_find(const mig_table *table, str name);
/* How many slices of a profile have room beside each other. */
int32_t mig_room_for(const mig_profile *p, int32_t slots);
/* Which profiles there are, for messages: "1g.5gb, 1g.10gb ...". */
str mig_names(const mig_table *table, arena *a);

/* The slice as a device. Its texts are those of the whole GPU. */
void device_slice(device *slice, const device *whole, const mig_profile *profile);

#endif
