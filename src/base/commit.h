/* commit.h: files that appear when they are complete: written under another name, brought to the disk, renamed. */
#ifndef SOOTH_BASE_COMMIT_H
#define SOOTH_BASE_COMMIT_H

#include <stddef.h>

/* Everything: 0, or errno. */
int write_all(int file, const void *bytes, size_t size);

/* Ends the writing of `file`, which is open under `name`: its bytes reach the disk, then it replaces `path`, then the folder reaches the
 * disk too. A kill or a power cut leaves the old file or the new one. Closes the file in any case. 0, or errno, and `name` is gone. `error`:
 * errno of writes before, 0 if there was none. */
int commit_file(int file, const char *name, const char *path, int error);

#endif
