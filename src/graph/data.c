/* data.c: decodes constant data from the file when a rule asks for it. */
#include "graph/infer.h"

#include <math.h>

static double half_to_double(uint16_t h)
{
    int exponent = (h >> 10) & 31, fraction = h & 1023;
    double x = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (fraction ? NAN : INFINITY)
                                : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -x : x;
}

static double float_bits_to_double(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static uint64_t little_endian(const uint8_t *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

static int64_t sign_extend(uint64_t x, int bits)
{
    return bits == 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static bool is_signed(dtype t)
{
    return t == DT_INT8 || t == DT_INT16 || t == DT_INT32 || t == DT_INT64 || t == DT_INT4 || t == DT_INT2;
}

/* Next varint of a packed field; advances *p. False at the end. */
static bool next_varint(const uint8_t **p, const uint8_t *end, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t byte = *(*p)++;
        *x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

bool tensor_ints(const tensor *t, int64_t *to, int64_t count)
{
    int bits = dtype_bits(t->dtype);
    if (t->encoding == TENSOR_VARINTS) {
        const uint8_t *p = t->bytes, *end = t->size ? p + t->size : p;
        uint64_t x;
        if (bits < 8) /* elements below one byte inside varints are too rare to decode */
            return false;
        for (int64_t i = 0; i < count; i++) {
            if (!next_varint(&p, end, &x))
                return false;
            to[i] = (int64_t)x;
        }
        return true;
    }
    if (t->encoding != TENSOR_RAW || bits == 0 || (uint64_t)count * (uint64_t)bits > t->size * 8)
        return false;
    for (int64_t i = 0; i < count; i++) {
        uint64_t x = bits >= 8 ? little_endian(t->bytes + i * (bits / 8), bits / 8)
                               : (uint64_t)(t->bytes[i * bits / 8] >> (i * bits % 8)) & ((1u << bits) - 1);
        to[i] = is_signed(t->dtype) ? sign_extend(x, bits) : (int64_t)x;
    }
    return true;
}

bool tensor_reals(const tensor *t, double *to, int64_t count)
{
    int width = t->encoding == TENSOR_DOUBLES ? 8 : t->encoding == TENSOR_FLOATS ? 4 : dtype_bits(t->dtype) / 8;
    const uint8_t *p = t->bytes, *end = t->size ? p + t->size : p;
    for (int64_t i = 0; i < count; i++) {
        uint64_t x;
        if (t->encoding == TENSOR_VARINTS) { /* float16 and bfloat16 are stored as bit patterns in varints */
            if (!next_varint(&p, end, &x))
                return false;
        } else {
            if (width == 0 || t->encoding == TENSOR_ELSEWHERE || end - p < width)
                return false;
            x = little_endian(p, width);
            p += width;
        }
        if (t->encoding == TENSOR_FLOATS)
            to[i] = float_bits_to_double((uint32_t)x);
        else if (t->encoding == TENSOR_DOUBLES || t->dtype == DT_FLOAT64)
            memcpy(&to[i], &x, sizeof x);
        else if (t->dtype == DT_FLOAT32)
            to[i] = float_bits_to_double((uint32_t)x);
        else if (t->dtype == DT_FLOAT16)
            to[i] = half_to_double((uint16_t)x);
        else if (t->dtype == DT_BFLOAT16)
            to[i] = float_bits_to_double((uint32_t)x << 16);
        else
            return false;
    }
    return true;
}

/* Element count of a tensor small enough to fold; -1 otherwise. */
static int32_t small_count(network *net, const value *v)
{
    num count = value_elements(net, v);
    return dim_known(count) && count <= MAX_FOLDED ? (int32_t)count : -1;
}

const num *value_ints(network *net, value *v, int32_t *count)
{
    int32_t n = small_count(net, v);
    if (n < 0)
        return NULL;
    *count = n;
    if (!v->ints && v->tensor && dtype_is_integer(v->dtype)) {
        num *ints = ARENA_ARRAY(net->arena, num, (size_t)n + 1);
        if (!tensor_ints(v->tensor, ints, n))
            return NULL;
        for (int32_t i = 0; i < n; i++)
            /* numbers such as INT64_MIN mark the open end of a range; they stay huge instead of becoming symbols */
            if (!num_known(ints[i]))
                ints[i] = INT64_MIN + 2 * (int64_t)NUM_MAX_EXPRESSIONS;
        v->ints = ints;
    }
    return v->ints;
}

const double *value_reals(network *net, value *v, int32_t *count)
{
    int32_t n = small_count(net, v);
    if (n < 0)
        return NULL;
    *count = n;
    if (!v->reals && v->tensor && dtype_is_float(v->dtype)) {
        double *reals = ARENA_ARRAY(net->arena, double, (size_t)n + 1);
        if (!tensor_reals(v->tensor, reals, n))
            return NULL;
        v->reals = reals;
    }
    return v->reals;
}
