/* proto_text.h: protobuf's text format, without a schema.
 *
 *   message   field*         field   name ":" value | name [":"] "{" message "}" | name ":" "[" value, … "]"
 *   value     number | name of an enumerator | true | false | "text" 'text' …
 *
 * A reader goes through it token by token (tf_text.c), or takes the tree of all that is there. */
#ifndef SOOTH_FRONT_COMMON_PROTO_TEXT_H
#define SOOTH_FRONT_COMMON_PROTO_TEXT_H

#include "base/arena.h"

typedef struct proto_text {
    const char *at, *end, *begin;
    fail *fail;
    arena *arena;
    const char *subject; /* "TensorFlow graph": what the file should be, for messages */
    int32_t fields;
} proto_text;

static inline proto_text proto_text_of(str text, const char *subject, arena *a, fail *f)
{
    return (proto_text){
        .at = text.ptr, .begin = text.ptr, .end = text.ptr + text.len, .subject = subject, .arena = a, .fail = f};
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

_Noreturn void proto_text_fail(const proto_text *t, const char *what);
void proto_text_space(proto_text *t); /* commas, semicolons and comments, too */
bool proto_text_take(proto_text *t, char c);
/* Is the message over? `closing` ends it, which is taken then; 0: the end of the file. Fails where the file ends before. */
bool proto_text_ends(proto_text *t, char closing);
str proto_text_word(proto_text *t);   /* a name or number */
str proto_text_string(proto_text *t); /* in quotes; texts that follow one another are one */
void proto_text_skip(proto_text *t);  /* a value, whatever it is */
double proto_text_real(str word);
int64_t proto_text_int(str word); /* true is 1 */

/* ---- trees --------------------------------------------------------------------------------------------------------- */

/* One field; of a repeated one there are several. */
typedef struct proto_node {
    str name;
    bool is_message;
    str text;                 /* of a value, without its quotes */
    struct proto_node *first; /* of a message */
    struct proto_node *next;  /* field of the same message */
} proto_node;

const proto_node *proto_text_tree(proto_text *t); /* a message without a name */

/* All take NULL for a message that is not there. */
const proto_node *proto_first(const proto_node *n, const char *name); /* its first field of that name */
const proto_node *proto_next(const proto_node *n);                    /* the next field of the same name */
str proto_string(const proto_node *n, const char *name); /* the last one counts; empty if there is none, or a message */
int64_t proto_int(const proto_node *n, const char *name, int64_t otherwise);
double proto_real(const proto_node *n, const char *name, double otherwise);
int proto_ints(const proto_node *n, const char *name, int64_t *to, int room); /* how many there are, up to room */

#endif
