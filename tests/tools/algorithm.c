/* algorithm.c: prints the algorithm and the launch configuration of kernels that standard input describes, one per
 * line:
 *     conv GPU DIRECTION TYPE LAYOUT n c h w k r s stride_h stride_w pad_h pad_w dilation_h dilation_w groups
 *     gemm GPU TYPE batch m n k
 * DIRECTION is fwd, dgrad or wgrad; TYPE is f16, tf32 or f32; LAYOUT is nchw or nhwc. Prints a line for each:
 *     NAME<tab>tensor cores (1 or 0)<tab>workspace in bytes<tab>tile_m<tab>tile_n<tab>blocks<tab>waves<tab>reason */
#include "predict/algorithm.h"

#include <stdio.h>
#include <stdlib.h>

/* A program of one kernel. */
typedef struct scene {
    program program;
    placed_tensor tensors[3];
    int64_t dims[3][4], strides[3][4];
    tensor_id inputs[3], outputs[1];
    kernel kernel;
    kernel_window window;
} scene;

static int64_t set_tensor(scene *s, int i, dtype type, int rank, const int64_t *dims, bool channels_last)
{
    int64_t size = 1;
    for (int j = rank - 1; j >= 0; j--) {
        s->dims[i][j] = dims[j];
        s->strides[i][j] = size;
        size *= dims[j];
    }
    if (channels_last) {
        s->strides[i][1] = 1;
        s->strides[i][3] = dims[1];
        s->strides[i][2] = dims[1] * dims[3];
    }
    s->tensors[i] = (placed_tensor){
        .dtype = type, .rank = (int8_t)rank, .dims = s->dims[i], .strides = s->strides[i], .storage = i};
    return size * dtype_bits(type) / 8;
}

static void set_program(scene *s, int inputs)
{
    for (int i = 0; i < inputs; i++)
        s->inputs[i] = i;
    s->kernel.inputs = s->inputs;
    s->kernel.input_count = inputs;
    s->kernel.outputs = s->outputs;
    s->kernel.output_count = 1;
    s->kernel.repeat = 1;
    s->program.tensors.items = s->tensors;
    s->program.tensors.count = 3;
    s->program.kernels.items = &s->kernel;
    s->program.kernels.count = 1;
    s->program.storage_count = 3;
}

static int64_t outputs_along(int64_t size, int64_t window, int64_t stride, int64_t pad, int64_t dilation)
{
    return (size + 2 * pad - dilation * (window - 1) - 1) / stride + 1;
}

enum { X, W, Y };

static void set_conv(scene *s, dtype type, bool backward, bool channels_last, const long long *n)
{
    int64_t p = outputs_along(n[2], n[5], n[7], n[9], n[11]), q = outputs_along(n[3], n[6], n[8], n[10], n[12]);
    int64_t groups = n[13];
    int64_t x = set_tensor(s, X, type, 4, (int64_t[]){n[0], n[1], n[2], n[3]}, channels_last);
    int64_t w = set_tensor(s, W, type, 4, (int64_t[]){n[4], n[1] / groups, n[5], n[6]}, channels_last);
    int64_t y = set_tensor(s, Y, type, 4, (int64_t[]){n[0], n[4], p, q}, channels_last);
    s->tensors[W].is_weight = true;
    s->window = (kernel_window){.rank = 2,
                                .size = {n[5], n[6]},
                                .stride = {n[7], n[8]},
                                .padding = {n[9], n[10]},
                                .dilation = {n[11], n[12]},
                                .groups = groups};
    s->kernel = (kernel){.op = backward ? "convolution_backward" : "convolution",
                         .phase = backward ? PHASE_BACKWARD : PHASE_FORWARD,
                         .window = &s->window,
                         .macs = n[0] * p * q * n[4] * (n[1] / groups) * n[5] * n[6],
                         .bytes_read = x + w + (backward ? y : 0),
                         .bytes_written = backward ? x : y};
    set_program(s, backward ? 3 : 2);
    s->outputs[0] = backward ? W : Y;
    if (backward) { /* the gradient comes first */
        s->inputs[0] = Y;
        s->inputs[1] = X;
        s->inputs[2] = W;
    }
}

