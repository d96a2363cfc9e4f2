/* host_fuzz.c: libFuzzer target for the reader of host files. A host that is read has every number that the format asks
 * for, within its bounds. */
#include "device/host.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_and_check(host *h, str text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return;
    host_read(h, text, "fuzz: ", a, f);
    for (int i = 0; i < HOST_FIELD_COUNT; i++) {
        const host_field_info *info = &host_fields()[i];
        if (i < HOST_FIRST_NUMBER && info->is_required && !h->texts[i].len)
            abort();
        if (i < HOST_FIRST_NUMBER || (!info->is_required && !h->origins[i].ptr))
            continue;
        if (!(h->numbers[i] >= info->least && h->numbers[i] <= info->most))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)16 << 20);
    host h = {.file = STR("fuzz")};
    read_and_check(&h, (str){(const char *)bytes, size}, &a, &f);
    arena_free(&a);
    return 0;
}
