/* model_fuzz.c: libFuzzer target of all formats whose files are taken as the fuzzer makes them up; seeds and dictionary choose the format. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_model(bytes, size);
    return 0;
}
