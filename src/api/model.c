/* model.c: the public functions for models. Failures of loading and binding are caught here. */
#include "base/file.h"
#include "front/front.h"
#include "graph/bind.h"
#include "graph/cost.h"
#include "graph/infer.h"
#include "graph/pass/pass.h"
#include "models/zoo.h"
#include "predict/lowered.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The largest real graph (13,691 nodes) takes a few MiB. */
static const size_t ARENA_CAP = (size_t)1 << 30;

const char *sooth_version(void)
{
    return SOOTH_VERSION;
}

static void build_from_zoo(builder *b, str name)
{
    if (zoo_build(b, name))
        return;
    str nearest = zoo_nearest(name);
    if (nearest.len)
        fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "no network of the zoo is called '%.*s'; did you mean '%.*s'?",
                  STR_ARG(name), STR_ARG(nearest));
    fail_with(&b->model->fail, SOOTH_ERROR_USAGE, "no network of the zoo is called '%.*s'; 'sooth zoo' lists them",
              STR_ARG(name));
}

/* A graph takes about three times its file size in memory, the bound network twice the file size, so large files get
 * large blocks. Blocks are above malloc's mmap threshold: freeing one makes glibc raise its thresholds and keep the
 * pages for the next model. Untouched pages cost nothing. */
static void size_blocks(sooth_model *model, size_t file_bytes)
{
    enum { SMALL = 1024 * 1024, LARGE = 4 * 1024 * 1024 };
    size_t bytes = file_bytes > LARGE ? LARGE : file_bytes;
    model->source_arena.block_bytes = 6 * bytes > SMALL ? 6 * bytes : SMALL;
    if (4 * bytes > model->bound_arena.block_bytes)
        model->bound_arena.block_bytes = 4 * bytes;
}

/* Some models are directories: SavedModel, .mlpackage, Hugging Face's config.json with weights, and other exporters'
 * fixed file names. Returns the name of the graph's file inside; NULL if the path is a file. */
static const char *file_inside(sooth_model *model, const char *path, const char **name)
{
    static const char *const NAMES[] = {"saved_model.pb",    "saved_model.pbtxt", "Data/com.apple.CoreML/model.mlmodel",
                                        "config.json",       "model.safetensors", "model.safetensors.index.json",
                                        "model.onnx",        "model.json",        "__model__",
                                        "inference.pdmodel", "inference.json",    "openvino_model.xml"};
    static const char *const ENDINGS[] = {"", ".gz"};
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return path;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        for (size_t k = 0; k < sizeof ENDINGS / sizeof *ENDINGS; k++) {
            str inside = arena_printf(&model->source_arena, "%s/%s%s", path, NAMES[i], ENDINGS[k]);
            *name = NAMES[i];
            if (stat(inside.ptr, &status) == 0)
                return inside.ptr;
        }
    *name = NULL;
    fail_with(&model->fail, SOOTH_ERROR_INPUT,
              "is a directory without saved_model.pb, Data/com.apple.CoreML/model.mlmodel, config.json or another "
              "known model file name; give the file itself");
}

/* Adds the name of a file found in a directory to the error. */
static void name_file(sooth_error *e, const char *name)
{
    sooth_error own = *e;
    snprintf(e->message, sizeof e->message, "%s: %.*s", name, (int)(sizeof own.message - strlen(name) - 3),
             own.message);
}

/* Loads the model; may fail. The caller frees the model. */
static sooth_status read_model(sooth_model *model, const char *path, const void *bytes, size_t size,
                               const char **name_inside)
{
    if (setjmp(model->fail.jump))
        return model->fail.error->code;
    builder b;
    build_begin(&b, model);
    model->file = arena_str(&model->source_arena, str_of(path));
    if (!bytes && str_starts(model->file, "zoo:")) {
        build_from_zoo(&b, (str){model->file.ptr + 4, model->file.len - 4});
        return SOOTH_OK;
    }
    model->map = ARENA_NEW(&model->source_arena, file_map);
    model->map->descriptor = -1;
    if (bytes)
        file_of_memory(model->map, bytes, size);
    else
        file_open(model->map, file_inside(model, path, name_inside), &model->fail);
    file_inflate(model->map, &model->fail);
    size_blocks(model, model->map->size);
    front_read(&b, model->map->bytes, model->map->size);
    return SOOTH_OK;
}

