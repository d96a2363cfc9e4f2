/* learn.c: the five trainings, the calibration of intervals, and the weights file. */
#include "learn/learn.h"
#include "learn/checkpoint.h"
#include "learn/forests.h"
#include "predict/weights_order.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* GPUs held out of the first training to measure transfer to new GPUs: one per generation that has whole networks. */
static const char *const GPUS_APART[] = {"rtx-4090", "titan-rtx", "v100-sxm2-16gb", "a100-pcie-40gb", NULL};

/* Evaluating the hold-out rows costs as much as a fifth of an epoch, so it runs only every few epochs. */
enum { LOOK_EVERY = 2, MAX_FAMILIES = 512 };

/* Pairs per step, added to the networks. */
enum { PAIRS = 4 };

typedef struct lessons {
    dataset *data;
    const learn_options *options;
    trainer trainer;
    residuals residuals;
    lists seen; /* indices of examples */
    int32_t *apart, apart_count;
    int *stack, *gpu; /* original stack and GPU of each example, because a training hides those it does not see */
    bool *is_family_apart;
    bool goes_on; /* True if the last training continues the one that held out architectures. */
    float *errors;
    double started;
    training_identity identity;
    arena *arena;
} lessons;

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- who is kept apart ------------------------------------------------------------------------------------------- */

