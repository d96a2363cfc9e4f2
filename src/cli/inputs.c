#include "cli/inputs.h"
#include "base/csv.h"
#include "cli/options.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEPTH = 16 }; /* Limits directory levels, because a link may lead into itself. */

/* Endings of the files that a directory is searched for. A file named directly is read whatever its ending. */
static const char *const ENDINGS[] = {".onnx",   ".pt",      ".pth",       ".pt2",     ".pb",   ".pbtxt",
                                      ".tflite", ".keras",   ".h5",        ".mlmodel", ".cfg",  ".prototxt",
                                      ".param",  ".mlir",    ".stablehlo", ".hlo",     ".gguf", ".safetensors",
                                      ".json",   ".pdmodel", ".xml",       NULL};

static void add_network(inputs *in, const char *graph)
{
    sooth_survey_network *n = ARENA_PUSH(&in->arena, &in->networks);
    n->graph = arena_str(&in->arena, str_of(graph)).ptr;
}

static bool is_directory(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

static const char *joined(inputs *in, const char *folder, str name)
{
    size_t length = strlen(folder);
    bool has_slash = length && folder[length - 1] == '/';
    char *path = arena_room(&in->arena, length + name.len + 2, 1);
    memcpy(path, folder, length);
    if (!has_slash)
        path[length++] = '/';
    memcpy(path + length, name.ptr, name.len);
    path[length + name.len] = '\0';
    return path;
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

static bool is_model_name(const char *name)
{
    str s = str_of(name);
    if (str_ends(s, ".gz"))
        s.len -= strlen(".gz");
    for (size_t i = 0; ENDINGS[i]; i++)
        if (str_ends(s, ENDINGS[i]))
            return true;
    return false;
}

/* True if the directory itself is one model: a SavedModel or a CoreML package. */
static bool is_model_directory(inputs *in, const char *path)
{
    return is_file(joined(in, path, STR("saved_model.pb"))) || is_file(joined(in, path, STR("Manifest.json")));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_directory(inputs *in, const char *path, int depth)
{
    DIR *folder = opendir(path);
    if (!folder)
        fail_with(&in->fail, SOOTH_ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    struct {
        const char **items;
        int32_t count, capacity;
    } names = {0};
    const struct dirent *entry;
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            *(const char **)ARENA_PUSH(&in->arena, &names) = arena_str(&in->arena, str_of(entry->d_name)).ptr;
    closedir(folder);
    if (names.count)
        qsort(names.items, (size_t)names.count, sizeof *names.items, by_name);
    for (int32_t i = 0; i < names.count; i++) {
        const char *inside = joined(in, path, str_of(names.items[i]));
        if (is_directory(inside)) {
            if (is_model_directory(in, inside))
                add_network(in, inside);
            else if (depth < MOST_DEPTH)
                add_directory(in, inside, depth + 1);
        } else if (is_model_name(names.items[i])) {
            add_network(in, inside);
        }
    }
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Maps the table and reads its header. */
static void open_table(inputs *in, csv *t, const char *path)
{
    file_close(&in->table);
    if (access(path, R_OK) != 0)
        fail_with(&in->fail, SOOTH_ERROR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno));
    file_open(&in->table, path, &in->fail);
    file_inflate(&in->table, &in->fail);
    csv_begin(t, (str){(const char *)in->table.bytes, in->table.size}, &in->arena);
    if (!csv_next(t))
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: the table is empty: a header is needed", path);
}

static bool accuracy_of(inputs *in, const csv *t, int column, const char *path, double *accuracy)
{
    str s = csv_at(t, column);
    if (!s.len)
        return false;
    if (!csv_real(s, accuracy))
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: line %d: accuracy '%.*s' is not a number", path, (int)t->line,
                  STR_ARG(s));
    return true;
}

static void add_list(inputs *in, const char *path)
{
    csv t;
    open_table(in, &t, path);
    int graph = csv_find(&t, "graph"), name = csv_find(&t, "name"), accuracy = csv_find(&t, "accuracy");
    if (graph < 0)
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: the header has no column 'graph', which names the models", path);
    const char *slash = strrchr(path, '/');
    str folder = {path, slash ? (size_t)(slash - path) : 0};
    int32_t before = in->networks.count;
    while (csv_next(&t)) {
        str g = csv_at(&t, graph);
        if (!g.len)
            fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: line %d: the row names no graph", path, (int)t.line);
        bool is_relative = slash && g.ptr[0] != '/' && !str_starts(g, "zoo:");
        add_network(in, is_relative ? joined(in, arena_str(&in->arena, folder).ptr, g) : arena_str(&in->arena, g).ptr);
        sooth_survey_network *n = &in->networks.items[in->networks.count - 1];
        if (csv_at(&t, name).len)
            n->name = arena_str(&in->arena, csv_at(&t, name)).ptr;
        n->has_accuracy = accuracy_of(in, &t, accuracy, path, &n->accuracy);
    }
    if (in->networks.count == before)
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: the list has no rows", path);
}

/* ---- accuracies -------------------------------------------------------------------------------------------------- */

/* Returns the file's name without folders and endings: the name of a network in tables of accuracies. A resolution
 * such as "@224" is removed too, and returned separately. */
static str plain_name(const sooth_survey_network *n)
{
    str s = str_of(n->name ? n->name : n->graph);
    if (!n->name) {
        const char *slash = strrchr(s.ptr, '/');
        if (str_starts(s, "zoo:"))
            s = str_of(s.ptr + strlen("zoo:"));
        else if (slash)
            s = str_of(slash + 1);
        if (str_ends(s, ".gz"))
            s.len -= strlen(".gz");
        for (size_t i = 0; ENDINGS[i] && !str_starts(str_of(n->graph), "zoo:"); i++)
            if (str_ends(s, ENDINGS[i])) {
                s.len -= strlen(ENDINGS[i]);
                break;
            }
    }
    return s;
}

static str without_resolution(str s)
{
    const char *at = memchr(s.ptr, '@', s.len);
    return at ? (str){s.ptr, (size_t)(at - s.ptr)} : s;
}

static bool is_named(const sooth_survey_network *n, str name)
{
    str plain = plain_name(n);
    return str_eq(plain, name) || str_eq(without_resolution(plain), name) || str_is(name, n->graph);
}

static void join_accuracies(inputs *in, const char *path)
{
    csv t;
    open_table(in, &t, path);
    int name = csv_find(&t, "name"), accuracy = csv_find(&t, "accuracy");
    if (name < 0)
        name = csv_find(&t, "graph");
    if (name < 0 || accuracy < 0)
        fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: the header needs the columns 'name' (or 'graph') and 'accuracy'",
                  path);
    size_t joined_count = 0;
    while (csv_next(&t)) {
        double value;
        if (!accuracy_of(in, &t, accuracy, path, &value))
            continue;
        for (int32_t i = 0; i < in->networks.count; i++)
            if (is_named(&in->networks.items[i], csv_at(&t, name))) {
                in->networks.items[i].accuracy = value;
                in->networks.items[i].has_accuracy = true;
                joined_count++;
            }
    }
    if (!joined_count)
        fail_with(
            &in->fail, SOOTH_ERROR_INPUT,
            "%s: no row has the name of a network of the survey, such as '%.*s': the column 'name' has the file's "
            "name without folder and ending",
            path, STR_ARG(plain_name(&in->networks.items[0])));
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Lists only networks with names of their own; a family stands for many. */
static void add_zoo(inputs *in)
{
    const char *name;
    for (size_t i = 0; (name = sooth_zoo_name(i)); i++)
        if (sooth_zoo_definition(i))
            add_network(in, arena_printf(&in->arena, "zoo:%s", name).ptr);
}

static void read_operands(inputs *in, char **operands, int count, const char *accuracy)
{
    for (int i = 0; i < count; i++) {
        const char *path = operands[i];
        if (is_directory(path) && !is_model_directory(in, path)) {
            int32_t before = in->networks.count;
            add_directory(in, path, 0);
            if (in->networks.count == before)
                fail_with(&in->fail, SOOTH_ERROR_INPUT, "%s: no model files in this directory", path);
        } else if (str_ends(str_of(path), ".csv") || str_ends(str_of(path), ".csv.gz")) {
            add_list(in, path);
        } else {
            add_network(in, path);
        }
    }
    if (!count)
        add_zoo(in);
    if (accuracy)
        join_accuracies(in, accuracy);
    in->options.networks = in->networks.items;
    in->options.network_count = (size_t)in->networks.count;
}

void inputs_open(inputs *in, const char *command)
{
    *in = (inputs){.command = command, .fail = {.error = &in->error}, .table = {.descriptor = -1}};
    arena_init(&in->arena, &in->fail, ARENA_GIB(4));
}

int inputs_read_networks(inputs *in, char **operands, int count, const char *accuracy)
{
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, in->command, "%s", in->error.message);
    read_operands(in, operands, count, accuracy);
    return SOOTH_OK;
}

static size_t split(inputs *in, const char *list, const char ***parts)
{
    size_t count = 1;
    for (const char *c = list; *c; c++)
        count += *c == ',';
    *parts = ARENA_ARRAY(&in->arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(list, ",");
        (*parts)[i] = arena_str(&in->arena, (str){list, length}).ptr;
        list += length + (list[length] == ',');
    }
    return count;
}

static int read_gpus(inputs *in, sooth_gpus *gpus, const char *names)
{
    const char **parts;
    sooth_error error;
    bool is_all = strcmp(names, "all") == 0;
    size_t count = is_all ? sooth_gpus_count(gpus) : split(in, names, &parts);
    const sooth_gpu **found = ARENA_ARRAY(&in->arena, const sooth_gpu *, count);
    for (size_t i = 0; i < count; i++) {
        if (is_all)
            found[i] = sooth_gpus_at(gpus, i);
        else if (sooth_gpus_find(gpus, parts[i], &found[i], &error) != SOOTH_OK)
            return error.code == SOOTH_ERROR_USAGE ? cli_usage(in->command, "%s", error.message)
                                                   : cli_fail(error.code, in->command, "%s", error.message);
    }
    in->options.gpus = found;
    in->options.gpu_count = count;
    return SOOTH_OK;
}

int inputs_read_gpus(inputs *in, sooth_gpus *gpus, const char *names)
{
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, in->command, "%s", in->error.message);
    return read_gpus(in, gpus, names);
}

static int read_batches(inputs *in, const char *batches)
{
    const char **parts;
    size_t count = split(in, batches, &parts);
    int64_t *numbers = ARENA_ARRAY(&in->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        if (!options_number(parts[i], strlen(parts[i]), &numbers[i]) || numbers[i] < 1 || numbers[i] > INT32_MAX)
            return cli_usage(in->command,
                             "--batch takes whole numbers from 1 to %d with commas between them, not '%.60s'",
                             INT32_MAX, batches);
    in->options.batches = numbers;
    in->options.batch_count = count;
    return SOOTH_OK;
}

int inputs_read_batches(inputs *in, const char *batches)
{
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, in->command, "%s", in->error.message);
    return read_batches(in, batches);
}

int inputs_read_names(inputs *in, const char *list, const char *const **names, size_t *count)
{
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, in->command, "%s", in->error.message);
    if (list) {
        const char **parts;
        *count = split(in, list, &parts);
        *names = parts;
    }
    return SOOTH_OK;
}

void inputs_free(inputs *in)
{
    file_close(&in->table);
    arena_free(&in->arena);
}
