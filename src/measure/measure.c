/* measure.c: measures a training step for each library: warm-up, repetitions, quartiles. */
#include "measure/measure.h"
#include "base/threads.h"
#include "measure/clock.h"

#include <stdlib.h>

enum { LEAST_SIDE = 32 }; /* smallest side of an input that can be a photograph */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static measured_time quartiles(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    double middle = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return (measured_time){values[(count - 1) / 4], middle, values[count - 1 - (count - 1) / 4]};
}

typedef struct measurer {
    const measure_options *options;
    measured *m;
    arena *arena;
    fail *fail;
    run *run;
    int32_t *labels;
    double *samples; /* indexed by repetition, layer and pass; the times of whole steps come last */
} measurer;

static double *sample_at(const measurer *c, int repetition, int layer, int pass)
{
    return &c->samples[(repetition * c->m->net->layer_count + layer) * RUN_PASSES + pass];
}

static void keep_samples(measurer *c, int repetition, double step_ms)
{
    int layers = c->m->net->layer_count;
    for (int i = 0; i < layers; i++)
        for (int pass = 0; pass < RUN_PASSES; pass++)
            *sample_at(c, repetition, i, pass) = c->run->times_ms[i][pass];
    c->samples[c->options->repeat * layers * RUN_PASSES + repetition] = step_ms;
}

static void run_steps(measurer *c, measured_run *to, bool saves)
{
    const measure_options *o = c->options;
    for (int step = 0; step < o->warmup + o->repeat; step++) {
        if (step == 0 || o->renews_data)
            state_batch(c->run, step, c->labels);
        double start = clock_ms();
        run_forward(c->run);
        run_backward(c->run);
        run_update(c->run, o->rate, o->momentum);
        if (step >= o->warmup)
            keep_samples(c, step - o->warmup, clock_ms() - start);
        to->losses[step] = c->run->loss;
        if (step == 0 && saves && o->save)
            state_save(c->run, o->save, o->save_context);
    }
}

static void summarize(measurer *c, measured_run *to)
{
    int layers = c->m->net->layer_count, repeat = c->options->repeat;
    double *row = ARENA_ARRAY(c->arena, double, (size_t)repeat);
    for (int i = 0; i < layers; i++) {
        const run_backend *b = c->run->backends[i];
        measured_layer *l = &to->layers[i];
        l->library = b->name;
        l->algorithm = arena_str(c->arena, str_of(b->algorithm(c->run, i))).ptr;
        l->workspace_bytes = (int64_t)c->run->workspaces[i];
        for (int pass = 0; pass < RUN_PASSES; pass++) {
            for (int k = 0; k < repeat; k++)
                row[k] = *sample_at(c, k, i, pass);
            l->ms[pass] = quartiles(row, repeat);
        }
    }
    to->step_ms = quartiles(&c->samples[repeat * layers * RUN_PASSES], repeat);
    for (int i = 0; i < RUN_PARTS; i++)
        to->bytes[i] = (int64_t)c->run->bytes[i];
}

/* Catches a failure to free the run's memory, then passes it on to the caller. */
static bool run_guarded(measurer *c, measured_run *to, bool saves, fail *own)
{
    if (setjmp(own->jump))
        return false;
    run_prepare(c->run);
    state_weights(c->run);
    if (c->options->load.ptr)
        state_load(c->run, c->options->load, c->options->load_path);
    run_steps(c, to, saves);
    summarize(c, to);
    return true;
}

