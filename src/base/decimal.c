#include "base/decimal.h"

#include <math.h>

static bool is_digit(str s, size_t i)
{
    return i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9';
}

/* Reads an optional exponent after the digits. */
static size_t read_exponent(str s, size_t at, int64_t *exponent)
{
    enum { MOST = 100000 };
    *exponent = 0;
    if (at >= s.len || (s.ptr[at] != 'e' && s.ptr[at] != 'E'))
        return at;
    size_t i = at + 1;
    bool down = i < s.len && s.ptr[i] == '-';
    if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+'))
        i++;
    if (!is_digit(s, i))
        return 0;
    for (; is_digit(s, i); i++)
        *exponent = *exponent < MOST ? *exponent * 10 + (s.ptr[i] - '0') : *exponent;
    if (down)
        *exponent = -*exponent;
    return i;
}

/* Powers up to 1e22 are exact as doubles. */
static double power_of_ten(int64_t exponent)
{
    static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return exponent < 23 ? POWERS[exponent] : pow(10, (double)exponent);
}

/* Scales in two steps, so that the power of ten does not overflow if the result does not. */
static double scaled(double x, int64_t scale)
{
    if (x == 0)
        return 0;
    if (scale < -300) {
        x /= 1e300;
        scale += 300;
    }
    return scale < 0 ? x / power_of_ten(-scale) : x * power_of_ten(scale);
}

size_t decimal_read(str s, decimal *number)
{
    enum { MAX_LENGTH = 400 };
    size_t i = s.len && s.ptr[0] == '-';
    const bool negative = i == 1;
    bool has_digits = is_digit(s, i), whole = true;
    uint64_t digits = 0;
    int64_t scale = 0, exponent;
    for (; is_digit(s, i); i++) {
        uint64_t more;
        if (scale || __builtin_mul_overflow(digits, 10, &more) ||
            __builtin_add_overflow(more, (unsigned)(s.ptr[i] - '0'), &more))
            scale++; /* Drops digits beyond the precision of a double. */
        else
            digits = more;
    }
    whole = scale == 0;
    if (i < s.len && s.ptr[i] == '.') {
        whole = false;
        has_digits = has_digits || is_digit(s, i + 1);
        for (i++; is_digit(s, i); i++)
            if (digits < UINT64_MAX / 10 - 1) {
                digits = digits * 10 + (unsigned)(s.ptr[i] - '0');
                scale--;
            }
    }
    size_t end = has_digits ? read_exponent(s, i, &exponent) : 0;
    if (!end || end > MAX_LENGTH)
        return 0;
    double real = scaled((double)digits, scale + exponent);
    *number =
        (decimal){.is_whole = whole && end == i && digits <= (uint64_t)INT64_MAX, .real = negative ? -real : real};
    if (number->is_whole)
        number->whole = negative ? -(int64_t)digits : (int64_t)digits;
    return end;
}
