/* run.c: memory and order of a step: forward, backward, update. Layers are timed one by one. */
#include "measure/run.h"
#include "base/threads.h"
#include "measure/clock.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CACHE_LINE = 64 };

/* ---- libraries --------------------------------------------------------------------------------------------------- */

const char *run_library_name(run_library library)
{
    static const char *const NAMES[] = {"onednn", "openblas", "plain"};
    return NAMES[library];
}

const char *run_library_missing(run_library library)
{
    if (library == LIBRARY_ONEDNN)
        return onednn_missing();
    return library == LIBRARY_OPENBLAS ? openblas_missing() : NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t total_bytes(const run *r)
{
    size_t sum = 0;
    for (int i = 0; i < RUN_PARTS; i++)
        sum += r->bytes[i];
    return sum;
}

void *run_alloc(run *r, run_part part, size_t bytes)
{
    size_t rounded = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void **slot = ARENA_PUSH(r->arena, &r->blocks);
    *slot = rounded >= bytes ? aligned_alloc(CACHE_LINE, rounded ? rounded : CACHE_LINE) : NULL;
    if (!*slot)
        fail_with(r->fail, SOOTH_ERROR_SYSTEM,
                  "out of memory: %zu MiB are allocated and %zu MiB more are needed; use a smaller --batch",
                  total_bytes(r) >> 20, bytes >> 20);
    memset(*slot, 0, rounded);
    r->bytes[part] += rounded;
    if (total_bytes(r) > r->peak_bytes)
        r->peak_bytes = total_bytes(r);
    return *slot;
}

void run_need_scratch(run *r, int layer, size_t bytes)
{
    if (bytes > r->workspaces[layer])
        r->workspaces[layer] = bytes;
    if (bytes > r->scratch_bytes)
        r->scratch_bytes = bytes;
}

float *run_scratch(run *r, size_t bytes)
{
    if (bytes > r->scratch_bytes)
        fail_with(r->fail, SOOTH_ERROR_SYSTEM, "a layer needs more workspace than it asked for");
    return r->scratch;
}

run_buffer *run_take(run *r, size_t bytes)
{
    run_buffer *best = NULL;
    for (int32_t i = 0; i < r->buffers.count; i++) {
        run_buffer *b = r->buffers.items[i];
        if (b->references == 0 && b->bytes >= bytes && b->bytes / 2 <= bytes && (!best || b->bytes < best->bytes))
            best = b;
    }
    if (!best) {
        best = ARENA_NEW(r->arena, run_buffer);
        *best = (run_buffer){run_alloc(r, PART_MAP_GRADIENTS, bytes), bytes, 0};
        run_buffer **slot = ARENA_PUSH(r->arena, &r->buffers);
        *slot = best;
    }
    best->references = 1;
    return best;
}

void run_drop(run_buffer *buffer)
{
    buffer->references--;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static const run_shape *shape_of(const run *r, int value)
{
    return &r->net->values[value].shape;
}

static bool same_layout(const run *r, const run_layout *a, const run_layout *b)
{
    return a == b || (a && b && onednn_same(r, a, b));
}

static size_t row_major_bytes(const run_shape *s)
{
    return (size_t)s->elements * sizeof(float);
}

void run_keep_plain(run *r, int value)
{
    run_tensor *t = &r->tensors[value];
    if (t->layout && !t->plain)
        t->plain = run_alloc(r, PART_FEATURE_MAPS, row_major_bytes(shape_of(r, value)));
}

static const float *plain_value(run *r, int value)
{
    run_tensor *t = &r->tensors[value];
    if (!t->layout)
        return t->data;
    if (!t->plain_is_new)
        onednn_convert(r, t->layout, t->data, NULL, t->plain);
    t->plain_is_new = true;
    return t->plain;
}

const float *run_plain_input(run *r, int layer, int i)
{
    return plain_value(r, run_layer_of(r, layer)->inputs[i]);
}

run_buffer *run_plain_gradient(run *r, int layer)
{
    int value = run_layer_of(r, layer)->output;
    run_tensor *t = &r->tensors[value];
    if (!t->layout) {
        t->gradient->references++;
        return t->gradient;
    }
    run_buffer *b = run_take(r, row_major_bytes(shape_of(r, value)));
    onednn_convert(r, t->layout, t->gradient->data, NULL, b->data);
    return b;
}

void run_read_weights(run *r, int param, bool gradient, float *to)
{
    const run_weights *w = &r->weights[param];
    const run_shape *s = &r->net->params[param].shape;
    const float *from = gradient ? w->gradient : w->data;
    if (w->layout)
        onednn_convert(r, w->layout, from, NULL, to);
    else
        memcpy(to, from, row_major_bytes(s));
}

void run_write_weights(run *r, int param, const float *from)
{
    const run_weights *w = &r->weights[param];
    const run_shape *s = &r->net->params[param].shape;
    if (w->layout)
        onednn_convert(r, NULL, from, w->layout, w->data);
    else
        memcpy(w->data, from, row_major_bytes(s));
}

/* ---- gradients of tensors ---------------------------------------------------------------------------------------- */

bool run_wants(const run *r, int layer, int i)
{
    const run_value *v = &r->net->values[run_layer_of(r, layer)->inputs[i]];
    return v->has_gradient || (r->needs_input_gradient && v->producer == NO_RUN);
}

run_buffer *run_gradient_room(run *r, int layer, int i, bool row_major)
{
    int value = run_layer_of(r, layer)->inputs[i];
    const run_tensor *t = &r->tensors[value];
    return run_take(r, row_major ? row_major_bytes(shape_of(r, value)) : t->bytes);
}

run_buffer *run_gradient_in_place(run *r, int layer)
{
    const run_tensor *x = run_input(r, layer, 0);
    run_tensor *y = run_output(r, layer);
    if (!same_layout(r, x->layout, y->layout) || x->gradient || y->gradient->references != 1)
        return run_gradient_room(r, layer, 0, false);
    y->gradient->references++;
    return y->gradient;
}

typedef struct addition {
    const float *a, *b;
    float *to;
} addition;

static void add_range(void *context, int64_t first, int64_t end)
{
    const addition *s = context;
    for (int64_t i = first; i < end; i++)
        s->to[i] = s->a[i] + s->b[i];
}

enum { LEAST_ELEMENTS = 1 << 17 }; /* Fewest elements for which starting a thread pays off. */

void run_give(run *r, int layer, int i, run_buffer *buffer, bool row_major)
{
    int value = run_layer_of(r, layer)->inputs[i];
    run_tensor *t = &r->tensors[value];
    if (row_major && t->layout) {
        run_buffer *converted = run_take(r, t->bytes);
        onednn_convert(r, NULL, buffer->data, t->layout, converted->data);
        run_drop(buffer);
        buffer = converted;
    }
    if (!t->gradient) {
        t->gradient = buffer;
        return;
    }
    run_buffer *sum = t->gradient->references == 1 ? t->gradient
                      : buffer->references == 1    ? buffer
                                                   : run_take(r, t->bytes);
    addition s = {t->gradient->data, buffer->data, sum->data};
    run_parallel(r, (int64_t)(t->bytes / sizeof(float)), LEAST_ELEMENTS, add_range, &s);
    if (sum != t->gradient)
        run_drop(t->gradient);
    if (sum != buffer)
        run_drop(buffer);
    t->gradient = sum;
}

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static void choose_backend(run *r, int layer)
{
    const run_backend *first = r->library == LIBRARY_ONEDNN     ? &ONEDNN_BACKEND
                               : r->library == LIBRARY_OPENBLAS ? &OPENBLAS_BACKEND
                                                                : &PLAIN_BACKEND;
    r->backends[layer] = first;
    if (first->prepare(r, layer))
        return;
    r->backends[layer] = &PLAIN_BACKEND;
    r->states[layer] = NULL;
    PLAIN_BACKEND.prepare(r, layer);
}

static void place_output(run *r, int layer)
{
    int value = run_layer_of(r, layer)->output;
    if (value == NO_RUN)
        return;
    const run_value *v = &r->net->values[value];
    run_tensor *t = &r->tensors[value];
    t->bytes = t->layout ? onednn_bytes(t->layout) : row_major_bytes(&v->shape);
    const run_tensor *x = v->shares != NO_RUN ? &r->tensors[v->shares] : NULL;
    t->data = x && same_layout(r, x->layout, t->layout) ? x->data : run_alloc(r, PART_FEATURE_MAPS, t->bytes);
}

static void place_params(run *r, int layer)
{
    for (int i = 0; i < RUN_PARAMS; i++) {
        run_weights *w = run_param_of(r, layer, i);
        if (!w)
            continue;
        const run_param *p = &r->net->params[run_layer_of(r, layer)->params[i]];
        w->bytes = w->layout ? onednn_bytes(w->layout) : row_major_bytes(&p->shape);
        w->data = run_alloc(r, PART_WEIGHTS, w->bytes);
        if (!run_param_trains(p))
            continue;
        w->gradient = run_alloc(r, PART_GRADIENTS, w->bytes);
        w->momentum = run_alloc(r, PART_OPTIMIZER, w->bytes);
    }
}

run *run_new(const run_net *net, run_library library, size_t threads, arena *a, fail *f)
{
    run *r = ARENA_NEW(a, run);
    size_t layers = (size_t)net->layer_count;
    *r = (run){.arena = a, .fail = f, .net = net, .library = library, .threads = threads};
    r->backends = ARENA_ARRAY(a, const run_backend *, layers);
    r->states = ARENA_ARRAY(a, void *, layers);
    r->tensors = ARENA_ARRAY(a, run_tensor, (size_t)net->value_count);
    r->weights = ARENA_ARRAY(a, run_weights, (size_t)net->param_count + 1);
    r->times_ms = arena_alloc(a, layers, sizeof *r->times_ms);
    r->workspaces = ARENA_ARRAY(a, size_t, layers);
    return r;
}

void run_prepare(run *r)
{
    const run_net *net = r->net;
    if (r->library == LIBRARY_ONEDNN)
        onednn_open(r);
    else if (r->library == LIBRARY_OPENBLAS)
        openblas_open(r);
    run_tensor *input = &r->tensors[net->input];
    input->bytes = row_major_bytes(shape_of(r, net->input));
    input->data = run_alloc(r, PART_FEATURE_MAPS, input->bytes);
    for (int i = 0; i < net->layer_count; i++) {
        choose_backend(r, i);
        place_output(r, i);
        place_params(r, i);
    }
    r->scratch = run_alloc(r, PART_WORKSPACE, r->scratch_bytes);
}

void run_free(run *r)
{
    if (!r)
        return;
    onednn_close(r);
    openblas_close(r);
    for (int32_t i = 0; i < r->blocks.count; i++)
        free(r->blocks.items[i]);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

void run_forward(run *r)
{
    for (int i = 0; i < r->net->layer_count; i++) {
        double start = clock_ms();
        int output = run_layer_of(r, i)->output;
        r->backends[i]->forward(r, i);
        if (output != NO_RUN)
            r->tensors[output].plain_is_new = false;
        r->times_ms[i][PASS_FORWARD] = clock_ms() - start;
    }
}

void run_backward(run *r)
{
    for (int i = r->net->layer_count - 1; i >= 0; i--) {
        const run_backend *b = r->backends[i];
        int output = run_layer_of(r, i)->output;
        run_tensor *y = output == NO_RUN ? NULL : &r->tensors[output];
        double *times = r->times_ms[i];
        times[PASS_BACKWARD_DATA] = times[PASS_BACKWARD_WEIGHTS] = 0;
        if (y && !y->gradient) /* Nothing reads the result. */
            continue;
        double start = clock_ms();
        if (b->backward_weights && run_param_of(r, i, 0)) {
            b->backward_weights(r, i);
            times[PASS_BACKWARD_WEIGHTS] = clock_ms() - start;
            start = clock_ms();
        }
        b->backward_data(r, i);
        if (y) {
            run_drop(y->gradient);
            y->gradient = NULL;
        }
        times[PASS_BACKWARD_DATA] = clock_ms() - start;
    }
    run_tensor *input = &r->tensors[r->net->input];
    if (input->gradient)
        run_drop(input->gradient);
    input->gradient = NULL;
}

typedef struct update {
    run_weights *w;
    float rate, momentum;
} update;

static void update_range(void *context, int64_t first, int64_t end)
{
    const update *u = context;
    float *data = u->w->data, *momentum = u->w->momentum;
    const float *gradient = u->w->gradient;
    for (int64_t i = first; i < end; i++) {
        momentum[i] = u->momentum * momentum[i] + gradient[i];
        data[i] -= u->rate * momentum[i];
    }
}

void run_update(run *r, double rate, double momentum)
{
    for (int i = 0; i < r->net->layer_count; i++) {
        double start = clock_ms();
        for (int k = 0; k < RUN_PARAMS; k++) {
            update u = {run_param_of(r, i, k), (float)rate, (float)momentum};
            if (u.w && u.w->gradient)
                run_parallel(r, (int64_t)(u.w->bytes / sizeof(float)), LEAST_ELEMENTS, update_range, &u);
        }
        r->times_ms[i][PASS_UPDATE] = clock_ms() - start;
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct ranges {
    run_range work;
    void *context;
    int64_t count, parts;
} ranges;

static void run_part_of(void *context, size_t item, size_t worker)
{
    const ranges *s = context;
    int64_t first = s->count * (int64_t)item / s->parts, end = s->count * ((int64_t)item + 1) / s->parts;
    (void)worker;
    s->work(s->context, first, end);
}

void run_parallel(const run *r, int64_t count, int64_t least, run_range work, void *context)
{
    int64_t parts = count / (least > 0 ? least : 1);
    if (parts > (int64_t)r->threads)
        parts = (int64_t)r->threads;
    if (parts < 2) {
        work(context, 0, count);
        return;
    }
    ranges s = {work, context, count, parts};
    parallel_for((size_t)parts, r->threads, run_part_of, &s);
}
