#include "report/report.h"
#include "report/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void add_known(int64_t *sum, int64_t more)
{
    if (more < 0)
        return;
    if (*sum < 0)
        *sum = more;
    else if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static void add_figures(figures *sum, const figures *more)
{
    add_known(&sum->params, more->params);
    add_known(&sum->macs, more->macs);
    add_known(&sum->flops, more->flops);
    add_known(&sum->weight_bytes, more->weight_bytes);
    add_known(&sum->activation_bytes, more->activation_bytes);
    sum->partial |= more->partial;
}

static const figures NOTHING = {SOOTH_UNKNOWN, SOOTH_UNKNOWN, SOOTH_UNKNOWN, SOOTH_UNKNOWN, SOOTH_UNKNOWN, 0};

static figures layer_figures(const sooth_layer *l)
{
    figures f = {l->params, l->macs, l->flops, l->weight_bytes, l->activation_bytes, 0};
    f.partial =
        (uint8_t)((l->params < 0 ? PARAMS_BIT : 0) | (l->macs < 0 ? MACS_BIT : 0) | (l->flops < 0 ? FLOPS_BIT : 0) |
                  (l->weight_bytes < 0 ? WEIGHT_BYTES_BIT : 0) | (l->activation_bytes < 0 ? ACTIVATION_BYTES_BIT : 0));
    return f;
}

const char *report_sum(report *r, const figures *f, figure_bit which, int64_t known, const char *text)
{
    if (!(f->partial & which))
        return text;
    return known <= 0 ? "?" : arena_printf(r->scratch, "%s %s", r->options.ascii ? ">=" : "≥", text).ptr;
}

/* ---- slots by name: a small hash table --------------------------------------------------------------------------- */

typedef struct slots {
    size_t *items; /* index + 1; 0: free */
    struct {
        str *items; /* keys, by index */
        int32_t count, capacity;
    } keys;
    size_t mask;
    arena *arena;
} slots;

static size_t *slot_of(const slots *s, str key)
{
    size_t at = str_hash(key) & s->mask;
    while (s->items[at] && !str_eq(s->keys.items[s->items[at] - 1], key))
        at = (at + 1) & s->mask;
    return &s->items[at];
}

static void slots_resize(slots *s, size_t size)
{
    s->items = ARENA_ARRAY(s->arena, size_t, size);
    s->mask = size - 1;
    for (int32_t i = 0; i < s->keys.count; i++)
        *slot_of(s, s->keys.items[i]) = (size_t)i + 1;
}

static slots slots_new(arena *a)
{
    slots s = {.arena = a};
    slots_resize(&s, 64);
    return s;
}

/* Returns the index of a key; a new key gets the next index. */
static size_t slots_index(slots *s, str key)
{
    size_t *slot = slot_of(s, key);
    if (!*slot) {
        *(str *)ARENA_PUSH_ROOM(s->arena, &s->keys) = key;
        *slot = (size_t)s->keys.count;
        if ((size_t)s->keys.count * 2 > s->mask)
            slots_resize(s, (s->mask + 1) * 2);
        return (size_t)s->keys.count - 1;
    }
    return *slot - 1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* "/layer1/layer1.0/conv1/Conv" at depth 2 is "layer1/layer1". */
static str scope_of(const char *name, size_t depth)
{
    name += strspn(name, "/.");
    const char *end = name;
    for (size_t i = 0; i < depth && *end; i++) {
        if (i)
            end += strspn(end, "/.");
        end += strcspn(end, "/.");
    }
    return (str){name, (size_t)(end - name)};
}

/* Sort key of a number. Unknown values sort after all known ones, because they may be large. */
static int larger_first(int64_t a, int64_t b)
{
    bool a_known = a > 0, b_known = b > 0;
    if (a_known != b_known)
        return a_known ? -1 : 1;
    if (a_known)
        return a == b ? 0 : a > b ? -1 : 1;
    return (b < 0) - (a < 0);
}

static int most_macs_first(const figures *a, const figures *b)
{
    int order = larger_first(a->macs, b->macs);
    return order ? order : larger_first(a->flops, b->flops);
}

static int compare_rows(const void *a, const void *b)
{
    const report_row *x = a, *y = b;
    int order = most_macs_first(&x->sums, &y->sums);
    return order ? order : x->last_layer < y->last_layer ? -1 : x->last_layer > y->last_layer;
}

static void merge_row(report_row *into, const report_row *row)
{
    bool first = into->layer_count == 0;
    into->op = first ? row->op : NULL;
    into->op_known = row->op_known && (first || into->op_known);
    into->repeat = first || into->repeat == row->repeat ? row->repeat : SOOTH_UNKNOWN;
    into->fused_count += row->fused_count;
    into->last_layer = row->last_layer;
    into->layer_count += row->layer_count;
    if (first)
        into->sums = NOTHING;
    add_figures(&into->sums, &row->sums);
}

static void group_by_scope(report *r)
{
    slots groups = slots_new(r->scratch);
    struct {
        report_row *items;
        int32_t count, capacity;
    } rows = {0};
    for (size_t i = 0; i < r->row_count; i++) {
        report_row row = report_row_at(r, i);
        str scope = scope_of(row.name, r->options.depth);
        size_t index = slots_index(&groups, scope);
        if (index == (size_t)rows.count)
            ((report_row *)ARENA_PUSH(r->scratch, &rows))->name = arena_str(r->scratch, scope).ptr;
        merge_row(&rows.items[index], &row);
    }
    r->rows = rows.items;
    r->row_count = (size_t)rows.count;
}

static void keep_top(report *r)
{
    size_t top = r->options.top;
    if (!r->rows) {
        report_row *rows = ARENA_ARRAY(r->scratch, report_row, r->row_count);
        for (size_t i = 0; i < r->row_count; i++)
            rows[i] = report_row_at(r, i);
        r->rows = rows;
    }
    if (r->row_count)
        qsort(r->rows, r->row_count, sizeof *r->rows, compare_rows);
    if (r->row_count <= top)
        return;
    report_row rest = {0};
    for (size_t i = top; i < r->row_count; i++)
        merge_row(&rest, &r->rows[i]);
    rest.name =
        arena_printf(r->scratch, "the other %" PRId64 " layer%s", rest.layer_count, rest.layer_count == 1 ? "" : "s")
            .ptr;
    rest.op = NULL;
    rest.last_layer = SIZE_MAX;
    r->rows[top] = rest;
    r->row_count = top + 1;
}

report_row report_row_at(const report *r, size_t index)
{
    if (r->rows)
        return r->rows[index];
    sooth_layer l = sooth_layer_at(r->model, index);
    return (report_row){l.name, l.op, index, 1, l.repeat, (int64_t)l.fused_count, l.op_known, layer_figures(&l)};
}

static void report_rows(report *r)
{
    r->row_count = sooth_layer_count(r->model);
    r->sums = (figures){0};
    for (size_t i = 0; i < r->row_count; i++) {
        report_row row = report_row_at(r, i);
        add_figures(&r->sums, &row.sums);
    }
    if (r->options.depth)
        group_by_scope(r);
    if (r->options.top)
        keep_top(r);
}

static int compare_operators(const void *a, const void *b)
{
    const operator_row *x = a, *y = b;
    int order = most_macs_first(&x->sums, &y->sums);
    if (order)
        return order;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->op, y->op);
}

static void report_operators(report *r)
{
    size_t layers = sooth_layer_count(r->model);
    slots ops = slots_new(r->scratch);
    struct {
        operator_row *items;
        int32_t count, capacity;
    } rows = {0};
    for (size_t i = 0; i < layers; i++) {
        sooth_layer l = sooth_layer_at(r->model, i);
        size_t index = slots_index(&ops, str_of(l.op));
        if (index == (size_t)rows.count)
            *(operator_row *)ARENA_PUSH_ROOM(r->scratch, &rows) =
                (operator_row){l.op, l.kind ? l.kind : "other", l.op_known, 0, NOTHING};
        operator_row *o = &rows.items[index];
        o->count++;
        o->op_known = o->op_known && l.op_known;
        figures f = layer_figures(&l);
        add_figures(&o->sums, &f);
    }
    r->operators = rows.items;
    r->operator_count = (size_t)rows.count;
    if (rows.count)
        qsort(r->operators, r->operator_count, sizeof *r->operators, compare_operators);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

size_t report_first_output(const sooth_model *model, size_t layer)
{
    size_t count = sooth_layer_at(model, layer).output_count;
    for (size_t i = 0; i < count; i++) {
        size_t value = sooth_layer_output(model, layer, i);
        if (value != SIZE_MAX)
            return value;
    }
    return SIZE_MAX;
}

const char *report_shape(report *r, size_t index, const char *separator)
{
    if (index == SIZE_MAX)
        return "";
    sooth_value v = sooth_value_at(r->model, index);
    if (v.rank < 0)
        return "?";
    if (v.rank == 0)
        return "scalar";
    size_t room = 1, separator_len = strlen(separator);
    for (int i = 0; i < v.rank; i++) {
        const char *symbol = v.dims[i] < 0 ? sooth_dim_text(r->model, v.dims[i]) : NULL;
        room += separator_len + (symbol ? strlen(symbol) : NUMBER_ROOM);
    }
    char *joined = arena_room(r->scratch, room, 1), *at = joined;
    for (int i = 0; i < v.rank; i++) {
        const char *symbol = v.dims[i] < 0 ? sooth_dim_text(r->model, v.dims[i]) : NULL;
        char digits[NUMBER_ROOM];
        const char *part = symbol ? symbol : number_whole(digits, v.dims[i]);
        size_t len = strlen(part);
        if (i)
            memcpy(at, separator, separator_len);
        at += i ? separator_len : 0;
        memcpy(at, part, len);
        at += len;
    }
    *at = '\0';
    return joined;
}

/* Most of it is for shapes as text, which a hostile file can make long. */
static const size_t SCRATCH_CAP = (size_t)1 << 30;

/* ---- the public function ----------------------------------------------------------------------------------------- */

static const char *misuse(const sooth_report_options *o)
{
    if (o->format < SOOTH_FORMAT_TABLE || o->format > SOOTH_FORMAT_SVG)
        return "no such format: one of SOOTH_FORMAT_… is needed";
    bool picture = o->format == SOOTH_FORMAT_DOT || o->format == SOOTH_FORMAT_SVG;
    if (picture && (o->values || o->top || o->depth))
        return "a picture shows every layer: --values, --top and --depth are for table, json and csv";
    if (o->format == SOOTH_FORMAT_CSV && o->values && (o->top || o->depth))
        return "csv with --values lists tensors: --top and --depth are for layers";
    return NULL;
}

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_report(report *r)
{
    static void (*const writers[])(report *) = {inspect_table, inspect_json, inspect_csv, graph_dot, graph_svg};
    if (setjmp(r->out->fail->jump))
        return false;
    report_rows(r);
    report_operators(r);
    text_puts(r->out, "");
    writers[r->options.format](r);
    text_end(r->out);
    return true;
}

static sooth_status make_report(const sooth_model *model, const sooth_report_options *options, text *out)
{
    arena scratch;
    arena_init(&scratch, out->fail, SCRATCH_CAP);
    report r = {.model = model, .out = out, .scratch = &scratch};
    if (options)
        r.options = *options;
    const char *wrong = misuse(&r.options);
    if (wrong)
        return error_say(out->fail->error, SOOTH_ERROR_USAGE, wrong);
    r.totals = sooth_totals_of(model);
    bool done = write_report(&r);
    arena_free(&scratch);
    return done ? SOOTH_OK : out->fail->error->code;
}

sooth_status sooth_report(const sooth_model *model, const sooth_report_options *options, char **text_out, size_t *size,
                          sooth_error *error)
{
    sooth_error own;
    fail f = {.error = error_or(error, &own)};
    text out = {.fail = &f};
    *text_out = NULL;
    sooth_status status = make_report(model, options, &out);
    return status == SOOTH_ERROR_USAGE ? status : text_hand_out(&out, status == SOOTH_OK, text_out, size);
}

sooth_status report_write(const sooth_model *model, const sooth_report_options *options, const text_sink *sink,
                          sooth_error *error)
{
    sooth_error own;
    fail f = {.error = error_or(error, &own)};
    text out = {.fail = &f, .sink = sink};
    sooth_status status = make_report(model, options, &out);
    free(out.bytes);
    return status;
}