static void measure_library(measurer *c, run_library library, int index)
{
    int layers = c->m->net->layer_count, steps = c->m->steps;
    measured_run *to = &c->m->runs[index];
    sooth_error error = {0};
    fail own = {.error = &error};
    arena memory;
    *to = (measured_run){.library = library};
    to->layers = ARENA_ARRAY(c->arena, measured_layer, (size_t)layers);
    to->losses = ARENA_ARRAY(c->arena, double, (size_t)steps);
    arena_init(&memory, &own, ARENA_GIB(1));
    bool done = false;
    if (!setjmp(own.jump))
        c->run = run_new(c->m->net, library, (size_t)c->m->threads, &memory, &own);
    else
        c->run = NULL;
    if (c->run)
        done = run_guarded(c, to, index == 0, &own);
    run_free(c->run);
    arena_free(&memory);
    if (!done)
        fail_with(c->fail, error.code, "%s", error.message);
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

static run_library library_named(str name, fail *f)
{
    for (int i = 0; i < RUN_LIBRARIES; i++)
        if (str_eq(name, str_of(run_library_name((run_library)i))))
            return (run_library)i;
    fail_with(f, SOOTH_ERROR_USAGE, "there is no library '%.*s'; there are onednn, openblas and plain",
              (int)(name.len < 60 ? name.len : 60), name.ptr);
}

/* Returns the requested libraries, or all that are installed. */
static int choose_libraries(const measure_options *o, run_library to[RUN_LIBRARIES], fail *f)
{
    int count = 0;
    if (!o->libraries) {
        for (int i = 0; i < LIBRARY_PLAIN; i++)
            if (!run_library_missing((run_library)i))
                to[count++] = (run_library)i;
        if (!count)
            fail_with(f, SOOTH_ERROR_UNSUPPORTED,
                      "neither oneDNN nor OpenBLAS can be used (%s; %s); --library plain measures plain C",
                      onednn_missing(), openblas_missing());
        return count;
    }
    for (const char *p = o->libraries; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        run_library library = library_named((str){p, strcspn(p, ",")}, f);
        if (count == RUN_LIBRARIES)
            fail_with(f, SOOTH_ERROR_USAGE, "a library is named twice");
        if (run_library_missing(library))
            fail_with(f, SOOTH_ERROR_UNSUPPORTED, "%s", run_library_missing(library));
        to[count++] = library;
    }
    return count;
}

/* Lower bound on the memory of a run: weights with gradients and momentum, and feature maps with gradients. */
static void check_memory(const run_net *net, double memory_mib, fail *f)
{
    double bytes = 0;
    for (int i = 0; i < net->param_count; i++)
        bytes += 12.0 * (double)net->params[i].shape.elements;
    for (int i = 0; i < net->value_count; i++)
        if (net->values[i].shares == NO_RUN)
            bytes += 4.0 * (double)net->values[i].shape.elements;
    if (bytes / 1048576 > memory_mib)
        fail_with(f, SOOTH_ERROR_SYSTEM,
                  "a step needs at least %.0f MiB, and this machine has %.0f MiB: use a smaller --batch",
                  bytes / 1048576, memory_mib);
}

/* Measures the input pipeline of networks on images. */
static void measure_images(measured *m, const measure_options *o, fail *f)
{
    const run_shape *x = &m->net->values[m->net->input].shape;
    bool is_image = x->rank == 4 && x->dims[1] == 3 && x->dims[2] == x->dims[3] && x->dims[2] >= LEAST_SIDE;
    if (!o->images || !is_image)
        return;
    m->images_missing = images_missing();
    if (!m->images_missing)
        m->images = images_measure(o->directory, o->images, (int)x->dims[2], o->workers ? o->workers : m->threads, f);
}

measured *measure(sooth_model *model, const measure_options *options, arena *a, fail *f)
{
    measured *m = ARENA_NEW(a, measured);
    run_library libraries[RUN_LIBRARIES];
    m->threads = options->threads > 0 ? options->threads : (int)threads_available();
    m->steps = options->warmup + options->repeat;
    m->net = run_net_of(model, a, f);
    m->run_count = choose_libraries(options, libraries, f);
    measure_images(m, options, f);
    m->machine = machine_of((size_t)m->threads);
    check_memory(m->net, m->machine.memory_mib, f);
    machine_measure(&m->machine, (size_t)m->threads, f);
    measurer c = {.options = options, .m = m, .arena = a, .fail = f};
    c.labels = ARENA_ARRAY(a, int32_t, (size_t)m->net->batch);
    c.samples = ARENA_ARRAY(a, double, (size_t)options->repeat *((size_t)m->net->layer_count * RUN_PASSES + 1));
    for (int i = 0; i < m->run_count; i++)
        measure_library(&c, libraries[i], i);
    /* Measures again, because other programs may have used the cores the first time. */
    machine_measure(&m->machine, (size_t)m->threads, f);
    return m;
}