static sooth_status load(const char *path, const void *bytes, size_t size, sooth_model **result, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *result = NULL;
    if (!path)
        return error_say(e, SOOTH_ERROR_USAGE, "no path is given; name the model's file");
    sooth_model *model = calloc(1, sizeof *model);
    if (!model)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    model->fail.error = e;
    arena_init(&model->source_arena, &model->fail, ARENA_CAP);
    arena_init(&model->bound_arena, &model->fail, ARENA_CAP);
    arena_init(&model->scratch_arena, &model->fail, ARENA_CAP);
    size_blocks(model, 0);
    const char *name_inside = NULL;
    sooth_status status = read_model(model, path, bytes, size, &name_inside);
    if (status != SOOTH_OK) {
        if (name_inside)
            name_file(e, name_inside);
        sooth_free(model);
        return status;
    }
    arena_free(&model->scratch_arena);
    if (model->map)
        file_let_go(model->map);
    model->fail.error = NULL;
    *result = model;
    return SOOTH_OK;
}

sooth_status sooth_load_file(const char *path, sooth_model **model, sooth_error *error)
{
    return load(path, NULL, 0, model, error);
}

sooth_status sooth_load_memory(const void *bytes, size_t size, const char *name, sooth_model **model,
                               sooth_error *error)
{
    return load(name ? name : "memory", size ? bytes : "", size, model, error);
}

void sooth_free(sooth_model *model)
{
    if (!model)
        return;
    if (model->map)
        file_close(model->map);
    if (model->beside)
        file_close(model->beside);
    lowered_release(model->lowered);
    free(model->power);
    arena_free(&model->scratch_arena);
    arena_free(&model->bound_arena);
    arena_free(&model->source_arena);
    free(model);
}

sooth_status sooth_bind(sooth_model *model, const sooth_options *options, sooth_error *error)
{
    sooth_error own;
    model->fail.error = error_or(error, &own);
    model->is_bound = false;
    lowered_release(model->lowered);
    model->lowered = NULL;
    if (setjmp(model->fail.jump)) {
        sooth_status status = model->fail.error->code;
        model->fail.error = NULL;
        model->net = (network){.arena = &model->bound_arena};
        arena_free(&model->bound_arena);
        arena_free(&model->scratch_arena);
        return status;
    }
    infer_network(model, options);
    pass_run_all(model, options ? options->skip_passes : NULL, options ? options->extra_passes : NULL);
    cost_network(model);
    model->net.has_turned_weights = str_is(model->source.format, "onnx") &&
                                    (!model->source.producer.len || str_starts(model->source.producer, "pytorch"));
    arena_free(&model->scratch_arena);
    model->is_bound = true;
    model->fail.error = NULL;
    return SOOTH_OK;
}

const char *sooth_pass_name(size_t index)
{
    size_t count;
    const pass_info *passes = pass_table(&count);
    return index < count ? passes[index].name : NULL;
}

const char *sooth_pass_summary(size_t index)
{
    size_t count;
    const pass_info *passes = pass_table(&count);
    return index < count ? passes[index].summary : NULL;
}

