"""Benchmarks of predictions, with memory and energy as users get them; of training, and of the memory per training row."""
import contextlib
import csv
import gzip
import itertools
import os
import pathlib
import re
import subprocess
import sys

from table import MODELS, TOP, microseconds, mib, output

GPUS = ("a100-sxm4-40gb", "h100-sxm5-80gb", "v100-sxm2-16gb", "t4", "l4", "rtx-3090", "rtx-4090", "titan-rtx")
BATCHES = (1, 8, 32, 64, 256)
ROWS = 50_000
CELL_OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
PROCESSORS_MS = 3  # columns of bench/process's output
SWIN_B = MODELS / "torchvision/swin_b.onnx.gz"


def there(table, title, model):
    if isinstance(model, str) or model.exists():
        return True
    table.skip(title, "../shared/models is not there")
    return False


def bench_predict(table, build, seconds):
    table.heading("predictions of a loaded and bound network with memory and energy, one core, in one process: the first, with lowering to "
                  "kernels, and a further one on another GPU")
    for title, model, runtime, target in (
            ("ResNet-50, batch 32", "zoo:resnet50", "eager", "120 µs; 60 µs"), ("Swin-B, batch 32", SWIN_B, "eager", "900 µs; 300 µs"),
            ("ResNet-50, batch 32, inductor", "zoo:resnet50", "inductor", "200 µs")):
        if not there(table, title, model):
            continue
        _, first, _, further, _, kernels = map(float, output(build / "bench/predict", model, "a100-sxm4-40gb,h100-sxm5-80gb", 32, seconds,
                                                             "amp", "nchw", runtime, "infer", "memory"))
        table.row(f"predict a loaded {title}: first; further GPU", f"{microseconds(first)}; {microseconds(further)}",
                  f"{kernels:.0f} kernels", target)


def bench_largest(table, build, seconds):
    table.heading("the largest batch that fits: whole process, and inside one process, against one prediction with that batch")
    for title, model, runtime, mode in (("ResNet-50", "zoo:resnet50", "eager", "infer"), ("ResNet-50, training", "zoo:resnet50", "eager", "train"),
                                        ("ResNet-50, inductor", "zoo:resnet50", "inductor", "infer"), ("GPT-2", "zoo:gpt2", "eager", "infer"),
                                        ("Swin-B, training", MODELS / "timm/swin_base_patch4_window7_224@224.onnx.gz", "eager", "train")):
        if not there(table, title, model):
            continue
        how = ["--gpu", "a100-sxm4-40gb", "--runtime", runtime, "--mode", mode]
        fields = output(build / "bench/largest", model, how[1], seconds, runtime, mode)
        if not fields:
            table.skip(f"`--largest-batch` of {title}", "it failed")
            continue
        _, inside, inside_one, batch = map(float, fields)
        search, one = (float(output(build / "bench/process", 10, build / "sooth", "predict", model, *how, *option)[PROCESSORS_MS])
                       for option in (["--largest-batch"], ["--batch", int(batch)]))
        table.row(f"`--largest-batch` of {title}, whole process", f"{search:.1f} ms of a processor", f"one prediction {one:.1f} ms: {search / one:.1f} times; "
                  f"inside one process {inside / inside_one:.1f} times (batch {batch:,.0f})", "3 times")


# ---- the service -----------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def serving(table, build):
    """Starts `sooth serve` on a free port; returns (process, port), port None if it does not start."""
    server = subprocess.Popen([build / "sooth", "serve", "--port", "0", "--quiet"], stderr=subprocess.PIPE, text=True)
    try:
        found = re.search(r":(\d+)/", server.stderr.readline())
        if not found:
            table.skip("`sooth serve`", "it does not start: libmicrohttpd is missing")
        yield server, found and found[1]
    finally:
        server.terminate()
        server.wait()


