#!/usr/bin/env python3
"""Makes formats/onnx-nodes.*: the node tests of the onnx package: every operator in every version, with all its
attributes.

Needs onnx (1.23.2) from PyPI. Expected shapes and types are those of the tests' reference results. Each test has its
inputs as graph inputs. If their values decide a result's shape, or a result is a few integers, a second copy has them
as constants; folded integers become a shape, so that `inspect` shows them.
"""
import pathlib
import re
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

import listing

SMALL = 2048  # largest number of elements of a constant in the file
FOLDED = 8  # largest number of elements of a result that becomes a shape

WHOLE = (numpy.int64, numpy.int32, numpy.bool_)
# Their results are not folded, because no exporter computes shapes with them.
NOT_FOLDED = {"BitShift", "CumProd", "Loop"}
# The size of these results depends on real numbers or pixels, which Sooth does not read.
BY_NUMBERS = {"NonMaxSuppression", "ImageDecoder", "Unique"}
LEFT_OUT = {
    "test_constant": "nothing runs",
    "test_gathernd_example_int32_batch_dim1": "batches are not folded",
    "test_reduce_max_empty_set_bool": "a maximum of nothing",
}


def names():
    return {value: name.lower() for name, value in TensorProto.DataType.items()}


DTYPE = names() | {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}


def text(value, info):
    """A result in the lists' notation; None if it is not a tensor."""
    if not info.type.HasField("tensor_type") or isinstance(value, (list, tuple)) or value is None:
        return None
    if isinstance(value, TensorProto):
        shape = list(value.dims)
    else:
        shape = list(numpy.asarray(value).shape)
    return listing.tensor(DTYPE[info.type.tensor_type.elem_type], shape)


def as_tensor(value, name):
    if isinstance(value, TensorProto):
        copy = TensorProto()
        copy.CopyFrom(value)
        copy.name = name
        return copy
    return numpy_helper.from_array(numpy.asarray(value), name)


def blank(tensor):
    """Replaces weights, whose values do not matter, by zeros of the same size."""
    if tensor.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16) and numpy.prod(tensor.dims, dtype=int) > 8:
        return numpy_helper.from_array(numpy.zeros(tuple(tensor.dims), helper.tensor_dtype_to_np_dtype(tensor.data_type)), tensor.name)
    return tensor


def with_constants(model, inputs, outputs):
    """The same model with constants as inputs; None if they are too large or not tensors."""
    graph = model.graph
    if len(inputs) != len(graph.input) or not inputs or graph.sparse_initializer:
        return None
    tensors = []
    for value, info in zip(inputs, graph.input):
        if value is None or isinstance(value, (list, tuple)) or not info.type.HasField("tensor_type"):
            return None
        tensor = as_tensor(value, info.name)
        if tensor.data_type == TensorProto.STRING or numpy.prod(tensor.dims, dtype=int) > SMALL:
            return None
        tensors.append(tensor)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.input[:]
    shapes = []
    folds = all(numpy_helper.to_array(tensor).dtype in WHOLE for tensor in tensors) and not {node.op_type for node in graph.node} & NOT_FOLDED
    opset = next((entry.version for entry in copy.opset_import if entry.domain == ""), 0)
    for info, value in zip(graph.output, outputs):
        array = None if isinstance(value, (TensorProto, list, tuple)) or value is None else numpy.asarray(value)
        if array is not None and array.dtype in WHOLE and folds and 0 < array.size <= FOLDED and opset >= 11:
            numbers = array.astype(numpy.int64).reshape(-1)
            if numbers.max() - numbers.min() < 10 ** 5:
                shift = 1 - int(numbers.min())
                name = f"{info.name}_told"
                copy.graph.initializer.append(numpy_helper.from_array(numpy.array([-1], numpy.int64), name + "_row"))
                copy.graph.initializer.append(numpy_helper.from_array(numpy.array(shift, numpy.int64), name + "_shift"))
                copy.graph.node.append(helper.make_node("Cast", [info.name], [name + "_whole"], to=TensorProto.INT64))
                copy.graph.node.append(helper.make_node("Reshape", [name + "_whole", name + "_row"], [name + "_flat"]))
                copy.graph.node.append(helper.make_node("Add", [name + "_flat", name + "_shift"], [name + "_sum"]))
                copy.graph.node.append(helper.make_node("ConstantOfShape", [name + "_sum"], [name]))
                shapes.append((helper.make_tensor_value_info(name, TensorProto.FLOAT, None), [int(n) + shift for n in numbers]))
    copy.graph.initializer.extend(tensors if shapes else [blank(tensor) for tensor in tensors])
    copy.graph.output.extend(info for info, _ in shapes)
    return copy, [listing.tensor("float32", shape) for _, shape in shapes]


def without_shapes(model):
    """Removes the shapes of results from the file, so that they must be inferred."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.producer_name = ""
    for info in copy.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return copy


def is_inferred(model, wanted):
    """True if the shapes follow from the inputs' shapes, by onnx's inference; otherwise they depend on data."""
    found = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output
    for info, text in zip(found, wanted):
        shape = info.type.tensor_type.shape
        if not info.type.tensor_type.HasField("shape") or not all(dim.HasField("dim_value") for dim in shape.dim):
            return False
        if not text.endswith("[" + ",".join(str(dim.dim_value) for dim in shape.dim) + "]"):
            print("onnx infers another shape than its reference:", model.graph.name, text, [dim.dim_value for dim in shape.dim])
    return True


def main():
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        for test in sorted(collect_testcases(None), key=lambda test: test.name):
            if test.model is None or test.kind != "node" or not test.data_sets or test.name in LEFT_OUT:
                continue
            inputs, outputs = list(test.data_sets[0])
            inputs, outputs = list(inputs), list(outputs)
            model = without_shapes(test.model)
            wanted = [text(value, info) for value, info in zip(outputs, model.graph.output)]
            ops = {node.op_type for node in model.graph.node}
            if None in wanted or ops & BY_NUMBERS:
                continue
            name = re.sub("^test_", "", test.name)
            by_data = not is_inferred(model, wanted)
            if not by_data:
                pathlib.Path(directory, f"{name}.onnx").write_bytes(model.SerializeToString())
                entries.append({"file": f"{name}.onnx", "outputs": wanted,
                                "predict": "no" if ops & {"OptionalGetElement", "OptionalHasElement"} else "together"})
            constant = with_constants(model, inputs, outputs)
            if constant and (by_data or constant[1]):
                model, told = constant
                pathlib.Path(directory, f"{name}.constant.onnx").write_bytes(model.SerializeToString())
                entries.append({"file": f"{name}.constant.onnx", "outputs": wanted + told, "predict": "no"})
        listing.write("onnx-nodes", f"onnx {onnx.__version__}, its node tests; tests/models/make/onnx_nodes.py", entries, directory)


if __name__ == "__main__":
    main()
