/* mxnet_fuzz.c: libFuzzer target of MXNet's symbols. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_model(bytes, size, size ? bytes[size - 1] : 0); /* whatever the file ends with decides the options */
}
