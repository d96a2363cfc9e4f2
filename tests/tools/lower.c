/* lower.c: prints the kernels that eager PyTorch would launch for a network, one JSON object per line. For tests.
 *
 *     lower PRECISION LAYOUT BATCH MODEL…      PRECISION: fp32 fp16 bf16 amp-fp16 amp-bf16; LAYOUT: nchw nhwc
 *
 * The line before those of a model names it; after a failure the message stands there instead of kernels. */
#include "lower/lower.h"

#include <stdio.h>
#include <stdlib.h>

static void print_tensor(const program *p, tensor_id t)
{
    const placed_tensor *x = &p->tensors.items[t];
    printf("[\"%s\",[", dtype_name(x->dtype));
    for (int i = 0; i < x->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)x->dims[i]);
    printf("],[");
    for (int i = 0; i < x->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)x->strides[i]);
    printf("]]");
}

static void print_kernel(const sooth_model *model, const program *p, const kernel *k)
{
    printf("{\"op\":\"%s\",\"layer\":%d,\"type\":\"%s\",\"flags\":%d,\"in\":[", k->op, k->layer,
           model->net.nodes.items[k->layer].type.ptr, k->flags);
    for (int i = 0; i < k->input_count; i++) {
        printf("%s", i ? "," : "");
        print_tensor(p, k->inputs[i]);
    }
    printf("],\"out\":[");
    for (int i = 0; i < k->output_count; i++) {
        printf("%s", i ? "," : "");
        print_tensor(p, k->outputs[i]);
    }
    printf("],\"macs\":%lld,\"flops\":%lld,\"bytes\":%lld,\"repeat\":%lld}\n", (long long)k->macs, (long long)k->flops,
           (long long)(k->bytes_read + k->bytes_written), (long long)k->repeat);
}

static void run(const char *path, const lower_options *options, int64_t batch, int64_t file_batch)
{
    sooth_error error;
    sooth_model *model;
    if (sooth_load_file(path, &model, &error) != SOOTH_OK) {
        printf("{\"failed\":\"load\"}\n");
        return;
    }
    sooth_options binding = {.batch = batch};
    if (sooth_bind(model, &binding, &error) != SOOTH_OK) {
        printf("{\"failed\":\"bind\",\"code\":%d}\n", error.code);
        sooth_free(model);
        return;
    }
    (void)file_batch;
    arena a;
    arena_init(&a, &model->fail, (size_t)1 << 32);
    model->fail.error = &error;
    if (setjmp(model->fail.jump) == 0) {
        const program *p = lower_eager(model, options, &a);
        for (int32_t i = 0; i < p->kernels.count; i++)
            print_kernel(model, p, &p->kernels.items[i]);
    } else {
        printf("{\"failed\":\"lower\",\"code\":%d}\n", error.code);
        fprintf(stderr, "%s\n", error.message);
    }
    arena_free(&a);
    sooth_free(model);
}

int main(int argc, char **argv)
{
    static const char *const PRECISIONS[] = {"fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16"};
    lower_options options = {.precision = PRECISION_FP32};
    if (argc < 5) {
        fprintf(stderr, "usage: lower PRECISION LAYOUT BATCH MODEL...\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof PRECISIONS / sizeof *PRECISIONS; i++)
        if (strcmp(argv[1], PRECISIONS[i]) == 0)
            options.precision = (lower_precision)i;
    options.layout = strcmp(argv[2], "nhwc") == 0 ? LAYOUT_NHWC : LAYOUT_NCHW;
    for (int i = 4; i < argc; i++)
        run(argv[i], &options, atoll(argv[3]), 0);
    return 0;
}
