#!/usr/bin/env python3
"""CoreML neural networks and ML programs: the share that is read, shapes against those that programs declare, operators
against Netron and the converter, multiply-adds against the framework.

    coreml.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import sys

import corpus

# One operator of the file becomes one of these.
SAME = {
    "Conv+ConvTranspose": ("conv", "conv_transpose", "convolution"),
    "LayerNormalization": ("layer_norm",),
    "MaxPool+AveragePool+GlobalAveragePool": ("max_pool", "avg_pool", "pooling"),
    "Clip": ("clip",),
    "Softmax": ("softmax", "softmaxND"),
    "Gelu": ("gelu",),
    "LSTM": ("lstm", "uniDirectionalLSTM"),
    "MatMul": ("matmul", "linear", "innerProduct", "batchedMatmul"),
}

# The reference counts the PyTorch module's parameters. Files have fewer: batch norms are folded, the two biases of
# recurrent layers are merged, and equal constants of programs (all zero) are merged. Files with random weights remain:
# 12 of 24 positions of 16 features are kept; one bias of 48 is gone; the program holds initial states of 12 and 12.
PARAMS = {"tiny_bert": 5968 - 12 * 16, "tiny_lstm.ct9.0.mlmodel": 1095 - 48, "tiny_lstm.ct9.0.mlpackage": 1095 - 48 + 24}

# Netron counts the operators of a loop's body separately.
NOT_COUNTED = ("adamsro",)


def params_of(path, _):
    return next((count for part, count in PARAMS.items() if part in str(path)), None)


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/coreml")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("coreml" if not only else "coreml-part")
    paths = corpus.files_under(("coreml", "made/coreml"), (".bin", "Manifest.json"))
    files = corpus.Format(report, "coreml", paths, lambda path: ("--batch", "1") if "adamsro" in str(path) else (), only)
    files.check_read(0.9)
    files.check_declared(0.9)
    files.check_counts(SAME, NOT_COUNTED)
    files.check_totals({"tiny_lstm": "the states that sequences begin with are constants and no parameters"}, params_of)
    report.end()


if __name__ == "__main__":
    main()
