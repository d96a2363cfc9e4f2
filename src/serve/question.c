/* question.c: parses the question of a request. File names are refused everywhere, so no request can read a path. */
#include "serve/question.h"
#include "base/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void question_begin(question *q, arena *a, fail *f)
{
    *q = (question){.arena = a, .fail = f, .count = 1, .report = {.format = SOOTH_FORMAT_JSON}};
    q->bound.dims = q->dims;
    q->bound.shapes = q->shapes;
    q->where.memory = true;
}

static char *copy_of(question *q, const char *text, size_t size)
{
    return (char *)arena_str(q->arena, (str){text, size}).ptr;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int64_t whole(question *q, const char *key, const char *text, int64_t least, int64_t most)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    if (!*text || *end || n < least || n > most)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes whole numbers from %lld to %lld, not '%.60s'", key,
                  (long long)least, (long long)most, text);
    return n;
}

static double decimal(question *q, const char *key, const char *text, double most)
{
    char *end;
    double x = strtod(text, &end);
    if (!*text || *end || !isfinite(x) || x <= 0 || x > most)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes a number above 0 and up to %g, not '%.60s'", key, most, text);
    return x;
}

static bool yes(question *q, const char *key, const char *text)
{
    if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || !*text)
        return true;
    if (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
        return false;
    fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes true or false, not '%.60s'", key, text);
}

/* Calls `take` for each part between commas. */
static void each_part(question *q, const char *key, const char *list, void (*take)(question *, const char *, char *))
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        take(q, key, copy_of(q, at, length));
        at += length;
        if (!*at)
            return;
    }
}

/* Names with these would be taken for files. */
static bool is_path(const char *name)
{
    return strchr(name, '/') || strstr(name, ".txt");
}

static void add_gpu(question *q, const char *key, char *name)
{
    if (is_path(name))
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes names of GPUs (GET /v1/gpus), not files: '%.60s'", key, name);
    if (q->gpu_count == MOST_LISTED)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes up to %d GPUs", key, MOST_LISTED);
    q->gpus[q->gpu_count++] = name;
}

static void add_batch(question *q, const char *key, char *text)
{
    if (q->batch_count == MOST_LISTED)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes up to %d batches", key, MOST_LISTED);
    q->batches[q->batch_count++] = whole(q, key, text, 1, INT32_MAX);
}

static void add_dim(question *q, const char *name, int64_t value)
{
    if (q->bound.dim_count == MOST_DIMS_NAMED)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "up to %d dimensions can be bound", MOST_DIMS_NAMED);
    q->dims[q->bound.dim_count++] = (sooth_dim_binding){copy_of(q, name, strlen(name)), value};
}

/* Parses "INPUT=1,3,224,224"; "?" keeps the file's dimension. */
static void add_shape(question *q, const char *text)
{
    const char *equals = strrchr(text, '=');
    size_t at = q->bound.shape_count, rank = 0;
    if (!equals || equals == text || at == MOST_SHAPES)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "shape takes INPUT=1,3,224,224 for up to %d inputs, not '%.60s'",
                  MOST_SHAPES, text);
    for (const char *from = equals + 1; *from || from > equals + 1;) {
        size_t length = strcspn(from, ",");
        if (rank == MOST_RANK)
            fail_with(q->fail, SOOTH_ERROR_USAGE, "a shape has up to %d dimensions: '%.60s'", MOST_RANK, text);
        char *part = copy_of(q, from, length);
        q->shape_dims[at][rank++] =
            strcmp(part, "?") == 0 ? SOOTH_AS_IN_FILE : whole(q, "shape", part, 0, INT64_MAX / 2);
        from += length;
        if (!*from++)
            break;
    }
    q->shapes[at] = (sooth_shape_binding){
        .input = copy_of(q, text, (size_t)(equals - text)), .dims = q->shape_dims[at], .rank = rank};
    q->bound.shape_count++;
}

