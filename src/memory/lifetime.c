#include "memory/lifetime.h"

/* ---- modules ------------------------------------------------------------------------------------------------------- */

/* Deeper modules count as their caller's own code. */
enum { MAX_DEPTH = 12 };

/* By kernel of the forward pass: how long the call of the module at each depth lasts. */
typedef struct calls {
    const program *program;
    const network *net;
    int32_t count;
    int32_t (*ends)[MAX_DEPTH];
} calls;

/* The modules that the kernel's node lies in, from the outside: of "/layer1/layer1.0/conv1/Conv" all but the last part; of a name without
 * strokes, "layer1.0.conv1", all parts. */
typedef struct scope {
    str path;
    char mark;
} scope;

static scope scope_of(const calls *c, int32_t kernel_index)
{
    node_id layer = c->program->kernels.items[kernel_index].layer;
    if (!c->net || layer < 0 || layer >= c->net->nodes.count)
        return (scope){{"", 0}, '/'};
    str name = c->net->nodes.items[layer].name;
    if (!name.len || !memchr(name.ptr, '/', name.len))
        return (scope){name, '.'};
    while (name.ptr[name.len - 1] != '/')
        name.len--;
    return (scope){name, '/'};
}

/* Takes the outermost part off. */
static str next_part(scope *s)
{
    while (s->path.len && *s->path.ptr == s->mark)
        s->path = (str){s->path.ptr + 1, s->path.len - 1};
    const char *end = s->path.len ? memchr(s->path.ptr, s->mark, s->path.len) : NULL;
    str part = {s->path.ptr, end ? (size_t)(end - s->path.ptr) : s->path.len};
    s->path = (str){s->path.ptr + part.len, s->path.len - part.len};
    return part;
}

static int depth_of(scope s)
{
    int depth = 0;
    while (depth < MAX_DEPTH && next_part(&s).len)
        depth++;
    return depth;
}

/* How many leading parts two scopes share; `is_deeper`: the second has more. */
static int shared_depth(scope a, scope b, bool *is_deeper)
{
    for (int depth = 0;; depth++) {
        str x = next_part(&a), y = next_part(&b);
        *is_deeper = y.len > 0;
        if (!x.len || !y.len || !str_eq(x, y) || depth == MAX_DEPTH)
            return depth;
    }
}

static calls find_calls(const program *p, const network *net, arena *a)
{
    calls c = {.program = p, .net = net};
    while (net && c.count < p->kernels.count && p->kernels.items[c.count].phase == PHASE_FORWARD)
        c.count++;
    c.ends = arena_room(a, (size_t)c.count + 1, sizeof *c.ends);
    scope after = {{"", 0}, '/'};
    for (int32_t i = c.count - 1; i >= 0; i--) {
        scope own = scope_of(&c, i);
        bool is_deeper;
        int shared = i + 1 < c.count ? shared_depth(own, after, &is_deeper) : 0;
        for (int d = 0; d < MAX_DEPTH; d++)
            c.ends[i][d] = d < shared ? c.ends[i + 1][d] : i;
        after = own;
    }
    return c;
}

/* What `maker` made is read by `reader`: the module that got it as an argument returns behind this kernel. */
static int32_t held_until(const calls *c, int32_t maker, int32_t reader)
{
    if (reader >= c->count || maker < 0)
        return reader;
    bool is_deeper;
    int shared = shared_depth(scope_of(c, maker), scope_of(c, reader), &is_deeper);
    return is_deeper && shared < MAX_DEPTH ? c->ends[reader][shared] : reader;
}

/* The innermost module that the kernel lies in returns behind this kernel. */
static int32_t returns_at(const calls *c, int32_t kernel_index)
{
    if (kernel_index >= c->count)
        return kernel_index;
    int depth = depth_of(scope_of(c, kernel_index));
    return depth > 0 ? c->ends[kernel_index][depth - 1] : kernel_index;
}

/* The same for a list that a kernel puts together: vovnet.py has its own in the module around. */
static int32_t list_ends_at(const calls *c, int32_t kernel_index)
{
    scope s = scope_of(c, kernel_index);
    int depth = kernel_index < c->count ? depth_of(s) : 0;
    str innermost = {0};
    for (int i = 0; i < depth; i++)
        innermost = next_part(&s);
    return depth > 1 && str_is(innermost, "conv_mid") ? c->ends[kernel_index][depth - 2] : returns_at(c, kernel_index);
}

