/* net.h: the learned part: one small network per group of kernels.
 *
 * Its inputs are the features of a kernel on a device and embeddings of the operator, the software stack and the GPU.
 * Its outputs are three factors on the roofline's compute time, memory time and fixed time. All parameters are in one
 * array, so that training treats them alike. */
#ifndef SOOTH_PREDICT_NET_H
#define SOOTH_PREDICT_NET_H

#include "predict/features.h"

enum {
    OP_WIDTH = 6,
    STACK_WIDTH = 8,
    GPU_WIDTH = 6,
    VECTORS_WIDTH = OP_WIDTH + STACK_WIDTH + GPU_WIDTH,
    INPUT_WIDTH = FEATURE_COUNT + VECTORS_WIDTH,
    KERNEL_WIDTH = FEATURE_COUNT + OP_WIDTH, /* The part of an input that differs between kernels. */
    HEADS = 3,
    MAX_STACKS = 96,
    MAX_GPUS = 96,
    UNKNOWN = 0, /* Index of an unknown GPU or operator, and of the unknown stack of a single operator. */
    UNKNOWN_STACKS =
        1 + LOWER_RUNTIMES, /* Embeddings for unknown stacks come first: one for single operators, one per runtime. */
};

/* Returns the unknown stack of a runtime. There is one per runtime, because host time differs most between runtimes. */
static inline int net_unknown_stack(lower_runtime r)
{
    return 1 + (int)r;
}

typedef struct group_shape {
    size_t first, second; /* Units of the two hidden layers. */
} group_shape;
group_shape net_group_shape(work_group g);

/* Offsets in the parameter array. */
typedef struct net_layout {
    size_t ops;          /* [op][OP_WIDTH] */
    size_t stacks;       /* [stack][STACK_WIDTH] */
    size_t gpus;         /* [gpu][GPU_WIDTH] */
    size_t stack_fixed;  /* [stack]: log of the microseconds per pass outside kernels */
    size_t stack_host;   /* [stack]: log of the host's microseconds per kernel */
    size_t group_host;   /* [group]: log of a factor on stack_host */
    size_t gpu_host;     /* [gpu]: log of a factor for the host that measured this GPU */
    size_t machine_host; /* [stack][gpu]: log of a further factor for the host of this pair */
    size_t first[WORK_GROUP_COUNT], first_bias[WORK_GROUP_COUNT];   /* [INPUT_WIDTH][first] */
    size_t second[WORK_GROUP_COUNT], second_bias[WORK_GROUP_COUNT]; /* [first][second] */
    size_t heads[WORK_GROUP_COUNT], heads_bias[WORK_GROUP_COUNT];   /* [HEADS][second] */
    size_t count;
} net_layout;
net_layout net_layout_of(int op_count, int stack_count, int gpu_count);

typedef struct net {
    net_layout at;
    int op_count; /* Number of known operators; later ones are unknown. */
    int stack_count, gpu_count;
    str stacks[MAX_STACKS]; /* Names; the first UNKNOWN_STACKS begin with "unknown". */
    str gpus[MAX_GPUS];     /* Names; the first is "unknown". */
    const float *params;
    /* Coverage of the training data. An embedding that training never updated carries no information, so a lookup
     * replaces it by another. */
    /* [stack]: bit g is set if training saw kernels of group g; also SEEN_IN_NETWORKS and the runtimes */
    const uint32_t *stack_groups;
    const uint32_t *gpu_groups; /* [gpu]: the same bits as for a stack. */
    const uint32_t *op_seen;    /* [op]: 1 if training saw the operator, else 0. */
    const uint32_t *gpu_units;  /* [gpu][WORK_UNITS]: bit g if training saw kernels of group g on that unit. */
    const uint32_t *gpu_ops;    /* [gpu][net_op_words()]: bits of the operators that training saw. */
    const float *gpu_numbers;   /* [gpu][VIEW_NUMBERS]: the GPUs as training saw them; zeros for the unknown one. */
    const float *low, *high;    /* [group][FEATURE_COUNT]: range in training. */
} net;

static const uint32_t SEEN_IN_NETWORKS = 1u << 31; /* Bit: seen in networks, not only as single operators. */
enum { SEEN_RUNTIMES = 31 - LOWER_RUNTIMES };      /* First of the bits for the runtimes of its networks. */
_Static_assert((int)WORK_GROUP_COUNT <= SEEN_RUNTIMES, "groups, runtimes and SEEN_IN_NETWORKS share a word");

