#!/usr/bin/env python3
"""Makes formats/gguf.*: small networks of Transformers as GGUF files, with tensor names from the gguf package.

Needs gguf (0.19.0), transformers and torch from PyPI. Parameters are those of the network in Transformers, multiply-adds by
FlopCounterMode (hf.py). All weights are zero. Most are float32; one file has 8-bit blocks, one float16.
"""
import pathlib
import re
import sys
import tempfile
import warnings

import gguf
import numpy as np
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

import hf
import listing

# GGUF's architecture name by model_type of Transformers.
KINDS = {"llama": "LLAMA", "qwen2": "QWEN2", "qwen3": "QWEN3", "gemma2": "GEMMA2", "olmo2": "OLMO2", "mixtral": "LLAMA", "qwen2_moe": "QWEN2MOE",
         "deepseek_v3": "DEEPSEEK2", "gpt2": "GPT2", "gpt_neox": "GPTNEOX", "falcon": "FALCON", "bert": "BERT", "phi": "PHI2", "phi3": "PHI3",
         "starcoder2": "STARCODER2", "cohere": "COMMAND_R", "gpt_oss": "GPT_OSS", "bloom": "BLOOM"}
TYPES = {"qwen2": gguf.GGMLQuantizationType.Q8_0, "gemma2": gguf.GGMLQuantizationType.F16}
# Tensors that converters merge or omit before they look up names.
RENAMED = [(r"\.mlp\.experts\.gate_up_proj_bias$", ".mlp.experts.gate_up_proj.bias"), (r"\.mlp\.experts\.down_proj_bias$", ".mlp.experts.down_proj.bias"),
           (r"\.block_sparse_moe\.experts\.", ".mlp.experts."), (r"\.mlp\.router\.", ".mlp.gate."),
           (r"\.self_attn\.sinks$", ".self_attn.sinks.weight")]


def attribute(config, *names, otherwise=None):
    for name in names:
        value = getattr(config, name, None)
        if value is not None:
            return value
    return otherwise


def tensors_of(kind, model):
    """(name, tensor) as in a converter: splits stacked experts into gate and up, and changes nothing else."""
    tied = set(model._tied_weights_keys or {}) if model.config.tie_word_embeddings else set()
    for name, value in model.state_dict().items():
        if name in tied or "rotary_emb" in name or name.endswith((".attn.masked_bias", "position_ids", "embeddings.token_type_ids")):
            continue
        if kind == "bloom":
            name = name.removeprefix("transformer.")
        if kind == "gpt2" and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            value = value.T
        for was, becomes in RENAMED:
            name = re.sub(was, becomes, name)
        if ".mlp.experts.gate_up_proj" in name:  # (experts, 2 * inner, hidden), or transposed as gpt_oss has it
            if kind == "gpt_oss" and value.dim() == 3:
                value = value.transpose(1, 2)
            half = value.shape[1] // 2
            tail = ".bias" if name.endswith(".bias") else ".weight"
            stem = name.partition(".mlp.experts.")[0]
            yield f"{stem}.mlp.experts.gate_proj{tail}", value[:, :half]
            yield f"{stem}.mlp.experts.up_proj{tail}", value[:, half:]
        elif name.endswith(".mlp.experts.down_proj"):
            yield name + ".weight", value.transpose(1, 2) if kind == "gpt_oss" else value
        elif name.endswith(".e_score_correction_bias"):
            yield name.replace(".e_score_correction_bias", ".e_score_correction.bias"), value
        else:
            yield name, value


