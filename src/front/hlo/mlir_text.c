/* mlir_text.c: reads MLIR text with operators of StableHLO, CHLO and MHLO: the generic form ("stablehlo.add"(%0, %1) :
 * (T, T) -> T) and the pretty ones. Not a full MLIR reader: it skips everything but values, numbers, words, regions and
 * types.
 *
 *   module @name attributes {…} { func.func public @main(%arg0: T {…} loc(…), …) -> (T {…}) { operators } }
 *   %a, %b:2 = NAME … : types | (types) -> types      results are used as %a, %b#0, %b#1
 *   "NAME"(operands) <{properties}> ({region}, {region}) {attributes} : (types) -> types
 *   reduce   (%x init: %y) applies stablehlo.add across dimensions = [1] : …, or … : … reducer(%a: T, %b: T) {region}
 *   while    (%iter = %x, …) : types cond {region} do {region}
 *   slice    %x [start:limit:stride, …]
 *   region   { ^bb0(%a: T, …): operators }
 *   types    tensor<2x?xf32>, tensor<f32, …>, tuple<…>, !stablehlo.token
 *   #loc1 = loc("label"(#loc2))                        before or after its uses */
#include "front/hlo/mlir_text.h"
#include "base/decimal.h"
#include "front/front.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

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

/* Reads a use of a value, after '%'. */
static hlo_value use(parser *p)
{
    str name = text_word(p);
    int32_t index = names_get(&p->values, name, -1), part = 0;
    if (index < 0)
        text_bad(p, arena_printf(p->arena, "the value %%%.*s is used before it is made", STR_ARG(name)).ptr);
    if (p->at < p->end && *p->at == '#') {
        p->at++;
        while (p->at < p->end && text_is_digit(*p->at) && part < 1 << 20)
            part = 10 * part + (*p->at++ - '0');
    }
    if (part >= p->scope.items[index].count)
        text_bad(p, arena_printf(p->arena, "the value %%%.*s has no part %d", STR_ARG(name), part).ptr);
    return p->scope.items[index].first + part;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static const hlo_region *read_region(parser *p, const str *arguments, int32_t argument_count, const type_list *types);

static void skip_location(parser *p)
{
    if (text_at_word(p, "loc")) {
        text_word(p);
        text_skip_brackets(p);
    }
}

/* [1, 2] x [0, 1] */
static void paired_dims(parser *p, draft *d, const char *left, const char *right)
{
    int_list lists[2] = {{0}, {0}};
    if (text_peek(p) == '[')
        text_bracketed_ints(p, &lists[0]);
    if (text_accept(p, "x") && text_peek(p) == '[')
        text_bracketed_ints(p, &lists[1]);
    text_add_attr(p, d, str_of(left), &lists[0], (str){0});
    text_add_attr(p, d, str_of(right), &lists[1], (str){0});
}

/* [0:1, 2:8:2] */
static void slice_ranges(parser *p, draft *d)
{
    int_list lists[3] = {{0}, {0}, {0}};
    p->at++;
    while (text_peek(p) != ']') {
        int64_t range[3] = {0, 0, 1};
        for (int i = 0; i < 3; i++) {
            decimal number;
            text_skip(p);
            size_t n = decimal_read((str){p->at, (size_t)(p->end - p->at)}, &number);
            if (!n || !number.is_whole)
                text_bad(p, "a bound of a slice is not a number");
            range[i] = number.whole;
            p->at += n;
            if (!text_accept(p, ":"))
                break;
        }
        for (int i = 0; i < 3; i++)
            text_push_int(p, &lists[i], range[i]);
        if (!text_accept(p, ","))
            break;
    }
    text_expect(p, "]");
    text_add_attr(p, d, STR("start_indices"), &lists[0], (str){0});
    text_add_attr(p, d, STR("limit_indices"), &lists[1], (str){0});
    text_add_attr(p, d, STR("strides"), &lists[2], (str){0});
}

static void read_location(parser *p, draft *d)
{
    const char *from = p->at;
    text_skip_brackets(p);
    d->location = (str){from + 1, (size_t)(p->at - from) - 2};
}

static void word_in_operator(parser *p, draft *d)
{
    str w = text_word(p);
    char next = text_peek(p);
    if (next == '=' && !(p->end - p->at > 1 && p->at[1] == '=')) {
        p->at++;
        if (str_is(w, "contracting_dims")) {
            paired_dims(p, d, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
        } else if (str_is(w, "batching_dims")) {
            paired_dims(p, d, "lhs_batching_dimensions", "rhs_batching_dimensions");
        } else if (str_is(w, "dim_numbers")) {
            text_skip(p);
            const char *from = p->at;
            for (int i = 0; i < 3 && text_peek(p) == '['; i++) {
                text_skip_brackets(p);
                if (i < 2 && !text_accept(p, "x"))
                    text_accept(p, "->");
            }
            text_conv_attrs(p, d, from);
        } else {
            text_attr(p, d, w, false);
        }
    } else if (str_is(w, "init") && next == ':') {
        p->at++;
    } else if (str_is(w, "applies")) {
        str op = text_word(p);
        const char *dot = op.len ? memchr(op.ptr, '.', op.len) : NULL;
        if (dot)
            op = (str){dot + 1, op.len - (size_t)(dot + 1 - op.ptr)};
        text_add_attr(p, d, STR("applies"), NULL, op);
    } else if (str_is(w, "loc") && next == '(') {
        read_location(p, d);
    } else if (str_is(w, "dense") && next == '<') {
        text_dense(p, d, STR("value"));
    } else if ((str_is(w, "dense_resource") || str_is(w, "sparse")) && next == '<') {
        text_skip_brackets(p);
        text_expect(p, ":");
        d->literal_type = text_type(p);
        d->has_literal = true;
        d->literal = (str){0};
    } else if (str_is(w, "array") && next == '<') {
        p->at -= 5;
        text_attr(p, d, STR(""), false);
    } else if (w.len == 0) {
        p->at++;
    } else {
        text_add_attr(p, d, STR("word"), NULL, w);
    }
}

/* T, T -> T | (T, T) -> (T) | T to T */
static void read_signature(parser *p, draft *d)
{
    if (text_accept(p, "(")) {
        text_types(p, &d->types, ')');
        text_expect(p, ")");
    } else {
        text_types(p, &d->types, '\0');
    }
    if (text_accept(p, "->") || text_accept_word(p, "to")) {
        d->has_arrow = true;
        if (text_accept(p, "(")) {
            text_types(p, &d->result_types, ')');
            text_expect(p, ")");
        } else {
            text_types(p, &d->result_types, '\0');
        }
    }
}

/* (%iter = %x, …) of a loop */
static void read_iterated(parser *p, draft *d)
{
    text_expect(p, "(");
    while (text_accept(p, "%")) {
        *(str *)ARENA_PUSH(p->arena, &d->iterated) = text_word(p);
        text_expect(p, "=");
        text_expect(p, "%");
        *(hlo_value *)ARENA_PUSH(p->arena, &d->operands) = use(p);
        if (!text_accept(p, ","))
            break;
    }
    text_expect(p, ")");
}

/* reducer(%a: T, %b: T) (%c: T, %d: T) {…} */
static void read_reducer(parser *p, draft *d)
{
    struct {
        str *items;
        int32_t count, capacity;
    } arguments = {0};
    type_list types = {0};
    while (text_accept(p, "(")) {
        while (text_accept(p, "%")) {
            *(str *)ARENA_PUSH(p->arena, &arguments) = text_word(p);
            text_expect(p, ":");
            *(hlo_type *)ARENA_PUSH(p->arena, &types) = text_type(p);
            skip_location(p);
            if (!text_accept(p, ","))
                break;
        }
        text_expect(p, ")");
    }
    const hlo_region *r = read_region(p, arguments.items, arguments.count, &types);
    *(const hlo_region **)ARENA_PUSH(p->arena, &d->regions) = r;
}

static void read_trailing(parser *p, draft *d)
{
    for (;;) {
        if (text_accept_word(p, "reducer")) {
            read_reducer(p, d);
        } else if (text_at_word(p, "cond") || text_at_word(p, "do")) {
            text_word(p);
            const hlo_region *r = read_region(p, d->iterated.items, d->iterated.count, &d->types);
            *(const hlo_region **)ARENA_PUSH(p->arena, &d->regions) = r;
        } else if (text_at_word(p, "loc")) {
            text_word(p);
            read_location(p, d);
        } else if (text_at_word(p, "attributes")) {
            text_word(p);
            if (text_peek(p) == '{')
                text_skip_brackets(p);
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

/* Reads everything between the operator's name and its end. */
static void read_operator_text(parser *p, draft *d)
{
    int open = 0;
    bool is_generic = p->at > p->start && p->at[-1] == '"';
    bool is_return = str_is(d->name, "return");
    if (str_is(d->name, "while") && !is_generic)
        read_iterated(p, d);
    for (;;) {
        char c = text_peek(p);
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
            text_attr_members(p, d, '}');
        } else if (c == '<' && p->end - p->at > 1 && p->at[1] == '{') {
            p->at += 2;
            text_attr_members(p, d, '}');
            text_expect(p, ">");
        } else if (c == '[') {
            if (str_is(d->name, "slice"))
                slice_ranges(p, d);
            else
                text_attr(p, d, STR("list"), false);
        } else if (c == '@') {
            p->at++;
            str s = text_symbol(p);
            if (!d->callee.len)
                d->callee = s;
        } else if (c == '#' || c == '"' || text_is_digit(c) || (c == '-' && p->end - p->at > 1 && p->at[1] != '>')) {
            text_attr(p, d, STR(""), false);
        } else if (c == ':') {
            p->at++;
            read_signature(p, d);
            break;
        } else if (text_is_letter(c)) {
            if (is_return && open == 0 && !text_at_word(p, "loc")) /* an empty return: the next operator follows */
                return;
            word_in_operator(p, d);
            if (d->has_literal && is_constant(d->name)) {
                if (text_accept(p, "->"))
                    d->dynamic_type = text_type(p);
                break;
            }
        } else if (c == '\0' || c == '}' || (c == '^' && open == 0)) {
            return; /* operators without results need no types */
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

/* Returns the type of a result: after the arrow, or the last types given. */
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
    while (text_accept(p, "%")) {
        result_name r = {text_word(p), 1};
        if (p->at < p->end && *p->at == ':') {
            p->at++;
            for (r.count = 0; p->at < p->end && text_is_digit(*p->at) && r.count < 1 << 16; p->at++)
                r.count = 10 * r.count + (*p->at - '0');
        }
        if (r.count > 1 << 16 || result_count > 1 << 20)
            text_bad(p, "an operator has too many results");
        result_count += r.count;
        *(result_name *)ARENA_PUSH(p->arena, &results) = r;
        if (!text_accept(p, ","))
            break;
    }
    if (results.count)
        text_expect(p, "=");
    str name = text_peek(p) == '"' ? text_quoted(p) : text_word(p);
    if (!name.len)
        text_bad(p, "the text is cut off, or is not MLIR");
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
    text_word(p);
    if (!text_accept(p, "("))
        return;
    r->first_argument = p->m->values.count;
    while (text_accept(p, "%")) {
        str name = text_word(p);
        text_expect(p, ":");
        hlo_value v = hlo_new_value(p->m, text_type(p), name);
        define(p, name, v, 1);
        r->argument_count++;
        skip_location(p);
        if (!text_accept(p, ","))
            break;
    }
    text_expect(p, ")");
}

static void read_region_body(parser *p, hlo_region *r)
{
    text_expect(p, "{");
    while (!text_accept(p, "}")) {
        if (text_accept(p, "^")) {
            if (r->ops.count || r->argument_count)
                text_bad(
                    p, "a region has several blocks with branches between them, which StableHLO programs do not have");
            read_block_arguments(p, r);
            text_expect(p, ":");
            continue;
        }
        if (p->at >= p->end)
            text_bad(p, "a region is not closed");
        read_operator(p, r);
    }
}

static const hlo_region *read_region(parser *p, const str *arguments, int32_t argument_count, const type_list *types)
{
    hlo_region *r = ARENA_NEW(p->arena, hlo_region);
    int32_t mark = p->scope.count;
    if (++p->depth > MAX_NESTING)
        text_bad(p, "regions are nested too deeply");
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

/* ---- functions and modules --------------------------------------------------------------------------------------- */

static void read_function(parser *p)
{
    bool is_private = false;
    draft ignored = {0};
    while (text_peek(p) != '@') {
        str w = text_word(p);
        if (!w.len)
            text_bad(p, "a function has no name");
        is_private |= str_is(w, "private");
    }
    p->at++;
    hlo_function *f = hlo_new_function(p->m, text_symbol(p));
    int32_t mark = p->scope.count;
    f->is_private = is_private;
    f->body.first_argument = p->m->values.count;
    text_expect(p, "(");
    while (text_peek(p) != ')') {
        str name = STR("");
        if (text_accept(p, "%")) {
            name = text_word(p);
            text_expect(p, ":");
        }
        hlo_value v = hlo_new_value(p->m, text_type(p), name);
        if (name.len)
            define(p, name, v, 1);
        f->body.argument_count++;
        if (text_accept(p, "{")) {
            draft d = {0};
            text_attr_members(p, &d, '}');
            for (int32_t i = 0; i < d.attrs.count; i++)
                if (str_is(d.attrs.items[i].name, "jax.global_constant"))
                    hlo_at(p->m, v)->label = d.attrs.items[i].text;
        }
        if (text_at_word(p, "loc")) {
            text_word(p);
            read_location(p, &ignored);
            if (!hlo_at(p->m, v)->label.len)
                hlo_at(p->m, v)->label = ignored.location;
        }
        if (!text_accept(p, ","))
            break;
    }
    text_expect(p, ")");
    if (text_accept(p, "->")) {
        type_list results = {0};
        if (text_accept(p, "(")) {
            text_types(p, &results, ')');
            text_expect(p, ")");
        } else {
            text_type(p);
        }
    }
    if (text_accept_word(p, "attributes"))
        text_skip_brackets(p);
    if (text_peek(p) == '{') {
        f->has_body = true;
        read_region_body(p, &f->body);
    }
    if (text_accept_word(p, "loc"))
        text_skip_brackets(p);
    leave_scope(p, mark);
}

/* #loc1 = loc(…), #map = affine_map<…> */
static void read_alias(parser *p)
{
    const char *from = p->at++;
    text_word(p);
    str name = {from, (size_t)(p->at - from)};
    text_expect(p, "=");
    if (text_accept_word(p, "loc") && text_peek(p) == '(') {
        const char *open = p->at;
        text_skip_brackets(p);
        names_put(&p->location_names, name, p->locations.count);
        *(str *)ARENA_PUSH(p->arena, &p->locations) = (str){open + 1, (size_t)(p->at - open) - 2};
        return;
    }
    while (p->at < p->end && *p->at != '\n')
        p->at++;
}

static void read_definitions(parser *p)
{
    hlo_region loose = {0}; /* collects operators outside of functions, such as globals of other dialects */
    bool is_module = false;
    for (;;) {
        char c = text_peek(p);
        if (c == '\0' && p->at >= p->end)
            return;
        if (c == '#') {
            read_alias(p);
        } else if (c == '}') {
            p->at++;
            if (text_accept_word(p, "loc"))
                text_skip_brackets(p);
        } else if (text_at_word(p, "module") || text_at_word(p, "builtin.module")) {
            text_word(p);
            if (text_accept(p, "@")) {
                str name = text_symbol(p);
                if (!is_module)
                    p->m->name = name;
            }
            is_module = true;
            if (text_accept_word(p, "attributes"))
                text_skip_brackets(p);
            text_expect(p, "{");
        } else if (text_at_word(p, "func.func") || text_at_word(p, "func")) {
            text_word(p);
            read_function(p);
        } else if (str_starts((str){p->at, (size_t)(p->end - p->at)}, "{-#")) {
            return; /* the resources begin here: constants that are too large for inline text */
        } else if (text_is_letter(c)) {
            /* skips a line such as "util.global private @name … = … : type" */
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (c == '"') {
            text_bad(p, "modules and functions in MLIR's generic form are not supported; write the program with pretty "
                        "printing");
        } else {
            read_operator(p, &loose);
        }
    }
}

/* Returns the string at the start of a location, which is the user's name for the operator. File names do not count. */
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
    char c = text_peek(&p);
    if (c != '#' && c != '%' && !text_at_word(&p, "module") && !text_at_word(&p, "builtin.module") &&
        !text_at_word(&p, "func.func") && !text_at_word(&p, "func") && !text_at_word(&p, "util.global"))
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
