#include "predict/lowered.h"

#include "base/file.h"
#include "graph/ops.h"

#include <stdlib.h>

/* Copies the names of operators without a rule, because the program outlives the file. */
static void keep_names(arena *a, program *p)
{
    for (int32_t i = 0; i < p->kernels.count && p->unknown_count; i++) {
        kernel *k = &p->kernels.items[i];
        if (k->file_op)
            k->file_op = arena_str(a, str_of(k->file_op)).ptr;
    }
}

static bool is_on_device(const program *p, tensor_id t)
{
    return t != NO_TENSOR && !p->tensors.items[t].is_number;
}

/* Returns the list itself if all tensors are on the device. */
static const tensor_id *on_device(arena *a, const program *p, const tensor_id *from, int32_t count, int32_t *kept)
{
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++)
        n += is_on_device(p, from[i]);
    *kept = n;
    if (n == count)
        return from;
    tensor_id *to = arena_room(a, (size_t)n, sizeof *to);
    n = 0;
    for (int32_t i = 0; i < count; i++)
        if (is_on_device(p, from[i]))
            to[n++] = from[i];
    return to;
}

static const device_tensors *list_tensors(arena *a, const program *p)
{
    device_tensors *all = arena_room(a, (size_t)p->kernels.count, sizeof *all);
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->flags & KERNEL_VIEW) { /* Views launch nothing and are not listed. */
            all[i] = (device_tensors){0};
            continue;
        }
        all[i].inputs = on_device(a, p, k->inputs, k->input_count, &all[i].input_count);
        all[i].outputs = on_device(a, p, k->outputs, k->output_count, &all[i].output_count);
    }
    return all;
}

static _Noreturn void too_large(sooth_model *model, const kernel *k, const char *what)
{
    const node *n = k->layer >= 0 && k->layer < model->net.nodes.count ? &model->net.nodes.items[k->layer] : NULL;
    str name = n ? n->name : STR("(outside the layers)"), type = n ? n->type : str_of(kernel_name(k));
    fail_with(
        &model->fail, SOOTH_ERROR_UNSUPPORTED,
        "the %s up to layer '%.*s' (%.*s) are more than can be counted, and its kernel runs %lld times; give smaller "
        "dimensions or a batch that a device can hold",
        what, STR_ARG(name), STR_ARG(type), (long long)k->repeat);
}

static void add_up(sooth_model *model, const kernel *k, int64_t once, int64_t *sum, const char *what)
{
    int64_t all;
    if (__builtin_mul_overflow(once, k->repeat, &all) || __builtin_add_overflow(*sum, all, sum) || once == INT64_MAX)
        too_large(model, k, what);
}

/* Checks that sums over all kernels fit their types. The bound on launches is far above any real program. */
static void check_counts(sooth_model *model, const program *p)
{
    const int64_t most_launches = (int64_t)1 << 40;
    int64_t launches = 0, macs = 0, flops = 0, bytes = 0;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->flags & KERNEL_VIEW)
            continue;
        add_up(model, k, 1, &launches, "kernel launches");
        if (launches > most_launches)
            too_large(model, k, "kernel launches");
        add_up(model, k, k->macs, &macs, "MACs");
        add_up(model, k, k->flops, &flops, "FLOPs");
        add_up(model, k, k->bytes_read, &bytes, "bytes");
        add_up(model, k, k->bytes_written, &bytes, "bytes");
    }
}

size_t lowered_memory_cap(const sooth_model *model)
{
    const size_t least = (size_t)1 << 30, node_bytes = 8 << 10, least_file_bytes = 16;
    size_t nodes = (size_t)model->source.node_count;
    /* Counts no more nodes than the file has room for, because functions may multiply nodes. */
    size_t in_file = model->map ? model->map->size / least_file_bytes : 0;
    if (nodes > in_file)
        nodes = in_file;
    return nodes > SIZE_MAX / 2 / node_bytes ? SIZE_MAX / 2 : nodes * node_bytes > least ? nodes * node_bytes : least;
}

/* True if the program is valid for these options. A compiled program is valid on most devices. */
static bool is_program_for(const lowered *l, const lower_options *options)
{
    return l->program && lower_options_key(&l->options) == lower_options_key(options) &&
           l->program->least_multiprocessors <= options->multiprocessors &&
           l->program->most_multiprocessors >= options->multiprocessors;
}

