"""The smallest networks of a format that reach each function that maps its operators.

The readers' own tables list the operators: a row is {"NAME", map_function, …}. The first operator of each function is
used. Attributes are those that many operators have, so that most networks are valid, or become so by one mutation.
"""
import json
import pathlib
import re
import sys

FRONT = pathlib.Path(__file__).resolve().parent.parent / "src/front"
sys.path.append(str(FRONT.parent.parent / "tests/tools"))
import torchfiles  # noqa: E402

ROW = re.compile(r'^    \{"([^"]+)",\s+((?:\w+_)?(?:map|rule)_\w+|NULL)', re.M)
TORCH_ROW = re.compile(r'^    \{"([^"]+)",\s+"([^"]*)"[^{}]*?(rule_\w+)', re.M)


def source(file):
    return next(FRONT.glob(f"*/{file}.c"))


def names(*files):
    seen = set()
    for file in files:
        for name, function in ROW.findall(source(file).read_text()):
            if (function not in seen) or function == "NULL":
                seen.add(function)
                yield name


def darknet():
    for name in names("darknet"):
        yield f"""[net]
width=8
height=8
channels=4
[convolutional]
filters=4
size=1
activation=relu
[{name}]
filters=4
size=3
stride=2
pad=1
activation=leaky
output=6
from=-2
layers=-1,-2
groups=2
hidden=5
mask=0,1
""".encode()


CAFFE_PARAMETERS = """num_output: 4 kernel_size: 3 stride: 2 pad: 1 axis: 1 bias_term: true group: 2 dim: 2 tiles: 2 operation: SUM
 shape { dim: 0 dim: -1 } order: 0 order: 2 order: 3 order: 1 slice_point: 1 top_k: 1 local_size: 5 input_dim: 7 factor: 2"""


def caffe():
    text = source("caffe_layers").read_text()
    parameters = sorted(set(re.findall(r'"(\w+_param)"', text)))
    for name in names("caffe_layers"):
        near = [p for p in parameters if p.replace("_", "")[:4] == name.lower()[:4]]
        for bottoms in (1, 2, 3):
            layer = "".join(f' bottom: "{b}"' for b in "abc"[:bottoms])
            layer += "".join(f" {p} {{ {CAFFE_PARAMETERS} }}" for p in near)
            yield "\n".join(f'input: "{b}" input_shape {{ dim: 2 dim: 4 dim: 8 dim: 8 }}' for b in "abc"[:bottoms]).encode() + \
                f'\nlayer {{ name: "n" type: "{name}"{layer} top: "y" top: "z" }}\n'.encode()


MXNET = {"kernel": "(3, 3)", "stride": "(2, 2)", "pad": "(1, 1)", "num_filter": "4", "num_hidden": "4", "axis": "1", "shape": "(2, -1)",
         "num_outputs": "2", "begin": "(0, 1)", "end": "(1, 2)", "axes": "(0, 2, 1)", "size": "(4, 4)", "scalar": "2.0", "mode": "lstm",
         "state_size": "4", "num_layers": "1", "scale": "2", "dim1": "1", "dim2": "2", "reps": "(2, 2)", "repeats": "2", "pad_width": "(0, 0, 1, 1)",
         "pooled_size": "(2, 2)", "spatial_scale": "1", "act_type": "relu", "pool_type": "max", "sample_type": "nearest", "dtype": "float32",
         "a_min": "0", "a_max": "6", "start": "0", "stop": "8", "input_dim": "10", "output_dim": "4", "output_size": "(2, 2)", "height": "4", "width": "4"}


def mxnet():
    for name in names("mxnet_ops"):
        for inputs in (1, 2, 3):
            nodes = [{"op": "null", "name": f"x{i}", "attrs": {"__shape__": "(2, 4, 8, 8)"}, "inputs": []} for i in range(inputs)]
            nodes.append({"op": name, "name": "y", "attrs": MXNET, "inputs": [[i, 0, 0] for i in range(inputs)]})
            yield json.dumps({"nodes": nodes, "arg_nodes": list(range(inputs)), "heads": [[inputs, 0, 0]]}).encode()


