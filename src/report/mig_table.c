/* mig_table.c: `sooth mig` for people: each profile for a model, the choice, and why smaller ones fail; for several
 * models the layout as a table and as a picture in text. */
#include "report/grid.h"
#include "report/mig_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SLOT_COLUMNS = 9 };

static void style(mig_report *r, const char *code)
{
    text_style(r->out, &r->options, code);
}

static void name(mig_report *r, const char *s)
{
    style(r, "1");
    text_name(r->out, s, SIZE_MAX, r->options.ascii);
    style(r, "0");
}

/* ---- one workload ------------------------------------------------------------------------------------------------ */

static void workload_line(mig_report *r, const sooth_mig_planned *w)
{
    name(r, w->name);
    text_puts(r->out, " on slices of ");
    name(r, r->totals.gpu);
    style(r, "2");
    text_printf(r->out, "  batch %lld, %s, %s, %s, %s", (long long)w->batch, w->precision, w->layout, w->runtime,
                w->mode);
    if (w->latency_ms > 0)
        text_printf(r->out, ", at most %.4g ms", w->latency_ms);
    style(r, "0");
    text_puts(r->out, "\n\n");
}

static void interval_cell(grid *g, sooth_interval x, bool in_whole_numbers)
{
    char value[NUMBER_ROOM], high[NUMBER_ROOM];
    if (isnan(x.value))
        grid_add(g, "?");
    else if (in_whole_numbers)
        grid_printf(g, "%.0f, up to %.0f", x.value, x.high);
    else
        grid_printf(g, "%s, up to %s", number_digits(value, x.value), number_digits(high, x.high));
}

static void candidates(mig_report *r, size_t workload, const sooth_mig_planned *w)
{
    static const grid_column COLUMNS[] = {{"slice", CELL_LEFT, 0},       {"ms", CELL_RIGHT, 0}, {"MiB", CELL_RIGHT, 1},
                                          {"usable MiB", CELL_RIGHT, 2}, {"J", CELL_RIGHT, 3},  {"", CELL_LEFT, 0}};
    enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };
    const char *fits = w->latency_ms > 0 ? "meets the target" : "fits";
    const char *smallest = w->latency_ms > 0 ? "smallest that meets the target" : "smallest that fits";
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, COLUMN_COUNT);
    for (size_t i = 0; i < w->candidate_count; i++) {
        sooth_mig_candidate c = sooth_mig_candidate_at(r->plan, workload, i);
        char room[NUMBER_ROOM];
        grid_add(&g, c.profile);
        interval_cell(&g, c.latency_ms, false);
        interval_cell(&g, c.memory_mib, true);
        grid_printf(&g, "%.0f", c.usable_mib);
        grid_add(&g, isnan(c.energy_j.value) ? "?" : number_digits(room, c.energy_j.value));
        grid_add(&g, *c.reason ? c.reason : strcmp(c.profile, w->profile) == 0 ? smallest : fits);
    }
    grid_write(&g);
}

static void verdict(mig_report *r, const sooth_mig_planned *w)
{
    text_puts(r->out, "\n  choice: ");
    name(r, *w->profile ? w->profile : "none");
    if (*w->dippm_profile)
        text_printf(r->out, " (DIPPM's rule, by memory alone: %s)\n", w->dippm_profile);
    else
        text_puts(r->out, "\n");
}

