/* mig.c: reads the table of slices and makes slices into devices. mig.h specifies the format. */
#include "device/mig.h"
#include "base/lines.h"
#include "base/nearest.h"

#include <math.h>

enum { MAX_FILE_BYTES = 256 * 1024, MAX_GPU_NAME = 64, MAX_PROFILE_NAME = 24, MAX_GPUS_OF_TABLE = 32 };

typedef enum field {
    FIELD_ID,
    FIELD_COMPUTE,
    FIELD_SMS,
    FIELD_MEMORY,
    FIELD_BANDWIDTH,
    FIELD_L2,
    FIELD_COPY_ENGINES,
    FIELD_MOST,
    FIELD_SIZE,
    FIELD_STARTS,
    FIELD_COUNT
} field;

static const struct {
    const char *key, *summary;
    double least, most;
    bool is_whole;
} FIELDS[FIELD_COUNT] = {
    [FIELD_ID] = {"id", "profile number in nvidia-smi", 0, 1000, true},
    [FIELD_COMPUTE] = {"compute", "compute slices", 1, MIG_MAX_SLOTS, true},
    [FIELD_SMS] = {"sms", "multiprocessors", 1, 4096, true},
    [FIELD_MEMORY] = {"memory_gib", "usable memory", 0.25, 65536, false},
    [FIELD_BANDWIDTH] = {"bandwidth", "share of the memory bandwidth", 1e-3, 1, false},
    [FIELD_L2] = {"l2", "share of the L2 cache", 1e-3, 1, false},
    [FIELD_COPY_ENGINES] = {"copy_engines", "copy engines", 0, 64, true},
    [FIELD_MOST] = {"most", "maximum number on one GPU", 1, MIG_MAX_SLOTS, true},
    [FIELD_SIZE] = {"size", "memory slots that it takes", 1, MIG_MAX_SLOTS, true},
    [FIELD_STARTS] = {"starts", "memory slots that it may begin at", 0, MIG_MAX_SLOTS - 1, true},
};

typedef struct reader {
    mig_list *list;
    const char *prefix;
    arena *arena;
    fail *fail;
    int line;
    mig_table *table; /* table being read; NULL before the first GPU */
    int32_t own;      /* first entry of this file */
} reader;

#define WRONG(r, format, ...)                                                                                          \
    fail_with((r)->fail, SOOTH_ERROR_INPUT, "%sline %d: " format, (r)->prefix, (r)->line, __VA_ARGS__)

/* ---- profiles ---------------------------------------------------------------------------------------------------- */

/* Reads a share: "0.125" or "1/8". */
static bool parse_share(str s, double *number)
{
    str above = line_taken(&s, '/');
    double below = 1;
    if (!line_number(line_trimmed(above), number) || (s.len && (!line_number(line_trimmed(s), &below) || below <= 0)))
        return false;
    *number /= below;
    return true;
}

static double read_value(reader *r, field f, str value)
{
    double number;
    if (!parse_share(value, &number))
        WRONG(r, "'%s %.*s' is not a number (%s)", FIELDS[f].key, STR_ARG(value), FIELDS[f].summary);
    if (!(number >= FIELDS[f].least && number <= FIELDS[f].most) || (FIELDS[f].is_whole && number != floor(number)))
        WRONG(r, "'%s %.*s' is out of range: it must be %s between %g and %g (%s)", FIELDS[f].key, STR_ARG(value),
              FIELDS[f].is_whole ? "a whole number" : "a number", FIELDS[f].least, FIELDS[f].most, FIELDS[f].summary);
    return number;
}

static field find_field(reader *r, str key)
{
    nearest near = nearest_to(key);
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (str_is(key, FIELDS[f].key))
            return (field)f;
        nearest_try(&near, str_of(FIELDS[f].key));
    }
    if (near.best.len)
        WRONG(r, "a profile has no '%.*s'; did you mean '%.*s'?", STR_ARG(key), STR_ARG(near.best));
    WRONG(r, "a profile has no '%.*s'", STR_ARG(key));
}

static void read_starts(reader *r, mig_profile *p, str value)
{
    while ((value = line_trimmed(value)).len)
        p->starts |= 1U << (uint32_t)read_value(r, FIELD_STARTS, line_taken(&value, ' '));
}

