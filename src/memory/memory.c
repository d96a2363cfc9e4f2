/* memory.c: a pass or a step of training as a sequence of requests to the allocator. */
#include "memory/memory.h"
#include "memory/allocator.h"
#include "memory/backend.h"

typedef struct player {
    const memory_question *question;
    const program *program;
    memory_use *use;
    const lifetime *lifetimes;
    allocator *allocator;
    allocation *blocks;    /* by storage */
    bool *was_held;        /* by storage: a kernel wrote it, or it was there before */
    int32_t *dying, *next; /* by kernel: the first storage that dies behind it; by storage: the one after it */
    allocation
        products[2]; /* the workspace for matrix products: of the forward pass, of the thread that runs the way back */
    int64_t live;    /* bytes of tensors */
    const bool *is_tuned; /* by kernel; NULL: none is */
    bool turns_back;      /* convolutions turn maps to channels last that norms have turned away from it */
    bool is_first_step, is_last_step;
} player;

static bool is_product(const kernel *k)
{
    return k->macs > 0 && !k->window && !strstr(k->op, "attention");
}

/* ---- autotuning ------------------------------------------------------------------------------------------------------ */

static bool is_alike(const program *p, tensor_id x, tensor_id y)
{
    const placed_tensor *a = &p->tensors.items[x], *b = &p->tensors.items[y];
    if (a->rank != b->rank || a->dtype != b->dtype)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || a->strides[i] != b->strides[i])
            return false;
    return true;
}

static bool is_same_window(const kernel_window *a, const kernel_window *b)
{
    if (a->rank != b->rank || a->transposed != b->transposed || a->groups != b->groups)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->size[i] != b->size[i] || a->stride[i] != b->stride[i] || a->padding[i] != b->padding[i] ||
            a->dilation[i] != b->dilation[i])
            return false;
    return true;
}

static bool is_same_convolution(const program *p, const kernel *a, const kernel *b)
{
    enum { COMPARED = 3 }; /* gradient, input, weight */
    if (strcmp(a->op, b->op) != 0 || a->input_count != b->input_count || !is_same_window(a->window, b->window))
        return false;
    for (int32_t i = 0; i < a->input_count && i < COMPARED; i++)
        if (!is_alike(p, a->inputs[i], b->inputs[i]))
            return false;
    return true;
}

/* By kernel: cuDNN tries it out. It does so once for all convolutions of a kind; `count` of them. */
static bool *find_tuned(const program *p, int version, int32_t *count, arena *a)
{
    bool *is_tuned = ARENA_ARRAY(a, bool, (size_t)p->kernels.count + 1);
    int32_t *kinds = arena_room(a, (size_t)p->kernels.count + 1, sizeof *kinds);
    *count = 0;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (!k->window || k->macs <= 0 || (is_depthwise(p, k) && !depthwise_uses_cudnn(p, k, version)))
            continue;
        is_tuned[i] = true;
        for (int32_t j = *count - 1; j >= 0 && is_tuned[i]; j--)
            is_tuned[i] = !is_same_convolution(p, k, &p->kernels.items[kinds[j]]);
        if (is_tuned[i])
            kinds[(*count)++] = i;
    }
    return is_tuned;
}

int32_t memory_tuned_convolutions(const program *p, int version, arena *a)
{
    int32_t count;
    find_tuned(p, version, &count, a);
    return count;
}

/* ---- requests -------------------------------------------------------------------------------------------------------- */

static allocation take(player *p, int64_t bytes)
{
    allocation block = allocator_take(p->allocator, bytes);
    p->use->fits &= block != NO_ALLOCATION;
    return block;
}

static void hold(player *p, int32_t storage)
{
    const lifetime *l = &p->lifetimes[storage];
    allocation before = p->blocks[storage];
    if (l->bytes == 0 || (before != NO_ALLOCATION && l->birth == BEFORE_ALL))
        return;
    p->blocks[storage] = take(p, l->bytes);
    p->was_held[storage] = true;
    p->live += l->bytes;
    if (before != NO_ALLOCATION) { /* of the last step, until its name has the new one */
        allocator_give(p->allocator, before);
        p->live -= l->bytes;
    }
}

