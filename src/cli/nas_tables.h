/* nas_tables.h: tables of architectures with their accuracy, measured latency, or a metric for pruning. */
#ifndef SOOTH_CLI_NAS_TABLES_H
#define SOOTH_CLI_NAS_TABLES_H

#include "base/arena.h"
#include "base/file.h"

typedef struct nas_entry {
    str architecture; /* ptr NULL: a free place */
    double value;
} nas_entry;

/* Architectures of one column by their text. Read-only once it is made, so threads may share it. */
typedef struct nas_column_table {
    nas_entry *entries;
    size_t size; /* a power of two; 0: no table */
    size_t count;
} nas_column_table;

/* Reads FILE.csv or FILE.csv:COLUMN. The architecture is in the column `architecture`, `arch_str`, `arch`, `name` or
 * `graph`, the first that the table has; the value in COLUMN, or `otherwise`. `map` holds the file until the caller closes
 * it. */
void nas_table_read(nas_column_table *t, const char *argument, const char *otherwise, file_map *map, arena *a, fail *f);
bool nas_table_find(const nas_column_table *t, str architecture, double *value);

#endif
