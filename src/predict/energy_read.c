/* energy_read.c: reads data/energy.txt; energy.h specifies the format. */
#include "base/decimal.h"
#include "predict/energy.h"

#include <math.h>

/* NUL-terminated; see shipped.S. */
extern const char shipped_energy[];

const power_coefficient_info *power_coefficients(void)
{
    static const power_coefficient_info ALL[POWER_COEFFICIENT_COUNT] = {
        [POWER_BASE_HBM] = {"base_hbm", "idle power at full clocks as a share of the power limit, HBM up to HBM2e",
                            0.01, 0.6},
        [POWER_BASE_HBM3] = {"base_hbm3", "the same for HBM3 and later", 0.01, 0.6},
        [POWER_BASE_GDDR] = {"base_gddr", "the same for GDDR", 0.01, 0.6},
        [POWER_BUSY] = {"busy", "power of occupied multiprocessors as a share of the limit", 0.001, 1},
        [POWER_HALF_BUSY] = {"half_busy", "share of the peak rates at which multiprocessors draw half of that", 0.001,
                             10},
        [POWER_SMALL] = {"small_us", "microseconds of work at the peak rates with the same effect", 0.1, 10000},
        [POWER_VECTOR] = {"vector", "share of the limit: vector units at their peak", 0.001, 3},
        [POWER_TENSOR] = {"tensor", "share of the limit: tensor cores in 16 or 32 bits at their peak", 0.001, 3},
        [POWER_TENSOR_8] = {"tensor_8", "share of the limit: tensor cores in 8 bits at their peak", 0.001, 3},
        [POWER_HBM] = {"hbm_pj_byte", "pJ for each byte of HBM", 0.1, 1000},
        [POWER_GDDR] = {"gddr_pj_byte", "pJ for each byte of GDDR", 0.1, 1000},
        [POWER_L2] = {"l2_pj_byte", "pJ for each byte of the L2 cache", 0.1, 1000},
        [POWER_CAP] = {"cap", "largest share of the limit that a kernel draws", 0.5, 1.1},
        [POWER_CLOCK] = {"clock_exponent", "exponent of the clock in the power above the base", 1, 5},
        [POWER_CLOCK_BOUND] = {"clock_bound", "share of a memory-bound kernel's time that scales with the clock", 0, 1},
    };
    return ALL;
}

const char *power_work_kind_name(power_work_kind kind)
{
    static const char *const NAMES[POWER_WORK_KINDS] = {"convolutions", "products", "other"};
    return NAMES[kind];
}

typedef struct reader {
    power_model *m;
    power_shipped *later; /* Receives the unread lines of GPUs; NULL: they are read now. */
    const char *prefix;
    fail *fail;
    int line;
    int next; /* The coefficient expected next, because files usually list them in order. */
    bool has[POWER_COEFFICIENT_COUNT], has_interval[2][POWER_WORK_KINDS];
} reader;

#define WRONG(r, format, ...)                                                                                          \
    fail_with((r)->fail, SOOTH_ERROR_INPUT, "%sline %d: " format, (r)->prefix, (r)->line, __VA_ARGS__)

static const char *const BEHIND_VALUE = "more follows the value; a comment begins with '#'";

/* Returns the next word of the line; empty at its end. */
static str word(str *line)
{
    while (line->len && (line->ptr[0] == ' ' || line->ptr[0] == '\t' || line->ptr[0] == '\r')) {
        line->ptr++;
        line->len--;
    }
    str w = {line->ptr, 0};
    while (w.len < line->len && w.ptr[w.len] != ' ' && w.ptr[w.len] != '\t' && w.ptr[w.len] != '\r')
        w.len++;
    line->ptr += w.len;
    line->len -= w.len;
    return w;
}

static double number(reader *r, str *line, double least, double most)
{
    str w = word(line);
    decimal d = {0};
    if (!w.len || decimal_read(w, &d) != w.len || !(d.real >= least && d.real <= most))
        WRONG(r, "'%.*s' is no number from %g to %g", STR_ARG(w), least, most);
    return d.real;
}

static void equals(reader *r, str *line)
{
    if (!str_is(word(line), "="))
        WRONG(r, "%s", "there is no ' = ' after the name");
}

static void read_gpu_numbers(reader *r, str name, str *line)
{
    power_gpu *g = &r->m->gpus[r->m->gpu_count++];
    g->name = name;
    equals(r, line);
    g->base = number(r, line, 0.01, 0.8);
    g->scale = number(r, line, 0.1, 10);
    g->cap = number(r, line, power_coefficients()[POWER_CAP].least, power_coefficients()[POWER_CAP].most);
}

