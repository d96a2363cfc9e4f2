/* learn_test.c: training: products against plain loops, gradients against differences, equal results from equal
 * seeds, and files that are not weights. */
#include "learn/checkpoint.h"
#include "learn/learn.h"
#include "predict/matrix.h"
#include "predict/weights_order.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 75 }; /* rows, columns and depth of a product */

/* Adds the product of `m` to `expected`, by its definition. Step k of the depth is picks[k]; NULL: k. */
static void add_product(float *expected, const matrix_product *m, const uint16_t *picks)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t k = 0; k < m->depth; k++) {
            size_t step = picks ? picks[k] : k;
            for (size_t j = 0; j < m->columns; j++)
                expected[i * MOST + j] += m->a[i * m->a_row + step * m->a_step] * m->b[step * MOST + j];
        }
}

static void products(void **state)
{
    (void)state;
    static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], expected[MOST * MOST];
    for (int i = 0; i < MOST * MOST; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
        b[i] = (float)(i * 5 % 11 - 5);
    }
    const size_t sizes[][3] = {{1, 1, 1}, {6, 32, 4}, {7, 33, 5}, {75, 75, 75}, {5, 64, 9}, {12, 31, 3}, {3, 70, 0}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int turned = 0; turned < 2; turned++) {
            size_t rows = sizes[s][0], columns = sizes[s][1], depth = sizes[s][2];
            for (size_t i = 0; i < MOST * MOST; i++)
                c[i] = expected[i] = (float)(i % 3);
            matrix_product m = {rows, columns, depth, a, turned ? 1 : MOST, turned ? MOST : 1, b, MOST, c, MOST, NULL};
            matrix_multiply_add(&m);
            add_product(expected, &m, NULL);
            assert_memory_equal(c, expected, sizeof c); /* small integers: exact in any order of summation */
            uint16_t picks[MOST];                       /* every second one, from the last on */
            m.depth = depth / 2;
            for (size_t k = 0; k < m.depth; k++)
                picks[k] = (uint16_t)(depth - 1 - 2 * k);
            matrix_multiply_picked(&m, picks);
            add_product(expected, &m, picks);
            assert_memory_equal(c, expected, sizeof c);
        }
}

/* ---- a data set of made-up kernels ------------------------------------------------------------------------------- */

enum { EXAMPLES = 24, KERNELS = 5 };

typedef struct made {
    fail fail;
    sooth_error error;
    arena arena;
    dataset data;
    measured_row rows[EXAMPLES];
    sample samples[EXAMPLES][KERNELS];
    sample_chain chains[EXAMPLES][1];
    sample_program programs[EXAMPLES];
} made;

/* A device on which FLOPs and bytes equal microseconds. */
static const device_view ONE_A_MICROSECOND = {
    .sms = 1, .bandwidth_b_s = 1e6, .vector_flops = 1e6, .threads_per_sm = 128};

static void set_work(made *m, sample *s, const work *w)
{
    kernel_number number;
    assert_true(kernels_add(m->data.kernels, w, 1, &number));
    s->work = number.work;
    s->place = number.place;
}

static void unmake(made *m)
{
    dataset_free(&m->data);
    arena_free(&m->arena);
}

static float pseudo(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / (float)(1 << 24);
}

