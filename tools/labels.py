#!/usr/bin/env python3
"""Turns published tables of measured networks into rows that `sooth learn` and `sooth eval` read.

    tools/labels.py [--shared DIR] [--limit N] [--only SOURCE]... -o FOLDER

Reads DIR/measured (default ../shared) and writes one CSV per source into FOLDER, with the columns of DIR/labels/README.md. doc/labels.md
describes the rows of each source, and what is left out and why. Graphs are networks of the zoo, or files of DIR/models by their path from
FOLDER. --limit takes at most N architectures of each search space, chosen by a hash of their names, with all of their rows. Needs only
Python 3.
"""
import argparse
import collections
import csv
import gzip
import hashlib
import io
import os
import pathlib
import re
import sys

import energy_rows

COLUMNS = ("name", "graph", "batch", "gpu", "precision", "layout", "runtime", "stack", "mode", "optimizer", "mig",
           "latency_ms", "memory_mib", "energy_j", "source")

# Names of GPUs in the tables; doc/labels.md says where a variant had to be assumed.
GPUS = {
    "GeForce GTX 1080 Ti": "gtx-1080-ti", "GeForce RTX 2080 Ti": "rtx-2080-ti", "TITAN X": "titan-x-pascal",
    "TITAN Xp": "titan-xp", "TITAN RTX": "titan-rtx", "Tesla V100": "v100-sxm2-16gb", "V100": "v100-sxm2-16gb",
    "AMD Instinct MI100": "mi100", "AMD Instinct MI210": "mi210", "AMD Instinct MI250": "mi250",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb", "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "Tesla P100-PCIE-16GB": "p100-pcie-16gb", "Tesla P4": "p4", "Tesla T4": "t4", "T4": "t4",
    "Tesla V100-PCIE-32GB": "v100-pcie-32gb", "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-40GB": "a100-sxm4-40gb",
    "A100-80GB": "a100-sxm4-80gb", "V100-16GB": "v100-sxm2-16gb", "V100-32GB": "v100-sxm2-32gb", "A30": "a30", "A10": "a10",
    "A40": "a40",
}


class Tables:
    """Directories of the tables and the output, and counts of skipped rows."""

    def __init__(self, shared, folder, limit):
        self.shared, self.folder, self.limit = shared, folder, limit
        self.left_out = collections.Counter()

    def read(self, path):
        path = self.shared / "measured" / path
        opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="")
        with opened as file:
            yield from csv.DictReader(file)

    def file(self, *choices):
        """Path of the first graph file that exists, relative to the output folder; None if there is none."""
        for choice in choices:
            path = self.shared / "models" / choice
            if path.is_file():
                return os.path.relpath(path, self.folder)
        return None

    def skip(self, reason):
        self.left_out[reason] += 1

    def chosen(self, names):
        """At most `limit` of the names, chosen by hash; a smaller limit gives a subset."""
        if not self.limit:
            return set(names)
        by_hash = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
        return set(by_hash[:self.limit])


def row(name, graph, batch, gpu, latency_ms, source, precision="fp32", layout="nchw", runtime="eager", stack="", mode="infer",
        optimizer=""):
    return {"name": name, "graph": graph, "batch": batch, "gpu": gpu, "precision": precision, "layout": layout,
            "runtime": runtime, "stack": stack, "mode": mode, "optimizer": optimizer, "latency_ms": latency_ms,
            "source": source}


# ---- search spaces ---------------------------------------------------------------------------------------------------


def space(tables, name, table, graph_of, stack="pt1.8-cu102"):
    """Rows of one search space: a table of architectures, and one of latencies that refers to it."""
    graphs = {a["arch_id"]: graph_of(a) for a in tables.read(f"nas_latency/{table}_archs.csv.gz")}
    chosen = tables.chosen(graphs)
    for measured in tables.read(f"nas_latency/{table}_gpu_latency.csv.gz"):
        identity = measured["arch_id"]
        if identity not in chosen:
            tables.skip("beyond --limit" if identity in graphs else "an architecture that the table does not have")
            continue
        yield row(f"{name}-{identity.split('-')[1]}", graphs[identity], measured["batch"], GPUS[measured["device"]],
                  measured["latency_ms"], table, stack=stack)


