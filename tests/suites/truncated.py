#!/usr/bin/env python3
"""A small file of each format, truncated at every length: read, or refused with one line that says what to do, within
two seconds each."""
import gzip
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import cases
import hostile
import refused
import torchfiles
from flatfile import ADD, RELU, tflite
from onnxtext import model

LEAST_REFUSED = 0.2  # share of the lengths; a text truncated between two layers is a valid network


def files_of(test, number, kind):
    """The file that the step of this kind writes in case `number` of a text test."""
    for step, _, body, *_ in cases.parse(hostile.TESTS / f"cases/{test}.test")[number].steps:
        if step == kind:
            text = "\n".join(body)
            yield torchfiles.archive(text) if kind == "zip" else bytes.fromhex(re.sub(r"#.*", "", text)) if kind == "hex" else text.encode()


def case(test, name, kind):
    for number, each in enumerate(cases.parse(hostile.TESTS / f"cases/{test}.test")):
        if name in each.name:
            return next(files_of(test, number, kind))
    raise SystemExit(f"{test}.test has no case '{name}'")


def files():
    onnx = model("input x float32[1,3,8,8]\ninit w float32[4,3,3,3]\ny = Conv(x, w) pads=[1,1,1,1]\nz = Relu(y)\noutput z")
    yield "ONNX", onnx
    yield "ONNX in gzip", gzip.compress(onnx)
    yield "TFLite", tflite([(2, 4)] * 3, [(RELU, [0], [1]), (ADD, [0, 1], [2])], [0], [2])
    yield "TensorFlow", case("tensorflow", "channels last, weights as in the file", "file")
    yield "Keras", case("tensorflow", "a sequential model from its configuration", "file")
    yield "Keras archive", refused.archive(("metadata.json", b"{}"), ("config.json", case("tensorflow", "a sequential model from", "file")))
    yield "TensorFlow.js", case("tensorflow", "weights have their shapes in the manifest", "file")
    yield "TorchScript", refused.torchscript()
    yield "torch.export", refused.archive(("m/models/model.json", refused.pt2([("x", "y")])))
    yield "Darknet", case("layer_formats", "Darknet: layers by their sections", "file")
    yield "Caffe", case("layer_formats", "Caffe: layers over what they read", "file")
    yield "MXNet", case("layer_formats", "MXNet: weights from the shape", "file")
    yield "ncnn", case("layer_formats", "ncnn: blobs without a batch", "file")
    yield "pnnx", case("layer_formats", "pnnx: PyTorch's names", "file")
    yield "Paddle", case("paddle", "a PIR program", "file")
    yield "Paddle.js", case("paddle", "Paddle.js", "file")
    yield "OpenVINO", case("openvino", "a convolution with constants", "file")
    yield "CoreML program", case("coreml", "a program: weights", "hex")
    yield "CoreML network", case("coreml", "a neural network of the first version", "hex")
    yield "StableHLO", case("hlo", "StableHLO: a linear layer", "file")
    yield "HLO", case("hlo", "the same in HLO text", "file")
    yield "HLO as protobuf", case("hlo", "HLO as protobuf: what the text says", "hex")
    yield "configuration", case("language", "a configuration builds the graph", "file")
    sizes = {"block_count": 2, "embedding_length": 64, "feed_forward_length": 128, "attention.head_count": 4, "vocab_size": 100}
    yield "GGUF", hostile.gguf(hostile.gguf_text("general.architecture") + struct.pack("<I", 8) + hostile.gguf_text("llama") + b"".join(
        hostile.gguf_text(f"llama.{key}") + struct.pack("<II", 4, n) for key, n in sizes.items()), 1 + len(sizes))
    yield "safetensors", case("language", "safetensors have weights alone", "hex")


def results():
    tool = hostile.BUILD / "tests/tools/truncated"
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "whole")
        for name, content in files():
            pathlib.Path(path).write_bytes(content)
            wrong = hostile.judge(path, hostile.LIMIT_S, (0,))
            done = subprocess.run([tool, path, str(hostile.LIMIT_S)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            said = re.match(r"(\d+) refused", done.stdout)
            if done.returncode or not said:
                wrong = wrong or f"exit code {done.returncode}: {done.stdout[-1000:]}"
            elif int(said[1]) < LEAST_REFUSED * len(content):
                wrong = wrong or f"hardly anything is refused: {done.stdout}"
            yield f"{name}: {len(content)} lengths", wrong


if __name__ == "__main__":
    sys.exit(hostile.tell(results()))
