#include "report/gnn_report.h"
#include "report/grid.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

static const size_t SCRATCH_CAP = (size_t)64 << 20;
enum { SCHEMA = 1 }; /* version of the fields, doc/json.md */

typedef struct writing {
    const void *what;
    sooth_report_options options;
    text *out;
    arena *scratch;
} writing;

static bool run(writing *w, void (*write)(writing *), fail *f)
{
    if (setjmp(f->jump))
        return false;
    write(w);
    return true;
}

static sooth_status report(const void *what, void (*write)(writing *), const sooth_report_options *options,
                           char **bytes, size_t *size, sooth_error *error)
{
    fail f = {.error = error};
    text out = {.fail = &f};
    arena scratch;
    arena_init(&scratch, &f, SCRATCH_CAP);
    writing w = {.what = what, .options = *options, .out = &out, .scratch = &scratch};
    bool done = run(&w, write, &f);
    sooth_status status = text_hand_out(&out, done, bytes, size);
    arena_free(&scratch);
    return status;
}

static void begin_json(json *j)
{
    json_open(j, '{', false);
    json_identity(j, SCHEMA, NULL);
}

static void end_json(json *j)
{
    json_close(j, '}');
    text_puts(j->out, "\n");
}

/* ---- a trained model --------------------------------------------------------------------------------------------- */

static void trained_json(writing *w)
{
    static const char *const LABELS[] = {"train_labels", "validation_labels", "test_labels", "unused_labels"};
    const gnn_trained *t = w->what;
    json writer = {.out = w->out}, *j = &writer;
    begin_json(j);
    json_pair_string(j, "set", t->set);
    json_pair_string(j, "file", t->output);
    json_pair_string(j, "model", t->model);
    json_pair_string(j, "node_features", t->node_features);
    json_pair_number(j, "hidden", t->hidden);
    json_pair_number(j, "parameters", t->parameters);
    json_pair_string(j, "split", t->split);
    json_pair_number(j, "seed", t->seed);
    json_pair_number(j, "graphs", t->graphs);
    json_pair_number(j, "nodes", t->nodes);
    for (int i = 0; i < 4; i++)
        json_pair_number(j, LABELS[i], t->labels[i]);
    json_pair_number(j, "left_out_labels", t->left_out);
    json_pair_number(j, "epochs", t->epochs);
    json_pair_number(j, "best_epoch", t->best_epoch);
    json_pair_number(j, "batch_size", t->batch_size);
    json_pair_real(j, "rate", t->rate);
    json_pair_string(j, "schedule", t->schedule);
    json_pair_real(j, "validation_error", t->validation_error);
    json_pair_real(j, "seconds", t->seconds);
    json_pair_real(j, "epoch_seconds", t->epoch_seconds);
    json_pair_real(j, "epoch_processor_seconds", t->epoch_processor_seconds);
    end_json(j);
}

static void trained_table(writing *w)
{
    const gnn_trained *t = w->what;
    text *out = w->out;
    text_name(out, t->output, SIZE_MAX, w->options.ascii);
    text_printf(out, ": %s, %" PRId64 " hidden units, %" PRId64 " parameters, node features %s\n", t->model, t->hidden,
                t->parameters, t->node_features);
    text_printf(out,
                "  %" PRId64 " graphs, %" PRId64 " nodes; labels: %" PRId64 " to train, %" PRId64
                " to validate, %" PRId64 " to test",
                t->graphs, t->nodes, t->labels[0], t->labels[1], t->labels[2]);
    if (t->left_out)
        text_printf(out, "; %" PRId64 " left out: a GPU or slice that is not known", t->left_out);
    text_printf(out,
                "\n  split by %s; best of %" PRId64 " epochs: %" PRId64 ", with a mean error of %.2f %% on validation "
                "labels\n",
                t->split, t->epochs, t->best_epoch, 100 * expm1(t->validation_error));
}

static void write_trained(writing *w)
{
    if (w->options.format == SOOTH_FORMAT_JSON)
        trained_json(w);
    else
        trained_table(w);
}

sooth_status gnn_trained_report(const gnn_trained *t, const sooth_report_options *options, char **text, size_t *size,
                                sooth_error *error)
{
    return report(t, write_trained, options, text, size, error);
}

/* ---- an evaluation ----------------------------------------------------------------------------------------------- */

static void score_json(json *j, const gnn_score *s)
{
    json_open(j, '{', true);
    json_pair_string(j, "predictor", s->predictor);
    json_pair_string(j, "output", s->output);
    json_pair_text(j, "by", s->by);
    json_pair_text(j, "group", s->group);
    json_pair_number(j, "labels", s->labels);
    json_pair_real(j, "mape", s->mape);
    json_pair_real(j, "median", s->median);
    json_pair_real(j, "p90", s->p90);
    json_pair_real(j, "within10", s->within10);
    json_pair_real(j, "spearman", s->spearman);
    json_pair_real(j, "coverage90", s->coverage90);
    json_close(j, '}');
}

