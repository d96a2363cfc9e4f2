#include "report/json.h"

#include <assert.h>
#include <math.h>

/* Writes the separator before an item. */
static void begin_item(json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0)
        return;
    int d = j->depth - 1;
    if (j->has_items[d])
        text_puts(j->out, ",");
    if (!j->is_flat[d]) {
        text_puts(j->out, "\n");
        text_repeat(j->out, "  ", (size_t)j->depth);
    } else if (j->has_items[d]) {
        text_puts(j->out, " ");
    }
    j->has_items[d] = true;
}

void json_open(json *j, char bracket, bool flat)
{
    assert(j->depth < JSON_MAX_DEPTH);
    begin_item(j);
    text_add(j->out, &bracket, 1);
    j->is_flat[j->depth] = flat || (j->depth && j->is_flat[j->depth - 1]);
    j->has_items[j->depth] = false;
    j->depth++;
}

void json_close(json *j, char bracket)
{
    assert(j->depth > 0 && !j->after_key);
    j->depth--;
    if (j->has_items[j->depth] && !j->is_flat[j->depth]) {
        text_puts(j->out, "\n");
        text_repeat(j->out, "  ", (size_t)j->depth);
    }
    text_add(j->out, &bracket, 1);
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static void quoted(json *j, const char *s)
{
    text_puts(j->out, "\"");
    while (*s) {
        const char *plain = s;
        while (is_plain(*s))
            s++;
        text_add(j->out, plain, (size_t)(s - plain));
        if (!*s)
            break;
        uint32_t c = utf8_next(&s);
        if (c == '"' || c == '\\')
            text_printf(j->out, "\\%c", (char)c);
        else if (c == '\n')
            text_puts(j->out, "\\n");
        else if (c == '\t')
            text_puts(j->out, "\\t");
        else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029)
            /* escapes more than JSON requires, which is safe on terminals and in scripts */
            text_printf(j->out, "\\u%04x", (unsigned)c);
        else
            text_character(j->out, c);
    }
    text_puts(j->out, "\"");
}

void json_key(json *j, const char *key)
{
    begin_item(j);
    quoted(j, key);
    text_puts(j->out, ": ");
    j->after_key = true;
}

void json_string(json *j, const char *s)
{
    begin_item(j);
    quoted(j, s);
}

void json_null(json *j)
{
    begin_item(j);
    text_puts(j->out, "null");
}

void json_number(json *j, int64_t n)
{
    if (n < 0) {
        json_null(j);
        return;
    }
    begin_item(j);
    text_number(j->out, n);
}

void json_real(json *j, double x)
{
    char room[NUMBER_ROOM];
    begin_item(j);
    text_puts(j->out, fabs(x) < 1e12 ? number_real(room, x) : "null");
}

void json_bool(json *j, bool b)
{
    begin_item(j);
    text_puts(j->out, b ? "true" : "false");
}

void json_pair_string(json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_string(j, s);
}

void json_pair_number(json *j, const char *key, int64_t n)
{
    json_key(j, key);
    json_number(j, n);
}

void json_pair_text(json *j, const char *key, const char *s)
{
    json_key(j, key);
    if (s && *s)
        json_string(j, s);
    else
        json_null(j);
}

void json_pair_real(json *j, const char *key, double x)
{
    json_key(j, key);
    json_real(j, x);
}

void json_pair_bool(json *j, const char *key, bool b)
{
    json_key(j, key);
    json_bool(j, b);
}

void json_identity(json *j, int schema, const char *weights)
{
    json_key(j, "sooth");
    json_open(j, '{', true);
    json_pair_string(j, "version", sooth_version());
    json_pair_number(j, "schema", schema);
    json_pair_text(j, "weights", weights);
    json_close(j, '}');
}

void json_pair_interval(json *j, const char *key, sooth_interval x)
{
    json_key(j, key);
    json_open(j, '{', true);
    json_pair_real(j, "value", x.value);
    json_pair_real(j, "low", x.low);
    json_pair_real(j, "high", x.high);
    json_close(j, '}');
}