def nasbench201(tables):
    return space(tables, "nasbench201", "nasbench201", lambda a: "zoo:nasbench201/" + a["arch_str"])


def fbnet(tables):
    return space(tables, "fbnet", "fbnet", lambda a: "zoo:fbnet/" + a["ops"].replace(" ", ","))


def ofa(tables):
    """On hosts of its own: the TITAN RTX's launches a third faster than that of the other spaces, the RTX 2080 Ti's is slower."""
    return space(tables, "ofa", "ofa", lambda a: "zoo:ofa?kernels={kernel_sizes}&expansions={expand_ratios}&depths={depths}"
                 "&resolution={resolution}".format(**a).replace(" ", ","), stack="ofa-pt1.8-cu102")



# ---- transformers ----------------------------------------------------------------------------------------------------


def transformer_graph(run):
    """The zoo's network with the run's sizes; None if the zoo does not have it."""
    families = {"BertLMHeadModel": "bert", "GPT2LMHeadModel": "gpt2", "OPTForCausalLM": "opt",
                "SwitchTransformersForConditionalGeneration": "switch"}
    family = families.get(run["arch"])
    sizes = "layers={layers}&hidden={hidden}&heads={heads}&ffn={ffn}&vocab={vocab}".format(**run)
    if family == "bert":  # positions of the published configuration, but at least the tokens of the run
        head = "classify" if run["mode"] == "inf" else "pretrain"
        return f"zoo:bert?{sizes}&positions={max(512, int(run['seq_len']))}&seq={run['seq_len']}&head={head}"
    if family in ("gpt2", "opt"):
        least = {"gpt2": 1024, "opt": 2048}[family]
        return f"zoo:{family}?{sizes}&positions={max(least, int(run['seq_len']))}&seq={run['seq_len']}"
    if family == "switch":  # heads of 128, from the configuration; the table does not state them
        return "zoo:switch?{sizes}&decoder={decoder_layers}&kv=128&experts={experts}&capacity={expert_capacity}&seq={seq_len}".format(
            sizes=sizes, **run)
    return None


# Of the way back, which computes twice as much. The cache of the allocator was emptied before each pass: in some runs, and not in others of the
# same network, the way forward has the time in that the driver takes to hand out the memory again.
MOST_FORWARD = 0.7


def transformers(tables):
    for run in tables.read("transformer_end_to_end/neusight_e2e.csv.gz"):
        graph = transformer_graph(run)
        if graph is None:
            tables.skip(f"no graph: {run['model']}")
            continue
        if run["num_gpus"] != "1":
            tables.skip("several GPUs")
            continue
        common = {"runtime": "inductor" if run["option"] == "fusion" else "eager",
                  "stack": "pt2.x-rocm" if run["framework"] == "torch-rocm" else "pt2.x"}
        where = (run["model"], graph, run["batch"], GPUS[run["device"]])
        forward, backward = float(run["measured_fw_ms"]), float(run["measured_bw_ms"] or "nan")
        if run["mode"] != "inf" and forward > MOST_FORWARD * backward:
            tables.skip("training: the way forward waits for the driver's memory")
        elif run["mode"] == "inf":
            yield row(*where, run["measured_fw_ms"], "neusight", **common)
        else:
            yield row(*where, run["measured_fw_ms"], "neusight-train-forward", mode="train-forward", **common)
            yield row(*where, run["measured_e2e_ms"], "neusight-train", mode="train", optimizer="none", **common)


# ---- convolutional networks ------------------------------------------------------------------------------------------


def timm(*names, size=224):
    return [f"timm/{name}@{size}.onnx.gz" for name in names]


