/* mlir_text.c: MLIR as text with operators of StableHLO, CHLO and MHLO: the generic form ("stablehlo.add"(%0, %1) : (T, T) -> T) and the pretty
 * ones. Not a reader of MLIR as such: what an operator's text says beyond values, numbers, words, regions and types is passed over.
 *
 *   module @name attributes {…} { func.func public @main(%arg0: T {…} loc(…), …) -> (T {…}) { operators } }
 *   %a, %b:2 = NAME … : types | (types) -> types      results are used as %a, %b#0, %b#1
 *   "NAME"(operands) <{properties}> ({region}, {region}) {attributes} : (types) -> types
 *   reduce   (%x init: %y) applies stablehlo.add across dimensions = [1] : …, or … : … reducer(%a: T, %b: T) {region}
 *   while    (%iter = %x, …) : types cond {region} do {region}
 *   slice    %x [start:limit:stride, …]
 *   region   { ^bb0(%a: T, …): operators }
 *   types    tensor<2x?xf32>, tensor<f32, …>, tuple<…>, !stablehlo.token
 *   #loc1 = loc("label"(#loc2))                        behind or before what uses it
 */
#include "front/front.h"
#include "front/hlo.h"

#include "base/decimal.h"

typedef struct scope_entry {
    str name;
    hlo_value first;
    int32_t count;    /* of results under one name */
    int32_t shadowed; /* the entry of the same name around it, or -1 */
} scope_entry;

typedef struct parser {
    hlo_module *m;
    arena *arena;
    const char *start, *at, *end;
    names values; /* name → index of its entry */
    struct {
        scope_entry *items;
        int32_t count, capacity;
    } scope;
    names location_names;
    struct {
        str *items;
        int32_t count, capacity;
    } locations;
    struct {
        hlo_op **items;
        int32_t count, capacity;
    } labelled; /* operators whose label is still the text of a location */
    int depth;
} parser;

_Noreturn static void bad(parser *p, const char *what)
{
    int line = 1;
    for (const char *c = p->start; c < p->at; c++)
        line += *c == '\n';
    fail_with(&p->m->b->model->fail, SOOTH_ERROR_INPUT, "%s, in line %d; write the program again", what, line);
}

/* ---- letters ------------------------------------------------------------------------------------------------------ */

static void skip(parser *p)
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

static char peek(parser *p)
{
    skip(p);
    return p->at < p->end ? *p->at : '\0';
}

static bool accept(parser *p, const char *text)
{
    skip(p);
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

static void expect(parser *p, const char *text)
{
    if (!accept(p, text))
        bad(p, str_is(STR("{"), text) ? "a region is missing" : "the text is cut off, or no MLIR");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters, digits, and what names of values, attributes and operators have between them. */
static str word(parser *p)
{
    skip(p);
    const char *from = p->at;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.' || *p->at == '$' ||
                              (*p->at == '-' && p->end - p->at > 1 && p->at[1] != '>')))
        p->at++;
    return (str){from, (size_t)(p->at - from)};
}

static bool at_word(parser *p, const char *text)
{
    const char *from = p->at;
    bool same = str_is(word(p), text);
    p->at = from;
    return same;
}

static bool accept_word(parser *p, const char *text)
{
    const char *from = p->at;
    if (str_is(word(p), text))
        return true;
    p->at = from;
    return false;
}

/* What stands between the quotes. */
static str quoted(parser *p)
{
    expect(p, "\"");
    const char *from = p->at;
    while (p->at < p->end && *p->at != '"')
        p->at += *p->at == '\\' && p->end - p->at > 1 ? 2 : 1;
    if (p->at >= p->end)
        bad(p, "a text has no end");
    return (str){from, (size_t)(p->at++ - from)};
}

static str symbol(parser *p)
{
    return peek(p) == '"' ? quoted(p) : word(p);
}

