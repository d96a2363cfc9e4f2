"""Modules with every ATen operator that Sooth maps, with unusual attributes."""
import dataclasses
import typing

import torch
import torch.nn.functional as F
from torch import nn

EVERY = ("pt2", "trace.pt")
SCRIPTED = ("pt2", "trace.pt", "script.pt")


@dataclasses.dataclass
class Case:
    module: nn.Module
    inputs: tuple
    ways: tuple = EVERY
    params: bool = True
    macs: typing.Any = None  # None: as PyTorch counts them; False: not compared
    more: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()


class Function(nn.Module):
    """A forward without weights."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = nn.Conv2d(6, 10, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 3))
        self.grouped = nn.Conv2d(6, 9, 3, groups=3, bias=False)
        self.depthwise = nn.Conv2d(6, 12, 5, stride=2, padding=2, groups=6)
        self.same = nn.Conv2d(6, 4, (4, 3), padding="same", dilation=(1, 2))
        self.valid = nn.Conv2d(6, 4, 3, padding="valid", stride=3)
        self.reflected = nn.Conv2d(6, 4, 3, padding=(2, 1), padding_mode="reflect")
        self.circular = nn.Conv2d(6, 4, 3, padding=(2, 1), padding_mode="circular")
        self.up = nn.ConvTranspose2d(6, 8, (3, 4), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=(2, 1))
        self.up_grouped = nn.ConvTranspose2d(6, 4, 2, stride=2, groups=2, bias=False)
        self.line = nn.Conv1d(6, 5, 4, stride=3, padding=2, dilation=2)
        self.line_same = nn.Conv1d(6, 6, 4, padding="same", groups=6)
        self.line_up = nn.ConvTranspose1d(6, 3, 4, stride=3, padding=1, output_padding=2)
        self.volume = nn.Conv3d(2, 4, (1, 3, 2), stride=(1, 2, 1), padding=(0, 1, 1), groups=2)
        self.volume_up = nn.ConvTranspose3d(2, 3, (2, 1, 3), stride=(2, 1, 2), padding=(1, 0, 1))

    def forward(self, x, line, volume):
        return (self.plain(x), self.grouped(x), self.depthwise(x), self.same(x), self.valid(x), self.reflected(x), self.circular(x), self.up(x),
                self.up_grouped(x), self.line(line), self.line_same(line), self.line_up(line), self.volume(volume), self.volume_up(volume),
                self.plain(x[0]), self.line(line[0]))


class Pools(nn.Module):
    def forward(self, x, line, volume):
        most, places = F.max_pool2d(x, 2, 2, return_indices=True)
        return (F.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0)), F.max_pool2d(x, 3, stride=2, ceil_mode=True),
                F.max_pool2d(x, 2, stride=3, padding=1, dilation=(2, 1), ceil_mode=True), F.max_pool2d(x, 3), most, places,
                F.avg_pool2d(x, (2, 3), stride=(3, 2), padding=(1, 1), count_include_pad=False), F.avg_pool2d(x, 3, 2, ceil_mode=True),
                F.avg_pool2d(x, 4, divisor_override=3), F.max_pool1d(line, 3, 2, 1, ceil_mode=True), F.max_pool1d(line, 4, dilation=2),
                F.avg_pool1d(line, 4, 3, 2), F.avg_pool1d(line, 3, ceil_mode=True), F.max_pool3d(volume, (1, 2, 3), (1, 2, 1)),
                F.avg_pool3d(volume, 2, (1, 2, 1), (0, 1, 1)), F.adaptive_avg_pool1d(line, 3), F.adaptive_avg_pool2d(x, (4, None)),
                F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool3d(volume, (1, 2, None)), F.adaptive_max_pool1d(line, 2),
                F.adaptive_max_pool2d(x, (1, 5)), F.adaptive_max_pool3d(volume, (2, 2, 1)), F.lp_pool2d(x, 2, (3, 2), stride=2), F.max_pool2d(x[0], 2),
                F.avg_pool2d(x[0], 2, 1))


class Unpools(nn.Module):
    def forward(self, x, volume):
        most, places = F.max_pool2d(x, 2, 2, return_indices=True)
        deep, there = F.max_pool3d(volume, 2, 2, return_indices=True)
        return F.max_unpool2d(most, places, 2, 2), F.max_unpool2d(most, places, 2, 2, output_size=(13, 11)), F.max_unpool3d(deep, there, 2, 2)


class Sizes(nn.Module):
    def forward(self, x, line, volume, grid):
        return (F.interpolate(x, scale_factor=2.5), F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=True),
                F.interpolate(x, scale_factor=(0.5, 3.0), mode="bilinear"), F.interpolate(x, size=(20, 3), mode="bicubic"),
                F.interpolate(x, size=(5, 6), mode="bilinear", antialias=True), F.interpolate(x, size=(5, 6), mode="bicubic", antialias=True),
                F.interpolate(x, scale_factor=0.75, mode="nearest-exact"), F.interpolate(x, size=(3, 2), mode="area"),
                F.interpolate(line, scale_factor=2), F.interpolate(line, size=31, mode="linear"), F.interpolate(line, size=5, mode="nearest-exact"),
                F.interpolate(volume, scale_factor=(1, 2, 1.5)), F.interpolate(volume, size=(3, 4, 9), mode="trilinear"),
                F.interpolate(volume, size=(3, 4, 9), mode="nearest-exact"), F.pixel_shuffle(x[:, :4], 2), F.pixel_unshuffle(x[:, :, :12, :9], 3),
                F.channel_shuffle(x, 3), F.grid_sample(x, grid), F.affine_grid(torch.zeros(2, 2, 3), [2, 6, 5, 7], align_corners=False),
                F.unfold(x, (3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 3)), F.fold(line.reshape(2, 6, 17)[:, :, :12], (7, 5), (3, 2), stride=(2, 1)),
                x.unfold(2, 3, 2), x.unfold(-1, 4, 1), F.pad(x, (1, 2)), F.pad(x, (1, -2, 0, 3)), F.pad(x, (1, 2, 3, 4, 0, 1), value=2.0),
                F.pad(x, (2, 1, 3, 4), mode="reflect"), F.pad(x, (2, 1, 3, 0), mode="replicate"), F.pad(x, (2, 1, 0, 4), mode="circular"),
                F.pad(line, (3, 4), mode="reflect"), F.pad(line, (3, 4), mode="replicate"), F.pad(volume, (1, 2, 0, 1, 1, 0), mode="replicate"),
                F.pad(volume, (1, 2, 0, 1, 1, 0), mode="reflect"))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch = nn.BatchNorm2d(6, eps=1e-3)
        self.batch_plain = nn.BatchNorm2d(6, affine=False)
        self.line = nn.BatchNorm1d(6)
        self.volume = nn.BatchNorm3d(2, track_running_stats=False)
        self.group = nn.GroupNorm(3, 6)
        self.group_plain = nn.GroupNorm(2, 6, affine=False)
        self.instance = nn.InstanceNorm2d(6, affine=True)
        self.instance_plain = nn.InstanceNorm1d(6)
        self.layer = nn.LayerNorm((13, 11))
        self.layer_plain = nn.LayerNorm(11, elementwise_affine=False)
        self.layer_scale = nn.LayerNorm(11, bias=False)
        self.rms = nn.RMSNorm(11)
        self.local = nn.LocalResponseNorm(3)
        self.weighted = torch.nn.utils.weight_norm(nn.Linear(11, 4))

    def forward(self, x, line, volume):
        return (self.batch(x), self.batch_plain(x), self.line(line), self.line(line[:, :, 0]), self.volume(volume), self.group(x),
                self.group_plain(line), self.instance(x), self.instance_plain(line), self.layer(x), self.layer_plain(x), self.layer_scale(x),
                self.rms(x), self.local(x), self.weighted(x), F.normalize(x, dim=1), F.normalize(x, p=1.0, dim=(-1)),
                F.cosine_similarity(x, x, dim=1), F.pairwise_distance(x, x, keepdim=True))


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 9)
        self.bare = nn.Linear(7, 5, bias=False)
        self.bilinear = nn.Bilinear(7, 4, 3)

    def forward(self, a, b, v, m):  # a (3, 5, 7), b (3, 7, 4), v (7), m (5, 7)
        return (self.linear(a), self.bare(m), self.linear(v), torch.matmul(a, b), torch.matmul(a, v), torch.matmul(v, b), torch.matmul(v, v),
                torch.bmm(a, b), torch.mm(m, b[0]), torch.mv(m, v), torch.dot(v, v), torch.addmm(m[:, :4], m, b[0], alpha=2.0),
                torch.baddbmm(a[:, :, :4], a, b), torch.addbmm(m[:, :4], a, b), torch.addmv(m[:, 0], m, v), torch.addr(m, m[:, 0], v),
                torch.outer(v, m[0]), torch.ger(v, v), torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,kj->kbi", a, m),
                torch.einsum("ij->j", m), torch.einsum("...ij,...jk->...ik", a, b), torch.tensordot(a, b, dims=([2], [1])),
                torch.kron(m[:2, :3], m[:3, :2]), torch.inner(m, m), torch.linalg.multi_dot([v, b[0], b[1].t(), m.t()]),
                self.bilinear(m, b[0, :5]), a @ b, m @ b, torch.cdist(a, a), torch.cdist(m, m, p=1.0))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.MultiheadAttention(12, 3, batch_first=True)
        self.cross = nn.MultiheadAttention(12, 2, bias=False, kdim=8, vdim=6)
        self.layer = nn.TransformerEncoderLayer(12, 2, dim_feedforward=20, batch_first=True, norm_first=True, activation="gelu")

    def forward(self, x, key, value, q):  # x (2, 5, 12), key (7, 2, 8), value (7, 2, 6), q (2, 3, 5, 4)
        mask = torch.ones(5, 5, dtype=torch.bool).tril()
        wide = q[:, :1].repeat(1, 6, 1, 1)
        return (self.heads(x, x, x)[0], self.heads(x, x, x, need_weights=False)[0], self.cross(x.transpose(0, 1), key, value)[0], self.layer(x),
                F.scaled_dot_product_attention(q, q, q), F.scaled_dot_product_attention(q, q, q, is_causal=True),
                F.scaled_dot_product_attention(q, q, q, attn_mask=mask), F.scaled_dot_product_attention(q, q, torch.cat((q, q), -1), scale=0.5),
                F.scaled_dot_product_attention(wide, q, q, enable_gqa=True))


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.slopes = nn.PReLU(6)

    def forward(self, x):
        return (self.slopes(x), F.celu(x, 0.5), F.elu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.glu(x, 1), F.hardsigmoid(x),
                F.hardswish(x), F.hardtanh(x, -2, 2), F.leaky_relu(x, 0.2), F.mish(x), F.relu(x), F.relu6(x), F.selu(x), torch.sigmoid(x), F.silu(x),
                F.softplus(x), F.log_softmax(x, 1), F.softmax(x, -1), F.softmax(x, 1, dtype=torch.float64), F.softmin(x, 2), F.logsigmoid(x),
                F.hardshrink(x), F.softshrink(x), F.tanhshrink(x), F.threshold(x, 0.1, 2.0), F.softsign(x), F.rrelu(x), F.dropout(x, training=False),
                F.dropout2d(x, training=False), F.alpha_dropout(x, training=False), torch.clamp(x, -1, 1), torch.clamp_min(x, 0.5),
                torch.clamp_max(x, 0.5), x.clip(0, 6))


UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor isinf isnan log log2 logical_not neg reciprocal round rsqrt
    sign sin sinh sqrt square tan tanh digamma erfc erfinv exp2 frac i0 lgamma log10 log1p logit deg2rad rad2deg nan_to_num sinc trunc angle sgn isfinite
    positive arccos arcsin arctan""".split()
