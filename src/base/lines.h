/* lines.h: reads `key = value  # origin` lines: GPU files, slices, constants. */
#ifndef SOOTH_BASE_LINES_H
#define SOOTH_BASE_LINES_H

#include "base/arena.h"

enum { MAX_LINE_BYTES = 1000 };

/* Removes spaces at both ends. */
str line_trimmed(str s);
/* Splits off and returns the part of *s before `separator`; all of *s if there is no separator. */
str line_taken(str *s, char separator);
/* Reads digits with an optional point. Not strtod, whose decimal point depends on the program's locale. */
bool line_number(str s, double *number);
/* The parts of a line, trimmed. */
typedef struct line_parts {
    str key, value, origin;
} line_parts;
/* Splits a line; returns false if it is empty or only a comment. Fails if it has no '=', or as line_check() does. */
bool line_split(str line, int number, const char *prefix, line_parts *to, fail *f);
/* Fails if the line is too long or contains binary data. */
void line_check(str line, int number, const char *prefix, fail *f);

#endif
