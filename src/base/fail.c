#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces control characters, which names from a file may contain, so that the message is one line and safe to
 * print on a terminal. */
static void make_one_line(char *message)
{
    for (unsigned char *c = (unsigned char *)message; *c; c++)
        if (*c < ' ' || *c == 0x7f)
            *c = '?';
}

void fail_with(fail *f, sooth_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->error->code = code;
    vsnprintf(f->error->message, sizeof f->error->message, format, args);
    va_end(args);
    make_one_line(f->error->message);
    longjmp(f->jump, 1);
}

sooth_status error_say(sooth_error *e, sooth_status code, const char *message)
{
    e->code = code;
    snprintf(e->message, sizeof e->message, "%s", message);
    make_one_line(e->message);
    return code;
}

void error_add(sooth_error *e, const char *format, ...)
{
    va_list args;
    size_t used = strlen(e->message);
    va_start(args, format);
    vsnprintf(e->message + used, sizeof e->message - used, format, args);
    va_end(args);
    make_one_line(e->message);
}
