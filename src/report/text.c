#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLACEMENT = 0xFFFD };
static const size_t LARGEST = (size_t)1 << 30; /* limit far above any real report */
/* Far above what reports need for temporary data. */
static const size_t SCRATCH_CAP = (size_t)1 << 30;

/* Makes room for `more` bytes and a NUL. */
static void reserve(text *t, size_t more)
{
    if (t->capacity - t->size > more)
        return;
    size_t capacity = t->capacity ? t->capacity : 4096;
    while (capacity - t->size <= more) {
        if (capacity >= LARGEST)
            fail_with(t->fail, SOOTH_ERROR_INPUT, "the report would be larger than %zu MiB: this is no real network",
                      LARGEST >> 20);
        capacity *= 2;
    }
    char *bytes = realloc(t->bytes, capacity);
    if (!bytes)
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory after %zu bytes of the report", t->size);
    t->bytes = bytes;
    t->capacity = capacity;
}

void text_end(text *t)
{
    if (t->sink && t->size && !t->sink->take(t->sink->context, t->bytes, t->size))
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "the report cannot be written");
    if (t->sink)
        t->size = 0;
}

void text_pass_on(text *t)
{
    enum { MUCH = 4 << 20 };
    if (t->size >= MUCH)
        text_end(t);
}

sooth_status text_hand_out(text *t, bool done, char **bytes, size_t *size)
{
    if (!done) {
        free(t->bytes);
        return t->fail->error->code;
    }
    *bytes = t->bytes;
    if (size)
        *size = t->size;
    return SOOTH_OK;
}

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_guarded(text_writer write, void *report, text *out, arena *scratch)
{
    if (setjmp(out->fail->jump))
        return false;
    write(report, out, scratch);
    return true;
}

sooth_status text_report(text_writer write, void *report, char **bytes, size_t *size, sooth_error *error)
{
    sooth_error own;
    fail f = {.error = error_or(error, &own)};
    text out = {.fail = &f};
    arena scratch;
    arena_init(&scratch, &f, SCRATCH_CAP);
    bool done = write_guarded(write, report, &out, &scratch);
    sooth_status status = text_hand_out(&out, done, bytes, size);
    arena_free(&scratch);
    return status;
}

void text_add(text *t, const char *bytes, size_t size)
{
    reserve(t, size);
    if (size)
        memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
}

void text_puts(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_printf(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n <= 0)
        return;
    reserve(t, (size_t)n);
    va_start(args, format);
    vsnprintf(t->bytes + t->size, (size_t)n + 1, format, args);
    va_end(args);
    t->size += (size_t)n;
}

void text_repeat(text *t, const char *s, size_t count)
{
    size_t n = strlen(s);
    if (n == 1 && count) {
        reserve(t, count);
        memset(t->bytes + t->size, *s, count);
        t->size += count;
        t->bytes[t->size] = '\0';
        return;
    }
    for (size_t i = 0; i < count; i++)
        text_add(t, s, n);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

const char *number_whole(char room[NUMBER_ROOM], int64_t n)
{
    if (n < 0)
        return "?";
    char *at = room + NUMBER_ROOM - 1;
    *at = '\0';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    return at;
}

/* Formats n in the largest unit that leaves a digit before the point. */
static const char *scaled(char *room, int64_t n, double step, const char *const *units, int unit_count)
{
    double x = (double)n;
    int unit = 0;
    /* a value that would round to "1000.00" gets the next unit, such as 999.995 */
    while (unit + 1 < unit_count && (unit ? x >= step - 0.005 : n >= (int64_t)step)) {
        x /= step;
        unit++;
    }
    if (unit == 0) {
        char digits[NUMBER_ROOM];
        size_t unit_len = strlen(units[0]);
        const char *whole = number_whole(digits, n);
        size_t len = strlen(whole);
        memcpy(room, whole, len);
        memcpy(room + len, units[0], unit_len);
        room[len + unit_len] = '\0';
    } else
        snprintf(room, NUMBER_ROOM, "%.2f%s", x, units[unit]);
    return room;
}

const char *number_short(char room[NUMBER_ROOM], int64_t n)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};
    return n < 0 ? "?" : scaled(room, n, 1000, units, 7);
}

