#include "memory/lifetime.h"
#include "graph/ops.h"
#include "lower/op_memo.h"
#include "memory/modules.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Traits of a kernel's operator that the rules below use. */
typedef enum op_traits {
    TRAIT_ARITHMETIC = 1 << 0,
    TRAIT_RECTIFIER = 1 << 1,
    TRAIT_GATED = 1 << 2, /* SiLU, hardswish. */
    TRAIT_ADD = 1 << 3,
    TRAIT_NORM = 1 << 4, /* Any norm. */
    TRAIT_BATCH_NORM = 1 << 5,
    TRAIT_FUSED = 1 << 6, /* Fused by a compiler. */
    TRAIT_CAT = 1 << 7,
    TRAIT_SOFTMAX = 1 << 8,
    TRAIT_BMM = 1 << 9,
    TRAIT_ATTENTION = 1 << 10,
    TRAIT_CLONE = 1 << 11,
    TRAIT_CAST = 1 << 12,
    TRAIT_ROLL = 1 << 13,
    TRAIT_PAD = 1 << 14,
    TRAIT_WHERE = 1 << 15,
    TRAIT_LEAKY_BACKWARD = 1 << 16,
} op_traits;

static uint32_t traits_of(const kernel *k)
{
    /* Traits by operator: statements of code, and activations that networks run in place. */
    static const struct {
        const char *op;
        uint32_t traits;
    } OPS[] = {
        {"add", TRAIT_ARITHMETIC | TRAIT_ADD},
        {"sub", TRAIT_ARITHMETIC},
        {"mul", TRAIT_ARITHMETIC},
        {"div", TRAIT_ARITHMETIC},
        {"pow", TRAIT_ARITHMETIC},
        {"sigmoid", TRAIT_ARITHMETIC},
        {"_to_copy", TRAIT_ARITHMETIC | TRAIT_CAST},
        {"relu", TRAIT_RECTIFIER},
        {"hardtanh", TRAIT_RECTIFIER},
        {"leaky_relu", TRAIT_RECTIFIER},
        {"silu", TRAIT_GATED},
        {"hardswish", TRAIT_GATED},
        {"cudnn_batch_norm", TRAIT_BATCH_NORM},
        {"native_batch_norm", TRAIT_BATCH_NORM},
        {"cat", TRAIT_CAT},
        {"_softmax", TRAIT_SOFTMAX},
        {"bmm", TRAIT_BMM},
        {"clone", TRAIT_CLONE},
        {"roll", TRAIT_ROLL},
        {"constant_pad_nd", TRAIT_PAD},
        {"where", TRAIT_WHERE},
        {"leaky_relu_backward", TRAIT_LEAKY_BACKWARD},
    };
    uint32_t traits = strstr(k->op, "norm") ? TRAIT_NORM : 0;
    if (kernel_is_compiled(k))
        traits |= TRAIT_FUSED;
    if (kernel_is_attention(k))
        traits |= TRAIT_ATTENTION;
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (kernel_is(k, OPS[i].op))
            return traits | OPS[i].traits;
    return traits;
}

