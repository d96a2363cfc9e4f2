/* gnn_job.c: what the subcommands of `sooth gnn` read: data sets and models. */
#include "cli/dataset_file.h"
#include "cli/gnn_args.h"

#include <inttypes.h>

int gnn_job_open(gnn_job *j, const gnn_args *args)
{
    *j = (gnn_job){.args = args, .file.descriptor = -1, .test.descriptor = -1};
    inputs_open(&j->in, "gnn");
    j->in.arena.cap_bytes = ARENA_GIB(64);
    return cli_open_gpus(&j->gpus);
}

void gnn_job_close(gnn_job *j)
{
    gnn_set_free(&j->set);
    file_close(&j->file);
    file_close(&j->test);
    sooth_gpus_free(j->gpus);
    inputs_free(&j->in);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

int gnn_job_read_model(gnn_job *j, const char *path)
{
    fail *f = &j->in.fail;
    if (setjmp(f->jump))
        return cli_fail(j->in.error.code, path, "%s", j->in.error.message);
    file_open(&j->file, path, f);
    gnn_file_decode((str){(const char *)j->file.bytes, j->file.size}, &j->model, &j->in.arena);
    file_close(&j->file);
    return SOOTH_OK;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* Must not longjmp through SQLite, so a failure ends the walk. */
static bool take_graph(void *context, int64_t id, const set_graph_row *g)
{
    gnn_job *j = context;
    (void)id;
    if (setjmp(j->in.fail.jump))
        j->failed = true;
    else
        gnn_set_add_graph(&j->set, g);
    return !j->failed;
}

static bool take_label(void *context, int64_t id, const set_label *l)
{
    gnn_job *j = context;
    (void)id;
    if (setjmp(j->in.fail.jump))
        j->failed = true;
    else
        gnn_set_add_label(&j->set, l);
    return !j->failed;
}

static int walk(gnn_job *j, const char *path)
{
    dataset_file *file;
    int code = dataset_file_read(&file, path);
    if (code == SOOTH_OK)
        code = dataset_file_walk(file, &(dataset_walk){take_graph, take_label, j});
    dataset_file_close(file);
    if (code == SOOTH_OK && j->failed)
        code = cli_fail(j->in.error.code, path, "%s", j->in.error.message);
    return code;
}

/* Names of GPUs as the set has them; a file's GPU has its own name. */
static int begin_set(gnn_job *j, gnn_features which)
{
    inputs *in = &j->in;
    int code = SOOTH_OK;
    gnn_set_begin(&j->set, which, j->gpus, &in->arena);
    if (j->args->gpus)
        code = inputs_read_gpus(in, j->gpus, j->args->gpus);
    if (code != SOOTH_OK || !j->args->gpus)
        return code;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "gnn", "%s", in->error.message);
    const char **names = ARENA_ARRAY(&in->arena, const char *, in->options.gpu_count + 1);
    for (size_t i = 0; i < in->options.gpu_count; i++)
        names[i] = sooth_gpu_text(in->options.gpus[i], "name");
    j->set.only_gpus = names;
    j->set.only_count = in->options.gpu_count;
    return SOOTH_OK;
}

static int split(gnn_job *j, const char *path, const gnn_model *model)
{
    inputs *in = &j->in;
    const gnn_args *args = j->args;
    gnn_split_options o = {.by = model && !args->has_split ? model->split : (gnn_split)args->split,
                           .seed = model && !args->has_seed ? model->seed : (uint64_t)args->seed};
    int code = inputs_read_names(in, args->apart, &o.apart, &o.apart_count);
    if (code != SOOTH_OK)
        return code;
    const char *volatile subject = path;
    if (setjmp(in->fail.jump))
        return in->error.code == SOOTH_ERROR_USAGE ? cli_usage("gnn", "%s", in->error.message)
                                                   : cli_fail(in->error.code, subject, "%s", in->error.message);
    gnn_set_end(&j->set);
    if (args->test) {
        subject = args->test;
        file_open(&j->test, args->test, &in->fail);
        file_inflate(&j->test, &in->fail);
        o.rows = (str){(const char *)j->test.bytes, j->test.size};
    }
    gnn_set_split(&j->set, &o);
    return SOOTH_OK;
}

int gnn_job_read_set(gnn_job *j, const char *path, gnn_features which, const gnn_model *model)
{
    int code = begin_set(j, which);
    if (code == SOOTH_OK)
        code = walk(j, path);
    if (code == SOOTH_OK)
        code = split(j, path, model);
    return code;
}
