/* grid.h: a table of texts in columns that are as wide as what is in them; where the terminal is too narrow, columns that can
 * be spared go and the first one gives way. */
#ifndef SOOTH_REPORT_GRID_H
#define SOOTH_REPORT_GRID_H

#include "base/arena.h"
#include "report/text.h"

enum { GRID_COLUMNS = 16 };

typedef struct grid_column {
    const char *title;
    cell_align align;
    int spare; /* on a narrow terminal the highest goes first; 0 stays */
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
/* The next cell; it is copied. A row is full after as many as there are columns. */
void grid_add(grid *g, const char *cell);
void grid_printf(grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_write(grid *g);

/* An escape sequence of the terminal, where colours are wanted. */
void text_style(text *t, const sooth_report_options *options, const char *code);

#endif
