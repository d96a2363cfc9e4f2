/* hlo.h: XLA programs: StableHLO (MLIR as text or bytecode) and HLO (text or protobuf). Each reader fills an
 * hlo_module; hlo.c writes it as canonical operators, with hlo_ops.c and the files that it names.
 *
 * A module has functions; a function has a region; a region has arguments and operators; an operator may have
 * regions. Values are numbered across the module. Calls are inlined, and recursion is refused, so each value has one
 * slot. */
#ifndef SOOTH_FRONT_HLO_HLO_H
#define SOOTH_FRONT_HLO_HLO_H

#include "base/names.h"
#include "base/nesting.h"
#include "front/common/emit.h"

typedef int32_t hlo_value;
enum { HLO_NO_VALUE = -1, HLO_MAX_VALUES = 1 << 24, HLO_FEW = 16 };

typedef struct hlo_type {
    dtype dtype;
    int8_t rank;                     /* RANK_UNKNOWN: not a tensor, or a tensor of unknown rank */
    const num *dims;                 /* NUM_UNKNOWN for '?' */
    const struct hlo_type *elements; /* elements of a tuple; else NULL */
    int32_t element_count;
} hlo_type;

/* Numbers and (nested) lists of numbers are one flat list. Names are StableHLO's; members of composed attributes
 * (dot_dimension_numbers, window …) become attributes of their own. */
typedef struct hlo_attr {
    str name;
    const int64_t *ints;
    int32_t count;
    str text; /* value of words and strings */
} hlo_attr;

typedef struct hlo_op hlo_op;

typedef struct hlo_region {
    bool is_function; /* a part of a function; where StableHLO has regions, HLO's operators call functions */
    hlo_value first_argument;
    int32_t argument_count;
    struct {
        hlo_op **items;
        int32_t count, capacity;
    } ops;
} hlo_region;

struct hlo_op {
    str name; /* StableHLO's name without the dialect; names of other dialects keep theirs */
    const hlo_value *operands;
    int32_t operand_count;
    hlo_value first_result;
    int32_t result_count;
    const hlo_attr *attrs;
    int32_t attr_count;
    const hlo_region *const *regions;
    int32_t region_count;
    const tensor *constant; /* value of "constant" */
    str callee;             /* calls: name of the function; custom calls: name of the target */
    str label;              /* the user's name for the operator; may be empty */
};

typedef struct hlo_value_info {
    hlo_type type;
    str name;
    str label;           /* for an argument of the entry function: the user's name */
    int32_t uses;        /* number of operands that read this value */
    const hlo_op *user;  /* the last reader */
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
    const hlo_function *entry; /* set by the reader; else main, or the first public function */
    bool data_are_last;        /* true for jax.export: arguments have no names, but parameters come first */
} hlo_module;

void hlo_begin(hlo_module *m, builder *b, const char *format);
hlo_value hlo_new_value(hlo_module *m, hlo_type type, str name);
hlo_function *hlo_new_function(hlo_module *m, str name);
const hlo_function *hlo_find_function(const hlo_module *m, str name); /* NULL if there is none */
hlo_value_info *hlo_at(const hlo_module *m, hlo_value v);
/* Functions for the readers of HLO: StableHLO's name for an opcode; the return at the end of a function (several
 * results become a tuple); a function's result; the trip count in a loop's backend configuration. */
str hlo_opcode(hlo_module *m, str name);
hlo_value hlo_add_op(hlo_module *m, hlo_function *f, hlo_op *o, hlo_type type, str name);
void hlo_add_return(hlo_module *m, hlo_function *f, hlo_value root);
bool hlo_trip_count(str config, int64_t *rounds);
/* Writes the module into the source. */
void hlo_write(hlo_module *m);

/* "f32", "bf16", "i64", "ui8", "pred" …; DT_UNKNOWN for other names. */
dtype hlo_dtype(str name);
/* Parses the elements of a constant: numbers, hexadecimal bit patterns, true and false, with any brackets and
 * commas; one number for all elements; or a string of hexadecimal bytes. Data of large tensors are dropped. */
const tensor *hlo_constant(hlo_module *m, const hlo_type *type, str text);
/* A constant from little-endian bytes of all elements, or of one for all (booleans: one byte each). A constant with
 * one number for all elements stores only that one. */
const tensor *hlo_raw_constant(hlo_module *m, const hlo_type *type, const uint8_t *bytes, size_t size);
/* Parses "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" or "b01f_01io->b01f" into StableHLO's nine attributes; false on
 * other text. */
enum { HLO_CONV_ATTRS = 9 };
bool hlo_conv_dimensions(arena *a, str text, hlo_attr to[HLO_CONV_ATTRS]);

/* ---- attributes of an operator ----------------------------------------------------------------------------------- */

/* Returns an attribute by name or by another spelling ("": none); NULL if it is absent. */
const hlo_attr *hlo_attr_of(const hlo_op *o, const char *name, const char *other);
int64_t hlo_int(const hlo_op *o, const char *name, const char *other, int64_t otherwise);
/* Reads at most `room` numbers; -1 if the attribute is absent or longer. */
int hlo_ints(const hlo_op *o, const char *name, const char *other, int64_t *to, int room);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A reduction whose writing is deferred, because a division may turn it into a mean and a broadcast may keep its
 * dimensions. It is written with its dimensions kept. */
