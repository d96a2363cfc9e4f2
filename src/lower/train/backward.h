/* backward.h: interface of the gradient rules. The forward kernels, including views, form the tape; each ATen operator
 * has one rule, as in autograd. */
#ifndef SOOTH_LOWER_TRAIN_BACKWARD_H
#define SOOTH_LOWER_TRAIN_BACKWARD_H

#include "lower/eager/eager.h"

/* A run of consecutive kernels that read parts of one tensor, and whether they form one operator. */
typedef struct part_run {
    int32_t first, last;
    bool is_one, is_joined;
} part_run;

typedef struct backward {
    eager *e;
    tensor_id *gradients; /* Indexed by forward tensor: its gradient; NO_TENSOR until one exists. */
    bool *needs;          /* Indexed by forward tensor: true if it depends on a parameter. */
    int32_t tensor_count; /* Number of forward tensors. */
    int32_t at;           /* Index of the kernel to differentiate. */
    kernel k;             /* Copy of that kernel, because appending kernels may move the list. */
    tensor_id dy;         /* Gradient of its first output. */
    int64_t *from;        /* Indexed by forward tensor: the kernel input for which its gradient was computed. */
    struct {
        struct twin {
            tensor_id parameter, gradient;
        } * items;
        int32_t count, capacity;
    } twins;      /* Parameters that the exporter merged with an equal one. */
    part_run run; /* The run found last. */
} backward;

/* True if input i exists and depends on a parameter. */
bool back_wants(const backward *b, int i);
/* Adds the gradient of input i, reduced to its shape and cast to its type as in autograd. */
void back_give(backward *b, int i, tensor_id gradient);

tensor_id back_sum_over(eager *e, tensor_id t, const extent *x); /* Sum with keepdim; `x` has the rank of `t`. */
/* Appends a pointwise kernel with this many FLOPs per element. */
tensor_id back_work(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, double flops);
/* Appends a matrix product, in 16 bits under autocast. */
tensor_id back_product_of(eager *e, tensor_id a, tensor_id b);
/* Returns a dense tensor with the stride order of `t`. */
tensor_id back_launch_like(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, tensor_id like);
/* Adds an output to the last kernel. */
tensor_id back_add_output_like(eager *e, dtype type, tensor_id like);

/* True if the kernel is this operator or its in-place form. */
bool back_is_op_or_in_place(const char *op, const char *name);

/* Appends the backward pass. The kernels before `end` are the tape. */
void back_differentiate(backward *b, int32_t end);

/* ---- rules, by file ---------------------------------------------------------------------------------------------- */

void back_unary(backward *b); /* backward_rules_pointwise.c */
void back_dropout(backward *b);
void back_scaled(backward *b);
void back_add(backward *b);
void back_sub(backward *b);
void back_rsub(backward *b);
void back_mul(backward *b);
void back_div(backward *b);
void back_pow(backward *b);
void back_sqrt(backward *b);
void back_rsqrt(backward *b);
void back_exp(backward *b);
void back_log(backward *b);
void back_sin(backward *b);
void back_neg(backward *b);
void back_glu(backward *b);
void back_masked_fill(backward *b);
void back_std(backward *b);
void back_var_mean(backward *b);
void back_clamp(backward *b);
void back_where(backward *b);
void back_addcmul(backward *b);
void back_select_larger(backward *b);
void back_mean(backward *b);
void back_sum(backward *b);
void back_amax(backward *b);
void back_log_sum_exp(backward *b);
void back_running_sum(backward *b);
void back_prelu(backward *b);
void back_var(backward *b);
void back_vector_norm(backward *b);
void back_softmax(backward *b);
void back_cast(backward *b);

void back_mm(backward *b); /* backward_rules_products.c */
void back_bmm(backward *b);
void back_baddbmm(backward *b);
void back_attention(backward *b);
void back_convolution(backward *b);
void back_pool(backward *b);
void back_batch_norm(backward *b);
void back_norm(backward *b);
void back_resample(backward *b);
void back_loss(backward *b);

void back_recurrent(backward *b); /* rules_recurrent.c */

void back_clone(backward *b); /* backward_rules_move.c */
void back_view(backward *b);
void back_permute(backward *b);
void back_expand(backward *b);
void back_part(backward *b);
void back_split(backward *b);
void back_restride(backward *b);
void back_index(backward *b);
void back_embedding(backward *b);
void back_gather(backward *b);
void back_index_select(backward *b);
void back_picked(backward *b);
void back_scatter(backward *b);
void back_weight_norm(backward *b);
void back_index_put(backward *b);
void back_copy(backward *b);
void back_cat(backward *b);
void back_stack(backward *b);
void back_pad(backward *b);
void back_repeat(backward *b);
void back_fold(backward *b);
void back_unfold(backward *b);

#endif
