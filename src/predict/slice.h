/* slice.h: how long kernels take on a slice of a GPU.
 *
 * The networks know whole GPUs: what they say of 14 multiprocessors is a guess. A slice is simple, though: kernels fill it, so its
 * arithmetic and its memory bound them, and a handful of constants, fitted on measured slices (`sooth learn --slices`, data/slices.txt), say
 * how near they come. Where slices were measured (GA100 in fp32 and TF32), these constants are the answer. Elsewhere the networks' answer for the
 * whole GPU is, scaled by what the constants say of the slice and of the whole.
 *
 * The file: lines of `key = value  # origin` as in GPU files; keys are those of slice_constant_name(), each once, and `host_us STACK`
 * for stacks whose host was measured: microseconds for each launch of the forward pass. */
#ifndef SOOTH_PREDICT_SLICE_H
#define SOOTH_PREDICT_SLICE_H

#include "predict/algorithm.h"

typedef enum slice_constant {
    SLICE_PRODUCT_FP32, /* time by that of the ideal machine: arithmetic */
    SLICE_PRODUCT_TENSOR,
    SLICE_PRODUCT_BACKWARD, /* times the one before it */
    SLICE_CONV,
    SLICE_CONV_BACKWARD,
    SLICE_OTHER,
    SLICE_MEMORY_PRODUCT, /* the same: memory */
    SLICE_MEMORY_CONV,
    SLICE_MEMORY_CONV_BACKWARD,
    SLICE_MEMORY_NORM,
    SLICE_MEMORY_POINTWISE,
    SLICE_MEMORY_MOVE,
    SLICE_MEMORY_UPDATE,
    SLICE_MEMORY_OTHER,
    SLICE_ROUND_PRODUCT, /* rounds of thread blocks that are lost for each kernel */
    SLICE_ROUND_CONV,
    SLICE_FIXED_US, /* for each kernel */
    SLICE_HOST_VIEW, /* host: time of a view, of a launch of the backward pass and of the update, by that of one of the forward pass */
    SLICE_HOST_LIBRARY, /* beside: of a launch that cuDNN makes (convolutions, batch norms) */
    SLICE_HOST_BACKWARD,
    SLICE_HOST_UPDATE,
    SLICE_INTERVAL, /* half of the 90 % interval's width as a logarithm, on rows that were kept apart */
    SLICE_CONSTANT_COUNT,
    SLICE_FITTED = SLICE_INTERVAL, /* those before it are fitted */
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

/* Those that ship. */
void slice_read_shipped(slice_constants *c, fail *f);

/* What the constants need of a kernel on one device. */
typedef struct slice_term {
    uint8_t compute, memory; /* which constants */
    bool is_backward_product;
    double count;                 /* how often it runs */
    double compute_us, memory_us; /* of the ideal machine */
    double rounds;                /* of thread blocks */
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

/* Launches, those of them that cuDNN makes, and views of a program by phase. */
typedef struct slice_launches {
    double launches[3], library[3], views[3];
} slice_launches;
slice_launches slice_launches_of(const program *p, const work_list *list);
/* What the host takes, with so many microseconds for a launch of the forward pass. */
double slice_host_ms(const slice_launches *l, const slice_constants *c, double launch_us);
/* Microseconds for a launch on the host of a stack; NAN if it was not measured. */
double slice_launch_us(const slice_constants *c, str stack);

/* All of a program on a device, which may be a slice or not; `terms` has one for each distinct kernel. Everything is in `a`. */
typedef struct slice_program {
    slice_term *terms;
    int32_t count;
    slice_launches launches;
} slice_program;
slice_program slice_program_of(const program *p, const setting *where, arena *a);

/* Were slices of this kind measured, so that the constants alone are the answer? */
bool slice_is_measured(const setting *where);

#endif
