#!/usr/bin/env python3
"""Computed memory against counted or measured memory, part by part and in total.

    tests/corpus/memory.py [--all]      a fixed sample of the rows, or every row (some minutes)

The constants of data/memory.txt were fitted on the network families for which is_calibration() is true, on random
networks selected by their names, and on bert-base and bert-base-multilingual-cased; the figures of totals are for the
others.
"""
import collections
import csv
import gzip
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import zlib

import corpus

sys.path.insert(0, str(corpus.TOP / "tests/tools"))
import onnxtext  # noqa: E402
import random_networks  # noqa: E402

TOOL = str(corpus.BUILD / "tests/tools/memory")
ALL = "--all" in sys.argv
MIB = 1 << 20
COLUMNS = ("saved before forward forward_end backward backward_end update update_end allocated reserved weights gradients optimizer "
           "inputs activations workspace").split()
# timm's benchmark reduces the batch after any error; before PyTorch 1.12 from 1024 directly to 512.
LADDER = [2048, 1536, 1024, 768, 512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]


def family(name):
    return re.match(r"[a-z]+", name.replace("tf_", "").replace("legacy_", "")).group(0)


def is_calibration(name):
    return zlib.crc32(family(name).encode()) % 4 == 0


def is_calibration_random(name):
    return zlib.crc32(name.encode()) % 4 == 0


