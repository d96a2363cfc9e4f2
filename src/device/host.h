/* host.h: the computer around a GPU: cores that decode samples, storage, and the link that copies to the device.
 *
 * A host is a text file like a GPU: `key = value  # origin`, one field per line. The files of data/hosts are embedded
 * in the library. Every number has its origin. */
#ifndef SOOTH_DEVICE_HOST_H
#define SOOTH_DEVICE_HOST_H

#include "base/arena.h"
#include "base/file.h"

typedef enum host_field {
    HOST_NAME,
    HOST_ALIASES,
    HOST_CPU,
    HOST_CORES,
    HOST_FIRST_NUMBER = HOST_CORES,
    HOST_DECODE_MPIXEL_S,
    HOST_AUGMENT_MPIXEL_S,
    HOST_WORKER_EFFICIENCY,
    HOST_LOADER_GB_S,
    HOST_STORAGE_GB_S,
    HOST_STORAGE_US,
    HOST_LINK_GENERATION,
    HOST_LINK_LANES,
    HOST_PINNED_GB_S,
    HOST_PAGEABLE_GB_S,
    HOST_COPY_US,
    HOST_LAUNCH_US,
    HOST_FIELD_COUNT,
} host_field;

typedef struct host_field_info {
    const char *key, *summary;
    double least, most; /* bounds of a number */
    bool is_required;
} host_field_info;
const host_field_info *host_fields(void); /* has HOST_FIELD_COUNT rows */

typedef struct sooth_host {
    str file;
    str texts[HOST_FIRST_NUMBER];
    double numbers[HOST_FIELD_COUNT];
    str origins[HOST_FIELD_COUNT];
} host;

typedef struct sooth_hosts {
    arena arena;
    fail fail;
    file_map map;
    struct {
        host **items;
        int32_t count, capacity;
    } hosts;
} host_list;

/* Reads a host's text; texts are copied into `a`. `prefix` ("" or "FILE: ") starts every message. */
void host_read(host *h, str text, const char *prefix, arena *a, fail *f);
void host_list_add_shipped(host_list *list);
host *host_list_read_file(host_list *list, const char *path);
host *host_list_find(const host_list *list, str name); /* Finds a host by name or alias; NULL if there is none. */

#endif
