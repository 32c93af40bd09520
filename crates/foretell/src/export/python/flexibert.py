"""An encoder that mixes tokens by attention, a fixed transform or dynamic convolution, layer by layer (FlexiBERT)."""
import math
import torch
from torch import nn
from torch.nn import functional as F


def split(x, heads):
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def attend(module, q, k, v, heads, mask):
    drop = module.dropout if module.training else 0.0
    x = F.scaled_dot_product_attention(split(q, heads), split(k, heads), split(v, heads), mask, drop)
    return x.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Scaled dot-product attention; `multiplied`: queries pass one more matrix."""

    def __init__(self, sizes, layer, multiplied):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads, self.dropout = layer["num_attention_heads"], sizes["dropout"]
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.weight = nn.Linear(width, width, bias=False) if multiplied else None

    def forward(self, x, mask):
        q = self.query(x)
        if self.weight is not None:
            q = self.weight(q)
        return attend(self, q, self.key(x), self.value(x), self.heads, mask)


def cosines(n, like):
    """The matrix of the un-normalised cosine transform (DCT-II)."""
    place = torch.arange(n, device=like.device, dtype=torch.float64)
    return (2 * torch.cos(math.pi / (2 * n) * place[:, None] * (2 * place[None, :] + 1))).to(like.dtype)


class Transform(nn.Module):
    """A two-dimensional Fourier or cosine transform of every head over tokens and columns; masks have no effect."""

    def __init__(self, sizes, layer, fourier):
        super().__init__()
        self.heads, self.fourier = layer["num_attention_heads"], fourier
        self.input = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x, mask):
        x = split(self.input(x), self.heads)
        if self.fourier:
            x = torch.fft.fft2(x).real
        else:
            x = cosines(x.shape[2], x) @ x @ cosines(x.shape[3], x).T
        return x.transpose(1, 2).flatten(2)


class SpanKeys(nn.Module):
    """Keys of spans: a convolution of every channel apart, then one across channels."""

    def __init__(self, width, half, kernel):
        super().__init__()
        self.depthwise = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width, bias=False)
        self.pointwise = nn.Conv1d(width, half, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(half, 1))

    def forward(self, x):
        return (self.pointwise(self.depthwise(x.transpose(1, 2))) + self.bias).transpose(1, 2)


class SpanConvolution(nn.Module):
    """Half attention, half convolution with a kernel for each token (ConvBERT); masks reach the attention alone."""

    def __init__(self, sizes, layer, kernel):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads, self.kernel, self.dropout = max(1, layer["num_attention_heads"] // 2), kernel, sizes["dropout"]
        half = self.heads * (width // layer["num_attention_heads"])
        self.query = nn.Linear(width, half)
        self.key = nn.Linear(width, half)
        self.value = nn.Linear(width, half)
        self.key_conv_attn_layer = SpanKeys(width, half, kernel)
        self.conv_kernel_layer = nn.Linear(half, self.heads * kernel)
        self.conv_out_layer = nn.Linear(width, half)

    def forward(self, x, mask):
        q, around = self.query(x), self.kernel // 2
        kernels = self.conv_kernel_layer(self.key_conv_attn_layer(x) * q)
        kernels = kernels.unflatten(2, (self.heads, self.kernel)).softmax(-1)
        spans = F.pad(self.conv_out_layer(x), (0, 0, around, around)).unfold(1, self.kernel, 1)
        local = torch.einsum("bthdk,bthk->bthd", spans.unflatten(2, (self.heads, -1)), kernels).flatten(2)
        return torch.cat([attend(self, q, self.key(x), self.value(x), self.heads, mask), local], 2)


MIXERS = {
    "attention": lambda sizes, layer: Attention(sizes, layer, False),
    "multiplicative": lambda sizes, layer: Attention(sizes, layer, True),
    "fourier": lambda sizes, layer: Transform(sizes, layer, True),
    "cosine": lambda sizes, layer: Transform(sizes, layer, False),
    "span": lambda sizes, layer: SpanConvolution(sizes, layer, layer["kernel_size"]),
}


class FeedForward(nn.Module):
    """All hidden maps of a feed-forward stack."""

    def __init__(self, width, hidden):
        super().__init__()
        self.dense_in = nn.Linear(width, hidden[0])
        self.dense_list = nn.ModuleList(nn.Linear(a, b) for a, b in zip(hidden, hidden[1:]))

    def forward(self, x):
        x = F.gelu(self.dense_in(x))
        for dense in self.dense_list:
            x = F.gelu(dense(x))
        return x


class Layer(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, hidden = sizes["hidden_size"], layer["intermediate_sizes"]
        mixer = MIXERS[layer["mixer"]](sizes, layer)
        # A transform is passed on as it is: no residual, no norm.
        self.operation = nn.ModuleDict({"operation": mixer})
        if not isinstance(mixer, Transform):
            self.operation["output"] = Residual(width, sizes)
        self.intermediate = FeedForward(width, hidden)
        self.output = Residual(hidden[-1], sizes)

    def forward(self, x, mask):
        mixed = self.operation["operation"](x, mask)
        if "output" in self.operation:
            mixed = self.operation["output"](mixed, x)
        return self.output(self.intermediate(mixed), mixed)


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        narrow, width = sizes["embedding_size"], sizes["hidden_size"]
        self.embeddings = Embeddings(sizes)
        self.embeddings_project = nn.Linear(narrow, width) if narrow != width else None
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(sizes, layer) for layer in sizes["layers"])})

    def forward(self, ids, types=None, mask=None):
        """The features of all tokens, and the first of them; `mask` is 0 where tokens are to be ignored."""
        mask = None if mask is None else mask[:, None, None, :].bool()
        x = self.embeddings(ids, types)
        if self.embeddings_project is not None:
            x = self.embeddings_project(x)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x, x[:, 0]
