/* read.c: reads a GPU's text file; device.h specifies the format. Every error names the line and a remedy. */
#include "base/lines.h"
#include "base/nearest.h"
#include "device/device.h"

#include <math.h>

enum { MAX_FILE_BYTES = 64 * 1024, MAX_NAME_BYTES = 64, MAX_ALIASES = 32 };

typedef struct reader {
    device *d;
    const char *prefix;
    arena *arena;
    fail *fail;
    int line;
    int last_field;                  /* field found last */
    int line_of[DEVICE_FIELD_COUNT]; /* line of each field; 0: not given yet */
} reader;

/* Fails with "FILE: line 7: " and the message. */
#define WRONG(r, format, ...)                                                                                          \
    fail_with((r)->fail, SOOTH_ERROR_INPUT, "%sline %d: " format, (r)->prefix, (r)->line, __VA_ARGS__)

static void read_number(reader *r, device_field field, str value)
{
    const device_field_info *info = &device_fields()[field];
    double *number = &r->d->numbers[field];
    if (str_is(value, "unknown") && !info->is_required)
        return;
    if (str_is(value, "none") && info->least == 0) {
        *number = 0;
        return;
    }
    if (!line_number(value, number))
        WRONG(r, "'%s = %.*s' is not a number; write digits%s%s, units are in the name (%s)", info->key, STR_ARG(value),
              info->least == 0 ? " or 'none'" : "", info->is_required ? "" : " or 'unknown'", info->summary);
    if (!(*number >= info->least && *number <= info->most))
        WRONG(r, "'%s = %.*s' is out of range: it must be between %g and %g (%s); check the unit", info->key,
              STR_ARG(value), info->least, info->most, info->summary);
}

