/* kept.h: models that stay loaded between requests, by the digest of their bytes. The least recently used go first
 * when the limit of bytes is reached. Thread-safe. */
#ifndef SOOTH_SERVE_KEPT_H
#define SOOTH_SERVE_KEPT_H

#include "base/sha256.h"

#include "sooth.h"

typedef struct kept kept;

/* A model for one request at a time. */
typedef struct kept_handle {
    struct kept_entry *entry;
    sooth_model *model;
    char *bound; /* dimensions to which it is bound, as text; NULL if it is not bound */
} kept_handle;

/* Creates a store for up to this many bytes of files and models. Returns NULL if out of memory. */
kept *kept_open(size_t most_bytes);
void kept_close(kept *k); /* All handles must have been returned. */

/* Takes ownership of the bytes of a file (from malloc), loads it and returns a handle; `digest` receives its name.
 * Frees the bytes on failure. */
sooth_status kept_add(kept *k, void *bytes, size_t size, const char *name, char digest[SHA256_TEXT],
                      kept_handle *handle, sooth_error *error);
/* Returns a handle for a network of the zoo ("zoo:NAME") or for the digest of a kept file. SOOTH_ERROR_USAGE: there
 * is no such model, or it was removed. */
sooth_status kept_find(kept *k, const char *name, kept_handle *handle, sooth_error *error);
/* Returns the handle to the store, for the next request. */
void kept_return(kept *k, kept_handle *handle);

void kept_figures(kept *k, size_t *models, size_t *bytes);

#endif