BINARY = """add div true_divide eq floor_divide fmod ge gt le lt maximum minimum mul ne pow remainder sub atan2 copysign heaviside hypot logaddexp
    logaddexp2 xlogy fmax fmin logical_and logical_or logical_xor rsub""".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm".split()


def unary(x):
    return [getattr(torch, name)(x) for name in UNARY] + [torch.special.entr(x), torch.special.log_ndtr(x), torch.special.ndtr(x), torch.special.expit(x)]


def binary(x, y):  # (2, 6, 1, 11), (13, 11)
    return [getattr(torch, name)(x, y) for name in BINARY] + [
        x + 1, 2 - x, x / 3, x // 2, x ** 2, 2 ** x, x % 2, x == 1, torch.lerp(x, y, 0.3), torch.addcmul(x, y, y), torch.addcdiv(x, y, y, value=2),
        torch.where(x > 0, x, y), torch.where(x > 0, x, 0.0), x.masked_fill(x > 1, -1.0), torch.div(x, y, rounding_mode="floor"),
        torch.special.xlog1py(x, y), torch.add(x, y, alpha=3)]


def whole(i, j):  # int64 (3, 1), int32 (4)
    return [getattr(torch, name)(i, j) for name in BITS] + [
        torch.bitwise_not(i), i + j, i / j, i // 2, i > 0, (i > 0) & (j > 1), (i > 0) | (j > 1), (i > 0) ^ (j > 1), ~(i > 0), i.float(), i.to(torch.int8),
        i.double().half(), i.bool().long(), j.type_as(i), i << 1, i >> 1, torch.sum(i), torch.sum(j > 1), torch.mean(i.float()), torch.cumsum(j, 0), torch.prod(j)]