static void set_model(question *q, const char *text)
{
    if (strncmp(text, "zoo:", 4) != 0 && strncmp(text, "kept:", 5) != 0)
        fail_with(q->fail, SOOTH_ERROR_USAGE,
                  "model takes zoo:NAME (GET /v1/zoo) or kept:DIGEST of an earlier answer, not '%.60s'; send a file as "
                  "the body of the request",
                  text);
    q->model = text;
}

static void set_format(question *q, const char *text)
{
    static const struct {
        const char *name;
        sooth_format format;
    } FORMATS[] = {{"json", SOOTH_FORMAT_JSON}, {"csv", SOOTH_FORMAT_CSV}, {"table", SOOTH_FORMAT_TABLE}};
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (strcmp(FORMATS[i].name, text) == 0) {
            q->report.format = FORMATS[i].format;
            return;
        }
    fail_with(q->fail, SOOTH_ERROR_USAGE, "format takes json, csv or table, not '%.60s'", text);
}

static void set_host(question *q, const char *name)
{
    if (is_path(name))
        fail_with(q->fail, SOOTH_ERROR_USAGE,
                  "host takes reference, measured or the name of a host, not files: '%.60s'", name);
    q->where.host = *name ? name : NULL;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static bool set_text(question *q, const char *key, const char *text)
{
    const struct {
        const char *key;
        const char **to;
    } TEXTS[] = {{"name", &q->name},           {"precision", &q->where.precision},
                 {"layout", &q->where.layout}, {"runtime", &q->where.runtime},
                 {"mode", &q->where.mode},     {"optimizer", &q->where.optimizer},
                 {"stack", &q->where.stack},   {"mig", &q->where.mig}};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        if (strcmp(TEXTS[i].key, key) == 0) {
            *TEXTS[i].to = *text ? text : NULL;
            return true;
        }
    return false;
}

static bool set_number(question *q, const char *key, const char *text)
{
    if (strcmp(key, "seq") == 0 || strcmp(key, "past") == 0)
        add_dim(q, key, whole(q, key, text, *key == 's', INT32_MAX));
    else if (strcmp(key, "power_limit_w") == 0)
        q->where.power_limit_w = decimal(q, key, text, 2000);
    else if (strcmp(key, "co2_g_per_kwh") == 0)
        q->where.co2_g_per_kwh = decimal(q, key, text, 10000);
    else if (strcmp(key, "kv_cache_bits") == 0)
        q->where.kv_cache_bits = (int)whole(q, key, text, 8, 16);
    else if (strcmp(key, "interval_percent") == 0)
        q->where.interval_percent = (int)whole(q, key, text, 50, 99);
    else if (strcmp(key, "latency_ms") == 0)
        q->latency_ms = decimal(q, key, text, 1e9);
    else if (strcmp(key, "count") == 0)
        q->count = (size_t)whole(q, key, text, 1, 1000);
    else if (strcmp(key, "top") == 0)
        q->report.top = (size_t)whole(q, key, text, 0, INT32_MAX);
    else if (strcmp(key, "depth") == 0)
        q->report.depth = (size_t)whole(q, key, text, 0, INT32_MAX);
    else
        return false;
    return true;
}

static bool set_flag(question *q, const char *key, const char *text)
{
    const struct {
        const char *key;
        bool *to;
    } FLAGS[] = {{"layers", &q->report.layers}, {"cuda_graphs", &q->where.cuda_graphs}, {"kernels", &q->report.kernels},
                 {"memory", &q->report.memory}, {"values", &q->report.values},          {"totals", &q->report.totals}};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (strcmp(FLAGS[i].key, key) == 0) {
            *FLAGS[i].to = yes(q, key, text);
            return true;
        }
    return false;
}

static _Noreturn void refuse_key(question *q, const char *key)
{
    static const char *const KEYS[] = {"model",
                                       "name",
                                       "gpu",
                                       "batch",
                                       "seq",
                                       "past",
                                       "dims",
                                       "shape",
                                       "format",
                                       "precision",
                                       "layout",
                                       "runtime",
                                       "mode",
                                       "optimizer",
                                       "stack",
                                       "mig",
                                       "count",
                                       "power_limit_w",
                                       "latency_ms",
                                       "layers",
                                       "co2_g_per_kwh",
                                       "kv_cache_bits",
                                       "kernels",
                                       "memory",
                                       "values",
                                       "totals",
                                       "top",
                                       "depth",
                                       "host",
                                       "cuda_graphs",
                                       "interval_percent"};
    nearest near = nearest_to(str_of(key));
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        nearest_try(&near, str_of(KEYS[i]));
    if (near.best.len)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "there is no option '%.60s'; did you mean '%.*s'?", key,
                  STR_ARG(near.best));
    fail_with(q->fail, SOOTH_ERROR_USAGE, "there is no option '%.60s'; GET /v1/openapi.json lists them", key);
}

