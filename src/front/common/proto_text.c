/* proto_text.c: reads protobuf's text format (proto_text.h). */
#include "front/common/proto_text.h"
#include "base/nesting.h"

#include <stdlib.h>

enum { MAX_FIELDS = 1 << 22 };

void proto_text_fail(const proto_text *t, const char *what)
{
    fail_with(t->fail, SOOTH_ERROR_INPUT, "%s, at byte %zu; the file is damaged or not a %s", what,
              (size_t)(t->at - t->begin), t->subject);
}

void proto_text_space(proto_text *t)
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

bool proto_text_take(proto_text *t, char c)
{
    proto_text_space(t);
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

str proto_text_word(proto_text *t)
{
    proto_text_space(t);
    const char *start = t->at;
    if (t->at < t->end && *t->at == '[') { /* name of an extension or of an Any type */
        while (t->at < t->end && *t->at != ']')
            t->at++;
        t->at += t->at < t->end;
    }
    while (t->at < t->end && is_word(*t->at))
        t->at++;
    if (t->at == start)
        proto_text_fail(t, "a name or number is missing");
    return (str){start, (size_t)(t->at - start)};
}

static int octal_escape(proto_text *t, char first)
{
    int c = first - '0';
    for (int digits = 0; digits < 2 && t->at < t->end && *t->at >= '0' && *t->at <= '7'; digits++)
        c = c * 8 + (*t->at++ - '0');
    return c;
}

static int hex_escape(proto_text *t)
{
    char number[3] = {0};
    for (int digits = 0; digits < 2 && t->at < t->end && strchr("0123456789abcdefABCDEF", *t->at) && *t->at; digits++)
        number[digits] = *t->at++;
    return (int)strtol(number, NULL, 16);
}

/* Reads a character of a string, or an escape. */
static int string_char(proto_text *t)
{
    int c = (unsigned char)*t->at++;
    if (c != '\\' || t->at == t->end)
        return c;
    char kind = *t->at++;
    if (kind >= '0' && kind <= '7')
        return octal_escape(t, kind);
    if (kind == 'x')
        return hex_escape(t);
    return kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : (unsigned char)kind;
}

/* Reads adjacent strings into `to` (NULL: none) and returns their length. */
static size_t read_strings(proto_text *t, char *to)
{
    size_t count = 0;
    for (proto_text_space(t); t->at < t->end && (*t->at == '"' || *t->at == '\''); proto_text_space(t)) {
        char quote = *t->at++;
        for (; t->at < t->end && *t->at != quote; count++) {
            int c = string_char(t);
            if (to)
                to[count] = (char)c;
        }
        if (t->at == t->end)
            proto_text_fail(t, "a string does not end");
        t->at++;
    }
    return count;
}

/* Reads a string; adjacent strings are one. Escapes: \t \r \" \' \\, octal and hexadecimal. */
str proto_text_string(proto_text *t)
{
    const char *start = t->at;
    size_t count = read_strings(t, NULL);
    char *to = arena_room(t->arena, count + 1, 1);
    t->at = start;
    return (str){to, read_strings(t, to)};
}

static void skip_block(proto_text *t)
{
    int depth = 0;
    do {
        proto_text_space(t);
        if (t->at == t->end)
            proto_text_fail(t, "a block does not end");
        if (*t->at == '"' || *t->at == '\'') {
            proto_text_string(t);
            continue;
        }
        depth += *t->at == '{' || *t->at == '<' || *t->at == '[';
        depth -= *t->at == '}' || *t->at == '>' || *t->at == ']';
        t->at++;
    } while (depth > 0);
}

void proto_text_skip(proto_text *t)
{
    proto_text_space(t);
    if (t->at < t->end && (*t->at == '{' || *t->at == '<' || *t->at == '['))
        skip_block(t);
    else if (t->at < t->end && (*t->at == '"' || *t->at == '\''))
        proto_text_string(t);
    else
        proto_text_word(t);
}

double proto_text_real(str word)
{
    char text[64];
    size_t n = word.len < sizeof text - 1 ? word.len : sizeof text - 1;
    memcpy(text, word.ptr, n);
    text[n] = '\0';
    return strtod(text, NULL);
}

int64_t proto_text_int(str word)
{
    char text[64];
    size_t n = word.len < sizeof text - 1 ? word.len : sizeof text - 1;
    memcpy(text, word.ptr, n);
    text[n] = '\0';
    if (str_is(word, "true"))
        return 1;
    return str_is(word, "false") ? 0 : text[0] == '-' ? strtoll(text, NULL, 0) : (int64_t)strtoull(text, NULL, 0);
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static proto_node *new_node(proto_text *t, str name, proto_node ***last)
{
    if (++t->fields > MAX_FIELDS)
        proto_text_fail(t, "there are more than four million fields");
    proto_node *n = ARENA_NEW(t->arena, proto_node);
    n->name = name;
    **last = n;
    *last = &n->next;
    return n;
}

static void read_scalar(proto_text *t, proto_node *n)
{
    proto_text_space(t);
    bool is_text = t->at < t->end && (*t->at == '"' || *t->at == '\'');
    n->text = is_text ? proto_text_string(t) : proto_text_word(t);
}

bool proto_text_ends(proto_text *t, char closing)
{
    proto_text_space(t);
    if (t->at == t->end && closing)
        proto_text_fail(t, "a message does not end");
    if (t->at < t->end && (!closing || *t->at != closing))
        return false;
    t->at += closing != '\0';
    return true;
}

static void read_tree(proto_text *t, proto_node *parent, char closing, int depth)
{
    proto_node **last = &parent->first;
    if (depth > MAX_NESTING)
        proto_text_fail(t, "messages are nested more than 64 levels deep");
    for (;;) {
        if (proto_text_ends(t, closing))
            return;
        str name = proto_text_word(t);
        bool has_colon = proto_text_take(t, ':');
        proto_text_space(t);
        int next = t->at < t->end ? *t->at : 0;
        if (next == '{' || next == '<') {
            t->at++;
            proto_node *n = new_node(t, name, &last);
            n->is_message = true;
            read_tree(t, n, next == '{' ? '}' : '>', depth + 1);
        } else if (!has_colon) {
            proto_text_fail(t, "a field has neither ':' nor '{'");
        } else if (next == '[') {
            for (t->at++; !proto_text_take(t, ']');) {
                if (t->at == t->end)
                    proto_text_fail(t, "a list does not end");
                read_scalar(t, new_node(t, name, &last));
            }
        } else {
            read_scalar(t, new_node(t, name, &last));
        }
    }
}

const proto_node *proto_text_tree(proto_text *t)
{
    proto_node *root = ARENA_NEW(t->arena, proto_node);
    root->is_message = true;
    read_tree(t, root, '\0', 0);
    return root;
}

static const proto_node *of_name(const proto_node *n, str name)
{
    while (n && !str_eq(n->name, name))
        n = n->next;
    return n;
}

const proto_node *proto_first(const proto_node *n, const char *name)
{
    return n ? of_name(n->first, str_of(name)) : NULL;
}

const proto_node *proto_next(const proto_node *n)
{
    return of_name(n->next, n->name);
}

static const proto_node *last_of(const proto_node *n, const char *name)
{
    const proto_node *found = NULL;
    for (const proto_node *x = proto_first(n, name); x; x = proto_next(x))
        found = x;
    return found;
}

str proto_string(const proto_node *n, const char *name)
{
    const proto_node *found = last_of(n, name);
    return found && !found->is_message ? found->text : (str){0};
}

int64_t proto_int(const proto_node *n, const char *name, int64_t otherwise)
{
    str text = proto_string(n, name);
    return text.len ? proto_text_int(text) : otherwise;
}

double proto_real(const proto_node *n, const char *name, double otherwise)
{
    str text = proto_string(n, name);
    return text.len ? proto_text_real(text) : otherwise;
}

int proto_ints(const proto_node *n, const char *name, int64_t *to, int room)
{
    int count = 0;
    for (const proto_node *x = proto_first(n, name); x && count < room; x = proto_next(x))
        to[count++] = x->is_message ? 0 : proto_text_int(x->text);
    return count;
}
