#include "cli/sweep_file.h"
#include "cli/cli.h"

#ifdef SOOTH_SQLITE
#include "cli/database.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { APPLICATION = 0x534F5357, VERSION = 1, POINTS_AT_ONCE = 8192, NETWORK_SQL = 64 + 3 * SPACE_MAX_CHOICES };

static const char SCHEMA[] =
    "PRAGMA application_id = 0x534F5357; PRAGMA user_version = 1;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE families(id INTEGER PRIMARY KEY, name TEXT NOT NULL, graph TEXT NOT NULL);"
    "CREATE TABLE settings(id INTEGER PRIMARY KEY, gpu TEXT NOT NULL, mig TEXT NOT NULL, precision TEXT NOT NULL,"
    " layout TEXT NOT NULL, runtime TEXT NOT NULL, mode TEXT NOT NULL, optimizer TEXT NOT NULL, stack TEXT NOT NULL);"
    "CREATE TABLE points(id INTEGER PRIMARY KEY, network INTEGER NOT NULL, setting INTEGER NOT NULL, latency_ms REAL,"
    " latency_ms_low REAL, latency_ms_high REAL, energy_j REAL, energy_j_low REAL, energy_j_high REAL, memory_mib REAL,"
    " memory_mib_low REAL, memory_mib_high REAL, throughput_per_s REAL, utilization REAL, dram_utilization REAL,"
    " occupancy REAL, error TEXT);";

typedef enum statement { ADD_NETWORK, ADD_POINT, SET_FACT, GET_FACT, GET_SPEC, STATEMENTS } statement;

struct sweep_file {
    sqlite3 *base;
    const char *path;
    char network_sql[NETWORK_SQL]; /* Its columns are the choices of the plan. */
    sqlite3_stmt *statements[STATEMENTS];
    size_t pending; /* Points in the open transaction. */
    char *first_error;
};

static const char *const SQL[STATEMENTS] = {
    [ADD_POINT] = "INSERT INTO points VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SET_FACT] = "INSERT OR REPLACE INTO meta VALUES(?, ?)",
    [GET_FACT] = "SELECT value FROM meta WHERE key = ?",
    [GET_SPEC] = "SELECT graph FROM networks WHERE id = ?",
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int fail_file(sweep_file *f)
{
    return database_fail(f->base, f->path, "sweep");
}

static sqlite3_stmt *prepared(sweep_file *f, statement which)
{
    sqlite3_stmt **s = &f->statements[which];
    if (!*s)
        sqlite3_prepare_v2(f->base, which == ADD_NETWORK ? f->network_sql : SQL[which], -1, s, NULL);
    else
        sqlite3_reset(*s);
    return *s;
}

static bool set_fact(sweep_file *f, const char *key, const char *value, int length)
{
    sqlite3_stmt *s = prepared(f, SET_FACT);
    if (!s)
        return false;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, value, length, SQLITE_TRANSIENT);
    return database_done(s);
}

static bool set_number(sweep_file *f, const char *key, uint64_t x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRIu64, x);
    return set_fact(f, key, digits, -1);
}

/* Columns of a damaged file can be NULL although the schema forbids it. */
static const char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

static uint64_t get_number(sweep_file *f, const char *key)
{
    sqlite3_stmt *s = prepared(f, GET_FACT);
    uint64_t x = 0;
    if (!s)
        return 0;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(s) == SQLITE_ROW)
        x = strtoull(text_at(s, 0), NULL, 10);
    sqlite3_reset(s);
    return x;
}

/* ---- columns of choices ------------------------------------------------------------------------------------------ */

typedef struct choices {
    str names[SPACE_MAX_CHOICES];
    int count;
} choices;

/* Lists the choices of all families, each once. `batch` and dimensions have columns of their own. */
static choices choices_of(const sweep *s)
{
    choices c = {.count = 0};
    for (size_t i = 0; i < s->family_count; i++)
        for (int32_t k = 0; k < s->families[i].space->choice_count; k++) {
            str name = s->families[i].space->choices[k].name;
            bool is_new = !str_is(name, "batch");
            for (int j = 0; j < c.count && is_new; j++)
                is_new = !str_eq(c.names[j], name);
            if (is_new && c.count < SPACE_MAX_CHOICES)
                c.names[c.count++] = name;
        }
    return c;
}

