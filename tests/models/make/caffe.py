#!/usr/bin/env python3
"""Makes Caffe networks with every layer that Sooth maps. PyTorch's operators give their shapes, because Caffe has no
package.

    python caffe.py        needs torch; writes tests/models/formats/caffe
"""
import torch
import torch.nn.functional as F

from by_hand import Count, write

ORIGIN = "written by hand after caffe.proto and the layers of BVLC/caffe; shapes of windows, parameters and multiply-adds by PyTorch"


class Net:
    def __init__(self, name):
        self.text, self.count, self.blobs = f'name: "{name}"\n', Count(), {}

    def input(self, name, *shape):
        dims = " ".join(f"dim: {d}" for d in shape)
        self.text += f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {dims} }} }} }}\n'
        self.blobs[name] = self.count.zeros(*shape)
        return name

    def add(self, kind, top, bottoms, y, params="", name=None):
        """One layer; y has the shape of its result."""
        bottoms = [bottoms] if isinstance(bottoms, str) else bottoms
        tops = [top] if isinstance(top, str) else top
        ys = [y] if torch.is_tensor(y) else y
        read = " ".join(f'bottom: "{b}"' for b in bottoms)
        written = " ".join(f'top: "{t}"' for t in tops)
        self.text += f'layer {{ name: "{name or tops[0]}" type: "{kind}" {read} {written} {params} }}\n'
        for t, made in zip(tops, ys):
            self.blobs[t] = self.count.keep(t, made)
        return top

    def __getitem__(self, name):
        return self.blobs[name]


def images():
    n = Net("images")
    n.input("data", 2, 6, 33, 27)
    c = n.count
    n.add("Convolution", "a", "data", c.conv(n["data"], 8, (3, 5), (2, 1), (1, 0), (1, 1), 2),
          "convolution_param { num_output: 8 kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0 group: 2 }")
    n.add("BatchNorm", "b", "a", n["a"], "batch_norm_param { eps: 0.001 }")
    c.weights(16)
    n.add("Scale", "b", "b", n["b"], "scale_param { bias_term: true }", name="scale_b")
    n.add("ReLU", "b", "b", n["b"], name="relu_b")
    n.add("Pooling", "p_max", "b", F.max_pool2d(n["b"], 3, 2, ceil_mode=True), "pooling_param { pool: MAX kernel_size: 3 stride: 2 }")
    n.add("Pooling", "p_ave", "b", F.avg_pool2d(n["b"], (2, 3), (3, 2), (0, 1), ceil_mode=True),
          "pooling_param { pool: AVE kernel_h: 2 kernel_w: 3 stride_h: 3 stride_w: 2 pad_h: 0 pad_w: 1 }")
    n.add("Pooling", "p_floor", "b", F.max_pool2d(n["b"], 3, 2), "pooling_param { pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR }")
    n.add("Pooling", "p_down", "b", F.avg_pool2d(n["b"], 3, 2), "pooling_param { pool: AVE kernel_size: 3 stride: 2 ceil_mode: false }")
    n.add("Pooling", "p_all", "b", F.adaptive_avg_pool2d(n["b"], 1), "pooling_param { pool: AVE global_pooling: true }")
    n.add("Convolution", "d", "p_max", c.conv(n["p_max"], 10, 3, 1, 2, 2, bias=False), "convolution_param { num_output: 10 kernel_size: 3 pad: 2 dilation: 2 bias_term: false }")
    n.add("ConvolutionDepthwise", "e", "d", c.conv(n["d"], 10, 3, 2, 1, 1, 10), "convolution_param { num_output: 10 kernel_size: 3 stride: 2 pad: 1 }")
    n.add("Deconvolution", "f", "e", c.deconv(n["e"], 4, 4, 2, 1, groups=2), "convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 2 }")
    c.weights(4)
    n.add("PReLU", "g", "f", n["f"])
    n.add("LRN", "g2", "g", n["g"], "lrn_param { local_size: 3 }")
    n.add("InnerProduct", "h", "g2", c.dense(n["g2"], 7), "inner_product_param { num_output: 7 }")
    n.add("InnerProduct", "i", "h", c.dense(n["h"], 5, bias=False), "inner_product_param { num_output: 5 bias_term: false }")
    n.add("Softmax", "prob", "i", n["i"])
    return n, ["p_ave", "p_floor", "p_down", "p_all", "prob"]


