/* baseline.c: simple baselines: a regression on counted work, and the scaled times of another GPU. */
#include "learn/baseline.h"
#include "base/statistics.h"
#include "learn/score.h"

#include <math.h>
#include <stdlib.h>

/* ---- regression -------------------------------------------------------------------------------------------------- */

enum { TERMS_QUADRATIC = 10, TERMS_LINEAR = 4, MOST_TERMS = TERMS_QUADRATIC };

/* Terms of the quadratic: 1, x, y, z and all products of two. Centred logarithms keep the equations well
 * conditioned. */
static void terms_of(const regression_row *r, double terms[MOST_TERMS])
{
    double x[3];
    for (int i = 0; i < 3; i++)
        x[i] = (log(r->work[i] > 1 ? r->work[i] : 1) - 18) / 6;
    int at = 0;
    terms[at++] = 1;
    for (int i = 0; i < 3; i++)
        terms[at++] = x[i];
    for (int i = 0; i < 3; i++)
        for (int k = i; k < 3; k++)
            terms[at++] = x[i] * x[k];
}

/* Solves the symmetric equations in place (Cholesky); undetermined coefficients become 0. */
static void solve(double m[MOST_TERMS][MOST_TERMS], double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k <= i; k++) {
            double sum = m[i][k];
            for (int j = 0; j < k; j++)
                sum -= m[i][j] * m[k][j];
            if (i == k)
                m[i][i] = sum > 1e-12 ? sqrt(sum) : INFINITY;
            else
                m[i][k] = sum / m[k][k];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= m[i][k] * b[k];
        b[i] /= m[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= m[k][i] * b[k];
        b[i] /= m[i][i];
    }
}

static bool is_sound(const regression_row *r)
{
    return r->measured > 0 && isfinite(r->measured) && r->work[0] >= 0 && r->work[1] >= 0 && r->work[2] >= 0;
}

/* Median of time ÷ work over the rows outside the fold. */
static double median_rate(const regression_row *rows, size_t count, uint32_t fold, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_sound(&rows[i]) && rows[i].fold % REGRESSION_FOLDS != fold)
            room[n++] = rows[i].measured / fmax(rows[i].work[0], 1);
    qsort(room, n, sizeof *room, statistics_ascending);
    return statistics_quantile(room, n, 0.5);
}

static void fit(const regression_row *rows, size_t count, uint32_t fold, int terms, double coefficients[MOST_TERMS])
{
    double m[MOST_TERMS][MOST_TERMS] = {{0}}, x[MOST_TERMS];
    memset(coefficients, 0, MOST_TERMS * sizeof *coefficients);
    for (size_t i = 0; i < count; i++) {
        if (!is_sound(&rows[i]) || rows[i].fold % REGRESSION_FOLDS == fold)
            continue;
        terms_of(&rows[i], x);
        double y = log(rows[i].measured);
        for (int k = 0; k < terms; k++) {
            coefficients[k] += x[k] * y;
            for (int j = 0; j <= k; j++)
                m[k][j] += x[k] * x[j];
        }
    }
    for (int k = 0; k < terms; k++)
        m[k][k] += 1e-9; /* keeps constant columns from making the matrix singular */
    solve(m, coefficients, terms);
}

void regress(regression_row *rows, size_t count, arena *scratch)
{
    double *room = ARENA_ARRAY(scratch, double, count + 1);
    for (uint32_t fold = 0; fold < REGRESSION_FOLDS; fold++) {
        size_t seen = 0;
        for (size_t i = 0; i < count; i++)
            seen += is_sound(&rows[i]) && rows[i].fold % REGRESSION_FOLDS != fold;
        size_t most = seen / 3; /* at least three rows per coefficient */
        int terms = most >= TERMS_QUADRATIC ? TERMS_QUADRATIC : most >= TERMS_LINEAR ? TERMS_LINEAR : 0;
        double coefficients[MOST_TERMS], x[MOST_TERMS], rate = NAN;
        if (terms)
            fit(rows, count, fold, terms, coefficients);
        else
            rate = median_rate(rows, count, fold, room);
        for (size_t i = 0; i < count; i++) {
            if (rows[i].fold % REGRESSION_FOLDS != fold)
                continue;
            double log_ms = 0;
            terms_of(&rows[i], x);
            for (int k = 0; k < terms; k++)
                log_ms += coefficients[k] * x[k];
            rows[i].predicted = terms ? exp(log_ms) : rate * fmax(rows[i].work[0], 1);
        }
    }
}

