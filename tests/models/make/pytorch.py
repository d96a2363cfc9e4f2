#!/usr/bin/env python3
"""Makes formats/pytorch.*: groups of ATen operators, written by torch.export and as traced and scripted TorchScript.

Needs torch (2.15.0) from PyPI. Every result in forward is an output of the network, so the shape and type of each
operator's result are compared; for exported programs also those of every node in the program's metadata. Multiply-adds
are
PyTorch's own count (torch.utils.flop_counter) of a run. All weights are zero.
"""
import collections
import pathlib
import sys
import tempfile
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import listing
import pytorch_modules

warnings.filterwarnings("ignore")


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = result.values()
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, (list, tuple, collections.abc.ValuesView)) else []


def tensors(results):
    return [listing.tensor(result.dtype, result.shape) for result in results]


# These return their input, so they make no tensor in the network.
SAME = {"dropout", "feature_dropout", "alpha_dropout", "contiguous", "clone", "detach_", "lift_fresh_copy", "positive", "_conj", "fill", "fill_",
        "index_put", "index_put_", "bernoulli", "scalar_tensor", "copy_"}


def node_values(program):
    """{name: tensor} of the operators' results in an exported program that have readers."""
    found = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not node.users or getattr(node.target, "__name__", "").partition(".")[0] in SAME:
            continue
        if isinstance(value, torch.Tensor) and all(isinstance(dim, int) for dim in value.shape):
            found[node.name] = listing.tensor(value.dtype, value.shape)
    return found


def multiply_adds(module, inputs):
    """PyTorch's count with fused kernels off, because it misses products inside them."""
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        module(*inputs)
    torch.backends.mha.set_fastpath_enabled(True)
    return counter.get_total_flops() // 2


def export(module, inputs, path, dynamic):
    program = torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False)
    torch.export.save(program, path)
    return program


def main():
    entries, failed = [], []
    with tempfile.TemporaryDirectory() as directory:
        for name, case in pytorch_modules.cases().items():
            module = case.module.eval()
            for weight in list(module.parameters()) + list(module.buffers()):
                weight.data.zero_()
            try:
                with torch.no_grad():
                    outputs = flat(module(*case.inputs))
                macs = multiply_adds(module, case.inputs)
            except Exception as error:
                failed.append(f"{name}: {error}")
                continue
            common = {"outputs": tensors(outputs)}
            if case.params:
                common["params"] = sum(weight.numel() for weight in module.parameters())
            if case.macs is not False:
                common["macs"] = macs if case.macs is None else case.macs
            common |= case.more
            for way in case.ways:
                file = f"{name}.{way}"
                path = str(pathlib.Path(directory, file))
                entry = {"file": file}
                try:
                    with torch.no_grad():
                        if way.endswith("pt2"):
                            program = export(module, case.inputs, path, None)
                            entry["inputs"] = tensors(flat(case.inputs))
                            entry |= common | {"values": node_values(program)}
                        elif way == "trace.pt":
                            torch.jit.trace(module, case.inputs, check_trace=False).save(path)
                            entry |= common
                        else:
                            torch.jit.script(module).save(path)
                            names = [argument.name for argument in torch.jit.load(path).forward.schema.arguments[1:]]
                            given = [part for name, value in zip(names, case.inputs) for part in
                                     ("--shape", f"{name}={','.join(map(str, value.shape))}") if isinstance(value, torch.Tensor)]
                            entry |= {"arguments": given} | common
                except Exception as error:
                    failed.append(f"{file}: {str(error).splitlines()[0]}")
                    continue
                if case.without:
                    entry = {key: value for key, value in entry.items() if key not in case.without}
                entries.append(entry)
        listing.write("pytorch", f"torch {torch.__version__}; tests/models/make/pytorch.py", entries, directory)
    print("\n".join(failed))


if __name__ == "__main__":
    main()
