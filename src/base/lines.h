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
/* Fails if the line is too long or contains binary data. */
void line_check(str line, int number, const char *prefix, fail *f);

#endif
