/* rows.h: measured rows for training and scoring: whole models (columns of ../shared/labels) and single operators
 * (columns of ../shared/measured/operators). Files are CSV, optionally compressed with gzip. */
#ifndef SOOTH_LEARN_ROWS_H
#define SOOTH_LEARN_ROWS_H

#include "predict/predict.h"

/* One row. Texts are in the table's arena, equal ones once. Missing numbers are NAN. */
typedef struct measured_row {
    int32_t line; /* of the file, from 1 */
    str name;     /* network, or operator */
    str graph;    /* path that can be opened, or "zoo:…"; empty for an operator */
    str family;   /* family of the architecture (row_family); for an operator row, the operator */
    str gpu;
    str source;
    int64_t batch;
    setting where; /* device is NULL if the GPU has no file */
    double latency_ms, memory_mib, energy_j;
    double power_w;       /* mean power of the row's GPUs */
    double power_limit_w; /* power limit that was set; NAN: the board's own */
    int64_t idle_gpus;    /* GPUs that wait while one works */
    bool copies_input;    /* the latency includes the copy of the input from pageable memory */
    program *kernels;     /* of an operator row: the program of one call; NULL for a whole model */
    double timer_us;      /* of an operator row: time that its source's timer adds (launch gap) */
    uint32_t shape;       /* of an operator row: hash of operator and shape, without GPU and precision, for splits */
    const char *reason;   /* why the row is unusable (unknown GPU, absurd number …); NULL: usable */
} measured_row;

typedef struct measured_rows {
    struct {
        measured_row *items;
        int32_t count, capacity;
    } rows;
} measured_rows;

/* All zero: every row. */
typedef struct rows_options {
    double keep; /* share of an operator table's shapes to read, 0 to 1; by row.shape, so always the same ones */
} rows_options;

/* Reads a file of either kind, detected by its header. Fails if it cannot be read, or has neither header. An unusable
 * row stays in the table with its reason. options may be NULL. */
measured_rows *rows_read(const char *path, const device_list *devices, const rows_options *options, arena *a, fail *f);

/* The same from a file's bytes; graphs are relative to `path`. */
measured_rows *rows_of_bytes(str bytes, const char *path, const device_list *devices, const rows_options *options,
                             arena *a, fail *f);

/* The errno of opening the row's graph; 0 if it can be opened or is in the zoo. Distinguishes system errors from bad
 * rows. */
int row_graph_error(const measured_row *row);

/* Time that the copy of an input of this size adds to the row's latency; 0 if it is not included. */
double row_copy_ms(const measured_row *row, double input_bytes);

/* The architecture in a network's name: without tag (after '.'), image and window size, training recipe and
 * underscores. Equal ones stay on one side of a split. */
str row_architecture(str name, arena *a);

/* The family: architectures of the same blocks ("resnet" for resnet50d, seresnext101_32x4d and wide_resnet50_2; "vit"
 * for vit_base_patch16_224 and deit3_small_patch16_224). A part of `name` or a literal. */
str row_family(str name);

#endif