static void make(made *m)
{
    memset(m, 0, sizeof *m);
    m->fail.error = &m->error;
    arena_init(&m->arena, &m->fail, (size_t)1 << 28);
    dataset *d = &m->data;
    d->kernels = kernels_new();
    assert_non_null(d->kernels);
    size_t floats = (size_t)WORK_GROUP_COUNT * FEATURE_COUNT;
    d->mean = ARENA_ARRAY(&m->arena, float, floats);
    d->scale = ARENA_ARRAY(&m->arena, float, floats);
    d->low = ARENA_ARRAY(&m->arena, float, floats);
    d->high = ARENA_ARRAY(&m->arena, float, floats);
    for (size_t i = 0; i < floats; i++)
        d->scale[i] = i % FEATURE_COUNT < WORK_FEATURES, d->high[i] = 1, d->low[i] = -1;
    for (int i = 0; i < UNKNOWN_STACKS; i++)
        d->stacks[i] = STR("unknown");
    d->gpus[0] = STR("unknown");
    d->stacks[UNKNOWN_STACKS] = STR("pt2.4-cu124");
    d->gpus[1] = STR("a100-sxm4-40gb");
    d->stack_count = UNKNOWN_STACKS + 1;
    d->gpu_count = 2;
    d->op_seen = ARENA_ARRAY(&m->arena, uint32_t, (size_t)aten_number_count());
    d->gpu_ops = ARENA_ARRAY(&m->arena, uint32_t, MAX_GPUS * net_op_words(aten_number_count()));
    d->items = ARENA_ARRAY(&m->arena, example, EXAMPLES);
    d->count = EXAMPLES;
    uint32_t seed = 7;
    for (int i = 0; i < EXAMPLES; i++) {
        example *e = &d->items[i];
        m->rows[i] = (measured_row){
            .name = STR("net"), .graph = STR("net.onnx"), .gpu = STR("a100-sxm4-40gb"), .family = STR("made")};
        sample_program *program = &m->programs[i];
        *program = (sample_program){.samples = m->samples[i],
                                    .sample_count = KERNELS,
                                    .chains = m->chains[i],
                                    .chain_count = 1,
                                    .graph = (uint64_t)i + 1};
        m->chains[i][0] = (sample_chain){.chain = (uint32_t)(i / 3), .share = 1};
        *e = (example){.program = program,
                       .stack = UNKNOWN_STACKS,
                       .unknown_stack = net_unknown_stack(RUNTIME_EAGER),
                       .gpu = 1,
                       .row = &m->rows[i],
                       .view = &ONE_A_MICROSECOND,
                       .weight = 1};
        e->architecture = (uint64_t)i * 1000;
        for (int k = 0; k < KERNELS; k++) {
            sample *s = &m->samples[i][k];
            work w = {.group = (work_group)(k * 3 % WORK_GROUP_COUNT),
                      .op = (int16_t)(1 + k),
                      .kin = (uint32_t)(i * 10 + k),
                      .count = 1 + k,
                      .flops = 20 * pseudo(&seed)};
            w.bytes = 20 * pseudo(&seed);
            for (int j = 0; j < WORK_FEATURES; j++)
                w.features[j] = 2 * pseudo(&seed) - 1;
            set_work(m, s, &w);
            e->latency_us += (float)w.count * ((float)w.flops * 2 + (float)w.bytes + 3);
            program->host_count[w.group] += (float)w.count;
        }
        /* KERNELS groups in ascending order: 0, 3, 6 … */
        for (int g = 0; g <= WORK_GROUP_COUNT; g++)
            program->first_of_group[g] = g == 0 ? 0 : (g + 2) / 3 < KERNELS ? (g + 2) / 3 : KERNELS;
    }
}

static double loss_at(trainer *t, made *m, const int32_t *order)
{
    float errors[EXAMPLES];
    memcpy(t->average, t->params, t->net.at.count * sizeof(float));
    trainer_errors(t, &m->data, order, EXAMPLES, errors, NULL);
    double loss = 0;
    for (int i = 0; i < EXAMPLES; i++)
        loss += (sqrt(1 + pow(errors[i] / t->huber, 2)) - 1) * t->huber;
    return loss / EXAMPLES;
}

static void slopes(void **state)
{
    (void)state;
    static made m;
    make(&m);
    trainer t;
    trainer_init(&t, &m.data, 3, &m.arena);
    t.unknown_stack = t.unknown_gpu = t.unknown_op = t.decay = 0;
    t.huber = 0.3;
    static batch all;
    int32_t *order = all.order;
    for (all.count = 0; all.count < EXAMPLES; all.count++)
        order[all.count] = all.count;
    dataset_seen(&m.data, &(lists){.networks = order, .network_count = EXAMPLES});
    size_t count = t.net.at.count;
    float *start = ARENA_ARRAY(&m.arena, float, count);
    memcpy(start, t.params, count * sizeof *start);
    trainer_step(&t, &m.data, &all, 0); /* a rate of 0 leaves parameters and gradient unchanged */
    assert_memory_equal(start, t.params, count * sizeof *start);
    int checked = 0;
    for (size_t i = 0; i < count; i += 131) {
        double slope = 0;
        for (int s = 0; s < SHARDS; s++)
            slope += t.gradients[(size_t)s * count + i];
        slope /= EXAMPLES;
        const float step = 2e-2F;
        t.params[i] = start[i] + step;
        double above = loss_at(&t, &m, order);
        t.params[i] = start[i] - step;
        double below = loss_at(&t, &m, order);
        t.params[i] = start[i];
        double difference = (above - below) / (2 * step);
        if (fabs(difference) < 1e-5)
            continue;
        checked++;
        if (fabs(slope - difference) > 0.05 * fabs(difference) + 2e-5)
            fail_msg("parameter %zu: slope %g, difference %g", i, slope, difference);
    }
    assert_true(checked > 50);
    unmake(&m);
}