static void evaluation_json(writing *w)
{
    const gnn_evaluation *e = w->what;
    json writer = {.out = w->out}, *j = &writer;
    begin_json(j);
    json_pair_string(j, "file", e->model_path);
    json_pair_string(j, "set", e->set);
    json_pair_string(j, "model", e->model);
    json_pair_string(j, "node_features", e->node_features);
    json_pair_number(j, "hidden", e->hidden);
    json_pair_number(j, "epochs", e->epochs);
    json_pair_string(j, "split", e->split);
    json_pair_string(j, "part", e->part);
    json_pair_number(j, "graphs", e->graphs);
    json_pair_number(j, "labels", e->labels);
    json_pair_number(j, "scored_graphs", e->scored_graphs);
    json_pair_real(j, "seconds", e->seconds);
    json_pair_real(j, "processor_seconds", e->processor_seconds);
    json_key(j, "scores");
    json_open(j, '[', false);
    for (size_t i = 0; i < e->score_count; i++)
        score_json(j, &e->scores[i]);
    json_close(j, ']');
    end_json(j);
}

static void add_percent(grid *g, double x)
{
    if (isnan(x))
        grid_add(g, "");
    else
        grid_printf(g, "%.1f %%", x);
}

static void evaluation_table(writing *w)
{
    static const grid_column COLUMNS[] = {
        {"predictor", CELL_LEFT, 0},   {"output", CELL_LEFT, 0},      {"labels", CELL_LEFT, 4},
        {"of", CELL_RIGHT, 3},         {"mean error", CELL_RIGHT, 0}, {"median", CELL_RIGHT, 0},
        {"90 % below", CELL_RIGHT, 2}, {"rank", CELL_RIGHT, 1},       {"in interval", CELL_RIGHT, 5}};
    const gnn_evaluation *e = w->what;
    grid g;
    text_name(w->out, e->model_path, SIZE_MAX, w->options.ascii);
    text_printf(w->out, ": %s, node features %s, split by %s; %" PRId64 " %s labels of %" PRId64 " graphs\n\n",
                e->model, e->node_features, e->split, e->labels, e->part, e->graphs);
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < e->score_count; i++) {
        const gnn_score *s = &e->scores[i];
        grid_add(&g, s->predictor);
        grid_add(&g, s->output);
        grid_printf(&g, "%s", *s->by ? s->group : "all");
        grid_printf(&g, "%" PRId64, s->labels);
        add_percent(&g, s->mape);
        add_percent(&g, s->median);
        add_percent(&g, s->p90);
        if (isnan(s->spearman))
            grid_add(&g, "");
        else
            grid_printf(&g, "%.3f", s->spearman);
        add_percent(&g, s->coverage90);
    }
    grid_write(&g);
}

static void evaluation_csv(writing *w)
{
    const gnn_evaluation *e = w->what;
    text_puts(w->out, "predictor,output,by,group,labels,mape,median,p90,within10,spearman,coverage90\n");
    for (size_t i = 0; i < e->score_count; i++) {
        const gnn_score *s = &e->scores[i];
        text_csv(w->out, s->predictor);
        text_csv_text(w->out, s->output);
        text_csv_text(w->out, s->by);
        text_csv_text(w->out, s->group);
        text_csv_number(w->out, s->labels);
        const double numbers[] = {s->mape, s->median, s->p90, s->within10, s->spearman, s->coverage90};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            text_csv_real(w->out, numbers[k]);
        text_puts(w->out, "\n");
    }
}

static void write_evaluation(writing *w)
{
    if (w->options.format == SOOTH_FORMAT_JSON)
        evaluation_json(w);
    else if (w->options.format == SOOTH_FORMAT_CSV)
        evaluation_csv(w);
    else
        evaluation_table(w);
}

sooth_status gnn_evaluation_report(const gnn_evaluation *e, const sooth_report_options *options, char **text,
                                   size_t *size, sooth_error *error)
{
    return report(e, write_evaluation, options, text, size, error);
}

/* ---- an answer --------------------------------------------------------------------------------------------------- */

static void write_line(writing *w, const char *title, sooth_interval x, const char *unit)
{
    char rooms[3][NUMBER_ROOM];
    if (isnan(x.value))
        text_printf(w->out, "  %-10s         ?  the model was not trained on it\n", title);
    else
        text_printf(w->out, "  %-10s  %8s %-3s  90 %% interval %s to %s\n", title, number_digits(rooms[0], x.value),
                    unit, number_digits(rooms[1], x.low), number_digits(rooms[2], x.high));
}

