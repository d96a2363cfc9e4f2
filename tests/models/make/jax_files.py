#!/usr/bin/env python3
"""Makes formats/jax.*: functions as StableHLO text and bytecode, jax.export, HLO text and protobuf, as JAX writes them.

Needs jax (0.10.2) from PyPI. Shapes come from jax.eval_shape; multiply-adds are counted from the products and
convolutions in the jaxpr.
"""
import math
import pathlib
import tempfile

import jax
import numpy as np
from jax import export

import jax_functions
import listing


def multiply_adds(jaxpr):
    total = 0
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                total += multiply_adds(inner)
        name, out = equation.primitive.name, equation.outvars[0].aval
        if name == "dot_general":
            contracted = equation.params["dimension_numbers"][0][0]
            left = equation.invars[0].aval.shape
            total += math.prod(out.shape) * math.prod(left[axis] for axis in contracted)
        elif name == "conv_general_dilated":
            numbers = equation.params["dimension_numbers"]
            kernel = equation.invars[1].aval.shape
            taps = math.prod(kernel[axis] for axis in numbers.rhs_spec[2:])
            if all(d == 1 for d in equation.params["lhs_dilation"]):
                total += math.prod(out.shape) * taps * kernel[numbers.rhs_spec[1]]
            else:  # a transposed convolution: each element of the input meets each tap
                total += math.prod(equation.invars[0].aval.shape) * taps * kernel[numbers.rhs_spec[0]] // equation.params["feature_group_count"]
    return total


def main():
    entries, failed = [], []
    with tempfile.TemporaryDirectory() as directory:
        def put(file, data, entry):
            path = pathlib.Path(directory, file)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            entries.append({"file": file} | entry)
        for name, (function, inputs) in jax_functions.functions().items():
            given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in inputs]
            outputs = [listing.tensor(str(out.dtype).replace("float0", "bool"), out.shape) for out in jax.eval_shape(function, *given)]
            entry = {"outputs": outputs} | jax_functions.UNKNOWN.get(name, {})  # the file does not say which arguments are weights
            if name in ("convolutions", "products"):
                entry["macs"] = multiply_adds(jax.make_jaxpr(function)(*given).jaxpr)
            jitted = jax.jit(function)
            lowered = jitted.lower(*given)
            put(f"{name}.stablehlo.mlir", str(lowered.compiler_ir("stablehlo")), entry)
            hlo = lowered.compiler_ir("hlo")
            put(f"{name}.hlo.txt", hlo.as_hlo_text(), entry | {"predict": "no"})
            put(f"{name}.hlo.pb", hlo.as_serialized_hlo_module_proto(), entry | {"predict": "no"})
            try:
                exported = export.export(jitted)(*given)
                put(f"{name}.mlirbc", exported.mlir_module_serialized, entry | {"predict": "no"})
                put(f"{name}.jaxexport", bytes(exported.serialize()), entry)
            except Exception as error:
                failed.append(f"{name}: {str(error)[:200]}")
        listing.write("jax", f"jax {jax.__version__}; tests/models/make/jax_files.py", entries, directory)
    print("\n".join(failed))


if __name__ == "__main__":
    main()
