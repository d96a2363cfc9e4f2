/* serving_report.c: prefill and decode of a language model by GPU, batch and context: a table for people, CSV and JSON
 * for programs. */
#include "report/grid.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields, doc/json.md */

typedef struct serving_report {
    const char *file;
    const sooth_serving *cells;
    size_t count;
    sooth_report_options options;
    text *out;
    arena *scratch;
} serving_report;

/* ---- table ------------------------------------------------------------------------------------------------------- */

static const char *range_of(serving_report *r, sooth_interval x)
{
    char low[NUMBER_ROOM], high[NUMBER_ROOM];
    return arena_printf(r->scratch, "%s to %s", number_digits(low, x.low), number_digits(high, x.high)).ptr;
}

static void write_cells(serving_report *r)
{
    static const grid_column COLUMNS[] = {
        {"GPU", CELL_LEFT, 0},
        {"context", CELL_RIGHT, 0},
        {"batch", CELL_RIGHT, 0},
        {"first token ms", CELL_RIGHT, 0},
        {"", CELL_RIGHT, 5},
        {"decode ms", CELL_RIGHT, 0},
        {"", CELL_RIGHT, 4},
        {"tokens/s", CELL_RIGHT, 0},
        {"mJ/token", CELL_RIGHT, 3},
        {"KV cache MiB", CELL_RIGHT, 2},
        {"memory MiB", CELL_RIGHT, 1},
        {"fits", CELL_LEFT, 0},
        {"largest batch", CELL_RIGHT, 0},
    };
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < r->count; i++) {
        const sooth_serving *c = &r->cells[i];
        char room[NUMBER_ROOM];
        grid_add(&g, c->gpu);
        grid_printf(&g, "%" PRId64, c->context);
        grid_printf(&g, "%" PRId64, c->batch);
        grid_add(&g, number_digits(room, c->prefill_ms.value));
        grid_add(&g, range_of(r, c->prefill_ms));
        grid_add(&g, number_digits(room, c->decode_ms.value));
        grid_add(&g, range_of(r, c->decode_ms));
        grid_add(&g, number_digits(room, c->tokens_per_s));
        grid_add(&g, number_digits(room, c->energy_j_per_token.value * 1e3));
        grid_add(&g, number_grouped(room, (int64_t)round(c->kv_cache_mib)));
        grid_add(&g, number_grouped(room, (int64_t)round(c->memory_mib.value)));
        grid_add(&g, c->fits ? "yes" : "no");
        grid_add(&g, c->largest_batch ? number_grouped(room, c->largest_batch) : "-");
    }
    grid_write(&g);
}

static void as_table(serving_report *r)
{
    const sooth_serving *first = r->cells;
    text_name(r->out, r->file, SIZE_MAX, r->options.ascii);
    char room[NUMBER_ROOM];
    text_printf(r->out, "  %s, %s, weights %s MiB\n\n", first->precision, first->runtime,
                number_grouped(room, (int64_t)round(first->weights_mib)));
    write_cells(r);
    text_puts(r->out,
              "\n  first token: one pass over the prompts of the batch; decode: one token for each sequence, with the "
              "context in the KV cache\n  fits, largest batch: by the upper end of the memory's 90 % interval\n");
}

/* ---- CSV and JSON ------------------------------------------------------------------------------------------------ */

static void as_csv(serving_report *r)
{
    text_puts(r->out,
              "gpu,precision,runtime,context,batch,prefill_ms,prefill_ms_low,prefill_ms_high,decode_ms,"
              "decode_ms_low,decode_ms_high,tokens_per_s,energy_j_per_token,weights_mib,kv_cache_mib,memory_mib,"
              "memory_mib_low,memory_mib_high,capacity_mib,fits,largest_batch\n");
    for (size_t i = 0; i < r->count; i++) {
        const sooth_serving *c = &r->cells[i];
        text_csv(r->out, c->gpu);
        text_csv_text(r->out, c->precision);
        text_csv_text(r->out, c->runtime);
        text_csv_number(r->out, c->context);
        text_csv_number(r->out, c->batch);
        const double figures[] = {
            c->prefill_ms.value, c->prefill_ms.low, c->prefill_ms.high,          c->decode_ms.value, c->decode_ms.low,
            c->decode_ms.high,   c->tokens_per_s,   c->energy_j_per_token.value, c->weights_mib,     c->kv_cache_mib,
            c->memory_mib.value, c->memory_mib.low, c->memory_mib.high,          c->capacity_mib};
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
            text_csv_real(r->out, figures[k]);
        text_csv_number(r->out, c->fits);
        text_csv_number(r->out, c->largest_batch);
        text_puts(r->out, "\n");
    }
}

static void json_cell(json *j, const sooth_serving *c)
{
    json_open(j, '{', true);
    json_pair_string(j, "gpu", c->gpu);
    json_pair_number(j, "context", c->context);
    json_pair_number(j, "batch", c->batch);
    json_pair_interval(j, "prefill_ms", c->prefill_ms);
    json_pair_interval(j, "decode_ms", c->decode_ms);
    json_pair_real(j, "tokens_per_s", c->tokens_per_s);
    json_pair_interval(j, "energy_j_per_token", c->energy_j_per_token);
    json_pair_real(j, "weights_mib", c->weights_mib);
    json_pair_real(j, "kv_cache_mib", c->kv_cache_mib);
    json_pair_interval(j, "memory_mib", c->memory_mib);
    json_pair_interval(j, "prefill_memory_mib", c->prefill_memory_mib);
    json_pair_real(j, "capacity_mib", c->capacity_mib);
    json_pair_bool(j, "fits", c->fits);
    json_pair_number(j, "largest_batch", c->largest_batch);
    json_close(j, '}');
}

static void as_json(serving_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, r->cells->weights);
    json_pair_string(j, "model", r->file);
    json_pair_string(j, "precision", r->cells->precision);
    json_pair_string(j, "runtime", r->cells->runtime);
    json_key(j, "rows");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->count; i++)
        json_cell(j, &r->cells[i]);
    json_close(j, ']');
    json_close(j, '}');
    text_puts(r->out, "\n");
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static void write_report(void *report, text *out, arena *scratch)
{
    serving_report *r = report;
    r->out = out;
    r->scratch = scratch;
    switch (r->options.format) {
    case SOOTH_FORMAT_TABLE:
        as_table(r);
        break;
    case SOOTH_FORMAT_CSV:
        as_csv(r);
        break;
    case SOOTH_FORMAT_JSON:
        as_json(r);
        break;
    default:
        fail_with(out->fail, SOOTH_ERROR_USAGE, "a table of contexts has the formats table, csv and json");
    }
}

sooth_status sooth_serving_report(const char *file, const sooth_serving *cells, size_t count,
                                  const sooth_report_options *options, char **bytes, size_t *size, sooth_error *error)
{
    sooth_error own;
    if (!count)
        return error_say(error_or(error, &own), SOOTH_ERROR_USAGE, "there are no answers to report");
    serving_report r = {
        .file = file, .cells = cells, .count = count, .options = options ? *options : (sooth_report_options){0}};
    return text_report(write_report, &r, bytes, size, error);
}
