/* mlir_bytecode.h: what the two halves of the reader of MLIR bytecode share: the file and its operators (mlir_bytecode.c), attributes and types
 * (mlir_attributes.c). */
#ifndef SOOTH_FRONT_HLO_MLIR_BYTECODE_H
#define SOOTH_FRONT_HLO_MLIR_BYTECODE_H

#include "front/hlo/hlo.h"

typedef struct mlir mlir;

typedef struct mlir_bytes {
    mlir *m;
    const uint8_t *at, *end;
} mlir_bytes;

/* An attribute or a type. */
typedef struct mlir_entry {
    str dialect;
    bool has_encoding; /* else it is text */
    mlir_bytes bytes;
} mlir_entry;

typedef struct mlir_op_name {
    str dialect, name;
} mlir_op_name;

typedef struct mlir_ids {
    hlo_value *items;
    int32_t count, capacity;
} mlir_ids;

struct mlir {
    hlo_module *module;
    arena *arena;
    int version;
    str *strings, *dialects;
    uint32_t string_count, dialect_count;
    mlir_op_name *op_names;
    uint32_t op_name_count;
    mlir_entry *attrs, *types;
    uint32_t attr_count, type_count;
    mlir_bytes *properties;
    uint32_t property_count;
    /* Values of the regions that are open; those of the innermost are given out from next_id to id_end. */
    mlir_ids ids;
    int32_t next_id, id_end;
    int depth;
};

_Noreturn void mlir_fail(mlir *m, const char *what);
uint8_t mlir_byte(mlir_bytes *b);
uint64_t mlir_varint(mlir_bytes *b);
int64_t mlir_signed(mlir_bytes *b);
uint32_t mlir_count(mlir_bytes *b);
mlir_bytes mlir_part(mlir_bytes *b, uint64_t size);
str mlir_string(mlir *m, uint64_t index);

hlo_type mlir_type(mlir *m, uint64_t index);
/* The operator's attributes: a dictionary, or properties in the order of their names; -1: there are none. */
void mlir_read_attrs(mlir *m, hlo_op *o, int64_t dictionary, int64_t properties);
/* What a location calls the operator; empty if it does not. */
str mlir_label(mlir *m, uint64_t location);
/* What JAX calls arguments that it has added itself. */
void mlir_label_arguments(mlir *m, const hlo_op *function, const hlo_region *r);
/* The value of a constant. NULL if it is none that is known. */
const tensor *mlir_constant(mlir *m, const hlo_op *o);

#endif
