#!/usr/bin/env python3
"""Makes the fresh corpus: exported files and eager traces of the networks in fresh_networks.py, for tests/corpus/fresh.py.

    fresh_corpus.py [--out ../fresh-corpus] [--only PART OF A NAME] [--seconds N]

Needs a Python with PyTorch (the build with CUDA; no GPU), timm, and the packages of the networks: torchvision,
transformers, segmentation-models-pytorch, monai, diffusers, ultralytics, pytorchcv, torchaudio. For each network it writes

    NAME.onnx.gz    exported from TorchScript, as most files of today are; weights are blanked
    NAME.new.onnx.gz    exported from torch.export (every fourth network, because it is slow)
    NAME.pt2.gz     torch.export
    NAME.jsonl.gz   what eager PyTorch dispatches, from the recorder in ../shared/tools/eager_traces
    NAME.fail       what did not work, and why

A restart makes only the missing files.
"""
import argparse
import gzip
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import time
import traceback
import warnings
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
RECORDER = TOP.parent / "shared/tools/eager_traces"
KEPT_ELEMENTS = 64
TRACED_AT_ONCE = 12


def number_of(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def modes(name):
    """Autocast in nhwc for all; fp32 or fp16 in nchw."""
    other = ("fp32", "fp16")[number_of(name) // 2 % 2]
    return ",".join(f"{mode}:{precision}:{batch}" for precision, batch in (("amp:nhwc", 2), (f"{other}:nchw", 2))
                    for mode in ("infer", "train"))


# ---- exporting ---------------------------------------------------------------------------------------------------------


def blank(path):
    """The ONNX file without the contents of its weights."""
    import onnx
    model = onnx.load(path, load_external_data=False)
    tensors = list(model.graph.initializer)
    for node in model.graph.node:
        tensors += [a.t for a in node.attribute if a.type == onnx.AttributeProto.TENSOR]
    for tensor in tensors:
        elements = 1
        for dim in tensor.dims:
            elements *= dim
        limit = 4096 if tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) else KEPT_ELEMENTS
        if elements <= limit:
            continue
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "external_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "stripped"
    return model.SerializeToString()


def export_onnx(module, inputs, path):
    import torch
    torch.onnx.export(module, tuple(inputs), path, dynamo=False, opset_version=17, training=torch.onnx.TrainingMode.PRESERVE)
    return blank(path)


def export_onnx_new(module, inputs, path):
    import torch
    torch.onnx.export(module, tuple(inputs), path, dynamo=True, verbose=False, external_data=False)
    return blank(path)


def export_pt2(module, inputs, path):
    import torch
    program = torch.export.export(module, tuple(inputs))
    made = io.BytesIO()
    torch.export.save(program, made)
    out = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            is_weight = "/data/weights/" in entry.filename and not entry.filename.endswith(".json")
            new.writestr(zipfile.ZipInfo(entry.filename), bytes(len(data)) if is_weight and len(data) > 4 * KEPT_ELEMENTS else data)
    return out.getvalue()


FORMATS = {".onnx": export_onnx, ".pt2": export_pt2, ".new.onnx": export_onnx_new}


def export(name, out, module_and_inputs):
    module, inputs = module_and_inputs
    module.eval()
    import torch
    for ending, exporter in FORMATS.items():
        target = out / f"{name}{ending}.gz"
        if target.exists() or (ending == ".new.onnx" and number_of(name) // 4 % 4):
            continue
        scratch = out / f"scratch{os.getpid()}{ending}"
        try:
            with torch.no_grad():
                data = exporter(module, inputs, str(scratch))
            target.with_suffix(".part").write_bytes(gzip.compress(data, 6))
            target.with_suffix(".part").rename(target)
        except Exception as error:
            note(out, name, f"{ending}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}")
        finally:
            scratch.unlink(missing_ok=True)


def note(out, name, text):
    with open(out / f"{name}.fail", "a") as file:
        file.write(text + "\n")


# ---- tracing -----------------------------------------------------------------------------------------------------------


def build_shim(out):
    shim = out / "shim.so"
    if not shim.exists():
        import nvidia
        header = next(pathlib.Path(nvidia.__path__[0]).rglob("cuda_runtime_api.h"))
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", f"-I{header.parent}", "-o", str(shim),
                        str(RECORDER / "shim.c")], check=True)
    return shim


def trace(names, out):
    jobs, made, failed = out / "jobs.txt", out / "part.gz", out / "part.fail"
    jobs.write_text("".join(f"{HERE / 'fresh_networks.py'} {name} 8 0 {modes(name)}\n" for name in names))
    made.unlink(missing_ok=True)
    failed.unlink(missing_ok=True)
    subprocess.run([sys.executable, str(RECORDER / "trace.py"), "--list", str(jobs), "--out", str(made), "--fail", str(failed)],
                   env={**os.environ, "LD_PRELOAD": str(build_shim(out)), "PYTHONPATH": str(HERE)}, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    lines = {}
    if made.exists():
        for text in gzip.open(made, "rt"):
            import json
            lines.setdefault(json.loads(text)["n"], []).append(text)
    for text in failed.read_text().splitlines() if failed.exists() else []:
        note(out, text.split()[1], "trace " + " ".join(text.split()[4:]))
    for name in names:
        (out / f"{name}.jsonl.gz").write_bytes(gzip.compress("".join(lines.get(name, [])).encode()))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", default=str(TOP.parent / "fresh-corpus"))
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seconds", type=float, default=1e9)
    given = arguments.parse_args()
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    warnings.filterwarnings("ignore")
    import logging
    logging.disable(logging.WARNING)
    import torch
    torch.set_num_threads(1)
    sys.path.insert(0, str(HERE))
    import fresh_networks
    start, waiting = time.time(), []
    names = [name for name in fresh_networks.rows() if given.only in name]
    for name in names:
        if time.time() - start > given.seconds:
            break
        if not (out / f"{name}.onnx.gz").exists() and not (out / f"{name}.fail").exists():
            begun = time.time()
            try:
                export(name, out, fresh_networks.make(name))
            except Exception as error:
                note(out, name, f"build: {type(error).__name__}: {error}".splitlines()[0][:300])
                if given.only:
                    traceback.print_exc()
            print(f"{name} exported in {time.time() - begun:.1f} s", flush=True)
        if any((out / f"{name}{ending}.gz").exists() for ending in FORMATS) and not (out / f"{name}.jsonl.gz").exists():
            waiting.append(name)
        if len(waiting) >= TRACED_AT_ONCE or (waiting and name == names[-1]):
            begun = time.time()
            trace(waiting, out)
            print(f"{len(waiting)} traced in {time.time() - begun:.1f} s", flush=True)
            waiting = []


if __name__ == "__main__":
    main()