def reductions(x):  # (2, 6, 13, 11)
    return [torch.sum(x), torch.sum(x, 1), torch.sum(x, (0, -1), keepdim=True), torch.mean(x, (2, 3)), torch.mean(x), torch.prod(x, 2), torch.prod(x),
            torch.amax(x, (1, 2)), torch.amin(x, -1, keepdim=True), torch.max(x), torch.min(x), *torch.max(x, 1), *torch.min(x, -2, keepdim=True),
            torch.argmax(x), torch.argmax(x, 1), torch.argmin(x, -1, keepdim=True), torch.any(x > 0), torch.any(x > 0, 1), torch.all(x > 0, -1, keepdim=True),
            torch.std(x), torch.std(x, (1, 2)), torch.var(x, 1, unbiased=False), torch.var(x, keepdim=True, dim=(0,)), *torch.std_mean(x, 1),
            *torch.var_mean(x, (2, 3), keepdim=True), torch.logsumexp(x, (1, 2)), torch.cumsum(x, 1), torch.cumprod(x, -1), torch.logcumsumexp(x, 1),
            torch.cummax(x, 1)[0], torch.cummin(x, -1)[0], torch.norm(x), torch.norm(x, dim=1), torch.norm(x, p=1, dim=(1, 2), keepdim=True),
            torch.linalg.vector_norm(x, 3, (0, 1)), torch.linalg.matrix_norm(x), torch.linalg.norm(x, dim=1), 
            *torch.aminmax(x), *torch.aminmax(x, dim=1, keepdim=True), *torch.kthvalue(x, 2, 1), *torch.median(x, 1), torch.median(x), *torch.nanmedian(x, 2),
            *torch.mode(x, -1), torch.msort(x), torch.nanmean(x, 1), torch.nansum(x, (1, 2)), torch.quantile(x, 0.5, 1),
            torch.nanquantile(x, 0.25, -1), torch.renorm(x, 2, 0, 1.0)]


