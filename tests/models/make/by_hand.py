"""Shared by the scripts for formats whose framework cannot be installed: layers computed by PyTorch, on tensors without data.

A script writes the text of a model, and calls these functions for the same layers. PyTorch's operators give the shapes, from which
parameters and multiply-adds are counted.
"""
import torch
import torch.nn.functional as F

import listing


def said(tensor, dtype="float32"):
    return f"{dtype}[{','.join(map(str, tensor.shape))}]"


class Count:
    """Parameters and multiply-adds of one model, and its values by name."""

    def __init__(self):
        self.params = self.macs = 0
        self.values = {}

    def zeros(self, *shape):
        return torch.empty(shape, device="meta")

    def keep(self, name, tensor):
        self.values[name] = said(tensor)
        return tensor

    def conv(self, x, filters, kernel, stride=1, pad=0, dilation=1, groups=1, bias=True, shared=False):
        """pad: one number, (height, width) or (top, bottom, left, right)."""
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        if isinstance(pad, tuple) and len(pad) == 4:
            x, pad = F.pad(x, (pad[2], pad[3], pad[0], pad[1])), 0
        weight = self.zeros(filters, x.shape[1] // groups, *kernel)
        y = getattr(F, f"conv{len(kernel)}d")(x, weight, None, stride, pad, dilation, groups)
        self.macs += y.numel() * weight[0].numel()
        self.params += 0 if shared else weight.numel() + filters * bias
        return y

    def deconv(self, x, filters, kernel, stride=1, pad=0, more=0, groups=1, dilation=1, bias=True):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        weight = self.zeros(x.shape[1], filters // groups, *kernel)
        y = F.conv_transpose2d(x, weight, None, stride, pad, more, groups, dilation)
        self.macs += x.numel() * weight[0].numel()
        self.params += weight.numel() + filters * bias
        return y

    def dense(self, x, units, bias=True, rows=False):
        x = x if rows else x.flatten(1)
        self.params += x.shape[-1] * units + units * bias
        y = F.linear(x, self.zeros(units, x.shape[-1]))
        self.macs += y.numel() * x.shape[-1]
        return y

    def product(self, a, b):
        y = a @ b
        self.macs += y.numel() * a.shape[-1]
        return y

    def weights(self, count):
        self.params += count

    def entry(self, file, outputs, **more):
        entry = {"file": file, "outputs": [said(o) for o in outputs], "values": self.values, "params": self.params, "macs": self.macs}
        return {key: value for key, value in (entry | more).items() if value is not None}


def write(form, origin, models):
    """Writes the files and their list; models: [(text, entry)]."""
    directory = listing.FORMATS / form
    directory.mkdir(parents=True, exist_ok=True)
    for text, entry in models:
        (directory / entry["file"]).write_text(text)
    listing.write(form, origin, [entry for _, entry in models])
