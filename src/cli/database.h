/* database.h: shared by the commands that keep results in SQLite files. */
#ifndef SOOTH_CLI_DATABASE_H
#define SOOTH_CLI_DATABASE_H

#include "sooth.h"

#include <sqlite3.h>

/* Opens a file. Views, triggers and functions in its schema do nothing: tables alone hold results, and a view could
 * take forever. */
bool database_open(sqlite3 **base, const char *path, int flags, int wait_ms);
/* Prints the last error of SQLite; `kind` names the contents in "no data set". Returns the exit code. */
int database_fail(sqlite3 *base, const char *path, const char *kind);
/* Runs statements without results. */
bool database_run(sqlite3 *base, const char *sql);
/* Runs a bound statement without results, and resets it. */
bool database_done(sqlite3_stmt *s);
/* Reads the number that a query returns. */
bool database_number(sqlite3 *base, const char *sql, int64_t *x);

#endif
