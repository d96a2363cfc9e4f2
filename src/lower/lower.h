/* lower.h: from the bound network to the kernels that a runtime launches for it.
 *
 * A program is the list of operators in the order in which the runtime sends them to the device, each with the
 * tensors that it reads and writes: shape, element type, strides, and which of them share memory. Operators have
 * PyTorch's names (ATen, without the overload). How long they take is not said here. */
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
    PRECISION_INT8, /* engines alone: products in 8 bits, the rest in fp16 */
    PRECISION_FP8,
} lower_precision;

typedef enum lower_layout {
    LAYOUT_NCHW, /* contiguous */
    LAYOUT_NHWC, /* input and weights of four dimensions in channels_last */
} lower_layout;

/* Has the file most convolutions with their channels last? They run so in either layout, and what is around them had better, too. */
bool lower_keeps_channels_last(const network *net);

typedef enum lower_runtime {
    RUNTIME_EAGER,    /* PyTorch, operator by operator */
    RUNTIME_INDUCTOR, /* torch.compile: pointwise work and reductions are fused, products are library calls */
    RUNTIME_ENGINE,   /* an inference engine (TensorRT-like): fused into the products as well */
} lower_runtime;
enum { LOWER_RUNTIMES = 3 };

typedef enum lower_mode {
    MODE_INFER,
    MODE_TRAIN,   /* forward in training mode with the loss, backward, update */
    MODE_FORWARD, /* of these the first alone, without the loss */
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
    NORMS_FLOAT, /* in fp32, as PyTorch has it */
    NORMS_LOW_MAPS, /* those of maps in 16 bits: timm's set_fast_norm(), as long as its transformers had layers of PyTorch's own */
    NORMS_LOW, /* all in 16 bits */
} lower_norms;

/* Attention that no fused kernel takes: more than four dimensions; and three with a bias up to PyTorch 2.9. */
typedef enum lower_steps {
    STEPS_NEWEST, /* in fp32; three dimensions have a kernel */
    STEPS_HALF,   /* PyTorch 2.0 to 2.4 */
    STEPS_FLOAT,  /* 2.5 to 2.9: in fp32 */
} lower_steps;

/* All zero means: eager PyTorch 2, inference, fp32, nchw. */
typedef struct lower_options {
    lower_precision precision;
    lower_layout layout;
    lower_runtime runtime;
    lower_mode mode;
    lower_optimizer optimizer; /* in training */
    bool explicit_attention;   /* PyTorch 1.x: attention is product, softmax, product */
    bool single_updates;       /* PyTorch 1.x: the optimizer updates one parameter after the other */
    bool autocast_backward;    /* the backward pass runs inside autocast too, as timm's benchmark has it */
    lower_norms norms;
    lower_steps steps;
    uint16_t
        multiprocessors; /* of the device, which a compiler asks for: it splits reductions to fill them; 0: never */
    bool
        contiguous_norms; /* PyTorch up to 2.14: a GPU's group norm knows no channels last: it copies what is given, and gives contiguous memory */
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
/* The same with the device: what is lowered alike has equal keys. */
static inline uint64_t lower_program_key(const lower_options *o)
{
    return lower_options_key(o) | (uint64_t)o->multiprocessors << 48;
}

/* A tensor on the device. */
typedef struct placed_tensor {
    dtype dtype;
    int8_t rank;
    bool is_weight; /* there before the pass begins: parameter or buffer */
    bool is_state;  /* of those: the optimizer's */
    bool is_number; /* a number of the program text, no memory; never widens the other operand's type */
    const int64_t *dims;
    const int64_t *strides; /* in elements; 0 where it is broadcast */
    int32_t storage;        /* tensors with the same number share their memory */
    value_id value;         /* of the network; NO_VALUE if it has none there */
    int64_t packed_bytes;   /* of a weight that is kept as the file has it: blocks of a few bits; 0: as the type says */
    bool is_turned;         /* a weight that the file has transposed */
    bool keeps_float;       /* made by a cast that the network itself asks for: autocast is off for what follows */
} placed_tensor;

enum {
    KERNEL_IN_PLACE = 1, /* the output is the first input */
    KERNEL_VIEW = 2,     /* costs time on the host alone */
    KERNEL_HIDDEN = 4,   /* launched by the operator before it: the bias of a convolution, a copy into another layout */
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

/* What the body of a compiler's loops loads for each element. */
typedef struct kernel_loops {
    int32_t loads;     /* all of them: a vector of a few numbers counts as much as a map */
    int32_t scattered; /* of those from where no formula of strides leads: windows, parts of a concatenation, gathers */
    int32_t gathered;  /* of the scattered ones, those whose neighbours need not be neighbours: lookups */
    int32_t turned;    /* loads that go through memory in another order than the loops do */
    int64_t reduced;   /* elements that become one; 1: pointwise */
} kernel_loops;

typedef enum kernel_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE } kernel_phase;

typedef struct kernel {
    /* Of ATen; "triton_poi", "triton_red", "triton_per" for what a compiler fused. "" for an operator that the library does not
     * know: rules go by this name, so no name of a file gets here. */
    const char *op;
    const char *file_op; /* name in the file of an operator that the library does not know; else NULL */
    node_id layer;       /* that it belongs to; NO_NODE: none (loss, update) */
    uint8_t flags;
    uint8_t phase; /* kernel_phase */
    int32_t fused_count;
    const char *const *fused; /* operators of ATen in it; NULL if it is one by itself */
    kernel_loops loops;       /* of what a compiler fused; 0 of all others */
    int32_t input_count, output_count;
    const tensor_id *inputs;
    const tensor_id *outputs;
    const kernel_window *window; /* NULL if it has none */
    int64_t macs, flops;         /* of one run; INT64_MAX if they do not fit */
    int64_t bytes_read, bytes_written;
    int64_t repeat; /* how often it runs in a pass */
} kernel;

/* For people: the operator's name. */
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
bool kernel_is_attention(const kernel *k); /* one of the fused operators, forward or backward */
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
    } like; /* by kernel, maybe not up to the last: the number, from 1, of one before it that does the same on other tensors; 0: none known */
    int32_t storage_count;
    int32_t unknown_count; /* kernels without a rule */
    bool is_engine;        /* its kernels are those of an inference engine */
    /* A device whose multiprocessors are within these bounds, both included, runs the same program. */
    uint16_t least_multiprocessors, most_multiprocessors;
} program;

/* Lowers the bound network. Everything is in `a`. Fails with SOOTH_ERROR_UNSUPPORTED where a shape is not known, with
 * SOOTH_ERROR_USAGE where options exclude each other. */
program *lower(sooth_model *model, const lower_options *options, arena *a);

/* By value: whether it is an output of the network, or an output has its memory because nothing but its name is other. */
bool *lower_output_values(const network *net, arena *a);

/* One runtime each; what lower() chooses from. */
program *lower_eager(sooth_model *model, const lower_options *options, arena *a);
program *lower_inductor(sooth_model *model, const lower_options *options, arena *a);
program *lower_engine(sooth_model *model, const lower_options *options, arena *a);

#endif
