/* journal_fuzz.c: libFuzzer target for the lines of a survey's journal. Checksums are corrected first. A line that was
 * read must be the same after writing and reading. */
#include "plan/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { NETWORKS = 2, ROWS = 2 };

static bool read_line(sooth_survey *s, char *line, size_t *network)
{
    bool is_done[NETWORKS] = {false};
    const sooth_survey_options o = {.network_count = NETWORKS};
    if (!survey_read_line(line, &o, s, is_done))
        return false;
    if (is_done[0] == is_done[1])
        abort();
    *network = is_done[1];
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sooth_survey_row rows[NETWORKS * ROWS];
    char errors[NETWORKS * ROWS * SURVEY_ERROR_ROOM];
    for (int i = 0; i < NETWORKS * ROWS; i++)
        rows[i] = (sooth_survey_row){.error = ""};
    sooth_survey s = {.rows = rows, .row_count = NETWORKS * ROWS, .rows_of_network = ROWS, .errors = errors};
    char *line = malloc(size + 16), *written, *again;
    size_t length = strnlen(memcpy(line, bytes, size), size), network, written_size, again_size;
    sprintf(line + length, " %08lx", (unsigned long)crc32_z(0, (const Bytef *)line, length));
    if (read_line(&s, line, &network)) {
        if (survey_line(&s, network, &written, &written_size) != 0)
            abort();
        written[written_size - 1] = '\0'; /* the newline */
        char *copy = strdup(written);
        if (!read_line(&s, copy, &network) || survey_line(&s, network, &again, &again_size) != 0)
            abort();
        again[again_size - 1] = '\0';
        if (strcmp(written, again) != 0)
            abort();
        free(copy);
        free(written);
        free(again);
    }
    free(line);
    return 0;
}
