#include "cli/sweep_sums.h"
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FRONT = 200, MOST_COLUMNS = 24, MOST_MAPS = 12 };

typedef struct front_entry {
    sweep_found found;
} front_entry;

typedef struct setting_sums {
    sweep_setting_row shown;
    double log_sum, utilization_sum;
    sweep_found fastest;
    front_entry front[MOST_FRONT];
    size_t front_count;
} setting_sums;

/* Means of a latency's logarithm, or of a share, by row and column. */
typedef struct map_sums {
    sweep_map shown;
    size_t family;
    int32_t row_choice, column_choice; /* If row_choice is -1, the rows are settings. */
    double *sums, *counts;
} map_sums;

typedef struct summing {
    const sweep *sweep;
    setting_sums *settings;
    map_sums maps[MOST_MAPS];
    size_t map_count;
    sweep_summary *summary;
    uint64_t last_network; /* Network to which these genes belong. */
    genes genes;
    size_t family;
    bool is_damaged; /* A point has a network or setting that the sweep lacks. */
} summing;

/* ---- which maps -------------------------------------------------------------------------------------------------- */

static bool can_be_shown(const space_choice *c)
{
    return c->count > 1 && c->count <= MOST_COLUMNS;
}

static const char *const *value_names(const space_choice *c, arena *a)
{
    const char **names = ARENA_ARRAY(a, const char *, (size_t)c->count);
    for (int32_t i = 0; i < c->count; i++)
        names[i] = c->values[i].ptr;
    return names;
}

static map_sums *add_map(summing *s, size_t family, int32_t rows, int32_t columns, arena *a)
{
    const sweep_family *f = &s->sweep->families[family];
    const space_choice *row = rows < 0 ? NULL : &f->space->choices[rows], *column = &f->space->choices[columns];
    map_sums *m = &s->maps[s->map_count++];
    *m = (map_sums){.family = family, .row_choice = rows, .column_choice = columns};
    m->shown.family = f->name;
    m->shown.row_count = row ? (size_t)row->count : s->sweep->setting_count;
    m->shown.column_count = (size_t)column->count;
    m->shown.columns = value_names(column, a);
    m->shown.column_title = column->name.ptr;
    m->shown.row_title = row ? row->name.ptr : "GPU and setting";
    m->shown.is_percent = row != NULL;
    m->shown.title =
        arena_printf(a,
                     row ? "mean GPU utilization by %.60s and %.60s, on %.60s"
                         : "samples per second (geometric mean) by %.60s",
                     row ? row->name.ptr : column->name.ptr, column->name.ptr, s->sweep->settings[0].gpu_name)
            .ptr;
    m->sums = ARENA_ARRAY(a, double, m->shown.row_count * m->shown.column_count);
    m->counts = ARENA_ARRAY(a, double, m->shown.row_count * m->shown.column_count);
    return m;
}

/* Selects two maps per family: GPUs against the batch (or the last choice), and the first two choices against each
 * other. */
