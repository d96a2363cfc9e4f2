/* tflite.c: reads TensorFlow Lite (LiteRT) files: FlatBuffers with "TFL3" in bytes 4 … 7. Operators are in
 * tflite_ops.c.
 *
 * Fields by their number in the schema (version 3, TensorFlow 1.9 to 2.21):
 *   Model         0 version, 1 operator_codes, 2 subgraphs, 3 description, 4 buffers
 *   OperatorCode  0 deprecated_builtin_code (int8), 1 custom_code, 2 version, 3 builtin_code (int32)
 *   SubGraph      0 tensors, 1 inputs, 2 outputs, 3 operators, 4 name
 *   Tensor        0 shape, 1 type, 2 buffer, 3 name, 4 quantization, 5 is_variable, 6 sparsity, 7 shape_signature
 *   Operator      0 opcode_index, 1 inputs, 2 outputs, 4 builtin_options
 *   Buffer        0 data, 1 offset, 2 size (of data after the FlatBuffer, in files of more than 2 GB)
 *
 * A tensor whose buffer has bytes is a constant; the bytes stay in place. The file's shapes are declarations:
 * inferred shapes win. Quantized tensors keep their integer types; scales are read for Quantize and Dequantize only. */
#include "front/tflite/tflite.h"
#include "front/front.h"

enum { MAX_GRAPHS = 2000, MAX_OPERATORS = 1 << 20 };