typedef struct hlo_reduced {
    const char *op;
    value_id x;
    int64_t axes[HLO_FEW];
    int axis_count;
    int64_t elements; /* number of elements reduced to one; 0 if unknown */
    value_id made;    /* its value, which is valid in graph `made_in` */
    int32_t made_in;
} hlo_reduced;

/* Stands for a value of the module while writing: a graph value and a view of it. A view is written only if an
 * operator needs the tensor itself, because canonical pointwise operators broadcast. */
typedef struct hlo_bound {
    enum { HLO_UNBOUND, HLO_PLAIN, HLO_BROADCAST, HLO_PERMUTED, HLO_SQUEEZED, HLO_SPLIT, HLO_TUPLE, HLO_NOTHING } kind;
    bool is_weight; /* a parameter, possibly reshaped */
    value_id id;    /* the underlying tensor */
    /* BROADCAST: id has the last `id_rank` dimensions of the value, with 1 where `repeated` has a bit. The leading
     * dimensions are repeated too. `shape` is a computed shape; NO_VALUE if the type has the shape. */
    int32_t id_rank;
    uint64_t repeated;
    value_id shape;
    const int64_t *perm; /* PERMUTED: dimension i is dimension perm[i] of id */
    /* SQUEEZED: id has `id_rank` dimensions. Those with a bit in `repeated` are 1 and absent from the value. */
    hlo_reduced *reduced; /* SQUEEZED: the deferred reduction that computes id; may be NULL */
    /* SPLIT: the last dimension of id is the last `id_rank` dimensions of the value. */
    value_id whole; /* the tensor itself, once written; valid in graph `whole_in` */
    int32_t whole_in;
    int32_t truth;                    /* 1 + id of the boolean that was converted to this number; 0: none */
    const struct hlo_bound *elements; /* TUPLE */
    int32_t element_count;
} hlo_bound;

typedef struct hlo_writer {
    emitter e;
    hlo_module *m;
    hlo_bound *bound; /* indexed by hlo_value */
    bool *is_done;    /* indexed by first result: another operator already wrote it */
    str prefix;       /* prefix of names inside calls */
    int32_t calls;    /* calls and regions entered so far */
    int32_t graph;    /* number of the graph that is open */
    int32_t graphs;   /* graphs opened so far */
    int32_t depth;    /* depth of nested calls and regions */
    int32_t written;  /* operators written so far, in all calls */
} hlo_writer;

hlo_bound *hlo_bound_of(hlo_writer *w, hlo_value v);
/* Returns the tensor itself; NO_VALUE for tokens. */
value_id hlo_in(hlo_writer *w, hlo_value v);
const hlo_type *hlo_type_of(hlo_writer *w, hlo_value v);
/* Returns a new graph value with the name and type of a result. */
value_id hlo_result(hlo_writer *w, hlo_value v);
void hlo_bind(hlo_writer *w, hlo_value v, value_id id);
/* Reads the known integer in a value of one element. */
bool hlo_number(hlo_writer *w, hlo_value v, int64_t *number);
void hlo_bind_as(hlo_writer *w, hlo_value v, hlo_bound as);
/* Returns the shape of a value as a one-dimensional int64 value. */
value_id hlo_shape_of(hlo_writer *w, hlo_value v);
bool hlo_is_weight(hlo_writer *w, hlo_value v);
/* True for a constant of a single number, or a broadcast of one. */
bool hlo_scalar(hlo_writer *w, hlo_value v, double *x);
/* Like hlo_scalar(), for constants that are not written yet. */
bool hlo_scalar_ahead(hlo_writer *w, hlo_value v, double *x);
/* Returns the tensor under a squeezed value, with its dimensions kept. */
value_id hlo_kept(hlo_writer *w, hlo_value v);
/* Returns the operand of a pointwise operator: the tensor, or the source of a broadcast. */
value_id hlo_operand(hlo_writer *w, hlo_value v);
value_id hlo_reshape(hlo_writer *w, value_id x, const int64_t *dims, int rank,
                     value_id output); /* returns the output */
/* Reshapes a parameter, which stays a parameter and needs no node. */
value_id hlo_reshaped_weight(hlo_writer *w, value_id x, const int64_t *dims, int rank);
/* Reads the dimensions of a type as numbers; false if one is unknown. */
bool hlo_static_dims(const hlo_type *t, int64_t to[MAX_RANK]);
void hlo_region_ops(hlo_writer *w, const hlo_region *r);
/* The operator that returns the region's results. */
const hlo_op *hlo_terminator(const hlo_region *r);
void hlo_foreign(hlo_writer *w, const hlo_op *o);
/* The pointwise operator inside a reduction's region ("add", "maximum" …); "" for other regions. */
str hlo_combiner(const hlo_op *o);

void hlo_map(hlo_writer *w, const hlo_op *o); /* hlo_ops.c */
/* Merges a bias into the preceding product or convolution, and a sum divided by its element count into a mean; false
 * if there is none to merge. */
bool hlo_map_bias(hlo_writer *w, const hlo_op *o);
bool hlo_map_mean(hlo_writer *w, const hlo_op *o);
/* Return false, without writing anything, if the form is not supported. */
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
