/* decimal.h: decimal numbers in texts of which nobody marked the end. Not strtod: it needs an end mark, and the decimal point
 * must not depend on the locale of the program that uses the library. */
#ifndef SOOTH_BASE_DECIMAL_H
#define SOOTH_BASE_DECIMAL_H

#include "base/str.h"

typedef struct decimal {
    bool is_whole; /* without point and exponent, and within 64 bits */
    int64_t whole;
    double real; /* to the last place or so; also of whole numbers */
} decimal;

/* The number that s begins with, in JSON's and Python's form ("-2", "1e-05", "0."). Returns how many bytes it has; 0 if s begins with
 * none, or with one of more than 400 bytes. */
size_t decimal_read(str s, decimal *number);

#endif