static bool is_listed(const char *list, str name)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        if (length == name.len && memcmp(list, name.ptr, length) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

static bool is_one_of(const char *const *names, str name)
{
    for (; *names; names++)
        if (str_eq(str_of(*names), name))
            return true;
    return false;
}

static uint64_t hash_str(str s)
{
    return weights_checksum(s.ptr, s.len) * 0x9e3779b97f4a7c15u >> 16;
}

static bool is_left_out(const example *e, const learn_options *o)
{
    return is_listed(o->leave_gpus, e->row->gpu) ||
           (e->row->graph.len && is_listed(o->leave_families, e->row->family)) ||
           row_is_left(e->row, e->architecture, o->leave_share);
}

/* The third training holds out three tenths of the families, but no family with more than this share of the rows. */
static const double MOST_OF_ROWS = 0.05;

static bool is_large_family(const lessons *l, str family)
{
    int32_t rows = 0, all = 0;
    for (int32_t i = 0; i < l->data->count; i++) {
        const measured_row *r = l->data->items[i].row;
        all += r->graph.len > 0;
        rows += r->graph.len > 0 && str_eq(r->family, family);
    }
    return rows > MOST_OF_ROWS * all;
}

/* Assigns an index to the family of each example. */
static void choose_families(lessons *l)
{
    str names[MAX_FAMILIES];
    bool chosen[MAX_FAMILIES];
    int count = 0;
    for (int32_t i = 0; i < l->data->count + 2 * l->data->pair_count; i++) {
        const measured_row *r = l->data->items[i].row;
        if (!r->graph.len)
            continue;
        int k = 0;
        while (k < count && !str_eq(names[k], r->family))
            k++;
        if (k == count && count < MAX_FAMILIES) {
            uint64_t part = hash_str(r->family) % 10;
            names[count] = r->family;
            chosen[count++] = (part == 2 || part == 5 || part == 7) && !is_large_family(l, r->family);
        }
        l->is_family_apart[i] = k < count && chosen[k];
    }
}

/* Returns why the stage holds the example out, or NULL. The fourth training holds out an eighth of the architectures
 * and shapes (not those of row_is_left). */
static const char *why_apart(const lessons *l, const example *e, learn_stage stage)
{
    const measured_row *r = e->row;
    switch (stage) {
    case STAGE_GPUS:
        return is_one_of(GPUS_APART, r->gpu) ? "gpu" : NULL;
    case STAGE_FAMILIES:
        return l->is_family_apart[e - l->data->items] ? "family" : NULL;
    case STAGE_NETWORKS:
        if (!r->graph.len)
            return r->shape / 1000 % 8 == 3 ? "shape" : NULL;
        return e->architecture / 1000 % 8 == 3 ? "architecture" : NULL;
    default:
        return NULL;
    }
}

static bool keeps_apart(learn_stage stage)
{
    return stage != STAGE_ALL && stage != STAGE_NEW_GPU;
}

static void split(lessons *l, learn_stage stage)
{
    l->seen.network_count = l->seen.operator_count = l->seen.pair_count = l->apart_count = 0;
    for (int32_t i = 0; i < l->data->count; i++) {
        const example *e = &l->data->items[i];
        if (is_left_out(e, l->options))
            continue;
        if (why_apart(l, e, stage))
            l->apart[l->apart_count++] = i;
        else if (e->row->graph.len)
            l->seen.networks[l->seen.network_count++] = i;
        else
            l->seen.operators[l->seen.operator_count++] = i;
    }
    for (int32_t i = 0; i < l->data->pair_count; i++) {
        int32_t first = l->data->count + 2 * i;
        const example *e = &l->data->items[first];
        if (!is_left_out(e, l->options) && !why_apart(l, e, stage))
            l->seen.pairs[l->seen.pair_count++] = first;
    }
}

static bool is_for_new_gpus(learn_stage stage)
{
    return stage == STAGE_GPUS || stage == STAGE_NEW_GPU;
}

/* Hides the stacks and GPUs that the training does not see, so that hold-out rows resemble a user's. */
static void hide_unseen(lessons *l, learn_stage stage)
{
    dataset *d = l->data;
    bool stack_seen[MAX_STACKS] = {false}, gpu_seen[MAX_GPUS] = {false};
    for (int32_t i = 0; i < d->count + 2 * d->pair_count; i++) {
        d->items[i].stack =
            is_for_new_gpus(stage) ? net_stack_major(d->stacks, d->stack_count, l->stack[i]) : l->stack[i];
        d->items[i].gpu = l->gpu[i];
    }
    for (int32_t i = 0; i < l->seen.network_count + l->seen.operator_count; i++) {
        const example *e =
            &d->items[i < l->seen.network_count ? l->seen.networks[i] : l->seen.operators[i - l->seen.network_count]];
        stack_seen[e->stack] = gpu_seen[e->gpu] = true;
    }
    net *n = &l->trainer.net; /* clears unseen names, so that lookups do not find them */
    for (int i = UNKNOWN_STACKS; i < n->stack_count; i++)
        n->stacks[i] = stack_seen[i] ? d->stacks[i] : STR("");
    for (int i = 1; i < n->gpu_count; i++)
        n->gpus[i] = gpu_seen[i] ? d->gpus[i] : STR("");
    for (int32_t i = 0; i < l->apart_count; i++) {
        example *e = &d->items[l->apart[i]];
        if (e->stack >= UNKNOWN_STACKS && !stack_seen[e->stack])
            e->stack = net_stack_find(n, d->stacks[e->stack], e->unknown_stack, ANY_RUNTIME);
        if (!gpu_seen[e->gpu])
            e->gpu = UNKNOWN;
    }
}

/* ---- kernels that were seen -------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* A set of numbers with open addressing. Zero marks a free slot; a flag records whether the set contains 0. */
typedef struct number_set {
    uint32_t *slots;
    size_t room, count; /* at most half full */
    bool has_zero;
} number_set;

static bool grow_set(number_set *set)
{
    number_set larger = {.room = set->room ? 2 * set->room : 4096, .count = set->count, .has_zero = set->has_zero};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < set->room; i++) {
        size_t k = set->slots[i] & (larger.room - 1); /* the numbers are hashes already */
        while (set->slots[i] && larger.slots[k])
            k = (k + 1) & (larger.room - 1);
        if (set->slots[i])
            larger.slots[k] = set->slots[i];
    }
    free(set->slots);
    *set = larger;
    return true;
}

