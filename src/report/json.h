/* json.h: writes JSON, one call per token; commas, line ends and indentation are automatic.
 *
 * No library: the writer is a page long, builds no tree, and turns the arbitrary bytes of names into valid UTF-8, which
 * common libraries refuse or pass through. */
#ifndef SOOTH_REPORT_JSON_H
#define SOOTH_REPORT_JSON_H

#include "report/text.h"

enum { JSON_MAX_DEPTH = 16 };

typedef struct json {
    text *out;
    int depth;
    bool has_items[JSON_MAX_DEPTH]; /* the object or array at this depth */
    bool is_flat[JSON_MAX_DEPTH];   /* on one line */
    bool after_key;
} json;

/* Objects and arrays; a flat one stays on one line with all of its contents. */
void json_open(json *j, char bracket, bool flat); /* '{' or '[' */
void json_close(json *j, char bracket);           /* '}' or ']' */
void json_key(json *j, const char *key);
void json_string(json *j, const char *s);
void json_number(json *j, int64_t n); /* null if negative: unknown */
void json_real(json *j, double x);    /* null if it is not finite or at least 1e12 */
void json_null(json *j);
void json_bool(json *j, bool b);

/* "sooth": {"version", "schema", "weights"}: program and weights of an answer, and the version of its fields
 * (doc/json.md). `weights` is NULL or "" for an answer that needs no predictor. */
void json_identity(json *j, int schema, const char *weights);

/* The most common pairs of key and value. */
void json_pair_string(json *j, const char *key, const char *s);
void json_pair_text(json *j, const char *key, const char *s); /* null if it is NULL or empty */
void json_pair_number(json *j, const char *key, int64_t n);
void json_pair_real(json *j, const char *key, double x);
void json_pair_bool(json *j, const char *key, bool b);
void json_pair_interval(json *j, const char *key, sooth_interval x);

#endif
