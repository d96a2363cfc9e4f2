#!/usr/bin/env python3
"""Rules that every answer must obey, on any GPU and in any setting, measured or not: physics, and the order of GPUs by
their data sheets. `make test` checks a part, `make sanity` (--all) everything. Prints the share of failed checks."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = os.environ.get("SOOTH_BUILD") or str(TOP / "build")
MOST_BROKEN = 0.001  # largest share of all checks that may fail

GPUS = ("t4 v100-sxm2-16gb a10 a40 l4 l40s rtx-3090 rtx-4090 rtx-5090 a100-sxm4-40gb a100-sxm4-80gb h100-pcie-80gb "
        "h100-sxm5-80gb h200-sxm-141gb b200-sxm-180gb").split()
BATCHES = [1, 4, 16, 64, 256]
NETWORKS = ("resnet50 mobilenet_v2 mobilenet_v3_large efficientnet_b0 efficientnet_v2_s vit_b_16 swin_t bert_base convnext_tiny vgg16 "
            "densenet121 regnet_y_800mf gpt2 unet yolov5s shufflenet_v2_x1_0 inception_v3 poolformer_s12").split()
LLAMA_8B = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
            "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}
LANGUAGE_GPUS = "t4 a10 l4 l40s rtx-4090 a100-sxm4-80gb h100-sxm5-80gb h200-sxm-141gb b200-sxm-180gb".split()

# Runtime, precision, layout, mode.
Setting = collections.namedtuple("Setting", "runtime precision layout mode")
SETTINGS = [Setting(*s) for s in [
    ("eager", "fp32", "nchw", "infer"), ("eager", "tf32", "nchw", "infer"), ("eager", "amp", "nchw", "infer"),
    ("eager", "fp16", "nchw", "infer"), ("eager", "fp16", "nhwc", "infer"), ("eager", "bf16", "nchw", "infer"),
    ("eager", "amp", "nchw", "train"), ("inductor", "fp32", "nchw", "infer"), ("inductor", "amp", "nchw", "infer"),
    ("inductor", "fp16", "nchw", "infer"), ("inductor", "fp16", "nhwc", "infer"), ("engine", "tf32", "nchw", "infer"),
    ("engine", "fp16", "nchw", "infer"), ("engine", "fp16", "nhwc", "infer"), ("engine", "int8", "nchw", "infer"),
    ("engine", "fp8", "nchw", "infer")]]
PART = {"networks": "resnet50 mobilenet_v2 bert_base".split(), "batches": [1, 16, 64],
        "gpus": "t4 l4 rtx-4090 rtx-5090 a100-sxm4-40gb a100-sxm4-80gb h100-sxm5-80gb h200-sxm-141gb b200-sxm-180gb".split()}

# Fewer bits: (setting, wider setting).
FEWER = [(("eager", "tf32"), ("eager", "fp32")), (("eager", "fp16"), ("eager", "fp32")), (("eager", "fp16"), ("eager", "tf32")),
         (("eager", "fp16"), ("eager", "amp")), (("eager", "amp"), ("eager", "fp32")), (("eager", "bf16"), ("eager", "fp32")),
         (("inductor", "fp16"), ("inductor", "fp32")), (("inductor", "amp"), ("inductor", "fp32")),
         (("inductor", "fp16"), ("inductor", "amp")), (("engine", "fp16"), ("engine", "tf32")),
         (("engine", "int8"), ("engine", "fp16")), (("engine", "fp8"), ("engine", "fp16"))]
LEAST_BATCH_OF_BITS = 16


def run(arguments):
    done = subprocess.run([BUILD + "/sooth", *arguments], capture_output=True, timeout=600)
    if done.returncode not in (0, 1):  # exit code 1: a GPU cannot run it, and its row says why
        return None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return None


def gpu_numbers():
    return {gpu["name"]: gpu for gpu in run(["gpus", "--format", "json"])["gpus"]}


def dominance(gpus):
    """Pairs (better, worse) of GPUs: no figure of the first is below the second's, and at least one is above it."""
    numbers = {name: [gpu["bandwidth_gb_s"], gpu["l2_mib"], gpu["memory_gib"],
                      *(gpu["peak_tflops"].get(p) or 0 for p in ("fp32", "tf32", "fp16", "bf16", "int8", "fp8"))]
               for name, gpu in gpus.items()}
    return {(a, b) for a in numbers for b in numbers if a != b and numbers[a] != numbers[b]
            and all(x >= y for x, y in zip(numbers[a], numbers[b]))}


