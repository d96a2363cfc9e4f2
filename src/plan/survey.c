/* survey.c: sooth_survey_make: predictions of many networks. Each thread takes one network at a time, loads it once,
 * binds it once per batch and lowers it once per setting; all GPUs share the lowered program. */
#include "plan/survey.h"
#include "base/path.h"
#include "base/threads.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const size_t MOST_ROWS = 5u * 1000 * 1000; /* about 2 GB */

typedef struct maker {
    const sooth_survey_options *options;
    sooth_survey *survey;
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count;
    size_t *open; /* Networks that the journal does not have. */
    size_t open_count;
    survey_journal journal;
    pthread_mutex_t lock; /* guards the journal, the progress and the failure */
    atomic_bool stops;
    sooth_error failure; /* SOOTH_OK if there is none */
    size_t done;
    double began_s, shown_s;
    const team *team; /* NULL: this process alone */
    int (*agree)(int status);
    bool has_agreed;
    bool *is_done; /* Indexed by network. */
} maker;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static char *error_room(const sooth_survey *s, const sooth_survey_row *row)
{
    return s->errors + (size_t)(row - s->rows) * SURVEY_ERROR_ROOM;
}

static void stop_with(maker *m, sooth_status code, const char *graph, const char *message)
{
    pthread_mutex_lock(&m->lock);
    if (m->failure.code == SOOTH_OK) {
        m->failure.code = code;
        snprintf(m->failure.message, sizeof m->failure.message, "%s%s%.600s", graph, *graph ? ": " : "", message);
    }
    pthread_mutex_unlock(&m->lock);
    atomic_store(&m->stops, true);
}

/* System errors end the survey, because they are not the network's fault. A file that is missing or may not be read
 * only fails its own network. */
static void fail_rows(maker *m, sooth_survey_row *rows, size_t count, const sooth_error *why, bool is_out_of_reach)
{
    if (why->code == SOOTH_ERROR_SYSTEM && !is_out_of_reach) {
        stop_with(m, SOOTH_ERROR_SYSTEM, rows->graph, why->message);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char *room = error_room(m->survey, &rows[i]);
        snprintf(room, SURVEY_ERROR_ROOM, "%.*s", SURVEY_ERROR_ROOM - 1, why->message);
        rows[i].error = room;
    }
}

static void fill_row(sooth_survey_row *row, const sooth_prediction *p, const sooth_totals *network)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    sooth_memory memory = sooth_prediction_memory(p);
    row->error = "";
    row->latency_ms = t.latency_ms;
    row->energy_j = t.energy_j;
    row->memory_mib = memory.known ? memory.total_mib : (sooth_interval){NAN, NAN, NAN};
    row->throughput_per_s = t.throughput_per_s;
    row->device_ms = t.device_ms;
    row->host_ms = t.host_ms;
    row->params = network->params;
    row->macs = network->macs;
    row->flops = t.flops;
    row->utilization = t.compute_share;
    row->dram_utilization = t.dram_share;
    row->occupancy = t.occupancy;
    row->lost = sooth_prediction_losses(p);
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

/* Predicts all GPUs in one setting; returns the row after the last. */
static sooth_survey_row *predict_setting(maker *m, sooth_model *model, sooth_predict_options where,
                                         const sooth_totals *network, sooth_survey_row *row)
{
    const sooth_survey_options *o = m->options;
    for (size_t g = 0; g < o->gpu_count && !atomic_load(&m->stops); g++, row++) {
        sooth_error error;
        sooth_prediction *prediction;
        where.device = o->gpus[g];
        if (sooth_predict(model, &where, &prediction, &error) == SOOTH_OK)
            fill_row(row, prediction, network);
        else
            fail_rows(m, row, 1, &error, false);
        sooth_prediction_free(prediction);
    }
    return row;
}

/* Predicts all settings and GPUs at one batch; returns the row after the last. */
static sooth_survey_row *predict_batch(maker *m, sooth_model *model, sooth_survey_row *row)
{
    sooth_totals network = sooth_totals_of(model);
    sooth_predict_options where = m->options->settings;
    for (size_t p = 0; p < m->precision_count; p++)
        for (size_t l = 0; l < m->layout_count; l++)
            for (size_t r = 0; r < m->runtime_count; r++) {
                where.precision = m->precisions[p];
                where.layout = m->layouts[l];
                where.runtime = m->runtimes[r];
                row = predict_setting(m, model, where, &network, row);
            }
    return row;
}

