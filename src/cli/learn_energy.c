/* learn_energy.c: `sooth learn --energy`: fits the power coefficients on measured rows and prints their errors. */
#include "cli/learn_energy.h"
#include "base/threads.h"
#include "cli/learn_tables.h"
#include "learn/energy_fit.h"
#include "predict/setting.h"

#include <stdio.h>

static const size_t ARENA_CAP = ARENA_GIB(8);

typedef struct job {
    sooth_error error;
    fail fail;
    arena arena;
    const char *subject;
    side_table apart;
    energy_fit fit;
    str text;
} job;

static void write_apart(void *context, const char *why, const measured_row *r, bool is_sound, double power_w,
                        double energy_j)
{
    job *j = context;
    text *apart = &j->apart.text;
    if (!j->apart.path)
        return;
    text_printf(apart, "%s,%d,", why, is_sound);
    table_put_csv(apart, r->name);
    table_put_csv(apart, r->gpu);
    table_put_csv(apart, r->source);
    text_printf(apart, "%s,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", setting_name(&r->where, SETTING_PRECISION),
                (long long)r->batch, r->power_limit_w, r->latency_ms, r->power_w, power_w, r->energy_j, energy_j);
}

static void show_scores(const energy_fit *fit)
{
    puts("rows kept apart                                 power, measured time                energy, predicted time\n"
         "source              apart    measured    rows   MAPE  median    p90  within   rows   MAPE  median    p90");
    for (int32_t i = 0; i < fit->scores.count; i++) {
        const energy_score *s = &fit->scores.items[i];
        printf("%-19.*s %-8s %-9s %6zu %5.1f%% %6.1f%% %5.1f%% %6.1f%%  %5zu %5.1f%% %6.1f%% %5.1f%%\n",
               STR_ARG(s->source), energy_kept_name(s->kept), s->is_sound ? "soundly" : "unsoundly", s->power.n,
               s->power.mape, s->power.median, s->power.p90, s->power.coverage90, s->energy.n, s->energy.mape,
               s->energy.median, s->energy.p90);
    }
}

static sooth_status run(job *j, const sooth_gpus *gpus, int count, char **operands)
{
    j->fail.error = &j->error;
    arena_init(&j->arena, &j->fail, ARENA_CAP);
    if (setjmp(j->fail.jump))
        return j->error.code;
    text_puts(&j->apart.text, "apart,sound,name,gpu,source,precision,batch,power_limit_w,latency_ms,power_w,"
                              "power_w_pred,energy_j,energy_j_pred\n");
    measured_rows **tables = table_operands(operands, count, gpus, &j->subject, &j->arena, &j->fail);
    const predictor *with = predictor_shipped(&j->fail);
    energy_fit_rows(&j->fit, tables, count, with, threads_available(), write_apart, j, &j->arena);
    j->text = energy_fit_text(&j->fit, &j->arena);
    return SOOTH_OK;
}

int learn_energy(const learn_energy_args *args, int count, char **operands)
{
    sooth_gpus *gpus;
    int code = cli_open_gpus(&gpus);
    if (code != SOOTH_OK)
        return code;
    static job j;
    j.apart = (side_table){.text.fail = &j.fail, .path = args->apart};
    j.subject = "learn";
    sooth_status status = run(&j, gpus, count, operands);
    code = status == SOOTH_OK ? cli_write(args->output, j.text.ptr, j.text.len)
                              : cli_fail(status, j.subject, "%s", j.error.message);
    code = side_table_close(&j.apart, code);
    if (code == SOOTH_OK && !args->quiet)
        show_scores(&j.fit);
    energy_fit_free(&j.fit);
    arena_free(&j.arena);
    sooth_gpus_free(gpus);
    return code;
}
