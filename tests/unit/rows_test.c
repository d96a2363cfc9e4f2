/* rows_test.c: tables of measured rows: what is read, what is refused and why; names of architectures. */
#include "base/csv.h"
#include "learn/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct bench {
    sooth_error error;
    fail fail;
    arena arena;
    sooth_gpus *gpus;
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    b->fail.error = &b->error;
    arena_init(&b->arena, &b->fail, (size_t)1 << 28);
    *state = b;
    return sooth_gpus_open(NULL, &b->gpus, &b->error) == SOOTH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    bench *b = *state;
    arena_free(&b->arena);
    sooth_gpus_free(b->gpus);
    free(b);
    return 0;
}

/* NULL if reading failed: the error is in the bench. */
static measured_rows *read_table(bench *b, const char *text, const rows_options *options)
{
    if (setjmp(b->fail.jump))
        return NULL;
    return rows_of_bytes(str_of(text), "tables/t.csv", b->gpus, options, &b->arena, &b->fail);
}

#define assert_text(s, expected)                                                                                       \
    do {                                                                                                               \
        str text_ = (s);                                                                                               \
        assert_int_equal(text_.len, strlen(expected));                                                                 \
        assert_memory_equal(text_.ptr, expected, text_.len);                                                           \
    } while (0)

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void fields_and_quotes(void **state)
{
    bench *b = *state;
    csv c;
    csv_begin(&c,
              STR("\xef\xbb\xbf"
                  "a,\"b,\nc\",\"say \"\"so\"\"\",\r\n\r\n,x\n\"open"),
              &b->arena);
    assert_true(csv_next(&c));
    assert_int_equal(c.count, 4);
    assert_text(c.fields[0], "a");
    assert_text(c.fields[1], "b,\nc");
    assert_text(c.fields[2], "say \"so\"");
    assert_text(c.fields[3], "");
    assert_int_equal(csv_find(&c, "a"), 0);
    assert_int_equal(csv_find(&c, "d"), -1);
    assert_true(csv_next(&c));
    assert_int_equal(c.line, 4);
    assert_int_equal(c.count, 2);
    assert_text(csv_at(&c, 1), "x");
    assert_text(csv_at(&c, 7), "");
    assert_true(csv_next(&c));
    assert_text(c.fields[0], "open");
    assert_false(csv_next(&c));
}

