/* gpus.c: `sooth gpus`: all known GPUs, or one with the origin of every number. */
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

typedef struct gpu_report {
    const sooth_gpus *gpus;
    const sooth_gpu *one; /* NULL to report all GPUs */
    sooth_report_options options;
    text *out;
} gpu_report;

/* The GPUs to show, in order; NULL after the last. */
static const sooth_gpu *shown(const gpu_report *r, size_t index)
{
    if (r->one)
        return index == 0 ? r->one : NULL;
    return sooth_gpus_at(r->gpus, index);
}

static void style(gpu_report *r, const char *code)
{
    if (r->options.colors)
        text_printf(r->out, "\033[%sm", code);
}

static double teraflops(double flops)
{
    return flops / 1e12;
}

/* ---- the table of all ------------------------------------------------------------------------------------------- */

enum { COLUMN_COUNT = 11, CELL_ROOM = 80 };

static const struct {
    const char *title, *unit;
} COLUMNS[COLUMN_COUNT] = {
    {"GPU", ""},           {"architecture", ""}, {"SMs", ""},         {"boost", "MHz"},
    {"fp32", "TFLOP/s"},   {"tf32", "TFLOP/s"},  {"fp16", "TFLOP/s"}, {"memory", "GiB"},
    {"bandwidth", "GB/s"}, {"L2", "MiB"},        {"power", "W"},
};

/* Formats a rate in three or four digits, as vendors publish it. "-" if the GPU has no such unit. */
static void figure(char room[CELL_ROOM], double x)
{
    if (isnan(x))
        snprintf(room, CELL_ROOM, "?");
    else if (x == 0)
        snprintf(room, CELL_ROOM, "-");
    else
        number_real(room, x < 100 ? round(x * 10) / 10 : round(x));
}

static void fill_cell(char room[CELL_ROOM], const sooth_gpu *gpu, size_t column)
{
    static const char *const fields[COLUMN_COUNT] = {
        [2] = "sms", [3] = "boost_mhz", [7] = "memory_gib", [8] = "bandwidth_gb_s", [9] = "l2_mib", [10] = "tdp_w"};
    switch (column) {
    case 0:
    case 1:
        snprintf(room, CELL_ROOM, "%.*s", CELL_ROOM - 1, sooth_gpu_text(gpu, column ? "architecture" : "name"));
        break;
    case 4: /* fp32 without tensor cores, as vendors publish it */
        figure(room, teraflops(sooth_gpu_vector_flops(gpu, "fp32")));
        break;
    case 5:
        figure(room, teraflops(sooth_gpu_peak_flops(gpu, "tf32")));
        break;
    case 6:
        figure(room, teraflops(sooth_gpu_peak_flops(gpu, "fp16")));
        break;
    default:
        figure(room, sooth_gpu_number(gpu, fields[column]));
    }
}

static void table_row(gpu_report *r, const size_t *width, const sooth_gpu *gpu, bool units)
{
    text_puts(r->out, "  ");
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        char room[CELL_ROOM];
        if (gpu)
            fill_cell(room, gpu, c);
        else
            snprintf(room, sizeof room, "%s", units ? COLUMNS[c].unit : COLUMNS[c].title);
        bool last = c + 1 == COLUMN_COUNT;
        text_cell(r->out, room, width[c], c < 2 ? CELL_LEFT : CELL_RIGHT, r->options.ascii);
        text_puts(r->out, last ? "\n" : "  ");
    }
}

static void table_of_all(gpu_report *r)
{
    size_t width[COLUMN_COUNT], whole = (size_t)2 * (COLUMN_COUNT - 1);
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        size_t title = strlen(COLUMNS[c].title), unit = strlen(COLUMNS[c].unit);
        width[c] = title > unit ? title : unit;
        const sooth_gpu *gpu;
        for (size_t i = 0; (gpu = shown(r, i)); i++) {
            char room[CELL_ROOM];
            fill_cell(room, gpu, c);
            size_t w = name_width(room);
            width[c] = w > width[c] ? w : width[c];
        }
        whole += width[c];
    }
    style(r, "1");
    table_row(r, width, NULL, false);
    style(r, "0");
    style(r, "2");
    table_row(r, width, NULL, true);
    text_puts(r->out, "  ");
    text_repeat(r->out, r->options.ascii ? "-" : "─", whole);
    text_puts(r->out, "\n");
    style(r, "0");
    const sooth_gpu *gpu;
    for (size_t i = 0; (gpu = shown(r, i)); i++)
        table_row(r, width, gpu, false);
}

/* ---- one as a table --------------------------------------------------------------------------------------------- */

