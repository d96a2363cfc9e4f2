/* torch_builtins.c: TorchScript operations on numbers, lists, dictionaries and strings. They share the names of ATen
 * operators ("torch.add", "torch.slice"); the kinds of the arguments decide. */
#include "front/torch/torch_script.h"

#include <math.h>

typedef struct builtin {
    torch *torch;
    str name;
    const torch_argument *args;
    int count;
    torch_value *result;
} builtin;

static torch_value arg(const builtin *b, int i)
{
    return i < b->count ? b->args[i].value : torch_none();
}

static bool is_number(torch_value v)
{
    return v.kind == TORCH_INT || v.kind == TORCH_REAL || v.kind == TORCH_BOOL || v.kind == TORCH_UNKNOWN;
}

static bool is_tensor(torch_value v)
{
    return v.kind == TORCH_TENSOR;
}

/* A known number as a double; NAN if unknown. */
static double real_of(torch_value v)
{
    if (v.kind == TORCH_REAL)
        return v.real;
    return (v.kind == TORCH_INT || v.kind == TORCH_BOOL) && num_known(v.integer) ? (double)v.integer : NAN;
}

static bool is_whole(torch_value v)
{
    return v.kind == TORCH_INT || v.kind == TORCH_BOOL;
}

static torch_value real_or_unknown(double x)
{
    return isnan(x) ? torch_unknown() : torch_real(x);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static torch_value int_arithmetic(num_table *t, str op, num x, num y, bool *known)
{
    *known = true;
    if (str_is(op, "add"))
        return torch_int(num_add(t, x, y));
    if (str_is(op, "sub"))
        return torch_int(num_sub(t, x, y));
    if (str_is(op, "rsub"))
        return torch_int(num_sub(t, y, x));
    if (str_is(op, "mul"))
        return torch_int(num_mul(t, x, y));
    if (str_is(op, "floordiv") || str_is(op, "floor_divide"))
        return torch_int(num_floordiv(t, x, y));
    if (str_is(op, "remainder"))
        return torch_int(num_mod(t, x, y));
    if (str_is(op, "min"))
        return torch_int(num_min(t, x, y));
    if (str_is(op, "max"))
        return torch_int(num_max(t, x, y));
    *known = false;
    return torch_none();
}

static bool real_arithmetic(str op, double x, double y, torch_value *result)
{
    static const char *const NAMES[] = {"add",          "sub",       "rsub", "mul", "div", "floordiv",
                                        "floor_divide", "remainder", "pow",  "min", "max"};
    const double results[] = {x + y,
                              x - y,
                              y - x,
                              x * y,
                              y == 0 ? NAN : x / y,
                              y == 0 ? NAN : floor(x / y),
                              y == 0 ? NAN : floor(x / y),
                              y == 0 ? NAN : x - y * floor(x / y),
                              pow(x, y),
                              fmin(x, y),
                              fmax(x, y)};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(op, NAMES[i])) {
            *result = isnan(x) || isnan(y) ? torch_unknown() : real_or_unknown(results[i]);
            return true;
        }
    return false;
}

/* Arithmetic on two numbers; the result is a number tensor if an operand is one. */
static bool arithmetic(builtin *b)
{
    torch_value x = arg(b, 0), y = arg(b, 1);
    str op = b->name;
    if (op.len > 1 && str_ends(op, "_") && !str_starts(op, "__"))
        op.len--;
    if (b->count < 2 || !is_number(x) || !is_number(y))
        return false;
    bool known = false;
    if (is_whole(x) && is_whole(y))
        *b->result = int_arithmetic(b->torch->nums, op, x.integer, y.integer, &known);
    if (!known && is_whole(x) && is_whole(y) && str_is(op, "pow") && num_known(x.integer) && y.integer >= 0 &&
        y.integer < 63) {
        num power = 1;
        for (num i = 0; i < y.integer; i++)
            power = num_mul(b->torch->nums, power, x.integer);
        *b->result = torch_int(power);
        known = true;
    }
    if (!known && !real_arithmetic(op, real_of(x), real_of(y), b->result))
        return false;
    b->result->is_number_tensor = x.is_number_tensor || y.is_number_tensor;
    return true;
}

