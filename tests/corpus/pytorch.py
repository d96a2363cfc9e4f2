#!/usr/bin/env python3
"""PyTorch's files: torch.export archives, TorchScript archives, weight files.

Files that PyTorch made from known networks (made/pt2, made/torchscript) are read, with the module's parameters and MACs
and the shape of every tensor that the reference names. TorchScript of torchvision (pytorch/generated): parameters, and
MACs of convolutions and linear layers. Files of public repositories are read, or refused because they hold no graph.
Explained differences are in pytorch.txt.

One network must have the same parameters and MACs in every PyTorch format.
"""
import collections
import os
import re

import corpus

LINEAR = {"Conv", "ConvTranspose", "Gemm", "Linear"}
# Operators that write no value of their own here: whole views, copies, dropout, tuple unpacking.
NO_VALUE = {"dropout", "contiguous", "detach", "to", "clone", "expand", "slice", "size", "NumToTensor", "Int", "lift_fresh", "alias",
            "squeeze", "copy", "fill", "zeros", "expand_as", "zero", "pad", "ListUnpack", "TupleUnpack", "cat"}


def stem(file):
    return re.sub(r"\.torch[0-9.]+\.(pt2|ptl?|pth)(\.gz)?$", "", os.path.basename(file))


def inspect(task):
    """For a file without shapes: the reference's input shapes, by position."""
    file, shapes, dims = task
    seen = corpus.Inspection(corpus.MODELS / file, "--values")
    if seen.json is None or not (shapes or dims):
        return seen
    arguments = []
    for value, shape in zip(seen.json["inputs"], shapes):
        arguments += ["--shape", f"{value['name']}={','.join(map(str, shape))}"]
    known = [symbol for value in seen.json["inputs"] for symbol in (value["shape"] or []) if isinstance(symbol, str)]
    for name, size in dims.items():
        if not shapes or name not in known:
            arguments += ["--dim", f"{name}={size}"]
    return corpus.Inspection(corpus.MODELS / file, "--values", *arguments)


def plain(shape):
    """A reference shape at batch 1; None if it is computed from symbols."""
    if any(isinstance(dim, str) and not dim.isalnum() for dim in shape):
        return None
    return [1 if isinstance(dim, str) else dim for dim in shape]


def export_shapes(line, values):
    """(equal, different) tensors of an exported program, by name."""
    same, different = 0, []
    for name, kind, target, outputs in line["nodes"]:
        if kind not in ("call_function", "placeholder") or not outputs or name not in values:
            continue
        wanted = plain(outputs[0][1:])
        if wanted is None:
            continue
        found = values[name]
        if (found["shape"], found["dtype"]) == (wanted, outputs[0][0]):
            same += 1
        else:
            different.append(f"{line['file']}\t{name}\t{target}\tfound {found['dtype']} {found['shape']}\texpected {outputs[0]}")
    return same, different


def script_shapes(line, values):
    """The reference names operators, not tensors: each operator must have as many results of each shape."""
    have, same, different = collections.Counter(), 0, []
    for name, value in values.items():
        named = re.match(r"(?:.*/)?(.*?)_?_\d+(\.\d+)?$", name)
        if named and value["shape"] is not None:
            have[named[1], tuple(value["shape"])] += 1
    wanted = collections.Counter((op.partition("::")[2].rstrip("_"), tuple(shape)) for op, shape in line.get("nodes", []))
    for (op, shape), count in wanted.items():
        if op in NO_VALUE:
            continue
        if have[op, shape] >= count:
            same += count
        else:
            different.append(f"{line['file']}\t{op}\tfound {have[op, shape]}\texpected {count} of {list(shape)}")
    return same, different


class Explained:
    def __init__(self):
        self.reasons = {(row[0], row[1]): row[2] for row in corpus.read_list("pytorch.txt")}
        self.used = set()

    def __call__(self, file, what):
        for key in ((file, what), (stem(file), what)):
            if key in self.reasons:
                self.used.add(key)
                return self.reasons[key]
        return None