static void let_go(player *p, int32_t storage)
{
    if (p->blocks[storage] == NO_ALLOCATION)
        return;
    allocator_give(p->allocator, p->blocks[storage]);
    p->blocks[storage] = NO_ALLOCATION;
    p->live -= p->lifetimes[storage].bytes;
}

static void hold_outputs(player *p, int32_t kernel_index)
{
    const kernel *k = &p->program->kernels.items[kernel_index];
    for (int32_t i = 0; i < k->output_count; i++) {
        int32_t storage = p->program->tensors.items[k->outputs[i]].storage;
        const lifetime *l = &p->lifetimes[storage];
        if (l->birth == kernel_index || (l->birth == BEFORE_ALL && p->blocks[storage] == NO_ALLOCATION))
            hold(p, storage);
    }
}

static void hold_products_workspace(player *p, const kernel *k)
{
    allocation *block = &p->products[k->phase != PHASE_FORWARD];
    if (*block == NO_ALLOCATION && p->question->product_workspace_bytes > 0 && is_product(k))
        *block = take(p, p->question->product_workspace_bytes);
}

static void note(player *p, int32_t kernel_index)
{
    memory_use *u = p->use;
    int phase = p->program->kernels.items[kernel_index].phase;
    int64_t now = allocator_allocated(p->allocator);
    if (p->is_last_step) {
        if (now > u->of_kernel[kernel_index])
            u->of_kernel[kernel_index] = now;
        u->reserved_of_kernel[kernel_index] = allocator_reserved(p->allocator);
    }
    if (now > u->allocated) {
        u->allocated = now;
        u->peak_kernel = kernel_index;
    }
    if (p->live > u->live_peak[phase] && p->is_last_step)
        u->live_peak[phase] = p->live;
}

static void work_in(player *p, int32_t kernel_index, int64_t bytes)
{
    /* Without room for it, PyTorch goes on to an algorithm that needs less. */
    allocation room = bytes > 0 ? allocator_take(p->allocator, bytes) : NO_ALLOCATION;
    note(p, kernel_index);
    if (room != NO_ALLOCATION)
        allocator_give(p->allocator, room);
}

static bool is_contiguous(const placed_tensor *t)
{
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != stride)
            return false;
        stride *= t->dims[i];
    }
    return true;
}

/* Group norms have written channels first whatever they read (2.4 still does, 2.15 does not). Convolutions turn maps back if their weights
 * lie channels last, as those do that are parameters; where weights are computed in every pass, maps stay turned behind the first norm. */
static bool turns_maps_back(const program *p, int version)
{
    for (int32_t i = 0; version < 209 && i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->phase == PHASE_FORWARD && k->window && k->macs > 0 && k->input_count > 1 && k->window->size[0] > 1 &&
            is_channels_last(&p->tensors.items[k->inputs[1]]))
            return true;
    }
    return false;
}

/* Numbers of 64 bits. */
static int64_t places_bytes(const placed_tensor *t)
{
    return dense_bytes(t) * 64 / dtype_bits(t->dtype);
}

/* What an operator makes for itself: where the largest elements of a pooling were, and copies of what it reads where elements do not lie
 * one behind the other. */