def bench_serve(table, build, seconds):
    table.heading("answers of `sooth serve` on this machine, client and server on the same cores, 8 connections")
    with serving(table, build) as (_, port):
        if not port:
            return
        asks = [build / "bench/serve", port, 8, seconds]
        for title, more in (("totals of a kept ResNet-50", "&totals=1"), ("the same with all layers", "")):
            path = f"/v1/predict?model=zoo:resnet50&gpu=a100&batch=32{more}"
            rate, _, _, _, _, size = map(float, output(*asks, 0, path))
            _, half, late, _, _, _ = map(float, output(*asks, int(rate / 2), path))
            table.row(f"`sooth serve`: {title}", f"{rate:,.0f} answers/s of {size:,.0f} bytes",
                      f"at half that: median {half:.2f} ms, 99th percentile {late:.2f} ms", "5,000 answers/s; 10 ms")


def bench_serve_memory(table, build, answers):
    """Resident memory of a server after each round of questions of all kinds."""
    table.heading(f"memory of `sooth serve` over {answers:,} answers")
    paths = [f"/v1/predict?model=zoo:{network}&gpu={gpu}&batch={batch}&totals=1" for network, gpu, batch in (
        ("resnet50", "a100", 32), ("bert_base", "h100", 8), ("vit_b_16", "t4", 1), ("resnet18", "l4,t4", "1,2"))]
    paths += ["/v1/predict?model=zoo:resnet50&gpu=t4&mode=train&memory=1", "/v1/inspect?model=zoo:resnet50",
              "/v1/mig?model=zoo:resnet18&batch=4", "/v1/predict?model=zoo:mobilenet_v2&runtime=inductor&totals=1"]
    with serving(table, build) as (server, port):
        if not port:
            return
        status, done, resident = pathlib.Path(f"/proc/{server.pid}/status"), 0, []
        while done < answers:
            for path in paths:
                seconds = 3
                done += int(float(output(build / "bench/serve", port, 8, seconds, 0, path)[0]) * seconds)
            resident.append(int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]) / 1024)
        table.row("`sooth serve`: resident memory", f"{resident[0]:.0f} MiB after {len(paths)} kinds of questions, {resident[-1]:.0f} MiB "
                  f"after {done:,} answers", f"after each of {len(resident)} rounds: {', '.join(f'{r:.0f}' for r in resident)}", "flat")


# ---- tables of queries -----------------------------------------------------------------------------------------------

def answer(table, build, scratch, title, rows, target):
    questions, answers = scratch / "queries.csv", scratch / "answers.csv"
    with open(questions, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("graph", "gpu", "batch"))
        writer.writerows(rows)
    fastest, _, peak, cpu = map(float, output(build / "bench/process", 1, build / "sooth", "predict", "--queries", questions, "-o", answers))
    table.row(f"`--queries`, {len(rows):,} rows: {title}", f"{len(rows) / fastest * 1000:,.0f} rows/s, {mib(peak)}",
              f"{fastest / 1000:.1f} s on the clock, {cpu / 1000:.1f} s of processors", target)
    questions.unlink()
    answers.unlink(missing_ok=True)


def bench_queries(table, build, scratch):
    table.heading(f"tables of queries, whole process on {len(os.sched_getaffinity(0))} cores, memory and energy included")
    files = sorted(MODELS.glob("timm/*.onnx.gz"))
    if files:
        answer(table, build, scratch, f"timm's networks × {len(GPUS)} GPUs × {len(BATCHES)} batches",
               list(itertools.islice(itertools.product(files, GPUS, BATCHES), ROWS)), "8,000 rows/s")
    else:
        table.skip("`--queries` of timm's networks", "../shared/models/timm is not there")
    cells = (f"zoo:nasbench201/|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|" for a, b, c, d, e, f in itertools.product(CELL_OPERATIONS, repeat=6))
    answer(table, build, scratch, "NAS-Bench-201", list(itertools.islice(itertools.product(cells, GPUS[:4], (256,)), ROWS)), "15,000 rows/s")


def bench_nas(table, build):
    table.heading("all networks of NAS-Bench-201 through the library, each built, bound and predicted by itself (latency and energy)")
    networks, threads, seconds, *parts = map(float, output(build / "bench/nas", "titan-rtx", 256))
    table.row(f"build, bind and predict {networks:,.0f} networks of NAS-Bench-201", f"{seconds:.2f} s on {threads:.0f} threads",
              "one of them: " + ", ".join(f"{us:.0f} µs" for us in parts), "2 s")