/* Returns the traits of the operators, indexed by kernel. */
static uint32_t *find_traits(const program *p, arena *a)
{
    op_memo memo = {0};
    uint32_t *traits = arena_room(a, (size_t)p->kernels.count + 1, sizeof *traits);
    for (int32_t i = 0; i < p->kernels.count; i++) {
        bool is_new;
        uint32_t *known = op_memo_at(&memo, p->kernels.items[i].op, &is_new);
        if (is_new)
            *known = traits_of(&p->kernels.items[i]);
        traits[i] = *known;
    }
    return traits;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Finds the statement of each kernel. A statement is the kernels of one operator, or a run of consecutive sums and
 * products. */
typedef struct statement {
    int32_t first, last;
} statement;

static bool is_same_code(const calls *c, int32_t x, int32_t y)
{
    const scope *a = scope_at(c, x), *b = scope_at(c, y);
    return a == b || str_eq(a->path, b->path);
}

static bool is_same_statement(const calls *c, const uint32_t *traits, int32_t x, int32_t y)
{
    const kernel *kernels = c->program->kernels.items;
    return (kernels[x].layer >= 0 && kernels[x].layer == kernels[y].layer) ||
           (traits[x] & traits[y] & TRAIT_ARITHMETIC && is_same_code(c, x, y));
}

/* Returns the statements, indexed by kernel of the forward pass. */
static statement *find_statements(const calls *c, const uint32_t *traits, arena *a)
{
    statement *statements = arena_room(a, (size_t)c->count + 1, sizeof *statements);
    for (int32_t first = 0, last; first < c->count; first = last + 1) {
        for (last = first; last + 1 < c->count && is_same_statement(c, traits, last, last + 1);)
            last++;
        for (int32_t i = first; i <= last; i++)
            statements[i] = (statement){first, last};
    }
    return statements;
}

/* ---- storages ---------------------------------------------------------------------------------------------------- */

typedef struct builder {
    const program *program;
    lifetime *items;
    int32_t *shares; /* Indexed by storage: the storage whose memory it uses (in-place results); otherwise itself. */
    /* Indexed by storage: its weight, which kernels may read through views; NO_TENSOR if there is none. */
    tensor_id *weights;
    int32_t *made_at; /* Indexed by storage: first kernel that writes it; -1 if there is none. */
    /* Indexed by storage: true for inputs of the network. NULL: all storages that no kernel writes. */
    const bool *is_given;
    const uint8_t *bits;         /* Indexed by storage: widest type that kernels read. NULL: as in the file. */
    const uint32_t *traits;      /* Indexed by kernel: traits of its operator. */
    const statement *statements; /* Indexed by kernel of the forward pass. */
    calls calls;
} builder;

/* torch.cat([x, a * cos + b * sin]): intermediate results are not variables. */
static bool is_same_formula(const builder *b, int32_t maker, int32_t reader)
{
    return maker >= 0 && reader < b->calls.count && b->traits[maker] & TRAIT_ARITHMETIC &&
           is_same_code(&b->calls, maker, reader);
}

/* q = torch.cat([q[:, :1], rotated], 1).type_as(v): the result replaces the variable. */
static bool is_cast_at_once(const builder *b, int32_t kernel_index)
{
    if (kernel_index + 1 >= b->calls.count)
        return false;
    const kernel *k = &b->program->kernels.items[kernel_index], *next = k + 1;
    return b->traits[kernel_index + 1] & TRAIT_CAST && next->layer == k->layer && next->inputs[0] == k->outputs[0];
}

/* True if the statement that contains `reader` keeps this operand until it ends: `out = out * 0.2 + shortcut` keeps
 * both. */
static int32_t statement_end(const builder *b, int32_t maker, int32_t reader)
{
    /* True for the sequence _softmax, eq, where. It sets fully masked rows to zero inside one function. */
    enum { TO_RESULT = 2 };
    if (reader >= b->calls.count)
        return reader;
    if (b->traits[reader] & TRAIT_SOFTMAX && reader + TO_RESULT < b->calls.count &&
        b->traits[reader + TO_RESULT] & TRAIT_WHERE)
        return reader + TO_RESULT;
    return maker < b->statements[reader].first ? b->statements[reader].last : reader;
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

/* Rule: modules that combine norm and activation work in place; networks without norms have separate activations. */
static bool follows_norm(const builder *b, int32_t index)
{
    const kernel *k = &b->program->kernels.items[index];
    return index > 0 && b->traits[index - 1] & TRAIT_NORM && k[-1].outputs[0] == k->inputs[0];
}

/* True if the kernel works in place. Files do not record in-place operators. Convolutional networks run activations in
 * place if their input has no other reader, and add residuals into the branch. (PyTorch traces of 625 networks in
 * training: 22,369 of 24,473 relu, 851 of 882 hardswish, 5,393 of 6,305 silu, which copies its input first; 4,826 of
 * 6,672 sums before a relu.) */
static bool writes_over_input(const builder *b, int32_t index, bool is_training)
{
    const program *p = b->program;
    const kernel *k = &p->kernels.items[index];
    if (b->traits[index] & TRAIT_RECTIFIER)
        return true;
    if (b->traits[index] & TRAIT_GATED)
        return !is_training && p->tensors.items[k->outputs[0]].rank == 4 && follows_norm(b, index);
    if (!(b->traits[index] & TRAIT_ADD) || index + 1 >= p->kernels.count)
        return false;
    const kernel *next = k + 1;
    return b->traits[index + 1] & TRAIT_RECTIFIER && next->input_count == 1 && next->inputs[0] == k->outputs[0] &&
           is_within(&b->calls, index, index + 1);
}

/* Larger than any device. Sums over all storages cannot overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 42;

int64_t dense_bytes(const placed_tensor *t)
{
    if (t->packed_bytes)
        return t->packed_bytes < MOST_BYTES ? t->packed_bytes : MOST_BYTES;
    int64_t elements = 1; /* Lowering refuses larger sizes. */
    for (int i = 0; i < t->rank; i++)
        elements *= t->dims[i];
    int64_t bytes = (elements * dtype_bits(t->dtype) + 7) / 8;
    return bytes < MOST_BYTES ? bytes : MOST_BYTES;
}

/* Returns the index of the input that the kernel overwrites; -1 if there is none. */
static int32_t input_written_over(const builder *b, const int32_t *last_use, const bool *is_ours, int32_t index)
{
    const program *p = b->program;
    const kernel *k = &p->kernels.items[index];
    for (int32_t i = 0; i < k->input_count; i++) {
        const placed_tensor *in = &p->tensors.items[k->inputs[i]], *out = &p->tensors.items[k->outputs[0]];
        if (is_ours[in->storage] && last_use[in->storage] == index && in->storage != out->storage &&
            in->dtype == out->dtype && dense_bytes(in) == dense_bytes(out) &&
            is_made_beside(&b->calls, b->made_at[in->storage], index))
            return in->storage;
    }
    return -1;
}

static void share(builder *b, const lower_options *options, lifetime_rules rules, arena *a)
{
    const program *p = b->program;
    int32_t *last_use = ARENA_ARRAY(a, int32_t, (size_t)p->storage_count + 1);
    bool *is_ours = ARENA_ARRAY(a, bool, (size_t)p->storage_count + 1); /* True for storages that a kernel writes. */
    bool is_training = options->mode != MODE_INFER;
    b->made_at = arena_room(a, (size_t)p->storage_count + 1, sizeof *b->made_at);
    for (int32_t i = 0; i < p->storage_count; i++) {
        b->shares[i] = i;
        b->made_at[i] = last_use[i] = -1;
    }
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        /* leaky_relu_backward reads the result if the forward kernel works in place. */
        for (int32_t j = 0; j < k->input_count && !(b->traits[i] & TRAIT_LEAKY_BACKWARD); j++)
            last_use[p->tensors.items[k->inputs[j]].storage] = i;
        for (int32_t j = 0; j < k->output_count; j++) {
            const placed_tensor *t = &p->tensors.items[k->outputs[j]];
            is_ours[t->storage] |= !t->is_weight && last_use[t->storage] < 0;
            last_use[t->storage] = i;
            if (b->made_at[t->storage] < 0)
                b->made_at[t->storage] = i;
        }
    }
    for (int32_t i = 0; options->runtime != RUNTIME_ENGINE && i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        bool is_norm = rules.norms_in_place && k->phase == PHASE_FORWARD && b->traits[i] & TRAIT_BATCH_NORM &&
                       k->input_count > 0 && is_ours[p->tensors.items[k->inputs[0]].storage];
        /* A compiler overwrites an input after its last use if both have the same layout. */
        if (options->runtime == RUNTIME_INDUCTOR
                ? !(b->traits[i] & TRAIT_FUSED && k->output_count > 0)
                : k->phase != PHASE_FORWARD || (!is_norm && !writes_over_input(b, i, is_training)))
            continue;
        /* An in-place norm needs its own output in the backward pass, so sums do not overwrite that output. */
        if (rules.norms_in_place && b->traits[i] & TRAIT_ADD)
            continue;
        int32_t over = is_norm ? p->tensors.items[k->inputs[0]].storage : input_written_over(b, last_use, is_ours, i);
        if (over >= 0)
            b->shares[p->tensors.items[p->kernels.items[i].outputs[0]].storage] = b->shares[over];
    }
}

