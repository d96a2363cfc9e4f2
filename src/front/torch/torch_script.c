/* torch_script.c: reads TorchScript archives (.pt, .ptl): a module's objects and code in a ZIP archive.
 *
 *   1. <root>/data.pkl: the module as a pickle; <root>/data/<n>: its tensors, which are not read
 *   2. <root>/constants.pkl, constants/<n>: a tuple that the code calls CONSTANTS.c0, c1 …
 *   3. <root>/code/__torch__/….py: methods and functions, in a subset of Python
 *   4. <root>/traced_inputs.pkl: the example inputs of traced modules: {"forward": […]}
 *   5. <root>/version or <root>/.data/version; <root>/bytecode.pkl for the lite interpreter, not read
 *
 * Scripted and frozen modules have no input shapes: --shape gives them. A first run finds which shapes the operators
 * require: a Conv2d needs four dimensions, and as many channels as its weight. */
#include "front/torch/torch_script.h"
#include "base/nesting.h"
#include "front/torch/torch_archive.h"
#include "graph/infer.h"

static const size_t MAX_CODE_BYTES = (size_t)16 << 20;

/* ---- where things are -------------------------------------------------------------------------------------------- */

/* Finds the folder that contains data.pkl and code/, with a trailing slash. */
static bool find_root(const zip *z, str *root)
{
    for (int32_t i = 0; i < z->count; i++) {
        str name = z->entries[i].name;
        static const char END[] = "data.pkl";
        if (!str_ends(name, END))
            continue;
        str before = {name.ptr, name.len - (sizeof END - 1)};
        if (before.len && before.ptr[before.len - 1] != '/')
            continue;
        for (int32_t k = 0; k < z->count; k++) {
            str other = z->entries[k].name;
            bool inside = other.len > before.len && memcmp(other.ptr, before.ptr, before.len) == 0;
            if (inside && str_starts((str){other.ptr + before.len, other.len - before.len}, "code/")) {
                *root = before;
                return true;
            }
        }
    }
    return false;
}

bool torch_script_has(const zip *z)
{
    str root;
    return find_root(z, &root);
}

