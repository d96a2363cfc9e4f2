#!/usr/bin/env python3
"""Lowering to eager PyTorch: the operators that we launch against those of real traces.

Compares for each traced network the multiset of launched operators, each with the shape and type of its first output,
including casts and copies. Views, allocations and host operators are left out. In-place and out-of-place variants count
as one operator, because the file does not distinguish them. The thresholds are the figures reached: they may improve,
not get worse. A second, stricter figure compares all inputs of each operator, with shapes, types and strides, and the
output's strides; kernels are timed by these. Training is compared in the same way, including loss, gradients and
update. Files do not record random drops (dropout, whole branches): those networks cannot be equal, so the others are
also counted separately. A third of the architectures is set aside: their differences are not printed.

    lowering.py [PART OF A NETWORK'S NAME [PART OF A SET'S]]       prints the differences of those networks
"""
import collections
import hashlib
import json
import subprocess
import sys

import corpus

TOOL = str(corpus.BUILD / "tests/tools/lower")
VIEW, HIDDEN = 2, 4
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int64": "i64", "int32": "i32",
          "uint8": "u8", "bool": "b1"}
BITS = {"f32": 32, "f16": 16, "bf16": 16, "f64": 64, "i64": 64, "i32": 32, "u8": 8, "b1": 8}

# (name, trace, filter, tool options, and the minimum percentages: equal networks, operators by bytes and by count,
# networks that are equal in all inputs and strides)
SETS = [
    ("timm, autocast, nhwc", "timm_infer", {}, ["amp-fp16", "nhwc"], 94, 99.1, 99.4, 93),
    ("torchvision, fp32, nchw", "torchvision", {"mode": "infer", "prec": "fp32"}, ["fp32", "nchw"], 88, 99.8, 96.9, 88),
    ("torchvision, autocast, nchw", "torchvision", {"mode": "infer", "prec": "amp"}, ["amp-fp16", "nchw"],
     88, 99.8, 97.8, 88),
    ("torchvision, fp16, nchw", "torchvision", {"mode": "infer", "prec": "fp16"}, ["fp16", "nchw"], 100, 100, 100, 100),
    ("timm training, autocast, nhwc", "timm_train", {}, ["amp-fp16", "nhwc", "mode=train", "backward=autocast"],
     83, 99.4, 99.4, None),
    ("torchvision training, fp32, nchw", "torchvision", {"mode": "train", "prec": "fp32"},
     ["fp32", "nchw", "mode=train"], 11, 97.5, 90.3, None),
    ("torchvision training, autocast, nchw", "torchvision", {"mode": "train", "prec": "amp"},
     ["amp-fp16", "nchw", "mode=train"], 29, 97.9, 94.9, None),
    ("torchvision training, fp16, nchw", "torchvision", {"mode": "train", "prec": "fp16"},
     ["fp16", "nchw", "mode=train"], 16, 98.7, 93.8, None),
]


def plain(name):
    """relu_ and relu are one operator; names that begin with an underscore keep it."""
    return name[:-1] if name.endswith("_") else name


def size(shape, dtype):
    elements = 1
    for dim in shape:
        elements *= dim
    return elements * BITS.get(dtype, 32) // 8


def strided(dtype, shape, strides):
    """A tensor without irrelevant strides: those of dimensions of size 1."""
    return dtype, tuple(shape), tuple(stride for dim, stride in zip(shape, strides) if dim != 1)


def strides_of(shape, layout):
    """Strides in elements, from the trace's "c", "cl" or list."""
    if isinstance(layout, list):
        return layout
    order = list(range(len(shape)))
    if layout == "cl":
        order = [0, *order[2:], 1]
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return strides


