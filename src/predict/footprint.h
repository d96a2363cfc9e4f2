/* footprint.h: the memory of a device that a program takes, with what the driver and the libraries need, and whether it fits. */
#ifndef SOOTH_PREDICT_FOOTPRINT_H
#define SOOTH_PREDICT_FOOTPRINT_H

#include "memory/memory.h"
#include "predict/predict.h"
#include "predict/work.h"

/* MiB. The parts sum to the value. */
typedef struct footprint {
    double value_mib, low_mib, high_mib; /* 90 % interval */
    double capacity_mib;                 /* of the device, for programs; NAN: not known */
    bool fits;                           /* the value; false where the capacity is not known */
    double parts_mib[MEMORY_PART_COUNT];
    double cache_mib;   /* taken of the device by the allocator, and not in use at the peak */
    double context_mib; /* driver, code of kernels, handles of libraries */
    const char *limit;  /* what stops it besides memory (limits.h); NULL: nothing */
    const memory_use *use;
} footprint;

/* For lifetimes_of(). */
lifetime_rules footprint_rules(const setting *where);

/* `lifetimes` are the program's under footprint_rules(); `workspaces` are those of workspaces_of() or NULL. Everything is in `a`. */
footprint footprint_of(const program *p, const lifetime *lifetimes, const setting *where,
                       const kernel_workspace *workspaces, arena *a);

/* By kernel; `works` are those of the program. */
kernel_workspace *workspaces_of(const program *p, const work_list *works, const setting *where, arena *a);

#endif
