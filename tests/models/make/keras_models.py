"""Keras models, for Keras 2 and 3, with every layer that Sooth maps."""


def images(keras):
    k = keras.layers
    x = keras.Input((13, 11, 6))
    outputs = [
        k.Conv2D(10, (3, 2), strides=(2, 1), padding="same")(x), k.Conv2D(4, 3, dilation_rate=(2, 3), activation="relu")(x), k.Conv2D(9, 3, groups=3, use_bias=False)(x),
        k.Conv2DTranspose(4, (3, 4), strides=(2, 3), padding="same")(x), k.Conv2DTranspose(4, (3, 2), strides=(2, 3), use_bias=False)(x), k.Conv2DTranspose(4, 3, strides=2, output_padding=1)(x),
        k.DepthwiseConv2D((3, 5), strides=2, padding="same", depth_multiplier=2)(x), k.DepthwiseConv2D(3, use_bias=False)(x), k.SeparableConv2D(7, (3, 2), depth_multiplier=3, padding="same")(x),
        k.SeparableConv2D(5, 3, strides=2, use_bias=False)(x), k.MaxPooling2D((3, 2), strides=(2, 1), padding="same")(x), k.MaxPooling2D(3)(x), k.AveragePooling2D((2, 4), strides=3)(x), k.AveragePooling2D(2, padding="same")(x),
        k.GlobalAveragePooling2D()(x), k.GlobalMaxPooling2D(keepdims=True)(x), k.ZeroPadding2D(((1, 2), (3, 0)))(x), k.ZeroPadding2D(2)(x), k.Cropping2D(((1, 2), (3, 0)))(x), k.UpSampling2D((2, 3))(x),
        k.UpSampling2D(2, interpolation="bilinear")(x), k.Resizing(7, 9)(x), k.CenterCrop(8, 6)(x), k.Rescaling(0.5, 1.0)(x), k.BatchNormalization()(x), k.BatchNormalization(epsilon=0.01)(x), k.LayerNormalization()(x),
        k.LayerNormalization(axis=[1, 2], center=False)(x), k.GroupNormalization(3)(x), k.SpatialDropout2D(0.2)(x), k.Flatten()(x), k.Permute((3, 1, 2))(x), k.Reshape((-1, 6))(x), k.Dense(5)(x), k.PReLU(shared_axes=[1, 2])(x), k.PReLU()(x),
        k.LeakyReLU()(x), k.ELU()(x), k.ReLU(6.0)(x), k.ReLU(negative_slope=0.1)(x), k.Softmax(1)(x), k.GaussianNoise(0.1)(x), k.Dropout(0.3)(x), k.Activation("gelu")(x), k.Activation("swish")(x), k.Activation("hard_sigmoid")(x),
        k.Activation("softmax")(x), k.Activation("selu")(x), k.Activation("exponential")(x), k.Activation("softsign")(x), k.Activation("softplus")(x), k.Activation("tanh")(x), k.Activation("linear")(x), k.Activation("relu6" if keras.__version__ > "3" else "relu")(x)]
    return keras.Model(x, outputs)


def lines(keras):
    k = keras.layers
    x, ids = keras.Input((17, 6)), keras.Input((9,), dtype="int32")
    outputs = [
        k.Conv1D(5, 4, strides=3, padding="same")(x), k.Conv1D(5, 4, dilation_rate=2, padding="causal")(x), k.Conv1D(6, 3, groups=2)(x), k.Conv1DTranspose(3, 4, strides=3, padding="same")(x), k.DepthwiseConv1D(3, strides=2)(x),
        k.SeparableConv1D(7, 3, padding="same")(x), k.MaxPooling1D(3, 2, padding="same")(x), k.MaxPooling1D(4)(x), k.AveragePooling1D(4, strides=3)(x), k.GlobalAveragePooling1D()(x), k.GlobalMaxPooling1D()(x), k.ZeroPadding1D((2, 3))(x),
        k.Cropping1D((1, 4))(x), k.UpSampling1D(3)(x), k.RepeatVector(4)(k.Flatten()(x)), k.TimeDistributed(k.Dense(8))(x), k.Embedding(30, 12)(ids), k.Masking()(x), k.SpatialDropout1D(0.1)(x),
        k.LSTM(5)(x), k.LSTM(4, return_sequences=True, use_bias=False)(x), k.GRU(5, return_sequences=True)(x), k.GRU(4, reset_after=False)(x), k.SimpleRNN(6, return_sequences=True)(x), k.Bidirectional(k.LSTM(3, return_sequences=True))(x),
        k.Bidirectional(k.GRU(3), merge_mode="sum")(x), *k.LSTM(4, return_state=True)(x), k.RNN(k.LSTMCell(3), return_sequences=True)(x), k.RNN([k.GRUCell(3), k.SimpleRNNCell(2)])(x),
        k.MultiHeadAttention(3, 4)(x, x), k.MultiHeadAttention(2, 5, value_dim=3, output_shape=8, use_bias=False)(x, k.Conv1D(6, 3)(x)), k.Attention()([x, x]), k.AdditiveAttention()([x, k.MaxPooling1D(2)(x)])]
    return keras.Model([x, ids], outputs)


