/* layout_test.c: PyTorch's strides. Expected numbers are those of torch tensors of these shapes. */
#include "lower/layout.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static extent of(int rank, const int64_t *dims, const int64_t *strides)
{
    extent x = {.rank = rank};
    memcpy(x.dims, dims, (size_t)rank * sizeof *dims);
    if (strides)
        memcpy(x.strides, strides, (size_t)rank * sizeof *strides);
    else
        extent_contiguous(&x);
    return x;
}
#define OF(rank, ...) of((rank), (const int64_t[]){__VA_ARGS__}, NULL)
#define STRIDED(x, ...) memcpy((x).strides, (const int64_t[]){__VA_ARGS__}, (size_t)(x).rank * sizeof(int64_t))
#define assert_strides(x, ...)                                                                                         \
    assert_memory_equal((x).strides, ((const int64_t[]){__VA_ARGS__}), (size_t)(x).rank * sizeof(int64_t))

static void formats(void **state)
{
    (void)state;
    extent x = OF(4, 2, 3, 4, 5);
    assert_strides(x, 60, 20, 5, 1);
    assert_true(extent_is_contiguous(&x));
    assert_false(extent_is_channels_last(&x));
    extent_channels_last(&x);
    assert_strides(x, 60, 1, 15, 3);
    assert_true(extent_is_channels_last(&x) && extent_is_dense(&x) && extent_suggests_channels_last(&x));
    /* A map of one pixel is in both layouts; the suggested one depends on strides that nobody uses. */
    extent pixel = OF(4, 8, 64, 1, 1);
    assert_true(extent_is_contiguous(&pixel) && extent_is_channels_last(&pixel));
    assert_false(extent_suggests_channels_last(&pixel));
    extent_channels_last(&pixel);
    assert_true(extent_is_contiguous(&pixel) && extent_suggests_channels_last(&pixel));
}

static void views(void **state)
{
    (void)state;
    extent last = OF(4, 8, 768, 14, 14), tokens = OF(3, 8, 768, 196), flat = OF(2, 8, 768 * 196);
    extent_channels_last(&last);
    assert_true(extent_view(&last, &tokens)); /* rows of pixels are adjacent */
    assert_strides(tokens, 150528, 1, 768);
    assert_false(extent_view(&last, &flat)); /* channels and pixels are not */
    extent windows = OF(3, 2, 3, 4), split = OF(4, 2, 3, 2, 2);
    STRIDED(windows, 24, 8, 1);
    assert_true(extent_view(&windows, &split));
    assert_strides(split, 24, 8, 2, 1);
    extent broadcast = OF(2, 4, 5), joined = OF(1, 20);
    STRIDED(broadcast, 0, 1);
    assert_false(extent_view(&broadcast, &joined));
}

static void pointwise_outputs(void **state)
{
    (void)state;
    extent last = OF(4, 2, 8, 4, 4), row = OF(4, 1, 8, 1, 1), plain = OF(4, 2, 8, 4, 4), y = OF(4, 2, 8, 4, 4);
    extent_channels_last(&last);
    extent_pointwise(&y, (const extent[]){last, row}, 2);
    assert_strides(y, 128, 1, 32, 8);
    extent_pointwise(&y, (const extent[]){plain, last}, 2); /* the first operand decides */
    assert_strides(y, 128, 16, 4, 1);
    extent_pointwise(&y, (const extent[]){last, plain}, 2);
    assert_strides(y, 128, 1, 32, 8);
    /* A slice of queries keeps the order of its dimensions, without gaps. */
    extent queries = OF(4, 512, 3, 49, 32), scaled = OF(4, 512, 3, 49, 32);
    STRIDED(queries, 14112, 32, 288, 1);
    extent_pointwise(&scaled, &queries, 1);
    assert_strides(scaled, 4704, 32, 96, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(views),
        cmocka_unit_test(pointwise_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
