/* eval.c: predicts all rows of tables. */
#include "learn/eval.h"
#include "base/threads.h"
#include "device/mig.h"
#include "graph/infer.h"
#include "learn/baseline.h"
#include "predict/alternatives.h"
#include "predict/energy.h"
#include "predict/footprint.h"
#include "predict/setting.h"
#include "predict/work.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Memory limit of a worker. A row of a whole model needs only a few MiB. */
static const size_t WORKER_CAP = (size_t)2 << 30;

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Rows that one worker predicts in sequence: all rows of a graph, or some operators. */
typedef struct eval_job {
    const uint32_t *rows; /* indices */
    size_t count;
} eval_job;

typedef struct eval_worker {
    fail fail;
    sooth_error error;
    arena scratch;
    sooth_model *model;  /* the loaded model */
    sooth_error trouble; /* A system error, which no row caused. */
} eval_worker;

typedef struct eval_run {
    evaluation *out;
    const predictor *with;
    power_model power;
    eval_job *jobs;
    eval_worker *workers;
    eval_progress progress;
    void *context;
    atomic_size_t done;
} eval_run;

static void note_trouble(eval_worker *w, const sooth_error *e)
{
    if (w->trouble.code == SOOTH_OK)
        w->trouble = *e;
}

static void refuse(eval_run *run, eval_row *row, size_t worker, const sooth_error *why)
{
    if (why->code == SOOTH_ERROR_SYSTEM)
        note_trouble(&run->workers[worker], why);
    row->reason = arena_str(&run->out->texts[worker], str_of(why->message)).ptr;
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* Energy under the row's power limit, plus the energy of other GPUs that idle. A single operator never waits for the
 * host. */
static void answer_energy(const eval_run *run, eval_row *row, const program *program, prediction *p, arena *a)
{
    const measured_row *m = row->row;
    energy e = energy_of_program(&run->power, program, p, m->where.device, m->power_limit_w > 0 ? m->power_limit_w : 0,
                                 m->where.on_own_host || p->stack_is_measured, a);
    double waiting_ms = m->kernels ? p->device_ms - p->latency_ms : (double)m->idle_gpus * p->latency_ms;
    row->energy_j = e.energy_j + e.waiting_w * waiting_ms * 1e-3;
    row->low_j = row->energy_j * (e.low_j / e.energy_j);
    row->high_j = row->energy_j * (e.high_j / e.energy_j);
}

/* `added_ms`: time added by the source's timer or by copying the input. A single operator does not wait for the
 * host, so its roofline is the device time. Learned latencies already include the timer. `model` is NULL for operators;
 * a network is limited as in a user's call. */
static void answer_program(eval_run *run, eval_row *row, sooth_model *model, const program *program, double added_ms,
                           arena *a)
{
    const setting *where = &row->row->where;
    work_list works = work_of_program(program, a);
    prediction *p = predict_program(NULL, program, &works, where, a);
    double physics_ms = row->row->kernels ? p->device_ms : p->latency_ms, scale = physics_ms / p->latency_ms;
    row->roofline_ms = physics_ms + added_ms;
    if (run->with) {
        p = predict_program(run->with, program, &works, where, a);
        if (model)
            limit_by_alternatives(p, model, run->with, where, a);
        /* The stack's fixed time of a network already includes copying the input. */
        added_ms = row->row->kernels ? added_ms : 0;
        scale = 1;
    }
    if (run->out->seen)
        run->out->seen(run->out->seen_context, (size_t)(row - run->out->rows), program, p);
    if (run->with)
        answer_energy(run, row, program, p, a);
    row->latency_ms = p->latency_ms * scale + added_ms;
    row->low_ms = row->latency_ms * (p->low_ms / p->latency_ms);
    row->high_ms = row->latency_ms * (p->high_ms / p->latency_ms);
    row->interval_kind = p->interval_kind;
}

/* Only for whole networks, because no table has the memory of single operators. */
static void answer_memory(eval_row *row, const program *p, const network *net, arena *a)
{
    if (!(row->row->memory_mib > 0))
        return;
    work_list works = work_of_program(p, a);
    const setting *where = &row->row->where;
    const footprint_basis *basis = footprint_basis_of(p, net, &where->lower, footprint_key_of(where), a, a);
    footprint f = footprint_of(basis, where, workspaces_of(p, &works, where, a), NULL, NULL, a);
    row->memory_mib = f.value_mib;
    row->memory_low_mib = f.low_mib;
    row->memory_high_mib = f.high_mib;
}

static double input_bytes(const sooth_model *model, const lower_options *options)
{
    double bytes = 0;
    bool is_half = options->precision == PRECISION_FP16 || options->precision == PRECISION_BF16;
    for (int32_t i = 0; i < model->net.inputs.count; i++) {
        const value *v = &model->net.values.items[model->net.inputs.items[i]];
        double elements = 1;
        for (int d = 0; d < v->rank; d++)
            elements *= dim_known(v->dims[d]) ? (double)v->dims[d] : 1;
        bytes += elements * (is_half && v->dtype == DT_FLOAT32 ? 2 : dtype_bits(v->dtype) / 8);
    }
    return bytes;
}

/* ---- whole models ------------------------------------------------------------------------------------------------ */

/* Predicts rows with the same batch and program. */
static void answer_lowered(eval_run *run, const uint32_t *indices, size_t count, sooth_model *model, arena *a)
{
    eval_row *rows = run->out->rows;
    if (setjmp(model->fail.jump)) {
        lowered_end_holds(model);
        return;
    }
    const program *program = lower(model, &rows[indices[0]].row->where.lower, a);
    sooth_totals totals = sooth_totals_of(model);
    arena_mark lowered = arena_marked(a);
    for (size_t i = 0; i < count; i++) {
        eval_row *row = &rows[indices[i]];
        arena_rewind(a, lowered);
        row->work[0] = (double)totals.macs;
        row->work[1] = (double)totals.activation_bytes;
        row->work[2] = (double)totals.params;
        answer_program(run, row, model, program, row_copy_ms(row->row, input_bytes(model, &row->row->where.lower)), a);
        answer_memory(row, program, &model->net, a);
    }
}

/* Predicts the rows from `first` up to the first with another batch or program, which it returns. On failure, all
 * these rows get the reason. */
static size_t answer_alike(eval_run *run, const eval_job *job, size_t first, sooth_model *model, size_t worker)
{
    eval_row *rows = run->out->rows, *head = &rows[job->rows[first]];
    uint64_t key = lower_program_key(&head->row->where.lower);
    size_t end = first + 1;
    while (end < job->count && rows[job->rows[end]].row->batch == head->row->batch &&
           lower_program_key(&rows[job->rows[end]].row->where.lower) == key)
        end++;
    sooth_error error = {.code = SOOTH_OK};
    arena a;
    arena_init(&a, &model->fail, WORKER_CAP);
    model->fail.error = &error;
    answer_lowered(run, job->rows + first, end - first, model, &a);
    model->fail.error = NULL;
    arena_free(&a);
    for (size_t i = first; i < end && error.code != SOOTH_OK; i++)
        refuse(run, &rows[job->rows[i]], worker, &error);
    return end;
}

static void answer_graph(eval_run *run, const eval_job *job, size_t worker)
{
    eval_row *rows = run->out->rows;
    sooth_error error;
    const char *path = rows[job->rows[0]].row->graph.ptr;
    sooth_model **held = &run->workers[worker].model;
    if (sooth_load_file(path, held, &error) != SOOTH_OK) {
        int missing = error.code == SOOTH_ERROR_SYSTEM ? row_graph_error(rows[job->rows[0]].row) : 0;
        if (missing)
            snprintf(error.message, sizeof error.message, "cannot be opened: %s", strerror(missing));
        else if (error.code == SOOTH_ERROR_SYSTEM)
            note_trouble(&run->workers[worker], &error);
        str reason = arena_printf(&run->out->texts[worker], "%s: %s", path, error.message);
        for (size_t i = 0; i < job->count; i++)
            rows[job->rows[i]].reason = reason.ptr;
        return;
    }
    sooth_model *model = *held;
    int64_t bound = 0;
    for (size_t i = 0; i < job->count;) {
        int64_t batch = rows[job->rows[i]].row->batch;
        if (batch != bound && sooth_bind(model, &(sooth_options){.batch = batch}, &error) != SOOTH_OK) {
            refuse(run, &rows[job->rows[i++]], worker, &error);
            bound = 0;
            continue;
        }
        bound = batch;
        i = answer_alike(run, job, i, model, worker);
    }
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static void answer_operator(eval_run *run, eval_row *row, size_t worker)
{
    arena *a = &run->workers[worker].scratch;
    const program *p = row->row->kernels;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        row->work[0] += (double)(k->macs ? k->macs : k->flops);
        row->work[1] += (double)k->bytes_written;
        row->work[2] += (double)k->bytes_read;
    }
    answer_program(run, row, NULL, p, row->row->timer_us / 1e3, a);
}

static void answer_job(void *context, size_t item, size_t worker)
{
    eval_run *run = context;
    const eval_job *job = &run->jobs[item];
    eval_row *rows = run->out->rows;
    eval_worker *w = &run->workers[worker];
    if (setjmp(w->fail.jump)) { /* on failure, the worker's remaining rows stay without a prediction */
        if (w->error.code == SOOTH_ERROR_SYSTEM)
            note_trouble(w, &w->error);
        for (size_t i = 0; i < job->count; i++)
            if (isnan(rows[job->rows[i]].latency_ms) && !rows[job->rows[i]].reason)
                rows[job->rows[i]].reason = "it needs too much memory";
    } else if (rows[job->rows[0]].row->kernels) {
        for (size_t i = 0; i < job->count; i++)
            answer_operator(run, &rows[job->rows[i]], worker);
    } else {
        answer_graph(run, job, worker);
    }
    sooth_free(w->model);
    w->model = NULL;
    arena_free(&w->scratch);
    size_t done = atomic_fetch_add(&run->done, job->count) + job->count;
    if (worker == 0 && run->progress)
        run->progress(run->context, done, run->out->count);
}

/* ---- sharing the work -------------------------------------------------------------------------------------------- */

typedef struct work_order {
    const eval_row *row;
    uint32_t index;
} work_order;

/* Sorts rows by graph, then by program. Operator rows come last, in their original order. */
static int compare_order(const void *a, const void *b)
{
    const work_order *x = a, *y = b;
    const measured_row *p = x->row->row, *q = y->row->row;
    size_t shorter = p->graph.len < q->graph.len ? p->graph.len : q->graph.len;
    int c = (p->kernels != NULL) - (q->kernels != NULL);
    c = c ? c : shorter ? memcmp(p->graph.ptr, q->graph.ptr, shorter) : 0;
    c = c ? c : (p->graph.len > q->graph.len) - (p->graph.len < q->graph.len);
    c = c ? c : (p->batch > q->batch) - (p->batch < q->batch);
    uint64_t kx = lower_program_key(&p->where.lower), ky = lower_program_key(&q->where.lower);
    c = c ? c : (kx > ky) - (kx < ky);
    return c ? c : (x->index > y->index) - (x->index < y->index);
}

static size_t make_jobs(eval_run *run, arena *a)
{
    enum { OPERATORS_AT_ONCE = 512 };
    evaluation *out = run->out;
    work_order *order = ARENA_ARRAY(a, work_order, out->count + 1);
    uint32_t *indices = ARENA_ARRAY(a, uint32_t, out->count + 1);
    size_t n = 0, jobs = 0;
    for (size_t i = 0; i < out->count; i++)
        if (!out->rows[i].reason)
            order[n++] = (work_order){&out->rows[i], (uint32_t)i};
    qsort(order, n, sizeof *order, compare_order);
    run->jobs = ARENA_ARRAY(a, eval_job, n + 1);
    for (size_t i = 0; i < n; i++) {
        indices[i] = order[i].index;
        const eval_job *last = jobs ? &run->jobs[jobs - 1] : NULL;
        const measured_row *row = order[i].row->row, *before = i ? order[i - 1].row->row : NULL;
        bool is_alike =
            before && (row->kernels != NULL) == (before->kernels != NULL) && str_eq(row->graph, before->graph);
        if (!is_alike || (row->kernels && last->count == OPERATORS_AT_ONCE))
            run->jobs[jobs++] = (eval_job){&indices[i], 0};
        run->jobs[jobs - 1].count++;
    }
    return jobs;
}

static void add_rows(evaluation *out, measured_rows *const *tables, int table_count, arena *a)
{
    for (int t = 0; t < table_count; t++)
        out->count += (size_t)tables[t]->rows.count;
    out->rows = ARENA_ARRAY(a, eval_row, out->count + 1);
    size_t at = 0;
    for (int t = 0; t < table_count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++) {
            eval_row *row = &out->rows[at++];
            *row = (eval_row){.row = &tables[t]->rows.items[i], .table = t, .reason = tables[t]->rows.items[i].reason};
            if (!row->reason && isnan(row->row->latency_ms) && isnan(row->row->memory_mib) &&
                isnan(row->row->energy_j) && isnan(row->row->power_w))
                row->reason = "no latency was measured";
            row->latency_ms = row->low_ms = row->high_ms = NAN;
            row->energy_j = row->low_j = row->high_j = NAN;
            row->memory_mib = row->memory_low_mib = row->memory_high_mib = NAN;
            row->roofline_ms = row->regression_ms = row->constant_ms = NAN;
        }
}

/* ---- baselines --------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, str s)
{
    return (h ^ str_hash(s)) * 0x9e3779b97f4a7c15u;
}

/* Hash of the setting. Rows with equal settings share a regression, so it excludes the network; an operator's name
 * counts as setting. */
static uint64_t setting_key(const measured_row *row)
{
    uint64_t h = mix(lower_options_key(&row->where.lower) * 0x9e3779b97f4a7c15u, row->gpu);
    h = mix(mix(h, row->where.stack), row->source);
    return row->kernels ? mix(h, row->name) : h;
}

typedef struct setting_row {
    uint64_t key;
    uint32_t index;
} setting_row;

static int compare_setting(const void *a, const void *b)
{
    const setting_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_answered(const eval_row *row)
{
    return !row->reason && row->row->latency_ms > 0;
}

static void add_regression(evaluation *e, arena *a)
{
    setting_row *order = ARENA_ARRAY(a, setting_row, e->count + 1);
    regression_row *rows = ARENA_ARRAY(a, regression_row, e->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++)
        if (is_answered(&e->rows[i]))
            order[n++] = (setting_row){setting_key(e->rows[i].row), (uint32_t)i};
    qsort(order, n, sizeof *order, compare_setting);
    for (size_t i = 0; i < n; i++) {
        const eval_row *row = &e->rows[order[i].index];
        rows[i] = (regression_row){.measured = row->row->latency_ms};
        memcpy(rows[i].work, row->work, sizeof row->work);
        rows[i].fold = row->row->kernels ? row->row->shape : str_hash(row_architecture(row->row->name, a));
    }
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && order[end].key == order[i].key)
            end++;
        regress(rows + i, end - i, a);
        for (; i < end; i++)
            e->rows[order[i].index].regression_ms = rows[i].predicted;
    }
}

