/* images.c: times of reading, decoding and augmenting JPEG files. */
#include "measure/images.h"
#include "measure/library.h"

#ifndef SOOTH_TURBOJPEG

const char *images_missing(void)
{
    return "this program was built without libjpeg-turbo: install libturbojpeg0-dev and build again";
}

image_times images_measure(const char *directory, int images, int side, int workers, fail *f)
{
    (void)directory, (void)images, (void)side, (void)workers;
    fail_with(f, SOOTH_ERROR_UNSUPPORTED, "%s", images_missing());
}

#else
#include "base/threads.h"
#include "measure/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

/* Size of a photograph in ImageNet, and a JPEG quality that results in about as many bytes. */
enum { WIDE = 500, HIGH = 375, QUALITY = 92, CHANNELS = 3, PATH_ROOM = 4096, BLOCK_BYTES = 16 << 20 };

static const char FILE_NAME[] = "libturbojpeg.so.0", PACKAGE[] = "libturbojpeg0";

const char *images_missing(void)
{
    return library_is_there(FILE_NAME) ? NULL : "libturbojpeg.so.0 cannot be opened: install libturbojpeg0";
}

#define TURBOJPEG_FUNCTIONS(F)                                                                                         \
    F(InitCompress)                                                                                                    \
    F(Compress2)                                                                                                       \
    F(InitDecompress)                                                                                                  \
    F(DecompressHeader3)                                                                                               \
    F(Decompress2)                                                                                                     \
    F(Destroy)                                                                                                         \
    F(Free)
#define TURBOJPEG_FIELD(name) __typeof__(&tj##name) name;
#define TURBOJPEG_SYMBOL(name) {"tj" #name, offsetof(struct turbojpeg, name)},

struct turbojpeg {
    TURBOJPEG_FUNCTIONS(TURBOJPEG_FIELD)
};

typedef struct pipe {
    struct turbojpeg jpeg;
    void *handle;
    char folder[PATH_ROOM];
    int written; /* number of files without the large one */
    int images, side;
    size_t largest;
    image_times times;
    double *cold, *warm, *decode, *augment; /* indexed by image */
    sooth_error *error;
} pipe_state;

/* State of a worker. */
typedef struct worker {
    tjhandle decoder;
    uint8_t *file, *pixels;
    float *result;
} worker;

static bool give_up(pipe_state *p, const char *what)
{
    p->error->code = SOOTH_ERROR_SYSTEM;
    snprintf(p->error->message, sizeof p->error->message, "%.400s: %s: %s", p->folder, what, strerror(errno));
    return false;
}

static void path_of(const pipe_state *p, int image, char to[PATH_ROOM + 32])
{
    snprintf(to, PATH_ROOM + 32, "%s/%d.jpg", p->folder, image);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_file(pipe_state *p, const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool done = file >= 0 && write(file, bytes, size) == (ssize_t)size && fsync(file) == 0;
    if (!done)
        give_up(p, "cannot write images");
    if (file >= 0)
        close(file);
    return done;
}

/* Draws smooth shapes with grain, which compress to about as many bytes as a photograph. */
static void paint(uint8_t *pixels, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++)
            for (int c = 0; c < CHANNELS; c++) {
                state = state * 1664525u + 1013904223u;
                int wave = (x * (int)(seed % 5 + 1) / 3 + y * (c + 1) / 2) % 256, grain = (int)(state >> 28);
                pixels[(y * WIDE + x) * CHANNELS + c] =
                    (uint8_t)((wave < 128 ? 2 * wave : 511 - 2 * wave) * 15 / 16 + grain);
            }
}

static bool write_images(pipe_state *p)
{
    uint8_t *pixels = malloc((size_t)WIDE * HIGH * CHANNELS);
    tjhandle encoder = p->jpeg.InitCompress();
    bool done = pixels && encoder;
    for (int i = 0; done && i < p->images; i++) {
        unsigned char *bytes = NULL;
        unsigned long size = 0;
        char path[PATH_ROOM + 32];
        path_of(p, i, path);
        paint(pixels, (uint32_t)i);
        done = p->jpeg.Compress2(encoder, pixels, WIDE, 0, HIGH, TJPF_RGB, &bytes, &size, TJSAMP_420, QUALITY, 0) == 0;
        if (done) {
            p->written = i + 1;
            done = write_file(p, path, bytes, size);
        }
        p->largest = size > p->largest ? size : p->largest;
        p->times.bytes += (double)size / p->images;
        p->jpeg.Free(bytes);
    }
    if (encoder)
        p->jpeg.Destroy(encoder);
    free(pixels);
    return done || p->error->code ? done : give_up(p, "cannot make images");
}

