/* host.c: fields of a host, the reader of host files, and the shipped hosts. */
#include "device/host.h"
#include "base/lines.h"
#include "base/nearest.h"

#include <math.h>

enum { MAX_FILE_BYTES = 64 * 1024 };

/* The files of data/hosts concatenated, each after a line "== FILE"; made by the Makefile; NUL-terminated. */
extern const char host_shipped_texts[];

static const host_field_info FIELDS[HOST_FIELD_COUNT] = {
    [HOST_NAME] = {"name", "its name", 0, 0, true},
    [HOST_ALIASES] = {"aliases", "other names, separated by commas", 0, 0, false},
    [HOST_CPU] = {"cpu", "processor", 0, 0, true},
    [HOST_CORES] = {"cores", "cores that loader workers can use", 1, 4096, true},
    [HOST_DECODE_MPIXEL_S] = {"decode_mpixel_s", "JPEG decoding of one core, megapixels per second", 0.01, 1e6, true},
    [HOST_AUGMENT_MPIXEL_S] = {"augment_mpixel_s", "resize, crop and flip of one core, source megapixels per second",
                               0.01, 1e6, true},
    [HOST_WORKER_EFFICIENCY] = {"worker_efficiency", "rate of a loader worker ÷ rate without workers", 0.01, 1, true},
    [HOST_LOADER_GB_S] = {"loader_gb_s", "samples that all workers can hand to the trainer", 0.001, 1e5, true},
    [HOST_STORAGE_GB_S] = {"storage_gb_s", "rate of the storage", 0.001, 1e5, true},
    [HOST_STORAGE_US] = {"storage_us", "time of a read before its first byte", 0, 1e7, true},
    [HOST_LINK_GENERATION] = {"link_generation", "PCI Express generation of the slot", 1, 10, false},
    [HOST_LINK_LANES] = {"link_lanes", "PCI Express lanes of the slot", 1, 32, false},
    [HOST_PINNED_GB_S] = {"pinned_gb_s", "copies from page-locked memory to the device", 0.01, 1e5, true},
    [HOST_PAGEABLE_GB_S] = {"pageable_gb_s", "copies from pageable memory to the device", 0.01, 1e5, true},
    [HOST_COPY_US] = {"copy_us", "time of a copy before its first byte", 0, 1e5, true},
    [HOST_LAUNCH_US] = {"launch_us", "time to launch a kernel", 0, 1e5, false},
};

const host_field_info *host_fields(void)
{
    return FIELDS;
}

typedef struct reader {
    host *h;
    const char *prefix;
    arena *arena;
    fail *fail;
    int line;
    int line_of[HOST_FIELD_COUNT]; /* line of each field; 0: not given yet */
} reader;

#define WRONG(r, format, ...)                                                                                          \
    fail_with((r)->fail, SOOTH_ERROR_INPUT, "%sline %d: " format, (r)->prefix, (r)->line, __VA_ARGS__)

static host_field find_field(reader *r, str key)
{
    nearest near = nearest_to(key);
    for (int i = 0; i < HOST_FIELD_COUNT; i++) {
        if (str_is(key, FIELDS[i].key))
            return (host_field)i;
        nearest_try(&near, str_of(FIELDS[i].key));
    }
    if (near.best.len)
        WRONG(r, "there is no field '%.*s'; did you mean '%.*s'?", STR_ARG(key), STR_ARG(near.best));
    WRONG(r, "there is no field '%.*s'; copy a file of data/hosts, which has all of them", STR_ARG(key));
}

static void read_number(reader *r, host_field field, str value)
{
    const host_field_info *info = &FIELDS[field];
    double *number = &r->h->numbers[field];
    if (!line_number(value, number))
        WRONG(r, "'%s = %.*s' is not a number; units are in the name (%s)", info->key, STR_ARG(value), info->summary);
    if (!(*number >= info->least && *number <= info->most))
        WRONG(r, "'%s = %.*s' is out of range: it must be between %g and %g (%s); check the unit", info->key,
              STR_ARG(value), info->least, info->most, info->summary);
}

static void read_line(reader *r, str line)
{
    line_parts of;
    if (!line_split(line, r->line, r->prefix, &of, r->fail))
        return;
    host_field field = find_field(r, of.key);
    if (r->line_of[field])
        WRONG(r, "'%.*s' was already given in line %d; keep one of them", STR_ARG(of.key), r->line_of[field]);
    if (of.value.len == 0)
        WRONG(r, "'%.*s' has no value (%s)", STR_ARG(of.key), FIELDS[field].summary);
    r->line_of[field] = r->line;
    r->h->origins[field] = arena_str(r->arena, of.origin);
    if (field < HOST_FIRST_NUMBER)
        r->h->texts[field] = arena_str(r->arena, of.value);
    else
        read_number(r, field, of.value);
}

void host_read(host *h, str text, const char *prefix, arena *a, fail *f)
{
    reader r = {.h = h, .prefix = prefix, .arena = a, .fail = f};
    if (text.len > MAX_FILE_BYTES)
        fail_with(f, SOOTH_ERROR_INPUT, "%sis larger than %d KiB: it is not the file of a host", prefix,
                  MAX_FILE_BYTES / 1024);
    for (int i = 0; i < HOST_FIELD_COUNT; i++)
        h->numbers[i] = NAN;
    while (text.len) {
        str line = line_taken(&text, '\n');
        r.line++;
        read_line(&r, line);
    }
    for (int i = 0; i < HOST_FIELD_COUNT; i++)
        if (FIELDS[i].is_required && !r.line_of[i])
            fail_with(f, SOOTH_ERROR_INPUT, "%shas no '%s' (%s): add a line '%s = ...  # origin'", prefix,
                      FIELDS[i].key, FIELDS[i].summary, FIELDS[i].key);
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

void host_list_add_shipped(host_list *list)
{
    const char *at = host_shipped_texts, *end = at + strlen(at);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = file_end(newline + 1, end);
        host *h = ARENA_NEW(&list->arena, host);
        h->file = arena_str(&list->arena, (str){at + 3, (size_t)(newline - at) - 3});
        str prefix = arena_printf(&list->arena, "%.*s: ", STR_ARG(h->file));
        host_read(h, (str){newline + 1, (size_t)(next - newline) - 1}, prefix.ptr, &list->arena, &list->fail);
        *(host **)ARENA_PUSH(&list->arena, &list->hosts) = h;
        at = next;
    }
}

host *host_list_read_file(host_list *list, const char *path)
{
    file_open(&list->map, path, &list->fail);
    str text = arena_str(&list->arena, (str){(const char *)list->map.bytes, list->map.size});
    file_close(&list->map);
    host *h = ARENA_NEW(&list->arena, host);
    h->file = arena_str(&list->arena, str_of(path));
    host_read(h, text, "", &list->arena, &list->fail);
    return h;
}

host *host_list_find(const host_list *list, str name)
{
    for (int32_t i = 0; i < list->hosts.count; i++) {
        host *h = list->hosts.items[i];
        str aliases = h->texts[HOST_ALIASES];
        if (str_eq(h->texts[HOST_NAME], name))
            return h;
        while (aliases.len)
            if (str_eq(line_trimmed(line_taken(&aliases, ',')), name))
                return h;
    }
    return NULL;
}
