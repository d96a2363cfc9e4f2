#!/usr/bin/env python3
"""Hostile files: each is read, or refused with one line, within two seconds and 1.5 GiB of memory.

Large or regular ones are written here; findings of the fuzzer are in tests/hostile.
"""
import gzip
import io
import json
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "tools"))
from onnxtext import data, model, number  # noqa: E402

BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TESTS.parent / "build")
SANITIZED = "fsanitize" in (BUILD / "flags").read_text()
LIMIT_S = 2 if not SANITIZED else 60  # CPU time, because wall-clock time depends on the machine's load
PATIENCE = 20  # wall-clock limit as a multiple of that
BOMB_LIMIT_S = 60  # decompressing the permitted 2 GiB takes time
LIMIT_BYTES = 3 << 29


def nested_branches(depth):
    """If inside If inside If …"""
    graph = data(1, data(1, "x") + data(2, "y") + data(4, "Relu")) + data(12, data(1, "y"))
    for _ in range(depth):
        branch = data(5, data(1, "then_branch") + data(6, graph) + number(20, 5))
        graph = data(1, data(1, "c") + data(2, "y") + data(4, "If") + branch) + data(12, data(1, "y"))
    return number(1, 8) + data(7, graph) + data(8, number(2, 17))


def nested_types(depth):
    inner = data(1, number(1, 1))
    for _ in range(depth):
        inner = data(4, data(1, inner))
    graph = data(11, data(1, "x") + data(2, inner)) + data(1, data(1, "x") + data(2, "y") + data(4, "Identity"))
    return number(1, 8) + data(7, graph) + data(8, number(2, 17))



def calls_of_calls(depth, width, operator="Relu"):
    """Local functions that each call the next several times: width ** depth nodes if inlined without a bound."""
    lines = ["opset 17", "opset f 1", "input x float32[4]", "y = f.F0(x)", "output y"]
    for i in range(depth):
        lines.append(f"function f.F{i}(a) -> z{width}")
        lines.append("    opset 17")
        lines.append("    z0 = Identity(a)")
        lines += [f"    z{k + 1} = {f'f.F{i + 1}' if i + 1 < depth else operator}(z{k})" for k in range(width)]
    return model("\n".join(lines))


def nested_loops(depth, trips):
    lines = ["input x float32[2]", f"init n int64[]({trips})", "init c bool[](1)"]
    indent = ""
    carried = "x"
    for i in range(depth):
        lines += [f"{indent}y{i} = Loop(n, c, {carried})", f"{indent}    body:", f"{indent}        input i{i} int64[]",
                  f"{indent}        input c{i} bool[]", f"{indent}        input v{i} float32[2]",
                  f"{indent}        d{i} = Identity(c{i})"]
        indent += "        "
        carried = f"v{i}"
    lines.append(f"{indent}y{depth} = Relu({carried})")
    for i in reversed(range(depth)):
        lines += [f"{indent}output d{i} bool[]", f"{indent}output y{i + 1} float32[2]"]
        indent = indent[:-8]
    return model("\n".join(lines + ["output y0"]))


