/* program.h: commands of the program inside of a fuzz target. Files are in a directory of their own, messages and
 * answers are dropped. */
#ifndef SOOTH_FUZZ_PROGRAM_H
#define SOOTH_FUZZ_PROGRAM_H

#include <stddef.h>

/* Makes the directory and enters it; removes all files that are there. */
void program_begin(void);
void program_write(const char *name, const void *bytes, size_t size);

#endif
