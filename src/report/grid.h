/* grid.h: a table with columns as wide as their contents. On a narrow terminal it drops spare columns and shortens
 * the first one. */
#ifndef SOOTH_REPORT_GRID_H
#define SOOTH_REPORT_GRID_H

#include "base/arena.h"
#include "report/text.h"

enum { GRID_COLUMNS = 20 };

typedef struct grid_column {
    const char *title;
    cell_align align;
    int spare; /* order of removal on a narrow terminal, highest first; 0: never removed */
} grid_column;

typedef struct grid {
    text *out;
    arena *scratch;
    const sooth_report_options *options;
    const grid_column *columns;
    size_t column_count;
    struct {
        const char **items; /* cells, row by row */
        int32_t count, capacity;
    } cells;
} grid;

void grid_begin(grid *g, text *out, arena *scratch, const sooth_report_options *options, const grid_column *columns,
                size_t count);
/* Adds a cell, which is copied. A row is complete after as many cells as columns. */
void grid_add(grid *g, const char *cell);
void grid_printf(grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_write(grid *g);

/* Writes an escape sequence if colours are wanted. */
void text_style(text *t, const sooth_report_options *options, const char *code);

#endif
