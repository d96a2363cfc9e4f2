/* gpu_fuzz.c: libFuzzer target for the GPU file reader, the lookup by name and the report on one GPU. */
#include "device/device.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static sooth_gpus *gpus;

static bool is_read(device *d, str text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return false;
    device_read(d, text, "fuzz: ", a, f);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!gpus && sooth_gpus_open(NULL, &gpus, NULL) != SOOTH_OK)
        abort();
    str text = {(const char *)bytes, size};
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)16 << 20);
    device *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->file = STR("fuzz");
    if (is_read(d, text, &a, &f)) {
        for (int format = SOOTH_FORMAT_TABLE; format <= SOOTH_FORMAT_CSV; format++) {
            sooth_report_options options = {.format = (sooth_format)format, .colors = true};
            char *report;
            if (sooth_gpus_report(gpus, d, &options, &report, NULL, NULL) != SOOTH_OK)
                abort(); /* a GPU that was read can be written */
            free(report);
        }
    }
    str name = {text.ptr, size < 16 ? size : 16}; /* longer names would spend most of the time on comparisons */
    if (!device_list_find(gpus, name))
        device_list_nearest(gpus, name);
    free(d);
    arena_free(&a);
    return 0;
}