def volumes(keras):
    k = keras.layers
    x = keras.Input((5, 7, 6, 4))
    outputs = [k.Conv3D(5, (1, 3, 2), strides=(1, 2, 1), padding="same")(x), k.Conv3D(6, 2, groups=2, use_bias=False)(x), k.Conv3DTranspose(3, (2, 1, 3), strides=(2, 1, 2))(x), k.MaxPooling3D((1, 2, 3))(x), k.AveragePooling3D(2, padding="same")(x),
               k.GlobalAveragePooling3D()(x), k.GlobalMaxPooling3D()(x), k.ZeroPadding3D((1, 0, 2))(x), k.Cropping3D(((1, 0), (2, 1), (0, 3)))(x), k.UpSampling3D((1, 2, 3))(x), k.SpatialDropout3D(0.1)(x)]
    return keras.Model(x, outputs)


def merges(keras):
    k = keras.layers
    x, y = keras.Input((7, 6)), keras.Input((7, 6))
    z = k.Dense(6)(y)
    outputs = [k.Add()([x, z, y]), k.Subtract()([x, z]), k.Multiply()([x, z]), k.Average()([x, z]), k.Maximum()([x, z]), k.Minimum()([x, z]), k.Concatenate()([x, z]), k.Concatenate(axis=1)([x, z]), k.Dot((2, 2))([x, z]), k.Dot(1)([x, z]),
               k.Dot((2, 2), normalize=True)([x, z]), x + z, x * 2.0, x - z, x / 3.0, -x]
    return keras.Model([x, y], outputs)


def nested(keras):
    k = keras.layers
    block = keras.Sequential([keras.Input((8,)), k.Dense(8, activation="relu"), k.BatchNormalization(), k.Dense(8)], name="block")
    x = keras.Input((8,))
    inner = keras.Model(x, [k.Add()([x, block(x)]), k.Dense(3)(x)], name="inner")
    y = keras.Input((8,))
    first, second = inner(y)
    again, _ = inner(first)
    return keras.Model(y, {"first": again, "second": k.Concatenate()([second, again])})


def sequential(keras):
    k = keras.layers
    return keras.Sequential([keras.Input((12, 10, 3)), k.Conv2D(4, 3, activation="relu"), k.MaxPooling2D(), k.Dropout(0.5), k.Flatten(), k.Dense(10, activation="softmax")])


def wrapped(keras):
    """Layers and models that run at each step of a sequence."""
    k = keras.layers
    x, rows = keras.Input((5, 9, 8, 3)), keras.Input((4, 6))
    part = keras.Sequential([keras.Input((9, 8, 3)), k.Conv2D(4, 3, activation="relu"), k.GlobalAveragePooling2D()], name="part")
    outputs = [k.TimeDistributed(k.Conv2D(6, 3, strides=2, padding="same"))(x), k.TimeDistributed(part)(x), k.TimeDistributed(k.Flatten())(x), k.TimeDistributed(k.Activation("relu"))(rows),
               k.TimeDistributed(k.Dropout(0.2))(rows), k.TimeDistributed(k.MaxPooling2D(2))(x), k.Softmax()(rows), k.PReLU()(rows), k.Normalization(mean=0.0, variance=1.0)(rows),
               k.BatchNormalization(axis=1)(rows), k.BatchNormalization(scale=False, center=False)(rows), k.ConvLSTM2D(4, 3, return_sequences=True)(x)]
    return keras.Model([x, rows], outputs)


def local(keras):
    """Layers that Keras 3 removed."""
    k = keras.layers
    x, y = keras.Input((9, 8, 3)), keras.Input((11, 4))
    return keras.Model([x, y], [k.LocallyConnected2D(5, (3, 2), strides=(2, 1), activation="relu")(x), k.LocallyConnected1D(6, 3, use_bias=False)(y), k.ThresholdedReLU(0.5)(y)])


def norms(keras):
    k = keras.layers
    x = keras.Input((7, 6))
    return keras.Model(x, [k.RMSNormalization()(x), k.UnitNormalization()(x), k.GroupNormalization(2)(x), k.LayerNormalization(scale=False)(x), k.GroupQueryAttention(4, 4, 2)(x, x)])


def operations(keras):
    """keras.ops of Keras 3 in a functional model."""
    o = keras.ops
    x = keras.Input((7, 6))
    outputs = [o.abs(x), o.exp(x), o.log(x), o.sqrt(x), o.tanh(x), o.sigmoid(x), o.relu(x), o.gelu(x), o.softmax(x), o.ceil(x), o.floor(x), o.sin(x), o.cos(x), o.sign(x), o.round(x), o.power(x, 2.0), o.maximum(x, 0.5), o.minimum(x, 0.5), o.sum(x, 1), o.mean(x, -1, keepdims=True),
               o.max(x, 1), o.min(x), o.matmul(x, o.transpose(x, (0, 2, 1))), o.transpose(x, (0, 2, 1)), o.expand_dims(x, 2), x[:, 1:5:2], x[:, 0], x[:, :, -1:], o.concatenate([x, x], 1), o.leaky_relu(x), o.elu(x), o.silu(x), o.softplus(x), o.hard_sigmoid(x), o.reciprocal(x), o.arctan(x), o.erf(x)]
    return keras.Model(x, outputs)


BOTH = {"images": images, "lines": lines, "volumes": volumes, "merges": merges, "nested": nested, "sequential": sequential, "wrapped": wrapped}
ONLY_2 = {"local": local}
ONLY_3 = {"operations": operations, "norms": norms}
