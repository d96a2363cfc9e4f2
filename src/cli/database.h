/* database.h: shared by the commands that keep results in SQLite files. */
#ifndef SOOTH_CLI_DATABASE_H
#define SOOTH_CLI_DATABASE_H

#include "sooth.h"

#include <sqlite3.h>

/* Prints the last error of SQLite; `kind` names the contents in "no data set". Returns the exit code. */
int database_fail(sqlite3 *base, const char *path, const char *kind);
/* Runs statements without results. */
bool database_run(sqlite3 *base, const char *sql);
/* Runs a bound statement without results, and resets it. */
bool database_done(sqlite3_stmt *s);
/* Reads the number that a query returns. */
bool database_number(sqlite3 *base, const char *sql, int64_t *x);

#endif
