/* nas_tables.h: tables of architectures with their accuracy, measured latency, or a metric for pruning. */
#ifndef SOOTH_CLI_NAS_TABLES_H
#define SOOTH_CLI_NAS_TABLES_H

#include "base/arena.h"
#include "base/file.h"

typedef struct nas_entry {
    str architecture; /* `ptr` is NULL for a free slot */
    double value;
} nas_entry;

/* Hash table from architectures to one column. Read-only after it is made, so threads may share it. */
typedef struct nas_column_table {
    nas_entry *entries;
    size_t size; /* a power of two; 0 without a table */
    size_t count;
} nas_column_table;

/* Reads FILE.csv or FILE.csv:COLUMN. The architecture is in the first of the columns `architecture`, `arch_str`,
 * `arch`, `name` and `graph` that the table has. The value is in COLUMN; without COLUMN, in the column `otherwise`.
 * `map` keeps the file until the caller closes it. */
void nas_table_read(nas_column_table *t, const char *argument, const char *otherwise, file_map *map, arena *a, fail *f);
bool nas_table_find(const nas_column_table *t, str architecture, double *value);

#endif
