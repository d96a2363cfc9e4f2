#include "graph/bind.h"
#include "base/names.h"
#include "graph/suggest.h"

#include <stdio.h>

/* ---- names --------------------------------------------------------------------------------------------------- */

/* Splits the first term off a sum, because exporters name dimensions by sums ("past_sequence_length +
 * sequence_length"). Returns false at the end. */
static bool next_part(str *rest, str *part)
{
    if (!rest->ptr)
        return false;
    const char *plus = memchr(rest->ptr, '+', rest->len);
    *part = (str){rest->ptr, plus ? (size_t)(plus - rest->ptr) : rest->len};
    *rest = plus ? (str){plus + 1, rest->len - part->len - 1} : (str){0};
    while (part->len && part->ptr[0] == ' ')
        *part = (str){part->ptr + 1, part->len - 1};
    while (part->len && part->ptr[part->len - 1] == ' ')
        part->len--;
    return true;
}

const char *bind_symbol_name(const sooth_model *model, int32_t index)
{
    const num_table *t = &model->source.symbols;
    return index < t->expressions.count ? num_text(t, INT64_MIN + 1 + index) : NULL;
}

static bool has_symbol(const sooth_model *model, const char *name)
{
    const char *text;
    for (int32_t i = 0; (text = bind_symbol_name(model, i)); i++) {
        str rest = str_of(text), part;
        if (strcmp(text, name) == 0)
            return true;
        while (next_part(&rest, &part))
            if (str_is(part, name))
                return true;
    }
    return false;
}

_Noreturn static void fail_without_symbol(sooth_model *model, const char *name)
{
    char list[300] = "";
    size_t len = 0;
    const char *text;
    for (int32_t i = 0; (text = bind_symbol_name(model, i)) && len + strlen(text) + 8 < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s'%s'", i ? ", " : "", text);
    if (!len)
        fail_with(&model->fail, SOOTH_ERROR_USAGE,
                  "no dimension is called '%.100s'; all dimensions of this model are fixed", name);
    fail_with(&model->fail, SOOTH_ERROR_USAGE, "no dimension is called '%.100s'; the model has %s%s", name, list,
              text ? " …" : "");
}

static const sooth_shape_binding *shape_for(const sooth_options *options, str input)
{
    for (size_t i = 0; options && i < options->shape_count; i++)
        if (str_is(input, options->shapes[i].input))
            return &options->shapes[i];
    return NULL;
}

static void check_shape(sooth_model *model, const sooth_shape_binding *shape)
{
    const source *s = &model->source;
    fail *f = &model->fail;
    const value *found = NULL;
    for (int32_t k = 0; k < s->main.inputs.count && !found; k++) {
        const value *v = &s->values.items[s->main.inputs.items[k]];
        found = str_is(v->name, shape->input) ? v : NULL;
    }
    if (!found)
        fail_with(f, SOOTH_ERROR_USAGE, "no input is called '%.100s'; 'sooth inspect' shows the inputs", shape->input);
    for (size_t k = 0; k < shape->rank; k++)
        if (shape->dims[k] < SOOTH_AS_IN_FILE)
            fail_with(f, SOOTH_ERROR_USAGE, "dimension %zu of input '%.100s' cannot be %lld", k, shape->input,
                      (long long)shape->dims[k]);
    for (size_t k = 1; k < shape->rank && (size_t)found->rank != shape->rank; k++)
        if (shape->dims[k] < 0)
            fail_with(
                f, SOOTH_ERROR_USAGE,
                "dimension %zu of input '%.100s' needs a number: the file has no shape with %zu dimensions for it", k,
                shape->input, shape->rank);
    if (shape->rank > MAX_RANK)
        fail_with(f, SOOTH_ERROR_USAGE, "input '%.100s' cannot have %zu dimensions", shape->input, shape->rank);
}

void bind_check(sooth_model *model, const sooth_options *options)
{
    fail *f = &model->fail;
    if (options->batch < 0)
        fail_with(f, SOOTH_ERROR_USAGE, "the batch cannot be %lld; give a number of at least 1",
                  (long long)options->batch);
    for (size_t i = 0; i < options->dim_count; i++) {
        if (!has_symbol(model, options->dims[i].name))
            fail_without_symbol(model, options->dims[i].name);
        if (options->dims[i].value < 0)
            fail_with(f, SOOTH_ERROR_USAGE, "dimension '%.100s' cannot be %lld; give a number of at least 0",
                      options->dims[i].name, (long long)options->dims[i].value);
    }
    for (size_t i = 0; i < options->shape_count; i++)
        check_shape(model, &options->shapes[i]);
}

/* ---- dimensions ---------------------------------------------------------------------------------------------- */

static bool is_number(str s, num *number)
{
    *number = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9' || *number > INT32_MAX)
            return false;
        *number = *number * 10 + (s.ptr[i] - '0');
    }
    return s.len > 0;
}