def shapes(x):  # (2, 6, 13, 11)
    flat = x.reshape(2, -1)
    return [x.reshape(2, -1, 11), x.view(12, 143), x.flatten(1, 2), x.flatten(), x.permute(0, 3, 1, 2), x.transpose(1, -1), x.movedim(1, -1),
            torch.moveaxis(x, (0, 1), (2, 0)), x.swapaxes(0, 1), x.unsqueeze(-2), x.unsqueeze(0).squeeze(0), x[:1].squeeze(), x[:1, :1].squeeze((0, 1)),
            x[:, :1].expand(-1, 4, -1, -1), x[:1].expand_as(x), torch.broadcast_to(x, (3, 2, 6, 13, 11)), x.repeat(1, 2, 1, 3), x.tile(2, 1), x.tile(1, 1, 1, 1, 2),
            x.unflatten(1, (2, -1)), flat.t(), x.flip(1, 2), torch.fliplr(x), torch.flipud(x), torch.rot90(x, 1, (2, 3)), x.roll((1, 2), (2, 3)), x.roll(3),
            torch.cat((x, x[:, :2]), 1), torch.stack((x, x), -1), torch.hstack((x, x)), torch.vstack((flat, flat)), torch.dstack((flat, flat)),
            torch.column_stack((flat, flat[:, :3])), *x.chunk(4, 1), *x.split(4, 2), *x.split((1, 5), 1), *torch.tensor_split(x, 3, 3), *torch.tensor_split(x, (2, 5), 2),
            *torch.hsplit(x, 3), *torch.vsplit(x, 2), *torch.dsplit(x, (4, 9)), *x.unbind(0), x.select(1, -1), x[:, 1:5:2], x[..., -3:], x[:, :, 2], x[:, None, :, 0],
            x.narrow(2, 3, 4), x.diagonal(0, 2, 3), torch.diag_embed(flat), torch.diag(flat[0, :5]), torch.diag(x[0, 0], 1), torch.tril(x), torch.triu(x, 1),
            torch.trace(x[0, 0]), torch.atleast_1d(x[0, 0, 0, 0]), torch.atleast_2d(x[0, 0, 0]), torch.atleast_3d(x[0, 0]), x.repeat_interleave(2, 1),
            x.repeat_interleave(3), x.ravel(), x.mT, x.adjoint(), *torch.meshgrid(x[0, 0, 0], x[0, 0, :, 0], indexing="ij"), torch.slice_scatter(x, x[:, :2], 1, 2, 4),
            torch.select_scatter(x, x[:, 0], 1, 2), torch.diagonal_scatter(x[0, 0], x[0, 0, 0]), *torch.broadcast_tensors(x[:, :1], x[:1]), x.contiguous().clone()]


