#include "plan/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double MOST_POINTS = 1e9;
enum { POINTS_AT_ONCE = 1024, MOST_LIST = 64 };

/* ---- settings ---------------------------------------------------------------------------------------------------- */

typedef struct name_list {
    const char *names[MOST_LIST];
    size_t count;
} name_list;

/* Splits a comma-separated list. Without a list, the result is one NULL, the default. */
static name_list split(const char *list, const char *key, arena *a, fail *f)
{
    name_list l = {.count = 0};
    if (!list)
        return (name_list){.names = {NULL}, .count = 1};
    while (true) {
        size_t length = strcspn(list, ","), begin = strspn(list, " "), end = length;
        while (end > begin && list[end - 1] == ' ')
            end--;
        if (begin >= end)
            fail_with(f, SOOTH_ERROR_USAGE, "an empty name in the list of '%s'", key);
        str name = {list + begin, end - begin};
        for (size_t i = 0; i < l.count; i++)
            if (str_is(name, l.names[i]))
                fail_with(f, SOOTH_ERROR_USAGE, "'%.*s' is twice in the list of '%s'", STR_ARG(name), key);
        if (l.count == MOST_LIST)
            fail_with(f, SOOTH_ERROR_USAGE, "more than %d names in the list of '%s'", MOST_LIST, key);
        l.names[l.count++] = arena_str(a, name).ptr;
        if (!list[length])
            return l;
        list += length + 1;
    }
}

static bool has_slice(const sooth_gpu *gpu, const char *name)
{
    for (size_t i = 0; i < sooth_mig_count(gpu); i++)
        if (strcmp(sooth_mig_at(gpu, i).name, name) == 0)
            return true;
    return false;
}

/* Sets the names as predictions report them. Fails for invalid names before anything is computed. Returns false if
 * the GPU does not support the setting. */
static bool settle(sweep_setting *s, sooth_model *probe, sweep *sw, arena *a, fail *f)
{
    sooth_error error;
    sooth_prediction *p;
    sooth_status status = sooth_predict(probe, &s->options, &p, &error);
    if (status == SOOTH_ERROR_UNSUPPORTED)
        return false;
    if (status != SOOTH_OK)
        fail_with(f, status, "%s", error.message);
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    const char *const from[] = {t.gpu, t.mig, t.precision, t.layout, t.runtime, t.mode, t.stack, t.weights};
    const char **const to[] = {&s->gpu_name, &s->mig,  &s->precision, &s->layout,
                               &s->runtime,  &s->mode, &s->stack,     &sw->weights};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        *to[i] = arena_str(a, str_of(from[i])).ptr;
    s->optimizer = strcmp(t.mode, "train") == 0 ? arena_str(a, str_of(t.optimizer)).ptr : "";
    sooth_prediction_free(p);
    return true;
}

typedef struct setting_list {
    sweep_setting *items;
    int32_t count, capacity;
} setting_list;

/* Adds all GPUs and slices in one setting. */
static void add_devices(setting_list *list, sweep *sw, sooth_model *probe, const sweep_options *o,
                        const name_list *slices, const sooth_predict_options *like, arena *a, fail *f)
{
    for (size_t g = 0; g < o->gpu_count; g++)
        for (size_t i = 0; i < slices->count; i++) {
            const char *slice = slices->names[i];
            bool is_whole = !slice || strcmp(slice, "whole") == 0;
            sweep_setting s = {.gpu = o->gpus[g], .options = *like};
            if (!is_whole && !has_slice(o->gpus[g], slice))
                continue;
            s.options.device = o->gpus[g];
            s.options.mig = is_whole ? NULL : slice;
            if (settle(&s, probe, sw, a, f))
                *(sweep_setting *)ARENA_PUSH(a, list) = s;
        }
}

static void list_settings(sweep *sw, sooth_model *probe, const char *const lists[STUDY_KEYS], const sweep_options *o,
                          arena *a, fail *f)
{
    name_list names[STUDY_KEYS];
    setting_list list = {0};
    size_t all = 1;
    for (int k = STUDY_SLICE; k < STUDY_KEYS; k++) {
        names[k] = split(lists[k], STUDY_KEY_NAMES[k], a, f);
        all *= k > STUDY_SLICE ? names[k].count : 1;
    }
    for (size_t i = 0; i < all; i++) {
        size_t rest = i;
        const char *chosen[STUDY_KEYS] = {NULL};
        for (int k = STUDY_KEYS - 1; k > STUDY_SLICE; k--) {
            chosen[k] = names[k].names[rest % names[k].count];
            rest /= names[k].count;
        }
        sooth_predict_options like = {.predictor = o->predictor,
                                      .precision = chosen[STUDY_PRECISION],
                                      .layout = chosen[STUDY_LAYOUT],
                                      .runtime = chosen[STUDY_RUNTIME],
                                      .mode = chosen[STUDY_MODE],
                                      .optimizer = chosen[STUDY_OPTIMIZER],
                                      .stack = chosen[STUDY_STACK],
                                      .memory = o->memory};
        add_devices(&list, sw, probe, o, &names[STUDY_SLICE], &like, a, f);
    }
    if (!list.count)
        fail_with(f, SOOTH_ERROR_USAGE, "no GPU of the plan has the slices and supports the settings that it names");
    sw->settings = list.items;
    sw->setting_count = (size_t)list.count;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_binding(const space_choice *c)
{
    return str_is(c->name, "batch") || str_starts(c->name, "dim.");
}

/* Moves the choices that bind dimensions to the end; sets *bindings to the number of their combinations. */
static const space *bindings_last(const space *from, uint64_t *bindings, arena *a)
{
    space *s = arena_copy(a, from, 1, sizeof *s);
    int32_t count = 0;
    *bindings = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < from->choice_count; i++)
            if (is_binding(&from->choices[i]) == (pass == 1)) {
                s->choices[count++] = from->choices[i];
                *bindings *= pass ? (uint64_t)from->choices[i].count : 1;
            }
    return s;
}

