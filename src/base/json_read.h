/* json_read.h: reads JSON: one pass over the bytes where they lie, into a tree in an arena.
 *
 * An own reader instead of yyjson or jansson: names and texts stay slices of the mapped file (most of an exported graph is stack
 * traces that nobody asks for), nodes come from the model's arena and die with it, and what real exporters write beside the
 * standard is accepted: NaN, Infinity and -Infinity as bare words, a byte order mark.
 *
 * Bounded: at most JSON_READ_MAX_DEPTH levels, no recursion, numbers of at most 400 characters; memory is the arena's.
 * Of equal keys in an object the first counts. */
#ifndef SOOTH_BASE_JSON_READ_H
#define SOOTH_BASE_JSON_READ_H

#include "base/arena.h"

enum { JSON_READ_MAX_DEPTH = 256 };

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_REAL, /* numbers with point or exponent, and integers beyond 64 bits */
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT,
} json_kind;

typedef struct json_node json_node;
struct json_node {
    json_kind kind;
    bool has_escapes; /* of a JSON_TEXT: `text` is as in the file; json_decoded gives what it means */
    int32_t count;    /* of members or elements */
    str key;          /* of a member of an object, decoded */
    json_node *next;  /* the next member or element of the parent; NULL after the last */
    union {
        int64_t integer; /* JSON_INT; JSON_BOOL: 0 or 1 */
        double real;
        str text;
        json_node *first; /* of an array or object; NULL if it is empty */
    };
};

/* The tree of the bytes. Fails with `subject` ("models/model.json"), the byte and what is wrong there. */
const json_node *json_read(str bytes, const char *subject, arena *a, fail *f);

/* for (const json_node *x = json_first(list); x; x = x->next): also for NULL and for what is no list. */
static inline const json_node *json_first(const json_node *n)
{
    return n && (n->kind == JSON_ARRAY || n->kind == JSON_OBJECT) ? n->first : NULL;
}

/* Member of an object by name, or NULL: also if n is NULL or no object, so that calls can be nested. It looks at one member
 * after the other: walk through large objects instead of asking for each name. */
const json_node *json_get(const json_node *n, const char *key);
/* Element of an array or object by place, or NULL; one after the other too. */
const json_node *json_at(const json_node *n, int32_t index);

static inline bool json_is(const json_node *n, json_kind kind)
{
    return n && n->kind == kind;
}
/* JSON null, or not there at all. */
static inline bool json_is_null(const json_node *n)
{
    return !n || n->kind == JSON_NULL;
}
/* The text as in the file, which is what it means unless has_escapes; empty if n is no text. */
static inline str json_text(const json_node *n)
{
    return json_is(n, JSON_TEXT) ? n->text : (str){0};
}
/* The text with its escapes resolved, in the arena if there were any. */
str json_decoded(const json_node *n, arena *a);
/* Integers, bools and reals that are whole numbers; otherwise `otherwise`. */
int64_t json_int(const json_node *n, int64_t otherwise);
double json_double(const json_node *n, double otherwise);

#endif
