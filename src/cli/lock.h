/* lock.h: one writer at a time for a file that takes long to make. */
#ifndef SOOTH_CLI_LOCK_H
#define SOOTH_CLI_LOCK_H

typedef struct output_lock {
    int file; /* -1: none */
    char path[4096];
} output_lock;

/* Takes the lock of `path`: PATH.lock, locked by the kernel, so that a process that was killed holds none. Returns the exit code: another
 * process that holds it is an error, which has been printed. */
int lock_take(output_lock *l, const char *path);
/* Gives it back, and removes the file. */
void lock_release(output_lock *l);

#endif
