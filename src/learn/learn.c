/* learn.c: the eight trainings, the calibration of intervals, and the weights file. */
#include "learn/learn.h"
#include "learn/checkpoint.h"
#include "learn/forests.h"
#include "learn/seen.h"
#include "predict/weights_order.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* GPUs held out of the first training to measure transfer to new GPUs: one per generation that has whole networks. */
static const char *const GPUS_APART[] = {"rtx-4090", "titan-rtx", "v100-sxm2-16gb", "a100-pcie-40gb", NULL};

/* Evaluating the hold-out rows costs as much as a fifth of an epoch, so it runs only every few epochs. */
enum { LOOK_EVERY = 2, MAX_FAMILIES = 512, FOLDS = STAGE_NETWORKS - STAGE_FAMILIES };

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
    int8_t *fold;     /* Of the example's family; -1: none. */
    bool goes_on;     /* True if the last training continues the one that held out architectures. */
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

typedef struct family {
    str name;
    int32_t rows;
    int fold;
} family;

/* Large families first. */
static int by_rows(const void *a, const void *b)
{
    const family *x = *(const family *const *)a, *y = *(const family *const *)b;
    return x->rows != y->rows ? (x->rows > y->rows ? -1 : 1) : x < y ? -1 : x > y;
}

static int family_at(const family *families, int count, str name)
{
    int k = 0;
    while (k < count && !str_eq(families[k].name, name))
        k++;
    return k;
}

/* Divides the families into folds with about as many rows each. */
static void choose_folds(lessons *l)
{
    family families[MAX_FAMILIES], *sorted[MAX_FAMILIES];
    int32_t all = l->data->count + 2 * l->data->pair_count, rows[FOLDS] = {0};
    int count = 0;
    for (int32_t i = 0; i < l->data->count; i++) {
        const measured_row *r = l->data->items[i].row;
        int k = r->graph.len ? family_at(families, count, r->family) : MAX_FAMILIES;
        if (k == MAX_FAMILIES)
            continue;
        if (k == count)
            families[count++] = (family){.name = r->family};
        families[k].rows++;
    }
    for (int k = 0; k < count; k++)
        sorted[k] = &families[k];
    qsort(sorted, (size_t)count, sizeof *sorted, by_rows);
    for (int k = 0; k < count; k++) {
        int least = 0;
        for (int f = 1; f < FOLDS; f++)
            least = rows[f] < rows[least] ? f : least;
        sorted[k]->fold = least;
        rows[least] += sorted[k]->rows;
    }
    for (int32_t i = 0; i < all; i++) {
        const measured_row *r = l->data->items[i].row;
        int k = r->graph.len ? family_at(families, count, r->family) : count;
        l->fold[i] = (int8_t)(k < count ? families[k].fold : -1);
    }
}

/* One in this many settings of a network is held out. */
enum { SETTING_EVERY = 24 };

/* True if the training of networks holds out all batches of a network in this setting. */
static bool is_setting_apart(const example *e)
{
    const setting *w = &e->row->where;
    const uint64_t key[] = {e->architecture,           (uint64_t)e->gpu,           (uint64_t)w->lower.precision,
                            (uint64_t)w->lower.layout, (uint64_t)w->lower.runtime, (uint64_t)w->lower.mode};
    return (dataset_hash(0, key, sizeof key) >> 20) % SETTING_EVERY == 0;
}

/* Returns why the stage holds the example out, or NULL. The training of networks holds out an eighth of
 * the architectures and shapes (not those of row_is_left). */
