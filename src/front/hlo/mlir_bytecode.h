/* mlir_bytecode.h: shared by both halves of the MLIR bytecode reader: file and operators (mlir_bytecode.c),
 * attributes and types (mlir_attributes.c). */
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
    bool has_encoding; /* false: it is text */
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
    /* Values of the open regions; the innermost region assigns ids from next_id to id_end. */
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
/* Reads an operator's attributes: a dictionary, or properties sorted by name (-1: none). */
void mlir_read_attrs(mlir *m, hlo_op *o, int64_t dictionary, int64_t properties);
/* Name of the operator in a location; empty if it has none. */
str mlir_label(mlir *m, uint64_t location);
/* Labels the arguments that JAX adds to a function. */
void mlir_label_arguments(mlir *m, const hlo_op *function, const hlo_region *r);
/* Value of a constant; NULL if it is of an unknown kind. */
const tensor *mlir_constant(mlir *m, const hlo_op *o);

#endif
