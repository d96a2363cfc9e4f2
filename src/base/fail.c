#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>

void fail_with(fail *f, sooth_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->error->code = code;
    vsnprintf(f->error->message, sizeof f->error->message, format, args);
    va_end(args);
    longjmp(f->jump, 1);
}

sooth_status error_say(sooth_error *e, sooth_status code, const char *message)
{
    e->code = code;
    snprintf(e->message, sizeof e->message, "%s", message);
    return code;
}
