/* dataset.c: lowers the network of every measured row to training examples. */
#include "learn/dataset.h"
#include "base/threads.h"
#include "graph/infer.h"
#include "memory/lifetime.h"
#include "predict/limits.h"

#include <math.h>
#include <stdlib.h>

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* Sort key of a kernel: group, then operator, then position. */
typedef struct place {
    uint32_t order; /* group and operator */
    int32_t index;
} place;

static int by_order(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* True if Winograd's algorithm could run the kernel. Which algorithm runs takes too long to find out here. */
static bool may_be_winograd(const work *w)
{
    return w->product_dtype == DT_FLOAT32 && (w->group == WORK_CONV || w->group == WORK_CONV_BACKWARD);
}

sample_time sample_features(const dataset *d, const example *e, const sample *s, float features[FEATURE_COUNT])
{
    work w;
    kernels_get(d->kernels, (kernel_number){s->work, s->place}, &w);
    ideal_time ideal = ideal_of(&w, e->view);
    features_of(&w, e->view, &ideal, features);
    return (sample_time){.compute_us = (float)ideal.steady_us,
                         .memory_us = (float)ideal.memory_us,
                         .least_us =
                             (float)limits_least_us(&w, &ideal, e->view, e->program->bytes, may_be_winograd(&w)),
                         /* Even if the example hides its GPU: the GPU ran the kernel, however slow. */
                         .most_us = (float)limits_most_us(&w, &ideal, true)};
}

static int by_sample(const void *a, const void *b)
{
    const sample_chain *x = a, *y = b;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    return x->chain < y->chain ? -1 : x->chain > y->chain;
}

/* Lists the chains of a network's program, equal ones once. `index` has the sample of each work. */
static int32_t list_chains(const program *from, const work_list *list, const int32_t *index, sample_chain *chains)
{
    int32_t all = 0, count = 0;
    for (int32_t i = 0; i < from->kernels.count; i++) {
        int32_t of = list->of_kernel[i];
        if (of >= 0 && list->items[of].count > 0)
            chains[all++] = (sample_chain){list->chains[i], index[of],
                                           (float)((double)from->kernels.items[i].repeat / list->items[of].count)};
    }
    if (all > 0)
        qsort(chains, (size_t)all, sizeof *chains, by_sample);
    for (int32_t i = 0; i < all; i++) {
        if (count > 0 && by_sample(&chains[count - 1], &chains[i]) == 0)
            chains[count - 1].share += chains[i].share;
        else
            chains[count++] = chains[i];
    }
    return count;
}

/* `from` is the program of a network, NULL for an operator. Reports failures through the arena's `fail`. */
static sample_program *make_program(const work_list *list, const program *from, kernel_store *kernels, arena *a)
{
    int32_t count = list->count, next = 0, chain_count = 0;
    int32_t *index = ARENA_ARRAY(a, int32_t, (size_t)count + 1);
    sample_chain *chains = ARENA_ARRAY(a, sample_chain, from ? (size_t)from->kernels.count + 1 : 1);
    place *places = ARENA_ARRAY(a, place, (size_t)count + 1);
    kernel_number *numbers = ARENA_ARRAY(a, kernel_number, (size_t)count + 1);
    if (!kernels_add(kernels, list->items, count, numbers))
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory for the data set");
    for (int32_t i = 0; i < count; i++)
        places[i] = (place){(uint32_t)list->items[i].group << 16 | (uint16_t)list->items[i].op, i};
    qsort(places, (size_t)count, sizeof *places, by_order);
    for (int32_t i = 0; i < count; i++)
        index[places[i].index] = i;
    if (from)
        chain_count = list_chains(from, list, index, chains);
    size_t samples_bytes = (size_t)count * sizeof(sample), chains_bytes = (size_t)chain_count * sizeof *chains;
    sample_program *p = malloc(sizeof *p + samples_bytes + chains_bytes);
    if (!p)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory for the data set");
    *p = (sample_program){.samples = (sample *)(void *)(p + 1),
                          .sample_count = count,
                          .chain_count = chain_count,
                          .graph = from ? list->graph : 0};
    p->chains = (sample_chain *)(void *)(p->samples + count);
    memcpy(p->chains, chains, chains_bytes);
    for (int32_t i = 0; i < count; i++) {
        p->host_count[list->items[i].group] += (float)list->items[i].count;
        p->bytes += list->items[i].bytes * list->items[i].count;
        int32_t at = places[i].index;
        p->samples[i] = (sample){.work = numbers[at].work, .place = numbers[at].place};
    }
    for (int g = 0; g <= WORK_GROUP_COUNT; g++) {
        while (next < count && (int)(places[next].order >> 16) < g)
            next++;
        p->first_of_group[g] = next;
    }
    return p;
}

/* ---- one network with all its rows ------------------------------------------------------------------------------- */

typedef struct builder {
    dataset *data;
    sooth_error *troubles;           /* system errors, one per worker */
    measured_row **rows;             /* usable rows, sorted by graph, batch and lowering */
    const sample_program **programs; /* program of each row; NULL if the row could not be lowered */
    size_t *jobs;                    /* index of the first row of each job */
    size_t job_count, row_count;
    dataset_progress progress;
    void *context;
    size_t done; /* number of jobs that threads have claimed */
    struct asked *asked;
    size_t asked_count;
    const device *devices[MAX_GPUS]; /* GPUs with measured networks */
    int device_count;
    struct {
        device_view **items;
        int32_t count, capacity;
    } views;
} builder;

/* A row without a measurement: a copy of a measured row with another batch. */
typedef struct asked {
    measured_row row; /* its latency is NAN */
    const sample_program *made;
} asked;

/* One in this many network rows yields a pair. */
enum { PAIR_EVERY = 16 };

static void note_device(builder *b, const device *d)
{
    int i = 0;
    while (i < b->device_count && b->devices[i] != d)
        i++;
    if (i == b->device_count && i < MAX_GPUS && !d->whole)
        b->devices[b->device_count++] = d;
}

static uint64_t chance_of(const measured_row *r)
{
    return ((uint64_t)r->line * 0x9e3779b97f4a7c15u) >> 20;
}

static bool gives_pair(const measured_row *r)
{
    return r->graph.len && r->batch > 1 && chance_of(r) % PAIR_EVERY == 0;
}

/* Adds a pair of batches: the second is twice the first and at most the row's own. Half of the pairs use the row's
 * GPU; the others use any GPU with an unknown stack. The choice is pseudo-random and reproducible. */
static void ask_for_pair(builder *b, const measured_row *r)
{
    uint64_t chance = chance_of(r);
    int doublings = 1; /* the batch is at least 2 */
    while (r->batch >> (doublings + 1) > 0 && doublings < 20)
        doublings++;
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
    uint64_t key = lower_program_key(&x->where.lower), other = lower_program_key(&y->where.lower);
    if (order == 0 && key != other)
        order = key < other ? -1 : 1;
    return order ? order : x < y ? -1 : x > y;
}

static bool same_graph(const measured_row *a, const measured_row *b)
{
    return a->graph.len && str_eq(a->graph, b->graph);
}

/* True if the graph does not show the kernels that ran: networks with the InPlace-ABN extension, which in channels
 * last takes several times as long as PyTorch's norms. */
static bool is_of_another_program(const measured_row *r, const network *net)
{
    return r->where.norms_in_place && r->where.lower.layout == LAYOUT_NHWC && lifetime_has_abn(net);
}

/* Lowers the network for the row and stores the row's program. Failures go to the model's `fail`. */
static void lower_row(const builder *b, size_t row, sooth_model *model, arena *a)
{
    if (is_of_another_program(b->rows[row], &model->net))
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED, "its norms ran in an extension that its graph does not name");
    program p = *lower(model, &b->rows[row]->where.lower, a);
    /* Engine networks are few and their prompt lengths assumed. Their products therefore count as fused, so that
     * plain products are learned only from operator tables. */
    p.is_engine = false;
    work_list list = work_of_program(&p, a);
    b->programs[row] = b->data->made[row] = make_program(&list, &p, b->data->kernels, a);
}

