/* nas_queries.c: `sooth nas --queries`: reads a table of searches and writes the same table with their results.
 * Predicts the space once. */
#include "base/csv.h"
#include "cli/nas_args.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct nas_query {
    str row; /* text of the row in the table */
    int field_count;
    int32_t line;
    nas_args args; /* arguments of the command line, replaced by those of the row */
    sooth_nas_options options;
    nas_column_table columns[3];
} nas_query;

typedef struct nas_queries {
    nas_context *context;
    const nas_args *args;
    const sooth_nas_options *options; /* space, GPU and settings of the command line */
    file_map map;
    str header;
    int header_count;
    struct {
        nas_query *items;
        int32_t count, capacity;
    } rows;
    sooth_nas *nas; /* search of the current row */
    text out;
} nas_queries;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void read_text(nas_queries *q, csv *t, int column, const char **target)
{
    str s = csv_at(t, column);
    if (s.len)
        *target = arena_str(&q->context->arena, s).ptr;
}

static void read_number(nas_queries *q, csv *t, int column, const char *name, int64_t least, int64_t *target)
{
    str s = csv_at(t, column);
    if (s.len && (!csv_whole(s, target) || *target < least || *target > INT32_MAX))
        fail_with(&q->context->fail, SOOTH_ERROR_INPUT, "line %d: %s '%.*s' is not a whole number of at least %d",
                  (int)t->line, name, STR_ARG(s), (int)least);
}

static void read_method(nas_queries *q, csv *t, int column, int *method)
{
    str s = csv_at(t, column);
    int found = 0;
    if (!s.len)
        return;
    while (NAS_METHODS[found] && !str_is(s, NAS_METHODS[found]))
        found++;
    if (!NAS_METHODS[found])
        fail_with(&q->context->fail, SOOTH_ERROR_INPUT,
                  "line %d: search '%.*s' is not one of all, random, evolution, local", (int)t->line, STR_ARG(s));
    *method = found;
}

static nas_args row_args(nas_queries *q, csv *t, const int *columns)
{
    nas_args args = *q->args;
    read_text(q, t, columns[0], &args.accuracy);
    read_text(q, t, columns[1], &args.measured);
    read_text(q, t, columns[2], &args.latency_ms);
    read_text(q, t, columns[3], &args.prune);
    read_method(q, t, columns[4], &args.method);
    read_number(q, t, columns[5], "trials", 1, &args.trials);
    read_number(q, t, columns[6], "seed", 0, &args.seed);
    return args;
}

static void read_rows(nas_queries *q)
{
    static const char *const NAMES[] = {"accuracy", "measured", "latency_ms", "prune", "search", "trials", "seed"};
    enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };
    nas_context *c = q->context;
    int columns[NAME_COUNT];
    csv t;
    csv_begin(&t, (str){(const char *)q->map.bytes, q->map.size}, &c->arena);
    const char *from = t.next;
    if (!csv_next(&t))
        fail_with(&c->fail, SOOTH_ERROR_INPUT, "the table is empty: a header is needed");
    q->header = csv_text(&t, from);
    q->header_count = t.count;
    for (int i = 0; i < NAME_COUNT; i++)
        columns[i] = csv_find(&t, NAMES[i]);
    for (from = t.next; csv_next(&t); from = t.next) {
        nas_query *x = ARENA_PUSH(&c->arena, &q->rows);
        if (t.count > q->header_count)
            fail_with(&c->fail, SOOTH_ERROR_INPUT, "line %d: the row has more fields than the header", (int)t.line);
        x->args = row_args(q, &t, columns);
        x->row = csv_text(&t, from);
        x->field_count = t.count;
        x->line = t.line;
    }
}

/* Checks every row before anything is computed. Prints messages and returns the exit code. */
static int read_searches(nas_queries *q)
{
    for (int32_t i = 0; i < q->rows.count; i++) {
        nas_query *x = &q->rows.items[i];
        x->options = *q->options;
        x->options.method = (sooth_nas_method)x->args.method;
        x->options.trials = (size_t)x->args.trials;
        x->options.seed = (uint64_t)x->args.seed;
        x->options.progress = NULL;
        int code = nas_read_options(q->context, &x->args, &x->options);
        if (code != SOOTH_OK)
            return cli_fail(code, q->args->queries, "line %d is no search", (int)x->line);
        memcpy(x->columns, q->context->columns, sizeof x->columns);
    }
    return SOOTH_OK;
}

