"""Questions about a recorded forward pass."""

from __future__ import annotations

from foretell.torch._trace import ACTIVATIONS, NORMS, PLAIN, Node, Trace


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
