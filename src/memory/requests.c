/* requests.c: walks through a program in launch order and records its requests to the allocator. */
#include "memory/requests.h"
#include "memory/backend.h"

typedef struct recorder {
    const requests_question *question;
    const program *program;
    const lifetime *lifetimes;
    memory_requests *to;
    arena *scratch;
    struct {
        request *items;
        int32_t count, capacity;
    } requests;
    struct {
        int64_t *items;
        int32_t count, capacity;
    } beside;
    /* Both indexed by storage: currently allocated; has contents (from a kernel, or from before the pass). */
    bool *is_held, *was_held;
    /* Linked lists of the storages freed after a kernel: the first one, indexed by kernel, and the next one, indexed
     * by storage. */
    int32_t *dying, *next;
    const bool *is_tuned; /* Indexed by kernel; NULL if none is autotuned. */
    bool has_products[2];
    bool turns_back; /* Convolutions convert maps back to channels last after norms. */
    bool is_first_step, is_last_step;
    int64_t live; /* Bytes of tensors. */
} recorder;

static bool is_product(const kernel *k)
{
    return k->macs > 0 && !k->window && !strstr(k->op, "attention");
}

/* ---- autotuning -------------------------------------------------------------------------------------------------- */

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
    enum { COMPARED = 3 }; /* The gradient, the input and the weight. */
    if (strcmp(a->op, b->op) != 0 || a->input_count != b->input_count || !is_same_window(a->window, b->window))
        return false;
    for (int32_t i = 0; i < a->input_count && i < COMPARED; i++)
        if (!is_alike(p, a->inputs[i], b->inputs[i]))
            return false;
    return true;
}

/* Marks the kernels that cuDNN autotunes, one per kind of convolution, indexed by kernel. Sets `count` to their
 * number. */
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

/* ---- storages ---------------------------------------------------------------------------------------------------- */

static inline void ask(recorder *r, request_kind kind, int32_t index)
{
    *(request *)ARENA_PUSH_ROOM(r->scratch, &r->requests) = (request){kind, index};
}

static void hold(recorder *r, int32_t storage)
{
    const lifetime *l = &r->lifetimes[storage];
    bool is_held = r->is_held[storage];
    if (l->bytes == 0 || (is_held && l->birth == BEFORE_ALL))
        return;
    /* A variable keeps an output of the last step until it receives the new one. */
    ask(r, is_held ? REQUEST_RENEW : REQUEST_TAKE, storage);
    r->is_held[storage] = r->was_held[storage] = true;
    r->live += is_held ? 0 : l->bytes;
}

static void let_go(recorder *r, int32_t storage)
{
    if (!r->is_held[storage])
        return;
    ask(r, REQUEST_GIVE, storage);
    r->is_held[storage] = false;
    r->live -= r->lifetimes[storage].bytes;
}

static void hold_outputs(recorder *r, int32_t kernel_index)
{
    const kernel *k = &r->program->kernels.items[kernel_index];
    for (int32_t i = 0; i < k->output_count; i++) {
        int32_t storage = r->program->tensors.items[k->outputs[i]].storage;
        const lifetime *l = &r->lifetimes[storage];
        if (l->birth == kernel_index || (l->birth == BEFORE_ALL && !r->is_held[storage]))
            hold(r, storage);
    }
}

/* Hidden kernels that copy inputs of this kernel come after it in the list but run before it, so their outputs are
 * held now. */