static bool unary_number(builtin *b)
{
    torch_value x = arg(b, 0);
    if (b->count < 1 || !is_number(x))
        return false;
    double r = real_of(x);
    bool whole = is_whole(x);
    if (str_is(b->name, "neg")) {
        *b->result = whole ? torch_int(num_sub(b->torch->nums, 0, x.integer)) : real_or_unknown(-r);
    } else if (str_is(b->name, "abs")) {
        *b->result = whole && num_known(x.integer) ? torch_int(x.integer < 0 ? -x.integer : x.integer)
                                                   : real_or_unknown(fabs(r));
    } else if (str_is(b->name, "sqrt")) {
        *b->result = real_or_unknown(sqrt(r));
    } else if (str_is(b->name, "log")) {
        *b->result = real_or_unknown(log(r));
    } else if (str_is(b->name, "log2")) {
        *b->result = real_or_unknown(log2(r));
    } else if (str_is(b->name, "exp")) {
        *b->result = real_or_unknown(exp(r));
    } else {
        double rounded = str_is(b->name, "floor") ? floor(r) : str_is(b->name, "ceil") ? ceil(r) : rint(r);
        if (!str_is(b->name, "floor") && !str_is(b->name, "ceil") && !str_is(b->name, "round"))
            return false;
        *b->result = whole ? torch_int(x.integer) : fabs(rounded) < 9e15 ? torch_int((num)rounded) : torch_unknown();
    }
    b->result->is_number_tensor = x.is_number_tensor;
    return true;
}

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

/* Returns 1 for equal, 0 for different, -1 if unknown. */
static int same(torch_value x, torch_value y, int depth)
{
    if (depth > 8 || x.kind == TORCH_UNKNOWN || y.kind == TORCH_UNKNOWN)
        return -1;
    if (is_whole(x) && is_whole(y)) {
        if (x.integer == y.integer && x.integer != NUM_UNKNOWN)
            return 1;
        return num_known(x.integer) && num_known(y.integer) ? 0 : -1;
    }
    if (is_number(x) && is_number(y))
        return isnan(real_of(x)) || isnan(real_of(y)) ? -1 : real_of(x) == real_of(y);
    if (x.kind == TORCH_TEXT && y.kind == TORCH_TEXT)
        return str_eq(x.text, y.text);
    if (torch_is_list(x) && torch_is_list(y)) {
        int all = x.list->count == y.list->count;
        for (int32_t i = 0; all == 1 && i < x.list->count; i++)
            all = same(x.list->items[i], y.list->items[i], depth + 1);
        return all;
    }
    return x.kind == y.kind && x.kind == TORCH_NONE;
}

static torch_value answer(int yes)
{
    return yes < 0 ? torch_unknown() : torch_bool(yes);
}

static bool comparison(builtin *b)
{
    torch_value x = arg(b, 0), y = arg(b, 1);
    if (b->count < 2 || is_tensor(x) || is_tensor(y))
        return false;
    if (str_is(b->name, "eq") || str_is(b->name, "ne")) {
        int equal = same(x, y, 0);
        *b->result = answer(equal < 0 ? -1 : (equal == 1) == str_is(b->name, "eq"));
        return true;
    }
    if (!is_number(x) || !is_number(y))
        return false;
    double p = real_of(x), q = real_of(y);
    int less = isnan(p) || isnan(q) ? -1 : p < q, equal = same(x, y, 0);
    if (str_is(b->name, "lt"))
        *b->result = answer(less);
    else if (str_is(b->name, "le"))
        *b->result = answer(equal == 1 ? 1 : less);
    else if (str_is(b->name, "gt"))
        *b->result = answer(equal == 1 ? 0 : less < 0 ? -1 : !less);
    else if (str_is(b->name, "ge"))
        *b->result = answer(equal == 1 ? 1 : less < 0 ? -1 : !less);
    else
        return false;
    return true;
}