static const zip_entry *entry_of(builder *b, const zip *z, str root, const char *name)
{
    return zip_find(z, arena_printf(b->arena, "%.*s%s", STR_ARG(root), name));
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

const code *torch_script_function(const torch_script *s, str name)
{
    int32_t i = names_get(&s->functions, name, -1);
    return i < 0 ? NULL : s->definitions.items[i];
}

const code *torch_script_class(const torch_script *s, str name)
{
    int32_t i = names_get(&s->classes, name, -1);
    return i < 0 ? NULL : s->definitions.items[i];
}

static void define(builder *b, torch_script *s, names *table, str name, const code *c)
{
    *(const code **)ARENA_PUSH(b->arena, &s->definitions) = c;
    names_put(table, name, s->definitions.count - 1);
}

/* "code/__torch__/nets/net.py" defines names that begin with "__torch__.nets.net.". */
static void read_code(builder *b, zip *z, const zip_entry *e, str root, torch_script *s)
{
    str path = {e->name.ptr + root.len + 5, e->name.len - root.len - 5 - 3};
    char *module = ARENA_ARRAY(b->arena, char, path.len + 1);
    memcpy(module, path.ptr, path.len);
    for (char *slash = module; (slash = strchr(slash, '/'));)
        *slash = '.';
    str text = zip_read(z, e, MAX_CODE_BYTES);
    for (const code *c = torch_parse(text, arena_str(b->arena, e->name).ptr, b->arena, &b->model->fail); c;
         c = c->next) {
        str name = arena_printf(b->arena, "%s.%.*s", module, STR_ARG(c->text));
        if (c->kind == CODE_FUNCTION)
            define(b, s, &s->functions, name, c);
        if (c->kind != CODE_CLASS)
            continue;
        define(b, s, &s->classes, name, c);
        for (const code *m = c->first; m; m = m->next)
            if (m->kind == CODE_FUNCTION)
                define(b, s, &s->functions, arena_printf(b->arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(m->text)), m);
    }
}

static void read_all_code(builder *b, zip *z, str root, torch_script *s)
{
    for (int32_t i = 0; i < z->count; i++) {
        const zip_entry *e = &z->entries[i];
        if (e->name.len > root.len + 8 && (!root.len || memcmp(e->name.ptr, root.ptr, root.len) == 0) &&
            str_ends(e->name, ".py") && str_starts((str){e->name.ptr + root.len, e->name.len - root.len}, "code/"))
            read_code(b, z, e, root, s);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct naming {
    builder *b;
    const torch_script *script;
    int32_t visits;
} naming;

static str joined(builder *b, str path, str name)
{
    return path.len ? arena_printf(b->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(name)) : arena_str(b->arena, name);
}

/* True if the class lists this attribute as a buffer. */
static bool is_buffer(const naming *n, const torch_object *o, str name)
{
    const code *class = torch_script_class(n->script, o->class_name);
    for (const code *field = class ? class->first : NULL; field; field = field->next)
        for (const code *x = field->kind == CODE_BUFFERS ? field->first->first : NULL; x; x = x->next)
            if (x->kind == CODE_TEXT && str_eq(x->text, name))
                return true;
    return false;
}

static void name_tensor(naming *n, value_id id, str path, bool is_parameter)
{
    value *x = build_at(n->b, id);
    if (!path.len || !memchr(x->name.ptr, '#', x->name.len) || !memchr(x->name.ptr, '/', x->name.len))
        return; /* already has a name */
    x->name = path;
    x->is_constant_node = !is_parameter;
}

static void name_parts(naming *n, torch_value v, str path, int depth);

static void name_object(naming *n, torch_object *o, str path, int depth)
{
    o->is_named = true;
    o->path = path;
    /* in the second round, because elements of lists usually have an attribute of their own */
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i <= o->names.mask; i++) {
            if (!o->names.slots[i].used)
                continue;
            str name = o->names.slots[i].name;
            torch_value v = o->values.items[o->names.slots[i].number];
            if (v.kind == TORCH_TENSOR)
                name_tensor(n, v.tensor, joined(n->b, path, name), !is_buffer(n, o, name));
            else if (torch_is_list(v) == (round == 1))
                name_parts(n, v, joined(n->b, path, name), depth + 1);
        }
    if (torch_is_list(o->state)) /* state of a packed layer: weight, bias … */
        for (int32_t i = 0; i < o->state.list->count; i++)
            if (o->state.list->items[i].kind == TORCH_TENSOR)
                name_tensor(n, o->state.list->items[i].tensor, joined(n->b, path, arena_printf(n->b->arena, "%d", i)),
                            true);
}

/* Names modules and tensors by their path. Objects that are reached twice keep the first name. */
static void name_parts(naming *n, torch_value v, str path, int depth)
{
    enum { MAX_VISITS = 4000000 };
    if (depth > MAX_NESTING || ++n->visits > MAX_VISITS)
        fail_with(&n->b->model->fail, SOOTH_ERROR_INPUT,
                  "the objects of the file contain each other in a cycle, at '%.*s'; save the module again",
                  STR_ARG(path));
    if (v.kind == TORCH_TENSOR) {
        name_tensor(n, v.tensor, path, str_starts(path, "CONSTANTS."));
    } else if (v.kind == TORCH_OBJECT && !v.object->is_named) {
        name_object(n, v.object, path, depth);
    } else if (torch_is_list(v)) {
        for (int32_t i = 0; i < v.list->count; i++)
            name_parts(n, v.list->items[i], joined(n->b, path, arena_printf(n->b->arena, "%d", i)), depth + 1);
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static bool is_type(const code *type, const char *name)
{
    return type->kind == CODE_NAME && str_is(type->text, name);
}

static str outer_type(const code *type)
{
    return type->kind == CODE_INDEX && type->first->kind == CODE_NAME ? type->first->text : (str){0};
}

/* Adds an input of the graph, with the example's shape if there is one. */
static torch_value add_input(builder *b, str name, torch_value example)
{
    value_id id = build_local(b, name);
    const value *like = example.kind == TORCH_TENSOR ? build_at(b, example.tensor) : NULL;
    if (like)
        build_type(b, id, like->dtype, like->rank, like->dims);
    build_input(b, id);
    return torch_tensor(id);
}

static torch_value argument_of(builder *b, const code *type, const code *otherwise, str name, torch_value example,
                               int depth)
{
    enum { MAX_TYPE_DEPTH = 8 };
    str outer = outer_type(type);
    if (is_type(type, "Tensor") || depth > MAX_TYPE_DEPTH)
        return add_input(b, name, example);
    if (str_is(outer, "Optional")) {
        if (otherwise->kind != CODE_PASS || example.kind == TORCH_NONE)
            return torch_none();
        return argument_of(b, type->first->next, otherwise, name, example, depth + 1);
    }
    if (str_is(outer, "List") || str_is(outer, "Tuple")) {
        const code *inner = type->first->next;
        bool tuple = str_is(outer, "Tuple") && inner->kind == CODE_TUPLE;
        int32_t count = torch_is_list(example) ? example.list->count : tuple ? inner->count : 1;
        torch_list *list = ARENA_NEW(b->arena, torch_list);
        const code *element = tuple ? inner->first : inner;
        for (int32_t i = 0; i < count && element; i++, element = tuple ? element->next : element) {
            /* Adds a list of inputs. A single element gets no number, because users think of it as a tensor. */
            str own = count == 1 && !tuple ? name : arena_printf(b->arena, "%.*s.%d", STR_ARG(name), i);
            torch_value part = torch_is_list(example) ? example.list->items[i] : torch_none();
            *(torch_value *)ARENA_PUSH(b->arena, list) = argument_of(b, element, otherwise, own, part, depth + 1);
        }
        return (torch_value){.kind = tuple ? TORCH_TUPLE : TORCH_LIST, .list = list};
    }
    if (str_is(outer, "Dict")) {
        torch_dict *d = ARENA_NEW(b->arena, torch_dict);
        for (int32_t i = 0; example.kind == TORCH_DICT && i < example.dict->count; i++) {
            torch_pair *pair = ARENA_PUSH(b->arena, d);
            pair->key = example.dict->items[i].key;
            pair->value =
                add_input(b, pair->key.kind == TORCH_TEXT ? pair->key.text : name, example.dict->items[i].value);
        }
        return (torch_value){.kind = TORCH_DICT, .dict = d};
    }
    if (otherwise->kind == CODE_PASS && is_type(type, "int")) /* bound like a dimension, as in --dim steps=5 */
        return example.kind == TORCH_INT ? example : torch_int(num_symbol(&b->source->symbols, name));
    return otherwise->kind == CODE_INT    ? torch_int(otherwise->integer)
           : otherwise->kind == CODE_BOOL ? torch_bool(otherwise->integer)
           : otherwise->kind == CODE_REAL ? torch_real(otherwise->real)
           : otherwise->kind == CODE_TEXT ? torch_text(otherwise->text)
           : otherwise->kind == CODE_PASS ? torch_unknown()
                                          : torch_none();
}

static void read_inputs(builder *b, torch_script *s, const torch_list *examples)
{
    int32_t i = -1;
    s->arguments = ARENA_ARRAY(b->arena, torch_value, (size_t)s->forward->count);
    for (const code *p = s->forward->first; p && p->kind == CODE_PARAMETER; p = p->next, i++) {
        if (i < 0) /* skips self */
            continue;
        torch_value example = examples && i < examples->count ? examples->items[i] : torch_none();
        s->arguments[s->argument_count++] = argument_of(b, p->first, p->first->next, p->text, example, 0);
    }
}

/* ---- what is certain about inputs -------------------------------------------------------------------------------- */

/* Declares an input without a shape by what its readers require, which the first run recorded (torch_expect). Each
 * open dimension gets a symbol. */
static bool declare_expected(builder *b, const torch_expected *expected, int32_t count)
{
    bool any = false;
    for (int32_t i = 0; i < count; i++) {
        value *v = build_at(b, expected[i].input);
        if (v->is_declared)
            continue;
        num dims[MAX_RANK];
        for (int k = 0; k < expected[i].rank; k++)
            dims[k] = k == 1 && expected[i].channels > 0
                          ? expected[i].channels
                          : num_symbol(&b->source->symbols, arena_printf(b->arena, "%.*s[%d]", STR_ARG(v->name), k));
        build_type(b, expected[i].input, expected[i].dtype, expected[i].rank, dims);
        any = true;
    }
    return any;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void read_version(builder *b, zip *z, str root)
{
    const zip_entry *e = entry_of(b, z, root, ".data/version");
    if (!e)
        e = entry_of(b, z, root, "version");
    str text = e ? zip_read(z, e, 4096) : (str){0};
    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' '))
        text.len--;
    b->source->producer = arena_printf(b->arena, "TorchScript version %.*s", STR_ARG(text));
}

static const torch_list *read_examples(builder *b, zip *z, str root)
{
    const zip_entry *e = entry_of(b, z, root, "traced_inputs.pkl");
    torch_value all = e ? torch_unpickle(b, z, e, root) : torch_none();
    for (int32_t i = 0; all.kind == TORCH_DICT && i < all.dict->count; i++) {
        const torch_pair *pair = &all.dict->items[i];
        if (pair->key.kind == TORCH_TEXT && str_is(pair->key.text, "forward") && torch_is_list(pair->value))
            return pair->value.list;
    }
    return NULL;
}

void torch_script_read(builder *b, zip *z)
{
    fail *f = &b->model->fail;
    str root = {0};
    find_root(z, &root);
    torch_script *s = ARENA_NEW(b->arena, torch_script);
    s->model = b->model;
    names_init(&s->functions, b->arena);
    names_init(&s->classes, b->arena);
    b->source->format = STR("torchscript");
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = (opset_import){STR(""), TORCH_OPSET};
    *(opset_import *)ARENA_PUSH(b->arena, &b->source->opsets) = (opset_import){STR(TORCH_DOMAIN), 1};
    read_version(b, z, root);
    build_open(b, &b->source->main, false);
    s->root = torch_unpickle(b, z, entry_of(b, z, root, "data.pkl"), root);
    const zip_entry *constants = entry_of(b, z, root, "constants.pkl");
    s->constants = constants ? torch_unpickle(b, z, constants, root) : torch_none();
    if (s->root.kind != TORCH_OBJECT)
        fail_with(f, SOOTH_ERROR_INPUT, "data.pkl holds no module; save it with torch.jit.save");
    read_all_code(b, z, root, s);
    str forward = arena_printf(b->arena, "%.*s.forward", STR_ARG(s->root.object->class_name));
    s->forward = torch_script_function(s, forward);
    if (!s->forward) /* The first of several overloads counts. */
        s->forward = torch_script_function(s, arena_printf(b->arena, "%.*s__0", STR_ARG(forward)));
    if (!s->forward)
        fail_with(f, SOOTH_ERROR_UNSUPPORTED, "the module has no method forward ('%.*s'), so it has no network",
                  STR_ARG(forward));
    naming n = {.b = b, .script = s};
    name_parts(&n, s->root, (str){0}, 0);
    name_parts(&n, s->constants, STR("CONSTANTS"), 0);
    read_inputs(b, s, read_examples(b, z, root));
    build_close(b);
    torch_expected expected[TORCH_MAX_EXPECTED];
    s->expected = expected;
    elaborate_begin(b, torch_interpret, s);
    int32_t count = s->expected_count;
    s->expected = NULL;
    if (!count)
        return;
    elaborate_undo(b->model);
    if (declare_expected(b, expected, count))
        elaborate_begin(b, torch_interpret, s);
    else
        infer_network(b->model, NULL);
}
