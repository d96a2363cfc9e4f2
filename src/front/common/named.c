/* named.c: looks up operands and attributes of a file's operator (named.h). */
#include "front/common/named.h"

#include "base/decimal.h"

static const named_slot *slot_named(const named_slot *slots, int32_t count, const char *name)
{
    static const named_slot NONE = {0};
    for (int32_t i = 0; i < count; i++)
        if (str_is(slots[i].name, name))
            return &slots[i];
    return &NONE;
}

const named_slot *named_list(const named_op *o, const char *name)
{
    return slot_named(o->in, o->in_count, name);
}

static value_id first_of(const named_slot *s)
{
    return s->count > 0 ? s->ids[0] : NO_VALUE;
}

value_id named_in(const named_op *o, const char *name)
{
    return first_of(named_list(o, name));
}

value_id named_in_at(const named_op *o, int place)
{
    return place < o->in_count ? first_of(&o->in[place]) : NO_VALUE;
}

value_id named_out(const named_op *o, const char *name)
{
    return first_of(slot_named(o->out, o->out_count, name));
}

value_id named_out_at(const named_op *o, int place)
{
    return place < o->out_count ? first_of(&o->out[place]) : NO_VALUE;
}

const named_attr *named_find(const named_op *o, const char *name)
{
    for (int32_t i = 0; i < o->attr_count; i++)
        if (str_is(o->attrs[i].name, name))
            return &o->attrs[i];
    return NULL;
}

/* Parses "1,2,3"; -1 on other text. */
static int parse_list(str text, decimal *to, int room)
{
    int count = 0;
    for (size_t i = 0; i < text.len;) {
        if (text.ptr[i] == ' ' || text.ptr[i] == ',' || text.ptr[i] == '\n' || text.ptr[i] == '\t') {
            i++;
            continue;
        }
        size_t length = count < room ? decimal_read((str){text.ptr + i, text.len - i}, &to[count]) : 0;
        if (length == 0)
            return -1;
        count++;
        i += length;
    }
    return count;
}

static bool whole(double x, int64_t *to)
{
    const double most = 4e18;
    if (!(x >= -most && x <= most) || (double)(int64_t)x != x)
        return false;
    *to = (int64_t)x;
    return true;
}

enum { MOST_LISTED = 2 * MAX_RANK };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int text_ints(str text, int64_t *to, int room)
{
    decimal numbers[MOST_LISTED];
    bool is_true = str_is(text, "true") || str_is(text, "True");
    if ((is_true || str_is(text, "false") || str_is(text, "False")) && room > 0) {
        to[0] = is_true;
        return 1;
    }
    int count = parse_list(text, numbers, least(room, MOST_LISTED));
    for (int i = 0; i < count; i++) {
        if (numbers[i].is_whole)
            to[i] = numbers[i].whole;
        else if (!whole(numbers[i].real, &to[i]))
            return -1;
    }
    return count;
}

static int text_reals(str text, double *to, int room)
{
    decimal numbers[MOST_LISTED];
    int count = parse_list(text, numbers, least(room, MOST_LISTED));
    for (int i = 0; i < count; i++)
        to[i] = numbers[i].real;
    return count;
}

static int attr_reals(const named_attr *a, double *to, int room)
{
    if (a->kind == NAMED_TEXT)
        return text_reals(a->text, to, room);
    if (a->kind == NAMED_OTHER || a->count > room)
        return -1;
    for (int32_t i = 0; i < a->count; i++)
        to[i] = a->kind == NAMED_INTS ? (double)a->ints[i] : a->reals[i];
    return a->count;
}

static int attr_ints(const named_attr *a, int64_t *to, int room)
{
    if (a->kind == NAMED_TEXT)
        return text_ints(a->text, to, room);
    if (a->kind == NAMED_OTHER || a->count > room)
        return -1;
    for (int32_t i = 0; i < a->count; i++) {
        if (a->kind == NAMED_INTS)
            to[i] = a->ints[i];
        else if (!whole(a->reals[i], &to[i]))
            return -1;
    }
    return a->count;
}

/* Reads tensors of one number each. */
static int slot_ints(emitter *e, const named_slot *s, int64_t *to, int room)
{
    if (s->count == 1)
        return emit_known_ints(e, s->ids[0], to, room);
    if (s->count < 1 || s->count > room)
        return -1;
    for (int32_t i = 0; i < s->count; i++)
        if (!emit_known_int(e, s->ids[i], &to[i]))
            return -1;
    return s->count;
}

