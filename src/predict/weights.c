/* weights.c: reads and validates a file of weights. */
#include "predict/weights_order.h"

#include <stdalign.h>

static const char MAGIC[16] = "sooth weights";

uint32_t weights_checksum(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint32_t h = 0x811c9dc5u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x01000193u;
    return h;
}

enum { RANGE_FLOATS = WORK_GROUP_COUNT * FEATURE_COUNT, FOREST_FLOATS = FOREST_GROUPS * FOREST_WIDTH * FOREST_EDGES };
enum { MAX_FORESTS = FOREST_GROUPS * MAX_GPUS, MOST_NUMBERS = 1 << 24 };

size_t weights_size(const weights_header *h)
{
    if (h->stack_count < UNKNOWN_STACKS || h->stack_count > MAX_STACKS || h->gpu_count < 1 || h->gpu_count > MAX_GPUS ||
        h->group_count != WORK_GROUP_COUNT || h->feature_count != FEATURE_COUNT || h->op_count < 1 ||
        h->op_count > (uint32_t)aten_number_count() || h->seen_count > MOST_NUMBERS || h->chain_count > MOST_NUMBERS ||
        h->graph_count > MOST_NUMBERS || h->forest_count > MAX_FORESTS || h->tree_count > (1u << 20))
        return 0;
    net_layout at = net_layout_of((int)h->op_count, (int)h->stack_count, (int)h->gpu_count);
    if (at.count != h->param_count)
        return 0;
    size_t names = ((size_t)h->stack_count + h->gpu_count) * WEIGHTS_NAME;
    size_t marks = (size_t)h->stack_count + h->gpu_count * (1 + (size_t)WORK_UNITS + VIEW_NUMBERS) + h->op_count;
    marks += h->gpu_count * net_op_words((int)h->op_count);
    size_t floats =
        marks + 2 * at.count + (size_t)RANGE_FLOATS * 2 + interval_floats((int)h->stack_count, (int)h->gpu_count);
    size_t forests = h->forest_count * sizeof(forest) + h->tree_count * sizeof(forest_tree);
    size_t numbers = (size_t)h->seen_count + h->chain_count + h->graph_count;
    floats += FOREST_FLOATS;
    return sizeof *h + names + (floats + numbers) * sizeof(float) + forests;
}

static str name_at(const char *names, size_t index)
{
    const char *p = names + index * WEIGHTS_NAME;
    return (str){p, strnlen(p, WEIGHTS_NAME)};
}

void weights_open(const predictor *p, weights_view *view)
{
    const weights_header *h = &p->header;
    const char *next = (const char *)(h + 1);
    net *n = &view->net;
    n->stack_count = (int)h->stack_count;
    n->gpu_count = (int)h->gpu_count;
    n->op_count = (int)h->op_count;
    n->at = net_layout_of(n->op_count, n->stack_count, n->gpu_count);
    for (int i = 0; i < n->stack_count; i++)
        n->stacks[i] = name_at(next, (size_t)i);
    next += (size_t)n->stack_count * WEIGHTS_NAME;
    for (int i = 0; i < n->gpu_count; i++)
        n->gpus[i] = name_at(next, (size_t)i);
    next += (size_t)n->gpu_count * WEIGHTS_NAME;
    n->stack_groups = (const uint32_t *)(const void *)next;
    n->gpu_groups = n->stack_groups + n->stack_count;
    n->op_seen = n->gpu_groups + n->gpu_count;
    n->gpu_units = n->op_seen + n->op_count;
    n->gpu_ops = n->gpu_units + n->gpu_count * WORK_UNITS;
    n->gpu_numbers = (const float *)(const void *)(n->gpu_ops + (size_t)n->gpu_count * net_op_words(n->op_count));
    n->params = n->gpu_numbers + n->gpu_count * VIEW_NUMBERS;
    n->low = n->params + 2 * (size_t)h->param_count;
    n->high = n->low + RANGE_FLOATS;
    view->new_gpu = *n;
    view->new_gpu.params += h->param_count;
    const float *intervals = n->high + RANGE_FLOATS;
    view->intervals = interval_table_at(intervals, n->stack_count, n->gpu_count);
    const uint32_t *numbers =
        (const uint32_t *)(const void *)(intervals + interval_floats(n->stack_count, n->gpu_count));
    view->seen = (number_list){numbers, h->seen_count};
    view->chains = (number_list){numbers + h->seen_count, h->chain_count};
    view->graphs = (number_list){view->chains.items + h->chain_count, h->graph_count};
    forest_set *f = &view->forests;
    *f = (forest_set){.items = (const forest *)(const void *)(view->graphs.items + h->graph_count),
                      .count = h->forest_count,
                      .tree_count = h->tree_count};
    f->edges = (const float *)(const void *)(f->items + f->count);
    f->trees = (const forest_tree *)(const void *)(f->edges + FOREST_FLOATS);
}

