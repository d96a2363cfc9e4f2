#include "gnn/file.h"
#include "base/commit.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

static const char MODEL_MAGIC[16] = "sooth gnn net 1", RUN_MAGIC[16] = "sooth gnn run 1";
enum { HEAD_WORDS = 11, CHECKED_AT = 20 }; /* words after the checksum; offset of the first checked byte */

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct words {
    uint8_t *at;
} words;

static void put(words *w, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        *w->at++ = (uint8_t)(x >> 8 * i);
}

static uint32_t take(words *w)
{
    uint32_t x = 0;
    for (int i = 0; i < 4; i++)
        x |= (uint32_t)*w->at++ << 8 * i;
    return x;
}

static void put_floats(words *w, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        put(w, bits);
    }
}

static bool take_floats(words *w, float *x, size_t count)
{
    bool is_finite = true;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = take(w);
        memcpy(&x[i], &bits, sizeof bits);
        is_finite &= isfinite(x[i]) != 0;
    }
    return is_finite;
}

static size_t model_size(size_t params)
{
    return CHECKED_AT + 4 * (HEAD_WORDS + sizeof(gnn_scaling) / sizeof(float) + (size_t)2 * GNN_OUTPUTS + params);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

str gnn_file_encode(const gnn_model *m, arena *a)
{
    size_t size = model_size(m->layout.count);
    uint8_t *stored = arena_room(a, size, 1);
    words w = {stored + CHECKED_AT};
    const gnn_scaling *s = &m->scaling;
    const uint32_t head[HEAD_WORDS] = {m->layout.kind,
                                       m->which,
                                       (uint32_t)m->layout.hidden,
                                       m->outputs,
                                       m->split,
                                       (uint32_t)m->seed,
                                       (uint32_t)(m->seed >> 32),
                                       (uint32_t)m->identity,
                                       (uint32_t)(m->identity >> 32),
                                       m->epochs,
                                       (uint32_t)m->layout.count};
    for (int i = 0; i < HEAD_WORDS; i++)
        put(&w, head[i]);
    put_floats(&w, s->value_mean, GNN_VALUES);
    put_floats(&w, s->value_scale, GNN_VALUES);
    put_floats(&w, s->row_mean, GNN_ROW_WIDTH);
    put_floats(&w, s->row_scale, GNN_ROW_WIDTH);
    put_floats(&w, s->centre, GNN_OUTPUTS);
    put_floats(&w, m->low, GNN_OUTPUTS);
    put_floats(&w, m->high, GNN_OUTPUTS);
    put_floats(&w, m->params, m->layout.count);
    memcpy(stored, MODEL_MAGIC, sizeof MODEL_MAGIC);
    w.at = stored + sizeof MODEL_MAGIC;
    put(&w, (uint32_t)crc32_z(0, stored + CHECKED_AT, size - CHECKED_AT));
    return (str){(const char *)stored, size};
}

static bool take_scaling(words *w, gnn_model *m)
{
    gnn_scaling *s = &m->scaling;
    bool is_good = take_floats(w, s->value_mean, GNN_VALUES);
    is_good &= take_floats(w, s->value_scale, GNN_VALUES);
    is_good &= take_floats(w, s->row_mean, GNN_ROW_WIDTH);
    is_good &= take_floats(w, s->row_scale, GNN_ROW_WIDTH);
    is_good &= take_floats(w, s->centre, GNN_OUTPUTS);
    is_good &= take_floats(w, m->low, GNN_OUTPUTS);
    is_good &= take_floats(w, m->high, GNN_OUTPUTS);
    for (int i = 0; i < GNN_VALUES; i++)
        is_good &= s->value_scale[i] >= 0;
    for (int i = 0; i < GNN_ROW_WIDTH; i++)
        is_good &= s->row_scale[i] >= 0;
    for (int o = 0; o < GNN_OUTPUTS; o++) {
        is_good &= m->low[o] <= m->high[o];
        m->low[o] =
            fminf(m->low[o], 0); /* extends the interval to the prediction if all labels are on one side of it */
        m->high[o] = fmaxf(m->high[o], 0);
    }
    return is_good;
}

void gnn_file_decode(str stored, gnn_model *m, arena *a)
{
    *m = (gnn_model){.which = GNN_DIPPM};
    if (stored.len < sizeof MODEL_MAGIC || memcmp(stored.ptr, MODEL_MAGIC, sizeof MODEL_MAGIC) != 0)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "is no model of `sooth gnn train`, or one of another version");
    if (stored.len < model_size(0))
        fail_with(a->fail, SOOTH_ERROR_INPUT, "is truncated: a model has at least %zu bytes, this file %zu",
                  model_size(0), stored.len);
    words w = {(uint8_t *)(uintptr_t)stored.ptr + sizeof MODEL_MAGIC};
    if (take(&w) != (uint32_t)crc32_z(0, (const Bytef *)stored.ptr + CHECKED_AT, stored.len - CHECKED_AT))
        fail_with(a->fail, SOOTH_ERROR_INPUT, "is damaged: its checksum does not match; train the model again");
    uint32_t head[HEAD_WORDS];
    for (int i = 0; i < HEAD_WORDS; i++)
        head[i] = take(&w);
    if (head[0] >= GNN_KINDS || head[1] > GNN_FULL || head[2] < 32 || head[2] > GNN_WIDEST || head[2] % 32 ||
        head[3] >= 1U << GNN_OUTPUTS || !head[3] || head[4] >= GNN_SPLITS)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "is damaged: its header has impossible values; train the model again");
    m->layout = gnn_layout_of((gnn_kind)head[0], head[2]);
    if (head[10] != m->layout.count || stored.len != model_size(m->layout.count))
        fail_with(a->fail, SOOTH_ERROR_INPUT, "has %zu bytes, but its network needs %zu; train the model again",
                  stored.len, model_size(m->layout.count));
    m->which = (gnn_features)head[1];
    m->outputs = head[3];
    m->split = (gnn_split)head[4];
    m->seed = head[5] | (uint64_t)head[6] << 32;
    m->identity = head[7] | (uint64_t)head[8] << 32;
    m->epochs = head[9];
    m->params = arena_room(a, m->layout.count, sizeof *m->params);
    bool is_good = take_scaling(&w, m);
    if (!(is_good & take_floats(&w, m->params, m->layout.count)))
        fail_with(a->fail, SOOTH_ERROR_INPUT, "has parameters that no training gives; train the model again");
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

