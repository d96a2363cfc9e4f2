#!/usr/bin/env python3
"""Replaces a batch that the file fixes, in formats whose nodes are rebuilt for every binding. The second run must not
read memory of the first: freed memory is overwritten here, and `make asan` checks each access. Every layer must have
three times the MACs."""
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "tools"))
from torchfiles import pickled  # noqa: E402

BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TESTS.parent / "build")
LAYERS = 600
STRICT = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_PERTURB_": "165"}


def archive(*entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries:
            file.writestr(name, content)
    return out.getvalue()


def caffe():
    text = 'input: "x0" input_shape { dim: 1 dim: 2 dim: 4 dim: 4 }\n'
    for i in range(LAYERS):
        text += (f'layer {{ name: "c{i}" type: "Convolution" bottom: "x{i}" top: "x{i + 1}" '
                 'convolution_param { num_output: 2 kernel_size: 1 } }\n')
    return text.encode()


def darknet():
    return ("[net]\nbatch=1\nwidth=4\nheight=4\nchannels=2\n" + "[convolutional]\nfilters=2\nsize=1\nstride=1\nactivation=relu\n" * LAYERS).encode()


def mxnet():
    nodes, heads, arguments = [{"op": "null", "name": "data", "attrs": {"__shape__": "(1, 2, 4, 4)"}, "inputs": []}], 0, [0]
    for i in range(LAYERS):
        arguments.append(len(nodes))
        nodes.append({"op": "null", "name": f"w{i}", "inputs": []})
        nodes.append({"op": "Convolution", "name": f"c{i}", "attrs": {"kernel": "(1, 1)", "num_filter": "2", "no_bias": "True"},
                      "inputs": [[heads, 0, 0], [len(nodes) - 1, 0, 0]]})
        heads = len(nodes) - 1
    return json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": [[heads, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}).encode()


def ncnn():
    lines = [f"7767517\n{LAYERS + 1} {LAYERS + 1}", "Input in 0 1 x0 0=4 1=4 2=2"]
    lines += [f"Convolution c{i} 1 1 x{i} x{i + 1} 0=2 1=1 6=4" for i in range(LAYERS)]
    return ("\n".join(lines) + "\n").encode()


def torchscript():
    steps = "".join(f"    x{i + 1} = torch.matmul(x{i}, torch.transpose(x{i}, 1, 2))\n" for i in range(LAYERS))
    code = ("class Net(Module):\n  __parameters__ = []\n  def forward(self: __torch__.m.Net,\n    x0: Tensor) -> Tensor:\n" + steps +
            f"    return x{LAYERS}\n")
    inputs = pickled({"dict": {"forward": {"tuple": [{"tensor": [1, 4, 4]}]}}})
    return archive(("m/code/__torch__/m.py", code), ("m/data.pkl", pickled({"class": "__torch__.m.Net", "training": False})),
                   ("m/constants.pkl", b"\x80\x02)."), ("m/traced_inputs.pkl", inputs))


def pt2():
    def tensor(name):
        return {"as_tensor": {"name": name}}
    names = [f"x{i}" for i in range(LAYERS + 1)]
    values = {name: {"dtype": 7, "sizes": [{"as_int": n} for n in (1, 4, 4)]} for name in names}
    nodes = [{"target": "torch.ops.aten.bmm.default", "inputs": [{"name": "self", "arg": tensor(a)}, {"name": "mat2", "arg": tensor(a)}],
              "outputs": [tensor(b)], "metadata": {}} for a, b in zip(names, names[1:])]
    graph = {"inputs": [tensor("x0")], "outputs": [tensor(names[-1])], "tensor_values": values, "sym_int_values": {}, "nodes": nodes}
    signature = {"input_specs": [{"user_input": {"arg": tensor("x0")}}], "output_specs": [{"user_output": {"arg": tensor(names[-1])}}]}
    return archive(("m/models/model.json", json.dumps({"graph_module": {"graph": graph, "signature": signature},
                                                       "schema_version": {"major": 8, "minor": 14}, "torch_version": "2.9.1"})))


def macs(path, *options):
    done = subprocess.run([BUILD / "sooth", "inspect", path, "--format", "csv", "--skip", "all", *options], capture_output=True, text=True,
                          env={**os.environ, **STRICT})
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr[-1500:]}"
    rows = [line.split(",") for line in done.stdout.splitlines()]
    return [int(row[4]) for row in rows[1:] if row[4].isdigit() and int(row[4])]


def judge(path):
    once, thrice = macs(path), macs(path, "--batch", "3")
    for found in (once, thrice):
        if isinstance(found, str):
            return found
    if len(once) != LAYERS:
        return f"{len(once)} layers with MACs, not {LAYERS}"
    return None if thrice == [3 * n for n in once] else f"MACs {thrice[:3]} …, not three times {once[:3]} …"


def main():
    formats = {"Caffe": caffe, "Darknet": darknet, "MXNet": mxnet, "ncnn": ncnn, "TorchScript": torchscript, "torch.export": pt2}
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "net")
        for number, (name, make) in enumerate(formats.items(), 1):
            pathlib.Path(path).write_bytes(make())
            wrong = judge(path)
            failed += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
            if wrong:
                print("\n".join("#   " + line for line in wrong.splitlines()))
    print(f"1..{len(formats)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