/* Predictions in microseconds for two unmeasured examples, the second with twice the batch of the first. */
static void say_pair(trainer *t, made *m, double us[2])
{
    float errors[2];
    const int32_t pair[2] = {EXAMPLES - 2, EXAMPLES - 1};
    for (int i = 0; i < 2; i++) {
        m->data.items[pair[i]].is_unmeasured = false;
        m->data.items[pair[i]].latency_us = 1;
    }
    trainer_errors(t, &m->data, pair, 2, errors, NULL);
    for (int i = 0; i < 2; i++) {
        m->data.items[pair[i]].is_unmeasured = true;
        us[i] = exp((double)errors[i]);
    }
}

static void halves_take_less(void **state)
{
    (void)state;
    static made m;
    make(&m);
    m.data.count = EXAMPLES - 2;
    m.data.pair_count = 1;
    for (int k = 0; k < KERNELS; k++) { /* as if a half took five times as long */
        for (int whole = 0; whole < 2; whole++) {
            sample *s = &m.samples[EXAMPLES - 2 + whole][k];
            work w;
            kernels_get(m.data.kernels, (kernel_number){s->work, s->place}, &w);
            w.flops = w.bytes = whole ? 100 : 500;
            set_work(&m, s, &w);
        }
    }
    trainer t;
    trainer_init(&t, &m.data, 3, &m.arena);
    static batch b;
    for (b.count = 0; b.count < EXAMPLES - 2; b.count++)
        b.order[b.count] = b.count;
    int32_t pairs[1] = {EXAMPLES - 2};
    dataset_seen(&m.data, &(lists){.networks = b.order, .network_count = b.count, .pairs = pairs, .pair_count = 1});
    b.pairs[0] = pairs[0];
    b.pair_count = 1;
    double before[2], after[2];
    say_pair(&t, &m, before);
    assert_true(before[0] > 3 * before[1]);
    m.data.items[EXAMPLES - 2].is_unmeasured = m.data.items[EXAMPLES - 1].is_unmeasured = true;
    double loss = 0;
    for (int step = 0; step < 400; step++)
        loss = trainer_step(&t, &m.data, &b, 3e-3);
    say_pair(&t, &m, after);
    assert_true(after[0] < after[1]);
    assert_true(isfinite(loss) && loss < 0.3); /* the measured examples are learned as well */
    unmake(&m);
}

