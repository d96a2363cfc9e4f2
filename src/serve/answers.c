/* answers.c: answers a request with the reports of the program. */
#include "serve/answers.h"
#include "report/json.h"
#include "serve/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t QUESTION_CAP = (size_t)32 << 20;
enum { MOST_LINES = 10000, BOUND_ROOM = 4096 };
static const char *const JSON_TYPE = "application/json; charset=utf-8";

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static bool write_error(text *t, const char *code, const char *message, fail *f)
{
    if (setjmp(f->jump))
        return false;
    json writer = {.out = t}, *j = &writer;
    json_open(j, '{', true);
    json_key(j, "error");
    json_open(j, '{', true);
    json_pair_string(j, "code", code);
    json_pair_string(j, "message", message);
    json_close(j, '}');
    json_close(j, '}');
    text_puts(t, "\n");
    return true;
}

void answer_error(response *out, unsigned status, const char *code, const char *message)
{
    sooth_error error;
    fail f = {.error = &error};
    text t = {.fail = &f};
    bool done = write_error(&t, code, message, &f);
    free(out->bytes);
    *out = (response){.status = status, .type = JSON_TYPE};
    if (text_hand_out(&t, done, &out->bytes, &out->size) != SOOTH_OK)
        out->status = 503;
}

/* Returns HTTP's status and the code of an error. A file of an unknown format or feature is 415; a model that cannot
 * run is 422. */
static void answer_failure(response *out, const sooth_error *error, bool is_loading)
{
    switch (error->code) {
    case SOOTH_ERROR_USAGE:
        answer_error(out, 400, "usage", error->message);
        return;
    case SOOTH_ERROR_INPUT:
        answer_error(out, 422, "input", error->message);
        return;
    case SOOTH_ERROR_UNSUPPORTED:
        answer_error(out, is_loading ? 415 : 422, "unsupported", error->message);
        return;
    case SOOTH_ANSWER_NO:
        answer_error(out, 422, "no", error->message);
        return;
    default:
        answer_error(out, 503, "system", error->message);
    }
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static sooth_status read_question(question *q, const request *r)
{
    if (setjmp(q->fail->jump))
        return q->fail->error->code;
    for (size_t i = 0; i < r->pair_count; i++)
        question_set(q, r->pairs[i].key, r->pairs[i].value);
    if (r->is_json)
        question_set_all(q, json_read((str){r->body, r->body_size}, "the request", q->arena, q->fail));
    if (!q->model && (r->is_json || !r->body_size))
        fail_with(q->fail, SOOTH_ERROR_USAGE,
                  "which model? Send a file as the body, or name one: model=zoo:resnet50 or model=kept:DIGEST");
    if (q->model && !r->is_json && r->body_size)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "there are two models: the body of the request and '%.60s'", q->model);
    return SOOTH_OK;
}

static sooth_status find_model(const answerer *a, const question *q, request *r, response *out, kept_handle *handle,
                               sooth_error *error)
{
    if (q->model) {
        if (strncmp(q->model, "kept:", 5) == 0)
            snprintf(out->digest, sizeof out->digest, "%s", q->model + 5);
        return kept_find(a->kept, q->model, handle, error);
    }
    void *body = r->body;
    r->body = NULL;
    return kept_add(a->kept, body, r->body_size, q->name, out->digest, handle, error);
}

/* Returns the dimensions as text, to compare them with those of a kept model. */
static void describe_bound(const sooth_options *o, char text[BOUND_ROOM])
{
    size_t used = (size_t)snprintf(text, BOUND_ROOM, "%lld", (long long)o->batch);
    for (size_t i = 0; i < o->dim_count && used < BOUND_ROOM; i++)
        used +=
            (size_t)snprintf(text + used, BOUND_ROOM - used, ";%s=%lld", o->dims[i].name, (long long)o->dims[i].value);
    for (size_t i = 0; i < o->shape_count && used < BOUND_ROOM; i++) {
        used += (size_t)snprintf(text + used, BOUND_ROOM - used, ";%s:", o->shapes[i].input);
        for (size_t k = 0; k < o->shapes[i].rank && used < BOUND_ROOM; k++)
            used += (size_t)snprintf(text + used, BOUND_ROOM - used, "%lld,", (long long)o->shapes[i].dims[k]);
    }
}

static sooth_status bind(kept_handle *handle, const question *q, int64_t batch, sooth_error *error)
{
    char text[BOUND_ROOM];
    sooth_options options = q->bound;
    options.batch = batch;
    describe_bound(&options, text);
    bool is_whole = strlen(text) < BOUND_ROOM - 1;
    if (handle->bound && is_whole && strcmp(handle->bound, text) == 0)
        return SOOTH_OK;
    free(handle->bound);
    handle->bound = NULL;
    sooth_status status = sooth_bind_open(handle->model, &options, error);
    if (status == SOOTH_OK && is_whole)
        handle->bound = strdup(text);
    return status;
}