static void predict_network(maker *m, size_t network)
{
    const sooth_survey_options *o = m->options;
    sooth_survey_row *row = m->survey->rows + network * m->survey->rows_of_network;
    size_t rows_of_batch = m->survey->rows_of_network / o->batch_count;
    sooth_error error;
    sooth_model *model;
    if (sooth_load_file(o->networks[network].graph, &model, &error) != SOOTH_OK) {
        const char *graph = o->networks[network].graph;
        fail_rows(m, row, m->survey->rows_of_network, &error,
                  strncmp(graph, "zoo:", 4) != 0 && access(graph, R_OK) != 0);
        return;
    }
    for (size_t b = 0; b < o->batch_count && !atomic_load(&m->stops); b++) {
        if (sooth_bind(model, &(sooth_options){.batch = o->batches[b]}, &error) == SOOTH_OK)
            predict_batch(m, model, row);
        else
            fail_rows(m, row, rows_of_batch, &error, false);
        row += rows_of_batch;
    }
    sooth_free(model);
}

/* Called under the lock: the journal contains only complete networks, and callbacks never overlap. */
static void finish_network(maker *m, size_t network)
{
    const sooth_survey_options *o = m->options;
    pthread_mutex_lock(&m->lock);
    int error = survey_journal_add(&m->journal, m->survey, network);
    m->done++;
    double now = now_s();
    bool is_last = m->done == o->network_count;
    bool goes_on = true;
    if (o->progress && (now - m->shown_s > 0.1 || is_last)) { /* at most ten updates per second */
        m->shown_s = now;
        goes_on = o->progress(o->context, m->done, o->network_count, now - m->began_s);
    }
    pthread_mutex_unlock(&m->lock);
    if (error) {
        char message[256];
        snprintf(message, sizeof message,
                 "cannot be written: %s; finished networks are kept in it: fix this and start the same survey again",
                 strerror(error));
        stop_with(m, SOOTH_ERROR_SYSTEM, o->journal, message);
    } else if (!goes_on) {
        stop_with(m, SOOTH_ANSWER_NO, "", "the survey was stopped");
    }
}

