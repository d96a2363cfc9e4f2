#include "cli/nas_tables.h"
#include "base/csv.h"

#include <errno.h>
#include <unistd.h>

static const char *const NAMES[] = {"architecture", "arch_str", "arch", "name", "graph", NULL};

static size_t place_of(const nas_column_table *t, str architecture)
{
    size_t at = str_hash(architecture) & (t->size - 1);
    while (t->entries[at].architecture.ptr && !str_eq(t->entries[at].architecture, architecture))
        at = (at + 1) & (t->size - 1);
    return at;
}

bool nas_table_find(const nas_column_table *t, str architecture, double *value)
{
    if (!t->size)
        return false;
    const nas_entry *e = &t->entries[place_of(t, architecture)];
    *value = e->value;
    return e->architecture.ptr != NULL;
}

static void grow(nas_column_table *t, arena *a)
{
    nas_column_table larger = {.size = t->size ? 2 * t->size : 1024, .count = t->count};
    larger.entries = ARENA_ARRAY(a, nas_entry, larger.size);
    for (size_t i = 0; i < t->size; i++)
        if (t->entries[i].architecture.ptr)
            larger.entries[place_of(&larger, t->entries[i].architecture)] = t->entries[i];
    *t = larger;
}

/* Splits "table.csv:cifar10_test": the part after the last colon is the column, unless the whole text is an existing
 * file. */
static const char *split_argument(const char *argument, const char *otherwise, const char **column, arena *a)
{
    const char *colon = strrchr(argument, ':');
    *column = otherwise;
    if (!colon || access(argument, F_OK) == 0)
        return argument;
    *column = colon + 1;
    return arena_str(a, (str){argument, (size_t)(colon - argument)}).ptr;
}

void nas_table_read(nas_column_table *t, const char *argument, const char *otherwise, file_map *map, arena *a, fail *f)
{
    const char *column, *path = split_argument(argument, otherwise, &column, a);
    if (access(path, R_OK) != 0)
        fail_with(f, SOOTH_ERROR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno));
    file_open(map, path, f);
    file_inflate(map, f);
    csv table;
    csv_begin(&table, (str){(const char *)map->bytes, map->size}, a);
    int name = -1;
    if (!csv_next(&table))
        fail_with(f, SOOTH_ERROR_INPUT, "%s: the table is empty: a header is needed", path);
    for (size_t i = 0; NAMES[i] && name < 0; i++)
        name = csv_find(&table, NAMES[i]);
    int value = csv_find(&table, column);
    if (name < 0)
        fail_with(f, SOOTH_ERROR_INPUT, "%s: no column 'architecture' (or arch_str, arch, name, graph) to join by",
                  path);
    if (value < 0)
        fail_with(f, SOOTH_ERROR_INPUT, "%s: no column '%s'; name another one: %s:COLUMN", path, column, path);
    while (csv_next(&table)) {
        str text = csv_at(&table, value);
        double number;
        if (!text.len)
            continue;
        if (!csv_real(text, &number))
            fail_with(f, SOOTH_ERROR_INPUT, "%s: line %d: %s '%.*s' is not a number", path, (int)table.line, column,
                      STR_ARG(text));
        if (2 * (t->count + 1) > t->size)
            grow(t, a);
        nas_entry *e = &t->entries[place_of(t, csv_at(&table, name))];
        t->count += e->architecture.ptr == NULL;
        *e = (nas_entry){csv_at(&table, name), number};
        if (!e->architecture.len)
            fail_with(f, SOOTH_ERROR_INPUT, "%s: line %d: the row names no architecture", path, (int)table.line);
    }
    if (!t->count)
        fail_with(f, SOOTH_ERROR_INPUT, "%s: the column '%s' is empty", path, column);
}