static memory_part part_of(const placed_tensor *t, kernel_phase first_met, bool is_made)
{
    if (t->is_weight)
        return t->is_state ? MEMORY_OPTIMIZER : MEMORY_WEIGHTS;
    if (first_met == PHASE_UPDATE)
        return MEMORY_OPTIMIZER;
    if (is_made)
        return MEMORY_ACTIVATIONS;
    return first_met == PHASE_BACKWARD ? MEMORY_GRADIENTS : MEMORY_INPUTS; /* Gradients persist between steps. */
}

static lifetime *lifetime_of(const builder *b, tensor_id id)
{
    return &b->items[b->shares[b->program->tensors.items[id].storage]];
}

/* True for attention, or a product of two activations. */
static bool is_between_values(const builder *b, int32_t index)
{
    const kernel *k = &b->program->kernels.items[index];
    if (k->input_count < 2 || !(b->traits[index] & TRAIT_BMM))
        return b->traits[index] & TRAIT_ATTENTION;
    const placed_tensor *tensors = b->program->tensors.items;
    return b->weights[tensors[k->inputs[0]].storage] == NO_TENSOR &&
           b->weights[tensors[k->inputs[1]].storage] == NO_TENSOR;
}

/* True if a variable keeps the result alive. The program shows two cases: a map after a batch norm that has several
 * readers (split attention), and parts of one product (queries, keys, values). A variable is released when a sum is
 * added to it. */