class Tally:
    def __init__(self):
        self.checks = collections.Counter()
        self.broken = collections.defaultdict(list)

    def check(self, rule, holds, size, *what):
        self.checks[rule] += 1
        if not holds:
            self.broken[rule].append((size, " ".join(map(str, what))))


UNITS = {"float16": ["fp16", "fp32"], "bfloat16": ["bf16", "fp32"], "int8": ["int8"], "uint8": ["int8"],
         "float8e4m3fn": ["fp8"], "float8e5m2": ["fp8"], "float32": ["fp32", "tf32"]}


def check_kernels(tally, answer, title, gpu):
    """No kernel is faster than the data sheet allows, and its bound follows from its numbers."""
    bandwidth, l2 = gpu["bandwidth_gb_s"] * 1e3, gpu["l2_mib"] * 2**20  # bytes a microsecond
    for k in answer.get("kernels", []):
        us, runs = k["device_us"], k.get("repeat", 1)
        types = [t["dtype"] for t in k["inputs"]]
        if not us or not types:
            continue
        name = f"{title} {k['op']} ({k['layer'][:40]})"
        peak = max((gpu["peak_tflops"].get(u) or 0 for t in types for u in UNITS.get(t, ["fp32"])
                    if u != "tf32" or answer["precision"] != "fp32"), default=0) * 1e6
        compute_us, memory_us = (k["flops"] / peak if peak else 0), k["bytes"] / bandwidth
        if "Winograd" not in (k.get("algorithm") or ""):
            tally.check("a kernel's FLOP/s are below the peak", compute_us <= 1.005 * us, compute_us / us, name, f"{compute_us / us:.3f}")
        if k["bytes"] / runs > 8 * l2 and k["gemm" if "gemm" in k else "flops"]:
            share = (k["bytes"] - 2 * l2 * runs) / bandwidth / us
            tally.check("a kernel's traffic is below the bandwidth", share <= 1.005, share, name, f"{share:.3f}")
        tally.check("what bounds a kernel is what its numbers say",
                    k["bound"] != "compute" or compute_us >= 0.45 * memory_us, 1, name, k["bound"])


def check_answer(tally, a, title):
    use = a["utilization"]
    winograd = a["arithmetic"] == "fp32"
    tally.check("DRAM traffic is below the bandwidth", use["dram"] <= 100.5, use["dram"], title, f"{use['dram']:.1f} %")
    tally.check("FLOP/s are below the peak", winograd or use["compute"] <= 100.5, use["compute"], title, f"{use['compute']:.1f} %")
    bound = a["bound_ms"]
    most = max(bound, key=bound.get)
    waits = a["latency_ms"]["value"] - a["device_ms"] > 0.5 * a["latency_ms"]["value"]
    tally.check("a pass that waits for launches says so", not waits or most == "launch", 1, title, most)


def ms_of(answer):
    return answer["latency_ms"]["value"]


def has_note(answer, *words):
    return any(all(w in note for w in words) for note in answer.get("notes", []))


def compare(tally, rule, title, fast, slow, tolerance, explains=()):
    """`fast` must not be slower than `slow`, unless a note says why."""
    ratio = ms_of(fast) / ms_of(slow)
    tally.check(rule, ratio <= 1 + tolerance or (explains and has_note(fast, *explains)), ratio, title,
                f"{ms_of(fast):.3f} > {ms_of(slow):.3f} ms ({ratio:.2f})")