def sample(rows, count):
    """Every n-th item, so that about `count` remain; all with --all."""
    rows = list(rows)
    return rows if ALL or len(rows) <= count else rows[:: len(rows) // count]


def table(path):
    opened = gzip.open(corpus.SHARED / path, "rt") if path.endswith(".gz") else open(corpus.SHARED / path)
    with opened as file:
        return list(csv.DictReader(io.StringIO(file.read())))


def ask_one(arguments):
    lines, flags = arguments
    done = subprocess.run([TOOL, *flags], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=3600, check=True)
    return done.stdout.splitlines()


def ask(questions, *flags):
    """One answer per question: its figures by name, or None."""
    parts = [questions[i:i + 20] for i in range(0, len(questions), 20)]
    answers = []
    for lines in corpus.parallel(ask_one, [(part, flags) for part in parts]):
        for line in lines:
            words = line.split("\t")
            if words[0] != "ok":
                answers.append(None)
                continue
            answer = dict(zip(COLUMNS, map(int, words[1:])))
            answer["value"], answer["low"], answer["high"] = map(float, words[17:20])
            answer["fits"], answer["limit"] = words[20] == "1", words[21]
            answers.append(answer)
    return answers


def question(graph, batch, *, precision="fp32", layout="nchw", mode="train", runtime="eager", optimizer="sgd-momentum", stack="-",
             gpu="a100-sxm4-40gb"):
    return f"{precision} {layout} {mode} {runtime} {optimizer or 'sgd-momentum'} {stack or '-'} {gpu} {batch} {graph}"


def error(computed, measured):
    return 100 * (computed / measured - 1)


def figures(errors):
    sizes = sorted(map(abs, errors))
    return (f"{len(sizes)} rows, mean {statistics.mean(sizes):.2f} %, median {statistics.median(sizes):.2f} %, "
            f"nine of ten within {sizes[int(len(sizes) * 0.9)]:.1f} %")


def mean(errors):
    return statistics.mean(map(abs, errors))


def timm_graph(name, size, reparameterised=False):
    return corpus.MODELS / "timm" / f"{name}{'+reparam' if reparameterised else ''}@{size}.onnx.gz"


def worst(report, title, rows):
    for size, text in sorted(rows, key=lambda row: -abs(row[0]))[: None if ALL else 40]:
        report.detail(f"{title}\t{size:.1f} %\t{text}")


# ---- part by part ---------------------------------------------------------------------------------------------------


def traces(report, mode, count):
    """Live bytes and the tensors kept by autograd, as counted by eager PyTorch."""
    rows = []
    every = 1 if ALL else max(1, (1287 if mode == "infer" else 625) // count)
    for i, line in enumerate(corpus.read_lines(f"models/oracle/eager/timm_{mode}.jsonl.gz")):
        graph = timm_graph(line["n"], line["sz"], line.get("rp"))
        if i % every == 0 and graph.exists():
            rows.append((graph, line["n"], {key: line.get(key) for key in ("live", "svb")}))
    answers = ask([question(graph, 8, precision="amp-fp16", layout="nhwc", mode=mode) for graph, _, _ in rows], "timm")
    errors, details = collections.defaultdict(list), []
    for (_, name, line), answer in zip(rows, answers):
        if not answer:
            continue
        live = {key: value[0] for key, value in line["live"].items()}
        if mode == "infer":
            pairs = {"forward": (answer["forward"] - answer["before"], live["fwd"] - live["base"])}
        else:
            pairs = {"saved": (answer["saved"], line["svb"]), "forward": (answer["forward"], live["fwd"]),
                     "backward": (answer["backward"], live["bwd"]), "update": (answer["update"], live["upd"])}
        for key, (computed, counted) in pairs.items():
            errors[key].append(error(computed, counted))
            details.append((errors[key][-1], f"{key}: {name}"))
    names = {"forward": "activations at the peak of the forward pass" if mode == "infer" else "live at the peak of the forward pass",
             "saved": "kept by autograd", "backward": "live at the peak of the backward pass", "update": "live in the update"}
    for key, of in errors.items():
        report.say(f"{mode}, {names[key]}: {figures(of)}")
        # Differences: what the exporter removed (MViTv2), and what code holds in variables.
        report.check(statistics.median(map(abs, of)) <= 0.5, f"{mode}: {names[key]}: median error at most 0.5 %")
        report.check(mean(of) <= 3, f"{mode}: {names[key]}: mean error at most 3 %")
    worst(report, f"trace {mode}", details)


def allocator(report, count):
    rows = [row for row in table("measured/memory/emulated_train_a100.csv") if row["peak_reserved_mib"] and not row["out_of_memory"]]
    rows = sample(rows, count)
    answers = ask([question(timm_graph(row["name"], row["image_size"]), row["batch"], gpu="a100-sxm4-80gb") for row in rows])
    for key, column in (("forward_end", "after_forward_mib"), ("allocated", "peak_allocated_mib"), ("reserved", "peak_reserved_mib")):
        errors = [(error(answer[key] / MIB, float(row[column])), f"{key}: {row['name']} {row['batch']}")
                  for row, answer in zip(rows, answers) if answer]
        report.say(f"PyTorch's allocator on an emulated A100, {key.replace('_', ' ')}: {figures([e for e, _ in errors])}")
        report.check(mean(e for e, _ in errors) <= (6 if key == "reserved" else 2), f"allocator: {key}")
        worst(report, "emulated", errors)


# ---- sums -------------------------------------------------------------------------------------------------------------


def least_needs():
    """By network: a lower bound on the memory of a batch, from PyTorch's real allocator in the emulated rows: a line
    over the batch plus a constant part."""
    lines = collections.defaultdict(list)
    for row in table("measured/memory/emulated_train_a100.csv"):
        full = 80 * 1024 if row["out_of_memory"] else float(row["peak_allocated_mib"] or 0)
        fixed = 0 if row["out_of_memory"] else 4 * float(row["param_mib"])
        lines[row["name"]].append((int(row["batch"]), full, fixed))

    def least(name, batch):
        needs = [full * batch / at if batch <= at else full + (batch / at - 1) * (full - fixed) for at, full, fixed in lines[name]]
        return max(needs, default=0)

    return least


def training_sums(report, count):
    """nvidia-smi figures of named networks. Some rows marked as sound are below the memory of the tensors alone,
    according to the emulated rows: failed runs that the labels did not detect. They are counted, listed, and left out
    of the second
    figure."""
    least = least_needs()
    rows = sample([row for row in table("labels/memory_timm_a100.csv.gz") if not is_calibration(row["name"])], count)
    answers = ask([question(corpus.SHARED / "labels" / row["graph"], row["batch"]) for row in rows])
    errors, sound, doubtful, details, inside, broken = [], [], [], [], 0, []
    fits = collections.Counter()
    for row, answer in zip(rows, answers):
        if not answer:
            continue
        measured = float(row["memory_mib"])
        if row["source"] == "gpumemnet":
            errors.append(error(answer["value"], measured))
            details.append((errors[-1], f"{row['name']} {row['batch']}: {measured:.0f}, computed {answer['value']:.0f}"))
            inside += answer["low"] <= measured <= answer["high"]
            need = least(row["name"], int(row["batch"]))
            if need > measured:
                broken.append(f"{row['name']} at batch {row['batch']}: {measured:.0f} MiB, tensors alone {need:.0f}")
                doubtful += errors[-1:] if need < 2 * measured else []
                continue
            sound.append(errors[-1])
        if row["source"] in ("gpumemnet", "gpumemnet-full", "gpumemnet-failed"):
            fits[row["source"], answer["fits"]] += 1
    report.say(f"training on A100-40GB, networks not used for calibration: {figures(errors)}; {100 * inside / len(errors):.0f} % in the interval")
    report.say(f"  without {len(broken)} rows below what the tensors alone need: {figures(sound)}")
    report.say(f"  without the {len(broken) - len(doubtful)} of them below half of it: {figures(sound + doubtful)}")
    for line in broken:
        report.detail("failed run among the sound rows\t" + line)
    right = fits["gpumemnet", True]
    report.say(f"  fits 40 GB: right for {right} of {right + fits['gpumemnet', False]} sound rows; of runs that failed, "
               f"{fits['gpumemnet-failed', False]} of {fits['gpumemnet-failed', False] + fits['gpumemnet-failed', True]} are too large, "
               f"of those that filled the card {fits['gpumemnet-full', False]} of "
               f"{fits['gpumemnet-full', False] + fits['gpumemnet-full', True]}")
    report.check(mean(sound) <= 6, "training on A100: mean error at most 6 %")
    report.check(statistics.median(map(abs, errors)) <= 3, "training on A100: median error at most 3 %")
    report.check(right >= 0.97 * (right + fits["gpumemnet", False]), "training on A100: 97 % of the rows fit as they did")
    worst(report, "training", details)


def random_sums(report, kind, count, folder):
    rows = [row for row in table(f"measured/memory/gpumemnet_{kind}_train.csv.gz")
            if row.get("status", "SUCCESSFUL") == "SUCCESSFUL" and float(row["peak_gpu_mem_mib"]) < 39000
            and not is_calibration_random(row["config_id"])]
    asked, lines, refused = [], [], 0
    for row in sample(rows, count):
        try:
            text = getattr(random_networks, kind)(row)
        except ValueError:
            refused += 1
            continue
        path = os.path.join(folder, row["config_id"] + ".onnx")
        onnxtext.write(text, path)
        asked.append(row)
        lines.append(question(path, row["batch"], optimizer="adam"))
    errors = [(error(answer["value"], float(row["peak_gpu_mem_mib"])), f"{row['config_id']} {row['arch']} {row['activation']}")
              for row, answer in zip(asked, ask(lines)) if answer]
    report.say(f"random {kind.upper()}s in training: {figures([e for e, _ in errors])}; "
               f"{refused + len(asked) - len(errors)} could not be built")
    report.check(mean(e for e, _ in errors) <= 10, f"random {kind.upper()}s: mean error at most 10 %")
    worst(report, kind, errors)


BERT = "layers={}&hidden={}&heads=12&ffn={}&vocab={}"
MIG_NETWORKS = {
    "resnet50": "zoo:resnet50", "vision_transformer": "zoo:vit_b_16",
    "bert-base": "zoo:bert?" + BERT.format(12, 768, 3072, 30522),
    "bert-base-multilingual-cased": "zoo:bert?" + BERT.format(12, 768, 3072, 119547),
    "distiluse-base-multilingual-cased-v1": "zoo:bert?" + BERT.format(6, 768, 3072, 119547),
    "distiluse-base-multilingual-cased-v2": "zoo:bert?" + BERT.format(6, 768, 3072, 119547),
    "paraphrase-multilingual-MiniLM-L12-v2": "zoo:bert?" + BERT.format(12, 384, 1536, 250037),
    "paraphrase-multilingual-mpnet-base-v2": "zoo:bert?" + BERT.format(12, 768, 3072, 250002),
}


def inference_sums(report, folder):
    """Memory in use on A100 slices, compared with `sooth predict --queries`."""
    rows = [row for row in table("measured/mig/mig_measured.csv")
            if row["fb_used_mib"] and row["mode"] == "inference" and row["model"] in MIG_NETWORKS]
    asked, answered = os.path.join(folder, "mig.csv"), os.path.join(folder, "mig_answers.csv")
    with open(asked, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow("graph batch gpu precision mode mig name measured".split())
        for row in rows:
            graph = MIG_NETWORKS[row["model"]] + (f"&seq={row['seq_len']}" if row["seq_len"] else "")
            gpu = "a100-sxm4-40gb" if row["dataset"].endswith("40g") else "a100-sxm4-80gb"
            out.writerow([graph, row["batch"], gpu, "fp32", "infer", row["mig_profile"], row["model"], row["fb_used_mib"]])
    subprocess.run([corpus.PROGRAM, "predict", "--queries", asked, "-o", answered], check=True, timeout=600)
    errors, calibrating, inside = [], [], 0
    for row in csv.DictReader(open(answered)):
        measured = float(row["measured"])
        of = calibrating if row["name"] in ("bert-base", "bert-base-multilingual-cased") else errors
        of.append((error(float(row["memory_mib_pred"]), measured), f"{row['name']} {row['mig']} batch {row['batch']}"))
        inside += float(row["memory_mib_low"]) <= measured <= float(row["memory_mib_high"])
    report.say(f"inference on A100 and its slices, networks not used for calibration: {figures([e for e, _ in errors])}; "
               f"{100 * inside / (len(errors) + len(calibrating)):.0f} % in the interval")
    report.check(mean(e for e, _ in errors) <= 8, "inference on A100: mean error at most 8 %")
    worst(report, "inference", errors)


# ---- tables of zoos ---------------------------------------------------------------------------------------------------


def predicted(folder, rows):
    """Memory in MiB from sooth predict for rows of (graph, batch, gpu, precision, mode, optimizer, tokens)."""
    asked, answered = os.path.join(folder, "zoo.csv"), os.path.join(folder, "zoo_answers.csv")
    with open(asked, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow("graph batch gpu precision mode optimizer seq".split())
        out.writerows(rows)
    subprocess.run([corpus.PROGRAM, "predict", "--queries", asked, "-o", answered], timeout=1800, check=True)
    return [float(row["memory_mib_pred"]) for row in csv.DictReader(open(answered))]


def predicted_one(folder, *arguments):
    """`memory_mib` of sooth predict with these arguments."""
    answered = os.path.join(folder, "one.json")
    subprocess.run([corpus.PROGRAM, "predict", *arguments, "-f", "json", "-o", answered], timeout=600, check=True)
    with open(answered) as file:
        return json.load(file)["memory_mib"]


def predicted_language_model(folder, graph, batch, length):
    return predicted_one(folder, graph, "--gpu", "a100-sxm4-80gb", "--precision", "fp16", "--batch", batch, "--seq", length)["value"]


def language_model(folder, name):
    """Path of a config.json with these sizes, as published on Hugging Face: language models that the jobs of GPUMemNet
    and CARMA train."""
    kind, layers, hidden, heads, vocab, positions = TEXT[name]
    config = {"bert": {"model_type": "bert", "architectures": ["BertForMaskedLM"], "num_hidden_layers": layers, "hidden_size": hidden,
                       "num_attention_heads": heads, "intermediate_size": 4 * hidden, "vocab_size": vocab,
                       "max_position_embeddings": positions, "type_vocab_size": 2},
              "gpt2": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": layers, "n_embd": hidden, "n_head": heads,
                       "n_positions": positions, "vocab_size": vocab}}[kind]
    path = os.path.join(folder, name, "config.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(config, file)
    return path


TEXT = {
    "bert_base": ("bert", 12, 768, 12, 30522, 512), "bert_large": ("bert", 24, 1024, 16, 30522, 512),
    "gpt2_large": ("gpt2", 36, 1280, 20, 50257, 1024), "gpt2_xl": ("gpt2", 48, 1600, 25, 50257, 1024),
}
TOKENS = 512
# Networks identified by their names. Images are 224 x 224, for Inception 299 x 299.
NAMED = {
    "vgg": "zoo:vgg16", "resnet": "zoo:resnet50", "resnet50": "zoo:resnet50", "mobilenet": "zoo:mobilenet_v2",
    "efficientnet": "timm/efficientnet_b0@224.onnx.gz", "inception": "timm/inception_v3@299.onnx.gz",
}


def carma_context(folder, rows):
    """Memory in use on CARMA's machine besides the tensors, measured and predicted. It is measured by jobs on 32 x 32
    images (CIFAR-100), whose tensors are small; their rows are not scored."""
    measured, ours = [], None
    for row in rows:
        if row["source"] == "carma" and row["data"].startswith("CIFAR") and row["model"] in ("mobilenet", "resnet18"):
            graph = {"mobilenet": "zoo:mobilenet_v2", "resnet18": "zoo:resnet18"}[row["model"]]
            memory = predicted_one(folder, graph, "--gpu", "a100-sxm4-40gb", "--precision", "fp32", "--mode", "train", "--optimizer", "adam",
                                   "--shape", f"input={row['batch']},3,32,32")
            ours = memory["parts"]["context"]
            measured.append(float(row["max_gpu_mem_mib"]) - memory["value"] + ours)
    return statistics.median(measured), ours


def named_jobs(report, folder):
    """Training jobs of well-known networks. Optimizer and precision are not recorded: the same authors' random networks
    have Adam and fp32. GPUMemNet's texts have 512 tokens; the same is assumed for CARMA's ("on wiki"). Not compared:
    Xception, XLNet and UNet (no graph of that size), CIFAR-100 (unknown variants for small images), jobs without a
    batch."""
    rows, left_out, jobs = [], 0, table("measured/memory/real_models_train_a100.csv")
    for row in jobs:
        name = row["model"].lower().removesuffix("_on_wiki")
        graph = language_model(folder, name) if name in TEXT else NAMED.get(name)
        if not graph or not row["batch"] or row["data"].startswith("CIFAR"):
            left_out += 1
            continue
        graph = graph if name in TEXT or graph.startswith("zoo:") else str(corpus.MODELS / graph)
        rows.append((row, (graph, row["batch"], "a100-sxm4-40gb", "fp32", "train", "adam", TOKENS if name in TEXT else "")))
    errors = collections.defaultdict(list)
    context, ours = carma_context(folder, jobs)
    for (row, _), mib in zip(rows, predicted(folder, [asked for _, asked in rows])):
        kind = f"{row['source']}, {'images' if row['data'] == 'ImageNet' else 'text'}"
        if row["source"] == "carma":
            errors[f"{kind}, with its own context"].append(error(mib - ours + context, float(row["max_gpu_mem_mib"])))
        errors[kind].append(error(mib, float(row["max_gpu_mem_mib"])))
        report.detail(f"zoo\t{errors[kind][-1]:.1f} %\t{kind}: {row['model']} {row['batch']}: {row['max_gpu_mem_mib']}, computed {mib:.0f}")
    report.say(f"named networks in training on A100-40GB ({left_out} rows cannot be mapped):")
    for kind, of in errors.items():
        report.say(f"  {kind}: {figures(of)}, mean with its sign {statistics.mean(of):+.1f} %")
    report.say(f"  CARMA's context, by its jobs on small images: {context:.0f} MiB; GPUMemNet's, which Sooth has: {ours:.0f} MiB")
    report.check(mean(errors["gpumemnet, images"]) <= 10, "named CNNs in training (GPUMemNet): mean error at most 10 %")
    report.check(mean(errors["gpumemnet, text"]) <= 15, "language models in training (GPUMemNet): mean error at most 15 %")
    report.check(mean(errors["carma, images, with its own context"]) <= 15, "named CNNs in training (CARMA): mean error at most 15 % with its own context")


LANGUAGE = {
    "NousResearch/Llama-2-7b-hf": "llama2_7b", "meta-llama/Llama-2-7b-hf": "llama2_7b", "lmsys/vicuna-7b-v1.5": "llama2_7b",
    "mistralai/Mistral-7B-v0.1": "mistral_7b",
}


def language_forward(report, folder):
    """Forward passes of language models. Not compared: quantized ones (GPTQ, AWQ, bitsandbytes), ONNX Runtime,
    generation, Llama-2-13b (no graph), and rows far above another row of the same job: there, loading the weights
    was the peak."""
    decoders, encoders, left_out = [], [], 0
    rows = table("measured/memory/optimum_benchmark_llm.csv")
    least = collections.defaultdict(lambda: float("inf"))
    for row in rows:
        job = tuple(row[key] for key in ("model", "backend", "quantization", "batch", "seq_len"))
        row["forward"] = float(row["forward_peak_mem_mb"] or "inf")
        least[job] = min(least[job], row["forward"])
        row["job"] = job
    for row in rows:
        if row["forward"] > 1.15 * least[row["job"]] and row["forward_peak_mem_mb"]:
            left_out += 1
            report.detail(f"not the forward pass's own peak\t{row['job']}: {row['forward']:.0f}, another time {least[row['job']]:.0f}")
        elif not row["forward_peak_mem_mb"] or row["quantization"] or row["backend"] != "pytorch":
            left_out += 1
        elif row["model"] in LANGUAGE:
            decoders.append(row)
        elif row["model"] == "BAAI/bge-base-en-v1.5":
            encoders.append(row)
        else:
            left_out += 1
    asked = [(MIG_NETWORKS["bert-base"] + f"&seq={row['seq_len']}", row["batch"], "a100-sxm4-80gb", "fp32", "infer", "", "") for row in encoders]
    answers = [("BERT in fp32", row, mib) for row, mib in zip(encoders, predicted(folder, asked))]
    for row in sample(decoders, 5):
        graph = corpus.MODELS / "made/hf-config" / LANGUAGE[row["model"]] / "config.json"
        answers.append(("decoders in fp16", row, predicted_language_model(folder, graph, row["batch"], row["seq_len"])))
    errors = collections.defaultdict(list)
    for kind, row, mib in answers:
        errors[kind].append(error(mib, float(row["forward_peak_mem_mb"])))
        report.detail(f"zoo\t{errors[kind][-1]:.1f} %\t{row['model']} batch {row['batch']} sequence {row['seq_len']}: "
                      f"{row['forward_peak_mem_mb']}, computed {mib:.0f}")
    report.say(f"language models, forward pass on A100-80GB ({left_out} rows cannot be mapped):")
    for kind, of in errors.items():
        report.say(f"  {kind}: {figures(of)}, mean with its sign {statistics.mean(of):+.1f} %")
        report.check(mean(of) <= 15, f"language models: {kind}: mean error at most 15 %")


# ---- batch steps ------------------------------------------------------------------------------------------------------


def is_step_calibration(name):
    return zlib.crc32(family(name).encode()) % 2 == 0


def runs_both(small, large):
    """Does the batch that ran fit, and does the next larger one?"""
    return [answer["fits"] and not answer["limit"] for answer in (small, large)]


SHIFT_MIB = 300


def step_margins(report, rows, questions, answers):
    """Sensitivity of the steps: the same questions with SHIFT_MIB more and less memory. Contexts of two software
    versions, or cuDNN's loads for two networks, differ by as much."""
    shifted = [ask(questions, "timm", f"room={mib}") for mib in (SHIFT_MIB, -SHIFT_MIB)]
    total, kept, right = (collections.Counter() for _ in range(3))
    for i, row in enumerate(rows):
        pairs = [of[2 * i:2 * i + 2] for of in (answers, *shifted)]
        if not all(small and large for small, large in pairs):
            continue
        runs = [runs_both(*pair) for pair in pairs]
        for key in ("all", f"{row['mode']}, {row['runtime']}"):
            total[key] += 1
            kept[key] += runs[0] == runs[1] == runs[2]
            right[key] += runs[0] == runs[1] == runs[2] == [True, False]
    for key in total:
        report.say(f"  {key}: {100 - 100 * kept[key] / total[key]:.1f} % of {total[key]} are answered otherwise with {SHIFT_MIB} MiB more or less; of the "
                   f"others {100 * right[key] / kept[key]:.1f} % are right")


def batch_steps(report, count):
    """If a run of timm's benchmark used less than the first batch of its set, that batch fits and the next larger step
    did not. The first batch is the largest and most frequent of its set. context_unlazy_mib, context_autotuned_mib
    and context_autotuned_each_mib were fitted on the half of the families for which is_step_calibration() is true;
    limits.c was written with all rows in view."""
    sets = collections.defaultdict(list)
    for row in table("labels/timm.csv.gz"):
        if not row["gpu"].startswith("cpu"):
            sets[tuple(row[key] for key in ("gpu", "precision", "layout", "runtime", "stack", "mode"))].append(row)
    rows = []
    for of in sets.values():
        used = {int(row["batch"]) for row in of}
        for row in of:
            batch = int(row["batch"])
            if batch < max(used):
                following = min(step for step in LADDER if step > batch)
                row["next"] = 1024 if following == 768 and 768 not in used else min(following, max(used))
                rows.append(row)
    everything = len(rows)
    rows = sample(sorted(rows, key=lambda row: row["graph"]), count)
    questions = [question(corpus.SHARED / "labels" / row["graph"], batch, precision=row["precision"], layout=row["layout"],
                          mode=row["mode"], runtime=row["runtime"], optimizer=row["optimizer"], stack=row["stack"], gpu=row["gpu"])
                 for row in rows for batch in (row["batch"], row["next"])]
    answers = ask(questions, "timm")
    right, both, lower, upper, limits = (collections.Counter() for _ in range(5))
    for i, row in enumerate(rows):
        small, large = answers[2 * i], answers[2 * i + 1]
        if not small or not large:
            continue
        runs = runs_both(small, large)
        half = "families used for calibration" if is_step_calibration(row["name"]) else "families not used for calibration"
        for key in ("all", half, f"{row['mode']}, {row['runtime']}", f"{row['mode']}, {row['runtime']}, {half}",
                    " ".join(row[key] for key in ("gpu", "precision", "layout", "runtime", "stack", "mode"))):
            both[key] += 1
            right[key] += runs == [True, False]
            lower[key] += runs[0]
            upper[key] += not runs[1]
        limits[large["limit"] if small["fits"] and large["fits"] and not small["limit"] else ""] += 1
        if runs != [True, False]:
            report.detail(f"steps\t{'too small' if runs[1] else 'too large'}\t{row['name']} {row['gpu']} {row['stack']} {row['layout']} "
                          f"{row['runtime']} {row['mode']} {row['batch']} {row['next']}: {small['value']:.0f} {large['value']:.0f} MiB")
    report.say(f"batch steps of timm's tables ({everything} rows, {both['all']} asked): both sides right for "
               f"{100 * right['all'] / both['all']:.1f} %, the batch that ran for {100 * lower['all'] / both['all']:.1f} %, the one that did not "
               f"for {100 * upper['all'] / both['all']:.1f} %")
    for key in sorted(both):
        if key != "all":
            tell = report.detail if key.split()[0] in ("rtx-3090", "rtx-4090", "rtx-5090", "rtx-pro-6000-maxq") else report.say
            tell(f"  {key}: {100 * right[key] / both[key]:.1f} % of {both[key]}; too small {100 - 100 * upper[key] / both[key]:.1f} %, "
                 f"too large {100 - 100 * lower[key] / both[key]:.1f} %")
    for reason, n in limits.items():
        if reason:
            report.say(f"  of these {n} are no matter of memory: {reason}")
    if ALL:
        step_margins(report, rows, questions, answers)
    report.check(right["all"] >= 0.90 * both["all"], "batch steps: both sides right for 90 % (the goal is 95 %)")


def main():
    corpus.require("models/oracle/eager/timm_train.jsonl.gz", "measured/memory/emulated_train_a100.csv",
                   "labels/memory_timm_a100.csv.gz", "labels/timm.csv.gz", "measured/mig/mig_measured.csv")
    report = corpus.Report("memory")
    traces(report, "infer", 120)
    traces(report, "train", 60)
    allocator(report, 80)
    training_sums(report, 160)
    with tempfile.TemporaryDirectory() as folder:
        random_sums(report, "cnn", 80, folder)
        random_sums(report, "mlp", 80, folder)
        inference_sums(report, folder)
        named_jobs(report, folder)
        language_forward(report, folder)
    batch_steps(report, 160)
    if not ALL:
        report.page("doc/memory.md")
        report.say("every row: tests/corpus/memory.py --all")
    report.end()


if __name__ == "__main__":
    main()
