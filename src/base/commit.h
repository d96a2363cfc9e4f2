/* commit.h: writes files atomically: under a temporary name, flushed to disk, then renamed. */
#ifndef SOOTH_BASE_COMMIT_H
#define SOOTH_BASE_COMMIT_H

#include <stddef.h>

/* Writes all bytes. Returns 0 or errno. */
int write_all(int file, const void *bytes, size_t size);

/* Completes `file`, open under `name`: flushes it, renames it to `path`, flushes the folder. A crash leaves the old
 * file or the new one. Always closes the file; on an error removes `name` and returns errno, else 0. `error`: errno
 * of earlier writes, or 0. */
int commit_file(int file, const char *name, const char *path, int error);

#endif
