/* tf_schema.h: fields of TensorFlow's messages by name, for graphs in protobuf's text format (tf_text.c) and JSON
 * (tfjs.c). Includes only the fields that the reader uses. */
#ifndef SOOTH_FRONT_TENSORFLOW_TF_SCHEMA_H
#define SOOTH_FRONT_TENSORFLOW_TF_SCHEMA_H

#include "base/str.h"

typedef enum tf_message {
    TF_GRAPH,
    TF_NODE,
    TF_ATTR_ENTRY,
    TF_ATTR,
    TF_LIST,
    TF_SHAPE,
    TF_DIM,
    TF_TENSOR,
    TF_CALL,
    TF_LIBRARY,
    TF_FUNCTION,
    TF_SIGNATURE,
    TF_ARGUMENT,
    TF_TEXT_ENTRY,
    TF_SAVED_MODEL,
    TF_META_GRAPH,
    TF_META_INFO,
    TF_SERVING_ENTRY,
    TF_SERVING,
    TF_INFO_ENTRY,
    TF_INFO,
} tf_message;

typedef enum tf_kind { TF_TEXT, TF_INT, TF_FLOAT, TF_DOUBLE, TF_TYPE, TF_MESSAGE } tf_kind;

typedef struct tf_field {
    tf_message owner;
    const char *name;
    uint32_t number;
    tf_kind kind;
    tf_message message; /* for TF_MESSAGE: its message type */
    bool is_map;        /* its entries have a key and a value; in JSON it is an object */
    bool is_bytes;      /* written as base64 in JSON */
} tf_field;

/* Returns a field; NULL if the reader does not use it. Ignores underscores and case, because JSON writes tensorShape
 * for tensor_shape. */
const tf_field *tf_field_named(tf_message owner, str name);
int64_t tf_type_number(str name); /* "DT_FLOAT" → 1; 0 if unknown */

#endif