static bool put_number(number_set *set, uint32_t number)
{
    set->has_zero |= number == 0;
    if (number == 0)
        return true;
    if (2 * (set->count + 1) > set->room && !grow_set(set))
        return false;
    size_t k = number & (set->room - 1);
    while (set->slots[k] && set->slots[k] != number)
        k = (k + 1) & (set->room - 1);
    set->count += !set->slots[k];
    set->slots[k] = number;
    return true;
}

/* Returns the sorted values of work.kin that the training sees in networks. */
static uint32_t *collect_seen(const lessons *l, uint32_t *count)
{
    number_set set = {.count = 0};
    bool good = grow_set(&set);
    for (int32_t i = 0; i < l->seen.network_count && good; i++) {
        const sample_program *p = l->data->items[l->seen.networks[i]].program;
        for (int32_t k = 0; k < p->sample_count && good; k++)
            good = put_number(&set, sample_head(l->data, &p->samples[k]).kin);
    }
    if (!good) {
        free(set.slots);
        fail_with(l->arena->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    }
    size_t n = 0;
    for (size_t i = 0; i < set.room; i++)
        if (set.slots[i])
            set.slots[n++] = set.slots[i];
    if (set.has_zero)
        set.slots[n++] = 0;
    qsort(set.slots, n, sizeof *set.slots, by_number);
    *count = (uint32_t)n;
    return set.slots;
}

/* Marks kernels of hold-out rows whose work.kin the training does not see. */
static void mark_new(const lessons *l)
{
    uint32_t count;
    uint32_t *seen = collect_seen(l, &count);
    weights_view v = {.seen = seen, .seen_count = count};
    for (int32_t i = 0; i < l->apart_count; i++) {
        const example *e = &l->data->items[l->apart[i]];
        for (int32_t k = 0; k < e->program->sample_count; k++)
            e->program->samples[k].is_new = !weights_seen(&v, sample_head(l->data, &e->program->samples[k]).kin);
    }
    free(seen);
}

/* ---- one training ------------------------------------------------------------------------------------------------ */

static void shuffle(trainer *t, int32_t *items, int32_t count)
{
    for (int32_t i = count - 1; i > 0; i--) {
        int32_t k = (int32_t)(trainer_random(t) % (uint64_t)(i + 1)), x = items[i];
        items[i] = items[k];
        items[k] = x;
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Limit of a row's error in the mean, so that a few outliers do not decide which parameters are best. */
static const float MOST_ERROR = 0.3F;

/* Evaluates the hold-out networks; operators, if no networks are held out. */
static void look(lessons *l, learn_report *r)
{
    trainer_errors(&l->trainer, l->data, l->apart, l->apart_count, l->errors, NULL);
    float *sizes = l->errors + l->data->count;
    size_t n = 0;
    double sum = 0, bounded = 0;
    bool only_operators = l->seen.network_count == 0;
    for (int32_t i = 0; i < l->apart_count; i++)
        if (only_operators || l->data->items[l->apart[i]].row->graph.len)
            sizes[n++] = fabsf(expm1f(l->errors[i]));
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        sum += sizes[i];
        bounded += fminf(sizes[i], MOST_ERROR);
    }
    r->bounded_error = bounded / (double)n;
    qsort(sizes, n, sizeof *sizes, by_size);
    r->mean_error = sum / (double)n;
    r->median_error = sizes[n / 2];
    r->kept_apart = n;
}

/* Number of epochs. Longer training costs accuracy on new data: most on new GPUs, less on new families, least on new
 * networks of known families. */
static int epochs_of(const lessons *l, learn_stage stage)
{
    int epochs = l->options->epochs;
    switch (stage) {
    case STAGE_GPUS:
    case STAGE_NEW_GPU:
        return (epochs + 9) / 10;
    case STAGE_FAMILIES:
        return (epochs + 2) / 3;
    case STAGE_ALL:
        return l->goes_on ? (epochs + 2) / 3 : epochs;
    default:
        return epochs;
    }
}

/* Sets the shares of hidden stacks, GPUs and operators. Training for new GPUs hides more of both, because a version
 * is measured on few GPUs and the effects of version and GPU must stay separate. */
static void choose_hidden(trainer *t, learn_stage stage)
{
    bool is_new_gpu = is_for_new_gpus(stage);
    t->unknown_gpu = is_new_gpu ? 0.4 : 0.25;
    t->unknown_stack = is_new_gpu ? 0.15 : 0.08;
    t->stack_decay = is_new_gpu ? 1 : 0.01;
    t->unknown_op = is_new_gpu ? 0.05 : 0.15;
}

/* Learning rate: it rises over the first steps, then decays to zero along a cosine. A continued training starts
 * lower, to keep its parameters. */
static double rate_at(const lessons *l, learn_stage stage, double step, double steps)
{
    double warm = fmin(1, (step + 1) / 400), part = stage == STAGE_ALL && l->goes_on ? 0.4 : 1;
    return l->options->rate * part * warm * (0.5 + 0.5 * cos(acos(-1) * step / steps));
}

static double train_epoch(lessons *l, learn_stage stage, int epoch)
{
    const learn_options *o = l->options;
    trainer *t = &l->trainer;
    split(l, stage); /* every epoch shuffles the same initial order, so that a resumed training repeats it */
    bool only_operators = l->seen.network_count == 0;
    int32_t *main = only_operators ? l->seen.operators : l->seen.networks;
    int32_t main_count = only_operators ? l->seen.operator_count : l->seen.network_count;
    int32_t main_size = only_operators ? o->operators : o->networks;
    int32_t steps = (main_count + main_size - 1) / main_size;
    batch b;
    double loss = 0, all_steps = (double)epochs_of(l, stage) * steps;
    shuffle(t, main, main_count);
    for (int32_t s = 0; s < steps; s++) {
        int32_t from = s * main_size, n = main_count - from < main_size ? main_count - from : main_size;
        memcpy(b.order, main + from, (size_t)n * sizeof *b.order);
        for (int32_t i = 0; !only_operators && l->seen.operator_count && i < o->operators; i++)
            b.order[n++] = l->seen.operators[trainer_random(t) % (uint64_t)l->seen.operator_count];
        b.count = n;
        shuffle(t, b.order, n); /* gives shards equal shares of networks and operators */
        for (b.pair_count = 0; l->seen.pair_count && b.pair_count < PAIRS;)
            b.pairs[b.pair_count++] = l->seen.pairs[trainer_random(t) % (uint64_t)l->seen.pair_count];
        loss += trainer_step(t, l->data, &b, rate_at(l, stage, (double)epoch * steps + s, all_steps));
        if (o->stop && *o->stop)
            break;
    }
    return loss / steps;
}

static void report_epoch(lessons *l, learn_report *r)
{
    const learn_options *o = l->options;
    double done = r->epoch, all = 0;
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        done += stage < (int)r->stage ? epochs_of(l, (learn_stage)stage) : 0;
        all += epochs_of(l, (learn_stage)stage);
    }
    r->seconds = now_seconds() - l->started;
    r->seconds_left = r->seconds / fmax(done - l->residuals.resumed_at, 1) * (all - done);
    if (o->progress)
        o->progress(o->context, r);
}

/* Runs one training. Returns false if it was stopped. */
static bool train_stage(lessons *l, learn_stage stage, int from_epoch)
{
    const learn_options *o = l->options;
    size_t bytes = l->trainer.net.at.count * sizeof(float);
    choose_hidden(&l->trainer, stage);
    for (int epoch = from_epoch; epoch < epochs_of(l, stage) && l->trainer.since_best <= o->patience; epoch++) {
        learn_report r = {
            .stage = stage, .epoch = epoch + 1, .epochs = epochs_of(l, stage), .mean_error = NAN, .median_error = NAN};
        r.loss = train_epoch(l, stage, epoch);
        if (o->stop && *o->stop)
            return false;
        if (!isfinite(r.loss))
            fail_with(l->arena->fail, SOOTH_ERROR_INPUT,
                      "the training diverged: its loss is not a number; try a smaller --rate");
        if (l->apart_count && ((epoch + 1) % LOOK_EVERY == 0 || epoch + 1 == r.epochs)) {
            look(l, &r);
            /* A training on all rows has no hold-out rows that could select the best epoch for new GPUs, so it uses
             * its last epoch. The training that measures its error does the same. */
            if (r.bounded_error < l->trainer.best_error || is_for_new_gpus(stage)) {
                l->trainer.best_error = r.bounded_error;
                memcpy(l->trainer.best, l->trainer.average, bytes);
                l->trainer.since_best = 0;
            } else {
                l->trainer.since_best++;
            }
        }
        report_epoch(l, &r);
        if (o->checkpoint)
            checkpoint_write(o->checkpoint, &l->trainer, &l->residuals, &l->identity,
                             (training_place){(int)stage, epoch + 1}, l->arena->fail);
    }
    if (l->trainer.best_error < INFINITY)
        memcpy(l->trainer.average, l->trainer.best, bytes);
    if (stage == STAGE_NEW_GPU)
        memcpy(l->trainer.new_gpu, l->trainer.average, bytes);
    return true;
}

static void keep_residual(lessons *l, const example *e, float novelty, float error)
{
    residual *r = ARENA_PUSH(l->arena, &l->residuals);
    r->stack = (int16_t)e->stack;
    uint32_t groups = 0;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        groups |= e->program->first_of_group[g + 1] > e->program->first_of_group[g] ? 1u << g : 0;
    bool gpu_known = net_gpu_known(&l->trainer.net, e->gpu, groups);
    r->kind =
        (int16_t)interval_kind(interval_class_of(&e->row->where, groups), gpu_known, novelty_bin((double)novelty));
    r->error = error;
}

/* Stores the errors of the hold-out rows for the intervals. Networks are stored a second time with their stack
 * hidden, because most users do not name one. */
static void keep_residuals(lessons *l, learn_stage stage)
{
    mark_new(l);
    float *novelty = ARENA_ARRAY(l->arena, float, (size_t)l->apart_count + 1);
    trainer_errors(&l->trainer, l->data, l->apart, l->apart_count, l->errors, novelty);
    for (int32_t i = 0; i < l->apart_count; i++) {
        const example *e = &l->data->items[l->apart[i]];
        keep_residual(l, e, novelty[i], l->errors[i]);
        int kind = l->residuals.items[l->residuals.count - 1].kind;
        if (l->options->apart)
            l->options->apart(l->options->context, why_apart(l, e, stage), e, kind, l->errors[i]);
    }
    int32_t hidden = 0;
    for (int32_t i = 0; i < l->apart_count; i++) {
        example *e = &l->data->items[l->apart[i]];
        if (e->row->graph.len && e->stack >= UNKNOWN_STACKS) {
            e->stack = e->unknown_stack;
            l->apart[hidden++] = l->apart[i];
        }
    }
    trainer_errors(&l->trainer, l->data, l->apart, hidden, l->errors, novelty);
    for (int32_t i = 0; i < hidden; i++)
        keep_residual(l, &l->data->items[l->apart[i]], novelty[i], l->errors[i]);
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* Split conformal prediction: the quantile of absolute errors that covers 90 % for one more row. */
static float conformal_quantile(float *sizes, size_t n)
{
    qsort(sizes, n, sizeof *sizes, by_size);
    size_t rank = (size_t)ceil(0.9 * (double)(n + 1));
    return sizes[(rank > n ? n : rank) - 1];
}

/* Fewest rows for the interval of a kind, and for that of one of its stacks. With twelve rows, the quantile is the
 * second largest error. */
enum { LEAST_ROWS = 40, LEAST_ROWS_OF_STACK = 12 };

/* Quantile of the errors with this class, novelty and stack (or ANY); 0 with too few rows. */
enum { ANY = -1 };

static float interval_of(const lessons *l, int class, bool gpu_known, int bin, int stack)
{
    size_t least = bin == ANY && stack != ANY ? LEAST_ROWS_OF_STACK : LEAST_ROWS;
    float *sizes = l->errors;
    size_t n = 0;
    for (int32_t i = 0; i < l->residuals.count; i++) {
        const residual *r = &l->residuals.items[i];
        if ((class == ANY || (int)interval_kind_class(r->kind) == class) &&
            interval_kind_knows_gpu(r->kind) == gpu_known && (bin == ANY || r->kind % NOVELTY_BINS == bin) &&
            (stack == ANY || r->stack == stack))
            sizes[n++] = fabsf(r->error);
    }
    return n >= least ? conformal_quantile(sizes, n) : 0;
}

/* A stack with too few rows of a kind takes the wider of two intervals: that of the kind over all stacks, and that
 * of the stack over all novelties (and classes). A kind with too few rows takes that of its class at any novelty, or
 * of all classes at its novelty. */
static void calibrate(const lessons *l, float *intervals)
{
    int stacks = l->trainer.net.stack_count;
    for (int kind = 0; kind < INTERVAL_KINDS; kind++) {
        int class = (int)interval_kind_class(kind), bin = kind % NOVELTY_BINS;
        bool gpu_known = interval_kind_knows_gpu(kind);
        float *row = intervals + (size_t)kind * (size_t)stacks;
        row[UNKNOWN] = interval_of(l, class, gpu_known, bin, ANY);
        if (row[UNKNOWN] <= 0)
            row[UNKNOWN] = fmaxf(interval_of(l, class, gpu_known, ANY, ANY), interval_of(l, ANY, gpu_known, bin, ANY));
        for (int stack = 1; stack < stacks; stack++) {
            row[stack] = interval_of(l, class, gpu_known, bin, stack);
            if (row[stack] <= 0) {
                float at_any = interval_of(l, class, gpu_known, ANY, stack);
                at_any = at_any > 0 ? at_any : interval_of(l, ANY, gpu_known, ANY, stack);
                row[stack] = at_any > row[UNKNOWN] ? at_any : 0;
            }
        }
    }
}

static void put_names(char **next, const str *names, int count)
{
    for (int i = 0; i < count; i++, *next += WEIGHTS_NAME)
        memcpy(*next, names[i].ptr, names[i].len < WEIGHTS_NAME ? names[i].len : WEIGHTS_NAME);
}

static void put_marks(char **next, const uint32_t *marks, size_t count)
{
    memcpy(*next, marks, count * sizeof *marks);
    *next += count * sizeof *marks;
}

static void put_floats(char **next, const float *floats, size_t count)
{
    memcpy(*next, floats, count * sizeof *floats);
    *next += count * sizeof *floats;
}

/* Folds the standardization of features into the first layer. */
static void take_in_scales(const trainer *t, float *params)
{
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        size_t units = net_group_shape((work_group)g).first;
        float *weights = params + t->net.at.first[g], *bias = params + t->net.at.first_bias[g];
        for (size_t i = 0; i < FEATURE_COUNT; i++) {
            float mean = t->mean[(size_t)g * FEATURE_COUNT + i], scale = t->scale[(size_t)g * FEATURE_COUNT + i];
            for (size_t j = 0; j < units; j++) {
                weights[i * units + j] *= scale;
                bias[j] -= weights[i * units + j] * mean;
            }
        }
    }
}

/* With `count` 0 the address may be NULL. */
static void put_bytes(char **next, const void *bytes, size_t count)
{
    if (count > 0)
        memcpy(*next, bytes, count);
    *next += count;
}

static const void *make_weights(lessons *l, const forest_set *forests, size_t *size)
{
    const net *n = &l->trainer.net;
    uint32_t seen_count;
    uint32_t *seen = collect_seen(l, &seen_count);
    weights_header h = {.magic = "sooth weights",
                        .version = WEIGHTS_VERSION,
                        .feature_count = FEATURE_COUNT,
                        .group_count = WORK_GROUP_COUNT,
                        .op_count = (uint32_t)n->op_count,
                        .stack_count = (uint32_t)n->stack_count,
                        .gpu_count = (uint32_t)n->gpu_count,
                        .param_count = (uint32_t)n->at.count,
                        .seen_count = seen_count,
                        .forest_count = forests->count,
                        .tree_count = forests->tree_count};
    *size = weights_size(&h);
    h.bytes = (uint32_t)*size;
    char *bytes = arena_alloc(l->arena, *size, 1), *next = bytes + sizeof h;
    put_names(&next, l->data->stacks, n->stack_count);
    put_names(&next, l->data->gpus, n->gpu_count);
    put_marks(&next, n->stack_groups, (size_t)n->stack_count);
    put_marks(&next, n->gpu_groups, (size_t)n->gpu_count);
    put_marks(&next, n->op_seen, (size_t)n->op_count);
    put_marks(&next, n->gpu_units, (size_t)n->gpu_count * WORK_UNITS);
    put_marks(&next, n->gpu_ops, (size_t)n->gpu_count * net_op_words(n->op_count));
    put_floats(&next, n->gpu_numbers, (size_t)n->gpu_count * VIEW_NUMBERS);
    float *const sets[] = {l->trainer.average, l->trainer.new_gpu};
    for (int i = 0; i < 2; i++) {
        take_in_scales(&l->trainer, sets[i]);
        put_floats(&next, sets[i], n->at.count);
    }
    put_floats(&next, n->low, (size_t)WORK_GROUP_COUNT * FEATURE_COUNT);
    put_floats(&next, n->high, (size_t)WORK_GROUP_COUNT * FEATURE_COUNT);
    float *intervals = ARENA_ARRAY(l->arena, float, (size_t)INTERVAL_KINDS *(size_t)n->stack_count);
    calibrate(l, intervals);
    put_floats(&next, intervals, (size_t)INTERVAL_KINDS * (size_t)n->stack_count);
    put_bytes(&next, seen, seen_count * sizeof *seen);
    free(seen);
    put_bytes(&next, forests->items, forests->count * sizeof *forests->items);
    put_bytes(&next, forests->edges, FOREST_EDGES_BYTES);
    put_bytes(&next, forests->trees, forests->tree_count * sizeof *forests->trees);
    memcpy(bytes, &h, sizeof h);
    weights_view made;
    weights_open((const predictor *)(const void *)bytes, &made);
    const char *wrong = weights_wrong(&made);
    if (wrong)
        fail_with(l->arena->fail, SOOTH_ERROR_INPUT, "the training gave %s; try a smaller --rate", wrong);
    /* The bytes are in file order from here on. */
    weights_turn_rest(bytes, &h);
    weights_turn_header((weights_header *)(void *)bytes);
    size_t after = offsetof(weights_header, checksum) + sizeof h.checksum;
    h.checksum = weights_checksum(bytes + after, *size - after);
    weights_turn_header(&h);
    memcpy(bytes, &h, sizeof h);
    return bytes;
}

static uint64_t hash_list(uint64_t h, const char *list)
{
    return dataset_hash(h, list ? list : "", list ? strlen(list) + 1 : 1);
}

static training_identity identity_of(const dataset *data, const learn_options *o)
{
    const double numbers[] = {o->epochs, o->patience, o->networks, o->operators, o->leave_share};
    return (training_identity){
        .code = checkpoint_code(),
        .data = data->identity,
        .seed = o->seed,
        .rate = o->rate,
        .options = hash_list(hash_list(dataset_hash(0, numbers, sizeof numbers), o->leave_gpus), o->leave_families)};
}

const void *learn(dataset *data, const learn_options *options, size_t *size, arena *a, fail *f)
{
    size_t count = (size_t)data->count, all = count + 2 * (size_t)data->pair_count;
    lessons l = {.data = data,
                 .options = options,
                 .seen = {.networks = ARENA_ARRAY(a, int32_t, count),
                          .operators = ARENA_ARRAY(a, int32_t, count),
                          .pairs = ARENA_ARRAY(a, int32_t, (size_t)data->pair_count + 1)},
                 .apart = ARENA_ARRAY(a, int32_t, count),
                 .stack = ARENA_ARRAY(a, int, all),
                 .gpu = ARENA_ARRAY(a, int, all),
                 .is_family_apart = ARENA_ARRAY(a, bool, all),
                 .errors = ARENA_ARRAY(a, float, 2 * count * STAGE_COUNT),
                 .started = now_seconds(),
                 .arena = a};
    if (options->networks + options->operators > MAX_BATCH || options->networks < 1 || options->operators < 1)
        fail_with(f, SOOTH_ERROR_USAGE, "a step has 1 to %d rows", MAX_BATCH);
    for (size_t i = 0; i < all; i++) {
        l.stack[i] = data->items[i].stack;
        l.gpu[i] = data->items[i].gpu;
    }
    choose_families(&l);
    trainer_init(&l.trainer, data, options->seed, a);
    split(&l, STAGE_NETWORKS);
    l.goes_on = l.apart_count > 0;
    l.identity = identity_of(data, options);
    training_place at = {0, 0};
    if (options->checkpoint)
        checkpoint_read(options->checkpoint, &l.trainer, &l.residuals, &l.identity, &at, a, f);
    int stage = at.stage, epoch = at.epoch;
    if (stage > 0 || epoch > 0)
        for (int done = 0; done <= stage; done++)
            l.residuals.resumed_at += done < stage ? epochs_of(&l, (learn_stage)done) : epoch;
    const forests_watch watch = {options->growing, options->context, options->stop};
    for (; stage < STAGE_COUNT; stage++, epoch = 0) {
        split(&l, (learn_stage)stage);
        if (keeps_apart((learn_stage)stage) && l.apart_count == 0)
            continue;
        if (l.seen.network_count + l.seen.operator_count == 0)
            fail_with(f, SOOTH_ERROR_INPUT, "no row is left to train on");
        if (epoch == 0 && stage == STAGE_ALL && l.goes_on)
            trainer_go_on(&l.trainer);
        else if (epoch == 0)
            trainer_restart(&l.trainer, data, options->seed + (uint64_t)stage);
        hide_unseen(&l, (learn_stage)stage);
        dataset_seen(data, &l.seen);
        forests_forget(data);
        if (!train_stage(&l, (learn_stage)stage, epoch))
            return NULL;
        /* Forests are grown on operators; the other trainings are evaluated on networks and new GPUs. */
        if (stage == STAGE_NETWORKS) {
            forest_set grown = forests_grow(&l.trainer, data, l.seen.operators, l.seen.operator_count, &watch, a);
            if (options->stop && *options->stop)
                return NULL;
            forests_apply(&grown, &l.trainer, data, l.apart, l.apart_count);
        }
        if (keeps_apart((learn_stage)stage))
            keep_residuals(&l, (learn_stage)stage);
    }
    forest_set forests = forests_grow(&l.trainer, data, l.seen.operators, l.seen.operator_count, &watch, a);
    if (options->stop && *options->stop)
        return NULL;
    return make_weights(&l, &forests, size);
}
