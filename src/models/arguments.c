/* arguments.c: what stands behind the name of a network of the zoo: its parameters. */
#include "base/nearest.h"
#include "models/zoo.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_DIGITS = 18 }; /* of an int64_t, whatever they are */

str zoo_base_name(str name)
{
    size_t len = 0;
    while (len < name.len && name.ptr[len] != '/' && name.ptr[len] != '?')
        len++;
    return (str){name.ptr, len};
}

/* Cuts the text before the first `separator`, moves *rest behind it. */
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

void zoo_refuse(builder *b, const zoo_arguments *a, int index, const char *format, ...)
{
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    enum { MOST_SHOWN = 24 }; /* a longer one stands in the name already */
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
    if (!read_number(value, &a->numbers[index]))
        zoo_refuse(b, a, index, "a number from %lld to %lld is needed", (long long)p->least, (long long)p->most);
    if (a->numbers[index] < p->least || a->numbers[index] > p->most)
        zoo_refuse(b, a, index, "it must be from %lld to %lld", (long long)p->least, (long long)p->most);
}

/* The index of the parameter of that name. */
static int find(builder *b, const zoo_entry *entry, str key)
{
    nearest near = nearest_to(key);
    for (int i = 0; entry->parameters[i].name; i++) {
        if (str_is(key, entry->parameters[i].name))
            return i;
        nearest_try(&near, str_of(entry->parameters[i].name));
    }
    str known = STR("");
    for (int i = 0; entry->parameters[i].name; i++)
        known = arena_printf(b->arena, "%s%s%s", known.ptr, i ? ", " : "", entry->parameters[i].name);
    if (near.best.len)
        fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameter '%.*s'; did you mean '%.*s'?",
                  entry->name, STR_ARG(key), STR_ARG(near.best));
    fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameter '%.*s'; it has %s", entry->name,
              STR_ARG(key), known.ptr);
}

void zoo_read_arguments(builder *b, const zoo_entry *entry, str name, zoo_arguments *a)
{
    *a = (zoo_arguments){.entry = entry};
    size_t base = strlen(entry->name);
    str rest = {name.ptr + base, name.len - base};
    if (!entry->parameters) {
        if (rest.len)
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s has no parameters; leave '%.*s' out", entry->name,
                      STR_ARG(rest));
        return;
    }
    str given[ZOO_MAX_PARAMETERS] = {0};
    bool is_given[ZOO_MAX_PARAMETERS] = {false};
    str first = cut(&rest, '?'); /* "/VALUE" or nothing */
    if (first.len) {
        given[0] = (str){first.ptr + 1, first.len - 1};
        is_given[0] = true;
    }
    while (rest.len) {
        str value = cut(&rest, '&'), key = cut(&value, '=');
        int index = find(b, entry, key);
        if (is_given[index])
            fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "zoo:%s: '%s' is given twice", entry->name,
                      entry->parameters[index].name);
        given[index] = value;
        is_given[index] = true;
    }
    for (int i = 0; entry->parameters[i].name; i++)
        set(b, a, i, is_given[i] ? given[i] : str_of(entry->parameters[i].otherwise));
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
        zoo_refuse(b, a, index, "%d elements, where %d or a single one for all are needed", found, count);
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