/* Works are stored unchanged; equal ones share a number, and cached inputs are stored separately. */
static void works_are_kept(void **state)
{
    (void)state;
    enum { WORKS = 3000 };
    kernel_store *store = kernels_new();
    assert_non_null(store);
    static work works[WORKS];
    static kernel_number numbers[WORKS], again[WORKS];
    uint32_t seed = 3;
    for (int i = 0; i < WORKS; i++) {
        work *w = &works[i];
        *w = (work){.group = (work_group)(i % WORK_GROUP_COUNT),
                    .op = (int16_t)(i % 200),
                    .kin = (uint32_t)i * 77u,
                    .count = 1 + i % 9,
                    .product_dtype = (uint8_t)(i % 20),
                    .is_unknown = i % 7 == 0};
        double *const doubles[] = {&w->flops,   &w->macs, &w->bytes,   &w->weight_bytes, &w->elements, &w->operands,
                                   &w->threads, w->gemm,  w->gemm + 1, w->gemm + 2,      w->gemm + 3};
        for (size_t k = 0; k < sizeof doubles / sizeof *doubles; k++)
            *doubles[k] = i % 3 ? (double)pseudo(&seed) * 1e18 : (double)(i * (int)k);
        for (int k = 0; k < WORK_FEATURES; k++)
            w->features[k] = k % 4 ? pseudo(&seed) - 0.5F : i % 5 ? 0 : -0.0F;
        for (int k = 0; k < 2; k++)
            w->reuse[k] = i % 2 ? w->features[WORK_REUSE + k] : pseudo(&seed);
    }
    assert_true(kernels_add(store, works, WORKS, numbers) && kernels_add(store, works, WORKS, again));
    assert_memory_equal(numbers, again, sizeof numbers);
    work elsewhere = works[1];
    kernel_number other;
    for (int k = 0; k < 2; k++)
        elsewhere.reuse[k] = elsewhere.features[WORK_REUSE + k] = 3.5F;
    assert_true(kernels_add(store, &elsewhere, 1, &other));
    assert_true(other.work == numbers[1].work && other.place != numbers[1].place);
    kernels_close(store);
    for (int i = 0; i < WORKS; i++) {
        work out;
        memset(&out, 0, sizeof out);
        kernels_get(store, numbers[i], &out);
        assert_memory_equal(&out, &works[i], sizeof out);
        kernel_head head = kernels_head(store, numbers[i].work);
        assert_true(head.kin == works[i].kin && head.op == works[i].op && head.group == works[i].group);
    }
    kernels_free(store);
}

/* ---- the whole of it --------------------------------------------------------------------------------------------- */

static const void *learn_small(made *m, const char *checkpoint, const volatile int *stop, size_t *size)
{
    learn_options options = {.seed = 5,
                             .epochs = 6,
                             .patience = 9,
                             .rate = 1e-3,
                             .networks = 8,
                             .operators = 8,
                             .threads = 2,
                             .checkpoint = checkpoint,
                             .stop = stop};
    if (setjmp(m->fail.jump))
        fail_msg("%s", m->error.message);
    return learn(&m->data, &options, size, &m->arena, &m->fail);
}

static void fixed_times_are_bounded(void **state)
{
    (void)state;
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        double most_us = net_bounds((work_group)g).fixed_us;
        assert_true(fabs(net_fixed_us(0, most_us) - FIXED_US) < 1e-9);
        assert_true(net_fixed_us(50, most_us) <= most_us && net_fixed_us(50, most_us) > 0.99 * most_us);
        assert_true(net_fixed_us(-50, most_us) > 0 && net_fixed_us(-50, most_us) < 0.01);
        double rise = (net_fixed_us(1.01F, most_us) - net_fixed_us(0.99F, most_us)) / 0.02;
        assert_true(fabs(net_fixed_slope_us(net_fixed_us(1, most_us), most_us) / rise - 1) < 1e-3);
    }
}

static void same_again(void **state)
{
    (void)state;
    static made m, n;
    make(&m);
    make(&n);
    size_t size, other_size;
    const void *bytes = learn_small(&m, NULL, NULL, &size), *other = learn_small(&n, NULL, NULL, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other, size);
    if (setjmp(m.fail.jump) == 0) {
        const predictor *p = predictor_read((str){bytes, size}, "", &m.arena, &m.fail);
        weights_view v;
        weights_open(p, &v);
        int eager = net_unknown_stack(RUNTIME_EAGER), engine = net_unknown_stack(RUNTIME_ENGINE);
        assert_int_equal(net_stack_find(&v.net, STR("pt2.4-cu124"), eager, ANY_RUNTIME), UNKNOWN_STACKS);
        assert_int_equal(net_stack_find(&v.net, STR("pt2.5-cu126"), eager, ANY_RUNTIME),
                         UNKNOWN_STACKS); /* the nearest version */
        assert_int_equal(net_stack_find(&v.net, STR("pt1.9-cu111"), eager, ANY_RUNTIME), eager);
        /* Its networks ran in eager PyTorch only. */
        assert_int_equal(net_stack_find(&v.net, STR("pt2.4-cu124"), eager, RUNTIME_EAGER), UNKNOWN_STACKS);
        assert_int_equal(net_stack_find(&v.net, STR("pt2.4-cu124"), engine, RUNTIME_ENGINE), engine);
        assert_int_equal(net_gpu_find(&v.net, STR("t4")), UNKNOWN);
        /* Groups 0, 3, 6 … have kernels; no rows of an engine exist. */
        assert_int_equal(net_stack_in(&v.net, UNKNOWN_STACKS, engine, WORK_CONV), UNKNOWN_STACKS);
        assert_int_equal(net_stack_in(&v.net, engine, engine, WORK_CONV), eager);
        assert_int_equal(net_stack_in(&v.net, UNKNOWN_STACKS, engine, WORK_DEPTHWISE), UNKNOWN);
        assert_int_equal(net_gpu_in(&v.net, 1, WORK_CONV), 1);
        assert_int_equal(net_gpu_in(&v.net, 1, WORK_DEPTHWISE), UNKNOWN);
        assert_int_equal(net_host_gpu(&v.net, 1), 1);
        assert_int_equal(net_op(&v.net, 1), 1);
        assert_int_equal(net_op(&v.net, KERNELS + 1), UNKNOWN);
        assert_true(number_list_has(&v.seen, 11) && !number_list_has(&v.seen, 5));
        assert_memory_not_equal(v.net.params, v.new_gpu.params, v.net.at.count * sizeof(float));
        for (size_t i = 0; i < v.net.at.count; i++) /* both were learned */
            assert_true(isfinite(v.net.params[i]) && isfinite(v.new_gpu.params[i]));
    } else {
        fail_msg("%s", m.error.message);
    }
    unmake(&m);
    unmake(&n);
}

