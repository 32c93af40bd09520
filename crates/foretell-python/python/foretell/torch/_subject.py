"""A module with its batch, as passes see it: what is fed, what comes out, which tensors there are."""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from foretell.errors import ModelError, OptionError
from foretell.torch._finder import Finder
from foretell.torch._roles import Roles, numbered, overridden
from foretell.torch._trace import trace

KINDS = ("vision", "encoder", "decoder", "recurrent")
# Networks whose losses are taken of features, and those that list their rows step after step.
FEATURES = ("encoder", "recurrent")
STEPS_FIRST = ("recurrent",)


class Fed:
    """What a module is fed: arguments, and labels if there are any."""

    def __init__(self, batch: Any) -> None:
        self.labels: torch.Tensor | None = None
        self.own_loss = False
        if isinstance(batch, Mapping):
            self.arguments: tuple[Any, ...] = ()
            self.named = dict(batch)
            # A model of transformers computes its loss from labels itself.
            self.own_loss = "labels" in self.named
            self.labels = self.named.get("labels")
        elif isinstance(batch, (tuple, list)) and len(batch) == 2:
            self.arguments, self.named = (batch[0],), {}
            self.labels = batch[1]
        elif isinstance(batch, torch.Tensor):
            self.arguments, self.named = (batch,), {}
        else:
            kind = type(batch).__name__
            raise ModelError(f"batch: is a {kind}; give a tensor, a pair of inputs and labels, or a dict of arguments")
        tensors = [leaf for leaf in tree_leaves((self.arguments, self.named)) if isinstance(leaf, torch.Tensor)]
        if not tensors or tensors[0].dim() == 0:
            raise ModelError("batch: holds no tensor with samples")
        self.size = tensors[0].shape[0]
        self.main = tensors[0]

    def part(self, first: int, last: int) -> Fed:
        """Some of the samples."""

        def cut(leaf: Any) -> Any:
            samples = isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] == self.size
            return leaf[first:last] if samples else leaf

        return self.changed(cut)

    def changed(self, change: Callable[[Any], Any]) -> Fed:
        """With every leaf changed."""
        made = object.__new__(Fed)
        made.arguments, made.named = tree_map(change, self.arguments), tree_map(change, self.named)
        made.labels = None if self.labels is None else change(self.labels)
        made.own_loss = self.own_loss
        tensors = [leaf for leaf in tree_leaves((made.arguments, made.named)) if isinstance(leaf, torch.Tensor)]
        made.size, made.main = tensors[0].shape[0], tensors[0]
        return made

    def call(self, model: torch.nn.Module, loss: bool = False) -> Any:
        """Runs a model; labels are given to it only where its own loss is wanted."""
        named = {name: value for name, value in self.named.items() if loss or name != "labels"}
        return model(*self.arguments, **named)


