/* rows.h: measured rows, for training and for scoring: whole models (columns of ../shared/labels) and single operators
 * (columns of ../shared/measured/operators). Files are CSV, gzip is looked through. */
#ifndef SOOTH_LEARN_ROWS_H
#define SOOTH_LEARN_ROWS_H

#include "predict/predict.h"

/* One row. Texts live in the table's arena. Numbers that are not there are NAN. */
typedef struct measured_row {
    int32_t line; /* of the file, from 1 */
    str name;     /* network, or operator */
    str graph;    /* path as it can be opened (made from the file's own folder), or "zoo:…"; empty for an operator */
    str family;   /* of architectures: the first part of the name */
    str gpu;
    str source;
    int64_t batch;
    setting where; /* device is NULL where the GPU has no file */
    double latency_ms, memory_mib, energy_j;
    program *kernels; /* of an operator row: the program itself, for one call; NULL for a whole model */
    double
        timer_us; /* of an operator row: what its source's timer adds that is not the kernel's (launch gap), as documented */
    const char *reason; /* why the row cannot be used (unknown GPU, absurd number …); NULL if it can */
} measured_row;

typedef struct measured_rows {
    struct {
        measured_row *items;
        int32_t count, capacity;
    } rows;
} measured_rows;

/* Reads a file of either kind; told by its header. Fails if the file cannot be read, or its header fits neither. A row that
 * cannot be used stays in the table with its reason. */
measured_rows *rows_read(const char *path, const device_list *devices, arena *a, fail *f);

/* The part of a network's name that says which architecture it is: without tag (after '.'), image size, training recipe. Names with the same
 * one stay on one side of a split. */
str row_architecture(str name, arena *a);

#endif
