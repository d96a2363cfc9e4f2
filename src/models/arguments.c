/* arguments.c: reads the parameters after the name of a zoo network. */
#include "base/nearest.h"
#include "models/zoo.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_DIGITS = 18 }; /* digits that always fit into an int64_t */

str zoo_base_name(str name)
{
    size_t len = 0;
    while (len < name.len && name.ptr[len] != '/' && name.ptr[len] != '?')
        len++;
    return (str){name.ptr, len};
}

/* Splits off the text before the first `separator`, and moves *rest after it. */
static str cut(str *rest, char separator)
{
    const char *at = rest->len ? memchr(rest->ptr, separator, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->ptr) : rest->len, skipped = len + (at ? 1 : 0);
    str piece = {rest->ptr, len};
    *rest = (str){rest->ptr + skipped, rest->len - skipped};
    return piece;
}

static bool read_number(str text, int64_t *number)
{
    *number = 0;
    if (text.len == 0 || text.len > MOST_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        *number = *number * 10 + (text.ptr[i] - '0');
    }
    return true;
}

/* Reads "0.75" in thousandths: at most three digits after the point. */
static bool read_decimal(str text, int64_t *thousandths)
{
    enum { MOST_BEFORE = 9, MOST_BEHIND = 3 };
    str rest = text, before = cut(&rest, '.');
    int64_t behind = 0;
    if (before.len > MOST_BEFORE || rest.len > MOST_BEHIND || !read_number(before, thousandths) ||
        (rest.len ? !read_number(rest, &behind) : before.len != text.len))
        return false;
    for (size_t i = rest.len; i < MOST_BEHIND; i++)
        behind *= 10;
    *thousandths = *thousandths * 1000 + behind;
    return true;
}

void zoo_refuse(builder *b, const zoo_arguments *a, int index, const char *format, ...)
{
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    enum {
        MOST_SHOWN = 24
    }; /* A longer value is not repeated: messages begin with the network's name, which contains it. */
    const char *name = a->entry->parameters[index].name;
    if (a->texts[index].len > MOST_SHOWN)
        fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "%s: %s", name, reason);
    fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "%s=%.*s: %s", name, STR_ARG(a->texts[index]), reason);
}

static void set(builder *b, zoo_arguments *a, int index, str value)
{
    const zoo_parameter *p = &a->entry->parameters[index];
    a->texts[index] = value;
    if (p->most == 0)
        return;
    double unit = p->is_decimal ? 1000 : 1, least = (double)p->least / unit, most = (double)p->most / unit;
    if (!(p->is_decimal ? read_decimal : read_number)(value, &a->numbers[index]))
        zoo_refuse(b, a, index, "a number from %.10g to %.10g is required%s", least, most,
                   p->is_decimal ? ", with at most three digits after the point" : "");
    if (a->numbers[index] < p->least || a->numbers[index] > p->most)
        zoo_refuse(b, a, index, "it must be from %.10g to %.10g", least, most);
}

double zoo_decimal(const zoo_arguments *a, int index)
{
    return (double)a->numbers[index] / 1000;
}

/* Index of the parameter of that name. */
static int find(builder *b, const zoo_arguments *a, str key)
{
    const zoo_parameter *parameters = a->entry->parameters;
    nearest near = nearest_to(key);
    for (int i = 0; parameters[i].name; i++) {
        if (str_is(key, parameters[i].name))
            return i;
        nearest_try(&near, str_of(parameters[i].name));
    }
    str known = STR("");
    for (int i = 0; parameters[i].name; i++)
        known = arena_printf(b->arena, "%s%s%s", known.ptr, i ? ", " : "", parameters[i].name);
    if (near.best.len)
        fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameter '%.*s'; did you mean '%.*s'?", a->called,
                  STR_ARG(key), STR_ARG(near.best));
    fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameter '%.*s'; it has %s", a->called, STR_ARG(key),
              known.ptr);
}