static bool try_lowering(const builder *b, size_t row, sooth_model *model, arena *a, sooth_error *error)
{
    model->fail.error = error;
    if (setjmp(model->fail.jump) != 0)
        return false;
    lower_row(b, row, model, a);
    return true;
}

static void refuse(measured_row *r, const char *reason)
{
    r->reason = reason;
}

/* A system error fails the whole dataset, because the weights must not depend on it. */
static void note_trouble(const builder *b, size_t worker, const sooth_error *e)
{
    if (e->code == SOOTH_ERROR_SYSTEM && b->troubles[worker].code == SOOTH_OK)
        b->troubles[worker] = *e;
}

/* Block size of the arena for one network, above malloc's largest mmap threshold (32 MiB). Such blocks return to the
 * system as soon as they are freed. Untouched pages cost nothing. */
enum { MAPPED_BYTES = 33 << 20 };

static void build_network(const builder *b, size_t from, size_t end, size_t worker)
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
        if (row_graph_error(b->rows[from]) == 0)
            note_trouble(b, worker, &error);
        for (size_t i = from; i < end; i++)
            refuse(b->rows[i], "its graph cannot be read");
        return;
    }
    arena a;
    arena_init(&a, &model->fail, ARENA_GIB(4));
    a.block_bytes = MAPPED_BYTES;
    for (size_t i = from; i < end;) {
        size_t same = i; /* end of the rows that share a program, and therefore a lowering failure */
        while (same < end && b->rows[same]->batch == b->rows[i]->batch &&
               b->rows[same]->where.norms_in_place == b->rows[i]->where.norms_in_place &&
               lower_program_key(&b->rows[same]->where.lower) == lower_program_key(&b->rows[i]->where.lower))
            same++;
        sooth_options binding = {.batch = b->rows[i]->batch};
        bool worked = sooth_bind(model, &binding, &error) == SOOTH_OK && try_lowering(b, i, model, &a, &error);
        if (!worked)
            note_trouble(b, worker, &error);
        for (size_t k = i; k < same; k++)
            if (worked) /* rows with the same program differ only in their device */
                b->programs[k] = b->programs[i];
            else
                refuse(b->rows[k], "its graph cannot be lowered, or its measured program had other kernels");
        arena_free(&a);
        i = same;
    }
    sooth_free(model);
}