static void number_families(sweep *sw, const study_plan *plan, arena *a, fail *f)
{
    size_t count = (size_t)plan->families.count;
    sweep_family *families = ARENA_ARRAY(a, sweep_family, count);
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += plan->families.items[i].space->candidates;
    if (!(all * (double)sw->setting_count <= MOST_POINTS))
        fail_with(
            f, SOOTH_ERROR_USAGE,
            "the plan has %.12g combinations (%.12g networks and batches on %zu GPUs, slices and settings); a sweep "
            "takes at most %.0f: leave values out",
            all * (double)sw->setting_count, all, sw->setting_count, MOST_POINTS);
    for (size_t i = 0; i < count; i++) {
        const study_family *from = &plan->families.items[i];
        sweep_family *to = &families[i];
        uint64_t bindings;
        to->name = arena_str(a, from->name).ptr;
        to->graph = arena_str(a, from->space->graph).ptr;
        to->space = bindings_last(from->space, &bindings, a);
        to->candidates = (uint64_t)from->space->candidates;
        to->first = sw->networks;
        uint64_t at_once = POINTS_AT_ONCE / sw->setting_count;
        to->chunk = at_once >= bindings ? at_once / bindings * bindings : at_once ? at_once : 1;
        to->first_chunk = sw->chunk_count;
        to->chunk_count = (size_t)((to->candidates + to->chunk - 1) / to->chunk);
        sw->chunk_count += to->chunk_count;
        sw->networks += to->candidates;
    }
    sw->families = families;
    sw->family_count = count;
    sw->points = sw->networks * sw->setting_count;
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
    const uint8_t *at = from;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *s)
{
    return mix(hash, s, strlen(s) + 1);
}

static uint64_t identity_of(const sweep *sw, const study_plan *plan)
{
    uint64_t hash = mix_text(mix_text(0xcbf29ce484222325u, sooth_version()), sw->weights);
    hash = mix(hash, plan->text.ptr, plan->text.len);
    hash = mix(hash, &sw->memory, sizeof sw->memory);
    for (size_t i = 0; i < sw->setting_count; i++) {
        const sweep_setting *s = &sw->settings[i];
        const char *field;
        hash = mix_text(mix_text(mix_text(mix_text(hash, s->gpu_name), s->mig), s->precision), s->layout);
        hash = mix_text(mix_text(mix_text(mix_text(hash, s->runtime), s->mode), s->optimizer), s->stack);
        for (size_t k = 0; (field = sooth_gpu_field(k)); k++) {
            double number = sooth_gpu_number(s->gpu, field);
            hash = mix(hash, &number, sizeof number);
        }
    }
    return hash;
}

static sooth_model *probe_model(fail *f)
{
    sooth_error error;
    sooth_model *model;
    sooth_status status = sooth_load_file("zoo:nasbench201", &model, &error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, &(sooth_options){.batch = 1}, &error);
    if (status != SOOTH_OK) {
        sooth_free(model);
        fail_with(f, status, "%s", error.message);
    }
    return model;
}

/* A separate function, because it calls setjmp: the model is freed even after a failure. */
static bool list_with(sweep *sw, sooth_model *probe, const char *const lists[STUDY_KEYS], const sweep_options *o,
                      arena *a, fail *f)
{
    fail outer = *f;
    bool good = !setjmp(f->jump);
    if (good)
        list_settings(sw, probe, lists, o, a, f);
    *f = outer;
    return good;
}

const sweep *sweep_prepare(const study_plan *plan, const sweep_options *o, arena *a, fail *f)
{
    sweep *sw = ARENA_NEW(a, sweep);
    const char *lists[STUDY_KEYS];
    for (int k = 0; k < STUDY_KEYS; k++)
        lists[k] = o->lists[k] ? o->lists[k] : plan->lists[k];
    sw->predictor = o->predictor;
    sw->memory = o->memory;
    sooth_model *probe = probe_model(f);
    bool good = list_with(sw, probe, lists, o, a, f);
    sooth_free(probe);
    if (!good)
        longjmp(f->jump, 1);
    number_families(sw, plan, a, f);
    sw->identity = identity_of(sw, plan);
    return sw;
}