static void write_answer(writing *w)
{
    const gnn_answer *a = w->what;
    if (w->options.format == SOOTH_FORMAT_JSON) {
        json writer = {.out = w->out}, *j = &writer;
        begin_json(j);
        json_pair_string(j, "file", a->model_path);
        json_pair_string(j, "model", a->model);
        json_pair_string(j, "node_features", a->node_features);
        json_pair_string(j, "network", a->network);
        json_pair_string(j, "gpu", a->gpu);
        json_pair_number(j, "batch", a->batch);
        json_pair_string(j, "precision", a->precision);
        json_pair_string(j, "layout", a->layout);
        json_pair_string(j, "runtime", a->runtime);
        json_pair_string(j, "mode", a->mode);
        json_pair_interval(j, "latency_ms", a->latency_ms);
        json_pair_interval(j, "energy_j", a->energy_j);
        json_pair_interval(j, "memory_mib", a->memory_mib);
        json_pair_text(j, "dippm_profile", a->dippm_profile);
        end_json(j);
        return;
    }
    text_name(w->out, a->network, SIZE_MAX, w->options.ascii);
    text_printf(w->out, " on %s  batch %" PRId64 ", %s, %s, %s, %s; by %s, node features %s\n\n", a->gpu, a->batch,
                a->precision, a->layout, a->runtime, a->mode, a->model, a->node_features);
    write_line(w, "latency", a->latency_ms, "ms");
    write_line(w, "energy", a->energy_j, "J");
    write_line(w, "memory", a->memory_mib, "MiB");
    if (*a->dippm_profile)
        text_printf(w->out, "  slice       %8s      by DIPPM's rule, by memory alone\n", a->dippm_profile);
}

sooth_status gnn_answer_report(const gnn_answer *a, const sooth_report_options *options, char **text, size_t *size,
                               sooth_error *error)
{
    return report(a, write_answer, options, text, size, error);
}

/* ---- slices by DIPPM's rule --------------------------------------------------------------------------------------- */

static void ruled_json(writing *w)
{
    const gnn_ruled *r = w->what;
    json writer = {.out = w->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, r->weights);
    json_pair_string(j, "gpu", r->gpu);
    json_pair_string(j, "rule", "dippm");
    json_key(j, "slices");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->count; i++) {
        const gnn_ruled_row *x = &r->rows[i];
        json_open(j, '{', true);
        json_pair_string(j, "model", x->network);
        json_pair_number(j, "batch", x->batch);
        json_pair_string(j, "predictor", x->predictor);
        json_pair_interval(j, "memory_mib", x->memory_mib);
        json_pair_text(j, "dippm_profile", x->profile);
        json_pair_text(j, "profile", x->choice);
        json_close(j, '}');
    }
    json_close(j, ']');
    end_json(j);
}

static void ruled_csv(writing *w)
{
    const gnn_ruled *r = w->what;
    text_puts(w->out, "model,batch,predictor,memory_mib,memory_mib_low,memory_mib_high,dippm_profile,profile\n");
    for (size_t i = 0; i < r->count; i++) {
        const gnn_ruled_row *x = &r->rows[i];
        text_csv(w->out, x->network);
        text_csv_number(w->out, x->batch);
        text_csv_text(w->out, x->predictor);
        text_csv_real(w->out, x->memory_mib.value);
        text_csv_real(w->out, x->memory_mib.low);
        text_csv_real(w->out, x->memory_mib.high);
        text_csv_text(w->out, x->profile);
        text_csv_text(w->out, x->choice);
        text_puts(w->out, "\n");
    }
}

static void ruled_table(writing *w)
{
    static const grid_column COLUMNS[] = {{"model", CELL_LEFT, 0},         {"batch", CELL_RIGHT, 0},
                                          {"predictor", CELL_LEFT, 0},     {"MiB", CELL_RIGHT, 0},
                                          {"90 % interval", CELL_LEFT, 1}, {"DIPPM's rule", CELL_LEFT, 0},
                                          {"Sooth's choice", CELL_LEFT, 0}};
    const gnn_ruled *r = w->what;
    char rooms[2][NUMBER_ROOM];
    grid g;
    text_printf(w->out, "slices of %s by DIPPM's rule: by memory alone, at any latency\n\n", r->gpu);
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < r->count; i++) {
        const gnn_ruled_row *x = &r->rows[i];
        bool is_known = !isnan(x->memory_mib.value);
        grid_add(&g, x->network);
        grid_printf(&g, "%" PRId64, x->batch);
        grid_add(&g, x->predictor);
        grid_add(&g, is_known ? number_digits(rooms[0], x->memory_mib.value) : "?");
        if (is_known)
            grid_printf(&g, "%s to %s", number_digits(rooms[0], x->memory_mib.low),
                        number_digits(rooms[1], x->memory_mib.high));
        else
            grid_add(&g, "");
        grid_add(&g, *x->profile ? x->profile : "none");
        grid_add(&g, *x->choice ? x->choice : "none");
    }
    grid_write(&g);
}

static void write_ruled(writing *w)
{
    if (w->options.format == SOOTH_FORMAT_JSON)
        ruled_json(w);
    else if (w->options.format == SOOTH_FORMAT_CSV)
        ruled_csv(w);
    else
        ruled_table(w);
}

sooth_status gnn_ruled_report(const gnn_ruled *r, const sooth_report_options *options, char **text, size_t *size,
                              sooth_error *error)
{
    return report(r, write_ruled, options, text, size, error);
}
