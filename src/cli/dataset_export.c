/* dataset_export.c: `sooth dataset export`: CSV with a row for each label, JSON lines with one for each graph, and
 * arrays for NumPy, PyTorch Geometric and DGL. Reads graph by graph, so memory does not grow with the set. */
#include "cli/dataset_args.h"
#include "cli/npz.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct exporting {
    const char *path;
    fail fail;
    sooth_error error;
    arena arena, scratch;
    dataset_file *file;
    cli_output out;
    text text; /* output of CSV and JSON lines */
    json json;
    bool failed, has_graph, has_label;
    set_graph_row row; /* Graph to which the current labels belong; its texts are in `scratch`. */
    struct {
        set_operator *items;
        int32_t count, capacity;
    } operators;
    npz npz;
    int64_t graphs, labels, nodes, edges;
    size_t longest[16]; /* longest text of each column */
    struct export_column {
        const char *name, *type;
        size_t size;
        uint64_t columns;
        int what;
    } column; /* column that is being written */
} exporting;

/* Called for every graph and label. Must not longjmp through SQLite. */
static bool guarded(exporting *e, void (*take)(exporting *, const set_graph_row *, const set_label *),
                    const set_graph_row *g, const set_label *l)
{
    if (setjmp(e->fail.jump))
        e->failed = true;
    else
        take(e, g, l);
    return !e->failed;
}

static void pass_on(exporting *e)
{
    if (e->text.size < (1u << 20))
        return;
    if (!cli_put(&e->out, e->text.bytes, e->text.size))
        fail_with(&e->fail, SOOTH_ERROR_SYSTEM, "cannot be written");
    e->text.size = 0;
}

