/* nesting.h: the one limit on recursion.
 *
 * A file says how deep its expressions, blocks, types and graphs are nested, and readers follow by recursion. Each of them counts
 * its levels, calls of functions included, and refuses a file with more than MAX_NESTING; real files have 16 at most. A level
 * takes less than 3 KiB of stack, so that the library runs on a thread with 256 KiB (tests/suites/nesting.py). Readers of JSON
 * and XML do not recurse and have limits of their own. */
#ifndef SOOTH_BASE_NESTING_H
#define SOOTH_BASE_NESTING_H

enum { MAX_NESTING = 64 };

#endif
