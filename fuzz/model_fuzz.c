/* model_fuzz.c: libFuzzer target for all formats whose files the fuzzer writes directly; seeds and dictionary choose
 * the format. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_model(bytes, size);
    return 0;
}
