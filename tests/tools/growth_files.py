"""Files of every format with N items of one kind, for tests/suites/growth.py.

FILES maps each name to a function of N and a folder that writes the file and returns its name there. ARGUMENTS has the
options that bind dimensions, MOST the limit of N for some files.
"""
import io
import json
import struct
import zipfile

import nesting
from flatfile import RELU, tflite
from onnxtext import data, model, number, varint
from torchfiles import archive

FILES, ARGUMENTS, MOST = {}, {}, {}


def file(name, path):
    """Writes the function's bytes or text to the path."""
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
    declared = lines(n, 'value x{k} float32[1,64]')
    return f"opset 17\nopset my 1\ninput x0 float32[1,64]\n{declared}\n{lines(n, 'x{k} = my.Op{i}(x{i})')}\noutput x{n}"


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


@file("caffe: readers", "m.prototxt")
def caffe_readers(n):
    return 'input: "x" input_shape { dim: 1 dim: 8 dim: 8 dim: 8 }\n' + lines(n, 'layer {{ name: "r{i}" type: "TanH" bottom: "x" top: "y{i}" }}')


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


@file("mxnet: readers", "m-symbol.json")
def mxnet_readers(n):
    nodes = [{"op": "null", "name": "data", "inputs": []}]
    nodes += [{"op": "Activation", "name": f"a{i}", "attrs": {"act_type": "relu"}, "inputs": [[0, 0, 0]]} for i in range(n)]
    return json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[i + 1, 0, 0] for i in range(n)], "attrs": {"mxnet_version": ["int", 10901]}})


for name in ("mxnet: nodes", "mxnet: readers"):
    ARGUMENTS[name] = ["--shape", "data=1,8,16,16"]


@file("ncnn: layers", "m.param")
def ncnn(n):
    return f"7767517\n{n + 1} {n + 1}\nInput data 0 1 x0 0=16 1=16 2=8\n" + lines(n, "Convolution c{i} 1 1 x{i} x{k} 0=8 1=3 4=1 5=1 6=576")


@file("ncnn: readers", "m.param")
def ncnn_readers(n):
    return (f"7767517\n{n + 2} {2 * n + 1}\nInput data 0 1 x0 0=16 1=16 2=8\nSplit s 1 {n} x0 {' '.join(f'x{i + 1}' for i in range(n))}\n" +
            lines(n, "ReLU r{i} 1 1 x{k} y{k}"))


@file("pnnx: operators", "m.pnnx.param")
def pnnx(n):
    return (f"7767517\n{n + 2} {n + 1}\npnnx.Input in 0 1 x0 #x0=(1,8)f32\n" +
            lines(n, "nn.ReLU relu{i} 1 1 x{i} x{k} #x{i}=(1,8)f32 #x{k}=(1,8)f32") + f"\npnnx.Output out 1 0 x{n} #x{n}=(1,8)f32\n")


@file("keras: layers", "m.json")
def keras(n):
    layers = [{"class_name": "Conv2D", "config": {"name": f"c{i}", "filters": 8, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same",
                                                  "activation": "relu", **({"batch_input_shape": [None, 16, 16, 8]} if i == 0 else {})}} for i in range(n)]
    return json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": layers}, "keras_version": "2.4.0"})


