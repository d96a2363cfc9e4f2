#include "predict/setting.h"
#include "memory/backend.h"

/* Names of the values. The first name of a value is canonical; the others are synonyms. */
typedef struct choice {
    const char *name;
    int value;
} choice;

static const choice PRECISIONS[] = {
    {"fp32", PRECISION_FP32},
    {"tf32", PRECISION_TF32},
    {"fp16", PRECISION_FP16},
    {"bf16", PRECISION_BF16},
    {"amp-fp16", PRECISION_AMP_FP16},
    {"amp-bf16", PRECISION_AMP_BF16},
    {"int8", PRECISION_INT8},
    {"fp8", PRECISION_FP8},
    {"int4", PRECISION_INT4},
    {"amp", PRECISION_AMP_FP16},
    {NULL, 0},
};
static const choice LAYOUTS[] = {{"nchw", LAYOUT_NCHW}, {"nhwc", LAYOUT_NHWC}, {NULL, 0}};
static const choice RUNTIMES[] = {
    {"eager", RUNTIME_EAGER}, {"inductor", RUNTIME_INDUCTOR}, {"engine", RUNTIME_ENGINE}, {NULL, 0}};
static const choice MODES[] = {
    {"infer", MODE_INFER}, {"train", MODE_TRAIN}, {"train-forward", MODE_FORWARD}, {NULL, 0}};
static const choice OPTIMIZERS[] = {
    {"sgd-momentum", OPTIMIZER_MOMENTUM},
    {"none", OPTIMIZER_NONE},
    {"sgd", OPTIMIZER_SGD},
    {"sgd-nesterov", OPTIMIZER_NESTEROV},
    {"adam", OPTIMIZER_ADAM},
    {"adamw", OPTIMIZER_ADAMW},
    {"adam-l2", OPTIMIZER_ADAM_L2},
    {NULL, 0},
};

/* Names from other programs; accepted but not listed. */
static const struct {
    const char *name;
    setting_part part;
    int value;
} ALIASES[] = {
    {"float32", SETTING_PRECISION, PRECISION_FP32},
    {"float16", SETTING_PRECISION, PRECISION_FP16},
    {"half", SETTING_PRECISION, PRECISION_FP16},
    {"bfloat16", SETTING_PRECISION, PRECISION_BF16},
    {"w4a16", SETTING_PRECISION, PRECISION_INT4},
    {"channels_last", SETTING_LAYOUT, LAYOUT_NHWC},
    {"channels-last", SETTING_LAYOUT, LAYOUT_NHWC},
    {"pytorch", SETTING_RUNTIME, RUNTIME_EAGER},
    {"torch.compile", SETTING_RUNTIME, RUNTIME_INDUCTOR},
    {"compile", SETTING_RUNTIME, RUNTIME_INDUCTOR},
    {"tensorrt", SETTING_RUNTIME, RUNTIME_ENGINE},
    {"inference", SETTING_MODE, MODE_INFER},
    {"training", SETTING_MODE, MODE_TRAIN},
    {"momentum", SETTING_OPTIMIZER, OPTIMIZER_MOMENTUM},
    {SETTING_NOT_NOTED, SETTING_OPTIMIZER, OPTIMIZER_MOMENTUM},
    {"nesterov", SETTING_OPTIMIZER, OPTIMIZER_NESTEROV},
};

static const struct {
    const char *name;
    const choice *choices;
} PARTS[] = {
    [SETTING_PRECISION] = {"precision", PRECISIONS}, [SETTING_LAYOUT] = {"layout", LAYOUTS},
    [SETTING_RUNTIME] = {"runtime", RUNTIMES},       [SETTING_MODE] = {"mode", MODES},
    [SETTING_OPTIMIZER] = {"optimizer", OPTIMIZERS},
};

setting setting_default(void)
{
    return (setting){.lower = {.precision = PRECISION_AMP_FP16}};
}

static void set_value(setting *s, setting_part part, int value)
{
    switch (part) {
    case SETTING_PRECISION:
        s->lower.precision = (lower_precision)value;
        break;
    case SETTING_LAYOUT:
        s->lower.layout = (lower_layout)value;
        break;
    case SETTING_RUNTIME:
        s->lower.runtime = (lower_runtime)value;
        break;
    case SETTING_MODE:
        s->lower.mode = (lower_mode)value;
        break;
    case SETTING_OPTIMIZER:
        s->lower.optimizer = (lower_optimizer)value;
        break;
    }
}

static int value_of(const setting *s, setting_part part)
{
    const int values[] = {
        [SETTING_PRECISION] = (int)s->lower.precision, [SETTING_LAYOUT] = (int)s->lower.layout,
        [SETTING_RUNTIME] = (int)s->lower.runtime,     [SETTING_MODE] = (int)s->lower.mode,
        [SETTING_OPTIMIZER] = (int)s->lower.optimizer,
    };
    return values[part];
}

bool setting_set(setting *s, setting_part part, str name)
{
    if (!name.len)
        return true;
    for (const choice *c = PARTS[part].choices; c->name; c++)
        if (str_is(name, c->name)) {
            set_value(s, part, c->value);
            return true;
        }
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (ALIASES[i].part == part && str_is(name, ALIASES[i].name)) {
            set_value(s, part, ALIASES[i].value);
            return true;
        }
    return false;
}

