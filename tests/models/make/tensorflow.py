#!/usr/bin/env python3
"""Makes formats/tensorflow.*: GraphDef (binary and text), SavedModel and TensorFlow.js files of the graphs in tensorflow_graphs.py.

Needs tensorflow (2.19.0) from PyPI. Expected for a GraphDef: the shapes of all tensors in a run; for the other formats:
those of the results. Multiply-adds are counted from these shapes. All weights are zero.
"""
import collections
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.pop(0)  # excludes this directory, because a script in it has the library's name
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from google.protobuf import json_format, text_format  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import listing  # noqa: E402
import tensorflow_graphs  # noqa: E402

DTYPES = {tf.float32: "float32", tf.int32: "int32", tf.int64: "int64", tf.bool: "bool", tf.float16: "float16"}
# These make no tensor: they pass their input on, or return something that a network does not hold.
SAME = {"Identity", "IdentityN", "StopGradient", "NoOp", "Placeholder", "Assert", "EnsureShape", "PreventGradient", "Snapshot", "CheckNumerics"}


def multiply_adds(graph, shapes):
    """Counted from the shapes of a run."""
    total = 0
    for op in graph.get_operations():
        def shape(index):
            return shapes[op.inputs[index].name]
        kind = op.type
        if kind in ("Conv2D", "Conv3D"):
            total += math.prod(shapes[op.outputs[0].name]) * math.prod(shape(1)[:-1])
        elif kind == "DepthwiseConv2dNative":
            total += math.prod(shapes[op.outputs[0].name]) * math.prod(shape(1)[:2])
        elif kind in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
            total += math.prod(shape(2)) * math.prod(shape(1)[:-1])
        elif kind == "MatMul":
            total += math.prod(shapes[op.outputs[0].name]) * shape(0)[0 if op.get_attr("transpose_a") else 1]
        elif kind in ("BatchMatMul", "BatchMatMulV2"):
            total += math.prod(shapes[op.outputs[0].name]) * shape(0)[-2 if op.get_attr("adj_x") else -1]
        elif kind == "Einsum":
            inputs, output = op.get_attr("equation").decode().split("->")
            sizes = {}
            for place, letters in enumerate(inputs.split(",")):
                sizes |= dict(zip(letters, shape(place)))
            total += math.prod(sizes.values())
    return total


def run(graph, inputs):
    """{tensor: shape} of all tensors outside loops and branches."""
    tensors = [tensor for op in graph.get_operations() for tensor in op.outputs
               if tensor.dtype in DTYPES and op.type not in ("VarHandleOp", "TensorArrayV3")]
    feed = {graph.get_tensor_by_name(f"x{i}:0"): np.zeros(shape, dtype) for i, (shape, dtype) in enumerate(inputs)}
    found = {}
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True  # every tensor is there
    config.graph_options.optimizer_options.opt_level = -1
    with tf.compat.v1.Session(graph=graph, config=config) as session:
        for tensor in tensors:
            try:
                found[tensor.name] = list(np.shape(session.run(tensor, feed)))
            except (ValueError, TypeError, tf.errors.OpError) as error:
                if tensor.shape.is_fully_defined():  # no CPU kernel, so TensorFlow's shape inference gives the shape
                    found[tensor.name] = tensor.shape.as_list()
                else:
                    print(tensor.name, str(error).splitlines()[0])
    return found


def value_name(tensor):
    name, _, index = tensor.partition(":")
    return name if index == "0" else tensor


