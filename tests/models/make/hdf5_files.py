#!/usr/bin/env python3
"""Makes formats/hdf5.*: a Keras network, and files of weights alone, in the variants of HDF5: old and new headers,
strings in the header or in a heap, groups with a few or hundreds of members.

Needs h5py (3.16.0) from PyPI. The network and its expected values come from formats/keras.tar.xz.
"""
import json
import pathlib
import tarfile
import tempfile

import h5py
import numpy as np

import listing

DEEPEST = {"earliest": 9, "latest": 31}  # deepest nesting of groups that is read; a group of the old form counts as three levels
SHAPES = {"conv/kernel:0": (3, 3, 4, 8), "conv/bias:0": (8,), "deep/er/than/that/gamma:0": (16,), "scalar": ()}


def network():
    entries = json.loads((listing.FORMATS / "keras.json").read_text())["models"]
    entry = min((e for e in entries if e["file"].endswith(".k2.json")), key=lambda e: e["params"])
    with tarfile.open(listing.FORMATS / "keras.tar.xz") as archive:
        return archive.extractfile(entry["file"]).read().decode(), {key: entry[key] for key in ("arguments", "outputs", "params")}


def main():
    config, expected = network()
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        def put(name, version, fill, entry):
            with h5py.File(pathlib.Path(directory, name), "w", libver=version) as file:
                fill(file)
            entries.append({"file": name} | entry | {"predict": "no"})

        def with_config(value, others=0):
            def fill(file):
                for i in range(others):  # more than fit into the first block of the header
                    file.attrs[f"other{i}"] = "x" * 40
                file.attrs["model_config"] = value
            return fill

        for version in ("earliest", "v108", "latest"):
            put(f"heap.{version}.h5", version, with_config(config), expected)
            put(f"fixed.{version}.h5", version, with_config(np.bytes_(config)), expected)
            put(f"few.{version}.h5", version, with_config(config, 6), expected)

            def weights(file):
                for path, shape in SHAPES.items():
                    file.create_dataset(path, shape, "f4")
                file.create_dataset("half", (5, 7), "f2")
                file.create_dataset("double", (5, 3), "f8")
                file.create_dataset("whole", (11,), "i8")
                file.create_dataset("text", data="not a weight")
            put(f"weights.{version}.h5", version, weights, {"params": sum(int(np.prod(s)) for s in SHAPES.values()) + 35 + 15 + 11})

        def deep(levels):
            return lambda file: file.create_dataset("/".join(["g"] * levels) + "/w", (2, 3), "f4")
        for version, levels in DEEPEST.items():
            put(f"deep.{version}.h5", version, deep(levels), {"params": 6})

        def many(file):
            for i in range(600):
                file.create_dataset(f"layer{i}/w", (2, 3), "f4")
        put("many.h5", "earliest", many, {"params": 600 * 6})
        listing.write("hdf5", f"h5py {h5py.__version__}: the shapes that it was given; keras.json for the network", entries, directory)


if __name__ == "__main__":
    main()
