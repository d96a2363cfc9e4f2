/* command_fuzz.c: libFuzzer target for the commands that the page runs (web/sooth_web.c). An input is an argument in
 * each line, then an empty line and the contents of the file "model". */
#include "invariants.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

#pragma clang diagnostic ignored "-Wunknown-attributes"
#include "../web/sooth_web.c"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_WORDS = 24, MOST_COMMAS = 8 };

/* True for words without a slash and for names of networks; other words could be paths to write to. */
static bool is_harmless(const char *word)
{
    return !strchr(word, '/') || (strncmp(word, "zoo:", 4) == 0 && !strstr(word, ".."));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *words[MOST_WORDS + 1], *text = malloc(size + 1), *at = text;
    int count = 0;
    size_t commas = 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    while (at < text + size && *at != '\n') {
        char *end = memchr(at, '\n', (size_t)(text + size - at));
        end = end ? end : text + size;
        *end = '\0';
        for (const char *c = at; *c; c++)
            commas += *c == ',';
        if (count == MOST_WORDS || commas > MOST_COMMAS || !is_harmless(at)) {
            free(text);
            return -1;
        }
        words[count++] = at;
        at = end + 1;
    }
    words[count] = NULL;
    program_begin();
    if (at < text + size)
        program_write("model", at + 1, (size_t)(text + size - at - 1));
    int code = sooth_run(count, words);
    if (code < SOOTH_OK || code > SOOTH_ERROR_SYSTEM)
        broken("%s ends with %d", count ? words[0] : "", code);
    free(text);
    return 0;
}
