/* mlir_attributes.c: reads attributes and types of MLIR bytecode, dialects "builtin" and "vhlo". Each begins with a
 * code (varint):
 *
 *   vhlo attributes     1 array: attributes; 2 boolean: varint; 3 comparison: varint; 6 dictionary: pairs of
 *   attributes;
 *                       8 float: type, bits; 9 integer: type, number; 14 string; 15 tensor: type, size, bytes; 17 type
 *   vhlo types          0 bool, 1 complex, 2 bf16, 3 f16, 4 f32, 5 f64, 6 f8E4M3FN, 7 f8E5M2, 9 index, 10-14 i4 … i64,
 *                       15-19 ui4 … ui64, 20 tensor: dimensions (signed; the least number: open), element type;
 *                       21 the same after an encoding; 22 token; 23 tuple; 24 quantized: flags, storage type;
 *                       25 tensor without a rank; others are not tensors
 *   builtin attributes  1 dictionary, 2 string, 8 integer, 14 location with a name; others are skipped
 *
 * Lists are a count and the elements; attributes, types and strings are indices. An operator's properties are its
 * attributes in the order of their names, which are in the table below. */
#include "base/nesting.h"
#include "front/hlo/mlir_bytecode.h"

enum {
    VHLO_ARRAY = 1,
    VHLO_BOOLEAN = 2,
    VHLO_COMPARISON = 3,
    VHLO_DICTIONARY = 6,
    VHLO_INTEGER = 9,
    VHLO_STRING = 14,
    VHLO_TENSOR = 15
};
enum { BUILTIN_DICTIONARY = 1, BUILTIN_STRING = 2, BUILTIN_INTEGER = 8, BUILTIN_NAMED_LOCATION = 14 };
enum { MAX_INTS = 4096 };

