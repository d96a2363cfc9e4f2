#include "cli/cli.h"
#include "base/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Replaces escape sequences, which names from a hostile file may contain and which must not reach a terminal. */
static void print_clean(const char *format, va_list args)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    fputs(line, stderr);
}

int cli_fail(sooth_status code, const char *subject, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "sooth: %s: ", subject);
    print_clean(format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "sooth%s%s: ", *command ? " " : "", command);
    print_clean(format, args);
    va_end(args);
    fprintf(stderr, "; see `sooth%s%s --help`\n", *command ? " " : "", command);
    return SOOTH_ERROR_USAGE;
}

int cli_open_gpus(sooth_gpus **gpus)
{
    sooth_error error;
    const char *directory = getenv("SOOTH_GPUS");
    if (sooth_gpus_open(directory && *directory ? directory : NULL, gpus, &error) == SOOTH_OK)
        return SOOTH_OK;
    return cli_fail(error.code, directory ? "SOOTH_GPUS" : "gpus", "%s", error.message);
}

static int write_failed(const char *subject, int error)
{
    if (error == EPIPE)
        return SOOTH_ERROR_SYSTEM;
    return cli_fail(SOOTH_ERROR_SYSTEM, subject, "cannot be written: %s", strerror(error));
}

/* Opens a temporary file beside the path. Returns -1 if that fails, or if the path is not a regular file (a pipe, a
 * link). */
static int open_beside(const char *path, char *name, size_t room)
{
    struct stat old;
    bool exists = lstat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return -1;
    if (snprintf(name, room, "%s.XXXXXX", path) >= (int)room)
        return -1;
    int file = mkstemp(name);
    mode_t mask = umask(0);
    umask(mask);
    if (file >= 0 && fchmod(file, exists ? old.st_mode & 07777 : 0666 & ~mask) != 0)
        return close(file), unlink(name), -1;
    return file;
}

static bool is_standard_output(const cli_output *o)
{
    return !o->path || strcmp(o->path, "-") == 0;
}

static int open_output(cli_output *o)
{
    if (is_standard_output(o))
        return STDOUT_FILENO;
    int file = open_beside(o->path, o->name, sizeof o->name);
    if (file >= 0)
        return file;
    o->name[0] = '\0';
    return open(o->path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

bool cli_put(void *output, const char *bytes, size_t size)
{
    cli_output *o = output;
    if (!o->file && !o->error) {
        o->file = open_output(o) + 1;
        o->error = o->file ? 0 : errno;
    }
    if (!o->error)
        o->error = write_all(o->file - 1, bytes, size);
    return !o->error;
}

int cli_end(cli_output *o, bool done)
{
    if (!o->file && o->error)
        return cli_fail(SOOTH_ERROR_SYSTEM, o->path, "cannot be opened for writing: %s", strerror(o->error));
    int error = o->error;
    if (o->file && !is_standard_output(o)) {
        if (o->name[0])
            error = commit_file(o->file - 1, o->name, o->path, done || error ? error : ECANCELED);
        else if (close(o->file - 1) != 0 && !error)
            error = errno;
    }
    if (!done && !o->error) /* After a failure of its own, the caller reports the error. */
        return SOOTH_OK;
    return error ? write_failed(is_standard_output(o) ? "standard output" : o->path, error) : SOOTH_OK;
}

int cli_write(const char *path, const void *bytes, size_t size)
{
    cli_output o = {.path = path};
    cli_put(&o, bytes, size);
    return cli_end(&o, true);
}

int cli_report(const char *subject, const char *output, sooth_status status, const sooth_error *error, char *text,
               size_t size)
{
    if (status != SOOTH_OK)
        return cli_fail(status, subject, "%s", error->message);
    int code = cli_write(output, text, size);
    free(text);
    return code;
}

int cli_flush(void)
{
    return fflush(stdout) == 0 ? SOOTH_OK : write_failed("standard output", errno);
}
