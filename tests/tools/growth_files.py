"""Files of every format with N things of one kind, for tests/suites/growth.py.

FILES has for each name a function of N and a folder: it writes the file and returns its name there.
"""
import io
import json
import struct
import zipfile

from flatfile import RELU, tflite
from onnxtext import data, model, number
from torchfiles import archive

FILES = {}


def file(name, path):
    """The function's bytes or text go to the path."""
    def add(make):
        def put(count, folder):
            content = make(count)
            (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
            return path
        FILES[name] = put
        return make
    return add


def lines(count, text, first=0):
    return "\n".join(text.format(i=i, j=i - 1, h=i // 2, k=i + 1) for i in range(first, count))


# ---- ONNX ------------------------------------------------------------------------------------------------------------

def onnx(name, *, add=b""):
    def make_file(make):
        file(name, "m.onnx")(lambda count: model(make(count)) + add)
        return make
    return make_file


@onnx("onnx: chain")
def chain(n):
    return f"input v0 float32[1,64]\n{lines(n, 'v{i} = Relu(v{j})', 1)}\noutput v{n - 1}"


@onnx("onnx: blocks")
def blocks(n):
    body = lines(n, "init w{i} float32[8,8,3,3]\ninit s{i} float32[8]\ninit t{i} float32[8]\ninit m{i} float32[8]\ninit q{i} float32[8]\n"
                    "c{i} = Conv(x{i}, w{i}) pads=[1,1,1,1]\nb{i} = BatchNormalization(c{i}, s{i}, t{i}, m{i}, q{i})\nr{i} = Relu(b{i})\nx{k} = Add(r{i}, x{i})")
    return f"input x0 float32[N,8,16,16]\n{body}\noutput x{n}"


@onnx("onnx: readers")
def readers(n):
    return f"input x float32[1,64]\n{lines(n, 'v{i} = Relu(x)')}\n{lines(n, 'output v{i}')}"


@onnx("onnx: far readers")
def far_readers(n):
    return f"input x float32[N,64]\nv0 = Add(x, x)\n{lines(n, 'v{i} = Add(v{h}, v{j})', 1)}\noutput v{n - 1}"


@onnx("onnx: wide sum")
def wide_sum(n):
    return f"input x float32[1,64]\n{lines(n, 'v{i} = Relu(x)')}\ny = Sum({', '.join(f'v{i}' for i in range(n))})\noutput y"


@onnx("onnx: sum of all")
def sum_of_all(n):
    return f"input x float32[1,64]\n{lines(n, 'v{i} = Relu(x)')}\ns0 = Relu(x)\n{lines(n, 's{i} = Add(s{j}, v{i})', 1)}\noutput s{n - 1}"


@onnx("onnx: inputs of one node")
def inputs_of_one(n):
    return f"input x float32[1,64]\ny = Concat({', '.join(['x'] * n)}) axis=0\noutput y"


@onnx("onnx: outputs of one node")
def outputs_of_one(n):
    return f"input x float32[{n},64]\n{', '.join(f'y{i}' for i in range(n))} = Split(x) axis=0\noutput y0"


@onnx("onnx: inputs of the network")
def inputs_of_network(n):
    return f"{lines(n, 'input x{i} float32[1,64]')}\n{lines(n, 'y{i} = Relu(x{i})')}\n{lines(n, 'output y{i}')}"


@onnx("onnx: attributes")
def attributes(n):
    return "input x float32[2]\ny = Relu(x) " + " ".join(f"a{i}={i}" for i in range(n)) + "\noutput y"


@onnx("onnx: numbers of an attribute")
def numbers(n):
    return "input x float32[2]\ny = Relu(x) a=[" + ",".join(map(str, range(n))) + "]\noutput y"


@onnx("onnx: weights")
def weights(n):
    return f"input y0 float32[1,64]\n{lines(n, 'init w{i} float32[64]')}\n{lines(n, 'y{k} = Mul(y{i}, w{i})')}\noutput y{n}"


@onnx("onnx: initializers nobody reads")
def unread(n):
    return f"input x float32[2]\n{lines(n, 'init w{i} float32[64]')}\ny = Relu(x)\noutput y"


@onnx("onnx: declared shapes")
def declared(n):
    return f"input v0 float32[N,64]\n{lines(n, 'value v{i} float32[N,64]', 1)}\n{lines(n, 'v{i} = Relu(v{j})', 1)}\noutput v{n - 1}"


@onnx("onnx: symbols")
def symbols(n):
    return f"{lines(n, 'input x{i} float32[d{i},64]')}\n{lines(n, 'y{i} = Relu(x{i})')}\n{lines(n, 'output y{i}')}"


@onnx("onnx: sums of sizes")
def sums_of_sizes(n):
    return f"input x float32[N,4]\nc0 = Concat(x, x) axis=0\n{lines(n, 'c{i} = Concat(c{j}, x) axis=0', 1)}\noutput c{n - 1}"


@onnx("onnx: arithmetic on shapes")
def shapes(n):
    body = lines(n, "s{i} = Shape(x{i})\ng{i} = Gather(s{i}, zero)\nu{i} = Unsqueeze(g{i}, zeros)\nc{i} = Concat(u{i}, rest) axis=0\nx{k} = Reshape(x{i}, c{i})")
    return f"input x0 float32[N,8,8]\ninit zero int64[](0)\ninit zeros int64[1](0)\ninit rest int64[2](8, 8)\n{body}\noutput x{n}"


@onnx("onnx: branches")
def branches(n):
    body = lines(n, "x{k} = If(c)\n    then_branch:\n        t{i} = Relu(x{i})\n        output t{i}\n    else_branch:\n        e{i} = Tanh(x{i})\n        output e{i}")
    return f"input x0 float32[1,64]\ninput c bool[]\n{body}\noutput x{n}"


@onnx("onnx: loops")
def loops(n):
    body = lines(n, "x{k} = Loop(m, c, x{i})\n    body:\n        input i{i} int64[]\n        input d{i} bool[]\n        input a{i} float32[1,64]\n"
                    "        e{i} = Identity(d{i})\n        b{i} = Relu(a{i})\n        output e{i}\n        output b{i}")
    return f"input x0 float32[1,64]\ninit m int64[](7)\ninit c bool[](1)\n{body}\noutput x{n}"


@onnx("onnx: functions")
def functions(n):
    made = lines(n, "function f.F{i}(a) -> b\n    opset 17\n    b = Relu(a)")
    return f"opset 17\nopset f 1\ninput x0 float32[1,64]\n{lines(n, 'x{k} = f.F{i}(x{i})')}\noutput x{n}\n{made}"


@onnx("onnx: calls of one function")
def calls(n):
    return f"opset 17\nopset f 1\ninput x0 float32[1,64]\n{lines(n, 'x{k} = f.F(x{i})')}\noutput x{n}\nfunction f.F(a) -> b\n    opset 17\n    b = Relu(a)"


@onnx("onnx: unknown operators")
def unknown(n):
    return f"opset 17\nopset my 1\ninput x0 float32[1,64]\n{lines(n, 'x{k} = my.Op{i}(x{i})')}\nvalue x{n} float32[1,64]\noutput x{n}"


@onnx("onnx: views")
def views(n):
    return f"input x0 float32[1,8,8]\n{lines(n, 'x{k} = Transpose(x{i}) perm=[0,2,1]')}\ny = Relu(x{n})\noutput y"


@onnx("onnx: names in depth")
def names_in_depth(n):
    body = "\n".join(f'x{i + 1} = Relu(x{i}) name="/net/stage{i // 64}/block{i // 16}/unit{i // 4}/layer{i}/Relu"' for i in range(n))
    return f"input x0 float32[1,64]\n{body}\noutput x{n}"


@onnx("onnx: equal names")
def equal_names(n):
    body = "\n".join(f'x{i + 1} = Relu(x{i}) name="same"' for i in range(n))
    return f"input x0 float32[1,64]\n{body}\noutput x{n}"


@onnx("onnx: attention")
def attention(n):
    body = lines(n, "init a{i} float32[64,64]\ninit b{i} float32[64,64]\nq{i} = MatMul(x{i}, a{i})\nt{i} = Transpose(q{i}) perm=[0,2,1]\n"
                    "p{i} = MatMul(q{i}, t{i})\ns{i} = Softmax(p{i}) axis=-1\no{i} = MatMul(s{i}, q{i})\nm{i} = MatMul(o{i}, b{i})\nx{k} = Add(m{i}, x{i})")
    return f"input x0 float32[1,16,64]\n{body}\noutput x{n}"


@onnx("onnx: wrong order")
def wrong_order(n):
    body = "\n".join(f"v{i} = Relu(v{i - 1})" for i in reversed(range(1, n)))
    return f"input v0 float32[1,64]\n{body}\noutput v{n - 1}"


@file("onnx: opsets", "m.onnx")
def opsets(n):
    return model(chain(4)) + b"".join(data(8, data(1, f"d{i}") + number(2, 1)) for i in range(n))


@file("onnx: metadata", "m.onnx")
def metadata(n):
    return model(chain(4)) + b"".join(data(14, data(1, f"key{i}") + data(2, "value")) for i in range(n))


# ---- formats of layers -----------------------------------------------------------------------------------------------

@file("caffe: layers", "m.prototxt")
def caffe(n):
    return 'input: "x0" input_shape { dim: 1 dim: 8 dim: 8 dim: 8 }\n' + lines(
        n, 'layer {{ name: "r{i}" type: "Convolution" bottom: "x{i}" top: "x{k}" convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 }} }}')


@file("caffe: in place", "m.prototxt")
def caffe_in_place(n):
    return 'input: "x" input_shape { dim: 1 dim: 8 dim: 8 dim: 8 }\n' + lines(n, 'layer {{ name: "r{i}" type: "ReLU" bottom: "x" top: "x" }}')


@file("darknet: sections", "m.cfg")
def darknet(n):
    return "[net]\nwidth=32\nheight=32\nchannels=3\n" + "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n\n[shortcut]\nfrom=-1\n\n" * n


@file("mxnet: nodes", "m-symbol.json")
def mxnet(n):
    nodes = [{"op": "null", "name": "data", "inputs": []}]
    for i in range(n):
        nodes += [{"op": "null", "name": f"c{i}_weight", "inputs": []},
                  {"op": "Convolution", "name": f"c{i}", "attrs": {"kernel": "(3, 3)", "num_filter": "8", "pad": "(1, 1)", "no_bias": "True"},
                   "inputs": [[max(2 * i, 0), 0, 0], [2 * i + 1, 0, 0]]}]
    return json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[len(nodes) - 1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}})


@file("ncnn: layers", "m.param")
def ncnn(n):
    return f"7767517\n{n + 1} {n + 1}\nInput data 0 1 x0 0=16 1=16 2=8\n" + lines(n, "Convolution c{i} 1 1 x{i} x{k} 0=8 1=3 4=1 5=1 6=576")


@file("pnnx: operators", "m.pnnx.param")
def pnnx(n):
    return (f"7767517\n{n + 2} {n + 1}\npnnx.Input in 0 1 x0 #x0=(1,8)f32\n" +
            lines(n, "nn.ReLU relu{i} 1 1 x{i} x{k} #x{i}=(1,8)f32 #x{k}=(1,8)f32") + f"\npnnx.Output out 1 0 x{n} #x{n}=(1,8)f32\n")


@file("keras: layers", "m.json")
def keras(n):
    layers = [{"class_name": "Conv2D", "config": {"name": f"c{i}", "filters": 8, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same",
                                                  "activation": "relu", **({"batch_input_shape": [None, 16, 16, 8]} if i == 0 else {})}} for i in range(n)]
    return json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": layers}, "keras_version": "2.4.0"})


# ---- graphs of TensorFlow, Paddle, OpenVINO, TFLite ------------------------------------------------------------------

PLACEHOLDER = ('node { name: "x0" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
               'attr { key: "shape" value { shape { dim { size: 1 } dim { size: 64 } } } } }\n')


@file("tensorflow: nodes", "m.pbtxt")
def tensorflow(n):
    return PLACEHOLDER + lines(n, 'node {{ name: "x{k}" op: "Relu" input: "x{i}" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}')


@file("tensorflow: readers", "m.pbtxt")
def tensorflow_readers(n):
    return PLACEHOLDER + lines(n, 'node {{ name: "y{k}" op: "Relu" input: "x0" }}')


@file("tensorflow: constants", "m.pbtxt")
def tensorflow_constants(n):
    return PLACEHOLDER + lines(n, 'node {{ name: "w{i}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} attr {{ key: "value" value {{ tensor {{ '
                                  'dtype: DT_FLOAT tensor_shape {{ dim {{ size: 64 }} }} float_val: 0 }} }} }} }}\n'
                                  'node {{ name: "x{k}" op: "AddV2" input: "x{i}" input: "w{i}" }}')


@file("tensorflow.js: nodes", "model.json")
def tfjs(n):
    nodes = [{"name": "x0", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {"dim": [{"size": "1"}, {"size": "64"}]}}}}]
    nodes += [{"name": f"x{i + 1}", "op": "Add", "input": [f"x{i}", f"w{i}"]} for i in range(n)]
    nodes += [{"name": f"w{i}", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}}} for i in range(n)]
    held = [{"name": f"w{i}", "shape": [64], "dtype": "float32"} for i in range(n)]
    return json.dumps({"format": "graph-model", "modelTopology": {"node": nodes}, "weightsManifest": [{"paths": ["a.bin"], "weights": held}]})