/* Key of a row's work: equal for equal work, whatever the GPU and the stack. */
static uint64_t work_key(const measured_row *row, bool any_batch)
{
    uint64_t h = mix(lower_options_key(&row->where.lower) * 0x9e3779b97f4a7c15u, row->graph);
    if (row->kernels)
        return mix(h ^ row->shape, row->where.stack);
    return any_batch ? h : (h ^ (uint64_t)row->batch) * 0x9e3779b97f4a7c15u;
}

/* Fills in the constant baseline of rows without one: from another row with the same batch, else per sample from any
 * batch. */
static void add_constant(evaluation *e, bool any_batch, arena *a)
{
    constant_row *rows = ARENA_ARRAY(a, constant_row, e->count + 1);
    uint32_t *indices = ARENA_ARRAY(a, uint32_t, e->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++) {
        const measured_row *row = e->rows[i].row;
        if (!is_answered(&e->rows[i]))
            continue;
        indices[n] = (uint32_t)i;
        rows[n++] = (constant_row){.key = work_key(row, any_batch),
                                   .gpu = str_hash(row->gpu),
                                   .measured = row->latency_ms / (double)row->batch};
    }
    scale_from_other_gpu(rows, n, a);
    for (size_t i = 0; i < n; i++) {
        eval_row *row = &e->rows[indices[i]];
        if (isnan(row->constant_ms))
            row->constant_ms = rows[i].predicted * (double)row->row->batch;
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void evaluate(evaluation *into, measured_rows *const *tables, int table_count, const predictor *with, size_t workers,
              eval_progress progress, void *context, arena *a)
{
    workers = workers ? workers : 1;
    add_rows(into, tables, table_count, a);
    eval_run run = {.out = into, .with = with, .progress = progress, .context = context};
    power_model_shipped(&run.power, a->fail);
    run.workers = ARENA_ARRAY(a, eval_worker, workers);
    into->texts = ARENA_ARRAY(a, arena, workers);
    size_t jobs = make_jobs(&run, a);
    for (size_t i = 0; i < workers; i++) {
        run.workers[i].fail.error = &run.workers[i].error;
        arena_init(&run.workers[i].scratch, &run.workers[i].fail, WORKER_CAP);
        arena_init(&into->texts[i], &run.workers[i].fail, WORKER_CAP);
        into->worker_count = i + 1;
    }
    parallel_for(jobs, workers, answer_job, &run);
    for (size_t i = 0; i < workers; i++)
        if (run.workers[i].trouble.code != SOOTH_OK)
            fail_with(a->fail, run.workers[i].trouble.code, "%s", run.workers[i].trouble.message);
    add_regression(into, a);
    add_constant(into, false, a);
    add_constant(into, true, a);
}

void evaluation_free(evaluation *e)
{
    for (size_t i = 0; i < e->worker_count; i++)
        arena_free(&e->texts[i]);
    *e = (evaluation){0};
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

const char *eval_by_name(eval_by by)
{
    static const char *const NAMES[BY_COUNT] = {"gpu",     "family", "precision", "source", "stack",
                                                "runtime", "mode",   "layout",    "mig"};
    return NAMES[by];
}

str eval_group(const eval_row *row, eval_by by)
{
    const setting *where = &row->row->where;
    switch (by) {
    case BY_GPU:
        return row->row->gpu;
    case BY_FAMILY:
        return row->row->family;
    case BY_SOURCE:
        return row->row->source;
    case BY_STACK:
        return where->stack;
    case BY_PRECISION:
        return str_of(setting_name(where, SETTING_PRECISION));
    case BY_RUNTIME:
        return str_of(setting_name(where, SETTING_RUNTIME));
    case BY_MODE:
        return str_of(setting_name(where, SETTING_MODE));
    case BY_LAYOUT:
        return str_of(setting_name(where, SETTING_LAYOUT));
    case BY_MIG:
        return where->device && where->device->profile ? where->device->profile->name : STR("whole GPU");
    default:
        return STR("");
    }
}

const char *eval_model_name(eval_model model)
{
    static const char *const NAMES[EVAL_MODEL_COUNT] = {"sooth", "roofline", "regression", "constant"};
    return NAMES[model];
}

double eval_error(const eval_row *row)
{
    double measured = row->row->latency_ms;
    return is_answered(row) ? 100 * fabs(row->latency_ms - measured) / measured : NAN;
}

const char *eval_metric_name(eval_metric metric)
{
    static const char *const NAMES[EVAL_METRIC_COUNT] = {"latency_ms", "memory_mib", "energy_j"};
    return NAMES[metric];
}

score eval_metric_score(const evaluation *e, eval_metric metric, eval_by by, const str *group, arena *scratch)
{
    scored *rows = ARENA_ARRAY(scratch, scored, e->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++) {
        const eval_row *r = &e->rows[i];
        if (r->reason || (group && !str_eq(eval_group(r, by), *group)))
            continue;
        if (metric == EVAL_LATENCY)
            rows[n++] = (scored){r->row->latency_ms, r->latency_ms, r->low_ms, r->high_ms};
        else if (metric == EVAL_MEMORY)
            rows[n++] = (scored){r->row->memory_mib, r->memory_mib, r->memory_low_mib, r->memory_high_mib};
        else
            rows[n++] = (scored){r->row->energy_j, r->energy_j, r->low_j, r->high_j};
    }
    return score_of(rows, n, scratch);
}

score eval_score(const evaluation *e, eval_model model, eval_by by, const str *group, arena *scratch)
{
    scored *rows = ARENA_ARRAY(scratch, scored, e->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++) {
        const eval_row *r = &e->rows[i];
        if (!is_answered(r) || (group && !str_eq(eval_group(r, by), *group)))
            continue;
        const double predicted[EVAL_MODEL_COUNT] = {r->latency_ms, r->roofline_ms, r->regression_ms, r->constant_ms};
        scored s = {r->row->latency_ms, predicted[model], NAN, NAN};
        if (model == EVAL_SOOTH) {
            s.low = r->low_ms;
            s.high = r->high_ms;
        }
        rows[n++] = s;
    }
    return score_of(rows, n, scratch);
}
