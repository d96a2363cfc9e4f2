/* question.h: the question of a request to `sooth serve`, from the pairs of its query or the members of a JSON
 * object. */
#ifndef SOOTH_SERVE_QUESTION_H
#define SOOTH_SERVE_QUESTION_H

#include "base/arena.h"
#include "base/json_read.h"

enum { MOST_LISTED = 64, MOST_DIMS_NAMED = 32, MOST_SHAPES = 16, MOST_RANK = 8 };

typedef struct question {
    arena *arena; /* memory of all texts below */
    fail *fail;
    const char *model; /* "zoo:NAME" or "kept:DIGEST"; NULL: the body of the request */
    const char *name;  /* name of the file, for messages */
    const char *gpus[MOST_LISTED];
    int64_t batches[MOST_LISTED];
    size_t gpu_count, batch_count;
    sooth_dim_binding dims[MOST_DIMS_NAMED];
    sooth_shape_binding shapes[MOST_SHAPES];
    int64_t shape_dims[MOST_SHAPES][MOST_RANK];
    sooth_options bound; /* refers to dims and shapes */
    sooth_predict_options where;
    sooth_report_options report;
    double latency_ms; /* latency target for mig */
    size_t count;      /* number of instances for mig */
} question;

/* Starts an empty question; the arena fails through `fail`. */
void question_begin(question *q, arena *a, fail *f);
/* Sets one part of the question from text. Fails with SOOTH_ERROR_USAGE for an unknown key or an impossible value. */
void question_set(question *q, const char *key, const char *value);
/* Sets every member of the object. Lists are joined with commas; "dims" is an object. */
void question_set_all(question *q, const json_node *object);

#endif
