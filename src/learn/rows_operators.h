/* rows_operators.h: interface between the reader of operator tables (rows_operators.c) and the makers of their programs
 * (rows_programs.c). */
#ifndef SOOTH_LEARN_ROWS_OPERATORS_H
#define SOOTH_LEARN_ROWS_OPERATORS_H

#include "learn/rows_table.h"
#include "lower/eager/single.h"

/* Columns of all sources; each table has some of them. */
typedef enum operator_column {
    COLUMN_OP,
    COLUMN_LAYER_OP,
    COLUMN_DEVICE,
    COLUMN_DTYPE,
    COLUMN_KV_DTYPE,
    COLUMN_FRAMEWORK,
    COLUMN_SOURCE,
    COLUMN_BATCH,
    COLUMN_M,
    COLUMN_N,
    COLUMN_K,
    COLUMN_TRANS_A,
    COLUMN_TRANS_B,
    COLUMN_GATED,
    COLUMN_ROWS,
    COLUMN_COLS,
    COLUMN_DIRECTION,
    COLUMN_IMAGES, /* convolution: N, C, H, W, and K filters of R x S */
    COLUMN_CHANNELS,
    COLUMN_DEPTH,
    COLUMN_HEIGHT,
    COLUMN_WIDTH,
    COLUMN_FILTERS,
    COLUMN_FILTER_HEIGHT,
    COLUMN_FILTER_WIDTH,
    COLUMN_STRIDE,
    COLUMN_STRIDE_H,
    COLUMN_STRIDE_W,
    COLUMN_PAD,
    COLUMN_PAD_H,
    COLUMN_PAD_W,
    COLUMN_DILATION,
    COLUMN_GROUPS,
    COLUMN_LAYOUT,
    COLUMN_DESCRIPTION,
    COLUMN_ACTIVATION_BYTES,
    COLUMN_Q_LEN,
    COLUMN_PAST_LEN,
    COLUMN_HEADS,
    COLUMN_KV_HEADS,
    COLUMN_HEAD_DIM,
    COLUMN_WINDOW,
    COLUMN_HIDDEN, /* recurrent layers */
    COLUMN_STEPS,
    COLUMN_LATENCY,
    COLUMN_FORWARD_MS,
    COLUMN_BACKWARD_MS,
    COLUMN_BACKWARD_DATA_MS, /* recurrent layers: backward through the steps, and weight gradients */
    COLUMN_BACKWARD_WEIGHT_MS,
    COLUMN_POWER,
    COLUMN_COUNT
} operator_column;

typedef struct operator_reader {
    table_reader *table;
    int columns[COLUMN_COUNT]; /* index of each column; -1: the table does not have it */
    fail fail;                 /* receives failures while a program is made */
    sooth_error error;
    single *single;
    measured_row *row;
    str op;                      /* operator of the current row */
    str direction;               /* convolution or norm: empty, "fwd", "bwd", "bwd_data" or "bwd_weight" */
    dtype input, weight, output; /* element types */
} operator_reader;

str operator_text(const operator_reader *o, operator_column column);
/* Returns a number of the shape. Outside the range from `least` to 2^31 it rejects the row and returns 1. An empty
 * field gives `otherwise`, unless that is negative. */
int64_t operator_number(operator_reader *o, operator_column column, int64_t least, int64_t otherwise);

typedef void (*program_maker)(operator_reader *o);
typedef struct operator_kind {
    const char *op; /* name of the operator in tables */
    program_maker make;
    const char *canonical; /* name in the operator table, which has its FLOPs per element */
    const char *aten;
    int operands; /* number of operands of a pointwise operator */
} operator_kind;
/* Returns NULL if the operator is unknown. */
const operator_kind *operator_kind_of(str op);
/* Sets row->kernels. The element types must be set already. */
void operator_make(operator_reader *o, const operator_kind *kind);

#endif