/* True if the batch replaces the first dimension of this shape. */
static bool has_given_batch(const binding *b, const sooth_shape_binding *given)
{
    return b->batch && given->rank && given->dims[0] == b->given_batch;
}

/* Returns the size of dimension `name` from the shapes in the options; NUM_UNKNOWN if it is missing or ambiguous. */
static num named_in_shapes(const binding *b, str name)
{
    const source *s = &b->model->source;
    num found = NUM_UNKNOWN;
    for (int32_t k = 0; b->options && b->options->shape_count && k < s->main.inputs.count; k++) {
        const value *v = &s->values.items[s->main.inputs.items[k]];
        const sooth_shape_binding *given = shape_for(b->options, v->name);
        for (int i = 0; given && (size_t)v->rank == given->rank && i < v->rank; i++) {
            const char *text = num_text(&s->symbols, v->dims[i]);
            if (!text || !str_is(name, text) || given->dims[i] < 0)
                continue;
            num dim = i == 0 && has_given_batch(b, given) ? b->batch : given->dims[i];
            if (found != NUM_UNKNOWN && found != dim)
                return NUM_UNKNOWN; /* Front ends may give one name to different dimensions. */
            found = dim;
        }
    }
    return found;
}

/* Size of a named dimension: from the options, else from the source's defaults, else its symbol. */
static num named(const binding *b, str name)
{
    const sooth_options *o = b->options;
    const source *from = &b->model->source;
    for (size_t i = 0; o && i < o->dim_count; i++)
        if (str_is(name, o->dims[i].name))
            return o->dims[i].value;
    num shaped = named_in_shapes(b, name);
    if (shaped != NUM_UNKNOWN)
        return shaped;
    for (int32_t i = 0; i < from->defaults.count; i++)
        if (str_eq(name, from->defaults.items[i].name))
            return from->defaults.items[i].value;
    num symbol = num_symbol(&b->model->net.nums, name);
    return symbol == b->batch_symbol && symbol != NUM_UNKNOWN ? b->batch : symbol;
}

num bind_dim(const binding *b, num dim)
{
    const char *text = num_text(&b->model->source.symbols, dim);
    if (!text)
        return dim;
    num whole = named(b, str_of(text)), sum = 0, number;
    if (num_known(whole) || !strchr(text, '+'))
        return whole;
    str rest = str_of(text), part;
    while (next_part(&rest, &part)) {
        if (!part.len)
            return whole;
        sum = num_add(&b->model->net.nums, sum, is_number(part, &number) ? number : named(b, part));
    }
    return sum == NUM_UNKNOWN ? whole : sum;
}

/* ---- inputs -------------------------------------------------------------------------------------------------- */

/* The batch is the first dimension of the first input that has dimensions. It binds that dimension if it is open, or
 * replaces its number, in all inputs whose first dimension is the same. */
static void bind_batch(binding *b)
{
    const source *s = &b->model->source;
    network *net = &b->model->net;
    bool is_given = false, is_bound = false;
    b->batch_symbol = NUM_UNKNOWN;
    b->given_batch = NO_DIM;
    for (int32_t i = 0; b->batch && i < s->main.inputs.count; i++) {
        const value *v = &s->values.items[s->main.inputs.items[i]];
        const sooth_shape_binding *given = shape_for(b->options, v->name);
        if (given && given->rank && !is_given) {
            b->given_batch = given->dims[0];
            is_given = true;
        }
        if (v->is_initializer || v->rank < 1 ||
            (given && (given->rank != (size_t)v->rank || !has_given_batch(b, given))))
            continue;
        num dim = bind_dim(b, v->dims[0]);
        if (num_symbolic(dim)) {
            if (!b->at_file_batch)
                b->batch_symbol = dim;
            return;
        }
        bool is_fixed = dim_known(v->dims[0]);
        if (is_fixed && v->dims[0] > 0 && v->dims[0] != b->batch && !is_bound && !b->at_file_batch) {
            net->batch_from = v->dims[0];
            net->batch_to = b->batch;
        }
        if (is_fixed && !given)
            return;
        is_bound |= given != NULL;
    }
    if (b->batch && !is_given)
        fail_with(&b->model->fail, SOOTH_ERROR_USAGE,
                  "no input has an unbound first dimension that a batch of %lld could bind; use --shape or --dim alone",
                  (long long)b->batch);
}

