/* set.c: reads graphs and labels for graph networks, and computes the scaling of their inputs. */
#include "gnn/set.h"
#include "learn/rows.h"

#include <math.h>

void gnn_set_begin(gnn_set *s, gnn_features which, sooth_gpus *gpus, arena *a)
{
    *s = (gnn_set){.arena = a, .gpus = gpus, .which = which};
    arena_init(&s->scratch, a->fail, ARENA_GIB(4));
}

void gnn_set_free(gnn_set *s)
{
    if (s->arena)
        arena_free(&s->scratch);
}

static const char *kept(gnn_set *s, const char *text)
{
    return arena_str(s->arena, str_of(text)).ptr;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static double traffic_of(const set_graph *g, const set_figures *f)
{
    double sum = (double)f->params;
    for (int32_t i = 0; i < g->node_count; i++) {
        double elements = 1;
        for (int k = 0; k < g->rank[i] && k < SET_DIMS; k++)
            elements *= g->dims[i][k] > 0 ? g->dims[i][k] : 1;
        sum += elements;
    }
    return sum;
}

void gnn_set_add_graph(gnn_set *s, const set_graph_row *row)
{
    set_graph g;
    arena_mark mark = arena_marked(&s->scratch);
    const char *wrong = set_graph_decode(row->graph, &s->scratch, &g);
    if (wrong)
        fail_with(s->arena->fail, SOOTH_ERROR_INPUT, "the stored graph of '%.100s' cannot be read: %s", row->name,
                  wrong);
    gnn_example *e = ARENA_PUSH(s->arena, &s->examples);
    str family = *row->family ? str_of(row->family) : row_family(str_of(row->name));
    e->name = kept(s, row->name);
    e->family = arena_str(s->arena, family).ptr;
    e->fingerprint = row->fingerprint;
    e->architecture = row->architecture;
    e->graph = gnn_features_of(&g, s->which, s->arena);
    e->figures = set_figures_of(&g);
    e->traffic = traffic_of(&g, &e->figures);
    e->first_row = s->rows.count;
    arena_rewind(&s->scratch, mark);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static bool is_same(const set_setting *a, const set_setting *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->mig, b->mig) == 0 && strcmp(a->precision, b->precision) == 0 &&
           strcmp(a->layout, b->layout) == 0 && strcmp(a->runtime, b->runtime) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->optimizer, b->optimizer) == 0 && strcmp(a->stack, b->stack) == 0;
}

/* Returns the index of the setting, whose GPU is NULL for a slice or a GPU without a file. */
static int32_t setting_of(gnn_set *s, const set_setting *is)
{
    for (int32_t i = s->settings.count - 1; i >= 0; i--)
        if (is_same(&s->settings.items[i].is, is))
            return i;
    gnn_setting *to = ARENA_PUSH(s->arena, &s->settings);
    to->is = (set_setting){kept(s, is->gpu),     kept(s, is->mig),  kept(s, is->precision), kept(s, is->layout),
                           kept(s, is->runtime), kept(s, is->mode), kept(s, is->optimizer), kept(s, is->stack)};
    sooth_error error;
    if (!*is->mig && !strchr(is->gpu, '/') && sooth_gpus_find(s->gpus, is->gpu, &to->gpu, &error) != SOOTH_OK)
        to->gpu = NULL;
    return s->settings.count - 1;
}

static bool is_wanted(const gnn_set *s, const char *gpu)
{
    for (size_t i = 0; i < s->only_count; i++)
        if (strcmp(s->only_gpus[i], gpu) == 0)
            return true;
    return !s->only_gpus;
}

void gnn_set_add_label(gnn_set *s, const set_label *l)
{
    if (!s->examples.count || !is_wanted(s, l->setting.gpu))
        return;
    gnn_example *e = &s->examples.items[s->examples.count - 1];
    const double values[GNN_OUTPUTS] = {l->latency_ms.value, l->energy_j.value, l->memory_mib.value};
    gnn_row row = {.graph = s->examples.count - 1, .setting = setting_of(s, &l->setting)};
    bool has_number = false;
    for (int o = 0; o < GNN_OUTPUTS; o++) {
        bool is_known = isfinite(values[o]) && values[o] > 0;
        row.target[o] = is_known ? (float)log(values[o]) : NAN;
        has_number |= is_known;
    }
    if (!s->settings.items[row.setting].gpu) {
        if (!s->unknown_gpu++)
            s->first_unknown = s->settings.items[row.setting].is.gpu;
        return;
    }
    if (!has_number) {
        s->no_number++;
        return;
    }
    *(gnn_row *)ARENA_PUSH_ROOM(s->arena, &s->rows) = row;
    e->row_count++;
}

