/* checkpoint.c: writes and reads the training state. */
#include "learn/checkpoint.h"
#include "base/commit.h"
#include "predict/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#ifndef SOOTH_CODE /* defined by the Makefile */
#define SOOTH_CODE 0
#endif

typedef struct checkpoint_header {
    char magic[16];
    uint32_t checksum; /* CRC-32 of everything after this field */
    uint32_t stacks, gpus, residual_count;
    uint64_t params; /* number of parameters */
    training_identity of;
    int64_t step;
    uint64_t random;
    double best_error;
    int32_t stage, epoch, since_best, reserved;
} checkpoint_header;

enum { PARTS = 6 };

static const char MAGIC[16] = "sooth training6";
#define ELSE "remove it or name another file with -o"

uint64_t checkpoint_code(void)
{
    return SOOTH_CODE;
}

typedef struct parts {
    float *items[PARTS]; /* arrays of `params` numbers */
    size_t bytes;        /* size of each array */
} parts;

static parts parts_of(const trainer *t)
{
    return (parts){{t->params, t->first_moment, t->second_moment, t->average, t->best, t->new_gpu},
                   t->net.at.count * sizeof(float)};
}

static checkpoint_header header_of(const trainer *t, const residuals *r, const training_identity *identity)
{
    checkpoint_header h = {.stacks = (uint32_t)t->net.stack_count,
                           .gpus = (uint32_t)t->net.gpu_count,
                           .residual_count = (uint32_t)r->count,
                           .params = t->net.at.count,
                           .of = *identity,
                           .step = t->step,
                           .random = t->random,
                           .best_error = t->best_error,
                           .since_best = t->since_best};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    return h;
}

static uint32_t checksum_of(const checkpoint_header *h, const trainer *t, const residual *r)
{
    const parts p = parts_of(t);
    size_t after = offsetof(checkpoint_header, checksum) + sizeof h->checksum;
    uLong sum = crc32_z(0, (const Bytef *)h + after, sizeof *h - after);
    for (int i = 0; i < PARTS; i++)
        sum = crc32_z(sum, (const Bytef *)p.items[i], p.bytes);
    if (h->residual_count)
        sum = crc32_z(sum, (const Bytef *)r, h->residual_count * sizeof *r);
    return (uint32_t)sum;
}

void checkpoint_write(const char *path, const trainer *t, const residuals *r, const training_identity *identity,
                      training_place at, fail *f)
{
    char other[4096];
    if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other)
        fail_with(f, SOOTH_ERROR_USAGE, "the path is too long");
    int file = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(errno));
    checkpoint_header h = header_of(t, r, identity);
    h.stage = at.stage;
    h.epoch = at.epoch;
    h.checksum = checksum_of(&h, t, r->items);
    const parts p = parts_of(t);
    int error = write_all(file, &h, sizeof h);
    for (int i = 0; i < PARTS && !error; i++)
        error = write_all(file, p.items[i], p.bytes);
    if (!error)
        error = write_all(file, r->items, (size_t)r->count * sizeof *r->items);
    error = commit_file(file, other, path, error);
    if (error)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(error));
}

/* Returns 0 if everything was read, errno on an error, -1 if the file is too short. */
static int read_all(int file, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t n = read(file, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

_Noreturn static void fail_to_read(int error, fail *f)
{
    if (error < 0)
        fail_with(f, SOOTH_ERROR_INPUT, "the checkpoint is truncated or damaged: " ELSE);
    fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be read: %s", strerror(error));
}

/* Fails unless the checkpoint belongs to this training. */
static void compare(const checkpoint_header *h, const checkpoint_header *own, fail *f)
{
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        fail_with(f, SOOTH_ERROR_INPUT, "this version cannot read the checkpoint: " ELSE);
    if (h->of.code != own->of.code)
        fail_with(f, SOOTH_ERROR_INPUT, "the checkpoint was written by a program built from other sources: " ELSE);
    if (h->of.data != own->of.data || h->stacks != own->stacks || h->gpus != own->gpus || h->params != own->params)
        fail_with(f, SOOTH_ERROR_INPUT, "the checkpoint belongs to a training on other rows: " ELSE);
    if (h->of.seed != own->of.seed)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "the checkpoint belongs to a training with --seed %llu, not %llu: continue with that seed, " ELSE,
                  (unsigned long long)h->of.seed, (unsigned long long)own->of.seed);
    if (h->of.rate != own->of.rate)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "the checkpoint belongs to a training with --rate %g, not %g: continue with that rate, " ELSE,
                  h->of.rate, own->of.rate);
    if (h->of.options != own->of.options)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "the checkpoint belongs to a training with other options: continue with the same options, " ELSE);
}