@file("tflite: operators", "m.tflite")
def lite(n):
    return tflite([[1, 64]] * (n + 1), [(RELU, [i], [i + 1]) for i in range(n)], outputs=[n])


@file("tflite: readers", "m.tflite")
def lite_readers(n):
    return tflite([[1, 64]] * (n + 1), [(RELU, [0], [i + 1]) for i in range(n)], outputs=list(range(1, n + 1)))


@file("paddle.js: operators", "model.json")
def paddle(n):
    ops = [{"type": "relu", "attrs": {}, "inputs": {"X": [f"x{i}"]}, "outputs": {"Out": [f"x{i + 1}"]}} for i in range(n)]
    return json.dumps({"ops": ops, "vars": [{"name": f"x{i}", "shape": [1, 64]} for i in range(n + 1)]})


@file("openvino: layers", "m.xml")
def openvino(n):
    port = '<port id="{}" precision="FP32"><dim>1</dim><dim>64</dim></port>'
    text = ('<net name="n" version="11"><layers><layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,64" element_type="f32"/>'
            f'<output>{port.format(0)}</output></layer>\n')
    text += "\n".join(f'<layer id="{i + 1}" name="r{i}" type="ReLU" version="opset1"><input>{port.format(0)}</input><output>{port.format(1)}</output></layer>'
                      for i in range(n))
    text += f'<layer id="{n + 1}" name="y" type="Result" version="opset1"><input>{port.format(0)}</input></layer></layers><edges>\n'
    text += "\n".join(f'<edge from-layer="{i}" from-port="{min(i, 1)}" to-layer="{i + 1}" to-port="0"/>' for i in range(n + 1))
    return text + "</edges></net>"


