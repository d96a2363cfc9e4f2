/* question_fuzz.c: libFuzzer target for the questions of `sooth serve`. An input that begins with '{' is the JSON of a
 * request, any other the pairs of a query, one in each line. An accepted question has values within bounds and names no
 * file. */
#include "../src/serve/question.c"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_bound(const sooth_options *o)
{
    for (size_t i = 0; i < o->dim_count; i++)
        if (o->dims[i].value < 0 || strlen(o->dims[i].name) == 0)
            abort();
    for (size_t i = 0; i < o->shape_count; i++) {
        if (o->shapes[i].rank > MOST_RANK || strlen(o->shapes[i].input) == 0)
            abort();
        for (size_t k = 0; k < o->shapes[i].rank; k++)
            if (o->shapes[i].dims[k] < 0 && o->shapes[i].dims[k] != SOOTH_AS_IN_FILE)
                abort();
    }
}

static void check(const question *q)
{
    if (q->gpu_count > MOST_LISTED || q->batch_count > MOST_LISTED || q->bound.dim_count > MOST_DIMS_NAMED ||
        q->bound.shape_count > MOST_SHAPES || q->count < 1 || !(q->latency_ms >= 0))
        abort();
    for (size_t i = 0; i < q->gpu_count; i++)
        if (strchr(q->gpus[i], '/') || strstr(q->gpus[i], ".txt"))
            abort();
    for (size_t i = 0; i < q->batch_count; i++)
        if (q->batches[i] < 1)
            abort();
    if (q->model && strncmp(q->model, "zoo:", 4) != 0 && strncmp(q->model, "kept:", 5) != 0)
        abort();
    check_bound(&q->bound);
}

/* Pairs of a query are texts without zero bytes. */
static void set_pairs(question *q, str text)
{
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t length = end ? (size_t)(end - text.ptr) : text.len;
        char *line = copy_of(q, text.ptr, length), *equals = strchr(line, '=');
        if (equals)
            *equals = '\0';
        question_set(q, line, equals ? equals + 1 : "");
        text.ptr += end ? length + 1 : length;
        text.len -= end ? length + 1 : length;
    }
}

static void ask(question *q, str text, arena *a, fail *f)
{
    if (setjmp(f->jump)) {
        if (f->error->code == SOOTH_OK || !*f->error->message)
            abort();
        return;
    }
    question_begin(q, a, f);
    if (text.len && text.ptr[0] == '{')
        question_set_all(q, json_read(text, "the request", a, f));
    else
        set_pairs(q, text);
    check(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sooth_error error = {.code = SOOTH_OK};
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)32 << 20);
    question *q = calloc(1, sizeof *q);
    if (!q)
        abort();
    ask(q, (str){(const char *)bytes, size}, &a, &f);
    free(q);
    arena_free(&a);
    return 0;
}