/* What code is written in one statement, as far as kernels tell: those of one operator, and sums and products in a row. */
static bool is_arithmetic(const kernel *k)
{
    static const char *const OPS[] = {"add", "sub", "mul", "div", "pow", "sigmoid", "_to_copy"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (strcmp(k->op, OPS[i]) == 0)
            return true;
    return false;
}

static bool is_same_statement(const calls *c, int32_t x, int32_t y)
{
    const kernel *a = &c->program->kernels.items[x], *b = &c->program->kernels.items[y];
    return (a->layer >= 0 && a->layer == b->layer) ||
           (is_arithmetic(a) && is_arithmetic(b) && str_eq(scope_of(c, x).path, scope_of(c, y).path));
}

/* torch.cat([x, a * cos + b * sin]): what was computed on the way has no name. */
static bool is_same_formula(const calls *c, int32_t maker, int32_t reader)
{
    if (maker < 0 || reader >= c->count)
        return false;
    return is_arithmetic(&c->program->kernels.items[maker]) &&
           str_eq(scope_of(c, maker).path, scope_of(c, reader).path);
}

/* q = torch.cat([q[:, :1], rotated], 1).type_as(v): the name goes over to the result. */
static bool is_cast_at_once(const calls *c, int32_t kernel_index)
{
    if (kernel_index + 1 >= c->count)
        return false;
    const kernel *k = &c->program->kernels.items[kernel_index], *next = k + 1;
    return strcmp(next->op, "_to_copy") == 0 && next->layer == k->layer && next->inputs[0] == k->outputs[0];
}

/* The statement that `reader` is in holds what it did not make itself until it ends: `out = out * 0.2 + shortcut` has both. */
static int32_t statement_end(const calls *c, int32_t maker, int32_t reader)
{
    /* _softmax, eq, where: rows of which nothing is left become zero, then the function returns. */
    enum { TO_RESULT = 2 };
    int32_t begin = reader, end = reader;
    if (reader >= c->count)
        return reader;
    const kernel *k = &c->program->kernels.items[reader];
    if (strcmp(k->op, "_softmax") == 0 && reader + TO_RESULT < c->count && strcmp(k[TO_RESULT].op, "where") == 0)
        return reader + TO_RESULT;
    while (end + 1 < c->count && is_same_statement(c, end, end + 1))
        end++;
    while (begin > 0 && begin > maker && is_same_statement(c, begin - 1, begin))
        begin--;
    return maker < begin ? end : reader;
}

/* ---- variables ----------------------------------------------------------------------------------------------------- */

/* Results of modules that the code of the module around them keeps under a name of their own until it returns, though it needs them no
 * more. Files do not tell; these are classes of timm, by the names of the modules that make and read the value ("*": a name that begins so,
 * or any). */
static const struct {
    const char *made_in, *read_in;
    bool is_own; /* made by the module itself: of what modules within compute alike, exporters keep one */
} KEPT[] = {
    {"norm1", "conv1", false},   /* resnetv2.py, PreActBasic and PreActBottleneck: x_preact */
    {"qkv", "*", false},         /* attention.py: one variable for all three, which may be normed and rotated */
    {"act0", "", false},         /* split_attn.py: x, which is summed twice */
    {"bn0", "", false},          /* the same, where the activation wrote over it */
    {"fc1_g", "*", false},       /* mlp.py, SwiGLU: x_gate */
    {"comb_iter_*", "*", false}, /* nasnet.py, pnasnet.py: branches of a cell */
    {"*", "comb_iter_*", false}, /* and what they read */
    {"cell_*", "*", true},       /* the same: every cell */
    {"reduction_cell_*", "*", true},
};

static bool is_like(str name, const char *pattern)
{
    size_t length = strlen(pattern);
    return length && pattern[length - 1] == '*' ? name.len >= length - 1 && memcmp(name.ptr, pattern, length - 1) == 0
                                                : str_is(name, pattern);
}

/* The module at this depth that the kernel lies in; empty: its node belongs to the one around it. */
static str part_at(const calls *c, int32_t kernel_index, int depth)
{
    scope s = scope_of(c, kernel_index);
    str part = next_part(&s);
    while (depth-- > 0)
        part = next_part(&s);
    return part;
}

/* What `maker` made has a name until the function returns in which `reader` or its module is called; then behind which kernel that is. */
static int32_t kept_until(const calls *c, int32_t maker, int32_t reader)
{
    bool is_deeper;
    if (reader >= c->count)
        return reader;
    int shared = shared_depth(scope_of(c, maker), scope_of(c, reader), &is_deeper);
    if (shared >= MAX_DEPTH)
        return reader;
    str made_in = part_at(c, maker, shared), read_in = part_at(c, reader, shared);
    if (shared == 0 && str_is(made_in, "pos_embed") && !read_in.len) /* xcit.py: pos_encoding */
        return c->count - 1;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
        if (is_like(made_in, KEPT[i].made_in) && is_like(read_in, KEPT[i].read_in) &&
            (!KEPT[i].is_own || !part_at(c, maker, shared + 1).len))
            return shared > 0 ? c->ends[reader][shared - 1] : c->count - 1;
    return reader;
}

/* ---- storages ------------------------------------------------------------------------------------------------------ */

typedef struct builder {
    const program *program;
    lifetime *items;
    int32_t *shares;      /* by storage: the one that it is written into; itself if it has its own memory */
    tensor_id *weights;   /* by storage: the weight that lies there, of which kernels may read views; NO_TENSOR: none */
    int32_t *made_at;     /* by storage: the first kernel that writes it; -1: none */
    const bool *is_given; /* by storage: an input of the network; NULL: what no kernel writes is */
    const uint8_t *bits;  /* by storage: of the widest form that kernels read; NULL: that of the file */
    calls calls;
} builder;

/* ---- in place ------------------------------------------------------------------------------------------------------- */

/* Programs write each result into memory of its own, because files do not tell. Networks of convolutions write activations over their
 * input where nobody needs that any more, and sums that an activation follows over the branch. (PyTorch's traces of 625 networks in
 * training: 22,369 of 24,473 times relu, 851 of 882 times hardswish, 5,393 of 6,305 times silu, which copies its input before;
 * 4,826 of 6,672 sums before a relu.) */
static bool is_rectifier(const kernel *k)
{
    static const char *const OPS[] = {"relu", "hardtanh", "leaky_relu"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (strcmp(k->op, OPS[i]) == 0)
            return true;
    return false;
}

/* Layers of a norm and an activation are made to work in place; networks without norms have activations of their own. */
static bool follows_norm(const program *p, int32_t index)
{
    const kernel *k = &p->kernels.items[index];
    return index > 0 && strstr(k[-1].op, "norm") && k[-1].outputs[0] == k->inputs[0];
}

static bool is_batch_norm(const kernel *k)
{
    return (strcmp(k->op, "cudnn_batch_norm") == 0 || strcmp(k->op, "native_batch_norm") == 0) && k->input_count > 0;
}

/* A compiler writes over an input that it needs no more, where elements lie alike. */
static bool is_fused(const kernel *k)
{
    return strncmp(k->op, "triton", 6) == 0 && k->output_count > 0;
}

/* Does the second kernel lie in the module whose code calls the first? */
static bool is_within(const calls *c, int32_t first, int32_t second)
{
    if (first >= c->count || second >= c->count)
        return true;
    scope outer = scope_of(c, first);
    int own = outer.mark == '.' && outer.path.len > 0; /* the kernel's own name, in names without strokes */
    bool is_deeper;
    return shared_depth(outer, scope_of(c, second), &is_deeper) >= depth_of(outer) - own;
}

/* An activation is free to write over what the code around it made, not over what that code was given. */
static bool is_made_beside(const calls *c, int32_t maker, int32_t index)
{
    if (index >= c->count || maker < 0)
        return true;
    scope own = scope_of(c, index);
    bool is_deeper;
    return shared_depth(scope_of(c, maker), own, &is_deeper) >= depth_of(own) - 1;
}

static bool writes_over_input(const calls *c, int32_t index, bool is_training)
{
    const program *p = c->program;
    const kernel *k = &p->kernels.items[index];
    if (is_rectifier(k))
        return true;
    if (strcmp(k->op, "silu") == 0 || strcmp(k->op, "hardswish") == 0)
        return !is_training && p->tensors.items[k->outputs[0]].rank == 4 && follows_norm(p, index);
    if (strcmp(k->op, "add") != 0 || index + 1 >= p->kernels.count)
        return false;
    const kernel *next = k + 1;
    return is_rectifier(next) && next->input_count == 1 && next->inputs[0] == k->outputs[0] &&
           is_within(c, index, index + 1);
}

/* No device has as much; sums over all storages cannot overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 42;

int64_t dense_bytes(const placed_tensor *t)
{
    if (t->packed_bytes)
        return t->packed_bytes < MOST_BYTES ? t->packed_bytes : MOST_BYTES;
    int64_t elements = 1; /* lowering has refused what does not fit */
    for (int i = 0; i < t->rank; i++)
        elements *= t->dims[i];
    int64_t bytes = (elements * dtype_bits(t->dtype) + 7) / 8;
    return bytes < MOST_BYTES ? bytes : MOST_BYTES;
}

/* The input that the kernel writes over; -1: none. */
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

static void share(builder *b, const lower_options *options, const lifetime_rules *rules, arena *a)
{
    const program *p = b->program;
    int32_t *last_use = ARENA_ARRAY(a, int32_t, (size_t)p->storage_count + 1);
    bool *is_ours = ARENA_ARRAY(a, bool, (size_t)p->storage_count + 1); /* made by a kernel */
    bool is_training = options->mode != MODE_INFER;
    b->made_at = arena_room(a, (size_t)p->storage_count + 1, sizeof *b->made_at);
    for (int32_t i = 0; i < p->storage_count; i++) {
        b->shares[i] = i;
        b->made_at[i] = last_use[i] = -1;
    }
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        for (int32_t j = 0; j < k->input_count && strcmp(k->op, "leaky_relu_backward") != 0; j++)
            last_use[p->tensors.items[k->inputs[j]].storage] =
                i; /* that one reads the result of one that worked in place */
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
        bool is_norm = rules->norms_in_place && k->phase == PHASE_FORWARD && is_batch_norm(k) &&
                       is_ours[p->tensors.items[k->inputs[0]].storage];
        if (options->runtime == RUNTIME_INDUCTOR
                ? !is_fused(k)
                : k->phase != PHASE_FORWARD || (!is_norm && !writes_over_input(&b->calls, i, is_training)))
            continue;
        if (rules->norms_in_place && strcmp(k->op, "add") == 0) /* a norm needs what it wrote: sums leave it alone */
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
    return first_met == PHASE_BACKWARD ? MEMORY_GRADIENTS : MEMORY_INPUTS; /* the former are kept between steps */
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
    if (l->read < 0) { /* met for the first time */
        l->bytes = dense_bytes(t);
        if (b->bits && t->is_weight && !t->packed_bytes && dtype_bits(t->dtype) > 0) /* texts have none */
            l->bytes = l->bytes * b->bits[t->storage] / dtype_bits(t->dtype);
        l->birth = is_made && !t->is_weight ? kernel_index : BEFORE_ALL;
        if (!is_made && !t->is_weight && b->is_given && !b->is_given[t->storage] && k->phase == PHASE_FORWARD) {
            l->birth = kernel_index; /* a compiler has the parts of it written there at once */
            is_made = true;
        }
        l->layer = k->layer;
        l->part = part_of(t, (kernel_phase)k->phase, is_made);
        l->death = l->birth == BEFORE_ALL ? INT32_MAX : kernel_index;
    }
    l->read = kernel_index;
    int32_t until = held_until(&b->calls, l->birth, kernel_index);
    if (!is_made && l->birth >= 0) {
        int32_t kept = kept_until(&b->calls, l->birth, kernel_index),
                end = statement_end(&b->calls, l->birth, kernel_index);
        until = until > kept ? until : kept;
        until = until > end ? until : end;
    }
    if (!is_made && l->birth >= 0 && strcmp(k->op, "cat") == 0 && !is_same_formula(&b->calls, l->birth, kernel_index) &&
        !is_cast_at_once(&b->calls, kernel_index)) { /* the list of what is put together is a variable */
        int32_t returned = list_ends_at(&b->calls, kernel_index);
        until = until > returned ? until : returned;
    }
    if (until > l->death)
        l->death = until;
    if (k->phase == PHASE_UPDATE && l->part == MEMORY_ACTIVATIONS && !t->is_weight) {
        l->part = MEMORY_GRADIENTS;
        l->death = INT32_MAX;
    }
}

static lifetime *lifetime_of(const builder *b, tensor_id id)
{
    return &b->items[b->shares[b->program->tensors.items[id].storage]];
}

static void keep(lifetime *l, int32_t until)
{
    if (l->birth >= 0 && l->death < until)
        l->death = until;
}

/* A product of two values, attention. */
static bool is_between_values(const builder *b, const kernel *k)
{
    if (k->input_count < 2 || strcmp(k->op, "bmm") != 0)
        return strncmp(k->op, "_scaled_dot_product", 19) == 0;
    const placed_tensor *tensors = b->program->tensors.items;
    return b->weights[tensors[k->inputs[0]].storage] == NO_TENSOR &&
           b->weights[tensors[k->inputs[1]].storage] == NO_TENSOR;
}

static bool is_copy(const kernel *k)
{
    return k->input_count == 1 && (strcmp(k->op, "clone") == 0 || strcmp(k->op, "_to_copy") == 0);
}

/* Operands of such products have names of their own (q, k, v), which last until the function returns. Casts and copies that the operator makes
 * of them have not. */
static void keep_operands(builder *b)
{
    const kernel *kernels = b->program->kernels.items;
    for (int32_t i = 0; i < b->calls.count; i++) {
        for (int32_t j = 0; is_between_values(b, &kernels[i]) && j < kernels[i].input_count; j++) {
            lifetime *l = lifetime_of(b, kernels[i].inputs[j]);
            for (int32_t at = i; l->birth >= 0 && l->birth < at && is_copy(&kernels[l->birth]) &&
                                 !(l->birth > 0 && is_cast_at_once(&b->calls, l->birth - 1));) {
                at = l->birth;
                l = lifetime_of(b, kernels[at].inputs[0]);
            }
            keep(l, returns_at(&b->calls, i));
        }
    }
}

/* The module that the code around this kernel calls next returns behind the kernel that is told. */
static int32_t next_call_end(const calls *c, int32_t kernel_index)
{
    scope own = scope_of(c, kernel_index);
    int depth = depth_of(own);
    for (int32_t i = kernel_index + 1; i < c->count && depth < MAX_DEPTH; i++) {
        bool is_deeper;
        if (shared_depth(own, scope_of(c, i), &is_deeper) < depth)
            break;
        if (is_deeper)
            return c->ends[i][depth];
    }
    return kernel_index;
}

/* The module behind the one at this depth that the kernel lies in, in the same code, returns behind the kernel that is told. */
static int32_t next_call_at(const calls *c, int32_t kernel_index, int depth)
{
    int32_t next = c->ends[kernel_index][depth] + 1;
    bool is_deeper;
    if (next >= c->count || shared_depth(scope_of(c, kernel_index), scope_of(c, next), &is_deeper) < depth)
        return kernel_index;
    return c->ends[next][depth];
}

/* The kernel that made what this one reads first, if it is this operator's; -1: none. */
static int32_t maker_of(const builder *b, int32_t kernel_index, const char *op)
{
    const kernel *k = &b->program->kernels.items[kernel_index];
    int32_t maker = k->input_count > 0 ? lifetime_of(b, k->inputs[0])->birth : -1;
    return maker >= 0 && strcmp(b->program->kernels.items[maker].op, op) == 0 ? maker : -1;
}

static bool has_kernel(const calls *c, const char *op)
{
    for (int32_t i = 0; i < c->count; i++)
        if (strcmp(c->program->kernels.items[i].op, op) == 0)
            return true;
    return false;
}

/* Attention in windows, every second time shifted ones (Swin): a function is given norm1(x), rolls, pads, cuts it into windows and gives these to a
 * module. Then what was shifted and padded is still there, and the argument too. */
static void keep_shifted(builder *b)
{
    const kernel *kernels = b->program->kernels.items;
    int32_t count = has_kernel(&b->calls, "roll") ? b->calls.count : 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t padded = strcmp(kernels[i].op, "clone") == 0 ? maker_of(b, i, "constant_pad_nd") : -1;
        if (padded < 0)
            continue;
        int32_t rolled = maker_of(b, padded, "roll"), end = next_call_end(&b->calls, i);
        keep(lifetime_of(b, kernels[padded].outputs[0]), end);
        keep(lifetime_of(b, kernels[rolled >= 0 ? rolled : padded].inputs[0]), end);
    }
}

