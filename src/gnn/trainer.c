/* trainer.c: steps with Adam over shards, and epochs. */
#include "gnn/trainer.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 16384 }; /* parameters that a thread updates at a time */

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static bool has_role(const gnn_set *s, const gnn_example *e, uint32_t roles)
{
    for (int32_t r = 0; r < e->row_count; r++)
        if (roles >> s->roles[e->first_row + r] & 1)
            return true;
    return false;
}

void gnn_trainer_init(gnn_trainer *t, const gnn_set *set, const gnn_options *o, size_t threads, const team *team,
                      arena *a)
{
    *t = (gnn_trainer){.options = *o,
                       .layout = gnn_layout_of(o->kind, o->hidden),
                       .set = set,
                       .best_error = INFINITY,
                       .threads = threads,
                       .team = team,
                       .fail = a->fail};
    size_t count = t->layout.count;
    gnn_set_scaling(set, &t->scaling);
    float **const arrays[] = {&t->params, &t->transposed, &t->first_moment, &t->second_moment, &t->best};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = ARENA_ARRAY(a, float, count);
    for (int s = 0; s < GNN_SHARDS; s++)
        t->gradients[s] = ARENA_ARRAY(a, float, count);
    gnn_layout_fill(&t->layout, o->seed, t->params);
    memcpy(t->best, t->params, count * sizeof *t->params);
    t->order = ARENA_ARRAY(a, int32_t, (size_t)set->examples.count + 1);
    for (int32_t i = 0; i < set->examples.count; i++)
        if (has_role(set, &set->examples.items[i], 1U << GNN_TRAIN))
            t->order[t->order_count++] = i;
    t->fails = ARENA_ARRAY(a, fail, GNN_SHARDS);
    t->errors = ARENA_ARRAY(a, sooth_error, GNN_SHARDS);
    t->pools = ARENA_ARRAY(a, gnn_pool, GNN_SHARDS);
    for (int s = 0; s < GNN_SHARDS; s++) {
        t->fails[s].error = &t->errors[s];
        t->pools[s].fail = &t->fails[s];
    }
}

