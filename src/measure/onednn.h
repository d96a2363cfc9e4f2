/* onednn.h: oneDNN's functions, primitives with their arguments, and layouts; shared by onednn.c and its operators. */
#ifndef SOOTH_MEASURE_ONEDNN_H
#define SOOTH_MEASURE_ONEDNN_H

#include "measure/run.h"

#include <oneapi/dnnl/dnnl.h>

/* Functions that are used. The library is opened while the program runs. */
#define ONEDNN_FUNCTIONS(F)                                                                                            \
    F(engine_create)                                                                                                   \
    F(engine_destroy)                                                                                                  \
    F(stream_create)                                                                                                   \
    F(stream_wait)                                                                                                     \
    F(stream_destroy)                                                                                                  \
    F(memory_create)                                                                                                   \
    F(memory_set_data_handle)                                                                                          \
    F(memory_destroy)                                                                                                  \
    F(memory_desc_init_by_strides)                                                                                     \
    F(memory_desc_init_submemory)                                                                                      \
    F(memory_desc_equal)                                                                                               \
    F(memory_desc_get_size)                                                                                            \
    F(primitive_attr_create)                                                                                           \
    F(primitive_attr_set_scratchpad_mode)                                                                              \
    F(primitive_attr_destroy)                                                                                          \
    F(primitive_desc_create)                                                                                           \
    F(primitive_desc_query)                                                                                            \
    F(primitive_desc_query_md)                                                                                         \
    F(primitive_desc_destroy)                                                                                          \
    F(primitive_create)                                                                                                \
    F(primitive_execute)                                                                                               \
    F(primitive_destroy)                                                                                               \
    F(reorder_primitive_desc_create)                                                                                   \
    F(sum_primitive_desc_create)                                                                                       \
    F(concat_primitive_desc_create)                                                                                    \
    F(dilated_convolution_forward_desc_init)                                                                           \
    F(dilated_convolution_backward_data_desc_init)                                                                     \
    F(dilated_convolution_backward_weights_desc_init)                                                                  \
    F(inner_product_forward_desc_init)                                                                                 \
    F(inner_product_backward_data_desc_init)                                                                           \
    F(inner_product_backward_weights_desc_init)                                                                        \
    F(batch_normalization_forward_desc_init)                                                                           \
    F(batch_normalization_backward_desc_init)                                                                          \
    F(eltwise_forward_desc_init)                                                                                       \
    F(eltwise_backward_desc_init)                                                                                      \
    F(pooling_forward_desc_init)                                                                                       \
    F(pooling_backward_desc_init)                                                                                      \
    F(lrn_forward_desc_init)                                                                                           \
    F(lrn_backward_desc_init)                                                                                          \
    F(softmax_forward_desc_init)                                                                                       \
    F(softmax_backward_desc_init)                                                                                      \
    F(logsoftmax_forward_desc_init)                                                                                    \
    F(logsoftmax_backward_desc_init)

#define ONEDNN_FIELD(name) __typeof__(&dnnl_##name) name;
typedef dnnl_memory_desc_t one_md;

enum { ONE_ARGS = 12 };
/* A primitive and its arguments; their addresses are set for each run. */
typedef struct one_call {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive; /* NULL if there is none */
    dnnl_exec_arg_t args[ONE_ARGS];
    int count;
} one_call;

typedef struct one_reorder {
    one_md from, to;
    one_call call;
} one_reorder;

struct run_layout {
    one_md md, row_major;
    size_t bytes;
};

struct onednn {
    void *handle;
    ONEDNN_FUNCTIONS(ONEDNN_FIELD)
    void (*omp_set_num_threads)(int);
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attributes;
    struct {
        one_call **items;
        int32_t count, capacity;
    } calls; /* primitives to destroy at the end */
    struct {
        one_reorder **items;
        int32_t count, capacity;
    } reorders;
};

/* Returns a row-major descriptor. With `turned`, the second of two dimensions has the larger stride. */
one_md one_row_major(const run *r, int rank, const int64_t *dims, bool turned);
one_md one_any(int rank, const int64_t *dims);
bool one_same(const run *r, const one_md *a, const one_md *b);
size_t one_bytes(const run *r, const one_md *md);
one_md one_tensor(const run *r, int value); /* descriptor of a tensor between layers */
/* Returns the conversion between two layouts; NULL if they are equal. */
const run_layout *one_layout(const run *r, const one_md *md, const one_md *row_major);
void one_set_output(run *r, int layer, const one_md *md);

/* Makes a primitive from an operator's descriptor; false if the library has none. */
bool one_make(run *r, int layer, one_call *c, const void *operator, dnnl_primitive_desc_t hint);
/* The same for a primitive descriptor that exists already. */
bool one_make_of(run *r, int layer, one_call *c, dnnl_status_t status, dnnl_primitive_desc_t desc);
const one_md *one_query(const run *r, const one_call *c, dnnl_query_t what);
void one_arg(const run *r, one_call *c, int argument, const one_md *md);
/* Runs the primitive on data in the order of the one_arg calls. */
void one_run(run *r, one_call *c, void *const data[]);
void one_copy(run *r, const one_md *from, const float *source, const one_md *to, float *target);

/* The operators of onednn_products.c and onednn_maps.c; each has the functions of a backend. */
extern const run_backend ONEDNN_PRODUCTS, ONEDNN_MAPS;

#endif
