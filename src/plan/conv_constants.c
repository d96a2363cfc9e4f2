/* conv_constants.c: reads data/libraries.txt, which is embedded in the library. */
#include "base/lines.h"
#include "plan/conv_library.h"

#include <math.h>
#include <stddef.h>

extern const char plan_shipped_libraries[]; /* shipped.S */

typedef struct constant {
    const char *name;
    size_t offset;
} constant;

#define AT(field) offsetof(conv_constants, field)
static const constant CONSTANTS[] = {
    {"cublas_128x128", AT(cublas.efficiency[0])},
    {"cublas_128x64", AT(cublas.efficiency[1])},
    {"cublas_64x64", AT(cublas.efficiency[2])},
    {"cublas_32x32", AT(cublas.efficiency[3])},
    {"cublas_alone", AT(cublas.alone)},
    {"cublas_ramp", AT(cublas.ramp)},
    {"cublas_bandwidth", AT(cublas.bandwidth)},
    {"cublas_launch_us", AT(cublas.launch_us)},
    {"cublas_split_blocks", AT(split_blocks)},
    {"im2col_bandwidth", AT(im2col_bandwidth)},
    {"col2im_bandwidth", AT(col2im_bandwidth)},
    {"im2col_tap_ns", AT(tap_ns)},
    {"modern_256x128", AT(modern.efficiency[5])},
    {"modern_128x128", AT(modern.efficiency[0])},
    {"modern_128x64", AT(modern.efficiency[1])},
    {"modern_64x64", AT(modern.efficiency[2])},
    {"modern_32x32", AT(modern.efficiency[3])},
    {"modern_alone", AT(modern.alone)},
    {"modern_ramp", AT(modern.ramp)},
    {"modern_bandwidth", AT(modern.bandwidth)},
    {"modern_step_ns", AT(modern.step_ns)},
    {"modern_fill", AT(modern_fill)},
    {"cudnn_128x128", AT(cudnn.efficiency[0])},
    {"cudnn_64x64", AT(cudnn.efficiency[2])},
    {"cudnn_32x32", AT(cudnn.efficiency[3])},
    {"cudnn_8x128", AT(cudnn.efficiency[4])},
    {"cudnn_alone", AT(cudnn.alone)},
    {"cudnn_ramp", AT(cudnn.ramp)},
    {"cudnn_bandwidth", AT(cudnn.bandwidth)},
    {"cudnn_bandwidth_backward", AT(cudnn.bandwidth_backward)},
    {"cudnn_launch_us", AT(cudnn.launch_us)},
    {"cudnn_data", AT(data_speed)},
    {"cudnn_weights", AT(weights_speed)},
    {"fft_efficiency", AT(fft_efficiency)},
    {"kepler", AT(kepler)},
    {"pascal", AT(pascal)},
    {"error_percent", AT(error_percent)},
    {"pool_bytes", AT(pool_bytes)},
    {"pool_tap", AT(pool_tap)},
    {"pool_backward_tap", AT(pool_backward_tap)},
    {"pool_backward_input", AT(pool_backward_input)},
};
enum { CONSTANT_COUNT = sizeof CONSTANTS / sizeof *CONSTANTS, VERSION_NUMBERS = 7 };

/* NAME = forward data weights, Winograd's gains for the three, and 1 if FFT is used. */
static bool read_version(conv_constants *c, str name, str rest)
{
    double numbers[VERSION_NUMBERS];
    if (c->version_count == CONV_VERSIONS || !name.len || name.len >= sizeof c->versions[0].name)
        return false;
    for (int i = 0; i < VERSION_NUMBERS; i++) {
        rest = line_trimmed(rest);
        if (!line_number(line_taken(&rest, ' '), &numbers[i]) || !(numbers[i] > 0 || i == VERSION_NUMBERS - 1))
            return false;
    }
    conv_version *v = &c->versions[c->version_count++];
    memcpy(v->name, name.ptr, name.len);
    for (int i = 0; i < 3; i++) {
        v->speed[i] = numbers[i];
        v->winograd[i] = numbers[3 + i];
    }
    v->has_fft = numbers[VERSION_NUMBERS - 1] > 0;
    return !line_trimmed(rest).len;
}

static bool read_line(conv_constants *c, bool have[CONSTANT_COUNT], str line)
{
    line = line_trimmed(line_taken(&line, '#'));
    if (!line.len)
        return true;
    str key = line_trimmed(line_taken(&line, '=')), word = line_taken(&key, ' ');
    double number;
    if (str_is(word, "cudnn"))
        return read_version(c, line_trimmed(key), line);
    for (int i = 0; i < CONSTANT_COUNT; i++)
        if (str_is(word, CONSTANTS[i].name) && line_number(line_trimmed(line), &number)) {
            *(double *)((char *)c + CONSTANTS[i].offset) = number;
            return have[i] = true;
        }
    return false;
}

/* Returns false if a line cannot be read or a number is missing. */
static bool read_constants(conv_constants *c, str text)
{
    bool have[CONSTANT_COUNT] = {false}, good = true;
    *c = (conv_constants){.version_count = 0};
    while (text.len && good)
        good = read_line(c, have, line_taken(&text, '\n'));
    for (int i = 0; i < CONSTANT_COUNT; i++)
        good &= have[i];
    return good && c->version_count > 0;
}

bool conv_constants_shipped(conv_constants *c)
{
    return read_constants(c, str_of(plan_shipped_libraries));
}

int conv_version_of(const conv_constants *c, const char *name)
{
    for (int i = 0; i < c->version_count; i++)
        if (strcmp(c->versions[i].name, name) == 0)
            return i;
    return -1;
}