const char *setting_follow_file(setting *s, const own_types *own)
{
    bool is_engine = s->lower.runtime == RUNTIME_ENGINE, infers = s->lower.mode == MODE_INFER;
    bool has_fp8 = !s->device || device_peak_flops(s->device, STR("fp8")) > 0;
    if (own->type != DT_UNKNOWN)
        s->lower.precision = own->type == DT_BFLOAT16  ? PRECISION_BF16
                             : own->type == DT_FLOAT16 ? PRECISION_FP16
                                                       : PRECISION_FP32;
    if (own->quantized == DT_UNKNOWN)
        return NULL;
    if (!is_engine || !infers)
        return "The file's weights are quantized; PyTorch is predicted with unquantized weights. --runtime engine "
               "keeps them quantized.";
    if (own->quantized == DT_FLOAT8E4M3FN && !has_fp8)
        return "The file's weights are in fp8, but this GPU has no fp8 units: they count as unquantized.";
    s->lower.precision = own->quantized == DT_INT4   ? PRECISION_INT4
                         : own->quantized == DT_INT8 ? PRECISION_INT8
                                                     : PRECISION_FP8;
    s->lower.narrow_cache |= own->has_narrow_cache;
    return NULL;
}

void setting_set_stack(setting *s, str stack)
{
    s->stack = stack;
    s->lower.explicit_attention = s->lower.single_updates = str_starts(stack, "pt1.");
    int version = torch_version(stack);
    s->lower.steps = version < 200 || version > 209 ? STEPS_NEWEST : version < 205 ? STEPS_HALF : STEPS_FLOAT;
    s->lower.contiguous_norms = version < 215;
}

/* PyTorch before 1.12 computes fp32 products and convolutions in TF32; later versions only convolutions. */
static bool allows_tf32(str stack)
{
    static const char *const VERSIONS[] = {"pt1.7", "pt1.8", "pt1.9", "pt1.10", "pt1.11"};
    if (str_is(stack, "pt1.x"))
        return true;
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++)
        if (str_starts(stack, VERSIONS[i]))
            return true;
    return false;
}

void setting_settle(setting *s)
{
    bool asks = s->lower.runtime == RUNTIME_INDUCTOR && s->device;
    double multiprocessors = asks ? s->device->numbers[DEVICE_SMS] : 0;
    s->lower.multiprocessors = (uint16_t)(multiprocessors < UINT16_MAX ? multiprocessors : UINT16_MAX);
    if (s->lower.precision == PRECISION_FP32 && s->device && s->device->numbers[DEVICE_TENSOR_TF32] > 0 &&
        allows_tf32(s->stack))
        s->lower.precision = PRECISION_TF32;
}

/* ---- what the device can do -------------------------------------------------------------------------------------- */

static bool is_half(lower_precision p)
{
    return p == PRECISION_FP16 || p == PRECISION_AMP_FP16 || p == PRECISION_INT4;
}

static bool is_bfloat(lower_precision p)
{
    return p == PRECISION_BF16 || p == PRECISION_AMP_BF16;
}

/* True if the GPU is known to lack the unit. Its file may leave units unspecified. */
static bool lacks(const device *d, const char *precision)
{
    return device_peak_flops(d, str_of(precision)) == 0;
}

arithmetic setting_arithmetic(const setting *s)
{
    const device *d = s->device;
    lower_precision p = s->lower.precision;
    if (p == PRECISION_TF32)
        return lacks(d, "tf32") ? (arithmetic){"fp32", "This GPU has no tf32 units: products run in fp32."}
                                : (arithmetic){"tf32", NULL};
    if (is_bfloat(p))
        return lacks(d, "bf16")
                   ? (arithmetic){"fp32", "This GPU has no bf16 units: tensors are stored in bf16, but products "
                                          "run in fp32."}
                   : (arithmetic){"bf16", NULL};
    if (is_half(p))
        return device_peak_flops(d, STR("fp16")) < device_peak_flops(d, STR("fp32"))
                   ? (arithmetic){"fp32",
                                  "This GPU computes fp16 more slowly than fp32: tensors are stored in fp16, but "
                                  "products run in fp32."}
                   : (arithmetic){"fp16", NULL};
    if (p == PRECISION_INT8)
        return (arithmetic){"int8", d->numbers[DEVICE_TENSOR_INT8] == 0
                                        ? "This GPU has no int8 tensor cores: products run on its vector units."
                                        : NULL};
    return (arithmetic){p == PRECISION_FP8 ? "fp8" : "fp32", NULL};
}

const char *setting_refusal(const setting *s)
{
    const device *d = s->device;
    lower_precision p = s->lower.precision;
    if (p == PRECISION_FP8 && !(device_peak_flops(d, STR("fp8")) > 0))
        return lacks(d, "bf16") ? "this GPU has no fp8 units: use fp16 or int8"
                                : "this GPU has no fp8 units: use fp16, bf16 or int8";
    if (p == PRECISION_INT8 && lacks(d, "int8"))
        return "this GPU has no int8 units: use fp16 or fp32";
    if (is_bfloat(p) && lacks(d, "bf16") && s->lower.runtime == RUNTIME_ENGINE)
        return "this GPU has no bf16 units, and engines refuse bf16 on it: use fp16 or fp32";
    if (is_bfloat(p) && lacks(d, "bf16") && s->lower.runtime == RUNTIME_INDUCTOR)
        return "this GPU has no bf16 units, and torch.compile falls back to eager PyTorch: use --runtime eager, or "
               "fp16";
    return NULL;
}

const char *setting_name(const setting *s, setting_part part)
{
    int value = value_of(s, part);
    const choice *c = PARTS[part].choices;
    while (c->name && c->value != value)
        c++;
    return c->name;
}

const char *setting_part_name(setting_part part)
{
    return PARTS[part].name;
}

const char *setting_choice(setting_part part, size_t index)
{
    const choice *c = PARTS[part].choices;
    while (c->name && index > 0) {
        c++;
        index--;
    }
    return c->name;
}
