/* paddle.h: shared by the parts of the PaddlePaddle reader.
 *
 *   paddle.c          ProgramDesc (.pdmodel, __model__): protobuf → blocks
 *   paddle_js.c       Paddle.js model.json: JSON → the same blocks
 *   paddle_program.c  blocks → graph: variables that are written more than once, branches, loops
 *   paddle_pir.c      Paddle 3 programs (.json), whose values are written once → graph
 *   paddle_ops.c, paddle_ops_shape.c, paddle_ops_nn.c  operators of all of them → canonical ones */
#ifndef SOOTH_FRONT_PADDLE_PADDLE_H
#define SOOTH_FRONT_PADDLE_PADDLE_H

#include "front/common/named.h"

typedef struct paddle_var {
    str name;
    dtype type;
    int rank; /* RANK_UNKNOWN if it is not a tensor, or has no shape */
    const num *dims;
    bool is_persistable; /* a weight */
} paddle_var;

/* An operand of an operator: the names of its variables. */
typedef struct paddle_slot {
    str name;
    struct {
        str *items;
        int32_t count, capacity;
    } vars;
} paddle_slot;

typedef struct paddle_slots {
    paddle_slot *items;
    int32_t count, capacity;
} paddle_slots;

typedef struct paddle_desc {
    str type;
    paddle_slots in, out;
    struct {
        named_attr *items;
        int32_t count, capacity;
    } attrs;
} paddle_desc;

typedef struct paddle_block {
    struct {
        paddle_var *items;
        int32_t count, capacity;
    } vars;
    struct {
        paddle_desc *items;
        int32_t count, capacity;
    } descs;
} paddle_block;

typedef struct paddle_blocks {
    paddle_block *items;
    int32_t count, capacity;
} paddle_blocks;

/* Writes the program into the main graph: the first block, and the blocks that its operators refer to. */
void paddle_write_program(emitter *e, const paddle_blocks *blocks);

dtype paddle_type(int64_t number); /* converts a VarType.Type */

/* Writes one operator into the open graph. */
void paddle_map(emitter *e, named_op *o);
/* Operand names of a PIR operator in order ("X Y"); NULL if it has no row. */
const char *paddle_operands(str type);

/* A row of the operator table. Names omit the trailing underscore of in-place operators. */
typedef void (*paddle_mapper)(emitter *e, const named_op *o, const char *canonical);
typedef struct paddle_row {
    const char *name;
    const char *operands; /* names of operands by position; files in PIR have none */
    paddle_mapper map;
    const char *canonical;
} paddle_row;

/* Rows sorted by name. */
const paddle_row *paddle_shape_rows(size_t *count);
const paddle_row *paddle_nn_rows(size_t *count);
/* paddle_ops.c: returns the operator's main output. */
value_id paddle_out(const named_op *o);
const named_slot *paddle_outs(const named_op *o); /* its first existing output, as a list */
value_id paddle_x(const named_op *o);             /* its main input */
/* An output by name; in PIR, which has no names, by position. */
value_id paddle_out_at(const named_op *o, const char *name, int place);

#endif
