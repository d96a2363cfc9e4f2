#!/usr/bin/env python3
"""Loads a data set of `sooth dataset export SET.db -f npz -o set.npz` and trains a small GraphSAGE on it.

    dataset_example.py set.npz [EPOCHS]

Needs numpy, torch and torch_geometric."""
import sys

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import SAGEConv, global_add_pool


def load(path):
    """One Data per graph with a latency: one-hot operators, logarithms of shapes and attributes, all edges."""
    given = dict(np.load(path))
    latency = dict(zip(given["label_graph"][::-1], given["label_values"][::-1, 0]))  # the first label of each graph
    x = np.concatenate([np.eye(len(given["operators"]))[given["node_op"]],
                        np.log1p(np.maximum(given["node_dims"], 0)), np.log1p(given["node_attributes"])], 1).astype("f4")
    graphs = []
    for i, ms in sorted(latency.items()):
        nodes, edges = slice(*given["node_ptr"][i:i + 2]), slice(*given["edge_ptr"][i:i + 2])
        graphs.append(Data(x=torch.tensor(x[nodes]), edge_index=torch.tensor(given["edge_index"][:, edges]), y=torch.tensor([np.log(ms)]).float()))
    return graphs


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = SAGEConv(width, 64), SAGEConv(64, 64)
        self.out = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        x = self.second(x, data.edge_index).relu()
        return self.out(torch.log1p(global_add_pool(x, data.batch)))[:, 0]


def main():
    torch.manual_seed(1)
    graphs = load(sys.argv[1])
    net = Net(graphs[0].x.shape[1])
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
        total = 0.0
        for batch in DataLoader(graphs, 32, shuffle=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.l1_loss(net(batch), batch.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.num_graphs
        print(f"epoch {epoch + 1}: mean error of the logarithm {total / len(graphs):.3f} over {len(graphs)} graphs")


main()