def resnet(name):
    """ResNet, ResNeXt and Wide ResNet by torchvision's names; None for others."""
    found = re.fullmatch(r"(wide_)?resne(x?)t(\d+)(_2)?(?:_(\d+)x(\d+)d)?", name)
    if not found:
        return None
    wide, _, depth, _, groups, width = found.groups()
    if groups:
        return f"zoo:resnet/{depth}?groups={groups}&width={width}"
    return f"zoo:resnet/{depth}" + ("?width=128" if wide else "")


def vgg(name):
    found = re.fullmatch(r"vgg(\d+)(_bn)?", name)
    return f"zoo:vgg/{found[1]}" + ("?norm=batch" if found[2] else "") if found else None


def network_name(graph, otherwise):
    """The network's name in timm and torchvision, so that splits by name keep all its rows together."""
    if graph == "zoo:mobilenet_v2":
        return "mobilenet_v2"
    return otherwise.lower() if graph.startswith("zoo:") else re.split("[@.]", pathlib.PurePath(graph).name)[0]


def torchvision(tables):
    """Only graphs with batch norms, because these runs had them."""
    others = {"mnasnet0_5": "mnasnet_050", "mnasnet1_0": "mnasnet_100", "densenet121": "densenet121",
              "densenet161": "densenet161", "densenet169": "densenet169", "densenet201": "densenet201"}
    for run in tables.read("cnn_end_to_end/torchvision_latency_batch12.csv"):
        name = run["model"]
        if run["n_gpus"] != "1":
            tables.skip("several GPUs")
            continue
        if run["precision"] == "double":
            tables.skip("double precision")
            continue
        if run["unstable"] == "yes":
            tables.skip("marked as unstable in the table")
            continue
        graph = "zoo:mobilenet_v2" if name == "mobilenet_v2" else resnet(name) or vgg(name)
        if graph is None and name in others:
            graph = tables.file(*timm(others[name]))
        if graph is None and name == "squeezenet1_0":  # has no batch norms
            graph = tables.file("torchvision/squeezenet1_0.onnx.gz")
        if graph is None:
            tables.skip(f"no graph with batch norms: {name}")
            continue
        trains = run["mode"] == "train"
        yield row(name, graph, run["total_batch"], GPUS[run["device"]], run["median_ms"], "torchvision-b12",
                  precision="fp32" if run["precision"] == "float" else "fp16", stack="pt1.x",
                  mode="train" if trains else "infer", optimizer="none" if trains else "")


def pycls(tables):
    sizes = {"B0": 224, "B1": 240, "B2": 260, "B3": 300, "B4": 380}
    for run in tables.read("cnn_end_to_end/pycls_zoo.csv"):
        family, kind = run["model"].rsplit("-", 1)
        graph = None
        if family.startswith("RegNet"):  # 400MF is regnetx_004, 1.6GF regnetx_016
            hundreds = round(float(kind[:-2]) * (0.01 if kind.endswith("MF") else 10))
            name = f"{family.lower()}_{hundreds:03d}"
            graph = tables.file(*timm(name))
        elif family == "EfficientNet":
            name = f"efficientnet_{kind.lower()}"
            graph = tables.file(*timm(name, "tf_" + name, size=sizes[kind]))
        else:
            name = f"{family.lower()}{kind}" + ("_32x4d" if family == "ResNeXt" else "")
            graph = resnet(name)
        if graph is None:
            tables.skip(f"no graph: {run['model']}")
            continue
        yield row(name, graph, 64, GPUS[run["device"]], run["infer_ms_batch64"], "pycls", stack="pt1.x")


