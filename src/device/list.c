/* list.c: the known GPUs (shipped ones and those in the user's directory), and lookup by name.
 *
 * The texts of data/gpus are embedded in the library (shipped.S), so that it needs no data path: in the build tree,
 * after `make install`, linked statically, or as a copied binary. The same reader parses a user's files. */
#include "base/nearest.h"
#include "device/mig.h"

#include <dirent.h>
#include <math.h>

#include <errno.h>
#include <stdlib.h>

/* All files concatenated, each after a line "== FILE"; made by the Makefile; NUL-terminated. */
extern const char device_shipped_texts[];
/* The text of data/mig.txt; NUL-terminated. */
extern const char device_shipped_slices[];

/* Replaces a device of the same name, or appends. */
static void put(device_list *list, device *d)
{
    for (int32_t i = 0; i < list->devices.count; i++) {
        if (str_eq(list->devices.items[i]->texts[DEVICE_NAME], d->texts[DEVICE_NAME])) {
            list->devices.items[i] = d;
            return;
        }
    }
    *(device **)ARENA_PUSH(&list->arena, &list->devices) = d;
}

static void attach_slices(device_list *list, const char *prefix)
{
    for (int32_t i = 0; i < list->devices.count; i++)
        mig_attach(list->slices, list->devices.items[i], prefix, &list->fail);
}

static device *read_text(device_list *list, str file, str text, const char *prefix)
{
    device *d = ARENA_NEW(&list->arena, device);
    d->file = file;
    device_read(d, text, prefix, &list->arena, &list->fail);
    return d;
}

/* End of the file that begins at `at`: the next line "== FILE", or the end of all texts. */
static const char *file_end(const char *at, const char *end)
{
    while (at < end && !(end - at >= 3 && memcmp(at, "== ", 3) == 0)) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return at;
}

void device_list_add_shipped(device_list *list)
{
    const char *at = device_shipped_texts, *end = at + strlen(at);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        str file = arena_str(&list->arena, (str){at + 3, (size_t)(newline - at) - 3});
        const char *next = file_end(newline + 1, end);
        str prefix = arena_printf(&list->arena, "%.*s: ", STR_ARG(file));
        put(list, read_text(list, file, (str){newline + 1, (size_t)(next - newline) - 1}, prefix.ptr));
        at = next;
    }
    list->slices = ARENA_NEW(&list->arena, mig_list);
    mig_read(list->slices, str_of(device_shipped_slices), "data/mig.txt: ", &list->arena, &list->fail);
    attach_slices(list, "data/mig.txt: ");
}

static str file_text(device_list *list, const char *path)
{
    file_open(&list->map, path, &list->fail);
    str text = arena_str(&list->arena, (str){(const char *)list->map.bytes, list->map.size});
    file_close(&list->map);
    return text;
}

/* True if the file has the name of a shipped GPU but other numbers, so that it describes another GPU. */
static bool is_other(const device_list *list, const device *d)
{
    const device *known = device_list_find(list, d->texts[DEVICE_NAME]);
    for (int n = DEVICE_FIRST_NUMBER; known && n < DEVICE_FIELD_COUNT; n++)
        if (known->numbers[n] != d->numbers[n] && !(isnan(known->numbers[n]) && isnan(d->numbers[n])))
            return true;
    return known && known->is_other; /* An equal device may itself have replaced a shipped GPU. */
}

device *device_list_read_file(device_list *list, const char *path, const char *prefix)
{
    str text = file_text(list, path);
    device *d = read_text(list, arena_str(&list->arena, str_of(path)), text, prefix);
    d->is_other = is_other(list, d);
    mig_attach(list->slices, d, prefix, &list->fail);
    return d;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const str *)a)->ptr, ((const str *)b)->ptr);
}

void device_list_add_directory(device_list *list, const char *path)
{
    struct {
        str *items;
        int32_t count, capacity;
    } files = {0};
    list->directory = opendir(path);
    if (!list->directory)
        fail_with(&list->fail, SOOTH_ERROR_SYSTEM, "%.300s: cannot be opened as a directory of GPU files: %s", path,
                  strerror(errno));
    for (struct dirent *entry; (entry = readdir(list->directory));)
        if (str_ends(str_of(entry->d_name), ".txt") && entry->d_name[0] != '.')
            *(str *)ARENA_PUSH(&list->arena, &files) = arena_printf(&list->arena, "%s/%s", path, entry->d_name);
    closedir(list->directory);
    list->directory = NULL;
    if (files.count)
        /* sorted, so that the order is the same everywhere */
        qsort(files.items, (size_t)files.count, sizeof *files.items, by_name);
    for (int pass = 0; pass < 2; pass++) /* The first pass reads slices, the second the GPUs that have them. */
        for (int32_t i = 0; i < files.count; i++) {
            str prefix = arena_printf(&list->arena, "%.*s: ", STR_ARG(files.items[i]));
            bool has_slices = str_ends(files.items[i], "/mig.txt");
            if (has_slices && pass == 0)
                mig_read(list->slices, file_text(list, files.items[i].ptr), prefix.ptr, &list->arena, &list->fail);
            else if (!has_slices && pass == 1)
                put(list, device_list_read_file(list, files.items[i].ptr, prefix.ptr));
        }
    attach_slices(list, "");
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

enum { KEY_BYTES = 128 };

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* Words that drivers and shops put before the name. */
static bool is_vendor_word(str word)
{
    static const char *const words[] = {"nvidia", "geforce", "tesla", "amd", "instinct", "nv"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

/* Normalizes a name for comparison: "NVIDIA GeForce RTX 3090", "rtx-3090" and "RTX3090" have the same key. */
static str key_of(str name, char room[KEY_BYTES])
{
    size_t used = 0, word = 0; /* `word` is the start of the last word */
    for (size_t i = 0; i <= name.len && used < KEY_BYTES; i++) {
        if (i < name.len && !is_separator(name.ptr[i])) {
            room[used++] = lower(name.ptr[i]);
            continue;
        }
        if (is_vendor_word((str){room + word, used - word}))
            used = word;
        word = used;
    }
    return (str){room, used};
}

static bool has_key(str name, str key)
{
    char room[KEY_BYTES];
    return str_eq(key_of(name, room), key);
}

device *device_list_find(const device_list *list, str name)
{
    char room[KEY_BYTES];
    str key = key_of(name, room);
    for (int32_t i = 0; i < list->devices.count; i++)
        if (has_key(list->devices.items[i]->texts[DEVICE_NAME], key))
            return list->devices.items[i];
    /* Newest first, so that the user's alias wins over a shipped one. */
    for (int32_t i = list->devices.count - 1; i >= 0; i--) {
        device *d = list->devices.items[i];
        for (int32_t k = 0; k < d->alias_count; k++)
            if (has_key(d->aliases[k], key))
                return d;
    }
    return NULL;
}

str device_list_nearest(const device_list *list, str name)
{
    char room[KEY_BYTES];
    size_t length = name.len < KEY_BYTES ? name.len : KEY_BYTES;
    for (size_t i = 0; i < length; i++) {
        room[i] = '-';
        if (!is_separator(name.ptr[i]))
            room[i] = lower(name.ptr[i]);
    }
    nearest near = nearest_to((str){room, length});
    for (int32_t i = 0; i < list->devices.count; i++)
        nearest_try(&near, list->devices.items[i]->texts[DEVICE_NAME]);
    for (int32_t i = 0; i < list->devices.count; i++)
        for (int32_t k = 0; k < list->devices.items[i]->alias_count; k++)
            nearest_try(&near, list->devices.items[i]->aliases[k]);
    return near.best;
}
