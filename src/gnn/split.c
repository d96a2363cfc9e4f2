/* split.c: divides the labels of a set into training, validation and test. */
#include "base/csv.h"
#include "gnn/set.h"

#include <stdlib.h>

const char *const GNN_SPLIT_NAMES[GNN_SPLITS + 1] = {"random", "architecture", "family", "gpu", NULL};
const char *const GNN_ROLE_NAMES[GNN_ROLES] = {"train", "validation", "test", "unused"};

static const double SHARE = 0.15; /* share of the labels for test, and for validation */
enum { FEW_GROUPS = 10 };

/* Labels that stay together. */
typedef struct group {
    uint64_t key, order;
    size_t count;
    uint8_t role;
} group;

typedef struct splitting {
    gnn_set *set;
    const gnn_split_options *options;
    group *groups;
    size_t count;
    uint64_t *keys; /* by row */
} splitting;

static uint64_t hash_of(uint64_t seed, const char *s, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)s[i]) * 0x100000001b3u;
    return gnn_random(&hash);
}

static uint64_t hash_of_number(uint64_t seed, uint64_t x)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u ^ x;
    return gnn_random(&state);
}

static uint64_t key_of(const gnn_set *s, const gnn_row *row, gnn_split by)
{
    const gnn_example *e = &s->examples.items[row->graph];
    const char *gpu = s->settings.items[row->setting].is.gpu;
    switch (by) {
    case GNN_ARCHITECTURE:
        return e->architecture;
    case GNN_FAMILY:
        return hash_of(0, e->family, strlen(e->family));
    case GNN_GPU:
        return hash_of(0, gpu, strlen(gpu));
    default:
        return e->fingerprint;
    }
}

