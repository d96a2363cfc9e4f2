/* torchscript_fuzz.c: libFuzzer target for TorchScript archives. The fuzzer writes code, data.pkl, constants.pkl and
 * traced_inputs.pkl, separated by SEPARATOR; input that begins like a ZIP archive is used as one. */
#include "archive.h"
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint8_t SEPARATOR[] = {0xff, '#', 0xff};

static size_t part_size(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + sizeof SEPARATOR <= size; i++)
        if (memcmp(bytes + i, SEPARATOR, sizeof SEPARATOR) == 0)
            return i;
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const NAMES[] = {"m/code/__torch__/m.py", "m/data.pkl", "m/constants.pkl",
                                        "m/traced_inputs.pkl"};
    if (size > 2 && bytes[0] == 'P' && bytes[1] == 'K') {
        fuzz_model(bytes, size);
        return 0;
    }
    archive a = {0};
    for (int i = 0; i < 4; i++) {
        size_t part = part_size(bytes, size);
        if (i < 2 || part)
            archive_add(&a, NAMES[i], bytes, part);
        size_t used = part < size ? part + sizeof SEPARATOR : part;
        bytes += used;
        size -= used;
    }
    archive_end(&a);
    fuzz_model(a.bytes, a.size);
    free(a.bytes);
    return 0;
}
