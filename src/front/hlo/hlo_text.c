/* hlo_text.c: reads HLO text, as XLA dumps it and `compiler_ir("hlo").as_hlo_text()` writes it, before or after
 * optimization.
 *
 *   HloModule name, attributes
 *   [FileNames, FunctionNames, FileLocations, StackFrames: tables up to an empty line, skipped]
 *   [ENTRY] name [(parameters) -> type] {
 *     [ROOT] name = type opcode(operands), attribute=value, …
 *   }
 *   type      f32[2,3]{1,0}, f32[], (type, type), token[]; the layout is in braces
 *   operand   name, or type name; names may begin with '%'
 *   constant({ { 1, 2 }, { 3, 4 } }), parameter(0)
 *   window={size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=2x2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f,
 *   padding=0_1x0_0_1
 *   to_apply=, calls=, condition=, body=, branch_computations={…}: other computations of the file */
#include "base/decimal.h"
#include "front/front.h"
#include "front/hlo/hlo.h"

typedef struct pending_call {
    hlo_op *op;
    str name;
    int32_t place; /* index among the operator's regions */
} pending_call;

typedef struct reader {
    hlo_module *m;
    arena *arena;
    const char *start, *at, *end;
    names values; /* values of the current computation */
    struct {
        pending_call *items;
        int32_t count, capacity;
    } calls;
} reader;

_Noreturn static void bad(reader *r, const char *what)
{
    int line = 1;
    for (const char *c = r->start; c < r->at; c++)
        line += *c == '\n';
    fail_with(&r->m->b->model->fail, SOOTH_ERROR_INPUT, "%s, in line %d; write the program again", what, line);
}

static void skip(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r') {
            r->at++;
        } else if (*r->at == '/' && r->end - r->at > 1 && r->at[1] == '*') {
            const char *c = r->at + 2;
            while (c < r->end && !(*c == '/' && c[-1] == '*' && c > r->at + 2))
                c++;
            r->at = c < r->end ? c + 1 : r->end;
        } else {
            return;
        }
    }
}

static char peek(reader *r)
{
    skip(r);
    return r->at < r->end ? *r->at : '\0';
}

static bool accept(reader *r, char c)
{
    if (peek(r) != c || r->at >= r->end)
        return false;
    r->at++;
    return true;
}