# PaddleClas's names of networks that timm has too: a pattern, and the template of timm's name.
PADDLE = [
    (r"DLA(\w+)", r"dla\1"), (r"DPN(\d+)", r"dpn\1"), (r"DenseNet(121|161|169|201)", r"densenet\1"),
    (r"EfficientNetB(\d)", r"efficientnet_b\1 tf_efficientnet_b\1"), (r"InceptionV([34])", r"inception_v\1"),
    (r"MixNet_(\w)", r"mixnet_\1 tf_mixnet_\1"), (r"MobileNetV2_x0_75", "mobilenetv2_075"),
    (r"MobileNetV3_(large|small)_x1_0(?:_ssld)?", r"mobilenetv3_\1_100"),
    (r"MobileNetV3_(large|small)_x0_75", r"mobilenetv3_\1_075"), (r"MobileNetV3_small_x0_5", "mobilenetv3_small_050"),
    (r"PPLCNet_x0_(5|75)", r"lcnet_0\1 lcnet_0\g<1>0"), (r"PPLCNet_x1_([05])", r"lcnet_1\g<1>0"),
    (r"PVT_V2_B(\d)", r"pvt_v2_b\1"), (r"RegNetX_200MF", "regnetx_002"), (r"RegNetX_4GF", "regnetx_040"),
    (r"RegNetX_32GF", "regnetx_320"), (r"Res2Net50_(26w_4s|14w_8s)", r"res2net50_\1"),
    (r"ReXNet_(\d)_(\d)", r"rexnet_\1\g<2>0"), (r"(?:Fix_)?ResNet(18|34|50|101|152|200)_vd(?:_ssld)?", r"resnet\1d"),
    (r"SE_ResNeXt(50|101)_32x4d", r"seresnext\1_32x4d"), (r"SwinTransformer_(\w+?)(?: \[1\])?", r"swin_\1"),
    (r"ViT_(\w+)_ (\w+)", r"vit_\1_\2"), (r"DeiT_(\w+)_ (\w+)", r"deit_\1_\2"),
    (r"alt_gvt_(\w+)", r"twins_svt_\1"), (r"pcpvt_(\w+)", r"twins_pcpvt_\1"),
]


def paddle_graph(tables, name, size):
    for own, others in ((r"ResNe(X?)t(34|50|101|152)(_32x4d|_64x4d|)", resnet), (r"VGG(\d+)", vgg)):
        if re.fullmatch(own, name) and size == "224":
            return others(name.lower())
    if name == "MobileNetV2" and size == "224":
        return "zoo:mobilenet_v2"
    if name == "AlexNet" and size == "224":
        return tables.file("torchvision/alexnet.onnx.gz")
    if re.fullmatch(r"ShuffleNetV2_x\d_\d", name) and size == "224":  # this graph has folded batch norms, as an engine has
        return tables.file(f"torchvision/shufflenet_v2{name[12:]}.onnx.gz")
    for pattern, made in PADDLE:
        found = re.fullmatch(pattern, name)
        if found:
            return tables.file(*timm(*found.expand(made).lower().split(), size=size))
    return None


def paddleclas(tables):
    for run in tables.read("cnn_end_to_end/paddleclas_latency.csv"):
        name, size = run["model"], run["input_size"]
        if not size:
            tables.skip("the size of the image is not recorded")
            continue
        graph = paddle_graph(tables, name, size)
        if graph is None:
            tables.skip("no graph of that network and size")
            continue
        yield row(network_name(graph, name), graph, run["batch"], GPUS[run["device"]], run["latency_ms"], "paddleclas",
                  precision=run["runtime_precision"].split()[1].lower(), runtime="engine", stack="trt")


