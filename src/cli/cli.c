#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names from a hostile file may carry escape sequences: none of them reaches a terminal. */
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

static int write_failed(const char *subject, int error)
{
    if (error == EPIPE)
        return SOOTH_ERROR_SYSTEM;
    return cli_fail(SOOTH_ERROR_SYSTEM, subject, "cannot be written: %s", strerror(error));
}

int cli_write(const char *path, const void *bytes, size_t size)
{
    bool to_stdout = !path || strcmp(path, "-") == 0;
    const char *subject = to_stdout ? "standard output" : path;
    int file = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return cli_fail(SOOTH_ERROR_SYSTEM, path, "cannot be opened for writing: %s", strerror(errno));
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = errno;
            if (!to_stdout)
                close(file);
            return write_failed(subject, error);
        }
        at += n;
        size -= (size_t)n;
    }
    if (!to_stdout && close(file) != 0)
        return write_failed(subject, errno);
    return SOOTH_OK;
}

int cli_flush(void)
{
    return fflush(stdout) == 0 ? SOOTH_OK : write_failed("standard output", errno);
}
