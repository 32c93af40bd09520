"""A forward pass as a graph: every operation that torch runs, with the weights it reads.

Operations are seen below autograd and below modules (dispatch level), so it does not matter how a model is written, and fused
attention is seen as the products it is made of.
"""

# torch has few annotations.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "convolution", "_grouped_mm", "addmv", "mv", "linear"}
SOFTMAX = {"_softmax", "_safe_softmax", "softmax"}
ACTIVATIONS = {
    "gelu", "relu", "relu_", "silu", "silu_", "sigmoid", "tanh", "hardtanh", "hardtanh_", "hardswish", "hardswish_",
    "hardsigmoid", "leaky_relu", "elu", "elu_", "mish", "softplus", "erf", "relu6", "log_sigmoid", "clamp_min", "threshold",
}
NORMS = {"native_layer_norm", "native_batch_norm", "native_group_norm", "_fused_rms_norm", "cudnn_batch_norm",
         "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional"}
LOOKUPS = {"embedding", "index_select", "index"}
# Operations that move entries or work on each entry alone.
PLAIN = {
    "view", "_unsafe_view", "reshape", "_reshape_alias", "transpose", "transpose_", "permute", "t", "t_", "expand", "clone",
    "contiguous", "slice", "select", "split", "split_with_sizes", "chunk", "unbind", "squeeze", "unsqueeze", "cat", "stack",
    "add", "add_", "sub", "sub_", "rsub", "mul", "mul_", "div", "div_", "neg", "pow", "clamp", "where", "masked_fill",
    "masked_fill_", "native_dropout", "dropout", "_to_copy", "to", "detach", "alias", "constant_pad_nd", "roll", "repeat",
    "flatten", "unflatten", "copy_", "abs", "sqrt", "exp", "minimum", "maximum", "bernoulli_", "zeros_like", "lift_fresh",
    "index_select", "index", "gather", "index_add_", "index_add", "scatter_add_", "index_put_", "new_zeros", "addcmul",
    "pixel_shuffle", "movedim", "unsafe_split", "as_strided", "index_copy_", "lerp",
}  # fmt: skip


class Node:
    """One operation: what it reads, which weights, what it is."""

    __slots__ = ("bias", "data", "index", "left", "name", "others", "parents", "right", "shape", "weight")

    def __init__(self, index: int, name: str) -> None:
        self.index, self.name = index, name
        self.parents: list[int] = []
        # The weight of a linear map, the bias added with it, and other weights that are read.
        self.weight: str | None = None
        self.bias: str | None = None
        self.others: list[str] = []
        # Operands of a product: of data with a weight, or of data with data.
        self.data: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.shape: tuple[int, ...] = ()


class Trace(TorchDispatchMode):
    """Records a forward pass."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.outputs: list[int] = []
        self.of: dict[int, int] = {}
        self.stored: dict[int, int] = {}
        self.alive: list[Any] = []
        self.weights: dict[int, str] = {}
        for name, weight in model.named_parameters():
            self.weights[weight.untyped_storage().data_ptr()] = name
        self.inputs: set[int] = set()
        self.buffers = {buffer.untyped_storage().data_ptr() for buffer in model.buffers()}

    def source(self, inputs: Any) -> None:
        """Makes all tensors of an input known."""
        for tensor in tree_leaves(inputs):
            if isinstance(tensor, torch.Tensor):
                node = self._node("input", [tensor])
                self.inputs.add(node.index)

    def sink(self, outputs: Any) -> None:
        """Makes all tensors of an output known."""
        for tensor in tree_leaves(outputs):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                found = self._known(tensor)
                if found is not None:
                    self.outputs.append(found)

    def _node(self, name: str, tensors: list[torch.Tensor]) -> Node:
        node = Node(len(self.nodes), name)
        self.nodes.append(node)
        for tensor in tensors:
            self.of[id(tensor)] = node.index
            self.stored[tensor.untyped_storage().data_ptr()] = node.index
            # Ids are not used again while their tensors live.
            self.alive.append(tensor)
        if tensors:
            node.shape = tuple(tensors[0].shape)
        return node

    def _known(self, tensor: torch.Tensor) -> int | None:
        found = self.of.get(id(tensor))
        return found if found is not None else self.stored.get(tensor.untyped_storage().data_ptr())

    def _weight(self, tensor: object) -> str | None:
        if not isinstance(tensor, torch.Tensor):
            return None
        return self.weights.get(tensor.untyped_storage().data_ptr())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        made = [tensor for tensor in tree_leaves(result) if isinstance(tensor, torch.Tensor)]
        if not made:
            return result
        if all(self._weight(tensor) is not None for tensor in made):
            return result  # A view of a weight.
        read = [tensor for tensor in tree_leaves((args, kwargs)) if isinstance(tensor, torch.Tensor)]
        parents = [found for found in map(self._known, read) if found is not None]
        used = [found for found in map(self._weight, read) if found is not None]
        node = self._node(name, made)
        node.parents = list(dict.fromkeys(parents))
        if name in PRODUCTS:
            self._product(node, name, args)
        node.others = [weight for weight in dict.fromkeys(used) if weight not in (node.weight, node.bias)]
        return result

    def _product(self, node: Node, name: str, args: Any) -> None:
        if name in ("addmm", "baddbmm", "addmv"):
            operands, added = args[1:3], args[0]
        else:
            operands, added = args[:2], args[2] if len(args) > 2 else None
        weights = [self._weight(operand) for operand in operands]
        known = [[found] if (found := self._known(operand)) is not None and weight is None else []
                 for operand, weight in zip(operands, weights)]
        node.bias = self._weight(added)
        if weights[0] is None and weights[1] is None:
            node.left, node.right = known
        else:
            node.weight = weights[1] if weights[1] is not None else weights[0]
            node.data = known[0] or known[1]


def trace(model: torch.nn.Module, call: Any, inputs: Any) -> Trace:
    """Records the call of a model, which is in evaluation mode."""
    recorded = Trace(model)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH):
            recorded.source(inputs)
            with recorded:
                result = call()
            recorded.sink(result)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return recorded
