/* mig_report.c: `sooth mig` for programs: CSV of the candidates, JSON, and the configuration for mig-parted; and the
 * public function that chooses the writer. */
#include "report/mig_report.h"
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

static const size_t SCRATCH_CAP = (size_t)64 << 20;

const char *mig_letter(mig_report *r, size_t workload)
{
    return workload < 26 ? arena_printf(r->scratch, "%c", (char)('A' + (int)workload)).ptr
                         : arena_printf(r->scratch, "%zu", workload + 1).ptr;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Writes an interval, or nothing if it is unknown, because null would look like an answer. */
static void known_interval(json *j, const char *key, sooth_interval x)
{
    if (!isnan(x.value))
        json_pair_interval(j, key, x);
}

static void candidates(mig_report *r, json *j, size_t workload, size_t count)
{
    json_key(j, "profiles");
    json_open(j, '[', false);
    for (size_t i = 0; i < count; i++) {
        sooth_mig_candidate c = sooth_mig_candidate_at(r->plan, workload, i);
        json_open(j, '{', true);
        json_pair_string(j, "profile", c.profile);
        known_interval(j, "latency_ms", c.latency_ms);
        known_interval(j, "memory_mib", c.memory_mib);
        known_interval(j, "energy_j", c.energy_j);
        json_pair_real(j, "usable_mib", c.usable_mib);
        json_pair_bool(j, "fits", c.fits);
        json_pair_bool(j, "meets_target", c.meets_target);
        json_pair_text(j, "reason", c.reason);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void workloads(mig_report *r, json *j)
{
    json_key(j, "workloads");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->totals.workload_count; i++) {
        sooth_mig_planned w = sooth_mig_planned_at(r->plan, i);
        json_open(j, '{', false);
        json_pair_string(j, "model", w.name);
        json_pair_number(j, "batch", w.batch);
        json_pair_string(j, "precision", w.precision);
        json_pair_string(j, "layout", w.layout);
        json_pair_string(j, "runtime", w.runtime);
        json_pair_string(j, "mode", w.mode);
        json_pair_number(j, "count", (int64_t)w.count);
        json_pair_real(j, "latency_ms_target", w.latency_ms > 0 ? w.latency_ms : NAN);
        json_pair_text(j, "profile", w.profile);
        json_pair_text(j, "dippm_profile", w.dippm_profile);
        candidates(r, j, i, w.candidate_count);
        json_key(j, "notes");
        json_open(j, '[', false);
        const char *note;
        for (size_t n = 0; (note = sooth_mig_note(r->plan, i, n)); n++)
            json_string(j, note);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void layout(mig_report *r, json *j)
{
    json_key(j, "gpus");
    json_open(j, '[', false);
    for (size_t g = 0; g < r->totals.gpu_count; g++) {
        json_open(j, '{', false);
        json_key(j, "slices");
        json_open(j, '[', false);
        for (size_t i = 0; i < sooth_mig_placed_count(r->plan, g); i++) {
            sooth_mig_placed s = sooth_mig_placed_at(r->plan, g, i);
            json_open(j, '{', true);
            json_pair_string(j, "profile", s.profile);
            json_pair_number(j, "start", s.start);
            json_pair_number(j, "slots", s.slots);
            json_pair_number(j, "workload", (int64_t)s.workload);
            json_pair_string(j, "model", sooth_mig_planned_at(r->plan, s.workload).name);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void mig_write_json(mig_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, r->totals.weights);
    json_pair_string(j, "gpu", r->totals.gpu);
    json_pair_number(j, "slots", r->totals.slots);
    json_pair_bool(j, "possible", r->totals.is_possible);
    json_pair_text(j, "reason", r->totals.reason);
    json_pair_text(j, "nearest", r->totals.nearest);
    json_pair_number(j, "gpu_count", (int64_t)r->totals.gpu_count);
    json_pair_number(j, "least_gpus", (int64_t)r->totals.least_gpus);
    workloads(r, j);
    layout(r, j);
    json_close(j, '}');
    text_puts(r->out, "\n");
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void mig_write_csv(mig_report *r)
{
    text *out = r->out;
    text_puts(out, "model,gpu,profile,batch,latency_ms_target,latency_ms,latency_ms_low,latency_ms_high,memory_mib,"
                   "memory_mib_low,memory_mib_high,usable_mib,energy_j,fits,meets_target,is_chosen,reason\n");
    for (size_t i = 0; i < r->totals.workload_count; i++) {
        sooth_mig_planned w = sooth_mig_planned_at(r->plan, i);
        for (size_t k = 0; k < w.candidate_count; k++) {
            sooth_mig_candidate c = sooth_mig_candidate_at(r->plan, i, k);
            text_csv(out, w.name);
            text_csv_text(out, r->totals.gpu);
            text_printf(out, ",%s,%lld", c.profile, (long long)w.batch);
            text_csv_real(out, w.latency_ms > 0 ? w.latency_ms : NAN);
            text_csv_real(out, c.latency_ms.value);
            text_csv_real(out, c.latency_ms.low);
            text_csv_real(out, c.latency_ms.high);
            text_csv_real(out, c.memory_mib.value);
            text_csv_real(out, c.memory_mib.low);
            text_csv_real(out, c.memory_mib.high);
            text_csv_real(out, c.usable_mib);
            text_csv_real(out, c.energy_j.value);
            text_printf(out, ",%d,%d,%d", c.fits, c.meets_target, strcmp(c.profile, w.profile) == 0);
            text_csv_text(out, c.reason);
            text_puts(out, "\n");
        }
    }
}

/* ---- mig-parted -------------------------------------------------------------------------------------------------- */

/* Key of a GPU: its profiles and their numbers. GPUs with equal slices have equal keys. */
static const char *devices_of(mig_report *r, size_t gpu)
{
    str all = {"", 0};
    size_t count = sooth_mig_placed_count(r->plan, gpu);
    for (size_t i = 0; i < count; i++) {
        const char *profile = sooth_mig_placed_at(r->plan, gpu, i).profile;
        size_t before = 0, same = 0;
        for (size_t k = 0; k < count; k++) {
            bool is_same = strcmp(sooth_mig_placed_at(r->plan, gpu, k).profile, profile) == 0;
            before += is_same && k < i;
            same += is_same;
        }
        if (!before)
            all = arena_printf(r->scratch, "%s        \"%s\": %zu\n", all.ptr, profile, same);
    }
    return all.ptr;
}

/* Writes only the number of slices: mig-parted chooses the slots itself, by trying orders until one works. */
static void mig_write_parted(mig_report *r)
{
    text *out = r->out;
    size_t count = r->totals.gpu_count;
    const char **devices = ARENA_ARRAY(r->scratch, const char *, count + 1);
    text_printf(out,
                "# %zu x %s; apply with: nvidia-mig-parted apply -f FILE -c sooth\nversion: v1\nmig-configs:\n"
                "  sooth:\n",
                count, r->totals.gpu);
    for (size_t g = 0; g < count; g++)
        devices[g] = devices_of(r, g);
    for (size_t g = 0; g < count; g++) {
        bool is_first = true;
        for (size_t k = 0; k < g && is_first; k++)
            is_first = strcmp(devices[k], devices[g]) != 0;
        if (!is_first)
            continue;
        text_puts(out, "    - devices: [");
        for (size_t k = g; k < count; k++)
            if (strcmp(devices[k], devices[g]) == 0)
                text_printf(out, "%s%zu", k > g ? ", " : "", k);
        text_printf(out, "]\n      mig-enabled: true\n      mig-devices:\n%s", devices[g]);
    }
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

typedef void (*writer)(mig_report *);

static writer writer_of(sooth_format format)
{
    switch (format) {
    case SOOTH_FORMAT_TABLE:
        return mig_write_table;
    case SOOTH_FORMAT_JSON:
        return mig_write_json;
    case SOOTH_FORMAT_CSV:
        return mig_write_csv;
    case SOOTH_FORMAT_SVG:
        return mig_write_svg;
    case SOOTH_FORMAT_MIG_PARTED:
        return mig_write_parted;
    default:
        return NULL;
    }
}

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_report(mig_report *r, writer write)
{
    if (setjmp(r->out->fail->jump))
        return false;
    write(r);
    return true;
}

sooth_status sooth_mig_plan_report(const sooth_mig_plan *plan, const sooth_report_options *options, char **text_out,
                                   size_t *size, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *text_out = NULL;
    fail f = {.error = e};
    arena scratch;
    text out = {.fail = &f};
    mig_report r = {.plan = plan, .totals = sooth_mig_plan_totals_of(plan), .out = &out, .scratch = &scratch};
    if (options)
        r.options = *options;
    writer write = writer_of(r.options.format);
    if (!write)
        return error_say(e, SOOTH_ERROR_USAGE,
                         "plans are written as table, JSON, CSV, SVG or a configuration of mig-parted");
    if (!r.totals.gpu_count && (write == mig_write_svg || write == mig_write_parted))
        return error_say(e, SOOTH_ERROR_USAGE, "there is no layout that could be written");
    arena_init(&scratch, &f, SCRATCH_CAP);
    bool done = write_report(&r, write);
    arena_free(&scratch);
    return text_hand_out(&out, done, text_out, size);
}
