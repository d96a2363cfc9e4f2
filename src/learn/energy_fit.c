/* energy_fit.c: fits the power coefficients and measures their errors on hold-out rows. */
#include "learn/energy_fit.h"
#include "base/threads.h"
#include "learn/energy_interval.h"
#include "learn/energy_sensor.h"
#include "predict/net.h"
#include "predict/setting.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Clock coefficients change times, not power. They come last and are fitted separately. */
enum {
    FITTED = POWER_CAP + 1,
    ZEROS = FITTED, /* share of the power above the base that remains when weights are zeros */
    SHARED,
    OF_GPU = 3, /* parameters per GPU: base, scale, cap */
    MAX_PARAMETERS = SHARED + OF_GPU * POWER_MAX_GPUS,
    FOLDS = 6,
    MAX_SOURCES = INTERVAL_MAX_SOURCES,
    MOST_STEPS = 40,
};

/* A kernel of a row: totals over all its runs. */
typedef struct fit_work {
    float device_us, compute_us, memory_us, active, runs;
    uint8_t unit;
} fit_work;

typedef struct fit_row {
    const measured_row *row;
    fit_work *works;
    int32_t work_count;
    int gpu, source;
    int network_fold, shape_fold;
    power_work_kind kind;
    sensor_run run;
    double device_ms, host_ms, latency_ms; /* predicted */
    double latency_half;                   /* half of its interval, as a logarithm */
    double us;                             /* duration of the measured run */
    double stretch; /* factor that scales kernel times to the measured run; 1 if the device waits for the host */
    double weight;
} fit_row;

typedef struct fitter {
    arena *arena;
    fit_row *rows;
    size_t count, room;
    atomic_bool has_no_memory;
    const device *gpus[POWER_MAX_GPUS];
    int gpu_count;
    str sources[MAX_SOURCES];
    int source_count;
    evaluation evaluation;
} fitter;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int by_work(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fit_work));
}

/* Merges equal kernels into one entry. The order of kernels does not matter. */
static int32_t merge(fit_work *works, int32_t count)
{
    qsort(works, (size_t)count, sizeof *works, by_work);
    int32_t kept = 0;
    for (int32_t i = 0; i < count;) {
        int32_t end = i;
        while (end < count && by_work(&works[i], &works[end]) == 0)
            end++;
        fit_work w = works[i];
        float times = (float)(end - i);
        w.device_us *= times;
        w.compute_us *= times;
        w.memory_us *= times;
        w.runs *= times;
        works[kept++] = w;
        i = end;
    }
    return kept;
}

/* Collects one row. Called by many threads. energy_fit_free frees its allocations. */
static void look(void *context, size_t index, const program *p, const prediction *times)
{
    fitter *f = context;
    fit_row *r = &f->rows[index];
    const measured_row *row = f->evaluation.rows[index].row;
    power_model none = {.coefficients = {[POWER_HALF_BUSY] = 1, [POWER_SMALL] = 1}};
    power_view v = power_view_of(&none, row->where.device, 0);
    fit_work *works = calloc((size_t)p->kernels.count + 1, sizeof *works);
    if (!works) {
        f->has_no_memory = true;
        return;
    }
    double by_kind[POWER_WORK_KINDS] = {0};
    const kernel_time *main = times->kernels;
    int32_t count = 0;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel_time *t = &times->kernels[i];
        const kernel *k = &p->kernels.items[i];
        if (!(t->device_us > 0))
            continue;
        main = t->device_us > main->device_us ? t : main;
        power_work w = power_work_of(&v, k, t);
        float runs = (float)k->repeat;
        works[count++] = (fit_work){.device_us = runs * (float)w.device_us,
                                    .compute_us = runs * (float)w.compute_us,
                                    .memory_us = runs * (float)w.memory_us,
                                    .active = (float)w.active,
                                    .runs = runs,
                                    .unit = (uint8_t)w.unit};
        by_kind[energy_kind_of(k)] += (double)runs * w.device_us;
    }
    r->work_count = merge(works, count);
    r->works = works;
    r->kind = energy_main_kind(by_kind);
    r->device_ms = times->device_ms;
    r->host_ms = times->host_ms;
    r->latency_ms = times->latency_ms;
    r->latency_half = log(times->high_ms / times->low_ms) / 2;
    r->run = sensor_run_of(row, main);
    r->row = row;
}

