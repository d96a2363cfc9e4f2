#include "plan/study_plan.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const char *const STUDY_KEY_NAMES[STUDY_KEYS] = {"gpu",     "slice", "precision", "layout",
                                                 "runtime", "mode",  "optimizer", "stack"};

typedef struct plan_reader {
    study_plan *plan;
    arena *arena;
    fail *fail;
    const char *path, *prefix; /* `prefix` precedes messages: "file: ". */
    int line;
    study_family *open; /* The family being read; NULL before the first. */
    /* Lines of the open family; those of the plan itself are empty, so that line numbers stay right. One buffer for
     * all families. */
    char *body;
    size_t body_size;
    int first_line;
} plan_reader;

static _Noreturn void refuse(const plan_reader *r, const char *what, str about)
{
    fail_with(r->fail, SOOTH_ERROR_INPUT, "%sline %d: %s '%.*s'", r->prefix, r->line, what, STR_ARG(about));
}

static void end_family(plan_reader *r)
{
    if (!r->open)
        return;
    r->open->space = space_read(arena_str(r->arena, r->open->name).ptr, (str){r->body, r->body_size}, r->path,
                                r->prefix, r->first_line, r->arena, r->fail);
}

static void begin_family(plan_reader *r, str name)
{
    end_family(r);
    if (!name.len)
        refuse(r, "a family needs a name:", STR("[]"));
    for (int32_t i = 0; i < r->plan->families.count; i++)
        if (str_eq(r->plan->families.items[i].name, name))
            refuse(r, "there are two families called", name);
    r->open = ARENA_PUSH(r->arena, &r->plan->families);
    r->open->name = r->open->family = arena_str(r->arena, name);
    r->body_size = 0;
    r->first_line = r->line + 1;
}

static void read_count(plan_reader *r, str value)
{
    if (!csv_whole(value, &r->open->count) || r->open->count < 1 || r->open->count > INT32_MAX)
        refuse(r, "a count is a whole number above 0, not", value);
}

/* Returns false if the line belongs to the space. */
static bool read_family_key(plan_reader *r, str key, str value)
{
    if (str_is(key, "count"))
        read_count(r, value);
    else if (str_is(key, "family"))
        r->open->family = arena_str(r->arena, value);
    else
        return false;
    return true;
}

static void read_global_key(plan_reader *r, str key, str value)
{
    int64_t seed;
    if (str_is(key, "seed")) {
        if (!csv_whole(value, &seed) || seed < 0)
            refuse(r, "a seed is a whole number, not", value);
        r->plan->seed = (uint64_t)seed;
        return;
    }
    for (int i = 0; i < STUDY_KEYS; i++)
        if (str_is(key, STUDY_KEY_NAMES[i])) {
            if (!value.len)
                refuse(r, "an empty list:", key);
            r->plan->lists[i] = arena_str(r->arena, value).ptr;
            return;
        }
    refuse(r,
           "before the first [FAMILY] there are gpu, slice, precision, layout, runtime, mode, optimizer, stack and "
           "seed, not",
           key);
}

static str without_comment(str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '#' && (i == 0 || line.ptr[i - 1] == ' ' || line.ptr[i - 1] == '\t'))
            line.len = i;
    return line_trimmed(line);
}

static void read_line(plan_reader *r, str raw)
{
    str line = without_comment(raw), rest = line;
    bool is_header = line.len && line.ptr[0] == '[';
    if (is_header) {
        if (line.ptr[line.len - 1] != ']')
            refuse(r, "a '[' without ']':", line);
        begin_family(r, line_trimmed((str){line.ptr + 1, line.len - 2}));
        return;
    }
    str key = line_trimmed(line_taken(&rest, '=')), value = line_trimmed(rest);
    bool is_pair = key.len < line.len;
    if (!r->open) {
        if (line.len && !is_pair)
            refuse(r, "a line without '=':", line);
        if (line.len)
            read_global_key(r, key, value);
        return;
    }
    if (!(is_pair && read_family_key(r, key, value))) {
        str_copy(r->body + r->body_size, line);
        r->body_size += line.len;
    }
    r->body[r->body_size++] = '\n';
}

const study_plan *study_plan_read(const char *name, str text, arena *a, fail *f)
{
    study_plan *plan = ARENA_NEW(a, study_plan);
    plan->text = text;
    plan_reader r = {.plan = plan, .arena = a, .fail = f, .path = name, .prefix = arena_printf(a, "%s: ", name).ptr};
    r.body = arena_room(a, text.len + 1, 1);
    for (str rest = text; rest.len;) {
        r.line++;
        read_line(&r, line_taken(&rest, '\n'));
    }
    end_family(&r);
    if (!plan->families.count)
        fail_with(f, SOOTH_ERROR_INPUT, "%sthe plan has no families: add a line '[NAME]' and the lines of a space",
                  r.prefix);
    return plan;
}

extern const char study_shipped_dippm[]; /* shipped.S */

const study_plan *study_plan_open(const char *path, arena *a, fail *f)
{
    if (strcmp(path, "dippm") == 0)
        return study_plan_read(path, str_of(study_shipped_dippm), a, f);
    if (access(path, R_OK) != 0)
        fail_with(f, SOOTH_ERROR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno));
    file_map map = {.descriptor = -1};
    file_open(&map, path, f);
    str text = arena_str(a, (str){(const char *)map.bytes, map.size}); /* Copied, because it outlives the file. */
    file_close(&map);
    return study_plan_read(path, text, a, f);
}

void study_bind(const space *s, const genes *g, int64_t batch, sooth_options *dims,
                sooth_dim_binding bindings[SPACE_MAX_CHOICES])
{
    *dims = (sooth_options){.batch = batch, .dims = bindings};
    for (int32_t i = 0; i < s->choice_count; i++) {
        const space_choice *c = &s->choices[i];
        int64_t value = 0;
        csv_whole(c->values[g->of[i]], &value); /* Cannot fail: it was checked when the space was read. */
        if (str_is(c->name, "batch"))
            dims->batch = value;
        else if (str_starts(c->name, "dim."))
            bindings[dims->dim_count++] = (sooth_dim_binding){c->name.ptr + strlen("dim."), value};
    }
}