def made(report, explained, kind, shapes_of):
    """The networks made for this test. Returns {network: {file: (params, macs)}}."""
    lines = [line for line in corpus.read_lines("models/oracle/made.jsonl.gz") if line["file"].startswith(kind + "/")]
    work = []
    for line in lines:
        inputs = line["inputs"].items()
        symbols = {name: 1 for name in line.get("symbols") or {} if name in str(line["inputs"])}
        if kind == "torchscript" and not line["inputs_in_file"]:
            work.append((f"made/{line['file']}", [v[1:] for _, v in inputs if isinstance(v, list)],
                         {n: v for n, v in inputs if not isinstance(v, list)}))
        else:
            work.append((f"made/{line['file']}", [], symbols))
    unread, wrong, different, same, exact, unknown = [], [], [], 0, collections.Counter(), collections.Counter()
    networks = collections.defaultdict(dict)
    for line, seen in zip(lines, corpus.parallel(inspect, work)):
        if seen.json is None:
            unread.append(f"{line['file']}: {seen.message}")
            continue
        totals = seen.json["totals"]
        for what, truths in (("params", {line["params"], line.get("params_in_file")}), ("macs", {line["macs"]})):
            if line[what] is None:
                continue
            exact[what + " compared"] += 1
            exact[what] += totals[what] in truths
            if totals[what] not in truths:
                reason = explained(line["file"], what)
                text = f"{line['file']}\t{what}\tfound {totals[what]}\texpected {line[what]}\t{reason or ''}"
                report.detail(text)
                if not reason:
                    wrong.append(text)
        good, bad = shapes_of(line, {value["name"]: value for value in seen.json["values"]})
        same += good
        different += bad
        for operator in seen.json["unknown_operators"]:
            unknown[operator["op"]] += operator["count"]
        if not any("another shape" in note for note in seen.json["notes"]):
            exact["no contradiction"] += 1
        networks[line["network"]][line["file"]] = (totals["params"], totals["macs"])
    report.say(f"made/{kind}: {len(lines) - len(unread)} of {len(lines)} files read; parameters exact in {exact['params']} of "
               f"{exact['params compared']}, MACs in {exact['macs']} of {exact['macs compared']}; shapes: {same} equal, {len(different)} "
               f"different; unknown operators: {', '.join(f'{op} {n}' for op, n in unknown.most_common()) or 'none'}")
    report.check(not unread, f"made/{kind}: every file is read", unread)
    report.check(not wrong, f"made/{kind}: parameters and MACs are exact, or the difference is explained", wrong)
    report.check(len(different) <= 0.02 * (same + len(different)), f"made/{kind}: at least 98 % of the shapes are exact", different)
    if kind == "pt2":
        report.check(exact["no contradiction"] == len(lines), "made/pt2: no rule contradicts a shape in the file")
    return networks


def torchvision(report, explained):
    truth = {line["name"]: line for line in corpus.read_lines("models/oracle/torchvision.jsonl.gz")}
    work, names = [], []
    for path in sorted((corpus.MODELS / "pytorch/generated").glob("torchvision_*")):
        name = path.name.removeprefix("torchvision_").partition(".")[0]
        if name in truth and "state_dict" not in path.name:
            shape = truth[name]["input"][0]
            work.append((f"pytorch/generated/{path.name}", [shape[1:] if "ssd" in name else shape], {}))
            names.append(name)
    wrong = []
    for (file, _, _), name, seen in zip(work, names, corpus.parallel(inspect, work)):
        if seen.json is None:
            wrong.append(f"{file}: {seen.message}")
            continue
        macs = sum(layer["macs"] or 0 for layer in seen.json["layers"]
                   if layer["op"] in LINEAR or layer["op"] == "MatMul" and layer["weight_bytes"] > 0)
        for what, found, expected in (("params", seen.json["totals"]["params"], truth[name]["params"]),
                                      ("macs", macs, truth[name]["conv_linear_macs"])):
            if found != expected and not explained(os.path.basename(file), what):
                wrong.append(f"{file}\t{what}\tfound {found}\texpected {expected}")
    report.say(f"pytorch/generated: {len(work)} TorchScript files of torchvision, {len(wrong)} differences not explained")
    report.check(not wrong, "TorchScript of torchvision: parameters and MACs of convolutions and linear layers are exact", wrong)


