#!/usr/bin/env python3
"""Training steps on an H100 against measured time, and active and reserved memory of PyTorch's allocator.

    tests/corpus/h100.py [--write]    --write updates doc/training.md

Networks are two of timm, of which ../shared has the files, and Gemma 2B; nothing was fitted to these rows. Times depend
on the weights, so the page has the memory alone.
"""
import collections
import csv
import json
import statistics
import subprocess
import tempfile

import corpus

FILE = "measured/h100_training_step/h100_training_step.csv"
NETWORKS = {"timm_convnext_v2": "models/timm/convnextv2_huge@224.onnx.gz", "timm_vit": "models/timm/vit_huge_patch14_clip_224@224.onnx.gz"}
GEMMA = {"architectures": ["GemmaForCausalLM"], "model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "hidden_size": 2048, "head_dim": 256,
         "intermediate_size": 16384, "max_position_embeddings": 8192, "num_attention_heads": 8, "num_hidden_layers": 18,
         "num_key_value_heads": 1, "tie_word_embeddings": True, "vocab_size": 256000, "transformers_version": "4.46.2"}
# Modules that the benchmark checkpointed, and its optimizer: timm's without weight decay.
MODULES = {"timm_convnext_v2": "*/mlp", "timm_vit": "blocks/blocks.*", "gemma_2b": "*.mlp,*norm"}
OPTIMIZERS = {"gemma_2b": "adam-l2"}
PRECISIONS = {"fp32": "fp32", "fp16": "fp16", "amp fp16": "amp-fp16"}
ACTIVE = ("weights", "gradients", "optimizer", "inputs", "feature_maps", "workspace")
MOST_TIME, MOST_ACTIVE, MOST_RESERVED = 0.16, 0.02, 0.06


def predicted(row, gemma):
    model = corpus.SHARED / NETWORKS[row["model"]] if row["model"] in NETWORKS else gemma
    options = ["--checkpoint-modules", MODULES[row["model"]]] if row["activation_checkpointing"] == "True" else []
    options += ["--seq", row["seq_len"]] if row["seq_len"] else []
    done = subprocess.run([corpus.PROGRAM, "train-phase", model, "--gpu", "h100-sxm5-80gb", "--batch", row["batch"], "--precision",
                           PRECISIONS[row["precision"]], "--optimizer", OPTIMIZERS.get(row["model"], "adam"), "--data", "none", "--library",
                           "cudnn", "--format", "json", *options], capture_output=True, timeout=corpus.TIMEOUT_S, check=True)
    answer = json.loads(done.stdout)
    active = sum(answer["memory"][part] for part in ACTIVE)
    return answer["step_ms"]["overlapped"], active, active + answer["memory"]["cache"]


def main():
    corpus.require(FILE, *NETWORKS.values())
    report = corpus.Report("h100")
    errors = collections.defaultdict(list)
    with open(corpus.SHARED / FILE, newline="") as file, tempfile.NamedTemporaryFile("w", suffix=".json") as gemma:
        json.dump(GEMMA, gemma)
        gemma.flush()
        for row in csv.DictReader(file):
            if row["model"] not in MODULES:
                continue
            kind = "with checkpoints" if row["activation_checkpointing"] == "True" else "without checkpoints"
            measured = [float(row[column]) for column in ("step_ms", "peak_active_mib", "peak_reserved_mib")]
            found = [p / m - 1 for p, m in zip(predicted(row, gemma.name), measured)]
            report.detail(f"{row['model']} {row['batch']} {row['seq_len']} {row['precision']} {kind}: " + " ".join(f"{100 * e:+.1f} %" for e in found))
            errors[kind].append([abs(e) for e in found])
    for kind, rows in sorted(errors.items()):
        time, active, reserved = (statistics.mean(column) for column in zip(*rows))
        report.say(f"memory of steps on H100 {kind}: mean error active {100 * active:.1f} %, reserved {100 * reserved:.1f} %, {len(rows)} rows")
        report.say(f"time of steps on H100 {kind}: mean error {100 * time:.0f} %")
        report.check(time <= MOST_TIME, f"time {kind}", [f"{time:.3f}"])
        report.check(active <= MOST_ACTIVE and reserved <= MOST_RESERVED, f"memory {kind}", [f"{active:.3f} {reserved:.3f}"])
    report.page("doc/training.md", lambda line: line.startswith("memory"))
    report.end()


if __name__ == "__main__":
    main()
