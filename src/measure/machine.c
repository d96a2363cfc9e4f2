/* machine.c: measures the peaks of this machine: multiply-adds in registers, and a sum of arrays larger than any
 * cache. */
#include "measure/machine.h"
#include "base/file.h"
#include "base/threads.h"
#include "measure/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCUMULATORS = 16, ROUNDS = 1 << 20, TRIES = 5 };

/* The same loop for several vector widths. Returns the sum, so that the compiler keeps the work. */
#define MULTIPLY_ADDS(NAME, TARGET, BYTES)                                                                             \
    TARGET static float NAME(float start)                                                                              \
    {                                                                                                                  \
        typedef float vector __attribute__((vector_size(BYTES)));                                                      \
        vector sums[ACCUMULATORS], factor = {0}, more = {0};                                                           \
        for (size_t k = 0; k < sizeof(vector) / sizeof(float); k++) {                                                  \
            factor[k] = 1 - start;                                                                                     \
            more[k] = start;                                                                                           \
        }                                                                                                              \
        for (int i = 0; i < ACCUMULATORS; i++)                                                                         \
            sums[i] = more + (float)i;                                                                                 \
        for (int round = 0; round < ROUNDS; round++)                                                                   \
            for (int i = 0; i < ACCUMULATORS; i++)                                                                     \
                sums[i] = sums[i] * factor + more;                                                                     \
        for (int i = 1; i < ACCUMULATORS; i++)                                                                         \
            sums[0] += sums[i];                                                                                        \
        return sums[0][0];                                                                                             \
    }

MULTIPLY_ADDS(multiply_adds_16, , 16)
#if defined(__x86_64__) || defined(__i386__)
MULTIPLY_ADDS(multiply_adds_32, __attribute__((target("avx2,fma"))), 32)
MULTIPLY_ADDS(multiply_adds_64, __attribute__((target("avx512f"))), 64)
#endif

typedef struct multiply_call {
    float (*run)(float);
    int bytes;
} multiply_call;

static multiply_call widest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("avx512f"))
        return (multiply_call){multiply_adds_64, 64};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (multiply_call){multiply_adds_32, 32};
#endif
    return (multiply_call){multiply_adds_16, 16};
}

typedef struct peak_work {
    multiply_call call;
    float *results; /* indexed by thread */
    float *arrays;  /* three arrays, one after another */
    int64_t elements, threads;
} peak_work;

static void multiply_part(void *context, size_t item, size_t worker)
{
    const peak_work *w = context;
    (void)worker;
    w->results[item] = w->call.run(1e-6f);
}

static void triad_part(void *context, size_t item, size_t worker)
{
    const peak_work *w = context;
    (void)worker;
    int64_t first = w->elements * (int64_t)item / w->threads, end = w->elements * ((int64_t)item + 1) / w->threads;
    float *a = w->arrays, *b = a + w->elements, *c = b + w->elements;
    for (int64_t i = first; i < end; i++)
        a[i] = b[i] + 3 * c[i];
}

/* Returns the shortest of several tries, because other programs only make a try longer. */
static double shortest_ms(thread_work work, peak_work *w, size_t threads)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        double start = clock_ms();
        parallel_for(threads, threads, work, w);
        double passed = clock_ms() - start;
        best = i == 0 || passed < best ? passed : best;
    }
    return best;
}

void machine_measure(machine *m, size_t threads, fail *f)
{
    enum { ELEMENTS = 32 << 20 }; /* elements of an array of 128 MiB */
    peak_work w = {.call = widest(), .elements = ELEMENTS, .threads = (int64_t)threads};
    w.results = calloc(threads, sizeof *w.results);
    w.arrays = calloc(3, (size_t)ELEMENTS * sizeof(float));
    if (!w.results || !w.arrays) {
        free(w.results);
        free(w.arrays);
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory: 384 MiB are needed to measure the memory's bandwidth");
    }
    double flops = 2.0 * ACCUMULATORS * ROUNDS * (w.call.bytes / 4.0) * (double)threads;
    double flops_s = flops / shortest_ms(multiply_part, &w, threads) * 1e3;
    shortest_ms(triad_part, &w, threads);
    double bytes_s = 3.0 * ELEMENTS * sizeof(float) / shortest_ms(triad_part, &w, threads) * 1e3;
    m->peak_flops_s = flops_s > m->peak_flops_s ? flops_s : m->peak_flops_s;
    m->bandwidth_bytes_s = bytes_s > m->bandwidth_bytes_s ? bytes_s : m->bandwidth_bytes_s;
    free(w.results);
    free(w.arrays);
}

static void read_name(char *to, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(to, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(to, size, "%.90s", colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

machine machine_of(size_t threads)
{
    machine m = {.cores = (int)threads_available(), .threads = (int)threads};
    read_name(m.cpu, sizeof m.cpu);
    m.memory_mib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1048576;
    return m;
}
