#include "cli/learn_tables.h"

#include <stdlib.h>

static measured_rows *read_operand(const char *operand, const device_list *gpus, arena *a, fail *f)
{
    rows_options options = {0};
    char path[4096];
    const char *at = strrchr(operand, '@');
    char *end;
    double share = at ? strtod(at + 1, &end) : 0;
    bool has_share = at && at[1] && *end == '\0' && share > 0 && share <= 1;
    size_t length = has_share ? (size_t)(at - operand) : strlen(operand);
    if (length >= sizeof path)
        fail_with(f, SOOTH_ERROR_USAGE, "the path is too long");
    memcpy(path, operand, length);
    path[length] = '\0';
    options.keep = has_share ? share : 0;
    return rows_read(path, gpus, &options, a, f);
}

measured_rows **table_operands(char **operands, int count, const device_list *gpus, const char **subject, arena *a,
                               fail *f)
{
    measured_rows **tables = ARENA_ARRAY(a, measured_rows *, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        *subject = operands[i];
        tables[i] = read_operand(operands[i], gpus, a, f);
    }
    *subject = "learn";
    return tables;
}

int side_table_close(side_table *t, int code)
{
    if (t->path && code == SOOTH_OK)
        code = cli_write(t->path, t->text.bytes, t->text.size);
    free(t->text.bytes);
    *t = (side_table){.path = NULL};
    return code;
}

void table_put_csv(text *t, str s)
{
    text_puts(t, "\"");
    for (size_t i = 0; i < s.len; i++)
        text_add(t, s.ptr[i] == '"' ? "\"\"" : s.ptr + i, s.ptr[i] == '"' ? 2 : 1);
    text_puts(t, "\",");
}
