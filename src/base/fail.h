/* fail.h: the way in which functions inside the library fail.
 *
 * Reading a hostile file can fail in thousands of places, and so can every allocation. Checks after each call would
 * hide the logic, so a failure unwinds with longjmp to the public function that was called. That function owns every
 * resource through its sooth_model, so nothing leaks. Only code in src/ sees this. */
#ifndef SOOTH_BASE_FAIL_H
#define SOOTH_BASE_FAIL_H

#include "sooth.h"

#include <setjmp.h>

typedef struct fail {
    jmp_buf jump;       /* set by the running public function */
    sooth_error *error; /* filled before the jump */
} fail;

/* The error to fill: the caller's, or `own` if the caller passes none. Resets it to SOOTH_OK. */
static inline sooth_error *error_or(sooth_error *given, sooth_error *own)
{
    sooth_error *e = given ? given : own;
    *e = (sooth_error){.code = SOOTH_OK};
    return e;
}

/* Fills the error without a jump. Returns the code. */
sooth_status error_say(sooth_error *e, sooth_status code, const char *message);

/* Adds to the error's message. */
void error_add(sooth_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the error and jumps. The message says what is wrong, where, and what to do. */
_Noreturn void fail_with(fail *f, sooth_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
