"""Graphs of TFLite's operators, kept small so that one failed conversion does not lose the others."""
import numpy as np
import tensorflow as tf

import tensorflow_graphs as g

R = tf.raw_ops
z = g.zeros


def convolutions(x):
    return [tf.nn.conv2d(x, z(3, 2, 6, 10), [2, 1], "SAME"), tf.nn.relu(tf.nn.conv2d(x, z(3, 2, 6, 10), [1, 3], "VALID") + z(10)), tf.nn.conv2d(x, z(3, 3, 6, 4), 1, "SAME", dilations=[2, 3]),
            tf.nn.depthwise_conv2d(x, z(3, 5, 6, 2), [1, 2, 2, 1], "SAME"), tf.nn.relu6(tf.nn.depthwise_conv2d(x, z(3, 2, 6, 1), [1, 1, 1, 1], "VALID", dilations=[2, 2])),
            tf.nn.conv2d_transpose(x, z(3, 2, 4, 6), [2, 25, 22, 4], 2, "SAME"), tf.nn.conv2d_transpose(x, z(3, 2, 4, 6), [2, 15, 12, 4], 1, "VALID"), tf.nn.conv2d(x, z(3, 3, 2, 9), 1, "SAME")]


def volumes(x):
    return [tf.nn.conv3d(x, z(1, 3, 2, 4, 5), [1, 1, 2, 1, 1], "SAME"), tf.nn.conv3d(x, z(2, 3, 2, 4, 5), [1, 1, 1, 1, 1], "VALID")]


def pools(x):
    return [tf.nn.max_pool2d(x, [3, 2], [2, 1], "SAME"), tf.nn.max_pool2d(x, [3, 2], [2, 3], "VALID"), tf.nn.avg_pool2d(x, [2, 4], [3, 2], "SAME"), tf.nn.avg_pool2d(x, [2, 4], 1, "VALID"), tf.nn.lrn(x, 3), tf.image.resize(x, [5, 22]),
            tf.compat.v1.image.resize_nearest_neighbor(x, [26, 33], align_corners=True), tf.image.resize(x, [26, 22], "nearest"), tf.nn.space_to_depth(x[:, :12, :9], 3), tf.nn.depth_to_space(tf.concat([x, x], 3), 2), tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 1]]),
            tf.pad(x, [[0, 1], [0, 0], [2, 0], [0, 0]], constant_values=2.0), tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]], "REFLECT"), tf.pad(x, [[1, 0], [1, 2], [3, 0], [0, 0]], "SYMMETRIC"), tf.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 1]]), tf.math.l2_normalize(x, -1),
            tf.nn.batch_normalization(x, z(6), z(6), z(6), z(6), 1e-3)]


def products(a, b, m):
    return [tf.matmul(m, z(7, 9)), tf.nn.relu(tf.matmul(m, z(9, 7), transpose_b=True) + z(9)), tf.matmul(a, b), tf.matmul(a, a, transpose_b=True), tf.matmul(a, a, transpose_a=True), tf.matmul(a, z(2, 1, 7, 3)), tf.einsum("bij,bjk->bik", a, b), tf.tensordot(a, z(7, 6), [[2], [0]])]


def pointwise(x, y, i):
    return [tf.abs(x), tf.math.ceil(x), tf.cos(x), tf.nn.elu(x), tf.exp(x), tf.floor(x), tf.math.log(x), -x, tf.nn.relu(x), tf.nn.relu6(x), tf.round(x), tf.math.rsqrt(x), tf.sigmoid(x), tf.sign(x), tf.sin(x), tf.sqrt(x), tf.square(x), tf.tanh(x), tf.nn.leaky_relu(x, 0.3), tf.nn.log_softmax(x), tf.nn.softmax(y),
            tf.nn.gelu(x, True), x * tf.nn.relu6(x + 3.0) / 6.0, x + y, x - y, x * y, x / y, tf.maximum(x, y), tf.minimum(x, y), tf.pow(x, y), tf.math.squared_difference(x, y), tf.math.floordiv(x, y + 1.0), tf.math.floormod(x, y + 1.0), x == y, x != y, x < y, x <= y, x > y, x >= y, tf.atan2(x, x), tf.logical_and(x > 0, y > 0),
            tf.logical_or(x > 0, y > 0), tf.logical_not(x > 0), tf.where(x > 0, x, y), tf.cast(x, tf.int32), tf.cast(i, tf.float32), tf.add_n([x, x, x]), tf.ones_like(x), tf.zeros_like(i), tf.clip_by_value(x, 0.0, 1.0), tf.clip_by_value(x, -1.0, 1.0), tf.cumsum(x, 3, exclusive=True), tf.bitwise.bitwise_xor(i, i), tf.bitwise.right_shift(i, i)]


