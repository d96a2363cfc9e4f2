/* page.h: the files of the page, read into memory once. A request names one of them; it never names a path. */
#ifndef SOOTH_SERVE_PAGE_H
#define SOOTH_SERVE_PAGE_H

#include <stddef.h>

enum { MOST_PAGE_FILES = 128 };

typedef struct page_file {
    char *name; /* "index.html" */
    const char *type;
    char *bytes;
    size_t size;
} page_file;

typedef struct page {
    page_file files[MOST_PAGE_FILES];
    size_t count;
} page;

/* Reads the files of the directory that a page consists of (HTML, CSS, JavaScript, WebAssembly, SVG, PNG, JSON).
 * Returns 0, or errno. */
int page_read(page *p, const char *directory);
void page_free(page *p);
/* Finds "/" or "/NAME"; NULL if there is no such file. */
const page_file *page_find(const page *p, const char *url);

#endif