static bool is_variable(const builder *b, const lifetime *l, const placed_tensor *read, int32_t reader)
{
    if (l->birth < 0 || reader >= b->calls.count || b->traits[reader] & TRAIT_ADD)
        return false;
    const kernel *maker = &b->program->kernels.items[l->birth];
    const kernel *last = l->read >= 0 ? &b->program->kernels.items[l->read] : NULL;
    /* An overwritten result has no second reader. */
    if (last && last->output_count > 0 && lifetime_of(b, last->outputs[0]) == l)
        return false;
    if (b->traits[l->birth] & TRAIT_BATCH_NORM)
        return true;
    return maker->macs > 0 && dense_bytes(read) < l->bytes;
}

static void touch(builder *b, tensor_id id, int32_t kernel_index, bool is_made)
{
    const placed_tensor *t = &b->program->tensors.items[id];
    if (b->weights[t->storage] != NO_TENSOR)
        t = &b->program->tensors.items[b->weights[t->storage]];
    lifetime *l = &b->items[b->shares[t->storage]];
    const kernel *k = &b->program->kernels.items[kernel_index];
    if (t->is_number)
        return;
    if (l->read < 0) { /* First access. */
        l->bytes = dense_bytes(t);
        if (b->bits && t->is_weight && !t->packed_bytes && dtype_bits(t->dtype) > 0) /* Text inputs have no storage. */
            l->bytes = l->bytes * b->bits[t->storage] / dtype_bits(t->dtype);
        l->birth = is_made && !t->is_weight ? kernel_index : BEFORE_ALL;
        if (!is_made && !t->is_weight && b->is_given && !b->is_given[t->storage] && k->phase == PHASE_FORWARD) {
            l->birth = kernel_index; /* A compiler writes the parts of a concatenation in place. */
            is_made = true;
        }
        l->layer = k->layer;
        l->part = part_of(t, (kernel_phase)k->phase, is_made);
        l->death = l->birth == BEFORE_ALL ? INT32_MAX : kernel_index;
    }
    int32_t until = held_until(&b->calls, l->birth, kernel_index);
    if (!is_made && is_variable(b, l, t, kernel_index)) {
        int32_t end = named_until(&b->calls, l->birth, l->read, kernel_index);
        until = until > end ? until : end;
    }
    l->read = kernel_index;
    if (!is_made && l->birth >= 0) {
        int32_t end = statement_end(b, l->birth, kernel_index);
        until = until > end ? until : end;
    }
    if (!is_made && l->birth >= 0 && b->traits[kernel_index] & TRAIT_CAT &&
        !is_same_formula(b, l->birth, kernel_index) &&
        /* Code collects the parts of a concatenation in a list, which keeps them alive. */
        !is_cast_at_once(b, kernel_index)) {
        int32_t returned = returns_at(&b->calls, kernel_index);
        until = until > returned ? until : returned;
    }
    if (until > l->death)
        l->death = until;
    if (k->phase == PHASE_UPDATE && l->part == MEMORY_ACTIVATIONS && !t->is_weight) {
        l->part = MEMORY_GRADIENTS;
        l->death = INT32_MAX;
    }
}

static void keep(lifetime *l, int32_t until)
{
    if (l->birth >= 0 && l->death < until)
        l->death = until;
}

static bool is_copy(const builder *b, int32_t index)
{
    return b->program->kernels.items[index].input_count == 1 && b->traits[index] & (TRAIT_CLONE | TRAIT_CAST);
}

/* Keeps the operands of such products (q, k, v) until the function returns. Casts and copies made inside the
 * operator die earlier. */
static void keep_operands(builder *b)
{
    const kernel *kernels = b->program->kernels.items;
    for (int32_t i = 0; i < b->calls.count; i++) {
        for (int32_t j = 0; is_between_values(b, i) && j < kernels[i].input_count; j++) {
            lifetime *l = lifetime_of(b, kernels[i].inputs[j]);
            for (int32_t at = i; l->birth >= 0 && l->birth < at && is_copy(b, l->birth) &&
                                 !(l->birth > 0 && is_cast_at_once(b, l->birth - 1));) {
                at = l->birth;
                l = lifetime_of(b, kernels[at].inputs[0]);
            }
            keep(l, returns_at(&b->calls, i));
        }
    }
}