/* Over brackets with all that is in them. The place is at the opening one. */
static void skip_brackets(parser *p)
{
    int64_t open = 0;
    do {
        char c = peek(p);
        if (c == '\0')
            bad(p, "a bracket is not closed");
        if (c == '"') {
            quoted(p);
            continue;
        }
        bool is_arrow = c == '-' && p->end - p->at > 1 && p->at[1] == '>';
        open += c == '(' || c == '[' || c == '{' || c == '<';
        open -= c == ')' || c == ']' || c == '}' || c == '>';
        p->at += is_arrow ? 2 : 1;
    } while (open > 0);
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

static const hlo_type NO_TENSOR = {.rank = RANK_UNKNOWN};

/* A type of a single element: f32, complex<f64>, !quant.uniform<i8:f32, …>. */
static dtype element_type(parser *p)
{
    if (accept(p, "!quant.uniform<")) {
        dtype t = hlo_dtype(word(p));
        int open = 1;
        while (p->at < p->end && open > 0) {
            open += *p->at == '<';
            open -= *p->at == '>';
            p->at++;
        }
        return t;
    }
    if (accept(p, "complex<")) {
        dtype t = hlo_dtype(word(p)) == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
        expect(p, ">");
        return t;
    }
    if (peek(p) == '!') {
        p->at++;
        word(p);
        if (peek(p) == '<')
            skip_brackets(p);
        return DT_UNKNOWN;
    }
    return hlo_dtype(word(p));
}

static hlo_type tensor_type(parser *p)
{
    hlo_type t = {.rank = 0};
    num dims[MAX_RANK];
    if (accept(p, "*x"))
        t.rank = RANK_UNKNOWN;
    while (peek(p) == '?' || is_digit(*p->at)) {
        num dim = 0;
        if (*p->at == '?') {
            dim = NUM_UNKNOWN;
            p->at++;
        }
        while (p->at < p->end && is_digit(*p->at)) {
            if (dim > INT64_MAX / 100)
                bad(p, "a dimension is larger than any tensor");
            dim = 10 * dim + (*p->at++ - '0');
        }
        expect(p, "x");
        if (t.rank < 0 || t.rank >= MAX_RANK)
            bad(p, "a tensor has more than 64 dimensions");
        dims[t.rank++] = dim;
    }
    t.dtype = element_type(p);
    if (t.rank > 0)
        t.dims = arena_copy(p->arena, dims, (size_t)t.rank, sizeof *dims);
    if (peek(p) == ',') { /* an encoding */
        while (peek(p) != '>') {
            if (*p->at == '<' || *p->at == '[' || *p->at == '"') {
                if (*p->at == '"')
                    quoted(p);
                else
                    skip_brackets(p);
            } else if (p->at >= p->end) {
                bad(p, "a type is not closed");
            } else {
                p->at++;
            }
        }
    }
    expect(p, ">");
    return t;
}

typedef struct type_list {
    hlo_type *items;
    int32_t count, capacity;
} type_list;

static hlo_type read_type(parser *p);

static void read_types(parser *p, type_list *to, char close)
{
    while (peek(p) != close) {
        hlo_type t = read_type(p);
        *(hlo_type *)ARENA_PUSH(p->arena, to) = t;
        if (peek(p) == '{') /* attributes of an argument or a result */
            skip_brackets(p);
        if (!accept(p, ","))
            break;
    }
}

static hlo_type read_type(parser *p)
{
    if (accept(p, "tensor<"))
        return tensor_type(p);
    if (accept(p, "tuple<")) {
        type_list elements = {0};
        if (++p->depth > HLO_MAX_DEPTH)
            bad(p, "types are nested too deep");
        read_types(p, &elements, '>');
        p->depth--;
        expect(p, ">");
        return (hlo_type){.rank = RANK_UNKNOWN, .elements = elements.items, .element_count = elements.count};
    }
    char c = peek(p);
    if (c == '(') { /* a function's */
        skip_brackets(p);
        expect(p, "->");
        if (peek(p) == '(') {
            skip_brackets(p);
            return NO_TENSOR;
        }
        if (++p->depth > HLO_MAX_DEPTH)
            bad(p, "types are nested too deep");
        read_type(p);
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
        bad(p, "a type is missing");
    if (peek(p) == '<')
        skip_brackets(p);
    return t.dtype == DT_UNKNOWN ? NO_TENSOR : t;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static void define(parser *p, str name, hlo_value first, int32_t count)
{
    int32_t shadowed = names_get(&p->values, name, -1);
    names_put(&p->values, name, p->scope.count);
    *(scope_entry *)ARENA_PUSH(p->arena, &p->scope) = (scope_entry){name, first, count, shadowed};
}

static void leave_scope(parser *p, int32_t mark)
{
    while (p->scope.count > mark) {
        const scope_entry *e = &p->scope.items[--p->scope.count];
        names_put(&p->values, e->name, e->shadowed);
    }
}

/* After '%'. */
static hlo_value use(parser *p)
{
    str name = word(p);
    int32_t index = names_get(&p->values, name, -1), part = 0;
    if (index < 0)
        bad(p, arena_printf(p->arena, "the value %%%.*s is used before it is made", STR_ARG(name)).ptr);
    if (p->at < p->end && *p->at == '#') {
        p->at++;
        while (p->at < p->end && is_digit(*p->at) && part < 1 << 20)
            part = 10 * part + (*p->at++ - '0');
    }
    if (part >= p->scope.items[index].count)
        bad(p, arena_printf(p->arena, "the value %%%.*s has no part %d", STR_ARG(name), part).ptr);
    return p->scope.items[index].first + part;
}

/* ---- operators ---------------------------------------------------------------------------------------------------- */

/* An operator while its text is read. */
typedef struct draft {
    struct {
        hlo_attr *items;
        int32_t count, capacity;
    } attrs;
    struct {
        hlo_value *items;
        int32_t count, capacity;
    } operands;
    struct {
        const hlo_region **items;
        int32_t count, capacity;
    } regions;
    struct {
        str *items;
        int32_t count, capacity;
    } iterated; /* names of the values that a loop carries */
    type_list types, result_types;
    bool has_arrow;
    int parens;
    str name;
    str callee, location, literal;
    hlo_type literal_type;
    hlo_type dynamic_type; /* what a constant is given out as, if that is another type */
    bool has_literal, is_done;
} draft;

typedef struct int_list {
    int64_t *items;
    int32_t count, capacity;
} int_list;

enum { MAX_INTS = 4096 };

static void add_attr(parser *p, draft *d, str name, const int_list *ints, str text)
{
    *(hlo_attr *)ARENA_PUSH(p->arena, &d->attrs) =
        (hlo_attr){name, ints ? ints->items : NULL, ints ? ints->count : 0, text};
}

static void push_int(parser *p, int_list *list, int64_t x)
{
    if (list->count < MAX_INTS)
        *(int64_t *)ARENA_PUSH(p->arena, list) = x;
}

/* All numbers and truth values up to the end of the brackets that the place is at; words are passed over. */
static void bracketed_ints(parser *p, int_list *to)
{
    int64_t open = 0;
    do {
        char c = peek(p);
        decimal number;
        if (c == '\0')
            bad(p, "a bracket is not closed");
        if (c == '"') {
            quoted(p);
        } else if (is_digit(c) || (c == '-' && p->end - p->at > 1 && is_digit(p->at[1]))) {
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            p->at += n ? n : 1;
            if (number.is_whole)
                push_int(p, to, number.whole);
        } else if (is_letter(c)) {
            str w = word(p);
            if (str_is(w, "true") || str_is(w, "false"))
                push_int(p, to, str_is(w, "true"));
        } else {
            open += c == '(' || c == '[' || c == '{' || c == '<';
            open -= c == ')' || c == ']' || c == '}' || c == '>';
            p->at++;
        }
    } while (open > 0);
}

/* `is_typed`: a number may be followed by its type; outside of brackets the types of the operator follow. */
static void attr_value(parser *p, draft *d, str name, bool is_typed);

/* {a = 1, b, "c.d" = …}; the place is behind the opening bracket. */
static void attr_members(parser *p, draft *d, char close)
{
    if (++p->depth > HLO_MAX_DEPTH)
        bad(p, "attributes are nested too deep");
    while (peek(p) != close) {
        if (*p->at == '\0' || p->at >= p->end)
            bad(p, "attributes are not closed");
        const char *from = p->at;
        str name = symbol(p);
        if (p->at == from) {
            p->at++;
            continue;
        }
        if (accept(p, "="))
            attr_value(p, d, name, true);
        else
            add_attr(p, d, name, NULL, (str){0});
        accept(p, ",");
    }
    p->at++;
    p->depth--;
}

static void conv_attrs(parser *p, draft *d, const char *from)
{
    hlo_attr nine[HLO_CONV_ATTRS];
    if (!hlo_conv_dimensions(p->arena, (str){from, (size_t)(p->at - from)}, nine))
        bad(p, "dimension numbers of a convolution do not fit together");
    for (int i = 0; i < HLO_CONV_ATTRS; i++)
        *(hlo_attr *)ARENA_PUSH(p->arena, &d->attrs) = nine[i];
}

/* #stablehlo.gather<offset_dims = [0], …>, #stablehlo<comparison_direction GT>, #stablehlo.conv<[b, 0, f]x…>, #alias */
static void dialect_attr(parser *p, draft *d, str name)
{
    p->at++;
    str kind = word(p);
    if (p->at >= p->end || *p->at != '<') {
        add_attr(p, d, name, NULL, kind);
        return;
    }
    if (str_ends(kind, ".conv")) {
        const char *from = p->at + 1;
        skip_brackets(p);
        p->at--;
        conv_attrs(p, d, from);
        p->at++;
        return;
    }
    const char *from = ++p->at;
    str first = word(p), second = word(p);
    bool is_word = first.len && second.len && peek(p) == '>'; /* an enumeration's value */
    bool is_alone = first.len && !second.len && peek(p) == '>';
    if (is_word || is_alone) {
        add_attr(p, d, name, NULL, is_word ? second : first);
        p->at++;
        return;
    }
    p->at = from;
    attr_members(p, d, '>');
}

/* dense<…> : type */
static void dense(parser *p, draft *d, str name)
{
    int_list ints = {0};
    const char *from = p->at;
    skip_brackets(p);
    d->literal = (str){from + 1, (size_t)(p->at - from) - 2};
    if (d->literal.len <= 8 * MAX_INTS) {
        const char *behind = p->at;
        p->at = from;
        bracketed_ints(p, &ints);
        p->at = behind;
    }
    d->literal_type = NO_TENSOR;
    if (accept(p, ":"))
        d->literal_type = read_type(p);
    /* A single number stands for all elements. */
    int64_t count = d->literal_type.rank >= 0;
    for (int i = 0; i < d->literal_type.rank; i++)
        if (d->literal_type.dims[i] < 0 || __builtin_mul_overflow(count, d->literal_type.dims[i], &count) ||
            count > MAX_INTS)
            count = 1;
    if (ints.count == 1) {
        int64_t x = ints.items[0];
        while (ints.count < count)
            push_int(p, &ints, x);
    }
    d->has_literal = true;
    add_attr(p, d, name, &ints, (str){0});
}

static void attr_value(parser *p, draft *d, str name, bool is_typed)
{
    char c = peek(p);
    int_list ints = {0};
    decimal number;
    if (c == '"') {
        add_attr(p, d, name, NULL, quoted(p));
    } else if (c == '[') {
        bracketed_ints(p, &ints);
        add_attr(p, d, name, &ints, (str){0});
    } else if (c == '{') {
        p->at++;
        attr_members(p, d, '}');
    } else if (c == '#') {
        dialect_attr(p, d, name);
    } else if (c == '@') {
        p->at++;
        add_attr(p, d, name, NULL, symbol(p));
    } else if (is_digit(c) || c == '-') {
        size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
        p->at += n ? n : 1;
        if (n && number.is_whole)
            push_int(p, &ints, number.whole);
        word(p); /* the rest of a hexadecimal number */
        add_attr(p, d, name, &ints, (str){0});
        if (is_typed && accept(p, ":"))
            read_type(p);
    } else if (accept(p, "dense<")) {
        p->at--;
        dense(p, d, name);
    } else if (accept(p, "array<")) {
        word(p); /* the elements' type */
        while (p->at < p->end && *p->at != ':' && *p->at != '>')
            p->at++;
        while (peek(p) != '>' && p->at < p->end) {
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            if (n && number.is_whole)
                push_int(p, &ints, number.whole);
            else if (is_letter(*p->at))
                push_int(p, &ints, str_is(word(p), "true"));
            p->at += n ? n : p->at < p->end && *p->at != '>';
        }
        expect(p, ">");
        add_attr(p, d, name, &ints, (str){0});
    } else if (is_letter(c) || c == '!') {
        p->at += c == '!';
        str w = word(p);
        if (str_is(w, "true") || str_is(w, "false")) {
            push_int(p, &ints, str_is(w, "true"));
            add_attr(p, d, name, &ints, (str){0});
        } else {
            add_attr(p, d, name, NULL, w);
        }
        if (p->at < p->end && (*p->at == '<' || *p->at == '('))
            skip_brackets(p);
        if (is_typed && accept(p, ":"))
            read_type(p);
    } else if (c == '(') {
        skip_brackets(p);
        if (accept(p, "->"))
            read_type(p);
    } else {
        bad(p, "an attribute has no value");
    }
}

static const hlo_region *read_region(parser *p, const str *arguments, int32_t argument_count, const type_list *types);

/* [1, 2] x [0, 1] */
static void paired_dims(parser *p, draft *d, const char *left, const char *right)
{
    int_list lists[2] = {{0}, {0}};
    if (peek(p) == '[')
        bracketed_ints(p, &lists[0]);
    if (accept(p, "x") && peek(p) == '[')
        bracketed_ints(p, &lists[1]);
    add_attr(p, d, str_of(left), &lists[0], (str){0});
    add_attr(p, d, str_of(right), &lists[1], (str){0});
}

/* [0:1, 2:8:2] */
static void slice_ranges(parser *p, draft *d)
{
    int_list lists[3] = {{0}, {0}, {0}};
    p->at++;
    while (peek(p) != ']') {
        int64_t range[3] = {0, 0, 1};
        for (int i = 0; i < 3; i++) {
            decimal number;
            skip(p);
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            if (!n || !number.is_whole)
                bad(p, "the range of a slice is no number");
            range[i] = number.whole;
            p->at += n;
            if (!accept(p, ":"))
                break;
        }
        for (int i = 0; i < 3; i++)
            push_int(p, &lists[i], range[i]);
        if (!accept(p, ","))
            break;
    }
    expect(p, "]");
    add_attr(p, d, STR("start_indices"), &lists[0], (str){0});
    add_attr(p, d, STR("limit_indices"), &lists[1], (str){0});
    add_attr(p, d, STR("strides"), &lists[2], (str){0});
}

static void read_location(parser *p, draft *d)
{
    const char *from = p->at;
    skip_brackets(p);
    d->location = (str){from + 1, (size_t)(p->at - from) - 2};
}

static void word_in_operator(parser *p, draft *d)
{
    str w = word(p);
    char next = peek(p);
    if (next == '=' && !(p->end - p->at > 1 && p->at[1] == '=')) {
        p->at++;
        if (str_is(w, "contracting_dims")) {
            paired_dims(p, d, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
        } else if (str_is(w, "batching_dims")) {
            paired_dims(p, d, "lhs_batching_dimensions", "rhs_batching_dimensions");
        } else if (str_is(w, "dim_numbers")) {
            skip(p);
            const char *from = p->at;
            for (int i = 0; i < 3 && peek(p) == '['; i++) {
                skip_brackets(p);
                if (i < 2 && !accept(p, "x"))
                    accept(p, "->");
            }
            conv_attrs(p, d, from);
        } else {
            attr_value(p, d, w, false);
        }
    } else if (str_is(w, "init") && next == ':') {
        p->at++;
    } else if (str_is(w, "applies")) {
        str op = word(p);
        const char *dot = op.len ? memchr(op.ptr, '.', op.len) : NULL;
        if (dot)
            op = (str){dot + 1, op.len - (size_t)(dot + 1 - op.ptr)};
        add_attr(p, d, STR("applies"), NULL, op);
    } else if (str_is(w, "loc") && next == '(') {
        read_location(p, d);
    } else if (str_is(w, "dense") && next == '<') {
        dense(p, d, STR("value"));
    } else if ((str_is(w, "dense_resource") || str_is(w, "sparse")) && next == '<') {
        skip_brackets(p);
        expect(p, ":");
        d->literal_type = read_type(p);
        d->has_literal = true;
        d->literal = (str){0};
    } else if (str_is(w, "array") && next == '<') {
        p->at -= 5;
        attr_value(p, d, STR(""), false);
    } else if (w.len == 0) {
        p->at++;
    } else {
        add_attr(p, d, STR("word"), NULL, w);
    }
}

/* T, T -> T | (T, T) -> (T) | T to T */
static void read_signature(parser *p, draft *d)
{
    if (accept(p, "(")) {
        read_types(p, &d->types, ')');
        expect(p, ")");
    } else {
        read_types(p, &d->types, '\0');
    }
    if (accept(p, "->") || accept_word(p, "to")) {
        d->has_arrow = true;
        if (accept(p, "(")) {
            read_types(p, &d->result_types, ')');
            expect(p, ")");
        } else {
            read_types(p, &d->result_types, '\0');
        }
    }
}

/* (%iter = %x, …) of a loop */
static void read_iterated(parser *p, draft *d)
{
    expect(p, "(");
    while (accept(p, "%")) {
        *(str *)ARENA_PUSH(p->arena, &d->iterated) = word(p);
        expect(p, "=");
        expect(p, "%");
        *(hlo_value *)ARENA_PUSH(p->arena, &d->operands) = use(p);
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
}

/* reducer(%a: T, %b: T) (%c: T, %d: T) {…} */
static void read_reducer(parser *p, draft *d)
{
    struct {
        str *items;
        int32_t count, capacity;
    } arguments = {0};
    type_list types = {0};
    while (accept(p, "(")) {
        while (accept(p, "%")) {
            *(str *)ARENA_PUSH(p->arena, &arguments) = word(p);
            expect(p, ":");
            *(hlo_type *)ARENA_PUSH(p->arena, &types) = read_type(p);
            if (at_word(p, "loc")) {
                word(p);
                skip_brackets(p);
            }
            if (!accept(p, ","))
                break;
        }
        expect(p, ")");
    }
    const hlo_region *r = read_region(p, arguments.items, arguments.count, &types);
    *(const hlo_region **)ARENA_PUSH(p->arena, &d->regions) = r;
}

static void read_trailing(parser *p, draft *d)
{
    for (;;) {
        if (accept_word(p, "reducer")) {
            read_reducer(p, d);
        } else if (at_word(p, "cond") || at_word(p, "do")) {
            word(p);
            const hlo_region *r = read_region(p, d->iterated.items, d->iterated.count, &d->types);
            *(const hlo_region **)ARENA_PUSH(p->arena, &d->regions) = r;
        } else if (at_word(p, "loc")) {
            word(p);
            read_location(p, d);
        } else if (at_word(p, "attributes")) {
            word(p);
            if (peek(p) == '{')
                skip_brackets(p);
        } else {
            return;
        }
    }
}

static bool is_constant(str name)
{
    return str_is(name, "constant") || str_is(name, "arith.constant") || str_is(name, "util.unfoldable_constant") ||
           str_is(name, "flow.tensor.dynamic_constant");
}

/* All between the operator's name and its end. */
static void read_operator_text(parser *p, draft *d)
{
    int open = 0;
    bool is_generic = p->at > p->start && p->at[-1] == '"';
    bool is_return = str_is(d->name, "return");
    if (str_is(d->name, "while") && !is_generic)
        read_iterated(p, d);
    for (;;) {
        char c = peek(p);
        if (c == '%') {
            p->at++;
            *(hlo_value *)ARENA_PUSH(p->arena, &d->operands) = use(p);
        } else if (c == '(') {
            open++;
            p->at++;
        } else if (c == ')' && open > 0) {
            open--;
            p->at++;
        } else if (c == '{' && open > 0) {
            const hlo_region *r = read_region(p, NULL, 0, NULL);
            *(const hlo_region **)ARENA_PUSH(p->arena, &d->regions) = r;
        } else if (c == '{') {
            p->at++;
            attr_members(p, d, '}');
        } else if (c == '<' && p->end - p->at > 1 && p->at[1] == '{') {
            p->at += 2;
            attr_members(p, d, '}');
            expect(p, ">");
        } else if (c == '[') {
            if (str_is(d->name, "slice"))
                slice_ranges(p, d);
            else
                attr_value(p, d, STR("list"), false);
        } else if (c == '@') {
            p->at++;
            str s = symbol(p);
            if (!d->callee.len)
                d->callee = s;
        } else if (c == '#' || c == '"' || is_digit(c) || (c == '-' && p->end - p->at > 1 && p->at[1] != '>')) {
            attr_value(p, d, STR(""), false);
        } else if (c == ':') {
            p->at++;
            read_signature(p, d);
            break;
        } else if (is_letter(c)) {
            if (is_return && open == 0 && !at_word(p, "loc")) /* nothing is returned: the next operator */
                return;
            word_in_operator(p, d);
            if (d->has_literal && is_constant(d->name)) {
                if (accept(p, "->"))
                    d->dynamic_type = read_type(p);
                break;
            }
        } else if (c == '\0' || c == '}' || (c == '^' && open == 0)) {
            return; /* operators that hand nothing back need no types */
        } else {
            p->at++;
        }
    }
    read_trailing(p, d);
}

typedef struct result_name {
    str name;
    int32_t count;
} result_name;

/* The types of the results: behind the arrow, or the last of those that were given. */
static hlo_type result_type(const draft *d, int32_t index, int32_t count)
{
    if (d->has_literal && is_constant(d->name))
        return d->dynamic_type.dims ? d->dynamic_type : d->literal_type;
    const type_list *l = d->has_arrow ? &d->result_types : &d->types;
    int32_t at = d->has_arrow ? index : l->count - count + index;
    if (!d->has_arrow && l->count == 1)
        at = 0;
    return at >= 0 && at < l->count ? l->items[at] : NO_TENSOR;
}

static str without_dialect(str name)
{
    static const char *const OWN[] = {"stablehlo.", "chlo.", "mhlo.", "func."};
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (str_starts(name, OWN[i]))
            return (str){name.ptr + strlen(OWN[i]), name.len - strlen(OWN[i])};
    return name;
}

static void read_operator(parser *p, hlo_region *to)
{
    draft d = {0};
    struct {
        result_name *items;
        int32_t count, capacity;
    } results = {0};
    int32_t result_count = 0;
    while (accept(p, "%")) {
        result_name r = {word(p), 1};
        if (p->at < p->end && *p->at == ':') {
            p->at++;
            for (r.count = 0; p->at < p->end && is_digit(*p->at) && r.count < 1 << 16; p->at++)
                r.count = 10 * r.count + (*p->at - '0');
        }
        if (r.count > 1 << 16 || result_count > 1 << 20)
            bad(p, "an operator has too many results");
        result_count += r.count;
        *(result_name *)ARENA_PUSH(p->arena, &results) = r;
        if (!accept(p, ","))
            break;
    }
    if (results.count)
        expect(p, "=");
    str name = peek(p) == '"' ? quoted(p) : word(p);
    if (!name.len)
        bad(p, "the text is cut off, or no MLIR");
    d.name = without_dialect(name);
    read_operator_text(p, &d);
    hlo_op *o = ARENA_NEW(p->arena, hlo_op);
    *o = (hlo_op){.name = d.name,
                  .operands = d.operands.items,
                  .operand_count = d.operands.count,
                  .first_result = p->m->values.count,
                  .result_count = result_count,
                  .attrs = d.attrs.items,
                  .attr_count = d.attrs.count,
                  .regions = d.regions.items,
                  .region_count = d.regions.count,
                  .callee = d.callee,
                  .label = d.location};
    if (d.has_literal && is_constant(d.name)) {
        o->name = STR("constant");
        o->constant = hlo_constant(p->m, &d.literal_type, d.literal);
    }
    int32_t index = 0;
    for (int32_t i = 0; i < results.count; i++) {
        hlo_value first = p->m->values.count;
        for (int32_t k = 0; k < results.items[i].count; k++)
            hlo_new_value(p->m, result_type(&d, index++, result_count),
                          results.items[i].count == 1
                              ? results.items[i].name
                              : arena_printf(p->arena, "%.*s#%d", STR_ARG(results.items[i].name), k));
        define(p, results.items[i].name, first, results.items[i].count);
    }
    if (d.location.len)
        *(hlo_op **)ARENA_PUSH(p->arena, &p->labelled) = o;
    *(hlo_op **)ARENA_PUSH(p->arena, &to->ops) = o;
}

/* ^bb0(%a: T, %b: T): */
static void read_block_arguments(parser *p, hlo_region *r)
{
    word(p);
    if (!accept(p, "("))
        return;
    r->first_argument = p->m->values.count;
    while (accept(p, "%")) {
        str name = word(p);
        expect(p, ":");
        hlo_value v = hlo_new_value(p->m, read_type(p), name);
        define(p, name, v, 1);
        r->argument_count++;
        if (at_word(p, "loc")) {
            word(p);
            skip_brackets(p);
        }
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
}

static void read_region_body(parser *p, hlo_region *r)
{
    expect(p, "{");
    while (!accept(p, "}")) {
        if (accept(p, "^")) {
            if (r->ops.count || r->argument_count)
                bad(p, "a region has several blocks with branches between them, which StableHLO programs do not have");
            read_block_arguments(p, r);
            expect(p, ":");
            continue;
        }
        if (p->at >= p->end)
            bad(p, "a region is not closed");
        read_operator(p, r);
    }
}

static const hlo_region *read_region(parser *p, const str *arguments, int32_t argument_count, const type_list *types)
{
    hlo_region *r = ARENA_NEW(p->arena, hlo_region);
    int32_t mark = p->scope.count;
    if (++p->depth > HLO_MAX_DEPTH)
        bad(p, "regions are nested too deep");
    r->first_argument = p->m->values.count;
    for (int32_t i = 0; i < argument_count; i++)
        hlo_new_value(p->m, i < types->count ? types->items[i] : NO_TENSOR, arguments[i]);
    for (int32_t i = 0; i < argument_count; i++)
        define(p, arguments[i], r->first_argument + i, 1);
    r->argument_count = argument_count;
    read_region_body(p, r);
    leave_scope(p, mark);
    p->depth--;
    return r;
}

/* ---- functions and modules ---------------------------------------------------------------------------------------- */

static void read_function(parser *p)
{
    bool is_private = false;
    draft ignored = {0};
    while (peek(p) != '@') {
        str w = word(p);
        if (!w.len)
            bad(p, "a function has no name");
        is_private |= str_is(w, "private");
    }
    p->at++;
    hlo_function *f = hlo_new_function(p->m, symbol(p));
    int32_t mark = p->scope.count;
    f->is_private = is_private;
    f->body.first_argument = p->m->values.count;
    expect(p, "(");
    while (peek(p) != ')') {
        str name = STR("");
        if (accept(p, "%")) {
            name = word(p);
            expect(p, ":");
        }
        hlo_value v = hlo_new_value(p->m, read_type(p), name);
        if (name.len)
            define(p, name, v, 1);
        f->body.argument_count++;
        if (accept(p, "{")) {
            draft d = {0};
            attr_members(p, &d, '}');
            for (int32_t i = 0; i < d.attrs.count; i++)
                if (str_is(d.attrs.items[i].name, "jax.global_constant"))
                    hlo_at(p->m, v)->label = d.attrs.items[i].text;
        }
        if (at_word(p, "loc")) {
            word(p);
            read_location(p, &ignored);
            if (!hlo_at(p->m, v)->label.len)
                hlo_at(p->m, v)->label = ignored.location;
        }
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
    if (accept(p, "->")) {
        type_list results = {0};
        if (accept(p, "(")) {
            read_types(p, &results, ')');
            expect(p, ")");
        } else {
            read_type(p);
        }
    }
    if (accept_word(p, "attributes"))
        skip_brackets(p);
    if (peek(p) == '{') {
        f->has_body = true;
        read_region_body(p, &f->body);
    }
    if (accept_word(p, "loc"))
        skip_brackets(p);
    leave_scope(p, mark);
}

/* #loc1 = loc(…), #map = affine_map<…> */
static void read_alias(parser *p)
{
    const char *from = p->at++;
    word(p);
    str name = {from, (size_t)(p->at - from)};
    expect(p, "=");
    if (accept_word(p, "loc") && peek(p) == '(') {
        const char *open = p->at;
        skip_brackets(p);
        names_put(&p->location_names, name, p->locations.count);
        *(str *)ARENA_PUSH(p->arena, &p->locations) = (str){open + 1, (size_t)(p->at - open) - 2};
        return;
    }
    while (p->at < p->end && *p->at != '\n')
        p->at++;
}

static void read_definitions(parser *p)
{
    hlo_region loose = {0}; /* operators outside of functions: globals of other dialects */
    bool is_module = false;
    for (;;) {
        char c = peek(p);
        if (c == '\0' && p->at >= p->end)
            return;
        if (c == '#') {
            read_alias(p);
        } else if (c == '}') {
            p->at++;
            if (accept_word(p, "loc"))
                skip_brackets(p);
        } else if (at_word(p, "module") || at_word(p, "builtin.module")) {
            word(p);
            if (accept(p, "@")) {
                str name = symbol(p);
                if (!is_module)
                    p->m->name = name;
            }
            is_module = true;
            if (accept_word(p, "attributes"))
                skip_brackets(p);
            expect(p, "{");
        } else if (at_word(p, "func.func") || at_word(p, "func")) {
            word(p);
            read_function(p);
        } else if (str_starts((str){p->at, (size_t)(p->end - p->at)}, "{-#")) {
            return; /* resources: constants that are too large to be written */
        } else if (is_letter(c)) {
            /* util.global private @name … = … : type: over the line */
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (c == '"') {
            bad(p, "modules and functions in MLIR's generic form are not read; write the program with pretty printing");
        } else {
            read_operator(p, &loose);
        }
    }
}

/* The text that a location begins with, which is what the user calls the operator; files and lines are none. */
static str label_of(const parser *p, str location)
{
    for (int hops = 0; hops < 8; hops++) {
        if (location.len && location.ptr[0] == '#') {
            int32_t at = names_get(&p->location_names, location, -1);
            location = at < 0 ? (str){0} : p->locations.items[at];
            continue;
        }
        if (!location.len || location.ptr[0] != '"')
            return (str){0};
        const char *end = memchr(location.ptr + 1, '"', location.len - 1);
        size_t length = end ? (size_t)(end - location.ptr) - 1 : 0;
        bool is_place = end && end + 1 < location.ptr + location.len && end[1] == ':';
        bool is_scope = length && location.ptr[length] == ':'; /* "jit:" */
        return is_place || is_scope ? (str){0} : (str){location.ptr + 1, length};
    }
    return (str){0};
}

static void resolve_labels(parser *p)
{
    for (int32_t i = 0; i < p->labelled.count; i++)
        p->labelled.items[i]->label = label_of(p, p->labelled.items[i]->label);
    for (int32_t i = 0; i < p->m->functions.count; i++) {
        const hlo_region *r = &p->m->functions.items[i]->body;
        for (int32_t k = 0; k < r->argument_count; k++) {
            hlo_value_info *v = hlo_at(p->m, r->first_argument + k);
            if (v->label.len && (v->label.ptr[0] == '#' || v->label.ptr[0] == '"' || str_is(v->label, "unknown")))
                v->label = label_of(p, v->label);
        }
    }
}

bool mlir_text_sniff(const uint8_t *bytes, size_t size)
{
    enum { LOOKED_AT = 1 << 16 };
    parser p = {.start = (const char *)bytes, .at = (const char *)bytes, .end = (const char *)bytes + size};
    char c = peek(&p);
    if (c != '#' && c != '%' && !at_word(&p, "module") && !at_word(&p, "builtin.module") && !at_word(&p, "func.func") &&
        !at_word(&p, "func") && !at_word(&p, "util.global"))
        return false;
    str head = {p.at, (size_t)(p.end - p.at) < LOOKED_AT ? (size_t)(p.end - p.at) : LOOKED_AT};
    return str_contains(head, "stablehlo.") || str_contains(head, "mhlo.") || str_contains(head, "chlo.") ||
           str_contains(head, "func.func");
}

void mlir_text_read(builder *b, const uint8_t *bytes, size_t size)
{
    hlo_module m;
    hlo_begin(&m, b, "stablehlo");
    parser p = {.m = &m,
                .arena = b->arena,
                .start = (const char *)bytes,
                .at = (const char *)bytes,
                .end = (const char *)bytes + size};
    names_init(&p.values, b->arena);
    names_init(&p.location_names, b->arena);
    read_definitions(&p);
    resolve_labels(&p);
    hlo_write(&m);
}
