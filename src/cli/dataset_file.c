#include "cli/dataset_file.h"
#include "cli/cli.h"

#ifdef SOOTH_SQLITE
#include "cli/database.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { APPLICATION = 0x534F4F44, VERSION = 1, ITEMS_AT_ONCE = 256 };

static const char SCHEMA[] =
    "PRAGMA application_id = 0x534F4F44; PRAGMA user_version = 1;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE operators(code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL);"
    "CREATE TABLE graphs(id INTEGER PRIMARY KEY, name TEXT NOT NULL, family TEXT NOT NULL, spec TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL, architecture TEXT NOT NULL, batch INTEGER NOT NULL, nodes INTEGER NOT NULL,"
    " edges INTEGER NOT NULL, params INTEGER, macs INTEGER, flops INTEGER, conv_count INTEGER NOT NULL,"
    " dense_count INTEGER NOT NULL, relu_count INTEGER NOT NULL, graph BLOB NOT NULL);"
    "CREATE TABLE settings(id INTEGER PRIMARY KEY, gpu TEXT NOT NULL, mig TEXT NOT NULL, precision TEXT NOT NULL,"
    " layout TEXT NOT NULL, runtime TEXT NOT NULL, mode TEXT NOT NULL, optimizer TEXT NOT NULL, stack TEXT NOT NULL,"
    " UNIQUE(gpu, mig, precision, layout, runtime, mode, optimizer, stack));"
    "CREATE TABLE labels(id INTEGER PRIMARY KEY, graph INTEGER NOT NULL REFERENCES graphs(id),"
    " setting INTEGER NOT NULL REFERENCES settings(id), kind TEXT NOT NULL CHECK(kind IN ('predicted', 'measured')),"
    " latency_ms REAL, latency_ms_low REAL, latency_ms_high REAL, energy_j REAL, energy_j_low REAL, energy_j_high REAL,"
    " memory_mib REAL, memory_mib_low REAL, memory_mib_high REAL, utilization REAL, mig_profile TEXT, source TEXT);"
    "CREATE INDEX labels_of_graph ON labels(graph);";

typedef enum statement {
    ADD_GRAPH,
    ADD_OPERATOR,
    ADD_SETTING,
    FIND_SETTING,
    ADD_LABEL,
    SET_FACT,
    GET_FACT,
    ALL_GRAPHS,
    LABELS_OF,
    ALL_OPERATORS,
    ORPHANS,
    STATEMENTS
} statement;

static const char *const SQL[STATEMENTS] = {
    [ADD_GRAPH] = "INSERT INTO graphs VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ADD_OPERATOR] = "INSERT OR IGNORE INTO operators VALUES(?, ?, ?)",
    [ADD_SETTING] = "INSERT OR IGNORE INTO settings VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
    [FIND_SETTING] =
        "SELECT id FROM settings WHERE gpu = ? AND mig = ? AND precision = ? AND layout = ? AND runtime = ? "
        "AND mode = ? AND optimizer = ? AND stack = ?",
    [ADD_LABEL] = "INSERT INTO labels VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SET_FACT] = "INSERT OR REPLACE INTO meta VALUES(?, ?)",
    [GET_FACT] = "SELECT value FROM meta WHERE key = ?",
    [ALL_GRAPHS] =
        "SELECT id, name, family, spec, fingerprint, architecture, batch, nodes, edges, params, macs, flops, "
        "conv_count, dense_count, relu_count, graph FROM graphs ORDER BY id",
    [LABELS_OF] =
        "SELECT gpu, mig, precision, layout, runtime, mode, optimizer, stack, kind, latency_ms, latency_ms_low, "
        "latency_ms_high, energy_j, energy_j_low, energy_j_high, memory_mib, memory_mib_low, memory_mib_high, "
        "utilization, mig_profile, source FROM labels JOIN settings ON settings.id = labels.setting "
        "WHERE labels.graph = ? ORDER BY labels.id",
    [ALL_OPERATORS] = "SELECT code, name, kind FROM operators ORDER BY name",
    [ORPHANS] = "SELECT count(*) FROM labels WHERE graph NOT IN (SELECT id FROM graphs) OR "
                "setting NOT IN (SELECT id FROM settings)",
};