/* Reads a file, from storage or from the system's cache. Returns its size, or 0. */
static size_t read_file(const char *path, uint8_t *to, size_t room, bool cold, double *ms)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    if (cold)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    double start = clock_ms();
    ssize_t size = read(file, to, room);
    *ms = clock_ms() - start;
    close(file);
    return size > 0 ? (size_t)size : 0;
}

static bool read_large(pipe_state *p)
{
    char path[PATH_ROOM + 32];
    double ms = 0;
    snprintf(path, sizeof path, "%s/large", p->folder);
    uint8_t *bytes = malloc(BLOCK_BYTES);
    if (!bytes)
        return give_up(p, "out of memory");
    for (size_t i = 0; i < BLOCK_BYTES; i++) /* Storage that compresses data must not profit from zeros. */
        bytes[i] = (uint8_t)((i * 2654435761u) >> 13);
    bool done =
        write_file(p, path, bytes, BLOCK_BYTES) && read_file(path, bytes, BLOCK_BYTES, true, &ms) == BLOCK_BYTES;
    unlink(path);
    free(bytes);
    p->times.storage_bytes_s = ms > 0 ? BLOCK_BYTES / ms * 1e3 : 0;
    return done || p->error->code ? done : give_up(p, "cannot read what was written");
}

/* ---- one image --------------------------------------------------------------------------------------------------- */

static bool worker_open(const pipe_state *p, worker *w)
{
    w->decoder = p->jpeg.InitDecompress();
    w->file = malloc(p->largest);
    w->pixels = malloc((size_t)WIDE * HIGH * CHANNELS);
    w->result = malloc((size_t)p->side * (size_t)p->side * CHANNELS * sizeof(float));
    return w->decoder && w->file && w->pixels && w->result;
}

static void worker_close(const pipe_state *p, worker *w)
{
    if (w->decoder)
        p->jpeg.Destroy(w->decoder);
    free(w->file);
    free(w->pixels);
    free(w->result);
}

static bool decode(const pipe_state *p, const worker *w, size_t size)
{
    int wide, high, sampling, colours;
    return p->jpeg.DecompressHeader3(w->decoder, w->file, size, &wide, &high, &sampling, &colours) == 0 &&
           wide == WIDE && high == HIGH &&
           p->jpeg.Decompress2(w->decoder, w->file, size, w->pixels, WIDE, 0, HIGH, TJPF_RGB, 0) == 0;
}

/* Crops 224 / 256 of the shorter side, resizes it bilinearly to the network's size, and normalizes as for ImageNet. */
static void augment(const pipe_state *p, const worker *w, uint32_t seed)
{
    static const float MEAN[CHANNELS] = {0.485f, 0.456f, 0.406f}, DEVIATION[CHANNELS] = {0.229f, 0.224f, 0.225f};
    int crop = HIGH * 224 / 256, left = (int)(seed % (WIDE - (uint32_t)crop)),
        top = (int)(seed % (HIGH - (uint32_t)crop));
    float step = (float)(crop - 1) / (float)p->side;
    for (int y = 0; y < p->side; y++)
        for (int x = 0; x < p->side; x++) {
            float fx = (float)left + (float)x * step, fy = (float)top + (float)y * step;
            int ix = (int)fx, iy = (int)fy;
            const uint8_t *at = w->pixels + (iy * WIDE + ix) * CHANNELS, *below = at + WIDE * CHANNELS;
            fx -= (float)ix;
            fy -= (float)iy;
            for (int c = 0; c < CHANNELS; c++) {
                float upper = (1 - fx) * at[c] + fx * at[c + CHANNELS];
                float lower = (1 - fx) * below[c] + fx * below[c + CHANNELS];
                float value = ((1 - fy) * upper + fy * lower) / 255;
                w->result[(c * p->side + y) * p->side + x] = (value - MEAN[c]) / DEVIATION[c];
            }
        }
}

