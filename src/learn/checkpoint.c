/* checkpoint.c: writing and reading the state of a training. */
#include "learn/checkpoint.h"
#include "predict/weights.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

typedef struct checkpoint_header {
    char magic[16];
    uint32_t stacks, gpus, residual_count, reserved;
    uint64_t params, data; /* how many; what the features' means are, as a hash: another data set has others */
    int64_t step;
    uint64_t random;
    double best_error;
    int32_t stage, epoch, since_best, also_reserved;
} checkpoint_header;

enum { PARTS = 6 };

static const char MAGIC[16] = "sooth training4";

static checkpoint_header header_of(const trainer *t, const residuals *r, int stage, int epoch)
{
    checkpoint_header h = {.stacks = (uint32_t)t->net.stack_count,
                           .gpus = (uint32_t)t->net.gpu_count,
                           .residual_count = (uint32_t)r->count,
                           .params = t->net.at.count,
                           .data = weights_checksum(t->mean, (size_t)WORK_GROUP_COUNT * FEATURE_COUNT * sizeof(float)),
                           .step = t->step,
                           .random = t->random,
                           .best_error = t->best_error,
                           .since_best = t->since_best,
                           .stage = stage,
                           .epoch = epoch};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    return h;
}

void checkpoint_write(const char *path, const trainer *t, const residuals *r, int stage, int epoch, fail *f)
{
    char other[4096];
    if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other)
        fail_with(f, SOOTH_ERROR_USAGE, "the path is too long");
    FILE *file = fopen(other, "wb");
    if (!file)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(errno));
    checkpoint_header h = header_of(t, r, stage, epoch);
    const float *parts[PARTS] = {t->params, t->first_moment, t->second_moment, t->average, t->best, t->new_gpu};
    bool good = fwrite(&h, sizeof h, 1, file) == 1;
    for (int i = 0; i < PARTS; i++)
        good = good && fwrite(parts[i], sizeof(float), t->net.at.count, file) == t->net.at.count;
    size_t count = (size_t)r->count;
    good = good && (count == 0 || fwrite(r->items, sizeof *r->items, count, file) == count);
    good = fclose(file) == 0 && good;
    if (!good || rename(other, path) != 0) {
        int error = errno;
        unlink(other);
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(error));
    }
}

bool checkpoint_read(const char *path, trainer *t, residuals *r, int *stage, int *epoch, arena *a, fail *f)
{
    if (access(path, F_OK) != 0)
        return false;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be read: %s", strerror(errno));
    checkpoint_header h, expected = header_of(t, r, 0, 0);
    bool good = fread(&h, sizeof h, 1, file) == 1 && memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 &&
                h.params == expected.params && h.data == expected.data && h.stacks == expected.stacks &&
                h.gpus == expected.gpus && h.stage >= 0 && h.stage < 16 && h.epoch >= 0 && h.residual_count < 1u << 28;
    float *parts[PARTS] = {t->params, t->first_moment, t->second_moment, t->average, t->best, t->new_gpu};
    for (int i = 0; i < PARTS; i++)
        good = good && fread(parts[i], sizeof(float), h.params, file) == h.params;
    for (uint32_t i = 0; good && i < h.residual_count; i++)
        good = fread(ARENA_PUSH(a, r), sizeof(residual), 1, file) == 1;
    fclose(file);
    if (!good)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "no checkpoint of a training on these rows: remove it or name another file with -o");
    t->step = h.step;
    t->random = h.random;
    t->best_error = h.best_error;
    t->since_best = h.since_best;
    *stage = h.stage;
    *epoch = h.epoch;
    return true;
}
