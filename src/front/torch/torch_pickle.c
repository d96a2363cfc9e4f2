/* torch_pickle.c: reads the pickles of TorchScript archives: their objects, and the shapes of their tensors.
 *
 * A pickle is a program for a stack machine that may call anything. This reader builds values and calls nothing. It
 * accepts the opcodes that PyTorch's pickler writes (protocol 2) and the few globals it names, and refuses
 * everything else. */
#include "front/torch/torch_script.h"

enum { MAX_STACK = 1 << 20 };
/* Limit on a pickle; the largest seen has 1.3 MB. */
static const size_t MAX_PICKLE_BYTES = (size_t)64 << 20;

typedef struct pickle {
    builder *b;
    zip *zip;
    arena *arena;
    str name;   /* name of the entry */
    str folder; /* directory of its storages: "<root>data/" */
    const uint8_t *begin, *at, *end;
    torch_list stack;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } marks;
    torch_list memo;
    int32_t tensor_count;
} pickle;

static _Noreturn void wrong(const pickle *p, const char *what)
{
    fail_with(&p->b->model->fail, SOOTH_ERROR_INPUT,
              "the pickle %.*s is damaged: %s, at byte %zu of it; save the module again", STR_ARG(p->name), what,
              (size_t)(p->at - p->begin));
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static const uint8_t *bytes(pickle *p, size_t count)
{
    if (count > (size_t)(p->end - p->at))
        wrong(p, "it ends too early");
    p->at += count;
    return p->at - count;
}

static uint64_t number(pickle *p, int count)
{
    const uint8_t *b = bytes(p, (size_t)count);
    uint64_t n = 0;
    for (int i = 0; i < count; i++)
        n |= (uint64_t)b[i] << (8 * i);
    return n;
}

static str line(pickle *p)
{
    const uint8_t *start = p->at, *end = memchr(start, '\n', (size_t)(p->end - start));
    if (!end)
        wrong(p, "a line does not end");
    p->at = end + 1;
    return (str){(const char *)start, (size_t)(end - start)};
}

static void push(pickle *p, torch_value v)
{
    if (p->stack.count >= MAX_STACK)
        wrong(p, "its stack grows without limit");
    *(torch_value *)ARENA_PUSH(p->arena, &p->stack) = v;
}

static torch_value pop(pickle *p)
{
    int32_t floor = p->marks.count ? p->marks.items[p->marks.count - 1] : 0;
    if (p->stack.count <= floor)
        wrong(p, "its stack is empty");
    return p->stack.items[--p->stack.count];
}

static torch_value *top(pickle *p)
{
    if (!p->stack.count)
        wrong(p, "its stack is empty");
    return &p->stack.items[p->stack.count - 1];
}

static torch_value new_list(pickle *p, torch_kind kind, const torch_value *items, int32_t count)
{
    torch_list *list = ARENA_NEW(p->arena, torch_list);
    list->items = arena_copy(p->arena, items, (size_t)count, sizeof *items);
    list->count = list->capacity = count;
    return (torch_value){.kind = kind, .list = list};
}

/* Pops everything pushed since the last mark, and the mark. */
static int32_t pop_mark(pickle *p, const torch_value **items)
{
    if (!p->marks.count)
        wrong(p, "a mark is missing");
    int32_t from = p->marks.items[--p->marks.count], count = p->stack.count - from;
    *items = count ? p->stack.items + from : p->stack.items; /* the stack's array is NULL as long as it is empty */
    p->stack.count = from;
    return count;
}

static void push_tuple(pickle *p, int32_t count)
{
    torch_value items[3];
    for (int32_t i = count; i-- > 0;)
        items[i] = pop(p);
    push(p, new_list(p, TORCH_TUPLE, items, count));
}

static void remember(pickle *p, uint64_t index)
{
    /* Limits indices, because every memo entry takes at least one byte of the pickle. */
    if (index > (uint64_t)(p->end - p->begin))
        wrong(p, "it stores a value under a number that is too large");
    while ((uint64_t)p->memo.count <= index)
        *(torch_value *)ARENA_PUSH(p->arena, &p->memo) = torch_none();
    p->memo.items[index] = *top(p);
}

static void recall(pickle *p, uint64_t index)
{
    if (index >= (uint64_t)p->memo.count)
        wrong(p, "it loads a value that was not stored");
    push(p, p->memo.items[index]);
}

static void append(pickle *p, const torch_value *items, int32_t count)
{
    if (top(p)->kind != TORCH_LIST)
        wrong(p, "it appends to something that is not a list");
    for (int32_t i = 0; i < count; i++)
        *(torch_value *)ARENA_PUSH(p->arena, top(p)->list) = items[i];
}

static void set_items(pickle *p, const torch_value *items, int32_t count)
{
    if (top(p)->kind != TORCH_DICT || count % 2)
        wrong(p, "it sets items of something that is not a dictionary");
    for (int32_t i = 0; i < count; i += 2)
        *(torch_pair *)ARENA_PUSH(p->arena, top(p)->dict) = (torch_pair){items[i], items[i + 1]};
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static dtype storage_type(str global)
{
    static const struct {
        const char *name;
        dtype type;
    } TYPES[] = {{"FloatStorage", DT_FLOAT32},
                 {"DoubleStorage", DT_FLOAT64},
                 {"HalfStorage", DT_FLOAT16},
                 {"LongStorage", DT_INT64},
                 {"BFloat16Storage", DT_BFLOAT16},
                 {"IntStorage", DT_INT32},
                 {"ShortStorage", DT_INT16},
                 {"CharStorage", DT_INT8},
                 {"ByteStorage", DT_UINT8},
                 {"BoolStorage", DT_BOOL},
                 {"QInt8Storage", DT_INT8},
                 {"QUInt8Storage", DT_UINT8},
                 {"QInt32Storage", DT_INT32},
                 {"ComplexFloatStorage", DT_COMPLEX64},
                 {"ComplexDoubleStorage", DT_COMPLEX128}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_ends(global, TYPES[i].name))
            return TYPES[i].type;
    return DT_UNKNOWN;
}

static int64_t whole(const pickle *p, torch_value v)
{
    if (v.kind != TORCH_INT || v.integer < 0)
        wrong(p, "a tensor has a size that is not a number");
    return v.integer;
}

/* Keeps the data of small integer tensors, which shape arithmetic may use. All others stay unread. */
static void find_data(pickle *p, tensor *x, str key, int64_t offset, int64_t elements, const torch_list *strides)
{
    int64_t expected = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (i >= strides->count || (x->dims[i] > 1 && strides->items[i].integer != expected))
            return;
        expected *= x->dims[i] ? x->dims[i] : 1;
    }
    if (!dtype_is_integer(x->dtype) || elements > MAX_FOLDED || offset > (int64_t)1 << 40)
        return;
    const zip_entry *e = zip_find(p->zip, arena_printf(p->arena, "%.*s%.*s", STR_ARG(p->folder), STR_ARG(key)));
    if (!e)
        return;
    const size_t most = (size_t)MAX_FOLDED * 8;
    str data = e->method == 0 ? zip_stored(p->zip, e) : e->bytes <= most ? zip_read(p->zip, e, most) : (str){0};
    size_t size = (size_t)dtype_bits(x->dtype) / 8, from = (size_t)offset * size, need = (size_t)elements * size;
    if (from > data.len || need > data.len - from)
        return;
    x->encoding = TENSOR_RAW;
    x->bytes = (const uint8_t *)data.ptr + from;
    x->size = need;
}

/* _rebuild_tensor_v2(storage, offset, size, stride, …) */
static torch_value rebuilt_tensor(pickle *p, const torch_list *args)
{
    if (args->count < 4 || args->items[0].kind != TORCH_TUPLE || !torch_is_list(args->items[2]) ||
        !torch_is_list(args->items[3]) || args->items[0].list->count < 5)
        wrong(p, "a tensor is malformed");
    const torch_list *storage = args->items[0].list, *size = args->items[2].list;
    if (storage->items[1].kind != TORCH_FUNCTION || storage->items[2].kind != TORCH_TEXT || size->count > MAX_RANK)
        wrong(p, "a tensor's storage is malformed");
    tensor *x = ARENA_NEW(p->arena, tensor);
    int64_t *dims = ARENA_ARRAY(p->arena, int64_t, (size_t)size->count), elements = 1;
    for (int32_t i = 0; i < size->count; i++) {
        dims[i] = whole(p, size->items[i]);
        if (__builtin_mul_overflow(elements, dims[i] ? dims[i] : 1, &elements) || elements > INT64_MAX / 64)
            wrong(p, "a tensor is larger than any memory");
    }
    *x = (tensor){.dtype = storage_type(storage->items[1].text),
                  .rank = (int8_t)size->count,
                  .dims = dims,
                  .encoding = TENSOR_ELSEWHERE};
    for (int32_t i = 0; i < size->count; i++)
        elements = dims[i] ? elements : 0;
    x->stored_bytes = elements * dtype_bits(x->dtype) / 8;
    for (int32_t i = 0; i < args->items[3].list->count; i++)
        whole(p, args->items[3].list->items[i]);
    find_data(p, x, storage->items[2].text, whole(p, args->items[1]), elements, args->items[3].list);
    value_id id = build_local(p->b, arena_printf(p->arena, "%.*s#%d", STR_ARG(p->folder), p->tensor_count++));
    build_constant(p->b, id, x);
    return torch_tensor(id);
}

/* ---- globals ----------------------------------------------------------------------------------------------------- */

static bool is_known(str global)
{
    static const char *const KNOWN[] = {
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor",
        "torch._utils._rebuild_qtensor",
        "torch._utils._rebuild_parameter",
        "collections.OrderedDict",
        "torch.jit._pickle.restore_type_tag",
        "torch.jit._pickle.build_intlist",
        "torch.jit._pickle.build_doublelist",
        "torch.jit._pickle.build_boollist",
        "torch.jit._pickle.build_tensorlist",
        "torch.per_tensor_affine",
        "torch.per_channel_affine",
        "torch.device",
    };
    if (str_starts(global, "__torch__.") || (str_starts(global, "torch.") && storage_type(global) != DT_UNKNOWN))
        return true;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (str_is(global, KNOWN[i]))
            return true;
    return false;
}

static void push_global(pickle *p)
{
    str module = line(p), name = line(p);
    str global = arena_printf(p->arena, "%.*s.%.*s", STR_ARG(module), STR_ARG(name));
    if (!is_known(global))
        fail_with(&p->b->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the pickle %.*s names '%.*s', which no TorchScript file does, at byte %zu of it; nothing of it was "
                  "run, and it should not be loaded elsewhere unless you trust it",
                  STR_ARG(p->name), STR_ARG(global), (size_t)(p->at - p->begin));
    push(p, (torch_value){.kind = TORCH_FUNCTION, .text = global});
}

static void reduce(pickle *p)
{
    torch_value args = pop(p), function = pop(p);
    if (function.kind == TORCH_FUNCTION && str_starts(function.text, "__torch__.")) {
        push(p, args); /* a member of an Enum is represented by its value */
        return;
    }
    if (function.kind != TORCH_FUNCTION || args.kind != TORCH_TUPLE)
        wrong(p, "it calls something that is not a function");
    str name = function.text;
    if (str_starts(name, "torch._utils._rebuild_") && !str_ends(name, "_parameter")) {
        push(p, rebuilt_tensor(p, args.list));
    } else if (str_is(name, "collections.OrderedDict")) {
        push(p, (torch_value){.kind = TORCH_DICT, .dict = ARENA_NEW(p->arena, torch_dict)});
    } else if (str_is(name, "torch.device")) {
        push(p, torch_none());
    } else if (args.list->count) { /* passes the data of typed lists and parameters through */
        push(p, args.list->items[0]);
    } else {
        wrong(p, "it calls a function without arguments");
    }
}

static void new_object(pickle *p)
{
    pop(p);
    torch_value class = pop(p);
    if (class.kind != TORCH_FUNCTION)
        wrong(p, "it creates an object of something that is not a class");
    torch_object *o = ARENA_NEW(p->arena, torch_object);
    o->class_name = class.text;
    o->state = torch_none();
    names_init(&o->names, p->arena);
    push(p, (torch_value){.kind = TORCH_OBJECT, .object = o});
}

static void build(pickle *p)
{
    torch_value state = pop(p);
    if (top(p)->kind != TORCH_OBJECT)
        wrong(p, "it sets the state of something that is not an object");
    torch_object *o = top(p)->object;
    o->state = state;
    for (int32_t i = 0; state.kind == TORCH_DICT && i < state.dict->count; i++)
        if (state.dict->items[i].key.kind == TORCH_TEXT)
            torch_set_attribute(o, state.dict->items[i].key.text, state.dict->items[i].value, p->arena);
}

torch_value torch_attribute(const torch_object *o, str name, bool *found)
{
    int32_t i = names_get(&o->names, name, -1);
    *found = i >= 0;
    return i >= 0 ? o->values.items[i] : torch_none();
}

void torch_set_attribute(torch_object *o, str name, torch_value v, arena *a)
{
    int32_t i = names_get(&o->names, name, -1);
    if (i < 0) {
        i = o->values.count;
        ARENA_PUSH(a, &o->values);
        names_put(&o->names, name, i);
    }
    o->values.items[i] = v;
}

/* ---- opcodes ----------------------------------------------------------------------------------------------------- */

static void push_long(pickle *p)
{
    int count = (int)number(p, 1);
    if (count > 8)
        wrong(p, "a number has more than 64 bits");
    uint64_t n = number(p, count);
    if (count && count < 8 && n >> (8 * count - 1))
        n |= UINT64_MAX << (8 * count);
    push(p, num_known((num)n) ? torch_int((num)n) : torch_unknown());
}

static void push_real(pickle *p)
{
    const uint8_t *b = bytes(p, 8); /* big-endian */
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    double x;
    memcpy(&x, &bits, sizeof x);
    push(p, torch_real(x));
}

static void push_text(pickle *p, size_t length)
{
    push(p, torch_text((str){(const char *)bytes(p, length), length}));
}

/* Opcodes that push a plain value. */
static bool push_value(pickle *p, uint8_t opcode)
{
    switch (opcode) {
    case 'N':
        push(p, torch_none());
        return true;
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89:
        push(p, torch_bool(opcode == 0x88));
        return true;
    case 'K': /* BININT1, BININT2, BININT */
        push(p, torch_int((num)number(p, 1)));
        return true;
    case 'M':
        push(p, torch_int((num)number(p, 2)));
        return true;
    case 'J':
        push(p, torch_int((int32_t)number(p, 4)));
        return true;
    case 0x8a: /* LONG1 */
        push_long(p);
        return true;
    case 'G': /* BINFLOAT */
        push_real(p);
        return true;
    case 'X': /* BINUNICODE */
        push_text(p, (size_t)number(p, 4));
        return true;
    default:
        return false;
    }
}

/* Opcodes that make or fill tuples, lists and dictionaries. */
static bool fill_container(pickle *p, uint8_t opcode)
{
    const torch_value *items;
    int32_t count;
    torch_value pair[2];
    switch (opcode) {
    case ')': /* EMPTY_TUPLE, TUPLE1 … 3, TUPLE */
        push_tuple(p, 0);
        return true;
    case 0x85:
    case 0x86:
    case 0x87:
        push_tuple(p, opcode - 0x84);
        return true;
    case 't':
        count = pop_mark(p, &items);
        push(p, new_list(p, TORCH_TUPLE, items, count));
        return true;
    case ']': /* EMPTY_LIST, APPEND, APPENDS */
        push(p, new_list(p, TORCH_LIST, NULL, 0));
        return true;
    case 'a':
        pair[0] = pop(p);
        append(p, pair, 1);
        return true;
    case 'e':
        count = pop_mark(p, &items);
        append(p, items, count);
        return true;
    case '}': /* EMPTY_DICT, SETITEM, SETITEMS */
        push(p, (torch_value){.kind = TORCH_DICT, .dict = ARENA_NEW(p->arena, torch_dict)});
        return true;
    case 's':
        pair[1] = pop(p);
        pair[0] = pop(p);
        set_items(p, pair, 2);
        return true;
    case 'u':
        count = pop_mark(p, &items);
        set_items(p, items, count);
        return true;
    default:
        return false;
    }
}

/* Runs the next opcode; false at the end. */
static bool step(pickle *p)
{
    uint8_t opcode = *bytes(p, 1);
    if (push_value(p, opcode) || fill_container(p, opcode))
        return true;
    switch (opcode) {
    case 0x80: /* PROTO */
        bytes(p, 1);
        break;
    case '.': /* STOP */
        return false;
    case '(': /* MARK */
        *(int32_t *)ARENA_PUSH(p->arena, &p->marks) = p->stack.count;
        break;
    case 'c': /* GLOBAL */
        push_global(p);
        break;
    case 'q': /* BINPUT */
        remember(p, number(p, 1));
        break;
    case 'r': /* LONG_BINPUT */
        remember(p, number(p, 4));
        break;
    case 'h': /* BINGET */
        recall(p, number(p, 1));
        break;
    case 'j': /* LONG_BINGET */
        recall(p, number(p, 4));
        break;
    case 'Q': /* BINPERSID: a storage, as the tuple that describes it */
        break;
    case 'R':
        reduce(p);
        break;
    case 0x81: /* NEWOBJ */
        new_object(p);
        break;
    case 'b':
        build(p);
        break;
    default:
        fail_with(&p->b->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the pickle %.*s has opcode 0x%02x, which no TorchScript file has, at byte %zu of it; nothing of it "
                  "was run",
                  STR_ARG(p->name), opcode, (size_t)(p->at - p->begin) - 1);
    }
    return true;
}

torch_value torch_unpickle(builder *b, zip *z, const zip_entry *entry, str root)
{
    str data = zip_read(z, entry, MAX_PICKLE_BYTES);
    pickle p = {.b = b, .zip = z, .arena = b->arena, .name = entry->name, .begin = (const uint8_t *)data.ptr};
    str base = {entry->name.ptr + root.len, entry->name.len - root.len};
    p.folder = arena_printf(b->arena, "%.*s%.*s/", STR_ARG(root), (int)(base.len - 4), base.ptr);
    p.at = p.begin;
    p.end = p.begin + data.len;
    while (step(&p))
        continue;
    p.marks.count = 0;
    return *top(&p);
}