static int number_of(str *names, int *count, int most, str name)
{
    for (int i = 0; i < *count; i++)
        if (str_eq(names[i], name))
            return i;
    if (*count == most)
        return -1;
    names[*count] = name;
    return (*count)++;
}

static int gpu_number(fitter *f, const device *d)
{
    for (int i = 0; i < f->gpu_count; i++)
        if (str_eq(f->gpus[i]->texts[DEVICE_NAME], d->texts[DEVICE_NAME]))
            return i;
    if (f->gpu_count == POWER_MAX_GPUS)
        return -1;
    f->gpus[f->gpu_count] = d;
    return f->gpu_count++;
}

typedef struct named_fold {
    uint32_t hash;
    str name;
    int source;
} named_fold;

static int by_fold(const void *a, const void *b)
{
    const named_fold *x = a, *y = b;
    if (x->source != y->source)
        return x->source - y->source;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Assigns cross-validation folds by hashes: of a network's name, of an operator's shape, of a network and its batch. */
static void set_folds(fitter *f)
{
    named_fold *names = ARENA_ARRAY(f->arena, named_fold, f->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const fit_row *r = &f->rows[i];
        size_t k = 0;
        while (k < n && !(names[k].source == r->source && str_eq(names[k].name, r->row->name)))
            k++;
        if (k == n)
            names[n++] = (named_fold){str_hash(r->row->name), r->row->name, r->source};
    }
    qsort(names, n, sizeof *names, by_fold);
    for (size_t i = 0; i < f->count; i++) {
        fit_row *r = &f->rows[i];
        size_t k = 0, first = 0;
        while (!(names[k].source == r->source && str_eq(names[k].name, r->row->name))) {
            k++;
            first = names[k].source != names[first].source ? k : first;
        }
        uint32_t shape =
            r->row->kernels ? r->row->shape : str_hash(r->row->name) ^ (uint32_t)r->row->batch * 0x9e3779b1u;
        r->shape_fold = (int)((shape ^ shape >> 15) % FOLDS);
        r->network_fold = r->row->kernels ? r->shape_fold : (int)((k - first) % FOLDS);
    }
}

/* Gives every source the same total weight, whatever its number of rows. */
static void set_weights(fitter *f)
{
    static const double SOURCE_WEIGHT = 100;
    double rows[MAX_SOURCES] = {0};
    for (size_t i = 0; i < f->count; i++)
        rows[f->rows[i].source] += f->rows[i].run.is_own;
    for (size_t i = 0; i < f->count; i++)
        f->rows[i].weight = f->rows[i].run.is_own ? SOURCE_WEIGHT / rows[f->rows[i].source] : 0;
}

double energy_stretch(double measured_ms, double latency_ms, double device_ms)
{
    static const double MOST_STRETCH = 5;
    double longer = measured_ms / latency_ms;
    if (longer <= 1)
        return fmin(measured_ms / device_ms, 1);
    return pow(fmin(longer, MOST_STRETCH), fmin(device_ms / latency_ms, 1));
}

static void keep_rows(fitter *f, size_t all)
{
    for (size_t i = 0; i < all; i++) {
        fit_row *r = &f->rows[i];
        if (!r->works)
            continue;
        r->gpu = r->row->power_w > 0 ? gpu_number(f, r->row->where.device) : -1;
        r->source = number_of(f->sources, &f->source_count, MAX_SOURCES, r->row->source);
        if (r->gpu < 0 || r->source < 0 || !(r->device_ms > 0)) {
            free(r->works);
            r->works = NULL;
            continue;
        }
        double measured_ms = r->row->latency_ms > 0 ? r->row->latency_ms : r->latency_ms;
        r->us = measured_ms * 1e3;
        r->stretch = energy_stretch(measured_ms, r->row->kernels ? r->device_ms : r->latency_ms, r->device_ms);
        f->rows[f->count++] = *r;
        if (&f->rows[f->count - 1] != r)
            r->works = NULL;
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Layout of the parameters: logarithms of the shared coefficients, then three per GPU: base and cap relative to the
 * shared ones, and scale. */
typedef struct parameters {
    double of[MAX_PARAMETERS];
    int count;
} parameters;

static double limited(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

static power_model model_of(const fitter *f, const parameters *p)
{
    power_model m = {.coefficients = {[POWER_CLOCK] = 2.5, [POWER_CLOCK_BOUND] = 0.3}};
    const power_coefficient_info *info = power_coefficients();
    for (int i = 0; i < FITTED; i++)
        m.coefficients[i] = limited(exp(p->of[i]), info[i].least, info[i].most);
    for (int g = 0; g < f->gpu_count; g++) {
        double base = m.coefficients[power_base_of(f->gpus[g])];
        m.gpus[m.gpu_count++] =
            (power_gpu){f->gpus[g]->texts[DEVICE_NAME], limited(base * exp(p->of[SHARED + OF_GPU * g]), 0.02, 0.7),
                        limited(exp(p->of[SHARED + OF_GPU * g + 1]), 0.2, 5),
                        limited(m.coefficients[POWER_CAP] * exp(p->of[SHARED + OF_GPU * g + 2]), info[POWER_CAP].least,
                                info[POWER_CAP].most)};
    }
    return m;
}

/* Mean watts over the measured time. `zeros`: the share of the power above the base that remains when a kernel
 * multiplies zeros. */
static double measured_power(const fit_row *r, const power_view *own, double zeros)
{
    power_view v = *own;
    if (r->row->power_limit_w > 0)
        v.cap_w = fmin(own->default_cap_w, own->default_cap_w / own->limit_w * r->row->power_limit_w);
    double joules = 0, activity = r->run.has_zeros ? zeros : 1; /* energy in microjoules */
    for (int32_t i = 0; i < r->work_count; i++) {
        const fit_work *w = &r->works[i];
        double us = (double)w->device_us * r->stretch;
        double n = (double)w->runs;
        power_work one = {us / n, (double)w->compute_us / n, (double)w->memory_us / n, (double)w->active,
                          (power_unit)w->unit};
        joules += us * fmin(activity * (power_raw(&v, &one) - v.base_w), v.cap_w - v.base_w);
    }
    return v.base_w * (double)(1 + r->row->idle_gpus) + joules / r->us;
}

/* Energy from predicted times. Includes the slowdown under the row's power limit. */
static double predicted_energy(const fit_row *r, const power_model *m, const device *d, double *latency_ms)
{
    power_view v = power_view_of(m, d, r->row->power_limit_w > 0 ? r->row->power_limit_w : 0);
    double joules = 0, device_us = 0;
    for (int32_t i = 0; i < r->work_count; i++) {
        const fit_work *w = &r->works[i];
        double n = (double)w->runs;
        power_work one = {(double)w->device_us / n, (double)w->compute_us / n, (double)w->memory_us / n,
                          (double)w->active, (power_unit)w->unit};
        double raw = power_raw(&v, &one), us = n * one.device_us * power_stretch(&v, &one, raw);
        device_us += us;
        joules += us * (fmin(raw, v.cap_w) - v.base_w) * 1e-6;
    }
    bool alone = r->row->kernels != NULL;
    double grown = alone ? device_us / 1e3 - r->device_ms
                         : net_smooth_max(device_us / 1e3, r->host_ms) - net_smooth_max(r->device_ms, r->host_ms);
    *latency_ms = (alone ? r->device_ms : r->latency_ms) + grown;
    return joules + v.base_w * (double)(1 + r->row->idle_gpus) * *latency_ms * 1e-3;
}

/* ---- least squares ----------------------------------------------------------------------------------------------- */

typedef struct fit_job {
    const fitter *f;
    energy_kept kept; /* kind of hold-out */
    int which;        /* index of the held-out fold or GPU; -1: none */
    int source;       /* index of the held-out source */
    parameters p;
    sensor sensor;
    double *residuals, *moved;
    bool has_no_memory;
} fit_job;

/* True if the fit holds the row out. */
static bool is_kept(const fit_job *j, const fit_row *r)
{
    if (j->which < 0)
        return false;
    switch (j->kept) {
    case ENERGY_KEPT_SHAPE:
        return r->shape_fold == j->which;
    case ENERGY_KEPT_NETWORK:
        return r->network_fold == j->which;
    case ENERGY_KEPT_GPU:
        return r->gpu == j->which;
    case ENERGY_KEPT_SOURCE:
        return r->source == j->source;
    default:
        return r->source == j->source || r->gpu == j->which;
    }
}

/* True if the fit predicts the row. */
static bool is_asked(const fit_job *j, const fit_row *r)
{
    if (j->kept == ENERGY_KEPT_SOURCE || j->kept == ENERGY_KEPT_BOTH)
        return r->source == j->source && r->gpu == j->which;
    return is_kept(j, r);
}

/* Computes weighted residuals of the rows of one GPU (-1: all GPUs). The loss is Huber's: large residuals count
 * linearly. */
static double residuals_of(const fit_job *j, const parameters *p, int gpu, double *into)
{
    static const double LARGE = 0.05;
    power_model m = model_of(j->f, p);
    power_view views[POWER_MAX_GPUS];
    for (int g = 0; g < j->f->gpu_count; g++)
        views[g] = power_view_of(&m, j->f->gpus[g], 0);
    double sum = 0;
    for (size_t i = 0; i < j->f->count; i++) {
        const fit_row *r = &j->f->rows[i];
        if (gpu >= 0 && r->gpu != gpu)
            continue;
        into[i] = 0;
        if (r->weight <= 0 || is_kept(j, r))
            continue;
        double e = log(measured_power(r, &views[r->gpu], exp(p->of[ZEROS])) / r->row->power_w);
        double size = fabs(e), huber = size <= LARGE ? e : (e > 0 ? 1 : -1) * sqrt(2 * LARGE * size - LARGE * LARGE);
        into[i] = huber * sqrt(r->weight);
        sum += into[i] * into[i];
    }
    return sum;
}

/* Prior of a parameter: its logarithm and its spread. */
static void prior_of(int parameter, double *mean, double *spread)
{
    static const double MEANS[SHARED] = {
        [POWER_BASE_HBM] = 0.17,  [POWER_BASE_HBM3] = 0.17,
        [POWER_BASE_GDDR] = 0.25, [POWER_BUSY] = 0.12,
        [POWER_HALF_BUSY] = 0.1,  [POWER_SMALL] = 30,
        [POWER_VECTOR] = 0.6,     [POWER_TENSOR] = 0.8,
        [POWER_TENSOR_8] = 0.8,   [POWER_HBM] = 60,
        [POWER_GDDR] = 90,        [POWER_L2] = 20,
        [POWER_CAP] = 0.985,      [ZEROS] = 0.5,
    };
    if (parameter < SHARED) {
        *mean = log(MEANS[parameter]);
        *spread = parameter == POWER_CAP ? 0.01 : 0.7;
    } else {
        *mean = 0;
        /* Prior spreads of base, scale and cap. The base of boards ranges from 0.09 to 0.3 of the limit; power under
         * load varies less. */
        static const double SPREADS[OF_GPU] = {0.8, 0.1, 0.03};
        *spread = SPREADS[(parameter - SHARED) % OF_GPU];
    }
}

/* A row with this error weighs as much as a parameter that is one prior spread off. */
static const double ROW_SPREAD = 0.1;

static double prior_cost(const parameters *p)
{
    double sum = 0;
    for (int i = 0; i < p->count; i++) {
        double mean, spread;
        prior_of(i, &mean, &spread);
        double r = (p->of[i] - mean) / spread * ROW_SPREAD;
        sum += r * r;
    }
    return sum;
}

/* Solves a x = b in place for a symmetric positive definite matrix of n rows. Returns false if the matrix is not
 * one. */
static bool solve(double *a, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k <= i; k++) {
            double s = a[i * n + k];
            for (int m = 0; m < k; m++)
                s -= a[i * n + m] * a[k * n + m];
            if (i == k && s <= 0)
                return false;
            a[i * n + k] = i == k ? sqrt(s) : s / a[k * n + k];
        }
        double s = b[i];
        for (int m = 0; m < i; m++)
            s -= a[i * n + m] * b[m];
        b[i] = s / a[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        double s = b[i];
        for (int m = i + 1; m < n; m++)
            s -= a[m * n + i] * b[m];
        b[i] = s / a[i * n + i];
    }
    return true;
}

/* Levenberg-Marquardt with finite differences. */
static bool fit_parameters(fit_job *j)
{
    const fitter *f = j->f;
    static const double STEP = 1e-3;
    int n = j->p.count = SHARED + OF_GPU * f->gpu_count;
    for (int i = 0; i < n; i++) {
        double spread;
        prior_of(i, &j->p.of[i], &spread);
    }
    double *jacobian = malloc(sizeof *jacobian * f->count * (size_t)n);
    double *a = malloc(sizeof *a * (size_t)n * (size_t)n), *normal = malloc(sizeof *a * (size_t)n * (size_t)n);
    double *b = malloc(sizeof *b * (size_t)n), *gradient = malloc(sizeof *b * (size_t)n);
    double damping = 1e-2, cost = residuals_of(j, &j->p, -1, j->residuals) + prior_cost(&j->p);
    bool has_memory = jacobian && a && normal && b && gradient;
    for (int step = 0; has_memory && step < MOST_STEPS; step++) {
        memset(jacobian, 0, sizeof *jacobian * f->count * (size_t)n);
        for (int i = 0; i < n; i++) {
            int gpu = i < SHARED ? -1 : (i - SHARED) / OF_GPU;
            parameters moved = j->p;
            moved.of[i] += STEP;
            residuals_of(j, &moved, gpu, j->moved);
            for (size_t r = 0; r < f->count; r++)
                if (gpu < 0 || f->rows[r].gpu == gpu)
                    jacobian[r * (size_t)n + (size_t)i] = (j->moved[r] - j->residuals[r]) / STEP;
        }
        memset(normal, 0, sizeof *normal * (size_t)n * (size_t)n);
        memset(gradient, 0, sizeof *gradient * (size_t)n);
        for (size_t r = 0; r < f->count; r++) {
            const double *row = jacobian + r * (size_t)n;
            for (int i = 0; i < n; i++) {
                if (row[i] == 0)
                    continue;
                gradient[i] -= row[i] * j->residuals[r];
                for (int k = 0; k <= i; k++)
                    normal[i * n + k] += row[i] * row[k];
            }
        }
        for (int i = 0; i < n; i++) {
            double mean, spread;
            prior_of(i, &mean, &spread);
            double scale = ROW_SPREAD * ROW_SPREAD / (spread * spread);
            normal[i * n + i] += scale;
            gradient[i] -= scale * (j->p.of[i] - mean);
        }
        bool better = false;
        double before = cost;
        for (int tries = 0; tries < 8 && !better; tries++) {
            memcpy(a, normal, sizeof *a * (size_t)n * (size_t)n);
            memcpy(b, gradient, sizeof *b * (size_t)n);
            for (int i = 0; i < n; i++)
                a[i * n + i] *= 1 + damping;
            parameters next = j->p;
            if (solve(a, b, n)) {
                for (int i = 0; i < n; i++)
                    next.of[i] += limited(b[i], -0.5, 0.5);
                double cost_there = residuals_of(j, &next, -1, j->moved) + prior_cost(&next);
                better = cost_there < cost;
                if (better) {
                    cost = cost_there;
                    j->p = next;
                    memcpy(j->residuals, j->moved, sizeof *j->moved * f->count);
                }
            }
            damping = better ? fmax(damping / 5, 1e-6) : damping * 5;
        }
        if (!better || before - cost < 1e-6 * cost)
            break;
    }
    free(jacobian);
    free(a);
    free(normal);
    free(b);
    free(gradient);
    return has_memory;
}

/* Fits the sensor constants on rows whose readings are mixtures. A fit to the other rows gives their own powers. */
static bool fit_sensor(fit_job *j)
{
    power_model m = model_of(j->f, &j->p);
    sensor_row *rows = calloc(j->f->count + 1, sizeof *rows);
    size_t n = 0;
    if (!rows)
        return false;
    for (size_t i = 0; i < j->f->count; i++) {
        const fit_row *r = &j->f->rows[i];
        if (r->run.is_own || is_kept(j, r))
            continue;
        power_view v = power_view_of(&m, j->f->gpus[r->gpu], 0);
        rows[n++] = (sensor_row){.run_s = r->run.run_s,
                                 .own_w = measured_power(r, &v, exp(j->p.of[ZEROS])),
                                 .base_w = v.base_w,
                                 .measured_w = r->row->power_w};
    }
    j->sensor = sensor_fit(rows, n);
    free(rows);
    return true;
}

static void fit_one(void *context, size_t item, size_t worker)
{
    fit_job *j = (fit_job *)context + item;
    (void)worker;
    j->residuals = calloc(j->f->count + 1, sizeof *j->residuals);
    j->moved = calloc(j->f->count + 1, sizeof *j->moved);
    j->has_no_memory = !j->residuals || !j->moved || !fit_parameters(j) || !fit_sensor(j);
    free(j->residuals);
    free(j->moved);
}

/* ---- clocks under a power limit ---------------------------------------------------------------------------------- */

static bool same_run(const measured_row *a, const measured_row *b)
{
    return a->batch == b->batch && str_eq(a->name, b->name) && str_eq(a->gpu, b->gpu) && str_eq(a->source, b->source) &&
           lower_program_key(&a->where.lower) == lower_program_key(&b->where.lower);
}

/* Returns the row of the same run under the highest power limit; NULL if the row has no other. */
static const fit_row *reference_of(const fitter *f, const fit_row *r)
{
    const fit_row *best = r;
    for (size_t i = 0; i < f->count; i++)
        if (f->rows[i].row->power_limit_w > best->row->power_limit_w && same_run(f->rows[i].row, r->row))
            best = &f->rows[i];
    return best == r ? NULL : best;
}

/* Fits both clock coefficients by grid search, on the slowdown of steps relative to the highest power limit. */
static void fit_clock(const fitter *f, power_model *m)
{
    const fit_row **references = ARENA_ARRAY(f->arena, const fit_row *, f->count + 1);
    for (size_t i = 0; i < f->count; i++)
        references[i] =
            f->rows[i].row->power_limit_w > 0 && f->rows[i].row->latency_ms > 0 ? reference_of(f, &f->rows[i]) : NULL;
    double best = INFINITY;
    power_model tried = *m;
    for (int e = 0; e <= 14; e++)
        for (int s = 0; s <= 5; s++) {
            tried.coefficients[POWER_CLOCK] = 1.2 + 0.2 * e;
            tried.coefficients[POWER_CLOCK_BOUND] = 0.2 * s;
            double sum = 0;
            for (size_t i = 0; i < f->count; i++) {
                const fit_row *r = &f->rows[i], *full = references[i];
                double limited_ms, full_ms;
                if (!full)
                    continue;
                predicted_energy(r, &tried, f->gpus[r->gpu], &limited_ms);
                predicted_energy(full, &tried, f->gpus[r->gpu], &full_ms);
                double off = log(limited_ms / full_ms) - log(r->row->latency_ms / full->row->latency_ms);
                sum += fmin(fabs(off), 0.5);
            }
            if (sum < best) {
                best = sum;
                m->coefficients[POWER_CLOCK] = tried.coefficients[POWER_CLOCK];
                m->coefficients[POWER_CLOCK_BOUND] = tried.coefficients[POWER_CLOCK_BOUND];
            }
        }
}

/* ---- rows kept apart --------------------------------------------------------------------------------------------- */

typedef struct apart_row {
    const fit_row *row;
    double power_w, energy_j; /* predicted by a fit without the row */
    energy_kept kept;
} apart_row;

/* Predictions of hold-out rows from all fits. */
typedef struct apart_rows {
    apart_row *items;
    size_t count;
    interval_row *of_others; /* input of the interval: rows of held-out sources */
    size_t of_others_count;
} apart_rows;

/* True if the fit held out a source. Only these rows calibrate intervals, because a user's machine is in no source. */
static bool is_of_others(energy_kept kept)
{
    return kept == ENERGY_KEPT_SOURCE || kept == ENERGY_KEPT_BOTH;
}

static void collect_intervals(apart_rows *all, arena *a)
{
    all->of_others = ARENA_ARRAY(a, interval_row, all->count + 1);
    for (size_t i = 0; i < all->count; i++) {
        const apart_row *r = &all->items[i];
        if (r->row->run.is_own && is_of_others(r->kept))
            all->of_others[all->of_others_count++] =
                (interval_row){.error = fabs(log(r->power_w / r->row->row->power_w)),
                               .weight = r->row->weight,
                               .source = r->row->source,
                               .kind = r->row->kind,
                               .is_new = r->kept == ENERGY_KEPT_BOTH};
    }
}

static double half_of(const apart_rows *all, bool is_new, int kind, int without, arena *a)
{
    return interval_half(all->of_others, all->of_others_count, is_new, (power_work_kind)kind, without, a);
}

static void score_source(energy_fit *fit, const fitter *f, const apart_rows *all, int source, energy_kept kept,
                         bool is_sound)
{
    size_t count = all->count;
    bool is_new = kept == ENERGY_KEPT_GPU || kept == ENERGY_KEPT_BOTH;
    double halves[POWER_WORK_KINDS];
    for (int k = 0; k < POWER_WORK_KINDS; k++)
        halves[k] = is_of_others(kept) ? half_of(all, is_new, k, source, f->arena) : fit->model.intervals[is_new][k];
    scored *power = ARENA_ARRAY(f->arena, scored, count + 1), *joules = ARENA_ARRAY(f->arena, scored, count + 1);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const apart_row *r = &all->items[i];
        if (r->row->source != source || r->kept != kept || r->row->run.is_own != is_sound)
            continue;
        double half = halves[r->row->kind], wide = hypot(half, r->row->latency_half);
        power[n] = (scored){r->row->row->power_w, r->power_w, r->power_w * exp(-half), r->power_w * exp(half)};
        joules[n++] = (scored){r->row->row->energy_j, r->energy_j, r->energy_j * exp(-wide), r->energy_j * exp(wide)};
    }
    if (!n)
        return;
    energy_score *s = ARENA_PUSH(f->arena, &fit->scores);
    *s = (energy_score){.source = f->sources[source], .kept = kept, .is_sound = is_sound};
    s->power = score_of(power, n, f->arena);
    s->energy = score_of(joules, n, f->arena);
}

static size_t predict_apart(const fitter *f, const fit_job *j, const double clock[2], apart_row *into)
{
    power_model m = model_of(f, &j->p);
    m.coefficients[POWER_CLOCK] = clock[0];
    m.coefficients[POWER_CLOCK_BOUND] = clock[1];
    if (j->kept == ENERGY_KEPT_GPU || j->kept == ENERGY_KEPT_BOTH) /* the fit saw no row of this GPU */
        m.gpus[j->which].name = STR("");
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const fit_row *r = &f->rows[i];
        if (!is_asked(j, r))
            continue;
        power_view v = power_view_of(&m, f->gpus[r->gpu], 0);
        double latency_ms, own_w = measured_power(r, &v, exp(j->p.of[ZEROS]));
        into[n++] = (apart_row){.row = r,
                                .power_w = sensor_reading(&j->sensor, &r->run, own_w, v.base_w),
                                .energy_j = predicted_energy(r, &m, f->gpus[r->gpu], &latency_ms),
                                .kept = j->kept};
    }
    return n;
}

const char *energy_kept_name(energy_kept kept)
{
    static const char *const NAMES[] = {"shape", "network", "GPU", "source", "both"};
    return NAMES[kept];
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Lists a fit without each GPU of the source. If another source has the same GPU, adds a fit that sees only those
 * rows of it. */
static size_t source_jobs(const fitter *f, int source, fit_job *into)
{
    bool here[POWER_MAX_GPUS] = {0}, elsewhere[POWER_MAX_GPUS] = {0};
    for (size_t i = 0; i < f->count; i++)
        if (f->rows[i].run.is_own)
            (f->rows[i].source == source ? here : elsewhere)[f->rows[i].gpu] = true;
    size_t n = 0;
    for (int g = 0; g < f->gpu_count; g++) {
        if (here[g])
            into[n++] = (fit_job){.f = f, .kept = ENERGY_KEPT_BOTH, .source = source, .which = g};
        if (here[g] && elsewhere[g])
            into[n++] = (fit_job){.f = f, .kept = ENERGY_KEPT_SOURCE, .source = source, .which = g};
    }
    return n;
}

static void fit_all(energy_fit *fit, fitter *f, size_t workers, energy_apart apart, void *context)
{
    const size_t counts[] = {
        [ENERGY_KEPT_SHAPE] = FOLDS, [ENERGY_KEPT_NETWORK] = FOLDS, [ENERGY_KEPT_GPU] = (size_t)f->gpu_count};
    size_t pairs = (size_t)f->source_count * (size_t)f->gpu_count;
    fit_job *job = ARENA_ARRAY(f->arena, fit_job, 1 + FOLDS + FOLDS + (size_t)f->gpu_count + 2 * pairs);
    job[0] = (fit_job){.f = f, .which = -1};
    size_t jobs = 1;
    for (int kept = 0; kept <= ENERGY_KEPT_GPU; kept++)
        for (size_t i = 0; i < counts[kept]; i++)
            job[jobs++] = (fit_job){.f = f, .kept = (energy_kept)kept, .which = (int)i};
    for (int s = 0; s < f->source_count; s++)
        jobs += source_jobs(f, s, job + jobs);
    parallel_for(jobs, workers, fit_one, job);
    for (size_t i = 0; i < jobs; i++)
        if (job[i].has_no_memory)
            fail_with(f->arena->fail, SOOTH_ERROR_SYSTEM, "out of memory for the fit of %zu rows", f->count);
    fit->model = model_of(f, &job[0].p);
    fit_clock(f, &fit->model);
    apart_rows all = {.items = ARENA_ARRAY(f->arena, apart_row, ENERGY_KEPT_COUNT * f->count + 1)};
    for (size_t i = 1; i < jobs; i++)
        all.count += predict_apart(f, &job[i], &fit->model.coefficients[POWER_CLOCK], all.items + all.count);
    collect_intervals(&all, f->arena);
    for (int g = 0; g < 2; g++)
        for (int k = 0; k < POWER_WORK_KINDS; k++)
            fit->model.intervals[g][k] = half_of(&all, g == 1, k, -1, f->arena);
    for (int s = 0; s < f->source_count; s++)
        for (int kept = 0; kept < ENERGY_KEPT_COUNT; kept++)
            for (int sound = 1; sound >= (is_of_others((energy_kept)kept) ? 1 : 0);
                 sound--) /* the last fit's sensor comes from this source */
                score_source(fit, f, &all, s, (energy_kept)kept, sound);
    for (size_t i = 0; i < all.count && apart; i++) {
        const apart_row *r = &all.items[i];
        apart(context, energy_kept_name(r->kept), r->row->row, r->row->run.is_own, r->power_w, r->energy_j);
    }
}

void energy_fit_rows(energy_fit *fit, measured_rows *const *tables, int table_count, const predictor *with,
                     size_t workers, energy_apart apart, void *context, arena *a)
{
    enum { FEWEST_ROWS = 50 };
    *fit = (energy_fit){0};
    fitter *f = ARENA_NEW(a, fitter);
    size_t all = 0;
    for (int t = 0; t < table_count; t++)
        all += (size_t)tables[t]->rows.count;
    f->arena = a;
    fit->fitter = f;
    f->room = all;
    f->rows = ARENA_ARRAY(a, fit_row, all + 1);
    f->evaluation = (evaluation){.seen = look, .seen_context = f};
    evaluate(&f->evaluation, tables, table_count, with, workers, NULL, NULL, a);
    if (f->has_no_memory)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory for %zu rows", all);
    keep_rows(f, all);
    fit->row_count = f->count;
    if (f->count >= FEWEST_ROWS) {
        set_folds(f);
        set_weights(f);
        fit_all(fit, f, workers, apart, context);
    }
    if (f->count < FEWEST_ROWS)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "only %zu rows have a measured power and a prediction; %d are needed",
                  f->count, FEWEST_ROWS);
}

void energy_fit_free(energy_fit *fit)
{
    fitter *f = fit->fitter;
    for (size_t i = 0; f && f->rows && i < f->room; i++)
        free(f->rows[i].works);
    if (f)
        evaluation_free(&f->evaluation);
    fit->fitter = NULL;
}
