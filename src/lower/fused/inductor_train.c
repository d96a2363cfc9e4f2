/* inductor_train.c: compiles a training step as torch.compile does: forward and backward pass are two programs; loss
 * and optimizer run eagerly. The backward program recomputes what the forward program did not keep (partition.c). */
#include "lower/fused/inductor.h"
#include "lower/fused/joint.h"

typedef struct compiled {
    inductor c;
    joint *j;
    program *out;
    arena *arena;
    const bool *is_kept; /* Indexed by storage of the joint graph: the forward part keeps it for the backward part. */
    int32_t *again;      /* Indexed by storage: 1 + the storage of its second computation; 0: none. */
    tensor_id *renamed;  /* Indexed by tensor: 1 + the same tensor in that storage; 0: none. */
    int32_t storages, tensors; /* Sizes of the joint graph. */
} compiled;

static int32_t storage_of(const compiled *t, tensor_id of)
{
    return t->out->tensors.items[of].storage;
}

static tensor_id moved(compiled *t, tensor_id of, int32_t storage)
{
    placed_tensor made = t->out->tensors.items[of];
    made.storage = storage;
    *(placed_tensor *)ARENA_PUSH(t->arena, &t->out->tensors) = made;
    return t->out->tensors.count - 1;
}

/* ---- the two parts ----------------------------------------------------------------------------------------------- */

/* True if the joint graph's convolutions run channels last. The rules are those of decide_layout_opt() in PyTorch's
 * torch/_inductor/graph.py for training: no grouped convolution, none from many channels to few, not all small. */
static bool trains_last(const compiled *t)
{
    int64_t nodes = 0, convolutions = 0, small = 0;
    for (int32_t i = 0; i < t->j->kernels.count; i++) {
        const kernel *k = &t->j->kernels.items[i];
        if (t->j->place[i] != JOINT_FORWARD)
            continue;
        nodes += inductor_graph_nodes(k);
        if (strcmp(k->op, "convolution") != 0)
            continue;
        const placed_tensor *w = &t->out->tensors.items[k->inputs[1]];
        if (k->window && k->window->groups > 1 && w->dims[1] > 1)
            return false;
        if (w->dims[0] * 2 <= w->dims[1] && w->rank > 2 && w->dims[2] > 1)
            return false;
        convolutions++;
        small += w->dims[0] <= 64 && w->dims[1] <= 64;
    }
    return small < convolutions && nodes < 300 * convolutions;
}

/* Marks the kernels of the forward or the backward part: those of that place, and those whose results they need and
 * the other part does not keep. Marks in `is_needed_storage` the storages that they read. */
static bool *find_needed(const compiled *t, bool *is_needed_storage, bool of_forward)
{
    const joint *j = t->j;
    bool *is_needed = ARENA_ARRAY(t->arena, bool, (size_t)j->kernels.count + 1);
    for (int32_t i = j->kernels.count - 1; i >= 0; i--) {
        const kernel *k = &j->kernels.items[i];
        joint_place place = j->place[i];
        bool is_view = k->flags & KERNEL_VIEW, may = place == JOINT_EITHER || place == JOINT_FORWARD;
        bool is_certain = place == (of_forward ? JOINT_FORWARD : JOINT_BACKWARD);
        bool is_read = false;
        for (int n = 0; n < k->output_count && may && !is_certain; n++) {
            int32_t s = joint_storage(j, k->outputs[n]);
            is_read |= is_needed_storage[s] && (is_view || of_forward || !t->is_kept[s]);
        }
        is_needed[i] = is_certain || is_read;
        for (int n = 0; n < k->input_count && is_needed[i]; n++)
            is_needed_storage[joint_storage(j, k->inputs[n])] = true;
    }
    return is_needed;
}

/* Returns the tensor of the backward part; a recomputed tensor has memory of its own. */
static tensor_id seen_again(compiled *t, tensor_id of)
{
    int32_t s = storage_of(t, of);
    if (of >= t->tensors || s >= t->storages || !t->again[s])
        return of;
    if (!t->renamed[of])
        t->renamed[of] = 1 + moved(t, of, t->again[s] - 1);
    return t->renamed[of] - 1;
}

static void add_kernel(compiled *t, program *part, const kernel *k, bool is_again)
{
    tensor_id *held = ARENA_ARRAY(t->arena, tensor_id, (size_t)(k->input_count + k->output_count) + 1);
    for (int i = 0; i < k->input_count; i++)
        held[i] = seen_again(t, k->inputs[i]);
    for (int i = 0; i < k->output_count; i++) {
        int32_t s = storage_of(t, k->outputs[i]);
        if (is_again && !(k->flags & KERNEL_VIEW) && !t->is_kept[s] && !t->again[s])
            t->again[s] = 1 + t->out->storage_count++;
        held[k->input_count + i] = seen_again(t, k->outputs[i]);
    }
    kernel *made = ARENA_PUSH(t->arena, &part->kernels);
    *made = *k;
    made->inputs = held;
    made->outputs = held + k->input_count;
}

/* Compiles the marked kernels of the joint graph and appends the result. */
static void compile_part(compiled *t, const bool *is_in, kernel_phase phase, const bool *is_kept)
{
    program part = {0};
    int32_t begin = t->out->kernels.count;
    for (int32_t i = 0; i < t->j->kernels.count; i++)
        if (is_in[i])
            add_kernel(t, &part, &t->j->kernels.items[i], phase == PHASE_BACKWARD && t->j->place[i] != JOINT_BACKWARD);
    part.tensors = t->out->tensors;
    part.storage_count = t->out->storage_count;
    bool *is_read = ARENA_ARRAY(t->arena, bool, (size_t)part.storage_count + 1);
    memcpy(is_read, is_kept, (size_t)t->storages * sizeof *is_read);
    inductor_compile(&t->c, &part, t->out, is_read);
    for (int32_t i = begin; i < t->out->kernels.count; i++)
        t->out->kernels.items[i].phase = (uint8_t)phase;
}

