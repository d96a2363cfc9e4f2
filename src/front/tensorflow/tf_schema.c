/* tf_schema.c: field and type names of TensorFlow's messages (tf_schema.h). */
#include "front/tensorflow/tf_schema.h"

static const tf_field FIELDS[] = {
    {TF_GRAPH, "node", 1, TF_MESSAGE, TF_NODE, false, false},
    {TF_GRAPH, "library", 2, TF_MESSAGE, TF_LIBRARY, false, false},
    {TF_NODE, "name", 1, TF_TEXT, TF_NODE, false, false},
    {TF_NODE, "op", 2, TF_TEXT, TF_NODE, false, false},
    {TF_NODE, "input", 3, TF_TEXT, TF_NODE, false, false},
    {TF_NODE, "attr", 5, TF_MESSAGE, TF_ATTR_ENTRY, true, false},
    {TF_ATTR_ENTRY, "key", 1, TF_TEXT, TF_NODE, false, false},
    {TF_ATTR_ENTRY, "value", 2, TF_MESSAGE, TF_ATTR, false, false},
    {TF_ATTR, "list", 1, TF_MESSAGE, TF_LIST, false, false},
    {TF_ATTR, "s", 2, TF_TEXT, TF_NODE, false, true},
    {TF_ATTR, "i", 3, TF_INT, TF_NODE, false, false},
    {TF_ATTR, "f", 4, TF_FLOAT, TF_NODE, false, false},
    {TF_ATTR, "b", 5, TF_INT, TF_NODE, false, false},
    {TF_ATTR, "type", 6, TF_TYPE, TF_NODE, false, false},
    {TF_ATTR, "shape", 7, TF_MESSAGE, TF_SHAPE, false, false},
    {TF_ATTR, "tensor", 8, TF_MESSAGE, TF_TENSOR, false, false},
    {TF_ATTR, "func", 10, TF_MESSAGE, TF_CALL, false, false},
    {TF_LIST, "s", 2, TF_TEXT, TF_NODE, false, true},
    {TF_LIST, "i", 3, TF_INT, TF_NODE, false, false},
    {TF_LIST, "shape", 7, TF_MESSAGE, TF_SHAPE, false, false},
    {TF_SHAPE, "dim", 2, TF_MESSAGE, TF_DIM, false, false},
    {TF_SHAPE, "unknown_rank", 3, TF_INT, TF_NODE, false, false},
    {TF_DIM, "size", 1, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "dtype", 1, TF_TYPE, TF_NODE, false, false},
    {TF_TENSOR, "tensor_shape", 2, TF_MESSAGE, TF_SHAPE, false, false},
    {TF_TENSOR, "tensor_content", 4, TF_TEXT, TF_NODE, false, true},
    {TF_TENSOR, "float_val", 5, TF_FLOAT, TF_NODE, false, false},
    {TF_TENSOR, "double_val", 6, TF_DOUBLE, TF_NODE, false, false},
    {TF_TENSOR, "int_val", 7, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "int64_val", 10, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "bool_val", 11, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "half_val", 13, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "uint32_val", 16, TF_INT, TF_NODE, false, false},
    {TF_TENSOR, "uint64_val", 17, TF_INT, TF_NODE, false, false},
    {TF_CALL, "name", 1, TF_TEXT, TF_NODE, false, false},
    {TF_LIBRARY, "function", 1, TF_MESSAGE, TF_FUNCTION, false, false},
    {TF_FUNCTION, "signature", 1, TF_MESSAGE, TF_SIGNATURE, false, false},
    {TF_FUNCTION, "node_def", 3, TF_MESSAGE, TF_NODE, false, false},
    {TF_FUNCTION, "ret", 4, TF_MESSAGE, TF_TEXT_ENTRY, true, false},
    {TF_SIGNATURE, "name", 1, TF_TEXT, TF_NODE, false, false},
    {TF_SIGNATURE, "input_arg", 2, TF_MESSAGE, TF_ARGUMENT, false, false},
    {TF_SIGNATURE, "output_arg", 3, TF_MESSAGE, TF_ARGUMENT, false, false},
    {TF_ARGUMENT, "name", 1, TF_TEXT, TF_NODE, false, false},
    {TF_TEXT_ENTRY, "key", 1, TF_TEXT, TF_NODE, false, false},
    {TF_TEXT_ENTRY, "value", 2, TF_TEXT, TF_NODE, false, false},
    {TF_SAVED_MODEL, "saved_model_schema_version", 1, TF_INT, TF_NODE, false, false},
    {TF_SAVED_MODEL, "meta_graphs", 2, TF_MESSAGE, TF_META_GRAPH, false, false},
    {TF_META_GRAPH, "meta_info_def", 1, TF_MESSAGE, TF_META_INFO, false, false},
    {TF_META_GRAPH, "graph_def", 2, TF_MESSAGE, TF_GRAPH, false, false},
    {TF_META_GRAPH, "signature_def", 5, TF_MESSAGE, TF_SERVING_ENTRY, true, false},
    {TF_META_INFO, "tensorflow_version", 5, TF_TEXT, TF_NODE, false, false},
    {TF_SERVING_ENTRY, "key", 1, TF_TEXT, TF_NODE, false, false},
    {TF_SERVING_ENTRY, "value", 2, TF_MESSAGE, TF_SERVING, false, false},
    {TF_SERVING, "inputs", 1, TF_MESSAGE, TF_INFO_ENTRY, true, false},
    {TF_SERVING, "outputs", 2, TF_MESSAGE, TF_INFO_ENTRY, true, false},
    {TF_INFO_ENTRY, "key", 1, TF_TEXT, TF_NODE, false, false},
    {TF_INFO_ENTRY, "value", 2, TF_MESSAGE, TF_INFO, false, false},
    {TF_INFO, "name", 1, TF_TEXT, TF_NODE, false, false},
    {TF_INFO, "dtype", 2, TF_TYPE, TF_NODE, false, false},
    {TF_INFO, "tensor_shape", 3, TF_MESSAGE, TF_SHAPE, false, false},
};

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

static bool is_same_name(const char *name, str given)
{
    size_t i = 0;
    for (; *name; name++) {
        if (*name == '_')
            continue;
        while (i < given.len && given.ptr[i] == '_')
            i++;
        if (i == given.len || lower(given.ptr[i]) != *name)
            return false;
        i++;
    }
    return i == given.len;
}

const tf_field *tf_field_named(tf_message owner, str name)
{
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (FIELDS[i].owner == owner && is_same_name(FIELDS[i].name, name))
            return &FIELDS[i];
    return NULL;
}

int64_t tf_type_number(str name)
{
    static const char *const NAMES[] = {"INVALID",    "FLOAT",  "DOUBLE",    "INT32",   "UINT8",   "INT16",
                                        "INT8",       "STRING", "COMPLEX64", "INT64",   "BOOL",    "QINT8",
                                        "QUINT8",     "QINT32", "BFLOAT16",  "QINT16",  "QUINT16", "UINT16",
                                        "COMPLEX128", "HALF",   "RESOURCE",  "VARIANT", "UINT32",  "UINT64"};
    if (!str_starts(name, "DT_"))
        return 0;
    str rest = {name.ptr + 3, name.len - 3};
    bool is_reference = str_ends(rest, "_REF");
    if (is_reference)
        rest.len -= 4;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(rest, NAMES[i]))
            return (int64_t)i;
    return 0;
}