void gnn_set_end(gnn_set *s)
{
    if (!s->rows.count)
        fail_with(
            s->arena->fail, SOOTH_ERROR_INPUT, "has no labels on known GPUs%s%s: make it with `sooth dataset make`",
            s->first_unknown ? "; its GPUs are not known, such as " : "", s->first_unknown ? s->first_unknown : "");
    s->setting_inputs = arena_alloc(s->arena, (size_t)s->settings.count, sizeof *s->setting_inputs);
    for (int32_t i = 0; i < s->settings.count; i++) {
        const gnn_setting *x = &s->settings.items[i];
        if (x->gpu)
            gnn_features_of_setting(x->gpu, x->is.precision, x->is.layout, x->is.runtime, x->is.mode, x->is.stack,
                                    s->setting_inputs[i]);
    }
    s->roles = arena_alloc(s->arena, (size_t)s->rows.count, 1);
}

/* ---- scaling ----------------------------------------------------------------------------------------------------- */

typedef struct moments {
    double count, sum, squares;
} moments;

static void add(moments *m, double x)
{
    m->count++;
    m->sum += x;
    m->squares += x * x;
}

/* A constant input has scale 0, so that a value never seen in training has no effect. */
static void settle(const moments *m, float *mean, float *scale)
{
    double average = m->count > 0 ? m->sum / m->count : 0;
    double variance = m->count > 0 ? m->squares / m->count - average * average : 0;
    *mean = (float)average;
    *scale = variance > 1e-8 ? (float)(1 / sqrt(variance)) : 0;
}

static bool is_trained(const gnn_set *s, const gnn_example *e)
{
    for (int32_t r = 0; r < e->row_count; r++)
        if (s->roles[e->first_row + r] == GNN_TRAIN)
            return true;
    return false;
}

void gnn_set_scaling(const gnn_set *s, gnn_scaling *to)
{
    moments values[GNN_VALUES] = {{0}}, rows[GNN_ROW_WIDTH] = {{0}}, outputs[GNN_OUTPUTS] = {{0}};
    float scale;
    for (int32_t i = 0; i < s->examples.count; i++) {
        const gnn_example *e = &s->examples.items[i];
        if (!is_trained(s, e))
            continue;
        for (int32_t k = 0; k < e->graph.node_count; k++)
            for (int v = 0; v < GNN_VALUES; v++)
                add(&values[v], e->graph.values[k][v]);
        for (int32_t r = e->first_row; r < e->first_row + e->row_count; r++) {
            if (s->roles[r] != GNN_TRAIN)
                continue;
            const gnn_row *row = &s->rows.items[r];
            for (int v = 0; v < GNN_STATICS; v++)
                add(&rows[v], e->graph.statics[v]);
            for (int v = 0; v < GNN_SETTINGS; v++)
                add(&rows[GNN_STATICS + v], s->setting_inputs[row->setting][v]);
            for (int o = 0; o < GNN_OUTPUTS; o++)
                if (!isnan(row->target[o]))
                    add(&outputs[o], row->target[o]);
        }
    }
    for (int v = 0; v < GNN_VALUES; v++)
        settle(&values[v], &to->value_mean[v], &to->value_scale[v]);
    for (int v = 0; v < GNN_ROW_WIDTH; v++)
        settle(&rows[v], &to->row_mean[v], &to->row_scale[v]);
    for (int o = 0; o < GNN_OUTPUTS; o++)
        settle(&outputs[o], &to->centre[o], &scale);
}

uint32_t gnn_set_outputs(const gnn_set *s)
{
    uint32_t known = 0;
    for (int32_t r = 0; r < s->rows.count; r++)
        for (int o = 0; o < GNN_OUTPUTS; o++)
            if (s->roles[r] == GNN_TRAIN && !isnan(s->rows.items[r].target[o]))
                known |= 1U << o;
    return known;
}

static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
    const uint8_t *at = from;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

uint64_t gnn_set_identity(const gnn_set *s)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int32_t i = 0; i < s->examples.count; i++)
        hash = mix(hash, &s->examples.items[i].fingerprint, sizeof s->examples.items[i].fingerprint);
    for (int32_t r = 0; r < s->rows.count; r++) {
        const set_setting *x = &s->settings.items[s->rows.items[r].setting].is;
        hash = mix(mix(hash, s->rows.items[r].target, sizeof s->rows.items[r].target), x->gpu, strlen(x->gpu));
    }
    return mix(hash, s->roles, (size_t)s->rows.count);
}