static const struct {
    const char *op;
    const char *attrs; /* space-separated */
} PROPERTIES[] = {
    {"batch_norm_grad", "epsilon feature_index"},
    {"batch_norm_inference", "epsilon feature_index"},
    {"batch_norm_training", "epsilon feature_index"},
    {"broadcast_in_dim", "broadcast_dimensions"},
    {"call", "callee"},
    {"compare", "compare_type comparison_direction"},
    {"composite", "composite_attributes decomposition name version"},
    {"concatenate", "dimension"},
    {"constant", "value"},
    {"convolution",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"custom_call", "api_version backend_config call_target_name called_computations has_side_effect"},
    {"dot_general",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config rhs_batching_dimensions "
     "rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_general_v1", "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
                       "rhs_contracting_dimensions"},
    {"dynamic_broadcast_in_dim", "broadcast_dimensions"},
    {"dynamic_gather",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims start_index_map"},
    {"dynamic_gather_v1", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"dynamic_iota", "iota_dimension"},
    {"dynamic_slice", "slice_sizes"},
    {"func", "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"gather", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes "
               "start_index_map"},
    {"gather_v1", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map"},
    {"get_dimension_size", "dimension"},
    {"get_tuple_element", "index"},
    {"iota", "iota_dimension"},
    {"pad", "edge_padding_high edge_padding_low interior_padding"},
    {"reduce", "dimensions"},
    {"reduce_window", "base_dilations padding window_dilations window_dimensions window_strides"},
    {"reverse", "dimensions"},
    {"set_dimension_size", "dimension"},
    {"slice", "limit_indices start_indices strides"},
    {"sort", "dimension"},
    {"torch_index_select", "batch_dims dim"},
    {"transpose", "permutation"},
};

static const mlir_entry *entry_at(mlir *m, const mlir_entry *list, uint32_t count, uint64_t index)
{
    if (index >= count)
        mlir_fail(m, "an attribute or a type does not exist");
    return &list[index];
}

static bool is_from(const mlir_entry *e, const char *dialect)
{
    return e->has_encoding && str_is(e->dialect, dialect);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const hlo_type NO_TENSOR = {.rank = RANK_UNKNOWN};

static hlo_type read_type(mlir *m, uint64_t index, int depth);

static hlo_type tensor_type(mlir *m, mlir_bytes *b, int depth)
{
    uint32_t rank = mlir_count(b);
    hlo_type t = {0};
    num dims[MAX_RANK];
    if (rank > MAX_RANK)
        mlir_fail(m, "a tensor has more than 64 dimensions");
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = mlir_signed(b);
        if (dims[i] < 0)
            dims[i] = NUM_UNKNOWN;
    }
    t.dtype = read_type(m, mlir_varint(b), depth + 1).dtype;
    t.rank = (int8_t)rank;
    if (rank)
        t.dims = arena_copy(m->arena, dims, rank, sizeof *dims);
    return t;
}

static hlo_type read_type(mlir *m, uint64_t index, int depth)
{
    static const dtype SIMPLE[] = {DT_BOOL,    DT_UNKNOWN,      DT_BFLOAT16,   DT_FLOAT16, DT_FLOAT32,
                                   DT_FLOAT64, DT_FLOAT8E4M3FN, DT_FLOAT8E5M2, DT_UNKNOWN, DT_INT64,
                                   DT_INT4,    DT_INT8,         DT_INT16,      DT_INT32,   DT_INT64,
                                   DT_UINT4,   DT_UINT8,        DT_UINT16,     DT_UINT32,  DT_UINT64};
    enum { COMPLEX = 1, TENSOR = 20, ENCODED_TENSOR = 21, TUPLE = 23, QUANTIZED = 24, UNRANKED = 25 };
    const mlir_entry *e = entry_at(m, m->types, m->type_count, index);
    mlir_bytes b = e->bytes;
    if (depth > MAX_NESTING)
        mlir_fail(m, "types are nested too deeply");
    if (!is_from(e, "vhlo"))
        return NO_TENSOR;
    uint64_t code = mlir_varint(&b);
    if (code == COMPLEX)
        return (hlo_type){.dtype = read_type(m, mlir_varint(&b), depth + 1).dtype == DT_FLOAT64 ? DT_COMPLEX128
                                                                                                : DT_COMPLEX64};
    if (code < sizeof SIMPLE / sizeof *SIMPLE)
        return SIMPLE[code] == DT_UNKNOWN ? NO_TENSOR : (hlo_type){.dtype = SIMPLE[code]};
    if (code == ENCODED_TENSOR)
        mlir_varint(&b);
    if (code == TENSOR || code == ENCODED_TENSOR)
        return tensor_type(m, &b, depth);
    if (code == QUANTIZED) {
        mlir_varint(&b);
        return read_type(m, mlir_varint(&b), depth + 1);
    }
    if (code == UNRANKED)
        return (hlo_type){.dtype = read_type(m, mlir_varint(&b), depth + 1).dtype, .rank = RANK_UNKNOWN};
    if (code != TUPLE)
        return NO_TENSOR;
    uint32_t count = mlir_count(&b);
    hlo_type *elements = ARENA_ARRAY(m->arena, hlo_type, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        elements[i] = read_type(m, mlir_varint(&b), depth + 1);
    return (hlo_type){.rank = RANK_UNKNOWN, .elements = elements, .element_count = (int32_t)count};
}

hlo_type mlir_type(mlir *m, uint64_t index)
{
    return read_type(m, index, 0);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

typedef struct int_list {
    int64_t *items;
    int32_t count, capacity;
} int_list;

static void push(mlir *m, int_list *list, int64_t x)
{
    if (list->count < MAX_INTS)
        *(int64_t *)ARENA_PUSH(m->arena, list) = x;
}

/* Reads a tensor's bytes: all elements, or one element that stands for all. */
static const tensor *read_tensor(mlir *m, mlir_bytes *b)
{
    hlo_type t = mlir_type(m, mlir_varint(b));
    mlir_bytes data = mlir_part(b, mlir_varint(b));
    return hlo_raw_constant(m->module, &t, data.at, (size_t)(data.end - data.at));
}

static int64_t read_integer(mlir *m, mlir_bytes *b, bool is_vhlo)
{
    uint64_t type = mlir_varint(b);
    if (is_vhlo) {
        int bits = dtype_bits(mlir_type(m, type).dtype);
        return bits <= 8 ? (int8_t)mlir_byte(b) : mlir_signed(b);
    }
    const mlir_entry *e = entry_at(m, m->types, m->type_count, type);
    mlir_bytes t = e->bytes;
    enum { INTEGER = 0 };
    uint64_t width = 64;
    if (is_from(e, "builtin") && mlir_varint(&t) == INTEGER)
        width = mlir_varint(&t) >> 2;
    return width <= 8 ? (int8_t)mlir_byte(b) : mlir_signed(b);
}

static str read_text(mlir *m, uint64_t index)
{
    const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, index);
    mlir_bytes b = e->bytes;
    static const char *const COMPARISONS[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    if (!e->has_encoding)
        return (str){0};
    uint64_t code = mlir_varint(&b);
    if ((is_from(e, "vhlo") && code == VHLO_STRING) || (is_from(e, "builtin") && code == BUILTIN_STRING))
        return mlir_string(m, mlir_varint(&b));
    if (is_from(e, "vhlo") && code == VHLO_COMPARISON) {
        uint64_t direction = mlir_varint(&b);
        if (direction < sizeof COMPARISONS / sizeof *COMPARISONS)
            return str_of(COMPARISONS[direction]);
    }
    return (str){0};
}

static void read_ints(mlir *m, uint64_t index, int_list *to, int depth)
{
    const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, index);
    mlir_bytes b = e->bytes;
    if (depth > MAX_NESTING || !e->has_encoding || to->count >= MAX_INTS)
        return;
    uint64_t code = mlir_varint(&b);
    if (is_from(e, "builtin")) {
        if (code == BUILTIN_INTEGER)
            push(m, to, read_integer(m, &b, false));
    } else if (!is_from(e, "vhlo")) {
        return;
    } else if (code == VHLO_BOOLEAN) {
        push(m, to, (int64_t)(mlir_varint(&b) != 0));
    } else if (code == VHLO_INTEGER) {
        push(m, to, read_integer(m, &b, true));
    } else if (code == VHLO_ARRAY) {
        uint32_t count = mlir_count(&b);
        for (uint32_t i = 0; i < count && to->count < MAX_INTS; i++)
            read_ints(m, mlir_varint(&b), to, depth + 1);
    } else if (code == VHLO_TENSOR) {
        const tensor *t = read_tensor(m, &b);
        int64_t count = t && dtype_is_integer(t->dtype) && t->encoding == TENSOR_RAW
                            ? (int64_t)(t->size / (size_t)(dtype_bits(t->dtype) / 8))
                            : 0;
        int64_t all = 1;
        for (int i = 0; t && i < t->rank; i++)
            if (__builtin_mul_overflow(all, t->dims[i], &all) || all > MAX_INTS)
                return;
        int64_t *numbers = count <= all ? ARENA_ARRAY(m->arena, int64_t, (size_t)all + 1) : NULL;
        if (!numbers || !count || !tensor_ints(t, numbers, count))
            return;
        for (int64_t i = count; i < all; i++) /* one value for all elements */
            numbers[i] = numbers[0];
        *to = (int_list){numbers, (int32_t)all, (int32_t)all};
    }
}

static hlo_attr read_attr(mlir *m, str name, uint64_t index)
{
    int_list ints = {0};
    read_ints(m, index, &ints, 0);
    return (hlo_attr){name, ints.items, ints.count, read_text(m, index)};
}

static const char *schema_of(const hlo_op *o, uint32_t given)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof PROPERTIES / sizeof *PROPERTIES; i++) {
        str name = str_of(PROPERTIES[i].op);
        bool is_first_version = str_ends(name, "_v1");
        if (is_first_version)
            name.len -= strlen("_v1");
        if (!str_eq(name, o->name))
            continue;
        uint32_t count = 1;
        for (const char *c = PROPERTIES[i].attrs; *c; c++)
            count += *c == ' ';
        if (!found || (is_first_version && count == given))
            found = PROPERTIES[i].attrs;
    }
    return found;
}

void mlir_read_attrs(mlir *m, hlo_op *o, int64_t dictionary, int64_t properties)
{
    struct {
        hlo_attr *items;
        int32_t count, capacity;
    } attrs = {0};
    if (dictionary >= 0) {
        const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, (uint64_t)dictionary);
        mlir_bytes b = e->bytes;
        if (is_from(e, "builtin") && mlir_varint(&b) == BUILTIN_DICTIONARY) {
            uint32_t count = mlir_count(&b);
            for (uint32_t i = 0; i < count; i++) {
                str name = read_text(m, mlir_varint(&b));
                *(hlo_attr *)ARENA_PUSH(m->arena, &attrs) = read_attr(m, name, mlir_varint(&b));
            }
        }
    }
    if (properties >= 0) {
        if ((uint64_t)properties >= m->property_count)
            mlir_fail(m, "the properties of an operator do not exist");
        mlir_bytes b = m->properties[properties];
        uint32_t given = 0;
        for (mlir_bytes counted = b; counted.at < counted.end; given++)
            mlir_varint(&counted);
        for (const char *at = schema_of(o, given); at && *at && b.at < b.end;) {
            size_t length = strcspn(at, " ");
            uint64_t index = mlir_varint(&b);
            hlo_attr a = {(str){at, length}, NULL, 0, {0}};
            if (str_is(o->name, "constant") || str_is(a.name, "arg_attrs")) { /* location data, not values */
                int64_t *place = ARENA_NEW(m->arena, int64_t);
                *place = (int64_t)index;
                a.ints = place;
                a.count = 1;
            } else {
                a = read_attr(m, a.name, index);
            }
            *(hlo_attr *)ARENA_PUSH(m->arena, &attrs) = a;
            at += length + (at[length] == ' ');
        }
    }
    o->attrs = attrs.items;
    o->attr_count = attrs.count;
}