def more_images():
    n = Net("more_images")
    x = n.input("data", 1, 8, 12, 18)
    c = n.count
    n.add("Interp", "zoomed", x, F.interpolate(n[x], size=(7, 11)), "interp_param { height: 7 width: 11 }")
    n.add("Interp", "like", [x, "zoomed"], n["zoomed"])
    n.add("Upsample", "up", x, F.interpolate(n[x], scale_factor=3), "upsample_param { scale: 3 }")
    n.add("Resample", "resampled", x, F.interpolate(n[x], scale_factor=2), "resample_param { factor: 2.0 }")
    n.add("Reorg", "reorg", x, F.pixel_unshuffle(n[x], 2), "reorg_param { stride: 2 }")
    n.add("ShuffleChannel", "shuffled", x, n[x], "shuffle_channel_param { group: 4 }")
    c.weights(8)
    n.add("Normalize", "normed", "shuffled", n["shuffled"], "norm_param { channel_shared: false }")
    n.add("MVN", "mvn", "normed", n["normed"], "mvn_param { across_channels: true }")
    n.add("Crop", "cropped", ["mvn", "zoomed"], n["mvn"][:, :, 2:9, 3:14], "crop_param { axis: 2 offset: 2 offset: 3 }")
    n.add("Crop", "cropped_one", ["mvn", "zoomed"], n["mvn"][:, :, 1:8, 1:12], "crop_param { axis: -2 offset: 1 }")
    n.add("Slice", ["s1", "s2", "s3"], x, n[x].split([3, 1, 4], 1), "slice_param { axis: 1 slice_point: 3 slice_point: 4 }")
    n.add("Slice", ["t1", "t2"], x, n[x].chunk(2, 3), "slice_param { axis: -1 }")
    n.add("Concat", "joined", ["s1", "s3"], torch.cat([n["s1"], n["s3"]], 1))
    n.add("Concat", "joined_rows", ["t1", "t2"], torch.cat([n["t1"], n["t2"]], 2), "concat_param { axis: 2 }")
    n.add("Split", ["u1", "u2"], "s2", [n["s2"], n["s2"]])
    n.add("Tile", "tiled", "u1", n["u1"].repeat(1, 5, 1, 1), "tile_param { axis: 1 tiles: 5 }")
    n.add("Tile", "tiled_last", "u2", n["u2"].repeat(1, 1, 1, 3), "tile_param { axis: -1 tiles: 3 }")
    n.add("Permute", "permuted", "joined", n["joined"].permute(0, 2, 3, 1), "permute_param { order: 0 order: 2 order: 3 order: 1 }")
    n.add("Permute", "permuted_two", "joined", n["joined"].permute(0, 3, 1, 2), "permute_param { order: 0 order: 3 }")
    n.add("Flatten", "flat", "permuted", n["permuted"].flatten(1))
    n.add("Flatten", "flat_two", "permuted", n["permuted"].flatten(1, 2), "flatten_param { axis: 1 end_axis: 2 }")
    n.add("Flatten", "flat_end", "permuted", n["permuted"].flatten(-2, -1), "flatten_param { axis: -2 end_axis: -1 }")
    n.add("Reshape", "reshaped", "flat", n["flat"].reshape(1, 9, -1), "reshape_param { shape { dim: 0 dim: 9 dim: -1 } }")
    n.add("Reshape", "reshaped_part", x, n[x].reshape(1, 8, 6, 36), "reshape_param { axis: 2 num_axes: 2 shape { dim: 6 dim: 36 } }")
    n.add("Reshape", "reshaped_end", x, n[x].reshape(1, 8, 12, 2, 9), "reshape_param { axis: -2 num_axes: 1 shape { dim: 2 dim: 9 } }")
    outs = ["like", "up", "resampled", "reorg", "cropped", "cropped_one", "joined_rows", "tiled", "tiled_last", "permuted_two", "flat_two", "flat_end", "reshaped", "reshaped_part", "reshaped_end"]
    return n, outs


