/* tf_text.c: TensorFlow's graphs in protobuf's text format (.pbtxt), rewritten in the wire format, which the reader knows.
 *
 *   message   field*         field   name ":" value | name [":"] "{" message "}" | name ":" "[" value, … "]"
 *   value     number | name of an enumerator | true | false | "text" 'text' …
 *
 * A table holds the fields that are read; all others are skipped, nested ones too. */
#include "front/tf.h"
#include "front/tf_schema.h"
#include "front/wire_write.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64 };

typedef struct text_reader {
    const char *at, *end, *begin;
    wire_writer w;
    fail *fail;
    arena *arena;
} text_reader;

static _Noreturn void text_fail(const text_reader *t, const char *what)
{
    fail_with(t->fail, SOOTH_ERROR_INPUT, "%s, at byte %zu; the file is damaged or no TensorFlow graph", what,
              (size_t)(t->at - t->begin));
}

static void skip_space(text_reader *t)
{
    while (t->at < t->end) {
        if (*t->at == '#')
            while (t->at < t->end && *t->at != '\n')
                t->at++;
        else if (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r' || *t->at == ',' || *t->at == ';')
            t->at++;
        else
            return;
    }
}

static bool take(text_reader *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '+' || c == '/';
}

static str take_word(text_reader *t)
{
    skip_space(t);
    const char *start = t->at;
    if (t->at < t->end && *t->at == '[') { /* an extension's name, or a type of Any */
        while (t->at < t->end && *t->at != ']')
            t->at++;
        t->at += t->at < t->end;
    }
    while (t->at < t->end && is_word(*t->at))
        t->at++;
    if (t->at == start)
        text_fail(t, "a name or number is missing");
    return (str){start, (size_t)(t->at - start)};
}

/* Texts that follow one another are one. Escapes: \n \t \r \" \' \\, octal and hexadecimal. */
static str take_text(text_reader *t)
{
    const char *start = t->at;
    char *to = NULL;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) { /* measure, then write */
        t->at = start;
        count = 0;
        for (skip_space(t); t->at < t->end && (*t->at == '"' || *t->at == '\''); skip_space(t)) {
            char quote = *t->at++;
            for (; t->at < t->end && *t->at != quote; count++) {
                int c = (unsigned char)*t->at++;
                if (c == '\\' && t->at < t->end) {
                    char kind = *t->at++;
                    int digits = 0;
                    c = kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : (unsigned char)kind;
                    if (kind >= '0' && kind <= '7') {
                        for (c = kind - '0'; digits < 2 && t->at < t->end && *t->at >= '0' && *t->at <= '7'; digits++)
                            c = c * 8 + (*t->at++ - '0');
                    } else if (kind == 'x') {
                        char number[3] = {0};
                        for (; digits < 2 && t->at < t->end && strchr("0123456789abcdefABCDEF", *t->at) && *t->at;
                             digits++)
                            number[digits] = *t->at++;
                        c = (int)strtol(number, NULL, 16);
                    }
                }
                if (to)
                    to[count] = (char)c;
            }
            if (t->at == t->end)
                text_fail(t, "a text does not end");
            t->at++;
        }
        if (!to)
            to = arena_room(t->arena, count + 1, 1);
    }
    return (str){to, count};
}

static void skip_value(text_reader *t);

static void skip_block(text_reader *t)
{
    int depth = 0;
    do {
        skip_space(t);
        if (t->at == t->end)
            text_fail(t, "a block does not end");
        if (*t->at == '"' || *t->at == '\'') {
            take_text(t);
            continue;
        }
        depth += *t->at == '{' || *t->at == '<' || *t->at == '[';
        depth -= *t->at == '}' || *t->at == '>' || *t->at == ']';
        t->at++;
    } while (depth > 0);
}

static void skip_value(text_reader *t)
{
    skip_space(t);
    if (t->at < t->end && (*t->at == '{' || *t->at == '<' || *t->at == '['))
        skip_block(t);
    else if (t->at < t->end && (*t->at == '"' || *t->at == '\''))
        take_text(t);
    else
        take_word(t);
}

static double real_of(str word)
{
    char text[64];
    size_t n = word.len < sizeof text - 1 ? word.len : sizeof text - 1;
    memcpy(text, word.ptr, n);
    text[n] = '\0';
    return strtod(text, NULL);
}

static int64_t int_of(str word)
{
    char text[64];
    size_t n = word.len < sizeof text - 1 ? word.len : sizeof text - 1;
    memcpy(text, word.ptr, n);
    text[n] = '\0';
    if (str_is(word, "true"))
        return 1;
    return str_is(word, "false") ? 0 : text[0] == '-' ? strtoll(text, NULL, 0) : (int64_t)strtoull(text, NULL, 0);
}

static void put_scalar(text_reader *t, const tf_field *f)
{
    skip_space(t);
    bool is_text = t->at < t->end && (*t->at == '"' || *t->at == '\'');
    if (is_text) {
        str s = take_text(t);
        if (f->kind == TF_TEXT)
            wire_put_str(&t->w, f->number, s);
        return;
    }
    str word = take_word(t);
    if (f->kind == TF_INT)
        wire_put_int(&t->w, f->number, int_of(word));
    else if (f->kind == TF_FLOAT)
        wire_put_float(&t->w, f->number, (float)real_of(word));
    else if (f->kind == TF_DOUBLE)
        wire_put_double(&t->w, f->number, real_of(word));
    else if (f->kind == TF_TYPE)
        wire_put_int(&t->w, f->number, word.ptr[0] >= '0' && word.ptr[0] <= '9' ? int_of(word) : tf_type_number(word));
}

static void read_message(text_reader *t, tf_message message, char closing, int depth)
{
    if (depth > MAX_DEPTH)
        text_fail(t, "messages are nested more than 64 deep");
    for (;;) {
        skip_space(t);
        if (t->at == t->end && closing == '\0')
            return;
        if (t->at == t->end)
            text_fail(t, "a message does not end");
        if (closing && *t->at == closing) {
            t->at++;
            return;
        }
        const tf_field *f = tf_field_named(message, take_word(t));
        bool has_colon = take(t, ':');
        skip_space(t);
        int next = t->at < t->end ? *t->at : 0;
        bool is_block = next == '{' || next == '<';
        if (!has_colon && !is_block)
            text_fail(t, "a field has neither ':' nor '{'");
        if (!f || is_block != (f->kind == TF_MESSAGE)) {
            skip_value(t);
        } else if (is_block) {
            t->at++;
            size_t inner = wire_begin(&t->w, f->number);
            read_message(t, f->message, next == '{' ? '}' : '>', depth + 1);
            wire_end(&t->w, inner);
        } else if (next == '[') {
            for (t->at++; !take(t, ']');) {
                if (t->at == t->end)
                    text_fail(t, "a list does not end");
                put_scalar(t, f);
            }
        } else {
            put_scalar(t, f);
        }
    }
}

str tf_text_to_wire(builder *b, str text, bool *is_saved_model)
{
    text_reader t = {.at = text.ptr,
                     .begin = text.ptr,
                     .end = text.ptr + text.len,
                     .fail = &b->model->fail,
                     .arena = b->arena,
                     .w = {.fail = &b->model->fail, .arena = b->arena}};
    skip_space(&t);
    str rest = {t.at, (size_t)(t.end - t.at)};
    *is_saved_model = str_starts(rest, "saved_model") || str_starts(rest, "meta_graphs");
    read_message(&t, *is_saved_model ? TF_SAVED_MODEL : TF_GRAPH, '\0', 0);
    return (str){(const char *)t.w.bytes, t.w.size};
}
