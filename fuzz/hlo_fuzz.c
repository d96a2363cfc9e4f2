/* hlo_fuzz.c: libFuzzer target of XLA's programs: StableHLO as text and as bytecode, HLO as text and protobuf, and all that is behind a model. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_model(bytes, size, size ? bytes[size - 1] : 0); /* whatever the file ends with decides the options */
}
