/* learn_tables.h: shared by both kinds of `sooth learn`: tables as operands, hold-out rows as CSV. */
#ifndef SOOTH_CLI_LEARN_TABLES_H
#define SOOTH_CLI_LEARN_TABLES_H

#include "cli/cli.h"
#include "learn/rows.h"
#include "report/text.h"

/* Reads operands, each "PATH" or "PATH@SHARE", where SHARE is the share of an operator table's shapes to use.
 * *subject is the subject of an error message: the operand while it is read, then "learn". */
measured_rows **table_operands(char **operands, int count, const device_list *gpus, const char **subject, arena *a,
                               fail *f);
/* A table that is collected during a command and written at its end. */
typedef struct side_table {
    text text;
    const char *path; /* NULL: not requested */
} side_table;
/* Writes the table if `code` is success, and frees it. Returns the first exit code other than success. */
int side_table_close(side_table *t, int code);
/* Writes a field and a comma. Always in quotes, so that names may contain any character. */
void table_put_csv(text *t, str s);

#endif
