"""What encoders of text share."""
import torch
from torch import nn
from torch.nn import functional as F


class Embeddings(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes["embedding_size"]
        self.word_embeddings = nn.Embedding(sizes["vocab_size"], width, padding_idx=0)
        self.position_embeddings = nn.Embedding(sizes["max_position_embeddings"], width)
        self.token_type_embeddings = nn.Embedding(sizes["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, sizes["layer_norm_eps"])
        self.dropout = nn.Dropout(sizes["dropout"])

    def forward(self, ids, types=None):
        types = torch.zeros_like(ids) if types is None else types
        x = self.word_embeddings(ids) + self.token_type_embeddings(types)
        return self.dropout(self.LayerNorm(x + self.position_embeddings.weight[: ids.shape[1]]))


class Residual(nn.Module):
    """A linear map back to the width of the stream, added to it and normalised."""

    def __init__(self, inputs, sizes):
        super().__init__()
        self.dense = nn.Linear(inputs, sizes["hidden_size"])
        self.LayerNorm = nn.LayerNorm(sizes["hidden_size"], sizes["layer_norm_eps"])
        self.dropout = nn.Dropout(sizes["dropout"])

    def forward(self, x, stream):
        return self.LayerNorm(stream + self.dropout(self.dense(x)))


class MaskedHead(nn.Module):
    """Scores of all words at every token, by the embedding's own table."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["embedding_size"]
        self.dense = nn.Linear(sizes["hidden_size"], width)
        self.LayerNorm = nn.LayerNorm(width, sizes["layer_norm_eps"])
        self.bias = nn.Parameter(torch.zeros(sizes["vocab_size"]))

    def forward(self, x, words):
        return F.linear(self.LayerNorm(F.gelu(self.dense(x))), words, self.bias)
