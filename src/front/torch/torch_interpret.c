/* torch_interpret.c: interprets a TorchScript program for given dimensions and writes its operators as nodes.
 *
 * Numbers, lists and strings are computed; tensors are only shapes. A branch is taken if its condition is known. If
 * the condition depends on data, a branch that raises is avoided, otherwise the first is taken, with a note. A loop
 * that depends on data runs once. */
#include "base/nesting.h"
#include "front/torch/torch_script.h"
#include "graph/bind.h"
#include "graph/infer.h"

#include <math.h>

enum { MAX_STEPS = 200000, MAX_CALL_ARGUMENTS = 64 };

typedef struct interpreter {
    torch torch;
    const torch_script *script;
    int depth; /* nesting of calls, blocks and expressions */
    int32_t steps;
    bool noted_branch, noted_loop;
} interpreter;

typedef struct frame {
    names names;
    struct {
        torch_value *items;
        int32_t count, capacity;
    } values;
    torch_value result;
} frame;

static torch_value eval(interpreter *in, frame *f, const code *c);
static bool run_block(interpreter *in, frame *f, const code *block);

static _Noreturn void stop(interpreter *in, const char *what, str name)
{
    fail_with(&in->torch.model->fail, SOOTH_ERROR_INPUT,
              "the module's program cannot be interpreted: %s '%.*s', in module '%.*s'; save the module again", what,
              STR_ARG(name), STR_ARG(in->torch.module));
}

static void count_step(interpreter *in)
{
    if (++in->steps > MAX_STEPS)
        fail_with(&in->torch.model->fail, SOOTH_ERROR_INPUT,
                  "the module's program takes more than %d steps, in module '%.*s'; no real network does", MAX_STEPS,
                  STR_ARG(in->torch.module));
}

