/* csv.h: reads RFC 4180 tables row by row, in place.
 *
 *   1. Commas separate fields. Newlines, with or without a carriage return, separate rows. Empty lines are skipped.
 *   2. A field that begins with a double quote ends at the next undoubled one and may contain commas and newlines. Text
 *      between its closing quote and the next comma is appended.
 *   3. A byte order mark at the start is skipped. No other bytes are interpreted.
 *   4. Fields beyond CSV_MAX_COLUMNS are dropped. */
#ifndef SOOTH_BASE_CSV_H
#define SOOTH_BASE_CSV_H

#include "base/arena.h"

enum { CSV_MAX_COLUMNS = 128 };

typedef struct csv {
    const char *next, *end;
    int32_t next_line;
    arena *arena; /* holds fields that had doubled quotes */
    int32_t line; /* first line of the current row, from 1 */
    int count;    /* fields of the current row: slices of the text */
    str fields[CSV_MAX_COLUMNS];
} csv;

/* The text must stay in memory while fields are used. */
void csv_begin(csv *c, str text, arena *a);
/* Reads the next row; false after the last. */
bool csv_next(csv *c);
/* Text of the current row without line ends; `from` is the value of `next` before the row was read. */
str csv_text(const csv *c, const char *from);
/* Column with that name in the current row (the header); -1 if there is none. */
int csv_find(const csv *c, const char *name);
/* Empty if the row has no such field. */
static inline str csv_at(const csv *c, int column)
{
    return column >= 0 && column < c->count ? c->fields[column] : (str){"", 0};
}

/* Reads a decimal number: digits, an optional point, an optional exponent, and no sign except '-'. Surrounding text
 * makes it invalid. */
bool csv_real(str s, double *number);
/* The same for integers of at most 2^53. */
bool csv_whole(str s, int64_t *number);

#endif