def nvidia(tables):
    """Inference in PyTorch; the rest of these tables is of other frameworks, several GPUs, servers, or names no batch."""
    folder = "PyTorch/Classification/ConvNets/"
    networks = {"resnet50v1.5": ("resnet50", "zoo:resnet/50"), "resnext101-32x4d": ("resnext101_32x4d", resnet("resnext101_32x4d")),
                "se-resnext101-32x4d": ("seresnext101_32x4d", tables.file(*timm("seresnext101_32x4d"))),
                "efficientnet-b0": ("efficientnet_b0", tables.file(*timm("efficientnet_b0"))),
                "efficientnet-b4": ("efficientnet_b4", tables.file(*timm("efficientnet_b4", "tf_efficientnet_b4", size=380)))}
    precisions = {"FP32": "fp32", "TF32": "tf32", "mixed": "amp-fp16"}
    for run in tables.read("cnn_end_to_end/nvidia_dle_vision.csv.gz"):
        path, kind = run["model_path"], run["config"].removeprefix("Model=")
        if not path.startswith(folder) or "triton" in path:
            tables.skip("another framework, task or a server")
        elif run["mode"] != "inference" or run["n_gpus"] not in ("", "1"):
            tables.skip("training: several GPUs, or no batch is recorded")
        elif run["kind"] != "latency":
            tables.skip("the throughput beside a latency")
        else:
            name, graph = networks.get(kind if path.endswith("efficientnet") else path[len(folder):], (None, None))
            if graph is None:
                tables.skip(f"no graph: {kind or path}")
            elif run["precision"] not in precisions or not run["batch"].isdigit() or run["unit"] != "ms":
                tables.skip("precision, batch or unit is not recorded")
            else:
                mixed = run["precision"] == "mixed"
                yield row(name, graph, run["batch"], GPUS[run["device"]], run["value"], "nvidia-dle",
                          precision=precisions[run["precision"]], layout="nhwc" if mixed else "nchw")


# ---- MLPerf ----------------------------------------------------------------------------------------------------------

MLPERF_GPUS = {
    "A10": "a10", "A10-24Q": "a10", "A100-PCIe-80GB": "a100-pcie-80gb", "A100-PCIE-80GB": "a100-pcie-80gb",
    "A100-SXM-40GB": "a100-sxm4-40gb", "A100-SXM-80GB": "a100-sxm4-80gb", "A100-SXM-80GB CTS": "a100-sxm4-80gb",
    "A100-SXM4-80GB CTS": "a100-sxm4-80gb", "HGX A100 SXM": "a100-sxm4-80gb", "A2": "a2", "A30": "a30", "A40": "a40",
    "GeForce RTX 4090": "rtx-4090", "GeForce RTX 4090 (Ada Lovelace)": "rtx-4090", "H100-NVL-94GB": "h100-nvl-94gb",
    "H100-PCIe-80GB": "h100-pcie-80gb", "H100-SXM-80GB": "h100-sxm5-80gb", "H200-SXM-141GB": "h200-sxm-141gb", "L4": "l4",
    "L4-PCIe-24GB": "l4", "L40": "l40", "L40-PCIE-48GB": "l40", "L40S": "l40s", "RTX A5000": "rtx-a5000",
    "RTX A5000 GPU": "rtx-a5000", "T4": "t4",
}
# Images at once in bulk, where the table has none: many, except on Ada boards, whose caches are large and whose memory is
# slow; a layer's maps of few images stay in the cache there.
MLPERF_BULK = {"resnet50": 256, "retinanet": 16}
MLPERF_BULK_OF_CACHE = {"resnet50": 32, "retinanet": 4}
MLPERF_ADA = ("l4", "l40", "l40s", "rtx-4090")
MLPERF_BATCHES = {"MultiStream": 8, "SingleStream": 1}