int named_ints(emitter *e, const named_op *o, const char *name, int64_t *to, int room)
{
    const named_slot *s = named_list(o, name);
    if (s->count)
        return slot_ints(e, s, to, room);
    const named_attr *a = named_find(o, name);
    return a ? attr_ints(a, to, room) : -1;
}

int64_t named_int(emitter *e, const named_op *o, const char *name, int64_t otherwise)
{
    int64_t number;
    return named_ints(e, o, name, &number, 1) == 1 ? number : otherwise;
}

bool named_true(emitter *e, const named_op *o, const char *name)
{
    return named_int(e, o, name, 0) != 0;
}

int named_reals(emitter *e, const named_op *o, const char *name, double *to, int room)
{
    const named_slot *s = named_list(o, name);
    if (s->count == 1) {
        const tensor *t = emit_constant_of(e, s->ids[0]);
        int64_t count = 1;
        for (int i = 0; t && i < t->rank; i++)
            if (t->dims[i] < 0 || t->dims[i] > room || __builtin_mul_overflow(count, t->dims[i], &count))
                return -1;
        if (t && count <= room && dtype_is_float(t->dtype) && tensor_reals(t, to, count))
            return (int)count;
        int64_t ints[MAX_RANK];
        int known = emit_known_ints(e, s->ids[0], ints, room < MAX_RANK ? room : MAX_RANK);
        for (int i = 0; i < known; i++)
            to[i] = (double)ints[i];
        return known;
    }
    const named_attr *a = named_find(o, name);
    return a ? attr_reals(a, to, room) : -1;
}

double named_real(emitter *e, const named_op *o, const char *name, double otherwise)
{
    double number;
    return named_reals(e, o, name, &number, 1) == 1 ? number : otherwise;
}

str named_text(const named_op *o, const char *name, const char *otherwise)
{
    const named_attr *a = named_find(o, name);
    return a && a->kind == NAMED_TEXT ? a->text : str_of(otherwise);
}

value_id named_index_list(emitter *e, const named_op *o, const char *name)
{
    int64_t numbers[MAX_RANK];
    const named_slot *s = named_list(o, name);
    if (s->count == 1)
        return emit_index_list(e, s->ids[0]);
    if (s->count > 1) {
        value_id *pieces = ARENA_ARRAY(e->b->arena, value_id, (size_t)s->count);
        for (int32_t i = 0; i < s->count; i++)
            pieces[i] = emit_index_list(e, s->ids[i]);
        node *n = emit_op(e, "Concat", pieces, s->count, NO_VALUE);
        emit_int(n, "axis", 0);
        return n->outputs[0];
    }
    int count = named_ints(e, o, name, numbers, MAX_RANK);
    return count >= 0 ? emit_list(e, numbers, count) : NO_VALUE;
}

const void *named_search(const void *rows, size_t count, size_t row_bytes, str name)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const void *row = (const char *)rows + middle * row_bytes;
        const char *own;
        memcpy(&own, row, sizeof own);
        size_t length = strlen(own), common = length < name.len ? length : name.len;
        int order = common ? memcmp(name.ptr, own, common) : 0;
        if (order == 0)
            order = name.len < length ? -1 : name.len > length;
        if (order == 0)
            return row;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const value *named_declared(emitter *e, value_id v)
{
    static const value NONE = {.rank = RANK_UNKNOWN};
    return v == NO_VALUE ? &NONE : build_at(e->b, v);
}

static value_id *all_of(emitter *e, const named_slot *slots, int32_t count, int *total)
{
    size_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += (size_t)slots[i].count;
    value_id *ids = ARENA_ARRAY(e->b->arena, value_id, sum + 1);
    *total = 0;
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < slots[i].count && *total < INT16_MAX; k++)
            ids[(*total)++] = slots[i].ids[k];
    return ids;
}

void named_foreign(emitter *e, const char *domain, const named_op *o)
{
    int in_count, out_count;
    const value_id *in = all_of(e, o->in, o->in_count, &in_count);
    const value_id *out = all_of(e, o->out, o->out_count, &out_count);
    emit_foreign(e, str_of(domain), o->type, in, in_count, out, out_count);
}
