/* lines.h: what the readers of GPU files and of the table of slices share: lines of `key = value  # origin`. */
#ifndef SOOTH_BASE_LINES_H
#define SOOTH_BASE_LINES_H

#include "base/arena.h"

enum { MAX_LINE_BYTES = 1000 };

/* Without spaces at either end. */
str line_trimmed(str s);
/* Takes off *s what stands before `separator`; all of it if there is none. */
str line_taken(str *s, char separator);
/* Digits with an optional point. Not strtod: the decimal point must not depend on the locale of the program that uses the library. */
bool line_number(str s, double *number);
/* Fails if the line is too long or no text. */
void line_check(str line, int number, const char *prefix, fail *f);

#endif
