/* dataset.c: lowers the network of every measured row and keeps what the trainer needs of it. */
#include "learn/dataset.h"
#include "base/threads.h"
#include "graph/infer.h"

#include <math.h>
#include <stdlib.h>

/* ---- one row ----------------------------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    return x->group != y->group ? x->group - y->group : x->op - y->op;
}

static bool fill_example(example *e, const work_list *list, const setting *where)
{
    sample *samples = calloc((size_t)list->count + 1, sizeof *samples);
    if (!samples)
        return false;
    device_view view = view_device(where);
    for (int32_t i = 0; i < list->count; i++) {
        const work *w = &list->items[i];
        sample *s = &samples[i];
        ideal_time ideal = ideal_of(w, &view);
        *s = (sample){.op = w->op,
                      .group = (uint8_t)w->group,
                      .count = (float)w->count,
                      .kin = w->kin,
                      .compute_us = (float)ideal.steady_us,
                      .memory_us = (float)ideal.memory_us};
        features_of(w, &view, &ideal, s->features);
        e->host_count[w->group] += s->count;
    }
    qsort(samples, (size_t)list->count, sizeof *samples, by_group);
    e->samples = samples;
    e->sample_count = list->count;
    int32_t next = 0;
    for (int g = 0; g <= WORK_GROUP_COUNT; g++) {
        while (next < list->count && samples[next].group < g)
            next++;
        e->first_of_group[g] = next;
    }
    return true;
}

/* ---- one network with all its rows ------------------------------------------------------------------------------- */

typedef struct builder {
    measured_row **rows; /* usable ones, sorted by graph, batch and how they are lowered */
    example *examples;   /* of the same index; samples NULL where the row could not be lowered */
    size_t *jobs;        /* index of the first row of each job */
    size_t job_count, row_count;
    dataset_progress progress;
    void *context;
    size_t done; /* jobs, counted by all threads */
    struct asked *asked;
    size_t asked_count;
    const device *devices[MAX_GPUS]; /* that networks were measured on */
    int device_count;
} builder;

/* A row that nobody measured: what another would be with another batch. */
typedef struct asked {
    measured_row row; /* its latency is NAN */
    example *made;
} asked;

/* Of so many rows of networks one gives a pair. */
enum { PAIR_EVERY = 16 };

static void note_device(builder *b, const device *d)
{
    int i = 0;
    while (i < b->device_count && b->devices[i] != d)
        i++;
    if (i == b->device_count && i < MAX_GPUS && !d->whole)
        b->devices[b->device_count++] = d;
}

/* Two batches, the second twice the first and no larger than the row's own; half of the pairs where the row was measured, the others on any of the GPUs, with
 * software that is not told. All by chance that is always the same. */
