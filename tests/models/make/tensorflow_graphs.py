"""Graphs with TensorFlow's operators and unusual attributes. Each function takes placeholders and returns results."""
import numpy as np
import tensorflow as tf

R = tf.raw_ops
IMAGE, LINE, VOLUME = (2, 13, 11, 6), (2, 17, 6), (2, 5, 7, 6, 4)


def zeros(*shape, dtype=np.float32):
    return tf.constant(np.zeros(shape, dtype))


def convolutions(x, volume):
    return [R.Conv2D(input=x, filter=zeros(3, 2, 6, 10), strides=[1, 2, 1, 1], padding="SAME"),
            R.Conv2D(input=x, filter=zeros(3, 2, 6, 10), strides=[1, 1, 3, 1], padding="VALID"),
            R.Conv2D(input=x, filter=zeros(3, 3, 6, 4), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1]),
            R.Conv2D(input=x, filter=zeros(3, 3, 6, 4), strides=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0]),
            R.Conv2D(input=x, filter=zeros(3, 3, 2, 9), strides=[1, 1, 1, 1], padding="SAME"),
            R.BiasAdd(value=R.Conv2D(input=x, filter=zeros(1, 1, 6, 4), strides=[1, 1, 1, 1], padding="SAME"), bias=zeros(4)),
            R.DepthwiseConv2dNative(input=x, filter=zeros(3, 5, 6, 2), strides=[1, 2, 2, 1], padding="SAME"),
            R.DepthwiseConv2dNative(input=x, filter=zeros(3, 2, 6, 1), strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 2, 1]),
            R.Conv2DBackpropInput(input_sizes=[2, 25, 22, 4], filter=zeros(3, 2, 4, 6), out_backprop=x, strides=[1, 2, 2, 1], padding="SAME"),
            R.Conv2DBackpropInput(input_sizes=[2, 15, 12, 4], filter=zeros(3, 2, 4, 6), out_backprop=x, strides=[1, 1, 1, 1], padding="VALID"),
            R.Conv2DBackpropInput(input_sizes=tf.concat([tf.shape(x)[:1], [26], [33, 4]], 0), filter=zeros(2, 3, 4, 6), out_backprop=x, strides=[1, 2, 3, 1], padding="VALID"),
            R.Conv3D(input=volume, filter=zeros(1, 3, 2, 4, 5), strides=[1, 1, 2, 1, 1], padding="SAME"),
            R.Conv3D(input=volume, filter=zeros(2, 3, 2, 4, 5), strides=[1, 1, 1, 1, 1], padding="VALID"),
            R.Conv3DBackpropInputV2(input_sizes=[2, 10, 7, 6, 3], filter=zeros(2, 1, 3, 3, 4), out_backprop=volume, strides=[1, 2, 1, 1, 1], padding="SAME")]


def pools(x, volume):
    most = R.MaxPoolWithArgmax(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    norm = R.FusedBatchNormV3(x=x, scale=zeros(6), offset=zeros(6), mean=zeros(6), variance=zeros(6), is_training=False)
    return [R.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"), R.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 3, 1], padding="VALID"),
            R.AvgPool(value=x, ksize=[1, 2, 4, 1], strides=[1, 3, 2, 1], padding="SAME"), R.AvgPool(value=x, ksize=[1, 2, 4, 1], strides=[1, 1, 1, 1], padding="VALID"),
            R.MaxPool3D(input=volume, ksize=[1, 2, 2, 3, 1], strides=[1, 1, 2, 2, 1], padding="SAME"), R.AvgPool3D(input=volume, ksize=[1, 2, 2, 3, 1], strides=[1, 2, 1, 2, 1], padding="VALID"),
            most.output, most.argmax, norm.y, R.LRN(input=x, depth_radius=3), R.ResizeBilinear(images=x, size=[5, 22]), R.ResizeNearestNeighbor(images=x, size=[26, 33], align_corners=True),
            R.ResizeBicubic(images=x, size=[7, 9]), R.ResizeArea(images=x, size=[6, 5]), R.ResizeBilinear(images=x, size=tf.shape(x)[1:3] * 2, half_pixel_centers=True),
            R.SpaceToDepth(input=x[:, :12, :9], block_size=3), R.DepthToSpace(input=tf.concat([x, x], 3), block_size=2), R.Pad(input=x, paddings=[[0, 0], [1, 2], [3, 0], [0, 1]]),
            R.PadV2(input=x, paddings=[[0, 1], [0, 0], [2, 0], [0, 0]], constant_values=2.0), R.MirrorPad(input=x, paddings=[[0, 0], [1, 2], [3, 0], [0, 0]], mode="REFLECT"),
            R.MirrorPad(input=x, paddings=[[1, 0], [1, 2], [3, 0], [0, 0]], mode="SYMMETRIC"), R.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=[[1, 0], [0, 1]]),
            R.BatchToSpaceND(input=tf.tile(x, [3, 1, 1, 1]), block_shape=[2, 3], crops=[[1, 2], [0, 4]]),
            R.CropAndResize(image=x, boxes=zeros(5, 4), box_ind=tf.zeros(5, tf.int32), crop_size=[4, 3]),
            R.AdjustContrastv2(images=x[..., :3], contrast_factor=2.0), R.RGBToHSV(images=x[..., :3]), R.AdjustSaturation(images=x[..., :3], scale=0.5)]


