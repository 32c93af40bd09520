"""Adaptive embedding and softmax: the vocabulary in clusters, rarer words in narrower tables."""
import torch
from torch import nn
from torch.nn import functional as F


class AdaptiveEmbedding(nn.Module):
    """One table per cluster, or one for all if widths are equal; projected to the model's width where it differs."""

    def __init__(self, sizes):
        super().__init__()
        words, widths = sizes["table_words"], sizes["table_widths"]
        self.words, self.model = words, sizes["hidden_size"]
        self.emb_layers = nn.ModuleList(nn.Embedding(n, width) for n, width in zip(words, widths))
        projected = [torch.zeros(self.model, width) for width in widths] if sizes["projected"] else []
        self.emb_projs = nn.ParameterList(projected)

    def forward(self, ids):
        weight = self.emb_layers[0].weight
        x = weight.new_zeros(*ids.shape, self.model)
        start = 0
        for i, words in enumerate(self.words):
            inside = (ids >= start) & (ids < start + words)
            part = self.emb_layers[i](ids[inside] - start)
            x[inside] = part @ self.emb_projs[i].T if len(self.emb_projs) else part
            start += words
        return x * self.model**0.5


class AdaptiveSoftmax(nn.Module):
    """Scores of all words from the embedding's own tables; log-probabilities where there are several clusters."""

    def __init__(self, sizes):
        super().__init__()
        words, widths = sizes["table_words"], sizes["table_widths"]
        self.clusters, self.projected, self.tied = sizes["cluster_words"], sizes["projected"], sizes["tied_projections"]
        self.out_layers_biases = nn.ParameterList(torch.zeros(n) for n in words)
        self.out_projs = nn.ParameterDict()
        for i, width in enumerate(widths):
            if self.projected and (i == 0 or not self.tied):
                self.out_projs[str(i)] = nn.Parameter(torch.zeros(sizes["hidden_size"], width))
        further = len(self.clusters) - 1
        if further > 0:
            self.cluster_weight = nn.Parameter(torch.zeros(further, widths[0]))
            self.cluster_bias = nn.Parameter(torch.zeros(further))

    def scores(self, x, cluster, embedding):
        """Scores of a cluster's words, and what they were computed from."""
        one_table = len(self.out_layers_biases) == 1
        table = 0 if one_table else cluster
        if self.projected:
            shared = self.tied and cluster > 0
            x = x @ (embedding.emb_projs[table] if shared else self.out_projs[str(table)])
        first = sum(self.clusters[:cluster]) if one_table else 0
        rows = slice(first, first + self.clusters[cluster])
        return F.linear(x, embedding.emb_layers[table].weight[rows], self.out_layers_biases[table][rows]), x

    def forward(self, x, embedding):
        head, narrow = self.scores(x, 0, embedding)
        if len(self.clusters) == 1:
            return head
        entries = F.linear(narrow, self.cluster_weight, self.cluster_bias)
        head = torch.cat([head, entries], -1).log_softmax(-1)
        parts = [head[..., : self.clusters[0]]]
        for i in range(1, len(self.clusters)):
            tail, _ = self.scores(x, i, embedding)
            parts.append(tail.log_softmax(-1) + head[..., self.clusters[0] + i - 1, None])
        return torch.cat(parts, -1)
