"""Finds what each weight of a module does by following the data."""

from __future__ import annotations

import torch

from foretell.torch._graph import Graph
from foretell.torch._trace import ACTIVATIONS, LOOKUPS, NORMS, PLAIN, SOFTMAX, Node, Trace

# What may be done to ids before words are looked up by them.
PICKS = (PLAIN - {"zeros_like", "new_zeros", "mul", "add"}) | {"ge", "lt", "gt", "le", "ne", "eq", "bitwise_and", "logical_and"}
VIEWS = {"view", "_unsafe_view", "reshape", "transpose", "permute", "expand", "unsqueeze", "squeeze", "clone", "contiguous", "t",
         "alias", "detach", "_to_copy"}
DENSE = ("query", "key", "value", "query-key-value", "key-value", "attention-out", "ffn-in", "ffn-gate", "ffn-out")


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