const char *number_bytes(char room[NUMBER_ROOM], int64_t n)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    return n < 0 ? "?" : scaled(room, n, 1024, units, 7);
}

const char *number_grouped(char room[NUMBER_ROOM], int64_t n)
{
    if (n < 0)
        return "?";
    char *at = room + NUMBER_ROOM - 1;
    *at = '\0';
    for (int digits = 0; digits == 0 || n > 0; digits++, n /= 10) {
        if (digits && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + n % 10);
    }
    return at;
}

/* Formats without "%g", whose decimal point depends on the locale. */
/* Decimal digits, at least `least` of them, without a NUL; returns their end. */
static char *put_digits(char *at, uint64_t n, int least)
{
    char digits[20];
    int count = 0;
    for (; n || count < least; n /= 10)
        digits[count++] = (char)('0' + n % 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

const char *number_real(char room[NUMBER_ROOM], double x)
{
    if (!(x > -1e12 && x < 1e12))
        return "?";
    bool is_small = x > -1e-3 && x < 1e-3; /* Six decimals would show fewer than four digits. */
    int decimals = is_small ? 12 : 6;
    int64_t scale = is_small ? 1000000000000 : 1000000;
    int64_t scaled_up = (int64_t)(x * (double)scale + (x < 0 ? -0.5 : 0.5)), fraction = llabs(scaled_up % scale);
    char *end = room;
    if (scaled_up < 0)
        *end++ = '-';
    end = put_digits(end, (uint64_t)llabs(scaled_up / scale), 1);
    if (fraction) {
        *end++ = '.';
        end = put_digits(end, (uint64_t)fraction, decimals);
        while (end[-1] == '0')
            end--;
    }
    *end = '\0';
    return room;
}

const char *number_digits(char room[NUMBER_ROOM], double x)
{
    if (!(x >= 0 && x < 1e12))
        return "?";
    if (x == 0)
        return "0";
    int decimals = x >= 1000 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : x >= 1 ? 3 : x >= 0.1 ? 4 : 5;
    snprintf(room, NUMBER_ROOM, "%.*f", decimals, x);
    return room;
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

uint32_t utf8_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    int more = p[0] < 0x80 ? 0 : p[0] >= 0xC2 && p[0] < 0xE0 ? 1 : p[0] >= 0xE0 && p[0] < 0xF0 ? 2 : 3;
    if (more == 3 && (p[0] < 0xF0 || p[0] > 0xF4)) { /* a stray continuation byte, or a byte that UTF-8 never uses */
        *s += 1;
        return REPLACEMENT;
    }
    uint32_t c = more == 0 ? p[0] : p[0] & (0x3FU >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xC0) != 0x80) { /* also stops at the NUL at the end */
            *s += 1;
            return REPLACEMENT;
        }
        c = c << 6 | (p[i] & 0x3FU);
    }
    bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
    if (overlong || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        *s += 1;
        return REPLACEMENT;
    }
    *s += 1 + more;
    return c;
}

void text_character(text *t, uint32_t c)
{
    char bytes[4] = {(char)c};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3F));
    if (n > 1)
        bytes[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | c);
    text_add(t, bytes, n);
}

/* Width of a character on a terminal: 0 for combining marks, 2 for wide East Asian ones. */
static int character_width(uint32_t c)
{
    /* Ranges that occur in names of networks. This is not all of Unicode; a wrong width only shifts a column. */
    if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0x20D0 && c <= 0x20FF) ||
        (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF)
        return 0;
    if ((c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF && c != 0x303F) || (c >= 0xAC00 && c <= 0xD7A3) ||
        (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
        (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) || (c >= 0x1F900 && c <= 0x1F9FF) ||
        (c >= 0x20000 && c <= 0x3FFFD))
        return 2;
    return 1;
}

/* Reads the next character as it may be printed: replaces control characters and bidirectional marks. */
static uint32_t shown_next(const char **s)
{
    uint32_t c = utf8_next(s);
    bool steers = c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    return steers ? REPLACEMENT : c;
}

/* Returns the first byte of s that is not printable ASCII; most names have none. */
static const char *plain_end(const char *s)
{
    while (*s >= 0x20 && *s < 0x7F)
        s++;
    return s;
}