void question_set(question *q, const char *key, const char *value)
{
    const char *text = copy_of(q, value, strlen(value));
    if (strcmp(key, "model") == 0)
        set_model(q, text);
    else if (strcmp(key, "gpu") == 0)
        each_part(q, key, text, add_gpu);
    else if (strcmp(key, "batch") == 0)
        each_part(q, key, text, add_batch);
    else if (strncmp(key, "dims.", 5) == 0 && key[5])
        add_dim(q, key + 5, whole(q, key, text, 0, INT64_MAX / 2));
    else if (strcmp(key, "shape") == 0)
        add_shape(q, text);
    else if (strcmp(key, "format") == 0)
        set_format(q, text);
    else if (strcmp(key, "host") == 0)
        set_host(q, text);
    else if (!set_text(q, key, text) && !set_number(q, key, text) && !set_flag(q, key, text))
        refuse_key(q, key);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static str text_of(question *q, const char *key, const json_node *n)
{
    if (json_is(n, JSON_TEXT)) {
        str text = json_decoded(n, q->arena);
        if (memchr(text.ptr, 0, text.len))
            fail_with(q->fail, SOOTH_ERROR_USAGE, "%s has a text with a zero byte", key);
        return arena_str(q->arena, text);
    }
    if (json_is(n, JSON_BOOL))
        return json_int(n, 0) ? STR("true") : STR("false");
    if (json_is(n, JSON_INT))
        return arena_printf(q->arena, "%lld", (long long)json_int(n, 0));
    if (json_is(n, JSON_REAL))
        return arena_printf(q->arena, "%.17g", json_double(n, NAN));
    fail_with(q->fail, SOOTH_ERROR_USAGE, "%s takes a text, a number, true, false or a list of these", key);
}

static void set_dims(question *q, const json_node *dims)
{
    if (!json_is(dims, JSON_OBJECT))
        fail_with(q->fail, SOOTH_ERROR_USAGE, "dims takes an object: {\"NAME\": 16}");
    for (const json_node *x = json_first(dims); x; x = x->next) {
        str key = arena_printf(q->arena, "dims.%.*s", STR_ARG(x->key));
        question_set(q, key.ptr, text_of(q, key.ptr, x).ptr);
    }
}

static void set_list(question *q, const char *key, const json_node *list)
{
    bool is_shape = strcmp(key, "shape") == 0;
    if (!is_shape && strcmp(key, "gpu") != 0 && strcmp(key, "batch") != 0)
        fail_with(q->fail, SOOTH_ERROR_USAGE, "%.60s takes one value, not a list", key);
    for (const json_node *x = json_first(list); x; x = x->next)
        question_set(q, key, text_of(q, key, x).ptr);
}

void question_set_all(question *q, const json_node *object)
{
    if (!json_is(object, JSON_OBJECT))
        fail_with(q->fail, SOOTH_ERROR_USAGE, "the request is not a JSON object: {\"model\": \"zoo:resnet50\"}");
    for (const json_node *x = json_first(object); x; x = x->next) {
        const char *key = arena_str(q->arena, x->key).ptr;
        if (json_is_null(x))
            continue;
        if (strcmp(key, "dims") == 0)
            set_dims(q, x);
        else if (json_is(x, JSON_ARRAY))
            set_list(q, key, x);
        else
            question_set(q, key, text_of(q, key, x).ptr);
    }
}
