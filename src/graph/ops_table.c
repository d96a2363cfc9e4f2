/* ops_table.c: the operator table (ops.h): one operator, one row. Rows are in sections by what they do, in each
 * section by name. Columns that are zero may be left out. */
#include "graph/cost.h"
#include "graph/ops.h"
#include "graph/shape.h"

#define MS "com.microsoft"
#define ML "ai.onnx.ml"
#define OWN "sooth"

/* clang-format off: a table is read by its columns */
static const op_info TABLE[] = {
    /* ---- control, constants --------------------------------------------------------------------------------- */
    {"Constant", "", 0, 0, 1, 1, OP_CONTROL, .shape = shape_constant},

    /* ---- pointwise ------------------------------------------------------------------------------------------ */
    {"Add", "", 2, 2, 1, 1, OP_POINTWISE, MEM_IN_PLACE, SAVE_NOTHING, 0, shape_broadcast, NULL, cost_pointwise, 1},
    {"Relu", "", 1, 1, 1, 1, OP_POINTWISE, MEM_IN_PLACE, SAVE_OUTPUT, 0, shape_same, NULL, cost_pointwise, 1},

    /* ---- reductions and softmax ----------------------------------------------------------------------------- */

    /* ---- data movement and views ---------------------------------------------------------------------------- */

    /* ---- sequences, optionals, strings, images, sorting and others ------------------------------------------ */

    /* ---- ai.onnx.ml ----------------------------------------------------------------------------------------- */

    /* ---- convolution, pooling, resizing --------------------------------------------------------------------- */

    /* ---- matrix products ------------------------------------------------------------------------------------ */

    /* ---- normalization -------------------------------------------------------------------------------------- */

    /* ---- attention ------------------------------------------------------------------------------------------ */

    /* ---- recurrent ------------------------------------------------------------------------------------------ */

    /* ---- quantization --------------------------------------------------------------------------------------- */

    /* ---- com.microsoft -------------------------------------------------------------------------------------- */

    /* ---- made by the recovery passes ------------------------------------------------------------------------ */
};
/* clang-format on */

const op_info *ops_all(size_t *count)
{
    *count = sizeof TABLE / sizeof *TABLE;
    return TABLE;
}
