/* hlo_module.c: shared by the readers of HLO and StableHLO: values, functions, types, constants, dimension numbers. */
#include "front/hlo/hlo.h"

#include "base/decimal.h"

void hlo_begin(hlo_module *m, builder *b, const char *format)
{
    *m = (hlo_module){.b = b, .format = format, .name = STR("")};
    names_init(&m->function_names, b->arena);
}

hlo_value hlo_new_value(hlo_module *m, hlo_type type, str name)
{
    if (m->values.count >= HLO_MAX_VALUES)
        fail_with(&m->b->model->fail, SOOTH_ERROR_INPUT, "the program has more than %d values; no real one has",
                  HLO_MAX_VALUES);
    *(hlo_value_info *)ARENA_PUSH(m->b->arena, &m->values) = (hlo_value_info){.type = type, .name = name};
    return m->values.count - 1;
}

hlo_function *hlo_new_function(hlo_module *m, str name)
{
    hlo_function *f = ARENA_NEW(m->b->arena, hlo_function);
    f->name = name;
    f->body.is_function = true;
    names_put(&m->function_names, name, m->functions.count);
    *(hlo_function **)ARENA_PUSH(m->b->arena, &m->functions) = f;
    return f;
}

const hlo_function *hlo_find_function(const hlo_module *m, str name)
{
    int32_t at = names_get(&m->function_names, name, -1);
    return at < 0 ? NULL : m->functions.items[at];
}

hlo_value_info *hlo_at(const hlo_module *m, hlo_value v)
{
    return &m->values.items[v];
}

/* ---- instructions of HLO ----------------------------------------------------------------------------------------- */

str hlo_opcode(hlo_module *m, str name)
{
    char *copy = arena_alloc(m->b->arena, name.len + 1, 1);
    for (size_t i = 0; i < name.len; i++)
        copy[i] = name.ptr[i] == '-' ? '_' : name.ptr[i];
    return str_is((str){copy, name.len}, "topk") ? STR("top_k") : (str){copy, name.len};
}

/* In HLO, operators with several results return a tuple. */
static bool has_several(str name)
{
    return str_is(name, "reduce") || str_is(name, "sort") || str_is(name, "top_k");
}

static void push_op(hlo_module *m, hlo_function *f, hlo_op *o)
{
    *(hlo_op **)ARENA_PUSH(m->b->arena, &f->body.ops) = o;
}

hlo_value hlo_add_op(hlo_module *m, hlo_function *f, hlo_op *o, hlo_type type, str name)
{
    o->first_result = m->values.count;
    o->result_count = 1;
    push_op(m, f, o);
    if (!type.elements || type.element_count == 0 || !has_several(o->name))
        return hlo_new_value(m, type, name);
    hlo_op *tuple = ARENA_NEW(m->b->arena, hlo_op);
    hlo_value *parts = ARENA_ARRAY(m->b->arena, hlo_value, (size_t)type.element_count);
    o->result_count = type.element_count;
    for (int32_t i = 0; i < type.element_count; i++)
        parts[i] = hlo_new_value(m, type.elements[i], arena_printf(m->b->arena, "%.*s.%d", STR_ARG(name), i));
    *tuple = (hlo_op){.name = STR("tuple"), .operands = parts, .operand_count = type.element_count, .result_count = 1};
    tuple->first_result = hlo_new_value(m, type, name);
    push_op(m, f, tuple);
    return tuple->first_result;
}

void hlo_add_return(hlo_module *m, hlo_function *f, hlo_value root)
{
    hlo_op *end = ARENA_NEW(m->b->arena, hlo_op);
    *end = (hlo_op){.name = STR("return"),
                    .operands = arena_copy(m->b->arena, &root, 1, sizeof root),
                    .operand_count = root != HLO_NO_VALUE,
                    .first_result = m->values.count};
    push_op(m, f, end);
}

bool hlo_trip_count(str config, int64_t *rounds)
{
    static const char COUNT[] = "known_trip_count"; /* "known_trip_count":{"n":"32"} */
    for (size_t i = 0; i + sizeof COUNT < config.len; i++) {
        decimal d = {0};
        if (memcmp(config.ptr + i, COUNT, sizeof COUNT - 1) != 0)
            continue;
        while (i < config.len && !(config.ptr[i] >= '0' && config.ptr[i] <= '9'))
            i++;
        bool is_whole = decimal_read((str){config.ptr + i, config.len - i}, &d) && d.is_whole;
        *rounds = d.whole;
        return is_whole;
    }
    return false;
}

