/* library.h: opens a shared library while the program runs, so that other commands start without loading it. */
#ifndef SOOTH_MEASURE_LIBRARY_H
#define SOOTH_MEASURE_LIBRARY_H

#include "base/fail.h"

#include <stddef.h>

/* Name of a function of the library, and where to store its address. */
typedef struct library_symbol {
    const char *name;
    size_t offset;
} library_symbol;

/* Opens the library and fills in the addresses in `to`. Fails with a hint on what to install. Returns a handle for
 * library_close. */
void *library_open(const char *file, const char *package, const library_symbol *symbols, size_t count, void *to,
                   fail *f);
void library_close(void *handle);
/* True if the library can be opened. */
bool library_is_there(const char *file);

#endif
