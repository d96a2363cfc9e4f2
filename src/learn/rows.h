/* rows.h: measured rows, for training and for scoring: whole models (columns of ../shared/labels) and single operators
 * (columns of ../shared/measured/operators). Files are CSV, gzip is looked through. */
#ifndef SOOTH_LEARN_ROWS_H
#define SOOTH_LEARN_ROWS_H

#include "predict/predict.h"

/* One row. Texts live in the table's arena, those of equal rows in the same place. Numbers that are not there are NAN. */
typedef struct measured_row {
    int32_t line; /* of the file, from 1 */
    str name;     /* network, or operator */
    str graph;    /* path as it can be opened (made from the file's own folder), or "zoo:…"; empty for an operator */
    str family;   /* of architectures (row_family), or the operator */
    str gpu;
    str source;
    int64_t batch;
    setting where; /* device is NULL where the GPU has no file */
    double latency_ms, memory_mib, energy_j;
    double power_w;       /* mean power of the GPUs that the row counts */
    double power_limit_w; /* that they were told to keep; NAN: their own */
    int64_t idle_gpus;    /* how many of them only wait while one works */
    bool copies_input;    /* the latency includes the copy of the input from the host's pageable memory */
    program *kernels;     /* of an operator row: the program itself, for one call; NULL for a whole model */
    double timer_us;      /* of an operator row: what its source's timer adds that is not the kernel's (launch gap) */
    uint32_t
        shape; /* of an operator row: hash of operator and shape, the same on every GPU and in every precision: whoever splits
                          by it keeps a shape on one side */
    const char *reason; /* why the row cannot be used (unknown GPU, absurd number …); NULL if it can */
} measured_row;

typedef struct measured_rows {
    struct {
        measured_row *items;
        int32_t count, capacity;
    } rows;
} measured_rows;

/* All zero means: every row. */
typedef struct rows_options {
    double
        keep; /* the share of an operator table's shapes that is read, in 0 to 1; by row.shape, so that it is always the same */
} rows_options;

/* Reads a file of either kind; told by its header. Fails if the file cannot be read, or its header fits neither. A row that
 * cannot be used stays in the table with its reason. options may be NULL. */
measured_rows *rows_read(const char *path, const device_list *devices, const rows_options *options, arena *a, fail *f);

/* The same of a file's bytes; graphs are beside `path`. */
measured_rows *rows_of_bytes(str bytes, const char *path, const device_list *devices, const rows_options *options,
                             arena *a, fail *f);

/* Why the row's graph cannot be opened, as errno; 0 if it can, or comes with the library: then an error of the system is not the row's. */
int row_graph_error(const measured_row *row);

/* What the copy of an input of so many bytes adds to the row's latency; 0 if it is not part of it. */
double row_copy_ms(const measured_row *row, double input_bytes);

/* The part of a network's name that says which architecture it is: without tag (after '.'), image and window size, training
 * recipe and underscores. Names with the same one stay on one side of a split. */
str row_architecture(str name, arena *a);

/* The family: architectures that are built of the same blocks ("resnet" for resnet50d, seresnext101_32x4d and wide_resnet50_2;
 * "vit" for vit_base_patch16_224 and deit3_small_patch16_224). It is a part of `name` or a literal. */
str row_family(str name);

#endif