def products(a, b, m):  # (3, 5, 7), (3, 7, 4), (5, 7)
    return [R.MatMul(a=m, b=zeros(7, 9)), R.MatMul(a=m, b=zeros(9, 7), transpose_b=True), R.MatMul(a=m, b=zeros(5, 2), transpose_a=True),
            R.BatchMatMulV2(x=a, y=b), R.BatchMatMulV2(x=a, y=a, adj_y=True), R.BatchMatMulV2(x=a, y=a, adj_x=True), R.BatchMatMul(x=a, y=b),
            R.BatchMatMulV2(x=a, y=zeros(2, 1, 7, 3)), R.Einsum(inputs=[a, b], equation="bij,bjk->bik"), R.Einsum(inputs=[a, zeros(7, 2, 3)], equation="abc,cde->abde"),
            R.BiasAdd(value=R.MatMul(a=m, b=zeros(7, 9)), bias=zeros(9)), tf.tensordot(a, zeros(7, 6), [[2], [0]]), tf.linalg.matvec(m, zeros(7)), tf.nn.softmax(tf.matmul(a, a, transpose_b=True))]


UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv IsFinite IsInf IsNan Lgamma Log Log1p Neg Reciprocal Relu Relu6
    Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh""".split()
BINARY = """Add AddV2 Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mod Mul MulNoNan NotEqual Pow RealDiv SquaredDifference Sub
    TruncateDiv Xdivy Xlogy""".split()
NAMED = {"Relu": "features", "Relu6": "features", "Elu": "features", "Selu": "features", "Softplus": "features", "Softsign": "features"}


def pointwise(x, y, i):  # (2, 6, 1, 11), (13, 11), int32 (3, 1)
    results = [getattr(R, name)(**{NAMED.get(name, "x"): x}) for name in UNARY] + [getattr(R, name)(x=x, y=y) for name in BINARY if name not in ("TruncateDiv", "Mod", "FloorMod")]
    results += [R.TruncateDiv(x=i, y=i), R.FloorMod(x=x, y=y), R.Mod(x=i, y=i), R.TruncateMod(x=x, y=y), R.LeakyRelu(features=x, alpha=0.3), R.LogSoftmax(logits=x), R.Softmax(logits=y),
                R.AddN(inputs=[x, x, x]), R.AccumulateNV2(inputs=[y, y], shape=[13, 11]), R.ClipByValue(t=x, clip_value_min=0.0, clip_value_max=1.0), R.Cast(x=x, DstT=tf.int32), R.Cast(x=i, DstT=tf.float16),
                R.SelectV2(condition=x > 0, t=x, e=y), R.Select(condition=x > 0, x=x, y=x), R.LogicalAnd(x=x > 0, y=y > 1), R.LogicalOr(x=x > 0, y=y > 1), R.LogicalNot(x=x > 0), R.OnesLike(x=x), R.ZerosLike(x=i),
                R.BitwiseAnd(x=i, y=i), R.BitwiseOr(x=i, y=i), R.BitwiseXor(x=i, y=i), R.LeftShift(x=i, y=i), R.RightShift(x=i, y=i), R.StopGradient(input=x), R.FakeQuantWithMinMaxArgs(inputs=x),
                R.FakeQuantWithMinMaxVars(inputs=x, min=0.0, max=1.0), R.Igamma(a=x, x=x), R.Polygamma(a=x, x=x), R.Zeta(x=x, q=x), R.Betainc(a=x, b=x, x=x), R.Bitcast(input=i, type=tf.float32),
                R.Cumsum(x=x, axis=3, exclusive=True), R.Cumprod(x=x, axis=-1, reverse=True), tf.nn.gelu(x), tf.nn.silu(x), tf.nn.relu6(x + 3.0) / 6.0]
    return results


def reductions(x):  # (2, 13, 11, 6)
    f = x > 0
    return [R.Sum(input=x, axis=[1, 2]), R.Sum(input=x, axis=-1, keep_dims=True), R.Mean(input=x, axis=[0, 3]), R.Mean(input=x, axis=[1, 2], keep_dims=True), R.Max(input=x, axis=1), R.Min(input=x, axis=[2], keep_dims=True),
            R.Prod(input=x, axis=[-2]), R.All(input=f, axis=[1]), R.Any(input=f, axis=[1, 2], keep_dims=True), R.ArgMax(input=x, dimension=3), R.ArgMin(input=x, dimension=1, output_type=tf.int32), R.EuclideanNorm(input=x, axis=[1]),
            R.L2Loss(t=x), *R.TopKV2(input=x, k=3), tf.reduce_sum(x), tf.math.reduce_std(x, 1), tf.math.reduce_logsumexp(x, [1, 2]), tf.linalg.l2_normalize(x, 3), *tf.nn.moments(x, [1, 2]), tf.math.l2_normalize(x, -1),
            R.MatrixBandPart(input=x, num_lower=1, num_upper=-1), R.Cholesky(input=zeros(3, 4, 4) + np.eye(4, dtype=np.float32)), R.MatrixDeterminant(input=zeros(3, 4, 4)), R.MatrixInverse(input=zeros(3, 4, 4) + np.eye(4, dtype=np.float32)),
            R.SoftmaxCrossEntropyWithLogits(features=x[0, 0], labels=x[0, 0]).loss, R.SparseSoftmaxCrossEntropyWithLogits(features=x[0, 0], labels=tf.zeros(11, tf.int32)).loss]


def moves(x, i):  # (2, 13, 11, 6), int32 (4)
    n = tf.shape(x)
    return [R.Reshape(tensor=x, shape=[2, -1, 6]), tf.reshape(x, tf.stack([n[0] * n[1], -1])), R.ExpandDims(input=x, axis=-2), R.Squeeze(input=x[:1, :, :1], axis=[0, -2]), R.Squeeze(input=x[:1]), R.Transpose(x=x, perm=[3, 0, 2, 1]),
            R.ConcatV2(values=[x, x[..., :2]], axis=-1), R.Concat(concat_dim=1, values=[x, x]), R.Pack(values=[x, x], axis=2), R.Pack(values=[x, x], axis=-1), *R.Unpack(value=x, num=2, axis=0), *R.Split(axis=3, value=x, num_split=3),
            *R.SplitV(value=x, size_splits=[4, -1, 2], axis=1, num_split=3), R.Slice(input=x, begin=[0, 1, 2, 3], size=[1, -1, 4, 2]), x[:, 1:-1, ::2], x[..., 3], x[0, tf.newaxis, -3:, :, ::-1], x[:, 2:3, 4], tf.strided_slice(x, [0, 1], [2, 9], [1, 3]),
            R.Tile(input=x, multiples=[1, 2, 1, 3]), R.BroadcastTo(input=x[:, :1], shape=[3, 2, 4, 11, 6]), R.ReverseV2(tensor=x, axis=[1, -1]), R.Roll(input=x, shift=[1, 2], axis=[1, 2]), R.GatherV2(params=x, indices=i, axis=2),
            R.GatherV2(params=x, indices=tf.reshape(i, [2, 2]), axis=-1), R.GatherV2(params=x, indices=tf.reshape(i, [2, 2]), axis=1, batch_dims=1), R.Gather(params=x[0], indices=i), R.GatherNd(params=x, indices=zeros(5, 3, dtype=np.int32)), R.OneHot(indices=i, depth=9, on_value=1.0, off_value=0.0),
            R.OneHot(indices=i, depth=9, on_value=1, off_value=0, axis=0), R.ScatterNd(indices=zeros(4, 1, dtype=np.int32), updates=x[0, :4], shape=[8, 11, 6]), R.TensorScatterUpdate(tensor=x, indices=zeros(1, 1, dtype=np.int32), updates=x[:1]),
            R.TensorScatterAdd(tensor=x, indices=zeros(1, 1, dtype=np.int32), updates=x[:1]), R.ReverseSequence(input=x, seq_lengths=[1, 2], seq_dim=1, batch_dim=0), R.Shape(input=x), R.Size(input=x), R.Rank(input=x), *R.ShapeN(input=[x, x[0]]),
            R.Fill(dims=[2, 3], value=1.5), R.Fill(dims=n[1:3], value=0), R.Range(start=2, limit=11, delta=3), tf.range(n[1]), R.LinSpace(start=0.0, stop=1.0, num=7), R.InvertPermutation(x=[2, 0, 1]), R.IdentityN(input=[x, i])[1], R.MatrixSetDiag(input=x[0], diagonal=x[0, :, :6, 0]),
            R.RandomUniform(shape=[2, 3], dtype=tf.float32), R.RandomStandardNormal(shape=n[:2], dtype=tf.float32), R.TruncatedNormal(shape=[4], dtype=tf.float32), R.RandomUniformInt(shape=[3], minval=0, maxval=4), R.RandomShuffle(value=x), R.EnsureShape(input=x, shape=[2, None, 11, 6]),
            R.Where(condition=tf.constant([1, 0, 1]) > 0), tf.boolean_mask(x, tf.constant([0, 1]) > 0), tf.nn.space_to_depth(x[:, :12, :10], 2), tf.sequence_mask(i, 5), tf.meshgrid(tf.range(3), tf.range(4))[0]]


def control(x, i):  # (3, 4), int32 ()
    kept = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x), lambda: x * 2)
    known = tf.cond(tf.shape(x)[0] > 2, lambda: tf.concat([x, x], 0), lambda: x[:1])
    _, turned = tf.while_loop(lambda k, v: k < 5, lambda k, v: (k + 1, tf.tanh(tf.matmul(v, zeros(4, 4)))), (0, x))
    rows = tf.TensorArray(tf.float32, 3, element_shape=[4])
    rows = tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a.write(k, tf.gather(x, k) * 2)), (0, rows))[1].stack()
    return [kept, known, turned, rows, tf.map_fn(lambda row: row + 1, x)]


def recurrent(x):  # (5, 2, 7)
    cell = R.LSTMBlockCell(x=x[0], cs_prev=zeros(2, 4), h_prev=zeros(2, 4), w=zeros(11, 16), wci=zeros(4), wcf=zeros(4), wco=zeros(4), b=zeros(16))
    block = R.BlockLSTMV2(seq_len_max=5, x=x, cs_prev=zeros(2, 4), h_prev=zeros(2, 4), w=zeros(11, 16), wci=zeros(4), wcf=zeros(4), wco=zeros(4), b=zeros(16))
    gru = R.GRUBlockCell(x=x[0], h_prev=zeros(2, 4), w_ru=zeros(11, 8), w_c=zeros(11, 4), b_ru=zeros(8), b_c=zeros(4))
    return [cell.h, cell.cs, block.h, gru.h]


def old_control(x, n):  # (3, 4), int32 ()
    def step(k, v, last):
        return k + 1, tf.tanh(tf.matmul(v, zeros(4, 4)) + last), v
    _, turned, last = tf.while_loop(lambda k, v, u: k < n, step, (0, x, x))
    _, both, _ = tf.while_loop(lambda k, v, u: tf.logical_and(k < 7, tf.reduce_sum(v) < 1e9), step, (0, x, x))
    _, _, nested = tf.while_loop(lambda i, k, v: i < 2, lambda i, k, v: (i + 1, k, tf.while_loop(lambda j, w: j < 3, lambda j, w: (j + 1, w * 2), (0, v))[1]), (0, 0, x))
    read = tf.TensorArray(tf.float32, 3, element_shape=[4]).unstack(x)
    rows = tf.TensorArray(tf.float32, 3, element_shape=[4])
    rows = tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a.write(k, read.read(k) * 2)), (0, rows))[1]
    kept = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x), lambda: x * 2)
    return [turned, last, both, nested, rows.stack(), rows.size(), kept, tf.map_fn(lambda row: row + 1, x)]


def frames():
    return {"frames": (old_control, [((3, 4), np.float32), ((), np.int32)])}


def graphs():
    image = (IMAGE, np.float32)
    return {
        "convolutions": (convolutions, [image, (VOLUME, np.float32)]),
        "pools": (pools, [image, (VOLUME, np.float32)]),
        "products": (products, [((3, 5, 7), np.float32), ((3, 7, 4), np.float32), ((5, 7), np.float32)]),
        "pointwise": (pointwise, [((2, 6, 1, 11), np.float32), ((13, 11), np.float32), ((3, 1), np.int32)]),
        "reductions": (reductions, [image]),
        "moves": (moves, [image, ((4,), np.int32)]),
        "control": (control, [((3, 4), np.float32), ((), np.int32)]),
        "recurrent": (recurrent, [((5, 2, 7), np.float32)]),
    }
