"""A GPT-2 decoder whose heads and feed-forward widths are free per layer."""
import torch
from torch import nn
from torch.nn import functional as F


class Conv1D(nn.Module):
    """A linear map stored inputs x outputs, as GPT-2 does."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads, self.dropout = layer["num_attention_heads"], sizes["dropout"]
        self.c_attn = Conv1D(3 * width, width)
        self.c_proj = Conv1D(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, 2))
        drop = self.dropout if self.training else 0.0
        x = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        return self.c_proj(x.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.c_fc = Conv1D(hidden, width)
        self.c_proj = Conv1D(width, hidden)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, eps = sizes["hidden_size"], sizes["layer_norm_eps"]
        self.ln_1 = nn.LayerNorm(width, eps)
        self.attn = Attention(sizes, layer)
        self.ln_2 = nn.LayerNorm(width, eps)
        self.mlp = FeedForward(width, layer["intermediate_size"])
        self.drop = nn.Dropout(sizes["dropout"])

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class PlainSoftmax(nn.Module):
    """Scores of all words: the embedding's table, as in GPT-2 itself."""

    def forward(self, x, embedding):
        return x @ embedding.weight.T


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, plain = sizes["hidden_size"], sizes["plain_head"]
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(sizes["vocab_size"], width) if plain else AdaptiveEmbedding(sizes),
            "wpe": nn.Embedding(sizes["max_position_embeddings"], width),
            "h": nn.ModuleList(Block(sizes, layer) for layer in sizes["layers"]),
            "ln_f": nn.LayerNorm(width, sizes["layer_norm_eps"]),
        })
        self.lm_head = PlainSoftmax() if plain else AdaptiveSoftmax(sizes)
        self.drop = nn.Dropout(sizes["dropout"])

    def forward(self, ids):
        """The features of all tokens, and the scores of all words after each."""
        body = self.transformer
        x = self.drop(body["wte"](ids) + body["wpe"].weight[: ids.shape[1]])
        for block in body["h"]:
            x = block(x)
        x = body["ln_f"](x)
        return x, self.lm_head(x, body["wte"])