def graph_entry(name, function, inputs, directory):
    graph = tf.Graph()
    with graph.as_default():
        given = [tf.compat.v1.placeholder(dtype, shape, name=f"x{i}") for i, (shape, dtype) in enumerate(inputs)]
        outputs = [tf.identity(result, name=f"result_{i}") for i, result in enumerate(function(*given))]
    shapes = run(graph, inputs)
    definition = graph.as_graph_def()
    for node in definition.node:
        node.attr.pop("_output_shapes", None)
    pathlib.Path(directory, f"{name}.pb").write_bytes(definition.SerializeToString())
    pathlib.Path(directory, f"{name}.pbtxt").write_text(text_format.MessageToString(definition))
    read = {tensor.name for op in graph.get_operations() for tensor in op.inputs}
    values = {value_name(tensor.name): listing.tensor(DTYPES[tensor.dtype], shapes[tensor.name])
              for op in graph.get_operations() if op.type not in SAME for tensor in op.outputs
              if tensor.name in shapes and tensor.name in read and not tensor.name.startswith(("while", "cond", "map/while"))}
    outputs = [listing.tensor(DTYPES[tensor.dtype], shapes[tensor.name]) for tensor in outputs]
    values |= {f"result_{i}": text for i, text in enumerate(outputs)}
    return outputs, values, multiply_adds(graph, shapes), definition


def saved(name, function, inputs, directory):
    module = tf.Module()
    specs = [tf.TensorSpec(shape, dtype, name=f"x{i}") for i, (shape, dtype) in enumerate(inputs)]
    module.run = tf.function(lambda *given: {f"r{i:03}": result for i, result in enumerate(function(*given))}, input_signature=specs)
    path = pathlib.Path(directory, f"{name}.saved")
    tf.saved_model.save(module, str(path), signatures=module.run.get_concrete_function())
    target = pathlib.Path(directory, f"{name}.saved_model.pb")
    target.write_bytes((path / "saved_model.pb").read_bytes())
    shutil.rmtree(path)
    return target.name


def tfjs(name, definition, directory):
    """A TensorFlow.js graph model, whose constants are in the weights manifest."""
    weights, slim = [], tf.compat.v1.GraphDef()
    slim.CopyFrom(definition)
    for node in slim.node:
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.dtype == object:
                continue
            if value.dtype == np.float32:  # integers stay in the graph, because shapes are computed from them and shards are never opened
                weights.append({"name": node.name, "shape": list(value.shape), "dtype": str(value.dtype)})
                node.attr["value"].tensor.ClearField("tensor_content")
                del node.attr["value"].tensor.float_val[:]
    topology = json_format.MessageToDict(slim)
    model = {"format": "graph-model", "generatedBy": tf.__version__, "convertedBy": None, "modelTopology": topology,
             "weightsManifest": [{"paths": ["group1-shard1of1.bin"], "weights": weights}]}
    pathlib.Path(directory, f"{name}.tfjs.json").write_text(json.dumps(model))


def main():
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        for name, (function, inputs) in tensorflow_graphs.graphs().items():
            outputs, values, macs, definition = graph_entry(name, function, inputs, directory)
            entry = {} if name in ("control", "recurrent") else {"macs": macs}
            entries.append({"file": f"{name}.pb"} | entry | {"values": values})
            entries.append({"file": f"{name}.pbtxt"} | entry | {"values": values, "predict": "no"})
            tfjs(name, definition, directory)
            entries.append({"file": f"{name}.tfjs.json"} | entry | {"values": values, "predict": "no"})
            given = [listing.tensor(np.dtype(dtype).name, shape) for shape, dtype in inputs]
            entries.append({"file": saved(name, function, inputs, directory), "inputs": given, "outputs": outputs} | entry)
        # Loops and branches of TensorFlow 1: Enter, Switch, Merge, NextIteration and Exit among the other nodes.
        tf.compat.v1.disable_control_flow_v2()
        for name, (function, inputs) in tensorflow_graphs.frames().items():
            _, values, _, _ = graph_entry(name, function, inputs, directory)
            entries.append({"file": f"{name}.pb", "values": values})
            entries.append({"file": f"{name}.pbtxt", "values": values, "predict": "no"})
        listing.write("tensorflow", f"tensorflow {tf.__version__}; tests/models/make/tensorflow.py", entries, directory)


if __name__ == "__main__":
    main()