/* The value as in the file; "" if there is none. */
static const char *value_text(char room[NUMBER_ROOM], const sooth_gpu *gpu, const char *field)
{
    const char *as_text = sooth_gpu_text(gpu, field);
    if (as_text)
        return as_text;
    double x = sooth_gpu_number(gpu, field);
    return isnan(x) ? "" : x == 0 ? "none" : number_real(room, x);
}

/* Slots at which a slice may start: "0 2 4 6". */
static const char *starts_text(char room[CELL_ROOM], uint32_t starts)
{
    size_t used = 0;
    room[0] = '\0';
    for (int at = 0; at < 32 && used + 4 < CELL_ROOM; at++)
        if (starts >> at & 1)
            used += (size_t)snprintf(room + used, CELL_ROOM - used, "%s%d", used ? " " : "", at);
    return room;
}

static void slices_of_one(gpu_report *r)
{
    size_t count = sooth_mig_count(r->one);
    if (!count)
        return;
    style(r, "1");
    text_printf(r->out,
                "\n  slices (MIG)  SMs  usable GiB  bandwidth    L2  copy engines  most  begin at, of %d places\n",
                sooth_mig_slots(r->one));
    style(r, "0");
    for (size_t i = 0; i < count; i++) {
        sooth_mig_profile p = sooth_mig_at(r->one, i);
        char starts[CELL_ROOM];
        text_printf(r->out, "  %-12s  %3d  %10.2f  %7.1f %%  %3.0f %%  %12d  %4d  %-16s", p.name, p.sms, p.memory_gib,
                    100 * p.bandwidth_share, 100 * p.l2_share, p.copy_engines, p.most,
                    starts_text(starts, p.start_slots));
        style(r, "2");
        text_puts(r->out, "  ");
        text_name(r->out, p.origin, SIZE_MAX, r->options.ascii);
        style(r, "0");
        text_puts(r->out, "\n");
    }
}

static void table_of_one(gpu_report *r)
{
    enum { FIELD_WIDTH = 27, VALUE_WIDTH = 18 };
    const char *name = sooth_gpu_text(r->one, "name"), *field;
    style(r, "1");
    text_name(r->out, name, SIZE_MAX, r->options.ascii);
    style(r, "0");
    text_puts(r->out, "  ");
    text_name(r->out, sooth_gpu_file(r->one), SIZE_MAX, r->options.ascii);
    text_puts(r->out, "\n\n");
    for (size_t i = 1; (field = sooth_gpu_field(i)); i++) { /* starts at 1, because the name was already written */
        char room[NUMBER_ROOM];
        const char *value = value_text(room, r->one, field), *origin = sooth_gpu_origin(r->one, field);
        if (!*value && !*origin)
            continue;
        text_puts(r->out, "  ");
        text_cell(r->out, field, FIELD_WIDTH, CELL_LEFT, true);
        text_puts(r->out, "  ");
        bool has_origin = *origin != '\0';
        if (has_origin)
            text_cell(r->out, *value ? value : "unknown", VALUE_WIDTH, CELL_LEFT, r->options.ascii);
        else
            text_name(r->out, value, SIZE_MAX, r->options.ascii);
        if (has_origin) {
            style(r, "2");
            text_puts(r->out, "  ");
            text_name(r->out, origin, SIZE_MAX, r->options.ascii);
            style(r, "0");
        }
        text_puts(r->out, "\n");
    }
    style(r, "1");
    text_puts(r->out, "\n  peak TFLOP/s                 fastest unit        without tensor cores\n");
    style(r, "0");
    const char *precision;
    for (size_t i = 0; (precision = sooth_gpu_precision(i)); i++) {
        char peak[CELL_ROOM], vector[CELL_ROOM];
        figure(peak, teraflops(sooth_gpu_peak_flops(r->one, precision)));
        figure(vector, teraflops(sooth_gpu_vector_flops(r->one, precision)));
        text_printf(r->out, "  %-27s  %-18s  %s\n", precision, peak, vector);
    }
    slices_of_one(r);
}

/* ---- JSON and CSV ----------------------------------------------------------------------------------------------- */

