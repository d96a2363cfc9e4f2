/* hlo.h: programs of XLA: StableHLO (MLIR as text or bytecode) and HLO (text or protobuf). Each reader fills one hlo_module; hlo.c writes it as canonical
 * operators: arguments and calls in hlo.c, operators in hlo_ops.c and the files that it names.
 *
 * A module has functions; a function has a region; a region has arguments and operators; an operator may have regions. Values are
 * numbered through the whole module. Calls are inlined, and no function calls itself, so that one place for each value is enough. */
#ifndef SOOTH_FRONT_HLO_HLO_H
#define SOOTH_FRONT_HLO_HLO_H

#include "base/names.h"
#include "base/nesting.h"
#include "front/common/emit.h"

typedef int32_t hlo_value;
enum { HLO_NO_VALUE = -1, HLO_MAX_VALUES = 1 << 24, HLO_FEW = 16 };

typedef struct hlo_type {
    dtype dtype;
    int8_t rank;                     /* RANK_UNKNOWN: no tensor, or one without a rank */
    const num *dims;                 /* NUM_UNKNOWN for '?' */
    const struct hlo_type *elements; /* of a tuple; else NULL */
    int32_t element_count;
} hlo_type;

/* Everything that is a number, or a list of numbers however nested, is one list. Names are StableHLO's; the members of composed
 * attributes (dot_dimension_numbers, window …) stand beside the others. */
typedef struct hlo_attr {
    str name;
    const int64_t *ints;
    int32_t count;
    str text; /* of words and strings */
} hlo_attr;

typedef struct hlo_op hlo_op;

typedef struct hlo_region {
    bool is_function; /* a function's: HLO's operators name functions where others have regions of their own */
    hlo_value first_argument;
    int32_t argument_count;
    struct {
        hlo_op **items;
        int32_t count, capacity;
    } ops;
} hlo_region;

struct hlo_op {
    str name; /* StableHLO's, without the dialect; those of other dialects with it */
    const hlo_value *operands;
    int32_t operand_count;
    hlo_value first_result;
    int32_t result_count;
    const hlo_attr *attrs;
    int32_t attr_count;
    const hlo_region *const *regions;
    int32_t region_count;
    const tensor *constant; /* of "constant" */
    str callee;             /* of calls: the function; of custom calls: the target */
    str label;              /* where it comes from in the user's program; may be empty */
};

typedef struct hlo_value_info {
    hlo_type type;
    str name;
    str label;           /* of an argument of the entry function: the user's name for it */
    int32_t uses;        /* operands that are this value */
    const hlo_op *user;  /* the last of them */
    const hlo_op *maker; /* NULL for arguments */
} hlo_value_info;

typedef struct hlo_function {
    str name;
    hlo_region body;
    bool is_private;
    bool has_body;
} hlo_function;

typedef struct hlo_module {
    builder *b;
    const char *format;
    str name;
    struct {
        hlo_value_info *items;
        int32_t count, capacity;
    } values;
    struct {
        hlo_function **items;
        int32_t count, capacity;
    } functions;
    names function_names;
    const hlo_function *entry; /* set by the reader, or the function main, or the first that is public */
    bool data_are_last;        /* nothing names the arguments, but parameters come first (jax.export) */
} hlo_module;

void hlo_begin(hlo_module *m, builder *b, const char *format);
hlo_value hlo_new_value(hlo_module *m, hlo_type type, str name);
hlo_function *hlo_new_function(hlo_module *m, str name);
const hlo_function *hlo_find_function(const hlo_module *m, str name); /* NULL if there is none */
hlo_value_info *hlo_at(const hlo_module *m, hlo_value v);
/* Of the readers of HLO: an instruction's opcode as StableHLO spells it; the instruction at the end of a function with its result, which is returned
 * (several results become a tuple of them); what the function hands back; the number of rounds in the configuration of a loop. */
