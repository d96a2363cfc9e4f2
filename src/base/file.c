#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* What is inflated takes memory, unlike a mapped file; graphs come nowhere near this. */
static const size_t MAX_INFLATED = (size_t)1 << 30;

static void read_stream(file_map *map, fail *f)
{
    size_t capacity = 0;
    for (;;) {
        if (map->size == capacity) {
            if (capacity >= MAX_INFLATED)
                fail_with(f, SOOTH_ERROR_INPUT, "more than 1 GiB come through the pipe; save them to a file first");
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
    /* The reader jumps over weights: reading ahead would load them. */
    if (size > (4u << 20))
        madvise(mapping, size, MADV_RANDOM);
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

/* Inflates all of in[0 … size); returns what went wrong, or NULL. */
static const char *inflate_all(const uint8_t *in, size_t size, uint8_t **result, size_t *result_size)
{
    z_stream z = {0};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
        return "out of memory";
    size_t capacity = size < (1 << 14) ? 1 << 16 : size < MAX_INFLATED / 4 ? size * 4 : MAX_INFLATED, used = 0, fed = 0;
    uint8_t *data = NULL;
    const char *problem = NULL;
    int state = Z_OK;
    while (!problem) {
        if (!data || used == capacity) {
            if (used >= MAX_INFLATED) {
                problem = "it expands to more than 1 GiB; decompress it to a file, which is mapped and not read";
                break;
            }
            capacity = !data ? capacity : capacity < MAX_INFLATED / 2 ? capacity * 2 : MAX_INFLATED;
            uint8_t *larger = realloc(data, capacity);
            if (!larger) {
                problem = "out of memory";
                break;
            }
            data = larger;
        }
        if (z.avail_in == 0 && fed < size) {
            size_t chunk = size - fed < (1u << 30) ? size - fed : 1u << 30;
            z.next_in = (Bytef *)(uintptr_t)(in + fed);
            z.avail_in = (uInt)chunk;
            fed += chunk;
        }
        size_t room = capacity - used < (1u << 30) ? capacity - used : 1u << 30;
        z.next_out = data + used;
        z.avail_out = (uInt)room;
        state = inflate(&z, Z_NO_FLUSH);
        used += room - z.avail_out;
        if (state == Z_STREAM_END) {
            bool more = z.avail_in > 1 && z.next_in[0] == 0x1f && z.next_in[1] == 0x8b; /* gzip files may be joined */
            if (!more || inflateReset(&z) != Z_OK)
                break;
        } else if (state == Z_BUF_ERROR && z.avail_in == 0 && fed == size) {
            problem = "the compressed data end too early; copy the file again";
        } else if (state != Z_OK && state != Z_BUF_ERROR) {
            problem = state == Z_MEM_ERROR ? "out of memory" : "the compressed data are damaged; copy the file again";
        }
    }
    inflateEnd(&z);
    if (problem) {
        free(data);
        return problem;
    }
    *result = data;
    *result_size = used;
    return NULL;
}

void file_inflate(file_map *map, fail *f)
{
    for (int layer = 0; map->size >= 2 && map->bytes[0] == 0x1f && map->bytes[1] == 0x8b; layer++) {
        if (layer == 2)
            fail_with(f, SOOTH_ERROR_INPUT, "is compressed more than twice; decompress it first");
        uint8_t *data;
        size_t size;
        const char *problem = inflate_all(map->bytes, map->size, &data, &size);
        if (problem)
            fail_with(f, strcmp(problem, "out of memory") == 0 ? SOOTH_ERROR_SYSTEM : SOOTH_ERROR_INPUT,
                      "cannot be decompressed: %s", problem);
        free(map->inflated);
        map->inflated = data;
        map->bytes = data;
        map->size = size;
    }
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