static void expect(reader *r, char c)
{
    if (!accept(r, c))
        bad(r, "the text is cut off, or is not HLO");
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

static str word(reader *r)
{
    skip(r);
    const char *from = r->at;
    while (r->at < r->end && is_name(*r->at) && !(*r->at == '-' && r->end - r->at > 1 && r->at[1] == '>'))
        r->at++;
    return (str){from, (size_t)(r->at - from)};
}

static void skip_text(reader *r)
{
    r->at++;
    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    r->at += r->at < r->end;
}

static void skip_brackets(reader *r)
{
    int64_t open = 0;
    do {
        char c = peek(r);
        if (c == '\0')
            bad(r, "a bracket is not closed");
        if (c == '"') {
            skip_text(r);
            continue;
        }
        open += c == '(' || c == '[' || c == '{';
        open -= c == ')' || c == ']' || c == '}';
        r->at++;
    } while (open > 0);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static hlo_type read_type(reader *r, int depth)
{
    if (depth > MAX_NESTING)
        bad(r, "types are nested too deeply");
    if (accept(r, '(')) {
        struct {
            hlo_type *items;
            int32_t count, capacity;
        } elements = {0};
        while (peek(r) != ')') {
            hlo_type t = read_type(r, depth + 1);
            *(hlo_type *)ARENA_PUSH(r->arena, &elements) = t;
            if (!accept(r, ','))
                break;
        }
        expect(r, ')');
        return (hlo_type){.rank = RANK_UNKNOWN,
                          .elements = elements.items ? elements.items : ARENA_NEW(r->arena, hlo_type),
                          .element_count = elements.count};
    }
    str name = word(r);
    hlo_type t = {.dtype = hlo_dtype(name)};
    num dims[MAX_RANK];
    if (!name.len)
        bad(r, "a type is missing");
    expect(r, '[');
    while (peek(r) != ']') {
        num dim = 0;
        bool is_open = false;
        /* bounds of a dynamic dimension, which may be open */
        for (char c; (c = peek(r)) == '?' || c == '<' || c == '=';) {
            is_open = true;
            r->at++;
        }
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
            if (dim > INT64_MAX / 100)
                bad(r, "a dimension is larger than any tensor");
            dim = 10 * dim + (*r->at++ - '0');
        }
        if (t.rank >= MAX_RANK)
            bad(r, "a tensor has more than 64 dimensions");
        dims[t.rank++] = is_open ? NUM_UNKNOWN : dim;
        if (!accept(r, ','))
            break;
    }
    expect(r, ']');
    if (r->at < r->end && *r->at == '{')
        skip_brackets(r);
    if (t.rank > 0)
        t.dims = arena_copy(r->arena, dims, (size_t)t.rank, sizeof *dims);
    if (t.dtype == DT_UNKNOWN) /* token[], opaque[] */
        return (hlo_type){.rank = RANK_UNKNOWN};
    return t;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

typedef struct attr_list {
    hlo_attr *items;
    int32_t count, capacity;
} attr_list;

typedef struct int_list {
    int64_t *items;
    int32_t count, capacity;
} int_list;

enum { MAX_INTS = 4096 };

static void add_attr(reader *r, attr_list *to, str name, const int_list *ints, str text)
{
    *(hlo_attr *)ARENA_PUSH(r->arena, to) = (hlo_attr){name, ints ? ints->items : NULL, ints ? ints->count : 0, text};
}

/* Reads all integers in a text. A minus is a sign unless it comes after a digit. */
static int_list numbers_in(reader *r, str text)
{
    int_list list = {0};
    for (size_t i = 0; i < text.len && list.count < MAX_INTS;) {
        decimal d;
        bool is_sign = text.ptr[i] == '-';
        bool is_number = (text.ptr[i] >= '0' && text.ptr[i] <= '9') || is_sign;
        size_t n = is_number ? decimal_read((str){text.ptr + i, text.len - i}, &d) : 0;
        if (n && d.is_whole)
            *(int64_t *)ARENA_PUSH(r->arena, &list) = d.whole;
        i += n ? n : 1;
    }
    return list;
}

/* Reads window={size=3x3 stride=2x2 pad=1_1x1_1 …}. */
static void read_window(reader *r, attr_list *to, str text)
{
    size_t i = 0;
    while (i < text.len) {
        size_t from = i;
        while (i < text.len && text.ptr[i] != '=')
            i++;
        str name = {text.ptr + from, i - from};
        size_t value = i < text.len ? i + 1 : i;
        for (i = value; i < text.len && text.ptr[i] != ' ';)
            i++;
        int_list numbers = numbers_in(r, (str){text.ptr + value, i - value});
        add_attr(r, to, name, &numbers, (str){0});
        while (i < text.len && text.ptr[i] == ' ')
            i++;
    }
}

/* Reads slices, {[0:1], [2:8:2]}. A range of two numbers has stride 1. */
static void read_slice(reader *r, attr_list *to, str text)
{
    int_list lists[3] = {{0}, {0}, {0}};
    for (size_t i = 0; i < text.len;) {
        const char *open = memchr(text.ptr + i, '[', text.len - i);
        if (!open)
            break;
        const char *close = memchr(open, ']', text.len - (size_t)(open - text.ptr));
        if (!close)
            break;
        int_list range = numbers_in(r, (str){open + 1, (size_t)(close - open) - 1});
        for (int k = 0; k < 3 && lists[0].count < HLO_FEW + 1; k++)
            *(int64_t *)ARENA_PUSH(r->arena, &lists[k]) = k < range.count ? range.items[k] : k == 2;
        i = (size_t)(close - text.ptr) + 1;
    }
    add_attr(r, to, STR("start_indices"), &lists[0], (str){0});
    add_attr(r, to, STR("limit_indices"), &lists[1], (str){0});
    add_attr(r, to, STR("strides"), &lists[2], (str){0});
}

/* Reads padding: low_high[_interior] per dimension, separated by x. */
static void read_padding(reader *r, attr_list *to, str text)
{
    int_list lists[3] = {{0}, {0}, {0}};
    for (size_t i = 0; i <= text.len;) {
        size_t from = i;
        while (i < text.len && text.ptr[i] != 'x')
            i++;
        int_list one = numbers_in(r, (str){text.ptr + from, i - from});
        for (int k = 0; k < 3; k++)
            *(int64_t *)ARENA_PUSH(r->arena, &lists[k]) = k < one.count ? one.items[k] : 0;
        i++;
    }
    add_attr(r, to, STR("low"), &lists[0], (str){0});
    add_attr(r, to, STR("high"), &lists[1], (str){0});
    add_attr(r, to, STR("interior"), &lists[2], (str){0});
}

static void add_call(reader *r, hlo_op *o, str name, int32_t place)
{
    if (name.len && name.ptr[0] == '%')
        name = (str){name.ptr + 1, name.len - 1};
    *(pending_call *)ARENA_PUSH(r->arena, &r->calls) = (pending_call){o, name, place};
    o->region_count = place + 1 > o->region_count ? place + 1 : o->region_count;
}

/* Reads the called computations, {%a, %b}. */
static void add_calls(reader *r, hlo_op *o, str text)
{
    size_t i = 0;
    int32_t place = 0;
    while (i < text.len && place < MAX_NESTING) {
        while (i < text.len && !is_name(text.ptr[i]))
            i++;
        size_t from = i;
        while (i < text.len && is_name(text.ptr[i]))
            i++;
        if (i > from)
            add_call(r, o, (str){text.ptr + from, i - from}, place++);
    }
}

static str op_name_in(str metadata)
{
    const char *at = metadata.ptr, *end = metadata.ptr + metadata.len;
    while ((size_t)(end - at) > 9 && (at = memchr(at, 'o', (size_t)(end - at) - 9))) {
        if (memcmp(at, "op_name=\"", 9) == 0) {
            const char *from = at + 9, *close = from;
            while (close < end && *close != '"')
                close += *close == '\\' && end - close > 1 ? 2 : 1;
            return (str){from, close < end ? (size_t)(close - from) : 0};
        }
        at++;
    }
    return (str){0};
}

static void read_attribute(reader *r, hlo_op *o, attr_list *attrs)
{
    static const struct {
        const char *name;
        int32_t place;
    } CALLS[] = {{"to_apply", 0},         {"calls", 0}, {"condition", 0}, {"body", 1}, {"true_computation", 0},
                 {"false_computation", 1}};
    str name = word(r);
    if (!name.len)
        bad(r, "an attribute has no name");
    if (!accept(r, '=')) {
        add_attr(r, attrs, name, NULL, (str){0});
        return;
    }
    skip(r);
    const char *from = r->at;
    if (r->at < r->end && *r->at == '{') {
        skip_brackets(r);
    } else if (r->at < r->end && *r->at == '"') {
        skip_text(r);
    } else {
        while (r->at < r->end && *r->at != ',' && *r->at != '\n' && *r->at != ' ')
            r->at++;
    }
    str text = {from, (size_t)(r->at - from)};
    bool is_wrapped = text.len > 1 && (text.ptr[0] == '{' || text.ptr[0] == '"');
    str inner = is_wrapped ? (str){text.ptr + 1, text.len - 2} : text;
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (str_is(name, CALLS[i].name)) {
            add_call(r, o, text, CALLS[i].place);
            return;
        }
    if (str_is(name, "branch_computations")) {
        add_calls(r, o, inner);
    } else if (str_is(name, "window")) {
        read_window(r, attrs, inner);
    } else if (str_is(name, "slice")) {
        read_slice(r, attrs, inner);
    } else if (str_is(name, "padding")) {
        read_padding(r, attrs, inner);
    } else if (str_is(name, "dim_labels")) {
        hlo_attr nine[HLO_CONV_ATTRS];
        if (!hlo_conv_dimensions(r->arena, inner, nine))
            bad(r, "dimension numbers of a convolution do not match");
        for (int i = 0; i < HLO_CONV_ATTRS; i++)
            *(hlo_attr *)ARENA_PUSH(r->arena, attrs) = nine[i];
    } else if (str_is(name, "metadata")) {
        o->label = op_name_in(inner);
    } else if (str_is(name, "backend_config")) {
        int64_t *rounds = ARENA_NEW(r->arena, int64_t);
        if (hlo_trip_count(inner, rounds))
            add_attr(r, attrs, STR("known_trip_count"), &(int_list){rounds, 1, 1}, (str){0});
    } else if (!str_is(name, "sharding") && !str_is(name, "frontend_attributes")) {
        int_list numbers = numbers_in(r, inner);
        if (str_is(inner, "true"))
            *(int64_t *)ARENA_PUSH(r->arena, &numbers) = 1;
        add_attr(r, attrs, name, &numbers, inner);
    }
}

/* ---- computations ------------------------------------------------------------------------------------------------ */

static hlo_value use(reader *r)
{
    accept(r, '%');
    str name = word(r);
    int32_t v = names_get(&r->values, name, -1);
    if (v < 0)
        bad(r, arena_printf(r->arena, "the value %.*s is used before it is made", STR_ARG(name)).ptr);
    return v;
}

/* Reads an operand: name, or type and name. A type has a bracket after its first word. */
static hlo_value read_operand(reader *r)
{
    const char *from = r->at;
    char c = peek(r);
    if (c == '(') {
        read_type(r, 0);
    } else if (c != '%') {
        word(r);
        bool is_type = r->at < r->end && *r->at == '[';
        r->at = from;
        if (is_type)
            read_type(r, 0);
    }
    return use(r);
}

/* Reads an instruction and returns its value. Sets *is_root if it is the computation's result. */
static hlo_value read_instruction(reader *r, hlo_function *f, bool *is_root)
{
    str name = word(r);
    *is_root = str_is(name, "ROOT");
    if (*is_root || !name.len) {
        accept(r, '%');
        name = word(r);
    }
    if (!name.len)
        bad(r, "the text is cut off, or is not HLO");
    expect(r, '=');
    hlo_type type = read_type(r, 0);
    str opcode = hlo_opcode(r->m, word(r));
    expect(r, '(');
    hlo_op *o = ARENA_NEW(r->arena, hlo_op);
    struct {
        hlo_value *items;
        int32_t count, capacity;
    } operands = {0};
    attr_list attrs = {0};
    decimal number;
    *o = (hlo_op){.name = opcode, .result_count = 1};
    hlo_value v;
    if (str_is(opcode, "parameter")) {
        skip(r);
        size_t n = decimal_read((str){r->at, (size_t)(r->end - r->at)}, &number);
        if (!n || !number.is_whole || number.whole < 0 || number.whole >= f->body.argument_count)
            bad(r, "a parameter has a number that is out of range");
        r->at += n;
        v = f->body.first_argument + (hlo_value)number.whole;
        hlo_at(r->m, v)->type = type;
        hlo_at(r->m, v)->name = name;
    } else if (str_is(opcode, "constant")) {
        const char *from = --r->at;
        skip_brackets(r);
        str literal = {from + 1, (size_t)(r->at - from) - 2};
        o->constant =
            type.elements ? NULL : hlo_constant(r->m, &type, str_contains(literal, "...") ? (str){0} : literal);
        r->at--;
        v = HLO_NO_VALUE;
    } else {
        while (peek(r) != ')') {
            *(hlo_value *)ARENA_PUSH(r->arena, &operands) = read_operand(r);
            if (!accept(r, ','))
                break;
        }
        v = HLO_NO_VALUE;
    }
    expect(r, ')');
    while (accept(r, ','))
        read_attribute(r, o, &attrs);
    o->operands = operands.items;
    o->operand_count = operands.count;
    o->attrs = attrs.items;
    o->attr_count = attrs.count;
    if (v != HLO_NO_VALUE) {
        hlo_at(r->m, v)->label = o->label.len ? o->label : name;
        names_put(&r->values, name, v);
        return v;
    }
    v = hlo_add_op(r->m, f, o, type, name);
    names_put(&r->values, name, v);
    return v;
}

/* Counts the parameters of the computation that begins here: occurrences of "parameter(N)" up to its end. */
static int32_t count_parameters(const reader *r)
{
    enum { MAX_PARAMETERS = 1 << 20 };
    int32_t count = 0;
    for (const char *line = r->at; line < r->end;) {
        const char *line_end = memchr(line, '\n', (size_t)(r->end - line));
        line_end = line_end ? line_end : r->end;
        if (*line == '}')
            break;
        str text = {line, (size_t)(line_end - line)};
        count += str_contains(text, " parameter(") && count < MAX_PARAMETERS;
        line = line_end + (line_end < r->end);
    }
    return count;
}

static void read_computation(reader *r, str name, bool is_entry)
{
    hlo_function *f = hlo_new_function(r->m, name);
    f->has_body = true;
    f->body.first_argument = r->m->values.count;
    f->body.argument_count = count_parameters(r);
    for (int32_t i = 0; i < f->body.argument_count; i++)
        hlo_new_value(r->m, (hlo_type){.rank = RANK_UNKNOWN}, STR(""));
    if (is_entry)
        r->m->entry = f;
    names_init(&r->values, r->arena);
    hlo_value root = HLO_NO_VALUE, last = HLO_NO_VALUE;
    while (!accept(r, '}')) {
        bool is_root;
        if (r->at >= r->end)
            bad(r, "a computation is not closed");
        accept(r, '%');
        last = read_instruction(r, f, &is_root);
        root = is_root ? last : root;
    }
    hlo_add_return(r->m, f, root != HLO_NO_VALUE ? root : last);
    if (r->at < r->end && *r->at == ',') /* skips execution_thread= and others */
        while (r->at < r->end && *r->at != '\n')
            r->at++;
}

/* A line that ends with an opening brace begins a computation. Other lines outside are skipped. */
static void read_module(reader *r)
{
    while (r->at < r->end) {
        const char *line_end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        line_end = line_end ? line_end : r->end;
        const char *last = line_end;
        while (last > r->at && (last[-1] == ' ' || last[-1] == '\r'))
            last--;
        if (last > r->at && last[-1] == '{' && *r->at != ' ') {
            accept(r, '%');
            str name = word(r);
            bool is_entry = str_is(name, "ENTRY");
            if (is_entry) {
                accept(r, '%');
                name = word(r);
            }
            r->at = last;
            read_computation(r, name, is_entry);
        } else {
            r->at = line_end + (line_end < r->end);
        }
    }
}

static void resolve_calls(reader *r)
{
    for (int32_t i = 0; i < r->calls.count; i++) {
        const pending_call *c = &r->calls.items[i];
        const hlo_function *f = hlo_find_function(r->m, c->name);
        if (!f)
            fail_with(&r->m->b->model->fail, SOOTH_ERROR_INPUT,
                      "the computation %.*s is called, but it is not in the file; write the program again",
                      STR_ARG(c->name));
        const hlo_region **regions = (const hlo_region **)c->op->regions;
        if (!regions) {
            regions = ARENA_ARRAY(r->arena, const hlo_region *, (size_t)c->op->region_count);
            c->op->regions = regions;
        }
        regions[c->place] = &f->body;
        c->op->callee = str_is(c->op->name, "call") || str_is(c->op->name, "fusion") ? f->name : c->op->callee;
    }
    for (int32_t i = 0; i < r->calls.count; i++) /* fails if a branch has no computation */
        for (int32_t k = 0; k < r->calls.items[i].op->region_count; k++)
            if (!r->calls.items[i].op->regions[k])
                fail_with(&r->m->b->model->fail, SOOTH_ERROR_INPUT, "an operator lacks one of its computations");
}

bool hlo_text_sniff(const uint8_t *bytes, size_t size)
{
    static const char HEAD[] = "HloModule ";
    size_t at = 0;
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r'))
        at++;
    return size - at >= sizeof HEAD - 1 && memcmp(bytes + at, HEAD, sizeof HEAD - 1) == 0;
}

void hlo_text_read(builder *b, const uint8_t *bytes, size_t size)
{
    hlo_module m;
    reader r = {.m = &m, .arena = b->arena, .start = (const char *)bytes, .at = (const char *)bytes};
    r.end = r.start + size;
    hlo_begin(&m, b, "hlo");
    names_init(&r.values, b->arena);
    word(&r);
    m.name = word(&r);
    if (m.name.len && m.name.ptr[m.name.len - 1] == ',')
        m.name.len--;
    read_module(&r);
    resolve_calls(&r);
    hlo_write(&m);
}
