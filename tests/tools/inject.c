/* inject.c: a library for LD_PRELOAD that makes the k-th call of one kind fail, for tests/suites/inject.py.
 *
 *     INJECT=KIND:K       malloc, open, read, write, fsync, rename, mmap, thread: fails as a system does
 *                         read-short, write-short, read-again, write-again: one byte, or EINTR; not errors
 *                         shrink: the mapped file becomes empty
 *     INJECT_ALL_AFTER=1  all later calls fail too
 *     INJECT_REPORT=FILE  receives the number of calls and of memory blocks that were not freed */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef enum kind {
    MALLOC,
    OPEN,
    READ,
    WRITE,
    FSYNC,
    RENAME,
    MMAP,
    THREAD,
    READ_SHORT,
    WRITE_SHORT,
    READ_AGAIN,
    WRITE_AGAIN,
    SHRINK,
    NO_KIND,
} kind;

static const char *const NAMES[NO_KIND] = {
    "malloc", "open",       "read",        "write",      "fsync",       "rename", "mmap",
    "thread", "read-short", "write-short", "read-again", "write-again", "shrink",
};

static kind chosen = NO_KIND;
static long failing;
static bool all_after;
static atomic_long calls, live;
static bool is_counting;
static atomic_bool is_ending_registered;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Runs before the program's destructors, where a coverage build writes its counts. */
static void stop(void)
{
    is_counting = false;
}

static bool fails(kind k)
{
    if (!is_counting || k != chosen)
        return false;
    long n = atomic_fetch_add(&calls, 1) + 1;
    bool is_failing = n == failing || (all_after && n > failing);
    if (is_failing && !atomic_exchange(&is_ending_registered, true))
        atexit(stop);
    return is_failing;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("INJECT");
    for (int i = 0; text && i < NO_KIND; i++) {
        size_t length = strlen(NAMES[i]);
        if (strncmp(text, NAMES[i], length) == 0 && text[length] == ':') {
            chosen = (kind)i;
            failing = atol(text + length + 1);
        }
    }
    all_after = getenv("INJECT_ALL_AFTER") != NULL;
    is_counting = true;
}

__attribute__((destructor)) static void end(void)
{
    is_counting = false;
    const char *path = getenv("INJECT_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld %ld\n", (long)calls, (long)live);
        fclose(file);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *counted(void *p)
{
    if (is_counting && p)
        live++;
    return p;
}

void *malloc(size_t size)
{
    if (fails(MALLOC))
        return errno = ENOMEM, NULL;
    return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    if (fails(MALLOC))
        return errno = ENOMEM, NULL;
    return counted(__libc_calloc(count, size));
}

void *realloc(void *p, size_t size)
{
    if (fails(MALLOC))
        return errno = ENOMEM, NULL;
    void *q = __libc_realloc(p, size);
    return p ? q : counted(q);
}

void free(void *p)
{
    if (is_counting && p)
        live--;
    __libc_free(p);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (fails(MMAP))
        return errno = ENOMEM, MAP_FAILED;
    void *(*real)(void *, size_t, int, int, int, off_t) = next("mmap");
    void *p = real(at, size, protection, flags, file, offset);
    if (file >= 0 && fails(SHRINK)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (truncate(path, 0) != 0)
            abort();
    }
    return p;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if (fails(OPEN))
        return errno = EMFILE, -1;
    int (*real)(const char *, int, ...) = next("open");
    return real(path, flags, mode);
}

int mkstemp(char *template)
{
    if (fails(OPEN))
        return errno = EMFILE, -1;
    int (*real)(char *) = next("mkstemp");
    return real(template);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    if (fails(OPEN))
        return errno = EMFILE, NULL;
    FILE *(*real)(const char *, const char *) = next("fopen");
    return real(path, mode);
}

DIR *opendir(const char *path)
{
    if (fails(OPEN))
        return errno = EMFILE, NULL;
    DIR *(*real)(const char *) = next("opendir");
    return real(path);
}

ssize_t read(int file, void *bytes, size_t size)
{
    if (fails(READ))
        return errno = EIO, -1;
    if (fails(READ_AGAIN))
        return errno = EINTR, -1;
    ssize_t (*real)(int, void *, size_t) = next("read");
    return real(file, bytes, size > 1 && fails(READ_SHORT) ? 1 : size);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    if (fails(WRITE))
        return errno = ENOSPC, -1;
    if (fails(WRITE_AGAIN))
        return errno = EINTR, -1;
    ssize_t (*real)(int, const void *, size_t) = next("write");
    return real(file, bytes, size > 1 && fails(WRITE_SHORT) ? 1 : size);
}

int fsync(int file)
{
    if (fails(FSYNC))
        return errno = EIO, -1;
    int (*real)(int) = next("fsync");
    return real(file);
}

int rename(const char *from, const char *to)
{
    if (fails(RENAME))
        return errno = EIO, -1;
    int (*real)(const char *, const char *) = next("rename");
    return real(from, to);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
    if (fails(THREAD))
        return EAGAIN;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = next("pthread_create");
    return real(thread, how, run, argument);
}
