#!/usr/bin/env python3
"""Checks the output of `sooth convert` with the installed onnx package: its checker with shape inference must accept
the file, and the weights among its inputs must match the network's parameter count. One skipped test if the package
is missing.

SOOTH_ONNX_PYTHON names the Python that has it, if it is not the one that runs the tests.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build") / "sooth")
PYTHON = os.environ.get("SOOTH_ONNX_PYTHON", sys.executable)
NETWORKS = ["zoo:resnet18", "zoo:mobilenet_v2", "zoo:vit_b_16", "zoo:bert_base", "zoo:gpt2/2", "zoo:opt/2", "keras.json"]
# Channels last: pads, sums and concatenations between convolutions become channels-first in the file.
KERAS = {"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [None, 8, 8, 3]}, "inbound_nodes": []},
    *({"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": [[[read, 0, 0, {}] for read in reads]]}
      for kind, name, config, reads in (
          ("ZeroPadding2D", "pad", {"padding": [[1, 0], [2, 1]]}, ["x"]),
          ("Conv2D", "conv", {"filters": 128, "kernel_size": [2, 3], "activation": "relu"}, ["pad"]),
          ("BatchNormalization", "norm", {}, ["conv"]),
          ("PReLU", "slopes", {"shared_axes": [1, 2]}, ["norm"]),
          ("Concatenate", "both", {"axis": -1}, ["norm", "slopes"]),
          ("UpSampling2D", "up", {"size": [3, 2]}, ["both"]),
          ("GlobalAveragePooling2D", "mean", {}, ["up"]),
          ("Dense", "dense", {"units": 10, "activation": "softmax"}, ["mean"])))],
    "input_layers": [["x", 0, 0]], "output_layers": [["dense", 0, 0]]}}

CHECKER = r"""
import json, math, sys
import onnx
found = {}
for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
        graph = onnx.load(path).graph
        names = [node.name for node in graph.node if node.name]
        assert len(set(names)) == len(names), "two nodes have the same name"
        layers = [value.name for value in graph.value_info if not value.type.tensor_type.elem_type]
        assert not layers, f"no type of {layers[0]}"
        weights = [value.type.tensor_type.shape.dim for value in graph.input if value.doc_string.startswith("a weight")]
        kept = sum(math.prod(tensor.dims) for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT and not tensor.doc_string)
        found[path] = ["", sum(math.prod(dim.dim_value for dim in dims) for dims in weights), kept]
    except Exception as error:
        found[path] = [str(error), 0, 0]
print(json.dumps([onnx.__version__, found]))
"""


def wrong(network, error, in_inputs, kept):
    """Result of the checker for a network, given by path or name."""
    seen = json.loads(subprocess.run([PROGRAM, "inspect", network, "--format", "json"], capture_output=True).stdout)
    if error:
        return error
    params = seen["totals"]["params"]
    # Batch norms have means and variances in addition to their parameters.
    return "" if params <= in_inputs + kept <= 1.02 * params else f"{in_inputs} in inputs and {kept} in the file, but {params} parameters"


def main():
    if subprocess.run([PYTHON, "-c", "import onnx"], capture_output=True).returncode:
        print("1..1\nok 1 - the onnx package's checker # SKIP no onnx in this Python (SOOTH_ONNX_PYTHON names another)")
        return
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "keras.json").write_text(json.dumps(KERAS))
        files = {network: os.path.join(directory, f"{i}.onnx") for i, network in enumerate(NETWORKS)}
        for network, path in files.items():
            subprocess.run([PROGRAM, "convert", network, "-o", path], check=True, cwd=directory)
        version, found = json.loads(subprocess.run([PYTHON, "-c", CHECKER, *files.values()], capture_output=True, check=True).stdout)
        reasons = [wrong(network if ":" in network else os.path.join(directory, network), *found[path]) for network, path in files.items()]
    print(f"1..{len(NETWORKS)}\n#: onnx {version}")
    for number, (network, why) in enumerate(zip(files, reasons), 1):
        print(f"{'not ok' if why else 'ok'} {number} - the checker accepts {network} as convert writes it")
        for line in why.splitlines():
            print(f"#   {line}")


if __name__ == "__main__":
    main()