/* ---- around the parts -------------------------------------------------------------------------------------------- */

/* Marks storages that kernels outside of a part read, and weights that the part changes. */
static void mark_read_outside(const compiled *t, bool *is_read, joint_place by)
{
    const joint *j = t->j;
    for (int32_t i = 0; i < j->kernels.count; i++)
        for (int n = 0; n < j->kernels.items[i].input_count && j->place[i] == by; n++)
            is_read[joint_storage(j, j->kernels.items[i].inputs[n])] = true;
}

static void mark_results(const compiled *t, bool *is_read)
{
    const bool *is_output = lower_output_values(&t->c.model->net, t->arena);
    for (tensor_id i = 0; i < t->tensors; i++) {
        const placed_tensor *x = &t->out->tensors.items[i];
        is_read[x->storage] |= x->is_weight || (x->value != NO_VALUE && is_output[x->value]);
    }
}

/* Marks gradients that nothing reads: without an optimizer they are the step's results. */
static void mark_unread(const compiled *t, bool *is_marked)
{
    const joint *j = t->j;
    bool *is_read = ARENA_ARRAY(t->arena, bool, (size_t)t->storages + 1);
    for (int32_t i = 0; i < j->kernels.count; i++)
        for (int n = 0; n < j->kernels.items[i].input_count; n++)
            is_read[joint_storage(j, j->kernels.items[i].inputs[n])] |= !(j->kernels.items[i].flags & KERNEL_VIEW);
    for (int32_t i = 0; i < j->kernels.count; i++)
        for (int n = 0; n < j->kernels.items[i].output_count && j->place[i] == JOINT_BACKWARD; n++)
            is_marked[joint_storage(j, j->kernels.items[i].outputs[n])] |=
                !is_read[joint_storage(j, j->kernels.items[i].outputs[n])];
}

/* Appends the kernels of a place unchanged. They read the memory in which the parts store their results. */
static void add_eager(compiled *t, joint_place place)
{
    for (int32_t i = 0; i < t->j->kernels.count; i++) {
        if (t->j->place[i] != place)
            continue;
        kernel k = t->j->kernels.items[i];
        tensor_id *held = ARENA_ARRAY(t->arena, tensor_id, (size_t)(k.input_count + k.output_count) + 1);
        for (int n = 0; n < k.input_count + k.output_count; n++) {
            tensor_id own = n < k.input_count ? k.inputs[n] : k.outputs[n - k.input_count];
            int32_t s = storage_of(t, own), placed = s < t->storages ? t->c.kept[s].placed : 0;
            held[n] = placed && storage_of(t, placed - 1) != s ? moved(t, own, storage_of(t, placed - 1)) : own;
        }
        k.inputs = held;
        k.outputs = held + k.input_count;
        *(kernel *)ARENA_PUSH(t->arena, &t->out->kernels) = k;
    }
}

static void refuse_recurrent(sooth_model *model, const program *in)
{
    for (int32_t i = 0; i < in->kernels.count; i++)
        if (strncmp(in->kernels.items[i].op, "_cudnn_rnn", 10) == 0)
            fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                      "torch.compile leaves LSTM, GRU and RNN layers to eager PyTorch: train with --runtime eager");
}

program *inductor_train(sooth_model *model, const lower_options *options, program *in, arena *a)
{
    refuse_recurrent(model, in);
    compiled t = {.j = joint_of(in, &model->net, a), .arena = a};
    t.out = inductor_program(in, a);
    t.storages = in->storage_count;
    t.tensors = in->tensors.count;
    t.is_kept = partition_kept(t.j);
    t.again = ARENA_ARRAY(a, int32_t, (size_t)t.storages + 1);
    t.renamed = ARENA_ARRAY(a, tensor_id, (size_t)t.tensors + 1);
    t.c = (inductor){.trains = true,
                     .model = model,
                     .options = options,
                     .arena = a,
                     .kept = ARENA_ARRAY(a, inductor_kept, (size_t)t.storages + 1),
                     .kept_count = t.storages};
    t.c.is_last = trains_last(&t);
    size_t storages = (size_t)t.storages + 1;
    bool *is_read = ARENA_ARRAY(a, bool, storages), *is_gradient = ARENA_ARRAY(a, bool, storages);
    mark_read_outside(&t, is_read, JOINT_LOSS);
    mark_results(&t, is_read);
    bool *is_needed = ARENA_ARRAY(a, bool, storages);
    /* The forward part keeps what the backward part reads of it. */
    bool *needs = ARENA_ARRAY(a, bool, storages);
    const bool *in_backward = find_needed(&t, needs, false);
    for (int32_t s = 0; s < t.storages; s++)
        is_needed[s] = is_read[s] |= needs[s] && t.is_kept[s];
    compile_part(&t, find_needed(&t, is_needed, true), PHASE_FORWARD, is_read);
    add_eager(&t, JOINT_LOSS);
    mark_read_outside(&t, is_gradient, JOINT_UPDATE);
    mark_unread(&t, is_gradient);
    if (options->mode == MODE_TRAIN)
        compile_part(&t, in_backward, PHASE_BACKWARD, is_gradient);
    add_eager(&t, JOINT_UPDATE);
    return t.out;
}
