#ifdef SOOTH_SQLITE
#include "cli/database.h"
#include "cli/cli.h"

bool database_open(sqlite3 **base, const char *path, int flags, int wait_ms)
{
    if (sqlite3_open_v2(path, base, flags, NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(*base, wait_ms);
    sqlite3_db_config(*base, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(*base, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(*base, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return true;
}

int database_fail(sqlite3 *base, const char *path, const char *kind)
{
    int code = sqlite3_errcode(base);
    if (code == SQLITE_FULL || code == SQLITE_IOERR)
        return cli_fail(SOOTH_ERROR_SYSTEM, path,
                        "cannot be written: %s; its contents are kept: free space and start again",
                        sqlite3_errmsg(base));
    if (code == SQLITE_BUSY)
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "another program writes it: wait for that and start again");
    /* SQLITE_ERROR: the tables have other columns. */
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR)
        return cli_fail(SOOTH_ERROR_INPUT, path, "is damaged, or no %s: %s", kind, sqlite3_errmsg(base));
    return cli_fail(SOOTH_ERROR_SYSTEM, path, "%s", sqlite3_errmsg(base));
}

bool database_run(sqlite3 *base, const char *sql)
{
    return sqlite3_exec(base, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool database_done(sqlite3_stmt *s)
{
    int code = sqlite3_step(s);
    sqlite3_reset(s);
    return code == SQLITE_DONE;
}

bool database_number(sqlite3 *base, const char *sql, int64_t *x)
{
    sqlite3_stmt *s;
    bool good = sqlite3_prepare_v2(base, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;
    if (good)
        *x = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return good;
}
#else
typedef int database_is_absent; /* C requires at least one declaration per file. */
#endif
