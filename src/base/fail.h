/* fail.h: error handling inside the library. Reading a hostile file can fail in thousands of places, and so can every
 * allocation. A failure unwinds with longjmp to the public function, which owns every resource through its sooth_model,
 * so nothing leaks. Only code in src/ uses this. */
#ifndef SOOTH_BASE_FAIL_H
#define SOOTH_BASE_FAIL_H

#include "sooth.h"

#include <setjmp.h>

typedef struct fail {
    jmp_buf jump;       /* Set by the running public function. */
    sooth_error *error; /* Filled before the jump. */
} fail;

/* Returns the error to fill: the caller's, or `own` if the caller passed none. Resets it to SOOTH_OK. */
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

/* Fills the error and jumps. The message states the error, its place and a remedy. */
_Noreturn void fail_with(fail *f, sooth_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
