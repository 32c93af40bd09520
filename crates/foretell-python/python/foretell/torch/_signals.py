"""What a pass keeps: values and their gradients, handed over as they come."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from foretell import _native
from foretell.torch._losses import Losses, Unable
from foretell.torch._subject import Fed
from foretell.torch._trace import ACTIVATIONS, SOFTMAX


class Watch(TorchDispatchMode):
    """Keeps what single operations give, by their place among all operations of their sort."""

    def __init__(self, soft: dict[int, int], act: dict[int, int]) -> None:
        super().__init__()
        self.soft, self.act = soft, act
        self.counts = [0, 0]
        self.kept: list[tuple[str, int, torch.Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in SOFTMAX:
            block = self.soft.get(self.counts[0])
            self.counts[0] += 1
            if block is not None:
                self.kept.append(("attention", block, result))
        elif name in ACTIVATIONS:
            block = self.act.get(self.counts[1])
            self.counts[1] += 1
            if block is not None:
                self.kept.append(("pre-activation", block, args[0]))
                self.kept.append(("activation", block, result))
        return result


def flat(tensor: torch.Tensor) -> Any:
    """A tensor as one row of numbers that lie one after the other."""
    return tensor.detach().to("cpu").contiguous().view(-1).numpy()


def rows(tensor: torch.Tensor, image: bool) -> torch.Tensor:
    """A value as a matrix: a row per token or pixel, a column per feature."""
    if image and tensor.dim() == 4:
        tensor = tensor.permute(0, 2, 3, 1)
    return tensor.reshape(-1, tensor.shape[-1])


class Signals(Losses):
    """Marks values while a module runs."""

    def unable(self, signal: str, model: torch.nn.Module) -> str | None:
        """Why a signal cannot be kept."""
        if signal in ("hidden", "hidden-gradients"):
            return "it looks at states of recurrent cells, which torch models do not mark"
        if signal in ("activations", "pre-activations") and not self.whole:
            return "it looks at an activation function, and that of this model is written as several operations"
        if signal in ("blocks", "block-gradients") and not self.subject.blocks:
            return "it looks at blocks, and none were found"
        if signal == "input-gradient" and not self.subject.blocks and not self.subject.fed.main.is_floating_point():
            return "it looks at what enters the first block, and none was found"
        if signal in ("inputs", "outputs", "input-gradients", "output-gradients"):
            owners = self.subject.owners()
            maps = [entry for entry in self.subject.entries if entry["form"] != "vector"]
            loose = [str(entry["name"]) for entry in maps if entry["part"] is not None or entry["name"] not in owners]
            if loose:
                return f"it looks at what enters and leaves {loose[0]}, which no module of its own applies"
        return None

    def watched(self, keep: set[str], stack: contextlib.ExitStack) -> Watch | None:
        if not keep & {"attention", "activations", "pre-activations"}:
            return None
        return stack.enter_context(Watch(self.soft, self.act))

    def hooked(self, model: torch.nn.Module, fed: Fed, keep: set[str], stack: contextlib.ExitStack) -> list[tuple[Any, torch.Tensor, bool]]:
        """Values that are marked while the model runs: the mark, the value, whether its gradient is wanted alone."""
        seen: list[tuple[Any, torch.Tensor, bool]] = []
        places = {self.name_of(entry): index for index, entry in enumerate(self.subject.entries) if entry["part"] is None}
        vision = self.subject.fed.main.is_floating_point()

        def on(module: torch.nn.Module, hook: Callable[..., Any]) -> None:
            stack.callback(module.register_forward_hook(hook).remove)

        wants = keep & {"inputs", "outputs", "input-gradients", "output-gradients"}
        owners = self.modules(model)
        for name, place in places.items():
            entry = self.subject.entries[place]
            dense = entry["form"] != "vector"
            if dense and wants:
                def mark(_: Any, given: Any, made: Any, place: int = place) -> None:
                    if keep & {"inputs", "input-gradients"}:
                        seen.append(({"input": place}, given[0], vision))
                    if keep & {"outputs", "output-gradients"}:
                        seen.append(({"output": place}, made, vision))

                on(owners[name], mark)
            if "normed" in keep and entry["role"] == "norm" and name in owners:
                on(owners[name], lambda _, __, made, place=place: seen.append(({"normed": place}, made, vision)))
        if keep & {"blocks", "block-gradients"}:
            self.hook_blocks(model, keep, seen, stack)
        if "input-gradient" in keep:
            self.hook_input(model, fed, seen, stack)
        return seen

    def hook_blocks(self, model: torch.nn.Module, keep: set[str], seen: list[Any], stack: contextlib.ExitStack) -> None:
        names = dict(model.named_modules())
        for place, name in enumerate(self.subject.blocks):
            if "block-gradients" in keep:

                def cut(_: Any, given: Any, place: int = place) -> Any:
                    if not given or not isinstance(given[0], torch.Tensor):
                        raise Unable("a block takes no tensor as its first argument")
                    fresh = given[0].detach().requires_grad_(True)
                    seen.append(({"block-input": place}, fresh, False))
                    return (fresh, *given[1:])

                stack.callback(names[name].register_forward_pre_hook(cut).remove)

            def made(_: Any, __: Any, result: Any, place: int = place) -> None:
                first = result if isinstance(result, torch.Tensor) else result[0]
                seen.append(({"block": place}, first, False))

            stack.callback(names[name].register_forward_hook(made).remove)

    def hook_input(self, model: torch.nn.Module, fed: Fed, seen: list[Any], stack: contextlib.ExitStack) -> None:
        """The embedded input: the image itself, or what enters the first block of a text model."""
        if fed.main.is_floating_point():
            fed.main.requires_grad_(True)
            seen.append(("embedded", fed.main, False))
            return

        def mark(_: Any, given: Any) -> Any:
            if not given or not isinstance(given[0], torch.Tensor):
                raise Unable("the first block takes no tensor as its first argument")
            value = given[0] if given[0].requires_grad else given[0].detach().requires_grad_(True)
            seen.append(("embedded", value, False))
            return (value, *given[1:])

        block = dict(model.named_modules())[self.subject.blocks[0]]
        stack.callback(block.register_forward_pre_hook(mark).remove)

    def matrix(self, mark: Any, value: torch.Tensor, image: bool) -> torch.Tensor:
        if mark == "embedded" and self.subject.fed.main.is_floating_point():
            return value.reshape(value.shape[0], -1)
        return rows(self.listed(value), image)

    def hand(self, place: int, mark: Any, value: torch.Tensor, gradient: bool, image: bool) -> None:
        matrix = self.matrix(mark, value, image)
        self.native.keep(place, mark, flat(matrix), matrix.shape[0], gradient)

    def hand_values(self, place: int, keep: set[str], seen: list[Any], watch: Watch | None) -> None:
        signals = {"input": "inputs", "output": "outputs", "normed": "normed", "block": "blocks"}
        for mark, value, image in seen:
            if isinstance(mark, dict) and signals.get(next(iter(mark))) in keep:
                self.hand(place, mark, value, False, image)
        names = {"attention": "attention", "activation": "activations", "pre-activation": "pre-activations"}
        for name, block, value in watch.kept if watch is not None else ():
            if names[name] in keep:
                self.hand(place, {name: block}, value, False, False)
        self.wanted = {
            "input": "input-gradients" in keep, "output": "output-gradients" in keep, "embedded": "input-gradient" in keep,
        }

    def apart(self, place: int, seen: list[Any]) -> None:
        """Gradients at what enters each block, blocks apart, from random signs at its output."""
        outs = [(mark, value) for mark, value, _ in seen if "block" in mark]
        ins = [(mark, value) for mark, value, _ in seen if "block-input" in mark]
        signs = torch.from_numpy(_native.signs(self.seed, "blocks", sum(value.numel() for _, value in outs)))
        at = 0
        seeds = []
        for _, value in outs:
            seeds.append(signs[at : at + value.numel()].to(value).view_as(value))
            at += value.numel()
        found = torch.autograd.grad([value for _, value in outs], [value for _, value in ins], seeds)
        for (mark, value), seed in zip(outs, seeds):
            self.hand(place, mark, seed, True, False)
        for (mark, _), gradient in zip(ins, found):
            self.hand(place, mark, gradient, True, False)

    def backward(self, place: int, model: torch.nn.Module, loss: torch.Tensor, weights: bool, seen: list[Any]) -> None:
        marked = [(mark, value, image) for mark, value, image in seen
                  if self.wanted.get(mark if isinstance(mark, str) else next(iter(mark))) and value.requires_grad]
        parameters = dict(model.named_parameters())
        if not weights:
            found = torch.autograd.grad(loss, [value for _, value, _ in marked], allow_unused=True)
            self.hand_gradients(place, marked, found)
            return
        for value in (value for _, value, _ in marked):
            value.retain_grad()
        entries: dict[str, list[int]] = {}
        for index, entry in enumerate(self.subject.entries):
            entries.setdefault(self.name_of(entry), []).append(index)

        def taken(name: str) -> Callable[[torch.Tensor], None]:
            # Gradients are handed over as they are made, so that not all are in memory at once.
            def take(weight: torch.Tensor) -> None:
                if weight.grad is not None:
                    for index in entries[name]:
                        part = self.subject.entries[index]["part"]
                        self.native.set_gradient(place, index, flat(weight.grad if part is None else weight.grad[part]))
                weight.grad = None

            return take

        # Weights that the loss does not reach have a gradient of zero, which all have until they are handed over.
        _, index = min((parameters[name].numel(), places[0]) for name, places in entries.items())
        self.native.set_gradient(place, index, flat(torch.zeros_like(self.part(parameters, self.subject.entries[index]))))
        with contextlib.ExitStack() as stack:
            for name, weight in parameters.items():
                stack.callback(weight.register_post_accumulate_grad_hook(taken(name)).remove)
            loss.backward()
        self.hand_gradients(place, marked, [value.grad for _, value, _ in marked])

    def hand_gradients(self, place: int, marked: list[Any], found: Any) -> None:
        for (mark, value, image), gradient in zip(marked, found):
            self.hand(place, mark, torch.zeros_like(value) if gradient is None else gradient, True, image)
