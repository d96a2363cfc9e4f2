#!/usr/bin/env python3
"""Makes configurations of small Hugging Face networks, one per family; Transformers counts parameters and
multiply-adds.

    python hf.py [MODEL_TYPE…]        needs transformers and torch; writes tests/models/formats/hf.zip
"""
import json
import pathlib
import re
import sys
import tempfile
import warnings

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

import listing

ORIGIN = f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}: parameters of the model, multiply-adds by FlopCounterMode"
BATCH, SEQ = 2, 8
DEVICE = "cpu"  # not on the device meta, because some networks read values of tensors; the networks are small
LANGUAGE = dict(
    vocab_size=150, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=64,
    n_embd=64, n_layer=3, n_head=4, n_positions=64, n_ctx=64, n_inner=96, rotary_dim=8, d_model=64, d_ff=96, d_kv=16, num_layers=3, num_heads=4, num_decoder_layers=2,
    encoder_layers=3, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=96, decoder_ffn_dim=80, embedding_size=48, embed_dim=64,
    num_experts=4, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=40, shared_expert_intermediate_size=48, moe_num_experts=4,
    n_shared_experts=1, n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=24, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12,
    qk_head_dim=24, state_size=8, expand=2, conv_kernel=4, time_step_rank=4, n_groups=2, mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=8, chunk_size=8,
    linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, ffn_dim=96, word_embed_proj_dim=64, hidden_dim=96, dim=64,
    n_layers=3, n_heads=4, pad_token_id=0, bos_token_id=1, eos_token_id=2, moe_layers=None, global_head_dim=16, vocab_size_per_layer_input=150, hidden_size_per_layer_input=8, ffn_hidden_size=96)
IMAGES = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8, num_channels=3)
EXTRA = {
    "gpt_neo": dict(attention_types=[[["global", "local"], 2]], num_layers=4, intermediate_size=96, attention_layers=["global", "local"] * 2), "gpt_bigcode": dict(multi_query=True), "opt": dict(word_embed_proj_dim=48),
    "falcon": dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=2), "mpt": dict(), "bloom": dict(), "gptj": dict(rotary_dim=8), "codegen": dict(rotary_dim=8),
    "mixtral": dict(intermediate_size=40), "olmoe": dict(intermediate_size=40), "phimoe": dict(intermediate_size=40), "mamba2": dict(num_heads=8, head_dim=16, n_groups=2, hidden_size=64),
    "gpt_oss": dict(intermediate_size=40), "granitemoe": dict(intermediate_size=40), "switch_transformers": dict(num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, num_experts=4),
    "deepseek_v4": dict(o_groups=2, o_lora_rank=8), "beit": dict(),
    "resnet": dict(embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[2, 1, 2, 1]), "convnext": dict(hidden_sizes=[16, 24, 32, 40], depths=[2, 1, 2, 1]),
    "segformer": dict(depths=[2, 1, 1, 1], hidden_sizes=[16, 24, 32, 40], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=24), "swin": dict(embed_dim=24, depths=[2, 1], num_heads=[2, 4], window_size=4, image_size=32, patch_size=2),
    "mobilevit": dict(hidden_sizes=[24, 32, 40], neck_hidden_sizes=[8, 12, 16, 20, 24, 28, 64], image_size=64, num_attention_heads=4, patch_size=2),
    "clip": dict(text_config=dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, vocab_size=150, max_position_embeddings=16, eos_token_id=2, bos_token_id=1, pad_token_id=0),
                 vision_config=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2, image_size=32, patch_size=8), projection_dim=24),
    "whisper": dict(max_source_positions=50, max_target_positions=20, num_mel_bins=20, vocab_size=150, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None),
    "wav2vec2": dict(conv_dim=[16, 16, 24], conv_stride=[5, 2, 2], conv_kernel=[10, 3, 3], num_feat_extract_layers=3, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4),
}
ENCODERS = "bert roberta xlm-roberta camembert data2vec-text ernie electra distilbert albert deberta-v2 modernbert".split()
BY_STAGE = "resnet convnext segformer swin mobilevit".split()
LATENT = "deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa kimi_linear".split()
# Not compared: FlopCounterMode misses the products of grouped experts, and state scans have several algorithms.
NOT_COUNTED = ("mixtral qwen2_moe qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text mimo_v2_flash phimoe glm4_moe granitemoe olmoe deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa "
               "llama4_text minimax minimax_m2 gpt_oss mamba falcon_mamba mamba2 nemotron_h kimi_linear switch_transformers").split()