/* Returns the kernel that writes the first input if that kernel's operator has the trait; -1 otherwise. */
static int32_t maker_of(const builder *b, int32_t kernel_index, op_traits op)
{
    const kernel *k = &b->program->kernels.items[kernel_index];
    int32_t maker = k->input_count > 0 ? lifetime_of(b, k->inputs[0])->birth : -1;
    return maker >= 0 && b->traits[maker] & op ? maker : -1;
}

/* Shifted-window attention (Swin): a function receives norm1(x), rolls, pads and partitions it, then calls a module.
 * During that call, the argument and the rolled and padded tensors stay alive. */
static void keep_shifted(builder *b)
{
    const kernel *kernels = b->program->kernels.items;
    bool has_rolls = false;
    for (int32_t i = 0; i < b->calls.count && !has_rolls; i++)
        has_rolls = b->traits[i] & TRAIT_ROLL;
    for (int32_t i = 0; has_rolls && i < b->calls.count; i++) {
        int32_t padded = b->traits[i] & TRAIT_CLONE ? maker_of(b, i, TRAIT_PAD) : -1;
        if (padded < 0)
            continue;
        int32_t rolled = maker_of(b, padded, TRAIT_ROLL), end = next_call_end(&b->calls, i);
        keep(lifetime_of(b, kernels[padded].outputs[0]), end);
        keep(lifetime_of(b, kernels[rolled >= 0 ? rolled : padded].inputs[0]), end);
    }
}

/* Autocast caches 16-bit copies of parameters until it ends: after the forward pass, or after the backward pass if
 * that runs under autocast too. */
static void keep_casts(builder *b, const lower_options *options)
{
    const program *p = b->program;
    bool casts = options->runtime == RUNTIME_EAGER &&
                 (options->precision == PRECISION_AMP_FP16 || options->precision == PRECISION_AMP_BF16);
    int32_t end = p->kernels.count - 1;
    while (casts && end > 0 &&
           p->kernels.items[end].phase > (options->autocast_backward ? PHASE_BACKWARD : PHASE_FORWARD))
        end--;
    for (int32_t i = 0; casts && i <= end && p->kernels.items[i].phase == PHASE_FORWARD; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->input_count != 1 || !(b->traits[i] & TRAIT_CAST) || !p->tensors.items[k->inputs[0]].is_weight)
            continue;
        lifetime *l = &b->items[b->shares[p->tensors.items[k->outputs[0]].storage]];
        l->death = l->death > end ? l->death : end;
    }
}

static void keep_scores(builder *b)
{
    const program *p = b->program;
    for (int32_t i = 0; i < p->kernels.count && p->kernels.items[i].phase == PHASE_FORWARD; i++) {
        const kernel *k = &p->kernels.items[i];
        if (!(b->traits[i] & TRAIT_SOFTMAX) || k->input_count < 1 || k->output_count < 1)
            continue;
        lifetime *read = &b->items[b->shares[p->tensors.items[k->inputs[0]].storage]];
        const lifetime *made = &b->items[b->shares[p->tensors.items[k->outputs[0]].storage]];
        if (read->birth < 0 || p->kernels.items[made->read].phase != PHASE_BACKWARD)
            continue;
        read->death = read->death > made->read ? read->death : made->read;
        read->read = read->read > made->read ? read->read : made->read;
    }
}

/* Marks the storages that the caller holds: outputs until the next pass returns, and gradients without readers. */
static void keep_outputs(builder *b, const network *net)
{
    const program *p = b->program;
    for (int32_t i = 0; net && i < p->tensors.count; i++) {
        const placed_tensor *t = &p->tensors.items[i];
        if (t->value == NO_VALUE || !net->values.items[t->value].is_output)
            continue;
        lifetime *l = &b->items[b->shares[t->storage]];
        if (!p->returns_loss)
            l->death = INT32_MAX;
        else
            keep(l, b->calls.count - 1);
    }
    /* The loss is part of the model's function, whose variables hold the logits in each form. */
    for (int32_t i = 0; p->returns_loss && i < b->calls.count; i++)
        for (int32_t j = 0; p->kernels.items[i].layer == NO_NODE && j < p->kernels.items[i].output_count; j++)
            keep(lifetime_of(b, p->kernels.items[i].outputs[j]), b->calls.count - 1);
    for (int32_t i = 0; i < p->storage_count; i++) {
        lifetime *l = &b->items[i];
        if (l->birth >= 0 && l->read == l->birth && p->kernels.items[l->birth].phase == PHASE_BACKWARD &&
            !(p->kernels.items[l->birth].flags & KERNEL_AGAIN)) {
            l->part = MEMORY_GRADIENTS;
            l->death = INT32_MAX;
        }
    }
}

