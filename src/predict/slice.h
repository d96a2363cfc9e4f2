/* slice.h: kernel times on a MIG slice.
 *
 * The networks were trained on whole GPUs, so their times for 14 multiprocessors are guesses. On a slice,
 * arithmetic and memory bound kernels, and a few constants fitted on measured slices (`sooth learn --slices`,
 * data/slices.txt) say how close they come. Where slices were measured (GA100 in fp32 and TF32), the constants give
 * the time. Elsewhere they scale the networks' time for the whole GPU.
 *
 * The file: lines of `key = value  # origin` as in GPU files; each key of slice_constant_name() once, and `host_us
 * STACK` for stacks with a measured host: microseconds per forward launch. */
#ifndef SOOTH_PREDICT_SLICE_H
#define SOOTH_PREDICT_SLICE_H

#include "predict/algorithm.h"

typedef enum slice_constant {
    SLICE_PRODUCT_FP32, /* factor on the roofline: arithmetic */
    SLICE_PRODUCT_TENSOR,
    SLICE_PRODUCT_BACKWARD, /* factor on the one before */
    SLICE_CONV,
    SLICE_CONV_BACKWARD,
    SLICE_OTHER,
    SLICE_MEMORY_PRODUCT, /* factor on the roofline: memory */
    SLICE_MEMORY_CONV,
    SLICE_MEMORY_CONV_BACKWARD,
    SLICE_MEMORY_NORM,
    SLICE_MEMORY_POINTWISE,
    SLICE_MEMORY_MOVE,
    SLICE_MEMORY_UPDATE,
    SLICE_MEMORY_OTHER,
    SLICE_ROUND_PRODUCT, /* waves lost per kernel */
    SLICE_ROUND_CONV,
    SLICE_FIXED_US,     /* per kernel */
    SLICE_HOST_VIEW,    /* host: view, backward launch, update launch ÷ forward launch */
    SLICE_HOST_LIBRARY, /* additional time of a launch by cuDNN (convolutions, batch norms) */
    SLICE_HOST_BACKWARD,
    SLICE_HOST_UPDATE,
    SLICE_INTERVAL, /* half the width of the 90 % interval as a logarithm, on hold-out rows */
    SLICE_CONSTANT_COUNT,
    SLICE_FITTED = SLICE_INTERVAL, /* the constants before it are fitted */
} slice_constant;
const char *slice_constant_name(slice_constant c);
const char *slice_constant_summary(slice_constant c);
void slice_constant_bounds(slice_constant c, double *least, double *most);

enum { SLICE_MAX_HOSTS = 16 };
typedef struct slice_constants {
    double values[SLICE_CONSTANT_COUNT];
    struct {
        str stack;
        double launch_us;
    } hosts[SLICE_MAX_HOSTS];
    int host_count;
} slice_constants;

/* The constants that ship. */
void slice_read_shipped(slice_constants *c, fail *f);

/* A kernel on one device, as the constants need it. */
typedef struct slice_term {
    uint8_t compute, memory; /* kind of its constants */
    bool is_backward_product;
    double count;                 /* runs per pass */
    double compute_us, memory_us; /* roofline */
    double rounds;                /* thread blocks in waves */
} slice_term;
slice_term slice_term_of(const work *w, const ideal_time *ideal, double rounds, bool is_backward,
                         bool has_tensor_cores);

typedef struct slice_time {
    double compute_us, memory_us, fixed_us;
} slice_time;
static inline double slice_total(slice_time t)
{
    return t.compute_us + t.memory_us + t.fixed_us;
}
slice_time slice_time_of(const slice_term *t, const slice_constants *c);

/* Launches of a program by phase, those by cuDNN, and views. */
typedef struct slice_launches {
    double launches[3], library[3], views[3];
} slice_launches;
slice_launches slice_launches_of(const program *p, const work_list *list);
/* Host time, for this many microseconds per forward launch. */
double slice_host_ms(const slice_launches *l, const slice_constants *c, double launch_us);
/* Microseconds per launch on the host of a stack; NAN if it was not measured. */
double slice_launch_us(const slice_constants *c, str stack);

/* Predicts a program on a device or a slice; `terms` has one entry per distinct kernel. Everything is in `a`. */
typedef struct slice_program {
    slice_term *terms;
    int32_t count;
    slice_launches launches;
} slice_program;
slice_program slice_program_of(const program *p, const setting *where, arena *a);

/* True if slices of this kind were measured, so that the constants alone give the time. */
bool slice_is_measured(const setting *where);

#endif
