/* dtype.h: element types. The numbers are those of ONNX's TensorProto.DataType, the longest list; other front ends
 * map theirs to it. */
#ifndef SOOTH_BASE_DTYPE_H
#define SOOTH_BASE_DTYPE_H

#include "base/str.h"

#include <stdint.h>

typedef enum dtype {
    DT_UNKNOWN = 0,
    DT_FLOAT32 = 1,
    DT_UINT8 = 2,
    DT_INT8 = 3,
    DT_UINT16 = 4,
    DT_INT16 = 5,
    DT_INT32 = 6,
    DT_INT64 = 7,
    DT_STRING = 8,
    DT_BOOL = 9,
    DT_FLOAT16 = 10,
    DT_FLOAT64 = 11,
    DT_UINT32 = 12,
    DT_UINT64 = 13,
    DT_COMPLEX64 = 14,
    DT_COMPLEX128 = 15,
    DT_BFLOAT16 = 16,
    DT_FLOAT8E4M3FN = 17,
    DT_FLOAT8E4M3FNUZ = 18,
    DT_FLOAT8E5M2 = 19,
    DT_FLOAT8E5M2FNUZ = 20,
    DT_UINT4 = 21,
    DT_INT4 = 22,
    DT_FLOAT4E2M1 = 23,
    DT_FLOAT8E8M0 = 24,
    DT_UINT2 = 25,
    DT_INT2 = 26,
    DT_COUNT = 27
} dtype;

/* "float32", "int64" …; "" for DT_UNKNOWN. */
const char *dtype_name(dtype t);
/* 0 for strings and unknown types. In bits, because some types are smaller than a byte. */
int dtype_bits(dtype t);
/* DT_UNKNOWN if ONNX has no type with this number. */
dtype dtype_of_onnx(int64_t number);
bool dtype_is_float(dtype t);   /* floating point of any width */
bool dtype_is_integer(dtype t); /* signed or unsigned, bool included */

#endif
