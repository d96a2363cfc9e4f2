#!/usr/bin/env python3
"""The training step of bench/learn.c in PyTorch: the same networks, sums, loss and update, on as many threads.

    learn_torch.py SECONDS THREADS SHAPE…

SHAPE is the second line of bench/learn. The samples of a batch are prepared in one tensor per group; Sooth's own figure
includes gathering them, this one does not. Prints one line: version; steps; the fastest and the median step in
milliseconds; the mean loss of the first and the last step. Exits with 3 if PyTorch is not installed.
"""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(3)

HUBER, DECAY, UNKNOWN_STACK, UNKNOWN_GPU, FIXED_US, POWER, RATE = 0.03, 1e-4, 0.05, 0.25, 2.0, 6, 3e-3
BATCHES, LEAST_STEPS = 4, 10


def uniform(*shape, limit):
    return torch.nn.Parameter((torch.rand(*shape) * 2 - 1) * limit)


class Group(torch.nn.Module):
    def __init__(self, width, first, second):
        super().__init__()
        self.first = torch.nn.Linear(width, first)
        self.second = torch.nn.Linear(first, second)
        self.heads = torch.nn.Linear(second, 3)
        torch.nn.init.uniform_(self.first.weight, -(3 / width) ** 0.5, (3 / width) ** 0.5)
        torch.nn.init.uniform_(self.second.weight, -(6 / first) ** 0.5, (6 / first) ** 0.5)
        torch.nn.init.uniform_(self.heads.weight, -0.02, 0.02)
        for layer in (self.first, self.second, self.heads):
            torch.nn.init.zeros_(layer.bias)

    def forward(self, x):
        act = torch.nn.functional.hardswish
        return self.heads(act(self.second(act(self.first(x))))).clamp(-8, 8).exp()


class Predictor(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        ops, stacks, gpus = shape["counts"]
        op, stack, gpu = shape["widths"]
        self.ops = uniform(ops, op, limit=0.5)
        self.stacks = uniform(stacks, stack, limit=0.3)
        self.gpus = uniform(gpus, gpu, limit=0.3)
        self.stack_fixed = torch.nn.Parameter(torch.full((stacks,), 10.0).log())
        self.stack_host = torch.nn.Parameter(torch.full((stacks,), 5.0).log())
        self.group_host = torch.nn.Parameter(torch.zeros(len(shape["groups"])))
        self.gpu_host = torch.nn.Parameter(torch.zeros(gpus))
        self.machine_host = torch.nn.Parameter(torch.zeros(stacks, gpus))
        width = shape["features"] + op + stack + gpu
        self.groups = torch.nn.ModuleList(Group(width, first, second) for _, first, second in shape["groups"])

    def forward(self, batch):
        """The mean loss of a batch."""
        examples = len(batch["stack"])
        stack = torch.where(torch.rand(examples) < UNKNOWN_STACK, 0, batch["stack"])
        gpu = torch.where(torch.rand(examples) < UNKNOWN_GPU, 0, batch["gpu"])
        vectors = torch.cat((self.stacks[stack], self.gpus[gpu]), 1)
        device = torch.zeros(examples)
        for net, g in zip(self.groups, batch["groups"]):
            if len(g["op"]):
                factors = net(torch.cat((g["features"], self.ops[g["op"]], vectors[g["example"]]), 1))
                device = device.index_add(0, g["example"], (factors * g["ideal"]).sum(1))
        each = (self.stack_host[stack] + self.gpu_host[gpu] + self.machine_host[stack, gpu]).exp()
        host = (batch["launches"] * self.group_host.exp()).sum(1) * each
        larger, smaller = torch.maximum(device, host), torch.minimum(device, host)
        joint = larger * (1 + (smaller / larger) ** POWER) ** (1 / POWER)
        error = ((joint + self.stack_fixed[stack].exp()) / batch["latency"]).log() / HUBER
        return (((1 + error * error).sqrt() - 1) * HUBER).mean()


def make_batch(shape):
    """Random examples; the samples of a group belong to random examples too."""
    examples, (ops, stacks, gpus) = shape["examples"], shape["counts"]
    batch = {"stack": torch.randint(1, stacks, (examples,)), "gpu": torch.randint(1, gpus, (examples,)), "groups": [],
             "launches": torch.zeros(examples, len(shape["groups"])), "latency": torch.full((examples,), 20.0)}
    for i, (samples, _, _) in enumerate(shape["groups"]):
        features = torch.rand(samples, shape["features"]) * 2 - 1
        count = torch.randint(1, 5, (samples,)).float()
        times = torch.rand(samples, 2) * 49 + 1
        owner = torch.randint(0, examples, (samples,)).sort().values
        ideal = torch.cat((times, torch.full((samples, 1), FIXED_US)), 1) * count[:, None]
        batch["groups"].append({"features": features, "op": torch.randint(0, ops, (samples,)), "example": owner, "ideal": ideal})
        batch["launches"][:, i].index_add_(0, owner, count)
        truth = count * (times[:, 0] * (1.6 + features[:, 0]) + times[:, 1] * (1.3 + features[:, 1] / 4) + 2)
        batch["latency"].index_add_(0, owner, truth)
    return batch


def read_shape(words):
    numbers = [int(w) for w in words]
    groups = numbers[9:]
    return {"parameters": numbers[0], "examples": numbers[1], "features": numbers[2], "counts": numbers[3:6],
            "widths": numbers[6:9], "groups": list(zip(groups[0::3], groups[1::3], groups[2::3]))}


def main():
    seconds, threads, shape = float(sys.argv[1]), int(sys.argv[2]), read_shape(sys.argv[3:])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Predictor(shape)
    parameters = list(model.parameters())
    if sum(p.numel() for p in parameters) != shape["parameters"]:
        sys.exit(f"{sum(p.numel() for p in parameters)} parameters, and Sooth has {shape['parameters']}")
    average = [p.detach().clone() for p in parameters]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, weight_decay=DECAY, fused=True)
    batches = [make_batch(shape) for _ in range(BATCHES)]
    times, losses, began = [], [], time.perf_counter()
    while len(times) < LEAST_STEPS or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = model(batches[len(times) % BATCHES])
        loss.backward()
        optimizer.step()
        keep = min(0.999, (len(times) + 1) / (len(times) + 11))
        with torch.no_grad():
            torch._foreach_lerp_(average, parameters, 1 - keep)
        times.append(1e3 * (time.perf_counter() - start))
        losses.append(loss.item())
    times_in_order = sorted(times)
    print(torch.__version__, len(times), f"{times_in_order[0]:.3f}", f"{times_in_order[len(times) // 2]:.3f}", f"{losses[0]:.4f}",
          f"{losses[-1]:.4f}")


if __name__ == "__main__":
    main()