static dtype dtype_of(int64_t type)
{
    static const dtype TYPES[] = {DT_FLOAT32, DT_FLOAT16,   DT_INT32,  DT_UINT8,   DT_INT64,      DT_STRING, DT_BOOL,
                                  DT_INT16,   DT_COMPLEX64, DT_INT8,   DT_FLOAT64, DT_COMPLEX128, DT_UINT64, DT_UNKNOWN,
                                  DT_UNKNOWN, DT_UINT32,    DT_UINT16, DT_INT4,    DT_BFLOAT16,   DT_INT2,   DT_UINT4};
    return type >= 0 && type < (int64_t)(sizeof TYPES / sizeof *TYPES) ? TYPES[type] : DT_UNKNOWN;
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

/* Makes a value; its name may be missing or repeated in the file. */
static value_id named_value(lite *l, str name, uint32_t index)
{
    builder *b = l->e.b;
    if (name.len == 0)
        name = arena_printf(b->arena, "tensor_%u", index);
    int32_t before = b->source->values.count;
    value_id v = build_local(b, name);
    for (int copy = 2; b->source->values.count == before; copy++)
        v = build_local(b, arena_printf(b->arena, "%.*s#%u.%d", STR_ARG(name), index, copy));
    return v;
}

static int read_dims(const lite *l, flat_vector shape, num *dims)
{
    if (shape.count > MAX_RANK)
        flat_fail(&l->file, shape.at, "a tensor has more than 64 dimensions");
    for (uint32_t i = 0; i < shape.count; i++) {
        int32_t dim = flat_int32_at(shape, i);
        if (dim < -1)
            flat_fail(&l->file, shape.at, "a tensor has a negative dimension");
        dims[i] = dim >= 0 ? dim : NUM_UNKNOWN;
    }
    return (int)shape.count;
}

/* Finds the bytes of a constant; false if the tensor is not constant. */
static bool find_bytes(const lite *l, flat_table t, str *bytes)
{
    int64_t index = flat_uint32(t, 2, 0);
    if (index == 0 || index >= l->buffers.count)
        return false;
    flat_table buffer = flat_table_at(l->buffers, (uint32_t)index);
    flat_vector data = flat_elements(buffer, 0, 1);
    uint64_t offset = flat_uint64(buffer, 1, 0), size = flat_uint64(buffer, 2, 0);
    if (data.count) {
        *bytes = (str){(const char *)l->file.bytes + data.at, data.count};
        return true;
    }
    if (offset <= 1 || size == 0)
        return false;
    if (offset > l->file.size || size > l->file.size - offset)
        flat_fail(&l->file, l->buffers.at, "a buffer is outside of the file");
    *bytes = (str){(const char *)l->file.bytes + offset, size};
    return true;
}

static void make_constant(lite *l, value_id v, flat_table t, dtype type, int rank, const num *dims, str bytes)
{
    tensor *x = ARENA_NEW(l->e.b->arena, tensor);
    for (int i = 0; i < rank; i++)
        if (!dim_known(dims[i]))
            flat_fail(&l->file, t.at, "a constant has an unknown dimension");
    *x = *emit_tensor(&l->e, type, rank, dims);
    bool is_sparse = flat_inner(t, 6).file != NULL;
    /* A tensor with fewer bytes than elements is sparse, or was packed by a tool. */
    if (!is_sparse && (int64_t)bytes.len >= x->stored_bytes && type != DT_STRING) {
        x->encoding = TENSOR_RAW;
        x->bytes = (const uint8_t *)bytes.ptr;
        x->size = bytes.len;
    }
    build_constant(l->e.b, v, x);
}

static void read_tensor(lite *l, flat_table t, uint32_t index, bool is_input)
{
    builder *b = l->e.b;
    num dims[MAX_RANK];
    dtype type = dtype_of(flat_int8(t, 1, 0));
    flat_vector shape = flat_elements(t, 0, 4), signature = flat_elements(t, 7, 4);
    int rank = read_dims(l, shape, dims);
    value_id v = l->tensors[index] = named_value(l, flat_text(t, 3), index);
    str bytes;
    bool is_variable = flat_uint8(t, 5, 0) != 0;
    if (!is_input && !is_variable && find_bytes(l, t, &bytes)) {
        make_constant(l, v, t, type, rank, dims, bytes);
        return;
    }
    if (is_input || is_variable) {
        build_type(b, v, type, rank, dims);
        if (is_variable && !is_input) { /* state kept between calls: neither a parameter nor an input */
            for (int i = 0; i < rank; i++)
                dims[i] = dim_known(dims[i]) ? dims[i] : 0;
            build_constant(b, v, emit_tensor(&l->e, type, rank, dims));
            build_at(b, v)->is_constant_node = true;
        }
        return;
    }
    /* Open dimensions of the signature are stored as 1; a tensor without dimensions may have any rank. */
    if (signature.count == shape.count)
        for (int i = 0; i < rank; i++)
            if (flat_int32_at(signature, (uint32_t)i) < 0)
                dims[i] = NUM_UNKNOWN;
    build_type(b, v, type, rank ? rank : RANK_UNKNOWN, dims);
}

static value_id tensor_at(const lite *l, flat_vector list, uint32_t i)
{
    int32_t index = flat_int32_at(list, i);
    if (index == -1)
        return NO_VALUE;
    if (index < 0 || (uint32_t)index >= l->tensor_count)
        flat_fail(&l->file, list.at + 4 * (size_t)i, "a tensor index is out of range");
    return l->tensors[index];
}

static value_id *tensors_of(lite *l, flat_vector list)
{
    enum { MOST_READ = 32 }; /* mappings may read inputs that a damaged file omits */
    value_id *ids = ARENA_ARRAY(l->e.b->arena, value_id, (size_t)list.count + MOST_READ);
    for (uint32_t i = 0; i < MOST_READ; i++)
        ids[list.count + i] = NO_VALUE;
    for (uint32_t i = 0; i < list.count; i++)
        ids[i] = tensor_at(l, list, i);
    return ids;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* Returns the code, which older files store in a byte, with 127 for codes that do not fit. */
static int64_t code_of(const lite *l, flat_table op, str *custom)
{
    int64_t index = flat_uint32(op, 0, 0);
    if (index >= l->codes.count)
        flat_fail(&l->file, op.at, "an operator has a code that the file does not list");
    flat_table code = flat_table_at(l->codes, (uint32_t)index);
    int64_t old = flat_int8(code, 0, 0), new = flat_int32(code, 3, 0);
    *custom = flat_text(code, 1);
    return new > old ? new : old;
}

static void read_operator(lite *l, flat_table op)
{
    flat_vector in = flat_elements(op, 1, 4), out = flat_elements(op, 2, 4);
    if (in.count > INT16_MAX || out.count > INT16_MAX)
        flat_fail(&l->file, op.at, "an operator has more than 32767 inputs or outputs");
    lite_op o = {.options = flat_inner(op, 4), .in_count = (int)in.count, .out_count = (int)out.count};
    o.in = tensors_of(l, in);
    o.out = tensors_of(l, out);
    o.code = code_of(l, op, &o.custom);
    for (int i = 0; i < o.out_count; i++)
        if (o.out[i] != NO_VALUE && build_at(l->e.b, o.out[i])->is_initializer)
            flat_fail(&l->file, op.at, "an operator writes to a constant");
    l->e.name = o.out_count && o.out[0] != NO_VALUE ? build_at(l->e.b, o.out[0])->name : STR("");
    lite_map(l, &o);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

static flat_table subgraph_at(const lite *l, int64_t index)
{
    if (index < 0 || index >= l->subgraphs.count)
        flat_fail(&l->file, l->subgraphs.at, "an operator calls a subgraph that does not exist");
    return flat_table_at(l->subgraphs, (uint32_t)index);
}

static void read_tensors(lite *l, flat_table g)
{
    flat_vector tensors = flat_elements(g, 0, 4), inputs = flat_elements(g, 1, 4);
    bool *is_input = ARENA_ARRAY(l->e.b->arena, bool, (size_t)tensors.count + 1);
    l->tensor_count = tensors.count;
    l->tensors = ARENA_ARRAY(l->e.b->arena, value_id, (size_t)tensors.count + 1);
    for (uint32_t i = 0; i < inputs.count; i++) {
        int32_t index = flat_int32_at(inputs, i);
        if (index >= 0 && (uint32_t)index < tensors.count)
            is_input[index] = true;
    }
    for (uint32_t i = 0; i < tensors.count; i++)
        read_tensor(l, flat_table_at(tensors, i), i, is_input[i]);
}

static void read_body(lite *l, flat_table g)
{
    flat_vector operators = flat_elements(g, 3, 4);
    if (operators.count > MAX_OPERATORS)
        flat_fail(&l->file, operators.at, "a graph has more than a million operators");
    for (uint32_t i = 0; i < operators.count; i++)
        read_operator(l, flat_table_at(operators, i));
}

static void add_outputs(lite *l, flat_vector outputs)
{
    for (uint32_t i = 0; i < outputs.count; i++) {
        value_id v = tensor_at(l, outputs, i);
        if (v == NO_VALUE)
            continue;
        build_output(l->e.b, v);
    }
}

void lite_subgraph(lite *l, int64_t index, graph *g, const lite_body *body)
{
    builder *b = l->e.b;
    flat_table table = subgraph_at(l, index);
    flat_vector inputs = flat_elements(table, 1, 4);
    value_id *outer = l->tensors;
    uint32_t outer_count = l->tensor_count;
    str outer_name = l->e.name;
    if (++l->graphs_read > MAX_GRAPHS)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                  "subgraphs call one another more than %d times; no real exporter does that", MAX_GRAPHS);
    g->name = arena_str(b->arena, flat_text(table, 4));
    build_open(b, g, false);
    value_id condition = NO_VALUE;
    if (body->is_loop) {
        build_input(b, emit_temp(&l->e));
        condition = emit_temp(&l->e);
        build_input(b, condition);
    }
    read_tensors(l, table);
    for (uint32_t i = 0; i < inputs.count; i++) {
        value_id v = tensor_at(l, inputs, i);
        if (v == NO_VALUE)
            continue;
        if (!body->captured)
            build_input(b, v);
        else if (i < (uint32_t)body->captured_count && body->captured[i] != NO_VALUE)
            emit_1(&l->e, "Identity", body->captured[i], v);
    }
    if (body->is_loop)
        build_output(b, emit_1(&l->e, "Identity", condition, NO_VALUE));
    read_body(l, table);
    add_outputs(l, flat_elements(table, 2, 4));
    build_close(b);
    l->tensors = outer;
    l->tensor_count = outer_count;
    l->e.name = outer_name;
}

/* Returns the position of a tensor in the list; -1 if it is not there. */
static int place_in(flat_vector list, int32_t index)
{
    for (uint32_t i = 0; i < list.count && i < INT16_MAX; i++)
        if (flat_int32_at(list, i) == index)
            return (int)i;
    return -1;
}

bool lite_find_limit(lite *l, int64_t condition, lite_limit *result)
{
    enum { LESS = 58 };
    flat_table g = subgraph_at(l, condition);
    flat_vector inputs = flat_elements(g, 1, 4), operators = flat_elements(g, 3, 4), tensors = flat_elements(g, 0, 4);
    for (uint32_t i = 0; i < operators.count; i++) {
        str custom, bytes;
        flat_table op = flat_table_at(operators, i);
        flat_vector in = flat_elements(op, 1, 4);
        if (code_of(l, op, &custom) != LESS || in.count != 2)
            continue;
        int32_t right = flat_int32_at(in, 1);
        *result = (lite_limit){.counter = place_in(inputs, flat_int32_at(in, 0)), .limit = place_in(inputs, right)};
        if (result->counter < 0 || (result->limit < 0 && (right < 0 || (uint32_t)right >= tensors.count)))
            continue;
        if (result->limit >= 0)
            return true;
        flat_table t = flat_table_at(tensors, (uint32_t)right);
        dtype type = dtype_of(flat_int8(t, 1, 0));
        if (!dtype_is_integer(type) || !find_bytes(l, t, &bytes) || bytes.len < (size_t)dtype_bits(type) / 8)
            continue;
        tensor *x = ARENA_NEW(l->e.b->arena, tensor);
        *x = (tensor){.dtype = type, .encoding = TENSOR_RAW, .bytes = (const uint8_t *)bytes.ptr, .size = bytes.len};
        result->constant = x;
        return true;
    }
    return false;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

bool tflite_sniff(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes + 4, "TFL3", 4) == 0;
}

void tflite_read(builder *b, const uint8_t *bytes, size_t size)
{
    lite *l = ARENA_NEW(b->arena, lite);
    emit_begin(&l->e, b, "tflite");
    l->file = (flat){.bytes = bytes, .size = size, .fail = &b->model->fail};
    flat_table model = flat_root(&l->file);
    l->codes = flat_elements(model, 1, 4);
    l->subgraphs = flat_elements(model, 2, 4);
    l->buffers = flat_elements(model, 4, 4);
    if (l->subgraphs.count == 0)
        flat_fail(&l->file, model.at, "the file has no graph");
    b->source->producer = arena_str(b->arena, flat_text(model, 3));
    flat_table main = subgraph_at(l, 0);
    flat_vector inputs = flat_elements(main, 1, 4);
    build_open(b, &b->source->main, false);
    b->source->main.name = arena_str(b->arena, flat_text(main, 4));
    read_tensors(l, main);
    for (uint32_t i = 0; i < inputs.count; i++) {
        value_id v = tensor_at(l, inputs, i);
        if (v != NO_VALUE)
            build_input(b, v);
    }
    read_body(l, main);
    add_outputs(l, flat_elements(main, 2, 4));
    build_close(b);
}