static int by_key(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int by_order(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order ? 1 : by_key(a, b);
}

static group *find(const splitting *s, uint64_t key)
{
    return bsearch(&(group){.key = key}, s->groups, s->count, sizeof *s->groups, by_key);
}

/* Lists the groups of the rows that still have the role of training. */
static void list_groups(splitting *s, gnn_split by)
{
    const gnn_set *set = s->set;
    s->count = 0;
    for (int32_t r = 0; r < set->rows.count; r++) {
        s->keys[r] = key_of(set, &set->rows.items[r], by);
        if (set->roles[r] == GNN_TRAIN)
            s->groups[s->count++] = (group){.key = s->keys[r], .count = 1};
    }
    qsort(s->groups, s->count, sizeof *s->groups, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (kept && s->groups[kept - 1].key == s->groups[i].key)
            s->groups[kept - 1].count++;
        else
            s->groups[kept++] = s->groups[i];
    s->count = kept;
    for (size_t i = 0; i < s->count; i++)
        s->groups[i].order = hash_of_number(s->options->seed, s->groups[i].key);
}

/* Gives the role to groups, in the order of the seed, until they have their share of all labels. */
static void choose(splitting *s, gnn_role role)
{
    double wanted = SHARE * (double)s->set->rows.count, has = 0;
    qsort(s->groups, s->count, sizeof *s->groups, by_order);
    for (size_t i = 0; i < s->count && has < wanted; i++) {
        s->groups[i].role = (uint8_t)role;
        has += (double)s->groups[i].count;
    }
    qsort(s->groups, s->count, sizeof *s->groups, by_key);
}

/* Gives rows the role of their group. */
static void assign(splitting *s)
{
    for (int32_t r = 0; r < s->set->rows.count; r++) {
        const group *g = s->set->roles[r] == GNN_TRAIN ? find(s, s->keys[r]) : NULL;
        if (g)
            s->set->roles[r] = g->role;
    }
}

/* ---- test labels by name ----------------------------------------------------------------------------------------- */

static void choose_named(splitting *s)
{
    const gnn_split_options *o = s->options;
    fail *f = s->set->arena->fail;
    if (o->by != GNN_FAMILY && o->by != GNN_GPU)
        fail_with(f, SOOTH_ERROR_USAGE, "names of what is tested need a split by family or gpu");
    for (size_t i = 0; i < o->apart_count; i++) {
        group *g = find(s, hash_of(0, o->apart[i], strlen(o->apart[i])));
        if (!g)
            fail_with(f, SOOTH_ERROR_USAGE, "no label of the set has the %s '%.60s'", GNN_SPLIT_NAMES[o->by],
                      o->apart[i]);
        g->role = GNN_TEST;
    }
}

enum { LISTED_COLUMNS = 8 };
static const char *const LISTED[LISTED_COLUMNS] = {"name",   "batch",   "gpu",  "precision",
                                                   "layout", "runtime", "mode", "stack"};

static uint64_t listed_hash(const char *const *fields, const size_t *lengths)
{
    uint64_t hash = 0;
    for (int i = 0; i < LISTED_COLUMNS; i++)
        hash = hash_of(hash, fields[i], lengths[i]);
    return hash;
}

static uint64_t row_hash(const gnn_set *s, const gnn_row *row)
{
    const gnn_example *e = &s->examples.items[row->graph];
    const set_setting *x = &s->settings.items[row->setting].is;
    char batch[24];
    size_t digits = 0, lengths[LISTED_COLUMNS];
    for (int64_t n = e->figures.batch; n > 0 && digits < sizeof batch; n /= 10)
        batch[sizeof batch - ++digits] = (char)('0' + n % 10);
    const char *const fields[] = {
        e->name, batch + sizeof batch - digits, x->gpu, x->precision, x->layout, x->runtime, x->mode, x->stack};
    for (int i = 0; i < LISTED_COLUMNS; i++)
        lengths[i] = i == 1 ? digits : strlen(fields[i]);
    return listed_hash(fields, lengths);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Marks the listed rows as test, and the other rows of their groups as unused. */
static void choose_listed(splitting *s)
{
    arena *a = s->set->arena;
    csv table;
    struct {
        uint64_t *items;
        int32_t count, capacity;
    } list = {0};
    int columns[LISTED_COLUMNS];
    csv_begin(&table, s->options->rows, a);
    bool has_header = csv_next(&table);
    for (int i = 0; i < LISTED_COLUMNS; i++) {
        columns[i] = has_header ? csv_find(&table, LISTED[i]) : -1;
        if (columns[i] < 0)
            fail_with(a->fail, SOOTH_ERROR_INPUT, "the list of test rows has no column '%s'", LISTED[i]);
    }
    while (csv_next(&table)) {
        const char *fields[LISTED_COLUMNS];
        size_t lengths[LISTED_COLUMNS];
        for (int i = 0; i < LISTED_COLUMNS; i++) {
            str field = csv_at(&table, columns[i]);
            fields[i] = field.len ? field.ptr : "";
            lengths[i] = field.len;
        }
        *(uint64_t *)ARENA_PUSH_ROOM(a, &list) = listed_hash(fields, lengths);
    }
    qsort(list.items, (size_t)list.count, list.count ? sizeof *list.items : 1, ascending);
    size_t found = 0;
    for (int32_t r = 0; r < s->set->rows.count; r++) {
        uint64_t hash = row_hash(s->set, &s->set->rows.items[r]);
        if (!list.count || !bsearch(&hash, list.items, (size_t)list.count, sizeof hash, ascending))
            continue;
        find(s, s->keys[r])->role = GNN_UNUSED;
        s->set->roles[r] = GNN_TEST;
        found++;
    }
    if (!found)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "none of the %d listed test rows is a label of the set", (int)list.count);
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

size_t gnn_set_role_count(const gnn_set *s, gnn_role role)
{
    size_t count = 0;
    for (int32_t r = 0; r < s->rows.count; r++)
        count += s->roles[r] == role;
    return count;
}

void gnn_set_split(gnn_set *set, const gnn_split_options *o)
{
    size_t rows = (size_t)set->rows.count;
    splitting s = {.set = set,
                   .options = o,
                   .groups = ARENA_ARRAY(set->arena, group, rows + 1),
                   .keys = ARENA_ARRAY(set->arena, uint64_t, rows + 1)};
    memset(set->roles, GNN_TRAIN, rows);
    list_groups(&s, o->by);
    bool has_few = s.count < FEW_GROUPS;
    if (o->rows.len)
        choose_listed(&s);
    else if (o->apart_count)
        choose_named(&s);
    else
        choose(&s, GNN_TEST);
    assign(&s);
    list_groups(&s, has_few ? GNN_RANDOM : o->by);
    choose(&s, GNN_VALIDATE);
    assign(&s);
    for (int role = GNN_TRAIN; role <= GNN_TEST; role++)
        if (!gnn_set_role_count(set, (gnn_role)role))
            fail_with(set->arena->fail, SOOTH_ERROR_INPUT,
                      "a split by %s leaves no label for %s: the set has too few graphs", GNN_SPLIT_NAMES[o->by],
                      role == GNN_TRAIN ? "training" : GNN_ROLE_NAMES[role]);
}
