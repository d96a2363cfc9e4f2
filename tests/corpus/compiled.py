#!/usr/bin/env python3
"""Lowering to a compiling runtime: our kernels against those that TorchInductor generates.

Compares for each reference network the number of launches (library calls and fused kernels) and the bytes that fused
kernels move by the compiler's own count. A network is met if both are within 5 % in total. Networks selected by a hash
of their name were set aside while the rules were written and are reported separately. The thresholds are the figures
reached: they may improve, not get worse.

The reference lists the definitions of its fused kernels, each once, before the launches: those are not launches.

    compiled.py [PART OF A NETWORK'S NAME]       prints the fused kernels of those networks that differ
"""
import collections
import hashlib
import json
import subprocess
import sys

import corpus

TOOL = str(corpus.BUILD / "tests/tools/lower")
REFERENCE = "models/oracle/compiled/inductor_a100.jsonl.gz"
TOLERANCE = 0.05
LEAST = {"known": 96, "set aside": 88}  # per cent of the networks
ENGINE_PRECISIONS = ["fp32", "fp16", "int8"]
HIDDEN = 4  # a copy launched by a library itself, not by the compiled program


def is_set_aside(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def kernels(path, precision, batch, runtime):
    """Our program, or a message if there is none."""
    try:
        done = subprocess.run([TOOL, "--json", precision, "nchw", str(batch), f"runtime={runtime}", str(path)],
                              capture_output=True, timeout=corpus.TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode:
        return done.stderr.decode(errors="replace").strip() or f"exit {done.returncode}"
    return [json.loads(text) for text in done.stdout.splitlines()]


def is_fused(kernel):
    return kernel["op"].startswith("triton_")


def moved(kernel):
    return kernel["bytes_read"] + kernel["bytes_written"]


def compare(task):
    """(launches, bytes) of ours and theirs, the fused kernels that only one side has, and the size ratio of the
    engine's program; a message if there is no program."""
    path, text = task
    line = json.loads(text)
    ours = kernels(path, "amp-fp16", line["b"], "inductor")
    if isinstance(ours, str):
        return ours
    engines = [kernels(path, precision, line["b"], "engine") for precision in ENGINE_PRECISIONS]
    if any(isinstance(engine, str) for engine in engines):
        return next(engine for engine in engines if isinstance(engine, str))
    ours = [kernel for kernel in ours if not kernel["flags"] & HIDDEN]
    launches = line["calls"][len(line["gb"]):]
    theirs = [call[1] for call in launches if call[0] == "triton"]
    our_bytes = collections.Counter(moved(kernel) for kernel in ours if is_fused(kernel))
    their_bytes = collections.Counter(round(line["gb"][name] * 1e9) for name in theirs)
    return ((len(ours), sum(size * n for size, n in our_bytes.items())),
            (len(launches), sum(size * n for size, n in their_bytes.items())),
            {size: n for size, n in (their_bytes - our_bytes).items()},
            {size: n for size, n in (our_bytes - their_bytes).items()},
            [len(engine) for engine in engines])


def graph_file(line):
    return corpus.MODELS / "timm" / f"{line['n']}@{line['sz']}.onnx.gz"


def tasks(only):
    for text in corpus.read_texts(REFERENCE):
        line = json.loads(text)
        if graph_file(line).exists() and only in line["n"]:
            yield graph_file(line), text


def main():
    corpus.require("models/timm", REFERENCE)
    only = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] != "--write" else ""
    report = corpus.Report("compiled" if not only else "compiled-part")
    met, count, failed, larger = collections.Counter(), collections.Counter(), [], []
    near = collections.Counter()
    work = list(tasks(only))
    for (path, text), result in zip(work, corpus.parallel(compare, work)):
        name = json.loads(text)["n"]
        if isinstance(result, str):
            failed.append(f"{name}: {result}")
            continue
        ours, theirs, missing, extra, engines = result
        off = [our / their - 1 for our, their in zip(ours, theirs)]
        part = "set aside" if is_set_aside(name) else "known"
        count[part] += 1
        near[part, "launches"] += abs(off[0]) <= TOLERANCE
        near[part, "bytes"] += abs(off[1]) <= TOLERANCE
        met[part] += all(abs(x) <= TOLERANCE for x in off)
        if max(engines) > ours[0]:
            larger.append(f"{name}: {engines} kernels of an engine, {ours[0]} of inductor")
        report.detail(f"{name}\t{part}\t{ours[0]} of {theirs[0]} launches ({100 * off[0]:+.1f} %)\t"
                      f"{ours[1] / 1e9:.3f} of {theirs[1] / 1e9:.3f} GB ({100 * off[1]:+.1f} %)\t"
                      f"engine: {engines[0]} launches")
        if only:
            for sign, sizes in (("fewer", missing), ("more", extra)):
                for size, n in sorted(sizes.items(), key=lambda item: -item[0] * item[1]):
                    print(f"{name}\t{sign}\t{n}\t{size} bytes")
    for part, n in sorted(count.items()):
        report.say(f"inductor, amp, batch 64, networks {part}: {met[part]} of {n} within 5 % in launches and bytes "
                   f"({100 * met[part] / n:.1f} %); launches {near[part, 'launches']}, bytes {near[part, 'bytes']}")
    if only:
        return
    report.check(not failed, "every network is lowered", failed)
    report.check(not larger, "no engine launches more than inductor", larger)
    for part, least in LEAST.items():
        report.check(met[part] >= least / 100 * count[part], f"networks {part}: at least {least} % within 5 %")
    report.page("doc/accuracy.md")
    report.end()


if __name__ == "__main__":
    main()
