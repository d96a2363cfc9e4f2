/* recompute.c: see recompute.h. */
#include "lower/train/recompute.h"

enum { UNTOUCHED = -1 };

typedef struct copied {
    int32_t first, last; /* Kernels of a region's second run. */
} copied;

struct recompute {
    eager *e;
    int32_t end, tensor_count, storage_count; /* Of the forward pass. */
    const int32_t *region_of;                 /* Indexed by node; -1 outside of all regions. */
    bool *is_done;                            /* Indexed by region. */
    tensor_id *tensor_of;                     /* Indexed by tensor of the forward pass: its copy, or NO_TENSOR. */
    int32_t *storage_of;                      /* Indexed by storage of the forward pass: its copy, or UNTOUCHED. */
    int32_t next_kernel, next_tensor;         /* First kernel and tensor of the current gradient. */
    struct {
        copied *items;
        int32_t count, capacity;
    } runs;
};

recompute *back_recompute_begin(eager *e, int32_t end)
{
    const recomputed_regions *from = e->model->regions;
    if (!from || from->node_count != e->net->nodes.count)
        return NULL;
    recompute *r = ARENA_NEW(e->arena, recompute);
    *r = (recompute){.e = e,
                     .end = end,
                     .tensor_count = e->out->tensors.count,
                     .storage_count = e->out->storage_count,
                     .region_of = from->region_of,
                     .is_done = ARENA_ARRAY(e->arena, bool, (size_t)from->count + 1)};
    r->tensor_of = arena_room(e->arena, (size_t)r->tensor_count + 1, sizeof *r->tensor_of);
    r->storage_of = arena_room(e->arena, (size_t)r->storage_count + 1, sizeof *r->storage_of);
    for (int32_t i = 0; i < r->tensor_count; i++)
        r->tensor_of[i] = NO_TENSOR;
    for (int32_t i = 0; i < r->storage_count; i++)
        r->storage_of[i] = UNTOUCHED;
    return r;
}

static int32_t region_at(const recompute *r, int32_t kernel_index)
{
    node_id layer = r->e->out->kernels.items[kernel_index].layer;
    return layer == NO_NODE ? -1 : r->region_of[layer];
}

static bool is_of_forward(const recompute *r, tensor_id t)
{
    return t < r->tensor_count;
}

/* Returns the copy of a tensor; the tensor itself if no region has computed it again. */
static tensor_id copy_of(const recompute *r, tensor_id t)
{
    return is_of_forward(r, t) && r->tensor_of[t] != NO_TENSOR ? r->tensor_of[t] : t;
}

/* True if the kernel's output is a view of an input or overwrites it. */
static bool shares_input(const program *p, const kernel *k, int32_t storage)
{
    for (int32_t i = 0; i < k->input_count; i++)
        if (p->tensors.items[k->inputs[i]].storage == storage)
            return true;
    return false;
}

static tensor_id copy_output(recompute *r, const kernel *k, tensor_id from)
{
    eager *e = r->e;
    program *p = e->out;
    int32_t storage = p->tensors.items[from].storage;
    if (r->storage_of[storage] == UNTOUCHED && !shares_input(p, k, storage))
        r->storage_of[storage] = p->storage_count++;
    placed_tensor *made = ARENA_PUSH_ROOM(e->arena, &p->tensors);
    *made = p->tensors.items[from];
    made->value = NO_VALUE;
    if (r->storage_of[storage] != UNTOUCHED)
        made->storage = r->storage_of[storage];
    *(int64_t *)ARENA_PUSH_ROOM(e->arena, &e->bytes) = e->bytes.items[from];
    return r->tensor_of[from] = p->tensors.count - 1;
}

static void copy_kernel(recompute *r, int32_t index)
{
    eager *e = r->e;
    kernel k = e->out->kernels.items[index];
    tensor_id *held = arena_room(e->arena, (size_t)k.input_count + (size_t)k.output_count + 1, sizeof *held);
    for (int32_t i = 0; i < k.input_count; i++)
        held[i] = copy_of(r, k.inputs[i]);
    for (int32_t i = 0; i < k.output_count; i++)
        held[k.input_count + i] = copy_output(r, &k, k.outputs[i]);
    k.inputs = held;
    k.outputs = held + k.input_count;
    k.flags |= KERNEL_AGAIN;
    *(kernel *)ARENA_PUSH(e->arena, &e->out->kernels) = k;
}

void back_recompute_before(recompute *r, int32_t at)
{
    if (!r)
        return;
    int32_t region = region_at(r, at);
    if (region >= 0 && !r->is_done[region]) {
        copied run = {.first = r->e->out->kernels.count};
        r->is_done[region] = true;
        for (int32_t i = 0; i < r->end; i++)
            if (region_at(r, i) == region)
                copy_kernel(r, i);
        run.last = r->e->out->kernels.count - 1;
        *(copied *)ARENA_PUSH(r->e->arena, &r->runs) = run;
    }
    r->next_kernel = r->e->out->kernels.count;
    r->next_tensor = r->e->out->tensors.count;
}

static void redirect_inputs(recompute *r, kernel *k)
{
    bool changes = false;
    for (int32_t i = 0; i < k->input_count; i++)
        changes |= copy_of(r, k->inputs[i]) != k->inputs[i];
    if (!changes)
        return;
    tensor_id *inputs = arena_room(r->e->arena, (size_t)k->input_count, sizeof *inputs);
    for (int32_t i = 0; i < k->input_count; i++)
        inputs[i] = copy_of(r, k->inputs[i]);
    k->inputs = inputs;
}

void back_recompute_after(recompute *r, int32_t at)
{
    if (!r || region_at(r, at) < 0)
        return;
    program *p = r->e->out;
    for (int32_t i = r->next_kernel; i < p->kernels.count; i++)
        redirect_inputs(r, &p->kernels.items[i]);
    for (int32_t i = r->next_tensor; i < p->tensors.count; i++) { /* Views of recomputed tensors. */
        placed_tensor *t = &p->tensors.items[i];
        if (t->storage < r->storage_count && r->storage_of[t->storage] != UNTOUCHED)
            t->storage = r->storage_of[t->storage];
    }
}

/* Marks the storages that kernels after the recomputed run read. */
static void mark_read(const program *p, int32_t first, bool *is_read)
{
    for (int32_t i = first; i < p->kernels.count; i++)
        for (int32_t j = 0; j < p->kernels.items[i].input_count; j++)
            is_read[p->tensors.items[p->kernels.items[i].inputs[j]].storage] = true;
}

static bool is_needed(const program *p, const kernel *k, const bool *is_read)
{
    for (int32_t i = 0; i < k->output_count; i++)
        if (is_read[p->tensors.items[k->outputs[i]].storage])
            return true;
    return false;
}

void back_recompute_end(recompute *r)
{
    if (!r)
        return;
    program *p = r->e->out;
    bool *is_read = ARENA_ARRAY(r->e->arena, bool, (size_t)p->storage_count + 1);
    bool *is_dropped = ARENA_ARRAY(r->e->arena, bool, (size_t)p->kernels.count + 1);
    for (int32_t i = r->runs.count - 1; i >= 0; i--) {
        copied run = r->runs.items[i];
        mark_read(p, run.last + 1, is_read);
        for (int32_t k = run.last; k >= run.first && !is_needed(p, &p->kernels.items[k], is_read); k--)
            is_dropped[k] = true;
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < p->kernels.count; i++)
        if (!is_dropped[i])
            p->kernels.items[kept++] = p->kernels.items[i];
    p->kernels.count = kept;
}
