#!/usr/bin/env python3
"""Networks of the zoo launch the kernels that the exported file of the same network launches: the multiset of operators with shapes, types
and strides of all inputs and outputs, in eager inference (fp32 and autocast, both layouts) and in a training step.

Exporters fold batch norms into convolutions; such files are compared under an inference engine, which folds them too. What an exporter or
another implementation does differently is in EXPLAINED, with the reason; an explanation that is no longer needed fails.

    zoo.py [PART OF A NETWORK'S NAME]       prints the differences of those networks
"""
import collections
import re
import subprocess
import sys

import corpus

TOOL = str(corpus.BUILD / "tests/tools/lower")
EAGER = [("amp-fp16", "nhwc"), ("fp32", "nchw"), ("amp-fp16", "nchw"), ("fp32", "nhwc")]
TRAIN = [("amp-fp16", "nhwc"), ("fp32", "nchw")]
ENGINE = [("fp16", "nhwc"), ("fp32", "nchw")]
BATCH = "8"

# The network, its file; "folded": the exporter folded the batch norms.
PAIRS = [(name, f"torchvision/{name}", "") for name in (
    "alexnet vgg11 vgg13 vgg16 vgg19 squeezenet1_0 convnext_tiny convnext_base convnext_large").split()]
PAIRS += [(name, f"torchvision/{name}_bn", "") for name in "resnet18 mobilenet_v2 shufflenet_v2_x1_0 densenet121".split()]
PAIRS += [(name, f"torchvision/{name}", "folded") for name in (
    "vgg11_bn vgg16_bn vgg19_bn resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_64x4d wide_resnet50_2 wide_resnet101_2 "
    "inception_v3 densenet121 densenet161 densenet169 densenet201 mobilenet_v2 mobilenet_v3_small mnasnet0_5 mnasnet1_0 mnasnet1_3 "
    "shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 efficientnet_v2_m efficientnet_v2_l regnet_x_400mf regnet_x_800mf "
    "regnet_x_3_2gf regnet_x_8gf regnet_x_16gf regnet_x_32gf regnet_y_400mf regnet_y_800mf regnet_y_3_2gf regnet_y_16gf regnet_y_128gf").split()]
PAIRS += [(f"efficientnet_b{i}", f"torchvision/efficientnet_b{i}", "folded") for i in (0, 1, 2, 3, 5, 6, 7)]
PAIRS += [(name, f"timm/{file}", "") for name, file in (
    ("resnet18", "resnet18@224"), ("resnet50", "resnet50@224"), ("resnet50?image=288", "resnet50@288"), ("resnet152", "resnet152@224"), ("resnet/200", "resnet200@224"),
    ("resnext101_64x4d", "resnext101_64x4d@224"), ("wide_resnet50_2", "wide_resnet50_2@224"), ("wide_resnet101_2?image=176", "wide_resnet101_2@176"),
    ("inception_v3", "inception_v3@299"), ("densenet121", "densenet121@224"), ("densenet161", "densenet161@224"), ("densenet201", "densenet201@224"),
    ("densenet/6,12,64,48?growth=48&stem=96", "densenet264@224"), ("mobilenet_v1", "mobilenetv1_100@224"), ("mobilenet_v1?width=1.25&image=256", "mobilenetv1_125@256"),
    ("mobilenet_v2", "mobilenetv2_100@224"), ("mobilenet_v2?width=1.4", "mobilenetv2_140@224"), ("mnasnet1_0", "mnasnet_100@224"), ("mnasnet0_5", "mnasnet_050@224"),
    ("efficientnet_b0", "efficientnet_b0@224"), ("efficientnet_b4?image=384", "efficientnet_b4@384"), ("efficientnet_b7", "efficientnet_b7@600"),
    ("efficientnet_v2_s", "efficientnetv2_s@384"), ("regnet_x_3_2gf", "regnetx_032@224"), ("regnet_x_16gf", "regnetx_160@224"), ("regnet_y_3_2gf", "regnety_032@224"),
    ("regnet_y_16gf", "regnety_160@224"), ("convnext_tiny", "convnext_tiny@224"), ("vit_ti_16", "vit_tiny_patch16_224@224"),
    ("vit_s_16?image=384", "vit_small_patch16_384@384"), ("vit_s_32", "vit_small_patch32_224@224"), ("vit_b_16", "vit_base_patch16_224@224"),
    ("vit_b_32", "vit_base_patch32_224@224"), ("vit_l_16", "vit_large_patch16_224@224"), ("swin_t", "swin_tiny_patch4_window7_224@224"),
    ("swin_s", "swin_small_patch4_window7_224@224"), ("swin_b", "swin_base_patch4_window7_224@224"), ("swin_b?window=12&image=384", "swin_base_patch4_window12_384@384"),
    ("visformer_tiny", "visformer_tiny@224"), ("poolformer_s12", "poolformer_s12@224"), ("poolformer_s24", "poolformer_s24@224"), ("poolformer_m36", "poolformer_m36@224"),
    ("poolformer_m48", "poolformer_m48@224"))]

