/* inspect_table.c: `sooth inspect` for people: header, one line per layer, sums by operator, totals, notes. It fits the
 * terminal: names are shortened in the middle, and a narrow one drops the least important columns. */
#include "report/report.h"

#include <inttypes.h>

typedef enum column { NAME, OP, SHAPE, PARAMS, MACS, FLOPS, WEIGHTS, ACTIVATIONS, COLUMN_COUNT } column;

static const char *const TITLES[COLUMN_COUNT] = {"layer", "operator", "output",  "params",
                                                 "MACs",  "FLOPs",    "weights", "activations"};

enum { MARGIN = 2, GAP = 2, WIDEST_NAME = 200 };

/* A cached number and its text. */
typedef struct kept {
    int64_t number;
    char text[NUMBER_ROOM];
} kept;
enum { KEPT_BITS = 8 };

typedef struct table {
    report *r;
    size_t width[COLUMN_COUNT];   /* 0: dropped */
    const char *times;            /* multiplication sign between dimensions */
    kept kept[2][1 << KEPT_BITS]; /* cached texts: of plain numbers, of bytes */
} table;

/* ---- style ------------------------------------------------------------------------------------------------------- */

static void style(report *r, const char *code)
{
    if (r->options.colors)
        text_printf(r->out, "\033[%sm", code);
}

static const char *kind_color(const char *kind)
{
    static const struct {
        const char *kind, *code;
    } colors[] = {{"conv", "34"},    {"matmul", "32"}, {"attention", "35"}, {"recurrent", "35"},
                  {"norm", "33"},    {"pool", "36"},   {"reduce", "36"},    {"sort", "36"},
                  {"control", "31"}, {"move", "2"},    {"view", "2"}};
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
        if (strcmp(colors[i].kind, kind) == 0)
            return colors[i].code;
    return NULL;
}

/* Writes a cell in the colour of its kind; other kinds keep the colour of the line. */
static void colored_cell(report *r, const char *kind, const char *s, size_t width)
{
    const char *code = kind_color(kind);
    if (code)
        style(r, code);
    text_cell(r->out, s, width, CELL_LEFT, r->options.ascii);
    if (code)
        style(r, "0");
}

static void line(report *r, size_t width)
{
    style(r, "2");
    text_repeat(r->out, " ", MARGIN);
    text_repeat(r->out, r->options.ascii ? "-" : "─", width);
    style(r, "0");
    text_puts(r->out, "\n");
}

static void heading(report *r, const char *s)
{
    style(r, "1");
    text_printf(r->out, "  %s", s);
    style(r, "0");
    text_puts(r->out, "\n");
}

/* A name in running text, at most as wide as the rest of the line. */
static void inline_name(report *r, const char *s, size_t used)
{
    size_t columns = r->options.columns;
    text_name(r->out, s, columns == 0 ? WIDEST_NAME : columns > used + 8 ? columns - used : 8, r->options.ascii);
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

static size_t widest_name(report *r, size_t count, size_t (*at)(const sooth_model *, size_t))
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t w = name_width(sooth_value_at(r->model, at(r->model, i)).name);
        widest = w > widest ? w : widest;
    }
    return widest;
}

/* Width for tensor names that leaves room for type and shape. */
static size_t tensor_name_room(report *r, size_t widest)
{
    size_t most = r->options.columns > 80 ? r->options.columns - 50 : r->options.columns ? 30 : WIDEST_NAME;
    return widest < most ? widest : most;
}

static void tensor_lines(table *t, const char *title, size_t width, size_t count,
                         size_t (*at)(const sooth_model *, size_t))
{
    report *r = t->r;
    for (size_t i = 0; i < count; i++) {
        size_t index = at(r->model, i);
        sooth_value v = sooth_value_at(r->model, index);
        text_printf(r->out, "  %-8s", i ? "" : title);
        text_cell(r->out, v.name, width, CELL_LEFT, r->options.ascii);
        text_printf(r->out, "  %-8s  ", v.dtype && *v.dtype ? v.dtype : "?");
        if (!v.is_tensor)
            text_puts(r->out, "sequence of ");
        inline_name(r, report_shape(r, index, t->times), width + 2 + 8 + 12);
        text_puts(r->out, "\n");
    }
}

