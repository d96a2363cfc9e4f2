#!/usr/bin/env python3
"""Exports torchvision and timm networks with the installed PyTorch and reads the result: torch.export, TorchScript
scripted and traced. Parameters must equal the module's, and the output shape that of a run. One skipped test without
PyTorch; networks that this PyTorch cannot export are skipped with the reason.

SOOTH_TORCH_PYTHON names the Python that has it, if it is not the one that runs the tests.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build") / "sooth")
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)
EXPORT_TIMEOUT_S = 900

EXPORTER = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
import torch, torchvision
torch.manual_seed(0)
directory = sys.argv[1]
made, failed = [], []


def create(name):
    library, _, name = name.partition("/")
    if library == "timm":
        import timm
        return timm.create_model(name, pretrained=False)
    return getattr(torchvision.models, name)(weights=None)


# Attention in evaluation has a fast path that a second trace does not take: traces are not checked against one another.
WAYS = {
    "pt2": lambda network, example, path: torch.export.save(torch.export.export(network, (example,)), path),
    "script.pt": lambda network, example, path: torch.jit.script(network).save(path),
    "trace.pt": lambda network, example, path: torch.jit.trace(network, example, check_trace=False).save(path),
}
for name in sys.argv[2:]:
    try:
        network = create(name).eval()
    except ImportError as error:
        failed.append([name, str(error)])
        continue
    example = torch.zeros(1, 3, 224, 224)
    with torch.no_grad():
        output = network(example)
    for way, export in WAYS.items():
        path = f"{directory}/{name.replace('/', '-')}.{way}"
        try:
            export(network, example, path)
        except Exception as error:
            failed.append([f"{name} as {way}", str(error).splitlines()[0]])
            continue
        made.append({"params": sum(p.numel() for p in network.parameters()), "output": list(output.shape), "file": path,
                     "shape": [1, 3, 224, 224] if way == "script.pt" else None})
print(json.dumps({"torch": torch.__version__, "made": made, "failed": failed}))
"""
NETWORKS = ["torchvision/resnet18", "torchvision/mobilenet_v3_small", "torchvision/shufflenet_v2_x0_5", "torchvision/convnext_tiny",
            "torchvision/swin_t", "torchvision/vit_b_16", "timm/resnet26", "timm/efficientnet_b0", "timm/vit_tiny_patch16_224",
            "timm/convnext_atto"]


def skip(why):
    print(f"1..1\nok 1 - networks of the installed PyTorch # SKIP {why}")
    sys.exit(0)


def wrong(entry):
    command = [PROGRAM, "inspect", entry["file"], "--format", "json"]
    if entry["shape"]:
        listed = json.loads(subprocess.run(command, capture_output=True).stdout or "{}")
        command += ["--shape", f"{listed['inputs'][0]['name']}={','.join(map(str, entry['shape']))}"]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        return done.stderr.decode().strip()
    seen = json.loads(done.stdout)
    if seen["totals"]["params"] != entry["params"]:
        return f"parameters: found {seen['totals']['params']}, expected {entry['params']}"
    if seen["outputs"][0]["shape"] != entry["output"]:
        return f"output: found {seen['outputs'][0]['shape']}, expected {entry['output']}"
    if seen["unknown_operators"] or not seen["totals"]["macs"]:
        return f"unknown operators: {seen['unknown_operators']}"
    return None


def main():
    if subprocess.run([PYTHON, "-c", "import torch, torchvision"], capture_output=True).returncode:
        skip("PyTorch and torchvision are not installed")
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([PYTHON, "-c", EXPORTER, directory, *NETWORKS], capture_output=True, timeout=EXPORT_TIMEOUT_S)
        if done.returncode:
            print("1..1\nnot ok 1 - the exporter ends")
            print("\n".join("#   " + line for line in done.stderr.decode().strip().splitlines()[-5:]))
            return 1
        answer = json.loads(done.stdout.decode().splitlines()[-1])
        print(f"1..{len(answer['made']) + len(answer['failed'])}")
        print(f"#: {len(answer['made'])} files exported by PyTorch {answer['torch']}")
        failures = 0
        for number, entry in enumerate(answer["made"], 1):
            why = wrong(entry)
            failures += why is not None
            print(f"{'not ' * (why is not None)}ok {number} - {os.path.basename(entry['file'])}")
            if why:
                print(f"#   {why}")
        for number, (what, why) in enumerate(answer["failed"], len(answer["made"]) + 1):
            print(f"ok {number} - {what} # SKIP this PyTorch cannot export {what}: {why[:120]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