static void read_gpu(reader *r, str *line)
{
    if (r->m->gpu_count == POWER_MAX_GPUS || (r->later && r->later->gpu_count == POWER_MAX_GPUS))
        WRONG(r, "more than %d GPUs", POWER_MAX_GPUS);
    str name = word(line);
    if (r->later) {
        r->later->gpus[r->later->gpu_count++] = (power_gpu_line){name, *line, r->line};
        line->len = 0;
        return;
    }
    read_gpu_numbers(r, name, line);
}

static void read_interval(reader *r, str *line)
{
    str gpu = word(line), work = word(line);
    bool is_new = str_is(gpu, "new");
    int kind = 0;
    while (kind < POWER_WORK_KINDS && !str_is(work, power_work_kind_name((power_work_kind)kind)))
        kind++;
    if ((!is_new && !str_is(gpu, "known")) || kind == POWER_WORK_KINDS)
        WRONG(r, "there is no interval '%.*s %.*s'", STR_ARG(gpu), STR_ARG(work));
    equals(r, line);
    r->m->intervals[is_new][kind] = number(r, line, 0, 3);
    r->has_interval[is_new][kind] = true;
}

static void read_line(reader *r, str line)
{
    const char *comment = line.len ? memchr(line.ptr, '#', line.len) : NULL;
    if (comment)
        line.len = (size_t)(comment - line.ptr);
    str name = word(&line);
    if (!name.len)
        return;
    if (str_is(name, "gpu")) {
        read_gpu(r, &line);
    } else if (str_is(name, "interval")) {
        read_interval(r, &line);
    } else {
        int i = r->next, tried = 0;
        while (tried < POWER_COEFFICIENT_COUNT && !str_is(name, power_coefficients()[i].name)) {
            i = (i + 1) % POWER_COEFFICIENT_COUNT;
            tried++;
        }
        if (tried == POWER_COEFFICIENT_COUNT)
            WRONG(r, "there is no coefficient '%.*s'", STR_ARG(name));
        r->next = (i + 1) % POWER_COEFFICIENT_COUNT;
        equals(r, &line);
        r->m->coefficients[i] = number(r, &line, power_coefficients()[i].least, power_coefficients()[i].most);
        r->has[i] = true;
    }
    if (word(&line).len)
        WRONG(r, "%s", BEHIND_VALUE);
}

static void read_text(reader r, str text)
{
    const char *prefix = r.prefix;
    fail *f = r.fail;
    *r.m = (power_model){0};
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        str line = {text.ptr, newline ? (size_t)(newline - text.ptr) : text.len};
        r.line++;
        read_line(&r, line);
        text.ptr += line.len + (newline != NULL);
        text.len -= line.len + (newline != NULL);
    }
    for (int i = 0; i < POWER_COEFFICIENT_COUNT; i++)
        if (!r.has[i])
            fail_with(f, SOOTH_ERROR_INPUT, "%sthere is no '%s'; make the file again with 'sooth learn --energy'",
                      prefix, power_coefficients()[i].name);
    for (int i = 0; i < 2 * POWER_WORK_KINDS; i++)
        if (!r.has_interval[i / POWER_WORK_KINDS][i % POWER_WORK_KINDS])
            fail_with(f, SOOTH_ERROR_INPUT, "%sthere is no 'interval %s %s'", prefix,
                      i / POWER_WORK_KINDS ? "new" : "known",
                      power_work_kind_name((power_work_kind)(i % POWER_WORK_KINDS)));
}

void power_model_read(power_model *m, str text, const char *prefix, fail *f)
{
    read_text((reader){.m = m, .prefix = prefix, .fail = f}, text);
}

static const char *const SHIPPED_PREFIX = "data/energy.txt: ";

void power_model_shipped(power_model *m, fail *f)
{
    power_model_read(m, str_of(shipped_energy), SHIPPED_PREFIX, f);
}

const power_model *power_shipped_for(power_shipped *s, str gpu, fail *f)
{
    reader r = {.m = &s->model, .later = s, .prefix = SHIPPED_PREFIX, .fail = f};
    if (!s->is_read) {
        s->gpu_count = 0;
        read_text(r, str_of(shipped_energy));
        s->is_read = true;
    }
    s->model.gpu_count = 0;
    for (int i = 0; i < s->gpu_count && s->model.gpu_count == 0; i++) {
        str numbers = s->gpus[i].numbers;
        r.line = s->gpus[i].line;
        if (str_eq(s->gpus[i].name, gpu))
            read_gpu_numbers(&r, s->gpus[i].name, &numbers);
        if (s->model.gpu_count && word(&numbers).len)
            WRONG(&r, "%s", BEHIND_VALUE);
    }
    return &s->model;
}
