/* source.c: what timm's benchmark does to the networks that it runs, and which software NVIDIA's tables are of. */
#include "predict/source.h"
#include "memory/backend.h"

/* Do its transformer blocks have PyTorch's own layer norms, not timm's, which the option --fast-norm is for? By the
 * modules of timm 1.0.22. */
static bool has_torch_norms(str name)
{
    static const char *const NAMES[] = {
        "cait_",      "crossvit_",  "edgenext_", "efficientformer_", "efficientvit_", "gmixer_",  "gmlp_", "inception_",
        "mixer_",     "mobilevit_", "pit_",      "samvit_",          "swin_",         "tiny_vit", "tnt_",  "twins_",
        "vit_relpos", "volo_",      "xcit_"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_starts(name, NAMES[i]))
            return true;
    return false;
}

/* All norms of these are PyTorch's own, those of maps too (timm 1.0.22: swin_transformer.py, volo.py,
 * vision_transformer_sam.py but its neck). */
static bool has_torch_norms_only(str name)
{
    return str_starts(name, "swin_") || str_starts(name, "volo_") || str_starts(name, "samvit_");
}

/* The first version of PyTorch that transformer blocks were measured with that have timm's own layer norms. EVA and
 * MViTv2 had them from the start, BEiT became faster with 2.4 (1.14 times; DeiT 1.01), the others with 2.9 (ViT 1.07
 * times, DeiT 1.06; EVA-02 1.00). */
static int first_with_own_norms(str name)
{
    if (str_starts(name, "eva") || str_starts(name, "mvitv2"))
        return 113;
    return str_starts(name, "beit") ? 204 : 209;
}

/* Eager inference with PyTorch 1.13 and later had --fast-norm, except on the RTX 5090: with it a network of group
 * norms takes half the time (efficientnet_b3_gn: 1.51 ms an image with 1.12, 0.74 with 1.13; 0.53 on the RTX 4090,
 * 0.78 on the faster 5090), and networks with layer norms of timm's own are slower on the RTX 5090 than on the PRO
 * 6000 Max-Q (vit 1.11 times, beit 1.16), others faster (swin 0.94, cait 0.89). Norms of maps have been timm's own all
 * the time, those of most transformers since the time of 2.9. */
static lower_norms timm_norms(const setting *s, str name)
{
    int version = torch_version(s->stack);
    if (!s->stack.len || s->lower.mode != MODE_INFER || s->lower.runtime != RUNTIME_EAGER || version < 113 ||
        has_torch_norms_only(name) || (s->device && str_is(s->device->texts[DEVICE_NAME], "rtx-5090")))
        return NORMS_FLOAT;
    return version >= first_with_own_norms(name) && !has_torch_norms(name) ? NORMS_LOW : NORMS_LOW_MAPS;
}

/* The tables of DeepLearningExamples do not tell their versions; all are of NVIDIA's own containers, which are no
 * user's PyTorch by default. */
static void follow_nvidia(setting *s)
{
    if (!s->stack.len)
        s->stack = STR("ngc-pt1.x");
}

/* TF32 is allowed in every version, algorithms of convolutions are tried out, the backward pass runs inside autocast,
 * outputs end with the step. */
static void follow_timm(setting *s, str name)
{
    s->lower.autocast_backward = s->autotunes = s->returns = true;
    s->lower.norms = timm_norms(s, name);
    s->norms_in_place = torch_version(s->stack) < 113 && str_starts(name, "tresnet_"); /* timm 0.6: InplaceAbn */
    s->lower.explicit_attention |= torch_version(s->stack) < 204 && str_starts(name, "volo_");
    if (s->lower.precision == PRECISION_FP32 && s->device && s->device->numbers[DEVICE_TENSOR_TF32] > 0)
        s->lower.precision = PRECISION_TF32;
}

void source_follow(setting *s, str source, str name)
{
    if (str_starts(source, "timm"))
        follow_timm(s, name);
    else if (str_is(source, "nvidia-dle"))
        follow_nvidia(s);
}
