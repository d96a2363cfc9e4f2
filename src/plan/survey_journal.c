#include "base/commit.h"
#include "plan/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Intervals and real numbers per row. */
enum { INTERVALS = 3, REALS = 14 };
static const double MOST_COUNT = 0x1p63; /* Counts below this are exact as 64-bit integers. */

/* ---- identity of a survey ---------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *s)
{
    return mix(hash, s ? s : "", strlen(s ? s : "") + 1);
}

static uint64_t mix_number(uint64_t hash, double x)
{
    return mix(hash, &x, sizeof x);
}

static uint64_t mix_network(uint64_t hash, const sooth_survey_network *n)
{
    hash = mix_text(hash, n->graph);
    struct stat file;
    if (stat(n->graph, &file) == 0) {
        hash = mix_number(hash, (double)file.st_size);
        hash = mix_number(hash, (double)file.st_mtim.tv_sec + (double)file.st_mtim.tv_nsec * 1e-9);
    }
    return hash;
}

static uint64_t mix_gpu(uint64_t hash, const sooth_gpu *gpu)
{
    hash = mix_text(hash, sooth_gpu_text(gpu, "name"));
    const char *field;
    /* Hashes all fields, because the user may have edited a GPU file. */
    for (size_t i = 0; (field = sooth_gpu_field(i)); i++)
        hash = mix_number(hash, sooth_gpu_number(gpu, field));
    return hash;
}