static void ask_for_pair(builder *b, const measured_row *r)
{
    uint64_t chance = ((uint64_t)r->line * 0x9e3779b97f4a7c15u) >> 20;
    int doublings = 0;
    while (r->batch >> (doublings + 1) > 0 && doublings < 20)
        doublings++;
    if (chance % PAIR_EVERY != 0 || doublings == 0)
        return;
    int64_t batch = (int64_t)1 << (chance / PAIR_EVERY) % (uint64_t)doublings;
    uint64_t other = chance / PAIR_EVERY / 32;
    for (int i = 0; i < 2; i++) {
        asked *a = &b->asked[b->asked_count++];
        *a = (asked){.row = *r};
        a->row.batch = batch << i;
        a->row.latency_ms = NAN;
        if (other % 2 && b->device_count > 0) {
            a->row.where.device = b->devices[other / 2 % (uint64_t)b->device_count];
            a->row.where.stack = STR("");
            a->row.gpu = a->row.where.device->texts[DEVICE_NAME];
        }
        b->rows[b->row_count++] = &a->row;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const measured_row *x = *(measured_row *const *)a, *y = *(measured_row *const *)b;
    size_t shorter = x->graph.len < y->graph.len ? x->graph.len : y->graph.len;
    int order = shorter ? memcmp(x->graph.ptr, y->graph.ptr, shorter) : 0;
    if (order == 0 && x->graph.len != y->graph.len)
        order = x->graph.len < y->graph.len ? -1 : 1;
    if (order == 0 && x->batch != y->batch)
        order = x->batch < y->batch ? -1 : 1;
    uint64_t key = lower_options_key(&x->where.lower), other = lower_options_key(&y->where.lower);
    if (order == 0 && key != other)
        order = key < other ? -1 : 1;
    return order ? order : x < y ? -1 : x > y;
}

static bool same_graph(const measured_row *a, const measured_row *b)
{
    return a->graph.len && str_eq(a->graph, b->graph);
}

/* Lowers for row i and fills its example and those of the rows after it that are lowered alike; fails into the model. */
static void lower_rows(builder *b, size_t i, sooth_model *model, arena *a)
{
    const measured_row *first = b->rows[i];
    program p = *lower(model, &first->where.lower, a);
    /* Networks of engines are few and their prompts had to be assumed: what they say of products is learned for what engines fuse into them, so that bare ones stay what tables of operators say. */
    p.is_engine = false;
    work_list list = work_of_program(&p, a);
    for (; i < b->row_count; i++) {
        const measured_row *r = b->rows[i];
        if (!same_graph(r, first) || r->batch != first->batch ||
            lower_options_key(&r->where.lower) != lower_options_key(&first->where.lower))
            break;
        if (!fill_example(&b->examples[i], &list, &r->where))
            fail_with(&model->fail, SOOTH_ERROR_SYSTEM, "no memory for the data set");
    }
}

static bool try_lowering(builder *b, size_t i, sooth_model *model, arena *a, sooth_error *error)
{
    model->fail.error = error;
    if (setjmp(model->fail.jump) != 0)
        return false;
    lower_rows(b, i, model, a);
    return true;
}

static void refuse(measured_row *r, const char *reason)
{
    r->reason = reason;
}

static void build_network(builder *b, size_t from, size_t end)
{
    sooth_error error;
    sooth_model *model;
    char path[4096];
    str graph = b->rows[from]->graph;
    if (graph.len >= sizeof path)
        return;
    memcpy(path, graph.ptr, graph.len);
    path[graph.len] = '\0';
    if (sooth_load_file(path, &model, &error) != SOOTH_OK) {
        for (size_t i = from; i < end; i++)
            refuse(b->rows[i], "its graph cannot be read");
        return;
    }
    arena a;
    arena_init(&a, &model->fail, ARENA_GIB(4));
    for (size_t i = from; i < end;) {
        size_t same = i; /* rows up to here could not be lowered, if it stays so */
        while (same < end && b->rows[same]->batch == b->rows[i]->batch &&
               lower_options_key(&b->rows[same]->where.lower) == lower_options_key(&b->rows[i]->where.lower))
            same++;
        sooth_options binding = {.batch = b->rows[i]->batch};
        bool worked = sooth_bind(model, &binding, &error) == SOOTH_OK && try_lowering(b, i, model, &a, &error);
        for (size_t k = i; !worked && k < same; k++)
            refuse(b->rows[k], "its graph cannot be lowered");
        arena_free(&a);
        i = same;
    }
    sooth_free(model);
}

static void build_operators(builder *b, size_t from, size_t end)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, ARENA_GIB(4));
    for (volatile size_t i = from; i < end; i++) {
        if (setjmp(f.jump) == 0) {
            work_list list = work_of_program(b->rows[i]->kernels, &a);
            if (!fill_example(&b->examples[i], &list, &b->rows[i]->where))
                refuse(b->rows[i], "no memory");
        }
        if (a.used_bytes > (1 << 20))
            arena_free(&a);
    }
    arena_free(&a);
}