static void set_gemm(scene *s, dtype type, const long long *n)
{
    int64_t a = set_tensor(s, X, type, 3, (int64_t[]){n[0], n[1], n[3]}, false);
    int64_t b = set_tensor(s, W, type, 3, (int64_t[]){n[0], n[3], n[2]}, false);
    int64_t c = set_tensor(s, Y, type, 3, (int64_t[]){n[0], n[1], n[2]}, false);
    s->kernel = (kernel){.op = "bmm", .macs = n[0] * n[1] * n[2] * n[3], .bytes_read = a + b, .bytes_written = c};
    set_program(s, 2);
    s->outputs[0] = Y;
}

static void print(const algorithm *a, const char *reason)
{
    printf("%s\t%d\t%lld\t%d\t%d\t%.0f\t%.4f\t%s\n", a->name, a->uses_tensor_cores, (long long)a->workspace_bytes,
           a->tile_m, a->tile_n, a->blocks, a->waves, reason);
}

int main(void)
{
    static device_list gpus;
    arena room;
    static sooth_error error;
    gpus.fail.error = &error;
    if (setjmp(gpus.fail.jump)) {
        fprintf(stderr, "algorithm: %s\n", error.message);
        return 1;
    }
    arena_init(&gpus.arena, &gpus.fail, (size_t)1 << 28);
    arena_init(&room, &gpus.fail, (size_t)1 << 28);
    device_list_add_shipped(&gpus);
    char line[512];
    while (fgets(line, sizeof line, stdin)) {
        char kind[8], gpu[64], direction[8] = "fwd", type[8], layout[8] = "nchw";
        long long n[14];
        int used = 0;
        bool conv = sscanf(line, "%7s %63s", kind, gpu) == 2 && strcmp(kind, "conv") == 0;
        bool fine = conv ? sscanf(line, "%*s %*s %7s %7s %7s%n", direction, type, layout, &used) == 3
                         : sscanf(line, "%*s %*s %7s%n", type, &used) == 1;
        char *rest = line + used;
        int count = 0;
        for (char *end; fine && count < (conv ? 14 : 4); count++, rest = end) {
            n[count] = strtoll(rest, &end, 10);
            fine = end != rest && n[count] >= 0 && n[count] < 1 << 30;
        }
        const device *d = fine ? device_list_find(&gpus, str_of(gpu)) : NULL;
        if (!d) {
            fprintf(stderr, "algorithm: not understood: %s", line);
            return 2;
        }
        setting where = {.device = d, .lower.precision = strcmp(type, "f32") == 0 ? PRECISION_FP32 : PRECISION_TF32};
        device_view view = view_device(&where);
        dtype element = strcmp(type, "f16") == 0 ? DT_FLOAT16 : DT_FLOAT32;
        conv_direction which = strcmp(direction, "fwd") == 0     ? CONV_FORWARD
                               : strcmp(direction, "dgrad") == 0 ? CONV_DATA_GRADIENT
                                                                 : CONV_FILTER_GRADIENT;
        static scene s;
        memset(&s, 0, sizeof s);
        if (conv)
            set_conv(&s, element, which != CONV_FORWARD, strcmp(layout, "nhwc") == 0, n);
        else
            set_gemm(&s, element, n);
        arena_mark mark = arena_marked(&room);
        work_list works = work_of_program(&s.program, &room);
        const work *w = &works.items[0];
        algorithm a = conv ? algorithm_of_direction(w, &s.kernel, &view, which) : algorithm_of(w, &s.kernel, &view);
        print(&a, a.reason);
        arena_rewind(&room, mark);
    }
    arena_free(&room);
    arena_free(&gpus.arena);
    return 0;
}