static void header(table *t)
{
    report *r = t->r;
    sooth_info info = sooth_info_of(r->model);
    style(r, "1");
    inline_name(r, info.file, 0);
    style(r, "0");
    style(r, "2");
    text_printf(r->out, "  %s", info.format);
    if (*info.producer) {
        text_puts(r->out, ", ");
        text_name(r->out, info.producer, 60, r->options.ascii);
    }
    if (*info.graph_name) {
        text_puts(r->out, ", graph ");
        text_name(r->out, info.graph_name, 60, r->options.ascii);
    }
    style(r, "0");
    text_puts(r->out, "\n\n");
    size_t inputs = sooth_input_count(r->model), outputs = sooth_output_count(r->model);
    size_t in_width = widest_name(r, inputs, sooth_input), out_width = widest_name(r, outputs, sooth_output);
    size_t width = tensor_name_room(r, in_width > out_width ? in_width : out_width);
    tensor_lines(t, "input", width, inputs, sooth_input);
    tensor_lines(t, "output", width, outputs, sooth_output);
    text_puts(r->out, "\n");
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static const char *row_op(table *t, const report_row *row)
{
    report *r = t->r;
    if (row->layer_count > 1 || !row->op)
        return row->last_layer == SIZE_MAX ? "" : arena_printf(r->scratch, "%" PRId64 " layers", row->layer_count).ptr;
    if (row->repeat > 1)
        return arena_printf(r->scratch, "%s %s%" PRId64, row->op, t->times, row->repeat).ptr;
    return row->op;
}

static const char *row_shape(table *t, const report_row *row)
{
    size_t value = row->last_layer == SIZE_MAX ? SIZE_MAX : report_first_output(t->r->model, row->last_layer);
    return report_shape(t->r, value, t->times);
}

/* Caches the latest texts, because layers repeat each other's numbers. */
static const char *kept_number(table *t, bool is_bytes, int64_t n)
{
    kept *k = &t->kept[is_bytes][((uint64_t)n * 0x9E3779B97F4A7C15u) >> (64 - KEPT_BITS)];
    if (k->number != n || !*k->text) {
        k->number = n;
        const char *made = is_bytes ? number_bytes(k->text, n) : number_short(k->text, n);
        if (made != k->text)
            memmove(k->text, made, strlen(made) + 1);
    }
    return k->text;
}

static const char *figure(table *t, const figures *f, column c)
{
    const struct {
        figure_bit bit;
        int64_t number;
    } figures[COLUMN_COUNT] = {
        [PARAMS] = {PARAMS_BIT, f->params},
        [MACS] = {MACS_BIT, f->macs},
        [FLOPS] = {FLOPS_BIT, f->flops},
        [WEIGHTS] = {WEIGHT_BYTES_BIT, f->weight_bytes},
        [ACTIVATIONS] = {ACTIVATION_BYTES_BIT, f->activation_bytes},
    };
    int64_t n = figures[c].number;
    return report_sum(t->r, f, figures[c].bit, n, kept_number(t, c == WEIGHTS || c == ACTIVATIONS, n));
}

static const char *layer_total(report *r)
{
    return arena_printf(r->scratch, "%" PRId64 " layer%s", r->totals.nodes, r->totals.nodes == 1 ? "" : "s").ptr;
}

static void widen(table *t, column c, const char *s)
{
    size_t w = name_width(s);
    if (w > WIDEST_NAME)
        w = WIDEST_NAME;
    if (w > t->width[c])
        t->width[c] = w;
}

static size_t table_width(const table *t)
{
    size_t width = 0;
    for (int c = 0; c < COLUMN_COUNT; c++)
        width += t->width[c] ? t->width[c] + GAP : 0;
    return width - GAP;
}

/* Narrows a column by the excess, but not below its least width. */
static void narrow(table *t, column c, size_t least, size_t room)
{
    size_t width = table_width(t);
    if (width <= room || t->width[c] <= least)
        return;
    size_t too_much = width - room;
    t->width[c] = t->width[c] - least > too_much ? t->width[c] - too_much : least;
}

static void measure(table *t)
{
    report *r = t->r;
    for (int c = 0; c < COLUMN_COUNT; c++)
        t->width[c] = strlen(TITLES[c]);
    for (size_t i = 0; i < r->row_count; i++) {
        const report_row one = report_row_at(r, i), *row = &one;
        arena_mark before = arena_marked(r->scratch);
        widen(t, NAME, row->name);
        widen(t, OP, row_op(t, row));
        widen(t, SHAPE, row_shape(t, row));
        for (int c = PARAMS; c < COLUMN_COUNT; c++)
            widen(t, c, figure(t, &row->sums, c));
        arena_rewind(r->scratch, before);
    }
    for (int c = PARAMS; c < COLUMN_COUNT; c++)
        widen(t, c, figure(t, &r->sums, c));
    widen(t, OP, layer_total(r));
    if (!r->options.columns)
        return;
    size_t columns = r->options.columns > MARGIN + 40 ? r->options.columns - MARGIN : 40;
    narrow(t, NAME, 28, columns);
    narrow(t, SHAPE, 14, columns);
    narrow(t, OP, 12, columns);
    narrow(t, NAME, 16, columns);
    static const column less_needed[] = {WEIGHTS, ACTIVATIONS, FLOPS, PARAMS};
    for (size_t i = 0; i < 4 && table_width(t) > columns; i++)
        t->width[less_needed[i]] = 0;
    narrow(t, NAME, 8, columns);
}

static void table_line(table *t, const char *name, const char *op, const char *kind, const char *shape,
                       const figures *f)
{
    report *r = t->r;
    text_repeat(r->out, " ", MARGIN);
    text_cell(r->out, name, t->width[NAME], CELL_LEFT, r->options.ascii);
    text_repeat(r->out, " ", GAP);
    colored_cell(r, kind, op, t->width[OP]);
    text_repeat(r->out, " ", GAP);
    text_cell(r->out, shape, t->width[SHAPE], CELL_LEFT, r->options.ascii);
    for (int c = PARAMS; c < COLUMN_COUNT; c++) {
        if (!t->width[c])
            continue;
        const char *s = f ? figure(t, f, c) : TITLES[c];
        bool faint = f && (*s == '0' || *s == '?');
        text_repeat(r->out, " ", GAP);
        if (faint)
            style(r, "2");
        text_cell(r->out, s, t->width[c], CELL_RIGHT, r->options.ascii);
        if (faint)
            style(r, "0");
    }
    text_puts(r->out, "\n");
}

static void layers(table *t)
{
    report *r = t->r;
    measure(t);
    style(r, "1");
    table_line(t, TITLES[NAME], TITLES[OP], "", TITLES[SHAPE], NULL);
    style(r, "0");
    line(r, table_width(t));
    for (size_t i = 0; i < r->row_count; i++) {
        const report_row one = report_row_at(r, i), *row = &one;
        arena_mark before = arena_marked(r->scratch);
        const char *kind = row->layer_count == 1 && row->op ? sooth_layer_at(r->model, row->last_layer).kind : NULL;
        table_line(t, row->name, row_op(t, row), kind ? kind : "", row_shape(t, row), &row->sums);
        arena_rewind(r->scratch, before);
        text_pass_on(r->out);
    }
    line(r, table_width(t));
    table_line(t, "total", layer_total(r), "", "", &r->sums);
    size_t hidden = 0;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (t->width[c])
            continue;
        text_puts(r->out, hidden++ ? ", " : "  omitted for lack of room: ");
        text_puts(r->out, TITLES[c]);
    }
    text_puts(r->out, hidden ? " (use a wider terminal or --format csv)\n\n" : "\n");
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static void operators(table *t)
{
    report *r = t->r;
    size_t width = strlen("operator");
    for (size_t i = 0; i < r->operator_count; i++) {
        size_t w = name_width(r->operators[i].op);
        width = w > width ? w : width;
    }
    width = width < 40 ? width : 40;
    bool by_macs = r->totals.macs > 0;
    int64_t whole = by_macs ? r->totals.macs : r->totals.flops;
    style(r, "1");
    text_puts(r->out, "  ");
    text_cell(r->out, "operator", width, CELL_LEFT, r->options.ascii);
    text_printf(r->out, "  %6s  %10s  %10s  %10s  share of %s", "count", "params", "MACs", "FLOPs",
                by_macs ? "MACs" : "FLOPs");
    style(r, "0");
    text_puts(r->out, "\n");
    for (size_t i = 0; i < r->operator_count; i++) {
        const operator_row *o = &r->operators[i];
        text_puts(r->out, "  ");
        colored_cell(r, o->kind, o->op, width);
        text_printf(r->out, "  %6" PRId64, o->count);
        for (column c = PARAMS; c <= FLOPS; c++) {
            text_puts(r->out, "  ");
            text_cell(r->out, figure(t, &o->sums, c), 10, CELL_RIGHT, r->options.ascii);
        }
        int64_t part = by_macs ? o->sums.macs : o->sums.flops;
        double share = whole > 0 && part > 0 ? (double)part / (double)whole : 0;
        if (share > 0) {
            text_printf(r->out, "  %5.1f %%  ", share * 100);
            style(r, "34");
            text_bar(r->out, share, r->options.ascii);
            style(r, "0");
        }
        text_puts(r->out, "\n");
    }
    text_puts(r->out, "\n");
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* A sum that depends on unbound dimensions is written as an expression. */
static void total_line(report *r, const char *title, const char *expression, const char *number, const char *brief)
{
    text_printf(r->out, "  %-12s ", title);
    style(r, "1");
    size_t width = name_width(expression ? expression : number);
    text_repeat(r->out, " ", width < 20 ? 20 - width : 0);
    inline_name(r, expression ? expression : number, 15);
    style(r, "0");
    text_printf(r->out, expression ? "\n" : "  %s\n", brief);
}

static void totals(report *r)
{
    const sooth_totals *s = &r->totals;
    char exact[NUMBER_ROOM], brief[NUMBER_ROOM];
    heading(r, "totals");
    total_line(r, "parameters", NULL, number_grouped(exact, s->params), number_short(brief, s->params));
    const figures *f = &r->sums;
    total_line(r, "MACs", s->macs_text, report_sum(r, f, MACS_BIT, s->macs, number_grouped(exact, s->macs)),
               number_short(brief, s->macs));
    total_line(r, "FLOPs", s->flops_text, report_sum(r, f, FLOPS_BIT, s->flops, number_grouped(exact, s->flops)),
               number_short(brief, s->flops));
    total_line(r, "weights", NULL, number_grouped(exact, s->weight_bytes), number_bytes(brief, s->weight_bytes));
    total_line(r, "activations", s->activation_bytes_text,
               report_sum(r, f, ACTIVATION_BYTES_BIT, s->activation_bytes, number_grouped(exact, s->activation_bytes)),
               number_bytes(brief, s->activation_bytes));
    if (s->unknown_layers > 0)
        text_printf(r->out,
                    "  %" PRId64 " of %" PRId64 " layers have an unknown or symbolic cost, which numeric sums omit\n",
                    s->unknown_layers, s->nodes);
}

static size_t itself(const sooth_model *model, size_t index)
{
    (void)model;
    return index;
}

static void values(table *t)
{
    report *r = t->r;
    size_t width = tensor_name_room(r, widest_name(r, sooth_value_count(r->model), itself));
    text_puts(r->out, "\n");
    heading(r, "tensors of the file");
    for (size_t i = 0; i < sooth_value_count(r->model); i++) {
        sooth_value v = sooth_value_at(r->model, i);
        text_puts(r->out, "  ");
        text_cell(r->out, v.name, width, CELL_LEFT, r->options.ascii);
        text_printf(r->out, "  %-8s  %-8s  ", v.is_constant ? "constant" : "", v.dtype && *v.dtype ? v.dtype : "?");
        inline_name(r, report_shape(r, i, t->times), width + 24);
        text_puts(r->out, "\n");
    }
}

static void notes(report *r)
{
    const char *dot = r->options.ascii ? "-" : "·";
    size_t count = sooth_note_count(r->model);
    if (count) {
        text_puts(r->out, "\n");
        heading(r, "notes");
    }
    for (size_t i = 0; i < count; i++) {
        text_printf(r->out, "  %s ", dot);
        text_name(r->out, sooth_note_at(r->model, i), SIZE_MAX, r->options.ascii);
        text_puts(r->out, "\n");
    }
    bool any = false;
    for (size_t i = 0; i < r->operator_count; i++) {
        const operator_row *o = &r->operators[i];
        if (o->op_known)
            continue;
        if (!any) {
            text_puts(r->out, "\n");
            heading(r, "unknown operators (the sums omit their cost)");
        }
        any = true;
        text_printf(r->out, "  %s ", dot);
        text_name(r->out, o->op, WIDEST_NAME, r->options.ascii);
        text_printf(r->out, "  %" PRId64 " time%s\n", o->count, o->count == 1 ? "" : "s");
    }
}

void inspect_table(report *r)
{
    table t = {.r = r, .times = r->options.ascii ? "x" : "×"};
    header(&t);
    layers(&t);
    operators(&t);
    totals(r);
    if (r->options.values)
        values(&t);
    notes(r);
}