static void numbers(void **state)
{
    (void)state;
    double x;
    int64_t n;
    assert_true(csv_real(STR("0.00247733"), &x) && x == 0.00247733);
    assert_true(csv_real(STR("-12.5e-1"), &x) && x == -1.25);
    assert_true(csv_real(STR("1E3"), &x) && x == 1000);
    assert_false(csv_real(STR(""), &x));
    assert_false(csv_real(STR("1.2.3"), &x));
    assert_false(csv_real(STR("nan"), &x));
    assert_false(csv_real(STR("1e999"), &x));
    assert_false(csv_real(STR("1e"), &x));
    assert_true(csv_whole(STR("65536"), &n) && n == 65536);
    assert_false(csv_whole(STR("0.5"), &n));
    assert_false(csv_whole(STR("1e300"), &n));
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

/* The norms that timm's benchmark ran in 16 bits. */
static void norms_of_timm(void **state)
{
    measured_rows *r =
        read_table(*state,
                   "gpu,graph,name,batch,precision,stack,mode,latency_ms,source,runtime\n"
                   "rtx-4090,zoo:vit,vit_base_patch16_224,1,amp,pt2.9.1-cu128,infer,1,timm,eager\n"
                   "rtx-4090,zoo:vit,swin_tiny_patch4_window7_224,1,amp,pt2.9.1-cu128,infer,1,timm,eager\n"
                   "rtx-4090,zoo:vit,vit_base_patch16_224,1,amp,pt2.4-cu124,infer,1,timm,eager\n"
                   "rtx-3090,zoo:vit,vit_base_patch16_224,1,amp,pt1.12-cu113,infer,1,timm,eager\n"
                   "rtx-4090,zoo:vit,vit_base_patch16_224,1,amp,pt2.9.1-cu128,infer,1,timm,inductor\n"
                   "rtx-3090,zoo:vit,vit_base_patch16_224,1,amp,pt2.4-cu124,train,1,timm,eager\n"
                   "rtx-5090,zoo:vit,vit_base_patch16_224,1,amp,pt2.9.1-cu130,infer,1,timm,eager\n"
                   "rtx-4090,zoo:vit,vit_base_patch16_224,1,amp,pt2.9.1-cu128,infer,1,mine,eager\n",
                   NULL);
    static const lower_norms EXPECTED[] = {NORMS_LOW,   NORMS_LOW,   NORMS_LOW_MAPS, NORMS_FLOAT,
                                           NORMS_FLOAT, NORMS_FLOAT, NORMS_FLOAT,    NORMS_FLOAT};
    assert_int_equal(r->rows.count, sizeof EXPECTED / sizeof *EXPECTED);
    for (int32_t i = 0; i < r->rows.count; i++) {
        assert_int_equal(r->rows.items[i].where.lower.norms, EXPECTED[i]);
        assert_int_equal(r->rows.items[i].where.lower.explicit_attention, i == 3); /* PyTorch 1.12 */
        assert_int_equal(r->rows.items[i].where.norms_in_place, i == 3);
    }
}

static void labels(void **state)
{
    measured_rows *r =
        read_table(*state,
                   "gpu,extra,graph,name,batch,precision,stack,mode,latency_ms,source,optimizer,runtime\n"
                   "NVIDIA GeForce RTX 3090,1,g/a.onnx,resnet50,8,amp,pt1.12-cu113,train,1.5,timm,adamw,eager\n"
                   "a100-sxm4-40gb,,zoo:resnet50,deit3_x,1,fp32,pt1.x,,,torchvision-b12,,\n"
                   "a100-sxm4-40gb,,zoo:resnet50,vit,1,fp32,pt2.x,,,other,,inductor\n"
                   "titan-xp,,/a.onnx,vit,1,fp32,pt1.x,,,torchvision-b12,,\n"
                   "v100-sxm2-16gb,,zoo:resnet50,resnet50,1,fp32,,,,nvidia-dle,,\n"
                   "v100-sxm2-16gb,,zoo:resnet50,resnet50,1,fp32,pt1.12-cu113,,,nvidia-dle,,\n",
                   NULL);
    assert_non_null(r);
    assert_int_equal(r->rows.count, 6);
    assert_text(r->rows.items[4].where.stack, "ngc-pt1.x"); /* the containers of its tables */
    assert_text(r->rows.items[5].where.stack, "pt1.12-cu113");
    const measured_row *a = &r->rows.items[0], *t = a + 1;
    assert_null(a->reason);
    assert_int_equal(a->line, 2);
    assert_text(a->name, "resnet50");
    assert_text(a->family, "resnet");
    assert_text(a->graph, "tables/g/a.onnx"); /* relative to the table */
    assert_text(a->gpu, "rtx-3090");
    assert_int_equal(a->batch, 8);
    assert_int_equal(a->where.lower.precision, PRECISION_AMP_FP16);
    assert_int_equal(a->where.lower.mode, MODE_TRAIN);
    assert_int_equal(a->where.lower.optimizer, OPTIMIZER_ADAMW);
    assert_true(a->where.lower.explicit_attention && a->where.lower.single_updates);
    assert_true(a->latency_ms == 1.5 && isnan(a->memory_mib) && isnan(a->energy_j));
    assert_false(a->copies_input);
    assert_int_equal(t->where.lower.precision, PRECISION_TF32); /* the default at that time */
    assert_true(t->copies_input);
    assert_text(t->graph, "zoo:resnet50");
    assert_int_equal(t[1].where.lower.precision, PRECISION_FP32);
    assert_int_equal(t[1].where.lower.runtime, RUNTIME_INDUCTOR);
    assert_int_equal(t[2].where.lower.precision, PRECISION_FP32); /* has no tensor cores */
    assert_text(t[2].graph, "/a.onnx");
}

static void rows_with_a_reason(void **state)
{
    measured_rows *r = read_table(*state,
                                  "graph,batch,gpu,latency_ms,precision,mig,source\n"
                                  ",1,t4,1,,\n"
                                  "a,0,t4,1,,\n"
                                  "a,1,cpu-i9,1,,\n"
                                  "a,1,t4,-1,,\n"
                                  "a,1,t4,1,fp5,\n"
                                  "a,1,a100,1,,1g.7gb\n"
                                  "a\n"
                                  "a,1,a100,,,,gpumemnet-full\n",
                                  NULL);
    assert_non_null(r);
    static const char *const REASONS[] = {
        "it names no graph",
        "batch is '0', which is not a positive whole number",
        "no file describes a GPU called 'cpu-i9'",
        "latency_ms is '-1', which is not a positive number",
        "there is no precision 'fp5'",
        "a100-sxm4-40gb has no slice '1g.7gb'",
        "batch is '', which is not a positive whole number",
        "its memory measurement is unreliable (gpumemnet-full)",
    };
    assert_int_equal(r->rows.count, 8);
    for (int i = 0; i < 8; i++)
        assert_string_equal(r->rows.items[i].reason, REASONS[i]);
}

static void tables_of_something_else(void **state)
{
    bench *b = *state;
    assert_null(read_table(b, "", NULL));
    assert_int_equal(b->error.code, SOOTH_ERROR_INPUT);
    assert_null(read_table(b, "city,people\nBonn,1\n", NULL));
    assert_int_equal(b->error.code, SOOTH_ERROR_INPUT);
    if (setjmp(b->fail.jump) == 0)
        rows_read("there/is/no/such.csv", b->gpus, NULL, &b->arena, &b->fail);
    assert_int_equal(b->error.code, SOOTH_ERROR_SYSTEM);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static const kernel *timed_kernel(const measured_row *row)
{
    assert_null(row->reason);
    assert_non_null(row->kernels);
    for (int32_t i = 0; i < row->kernels->kernels.count; i++)
        if (!(row->kernels->kernels.items[i].flags & KERNEL_VIEW))
            return &row->kernels->kernels.items[i];
    fail_msg("the program has no kernel");
    return NULL;
}

static void products(void **state)
{
    bench *b = *state;
    measured_rows *r = read_table(b,
                                  "op,device,dtype,batch,m,n,k,latency_ms,source_split,torch\n"
                                  "linear,Tesla V100-PCIE-32GB,fp32,1,4,8,16,0.08,train,2.1.0\n"
                                  "bmm,NVIDIA A100-PCIE-40GB,fp32,3,4,8,16,0.04,train,2.1.0\n",
                                  NULL);
    assert_non_null(r);
    const measured_row *row = r->rows.items;
    const kernel *k = timed_kernel(row);
    assert_string_equal(k->op, "addmm");
    assert_int_equal(k->macs, 4 * 8 * 16);
    assert_int_equal(k->flops, 2 * 4 * 8 * 16);
    assert_int_equal(k->bytes_read, 4 * (8 + 4 * 16 + 8 * 16));
    assert_int_equal(k->bytes_written, 4 * 4 * 8);
    assert_text(row->gpu, "v100-pcie-32gb");
    assert_text(row->where.stack, "pt2.x"); /* the stack of its networks */
    assert_true(row->where.is_operator);
    assert_true(row->timer_us == 48 * 1.25);
    k = timed_kernel(row + 1);
    assert_string_equal(k->op, "bmm");
    assert_int_equal(k->macs, 3 * 4 * 8 * 16);
    assert_int_not_equal(row[0].shape, row[1].shape);
}

static void types_of_serving_frameworks(void **state)
{
    measured_rows *r = read_table(*state,
                                  "op,device,dtype,framework,kernel_source,batch,m,n,k,latency_ms,power_w\n"
                                  "gemm,NVIDIA H200,fp8,VLLM 0.24.0,x,1,4,8,16,0.002,500\n"
                                  "gemm,NVIDIA H200,int4_wo,TRTLLM 1.0.0,x,1,4,8,16,0.002,\n"
                                  "gemm,NVIDIA H200,nvfp4,VLLM 0.24.0,x,1,4,8,16,0.002,\n",
                                  NULL);
    assert_non_null(r);
    const measured_row *row = r->rows.items;
    const kernel *k = timed_kernel(row);
    assert_string_equal(k->op, "mm");
    assert_int_equal(k->bytes_read, 4 * 16 + 8 * 16);
    assert_int_equal(k->bytes_written, 2 * 4 * 8);
    assert_int_equal(row->where.lower.precision, PRECISION_FP8);
    assert_text(row->where.stack, "vllm-0.24.0");
    assert_true(fabs(row->energy_j - 0.001) < 1e-9);
    assert_true(row->timer_us == 0);
    k = timed_kernel(row + 1);
    assert_int_equal(k->bytes_read, 2 * 4 * 16 + 8 * 16 / 2);
    assert_text(row[1].where.stack, "trtllm-1.0.0-int4_wo");
    assert_true(isnan(row[1].energy_j));
    assert_string_equal(row[2].reason, "there is no precision 'nvfp4'");
    assert_int_equal(row[0].shape, row[1].shape);
}

static void causal_attention(void **state)
{
    measured_rows *r = read_table(*state,
                                  "op,device,dtype,kv_dtype,framework,kernel_source,batch,q_len,past_len,heads,kv_"
                                  "heads,head_dim,window,latency_ms\n"
                                  "context_attention,NVIDIA L40S,bfloat16,bfloat16,VLLM 1,x,2,4,0,8,2,64,0,1\n"
                                  "generation_attention,NVIDIA L40S,bfloat16,fp8,VLLM 1,x,2,1,9,8,2,64,0,1\n"
                                  "context_attention,NVIDIA L40S,bfloat16,bfloat16,VLLM 1,x,2,4,0,8,2,64,2,1\n"
                                  "encoder_attention,NVIDIA L40S,bfloat16,,VLLM 1,x,2,4,0,8,8,64,0,1\n",
                                  NULL);
    assert_non_null(r);
    const int64_t of_pair = 2 * 64 * 2 * 8; /* both products, every head of both sequences */
    static const int64_t PAIRS[] = {4 + 3 + 2 + 1, 10, 1 + 2 + 2 + 2, 16};
    for (int i = 0; i < 4; i++) {
        const kernel *k = timed_kernel(&r->rows.items[i]);
        assert_string_equal(k->op, "_scaled_dot_product_flash_attention");
        assert_int_equal(k->macs, PAIRS[i] * of_pair);
    }
    assert_int_equal(timed_kernel(&r->rows.items[1])->bytes_read, 2 * 2 * 8 * 64 + 2 * 2 * 10 * 2 * 64);
}

static void convolutions(void **state)
{
    measured_rows *r = read_table(*state,
                                  "op,device,gpu_model,dtype,suite,precision_note,direction,N,C,H,W,K,R,S,stride_h,"
                                  "stride_w,pad_h,pad_w,groups,latency_ms\n"
                                  "conv2d,NV T4,,fp32,train,,fwd,2,4,8,9,6,3,3,2,1,1,1,2,1\n"
                                  "conv2d,NV T4,,fp32,train,,bwd_weight,2,4,8,9,6,3,3,2,1,1,1,2,1\n"
                                  "conv2d,NV T4,,fp32,train,,fwd,2,4,8,9,6,13,3,2,1,1,1,2,1\n"
                                  "conv2d,NV T4,,fp32,train,,fwd,2,5,8,9,6,3,3,2,1,1,1,2,1\n"
                                  "conv2d,NV T4,,fp32,train,,fwd,2147483648,2147483648,8,9,2,3,3,2,1,1,1,2,1\n"
                                  "conv4d,NV T4,,fp32,train,,fwd,2,5,8,9,6,3,3,2,1,1,1,2,1\n",
                                  NULL);
    assert_non_null(r);
    const kernel *k = timed_kernel(&r->rows.items[0]);
    assert_string_equal(k->op, "convolution");
    assert_int_equal(k->macs, 2 * 6 * 4 * 9 * 2 * 9);
    assert_int_equal(k->window->groups, 2);
    assert_int_equal(k->window->stride[0], 2);
    const placed_tensor *y = &r->rows.items[0].kernels->tensors.items[k->outputs[0]];
    assert_int_equal(y->dims[2], 4);
    assert_int_equal(y->dims[3], 9);
    const kernel *back = timed_kernel(&r->rows.items[1]);
    assert_string_equal(back->op, "convolution_backward");
    assert_int_equal(back->macs, k->macs);
    assert_int_equal(back->bytes_written, 4 * 6 * 2 * 9);
    assert_string_equal(r->rows.items[2].reason, "the window is larger than the map");
    assert_string_equal(r->rows.items[3].reason, "the channels are not divisible into 2 groups");
    assert_string_equal(r->rows.items[4].reason, "one of its tensors is too large");
    assert_string_equal(r->rows.items[5].reason, "the operator 'conv4d' is unknown");
}

/* Sizes that have no usual value must be there. */
static void what_a_convolution_needs(void **state)
{
    static const char *const NAMES[] = {"N", "C", "H", "W", "K", "R", "S", "stride_h", "stride_w", "pad_h", "pad_w"};
    static const char *const FIELDS[] = {"2", "4", "8", "9", "6", "3", "3", "2", "1", "1", "1"};
    enum { COUNT = sizeof NAMES / sizeof *NAMES };
    for (int left_out = 0; left_out <= COUNT; left_out++) {
        char text[600] = "op,device,dtype,latency_ms,suite,precision_note,direction";
        for (int i = 0; i < COUNT; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), ",%s", NAMES[i]);
        snprintf(text + strlen(text), sizeof text - strlen(text), "\nconv2d,NV T4,fp32,1,train,,fwd");
        for (int i = 0; i < COUNT; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), ",%s", i == left_out ? "" : FIELDS[i]);
        measured_rows *r = read_table(*state, text, NULL);
        assert_non_null(r);
        if ((r->rows.items[0].reason != NULL) != (left_out < COUNT))
            fail_msg("without %s: %s", left_out < COUNT ? NAMES[left_out] : "nothing", r->rows.items[0].reason);
    }
}

