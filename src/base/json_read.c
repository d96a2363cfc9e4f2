#include "base/json_read.h"
#include "base/decimal.h"

#include <math.h>

typedef struct reader {
    const char *begin, *at, *end;
    const char *subject;
    arena *arena;
    fail *fail;
} reader;

static _Noreturn void wrong(const reader *r, const char *at, const char *what)
{
    fail_with(r->fail, SOOTH_ERROR_INPUT, "%s is not valid JSON: %s, at byte %zu of it; write the file again",
              r->subject, what, (size_t)(at - r->begin));
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

static bool take_word(reader *r, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Reads a string after its opening quote; returns the slice between the quotes. */
static str take_text(reader *r, bool *has_escapes)
{
    const char *start = r->at;
    *has_escapes = false;
    for (const char *p = start; p < r->end; p++) {
        if (*p == '\\') {
            *has_escapes = true;
            p++;
        } else if (*p == '"') {
            r->at = p + 1;
            return (str){start, (size_t)(p - start)};
        }
    }
    wrong(r, start, "a string does not end");
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads four hexadecimal digits after "\u"; -1 if they are not four. */
static int32_t hex_unit(const char *p, const char *end)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = p + i < end ? hex_digit(p[i]) : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_utf8(char *out, int32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 63));
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

/* Resolves escapes. Leaves invalid ones unchanged, because strings are only names and comments. */
static str decode(str s, arena *a)
{
    char *room = arena_room(a, s.len + 1, 1), *out = room; /* a decoded escape is never longer than the escape */
    const char *p = s.ptr, *end = s.ptr + s.len;
    while (p < end) {
        if (*p != '\\' || p + 1 == end) {
            *out++ = *p++;
            continue;
        }
        static const char LETTERS[] = "bfnrt\"\\/", MEANINGS[] = "\b\f\n\r\t\"\\/";
        const char *letter = p[1] ? strchr(LETTERS, p[1]) : NULL;
        int32_t unit = p[1] == 'u' ? hex_unit(p + 2, end) : -1;
        if (letter) {
            *out++ = MEANINGS[letter - LETTERS];
            p += 2;
        } else if (unit >= 0) {
            p += 6;
            int32_t low = unit >= 0xd800 && unit < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u'
                              ? hex_unit(p + 2, end)
                              : -1;
            if (low >= 0xdc00 && low < 0xe000) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                p += 6;
            }
            out = put_utf8(out, unit);
        } else {
            *out++ = *p++;
        }
    }
    *out = '\0';
    return (str){room, (size_t)(out - room)};
}

str json_decoded(const json_node *n, arena *a)
{
    str s = json_text(n);
    return s.len && n->has_escapes ? decode(s, a) : s;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void take_number(reader *r, json_node *n)
{
    decimal number;
    size_t used = decimal_read((str){r->at, (size_t)(r->end - r->at)}, &number);
    if (!used)
        wrong(r, r->at, "a value or number is expected");
    r->at += used;
    n->kind = number.is_whole ? JSON_INT : JSON_REAL;
    if (number.is_whole)
        n->integer = number.whole;
    else
        n->real = number.real;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void take_scalar(reader *r, json_node *n)
{
    if (take_word(r, "\"")) {
        n->kind = JSON_TEXT;
        n->text = take_text(r, &n->has_escapes);
    } else if (take_word(r, "null")) {
        n->kind = JSON_NULL;
    } else if (take_word(r, "true")) {
        n->kind = JSON_BOOL;
        n->integer = 1;
    } else if (take_word(r, "false")) {
        n->kind = JSON_BOOL;
    } else if (take_word(r, "NaN")) {
        n->kind = JSON_REAL;
        n->real = NAN;
    } else if (take_word(r, "Infinity")) {
        n->kind = JSON_REAL;
        n->real = INFINITY;
    } else if (take_word(r, "-Infinity")) {
        n->kind = JSON_REAL;
        n->real = -INFINITY;
    } else {
        take_number(r, n);
    }
}

/* Open lists, outermost first; the next element is linked to `last`. */
typedef struct open_list {
    json_node *node;
    json_node **last;
} open_list;

/* Closes every list whose closing bracket is next, and skips the comma after a value. */
static int close_lists(reader *r, open_list *open, int depth)
{
    while (depth) {
        skip_space(r);
        const json_node *list = open[depth - 1].node;
        if (take_word(r, list->kind == JSON_OBJECT ? "}" : "]")) {
            depth--;
            continue;
        }
        if (list->count && !take_word(r, ","))
            wrong(r, r->at, list->kind == JSON_OBJECT ? "a comma or } is missing" : "a comma or ] is missing");
        return depth;
    }
    return 0;
}

const json_node *json_read(str bytes, const char *subject, arena *a, fail *f)
{
    if (!bytes.ptr) /* a request may have no body */
        bytes.ptr = "";
    reader r = {bytes.ptr, bytes.ptr, bytes.ptr + bytes.len, subject, a, f};
    open_list open[JSON_READ_MAX_DEPTH] = {{0}};
    int depth = 0;
    json_node *root = NULL;
    take_word(&r, "\xef\xbb\xbf");
    do {
        json_node *n = ARENA_NEW(a, json_node);
        skip_space(&r);
        if (!root) {
            root = n;
        } else {
            open_list *parent = &open[depth - 1];
            *parent->last = n;
            parent->last = &n->next;
            if (parent->node->count++ == INT32_MAX - 1)
                wrong(&r, r.at, "a list has too many elements");
            if (parent->node->kind == JSON_OBJECT) {
                bool has_escapes;
                if (!take_word(&r, "\""))
                    wrong(&r, r.at, "a name in quotes is expected");
                n->key = take_text(&r, &has_escapes);
                if (has_escapes)
                    n->key = decode(n->key, a);
                skip_space(&r);
                if (!take_word(&r, ":"))
                    wrong(&r, r.at, "a colon is missing after a name");
                skip_space(&r);
            }
        }
        bool is_object = take_word(&r, "{");
        if (is_object || take_word(&r, "[")) {
            n->kind = is_object ? JSON_OBJECT : JSON_ARRAY;
            if (depth < JSON_READ_MAX_DEPTH)
                open[depth++] = (open_list){n, &n->first};
            else
                wrong(&r, r.at, "it is nested more than 256 levels deep");
        } else {
            take_scalar(&r, n);
        }
        depth = close_lists(&r, open, depth);
    } while (depth);
    skip_space(&r);
    if (r.at < r.end)
        wrong(&r, r.at, "there is text after its end");
    return root;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

const json_node *json_get(const json_node *n, const char *key)
{
    if (!json_is(n, JSON_OBJECT))
        return NULL;
    str wanted = str_of(key);
    const json_node *x = n->first;
    while (x && !str_eq(x->key, wanted))
        x = x->next;
    return x;
}

const json_node *json_at(const json_node *n, int32_t index)
{
    const json_node *x = json_first(n);
    while (x && index-- > 0)
        x = x->next;
    return x;
}

int64_t json_int(const json_node *n, int64_t otherwise)
{
    if (json_is(n, JSON_INT) || json_is(n, JSON_BOOL))
        return n->integer;
    if (json_is(n, JSON_REAL) && fabs(n->real) < 9e15 && n->real == floor(n->real))
        return (int64_t)n->real;
    return otherwise;
}

double json_double(const json_node *n, double otherwise)
{
    if (json_is(n, JSON_INT) || json_is(n, JSON_BOOL))
        return (double)n->integer;
    return json_is(n, JSON_REAL) ? n->real : otherwise;
}