def ncnn():
    for name in names("ncnn_layers"):
        for inputs in (1, 2):
            lines = "".join(f"Input x{i} 0 1 x{i} 0=8 1=8 2=4\n" for i in range(inputs))
            blobs = " ".join(f"x{i}" for i in range(inputs))
            for attributes in ("0=4 1=3 2=1 3=2 4=1 5=1 6=144", "0=1 1=1 -23303=2,0,2", ""):
                yield f"7767517\n{inputs + 1} {inputs + 1}\n{lines}{name} n {inputs} 1 {blobs} y {attributes}\n".encode()
    for name in names("pnnx_ops"):
        for prefix in ("nn.", "F.", "torch.", "Tensor.", "pnnx."):
            yield (f"7767517\n3 2\npnnx.Input i 0 1 x #x=(2,4,8,8)f32\n{prefix}{name} n 1 1 x y bias=True dilation=(1,1) groups=1 in_channels=4 "
                   "in_features=8 out_features=4 kernel_size=(3,3) out_channels=4 padding=(1,1) stride=(2,2) dim=1 dims=(0,2,1,3) shape=(2,-1) "
                   "normalized_shape=(8) output_size=(1,1) num_features=4 size=(4,4) expr=add(@0,2) @weight=(4,4,3,3)f32 @bias=(4)f32 #x=(2,4,8,8)f32 "
                   "#y=(2,4,4,4)f32\npnnx.Output o 1 0 y\n").encode()


KERAS = {"filters": 4, "units": 4, "kernel_size": [3, 3], "strides": [2, 2], "pool_size": [2, 2], "padding": "same", "activation": "relu",
         "axis": -1, "axes": 1, "groups": 2, "n": 3, "dims": [2, 1], "target_shape": [-1, 8], "size": [2, 2], "height": 4, "width": 4, "cropping": [[1, 1], [1, 1]],
         "rate": 0.5, "return_sequences": True, "num_heads": 2, "key_dim": 4, "input_dim": 10, "output_dim": 4, "depth_multiplier": 1,
         "layer": {"class_name": "Dense", "config": {"name": "in", "units": 3}}, "mode": "sum", "function": "relu", "max_value": 6}


def keras_models():
    for name in names("keras_layers", "keras_ops", "keras_recurrent"):
        for shape in ([None, 8, 8, 4], [None, 8, 4], [None, 4, 4, 4, 2]):
            config = dict(KERAS, name="l", kernel_size=[3] * (len(shape) - 2), strides=[2] * (len(shape) - 2), pool_size=[2] * (len(shape) - 2),
                          batch_input_shape=shape)
            if len(shape) == 4:
                yield {"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": name, "config": config}]}}
            yield {"class_name": "Functional", "config": {"name": "m", "layers": [
                {"class_name": "InputLayer", "name": "a", "config": {"name": "a", "batch_input_shape": shape}, "inbound_nodes": []},
                {"class_name": name, "name": "l", "config": config, "inbound_nodes": [[["a", 0, 0, {}], ["a", 0, 0, {}]]]}],
                "input_layers": [["a", 0, 0]], "output_layers": [["l", 0, 0]]}}


def keras():
    for model in keras_models():
        yield json.dumps(model).encode()


def ints(*values):
    return {"list": {"i": [str(v) for v in values]}}


TENSORFLOW = {"T": {"type": "DT_FLOAT"}, "dtype": {"type": "DT_FLOAT"}, "strides": ints(1, 2, 2, 1), "ksize": ints(1, 2, 2, 1), "padding": {"s": "U0FNRQ=="},
              "data_format": {"s": "TkhXQw=="}, "axis": {"i": "1"}, "N": {"i": "2"}, "num": {"i": "2"}, "num_split": {"i": "2"}, "block_size": {"i": "2"},
              "keep_dims": {"b": True}, "f": {"func": {"name": "g"}}, "then_branch": {"func": {"name": "g"}}, "else_branch": {"func": {"name": "g"}},
              "cond": {"func": {"name": "g"}}, "body": {"func": {"name": "g"}}, "equation": {"s": "YWIsYmMtPmFj"}, "frame_name": {"s": "Zg=="}}