/* nfnet.py, out = conv2(act2(out)): the name stays with what the first convolution made until the second returns. */
static void keep_activated(builder *b)
{
    const kernel *kernels = b->program->kernels.items;
    for (int32_t i = 0; i < b->calls.count; i++) {
        int32_t maker = strcmp(kernels[i].op, "gelu") == 0 ? maker_of(b, i, "convolution") : -1;
        if (maker < 0)
            continue;
        scope own = scope_of(&b->calls, i);
        bool is_deeper;
        int shared = shared_depth(scope_of(&b->calls, maker), own, &is_deeper);
        str name = part_at(&b->calls, i, shared);
        if (str_is(name, "act2") || str_is(name, "act2b") || str_is(name, "act3"))
            keep(lifetime_of(b, kernels[i].inputs[0]), next_call_at(&b->calls, i, shared));
    }
}

/* Autocast keeps the 16-bit copies of parameters until it is left: behind the forward pass, or behind the backward pass where that
 * runs inside it. */
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
        if (k->input_count != 1 || strcmp(k->op, "_to_copy") != 0 || !p->tensors.items[k->inputs[0]].is_weight)
            continue;
        lifetime *l = &b->items[b->shares[p->tensors.items[k->outputs[0]].storage]];
        l->death = l->death > end ? l->death : end;
    }
}

