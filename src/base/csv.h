/* csv.h: tables as RFC 4180 writes them, row by row, where they lie in memory.
 *
 *   1. Fields are separated by commas, rows by newlines, with or without a carriage return; empty lines count for nothing.
 *   2. A field that begins with a double quote ends at the next one that is not doubled; commas and newlines inside belong to it.
 *      What follows until the next comma is added as it stands.
 *   3. A byte order mark at the start is looked over. Bytes are not interpreted otherwise.
 *   4. Fields after the CSV_MAX_COLUMNSth of a row are not kept. */
#ifndef SOOTH_BASE_CSV_H
#define SOOTH_BASE_CSV_H

#include "base/arena.h"

enum { CSV_MAX_COLUMNS = 128 };

typedef struct csv {
    const char *next, *end;
    int32_t next_line;
    arena *arena; /* for fields with doubled quotes */
    int32_t line; /* where the row that was read last begins, from 1 */
    int count;    /* its fields, which are slices of the text */
    str fields[CSV_MAX_COLUMNS];
} csv;

/* The text must live as long as fields are looked at. */
void csv_begin(csv *c, str text, arena *a);
/* Reads the next row; false after the last. */
bool csv_next(csv *c);
/* Which field of the row is this? -1 if none is. Asked of the header. */
int csv_find(const csv *c, const char *name);
/* Empty if the row has no such field. */
static inline str csv_at(const csv *c, int column)
{
    return column >= 0 && column < c->count ? c->fields[column] : (str){"", 0};
}

/* A decimal number with nothing around it: digits, an optional point, an optional exponent. No sign but '-'. */
bool csv_real(str s, double *number);
/* The same if it is a whole number of at most 2^53. */
bool csv_whole(str s, int64_t *number);

#endif
