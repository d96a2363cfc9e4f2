#!/usr/bin/env python3
"""Files of every format that nests, on a thread with a 256 KiB stack: the deepest that is read, the first that is
refused, and one far deeper. src/base/nesting.h has the limit. Under sanitizers frames are several times larger, and
so is the stack."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import hostile
from onnxtext import model
from refused import NET, torchscript
from torchfiles import pickled

STACK_KIB = 2048 if hostile.SANITIZED else 256
FAR = 3000
LIMIT = int(re.search(r"MAX_NESTING = (\d+)", (hostile.TESTS.parent / "src/base/nesting.h").read_text()).group(1))


def functions(n):
    lines = ["opset 17", "opset f 1", "input x float32[4]", "y = f.F0(x)", "output y"]
    for i in range(n):
        lines += [f"function f.F{i}(a) -> z", "    opset 17", f"    z = {f'f.F{i + 1}' if i + 1 < n else 'Relu'}(a)"]
    return model("\n".join(lines))


def loops(n):
    """Counted loops, nested."""
    lines, inset = ["input x float32[2]", "init m int64[](2)", "init c bool[](1)"], ""
    for i in range(n):
        lines += [f"{inset}y{i} = Loop(m, c, {f'h{i - 1}' if i else 'x'})", f"{inset}    body:"]
        inset += "        "
        lines += [f"{inset}input i{i} int64[]", f"{inset}input go{i} bool[]", f"{inset}input h{i} float32[2]", f"{inset}on{i} = Identity(go{i})"]
    lines.append(f"{inset}r = Relu(h{n - 1})")
    made = "r"
    for i in reversed(range(n)):
        lines += [f"{inset}output on{i} bool[]", f"{inset}output {made} float32[2]"]
        inset, made = inset[8:], f"y{i}"
    return model("\n".join(lines + [f"output {made}"]))


def script(expression):
    return torchscript(code=NET.replace("torch.relu(x)", expression))


def blocks(n):
    text = "".join(" " * (4 + i) + "if True:\n" for i in range(n)) + " " * (4 + n) + "y = torch.relu(x)\n"
    return torchscript(code=NET.replace("    return torch.relu(x)\n", text + "    return x\n"))


def calls(n):
    text = "def f0(x: Tensor) -> Tensor:\n  return torch.relu(x)\n"
    text += "".join(f"def f{i + 1}(x: Tensor) -> Tensor:\n  return __torch__.m.f{i}(x)\n" for i in range(n))
    return torchscript(code=text + NET.replace("torch.relu(x)", f"__torch__.m.f{n}(x)"))


def modules(n):
    value = {"class": "__torch__.m.Net", "training": False}
    for _ in range(n):
        value = {"class": "__torch__.m.Net", "training": False, "inner": value}
    return torchscript(pickle=pickled(value))


def keras(n):
    opening = "".join(f'{{"class_name": "Sequential", "config": {{"name": "s{i}", "layers": [' for i in range(n))
    layer = '{"class_name": "ReLU", "config": {"name": "r", "batch_input_shape": [null, 4]}}'
    return ('{"class_name": "Sequential", "config": {"name": "top", "layers": [' + opening + layer + "]}}" * (n + 1)).encode()


def hlo_calls(n):
    text = "HloModule m\n\nf0 {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] abs(x)\n}\n"
    for i in range(n):
        head = f"f{i + 1}" if i + 1 < n else "ENTRY e"
        text += f"\n{head} {{\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] call(x), to_apply=f{i}\n}}\n"
    return text.encode()


def hlo_types(n):
    return (f"HloModule m\n\nENTRY e {{\n  x = f32[2] parameter(0)\n  t = {'(' * n}f32[2]{')' * n} tuple(x)\n  ROOT y = f32[2] abs(x)\n}}\n").encode()


def mlir_regions(n):
    text = "%r = stablehlo.abs %arg0 : tensor<2xf32>\nstablehlo.return %r : tensor<2xf32>\n"
    for i in range(n):
        text = f'%c{i} = "stablehlo.case"(%i) ({{\n{text}}}) : (tensor<i32>) -> tensor<2xf32>\nstablehlo.return %c{i} : tensor<2xf32>\n'
    text = text.rsplit("stablehlo.return", 1)[0]
    return hostile.stablehlo(f"%i = stablehlo.constant dense<0> : tensor<i32>\n{text}return %c{n - 1} : tensor<2xf32>")


def mlir_types(n):
    return hostile.stablehlo(f'%0 = "stablehlo.custom_call"(%arg0) : (tensor<2xf32>) -> {"tuple<" * n}tensor<2xf32>{">" * n}\nreturn %arg0 : tensor<2xf32>')


def mlir_attributes(n):
    return hostile.stablehlo(f'%0 = "stablehlo.abs"(%arg0) {{a = {"[" * n}1{"]" * n}}} : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>')


def caffe(n):
    return ('input: "x" input_shape { dim: 1 dim: 4 }\nlayer { name: "r" type: "ReLU" bottom: "x" top: "y" ' + "a { " * n + "} " * n + "}\n").encode()


def tensorflow(n):
    return ('node { name: "x" op: "Placeholder" attr { key: "shape" value { shape { dim { size: 4 } } } } }\n'
            'node { name: "y" op: "Relu" input: "x" ' + "experimental_debug_info { " * n + "} " * n + "}\n").encode()


def pnnx(n):
    text = f"{'neg(' * n}@0{')' * n}"
    return (f"7767517\n3 2\npnnx.Input i 0 1 x #x=(2,4)f32\npnnx.Expression e 1 1 x y expr={text} #x=(2,4)f32 #y=(2,4)f32\npnnx.Output o 1 0 y\n").encode()


FORMATS = {
    "ONNX: branches": hostile.nested_branches, "ONNX: functions": functions, "ONNX: loops": lambda n: loops(min(n, 100)), "ONNX: types": hostile.nested_types,
    "TorchScript: attributes": lambda n: script("(x)" + ".T" * n), "TorchScript: subscripts": lambda n: script("x" + "[0]" * n),
    "TorchScript: calls in calls": lambda n: script("torch.relu(" * n + "x" + ")" * n), "TorchScript: blocks": blocks, "TorchScript: functions": calls,
    "TorchScript: modules": lambda n: modules(min(n, 200)), "TorchScript: lists": lambda n: script("[" * n + "x" + "]" * n),
    "Keras: models": keras, "HLO: calls": hlo_calls, "HLO: types": hlo_types, "StableHLO: regions": mlir_regions, "StableHLO: types": mlir_types,
    "StableHLO: attributes": mlir_attributes, "Caffe: messages": caffe, "TensorFlow: messages": tensorflow, "pnnx: expressions": pnnx,
}


def run(path, content):
    """(True if it was read, fault)"""
    pathlib.Path(path).write_bytes(content)
    done = subprocess.run([hostile.BUILD / "tests/tools/stack", path, str(STACK_KIB)], capture_output=True, text=True, errors="replace")
    if done.returncode:
        return False, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}"
    return done.stdout == "read\n", None


def judge(make, path):
    reads, wrong = run(path, make(1))
    if wrong or not reads:
        return wrong or "one level is not read"
    reads, wrong = run(path, make(FAR))
    if wrong:
        return f"{FAR} levels: {wrong}"
    if reads:
        return None  # nothing recurses there
    low, high = 1, 2 * LIMIT
    while high - low > 1:
        middle = (low + high) // 2
        reads, wrong = run(path, make(middle))
        if wrong:
            return f"{middle} levels: {wrong}"
        low, high = (middle, high) if reads else (low, middle)
    return None if 8 <= low <= LIMIT + 1 else f"{low} levels are read; the limit is {LIMIT}"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "nested")
        for number, (name, make) in enumerate(FORMATS.items(), 1):
            wrong = judge(make, path)
            failed += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {number} - {name}", flush=True)
            if wrong:
                print("\n".join("#   " + line for line in wrong.splitlines()))
    print(f"1..{len(FORMATS)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