/* The steps are counted, not expanded; the weights are the state's only. */
/* NeuSight's timer adds more to a convolution the later its row is among those of its GPU. */
static void timers_that_drift(void **state)
{
    measured_rows *t = read_table(*state,
                                  "op,device,dtype,direction,N,C,H,W,K,R,S,latency_ms,source_split,torch\n"
                                  "conv2d,Tesla T4,fp32,fwd,1,8,5,5,8,3,3,0.5,train,2.1.0\n"
                                  "conv2d,Tesla V100-PCIE-32GB,fp32,fwd,1,8,5,5,8,3,3,0.4,train,2.1.0\n"
                                  "conv2d,Tesla T4,fp32,fwd,1,8,6,6,8,3,3,0.5,train,2.1.0\n",
                                  NULL);
    assert_non_null(t);
    const measured_row *row = t->rows.items;
    assert_true(fabs(row[0].timer_us - (89 + 332 * 0.25 + 100 * 0.0625)) < 1e-9);
    assert_true(fabs(row[1].timer_us - (55 + 153 * 0.5 + 115 * 0.25)) < 1e-9);
    assert_true(fabs(row[2].timer_us - (89 + 332 * 0.75 + 100 * 0.5625)) < 1e-9);
}

static void recurrent_layers(void **state)
{
    measured_rows *r =
        read_table(*state,
                   "op,device,dtype,suite,hidden,batch,timesteps,fwd_ms,bwd_data_ms,bwd_weight_ms,precision_note\n"
                   "lstm,NV V100,fp32,train,64,8,25,1,2,3,Float\n"
                   "gru,NV V100,fp32,inference,64,8,1,1,,,Float\n"
                   "vanilla,NV V100,fp32,inference,64,0,1,1,,,Float\n",
                   NULL);
    assert_non_null(r);
    assert_int_equal(r->rows.count, 5);
    static const int64_t MACS[] = {25 * 8 * 64 * 4 * 64, 25 * 8 * 64 * 4 * 64, 25 * 8 * 64 * 4 * 64, 8 * 64 * 3 * 64};
    static const double MS[] = {1, 2, 3, 1};
    for (int i = 0; i < 4; i++) {
        const program *p = r->rows.items[i].kernels;
        int64_t macs = 0;
        for (int32_t n = 0; n < p->kernels.count; n++)
            macs += p->kernels.items[n].macs * p->kernels.items[n].repeat;
        assert_int_equal(macs, MACS[i]);
        assert_true(r->rows.items[i].latency_ms == MS[i]);
    }
    assert_string_equal(r->rows.items[4].reason, "batch is '0', which is not a size");
}