static bool logic(builtin *b)
{
    torch_value x = arg(b, 0), y = arg(b, 1);
    if (str_is(b->name, "__is__") || str_is(b->name, "__isnot__")) {
        bool none = x.kind == TORCH_NONE && y.kind == TORCH_NONE;
        bool identical = none || (x.kind == TORCH_BOOL && y.kind == TORCH_BOOL && x.integer == y.integer);
        *b->result = torch_bool(identical == str_is(b->name, "__is__"));
        return true;
    }
    if (str_is(b->name, "__not__")) {
        *b->result = x.kind == TORCH_BOOL || x.kind == TORCH_INT ? torch_bool(x.integer == 0) : torch_unknown();
        return true;
    }
    bool both = str_is(b->name, "__and__"), either = str_is(b->name, "__or__");
    if ((!both && !either) || is_tensor(x) || is_tensor(y))
        return false;
    bool decides = false, unknown = false;
    for (int i = 0; i < 2; i++) {
        torch_value v = arg(b, i);
        bool known = v.kind == TORCH_BOOL || v.kind == TORCH_INT;
        unknown = unknown || !known;
        decides = decides || (known && (v.integer != 0) == either);
    }
    *b->result = decides ? torch_bool(either) : unknown ? torch_unknown() : torch_bool(both);
    return true;
}

/* ---- tensors' own facts ------------------------------------------------------------------------------------------ */

static torch_value sizes_of(torch *t, value_id id)
{
    int rank = torch_rank(t, id);
    if (rank < 0)
        return torch_unknown();
    torch_value list = torch_new_list(t, TORCH_LIST, rank);
    for (int i = 0; i < rank; i++)
        list.list->items[i] = torch_int(torch_dim(t, id, i));
    return list;
}

static num elements_of(torch *t, value_id id)
{
    int rank = torch_rank(t, id);
    return rank < 0 ? NUM_UNKNOWN : num_product(t->nums, torch_at(t, id)->dims, rank);
}

