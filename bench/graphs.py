"""Benchmarks of reading: load and shapes against the onnx package, whole processes, files with many bytes, graphs with many nodes."""
import gzip
import os
import pathlib
import shutil
import subprocess
import sys

from table import MODELS, TOP, microseconds, mib, output

sys.path.insert(0, str(TOP / "tests/tools"))
import large_graph  # noqa: E402
import onnxtext  # noqa: E402

FIXED = (("ResNet-50", "torchvision/resnet50.onnx.gz"), ("Swin-B, 13,691 nodes", "torchvision/swin_b.onnx.gz"))
SYMBOLIC = ("resnet50@224", "efficientnet_b0@224", "convnext_large@224", "vit_base_patch16_224@224", "swin_base_patch4_window7_224@224",
            "maxvit_tiny_tf_224@224", "davit_base@224", "beit_base_patch16_224@224")
WEIGHTS = 8             # initializers of the synthetic model
WEIGHT_ROWS = 16384     # elements of each, float32
MAX_BYTES = 2**31 - 1   # protobuf's limit


def references(path, seconds):
    """[(version, core µs, package µs)] for every Python here that has onnx; SOOTH_ONNX_PYTHON names another."""
    found = {}
    for python in dict.fromkeys((os.environ.get("SOOTH_ONNX_PYTHON", sys.executable), sys.executable, "/usr/bin/python3")):
        fields = output(python, TOP / "bench/onnx_reference.py", path, seconds) if os.path.exists(python) else None
        if fields:
            found.setdefault(fields[0], (fields[0], float(fields[1]), float(fields[3])))
    return list(found.values())


def compare(table, build, title, packed, scratch, seconds, target):
    """Times both sides on the same bytes; returns the ratio to the newest onnx."""
    plain = scratch / packed.name.removesuffix(".gz").replace("@", "_")
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    alike, everything = (float(output(build / "bench/load", plain, seconds, *skipped)[1]) for skipped in (["all"], []))
    compared = references(plain, seconds)
    said = "; ".join(f"onnx {version}: C++ core {microseconds(core)}, {core / alike:.1f} times ({core / everything:.1f}); package "
                     f"{microseconds(package)}, {package / alike:.1f} times" for version, core, package in compared)
    table.row(title, f"{microseconds(alike)} ({microseconds(everything)})", said or "no Python here has onnx", target)
    return compared[0][1] / alike if compared else None


def bench_load(table, build, scratch, seconds):
    table.heading("load + shapes, bytes in memory, in one process, fastest run. Like for like is Sooth without its recovery passes (costs are "
                  "always counted); with them in brackets")
    for title, file in FIXED:
        if (MODELS / file).exists():
            compare(table, build, f"load + shapes, fixed batch: {title}", MODELS / file, scratch, seconds, "20 times")
        else:
            table.skip(title, f"../shared/models/{file} is not there")
    ratios = []
    for name in SYMBOLIC:
        packed = MODELS / f"timm/{name}.onnx.gz"
        if packed.exists():
            ratios.append(compare(table, build, f"load + shapes, symbolic batch: {name}", packed, scratch, seconds, "10 times"))
        else:
            table.skip(f"symbolic batch: {name}", "../shared/models/timm is not there")
    ratios = sorted(r for r in ratios if r)
    if ratios:
        print(f"  symbolic batch: {ratios[0]:.1f} to {ratios[-1]:.1f} times, median {ratios[len(ratios) // 2]:.1f}")


def bench_process(table, build, scratch):
    table.heading("whole process, fastest of 50 runs")
    for title, model in (("zoo:resnet50", "zoo:resnet50"), ("a ResNet-50 (.onnx)", scratch / "resnet50.onnx")):
        if isinstance(model, str) or model.exists():
            fastest, _, peak, _ = map(float, output(build / "bench/process", 50, build / "sooth", "inspect", model))
            table.row(f"`sooth inspect` of {title}, whole process", f"{fastest:.2f} ms, {mib(peak)}", "", "5 ms")
    fastest, _, peak, _ = map(float, output(build / "bench/process", 50, build / "sooth", "predict", "zoo:resnet50"))
    table.row("`sooth predict zoo:resnet50`, whole process", f"{fastest:.2f} ms, {mib(peak)}", "", "8 ms")


# ---- many bytes ------------------------------------------------------------------------------------------------------