static const bool *find_given(const program *p, const network *net, arena *a)
{
    bool *is_given = ARENA_ARRAY(a, bool, (size_t)p->storage_count + 1);
    for (int32_t i = 0; i < p->tensors.count; i++)
        for (int32_t j = 0; p->tensors.items[i].value != NO_VALUE && j < net->inputs.count; j++)
            is_given[p->tensors.items[i].storage] |= net->inputs.items[j] == p->tensors.items[i].value;
    return is_given;
}

/* Weights that an engine's products read in 8 bits exist only in that form. */
static uint8_t *find_bits(const program *p, arena *a)
{
    uint8_t *bits = ARENA_ARRAY(a, uint8_t, (size_t)p->storage_count + 1);
    for (int32_t i = 0; i < p->kernels.count; i++)
        for (int32_t j = 0; j < p->kernels.items[i].input_count; j++) {
            const placed_tensor *t = &p->tensors.items[p->kernels.items[i].inputs[j]];
            uint8_t own = (uint8_t)dtype_bits(t->dtype);
            bits[t->storage] = own > bits[t->storage] ? own : bits[t->storage];
        }
    return bits;
}

bool lifetime_has_abn(const network *net)
{
    const double slope = 0.001, most = 0.0011;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        if (!node_is(n, "LeakyRelu") || n->input_count < 1 || n->inputs[0] == NO_VALUE)
            continue;
        node_id before = net->values.items[n->inputs[0]].producer;
        double alpha = node_attr_real(n, "alpha", 0.01);
        if (before != NO_NODE && node_is(&net->nodes.items[before], "BatchNormalization") && alpha >= 0.9 * slope &&
            alpha <= most)
            return true;
    }
    return false;
}

lifetime_rules lifetime_rules_of(int version, bool norms_in_place)
{
    return (lifetime_rules){.keeps_scores = version < 111, .norms_in_place = norms_in_place};
}

lifetime *lifetimes_of(const program *p, const network *net, const lower_options *options, lifetime_rules rules,
                       arena *a, arena *scratch)
{
    builder b = {.program = p, .items = arena_room(a, (size_t)p->storage_count + 1, sizeof(lifetime))};
    b.shares = arena_room(scratch, (size_t)p->storage_count + 1, sizeof *b.shares);
    b.weights = arena_room(scratch, (size_t)p->storage_count + 1, sizeof *b.weights);
    for (int32_t i = 0; i < p->storage_count; i++)
        b.weights[i] = NO_TENSOR;
    /* Backwards, because only the first tensor of a storage covers all of it. */
    for (tensor_id t = p->tensors.count - 1; t >= 0; t--)
        if (p->tensors.items[t].is_weight)
            b.weights[p->tensors.items[t].storage] = t;
    b.calls = find_calls(p, options->runtime == RUNTIME_EAGER ? net : NULL, scratch);
    b.traits = find_traits(p, scratch);
    b.statements = find_statements(&b.calls, b.traits, scratch);
    share(&b, options, rules, scratch);
    b.bits = options->runtime == RUNTIME_ENGINE ? find_bits(p, scratch) : NULL;
    b.is_given = net && options->runtime == RUNTIME_INDUCTOR ? find_given(p, net, scratch) : NULL;
    for (int32_t i = 0; i < p->storage_count; i++)
        b.items[i] = (lifetime){.read = BEFORE_ALL, .birth = BEFORE_ALL, .death = INT32_MAX, .layer = NO_NODE};
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        for (int32_t j = 0; j < k->input_count; j++)
            touch(&b, k->inputs[j], i, false);
        for (int32_t j = 0; j < k->output_count; j++)
            touch(&b, k->outputs[j], i, true);
    }
    keep_operands(&b);
    keep_shifted(&b);
    keep_casts(&b, options);
    if (rules.keeps_scores)
        keep_scores(&b);
    keep_outputs(&b, net);
    return b.items;
}
