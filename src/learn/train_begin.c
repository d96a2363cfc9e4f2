/* train_begin.c: the random numbers and the first parameters of a training. */
#include "base/threads.h"
#include "learn/train.h"

#include <math.h>

/* ---- numbers by chance, the same on every machine ---------------------------------------------------------------- */

uint64_t trainer_random(trainer *t)
{
    uint64_t z = t->random += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float trainer_between(trainer *t, float low, float high)
{
    return low + (high - low) * (float)(trainer_random(t) >> 40) / (float)(1 << 24);
}

static void fill(trainer *t, size_t at, size_t count, float limit)
{
    for (size_t i = 0; i < count; i++)
        t->params[at + i] = trainer_between(t, -limit, limit);
}

void trainer_init(trainer *t, const dataset *data, uint64_t seed, arena *a)
{
    *t = (trainer){.huber = 0.03, .decay = 1e-4, .pair_weight = 0.5, .threads = threads_available(), .fail = a->fail};
    net *n = &t->net;
    n->op_count = aten_number_count();
    n->stack_count = data->stack_count;
    n->gpu_count = data->gpu_count;
    n->at = net_layout_of(n->op_count, n->stack_count, n->gpu_count);
    t->mean = data->mean;
    t->scale = data->scale;
    t->params = ARENA_ARRAY(a, float, n->at.count);
    t->first_moment = ARENA_ARRAY(a, float, n->at.count);
    t->second_moment = ARENA_ARRAY(a, float, n->at.count);
    t->average = ARENA_ARRAY(a, float, n->at.count);
    t->best = ARENA_ARRAY(a, float, n->at.count);
    t->new_gpu = ARENA_ARRAY(a, float, n->at.count);
    t->gradients = ARENA_ARRAY(a, float, n->at.count *SHARDS);
    n->params = t->params;
    n->stack_groups = data->stack_groups;
    n->gpu_groups = data->gpu_groups;
    n->op_seen = data->op_seen;
    n->gpu_units = data->gpu_units;
    n->gpu_ops = data->gpu_ops;
    n->gpu_numbers = data->gpu_numbers;
    n->low = data->low;
    n->high = data->high;
    trainer_restart(t, data, seed);
}

void trainer_restart(trainer *t, const dataset *data, uint64_t seed)
{
    net *n = &t->net;
    t->random = seed;
    t->step = 0;
    t->best_error = INFINITY;
    t->since_best = 0;
    memcpy(n->stacks, data->stacks, sizeof n->stacks);
    memcpy(n->gpus, data->gpus, sizeof n->gpus);
    memset(t->params, 0, n->at.count * sizeof(float));
    memset(t->first_moment, 0, n->at.count * sizeof(float));
    memset(t->second_moment, 0, n->at.count * sizeof(float));
    fill(t, n->at.ops, (size_t)aten_number_count() * OP_WIDTH, 0.5F);
    fill(t, n->at.stacks, (size_t)n->stack_count * STACK_WIDTH, 0.3F);
    fill(t, n->at.gpus, (size_t)n->gpu_count * GPU_WIDTH, 0.3F);
    for (int i = 0; i < n->stack_count; i++) {
        t->params[n->at.stack_fixed + (size_t)i] = logf(10);
        /* Initial host time: Python's time per layer, deliberately too long for other software. Only host-bound rows
         * change it. */
        t->params[n->at.stack_host + (size_t)i] = logf(20);
    }
    for (int g = 0; g < WORK_GROUP_COUNT; g++) {
        group_shape s = net_group_shape((work_group)g);
        fill(t, n->at.first[g], INPUT_WIDTH * s.first, sqrtf(3.0F / INPUT_WIDTH));
        fill(t, n->at.second[g], s.first * s.second, sqrtf(6.0F / (float)s.first));
        fill(t, n->at.heads[g], HEADS * s.second, 0.02F);
        t->params[n->at.heads_bias[g] + HEAD_COMPUTE] = 0.3F;
        t->params[n->at.heads_bias[g] + HEAD_MEMORY] = 0.1F;
    }
    memcpy(t->average, t->params, n->at.count * sizeof(float));
}

void trainer_go_on(trainer *t)
{
    size_t bytes = t->net.at.count * sizeof(float);
    t->step = 0;
    t->best_error = INFINITY;
    t->since_best = 0;
    memcpy(t->params, t->average, bytes);
    memset(t->first_moment, 0, bytes);
    memset(t->second_moment, 0, bytes);
}