/* Until PyTorch 1.11 autograd kept what a softmax reads, besides what it writes. */
static void keep_scores(builder *b)
{
    const program *p = b->program;
    for (int32_t i = 0; i < p->kernels.count && p->kernels.items[i].phase == PHASE_FORWARD; i++) {
        const kernel *k = &p->kernels.items[i];
        if (strcmp(k->op, "_softmax") != 0 || k->input_count < 1 || k->output_count < 1)
            continue;
        lifetime *read = &b->items[b->shares[p->tensors.items[k->inputs[0]].storage]];
        const lifetime *made = &b->items[b->shares[p->tensors.items[k->outputs[0]].storage]];
        if (read->birth < 0 || p->kernels.items[made->read].phase != PHASE_BACKWARD)
            continue;
        read->death = read->death > made->read ? read->death : made->read;
        read->read = read->read > made->read ? read->read : made->read;
    }
}

/* The caller has them until the next pass returns others; so it has a gradient that nothing reads. */
static void keep_outputs(builder *b, const network *net)
{
    const program *p = b->program;
    for (int32_t i = 0; net && i < p->tensors.count; i++) {
        const placed_tensor *t = &p->tensors.items[i];
        for (int32_t o = 0; t->value != NO_VALUE && o < net->outputs.count; o++)
            if (net->outputs.items[o] == t->value)
                b->items[b->shares[t->storage]].death = INT32_MAX;
    }
    for (int32_t i = 0; i < p->storage_count; i++) {
        lifetime *l = &b->items[i];
        if (l->birth >= 0 && l->read == l->birth && p->kernels.items[l->birth].phase == PHASE_BACKWARD) {
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

/* An engine keeps weights in 8 bits where products read them so, and in no other form. */
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

lifetime *lifetimes_of(const program *p, const network *net, const lower_options *options, const lifetime_rules *rules,
                       arena *a)
{
    builder b = {.program = p, .items = arena_room(a, (size_t)p->storage_count + 1, sizeof(lifetime))};
    b.shares = arena_room(a, (size_t)p->storage_count + 1, sizeof *b.shares);
    b.weights = arena_room(a, (size_t)p->storage_count + 1, sizeof *b.weights);
    for (int32_t i = 0; i < p->storage_count; i++)
        b.weights[i] = NO_TENSOR;
    for (tensor_id t = p->tensors.count - 1; t >= 0; t--) /* the first of a storage is the whole */
        if (p->tensors.items[t].is_weight)
            b.weights[p->tensors.items[t].storage] = t;
    b.calls = find_calls(p, options->runtime == RUNTIME_EAGER ? net : NULL, a);
    share(&b, options, rules, a);
    b.bits = options->runtime == RUNTIME_ENGINE ? find_bits(p, a) : NULL;
    b.is_given = net && options->runtime == RUNTIME_INDUCTOR ? find_given(p, net, a) : NULL;
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
    keep_activated(&b);
    keep_casts(&b, options);
    if (rules->version < 111)
        keep_scores(&b);
    keep_outputs(&b, net);
    return b.items;
}
