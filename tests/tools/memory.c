/* memory.c: prints the memory that a program needs, part by part. For tests.
 *
 *     memory [timm] [room=MIB] < QUESTIONS
 *
 * `timm`: as timm's benchmark runs them (src/predict/source.c). `room`: changes the device's memory by so many MiB.
 * A question is a line: PRECISION LAYOUT MODE RUNTIME OPTIMIZER STACK GPU BATCH MODEL; STACK is "-" if unknown. The
 * answer is tab-separated bytes: saved, live before the step, peak and end of each phase (forward, backward,
 * update), allocated, reserved, the parts; then the total MiB with their interval, whether it fits (1, 0), and what
 * else stops it; or "error" and why. */
#include "predict/footprint.h"
#include "predict/setting.h"
#include "predict/source.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct answerer {
    device_list gpus;
    sooth_model *model;
    char path[1024];
    int64_t batch;
} answerer;

static sooth_status load(answerer *w, const char *path, int64_t batch, sooth_error *error)
{
    if (w->model && strcmp(w->path, path) == 0 && w->batch == batch)
        return SOOTH_OK;
    if (!w->model || strcmp(w->path, path) != 0) {
        sooth_free(w->model);
        w->model = NULL;
        sooth_status status = sooth_load_file(path, &w->model, error);
        if (status != SOOTH_OK)
            return status;
        snprintf(w->path, sizeof w->path, "%s", path);
    }
    w->batch = batch;
    sooth_options binding = {.batch = batch};
    return sooth_bind(w->model, &binding, error);
}

static void print(const footprint *f)
{
    const memory_use *u = f->use;
    const memory_requests *r = u->requests;
    printf("ok\t%lld\t%lld", (long long)r->saved, (long long)r->live_before);
    for (int i = 0; i <= PHASE_UPDATE; i++)
        printf("\t%lld\t%lld", (long long)r->live_peak[i], (long long)r->live_end[i]);
    printf("\t%lld\t%lld", (long long)u->allocated, (long long)u->reserved);
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        printf("\t%lld", (long long)u->parts[i]);
    printf("\t%.1f\t%.1f\t%.1f\t%d\t%s\n", f->value_mib, f->low_mib, f->high_mib, f->fits, f->limit ? f->limit : "");
}

static sooth_status answer(answerer *w, const setting *where, sooth_error *error)
{
    arena a;
    arena_init(&a, &w->model->fail, (size_t)1 << 30);
    w->model->fail.error = error;
    error->code = SOOTH_OK;
    if (setjmp(w->model->fail.jump) == 0) {
        const program *p = lower(w->model, &where->lower, &a);
        work_list works = work_of_program(p, &a);
        const footprint_basis *basis =
            footprint_basis_of(p, &w->model->net, &where->lower, footprint_key_of(where), &a, &a);
        footprint f = footprint_of(basis, where, workspaces_of(p, &works, where, &a), NULL, NULL, &a);
        print(&f);
    }
    arena_free(&a);
    return error->code;
}

int main(int argc, char **argv)
{
    static bool is_timm; /* static, so that longjmp does not affect them */
    static double room_mib;
    for (int i = 1; i < argc; i++) {
        is_timm |= strcmp(argv[i], "timm") == 0;
        room_mib += strncmp(argv[i], "room=", 5) == 0 ? atof(argv[i] + 5) : 0;
    }
    static answerer w;
    static sooth_error error;
    w.gpus.fail.error = &error;
    if (setjmp(w.gpus.fail.jump)) {
        fprintf(stderr, "memory: %s\n", error.message);
        return 1;
    }
    arena_init(&w.gpus.arena, &w.gpus.fail, (size_t)1 << 28);
    device_list_add_shipped(&w.gpus);
    char line[2048];
    while (fgets(line, sizeof line, stdin)) {
        char words[7][64], path[1024];
        long long batch;
        setting where = setting_default();
        static const setting_part PARTS[] = {SETTING_PRECISION, SETTING_LAYOUT, SETTING_MODE, SETTING_RUNTIME,
                                             SETTING_OPTIMIZER};
        bool fine = sscanf(line, "%63s %63s %63s %63s %63s %63s %63s %lld %1023[^\n]", words[0], words[1], words[2],
                           words[3], words[4], words[5], words[6], &batch, path) == 9;
        for (int i = 0; fine && i < 5; i++)
            fine = setting_set(&where, PARTS[i], str_of(words[i]));
        where.device = fine ? device_list_find(&w.gpus, str_of(words[6])) : NULL;
        if (!where.device) {
            fprintf(stderr, "memory: not understood: %s", line);
            return 2;
        }
        device resized = *where.device;
        resized.numbers[DEVICE_USABLE_MIB] += room_mib;
        resized.numbers[DEVICE_MEMORY_GIB] += room_mib / 1024;
        where.device = &resized;
        setting_set_stack(&where, strcmp(words[5], "-") == 0 ? STR("") : str_of(words[5]));
        setting_settle(&where);
        if (is_timm)
            source_follow(&where, STR("timm"), &w.gpus.fail);
        sooth_status status = load(&w, path, batch, &error);
        if (status == SOOTH_OK)
            status = answer(&w, &where, &error);
        if (status != SOOTH_OK)
            printf("error\t%s\n", error.message);
        fflush(stdout);
    }
    sooth_free(w.model);
    arena_free(&w.gpus.arena);
    return 0;
}