int64_t bind_batch_of_shapes(const sooth_model *model, const sooth_options *options)
{
    const source *s = &model->source;
    const value *first = s->main.inputs.count ? &s->values.items[s->main.inputs.items[0]] : NULL;
    const sooth_shape_binding *given = first ? shape_for(options, first->name) : NULL;
    bool replaces = given && given->rank > 1 && (size_t)first->rank == given->rank && dim_known(first->dims[0]) &&
                    given->dims[0] > 0 && given->dims[0] != first->dims[0];
    return replaces ? given->dims[0] : 0;
}

/* Binds one dimension of an input whose shape is in the options. */
static num given_dim(const binding *b, const value *declared, const sooth_shape_binding *given, int i)
{
    bool same_rank = (size_t)declared->rank == given->rank;
    if (i == 0 && has_given_batch(b, given) && !b->at_file_batch)
        return b->batch;
    if (i == 0 && has_given_batch(b, given) && same_rank && dim_known(declared->dims[0]))
        return declared->dims[0];
    if (given->dims[i] >= 0)
        return given->dims[i];
    return same_rank ? bind_dim(b, declared->dims[i]) : NUM_UNKNOWN;
}

static void check_contradiction(const binding *b, const value *declared, const sooth_shape_binding *given)
{
    for (int i = 0; i < declared->rank && (size_t)declared->rank == given->rank; i++) {
        num other = bind_dim(b, declared->dims[i]), dim = given_dim(b, declared, given, i);
        if (!dim_known(declared->dims[i]) && dim_known(other) && other != dim)
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE,
                      "dimension '%s' of input '%.*s' is given twice, as %lld and as %lld; give it once",
                      num_text(&b->model->source.symbols, declared->dims[i]), STR_ARG(declared->name), (long long)dim,
                      (long long)other);
    }
}

static void bind_input(binding *b, value_id id)
{
    network *net = &b->model->net;
    const value *declared = &b->model->source.values.items[id];
    value *v = &net->values.items[id];
    const sooth_shape_binding *given = shape_for(b->options, declared->name);
    v->is_input = true;
    v->dtype = declared->dtype;
    if (given) {
        check_contradiction(b, declared, given);
        v->rank = (int8_t)given->rank;
        v->dims = ARENA_ARRAY(net->arena, num, given->rank);
        bool same_rank = declared->rank == v->rank;
        for (int i = 0; i < v->rank; i++) {
            v->dims[i] = given_dim(b, declared, given, i);
            if (same_rank && dim_known(declared->dims[i]) && declared->dims[i] != v->dims[i])
                b->overrides = true;
        }
        return;
    }
    v->rank = declared->rank;
    v->dims = declared->rank >= 0 ? arena_copy(net->arena, declared->dims, (size_t)declared->rank, sizeof(num)) : NULL;
    for (int i = 0; i < v->rank; i++)
        v->dims[i] = bind_dim(b, v->dims[i]);
    if (net->batch_from && v->rank > 0 && v->dims[0] == net->batch_from && v->kind == VALUE_TENSOR) {
        v->dims[0] = net->batch_to;
        b->overrides = true;
    }
}

/* Skips initializers, which old files list among the inputs. */
void bind_inputs(binding *b)
{
    network *net = &b->model->net;
    const graph *g = &b->model->source.main;
    bind_batch(b);
    for (int32_t i = 0; i < g->inputs.count; i++) {
        value_id id = g->inputs.items[i];
        if (net->values.items[id].is_initializer && !shape_for(b->options, net->values.items[id].name))
            continue;
        net->values.items[id].is_initializer = false;
        net->values.items[id].tensor = NULL;
        bind_input(b, id);
        *(int32_t *)ARENA_PUSH(net->arena, &net->inputs) = id;
    }
}

static void add_remedy(network *net, const char *option)
{
    if (!net->remedy)
        net->remedy = option;
    else if (!strstr(net->remedy, option))
        net->remedy = arena_printf(net->arena, "%s and %s", net->remedy, option).ptr;
}

/* True if the file's framework defaults to channels last. */
static bool is_channels_last(const binding *b)
{
    static const char *const FORMATS[] = {"tensorflow", "keras", "tflite", "tfjs"};
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (str_starts(b->model->source.format, FORMATS[i]))
            return true;
    return false;
}

/* Returns the command-line option that binds this dimension; NULL for --dim. */
static const char *own_option(const binding *b, str name, num batch)
{
    return named(b, name) == batch ? "--batch" : str_is(name, "seq") ? "--seq" : str_is(name, "past") ? "--past" : NULL;
}

/* True for a name that a front end invents for an unnamed dimension ("x[2]"). */
static bool is_made_name(const value *input, int axis, const char *text)
{
    char end[16];
    snprintf(end, sizeof end, "[%d]", axis);
    str name = str_of(text);
    return str_ends(name, end) && str_eq((str){name.ptr, name.len - strlen(end)}, input->name);
}

