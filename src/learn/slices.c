/* slices.c: fits the constants of slices by coordinate descent, because the mean error has no gradient where rows
 * switch between host-bound and device-bound. Constants and rows are few. */
#include "learn/slices.h"
#include "graph/infer.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_STACKS_FITTED = SLICE_MAX_HOSTS, UNKNOWNS = SLICE_FITTED + MAX_STACKS_FITTED };

typedef struct fit_row {
    const measured_row *row;
    const slice_program *program;
    int stack;
    bool is_apart;
} fit_row;

typedef struct fit_run {
    arena *arena;
    fail *fail;
    struct {
        fit_row *items;
        int32_t count, capacity;
    } rows;
    str stacks[MAX_STACKS_FITTED];
    int stack_count;
    double at[UNKNOWNS]; /* logarithms of the constants, then of each stack's launch time in microseconds */
} fit_run;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool is_same_workload(const measured_row *a, const measured_row *b)
{
    return a->batch == b->batch && str_eq(a->graph, b->graph) && str_eq(a->source, b->source) &&
           lower_program_key(&a->where.lower) == lower_program_key(&b->where.lower);
}

static bool is_same_network(const measured_row *a, const measured_row *b)
{
    return str_eq(a->name, b->name) && str_eq(a->source, b->source) && a->where.lower.mode == b->where.lower.mode;
}

/* Holds out every second workload of a network, in order of appearance. */
static bool is_kept_apart(const fit_run *run, const measured_row *row)
{
    int before = 0;
    for (int32_t i = 0; i < run->rows.count; i++) {
        const measured_row *other = run->rows.items[i].row;
        if (is_same_workload(other, row))
            return run->rows.items[i].is_apart;
        bool is_first = is_same_network(other, row);
        for (int32_t k = 0; k < i && is_first; k++)
            is_first = !is_same_workload(run->rows.items[k].row, other);
        before += is_first;
    }
    return before % 2 == 1;
}

static int stack_of(fit_run *run, str stack)
{
    for (int i = 0; i < run->stack_count; i++)
        if (str_eq(run->stacks[i], stack))
            return i;
    if (run->stack_count == MAX_STACKS_FITTED)
        fail_with(run->fail, SOOTH_ERROR_INPUT, "the rows have more than %d stacks", MAX_STACKS_FITTED);
    run->stacks[run->stack_count] = stack;
    return run->stack_count++;
}

static bool lower_row(sooth_model *model, const measured_row *row, slice_program *into, arena *a, sooth_error *error)
{
    fail *outer = a->fail;
    model->fail.error = error;
    if (setjmp(model->fail.jump)) {
        a->fail = outer;
        return false;
    }
    a->fail = &model->fail;
    *into = slice_program_of(lower(model, &row->where.lower, a), &row->where, a);
    a->fail = outer;
    return true;
}

static const slice_program *program_of(const measured_row *row, arena *a)
{
    sooth_model *model;
    sooth_options options = {.batch = row->batch};
    slice_program *program = ARENA_NEW(a, slice_program);
    sooth_error error;
    bool done = sooth_load_file(row->graph.ptr, &model, &error) == SOOTH_OK;
    bool is_missing = !done && row_graph_error(row) != 0;
    if (done) {
        done = sooth_bind(model, &options, &error) == SOOTH_OK && lower_row(model, row, program, a, &error);
        sooth_free(model);
    }
    if (!done && !is_missing && error.code == SOOTH_ERROR_SYSTEM)
        fail_with(a->fail, error.code, "%.*s: %s", STR_ARG(row->graph), error.message);
    return done ? program : NULL;
}

static void take_row(fit_run *run, const measured_row *row)
{
    if (row->reason || row->kernels || !row->where.device->whole || !slice_is_measured(&row->where) ||
        !(row->latency_ms > 0))
        return;
    const slice_program *program = program_of(row, run->arena);
    if (!program)
        return;
    bool is_apart = is_kept_apart(run, row);
    *(fit_row *)ARENA_PUSH(run->arena, &run->rows) = (fit_row){row, program, stack_of(run, row->where.stack), is_apart};
}

/* ---- fitting ----------------------------------------------------------------------------------------------------- */

static slice_constants constants_at(const fit_run *run, const double *at)
{
    slice_constants c = {.host_count = run->stack_count};
    for (int i = 0; i < SLICE_FITTED; i++)
        c.values[i] = exp(at[i]);
    for (int i = 0; i < run->stack_count; i++) {
        c.hosts[i].stack = run->stacks[i];
        c.hosts[i].launch_us = exp(at[SLICE_FITTED + i]);
    }
    return c;
}

static double latency_of(const fit_row *row, const slice_constants *c)
{
    const slice_program *p = row->program;
    double device_ms = 0, host_ms = slice_host_ms(&p->launches, c, c->hosts[row->stack].launch_us);
    for (int32_t i = 0; i < p->count; i++)
        device_ms += slice_total(slice_time_of(&p->terms[i], c)) * p->terms[i].count / 1e3;
    return predict_joint_ms(device_ms, host_ms);
}