static int read_table(nas_queries *q)
{
    nas_context *c = q->context;
    if (setjmp(c->fail.jump))
        return cli_fail(c->error.code, q->args->queries, "%s", c->error.message);
    file_open(&q->map, q->args->queries, &c->fail);
    file_inflate(&q->map, &c->fail);
    read_rows(q);
    return SOOTH_OK;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void write_header(nas_queries *q)
{
    text *out = &q->out;
    text_add(out, q->header.ptr, q->header.len);
    text_puts(out, ",feasible,kept,evaluated,best_accuracy,utilization_spearman_accuracy,macs_spearman_accuracy,"
                   "found_accuracy,found_architecture");
    sooth_nas_options o = q->rows.count ? q->rows.items[0].options : (sooth_nas_options){0};
    for (size_t i = 0; i < o.within_count; i++)
        for (const char *const *name = (const char *const[]){"mean", "low", "high", "median", "reached", NULL}; *name;
             name++)
            text_printf(out, ",%s_%g", *name, o.within[i]);
    text_puts(out, "\n");
}

static void write_answer(nas_queries *q, const nas_query *x, const sooth_nas *nas)
{
    text *out = &q->out;
    sooth_nas_totals t = sooth_nas_totals_of(nas);
    size_t best = sooth_nas_best(nas, 0);
    char name[SOOTH_NAS_NAME_ROOM] = "";
    text_add(out, x->row.ptr, x->row.len);
    for (int missing = x->field_count; missing < q->header_count; missing++)
        text_puts(out, ",");
    text_printf(out, ",%zu,%zu,%zu", t.feasible, t.kept, t.evaluated);
    text_csv_real(out, t.best_accuracy);
    text_csv_real(out, t.utilization_with_accuracy);
    text_csv_real(out, t.macs_with_accuracy);
    if (best != SIZE_MAX)
        (void)sooth_nas_name(nas, best, name, NULL, sizeof name);
    text_csv_real(out, best != SIZE_MAX ? sooth_nas_candidate_at(nas, best).accuracy : NAN);
    text_csv_text(out, name);
    for (size_t i = 0; i < x->options.within_count; i++) {
        sooth_nas_repeat r = sooth_nas_repeat_at(nas, i);
        text_csv_real(out, t.feasible ? r.mean : NAN);
        text_csv_real(out, t.feasible ? r.low : NAN);
        text_csv_real(out, t.feasible ? r.high : NAN);
        text_csv_real(out, t.feasible ? r.median : NAN);
        text_printf(out, ",%zu", r.reached);
    }
    text_puts(out, "\n");
}

static sooth_status search_rows(nas_queries *q, const sooth_nas *space, sooth_error *error)
{
    if (setjmp(q->context->fail.jump)) {
        *error = q->context->error;
        return error->code;
    }
    write_header(q);
    for (int32_t i = 0; i < q->rows.count; i++) {
        nas_query *x = &q->rows.items[i];
        memcpy(q->context->columns, x->columns, sizeof x->columns);
        x->options.like = space;
        sooth_status status = sooth_nas_search(&x->options, &q->nas, error);
        if (status != SOOTH_OK && status != SOOTH_ANSWER_NO)
            return status;
        write_answer(q, x, q->nas);
        sooth_nas_free(q->nas);
        q->nas = NULL;
    }
    return SOOTH_OK;
}

static int answer(nas_queries *q)
{
    int code = read_table(q);
    if (code == SOOTH_OK)
        code = read_searches(q);
    if (code != SOOTH_OK)
        return code;
    sooth_nas_options whole = *q->options;
    whole.method = SOOTH_NAS_ALL;
    whole.repeats = 0;
    sooth_error error;
    sooth_nas *predicted;
    sooth_status status = sooth_nas_search(&whole, &predicted, &error);
    if (status == SOOTH_OK)
        status = search_rows(q, predicted, &error);
    sooth_nas_free(predicted);
    if (status == SOOTH_ERROR_USAGE)
        return cli_usage("nas", "%s", error.message);
    if (status != SOOTH_OK)
        return cli_fail(status, "nas", "%s", error.message);
    return cli_write(q->args->output, q->out.bytes, q->out.size);
}

int nas_queries_run(nas_context *c, const nas_args *args, const sooth_nas_options *options)
{
    nas_queries q = {
        .context = c, .args = args, .options = options, .map = {.descriptor = -1}, .out = {.fail = &c->fail}};
    int code = answer(&q);
    sooth_nas_free(q.nas);
    free(q.out.bytes);
    file_close(&q.map);
    return code;
}