/* Returns the name that another one equals in SQL, where case does not count; NULL if there is none. */
static const str *repeated(const choices *c)
{
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < i; k++)
            if (c->names[i].len == c->names[k].len &&
                sqlite3_strnicmp(c->names[i].ptr, c->names[k].ptr, (int)c->names[i].len) == 0)
                return &c->names[i];
    return NULL;
}

static void put_columns(sqlite3_str *sql, const choices *c, const char *before)
{
    for (int i = 0; i < c->count; i++)
        sqlite3_str_appendf(sql, ", %s\"p_%.*w\"", before, (int)c->names[i].len, c->names[i].ptr);
}

/* Runs and frees the statement. */
static bool run_text(sweep_file *f, sqlite3_str *sql)
{
    char *text = sqlite3_str_finish(sql);
    bool good = text && database_run(f->base, text);
    sqlite3_free(text);
    return good;
}

static bool make_networks(sweep_file *f, const sweep *s)
{
    choices c = choices_of(s);
    sqlite3_str *table = sqlite3_str_new(f->base);
    sqlite3_str_appendall(
        table, "CREATE TABLE networks(id INTEGER PRIMARY KEY, family INTEGER NOT NULL, graph TEXT NOT NULL, batch "
               "INTEGER NOT NULL, params INTEGER, macs INTEGER, flops INTEGER, error TEXT");
    put_columns(table, &c, "");
    sqlite3_str_appendall(table, ")");
    if (!run_text(f, table))
        return false;
    sqlite3_str *view = sqlite3_str_new(f->base);
    sqlite3_str_appendall(
        view, "CREATE VIEW results AS SELECT points.id AS id, families.name AS family, networks.graph AS graph, "
              "batch, params, macs, flops, gpu, mig, precision, layout, runtime, mode, optimizer, stack, "
              "latency_ms, latency_ms_low, latency_ms_high, throughput_per_s, energy_j, energy_j_low, "
              "energy_j_high, memory_mib, memory_mib_low, memory_mib_high, utilization, dram_utilization, "
              "occupancy, points.error AS error");
    put_columns(view, &c, "networks.");
    sqlite3_str_appendall(view,
                          " FROM points JOIN networks ON networks.id = points.network JOIN families ON families.id = "
                          "networks.family JOIN settings ON settings.id = points.setting");
    return run_text(f, view);
}

