"""What each weight of a module does, found by following the data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch

from foretell._native import role_names
from foretell.errors import OptionError, UnknownNameError
from foretell.torch._trace import ACTIVATIONS, LOOKUPS, NORMS, PLAIN, SOFTMAX, Node, Trace

# What may be done to ids before words are looked up by them.
PICKS = (PLAIN - {"zeros_like", "new_zeros", "mul", "add"}) | {"ge", "lt", "gt", "le", "ne", "eq", "bitwise_and", "logical_and"}
VIEWS = {"view", "_unsafe_view", "reshape", "transpose", "permute", "expand", "unsqueeze", "squeeze", "clone", "contiguous", "t",
         "alias", "detach", "_to_copy"}
DENSE = ("query", "key", "value", "query-key-value", "key-value", "attention-out", "ffn-in", "ffn-gate", "ffn-out")


class Graph:
    """Questions about a recorded pass."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.nodes = trace, trace.nodes
        self.children: list[list[int]] = [[] for _ in self.nodes]
        # Convolutions of each channel alone, which may stand inside a feed-forward layer.
        self.depthwise: set[int] = set()
        self.before: list[int] = []
        for node in self.nodes:
            reach = 1 << node.index
            for parent in node.parents:
                self.children[parent].append(node.index)
                reach |= self.before[parent]
            self.before.append(reach)

    def maps(self) -> list[Node]:
        """Linear maps and convolutions, in the order of execution."""
        return [node for node in self.nodes if node.weight is not None]

    def nearest(self, start: list[int], products: bool = False) -> tuple[list[Node], list[Node]]:
        """Linear maps that some values come from, and products of data on the way; with `products` the walk ends there."""
        maps: dict[int, Node] = {}
        met: dict[int, Node] = {}
        seen, stack = set(start), list(start)
        while stack:
            node = self.nodes[stack.pop()]
            if node.weight is not None and node.index not in self.depthwise:
                maps[node.index] = node
                continue
            if node.left and node.right:
                met[node.index] = node
                if products:
                    continue
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return [maps[i] for i in sorted(maps)], [met[i] for i in sorted(met)]

    def between(self, start: list[int]) -> tuple[list[Node], list[Node]] | None:
        """Linear maps that values come from by plain operations alone, and the operations; nothing if there are others."""
        maps: list[Node] = []
        passed: list[Node] = []
        seen, stack = set(start), list(start)
        while stack:
            node = self.nodes[stack.pop()]
            if node.weight is not None and node.index not in self.depthwise:
                maps.append(node)
                continue
            if node.index not in self.depthwise and node.name not in PLAIN | ACTIVATIONS | NORMS:
                return None
            # Weights on the way: gains and biases are plain, tables are not.
            passed.append(node)
            if not node.parents:
                continue
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return sorted(maps, key=lambda node: node.index), passed

    def joins(self, node: Node, source: int) -> bool:
        """Whether what a map gives is added to something that its source comes from: a residual connection."""
        seen, stack = {node.index}, [node.index]
        while stack:
            at = stack.pop()
            for child in self.children[at]:
                found = self.nodes[child]
                if found.name in ("add", "add_", "sub") and len(found.parents) == 2:
                    other = [parent for parent in found.parents if parent != at and parent not in seen]
                    if other and self.before[source] >> other[0] & 1:
                        return True
                plain = found.name in PLAIN | NORMS or found.name in ("sum", "index_add_", "mean")
                if found.weight is None and plain and child not in seen:
                    seen.add(child)
                    stack.append(child)
        return False

    def reaches_output(self, node: Node) -> bool:
        """Whether an output comes from a map."""
        return any(self.before[output] >> node.index & 1 for output in self.trace.outputs)

    def is_trunk(self, node: Node) -> bool:
        """Whether every way from an input to an output passes a map."""
        outputs, reached = set(self.trace.outputs), set(self.trace.inputs)
        stack = list(reached)
        while stack:
            at = stack.pop()
            if at in outputs:
                return False
            for child in self.children[at]:
                if child != node.index and child not in reached:
                    reached.add(child)
                    stack.append(child)
        return True


