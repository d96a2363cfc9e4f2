#include "gnn/use.h"

#include <math.h>
#include <stdlib.h>

static gnn_batch batch_of(const gnn_model *m, const gnn_graph *g, const float *setting, gnn_pool *pool)
{
    const gnn_row row = {.target = {NAN, NAN, NAN}}, *rows[] = {&row}, *const * lists[] = {rows};
    const gnn_graph *graphs[] = {g};
    const int32_t counts[] = {1};
    const uint64_t seeds[] = {0};
    const gnn_batch_source source = {.graphs = graphs,
                                     .row_lists = lists,
                                     .row_counts = counts,
                                     .seeds = seeds,
                                     .graph_count = 1,
                                     .settings = (const float(*)[GNN_SETTINGS])(const void *)setting,
                                     .scaling = &m->scaling};
    return gnn_batch_of(&source, pool);
}

/* A separate function, because it calls setjmp. */
static bool run(const gnn_model *m, const gnn_graph *g, const float *setting, gnn_pool *pool, fail *f,
                float outputs[GNN_OUTPUTS])
{
    pool->fail = f;
    if (setjmp(f->jump))
        return false;
    const gnn_network net = {m->layout, m->params, NULL};
    gnn_batch b = batch_of(m, g, setting, pool);
    gnn_pass_forward(&net, &b, pool, outputs);
    return true;
}

gnn_prediction gnn_use(const gnn_model *m, const sooth_model *model, const float setting[GNN_SETTINGS], arena *a)
{
    sooth_error error;
    fail f = {.error = &error};
    gnn_pool pool = {.fail = &f};
    gnn_prediction p;
    float outputs[GNN_OUTPUTS];
    set_graph stored = set_graph_of(model, a);
    gnn_graph g = gnn_features_of(&stored, m->which, a);
    bool is_done = run(m, &g, setting, &pool, &f, outputs);
    gnn_pool_free(&pool);
    if (!is_done)
        fail_with(a->fail, error.code, "%s", error.message);
    for (int o = 0; o < GNN_OUTPUTS; o++) {
        double value = exp((double)outputs[o] + (double)m->scaling.centre[o]);
        sooth_interval x = {value, value * exp((double)m->low[o]), value * exp((double)m->high[o])};
        bool is_known = m->outputs >> o & 1;
        if (is_known && !(x.low > 0 && isfinite(x.high)))
            fail_with(a->fail, SOOTH_ERROR_UNSUPPORTED,
                      "the model gives no finite %s for this network, which is unlike its training networks",
                      GNN_OUTPUT_NAMES[o]);
        p.outputs[o] = is_known ? x : (sooth_interval){NAN, NAN, NAN};
    }
    return p;
}

const char *gnn_use_profile(const sooth_gpu *gpu, double memory_mib)
{
    int compute = 0;
    double plate = 0;
    for (size_t i = 0; i < sooth_mig_count(gpu); i++) {
        sooth_mig_profile p = sooth_mig_at(gpu, i);
        const char *point = strchr(p.name, '.');
        double gb = point ? strtod(point + 1, NULL) : 0;
        if (p.compute_slices <= compute || gb <= plate)
            continue;
        compute = p.compute_slices;
        plate = gb;
        if (memory_mib < gb * 1024)
            return p.name;
    }
    return "";
}