def check_network(tally, network, answers, dominates, gpus):
    """`answers`: (setting, gpu, batch) -> JSON."""
    for (s, gpu, batch), a in answers.items():
        title = f"{network} {' '.join(s)} {gpu} {batch}"
        check_answer(tally, a, title)
        check_kernels(tally, a, title, gpus[gpu])
        for better, worse in dominates:
            if worse == gpu and (s, better, batch) in answers:
                compare(tally, "a GPU that is better in every number is not slower", f"{title} < {better}",
                        answers[s, better, batch], a, 0.05, ("measured",))
        larger = [b for (s2, g2, b) in answers if s2 == s and g2 == gpu and b > batch]
        if larger:
            compare(tally, "a larger batch is not faster", f"{title} > {min(larger)}", a, answers[s, gpu, min(larger)], 0.02)
        for fewer, wider in FEWER:
            other = s._replace(precision=wider[1])
            if (s.runtime, s.precision) == fewer and wider[0] == s.runtime and batch >= LEAST_BATCH_OF_BITS and (other, gpu, batch) in answers:
                if s.precision == "amp":  # autocast adds launches, so only GPU times can be compared
                    ratio = a["device_ms"] / answers[other, gpu, batch]["device_ms"]
                    tally.check("fewer bits are not slower", ratio <= 1.05, ratio, title, "vs", wider[1], f"on the GPU ({ratio:.2f})")
                    continue
                compare(tally, "fewer bits are not slower", f"{title} vs {wider[1]}", a, answers[other, gpu, batch], 0.05, ("no ", "units"))
        for faster, slower in (("engine", "inductor"), ("inductor", "eager")):
            other = s._replace(runtime=slower)
            if s.runtime == faster and (other, gpu, batch) in answers:
                compare(tally, f"{faster} is not slower than {slower}", f"{title} vs {slower}", a, answers[other, gpu, batch], 0.1)
        twin = s._replace(layout="nchw")
        if s.runtime == "engine" and s.layout == "nhwc" and (twin, gpu, batch) in answers:
            ratio = ms_of(a) / ms_of(answers[twin, gpu, batch])
            tally.check("an engine chooses its layout itself", 0.999 < ratio < 1.001, ratio, title, f"{ratio:.2f} times nchw")


def sweep(network, path, gpus, batches, settings, extra=()):
    answers = {}
    for s in settings:
        rows = run(["predict", path, "--gpu", ",".join(gpus), "--batch", ",".join(map(str, batches)), "--runtime", s.runtime, "--precision",
                    s.precision, "--layout", s.layout, "--mode", s.mode, "--format", "json", *extra])
        for row in rows or []:
            if "latency_ms" in row and row["latency_ms"]["value"]:
                row.pop("layers", None)
                answers[s, row["gpu"], row["batch"]] = row
    return network, answers


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--all", action="store_true", help="the whole zoo's sample, all settings")
    options.add_argument("--network", action="append", default=[], help="a file or zoo:NAME instead of the zoo's sample")
    options.add_argument("--kernels", action="store_true", help="check every kernel too (always on in --all for three networks)")
    options.add_argument("-v", "--verbose", type=int, default=5, help="broken checks to show for each rule")
    o = options.parse_args()
    everything = o.all or o.network
    gpus, batches = (GPUS, BATCHES) if everything else (PART["gpus"], PART["batches"])
    networks = o.network or [f"zoo:{n}" for n in (NETWORKS if o.all else PART["networks"])]
    numbers = gpu_numbers()
    dominates = dominance(numbers)
    tally = Tally()
    answered = 0
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        config = pathlib.Path(directory) / "config.json"
        config.write_text(json.dumps(LLAMA_8B))
        jobs = [pool.submit(sweep, n, n, gpus, batches, SETTINGS, ["--kernels"] if o.kernels else []) for n in networks]
        if not o.network:
            jobs += [pool.submit(sweep, f"decoding Llama 8B {extra[-1]}", str(config), LANGUAGE_GPUS, [1, 8, 64, 128],
                                 [Setting("engine", p, "nchw", "infer") for p in ("fp16", "int8", "fp8")], extra)
                     for extra in (["--seq", "1", "--past", "512"],)]
            jobs += [pool.submit(sweep, f"kernels of {n}", n, gpus, [16], [s for s in SETTINGS if s.precision in ("fp16", "fp32")],
                                 ["--kernels"]) for n in networks[:3 if o.all else 1]]
        for job in concurrent.futures.as_completed(jobs):
            network, answers = job.result()
            answered += len(answers)
            check_network(tally, network, answers, dominates, numbers)
    checks, broken = sum(tally.checks.values()), sum(map(len, tally.broken.values()))
    rules = sorted(tally.checks)
    print("1..1")
    for rule in rules:
        bad = sorted(tally.broken[rule], reverse=True)
        print(f"# {len(bad):5} of {tally.checks[rule]:6} ({100 * len(bad) / tally.checks[rule]:6.3f} %)  {rule}")
        for _, line in bad[:o.verbose]:
            print(f"#     {line}")
    good = answered > 0 and broken <= MOST_BROKEN * checks
    print(f"# {answered} answers, {checks} checks, {broken} broken ({100 * broken / max(checks, 1):.3f} %)")
    print(f"{'ok' if good else 'not ok'} 1 - at most {100 * MOST_BROKEN:.1f} % of the checks are broken")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