lowered *lowered_get(sooth_model *model, const lower_options *options)
{
    lowered *l = model->lowered;
    if (model->net.nodes.count == 0)
        fail_with(&model->fail, SOOTH_ERROR_INPUT,
                  "there are no operators in this file, so nothing runs that could be predicted: name the file with "
                  "the graph, or "
                  "the config.json of a language model");
    if (!l || !is_program_for(l, options)) {
        lowered_release(l);
        model->lowered = l = calloc(1, sizeof *l);
        if (!l)
            fail_with(&model->fail, SOOTH_ERROR_SYSTEM, "out of memory");
        atomic_init(&l->holders, 1); /* The model owns it and frees it if lowering fails. */
        l->options = *options;
        arena_init(&l->arena, &model->fail, lowered_memory_cap(model));
        /* Larger than most programs need, so that malloc reuses the block for the next network. */
        l->arena.block_bytes = (size_t)1 << 21;
        program *p = lower(model, options, &l->arena);
        check_counts(model, p);
        keep_names(&l->arena, p);
        l->works = work_of_program(p, &l->arena);
        l->tensors = list_tensors(&l->arena, p);
        l->arena.fail = NULL; /* The model may be freed first, so later allocations have nowhere to fail. */
        l->program = p;
    }
    atomic_fetch_add(&l->holders, 1);
    return l;
}

lowered_hold *lowered_take(sooth_model *model, const lower_options *options, arena *a)
{
    lowered_hold *hold = ARENA_NEW(a, lowered_hold);
    hold->lowered = lowered_get(model, options);
    hold->before = model->holds;
    model->holds = hold;
    return hold;
}

void lowered_give_back(lowered_hold *hold)
{
    lowered_release(hold->lowered);
    hold->lowered = NULL;
}

void lowered_end_holds(sooth_model *model)
{
    for (lowered_hold *hold = model->holds; hold; hold = hold->before)
        lowered_release(hold->lowered);
    model->holds = NULL;
}

static bool is_same_key(const footprint_key *a, const footprint_key *b)
{
    return a->version == b->version && a->autotunes == b->autotunes && a->returns == b->returns &&
           a->norms_in_place == b->norms_in_place;
}

footprint lowered_footprint(lowered *l, sooth_model *model, const setting *where, arena *own, memory_trial *trial,
                            arena *trial_arena)
{
    footprint_key key = footprint_key_of(where);
    const kernel_workspace *workspaces = workspaces_of(l->program, &l->works, where, own);
    const footprint_basis *basis;
    kept_uses *uses = NULL;
    int at = 0;
    while (at < KEPT_BASES && l->bases[at].basis && !is_same_key(&l->bases[at].key, &key))
        at++;
    l->arena.fail = &model->fail;
    if (at == KEPT_BASES) {
        basis = footprint_basis_of(l->program, &model->net, &l->options, key, own, own);
    } else if (!l->bases[at].basis) {
        arena_mark mark = arena_marked(own);
        basis = footprint_basis_of(l->program, &model->net, &l->options, key, &l->arena, own);
        arena_rewind(own, mark);
        l->bases[at].key = key;
        l->bases[at].basis = basis;
        uses = &l->bases[at].uses;
    } else {
        basis = l->bases[at].basis;
        uses = &l->bases[at].uses;
    }
    footprint f = footprint_of(basis, where, workspaces, uses, &l->arena, own);
    f.workspaces = workspaces;
    l->arena.fail = NULL;
    if (trial)
        memory_trial_keep(trial, &f, basis, where, workspaces, trial_arena);
    return f;
}

static const char *keep(arena *a, str s)
{
    return s.len ? arena_str(a, s).ptr : "";
}

const layer_names *lowered_names(lowered *l, sooth_model *model, int32_t *count)
{
    static const char *const OUTSIDE[OUTSIDE_COUNT] = {
        [PHASE_FORWARD] = "(loss)", [PHASE_BACKWARD] = "(loss backward)", [PHASE_UPDATE] = "(optimizer)"};
    const network *net = &model->net;
    *count = net->nodes.count + OUTSIDE_COUNT;
    if (l->names)
        return l->names;
    l->arena.fail = &model->fail;
    layer_names *names = arena_room(&l->arena, (size_t)*count, sizeof *names);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        names[i].name = keep(&l->arena, n->name);
        names[i].op = n->op ? n->op->name : keep(&l->arena, n->type);
    }
    for (int i = 0; i < OUTSIDE_COUNT; i++) {
        bool is_plain = i == PHASE_FORWARD && l->options.mode != MODE_TRAIN;
        names[net->nodes.count + i] = (layer_names){is_plain ? "(outside the layers)" : OUTSIDE[i], ""};
    }
    l->arena.fail = NULL;
    return l->names = names;
}

void lowered_release(lowered *l)
{
    if (!l || atomic_fetch_sub(&l->holders, 1) > 1)
        return;
    arena_free(&l->arena);
    free(l);
}

void lowered_forget(sooth_model *model)
{
    lowered_release(model->lowered);
    model->lowered = NULL;
}
