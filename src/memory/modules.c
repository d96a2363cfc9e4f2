#include "memory/modules.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Hash table of modules, keyed by parent and name. */
typedef struct module_table {
    calls *calls;
    arena *arena;
    int32_t *slots;   /* 0 if free. */
    int32_t *parents; /* Indexed by module: the enclosing module. */
    uint32_t capacity, parents_capacity;
    size_t part_ends[MAX_PARTS]; /* Length of the path of the newest scope up to each part. */
} module_table;

static uint64_t hash_module(int32_t parent, str name)
{
    uint64_t hash = ((uint64_t)(uint32_t)parent << 32 ^ name.len) * 0x9e3779b97f4a7c15u;
    if (name.len < 8)
        return (hash ^ str_short(name)) * 0xc2b2ae3d27d4eb4fu;
    for (size_t i = 0; i + 8 < name.len; i += 8) {
        hash = (hash ^ str_eight(name.ptr + i)) * 0xc2b2ae3d27d4eb4fu;
        hash ^= hash >> 29;
    }
    return (hash ^ str_eight(name.ptr + name.len - 8)) * 0xc2b2ae3d27d4eb4fu;
}

static uint32_t slot_of(const module_table *t, int32_t parent, str name)
{
    uint32_t at = (uint32_t)(hash_module(parent, name) >> 32) & (t->capacity - 1);
    for (; t->slots[at]; at = (at + 1) & (t->capacity - 1))
        if (t->parents[t->slots[at]] == parent && str_eq(t->calls->names.items[t->slots[at]], name))
            break;
    return at;
}

static int32_t add_module(module_table *t, int32_t parent, str name)
{
    int32_t number = t->calls->names.count;
    *(str *)ARENA_PUSH_ROOM(t->arena, &t->calls->names) = name;
    t->parents[number] = parent;
    return number;
}

static void grow_table(module_table *t)
{
    enum { FIRST = 256 };
    int32_t count = t->calls->names.count;
    t->capacity = t->capacity ? 2 * t->capacity : FIRST;
    t->slots = ARENA_ARRAY(t->arena, int32_t, t->capacity);
    int32_t *parents = arena_room(t->arena, t->capacity, sizeof *parents);
    if (count)
        memcpy(parents, t->parents, (size_t)count * sizeof *parents);
    t->parents = parents;
    for (int32_t i = 1; i < count; i++)
        t->slots[slot_of(t, parents[i], t->calls->names.items[i])] = i;
}