class Finder:
    """Finds the roles of all weights."""

    def __init__(self, model: torch.nn.Module, trace: Trace) -> None:
        self.model, self.graph = model, Graph(trace)
        self.parameters = dict(model.named_parameters())
        self.roles: dict[str, str] = {}
        self.uses: dict[str, list[Node]] = {}
        # For each softmax of attention: the weights of its queries and how many heads there are.
        self.attention: list[tuple[int, str, int]] = []
        # Operations that feed-forward layers apply between their maps: the operation, the weight before it.
        self.activations: list[tuple[int, str]] = []
        for node in self.graph.maps():
            self.uses.setdefault(str(node.weight), []).append(node)
            weight = self.parameters[str(node.weight)]
            if node.name == "convolution" and weight.dim() > 2 and weight.shape[1] == 1 < weight.shape[0]:
                self.graph.depthwise.add(node.index)

    def place(self, name: str | None, role: str) -> None:
        if name is not None:
            self.roles.setdefault(name, role)

    def run(self) -> dict[str, str]:
        """The roles that were found; a weight without one is not in it."""
        self.lookups()
        self.attentions()
        self.feed_forwards()
        self.edges()
        self.vectors()
        return self.roles

    def lookups(self) -> None:
        """Tables: words are looked up by the input itself, all others by places."""
        for node in self.graph.nodes:
            if node.name in LOOKUPS and node.others:
                words = bool(node.parents) and self.moved(node.parents)
                for name in node.others:
                    if self.parameters[name].dim() >= 2:
                        self.place(name, "embedding" if words else "position")

    def moved(self, start: list[int]) -> bool:
        """Whether values are inputs that were moved, shifted and picked, but not computed with."""
        seen, stack, found = set(start), list(start), False
        while stack:
            node = self.graph.nodes[stack.pop()]
            if node.index in self.graph.trace.inputs:
                found = True
            elif node.name not in PICKS or not node.parents:
                return False
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return found

    def attentions(self) -> None:
        """Queries, keys and values: softmax of a product of data with data, times data."""
        for node in self.graph.nodes:
            if not (node.left and node.right):
                continue
            weighted, looked = self.graph.nearest(node.left, products=True)
            soft = self.softmax_between(node.left)
            if soft is None or not looked:
                continue
            values, _ = self.graph.nearest(node.right)
            queries: dict[str, None] = {}
            keys: dict[str, None] = {}
            for scores in self.products_before(soft):
                left, _ = self.graph.nearest(scores.left)
                right, _ = self.graph.nearest(scores.right)
                names = [str(found.weight) for found in left], [str(found.weight) for found in right]
                # A map that is on both sides of later products has the side of the first.
                queries.update({name: None for name in names[0] if name not in keys or name in names[1]})
                keys.update({name: None for name in names[1] if name not in queries or name in names[0]})
            found = {str(value.weight) for value in values}
            self.name_attention(list(queries), list(keys), found)
            heads = self.heads(soft)
            first = next(iter(queries), None)
            if first is not None:
                self.attention.append((soft, first, heads))
            self.out(node)

    def name_attention(self, queries: list[str], keys: list[str], values: set[str]) -> None:
        for name in dict.fromkeys([*queries, *keys, *values]):
            places = (name in queries, name in keys, name in values)
            role = {
                (True, True, True): "query-key-value",
                (False, True, True): "key-value",
                (True, False, False): "query",
                (False, True, False): "key",
                (False, False, True): "value",
            }.get(places)
            if role is not None:
                self.place(name, role)

    def softmax_between(self, start: list[int]) -> int | None:
        """The softmax that a value is, but for plain operations."""
        seen, stack = set(start), list(start)
        while stack:
            node = self.graph.nodes[stack.pop()]
            if node.name in SOFTMAX:
                return node.index
            if node.weight is None and node.name in PLAIN:
                for parent in node.parents:
                    if parent not in seen:
                        seen.add(parent)
                        stack.append(parent)
        return None

    def products_before(self, soft: int) -> list[Node]:
        """Products of data with data that a softmax is taken of."""
        _, met = self.graph.nearest(self.graph.nodes[soft].parents, products=True)
        return met

    def heads(self, soft: int) -> int:
        shape = self.graph.nodes[soft].shape
        if len(shape) == 4:
            return shape[1]
        inputs = [self.graph.nodes[index].shape for index in self.graph.trace.inputs]
        batch = next((shape[0] for shape in inputs if shape), 1)
        return max(1, shape[0] // max(1, batch)) if len(shape) == 3 else 1

    def out(self, node: Node) -> None:
        """The map that reads what attention gives."""
        seen, stack = {node.index}, [node.index]
        while stack:
            for child in self.graph.children[stack.pop()]:
                found = self.graph.nodes[child]
                if found.weight is not None and child not in seen:
                    seen.add(child)
                    if found.data and found.weight not in self.roles:
                        self.place(found.weight, "attention-out")
                elif child not in seen and found.name in PLAIN | NORMS and not self.adds(found, node):
                    seen.add(child)
                    stack.append(child)

    def adds(self, found: Node, node: Node) -> bool:
        """Whether an operation adds something that attention did not give: the residual stream."""
        if found.name not in ("add", "add_") or len(found.parents) < 2:
            return False
        for parent in found.parents:
            if not self.graph.before[parent] >> node.index & 1:
                roles = {self.roles.get(str(before.weight)) for before in self.graph.nearest([parent])[0]}
                # Values may be added beside attention.
                if not roles or not roles <= {"query", "key", "value", "query-key-value", "key-value"}:
                    return True
        return False

    def feed_forwards(self) -> None:
        """Two maps with nothing but an activation between them, beside a residual connection."""
        for node in self.graph.maps():
            name = str(node.weight)
            if name in self.roles or not self.is_dense(node):
                continue
            found = self.graph.between(node.data)
            if found is None or not found[0]:
                continue
            before, passed = found
            acts = [step for step in passed if step.name in ACTIVATIONS]
            names = {str(first.weight) for first in before}
            free = all(first not in self.roles or self.roles[first].startswith("ffn") for first in names)
            dense = all(self.is_dense(first) for first in before)
            sources = {self.root(first.data[0]) for first in before if first.data}
            if not acts or not free or not dense or name in names or len(sources) != 1:
                continue
            if not all(first.data and self.graph.joins(node, first.data[0]) for first in before):
                continue
            gates = self.gates(before, acts, passed)
            for first in before:
                self.place(str(first.weight), "ffn-gate" if first.index in gates else "ffn-in")
            self.place(name, "ffn-out")
            for step in passed:
                if step.index in self.graph.depthwise:
                    self.place(step.weight, "ffn-convolution")
            act = min(acts, key=lambda step: step.index)
            self.activations.append((act.index, str(before[0].weight)))

    def root(self, index: int) -> int:
        """The value that a value is a view of."""
        node = self.graph.nodes[index]
        while node.weight is None and node.name in VIEWS and len(node.parents) == 1:
            node = self.graph.nodes[node.parents[0]]
        return node.index

    def gates(self, before: list[Node], acts: list[Node], passed: list[Node]) -> set[int]:
        """Of several maps, those whose values pass the activation, if others do not."""
        inside = {first.index for act in acts for first in before if self.reaches(first, act, passed)}
        return inside if len(before) > 1 and len(inside) < len(before) else set()

    def reaches(self, first: Node, act: Node, passed: list[Node]) -> bool:
        allowed = {step.index for step in passed}
        seen, stack = {act.index}, [act.index]
        while stack:
            for parent in self.graph.nodes[stack.pop()].parents:
                if parent == first.index:
                    return True
                if parent in allowed and parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return False

    def is_dense(self, node: Node) -> bool:
        """Whether a map is linear in features alone: a matrix, or a convolution of one pixel."""
        weight = self.parameters[str(node.weight)]
        if node.name != "convolution":
            return True
        return all(size == 1 for size in weight.shape[2:]) and weight.dim() > 2

    def edges(self) -> None:
        """Where data enters and leaves, and where its shape changes on the way."""
        words = {size for name, role in self.roles.items() if role == "embedding" for size in self.parameters[name].shape[:1]}
        self.vocabulary: set[str] = set()
        maps = self.graph.maps()
        for node in reversed(maps):
            name = str(node.weight)
            after = {self.roles.get(str(found.weight)) for found in self.after(node)}
            flat = node.name != "convolution" or all(size == 1 for size in node.shape[2:])
            # Maps after the last block; a table of words may score words at the end.
            joins = bool(node.data) and self.graph.joins(node, node.data[0])
            last = not after or after <= {"head", "embedding"} and flat and not joins
            if name not in self.roles and last and self.graph.reaches_output(node):
                self.place(name, "head")
                if node.shape and node.shape[-1] in words:
                    self.vocabulary.add(name)
        for node in maps:
            name = str(node.weight)
            if name in self.roles or not node.data:
                continue
            before = {self.roles.get(str(found.weight)) for found in self.ancestors(node)}
            if self.is_input(node.data[0]):
                self.place(name, "patch-embedding")
            elif not before and self.plain_after(node):
                self.place(name, "embedding-projection")
            elif before == {"patch-embedding"} and self.plain_after(node) and self.graph.is_trunk(node):
                self.place(name, "patch-embedding")
        self.shrinking()
        self.between_blocks()

    def ancestors(self, node: Node) -> list[Node]:
        """All maps that a map comes after."""
        reach = self.graph.before[node.index]
        return [found for found in self.graph.maps() if found.index != node.index and reach >> found.index & 1]

    def shrinking(self) -> None:
        """Convolutions that shrink what keys and values are made of."""
        for node in reversed(self.graph.maps()):
            name = str(node.weight)
            if name not in self.roles and node.index in self.graph.depthwise and node.data:
                # Convolutions that add locality to values.
                before = {self.roles.get(str(found.weight)) for found in self.graph.nearest(node.data)[0]}
                if before and before <= {"value", "key-value", "query-key-value"}:
                    self.place(name, "attention-convolution")
            if name not in self.roles and node.name == "convolution":
                after = {self.roles.get(str(found.weight)) for found in self.after(node)}
                if after and after <= {"key", "value", "key-value", "attention-convolution"}:
                    self.place(name, "attention-convolution")

    def after(self, node: Node) -> list[Node]:
        """The next maps that read what a map gives."""
        seen, stack, found = {node.index}, [node.index], []
        while stack:
            for child in self.graph.children[stack.pop()]:
                if child not in seen:
                    seen.add(child)
                    if self.graph.nodes[child].weight is None:
                        stack.append(child)
                    else:
                        found.append(self.graph.nodes[child])
        return found

    def between_blocks(self) -> None:
        """Maps without a residual connection around them, between maps whose roles are known: they change the shape of the
        stream. Nothing but plain operations may follow until the next map."""
        free = [node for node in self.graph.maps() if str(node.weight) not in self.roles and node.data]
        free = [node for node in free if not self.graph.joins(node, node.data[0]) and self.plain_after(node)]
        # Several of them may stand side by side, or be reached past each other.
        known = {str(node.weight): "pooling" for node in free} | self.roles
        for node in free:
            before = {known.get(str(found.weight)) for found in self.graph.nearest(node.data)[0]}
            after = {known.get(str(found.weight)) for found in self.after(node)}
            blocks = any(role in DENSE for role in after)
            if before and None not in before | after and blocks and self.reshapes(node):
                self.place(str(node.weight), "pooling")

    def reshapes(self, node: Node) -> bool:
        """Whether a map is more than a convolution of each channel alone that keeps the shape: those belong to blocks."""
        return node.index not in self.graph.depthwise or node.shape != self.graph.nodes[node.data[0]].shape

    def plain_after(self, node: Node) -> bool:
        """Whether what a map gives is only moved, normed and added to until the next maps."""
        seen, stack = {node.index}, [node.index]
        while stack:
            for child in self.graph.children[stack.pop()]:
                found = self.graph.nodes[child]
                if child in seen or found.weight is not None:
                    continue
                if found.name not in PLAIN | NORMS | {"mean"}:
                    return False
                if found.name in ("add", "add_") and len(found.parents) > 1:
                    # What is added must come from here: a block around which the stream flows on.
                    if all(self.graph.before[parent] >> node.index & 1 for parent in found.parents):
                        continue
                    return False
                seen.add(child)
                stack.append(child)
        return True

    def is_input(self, index: int) -> bool:
        """Whether a value is an input of numbers, moved or normed but not computed with by weights."""
        maps, _ = self.graph.nearest([index])
        found = self.graph.before[index]
        tables = any(found >> node.index & 1 and node.name in LOOKUPS and node.others for node in self.graph.nodes[: index + 1])
        return not maps and not tables and any(found >> source & 1 for source in self.graph.trace.inputs)

    def vectors(self) -> None:
        """Gains, biases, tokens and tables that are added."""
        for node in self.graph.maps():
            if node.bias is not None and node.weight in self.roles:
                role = self.roles[str(node.weight)]
                # A table of words that scores words too: its bias is the head's.
                self.place(node.bias, "head" if role == "embedding" else role)
        for node in self.graph.nodes:
            for name in node.others:
                if name in self.roles or name in self.uses:
                    continue
                weight = self.parameters[name]
                if node.name in NORMS or weight.dim() <= 1 or weight.numel() == max(weight.shape):
                    stacked = node.name in ("cat", "expand", "stack")
                    self.place(name, "class-token" if stacked else self.bias(node, name))
                elif node.name in ("add", "add_"):
                    self.place(name, "position")
                elif node.name in ("cat", "expand", "stack"):
                    self.place(name, "class-token")

    def bias(self, node: Node, name: str) -> str:
        """A vector: the bias of the map before it, or part of a norm."""
        if node.name in ("add", "add_") and name.endswith("bias"):
            for parent in node.parents:
                before = self.graph.nodes[parent]
                while before.weight is None and before.name in PLAIN and len(before.parents) == 1:
                    before = self.graph.nodes[before.parents[0]]
                if before.weight in self.roles:
                    return self.roles[str(before.weight)]
        return "norm"


class Roles(Mapping[str, "str | None"]):
    """What each weight does, by name; None where that was not found and not set."""

    def __init__(self, roles: dict[str, str | None], shapes: dict[str, tuple[int, ...]], blocks: dict[str, int | None]) -> None:
        self._roles, self.shapes, self.blocks = roles, shapes, blocks

    def __getitem__(self, name: str) -> str | None:
        return self._roles[name]

    def __iter__(self) -> Any:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    @property
    def unplaced(self) -> list[str]:
        """Matrices whose role is not known; proxies that need it refuse."""
        return [name for name, role in self._roles.items() if role is None]

    def _rows(self) -> list[list[object]]:
        return [
            [name, role or "not found", "" if self.blocks[name] is None else self.blocks[name], "x".join(map(str, self.shapes[name]))]
            for name, role in self._roles.items()
        ]

    def __repr__(self) -> str:
        rows: list[list[object]] = [["weight", "role", "block", "shape"], *self._rows()]
        widths = [max(len(str(row[column])) for row in rows) for column in range(4)]
        return "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        from foretell._display import table

        return table(["weight", "role", "block", "shape"], self._rows())


def overridden(found: dict[str, str], names: list[str], roles: Mapping[str, str] | None) -> dict[str, str]:
    """Roles with those that the user sets by regular expressions."""
    known = role_names()
    result = dict(found)
    for pattern, role in (roles or {}).items():
        if role not in known:
            import difflib

            near = difflib.get_close_matches(role, known, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise UnknownNameError(f"unknown role '{role}'{hint}; known: {', '.join(known)}")
        try:
            chosen = [name for name in names if re.search(pattern, name)]
        except re.error as error:
            raise OptionError(f"roles: '{pattern}' is not a regular expression: {error}") from error
        if not chosen:
            raise OptionError(f"roles: '{pattern}' matches no weight")
        result.update(dict.fromkeys(chosen, role))
    return result


def numbered(model: torch.nn.Module, roles: dict[str, str], order: list[str]) -> tuple[dict[str, int | None], list[str]]:
    """The block of each weight, and the module of each block in the order of execution."""
    modules = dict(model.named_modules())

    def prefixes(name: str) -> list[str]:
        parts = name.split(".")
        found = []
        for end in range(1, len(parts)):
            parent = modules.get(".".join(parts[: end - 1]))
            if parts[end - 1].isdigit() and isinstance(parent, (torch.nn.ModuleList, torch.nn.Sequential)):
                found.append(".".join(parts[:end]))
        return found

    inside: dict[str, set[str]] = {}
    for name, role in roles.items():
        for prefix in prefixes(name):
            inside.setdefault(prefix, set()).add(role)
    whole = {prefix for prefix, held in inside.items() if {"attention-out", "ffn-out"} <= held}
    some = {prefix for prefix, held in inside.items() if held & {"attention-out", "ffn-out", "cell"}}
    home: dict[str, str | None] = {}
    for name in [*order, *(name for name in model.state_dict() if name not in order)]:
        own = prefixes(name)
        deep = [prefix for prefix in own if prefix in whole] or [prefix for prefix in own if prefix in some]
        home[name] = deep[-1] if deep else None
    blocks: list[str] = []
    for name in order:
        at = home.get(name)
        if at is not None and at not in blocks:
            blocks.append(at)
    places = {prefix: place for place, prefix in enumerate(blocks)}
    return {name: places.get(prefix) if prefix is not None else None for name, prefix in home.items()}, blocks
