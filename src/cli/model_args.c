#include "cli/model_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limit of ONNX Runtime, of onnx and of the graph. */
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
    puts("\nModels (files may be compressed with gzip; the format is detected from the bytes):\n"
         "  ONNX; PyTorch: torch.export (.pt2), TorchScript (.pt, .ptl)\n"
         "  TensorFlow: GraphDef, SavedModel; Keras (.keras, .h5, .json); TFLite; TensorFlow.js (model.json)\n"
         "  PaddlePaddle (.pdmodel, __model__, .json); OpenVINO (.xml); CoreML (.mlmodel, .mlpackage)\n"
         "  Darknet (.cfg); Caffe (.prototxt); MXNet (-symbol.json); ncnn and pnnx (.param)\n"
         "  JAX: StableHLO as text or bytecode, jax.export, HLO text\n"
         "  language models: Hugging Face's config.json, GGUF; safetensors (tensors only)");
    puts("  zoo:NAME is a network that comes with the program: `sooth zoo` lists them");
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

/* Returns the name of the model for error messages. */
static const char *subject_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Returns the network of the zoo with this name; NULL if there is none. */
static const char *in_zoo(const char *path)
{
    const char *name;
    for (size_t i = 0; (name = sooth_zoo_name(i)); i++)
        if (strcmp(name, path) == 0)
            return name;
    return NULL;
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
    const char *known = status == SOOTH_ERROR_SYSTEM ? in_zoo(path) : NULL;
    return known ? cli_fail(status, subject, "%s; did you mean zoo:%s?", error.message, known)
                 : cli_fail(status, subject, "%s", error.message);
}

bool model_read_dim(str argument, str *name, int64_t *value)
{
    size_t equals = argument.len;
    while (equals > 0 && argument.ptr[equals - 1] != '=')
        equals--;
    if (equals < 2) /* no '=', or nothing before it */
        return false;
    *name = (str){argument.ptr, equals - 1};
    return options_number(argument.ptr + equals, argument.len - equals, value);
}

/* True for "N", "?" or "-1", which leave a dimension of a shape to the file, --batch and --dim. */
static bool is_open_dim(const char *s, size_t length)
{
    static const char *const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    bool is_name = length > 0 && strchr(LETTERS, s[0]);
    for (size_t i = 0; i < length; i++)
        is_name &= strchr(LETTERS, s[i]) || (s[i] >= '0' && s[i] <= '9');
    return is_name || (length == 1 && s[0] == '?') || (length == 2 && memcmp(s, "-1", 2) == 0);
}

/* Parses comma-separated numbers; an empty list is a scalar. */
static bool parse_dims(const char *s, int64_t *dims, size_t *rank)
{
    *rank = 0;
    if (!*s)
        return true;
    while (*rank < MOST_DIMS) {
        size_t length = strcspn(s, ",");
        int64_t *dim = &dims[(*rank)++];
        if (is_open_dim(s, length))
            *dim = SOOTH_AS_IN_FILE;
        else if (!options_number(s, length, dim))
            return false;
        s += length;
        if (!*s++)
            return true;
    }
    return false;
}

static bool parse_shape(const char *argument, sooth_shape_binding *shape, int64_t *dims)
{
    const char *equals = strrchr(argument, '=');
    if (!equals || equals == argument || !parse_dims(equals + 1, dims, &shape->rank))
        return false;
    shape->dims = dims;
    shape->input = strndup(argument, (size_t)(equals - argument));
    return true;
}

/* Joins the items with commas; false if out of memory. */
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

static bool add_dim(model_dims *d, str name, int64_t value)
{
    char *copy = strndup(name.ptr, name.len);
    if (copy)
        d->dims[d->options.dim_count++] = (sooth_dim_binding){copy, value};
    return copy != NULL;
}

static int parse(const char *command, const model_args *args, model_dims *d)
{
    enum { TOKENS = 2 }; /* --seq and --past */
    d->dims = calloc(args->dims.count + TOKENS, sizeof *d->dims);
    d->shapes = calloc(args->shapes.count + 1, sizeof *d->shapes);
    d->shape_dims = calloc((args->shapes.count + 1) * MOST_DIMS, sizeof *d->shape_dims);
    bool has_memory =
        d->dims && d->shapes && d->shape_dims && join(&args->skips, &d->skip) && join(&args->fuses, &d->fuse);
    for (size_t i = 0; has_memory && i < args->dims.count; i++) {
        str name;
        int64_t value;
        if (!model_read_dim(str_of(args->dims.items[i]), &name, &value))
            return cli_usage(command, "--dim takes NAME=N as in --dim seq=128, not '%.60s'", args->dims.items[i]);
        has_memory = add_dim(d, name, value);
    }
    has_memory = has_memory && (!args->seq || add_dim(d, STR("seq"), args->seq)) &&
                 (!args->past || add_dim(d, STR("past"), args->past));
    for (size_t i = 0; has_memory && i < args->shapes.count; i++) {
        if (!parse_shape(args->shapes.items[i], &d->shapes[i], d->shape_dims + i * MOST_DIMS))
            return cli_usage(command,
                             "--shape takes INPUT=N,N,... as in --shape x=1,3,224,224 or x=?,3,224,224, not '%.60s'",
                             args->shapes.items[i]);
        has_memory = d->shapes[i].input != NULL;
        d->options.shape_count++;
    }
    return has_memory ? SOOTH_OK : cli_fail(SOOTH_ERROR_SYSTEM, command, "out of memory");
}

int model_dims_read(const char *command, const model_args *args, model_dims *d)
{
    *d = (model_dims){.options.batch = args->batch};
    int code = parse(command, args, d);
    d->options.dims = d->dims;
    d->options.shapes = d->shapes;
    d->options.skip_passes = d->skip;
    d->options.extra_passes = d->fuse;
    if (code != SOOTH_OK)
        model_dims_free(d);
    return code;
}

void model_dims_free(model_dims *d)
{
    for (size_t i = 0; i < d->options.dim_count; i++)
        free((char *)d->dims[i].name);
    for (size_t i = 0; i < d->options.shape_count; i++)
        free((char *)d->shapes[i].input);
    free(d->dims);
    free(d->shapes);
    free(d->shape_dims);
    free(d->skip);
    free(d->fuse);
    *d = (model_dims){0};
}

int model_failed(const char *path, const sooth_error *error)
{
    return cli_fail(error->code, subject_of(path), "%s", error->message);
}

void model_close(model_file *file)
{
    sooth_free(file->model);
    free(file->bytes);
    *file = (model_file){0};
}
