/* csv.c: reads tables in the format of RFC 4180. */
#include "base/csv.h"

#include <math.h>

void csv_begin(csv *c, str text, arena *a)
{
    if (str_starts(text, "\xef\xbb\xbf"))
        text = (str){text.ptr + 3, text.len - 3};
    c->next = text.ptr;
    c->end = text.len ? text.ptr + text.len : text.ptr; /* In an empty file the pointer may be NULL. */
    c->next_line = 1;
    c->line = 0;
    c->count = 0;
    c->arena = a;
}

/* Copies a field that has doubled quotes, or text after its closing quote. */
static str join(csv *c, str quoted, str rest)
{
    char *to = arena_room(c->arena, quoted.len + rest.len + 1, 1);
    size_t used = 0;
    for (size_t i = 0; i < quoted.len; i++) {
        to[used++] = quoted.ptr[i];
        i += quoted.ptr[i] == '"'; /* A doubled quote stands for one. */
    }
    memcpy(to + used, rest.ptr, rest.len);
    return (str){to, used + rest.len};
}

static str quoted_field(csv *c)
{
    const char *from = ++c->next;
    bool is_doubled = false;
    for (; c->next < c->end; c->next++) {
        if (*c->next == '\n' && c->next_line < INT32_MAX)
            c->next_line++;
        if (*c->next != '"')
            continue;
        if (c->next + 1 == c->end || c->next[1] != '"')
            break;
        is_doubled = true;
        c->next++;
    }
    str inside = {from, (size_t)(c->next - from)};
    c->next += c->next < c->end;
    const char *behind = c->next;
    while (c->next < c->end && *c->next != ',' && *c->next != '\n')
        c->next++;
    str rest = {behind, (size_t)(c->next - behind)};
    if (rest.len && rest.ptr[rest.len - 1] == '\r')
        rest.len--;
    return is_doubled || rest.len ? join(c, inside, rest) : inside;
}

static str plain_field(csv *c)
{
    const char *from = c->next;
    while (c->next < c->end && *c->next != ',' && *c->next != '\n')
        c->next++;
    str field = {from, (size_t)(c->next - from)};
    bool at_end = c->next == c->end || *c->next == '\n';
    if (at_end && field.len && field.ptr[field.len - 1] == '\r')
        field.len--;
    return field;
}

static bool skip_empty_lines(csv *c)
{
    for (; c->next < c->end && (*c->next == '\n' || *c->next == '\r'); c->next++)
        c->next_line += *c->next == '\n' && c->next_line < INT32_MAX;
    return c->next < c->end;
}

bool csv_next(csv *c)
{
    c->count = 0;
    if (!skip_empty_lines(c))
        return false;
    c->line = c->next_line;
    for (;;) {
        str field = c->next < c->end && *c->next == '"' ? quoted_field(c) : plain_field(c);
        if (c->count < CSV_MAX_COLUMNS)
            c->fields[c->count++] = field;
        if (c->next == c->end)
            return true;
        bool ends = *c->next++ == '\n';
        if (ends) {
            c->next_line += c->next_line < INT32_MAX;
            return true;
        }
    }
}

str csv_text(const csv *c, const char *from)
{
    const char *to = c->next;
    while (from < to && (*from == '\n' || *from == '\r'))
        from++;
    while (to > from && (to[-1] == '\n' || to[-1] == '\r'))
        to--;
    return (str){from, (size_t)(to - from)};
}

int csv_find(const csv *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (str_is(c->fields[i], name))
            return i;
    return -1;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Unlike strtod, independent of the locale, and needs no NUL after the number. */
bool csv_real(str s, double *number)
{
    enum { LONGEST = 64 }; /* Longer than any measured number. */
    if (s.len > LONGEST)
        return false;
    const char *p = s.ptr, *end = s.ptr + s.len;
    bool negative = p < end && *p == '-';
    p += negative;
    double mantissa = 0;
    int exponent = 0, digits = 0;
    for (; p < end && is_digit(*p); p++, digits++)
        mantissa = mantissa * 10 + (*p - '0');
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++, digits++, exponent--)
            mantissa = mantissa * 10 + (*p - '0');
    if (!digits)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        bool down = ++p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        int power = 0;
        const char *from = p;
        for (; p < end && is_digit(*p); p++)
            power = power < 10000 ? power * 10 + (*p - '0') : power;
        if (p == from)
            return false;
        exponent += down ? -power : power;
    }
    /* Divides by a positive power of ten, because negative powers are inexact. Short decimals are therefore exact. */
    double value = exponent < 0 ? mantissa / pow(10, -exponent) : mantissa * pow(10, exponent);
    *number = negative ? -value : value;
    return p == end && isfinite(value);
}

bool csv_whole(str s, int64_t *number)
{
    double x;
    if (!csv_real(s, &x) || fabs(x) > 9007199254740992.0 || x != floor(x))
        return false;
    *number = (int64_t)x;
    return true;
}