/* Returns the stack of that name, else the nearest version of the same kind, else `otherwise`. Only stacks with
 * networks in the runtime count; for engines also those with single operators, and for ANY_RUNTIME all. */
enum { ANY_RUNTIME = -1 };
int net_stack_find(const net *n, str name, int otherwise, int runtime);
/* Returns the stack that represents all CUDA builds of one framework's major version ("pt2.4-cu124"), or the stack
 * itself. New GPUs use merged stacks, because most versions were measured on one GPU generation. */
int net_stack_major(const str *names, int count, int stack);
int net_gpu_find(const net *n, str name);

/* Return the embedding to use for kernels of a group: that of the stack, GPU or operator, or of the nearest one with
 * which training saw such kernels. `otherwise` is the unknown stack of the runtime. */
int net_stack_in(const net *n, int stack, int otherwise, work_group g);
int net_gpu_in(const net *n, int gpu, work_group g);
int net_op(const net *n, int op);
/* True if the GPU was measured with such kernels: of this group on this unit and, for groups without products, of
 * this operator. */
bool net_gpu_ran(const net *n, int gpu, work_group g, work_unit u, int op);
static inline size_t net_op_words(int op_count)
{
    return ((size_t)op_count + 31) / 32;
}
/* True if the GPU was measured with networks, or with kernels of every group in `groups` (a bit mask). */
bool net_gpu_known(const net *n, int gpu, uint32_t groups);
/* Returns the GPU whose host times apply. GPUs known only by single operators have no host. */
int net_host_gpu(const net *n, int gpu);
/* Host time of one kernel in microseconds, without the factor of its group. `gpu` comes from net_host_gpu(). */
double net_launch_us(const net *n, int stack, int gpu);
/* True if the stack has host times. Timers of single operators do not wait for launches; stack_fixed has their
 * common time. */
bool net_has_host(const net *n, int stack);

/* Intermediate values of `count` kernels of one group. Row widths are those of the layers. */
typedef struct net_pass {
    /* Number of kernels, and of floats per input: KERNEL_WIDTH if first_bias contains the rest. */
    size_t count, width;
    const float *first_bias; /* of the first layer */
    const uint16_t *picks;   /* Indices of the input columns that are nonzero in some row; NULL: all columns. */
    size_t pick_count;
    float *input;             /* [count][width] */
    float *first_sum, *first; /* sums before the activation, and their activations */
    float *second_sum, *second;
    float *heads; /* [count][HEADS] */
} net_pass;
/* Return the number of floats that a pass over `count` kernels needs, and lay out the pass in such a buffer. */
size_t net_pass_floats(work_group g, size_t count);
net_pass net_pass_at(const net *n, work_group g, size_t count, float *room);
void net_forward(const net *n, work_group g, const net_pass *pass);

/* Adds the embeddings of a stack and a GPU to the bias of the first layer, because all kernels of a program share
 * them. `bias` has room for the layer's units. */
void net_bias_of(const net *n, work_group g, int stack, int gpu, float *bias);

/* Clamps a feature to the range of training: networks do not extrapolate. */
void net_clamp(const net *n, work_group g, float features[FEATURE_COUNT]);

/* Convert the three outputs to a time. */
enum { HEAD_COMPUTE, HEAD_MEMORY, HEAD_FIXED };

/* Bounds for kernels unlike any that were measured: largest logarithms of the factors on FLOPs and bytes, and the
 * largest fixed time. Where only sums over many short kernels were measured, they also keep host time out of the
 * kernels. */
typedef struct head_bounds {
    float compute, memory;
    double fixed_us;
} head_bounds;
head_bounds net_bounds(work_group g);

static const float LEAST_HEAD = -8;
float net_factor(float head, float most); /* exp(head), clamped at `most` */

/* Fixed time of a kernel if the network's output is 0. */
static const double FIXED_US = 2;
double net_fixed_us(float head, double most_us);
double net_fixed_slope_us(double fixed_us, double most_us); /* derivative of the fixed time by its output */

/* Exponent of the smooth maximum of kernel time and host time: the larger one dominates, and the result is smooth where
 * they are equal. */
enum { OVERLAP_POWER = 6 };
double net_smooth_max(double x, double y); /* for non-negative numbers */

#endif
