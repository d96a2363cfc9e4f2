/* rows_fuzz.c: libFuzzer target for the reader of measured rows: CSV, settings, operator programs and their physical
 * times. */
#include "learn/rows.h"
#include "predict/work.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static sooth_gpus *gpus;

static void read_all(str text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return;
    measured_rows *rows = rows_of_bytes(text, "fuzz/rows.csv", gpus, &(rows_options){0}, a, f);
    for (int32_t i = 0; i < rows->rows.count; i++) {
        const measured_row *r = &rows->rows.items[i];
        row_architecture(r->name, a);
        if (r->reason)
            continue;
        if (!r->where.device)
            abort(); /* a usable row has a device */
        if (!r->kernels)
            continue;
        work_list works = work_of_program(r->kernels, a);
        if (!(predict_program(NULL, r->kernels, &works, &r->where, a)->latency_ms >= 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!gpus && sooth_gpus_open(NULL, &gpus, NULL) != SOOTH_OK)
        abort();
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)64 << 20);
    read_all((str){(const char *)bytes, size}, &a, &f);
    arena_free(&a);
    return 0;
}
