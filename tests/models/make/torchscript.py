#!/usr/bin/env python3
"""Makes formats/torchscript.*: TorchScript programs (torchscript_programs.py), with PyTorch's shapes. The files do not
state the type of x.

Needs torch (2.15.0) from PyPI. All weights are zero.
"""
import pathlib
import tempfile

import torch

import listing
import pytorch
import torchscript_programs


class Program(torch.nn.Module):
    """Wraps a function in a module, because torch.jit.save takes only modules."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor):
        return self.function(x)


def main():
    entries, x = [], torch.zeros(7, 5)
    with tempfile.TemporaryDirectory() as directory:
        for name, program in torchscript_programs.PROGRAMS.items():
            module = program if isinstance(program, torch.nn.Module) else Program(torch.jit.script(program))
            module = module.eval()
            for weight in list(module.parameters()) + list(module.buffers()):
                weight.data.zero_()
            scripted = torch.jit.script(module)
            file = f"{name}.pt"
            scripted.save(str(pathlib.Path(directory, file)))
            with torch.no_grad():
                outputs = pytorch.flat(scripted(x))
            unknown = torchscript_programs.UNKNOWN.get(name)
            entries.append({"file": file, "arguments": ["--shape", "x=7,5"], "outputs": [listing.tensor("", output.shape) for output in outputs],
                            "params": sum(weight.numel() for weight in module.parameters())} | ({"unknown_operators": unknown} if unknown else {}))
        listing.write("torchscript", f"torch {torch.__version__}; tests/models/make/torchscript.py", entries, directory)


if __name__ == "__main__":
    main()