struct dataset_file {
    sqlite3 *base;
    const char *path;
    sqlite3_stmt *statements[STATEMENTS];
    size_t pending; /* number of items in the open transaction */
    char *kept;     /* text returned by the last call */
    int64_t skipped;
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int fail_file(dataset_file *f)
{
    return database_fail(f->base, f->path, "data set");
}

/* Returns the statement, ready to bind; NULL if it cannot be prepared. */
static sqlite3_stmt *prepared(dataset_file *f, statement which)
{
    sqlite3_stmt **s = &f->statements[which];
    if (!*s)
        sqlite3_prepare_v2(f->base, SQL[which], -1, s, NULL);
    else
        sqlite3_reset(*s);
    return *s;
}

/* Columns of a damaged file can be NULL although the schema forbids it. */
static const char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int check_kind(dataset_file *f)
{
    int64_t application, version;
    if (!database_number(f->base, "PRAGMA application_id", &application) ||
        !database_number(f->base, "PRAGMA user_version", &version))
        return fail_file(f);
    if (application != APPLICATION)
        return cli_fail(SOOTH_ERROR_INPUT, f->path, "is no data set of `sooth dataset`");
    if (version != VERSION)
        return cli_fail(SOOTH_ERROR_UNSUPPORTED, f->path,
                        "is a data set of version %" PRId64 "; this program reads version %d: make it again", version,
                        VERSION);
    return SOOTH_OK;
}

static int open_base(dataset_file **file, const char *path, int flags)
{
    dataset_file *f = *file = calloc(1, sizeof *f);
    if (!f)
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "out of memory");
    f->path = path;
    if (!database_open(&f->base, path, flags, 2000))
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "cannot be opened: %s", sqlite3_errmsg(f->base));
    return SOOTH_OK;
}

int dataset_file_read(dataset_file **file, const char *path)
{
    *file = NULL;
    if (access(path, R_OK) != 0)
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "cannot be opened: no such file, or no right to read it");
    int code = open_base(file, path, SQLITE_OPEN_READONLY);
    return code == SOOTH_OK ? check_kind(*file) : code;
}

const char *dataset_file_fact(dataset_file *f, const char *key)
{
    sqlite3_stmt *s = prepared(f, GET_FACT);
    free(f->kept);
    f->kept = NULL;
    if (!s)
        return NULL;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(s) == SQLITE_ROW)
        f->kept = strdup(text_at(s, 0));
    sqlite3_reset(s);
    return f->kept;
}

static bool set_fact(dataset_file *f, const char *key, const char *value)
{
    sqlite3_stmt *s = prepared(f, SET_FACT);
    if (!s)
        return false;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, value, -1, SQLITE_TRANSIENT);
    return database_done(s);
}

static bool set_number(dataset_file *f, const char *key, int64_t x)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, x);
    return set_fact(f, key, number);
}

static bool begin_new(dataset_file *f, const dataset_begun *b)
{
    char identity[20];
    snprintf(identity, sizeof identity, "%016" PRIx64, b->identity);
    return database_run(f->base, SCHEMA) && set_fact(f, "version", sooth_version()) &&
           set_fact(f, "weights", b->weights) && set_fact(f, "identity", identity) &&
           set_fact(f, "plan", b->plan ? b->plan : "") && set_number(f, "graphs", b->graph_count) &&
           set_fact(f, "complete", "0") && set_fact(f, "items", "0") && set_fact(f, "skipped", "0");
}

static int64_t number_fact(dataset_file *f, const char *key)
{
    const char *text = dataset_file_fact(f, key);
    int64_t number = text ? strtoll(text, NULL, 10) : 0;
    return number > 0 ? number : 0;
}

static int go_on(dataset_file *f, dataset_begun *b)
{
    int code = check_kind(f);
    if (code != SOOTH_OK)
        return code;
    const char *identity = dataset_file_fact(f, "identity");
    if (!identity)
        return fail_file(f);
    if (strtoull(identity, NULL, 16) != b->identity)
        return cli_fail(
            SOOTH_ERROR_USAGE, f->path,
            "was begun for another set (another plan, networks, rows, GPUs, settings or version): name another file "
            "with -o, or remove it");
    b->next_item = (size_t)number_fact(f, "items");
    b->skipped = f->skipped = number_fact(f, "skipped");
    return SOOTH_OK;
}

