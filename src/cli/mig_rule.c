#include "cli/mig_rule.h"
#include "base/file.h"
#include "cli/inputs.h"
#include "gnn/use.h"
#include "report/gnn_report.h"

#include <math.h>

typedef struct ruling {
    const mig_rule_args *args;
    inputs in; /* its arena holds everything */
    gnn_ruled ruled;
    struct {
        gnn_ruled_row *items;
        int32_t count, capacity;
    } rows;
} ruling;

static int read_model(ruling *r, const char *path, gnn_model *to)
{
    file_map file = {.descriptor = -1};
    if (setjmp(r->in.fail.jump)) {
        file_close(&file);
        return cli_fail(r->in.error.code, path, "%s", r->in.error.message);
    }
    file_open(&file, path, &r->in.fail);
    gnn_file_decode((str){(const char *)file.bytes, file.size}, to, &r->in.arena);
    file_close(&file);
    if (!(to->outputs >> 2 & 1))
        return cli_fail(SOOTH_ERROR_INPUT, path, "was not trained on memory, which DIPPM's rule needs");
    return SOOTH_OK;
}

static void add(ruling *r, size_t workload, const char *predictor, sooth_interval memory_mib, const char *profile)
{
    sooth_mig_planned w = sooth_mig_planned_at(r->args->plan, workload);
    *(gnn_ruled_row *)ARENA_PUSH(&r->in.arena, &r->rows) = (gnn_ruled_row){.network = w.name,
                                                                           .predictor = predictor,
                                                                           .profile = profile,
                                                                           .choice = w.profile,
                                                                           .batch = w.batch,
                                                                           .memory_mib = memory_mib};
}

/* Sooth predicts the memory of each slice; its row has that of the slice by the rule, or of the whole GPU. */
static void add_sooth(ruling *r, size_t workload)
{
    sooth_mig_planned w = sooth_mig_planned_at(r->args->plan, workload);
    size_t at = 0;
    while (at + 1 < w.candidate_count &&
           strcmp(sooth_mig_candidate_at(r->args->plan, workload, at).profile, w.dippm_profile) != 0)
        at++;
    add(r, workload, "Sooth", sooth_mig_candidate_at(r->args->plan, workload, at).memory_mib, w.dippm_profile);
}

/* A separate function, because it calls setjmp. */
static int add_workload(ruling *r, size_t index, const char *const *names, const gnn_model *models, size_t count)
{
    const sooth_mig_workload *of = &r->args->workloads[index];
    sooth_mig_planned w = sooth_mig_planned_at(r->args->plan, index);
    float setting[GNN_SETTINGS];
    if (setjmp(r->in.fail.jump))
        return cli_fail(r->in.error.code, of->name, "%s", r->in.error.message);
    add_sooth(r, index);
    gnn_features_of_setting(r->args->gpu, w.precision, w.layout, w.runtime, w.mode,
                            of->options.stack ? of->options.stack : "", setting);
    for (size_t i = 0; i < count; i++) {
        sooth_interval memory_mib = gnn_use(&models[i], of->model, setting, &r->in.arena).outputs[2];
        add(r, index, names[i], memory_mib, gnn_use_profile(r->args->gpu, memory_mib.value));
    }
    return SOOTH_OK;
}

static int rule(ruling *r)
{
    const mig_rule_args *args = r->args;
    sooth_mig_plan_totals totals = sooth_mig_plan_totals_of(args->plan);
    const char *const *names;
    size_t count = 0;
    int code = inputs_read_names(&r->in, args->models, &names, &count);
    if (code != SOOTH_OK)
        return code;
    if (setjmp(r->in.fail.jump))
        return cli_fail(r->in.error.code, "mig", "%s", r->in.error.message);
    gnn_model *models = ARENA_ARRAY(&r->in.arena, gnn_model, count + 1);
    for (size_t i = 0; i < count && code == SOOTH_OK; i++)
        code = read_model(r, names[i], &models[i]);
    for (size_t i = 0; i < totals.workload_count && code == SOOTH_OK; i++)
        code = add_workload(r, i, names, models, count);
    if (code != SOOTH_OK)
        return code;
    r->ruled = (gnn_ruled){totals.gpu, totals.weights, r->rows.items, (size_t)r->rows.count};
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = gnn_ruled_report(&r->ruled, args->report, &text, &size, &error);
    return cli_report("mig", args->output, status, &error, text, size);
}

int mig_rule(const mig_rule_args *args)
{
    ruling r = {.args = args};
    inputs_open(&r.in, "mig");
    int code = rule(&r);
    inputs_free(&r.in);
    return code;
}