/* Suggested sizes. A dimension shared by several inputs has one size. */
typedef struct suggestions {
    struct suggestion {
        str name;
        long long size;
    } * items;
    int32_t count, capacity;
    names by_name;
} suggestions;

/* Suggests a size for a dimension; `name` may be empty. Sets `is_new` to false if the dimension occurred before. */
static long long suggest(const binding *b, suggestions *made, const value *declared, int axis, str name, bool *is_new)
{
    int32_t known = name.len ? names_get(&made->by_name, name, -1) : -1;
    *is_new = known < 0;
    if (known >= 0)
        return made->items[known].size;
    long long size = suggest_dim(declared, axis, name, is_channels_last(b));
    if (name.len) {
        names_put(&made->by_name, name, made->count);
        *(struct suggestion *)ARENA_PUSH(b->model->net.arena, made) = (struct suggestion){name, size};
    }
    return size;
}

/* Records a name inside the expression of an open input dimension. */
static void note_name(const binding *b, suggestions *made, const value *declared, int axis, str name, num batch)
{
    network *net = &b->model->net;
    const char *own = own_option(b, name, batch);
    bool is_batch = own && strcmp(own, "--batch") == 0;
    bool is_new;
    long long size = suggest(b, made, declared, axis, name, &is_new);
    if (!is_new)
        return;
    if (is_batch)
        size = made->items[made->count - 1].size = 1;
    const char *any = arena_printf(net->arena, "--dim '%.*s=%lld'", STR_ARG(name), size).ptr;
    if (own)
        own = arena_printf(net->arena, "%s %lld", own, size).ptr;
    network_note(net, "dimension '%.*s' is not bound: use %s%s%s, for example", STR_ARG(name), own ? own : "",
                 own ? " or " : "", any);
    add_remedy(net, own ? own : any);
}

/* Records an input without dimension names that could be bound. */
static void note_nameless(const binding *b, suggestions *made, const value *declared, dtype type)
{
    network *net = &b->model->net;
    value typed = *declared;
    if (typed.dtype == DT_UNKNOWN) /* Readers of the input may imply its type. */
        typed.dtype = type;
    str shape = {"", 0};
    for (int i = 0; i < declared->rank; i++) {
        num dim = bind_dim(b, declared->dims[i]);
        const char *text = num_text(&b->model->source.symbols, declared->dims[i]);
        bool is_new;
        if (!num_known(dim))
            dim = suggest(b, made, declared, i, str_of(text && !is_made_name(declared, i, text) ? text : ""), &is_new);
        shape = arena_printf(net->arena, "%s%s%lld", shape.ptr, i ? "," : "", (long long)dim);
    }
    const char *option = arena_printf(net->arena, "--shape '%.*s=%s'", STR_ARG(declared->name),
                                      declared->rank < 0 ? suggest_shape(&typed, is_channels_last(b)) : shape.ptr)
                             .ptr;
    network_note(net, "the shape of input '%.*s' is not %s: use %s, for example", STR_ARG(declared->name),
                 declared->rank < 0 ? "known" : "complete", option);
    add_remedy(net, option);
}

void bind_note_unbound(const binding *b)
{
    network *net = &b->model->net;
    const value *first = net->inputs.count ? &net->values.items[net->inputs.items[0]] : NULL;
    num batch = first && first->rank > 0 ? first->dims[0] : NUM_UNKNOWN;
    suggestions made = {0};
    names_init(&made.by_name, net->arena);
    for (int32_t i = 0; i < net->inputs.count; i++) {
        const value *declared = &b->model->source.values.items[net->inputs.items[i]];
        const sooth_shape_binding *given = shape_for(b->options, declared->name);
        if (given && given->rank != (size_t)declared->rank)
            continue; /* check_shape() ensures that only the batch is open. */
        bool is_nameless = declared->rank < 0 && declared->kind == VALUE_TENSOR;
        for (int k = 0; k < declared->rank; k++) {
            num dim = bind_dim(b, declared->dims[k]);
            const char *text = num_text(&b->model->source.symbols, declared->dims[k]);
            if (given && given->dims[k] >= 0)
                continue;
            bool has_name = text && (dim == batch || !is_made_name(declared, k, text));
            is_nameless |= !has_name && !num_known(dim);
            if (!has_name || !num_symbolic(dim))
                continue;
            str rest = str_of(text), part;
            num number;
            while (next_part(&rest, &part))
                if (!is_number(part, &number) && num_symbolic(named(b, part)))
                    note_name(b, &made, declared, k, part, batch);
        }
        if (is_nameless)
            note_nameless(b, &made, declared, net->values.items[net->inputs.items[i]].dtype);
    }
}
