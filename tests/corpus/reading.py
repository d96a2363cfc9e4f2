#!/usr/bin/env python3
"""Time of reading as a whole process: weights are never read, so their size does not matter.

ResNet-50 as TorchScript with 100 MB of weights, VGG-16 as a SavedModel with 550 MB of variables in other files, VGG-16
as ONNX with as much inside, each against the same file without weights. Weights are holes in the files and take no disk
space.
"""
import gzip
import io
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

import corpus

sys.path.insert(0, str(corpus.TOP / "tests/tools"))
import onnxtext  # noqa: E402

LIMIT_MS = 30
RUNS = 15
SANITIZED = "fsanitize" in (corpus.BUILD / "flags").read_text()
VGG_BYTES = 553_430_176


def torchscript(path, with_weights):
    """The archive with stored entries, as torch.save writes them; zeros instead of weights."""
    content = gzip.decompress((corpus.MODELS / "made/torchscript/resnet50.trace.torch2.15.0.pt.gz").read_bytes())
    archive = zipfile.ZipFile(io.BytesIO(content))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for name in archive.namelist():
            data = archive.read(name)
            out.writestr(name, data if with_weights or "/data/" not in name else b"")


def saved_model(path, with_weights):
    source = corpus.MODELS / "made/savedmodel/vgg16.tf2.21.0/saved_model.pb.gz"
    (path / "variables").mkdir(parents=True)
    (path / "saved_model.pb").write_bytes(gzip.decompress(source.read_bytes()))
    with open(path / "variables/variables.data-00000-of-00001", "wb") as file:
        file.truncate(VGG_BYTES if with_weights else 0)


def onnx(path, with_weights):
    """One product with its weight in the file: a field of 500 MB that is a hole."""
    size = 512 << 20 if with_weights else 0
    rows = size // 4096
    weight = onnxtext.number(1, rows) + onnxtext.number(1, 1024) + onnxtext.number(2, 1) + onnxtext.data(8, "w")
    head = weight + varint(9 << 3 | 2) + varint(size)
    graph_tail = (onnxtext.data(1, onnxtext.data(1, "x") + onnxtext.data(1, "w") + onnxtext.data(2, "y") + onnxtext.data(4, "Gather")) +
                  onnxtext.data(12, onnxtext.data(1, "y")))
    inner = varint(5 << 3 | 2) + varint(len(head) + size) + head
    model_head = onnxtext.number(1, 8) + onnxtext.data(8, onnxtext.number(2, 17)) + varint(7 << 3 | 2) + varint(len(inner) + size + len(graph_tail))
    with open(path, "wb") as file:
        file.write(model_head + inner)
        file.seek(size, os.SEEK_CUR)
        file.write(graph_tail)


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def measure(path):
    """The fastest run in milliseconds and the process's peak memory in MiB, as the user sees them."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        done = subprocess.run([corpus.PROGRAM, "inspect", str(path), "--format", "csv"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
        best = min(best, 1000 * (time.perf_counter() - begin))
        if done.returncode:
            return None, done.stderr.strip()
    return best, ""


def main():
    corpus.require("models/made/torchscript/resnet50.trace.torch2.15.0.pt.gz", "models/made/savedmodel/vgg16.tf2.21.0")
    report = corpus.Report("reading")
    with tempfile.TemporaryDirectory() as directory:
        for name, make, file in (("TorchScript, ResNet-50", torchscript, "net.pt"), ("SavedModel, VGG-16", saved_model, "net"),
                                 ("ONNX, one weight", onnx, "net.onnx")):
            times, size = [], 0
            for with_weights in (False, True):
                path = pathlib.Path(directory, f"{'with' if with_weights else 'without'}-{file}")
                make(path, with_weights)
                size = sum(f.stat().st_size for f in ([path] if path.is_file() else path.rglob("*")) if f.is_file())
                times.append(measure(path))
            if None in (times[0][0], times[1][0]):
                report.check(False, f"{name} is read", [times[0][1], times[1][1]])
                continue
            without, full = times[0][0], times[1][0]
            report.say(f"{name}: {size / 1e6:.0f} MB read in {full:.1f} ms, without its weights in {without:.1f} ms (best of {RUNS}, whole process)")
            report.check(full < LIMIT_MS or SANITIZED, f"{name}: {size / 1e6:.0f} MB in less than {LIMIT_MS} ms", [f"{full:.1f} ms"])
            report.check(full < 2 * without + 5 or SANITIZED, f"{name}: time does not grow with weights", [f"{without:.1f} and {full:.1f} ms"])
    report.say(f"at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB of memory, mapped pages of the file included")
    report.end()


if __name__ == "__main__":
    main()
