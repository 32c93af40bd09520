"""Passes by what they differentiate: all weights at once, each sample apart, the gradient itself, random probes."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import contextlib
from typing import Any

import torch

from foretell import _native
from foretell.torch._losses import Unable
from foretell.torch._signals import Signals, flat
from foretell.torch._subject import STEPS_FIRST, Fed


class Derivatives(Signals):
    """Runs one pass of each kind."""

    def plain(self, place: int, wanted: dict[str, Any], model: torch.nn.Module, fed: Fed, derivative: str) -> dict[str, Any]:
        """A pass over the batch that keeps values, and differentiates by these or by weights."""
        keep = set()
        for signal in wanted["keep"]:
            why = self.unable(signal, model)
            if why is None:
                keep.add(signal)
            else:
                self.native.lacks(place, signal, why)
        with contextlib.ExitStack() as stack:
            seen = self.hooked(model, fed, keep, stack)
            watch = self.watched(keep, stack)
            if "block-gradients" in keep:
                fed.call(model)
                self.apart(place, seen)
                loss = None
            elif wanted["loss"] == "none":
                with torch.no_grad():
                    fed.call(model)
                loss = None
            else:
                loss = self.loss_of(place, model, fed)
        self.hand_values(place, keep, seen, watch)
        if loss is not None:
            self.backward(place, model, loss, derivative == "weights", seen)
        return {"batch": fed.size, "loss": None if loss is None else float(loss.detach())}

    def chosen(self, model: torch.nn.Module, layers: Any) -> list[tuple[str, Any]]:
        """Weights of a selection of layers, with the part of each that is meant."""
        entries = [self.subject.entries[index] for index in self.native.select(layers)]
        return [(self.name_of(entry), entry["part"]) for entry in entries]

    def samples(self, place: int, wanted: dict[str, Any], model: torch.nn.Module, fed: Fed, options: Any) -> dict[str, Any]:
        """Gradients of each sample apart, folded."""
        fold, layers = options
        if fold == "halves":
            raise Unable("it looks at tensors in the order of one published model")
        names = self.chosen(model, layers)
        parameters = dict(model.named_parameters())
        leaves = [parameters[name] for name in dict.fromkeys(name for name, _ in names)]
        kept: list[torch.Tensor] = []
        signs: Any = 0
        numbers: list[float] = []
        for index in range(fed.size):
            sample = fed.part(index, index + 1)
            found = torch.autograd.grad(self.loss_of(place, model, sample), leaves, allow_unused=True)
            gradients = {id(leaf): torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found)}
            parts = [gradients[id(parameters[name])] if part is None else gradients[id(parameters[name])][part] for name, part in names]
            if fold == "gram":
                kept.append(torch.cat([part.flatten() for part in parts]))
            elif fold == "norms":
                numbers.append(sum(float(part.double().pow(2).sum()) for part in parts))
            else:
                signs = signs + torch.cat([part.flatten().sign() for part in parts])
        if fold == "gram":
            numbers = [float(a.double() @ b.double()) for a in kept for b in kept]
        elif fold == "signs":
            numbers = [float(signs.abs().double().sum())]
        return {"batch": fed.size, "numbers": numbers}

    def hessian(self, place: int, wanted: dict[str, Any], model: torch.nn.Module, fed: Fed, options: Any) -> dict[str, Any]:
        """The Hessian times the gradient, the latter restricted to some layers."""
        names = self.chosen(model, options)
        parameters = dict(model.named_parameters())
        loss = self.loss_of(place, model, fed)
        found = torch.autograd.grad(loss, list(parameters.values()), create_graph=True, allow_unused=True)
        gradients = dict(zip(parameters, found))
        total: Any = 0
        for name, part in names:
            gradient = gradients[name]
            if gradient is not None:
                gradient = gradient if part is None else gradient[part]
                total = total + (gradient * gradient.detach()).sum()
        products = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
        made = {name: torch.zeros_like(weight) if product is None else product
                for (name, weight), product in zip(parameters.items(), products)}
        for index, entry in enumerate(self.subject.entries):
            self.native.set_gradient(place, index, flat(self.part(made, entry)))
        return {"batch": fed.size, "loss": None}

    def trace(self, place: int, wanted: dict[str, Any], model: torch.nn.Module, fed: Fed, options: Any) -> dict[str, Any]:
        """The trace of the tangent kernel, a row per probe and a column per tensor."""
        probes, mean = options["probes"], options["mean"]
        if probes is None:
            raise Unable("it takes every coordinate of the outputs in turn: give it a number of probes")
        y = self.value(fed.call(model), features=not options["logits"])
        steps_first = self.subject.kind in STEPS_FIRST
        batch, cols = fed.size, y.shape[-1]
        tokens = y.numel() // cols // batch
        count = batch * cols if mean else y.numel()
        signs = torch.from_numpy(_native.signs(self.seed, "trace", probes * count)).to(y)
        parameters = dict(model.named_parameters())
        traces = []
        for probe in range(probes):
            drawn = signs[probe * count : (probe + 1) * count] / tokens
            if mean:
                drawn = drawn.view(1, batch, cols).expand(tokens, batch, cols) if steps_first else drawn.view(batch, 1, cols).expand(batch, tokens, cols)
            found = torch.autograd.grad(y, list(parameters.values()), drawn.reshape(y.shape), retain_graph=True, allow_unused=True)
            gradients = {name: torch.zeros_like(weight) if g is None else g for (name, weight), g in zip(parameters.items(), found)}
            traces.append([float(self.part(gradients, entry).double().pow(2).sum()) for entry in self.subject.entries])
        return {"batch": fed.size, "traces": traces}