def elements():
    n = Net("elements")
    x = n.input("x", 2, 4, 5, 3)
    v = n.input("v", 2, 4)
    shape = n[x]
    for i, (kind, params) in enumerate((("AbsVal", ""), ("BNLL", ""), ("Dropout", ""), ("ELU", ""), ("Exp", ""), ("Log", ""), ("Sigmoid", ""), ("TanH", ""), ("SeLu", ""), ("Swish", ""), ("ReLU6", ""),
                                        ("ReLU", "relu_param { negative_slope: 0.1 }"), ("Power", "power_param { power: 2 scale: 3 shift: 1 }"), ("Power", "power_param { scale: 3 }"),
                                        ("Power", "power_param { shift: 3 }"), ("Power", ""), ("PReLU", "prelu_param { channel_shared: true }"))):
        x = n.add(kind, f"x{i}", x, shape, params)
    n.add("Eltwise", "sum", [x, "x0", "x1"], shape, "eltwise_param { operation: SUM coeff: 1 coeff: -1 coeff: 0.5 }")
    n.add("Eltwise", "product", ["sum", "x2"], shape, "eltwise_param { operation: PROD }")
    n.add("Eltwise", "largest", ["product", "x3"], shape, "eltwise_param { operation: MAX }")
    n.add("Scale", "scaled", ["largest", v], shape, "scale_param { axis: 0 }")
    n.count.weights(4 * 5 + 4 * 5)
    n.add("Scale", "scaled_own", "scaled", shape, "scale_param { axis: 1 num_axes: 2 bias_term: true }")
    n.add("Bias", "biased", ["scaled_own", v], shape, "bias_param { axis: 0 }")
    n.count.weights(4)
    n.add("Bias", "biased_own", "biased", shape)
    n.add("Axpy", "axpy", ["biased_own", "sum", "product"], shape)
    n.add("Reduction", "sums", "axpy", shape.sum((1, 2, 3)), "reduction_param { operation: SUM axis: 1 }")
    n.add("Reduction", "means", "axpy", shape.mean(3), "reduction_param { operation: MEAN axis: -1 }")
    n.add("Reduction", "squares", "axpy", shape.sum((2, 3)), "reduction_param { operation: SUMSQ axis: 2 }")
    n.add("Reduction", "sizes", "axpy", shape.sum((1, 2, 3)), "reduction_param { operation: ASUM axis: 1 }")
    n.add("ArgMax", "best", "axpy", shape[:, :1], "argmax_param { axis: 1 }")
    n.add("Softmax", "soft", "axpy", shape, "softmax_param { axis: 2 }")
    return n, ["sums", "means", "squares", "sizes", "best", "soft"]


def sequences():
    n = Net("sequences")
    n.input("ids", 7, 2)
    n.input("begins", 7, 2)
    c = n.count
    c.weights(50 * 10 + 10)
    n.add("Embed", "words", "ids", c.zeros(7, 2, 10), "embed_param { input_dim: 50 num_output: 10 }")
    c.weights(50 * 6)
    n.add("Embed", "more_words", "ids", c.zeros(7, 2, 6), "embed_param { input_dim: 50 num_output: 6 bias_term: false }")
    c.weights(4 * 8 * (10 + 8) + 4 * 8)
    c.macs += 7 * 2 * 4 * 8 * (10 + 8)
    n.add("LSTM", "lstm", ["words", "begins"], c.zeros(7, 2, 8), "recurrent_param { num_output: 8 }")
    n.add("InnerProduct", "rows", "lstm", c.dense(n["lstm"].flatten(0, 1), 5).reshape(7, 2, 5), "inner_product_param { num_output: 5 axis: 2 }")
    n.add("Softmax", "prob", "rows", n["rows"], "softmax_param { axis: 2 }")
    return n, ["more_words", "prob"]


def main():
    models = []
    for make in (images, more_images, elements, sequences):
        n, outputs = make()
        models.append((n.text, n.count.entry(make.__name__ + ".prototxt", [n[name] for name in outputs], predict="together")))
    write("caffe", ORIGIN, models)


if __name__ == "__main__":
    main()
