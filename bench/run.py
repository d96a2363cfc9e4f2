#!/usr/bin/env python3
"""`make bench`: speed and memory, each figure beside what it is compared with, in one run.

    run.py BUILD [--seconds N]
"""
import argparse
import gzip
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SHARED = TOP.parent / "shared/models"
sys.path.insert(0, str(TOP / "tests/tools"))
import onnxtext  # noqa: E402

GRAPHS = (("ResNet-50", "torchvision/resnet50.onnx.gz"), ("Swin-B, 13,691 nodes, the largest", "torchvision/swin_b.onnx.gz"))
WEIGHTS = 8             # initializers of the synthetic model
WEIGHT_ROWS = 16384     # of each, float32
MAX_BYTES = 2**31 - 1   # what protobuf allows


def output(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


def references(path, seconds):
    """[(version, core µs, package µs)] of every Python here that has onnx."""
    found = {}
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        fields = output(python, TOP / "bench/onnx_reference.py", path, seconds) if os.path.exists(python) else None
        if fields:
            found.setdefault(fields[0], (fields[0], float(fields[1]), float(fields[3])))
    return list(found.values())


def bench_graphs(build, scratch, seconds):
    print("load + shape inference, bytes in memory, in one process, fastest run. Like for like is sooth without its recovery passes "
          "(costs are\nalways counted); what it does by default, the passes included, stands beside it and is compared in brackets")
    for title, file in GRAPHS:
        if not (SHARED / file).exists():
            print(f"  {title}: skipped, ../shared/models/{file} is not there")
            continue
        plain = scratch / pathlib.Path(file).stem
        plain.write_bytes(gzip.decompress((SHARED / file).read_bytes()))
        print(f"  {title} ({plain.stat().st_size // 1024} KiB)")
        times = []
        for label, skipped in (("sooth", ["all"]), ("sooth, all passes", [])):
            runs, fastest, median, loading, layers = map(float, output(build / "bench/load", plain, seconds, *skipped))
            times.append(fastest)
            print(f"    {label:17}{fastest:10.0f} µs   (median {median:.0f} of {runs:.0f} runs, {100 * loading:.0f} % of it "
                  f"loading; {layers:.0f} layers)")
        alike, everything = times
        compared = references(plain, seconds)
        for version, core, package in compared:
            print(f"    onnx {version:7} C++ {core:10.0f} µs   {core / alike:6.1f} times sooth's ({core / everything:.1f}; target 20);"
                  f"   through the package {package:.0f} µs, {package / alike:.1f} times ({package / everything:.1f})")
        if not compared:
            print("    onnx: skipped, no Python here can import it (Debian: python3-onnx)")


def bench_process(build, scratch):
    print("whole process, 50 runs")
    for title, model in (("zoo:resnet50", "zoo:resnet50"), ("ResNet-50 .onnx.gz", SHARED / GRAPHS[0][1]),
                         ("ResNet-50 .onnx", scratch / "resnet50.onnx")):
        if isinstance(model, str) or model.exists():
            fastest, median, peak = map(float, output(build / "bench/process", 50, build / "sooth", "inspect", model))
            print(f"  sooth inspect {title:20} {fastest:6.2f} ms   (median {median:.2f} ms, {peak / 1024:.1f} MiB resident; target 5 ms)")


def bench_predict(build, seconds):
    print("predictions of a loaded and bound network, one core, in one process: the first, with lowering to kernels; a further one, on "
          "another GPU say")
    for title, *arguments in (("zoo:resnet50, batch 1", "zoo:resnet50", "a100", 1),
                              ("zoo:resnet50, batch 32", "zoo:resnet50", "a100", 32),
                              ("Swin-B, batch 32", SHARED / GRAPHS[1][1], "a100", 32)):
        if isinstance(arguments[0], str) or arguments[0].exists():
            runs, first, first_median, further, further_median, kernels = map(
                float, output(build / "bench/predict", *arguments, seconds))
            target = "; target 100 µs" if "zoo" in title else ""
            print(f"  {title:24}{first:8.0f} µs, further {further:.0f} µs   (medians {first_median:.0f} and {further_median:.0f} of "
                  f"{runs:.0f} runs, {kernels:.0f} kernels{target})")
    fastest, median, peak = map(float, output(build / "bench/process", 50, build / "sooth", "predict", "zoo:resnet50"))
    print(f"  whole process            {fastest:8.2f} ms   (median {median:.2f} of 50 runs, {peak / 1024:.1f} MiB resident; target 8 ms)")


def bench_nas(build):
    print("all networks of NAS-Bench-201, each built, bound and predicted by itself (titan-rtx, batch 256)")
    networks, threads, seconds, *parts = map(float, output(build / "bench/nas", "titan-rtx", 256))
    building, binding, predicting = parts
    print(f"  {networks:,.0f} networks on {threads:.0f} threads: {seconds:.2f} s   (target 2 s; one of them: built in {building:.0f} µs, bound in "
          f"{binding:.0f} µs, predicted in {predicting:.0f} µs)")


def bench_learn(build, seconds):
    print("a step of training on made-up rows of the real shape: 32 rows of networks with 150 kernels, 320 of operators; fastest step")
    done = subprocess.run([build / "bench/learn", str(seconds)], capture_output=True, text=True, check=True)
    (steps, fastest, median, *_), shape = (line.split() for line in done.stdout.splitlines())
    threads = len(os.sched_getaffinity(0))
    print(f"  sooth                  {float(fastest):8.1f} ms   (median {float(median):.1f} of {steps} steps, {threads} threads)")
    fields = output(sys.executable, TOP / "bench/learn_torch.py", seconds, threads, *shape)
    if fields:
        version, steps, other, other_median = fields[:4]
        print(f"  PyTorch {version:15}{float(other):8.1f} ms   (median {float(other_median):.1f} of {steps} steps); {float(other) / float(fastest):.1f} "
              "times sooth's; target 2")
    else:
        print(f"  PyTorch: skipped, {sys.executable} cannot import torch")


def synthetic(path, columns, with_weights):
    """A chain of MatMuls. With weights their bytes are holes in a sparse file."""
    out = onnxtext
    weight_bytes = WEIGHT_ROWS * columns * 4
    head = b"".join(out.data(1, out.node_proto(f"y{i} = MatMul(x{i}, w{i})", [])) for i in range(WEIGHTS))
    head += b"".join(out.data(11, out.value_info(f"x{i}", f"float32[N,{WEIGHT_ROWS}]")) for i in range(WEIGHTS))
    head += b"".join(out.data(12, out.value_info(f"y{i}", "")) for i in range(WEIGHTS))
    tensors = []
    for i in range(WEIGHTS):
        tensor = out.number(1, WEIGHT_ROWS) + out.number(1, columns) + out.number(2, 1) + out.data(8, f"w{i}")
        if with_weights:
            tag = out.varint(9 << 3 | 2) + out.varint(weight_bytes)
            size = len(tensor) + len(tag) + weight_bytes
            tensors.append((out.varint(5 << 3 | 2) + out.varint(size) + tensor + tag, weight_bytes))
        else:
            tensor += out.data(13, out.data(1, "location") + out.data(2, "weights.bin")) + out.number(14, 1)
            tensors.append((out.data(5, tensor), 0))
    graph_size = len(head) + sum(len(start) + hole for start, hole in tensors)
    with open(path, "wb") as file:
        file.write(out.number(1, 8) + out.data(8, out.number(2, 17)) + out.varint(7 << 3 | 2) + out.varint(graph_size) + head)
        for start, hole in tensors:
            file.write(start)
            file.seek(hole, os.SEEK_CUR)
        file.truncate()


def bench_large(build, scratch):
    print("a model of 2 GB and its twin without weights, whole process, 50 runs")
    columns = (MAX_BYTES - 65536) // (WEIGHTS * WEIGHT_ROWS * 4)
    large, twin = scratch / "large.onnx", scratch / "twin.onnx"
    try:
        synthetic(large, columns, True)
        synthetic(twin, columns, False)
        results = []
        for path in (twin, large):
            fastest, median, peak = map(float, output(build / "bench/process", 50, build / "sooth", "inspect", path))
            results.append((median, peak))
            print(f"  {path.stat().st_size:13,} bytes   {fastest:6.2f} ms   (median {median:.2f} ms)   {peak / 1024:6.1f} MiB resident")
        print(f"  difference of the medians {results[1][0] - results[0][0]:.2f} ms (target 10 ms), {results[1][1] / 1024:.1f} MiB (target 30)")
    finally:
        large.unlink(missing_ok=True)


def bench_wire(build, scratch, seconds):
    print("protobuf readers on the same bytes: every field of the model's structure decoded, weights passed over")
    program = build / "bench/wire"
    made = subprocess.run(["make", "-s", f"BUILD={build}", program], cwd=TOP, capture_output=True, text=True)
    if made.returncode != 0:
        print("  skipped: nanopb is not there (Debian: nanopb, libnanopb-dev)")
        return
    for path in sorted(scratch.glob("*.onnx")):
        if path.name != "twin.onnx":
            ours, theirs, nodes = map(float, output(program, path, seconds))
            print(f"  {path.name:20} own reader {ours:8.1f} µs   nanopb {theirs:8.1f} µs   {theirs / ours:.1f} times   ({nodes:.0f} nodes)")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--seconds", type=float, default=2.0)
    options = options.parse_args()
    build = (TOP / options.build).resolve()
    scratch = build / "bench/models"
    scratch.mkdir(parents=True, exist_ok=True)
    bench_graphs(build, scratch, options.seconds)
    bench_process(build, scratch)
    bench_predict(build, options.seconds)
    bench_nas(build)
    bench_learn(build, options.seconds)
    bench_large(build, scratch)
    if (TOP / "bench/nanopb").exists():
        bench_wire(build, scratch, options.seconds)


if __name__ == "__main__":
    main()
