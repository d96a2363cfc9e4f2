/* footprint.h: device memory of a program, with driver and libraries, and whether it fits. */
#ifndef SOOTH_PREDICT_FOOTPRINT_H
#define SOOTH_PREDICT_FOOTPRINT_H

#include "memory/limits.h"
#include "memory/memory.h"
#include "predict/predict.h"
#include "predict/work.h"

/* MiB. The parts sum to the value. */
typedef struct footprint {
    double value_mib, low_mib, high_mib; /* 90 % interval */
    double capacity_mib;                 /* of the device; NAN: unknown */
    bool fits;                           /* of the value; false if the capacity is unknown */
    double parts_mib[MEMORY_PART_COUNT];
    double cache_mib;   /* held by the allocator, unused at the peak */
    double context_mib; /* driver, code of kernels, handles of libraries */
    double live_mib;    /* tensors and context alone: the value is never less */
    const char *limit;  /* what stops it besides memory; NULL: nothing */
    const memory_use *use;
} footprint;

/* What the memory of a program rests on besides the device. */
typedef struct footprint_basis {
    const memory_requests *requests;
    bool convolves;
    limit_distance limit; /* distance to limits other than memory that stop a program */
} footprint_basis;

/* Which of the settings go into a basis: those of equal keys have the same. `lower` aside. */
typedef struct footprint_key {
    int version; /* of PyTorch: torch_version() */
    bool autotunes, returns, norms_in_place;
} footprint_key;
footprint_key footprint_key_of(const setting *where);

/* In `a`. `net` is that of the program; `scratch` holds temporary data. */
const footprint_basis *footprint_basis_of(const program *p, const network *net, const lower_options *options,
                                          footprint_key key, arena *a, arena *scratch);

/* Uses that were computed before: most devices ask for the same workspaces. */
enum { KEPT_USES = 4 };
typedef struct kept_uses {
    struct {
        int64_t product_workspace_bytes;
        const kernel_workspace *workspaces;
        const memory_use *use;
    } items[KEPT_USES];
    int32_t count;
} kept_uses;

/* `workspaces` are those of workspaces_of() or NULL. The answer is in `a`, which also gets what is needed on the way.
 * `kept` may be NULL; what is added to it is in `kept_arena`. */
footprint footprint_of(const footprint_basis *basis, const setting *where, const kernel_workspace *workspaces,
                       kept_uses *kept, arena *kept_arena, arena *a);

/* By kernel; `works` are those of the program. */
kernel_workspace *workspaces_of(const program *p, const work_list *works, const setting *where, arena *a);

#endif
