/* torch_parse.c: parses the subset of Python that TorchScript's serializer writes: classes with declared fields,
 * functions, assignments, if, for, while, calls. The only operator is a minus sign before numbers. */
#include "base/decimal.h"
#include "base/nesting.h"
#include "front/torch/torch_script.h"

#include <math.h>

/* Limit on indentation, equal to that on nesting, in which expressions and blocks both count. */
enum { MAX_INDENTS = MAX_NESTING };

typedef enum token_kind {
    TOKEN_END,
    TOKEN_LINE,
    TOKEN_IN,
    TOKEN_OUT,
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_TEXT,
    TOKEN_SIGN
} token_kind;

typedef struct parser {
    const char *begin, *at, *end;
    const char *subject;
    arena *arena;
    fail *fail;
    int brackets;                 /* number of open brackets; a line break inside them does not end the line */
    int indents[MAX_INDENTS + 2]; /* columns of the open blocks */
    int indent_count, pending_out;
    bool line_begins;
    int depth; /* nesting of expressions and blocks */
    /* the next token */
    token_kind kind;
    str text;
    decimal number;
} parser;

static _Noreturn void wrong(const parser *p, const char *what)
{
    size_t line = 1;
    for (const char *c = p->begin; c < p->at && c < p->end; c++)
        line += *c == '\n';
    fail_with(p->fail, SOOTH_ERROR_INPUT, "%s is not TorchScript code: %s, in line %zu; save the module again",
              p->subject, what, line);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the column of the next line, after empty lines and comments. */
static int take_indent(parser *p)
{
    for (;;) {
        int column = 0;
        while (p->at < p->end && *p->at == ' ') {
            p->at++;
            column++;
        }
        if (p->at < p->end && *p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        if (p->at == p->end)
            return 0;
        if (*p->at != '\n' && *p->at != '\r')
            return column;
        p->at++;
    }
}

static void begin_line(parser *p)
{
    int column = take_indent(p);
    p->line_begins = false;
    if (column > p->indents[p->indent_count - 1]) {
        if (p->indent_count > MAX_INDENTS)
            wrong(p, "blocks are nested too deeply");
        p->indents[p->indent_count++] = column;
        p->kind = TOKEN_IN;
        return;
    }
    while (p->indent_count > 1 && column < p->indents[p->indent_count - 1]) {
        p->indent_count--;
        p->pending_out++;
    }
    if (column != p->indents[p->indent_count - 1])
        wrong(p, "a line's indentation matches no block");
}

static void take_text(parser *p)
{
    char quote = *p->at++;
    const char *start = p->at;
    while (p->at < p->end && *p->at != quote) {
        if (*p->at == '\\')
            p->at++;
        p->at++;
    }
    if (p->at >= p->end)
        wrong(p, "a string does not end");
    p->text = (str){start, (size_t)(p->at - start)};
    p->at++;
    p->kind = TOKEN_TEXT;
}

static void take_token(parser *p);

static void take_sign(parser *p)
{
    char c = *p->at;
    if (c == '-' && p->end - p->at > 1 && p->at[1] == '>') {
        p->text = (str){p->at, 2};
        p->at += 2;
        p->kind = TOKEN_SIGN;
        return;
    }
    if (!strchr("()[]{},:.=-@", c) || c == '\0')
        wrong(p, "there is a character that TorchScript never writes");
    p->brackets += c == '(' || c == '[' || c == '{';
    p->brackets -= c == ')' || c == ']' || c == '}';
    p->text = (str){p->at++, 1};
    p->kind = TOKEN_SIGN;
}

static void take_token(parser *p)
{
    p->kind = TOKEN_END;
    if (p->line_begins && p->brackets <= 0) {
        begin_line(p);
        if (p->kind == TOKEN_IN)
            return;
    }
    if (p->pending_out) {
        p->pending_out--;
        p->kind = TOKEN_OUT;
        return;
    }
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\r' || (*p->at == '\n' && p->brackets > 0)))
        p->at++;
    if (p->at < p->end && *p->at == '#')
        while (p->at < p->end && *p->at != '\n')
            p->at++;
    if (p->at == p->end)
        return;
    char c = *p->at;
    if (c == '\n') {
        p->at++;
        p->line_begins = true;
        p->kind = TOKEN_LINE;
    } else if (is_letter(c)) {
        const char *start = p->at;
        while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
            p->at++;
        p->text = (str){start, (size_t)(p->at - start)};
        p->kind = TOKEN_WORD;
    } else if (is_digit(c)) {
        size_t used = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &p->number);
        if (!used)
            wrong(p, "a number is malformed");
        p->at += used;
        p->kind = TOKEN_NUMBER;
    } else if (c == '"' || c == '\'') {
        take_text(p);
    } else {
        take_sign(p);
    }
}

static bool is_sign(const parser *p, const char *sign)
{
    return p->kind == TOKEN_SIGN && str_is(p->text, sign);
}

static bool take(parser *p, const char *sign)
{
    if (!is_sign(p, sign))
        return false;
    take_token(p);
    return true;
}

static bool take_word(parser *p, const char *word)
{
    if (p->kind != TOKEN_WORD || !str_is(p->text, word))
        return false;
    take_token(p);
    return true;
}

static void expect(parser *p, const char *sign)
{
    if (!take(p, sign))
        wrong(p, sign[0] == ':'   ? "a colon is missing"
                 : sign[0] == ')' ? "a closing parenthesis is missing"
                                  : "a bracket or sign is missing");
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static code *new_code(parser *p, code_kind kind)
{
    code *c = ARENA_NEW(p->arena, code);
    c->kind = kind;
    return c;
}

typedef struct children {
    code *parent;
    code **last;
} children;

static children begin_children(code *parent)
{
    return (children){parent, &parent->first};
}

static void add(children *c, code *child)
{
    *c->last = child;
    c->last = &child->next;
    c->parent->count++;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static code *parse_expression(parser *p);

/* Comma-separated expressions up to the closing sign. */
static void parse_items(parser *p, children *c, const char *closing)
{
    while (!take(p, closing)) {
        add(c, parse_expression(p));
        if (!take(p, ",") && !is_sign(p, closing))
            wrong(p, "a comma is missing");
    }
}

static str take_name(parser *p)
{
    if (p->kind != TOKEN_WORD)
        wrong(p, "a name is missing");
    str name = p->text;
    take_token(p);
    return name;
}

static code *parse_group(parser *p)
{
    code *c = new_code(p, CODE_TUPLE);
    children items = begin_children(c);
    bool comma = false;
    while (!take(p, ")")) {
        add(&items, parse_expression(p));
        bool more = take(p, ",");
        comma = comma || more;
        if (!more && !is_sign(p, ")"))
            wrong(p, "a closing parenthesis is missing");
    }
    return c->count == 1 && !comma ? c->first : c;
}

static code *parse_dict(parser *p)
{
    code *c = new_code(p, CODE_DICT);
    children items = begin_children(c);
    while (!take(p, "}")) {
        add(&items, parse_expression(p));
        expect(p, ":");
        add(&items, parse_expression(p));
        if (!take(p, ",") && !is_sign(p, "}"))
            wrong(p, "a comma is missing");
    }
    return c;
}

/* Resolves the escapes that occur in names and messages. */
static str unescaped(parser *p, str s)
{
    if (!s.len || !memchr(s.ptr, '\\', s.len))
        return s;
    char *room = arena_room(p->arena, s.len + 1, 1);
    size_t used = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '\\' && i + 1 < s.len) {
            c = s.ptr[++i];
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
        }
        room[used++] = c;
    }
    room[used] = '\0';
    return (str){room, used};
}

static code *parse_word(parser *p)
{
    str word = take_name(p);
    code *c = new_code(p, CODE_NAME);
    c->text = word;
    if (str_is(word, "None")) {
        c->kind = CODE_NONE;
    } else if (str_is(word, "True") || str_is(word, "False")) {
        c->kind = CODE_BOOL;
        c->integer = str_is(word, "True");
    } else if (str_is(word, "inf") || str_is(word, "nan")) {
        c->kind = CODE_REAL;
        c->real = str_is(word, "inf") ? INFINITY : NAN;
    }
    return c;
}

static code *parse_atom(parser *p)
{
    code *c;
    switch (p->kind) {
    case TOKEN_WORD:
        return parse_word(p);
    case TOKEN_NUMBER:
        c = new_code(p, p->number.is_whole ? CODE_INT : CODE_REAL);
        if (p->number.is_whole)
            c->integer = p->number.whole;
        else
            c->real = p->number.real;
        take_token(p);
        return c;
    case TOKEN_TEXT:
        c = new_code(p, CODE_TEXT);
        c->text = unescaped(p, p->text);
        take_token(p);
        return c;
    default:
        break;
    }
    if (take(p, "("))
        return parse_group(p);
    if (take(p, "{"))
        return parse_dict(p);
    if (!take(p, "["))
        wrong(p, "a value is missing");
    c = new_code(p, CODE_LIST);
    children items = begin_children(c);
    parse_items(p, &items, "]");
    return c;
}

/* Continues after the opening parenthesis of a call. */
static code *parse_call(parser *p, code *called)
{
    code *c = new_code(p, CODE_CALL);
    children items = begin_children(c);
    add(&items, called);
    while (!take(p, ")")) {
        code *argument = parse_expression(p);
        if (argument->kind == CODE_NAME && take(p, "=")) {
            str key = argument->text;
            argument = parse_expression(p);
            argument->key = key;
        }
        add(&items, argument);
        if (!take(p, ",") && !is_sign(p, ")"))
            wrong(p, "a comma is missing in a call");
    }
    return c;
}

/* An index, or several separated by commas, as in types. */
static code *parse_index(parser *p, code *object)
{
    code *c = new_code(p, CODE_INDEX), *list = new_code(p, CODE_TUPLE);
    children items = begin_children(list), both = begin_children(c);
    parse_items(p, &items, "]");
    add(&both, object);
    add(&both, list->count == 1 ? list->first : list);
    return c;
}

static void go_deeper(parser *p)
{
    if (++p->depth > MAX_NESTING)
        wrong(p, "expressions and blocks are nested too deeply");
}

/* Parses a chain, x.a.b[0](y), in which each link is a level of the tree. */
static code *parse_expression(parser *p)
{
    int outer = p->depth;
    go_deeper(p);
    code *c;
    if (take(p, "-")) {
        code *number = parse_expression(p);
        c = new_code(p, CODE_MINUS);
        children one = begin_children(c);
        add(&one, number);
    } else {
        c = parse_atom(p);
        for (;; go_deeper(p)) {
            if (take(p, ".")) {
                code *attribute = new_code(p, CODE_ATTRIBUTE);
                children one = begin_children(attribute);
                attribute->text = take_name(p);
                add(&one, c);
                c = attribute;
            } else if (take(p, "(")) {
                c = parse_call(p, c);
            } else if (take(p, "[")) {
                c = parse_index(p, c);
            } else {
                break;
            }
        }
    }
    p->depth = outer;
    return c;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static code *parse_block(parser *p);

static void end_line(parser *p)
{
    if (p->kind != TOKEN_LINE && p->kind != TOKEN_END)
        wrong(p, "a line continues where it should end");
    if (p->kind == TOKEN_LINE)
        take_token(p);
}

/* Parses an expression, or several as a tuple. Sets *comma if there is a trailing comma. */
static code *parse_expressions(parser *p, bool *comma)
{
    code *first = parse_expression(p);
    *comma = false;
    if (!is_sign(p, ","))
        return first;
    code *c = new_code(p, CODE_TUPLE);
    children items = begin_children(c);
    add(&items, first);
    while (take(p, ",")) {
        *comma = true;
        if (is_sign(p, "=") || p->kind == TOKEN_LINE)
            break;
        add(&items, parse_expression(p));
        *comma = false;
    }
    return c;
}

static code *parse_assignment(parser *p)
{
    bool comma, value_comma;
    code *target = parse_expressions(p, &comma);
    code *c = new_code(p, CODE_EXPRESSION);
    children items = begin_children(c);
    if (take(p, ":")) { /* skips the declared type */
        parse_expression(p);
        if (!is_sign(p, "=")) {
            c->kind = CODE_PASS;
            return c;
        }
    }
    if (!take(p, "=")) {
        add(&items, target);
        return c;
    }
    c->kind = CODE_ASSIGN;
    c->integer = target->kind == CODE_TUPLE;
    if (target->kind == CODE_TUPLE) {
        code *next;
        for (code *x = target->first; x; x = next) {
            next = x->next;
            x->next = NULL;
            add(&items, x);
        }
    } else {
        add(&items, target);
    }
    add(&items, parse_expressions(p, &value_comma));
    return c;
}

static code *parse_if(parser *p)
{
    code *c = new_code(p, CODE_IF);
    children parts = begin_children(c);
    add(&parts, parse_expression(p));
    add(&parts, parse_block(p));
    if (take_word(p, "else"))
        add(&parts, parse_block(p));
    else
        add(&parts, new_code(p, CODE_BLOCK));
    return c;
}

static code *parse_for(parser *p)
{
    code *c = new_code(p, CODE_FOR);
    children parts = begin_children(c);
    c->text = take_name(p);
    if (!take_word(p, "in"))
        wrong(p, "the word 'in' is missing");
    add(&parts, parse_expression(p));
    add(&parts, parse_block(p));
    return c;
}

static code *parse_statement(parser *p)
{
    code *c;
    if (take_word(p, "if"))
        return parse_if(p);
    if (take_word(p, "for"))
        return parse_for(p);
    if (take_word(p, "while")) {
        c = new_code(p, CODE_WHILE);
        children parts = begin_children(c);
        add(&parts, parse_expression(p));
        add(&parts, parse_block(p));
        return c;
    }
    if (take_word(p, "with")) { /* skips the context of `with` (gradients off), which has no effect here */
        parse_expression(p);
        return parse_block(p);
    }
    if (take_word(p, "pass")) {
        c = new_code(p, CODE_PASS);
    } else if (take_word(p, "return")) {
        c = new_code(p, CODE_RETURN);
        children one = begin_children(c);
        bool comma;
        if (p->kind != TOKEN_LINE && p->kind != TOKEN_END)
            add(&one, parse_expressions(p, &comma));
    } else {
        c = parse_assignment(p);
    }
    end_line(p);
    return c;
}

static void begin_block(parser *p)
{
    expect(p, ":");
    end_line(p);
    if (p->kind != TOKEN_IN)
        wrong(p, "a block is missing");
    take_token(p);
}

static code *parse_block(parser *p)
{
    code *c = new_code(p, CODE_BLOCK);
    children statements = begin_children(c);
    begin_block(p);
    go_deeper(p);
    while (p->kind != TOKEN_OUT && p->kind != TOKEN_END)
        add(&statements, parse_statement(p));
    p->depth--;
    if (p->kind == TOKEN_OUT)
        take_token(p);
    return c;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static code *parse_function(parser *p)
{
    code *c = new_code(p, CODE_FUNCTION);
    children parts = begin_children(c);
    c->text = take_name(p);
    expect(p, "(");
    while (!take(p, ")")) {
        code *parameter = new_code(p, CODE_PARAMETER);
        children own = begin_children(parameter);
        parameter->text = take_name(p);
        add(&own, take(p, ":") ? parse_expression(p) : new_code(p, CODE_PASS));
        add(&own, take(p, "=") ? parse_expression(p) : new_code(p, CODE_PASS));
        add(&parts, parameter);
        if (!take(p, ",") && !is_sign(p, ")"))
            wrong(p, "a comma is missing between parameters");
    }
    if (take(p, "->"))
        parse_expression(p);
    add(&parts, parse_block(p));
    return c;
}

static code *parse_class(parser *p)
{
    code *c = new_code(p, CODE_CLASS);
    children parts = begin_children(c);
    c->text = take_name(p);
    if (take(p, "(")) {
        c->key = p->kind == TOKEN_WORD ? p->text : (str){0}; /* base class: Module, NamedTuple, Enum */
        while (!take(p, ")")) {
            if (p->kind == TOKEN_END)
                wrong(p, "a class does not end");
            take_token(p);
        }
    }
    begin_block(p);
    while (p->kind != TOKEN_OUT && p->kind != TOKEN_END) {
        if (take_word(p, "def")) {
            add(&parts, parse_function(p));
            continue;
        }
        if (take_word(p, "pass")) {
            end_line(p);
            continue;
        }
        code *field = new_code(p, CODE_FIELD);
        children own = begin_children(field);
        field->text = p->kind == TOKEN_TEXT ? p->text : (str){0};
        code *name = parse_expression(p);
        if (name->kind == CODE_NAME)
            field->text = name->text;
        if (take(p, ":"))
            add(&own, parse_expression(p));
        if (take(p, "=")) {
            bool comma;
            code *value = parse_expressions(p, &comma);
            if (str_is(field->text, "__buffers__")) {
                field->kind = CODE_BUFFERS;
                add(&own, value);
            } else if (str_is(c->key, "Enum")) {
                field->kind = CODE_MEMBER;
                add(&own, value);
            }
        }
        if (field->count)
            add(&parts, field);
        end_line(p);
    }
    if (p->kind == TOKEN_OUT)
        take_token(p);
    return c;
}

const code *torch_parse(str text, const char *subject, arena *a, fail *f)
{
    parser p = {
        .begin = text.ptr, .at = text.ptr, .end = text.ptr + text.len, .subject = subject, .arena = a, .fail = f};
    p.indent_count = 1;
    p.line_begins = true;
    take_token(&p);
    code *all = new_code(&p, CODE_BLOCK);
    children definitions = begin_children(all);
    while (p.kind != TOKEN_END) {
        if (p.kind == TOKEN_LINE)
            take_token(&p);
        else if (take_word(&p, "class"))
            add(&definitions, parse_class(&p));
        else if (take_word(&p, "def"))
            add(&definitions, parse_function(&p));
        else
            add(&definitions, parse_statement(&p)); /* "op_version_set = 1" in old files */
    }
    return all->first;
}
