/* host_file.c: a host's file from measurements. */
#include "measure/host_file.h"
#include "measure/clock.h"

#include <math.h>
#include <stdlib.h>

double host_copy_rate(fail *f)
{
    enum { BYTES = 128 << 20, TRIES = 5 };
    double best = 0;
    char *from = malloc(BYTES), *to = malloc(BYTES);
    if (!from || !to) {
        free(from);
        free(to);
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory: 256 MiB are needed to measure copies");
    }
    memset(from, 1, BYTES);
    memset(to, 2, BYTES);
    for (int i = 0; i < TRIES; i++) {
        double start = clock_ms();
        memcpy(to, from, BYTES);
        double rate = BYTES / (clock_ms() - start) * 1e3;
        best = rate > best ? rate : best;
        from[i] = to[BYTES - 1];
    }
    free(from);
    free(to);
    return best;
}

/* Makes a name of small letters, digits and hyphens. */
static str short_name(const char *cpu, arena *a)
{
    char *to = arena_bytes(a, strlen(cpu) + 1);
    size_t length = 0;
    for (const char *p = cpu; *p; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p;
        bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (fits)
            to[length++] = c;
        else if (length && to[length - 1] != '-')
            to[length++] = '-';
    }
    while (length && to[length - 1] == '-')
        length--;
    return (str){to, length};
}

typedef struct lines {
    arena *a;
    char *text;
    size_t length, room;
} lines;

// Four significant digits, and never an exponent, which host files do not have.
static void add_line(lines *l, const char *key, double value, const char *origin)
{
    const char *form = value >= 9999 ? "%s = %.0f  # %s\n" : value >= 1e-4 ? "%s = %.4g  # %s\n" : "%s = %.9f  # %s\n";
    str line = arena_printf(l->a, form, key, value, origin);
    if (l->length + line.len > l->room)
        return;
    memcpy(l->text + l->length, line.ptr, line.len);
    l->length += line.len;
}

static void borrow(lines *l, const sooth_host *like, const char *key)
{
    double value = sooth_host_number(like, key);
    if (isfinite(value))
        add_line(
            l, key, value,
            arena_printf(l->a, "not measured, because it needs a GPU; copied from %s", sooth_host_text(like, "name"))
                .ptr);
}

str host_file_text(const machine *m, const image_times *images, double copy_bytes_s, const sooth_host *like, arena *a)
{
    enum { ROOM = 8192 };
    lines l = {.a = a, .text = ARENA_ARRAY(a, char, ROOM), .room = ROOM};
    double pixels = images->wide * (double)images->high / 1e6;
    double sample_bytes = 3.0 * images->side * images->side * sizeof(float);
    double alone = images->one_worker_ms, together = images->loader_ms * images->workers;
    str name = short_name(m->cpu, a);
    str head = arena_printf(a, "# %s, measured by sooth measure --host\n\nname = %.*s-here\ncpu = %s\n\n", m->cpu,
                            STR_ARG(name), m->cpu);
    memcpy(l.text, head.ptr, head.len);
    l.length = head.len;
    add_line(&l, "cores", m->cores, "the system's count");
    add_line(&l, "decode_mpixel_s", pixels / images->decode.median * 1e3,
             arena_printf(a, "libjpeg-turbo, one core, median of %d files of %d x %d, %.0f kB", images->images,
                          images->wide, images->high, images->bytes / 1e3)
                 .ptr);
    add_line(
        &l, "augment_mpixel_s", pixels / images->augment.median * 1e3,
        arena_printf(a, "crop, bilinear resize to %d x %d, normalization; one core", images->side, images->side).ptr);
    add_line(&l, "worker_efficiency", fmin(1, alone / together),
             arena_printf(a, "%d threads at once against one", images->workers).ptr);
    add_line(&l, "loader_gb_s", copy_bytes_s / 1e9,
             arena_printf(a, "one core copies samples of %.0f kB within memory", sample_bytes / 1e3).ptr);
    add_line(&l, "storage_gb_s", images->storage_bytes_s / 1e9, "one file of 16 MiB, uncached");
    add_line(&l, "storage_us", 1e3 * fmax(0, images->read_cold.median - images->bytes / images->storage_bytes_s * 1e3),
             "median over the same files, uncached, minus the time for their bytes");
    borrow(&l, like, "link_generation");
    borrow(&l, like, "link_lanes");
    borrow(&l, like, "pinned_gb_s");
    borrow(&l, like, "pageable_gb_s");
    borrow(&l, like, "copy_us");
    borrow(&l, like, "launch_us");
    return (str){l.text, l.length};
}
