#include "base/file.h"
#include "base/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit on piped data, which take memory, unlike a mapped file. Graphs are far smaller. */
static const size_t MAX_PIPED = (size_t)1 << 30;

static void read_stream(file_map *map, fail *f)
{
    size_t capacity = 0;
    for (;;) {
        if (map->size == capacity) {
            if (capacity >= MAX_PIPED)
                fail_with(f, SOOTH_ERROR_INPUT, "more than 1 GiB comes through the pipe; save it to a file first");
            capacity = capacity ? capacity * 2 : 1 << 16;
            uint8_t *larger = realloc(map->inflated, capacity);
            if (!larger)
                fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory while reading %zu bytes", capacity);
            map->inflated = larger;
        }
        ssize_t n = read(map->descriptor, map->inflated + map->size, capacity - map->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be read: %s", strerror(errno));
        if (n == 0)
            break;
        map->size += (size_t)n;
    }
    map->bytes = map->inflated;
}

static void map_file(file_map *map, size_t size, fail *f)
{
    void *mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, map->descriptor, 0);
    if (mapping == MAP_FAILED)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be mapped: %s", strerror(errno));
    map->mapping = mapping;
    map->mapping_size = map->size = size;
    map->bytes = mapping;
    /* Disables read-ahead, which would load the weights that the reader skips. */
    if (size > (4u << 20))
        madvise(mapping, size, MADV_RANDOM);
}

void file_let_go(file_map *map)
{
    if (map->mapping && map->mapping_size > (4u << 20))
        madvise(map->mapping, map->mapping_size, MADV_DONTNEED);
}

static void close_descriptor(file_map *map)
{
    if (map->descriptor >= 0)
        close(map->descriptor);
    map->descriptor = -1;
}

void file_open(file_map *map, const char *path, fail *f)
{
    *map = (file_map){.descriptor = -1};
    map->descriptor = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (map->descriptor < 0 || fstat(map->descriptor, &status) != 0)
        fail_with(f, SOOTH_ERROR_SYSTEM, "cannot be opened: %s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        fail_with(f, SOOTH_ERROR_INPUT, "is a directory; give the file inside it");
    if (!S_ISREG(status.st_mode))
        read_stream(map, f);
    else if (status.st_size > 0)
        map_file(map, (size_t)status.st_size, f);
    close_descriptor(map);
}

void file_of_memory(file_map *map, const void *bytes, size_t size)
{
    *map = (file_map){.bytes = bytes, .size = size, .descriptor = -1};
}

void file_inflate(file_map *map, fail *f)
{
    if (!gunzip_is_packed(map->bytes, map->size))
        return;
    uint8_t *data;
    size_t size;
    bool is_out_of_memory;
    const char *problem = gunzip_all(map->bytes, map->size, &data, &size, &is_out_of_memory);
    if (problem)
        fail_with(f, is_out_of_memory ? SOOTH_ERROR_SYSTEM : SOOTH_ERROR_INPUT, "cannot be decompressed: %s", problem);
    free(map->inflated);
    map->inflated = data;
    map->bytes = data;
    map->size = size;
}

bool file_is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

void file_close(file_map *map)
{
    if (map->mapping)
        munmap(map->mapping, map->mapping_size);
    close_descriptor(map);
    free(map->inflated);
    *map = (file_map){.descriptor = -1};
}
