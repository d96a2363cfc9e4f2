#!/usr/bin/env python3
"""PaddlePaddle: ProgramDesc, PIR and Paddle.js programs: the share that is read, shapes against the files'
declarations, operators, parameters and multiply-adds against the framework's own.

    paddle.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import sys

import corpus

# One operator of the file becomes one of these.
SAME = {
    "Conv": ("conv2d", "depthwise_conv2d"),
    "ConvTranspose": ("conv2d_transpose",),
    "BatchNormalization": ("batch_norm", "batch_norm_"),
    "LayerNormalization": ("layer_norm",),
    "MaxPool+AveragePool+GlobalMaxPool+GlobalAveragePool": ("pool2d",),
    "Relu": ("relu",),
    "Concat": ("concat",),
    "HardSwish": ("hard_swish",),
    "Gelu": ("gelu",),
    "Softmax": ("softmax",),
    "MatMul": ("matmul", "matmul_v2", "mul"),
}

# Files that differ, and why.
BRANCHES = {"branch_loop": "the branch depends on data: both sides are counted, the oracle counts the one that ran"}
NOT_COUNTED = ("picodet",       # Netron counts the operators of all blocks; branches decided by shapes are not taken
               "lstm_lm", "vit_tiny.dyn", "unet_small")  # Concat also joins sizes and states


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/paddle")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("paddle" if not only else "paddle-part")
    paths = corpus.files_under(("paddle", "made/paddle"), (".pdiparams",))
    files = corpus.Format(report, "paddle", paths, lambda path: ("--batch", "1") if ".dyn" in path.name else (), only)
    files.check_read(0.98)
    files.check_declared(0.98)
    files.check_counts(SAME, NOT_COUNTED)
    files.check_totals(BRANCHES)
    report.end()


if __name__ == "__main__":
    main()
