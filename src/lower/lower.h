/* lower.h: lowers the bound network to the kernels that a runtime launches. A program lists kernels in launch order,
 * each with the shape, element type, strides and storage of its tensors. Kernels have ATen's operator names, without
 * the overload. A program contains no times. */
#ifndef SOOTH_LOWER_LOWER_H
#define SOOTH_LOWER_LOWER_H

#include "graph/graph.h"

typedef enum lower_precision {
    PRECISION_FP32,
    PRECISION_TF32, /* Like fp32, but products run on tensor cores. */
    PRECISION_FP16, /* The whole network is converted (model.half()). */
    PRECISION_BF16,
    PRECISION_AMP_FP16, /* Weights are fp32; autocast runs products in 16 bits. */
    PRECISION_AMP_BF16,
    PRECISION_INT8, /* Engines only: products in 8 bits, the rest in fp16. */
    PRECISION_FP8,
    PRECISION_INT4, /* Engines only: weights of products in 4 bits, everything else in fp16. */
} lower_precision;

typedef enum lower_layout {
    LAYOUT_NCHW, /* contiguous */
    LAYOUT_NHWC, /* 4-D inputs and weights in channels_last. */
} lower_layout;

/* True if most convolutions of the file are channels last. They and their neighbours then run channels last,
 * whatever the option. */
bool lower_keeps_channels_last(const network *net);

typedef enum lower_runtime {
    RUNTIME_EAGER,    /* PyTorch without compilation. */
    RUNTIME_INDUCTOR, /* torch.compile: pointwise operators and reductions are fused; products are library calls. */
    RUNTIME_ENGINE,   /* Inference engine such as TensorRT: pointwise operators are also fused into products. */
} lower_runtime;
enum { LOWER_RUNTIMES = 3 };

typedef enum lower_mode {
    MODE_INFER,
    MODE_TRAIN,   /* Forward pass, loss, backward pass and update. */
    MODE_FORWARD, /* Forward pass in training mode, without the loss. */
} lower_mode;

typedef enum lower_optimizer {
    OPTIMIZER_MOMENTUM, /* SGD with momentum 0.9, the default. */
    OPTIMIZER_NONE,     /* No update. */
    OPTIMIZER_SGD,
    OPTIMIZER_NESTEROV,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAM_L2, /* Adam with weight_decay, which is added to the gradients. */
} lower_optimizer;

/* Precision of layer and group norms under autocast. */
typedef enum lower_norms {
    NORMS_FLOAT,    /* In fp32, the default of PyTorch. */
    NORMS_LOW_MAPS, /* Norms of maps in 16 bits, as with timm's set_fast_norm(). */
    NORMS_LOW,      /* All norms in 16 bits. */
} lower_norms;

/* How PyTorch runs attention that has no fused kernel: rank above 4, and up to PyTorch 2.9 rank 3 with a bias. */
typedef enum lower_steps {
    STEPS_NEWEST, /* Newer versions: fp32; attention of rank 3 has a fused kernel. */
    STEPS_HALF,   /* PyTorch 2.0 to 2.4: 16 bits. */
    STEPS_FLOAT,  /* PyTorch 2.5 to 2.9: fp32. */
} lower_steps;

/* Zero-initialized options mean eager PyTorch 2, inference, fp32, NCHW. */
typedef struct lower_options {
    lower_precision precision;
    lower_layout layout;
    lower_runtime runtime;
    lower_mode mode;
    lower_optimizer optimizer; /* Training only. */
    bool explicit_attention;   /* PyTorch 1.x: attention runs as product, softmax, product. */
    bool single_updates;       /* PyTorch 1.x: the optimizer updates parameters one by one. */
    bool autocast_backward;    /* The backward pass also runs under autocast, as in timm's benchmark. */
    lower_norms norms;
    lower_steps steps;
    uint16_t
        /* Multiprocessors of the device. A compiler splits reductions to fill them; 0: no splitting. */
        multiprocessors;
    bool
        /* PyTorch up to 2.14: group norm copies channels-last inputs and returns a channels-first tensor. */
        contiguous_norms;
    bool narrow_cache; /* Engines only: the KV cache has 8 bits an element. */
} lower_options;

/* Largest number of elements of weights that exporters merge if they are equal. Larger weights are only equal if the
 * network shares them. */
enum { LOWER_LARGEST_MERGED = 4096 };

typedef int32_t tensor_id;
enum { NO_TENSOR = -1 };

/* Returns a key for the options apart from the device: different options have different keys. memcmp() would also
 * compare padding. */
static inline uint64_t lower_options_key(const lower_options *o)
{
    return (uint64_t)o->precision | (uint64_t)o->narrow_cache << 7 | (uint64_t)o->layout << 8 |
           (uint64_t)o->runtime << 16 | (uint64_t)o->mode << 24 | (uint64_t)o->optimizer << 32 |
           (uint64_t)o->explicit_attention << 40 | (uint64_t)o->single_updates << 41 |
           (uint64_t)o->autocast_backward << 42 | (uint64_t)o->norms << 43 | (uint64_t)o->steps << 45 |
           (uint64_t)o->contiguous_norms << 47;
}
/* Returns a key that includes the device. Options with equal keys lower to equal programs. */
static inline uint64_t lower_program_key(const lower_options *o)
{
    return lower_options_key(o) | (uint64_t)o->multiprocessors << 48;
}