# (part of the file, mode or "", reason).
GATE = "timm multiplies the map by the gate, torchvision the gate by the map: the gradient of the gate is laid out otherwise"
EXPLAINED = [
    ("/inception_v3", "", "the exporter joined concatenations of concatenations"),
    ("timm/mnasnet", "", "timm pools to maps of 1 x 1, torchvision takes the mean over two axes"),
    ("timm/convnext", "", "timm views its layer scales as (1, C, 1, 1), torchvision stores them as (C, 1, 1)"),
    ("timm/vit", "train", "the gradients of queries, keys and values are stacked in timm, concatenated here"),
    ("timm/poolformer", "train", "the exporter merged layer scales of equal value, so the update has fewer parameters"),
    ("timm/efficientnet", "train", GATE),
    ("timm/regnety", "train", GATE),
]
FOLDED = re.compile(r",(?:native_batch_norm|cudnn_batch_norm|add_)(?=[,}])")  # what an engine does with the weights: norms, or the bias that the norm became
COMMUTE = {"mul", "mul_", "add", "add_"}


def kernels(model, options):
    done = subprocess.run([TOOL, *options, BATCH, model] if "=" not in options[-1] else [TOOL, *options[:2], BATCH, *options[2:], model],
                          capture_output=True, text=True, timeout=corpus.TIMEOUT_S)
    if done.returncode:
        return None, done.stderr.strip()
    found = collections.Counter()
    for line in done.stdout.splitlines():
        if line.startswith("."):
            continue
        name, _, rest = line.partition(" ")
        given, _, made = rest.partition(" -> ")
        made = FOLDED.sub("", made)
        given = re.findall(r"\w+\[[^]]*\](?:cl|\([^)]*\))?", given)
        if name.lstrip("+") in COMMUTE or name.startswith("_foreach"):  # the order of operands and of parameters means nothing
            given = sorted(given)
            made = " ".join(sorted(made.split())) if name.startswith("_foreach") else made
        found[f"{name} {' '.join(given)} -> {made}"] += 1
    return found, ""


def compare(task):
    network, file, how = task
    path = str(corpus.MODELS / f"{file}.onnx.gz")
    settings = [("engine", [*s, "runtime=engine"]) for s in ENGINE] if how == "folded" else \
        [("infer", list(s)) for s in EAGER] + [("train", [*s, "mode=train"]) for s in TRAIN]
    differences = []
    for mode, options in settings:
        ours, why = kernels("zoo:" + network, options)
        theirs, other = kernels(path, options)
        if ours is None or theirs is None:
            differences.append((mode, " ".join(options), [why or other]))
        elif ours != theirs:
            differences.append((mode, " ".join(options), [f"zoo {n} {k}" for k, n in (ours - theirs).items()] + [f"file {n} {k}" for k, n in (theirs - ours).items()]))
    return differences


def reason(file, mode):
    return next((entry for entry in EXPLAINED if entry[0] in file and entry[1] in ("", mode)), None)


def main():
    corpus.require("models/torchvision", "models/timm")
    report = corpus.Report("zoo")
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    tasks = [pair for pair in PAIRS if wanted in pair[0] and (corpus.MODELS / f"{pair[1]}.onnx.gz").exists()]
    equal, used, failed = 0, set(), []
    for (network, file, _), differences in zip(tasks, corpus.parallel(compare, tasks)):
        equal += not differences
        for mode, options, lines in differences:
            entry = reason(file, mode)
            if entry:
                used.add(entry)
            else:
                failed.append(f"zoo:{network}, {file}, {options}: {len(lines)} differ, {lines[0][:150]}")
            report.detail(f"zoo:{network}\t{file}\t{options}\t{entry[2] if entry else ''}")
            for line in lines[:40]:
                report.detail("    " + line)
                if wanted:
                    print("#   " + line[:300])
    report.say(f"{equal} of {len(tasks)} files launch the same kernels as the network of the zoo in all settings; the others differ for {len(used)} reasons")
    for part, mode, why in sorted(used):
        report.say(f"  {part} {mode}: {why}")
    report.check(not failed, "the same kernels, or an explanation", failed)
    unused = [f"{entry[0]} {entry[1]}: {entry[2]}" for entry in EXPLAINED if entry not in used]
    report.check(bool(wanted) or not unused, "every explanation is needed", unused)
    report.end()


if __name__ == "__main__":
    main()
