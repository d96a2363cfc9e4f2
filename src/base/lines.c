/* lines.c: reads texts made of `key = value  # origin` lines. */
#include "base/lines.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

str line_trimmed(str s)
{
    while (s.len && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

str line_taken(str *s, char separator)
{
    const char *at = s->len ? memchr(s->ptr, separator, s->len) : NULL;
    str head = {s->ptr, at ? (size_t)(at - s->ptr) : s->len};
    size_t used = head.len + (at != NULL);
    s->ptr += used;
    s->len -= used;
    return head;
}

bool line_number(str s, double *number)
{
    double mantissa = 0, scale = 1;
    bool after_point = false;
    size_t digits = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '.' && !after_point) {
            after_point = true;
            continue;
        }
        if (s.ptr[i] < '0' || s.ptr[i] > '9' || ++digits > 15)
            return false;
        mantissa = mantissa * 10 + (s.ptr[i] - '0');
        scale *= after_point ? 10 : 1;
    }
    *number = mantissa / scale;
    return digits > 0;
}

void line_check(str line, int number, const char *prefix, fail *f)
{
    if (line.len > MAX_LINE_BYTES)
        fail_with(f, SOOTH_ERROR_INPUT, "%sline %d: is longer than %d bytes; is this the right file?", prefix, number,
                  MAX_LINE_BYTES);
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if (c == 0x7F || (c < 0x20 && !is_space((char)c)))
            fail_with(f, SOOTH_ERROR_INPUT, "%sline %d: has a byte 0x%02x, which is not text; is this the right file?",
                      prefix, number, c);
    }
}

bool line_split(str line, int number, const char *prefix, line_parts *to, fail *f)
{
    line_check(line, number, prefix, f);
    str statement = line_taken(&line, '#');
    to->origin = line_trimmed(line);
    if (line_trimmed(statement).len == 0)
        return false;
    if (!memchr(statement.ptr, '=', statement.len))
        fail_with(f, SOOTH_ERROR_INPUT, "%sline %d: '%.*s' is not 'key = value  # origin'", prefix, number,
                  STR_ARG(line_trimmed(statement)));
    to->key = line_trimmed(line_taken(&statement, '='));
    to->value = line_trimmed(statement);
    return true;
}
