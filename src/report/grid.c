#include "report/grid.h"

#include <stdarg.h>
#include <stdio.h>

enum { MARGIN = 2, GAP = 2, WIDEST = 200, LEAST_FIRST = 8, READABLE_FIRST = 22 };

void text_style(text *t, const sooth_report_options *options, const char *code)
{
    if (options->colors)
        text_printf(t, "\033[%sm", code);
}

void grid_begin(grid *g, text *out, arena *scratch, const sooth_report_options *options, const grid_column *columns,
                size_t count)
{
    *g = (grid){.out = out, .scratch = scratch, .options = options, .columns = columns, .column_count = count};
}

void grid_add(grid *g, const char *cell)
{
    const char **room = ARENA_PUSH_ROOM(g->scratch, &g->cells);
    *room = arena_str(g->scratch, str_of(cell)).ptr;
}

void grid_printf(grid *g, const char *format, ...)
{
    char cell[256];
    va_list args;
    va_start(args, format);
    vsnprintf(cell, sizeof cell, format, args);
    va_end(args);
    grid_add(g, cell);
}

static void row(grid *g, const size_t *width, const char *const *cells)
{
    size_t last = g->column_count - 1; /* no spaces at the end of the line */
    while (last > 0 && (!width[last] || (cells && !*cells[last])))
        last--;
    text_repeat(g->out, " ", MARGIN);
    for (size_t c = 0; c <= last; c++) {
        const char *cell = cells ? cells[c] : g->columns[c].title;
        if (!width[c])
            continue;
        if (c == last && g->columns[c].align == CELL_LEFT)
            text_name(g->out, cell, width[c], g->options->ascii);
        else
            text_cell(g->out, cell, width[c], g->columns[c].align, g->options->ascii);
        text_repeat(g->out, " ", c == last ? 0 : GAP);
    }
    text_puts(g->out, "\n");
}

/* Computes the widths of the columns; a column of width 0 is omitted. Returns the width of the table. */
static size_t fit(const grid *g, size_t *width, size_t whole)
{
    size_t room = g->options->columns > MARGIN ? g->options->columns - MARGIN : SIZE_MAX;
    size_t readable = width[0] < READABLE_FIRST ? width[0] : READABLE_FIRST;
    while (whole > room && whole - room > width[0] - readable) {
        size_t gone = 0;
        for (size_t c = 1; c < g->column_count; c++)
            if (width[c] && g->columns[c].spare > (gone ? g->columns[gone].spare : 0))
                gone = c;
        if (!gone)
            break;
        whole -= width[gone] + GAP;
        width[gone] = 0;
    }
    if (whole <= room || width[0] <= LEAST_FIRST)
        return whole;
    size_t most = width[0] - LEAST_FIRST, too_much = whole - room < most ? whole - room : most;
    width[0] -= too_much;
    return whole - too_much;
}

void grid_write(grid *g)
{
    size_t width[GRID_COLUMNS] = {0}, whole = 0;
    for (size_t c = 0; c < g->column_count; c++) {
        width[c] = name_width(g->columns[c].title);
        for (size_t i = c; i < (size_t)g->cells.count; i += g->column_count) {
            size_t w = name_width(g->cells.items[i]);
            width[c] = w > WIDEST ? WIDEST : w > width[c] ? w : width[c];
        }
        whole += width[c] + (c ? GAP : 0);
    }
    whole = fit(g, width, whole);
    text_style(g->out, g->options, "1");
    row(g, width, NULL);
    text_style(g->out, g->options, "0");
    text_style(g->out, g->options, "2");
    text_repeat(g->out, " ", MARGIN);
    text_repeat(g->out, g->options->ascii ? "-" : "─", whole);
    text_style(g->out, g->options, "0");
    text_puts(g->out, "\n");
    for (size_t i = 0; i + g->column_count <= (size_t)g->cells.count; i += g->column_count)
        row(g, width, g->cells.items + i);
}