def public(report):
    """Every file is read, or refused with advice because it holds only weights."""
    files = [str(path.relative_to(corpus.MODELS)) for folder in ("pytorch", "made/state_dict")
             for path in sorted((corpus.MODELS / folder).rglob("*")) if path.is_file()]
    read, weights, refused = 0, 0, []
    for file, seen in zip(files, corpus.parallel(inspect, [(file, [], {}) for file in files])):
        read += seen.json is not None
        if seen.json is None and seen.code == 4 and "torch.export.export" in seen.message:
            weights += 1
        elif seen.json is None:
            refused.append(f"{file}: {seen.message}")
    report.say(f"pytorch, made/state_dict: {len(files)} files: {read} read, {weights} hold weights and are told how to export, "
               f"{len(refused)} refused otherwise")
    report.check(not refused, "every file with a graph is read, and every other is told how to export", refused)


NETRON = {"Conv": r"_?conv(olution|[123]d)", "BatchNormalization": "batch_norm", "Linear": "linear", "MaxPool": "max_pool[123]d",
          "LayerNormalization": "layer_norm", "Gelu": "gelu", "Concat": "cat"}


def netron_counts(report):
    """Layers of the kinds that both count. In scripted modules Netron does not follow all calls (2 of MobileNetV2's 52
    convolutions are missing), so only traced and frozen ones must agree; the others are listed."""
    lines = [line for line in corpus.read_lines("models/oracle/netron.jsonl.gz")
             if re.match("pytorch/generated/torchvision.*[.](trace|script|frozen)[.]", line["file"]) and line.get("nodes")]
    truth = {line["name"]: line for line in corpus.read_lines("models/oracle/torchvision.jsonl.gz")}
    work = []
    for line in lines:
        name = os.path.basename(line["file"]).removeprefix("torchvision_").partition(".")[0]
        shape = truth[name]["input"][0] if name in truth else [1, 3, 224, 224]
        work.append((line["file"], [shape[1:] if "ssd" in name else shape], {}))
    same, different = 0, []
    for line, seen in zip(lines, corpus.parallel(inspect, work)):
        if seen.json is None:
            continue
        mine = collections.Counter(layer["op"] for layer in seen.json["layers"])
        for kind, pattern in NETRON.items():
            theirs = sum(count for op, count in line["ops"].items() if re.fullmatch(pattern, op.rstrip("_")))
            if not theirs:
                continue
            same += mine[kind] == theirs
            if mine[kind] != theirs:
                different.append(f"{line['file']}\t{kind}\tfound {mine[kind]}\tNetron {theirs}")
    traced = [text for text in different if ".script." not in text]
    report.say(f"against Netron: {same} counts of {', '.join(NETRON)} in {len(lines)} files equal, {len(different)} different")
    for text in different:
        report.detail(text)
    report.check(same and not traced, "traced and frozen files have as many layers of each kind as Netron lists", traced)


def across_formats(report, networks):
    wrong = []
    count = 0
    for network, files in networks.items():
        by_value = {values for file, values in files.items() if not re.search(r"\.(frozen|mobile|optimized)\.", file)}
        count += len(by_value) == 1
        if len({macs for _, macs in by_value}) > 1:
            wrong.append(f"{network}\t" + "\t".join(f"{file}: {values}" for file, values in files.items()))
    report.say(f"{len(networks)} networks: {count} have the same parameters and MACs in all their pt2 and TorchScript files")
    report.check(not wrong, "the same network has the same MACs in pt2 and TorchScript", wrong)


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/made/pt2", "models/pytorch/generated")
    report = corpus.Report("pytorch")
    explained = Explained()
    networks = made(report, explained, "pt2", export_shapes)
    for network, files in made(report, explained, "torchscript", script_shapes).items():
        networks[network].update(files)
    torchvision(report, explained)
    public(report)
    netron_counts(report)
    across_formats(report, networks)
    stale = ["\t".join(key) for key in explained.reasons if key not in explained.used]
    report.check(not stale, "every explanation in pytorch.txt is needed", stale)
    report.end()


if __name__ == "__main__":
    main()