int dataset_file_write(dataset_file **file, const char *path, dataset_begun *b)
{
    int64_t tables;
    int code = open_base(file, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (code != SOOTH_OK)
        return code;
    dataset_file *f = *file;
    if (!database_number(f->base, "SELECT count(*) FROM sqlite_master", &tables))
        return fail_file(f);
    if (tables)
        return go_on(f, b);
    return database_run(f->base, "BEGIN") && begin_new(f, b) && database_run(f->base, "COMMIT") ? SOOTH_OK
                                                                                                : fail_file(f);
}

void dataset_file_close(dataset_file *f)
{
    if (!f)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    sqlite3_close(f->base);
    free(f->kept);
    free(f);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_text_or_null(sqlite3_stmt *s, int at, const char *text)
{
    if (*text)
        bind_text(s, at, text);
    else
        sqlite3_bind_null(s, at);
}

static void bind_real(sqlite3_stmt *s, int at, double x)
{
    if (isfinite(x))
        sqlite3_bind_double(s, at, x);
    else
        sqlite3_bind_null(s, at);
}

static void bind_hash(sqlite3_stmt *s, int at, uint64_t hash)
{
    char digits[20];
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    bind_text(s, at, digits);
}

static bool add_graph(dataset_file *f, const set_graph_row *g)
{
    sqlite3_stmt *s = prepared(f, ADD_GRAPH);
    if (!s)
        return false;
    bind_text(s, 1, g->name);
    bind_text(s, 2, g->family);
    bind_text(s, 3, g->spec);
    bind_hash(s, 4, g->fingerprint);
    bind_hash(s, 5, g->architecture);
    const set_figures *x = &g->figures;
    const int64_t numbers[] = {x->batch, g->node_count, g->edge_count,  x->params,    x->macs,
                               x->flops, x->conv_count, x->dense_count, x->relu_count};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    for (int i = 0; i < NUMBERS; i++)
        sqlite3_bind_int64(s, 6 + i, numbers[i]);
    sqlite3_bind_blob64(s, 6 + NUMBERS, g->graph.ptr, g->graph.len, SQLITE_STATIC);
    return database_done(s);
}

static bool add_operator(dataset_file *f, const set_operator *o)
{
    sqlite3_stmt *s = prepared(f, ADD_OPERATOR);
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, o->code);
    bind_text(s, 2, o->name);
    bind_text(s, 3, o->kind);
    return database_done(s);
}

static void bind_setting(sqlite3_stmt *s, const set_setting *x)
{
    const char *const texts[] = {x->gpu, x->mig, x->precision, x->layout, x->runtime, x->mode, x->optimizer, x->stack};
    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++)
        bind_text(s, 1 + i, texts[i]);
}

static bool setting_id(dataset_file *f, const set_setting *x, int64_t *id)
{
    for (int tries = 0; tries < 2; tries++) {
        sqlite3_stmt *find = prepared(f, FIND_SETTING);
        if (!find)
            return false;
        bind_setting(find, x);
        bool is_there = sqlite3_step(find) == SQLITE_ROW;
        *id = is_there ? sqlite3_column_int64(find, 0) : 0;
        sqlite3_reset(find);
        if (is_there)
            return true;
        sqlite3_stmt *add = prepared(f, ADD_SETTING);
        if (!add)
            return false;
        bind_setting(add, x);
        if (!database_done(add))
            return false;
    }
    return false;
}

static bool add_label(dataset_file *f, int64_t graph, const set_label *l)
{
    int64_t setting;
    sqlite3_stmt *s = setting_id(f, &l->setting, &setting) ? prepared(f, ADD_LABEL) : NULL;
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, graph);
    sqlite3_bind_int64(s, 2, setting);
    bind_text(s, 3, l->is_measured ? "measured" : "predicted");
    const sooth_interval intervals[] = {l->latency_ms, l->energy_j, l->memory_mib};
    for (int i = 0; i < 3; i++) {
        bind_real(s, 4 + 3 * i, intervals[i].value);
        bind_real(s, 5 + 3 * i, intervals[i].low);
        bind_real(s, 6 + 3 * i, intervals[i].high);
    }
    bind_real(s, 13, l->utilization);
    bind_text_or_null(s, 14, l->mig_profile);
    bind_text_or_null(s, 15, l->source);
    return database_done(s);
}