void gnn_trainer_free(gnn_trainer *t)
{
    for (int s = 0; s < GNN_SHARDS && t->pools; s++)
        gnn_pool_free(&t->pools[s]);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Makes the batch of the examples with their labels of the given roles. `seed` is that of dropout. */
static gnn_batch batch_of(const gnn_set *set, const gnn_scaling *scaling, const int32_t *examples, size_t count,
                          uint32_t roles, uint64_t seed, gnn_pool *pool)
{
    const gnn_graph **graphs = gnn_pool_take(pool, count + 1, sizeof(void *));
    const gnn_row *const **lists = gnn_pool_take(pool, count + 1, sizeof(void *));
    int32_t *counts = gnn_pool_take(pool, count + 1, sizeof *counts);
    uint64_t *seeds = gnn_pool_take(pool, count + 1, sizeof *seeds);
    for (size_t i = 0; i < count; i++) {
        const gnn_example *e = &set->examples.items[examples[i]];
        const gnn_row **rows = gnn_pool_take(pool, (size_t)e->row_count + 1, sizeof(void *));
        uint64_t state = seed + (uint64_t)examples[i] * 0x9e3779b97f4a7c15u;
        counts[i] = 0;
        for (int32_t r = e->first_row; r < e->first_row + e->row_count; r++)
            if (roles >> set->roles[r] & 1)
                rows[counts[i]++] = &set->rows.items[r];
        graphs[i] = &e->graph;
        lists[i] = rows;
        seeds[i] = gnn_random(&state);
    }
    const gnn_batch_source source = {.graphs = graphs,
                                     .row_lists = lists,
                                     .row_counts = counts,
                                     .seeds = seeds,
                                     .graph_count = (int32_t)count,
                                     .settings = (const float(*)[GNN_SETTINGS])set->setting_inputs,
                                     .scaling = scaling};
    return gnn_batch_of(&source, pool);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

typedef struct step {
    gnn_trainer *trainer;
    int32_t shards[GNN_SHARDS][GNN_MOST_GRAPHS];
    int32_t counts[GNN_SHARDS];
    int first, end; /* shards of this process */
    gnn_loss loss;
    uint64_t seed;
    double losses[GNN_SHARDS];
    double rate, first_correction, second_correction;
} step;

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Distributes graphs, largest first, each to the shard with the fewest nodes. */
static void divide(step *s, const int32_t *examples, int32_t count)
{
    int64_t sizes[GNN_MOST_GRAPHS][2], nodes[GNN_SHARDS] = {0};
    for (int32_t i = 0; i < count; i++) {
        sizes[i][0] = s->trainer->set->examples.items[examples[i]].graph.node_count;
        sizes[i][1] = examples[i];
    }
    qsort(sizes, (size_t)count, sizeof *sizes, by_size);
    for (int32_t i = 0; i < count; i++) {
        int least = 0;
        for (int k = 1; k < GNN_SHARDS; k++)
            least = nodes[k] < nodes[least] ? k : least;
        nodes[least] += sizes[i][0] + 1;
        s->shards[least][s->counts[least]++] = (int32_t)sizes[i][1];
    }
}

static int64_t known_labels(const gnn_trainer *t, const int32_t *examples, int32_t count)
{
    int64_t known = 0;
    for (int32_t i = 0; i < count; i++) {
        const gnn_example *e = &t->set->examples.items[examples[i]];
        for (int32_t r = e->first_row; r < e->first_row + e->row_count; r++)
            for (int o = 0; o < GNN_OUTPUTS; o++)
                known += t->set->roles[r] == GNN_TRAIN && !isnan(t->set->rows.items[r].target[o]);
    }
    return known;
}

static void run_shard(void *context, size_t item, size_t worker)
{
    step *s = context;
    gnn_trainer *t = s->trainer;
    size_t shard = (size_t)s->first + item;
    (void)worker;
    t->errors[shard].code = SOOTH_OK;
    if (setjmp(t->fails[shard].jump))
        return;
    memset(t->gradients[shard], 0, t->layout.count * sizeof(float));
    s->losses[shard] = 0;
    if (!s->counts[shard])
        return;
    gnn_pool *pool = &t->pools[shard];
    gnn_pool_reset(pool);
    const gnn_network net = {t->layout, t->params, t->transposed};
    gnn_batch b =
        batch_of(t->set, &t->scaling, s->shards[shard], (size_t)s->counts[shard], 1U << GNN_TRAIN, s->seed, pool);
    s->losses[shard] = gnn_pass_gradient(&net, &b, &s->loss, pool, t->gradients[shard], NULL);
}

static void check_shards(const gnn_trainer *t)
{
    for (int i = 0; i < GNN_SHARDS; i++)
        if (t->errors[i].code != SOOTH_OK)
            fail_with(t->fail, t->errors[i].code, "%s", t->errors[i].message);
}

/* Adds shards from `at` on pairwise into the first of them: ((0 + 1) + (2 + 3)) + … */
static void add_pairs(float *const *gradients, int count, size_t from, size_t end)
{
    for (int apart = 1; apart < count; apart *= 2)
        for (int i = 0; i + apart < count; i += 2 * apart)
            for (size_t k = from; k < end; k++)
                gradients[i][k] += gradients[i + apart][k];
}

static void transpose_one(void *context, size_t item, size_t worker)
{
    const gnn_trainer *t = context;
    (void)worker;
    gnn_layout_transpose(&t->layout, item, t->params, t->transposed);
}

static void transpose_all(gnn_trainer *t)
{
    size_t count = 0;
    gnn_matrix m;
    char name[32];
    while (gnn_layout_matrix(&t->layout, count, &m, name))
        count++;
    parallel_for(count, t->threads, transpose_one, t);
}

static void update_piece(void *context, size_t item, size_t worker)
{
    const step *s = context;
    const gnn_trainer *t = s->trainer;
    size_t from = item * PIECE, end = from + PIECE < t->layout.count ? from + PIECE : t->layout.count;
    (void)worker;
    if (!t->team)
        add_pairs(t->gradients, GNN_SHARDS, from, end);
    const float *gradient = t->gradients[0];
    const float keep1 = 0.9F, keep2 = 0.999F, small = 1e-8F;
    float rate = (float)(s->rate / s->first_correction), root = (float)(1 / s->second_correction);
    for (size_t k = from; k < end; k++) {
        t->first_moment[k] = keep1 * t->first_moment[k] + (1 - keep1) * gradient[k];
        t->second_moment[k] = keep2 * t->second_moment[k] + (1 - keep2) * gradient[k] * gradient[k];
        t->params[k] -= rate * t->first_moment[k] / (sqrtf(t->second_moment[k] * root) + small);
    }
}

static void update(step *s)
{
    gnn_trainer *t = s->trainer;
    const gnn_options *o = &t->options;
    int64_t steps = (int64_t)o->epochs * ((t->order_count + o->graphs - 1) / o->graphs);
    s->rate = o->is_linear ? o->rate * (1 - (double)t->step / (double)steps) : o->rate;
    t->step++;
    s->first_correction = 1 - pow(0.9, (double)t->step);
    s->second_correction = 1 - pow(0.999, (double)t->step);
    parallel_for((t->layout.count + PIECE - 1) / PIECE, t->threads, update_piece, s);
}

/* ---- several processes ------------------------------------------------------------------------------------------- */

/* Size of the largest block of shards that begins at `at`, ends by `end`, and is a subtree of the pairwise sum. */
static int subtree(int at, int end)
{
    int size = 1;
    while (at % (2 * size) == 0 && at + 2 * size <= end && 2 * size <= GNN_SHARDS)
        size *= 2;
    return size;
}

/* Each process adds the subtrees of its shards and sends them to process 0, which adds the rest in the same order as
 * one process would, and shares the sum and the loss. */
static void exchange(step *s)
{
    gnn_trainer *t = s->trainer;
    const team *all = t->team;
    size_t count = t->layout.count;
    for (int rank = 0; rank < all->size; rank++) {
        int end = team_first(all, rank + 1, GNN_SHARDS);
        for (int at = team_first(all, rank, GNN_SHARDS), size; at < end; at += size) {
            size = subtree(at, end);
            if (rank == all->rank)
                add_pairs(t->gradients + at, size, 0, count);
            if (rank && rank == all->rank)
                all->send(all->context, t->gradients[at], count * sizeof(float));
            if (rank && !all->rank) {
                bytes got = {0};
                if (!all->receive(all->context, rank, &got) || got.size != count * sizeof(float)) {
                    free(got.data);
                    fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for the gradients of process %d", rank);
                }
                memcpy(t->gradients[at], got.data, got.size);
                free(got.data);
            }
            for (int i = at + 1; i < at + size && !all->rank; i++)
                memset(t->gradients[i], 0, count * sizeof(float));
        }
    }
    if (!team_gather(all, s->losses, GNN_SHARDS, sizeof *s->losses))
        fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for the losses of a step");
    if (!all->rank)
        add_pairs(t->gradients, GNN_SHARDS, 0, count);
    all->share(all->context, t->gradients[0], count * sizeof(float));
    all->share(all->context, s->losses, sizeof s->losses);
}

static double run_step(gnn_trainer *t, const int32_t *examples, int32_t count, int64_t *labels)
{
    step s = {.trainer = t, .first = 0, .end = GNN_SHARDS};
    *labels = known_labels(t, examples, count);
    s.loss = (gnn_loss){t->options.huber, t->options.dropout, 1 / (double)*labels};
    s.seed = t->options.seed * 0xd1342543de82ef95u + (uint64_t)t->step;
    s.seed = gnn_random(&s.seed);
    if (t->team) {
        s.first = team_first(t->team, t->team->rank, GNN_SHARDS);
        s.end = team_first(t->team, t->team->rank + 1, GNN_SHARDS);
    }
    divide(&s, examples, count);
    transpose_all(t);
    parallel_for((size_t)(s.end - s.first), t->threads, run_shard, &s);
    check_shards(t);
    if (t->team)
        exchange(&s);
    update(&s);
    double loss = 0;
    for (int i = 0; i < GNN_SHARDS; i++)
        loss += s.losses[i];
    return loss;
}

double gnn_trainer_epoch(gnn_trainer *t, const gnn_watch *watch)
{
    int32_t at_once = t->options.graphs;
    uint64_t random = t->options.seed ^ (uint64_t)(t->epoch + 1) * 0x9e3779b97f4a7c15u;
    int32_t *order = t->order;
    double sum = 0;
    int64_t labels = 0, all = 0, done = 0, steps = (t->order_count + at_once - 1) / at_once;
    /* Restores the order of the set before shuffling, so that epochs are independent. */
    for (int32_t i = 0, n = 0; i < t->set->examples.count; i++)
        if (has_role(t->set, &t->set->examples.items[i], 1U << GNN_TRAIN))
            order[n++] = i;
    for (int32_t i = t->order_count - 1; i > 0; i--) {
        int32_t k = (int32_t)(gnn_random(&random) % (uint64_t)(i + 1)), moved = order[i];
        order[i] = order[k];
        order[k] = moved;
    }
    for (int32_t at = 0; at < t->order_count; at += at_once) {
        int32_t count = t->order_count - at < at_once ? t->order_count - at : at_once;
        sum += run_step(t, order + at, count, &labels) * (double)labels;
        all += labels;
        if (watch && watch->progress)
            watch->progress(watch->context, ++done, steps);
        if (watch && watch->stop && *watch->stop)
            break;
    }
    t->epoch++;
    return all ? sum / (double)all : 0;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

enum { EVALUATED_AT_ONCE = 16 };

typedef struct evaluating {
    const gnn_evaluated *of;
    const int32_t *examples;
    size_t count;
    float *outputs;
    gnn_pool *pools; /* by worker */
} evaluating;

/* A separate function, because it calls setjmp. */
static bool evaluate_piece(const evaluating *e, const int32_t *examples, size_t count, gnn_pool *pool, bytes *result)
{
    sooth_error error;
    fail f = {.error = &error};
    pool->fail = &f;
    if (setjmp(f.jump))
        return false;
    gnn_pool_reset(pool);
    gnn_batch b = batch_of(e->of->set, e->of->scaling, examples, count, e->of->roles, 0, pool);
    float *outputs = gnn_pool_floats(pool, (size_t)b.row_count * GNN_OUTPUTS + 1);
    gnn_pass_forward(&e->of->net, &b, pool, outputs);
    for (size_t i = 0; i < (size_t)b.row_count * GNN_OUTPUTS; i++)
        outputs[i] += e->of->scaling->centre[i % GNN_OUTPUTS];
    bytes_add(result, outputs, (size_t)b.row_count * GNN_OUTPUTS * sizeof *outputs);
    return true;
}

static void compute_piece(void *context, size_t item, size_t worker, bytes *result)
{
    const evaluating *e = context;
    size_t from = item * EVALUATED_AT_ONCE, left = e->count - from;
    size_t count = left < EVALUATED_AT_ONCE ? left : EVALUATED_AT_ONCE;
    if (!evaluate_piece(e, e->examples + from, count, &e->pools[worker], result))
        result->failed = true;
}

static bool consume_piece(void *context, size_t item, str result)
{
    evaluating *e = context;
    const gnn_set *set = e->of->set;
    size_t from = item * EVALUATED_AT_ONCE, at = 0;
    for (size_t i = from; i < from + EVALUATED_AT_ONCE && i < e->count; i++) {
        const gnn_example *x = &set->examples.items[e->examples[i]];
        for (int32_t r = x->first_row; r < x->first_row + x->row_count; r++) {
            if (!(e->of->roles >> set->roles[r] & 1))
                continue;
            size_t size = GNN_OUTPUTS * sizeof(float);
            if (at + size > result.len)
                return false; /* out of memory */
            memcpy(e->outputs + (size_t)r * GNN_OUTPUTS, result.ptr + at, size);
            at += size;
        }
    }
    return true;
}

void gnn_evaluate(const gnn_evaluated *of, float *outputs, fail *f)
{
    const gnn_set *set = of->set;
    evaluating e = {.of = of, .outputs = outputs};
    int32_t *examples = calloc((size_t)set->examples.count + 1, sizeof *examples);
    e.pools = calloc(of->threads + 1, sizeof *e.pools);
    bool is_done = examples && e.pools;
    for (size_t i = 0; i < (size_t)set->rows.count * GNN_OUTPUTS; i++)
        outputs[i] = NAN;
    for (int32_t i = 0; i < set->examples.count && is_done; i++)
        if (has_role(set, &set->examples.items[i], of->roles))
            examples[e.count++] = i;
    e.examples = examples;
    if (is_done)
        is_done = ordered_run(&(ordered_job){.end = (e.count + EVALUATED_AT_ONCE - 1) / EVALUATED_AT_ONCE,
                                             .threads = of->threads,
                                             .team = of->team,
                                             .context = &e,
                                             .compute = compute_piece,
                                             .consume = consume_piece});
    for (size_t i = 0; e.pools && i <= of->threads; i++)
        gnn_pool_free(&e.pools[i]);
    free(e.pools);
    free(examples);
    if (!is_done)
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory");
    if (of->team)
        of->team->share(of->team->context, outputs, (size_t)set->rows.count * GNN_OUTPUTS * sizeof *outputs);
}

double gnn_trainer_validate(gnn_trainer *t, arena *scratch)
{
    const gnn_set *set = t->set;
    arena_mark mark = arena_marked(scratch);
    float *outputs = ARENA_ARRAY(scratch, float, (size_t)set->rows.count *GNN_OUTPUTS + 1);
    const gnn_evaluated of = {.set = set,
                              .scaling = &t->scaling,
                              .net = {t->layout, t->params, NULL},
                              .roles = 1U << GNN_VALIDATE,
                              .threads = t->threads,
                              .team = t->team};
    gnn_evaluate(&of, outputs, t->fail);
    double sum = 0, count = 0;
    for (int32_t r = 0; r < set->rows.count; r++)
        for (int o = 0; o < GNN_OUTPUTS && set->roles[r] == GNN_VALIDATE; o++)
            if (!isnan(set->rows.items[r].target[o])) {
                sum +=
                    fabs((double)outputs[(size_t)r * GNN_OUTPUTS + (size_t)o] - (double)set->rows.items[r].target[o]);
                count++;
            }
    arena_rewind(scratch, mark);
    double error = count > 0 ? sum / count : INFINITY;
    if (error < t->best_error) {
        t->best_error = error;
        t->best_epoch = t->epoch;
        memcpy(t->best, t->params, t->layout.count * sizeof *t->best);
    }
    return error;
}

/* ---- for tests --------------------------------------------------------------------------------------------------- */

gnn_probe gnn_trainer_probe(gnn_trainer *t, int32_t graphs)
{
    int32_t count = t->order_count < graphs ? t->order_count : graphs;
    gnn_pool *pool = &t->pools[0];
    const gnn_network net = {t->layout, t->params, t->transposed};
    gnn_probe p = {.gradient = t->gradients[0]};
    if (setjmp(t->fails[0].jump))
        fail_with(t->fail, t->errors[0].code, "%s", t->errors[0].message);
    transpose_all(t);
    gnn_pool_reset(pool);
    memset(p.gradient, 0, t->layout.count * sizeof *p.gradient);
    p.batch = batch_of(t->set, &t->scaling, t->order, (size_t)count, 1U << GNN_TRAIN, 0, pool);
    p.outputs = gnn_pool_floats(pool, (size_t)p.batch.row_count * GNN_OUTPUTS + 1);
    const gnn_loss loss = {t->options.huber, 0, 1 / (double)known_labels(t, t->order, count)};
    p.loss = gnn_pass_gradient(&net, &p.batch, &loss, pool, p.gradient, p.outputs);
    return p;
}
