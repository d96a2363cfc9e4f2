/* gpus.c: the public functions for GPUs. Failures to read or find a GPU are caught here. */
#include "device/mig.h"

#include <dirent.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t ARENA_CAP = (size_t)64 << 20; /* Far above the size of all known GPUs' files. */

static sooth_status fill_list(device_list *list, const char *directory)
{
    if (setjmp(list->fail.jump))
        return list->fail.error->code;
    device_list_add_shipped(list);
    if (directory)
        device_list_add_directory(list, directory);
    return SOOTH_OK;
}

sooth_status sooth_gpus_open(const char *directory, sooth_gpus **gpus, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *gpus = NULL;
    device_list *list = calloc(1, sizeof *list);
    if (!list) {
        e->code = SOOTH_ERROR_SYSTEM;
        snprintf(e->message, sizeof e->message, "out of memory");
        return e->code;
    }
    list->fail.error = e;
    list->map.descriptor = -1;
    arena_init(&list->arena, &list->fail, ARENA_CAP);
    sooth_status status = fill_list(list, directory);
    list->fail.error = NULL;
    if (status == SOOTH_OK)
        *gpus = list;
    else
        sooth_gpus_free(list);
    return status;
}

void sooth_gpus_free(sooth_gpus *gpus)
{
    if (!gpus)
        return;
    if (gpus->directory)
        closedir(gpus->directory);
    file_close(&gpus->map);
    arena_free(&gpus->arena);
    free(gpus);
}

size_t sooth_gpus_count(const sooth_gpus *gpus)
{
    return (size_t)gpus->devices.count;
}

const sooth_gpu *sooth_gpus_at(const sooth_gpus *gpus, size_t index)
{
    return index < sooth_gpus_count(gpus) ? gpus->devices.items[index] : NULL;
}

static sooth_status find(device_list *list, const char *name, const sooth_gpu **gpu)
{
    if (setjmp(list->fail.jump)) {
        file_close(&list->map);
        return list->fail.error->code;
    }
    str wanted = str_of(name);
    if (strchr(name, '/') || str_ends(wanted, ".txt")) {
        *gpu = device_list_read_file(list, name, "");
        return SOOTH_OK;
    }
    *gpu = device_list_find(list, wanted);
    if (*gpu)
        return SOOTH_OK;
    str near = device_list_nearest(list, wanted);
    if (near.len)
        fail_with(&list->fail, SOOTH_ERROR_USAGE, "no GPU is called '%.*s'; did you mean '%.*s'?", STR_ARG(wanted),
                  STR_ARG(near));
    fail_with(&list->fail, SOOTH_ERROR_USAGE,
              "no GPU is called '%.*s'; `sooth gpus` lists them, and a path selects a file of your own",
              STR_ARG(wanted));
}

sooth_status sooth_gpus_find(sooth_gpus *gpus, const char *name, const sooth_gpu **gpu, sooth_error *error)
{
    sooth_error own;
    gpus->fail.error = error_or(error, &own);
    *gpu = NULL;
    sooth_status status = find(gpus, name, gpu);
    gpus->fail.error = NULL;
    return status;
}

/* ---- one GPU ----------------------------------------------------------------------------------------------------- */

const char *sooth_gpu_field(size_t index)
{
    return index < DEVICE_FIELD_COUNT ? device_fields()[index].key : NULL;
}

const char *sooth_gpu_field_summary(size_t index)
{
    return index < DEVICE_FIELD_COUNT ? device_fields()[index].summary : NULL;
}

/* Field with that name; DEVICE_FIELD_COUNT if there is none. */
static int field_called(const char *name)
{
    int i = 0;
    while (i < DEVICE_FIELD_COUNT && strcmp(device_fields()[i].key, name) != 0)
        i++;
    return i;
}

const char *sooth_gpu_text(const sooth_gpu *gpu, const char *field)
{
    int i = field_called(field);
    return i < DEVICE_FIRST_NUMBER && gpu->texts[i].len ? gpu->texts[i].ptr : NULL;
}

double sooth_gpu_number(const sooth_gpu *gpu, const char *field)
{
    int i = field_called(field);
    return i < DEVICE_FIELD_COUNT ? gpu->numbers[i] : NAN; /* NAN for text fields too. */
}

const char *sooth_gpu_origin(const sooth_gpu *gpu, const char *field)
{
    int i = field_called(field);
    return i < DEVICE_FIELD_COUNT && gpu->origins[i].len ? gpu->origins[i].ptr : "";
}

const char *sooth_gpu_alias(const sooth_gpu *gpu, size_t index)
{
    return index < (size_t)gpu->alias_count ? gpu->aliases[index].ptr : NULL;
}

const char *sooth_gpu_file(const sooth_gpu *gpu)
{
    return gpu->file.ptr;
}

double sooth_gpu_peak_flops(const sooth_gpu *gpu, const char *precision)
{
    return device_peak_flops(gpu, str_of(precision));
}

double sooth_gpu_vector_flops(const sooth_gpu *gpu, const char *precision)
{
    return device_vector_flops(gpu, str_of(precision));
}

const char *sooth_gpu_precision(size_t index)
{
    return device_precision(index);
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

size_t sooth_mig_count(const sooth_gpu *gpu)
{
    return gpu->slices ? (size_t)gpu->slices->profile_count : 0;
}

int sooth_mig_slots(const sooth_gpu *gpu)
{
    return gpu->slices ? (int)gpu->slices->slots : 0;
}

sooth_mig_profile sooth_mig_at(const sooth_gpu *gpu, size_t index)
{
    if (index >= sooth_mig_count(gpu))
        return (sooth_mig_profile){.name = "", .origin = ""};
    const mig_profile *p = &gpu->slices->profiles[index];
    return (sooth_mig_profile){
        .name = p->name.ptr,
        .id = p->id,
        .compute_slices = p->compute,
        .sms = (int)p->sms,
        .memory_gib = p->memory_gib,
        .bandwidth_share = p->bandwidth_share,
        .l2_share = p->l2_share,
        .copy_engines = p->copy_engines,
        .most = p->most,
        .slots = p->size,
        .start_slots = p->starts,
        .origin = p->origin.ptr,
    };
}
