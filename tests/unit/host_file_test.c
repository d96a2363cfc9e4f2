/* host_file_test.c: what `sooth measure --host` writes is a host file, however slow or fast a part was. */
#include "../../src/measure/host_file.c"

#include "device/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static sooth_error error;

static bool is_read(host *h, str text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return false;
    host_read(h, text, "", a, f);
    return true;
}

/* Writes and reads the file of a machine whose disk has this latency. */
static double storage_us(double cold_ms, double decode_ms)
{
    sooth_hosts *hosts;
    assert_int_equal(sooth_hosts_open(&hosts, &error), SOOTH_OK);
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)1 << 20);
    const machine m = {.cpu = "A (R) processor 3000", .cores = 4, .threads = 4};
    const image_times images = {.images = 8,
                                .wide = 500,
                                .high = 400,
                                .side = 224,
                                .workers = 2,
                                .bytes = 1e5,
                                .read_cold = {.median = cold_ms},
                                .decode = {.median = decode_ms},
                                .augment = {.median = 0.8},
                                .loader_ms = 2,
                                .one_worker_ms = 3,
                                .storage_bytes_s = 1e9};
    str text = host_file_text(&m, &images, 2e9, sooth_hosts_at(hosts, 0), &a);
    host h = {.file = STR("test")};
    bool good = is_read(&h, text, &a, &f);
    if (!good)
        print_message("%s\n", error.message);
    assert_true(good);
    assert_true(str_is(h.texts[HOST_NAME], "a-r-processor-3000-here"));
    assert_true(h.numbers[HOST_WORKER_EFFICIENCY] == 0.75 && h.numbers[HOST_LOADER_GB_S] == 2);
    assert_true(fabs(h.numbers[HOST_DECODE_MPIXEL_S] - 0.2 / decode_ms * 1e3) <=
                0.0005 * h.numbers[HOST_DECODE_MPIXEL_S]);
    double us = h.numbers[HOST_STORAGE_US];
    arena_free(&a);
    sooth_hosts_free(hosts);
    return us;
}

static void test_written_and_read(void **state)
{
    (void)state;
    assert_true(storage_us(0.15, 2) == 50);
    assert_true(storage_us(0.1001234, 2) == 0.1234);
    assert_true(storage_us(10.33, 0.01) == 10230); /* not 1.023e+04 */
    assert_true(storage_us(0.05, 1000) == 0);
    assert_true(storage_us(9000.1, 0.5) == 9000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_written_and_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