def traced(line):
    """Counter of (operator, type, shape), the bytes that each moves per call, and the counter of operators with all
    inputs and strides."""
    types = []

    def new(code):
        types.append(line["Y"][code if isinstance(code, int) else code[1]])

    for code in line["init"]:
        new(code)
    counts, moved, whole = collections.Counter(), collections.Counter(), collections.Counter()
    for kind, inputs, outputs in line["ops"]:
        entry = line["K"][kind]
        name, flag = entry[0], entry[2] if len(entry) > 2 else ""
        start, made = len(types), []
        read, operands = 0, []
        for reference in inputs:
            for one in reference if isinstance(reference, list) else [reference]:
                if one:
                    shape, dtype, layout = types[-one - 1 if one < 0 else start - one]
                    read += size(shape, dtype.removesuffix("@cpu"))
                    operands.append(strided(dtype, shape, strides_of(shape, layout)))
        for code in outputs:
            if code is None:
                continue
            if isinstance(code, int) and code < 0:
                made.append(types[len(types) + code])
            else:
                new(code)
                made.append(types[-1])
        if name.startswith("_foreach"): # over all parameters: no output of its own
            first = [types[-one - 1 if one < 0 else start - one] for one in inputs[0]]
            made = [[[sum(size(s, "u8") for s, _, _ in first)], first[0][1], "c"]]
        if flag not in ("", "i") or name == "@new" or not made or made[0][1].endswith("@cpu"):
            continue
        shape, dtype, layout = made[0]
        key = (plain(name), dtype, tuple(shape))
        counts[key] += 1
        whole[plain(name), tuple(sorted(operands)), strided(dtype, shape, strides_of(shape, layout))] += 1
        moved[key] = read + sum(size(s, d) for s, d, _ in made)
    return counts, moved, whole


