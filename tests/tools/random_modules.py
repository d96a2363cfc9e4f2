"""Random PyTorch modules for the fresh corpus, from a grammar: layers in a chain, residuals, branches, in-place operators,
changes of type, assignments to slices. Equal seeds give equal modules."""
import functools
import random

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = [nn.ReLU, lambda: nn.ReLU(inplace=True), nn.GELU, nn.SiLU, lambda: nn.SiLU(inplace=True), nn.Hardswish, nn.Mish,
               nn.ELU, lambda: nn.LeakyReLU(0.1), lambda: nn.LeakyReLU(0.2, inplace=True), nn.Softplus, nn.Tanh, nn.Sigmoid,
               lambda: nn.GELU(approximate="tanh"), nn.Hardsigmoid, nn.SELU, nn.PReLU, nn.ReLU6]


def kind_of(seed):
    return "map" if seed % 5 < 3 else "tokens"


def inputs(seed):
    r = random.Random(seed)
    return f"float:3x{r.choice([32, 40, 48])}x{r.choice([32, 40])}" if kind_of(seed) == "map" else \
        f"float:{r.choice([16, 24, 33])}x{r.choice([48, 64, 96])}"


class Sum(nn.Module):
    """A residual: x + f(x), in one of the ways people write it."""

    def __init__(self, inner, style, width, is_map):
        super().__init__()
        self.inner, self.style = inner, style
        shape = (1, width, 1, 1) if is_map else (width,)
        if style in ("scale", "sigmoid", "exp"):
            self.scale = nn.Parameter(torch.ones(shape))

    def forward(self, x):
        y = self.inner(x)
        if self.style == "in place":
            y += x
            return y
        if self.style == "into x":
            x = x * 1
            x += y
            return x
        if self.style == "scale":
            return x + self.scale * y
        if self.style == "sigmoid":
            return x + torch.sigmoid(self.scale) * y
        if self.style == "exp":
            return x + self.scale.clamp(max=4).exp() * y
        if self.style == "add_":
            return y.add_(x)
        if self.style == "alpha":
            return torch.add(x, y, alpha=0.5)
        if self.style == "mul_":
            return x.mul(0.5).add_(y)
        return x + y


class Branches(nn.Module):
    def __init__(self, parts, style, dim):
        super().__init__()
        self.parts, self.style, self.dim = nn.ModuleList(parts), style, dim

    def forward(self, x):
        outs = [part(x) for part in self.parts]
        if self.style == "cat":
            return torch.cat(outs, self.dim)
        if self.style == "stack":
            return torch.stack(outs).sum(0)
        if self.style == "mean":
            return torch.stack(outs, 1).mean(1)
        if self.style == "max":
            return functools.reduce(torch.maximum, outs)
        out = outs[0]
        for one in outs[1:]:
            out = out * torch.sigmoid(one) if self.style == "gate" else out - one
        return out


class Function(nn.Module):
    """A step without parameters."""

    def __init__(self, name, function):
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x):
        return self.function(x)