static double error_of(const fit_row *row, const slice_constants *c)
{
    return log(latency_of(row, c) / row->row->latency_ms);
}

/* Mean error, plus a penalty that pulls constants without data towards the roofline. */
static double loss_at(const fit_run *run, const double *at)
{
    static const double PULL = 0.002;
    slice_constants c = constants_at(run, at);
    double sum = 0, count = 0, pull = 0;
    for (int32_t i = 0; i < run->rows.count; i++)
        if (!run->rows.items[i].is_apart) {
            sum += fabs(error_of(&run->rows.items[i], &c));
            count++;
        }
    for (int i = 0; i < SLICE_ROUND_PRODUCT; i++)
        pull += at[i] * at[i];
    return sum / count + PULL * pull;
}

static double within(int unknown, double x)
{
    double least = 0.1, most = 1000; /* bounds of the launch time in microseconds */
    if (unknown < SLICE_FITTED)
        slice_constant_bounds((slice_constant)unknown, &least, &most);
    return fmin(fmax(x, log(least)), log(most));
}

static void descend(fit_run *run)
{
    static const double FIRST_STEP = 0.4, LAST_STEP = 0.01, LEAST_GAIN = 1e-6;
    int unknowns = SLICE_FITTED + run->stack_count;
    double best = loss_at(run, run->at);
    for (double step = FIRST_STEP; step >= LAST_STEP;) {
        bool improved = false;
        for (int i = 0; i < 2 * unknowns; i++) {
            double before = run->at[i / 2];
            run->at[i / 2] = within(i / 2, before + (i % 2 ? -step : step));
            double loss = loss_at(run, run->at);
            if (loss < best - LEAST_GAIN) {
                best = loss;
                improved = true;
            } else {
                run->at[i / 2] = before;
            }
        }
        step = improved ? step : step / 2;
    }
}

/* ---- what came out ----------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static str sources_of(const fit_run *run)
{
    str all = {"", 0};
    for (int32_t i = 0; i < run->rows.count; i++) {
        bool is_new = true;
        for (int32_t k = 0; k < i && is_new; k++)
            is_new = !str_eq(run->rows.items[k].row->source, run->rows.items[i].row->source);
        if (is_new)
            all = arena_printf(run->arena, "%s%s%.*s", all.ptr, all.len ? ", " : "",
                               STR_ARG(run->rows.items[i].row->source));
    }
    return all;
}

static void judge(const fit_run *run, slices_fit *fit)
{
    double *errors = ARENA_ARRAY(run->arena, double, (size_t)run->rows.count + 1);
    double *logs = ARENA_ARRAY(run->arena, double, (size_t)run->rows.count + 1);
    for (int32_t i = 0; i < run->rows.count; i++) {
        double error = error_of(&run->rows.items[i], &fit->constants), relative = fabs(exp(error) - 1);
        if (!run->rows.items[i].is_apart) {
            fit->fitted_error += relative;
            fit->fitted++;
            continue;
        }
        fit->apart_error += relative;
        errors[fit->apart] = relative;
        logs[fit->apart++] = fabs(error);
    }
    if (!fit->fitted || !fit->apart)
        fail_with(run->fail, SOOTH_ERROR_INPUT,
                  "too few rows of measured slices (GA100, eager, fp32 or tf32): %d; at least two workloads of one "
                  "network are needed",
                  (int)run->rows.count);
    fit->fitted_error /= (double)fit->fitted;
    fit->apart_error /= (double)fit->apart;
    qsort(errors, fit->apart, sizeof *errors, by_size);
    qsort(logs, fit->apart, sizeof *logs, by_size);
    fit->apart_median = errors[fit->apart / 2];
    /* Conformal quantile for one more row. */
    size_t rank = (size_t)ceil(0.9 * (double)(fit->apart + 1));
    double least, most;
    slice_constant_bounds(SLICE_INTERVAL, &least, &most);
    fit->constants.values[SLICE_INTERVAL] =
        fmin(fmax(logs[rank > fit->apart ? fit->apart - 1 : rank - 1], least), most);
}

void slices_learn(slices_fit *fit, measured_rows *const *tables, int table_count, arena *a, fail *f)
{
    fit_run *run = ARENA_NEW(a, fit_run);
    run->arena = a;
    run->fail = f;
    *fit = (slices_fit){0};
    for (int t = 0; t < table_count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++)
            take_row(run, &tables[t]->rows.items[i]);
    run->at[SLICE_ROUND_PRODUCT] = run->at[SLICE_ROUND_CONV] = log(0.3);
    run->at[SLICE_HOST_VIEW] = run->at[SLICE_HOST_LIBRARY] = log(0.3);
    run->at[SLICE_HOST_BACKWARD] = run->at[SLICE_HOST_UPDATE] = log(0.5);
    for (int i = 0; i < run->stack_count; i++)
        run->at[SLICE_FITTED + i] = log(20);
    if (run->rows.count)
        descend(run);
    fit->constants = constants_at(run, run->at);
    fit->sources = sources_of(run);
    judge(run, fit);
}