/* Adds the graphs of an item and their labels. A label that cannot be predicted is omitted and sets *why. */
static bool add_graphs(dataset_file *f, str *at, int64_t count, const char **why)
{
    for (int64_t i = 0; i < count; i++) {
        set_graph_row g = set_take_graph(at);
        if (!at->ptr || !add_graph(f, &g))
            return false;
        int64_t id = sqlite3_last_insert_rowid(f->base);
        for (int64_t k = 0; k < g.operator_count; k++) {
            set_operator o = set_take_operator(at);
            if (!add_operator(f, &o))
                return false;
        }
        for (int64_t k = 0; k < g.label_count; k++) {
            set_label l = set_take_label(at);
            if (*l.error)
                *why = l.error;
            else if (!add_label(f, id, &l))
                return false;
        }
    }
    return true;
}

static int commit(dataset_file *f)
{
    f->pending = 0;
    return database_run(f->base, "COMMIT") ? SOOTH_OK : fail_file(f);
}

int dataset_file_add(dataset_file *f, size_t item, str result, const char **why)
{
    sooth_status status;
    int64_t count;
    *why = set_take_error(&result, &status, &count);
    if (status == SOOTH_ERROR_SYSTEM)
        return cli_fail(status, "dataset", "%s", *why);
    if (!f->pending && !database_run(f->base, "BEGIN"))
        return fail_file(f);
    bool is_good = add_graphs(f, &result, count, why);
    if (!**why)
        *why = set_take_missing(&result);
    f->skipped += **why != '\0';
    if (!is_good || !set_number(f, "items", (int64_t)item + 1) || !set_number(f, "skipped", f->skipped))
        return fail_file(f);
    return ++f->pending >= ITEMS_AT_ONCE ? commit(f) : SOOTH_OK;
}

int64_t dataset_file_graphs(dataset_file *f)
{
    int64_t count;
    return database_number(f->base, "SELECT count(*) FROM graphs", &count) ? count : 0;
}

