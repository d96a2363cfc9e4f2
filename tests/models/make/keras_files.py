#!/usr/bin/env python3
"""Makes formats/keras.*: models written by Keras 3 (.keras, .h5, .json) and Keras 2 (.h5, .json), and converted to
TFLite by TensorFlow.

Needs tensorflow (2.19.0), keras (3.15.1), tf_keras (2.19.0) from PyPI. Shapes are those of a run; parameters are the
model's count without batch norm statistics. All weights are zero.
"""
import json
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
here = sys.path.pop(0)  # excludes this directory, because a script in it has the library's name
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_keras  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import keras_models  # noqa: E402
import listing  # noqa: E402

BATCH = 2


def flat(result):
    if isinstance(result, dict):
        return [leaf for part in result.values() for leaf in flat(part)]
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, (list, tuple)) else [result]


def common(model):
    inputs = [np.zeros((BATCH, *given.shape[1:]), str(getattr(given.dtype, "name", given.dtype))) for given in model.inputs]
    results = flat(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    params = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    return {"arguments": ["--batch", str(BATCH)], "outputs": [listing.tensor(np.asarray(result).dtype, result.shape) for result in results], "params": params}


def main():
    entries, failed = [], []
    with tempfile.TemporaryDirectory() as directory:
        for library, version in ((keras, "k3"), (tf_keras, "k2")):
            builders = keras_models.BOTH | (keras_models.ONLY_3 if version == "k3" else keras_models.ONLY_2)
            for name, build in builders.items():
                library.backend.clear_session()
                try:
                    model = build(library)
                except Exception as error:
                    failed.append(f"{name}.{version}: {error}")
                    continue
                for weight in model.weights:
                    weight.assign(np.zeros(weight.shape))
                entry = common(model)
                for kind in ("keras", "h5", "json"):
                    file = f"{name}.{version}.{kind}"
                    path = pathlib.Path(directory, file)
                    try:
                        path.write_text(model.to_json()) if kind == "json" else model.save(str(path))
                    except Exception as error:
                        failed.append(f"{file}: {str(error)[:200]}")
                        path.unlink(missing_ok=True)
                        continue
                    entries.append({"file": file} | entry | ({} if kind == "keras" else {"predict": "no"}))
        listing.write("keras", f"keras {keras.__version__} (k3), tf_keras {tf_keras.__version__} (k2), tensorflow {tf.__version__}; tests/models/make/keras_files.py", entries, directory)
    print("\n".join(failed))


if __name__ == "__main__":
    main()