def tensorflow_nodes():
    dims = {2: (2, 8), 4: (2, 8, 8, 4)}
    for name in names("tf_ops", "tf_ops_nn", "tf_ops_move", "tf_control"):
        for rank, inputs in ((4, 1), (4, 3), (2, 2), (2, 6)):
            shape = {"shape": {"dim": [{"size": str(d)} for d in dims[rank]]}}
            nodes = [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": shape}},
                     {"name": "c", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {"tensor": {
                         "dtype": "DT_INT32", "tensorShape": {"dim": [{"size": "2"}]}, "intVal": [1, 0]}}}}]
            read = (["x", "x", "c"] if rank == 4 else ["x", "c", "c", "c", "x", "x"])[:inputs]
            nodes.append({"name": "y", "op": name, "input": read, "attr": TENSORFLOW})
            yield nodes


def tfjs():
    library = {"function": [{"signature": {"name": "g", "inputArg": [{"name": "a"}], "outputArg": [{"name": "r"}]},
                             "nodeDef": [{"name": "relu", "op": "Relu", "input": ["a"]}], "ret": {"r": "relu:activations:0"}}]}
    for nodes in tensorflow_nodes():
        yield json.dumps({"format": "graph-model", "modelTopology": {"node": nodes, "library": library}, "weightsManifest": []}).encode()
    for model in keras_models():
        yield json.dumps({"format": "layers-model", "modelTopology": {"keras_version": "2.4.0", "model_config": model}, "weightsManifest": []}).encode()


def torch_rows():
    seen = set()
    for path in sorted(FRONT.glob("torch/torch_aten_*.c")):
        for name, arguments, rule in TORCH_ROW.findall(path.read_text()):
            if rule not in seen:
                seen.add(rule)
                yield name, arguments.split()


TENSORS = set("""input self x tensor other weight bias mat1 mat2 query key value mask src index indices running_mean running_var qkv_weight qkv_bias
 proj_weight proj_bias batch1 batch2 tensor1 tensor2 end condition hx w_ih w_hh b_ih b_hh boxes scores rois grid attn_mask""".split())
LISTS = set("size sizes shape dims kernel_size stride padding dilation output_size pad normalized_shape repeats split_sizes shifts reps".split())


def kind_of(argument):
    return "tensor" if argument in TENSORS else "tensors" if argument in ("tensors", "hidden", "params") else "ints" if argument in LISTS else \
        "real" if argument in ("eps", "alpha", "beta", "p", "scale", "momentum") else "int"


def torchscript():
    words = {"tensor": "x", "tensors": "[x, x]", "ints": "[2, 2]", "real": "0.5", "int": "1"}
    net = torchfiles.pickled({"class": "__torch__.m.Net", "training": False})
    inputs = torchfiles.pickled({"tuple": [{"tensor": [2, 4, 8, 8]}]})
    for name, arguments in torch_rows():
        for count in {1, 2, len(arguments)}:
            call = ", ".join(words[kind_of(a)] for a in arguments[:count])
            code = f"class Net(Module):\n  __parameters__ = []\n  def forward(self: __torch__.m.Net,\n    x: Tensor) -> Tensor:\n    return torch.{name}({call})\n"
            yield b"\xff#\xff".join((code.encode(), net, b"\x80\x02).", inputs))


def pt2():
    values = {"tensor": {"as_tensor": {"name": "x"}}, "tensors": {"as_tensors": [{"name": "x"}, {"name": "x"}]}, "ints": {"as_ints": [2, 2]},
              "real": {"as_float": 0.5}, "int": {"as_int": 1}}
    sizes = [{"as_int": n} for n in (2, 4, 8, 8)]
    for name, arguments in torch_rows():
        for count in {1, 2, len(arguments)}:
            node = {"target": f"torch.ops.aten.{name}.default", "inputs": [{"name": a, "arg": values[kind_of(a)]} for a in arguments[:count]],
                    "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}
            graph = {"inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "y"}}], "nodes": [node],
                     "tensor_values": {"x": {"dtype": 7, "sizes": sizes}, "y": {"dtype": 7, "sizes": sizes}}, "sym_int_values": {}}
            signature = {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                         "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}
            yield json.dumps({"graph_module": {"graph": graph, "signature": signature}, "schema_version": {"major": 8, "minor": 14},
                              "torch_version": "2.9.1"}).encode()


SEEDS = {"darknet": darknet, "caffe": caffe, "mxnet": mxnet, "ncnn": ncnn, "keras": keras, "tfjs": tfjs, "torchscript": torchscript, "pt2": pt2}
