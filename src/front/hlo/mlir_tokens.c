/* mlir_tokens.c: reads tokens, types and attributes of MLIR text (mlir_text.h). */
#include "base/decimal.h"
#include "front/hlo/mlir_text.h"

_Noreturn void text_bad(parser *p, const char *what)
{
    int line = 1;
    for (const char *c = p->start; c < p->at; c++)
        line += *c == '\n';
    fail_with(&p->m->b->model->fail, SOOTH_ERROR_INPUT, "%s, in line %d; write the program again", what, line);
}

/* ---- letters ----------------------------------------------------------------------------------------------------- */

void text_skip(parser *p)
{
    while (p->at < p->end) {
        if (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r') {
            p->at++;
        } else if (*p->at == '/' && p->end - p->at > 1 && p->at[1] == '/') {
            const char *line_end = memchr(p->at, '\n', (size_t)(p->end - p->at));
            p->at = line_end ? line_end : p->end;
        } else {
            return;
        }
    }
}

char text_peek(parser *p)
{
    text_skip(p);
    if (p->at < p->end)
        return *p->at;
    return '\0';
}

bool text_accept(parser *p, const char *text)
{
    text_skip(p);
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

void text_expect(parser *p, const char *text)
{
    if (!text_accept(p, text))
        text_bad(p, str_is(STR("{"), text) ? "a region is missing" : "the text is cut off, or is not MLIR");
}

bool text_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A name: letters, digits, and the signs that names contain. */
str text_word(parser *p)
{
    text_skip(p);
    const char *from = p->at;
    while (p->at < p->end && (text_is_letter(*p->at) || text_is_digit(*p->at) || *p->at == '.' || *p->at == '$' ||
                              (*p->at == '-' && p->end - p->at > 1 && p->at[1] != '>')))
        p->at++;
    return (str){from, (size_t)(p->at - from)};
}

bool text_at_word(parser *p, const char *text)
{
    const char *from = p->at;
    bool same = str_is(text_word(p), text);
    p->at = from;
    return same;
}

bool text_accept_word(parser *p, const char *text)
{
    const char *from = p->at;
    if (str_is(text_word(p), text))
        return true;
    p->at = from;
    return false;
}

/* The text between the quotes. */
str text_quoted(parser *p)
{
    text_expect(p, "\"");
    const char *from = p->at;
    while (p->at < p->end && *p->at != '"')
        p->at += *p->at == '\\' && p->end - p->at > 1 ? 2 : 1;
    if (p->at >= p->end)
        text_bad(p, "a string does not end");
    return (str){from, (size_t)(p->at++ - from)};
}

str text_symbol(parser *p)
{
    return text_peek(p) == '"' ? text_quoted(p) : text_word(p);
}

/* Skips brackets with their content, from the opening bracket on. */
void text_skip_brackets(parser *p)
{
    int64_t open = 0;
    do {
        char c = text_peek(p);
        if (c == '\0')
            text_bad(p, "a bracket is not closed");
        if (c == '"') {
            text_quoted(p);
            continue;
        }
        bool is_arrow = c == '-' && p->end - p->at > 1 && p->at[1] == '>';
        open += c == '(' || c == '[' || c == '{' || c == '<';
        open -= c == ')' || c == ']' || c == '}' || c == '>';
        p->at += is_arrow ? 2 : 1;
    } while (open > 0);
}
/* ---- types ------------------------------------------------------------------------------------------------------- */

/* An element type: f32, complex<f64>, !quant.uniform<i8:f32, …>. */
static dtype element_type(parser *p)
{
    if (text_accept(p, "!quant.uniform<")) {
        dtype t = hlo_dtype(text_word(p));
        int open = 1;
        while (p->at < p->end && open > 0) {
            open += *p->at == '<';
            open -= *p->at == '>';
            p->at++;
        }
        return t;
    }
    if (text_accept(p, "complex<")) {
        dtype t = hlo_dtype(text_word(p)) == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
        text_expect(p, ">");
        return t;
    }
    if (text_peek(p) == '!') {
        p->at++;
        text_word(p);
        if (text_peek(p) == '<')
            text_skip_brackets(p);
        return DT_UNKNOWN;
    }
    return hlo_dtype(text_word(p));
}

static hlo_type tensor_type(parser *p)
{
    hlo_type t = {.rank = 0};
    num dims[MAX_RANK];
    if (text_accept(p, "*x"))
        t.rank = RANK_UNKNOWN;
    for (char c; (c = text_peek(p)) == '?' || text_is_digit(c);) {
        num dim = 0;
        if (c == '?') {
            dim = NUM_UNKNOWN;
            p->at++;
        }
        while (c != '?' && p->at < p->end && text_is_digit(*p->at)) {
            if (dim > INT64_MAX / 100)
                text_bad(p, "a dimension is larger than any tensor");
            dim = 10 * dim + (*p->at++ - '0');
        }
        text_expect(p, "x");
        if (t.rank < 0 || t.rank >= MAX_RANK)
            text_bad(p, "a tensor has more than 64 dimensions");
        dims[t.rank++] = dim;
    }
    if (text_peek(p) == '-')
        text_bad(p, "a tensor has a negative dimension");
    t.dtype = element_type(p);
    if (t.rank > 0)
        t.dims = arena_copy(p->arena, dims, (size_t)t.rank, sizeof *dims);
    if (text_peek(p) == ',') { /* skips an encoding */
        while (text_peek(p) != '>') {
            if (p->at >= p->end)
                text_bad(p, "a type is not closed");
            if (*p->at == '<' || *p->at == '[' || *p->at == '"') {
                if (*p->at == '"')
                    text_quoted(p);
                else
                    text_skip_brackets(p);
            } else {
                p->at++;
            }
        }
    }
    text_expect(p, ">");
    return t;
}

void text_types(parser *p, type_list *to, char close)
{
    while (text_peek(p) != close) {
        hlo_type t = text_type(p);
        *(hlo_type *)ARENA_PUSH(p->arena, to) = t;
        if (text_peek(p) == '{') /* skips the attributes of an argument or result */
            text_skip_brackets(p);
        if (!text_accept(p, ","))
            break;
    }
}

hlo_type text_type(parser *p)
{
    if (text_accept(p, "tensor<"))
        return tensor_type(p);
    if (text_accept(p, "tuple<")) {
        type_list elements = {0};
        if (++p->depth > MAX_NESTING)
            text_bad(p, "types are nested too deeply");
        text_types(p, &elements, '>');
        p->depth--;
        text_expect(p, ">");
        return (hlo_type){.rank = RANK_UNKNOWN, .elements = elements.items, .element_count = elements.count};
    }
    char c = text_peek(p);
    if (c == '(') { /* skips a function type */
        text_skip_brackets(p);
        text_expect(p, "->");
        if (text_peek(p) == '(') {
            text_skip_brackets(p);
            return NO_TENSOR;
        }
        if (++p->depth > MAX_NESTING)
            text_bad(p, "types are nested too deeply");
        text_type(p);
        p->depth--;
        return NO_TENSOR;
    }
    if (c == '!') {
        element_type(p);
        return NO_TENSOR;
    }
    const char *from = p->at;
    hlo_type t = {.dtype = element_type(p)};
    if (p->at == from)
        text_bad(p, "a type is missing");
    if (text_peek(p) == '<')
        text_skip_brackets(p);
    return t.dtype == DT_UNKNOWN ? NO_TENSOR : t;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

void text_add_attr(parser *p, draft *d, str name, const int_list *ints, str text)
{
    *(hlo_attr *)ARENA_PUSH(p->arena, &d->attrs) =
        (hlo_attr){name, ints ? ints->items : NULL, ints ? ints->count : 0, text};
}

void text_push_int(parser *p, int_list *list, int64_t x)
{
    if (list->count < MAX_INTS)
        *(int64_t *)ARENA_PUSH(p->arena, list) = x;
}

/* Reads all numbers and booleans inside the brackets that open here; skips words. */
void text_bracketed_ints(parser *p, int_list *to)
{
    int64_t open = 0;
    do {
        char c = text_peek(p);
        decimal number;
        if (c == '\0')
            text_bad(p, "a bracket is not closed");
        if (c == '"') {
            text_quoted(p);
        } else if (text_is_digit(c) || (c == '-' && p->end - p->at > 1 && text_is_digit(p->at[1]))) {
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            p->at += n ? n : 1;
            if (n && number.is_whole)
                text_push_int(p, to, number.whole);
        } else if (text_is_letter(c)) {
            str w = text_word(p);
            if (str_is(w, "true") || str_is(w, "false"))
                text_push_int(p, to, str_is(w, "true"));
        } else {
            open += c == '(' || c == '[' || c == '{' || c == '<';
            open -= c == ')' || c == ']' || c == '}' || c == '>';
            p->at++;
        }
    } while (open > 0);
}

/* {a = 1, b, "c.d" = …}; the position is after the opening bracket. */
void text_attr_members(parser *p, draft *d, char close)
{
    if (++p->depth > MAX_NESTING)
        text_bad(p, "attributes are nested too deeply");
    while (text_peek(p) != close) {
        if (p->at >= p->end || *p->at == '\0')
            text_bad(p, "attributes are not closed");
        const char *from = p->at;
        str name = text_symbol(p);
        if (p->at == from) {
            p->at++;
            continue;
        }
        if (text_accept(p, "="))
            text_attr(p, d, name, true);
        else
            text_add_attr(p, d, name, NULL, (str){0});
        text_accept(p, ",");
    }
    p->at++;
    p->depth--;
}

void text_conv_attrs(parser *p, draft *d, const char *from)
{
    hlo_attr nine[HLO_CONV_ATTRS];
    if (!hlo_conv_dimensions(p->arena, (str){from, (size_t)(p->at - from)}, nine))
        text_bad(p, "dimension numbers of a convolution do not match");
    for (int i = 0; i < HLO_CONV_ATTRS; i++)
        *(hlo_attr *)ARENA_PUSH(p->arena, &d->attrs) = nine[i];
}

/* #stablehlo.gather<offset_dims = [0], …>, #stablehlo<comparison_direction GT>, #stablehlo.conv<[b, 0, f]x…>, #alias */
static void dialect_attr(parser *p, draft *d, str name)
{
    p->at++;
    str kind = text_word(p);
    if (p->at >= p->end || *p->at != '<') {
        text_add_attr(p, d, name, NULL, kind);
        return;
    }
    if (!str_contains(kind, "hlo")) { /* skips other dialects, such as shardings, which contain arrows and letters */
        text_skip_brackets(p);
        text_add_attr(p, d, name, NULL, kind);
        return;
    }
    if (str_ends(kind, ".conv")) {
        const char *from = p->at + 1;
        text_skip_brackets(p);
        p->at--;
        text_conv_attrs(p, d, from);
        p->at++;
        return;
    }
    const char *from = ++p->at;
    str first = text_word(p), second = text_word(p);
    bool is_word = first.len && second.len && text_peek(p) == '>'; /* true for the value of an enumeration */
    bool is_alone = first.len && !second.len && text_peek(p) == '>';
    if (is_word || is_alone) {
        text_add_attr(p, d, name, NULL, is_word ? second : first);
        p->at++;
        return;
    }
    p->at = from;
    text_attr_members(p, d, '>');
}

/* dense<…> : type */
void text_dense(parser *p, draft *d, str name)
{
    int_list ints = {0};
    const char *from = p->at;
    text_skip_brackets(p);
    d->literal = (str){from + 1, (size_t)(p->at - from) - 2};
    if (d->literal.len <= (size_t)8 * MAX_INTS) {
        const char *behind = p->at;
        p->at = from;
        text_bracketed_ints(p, &ints);
        p->at = behind;
    }
    d->literal_type = NO_TENSOR;
    if (text_accept(p, ":"))
        d->literal_type = text_type(p);
    /* A single number applies to all elements. */
    int64_t count = d->literal_type.rank >= 0;
    for (int i = 0; i < d->literal_type.rank; i++)
        if (d->literal_type.dims[i] < 0 || __builtin_mul_overflow(count, d->literal_type.dims[i], &count) ||
            count > MAX_INTS)
            count = 1;
    if (ints.count == 1) {
        int64_t x = ints.items[0];
        while (ints.count < count)
            text_push_int(p, &ints, x);
    }
    d->has_literal = true;
    text_add_attr(p, d, name, &ints, (str){0});
}

void text_attr(parser *p, draft *d, str name, bool is_typed)
{
    char c = text_peek(p);
    int_list ints = {0};
    decimal number;
    if (c == '"') {
        text_add_attr(p, d, name, NULL, text_quoted(p));
    } else if (c == '[') {
        text_bracketed_ints(p, &ints);
        text_add_attr(p, d, name, &ints, (str){0});
    } else if (c == '{') {
        p->at++;
        text_attr_members(p, d, '}');
    } else if (c == '#') {
        dialect_attr(p, d, name);
    } else if (c == '@') {
        p->at++;
        text_add_attr(p, d, name, NULL, text_symbol(p));
    } else if (text_is_digit(c) || c == '-') {
        size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
        p->at += n ? n : 1;
        if (n && number.is_whole)
            text_push_int(p, &ints, number.whole);
        text_word(p); /* skips the rest of a hexadecimal number */
        text_add_attr(p, d, name, &ints, (str){0});
        if (is_typed && text_accept(p, ":"))
            text_type(p);
    } else if (text_accept(p, "dense<")) {
        p->at--;
        text_dense(p, d, name);
    } else if (text_accept(p, "array<")) {
        text_word(p); /* skips the element type */
        while (p->at < p->end && *p->at != ':' && *p->at != '>')
            p->at++;
        while (text_peek(p) != '>' && p->at < p->end) {
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            if (n && number.is_whole)
                text_push_int(p, &ints, number.whole);
            else if (text_is_letter(*p->at))
                text_push_int(p, &ints, str_is(text_word(p), "true"));
            p->at += n ? n : p->at < p->end && *p->at != '>';
        }
        text_expect(p, ">");
        text_add_attr(p, d, name, &ints, (str){0});
    } else if (text_is_letter(c) || c == '!') {
        p->at += c == '!';
        str w = text_word(p);
        if (str_is(w, "true") || str_is(w, "false")) {
            text_push_int(p, &ints, str_is(w, "true"));
            text_add_attr(p, d, name, &ints, (str){0});
        } else {
            text_add_attr(p, d, name, NULL, w);
        }
        if (p->at < p->end && (*p->at == '<' || *p->at == '('))
            text_skip_brackets(p);
        if (is_typed && text_accept(p, ":"))
            text_type(p);
    } else if (c == '(') {
        text_skip_brackets(p);
        if (text_accept(p, "->"))
            text_type(p);
    } else {
        text_bad(p, "an attribute has no value");
    }
}
