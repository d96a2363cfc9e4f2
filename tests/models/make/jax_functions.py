"""JAX functions whose lowered programs use the StableHLO and HLO operators that Sooth maps."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def z(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def conv(x, w, strides, pads, **more):
    return lax.conv_general_dilated(x, w, strides, pads, **more)


def convolutions(x, line, volume):  # (2, 6, 13, 11), (2, 6, 17), (2, 4, 5, 7, 6)
    last = jnp.transpose(x, (0, 2, 3, 1))
    return [conv(x, z(10, 6, 3, 2), (2, 1), ((1, 2), (0, 3))), conv(x, z(9, 2, 3, 3), (1, 1), "SAME", feature_group_count=3), conv(x, z(4, 6, 3, 3), (1, 1), "VALID", rhs_dilation=(2, 3)),
            conv(x, z(12, 1, 5, 5), (2, 2), "SAME", feature_group_count=6), conv(last, z(3, 3, 6, 4), (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            conv(x, z(4, 6, 3, 4), (1, 1), ((2, 1), (3, 0)), lhs_dilation=(2, 3)), lax.conv_transpose(last, z(3, 4, 6, 5), (2, 3), "SAME"), lax.conv_transpose(last, z(2, 3, 6, 5), (2, 2), "VALID"),
            conv(line, z(5, 6, 4), (3,), ((2, 2),), rhs_dilation=(2,)), conv(volume, z(6, 2, 1, 3, 2), (1, 2, 1), "SAME", feature_group_count=2)]


def windows(x):  # (2, 13, 11, 6)
    return [lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 0), (0, 2), (0, 0))),
            lax.reduce_window(x, 0.0, lax.add, (1, 2, 4, 1), (1, 3, 2, 1), "VALID") / 8.0, lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 1), (1, 1, 1, 1), "VALID", window_dilation=(1, 2, 3, 1)),
            jnp.cumsum(x, 1), lax.cummax(x, 2), jnp.cumprod(x, -1), jax.image.resize(x, (2, 7, 20, 6), "nearest"), jax.image.resize(x, (2, 26, 22, 6), "bilinear"),
            lax.pad(x, 0.0, ((0, 0, 0), (1, 2, 0), (0, -1, 1), (0, 0, 2))), jnp.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0)), mode="reflect"), jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)), mode="edge")]


def products(a, b, m, v):  # (3, 5, 7), (3, 7, 4), (5, 7), (7)
    return [m @ z(7, 9), a @ b, a @ v, jnp.dot(v, v), jnp.einsum("bij,bjk->bik", a, b), jnp.einsum("bij,kj->kbi", a, m), jnp.einsum("bij,bkj->bik", a, a), jnp.tensordot(a, z(7, 6, 2), 1), jnp.outer(v, v), jnp.inner(m, m), jnp.matmul(m.T, m), jnp.einsum("abc,cde->adbe", a, z(7, 2, 3)),
            lax.dot_general(a, a, (((1,), (1,)), ((0,), (0,)))), jax.nn.softmax(m @ m.T), jnp.vdot(m, m), jnp.kron(m[:2, :2], m[:2, :3]),
            (m @ z(7, 9).astype(np.float32)).astype(jnp.bfloat16) @ z(9, 3).astype(jnp.bfloat16)]


UNARY = "abs ceil cos exp expm1 floor log log1p negative sign sin sqrt tan tanh cbrt isfinite square reciprocal arctan arcsin sinh cosh".split()
BINARY = "add subtract multiply divide maximum minimum power arctan2 remainder equal not_equal less less_equal greater greater_equal hypot logaddexp".split()


def pointwise(x, y, i, j):  # (2, 6, 1, 11), (13, 11), int32 (3, 1), int32 (4)
    return [getattr(jnp, name)(x) for name in UNARY] + [getattr(jnp, name)(x, y) for name in BINARY] + [
        lax.rsqrt(x), lax.logistic(x), lax.erf(x), lax.erf_inv(x), lax.lgamma(x), lax.digamma(x), lax.round(x), lax.clamp(0.0, x, 1.0), lax.integer_pow(x, 3), jnp.where(x > 0, x, y), i + j, i & j, i | j, i ^ j, ~i, i << 1, i >> 1, lax.shift_right_logical(i, 1), i // 2, i % 3, lax.population_count(i), x.astype(jnp.float16), i.astype(jnp.float32), (x > 0) & (x < 1),
        ~(x > 0), lax.bitcast_convert_type(i, jnp.float32), jax.nn.relu(x), jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x), jax.nn.leaky_relu(x), jax.nn.elu(x), jax.nn.softplus(x), jax.nn.relu6(x), jax.nn.hard_swish(x), lax.reduce_precision(x, 5, 10), lax.nextafter(x, x), lax.stop_gradient(x)]


def reductions(x):  # (2, 13, 11, 6)
    return [x.sum(), x.sum(1), x.sum((0, -1), keepdims=True), x.mean((1, 2)), x.max(-1), x.min((1, 2)), x.prod(2), x.var(1), x.std((1, 2)), jnp.argmax(x, 3), jnp.argmin(x, 1), jnp.any(x > 0, 1), jnp.all(x > 0), jax.nn.softmax(x), jax.nn.log_softmax(x, 1), jax.nn.logsumexp(x, (1, 2)), jnp.linalg.norm(x, axis=-1), (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
            *lax.top_k(x, 3), jnp.sort(x, 1), jnp.argsort(x, -1), jax.nn.standardize(x), jnp.median(x, 1), jnp.count_nonzero(x, 2)]


def moves(x, i):  # (2, 13, 11, 6), int32 (4)
    return [x.reshape(2, -1, 6), x.transpose(3, 0, 2, 1), jnp.broadcast_to(x[:, :1], (3, 2, 4, 11, 6)), jnp.concatenate([x, x[..., :2]], -1), jnp.stack([x, x], 2), x[:, 1:-1:2], x[..., -1], x[0, :, None, ::3], jnp.flip(x, (1, -1)), jnp.roll(x, 2, 1), jnp.tile(x, (1, 2, 1, 3)), jnp.repeat(x, 3, 1), jnp.take(x, i, 2), jnp.take(x, i.reshape(2, 2), -1),
            x[i[:2], i[2:]], jnp.take_along_axis(x, jnp.zeros((2, 3, 11, 6), int), 1), x.at[:, 0].set(1.0), x.at[:, i].add(2.0), x.at[0, 1, 2].max(3.0), lax.dynamic_slice(x, (0, i[0], 0, 0), (2, 5, 11, 6)), lax.dynamic_update_slice(x, x[:, :3], (0, i[1], 0, 0)), jnp.arange(7) + i[0], jax.nn.one_hot(i, 9), jnp.tril(x[0, 0]), jnp.eye(5) * x[0, 0, 0, 0], jnp.squeeze(x[:1, :1]),
            jnp.split(x, [2, 5], 1)[1], jnp.expand_dims(x, (0, -1)), jnp.linspace(0, 1, 6) + x[0, 0, 0], x[:, ::-1, ::2], jnp.diagonal(x, 0, 1, 2), jnp.rot90(x, 1, (1, 2)), jnp.fft.fft(x, axis=1), jnp.fft.rfft(x, axis=-1), jnp.fft.irfft(x, axis=2), jax.random.normal(jax.random.key(0), (3, 4)), jnp.meshgrid(x[0, 0, 0], x[0, 0, :, 0])[0]]


def control(x, i):  # (3, 4), int32 ()
    w = z(4, 4)
    turned = lax.fori_loop(0, 5, lambda k, v: jnp.tanh(v @ w), x)
    last, rows = lax.scan(lambda sum, row: (sum + row, sum * row @ w), jnp.zeros(4), x)
    chosen = lax.cond(i > 0, lambda v: v @ w, lambda v: v * 2, x)
    switched = lax.switch(i, [lambda v: v + 1, lambda v: v @ w, lambda v: -v], x)
    found = lax.while_loop(lambda v: v.sum() > 10, lambda v: v / 2, x)
    return [turned, last, rows, chosen, switched, found, lax.map(lambda row: row @ w, x), jax.vmap(lambda row: w @ row)(x), jax.jit(lambda v: v + 1)(x), jax.checkpoint(lambda v: jnp.sin(v))(x)]


# Negative and interior pads, window minima, lookups along several axes: shapes are compared, costs are not.
UNKNOWN = {"windows": {"unknown_operators": ["pad", "reduce_window"], "predict": "no"}, "moves": {"unknown_operators": ["fft", "gather"], "predict": "no"}}


def functions():
    f, i = np.float32, np.int32
    image = ((2, 13, 11, 6), f)
    return {
        "convolutions": (convolutions, [((2, 6, 13, 11), f), ((2, 6, 17), f), ((2, 4, 5, 7, 6), f)]),
        "windows": (windows, [image]),
        "products": (products, [((3, 5, 7), f), ((3, 7, 4), f), ((5, 7), f), ((7,), f)]),
        "pointwise": (pointwise, [((2, 6, 1, 11), f), ((13, 11), f), ((3, 1), i), ((4,), i)]),
        "reductions": (reductions, [image]),
        "moves": (moves, [image, ((4,), i)]),
        "control": (control, [((3, 4), f), ((), i)]),
    }