const sweep_family *sweep_chunk(const sweep *s, size_t chunk, uint64_t *from, uint64_t *count)
{
    const sweep_family *family = s->families;
    while (chunk >= family->first_chunk + family->chunk_count)
        family++;
    *from = (chunk - family->first_chunk) * family->chunk;
    uint64_t left = family->candidates - *from;
    *count = left < family->chunk ? left : family->chunk;
    return family;
}

/* ---- computing --------------------------------------------------------------------------------------------------- */

static void put_network(bytes *b, const char *error, const sooth_options *dims, const sooth_totals *t)
{
    bytes_str(b, str_of(error));
    const int64_t numbers[] = {dims->batch, t ? t->params : 0, t ? t->macs : 0, t ? t->flops : 0};
    bytes_add(b, numbers, sizeof numbers);
}

static void put_point(bytes *b, const char *error, const double numbers[13])
{
    bytes_str(b, str_of(error));
    bytes_add(b, numbers, 13 * sizeof *numbers);
}

static void put_missing(bytes *b, const char *error)
{
    double none[13];
    for (int i = 0; i < 13; i++)
        none[i] = NAN;
    put_point(b, error, none);
}

static void predict_point(sooth_model *model, const sweep_setting *s, bytes *b)
{
    sooth_error error;
    sooth_prediction *p;
    if (sooth_predict(model, &s->options, &p, &error) != SOOTH_OK) {
        put_missing(b, error.message);
        return;
    }
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    sooth_memory m = sooth_prediction_memory(p);
    sooth_interval memory = m.known ? m.total_mib : (sooth_interval){NAN, NAN, NAN};
    const double numbers[13] = {t.latency_ms.value, t.latency_ms.low,   t.latency_ms.high, t.energy_j.value,
                                t.energy_j.low,     t.energy_j.high,    memory.value,      memory.low,
                                memory.high,        t.throughput_per_s, t.compute_share,   t.dram_share,
                                t.occupancy};
    put_point(b, "", numbers);
    sooth_prediction_free(p);
}

typedef struct chunk_state {
    sooth_model *model;
    char spec[SPACE_GRAPH_ROOM];
    sooth_error error; /* Error of loading. */
} chunk_state;

/* Loads the network with this number, or keeps the loaded one if the graph is the same. Returns false if it cannot
 * be built. */
static bool load(chunk_state *c, const sweep_family *family, const genes *g)
{
    char spec[SPACE_GRAPH_ROOM];
    fail f = {.error = &c->error};
    if (setjmp(f.jump)) {
        c->spec[0] = '\0';
        return false;
    }
    space_graph(family->space, g, spec, &f);
    if (strcmp(spec, c->spec) == 0)
        return c->model != NULL;
    sooth_free(c->model);
    memcpy(c->spec, spec, sizeof c->spec);
    return sooth_load_file(spec, &c->model, &c->error) == SOOTH_OK;
}

static void compute_network(const sweep *s, chunk_state *c, const sweep_family *family, uint64_t number, bytes *b)
{
    sooth_dim_binding bindings[SPACE_MAX_CHOICES];
    sooth_options dims;
    sooth_error error;
    genes g = space_candidate(family->space, number);
    study_bind(family->space, &g, 1, &dims, bindings);
    if (!load(c, family, &g)) {
        put_network(b, c->error.message, &dims, NULL);
        return;
    }
    if (sooth_bind(c->model, &dims, &error) != SOOTH_OK) {
        put_network(b, error.message, &dims, NULL);
        return;
    }
    sooth_totals t = sooth_totals_of(c->model);
    put_network(b, "", &dims, &t);
    for (size_t i = 0; i < s->setting_count; i++)
        predict_point(c->model, &s->settings[i], b);
}

void sweep_compute(const sweep *s, size_t chunk, bytes *result)
{
    uint64_t from, count;
    const sweep_family *family = sweep_chunk(s, chunk, &from, &count);
    chunk_state c = {.spec = ""};
    for (uint64_t i = 0; i < count; i++)
        compute_network(s, &c, family, from + i, result);
    sooth_free(c.model);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

sweep_network sweep_take_network(str *at)
{
    sweep_network n;
    n.error = bytes_take_str(at).ptr;
    n.batch = bytes_take_whole(at);
    n.params = bytes_take_whole(at);
    n.macs = bytes_take_whole(at);
    n.flops = bytes_take_whole(at);
    return n;
}

static sooth_interval take_interval(str *at)
{
    sooth_interval x;
    x.value = bytes_take_real(at);
    x.low = bytes_take_real(at);
    x.high = bytes_take_real(at);
    return x;
}

sweep_point sweep_take_point(str *at)
{
    sweep_point p;
    p.error = bytes_take_str(at).ptr;
    p.latency_ms = take_interval(at);
    p.energy_j = take_interval(at);
    p.memory_mib = take_interval(at);
    p.throughput_per_s = bytes_take_real(at);
    p.utilization = bytes_take_real(at);
    p.dram_utilization = bytes_take_real(at);
    p.occupancy = bytes_take_real(at);
    return p;
}
