/* onnx_write.h: what the parts of the ONNX writer share. */
#ifndef SOOTH_FRONT_ONNX_ONNX_WRITE_H
#define SOOTH_FRONT_ONNX_ONNX_WRITE_H

#include "base/names.h"
#include "front/common/wire_write.h"
#include "graph/graph.h"

typedef struct onnx_writer {
    wire_writer *w;
    arena *arena; /* of what lives as long as the writing */
    const source *s;
    const network *net;   /* what the file does not declare, where the model is bound; else NULL */
    const graph **owner;  /* of each value: the graph that introduces it */
    const graph **border; /* the last graph that it is an input or output of */
    struct {
        value_id *items;
        int32_t count, capacity;
    } left_out;             /* constants that are inputs of the main graph, in order */
    const tensor **without; /* of each value that is one of them: its type and dimensions; else NULL */
    str *renamed;           /* of those whose name another graph has too; else empty */
    names nodes;            /* names of the nodes so far → how many have it */
    uint8_t *layout;        /* of each value: onnx_layout.c */
    bool *is_used;          /* of each value: a node reads it, or it is an output */
    bool *is_read;          /* of each value: by a node so far, under its name */
    bool *is_replaced;      /* of each value: a node so far has something else instead, in another layout */
    int8_t *turned_rank;    /* of those that are needed with the channels in another place */
} onnx_writer;

/* As it is written; "" for NO_VALUE. */
str onnx_value_name(const onnx_writer *o, value_id id);

/* ---- channels last (onnx_layout.c) -------------------------------------------------------------------------------- */

/* Decides which nodes have the channels first in the file. All graphs have claimed their values. */
void onnx_layout_plan(onnx_writer *o);

/* Does this node have the channels first in the file, though its tensors have them last? */
bool onnx_layout_runs_first(const onnx_writer *o, const node *n);

/* The names of a node's inputs and outputs in the file. For a node that runs with the channels first it may write what those inputs come from, as
 * fields of the graph: nodes in `field`. */
str onnx_layout_input(onnx_writer *o, uint32_t field, const node *n, int32_t index);
str onnx_layout_output(const onnx_writer *o, value_id v);

/* An attribute of a node that runs with the channels first, with its axes where they are then; false: it is not to be written. */
bool onnx_layout_attr(const onnx_writer *o, const node *n, attr *a);

/* The transposition of a value that is there now, where somebody needs it. */
void onnx_layout_settle(onnx_writer *o, uint32_t field, value_id v);

/* Is a transposition of it what a layer works on? As a constant it is no parameter then, though the transposition could have one. */
bool onnx_layout_is_data(const onnx_writer *o, value_id v);

/* The dimensions of a value under its name in the file, where `declared` says what they are in the network; returns how many. */
int onnx_layout_dims(const onnx_writer *o, value_id v, const value *declared, num *dims);

#endif
