/* mig_fuzz.c: libFuzzer target for the reader of slice tables, the lookup by name, and the layout search on the table
 * read. */
#include "plan/mig_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void plan(const mig_table *t, arena *a)
{
    mig_demand demands[2] = {{1, 3}, {(1U << (t->profile_count - 1)) | 1, 2}};
    mig_search_options options = {.time_limit_s = 0.01};
    mig_layout layout = mig_search(t, demands, 2, &options, a);
    for (int32_t g = 0; g < layout.gpu_count; g++)
        if (!mig_is_legal(t, &layout.gpus[g]))
            __builtin_trap();
}

static void read_and_plan(str text, arena *a, fail *f)
{
    mig_list list = {0};
    if (setjmp(f->jump))
        return;
    mig_read(&list, text, "fuzz: ", a, f);
    for (int32_t i = 0; i < list.count; i++) {
        mig_find(list.items[i].table, text);
        mig_names(list.items[i].table, a);
        plan(list.items[i].table, a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)256 << 20);
    read_and_plan((str){(const char *)bytes, size}, &a, &f);
    arena_free(&a);
    return 0;
}
