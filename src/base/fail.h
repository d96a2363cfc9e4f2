/* fail.h: the one way in which work inside the library is given up.
 *
 * Reading a hostile file can fail at thousands of places, and every allocation can fail. Checking each by
 * hand hides the logic, so a failure unwinds with longjmp to the public function that began the work. That
 * function owns every resource through its sooth_model, so nothing leaks. Nothing outside src/ ever sees this. */
#ifndef SOOTH_BASE_FAIL_H
#define SOOTH_BASE_FAIL_H

#include "sooth.h"

#include <setjmp.h>

typedef struct fail {
    jmp_buf jump;       /* set by the public function that is running */
    sooth_error *error; /* filled before the jump */
} fail;

/* The error that a public function fills: the caller's, or its own where the caller wants none. It says SOOTH_OK now. */
static inline sooth_error *error_or(sooth_error *given, sooth_error *own)
{
    sooth_error *e = given ? given : own;
    *e = (sooth_error){.code = SOOTH_OK};
    return e;
}

/* Fills the error with a message that needs no jump. Returns the code. */
sooth_status error_say(sooth_error *e, sooth_status code, const char *message);

/* Adds to the error's message. */
void error_add(sooth_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the error and jumps. The message says what is wrong, where, and what to do. */
_Noreturn void fail_with(fail *f, sooth_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