static void make_network_sql(sweep_file *f, const sweep *s)
{
    choices c = choices_of(s);
    size_t used =
        (size_t)snprintf(f->network_sql, sizeof f->network_sql, "INSERT INTO networks VALUES(?, ?, ?, ?, ?, ?, ?, ?");
    for (int i = 0; i < c.count; i++)
        used += (size_t)snprintf(f->network_sql + used, sizeof f->network_sql - used, ", ?");
    snprintf(f->network_sql + used, sizeof f->network_sql - used, ")");
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool add_row(sweep_file *f, const char *sql, const char *const *texts, int count)
{
    sqlite3_stmt *s;
    bool good = sqlite3_prepare_v2(f->base, sql, -1, &s, NULL) == SQLITE_OK;
    for (int i = 0; i < count && good; i++)
        sqlite3_bind_text(s, 1 + i, texts[i], -1, SQLITE_STATIC);
    good = good && sqlite3_step(s) == SQLITE_DONE;
    sqlite3_finalize(s);
    return good;
}

static bool begin_new(sweep_file *f, const sweep *s, str plan)
{
    bool good = database_run(f->base, SCHEMA) && make_networks(f, s);
    for (size_t i = 0; i < s->family_count && good; i++) {
        const char *const texts[] = {s->families[i].name, s->families[i].graph};
        good = add_row(f, "INSERT INTO families VALUES(NULL, ?, ?)", texts, 2);
    }
    for (size_t i = 0; i < s->setting_count && good; i++) {
        const sweep_setting *x = &s->settings[i];
        const char *const texts[] = {x->gpu_name, x->mig,  x->precision, x->layout,
                                     x->runtime,  x->mode, x->optimizer, x->stack};
        good = add_row(f, "INSERT INTO settings VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)", texts, 8);
    }
    return good && set_fact(f, "version", sooth_version(), -1) && set_fact(f, "weights", s->weights, -1) &&
           set_fact(f, "plan", plan.ptr, (int)plan.len) && set_number(f, "identity", s->identity) &&
           set_number(f, "combinations", s->points) && set_number(f, "chunks", 0);
}

static int go_on(sweep_file *f, const sweep *s, size_t *next_chunk)
{
    int64_t application, version;
    if (!database_number(f->base, "PRAGMA application_id", &application) ||
        !database_number(f->base, "PRAGMA user_version", &version))
        return fail_file(f);
    if (application != APPLICATION)
        return cli_fail(SOOTH_ERROR_INPUT, f->path, "is no file of `sooth sweep`: name another one with -o");
    if (version != VERSION)
        return cli_fail(SOOTH_ERROR_UNSUPPORTED, f->path,
                        "is a sweep of version %" PRId64 "; this program writes version %d: name another file with -o",
                        version, VERSION);
    if (get_number(f, "identity") != s->identity)
        return cli_fail(
            SOOTH_ERROR_USAGE, f->path,
            "was begun for another sweep (another plan, GPUs, settings or version): name another file with -o, or "
            "remove it");
    uint64_t chunks = get_number(f, "chunks");
    if (chunks > s->chunk_count)
        return cli_fail(SOOTH_ERROR_INPUT, f->path, "is damaged: it has more parts than the sweep; remove it");
    *next_chunk = (size_t)chunks;
    return SOOTH_OK;
}

int sweep_file_open(sweep_file **file, const char *path, const sweep *s, str plan, size_t *next_chunk)
{
    int64_t tables;
    *next_chunk = 0;
    *file = NULL;
    const choices c = choices_of(s);
    const str *name = repeated(&c);
    if (name)
        return cli_usage("sweep",
                         "two choices are called '%.*s' but for their case: rename one, because columns of "
                         "the file are named after them",
                         STR_ARG(*name));
    sweep_file *f = *file = calloc(1, sizeof *f);
    if (!f)
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "out of memory");
    f->path = path;
    make_network_sql(f, s);
    if (!database_open(&f->base, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 2000))
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "cannot be opened: %s", sqlite3_errmsg(f->base));
    if (!database_number(f->base, "SELECT count(*) FROM sqlite_master", &tables))
        return fail_file(f);
    if (tables)
        return go_on(f, s, next_chunk);
    return database_run(f->base, "BEGIN") && begin_new(f, s, plan) && database_run(f->base, "COMMIT") ? SOOTH_OK
                                                                                                      : fail_file(f);
}

