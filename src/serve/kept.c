/* kept.c: keeps models loaded for later requests, see kept.h. An entry has the bytes of its file, which its models
 * refer to, and idle models: a model answers one request at a time, so parallel requests load further ones. */
#include "serve/kept.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDLE = 8, BYTES_PER_LAYER = 4096, BYTES_PER_MODEL = 64 << 10, BYTES_PER_ENTRY = 1024 };

struct kept_entry {
    struct kept_entry *older, *newer;
    char *key; /* "zoo:NAME" or a digest */
    char *name;
    void *bytes; /* NULL for the zoo */
    size_t size;
    size_t counted; /* Bytes of the file and idle models, which count towards the limit. */
    size_t users;   /* Number of handles in use. */
    kept_handle idle[MOST_IDLE];
    size_t idle_count;
    size_t model_bytes; /* estimated bytes of one model */
};
typedef struct kept_entry entry;

struct kept {
    pthread_mutex_t lock;
    entry *newest, *oldest;
    size_t count, bytes, most_bytes;
};

kept *kept_open(size_t most_bytes)
{
    kept *k = calloc(1, sizeof *k);
    if (k && pthread_mutex_init(&k->lock, NULL) != 0) {
        free(k);
        return NULL;
    }
    if (k)
        k->most_bytes = most_bytes;
    return k;
}

static void free_handle(kept_handle *h)
{
    sooth_free(h->model);
    free(h->bound);
}

static void free_entry(entry *e)
{
    for (size_t i = 0; i < e->idle_count; i++)
        free_handle(&e->idle[i]);
    free(e->bytes);
    free(e->name);
    free(e->key);
    free(e);
}

void kept_close(kept *k)
{
    if (!k)
        return;
    for (entry *e = k->newest, *older; e; e = older) {
        older = e->older;
        free_entry(e);
    }
    pthread_mutex_destroy(&k->lock);
    free(k);
}

/* ---- the list, under the lock ------------------------------------------------------------------------------------ */

