/* decimal.h: reads decimal numbers from texts without an end mark. Not strtod: it needs a terminator, and its
 * decimal point depends on the program's locale. */
#ifndef SOOTH_BASE_DECIMAL_H
#define SOOTH_BASE_DECIMAL_H

#include "base/str.h"

typedef struct decimal {
    bool is_whole; /* No point, no exponent, and within 64 bits. */
    int64_t whole;
    double real; /* Correct to about the last digit; set for integers too. */
} decimal;

/* Reads the number at the start of s, in JSON's or Python's form ("-2", "1e-05", "0."). Returns its length; 0 if
 * there is none or it has more than 400 bytes. */
size_t decimal_read(str s, decimal *number);

#endif
