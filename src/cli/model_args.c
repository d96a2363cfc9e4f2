#include "cli/model_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ONNX Runtime and onnx allow 64 dimensions; so does the graph. */
enum { MOST_DIMS = 64 };

void model_args_free(model_args *args)
{
    free(args->dims.items);
    free(args->shapes.items);
    free(args->skips.items);
    free(args->fuses.items);
}

void model_args_help(void)
{
    for (int optional = 0; optional < 2; optional++) {
        puts(optional ? "\nOptional passes (--fuse):" : "\nRecovery passes (--skip):");
        for (size_t i = 0; sooth_pass_name(i); i++)
            if (sooth_pass_is_optional(i) == (optional == 1))
                printf("  %-22s  %s\n", sooth_pass_name(i), sooth_pass_summary(i));
    }
    model_args_help_models();
}

void model_args_help_models(void)
{
    puts("\nFiles that are read, also compressed with gzip, told by their bytes:\n"
         "  ONNX; PyTorch: torch.export (.pt2), TorchScript (.pt, .ptl)\n"
         "  TensorFlow: GraphDef, SavedModel; Keras (.keras, .h5, .json); TFLite; TensorFlow.js (model.json)\n"
         "  PaddlePaddle (.pdmodel, __model__, .json); OpenVINO (.xml); CoreML (.mlmodel, .mlpackage)\n"
         "  Darknet (.cfg); Caffe (.prototxt); MXNet (-symbol.json); ncnn and pnnx (.param)\n"
         "  JAX: StableHLO as text or bytecode, jax.export, HLO text\n"
         "  language models: Hugging Face's config.json, GGUF; safetensors (the tensors alone)");
    puts("\nNetworks that come with the program:");
    for (size_t i = 0; sooth_zoo_name(i); i++)
        printf("  zoo:%-16s  %s\n", sooth_zoo_name(i), sooth_zoo_summary(i));
}

static bool read_input(void **bytes, size_t *size)
{
    char *buffer = NULL;
    size_t used = 0, capacity = 0;
    for (;;) {
        if (used == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *larger = realloc(buffer, capacity);
            if (!larger)
                break;
            buffer = larger;
        }
        ssize_t n = read(STDIN_FILENO, buffer + used, capacity - used);
        if (n == 0) {
            *bytes = buffer;
            *size = used;
            return true;
        }
        if (n > 0)
            used += (size_t)n;
        else if (errno != EINTR)
            break;
    }
    free(buffer);
    return false;
}

/* How errors call it. */
static const char *subject_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int model_load(const char *path, model_file *file)
{
    *file = (model_file){0};
    const char *subject = subject_of(path);
    sooth_error error;
    sooth_status status;
    if (subject != path) {
        size_t size;
        if (!read_input(&file->bytes, &size))
            return cli_fail(SOOTH_ERROR_SYSTEM, subject, "cannot be read: %s", strerror(errno));
        status = sooth_load_memory(file->bytes, size, subject, &file->model, &error);
    } else {
        status = sooth_load_file(path, &file->model, &error);
    }
    if (status == SOOTH_OK)
        return SOOTH_OK;
    model_close(file);
    cli_fail(status, subject, "%s", error.message);
    return status;
}

/* Names may contain '=' themselves: the last one counts. */
static bool split(const char *argument, const char **name, const char **value)
{
    const char *equals = strrchr(argument, '=');
    if (!equals || equals == argument)
        return false;
    *name = strndup(argument, (size_t)(equals - argument));
    *value = equals + 1;
    return *name != NULL;
}

/* Numbers with commas between them; none at all is a scalar. */
static bool parse_dims(const char *s, int64_t *dims, size_t *rank)
{
    *rank = 0;
    if (!*s)
        return true;
    while (*rank < MOST_DIMS) {
        size_t length = strcspn(s, ",");
        if (!options_number(s, length, &dims[(*rank)++]))
            return false;
        s += length;
        if (!*s++)
            return true;
    }
    return false;
}

typedef struct bindings {
    sooth_dim_binding *dims;
    size_t dim_count;
    sooth_shape_binding *shapes;
    int64_t (*shape_dims)[MOST_DIMS];
    char *skip, *fuse; /* names with commas */
} bindings;

static void bindings_free(const model_args *args, bindings *b)
{
    for (size_t i = 0; b->dims && i < b->dim_count; i++)
        free((char *)b->dims[i].name);
    for (size_t i = 0; b->shapes && i < args->shapes.count; i++)
        free((char *)b->shapes[i].input);
    free(b->dims);
    free(b->shapes);
    free(b->shape_dims);
    free(b->skip);
    free(b->fuse);
}