static void json_slices(json *j, const sooth_gpu *gpu)
{
    json_key(j, "slices");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_mig_count(gpu); i++) {
        sooth_mig_profile p = sooth_mig_at(gpu, i);
        json_open(j, '{', true);
        json_pair_string(j, "profile", p.name);
        json_pair_number(j, "id", p.id);
        json_pair_number(j, "compute_slices", p.compute_slices);
        json_pair_number(j, "sms", p.sms);
        json_key(j, "memory_gib");
        json_real(j, p.memory_gib);
        json_key(j, "bandwidth_share");
        json_real(j, p.bandwidth_share);
        json_key(j, "l2_share");
        json_real(j, p.l2_share);
        json_pair_number(j, "copy_engines", p.copy_engines);
        json_pair_number(j, "most", p.most);
        json_pair_number(j, "slots", p.slots);
        json_key(j, "start_slots");
        json_open(j, '[', true);
        for (int at = 0; at < 32; at++)
            if (p.start_slots >> at & 1)
                json_number(j, at);
        json_close(j, ']');
        json_pair_string(j, "origin", p.origin);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_gpu(json *j, const sooth_gpu *gpu)
{
    const char *field, *alias, *precision;
    json_open(j, '{', false);
    for (size_t i = 0; (field = sooth_gpu_field(i)); i++) {
        const char *as_text = sooth_gpu_text(gpu, field);
        json_key(j, field);
        if (strcmp(field, "aliases") == 0) {
            json_open(j, '[', true);
            for (size_t k = 0; (alias = sooth_gpu_alias(gpu, k)); k++)
                json_string(j, alias);
            json_close(j, ']');
        } else if (as_text) {
            json_string(j, as_text);
        } else {
            json_real(j, sooth_gpu_number(gpu, field));
        }
    }
    json_key(j, "peak_tflops");
    json_open(j, '{', true);
    for (size_t i = 0; (precision = sooth_gpu_precision(i)); i++) {
        json_key(j, precision);
        json_real(j, teraflops(sooth_gpu_peak_flops(gpu, precision)));
    }
    json_close(j, '}');
    json_key(j, "origins");
    json_open(j, '{', false);
    for (size_t i = 0; (field = sooth_gpu_field(i)); i++)
        if (*sooth_gpu_origin(gpu, field))
            json_pair_string(j, field, sooth_gpu_origin(gpu, field));
    json_close(j, '}');
    json_slices(j, gpu);
    json_close(j, '}');
}

static void as_json(gpu_report *r)
{
    json j = {.out = r->out};
    json_open(&j, '{', false);
    json_identity(&j, SCHEMA, NULL);
    json_key(&j, "gpus");
    json_open(&j, '[', false);
    const sooth_gpu *gpu;
    for (size_t i = 0; (gpu = shown(r, i)); i++)
        json_gpu(&j, gpu);
    json_close(&j, ']');
    json_close(&j, '}');
    text_puts(r->out, "\n");
}

static void csv_value(text *out, const sooth_gpu *gpu, const char *field)
{
    char room[NUMBER_ROOM];
    const char *as_text = sooth_gpu_text(gpu, field);
    double x = sooth_gpu_number(gpu, field);
    text_csv(out, as_text ? as_text : isnan(x) ? "" : number_real(room, x));
}

/* Writes one row per GPU, or for a single GPU one row per field. */
static void as_csv(gpu_report *r)
{
    const char *field;
    if (r->one) {
        text_puts(r->out, "field,value,origin\n");
        for (size_t i = 0; (field = sooth_gpu_field(i)); i++) {
            text_printf(r->out, "%s,", field);
            csv_value(r->out, r->one, field);
            text_puts(r->out, ",");
            text_csv(r->out, sooth_gpu_origin(r->one, field));
            text_puts(r->out, "\n");
        }
        return;
    }
    for (size_t i = 0; (field = sooth_gpu_field(i)); i++)
        text_printf(r->out, "%s%s", i ? "," : "", field);
    text_puts(r->out, "\n");
    const sooth_gpu *gpu;
    for (size_t k = 0; (gpu = shown(r, k)); k++) {
        for (size_t i = 0; (field = sooth_gpu_field(i)); i++) {
            text_puts(r->out, i ? "," : "");
            csv_value(r->out, gpu, field);
        }
        text_puts(r->out, "\n");
    }
}

static bool write_report(gpu_report *r)
{
    if (setjmp(r->out->fail->jump))
        return false;
    if (r->options.format == SOOTH_FORMAT_JSON)
        as_json(r);
    else if (r->options.format == SOOTH_FORMAT_CSV)
        as_csv(r);
    else if (r->one)
        table_of_one(r);
    else
        table_of_all(r);
    return true;
}

sooth_status sooth_gpus_report(const sooth_gpus *gpus, const sooth_gpu *gpu, const sooth_report_options *options,
                               char **text_out, size_t *size, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *text_out = NULL;
    fail f = {.error = e};
    text out = {.fail = &f};
    gpu_report r = {.gpus = gpus, .one = gpu, .out = &out};
    if (options)
        r.options = *options;
    if (r.options.format > SOOTH_FORMAT_CSV)
        return error_say(e, SOOTH_ERROR_USAGE, "GPUs are written as table, JSON or CSV");
    bool done = write_report(&r);
    return text_hand_out(&out, done, text_out, size);
}
