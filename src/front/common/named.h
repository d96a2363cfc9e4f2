/* named.h: one operator of a file, with operands and attributes by name, for PaddlePaddle, OpenVINO and CoreML. A
 * size may be an attribute in one version of a format and a constant operand in another; lookups by name try both. */
#ifndef SOOTH_FRONT_COMMON_NAMED_H
#define SOOTH_FRONT_COMMON_NAMED_H

#include "front/common/emit.h"

typedef enum named_kind { NAMED_OTHER, NAMED_INTS, NAMED_REALS, NAMED_TEXT } named_kind;

typedef struct named_attr {
    str name;
    named_kind kind;
    int32_t count; /* number of ints or reals; a single number is a list of one */
    union {
        const int64_t *ints;
        const double *reals;
        str text; /* may also be a comma-separated list of numbers, in text formats */
    };
} named_attr;

/* An operand: a tensor or a list of tensors. */
typedef struct named_slot {
    str name; /* empty if the operand is known only by its position */
    const value_id *ids;
    int32_t count;
} named_slot;

typedef struct named_op {
    str type;
    const named_slot *in, *out;
    int32_t in_count, out_count;
    const named_attr *attrs;
    int32_t attr_count;
} named_op;

/* First tensor of an operand; NO_VALUE if there is none. */
value_id named_in(const named_op *o, const char *name);
value_id named_in_at(const named_op *o, int place);
value_id named_out(const named_op *o, const char *name);
value_id named_out_at(const named_op *o, int place);
/* The operand; an empty one if there is none. */
const named_slot *named_list(const named_op *o, const char *name);

const named_attr *named_find(const named_op *o, const char *name); /* NULL if there is none */
/* Numbers of an attribute or a constant operand, at most `room`; -1 if absent or unknown. */
int named_ints(emitter *e, const named_op *o, const char *name, int64_t *to, int room);
int64_t named_int(emitter *e, const named_op *o, const char *name, int64_t otherwise);
bool named_true(emitter *e, const named_op *o, const char *name);
double named_real(emitter *e, const named_op *o, const char *name, double otherwise);
int named_reals(emitter *e, const named_op *o, const char *name, double *to, int room);
str named_text(const named_op *o, const char *name, const char *otherwise);
/* The numbers as a value: the operand, or the attribute as a constant list; NO_VALUE if there is neither. Several
 * tensors are concatenated. */
value_id named_index_list(emitter *e, const named_op *o, const char *name);

/* Row with that name in a table sorted by name, whose rows begin with a const char *; NULL if there is none. */
const void *named_search(const void *rows, size_t count, size_t row_bytes, str name);

/* The value's declaration in the file; an empty one for NO_VALUE. */
const value *named_declared(emitter *e, value_id v);

/* Writes an operator without a mapping under its own name, with all tensors of all operands as inputs. */
void named_foreign(emitter *e, const char *domain, const named_op *o);

#endif
