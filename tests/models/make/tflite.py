#!/usr/bin/env python3
"""Makes formats/tflite.*: the graphs of tensorflow_graphs.py and models of keras_models.py, written by TensorFlow's
converter, also quantized.

Needs tensorflow (2.19.0), tf_keras (2.19.0) from PyPI. The interpreter gives the shapes of all tensors after a run. All
weights
are zero.
"""
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.pop(0)  # excludes this directory, because a script in it has the library's name
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_keras  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import keras_models  # noqa: E402
import listing  # noqa: E402
import tensorflow_graphs  # noqa: E402
import tflite_graphs  # noqa: E402


def convert(function, specs, quantize=None):
    concrete = tf.function(function, input_signature=specs).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    if quantize:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "int8":
            converter.representative_dataset = lambda: ([np.zeros(spec.shape, spec.dtype.as_numpy_dtype) for spec in specs] for _ in range(2))
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tf.int8
        elif quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
    return converter.convert()


def entry_of(model):
    """The interpreter's shapes after a run, without the delegate that fuses operators."""
    interpreter = tf.lite.Interpreter(model_content=model, experimental_preserve_all_tensors=True,
                                      experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
    interpreter.invoke()

    def text(detail):
        shape = interpreter.get_tensor(detail["index"]).shape
        return listing.tensor(np.dtype(detail["dtype"]).name, shape)
    made = {index for op in interpreter._get_ops_details() for index in op["outputs"]}
    values = {}
    for detail in interpreter.get_tensor_details():
        if detail["index"] in made and detail["name"]:
            try:
                values[detail["name"]] = text(detail)
            except ValueError:
                pass
    return {"outputs": [text(detail) for detail in interpreter.get_output_details()], "values": values}


def main():
    entries, failed = [], []
    with tempfile.TemporaryDirectory() as directory:
        def add(name, function, inputs, quantize=None, **more):
            specs = [tf.TensorSpec(shape, dtype, name=f"x{i}") for i, (shape, dtype) in enumerate(inputs)]
            try:
                model = convert(function, specs, quantize)
                entry = entry_of(model)
            except Exception as error:
                failed.append(f"{name}: {str(error)[:300]}")
                return
            pathlib.Path(directory, f"{name}.tflite").write_bytes(model)
            entries.append({"file": f"{name}.tflite"} | entry | more)
        for name, (function, inputs) in tflite_graphs.graphs().items():
            add(name, function, inputs, **tflite_graphs.MORE.get(name, {}))
        for kind in ("int8", "float16", "dynamic"):
            add(f"convolutions.{kind}", tflite_graphs.quantized, [((2, 13, 11, 6), np.float32)], kind)
        for name in ("sequential", "merges", "lines"):
            tf_keras.backend.clear_session()
            model = keras_models.BOTH[name](tf_keras)
            for weight in model.weights:
                weight.assign(np.zeros(weight.shape))
            inputs = [((2, *given.shape[1:]), given.dtype.as_numpy_dtype) for given in model.inputs]
            add(f"keras-{name}", lambda *given, model=model: model(list(given) if len(given) > 1 else given[0], training=False), inputs,
                **tflite_graphs.MORE.get(name, {}))
        listing.write("tflite", f"tensorflow {tf.__version__}, tf_keras {tf_keras.__version__}; tests/models/make/tflite.py", entries, directory)
    print("\n".join(failed))


if __name__ == "__main__":
    main()
