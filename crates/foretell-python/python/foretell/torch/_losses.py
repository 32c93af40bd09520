"""What a module gives and what losses are taken of it."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from foretell import _native
from foretell.torch._subject import FEATURES, STEPS_FIRST, Fed, Subject, outputs
from foretell.torch._trace import ACTIVATIONS, SOFTMAX

# Activation functions that are one operation; others are written as several, and what they give is not seen.
WHOLE = {"gelu", "relu", "silu", "leaky_relu", "elu", "mish", "hardswish", "relu6", "hardtanh"}


class Unable(Exception):
    """A pass that torch cannot run on this model, and why."""


class Losses:
    """A module, what it is fed, and its losses."""

    def __init__(self, subject: Subject, native: _native.Module, loss: Callable[..., Any] | None, seed: int) -> None:
        self.subject, self.native, self.loss, self.seed = subject, native, loss, seed
        self.double: torch.nn.Module | None = None
        traced, finder = subject.traced, subject.finder
        soft = [node.index for node in traced.nodes if node.name in SOFTMAX]
        acts = [node.index for node in traced.nodes if node.name in ACTIVATIONS]
        places = subject.places
        self.soft = {soft.index(index): place for index, query, _ in finder.attention if (place := places.get(query)) is not None}
        self.act = {acts.index(index): place for index, first in finder.activations if (place := places.get(first)) is not None}
        self.whole = all(traced.nodes[index].name in WHOLE for index, _ in finder.activations)

    def name_of(self, entry: dict[str, Any]) -> str:
        name = str(entry["name"])
        return name if entry["part"] is None else name.rpartition(".")[0]

    def part(self, tensors: Mapping[str, torch.Tensor], entry: dict[str, Any]) -> torch.Tensor:
        tensor = tensors[self.name_of(entry)]
        return tensor if entry["part"] is None else tensor[entry["part"]]

    def modules(self, model: torch.nn.Module) -> dict[str, torch.nn.Module]:
        """The modules that own one weight each, of the model or of its copy."""
        names = dict(model.named_modules())
        return {name: names[name.rpartition(".")[0]] for name in self.subject.owners()}

    def value(self, result: Any, features: bool = False) -> torch.Tensor:
        """The outputs that a loss is taken of: features of encoders and cells, scores of others."""
        first, scores = outputs(result, self.subject.kind, self.subject.pick)
        own = self.subject.kind in FEATURES
        chosen = first if features or own else scores
        chosen = chosen if chosen is not None or features else (scores if first is None else first)
        if chosen is None:
            raise Unable("the model gives no features before its head")
        return self.listed(chosen)

    def listed(self, value: torch.Tensor) -> torch.Tensor:
        """Rows in the order in which the network lists them: sample after sample, or step after step."""
        return value.transpose(0, 1) if self.subject.kind in STEPS_FIRST and value.dim() == 3 else value

    def loss_of(self, place: int, model: torch.nn.Module, fed: Fed) -> torch.Tensor:
        kind = self.native.natural(place)
        if kind in ("cross-entropy", "natural") and self.loss is not None:
            return self.loss(fed.call(model), fed.labels) if fed.labels is not None else self.loss(fed.call(model))
        if kind == "cross-entropy" and fed.own_loss:
            found = getattr(fed.call(model, loss=True), "loss", None)
            if found is not None:
                return found
        y = self.value(fed.call(model)) if kind != "cross-entropy" else self.scores(fed.call(model))
        if kind == "sum":
            return y.sum()
        if kind == "half-square":
            return y.pow(2).sum() / 2
        if kind == "projection":
            signs = torch.from_numpy(_native.signs(self.seed, "projection", y.numel())).to(y)
            return (y.flatten() * signs).sum()
        labels = self.labels(fed, y)
        if kind == "target":
            return y.gather(-1, labels[:, None]).sum()
        return functional.cross_entropy(y.flatten(0, -2), labels.flatten())

    def scores(self, result: Any) -> torch.Tensor:
        first, scores = outputs(result, self.subject.kind, self.subject.pick)
        found = scores if scores is not None else first
        if found is None:
            raise Unable("the model gives no scores")
        return found

    def labels(self, fed: Fed, y: torch.Tensor) -> torch.Tensor:
        if fed.labels is not None:
            if fed.labels.shape != y.shape[:-1]:
                raise Unable(f"labels of shape {tuple(fed.labels.shape)} do not fit scores of shape {tuple(y.shape)}")
            return fed.labels
        generator = torch.Generator().manual_seed(self.seed)
        return torch.randint(y.shape[-1], y.shape[:-1], generator=generator).to(y.device)