/* A training that is stopped and resumed equals one that is not. */
static volatile int halt;
static int epochs_left;
static void count_epochs(void *context, const learn_report *r)
{
    (void)context;
    (void)r;
    if (--epochs_left == 0)
        halt = 1;
}

/* Training must refuse to resume from the file, and say why. */
static void refuse_checkpoint(made *m, const learn_options *options, const char *expected)
{
    size_t size;
    if (setjmp(m->fail.jump) == 0) {
        learn(&m->data, options, &size, &m->arena, &m->fail);
        fail_msg("went on from a checkpoint of another training: %s", expected);
    }
    assert_int_equal(m->error.code, SOOTH_ERROR_INPUT);
    if (!strstr(m->error.message, expected))
        fail_msg("'%s' does not say '%s'", m->error.message, expected);
}

/* Changes one byte, `from_end` bytes before the end of the file; a second call restores it. */
static void flip(const char *path, long from_end)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    int c = fgetc(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    fputc(c ^ 0x40, file);
    assert_int_equal(fclose(file), 0);
}

/* A checkpoint under another seed, rate, option or data is refused. */
static void refuse_to_go_on(made *m, learn_options options, const char *path)
{
    learn_options other = options;
    other.seed = 6;
    refuse_checkpoint(m, &other, "a training with --seed 5, not 6");
    other = options;
    other.rate = 2e-3;
    refuse_checkpoint(m, &other, "a training with --rate 0.001, not 0.002");
    other = options;
    other.epochs = 7;
    refuse_checkpoint(m, &other, "other options");
    other = options;
    other.leave_gpus = "t4";
    refuse_checkpoint(m, &other, "other options");
    m->data.identity ^= 1;
    refuse_checkpoint(m, &options, "the checkpoint belongs to a training on other rows");
    m->data.identity ^= 1;
    flip(path, 100);
    refuse_checkpoint(m, &options, "or damaged");
    flip(path, 100);
}

static void refuse_cut(made *m, const learn_options *options, const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - 8), 0);
    refuse_checkpoint(m, options, "or damaged");
    assert_int_equal(truncate(path, 50), 0);
    refuse_checkpoint(m, options, "or damaged");
    assert_int_equal(truncate(path, 10), 0);
    refuse_checkpoint(m, options, "this version cannot read the checkpoint");
}

static void goes_on(void **state)
{
    (void)state;
    static made m, n;
    make(&m);
    make(&n);
    char path[] = "/tmp/sooth-learn-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    size_t size, other_size;
    const void *whole = learn_small(&m, NULL, NULL, &size);
    learn_options options = {.seed = 5,
                             .epochs = 6,
                             .patience = 9,
                             .rate = 1e-3,
                             .networks = 8,
                             .operators = 8,
                             .threads = 2,
                             .checkpoint = path,
                             .stop = &halt,
                             .progress = count_epochs};
    epochs_left = 4;
    assert_null(learn(&n.data, &options, &other_size, &n.arena, &n.fail));
    halt = 0;
    refuse_to_go_on(&n, options, path);
    const void *resumed = learn(&n.data, &options, &other_size, &n.arena, &n.fail);
    assert_non_null(resumed);
    assert_int_equal(size, other_size);
    assert_memory_equal(whole, resumed, size);
    refuse_cut(&n, &options, path);
    unlink(path);
    unmake(&m);
    unmake(&n);
}