static bool facts(builtin *b)
{
    torch *t = b->torch;
    torch_value x = arg(b, 0);
    str name = b->name;
    if (x.is_number_tensor && (str_is(name, "dim") || str_is(name, "numel"))) {
        *b->result = torch_int(str_is(name, "numel"));
        return true;
    }
    if (str_is(name, "item") || str_is(name, "Int") || str_is(name, "IntImplicit") || str_is(name, "ScalarImplicit")) {
        *b->result = is_tensor(x) ? torch_number(t, x.tensor) : x;
        b->result->is_number_tensor = false;
        return true;
    }
    if (!is_tensor(x))
        return false;
    if (str_is(name, "size") && b->count == 1) {
        *b->result = sizes_of(t, x.tensor);
    } else if (str_is(name, "size")) {
        num axis = arg(b, 1).kind == TORCH_INT ? arg(b, 1).integer : NUM_UNKNOWN;
        num size = torch_dim(t, x.tensor, torch_axis(axis, torch_rank(t, x.tensor)));
        *b->result = torch_int(size);
    } else if (str_is(name, "dim") || str_is(name, "ndim")) {
        int rank = torch_rank(t, x.tensor);
        *b->result = torch_int(rank < 0 ? NUM_UNKNOWN : rank);
    } else if (str_is(name, "len")) {
        *b->result = torch_int(torch_dim(t, x.tensor, 0));
    } else if (str_is(name, "shape")) {
        *b->result = sizes_of(t, x.tensor);
    } else if (str_is(name, "numel")) {
        *b->result = torch_int(elements_of(t, x.tensor));
    } else if (str_is(name, "dtype")) {
        *b->result = torch_int(torch_scalar_type(torch_at(t, x.tensor)->dtype));
    } else if (str_is(name, "device")) {
        *b->result = torch_text(STR("cpu"));
    } else if (str_is(name, "layout")) {
        *b->result = torch_int(0);
    } else if (str_is(name, "is_cuda") || str_is(name, "is_nested") || str_is(name, "is_mkldnn") ||
               str_is(name, "is_quantized")) {
        *b->result = torch_bool(false);
    } else if (str_is(name, "is_contiguous") || str_is(name, "requires_grad")) {
        *b->result = torch_bool(true);
    } else if (str_is(name, "is_floating_point")) {
        *b->result =
            torch_bool(dtype_is_float(torch_at(t, x.tensor)->dtype) || torch_at(t, x.tensor)->dtype == DT_UNKNOWN);
    } else if (str_is(name, "__getitem__")) {
        return false;
    } else {
        return false;
    }
    return true;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Returns a bound of a Python slice. */
static num bound(torch_value v, num otherwise, num count)
{
    num n = v.kind == TORCH_INT && num_known(v.integer) ? v.integer : otherwise;
    n = n < 0 ? n + count : n;
    return n < 0 ? 0 : n > count ? count : n;
}

static torch_value sliced(torch *t, torch_value list, torch_value from, torch_value to, torch_value by)
{
    num count = list.list->count, first = bound(from, 0, count), last = bound(to, count, count);
    num step = by.kind == TORCH_INT && num_known(by.integer) && by.integer > 0 ? by.integer : 1;
    torch_value part = torch_new_list(t, list.kind, 0);
    for (num i = first; i < last; i += step)
        torch_append(t, part.list, list.list->items[i]);
    return part;
}

static torch_value joined(torch *t, torch_value a, torch_value b)
{
    torch_value list = torch_new_list(t, a.kind, a.list->count + b.list->count);
    memcpy(list.list->items, a.list->items, (size_t)a.list->count * sizeof *list.list->items);
    memcpy(list.list->items + a.list->count, b.list->items, (size_t)b.list->count * sizeof *list.list->items);
    return list;
}

enum { MAX_LIST = 1 << 20 };

static bool repeated(builtin *b, torch_value list, torch_value times)
{
    num n = times.kind == TORCH_INT && num_known(times.integer) && times.integer > 0 ? times.integer : 0;
    if (list.list->count && n > MAX_LIST / list.list->count)
        fail_with(&b->torch->model->fail, SOOTH_ERROR_INPUT, "the program makes a list of more than %d elements",
                  MAX_LIST);
    *b->result = torch_new_list(b->torch, TORCH_LIST, 0);
    for (num i = 0; i < n; i++)
        for (int32_t k = 0; k < list.list->count; k++)
            torch_append(b->torch, b->result->list, list.list->items[k]);
    return true;
}

static int32_t place(torch_value index, int32_t count)
{
    return torch_axis(index.kind == TORCH_INT ? index.integer : NUM_UNKNOWN, count);
}

/* Sum, minimum or maximum of a list of numbers; all or any of bools. */
static bool over_list(builtin *b, const torch_list *list)
{
    bool extreme = str_is(b->name, "min") || str_is(b->name, "max"), sum = str_is(b->name, "sum");
    if (!extreme && !sum)
        return false;
    torch_value total = sum ? torch_int(0) : list->count ? list->items[0] : torch_unknown();
    for (int32_t i = sum ? 0 : 1; i < list->count; i++) {
        if (!is_number(list->items[i]))
            return false;
        torch_argument pair[2] = {{{0}, total}, {{0}, list->items[i]}};
        builtin step = {b->torch, sum ? STR("add") : b->name, pair, 2, &total};
        if (!arithmetic(&step))
            return false;
    }
    *b->result = total;
    return true;
}

static bool remove_at(builtin *b, torch_list *list, torch_value index)
{
    int32_t i = index.kind == TORCH_NONE ? list->count - 1 : place(index, list->count);
    if (i < 0 || i >= list->count) {
        *b->result = torch_unknown();
        return true;
    }
    *b->result = list->items[i];
    memmove(&list->items[i], &list->items[i + 1], (size_t)(list->count - i - 1) * sizeof *list->items);
    list->count--;
    return true;
}

static bool contains(builtin *b, torch_value x, torch_value wanted)
{
    int found = 0;
    int32_t count = x.kind == TORCH_DICT ? x.dict->count : x.list->count;
    for (int32_t i = 0; i < count && found != 1; i++) {
        int equal = same(x.kind == TORCH_DICT ? x.dict->items[i].key : x.list->items[i], wanted, 0);
        found = equal ? equal : found;
    }
    *b->result = answer(found);
    return true;
}

static bool on_list(builtin *b)
{
    torch *t = b->torch;
    torch_value x = arg(b, 0), y = arg(b, 1);
    str name = b->name;
    if (!torch_is_list(x))
        return false;
    torch_list *list = x.list;
    if (list->count > MAX_LIST)
        fail_with(&t->model->fail, SOOTH_ERROR_INPUT, "the program makes a list of more than %d elements", MAX_LIST);
    *b->result = torch_none();
    if (str_is(name, "len"))
        *b->result = torch_int(list->count);
    else if (str_is(name, "append"))
        torch_append(t, list, y);
    else if (str_is(name, "add") && torch_is_list(y))
        *b->result = joined(t, x, y);
    else if ((str_is(name, "extend") || str_is(name, "add_")) && torch_is_list(y)) {
        *list = *joined(t, x, y).list;
        *b->result = str_is(name, "add_") ? x : torch_none();
    } else if (str_is(name, "clear"))
        list->count = 0;
    else if (str_is(name, "mul"))
        return repeated(b, x, y);
    else if (str_is(name, "slice"))
        *b->result = sliced(t, x, y, arg(b, 2), arg(b, 3));
    else if (str_is(name, "copy") || str_is(name, "list"))
        *b->result = sliced(t, x, torch_none(), torch_none(), torch_none());
    else if (str_is(name, "pop"))
        return remove_at(b, list, y);
    else if (str_is(name, "__contains__"))
        return contains(b, x, y);
    else if (str_is(name, "_set_item") && place(y, list->count) >= 0)
        list->items[place(y, list->count)] = arg(b, 2);
    else if (str_is(name, "insert")) {
        torch_value first = sliced(t, x, torch_none(), y, torch_none()),
                    rest = sliced(t, x, y, torch_none(), torch_none());
        torch_append(t, first.list, arg(b, 2));
        *list = *joined(t, first, rest).list;
    } else if (str_is(name, "reverse")) {
        for (int32_t i = 0; i < list->count / 2; i++) {
            torch_value swapped = list->items[i];
            list->items[i] = list->items[list->count - 1 - i];
            list->items[list->count - 1 - i] = swapped;
        }
    } else
        return over_list(b, list);
    return true;
}

/* ---- dictionaries and texts -------------------------------------------------------------------------------------- */

static void put(torch *t, torch_dict *d, torch_value key, torch_value value)
{
    for (int32_t i = 0; i < d->count; i++)
        if (same(d->items[i].key, key, 0) == 1) {
            d->items[i].value = value;
            return;
        }
    *(torch_pair *)ARENA_PUSH(t->arena, d) = (torch_pair){key, value};
}

static torch_value parts_of(torch *t, const torch_dict *d, bool keys, bool values)
{
    torch_value list = torch_new_list(t, TORCH_LIST, d->count);
    for (int32_t i = 0; i < d->count; i++) {
        torch_value pair = torch_new_list(t, TORCH_TUPLE, 2);
        pair.list->items[0] = d->items[i].key;
        pair.list->items[1] = d->items[i].value;
        list.list->items[i] = keys && values ? pair : keys ? d->items[i].key : d->items[i].value;
    }
    return list;
}

static bool on_dict(builtin *b)
{
    torch *t = b->torch;
    torch_value x = arg(b, 0);
    str name = b->name;
    if (str_is(name, "dict")) {
        *b->result = (torch_value){.kind = TORCH_DICT, .dict = ARENA_NEW(t->arena, torch_dict)};
        for (int32_t i = 0; torch_is_list(x) && i < x.list->count; i++)
            if (torch_is_list(x.list->items[i]) && x.list->items[i].list->count == 2)
                put(t, b->result->dict, x.list->items[i].list->items[0], x.list->items[i].list->items[1]);
        return true;
    }
    if (x.kind != TORCH_DICT)
        return false;
    *b->result = torch_none();
    if (str_is(name, "len"))
        *b->result = torch_int(x.dict->count);
    else if (str_is(name, "keys"))
        *b->result = parts_of(t, x.dict, true, false);
    else if (str_is(name, "values"))
        *b->result = parts_of(t, x.dict, false, true);
    else if (str_is(name, "items") || str_is(name, "list"))
        *b->result = parts_of(t, x.dict, true, str_is(name, "items"));
    else if (str_is(name, "_set_item"))
        put(t, x.dict, arg(b, 1), arg(b, 2));
    else if (str_is(name, "__contains__"))
        return contains(b, x, arg(b, 1));
    else if (str_is(name, "update") && arg(b, 1).kind == TORCH_DICT)
        for (int32_t i = 0; i < arg(b, 1).dict->count; i++)
            put(t, x.dict, arg(b, 1).dict->items[i].key, arg(b, 1).dict->items[i].value);
    else
        return false;
    return true;
}

static bool on_text(builtin *b)
{
    torch_value x = arg(b, 0), y = arg(b, 1);
    if (str_is(b->name, "format")) {
        *b->result = x;
        return true;
    }
    if (x.kind != TORCH_TEXT)
        return false;
    if (str_is(b->name, "len"))
        *b->result = torch_int((num)x.text.len);
    else if (str_is(b->name, "add") && y.kind == TORCH_TEXT)
        *b->result = torch_text(arena_printf(b->torch->arena, "%.*s%.*s", STR_ARG(x.text), STR_ARG(y.text)));
    else if (str_is(b->name, "find") || str_is(b->name, "__contains__") || str_is(b->name, "startswith"))
        *b->result = torch_unknown();
    else
        return false;
    return true;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Queries of the execution state. Gradients are reported as on, because otherwise modules take fused inference-only
 * operators instead of the plain ones. */
static bool circumstances(builtin *b)
{
    if (str_is(b->name, "is_grad_enabled")) {
        *b->result = torch_bool(true);
    } else if (str_is(b->name, "is_scripting")) {
        *b->result = torch_bool(true);
    } else if (str_is(b->name, "is_autocast_enabled") || str_is(b->name, "is_tracing")) {
        *b->result = torch_bool(false);
    } else if (str_is(b->name, "warn") || str_is(b->name, "set_grad_enabled") || str_is(b->name, "print")) {
        *b->result = torch_none();
    } else if (str_is(b->name, "device")) {
        *b->result = torch_text(STR("cpu"));
    } else if (str_is(b->name, "NumToTensor")) {
        *b->result = arg(b, 0);
        b->result->is_number_tensor = true;
    } else if (str_is(b->name, "unchecked_unwrap_optional") || str_is(b->name, "unchecked_cast") ||
               str_is(b->name, "data")) {
        *b->result = arg(b, 0);
    } else if (str_is(b->name, "__range_length")) {
        num lo = arg(b, 0).integer, hi = arg(b, 1).integer, step = arg(b, 2).integer;
        bool down = num_known(step) && step < 0;
        num span = down ? num_sub(b->torch->nums, lo, hi) : num_sub(b->torch->nums, hi, lo);
        num rounds = num_ceildiv(b->torch->nums, span, down ? -step : step);
        *b->result = torch_int(num_known(rounds) && rounds < 0 ? 0 : rounds);
    } else if (str_is(b->name, "__derive_index")) {
        num_table *t = b->torch->nums;
        *b->result = torch_int(num_add(t, arg(b, 1).integer, num_mul(t, arg(b, 0).integer, arg(b, 2).integer)));
    } else {
        return false;
    }
    return true;
}

/* Traced programs compute sizes with one-number tensors, so such a constant is treated as a number. */
static const torch_argument *as_numbers(torch *t, const torch_argument *arguments, int count, torch_argument *room)
{
    bool any = false;
    for (int i = 0; i < count && i < 2; i++) {
        room[i] = arguments[i];
        any = any || arguments[i].value.is_number_tensor;
    }
    for (int i = 0; any && count == 2 && i < 2; i++) {
        torch_value v = arguments[i].value;
        num n = v.kind == TORCH_TENSOR && torch_rank(t, v.tensor) == 0 ? torch_item(t, v.tensor) : NUM_UNKNOWN;
        if (n != NUM_UNKNOWN)
            room[i].value = (torch_value){.kind = TORCH_INT, .is_number_tensor = true, .integer = n};
    }
    return any && count == 2 ? room : arguments;
}

bool torch_builtin(torch *t, str name, const torch_argument *arguments, int count, torch_value *result)
{
    torch_argument pair[2];
    builtin b = {t, name, as_numbers(t, arguments, count, pair), count, result};
    bool range = str_is(name, "__range_length") || str_is(name, "__derive_index");
    for (int i = 0; range && i < 3; i++)
        if (arg(&b, i).kind != TORCH_INT) {
            *result = torch_unknown();
            return true;
        }
    bool device_of_tensor = str_is(name, "device") && is_tensor(arg(&b, 0));
    if (!device_of_tensor && circumstances(&b))
        return true;
    if (arg(&b, 0).kind == TORCH_UNKNOWN && (str_is(name, "len") || str_is(name, "list") || str_is(name, "slice"))) {
        *result = torch_unknown();
        return true;
    }
    return logic(&b) || facts(&b) || on_list(&b) || on_dict(&b) || on_text(&b) || comparison(&b) || arithmetic(&b) ||
           unary_number(&b);
}
