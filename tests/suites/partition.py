#!/usr/bin/env python3
"""What a compiled training step keeps for its backward part, against PyTorch's own partitioner: bytes of the tensors that
the forward part hands over, without parameters and inputs. One skipped test without PyTorch.

    partition.py [NETWORK…]

SOOTH_TORCH_PYTHON names the Python that has PyTorch and torchvision, if it is not the one that runs the tests.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build")
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON") or sys.executable
NETWORKS = ["alexnet", "resnet18", "densenet121", "mobilenet_v2", "vit_b_16", "convnext_tiny"]
BATCH = 2
TOLERANCE = 0.03
TORCH_TIMEOUT_S = 1800

REFERENCE = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
try:
    import torch, torchvision
    import torch._inductor.lowering
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table
except ImportError:
    sys.exit(3)


def kept_bytes(network, x):
    parts = {}

    def forward(module, inputs):
        made = next(n for n in module.graph.nodes if n.op == "output").args[0]
        parts["made"] = {n.name: n.meta["val"] for n in made if hasattr(n, "op") and n.op != "placeholder"}
        return module

    def backward(module, inputs):
        parts["read"] = {n.name for n in module.graph.nodes if n.op == "placeholder"}
        return module

    torch._dynamo.reset()
    compiled = torch.compile(network, backend=aot_autograd(
        fw_compiler=forward, bw_compiler=backward, partition_fn=min_cut_rematerialization_partition,
        decompositions=select_decomp_table()))
    compiled(x).sum().backward()
    return sum(v.numel() * v.element_size() for name, v in parts["made"].items()
               if name in parts["read"] and isinstance(v, torch.Tensor))


for name in sys.argv[2:]:
    network = getattr(torchvision.models, name)(weights=None).train()
    print(json.dumps([name, kept_bytes(network, torch.zeros(int(sys.argv[1]), 3, 224, 224))]), flush=True)
"""

SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "bool": 1, "int8": 1, "int64": 8, "int32": 4}


def bytes_of(tensor):
    kind, dims, strides = tensor
    size = SIZES[kind]
    for dim, stride in zip(dims, strides):
        size *= dim if stride or dim == 0 else 1
    return size


def ours(directory, name):
    """Bytes written by kernels of the forward part and read by the backward part."""
    path = os.path.join(directory, name + ".onnx")
    subprocess.run([BUILD / "sooth", "convert", "zoo:" + name, "-o", path], check=True, capture_output=True)
    done = subprocess.run([BUILD / "tests/tools/lower", "--json", "fp32", "nchw", str(BATCH), "mode=train",
                           "runtime=inductor", path], check=True, capture_output=True, text=True)
    kernels = [json.loads(line) for line in done.stdout.splitlines()]
    first = next(i for i, k in enumerate(kernels) if k["phase"] == 1)
    while kernels[first]["layer"] == -1 and not kernels[first]["op"].startswith("triton"):
        first += 1  # the gradient of the loss is not compiled
    made, kept = {}, {}
    for i, kernel in enumerate(kernels):
        reads = kernel["storages"][:len(kernel["in"])]
        if i >= first and kernel["phase"] == 1:
            kept |= {s: made[s] for s in reads if s in made}
        if i < first and (kernel["layer"] != -1 or kernel["op"].startswith("triton")):
            made |= dict(zip(kernel["storages"][len(kernel["in"]):], map(bytes_of, kernel["out"])))
    return sum(kept.values())


def main():
    names = sys.argv[1:] or NETWORKS
    try:
        done = subprocess.run([PYTHON, "-c", REFERENCE, str(BATCH), *names], capture_output=True, text=True,
                              timeout=TORCH_TIMEOUT_S)
    except FileNotFoundError:
        done = None
    if not done or done.returncode == 3:
        print("1..1\nok 1 - kept tensors # SKIP no PyTorch (SOOTH_TORCH_PYTHON)")
        return 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    print(f"1..{len(names)}")
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for number, name in enumerate(names, 1):
            reference = dict(lines).get(name)
            if reference is None:
                print(f"not ok {number} - {name}\n# " + "\n# ".join(done.stderr.splitlines()[-3:]))
                failed += 1
                continue
            mine = ours(directory, name)
            is_met = abs(mine - reference) <= TOLERANCE * reference
            failed += not is_met
            print(f"{'ok' if is_met else 'not ok'} {number} - {name} keeps {mine / 1e6:.2f} MB, "
                  f"PyTorch {reference / 1e6:.2f} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
