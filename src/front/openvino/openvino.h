/* openvino.h: shared by the parts of the OpenVINO reader: layers and edges (openvino.c), operators (openvino_ops.c,
 * openvino_ops_nn.c), layers before version 10 (openvino_old.c). */
#ifndef SOOTH_FRONT_OPENVINO_OPENVINO_H
#define SOOTH_FRONT_OPENVINO_OPENVINO_H

#include "front/common/named.h"

/* Operands are positional. All attributes are strings. */
typedef void (*openvino_mapper)(emitter *e, const named_op *o, const char *canonical);
typedef struct openvino_row {
    const char *name;
    openvino_mapper map;
    const char *canonical;
} openvino_row;

/* Rows sorted by name. */
const openvino_row *openvino_nn_rows(size_t *count);
const openvino_row *openvino_old_rows(size_t *count);

/* Writes one layer into the open graph. `is_old`: before version 10. */
void openvino_map(emitter *e, const named_op *o, bool is_old);
dtype openvino_type(str name); /* "f32", "FP32" */

/* Reads the declared dimensions if all are known; returns the rank, or -1. */
int openvino_dims(emitter *e, value_id v, int64_t *to);
/* Returns the number of spatial axes, from the operands' ranks; 0 if unknown. */
int openvino_image_axes(emitter *e, const named_op *o);
/* The same for Reshape, where one dimension may be open (-1). */
int openvino_target(emitter *e, value_id v, int64_t *to);

#endif
