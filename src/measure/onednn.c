/* onednn.c: opens oneDNN; layouts, primitives, and conversions between layouts. */
#include "measure/library.h"
#include "measure/run.h"

#ifndef SOOTH_ONEDNN

const char *onednn_missing(void)
{
    return "this program was built without oneDNN 2: install libdnnl-dev and build again";
}

void onednn_open(run *r)
{
    fail_with(r->fail, SOOTH_ERROR_UNSUPPORTED, "%s", onednn_missing());
}

void onednn_close(run *r)
{
    (void)r;
}

/* Without oneDNN every tensor is row-major, so these functions are never called. */
size_t onednn_bytes(const run_layout *layout)
{
    (void)layout;
    return 0;
}

void onednn_convert(run *r, const run_layout *from, const float *source, const run_layout *to, float *target)
{
    (void)from, (void)source, (void)to, (void)target;
    onednn_open(r);
}

bool onednn_same(const run *r, const run_layout *a, const run_layout *b)
{
    (void)r;
    return a == b;
}

static bool prepare(run *r, int layer)
{
    (void)r, (void)layer;
    return false;
}

const run_backend ONEDNN_BACKEND = {.name = "onednn", .prepare = prepare};

#else
#include "measure/onednn.h"

#include <stdlib.h>

#define TEXT_OF(x) #x
#define FILE_OF(major) "libdnnl.so." TEXT_OF(major)
static const char FILE_NAME[] = FILE_OF(DNNL_VERSION_MAJOR), PACKAGE[] = "libdnnl2";

const char *onednn_missing(void)
{
    return library_is_there(FILE_NAME) ? NULL : "oneDNN's library cannot be opened: install libdnnl2";
}

/* Fails if the status is an error. */
static void one_check(const run *r, dnnl_status_t status)
{
    if (status == dnnl_out_of_memory)
        fail_with(r->fail, SOOTH_ERROR_SYSTEM, "oneDNN: out of memory; use a smaller --batch");
    if (status != dnnl_success)
        fail_with(r->fail, SOOTH_ERROR_UNSUPPORTED, "oneDNN fails with status %d", (int)status);
}

void onednn_open(run *r)
{
#define ONEDNN_SYMBOL(name) {"dnnl_" #name, offsetof(struct onednn, name)},
    static const library_symbol SYMBOLS[] = {
        ONEDNN_FUNCTIONS(ONEDNN_SYMBOL){"omp_set_num_threads", offsetof(struct onednn, omp_set_num_threads)}};
    struct onednn *o = ARENA_NEW(r->arena, struct onednn);
    /* Makes OpenMP's idle threads sleep, so that they leave the cores to others. */
    setenv("OMP_WAIT_POLICY", "passive", 0);
    o->handle = library_open(FILE_NAME, PACKAGE, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, o, r->fail);
    r->onednn = o;
    o->omp_set_num_threads((int)r->threads);
    one_check(r, o->engine_create(&o->engine, dnnl_cpu, 0));
    one_check(r, o->stream_create(&o->stream, o->engine, dnnl_stream_default_flags));
    one_check(r, o->primitive_attr_create(&o->attributes));
    one_check(r, o->primitive_attr_set_scratchpad_mode(o->attributes, dnnl_scratchpad_mode_user));
}

static void close_call(const struct onednn *o, one_call *c)
{
    for (int i = 0; i < c->count; i++)
        o->memory_destroy(c->args[i].memory);
    o->primitive_destroy(c->primitive);
    o->primitive_desc_destroy(c->desc);
}

void onednn_close(run *r)
{
    struct onednn *o = r->onednn;
    if (!o)
        return;
    for (int32_t i = 0; i < o->calls.count; i++)
        close_call(o, o->calls.items[i]);
    o->primitive_attr_destroy(o->attributes);
    o->stream_destroy(o->stream);
    o->engine_destroy(o->engine);
    /* Never closes the library, because OpenMP's threads may still run in it. */
    r->onednn = NULL;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

one_md one_row_major(const run *r, int rank, const int64_t *dims, bool turned)
{
    one_md md;
    dnnl_dims_t sizes = {0}, strides = {0};
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        sizes[i] = dims[i];
        strides[i] = step;
        step *= dims[i];
    }
    if (turned) {
        strides[0] = 1;
        strides[1] = dims[0];
    }
    one_check(r, r->onednn->memory_desc_init_by_strides(&md, rank, sizes, dnnl_f32, strides));
    return md;
}

one_md one_any(int rank, const int64_t *dims)
{
    one_md md = {.ndims = rank, .data_type = dnnl_f32, .format_kind = dnnl_format_kind_any};
    for (int i = 0; i < rank; i++)
        md.dims[i] = md.padded_dims[i] = dims[i];
    return md;
}

bool one_same(const run *r, const one_md *a, const one_md *b)
{
    return r->onednn->memory_desc_equal(a, b) != 0;
}

size_t one_bytes(const run *r, const one_md *md)
{
    return r->onednn->memory_desc_get_size(md);
}

one_md one_tensor(const run *r, int value)
{
    const run_shape *s = &r->net->values[value].shape;
    const run_layout *layout = r->tensors[value].layout;
    return layout ? layout->md : one_row_major(r, s->rank, s->dims, false);
}

const run_layout *one_layout(const run *r, const one_md *md, const one_md *row_major)
{
    if (one_same(r, md, row_major))
        return NULL;
    run_layout *l = ARENA_NEW(r->arena, run_layout);
    *l = (run_layout){*md, *row_major, one_bytes(r, md)};
    return l;
}