static int64_t bytes_beside(const player *p, const kernel *k)
{
    const placed_tensor *tensors = p->program->tensors.items;
    if (k->phase != PHASE_FORWARD || k->input_count < 1 || k->output_count < 1)
        return 0;
    bool copies;
    switch (k->op[0]) {
    case 'm':
        if (strcmp(k->op, "max_pool2d_with_indices") != 0 || k->output_count > 1)
            return 0;
        return places_bytes(&tensors[k->outputs[0]]);
    case 'n':
        copies = strcmp(k->op, "native_layer_norm") == 0 || (strcmp(k->op, "native_group_norm") == 0 && p->turns_back);
        break;
    default:
        copies = k->op[0] == '_' && strcmp(k->op, "_softmax") == 0;
    }
    const placed_tensor *in = &tensors[k->inputs[0]];
    return copies && !is_contiguous(in) ? dense_bytes(in) : 0;
}

/* A compiler's kernels are tried out when they are first called. Up to PyTorch 2.5 copies of what they write over are made for that, whatever
 * room there is; later ones go to the host where memory would not be enough. */
static int64_t bytes_tried(const player *p, const kernel *k)
{
    enum { SPARES_MEMORY = 206 };
    int64_t bytes = 256000000; /* what triton's do_bench() clears caches with */
    if (!p->is_first_step || p->question->version >= SPARES_MEMORY ||
        p->question->options->runtime != RUNTIME_INDUCTOR || !kernel_is_compiled(k))
        return 0;
    for (int32_t i = 0; i < k->output_count; i++) {
        const placed_tensor *t = &p->program->tensors.items[k->outputs[i]];
        bytes += p->lifetimes[t->storage].bytes == 0 && !t->is_number ? dense_bytes(t) : 0;
    }
    return bytes;
}

static void play_kernel(player *p, int32_t i)
{
    const kernel *k = &p->program->kernels.items[i];
    for (int32_t inner = i + 1; inner < p->program->kernels.count; inner++) { /* copies that it makes of its inputs */
        if (!(p->program->kernels.items[inner].flags & KERNEL_HIDDEN))
            break;
        for (int32_t o = 0; !(k->flags & KERNEL_HIDDEN) && o < p->program->kernels.items[inner].output_count; o++) {
            int32_t storage = p->program->tensors.items[p->program->kernels.items[inner].outputs[o]].storage;
            if (p->lifetimes[storage].birth == inner)
                hold(p, storage);
        }
    }
    if (!(k->flags & KERNEL_HIDDEN))
        hold_outputs(p, i);
    int64_t beside = bytes_beside(p, k) + bytes_tried(p, k);
    allocation indices = beside > 0 ? take(p, beside) : NO_ALLOCATION;
    p->live += beside;
    hold_products_workspace(p, k);
    const kernel_workspace none = {0}, *rooms = p->question->workspaces ? &p->question->workspaces[i] : &none;
    work_in(p, i, rooms->first);
    if (rooms->second > 0)
        work_in(p, i, rooms->second);
    if (p->is_tuned && p->is_tuned[i] && p->is_first_step)
        allocator_empty_cache(p->allocator);
    p->live -= beside;
    if (indices != NO_ALLOCATION)
        allocator_give(p->allocator, indices);
    for (int32_t storage = p->dying[i]; storage >= 0; storage = p->next[storage])
        let_go(p, storage);
}

/* Those that tensors on the device have before the first pass: weights as the network is moved there, then inputs. */
static void hold_first(player *p, memory_part part)
{
    for (int32_t i = 0; i < p->program->storage_count; i++)
        if (p->lifetimes[i].part == part && p->lifetimes[i].birth == BEFORE_ALL && p->lifetimes[i].bytes > 0)
            hold(p, i);
}

/* Behind a step that is a function of its own: its variables end. */
static void let_outputs_go(player *p)
{
    for (int32_t i = 0; i < p->program->storage_count; i++) {
        const lifetime *l = &p->lifetimes[i];
        if (l->part == MEMORY_ACTIVATIONS && l->birth >= 0 && l->death == INT32_MAX)
            let_go(p, i);
    }
}