/* A tensor in device memory. */
typedef struct placed_tensor {
    dtype dtype;
    int8_t rank;
    bool is_weight; /* Parameter or buffer; exists before the pass. */
    bool is_state;  /* Belongs to the optimizer's state. */
    bool is_number; /* Scalar constant of the program. It needs no memory and never widens the type of the other
                     * operand. */
    const int64_t *dims;
    const int64_t *strides; /* In elements; 0 for a broadcast dimension. */
    int32_t storage;        /* Tensors with equal numbers share memory. */
    value_id value;         /* Value of the network; NO_VALUE if there is none. */
    int64_t packed_bytes;   /* Bytes of a block-quantized weight that stays packed; 0 for other tensors. */
    bool is_turned;         /* The file stores this weight transposed. */
    bool keeps_float;       /* Result of a cast in the network itself; autocast leaves its readers alone. */
} placed_tensor;

enum {
    KERNEL_IN_PLACE = 1, /* The output overwrites the first input. */
    KERNEL_VIEW = 2,     /* Launches nothing; takes only host time. */
    /* Launched by the preceding operator: a convolution's bias sum, or a copy to another layout. */
    KERNEL_HIDDEN = 4,
    KERNEL_UNKNOWN = 8,  /* The operator has no rule. */
    KERNEL_LIBRARY = 16, /* Launched inside a call of a library, with the driver's time alone. */
    KERNEL_AGAIN = 32,   /* Runs again in the backward pass (activation checkpointing). */
};

/* Window of a convolution or pooling; height comes before width. */
enum { MAX_WINDOW = 3 };
typedef struct kernel_window {
    int8_t rank; /* Rank; 0 if there is no window. */
    bool transposed;
    int64_t size[MAX_WINDOW], stride[MAX_WINDOW], padding[MAX_WINDOW], dilation[MAX_WINDOW];
    int64_t groups;
} kernel_window;

/* Loads per element in the loop body of a compiled kernel. */
typedef struct kernel_loops {
    int32_t loads;     /* All loads. A small vector counts as one load. */
    int32_t scattered; /* Loads that strides cannot describe: windows, concatenations, lookups. */
    int32_t gathered;  /* Scattered loads whose neighbours are not adjacent in memory: lookups. */
    int32_t turned;    /* Loads in another memory order than the loops. */
    int64_t reduced;   /* Elements that each reduction sums; 1 for a pointwise kernel. */
} kernel_loops;

typedef enum kernel_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE } kernel_phase;

typedef struct kernel {
    /* ATen's name; for fused loops "triton_poi", "triton_red" or "triton_per". Rules match on this field, so it
     * never contains a name from a file: it is empty for an unknown operator. */
    const char *op;
    const char *file_op; /* Name of an unknown operator in the file; NULL otherwise. */
    node_id layer;       /* Layer of the network; NO_NODE for loss and update. */
    uint8_t flags;
    uint8_t phase; /* kernel_phase */
    int32_t fused_count;
    const char *const *fused; /* Fused ATen operators; NULL for a single operator. */
    kernel_loops loops;       /* Loops of a compiled kernel; zero for other kernels. */
    int32_t input_count, output_count;
    const tensor_id *inputs;
    const tensor_id *outputs;
    const kernel_window *window; /* NULL if the operator has no window. */
    int8_t axes_behind;          /* Softmax: the number of dimensions after the axis. */
    int64_t macs, flops;         /* Counts per run; saturate at INT64_MAX. */
    int64_t bytes_read, bytes_written;
    int64_t repeat; /* Number of runs per pass. */
} kernel;

/* Returns the name to display. */
static inline const char *kernel_name(const kernel *k)
{
    return k->file_op ? k->file_op : k->op;
}
static inline bool kernel_is(const kernel *k, const char *op)
{
    return strcmp(k->op, op) == 0;
}
/* True for convolutions, forward or backward. */
static inline bool kernel_is_convolution(const kernel *k)
{
    return k->window && (kernel_is(k, "convolution") || kernel_is(k, "convolution_backward"));
}
bool kernel_is_attention(const kernel *k); /* True for fused attention, forward or backward. */
bool kernel_is_compiled(const kernel *k);  /* True for loops generated by a compiler. */

typedef struct program {
    struct {
        placed_tensor *items;
        int32_t count, capacity;
    } tensors;
    struct {
        kernel *items;
        int32_t count, capacity;
    } kernels; /* In launch order. */
    struct {
        int32_t *items;
        int32_t count, capacity;
        /* Indexed by kernel; may be shorter than the list: 1 + index of an equal earlier kernel, or 0. */
    } like;
    int32_t storage_count;
    int32_t unknown_count;   /* Number of kernels without a rule. */
    bool has_packed_weights; /* The file contains block-quantized weights. */
    bool is_engine;          /* The program is an inference engine's. */
    bool returns_loss;       /* The model's function computes the loss and returns nothing else that is kept. */
    /* Inclusive range of multiprocessor counts for which the program is the same. */
    uint16_t least_multiprocessors, most_multiprocessors;
} program;

/* Lowers the bound network and allocates everything in `a`. Fails with SOOTH_ERROR_UNSUPPORTED if a shape is unknown,
 * and with SOOTH_ERROR_USAGE if options contradict each other. */
program *lower(sooth_model *model, const lower_options *options, arena *a);

/* Returns an array indexed by value: true for the network's outputs, and for values that share memory with them. */
bool *lower_output_values(const network *net, arena *a);

/* Lowerings of the three runtimes, called by lower(). */
program *lower_eager(sooth_model *model, const lower_options *options, arena *a);
program *lower_inductor(sooth_model *model, const lower_options *options, arena *a);
program *lower_engine(sooth_model *model, const lower_options *options, arena *a);

#endif