static void take_out(kept *k, entry *e)
{
    *(e->newer ? &e->newer->older : &k->newest) = e->older;
    *(e->older ? &e->older->newer : &k->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void put_first(kept *k, entry *e)
{
    e->older = k->newest;
    *(k->newest ? &k->newest->newer : &k->oldest) = e;
    k->newest = e;
}

static entry *find(kept *k, const char *key)
{
    for (entry *e = k->newest; e; e = e->older)
        if (strcmp(e->key, key) == 0) {
            take_out(k, e);
            put_first(k, e);
            return e;
        }
    return NULL;
}

/* Removes the oldest unused models until the limit holds. The caller frees the removed ones without the lock. */
static entry *shrink(kept *k)
{
    entry *dropped = NULL;
    for (entry *e = k->oldest, *newer; e && k->bytes > k->most_bytes; e = newer) {
        newer = e->newer;
        if (e->users)
            continue;
        take_out(k, e);
        k->count--;
        k->bytes -= e->counted;
        e->older = dropped;
        dropped = e;
    }
    return dropped;
}

static void free_dropped(entry *dropped)
{
    for (entry *next; dropped; dropped = next) {
        next = dropped->older;
        free_entry(dropped);
    }
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static sooth_status load(const entry *e, sooth_model **model, sooth_error *error)
{
    return e->bytes ? sooth_load_memory(e->bytes, e->size, e->name, model, error)
                    : sooth_load_file(e->key, model, error);
}

/* Returns an idle model of the entry, or a new one. Counts the entry as used, so that it is not removed. */
static sooth_status hand_out(kept *k, entry *e, kept_handle *handle, sooth_error *error)
{
    *handle = (kept_handle){.entry = e};
    pthread_mutex_lock(&k->lock);
    if (e->idle_count) {
        *handle = e->idle[--e->idle_count];
        size_t less = e->model_bytes < e->counted ? e->model_bytes : e->counted;
        e->counted -= less;
        k->bytes -= less;
    }
    pthread_mutex_unlock(&k->lock);
    if (handle->model)
        return SOOTH_OK;
    sooth_status status = load(e, &handle->model, error);
    if (status != SOOTH_OK) {
        pthread_mutex_lock(&k->lock);
        e->users--;
        pthread_mutex_unlock(&k->lock);
    }
    return status;
}

static entry *new_entry(const char *key, const char *name, void *bytes, size_t size)
{
    entry *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->key = strdup(key);
    e->name = strdup(name ? name : "the body");
    if (!e->key || !e->name) {
        free(e->key);
        free(e->name);
        free(e);
        return NULL;
    }
    e->bytes = bytes;
    e->size = size;
    e->counted = size + BYTES_PER_ENTRY;
    e->users = 1;
    return e;
}

/* Adds an entry with its first model. If another request has added the same entry meanwhile, joins that one. */
static void add_entry(kept *k, entry *made, kept_handle *handle)
{
    entry *extra = NULL;
    pthread_mutex_lock(&k->lock);
    entry *e = find(k, made->key);
    if (!e) {
        e = made;
        put_first(k, e);
        k->count++;
        k->bytes += e->counted;
    } else if (!made->bytes) {
        e->users++;
        extra = made;
        handle->entry = e;
    } /* Otherwise the entry's model refers to its own bytes, so it stays out of the list until it is returned. */
    entry *dropped = shrink(k);
    pthread_mutex_unlock(&k->lock);
    free_dropped(dropped);
    if (extra)
        free_entry(extra);
}

static sooth_status add(kept *k, const char *key, const char *name, void *bytes, size_t size, kept_handle *handle,
                        sooth_error *error)
{
    entry *e = new_entry(key, name, bytes, size);
    if (!e) {
        free(bytes);
        *error = (sooth_error){SOOTH_ERROR_SYSTEM, "out of memory"};
        return SOOTH_ERROR_SYSTEM;
    }
    *handle = (kept_handle){.entry = e};
    sooth_status status = load(e, &handle->model, error);
    if (status != SOOTH_OK) {
        free_entry(e);
        return status;
    }
    add_entry(k, e, handle);
    return SOOTH_OK;
}

static entry *find_and_use(kept *k, const char *key)
{
    pthread_mutex_lock(&k->lock);
    entry *e = find(k, key);
    if (e)
        e->users++;
    pthread_mutex_unlock(&k->lock);
    return e;
}

sooth_status kept_add(kept *k, void *bytes, size_t size, const char *name, char digest[SHA256_TEXT],
                      kept_handle *handle, sooth_error *error)
{
    sha256_text(bytes, size, digest);
    entry *e = find_and_use(k, digest);
    if (!e)
        return add(k, digest, name, bytes, size, handle, error);
    free(bytes);
    return hand_out(k, e, handle, error);
}

sooth_status kept_find(kept *k, const char *name, kept_handle *handle, sooth_error *error)
{
    bool in_zoo = strncmp(name, "zoo:", 4) == 0;
    entry *e = find_and_use(k, in_zoo ? name : name + strlen("kept:"));
    if (e)
        return hand_out(k, e, handle, error);
    if (in_zoo)
        return add(k, name, name, NULL, 0, handle, error);
    error->code = SOOTH_ERROR_USAGE;
    snprintf(error->message, sizeof error->message, "%.80s is not kept, or no longer kept: send the file again", name);
    return SOOTH_ERROR_USAGE;
}

void kept_return(kept *k, kept_handle *handle)
{
    entry *e = handle->entry;
    if (!handle->model)
        return;
    size_t layers = handle->bound ? sooth_layer_count(handle->model) : 0;
    bool is_kept = false, is_listed;
    pthread_mutex_lock(&k->lock);
    is_listed = e->older || e->newer || k->newest == e;
    e->users--;
    e->model_bytes = BYTES_PER_MODEL + layers * BYTES_PER_LAYER;
    if (is_listed && e->idle_count < MOST_IDLE) {
        e->idle[e->idle_count++] = *handle;
        e->counted += e->model_bytes;
        k->bytes += e->model_bytes;
        is_kept = true;
    }
    entry *dropped = shrink(k);
    pthread_mutex_unlock(&k->lock);
    free_dropped(dropped);
    if (!is_kept)
        free_handle(handle);
    if (!is_listed)
        free_entry(e);
    *handle = (kept_handle){.entry = NULL};
}

void kept_figures(kept *k, size_t *models, size_t *bytes)
{
    pthread_mutex_lock(&k->lock);
    *models = k->count;
    *bytes = k->bytes;
    pthread_mutex_unlock(&k->lock);
}