static void read_field(reader *r, mig_profile *p, str text, uint32_t *given)
{
    str key = line_taken(&text, ' '), value = line_trimmed(text);
    field f = find_field(r, key);
    if (*given & 1U << f)
        WRONG(r, "'%.*s' is given twice", STR_ARG(key));
    *given |= 1U << f;
    if (f == FIELD_STARTS) {
        read_starts(r, p, value);
        return;
    }
    double number = read_value(r, f, value);
    int32_t *whole[FIELD_COUNT] = {[FIELD_ID] = &p->id,
                                   [FIELD_COMPUTE] = &p->compute,
                                   [FIELD_COPY_ENGINES] = &p->copy_engines,
                                   [FIELD_MOST] = &p->most,
                                   [FIELD_SIZE] = &p->size};
    double *real[FIELD_COUNT] = {[FIELD_SMS] = &p->sms,
                                 [FIELD_MEMORY] = &p->memory_gib,
                                 [FIELD_BANDWIDTH] = &p->bandwidth_share,
                                 [FIELD_L2] = &p->l2_share};
    if (whole[f])
        *whole[f] = (int32_t)number;
    else
        *real[f] = number;
}

/* Reads "3g.20gb" or "1g.5gb+me": compute slices and memory in GB; false for other names. */
static bool parse_name(str name, double *compute, double *gb, bool *has_media)
{
    *has_media = str_ends(name, "+me");
    name.len -= *has_media ? 3 : 0;
    str slices = line_taken(&name, 'g');
    if (!line_number(slices, compute) || name.len < 4 || name.ptr[0] != '.' || !str_ends(name, "gb"))
        return false;
    return line_number((str){name.ptr + 1, name.len - 3}, gb);
}

/* Counts placements from the left, which is optimal because all placements of a profile have the same size. */
int32_t mig_room_for(const mig_profile *p, int32_t slots)
{
    int32_t count = 0;
    for (int32_t at = 0; at + p->size <= slots;) {
        bool fits = p->starts & 1U << at;
        count += fits;
        at += fits ? p->size : 1;
    }
    return count;
}

static void check_profile(reader *r, const mig_profile *p)
{
    double compute, gb;
    bool has_media;
    const mig_table *t = r->table;
    if (p->name.len > MAX_PROFILE_NAME || !parse_name(p->name, &compute, &gb, &has_media))
        WRONG(r, "'%.*s' is not a profile name such as 1g.5gb or 1g.5gb+me", STR_ARG(p->name));
    if (compute != p->compute)
        WRONG(r, "%.*s has %d compute slices in its line, but %g in its name", STR_ARG(p->name), (int)p->compute,
              compute);
    if (p->memory_gib > gb)
        WRONG(r, "%.*s cannot have %g GiB of usable memory: its name says less", STR_ARG(p->name), p->memory_gib);
    if (p->compute > t->compute)
        WRONG(r, "%.*s has more compute slices than its GPU, which has %d", STR_ARG(p->name), (int)t->compute);
    if (!p->starts)
        WRONG(r, "%.*s has no place to begin: 'starts' is empty", STR_ARG(p->name));
    for (int32_t at = 0; at < MIG_MAX_SLOTS; at++)
        if (p->starts & 1U << at && at + p->size > t->slots)
            WRONG(r, "%.*s cannot begin at slot %d: it takes %d slots, and the GPU has %d", STR_ARG(p->name), (int)at,
                  (int)p->size, (int)t->slots);
    if (p->most > mig_room_for(p, t->slots))
        WRONG(r, "%d of %.*s do not fit on one GPU: only %d do", (int)p->most, STR_ARG(p->name),
              (int)mig_room_for(p, t->slots));
    for (int32_t i = 0; i < t->profile_count; i++) {
        if (str_eq(t->profiles[i].name, p->name))
            WRONG(r, "%.*s is defined twice", STR_ARG(p->name));
        if (t->profiles[i].id == p->id)
            WRONG(r, "%.*s and %.*s have the same id", STR_ARG(t->profiles[i].name), STR_ARG(p->name));
    }
}