static void make_network(void *context, size_t item, size_t worker)
{
    maker *m = context;
    (void)worker;
    if (atomic_load(&m->stops))
        return;
    predict_network(m, m->open[item]);
    if (!atomic_load(&m->stops))
        finish_network(m, m->open[item]);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Name of a row: "resnet50" for "models/resnet50.onnx.gz"; names of zoo networks stay unchanged. */
static const char *name_of_graph(const char *graph, arena *a)
{
    if (str_starts(str_of(graph), "zoo:"))
        return graph + strlen("zoo:");
    return arena_str(a, path_stem(str_of(graph))).ptr;
}

/* Gets the names as predictions report them ("amp" becomes "amp-fp16") by predicting the smallest network of the
 * zoo. Invalid names therefore fail before anything is loaded. */
static void settle_names(maker *m, const sooth_predict_options *where, sooth_survey_row *like)
{
    sooth_error error;
    sooth_model *model;
    sooth_prediction *prediction = NULL;
    sooth_status status = sooth_load_file("zoo:nasbench201", &model, &error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, &(sooth_options){.batch = 1}, &error);
    if (status == SOOTH_OK)
        status = sooth_predict(model, where, &prediction, &error);
    sooth_free(model);
    if (status == SOOTH_OK) {
        sooth_prediction_totals t = sooth_prediction_totals_of(prediction);
        arena *a = &m->survey->arena;
        m->survey->mode = arena_str(a, str_of(t.mode)).ptr;
        m->survey->weights = arena_str(a, str_of(t.weights)).ptr;
        *like = (sooth_survey_row){.precision = arena_str(a, str_of(t.precision)).ptr,
                                   .layout = arena_str(a, str_of(t.layout)).ptr,
                                   .runtime = arena_str(a, str_of(t.runtime)).ptr};
    } else if (status == SOOTH_ERROR_UNSUPPORTED) { /* Such as fp8 on a GPU without fp8 units. */
        m->survey->mode = where->mode && *where->mode ? where->mode : "infer";
        *like = (sooth_survey_row){.precision = where->precision ? where->precision : "amp-fp16",
                                   .layout = where->layout ? where->layout : "nchw",
                                   .runtime = where->runtime ? where->runtime : "eager"};
    }
    sooth_prediction_free(prediction);
    if (status != SOOTH_OK && status != SOOTH_ERROR_UNSUPPORTED)
        fail_with(&m->survey->fail, status, "%s", error.message);
}

static void name_rows(maker *m)
{
    const sooth_survey_options *o = m->options;
    sooth_survey *s = m->survey;
    size_t settings = m->precision_count * m->layout_count * m->runtime_count;
    sooth_survey_row *like = ARENA_ARRAY(&s->arena, sooth_survey_row, settings);
    for (size_t i = 0; i < settings; i++) {
        sooth_predict_options where = o->settings;
        where.device = o->gpus[0];
        where.runtime = m->runtimes[i % m->runtime_count];
        where.layout = m->layouts[i / m->runtime_count % m->layout_count];
        where.precision = m->precisions[i / m->runtime_count / m->layout_count];
        where.mig = NULL; /* slices are checked separately for each GPU */
        settle_names(m, &where, &like[i]);
    }
    const char **gpus = ARENA_ARRAY(&s->arena, const char *, o->gpu_count);
    for (size_t g = 0; g < o->gpu_count; g++)
        gpus[g] = arena_str(&s->arena, str_of(sooth_gpu_text(o->gpus[g], "name"))).ptr;
    sooth_survey_row *row = s->rows;
    for (size_t n = 0; n < o->network_count; n++) {
        const sooth_survey_network *network = &o->networks[n];
        const char *graph = arena_str(&s->arena, str_of(network->graph)).ptr;
        const char *name =
            network->name ? arena_str(&s->arena, str_of(network->name)).ptr : name_of_graph(graph, &s->arena);
        for (size_t b = 0; b < o->batch_count; b++)
            for (size_t i = 0; i < settings; i++)
                for (size_t g = 0; g < o->gpu_count; g++, row++) {
                    *row = like[i];
                    row->name = name;
                    row->graph = graph;
                    row->gpu = gpus[g];
                    row->batch = o->batches[b];
                    row->accuracy = network->has_accuracy ? network->accuracy : NAN;
                    row->error = "";
                }
    }
}

static void check_options(maker *m)
{
    const sooth_survey_options *o = m->options;
    fail *f = &m->survey->fail;
    if (!o->network_count || !o->gpu_count || !o->batch_count)
        fail_with(f, SOOTH_ERROR_USAGE, "a survey needs at least one network, one GPU and one batch");
    for (size_t b = 0; b < o->batch_count; b++)
        if (o->batches[b] < 1)
            fail_with(f, SOOTH_ERROR_USAGE, "a batch is at least 1, not %lld", (long long)o->batches[b]);
    const size_t factors[] = {o->network_count,   o->gpu_count,    o->batch_count,
                              m->precision_count, m->layout_count, m->runtime_count};
    size_t rows = 1;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (__builtin_mul_overflow(rows, factors[i], &rows) || rows > MOST_ROWS)
            fail_with(f, SOOTH_ERROR_USAGE, "more than %zu predictions in one survey: make several", MOST_ROWS);
    m->survey->row_count = rows;
    m->survey->rows_of_network = rows / o->network_count;
}

/* ---- several processes ------------------------------------------------------------------------------------------- */

/* An empty result ends the survey; the process has reported the reason. */
static void compute_network(void *context, size_t item, size_t worker, bytes *result)
{
    maker *m = context;
    char *line = NULL;
    size_t size;
    (void)worker;
    if (!atomic_load(&m->stops))
        predict_network(m, m->open[item]);
    if (!atomic_load(&m->stops) && survey_line(m->survey, m->open[item], &line, &size) == 0)
        bytes_add(result, line, size);
    free(line);
}

/* Other processes send rows as lines of the journal. */
static bool take_network(void *context, size_t item, str result)
{
    maker *m = context;
    if (!result.len || atomic_load(&m->stops))
        return false;
    char *line = strndup(result.ptr, result.len - 1);
    bool is_read = line && survey_read_line(line, m->options, m->survey, m->is_done);
    free(line);
    if (is_read)
        finish_network(m, m->open[item]);
    return is_read && !atomic_load(&m->stops);
}

static void share_networks(maker *m)
{
    const sooth_survey_options *o = m->options;
    ordered_job job = {.end = m->open_count,
                       .threads = o->threads ? o->threads : threads_available(),
                       .team = m->team,
                       .context = m,
                       .compute = compute_network,
                       .consume = take_network};
    if (!ordered_run(&job) && m->failure.code == SOOTH_OK)
        stop_with(m, SOOTH_ERROR_SYSTEM, "", "another process failed");
}

/* Process 0 has the journal and tells the others which networks are open. */
static void meet(maker *m)
{
    if (!m->team)
        return;
    m->has_agreed = true;
    int status = m->agree(SOOTH_OK);
    if (status != SOOTH_OK)
        fail_with(&m->survey->fail, (sooth_status)status, "another process cannot start");
    m->team->share(m->team->context, m->is_done, m->options->network_count * sizeof *m->is_done);
}

static sooth_status make(maker *m)
{
    sooth_survey *s = m->survey;
    const sooth_survey_options *o = m->options;
    if (setjmp(s->fail.jump)) {
        if (m->team && !m->has_agreed)
            m->agree(s->fail.error->code);
        return s->fail.error->code;
    }
    check_options(m);
    s->rows = ARENA_ARRAY(&s->arena, sooth_survey_row, s->row_count);
    /* Mapped on first use: even large surveys have few errors. */
    s->errors = calloc(s->row_count, SURVEY_ERROR_ROOM);
    if (!s->errors)
        fail_with(&s->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    name_rows(m);
    m->is_done = ARENA_ARRAY(&s->arena, bool, o->network_count);
    survey_journal_open(&m->journal, o, s, m->is_done);
    meet(m);
    m->open = ARENA_ARRAY(&s->arena, size_t, o->network_count);
    for (size_t i = 0; i < o->network_count; i++)
        if (!m->is_done[i])
            m->open[m->open_count++] = i;
    m->done = o->network_count - m->open_count;
    m->began_s = now_s();
    if (m->team)
        share_networks(m);
    else
        parallel_for(m->open_count, o->threads ? o->threads : threads_available(), make_network, m);
    if (m->failure.code != SOOTH_OK)
        fail_with(&s->fail, m->failure.code, "%s", m->failure.message);
    return SOOTH_OK;
}

sooth_status sooth_survey_make(const sooth_survey_options *options, sooth_survey **survey, sooth_error *error)
{
    return survey_make_together(options, NULL, NULL, survey, error);
}

sooth_status survey_make_together(const sooth_survey_options *options, const team *team, int (*agree)(int status),
                                  sooth_survey **survey, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *survey = NULL;
    sooth_survey *s = calloc(1, sizeof *s);
    if (!s)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    s->fail.error = e;
    s->weights = ""; /* The first prediction sets it. */
    arena_init(&s->arena, &s->fail, ARENA_GIB(16));
    maker m = {.options = options,
               .survey = s,
               .precisions = options->precision_count ? options->precisions : &options->settings.precision,
               .layouts = options->layout_count ? options->layouts : &options->settings.layout,
               .runtimes = options->runtime_count ? options->runtimes : &options->settings.runtime,
               .precision_count = options->precision_count ? options->precision_count : 1,
               .layout_count = options->layout_count ? options->layout_count : 1,
               .runtime_count = options->runtime_count ? options->runtime_count : 1,
               .journal = {.file = -1},
               .team = team,
               .agree = agree,
               .lock = PTHREAD_MUTEX_INITIALIZER};
    sooth_status status = make(&m);
    survey_journal_close(&m.journal);
    pthread_mutex_destroy(&m.lock);
    s->fail.error = NULL;
    if (status == SOOTH_OK)
        *survey = s;
    else
        sooth_survey_free(s);
    return status;
}

void sooth_survey_free(sooth_survey *survey)
{
    if (!survey)
        return;
    arena_free(&survey->arena);
    free(survey->errors);
    free(survey);
}

size_t sooth_survey_row_count(const sooth_survey *survey)
{
    return survey->row_count;
}

sooth_survey_row sooth_survey_row_at(const sooth_survey *survey, size_t index)
{
    return index < survey->row_count ? survey->rows[index]
                                     : (sooth_survey_row){.name = "", .graph = "", .gpu = "", .error = "no such row"};
}

const char *sooth_survey_mode(const sooth_survey *survey)
{
    return survey->mode;
}

const char *sooth_survey_weights(const sooth_survey *survey)
{
    return survey->weights;
}