/* ---- one constant ------------------------------------------------------------------------------------------------ */

typedef struct keyed {
    uint32_t gpu;
    uint64_t key;
    double log_time; /* mean over the rows with this key */
} keyed;

static int compare_keyed(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

typedef struct gpu_span {
    const keyed *items;
    size_t count;
} gpu_span;

/* Merges rows with the same key and returns the number of rows left. */
static size_t merge_keys(keyed *items, size_t count)
{
    size_t made = 0;
    for (size_t i = 0; i < count;) {
        double sum = 0;
        size_t end = i;
        while (end < count && compare_keyed(&items[end], &items[i]) == 0)
            sum += items[end++].log_time;
        items[made] = items[i];
        items[made++].log_time = sum / (double)(end - i);
        i = end;
    }
    return made;
}

/* Differences between the logarithms of the two GPUs' times, for each key that both have. */
static size_t shared_keys(const gpu_span *a, const gpu_span *b, double *differences)
{
    size_t i = 0, k = 0, n = 0;
    while (i < a->count && k < b->count) {
        if (a->items[i].key == b->items[k].key)
            differences[n++] = a->items[i++].log_time - b->items[k++].log_time;
        else if (a->items[i].key < b->items[k].key)
            i++;
        else
            k++;
    }
    return n;
}

static const keyed *find_key(const gpu_span *s, uint64_t key)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->items[low].key == key ? &s->items[low] : NULL;
}

static void scale_gpu(constant_row *rows, size_t count, const gpu_span *spans, size_t gpu_count, size_t gpu,
                      double *room)
{
    size_t best = gpu_count, most = 0;
    for (size_t i = 0; i < gpu_count; i++) {
        size_t shared = i == gpu ? 0 : shared_keys(&spans[gpu], &spans[i], room);
        if (shared > most) {
            most = shared;
            best = i;
        }
    }
    if (best == gpu_count)
        return;
    size_t n = shared_keys(&spans[gpu], &spans[best], room);
    qsort(room, n, sizeof *room, statistics_ascending);
    double constant = statistics_quantile(room, n, 0.5);
    for (size_t i = 0; i < count; i++) {
        const keyed *other = rows[i].gpu == spans[gpu].items->gpu ? find_key(&spans[best], rows[i].key) : NULL;
        if (other)
            rows[i].predicted = exp(other->log_time + constant);
    }
}

void scale_from_other_gpu(constant_row *rows, size_t count, arena *scratch)
{
    keyed *items = ARENA_ARRAY(scratch, keyed, count + 1);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i].predicted = NAN;
        if (rows[i].measured > 0 && isfinite(rows[i].measured))
            items[n++] = (keyed){rows[i].gpu, rows[i].key, log(rows[i].measured)};
    }
    qsort(items, n, sizeof *items, compare_keyed);
    n = merge_keys(items, n);
    gpu_span *spans = ARENA_ARRAY(scratch, gpu_span, n + 1);
    size_t gpu_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].gpu != items[i - 1].gpu)
            spans[gpu_count++] = (gpu_span){&items[i], 0};
        spans[gpu_count - 1].count++;
    }
    double *room = ARENA_ARRAY(scratch, double, n + 1);
    for (size_t gpu = 0; gpu < gpu_count; gpu++)
        scale_gpu(rows, count, spans, gpu_count, gpu, room);
}