def indices(x, i, j):  # (5, 6, 7), int64 (4), int64 (5, 6, 3)
    most = x.clone()
    most[1:3, 0] = 2.0
    most[:, i] = x[:, :4]
    return [x[i], x[:, i], x[i, i], x[i[:, None], :, i], x[:, :, i[None]], torch.index_select(x, 1, i), torch.gather(x, 2, j), torch.take(x, j),
            torch.take_along_dim(x, j, 2), torch.scatter(x, 2, j, 1.0), torch.scatter(x, 2, j, x), torch.scatter_add(x, 2, j, x), torch.scatter_reduce(x, 2, j, x, "amax"),
            torch.index_add(x, 1, i, x[:, :4]), torch.index_copy(x, 1, i, x[:, :4]), torch.index_fill(x, 1, i, 2.0), torch.index_put(x, (i,), x[:4]), most,
            *torch.topk(x, 3, 1), *torch.topk(x, 2, largest=False), *torch.sort(x, 1, descending=True), torch.argsort(x, 0), F.one_hot(i, 9), F.embedding(i, x[0]),
            F.embedding(j, x[0], padding_idx=0), F.embedding_bag(i[None], x[0], mode="sum"), F.embedding_bag(i, x[0], torch.tensor([0, 2])),
            torch.masked_scatter(x, x > 0, x)]


