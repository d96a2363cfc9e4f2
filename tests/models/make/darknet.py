#!/usr/bin/env python3
"""Makes Darknet configurations with every section. PyTorch's operators give their shapes, because Darknet has no
package.

    python darknet.py        needs torch; writes tests/models/formats/darknet
"""
import torch
import torch.nn.functional as F

from by_hand import Count, write

ORIGIN = "written by hand after the sources of AlexeyAB/darknet; shapes of windows, parameters and multiply-adds by PyTorch"


class Net:
    def __init__(self, head):
        self.text, self.results, self.count = "[net]\n" + head + "\n", [], Count()

    def add(self, section, y, **options):
        self.text += f"\n[{section}]\n" + "".join(f"{k}={v}\n" for k, v in options.items())
        self.count.keep(str(len(self.results)), y)
        self.results.append(y)
        return y

    def conv(self, x, section="convolutional", **o):
        size, stride = o.get("size", 1), o.get("stride", 1)
        dilation = o.get("dilation", 1) if size > 1 else 1
        pad = size // 2 if o.get("pad") else o.get("padding", 0)
        norm = o.get("batch_normalize", 0)
        shared = "share_index" in o
        y = self.count.conv(x, o["filters"], size, (o.get("stride_y", stride), o.get("stride_x", stride)), pad * dilation, dilation,
                            o.get("groups", 1), bias=not norm, shared=shared)
        if norm:
            self.count.weights(2 * o["filters"])
        return self.add(section, y, **o)

    def pool(self, x, section="maxpool", **o):
        stride = o.get("stride", 1)
        size = o.get("size", stride)
        padding = o.get("padding", size - 1)
        strides = (o.get("stride_y", stride), o.get("stride_x", stride))
        begin = padding // 2
        y = F.max_pool2d(F.pad(x, (begin, padding - begin, begin, padding - begin)), size, strides)
        return self.add(section, y, **o)


def images():
    n = Net("width=41\nheight=30\nchannels=3\nbatch=64")
    x = n.count.zeros(1, 3, 30, 41)
    x = n.conv(x, batch_normalize=1, filters=8, size=3, stride=2, pad=1, activation="leaky")
    x = n.pool(x, size=3, stride=2)
    x = n.conv(x, filters=12, size=3, dilation=2, pad=1, groups=4, activation="mish")
    x = n.conv(x, filters=6, size=4, stride_x=1, stride_y=2, stride=3, padding=2, activation="swish")
    n.add("route", torch.cat([n.results[2], n.results[1]], 1), layers="-2, 1")
    x = n.add("route", n.results[4].chunk(4, 1)[2], layers="-1", groups=4, group_id=2)
    x = n.add("route", torch.cat([n.results[2].chunk(2, 1)[1], n.results[1].chunk(2, 1)[1]], 1), layers="2, 1", groups=2, group_id=1)
    x = n.conv(x, section="conv", filters=10, size=1, pad=1, dilation=3, activation="relu6")
    x = n.conv(x, filters=10, size=3, pad=1, activation="hardtan", batch_normalize=1)
    x = n.add("shortcut", x, **{"from": "-2", "activation": "ramp"})
    # Two shortcuts: from a layer with more channels and a larger image, and from one with fewer.
    n.add("shortcut", x, **{"from": 0, "activation": "linear"})
    n.count.weights(2 * 10)
    n.add("shortcut", x, **{"from": "-1", "weights_type": "per_channel"})
    n.count.weights(3 * 10)
    n.add("shortcut", x, **{"from": "-1, -2", "weights_type": "per_channel", "activation": "logistic"})
    return n, [n.results[3], n.results[5], x]


def heads():
    """Final layers of networks, on images of even size."""
    n = Net("width=24\nheight=16\nchannels=4")
    x = n.count.zeros(1, 4, 16, 24)
    x = n.conv(x, filters=8, size=5, pad=1, stride=2)
    y = n.add("reorg", F.pixel_unshuffle(x, 2), stride=2)
    y = n.add("reorg3d", F.pixel_shuffle(y, 2), stride=2, reverse=1)
    z = n.add("upsample", F.interpolate(y, scale_factor=3), stride=3)
    z = n.pool(z, section="max", stride=2)
    z = n.pool(z, section="local_avgpool", size=2, stride=3, stride_x=2, padding=0)
    z = n.add("crop", z[:, :, :4, :5], crop_height=4, crop_width=5)
    z = n.add("lrn", z, size=3)
    z = n.add("batchnorm", z)
    n.count.weights(2 * z.shape[1])
    z = n.add("activation", z, activation="elu")
    z = n.conv(z, filters=5, size=2, stride=2, activation="selu")
    return n, [z]