class Squeeze(nn.Module):
    def __init__(self, width, style):
        super().__init__()
        self.style = style
        self.down, self.up = nn.Linear(width, max(width // 4, 4)), nn.Linear(max(width // 4, 4), width)

    def forward(self, x):
        s = x.mean((2, 3)) if self.style != "max" else x.amax((2, 3))
        s = self.up(F.relu(self.down(s), inplace=self.style == "in place"))
        s = torch.sigmoid(s)[:, :, None, None]
        return x * s.expand_as(x) if self.style == "expand" else x * s


class Normalize(nn.Module):
    """Norms that people write by hand."""

    def __init__(self, width, style, is_map):
        super().__init__()
        self.style, self.dim = style, 1 if is_map else -1
        shape = (1, width, 1, 1) if is_map else (width,)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        if self.style == "rms":
            return x * torch.rsqrt(x.pow(2).mean(self.dim, keepdim=True) + 1e-6) * self.weight
        if self.style == "rms float":
            y = x.float()
            return (y * torch.rsqrt(y.pow(2).mean(self.dim, keepdim=True) + 1e-6)).type_as(x) * self.weight
        if self.style == "layer":
            mean = x.mean(self.dim, keepdim=True)
            var = (x - mean).pow(2).mean(self.dim, keepdim=True)
            return (x - mean) / torch.sqrt(var + 1e-6) * self.weight + self.bias
        if self.style == "var":
            return (x - x.mean(self.dim, keepdim=True)) / (x.var(self.dim, keepdim=True, unbiased=False) + 1e-5).sqrt() * self.weight + self.bias
        if self.style == "l2":
            return F.normalize(x, dim=self.dim) * self.weight
        return x / (x.norm(dim=self.dim, keepdim=True) + 1e-6) * self.weight


class Permuted(nn.Module):
    """Channels last inside, as ConvNeXt does."""

    def __init__(self, width, hidden):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = self.fc2(F.gelu(self.fc1(self.norm(x))))
        return x.permute(0, 3, 1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads, style):
        super().__init__()
        self.heads, self.style = heads, style
        self.qkv = nn.Linear(width, 3 * width, bias=style != "no bias")
        self.proj = nn.Linear(width, width)
        self.scale = (width // heads) ** -0.5
        if style == "bias":
            self.table = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(self, x):
        b, n, c = x.shape
        if self.style == "chunk":
            q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        else:
            q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.style == "contiguous":
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        if self.style in ("fused", "chunk", "no bias"):
            y = F.scaled_dot_product_attention(q, k, v)
        elif self.style == "causal":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif self.style == "linear":
            y = F.elu(q) + 1
            y = y @ ((F.elu(k) + 1).transpose(-2, -1) @ v)
        else:
            a = (q * self.scale) @ k.transpose(-2, -1) if self.style != "after" else q @ k.transpose(-2, -1) * self.scale
            if self.style == "bias":
                a = a + self.table
            if self.style == "float":
                a = a.float().softmax(-1).type_as(v)
            else:
                a = a.softmax(-1)
            y = a @ v
        return self.proj(y.transpose(1, 2).reshape(b, n, c))


class Feed(nn.Module):
    def __init__(self, width, hidden, style):
        super().__init__()
        self.style = style
        self.up, self.down = nn.Linear(width, hidden * (2 if style in ("glu", "chunk") else 1)), nn.Linear(hidden, width)
        if style == "swiglu":
            self.gate = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        y = self.up(x)
        if self.style == "glu":
            y = F.glu(y, -1)
        elif self.style == "chunk":
            a, b = y.chunk(2, -1)
            y = F.gelu(a) * b
        elif self.style == "swiglu":
            y = F.silu(self.gate(x)) * y
        elif self.style == "relu squared":
            y = F.relu(y).square()
        elif self.style == "quick":
            y = y * torch.sigmoid(1.702 * y)
        elif self.style == "tanh":
            y = 0.5 * y * (1 + torch.tanh(0.7978845608 * (y + 0.044715 * y.pow(3))))
        else:
            y = F.gelu(y)
        return self.down(y)


def fill_slice(x):
    out = torch.zeros_like(x)
    out[..., 1:] = x[..., :-1]
    return out


def copy_half(x):
    out = x.clone()
    half = x.shape[1] // 2
    out[:, :half] = x[:, half:2 * half] * 0.5
    return out


def swap_halves(x):
    a, b = x.chunk(2, dim=1)
    return torch.cat((b, a), 1)


def shuffle(x):
    b, c, h, w = x.shape
    return x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)


MAP_STEPS = [
    ("max pool", lambda x: F.max_pool2d(x, 3, 1, 1)), ("average pool", lambda x: F.avg_pool2d(x, 3, 1, 1)),
    ("reflect", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")[:, :, 1:-1, 1:-1]), ("pad", lambda x: F.pad(x, (0, 1, 0, 1))[..., 1:, 1:]),
    ("up", lambda x: F.avg_pool2d(F.interpolate(x, scale_factor=2, mode="nearest"), 2)),
    ("bilinear", lambda x: F.avg_pool2d(F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), 2)),
    ("flip", lambda x: x.flip(-1)), ("roll", lambda x: torch.roll(x, (1, 1), (2, 3))), ("fill", fill_slice), ("copy", copy_half),
    ("swap", swap_halves), ("shuffle", shuffle), ("float", lambda x: (x.float() * 0.5).to(x.dtype)),
    ("contiguous", lambda x: x.transpose(2, 3).contiguous().transpose(2, 3)), ("clamp", lambda x: x.clamp(-6, 6)),
    ("softmax", lambda x: x * x.flatten(2).softmax(-1).view_as(x)), ("where", lambda x: torch.where(x > 0, x, 0.1 * x)),
    ("spread", lambda x: x - x.mean((2, 3), keepdim=True)), ("std", lambda x: x / (x.std((2, 3), keepdim=True) + 1e-3)),
    ("pixels", lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2)), ("in place", lambda x: (x * 0.5).add_(1).clamp_(min=0)),
    ("sqrt", lambda x: torch.sqrt(F.relu(x) + 1e-4)), ("masked", lambda x: x.masked_fill(x < -3, 0.0)),
]
TOKEN_STEPS = [
    ("roll", lambda x: x.roll(1, 1)), ("fill", fill_slice), ("copy", copy_half), ("float", lambda x: (x.float() * 0.5).to(x.dtype)),
    ("cumsum", lambda x: x + x.cumsum(1) / 10), ("softmax", lambda x: x * x.softmax(1)), ("where", lambda x: torch.where(x > 0, x, 0.1 * x)),
    ("spread", lambda x: x - x.mean(1, keepdim=True)), ("in place", lambda x: (x * 0.5).add_(1).clamp_(min=0)),
    ("conv", lambda x: F.avg_pool1d(x.transpose(1, 2), 3, 1, 1).transpose(1, 2)), ("gather", lambda x: x[:, torch.arange(x.shape[1] - 1, -1, -1)]),
    ("einsum", lambda x: torch.einsum("bnc,bmc->bnm", x, x).softmax(-1) @ x), ("repeat", lambda x: x.repeat(1, 2, 1)[:, ::2]),
    ("logsumexp", lambda x: x - x.logsumexp(-1, keepdim=True)), ("topless", lambda x: x * (x.abs() > 0.1)),
]


def map_norm(r, width):
    kind = r.choice(["batch", "batch", "batch", "group", "instance", "hand"])
    if kind == "batch":
        return nn.BatchNorm2d(width)
    if kind == "group":
        return nn.GroupNorm(r.choice([1, 4]), width)
    if kind == "instance":
        return nn.InstanceNorm2d(width, affine=r.random() < 0.5)
    return Normalize(width, r.choice(["rms", "rms float", "layer", "var", "l2", "norm"]), True)


def map_layer(r, width, depth=0):
    kind = r.randrange(9 if depth < 2 else 5)
    if kind < 2:
        window = r.choice([1, 3, 3, 5])
        groups = r.choice([1, 1, 1, width, 4])
        return nn.Sequential(nn.Conv2d(width, width, window, 1, window // 2, groups=groups, bias=r.random() < 0.5), map_norm(r, width),
                             r.choice(ACTIVATIONS)())
    if kind == 2:
        return Function(*r.choice(MAP_STEPS))
    if kind == 3:
        return Squeeze(width, r.choice(["mean", "max", "in place", "expand"]))
    if kind == 4:
        return Permuted(width, 2 * width)
    inner = nn.Sequential(*(map_layer(r, width, depth + 1) for _ in range(r.choice([1, 2]))))
    if kind < 7:
        first = nn.Conv2d(width, width, 1, bias=False)
        return Sum(nn.Sequential(first, inner, nn.Conv2d(width, width, 3, 1, 1), map_norm(r, width)), r.choice(
            ["plain", "in place", "into x", "scale", "sigmoid", "exp", "add_", "alpha", "mul_"]), width, True)
    style = r.choice(["cat", "stack", "mean", "max", "gate", "minus"])
    parts = [nn.Sequential(nn.Conv2d(width, width, r.choice([1, 3]), padding="same"), map_norm(r, width)) for _ in range(r.choice([2, 3]))]
    branches = Branches(parts, style, 1)
    return nn.Sequential(branches, nn.Conv2d(width * len(parts), width, 1)) if style == "cat" else branches


def token_layer(r, width, depth=0):
    kind = r.randrange(8 if depth < 2 else 6)
    if kind == 0:
        return nn.Sequential(nn.Linear(width, width, bias=r.random() < 0.7), r.choice(ACTIVATIONS[:-2] + ACTIVATIONS[-1:])())
    if kind == 1:
        return Function(*r.choice(TOKEN_STEPS))
    if kind < 6:
        norm = nn.LayerNorm(width) if r.random() < 0.6 else Normalize(width, r.choice(["rms", "rms float", "layer", "var", "l2"]), False)
        inner = Attention(width, 4, r.choice(["fused", "chunk", "no bias", "contiguous", "plain", "after", "bias", "float", "causal", "linear"])) \
            if kind < 4 else Feed(width, 2 * width, r.choice(["gelu", "glu", "chunk", "swiglu", "relu squared", "quick", "tanh"]))
        return Sum(nn.Sequential(norm, inner), r.choice(["plain", "plain", "in place", "into x", "scale", "exp", "add_", "alpha", "mul_"]), width, False)
    parts = [nn.Linear(width, width) for _ in range(2)]
    return Branches(parts, r.choice(["stack", "mean", "max", "gate", "minus"]), -1)


def build(name):
    seed = int(name)
    r = random.Random(f"module {seed}")
    torch.manual_seed(seed)
    if kind_of(seed) == "map":
        width = r.choice([16, 24, 32, 48])
        return nn.Sequential(nn.Conv2d(3, width, 3, r.choice([1, 2]), 1), map_norm(r, width), *(map_layer(r, width) for _ in range(r.randint(4, 9))),
                             nn.Conv2d(width, 10, 1))
    width = int(inputs(seed).split("x")[-1])
    return nn.Sequential(*(token_layer(r, width) for _ in range(r.randint(4, 8))), Function("turn", lambda x: x.transpose(1, 2)))
