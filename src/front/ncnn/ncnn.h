/* ncnn.h: shared by the parts of the ncnn reader: files (ncnn.c), ncnn layers (ncnn_layers.c), pnnx operators
 * (pnnx_ops.c). */
#ifndef SOOTH_FRONT_NCNN_NCNN_H
#define SOOTH_FRONT_NCNN_NCNN_H

#include "front/common/grow.h"

typedef struct ncnn_param {
    str key, value;
} ncnn_param;

typedef struct ncnn_layer {
    str type, name;
    int32_t *in, *out; /* indices of blobs */
    int in_count, out_count;
    const ncnn_param *params;
    int32_t param_count;
} ncnn_layer;

typedef struct ncnn_blob {
    str name;
    value_id value;   /* inputs: set while reading; other blobs: set in each run */
    int32_t producer; /* index of a layer; -1 if none */
    int32_t reader, place;
    bool is_read, is_input;
} ncnn_blob;

typedef struct ncnn {
    ncnn_layer *layers;
    int32_t layer_count;
    struct {
        ncnn_blob *items;
        int32_t count, capacity;
    } blobs;
    grow_guesses guesses;
} ncnn;

/* The layer being written. */
typedef struct ncnn_call {
    grower *g;
    emitter *e;
    const ncnn_layer *layer;
    const value_id *in;
    value_id *outs;
    int in_count, out_count;
    value_id x, out; /* first input, first output */
} ncnn_call;

enum { NCNN_MAX_BLOBS = 4096, NCNN_MAX_SIZE = 1 << 28, NCNN_NONE = -233 };

void ncnn_write(ncnn_call *c); /* ncnn_layers.c */
void pnnx_write(ncnn_call *c); /* pnnx_ops.c */

/* ---- parameters (ncnn.c) ----------------------------------------------------------------------------------------- */
/* returns the last value of a repeated key; empty if it is absent */
str ncnn_text(const ncnn_layer *l, const char *key);
/* Reads comma-separated numbers, optionally in parentheses; skips other words. */
int ncnn_numbers(str text, int64_t *to, int room);
int64_t ncnn_int(const ncnn_layer *l, int key, int64_t otherwise);
double ncnn_real(const ncnn_layer *l, int key, double otherwise);
/* reads an array; returns its length, or -1 if absent */
int ncnn_list(const ncnn_layer *l, int key, int64_t *to, int room);
double ncnn_real_of(str text, double otherwise);
/* Shape of output `index` as noted by ncnn's tools, with a batch of 1 in front; RANK_UNKNOWN if there is none. */
int ncnn_hint(const ncnn_layer *l, int index, num *dims);

#endif
