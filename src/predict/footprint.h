/* footprint.h: computes the device memory of a program, including driver and libraries, and whether it fits. */
#ifndef SOOTH_PREDICT_FOOTPRINT_H
#define SOOTH_PREDICT_FOOTPRINT_H

#include "memory/limits.h"
#include "memory/memory.h"
#include "predict/predict.h"
#include "predict/work.h"

/* Memory in MiB. The parts sum to the value. */
typedef struct footprint {
    double value_mib, low_mib, high_mib; /* 90 % interval. */
    double capacity_mib;                 /* Memory of the device; NAN if unknown. */
    bool fits;                           /* True if the value fits; false if the capacity is unknown. */
    double parts_mib[MEMORY_PART_COUNT];
    double cache_mib;   /* Held by the allocator but unused at the peak. */
    double context_mib; /* Driver, kernel code and library handles. */
    double live_mib;    /* Tensors and context only; a lower bound of the value. */
    const char *limit;  /* Reason other than memory why the run fails; NULL if there is none. */
    const memory_use *use;
    const kernel_workspace *workspaces; /* Indexed by kernel; NULL if there are none. */
} footprint;

/* Data for the memory of a program that do not depend on the device. */
typedef struct footprint_basis {
    const memory_requests *requests;
    bool convolves;
    limit_distance limit; /* Distance to the limits other than memory. */
} footprint_basis;

/* Settings, besides `lower`, that determine a basis. Equal keys have equal bases. */
typedef struct footprint_key {
    int version; /* PyTorch version: torch_version(). */
    bool autotunes, returns, norms_in_place;
} footprint_key;
footprint_key footprint_key_of(const setting *where);

/* Allocates in `a`. `net` is the network of the program; `scratch` holds temporary data. */
const footprint_basis *footprint_basis_of(const program *p, const network *net, const lower_options *options,
                                          footprint_key key, arena *a, arena *scratch);

/* Number of cached results. Most devices need the same workspaces, so few differ. */
enum { KEPT_USES = 4 };
typedef struct kept_uses {
    struct {
        int64_t product_workspace_bytes;
        const kernel_workspace *workspaces;
        const memory_use *use;
    } items[KEPT_USES];
    int32_t count;
} kept_uses;

/* Computes the memory of a program. `workspaces` come from workspaces_of() or are NULL. Allocates in `a`. `kept` may be
 * NULL; additions to it are allocated in `kept_arena`. */
footprint footprint_of(const footprint_basis *basis, const setting *where, const kernel_workspace *workspaces,
                       kept_uses *kept, arena *kept_arena, arena *a);

/* Returns workspaces indexed by kernel; `works` describe the program's kernels. */
kernel_workspace *workspaces_of(const program *p, const work_list *works, const setting *where, arena *a);

#endif