static void build_operators(const builder *b, size_t from, size_t end, size_t worker)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, ARENA_GIB(4));
    for (volatile size_t i = from; i < end; i++) {
        if (setjmp(f.jump) == 0) {
            work_list list = work_of_program(b->rows[i]->kernels, &a);
            b->programs[i] = b->data->made[i] = make_program(&list, NULL, b->data->kernels, &a);
        } else {
            refuse(b->rows[i], "its operator cannot be lowered");
            note_trouble(b, worker, &error);
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
        build_network(b, from, end, worker);
    else
        build_operators(b, from, end, worker);
    size_t done = __atomic_add_fetch(&b->done, 1, __ATOMIC_RELAXED);
    if (worker == 0 && b->progress)
        b->progress(b->context, done, b->job_count);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Returns the index of a name. Adds the name if it is new and there is room. */
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

/* Weight of an operator row relative to a network row. A training step has ten times as many operator rows, each
 * with one kernel. */
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

/* Smallest scale of a feature. Features are logarithms, shares and flags, whose typical change is about 1. */
static const double LEAST_SPREAD = 0.2;

/* Computes mean and spread of every feature by group, for standardization. */
static void standardize(dataset *d, arena *a)
{
    size_t floats = (size_t)WORK_GROUP_COUNT * FEATURE_COUNT;
    d->mean = ARENA_ARRAY(a, float, floats);
    d->scale = ARENA_ARRAY(a, float, floats);
    double *sum = ARENA_ARRAY(a, double, floats), *square = ARENA_ARRAY(a, double, floats);
    double count[WORK_GROUP_COUNT] = {0};
    float features[FEATURE_COUNT];
    for (int32_t i = 0; i < d->count; i++)
        for (int32_t k = 0; k < d->items[i].program->sample_count; k++) {
            const sample *s = &d->items[i].program->samples[k];
            uint8_t group = sample_head(d, s).group;
            size_t at = (size_t)group * FEATURE_COUNT;
            count[group]++;
            sample_features(d, &d->items[i], s, features);
            for (size_t j = 0; j < FEATURE_COUNT; j++) {
                sum[at + j] += features[j];
                square[at + j] += (double)features[j] * features[j];
            }
        }
    for (size_t i = 0; i < floats; i++) {
        double n = count[i / FEATURE_COUNT] > 0 ? count[i / FEATURE_COUNT] : 1, mean = sum[i] / n;
        double spread = sqrt(fmax(square[i] / n - mean * mean, 0));
        d->mean[i] = (float)mean;
        /* A constant feature carries no information. Scaling a nearly constant one would make its rare changes huge,
         * and training would diverge. */
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

/* Hashes every input that training reads from an example, without its outputs. */
static uint64_t hash_example(uint64_t h, const dataset *d, const example *e)
{
    const int numbers[] = {e->stack, e->gpu, e->unknown_stack, e->program->sample_count, e->is_unmeasured};
    const float times[] = {e->latency_us, e->timer_us, e->weight};
    h = dataset_hash(h, numbers, sizeof numbers);
    h = dataset_hash(h, times, sizeof times);
    h = dataset_hash(h, &e->architecture, sizeof e->architecture);
    h = dataset_hash(h, e->row->family.ptr, e->row->family.len);
    for (int32_t k = 0; k < e->program->sample_count; k++) {
        const sample *s = &e->program->samples[k];
        float features[FEATURE_COUNT];
        kernel_head head = sample_head(d, s);
        sample_time t = sample_features(d, e, s, features);
        const uint32_t kernel[] = {(uint32_t)head.op, head.group, head.kin};
        const float sizes[] = {sample_count(d, s), t.compute_us, t.memory_us, t.least_us, t.most_us};
        h = dataset_hash(h, kernel, sizeof kernel);
        h = dataset_hash(h, sizes, sizeof sizes);
        h = dataset_hash(h, features, sizeof features);
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
        h = hash_example(h, d, &d->items[i]);
    return h;
}

/* Marks the unknown stack and GPU as seen with each kernel group of an example: training hides the stack and GPU of
 * random examples. */
static void mark_seen(dataset *d, const example *e, kernel_head k)
{
    uint32_t group = 1u << k.group;
    d->stack_groups[e->stack] |= group;
    d->stack_groups[e->unknown_stack] |= group;
    d->gpu_groups[e->gpu] |= group;
    d->gpu_groups[UNKNOWN] |= group;
    d->op_seen[k.op] = 1;
}

static void mark_unit(dataset *d, const example *e, const sample *s)
{
    work w;
    kernels_get(d->kernels, (kernel_number){s->work, s->place}, &w);
    d->gpu_units[e->gpu * WORK_UNITS + (int)unit_of(&w, e->view)] |= 1u << w.group;
    d->gpu_ops[(size_t)e->gpu * net_op_words(aten_number_count()) + (size_t)w.op / 32] |= 1u << w.op % 32;
}

static void widen(dataset *d, const example *e, const sample *s)
{
    size_t at = (size_t)sample_head(d, s).group * FEATURE_COUNT;
    float *low = d->low + at, *high = d->high + at, features[FEATURE_COUNT];
    sample_features(d, e, s, features);
    for (int j = 0; j < FEATURE_COUNT; j++) {
        low[j] = features[j] < low[j] ? features[j] : low[j];
        high[j] = features[j] > high[j] ? features[j] : high[j];
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
        for (int32_t k = 0; k < e->program->sample_count; k++) {
            mark_seen(d, e, sample_head(d, &e->program->samples[k]));
            mark_unit(d, e, &e->program->samples[k]);
            widen(d, e, &e->program->samples[k]);
        }
    }
}

void dataset_seen(dataset *d, const lists *l)
{
    memset(d->stack_groups, 0, sizeof d->stack_groups);
    memset(d->gpu_groups, 0, sizeof d->gpu_groups);
    memset(d->gpu_units, 0, sizeof d->gpu_units);
    memset(d->gpu_ops, 0, MAX_GPUS * net_op_words(aten_number_count()) * sizeof *d->gpu_ops);
    memset(d->op_seen, 0, (size_t)aten_number_count() * sizeof *d->op_seen);
    d->op_seen[UNKNOWN] = 1;
    for (size_t i = 0; i < (size_t)WORK_GROUP_COUNT * FEATURE_COUNT; i++) {
        d->low[i] = INFINITY;
        d->high[i] = -INFINITY;
    }
    see(d, l->networks, l->network_count);
    see(d, l->operators, l->operator_count);
    for (int32_t i = 0; i < 2 * l->pair_count; i++) {
        const example *e = &d->items[l->pairs[i / 2] + i % 2];
        for (int32_t k = 0; k < e->program->sample_count; k++)
            widen(d, e, &e->program->samples[k]);
    }
    for (size_t i = 0; i < (size_t)WORK_GROUP_COUNT * FEATURE_COUNT; i++)
        if (d->low[i] > d->high[i]) /* the group has no kernels */
            d->low[i] = d->high[i] = 0;
}

/* Rows of small sources get a larger weight; otherwise large sources would dominate. */
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

/* Returns the cached view of the row's device. With TF32 allowed, the device has a second view. */
static const device_view *view_of(builder *b, const setting *where, arena *a)
{
    bool allows_tf32 = where->lower.precision != PRECISION_FP32;
    for (int32_t i = b->views.count; i-- > 0;)
        if (b->views.items[i]->device == where->device && b->views.items[i]->allows_tf32 == allows_tf32)
            return b->views.items[i];
    device_view *v = ARENA_NEW(a, device_view);
    *v = view_device(where);
    *(device_view **)ARENA_PUSH(a, &b->views) = v;
    return v;
}

static void fill_example(builder *b, example *e, const measured_row *r, const sample_program *p, arena *a)
{
    dataset *d = b->data;
    e->program = p;
    e->row = r;
    e->view = view_of(b, &r->where, a);
    bool is_engine = r->where.lower.runtime == RUNTIME_ENGINE;
    e->unknown_stack = r->graph.len || is_engine ? net_unknown_stack(r->where.lower.runtime) : UNKNOWN;
    e->stack = number_of(d->stacks, &d->stack_count, MAX_STACKS, r->where.stack);
    e->stack = e->stack == UNKNOWN ? e->unknown_stack : e->stack;
    e->gpu = number_of(d->gpus, &d->gpu_count, MAX_GPUS, r->where.device->texts[DEVICE_NAME]);
    view_pack(e->view, d->gpu_numbers + (size_t)e->gpu * VIEW_NUMBERS);
    e->latency_us = (float)(r->latency_ms * 1000);
    e->timer_us = r->timer_us > 0 ? (float)r->timer_us : 0;
    e->architecture = architecture_hash(r, a);
}

/* True if both programs have the same kernels in the same order. */
static bool is_pair(const dataset *d, const sample_program *a, const sample_program *b)
{
    if (!a || !b || a->sample_count != b->sample_count)
        return false;
    for (int32_t i = 0; i < a->sample_count; i++) {
        kernel_head x = sample_head(d, &a->samples[i]), y = sample_head(d, &b->samples[i]);
        if (x.kin != y.kin || x.op != y.op || x.group != y.group ||
            sample_count(d, &a->samples[i]) != sample_count(d, &b->samples[i]))
            return false;
    }
    return true;
}

static void add_pairs(builder *b, arena *a)
{
    dataset *d = b->data;
    for (size_t i = 0; i + 1 < b->asked_count; i += 2) {
        bool both = is_pair(d, b->asked[i].made, b->asked[i + 1].made);
        for (size_t k = i; k < i + 2; k++) {
            if (!both)
                continue;
            example *e = &d->items[d->count + 2 * d->pair_count + (int32_t)(k - i)];
            fill_example(b, e, &b->asked[k].row, b->asked[k].made, a);
            e->is_unmeasured = true;
        }
        d->pair_count += both;
    }
}

/* Collects the usable rows and their settings. */
static void collect_rows(builder *b, measured_rows *const *tables, int table_count, arena *a)
{
    size_t all = 0, pairs = 0;
    for (int t = 0; t < table_count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++) {
            measured_row *r = &tables[t]->rows.items[i];
            bool is_usable = !r->reason && r->where.device && r->latency_ms > 0;
            all += is_usable;
            pairs += is_usable && gives_pair(r);
        }
    b->rows = ARENA_ARRAY(a, measured_row *, all + 2 * pairs + 1);
    b->asked = ARENA_ARRAY(a, asked, 2 * pairs + 1);
    for (int t = 0; t < table_count; t++)
        for (int32_t i = 0; i < tables[t]->rows.count; i++) {
            measured_row *r = &tables[t]->rows.items[i];
            if (r->reason || !r->where.device || !(r->latency_ms > 0))
                continue;
            b->rows[b->row_count++] = r;
            if (r->graph.len)
                note_device(b, r->where.device);
        }
    for (size_t i = 0, measured = b->row_count; i < measured; i++)
        if (gives_pair(b->rows[i]))
            ask_for_pair(b, b->rows[i]);
}

static void run_jobs(builder *b, arena *a, fail *f)
{
    dataset *d = b->data;
    size_t workers = threads_available();
    b->troubles = ARENA_ARRAY(a, sooth_error, workers);
    b->jobs = ARENA_ARRAY(a, size_t, b->row_count);
    for (size_t i = 0; i < b->row_count; i++)
        if (i == 0 || (b->rows[i]->graph.len ? !same_graph(b->rows[i], b->rows[i - 1]) : i % 4096 == 0))
            b->jobs[b->job_count++] = i;
    d->kernels = kernels_new();
    if (!d->kernels)
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory for the data set");
    parallel_for(b->job_count, workers, build_job, b);
    kernels_close(d->kernels);
    for (size_t i = 0; i < workers; i++)
        if (b->troubles[i].code != SOOTH_OK)
            fail_with(f, b->troubles[i].code, "%s", b->troubles[i].message);
}

void dataset_build(dataset *d, measured_rows *const *tables, int table_count, arena *a, fail *f,
                   dataset_progress progress, void *context)
{
    builder b = {.data = d, .progress = progress, .context = context};
    collect_rows(&b, tables, table_count, a);
    if (b.row_count == 0)
        fail_with(f, SOOTH_ERROR_INPUT, "no row can be used: each has an unknown GPU, no graph or no latency");
    qsort(b.rows, b.row_count, sizeof *b.rows, compare_rows);
    b.programs = ARENA_ARRAY(a, const sample_program *, b.row_count);
    d->made = ARENA_ARRAY(a, sample_program *, b.row_count);
    d->made_count = b.row_count;
    run_jobs(&b, a, f);
    d->items = ARENA_ARRAY(a, example, b.row_count);
    static const char *const UNKNOWN_NAMES[UNKNOWN_STACKS] = {"unknown", "unknown eager", "unknown compiled",
                                                              "unknown engine"};
    for (int i = 0; i < UNKNOWN_STACKS; i++)
        d->stacks[d->stack_count++] = str_of(UNKNOWN_NAMES[i]);
    d->gpus[d->gpu_count++] = STR("unknown");
    for (size_t i = 0; i < b.row_count; i++) {
        measured_row *r = b.rows[i];
        if (isnan(r->latency_ms)) {
            ((asked *)(void *)r)->made = b.programs[i];
            continue;
        }
        if (b.programs[i])
            fill_example(&b, &d->items[d->count++], r, b.programs[i], a);
    }
    add_pairs(&b, a);
    weigh(d);
    standardize(d, a);
    d->identity = hash_all(d);
    d->op_seen = ARENA_ARRAY(a, uint32_t, (size_t)aten_number_count());
    d->gpu_ops = ARENA_ARRAY(a, uint32_t, MAX_GPUS * net_op_words(aten_number_count()));
    d->low = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    d->high = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
}

void dataset_free(dataset *d)
{
    for (size_t i = 0; i < d->made_count; i++)
        free(d->made[i]);
    for (int32_t i = 0; i < d->count; i++)
        free(d->items[i].corrections);
    kernels_free(d->kernels);
    *d = (dataset){.count = 0};
}