def gguf(values=b"", value_count=0, tensors=b"", tensor_count=0):
    return b"GGUF" + struct.pack("<IQQ", 3, tensor_count, value_count) + values + tensors


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def language_models():
    """Configurations and checkpoint headers from which graphs are built."""
    deep = {"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"], "num_hidden_layers": 256,
            "num_attention_heads": 8, "num_key_value_heads": 8, "n_routed_experts": 16384}
    yield "a configuration of as many layers as there may be", json.dumps(deep).encode()
    words = {"model_type": "llama", "num_hidden_layers": 256, "layer_types": ["sliding_attention"] * 1000000, "hidden_size": 64,
             "num_attention_heads": 2}
    yield "a configuration with a million kinds of layers", json.dumps(words).encode()
    inner = {"model_type": "x"}
    for _ in range(200):
        inner = {"model_type": "x", "text_config": inner}
    yield "a configuration of configurations", json.dumps(inner).encode()
    for key in ("hidden_size", "num_attention_heads", "intermediate_size", "vocab_size", "head_dim", "num_key_value_heads", "rope_parameters"):
        for value in (0, -1, 2 ** 62, 16777216, 1e300, [], {"a": 1}, "x"):
            config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], key: value}
            yield f"a configuration whose {key} is {value}", json.dumps(config).encode()
    arrays = b""
    for _ in range(64):
        arrays += struct.pack("<IQ", 9, 1)
    yield "GGUF: arrays of arrays of arrays", gguf(gguf_text("a") + struct.pack("<I", 9) + arrays, 1)
    yield "GGUF: an array of 2^61 numbers", gguf(gguf_text("a") + struct.pack("<IIQ", 9, 10, 2 ** 61), 1)
    yield "GGUF: a tensor of 2^80 elements", gguf(tensors=gguf_text("t") + struct.pack("<IQQIQ", 2, 2 ** 40, 2 ** 40, 0, 0), tensor_count=1)
    yield "GGUF: a text of 2^64 - 1 bytes", gguf(struct.pack("<Q", 2 ** 64 - 1), 1)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2 ** 40, 2 ** 40], "data_offsets": [0, 4]}}).encode()
    yield "safetensors: a tensor of 2^80 elements", struct.pack("<Q", len(header)) + header
    header = json.dumps({"../../etc/passwd": {"dtype": "F32", "shape": [1], "data_offsets": [-1, 2 ** 63]}}).encode()
    yield "safetensors: offsets that are nowhere", struct.pack("<Q", len(header)) + header


def stablehlo(body, result="tensor<2xf32>", arguments="%arg0: tensor<2xf32>"):
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}\n".encode()


def calls_in_stablehlo(depth, width):
    """Functions that each call the next several times."""
    text = ""
    for i in range(depth):
        calls = "\n".join(f"  %{k + 1} = call @f{i + 1}(%{k}) : (tensor<2xf32>) -> tensor<2xf32>" for k in range(width))
        text += f"func.func @{'main' if i == 0 else f'f{i}'}(%0: tensor<2xf32>) -> tensor<2xf32> {{\n{calls}\n  return %{width} : tensor<2xf32>\n}}\n"
    return (text + f"func.func @f{depth}(%0: tensor<2xf32>) -> tensor<2xf32> {{\n  return %0 : tensor<2xf32>\n}}\n").encode()


def xla():
    yield "StableHLO: regions nested 5,000 deep", stablehlo('"stablehlo.case"(%arg0) ({' * 5000)
    yield "StableHLO: types nested 20,000 deep", stablehlo("%0 = stablehlo.abs %arg0 : " + "tuple<" * 20000)
    yield "StableHLO: attributes nested 20,000 deep", stablehlo('%0 = "stablehlo.abs"(%arg0) {a = ' + "{a = " * 20000)
    yield "StableHLO: brackets without end", stablehlo("%0 = stablehlo.abs %arg0 {a = " + "[" * 100000)
    yield "StableHLO: 2^40 operators after inlining", calls_in_stablehlo(40, 2)
    yield "StableHLO: dimensions that overflow", stablehlo(
        f"%0 = stablehlo.add %arg0, %arg0 : tensor<{2**62}x{2**62}xf32>\nreturn %0 : tensor<{2**62}x{2**62}xf32>", arguments=f"%arg0: tensor<{2**62}x{2**62}xf32>")
    yield "StableHLO: a constant of 2^60 elements", stablehlo(f"%0 = stablehlo.constant dense<1> : tensor<{2**60}xi64>\nreturn %0 : tensor<{2**60}xi64>")
    yield "StableHLO: rank 1,000", stablehlo("return %arg0 : tensor<" + "1x" * 1000 + "f32>")
    yield "StableHLO: 100,000 results", stablehlo('%0:99999999999 = "stablehlo.x"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>')
    yield "StableHLO: axes and windows of nonsense", stablehlo("""
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.broadcast_in_dim %arg0, dims = [7] : (tensor<2xf32>) -> tensor<2x2xf32>
        %1 = stablehlo.transpose %0, dims = [-1, 9] : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %2 = stablehlo.dot_general %0, %0, batching_dims = [0, 0] x [5], contracting_dims = [1, 1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
        %3 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [9223372036854775807] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
        %4 = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 0, -1>, padding = dense<9223372036854775807> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %9 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %9 : tensor<f32>
        }) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
        %5 = stablehlo.slice %arg0 [9223372036854775807:-1:0] : (tensor<2xf32>) -> tensor<2xf32>
        %6 = stablehlo.pad %arg0, %c, low = [9223372036854775807], high = [-9223372036854775807], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
        return %1, %2, %3, %4, %5, %6 : tensor<2xf32>""")
    yield "StableHLO: a loop of 2^31 rounds", stablehlo("""
        %c = stablehlo.constant dense<0> : tensor<i32>
        %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<2xf32>
         cond {
          %l = stablehlo.constant dense<2147483647> : tensor<i32>
          %1 = stablehlo.compare LT, %i, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %s = stablehlo.constant dense<1> : tensor<i32>
          %1 = stablehlo.add %i, %s : tensor<i32>
          %2 = stablehlo.add %x, %x : tensor<2xf32>
          stablehlo.return %1, %2 : tensor<i32>, tensor<2xf32>
        }
        return %0#1 : tensor<2xf32>""")
    yield "HLO: types nested 20,000 deep", b"HloModule m\n\nENTRY e {\n  x = " + b"(" * 20000
    yield "HLO: a computation that calls itself", b"HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] call(x), to_apply=e\n}\n"
    yield "HLO: a parameter that is not there", b"HloModule m\n\nENTRY e {\n  ROOT x = f32[2] parameter(4000000000)\n}\n"
    yield "MLIR bytecode: the head alone", b"ML\xefR"
    yield "MLIR bytecode: sections beyond the file", b"ML\xefR\x0dx\x00" + b"\x00\x00" + b"\xff" * 8
    yield "MLIR bytecode: only ones", b"ML\xefR\x0dx\x00" + b"\xff" * 5000
    yield "MLIR bytecode: a million strings", b"ML\xefR\x0dx\x00\x00" + b"\x09\xc0\x86\x3d\x01"