def mlperf(tables):
    """TensorRT engines in int8. Offline results are sums over all GPUs of the system."""
    graphs = energy_rows.Folder(tables.shared, tables.folder / "mlperf")
    files = {"resnet50": "zoo:resnet/50", "retinanet": "mlperf/" + graphs.graph("retinanet", energy_rows.retinanet)}
    for run in tables.read("cnn_end_to_end/mlperf_inference.csv.gz"):
        version = re.search(r"TensorRT v?(\d+\.\d+)", run["framework"])
        gpu = MLPERF_GPUS.get(run["accelerator"].removeprefix("NVIDIA "))
        if run["model"] not in files or run["scenario"] == "Server":
            tables.skip("another network, or requests that arrive one by one")
        elif run["division"] != "closed" or not version:
            tables.skip("other rules, or not TensorRT")
        elif run["mig_profile"] or not gpu:
            tables.skip("a slice, an embedded or a virtual GPU")
        elif "maxq" in run["platform"].lower():
            tables.skip("lowered clocks or power limits")
        elif run["scenario"] != "Offline" and run["accelerators_per_node"] != "1":
            tables.skip("requests that several GPUs may share")
        else:
            bulk = MLPERF_BULK_OF_CACHE if gpu in MLPERF_ADA else MLPERF_BULK
            batch = MLPERF_BATCHES.get(run["scenario"], bulk[run["model"]])
            gpus = int(run["accelerators_per_node"]) * int(run["nodes"])
            value = float(run["result"])
            latency = 1e3 * batch * gpus / value if run["scenario"] == "Offline" else value
            yield row(run["model"], files[run["model"]], batch, gpu, f"{latency:.6g}", "mlperf", precision="int8", layout="nhwc",
                      runtime="engine", stack=f"trt{version[1]}-mlperf")


# ---- slices of a GPU -------------------------------------------------------------------------------------------------


def encoder(layers, hidden, vocab, head="none"):
    """A BERT of the zoo without its number of tokens; heads have 64 units, or 32 if the width is 384."""
    return f"zoo:bert?layers={layers}&hidden={hidden}&heads=12&vocab={vocab}&positions=514&head={head}"


# By name in the table and data set: the graph without its number of tokens, and the network's name.
MIG_NETWORKS = {
    ("migprofiler-40g", "bert-base-multilingual-cased"): encoder(12, 768, 119547),
    ("migprofiler-40g", "distiluse-base-multilingual-cased-v1"): encoder(6, 768, 119547),
    ("migprofiler-40g", "distiluse-base-multilingual-cased-v2"): encoder(6, 768, 119547),
    ("migprofiler-40g", "paraphrase-multilingual-MiniLM-L12-v2"): encoder(12, 384, 250037),
    ("migprofiler-40g", "paraphrase-multilingual-mpnet-base-v2"): encoder(12, 768, 250002),
    ("migprofiler-40g", "resnet50_moco"): "zoo:resnet/50?classes=365",
    ("migprofiler-40g", "vision_transformer"): "zoo:vit_b_16",
    ("migprofiler-80g", "bert-base"): encoder(12, 768, 28996, head="classify"),
    ("migprofiler-80g", "resnet50"): "zoo:resnet/50?classes=365",
    ("migprofiler-80g", "vision_transformer"): "zoo:vit_b_16",
    ("miso", "bert"): encoder(12, 768, 28996, head="classify"),
}


# Optimizers of training runs other than SGD with momentum.
MIG_OPTIMIZERS = {"bert-base": "adamw", "bert": "adam"}

# Each on a host of its own, whose speed data/slices.txt has; the versions of PyTorch follow from the rates of products.
MIG_STACKS = {"migprofiler-40g": "pt1.11-migprofiler40", "migprofiler-80g": "pt1.13-migprofiler80", "miso": "pt1.11-miso"}


def mig(tables):
    """fp32 of PyTorch: until 1.11 (the 40 GB runs: products reach three times the rate of fp32) products and convolutions are
    TF32, from 1.12 on (the 80 GB runs) convolutions alone. doc/labels.md says what the rest is from."""
    for run in tables.read("mig/mig_measured.csv"):
        source, name = run["dataset"], run["model"]
        graph = MIG_NETWORKS.get((source, name))
        if graph is None:
            tables.skip(f"{source}: no graph, or the time is that of the input pipeline: {name}")
            continue
        tokens = run["seq_len"] or ("512" if name == "bert" else "")
        trains = run["mode"] == "train"
        new = source == "migprofiler-80g"
        yield {**row(name, graph + (f"&seq={tokens}" if tokens else ""), run["batch"], GPUS[run["device"]], run["latency_ms"],
                     source, precision="fp32" if new and "resnet" not in name else "tf32",
                     stack=MIG_STACKS[source], mode="train" if trains else "infer",
                     optimizer=MIG_OPTIMIZERS.get(name, "sgd-momentum") if trains else ""),
               "mig": run["mig_profile"], "memory_mib": run["fb_used_mib"]}