static void choose_maps(summing *s, arena *a)
{
    for (size_t f = 0; f < s->sweep->family_count && s->map_count + 2 <= MOST_MAPS; f++) {
        const space *space = s->sweep->families[f].space;
        int32_t last = -1, first = -1, second = -1;
        for (int32_t i = 0; i < space->choice_count; i++) {
            if (!can_be_shown(&space->choices[i]))
                continue;
            last = i;
            if (first < 0)
                first = i;
            else if (second < 0)
                second = i;
        }
        if (last >= 0) {
            map_sums *m = add_map(s, f, -1, last, a);
            const char **rows = ARENA_ARRAY(a, const char *, s->sweep->setting_count);
            for (size_t i = 0; i < s->sweep->setting_count; i++) {
                const sweep_setting *x = &s->sweep->settings[i];
                rows[i] = arena_printf(a, "%s%s%s %s %s %s", x->gpu_name, *x->mig ? " " : "", x->mig, x->precision,
                                       x->layout, x->runtime)
                              .ptr;
            }
            m->shown.rows = rows;
        }
        if (second >= 0) {
            map_sums *m = add_map(s, f, first, second, a);
            m->shown.rows = value_names(&space->choices[first], a);
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Points arrive in any order; the front is sorted by latency, and MACs rise along it. */
static void add_to_front(setting_sums *s, const sweep_found *p)
{
    size_t at = 0;
    while (at < s->front_count && s->front[at].found.latency_ms <= p->latency_ms)
        at++;
    if (at && s->front[at - 1].found.macs >= p->macs)
        return; /* Another point has as many MACs and is not slower. */
    size_t end = at;
    while (end < s->front_count && s->front[end].found.macs <= p->macs)
        end++;
    if (end == at && s->front_count == MOST_FRONT)
        return;
    memmove(&s->front[at + 1], &s->front[end], (s->front_count - end) * sizeof *s->front);
    s->front[at].found = *p;
    s->front_count += at + 1 - end;
}

static void add_to_maps(summing *s, const sweep_found *p)
{
    if (p->network != s->last_network) {
        s->family = s->sweep->family_count - 1;
        while (p->network < s->sweep->families[s->family].first)
            s->family--;
        const sweep_family *f = &s->sweep->families[s->family];
        s->genes = space_candidate(f->space, p->network - f->first);
        s->last_network = p->network;
    }
    for (size_t i = 0; i < s->map_count; i++) {
        map_sums *m = &s->maps[i];
        bool by_setting = m->row_choice < 0;
        if (m->family != s->family || (!by_setting && p->setting))
            continue;
        size_t row = by_setting ? p->setting : s->genes.of[m->row_choice];
        size_t cell = row * m->shown.column_count + s->genes.of[m->column_choice];
        m->sums[cell] += by_setting ? log(p->throughput_per_s) : p->utilization;
        m->counts[cell]++;
    }
}

static void take(void *context, const sweep_found *p)
{
    summing *s = context;
    if (p->setting >= s->sweep->setting_count || p->network >= s->sweep->networks) {
        s->is_damaged = true;
        return;
    }
    setting_sums *x = &s->settings[p->setting];
    if (!(p->latency_ms > 0)) {
        x->shown.failed++;
        return;
    }
    bool is_first = !x->shown.points++;
    s->summary->points++;
    x->log_sum += log(p->latency_ms);
    x->utilization_sum += p->utilization;
    x->shown.latency_ms_least = is_first ? p->latency_ms : fmin(x->shown.latency_ms_least, p->latency_ms);
    x->shown.latency_ms_most = is_first ? p->latency_ms : fmax(x->shown.latency_ms_most, p->latency_ms);
    x->shown.utilization_most = is_first ? p->utilization : fmax(x->shown.utilization_most, p->utilization);
    if (is_first || p->throughput_per_s > x->fastest.throughput_per_s)
        x->fastest = *p;
    add_to_front(x, p);
    add_to_maps(s, p);
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

static int shown_point(sweep_file *file, const sweep_found *p, sweep_front_point *to, arena *a)
{
    char spec[SPACE_GRAPH_ROOM];
    int code = sweep_file_spec(file, p->network, spec);
    *to = (sweep_front_point){.spec = arena_str(a, str_of(spec)).ptr,
                              .batch = p->batch,
                              .macs = p->macs,
                              .latency_ms = p->latency_ms,
                              .throughput_per_s = p->throughput_per_s,
                              .energy_j = p->energy_j};
    return code;
}

static int finish_setting(sweep_file *file, setting_sums *s, const sweep_setting *from, arena *a)
{
    sweep_setting_row *row = &s->shown;
    int code = SOOTH_OK;
    row->gpu = from->gpu_name;
    row->mig = from->mig;
    row->precision = from->precision;
    row->layout = from->layout;
    row->runtime = from->runtime;
    row->mode = from->mode;
    row->stack = from->stack;
    double count = (double)row->points;
    row->latency_ms_mean = row->points ? exp(s->log_sum / count) : NAN;
    row->utilization_mean = row->points ? s->utilization_sum / count : NAN;
    row->throughput_most = row->points ? s->fastest.throughput_per_s : NAN;
    if (!row->points) {
        row->latency_ms_least = row->latency_ms_most = row->utilization_most = NAN;
        return SOOTH_OK;
    }
    code = shown_point(file, &s->fastest, &row->fastest, a);
    sweep_front_point *front = ARENA_ARRAY(a, sweep_front_point, s->front_count);
    for (size_t i = 0; i < s->front_count && code == SOOTH_OK; i++)
        code = shown_point(file, &s->front[i].found, &front[i], a);
    row->front = front;
    row->front_count = s->front_count;
    return code;
}

static void finish_map(map_sums *m)
{
    for (size_t i = 0; i < m->shown.row_count * m->shown.column_count; i++) {
        double mean = m->counts[i] > 0 ? m->sums[i] / m->counts[i] : NAN;
        m->sums[i] = m->row_choice < 0 ? exp(mean) : mean;
    }
    m->shown.cells = m->sums;
}

static int sum_up(summing *s, sweep_file *file, arena *a)
{
    sweep_summary *to = s->summary;
    const sweep *sw = s->sweep;
    choose_maps(s, a);
    int code = sweep_file_walk(file, take, s);
    if (code == SOOTH_OK && s->is_damaged)
        code = cli_fail(SOOTH_ERROR_INPUT, to->database,
                        "is damaged: a point has a network or a setting that the sweep lacks; remove it");
    if (code == SOOTH_OK)
        code = sweep_file_count(file, &to->failed_networks, &to->failed_points, &to->first_error);
    sweep_setting_row *rows = ARENA_ARRAY(a, sweep_setting_row, sw->setting_count);
    for (size_t i = 0; i < sw->setting_count && code == SOOTH_OK; i++) {
        code = finish_setting(file, &s->settings[i], &sw->settings[i], a);
        rows[i] = s->settings[i].shown;
    }
    sweep_map *maps = ARENA_ARRAY(a, sweep_map, s->map_count + 1);
    for (size_t i = 0; i < s->map_count; i++) {
        finish_map(&s->maps[i]);
        maps[i] = s->maps[i].shown;
    }
    to->settings = rows;
    to->setting_count = sw->setting_count;
    to->maps = maps;
    to->map_count = s->map_count;
    to->planned = (int64_t)sw->points;
    to->networks = (int64_t)sw->networks;
    to->weights = sw->weights;
    return code;
}

int sweep_sum_up(sweep_file *file, const sweep *sw, sweep_summary *summary, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return cli_fail(f->error->code, "sweep", "%s", f->error->message);
    summing *s = ARENA_NEW(a, summing);
    s->sweep = sw;
    s->summary = summary;
    s->last_network = UINT64_MAX;
    s->settings = ARENA_ARRAY(a, setting_sums, sw->setting_count);
    return sum_up(s, file, a);
}