static const char *why_apart(const lessons *l, const example *e, learn_stage stage)
{
    const measured_row *r = e->row;
    switch (stage) {
    case STAGE_GPUS:
        return is_one_of(GPUS_APART, r->gpu) ? "gpu" : NULL;
    case STAGE_FAMILIES:
    case STAGE_FAMILIES_2:
    case STAGE_FAMILIES_3:
    case STAGE_FAMILIES_4:
        return l->fold[e - l->data->items] == (int)stage - STAGE_FAMILIES ? "family" : NULL;
    case STAGE_NETWORKS:
        if (!r->graph.len)
            return r->shape / 1000 % 8 == 3 ? "shape" : NULL;
        return e->architecture / 1000 % 8 == 3 ? "architecture" : is_setting_apart(e) ? "setting" : NULL;
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
    case STAGE_FAMILIES_2:
    case STAGE_FAMILIES_3:
    case STAGE_FAMILIES_4:
        return (epochs + 5) / 6;
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
            /* A training on all rows has no hold-out rows that could select the best epoch for new GPUs and families,
             * so it uses its last epoch. The trainings that measure their errors do the same. */
            if (r.bounded_error < l->trainer.best_error || stage < STAGE_NETWORKS) {
                l->trainer.best_error = r.bounded_error;
                memcpy(l->trainer.best, l->trainer.average, bytes);
                l->trainer.since_best = 0;
            } else {
                l->trainer.since_best++;
            }
        }
        report_epoch(l, &r);
        if (o->checkpoint && (!o->team || !o->team->rank))
            checkpoint_write(o->checkpoint, &l->trainer, &l->residuals, &l->identity,
                             (training_place){(int)stage, epoch + 1}, l->arena->fail);
    }
    if (l->trainer.best_error < INFINITY)
        memcpy(l->trainer.average, l->trainer.best, bytes);
    if (stage == STAGE_NEW_GPU)
        memcpy(l->trainer.new_gpu, l->trainer.average, bytes);
    return true;
}

static uint8_t set_of(const char *why)
{
    static const char *const SETS[] = {[SET_GPU] = "gpu",
                                       [SET_FAMILY] = "family",
                                       [SET_ARCHITECTURE] = "architecture",
                                       [SET_SETTING] = "setting",
                                       [SET_SHAPE] = "shape"};
    uint8_t set = 0;
    while (strcmp(why, SETS[set]) != 0)
        set++;
    return set;
}

static void keep_residual(lessons *l, learn_stage stage, int32_t index, const seen_numbers *seen, bool is_hidden,
                          const interval_sums *sums, float error)
{
    const example *e = &l->data->items[index];
    residual *r = ARENA_PUSH(l->arena, &l->residuals);
    uint32_t groups;
    interval_class class = seen_class(e, &groups);
    bool gpu_known = net_gpu_known(&l->trainer.net, e->gpu, groups);
    *r =
        (residual){.example = index,
                   .stack = (int16_t)e->stack,
                   .gpu = (int16_t)(gpu_known ? e->gpu : UNKNOWN),
                   .model = (uint8_t)interval_model(class, gpu_known),
                   .stage = (uint8_t)stage,
                   .set = set_of(why_apart(l, e, stage)),
                   .is_hidden = is_hidden,
                   .cluster = e->row->graph.len ? (uint32_t)hash_str(e->row->family) : e->row->shape * 0x9e3779b1u >> 8,
                   .error = error};
    interval_traits(sums, &e->row->where, r->traits);
    r->graph = (uint8_t)interval_graph_of(seen_graph(seen, e), r->traits);
}

/* Stores the errors of the hold-out rows for the intervals. Networks are stored a second time with their stack
 * hidden, because most users do not name one. */
