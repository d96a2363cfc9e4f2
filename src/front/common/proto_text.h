/* proto_text.h: reads protobuf's text format without a schema.
 *
 *   message   field*         field   name ":" value | name [":"] "{" message "}" | name ":" "[" value, … "]"
 *   value     number | name of an enumerator | true | false | "text" 'text' …
 *
 * Callers read token by token (tf_text.c), or take the whole tree. */
#ifndef SOOTH_FRONT_COMMON_PROTO_TEXT_H
#define SOOTH_FRONT_COMMON_PROTO_TEXT_H

#include "base/arena.h"

typedef struct proto_text {
    const char *at, *end, *begin;
    fail *fail;
    arena *arena;
    const char *subject; /* expected content, for messages: "TensorFlow graph" */
    int32_t fields;
} proto_text;

static inline proto_text proto_text_of(str text, const char *subject, arena *a, fail *f)
{
    return (proto_text){
        .at = text.ptr, .begin = text.ptr, .end = text.ptr + text.len, .subject = subject, .arena = a, .fail = f};
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

_Noreturn void proto_text_fail(const proto_text *t, const char *what);
void proto_text_space(proto_text *t); /* skips space, commas, semicolons and comments */
bool proto_text_take(proto_text *t, char c);
/* True if the message ends here; then consumes `closing` (0: the end of the file). Fails if the file ends early. */
bool proto_text_ends(proto_text *t, char closing);
str proto_text_word(proto_text *t);   /* a name or number */
str proto_text_string(proto_text *t); /* a quoted string; adjacent strings are one */
void proto_text_skip(proto_text *t);  /* skips a value of any kind */
double proto_text_real(str word);
int64_t proto_text_int(str word); /* `true` gives 1 */

/* ---- trees ------------------------------------------------------------------------------------------------------- */

/* One field; a repeated field is several nodes. */
typedef struct proto_node {
    str name;
    bool is_message;
    str text;                 /* text of a value, without quotes */
    struct proto_node *first; /* first field of a message */
    struct proto_node *next;  /* next field of the same message */
} proto_node;

const proto_node *proto_text_tree(proto_text *t); /* returns an unnamed root message */

/* All accept NULL as an absent message. */
const proto_node *proto_first(const proto_node *n, const char *name); /* first field of that name */
const proto_node *proto_next(const proto_node *n);                    /* the next field of the same name */
/* value of the last such field; empty if it is absent or a message */
str proto_string(const proto_node *n, const char *name);
int64_t proto_int(const proto_node *n, const char *name, int64_t otherwise);
double proto_real(const proto_node *n, const char *name, double otherwise);
/* returns how many numbers were stored, at most `room` */
int proto_ints(const proto_node *n, const char *name, int64_t *to, int room);

#endif
