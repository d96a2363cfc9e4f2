/* tflite.h: shared by the parts of the TFLite reader: file and graphs (tflite.c), operators (tflite_ops.c,
 * tflite_ops_nn.c). */
#ifndef SOOTH_FRONT_TFLITE_TFLITE_H
#define SOOTH_FRONT_TFLITE_TFLITE_H

#include "front/common/emit.h"
#include "front/common/flat.h"

typedef struct lite {
    emitter e;
    flat file;
    flat_vector codes, subgraphs, buffers;
    int32_t graphs_read; /* number of graphs read so far: loop bodies and branches are read wherever they are used */
    /* Values of the subgraph being read. */
    value_id *tensors;
    uint32_t tensor_count;
} lite;

enum { LITE_FEW = 64 };

/* One operator of the file. */
typedef struct lite_op {
    flat_table options;
    const value_id *in, *out; /* NO_VALUE for absent ones */
    int in_count, out_count;
    int64_t code;
    str custom;
} lite_op;

/* Writes the operator into the open graph. */
void lite_map(lite *l, const lite_op *o);
typedef void lite_mapper(lite *l, const lite_op *o, const char *canonical);
lite_mapper lite_map_conv, lite_map_depthwise_conv, lite_map_transpose_conv, lite_map_conv_3d,
    lite_map_transpose_conv_3d, lite_map_pool, lite_map_blocks, lite_map_resize, lite_map_lrn, lite_map_l2_norm,
    lite_map_fully_connected, lite_map_batch_matmul, lite_map_svdf, lite_map_sequence_lstm; /* tflite_ops_nn.c */

value_id lite_in(const lite_op *o, int i); /* NO_VALUE if absent */
value_id lite_out(const lite_op *o, int i);
const value *lite_declared(lite *l, value_id v);
/* Return the value that the operator writes before its fused activation, and write the activation. */
value_id lite_before_activation(lite *l, const lite_op *o, int64_t activation);
void lite_activate(lite *l, const lite_op *o, int64_t activation, value_id x);

/* Reads subgraph `index` into g, as the body of a control operator. If `captured` is not NULL, the subgraph's inputs
 * are copies of these outer values. Otherwise they become inputs of g, after `leading` inputs that the caller adds. */
typedef struct lite_body {
    const value_id *captured;
    int captured_count;
    bool is_loop; /* for the body of a Loop: its first inputs are iteration and condition, its first output is the
                   * condition */
} lite_body;
void lite_subgraph(lite *l, int64_t index, graph *g, const lite_body *body);

/* Operands of a loop's condition. */
typedef struct lite_limit {
    int counter; /* loop input that counts up */
    int limit;   /* loop input that holds the limit; -1: the limit is `constant` */
    const tensor *constant;
} lite_limit;
bool lite_find_limit(lite *l, int64_t condition, lite_limit *result);

#endif
