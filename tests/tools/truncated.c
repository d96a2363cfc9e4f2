/* truncated.c: loads a file truncated at every length, each time from memory that ends there, and prints how often it
 * was read and refused. A refusal without a clear message, or one that takes too long, is printed with its length, and
 * the exit code is 1.
 *
 *     truncated FILE LIMIT_S */
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns NULL, or what is wrong with the refusal. */
static const char *try_prefix(const uint8_t *bytes, size_t size, size_t *refused, sooth_error *error)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return "out of memory";
    memcpy(copy, bytes, size);
    *error = (sooth_error){0};
    sooth_model *model;
    sooth_status status = sooth_load_memory(copy, size, "cut", &model, error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, NULL, error);
    sooth_free(model);
    free(copy);
    if (status == SOOTH_OK)
        return NULL;
    ++*refused;
    if (status != SOOTH_ERROR_INPUT && status != SOOTH_ERROR_UNSUPPORTED)
        return "neither damaged nor unsupported";
    return strchr(error->message, '\n') ? "more than a line" : !strstr(error->message, "; ") ? "no advice" : NULL;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!f) {
        fprintf(stderr, "usage: truncated FILE LIMIT_S\n");
        return 2;
    }
    static uint8_t bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, f), refused = 0;
    double limit_s = atof(argv[2]);
    fclose(f);
    for (size_t n = 0; n < size; n++) {
        sooth_error error;
        double began_s = now_s();
        const char *wrong = try_prefix(bytes, n, &refused, &error);
        if (!wrong && now_s() - began_s > limit_s)
            wrong = "too slow";
        if (wrong) {
            printf("%s at length %zu of %zu: %s\n", wrong, n, size, error.message);
            return 1;
        }
    }
    printf("%zu refused, %zu read\n", refused, size - refused);
    return 0;
}