def created(x, i):  # (2, 6), int64 (3)
    return [torch.arange(5), torch.arange(2, 11, 3), torch.arange(1.0, 2.0, 0.25), torch.arange(x.shape[1] - 1, -1, -1), torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.int32),
            torch.full((2, 1), 7), torch.full((2,), 0.5), torch.zeros_like(x), torch.ones_like(i), torch.full_like(x, 2), torch.empty_like(x), x.new_zeros(4), x.new_ones(1, 2),
            x.new_full((3, 3), 1.0), torch.eye(4), torch.eye(3, 5), torch.linspace(0, 1, 7), torch.logspace(0, 1, 6), torch.hann_window(8), torch.hamming_window(5),
            torch.bartlett_window(6), torch.blackman_window(7), torch.kaiser_window(9), torch.tril_indices(4, 4), torch.triu_indices(3, 5, 1), torch.tensor(3.5), torch.tensor([1, 2]),
            torch.scalar_tensor(4), torch.rand(2, 3), torch.randn(4), torch.randint(5, (3, 2)), torch.rand_like(x), torch.randn_like(x), torch.empty(3, 2) * 0, x.new_empty(2, 2) * 0,
            torch.bernoulli(x), torch.multinomial(torch.ones(3, 5), 2), torch.normal(x, 1.0), torch.fill(x, 3.0)]


def algebra(x, s):  # (3, 8, 10), (2, 4, 4)
    return [torch.fft.fft(x), torch.fft.rfft(x), torch.fft.irfft(x), torch.fft.rfft(x, n=7, dim=1), torch.fft.fft2(x), torch.fft.rfft2(x), torch.fft.irfft2(x), torch.fft.fftn(x),
            torch.fft.rfftn(x, dim=(0, 1)), torch.fft.ifft(x), torch.fft.ifft2(x), torch.fft.hfft(x), torch.fft.ihfft(x), torch.fft.irfftn(x), torch.fft.ifftn(x),
            torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.view_as_real(torch.fft.rfft(x)), torch.fft.rfft(x).real, torch.fft.rfft(x).imag,
            torch.conj(torch.fft.fft(x)), torch.stft(x[:, 0].repeat(1, 4), 16, 5, 12, return_complex=True),
            torch.stft(x[0, 0].repeat(4), 16, return_complex=True, center=False, onesided=False), torch.linalg.det(s), torch.linalg.inv(s + torch.eye(4)), torch.linalg.cholesky(s @ s.mT + torch.eye(4)),
            torch.linalg.solve(s + torch.eye(4), s[:, :, :3]), torch.linalg.pinv(s), torch.linalg.matrix_exp(s)]