# ---- XLA -------------------------------------------------------------------------------------------------------------

@file("stablehlo: operators", "m.mlir")
def stablehlo(n):
    return ("func.func public @main(%x0: tensor<1x64xf32>) -> tensor<1x64xf32> {\n" +
            lines(n, "  %x{k} = stablehlo.tanh %x{i} : tensor<1x64xf32>") + f"\n  return %x{n} : tensor<1x64xf32>\n}}\n")


@file("stablehlo: functions", "m.mlir")
def stablehlo_functions(n):
    calls = lines(n, "  %x{k} = call @f{i}(%x{i}) : (tensor<1x64xf32>) -> tensor<1x64xf32>")
    made = lines(n, "func.func private @f{i}(%a: tensor<1x64xf32>) -> tensor<1x64xf32> {{\n  %b = stablehlo.tanh %a : tensor<1x64xf32>\n"
                    "  return %b : tensor<1x64xf32>\n}}")
    return f"func.func public @main(%x0: tensor<1x64xf32>) -> tensor<1x64xf32> {{\n{calls}\n  return %x{n} : tensor<1x64xf32>\n}}\n{made}\n"


@file("stablehlo: parameters", "m.mlir")
def stablehlo_parameters(n):
    arguments = ", ".join(f"%w{i}: tensor<1x64xf32>" for i in range(n))
    return (f"func.func public @main({arguments}, %x0: tensor<1x64xf32>) -> tensor<1x64xf32> {{\n" +
            lines(n, "  %x{k} = stablehlo.add %x{i}, %w{i} : tensor<1x64xf32>") + f"\n  return %x{n} : tensor<1x64xf32>\n}}\n")