dtype hlo_dtype(str name)
{
    static const struct {
        const char *name;
        dtype type;
    } NAMES[] = {
        {"f32", DT_FLOAT32},
        {"f16", DT_FLOAT16},
        {"bf16", DT_BFLOAT16},
        {"f64", DT_FLOAT64},
        {"i1", DT_BOOL},
        {"i8", DT_INT8},
        {"i16", DT_INT16},
        {"i32", DT_INT32},
        {"i64", DT_INT64},
        {"ui8", DT_UINT8},
        {"ui16", DT_UINT16},
        {"ui32", DT_UINT32},
        {"ui64", DT_UINT64},
        {"si8", DT_INT8},
        {"si16", DT_INT16},
        {"si32", DT_INT32},
        {"si64", DT_INT64},
        {"index", DT_INT64},
        {"i4", DT_INT4},
        {"ui4", DT_UINT4},
        {"i2", DT_INT2},
        {"ui2", DT_UINT2},
        {"pred", DT_BOOL},
        {"s8", DT_INT8},
        {"s16", DT_INT16},
        {"s32", DT_INT32},
        {"s64", DT_INT64},
        {"u8", DT_UINT8},
        {"u16", DT_UINT16},
        {"u32", DT_UINT32},
        {"u64", DT_UINT64},
        {"s4", DT_INT4},
        {"u4", DT_UINT4},
        {"s2", DT_INT2},
        {"u2", DT_UINT2},
        {"c64", DT_COMPLEX64},
        {"c128", DT_COMPLEX128},
        {"f8E4M3FN", DT_FLOAT8E4M3FN},
        {"f8E5M2", DT_FLOAT8E5M2},
        {"f8E4M3FNUZ", DT_FLOAT8E4M3FNUZ},
        {"f8e4m3fn", DT_FLOAT8E4M3FN},
        {"f8e5m2", DT_FLOAT8E5M2},
        {"f8E5M2FNUZ", DT_FLOAT8E5M2FNUZ},
        {"f8E8M0FNU", DT_FLOAT8E8M0},
        {"f4E2M1FN", DT_FLOAT4E2M1},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i].name))
            return NAMES[i].type;
    return DT_UNKNOWN;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Number of elements; -1 on overflow. */
static int64_t elements_of(const hlo_type *t)
{
    int64_t count = t->rank < 0 ? -1 : 1;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(count, t->dims[i], &count))
            return -1;
    return count;
}

static tensor *new_constant(hlo_module *m, const hlo_type *type, int64_t count)
{
    tensor *t = ARENA_NEW(m->b->arena, tensor);
    int64_t bits = dtype_bits(type->dtype);
    *t = (tensor){.dtype = type->dtype, .rank = type->rank, .dims = type->dims, .encoding = TENSOR_ELSEWHERE};
    if (__builtin_mul_overflow(count, bits, &bits))
        fail_with(&m->b->model->fail, SOOTH_ERROR_INPUT,
                  "a constant has too many elements (2^63 or more); export the model again");
    t->stored_bytes = bits / 8 + (bits % 8 > 0);
    return t;
}

static void put_bits(uint8_t *to, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
}

static uint16_t narrow(dtype type, double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (type == DT_BFLOAT16)
        return (uint16_t)(bits >> 16);
    uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255, fraction = bits >> 13 & 1023;
    if (exponent <= 112)
        return (uint16_t)sign; /* would be zero in binary16; no rule reads it */
    return exponent >= 143 ? (uint16_t)(sign | 0x7c00u) : (uint16_t)(sign | (exponent - 112) << 10 | fraction);
}