/* For new GPUs, builds of one framework are grouped by major version; others stay separate. */
static void major_versions(void **state)
{
    (void)state;
    const char *const names[] = {"pt2.x", "pt2.4-cu124", "pt1.13-cu117", "pt2.9.1-cu130", "vllm-0.22.0", "vllm-0.24.0"};
    static str stacks[MAX_STACKS];
    int count = UNKNOWN_STACKS;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        stacks[count++] = str_of(names[i]);
    const int expected[] = {0, 1, 2, 1, 4, 5};
    for (int i = UNKNOWN_STACKS; i < count; i++)
        assert_int_equal(net_stack_major(stacks, count, i) - UNKNOWN_STACKS, expected[i - UNKNOWN_STACKS]);
    assert_int_equal(net_stack_major(stacks, count, UNKNOWN), UNKNOWN);
}

static void refuse(made *m, const void *bytes, size_t size, const char *expected)
{
    if (setjmp(m->fail.jump) == 0) {
        predictor_read((str){bytes, size}, "w.bin: ", &m->arena, &m->fail);
        fail_msg("weights were taken that are none: %s", expected);
    }
    assert_int_equal(m->error.code, SOOTH_ERROR_INPUT);
    if (!strstr(m->error.message, expected))
        fail_msg("'%s' does not say '%s'", m->error.message, expected);
}

/* Files are little endian. */
static uint32_t in_file_order(uint32_t number)
{
    return WEIGHTS_TURNED ? __builtin_bswap32(number) : number;
}

static void set_checksum(char *file, size_t size)
{
    size_t after = offsetof(weights_header, checksum) + sizeof(uint32_t);
    uint32_t checksum = in_file_order(weights_checksum(file + after, size - after));
    memcpy(file + offsetof(weights_header, checksum), &checksum, sizeof checksum);
}

/* The same weights plus one tree that tests a feature, with a correct checksum. */
static void with_tree(made *m, const void *bytes, size_t size, uint8_t feature, forest f, const char *expected)
{
    size_t all = size + sizeof f + sizeof(forest_tree);
    char *copy = arena_alloc(&m->arena, all, 1);
    memcpy(copy, bytes, size - FOREST_EDGES_BYTES); /* there were no trees, so the edges come last */
    weights_header h;
    memcpy(&h, copy, sizeof h);
    weights_turn_header(&h);
    h.forest_count = h.tree_count = 1;
    h.bytes = (uint32_t)all;
    weights_turn_header(&h);
    memcpy(copy, &h, sizeof h);
    uint32_t words[sizeof f / sizeof(uint32_t)];
    static_assert(sizeof words == sizeof f, "a forest has words of 32 bits alone");
    memcpy(words, &f, sizeof f);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = in_file_order(words[i]);
    memcpy(copy + size - FOREST_EDGES_BYTES, words, sizeof words);
    copy[size + sizeof f] = (char)feature;
    set_checksum(copy, all);
    if (expected)
        refuse(m, copy, all, expected);
    else if (setjmp(m->fail.jump) == 0)
        assert_non_null(predictor_read((str){copy, all}, "", &m->arena, &m->fail));
    else
        fail_msg("%s", m->error.message);
}