/* Excludes accuracies, which always come from the options. */
static uint64_t identity_of(const sooth_survey_options *o, const sooth_survey *s)
{
    uint64_t hash = mix_text(0xcbf29ce484222325u, sooth_version());
    for (size_t i = 0; i < o->network_count; i++)
        hash = mix_network(hash, &o->networks[i]);
    for (size_t i = 0; i < o->gpu_count; i++)
        hash = mix_gpu(hash, o->gpus[i]);
    for (size_t i = 0; i < s->rows_of_network; i++) { /* hashes batches and settings */
        hash = mix_text(mix_text(mix_text(hash, s->rows[i].precision), s->rows[i].layout), s->rows[i].runtime);
        hash = mix_number(hash, (double)s->rows[i].batch);
    }
    const sooth_predict_options *p = &o->settings;
    hash = mix_text(mix_text(mix_text(mix_text(hash, s->mode), p->optimizer), p->stack), p->mig);
    hash = mix_number(mix_number(hash, p->power_limit_w), p->memory);
    return mix_text(hash, s->weights);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void reals_of(const sooth_survey_row *r, double x[REALS])
{
    const double all[REALS] = {r->throughput_per_s, r->device_ms,   r->host_ms,    (double)r->params,
                               (double)r->macs,     r->utilization, r->occupancy,  r->dram_utilization,
                               r->lost.launch,      r->lost.memory, r->lost.units, r->lost.waves,
                               r->lost.alignment,   r->lost.other};
    memcpy(x, all, sizeof all);
}

static void write_row(FILE *out, const sooth_survey_row *r)
{
    if (*r->error) {
        fputs(" !", out);
        for (const char *c = r->error; *c; c++)
            fprintf(out, (unsigned char)*c <= ' ' || *c == '%' || *c == 127 ? "%%%02x" : "%c", (unsigned char)*c);
        return;
    }
    const sooth_interval intervals[INTERVALS] = {r->latency_ms, r->energy_j, r->memory_mib};
    for (int i = 0; i < INTERVALS; i++)
        fprintf(out, " %a %a %a", intervals[i].value, intervals[i].low, intervals[i].high);
    double x[REALS];
    reals_of(r, x);
    fprintf(out, " %" PRId64, r->flops);
    for (int i = 0; i < REALS; i++)
        fprintf(out, " %a", x[i]);
}

int survey_line(const sooth_survey *s, size_t network, char **line, size_t *size)
{
    *line = NULL;
    FILE *out = open_memstream(line, size);
    if (!out)
        return ENOMEM;
    fprintf(out, "%zu", network);
    for (size_t i = 0; i < s->rows_of_network; i++)
        write_row(out, &s->rows[network * s->rows_of_network + i]);
    int error = fflush(out) == 0 ? 0 : ENOMEM;
    if (!error)
        fprintf(out, " %08lx\n", (unsigned long)crc32_z(0, (const Bytef *)*line, *size));
    return fclose(out) == 0 ? error : ENOMEM;
}

int survey_journal_add(const survey_journal *j, const sooth_survey *s, size_t network)
{
    char *line;
    size_t size;
    if (j->file < 0)
        return 0;
    int error = survey_line(s, network, &line, &size);
    if (!error)
        error = write_all(j->file, line, size);
    free(line);
    return error;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_real(char **at, double *x)
{
    char *end;
    if (**at != ' ')
        return false;
    *x = strtod(*at + 1, &end);
    bool is_number = end > *at + 1;
    *at = end;
    return is_number;
}

static bool read_error(char **at, sooth_survey *s, sooth_survey_row *r)
{
    char *to = s->errors + (size_t)(r - s->rows) * SURVEY_ERROR_ROOM;
    size_t used = 0;
    for (*at += 2; **at && **at != ' '; (*at)++) {
        unsigned code = (unsigned char)**at;
        if (code == '%') {
            int taken = 0;
            if (sscanf(*at + 1, "%2x%n", &code, &taken) != 1 || taken != 2)
                return false;
            *at += 2;
        }
        if (used + 1 < SURVEY_ERROR_ROOM)
            to[used++] = (char)code;
    }
    to[used] = '\0';
    r->error = to;
    return used > 0;
}

static bool read_row(char **at, sooth_survey *s, sooth_survey_row *r)
{
    if ((*at)[0] == ' ' && (*at)[1] == '!')
        return read_error(at, s, r);
    sooth_interval *const intervals[INTERVALS] = {&r->latency_ms, &r->energy_j, &r->memory_mib};
    for (int i = 0; i < INTERVALS; i++)
        if (!read_real(at, &intervals[i]->value) || !read_real(at, &intervals[i]->low) ||
            !read_real(at, &intervals[i]->high))
            return false;
    char *end;
    r->flops = strtoll(*at, &end, 10);
    if (end == *at)
        return false;
    *at = end;
    double x[REALS];
    for (int i = 0; i < REALS; i++)
        if (!read_real(at, &x[i]))
            return false;
    r->throughput_per_s = x[0];
    r->device_ms = x[1];
    r->host_ms = x[2];
    if (!(fabs(x[3]) < MOST_COUNT && fabs(x[4]) < MOST_COUNT))
        return false;
    r->params = (int64_t)x[3];
    r->macs = (int64_t)x[4];
    r->utilization = x[5];
    r->occupancy = x[6];
    r->dram_utilization = x[7];
    r->lost = (sooth_losses){x[8], x[9], x[10], x[11], x[12], x[13]};
    return true;
}

bool survey_read_line(char *line, const sooth_survey_options *o, sooth_survey *s, bool *is_done)
{
    char *last = strrchr(line, ' '), *at;
    if (!last || strtoul(last + 1, NULL, 16) != crc32_z(0, (const Bytef *)line, (size_t)(last - line)))
        return false;
    *last = '\0';
    size_t network = strtoul(line, &at, 10);
    if (network >= o->network_count)
        return false;
    for (size_t i = 0; i < s->rows_of_network; i++)
        if (!read_row(&at, s, &s->rows[network * s->rows_of_network + i]))
            return false;
    is_done[network] = true;
    return true;
}

static void fail_to_use(survey_journal *j, fail *f, int error)
{
    fail_with(f, SOOTH_ERROR_SYSTEM, "%s: %s", j->path, strerror(error));
}

/* Reads the existing rows and positions the file after its last valid line. */
static void read_journal(survey_journal *j, FILE *in, const char *head, const sooth_survey_options *o, sooth_survey *s,
                         bool *is_done)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, in);
    bool is_ours = length > 0 && strcmp(line, head) == 0;
    bool is_other = length > 0 && !is_ours && line[length - 1] == '\n';
    off_t sound = is_ours ? (off_t)length : 0;
    while (is_ours && (length = getline(&line, &room, in)) > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        if (!survey_read_line(line, o, s, is_done))
            break;
        sound += (off_t)length;
    }
    free(line);
    int error = ferror(in) ? EIO : 0;
    fclose(in);
    if (is_other)
        fail_with(&s->fail, SOOTH_ERROR_USAGE,
                  "%s belongs to another survey (other networks, GPUs, batches, settings or files): remove it, or "
                  "choose another output",
                  j->path);
    if (error)
        fail_to_use(j, &s->fail, error);
    if (ftruncate(j->file, sound) != 0 || lseek(j->file, sound, SEEK_SET) < 0)
        fail_to_use(j, &s->fail, errno);
    if (!sound && (error = write_all(j->file, head, strlen(head))))
        fail_to_use(j, &s->fail, error);
}

void survey_journal_open(survey_journal *j, const sooth_survey_options *o, sooth_survey *s, bool *is_done)
{
    if (!o->journal)
        return;
    j->path = o->journal;
    j->file = open(o->journal, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (j->file < 0)
        fail_to_use(j, &s->fail, errno);
    int copy = dup(j->file);
    FILE *in = copy < 0 ? NULL : fdopen(copy, "r");
    if (!in) {
        int error = errno;
        if (copy >= 0)
            close(copy);
        fail_to_use(j, &s->fail, error);
    }
    char head[64];
    snprintf(head, sizeof head, "sooth survey 1 %016" PRIx64 "\n", identity_of(o, s));
    read_journal(j, in, head, o, s, is_done);
}

void survey_journal_close(survey_journal *j)
{
    if (j->file >= 0)
        close(j->file);
    j->file = -1;
}