# Further settings by model_type. UMT5's distance table per layer is not read.
LEFT_OUT = "mimo_v2_flash deepseek_v4 kimi_linear umt5".split()
# Modules that inference never uses.
NOT_READ = ("mask_token", "masked_spec_embed", "logit_scale")
PAIRS = "t5 mt5 umt5 switch_transformers bart mbart marian pegasus".split()
VISION = "vit deit beit dinov2 siglip_vision_model resnet convnext segformer swin mobilevit".split()


def make(kind):
    values = dict(IMAGES if kind in VISION else LANGUAGE)
    base = transformers.AutoConfig.for_model(kind)
    names = set(base.to_dict()) | set(getattr(base, "attribute_map", {}))
    given = {k: v for k, v in values.items() if k in names and v is not None and kind not in BY_STAGE and not (k == "head_dim" and kind in LATENT)}
    given.update(EXTRA.get(kind, {}))
    config = transformers.AutoConfig.for_model(kind, **given)
    if kind in PAIRS:
        auto = transformers.AutoModelForSeq2SeqLM
    elif kind in ENCODERS or kind in ("clip", "wav2vec2", "siglip_vision_model"):
        auto = transformers.AutoModel
    elif kind == "whisper":
        auto = transformers.AutoModelForSpeechSeq2Seq
    elif kind == "segformer":
        auto = transformers.AutoModelForSemanticSegmentation
    elif kind in VISION:
        auto = transformers.AutoModelForImageClassification
    else:
        auto = transformers.AutoModelForCausalLM
    with torch.device(DEVICE):
        model = auto.from_config(config, attn_implementation="eager").eval() if kind not in ("resnet", "convnext", "mobilevit", "mamba", "mamba2", "falcon_mamba") else auto.from_config(config).eval()
    config.architectures = [type(model).__name__]
    return config, model


def inputs_of(kind, config):
    ids = torch.zeros(BATCH, SEQ, dtype=torch.long)
    if kind in VISION:
        size = config.image_size if hasattr(config, "image_size") else 224
        size = 224 if kind in ("resnet", "convnext", "segformer") else size[0] if isinstance(size, (list, tuple)) else size
        return dict(pixel_values=torch.zeros(BATCH, 3, size, size))
    if kind in PAIRS:
        return dict(input_ids=ids, decoder_input_ids=ids[:, :1])
    if kind in ("clip", "whisper", "wav2vec2"):
        return None
    return dict(input_ids=ids)


def entry_of(kind, directory):
    config, model = make(kind)
    params = sum(p.numel() for name, p in model.named_parameters() if name.rpartition(".")[2] not in NOT_READ)
    file = f"{kind}.json"
    written = json.loads(config.to_json_string(use_diff=False))
    written = {k: v for k, v in written.items() if v is not None and not k.startswith("_") and k not in ("id2label", "label2id", "transformers_version", "task_specific_params", "dtype")}
    if kind in VISION:
        written["id2label"] = {str(i): str(i) for i in range(config.num_labels)}
    (pathlib.Path(directory) / file).write_text(json.dumps(written) + "\n")
    entry = {"file": file, "params": params}
    inputs = inputs_of(kind, config)
    entry["arguments"] = ["--batch", str(BATCH)] + ([] if kind in VISION + ["clip", "whisper", "wav2vec2"] else ["--seq", str(SEQ)])
    if inputs is not None and kind not in NOT_COUNTED:
        try:
            with FlopCounterMode(display=False) as counter, torch.no_grad():
                more = {"use_cache": False} if kind not in VISION and kind not in ENCODERS else {}
                model(**inputs, **more)
            entry["macs"] = counter.get_total_flops() // 2
        except Exception as error:
            print(f"{kind}: no multiply-adds: {str(error)[:100]}", file=sys.stderr)
    return entry


def families():
    source = (pathlib.Path(__file__).resolve().parents[3] / "src/front/hf/hf_families.c").read_text()
    return re.findall(r'^    \{"([\w-]+)", hf_', source, re.M)


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        for kind in sys.argv[1:] or [kind for kind in families() if kind not in LEFT_OUT]:
            try:
                entries.append(entry_of(kind, directory))
            except Exception as error:
                print(f"{kind}: left out: {type(error).__name__}: {str(error)[:150]}", file=sys.stderr)
        listing.write("hf", ORIGIN, entries, directory)


if __name__ == "__main__":
    main()
