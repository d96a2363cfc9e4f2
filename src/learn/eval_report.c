/* eval_report.c: code shared by all writers of `sooth eval`, and the table of every row's prediction. */
#include "learn/eval_report.h"
#include "device/mig.h"
#include "predict/setting.h"

#include <math.h>
#include <stdlib.h>

static int compare_names(const void *a, const void *b)
{
    const str *x = a, *y = b;
    size_t shorter = x->len < y->len ? x->len : y->len;
    int c = shorter ? memcmp(x->ptr, y->ptr, shorter) : 0;
    return c ? c : (x->len > y->len) - (x->len < y->len);
}

const str *eval_groups(const eval_report *r, eval_by by, size_t *count)
{
    const evaluation *e = r->evaluation;
    str *names = ARENA_ARRAY(r->scratch, str, e->count + 1);
    size_t n = 0, made = 0;
    for (size_t i = 0; i < e->count; i++)
        if (!isnan(eval_error(&e->rows[i])) || (!e->rows[i].reason && !isnan(e->rows[i].memory_mib)))
            names[n++] = eval_group(&e->rows[i], by);
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(names[i], names[made - 1]))
            names[made++] = names[i];
    *count = made;
    return names;
}

static int compare_reasons(const void *a, const void *b)
{
    const eval_row *x = *(const eval_row *const *)a, *y = *(const eval_row *const *)b;
    int c = strcmp(x->reason, y->reason);
    return c ? c : (x > y) - (x < y);
}

static int commonest_first(const void *a, const void *b)
{
    const eval_reason *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows < y->rows ? 1 : -1;
    return strcmp(x->text, y->text);
}

const eval_reason *eval_reasons(const eval_report *r, size_t *count)
{
    const evaluation *e = r->evaluation;
    const eval_row **rows = ARENA_ARRAY(r->scratch, const eval_row *, e->count + 1);
    eval_reason *reasons = ARENA_ARRAY(r->scratch, eval_reason, e->count + 1);
    size_t n = 0;
    *count = 0;
    for (size_t i = 0; i < e->count; i++)
        if (e->rows[i].reason)
            rows[n++] = &e->rows[i];
    qsort(rows, n, sizeof *rows, compare_reasons);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(rows[i]->reason, rows[i - 1]->reason) != 0)
            reasons[(*count)++] = (eval_reason){rows[i]->reason, 0, rows[i]};
        reasons[*count - 1].rows++;
    }
    qsort(reasons, *count, sizeof *reasons, commonest_first);
    return reasons;
}

static int compare_errors(const void *a, const void *b)
{
    const eval_row *x = *(const eval_row *const *)a, *y = *(const eval_row *const *)b;
    double ex = eval_error(x), ey = eval_error(y);
    return ex != ey ? (ex < ey) - (ex > ey) : (x > y) - (x < y);
}

const eval_row **eval_worst(const eval_report *r, size_t most, size_t *count)
{
    const evaluation *e = r->evaluation;
    const eval_row **rows = ARENA_ARRAY(r->scratch, const eval_row *, e->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++)
        if (!isnan(eval_error(&e->rows[i])))
            rows[n++] = &e->rows[i];
    qsort(rows, n, sizeof *rows, compare_errors);
    *count = n < most ? n : most;
    return rows;
}

/* ---- every row --------------------------------------------------------------------------------------------------- */

static void field(eval_report *r, str s)
{
    text_csv(r->out, arena_str(r->scratch, s).ptr);
    text_puts(r->out, ",");
}

/* Prints all digits, because times of single operators are microseconds. */
static void number(eval_report *r, double x)
{
    if (isfinite(x) && x >= 0)
        text_printf(r->out, "%.9g", x);
    text_puts(r->out, ",");
}

void eval_predictions(eval_report *r)
{
    text_puts(r->out,
              "table,line,name,graph,batch,gpu,mig,precision,layout,runtime,stack,mode,source,latency_ms,"
              "latency_ms_pred,latency_ms_low,latency_ms_high,interval,latency_ms_roofline,latency_ms_regression,"
              "latency_ms_constant,memory_mib,memory_mib_pred,memory_mib_low,memory_mib_high,error\n");
    for (size_t i = 0; i < r->evaluation->count; i++) {
        const eval_row *e = &r->evaluation->rows[i];
        const measured_row *m = e->row;
        field(r, str_of(r->tables[e->table]));
        text_printf(r->out, "%d,", (int)m->line);
        field(r, m->name);
        field(r, m->graph);
        text_printf(r->out, "%lld,", (long long)m->batch);
        field(r, m->gpu);
        field(r, m->where.device && m->where.device->profile ? m->where.device->profile->name : (str){"", 0});
        static const setting_part PARTS[] = {SETTING_PRECISION, SETTING_LAYOUT, SETTING_RUNTIME};
        for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++)
            field(r, str_of(setting_name(&m->where, PARTS[k])));
        field(r, m->where.stack);
        field(r, str_of(setting_name(&m->where, SETTING_MODE)));
        field(r, m->source);
        number(r, m->latency_ms);
        number(r, e->latency_ms);
        number(r, e->low_ms);
        number(r, e->high_ms);
        field(r, str_of(e->interval_kind ? e->interval_kind : ""));
        number(r, e->roofline_ms);
        number(r, e->regression_ms);
        number(r, e->constant_ms);
        number(r, m->memory_mib);
        number(r, e->memory_mib);
        number(r, e->memory_low_mib);
        number(r, e->memory_high_mib);
        text_csv(r->out, e->reason ? e->reason : "");
        text_puts(r->out, "\n");
    }
}
