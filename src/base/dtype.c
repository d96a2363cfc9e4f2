#include "base/dtype.h"

typedef struct dtype_info {
    const char *name;
    uint8_t bits;
    enum { KIND_OTHER, KIND_FLOAT, KIND_INTEGER } kind;
} dtype_info;

static const dtype_info TYPES[DT_COUNT] = {
    [DT_UNKNOWN] = {"", 0, KIND_OTHER},
    [DT_FLOAT32] = {"float32", 32, KIND_FLOAT},
    [DT_UINT8] = {"uint8", 8, KIND_INTEGER},
    [DT_INT8] = {"int8", 8, KIND_INTEGER},
    [DT_UINT16] = {"uint16", 16, KIND_INTEGER},
    [DT_INT16] = {"int16", 16, KIND_INTEGER},
    [DT_INT32] = {"int32", 32, KIND_INTEGER},
    [DT_INT64] = {"int64", 64, KIND_INTEGER},
    [DT_STRING] = {"string", 0, KIND_OTHER},
    [DT_BOOL] = {"bool", 8, KIND_INTEGER},
    [DT_FLOAT16] = {"float16", 16, KIND_FLOAT},
    [DT_FLOAT64] = {"float64", 64, KIND_FLOAT},
    [DT_UINT32] = {"uint32", 32, KIND_INTEGER},
    [DT_UINT64] = {"uint64", 64, KIND_INTEGER},
    [DT_COMPLEX64] = {"complex64", 64, KIND_OTHER},
    [DT_COMPLEX128] = {"complex128", 128, KIND_OTHER},
    [DT_BFLOAT16] = {"bfloat16", 16, KIND_FLOAT},
    [DT_FLOAT8E4M3FN] = {"float8e4m3fn", 8, KIND_FLOAT},
    [DT_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, KIND_FLOAT},
    [DT_FLOAT8E5M2] = {"float8e5m2", 8, KIND_FLOAT},
    [DT_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, KIND_FLOAT},
    [DT_UINT4] = {"uint4", 4, KIND_INTEGER},
    [DT_INT4] = {"int4", 4, KIND_INTEGER},
    [DT_FLOAT4E2M1] = {"float4e2m1", 4, KIND_FLOAT},
    [DT_FLOAT8E8M0] = {"float8e8m0", 8, KIND_FLOAT},
    [DT_UINT2] = {"uint2", 2, KIND_INTEGER},
    [DT_INT2] = {"int2", 2, KIND_INTEGER},
};

const char *dtype_name(dtype t)
{
    return TYPES[t].name;
}

int dtype_bits(dtype t)
{
    return TYPES[t].bits;
}

dtype dtype_of_onnx(int64_t number)
{
    return number > 0 && number < DT_COUNT ? (dtype)number : DT_UNKNOWN;
}

bool dtype_is_float(dtype t)
{
    return TYPES[t].kind == KIND_FLOAT;
}

bool dtype_is_integer(dtype t)
{
    return TYPES[t].kind == KIND_INTEGER;
}