def outputs(result: Any, kind: str, pick: Callable[[Any], Any] | None) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Features and scores of what a model gives, as far as it gives them."""
    if pick is not None:
        chosen = pick(result)
        return (chosen, None) if kind in FEATURES else (None, chosen)
    if isinstance(result, torch.Tensor):
        return (result, None) if kind in FEATURES else (None, result)
    if isinstance(result, tuple) and not hasattr(result, "keys") and len(result) == 2:
        return result
    get = result.get if isinstance(result, Mapping) else lambda name: getattr(result, name, None)
    features = next((found for name in ("last_hidden_state", "hidden_states") if isinstance(found := get(name), torch.Tensor)), None)
    logits = next((found for name in ("logits", "logits_per_image") if isinstance(found := get(name), torch.Tensor)), None)
    if features is None and logits is None:
        leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
        if not leaves:
            raise ModelError("the model gives no tensor: name its output by output=")
        features = logits = leaves[0]
    return features, logits


def _is_ones(weight: torch.Tensor) -> bool:
    """Whether all entries are one; most weights say no with their first."""
    return weight.numel() > 0 and bool(weight.reshape(-1)[0] == 1) and bool((weight == 1).all())


class Subject:
    """A module with its roles, blocks and tensors."""

    def __init__(
        self,
        model: torch.nn.Module,
        batch: Any,
        kind: str | None = None,
        roles: Mapping[str, str] | None = None,
        output: Callable[[Any], Any] | None = None,
    ) -> None:
        self.model, self.pick = model, output
        self.parameters = dict(model.named_parameters())
        if not self.parameters:
            raise ModelError(f"{type(model).__name__} has no parameters")
        unfit = {str(weight.dtype).removeprefix("torch.") for weight in self.parameters.values()} - {"float32", "float64"}
        if unfit:
            raise ModelError(f"{type(model).__name__} has weights of {', '.join(sorted(unfit))}: convert it by .float()")
        self.dtype = next(iter(self.parameters.values())).dtype
        self.device = next(iter(self.parameters.values())).device
        if self.device.type == "meta":
            raise ModelError(f"{type(model).__name__} is on the meta device and has no weights")
        if any(weight.dtype != self.dtype for weight in self.parameters.values()):
            raise ModelError(f"{type(model).__name__} has weights of float32 and of float64: convert it to one")
        self.fed = self.placed(Fed(batch))
        if kind is not None and kind not in KINDS:
            raise OptionError(f"kind: '{kind}' is none of {', '.join(KINDS)}")
        self._follow(roles)
        finder, traced = self.finder, self.traced
        self.kind = kind or self._kind(finder)
        order = [str(node.weight) for node in finder.graph.maps()]
        self.places, self.blocks = numbered(model, self.found, list(dict.fromkeys(order)))
        self.maps = set(order)
        self.entries = [entry for name in self.parameters for entry in self._entries(name)]

    def _follow(self, roles: Mapping[str, str] | None) -> None:
        """Follows the data through a forward pass: of one sample, or of all where one does not reach every matrix."""
        for fed in (self.fed.part(0, 1), self.fed) if self.fed.size > 1 else (self.fed,):
            try:
                self.traced = trace(self.model, lambda fed=fed: fed.call(self.model), (fed.arguments, fed.named))
            except Exception as error:
                if fed is not self.fed:
                    continue
                name = type(self.model).__name__
                raise ModelError(f"{name} cannot run this batch: {type(error).__name__}: {error}") from error
            self.finder = Finder(self.model, self.traced)
            self.found = overridden(self.finder.run(), list(self.parameters), roles)
            # Matrices that this batch did not reach, such as those of an expert that no token chose.
            read = set(self.finder.uses) | {name for node in self.traced.nodes for name in node.others}
            self.unseen = {
                name for name, weight in self.parameters.items()
                if name not in read and name not in self.found and weight.dim() >= 2 and weight.numel() > max(weight.shape)
            }
            if not self.unseen:
                return

    def placed(self, fed: Fed) -> Fed:
        """The batch on the device and in the precision of the model."""

        def place(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            return leaf.to(self.device, self.dtype if leaf.is_floating_point() else leaf.dtype)

        return fed.changed(place)

    def _kind(self, finder: Finder) -> str:
        if self.fed.main.is_floating_point():
            return "vision"
        # Who scores words is a decoder; the table of words may be the head too.
        tied = any(role == "embedding" and name in finder.uses for name, role in finder.roles.items())
        return "decoder" if finder.vocabulary or tied else "encoder"

    def _entries(self, name: str) -> list[dict[str, Any]]:
        """A weight as tensors: stacked matrices of experts are one each."""
        weight, role = self.parameters[name], self.found.get(name)
        base = {"role": role, "block": self.places.get(name), "ones": _is_ones(weight)}
        shape = list(weight.shape) or [1]
        if name in self.unseen:
            form = "convolution" if weight.dim() > 3 else "linear"
            parts = range(shape[0]) if weight.dim() == 3 else [None]
            rest = shape[1:] if weight.dim() == 3 else shape
            return [{"name": name if part is None else f"{name}.{part}", "part": part, "form": form, "shape": rest, **base}
                    for part in parts]
        vector = name not in self.maps or role == "embedding" or name in self.finder.vocabulary
        if vector:
            if role is None and name not in self.maps:
                base["role"] = "norm"
            return [{"name": name, "part": None, "form": "vector", "shape": shape, **base}]
        uses = self.finder.uses[name]
        if uses[0].name == "convolution":
            return [{"name": name, "part": None, "form": "convolution", "shape": shape, **base}]
        if weight.dim() == 3:
            form = self._form(uses[0], shape[1:])
            return [{"name": f"{name}.{part}", "part": part, "form": form, "shape": shape[1:], **base} for part in range(shape[0])]
        return [{"name": name, "part": None, "form": self._form(uses[0], shape), "shape": shape, **base}]

    def _form(self, node: Any, shape: list[int]) -> str:
        """Whether a matrix is stored outputs x inputs, or the other way round."""
        if shape[0] == shape[-1]:
            # A square matrix: the class says how it is stored.
            owner = self.owners().get(str(node.weight))
            return "linear-transposed" if owner is not None and type(owner).__name__ == "Conv1D" else "linear"
        outputs = node.shape[-1] if node.shape else shape[0]
        return "linear" if outputs == shape[0] or outputs != shape[-1] else "linear-transposed"

    def owners(self) -> dict[str, torch.nn.Module]:
        """Modules that are one linear map, convolution or norm, by their weight."""
        found = {}
        for prefix, module in self.model.named_modules():
            own = dict(module.named_parameters(recurse=False))
            if "weight" in own and set(own) <= {"weight", "bias"}:
                found[f"{prefix}.weight" if prefix else "weight"] = module
        return found

    def roles(self) -> Roles:
        """The table of roles: matrices and tables, biases and gains left out."""
        kept = self.maps | self.unseen
        shown = {name: weight for name, weight in self.parameters.items() if name in kept or weight.dim() >= 2 and name in self.found}
        roles = {name: self.found.get(name) for name in shown}
        shapes = {name: tuple(weight.shape) for name, weight in shown.items()}
        return Roles(roles, shapes, {name: self.places.get(name) for name in shown})

    def described(self) -> dict[str, Any]:
        """The network as data."""
        blocks: list[tuple[int, int | None]] = []
        heads = {self.places.get(query): count for _, query, count in self.finder.attention}
        for place in range(len(self.blocks)):
            outs = [name for name, role in self.found.items() if role in ("attention-out", "ffn-out", "cell") and name in self.maps and self.places.get(name) == place]
            node = self.finder.uses[outs[0]][0] if outs else None
            blocks.append((node.shape[-1] if node is not None and node.shape else 1, heads.get(place)))
        dropout = any(isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0 for part in self.model.modules())
        tensors = [{key: value for key, value in entry.items() if key != "part"} for entry in self.entries]
        return {
            "name": type(self.model).__name__,
            "kind": self.kind,
            "tensors": tensors,
            "blocks": blocks,
            "tokens": self._tokens(),
            "dropout": dropout,
        }

    def _tokens(self) -> int:
        soft = [self.finder.graph.nodes[index].shape for index, _, _ in self.finder.attention]
        if soft:
            return int(soft[0][-2])
        return int(self.fed.main.shape[1]) if not self.fed.main.is_floating_point() and self.fed.main.dim() > 1 else 1