def reductions(x):
    return [tf.reduce_sum(x, [1, 2]), tf.reduce_sum(x, -1, True), tf.reduce_mean(x, [0, 3]), tf.reduce_mean(x, [1, 2], True), tf.reduce_max(x, 1), tf.reduce_min(x, 2, True), tf.reduce_prod(x, -2), tf.reduce_any(x > 0, 1), tf.reduce_all(x > 0, [1, 2], True), tf.argmax(x, 3), tf.argmin(x, 1, tf.int32), *tf.math.top_k(x, 3), tf.reduce_sum(x)]


def moves(x, i):
    n = tf.shape(x)
    return [tf.reshape(x, [2, -1, 6]), tf.reshape(x, tf.stack([n[0] * n[1], -1])), tf.expand_dims(x, -2), tf.squeeze(x[:1, :, :1], [0, 2]), tf.transpose(x, [3, 0, 2, 1]), tf.concat([x, x[..., :2]], -1), tf.stack([x, x], 2), *tf.unstack(x, axis=0), *tf.split(x, 3, 3), *tf.split(x, [4, 7, 2], 1), tf.slice(x, [0, 1, 2, 3], [1, -1, 4, 2]), x[:, 1:-1, ::2],
            x[..., 3], x[0, tf.newaxis, -3:, :, ::-1], tf.strided_slice(x, [0, 1], [2, 9], [1, 3]), tf.tile(x, [1, 2, 1, 3]), tf.broadcast_to(x[:, :1], [3, 2, 4, 11, 6]), tf.reverse(x, [1]), tf.gather(x, i, axis=2), tf.gather(x, tf.reshape(i, [2, 2]), axis=-1), tf.gather(x, tf.reshape(i, [2, 2]), axis=1, batch_dims=1), tf.gather_nd(x, z(5, 3, dtype=np.int32)), tf.one_hot(i, 9),
            tf.one_hot(i, 9, axis=0), tf.scatter_nd(z(4, 1, dtype=np.int32), x[0, :4], [8, 11, 6]), tf.reverse_sequence(x, [1, 2], 1, 0), n, tf.size(x), tf.rank(x), tf.fill(n[1:3], 0), tf.range(n[1]), tf.where(tf.constant([1, 0, 1]) > 0), tf.linalg.diag(x[0, 0]), tf.linalg.set_diag(x[0], x[0, :, :6, 0]), tf.roll(x, 2, 1), tf.sequence_mask(i, 5), tf.nn.embedding_lookup(z(9, 5), i)]


def control(x, i):
    kept = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x), lambda: x * 2)
    _, turned = tf.while_loop(lambda k, v: k < 5, lambda k, v: (k + 1, tf.tanh(tf.matmul(v, z(4, 4)))), (0, x))
    return [kept, turned, x + tf.cast(i, tf.float32)]


def quantized(x):
    y = tf.nn.relu(tf.nn.conv2d(x, z(3, 3, 6, 40), 2, "SAME") + z(40))
    y = tf.nn.depthwise_conv2d(y, z(3, 3, 40, 1), [1, 1, 1, 1], "VALID") + z(40)
    w = tf.nn.max_pool2d(tf.concat([y, y], 3), 2, 2, "SAME")
    w = tf.pad(w, [[0, 0], [1, 0], [0, 1], [0, 0]]) + 1.0
    return [tf.nn.softmax(tf.matmul(tf.reduce_mean(w, [1, 2]), z(80, 30)) + z(30)), tf.image.resize(y, [9, 7]), tf.sigmoid(y), tf.nn.leaky_relu(y), tf.reshape(y, [2, -1])]


def graphs():
    f, i = np.float32, np.int32
    image = ((2, 13, 11, 6), f)
    return {"convolutions": (convolutions, [image]), "volumes": (volumes, [((2, 5, 7, 6, 4), f)]), "pools": (pools, [image]), "products": (products, [((3, 5, 7), f), ((3, 7, 4), f), ((5, 7), f)]),
            "pointwise": (pointwise, [((2, 6, 1, 11), f), ((13, 11), f), ((3, 1), i)]), "reductions": (reductions, [image]), "moves": (moves, [image, ((4,), i)]), "control": (control, [((3, 4), f), ((), i)])}


MORE = {"pointwise": {"unknown_operators": ["ATAN2"]},
        "moves": {"unknown_operators": ["MATRIX_DIAG", "MATRIX_SET_DIAG", "REVERSE_SEQUENCE"]},
        "lines": {"predict": "no", "note": "lists of tensors in loops have no shape that a prediction could use"}}
