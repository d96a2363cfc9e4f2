/* state.c: initial weights and inputs, and files with the results of a step. */
#include "measure/state.h"
#include "base/json_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const uint64_t LABELS = (uint64_t)1 << 32, NOISE = (uint64_t)1 << 33, PATTERNS = (uint64_t)1 << 34;
enum { CELLS = 64 };

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float unit(uint64_t stream, uint64_t i)
{
    return (float)(mix(mix(stream) + i) >> 40) / 16777216.0f;
}

typedef struct filling {
    float *to;
    float bound;
    uint64_t stream;
} filling;

static void fill_range(void *context, int64_t first, int64_t end)
{
    const filling *s = context;
    for (int64_t i = first; i < end; i++)
        s->to[i] = (2 * unit(s->stream, (uint64_t)i) - 1) * s->bound;
}

enum { LEAST_ELEMENTS = 1 << 15 };

void state_weights(run *r)
{
    size_t most = 0;
    for (int i = 0; i < r->net->param_count; i++)
        most = (size_t)r->net->params[i].shape.elements > most ? (size_t)r->net->params[i].shape.elements : most;
    run_buffer *room = run_take(r, most * sizeof(float) + 1);
    for (int i = 0; i < r->net->param_count; i++) {
        const run_param *p = &r->net->params[i];
        filling s = {room->data, sqrtf(6 / (float)p->fan_in), (uint64_t)i};
        if (p->role == ROLE_WEIGHT)
            run_parallel(r, p->shape.elements, LEAST_ELEMENTS, fill_range, &s);
        else
            for (int64_t k = 0; k < p->shape.elements; k++)
                room->data[k] = p->role == ROLE_SCALE || p->role == ROLE_VARIANCE;
        run_write_weights(r, i, room->data);
    }
    run_drop(room);
}

typedef struct images {
    float *to;
    const int32_t *labels;
    int64_t elements;
    uint64_t step;
} images;

static void image_range(void *context, int64_t first, int64_t end)
{
    const images *s = context;
    for (int64_t n = first; n < end; n++)
        for (int64_t i = 0; i < s->elements; i++) {
            int64_t at = n * s->elements + i;
            float noise = unit(NOISE + s->step, (uint64_t)at);
            float pattern = unit(PATTERNS + (uint64_t)s->labels[n], (uint64_t)(i * CELLS / s->elements));
            s->to[at] = noise + 2 * pattern - 1.5f;
        }
}

void state_batch(run *r, int64_t step, int32_t *labels)
{
    const run_shape *shape = &r->net->values[r->net->input].shape;
    int64_t batch = shape->dims[0];
    for (int64_t n = 0; n < r->net->batch; n++)
        labels[n] = (int32_t)(unit(LABELS + (uint64_t)step, (uint64_t)n) * (float)r->net->classes);
    images s = {r->tensors[r->net->input].data, labels, shape->elements / batch, (uint64_t)step};
    run_parallel(r, batch, 1, image_range, &s);
    r->labels = labels;
}

/* ---- files to load ----------------------------------------------------------------------------------------------- */

static const json_node *member(const json_node *object, const char *name)
{
    for (const json_node *m = json_first(object); m; m = m->next)
        if (str_is(m->key, name))
            return m;
    return NULL;
}

/* Returns the elements of a tensor in the file; fails unless they fit the parameter. */
static const char *tensor_bytes(const run *r, const run_param *p, const json_node *entry, str data, const char *path)
{
    const json_node *offsets = json_get(entry, "data_offsets"), *shape = json_get(entry, "shape");
    int64_t first = json_int(json_at(offsets, 0), -1), end = json_int(json_at(offsets, 1), -1);
    bool fits = str_is(json_text(json_get(entry, "dtype")), "F32") && shape && shape->count == p->shape.rank;
    for (int i = 0; fits && i < p->shape.rank; i++)
        fits = json_int(json_at(shape, i), -1) == p->shape.dims[i];
    if (!fits)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%s: '%.100s' has another shape or type than the network's parameter",
                  path, p->name);
    if (first < 0 || end < first || (uint64_t)end > data.len ||
        end - first != p->shape.elements * (int64_t)sizeof(float))
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%s: '%.100s' is outside of the file", path, p->name);
    return data.ptr + first;
}

