/* lower.h: lowers the bound network to the kernels that a runtime launches.
 *
 * A program lists the operators in launch order, each with its tensors: shape, element type, strides, and shared
 * memory. Operators have PyTorch's names (ATen, without the overload). A program has no times. */
#ifndef SOOTH_LOWER_LOWER_H
#define SOOTH_LOWER_LOWER_H

#include "graph/graph.h"

typedef enum lower_precision {
    PRECISION_FP32,
    PRECISION_TF32, /* the same program as fp32; products run on tensor cores */
    PRECISION_FP16, /* the whole network converted (model.half()) */
    PRECISION_BF16,
    PRECISION_AMP_FP16, /* fp32 weights, autocast */
    PRECISION_AMP_BF16,
    PRECISION_INT8, /* engines only: products in 8 bits, the rest in fp16 */
    PRECISION_FP8,
} lower_precision;

typedef enum lower_layout {
    LAYOUT_NCHW, /* contiguous */
    LAYOUT_NHWC, /* input and weights of four dimensions in channels_last */
} lower_layout;

/* True if most convolutions of the file are channels last: they run so in either layout, and operators around them
 * too. */
bool lower_keeps_channels_last(const network *net);

typedef enum lower_runtime {
    RUNTIME_EAGER,    /* PyTorch, operator by operator */
    RUNTIME_INDUCTOR, /* torch.compile: pointwise operators and reductions are fused, products are library calls */
    RUNTIME_ENGINE,   /* an inference engine (TensorRT-like): also fused into the products */
} lower_runtime;
enum { LOWER_RUNTIMES = 3 };

typedef enum lower_mode {
    MODE_INFER,
    MODE_TRAIN,   /* forward in training mode with the loss, backward, update */
    MODE_FORWARD, /* only the forward pass of training, without the loss */
} lower_mode;

typedef enum lower_optimizer {
    OPTIMIZER_MOMENTUM, /* SGD with momentum 0.9: the default */
    OPTIMIZER_NONE,     /* no update at all */
    OPTIMIZER_SGD,
    OPTIMIZER_NESTEROV,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
} lower_optimizer;

/* Layer and group norms under autocast. */
typedef enum lower_norms {
    NORMS_FLOAT,    /* in fp32, as PyTorch has it */
    NORMS_LOW_MAPS, /* those of maps in 16 bits, as with timm's set_fast_norm() */
    NORMS_LOW,      /* all in 16 bits */
} lower_norms;

/* Attention that no fused kernel takes: beyond four dimensions; and three with a bias up to PyTorch 2.9. */
typedef enum lower_steps {
    STEPS_NEWEST, /* in fp32; three dimensions have a kernel */
    STEPS_HALF,   /* PyTorch 2.0 to 2.4 */
    STEPS_FLOAT,  /* 2.5 to 2.9: in fp32 */
} lower_steps;

/* All zero: eager PyTorch 2, inference, fp32, nchw. */
typedef struct lower_options {
    lower_precision precision;
    lower_layout layout;
    lower_runtime runtime;
    lower_mode mode;
    lower_optimizer optimizer; /* in training */
    bool explicit_attention;   /* PyTorch 1.x: attention is product, softmax, product */
    bool single_updates;       /* PyTorch 1.x: the optimizer updates one parameter after the other */
    bool autocast_backward;    /* the backward pass also runs inside autocast, as in timm's benchmark */
    lower_norms norms;
    lower_steps steps;
    uint16_t
        multiprocessors; /* of the device, which a compiler asks for: it splits reductions to fill them; 0: never */
    bool
        contiguous_norms; /* PyTorch up to 2.14: group norm copies channels-last inputs and returns contiguous memory */
} lower_options;

typedef int32_t tensor_id;
enum { NO_TENSOR = -1 };

/* Different for options that differ in more than the device. (Padding makes memcmp no comparison.) */
static inline uint64_t lower_options_key(const lower_options *o)
{
    return (uint64_t)o->precision | (uint64_t)o->layout << 8 | (uint64_t)o->runtime << 16 | (uint64_t)o->mode << 24 |
           (uint64_t)o->optimizer << 32 | (uint64_t)o->explicit_attention << 40 | (uint64_t)o->single_updates << 41 |
           (uint64_t)o->autocast_backward << 42 | (uint64_t)o->norms << 43 | (uint64_t)o->steps << 45 |
           (uint64_t)o->contiguous_norms << 47;
}
/* The same including the device; options with equal keys lower to equal programs. */
static inline uint64_t lower_program_key(const lower_options *o)
{
    return lower_options_key(o) | (uint64_t)o->multiprocessors << 48;
}