@file("keras: readers", "m.json")
def keras_readers(n):
    layers = [{"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [None, 8], "dtype": "float32"}, "inbound_nodes": []}]
    layers += [{"class_name": "Dense", "name": f"d{i}", "config": {"name": f"d{i}", "units": 8, "use_bias": True, "activation": "linear"},
                "inbound_nodes": [[["x", 0, 0, {}]]]} for i in range(n)]
    config = {"name": "m", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [[f"d{i}", 0, 0] for i in range(n)]}
    return json.dumps({"class_name": "Functional", "config": config, "keras_version": "2.4.0"})


MOST["keras: readers"] = 512


def coreml_file(layers, outputs):
    """A neural network (field 500) of float32 arrays whose ranks are exact."""
    def feature(name):
        return data(1, name) + data(3, data(5, data(1, varint(1) + varint(64)) + number(2, 65568)))
    described = data(1, feature("x0")) + b"".join(data(10, feature(name)) for name in outputs)
    return number(1, 4) + data(2, described) + data(500, b"".join(data(1, layer) for layer in layers) + number(5, 1))


def coreml_relu(name, of, to):
    return data(1, name) + data(2, of) + data(3, to) + data(130, data(10, b""))


@file("coreml: layers", "m.mlmodel")
def coreml(n):
    return coreml_file([coreml_relu(f"r{i}", f"x{i}", f"x{i + 1}") for i in range(n)], [f"x{n}"])


@file("coreml: readers", "m.mlmodel")
def coreml_readers(n):
    return coreml_file([coreml_relu(f"r{i}", "x0", f"y{i}") for i in range(n)], [f"y{i}" for i in range(n)])


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


@file("tensorflow: binary", "m.pb")
def tensorflow_binary(n):
    def attribute(key, value):
        return data(5, data(1, key) + data(2, value))
    shape = data(7, data(2, number(1, 1)) + data(2, number(1, 64)))
    nodes = [data(1, "x0") + data(2, "Placeholder") + attribute("dtype", number(6, 1)) + attribute("shape", shape)]
    nodes += [data(1, f"x{i + 1}") + data(2, "Relu") + data(3, f"x{i}") + attribute("T", number(6, 1)) for i in range(n)]
    return b"".join(data(1, node) for node in nodes)


@file("tensorflow: functions", "m.pbtxt")
def tensorflow_functions(n):
    calls = lines(n, 'node {{ name: "x{k}" op: "f{i}" input: "x{i}" }}')
    made = lines(n, 'function {{ signature {{ name: "f{i}" input_arg {{ name: "a" type: DT_FLOAT }} output_arg {{ name: "b" type: DT_FLOAT }} }}\n'
                    '  node_def {{ name: "r" op: "Relu" input: "a" }} ret {{ key: "b" value: "r:activations:0" }} }}')
    return f"{PLACEHOLDER}{calls}\nlibrary {{\n{made}\n}}"


@file("tensorflow: attributes", "m.pbtxt")
def tensorflow_attributes(n):
    return PLACEHOLDER + 'node { name: "y" op: "Relu" input: "x0"\n' + lines(n, 'attr {{ key: "a{i}" value {{ i: {i} }} }}') + " }"


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


def paddle_var(name, is_kept=False):
    shape = number(1, 5) + number(2, 1) + number(2, 64)
    return data(3, data(1, name) + data(2, number(1, 7) + data(3, data(1, shape))) + number(3, is_kept))


def paddle_op(kind, inputs, outputs):
    def slots(number_of_field, named):
        return b"".join(data(number_of_field, data(1, slot) + b"".join(data(2, name) for name in names)) for slot, names in named.items())
    return data(4, slots(1, inputs) + slots(2, outputs) + data(3, kind))


def paddle_file(variables, operators, results):
    feed = paddle_op("feed", {"X": ["feed"]}, {"Out": ["x0"]})
    fetch = b"".join(paddle_op("fetch", {"X": [name]}, {"Out": ["fetch"]}) for name in results)
    return data(1, number(1, 0) + number(2, 2**64 - 1) + b"".join(variables) + feed + b"".join(operators) + fetch)


@file("paddle: operators", "m.pdmodel")
def paddle_program(n):
    return paddle_file([paddle_var(f"x{i}") for i in range(n + 1)],
                       [paddle_op("relu", {"X": [f"x{i}"]}, {"Out": [f"x{i + 1}"]}) for i in range(n)], [f"x{n}"])


@file("paddle: weights", "m.pdmodel")
def paddle_weights(n):
    return paddle_file([paddle_var(f"x{i}") for i in range(n + 1)] + [paddle_var(f"w{i}", True) for i in range(n)],
                       [paddle_op("elementwise_add", {"X": [f"x{i}"], "Y": [f"w{i}"]}, {"Out": [f"x{i + 1}"]}) for i in range(n)], [f"x{n}"])


@file("paddle: readers", "m.pdmodel")
def paddle_readers(n):
    return paddle_file([paddle_var("x0")] + [paddle_var(f"y{i}") for i in range(n)],
                       [paddle_op("relu", {"X": ["x0"]}, {"Out": [f"y{i}"]}) for i in range(n)], [f"y{i}" for i in range(n)])


@file("paddle: one variable again and again", "m.pdmodel")
def paddle_in_place(n):
    return paddle_file([paddle_var("x0")], [paddle_op("relu", {"X": ["x0"]}, {"Out": ["x0"]})] * n, ["x0"])


@file("paddle 3: operators", "m.json")
def paddle_3(n):
    kind = {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [1, 64], "NCHW", [], 0]}

    def named(of, value):
        return {"N": of, "AT": value}
    ops = [{"#": "1.data", "A": [named("name", {"#": "0.a_str", "D": "x"}), named("shape", {"#": "1.a_intarray", "D": [1, 64]}),
                                 named("dtype", {"#": "1.a_dtype", "D": "float32"})], "I": [], "O": [{"%": 1, "TT": kind}]}]
    ops += [{"#": "1.relu", "A": [], "I": [{"%": i + 1}], "O": [{"%": i + 2, "TT": kind}]} for i in range(n)]
    ops += [{"#": "1.fetch", "A": [named("name", {"#": "0.a_str", "D": "y"}), named("col", {"#": "0.a_i32", "D": 0})], "I": [{"%": n + 1}],
             "O": [{"%": n + 2, "TT": kind}]}]
    return json.dumps({"base_code": {"magic": "pir", "trainable": False, "version": 4},
                       "program": {"regions": [{"#": "region_0", "blocks": [{"#": "block_0", "args": [], "ops": ops}]}]}})


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


@file("openvino: readers", "m.xml")
def openvino_readers(n):
    port = '<port id="{}" precision="FP32"><dim>1</dim><dim>64</dim></port>'
    text = ('<net name="n" version="11"><layers><layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,64" element_type="f32"/>'
            f'<output>{port.format(0)}</output></layer>\n')
    text += "\n".join(f'<layer id="{2 * i + 1}" name="r{i}" type="ReLU" version="opset1"><input>{port.format(0)}</input><output>{port.format(1)}</output></layer>'
                      f'<layer id="{2 * i + 2}" name="y{i}" type="Result" version="opset1"><input>{port.format(0)}</input></layer>' for i in range(n))
    text += "</layers><edges>\n" + "\n".join(f'<edge from-layer="0" from-port="0" to-layer="{2 * i + 1}" to-port="0"/>'
                                              f'<edge from-layer="{2 * i + 1}" from-port="1" to-layer="{2 * i + 2}" to-port="0"/>' for i in range(n))
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


@file("torchscript: readers", "m.pt")
def script_readers(n):
    return scripted("class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
                    "  def forward(self: __torch__.m.Net,\n    x0: Tensor) -> List[Tensor]:\n" + lines(n, "    y{k} = torch.relu(x0)") +
                    f"\n    return [{', '.join(f'y{i + 1}' for i in range(n))}]", {"class": "__torch__.m.Net", "training": False})


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


for name in ("statements", "readers", "modules"):
    ARGUMENTS[f"torchscript: {name}"] = ["--shape", "x0=1,64"]
ARGUMENTS["torchscript: rounds of a loop"] = ["--shape", "x=1,64"]


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


ARGUMENTS["config.json: layers"], MOST["config.json: layers"] = ["--seq", "16"], 256


@file("gguf: layers", "m.gguf")
def gguf(n):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def number_of(key, value):
        return text(key) + struct.pack("<II", 4, value)
    values = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
    values += [number_of(f"llama.{key}", value) for key, value in (
        ("block_count", n), ("context_length", 64), ("embedding_length", 64), ("feed_forward_length", 128), ("attention.head_count", 4),
        ("attention.head_count_kv", 2), ("vocab_size", 100))]
    shapes = {"attn_norm": [64], "attn_q": [64, 64], "attn_k": [64, 32], "attn_v": [64, 32], "attn_output": [64, 64], "ffn_norm": [64],
              "ffn_gate": [64, 128], "ffn_up": [64, 128], "ffn_down": [128, 64]}
    tensors = [("token_embd.weight", [64, 100]), ("output_norm.weight", [64])]
    tensors += [(f"blk.{i}.{name}.weight", shape) for i in range(n) for name, shape in shapes.items()]
    held, at = [], 0
    for name, shape in tensors:
        held.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, at))
        at += 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + b"".join(held)
    return head + bytes(-len(head) % 32 + at)


ARGUMENTS["gguf: layers"], MOST["gguf: layers"] = ["--seq", "16"], 256


@file("safetensors: tensors", "m.safetensors")
def safetensors(n):
    head = json.dumps({f"layer.{i}.weight": {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]} for i in range(n)}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(16 * n)


# ---- nesting ---------------------------------------------------------------------------------------------------------

# Below the limit, because a level of some files counts as several.
for name, make in nesting.FORMATS.items():
    file(f"nesting: {name}", "nested")(make)
    MOST[f"nesting: {name}"] = nesting.LIMIT // 2 - 4
MOST["nesting: TorchScript: functions"] = nesting.LIMIT // 4 - 4  # a call, its block and its expression are levels


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
