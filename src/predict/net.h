/* net.h: the learned part: one small network for each group of kernels.
 *
 * A network sees the features of a kernel on a device, and learned vectors for the operator, the software stack and the GPU, and
 * gives three numbers: by what factor the compute time, the memory time and the fixed time of the ideal machine are longer.
 * All parameters lie in one array, so that training can treat them alike. */
#ifndef SOOTH_PREDICT_NET_H
#define SOOTH_PREDICT_NET_H

#include "predict/features.h"

enum {
    OP_WIDTH = 6,
    STACK_WIDTH = 8,
    GPU_WIDTH = 6,
    VECTORS_WIDTH = OP_WIDTH + STACK_WIDTH + GPU_WIDTH,
    INPUT_WIDTH = FEATURE_COUNT + VECTORS_WIDTH,
    KERNEL_WIDTH = FEATURE_COUNT + OP_WIDTH, /* the part of an input that differs from kernel to kernel */
    HEADS = 3,
    MAX_STACKS = 96,
    MAX_GPUS = 96,
    UNKNOWN =
        0, /* the number of the GPU, of the operator, and of the stack of a single operator, that stands for any other */
    UNKNOWN_STACKS =
        1 + LOWER_RUNTIMES, /* the first ones: that of single operators, and one for the networks of each runtime */
};

/* Of a network whose stack nobody told: what the host takes differs by runtime more than by anything else. */
static inline int net_unknown_stack(lower_runtime r)
{
    return 1 + (int)r;
}

typedef struct group_shape {
    size_t first, second; /* units of the two hidden layers */
} group_shape;
group_shape net_group_shape(work_group g);

/* Where in the array each part lies. */
typedef struct net_layout {
    size_t ops;          /* [op][OP_WIDTH] */
    size_t stacks;       /* [stack][STACK_WIDTH] */
    size_t gpus;         /* [gpu][GPU_WIDTH] */
    size_t stack_fixed;  /* [stack]: log of microseconds that every pass takes beside its kernels */
    size_t stack_host;   /* [stack]: log of microseconds that the host needs for one kernel */
    size_t group_host;   /* [group]: by what factor more, log */
    size_t gpu_host;     /* [gpu]: the same for the hosts that its GPU was measured in, added to it */
    size_t machine_host; /* [stack][gpu]: the same for the host of both */
    size_t first[WORK_GROUP_COUNT], first_bias[WORK_GROUP_COUNT];   /* [INPUT_WIDTH][first] */
    size_t second[WORK_GROUP_COUNT], second_bias[WORK_GROUP_COUNT]; /* [first][second] */
    size_t heads[WORK_GROUP_COUNT], heads_bias[WORK_GROUP_COUNT];   /* [HEADS][second] */
    size_t count;
} net_layout;
net_layout net_layout_of(int op_count, int stack_count, int gpu_count);

typedef struct net {
    net_layout at;
    int op_count; /* operators that it knows; later ones are any other */
    int stack_count, gpu_count;
    str stacks[MAX_STACKS]; /* names; the first UNKNOWN_STACKS begin with "unknown" */
    str gpus[MAX_GPUS];     /* names; the first is "unknown" */
    const float *params;
    /* What training saw: vectors that it never moved say nothing, so others stand in for them. */
    const uint32_t *stack_groups; /* [stack]: bit g: with kernels of group g; SEEN_IN_NETWORKS, and how they ran */
    const uint32_t *gpu_groups;   /* [gpu]: the same */
    const uint32_t *op_seen;      /* [op]: 0 or 1 */
    const float *low, *high;      /* [group][FEATURE_COUNT]: of the kernels that training saw */
} net;

static const uint32_t SEEN_IN_NETWORKS = 1u << 31; /* not by single operators alone */
enum { SEEN_RUNTIMES = 31 - LOWER_RUNTIMES };      /* the bit of the first runtime that its networks ran in */
_Static_assert((int)WORK_GROUP_COUNT <= SEEN_RUNTIMES, "groups, runtimes and SEEN_IN_NETWORKS share a word");

