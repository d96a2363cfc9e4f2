/* nesting.h: the one limit on recursion.
 *
 * A file says how deep its expressions, blocks, types and graphs are nested, and readers follow by recursion. Each of them counts
 * its levels, calls of functions included, and refuses a file with more than MAX_NESTING. A level takes at most 1 KiB of stack
 * in an optimized build, so that the library runs on a thread with 256 KiB (tests/unit/stack_test.c). */
#ifndef SOOTH_BASE_NESTING_H
#define SOOTH_BASE_NESTING_H

enum { MAX_NESTING = 128 };

#endif
