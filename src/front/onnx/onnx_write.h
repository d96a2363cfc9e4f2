/* onnx_write.h: shared by the parts of the ONNX writer. */
#ifndef SOOTH_FRONT_ONNX_ONNX_WRITE_H
#define SOOTH_FRONT_ONNX_ONNX_WRITE_H

#include "base/names.h"
#include "front/common/wire_write.h"
#include "graph/graph.h"

typedef struct onnx_writer {
    wire_writer *w;
    arena *arena; /* lives until the file is written */
    const source *s;
    const network *net;   /* gives shapes that the file does not declare; NULL if not bound */
    const graph **owner;  /* indexed by value: the graph that introduces it */
    const graph **border; /* indexed by value: the last graph of which it is an input or output */
    struct {
        value_id *items;
        int32_t count, capacity;
    } left_out;             /* constants that become inputs of the main graph, in order */
    const tensor **without; /* indexed by value: type and dimensions if its data are left out; otherwise NULL */
    str *renamed;           /* indexed by value: new name if another graph uses its name; otherwise empty */
    names nodes;            /* node names so far, and how often each was used */
    uint8_t *layout;        /* by value: layout flags of onnx_layout.c */
    bool *is_used;          /* indexed by value: a node reads it, or it is an output */
    bool *is_read;          /* indexed by value: an earlier node reads it under its own name */
    bool *is_replaced;      /* indexed by value: an earlier node reads it in another layout */
    int8_t *turned_rank;    /* indexed by value: rank of its transpose if there is one */
} onnx_writer;

/* Name in the written file; "" for NO_VALUE. */
str onnx_value_name(const onnx_writer *o, value_id id);

/* ---- channels last (onnx_layout.c) ------------------------------------------------------------------------------- */

/* Decides which nodes run channels-first in the file. Call after all graphs have claimed their values. */
void onnx_layout_plan(onnx_writer *o);

/* Return the names of a node's inputs and outputs in the file. For a channels-first node, helper nodes may first be
 * written to the graph's `field`. */
str onnx_layout_input(onnx_writer *o, uint32_t field, const node *n, int32_t index);
str onnx_layout_output(const onnx_writer *o, value_id v);

/* Adjusts an attribute of a channels-first node; false if it must not be written. */
bool onnx_layout_attr(const onnx_writer *o, const node *n, attr *a);

/* Writes the transpose of a value that now exists, if a reader needs it. */
void onnx_layout_settle(onnx_writer *o, uint32_t field, value_id v);

/* True if a layer uses its transpose as data; such a constant is not a parameter. */
bool onnx_layout_is_data(const onnx_writer *o, value_id v);

/* Dimensions of a value under its name in the file, given the network's in `declared`; returns the rank. */
int onnx_layout_dims(const onnx_writer *o, value_id v, const value *declared, num *dims);

#endif