/* The stack of that name; of the same kind and the nearest version if the name is not known; else `otherwise`. Only those that run networks in the runtime count, but for ANY_RUNTIME; of
 * engines also those whose operators were measured alone. */
enum { ANY_RUNTIME = -1 };
int net_stack_find(const net *n, str name, int otherwise, int runtime);
/* The stack that stands for all builds of one framework with the same major version ("pt2.4-cu124"); itself where it is none of such. For new GPUs they are one: most versions were measured on GPUs of one
 * generation alone, and what is the generation's would be taken for the version's. */
int net_stack_major(const str *names, int count, int stack);
int net_gpu_find(const net *n, str name);

/* Whose vector serves kernels of a group: that of the stack, GPU or operator itself, or of the nearest of which training saw such kernels.
 * `otherwise`: the unknown stack of the same runtime. */
int net_stack_in(const net *n, int stack, int otherwise, work_group g);
int net_gpu_in(const net *n, int gpu, work_group g);
int net_op(const net *n, int op);
/* Is it known how a program with kernels of these groups (bits) runs on the GPU? Networks were measured on it, or each of its groups was. */
bool net_gpu_known(const net *n, int gpu, uint32_t groups);
/* Whose launches: GPUs that are known by single operators alone have no host. */
int net_host_gpu(const net *n, int gpu);
/* What the host takes for one kernel, but for the kernel's group, microseconds; `gpu` by net_host_gpu(). */
double net_launch_us(const net *n, int stack, int gpu);
/* Nor have stacks: timers of single operators do not wait for launches. What is the same for all of them is in stack_fixed. */
bool net_has_host(const net *n, int stack);

/* Values of `count` kernels of one group on their way through the network; rows of the widths of its layers. */
typedef struct net_pass {
    size_t count, width;     /* kernels; numbers of each: INPUT_WIDTH, or KERNEL_WIDTH with the rest in first_bias */
    const float *first_bias; /* of the first layer */
    const uint16_t *picks;   /* columns of the input that are not zero in all rows; NULL: any may be */
    size_t pick_count;
    float *input;             /* [count][width] */
    float *first_sum, *first; /* before and after the activation */
    float *second_sum, *second;
    float *heads; /* [count][HEADS] */
} net_pass;
/* Floats that a pass needs for `count` kernels, and the pass laid out in them. */
size_t net_pass_floats(work_group g, size_t count);
net_pass net_pass_at(const net *n, work_group g, size_t count, float *room);
void net_forward(const net *n, work_group g, const net_pass *pass);

/* The learned vectors of a stack and a GPU as the first layer sees them, added to its bias: they are the same for all kernels of a program.
 * `bias` has room for the units of the layer. */
void net_bias_of(const net *n, work_group g, int stack, int gpu, float *bias);

/* A feature beyond what training saw is taken for the nearest that it saw: networks say anything there. */
void net_clamp(const net *n, work_group g, float features[FEATURE_COUNT]);

/* From the three numbers to a time. */
enum { HEAD_COMPUTE, HEAD_MEMORY, HEAD_FIXED };

/* What bounds it: how many times as long as on the ideal machine FLOPs and bytes take at most, as logarithms, and the fixed time. Nothing else does where no kernel like it was
 * measured; and where only sums over many short kernels were, their time must not be taken for what the host takes to launch them. */
typedef struct head_bounds {
    float compute, memory;
    double fixed_us;
} head_bounds;
head_bounds net_bounds(work_group g);

static const float LEAST_HEAD = -8;
float net_factor(float head, float most); /* exp, within bounds */

/* FIXED_US where the network says 0. */
static const double FIXED_US = 2;
double net_fixed_us(float head, double most_us);
double net_fixed_slope_us(double fixed_us, double most_us); /* by the head */

/* A model's time is that of its kernels, unless the host is slower; and a fixed part. With this power the larger one of the two counts
 * almost alone, and the sum stays smooth where they are equal. */
enum { OVERLAP_POWER = 6 };

#endif