/* ---- are the numbers sound? -------------------------------------------------------------------------------------- */

/* Limits far above trained values, and small enough that no layer overflows. */
static const float MOST_PARAMETER = 1e4F, MOST_FEATURE = 1e6F;
/* Limit of a logarithm of microseconds: nine seconds per launch. */
static const float MOST_LOG_US = 16;

/* Written so that NAN counts as out of range. */
static bool all_within(const float *x, size_t count, float most)
{
    for (size_t i = 0; i < count; i++)
        if (!(x[i] >= -most && x[i] <= most))
            return false;
    return true;
}

static bool params_are_sound(const net *n)
{
    const net_layout *at = &n->at;
    return all_within(n->params, at->stack_fixed, MOST_PARAMETER) &&
           all_within(n->params + at->stack_fixed, at->first[0] - at->stack_fixed, MOST_LOG_US) &&
           all_within(n->params + at->first[0], at->count - at->first[0], MOST_PARAMETER);
}

static bool ranges_are_sound(const net *n)
{
    if (!all_within(n->low, RANGE_FLOATS, MOST_FEATURE) || !all_within(n->high, RANGE_FLOATS, MOST_FEATURE))
        return false;
    for (size_t i = 0; i < RANGE_FLOATS; i++)
        if (n->low[i] > n->high[i])
            return false;
    return true;
}

/* Far above any data sheet. Only the logarithm of the clocks is negative. */
static bool numbers_are_sound(const net *n)
{
    return all_within(n->gpu_numbers, (size_t)n->gpu_count * VIEW_NUMBERS, 1e20F);
}

static bool is_sorted(const number_list *l)
{
    for (uint32_t i = 1; i < l->count; i++)
        if (l->items[i] <= l->items[i - 1])
            return false;
    return true;
}

/* Checks that trees are inside the file and use existing features. Edges ascend; the last ones may be infinite. */
static bool forests_are_sound(const forest_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->items[i].kind >= FOREST_GROUPS || set->items[i].first > set->tree_count ||
            set->items[i].count > set->tree_count - set->items[i].first)
            return false;
    for (size_t i = 0; i < FOREST_FLOATS; i++)
        if (!(set->edges[i] >= -MOST_FEATURE) || (i % FOREST_EDGES > 0 && !(set->edges[i] >= set->edges[i - 1])))
            return false;
    for (uint32_t i = 0; i < set->tree_count; i++)
        for (int node = 0; node < FOREST_NODES; node++)
            if (set->trees[i].feature[node] >= FOREST_WIDTH)
                return false;
    return true;
}

const char *weights_wrong(const weights_view *v)
{
    if (!params_are_sound(&v->net) || !params_are_sound(&v->new_gpu))
        return "parameters of the weights are absurd or not finite";
    if (!numbers_are_sound(&v->net))
        return "numbers of the GPUs in the weights are impossible";
    if (!ranges_are_sound(&v->net))
        return "feature ranges of the weights are impossible";
    if (!interval_is_sound(&v->intervals))
        return "intervals of the weights are impossible";
    if (!is_sorted(&v->seen) || !is_sorted(&v->chains) || !is_sorted(&v->graphs))
        return "a list of kernels or graphs of the weights is not sorted";
    return forests_are_sound(&v->forests) ? NULL : "trees of the weights are inconsistent";
}

