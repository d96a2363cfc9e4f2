"""The onnx package on one file: load + shape inference, timed inside this process. Run by run.py under each Python that
has the package; prints its version and the fastest and median time in microseconds of

    core      the C++ core alone: bytes in, parse, infer (non-strict, with data propagation), serialize, bytes out
    package   what a user calls: onnx.load_model_from_string and onnx.shape_inference.infer_shapes
"""
import statistics
import sys
import time

import onnx
import onnx.shape_inference
from onnx.onnx_cpp2py_export import shape_inference as core


def timed(function, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append((time.perf_counter() - start) * 1e6)
    return f"{min(times):.1f} {statistics.median(times):.1f}"


content = open(sys.argv[1], "rb").read()
length = float(sys.argv[2])
print(onnx.__version__, timed(lambda: core.infer_shapes(content, False, False, True), length),
      timed(lambda: onnx.shape_inference.infer_shapes(onnx.load_model_from_string(content), data_prop=True), length))