static void check_name(reader *r, str name)
{
    bool good = name.len > 0 && name.len <= MAX_NAME_BYTES;
    for (size_t i = 0; good && i < name.len; i++) {
        char c = name.ptr[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    }
    if (!good)
        WRONG(r, "'%.*s' is not a valid GPU name; use 1 to %d lower-case letters, digits, '-' and '.'", STR_ARG(name),
              MAX_NAME_BYTES);
}

static void read_aliases(reader *r, str value)
{
    str *aliases = ARENA_ARRAY(r->arena, str, MAX_ALIASES);
    int32_t count = 0;
    while (value.len) {
        str alias = line_trimmed(line_taken(&value, ','));
        check_name(r, alias);
        if (count == MAX_ALIASES)
            WRONG(r, "more than %d aliases; remove some", MAX_ALIASES);
        aliases[count++] = arena_str(r->arena, alias);
    }
    r->d->aliases = aliases;
    r->d->alias_count = count;
}

static void read_text(reader *r, device_field field, str value)
{
    if (field == DEVICE_NAME)
        check_name(r, value);
    if (field == DEVICE_ALIASES)
        read_aliases(r, value);
    r->d->texts[field] = arena_str(r->arena, value);
}

static device_field find_field(reader *r, str key)
{
    for (int i = 0; i < DEVICE_FIELD_COUNT; i++) {
        int field = (r->last_field + i) % DEVICE_FIELD_COUNT; /* files usually have the fields in order */
        if (str_is(key, device_fields()[field].key)) {
            r->last_field = field;
            return (device_field)field;
        }
    }
    nearest near = nearest_to(key);
    for (int i = 0; i < DEVICE_FIELD_COUNT; i++)
        nearest_try(&near, str_of(device_fields()[i].key));
    if (near.best.len)
        WRONG(r, "there is no field '%.*s'; did you mean '%.*s'?", STR_ARG(key), STR_ARG(near.best));
    WRONG(r, "there is no field '%.*s'; `sooth gpus a100` shows all of them", STR_ARG(key));
}

static void read_line(reader *r, str line)
{
    line_parts of;
    if (!line_split(line, r->line, r->prefix, &of, r->fail))
        return;
    device_field field = find_field(r, of.key);
    if (r->line_of[field])
        WRONG(r, "'%.*s' was already given in line %d; keep one of them", STR_ARG(of.key), r->line_of[field]);
    if (of.value.len == 0)
        WRONG(r, "'%.*s' has no value (%s)", STR_ARG(of.key), device_fields()[field].summary);
    r->line_of[field] = r->line;
    r->d->origins[field] = arena_str(r->arena, of.origin);
    if (field < DEVICE_FIRST_NUMBER)
        read_text(r, field, of.value);
    else
        read_number(r, field, of.value);
}

static void check_required(reader *r)
{
    for (int i = 0; i < DEVICE_FIELD_COUNT; i++) {
        const device_field_info *info = &device_fields()[i];
        if (info->is_required && !r->line_of[i])
            fail_with(r->fail, SOOTH_ERROR_INPUT, "%shas no '%s' (%s): add a line '%s = ...  # origin'", r->prefix,
                      info->key, info->summary, info->key);
    }
}

/* Vendors round, and state bandwidths up to 1.5 % below bus width times data rate. */
static const double TOLERANCE = 0.02;

static void check_published(reader *r, device_field field, double flops)
{
    double published = r->d->numbers[field];
    if (isnan(published) || isnan(flops) || fabs(flops / 1e12 - published) <= TOLERANCE * published)
        return;
    r->line = r->line_of[field];
    WRONG(
        r,
        "%s = %g, but multiprocessors, clock and FLOPs per clock give %.4g; correct what is wrong, or remove this line",
        device_fields()[field].key, published, flops / 1e12);
}

/* Redundant numbers must agree, which finds typing errors. */
static void check_agreement(reader *r)
{
    const double *n = r->d->numbers;
    double gb_s = n[DEVICE_MEMORY_BUS_BITS] * n[DEVICE_MEMORY_GBIT_S] / 8;
    if (fabs(gb_s - n[DEVICE_BANDWIDTH_GB_S]) > TOLERANCE * n[DEVICE_BANDWIDTH_GB_S]) {
        r->line = r->line_of[DEVICE_BANDWIDTH_GB_S];
        WRONG(r, "bandwidth_gb_s = %g, but %g bits of %g Gbit/s each are %.5g GB/s; correct one of them",
              n[DEVICE_BANDWIDTH_GB_S], n[DEVICE_MEMORY_BUS_BITS], n[DEVICE_MEMORY_GBIT_S], gb_s);
    }
    if (n[DEVICE_BASE_MHZ] > n[DEVICE_BOOST_MHZ]) {
        r->line = r->line_of[DEVICE_BASE_MHZ];
        WRONG(r, "base_mhz = %g is more than boost_mhz = %g; correct one of them", n[DEVICE_BASE_MHZ],
              n[DEVICE_BOOST_MHZ]);
    }
    if (n[DEVICE_USABLE_MIB] > n[DEVICE_MEMORY_GIB] * 1024) {
        r->line = r->line_of[DEVICE_USABLE_MIB];
        WRONG(r, "usable_mib = %g is more than memory_gib = %g; correct one of them", n[DEVICE_USABLE_MIB],
              n[DEVICE_MEMORY_GIB]);
    }
    check_published(r, DEVICE_PUBLISHED_FP32, device_vector_flops(r->d, STR("fp32")));
    check_published(r, DEVICE_PUBLISHED_TF32, device_peak_flops(r->d, STR("tf32")));
    check_published(r, DEVICE_PUBLISHED_FP16, device_peak_flops(r->d, STR("fp16")));
    check_published(r, DEVICE_PUBLISHED_FP8, device_peak_flops(r->d, STR("fp8")));
    check_published(r, DEVICE_PUBLISHED_INT8, device_peak_flops(r->d, STR("int8")));
}

void device_read(device *d, str text, const char *prefix, arena *a, fail *f)
{
    reader r = {.d = d, .prefix = prefix, .arena = a, .fail = f};
    if (text.len > MAX_FILE_BYTES)
        fail_with(f, SOOTH_ERROR_INPUT, "%sis larger than %d KiB; is this the text file of a GPU?", prefix,
                  MAX_FILE_BYTES >> 10);
    for (int i = 0; i < DEVICE_FIELD_COUNT; i++)
        d->numbers[i] = NAN;
    while (text.len) {
        r.line++;
        read_line(&r, line_taken(&text, '\n'));
    }
    check_required(&r);
    if (isnan(d->numbers[DEVICE_PER_BOARD]))
        d->numbers[DEVICE_PER_BOARD] = 1;
    check_agreement(&r);
}