/* The items with commas between them; false if there is no memory. */
static bool join(const option_list *list, char **joined)
{
    size_t room = 1;
    for (size_t i = 0; i < list->count; i++)
        room += strlen(list->items[i]) + 1;
    *joined = calloc(room, 1);
    for (size_t i = 0, used = 0; *joined && i < list->count; i++)
        used += (size_t)snprintf(*joined + used, room - used, "%s%s", i ? "," : "", list->items[i]);
    return *joined != NULL;
}

static int parse_bindings(const char *command, const model_args *args, bindings *b)
{
    enum { TOKENS = 2 }; /* --seq and --past */
    b->dims = calloc(args->dims.count + TOKENS + 1, sizeof *b->dims);
    b->shapes = calloc(args->shapes.count + 1, sizeof *b->shapes);
    b->shape_dims = calloc(args->shapes.count + 1, sizeof *b->shape_dims);
    if (!b->dims || !b->shapes || !b->shape_dims || !join(&args->skips, &b->skip) || !join(&args->fuses, &b->fuse))
        return cli_fail(SOOTH_ERROR_SYSTEM, command, "out of memory");
    b->dim_count = args->dims.count;
    for (size_t i = 0; i < args->dims.count; i++) {
        const char *argument = args->dims.items[i], *value;
        if (!split(argument, &b->dims[i].name, &value) || !options_number(value, strlen(value), &b->dims[i].value))
            return cli_usage(command, "--dim takes NAME=N as in --dim seq=128, not '%.60s'", argument);
    }
    const int64_t tokens[TOKENS] = {args->seq, args->past};
    for (size_t i = 0; i < TOKENS; i++) {
        if (!tokens[i])
            continue;
        b->dims[b->dim_count] = (sooth_dim_binding){strdup(i ? "past" : "seq"), tokens[i]};
        if (!b->dims[b->dim_count++].name)
            return cli_fail(SOOTH_ERROR_SYSTEM, command, "out of memory");
    }
    for (size_t i = 0; i < args->shapes.count; i++) {
        const char *argument = args->shapes.items[i], *value;
        b->shapes[i].dims = b->shape_dims[i];
        if (!split(argument, &b->shapes[i].input, &value) || !parse_dims(value, b->shape_dims[i], &b->shapes[i].rank))
            return cli_usage(command, "--shape takes INPUT=N,N,... as in --shape x=1,3,224,224, not '%.60s'", argument);
    }
    return SOOTH_OK;
}

static sooth_options options_of(const model_args *args, const bindings *b)
{
    return (sooth_options){.batch = args->batch,
                           .dims = b->dims,
                           .dim_count = b->dim_count,
                           .shapes = b->shapes,
                           .shape_count = args->shapes.count,
                           .skip_passes = b->skip,
                           .extra_passes = b->fuse};
}

static int bind_parsed(const char *path, const model_args *args, const bindings *b, model_file *file)
{
    sooth_options options = options_of(args, b);
    sooth_error error;
    sooth_status status = sooth_bind(file->model, &options, &error);
    return status == SOOTH_OK ? SOOTH_OK : cli_fail(status, subject_of(path), "%s", error.message);
}

int model_bind(const char *command, const char *path, const model_args *args, model_file *file)
{
    bindings b = {0};
    int code = parse_bindings(command, args, &b);
    if (code == SOOTH_OK)
        code = bind_parsed(path, args, &b, file);
    bindings_free(args, &b);
    return code;
}

int model_largest_batch(const char *command, const char *path, const model_args *args,
                        const sooth_predict_options *where, model_file *file, int64_t *batch)
{
    bindings b = {0};
    int code = parse_bindings(command, args, &b);
    if (code == SOOTH_OK) {
        sooth_options options = options_of(args, &b);
        sooth_error error;
        sooth_status status = sooth_largest_batch(file->model, &options, where, 0, batch, &error);
        code = status == SOOTH_OK ? SOOTH_OK : cli_fail(status, subject_of(path), "%s", error.message);
    }
    bindings_free(args, &b);
    return code;
}

int model_open(const char *command, const char *path, const model_args *args, model_file *file)
{
    *file = (model_file){0};
    bindings b = {0};
    int code = parse_bindings(command, args, &b); /* a mistyped option is told before a large file is read */
    if (code == SOOTH_OK)
        code = model_load(path, file);
    if (code == SOOTH_OK) {
        code = bind_parsed(path, args, &b, file);
        if (code != SOOTH_OK)
            model_close(file);
    }
    bindings_free(args, &b);
    return code;
}

bool model_has_open_batch(const sooth_model *model)
{
    for (size_t i = 0; i < sooth_input_count(model); i++) {
        sooth_value v = sooth_value_at(model, sooth_input(model, i));
        if (v.rank > 0 && v.dims[0] < 0)
            return true;
    }
    return false;
}

void model_close(model_file *file)
{
    sooth_free(file->model);
    free(file->bytes);
    *file = (model_file){0};
}