static void build_job(void *context, size_t item, size_t worker)
{
    builder *b = context;
    size_t from = b->jobs[item], end = item + 1 < b->job_count ? b->jobs[item + 1] : b->row_count;
    if (b->rows[from]->graph.len)
        build_network(b, from, end);
    else
        build_operators(b, from, end);
    size_t done = __atomic_add_fetch(&b->done, 1, __ATOMIC_RELAXED);
    if (worker == 0 && b->progress)
        b->progress(b->context, done, b->job_count);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The number of a name; a new one if there is room. */
static int number_of(str *names, int *count, int most, str name)
{
    for (int i = 0; i < *count; i++)
        if (str_eq(names[i], name))
            return i;
    if (*count == most || name.len == 0)
        return UNKNOWN;
    names[*count] = name;
    return (*count)++;
}

/* Of an operator's row beside that of a network: there are ten times as many in a step, of one kernel each. */
static const float OPERATOR_WEIGHT = 0.08F;

static uint64_t hash_of(str s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
    h ^= h >> 29;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

uint64_t architecture_hash(const measured_row *r, arena *a)
{
    return hash_of(row_architecture(r->name, a));
}

bool row_is_left(const measured_row *r, uint64_t architecture, double share)
{
    uint64_t hash = r->graph.len ? architecture : (uint64_t)r->shape * 0x9e3779b97f4a7c15u >> 20;
    return (double)(hash % 1000) < share * 1000;
}

/* Features are logarithms, shares and flags: all have changes of about 1 where they change at all. */
static const double LEAST_SPREAD = 0.2;

/* Mean and spread of every feature in its group, so that all enter the networks at one scale. */
static void standardize(dataset *d, arena *a)
{
    size_t floats = (size_t)WORK_GROUP_COUNT * FEATURE_COUNT;
    d->mean = ARENA_ARRAY(a, float, floats);
    d->scale = ARENA_ARRAY(a, float, floats);
    double *sum = ARENA_ARRAY(a, double, floats), *square = ARENA_ARRAY(a, double, floats);
    double count[WORK_GROUP_COUNT] = {0};
    for (int32_t i = 0; i < d->count; i++)
        for (int32_t k = 0; k < d->items[i].sample_count; k++) {
            const sample *s = &d->items[i].samples[k];
            size_t at = (size_t)s->group * FEATURE_COUNT;
            count[s->group]++;
            for (size_t j = 0; j < FEATURE_COUNT; j++) {
                sum[at + j] += s->features[j];
                square[at + j] += (double)s->features[j] * s->features[j];
            }
        }
    for (size_t i = 0; i < floats; i++) {
        double n = count[i / FEATURE_COUNT] > 0 ? count[i / FEATURE_COUNT] : 1, mean = sum[i] / n;
        double spread = sqrt(fmax(square[i] / n - mean * mean, 0));
        d->mean[i] = (float)mean;
        /* One that never changes tells nothing. One that hardly ever does would be enormous where it does, and training would run away. */
        d->scale[i] = spread > 1e-4 ? (float)(1 / fmax(spread, LEAST_SPREAD)) : 0;
    }
}

uint64_t dataset_hash(uint64_t h, const void *bytes, size_t size)
{
    const char *p = bytes;
    for (; size > 0;) {
        uint64_t word = 0;
        size_t n = size < sizeof word ? size : sizeof word;
        memcpy(&word, p, n);
        h = (h ^ word ^ (uint64_t)n << 56) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
        p += n;
        size -= n;
    }
    return h;
}

/* All that a training sees of an example; not what a training itself writes there. */
static uint64_t hash_example(uint64_t h, const example *e)
{
    const int numbers[] = {e->stack, e->gpu, e->unknown_stack, e->sample_count, e->is_unmeasured};
    const float times[] = {e->latency_us, e->timer_us, e->weight};
    h = dataset_hash(h, numbers, sizeof numbers);
    h = dataset_hash(h, times, sizeof times);
    h = dataset_hash(h, &e->architecture, sizeof e->architecture);
    h = dataset_hash(h, e->row->family.ptr, e->row->family.len);
    for (int32_t k = 0; k < e->sample_count; k++) {
        const sample *s = &e->samples[k];
        const uint32_t kernel[] = {(uint32_t)s->op, s->group, s->kin};
        const float sizes[] = {s->count, s->compute_us, s->memory_us};
        h = dataset_hash(h, kernel, sizeof kernel);
        h = dataset_hash(h, sizes, sizeof sizes);
        h = dataset_hash(h, s->features, sizeof s->features);
    }
    return h;
}

static uint64_t hash_all(const dataset *d)
{
    uint64_t h = 0;
    for (int i = 0; i < d->stack_count; i++)
        h = dataset_hash(h, d->stacks[i].ptr, d->stacks[i].len);
    for (int i = 0; i < d->gpu_count; i++)
        h = dataset_hash(h, d->gpus[i].ptr, d->gpus[i].len);
    for (int32_t i = 0; i < d->count + 2 * d->pair_count; i++)
        h = hash_example(h, &d->items[i]);
    return h;
}

/* Any example may be shown without its stack and its GPU, so what stands for them is seen with it. */
static void mark_seen(dataset *d, const example *e, const sample *s)
{
    uint32_t group = 1u << s->group;
    d->stack_groups[e->stack] |= group;
    d->stack_groups[e->unknown_stack] |= group;
    d->gpu_groups[e->gpu] |= group;
    d->gpu_groups[UNKNOWN] |= group;
    d->op_seen[s->op] = 1;
}

static void widen(dataset *d, const sample *s)
{
    float *low = d->low + (size_t)s->group * FEATURE_COUNT, *high = d->high + (size_t)s->group * FEATURE_COUNT;
    for (int j = 0; j < FEATURE_COUNT; j++) {
        low[j] = s->features[j] < low[j] ? s->features[j] : low[j];
        high[j] = s->features[j] > high[j] ? s->features[j] : high[j];
    }
}

static void see(dataset *d, const int32_t *order, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const example *e = &d->items[order[i]];
        if (e->row->graph.len) {
            d->gpu_groups[e->gpu] |= SEEN_IN_NETWORKS;
            uint32_t runs = SEEN_IN_NETWORKS | 1u << (SEEN_RUNTIMES + (int)e->row->where.lower.runtime);
            d->stack_groups[e->stack] |= runs;
            d->stack_groups[e->unknown_stack] |= runs;
        }
        for (int32_t k = 0; k < e->sample_count; k++) {
            mark_seen(d, e, &e->samples[k]);
            widen(d, &e->samples[k]);
        }
    }
}

void dataset_seen(dataset *d, const lists *l)
{
    memset(d->stack_groups, 0, sizeof d->stack_groups);
    memset(d->gpu_groups, 0, sizeof d->gpu_groups);
    memset(d->op_seen, 0, (size_t)work_op_count() * sizeof *d->op_seen);
    d->op_seen[UNKNOWN] = 1;
    for (size_t i = 0; i < (size_t)WORK_GROUP_COUNT * FEATURE_COUNT; i++) {
        d->low[i] = INFINITY;
        d->high[i] = -INFINITY;
    }
    see(d, l->networks, l->network_count);
    see(d, l->operators, l->operator_count);
    for (int32_t i = 0; i < 2 * l->pair_count; i++) {
        const example *e = &d->items[l->pairs[i / 2] + i % 2];
        for (int32_t k = 0; k < e->sample_count; k++)
            widen(d, &e->samples[k]);
    }
    for (size_t i = 0; i < (size_t)WORK_GROUP_COUNT * FEATURE_COUNT; i++)
        if (d->low[i] > d->high[i]) /* a group that nobody has */
            d->low[i] = d->high[i] = 0;
}

/* Sources of few networks would be drowned out by those of many: their rows count more. */
static const double RARE_ROWS = 1000, MOST_WEIGHT = 4;

static void weigh(dataset *d)
{
    enum { MAX_SOURCES = 256 };
    str names[MAX_SOURCES];
    double counts[MAX_SOURCES] = {0};
    int n = 0;
    for (int32_t i = 0; i < d->count; i++)
        if (d->items[i].row->graph.len)
            counts[number_of(names, &n, MAX_SOURCES, d->items[i].row->source)]++;
    for (int32_t i = 0; i < d->count; i++) {
        example *e = &d->items[i];
        if (!e->row->graph.len)
            e->weight = OPERATOR_WEIGHT;
        else
            e->weight = (float)fmin(
                fmax(sqrt(RARE_ROWS / counts[number_of(names, &n, MAX_SOURCES, e->row->source)]), 1), MOST_WEIGHT);
    }
}

/* What the row says of an example. */
static void identify(dataset *d, example *e, const measured_row *r, arena *a)
{
    e->row = r;
    bool is_engine = r->where.lower.runtime == RUNTIME_ENGINE;
    e->unknown_stack = r->graph.len || is_engine ? net_unknown_stack(r->where.lower.runtime) : UNKNOWN;
    e->stack = number_of(d->stacks, &d->stack_count, MAX_STACKS, r->where.stack);
    e->stack = e->stack == UNKNOWN ? e->unknown_stack : e->stack;
    e->gpu = number_of(d->gpus, &d->gpu_count, MAX_GPUS, r->where.device->texts[DEVICE_NAME]);
    e->latency_us = (float)(r->latency_ms * 1000);
    e->timer_us = r->timer_us > 0 ? (float)r->timer_us : 0;
    e->architecture = architecture_hash(r, a);
}

/* Both are made of the same kernels in the same order. */
static bool is_pair(const example *a, const example *b)
{
    if (!a || !b || !a->samples || !b->samples || a->sample_count != b->sample_count)
        return false;
    for (int32_t i = 0; i < a->sample_count; i++)
        if (a->samples[i].kin != b->samples[i].kin || a->samples[i].op != b->samples[i].op ||
            a->samples[i].group != b->samples[i].group || a->samples[i].count != b->samples[i].count)
            return false;
    return true;
}

static void add_pairs(dataset *d, const builder *b, arena *a)
{
    for (size_t i = 0; i + 1 < b->asked_count; i += 2) {
        bool both = is_pair(b->asked[i].made, b->asked[i + 1].made);
        for (size_t k = i; k < i + 2; k++) {
            if (!both) {
                free(b->asked[k].made->samples);
                continue;
            }
            example *e = &d->items[d->count + 2 * d->pair_count + (int32_t)(k - i)];
            *e = *b->asked[k].made;
            identify(d, e, &b->asked[k].row, a);
            e->is_unmeasured = true;
        }
        d->pair_count += both;
    }
}

/* What ran was not what the graph says: InPlace-ABN, an extension, takes several times as long as PyTorch's norms in channels last. */
static bool is_of_another_program(const measured_row *r)
{
    return r->where.norms_in_place && r->where.lower.layout == LAYOUT_NHWC;
}

dataset *dataset_build(measured_rows *const *tables, int table_count, arena *a, fail *f, dataset_progress progress,
                       void *context)
{
    builder b = {.progress = progress, .context = context};
    size_t all = 0;
    for (int t = 0; t < table_count; t++)
        all += (size_t)tables[t]->rows.count;
    size_t networks = 0;
    b.rows = ARENA_ARRAY(a, measured_row *, 3 * all + 1);
    for (int t = 0; t < table_count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++) {
            measured_row *r = &tables[t]->rows.items[i];
            if (!r->reason && is_of_another_program(r))
                refuse(r, "its norms ran in an extension that its graph does not tell of");
            if (!r->reason && r->where.device && r->latency_ms > 0) {
                b.rows[b.row_count++] = r;
                if (!r->graph.len)
                    continue;
                note_device(&b, r->where.device);
                networks++;
            }
        }
    b.asked = ARENA_ARRAY(a, asked, 2 * networks + 1);
    for (size_t i = 0, measured = b.row_count; i < measured; i++)
        if (b.rows[i]->graph.len)
            ask_for_pair(&b, b.rows[i]);
    if (b.row_count == 0)
        fail_with(f, SOOTH_ERROR_INPUT, "no row can be used: each has an unknown GPU, no graph or no latency");
    qsort(b.rows, b.row_count, sizeof *b.rows, compare_rows);
    b.examples = ARENA_ARRAY(a, example, b.row_count);
    b.jobs = ARENA_ARRAY(a, size_t, b.row_count);
    for (size_t i = 0; i < b.row_count; i++)
        if (i == 0 || (b.rows[i]->graph.len ? !same_graph(b.rows[i], b.rows[i - 1]) : i % 4096 == 0))
            b.jobs[b.job_count++] = i;
    parallel_for(b.job_count, threads_available(), build_job, &b);
    dataset *d = ARENA_NEW(a, dataset);
    d->items = ARENA_ARRAY(a, example, b.row_count);
    static const char *const UNKNOWN_NAMES[UNKNOWN_STACKS] = {"unknown", "unknown eager", "unknown compiled",
                                                              "unknown engine"};
    for (int i = 0; i < UNKNOWN_STACKS; i++)
        d->stacks[d->stack_count++] = str_of(UNKNOWN_NAMES[i]);
    d->gpus[d->gpu_count++] = STR("unknown");
    for (size_t i = 0; i < b.row_count; i++) {
        measured_row *r = b.rows[i];
        if (isnan(r->latency_ms)) {
            ((asked *)(void *)r)->made = &b.examples[i];
            continue;
        }
        if (!b.examples[i].samples)
            continue;
        example *e = &d->items[d->count++];
        *e = b.examples[i];
        identify(d, e, r, a);
    }
    add_pairs(d, &b, a);
    weigh(d);
    standardize(d, a);
    d->identity = hash_all(d);
    d->op_seen = ARENA_ARRAY(a, uint32_t, (size_t)work_op_count());
    d->low = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    d->high = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    return d;
}

void dataset_free(dataset *d)
{
    for (int32_t i = 0; i < d->count + 2 * d->pair_count; i++)
        free(d->items[i].samples);
    d->count = d->pair_count = 0;
}
