/* dataset_check.c: `sooth dataset stats` and `check`: read a whole set, summarize it, and compare redundant data. */
#include "base/statistics.h"
#include "cli/dataset_args.h"
#include "cli/terminal.h"
#include "report/dataset_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_FINDINGS = 20, MEASURES = 4 };

typedef struct reals {
    double *items;
    int32_t count, capacity;
} reals;

typedef struct hashes {
    uint64_t *items;
    int32_t count, capacity;
} hashes;

typedef struct family_sums {
    dataset_family shown;
    hashes architectures;
    reals macs;
} family_sums;

typedef struct setting_sums {
    dataset_setting shown;
    reals measures[MEASURES]; /* latency, energy, memory, utilization */
} setting_sums;

typedef struct walk_sums {
    fail fail;
    sooth_error error;
    arena arena, scratch;
    bool checks, failed;
    dataset_summary summary;
    struct {
        family_sums *items;
        int32_t count, capacity;
    } families;
    struct {
        setting_sums *items;
        int32_t count, capacity;
    } settings;
    hashes fingerprints, architectures;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } codes; /* codes in the table of operators, ascending */
    struct {
        const char **items;
        int32_t count, capacity;
    } findings;
} walk_sums;

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static void find(walk_sums *w, int64_t id, const char *name, const char *what)
{
    if (w->findings.count == MOST_FINDINGS)
        w->summary.more_findings++;
    else
        *(const char **)ARENA_PUSH(&w->arena, &w->findings) =
            arena_printf(&w->arena, "graph %" PRId64 " (%s): %s", id, name, what).ptr;
}