def lowered(path, options, batch):
    """The same for our program; a message if it cannot be lowered."""
    try:
        done = subprocess.run([TOOL, "--json", *options[:2], str(batch), *options[2:], str(path)], capture_output=True,
                              timeout=corpus.TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "timeout"
    counts, moved, whole = collections.Counter(), collections.Counter(), collections.Counter()
    for text in done.stdout.splitlines():
        kernel = json.loads(text)
        if kernel["flags"] & (VIEW | HIDDEN):
            continue
        if kernel["op"].startswith("_foreach"):
            elements = sum(size(shape, "u8") for _, shape, _ in kernel["out"])
            kernel["out"] = [[kernel["out"][0][0], [elements], [1]]]
        output, *operands = (strided(DTYPES.get(dtype, dtype), shape, strides)
                             for dtype, shape, strides in (kernel["out"][0], *kernel["in"]))
        key = (plain(kernel["op"]), *output[:2])
        counts[key] += kernel["repeat"]
        whole[plain(kernel["op"]), tuple(sorted(operands)), output] += kernel["repeat"]
        moved[key] = kernel["bytes_read"] + kernel["bytes_written"]
    if done.returncode:
        return done.stderr.decode(errors="replace").strip() or f"exit {done.returncode}"
    return counts, moved, whole


def settle_updates(found, expected):
    """Updates run over all parameters at once, so element counts within 1 % count as equal: a file does not always show
    which constants are parameters."""
    for key in [key for key in found if key[0].startswith("_foreach")]:
        for other in expected:
            if other[0] == key[0] and other != key and abs(other[2][0] - key[2][0]) <= 0.01 * other[2][0]:
                found[other] += found.pop(key)
                break


class Tally:
    """The share of a network's trace that is matched."""

    def __init__(self, found, found_bytes, found_whole, expected, expected_bytes, expected_whole):
        self.whole = found_whole == expected_whole
        settle_updates(found, expected)
        self.is_random = any(key[0] in ("native_dropout", "bernoulli") for key in expected)
        self.missing = expected - found
        self.extra = found - expected
        self.count = sum(expected.values())
        self.wrong_count = max(sum(self.missing.values()), sum(self.extra.values()))
        self.bytes = sum(expected_bytes[key] * n for key, n in expected.items())
        self.wrong_bytes = max(sum(expected_bytes[key] * n for key, n in self.missing.items()),
                               sum(found_bytes[key] * n for key, n in self.extra.items()))


def compare(task):
    path, options, text = task
    line = json.loads(text)
    found = lowered(path, options, line["b"])
    return found if isinstance(found, str) else Tally(*found, *traced(line))


def graph_file(line):
    if line["src"] == "timm":
        return corpus.MODELS / "timm" / f"{line['n']}{'+reparam' if line.get('rp') else ''}@{line['sz']}.onnx.gz"
    # Most torchvision exports have their batch norms folded into the convolutions: those are different networks.
    has_norms = any(entry[0].endswith("batch_norm") for entry in line["K"])
    return corpus.MODELS / "torchvision" / f"{line['n']}{'_bn' if has_norms else ''}.onnx.gz"


def tasks(trace, wanted, options, only):
    for text in corpus.read_texts(f"models/oracle/eager/{trace}.jsonl.gz"):
        line = json.loads(text)
        path = graph_file(line)
        if path.exists() and only in path.name and all(line.get(k) == v for k, v in wanted.items()):
            yield path, options, text


def describe(key):
    return f"{key[0]} {key[1]}[{','.join(map(str, key[2]))}]"


def is_aside(path):
    """A third of the architectures, at any image size: no rule was written by looking at these."""
    return int(hashlib.sha256(path.name.split("@")[0].encode()).hexdigest(), 16) % 3 == 0


def compare_set(report, spec, only):
    title, trace, wanted, options, least_equal, least_bytes, least_count, least_whole = spec
    work = list(tasks(trace, wanted, options, only))
    equal, whole, share_bytes, share_count, failed, unbound = 0, 0, 0.0, 0.0, [], []
    aside = [path for path, *_ in work if is_aside(path)]
    aside_equal, aside_bytes, random = 0, 0.0, 0
    histogram = collections.defaultdict(lambda: [0, 0.0, []])
    for (path, *_), result in zip(work, corpus.parallel(compare, work)):
        stem = path.name.removesuffix(".onnx.gz")
        if isinstance(result, str):
            (unbound if result.startswith("bind") else failed).append(f"{stem}: {result}")
            continue
        equal += not result.missing and not result.extra
        whole += result.whole
        random += result.is_random
        met_bytes = max(0, 1 - result.wrong_bytes / max(result.bytes, 1))
        share_bytes += met_bytes
        share_count += max(0, 1 - result.wrong_count / max(result.count, 1))
        if is_aside(path):
            aside_equal += not result.missing and not result.extra
            aside_bytes += met_bytes
            if "mode=train" in options and not only:
                continue
        for sign, part in (("fewer", result.missing), ("more", result.extra)):
            for key, n in part.items():
                entry = histogram[key[0], key[1], sign]
                entry[0] += n
                if stem not in entry[2]:
                    entry[2].append(stem)
                if only:
                    print(f"{stem}\t{sign}\t{n}\t{describe(key)}")
        if result.missing or result.extra:
            report.detail(f"{title}\t{stem}\t{sum(result.missing.values())} fewer, {sum(result.extra.values())} more")
    networks = max(len(work), 1)
    equal_share, whole_share, bytes_share, count_share = (
        100 * x / networks for x in (equal, whole, share_bytes, share_count))
    report.say(f"{title}: {len(work)} networks, {equal} equal ({equal_share:.1f} %), {whole} in all inputs and strides "
               f"({whole_share:.1f} %); operators met: "
               f"{bytes_share:.2f} % by bytes, "
               f"{count_share:.2f} % by count" + (f"; {len(unbound)} cannot take the batch" if unbound else ""))
    if "mode=train" in options:
        report.say(f"    {random} drop at random; of the others {100 * equal / max(len(work) - random, 1):.1f} % equal; "
                   f"set aside: {len(aside)} networks, {100 * aside_equal / max(len(aside), 1):.1f} % equal, "
                   f"operators met: {100 * aside_bytes / max(len(aside), 1):.2f} % by bytes")
    ranked = sorted(histogram.items(), key=lambda item: -len(item[1][2]))
    for (op, dtype, sign), (n, _, names) in ranked:
        report.detail(f"    {op} {dtype}\t{sign}\t{n} calls\t{len(names)} networks\t{' '.join(names[:3])}")
    if only:
        return
    report.check(not failed, f"{title}: every network is lowered", failed)
    report.check(equal_share >= least_equal, f"{title}: at least {least_equal} % of the networks equal")
    if least_whole is not None:
        report.check(whole_share >= least_whole, f"{title}: at least {least_whole} % equal in all inputs and strides")
    report.check(bytes_share >= least_bytes, f"{title}: at least {least_bytes} % of the operators by bytes")
    report.check(count_share >= least_count, f"{title}: at least {least_count} % of the operators by count")


def main():
    corpus.require("models/timm", "models/torchvision", "models/oracle/eager/timm_infer.jsonl.gz",
                   "models/oracle/eager/torchvision.jsonl.gz")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    kind = sys.argv[2] if len(sys.argv) > 2 else ""
    report = corpus.Report("lowering" if not only else "lowering-part")
    for spec in SETS:
        if kind in spec[0]:
            compare_set(report, spec, only)
    report.end()


if __name__ == "__main__":
    main()