static void play_step(player *p)
{
    const program *of = p->program;
    for (int32_t i = 0; i < of->storage_count; i++) /* zero_grad() */
        if (p->lifetimes[i].part == MEMORY_GRADIENTS && p->lifetimes[i].birth >= 0)
            let_go(p, i);
    p->use->live_before = p->live;
    for (int32_t i = 0; i < of->kernels.count && p->use->fits; i++) {
        int phase = of->kernels.items[i].phase;
        play_kernel(p, i);
        p->use->live_end[phase] = p->live;
        if (!p->use->fits)
            p->use->failed_kernel = i;
    }
    if (p->question->returns)
        let_outputs_go(p);
}

static void sum_parts(player *p)
{
    memory_use *u = p->use;
    int32_t at = u->peak_kernel;
    for (int32_t i = 0; i < p->program->storage_count; i++) {
        const lifetime *l = &p->lifetimes[i];
        if (l->bytes > 0 && p->was_held[i] && l->birth <= at && l->death >= at)
            u->parts[l->part] += allocator_rounded(l->bytes);
    }
    int64_t sum = 0;
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        sum += u->parts[i];
    u->parts[MEMORY_WORKSPACE] = u->allocated > sum ? u->allocated - sum : 0;
}

static void sum_saved(player *p)
{
    for (int32_t i = 0; i < p->program->storage_count; i++) {
        const lifetime *l = &p->lifetimes[i];
        if (l->birth >= 0 && l->bytes > 0 && p->program->kernels.items[l->birth].phase == PHASE_FORWARD &&
            p->program->kernels.items[l->read].phase == PHASE_BACKWARD)
            p->use->saved += l->bytes;
    }
}

memory_use *memory_of(const memory_question *q, arena *a)
{
    const program *of = q->program;
    size_t kernels = (size_t)of->kernels.count + 1, storages = (size_t)of->storage_count + 1;
    memory_use *u = ARENA_NEW(a, memory_use);
    u->fits = true;
    u->failed_kernel = -1;
    u->lifetimes = q->lifetimes;
    u->of_kernel = ARENA_ARRAY(a, int64_t, kernels);
    u->reserved_of_kernel = ARENA_ARRAY(a, int64_t, kernels);
    int32_t tuned;
    player p = {.question = q,
                .program = of,
                .use = u,
                .lifetimes = u->lifetimes,
                .allocator = allocator_new(a, q->limit_bytes),
                .blocks = arena_room(a, storages, sizeof(allocation)),
                .was_held = ARENA_ARRAY(a, bool, storages),
                .dying = arena_room(a, kernels, sizeof(int32_t)),
                .next = arena_room(a, storages, sizeof(int32_t)),
                .products = {NO_ALLOCATION, NO_ALLOCATION},
                .turns_back = turns_maps_back(of, q->version),
                .is_tuned = q->autotunes ? find_tuned(of, q->version, &tuned, a) : NULL};
    for (int32_t i = 0; i < of->kernels.count; i++)
        p.dying[i] = -1;
    for (int32_t i = of->storage_count - 1; i >= 0; i--) {
        p.blocks[i] = NO_ALLOCATION;
        int32_t death = u->lifetimes[i].death;
        if (death < 0 || death >= of->kernels.count)
            continue;
        p.next[i] = p.dying[death];
        p.dying[death] = i;
    }
    hold_first(&p, MEMORY_WEIGHTS);
    hold_first(&p, MEMORY_INPUTS);
    /* The first step makes the optimizer's state. Where it empties the cache at every convolution that it tries out, segments are cut anew in those
     * behind it, and it takes some until nothing changes any more. */
    enum { STEPS_TO_SETTLE = 4 };
    int steps = q->autotunes ? STEPS_TO_SETTLE : q->options->mode == MODE_TRAIN ? 2 : 1;
    for (int step = 1; step <= steps && u->fits; step++) {
        p.is_first_step = step == 1;
        p.is_last_step = step == steps;
        play_step(&p);
    }
    u->reserved = allocator_peak_reserved(p.allocator);
    sum_parts(&p);
    sum_saved(&p);
    return u;
}
