#!/usr/bin/env python3
"""Graph networks: a model does not depend on the number of threads or on interruptions, splits keep groups together,
and other files are refused; layers and gradients equal PyTorch Geometric's (SOOTH_TORCH_PYTHON names a Python that has
it; skipped without one)."""
import csv
import io
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")).resolve() / "sooth")
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)
TIMEOUT_S = 300
EQUAL = 1e-5  # tolerance against PyTorch Geometric in float64, relative to the largest number of a layer
KINDS = ("sage", "gcn", "gat", "gin", "mlp")
PLAN = """gpu = t4, a100
[resnet]
count = 30
graph = zoo:resnet/{depth}?image={image}
depth = 18, 34, 50
image = 64:256:32
batch = 1, 8, 64
[mobilenet]
count = 20
graph = zoo:mobilenet_v2?image={image}
image = 64:256:32
batch = 1, 8, 64
[squeezenet]
count = 10
graph = zoo:squeezenet1_1?image={image}
image = 64:256:32
batch = 1, 8, 64
"""
results = []


def check(name, good, found=""):
    results.append((name, good, found))


def run(*arguments, prefix=()):
    return subprocess.run([*prefix, PROGRAM, "gnn", *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S)


def contents(path):
    return pathlib.Path(path).read_bytes() if pathlib.Path(path).exists() else b""


def train(out, *more, prefix=()):
    return run("train", "set.db", "--hidden", 32, "--rate", 0.003, "-q", *more, "-o", out, prefix=prefix)


def one_result():
    """The model is the same for any number of threads, and differs for another seed."""
    for kind in KINDS:
        train("one.bin", "--model", kind, "--epochs", 2, prefix=("taskset", "-c", "0"))
        done = train("many.bin", "--model", kind, "--epochs", 2)
        check(f"{kind}: one core and all cores give the same bytes", contents("one.bin") == contents("many.bin") != b"", done.stderr)
    train("other.bin", "--model", "mlp", "--epochs", 2, "--seed", 2)
    check("another seed gives another model", contents("other.bin") not in (contents("many.bin"), b""))


def resumed():
    """A killed training resumes from its checkpoint and writes the same bytes."""
    options = ["--epochs", 60, "--schedule", "linear"]
    train("whole.bin", *options)
    command = [PROGRAM, "gnn", "train", "set.db", "--hidden", "32", "--rate", "0.003", "-q", *map(str, options), "-o", "cut.bin"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + TIMEOUT_S
    while not pathlib.Path("cut.bin.checkpoint").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    was_cut = pathlib.Path("cut.bin.checkpoint").exists() and not pathlib.Path("cut.bin").exists()
    other = train("cut.bin", "--epochs", 61, "--schedule", "linear")
    check("a checkpoint of other options is refused", was_cut and other.returncode == 3 and "another set, split or options" in other.stderr,
          other.stderr)
    kept = contents("cut.bin.checkpoint")
    pathlib.Path("cut.bin.checkpoint").write_bytes(kept[:-5] + b"\0" + kept[-4:])
    damaged = train("cut.bin", *options)
    check("a damaged checkpoint is refused", damaged.returncode == 3 and "is damaged" in damaged.stderr, damaged.stderr)
    pathlib.Path("cut.bin.checkpoint").write_bytes(kept)
    done = train("cut.bin", *options)
    check("a killed training goes on to the same bytes", done.returncode == 0 and contents("cut.bin") == contents("whole.bin") != b"", done.stderr)
    check("a finished training has no checkpoint", not pathlib.Path("cut.bin.checkpoint").exists())


def groups(model, part, by):
    rows = csv.DictReader(io.StringIO(run("eval", model, "set.db", "--part", part, "-f", "csv").stdout))
    return {row["group"] for row in rows if row["by"] == by}


def splits():
    """Each group is on one side of a split."""
    train("family.bin", "--split", "family", "--apart", "squeezenet", "--epochs", 1)
    done = run("eval", "family.bin", "set.db", "--apart", "squeezenet", "-f", "json")
    scores = json.loads(done.stdout)["scores"] if done.returncode == 0 else []
    tested = next((row["labels"] for row in scores if row["output"] == "latency_ms" and not row["by"]), 0)
    check("a family apart is what is tested", tested == 20, done.stderr or scores)
    shown = json.loads(train("gpu.bin", "--split", "gpu", "--epochs", 1, "-f", "json").stdout)
    check("a GPU apart has its labels", shown["test_labels"] == 60 and shown["train_labels"] + shown["validation_labels"] == 60, shown)
    for role in ("train", "test"):
        check(f"the {role} labels of a split by GPU are of one GPU", len(groups("gpu.bin", role, "gpu")) == 0, groups("gpu.bin", role, "gpu"))
    other = run("eval", "gpu.bin", "set.db", "--split", "random")
    check("a split that is not that of the training is mentioned", "another set or split" in other.stderr, other.stderr)


def learns():
    """After a few seconds of training, errors are far below those of predicting the mean label."""
    done = train("good.bin", "--node-features", "full", "--batch-size", 4, "--epochs", 60, "--schedule", "linear", "-f", "json")
    error = json.loads(done.stdout)["validation_error"] if done.returncode == 0 else 1
    check("training lowers the error on validation labels to a fifth", error < 0.2, error)
    score = json.loads(run("eval", "good.bin", "set.db", "-f", "json").stdout)["scores"]
    latency = next(row for row in score if row["output"] == "latency_ms" and not row["by"])
    check("and on test labels", latency["mape"] < 30 and latency["spearman"] > 0.8, latency)
    answer = json.loads(run("predict", "good.bin", "zoo:resnet34", "--gpu", "a100", "--batch", 8, "-f", "json").stdout)
    value = answer["latency_ms"]
    check("a network is predicted with its interval", 0 < value["low"] < value["value"] < value["high"], answer)


def hostile():
    model = contents("good.bin")
    wrong = {"empty": b"", "text": b"sooth gnn net 1", "half": model[:len(model) // 2], "longer": model + b"\0", "flipped": model[:4000] + b"\xff" + model[4001:]}
    for name, content in wrong.items():
        pathlib.Path("wrong.bin").write_bytes(content)
        done = run("predict", "wrong.bin", "zoo:resnet18")
        check(f"a model file that is {name} is refused", done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr)
    # Places of numbers in a model file (src/gnn/file.h): after the checksum 11 words, then the scaling, 87 words in all.
    centre, low, parameters = (20 + 4 * n for n in (87, 90, 96))
    for name, at, value, code in (("a parameter that is no number", parameters, math.nan, 3), ("a scale below 0", 20 + 4 * 27, -1, 3),
                                  ("an interval upside down", low, 5, 3), ("a prediction beyond all numbers", centre, 3e38, 4)):
        content = bytearray(model)
        content[at:at + 4] = struct.pack("<f", value)
        content[16:20] = struct.pack("<I", zlib.crc32(content[20:]))
        pathlib.Path("wrong.bin").write_bytes(content)
        done = run("predict", "wrong.bin", "zoo:resnet18")
        check(f"a model with {name} is refused", done.returncode == code and done.stderr.count("\n") == 1, (done.returncode, done.stderr))
    pathlib.Path("wrong.bin").write_bytes(b"no set")
    done = run("train", "wrong.bin", "-o", "x.bin")
    check("a set that is none is refused", done.returncode == 3 and done.stderr.startswith("sooth: wrong.bin"), done.stderr)


def full_disk():
    """A limit on the size of files stands for a full disk; the signal is ignored, so that writing fails."""
    limited = run("train", "set.db", "--hidden", 32, "--epochs", 3, "-q", "-o", "full.bin", prefix=("sh", "-c", 'trap "" XFSZ; ulimit -f 10; exec "$@"', "sh"))
    named = limited.stderr.startswith("sooth: full.bin.checkpoint: cannot be written")
    check("a full disk is named", limited.returncode == 5 and named and not pathlib.Path("full.bin").exists(), limited.stderr)


def two_writers():
    command = [PROGRAM, "gnn", "train", "set.db", "--hidden", "256", "--epochs", "1000", "-q", "-o", "two.bin"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIMEOUT_S
    while not pathlib.Path("two.bin.checkpoint").exists() and time.monotonic() < end:
        time.sleep(0.01)
    second = run("train", "set.db", "--hidden", 256, "--epochs", 1000, "-q", "-o", "two.bin")
    check("a second training of the same model is told of the first", second.returncode == 5 and "another 'sooth gnn'" in second.stderr, second.stderr)
    first.kill()
    first.wait()


def torch():
    has = subprocess.run([PYTHON, "-c", "import torch_geometric"], capture_output=True)
    if has.returncode:
        print("# SKIP layers beside PyTorch Geometric's: SOOTH_TORCH_PYTHON must name a Python with torch and torch_geometric")
        return
    for kind in KINDS:
        for features in ("dippm", "full"):
            probe = run("gradient", "set.db", "--model", kind, "--hidden", 64, "--node-features", features, "-o", "probe.npz")
            done = subprocess.run([PYTHON, "-W", "ignore", TOP / "tests/tools/gnn_torch.py", "check", kind, "probe.npz"], capture_output=True,
                                  text=True, timeout=TIMEOUT_S)
            differences = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}
            good = len(differences) > 10 and max(differences.values()) < EQUAL
            check(f"{kind}, {features}: outputs and gradients equal PyTorch Geometric's", good, probe.stderr or done.stderr or differences)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("plan.txt").write_text(PLAN)
        subprocess.run([PROGRAM, "dataset", "make", "--plan", "plan.txt", "-o", "set.db"], check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        one_result()
        resumed()
        splits()
        learns()
        hostile()
        full_disk()
        two_writers()
        torch()
        os.chdir("/")
    print(f"1..{len(results)}")
    for number, (name, good, found) in enumerate(results, 1):
        print(f"{'' if good else 'not '}ok {number} - {name}")
        if not good:
            print(f"#   {str(found).strip()}")


main()