static bool time_images(pipe_state *p)
{
    worker w = {0};
    bool done = worker_open(p, &w);
    for (int i = 0; done && i < p->images; i++) {
        char path[PATH_ROOM + 32];
        path_of(p, i, path);
        done = read_file(path, w.file, p->largest, true, &p->cold[i]) > 0;
        size_t size = read_file(path, w.file, p->largest, false, &p->warm[i]);
        double start = clock_ms();
        done = done && decode(p, &w, size);
        p->decode[i] = clock_ms() - start;
        start = clock_ms();
        augment(p, &w, (uint32_t)i * 7919);
        p->augment[i] = clock_ms() - start;
    }
    worker_close(p, &w);
    return done || give_up(p, "cannot decode images");
}

/* ---- all workers ------------------------------------------------------------------------------------------------- */

typedef struct crowd {
    const pipe_state *p;
    worker *workers;
} crowd;

static void load_image(void *context, size_t item, size_t index)
{
    const crowd *c = context;
    const worker *w = &c->workers[index];
    char path[PATH_ROOM + 32];
    double ms;
    path_of(c->p, (int)item % c->p->images, path);
    size_t size = read_file(path, w->file, c->p->largest, false, &ms);
    if (size && decode(c->p, w, size))
        augment(c->p, w, (uint32_t)item);
}

static bool time_workers(pipe_state *p, int count, double *ms)
{
    enum { TRIES = 3, PASSES = 2 };
    worker *workers = calloc((size_t)count, sizeof *workers);
    bool done = workers != NULL;
    for (int i = 0; done && i < count; i++)
        done = worker_open(p, &workers[i]);
    crowd c = {p, workers};
    for (int i = 0; done && i < TRIES; i++) {
        double start = clock_ms();
        parallel_for((size_t)(p->images * PASSES), (size_t)count, load_image, &c);
        double each = (clock_ms() - start) / (p->images * PASSES);
        *ms = i == 0 || each < *ms ? each : *ms;
    }
    for (int i = 0; workers && i < count; i++)
        worker_close(p, &workers[i]);
    free(workers);
    return done || give_up(p, "cannot start workers");
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static image_time quartiles(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (image_time){values[count / 4], values[count / 2], values[count - 1 - count / 4]};
}

static bool measure_all(pipe_state *p, const char *directory, int workers)
{
    if (snprintf(p->folder, sizeof p->folder, "%s/sooth-XXXXXX", directory) >= (int)sizeof p->folder ||
        !mkdtemp(p->folder)) {
        snprintf(p->folder, sizeof p->folder, "%s", directory);
        give_up(p, "cannot make a directory for images");
        p->folder[0] = '\0';
        return false;
    }
    if (!write_images(p) || !read_large(p) || !time_images(p))
        return false;
    p->times.read_cold = quartiles(p->cold, p->images);
    p->times.read_warm = quartiles(p->warm, p->images);
    p->times.decode = quartiles(p->decode, p->images);
    p->times.augment = quartiles(p->augment, p->images);
    return time_workers(p, 1, &p->times.one_worker_ms) && time_workers(p, workers, &p->times.loader_ms);
}

static void clean_up(pipe_state *p)
{
    char path[PATH_ROOM + 32];
    for (int i = 0; i < p->written; i++) {
        path_of(p, i, path);
        unlink(path);
    }
    if (*p->folder)
        rmdir(p->folder);
    library_close(p->handle);
    free(p->cold);
}

image_times images_measure(const char *directory, int images, int side, int workers, fail *f)
{
    static const library_symbol SYMBOLS[] = {TURBOJPEG_FUNCTIONS(TURBOJPEG_SYMBOL)};
    sooth_error error = {0};
    pipe_state p = {.images = images, .side = side, .error = &error};
    p.times = (image_times){.images = images, .wide = WIDE, .high = HIGH, .side = side, .workers = workers};
    p.handle = library_open(FILE_NAME, PACKAGE, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, &p.jpeg, f);
    p.cold = calloc((size_t)images * 4, sizeof *p.cold);
    p.warm = p.cold + images;
    p.decode = p.warm + images;
    p.augment = p.decode + images;
    bool done = p.cold ? measure_all(&p, directory, workers) : give_up(&p, "out of memory");
    clean_up(&p);
    if (!done)
        fail_with(f, error.code, "%s", error.message);
    return p.times;
}

#endif