def archives():
    def archive(*entries):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in entries:
                file.writestr(name, content)
        return out.getvalue()
    yield "a ZIP bomb of 200 MB of code", archive(("m/data.pkl", b"\x80\x02]q\x00."), ("m/code/__torch__.py", bytes(200 << 20)), ("m/constants.pkl", b"\x80\x02)."))
    yield "a ZIP bomb of 1 GB of JSON", archive(("serialized_exported_program.json", b" " * (1 << 30)), ("version", b"5.1"))
    yield "a pickle nested 100,000 deep", archive(("m/data.pkl", b"\x80\x02" + b"(" * 100000 + b"t" * 100000 + b"."), ("m/code/__torch__.py", b""), ("m/constants.pkl", b"\x80\x02)."))
    yield "a pickle that holds itself", archive(("m/data.pkl", b"\x80\x02]q\x00h\x00a."), ("m/code/__torch__.py", b""), ("m/constants.pkl", b"\x80\x02)."))
    yield "a pickle that calls a shell", archive(("m/data.pkl", b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."), ("m/code/__torch__.py", b""), ("m/constants.pkl", b"\x80\x02)."))
    yield "entries with paths that climb", archive(("../../etc/passwd", b"x"), ("/etc/data.pkl", b"\x80\x02)."), ("m/code/__torch__.py", b""))
    outside = data(5, number(1, 2) + number(2, 1) + data(8, "w") + number(14, 1) +
                   data(13, data(1, "location") + data(2, "../../../../../../etc/passwd")))
    yield "external data outside of the directory", number(1, 8) + data(7, outside + data(1, data(1, "w") + data(2, "y") + data(4, "Relu"))) + data(8, number(2, 17))


def generated():
    yield from xla()
    yield from archives()
    yield "lengths beyond the file", b"\x08\x08\x3a\xff\xff\xff\xff\x0f"
    yield "a length of 2^64 - 1", b"\x08\x08\x3a" + b"\xff" * 9 + b"\x01"
    yield "a varint that never ends", b"\x08" + b"\x80" * 5000
    yield "field number zero", b"\x00\x00" * 100
    yield "groups without end", b"\x0b" * 10000
    yield "groups inside groups", b"\x3b" * 5000 + b"\x3c" * 5000
    yield "only zeros", bytes(100000)
    yield "only 0xff", b"\xff" * 100000
    yield "branches nested 4,000 deep", nested_branches(4000)
    yield "branches nested 60 deep", nested_branches(60)
    yield "types nested 20,000 deep", nested_types(20000)
    yield "a cycle", model("a = Relu(b)\nb = Relu(a)\noutput b")
    yield "a node that reads itself", model("a = Add(a, a)\noutput a")
    yield "one output twice", model("input x float32[2]\na = Relu(x)\na = Abs(x)\noutput a")
    yield "a function that calls itself", model(
        "opset 17\nopset f 1\ninput x float32[2]\ny = f.A(x)\noutput y\nfunction f.A(a) -> b\n    opset f 1\n    b = f.A(a)")
    yield "two functions that call each other", model(
        "opset 17\nopset f 1\ninput x float32[2]\ny = f.A(x)\noutput y\n"
        "function f.A(a) -> b\n    opset f 1\n    b = f.B(a)\nfunction f.B(a) -> b\n    opset f 1\n    b = f.A(a)")
    yield "10^9 nodes after inlining", calls_of_calls(9, 10)
    yield "2^40 nodes after inlining", calls_of_calls(40, 2)
    yield "loops of 2^62 trips", nested_loops(1, 2**62)
    yield "20 nested loops of 10^6 trips", nested_loops(20, 10**6)
    yield "5 nested loops of 10 trips", nested_loops(5, 10)
    yield "a negative trip count", nested_loops(1, -5)
    yield "dimensions that overflow", model(
        f"input x float32[{2**62},{2**62},{2**62}]\ny = Flatten(x)\nz = Relu(y)\noutput z")
    yield "negative dimensions", model("input x float32[-1,-9223372036854775808]\ny = Relu(x)\noutput y")
    yield "a constant of 2^60 elements without data", model(f"init w int64[{2**60}]()\ny = Reshape(w, w)\noutput y")
    yield "a tensor with fewer bytes than elements", model("init s int64[8](1)\ninput x float32[8]\ny = Reshape(x, s)\noutput y")
    yield "rank 100,000", number(1, 8) + data(7, data(5, number(1, 1) * 100000 + number(2, 1) + data(8, "w")))
    yield "a range of 2^62 numbers", model(
        f"init a int64[](0)\ninit b int64[]({2**62})\ninit d int64[](1)\nr = Range(a, b, d)\ns = Expand(a, r)\noutput s")
    yield "ConstantOfShape of 2^60", model(f"init s int64[2]({2**30},{2**30})\nz = ConstantOfShape(s)\nq = Shape(z)\noutput z")
    yield "Tile and Expand without bound", model(
        f"init x int64[1](1)\ninit n int64[1]({2**40})\na = Tile(x, n)\nb = Tile(a, n)\nc = Concat(b, b) axis=0\noutput c")
    yield "folded data that doubles 60 times", model(
        "init x0 int64[1](1)\n" + "\n".join(f"x{i + 1} = Concat(x{i}, x{i}) axis=0" for i in range(60)) + "\noutput x60")
    yield "a number that squares 60 times", model(
        "init x0 int64[1](3)\n" + "\n".join(f"x{i + 1} = Mul(x{i}, x{i})" for i in range(60)) + "\noutput x60")
    yield "symbols that multiply 200 times", model(
        "input x float32[N,M]\ns0 = Shape(x)\n" + "\n".join(f"s{i + 1} = Mul(s{i}, s0)" for i in range(200)) +
        "\nc = ConstantOfShape(s200)\noutput c")
    yield "60 different symbols in one sum", model(
        "input x float32[" + ",".join(f"d{i}" for i in range(60)) + "]\n"
        "s = Shape(x)\nt = ReduceSum(s)\nc = ConstantOfShape(t)\noutput c")
    yield "division by zero in shapes", model(
        "init a int64[1](4)\ninit z int64[1](0)\nq = Div(a, z)\nm = Mod(a, z)\nc = Concat(q, m) axis=0\ny = ConstantOfShape(c)\noutput y")
    yield "the smallest integer divided by -1", model(
        f"init a int64[1]({-2**63})\ninit z int64[1](-1)\nq = Div(a, z)\nm = Mod(a, z)\nn = Neg(a)\nb = Abs(a)\noutput q\noutput m")
    yield "strides, kernels and groups of zero", model(
        "input x float32[1,4,8,8]\ninit w float32[4,4,3,3]\ny = Conv(x, w) strides=[0,0] group=0 dilations=[0,0]\n"
        "p = MaxPool(x) kernel_shape=[0,0] strides=[0,0]\noutput y\noutput p")
    yield "pads beyond all numbers", model(
        f"input x float32[1,4,8,8]\ninit w float32[4,4,3,3]\n"
        f"y = Conv(x, w) pads=[{2**62},{2**62},{2**62},{2**62}] dilations=[{2**62},{2**62}]\noutput y")
    yield "axes out of range", model(
        "input x float32[2,3]\na = Softmax(x) axis=99\nb = Concat(x, x) axis=-99\nc = Transpose(x) perm=[5,-7]\n"
        "d = Flatten(x) axis=1000000000000\ne = Gather(x, x) axis=77\nf, g = Split(x) axis=-9\noutput a\noutput b\noutput c")
    yield "perm of the wrong length", model("input x float32[2,3,4]\ny = Transpose(x) perm=[0]\nz = Transpose(x) perm=[0,0,0,0,0]\noutput y")
    yield "nodes without inputs", model("\n".join(
        f"y{i} = {op}()" for i, op in enumerate("Conv MatMul Gemm Concat Reshape Split LSTM If Loop Scan Resize TopK Einsum".split())))
    yield "nodes without outputs", data(7, b"".join(data(1, data(1, "x") + data(4, op)) for op in ("Relu", "Split", "Loop")))
    yield "attributes of the wrong kind", model(
        'input x float32[2,3]\na = Concat(x, x) axis="zero"\nb = Transpose(x) perm=1.5\nc = Reshape(x, x) allowzero=[1]\n'
        "d = If(x) then_branch=3 else_branch=\"no\"\ne = Loop(x, x, x) body=7\nf = Conv(x, x) pads=\"SAME\"\noutput a")
    yield "an einsum of nonsense", model('input x float32[2,3]\ny = Einsum(x, x) equation="...a...b,->->,,zz..."\noutput y')
    yield "names with control characters", model("input x float32[2]\noutput y").replace(b"x", b"\x1b") + data(7, data(2, b"\x1b[2J\n\r\0\xff\xfe"))
    yield "a name of a megabyte", model("input x float32[2]\n" + "y = Relu(x) name=\"" + "n" * 1000000 + "\"\noutput y")
    yield "a symbol of a megabyte", model("input x float32[" + "N" * 1000000 + ",2]\ny = Flatten(x) axis=0\noutput y")
    yield "100,000 nodes in the wrong order", number(1, 8) + data(7, b"".join(
        data(1, data(1, f"v{i}") + data(2, f"v{i + 1}") + data(4, "Relu")) for i in reversed(range(100000))) +
        data(11, data(1, "v0"))) + data(8, number(2, 17))
    yield "one node with 200,000 inputs", model("input x float32[2]\ny = Concat(" + ",".join(["x"] * 200000) + ") axis=0\noutput y")
    yield "200,000 readers of one value", model("input x float32[2]\n" + "\n".join(f"y{i} = Relu(x)" for i in range(50000)) + "\noutput y7")
    yield "300,000 attributes", number(1, 8) + data(7, data(1, data(1, "x") + data(2, "y") + data(4, "Relu") + data(5, data(1, "a")) * 300000))
    yield "scalars where tensors are expected", model("input x float32[]\n" + "\n".join(
        f"y{i} = {op}(x, x, x, x)" for i, op in enumerate(
            "Resize Upsample Conv MatMul Gemm Softmax Transpose Concat Pad Slice Gather Tile MaxPool Flatten Split LSTM "
            "BatchNormalization LayerNormalization InstanceNormalization TopK DepthToSpace Squeeze Expand".split())))
    yield "tensors without elements or data", model(
        "init e float32[0]()\ninit f float32[](1.0)\ninit g float32[0,4]()\na = Resize(g, e, e)\nb = Add(e, f)\nc = Concat(e, e) axis=0\n"
        "d = Clip(g, e, e)\noutput a\noutput b\noutput c\noutput d")
    yield "gzip that is cut off", gzip.compress(model("input x float32[2]\ny = Relu(x)\noutput y"))[:-12]
    yield "gzip with a wrong checksum", gzip.compress(model("input x float32[2]\ny = Relu(x)\noutput y"))[:-8] + bytes(8)
    yield "gzip of gzip of gzip", gzip.compress(gzip.compress(gzip.compress(model("input x float32[2]\ny = Relu(x)\noutput y"))))
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = squeeze.compress(bytes(1 << 24)) + squeeze.flush(zlib.Z_FULL_FLUSH)  # complete by itself, so it can be repeated
    yield "gzip of 4 GiB of zeros", b"\x1f\x8b\x08" + bytes(7) + zeros * 256 + b"\x03\x00" + bytes(8)
    yield "gzip header alone", b"\x1f\x8b\x08"
    for path in sorted((TESTS / "hostile").iterdir()):
        if path.suffix != ".md":
            yield path.name, path.read_bytes()
    yield from language_models()


def sum_of_terms(count):
    """x + x + x + … in the code of one module: one statement with many memory rules."""
    shape = data(2, data(1, number(1, 1) + data(2, data(1, number(1, 4)))))
    nodes = b"".join(data(1, data(1, f"v{i}" if i else "x") + data(1, "x") + data(2, f"v{i + 1}") + data(3, f"/sum/Add_{i}") + data(4, "Add"))
                     for i in range(count))
    return number(1, 8) + data(7, nodes + data(11, data(1, "x") + shape) + data(12, data(1, f"v{count}"))) + data(8, number(2, 17))


def branches_of(count):
    """An If whose two branches have so many nodes each."""
    def branch(name, operator):
        nodes = b"".join(data(1, data(1, f"{name}{i}" if i else "x") + data(2, f"{name}{i + 1}") + data(4, operator)) for i in range(count))
        return nodes + data(2, name) + data(12, data(1, f"{name}{count}"))
    shape = data(2, data(1, number(1, 1) + data(2, data(1, number(1, 4)))))
    condition = data(2, data(1, number(1, 9) + data(2, b"")))
    node = data(1, "c") + data(2, "y") + data(4, "If") + data(5, data(1, "then_branch") + data(6, branch("t", "Relu")) + number(20, 5)) + \
        data(5, data(1, "else_branch") + data(6, branch("e", "Sigmoid")) + number(20, 5))
    return number(1, 8) + data(7, data(1, node) + data(11, data(1, "x") + shape) + data(11, data(1, "c") + condition) + data(12, data(1, "y"))) + \
        data(8, number(2, 17))


def run(arguments, limit_s):
    """The finished process, or the fault."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    try:
        done = subprocess.run([BUILD / "sooth", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE * limit_s, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return f"more than {PATIENCE * limit_s} s"
    return f"more than {limit_s} s of a processor" if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else done


def judge(path, limit_s, codes, *arguments, command="inspect"):
    """None, or the fault."""
    done = run([command, path, *arguments], limit_s)
    if isinstance(done, str):
        return done
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == 5 and "out of memory" in said:  # below our limit: a valid answer
        return None
    if done.returncode not in codes:
        return f"exit code {done.returncode}: {said[-2000:]}"
    if done.returncode and not re.fullmatch(r"sooth: [^\n]+: [^\n]+\n", said):
        return f"not one line of explanation: {said[-500:]!r}"
    if re.search(rb"[\x00-\x08\x0b-\x1f]", done.stdout + done.stderr):
        return "control characters reach the terminal"
    return None


def tell(results):
    """Writes TAP for pairs of a name and a fault (None if there is none). Returns the suite's exit code."""
    count = failures = 0
    for name, wrong in results:
        count += 1
        failures += wrong is not None
        print(f"{'' if wrong is None else 'not '}ok {count} - {name}")
        for line in (wrong or "").splitlines():
            print("#   " + line)
    print(f"1..{count}")
    return 1 if failures else 0


def results():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "hostile.onnx")
        for name, content in generated():
            pathlib.Path(path).write_bytes(content)
            # Exit code 2: the file cannot have this batch.
            limit_s = BOMB_LIMIT_S if "GiB" in name else LIMIT_S
            wrong = judge(path, limit_s, (0, 3, 4)) or \
                judge(path, limit_s, (0, 2, 3, 4), "--batch", "2", "--format", "json", "--values")
            if (TESTS / "hostile" / name).is_file():
                wrong = wrong or judge(path, limit_s, (0, 2, 3, 4), "--gpu", "a100", "--precision", "amp", command="predict")
            yield name, wrong
        pathlib.Path(path).write_bytes(sum_of_terms(40000))
        yield "predict: a sum of 40,000 terms", judge(path, LIMIT_S, (0,), "--gpu", "a100", command="predict")


if __name__ == "__main__":
    sys.exit(tell(results()))
