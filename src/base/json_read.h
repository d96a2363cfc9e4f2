/* json_read.h: reads JSON in one pass, in place, into a tree in an arena.
 *
 * Not yyjson or jansson: strings stay slices of the mapped file (most of an exported graph is unused stack traces),
 * nodes live in the model's arena, and the non-standard output of real exporters is accepted: NaN, Infinity, -Infinity,
 * a byte order mark.
 *
 * Limits: JSON_READ_MAX_DEPTH levels, no recursion, numbers of at most 400 characters; the arena's cap for memory.
 * The first of equal keys wins. */
#ifndef SOOTH_BASE_JSON_READ_H
#define SOOTH_BASE_JSON_READ_H

#include "base/arena.h"

enum { JSON_READ_MAX_DEPTH = 256 };

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_REAL, /* numbers with a point or exponent, and integers beyond 64 bits */
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT,
} json_kind;

typedef struct json_node json_node;
struct json_node {
    json_kind kind;
    bool has_escapes; /* for JSON_TEXT: `text` has escapes, which json_decoded resolves */
    int32_t count;    /* number of members or elements */
    str key;          /* key of an object's member, decoded */
    json_node *next;  /* next member or element of the parent; NULL after the last */
    union {
        int64_t integer; /* JSON_INT; JSON_BOOL: 0 or 1 */
        double real;
        str text;
        json_node *first; /* first member or element; NULL if empty */
    };
};

/* Parses the bytes. Fails with `subject` ("models/model.json"), the byte offset and the reason. */
const json_node *json_read(str bytes, const char *subject, arena *a, fail *f);

/* for (const json_node *x = json_first(list); x; x = x->next). NULL and other kinds count as empty. */
static inline const json_node *json_first(const json_node *n)
{
    return n && (n->kind == JSON_ARRAY || n->kind == JSON_OBJECT) ? n->first : NULL;
}

/* Returns an object's member by name; NULL if it is missing, or if n is NULL or not an object, so that calls can be
 * nested. Searches linearly, so walk large objects instead. */
const json_node *json_get(const json_node *n, const char *key);
/* Returns an element of an array or object by index, or NULL. Searches linearly. */
const json_node *json_at(const json_node *n, int32_t index);

static inline bool json_is(const json_node *n, json_kind kind)
{
    return n && n->kind == kind;
}
/* True for JSON null and for an absent node. */
static inline bool json_is_null(const json_node *n)
{
    return !n || n->kind == JSON_NULL;
}
/* The string as written in the file, which equals its value unless has_escapes is set; empty if n is not a string. */
static inline str json_text(const json_node *n)
{
    return json_is(n, JSON_TEXT) ? n->text : (str){0};
}
/* The string with escapes resolved; allocates only if there are any. */
str json_decoded(const json_node *n, arena *a);
/* Integer value of an integer, a bool or a whole real; else `otherwise`. */
int64_t json_int(const json_node *n, int64_t otherwise);
double json_double(const json_node *n, double otherwise);

#endif