def losses(x, y, i):  # (4, 5), (4, 5), int64 (4)
    inside = torch.sigmoid(x)
    return [F.mse_loss(x, y), F.mse_loss(x, y, reduction="none"), F.l1_loss(x, y), F.smooth_l1_loss(x, y, reduction="sum"), F.huber_loss(x, y), F.cross_entropy(x, i),
            F.cross_entropy(x, i, reduction="none"), F.nll_loss(x, i), F.nll_loss(x, i, reduction="none"), F.kl_div(x, inside), F.kl_div(x, inside, reduction="none"),
            F.binary_cross_entropy(inside, inside), F.binary_cross_entropy_with_logits(x, inside, reduction="none"), F.cosine_similarity(x, y),
            x]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(7, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.narrow = nn.LSTM(7, 6, bias=False)
        self.gru = nn.GRU(7, 5, num_layers=2)
        self.both = nn.GRU(7, 3, bidirectional=True, bias=False, batch_first=True)
        self.plain = nn.RNN(7, 4)
        self.rectified = nn.RNN(7, 4, nonlinearity="relu", bidirectional=True)
        self.lstm_cell = nn.LSTMCell(7, 5)
        self.gru_cell = nn.GRUCell(7, 5)
        self.cell = nn.RNNCell(7, 5, nonlinearity="relu")
        self.smooth = nn.RNNCell(7, 5, bias=False)

    def forward(self, x):  # (4, 3, 7)
        a, (h, c) = self.lstm(x)
        b, (k, d) = self.narrow(x)
        e, f = self.gru(x)
        g, m = self.both(x, torch.zeros(2, 4, 3))
        n, o = self.plain(x)
        p, q = self.rectified(x)
        one, two = self.lstm_cell(x[0])
        return a, h, c, b, k, d, e, f, g, m, n, o, p, q, one, two, self.gru_cell(x[0]), self.cell(x[0]), self.smooth(x[0], one)


FFT = ["aten::" + name for name in """fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_irfft fft_irfft2 fft_irfftn
    fft_rfft fft_rfft2 fft_rfftn imag linalg_cholesky linalg_det linalg_inv linalg_matrix_exp linalg_pinv linalg_solve real stft view_as_real""".split()]


def unknown(*names):
    return {"unknown_operators": [f"aten::{name}" for name in names]}


def cases():
    torch.manual_seed(0)
    image, line, volume = torch.zeros(2, 6, 13, 11), torch.zeros(2, 6, 17), torch.zeros(2, 2, 5, 7, 6)
    places = torch.tensor([0, 1, 3, 2])
    return {
        "convolutions": Case(Convolutions(), (image, line, volume), SCRIPTED),
        "pools": Case(Pools(), (image, line, volume), macs=0),
        "unpools": Case(Unpools(), (image, volume), ("pt2",), macs=0, more=unknown("max_unpool2d", "max_unpool3d")),
        "sizes": Case(Sizes(), (image, line, volume, torch.zeros(2, 5, 4, 2)), macs=0, more=unknown("affine_grid_generator")),
        "norms": Case(Norms(), (image, line, volume)),
        "products": Case(Products(), (torch.zeros(3, 5, 7), torch.zeros(3, 7, 4), torch.zeros(7), torch.zeros(5, 7)), macs=False),
        "attention": Case(Attention(), (torch.zeros(2, 5, 12), torch.zeros(7, 2, 8), torch.zeros(7, 2, 6), torch.zeros(2, 3, 5, 4))),
        "activations": Case(Activations(), (image,), macs=0),
        "unary": Case(Function(unary), (image,), macs=0),
        "binary": Case(Function(binary), (torch.zeros(2, 6, 1, 11), torch.zeros(13, 11)), macs=0),
        "whole": Case(Function(whole), (torch.ones(3, 1, dtype=torch.int64), torch.ones(4, dtype=torch.int32)), macs=0),
        "reductions": Case(Function(reductions), (image,), macs=0),
        "shapes": Case(Function(shapes), (image,), macs=0),
        "indices": Case(Function(indices), (torch.zeros(5, 6, 7), places, torch.zeros(5, 6, 3, dtype=torch.int64)), macs=0, more=unknown("index")),
        "created": Case(Function(created), (torch.zeros(2, 6), torch.zeros(3, dtype=torch.int64)), macs=0, more=unknown("multinomial")),
        "algebra": Case(Function(algebra), (torch.zeros(3, 8, 10), torch.zeros(2, 4, 4)), macs=False, more={"unknown_operators": FFT}),
        "losses": Case(Function(losses), (torch.zeros(4, 5), torch.zeros(4, 5), places), macs=0),
        "recurrent": Case(Recurrent(), (torch.zeros(4, 3, 7),)),
    }