void sweep_file_close(sweep_file *f)
{
    if (!f)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    sqlite3_close(f->base);
    free(f->first_error);
    free(f);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void bind_real(sqlite3_stmt *s, int at, double x)
{
    if (isfinite(x))
        sqlite3_bind_double(s, at, x);
    else
        sqlite3_bind_null(s, at);
}

static void bind_error(sqlite3_stmt *s, int at, const char *error)
{
    if (*error)
        sqlite3_bind_text(s, at, error, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s, at);
}

static const char *value_of(const space *s, const genes *g, str name)
{
    for (int32_t i = 0; i < s->choice_count; i++)
        if (str_eq(s->choices[i].name, name))
            return s->choices[i].values[g->of[i]].ptr;
    return NULL;
}

static bool add_network(sweep_file *f, const sweep *sw, const sweep_family *family, uint64_t number,
                        const sweep_network *n)
{
    sooth_error error;
    fail failure = {.error = &error};
    char spec[SPACE_GRAPH_ROOM] = "";
    sqlite3_stmt *s = prepared(f, ADD_NETWORK);
    choices c = choices_of(sw);
    genes g = space_candidate(family->space, number);
    if (!s)
        return false;
    if (!setjmp(failure.jump))
        space_graph(family->space, &g, spec, &failure);
    sqlite3_bind_int64(s, 1, (int64_t)(family->first + number + 1));
    sqlite3_bind_int64(s, 2, family - sw->families + 1);
    sqlite3_bind_text(s, 3, spec, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 4, n->batch);
    sqlite3_bind_int64(s, 5, n->params);
    sqlite3_bind_int64(s, 6, n->macs);
    sqlite3_bind_int64(s, 7, n->flops);
    bind_error(s, 8, n->error);
    for (int i = 0; i < c.count; i++) {
        const char *value = value_of(family->space, &g, c.names[i]);
        char *end;
        double real = value ? strtod(value, &end) : 0;
        if (!value)
            sqlite3_bind_null(s, 9 + i);
        else if (end > value && !*end) /* Numbers are stored as numbers, so that they compare as such. */
            sqlite3_bind_double(s, 9 + i, real);
        else
            sqlite3_bind_text(s, 9 + i, value, -1, SQLITE_STATIC);
    }
    return database_done(s);
}

static bool add_point(sweep_file *f, uint64_t network, size_t setting, const sweep_point *p)
{
    sqlite3_stmt *s = prepared(f, ADD_POINT);
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, (int64_t)network);
    sqlite3_bind_int64(s, 2, (int64_t)setting);
    const double numbers[] = {p->latency_ms.value, p->latency_ms.low,   p->latency_ms.high,  p->energy_j.value,
                              p->energy_j.low,     p->energy_j.high,    p->memory_mib.value, p->memory_mib.low,
                              p->memory_mib.high,  p->throughput_per_s, p->utilization,      p->dram_utilization,
                              p->occupancy};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    for (int i = 0; i < NUMBERS; i++)
        bind_real(s, 3 + i, numbers[i]);
    bind_error(s, 3 + NUMBERS, p->error);
    return database_done(s);
}

static int commit(sweep_file *f)
{
    f->pending = 0;
    return database_run(f->base, "COMMIT") ? SOOTH_OK : fail_file(f);
}

/* True if memory ran out, which says nothing about the network. */
static bool is_passing(const char *error)
{
    return strstr(error, "out of memory") != NULL;
}

int sweep_file_add(sweep_file *f, const sweep *sw, size_t chunk, str result)
{
    uint64_t from, count;
    const sweep_family *family = sweep_chunk(sw, chunk, &from, &count);
    if (!f->pending && !database_run(f->base, "BEGIN"))
        return fail_file(f);
    f->pending++;
    for (uint64_t i = 0; i < count; i++) {
        sweep_network n = sweep_take_network(&result);
        if (is_passing(n.error))
            return cli_fail(SOOTH_ERROR_SYSTEM, "sweep", "%s", n.error);
        if (!add_network(f, sw, family, from + i, &n))
            return fail_file(f);
        for (size_t k = 0; k < sw->setting_count && !*n.error; k++) {
            sweep_point p = sweep_take_point(&result);
            if (is_passing(p.error))
                return cli_fail(SOOTH_ERROR_SYSTEM, "sweep", "%s", p.error);
            if (!add_point(f, family->first + from + i + 1, k + 1, &p))
                return fail_file(f);
        }
        f->pending += sw->setting_count;
    }
    if (!set_number(f, "chunks", chunk + 1))
        return fail_file(f);
    return f->pending >= POINTS_AT_ONCE ? commit(f) : SOOTH_OK;
}

