"""Stochastic depth."""
from torch import nn


class DropPath(nn.Module):
    """Drops the whole branch of a sample in training."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0.0:
            return x
        keep = 1.0 - self.rate
        return x * x.new_empty(x.shape[0], 1, 1).bernoulli_(keep) / keep
