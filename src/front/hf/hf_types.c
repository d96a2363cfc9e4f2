/* hf_types.c: reads from a configuration in which types a checkpoint is stored and run: "torch_dtype", and
 * "quantization_config" as the common quantizers write it. */
#include "front/hf/hf.h"

/* Bits per weight of the formats that state no group size, scales included. */
static const double MXFP4_BITS = 4 + 8.0 / 32, NVFP4_BITS = 4 + 8.0 / 16, BITSANDBYTES_BITS = 4 + 8.0 / 64;

static dtype float_type(str name)
{
    if (str_starts(name, "torch."))
        name = (str){name.ptr + 6, name.len - 6};
    return str_is(name, "bfloat16")  ? DT_BFLOAT16
           : str_is(name, "float16") ? DT_FLOAT16
           : str_is(name, "half")    ? DT_FLOAT16
           : str_is(name, "float32") ? DT_FLOAT32
                                     : DT_UNKNOWN;
}

/* Bits per weight with a 16-bit scale and a zero point of the weight's own width for each group. */
static double grouped_bits(int64_t bits, int64_t group)
{
    return (double)bits + (group > 0 ? (double)(16 + bits) / (double)group : 0);
}

static void set_by_bits(own_types *t, int64_t bits, int64_t group)
{
    if (bits < 1 || bits > 8)
        return;
    t->quantized = bits > 4 ? DT_INT8 : DT_INT4;
    t->weight_bits = grouped_bits(bits, group);
}

static int64_t first_int(const json_node *n, const char *a, const char *b, int64_t otherwise)
{
    return json_int(json_get(n, a), json_int(json_get(n, b), otherwise));
}

/* {"config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}, …}}} */
static void read_groups(own_types *t, const json_node *q)
{
    const json_node *weights = json_get(json_first(json_get(q, "config_groups")), "weights");
    int64_t bits = json_int(json_get(weights, "num_bits"), 0);
    bool is_float = str_is(json_text(json_get(weights, "type")), "float");
    set_by_bits(t, bits, json_int(json_get(weights, "group_size"), 0));
    if (is_float && bits == 8)
        t->quantized = DT_FLOAT8E4M3FN;
    else if (is_float && bits == 4)
        t->weight_bits = NVFP4_BITS;
    t->has_narrow_cache = json_int(json_get(json_get(q, "kv_cache_scheme"), "num_bits"), 16) == 8;
}

/* {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"} */
static void read_modelopt(own_types *t, const json_node *q)
{
    const json_node *inside = json_get(q, "quantization");
    q = inside ? inside : q;
    str name = json_text(json_get(q, "quant_algo"));
    if (str_contains(name, "NVFP4") || str_contains(name, "W4A")) {
        t->quantized = DT_INT4;
        t->weight_bits =
            str_contains(name, "NVFP4") ? NVFP4_BITS : grouped_bits(4, first_int(q, "group_size", "", 128));
    } else if (str_contains(name, "FP8")) {
        t->quantized = DT_FLOAT8E4M3FN;
    } else if (str_contains(name, "INT8") || str_contains(name, "W8A8")) {
        t->quantized = DT_INT8;
    }
    t->has_narrow_cache = str_is(json_text(json_get(q, "kv_cache_quant_algo")), "FP8");
}

static void read_quantization(hf *c, own_types *t, const json_node *q)
{
    str method = json_text(json_get(q, "quant_method"));
    if (str_is(method, "fp8") || str_is(method, "fbgemm_fp8") || str_is(method, "finegrained_fp8"))
        t->quantized = DT_FLOAT8E4M3FN;
    else if (str_is(method, "compressed-tensors"))
        read_groups(t, q);
    else if (str_is(method, "modelopt") || json_get(q, "quant_algo"))
        read_modelopt(t, q);
    else if (str_is(method, "awq") || str_is(method, "gptq") || str_is(method, "auto-round"))
        set_by_bits(t, first_int(q, "bits", "w_bit", 4), first_int(q, "group_size", "q_group_size", 128));
    else if (str_is(method, "mxfp4"))
        *t = (own_types){.type = t->type, .quantized = DT_INT4, .weight_bits = MXFP4_BITS};
    else if (str_is(method, "bitsandbytes") && json_int(json_get(q, "load_in_4bit"), 0))
        *t = (own_types){.type = t->type, .quantized = DT_INT4, .weight_bits = BITSANDBYTES_BITS};
    else if (str_is(method, "bitsandbytes"))
        t->quantized = DT_INT8;
    if (t->quantized == DT_UNKNOWN)
        hf_note(c, "the quantization '%.*s' is not known: weights count as unquantized", STR_ARG(method));
}

static const json_node *either(const json_node *first, const json_node *second)
{
    return first ? first : second;
}

void hf_read_types(hf *c)
{
    own_types *t = &c->b->source->own_types;
    const json_node *type = either(json_get(c->config, "torch_dtype"), json_get(c->config, "dtype"));
    type = either(type, either(json_get(c->root, "torch_dtype"), json_get(c->root, "dtype")));
    t->type = float_type(json_text(type));
    const json_node *q = either(json_get(c->config, "quantization_config"), json_get(c->root, "quantization_config"));
    if (json_is(q, JSON_OBJECT))
        read_quantization(c, t, q);
}
