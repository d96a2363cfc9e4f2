#!/usr/bin/env python3
"""Attacks that must be refused, not only survived: exit code 3 or 4, and one line with the problem and the remedy,
within two seconds and 1.5 GiB of memory. suites/hostile.py has files that may also be read."""
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import warnings
import zipfile

import hostile
from flatfile import RELU, tflite
from onnxtext import data, model, number
from torchfiles import pickled

NET = "class Net(Module):\n  __parameters__ = []\n  def forward(self: __torch__.m.Net,\n    x: Tensor) -> Tensor:\n    return torch.relu(x)\n"
OBJECT = pickled({"class": "__torch__.m.Net", "training": False})
NOTHING = b"\x80\x02)."
ADVICE = r"; [^;]+"  # the remedy follows a semicolon


def archive(*entries, packing=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", packing) as file:
        warnings.simplefilter("ignore")  # two entries of one name
        for name, content in entries:
            file.writestr(name, content)
    return out.getvalue()


def torchscript(*more, code=NET, pickle=OBJECT, constants=NOTHING):
    return archive(("m/code/__torch__/m.py", code), ("m/data.pkl", pickle), ("m/constants.pkl", constants), *more)


def pt2(nodes, sizes=(2, 3), outputs=("y",)):
    def tensor(name):
        return {"as_tensor": {"name": name}}
    values = {name: {"dtype": 7, "sizes": [{"as_int": n} for n in sizes]} for name in {"x", *(n[1] for n in nodes), *outputs}}
    graph = {"inputs": [tensor("x")], "outputs": [tensor(y) for y in outputs], "tensor_values": values, "sym_int_values": {}, "nodes": [
        {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": tensor(read)}], "outputs": [tensor(made)], "metadata": {}}
        for read, made in nodes]}
    signature = {"input_specs": [{"user_input": {"arg": tensor("x")}}], "output_specs": [{"user_output": {"arg": tensor(y)}} for y in outputs]}
    return json.dumps({"graph_module": {"graph": graph, "signature": signature}, "schema_version": {"major": 8, "minor": 14}, "torch_version": "2.9.1"})


def bombs():
    spaces = b" " * (1 << 29)
    yield "ZIP bomb: the program of a .pt2", archive(("m/models/model.json", spaces)), "536870912 bytes, more than any real model has there"
    yield "ZIP bomb: the code of TorchScript", torchscript(code=spaces), "536870912 bytes, more than any real model has there"
    yield "ZIP bomb: the pickle of TorchScript", torchscript(pickle=spaces), "536870912 bytes, more than any real model has there"
    yield "ZIP bomb: the configuration of Keras", archive(("config.json", spaces), ("metadata.json", b"{}")), "536870912 bytes, more than any"
    lie = bytearray(archive(("config.json", b"{}" * 100), ("metadata.json", b"{}")))
    at = lie.index(b"PK\1\2")
    lie[at + 24:at + 28] = (200 << 20).to_bytes(4, "little")
    yield "ZIP: an entry says that it is larger than deflate can be", bytes(lie), "is too small for the size it declares"
    yield "ZIP inside of ZIP", archive(("a.zip", archive(("b.zip", archive(("m/data.pkl", OBJECT)))))), "without a model that Sooth knows"


def names():
    yield "ZIP: two entries of one name (TorchScript)", torchscript(("m/data.pkl", NOTHING)), "two entries of the ZIP archive are called 'm/data.pkl', at byte"
    yield "ZIP: two entries of one name (Keras)", archive(("config.json", b"{}"), ("config.json", b"{}"), ("metadata.json", b"{}")), "are called 'config.json'"
    yield "ZIP: two entries of one name (.pt2)", archive(("m/models/model.json", pt2([("x", "y")])), ("m/models/model.json", b"{}")), "are called 'm/models/model.json'"
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        whole = archive(("m/code/__torch__/m.py", NET), ("m/data.pkl", OBJECT), ("m/constants.pkl", NOTHING), packing=packing)
        sum_at = whole.index(b"PK\1\2") + 16  # first entry of the directory
        yield f"ZIP: an entry with another checksum, method {packing}", whole[:sum_at] + bytes([whole[sum_at] ^ 1]) + whole[sum_at + 1:], "does not match its directory"
    for name in ("/etc/passwd", "m/../../etc/passwd", "..", "m\\..\\..\\x", "C:\\x"):
        yield f"ZIP: an entry called {name}", torchscript((name, b"x")), "which leads out of the archive, at byte"
    for location in ("../../etc/passwd", "/etc/passwd", "a/../../b", "..\\b", "C:\\b"):
        weight = data(5, number(1, 2) + number(2, 1) + data(8, "w") + number(14, 1) + data(13, data(1, "location") + data(2, location)))
        file = number(1, 8) + data(7, weight + data(1, data(1, "w") + data(2, "y") + data(4, "Relu"))) + data(8, number(2, 17))
        yield f"ONNX: external data in {location}", file, f"has its data in '{location}', which is outside of the model's directory, at byte"
        manifest = [{"paths": ["a.bin", location], "weights": []}]
        yield f"TensorFlow.js: weights in {location}", json.dumps({"format": "graph-model", "modelTopology": {"node": [
            {"name": "x", "op": "Placeholder"}]}, "weightsManifest": manifest}).encode(), f"has weights in '{location}', which is outside"
        yield f"safetensors: an index to {location}", json.dumps({"metadata": {}, "weight_map": {"w": location}}).encode(), f"is in '{location}', which is outside"


def pickles():
    def damaged(name, pickle, message):
        return f"pickle: {name}", torchscript(pickle=pickle), message
    yield damaged("tuples 100,000 deep", b"\x80\x02" + b"(" * 100000 + b"t" * 100000 + b".", "data.pkl")
    yield damaged("lists 100,000 deep", b"\x80\x02" + b"](" * 100000 + b"e" * 100000 + b".", "data.pkl")
    yield damaged("a list that holds itself", b"\x80\x02]q\x00h\x00a.", "data.pkl")
    yield damaged("an object whose list holds itself", b"\x80\x02c__torch__.m\nNet\n)\x81}(X\x01\x00\x00\x00a]q\x00h\x00aub.", "contain each other in a cycle")
    yield damaged("a shell", b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "names 'os.system', which no TorchScript file does, at byte 13 of it")
    yield damaged("eval", b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "names 'builtins.eval'")
    yield damaged("a global of the stack (opcode 0x93)", b"\x80\x04X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93.", "has opcode 0x93, which no TorchScript file has, at byte")
    yield damaged("an instance (opcode i)", b"\x80\x02(ios\nsystem\n.", "has opcode 0x69")
    yield damaged("an extension (opcode 0x82)", b"\x80\x02\x82\x01.", "has opcode 0x82")
    yield damaged("a text of 4 GiB", b"\x80\x02X\xff\xff\xff\xff.", "data.pkl")
    yield damaged("an integer of 2 GiB", b"\x80\x02\x8b\xff\xff\xff\x7f.", "data.pkl")
    yield damaged("a memo that was never made", b"\x80\x02j\xff\xff\xff\xff.", "data.pkl")
    yield damaged("an empty stack", b"\x80\x02R.", "data.pkl")
    yield damaged("without an end", b"\x80\x02]", "data.pkl")
    bomb = b"\x80\x02]q\x00" + b"".join(b"]q" + bytes([i + 1]) + b"(" + (b"h" + bytes([i])) * 10 + b"e" for i in range(30)) + b"."
    yield damaged("lists of lists of lists that are shared, 10^30 if walked", bomb, "data.pkl")


def cycles():
    yield "cycle: ONNX", model("a = Relu(b)\nb = Relu(a)\noutput b"), "the graph has a cycle through node"
    yield "cycle: ONNX functions", model("opset 17\nopset f 1\ninput x float32[2]\ny = f.A(x)\noutput y\n"
                                         "function f.A(a) -> b\n    opset f 1\n    b = f.A(a)"), "functions call each other more than 64 levels deep, at 'A'; is it recursive"
    yield "cycle: TensorFlow", b'node { name: "a" op: "Relu" input: "b" }\nnode { name: "b" op: "Relu" input: "a" }\nnode { name: "c" op: "Relu" input: "b" }\n', "the graph has a cycle through node"
    nodes = [{"name": "a", "op": "Relu", "input": ["b"]}, {"name": "b", "op": "Relu", "input": ["a"]}, {"name": "c", "op": "Relu", "input": ["b"]}]
    yield "cycle: TensorFlow.js", json.dumps({"format": "graph-model", "modelTopology": {"node": nodes}, "weightsManifest": []}).encode(), "has a cycle"
    layers = [{"class_name": "ReLU", "name": a, "config": {"name": a}, "inbound_nodes": [[[b, 0, 0, {}]]]} for a, b in ("pq", "qp")]
    config = {"class_name": "Functional", "config": {"name": "m", "layers": layers, "input_layers": [], "output_layers": [["q", 0, 0]]}}
    yield "cycle: Keras", json.dumps(config).encode(), "depend on one another in a cycle"
    yield "cycle: TensorFlow.js layers", json.dumps({"format": "layers-model", "modelTopology": {"model_config": config}, "weightsManifest": []}).encode(), "in a cycle"
    yield "cycle: TFLite", tflite([(2, 4)] * 3, [(RELU, [2], [1]), (RELU, [1], [2])], [0], [2]), "the graph has a cycle through node"
    yield "cycle: torch.export", archive(("m/models/model.json", pt2([("b", "a"), ("a", "b")], outputs=("b",)))), "'b' is read before it is made"
    yield "cycle: TorchScript functions", torchscript(code=NET.replace("torch.relu(x)", "(self).forward(x, )")), "calls, blocks and expressions are nested too deeply"
    yield "cycle: Caffe", b'layer { name: "a" type: "ReLU" bottom: "y" top: "x" }\nlayer { name: "b" type: "ReLU" bottom: "x" top: "y" }\n', "must not form a cycle"
    yield "cycle: MXNet", json.dumps({"nodes": [{"op": "exp", "name": "a", "inputs": [[1, 0, 0]]}, {"op": "exp", "name": "b", "inputs": [[0, 0, 0]]}],
                                      "arg_nodes": [], "heads": [[1, 0, 0]]}).encode(), "does not come before its reader"
    yield "cycle: ncnn", b"7767517\n2 2\nReLU a 1 1 y x\nReLU b 1 1 x y\n", "must not form a cycle"
    yield "cycle: pnnx", b"7767517\n3 2\nnn.ReLU a 1 1 y x\nnn.ReLU b 1 1 x y\npnnx.Output o 1 0 y\n", "must not form a cycle"
    yield "cycle: Darknet", b"[net]\nwidth=8\nheight=8\nchannels=3\n[route]\nlayers=1\n[route]\nlayers=0\n", "does not come before its reader"
    ports = '<input><port id="0"/></input><output><port id="1" precision="FP32"/></output>'
    yield "cycle: OpenVINO", (f'<net name="n" version="11"><layers><layer id="0" name="a" type="ReLU">{ports}</layer><layer id="1" name="b" type="ReLU">{ports}</layer>'
                              '</layers><edges><edge from-layer="0" from-port="1" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="0" to-port="0"/>'
                              '</edges></net>').encode(), "the graph has a cycle through node"
    yield "no operator: OpenVINO", (f'<net name="n" version="11"><layers><layer id="0" name="x" type="Parameter"><data shape="2" element_type="f32"/><output>'
                                    f'<port id="1" precision="FP32"><dim>2</dim></port></output></layer><layer id="1" name="e" type="">{ports}</layer></layers>'
                                    '<edges><edge from-layer="0" from-port="1" to-layer="1" to-port="0"/></edges></net>').encode(), "node 'e' has no operator"
    yield "cycle: CoreML", coreml_network([("b", "a"), ("a", "b")]), "the graph has a cycle through node"
    yield "cycle: StableHLO", hostile.stablehlo("%0 = stablehlo.abs %1 : tensor<2xf32>\n%1 = stablehlo.abs %0 : tensor<2xf32>\nreturn %1 : tensor<2xf32>"), "is used before it is made"
    yield "cycle: StableHLO functions", hostile.stablehlo("%0 = call @main(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"), "or recursively"
    yield "cycle: HLO", b"HloModule m\n\nENTRY e {\n  x = f32[2] abs(y)\n  ROOT y = f32[2] abs(x)\n}\n", "the value y is used before it is made"
    yield "cycle: HLO computations", b"HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] call(x), to_apply=e\n}\n", "or recursively"


def chains():
    """Chains in which every link is a level of the syntax tree."""
    for what, expression in (("attributes", "(x)" + ".a" * 40000), ("subscripts", "x" + "[0]" * 40000), ("calls", "x" + "()" * 40000),
                             ("methods", "x" + ".f()" * 40000), ("minus signs", "-" * 40000 + "1"), ("lists", "[" * 40000 + "]" * 40000)):
        yield f"TorchScript: a chain of 40,000 {what}", torchscript(code=NET.replace("torch.relu(x)", expression)), "nested too deep"
    blocks = "".join(" " * (4 + i) + "if True:\n" for i in range(5000)) + " " * 5004 + "pass\n"
    yield "TorchScript: blocks in blocks", torchscript(code=NET.replace("    return torch.relu(x)\n", blocks)), "nested too deep"


def coreml_network(layers, dims=(3, 8, 8)):
    def feature(name):
        return data(1, name) + data(3, data(5, b"".join(number(1, n) for n in dims) + number(2, 65568)))
    net = b"".join(data(1, data(1, made) + data(2, read) + data(3, made) + data(130, data(10, b""))) for read, made in layers)
    return number(1, 1) + data(2, data(1, feature("x")) + data(10, feature(layers[-1][1]))) + data(500, net)


def sizes():
    """The same input with impossible dimensions, in every format."""
    for what, dims in (("a negative dimension", [-5, 4]), ("2^62 elements", [2**62]), ("2^80 elements", [2**40, 2**40])):
        list_of, by_x = ",".join(map(str, dims)), "x".join(map(str, dims))
        yield f"ONNX: {what}", model(f"input x float32[{list_of}]\ny = Relu(x)\noutput y")
        yield f"ONNX weight: {what}", model(f"init w float32[{list_of}]\ny = Relu(w)\noutput y")
        yield f"TFLite: {what}", tflite([[min(d, 2**31 - 1) for d in dims] * (4 if dims[0] > 0 else 1), (2, 4)], [(RELU, [0], [1])], [0], [1])
        shape = " ".join(f"dim {{ size: {d} }}" for d in dims)
        yield f"TensorFlow: {what}", (f'node {{ name: "x" op: "Placeholder" attr {{ key: "shape" value {{ shape {{ {shape} }} }} }} }}\n'
                                      'node { name: "y" op: "Relu" input: "x" }\n').encode()
        shape = {"shape": {"dim": [{"size": str(d)} for d in dims]}}
        nodes = [{"name": "x", "op": "Placeholder", "attr": {"shape": shape}}, {"name": "y", "op": "Relu", "input": ["x"]}]
        yield f"TensorFlow.js: {what}", json.dumps({"format": "graph-model", "modelTopology": {"node": nodes}, "weightsManifest": []}).encode()
        yield f"Keras: {what}", json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": [
            {"class_name": "ReLU", "config": {"name": "d", "batch_input_shape": [None] + dims}}]}}).encode()
        yield f"Darknet: {what}", f"[net]\nwidth={dims[0]}\nheight={dims[-1]}\nchannels=3\n[maxpool]\nsize=2\nstride=2\n".encode()
        yield f"Caffe: {what}", (f'input: "x" input_shape {{ {" ".join(f"dim: {d}" for d in dims)} }}\n'
                                 'layer { name: "r" type: "ReLU" bottom: "x" top: "y" }\n').encode()
        yield f"MXNet: {what}", json.dumps({"nodes": [{"op": "null", "name": "x", "attrs": {"__shape__": str(tuple(dims))}, "inputs": []},
                                                      {"op": "exp", "name": "e", "inputs": [[0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]}).encode()
        yield f"ncnn: {what}", f"7767517\n2 2\nInput x 0 1 x 0={dims[0]} 1={dims[-1]} 2=3\nReLU r 1 1 x y\n".encode()
        yield f"pnnx: {what}", f"7767517\n3 2\npnnx.Input i 0 1 x #x=({list_of})f32\nnn.ReLU r 1 1 x y\npnnx.Output o 1 0 y\n".encode()
        yield f"OpenVINO: {what}", (f'<net name="n" version="11"><layers><layer id="0" name="x" type="Parameter"><data shape="{list_of}" element_type="f32"/><output>'
                                    f'<port id="0" precision="FP32">{"".join(f"<dim>{d}</dim>" for d in dims)}</port></output></layer></layers><edges/></net>').encode()
        yield f"CoreML: {what}", coreml_network([("x", "y")], dims)
        yield f"StableHLO: {what}", hostile.stablehlo(f"return %arg0 : tensor<{by_x}xf32>", f"tensor<{by_x}xf32>", f"%arg0: tensor<{by_x}xf32>")
        yield f"HLO: {what}", f"HloModule m\n\nENTRY e {{\n  x = f32[{list_of}] parameter(0)\n  ROOT y = f32[{list_of}] abs(x)\n}}\n".encode()
        yield f"torch.export: {what}", archive(("m/models/model.json", pt2([("x", "y")], dims)))
        yield f"TorchScript: {what}", torchscript(("m/traced_inputs.pkl", pickled({"dict": {"forward": {"tuple": [{"tensor": dims}]}}})))
        yield f"Paddle: {what}", json.dumps({"base_code": {"magic": "pir", "trainable": True, "version": 1}, "program": {"regions": [{"#": "r", "blocks": [
            {"#": "b", "args": [], "ops": [{"#": "1.data", "A": [{"AT": {"#": "0.a_str", "D": "x"}, "N": "name"}], "I": [], "O": [
                {"%": 2, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, dims, "NCHW", [], 0]}}]}, {"#": "1.fetch", "A": [], "I": [{"%": 2}], "O": []}]}]}]}}).encode()
        yield f"Paddle.js: {what}", json.dumps({"ops": [{"type": "relu", "attrs": {}, "inputs": {"X": ["a"]}, "outputs": {"Out": ["y"]}}],
                                               "vars": [{"name": n, "shape": dims} for n in "ay"]}).encode()
        header = json.dumps({"w": {"dtype": "F32", "shape": dims, "data_offsets": [0, 4]}}).encode()
        yield f"safetensors: {what}", len(header).to_bytes(8, "little") + header


def attacks():
    for group in (bombs, names, pickles, cycles, chains):
        yield from group()
    for name, content in sizes():
        yield name, content, r"dimension|size|shape|elements|bytes|larger|counted|not HLO"


def judge(path, message):
    """None, or the fault."""
    done = hostile.run(["inspect", path], hostile.LIMIT_S)
    if isinstance(done, str):
        return done
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (3, 4):
        return f"exit code {done.returncode}: {(said or done.stdout.decode('utf-8', 'replace'))[-1000:]}"
    if not re.fullmatch(rf"sooth: [^\n]+: [^\n]+{ADVICE}\n", said):
        return f"not one line that says what to do: {said[-500:]!r}"
    return None if re.search(message, said) or message in said else f"does not say '{message}': {said[-500:]}"


def results():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "attack")
        for name, content, message in attacks():
            pathlib.Path(path).write_bytes(content)
            yield name, judge(path, message)


if __name__ == "__main__":
    sys.exit(hostile.tell(results()))
