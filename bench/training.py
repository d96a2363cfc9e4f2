"""Forward and backward pass of a training step on this processor: `sooth measure` beside PyTorch."""
import json
import os
import subprocess
import sys

from table import TOP, output

BATCH, WARMUP, REPEAT = 16, 1, 3

TORCH = r"""
import statistics, sys, time
import torch, torchvision
name, batch, warmup, repeat, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
net = getattr(torchvision.models, name)(weights=None).train()
x, y = torch.rand(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
times = []
for step in range(warmup + repeat):
    start = time.perf_counter()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    times.append(time.perf_counter() - start)
    net.zero_grad()
print(torch.__version__, 1e3 * statistics.median(times[warmup:]))
"""


def bench_measure(table, build):
    threads = len(os.sched_getaffinity(0))
    table.heading(f"training on this processor: forward and backward, batch {BATCH}, fp32, {threads} threads; median of {REPEAT} steps")
    done = subprocess.run([build / "sooth", "measure", "zoo:resnet50", "--batch", str(BATCH), "--library", "onednn", "--images", "0",
                           "--warmup", str(WARMUP), "--repeat", str(REPEAT), "--threads", str(threads), "-f", "json"], capture_output=True,
                          text=True)
    what = f"`sooth measure`: forward and backward of ResNet-50, batch {BATCH}, {threads} threads"
    if done.returncode:
        table.skip(what, done.stderr.strip())
        return
    stages = {s["stage"]: s["latency_ms"]["value"] for s in json.loads(done.stdout)["stages"]}
    ours = stages["forward"] + stages["backward"]
    python = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)
    fields = output(python, "-c", TORCH, "resnet50", BATCH, WARMUP, REPEAT, threads)
    compared = f"PyTorch {fields[0]}: {float(fields[1]):,.0f} ms, {ours / float(fields[1]):.2f} times its time" if fields else \
        "this Python has no PyTorch"
    table.row(what, f"{ours:,.0f} ms", compared, "1.3 times")
