/* program.h: runs commands of the program inside a fuzz target, in a temporary directory. Drops messages and answers.
 * */
#ifndef SOOTH_FUZZ_PROGRAM_H
#define SOOTH_FUZZ_PROGRAM_H

#include <stddef.h>

/* Makes the directory, enters it, and removes all files in it. */
void program_begin(void);
void program_write(const char *name, const void *bytes, size_t size);

#endif
