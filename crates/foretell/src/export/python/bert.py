"""A BERT encoder whose heads and feed-forward widths are free per layer."""
import torch
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads, self.dropout = layer["num_attention_heads"], sizes["dropout"]
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        drop = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, mask, drop).transpose(1, 2).flatten(2)


class Layer(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, hidden = sizes["hidden_size"], layer["intermediate_size"]
        self.attention = nn.ModuleDict({"self": SelfAttention(sizes, layer), "output": Residual(width, sizes)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, hidden)})
        self.output = Residual(hidden, sizes)

    def forward(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes["hidden_size"]
        self.embeddings = Embeddings(sizes)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(sizes, layer) for layer in sizes["layers"])})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(width, width)})

    def forward(self, ids, types=None, mask=None):
        """The features of all tokens, and the pooled first one; `mask` is 0 where tokens are to be ignored."""
        mask = None if mask is None else mask[:, None, None, :].bool()
        x = self.embeddings(ids, types)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler["dense"](x[:, 0]))
