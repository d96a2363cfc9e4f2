/* energy_text.c: writes a power fit as the text that energy_read.c reads. */
#include "learn/energy_fit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct lines {
    char *text;
    size_t used, room;
} lines;

static void put(lines *l, arena *a, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(lines *l, arena *a, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t size = n < (int)sizeof line ? (size_t)n : sizeof line - 1;
    if (l->used + size + 1 > l->room) {
        size_t room = 2 * l->room + sizeof line;
        char *text = arena_room(a, room, 1);
        memcpy(text, l->text, l->used);
        l->text = text;
        l->room = room;
    }
    memcpy(l->text + l->used, line, size + 1);
    l->used += size;
}

str energy_fit_text(const energy_fit *fit, arena *a)
{
    const power_model *m = &fit->model;
    lines l = {arena_room(a, 1024, 1), 0, 1024};
    put(&l, a,
        "# Power coefficients; src/predict/energy.h explains them. Written by tools/energy.sh (`sooth learn --energy`) "
        "from\n# %zu measured rows. doc/energy.md lists the sources and the errors on hold-out rows.\n\n",
        fit->row_count);
    for (int i = 0; i < POWER_COEFFICIENT_COUNT; i++)
        put(&l, a, "%-15s = %-9.4g # fitted: %s\n", power_coefficients()[i].name, m->coefficients[i],
            power_coefficients()[i].summary);
    put(&l, a,
        "\n# Measured GPUs: base and cap as shares of the power limit, and between them the factor on all other "
        "coefficients.\n");
    for (int i = 0; i < m->gpu_count; i++)
        put(&l, a, "gpu %-18.*s = %.4f %.4f %.4f # fitted\n", STR_ARG(m->gpus[i].name), m->gpus[i].base,
            m->gpus[i].scale, m->gpus[i].cap);
    put(&l, a,
        "\n# Half of the 90 %% power interval, as a logarithm, from held-out sources; for new GPUs, from held-out GPUs "
        "as well.\n");
    for (int g = 0; g < 2; g++)
        for (int k = 0; k < POWER_WORK_KINDS; k++)
            put(&l, a, "interval %-5s %-12s = %.4f # fitted\n", g ? "new" : "known",
                power_work_kind_name((power_work_kind)k), m->intervals[g][k]);
    return (str){l.text, l.used};
}
