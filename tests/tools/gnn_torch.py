"""The graph networks of `sooth gnn` in PyTorch Geometric, for tests/suites/gnn.py and bench/gnn.py, which run it with a Python that has both:

    gnn_torch.py check KIND OUT.npz                       compares arrays of `sooth gnn gradient`; prints the largest relative differences
    gnn_torch.py epoch KIND FEATURES HIDDEN N SET.npz     seconds and processor seconds of N epochs on 70 % of the graphs of `sooth dataset export -f npz`
"""
import sys
import time

import numpy as np
import torch
import torch_geometric.nn as geometric
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

BLOCKS, OPERATORS = 3, 16


def convolution(kind, inputs, hidden):
    if kind == "sage":
        return geometric.SAGEConv(inputs, hidden, normalize=True)
    if kind == "gcn":
        return geometric.GCNConv(inputs, hidden)
    if kind == "gat":
        return geometric.GATConv(inputs, hidden)
    if kind == "gin":
        return geometric.GINConv(torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden)))
    return torch.nn.Linear(inputs, hidden)


class Network(torch.nn.Module):
    """Three convolutions with ReLU and dropout, the sum over the nodes, three dense layers."""

    def __init__(self, kind, inputs, rows, hidden, dropout=0.0, outputs=3):
        super().__init__()
        self.has_edges = kind != "mlp"
        self.blocks = torch.nn.ModuleList(convolution(kind, hidden if i else inputs, hidden) for i in range(BLOCKS))
        self.dropout = dropout
        self.dense = torch.nn.Sequential(torch.nn.Linear(hidden + rows, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden),
                                         torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))

    def forward(self, x, edges, graph, rows, row_graph, graphs):
        for block in self.blocks:
            x = torch.relu(block(x, edges) if self.has_edges else block(x))
            x = torch.nn.functional.dropout(x, self.dropout, self.training)
        sums = geometric.global_add_pool(x, graph, graphs)
        return self.dense(torch.cat([sums[row_graph], rows], 1))


def pairs(network, kind):
    """(name in Sooth's file, parameter, True if the matrix is stored transposed)"""
    for i, block in enumerate(network.blocks, 1):
        if kind == "sage":
            yield from ((f"block{i}.weight", block.lin_l.weight, True), (f"block{i}.bias", block.lin_l.bias, False),
                        (f"block{i}.own", block.lin_r.weight, True))
        elif kind in ("gcn", "gat"):
            yield from ((f"block{i}.weight", block.lin.weight, True), (f"block{i}.bias", block.bias, False))
            if kind == "gat":
                yield from ((f"block{i}.from", block.att_src, False), (f"block{i}.to", block.att_dst, False))
        elif kind == "gin":
            yield from ((f"block{i}.weight", block.nn[0].weight, True), (f"block{i}.bias", block.nn[0].bias, False),
                        (f"block{i}.own", block.nn[2].weight, True), (f"block{i}.own_bias", block.nn[2].bias, False))
        else:
            yield from ((f"block{i}.weight", block.weight, True), (f"block{i}.bias", block.bias, False))
    for i in range(3):
        yield from ((f"dense{i + 1}.weight", network.dense[2 * i].weight, True), (f"dense{i + 1}.bias", network.dense[2 * i].bias, False))


def loss_of(outputs, targets, huber):
    known = ~torch.isnan(targets)
    return torch.nn.functional.huber_loss(outputs[known], targets[known], delta=huber)


def difference(ours, theirs, scale):
    return float(np.abs(ours - theirs).max() / max(scale, 1e-30))


def check(kind, path):
    a = np.load(path)
    network = Network(kind, a["nodes"].shape[1], a["rows"].shape[1], a["parameter.block1.weight"].shape[1]).double()
    with torch.no_grad():
        for name, parameter, turned in pairs(network, kind):
            stored = torch.tensor(a["parameter." + name]).double()
            parameter.copy_((stored.T if turned else stored).reshape(parameter.shape))
    tensors = [torch.tensor(a[name]) for name in ("nodes", "edges", "graph", "rows", "row_graph")]
    outputs = network(tensors[0].double(), tensors[1].long(), tensors[2].long(), tensors[3].double(), tensors[4].long(), int(a["graph"].max()) + 1)
    loss = loss_of(outputs, torch.tensor(a["targets"]).double(), float(a["huber"][0]))
    loss.backward()
    theirs = outputs.detach().numpy()
    worst = {"outputs": difference(a["outputs"], theirs, np.abs(theirs).max()), "loss": difference(a["loss"], np.array([loss.item()]), loss.item())}
    # Relative to the largest gradient of the layer, because those of attention nearly cancel: softmax ignores a shift
    # of all inputs.
    largest = {}
    for name, parameter, _ in pairs(network, kind):
        layer = name.split(".")[0]
        largest[layer] = max(largest.get(layer, 0), float(parameter.grad.abs().max()))
    for name, parameter, turned in pairs(network, kind):
        ours = a["gradient." + name]
        worst[name] = difference((ours.T if turned else ours).reshape(parameter.shape), parameter.grad.numpy(), largest[name.split(".")[0]])
    for name, value in worst.items():
        print(f"{name} {value:.3e}")


def load(path, which, kept):
    """Graphs in DIPPM's form or in full. Node features are simplified, because only times are compared."""
    a, graphs = np.load(path), []
    label = {int(g): values for g, values in zip(a["label_graph"], a["label_values"])}
    for i in range(int(len(a["graph_name"]) * kept)):
        nodes = slice(a["node_ptr"][i], a["node_ptr"][i + 1])
        attributes, dims = a["node_attributes"][nodes], a["node_dims"][nodes][:, :4]
        edges = a["edge_index"][:, a["edge_ptr"][i]:a["edge_ptr"][i + 1]]
        x = np.concatenate([np.zeros((len(dims), OPERATORS)), np.log1p(np.maximum(attributes, 0)), np.log1p(np.maximum(dims, 0))], 1)
        if which == "dippm":
            x = x[attributes[:, 11] > 0]
            edges = np.stack([np.arange(len(x) - 1), np.arange(1, len(x))]) if len(x) else np.zeros((2, 0))
        values = label[i]
        target = np.log([values[0], values[3], values[6]])
        graphs.append(Data(x=torch.tensor(x, dtype=torch.float32), edge_index=torch.tensor(edges, dtype=torch.long),
                           rows=torch.zeros(1, 22), y=torch.tensor(target, dtype=torch.float32)[None]))
    return graphs


def epochs(kind, which, hidden, count, path):
    torch.manual_seed(1)
    graphs = load(path, which, 0.7)
    loader = DataLoader(graphs, batch_size=16, shuffle=True)
    network = Network(kind, 32, 22, hidden, dropout=0.05)
    optimizer = torch.optim.Adam(network.parameters(), lr=2.754e-5)
    for _ in range(count):
        begun, processor = time.monotonic(), time.process_time()
        for batch in loader:
            optimizer.zero_grad()
            outputs = network(batch.x, batch.edge_index, batch.batch, batch.rows, torch.arange(batch.num_graphs), batch.num_graphs)
            loss_of(outputs, batch.y, 1.0).backward()
            optimizer.step()
        print(f"{time.monotonic() - begun:.3f} {time.process_time() - processor:.3f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "epoch":
        epochs(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
    if sys.argv[1] == "check":
        check(*sys.argv[2:4])