static int by_code(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static bool has_operators(const walk_sums *w, const set_graph *g)
{
    for (int32_t i = 0; i < g->node_count; i++)
        if (!w->codes.count ||
            !bsearch(&g->op[i], w->codes.items, (size_t)w->codes.count, sizeof *w->codes.items, by_code))
            return false;
    return true;
}

/* Decodes the graph, computes its figures again and compares them with its row. */
static void check_graph(walk_sums *w, int64_t id, const set_graph_row *row)
{
    set_graph g;
    arena_mark mark = arena_marked(&w->scratch);
    const char *wrong = set_graph_decode(row->graph, &w->scratch, &g);
    if (wrong) {
        find(w, id, row->name, arena_printf(&w->arena, "its stored graph cannot be read: %s", wrong).ptr);
    } else {
        set_figures f = set_figures_of(&g), *x = &(set_figures){0};
        *x = row->figures;
        if (set_fingerprint(&g) != row->fingerprint || set_architecture(&g) != row->architecture)
            find(w, id, row->name, "its fingerprint or architecture is not that of the stored graph");
        if (g.node_count != row->node_count || g.edge_count != row->edge_count)
            find(w, id, row->name, "its numbers of nodes and edges are not those of the stored graph");
        if (f.params != x->params || f.macs != x->macs || f.flops != x->flops || f.conv_count != x->conv_count ||
            f.dense_count != x->dense_count || f.relu_count != x->relu_count)
            find(w, id, row->name, "its static features are not those of the stored graph");
        if (!has_operators(w, &g))
            find(w, id, row->name, "it has an operator without a row in the table of operators");
    }
    arena_rewind(&w->scratch, mark);
}

static bool is_interval(sooth_interval x)
{
    return isnan(x.value) ||
           (x.value > 0 && (isnan(x.low) || (x.low <= x.value && x.low >= 0)) && (isnan(x.high) || x.high >= x.value));
}

static void check_label(walk_sums *w, int64_t id, const set_label *l)
{
    if (!is_interval(l->latency_ms) || !is_interval(l->energy_j) || !is_interval(l->memory_mib))
        find(w, id, l->setting.gpu, "a label is not positive, or outside of its interval");
    if (isnan(l->latency_ms.value) && isnan(l->memory_mib.value) && isnan(l->energy_j.value))
        find(w, id, l->setting.gpu, "a label has no number");
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void add_real(arena *a, reals *list, double x)
{
    if (isfinite(x))
        *(double *)ARENA_PUSH_ROOM(a, list) = x;
}

static void add_hash(arena *a, hashes *list, uint64_t x)
{
    *(uint64_t *)ARENA_PUSH_ROOM(a, list) = x;
}

static family_sums *family_of(walk_sums *w, const char *name)
{
    for (int32_t i = 0; i < w->families.count; i++)
        if (strcmp(w->families.items[i].shown.name, name) == 0)
            return &w->families.items[i];
    family_sums *f = ARENA_PUSH(&w->arena, &w->families);
    f->shown.name = arena_str(&w->arena, str_of(name)).ptr;
    return f;
}

static void widen(int64_t *low, int64_t *high, int64_t x, bool is_first)
{
    *low = is_first || x < *low ? x : *low;
    *high = is_first || x > *high ? x : *high;
}

static void sum_graph(walk_sums *w, int64_t id, const set_graph_row *g)
{
    family_sums *f = family_of(w, g->family);
    bool is_first = !f->shown.graphs++;
    widen(&f->shown.nodes_low, &f->shown.nodes_high, g->node_count, is_first);
    widen(&f->shown.batch_low, &f->shown.batch_high, g->figures.batch, is_first);
    f->shown.operators += g->node_count;
    add_hash(&w->arena, &f->architectures, g->architecture);
    add_real(&w->arena, &f->macs, (double)g->figures.macs);
    add_hash(&w->arena, &w->fingerprints, g->fingerprint);
    add_hash(&w->arena, &w->architectures, g->architecture);
    w->summary.graphs++;
    if (w->checks)
        check_graph(w, id, g);
}

static bool is_setting(const dataset_setting *s, const set_label *l, const char *kind)
{
    const set_setting *x = &l->setting;
    return strcmp(s->gpu, x->gpu) == 0 && strcmp(s->mig, x->mig) == 0 && strcmp(s->precision, x->precision) == 0 &&
           strcmp(s->layout, x->layout) == 0 && strcmp(s->runtime, x->runtime) == 0 && strcmp(s->mode, x->mode) == 0 &&
           strcmp(s->stack, x->stack) == 0 && strcmp(s->kind, kind) == 0;
}

static const char *kept(walk_sums *w, const char *s)
{
    return arena_str(&w->arena, str_of(s)).ptr;
}

static setting_sums *setting_of(walk_sums *w, const set_label *l)
{
    const char *kind = l->is_measured ? "measured" : "predicted";
    for (int32_t i = 0; i < w->settings.count; i++)
        if (is_setting(&w->settings.items[i].shown, l, kind))
            return &w->settings.items[i];
    setting_sums *s = ARENA_PUSH(&w->arena, &w->settings);
    const set_setting *x = &l->setting;
    s->shown = (dataset_setting){.gpu = kept(w, x->gpu),
                                 .mig = kept(w, x->mig),
                                 .precision = kept(w, x->precision),
                                 .layout = kept(w, x->layout),
                                 .runtime = kept(w, x->runtime),
                                 .mode = kept(w, x->mode),
                                 .stack = kept(w, x->stack),
                                 .kind = kind};
    return s;
}

static void sum_label(walk_sums *w, int64_t id, const set_label *l)
{
    setting_sums *s = setting_of(w, l);
    const double measures[MEASURES] = {l->latency_ms.value, l->energy_j.value, l->memory_mib.value, l->utilization};
    for (int i = 0; i < MEASURES; i++)
        add_real(&w->arena, &s->measures[i], measures[i]);
    s->shown.labels++;
    w->summary.labels++;
    if (w->checks)
        check_label(w, id, l);
}

/* Must not longjmp through SQLite, so a failure ends the walk. */
static bool take_graph(void *context, int64_t id, const set_graph_row *g)
{
    walk_sums *w = context;
    if (setjmp(w->fail.jump))
        w->failed = true;
    else
        sum_graph(w, id, g);
    return !w->failed;
}

static bool take_label(void *context, int64_t id, const set_label *l)
{
    walk_sums *w = context;
    if (setjmp(w->fail.jump))
        w->failed = true;
    else
        sum_label(w, id, l);
    return !w->failed;
}

static void take_operator(void *context, const set_operator *o)
{
    walk_sums *w = context;
    w->summary.operators++;
    if (setjmp(w->fail.jump)) {
        w->failed = true;
        return;
    }
    *(int32_t *)ARENA_PUSH_ROOM(&w->arena, &w->codes) = o->code;
    if (w->checks && set_op_code(o->name) != o->code)
        find(w, 0, o->name, "the code of this operator is not that of its name");
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t distinct(hashes *list)
{
    int64_t count = 0;
    if (list->count)
        qsort(list->items, (size_t)list->count, sizeof *list->items, ascending);
    for (int32_t i = 0; i < list->count; i++)
        count += !i || list->items[i] != list->items[i - 1];
    return count;
}

static void quantiles(reals *list, double to[3])
{
    static const double SHARES[] = {0.1, 0.5, 0.9};
    if (list->count)
        qsort(list->items, (size_t)list->count, sizeof *list->items, statistics_ascending);
    for (int i = 0; i < 3; i++)
        to[i] = statistics_quantile(list->items, (size_t)list->count, SHARES[i]);
}

static void sum_up(walk_sums *w)
{
    dataset_summary *s = &w->summary;
    dataset_family *families = ARENA_ARRAY(&w->arena, dataset_family, (size_t)w->families.count + 1);
    dataset_setting *settings = ARENA_ARRAY(&w->arena, dataset_setting, (size_t)w->settings.count + 1);
    for (int32_t i = 0; i < w->families.count; i++) {
        family_sums *f = &w->families.items[i];
        f->shown.architectures = distinct(&f->architectures);
        if (f->macs.count)
            qsort(f->macs.items, (size_t)f->macs.count, sizeof *f->macs.items, statistics_ascending);
        f->shown.macs_low = statistics_quantile(f->macs.items, (size_t)f->macs.count, 0);
        f->shown.macs_median = statistics_quantile(f->macs.items, (size_t)f->macs.count, 0.5);
        f->shown.macs_high = statistics_quantile(f->macs.items, (size_t)f->macs.count, 1);
        families[i] = f->shown;
    }
    for (int32_t i = 0; i < w->settings.count; i++) {
        setting_sums *x = &w->settings.items[i];
        quantiles(&x->measures[0], x->shown.latency_ms);
        quantiles(&x->measures[1], x->shown.energy_j);
        quantiles(&x->measures[2], x->shown.memory_mib);
        quantiles(&x->measures[3], x->shown.utilization);
        settings[i] = x->shown;
    }
    s->families = families;
    s->family_count = (size_t)w->families.count;
    s->settings = settings;
    s->setting_count = (size_t)w->settings.count;
    s->distinct = distinct(&w->fingerprints);
    s->architectures = distinct(&w->architectures);
    s->findings = w->findings.items;
    s->finding_count = (size_t)w->findings.count;
}

/* Reads the table `meta` and checks its facts against the set. */
static void read_facts(walk_sums *w, dataset_file *file)
{
    dataset_summary *s = &w->summary;
    const char *fact = dataset_file_fact(file, "version");
    s->version = kept(w, fact ? fact : "");
    fact = dataset_file_fact(file, "weights");
    s->weights = kept(w, fact ? fact : "");
    fact = dataset_file_fact(file, "graphs");
    s->planned = fact ? strtoll(fact, NULL, 10) : 0;
    fact = dataset_file_fact(file, "complete");
    s->is_complete = fact && strcmp(fact, "1") == 0;
}

static int walk_set(walk_sums *w, dataset_file *file, const char *path)
{
    if (setjmp(w->fail.jump))
        return cli_fail(w->error.code, path, "%s", w->error.message);
    w->summary.path = path;
    w->summary.was_checked = w->checks;
    read_facts(w, file);
    if (w->checks) {
        const char *what;
        int code = dataset_file_verify(file, &what);
        if (code != SOOTH_OK)
            return code;
        if (*what)
            return cli_fail(SOOTH_ERROR_INPUT, path, "SQLite's check finds it damaged: %s", what);
    }
    return SOOTH_OK;
}

static int finish(walk_sums *w, const char *path, const dataset_args *args)
{
    if (w->failed)
        return cli_fail(w->error.code, path, "%s", w->error.message);
    if (setjmp(w->fail.jump))
        return cli_fail(w->error.code, path, "%s", w->error.message);
    sum_up(w);
    bool is_drawn = w->families.count && *w->families.items[0].shown.name;
    if (w->checks && is_drawn && w->summary.distinct != w->summary.graphs)
        return cli_fail(SOOTH_ERROR_INPUT, path, "%" PRId64 " graphs are equal to another one",
                        w->summary.graphs - w->summary.distinct);
    sooth_report_options options = {.format = args->format == DATASET_JSON ? SOOTH_FORMAT_JSON : SOOTH_FORMAT_TABLE};
    if (!args->output && args->format == DATASET_TABLE)
        fit_terminal(&options);
    char *text;
    size_t size;
    sooth_status status = dataset_report(&w->summary, &options, &text, &size, &w->error);
    int code = cli_report(path, args->output, status, &w->error, text, size);
    return code == SOOTH_OK && w->findings.count ? SOOTH_ANSWER_NO : code;
}

static int read_whole(const dataset_args *args, const char *path, bool checks)
{
    if (args->format != DATASET_TABLE && args->format != DATASET_JSON)
        return cli_usage("dataset",
                         "-f takes table or json here; only `sooth dataset export` writes csv, jsonl and npz");
    dataset_file *file;
    walk_sums w = {.checks = checks, .fail = {.error = &w.error}};
    arena_init(&w.arena, &w.fail, ARENA_GIB(8));
    arena_init(&w.scratch, &w.fail, ARENA_GIB(4));
    int code = dataset_file_read(&file, path);
    if (code == SOOTH_OK)
        code = walk_set(&w, file, path);
    if (code == SOOTH_OK)
        code = dataset_file_operators(file, take_operator, &w);
    if (code == SOOTH_OK) {
        if (w.codes.count)
            qsort(w.codes.items, (size_t)w.codes.count, sizeof *w.codes.items, by_code);
        code = dataset_file_walk(file, &(dataset_walk){take_graph, take_label, &w});
    }
    if (code == SOOTH_OK)
        code = finish(&w, path, args);
    dataset_file_close(file);
    arena_free(&w.scratch);
    arena_free(&w.arena);
    return code;
}

int dataset_stats(const dataset_args *args, const char *path)
{
    return read_whole(args, path, false);
}

int dataset_check(const dataset_args *args, const char *path)
{
    return read_whole(args, path, true);
}
