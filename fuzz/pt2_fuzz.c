/* pt2_fuzz.c: libFuzzer target for torch.export archives. The fuzzer writes the program's JSON; input that begins
 * like a ZIP archive is used as one. */
#include "archive.h"
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 2 && bytes[0] == 'P' && bytes[1] == 'K') {
        fuzz_model(bytes, size);
        return 0;
    }
    archive a = {0};
    archive_add(&a, "serialized_exported_program.json", bytes, size);
    archive_end(&a);
    fuzz_model(a.bytes, a.size);
    free(a.bytes);
    return 0;
}