static int32_t find_module(module_table *t, int32_t parent, str name)
{
    if (2 * (uint32_t)t->calls->names.count >= t->capacity)
        grow_table(t);
    uint32_t at = slot_of(t, parent, name);
    if (!t->slots[at])
        t->slots[at] = add_module(t, parent, name);
    return t->slots[at];
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static str path_of(const network *net, node_id layer, bool *is_dotted)
{
    *is_dotted = false;
    if (layer < 0 || layer >= net->nodes.count)
        return (str){"", 0};
    str name = net->nodes.items[layer].name;
    size_t length = name.len;
    while (length && name.ptr[length - 1] != '/')
        length--;
    *is_dotted = !length && name.len;
    return length ? (str){name.ptr, length} : name;
}

static size_t common_prefix(str a, str b)
{
    size_t length = a.len < b.len ? a.len : b.len, i = 0;
    while (i + 8 <= length && str_eight(a.ptr + i) == str_eight(b.ptr + i))
        i += 8;
    while (i < length && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

/* Returns the scope of a path. It often equals the previous kernel's scope or shares a prefix with it. */
static int32_t find_scope(module_table *t, str path, bool is_dotted)
{
    calls *c = t->calls;
    const scope *last = c->scopes.count ? &c->scopes.items[c->scopes.count - 1] : NULL;
    size_t common = last && last->is_dotted == is_dotted ? common_prefix(path, last->path) : 0;
    if (last && common == path.len && common == last->path.len)
        return c->scopes.count - 1;
    scope s = {.path = path, .is_dotted = is_dotted};
    size_t at = 0;
    /* `<` requires that the separator after the part is also in the common prefix. */
    while (common && s.count < last->count && t->part_ends[s.count] < common) {
        s.modules[s.count] = last->modules[s.count];
        at = t->part_ends[s.count++];
    }
    for (char mark = is_dotted ? '.' : '/'; s.count < MAX_PARTS; s.count++) {
        while (at < path.len && path.ptr[at] == mark)
            at++;
        if (at == path.len)
            break;
        size_t end = at + 1;
        while (end < path.len && path.ptr[end] != mark)
            end++;
        int32_t around = s.count ? s.modules[s.count - 1] : 0;
        s.modules[s.count] = find_module(t, around, (str){path.ptr + at, end - at});
        t->part_ends[s.count] = at = end;
    }
    *(scope *)ARENA_PUSH_ROOM(t->arena, &c->scopes) = s;
    return c->scopes.count - 1;
}

static bool has_same_modules(const scope *a, const scope *b)
{
    return a == b || memcmp(a->modules, b->modules, sizeof a->modules) == 0;
}

calls find_calls(const program *p, const network *net, arena *a)
{
    calls c = {.program = p};
    module_table table = {.calls = &c, .arena = a};
    grow_table(&table);
    add_module(&table, 0, (str){"", 0}); /* Module 0 stands for none. */
    while (net && c.count < p->kernels.count && p->kernels.items[c.count].phase == PHASE_FORWARD)
        c.count++;
    c.scope_of = arena_room(a, (size_t)c.count + 1, sizeof *c.scope_of);
    c.last_alike = arena_room(a, (size_t)c.count + 1, sizeof *c.last_alike);
    c.ends = arena_room(a, (size_t)c.count + 1, sizeof *c.ends);
    for (int32_t i = 0; i < c.count; i++) {
        node_id layer = p->kernels.items[i].layer;
        bool is_dotted;
        if (i > 0 && layer == p->kernels.items[i - 1].layer) {
            c.scope_of[i] = c.scope_of[i - 1];
        } else {
            str path = path_of(net, layer, &is_dotted);
            c.scope_of[i] = find_scope(&table, path, is_dotted);
        }
    }
    memset(c.ends[c.count], 0, sizeof c.ends[c.count]);
    for (int32_t i = c.count - 1; i >= 0; i--) {
        const scope *own = scope_at(&c, i), *after = i + 1 < c.count ? scope_at(&c, i + 1) : own;
        int32_t shared = i + 1 == c.count ? 0 : shared_depth(own, after);
        const int32_t *ends_after = c.ends[i + 1];
        for (int32_t d = 0; d < MAX_DEPTH; d++) {
            int32_t end = ends_after[d]; /* Read unconditionally, which lets the compiler vectorize the loop. */
            c.ends[i][d] = d < shared ? end : i;
        }
        c.last_alike[i] = i + 1 < c.count && has_same_modules(own, after) ? c.last_alike[i + 1] : i;
    }
    return c;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

int32_t held_until(const calls *c, int32_t maker, int32_t reader)
{
    if (reader >= c->count || maker < 0)
        return reader;
    const scope *to = scope_at(c, reader);
    int shared = shared_depth(scope_at(c, maker), to);
    return shared < MAX_DEPTH && to->modules[shared] ? c->ends[reader][shared] : reader;
}

int32_t returns_at(const calls *c, int32_t kernel_index)
{
    if (kernel_index >= c->count)
        return kernel_index;
    int depth = depth_of(scope_at(c, kernel_index));
    return depth > 0 ? c->ends[kernel_index][depth - 1] : kernel_index;
}

int32_t named_until(const calls *c, int32_t maker, int32_t first, int32_t second)
{
    if (maker < 0 || first <= maker || second >= c->count)
        return second;
    const scope *from = scope_at(c, maker), *a = scope_at(c, first), *b = scope_at(c, second);
    int depth = shared_depth(from, b);
    bool is_one_call =
        shared_depth(a, b) > depth || c->program->kernels.items[first].layer == c->program->kernels.items[second].layer;
    if (depth == 0 || depth >= MAX_DEPTH || shared_depth(from, a) != depth || is_one_call)
        return second;
    return c->ends[second][depth - 1];
}

bool is_within(const calls *c, int32_t first, int32_t second)
{
    if (first >= c->count || second >= c->count)
        return true;
    const scope *outer = scope_at(c, first);
    return shared_depth(outer, scope_at(c, second)) >= depth_of(outer) - outer->is_dotted;
}

bool is_made_beside(const calls *c, int32_t maker, int32_t index)
{
    if (index >= c->count || maker < 0)
        return true;
    const scope *own = scope_at(c, index);
    return shared_depth(scope_at(c, maker), own) >= depth_of(own) - 1;
}

int32_t next_call_end(const calls *c, int32_t kernel_index)
{
    const scope *own = scope_at(c, kernel_index);
    int depth = depth_of(own);
    int32_t next = c->last_alike[kernel_index] + 1;
    if (depth == MAX_DEPTH || next >= c->count || shared_depth(own, scope_at(c, next)) < depth)
        return kernel_index;
    return c->ends[next][depth];
}
