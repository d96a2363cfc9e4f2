#include "cli/options.h"

#include "base/nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool options_number(const char *s, size_t length, int64_t *number)
{
    int64_t n = 0;
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s[i] - '0', &n))
            return false;
    }
    *number = n;
    return true;
}

static bool set_choice(const char *command, const option *o, const char *value)
{
    nearest near = nearest_to(str_of(value));
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], value) == 0) {
            *(int *)o->target = i;
            return true;
        }
        nearest_try(&near, str_of(o->choices[i]));
    }
    if (near.best.len)
        cli_usage(command, "--%s: there is no '%.60s'; did you mean '%.*s'?", o->name, value, STR_ARG(near.best));
    else
        cli_usage(command, "--%s: there is no '%.60s'; it is one of %s", o->name, value, o->argument);
    return false;
}

static bool set(const char *command, const option *o, const char *value)
{
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->target = true;
        return true;
    case OPTION_TEXT: {
        const char **target = o->target;
        if (*target && strstr(o->argument, ",...")) { /* Otherwise the second list would silently replace the first. */
            cli_usage(command, "--%s is given twice; separate several by commas: --%s %.60s,%.60s", o->name, o->name,
                      *target, value);
            return false;
        }
        *target = value;
        return true;
    }
    case OPTION_CHOICE:
        return set_choice(command, o, value);
    case OPTION_LIST: {
        option_list *list = o->target;
        list->items[list->count++] = value;
        return true;
    }
    case OPTION_NUMBER: {
        int64_t n;
        if (options_number(value, strlen(value), &n) && n >= o->least && n <= o->most) {
            *(int64_t *)o->target = n;
            return true;
        }
        cli_usage(command, "--%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%.60s'", o->name, o->least,
                  o->most, value);
        return false;
    }
    }
    return false;
}

static const option *find(const option *options, size_t count, const char *argument, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        if (argument[1] != '-' ? o->letter && argument[1] == o->letter
                               : str_eq(str_of(o->name), (str){argument + 2, length - 2}))
            return o;
    }
    return NULL;
}

static void unknown(const char *command, const option *options, size_t count, const char *argument, size_t length)
{
    nearest near = nearest_to((str){argument + 2, argument[1] == '-' ? length - 2 : 0});
    for (size_t i = 0; i < count && near.wanted.len; i++)
        nearest_try(&near, str_of(options[i].name));
    if (near.best.len)
        cli_usage(command, "there is no option %.*s; did you mean --%.*s?", (int)(length > 60 ? 60 : length), argument,
                  STR_ARG(near.best));
    else
        cli_usage(command, "there is no option %.*s", (int)(length > 60 ? 60 : length), argument);
}

static options_result options_parse(const char *command, const option *options, size_t count, int *argc, char **argv)
{
    for (size_t i = 0; i < count; i++) {
        if (options[i].kind != OPTION_LIST)
            continue;
        option_list *list = options[i].target;
        list->items = calloc((size_t)*argc, sizeof *list->items);
        if (!list->items) {
            cli_fail(SOOTH_ERROR_SYSTEM, command, "out of memory");
            return OPTIONS_NO_MEMORY;
        }
    }
    int operands = 1;
    for (int i = 1; i < *argc; i++) {
        char *argument = argv[i];
        if (argument[0] != '-' || argument[1] == '\0') {
            argv[operands++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            while (++i < *argc)
                argv[operands++] = argv[i];
            break;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return OPTIONS_HELP;
        bool is_long = argument[1] == '-';
        size_t length = is_long ? strcspn(argument, "=") : 2;
        const option *o = find(options, count, argument, length);
        if (!o) {
            unknown(command, options, count, argument, length);
            return OPTIONS_WRONG;
        }
        const char *value = argument[length] ? argument + length + is_long : NULL; /* handles "--top=5" and "-oFILE" */
        if (o->kind == OPTION_FLAG && value) {
            cli_usage(command, "--%s takes no value", o->name);
            return OPTIONS_WRONG;
        }
        if (o->kind != OPTION_FLAG && !value) {
            if (i + 1 >= *argc) {
                cli_usage(command, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
                return OPTIONS_WRONG;
            }
            value = argv[++i];
        }
        if (!set(command, o, value))
            return OPTIONS_WRONG;
    }
    *argc = operands;
    return OPTIONS_OK;
}

void options_help(const option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        char head[64], letter[8] = "";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(head, sizeof head, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        printf(strlen(head) < 26 ? "  %-26s" : "  %s\n                            ", head);
        for (const char *line = o->help;; line++) {
            size_t length = strcspn(line, "\n");
            printf("%.*s\n", (int)length, line);
            line += length;
            if (!*line)
                break;
            printf("%28s", "");
        }
    }
}

bool options_done(const char *command, const option *options, size_t count, int *argc, char **argv,
                  void (*help)(const option *options, size_t count), int *code)
{
    switch (options_parse(command, options, count, argc, argv)) {
    case OPTIONS_HELP:
        help(options, count);
        *code = cli_flush();
        return true;
    case OPTIONS_WRONG:
        *code = SOOTH_ERROR_USAGE;
        return true;
    case OPTIONS_NO_MEMORY:
        *code = SOOTH_ERROR_SYSTEM;
        return true;
    case OPTIONS_OK:
        break;
    }
    return false;
}

bool options_decimal(const char *s, double least, double most, double *number)
{
    char *end;
    double x = strtod(s, &end);
    if (*s == '\0' || *end != '\0' || !(x >= least && x <= most))
        return false;
    *number = x;
    return true;
}