typedef struct run_header {
    char magic[16];
    uint32_t checksum; /* of the rest of the header and the arrays */
    int32_t epoch, best_epoch, reserved;
    uint64_t identity, count;
    int64_t step;
    double best_error;
} run_header;

enum { ARRAYS = 4 };
#define ELSE "remove it, or name another file with -o"

static uint32_t run_checksum(const run_header *h, float *const arrays[ARRAYS])
{
    size_t after = offsetof(run_header, checksum) + sizeof h->checksum;
    uLong sum = crc32_z(0, (const Bytef *)h + after, sizeof *h - after);
    for (int i = 0; i < ARRAYS; i++)
        sum = crc32_z(sum, (const Bytef *)arrays[i], h->count * sizeof(float));
    return (uint32_t)sum;
}

void gnn_file_keep(const char *path, const gnn_trainer *t, uint64_t identity, fail *f)
{
    char other[4096];
    float *const arrays[ARRAYS] = {t->params, t->first_moment, t->second_moment, t->best};
    run_header h = {.epoch = t->epoch,
                    .best_epoch = t->best_epoch,
                    .identity = identity,
                    .count = t->layout.count,
                    .step = t->step,
                    .best_error = t->best_error};
    memcpy(h.magic, RUN_MAGIC, sizeof h.magic);
    h.checksum = run_checksum(&h, arrays);
    if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other)
        fail_with(f, SOOTH_ERROR_USAGE, "the path is too long");
    int file = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(errno));
    int error = write_all(file, &h, sizeof h);
    for (int i = 0; i < ARRAYS && !error; i++)
        error = write_all(file, arrays[i], h.count * sizeof(float));
    error = commit_file(file, other, path, error);
    if (error)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be written: %s", strerror(error));
}

/* Loads the state of a checkpoint. Returns NULL, or the reason why it cannot be used. */
static const char *go_on_from(const file_map *map, gnn_trainer *t, uint64_t identity)
{
    run_header h;
    float *const arrays[ARRAYS] = {t->params, t->first_moment, t->second_moment, t->best};
    if (map->size < sizeof h || memcmp(map->bytes, RUN_MAGIC, sizeof RUN_MAGIC) != 0)
        return "is no checkpoint of this version: " ELSE;
    memcpy(&h, map->bytes, sizeof h);
    if (h.identity != identity || h.count != t->layout.count)
        return "belongs to a training with another set, split or options: give the same ones, " ELSE;
    if (map->size != sizeof h + ARRAYS * h.count * sizeof(float))
        return "is truncated: " ELSE;
    for (size_t i = 0; i < ARRAYS; i++)
        memcpy(arrays[i], map->bytes + sizeof h + i * h.count * sizeof(float), h.count * sizeof(float));
    if (run_checksum(&h, arrays) != h.checksum || h.epoch < 0 || h.step < 0 || isnan(h.best_error))
        return "is damaged: " ELSE;
    t->epoch = h.epoch;
    t->best_epoch = h.best_epoch;
    t->step = h.step;
    t->best_error = h.best_error;
    return NULL;
}

bool gnn_file_go_on(const char *path, gnn_trainer *t, uint64_t identity, fail *f)
{
    file_map map = {.descriptor = -1};
    if (!file_is_there(path))
        return false;
    file_open(&map, path, f);
    const char *wrong = go_on_from(&map, t, identity);
    file_close(&map);
    if (wrong)
        fail_with(f, SOOTH_ERROR_INPUT, "the checkpoint %s", wrong);
    return true;
}