static void read_profile(reader *r, str name, str value, str origin)
{
    if (!r->table || !r->table->slots)
        WRONG(r, "the profile '%.*s' comes before 'gpu = NAME' and 'slots = N, compute M'", STR_ARG(name));
    if (r->table->profile_count == MIG_MAX_PROFILES)
        WRONG(r, "more than %d profiles of one GPU", MIG_MAX_PROFILES);
    mig_profile p = {.name = arena_str(r->arena, name), .origin = arena_str(r->arena, origin)};
    uint32_t given = 0;
    while (value.len)
        read_field(r, &p, line_trimmed(line_taken(&value, ',')), &given);
    for (int f = 0; f < FIELD_COUNT; f++)
        if (!(given & 1U << f))
            WRONG(r, "%.*s has no '%s' (%s)", STR_ARG(name), FIELDS[f].key, FIELDS[f].summary);
    check_profile(r, &p);
    p.has_media = str_ends(name, "+me");
    r->table->profiles[r->table->profile_count++] = p;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void read_gpus(reader *r, str names)
{
    r->table = ARENA_NEW(r->arena, mig_table);
    for (int count = 0; names.len; count++) {
        str name = line_trimmed(line_taken(&names, ','));
        if (!name.len || name.len > MAX_GPU_NAME || count == MAX_GPUS_OF_TABLE)
            WRONG(r, "'gpu' takes up to %d comma-separated names of GPUs", MAX_GPUS_OF_TABLE);
        for (int32_t i = r->own; i < r->list->count; i++)
            if (str_eq(r->list->items[i].gpu, name))
                WRONG(r, "the slices of %.*s are given twice", STR_ARG(name));
        *(mig_entry *)ARENA_PUSH(r->arena, r->list) = (mig_entry){arena_str(r->arena, name), r->table};
    }
}

static void read_slots(reader *r, str value)
{
    str slots = line_trimmed(line_taken(&value, ',')), rest = line_trimmed(value), word = line_taken(&rest, ' ');
    double places, compute;
    if (!r->table)
        WRONG(r, "'slots' comes before 'gpu = %s'", "NAME");
    if (r->table->slots)
        WRONG(r, "'slots' is given twice for %s", "one GPU");
    if (!line_number(slots, &places) || !str_is(word, "compute") || !line_number(line_trimmed(rest), &compute) ||
        places != floor(places) || compute != floor(compute) || places < 1 || places > MIG_MAX_SLOTS || compute < 1 ||
        compute > MIG_MAX_SLOTS)
        WRONG(r, "write 'slots' as in 'slots = 8, compute 7', with at most %d of each", MIG_MAX_SLOTS);
    r->table->slots = (int32_t)places;
    r->table->compute = (int32_t)compute;
}

static void read_line(reader *r, str line)
{
    line_parts of;
    if (!line_split(line, r->line, r->prefix, &of, r->fail))
        return;
    if (!of.value.len)
        WRONG(r, "'%.*s' has no value", STR_ARG(of.key));
    if (str_is(of.key, "gpu"))
        read_gpus(r, of.value);
    else if (str_is(of.key, "slots"))
        read_slots(r, of.value);
    else
        read_profile(r, of.key, of.value, of.origin);
}

void mig_read(mig_list *list, str text, const char *prefix, arena *a, fail *f)
{
    reader r = {.list = list, .prefix = prefix, .arena = a, .fail = f, .own = list->count};
    if (text.len > MAX_FILE_BYTES)
        fail_with(f, SOOTH_ERROR_INPUT, "%sis larger than %d KiB; is this a table of slices?", prefix,
                  MAX_FILE_BYTES >> 10);
    while (text.len) {
        r.line++;
        read_line(&r, line_taken(&text, '\n'));
    }
    for (int32_t i = r.own; i < list->count; i++)
        if (!list->items[i].table->profile_count)
            fail_with(f, SOOTH_ERROR_INPUT, "%s%.*s has no profiles; remove it", prefix, STR_ARG(list->items[i].gpu));
}

/* Searches from the last file, which wins. */
void mig_attach(const mig_list *list, device *d, const char *prefix, fail *f)
{
    d->slices = NULL;
    for (int32_t i = list->count - 1; i >= 0 && !d->slices; i--)
        if (str_eq(list->items[i].gpu, d->texts[DEVICE_NAME]))
            d->slices = list->items[i].table;
    for (int32_t i = 0; d->slices && i < d->slices->profile_count; i++) {
        const mig_profile *p = &d->slices->profiles[i];
        if (p->sms > d->numbers[DEVICE_SMS] || p->memory_gib > d->numbers[DEVICE_MEMORY_GIB])
            fail_with(f, SOOTH_ERROR_INPUT,
                      "%sthe slice %.*s (%g multiprocessors, %g GiB) is larger than %.*s (%g, %g GiB); correct one of "
                      "them",
                      prefix, STR_ARG(p->name), p->sms, p->memory_gib, STR_ARG(d->texts[DEVICE_NAME]),
                      d->numbers[DEVICE_SMS], d->numbers[DEVICE_MEMORY_GIB]);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool same_letters(str a, str b)
{
    bool same = a.len == b.len;
    for (size_t i = 0; same && i < a.len; i++) {
        char x = a.ptr[i], y = b.ptr[i];
        same = (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
    }
    return same;
}

const mig_profile *mig_find(const mig_table *table, str name)
{
    name = line_trimmed(name);
    if (name.len > 4 && same_letters((str){name.ptr, 4}, STR("mig ")))
        name = line_trimmed((str){name.ptr + 4, name.len - 4});
    const mig_profile *only = NULL;
    int32_t like_it = 0;
    for (int32_t i = 0; i < table->profile_count; i++) {
        const mig_profile *p = &table->profiles[i];
        if (same_letters(p->name, name))
            return p;
        const char *point = memchr(p->name.ptr, '.', p->name.len);
        if (!p->has_media && point && same_letters((str){p->name.ptr, (size_t)(point - p->name.ptr)}, name)) {
            only = p;
            like_it++;
        }
    }
    return like_it == 1 ? only : NULL;
}

str mig_names(const mig_table *table, arena *a)
{
    str all = {"", 0};
    for (int32_t i = 0; i < table->profile_count; i++)
        all = arena_printf(a, "%.*s%s%.*s", (int)all.len, all.ptr, i ? ", " : "", STR_ARG(table->profiles[i].name));
    return all;
}

/* ---- a slice as a device ----------------------------------------------------------------------------------------- */

static void set(device *d, device_field f, double value, str origin)
{
    d->numbers[f] = value;
    d->origins[f] = origin;
}

void device_slice(device *slice, const device *whole, const mig_profile *profile)
{
    const double *n = whole->numbers;
    *slice = *whole;
    slice->whole = whole;
    slice->profile = profile;
    double sm_share = profile->sms / n[DEVICE_SMS];
    set(slice, DEVICE_SMS, profile->sms, profile->origin);
    set(slice, DEVICE_MEMORY_GIB, profile->memory_gib, profile->origin);
    set(slice, DEVICE_USABLE_MIB, profile->memory_gib * 1024, profile->origin);
    set(slice, DEVICE_BANDWIDTH_GB_S, n[DEVICE_BANDWIDTH_GB_S] * profile->bandwidth_share, profile->origin);
    set(slice, DEVICE_MEMORY_BUS_BITS, n[DEVICE_MEMORY_BUS_BITS] * profile->bandwidth_share, profile->origin);
    set(slice, DEVICE_L2_MIB, n[DEVICE_L2_MIB] * profile->l2_share, profile->origin);
    set(slice, DEVICE_L3_MIB, n[DEVICE_L3_MIB] * profile->l2_share, profile->origin);
    /* Peak power is divided by multiprocessors, idle power by memory slices. */
    set(slice, DEVICE_TDP_W, n[DEVICE_TDP_W] * sm_share, profile->origin);
    set(slice, DEVICE_IDLE_W, n[DEVICE_IDLE_W] * profile->bandwidth_share, profile->origin);
    for (int f = DEVICE_PUBLISHED_FP32; f <= DEVICE_PUBLISHED_INT8; f++)
        set(slice, (device_field)f, NAN, (str){"", 0});
}
