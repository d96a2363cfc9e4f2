/* learn.c: times a training step on made-up examples of the real shape: rows of networks with about 150 distinct
 * kernels, and ten times as many rows of single operators.
 *
 *     learn [SECONDS]
 *
 * Prints two lines. The first: steps; the fastest and the median step in milliseconds; the mean loss of the first
 * and the last step. The second is the shape, for bench/learn_torch.py: parameters; examples per step; numbers of
 * features, operators, stacks and GPUs; widths of their three vectors; then for each group its samples per step and
 * the units of its two layers. */
#include "learn/train.h"
#include "lower/aten.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    BATCHES = 4, /* batches that are used in turn */
    NETWORK_ROWS = 32,
    OPERATOR_ROWS = 320,
    EXAMPLES = NETWORK_ROWS + OPERATOR_ROWS,
    STACKS = 24,
    GPUS = 24,
    MAX_STEPS = 10000,
    LEAST_STEPS = 10,
};

/* Distinct kernels of a network row, about the mean of timm's inference and training rows. */
static const int NETWORK_KERNELS[WORK_GROUP_COUNT] = {
    [WORK_CONV] = 22,
    [WORK_DEPTHWISE] = 7,
    [WORK_GROUPED] = 2,
    [WORK_CONV_BACKWARD] = 14,
    [WORK_DEPTHWISE_BACKWARD] = 5,
    [WORK_PRODUCT] = 14,
    [WORK_ATTENTION] = 1,
    [WORK_NORM] = 26,
    [WORK_REDUCE] = 8,
    [WORK_POINTWISE] = 32,
    [WORK_MOVE] = 10,
    [WORK_WINDOW] = 2,
    [WORK_FUSED] = 1,
    [WORK_UPDATE] = 4,
    [WORK_OTHER] = 2,
};
/* The same for a hundred operator rows. */
static const int OPERATOR_KERNELS[WORK_GROUP_COUNT] = {
    [WORK_CONV] = 10, [WORK_PRODUCT] = 60, [WORK_ATTENTION] = 15,
    [WORK_NORM] = 5,  [WORK_REDUCE] = 4,   [WORK_POINTWISE] = 6,
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static float between(trainer *chance, float low, float high)
{
    return low + (high - low) * (float)(trainer_random(chance) >> 40) / (float)(1 << 24);
}

/* A device on which FLOPs and bytes equal microseconds. */
static const device_view ONE_A_MICROSECOND = {
    .sms = 1, .bandwidth_b_s = 1e6, .vector_flops = 1e6, .threads_per_sm = 128};

/* The time follows a rule over the features, so that there is something to learn. */
static void make_example(dataset *d, example *e, const int kernels[WORK_GROUP_COUNT], trainer *chance, arena *a)
{
    sample_program *p = ARENA_NEW(a, sample_program);
    e->program = p;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        p->first_of_group[g + 1] = p->first_of_group[g] + kernels[g];
    p->sample_count = p->first_of_group[WORK_GROUP_COUNT];
    sample *samples = ARENA_ARRAY(a, sample, (size_t)p->sample_count);
    p->samples = samples;
    e->stack = UNKNOWN_STACKS + (int)(trainer_random(chance) % (STACKS - UNKNOWN_STACKS));
    e->unknown_stack = net_unknown_stack(RUNTIME_EAGER);
    e->gpu = 1 + (int)(trainer_random(chance) % (GPUS - 1));
    e->view = &ONE_A_MICROSECOND;
    e->weight = 1;
    e->latency_us = 20;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        for (int32_t k = p->first_of_group[g]; k < p->first_of_group[g + 1]; k++) {
            work w = {.op = (int16_t)(trainer_random(chance) % (uint64_t)aten_number_count()), .group = (work_group)g};
            w.count = (double)(1 + trainer_random(chance) % 4);
            w.flops = between(chance, 1, 50);
            w.bytes = between(chance, 1, 50);
            for (int i = 0; i < WORK_FEATURES; i++)
                w.features[i] = between(chance, -1, 1);
            kernel_number number;
            if (!kernels_add(d->kernels, &w, 1, &number))
                exit(1);
            samples[k].work = number.work;
            samples[k].place = number.place;
            p->host_count[g] += (float)w.count;
            e->latency_us += (float)w.count * ((float)w.flops * (1.6F + w.features[0]) +
                                               (float)w.bytes * (1.3F + w.features[1] / 4) + 2);
        }
}

static dataset make_dataset(arena *a)
{
    static const measured_row a_network = {.where.is_operator = false}, an_operator = {.where.is_operator = true};
    trainer chance = {.random = 1};
    dataset d = {
        .items = ARENA_ARRAY(a, example, (size_t)BATCHES * EXAMPLES), .stack_count = STACKS, .gpu_count = GPUS};
    d.kernels = kernels_new();
    if (!d.kernels)
        exit(1);
    for (int b = 0; b < BATCHES; b++) {
        for (int i = 0; i < NETWORK_ROWS; i++) {
            make_example(&d, &d.items[d.count], NETWORK_KERNELS, &chance, a);
            d.items[d.count++].row = &a_network;
        }
        for (int i = 0; i < OPERATOR_ROWS; i++) {
            int kernels[WORK_GROUP_COUNT] = {0}, group = 0;
            for (int rest = i % 100; rest >= OPERATOR_KERNELS[group]; group++)
                rest -= OPERATOR_KERNELS[group];
            kernels[group] = 1;
            make_example(&d, &d.items[d.count], kernels, &chance, a);
            d.items[d.count++].row = &an_operator;
        }
    }
    d.mean = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    d.scale = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    d.low = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    d.high = ARENA_ARRAY(a, float, (size_t)WORK_GROUP_COUNT *FEATURE_COUNT);
    for (size_t i = 0; i < (size_t)WORK_GROUP_COUNT * FEATURE_COUNT; i++)
        d.scale[i] = 1, d.low[i] = -100, d.high[i] = 100;
    d.op_seen = ARENA_ARRAY(a, uint32_t, (size_t)aten_number_count());
    for (int i = 0; i < aten_number_count(); i++)
        d.op_seen[i] = 1;
    memset(d.stack_groups, 0xff, sizeof d.stack_groups);
    memset(d.gpu_groups, 0xff, sizeof d.gpu_groups);
    return d;
}

static void run(double limit_ms, arena *a)
{
    static double times[MAX_STEPS];
    static batch batches[BATCHES];
    dataset d = make_dataset(a);
    trainer t;
    trainer_init(&t, &d, 1, a);
    /* Both kinds of examples are mixed, so that the parts of a batch cost about the same. */
    for (int32_t b = 0; b < BATCHES; b++) {
        int32_t *order = batches[b].order;
        batches[b].count = EXAMPLES;
        for (int32_t i = 0; i < EXAMPLES; i++)
            order[i] = b * EXAMPLES + i;
        for (int32_t i = EXAMPLES - 1; i > 0; i--) {
            int32_t j = (int32_t)(trainer_random(&t) % (uint64_t)(i + 1)), swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
    }
    double first_loss = 0, last_loss = 0;
    int steps = 0;
    for (double began = now_ms(); steps < MAX_STEPS && (steps < LEAST_STEPS || now_ms() - began < limit_ms); steps++) {
        double start = now_ms();
        last_loss = trainer_step(&t, &d, &batches[steps % BATCHES], 2e-3);
        times[steps] = now_ms() - start;
        first_loss = steps ? first_loss : last_loss;
    }
    qsort(times, (size_t)steps, sizeof *times, ascending);
    printf("%d %.3f %.3f %.4f %.4f\n", steps, times[0], times[steps / 2], first_loss, last_loss);
    printf("%zu %d %d %d %d %d %d %d %d", t.net.at.count, EXAMPLES, FEATURE_COUNT, aten_number_count(), STACKS, GPUS,
           OP_WIDTH, STACK_WIDTH, GPU_WIDTH);
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape shape = net_group_shape((work_group)g);
        int samples = 0;
        for (int i = 0; i < EXAMPLES; i++)
            samples += d.items[i].program->first_of_group[g + 1] - d.items[i].program->first_of_group[g];
        printf(" %d %zu %zu", samples, shape.first, shape.second);
    }
    printf("\n");
    dataset_free(&d);
}

int main(int argc, char **argv)
{
    sooth_error error = {.message = ""};
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)1 << 30);
    if (setjmp(f.jump)) {
        arena_free(&a);
        return fprintf(stderr, "learn: %s\n", error.message), 1;
    }
    run(1e3 * (argc > 1 ? atof(argv[1]) : 2), &a);
    arena_free(&a);
    return 0;
}
