#!/usr/bin/env python3
"""Recovery of operators that exporters take apart: our compute operators against those that eager PyTorch dispatched.

For each timm network with a trace, the multiset of compute operators must equal the trace's. Networks that differ are
listed in recovery.txt with the reason.

    recovery.py [PART OF A NETWORK'S NAME]       prints the differences of those networks
"""
import collections
import sys

import corpus

REQUIRED_SHARE = 95

TRACE = {
    "convolution": "convolution", "col2im": "convolution",  # the graphs show F.fold as ConvTranspose
    "addmm": "linear", "mm": "linear",
    "bmm": "bmm",
    "_scaled_dot_product_flash_attention": "attention", "_scaled_dot_product_efficient_attention": "attention",
    "native_layer_norm": "layer_norm", "_fused_rms_norm": "layer_norm",
    "cudnn_batch_norm": "batch_norm", "native_batch_norm": "batch_norm",
    "native_group_norm": "group_norm",
    "gelu": "gelu",
    "silu": "silu", "silu_": "silu",
    "_softmax": "softmax", "_safe_softmax": "softmax",
    "avg_pool2d": "pool", "max_pool2d_with_indices": "pool", "_adaptive_avg_pool2d": "pool", "adaptive_max_pool2d": "pool",
}
# AdaptiveAvgPool2d(1) and x.mean((2, 3)) are the operator `mean` in eager PyTorch, over [-1, -2] and [2, 3]: both count
# as pooling, as GlobalAveragePool does in the graph. Means over other dimensions (tokens, NHWC maps, statistics) count
# on neither side.
SPATIAL = ([-1, -2], [-2, -1], [2, 3])
GRAPH = {
    "Conv": "convolution", "ConvTranspose": "convolution",
    "Linear": "linear", "Gemm": "linear",
    "MatMul": "bmm", "Einsum": "bmm",
    "Attention": "attention", "ScaledDotProductAttention": "attention",
    "LayerNormalization": "layer_norm", "RMSNormalization": "layer_norm",
    "BatchNormalization": "batch_norm", "WeightStandardization": "batch_norm",
    "GroupNormalization": "group_norm", "InstanceNormalization": "group_norm",
    "Gelu": "gelu",
    "Silu": "silu", "Swish": "silu",
    "Softmax": "softmax",
    "AveragePool": "pool", "MaxPool": "pool", "GlobalMaxPool": "pool",
    "GlobalAveragePool": "pool",
}


def traced(line):
    counts = collections.Counter()
    for kind, *_ in line["ops"]:
        operator, attributes = (line["K"][kind] + [{}])[:2]
        name = TRACE.get(operator)
        if operator == "mean" and attributes.get("dim") in SPATIAL:
            name = "pool"
        if name:
            counts[name] += 1
    return counts


def recovered(task):
    """(operators, MACs with all passes, MACs with none), or the failure's message."""
    path, batch = task
    arguments = ["--batch", str(batch)]
    seen = corpus.Inspection(corpus.MODELS / path, *arguments)
    if seen.json is None:  # some graphs have their batch of 1 in the middle; the operators are the same
        arguments = ["--batch", "1"]
        seen = corpus.Inspection(corpus.MODELS / path, *arguments)
    plain = corpus.Inspection(corpus.MODELS / path, *arguments, "--skip", "all")
    if seen.json is None or plain.json is None:
        return seen.message or plain.message
    counts = collections.Counter()
    for layer in seen.json["layers"]:
        if layer["op"] in GRAPH:
            counts[GRAPH[layer["op"]]] += layer.get("repeat") or 1
    return counts, seen.json["totals"]["macs"], plain.json["totals"]["macs"]


def differences(found, expected):
    return {op: found[op] - expected[op] for op in sorted(found | expected) if found[op] != expected[op]}


def compare_timm(report, only):
    explained = dict(corpus.read_list("recovery.txt"))
    work, truth = [], []
    for line in corpus.read_lines("models/oracle/eager/timm_infer.jsonl.gz"):
        file = f"{line['n']}{'+reparam' if line.get('rp') else ''}@{line['sz']}.onnx.gz"
        if only in file and (corpus.MODELS / "timm" / file).exists():
            work.append((f"timm/{file}", line["b"]))
            truth.append(traced(line))

    equal = 0
    kinds = collections.defaultdict(list)
    unexplained, unread, changed = [], [], []
    for (file, _), expected, result in zip(work, truth, corpus.parallel(recovered, work)):
        stem = file.removeprefix("timm/").removesuffix(".onnx.gz")
        if isinstance(result, str):
            unread.append(f"{stem}: {result}")
            continue
        found, macs, plain_macs = result
        if macs != plain_macs:
            changed.append(f"{stem}: {plain_macs} MACs in the file, {macs} after the passes")
        wrong = differences(found, expected)
        equal += not wrong
        for op, difference in wrong.items():
            kinds[op, "more" if difference > 0 else "fewer"].append(stem)
        if wrong:
            text = f"{stem}\t" + " ".join(f"{op}{d:+d}" for op, d in wrong.items()) + "\t" + explained.get(stem, "")
            report.detail(text)
            if only:
                print(text)
            if stem not in explained:
                unexplained.append(text)

    share = 100 * equal / max(len(work), 1)
    report.say(f"{len(work)} timm networks: compute operators equal the trace's in {equal} ({share:.1f} %), "
               f"{len(work) - equal - len(unexplained) - len(unread)} of the others explained in tests/corpus/recovery.txt")
    for (op, sign), networks in sorted(kinds.items(), key=lambda item: -len(item[1])):
        report.say(f"  {op:12} {sign:6} in {len(networks):4}  e.g. {', '.join(networks[:: max(1, len(networks) // 3)][:3])}")
    report.check(not unread, "every network is read", unread)
    report.check(not changed, "the passes leave the number of MACs as it is", changed)
    if not only:
        report.check(share >= REQUIRED_SHARE, f"at least {REQUIRED_SHARE} % of the networks have the trace's operators",
                     [f"{share:.1f} %"])
        report.check(not unexplained, "the others are explained", unexplained)


def compare_torchvision(report):
    """Most of these files were exported with batch norms folded into the preceding convolutions, so fewer match."""
    work, truth = [], []
    for line in corpus.read_lines("models/oracle/eager/torchvision.jsonl.gz"):
        if line["mode"] != "infer" or line["prec"] != "amp":
            continue
        for file in (f"torchvision/{line['n']}_bn.onnx.gz", f"torchvision/{line['n']}.onnx.gz"):
            if (corpus.MODELS / file).exists():
                work.append((file, line["b"]))
                truth.append(traced(line))
                break
    wrong = []
    for (file, _), expected, result in zip(work, truth, corpus.parallel(recovered, work)):
        if isinstance(result, str):
            wrong.append(f"{file}: {result}")
            continue
        found, macs, plain_macs = result
        expected["batch_norm"] = min(expected["batch_norm"], found["batch_norm"])
        if differences(found, expected) or macs != plain_macs:
            wrong.append(f"{file}: {differences(found, expected)}, {plain_macs} MACs in the file, {macs} after the passes")
    report.say(f"{len(work)} torchvision networks: compute operators equal the trace's in {len(work) - len(wrong)}")
    report.check(work and not wrong, "every torchvision network has the trace's operators", wrong)


def main():
    corpus.require("models/timm", "models/torchvision", "models/oracle/eager/timm_infer.jsonl.gz")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("recovery" if not only else "recovery-part")
    compare_timm(report, only)
    if not only:
        compare_torchvision(report)
    report.end()


if __name__ == "__main__":
    main()