static void go_deeper(interpreter *in)
{
    if (++in->depth > MAX_NESTING)
        fail_with(&in->torch.model->fail, SOOTH_ERROR_INPUT,
                  "the module's program cannot be interpreted: calls, blocks and expressions are nested too deeply: %d "
                  "levels, in module '%.*s'; save the module again",
                  in->depth, STR_ARG(in->torch.module));
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

static void set_variable(interpreter *in, frame *f, str name, torch_value v)
{
    int32_t i = names_get(&f->names, name, -1);
    if (i < 0) {
        i = f->values.count;
        ARENA_PUSH(in->torch.arena, &f->values);
        names_put(&f->names, name, i);
    }
    f->values.items[i] = v;
}

/* Returns the current value: in-place operators replace tensors that variables and lists hold. */
static torch_value current(const interpreter *in, torch_value v)
{
    if (v.kind == TORCH_TENSOR)
        v.tensor = torch_current(&in->torch, v.tensor);
    return v;
}

static bool variable(const interpreter *in, const frame *f, str name, torch_value *v)
{
    int32_t i = names_get(&f->names, name, -1);
    if (i < 0)
        return false;
    *v = current(in, f->values.items[i]);
    return true;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* Copies the file's lists, so that changes made by a run do not affect the next one. */
static torch_value own_copy(torch *t, torch_value v)
{
    if (v.kind == TORCH_LIST) {
        torch_value copy = torch_new_list(t, TORCH_LIST, v.list->count);
        if (v.list->count)
            memcpy(copy.list->items, v.list->items, (size_t)v.list->count * sizeof *v.list->items);
        return copy;
    }
    if (v.kind == TORCH_DICT) {
        torch_dict *d = ARENA_NEW(t->arena, torch_dict);
        for (int32_t i = 0; i < v.dict->count; i++)
            *(torch_pair *)ARENA_PUSH(t->arena, d) = v.dict->items[i];
        return (torch_value){.kind = TORCH_DICT, .dict = d};
    }
    return v;
}

static torch_value attribute(interpreter *in, torch_value object, str name)
{
    torch *t = &in->torch;
    if (object.kind == TORCH_OBJECT) {
        bool found;
        torch_value v = torch_attribute(object.object, name, &found);
        if (found && object.object->is_named && str_is(name, "training"))
            return torch_bool(false); /* always inference, whatever mode was saved */
        if (found)
            return object.object->is_named ? own_copy(t, v) : v;
        stop(in, "an object has no attribute", name);
    }
    if (object.kind == TORCH_TENSOR) {
        torch_argument self = {{0}, object};
        torch_value v;
        if (torch_builtin(t, name, &self, 1, &v))
            return v;
        return torch_aten(t, str_is(name, "T") || str_is(name, "mT") ? STR("t") : name, &self, 1);
    }
    return str_is(name, "value") ? object : torch_unknown(); /* a member of an Enum is represented by its value */
}

/* Returns an element of a ModuleList or ModuleDict, whose attributes are named "0", "1" …, or by keys. */
static bool module_at(interpreter *in, torch_value list, torch_value index, torch_value *module)
{
    arena *a = in->torch.arena;
    bool found = list.object->is_named && (index.kind == TORCH_TEXT || index.kind == TORCH_INT);
    num place = index.kind == TORCH_INT ? index.integer : 0, count = 0;
    for (bool more = found && place < 0; more; count += more)
        torch_attribute(list.object, arena_printf(a, "%lld", (long long)count), &more);
    str name =
        index.kind == TORCH_TEXT ? index.text : arena_printf(a, "%lld", (long long)(place < 0 ? place + count : place));
    if (found)
        torch_attribute(list.object, name, &found);
    if (found)
        *module = attribute(in, list, name);
    return found;
}

static torch_value item(interpreter *in, torch_value v, torch_value index)
{
    torch_value module;
    if (v.kind == TORCH_OBJECT && module_at(in, v, index, &module))
        return module;
    if (v.kind == TORCH_OBJECT) { /* a named tuple */
        int i = torch_axis(index.kind == TORCH_INT ? index.integer : NUM_UNKNOWN, v.object->values.count);
        return i < 0 ? torch_unknown() : v.object->values.items[i];
    }
    if (torch_is_list(v)) {
        int i = torch_axis(index.kind == TORCH_INT ? index.integer : NUM_UNKNOWN, v.list->count);
        return i < 0 ? torch_unknown() : current(in, v.list->items[i]);
    }
    if (v.kind == TORCH_DICT) {
        for (int32_t i = 0; i < v.dict->count; i++) {
            torch_value key = v.dict->items[i].key;
            bool equal = key.kind == index.kind &&
                         (key.kind == TORCH_TEXT ? str_eq(key.text, index.text) : key.integer == index.integer);
            if (equal)
                return current(in, v.dict->items[i].value);
        }
        return torch_unknown();
    }
    if (v.kind == TORCH_TENSOR)
        return torch_aten(&in->torch, STR("select"), (torch_argument[]){{{0}, v}, {{0}, torch_int(0)}, {{0}, index}},
                          3);
    return torch_unknown();
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Joins nested attributes: "torch.nn.functional". Empty if the innermost is not a plain name, or is a variable. */
static str dotted(interpreter *in, const frame *f, const code *c)
{
    const code *parts[32];
    int count = 0;
    size_t length = 0;
    torch_value ignored;
    for (; c->kind == CODE_ATTRIBUTE && count < 31; c = c->first) {
        parts[count++] = c;
        length += c->text.len + 1;
    }
    if (c->kind != CODE_NAME || variable(in, f, c->text, &ignored))
        return (str){0};
    char *room = arena_room(in->torch.arena, length + c->text.len + 1, 1), *at = room;
    memcpy(at, c->text.ptr, c->text.len);
    at += c->text.len;
    while (count) {
        const code *part = parts[--count];
        *at++ = '.';
        memcpy(at, part->text.ptr, part->text.len);
        at += part->text.len;
    }
    *at = '\0';
    return (str){room, (size_t)(at - room)};
}

static str after(str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return str_starts(s, prefix) ? (str){s.ptr + n, s.len - n} : (str){0};
}

/* Calls a method; `self` is its first argument. */
static torch_value call_function(interpreter *in, const code *function, const torch_argument *arguments, int count)
{
    torch *t = &in->torch;
    go_deeper(in);
    frame f = {.result = torch_none()};
    names_init(&f.names, t->arena);
    int i = 0;
    const code *block = NULL;
    for (const code *p = function->first; p; p = p->next) {
        if (p->kind != CODE_PARAMETER) {
            block = p;
            continue;
        }
        torch_value v = torch_unknown();
        bool given = i < count && !arguments[i].name.len;
        if (given)
            v = arguments[i].value;
        for (int k = 0; k < count && !given; k++)
            if (arguments[k].name.len && str_eq(arguments[k].name, p->text)) {
                v = arguments[k].value;
                given = true;
            }
        if (!given && p->first->next->kind != CODE_PASS)
            v = eval(in, &f, p->first->next);
        set_variable(in, &f, p->text, v);
        i++;
    }
    str outer = t->module;
    if (count && arguments[0].value.kind == TORCH_OBJECT && arguments[0].value.object->is_named)
        t->module = arguments[0].value.object->path;
    run_block(in, &f, block);
    t->module = outer;
    in->depth--;
    return f.result;
}

static torch_value new_object(interpreter *in, const code *class, str name, const torch_argument *arguments, int count)
{
    torch *t = &in->torch;
    torch_object *o = ARENA_NEW(t->arena, torch_object);
    o->class_name = name;
    o->state = torch_none();
    names_init(&o->names, t->arena);
    int i = 0;
    for (const code *field = class ? class->first : NULL; field; field = field->next)
        if (field->kind == CODE_FIELD && i < count)
            torch_set_attribute(o, field->text, arguments[i++].value, t->arena);
    return (torch_value){.kind = TORCH_OBJECT, .object = o};
}

static void raise(interpreter *in, torch_value message)
{
    torch *t = &in->torch;
    str text = message.kind == TORCH_TEXT ? message.text : STR("an exception");
    if (!t->net->complaint)
        t->net->complaint =
            arena_printf(t->arena, "module '%.*s' raises \"%.*s\"", STR_ARG(t->module), STR_ARG(text)).ptr;
    network_note(t->net, "module '%.*s' raises \"%.*s\"", STR_ARG(t->module), STR_ARG(text));
}

/* xnnpack's packed layers hold weight, bias, the operator's arguments, and finally clamp bounds. */
static torch_value call_packed(interpreter *in, str name, torch_value x, torch_value packed)
{
    torch *t = &in->torch;
    if (packed.kind != TORCH_OBJECT || !torch_is_list(packed.object->state))
        stop(in, "a packed layer is malformed, at", name);
    const torch_list *state = packed.object->state.list;
    bool linear = str_starts(name, "linear");
    int used = linear ? 2 : str_starts(name, "conv2d_transpose") ? 7 : 6;
    if (state->count < used)
        stop(in, "a packed layer has too few parts, at", name);
    torch_argument arguments[8] = {{{0}, x}};
    static const char *const CONV[] = {"weight", "bias", "stride", "padding", "dilation", "groups"};
    static const char *const TRANSPOSE[] = {"weight",         "bias",     "stride", "padding",
                                            "output_padding", "dilation", "groups"};
    for (int i = 0; i < used; i++)
        arguments[1 + i] = (torch_argument){str_of(used == 7 ? TRANSPOSE[i] : CONV[i]), state->items[i]};
    torch_value y = torch_aten(t,
                               linear      ? STR("linear")
                               : used == 7 ? STR("conv_transpose2d")
                                           : STR("conv2d"),
                               arguments, used + 1);
    torch_value low = used < state->count ? state->items[used] : torch_none();
    torch_value high = used + 1 < state->count ? state->items[used + 1] : torch_none();
    if (low.kind == TORCH_NONE && high.kind == TORCH_NONE)
        return y;
    return torch_aten(t, STR("clamp"), (torch_argument[]){{{0}, y}, {{0}, low}, {{0}, high}}, 3);
}

static torch_value call_torch(interpreter *in, str name, const torch_argument *arguments, int count)
{
    torch *t = &in->torch;
    torch_value result;
    str op = after(name, "torch."), prim = after(name, "ops.prim.");
    if (str_is(prim, "RaiseException")) {
        raise(in, count ? arguments[0].value : torch_none());
        return torch_none();
    }
    if (str_starts(name, "ops.prepacked.") && count == 2)
        return call_packed(in, after(name, "ops.prepacked."), arguments[0].value, arguments[1].value);
    if (!op.len && prim.len)
        op = prim;
    if (!op.len && str_starts(name, "ops.aten."))
        op = after(name, "ops.aten.");
    if (!op.len && str_starts(name, "ops.torchvision."))
        op = after(name, "ops.torchvision.");
    if (op.len && torch_builtin(t, op, arguments, count, &result))
        return result;
    if (str_is(op, "ConstantMKLDNNTensor") && !in->noted_loop) {
        network_note(t->net, "torch.jit.optimize_for_inference removed convolution weights from the file, so costs are "
                             "unknown; save the module before that step");
        in->noted_loop = true;
    }
    if (prim.len && (str_is(prim, "ConstantMKLDNNTensor") || str_is(prim, "BroadcastMKLDNNTensors")))
        return count ? torch_unknown() : torch_none();
    if (!op.len || (prim.len && !str_starts(prim, "MKLDNN"))) { /* "ops.quantized.conv2d" → quantized::conv2d */
        str rest = after(name, "ops.");
        const char *dot = rest.len ? memchr(rest.ptr, '.', rest.len) : NULL;
        str space = {rest.ptr, dot ? (size_t)(dot - rest.ptr) : 0};
        op = dot ? arena_printf(t->kept, "%.*s::%.*s", STR_ARG(space), (int)(rest.len - space.len - 1), dot + 1) : name;
    }
    return torch_aten(t, op, arguments, count);
}

/* int(x), float(x), bool(x) */
static torch_value convert(interpreter *in, str type, torch_value v)
{
    if (v.kind == TORCH_TENSOR)
        v = torch_number(&in->torch, v.tensor);
    v.is_number_tensor = false;
    if (str_is(type, "int")) {
        if (v.kind == TORCH_REAL)
            return isfinite(v.real) && fabs(v.real) < 9e15 ? torch_int((num)v.real) : torch_unknown();
        v.kind = v.kind == TORCH_BOOL ? TORCH_INT : v.kind;
    } else if (str_is(type, "float")) {
        if ((v.kind == TORCH_INT || v.kind == TORCH_BOOL) && num_known(v.integer))
            return torch_real((double)v.integer);
        if (v.kind == TORCH_TEXT)
            return torch_real(str_starts(v.text, "-") ? -INFINITY : str_is(v.text, "inf") ? INFINITY : NAN);
        return v.kind == TORCH_REAL ? v : torch_unknown();
    } else if (v.kind == TORCH_INT) {
        return num_known(v.integer) ? torch_bool(v.integer != 0) : torch_unknown();
    }
    return v;
}

/* Runs one of Python's built-in functions; false for other names. */
static bool call_python(interpreter *in, frame *f, str name, const code *c, torch_value *result)
{
    const code *first = c->first->next, *second = first ? first->next : NULL;
    if (str_is(name, "annotate") || str_is(name, "unchecked_cast")) {
        *result = second ? eval(in, f, second) : torch_none();
    } else if (str_is(name, "uninitialized")) {
        *result = torch_none();
    } else if (str_is(name, "isinstance")) {
        torch_value v = first ? eval(in, f, first) : torch_none();
        bool wants_tensor = second && second->kind == CODE_NAME && str_is(second->text, "Tensor");
        bool wants_list = second && second->kind == CODE_INDEX;
        *result = wants_tensor ? torch_bool(v.kind == TORCH_TENSOR)
                  : wants_list ? torch_bool(torch_is_list(v))
                               : torch_unknown();
    } else if (first && (str_is(name, "int") || str_is(name, "float") || str_is(name, "bool"))) {
        *result = convert(in, name, eval(in, f, first));
    } else if (first && str_is(name, "str")) {
        torch_value v = eval(in, f, first);
        *result = v.kind == TORCH_INT && num_known(v.integer)
                      ? torch_text(arena_printf(in->torch.arena, "%lld", (long long)v.integer))
                      : v;
    } else if (str_is(name, "getattr") && second && second->kind == CODE_TEXT) {
        *result = attribute(in, eval(in, f, first), second->text);
    } else if (str_is(name, "print")) {
        *result = torch_none();
    } else {
        return false;
    }
    return true;
}

static int eval_arguments(interpreter *in, frame *f, const code *first, torch_argument *arguments, int count)
{
    for (const code *a = first; a; a = a->next) {
        if (count == MAX_CALL_ARGUMENTS)
            stop(in, "a call has too many arguments, in", in->torch.module);
        arguments[count++] = (torch_argument){a->key, eval(in, f, a)};
    }
    return count;
}

static torch_value call_named(interpreter *in, str name, const torch_argument *arguments, int count)
{
    if (!str_starts(name, "__torch__."))
        return call_torch(in, name, arguments, count);
    const code *function = torch_script_function(in->script, name);
    if (function)
        return call_function(in, function, arguments, count);
    const code *class = torch_script_class(in->script, name);
    if (!class && str_ends(name, ".__new__")) {
        name.len -= sizeof ".__new__" - 1;
        return new_object(in, NULL, name, NULL, 0);
    }
    if (!class)
        stop(in, "there is no function", name);
    return new_object(in, class, name, arguments, count);
}

static torch_value call(interpreter *in, frame *f, const code *c)
{
    const code *called = c->first;
    torch_argument *arguments = ARENA_ARRAY(in->torch.arena, torch_argument, (size_t)c->count + 1);
    torch_value v;
    count_step(in);
    if (called->kind == CODE_NAME && !variable(in, f, called->text, &v) && call_python(in, f, called->text, c, &v))
        return v;
    str name = dotted(in, f, called);
    if (name.len)
        return call_named(in, name, arguments, eval_arguments(in, f, called->next, arguments, 0));
    if (called->kind == CODE_ATTRIBUTE) { /* a method */
        torch_value self = eval(in, f, called->first);
        arguments[0] = (torch_argument){{0}, self};
        int count = eval_arguments(in, f, called->next, arguments, 1);
        if (self.kind == TORCH_OBJECT) {
            str method =
                arena_printf(in->torch.arena, "%.*s.%.*s", STR_ARG(self.object->class_name), STR_ARG(called->text));
            return call_named(in, method, arguments, count);
        }
        return call_torch(in, arena_printf(in->torch.arena, "torch.%.*s", STR_ARG(called->text)), arguments, count);
    }
    v = eval(in, f, called);
    if (v.kind != TORCH_FUNCTION)
        stop(in, "something that is not a function is called, in", in->torch.module);
    return call_named(in, v.text, arguments, eval_arguments(in, f, called->next, arguments, 0));
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static torch_value eval_list(interpreter *in, frame *f, const code *c)
{
    torch_value list = torch_new_list(&in->torch, c->kind == CODE_LIST ? TORCH_LIST : TORCH_TUPLE, c->count);
    int32_t i = 0;
    for (const code *x = c->first; x; x = x->next)
        list.list->items[i++] = eval(in, f, x);
    return list;
}

static torch_value eval_dict(interpreter *in, frame *f, const code *c)
{
    torch_dict *d = ARENA_NEW(in->torch.arena, torch_dict);
    for (const code *x = c->first; x && x->next; x = x->next->next) {
        torch_pair pair = {eval(in, f, x), torch_none()};
        pair.value = eval(in, f, x->next);
        *(torch_pair *)ARENA_PUSH(in->torch.arena, d) = pair;
    }
    return (torch_value){.kind = TORCH_DICT, .dict = d};
}

/* Finds the definition of an Enum member, "__torch__.layers.Format.NCHW"; NULL for other names. */
static const code *enum_member(const torch_script *s, str name)
{
    size_t length = name.len;
    while (length > 0 && name.ptr[length - 1] != '.')
        length--;
    if (!length)
        return NULL;
    const code *class = torch_script_class(s, (str){name.ptr, length - 1});
    if (!class)
        return NULL;
    for (const code *c = class->first; c; c = c->next)
        if (c->kind == CODE_MEMBER && str_eq(c->text, (str){name.ptr + length, name.len - length}))
            return c;
    return NULL;
}

static torch_value eval_attribute(interpreter *in, frame *f, const code *c)
{
    str name = dotted(in, f, c);
    if (!name.len)
        return attribute(in, eval(in, f, c->first), c->text);
    str constant = after(name, "CONSTANTS.c");
    if (constant.len) {
        num index = 0;
        for (size_t i = 0; i < constant.len && index < 1000000; i++)
            index = constant.ptr[i] >= '0' && constant.ptr[i] <= '9' ? index * 10 + (constant.ptr[i] - '0') : 1000000;
        if (torch_is_list(in->script->constants) && index < in->script->constants.list->count)
            return own_copy(&in->torch, in->script->constants.list->items[index]);
        stop(in, "there is no constant", name);
    }
    const code *member = enum_member(in->script, name);
    if (member)
        return eval(in, f, member->first);
    return (torch_value){.kind = TORCH_FUNCTION, .text = name};
}

static torch_value eval_item(interpreter *in, frame *f, const code *c)
{
    torch_value v = eval(in, f, c->first);
    return item(in, v, eval(in, f, c->first->next));
}

static torch_value eval_minus(interpreter *in, frame *f, const code *c)
{
    torch_value v = eval(in, f, c->first);
    if (v.kind == TORCH_REAL)
        return torch_real(-v.real);
    return v.kind == TORCH_INT && num_known(v.integer) ? torch_int(-v.integer) : torch_unknown();
}

static torch_value eval_inner(interpreter *in, frame *f, const code *c)
{
    torch_value v;
    switch (c->kind) {
    case CODE_NAME:
        if (!variable(in, f, c->text, &v))
            stop(in, "there is no variable", c->text);
        return v;
    case CODE_INT:
        return num_known(c->integer) ? torch_int(c->integer) : torch_unknown();
    case CODE_REAL:
        return torch_real(c->real);
    case CODE_TEXT:
        return torch_text(c->text);
    case CODE_BOOL:
        return torch_bool(c->integer);
    case CODE_LIST:
    case CODE_TUPLE:
        return eval_list(in, f, c);
    case CODE_DICT:
        return eval_dict(in, f, c);
    case CODE_CALL:
        return call(in, f, c);
    case CODE_ATTRIBUTE:
        return eval_attribute(in, f, c);
    case CODE_INDEX:
        return eval_item(in, f, c);
    case CODE_MINUS:
        return eval_minus(in, f, c);
    default:
        return torch_none();
    }
}

static torch_value eval(interpreter *in, frame *f, const code *c)
{
    go_deeper(in);
    torch_value v = eval_inner(in, f, c);
    in->depth--;
    return v;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Returns 1 for true, 0 for false, -1 if unknown. */
static int truth(interpreter *in, torch_value v)
{
    if (v.kind == TORCH_TENSOR) {
        num n = torch_item(&in->torch, v.tensor);
        return num_known(n) ? n != 0 : -1;
    }
    if (v.kind == TORCH_BOOL || v.kind == TORCH_INT)
        return num_known(v.integer) ? v.integer != 0 : -1;
    return v.kind == TORCH_NONE ? 0 : -1;
}

static bool raises(const code *block)
{
    for (const code *s = block->first; s; s = s->next) {
        const code *c = s->kind == CODE_EXPRESSION && s->first->kind == CODE_CALL ? s->first->first : NULL;
        if (c && c->kind == CODE_ATTRIBUTE && str_is(c->text, "RaiseException"))
            return true;
        if (s->kind == CODE_IF && raises(s->first->next) && raises(s->first->next->next))
            return true;
    }
    return false;
}

static bool run_if(interpreter *in, frame *f, const code *s)
{
    const code *yes = s->first->next, *no = yes->next;
    int decided = truth(in, eval(in, f, s->first));
    if (decided < 0) {
        decided = !raises(yes);
        if (decided && !raises(no) && !in->noted_branch) {
            in->noted_branch = true;
            network_note(in->torch.net,
                         "a branch in module '%.*s' depends on data or on unbound dimensions: the first branch is "
                         "taken, there and elsewhere",
                         STR_ARG(in->torch.module));
        }
    }
    return run_block(in, f, decided ? yes : no);
}

static void note_loop(interpreter *in)
{
    if (!in->noted_loop)
        network_note(in->torch.net, "a loop in module '%.*s' depends on data: it is counted once",
                     STR_ARG(in->torch.module));
    in->noted_loop = true;
}

/* Iterates over range(n) or a list. */
static bool run_for(interpreter *in, frame *f, const code *s)
{
    const code *over = s->first, *block = over->next;
    bool is_range = over->kind == CODE_CALL && over->first->kind == CODE_NAME && str_is(over->first->text, "range");
    num count = 1;
    torch_value list = torch_none();
    if (is_range && over->first->next) {
        torch_value v = eval(in, f, over->first->next);
        count = v.kind == TORCH_INT ? v.integer : NUM_UNKNOWN;
    } else {
        list = eval(in, f, over);
        count = torch_is_list(list) ? list.list->count : NUM_UNKNOWN;
    }
    if (!num_known(count)) {
        note_loop(in);
        count = 1;
    }
    for (num i = 0; i < count; i++) {
        count_step(in);
        torch_value v = is_range                                      ? torch_int(i)
                        : torch_is_list(list) && i < list.list->count ? list.list->items[i]
                                                                      : torch_unknown();
        set_variable(in, f, s->text, v);
        if (run_block(in, f, block))
            return true;
    }
    return false;
}

static bool run_while(interpreter *in, frame *f, const code *s)
{
    for (;;) {
        count_step(in);
        int decided = truth(in, eval(in, f, s->first));
        if (decided == 0)
            return false;
        if (decided < 0)
            note_loop(in);
        if (run_block(in, f, s->first->next))
            return true;
        if (decided < 0)
            return false;
    }
}

static void assign(interpreter *in, frame *f, const code *target, torch_value v)
{
    if (target->kind == CODE_NAME) {
        set_variable(in, f, target->text, v);
        return;
    }
    if (target->kind != CODE_ATTRIBUTE)
        return;
    torch_value object = eval(in, f, target->first);
    /* Ignores writes to objects of the file, which outlive a run (such as a flag that a warning was given). */
    if (object.kind == TORCH_OBJECT && !object.object->is_named)
        torch_set_attribute(object.object, target->text, v, in->torch.arena);
}

static void run_assignment(interpreter *in, frame *f, const code *s)
{
    const code *value = s->first;
    while (value->next)
        value = value->next;
    torch_value v = eval(in, f, value);
    if (!s->integer) {
        assign(in, f, s->first, v);
        return;
    }
    int32_t i = 0;
    for (const code *target = s->first; target != value; target = target->next, i++)
        assign(in, f, target,
               v.kind == TORCH_TENSOR || v.kind == TORCH_UNKNOWN ? torch_unknown() : item(in, v, torch_int(i)));
}

/* True after a return. */
static bool run_statements(interpreter *in, frame *f, const code *block)
{
    for (const code *s = block ? block->first : NULL; s; s = s->next) {
        count_step(in);
        bool returned = false;
        switch (s->kind) {
        case CODE_ASSIGN:
            run_assignment(in, f, s);
            break;
        case CODE_EXPRESSION:
            eval(in, f, s->first);
            break;
        case CODE_RETURN:
            f->result = s->first ? eval(in, f, s->first) : torch_none();
            return true;
        case CODE_IF:
            returned = run_if(in, f, s);
            break;
        case CODE_FOR:
            returned = run_for(in, f, s);
            break;
        case CODE_WHILE:
            returned = run_while(in, f, s);
            break;
        case CODE_BLOCK:
            returned = run_block(in, f, s);
            break;
        default:
            break;
        }
        if (returned)
            return true;
    }
    return false;
}

static bool run_block(interpreter *in, frame *f, const code *block)
{
    go_deeper(in);
    bool returned = run_statements(in, f, block);
    in->depth--;
    return returned;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void add_outputs(interpreter *in, torch_value v, int depth)
{
    enum { MAX_OUTPUT_DEPTH = 8 };
    if (depth > MAX_OUTPUT_DEPTH)
        return;
    if (v.kind == TORCH_TENSOR)
        elaborate_output(in->torch.model, v.tensor);
    for (int32_t i = 0; torch_is_list(v) && i < v.list->count; i++)
        add_outputs(in, v.list->items[i], depth + 1);
    for (int32_t i = 0; v.kind == TORCH_DICT && i < v.dict->count; i++)
        add_outputs(in, v.dict->items[i].value, depth + 1);
    for (int32_t i = 0; v.kind == TORCH_OBJECT && i < v.object->values.count; i++)
        add_outputs(in, v.object->values.items[i], depth + 1);
}

void torch_interpret(sooth_model *model, void *script)
{
    torch_script *s = script;
    interpreter in = {.torch = torch_start(model), .script = s};
    in.torch.expected = s->expected;
    torch_argument *arguments = ARENA_ARRAY(in.torch.arena, torch_argument, (size_t)s->argument_count + 1);
    arguments[0].value = s->root;
    for (int32_t i = 0; i < s->argument_count; i++) {
        torch_value v = s->arguments[i];
        if (v.kind == TORCH_INT && num_symbolic(v.integer)) /* a number that the user can bind like a dimension */
            v.integer = bind_dim(model->binding, v.integer);
        arguments[1 + i].value = own_copy(&in.torch, v);
    }
    add_outputs(&in, call_function(&in, s->forward, arguments, s->argument_count + 1), 0);
    s->expected_count = in.torch.expected_count;
}