@file("hlo: instructions", "m.txt")
def hlo(n):
    return ("HloModule m\n\nENTRY main {\n  x0 = f32[1,64]{1,0} parameter(0)\n" + lines(n, "  x{k} = f32[1,64]{{1,0}} tanh(x{i})") +
            f"\n  ROOT y = f32[1,64]{{1,0}} tanh(x{n})\n}}\n")


@file("hlo: computations", "m.txt")
def hlo_computations(n):
    made = lines(n, "f{i} {{\n  a{i} = f32[1,64]{{1,0}} parameter(0)\n  ROOT b{i} = f32[1,64]{{1,0}} tanh(a{i})\n}}\n")
    return (f"HloModule m\n\n{made}\nENTRY main {{\n  x0 = f32[1,64]{{1,0}} parameter(0)\n" +
            lines(n, "  x{k} = f32[1,64]{{1,0}} call(x{i}), to_apply=f{i}") + f"\n  ROOT y = f32[1,64]{{1,0}} tanh(x{n})\n}}\n")


# ---- PyTorch ---------------------------------------------------------------------------------------------------------

def tensor(name):
    return {"as_tensor": {"name": name}}


@file("torch.export: nodes", "m.pt2")
def export(n):
    nodes = [{"target": "torch.ops.aten.add.Tensor", "inputs": [{"name": "self", "arg": tensor(f"x{i}")}, {"name": "other", "arg": tensor(f"w{i}")}],
              "outputs": [tensor(f"x{i + 1}")], "metadata": {}} for i in range(n)]
    sizes = {"dtype": 7, "sizes": [{"as_int": 1}, {"as_int": 64}]}
    graph = {"inputs": [tensor(f"w{i}") for i in range(n)] + [tensor("x0")], "outputs": [tensor(f"x{n}")], "nodes": nodes,
             "tensor_values": {**{f"x{i}": sizes for i in range(n + 1)}, **{f"w{i}": sizes for i in range(n)}}, "sym_int_values": {}}
    signature = {"input_specs": [{"parameter": {"arg": {"name": f"w{i}"}, "parameter_name": f"w{i}"}} for i in range(n)] + [{"user_input": {"arg": tensor("x0")}}],
                 "output_specs": [{"user_output": {"arg": tensor(f"x{n}")}}]}
    program = {"graph_module": {"graph": graph, "signature": signature}, "schema_version": {"major": 8, "minor": 14}, "torch_version": "2.9.1"}
    return archive("@ net/models/model.json\n" + json.dumps(program))