def deconvolutions():
    n = Net("width=9\nheight=7\nchannels=6")
    x = n.count.zeros(1, 6, 7, 9)
    for section, o in (("deconv", dict(filters=5, size=4, stride=2, padding=1, activation="gelu")),
                       ("deconvolutional", dict(filters=3, size=3, stride=3, batch_normalize=1, activation="hswish"))):
        norm = o.get("batch_normalize", 0)
        x = n.count.deconv(x, o["filters"], o["size"], o["stride"], o.get("padding", 0), bias=not norm)
        n.count.weights(2 * o["filters"] * norm)
        x = n.add(section, x, **o)
    x = n.add("avgpool", F.adaptive_avg_pool2d(x, 1))
    x = n.conv(x, filters=7, size=1, activation="tanh")
    x = n.add("softmax", x.flatten(1), groups=1)
    x = n.add("cost", x, type="sse")
    return n, [x]


def attention_of_channels():
    n = Net("width=13\nheight=11\nchannels=3")
    x = n.count.zeros(1, 3, 11, 13)
    x = n.conv(x, filters=6, size=3, stride=2, pad=1, activation="relu")
    n.add("avg", F.adaptive_avg_pool2d(x, 1))
    s = n.conv(n.results[1], filters=6, size=1, activation="logistic")
    x = n.add("scale_channels", n.results[0] * s, **{"from": "-3", "activation": "leaky"})
    g = n.conv(x, filters=6, size=1, activation="logistic")
    x = n.add("sam", x * g, **{"from": 3})
    a = n.conv(x, filters=6, size=3, pad=1, activation="linear")
    n.conv(a, filters=6, size=3, pad=1, share_index=-1, activation="linear")
    y = n.add("softmax", n.results[-1], spatial=1)
    y = n.add("dropout", y, probability=".5")
    y = n.add("logistic", y)
    y = n.conv(y, filters=18, size=1, activation="linear")
    y = n.add("yolo", y, mask="0,1", classes=4)
    y = n.add("Gaussian_yolo", y, mask="2", new_coords=1)
    y = n.add("region", y, num=2)
    y = n.add("silence", y)
    return n, [y]


def places():
    """Locally connected layers (weights per position), then layers on rows."""
    n = Net("width=12\nheight=10\nchannels=2")
    x = n.count.zeros(1, 2, 10, 12)
    size, stride, filters = 3, 2, 4
    y = F.conv2d(x, n.count.zeros(filters, 2, size, size), None, stride, 1)
    places = y.shape[2] * y.shape[3]
    n.count.weights(places * 2 * size * size * filters + filters * places)
    n.count.macs += places * 2 * size * size * filters
    y = n.add("local", y, size=size, stride=stride, pad=1, filters=filters, activation="relu")
    y = n.add("reorg", F.pad(y.flatten(1), (0, 7)), extra=7)
    y = n.add("connected", n.count.dense(y, 20), output=20, activation="leaky")
    n.count.weights(2 * 9)
    y = n.add("conn", n.count.dense(y, 9, bias=False), output=9, batch_normalize=1)
    y = n.add("softmax", y, groups=3)
    y = n.add("detection", y, classes=3)
    return n, [y]


def recurrent():
    n = Net("inputs=14")
    x = n.count.zeros(1, 14)

    def parts(x, units, pairs, norm):
        """pairs: number of products that read the input and the state."""
        for width, count in pairs:
            n.count.weights(count * (width * units + units * (2 if norm else 1)))
            n.count.macs += count * width * units
        return n.count.zeros(1, units)
    n.count.weights((14 * 6 + 6) + (6 * 6 + 6) + (6 * 5 + 5))
    n.count.macs += 14 * 6 + 6 * 6 + 6 * 5
    x = n.add("rnn", n.count.zeros(1, 5), hidden=6, output=5, activation="relu")
    x = n.add("gru", parts(x, 8, ((5, 3), (8, 3)), False), output=8)
    x = n.add("lstm", parts(x, 7, ((8, 4), (7, 4)), True), output=7, batch_normalize=1)
    x = n.add("soft", x)
    return n, [x]


def main():
    models = []
    for make in (images, heads, deconvolutions, attention_of_channels, places, recurrent):
        n, y = make()
        models.append((n.text, n.count.entry(make.__name__ + ".cfg", y, predict="together")))
    write("darknet", ORIGIN, models)


if __name__ == "__main__":
    main()
