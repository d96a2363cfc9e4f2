#include "memory/constants.h"
#include "base/lines.h"

static const char *const NAMES[MEMORY_CONSTANT_COUNT] = {
    [CONTEXT_TRAIN_MIB] = "context_train_mib",
    [CONTEXT_INFER_MIB] = "context_infer_mib",
    [CONTEXT_UNLAZY_MIB] = "context_unlazy_mib",
    [CONTEXT_AUTOTUNED_MIB] = "context_autotuned_mib",
    [CONTEXT_AUTOTUNED_EACH_MIB] = "context_autotuned_each_mib",
    [CONTEXT_PER_SM_MIB] = "context_per_sm_mib",
    [CONTEXT_CONVOLUTIONS_TRAIN_MIB] = "context_convolutions_train_mib",
    [CONTEXT_CONVOLUTIONS_INFER_MIB] = "context_convolutions_infer_mib",
    [ALLOCATOR_TRAIN_PERCENT] = "allocator_train_percent",
    [PRODUCT_WORKSPACE_KIB] = "product_workspace_kib",
    [ERROR_TRAIN_PERCENT] = "error_train_percent",
    [ERROR_INFER_PERCENT] = "error_infer_percent",
};

extern const char memory_shipped_text[]; /* shipped.S */

/* Specificity of a line for the device; the most specific line wins. */
typedef enum nearness { NO_LINE, ANY_DEVICE, ITS_CAPABILITY, ITS_NAME, ANOTHER_DEVICE } nearness;

static bool read_line(memory_constants *c, nearness have[MEMORY_CONSTANT_COUNT], str line, str compute_capability,
                      str device_name)
{
    line = line_trimmed(line_taken(&line, '#'));
    if (!line.len)
        return true;
    str key = line_trimmed(line_taken(&line, '=')), name = line_taken(&key, ' '), only = line_trimmed(key);
    double number;
    if (!line_number(line_trimmed(line), &number))
        return false;
    nearness near = !only.len                          ? ANY_DEVICE
                    : str_eq(only, compute_capability) ? ITS_CAPABILITY
                    : str_eq(only, device_name)        ? ITS_NAME
                                                       : ANOTHER_DEVICE;
    for (int i = 0; i < MEMORY_CONSTANT_COUNT; i++) {
        if (!str_is(name, NAMES[i]))
            continue;
        if (near != ANOTHER_DEVICE && near > have[i]) {
            c->of[i] = number;
            have[i] = near;
        }
        return true;
    }
    return false;
}

bool memory_constants_read(memory_constants *c, str text, str compute_capability, str name)
{
    nearness have[MEMORY_CONSTANT_COUNT] = {NO_LINE};
    bool good = true;
    while (text.len && good)
        good = read_line(c, have, line_taken(&text, '\n'), compute_capability, name);
    for (int i = 0; i < MEMORY_CONSTANT_COUNT; i++)
        good &= have[i] != NO_LINE;
    return good;
}

memory_constants memory_constants_in(str text, const device *d, fail *f)
{
    memory_constants c = {{0}};
    if (!memory_constants_read(&c, text, d->texts[DEVICE_COMPUTE_CAPABILITY], d->texts[DEVICE_NAME]))
        fail_with(f, SOOTH_ERROR_SYSTEM,
                  "data/memory.txt inside this program is damaged: a line cannot be understood or a number is missing; "
                  "build it again");
    return c;
}

memory_constants memory_constants_for(const device *d, fail *f)
{
    return memory_constants_in(str_of(memory_shipped_text), d, f);
}