/* Decodes the graph in `scratch`, which is emptied for each graph. */
static set_graph decoded(exporting *e, const set_graph_row *row)
{
    set_graph g;
    arena_free(&e->scratch);
    const char *wrong = set_graph_decode(row->graph, &e->scratch, &g);
    if (wrong)
        fail_with(&e->fail, SOOTH_ERROR_INPUT, "graph %s: its stored graph cannot be read: %s", row->name, wrong);
    return g;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void keep_row(exporting *e, const set_graph_row *g)
{
    arena_free(&e->scratch);
    e->row = *g;
    e->row.name = arena_str(&e->scratch, str_of(g->name)).ptr;
    e->row.family = arena_str(&e->scratch, str_of(g->family)).ptr;
    e->row.spec = arena_str(&e->scratch, str_of(g->spec)).ptr;
}

static void csv_graph(exporting *e)
{
    text *t = &e->text;
    const set_figures *f = &e->row.figures;
    text_csv(t, e->row.name);
    text_csv_text(t, e->row.family);
    text_csv_text(t, e->row.spec);
    text_printf(t, ",%016" PRIx64 ",%016" PRIx64, e->row.fingerprint, e->row.architecture);
    const int64_t numbers[] = {f->batch, e->row.node_count, e->row.edge_count, f->params,    f->macs,
                               f->flops, f->conv_count,     f->dense_count,    f->relu_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        text_csv_number(t, numbers[i]);
}

static void csv_interval(text *t, sooth_interval x)
{
    text_csv_real(t, x.value);
    text_csv_real(t, x.low);
    text_csv_real(t, x.high);
}

static void take_csv(exporting *e, const set_graph_row *g, const set_label *l)
{
    text *t = &e->text;
    if (g) {
        keep_row(e, g);
        return;
    }
    csv_graph(e);
    const set_setting *s = &l->setting;
    const char *const texts[] = {s->gpu, s->mig, s->precision, s->layout, s->runtime, s->mode, s->optimizer, s->stack};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_csv_text(t, texts[i]);
    text_csv_text(t, l->is_measured ? "measured" : "predicted");
    csv_interval(t, l->latency_ms);
    csv_interval(t, l->energy_j);
    csv_interval(t, l->memory_mib);
    text_csv_real(t, l->utilization);
    text_csv_text(t, l->mig_profile);
    text_csv_text(t, l->source);
    text_puts(t, "\n");
    pass_on(e);
}

static void begin_csv(exporting *e)
{
    text_puts(&e->text, "name,family,spec,fingerprint,architecture,batch,nodes,edges,params,macs,flops,conv_count,"
                        "dense_count,relu_count,gpu,mig,precision,layout,runtime,mode,optimizer,stack,kind,latency_ms,"
                        "latency_ms_low,latency_ms_high,energy_j,energy_j_low,energy_j_high,memory_mib,memory_mib_low,"
                        "memory_mib_high,utilization,mig_profile,source\n");
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

static int32_t operator_of(const exporting *e, int32_t code)
{
    for (int32_t i = 0; i < e->operators.count; i++)
        if (e->operators.items[i].code == code)
            return i;
    return -1;
}

static void json_hash(json *j, const char *key, uint64_t hash)
{
    char digits[20];
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    json_pair_string(j, key, digits);
}

static void json_ints(json *j, const int32_t *ints, int count)
{
    json_open(j, '[', true);
    for (int i = 0; i < count; i++) {
        if (ints[i] < 0)
            json_null(j);
        else
            json_number(j, ints[i]);
    }
    json_close(j, ']');
}

static void json_nodes(exporting *e, const set_graph *g)
{
    json *j = &e->json;
    json_key(j, "nodes");
    json_open(j, '[', true);
    for (int32_t i = 0; i < g->node_count; i++) {
        int32_t op = operator_of(e, g->op[i]);
        json_open(j, '{', true);
        json_pair_string(j, "op", op < 0 ? "?" : e->operators.items[op].name);
        json_key(j, "shape");
        json_ints(j, g->dims[i], g->rank[i] < 0 ? 0 : g->rank[i] < SET_DIMS ? g->rank[i] : SET_DIMS);
        json_key(j, "attributes");
        json_ints(j, g->attributes[i], SET_ATTRIBUTES);
        json_pair_number(j, "macs", g->macs[i]);
        json_pair_number(j, "params", g->params[i]);
        json_pair_number(j, "flops", g->flops[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key(j, "edges");
    json_open(j, '[', true);
    for (int32_t i = 0; i < g->edge_count; i++)
        json_ints(j, g->edges[i], 2);
    json_close(j, ']');
}

static void end_line(exporting *e)
{
    if (!e->has_graph)
        return;
    json_close(&e->json, ']');
    json_close(&e->json, '}');
    text_puts(&e->text, "\n");
    e->has_graph = false;
    pass_on(e);
}

static void begin_line(exporting *e, const set_graph_row *row)
{
    const set_graph g = decoded(e, row);
    const set_figures *f = &row->figures;
    end_line(e);
    e->json = (json){.out = &e->text};
    json *j = &e->json;
    json_open(j, '{', true);
    json_pair_string(j, "name", row->name);
    json_pair_string(j, "family", row->family);
    json_pair_string(j, "spec", row->spec);
    json_hash(j, "fingerprint", row->fingerprint);
    json_hash(j, "architecture", row->architecture);
    json_pair_number(j, "batch", f->batch);
    json_pair_number(j, "params", f->params);
    json_pair_number(j, "macs", f->macs);
    json_pair_number(j, "flops", f->flops);
    json_pair_number(j, "conv_count", f->conv_count);
    json_pair_number(j, "dense_count", f->dense_count);
    json_pair_number(j, "relu_count", f->relu_count);
    json_nodes(e, &g);
    json_key(j, "labels");
    json_open(j, '[', true);
    e->has_graph = true;
}

static void take_line(exporting *e, const set_graph_row *g, const set_label *l)
{
    json *j = &e->json;
    if (g) {
        begin_line(e, g);
        return;
    }
    const set_setting *s = &l->setting;
    json_open(j, '{', true);
    json_pair_string(j, "gpu", s->gpu);
    json_pair_text(j, "mig", s->mig);
    json_pair_text(j, "precision", s->precision);
    json_pair_text(j, "layout", s->layout);
    json_pair_text(j, "runtime", s->runtime);
    json_pair_text(j, "mode", s->mode);
    json_pair_text(j, "optimizer", s->optimizer);
    json_pair_text(j, "stack", s->stack);
    json_pair_string(j, "kind", l->is_measured ? "measured" : "predicted");
    json_pair_interval(j, "latency_ms", l->latency_ms);
    json_pair_interval(j, "energy_j", l->energy_j);
    json_pair_interval(j, "memory_mib", l->memory_mib);
    json_pair_real(j, "utilization", l->utilization);
    json_pair_text(j, "mig_profile", l->mig_profile);
    json_pair_text(j, "source", l->source);
    json_close(j, '}');
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum {
    NODE_PTR,
    EDGE_PTR,
    NODE_OP,
    NODE_RANK,
    NODE_DIMS,
    NODE_ATTRIBUTES,
    NODE_MACS,
    NODE_PARAMS,
    NODE_FLOPS,
    EDGE_FROM,
    EDGE_TO,
    GRAPH_NAME,
    GRAPH_FAMILY,
    GRAPH_FINGERPRINT,
    GRAPH_ARCHITECTURE,
    GRAPH_STATIC,
    LABEL_GRAPH,
    LABEL_VALUES,
    LABEL_GPU,
    LABEL_SETTING,
    LABEL_KIND,
    ARRAYS
};
enum { STATIC_FEATURES = 7, LABEL_NUMBERS = 10, TEXTS = 16 };

/* Returns a text for a text column of the arrays, whose lengths are measured first; NULL for other columns. */
static const char *text_of(int what, const set_graph_row *g, const set_label *l, char room[256])
{
    const set_setting *s = l ? &l->setting : NULL;
    switch (what) {
    case GRAPH_NAME:
        return g ? g->name : NULL;
    case GRAPH_FAMILY:
        return g ? g->family : NULL;
    case LABEL_GPU:
        if (s)
            snprintf(room, 256, "%s%s%s", s->gpu, *s->mig ? " " : "", s->mig);
        return s ? room : NULL;
    case LABEL_SETTING:
        if (s)
            snprintf(room, 256, "%s %s %s %s%s%s%s%s", s->precision, s->layout, s->runtime, s->mode,
                     *s->optimizer ? " " : "", s->optimizer, *s->stack ? " " : "", s->stack);
        return s ? room : NULL;
    case LABEL_KIND:
        return l ? (l->is_measured ? "measured" : "predicted") : NULL;
    default:
        return NULL;
    }
}

static void take_sizes(exporting *e, const set_graph_row *g, const set_label *l)
{
    static const int WHAT[] = {GRAPH_NAME, GRAPH_FAMILY, LABEL_GPU, LABEL_SETTING, LABEL_KIND};
    char room[256];
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT; i++) {
        const char *s = text_of(WHAT[i], g, l, room);
        size_t length = s ? strlen(s) : 0;
        e->longest[i] = length > e->longest[i] ? length : e->longest[i];
    }
    if (g) {
        e->graphs++;
        e->nodes += g->node_count;
        e->edges += g->edge_count;
    } else {
        e->labels++;
    }
}

static void put_text(exporting *e, const char *s)
{
    char room[256] = {0};
    size_t length = strlen(s);
    memcpy(room, s, length < e->column.size ? length : e->column.size);
    npz_put(&e->npz, room, e->column.size);
}

static void put_whole(exporting *e, int64_t x)
{
    npz_put(&e->npz, &x, sizeof x);
}

static void put_graph_column(exporting *e, const set_graph_row *row)
{
    npz *z = &e->npz;
    const set_figures *f = &row->figures;
    const int64_t features[STATIC_FEATURES] = {f->batch,      f->macs,        f->params,    f->flops,
                                               f->conv_count, f->dense_count, f->relu_count};
    switch (e->column.what) {
    case NODE_PTR:
        e->nodes += row->node_count;
        put_whole(e, e->nodes);
        return;
    case EDGE_PTR:
        e->edges += row->edge_count;
        put_whole(e, e->edges);
        return;
    case GRAPH_FINGERPRINT:
        npz_put(z, &row->fingerprint, sizeof row->fingerprint);
        return;
    case GRAPH_ARCHITECTURE:
        npz_put(z, &row->architecture, sizeof row->architecture);
        return;
    case GRAPH_STATIC:
        npz_put(z, features, sizeof features);
        return;
    default:
        break;
    }
    set_graph g = decoded(e, row);
    size_t n = (size_t)g.node_count;
    switch (e->column.what) {
    case NODE_OP:
        for (size_t i = 0; i < n; i++) {
            int32_t op = operator_of(e, g.op[i]);
            npz_put(z, &op, sizeof op);
        }
        break;
    case NODE_RANK:
        npz_put(z, g.rank, n * sizeof *g.rank);
        break;
    case NODE_DIMS:
        npz_put(z, g.dims, n * sizeof *g.dims);
        break;
    case NODE_ATTRIBUTES:
        npz_put(z, g.attributes, n * sizeof *g.attributes);
        break;
    case NODE_MACS:
        npz_put(z, g.macs, n * sizeof *g.macs);
        break;
    case NODE_PARAMS:
        npz_put(z, g.params, n * sizeof *g.params);
        break;
    case NODE_FLOPS:
        npz_put(z, g.flops, n * sizeof *g.flops);
        break;
    default: /* EDGE_FROM or EDGE_TO. */
        for (int32_t i = 0; i < g.edge_count; i++)
            put_whole(e, g.edges[i][e->column.what == EDGE_TO]);
        break;
    }
}

static void put_label_column(exporting *e, const set_label *l)
{
    const double numbers[LABEL_NUMBERS] = {
        l->latency_ms.value, l->latency_ms.low,   l->latency_ms.high, l->energy_j.value,  l->energy_j.low,
        l->energy_j.high,    l->memory_mib.value, l->memory_mib.low,  l->memory_mib.high, l->utilization};
    if (e->column.what == LABEL_GRAPH)
        put_whole(e, e->graphs - 1);
    else
        npz_put(&e->npz, numbers, sizeof numbers);
}

static void take_column(exporting *e, const set_graph_row *g, const set_label *l)
{
    char room[256];
    bool is_label = e->column.what >= LABEL_GRAPH;
    if (g)
        e->graphs++;
    if (is_label != (l != NULL))
        return;
    const char *s = text_of(e->column.what, g, l, room);
    if (s)
        put_text(e, s);
    else if (g)
        put_graph_column(e, g);
    else
        put_label_column(e, l);
    if (e->npz.failed)
        fail_with(&e->fail, SOOTH_ERROR_SYSTEM, "cannot be written");
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static void (*const TAKES[])(exporting *, const set_graph_row *, const set_label *) = {
    [DATASET_CSV] = take_csv, [DATASET_JSONL] = take_line, [DATASET_NPZ] = take_column, [DATASET_NPZ + 1] = take_sizes};

typedef struct walking {
    exporting *e;
    int take;
} walking;

static bool walk_graph(void *context, int64_t id, const set_graph_row *g)
{
    const walking *w = context;
    (void)id;
    return guarded(w->e, TAKES[w->take], g, NULL);
}

static bool walk_label(void *context, int64_t id, const set_label *l)
{
    const walking *w = context;
    (void)id;
    return guarded(w->e, TAKES[w->take], NULL, l);
}

static int walk(exporting *e, int take, bool with_labels)
{
    walking w = {e, take};
    int code = dataset_file_walk(e->file, &(dataset_walk){walk_graph, with_labels ? walk_label : NULL, &w});
    if (code == SOOTH_OK && e->failed)
        code = e->out.error ? (int)SOOTH_ERROR_SYSTEM : cli_fail(e->error.code, e->path, "%s", e->error.message);
    return code;
}

static int write_column(exporting *e, int what, const char *name, const char *type, size_t size, int64_t rows,
                        uint64_t columns)
{
    char text_type[32];
    if (!type) { /* a text needs at least one byte in NumPy */
        size = size ? size : 1;
        snprintf(text_type, sizeof text_type, "|S%zu", size);
        type = text_type;
    }
    e->column = (struct export_column){name, type, size, columns, what};
    e->graphs = e->nodes = e->edges = 0;
    bool is_pointer = what == NODE_PTR || what == EDGE_PTR;
    npz_begin(&e->npz, name, type, size, (uint64_t)(rows + is_pointer), columns);
    if (is_pointer)
        put_whole(e, 0);
    int code = walk(e, DATASET_NPZ, what >= LABEL_GRAPH);
    npz_end(&e->npz);
    return code;
}

static void write_operators(exporting *e)
{
    size_t longest = 1;
    char type[32], room[256];
    for (int32_t i = 0; i < e->operators.count; i++)
        longest = strlen(e->operators.items[i].name) > longest ? strlen(e->operators.items[i].name) : longest;
    longest = longest < sizeof room ? longest : sizeof room;
    snprintf(type, sizeof type, "|S%zu", longest);
    npz_begin(&e->npz, "operators", type, longest, (uint64_t)e->operators.count, 0);
    for (int32_t i = 0; i < e->operators.count; i++) {
        memset(room, 0, sizeof room);
        size_t length = strlen(e->operators.items[i].name);
        memcpy(room, e->operators.items[i].name, length < longest ? length : longest);
        npz_put(&e->npz, room, longest);
    }
    npz_end(&e->npz);
}

/* edge_index is (2, E), as PyTorch Geometric has it: all beginnings, then all ends. */
static int write_edges(exporting *e, int64_t edges)
{
    e->column = (struct export_column){.what = EDGE_FROM};
    npz_begin(&e->npz, "edge_index", "<i8", sizeof(int64_t), 2, (uint64_t)edges);
    int code = walk(e, DATASET_NPZ, false);
    e->column.what = EDGE_TO;
    if (code == SOOTH_OK)
        code = walk(e, DATASET_NPZ, false);
    npz_end(&e->npz);
    return code;
}

static int write_npz(exporting *e)
{
    const uint16_t one = 1;
    if (!*(const uint8_t *)&one)
        return cli_fail(SOOTH_ERROR_UNSUPPORTED, "dataset",
                        "npz is written on little-endian machines only: export csv or jsonl");
    int code = walk(e, DATASET_NPZ + 1, true);
    if (code != SOOTH_OK)
        return code;
    int64_t g = e->graphs, n = e->nodes, edges = e->edges, l = e->labels;
    const struct {
        int what;
        const char *name, *type;
        size_t size;
        int64_t rows;
        uint64_t columns;
    } arrays[] = {
        {NODE_PTR, "node_ptr", "<i8", 8, g, 0},
        {EDGE_PTR, "edge_ptr", "<i8", 8, g, 0},
        {NODE_OP, "node_op", "<i4", 4, n, 0},
        {NODE_RANK, "node_rank", "<i4", 4, n, 0},
        {NODE_DIMS, "node_dims", "<i4", 4, n, SET_DIMS},
        {NODE_ATTRIBUTES, "node_attributes", "<i4", 4, n, SET_ATTRIBUTES},
        {NODE_MACS, "node_macs", "<i8", 8, n, 0},
        {NODE_PARAMS, "node_params", "<i8", 8, n, 0},
        {NODE_FLOPS, "node_flops", "<i8", 8, n, 0},
        {GRAPH_NAME, "graph_name", NULL, e->longest[0], g, 0},
        {GRAPH_FAMILY, "graph_family", NULL, e->longest[1], g, 0},
        {GRAPH_FINGERPRINT, "graph_fingerprint", "<u8", 8, g, 0},
        {GRAPH_ARCHITECTURE, "graph_architecture", "<u8", 8, g, 0},
        {GRAPH_STATIC, "graph_static", "<i8", 8, g, STATIC_FEATURES},
        {LABEL_GRAPH, "label_graph", "<i8", 8, l, 0},
        {LABEL_VALUES, "label_values", "<f8", 8, l, LABEL_NUMBERS},
        {LABEL_GPU, "label_gpu", NULL, e->longest[2], l, 0},
        {LABEL_SETTING, "label_setting", NULL, e->longest[3], l, 0},
        {LABEL_KIND, "label_kind", NULL, e->longest[4], l, 0},
    };
    e->npz.out = &e->out;
    write_operators(e);
    code = write_edges(e, edges);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && code == SOOTH_OK; i++)
        code = write_column(e, arrays[i].what, arrays[i].name, arrays[i].type, arrays[i].size, arrays[i].rows,
                            arrays[i].columns);
    npz_finish(&e->npz);
    return code;
}

static int write_text(exporting *e, int format)
{
    if (setjmp(e->fail.jump))
        return cli_fail(e->error.code, e->path, "%s", e->error.message);
    if (format == DATASET_CSV)
        begin_csv(e);
    int code = walk(e, format, true);
    if (code != SOOTH_OK)
        return code;
    if (setjmp(e->fail.jump))
        return cli_fail(e->error.code, e->path, "%s", e->error.message);
    if (format == DATASET_JSONL)
        end_line(e);
    cli_put(&e->out, e->text.bytes, e->text.size);
    return SOOTH_OK;
}

static void take_operator(void *context, const set_operator *o)
{
    exporting *e = context;
    if (setjmp(e->fail.jump)) {
        e->failed = true;
        return;
    }
    *(set_operator *)ARENA_PUSH(&e->arena, &e->operators) =
        (set_operator){o->code, arena_str(&e->arena, str_of(o->name)).ptr, ""};
}

int dataset_export(const dataset_args *args, const char *path)
{
    if (args->format != DATASET_CSV && args->format != DATASET_JSONL && args->format != DATASET_NPZ)
        return cli_usage("dataset", "an export needs -f csv, jsonl or npz");
    if (args->format == DATASET_NPZ && !args->output && isatty(STDOUT_FILENO))
        return cli_usage("dataset", "npz is binary: name a file with -o");
    exporting e = {.path = path, .fail = {.error = &e.error}, .out = {.path = args->output}};
    arena_init(&e.arena, &e.fail, ARENA_GIB(1));
    arena_init(&e.scratch, &e.fail, ARENA_GIB(4));
    e.text.fail = &e.fail;
    int code = dataset_file_read(&e.file, path);
    if (code == SOOTH_OK)
        code = dataset_file_operators(e.file, take_operator, &e);
    if (code == SOOTH_OK)
        code = args->format == DATASET_NPZ ? write_npz(&e) : write_text(&e, args->format);
    int ended = cli_end(&e.out, code == SOOTH_OK);
    dataset_file_close(e.file);
    free(e.text.bytes);
    arena_free(&e.scratch);
    arena_free(&e.arena);
    return ended != SOOTH_OK ? ended : code;
}
