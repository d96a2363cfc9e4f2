#include "base/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int write_all(int file, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Some file systems do not support fsync; that is not an error. */
static int synced(int file)
{
    while (fsync(file) != 0) {
        if (errno == EINVAL || errno == ENOTSUP || errno == EROFS)
            return 0;
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

static int sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (length >= sizeof folder)
        return ENAMETOOLONG;
    memcpy(folder, slash ? path : ".", slash ? length : 1);
    folder[slash ? length : 1] = '\0';
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES ? 0 : errno; /* The directory can be written but not read. */
    int error = synced(file);
    close(file);
    return error;
}

int commit_file(int file, const char *name, const char *path, int error)
{
    if (!error)
        error = synced(file);
    if (close(file) != 0 && !error)
        error = errno;
    if (!error && rename(name, path) != 0)
        error = errno;
    if (error) {
        unlink(name);
        return error;
    }
    return sync_folder_of(path);
}
