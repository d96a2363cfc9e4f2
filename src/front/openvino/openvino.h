/* openvino.h: what the parts of the OpenVINO reader share: layers and edges (openvino.c), operators (openvino_ops.c,
 * openvino_ops_nn.c), layers of the versions before 10 (openvino_old.c). */
#ifndef SOOTH_FRONT_OPENVINO_OPENVINO_H
#define SOOTH_FRONT_OPENVINO_OPENVINO_H

#include "front/common/named.h"

/* Operands have no names here: their places count. All attributes are texts. */
typedef void (*openvino_mapper)(emitter *e, const named_op *o, const char *canonical);
typedef struct openvino_row {
    const char *name;
    openvino_mapper map;
    const char *canonical;
} openvino_row;

/* Rows in the order of their names. */
const openvino_row *openvino_nn_rows(size_t *count);
const openvino_row *openvino_old_rows(size_t *count);

/* Writes one layer into the graph that is open. `is_old`: of a version before 10. */
void openvino_map(emitter *e, const named_op *o, bool is_old);
dtype openvino_type(str name); /* "f32", "FP32" */

/* The dimensions that the file declares, where every one is known: their number; else -1. */
int openvino_dims(emitter *e, value_id v, int64_t *to);
/* Image axes by the rank of what is convolved; 0 if they cannot be known. */
int openvino_image_axes(emitter *e, const named_op *o);
/* The same for Reshape, where one may be open: -1 stands for it. */
int openvino_target(emitter *e, value_id v, int64_t *to);

#endif
