/* slice.h: kernel times on a MIG slice. The networks are trained on whole GPUs and only guess for slices. Here
 * arithmetic and memory bound each kernel, with constants fitted on measured slices (`sooth learn --slices`,
 * data/slices.txt). Where slices were measured (GA100 in fp32 and TF32), the constants give the time. Elsewhere they
 * scale the networks' time for the whole GPU.
 *
 * File format: lines of `key = value # origin`, each key of slice_constant_name() once, and `host_us STACK` for stacks
 * with a measured host: microseconds per forward launch. */
#ifndef SOOTH_PREDICT_SLICE_H
#define SOOTH_PREDICT_SLICE_H

#include "predict/algorithm.h"

typedef enum slice_constant {
    SLICE_PRODUCT_FP32, /* Factors on the roofline's compute time. */
    SLICE_PRODUCT_TENSOR,
    SLICE_PRODUCT_BACKWARD, /* Further factor on both in the backward pass. */
    SLICE_CONV,
    SLICE_CONV_BACKWARD,
    SLICE_OTHER,
    SLICE_MEMORY_PRODUCT, /* Factors on the roofline's memory time. */
    SLICE_MEMORY_CONV,
    SLICE_MEMORY_CONV_BACKWARD,
    SLICE_MEMORY_NORM,
    SLICE_MEMORY_POINTWISE,
    SLICE_MEMORY_MOVE,
    SLICE_MEMORY_UPDATE,
    SLICE_MEMORY_OTHER,
    SLICE_ROUND_PRODUCT, /* Waves lost per kernel. */
    SLICE_ROUND_CONV,
    SLICE_FIXED_US, /* Time per kernel. */
    /* Host time relative to a forward launch: of a view, a backward launch, and an update launch. */
    SLICE_HOST_VIEW,
    SLICE_HOST_LIBRARY, /* Additional host time of a cuDNN launch (convolutions, batch norms). */
    SLICE_HOST_BACKWARD,
    SLICE_HOST_UPDATE,
    SLICE_INTERVAL, /* Half the width of the 90 % interval as a logarithm, on hold-out rows. */
    SLICE_CONSTANT_COUNT,
    SLICE_FITTED = SLICE_INTERVAL, /* Number of fitted constants, which come first. */
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

/* Returns the shipped constants. */
void slice_read_shipped(slice_constants *c, fail *f);

/* Inputs for a kernel on one device. */
typedef struct slice_term {
    uint8_t compute, memory; /* Kind, which selects its constants. */
    bool is_backward_product;
    double count;                 /* Runs per pass. */
    double compute_us, memory_us; /* roofline */
    double rounds;                /* Thread blocks, in waves. */
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

/* Number of launches by phase, of cuDNN launches, and of views. */
typedef struct slice_launches {
    double launches[3], library[3], views[3];
} slice_launches;
slice_launches slice_launches_of(const program *p, const work_list *list);
/* Returns the host time, given the microseconds per forward launch. */
double slice_host_ms(const slice_launches *l, const slice_constants *c, double launch_us);
/* Returns the microseconds per launch on the host of a stack; NAN if it was not measured. */
double slice_launch_us(const slice_constants *c, str stack);

/* Predicts a program on a device or a slice; `terms` has one entry per distinct kernel. Allocates in `a`. */
typedef struct slice_program {
    slice_term *terms;
    int32_t count;
    slice_launches launches;
} slice_program;
slice_program slice_program_of(const program *p, const setting *where, arena *a);

/* True if slices of this kind were measured, so that the constants alone give the time. */
bool slice_is_measured(const setting *where);

#endif
