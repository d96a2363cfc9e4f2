/* answer_fuzz.c: libFuzzer target for whole requests to `sooth serve`. The first line of an input is the route, with
 * "json" if the body is JSON; the pairs of the query follow, one in each line; after an empty line the body. Each
 * request is made twice, and the second one uses the kept model: both answers must be equal. */
#include "invariants.h"
#include "serve/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_PAIRS = 64, MOST_COMMAS = 12, MOST_BODY_LINES = 16 };

static sooth_gpus *gpus;

typedef struct input {
    char *text; /* with zeros after keys and values */
    route route;
    bool is_json;
    pair pairs[MOST_PAIRS];
    size_t pair_count;
    const char *body;
    size_t body_size;
} input;

static void set_route(input *in, const char *line)
{
    static const char *const NAMES[] = {"predict", "inspect", "mig", "convert", "batch", "gpus", "zoo"};
    in->is_json = strstr(line, " json") != NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strncmp(line, NAMES[i], strlen(NAMES[i])) == 0)
            in->route = (route)i;
}

/* False if the request takes too many predictions for a fuzzer. */
static bool is_small(const uint8_t *bytes, size_t size)
{
    size_t commas = 0, lines = 0;
    for (size_t i = 0; i < size && i < 4096; i++) {
        commas += bytes[i] == ',';
        lines += bytes[i] == '\n';
    }
    return commas <= MOST_COMMAS || lines > MOST_BODY_LINES + MOST_PAIRS;
}

static void split(input *in, const uint8_t *bytes, size_t size)
{
    char *at = in->text = malloc(size + 1);
    memcpy(at, bytes, size);
    at[size] = '\0';
    const char *end = at + size;
    for (bool is_first = true; at < end; is_first = false) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : (char *)(uintptr_t)end;
        if (stop == at && !is_first) {
            in->body = at + 1;
            in->body_size = at + 1 < end ? (size_t)(end - at - 1) : 0;
            return;
        }
        *stop = '\0';
        char *equals = strchr(at, '=');
        if (is_first) {
            set_route(in, at);
        } else if (in->pair_count < MOST_PAIRS) {
            if (equals)
                *equals = '\0';
            in->pairs[in->pair_count++] = (pair){at, equals ? equals + 1 : ""};
        }
        at = stop + 1;
    }
}

/* Each line is a JSON text of its own. */
static void check_lines(const response *out)
{
    for (size_t at = 0; at < out->size;) {
        size_t length = strcspn(out->bytes + at, "\n");
        char *line = strndup(out->bytes + at, length);
        check_text(line, length, SOOTH_FORMAT_JSON);
        free(line);
        at += length + 1;
    }
}

static void check_answer(const response *out)
{
    static const unsigned STATUSES[] = {200, 400, 413, 415, 422, 503};
    bool is_known = false;
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++)
        is_known |= out->status == STATUSES[i];
    if (!is_known || !out->type || !out->bytes)
        broken("status %u, type %s", out->status, out->type ? out->type : "(none)");
    if (strncmp(out->type, "application/json", 16) == 0)
        check_text(out->bytes, out->size, SOOTH_FORMAT_JSON);
    else if (strncmp(out->type, "text/csv", 8) == 0)
        check_text(out->bytes, out->size, SOOTH_FORMAT_CSV);
    else if (strncmp(out->type, "text/plain", 10) == 0)
        check_text(out->bytes, out->size, SOOTH_FORMAT_TABLE);
    if (strcmp(out->type, "application/x-ndjson") == 0)
        check_lines(out);
}

static response ask(const answerer *a, const input *in)
{
    request r = {.route = in->route,
                 .pairs = in->pairs,
                 .pair_count = in->pair_count,
                 .is_json = in->is_json,
                 .body_size = in->body_size};
    response out;
    if (in->body_size)
        r.body = memcpy(malloc(in->body_size), in->body, in->body_size);
    answer_request(a, &r, &out);
    if (r.body)
        broken("the body was not freed");
    check_answer(&out);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!gpus && sooth_gpus_open(NULL, &gpus, NULL) != SOOTH_OK)
        abort();
    if (!is_small(bytes, size))
        return -1;
    input in = {.text = NULL};
    split(&in, bytes, size);
    const answerer a = {.kept = kept_open((size_t)64 << 20), .gpus = gpus};
    response first = ask(&a, &in), second = ask(&a, &in);
    /* Answers with a layout of slices may differ, because the search has a time limit. */
    if (in.route != ROUTE_MIG && first.status != 503 && second.status != 503 &&
        (first.status != second.status || first.size != second.size ||
         memcmp(first.bytes, second.bytes, first.size) != 0))
        broken("two answers differ: %u '%.300s' and %u '%.300s'", first.status, first.bytes, second.status,
               second.bytes);
    free(first.bytes);
    free(second.bytes);
    kept_close(a.kept);
    free(in.text);
    return 0;
}
