#include "cli/lock.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the descriptor still is the file of that name: its previous holder may have removed the file after it was
 * opened and before it was locked. */
static bool is_named(const output_lock *l)
{
    struct stat own, named;
    return fstat(l->file, &own) == 0 && stat(l->path, &named) == 0 && own.st_ino == named.st_ino &&
           own.st_dev == named.st_dev;
}

static int taken_by_another(output_lock *l, const char *command, const char *path)
{
    struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool is_known = fcntl(l->file, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0;
    close(l->file);
    l->file = -1;
    if (is_known)
        return cli_fail(SOOTH_ERROR_SYSTEM, path,
                        "another 'sooth %s' (process %ld) is writing it: wait for that or name another file with -o",
                        command, (long)holder.l_pid);
    return cli_fail(SOOTH_ERROR_SYSTEM, path,
                    "another 'sooth %s' is writing it: wait for that or name another file with -o", command);
}

int lock_take(output_lock *l, const char *command, const char *path)
{
    l->file = -1;
    if (snprintf(l->path, sizeof l->path, "%s.lock", path) >= (int)sizeof l->path)
        return cli_usage(command, "the path of -o is too long");
    struct stat status;
    if (strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
        return SOOTH_OK; /* a pipe or a device needs no lock */
    for (;;) {
        l->file = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (l->file < 0)
            return cli_fail(SOOTH_ERROR_SYSTEM, l->path, "cannot be written: %s", strerror(errno));
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(l->file, F_SETLK, &all) != 0) {
            if (errno == EACCES || errno == EAGAIN)
                return taken_by_another(l, command, path);
            if (errno != EINTR)
                return SOOTH_OK; /* the file system does not support locks */
        } else if (is_named(l)) {
            return SOOTH_OK;
        }
        close(l->file);
    }
}

void lock_release(output_lock *l)
{
    if (l->file < 0)
        return;
    unlink(l->path);
    close(l->file);
    l->file = -1;
}
