#include "cli/nas_evaluate.h"
#include "cli/cli.h"

#ifdef SOOTH_SQLITE
#include "cli/database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_ROOM = 4096 }; /* room for a command's output; only its last line, the result, is needed */

struct nas_evaluator {
    sqlite3 *file;
    sqlite3_stmt *find, *keep;
    const char *command, *path;
    int failure;
};

typedef struct running {
    pid_t process;
    int output;
    char text[OUTPUT_ROOM];
    size_t used;
} running;

/* ---- results that are kept --------------------------------------------------------------------------------------- */

static int fail_file(nas_evaluator *e)
{
    return e->failure = database_fail(e->file, e->path, "file of results");
}

int nas_evaluator_open(nas_evaluator **made, const char *command, const char *results)
{
    nas_evaluator *e = *made = calloc(1, sizeof *e);
    if (!e)
        return cli_fail(SOOTH_ERROR_SYSTEM, "nas", "out of memory");
    e->command = command;
    e->path = results;
    /* Another search may write to the same file. */
    if (!database_open(&e->file, results, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 10000))
        return fail_file(e);
    static const char TABLE[] = "CREATE TABLE IF NOT EXISTS results(command TEXT NOT NULL, architecture TEXT NOT NULL, "
                                "accuracy REAL NOT NULL, PRIMARY KEY(command, architecture)) WITHOUT ROWID";
    if (sqlite3_exec(e->file, TABLE, NULL, NULL, NULL) != SQLITE_OK)
        return fail_file(e);
    if (sqlite3_prepare_v2(e->file, "SELECT accuracy FROM results WHERE command = ? AND architecture = ?", -1, &e->find,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(e->file, "INSERT OR REPLACE INTO results VALUES(?, ?, ?)", -1, &e->keep, NULL) != SQLITE_OK)
        return fail_file(e);
    return SOOTH_OK;
}

static bool find_result(nas_evaluator *e, const char *architecture, double *value)
{
    sqlite3_bind_text(e->find, 1, e->command, -1, SQLITE_STATIC);
    sqlite3_bind_text(e->find, 2, architecture, -1, SQLITE_STATIC);
    bool is_there = sqlite3_step(e->find) == SQLITE_ROW;
    if (is_there)
        *value = sqlite3_column_double(e->find, 0);
    sqlite3_reset(e->find);
    return is_there;
}

static bool keep_result(nas_evaluator *e, const char *architecture, double value)
{
    sqlite3_bind_text(e->keep, 1, e->command, -1, SQLITE_STATIC);
    sqlite3_bind_text(e->keep, 2, architecture, -1, SQLITE_STATIC);
    sqlite3_bind_double(e->keep, 3, value);
    bool is_kept = sqlite3_step(e->keep) == SQLITE_DONE;
    sqlite3_reset(e->keep);
    if (!is_kept)
        fail_file(e);
    return is_kept;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool start(nas_evaluator *e, running *r, const char *architecture)
{
    int ends[2];
    *r = (running){.process = -1, .output = -1};
    if (pipe(ends) == 0) {
        r->process = fork();
        if (r->process == 0) {
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
            size_t length = strlen(e->command) + sizeof " \"$1\"";
            char *script = malloc(length);
            if (script && snprintf(script, length, "%s \"$1\"", e->command) > 0)
                execl("/bin/sh", "sh", "-c", script, "sooth", architecture, (char *)NULL);
            _exit(127);
        }
        close(ends[1]);
        r->output = ends[0];
        if (r->process > 0)
            return true;
        close(ends[0]);
    }
    e->failure = SOOTH_ERROR_SYSTEM;
    cli_fail(SOOTH_ERROR_SYSTEM, "nas", "cannot start the command: %s", strerror(errno));
    return false;
}

/* Reads the output of a command to its end and keeps only the last part. */
static int finish(running *r)
{
    char piece[1024];
    ssize_t n;
    while ((n = read(r->output, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        size_t size = (size_t)n;
        if (r->used + size >= OUTPUT_ROOM) { /* pieces are smaller than the buffer */
            size_t drop = r->used + size - (OUTPUT_ROOM - 1);
            drop = drop < r->used ? drop : r->used;
            memmove(r->text, r->text + drop, r->used - drop);
            r->used -= drop;
        }
        memcpy(r->text + r->used, piece, size);
        r->used += size;
    }
    r->text[r->used] = '\0';
    close(r->output);
    int status;
    while (waitpid(r->process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Parses the number in the last non-empty line. */
static bool number_in(char *text, double *value)
{
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    char *line = strrchr(text, '\n'), *end;
    line = line ? line + 1 : text;
    *value = strtod(line, &end);
    return end > line && *end == '\0' && isfinite(*value);
}

static bool take_result(nas_evaluator *e, running *r, const char *architecture, double *value)
{
    int status = finish(r);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && number_in(r->text, value))
        return keep_result(e, architecture, *value);
    e->failure = SOOTH_ERROR_SYSTEM;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        cli_fail(SOOTH_ERROR_SYSTEM, "nas",
                 "the command ended with %s %d for %s; results so far are kept in %s: correct "
                 "it and start again",
                 WIFEXITED(status) ? "exit code" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                 architecture, e->path);
    else
        cli_fail(SOOTH_ERROR_SYSTEM, "nas",
                 "the last line that the command prints is not a number ('%.60s') for %s; "
                 "results so far are kept in %s: correct it and start again",
                 r->text, architecture, e->path);
    return false;
}

bool nas_evaluator_run(nas_evaluator *e, const char *const *architectures, size_t count, double *values)
{
    running *all = calloc(count, sizeof *all);
    bool *is_started = calloc(count, sizeof *is_started);
    bool good = all && is_started;
    if (!good) {
        e->failure = SOOTH_ERROR_SYSTEM;
        cli_fail(SOOTH_ERROR_SYSTEM, "nas", "out of memory");
    }
    for (size_t i = 0; i < count && good; i++)
        if (!find_result(e, architectures[i], &values[i]))
            good = is_started[i] = start(e, &all[i], architectures[i]);
    for (size_t i = 0; i < count && is_started; i++) /* waits for all started commands, whatever failed before */
        if (is_started[i])
            good = take_result(e, &all[i], architectures[i], &values[i]) && good;
    free(all);
    free(is_started);
    return good;
}

int nas_evaluator_failure(const nas_evaluator *e)
{
    return e ? e->failure : 0;
}

void nas_evaluator_close(nas_evaluator *e)
{
    if (!e)
        return;
    sqlite3_finalize(e->find);
    sqlite3_finalize(e->keep);
    sqlite3_close(e->file);
    free(e);
}

#else

int nas_evaluator_open(nas_evaluator **made, const char *command, const char *results)
{
    *made = NULL;
    (void)command;
    (void)results;
    return cli_fail(SOOTH_ERROR_UNSUPPORTED, "nas",
                    "this program was built without SQLite, which keeps results of "
                    "--evaluate: install libsqlite3-dev and build again");
}

bool nas_evaluator_run(nas_evaluator *e, const char *const *architectures, size_t count, double *values)
{
    (void)e;
    (void)architectures;
    (void)count;
    (void)values;
    return false;
}

int nas_evaluator_failure(const nas_evaluator *e)
{
    (void)e;
    return 0;
}

void nas_evaluator_close(nas_evaluator *e)
{
    (void)e;
}

#endif