static void keep_residuals(lessons *l, learn_stage stage)
{
    seen_numbers seen = seen_collect(l->data, &l->seen, l->arena->fail);
    seen_mark(l->data, &seen, l->apart, l->apart_count);
    interval_sums *sums = ARENA_ARRAY(l->arena, interval_sums, (size_t)l->apart_count + 1);
    trainer_errors(&l->trainer, l->data, l->apart, l->apart_count, l->errors, sums);
    for (int32_t i = 0; i < l->apart_count; i++)
        keep_residual(l, stage, l->apart[i], &seen, false, &sums[i], l->errors[i]);
    int32_t hidden = 0;
    for (int32_t i = 0; i < l->apart_count; i++) {
        example *e = &l->data->items[l->apart[i]];
        if (e->row->graph.len && e->stack >= UNKNOWN_STACKS) {
            e->stack = e->unknown_stack;
            l->apart[hidden++] = l->apart[i];
        }
    }
    trainer_errors(&l->trainer, l->data, l->apart, hidden, l->errors, sums);
    for (int32_t i = 0; i < hidden; i++)
        keep_residual(l, stage, l->apart[i], &seen, true, &sums[i], l->errors[i]);
    seen_free(&seen);
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* Fits the intervals, and reports the hold-out rows with theirs. */
static const float *calibrate(const lessons *l)
{
    const net *n = &l->trainer.net;
    const learn_options *o = l->options;
    int32_t count = l->residuals.count;
    float *table = ARENA_ARRAY(l->arena, float, interval_floats(n->stack_count, n->gpu_count));
    float(*halves)[INTERVAL_LEVELS] = arena_alloc(l->arena, (size_t)count + 1, sizeof *halves);
    intervals_fit(l->residuals.items, count, n->stack_count, n->gpu_count, table, halves, l->arena);
    for (int32_t i = 0; o->apart && i < count; i++) {
        const residual *r = &l->residuals.items[i];
        const example *e = &l->data->items[r->example];
        if (!r->is_hidden)
            o->apart(o->context, why_apart(l, e, (learn_stage)r->stage), e, r, halves[i]);
    }
    return table;
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
    seen_numbers seen = seen_collect(l->data, &l->seen, l->arena->fail);
    weights_header h = {.magic = "sooth weights",
                        .version = WEIGHTS_VERSION,
                        .feature_count = FEATURE_COUNT,
                        .group_count = WORK_GROUP_COUNT,
                        .op_count = (uint32_t)n->op_count,
                        .stack_count = (uint32_t)n->stack_count,
                        .gpu_count = (uint32_t)n->gpu_count,
                        .param_count = (uint32_t)n->at.count,
                        .seen_count = seen.kernels.count,
                        .chain_count = seen.chains.count,
                        .graph_count = seen.graphs.count,
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
    put_floats(&next, calibrate(l), interval_floats(n->stack_count, n->gpu_count));
    put_bytes(&next, seen.kernels.items, seen.kernels.count * sizeof(uint32_t));
    put_bytes(&next, seen.chains.items, seen.chains.count * sizeof(uint32_t));
    put_bytes(&next, seen.graphs.items, seen.graphs.count * sizeof(uint32_t));
    seen_free(&seen);
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
                 .fold = ARENA_ARRAY(a, int8_t, all),
                 .errors = ARENA_ARRAY(a, float, 2 * count * STAGE_COUNT),
                 .started = now_seconds(),
                 .arena = a};
    if (options->networks + options->operators > MAX_BATCH || options->networks < 1 || options->operators < 1)
        fail_with(f, SOOTH_ERROR_USAGE, "a step has 1 to %d rows", MAX_BATCH);
    for (size_t i = 0; i < all; i++) {
        l.stack[i] = data->items[i].stack;
        l.gpu[i] = data->items[i].gpu;
    }
    choose_folds(&l);
    trainer_init(&l.trainer, data, options->seed, a);
    l.trainer.threads = options->threads;
    l.trainer.team = options->team;
    split(&l, STAGE_NETWORKS);
    l.goes_on = l.apart_count > 0;
    l.identity = identity_of(data, options);
    training_place at = {0, 0};
    if (options->checkpoint)
        checkpoint_read(options->checkpoint, &l.trainer, &l.residuals, &l.identity, &at, a, f);
    if (options->ready && !options->ready(options->context))
        return NULL;
    int stage = at.stage, epoch = at.epoch;
    if (stage > 0 || epoch > 0)
        for (int done = 0; done <= stage; done++)
            l.residuals.resumed_at += done < stage ? epochs_of(&l, (learn_stage)done) : epoch;
    const forests_watch watch = {options->growing, options->context, options->stop};
    for (; stage < STAGE_COUNT; stage++, epoch = 0) {
        split(&l, (learn_stage)stage);
        bool has_networks = l.seen.network_count > 0 || stage < STAGE_FAMILIES || stage > STAGE_FAMILIES_4;
        if (keeps_apart((learn_stage)stage) && (l.apart_count == 0 || !has_networks))
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
