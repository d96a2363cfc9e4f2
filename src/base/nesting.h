/* nesting.h: the limit on recursion.
 *
 * Files nest expressions, blocks, types and graphs, and most readers are recursive. Each reader counts its levels,
 * including function calls, and refuses more than MAX_NESTING; real files have 16 at most. A level takes less than 3
 * KiB of stack, so the library runs on a thread with 256 KiB (tests/suites/nesting.py). The JSON and XML readers do
 * not recurse and have limits of their own. */
#ifndef SOOTH_BASE_NESTING_H
#define SOOTH_BASE_NESTING_H

enum { MAX_NESTING = 64 };

#endif
