/* answers.h: the questions of `sooth serve` and their answers, without HTTP. */
#ifndef SOOTH_SERVE_ANSWERS_H
#define SOOTH_SERVE_ANSWERS_H

#include "serve/kept.h"

typedef enum route {
    ROUTE_PREDICT,
    ROUTE_INSPECT,
    ROUTE_MIG,
    ROUTE_CONVERT,
    ROUTE_BATCH,
    ROUTE_GPUS,
    ROUTE_ZOO,
    ROUTE_HEALTH,
    ROUTE_METRICS,
    ROUTE_OPENAPI,
    ROUTE_PAGE, /* a file of the web page */
    ROUTE_NONE,
    ROUTE_COUNT,
} route;

/* A pair of the query, decoded. */
typedef struct pair {
    const char *key, *value;
} pair;

typedef struct request {
    route route;
    const pair *pairs;
    size_t pair_count;
    bool is_json; /* the body is a JSON object, not a file */
    void *body;   /* owned by answer_request; NULL if there is none */
    size_t body_size;
} request;

typedef struct response {
    unsigned status; /* HTTP's status code. */
    const char *type;
    char *bytes; /* free() */
    size_t size;
    char digest[SHA256_TEXT]; /* Digest of the model, which stays loaded; "" if there is none. */
} response;

/* Data shared by requests. Each worker has GPUs of its own. */
typedef struct answerer {
    kept *kept;
    sooth_gpus *gpus;
} answerer;

void answer_request(const answerer *a, request *r, response *out);

/* Writes {"error": {"code", "message"}}. */
void answer_error(response *out, unsigned status, const char *code, const char *message);

#endif