int sweep_file_end(sweep_file *f)
{
    return f->pending ? commit(f) : SOOTH_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static double real_at(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

int sweep_file_walk(sweep_file *f, void (*take)(void *context, const sweep_found *p), void *context)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(
            f->base,
            "SELECT network, setting, batch, macs, latency_ms, throughput_per_s, energy_j, utilization FROM "
            "points CROSS JOIN networks ON networks.id = points.network",
            -1, &s, NULL) != SQLITE_OK)
        return fail_file(f);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        sweep_found p = {.network = (uint64_t)sqlite3_column_int64(s, 0) - 1,
                         .setting = (size_t)sqlite3_column_int64(s, 1) - 1,
                         .batch = sqlite3_column_int64(s, 2),
                         .macs = sqlite3_column_int64(s, 3),
                         .latency_ms = real_at(s, 4),
                         .throughput_per_s = real_at(s, 5),
                         .energy_j = real_at(s, 6),
                         .utilization = real_at(s, 7)};
        take(context, &p);
    }
    int result = code == SQLITE_DONE ? SOOTH_OK : fail_file(f);
    sqlite3_finalize(s);
    return result;
}

int sweep_file_count(sweep_file *f, int64_t *failed_networks, int64_t *failed_points, const char **first_error)
{
    sqlite3_stmt *s;
    *first_error = "";
    if (!database_number(f->base, "SELECT count(*) FROM networks WHERE error IS NOT NULL", failed_networks) ||
        !database_number(f->base, "SELECT count(*) FROM points WHERE error IS NOT NULL", failed_points) ||
        sqlite3_prepare_v2(
            f->base,
            "SELECT graph || ': ' || error FROM networks WHERE error IS NOT NULL UNION ALL SELECT gpu || ': ' || "
            "error FROM points JOIN settings ON settings.id = setting WHERE error IS NOT NULL LIMIT 1",
            -1, &s, NULL) != SQLITE_OK)
        return fail_file(f);
    if (sqlite3_step(s) == SQLITE_ROW) {
        free(f->first_error);
        f->first_error = strdup(text_at(s, 0));
        *first_error = f->first_error ? f->first_error : "";
    }
    sqlite3_finalize(s);
    return SOOTH_OK;
}

int sweep_file_spec(sweep_file *f, uint64_t network, char room[SPACE_GRAPH_ROOM])
{
    sqlite3_stmt *s = prepared(f, GET_SPEC);
    if (!s)
        return fail_file(f);
    sqlite3_bind_int64(s, 1, (int64_t)network + 1);
    bool is_there = sqlite3_step(s) == SQLITE_ROW;
    snprintf(room, SPACE_GRAPH_ROOM, "%s", is_there ? text_at(s, 0) : "?");
    sqlite3_reset(s);
    return SOOTH_OK;
}

#else

static int no_sqlite(void)
{
    return cli_fail(
        SOOTH_ERROR_UNSUPPORTED, "sweep",
        "this program was built without SQLite, which holds sweeps: install libsqlite3-dev and build again");
}

int sweep_file_open(sweep_file **file, const char *path, const sweep *s, str plan, size_t *next_chunk)
{
    (void)path;
    (void)s;
    (void)plan;
    *next_chunk = 0;
    *file = NULL;
    return no_sqlite();
}

void sweep_file_close(sweep_file *file)
{
    (void)file;
}

int sweep_file_add(sweep_file *file, const sweep *s, size_t chunk, str result)
{
    (void)file;
    (void)s;
    (void)chunk;
    (void)result;
    return no_sqlite();
}

int sweep_file_end(sweep_file *file)
{
    (void)file;
    return no_sqlite();
}

int sweep_file_walk(sweep_file *file, void (*take)(void *context, const sweep_found *p), void *context)
{
    (void)file;
    (void)take;
    (void)context;
    return no_sqlite();
}

int sweep_file_count(sweep_file *file, int64_t *failed_networks, int64_t *failed_points, const char **first_error)
{
    (void)file;
    *failed_networks = *failed_points = 0;
    *first_error = "";
    return no_sqlite();
}

int sweep_file_spec(sweep_file *file, uint64_t network, char room[SPACE_GRAPH_ROOM])
{
    (void)file;
    (void)network;
    room[0] = '\0';
    return no_sqlite();
}

#endif
