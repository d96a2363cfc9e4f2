#include "memory/constants.h"
#include "base/decimal.h"

#include <assert.h>

static const char *const NAMES[MEMORY_CONSTANT_COUNT] = {
    [CONTEXT_TRAIN_MIB] = "context_train_mib",         [CONTEXT_INFER_MIB] = "context_infer_mib",
    [PRODUCT_WORKSPACE_KIB] = "product_workspace_kib", [ERROR_TRAIN_PERCENT] = "error_train_percent",
    [ERROR_INFER_PERCENT] = "error_infer_percent",
};

extern const char memory_shipped_text[]; /* shipped.S */

static str trimmed(str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r'))
        s.len--;
    return s;
}

/* What stands before the mark; *s is what stands behind it. */
static str taken(str *s, char mark)
{
    const char *at = s->len ? memchr(s->ptr, mark, s->len) : NULL;
    str head = {s->ptr, at ? (size_t)(at - s->ptr) : s->len};
    size_t used = head.len + (at != NULL);
    *s = (str){s->ptr + used, s->len - used};
    return trimmed(head);
}

static bool read_line(memory_constants *c, bool is_special[MEMORY_CONSTANT_COUNT], str line, str compute_capability)
{
    line = taken(&line, '#');
    if (!line.len)
        return true;
    str key = taken(&line, '='), name = taken(&key, ' '), only = trimmed(key), value = trimmed(line);
    decimal number;
    if (!value.len || decimal_read(value, &number) != value.len)
        return false;
    for (int i = 0; i < MEMORY_CONSTANT_COUNT; i++) {
        if (!str_is(name, NAMES[i]))
            continue;
        bool holds = only.len ? str_eq(only, compute_capability) : !is_special[i];
        if (holds)
            c->of[i] = number.real;
        is_special[i] |= holds && only.len;
        return true;
    }
    return false;
}

bool memory_constants_read(memory_constants *c, str text, str compute_capability)
{
    bool is_special[MEMORY_CONSTANT_COUNT] = {false}, good = true;
    for (int i = 0; i < MEMORY_CONSTANT_COUNT; i++)
        c->of[i] = -1;
    while (text.len && good) {
        str line = taken(&text, '\n');
        good = read_line(c, is_special, line, compute_capability);
    }
    for (int i = 0; i < MEMORY_CONSTANT_COUNT; i++)
        good &= c->of[i] >= 0;
    return good;
}

memory_constants memory_constants_for(const device *d)
{
    memory_constants c;
    bool good = memory_constants_read(&c, str_of(memory_shipped_text), d->texts[DEVICE_COMPUTE_CAPABILITY]);
    assert(good); /* what ships is tested */
    (void)good;
    return c;
}
