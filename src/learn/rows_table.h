/* rows_table.h: code shared by the readers of network tables and operator tables. */
#ifndef SOOTH_LEARN_ROWS_TABLE_H
#define SOOTH_LEARN_ROWS_TABLE_H

#include "base/csv.h"
#include "learn/rows.h"

typedef struct table_reader table_reader;
struct table_reader {
    csv csv;
    arena *arena;   /* memory of the rows */
    arena *scratch; /* freed after reading */
    fail *fail;
    const char *path;
    const device_list *devices;
    rows_options options;
    measured_rows *out;
    struct { /* interned texts: a hash table, at most half full */
        str *items;
        size_t count, room;
    } texts;
    struct { /* GPUs found so far, by their text in `texts` */
        str names[64];
        const device *devices[64];
        size_t count;
    } gpus;
    struct { /* slices created so far */
        const device **items;
        int32_t count, capacity;
    } slices;
};

/* Returns the text in the rows' arena. Equal texts are stored once. */
str table_text(table_reader *t, str s);
/* Sets gpu and device, or the row's reason if the GPU is unknown. `name` is the GPU's name in the table. */
void table_set_gpu(table_reader *t, measured_row *row, str name, str shown);
/* Reads the field as a positive number; NAN if it is empty. Returns false if it is malformed and sets the row's
 * reason. */
bool table_positive(table_reader *t, measured_row *row, int column, const char *what, double *number);
/* Sets the reason unless the row has one. */
void table_reject(table_reader *t, measured_row *row, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reads all rows after the header. */
void table_read_operators(table_reader *t);

#endif