static void hold_copies(recorder *r, int32_t kernel_index)
{
    const kernel *kernels = r->program->kernels.items;
    for (int32_t i = kernel_index + 1; i < r->program->kernels.count && kernels[i].flags & KERNEL_HIDDEN; i++) {
        for (int32_t o = 0; o < kernels[i].output_count; o++) {
            int32_t storage = r->program->tensors.items[kernels[i].outputs[o]].storage;
            if (r->lifetimes[storage].birth == i)
                hold(r, storage);
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

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

/* True if convolutions convert maps to channels last after group norms: these return channels-first maps in PyTorch
 * 2.4, but not in 2.15. If weights are computed in every pass, there is no channels-last parameter, so maps stay
 * channels first after the first norm. */
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

/* Bytes of one 64-bit index per element. */
static int64_t places_bytes(const placed_tensor *t)
{
    return dense_bytes(t) * 64 / dtype_bits(t->dtype);
}

/* Requests temporaries of an operator: the indices of a max pool, and copies of strided inputs. */
static int64_t bytes_beside(const recorder *r, const kernel *k)
{
    const placed_tensor *tensors = r->program->tensors.items;
    if (k->phase != PHASE_FORWARD || k->input_count < 1 || k->output_count < 1)
        return 0;
    bool copies;
    switch (k->op[0]) {
    case 'm':
        if (strcmp(k->op, "max_pool2d_with_indices") != 0 || k->output_count > 1)
            return 0;
        return places_bytes(&tensors[k->outputs[0]]);
    case 'n':
        copies = strcmp(k->op, "native_layer_norm") == 0 || (strcmp(k->op, "native_group_norm") == 0 && r->turns_back);
        break;
    default:
        copies = k->op[0] == '_' && strcmp(k->op, "_softmax") == 0;
    }
    const placed_tensor *in = &tensors[k->inputs[0]];
    return copies && !is_contiguous(in) ? dense_bytes(in) : 0;
}

/* Requests memory for autotuning a compiled kernel on its first call. PyTorch up to 2.5 copies operands that are
 * overwritten on the device; later versions copy them to the host if memory is short. */
static int64_t bytes_tried(const recorder *r, const kernel *k)
{
    enum { SPARES_MEMORY = 206 };
    int64_t bytes = 256000000; /* Buffer with which triton's do_bench() clears the cache. */
    if (!r->is_first_step || r->question->version >= SPARES_MEMORY ||
        r->question->options->runtime != RUNTIME_INDUCTOR || !kernel_is_compiled(k))
        return 0;
    for (int32_t i = 0; i < k->output_count; i++) {
        const placed_tensor *t = &r->program->tensors.items[k->outputs[i]];
        bytes += r->lifetimes[t->storage].bytes == 0 && !t->is_number ? dense_bytes(t) : 0;
    }
    return bytes;
}

static void hold_products_workspace(recorder *r, const kernel *k)
{
    int thread = k->phase != PHASE_FORWARD;
    if (r->has_products[thread] || !is_product(k))
        return;
    r->has_products[thread] = true;
    ask(r, REQUEST_PRODUCTS, thread);
}

static void run_kernel(recorder *r, int32_t i)
{
    const kernel *k = &r->program->kernels.items[i];
    if (!(k->flags & KERNEL_HIDDEN)) {
        hold_copies(r, i);
        hold_outputs(r, i);
    }
    int64_t beside = bytes_beside(r, k) + bytes_tried(r, k);
    if (beside > 0) {
        ask(r, REQUEST_TAKE_BESIDE, r->beside.count);
        *(int64_t *)ARENA_PUSH_ROOM(r->scratch, &r->beside) = beside;
    }
    hold_products_workspace(r, k);
    ask(r, REQUEST_RUN, i);
    if (r->is_last_step && r->live + beside > r->to->live_peak[k->phase])
        r->to->live_peak[k->phase] = r->live + beside;
    if (r->is_tuned && r->is_tuned[i] && r->is_first_step)
        ask(r, REQUEST_EMPTY, i);
    if (beside > 0)
        ask(r, REQUEST_GIVE_BESIDE, i);
    for (int32_t storage = r->dying[i]; storage >= 0; storage = r->next[storage])
        let_go(r, storage);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* True if the tensor exists before the first pass. */
static bool is_there_before(const lifetime *l, memory_part part)
{
    return l->part == part && l->birth == BEFORE_ALL && l->bytes > 0;
}

void memory_requests_start(memory_requests *r, arena *a)
{
    /* The network is moved to the device before the inputs. */
    static const memory_part ORDER[] = {MEMORY_WEIGHTS, MEMORY_INPUTS};
    allocator *start = allocator_new(a, INT64_MAX);
    allocation *blocks = arena_room(a, (size_t)r->storage_count + 1, sizeof *blocks);
    for (int32_t i = 0; i < r->storage_count; i++)
        blocks[i] = NO_ALLOCATION;
    for (size_t part = 0; part < sizeof ORDER / sizeof *ORDER; part++)
        for (int32_t i = 0; i < r->storage_count; i++)
            if (is_there_before(&r->lifetimes[i], ORDER[part]))
                blocks[i] = allocator_take(start, r->lifetimes[i].bytes);
    r->start = start;
    r->start_blocks = blocks;
}

/* Frees the outputs of a step that is a separate function. */
static void let_outputs_go(recorder *r)
{
    for (int32_t i = 0; i < r->program->storage_count; i++) {
        const lifetime *l = &r->lifetimes[i];
        if (l->part == MEMORY_ACTIVATIONS && l->birth >= 0 && l->death == INT32_MAX)
            let_go(r, i);
    }
}

static void run_step(recorder *r)
{
    const program *p = r->program;
    for (int32_t i = 0; i < p->storage_count; i++) /* zero_grad() */
        if (r->lifetimes[i].part == MEMORY_GRADIENTS && r->lifetimes[i].birth >= 0)
            let_go(r, i);
    r->to->live_before = r->live;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        run_kernel(r, i);
        r->to->live_end[p->kernels.items[i].phase] = r->live;
    }
    if (r->question->returns)
        let_outputs_go(r);
}

static void find_deaths(recorder *r)
{
    const program *p = r->program;
    r->dying = arena_room(r->scratch, (size_t)p->kernels.count + 1, sizeof *r->dying);
    r->next = arena_room(r->scratch, (size_t)p->storage_count + 1, sizeof *r->next);
    for (int32_t i = 0; i < p->kernels.count; i++)
        r->dying[i] = -1;
    for (int32_t i = p->storage_count - 1; i >= 0; i--) {
        int32_t death = r->lifetimes[i].death;
        if (death < 0 || death >= p->kernels.count)
            continue;
        r->next[i] = r->dying[death];
        r->dying[death] = i;
    }
}

static void sum_storages(recorder *r, arena *a)
{
    const program *p = r->program;
    memory_requests *to = r->to;
    for (int32_t i = 0; i < p->storage_count; i++) {
        const lifetime *l = &r->lifetimes[i];
        if (l->bytes <= 0)
            continue;
        if (l->birth >= 0 && p->kernels.items[l->birth].phase == PHASE_FORWARD &&
            p->kernels.items[l->read].phase == PHASE_BACKWARD)
            to->saved += l->bytes;
        if (!r->was_held[i])
            continue;
        if (l->birth < 0 && l->death == INT32_MAX)
            to->parts_before[l->part] += allocator_rounded(l->bytes);
        else
            *(held_storage *)ARENA_PUSH_ROOM(a, &to->made) =
                (held_storage){allocator_rounded(l->bytes), l->birth, l->death, l->part};
    }
}

const memory_requests *memory_requests_of(const requests_question *q, arena *a, arena *scratch)
{
    const program *p = q->program;
    size_t storages = (size_t)p->storage_count + 1;
    memory_requests *to = ARENA_NEW(a, memory_requests);
    recorder r = {.question = q,
                  .program = p,
                  .lifetimes = q->lifetimes,
                  .to = to,
                  .scratch = scratch,
                  .is_held = arena_room(scratch, storages, sizeof(bool)),
                  .was_held = arena_room(scratch, storages, sizeof(bool)),
                  .turns_back = turns_maps_back(p, q->version)};
    to->kernel_count = p->kernels.count;
    to->storage_count = p->storage_count;
    to->lifetimes = q->lifetimes;
    if (q->autotunes)
        r.is_tuned = find_tuned(p, q->version, &to->tuned_convolutions, scratch);
    find_deaths(&r);
    memory_requests_start(to, a);
    for (int32_t i = 0; i < p->storage_count; i++) {
        r.is_held[i] = r.was_held[i] = to->start_blocks[i] != NO_ALLOCATION;
        r.live += r.is_held[i] ? r.lifetimes[i].bytes : 0;
    }
    /* Number of steps to run: the first one allocates the optimizer's state. If autotuning empties the cache at
     * every convolution, segments still change in later steps. */
    enum { STEPS_TO_SETTLE = 4 };
    int steps = q->autotunes ? STEPS_TO_SETTLE : q->options->mode == MODE_TRAIN ? 2 : 1;
    for (int step = 1; step <= steps; step++) {
        r.is_first_step = step == 1;
        r.is_last_step = step == steps;
        if (r.is_last_step)
            ask(&r, REQUEST_LAST_STEP, step);
        run_step(&r);
    }
    to->items = arena_copy(a, r.requests.items, (size_t)r.requests.count, sizeof *r.requests.items);
    to->count = r.requests.count;
    to->beside_bytes = arena_copy(a, r.beside.items, (size_t)r.beside.count, sizeof *r.beside.items);
    to->beside_count = r.beside.count;
    sum_storages(&r, a);
    return to;
}