/* A tensor on the device. */
typedef struct placed_tensor {
    dtype dtype;
    int8_t rank;
    bool is_weight; /* exists before the pass: parameter or buffer */
    bool is_state;  /* of those: the optimizer's */
    bool is_number; /* a scalar of the program text, without memory; never widens the other operand's type */
    const int64_t *dims;
    const int64_t *strides; /* in elements; 0 if broadcast */
    int32_t storage;        /* tensors with the same number share their memory */
    value_id value;         /* of the network; NO_VALUE if it has none there */
    int64_t packed_bytes;   /* bytes of a block-quantized weight that stays packed; 0: as the type says */
    bool is_turned;         /* a weight that the file has transposed */
    bool keeps_float;       /* made by a cast of the network itself: autocast is off for what follows */
} placed_tensor;

enum {
    KERNEL_IN_PLACE = 1, /* the output is the first input */
    KERNEL_VIEW = 2,     /* costs host time only */
    KERNEL_HIDDEN = 4,   /* launched by the operator before: the bias of a convolution, a copy into another layout */
    KERNEL_UNKNOWN = 8,  /* the operator has no rule */
};

/* Windows of convolutions and poolings, height before width. */
enum { MAX_WINDOW = 3 };
typedef struct kernel_window {
    int8_t rank; /* 0: none */
    bool transposed;
    int64_t size[MAX_WINDOW], stride[MAX_WINDOW], padding[MAX_WINDOW], dilation[MAX_WINDOW];
    int64_t groups;
} kernel_window;

/* Loads per element in the loop body of a compiled kernel. */
typedef struct kernel_loops {
    int32_t loads;     /* all loads: a small vector counts as much as a map */
    int32_t scattered; /* of those, loads that strides do not describe: windows, parts of a concatenation, gathers */
    int32_t gathered;  /* of the scattered ones, those without adjacent neighbours: lookups */
    int32_t turned;    /* loads in another memory order than the loops */
    int64_t reduced;   /* elements per reduction; 1: pointwise */
} kernel_loops;

typedef enum kernel_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE } kernel_phase;

typedef struct kernel {
    /* ATen's name; "triton_poi", "triton_red", "triton_per" for fused loops. "" for an unknown operator: rules match
     * this name, so no name of a file may appear here. */
    const char *op;
    const char *file_op; /* the file's name of an unknown operator; else NULL */
    node_id layer;       /* its layer; NO_NODE: none (loss, update) */
    uint8_t flags;
    uint8_t phase; /* kernel_phase */
    int32_t fused_count;
    const char *const *fused; /* fused ATen operators; NULL if it is a single one */
    kernel_loops loops;       /* of compiled loops; 0 for others */
    int32_t input_count, output_count;
    const tensor_id *inputs;
    const tensor_id *outputs;
    const kernel_window *window; /* NULL if it has none */
    int64_t macs, flops;         /* per run; saturates at INT64_MAX */
    int64_t bytes_read, bytes_written;
    int64_t repeat; /* runs per pass */
} kernel;

/* Name for people. */
static inline const char *kernel_name(const kernel *k)
{
    return k->file_op ? k->file_op : k->op;
}
static inline bool kernel_is(const kernel *k, const char *op)
{
    return strcmp(k->op, op) == 0;
}
/* Forward or backward. */
static inline bool kernel_is_convolution(const kernel *k)
{
    return k->window && (kernel_is(k, "convolution") || kernel_is(k, "convolution_backward"));
}
bool kernel_is_attention(const kernel *k); /* a fused operator, forward or backward */
bool kernel_is_compiled(const kernel *k);  /* loops that a compiler wrote */

typedef struct program {
    struct {
        placed_tensor *items;
        int32_t count, capacity;
    } tensors;
    struct {
        kernel *items;
        int32_t count, capacity;
    } kernels; /* in launch order */
    struct {
        int32_t *items;
        int32_t count, capacity;
    } like; /* by kernel, possibly not up to the last: the number, from 1, of an equal earlier one; 0: unknown */
    int32_t storage_count;
    int32_t unknown_count;   /* kernels without a rule */
    bool has_packed_weights; /* in the file: blocks of a few bits */
    bool is_engine;          /* its kernels are those of an inference engine */
    /* A device whose multiprocessors are within these bounds, both included, runs the same program. */
    uint16_t least_multiprocessors, most_multiprocessors;
} program;

/* Lowers the bound network. Everything is in `a`. SOOTH_ERROR_UNSUPPORTED: a shape is unknown; SOOTH_ERROR_USAGE:
 * contradictory options. */
program *lower(sooth_model *model, const lower_options *options, arena *a);

/* By value: true for an output of the network, or a value that shares an output's memory under another name. */
bool *lower_output_values(const network *net, arena *a);

/* One per runtime, for lower(). */
program *lower_eager(sooth_model *model, const lower_options *options, arena *a);
program *lower_inductor(sooth_model *model, const lower_options *options, arena *a);
program *lower_engine(sooth_model *model, const lower_options *options, arena *a);

#endif
