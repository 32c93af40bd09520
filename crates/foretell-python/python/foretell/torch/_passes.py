"""Runs passes by torch: what the native half asks for as data, and what it is handed back."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from foretell.torch._derivatives import Derivatives
from foretell.torch._losses import Unable
from foretell.torch._signals import flat
from foretell.torch._subject import Fed


@contextlib.contextmanager
def prepared(model: torch.nn.Module, train: bool) -> Iterator[None]:
    """Evaluation, but norms over a batch by the batch and, in training, dropout; all is as before afterwards."""
    modes = {module: module.training for module in model.modules()}
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    wanted = {name: weight.requires_grad for name, weight in model.named_parameters()}
    grads = {name: weight.grad for name, weight in model.named_parameters()}
    try:
        model.eval()
        for module in model.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.train()
            if train and isinstance(module, torch.nn.modules.dropout._DropoutNd):
                module.train()
        for weight in model.parameters():
            weight.requires_grad_(True)
            weight.grad = None
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(buffers[name])
        for name, weight in model.named_parameters():
            weight.requires_grad_(wanted[name])
            weight.grad = grads[name]


class Runner(Derivatives):
    """Runs the passes of one module."""

    def weights(self) -> None:
        """Hands over all weights, in double precision too if a pass needs it."""
        passes = self.native.passes()
        if self.subject.dtype == torch.float32 and any(wanted["double"] for wanted in passes):
            self.double = copy.deepcopy(self.subject.model).double()
        for model in filter(None, (self.subject.model, self.double)):
            parameters = dict(model.named_parameters())
            for place, entry in enumerate(self.subject.entries):
                self.native.set_weight(place, flat(self.part(parameters, entry)))

    def run(self) -> None:
        """Runs every pass; one that cannot be run is refused with a reason."""
        for place, wanted in enumerate(self.native.passes()):
            try:
                start = time.perf_counter()
                done = self.one(place, wanted)
                self.native.done(place, seconds=time.perf_counter() - start, **done)
            except Unable as error:
                self.native.refuse(place, str(error))
            except torch.cuda.OutOfMemoryError:
                raise
            except (RuntimeError, NotImplementedError, ValueError) as error:
                self.native.refuse(place, f"torch could not run its pass: {error}")

    def one(self, place: int, wanted: dict[str, Any]) -> dict[str, Any]:
        model = self.double if wanted["double"] and self.double is not None else self.subject.model
        fed = self.feed(wanted, next(model.parameters()).dtype)
        for key, why in (("leaking", "masked positions are raised in an engine of its own"), ("noise", "noise is added in an engine of its own")):
            if wanted[key]:
                raise Unable(f"its pass needs what torch models do not offer: {why}")
        with contextlib.ExitStack() as stack:
            stack.enter_context(prepared(model, wanted["train"]))
            if wanted["train"]:
                stack.enter_context(torch.random.fork_rng())
                torch.manual_seed(self.seed)
            self.transform(model, wanted["weights"], stack)
            if wanted["unnormed"]:
                self.without_norms(model, stack)
            if wanted["feed"] == "ones" and not fed.main.is_floating_point():
                self.ones_for_words(model, stack)
            derivative = wanted["derivative"]
            if isinstance(derivative, dict):
                (kind, options), = derivative.items()
                return getattr(self, kind, self.strange)(place, wanted, model, fed, options)
            return self.plain(place, wanted, model, fed, derivative)

    def strange(self, place: int, wanted: dict[str, Any], model: Any, fed: Any, options: Any) -> dict[str, Any]:
        raise Unable("its pass moves the input along curves, which torch models do not offer")

    def feed(self, wanted: dict[str, Any], dtype: torch.dtype) -> Fed:
        fed = self.subject.fed
        if wanted["tokens"]:
            raise Unable("it draws texts of its own length, and a batch was given")
        ones = wanted["feed"] == "ones"
        if wanted["batch"] > fed.size and not ones:
            raise Unable(f"it needs {wanted['batch']} samples, and the batch holds {fed.size}")
        if wanted["batch"]:
            fed = fed.part(0, min(wanted["batch"], fed.size))
        index, parts = wanted["part"]
        if parts > fed.size:
            raise Unable(f"{fed.size} samples cannot be cut into {parts} parts")
        if parts > 1:
            size = fed.size // parts
            fed = fed.part(index * size, (index + 1) * size)

        def change(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                return torch.ones_like(leaf, dtype=dtype) if ones else leaf.to(dtype)
            return leaf

        return fed.changed(change)

    def transform(self, model: torch.nn.Module, how: str, stack: contextlib.ExitStack) -> None:
        if how == "keep":
            return
        if how == "redrawn":
            raise Unable("it redraws weights from streams of the engine")
        chosen = [(name, weight) for name, weight in model.named_parameters()
                  if how == "magnitudes" or self.subject.found.get(name) in ("position", "class-token")]
        # A copy in double precision is brought back from the model itself.
        own = dict(self.subject.model.named_parameters())
        copied = model is self.double
        before = [(weight, own[name] if copied else weight.detach().clone()) for name, weight in chosen]

        def restore() -> None:
            with torch.no_grad():
                for weight, value in before:
                    weight.copy_(value)

        stack.callback(restore)
        with torch.no_grad():
            for _, weight in chosen:
                weight.abs_()

    def without_norms(self, model: torch.nn.Module, stack: contextlib.ExitStack) -> None:
        for name, module in self.modules(model).items():
            if self.subject.found.get(name) == "norm":
                handle = module.register_forward_hook(lambda _, given, __: given[0])
                stack.callback(handle.remove)

    def ones_for_words(self, model: torch.nn.Module, stack: contextlib.ExitStack) -> None:
        tables = [name for name, role in self.subject.found.items() if role == "embedding" and self.subject.parameters[name].dim() > 1]
        names = dict(model.named_modules())
        own = {"embedding", "embedding-projection"}

        def pure(path: str) -> bool:
            inside = [name for name, _ in names[path].named_parameters(prefix=path)]
            return bool(path) and all(self.subject.found.get(name) in own for name in inside)

        owners = set()
        for table in tables:
            # The whole of an embedding that is made of several tables.
            path = table.rpartition(".")[0]
            parent = path.rpartition(".")[0]
            while pure(parent):
                path, parent = parent, parent.rpartition(".")[0]
            owners.add(path)
        if len(owners) != 1 or "" in owners:
            raise Unable("it replaces what the table of words gives by ones, and there is not one module that looks words up")
        handle = names[owners.pop()].register_forward_hook(lambda _, __, given: torch.ones_like(given))
        stack.callback(handle.remove)
