#include "gnn/baseline.h"
#include "learn/baseline.h"

#include <math.h>

const char *const GNN_BASELINE_NAMES[GNN_BASELINES] = {"roofline", "regression"};

static void roofline(const gnn_set *s, gnn_role role, double *outputs)
{
    for (int32_t r = 0; r < s->rows.count; r++) {
        if (s->roles[r] != role)
            continue;
        const gnn_row *row = &s->rows.items[r];
        const gnn_example *e = &s->examples.items[row->graph];
        const gnn_setting *x = &s->settings.items[row->setting];
        bool is_half = strstr(x->is.precision, "16") != NULL, is_training = strcmp(x->is.mode, "train") == 0;
        const char *precision = is_half ? strstr(x->is.precision, "bf16") ? "bf16" : "fp16" : "fp32";
        double passes = is_training ? 3 : 1, traffic = 2 * e->traffic * (is_half ? 2 : 4);
        double peak = sooth_gpu_peak_flops(x->gpu, precision), bandwidth = sooth_gpu_number(x->gpu, "bandwidth_gb_s");
        double compute_ms = (double)e->figures.flops / peak * 1e3, memory_ms = traffic / (bandwidth * 1e9) * 1e3;
        outputs[(size_t)r * GNN_OUTPUTS] = passes * fmax(compute_ms, memory_ms);
        outputs[(size_t)r * GNN_OUTPUTS + 2] = traffic / (1 << 20);
    }
}

/* One output in one setting. Fold 1 trains, fold 0 is predicted. */
static void regress_setting(const gnn_set *s, int32_t setting, int output, gnn_role role, double *outputs,
                            arena *scratch)
{
    arena_mark mark = arena_marked(scratch);
    regression_row *rows = ARENA_ARRAY(scratch, regression_row, (size_t)s->rows.count + 1);
    int32_t *of = ARENA_ARRAY(scratch, int32_t, (size_t)s->rows.count + 1);
    size_t count = 0;
    for (int32_t r = 0; r < s->rows.count; r++) {
        const gnn_row *row = &s->rows.items[r];
        if (row->setting != setting || (s->roles[r] != GNN_TRAIN && s->roles[r] != role))
            continue;
        const gnn_example *e = &s->examples.items[row->graph];
        of[count] = r;
        rows[count++] = (regression_row){
            .work = {(double)e->figures.macs, e->traffic - (double)e->figures.params, (double)e->figures.params},
            .measured = s->roles[r] == GNN_TRAIN ? exp((double)row->target[output]) : NAN,
            .fold = s->roles[r] == GNN_TRAIN,
            .predicted = NAN};
    }
    regress(rows, count, scratch);
    for (size_t i = 0; i < count; i++)
        if (s->roles[of[i]] == role)
            outputs[(size_t)of[i] * GNN_OUTPUTS + (size_t)output] = rows[i].predicted;
    arena_rewind(scratch, mark);
}

void gnn_baseline_predict(const gnn_set *s, gnn_baseline which, gnn_role role, double *outputs, arena *scratch)
{
    for (size_t i = 0; i < (size_t)s->rows.count * GNN_OUTPUTS; i++)
        outputs[i] = NAN;
    if (which == GNN_ROOFLINE) {
        roofline(s, role, outputs);
        return;
    }
    for (int32_t setting = 0; setting < s->settings.count; setting++)
        for (int o = 0; o < GNN_OUTPUTS; o++)
            regress_setting(s, setting, o, role, outputs, scratch);
}