void state_load(run *r, str bytes, const char *path)
{
    uint64_t length = 0;
    int found = 0;
    for (size_t i = 0; i < 8 && bytes.len >= 8; i++)
        length |= (uint64_t)(uint8_t)bytes.ptr[i] << (8 * i);
    if (bytes.len < 8 || length > bytes.len - 8)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%s: no safetensors file: its header is longer than the file", path);
    const json_node *header = json_read((str){bytes.ptr + 8, (size_t)length}, path, r->arena, r->fail);
    str data = {bytes.ptr + 8 + length, bytes.len - 8 - (size_t)length};
    for (int i = 0; i < r->net->param_count; i++) {
        const run_param *p = &r->net->params[i];
        const json_node *entry = member(header, p->name);
        if (!entry)
            continue;
        size_t size = (size_t)p->shape.elements * sizeof(float);
        run_buffer *room = run_take(r, size);
        memcpy(room->data, tensor_bytes(r, p, entry, data, path), size);
        run_write_weights(r, i, room->data);
        run_drop(room);
        found++;
    }
    if (!found)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%s: none of its tensors has the name of a parameter of the network",
                  path);
}

/* ---- files to save ----------------------------------------------------------------------------------------------- */

typedef struct saver {
    run *r;
    state_put put;
    void *context;
    char *header;
    size_t length, capacity;
    uint64_t offset;
} saver;

static void add_text(saver *s, const char *text, size_t length)
{
    if (s->length + length > s->capacity) {
        size_t capacity = 2 * (s->length + length) + 4096;
        char *more = ARENA_ARRAY(s->r->arena, char, capacity);
        if (s->length)
            memcpy(more, s->header, s->length);
        s->header = more;
        s->capacity = capacity;
    }
    memcpy(s->header + s->length, text, length);
    s->length += length;
}

/* Writes a name from a file; escapes characters that JSON does not allow. */
static void add_name(saver *s, const char *name)
{
    char room[8];
    for (const char *p = name; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20)
            add_text(s, room, (size_t)snprintf(room, sizeof room, "\\u%04x", (unsigned char)*p));
        else
            add_text(s, p, 1);
}

static void add_entry(saver *s, const char *name, const char *suffix, const run_shape *shape)
{
    char room[128];
    uint64_t bytes = (uint64_t)shape->elements * sizeof(float);
    add_text(s, s->length ? ",\"" : "{\"", 2);
    add_name(s, name);
    int length = snprintf(room, sizeof room, "%s\":{\"dtype\":\"F32\",\"shape\":[", suffix);
    add_text(s, room, (size_t)length);
    for (int i = 0; i < shape->rank; i++) {
        length = snprintf(room, sizeof room, "%s%" PRId64, i ? "," : "", shape->dims[i]);
        add_text(s, room, (size_t)length);
    }
    length = snprintf(room, sizeof room, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", s->offset, s->offset + bytes);
    add_text(s, room, (size_t)length);
    s->offset += bytes;
}

static bool put_contents(saver *s, const float *loss)
{
    run *r = s->r;
    bool done = s->put(s->context, (const char *)loss, sizeof *loss);
    for (int i = 0; done && i < r->net->param_count; i++) {
        const run_param *p = &r->net->params[i];
        size_t bytes = (size_t)p->shape.elements * sizeof(float);
        run_buffer *room = run_take(r, bytes);
        run_read_weights(r, i, false, room->data);
        done = s->put(s->context, (const char *)room->data, bytes);
        if (done && run_param_trains(p)) {
            run_read_weights(r, i, true, room->data);
            done = s->put(s->context, (const char *)room->data, bytes);
        }
        run_drop(room);
    }
    return done;
}

void state_save(run *r, state_put put, void *context)
{
    static const run_shape NUMBER = {.rank = 1, .dims = {1}, .elements = 1};
    saver s = {.r = r, .put = put, .context = context};
    float loss = (float)r->loss;
    uint8_t size[8];
    add_entry(&s, "loss", "", &NUMBER);
    for (int i = 0; i < r->net->param_count; i++) {
        const run_param *p = &r->net->params[i];
        add_entry(&s, p->name, "", &p->shape);
        if (run_param_trains(p))
            add_entry(&s, p->name, ".grad", &p->shape);
    }
    add_text(&s, "}", 1);
    while (s.length % 8)
        add_text(&s, " ", 1);
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)(s.length >> (8 * i));
    if (put(context, (const char *)size, sizeof size) && put(context, s.header, s.length))
        put_contents(&s, &loss);
}