def synthetic(path, columns, with_weights):
    """Products with large weights of random bytes, which a file system can neither skip nor compress."""
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
            tensors.append(out.varint(5 << 3 | 2) + out.varint(len(tensor) + len(tag) + weight_bytes) + tensor + tag)
        else:
            tensor += out.data(13, out.data(1, "location") + out.data(2, "weights.bin")) + out.number(14, 1)
            tensors.append(out.data(5, tensor))
    size = len(head) + sum(map(len, tensors)) + (WEIGHTS * weight_bytes if with_weights else 0)
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        file.write(out.number(1, 8) + out.data(8, out.number(2, 17)) + out.varint(7 << 3 | 2) + out.varint(size) + head)
        for start in tensors:
            file.write(start)
            left = weight_bytes if with_weights else 0
            while left:
                left -= file.write(block[:min(left, len(block))])


def bench_bytes(table, build, scratch):
    table.heading("a model of 2 GB with real bytes and its twin without weights, whole process, 50 runs")
    free = shutil.disk_usage(scratch).free
    if free < MAX_BYTES + (1 << 30):
        table.skip("a model of 2 GB", f"the disk has {free >> 20:,} MiB left")
        return
    columns = (MAX_BYTES - 65536) // (WEIGHTS * WEIGHT_ROWS * 4)
    large, twin = scratch / "large.onnx", scratch / "twin.onnx"
    try:
        synthetic(large, columns, True)
        synthetic(twin, columns, False)
        (_, small, small_peak, _), (_, median, peak, _) = (
            map(float, output(build / "bench/process", 50, build / "sooth", "inspect", path)) for path in (twin, large))
        table.row(f"`sooth inspect` of a model of {large.stat().st_size:,} bytes, whole process", f"{median:.2f} ms, {mib(peak)}",
                  f"without its weights {small:.2f} ms, {mib(small_peak)}", "10 ms and 30 MiB more")
    finally:
        large.unlink(missing_ok=True)
        twin.unlink(missing_ok=True)


# ---- many nodes ------------------------------------------------------------------------------------------------------

def bench_nodes(table, build, scratch):
    """Time and memory of whole processes, and their growth from half the nodes."""
    table.heading("graphs with many nodes, whole process, fastest of 3 runs")
    counts = (500_000, 1_000_000)
    paths = [scratch / f"nodes{count}.onnx" for count in counts]
    for count, path in zip(counts, paths):
        large_graph.write(path, count)
    for title, target, arguments in (("`sooth inspect`", "1.2 s, 500 bytes a node", ["inspect"]), ("`sooth predict`", "3 s", ["predict"]),
                                     ("`sooth predict --mode train`", "10 s", ["predict", "--mode", "train"])):
        command = [build / "sooth", arguments[0]]
        fields = [output(build / "bench/process", 3, *command, path, *arguments[1:]) for path in paths]
        what = f"{title} of a graph of {counts[1]:,} nodes"
        if not fields[1]:
            error = subprocess.run([*command, paths[1], *arguments[1:]], capture_output=True, text=True, check=False).stderr
            table.skip(what, error.strip().split(": ")[-1].split(";")[0] or "it failed")
            continue
        fastest, _, peak, cpu = map(float, fields[1])
        growth = f"{cpu / float(fields[0][3]):.2f} times half as many" if fields[0] else ""
        table.row(what, f"{fastest / 1000:.2f} s ({cpu / 1000:.2f} s of processors), {peak * 1024 / counts[1]:,.0f} bytes a node", growth, target)
    for path in paths:
        path.unlink()


def bench_wire(table, build, scratch, seconds):
    table.heading("protobuf readers on the same bytes: every field of the model's structure decoded, weights passed over")
    program = build / "bench/wire"
    made = subprocess.run(["make", "-s", f"BUILD={build}", program], cwd=TOP, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        table.skip("nanopb", "it is not there (Debian: nanopb, libnanopb-dev)")
        return
    for _, file in FIXED:
        path = scratch / pathlib.Path(file).stem
        if path.exists():
            ours, theirs, nodes = map(float, output(program, path, seconds))
            table.row(f"protobuf of {path.stem} alone, {nodes:,.0f} nodes", microseconds(ours), f"nanopb {microseconds(theirs)}, "
                      f"{theirs / ours:.1f} times")