/* Reads "/VALUE?KEY=VALUE&KEY=VALUE" into `given`; other entries stay unchanged. */
static void read_given(builder *b, const zoo_arguments *a, str rest, str given[ZOO_MAX_PARAMETERS])
{
    bool is_given[ZOO_MAX_PARAMETERS] = {false};
    str first = cut(&rest, '?'); /* starts with "/VALUE" or is empty */
    if (first.len) {
        given[0] = (str){first.ptr + 1, first.len - 1};
        is_given[0] = true;
    }
    while (rest.len) {
        str value = cut(&rest, '&'), key = cut(&value, '=');
        int index = find(b, a, key);
        if (is_given[index])
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s: '%s' is given twice", a->called,
                      a->entry->parameters[index].name);
        given[index] = value;
        is_given[index] = true;
    }
}

void zoo_read_arguments(builder *b, const zoo_entry *entry, const char *definition, str name, zoo_arguments *a)
{
    str base = zoo_base_name(name), rest = {name.ptr + base.len, name.len - base.len};
    *a = (zoo_arguments){.entry = entry, .called = arena_str(b->arena, base).ptr};
    if (!entry->parameters) {
        if (rest.len)
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameters; omit '%.*s'", a->called,
                      STR_ARG(rest));
        return;
    }
    str given[ZOO_MAX_PARAMETERS] = {0};
    for (int i = 0; entry->parameters[i].name; i++)
        given[i] = str_of(entry->parameters[i].otherwise);
    if (definition) {
        if (rest.len && rest.ptr[0] == '/')
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s takes its parameters as '?KEY=VALUE', not '%.*s'",
                      a->called, STR_ARG(rest));
        size_t family = strlen(entry->name);
        read_given(b, a, str_of(definition + family), given);
    }
    read_given(b, a, rest, given);
    for (int i = 0; entry->parameters[i].name; i++)
        set(b, a, i, given[i]);
}

void zoo_pieces(builder *b, const zoo_arguments *a, int index, str *pieces, int count)
{
    str rest = a->texts[index];
    int found = 1;
    for (size_t i = 0; i < rest.len; i++)
        found += rest.ptr[i] == ',';
    for (int i = 0; i < found && i < count; i++)
        pieces[i] = cut(&rest, ',');
    if (found == 1)
        for (int i = 1; i < count; i++)
            pieces[i] = pieces[0];
    else if (found != count)
        zoo_refuse(b, a, index, "it has %d elements; give %d, or one for all", found, count);
}

void zoo_counts(builder *b, const zoo_arguments *a, int index, int64_t most, int64_t *numbers, int count)
{
    enum { MOST = 64 };
    str pieces[MOST];
    zoo_pieces(b, a, index, pieces, count);
    for (int i = 0; i < count; i++)
        if (!read_number(pieces[i], &numbers[i]) || numbers[i] < 1 || numbers[i] > most)
            zoo_refuse(b, a, index, "'%.*s' is not a number from 1 to %lld", STR_ARG(pieces[i]), (long long)most);
}

void zoo_numbers(builder *b, const zoo_arguments *a, int index, const int64_t *allowed, int64_t *numbers, int count)
{
    enum { MOST = 64 };
    str pieces[MOST];
    zoo_pieces(b, a, index, pieces, count);
    for (int i = 0; i < count; i++) {
        int k = 0;
        bool is_number = read_number(pieces[i], &numbers[i]);
        while (allowed[k] && allowed[k] != numbers[i])
            k++;
        if (is_number && allowed[k])
            continue;
        str list = STR("");
        for (k = 0; allowed[k]; k++)
            list = arena_printf(b->arena, "%s%s%lld", list.ptr, k ? ", " : "", (long long)allowed[k]);
        zoo_refuse(b, a, index, "'%.*s' is none of %s", STR_ARG(pieces[i]), list.ptr);
    }
}

int zoo_choice(builder *b, const zoo_arguments *a, int index, const char *const *choices)
{
    str list = STR("");
    for (int i = 0; choices[i]; i++) {
        if (str_is(a->texts[index], choices[i]))
            return i;
        list = arena_printf(b->arena, "%s%s%s", list.ptr, i ? ", " : "", choices[i]);
    }
    zoo_refuse(b, a, index, "it must be one of %s", list.ptr);
}
