/* intervals.c: fits the scale by maximum likelihood: errors follow a Laplace distribution whose scale is exponential
 * in the traits. The multiples of the scale are conformal quantiles, taken over rows whose scale was fitted without
 * their cluster, so that a chance fit of the traits does not make intervals too narrow. */
#include "learn/intervals.h"

#include <math.h>
#include <stdlib.h>

/* Number of parts into which the clusters are divided; each part is left out of one fit. */
enum { PARTS = 4 };
/* Fewest rows for a model, and for the multiples of one kind of graph. */
enum { LEAST_ROWS = 40 };
enum { SLOPES = 1 + INTERVAL_TRAITS };

typedef struct fitting {
    const residual *rows;
    int32_t *order; /* rows of the model */
    int32_t count;
    double *weights; /* [row of `order`] */
    int stack_count, gpu_count;
    int size;        /* unknowns: slopes, stacks, gpus */
    double most_log; /* largest logarithm of a scale */
    double *unknowns, *gradient, *matrix;
    arena *arena;
} fitting;

/* ---- weights of rows --------------------------------------------------------------------------------------------- */

static int by_cluster(const void *a, const void *b)
{
    const residual *x = *(const residual *const *)a, *y = *(const residual *const *)b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    if (x->cluster != y->cluster)
        return x->cluster < y->cluster ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sets the weights of the rows. A cluster counts as the square root of its rows, because their errors are related.
 * All sets have the same weight, except families, which have twice as much: users' networks are of unmeasured
 * families. */
static void weigh(fitting *f)
{
    const residual **sorted = ARENA_ARRAY(f->arena, const residual *, (size_t)f->count + 1);
    double *of_row = f->weights, sets[256] = {0}, all = 0;
    for (int32_t i = 0; i < f->count; i++)
        sorted[i] = &f->rows[f->order[i]];
    qsort(sorted, (size_t)f->count, sizeof *sorted, by_cluster);
    for (int32_t from = 0, end; from < f->count; from = end) {
        end = from;
        while (end < f->count && sorted[end]->set == sorted[from]->set && sorted[end]->cluster == sorted[from]->cluster)
            end++;
        for (int32_t i = from; i < end; i++)
            of_row[i] = 1 / sqrt((double)(end - from));
        sets[sorted[from]->set] += sqrt((double)(end - from));
    }
    int set_count = 0;
    for (int s = 0; s < 256; s++) {
        all += sets[s];
        set_count += sets[s] > 0;
    }
    for (int32_t i = 0; i < f->count; i++) {
        f->order[i] = (int32_t)(sorted[i] - f->rows);
        f->weights[i] *= (sorted[i]->set == SET_FAMILY ? 2 : 1) * all / set_count / sets[sorted[i]->set];
    }
}

/* ---- the scale --------------------------------------------------------------------------------------------------- */

/* Penalties on the squares of the unknowns. The constant is free; effects of stacks and GPUs need strong evidence. */
static const double LOOSE = 1e-3, OF_TRAIT = 4, OF_NAME = 10;
/* Errors are clamped to this range, so that a few outliers do not decide. */
static const double LEAST_ERROR = 1e-4, MOST_ERROR = 1;

static void columns_of(const fitting *f, const residual *r, int columns[SLOPES + 2], double values[SLOPES + 2])
{
    columns[0] = 0;
    values[0] = 1;
    for (int i = 0; i < INTERVAL_TRAITS; i++) {
        columns[1 + i] = 1 + i;
        values[1 + i] = (double)r->traits[i];
    }
    columns[SLOPES] = SLOPES + r->stack;
    columns[SLOPES + 1] = SLOPES + f->stack_count + r->gpu;
    values[SLOPES] = values[SLOPES + 1] = 1;
}

static double scale_log(const fitting *f, const residual *r)
{
    int columns[SLOPES + 2];
    double values[SLOPES + 2], sum = 0;
    columns_of(f, r, columns, values);
    for (int i = 0; i < SLOPES + 2; i++)
        sum += f->unknowns[columns[i]] * values[i];
    return fmin(fmax(sum, INTERVAL_LEAST_LOG), f->most_log);
}

/* Solves matrix * x = gradient in place, by Cholesky's decomposition. */
static void solve(double *matrix, double *x, int n)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < n; i++)
                matrix[i * n + j] -= matrix[i * n + k] * matrix[j * n + k];
        double root = sqrt(fmax(matrix[j * n + j], 1e-12));
        for (int i = j; i < n; i++)
            matrix[i * n + j] /= root;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= matrix[i * n + k] * x[k];
        x[i] /= matrix[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            x[i] -= matrix[k * n + i] * x[k];
        x[i] /= matrix[i * n + i];
    }
}

