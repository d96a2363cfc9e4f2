/* tf_text.c: converts TensorFlow graphs in protobuf's text format (.pbtxt) to the wire format, which the reader
 * reads. Fields that the reader does not use are skipped. */
#include "base/nesting.h"
#include "front/common/proto_text.h"
#include "front/common/wire_write.h"
#include "front/tensorflow/tf.h"
#include "front/tensorflow/tf_schema.h"

typedef struct text_writer {
    proto_text text;
    wire_writer w;
} text_writer;

static void put_scalar(text_writer *x, const tf_field *f)
{
    proto_text *t = &x->text;
    proto_text_space(t);
    bool is_text = t->at < t->end && (*t->at == '"' || *t->at == '\'');
    if (is_text) {
        str s = proto_text_string(t);
        if (f->kind == TF_TEXT)
            wire_put_str(&x->w, f->number, s);
        return;
    }
    str word = proto_text_word(t);
    if (f->kind == TF_INT)
        wire_put_int(&x->w, f->number, proto_text_int(word));
    else if (f->kind == TF_FLOAT)
        wire_put_float(&x->w, f->number, (float)proto_text_real(word));
    else if (f->kind == TF_DOUBLE)
        wire_put_double(&x->w, f->number, proto_text_real(word));
    else if (f->kind == TF_TYPE)
        wire_put_int(&x->w, f->number,
                     word.ptr[0] >= '0' && word.ptr[0] <= '9' ? proto_text_int(word) : tf_type_number(word));
}

static void read_message(text_writer *x, tf_message message, char closing, int depth)
{
    proto_text *t = &x->text;
    if (depth > MAX_NESTING)
        proto_text_fail(t, "messages are nested more than 64 levels deep");
    for (;;) {
        if (proto_text_ends(t, closing))
            return;
        const tf_field *f = tf_field_named(message, proto_text_word(t));
        bool has_colon = proto_text_take(t, ':');
        proto_text_space(t);
        int next = t->at < t->end ? *t->at : 0;
        bool is_block = next == '{' || next == '<';
        if (!has_colon && !is_block)
            proto_text_fail(t, "a field has neither ':' nor '{'");
        if (!f || is_block != (f->kind == TF_MESSAGE)) {
            proto_text_skip(t);
        } else if (is_block) {
            t->at++;
            size_t inner = wire_begin(&x->w, f->number);
            read_message(x, f->message, next == '{' ? '}' : '>', depth + 1);
            wire_end(&x->w, inner);
        } else if (next == '[') {
            for (t->at++; !proto_text_take(t, ']');) {
                if (t->at == t->end)
                    proto_text_fail(t, "a list does not end");
                put_scalar(x, f);
            }
        } else {
            put_scalar(x, f);
        }
    }
}

str tf_text_to_wire(builder *b, str text, bool *is_saved_model)
{
    text_writer x = {.text = proto_text_of(text, "TensorFlow graph", b->arena, &b->model->fail),
                     .w = {.fail = &b->model->fail, .arena = b->arena}};
    proto_text_space(&x.text);
    str rest = {x.text.at, (size_t)(x.text.end - x.text.at)};
    *is_saved_model = str_starts(rest, "saved_model") || str_starts(rest, "meta_graphs");
    read_message(&x, *is_saved_model ? TF_SAVED_MODEL : TF_GRAPH, '\0', 0);
    return (str){(const char *)x.w.bytes, x.w.size};
}