size_t name_width(const char *s)
{
    const char *plain = plain_end(s);
    size_t width = (size_t)(plain - s);
    s = plain;
    while (*s)
        width += (size_t)character_width(shown_next(&s));
    return width;
}

/* Writes the characters from s up to `end` that fit into `width`. */
static void add_shown(text *t, const char *s, const char *end, size_t width)
{
    for (size_t used = 0; s < end;) {
        uint32_t c = shown_next(&s);
        used += (size_t)character_width(c);
        if (used > width)
            return;
        text_character(t, c);
    }
}

void text_name(text *t, const char *s, size_t width, bool ascii)
{
    const char *end = plain_end(s);
    if (*end == '\0' && (size_t)(end - s) <= width) {
        text_add(t, s, (size_t)(end - s));
        return;
    }
    end += strlen(end);
    size_t whole = name_width(s);
    if (whole <= width) {
        add_shown(t, s, end, SIZE_MAX);
        return;
    }
    const char *dots = ascii ? ".." : "…";
    size_t dots_width = ascii ? 2 : 1;
    if (width <= dots_width) {
        add_shown(t, s, end, width);
        return;
    }
    /* Keeps more of the end than of the beginning, because scopes begin alike. */
    size_t head = (width - dots_width) / 6, tail = width - dots_width - head;
    add_shown(t, s, end, head);
    text_puts(t, dots);
    const char *from = s;
    for (size_t left = whole; left > tail;)
        left -= (size_t)character_width(shown_next(&from));
    add_shown(t, from, end, tail);
}

void text_cell(text *t, const char *s, size_t width, cell_align align, bool ascii)
{
    size_t whole = name_width(s);
    size_t padding = whole < width ? width - whole : 0;
    if (align == CELL_RIGHT)
        text_repeat(t, " ", padding);
    text_name(t, s, width, ascii);
    if (align == CELL_LEFT)
        text_repeat(t, " ", padding);
}

size_t text_bar(text *t, double share, bool ascii)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t filled = (size_t)((share < 0 ? 0 : share > 1 ? 1 : share) * TEXT_BAR * 8 + 0.5);
    if (ascii)
        filled = (filled + 4) / 8 * 8;
    text_repeat(t, ascii ? "#" : "█", filled / 8);
    text_puts(t, eighths[filled % 8]);
    return (filled + 7) / 8;
}

void text_number(text *t, int64_t n)
{
    char room[NUMBER_ROOM];
    text_puts(t, number_whole(room, n));
}

/* ---- in other languages ----------------------------------------------------------------------------------------- */

void text_csv(text *out, const char *s)
{
    const char *quote = s[strcspn(s, ",\"\r\n")] ? "\"" : "";
    text_puts(out, quote);
    const char *plain = *quote ? s : plain_end(s);
    text_add(out, s, (size_t)(plain - s));
    s = plain;
    while (*s) {
        uint32_t c = utf8_next(&s);
        text_character(out, c);
        if (c == '"')
            text_puts(out, "\"");
    }
    text_puts(out, quote);
}

void text_csv_text(text *t, const char *s)
{
    text_puts(t, ",");
    text_csv(t, s ? s : "");
}

void text_csv_number(text *t, int64_t n)
{
    if (n < 0)
        text_puts(t, ",");
    else {
        text_add(t, ",", 1);
        text_number(t, n);
    }
}

void text_csv_real(text *t, double x)
{
    char room[NUMBER_ROOM];
    text_printf(t, ",%s", fabs(x) < 1e12 ? number_real(room, x) : "");
}

void text_xml(text *t, const char *s)
{
    while (*s) {
        uint32_t c = utf8_next(&s);
        if (c == '&')
            text_puts(t, "&amp;");
        else if (c == '<')
            text_puts(t, "&lt;");
        else if (c == '>')
            text_puts(t, "&gt;");
        else if (c == '"')
            text_puts(t, "&quot;");
        else
            text_character(t, c == 0xFFFE || c == 0xFFFF || (c < 0x20 && c != '\t' && c != '\n') ? REPLACEMENT : c);
    }
}
