"""Runs passes by torch: what the native half asks for as data, and what it is handed back."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from foretell import _native
from foretell.torch._subject import FEATURES, STEPS_FIRST, Fed, Subject, outputs
from foretell.torch._trace import ACTIVATIONS, SOFTMAX

# Activation functions that are one operation; others are written as several, and what they give is not seen.
WHOLE = {"gelu", "relu", "silu", "leaky_relu", "elu", "mish", "hardswish", "relu6", "hardtanh"}


class Unable(Exception):
    """A pass that torch cannot run on this model, and why."""


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


class Runner:
    """Runs the passes of one module."""

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

    def weights(self) -> None:
        """Hands over all weights, in double precision too if a pass needs it."""
        passes = self.native.passes()
        if self.subject.dtype == torch.float32 and any(wanted["double"] for wanted in passes):
            self.double = copy.deepcopy(self.subject.model).double()
        for model in filter(None, (self.subject.model, self.double)):
            parameters = dict(model.named_parameters())
            for place, entry in enumerate(self.subject.entries):
                self.native.set_weight(place, flat(self.part(parameters, entry)))

    def name_of(self, entry: dict[str, Any]) -> str:
        name = str(entry["name"])
        return name if entry["part"] is None else name.rpartition(".")[0]

    def part(self, tensors: Mapping[str, torch.Tensor], entry: dict[str, Any]) -> torch.Tensor:
        tensor = tensors[self.name_of(entry)]
        return tensor if entry["part"] is None else tensor[entry["part"]]

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
        before = [(weight, weight.detach().clone()) for _, weight in chosen]

        def restore() -> None:
            with torch.no_grad():
                for weight, value in before:
                    weight.copy_(value)

        stack.callback(restore)
        with torch.no_grad():
            for _, weight in chosen:
                weight.abs_()

    def modules(self, model: torch.nn.Module) -> dict[str, torch.nn.Module]:
        """The modules that own one weight each, of the model or of its copy."""
        names = dict(model.named_modules())
        return {name: names[name.rpartition(".")[0]] for name in self.subject.owners()}

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

        with contextlib.ExitStack() as stack:
            for name, weight in parameters.items():
                # Weights that the loss does not reach have a gradient of zero.
                if entries.get(name) and name == next(iter(parameters)):
                    self.native.set_gradient(place, entries[name][0], flat(torch.zeros_like(self.part(parameters, self.subject.entries[entries[name][0]]))))
                stack.callback(weight.register_post_accumulate_grad_hook(taken(name)).remove)
            loss.backward()
        self.hand_gradients(place, marked, [value.grad for _, value, _ in marked])

    def hand_gradients(self, place: int, marked: list[Any], found: Any) -> None:
        for (mark, value, image), gradient in zip(marked, found):
            self.hand(place, mark, torch.zeros_like(value) if gradient is None else gradient, True, image)

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
