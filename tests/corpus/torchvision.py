#!/usr/bin/env python3
"""Parameters, and MACs of convolutions and linear layers, of every torchvision network against PyTorch's counts.

The exporter folds a BatchNorm into the preceding Conv: scale and shift (2 C parameters) become the Conv's bias (C
parameters, none before). So a file has C fewer parameters than the module for each BatchNorm that the graph lacks.
Further differences are in torchvision.txt with the exact number and the reason.
"""
import corpus

LINEAR = {"Conv", "ConvTranspose", "Gemm", "Linear"}


def is_linear(layer):
    """Products of two activations are attention and are not counted here."""
    return layer["op"] in LINEAR or layer["op"] == "MatMul" and layer["weight_bytes"] > 0


def run(task):
    _, file, dims = task
    # Dynamic graphs get the counted size; the others already have it.
    arguments = ["--shape", "input0=" + ",".join(map(str, dims))] if "_dyn" in file else []
    return corpus.Inspection(corpus.MODELS / file, *arguments)


def folded_channels(modules, layers):
    """Channels of the BatchNorm modules missing in the graph."""
    modules = {name: shape for name, kind, shape, _ in modules if kind.startswith("BatchNorm")}
    kept = sum(layer["params"] or 0 for layer in layers if layer["op"] == "BatchNormalization") // 2
    return sum(shape[1] for shape in modules.values()) - kept


def main():
    corpus.require("models/oracle/torchvision.jsonl.gz")
    report = corpus.Report("torchvision")
    explained = {(row[0], row[1]): (int(row[2]), row[3]) for row in corpus.read_list("torchvision.txt")}
    work, truth = [], {}
    for line in corpus.read_lines("models/oracle/torchvision.jsonl.gz"):
        truth[line["file"]] = line
        work.append((line["name"], line["file"], line["input"][0]))
    wrong_params, wrong_macs, unread, used = [], [], [], set()
    same = {"params": 0, "macs": 0}
    for (name, file, _), seen in zip(work, corpus.parallel(run, work)):
        line = truth[file]
        if seen.json is None:
            unread.append(f"{file}: {seen.message}")
            continue
        stem = file.rpartition("/")[2].removesuffix(".onnx.gz")
        batch = 8 if stem.endswith("_b8") else 1
        layers = seen.json["layers"]
        expected = {"params": line["params"] - folded_channels(line["modules"], layers), "macs": line["conv_linear_macs"] * batch}
        found = {"params": seen.json["totals"]["params"], "macs": sum(l["macs"] or 0 for l in layers if is_linear(l))}
        for what, failures in (("params", wrong_params), ("macs", wrong_macs)):
            difference = found[what] - expected[what]
            allowed, reason = explained.get((stem, what), (0, ""))
            if allowed:
                used.add((stem, what))
            same[what] += difference == 0
            text = f"{stem}\t{what}\tfound {found[what]}\texpected {expected[what]}\tdifference {difference}\t{reason}"
            report.detail(text)
            if difference != allowed:
                failures.append(text)
    report.say(f"{len(work)} networks: parameters equal in {same['params']}, convolution + linear MACs equal in {same['macs']}; "
               f"{len(used)} differences explained in tests/corpus/torchvision.txt, {len(wrong_params) + len(wrong_macs)} not explained")
    report.check(not unread, "every network is read", unread)
    report.check(not wrong_params, "parameters equal those of PyTorch, or the exact difference is explained", wrong_params)
    report.check(not wrong_macs, "MACs of convolutions and linear layers equal, or the exact difference is explained", wrong_macs)
    stale = ["\t".join(key) for key in explained if key not in used]
    report.check(not stale, "every explanation in torchvision.txt names a network and is needed", stale)
    report.end()


if __name__ == "__main__":
    main()
