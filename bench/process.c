/* process.c: measures the time and memory of a whole process.
 *
 *     process RUNS COMMAND [ARGUMENT…]
 *
 * Runs the command and discards its output; exit code 1 (the answer is no) is accepted. Prints one line: the fastest
 * and the median time in milliseconds, the largest resident size in KiB, the least CPU time in milliseconds, which
 * is less sensitive to other load. In C, because a child's peak includes its parent's memory before exec. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double ms_of(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? atoi(argv[1]) : 0;
    if (runs < 1 || runs > 10000)
        return fprintf(stderr, "usage: process RUNS COMMAND [ARGUMENT…]\n"), 2;
    static double times[10000];
    long peak_kib = 0;
    double least_cpu_ms = 1e300;
    for (int i = 0; i < runs; i++) {
        double start = now_ms();
        pid_t child = fork();
        if (child == 0) {
            int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, 1);
            execv(argv[2], argv + 2);
            _exit(127);
        }
        int status;
        struct rusage usage;
        if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
            return fprintf(stderr, "process: %s failed\n", argv[2]), 1;
        times[i] = now_ms() - start;
        if (usage.ru_maxrss > peak_kib)
            peak_kib = usage.ru_maxrss;
        double cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
        if (cpu_ms < least_cpu_ms)
            least_cpu_ms = cpu_ms;
    }
    qsort(times, (size_t)runs, sizeof *times, ascending);
    printf("%.3f %.3f %ld %.3f\n", times[0], times[runs / 2], peak_kib, least_cpu_ms);
    return 0;
}