const tensor *mlir_constant(mlir *m, const hlo_op *o)
{
    const hlo_attr *a = hlo_attr_of(o, "value", "");
    if (!a || a->count != 1 || a->ints[0] < 0)
        return NULL;
    const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, (uint64_t)a->ints[0]);
    mlir_bytes b = e->bytes;
    return is_from(e, "vhlo") && mlir_varint(&b) == VHLO_TENSOR ? read_tensor(m, &b) : NULL;
}

/* Labels arguments from an array with one dictionary per argument. */
void mlir_label_arguments(mlir *m, const hlo_op *function, const hlo_region *r)
{
    const hlo_attr *a = hlo_attr_of(function, "arg_attrs", "");
    if (!a || a->count != 1)
        return;
    const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, (uint64_t)a->ints[0]);
    mlir_bytes b = e->bytes;
    if (!is_from(e, "vhlo") || mlir_varint(&b) != VHLO_ARRAY)
        return;
    uint32_t count = mlir_count(&b);
    for (uint32_t i = 0; i < count && i < (uint32_t)r->argument_count; i++) {
        const mlir_entry *one = entry_at(m, m->attrs, m->attr_count, mlir_varint(&b));
        mlir_bytes d = one->bytes;
        if (!is_from(one, "vhlo") || mlir_varint(&d) != VHLO_DICTIONARY)
            continue;
        uint32_t pairs = mlir_count(&d);
        for (uint32_t k = 0; k < pairs; k++) {
            str key = read_text(m, mlir_varint(&d));
            uint64_t given = mlir_varint(&d);
            if (str_is(key, "jax.global_constant"))
                hlo_at(m->module, r->first_argument + (hlo_value)i)->label = read_text(m, given);
        }
    }
}

str mlir_label(mlir *m, uint64_t location)
{
    const mlir_entry *e = entry_at(m, m->attrs, m->attr_count, location);
    mlir_bytes b = e->bytes;
    if (!is_from(e, "builtin") || mlir_varint(&b) != BUILTIN_NAMED_LOCATION)
        return (str){0};
    str text = read_text(m, mlir_varint(&b));
    /* a text that ends with ':' is a scope, such as "jit:" */
    return text.len && text.ptr[text.len - 1] == ':' ? (str){0} : text;
}