# ---- tables of energy, which have times too -----------------------------------------------------------------------------

# Each has a host and a software of its own. Limits are those of the boards: below them clocks fall.
ENERGY_STACKS = {"zeus": "zeus-pt1.x", "generation": "hf-pt2.x", "mlenergy-llm": "vllm-mlenergy"}
BOARD_LIMITS_W = {"v100-pcie-32gb": "250", "p100-pcie-16gb": "250", "a40": "300", "quadro-rtx-6000": "260"}
# Left out: not in the graphs, or the GPU waits for other parts; see doc/labels.md.
NOT_THE_GPU = {"ncf-movielens-1m": "the input pipeline", "deepspeech2-librispeech": "its samples are counted by its times",
               "mixtral-8x7b": "experts one after the other"}


def energy(tables):
    """One GPU that keeps to no limit but its own; of generation, where the GPUs take turns, any number."""
    folder = energy_rows.Folder(tables.shared, tables.folder / "energy")
    for source, stack in ENERGY_STACKS.items():
        for run in energy_rows.SOURCES[source](folder):
            if run["name"] in NOT_THE_GPU:
                tables.skip(f"{source}: {NOT_THE_GPU[run['name']]}: {run['name']}")
            elif run.get("sees"):
                tables.skip(f"{source}: images and videos are prepared by the host")
            elif run.get("stalls"):
                tables.skip(f"{source}: the GPU waits for the server")
            elif run["gpus"] != 1 and source != "generation":
                tables.skip(f"{source}: several GPUs")
            elif run.get("power_limit_w") not in (None, BOARD_LIMITS_W.get(run["gpu"])):
                tables.skip(f"{source}: a power limit below the board's")
            else:
                graph = run["graph"] if run["graph"].startswith("zoo:") else f"energy/{run['graph']}"
                yield row(run["name"], graph, run["batch"], run["gpu"], f"{run['latency_ms']:.8g}", source,
                          precision=run["precision"], runtime=run.get("runtime", "eager"), stack=stack,
                          mode=run.get("mode", "infer"), optimizer=run.get("optimizer", ""))


# ---- the program -----------------------------------------------------------------------------------------------------

SOURCES = {"nasbench201": nasbench201, "fbnet": fbnet, "ofa": ofa, "transformers": transformers,
           "torchvision": torchvision, "pycls": pycls, "paddleclas": paddleclas, "nvidia": nvidia, "mig": mig, "energy": energy,
           "mlperf": mlperf}


def write(path, rows):
    """Writes under a temporary name, so that only complete files appear."""
    count = 0
    unfinished = path.with_suffix(path.suffix + ".part")
    with open(unfinished, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for count, fields in enumerate(rows, 1):
                writer.writerow(fields)
    unfinished.replace(path)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "shared",
                        help="the folder with measured/ and models/")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="at most N architectures of each search space")
    parser.add_argument("--only", action="append", choices=SOURCES, help="this source; may be repeated")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    if not (options.shared / "measured").is_dir():
        parser.error(f"{options.shared}: there is no folder measured in it; name the right one with --shared")
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.only or SOURCES:
        tables = Tables(options.shared.resolve(), options.output.resolve(), options.limit)
        path = options.output / f"{name}.csv.gz"
        count = write(path, SOURCES[name](tables))
        print(f"{path}: {count} rows, {sum(tables.left_out.values())} left out")
        for reason, rows in tables.left_out.most_common():
            print(f"    {rows:7d}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
