/* rows.h: measured rows for training and scoring: whole models (columns of ../shared/labels) and single operators
 * (columns of ../shared/measured/operators). Files are CSV, optionally compressed with gzip. */
#ifndef SOOTH_LEARN_ROWS_H
#define SOOTH_LEARN_ROWS_H

#include "predict/predict.h"

/* One row. Texts are in the table's arena, and equal texts are stored once. Missing numbers are NAN. */
typedef struct measured_row {
    int32_t line; /* line number in the file, from 1 */
    str name;     /* name of the network or operator */
    str graph;    /* Path to open, or "zoo:…"; empty for an operator. */
    str family;   /* family of the architecture (row_family); for an operator row, the operator */
    str gpu;
    str source;
    int64_t batch;
    setting where; /* Its device is NULL if no file describes the GPU. */
    double latency_ms, memory_mib, energy_j;
    double power_w;       /* mean power of the row's GPUs */
    double power_limit_w; /* power limit set for the run; NAN: the board's default */
    int64_t idle_gpus;    /* GPUs that idle while one works */
    bool copies_input;    /* the latency includes the copy of the input from pageable memory */
    program *kernels;     /* operator rows: program of one call; NULL for a whole model */
    double timer_us;      /* operator rows: time that the source's timer adds (launch gap) */
    uint32_t shape;       /* operator rows: hash of operator and shape, without GPU and precision, for splits */
    const char *reason;   /* why the row is unusable (unknown GPU, impossible number …); NULL: usable */
} measured_row;

typedef struct measured_rows {
    struct {
        measured_row *items;
        int32_t count, capacity;
    } rows;
} measured_rows;

/* Zero-initialized options read every row. */
typedef struct rows_options {
    double keep; /* share of an operator table's shapes to read, 0 to 1; chosen by row.shape, so always the same */
} rows_options;

/* Reads a table of either kind and detects the kind from its header. Fails if the file cannot be read or has neither
 * header. Unusable rows stay in the table with a reason. `options` may be NULL. */
measured_rows *rows_read(const char *path, const device_list *devices, const rows_options *options, arena *a, fail *f);

/* Reads a table from bytes. Graphs are relative to `path`. */
measured_rows *rows_of_bytes(str bytes, const char *path, const device_list *devices, const rows_options *options,
                             arena *a, fail *f);

/* Returns the errno of opening the row's graph; 0 if it opens or is in the zoo. Separates system errors from bad
 * rows. */
int row_graph_error(const measured_row *row);

/* Time that copying an input of this size adds to the row's latency; 0 if the latency does not include the copy. */
double row_copy_ms(const measured_row *row, double input_bytes);

/* Returns the architecture in a network's name: the name without tag (after '.'), image and window size, training
 * recipe and underscores. Rows of one architecture stay on one side of a split. */
str row_architecture(str name, arena *a);

/* Returns the family: architectures built from the same blocks ("resnet" for resnet50d, seresnext101_32x4d and
 * wide_resnet50_2; "vit" for vit_base_patch16_224 and deit3_small_patch16_224). It is a part of `name` or a literal. */
str row_family(str name);

#endif