/* The same weights with another number at `at`, with a correct checksum. */
static void with_number(made *m, const void *bytes, size_t size, size_t at, uint32_t number, const char *expected)
{
    char *copy = arena_copy(&m->arena, bytes, size, 1);
    number = in_file_order(number);
    memcpy(copy + at, &number, sizeof number);
    set_checksum(copy, size);
    refuse(m, copy, size, expected);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* For every kind of number in the file: NaN, infinite, absurd and unsorted numbers are refused. */
static void absurd_numbers(void **state)
{
    (void)state;
    static made m;
    make(&m);
    size_t size;
    const char *bytes = learn_small(&m, NULL, NULL, &size);
    if (setjmp(m.fail.jump) != 0)
        fail_msg("%s", m.error.message);
    const predictor *read = predictor_read((str){bytes, size}, "", &m.arena, &m.fail);
    const char *from = (const char *)read; /* in the machine's byte order: on big-endian machines, a copy of the file */
    weights_view v;
    weights_open(read, &v);
    const net_layout *at = &v.net.at;
    const float *const params[] = {v.net.params, v.new_gpu.params};
    const size_t logs[] = {at->stack_fixed, at->group_host, at->machine_host};
    for (int set = 0; set < 2; set++) {
        size_t first = (size_t)((const char *)params[set] - from);
        const size_t any[] = {0, at->stack_host, at->first[0], at->count - 1};
        for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
            with_number(&m, bytes, size, first + any[i] * 4, bits_of(NAN), "absurd or not finite");
            with_number(&m, bytes, size, first + any[i] * 4, bits_of(-INFINITY), "absurd or not finite");
            with_number(&m, bytes, size, first + any[i] * 4, bits_of(3e4F), "absurd or not finite");
        }
        for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
            with_number(&m, bytes, size, first + logs[i] * 4, bits_of(-20), "absurd or not finite");
    }
    size_t low = (size_t)((const char *)v.net.low - from),
           intervals = (size_t)((const char *)v.intervals.slopes - from);
    with_number(&m, bytes, size, low, bits_of(NAN), "feature ranges");
    with_number(&m, bytes, size, low, bits_of(1e5F), "feature ranges"); /* above the maximum */
    size_t multiples = (size_t)((const char *)v.intervals.multiples - from);
    with_number(&m, bytes, size, intervals, bits_of(-31), "intervals");
    with_number(&m, bytes, size, intervals, bits_of(NAN), "intervals");
    with_number(&m, bytes, size, multiples, bits_of(-1), "intervals");
    with_number(&m, bytes, size, multiples, bits_of(INFINITY), "intervals");
    with_number(&m, bytes, size, multiples, bits_of(999), "intervals"); /* above that of the next level */
    assert_true(v.seen.count > 1 && v.chains.count > 1 && v.graphs.count > 1);
    const number_list *const lists[] = {&v.seen, &v.chains, &v.graphs};
    for (int i = 0; i < 3; i++)
        with_number(&m, bytes, size, (size_t)((const char *)lists[i]->items - from), lists[i]->items[1], "not sorted");
    with_number(&m, bytes, size, (size_t)((const char *)v.forests.edges - from), bits_of(NAN), "trees");
    unmake(&m);
}

static void bad_weights(void **state)
{
    (void)state;
    static made m;
    make(&m);
    size_t size;
    const void *bytes = learn_small(&m, NULL, NULL, &size);
    char *copy = arena_copy(&m.arena, bytes, size, 1);
    refuse(&m, copy, 7, "not a file of weights");
    refuse(&m, "not weights at all, but long enough to be a header of some", 58, "not a file of weights");
    refuse(&m, copy, size - 4, "or damaged");
    copy[size / 2] ^= 1;
    refuse(&m, copy, size, "checksum");
    copy[size / 2] ^= 1;
    copy[offsetof(weights_header, version)] ^= 1;
    refuse(&m, copy, size, "this program reads version 9");
    copy[offsetof(weights_header, version)] ^= 1;
    copy[offsetof(weights_header, op_count) + 2] = 9;
    refuse(&m, copy, size, "other features");
    with_tree(&m, bytes, size, FOREST_WIDTH - 1, (forest){.count = 1}, NULL);
    with_tree(&m, bytes, size, FOREST_WIDTH, (forest){.count = 1}, "trees");
    with_tree(&m, bytes, size, 0, (forest){.first = 1, .count = 1}, "trees");
    with_tree(&m, bytes, size, 0, (forest){.kind = FOREST_GROUPS, .count = 1}, "trees");
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(slopes),
        cmocka_unit_test(works_are_kept),
        cmocka_unit_test(halves_take_less),
        cmocka_unit_test(fixed_times_are_bounded),
        cmocka_unit_test(same_again),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(bad_weights),
        cmocka_unit_test(absurd_numbers),
        cmocka_unit_test(major_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