/* Reads the header. Returns 0 if the file has the size that the header states, otherwise the same errors as
 * read_all(). */
static int read_header(const char *path, checkpoint_header *h)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    int error = read_all(file, h, sizeof *h);
    off_t end = lseek(file, 0, SEEK_END);
    close(file);
    if (error <= 0 && memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        return 0; /* the caller reports the mismatch */
    if (error)
        return error;
    uint64_t parts_bytes = h->params < 1u << 28 ? h->params * PARTS * sizeof(float) : 0;
    return end >= 0 && (uint64_t)end == sizeof *h + parts_bytes + h->residual_count * sizeof(residual) ? 0 : -1;
}

static int read_rest(const char *path, const checkpoint_header *h, const trainer *t, residual *r)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    checkpoint_header again;
    const parts p = parts_of(t);
    int error = read_all(file, &again, sizeof again);
    for (int i = 0; i < PARTS && !error; i++)
        error = read_all(file, p.items[i], p.bytes);
    if (!error)
        error = read_all(file, r, h->residual_count * sizeof *r);
    close(file);
    return error;
}

static bool residual_is_sound(const residual *r, const trainer *t)
{
    for (int i = 0; i < INTERVAL_TRAITS; i++)
        if (!isfinite(r->traits[i]))
            return false;
    return r->example >= 0 && r->stack >= 0 && r->stack < t->net.stack_count && r->gpu >= 0 &&
           r->gpu < t->net.gpu_count && r->model < INTERVAL_MODELS && r->graph < GRAPH_KINDS && isfinite(r->error);
}

/* Detects impossible values. The checksum detects only damage, not wrong writers. */
static bool is_sound(const checkpoint_header *h, const trainer *t, const residual *r)
{
    const parts p = parts_of(t);
    for (int i = 0; i < PARTS; i++)
        for (size_t k = 0; k < t->net.at.count; k++)
            if (!isfinite(p.items[i][k]))
                return false;
    for (uint32_t i = 0; i < h->residual_count; i++)
        if (!residual_is_sound(&r[i], t))
            return false;
    return h->stage >= 0 && h->stage < 16 && h->epoch >= 0 && h->step >= 0 && h->since_best >= 0 &&
           !isnan(h->best_error);
}

bool checkpoint_read(const char *path, trainer *t, residuals *r, const training_identity *identity, training_place *at,
                     arena *a, fail *f)
{
    checkpoint_header h = {.checksum = 0}, own = header_of(t, r, identity);
    int error = read_header(path, &h);
    if (error == ENOENT)
        return false;
    if (error)
        fail_to_read(error, f);
    compare(&h, &own, f);
    /* Allocates before opening the file, so that a failure leaves no file open. */
    ARENA_RESERVE(a, r, h.residual_count);
    error = read_rest(path, &h, t, r->items);
    if (error)
        fail_to_read(error, f);
    if (checksum_of(&h, t, r->items) != h.checksum || !is_sound(&h, t, r->items))
        fail_to_read(-1, f);
    r->count = (int32_t)h.residual_count;
    t->step = h.step;
    t->random = h.random;
    t->best_error = h.best_error;
    t->since_best = h.since_best;
    *at = (training_place){h.stage, h.epoch};
    return true;
}
