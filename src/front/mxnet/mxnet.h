/* mxnet.h: shared by the parts of the MXNet reader: files (mxnet.c), operators (mxnet_ops.c). */
#ifndef SOOTH_FRONT_MXNET_MXNET_H
#define SOOTH_FRONT_MXNET_MXNET_H

#include "base/json_read.h"
#include "front/common/grow.h"

typedef struct mxnet_source {
    int32_t node, output;
} mxnet_source;

typedef struct mxnet_node {
    str op, name;
    const json_node *attrs;
    mxnet_source *inputs;
    int32_t input_count, output_count; /* number of inputs; number of outputs that are read, at least one */
    bool is_weight;                    /* op "null": a weight, created when its reading operator is written */
    bool is_length;                    /* contains the lengths of sequences */
    int32_t reader, place;             /* its first reader, and the index of its input; -1 if there is none */
    value_id input;                    /* op "null": input of the network; else NO_VALUE */
    value_id *outputs;
} mxnet_node;

/* The operator being written. */
typedef struct mxnet_call {
    grower *g;
    emitter *e;
    const mxnet_node *node;
    const value_id *in;
    int in_count;
    value_id x;   /* in[0], or NO_VALUE */
    value_id out; /* outs[0] */
    value_id *outs;
    int out_count;
} mxnet_call;

enum { MXNET_MAX_INPUTS = 4096, MXNET_MAX_OUTPUTS = 1024, MXNET_MAX_SIZE = 1 << 24 };

/* mxnet_ops.c: writes the operator; an unknown one keeps its name. */
void mxnet_write(mxnet_call *c);
/* Returns the index of the operator's first weight; INT32_MAX if it has none. */
int mxnet_first_weight(str op);

/* Attributes are strings: "(3, 3)", "True", "0.5", "None". */
str mxnet_text(const mxnet_node *n, const char *name);
int mxnet_ints(str text, int64_t *to, int room); /* reads a tuple or a number; -1 for other text; None is INT64_MIN */

/* ---- what operators ask (mxnet_ops.c) ---------------------------------------------------------------------------- */
bool mxnet_has(const mxnet_call *c, const char *name); /* true if the attribute is present and not None */
bool mxnet_flag(const mxnet_call *c, const char *name, bool otherwise);
int64_t mxnet_int(const mxnet_call *c, const char *name, int64_t otherwise);
double mxnet_real(const mxnet_call *c, const char *name, double otherwise);
/* fails if the value is not a valid size */
int64_t mxnet_size(const mxnet_call *c, const char *name, int64_t otherwise);
int mxnet_axis(const mxnet_call *c, const char *name, int otherwise);
void mxnet_foreign(mxnet_call *c);

/* ---- operators that move elements (mxnet_shapes.c) --------------------------------------------------------------- */
void mxnet_map_concat(mxnet_call *c, const char *canonical);
void mxnet_map_flatten(mxnet_call *c, const char *canonical);
void mxnet_map_reshape(mxnet_call *c, const char *canonical);
void mxnet_map_transpose(mxnet_call *c, const char *canonical);
void mxnet_map_swap(mxnet_call *c, const char *canonical);
void mxnet_map_split(mxnet_call *c, const char *canonical);
void mxnet_map_slice_axis(mxnet_call *c, const char *canonical);
void mxnet_map_slice(mxnet_call *c, const char *canonical);
void mxnet_map_slice_like(mxnet_call *c, const char *canonical);
void mxnet_map_expand_dims(mxnet_call *c, const char *canonical);
void mxnet_map_squeeze(mxnet_call *c, const char *canonical);
void mxnet_map_stack(mxnet_call *c, const char *canonical);
void mxnet_map_tile(mxnet_call *c, const char *canonical);
void mxnet_map_repeat(mxnet_call *c, const char *canonical);
void mxnet_map_broadcast_axis(mxnet_call *c, const char *canonical);
void mxnet_map_broadcast_to(mxnet_call *c, const char *canonical);
void mxnet_map_broadcast_like(mxnet_call *c, const char *canonical);
void mxnet_map_reverse(mxnet_call *c, const char *canonical);
void mxnet_map_pad(mxnet_call *c, const char *canonical);
void mxnet_map_range(mxnet_call *c, const char *canonical);
void mxnet_map_fill(mxnet_call *c, const char *canonical);
void mxnet_map_take(mxnet_call *c, const char *canonical);
void mxnet_map_gather_nd(mxnet_call *c, const char *canonical);

#endif