bool sooth_pass_is_optional(size_t index)
{
    size_t count;
    const pass_info *passes = pass_table(&count);
    return index < count && passes[index].is_optional;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

sooth_info sooth_info_of(const sooth_model *model)
{
    return model_info(model);
}

/* Converts a number for the public interface: symbolic numbers become SOOTH_UNKNOWN. */
static int64_t plain(num a)
{
    return num_known(a) ? a : SOOTH_UNKNOWN;
}

sooth_totals sooth_totals_of(const sooth_model *model)
{
    return model->net.totals;
}

size_t sooth_layer_count(const sooth_model *model)
{
    return (size_t)model->net.nodes.count;
}

static const node *layer_node(const sooth_model *model, size_t index)
{
    return index < (size_t)model->net.nodes.count ? &model->net.nodes.items[index] : NULL;
}

static const char *kind_name(const op_info *op)
{
    static const char *const NAMES[] = {
        [OP_CONTROL] = "control",     [OP_VIEW] = "view", [OP_MOVE] = "move",   [OP_POINTWISE] = "pointwise",
        [OP_REDUCE] = "reduce",       [OP_NORM] = "norm", [OP_POOL] = "pool",   [OP_CONV] = "conv",
        [OP_MATMUL] = "matmul",       [OP_SORT] = "sort", [OP_OTHER] = "other", [OP_RECURRENT] = "recurrent",
        [OP_ATTENTION] = "attention",
    };
    return op ? NAMES[op->kind] : "other";
}

sooth_layer sooth_layer_at(const sooth_model *model, size_t index)
{
    const node *n = layer_node(model, index);
    if (!n)
        return (sooth_layer){.name = "", .op = "", .kind = "other"};
    const node_cost cost = model->net.costs ? *node_cost_of(&model->net, n) : (node_cost){0};
    return (sooth_layer){
        .name = n->name.ptr,
        .op = n->op ? n->op->name : n->type.ptr,
        .kind = kind_name(n->op),
        .op_known = n->op != NULL,
        .input_count = (size_t)n->input_count,
        .output_count = (size_t)n->output_count,
        .repeat = n->repeat,
        .params = plain(cost.params),
        .macs = plain(cost.macs),
        .flops = plain(cost.flops),
        .weight_bytes = plain(cost.weight_bytes),
        .activation_bytes = plain(cost.activation_bytes),
        .fused_count = (size_t)n->fused_count,
    };
}

static size_t public_id(value_id id)
{
    return id == NO_VALUE ? SIZE_MAX : (size_t)id;
}

size_t sooth_layer_input(const sooth_model *model, size_t layer, size_t index)
{
    const node *n = layer_node(model, layer);
    return n && index < (size_t)n->input_count ? public_id(n->inputs[index]) : SIZE_MAX;
}

size_t sooth_layer_output(const sooth_model *model, size_t layer, size_t index)
{
    const node *n = layer_node(model, layer);
    return n && index < (size_t)n->output_count ? public_id(n->outputs[index]) : SIZE_MAX;
}

size_t sooth_layer_ints(const sooth_model *model, size_t layer, const char *attribute, int64_t *ints, size_t room)
{
    const node *n = layer_node(model, layer);
    const attr *a = n ? node_attr(n, attribute) : NULL;
    const int64_t *from = a && a->kind == ATTR_INTS ? a->ints : a && a->kind == ATTR_INT ? &a->integer : NULL;
    size_t count = !from ? 0 : a->kind == ATTR_INT ? 1 : (size_t)a->count;
    count = count < room ? count : room;
    if (count)
        memcpy(ints, from, count * sizeof *ints);
    return count;
}

size_t sooth_value_count(const sooth_model *model)
{
    return (size_t)model->net.file_value_count;
}

sooth_value sooth_value_at(const sooth_model *model, size_t index)
{
    if (index >= (size_t)model->net.values.count)
        return (sooth_value){.name = "", .dtype = "", .rank = -1};
    const value *v = &model->net.values.items[index];
    return (sooth_value){
        .name = v->name.ptr,
        .dtype = dtype_name(v->dtype),
        .rank = v->rank,
        .dims = v->dims,
        .is_constant = v->is_initializer,
        .is_tensor = v->kind == VALUE_TENSOR || v->kind == VALUE_SPARSE,
    };
}

size_t sooth_input_count(const sooth_model *model)
{
    return (size_t)model->net.inputs.count;
}

size_t sooth_input(const sooth_model *model, size_t index)
{
    return index < sooth_input_count(model) ? (size_t)model->net.inputs.items[index] : SIZE_MAX;
}

size_t sooth_output_count(const sooth_model *model)
{
    return (size_t)model->net.outputs.count;
}

size_t sooth_output(const sooth_model *model, size_t index)
{
    return index < sooth_output_count(model) ? (size_t)model->net.outputs.items[index] : SIZE_MAX;
}

const char *sooth_dim_text(const sooth_model *model, int64_t dim)
{
    return num_text(&model->net.nums, dim);
}

const char *sooth_symbol(const sooth_model *model, size_t index)
{
    return index < INT32_MAX ? bind_symbol_name(model, (int32_t)index) : NULL;
}

size_t sooth_note_count(const sooth_model *model)
{
    return (size_t)model->net.notes.count;
}

const char *sooth_note_at(const sooth_model *model, size_t index)
{
    return index < sooth_note_count(model) ? model->net.notes.items[index].ptr : NULL;
}