str hlo_opcode(hlo_module *m, str name);
hlo_value hlo_add_op(hlo_module *m, hlo_function *f, hlo_op *o, hlo_type type, str name);
void hlo_add_return(hlo_module *m, hlo_function *f, hlo_value root);
bool hlo_trip_count(str config, int64_t *rounds);
/* Writes the module into the source. */
void hlo_write(hlo_module *m);

/* "f32", "bf16", "i64", "ui8", "pred" …; DT_UNKNOWN if it is none. */
dtype hlo_dtype(str name);
/* The elements of a constant as written: numbers, hexadecimal bit patterns, true and false between any brackets and commas; one for
 * all elements; or a string of hexadecimal bytes. Data of large tensors are left out. */
const tensor *hlo_constant(hlo_module *m, const hlo_type *type, str text);
/* A constant whose little-endian bytes are given: of all elements, or of one for all (booleans: one byte each). Of a constant with one number for
 * all elements the tensor has the bytes of that one alone. */
const tensor *hlo_raw_constant(hlo_module *m, const hlo_type *type, const uint8_t *bytes, size_t size);
/* "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" or "b01f_01io->b01f" as StableHLO's nine attributes; false if it is none. */
enum { HLO_CONV_ATTRS = 9 };
bool hlo_conv_dimensions(arena *a, str text, hlo_attr to[HLO_CONV_ATTRS]);

/* ---- attributes of an operator ----------------------------------------------------------------------------------- */

/* By its name, or by another spelling ("" for none). NULL if it is not there. */
const hlo_attr *hlo_attr_of(const hlo_op *o, const char *name, const char *other);
int64_t hlo_int(const hlo_op *o, const char *name, const char *other, int64_t otherwise);
/* Up to `room`; -1 if it is absent or longer. */
int hlo_ints(const hlo_op *o, const char *name, const char *other, int64_t *to, int room);

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* A reduction that was not written yet: a mean is a sum and a division, and a reduction that keeps its dimensions is one that drops them and a
 * broadcast that brings them back. Written with its dimensions kept. */
typedef struct hlo_reduced {
    const char *op;
    value_id x;
    int64_t axes[HLO_FEW];
    int axis_count;
    int64_t elements; /* that become one; 0 if not known */
    value_id made;    /* in graph made_in */
    int32_t made_in;
} hlo_reduced;

/* What stands for a value of the module while it is written: a value of the graph and how to look at it. Views are written only where an
 * operator needs the tensor itself: the canonical pointwise operators broadcast their operands. */
typedef struct hlo_bound {
    enum { HLO_UNBOUND, HLO_PLAIN, HLO_BROADCAST, HLO_PERMUTED, HLO_SQUEEZED, HLO_SPLIT, HLO_TUPLE, HLO_NOTHING } kind;
    bool is_weight; /* a parameter, or one in another shape */
    value_id id;    /* of the tensor that is looked at */
    /* BROADCAST: id has the last `id_rank` dimensions of the value, with 1 at those of the bits of `repeated`; the others are repeated
     * too. `shape` is the whole shape as a value where it is computed; else NO_VALUE: that of the type. */
    int32_t id_rank;
    uint64_t repeated;
    value_id shape;
    const int64_t *perm; /* PERMUTED: dimension i is dimension perm[i] of id */
    /* SQUEEZED: id has `id_rank` dimensions; those of the bits of `repeated` are 1, and the value does not have them. */
    hlo_reduced *reduced; /* SQUEEZED: writes id where it is needed; may be NULL */
    /* SPLIT: the last dimension of id is the last `id_rank` dimensions of the value. */
    value_id whole; /* the tensor itself once it was written, in graph `whole_in` */
    int32_t whole_in;
    int32_t truth;                    /* a number made of a truth value: that value, plus one; else 0 */
    const struct hlo_bound *elements; /* TUPLE */
    int32_t element_count;
} hlo_bound;