int dataset_file_end(dataset_file *f, bool is_complete)
{
    if (is_complete && ((!f->pending && !database_run(f->base, "BEGIN")) || !set_fact(f, "complete", "1")))
        return fail_file(f);
    return is_complete || f->pending ? commit(f) : SOOTH_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static double real_at(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static sooth_interval interval_at(sqlite3_stmt *s, int column)
{
    return (sooth_interval){real_at(s, column), real_at(s, column + 1), real_at(s, column + 2)};
}

static set_graph_row graph_at(sqlite3_stmt *s)
{
    return (set_graph_row){
        .name = text_at(s, 1),
        .family = text_at(s, 2),
        .spec = text_at(s, 3),
        .fingerprint = strtoull(text_at(s, 4), NULL, 16),
        .architecture = strtoull(text_at(s, 5), NULL, 16),
        .figures = {sqlite3_column_int64(s, 6), sqlite3_column_int64(s, 9), sqlite3_column_int64(s, 10),
                    sqlite3_column_int64(s, 11), sqlite3_column_int(s, 12), sqlite3_column_int(s, 13),
                    sqlite3_column_int(s, 14)},
        .node_count = sqlite3_column_int64(s, 7),
        .edge_count = sqlite3_column_int64(s, 8),
        .graph = {sqlite3_column_blob(s, 15), (size_t)sqlite3_column_bytes(s, 15)},
    };
}

static set_label label_at(sqlite3_stmt *s)
{
    return (set_label){
        .setting = {text_at(s, 0), text_at(s, 1), text_at(s, 2), text_at(s, 3), text_at(s, 4), text_at(s, 5),
                    text_at(s, 6), text_at(s, 7)},
        .is_measured = strcmp(text_at(s, 8), "measured") == 0,
        .latency_ms = interval_at(s, 9),
        .energy_j = interval_at(s, 12),
        .memory_mib = interval_at(s, 15),
        .utilization = real_at(s, 18),
        .mig_profile = text_at(s, 19),
        .source = text_at(s, 20),
        .error = "",
    };
}

/* Returns 1 to continue, 0 if the caller ended the walk, -1 on an error of SQLite. */
static int walk_labels(dataset_file *f, int64_t id, const dataset_walk *walk)
{
    sqlite3_stmt *s = prepared(f, LABELS_OF);
    int code = SQLITE_ERROR;
    if (!s)
        return -1;
    sqlite3_bind_int64(s, 1, id);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        set_label l = label_at(s);
        if (!walk->take_label(walk->context, id, &l))
            return 0;
    }
    return code == SQLITE_DONE ? 1 : -1;
}

int dataset_file_walk(dataset_file *f, const dataset_walk *walk)
{
    sqlite3_stmt *s = prepared(f, ALL_GRAPHS);
    int code = SQLITE_ERROR, goes_on = 1;
    while (s && goes_on > 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
        set_graph_row g = graph_at(s);
        int64_t id = sqlite3_column_int64(s, 0);
        if (walk->take_graph && !walk->take_graph(walk->context, id, &g))
            goes_on = 0;
        if (goes_on > 0 && walk->take_label)
            goes_on = walk_labels(f, id, walk);
    }
    bool good = s && goes_on >= 0 && (code == SQLITE_DONE || !goes_on);
    int result = good ? SOOTH_OK : fail_file(f);
    if (s)
        sqlite3_reset(s);
    return result;
}

int dataset_file_operators(dataset_file *f, void (*take)(void *context, const set_operator *o), void *context)
{
    sqlite3_stmt *s = prepared(f, ALL_OPERATORS);
    int code = SQLITE_ERROR;
    while (s && (code = sqlite3_step(s)) == SQLITE_ROW) {
        set_operator o = {sqlite3_column_int(s, 0), text_at(s, 1), text_at(s, 2)};
        take(context, &o);
    }
    return code == SQLITE_DONE ? SOOTH_OK : fail_file(f);
}

int dataset_file_verify(dataset_file *f, const char **what)
{
    sqlite3_stmt *s;
    *what = "";
    if (sqlite3_prepare_v2(f->base, "PRAGMA integrity_check(1)", -1, &s, NULL) != SQLITE_OK)
        return fail_file(f);
    bool has_row = sqlite3_step(s) == SQLITE_ROW;
    free(f->kept);
    f->kept = has_row ? strdup(text_at(s, 0)) : NULL;
    sqlite3_finalize(s);
    if (!f->kept)
        return fail_file(f);
    if (strcmp(f->kept, "ok") != 0) {
        *what = f->kept;
        return SOOTH_OK;
    }
    sqlite3_stmt *orphans = prepared(f, ORPHANS);
    if (!orphans || sqlite3_step(orphans) != SQLITE_ROW)
        return fail_file(f);
    if (sqlite3_column_int64(orphans, 0))
        *what = "there are labels without a graph or without a setting";
    sqlite3_reset(orphans);
    return SOOTH_OK;
}

#else

static int no_sqlite(void)
{
    return cli_fail(
        SOOTH_ERROR_UNSUPPORTED, "dataset",
        "this program was built without SQLite, which holds data sets: install libsqlite3-dev and build again");
}

int dataset_file_read(dataset_file **file, const char *path)
{
    (void)path;
    *file = NULL;
    return no_sqlite();
}

int dataset_file_write(dataset_file **file, const char *path, dataset_begun *begun)
{
    (void)path;
    (void)begun;
    *file = NULL;
    return no_sqlite();
}

void dataset_file_close(dataset_file *file)
{
    (void)file;
}

int dataset_file_add(dataset_file *file, size_t item, str result, const char **why)
{
    (void)file;
    (void)item;
    (void)result;
    *why = "";
    return no_sqlite();
}

int dataset_file_end(dataset_file *file, bool is_complete)
{
    (void)file;
    (void)is_complete;
    return no_sqlite();
}

int64_t dataset_file_graphs(dataset_file *file)
{
    (void)file;
    return 0;
}

const char *dataset_file_fact(dataset_file *file, const char *key)
{
    (void)file;
    (void)key;
    return NULL;
}

int dataset_file_walk(dataset_file *file, const dataset_walk *walk)
{
    (void)file;
    (void)walk;
    return no_sqlite();
}

int dataset_file_operators(dataset_file *file, void (*take)(void *context, const set_operator *o), void *context)
{
    (void)file;
    (void)take;
    (void)context;
    return no_sqlite();
}

int dataset_file_verify(dataset_file *file, const char **what)
{
    (void)file;
    *what = "";
    return no_sqlite();
}

#endif