void one_set_output(run *r, int layer, const one_md *md)
{
    int value = run_layer_of(r, layer)->output;
    const run_shape *s = &r->net->values[value].shape;
    one_md row_major = one_row_major(r, s->rank, s->dims, false);
    r->tensors[value].layout = one_layout(r, md, &row_major);
}

size_t onednn_bytes(const run_layout *layout)
{
    return layout->bytes;
}

bool onednn_same(const run *r, const run_layout *a, const run_layout *b)
{
    return one_same(r, &a->md, &b->md);
}

void onednn_convert(run *r, const run_layout *from, const float *source, const run_layout *to, float *target)
{
    one_copy(r, from ? &from->md : &to->row_major, source, to ? &to->md : &from->row_major, target);
}

/* ---- primitives -------------------------------------------------------------------------------------------------- */

bool one_make_of(run *r, int layer, one_call *c, dnnl_status_t status, dnnl_primitive_desc_t desc)
{
    struct onednn *o = r->onednn;
    *c = (one_call){0};
    if (status != dnnl_success)
        return false;
    c->desc = desc;
    if (o->primitive_create(&c->primitive, desc) != dnnl_success) {
        o->primitive_desc_destroy(desc);
        *c = (one_call){0};
        return false;
    }
    one_call **slot = ARENA_PUSH(r->arena, &o->calls);
    *slot = c;
    const one_md *scratch = one_query(r, c, dnnl_query_scratchpad_md);
    if (scratch && one_bytes(r, scratch)) {
        run_need_scratch(r, layer, one_bytes(r, scratch));
        one_arg(r, c, DNNL_ARG_SCRATCHPAD, scratch);
    }
    return true;
}

bool one_make(run *r, int layer, one_call *c, const void *operator, dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status =
        r->onednn->primitive_desc_create(&desc, operator, r->onednn->attributes, r->onednn->engine, hint);
    return one_make_of(r, layer, c, status, desc);
}

const one_md *one_query(const run *r, const one_call *c, dnnl_query_t what)
{
    return r->onednn->primitive_desc_query_md(c->desc, what, 0);
}

void one_arg(const run *r, one_call *c, int argument, const one_md *md)
{
    dnnl_exec_arg_t *a = &c->args[c->count];
    a->arg = argument;
    one_check(r, r->onednn->memory_create(&a->memory, md, r->onednn->engine, DNNL_MEMORY_NONE));
    c->count++;
}

void one_run(run *r, one_call *c, void *const data[])
{
    struct onednn *o = r->onednn;
    for (int i = 0; i < c->count; i++) {
        bool is_scratch = c->args[i].arg == DNNL_ARG_SCRATCHPAD;
        one_check(r, o->memory_set_data_handle(c->args[i].memory, is_scratch ? r->scratch : *data++));
    }
    one_check(r, o->primitive_execute(c->primitive, o->stream, c->count, c->args));
    one_check(r, o->stream_wait(o->stream));
}

static one_reorder *find_reorder(run *r, const one_md *from, const one_md *to)
{
    struct onednn *o = r->onednn;
    for (int32_t i = 0; i < o->reorders.count; i++) {
        one_reorder *known = o->reorders.items[i];
        if (one_same(r, &known->from, from) && one_same(r, &known->to, to))
            return known;
    }
    one_reorder *made = ARENA_NEW(r->arena, one_reorder);
    dnnl_primitive_desc_t desc = NULL;
    made->from = *from;
    made->to = *to;
    /* The library allocates its own workspace here, because reorders are made while the step runs. */
    one_check(r, o->reorder_primitive_desc_create(&desc, from, o->engine, to, o->engine, NULL));
    one_call *c = &made->call;
    c->desc = desc;
    one_check(r, o->primitive_create(&c->primitive, desc));
    one_call **slot = ARENA_PUSH(r->arena, &o->calls);
    *slot = c;
    one_arg(r, c, DNNL_ARG_FROM, from);
    one_arg(r, c, DNNL_ARG_TO, to);
    one_reorder **place = ARENA_PUSH(r->arena, &o->reorders);
    *place = made;
    return made;
}

void one_copy(run *r, const one_md *from, const float *source, const one_md *to, float *target)
{
    one_run(r, &find_reorder(r, from, to)->call, (void *[]){(void *)source, target});
}

/* ---- the backend: products of onednn_products.c, the rest of onednn_maps.c --------------------------------------- */

static const run_backend *part_of(const run *r, int layer)
{
    run_kind kind = run_layer_of(r, layer)->kind;
    return kind == RUN_CONV || kind == RUN_LINEAR ? &ONEDNN_PRODUCTS : &ONEDNN_MAPS;
}

static bool prepare(run *r, int layer)
{
    return part_of(r, layer)->prepare(r, layer);
}

static void forward(run *r, int layer)
{
    part_of(r, layer)->forward(r, layer);
}

static void backward_weights(run *r, int layer)
{
    if (part_of(r, layer)->backward_weights)
        part_of(r, layer)->backward_weights(r, layer);
}

static void backward_data(run *r, int layer)
{
    part_of(r, layer)->backward_data(r, layer);
}

static const char *algorithm(const run *r, int layer)
{
    const one_call *c = r->states[layer]; /* the forward pass is the first member of every layer's state */
    const char *text = "";
    r->onednn->primitive_desc_query(c->desc, dnnl_query_impl_info_str, 0, (void *)&text);
    return text;
}

const run_backend ONEDNN_BACKEND = {"onednn", prepare, forward, backward_weights, backward_data, algorithm};

#endif
