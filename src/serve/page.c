/* page.c: keeps the files of the page in memory, see page.h. */
#include "serve/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t MOST_FILE_BYTES = (off_t)64 << 20;

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } TYPES[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".json", "application/json; charset=utf-8"},
        {".webmanifest", "application/manifest+json"},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(dot, TYPES[i].ending) == 0)
            return TYPES[i].type;
    return NULL;
}

static int read_all(int file, char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(file, bytes + done, size - done);
        if (n == 0)
            return EIO;
        if (n < 0 && errno != EINTR)
            return errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int read_file(page_file *f, int directory, const char *name)
{
    struct stat about;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC), wrong = 0;
    if (file < 0)
        return errno;
    if (fstat(file, &about) != 0)
        wrong = errno;
    else if (!S_ISREG(about.st_mode) || about.st_size > MOST_FILE_BYTES)
        wrong = EFBIG;
    if (!wrong) {
        f->size = (size_t)about.st_size;
        f->bytes = malloc(f->size + 1);
        f->name = strdup(name);
        wrong = f->bytes && f->name ? read_all(file, f->bytes, f->size) : ENOMEM;
    }
    close(file);
    return wrong;
}

int page_read(page *p, const char *directory)
{
    *p = (page){.count = 0};
    DIR *list = opendir(directory);
    if (!list)
        return errno;
    int wrong = 0;
    for (struct dirent *item; !wrong && p->count < MOST_PAGE_FILES && (item = readdir(list));) {
        const char *type = type_of(item->d_name);
        if (!type || item->d_name[0] == '.')
            continue;
        page_file *f = &p->files[p->count++];
        f->type = type;
        wrong = read_file(f, dirfd(list), item->d_name);
    }
    closedir(list);
    if (!wrong && !page_find(p, "/"))
        wrong = ENOENT;
    if (wrong)
        page_free(p);
    return wrong;
}

void page_free(page *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->files[i].name);
        free(p->files[i].bytes);
    }
    p->count = 0;
}

const page_file *page_find(const page *p, const char *url)
{
    const char *name = strcmp(url, "/") == 0 ? "index.html" : url + (*url == '/');
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->files[i].name, name) == 0)
            return &p->files[i];
    return NULL;
}