static uint32_t part_of(const residual *r)
{
    return r->cluster % PARTS;
}

/* One step of Newton's method. The curvature has a lower bound, so that no step overshoots. */
static void step(fitting *f, int without)
{
    int n = f->size;
    memset(f->gradient, 0, (size_t)n * sizeof *f->gradient);
    memset(f->matrix, 0, (size_t)n * (size_t)n * sizeof *f->matrix);
    for (int32_t i = 0; i < f->count; i++) {
        const residual *r = &f->rows[f->order[i]];
        if ((int)part_of(r) == without)
            continue;
        int columns[SLOPES + 2];
        double values[SLOPES + 2];
        columns_of(f, r, columns, values);
        double size = fmin(fmax(fabs((double)r->error), LEAST_ERROR), MOST_ERROR),
               of_scale = size * exp(-scale_log(f, r));
        double slope = f->weights[i] * (1 - of_scale), bend = f->weights[i] * fmax(of_scale, 0.5);
        for (int j = 0; j < SLOPES + 2; j++) {
            f->gradient[columns[j]] += slope * values[j];
            for (int k = 0; values[j] != 0 && k <= j; k++)
                f->matrix[columns[j] * n + columns[k]] += bend * values[j] * values[k];
        }
    }
    for (int i = 0; i < n; i++) {
        double penalty = i == 0 ? LOOSE : i < SLOPES ? OF_TRAIT : OF_NAME;
        f->gradient[i] += penalty * f->unknowns[i];
        f->matrix[i * n + i] += penalty;
    }
    solve(f->matrix, f->gradient, n);
    for (int i = 0; i < n; i++)
        f->unknowns[i] -= f->gradient[i];
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns a scale that few rows exceed. It bounds the scale of traits far from those of any row. */
static double usual_most(const fitting *f, int without)
{
    static const double FEW = 0.01;
    double *logs = ARENA_ARRAY(f->arena, double, (size_t)f->count + 1);
    size_t n = 0;
    for (int32_t i = 0; i < f->count; i++)
        if ((int)part_of(&f->rows[f->order[i]]) != without)
            logs[n++] = scale_log(f, &f->rows[f->order[i]]);
    qsort(logs, n, sizeof *logs, by_number);
    return n > 0 ? logs[n - 1 - (size_t)(FEW * (double)n)] : INTERVAL_MOST_LOG;
}

/* Fits the unknowns without one part of the clusters; -1: with all parts. */
static void fit_scale(fitting *f, int without)
{
    enum { STEPS = 24 };
    memset(f->unknowns, 0, (size_t)f->size * sizeof *f->unknowns);
    f->unknowns[0] = -3;
    f->most_log = INTERVAL_MOST_LOG;
    for (int i = 0; i < STEPS; i++)
        step(f, without);
    f->most_log = usual_most(f, without);
}

/* ---- the multiples ----------------------------------------------------------------------------------------------- */

typedef struct ratio {
    double size, weight; /* error ÷ scale */
    uint32_t part;
    uint8_t graph;
} ratio;

static int by_ratio(const void *a, const void *b)
{
    const ratio *x = a, *y = b;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* Weighted quantiles of the sorted ratios of one kind of graph, or of all kinds (GRAPH_KINDS), without a part.
 * Returns false with too few rows. Split conformal prediction: the quantiles cover one more row. */
static bool quantiles(const ratio *ratios, int32_t count, int graph, int without, float out[INTERVAL_LEVELS])
{
    double sum = 0, squares = 0, passed = 0;
    int32_t rows = 0;
    for (int32_t i = 0; i < count; i++)
        if ((graph == GRAPH_KINDS || ratios[i].graph == graph) && (int)ratios[i].part != without) {
            sum += ratios[i].weight;
            squares += ratios[i].weight * ratios[i].weight;
            rows++;
        }
    if (rows < LEAST_ROWS)
        return false;
    double rows_alike = sum * sum / squares;
    int level = 0;
    for (int32_t i = 0; i < count && level < INTERVAL_LEVELS; i++) {
        if ((graph != GRAPH_KINDS && ratios[i].graph != graph) || (int)ratios[i].part == without)
            continue;
        passed += ratios[i].weight;
        rows--;
        while (level < INTERVAL_LEVELS &&
               (rows == 0 || passed >= sum * INTERVAL_PERCENT[level] / 100 * (1 + 1 / rows_alike)))
            out[level++] = (float)fmin(ratios[i].size, 1000);
    }
    return true;
}

static bool multiples_of(const ratio *ratios, int32_t count, int graph, int without, float out[INTERVAL_LEVELS])
{
    return quantiles(ratios, count, graph, without, out) || quantiles(ratios, count, GRAPH_KINDS, without, out);
}

/* ---- one model --------------------------------------------------------------------------------------------------- */

static bool is_network(int model)
{
    return model / 2 < (int)INTERVAL_OPERATOR;
}

/* Lists the rows of a model; if there are too few, those of all classes of networks (or operators) with the same
 * knowledge of the GPU. */
static void list_rows(fitting *f, int32_t count, int model, bool all_classes)
{
    f->count = 0;
    for (int32_t i = 0; i < count; i++) {
        int own = f->rows[i].model;
        if (all_classes ? is_network(own) == is_network(model) && own % 2 == model % 2 : own == model)
            f->order[f->count++] = i;
    }
}

static void fit_model(fitting *f, int model, bool owns_rows, float *table, float (*halves)[INTERVAL_LEVELS])
{
    ratio *ratios = ARENA_ARRAY(f->arena, ratio, (size_t)f->count + 1);
    double *logs = ARENA_ARRAY(f->arena, double, (size_t)f->count + 1);
    weigh(f);
    for (int part = 0; part < PARTS; part++) {
        fit_scale(f, part);
        for (int32_t i = 0; i < f->count; i++)
            if ((int)part_of(&f->rows[f->order[i]]) == part)
                logs[i] = scale_log(f, &f->rows[f->order[i]]);
    }
    for (int32_t i = 0; i < f->count; i++) {
        const residual *r = &f->rows[f->order[i]];
        ratios[i] = (ratio){fabs((double)r->error) / exp(logs[i]), f->weights[i], part_of(r), r->graph};
    }
    qsort(ratios, (size_t)f->count, sizeof *ratios, by_ratio);
    float multiples[PARTS][GRAPH_KINDS][INTERVAL_LEVELS] = {{{0}}};
    for (int part = 0; part < PARTS; part++)
        for (int graph = 0; graph < GRAPH_KINDS; graph++)
            multiples_of(ratios, f->count, graph, part, multiples[part][graph]);
    for (int32_t i = 0; owns_rows && i < f->count; i++) {
        const residual *r = &f->rows[f->order[i]];
        for (int level = 0; level < INTERVAL_LEVELS; level++)
            halves[f->order[i]][level] = multiples[part_of(r)][r->graph][level] * (float)exp(logs[i]);
    }
    fit_scale(f, -1);
    size_t stacks = (size_t)f->stack_count, gpus = (size_t)f->gpu_count;
    float *slopes = table + (size_t)model * INTERVAL_ROW, *of_stacks = table + (size_t)INTERVAL_MODELS * INTERVAL_ROW;
    slopes[INTERVAL_ROW - 1] = (float)f->most_log;
    float *of_gpus = of_stacks + INTERVAL_MODELS * stacks, *of_levels = of_gpus + INTERVAL_MODELS * gpus;
    for (int i = 0; i < f->size; i++)
        *(i < SLOPES                    ? &slopes[i]
          : i < SLOPES + f->stack_count ? &of_stacks[(size_t)model * stacks + (size_t)(i - SLOPES)]
                                        : &of_gpus[(size_t)model * gpus + (size_t)(i - SLOPES - f->stack_count)]) =
            (float)f->unknowns[i];
    for (int graph = 0; graph < GRAPH_KINDS; graph++)
        multiples_of(ratios, f->count, graph, -1,
                     of_levels + ((size_t)model * GRAPH_KINDS + (size_t)graph) * INTERVAL_LEVELS);
}

void intervals_fit(const residual *rows, int32_t count, int stack_count, int gpu_count, float *table,
                   float (*halves)[INTERVAL_LEVELS], arena *a)
{
    fitting f = {.rows = rows, .stack_count = stack_count, .gpu_count = gpu_count, .arena = a};
    f.size = SLOPES + stack_count + gpu_count;
    f.order = ARENA_ARRAY(a, int32_t, (size_t)count + 1);
    f.weights = ARENA_ARRAY(a, double, (size_t)count + 1);
    f.unknowns = ARENA_ARRAY(a, double, (size_t)f.size);
    f.gradient = ARENA_ARRAY(a, double, (size_t)f.size);
    f.matrix = ARENA_ARRAY(a, double, (size_t)f.size *(size_t)f.size);
    memset(table, 0, interval_floats(stack_count, gpu_count) * sizeof *table);
    memset(halves, 0, (size_t)count * sizeof *halves);
    for (int model = 0; model < INTERVAL_MODELS; model++) {
        list_rows(&f, count, model, false);
        bool owns_rows = f.count >= LEAST_ROWS;
        if (!owns_rows)
            list_rows(&f, count, model, true);
        if (f.count >= LEAST_ROWS)
            fit_model(&f, model, owns_rows, table, halves);
    }
}