static void a_layer_is_two_rows(void **state)
{
    measured_rows *r = read_table(
        *state,
        "op,device,dtype,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,desc,activation_bytes,fwd_ms,bwd_ms\n"
        "conv2d,NVIDIA V100 (see README),fp32,2,4,8,8,6,3,3,1,1,1,1,\"Conv2d(4, 6, kernel_size=(3, 3))\",1,2,4\n"
        "linear,NVIDIA V100,fp32,256,,,,,,,,,,,\"Linear(in_features=16, out_features=8, bias=True)\",1,0.5,4\n",
        NULL);
    assert_non_null(r);
    assert_int_equal(r->rows.count, 3);
    const measured_row *row = r->rows.items;
    assert_string_equal(timed_kernel(row)->op, "convolution");
    assert_int_equal(row->kernels->kernels.count, 2); /* the bias */
    const kernel *back = timed_kernel(row + 1);
    assert_int_equal(back->output_count, 2);
    assert_int_equal(back->macs, 2 * timed_kernel(row)->macs);
    assert_true(row[1].latency_ms == 4 && row[0].timer_us == 270);
    assert_string_equal(row[2].reason, "it is too short for its source's timer (below 1 ms)");
}

static void the_same_share_of_shapes(void **state)
{
    bench *b = *state;
    char text[1 << 15] = "op,device,dtype,rows,cols,latency_ms\n";
    size_t used = strlen(text);
    for (int i = 1; i <= 200; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "relu,t4,fp32,%d,8,1\nrelu,l4,fp32,%d,8,1\n", i, i);
    measured_rows *all = read_table(b, text, NULL);
    measured_rows *some = read_table(b, text, &(rows_options){.keep = 0.25});
    assert_int_equal(all->rows.count, 400);
    assert_in_range(some->rows.count, 60, 140);
    for (int32_t i = 0; i + 1 < some->rows.count; i += 2) { /* kept on both GPUs or on neither */
        assert_int_equal(some->rows.items[i].shape, some->rows.items[i + 1].shape);
        assert_int_equal(some->rows.items[i].line + 1, some->rows.items[i + 1].line);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void architectures(void **state)
{
    bench *b = *state;
    static const char *const SAME[][2] = {
        {"resnet50", "swsl_resnet50.a1_in1k"},
        {"resnet50d", "gluon_resnet50_v1d"},
        {"efficientnet_b0", "tf_efficientnet_b0_ns"},
        {"vit_base_patch16_224", "deit_base_distilled_patch16_384"},
        {"swin_base_patch4_window7_224", "swin_base_patch4_window12_384"},
        {"convnext_tiny", "convnext_tiny_384_in22ft1k"},
        {"mobilenet_v2", "mobilenetv2_100"},
        {"repvit_m1", "repvit_m1+reparam@224"},
    };
    static const char *const OTHER[][2] = {
        {"levit_256", "levit_384"},
        {"regnetx_320", "regnetx_160"},
        {"resnet50", "resnet101"},
        {"mobilenetv2_100", "mobilenetv2_140"},
        {"mnasnet_a1", "mnasnet_b1"},
        {"volo_d1_224", "volo_d2_224"},
        {"vit_base_patch16_224", "vit_base_patch32_224"},
    };
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        assert_true(
            str_eq(row_architecture(str_of(SAME[i][0]), &b->arena), row_architecture(str_of(SAME[i][1]), &b->arena)));
    for (size_t i = 0; i < sizeof OTHER / sizeof *OTHER; i++)
        assert_false(
            str_eq(row_architecture(str_of(OTHER[i][0]), &b->arena), row_architecture(str_of(OTHER[i][1]), &b->arena)));
}

static void families(void **state)
{
    (void)state;
    assert_text(row_family(STR("legacy_seresnext50_32x4d")), "resnet");
    assert_text(row_family(STR("densenet121")), "densenet");
    assert_text(row_family(STR("mobilenetv3_large_100")), "mobilenet");
    assert_text(row_family(STR("deit3_base_patch16_224.fb_in1k")), "vit");
    assert_text(row_family(STR("convnextv2_tiny")), "convnext");
    assert_text(row_family(STR("vgg11_bn")), "vgg");
    assert_text(row_family(STR("")), "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(fields_and_quotes),
        TEST(numbers),
        TEST(labels),
        TEST(norms_of_timm),
        TEST(rows_with_a_reason),
        TEST(tables_of_something_else),
        TEST(products),
        TEST(types_of_serving_frameworks),
        TEST(causal_attention),
        TEST(convolutions),
        TEST(what_a_convolution_needs),
        TEST(timers_that_drift),
        TEST(recurrent_layers),
        TEST(a_layer_is_two_rows),
        TEST(the_same_share_of_shapes),
        TEST(architectures),
        TEST(families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
