/* ncnn_fuzz.c: libFuzzer target of the networks of ncnn and pnnx. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_model(bytes, size, size ? bytes[size - 1] : 0); /* whatever the file ends with decides the options */
}
