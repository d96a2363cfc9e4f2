"""TorchScript programs that return their integers as the dimensions of a tensor.

torch.jit.script keeps loops, lists, dictionaries and strings, so a reader must evaluate the program.
"""
import math
import typing

import torch
from torch import nn


def numbers(x: torch.Tensor):  # (7, 5)
    n, m = x.size(0), x.size(1)
    whole = [n + m, n - m, n * m, n // m, n % m, int(n ** 2), min(n, m), max(n, m), abs(m - n), -n + 20, n << 1, (n | 8) & 12]
    real = [n / m, float(n), n / 2.0, math.sqrt(float(m)), math.log(float(n)), math.exp(1.0), 2.0 ** m, min(1.5, 2.5), max(1.5, 2.5),
            abs(-3.5), 7.5 // 2.0, 7.5 % 2.0, math.pow(2.0, 3.0), -(-4.0), 5.5 - 2.0, 5.5 * 2.0]
    rounded = [int(real[0] * 10), math.floor(2.7), math.ceil(2.2), int(round(2.6)), int(3.9), math.floor(real[3]), math.ceil(real[4]), int(real[5])]
    a = x.new_zeros([w + 1 for w in whole[:5]])
    b = x.new_zeros([w + 1 for w in whole[5:9]])
    c = x.new_zeros([whole[9], int(real[6]), int(real[7] * 2.0), int(real[8] * 2.0)])
    d = x.new_zeros([r + 1 for r in rounded])
    e = x.new_zeros([int(r) + 1 for r in real[9:]])
    return a, b, c, d, e


def comparisons(x: torch.Tensor):  # (7, 5)
    n, m = x.size(0), x.size(1)
    r = n / 2.0
    sizes: typing.List[int] = []
    for yes in [n == m, n != m, n < m, n <= m, n > m, n >= m, r == 3.5, r != 3.5, r < 3.0, r <= 3.5, r > 3.0, r >= 4.0, n == 7 and m == 5,
                n == 1 or m == 5, not (n == 7), [n, m] == [7, 5], [n, m] != [7], "ab" == "ab", "ab" != "b", x.dim() == 2]:
        sizes.append(2 if yes else 1)
    return x.new_zeros(sizes[:10]), x.new_zeros(sizes[10:])


def lists(x: torch.Tensor):  # (7, 5)
    shape = list(x.size())
    a = [1, 2, 3]
    a.append(4)
    a.extend([5, 6])
    a += [7]
    a.insert(1, 9)
    last = a.pop()
    first = a.pop(0)
    a.reverse()
    a[0] = 8
    b = a[1:4] + a[-1:] + [3] * 2 + a[::2]
    c = a.copy()
    c.clear()
    inside = 2 if 9 in a else 3
    total = sum(b)
    less = min(b) + max(b)
    evens = [i * 2 for i in range(1, 4)]
    return (x.new_zeros([last + first, len(a), len(b), len(c) + 1]), x.new_zeros([inside, total, less]), x.new_zeros(evens), x.new_zeros(a),
            x.new_zeros(shape[::-1] if False else [shape[-1], shape[0]]))


def loops(x: torch.Tensor):  # (7, 5)
    n = 0
    for i in range(3):
        n += i
    for i in range(10, 2, -3):
        n += i
    for i in range(2, 9, 3):
        if i == 5:
            continue
        n += i
    while n > 20:
        n -= 7
        if n == 22:
            break
    outs: typing.List[torch.Tensor] = []
    for i, size in enumerate(x.size()):
        outs.append(x.new_zeros([size + i, n]))
    for a, b in zip([2, 3], [4, 5]):
        outs.append(x.new_zeros([a, b]))
    for part in x.split(3):
        outs.append(part)
    for row in outs[0]:
        n += row.size(0)
    return outs, x.new_zeros([n])


def dictionaries(x: torch.Tensor):  # (7, 5)
    d: typing.Dict[str, int] = {"a": 2, "b": 3}
    d["c"] = x.size(0)
    d["a"] = 4
    d.update({"e": 6})
    n = 0
    for key in d.keys():
        n += len(key) * d[key]
    for value in d.values():
        n += value
    for key, value in d.items():
        if key == "b":
            n += value
    by_number: typing.Dict[int, torch.Tensor] = {}
    for i in range(3):
        by_number[i] = x.new_zeros([i + 1, n])
    has = 2 if "c" in d else 1
    lacks = 2 if "z" in d else 1
    return by_number[0], by_number[2], x.new_zeros([has, lacks, len(d), len(by_number)])


def texts(x: torch.Tensor, mode: str = "wide"):  # (7, 5)
    name = mode + "_" + "x"
    n = len(name)
    if mode == "wide":
        n += 1
    elif mode == "narrow":
        n += 2
    assert mode in ["wide", "narrow"], "mode {} is not known".format(mode)
    return x.new_zeros([n, x.size(1)]) + x.sum()


def optionals(x: torch.Tensor, y: typing.Optional[torch.Tensor] = None, count: typing.Optional[int] = None):  # (7, 5)
    if y is None:
        y = x.new_zeros([2, 3])
    if count is not None:
        y = y.reshape([count])
    pair: typing.Tuple[torch.Tensor, int] = (y, 4)
    z, n = pair
    if isinstance(count, int):
        n += count
    return z + x.sum(), x.new_zeros([n, 2])


def facts(x: torch.Tensor):  # (7, 5)
    n = x.numel() + len(x) + x.dim() + x.ndim
    if x.is_floating_point():
        n += 1
    if x.is_cuda or x.is_quantized or x.requires_grad and False:
        n += 100
    y = torch.zeros([n], dtype=x.dtype, device=x.device, layout=x.layout)
    i = torch.arange(4, device=x.device)
    k = int(i.size(0)) + int(torch.tensor(3).item())
    with torch.no_grad():
        z = x.new_ones([k])
    return y, z, i.to(x.dtype), x.to(torch.float64), x.t().contiguous(), x.expand_as(x)


def sub(x: torch.Tensor, times: int) -> torch.Tensor:
    if times <= 0:
        return x
    y = torch.cat([x, x])
    if times == 1:
        return y
    return torch.cat([y, x])


def calls(x: torch.Tensor):  # (7, 5)
    if x.size(0) > 100:
        raise RuntimeError("too large")
    return sub(x, 0) + torch.zeros([1]), sub(x, 1), sub(x, 2)


def in_place(x: torch.Tensor):  # (7, 5)
    y = torch.zeros_like(x)
    y += x
    y *= 2
    y -= 1
    y /= 3
    y[0] = 1
    y[:, 1:3] = x[:, 1:3]
    y = y.add_(1).mul_(2).clamp_(0, 6).relu_()
    z = y[1:, None, ..., -1]
    w = y[2], y[2:5, 1], y[::2], y[..., 0], y[-3:-1]
    return y, z, w


class Block(nn.Module):
    scale: int

    def __init__(self, width, scale):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale


class Modules(nn.Module):
    names: typing.List[str]
    sizes: typing.Dict[str, int]

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(5, i) for i in range(3))
        self.named = nn.ModuleDict({"first": nn.Linear(5, 4), "second": nn.Linear(4, 3)})
        self.chain = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Dropout(0.5), nn.LayerNorm(6))
        self.names = ["first", "second"]
        self.sizes = {"first": 4}
        self.extra: typing.Optional[torch.Tensor] = None
        self.register_buffer("table", torch.zeros(9, 2))

    @torch.jit.export
    def helper(self, x: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            x = torch.cat([x, x], 1)
        return x

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x) if i % 2 == 0 else block(x) + x
        for layer in self.named.values():
            x = layer(x)
        x = self.chain(x)
        if self.training:
            x = x.repeat(2, 1)
        if self.extra is not None:
            x = x + self.extra
        return self.helper(x, len(self.names)), self.table[:self.sizes["first"]]


PROGRAMS = {function.__name__: function for function in
            (numbers, comparisons, lists, loops, dictionaries, texts, optionals, facts, calls, in_place)}
PROGRAMS["modules"] = Modules()
UNKNOWN = {"in_place": ["aten::copy"]}  # a write to a slice has no operator of its own
