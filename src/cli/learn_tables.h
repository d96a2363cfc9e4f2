/* learn_tables.h: what both kinds of `sooth learn` share: tables as operands, rows kept apart as CSV. */
#ifndef SOOTH_CLI_LEARN_TABLES_H
#define SOOTH_CLI_LEARN_TABLES_H

#include "cli/cli.h"
#include "learn/rows.h"
#include "report/text.h"

/* Reads operands, each "PATH" or "PATH@SHARE": the share of an operator table's shapes that is taken. *subject is what a failure is
 * about: the operand while it is read, "learn" then. */
measured_rows **table_operands(char **operands, int count, const device_list *gpus, const char **subject, arena *a,
                               fail *f);
/* A table that is collected while a command works, and appears when that is done. */
typedef struct side_table {
    text text;
    const char *path; /* NULL: nobody asked for it */
} side_table;
/* Frees it; writes it before if `code` says that all went well. Returns the exit code of both. */
int side_table_close(side_table *t, int code);
/* A field and a comma. Quoted always, so that names may have anything in them. */
void table_put_csv(text *t, str s);

#endif