/* ---- predict ----------------------------------------------------------------------------------------------------- */

typedef struct cells {
    sooth_prediction **predictions;
    sooth_refusal *refusals;
    sooth_error *reasons; /* errors of the refusals */
    size_t count, refused;
} cells;

static sooth_status predict_cell(const answerer *a, kept_handle *handle, question *q, const char *gpu, int64_t batch,
                                 cells *c, sooth_error *error)
{
    sooth_status status = sooth_gpus_find(a->gpus, gpu, &q->where.device, error);
    if (status != SOOTH_OK)
        return status;
    status = sooth_predict(handle->model, &q->where, &c->predictions[c->count], error);
    if (status == SOOTH_OK) {
        c->count++;
        return SOOTH_OK;
    }
    if (status != SOOTH_ANSWER_NO && status != SOOTH_ERROR_UNSUPPORTED)
        return status;
    c->reasons[c->refused] = *error;
    c->refusals[c->refused] = (sooth_refusal){.gpu = sooth_gpu_text(q->where.device, "name"),
                                              .mig = q->where.mig ? q->where.mig : "",
                                              .batch = batch,
                                              .reason = c->reasons[c->refused].message,
                                              .before = c->count};
    c->refused++;
    return SOOTH_OK;
}

static sooth_status predict_cells(const answerer *a, kept_handle *handle, question *q, cells *c, sooth_error *error)
{
    if (!q->gpu_count)
        q->gpus[q->gpu_count++] = "a100-sxm4-40gb";
    if (!q->batch_count)
        q->batches[q->batch_count++] = 0;
    size_t most = q->gpu_count * q->batch_count;
    c->predictions = calloc(most, sizeof *c->predictions);
    c->refusals = calloc(most, sizeof *c->refusals);
    c->reasons = calloc(most, sizeof *c->reasons);
    if (!c->predictions || !c->refusals || !c->reasons) {
        *error = (sooth_error){SOOTH_ERROR_SYSTEM, "out of memory"};
        return SOOTH_ERROR_SYSTEM;
    }
    sooth_status status = SOOTH_OK;
    for (size_t b = 0; b < q->batch_count && status == SOOTH_OK; b++) {
        status = bind(handle, q, q->batches[b], error);
        for (size_t g = 0; g < q->gpu_count && status == SOOTH_OK; g++)
            status = predict_cell(a, handle, q, q->gpus[g], q->batches[b], c, error);
    }
    if (status == SOOTH_OK && !c->count) {
        *error = c->reasons[0];
        status = error->code;
    }
    return status;
}

static void free_cells(cells *c)
{
    for (size_t i = 0; i < c->count; i++)
        sooth_prediction_free(c->predictions[i]);
    free(c->predictions);
    free(c->refusals);
    free(c->reasons);
}

