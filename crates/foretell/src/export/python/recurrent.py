"""A recurrent language model; the cell is a graph of a few operations (NAS-Bench-NLP)."""
import torch
from torch import nn
from torch.nn import functional as F


class Linear(nn.Module):
    """The sum of a linear map of each input, and a bias."""

    def __init__(self, inputs, width):
        super().__init__()
        self.weights = nn.ParameterList(torch.zeros(width, n) for n in inputs)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, *inputs):
        return sum(F.linear(x, weight) for x, weight in zip(inputs, self.weights)) + self.bias


OPERATIONS = {
    "blend": lambda a, b, c: a * b + (1 - a) * c,
    "elementwise_prod": lambda a, b: a * b,
    "elementwise_sum": lambda a, b: a + b,
    "activation_tanh": torch.tanh,
    "activation_sigm": torch.sigmoid,
    "activation_leaky_relu": lambda x: F.leaky_relu(x, 0.01),
}


class Cell(nn.Module):
    """Nodes read x (-1), states of the step before (-2, -3, …) or earlier nodes (0, 1, …)."""

    def __init__(self, sizes, width, inputs):
        super().__init__()
        self.nodes, self.results = sizes["nodes"], sizes["results"]
        self.components = nn.ModuleDict()
        for i, node in enumerate(self.nodes):
            if node["op"] == "linear":
                widths = [inputs if source == -1 else width for source in node["inputs"]]
                self.components[f"node_{i}"] = Linear(widths, width)

    def forward(self, x, states):
        values = []
        for i, node in enumerate(self.nodes):
            read = [x if n == -1 else states[-n - 2] if n < 0 else values[n] for n in node["inputs"]]
            apply = self.components[f"node_{i}"] if node["op"] == "linear" else OPERATIONS[node["op"]]
            values.append(apply(*read))
        return [values[n] for n in self.results]


class Layer(nn.Module):
    def __init__(self, sizes, inputs, width):
        super().__init__()
        self.cell, self.width, self.states = Cell(sizes, width, inputs), width, len(sizes["results"])

    def forward(self, x):
        states, outputs = [x.new_zeros(x.shape[0], self.width)] * self.states, []
        for step in x.unbind(1):
            states = self.cell(step, states)
            outputs.append(states[0])
        return torch.stack(outputs, 1)


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        words, narrow, wide, layers = (
            sizes[key] for key in ("vocab_size", "embedding_size", "hidden_size", "num_hidden_layers")
        )
        # The last word is read but, as a word that is read, not learned: so were the originals trained.
        self.encoder = nn.Embedding(words, narrow, padding_idx=words - 1)
        self.decoder = nn.ParameterDict({"bias": torch.zeros(words)})
        widths = [narrow] + [wide] * (layers - 1) + [narrow]
        self.rnns = nn.ModuleList(Layer(sizes, a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, ids):
        """The features of all tokens, and the scores of all words after each."""
        x = self.encoder(ids)
        for rnn in self.rnns:
            x = rnn(x)
        return x, F.linear(x, self.encoder.weight, self.decoder["bias"])