def scripted(code, held):
    return archive(f"@ m/code/__torch__/m.py\n{code}\n@ m/data.pkl pickle\n{json.dumps(held)}")


@file("torchscript: statements", "m.pt")
def script(n):
    return scripted("class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
                    "  def forward(self: __torch__.m.Net,\n    x0: Tensor) -> Tensor:\n" + lines(n, "    x{k} = torch.relu(x{i})") + f"\n    return x{n}",
                    {"class": "__torch__.m.Net", "training": False})


@file("torchscript: modules", "m.pt")
def script_modules(n):
    code = ("class Part(Module):\n  __parameters__ = [\"weight\", ]\n  __buffers__ = []\n  weight : Tensor\n  training : bool\n"
            "  def forward(self: __torch__.m.Part,\n    x: Tensor) -> Tensor:\n    weight = self.weight\n    return torch.mul(x, weight)\n"
            "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n" + lines(n, "  p{i} : __torch__.m.Part") +
            "\n  def forward(self: __torch__.m.Net,\n    x0: Tensor) -> Tensor:\n" + lines(n, "    p{i} = self.p{i}\n    x{k} = (p{i}).forward(x{i}, )") +
            f"\n    return x{n}")
    part = {"class": "__torch__.m.Part", "training": False, "weight": {"tensor": [64]}}
    return scripted(code, {"class": "__torch__.m.Net", "training": False, **{f"p{i}": part for i in range(n)}})


@file("torchscript: rounds of a loop", "m.pt")
def script_rounds(n):
    return scripted("class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
                    f"  def forward(self: __torch__.m.Net,\n    x: Tensor) -> Tensor:\n    y = x\n    for i in range({n}):\n      y = torch.relu(y)\n    return y",
                    {"class": "__torch__.m.Net", "training": False})


@file("zip: entries", "m.pt2")
def entries(n):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        with zipfile.ZipFile(io.BytesIO(export(4))) as inner:
            packed.writestr("net/models/model.json", inner.read("net/models/model.json"))
        for i in range(n):
            packed.writestr(f"net/data/weights/weight_{i}", b"")
    return out.getvalue()


# ---- language models -------------------------------------------------------------------------------------------------

@file("config.json: layers", "config.json")
def config(n):
    return json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
                       "num_hidden_layers": n, "num_key_value_heads": 4, "vocab_size": 100, "max_position_embeddings": 64, "rms_norm_eps": 1e-5})


@file("safetensors: tensors", "m.safetensors")
def safetensors(n):
    head = json.dumps({f"layer.{i}.weight": {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]} for i in range(n)}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(16 * n)


# ---- tables ----------------------------------------------------------------------------------------------------------

TINY = "input x float32[N,3,8,8]\ninit w float32[4,3,3,3]\ny = Conv(x, w) pads=[1,1,1,1]\nz = Relu(y)\noutput z"


def table(name, make):
    def put(count, folder):
        (folder / "tiny.onnx").write_bytes(model(TINY))
        (folder / "rows.csv").write_text(make(count))
        return "rows.csv"
    FILES[name] = put


table("rows: queries", lambda n: "graph,batch,gpu\n" + "\n".join(f"tiny.onnx,{i + 1},a100" for i in range(n)) + "\n")
table("rows: eval", lambda n: "name,graph,batch,gpu,precision,runtime,mode,latency_ms,source\n" +
      "\n".join(f"t{i},tiny.onnx,{i % 16 + 1},a100,fp32,eager,infer,0.{i % 9 + 1},s" for i in range(n)) + "\n")
