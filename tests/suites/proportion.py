#!/usr/bin/env python3
"""Small files that once took seconds or gigabytes: each has a limit on CPU time and memory, and an exit code.

tests/suites/growth.py finds what grows too fast; this suite has reported cases, at the size that caused problems.
"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "suites")]
from hostile import BUILD, SANITIZED, branches_of, calls_of_calls, tell  # noqa: E402
from onnxtext import data, model  # noqa: E402

SLOWER = 40 if SANITIZED else 1  # slowdown allowed for sanitizer builds
MIB = 1 << 20


def measure(command, folder):
    """Exit code, CPU seconds, peak memory in MiB, last line of output."""
    with open(folder / "said", "w+b") as said:
        child = subprocess.Popen([BUILD / "sooth", *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode("utf-8", "replace")
    return child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MIB, words


def caffe_in_place(count):
    layers = "".join(f'layer {{ name: "r{i}" type: "ReLU" bottom: "x" top: "x" }}\n' for i in range(count))
    return ('input: "x" input_shape { dim: 1 dim: 8 dim: 8 dim: 8 }\n' + layers).encode()


def far_readers(count):
    """Each value is read by its neighbour and by one twice as far away."""
    sums = "\n".join(f"v{i} = Add(v{i // 2}, v{i - 1})" for i in range(2, count))
    return model(f"input x float32[1,64]\nv0 = Add(x, x)\nv1 = Add(x, v0)\n{sums}\noutput v{count - 1}")


def many_weights(count):
    """Their update is one kernel that reads all of them."""
    weights = "\n".join(f"init w{i} float32[64]" for i in range(count))
    sums = "\n".join(f"y{i + 1} = Mul(y{i}, w{i})" for i in range(count))
    return model(f"input y0 float32[1,64]\n{weights}\n{sums}\noutput y{count}")


def gzip_in_gzip(size):
    inner = model("input x float32[2]\ny = Relu(x)\noutput y") + data(90, bytes(size))
    stored = zlib.compressobj(0, zlib.DEFLATED, 31)
    return gzip.compress(stored.compress(inner) + stored.flush(), 1)


def gzip_of_empty(count):
    """A chain of empty layers computes nothing, at any length."""
    return gzip.compress(gzip.compress(model("input x float32[2]\ny = Relu(x)\noutput y")) + gzip.compress(b"") * count, 1)


def equal_rows(count):
    return b"name,graph,batch,gpu,precision,runtime,mode,latency_ms,source\n" + b"tiny,tiny.onnx,8,a100,fp32,eager,infer,0.1,s\n" * count


TINY = model("input x float32[N,3,8,8]\ninit w float32[4,3,3,3]\ny = Conv(x, w) pads=[1,1,1,1]\nz = Relu(y)\noutput z")
# name, files, command, exit code, CPU seconds, MiB
CASES = [
    ("60,000 Caffe layers in place", {"m.prototxt": lambda: caffe_in_place(60000)}, ["inspect", "m.prototxt"], 0, 2, 400),
    ("fusion of 100,000 sums with far readers", {"m.onnx": lambda: far_readers(100000)},
     ["predict", "m.onnx", "--runtime", "inductor"], 0, 4, 800),
    ("kernels of a training with 30,000 weights", {"m.onnx": lambda: many_weights(30000)},
     ["predict", "m.onnx", "--mode", "train", "--kernels", "--format", "json"], 0, 4, 800),
    ("gzip in gzip holds one layer", {"m.onnx": lambda: gzip_in_gzip(256 * MIB)}, ["inspect", "m.onnx"], 0, 4, 400),
    ("a million empty layers of gzip", {"m.onnx": lambda: gzip_of_empty(1000000)}, ["inspect", "m.onnx"], 0, 2, 50),
    ("functions of 2^20 calls are counted first", {"m.onnx": lambda: calls_of_calls(20, 2)}, ["inspect", "m.onnx"], 3, 1, 20),
    ("nodes inside of branches are nodes that the file writes out", {"m.onnx": lambda: branches_of(260000)}, ["predict", "m.onnx"], 0, 6, 1200),
    ("memory has a limit by the nodes of the file, not by those of inlined calls", {"m.onnx": lambda: calls_of_calls(3, 75, "LpNormalization")},
     ["predict", "m.onnx"], 3, 4, 1200),
    ("eval of 200,000 equal rows", {"tiny.onnx": lambda: TINY, "rows.csv": lambda: equal_rows(200000)}, ["eval", "rows.csv"], 0, 8, 600),
]


def write(files, folder):
    """Runs in a process of its own, because inherited memory would count as the child's."""
    child = os.fork()
    if child == 0:
        for path, content in files.items():
            (folder / path).write_bytes(content())
        os._exit(0)
    os.waitpid(child, 0)


def results():
    for name, files, command, code, seconds, mib in CASES:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write(files, folder)
            got, took_s, took_mib, words = measure(command, folder)
        wrong = []
        if got != code:
            wrong.append(f"exit code {got}, not {code}: {words[-500:]}")
        if took_s > seconds * SLOWER:
            wrong.append(f"{took_s:.1f} s of a processor, more than {seconds * SLOWER}")
        if took_mib > mib and not SANITIZED:
            wrong.append(f"{took_mib:.0f} MiB, more than {mib}")
        yield name, "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(tell(results()))
