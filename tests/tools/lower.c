/* lower.c: prints the kernels that a runtime would launch for a network, for tests and for inspecting lowering.
 *
 *     lower [--json] PRECISION LAYOUT BATCH [KEY=WORD…] MODEL…
 *         PRECISION: fp32 tf32 fp16 bf16 amp-fp16 amp-bf16 int8 fp8; LAYOUT: nchw nhwc
 *         mode=infer|train|train-forward  runtime=eager|inductor|engine
 *         optimizer=momentum|none|sgd|nesterov|adam|adamw
 *         attention=fused|explicit|half|float  updates=joint|single  backward=plain|autocast  norms=any|contiguous|low
 *
 * One line per kernel. Views begin with ".", kernels launched by another operator with "+"; the repeat count is at
 * the end, if not 1. Exit codes are those of sooth. */
#include "lower/layout.h"

#include <stdio.h>
#include <stdlib.h>

/* In the order of the enumerations in lower.h. */
enum { MAX_WORDS = 8 };
static const char *const PRECISIONS[MAX_WORDS + 1] = {"fp32",     "tf32",     "fp16", "bf16",
                                                      "amp-fp16", "amp-bf16", "int8", "fp8"};
static const struct {
    const char *key, *words[MAX_WORDS + 1];
} KEYS[] = {
    {"mode", {"infer", "train", "train-forward"}},
    {"runtime", {"eager", "inductor", "engine"}},
    {"optimizer", {"momentum", "none", "sgd", "nesterov", "adam", "adamw"}},
    {"attention", {"fused", "explicit", "half", "float"}},
    {"updates", {"joint", "single"}},
    {"backward", {"plain", "autocast"}},
    {"norms", {"any", "contiguous", "low"}},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

static void print_list(const int64_t *items, int count)
{
    for (int i = 0; i < count; i++)
        printf("%s%lld", i ? "," : "", (long long)items[i]);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_tensor(const program *p, tensor_id t)
{
    const placed_tensor *x = &p->tensors.items[t];
    extent own = extent_of(x);
    printf(" %s[", dtype_name(x->dtype));
    print_list(x->dims, x->rank);
    printf("]");
    if (extent_is_contiguous(&own))
        return;
    if (extent_is_channels_last(&own)) {
        printf("cl");
        return;
    }
    printf("(");
    print_list(x->strides, x->rank);
    printf(")");
}

static void print_text(const program *p, const kernel *k)
{
    printf("%s%s", k->flags & KERNEL_VIEW ? "." : k->flags & KERNEL_HIDDEN ? "+" : "", kernel_name(k));
    for (int i = 0; i < k->input_count; i++)
        print_tensor(p, k->inputs[i]);
    printf(" ->");
    for (int i = 0; i < k->output_count; i++)
        print_tensor(p, k->outputs[i]);
    for (int i = 0; i < k->fused_count; i++)
        printf("%s%s", i ? "," : " {", k->fused[i]);
    printf(k->fused_count ? "}" : "");
    if (k->repeat != 1)
        printf(" %lldx", (long long)k->repeat);
    printf("\n");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void print_json_tensors(const program *p, const tensor_id *tensors, int count)
{
    for (int i = 0; i < count; i++) {
        const placed_tensor *x = &p->tensors.items[tensors[i]];
        printf("%s[\"%s\",[", i ? "," : "", dtype_name(x->dtype));
        print_list(x->dims, x->rank);
        printf("],[");
        print_list(x->strides, x->rank);
        printf("]]");
    }
}

static void print_json(const program *p, const kernel *k)
{
    printf("{\"op\":\"%s\",\"layer\":%d,\"flags\":%d,\"phase\":%d,\"in\":[", kernel_name(k), k->layer, k->flags,
           k->phase);
    print_json_tensors(p, k->inputs, k->input_count);
    printf("],\"out\":[");
    print_json_tensors(p, k->outputs, k->output_count);
    printf("],\"fused\":[");
    for (int i = 0; i < k->fused_count; i++)
        printf("%s\"%s\"", i ? "," : "", k->fused[i]);
    if (k->loops.reduced)
        printf("],\"loops\":[%d,%d,%d,%d", k->loops.loads, k->loops.scattered, k->loops.gathered, k->loops.turned);
    printf("],\"macs\":%lld,\"flops\":%lld,\"bytes_read\":%lld,\"bytes_written\":%lld,\"repeat\":%lld,\"storages\":[",
           (long long)k->macs, (long long)k->flops, (long long)k->bytes_read, (long long)k->bytes_written,
           (long long)k->repeat);
    for (int i = 0; i < k->input_count + k->output_count; i++) /* Numbers of the inputs' memory, then the outputs'. */
        printf("%s%d", i ? "," : "",
               p->tensors.items[i < k->input_count ? k->inputs[i] : k->outputs[i - k->input_count]].storage);
    printf("]}\n");
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static sooth_status lower_and_print(sooth_model *model, const lower_options *options, bool as_json, sooth_error *error)
{
    arena a;
    arena_init(&a, &model->fail, (size_t)1 << 30);
    model->fail.error = error;
    error->code = SOOTH_OK;
    if (setjmp(model->fail.jump) == 0) {
        const program *p = lower(model, options, &a);
        for (int32_t i = 0; i < p->kernels.count; i++)
            (as_json ? print_json : print_text)(p, &p->kernels.items[i]);
    }
    arena_free(&a);
    return error->code;
}

static sooth_status run(const char *path, const lower_options *options, int64_t batch, bool as_json)
{
    sooth_error error;
    sooth_model *model;
    sooth_status status = sooth_load_file(path, &model, &error);
    const char *stage = "load";
    if (status == SOOTH_OK) {
        sooth_options binding = {.batch = batch};
        stage = "bind";
        status = sooth_bind(model, &binding, &error);
        if (status == SOOTH_OK) {
            stage = "lower";
            status = lower_and_print(model, options, as_json, &error);
        }
        sooth_free(model);
    }
    if (status != SOOTH_OK)
        fprintf(stderr, "%s: %s\n", stage, error.message);
    return status;
}

/* Position of the word in the list; -1 if it is not there. */
static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

/* Reads KEY=WORD; false if either is unknown. */
static bool read_option(const char *text, int chosen[KEY_COUNT])
{
    const char *sign = strchr(text, '=');
    for (size_t i = 0; sign && i < KEY_COUNT; i++)
        if (strlen(KEYS[i].key) == (size_t)(sign - text) && strncmp(text, KEYS[i].key, (size_t)(sign - text)) == 0)
            return (chosen[i] = find_word(KEYS[i].words, sign + 1)) >= 0;
    return false;
}

int main(int argc, char **argv)
{
    bool as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    argc -= as_json;
    argv += as_json;
    int chosen[KEY_COUNT] = {0}, first = 4;
    while (first < argc && read_option(argv[first], chosen))
        first++;
    int precision = argc > 1 ? find_word(PRECISIONS, argv[1]) : -1;
    if (first >= argc || precision < 0) {
        fprintf(stderr, "usage: lower [--json] PRECISION LAYOUT BATCH [KEY=WORD...] MODEL...\n");
        return SOOTH_ERROR_USAGE;
    }
    lower_options options = {.precision = (lower_precision)precision,
                             .multiprocessors = 108, /* of an A100, which the compiled networks of the corpus are for */
                             .layout = strcmp(argv[2], "nhwc") == 0 ? LAYOUT_NHWC : LAYOUT_NCHW,
                             .mode = (lower_mode)chosen[0],
                             .runtime = (lower_runtime)chosen[1],
                             .optimizer = (lower_optimizer)chosen[2],
                             .explicit_attention = chosen[3] == 1,
                             .steps = chosen[3] < 2 ? STEPS_NEWEST : (lower_steps)(chosen[3] - 1),
                             .single_updates = chosen[4] == 1,
                             .autocast_backward = chosen[5] == 1,
                             .contiguous_norms = chosen[6] == 1,
                             .norms = chosen[6] == 2 ? NORMS_LOW : NORMS_FLOAT};
    sooth_status worst = SOOTH_OK;
    for (int i = first; i < argc; i++) {
        sooth_status status = run(argv[i], &options, atoll(argv[3]), as_json);
        worst = status > worst ? status : worst;
    }
    return (int)worst;
}