def write(kind, config, model, path):
    arch = gguf.MODEL_ARCH[KINDS[kind]]
    layers = attribute(config, "num_hidden_layers", "n_layer")
    hidden = attribute(config, "hidden_size", "n_embd")
    heads = attribute(config, "num_attention_heads", "n_head")
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    writer.add_block_count(layers)
    writer.add_embedding_length(hidden)
    writer.add_context_length(attribute(config, "max_position_embeddings", "n_positions", otherwise=64))
    writer.add_feed_forward_length(attribute(config, "intermediate_size", "n_inner", "ffn_hidden_size", otherwise=4 * hidden))
    writer.add_head_count(heads)
    writer.add_head_count_kv(attribute(config, "num_kv_heads" if kind == "falcon" else "num_key_value_heads", otherwise=heads))
    rms = attribute(config, "rms_norm_eps")
    if rms is not None and kind not in ("cohere",):
        writer.add_layer_norm_rms_eps(rms)
    else:
        writer.add_layer_norm_eps(attribute(config, "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", otherwise=1e-5))
    head_dim = attribute(config, "head_dim", otherwise=hidden // heads)
    rotary = int(head_dim * (attribute(config, "partial_rotary_factor", otherwise=None) or (getattr(config, "rope_parameters", None) or {}).get("partial_rotary_factor", 1)))
    if kind not in ("gpt2", "bert", "bloom", "deepseek_v3"):
        writer.add_rope_dimension_count(rotary)
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if kind == "bert":
        writer.add_causal_attention(False)
        writer.add_token_type_count(config.type_vocab_size)
    if kind == "gpt_neox":
        writer.add_parallel_residual(config.use_parallel_residual)
    if kind == "deepseek_v3":
        writer.add_q_lora_rank(config.q_lora_rank)
        writer.add_kv_lora_rank(config.kv_lora_rank)
        writer.add_rope_dimension_count(config.qk_rope_head_dim)
        writer.add_key_length(config.qk_nope_head_dim + config.qk_rope_head_dim)
        writer.add_value_length(config.v_head_dim)
        writer.add_leading_dense_block_count(config.first_k_dense_replace)
    experts = attribute(config, "num_local_experts", "num_experts", "n_routed_experts")
    if experts and kind in ("mixtral", "qwen2_moe", "deepseek_v3", "gpt_oss"):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        writer.add_expert_feed_forward_length(attribute(config, "moe_intermediate_size", "intermediate_size"))
    if attribute(config, "sliding_window") and kind in ("gemma2", "gpt_oss"):
        writer.add_sliding_window(config.sliding_window)
    names = gguf.get_tensor_name_map(arch, layers)
    kept = TYPES.get(kind)
    unknown = []
    for name, value in tensors_of(kind, model):
        called = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if called is None:
            unknown.append(name)
            continue
        shape, quantized = tuple(value.shape), kept if value.dim() > 1 and "norm" not in name else None
        if quantized == gguf.GGMLQuantizationType.Q8_0:
            rows = np.zeros((*shape[:-1], shape[-1] // 32 * 34), np.uint8)
            writer.add_tensor(called, rows, raw_dtype=quantized)
        else:
            writer.add_tensor(called, np.zeros(shape, np.float16 if quantized else np.float32))
    if unknown:
        print(f"{kind}: not in GGUF: {', '.join(unknown[:6])}", file=sys.stderr)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def entry_of(kind, directory):
    config, model = hf.make(kind)
    file = f"{kind}.gguf"
    write(kind, config, model, pathlib.Path(directory) / file)
    # Missing in GGUF: BERT's pooler.
    params = sum(p.numel() for name, p in model.named_parameters() if "pooler" not in name)
    entry = {"file": file, "arguments": ["--batch", str(hf.BATCH), "--seq", str(hf.SEQ)], "params": params}
    if kind not in hf.NOT_COUNTED:
        counter = FlopCounterMode(display=False, depth=4)
        with counter, torch.no_grad():
            model(input_ids=torch.zeros(hf.BATCH, hf.SEQ, dtype=torch.long), **({} if kind == "bert" else {"use_cache": False}))
        pooled = sum(sum(flops.values()) for name, flops in counter.get_flop_counts().items() if name.endswith("pooler"))
        entry["macs"] = (counter.get_total_flops() - pooled) // 2
    return entry


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    origin = f"gguf 0.19.0; transformers {transformers.__version__}: parameters of the model, multiply-adds by FlopCounterMode"
    with tempfile.TemporaryDirectory() as directory:
        entries = [entry_of(kind, directory) for kind in sys.argv[1:] or KINDS]
        listing.write("gguf", origin, entries, directory)


if __name__ == "__main__":
    main()