static void one_workload(mig_report *r, size_t workload)
{
    sooth_mig_planned w = sooth_mig_planned_at(r->plan, workload);
    workload_line(r, &w);
    candidates(r, workload, &w);
    verdict(r, &w);
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

static const sooth_mig_candidate *chosen(mig_report *r, size_t workload, const sooth_mig_planned *w,
                                         sooth_mig_candidate *room)
{
    for (size_t i = 0; i < w->candidate_count; i++) {
        *room = sooth_mig_candidate_at(r->plan, workload, i);
        if (strcmp(room->profile, w->profile) == 0)
            return room;
    }
    return NULL;
}

static void summary(mig_report *r)
{
    static const grid_column COLUMNS[] = {{"", CELL_LEFT, 0},
                                          {"model", CELL_LEFT, 0},
                                          {"batch", CELL_RIGHT, 2},
                                          {"count", CELL_RIGHT, 0},
                                          {"slice", CELL_LEFT, 0},
                                          {"ms", CELL_RIGHT, 0},
                                          {"target ms", CELL_RIGHT, 1},
                                          {"MiB", CELL_RIGHT, 2},
                                          {"usable MiB", CELL_RIGHT, 3},
                                          {"DIPPM's rule", CELL_LEFT, 4}};
    enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, COLUMN_COUNT);
    for (size_t i = 0; i < r->totals.workload_count; i++) {
        sooth_mig_planned w = sooth_mig_planned_at(r->plan, i);
        sooth_mig_candidate room;
        const sooth_mig_candidate *c = chosen(r, i, &w, &room);
        char target[NUMBER_ROOM];
        grid_add(&g, mig_letter(r, i));
        grid_add(&g, w.name);
        grid_printf(&g, "%lld", (long long)w.batch);
        grid_printf(&g, "%zu", w.count);
        grid_add(&g, c ? c->profile : "none");
        interval_cell(&g, c ? c->latency_ms : (sooth_interval){NAN, NAN, NAN}, false);
        grid_add(&g, w.latency_ms > 0 ? number_digits(target, w.latency_ms) : "any");
        interval_cell(&g, c ? c->memory_mib : (sooth_interval){NAN, NAN, NAN}, true);
        grid_printf(&g, "%.0f", c ? c->usable_mib : 0);
        grid_add(&g, w.dippm_profile);
    }
    grid_write(&g);
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

/* Characters of the frame: horizontal, vertical, and corners and crossings. */
typedef struct frame {
    const char *across, *down, *free;
    const char *top[3], *bottom[3]; /* left corner, crossing, right corner */
} frame;
static const frame LINES = {"─", "│", "·", {"┌", "┬", "┐"}, {"└", "┴", "┘"}};
static const frame ASCII_LINES = {"-", "|", ".", {"+", "+", "+"}, {"+", "+", "+"}};

/* Returns the number of slots of the box that begins at `at`, and its slice (SIZE_MAX if it is free). */
static int next_box(mig_report *r, size_t gpu, int at, size_t *slice)
{
    for (size_t i = 0; i < sooth_mig_placed_count(r->plan, gpu); i++) {
        sooth_mig_placed s = sooth_mig_placed_at(r->plan, gpu, i);
        if (s.start == at) {
            *slice = i;
            return s.slots;
        }
    }
    *slice = SIZE_MAX;
    return 1;
}

static void rule(mig_report *r, size_t gpu, const frame *f, const char *const *joints)
{
    text_puts(r->out, "         ");
    for (int at = 0; at < r->totals.slots;) {
        size_t slice;
        int size = next_box(r, gpu, at, &slice);
        text_puts(r->out, joints[at ? 1 : 0]);
        text_repeat(r->out, f->across, (size_t)(size * SLOT_COLUMNS - 1));
        at += size;
    }
    text_printf(r->out, "%s\n", joints[2]);
}

static void boxes(mig_report *r, size_t gpu, const frame *f)
{
    text_printf(r->out, "  GPU %-3zu", gpu);
    for (int at = 0; at < r->totals.slots;) {
        size_t slice;
        int size = next_box(r, gpu, at, &slice), room = size * SLOT_COLUMNS - 1;
        text_puts(r->out, f->down);
        if (slice == SIZE_MAX) {
            text_repeat(r->out, f->free, (size_t)room);
        } else {
            sooth_mig_placed s = sooth_mig_placed_at(r->plan, gpu, slice);
            const char *letter = mig_letter(r, s.workload);
            int used = (int)(strlen(s.profile) + strlen(letter)) + 1;
            if (used > room) { /* if there is no room for both, show the model */
                used = (int)strlen(letter);
                text_printf(r->out, "%*s%s%*s", (room - used) / 2, "", letter, room - used - (room - used) / 2, "");
            } else {
                text_printf(r->out, "%*s%s ", (room - used) / 2, "", s.profile);
                style(r, "1");
                text_puts(r->out, letter);
                style(r, "0");
                text_printf(r->out, "%*s", room - used - (room - used) / 2, "");
            }
        }
        at += size;
    }
    text_printf(r->out, "%s\n", f->down);
}

static void picture(mig_report *r)
{
    const frame *f = r->options.ascii ? &ASCII_LINES : &LINES;
    for (size_t g = 0; g < r->totals.gpu_count; g++) {
        rule(r, g, f, f->top);
        boxes(r, g, f);
        rule(r, g, f, f->bottom);
    }
}

static void layout(mig_report *r)
{
    const sooth_mig_plan_totals *t = &r->totals;
    text_printf(r->out, "\n  %zu GPU%s", t->gpu_count, t->gpu_count == 1 ? "" : "s");
    if (t->least_gpus < t->gpu_count)
        text_printf(r->out, "; the search ran out of time before it could rule out %zu", t->least_gpus);
    else
        text_puts(r->out, t->gpu_count > 1 ? "; fewer do not suffice" : "");
    text_puts(r->out, "\n\n");
    picture(r);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static bool has_note(mig_report *r, size_t workload, const char *wanted)
{
    const char *note;
    for (size_t i = 0; (note = sooth_mig_note(r->plan, workload, i)); i++)
        if (strcmp(note, wanted) == 0)
            return true;
    return false;
}

/* Prints a note, which may contain text from a file. A note on only some workloads follows their letters. */
static void note_line(mig_report *r, size_t first, const char *note)
{
    str whose = {"", 0};
    bool all = first == 0;
    for (size_t i = first; i < r->totals.workload_count; i++) {
        bool has = has_note(r, i, note);
        all = all && has;
        if (has)
            whose = arena_printf(r->scratch, "%s%s%s", whose.ptr, whose.len ? ", " : "", mig_letter(r, i));
    }
    text_printf(r->out, "  %s%s", all ? "" : whose.ptr, all ? "" : ": ");
    text_name(r->out, note, SIZE_MAX, r->options.ascii);
    text_puts(r->out, "\n");
}

static void notes(mig_report *r)
{
    bool any = false;
    for (size_t i = 0; i < r->totals.workload_count; i++) {
        const char *note;
        for (size_t n = 0; (note = sooth_mig_note(r->plan, i, n)); n++) {
            bool is_told = false;
            for (size_t k = 0; k < i && !is_told; k++)
                is_told = has_note(r, k, note);
            if (is_told)
                continue;
            text_puts(r->out, any ? "" : "\n");
            note_line(r, i, note);
            any = true;
        }
    }
}

void mig_write_table(mig_report *r)
{
    const sooth_mig_plan_totals *t = &r->totals;
    bool is_one = t->workload_count == 1 && sooth_mig_planned_at(r->plan, 0).count == 1;
    if (is_one) {
        one_workload(r, 0);
    } else {
        text_puts(r->out, "slices of ");
        name(r, t->gpu);
        text_puts(r->out, "\n\n");
        summary(r);
    }
    if (!is_one && t->gpu_count)
        layout(r);
    if (!t->is_possible) {
        text_puts(r->out, "\n  not possible: ");
        text_name(r->out, t->reason, SIZE_MAX, r->options.ascii);
        if (*t->nearest) {
            text_puts(r->out, "\n  nearest possible request: ");
            text_name(r->out, t->nearest, SIZE_MAX, r->options.ascii);
        }
        text_puts(r->out, "\n");
    }
    notes(r);
}