const predictor *predictor_read(str bytes, const char *prefix, arena *a, fail *f)
{
    const char *learn = "train them again with `sooth learn`";
    weights_header h;
    if (bytes.len < sizeof h || memcmp(bytes.ptr, MAGIC, sizeof MAGIC) != 0)
        fail_with(f, SOOTH_ERROR_INPUT, "%snot a file of weights: %s", prefix, learn);
    memcpy(&h, bytes.ptr, sizeof h);
    weights_turn_header(&h);
    if (h.version != WEIGHTS_VERSION)
        fail_with(f, SOOTH_ERROR_INPUT, "%sweights of version %u; this program reads version %d: %s", prefix, h.version,
                  WEIGHTS_VERSION, learn);
    size_t size = weights_size(&h);
    if (size == 0)
        fail_with(f, SOOTH_ERROR_INPUT, "%sweights for other features or operators: %s", prefix, learn);
    if (size != bytes.len || size != h.bytes)
        fail_with(f, SOOTH_ERROR_INPUT, "%s%zu bytes of weights instead of %zu: the file is truncated or damaged",
                  prefix, bytes.len, size);
    size_t after = offsetof(weights_header, checksum) + sizeof h.checksum;
    if (weights_checksum(bytes.ptr + after, size - after) != h.checksum)
        fail_with(f, SOOTH_ERROR_INPUT, "%sthe checksum of the weights is wrong: the file is damaged", prefix);
    if (WEIGHTS_TURNED || (uintptr_t)bytes.ptr % alignof(weights_header) != 0) {
        char *copy = arena_copy(a, bytes.ptr, bytes.len, 1);
        memcpy(copy, &h, sizeof h);
        weights_turn_rest(copy, &h);
        bytes.ptr = copy;
    }
    const predictor *p = (const predictor *)(const void *)bytes.ptr;
    weights_view view;
    weights_open(p, &view);
    const char *wrong = weights_wrong(&view);
    if (wrong)
        fail_with(f, SOOTH_ERROR_INPUT, "%s%s: %s", prefix, wrong, learn);
    return p;
}

/* Not validated here, because training and a test have validated them. */
const predictor *predictor_shipped(fail *f)
{
    if (memcmp(shipped_weights.header.magic, MAGIC, sizeof MAGIC) != 0) /* The library was built without weights. */
        return NULL;
    const predictor *shipped = weights_shipped();
    if (!shipped)
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory");
    const weights_header *h = &shipped->header;
    if (h->version != WEIGHTS_VERSION || weights_size(h) != h->bytes)
        fail_with(f, SOOTH_ERROR_SYSTEM,
                  "the embedded weights have another version than the program: train them again with tools/train.sh");
    return shipped;
}

const char *predictor_identity(const predictor *p, arena *a)
{
    return p ? arena_printf(a, "%08x", p->header.checksum).ptr : "";
}

/* ---- lists of numbers ---------------------------------------------------------------------------------------------- */

bool number_list_has(const number_list *l, uint32_t number)
{
    const uint32_t *from = l->items;
    size_t count = l->count;
    if (count == 0)
        return false;
    /* Hashes are uniform, so the index of each differs from its expectation by a few square roots of the count. */
    size_t reach = (size_t)1 << (65 - __builtin_clzll(count)) / 2, guess = (size_t)((uint64_t)number * count >> 32);
    size_t least = guess > reach ? guess - reach : 0, end = guess + reach < count ? guess + reach : count;
    if ((least == 0 || from[least - 1] < number) && (end == count || from[end - 1] >= number)) {
        from += least;
        count = end - least;
    }
    /* Bisects without branches, which would be mispredicted half of the time. */
    while (count > 1) {
        size_t half = count / 2;
        from = from[half - 1] < number ? from + half : from;
        count -= half;
    }
    return *from == number;
}