# ---- Python ----------------------------------------------------------------------------------------------------------

PYTHON = """
import sys, time
sys.path.insert(0, sys.argv[1])
import sooth
model = sooth.load("zoo:resnet50", batch=32)
model.predict("a100-sxm4-40gb")
best, end = 1e9, time.perf_counter() + float(sys.argv[2])
while time.perf_counter() < end:
    start = time.perf_counter()
    latency = model.predict("a100-sxm4-40gb").latency_ms
    best = min(best, time.perf_counter() - start)
print(best * 1e6)
"""


def bench_python(table, build, seconds):
    table.heading("the Python module")
    fields = output(sys.executable, "-c", PYTHON, TOP / "python", seconds, env={**os.environ, "SOOTH_LIBRARY": str(build / "libsooth.so.0")})
    if fields:
        table.row("Python: `predict` of a loaded ResNet-50 and its latency", microseconds(float(fields[0])), "", "150 µs")
    else:
        table.skip("the Python module", f"{sys.executable} cannot run it")


# ---- training --------------------------------------------------------------------------------------------------------

def bench_learn(table, build, seconds):
    table.heading("a step of training on made-up rows of the real shape: 32 rows of networks with 150 kernels, 320 of operators; fastest step")
    done = subprocess.run([build / "bench/learn", str(seconds)], capture_output=True, text=True, check=True)
    (_, fastest, *_), shape = (line.split() for line in done.stdout.splitlines())
    threads = len(os.sched_getaffinity(0))
    fields = output(sys.executable, TOP / "bench/learn_torch.py", seconds, threads, *shape)
    compared = f"PyTorch {fields[0]}: {float(fields[2]):.1f} ms, {float(fields[2]) / float(fastest):.1f} times" if fields else \
        "this Python has no PyTorch"
    table.row(f"`sooth learn`: a step of training, {threads} threads", f"{float(fastest):.1f} ms", compared, "2 times")


def measured_rows():
    """Rows of timm's benchmark, whose graphs are in ../shared; otherwise rows of cells with meaningless times."""
    labels = MODELS.parent / "labels/timm.csv.gz"
    if labels.exists():
        with gzip.open(labels, "rt", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["gpu"].startswith("cpu")]
        for row in rows:
            row["graph"] = str((labels.parent / row["graph"]).resolve())
        return "timm", sorted(rows, key=lambda row: row["graph"])
    cells = itertools.product(CELL_OPERATIONS, repeat=6)
    return "NAS-Bench-201", [
        {"graph": f"zoo:nasbench201/|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|", "batch": 256, "gpu": "titan-rtx", "latency_ms": 1 + i % 7,
         "source": "bench", "name": f"cell-{i}"} for i, (a, b, c, d, e, f) in enumerate(cells)]


def bench_learn_memory(table, build, scratch):
    """Memory per row: the peak with many rows against the peak with a third of them."""
    table.heading("memory of `sooth learn`, one epoch")
    source, rows = measured_rows() # adjacent rows share a graph, as many as in a training
    few, many = 1500, 13_500
    peaks = []
    for count in (few, many):
        path, weights = scratch / "rows.csv", scratch / "weights.bin"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows[:count])
        fields = output(build / "bench/process", 1, build / "sooth", "learn", path, "-o", weights, "--epochs", 1, "-q")
        for left in scratch.glob("weights.bin*"):
            left.unlink()
        path.unlink()
        if not fields:
            table.skip("memory of `sooth learn`", "the training failed")
            return
        peaks.append(float(fields[2]))
    table.row(f"`sooth learn`: memory of each further row ({source})", f"{(peaks[1] - peaks[0]) / (many - few):.1f} KiB",
              f"{few:,} rows {mib(peaks[0])}, {many:,} rows {mib(peaks[1])}", "6 KiB")
