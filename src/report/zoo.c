/* zoo.c: `sooth zoo`: the networks that ship with the library, and the parameters of their families. */
#include "base/nearest.h"
#include "report/grid.h"
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t SCRATCH_CAP = (size_t)16 << 20;
enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

typedef struct zoo_report {
    const char *only; /* NULL to list all networks */
    text *out;
    arena *scratch;
    sooth_report_options options;
} zoo_report;

static bool is_shown(const zoo_report *r, const char *name)
{
    return !r->only || strcmp(r->only, name) == 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_parameters(json *j, size_t network)
{
    json_key(j, "parameters");
    json_open(j, '[', false);
    for (size_t i = 0;; i++) {
        sooth_zoo_parameter p = sooth_zoo_parameter_at(network, i);
        if (!p.name)
            break;
        json_open(j, '{', true);
        json_pair_string(j, "name", p.name);
        json_pair_string(j, "default", p.value);
        json_pair_real(j, "least", p.most != 0 ? p.least : NAN);
        json_pair_real(j, "most", p.most != 0 ? p.most : NAN);
        json_pair_string(j, "summary", p.summary);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void as_json(zoo_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    const char *name;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, NULL);
    json_key(j, "networks");
    json_open(j, '[', false);
    for (size_t i = 0; (name = sooth_zoo_name(i)); i++) {
        if (!is_shown(r, name))
            continue;
        json_open(j, '{', false);
        json_pair_string(j, "name", name);
        json_pair_string(j, "summary", sooth_zoo_summary(i));
        json_pair_text(j, "definition", sooth_zoo_definition(i));
        json_parameters(j, i);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
    text_puts(r->out, "\n");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const char *parameter_names(zoo_report *r, size_t network)
{
    str all = {"", 0};
    sooth_zoo_parameter p;
    for (size_t i = 0; (p = sooth_zoo_parameter_at(network, i)).name; i++)
        all = arena_printf(r->scratch, "%s%s%s", all.ptr, i ? ", " : "", p.name);
    return all.ptr;
}

static void table_of_all(zoo_report *r)
{
    static const grid_column columns[] = {
        {"model", CELL_LEFT, 0}, {"network", CELL_LEFT, 0}, {"parameters", CELL_LEFT, 1}};
    const char *name;
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; (name = sooth_zoo_name(i)); i++) {
        grid_printf(&g, "zoo:%s", name);
        grid_add(&g, sooth_zoo_summary(i));
        const char *definition = sooth_zoo_definition(i);
        grid_add(&g, definition && strchr(definition, '?') ? definition : parameter_names(r, i));
    }
    grid_write(&g);
    text_puts(r->out, "\n  `sooth zoo NAME` explains the parameters of one: 'zoo:bert?layers=24&hidden=1024'\n");
}

static void table_of_one(zoo_report *r, size_t network)
{
    static const grid_column columns[] = {
        {"parameter", CELL_LEFT, 0}, {"default", CELL_LEFT, 0}, {"range", CELL_LEFT, 0}, {"meaning", CELL_LEFT, 0}};
    sooth_zoo_parameter p;
    text_style(r->out, &r->options, "1");
    text_printf(r->out, "zoo:%s", r->only);
    text_style(r->out, &r->options, "0");
    text_printf(r->out, "  %s\n\n", sooth_zoo_summary(network));
    if (!sooth_zoo_parameter_at(network, 0).name) {
        const char *definition = sooth_zoo_definition(network), *rest = definition ? strchr(definition, '?') : NULL;
        if (rest)
            text_printf(r->out,
                        "  zoo:%s; `sooth zoo %.*s` explains the parameters, which may be given here too:\n"
                        "  'zoo:%s?KEY=VALUE&KEY=VALUE'\n",
                        definition, (int)(rest - definition), definition, r->only);
        else
            text_puts(r->out, "  no parameters\n");
        return;
    }
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; (p = sooth_zoo_parameter_at(network, i)).name; i++) {
        grid_add(&g, p.name);
        grid_add(&g, p.value);
        if (p.most != 0)
            grid_printf(&g, "%.10g to %.10g", p.least, p.most);
        else
            grid_add(&g, "");
        grid_add(&g, p.summary);
    }
    grid_write(&g);
    text_printf(
        r->out,
        "\n  'zoo:%s/VALUE?KEY=VALUE&KEY=VALUE': the value after the slash is that of %s; lists have commas, and\n"
        "  a single element stands for all of a list\n",
        r->only, sooth_zoo_parameter_at(network, 0).name);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_report(zoo_report *r, size_t network)
{
    if (setjmp(r->out->fail->jump))
        return false;
    if (r->options.format == SOOTH_FORMAT_JSON)
        as_json(r);
    else if (r->only)
        table_of_one(r, network);
    else
        table_of_all(r);
    return true;
}

sooth_status sooth_zoo_report(const char *name, const sooth_report_options *options, char **text_out, size_t *size,
                              sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *text_out = NULL;
    fail f = {.error = e};
    arena scratch;
    text out = {.fail = &f};
    zoo_report r = {.only = name, .out = &out, .scratch = &scratch};
    if (options)
        r.options = *options;
    if (r.options.format > SOOTH_FORMAT_JSON)
        return error_say(e, SOOTH_ERROR_USAGE, "the zoo is written as table or JSON");
    size_t network = 0;
    while (name && sooth_zoo_name(network) && strcmp(sooth_zoo_name(network), name) != 0)
        network++;
    if (name && !sooth_zoo_name(network)) {
        nearest near = nearest_to(str_of(name));
        for (size_t i = 0; sooth_zoo_name(i); i++)
            nearest_try(&near, str_of(sooth_zoo_name(i)));
        char remedy[NUMBER_ROOM + 64] = "`sooth zoo` lists them", message[sizeof e->message];
        if (near.best.len)
            snprintf(remedy, sizeof remedy, "did you mean '%.*s'?", STR_ARG(near.best));
        snprintf(message, sizeof message, "there is no network '%.60s' in the zoo; %s", name, remedy);
        return error_say(e, SOOTH_ERROR_USAGE, message);
    }
    arena_init(&scratch, &f, SCRATCH_CAP);
    bool done = write_report(&r, network);
    arena_free(&scratch);
    return text_hand_out(&out, done, text_out, size);
}
