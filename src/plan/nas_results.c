/* nas_results.c: results of a search: the best candidates, the Pareto front, and utilization over the space. */
#include "base/statistics.h"
#include "base/threads.h"
#include "plan/nas.h"

#include <math.h>
#include <stdlib.h>

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct keyed {
    double key, second;
    int32_t index;
} keyed;

static int by_key_descending(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* True if accuracy ranks the candidates; otherwise utilization does, and MACs for the front. */
static bool has_accuracies(const sooth_nas *n)
{
    return n->options->has_column[SOOTH_NAS_ACCURACY] || n->options->evaluate;
}

/* Lists the candidates to report: the evaluated ones or, without accuracies, all kept ones. */
static size_t answer_candidates(sooth_nas *n, keyed *list)
{
    size_t count = 0;
    if (has_accuracies(n) && !n->options->repeats) {
        for (int32_t i = 0; i < n->trial_count; i++) {
            const nas_candidate *c = &n->candidates.items[n->trials[i]];
            if (!isnan(c->accuracy))
                list[count++] = (keyed){c->accuracy, (double)c->latency_ms, n->trials[i]};
        }
        return count;
    }
    for (int32_t i = 0; i < n->candidates.count; i++) {
        const nas_candidate *c = &n->candidates.items[i];
        bool is_known = !has_accuracies(n) || !isnan(c->accuracy);
        if (c->is_kept && is_known)
            list[count++] = (keyed){has_accuracies(n) ? c->accuracy : (double)c->utilization, (double)c->latency_ms, i};
    }
    return count;
}

static void find_best(sooth_nas *n, keyed *list, size_t count)
{
    qsort(list, count, sizeof *list, by_key_descending);
    n->best_count = (int32_t)(count < NAS_BEST ? count : NAS_BEST);
    n->best = ARENA_ARRAY(&n->arena, int32_t, (size_t)n->best_count + 1);
    for (int32_t i = 0; i < n->best_count; i++)
        n->best[i] = list[i].index;
}

/* Finds the Pareto front, fastest first: each further candidate is slower and better. */
static void find_pareto(sooth_nas *n, keyed *list, size_t count)
{
    bool by_accuracy = has_accuracies(n);
    for (size_t i = 0; i < count; i++) {
        const nas_candidate *c = &n->candidates.items[list[i].index];
        list[i].second = -(by_accuracy ? c->accuracy : (double)c->macs); /* sorts equally fast candidates by quality */
        list[i].key = -(double)c->latency_ms;
    }
    qsort(list, count, sizeof *list, by_key_descending);
    n->pareto = ARENA_ARRAY(&n->arena, int32_t, count + 1);
    double best = -INFINITY;
    for (size_t i = 0; i < count; i++)
        if (-list[i].second > best) {
            best = -list[i].second;
            n->pareto[n->pareto_count++] = list[i].index;
        }
}

/* ---- the space --------------------------------------------------------------------------------------------------- */

typedef double (*figure)(const nas_candidate *c);

static double utilization(const nas_candidate *c)
{
    return (double)c->utilization;
}

static double latency(const nas_candidate *c)
{
    return (double)c->latency_ms;
}

static double accuracy(const nas_candidate *c)
{
    return c->accuracy;
}

static double macs(const nas_candidate *c)
{
    return (double)c->macs;
}

/* Spearman's rank correlation over the feasible candidates that have both values. */
static double correlation(sooth_nas *n, figure first, figure second, double *room, statistics_rank *sorting)
{
    size_t count = 0;
    double *x = room, *y = room + n->candidates.count;
    for (int32_t i = 0; i < n->candidates.count; i++) {
        const nas_candidate *c = &n->candidates.items[i];
        if (!c->is_feasible || isnan(first(c)) || isnan(second(c)))
            continue;
        x[count] = first(c);
        y[count++] = second(c);
    }
    return statistics_spearman(x, y, count, sorting);
}

static void describe_space(sooth_nas *n)
{
    statistics_rank *sorting = ARENA_ARRAY(&n->arena, statistics_rank, (size_t)n->candidates.count + 1);
    sooth_nas_totals *t = &n->totals;
    double *room = ARENA_ARRAY(&n->arena, double, 2 * (size_t)n->candidates.count + 1);
    size_t count = 0;
    t->predicted = (size_t)n->candidates.count;
    for (int32_t i = 0; i < n->candidates.count; i++) {
        const nas_candidate *c = &n->candidates.items[i];
        t->failed += c->error != NULL;
        t->kept += c->is_kept;
        if (c->is_feasible)
            room[count++] = (double)c->utilization;
    }
    t->feasible = count;
    t->evaluated = (size_t)n->trial_count;
    qsort(room, count, sizeof *room, statistics_ascending);
    t->utilization_p10 = statistics_quantile(room, count, 0.1);
    t->utilization_median = statistics_quantile(room, count, 0.5);
    t->utilization_p90 = statistics_quantile(room, count, 0.9);
    t->utilization_max = statistics_quantile(room, count, 1);
    t->utilization_with_latency = correlation(n, utilization, latency, room, sorting);
    t->utilization_with_accuracy = correlation(n, utilization, accuracy, room, sorting);
    t->macs_with_accuracy = correlation(n, macs, accuracy, room, sorting);
}

/* Computes the mean of each metric for every value of every choice. */
static void find_effects(sooth_nas *n)
{
    const space *s = n->space;
    size_t most = 0;
    for (int32_t k = 0; k < s->choice_count; k++)
        most += (size_t)s->choices[k].count;
    n->effects = ARENA_ARRAY(&n->arena, sooth_nas_effect, most);
    size_t *with_accuracy = ARENA_ARRAY(&n->arena, size_t, most);
    for (int32_t k = 0; k < s->choice_count; k++) {
        const space_choice *choice = &s->choices[k];
        sooth_nas_effect *of = n->effects + n->effect_count;
        size_t *known = with_accuracy + n->effect_count;
        for (int32_t i = 0; i < n->candidates.count; i++) {
            const nas_candidate *c = &n->candidates.items[i];
            if (!c->is_feasible)
                continue;
            sooth_nas_effect *e = &of[c->genes.of[k]];
            e->count++;
            e->utilization += (double)c->utilization;
            e->latency_ms += (double)c->latency_ms;
            if (!isnan(c->accuracy)) {
                e->accuracy += c->accuracy;
                known[c->genes.of[k]]++;
            }
        }
        for (int32_t v = 0; v < choice->count; v++) {
            of[v].choice = choice->name.ptr;
            of[v].value = choice->values[v].ptr;
            of[v].utilization /= (double)of[v].count;
            of[v].latency_ms /= (double)of[v].count;
            of[v].accuracy = known[v] ? of[v].accuracy / (double)known[v] : NAN;
        }
        n->effect_count += (size_t)choice->count;
    }
}

typedef struct listed {
    sooth_nas *nas;
    const int32_t *indices;
} listed;

static void fill_listed(void *context, size_t item, size_t worker)
{
    const listed *l = context;
    (void)worker;
    nas_fill_memory(l->nas, l->indices[item]);
}

/* `indices` has no duplicates. */
static void fill_memory(sooth_nas *n, const int32_t *indices, int32_t count)
{
    listed l = {n, indices};
    parallel_for((size_t)count, n->options->threads ? n->options->threads : threads_available(), fill_listed, &l);
    if (n->failure.code != SOOTH_OK)
        fail_with(&n->fail, n->failure.code, "%s", n->failure.message);
}

void nas_conclude(sooth_nas *n)
{
    keyed *list = ARENA_ARRAY(&n->arena, keyed, (size_t)n->candidates.count + (size_t)n->trial_count + 1);
    describe_space(n);
    find_effects(n);
    size_t count = answer_candidates(n, list);
    find_best(n, list, count);
    count = answer_candidates(n, list);
    find_pareto(n, list, count);
    if (n->options->repeats) /* repeats report statistics, not candidates */
        return;
    fill_memory(n, n->best, n->best_count); /* Fills `best` first, because the front may share candidates with it. */
    fill_memory(n, n->pareto, n->pareto_count < NAS_BEST ? n->pareto_count : NAS_BEST);
}
