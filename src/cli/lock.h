/* lock.h: lets only one process at a time write a file that takes long to compute. */
#ifndef SOOTH_CLI_LOCK_H
#define SOOTH_CLI_LOCK_H

typedef struct output_lock {
    int file; /* -1: none */
    char path[4096];
} output_lock;

/* Takes the lock of `path` for `sooth COMMAND`: PATH.lock, locked by the kernel, so a killed process holds none.
 * Returns the exit code; if another process holds it, the error is printed. */
int lock_take(output_lock *l, const char *command, const char *path);
/* Releases it and removes the file. */
void lock_release(output_lock *l);

#endif