static void put_number(uint8_t *to, dtype type, const decimal *d)
{
    uint64_t bits;
    float single = (float)d->real;
    uint32_t single_bits;
    memcpy(&single_bits, &single, sizeof single_bits);
    if (type == DT_FLOAT32) {
        put_bits(to, single_bits, 4);
    } else if (type == DT_FLOAT64) {
        memcpy(&bits, &d->real, sizeof bits);
        put_bits(to, bits, 8);
    } else if (type == DT_FLOAT16 || type == DT_BFLOAT16) {
        put_bits(to, narrow(type, d->real), 2);
    } else {
        put_bits(to, (uint64_t)d->whole, dtype_bits(type) / 8);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads up to 16 digits after "0x". */
static size_t read_hex(str s, uint64_t *bits)
{
    size_t n = 2;
    *bits = 0;
    while (n < s.len && hex_digit(s.ptr[n]) >= 0 && n < 18)
        *bits = *bits << 4 | (uint64_t)hex_digit(s.ptr[n++]);
    return n;
}

static bool begins(str s, const char *prefix)
{
    return str_starts(s, prefix);
}

/* Parses the number at the start of s into `to`; returns its length, or 0. */
static size_t read_element(str s, dtype type, uint8_t *to)
{
    decimal d = {0};
    uint64_t bits;
    int bytes = dtype_bits(type) / 8;
    if (begins(s, "0x") || begins(s, "0X")) {
        size_t n = read_hex(s, &bits);
        put_bits(to, bits, bytes);
        return n;
    }
    if (begins(s, "true") || begins(s, "false")) {
        put_bits(to, s.ptr[0] == 't', bytes);
        return s.ptr[0] == 't' ? 4 : 5;
    }
    size_t sign = begins(s, "-");
    str rest = {s.ptr + sign, s.len - sign};
    if (begins(rest, "inf") || begins(rest, "nan")) {
        d.real = begins(rest, "nan") ? (double)__builtin_nanf("") : sign ? -__builtin_inf() : __builtin_inf();
        put_number(to, type, &d);
        return sign + 3;
    }
    size_t n = decimal_read(s, &d);
    if (n)
        put_number(to, type, &d);
    return n;
}

static bool is_number_start(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == 't' || c == 'f' || c == 'i' || c == 'n';
}

static void fill(tensor *t, const uint8_t *bytes, size_t size)
{
    t->encoding = TENSOR_RAW;
    t->bytes = bytes;
    t->size = size;
}

const tensor *hlo_constant(hlo_module *m, const hlo_type *type, str text)
{
    int64_t count = elements_of(type), bytes = dtype_bits(type->dtype) / 8;
    if (count < 0)
        return NULL;
    tensor *t = new_constant(m, type, count);
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\n')) {
        text.ptr++;
        text.len--;
    }
    bool is_complex = type->dtype == DT_COMPLEX64 || type->dtype == DT_COMPLEX128;
    if (bytes == 0 || count == 0 || is_complex || !text.len)
        return t;
    if (text.ptr[0] != '"' && is_number_start(text.ptr[0])) { /* one number for all elements */
        uint8_t *one = ARENA_ARRAY(m->b->arena, uint8_t, (size_t)bytes);
        if (read_element(text, type->dtype, one))
            fill(t, one, (size_t)bytes);
        return t;
    }
    if (text.ptr[0] == '"' && (int64_t)text.len == 4 + 2 * bytes)
        count = 1;
    if (count > MAX_FOLDED)
        return t;
    uint8_t *data = ARENA_ARRAY(m->b->arena, uint8_t, (size_t)(count * bytes));
    int64_t have = 0;
    if (text.ptr[0] == '"') { /* "0x…": raw bytes */
        for (size_t i = 3; i + 1 < text.len && have < count * bytes; i += 2) {
            int high = hex_digit(text.ptr[i]), low = hex_digit(text.ptr[i + 1]);
            if (high < 0 || low < 0)
                break;
            data[have++] = (uint8_t)(16 * high + low);
        }
        if (have < count * bytes)
            return t;
    } else {
        for (size_t i = 0; i < text.len && have < count;) {
            size_t n = is_number_start(text.ptr[i])
                           ? read_element((str){text.ptr + i, text.len - i}, type->dtype, data + have * bytes)
                           : 0;
            have += n > 0;
            i += n ? n : 1;
        }
        if (have < count && have != 1)
            return t;
        count = have;
    }
    fill(t, data, (size_t)(count * bytes));
    return t;
}

const tensor *hlo_raw_constant(hlo_module *m, const hlo_type *type, const uint8_t *bytes, size_t size)
{
    int64_t count = elements_of(type);
    size_t element = (size_t)dtype_bits(type->dtype) / 8;
    if (count < 0)
        return NULL;
    tensor *t = new_constant(m, type, count);
    if (element == 0 || count == 0)
        return t;
    if (size == element)
        fill(t, bytes, element);
    else if (count <= MAX_FOLDED && size >= (size_t)count * element)
        fill(t, bytes, (size_t)count * element);
    return t;
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Reads one of the three lists, which consist of letters and numbers of spatial dimensions. */
static bool one_list(str *rest, bool is_bracketed, const char *letters, int64_t places[2], int64_t *spatial, int *rank)
{
    bool has[2] = {false, false}, seen[HLO_FEW] = {false};
    *rank = 0;
    while (rest->len) {
        char c = rest->ptr[0];
        bool is_end = is_bracketed ? c == ']' : c == '_' || c == '-' || c == '>';
        rest->ptr++;
        rest->len--;
        if (is_end && (*rank > 0 || is_bracketed))
            break;
        if (c == ',' || c == ' ' || c == '[' || c == 'x' || c == '-' || c == '>')
            continue;
        if (*rank >= HLO_FEW)
            return false;
        if (c == letters[0] || c == letters[1]) {
            has[c == letters[1]] = true;
            places[c == letters[1]] = (*rank)++;
        } else if (c >= '0' && c <= '9' && c - '0' < HLO_FEW && !seen[c - '0']) {
            seen[c - '0'] = true;
            spatial[c - '0'] = (*rank)++;
        } else {
            return false;
        }
    }
    for (int i = 0; i < *rank - 2; i++)
        if (!seen[i])
            return false;
    return has[0] && has[1];
}

bool hlo_conv_dimensions(arena *a, str text, hlo_attr to[HLO_CONV_ATTRS])
{
    static const char *const LETTERS[] = {"bf", "io", "bf"};
    static const char *const NAMES[] = {
        "input_batch_dimension",          "input_feature_dimension",         "input_spatial_dimensions",
        "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",
        "output_batch_dimension",         "output_feature_dimension",        "output_spatial_dimensions",
    };
    bool is_bracketed = text.len && memchr(text.ptr, '[', text.len);
    int first_rank = 0;
    for (int i = 0; i < 3; i++) {
        int rank;
        int64_t *places = ARENA_ARRAY(a, int64_t, 2), *spatial = ARENA_ARRAY(a, int64_t, HLO_FEW);
        if (is_bracketed) {
            const char *open = text.len ? memchr(text.ptr, '[', text.len) : NULL;
            if (!open)
                return false;
            text = (str){open + 1, text.len - (size_t)(open + 1 - text.ptr)};
        }
        if (!one_list(&text, is_bracketed, LETTERS[i], places, spatial, &rank) || (i && rank != first_rank))
            return false;
        first_rank = rank;
        to[3 * i] = (hlo_attr){str_of(NAMES[3 * i]), &places[0], 1, {0}};
        to[3 * i + 1] = (hlo_attr){str_of(NAMES[3 * i + 1]), &places[1], 1, {0}};
        to[3 * i + 2] = (hlo_attr){str_of(NAMES[3 * i + 2]), spatial, rank - 2, {0}};
    }
    return true;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

const hlo_attr *hlo_attr_of(const hlo_op *o, const char *name, const char *other)
{
    for (int32_t i = 0; i < o->attr_count; i++)
        if (str_is(o->attrs[i].name, name) || (other[0] && str_is(o->attrs[i].name, other)))
            return &o->attrs[i];
    return NULL;
}

int64_t hlo_int(const hlo_op *o, const char *name, const char *other, int64_t otherwise)
{
    const hlo_attr *a = hlo_attr_of(o, name, other);
    return a && a->count == 1 ? a->ints[0] : otherwise;
}

int hlo_ints(const hlo_op *o, const char *name, const char *other, int64_t *to, int room)
{
    const hlo_attr *a = hlo_attr_of(o, name, other);
    if (!a || a->count > room)
        return -1;
    for (int32_t i = 0; i < a->count; i++)
        to[i] = a->ints[i];
    return a->count;
}

const hlo_op *hlo_terminator(const hlo_region *r)
{
    return r->ops.count ? r->ops.items[r->ops.count - 1] : NULL;
}

str hlo_combiner(const hlo_op *o)
{
    const hlo_attr *applies = hlo_attr_of(o, "applies", "");
    if (applies)
        return applies->text;
    if (o->region_count != 1 || o->regions[0]->ops.count != 2 || o->regions[0]->argument_count != 2)
        return STR("");
    const hlo_op *first = o->regions[0]->ops.items[0];
    return first->operand_count == 2 ? first->name : STR("");
}