typedef struct hlo_writer {
    emitter e;
    hlo_module *m;
    hlo_bound *bound; /* by hlo_value */
    bool *is_done;    /* by first result: another operator has written it already */
    str prefix;       /* of names inside calls */
    int32_t calls;    /* and regions entered so far */
    int32_t graph;    /* number of the graph that is open */
    int32_t graphs;   /* opened so far */
    int32_t depth;    /* of calls and regions */
    int32_t written;  /* operators so far, in every call */
} hlo_writer;

hlo_bound *hlo_bound_of(hlo_writer *w, hlo_value v);
/* The tensor itself; NO_VALUE for tokens. */
value_id hlo_in(hlo_writer *w, hlo_value v);
const hlo_type *hlo_type_of(hlo_writer *w, hlo_value v);
/* A new value of the graph with the name and the type of a result. */
value_id hlo_result(hlo_writer *w, hlo_value v);
void hlo_bind(hlo_writer *w, hlo_value v, value_id id);
/* The known integer of a value of one element. */
bool hlo_number(hlo_writer *w, hlo_value v, int64_t *number);
void hlo_bind_as(hlo_writer *w, hlo_value v, hlo_bound as);
/* The shape of a value as a one-dimensional value of int64. */
value_id hlo_shape_of(hlo_writer *w, hlo_value v);
bool hlo_is_weight(hlo_writer *w, hlo_value v);
/* A constant of a single number, or a broadcast of one. */
bool hlo_scalar(hlo_writer *w, hlo_value v, double *x);
/* The same, also where the constant is written after this place. */
bool hlo_scalar_ahead(hlo_writer *w, hlo_value v, double *x);
/* What a squeezed value is seen through: its tensor with the dimensions kept. */
value_id hlo_kept(hlo_writer *w, hlo_value v);
/* Operand for a pointwise operator: the tensor, or what it is a broadcast of. */
value_id hlo_operand(hlo_writer *w, hlo_value v);
value_id hlo_reshape(hlo_writer *w, value_id x, const int64_t *dims, int rank,
                     value_id output); /* returns the output */
/* A parameter in another shape stays one, without a node. */
value_id hlo_reshaped_weight(hlo_writer *w, value_id x, const int64_t *dims, int rank);
/* The dimensions of a type as numbers; false if one is not known. */
bool hlo_static_dims(const hlo_type *t, int64_t to[MAX_RANK]);
void hlo_region_ops(hlo_writer *w, const hlo_region *r);
/* What the region's last operator hands back. */
const hlo_op *hlo_terminator(const hlo_region *r);
void hlo_foreign(hlo_writer *w, const hlo_op *o);
/* The pointwise operator that combines two elements in the region of a reduction ("add", "maximum" …); "" if it is another. */
str hlo_combiner(const hlo_op *o);

void hlo_map(hlo_writer *w, const hlo_op *o); /* hlo_ops.c */
/* A bias behind a product or a convolution becomes part of it; a sum behind its number of elements a mean. False: it is none. */
bool hlo_map_bias(hlo_writer *w, const hlo_op *o);
bool hlo_map_mean(hlo_writer *w, const hlo_op *o);
/* False: no such form; nothing was written. */
bool hlo_map_dot(hlo_writer *w, const hlo_op *o);         /* hlo_dot.c */
bool hlo_map_convolution(hlo_writer *w, const hlo_op *o); /* hlo_window.c */
bool hlo_map_reduce_window(hlo_writer *w, const hlo_op *o);
bool hlo_map_reduce(hlo_writer *w, const hlo_op *o);
bool hlo_map_gather(hlo_writer *w, const hlo_op *o); /* hlo_index.c */
bool hlo_map_scatter(hlo_writer *w, const hlo_op *o);
bool hlo_map_dynamic_slice(hlo_writer *w, const hlo_op *o);
bool hlo_map_dynamic_update_slice(hlo_writer *w, const hlo_op *o);
bool hlo_map_while(hlo_writer *w, const hlo_op *o); /* hlo_control.c */
bool hlo_map_case(hlo_writer *w, const hlo_op *o);
void hlo_map_call(hlo_writer *w, const hlo_op *o);

#endif