static sooth_status predict(const answerer *a, kept_handle *handle, question *q, response *out, sooth_error *error)
{
    cells c = {.count = 0};
    sooth_status status = predict_cells(a, handle, q, &c, error);
    q->report.refusals = c.refusals;
    q->report.refusal_count = c.refused;
    if (status == SOOTH_OK)
        status = sooth_prediction_report((const sooth_prediction *const *)c.predictions, c.count, &q->report,
                                         &out->bytes, &out->size, error);
    free_cells(&c);
    return status;
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static sooth_status inspect(kept_handle *handle, const question *q, response *out, sooth_error *error)
{
    sooth_status status = bind(handle, q, q->batch_count ? q->batches[0] : 0, error);
    return status == SOOTH_OK ? sooth_report(handle->model, &q->report, &out->bytes, &out->size, error) : status;
}

static sooth_status convert(kept_handle *handle, const question *q, response *out, sooth_error *error)
{
    void *bytes = NULL;
    sooth_status status = bind(handle, q, q->batch_count ? q->batches[0] : 0, error);
    if (status == SOOTH_OK)
        status = sooth_write_onnx(handle->model, &bytes, &out->size, error);
    out->bytes = bytes;
    out->type = "application/octet-stream";
    return status;
}

static sooth_status mig(const answerer *a, kept_handle *handle, question *q, response *out, sooth_error *error)
{
    sooth_options dims = q->bound;
    dims.batch = q->batch_count ? q->batches[0] : 0;
    sooth_mig_workload workload = {.dims = &dims, .options = q->where, .latency_ms = q->latency_ms, .count = q->count};
    sooth_mig_options options = {.time_limit_s = 2};
    sooth_status status =
        sooth_gpus_find(a->gpus, q->gpu_count ? q->gpus[0] : "a100-sxm4-40gb", &options.device, error);
    if (status == SOOTH_OK)
        status = bind(handle, q, dims.batch, error);
    if (status != SOOTH_OK)
        return status;
    workload.model = handle->model;
    sooth_mig_plan *plan = NULL;
    status = sooth_mig_plan_make(&workload, 1, &options, &plan, error);
    if (plan) /* Written even if the answer is no. */
        status = sooth_mig_plan_report(plan, &q->report, &out->bytes, &out->size, error);
    sooth_mig_plan_free(plan);
    free(handle->bound); /* a plan binds other batches, so the kept binding is no longer valid */
    handle->bound = NULL;
    return status;
}

static const char *type_of(const question *q)
{
    return q->report.format == SOOTH_FORMAT_JSON  ? JSON_TYPE
           : q->report.format == SOOTH_FORMAT_CSV ? "text/csv; charset=utf-8"
                                                  : "text/plain; charset=utf-8";
}

/* Answers one question about one model. */
static void answer_model(const answerer *a, request *r, response *out)
{
    sooth_error error = {.code = SOOTH_OK};
    fail f = {.error = &error};
    arena arena;
    arena_init(&arena, &f, QUESTION_CAP);
    question *q = calloc(1, sizeof *q);
    kept_handle handle = {.model = NULL};
    sooth_status status = SOOTH_ERROR_SYSTEM;
    bool is_loading = true;
    if (q) {
        question_begin(q, &arena, &f);
        status = read_question(q, r);
    } else {
        error = (sooth_error){SOOTH_ERROR_SYSTEM, "out of memory"};
    }
    if (status == SOOTH_OK)
        status = find_model(a, q, r, out, &handle, &error);
    if (status == SOOTH_OK) {
        is_loading = false;
        out->status = 200;
        out->type = type_of(q);
        status = r->route == ROUTE_PREDICT   ? predict(a, &handle, q, out, &error)
                 : r->route == ROUTE_INSPECT ? inspect(&handle, q, out, &error)
                 : r->route == ROUTE_MIG     ? mig(a, &handle, q, out, &error)
                                             : convert(&handle, q, out, &error);
        kept_return(a->kept, &handle);
    }
    if (status != SOOTH_OK)
        answer_failure(out, &error, is_loading);
    arena_free(&arena);
    free(q);
}

/* ---- many questions ---------------------------------------------------------------------------------------------- */

/* Appends a JSON text on one line: removes newlines between tokens and indentation. Strings in JSON contain no raw
 * newlines. */
static void add_line(text *t, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t end = i;
        while (end < size && bytes[end] != '\n')
            end++;
        text_add(t, bytes + i, end - i);
        for (i = end + 1; i < size && bytes[i] == ' ';)
            i++;
    }
    text_puts(t, "\n");
}

static bool answer_lines(const answerer *a, const request *r, text *t, fail *f)
{
    response *volatile one = calloc(1, sizeof *one);
    if (setjmp(f->jump) || !one) {
        if (one)
            free(one->bytes);
        free(one);
        return false;
    }
    const char *at = r->body, *end = at + r->body_size;
    for (int lines = 0; at < end; lines++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        request line = {.route = ROUTE_PREDICT,
                        .pairs = r->pairs,
                        .pair_count = r->pair_count,
                        .is_json = true,
                        .body = (void *)at,
                        .body_size = (size_t)(stop - at)};
        *one = (response){.status = 0};
        if (lines == MOST_LINES)
            answer_error(one, 413, "too_large", "a batch has up to 10000 lines: send the rest in another request");
        else if (at < stop)
            answer_model(a, &line, one);
        if (one->bytes)
            add_line(t, one->bytes, one->size);
        free(one->bytes);
        one->bytes = NULL;
        if (lines == MOST_LINES)
            break;
        at = stop + 1;
    }
    free(one);
    return true;
}

static void answer_batch(const answerer *a, const request *r, response *out)
{
    sooth_error error = {.code = SOOTH_OK};
    fail f = {.error = &error};
    text t = {.fail = &f};
    error = (sooth_error){SOOTH_ERROR_SYSTEM, "out of memory"};
    bool done = answer_lines(a, r, &t, &f);
    *out = (response){.status = 200, .type = "application/x-ndjson"};
    if (text_hand_out(&t, done, &out->bytes, &out->size) != SOOTH_OK)
        answer_failure(out, &error, false);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void answer_list(const answerer *a, route which, response *out)
{
    sooth_error error;
    const sooth_report_options options = {.format = SOOTH_FORMAT_JSON};
    sooth_status status = which == ROUTE_GPUS
                              ? sooth_gpus_report(a->gpus, NULL, &options, &out->bytes, &out->size, &error)
                              : sooth_zoo_report(NULL, &options, &out->bytes, &out->size, &error);
    out->status = 200;
    out->type = JSON_TYPE;
    if (status != SOOTH_OK)
        answer_failure(out, &error, false);
}

void answer_request(const answerer *a, request *r, response *out)
{
    *out = (response){.status = 0};
    if (r->route == ROUTE_BATCH)
        answer_batch(a, r, out);
    else if (r->route == ROUTE_GPUS || r->route == ROUTE_ZOO)
        answer_list(a, r->route, out);
    else
        answer_model(a, r, out);
    free(r->body);
    r->body = NULL;
}
