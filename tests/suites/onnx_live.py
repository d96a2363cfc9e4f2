#!/usr/bin/env python3
"""What `sooth convert` writes, given to the onnx package that is installed: its checker with shape inference must accept the file, and the weights
that are inputs there must be as many as the network has parameters. One skipped test where there is no such package.

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
NETWORKS = ["zoo:resnet18", "zoo:mobilenet_v2", "zoo:vit_b_16", "zoo:bert_base", "zoo:gpt2/2", "zoo:opt/2"]

CHECKER = r"""
import json, math, sys
import onnx
found = {}
for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
        graph = onnx.load(path).graph
        weights = [value.type.tensor_type.shape.dim for value in graph.input if value.doc_string.startswith("a weight")]
        kept = sum(math.prod(tensor.dims) for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT and not tensor.doc_string)
        found[path] = ["", sum(math.prod(dim.dim_value for dim in dims) for dims in weights), kept]
    except Exception as error:
        found[path] = [str(error), 0, 0]
print(json.dumps([onnx.__version__, found]))
"""


def wrong(network, error, in_inputs, kept):
    seen = json.loads(subprocess.run([PROGRAM, "inspect", network, "--format", "json"], capture_output=True).stdout)
    if error:
        return error
    params = seen["totals"]["params"]
    # Batch norms have means and variances beside their parameters.
    return "" if params <= in_inputs + kept <= 1.02 * params else f"{in_inputs} in inputs and {kept} in the file, but {params} parameters"


def main():
    if subprocess.run([PYTHON, "-c", "import onnx"], capture_output=True).returncode:
        print("1..1\nok 1 - the onnx package's checker # SKIP no onnx in this Python (SOOTH_ONNX_PYTHON names another)")
        return
    with tempfile.TemporaryDirectory() as directory:
        files = {network: os.path.join(directory, f"{i}.onnx") for i, network in enumerate(NETWORKS)}
        for network, path in files.items():
            subprocess.run([PROGRAM, "convert", network, "-o", path], check=True)
        version, found = json.loads(subprocess.run([PYTHON, "-c", CHECKER, *files.values()], capture_output=True, check=True).stdout)
    print(f"1..{len(NETWORKS)}\n#: onnx {version}")
    for number, (network, path) in enumerate(files.items(), 1):
        why = wrong(network, *found[path])
        print(f"{'not ok' if why else 'ok'} {number} - the checker accepts {network} as convert writes it")
        for line in why.splitlines():
            print(f"#   {line}")


if __name__ == "__main__":
    main()
