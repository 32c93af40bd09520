"""A LLaMA-style decoder whose heads, key heads and feed-forward widths are free per layer; adapters where asked for."""
import torch
from torch import nn
from torch.nn import functional as F

# Scale of an adapter's update, divided by its rank.
ALPHA = 64


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Linear(nn.Linear):
    """A linear map, with a low-rank adapter beside it if `rank` is not 0."""

    def __init__(self, inputs, outputs, bias=False, rank=0):
        super().__init__(inputs, outputs, bias=bias)
        self.rank = rank
        if rank:
            self.lora_A = nn.Linear(inputs, rank, bias=False)
            self.lora_B = nn.Linear(rank, outputs, bias=False)

    def forward(self, x):
        y = super().forward(x)
        return y + self.lora_B(self.lora_A(x)) * (ALPHA / self.rank) if self.rank else y


def rotate(x, base):
    """Turns every head by its position: batch x heads x tokens x width."""
    tokens, half = x.shape[2], x.shape[3] // 2
    places = torch.arange(tokens, device=x.device, dtype=torch.float64)
    speeds = base ** (-torch.arange(half, device=x.device, dtype=torch.float64) / half)
    angle = places[:, None] * speeds
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Attention(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, head = sizes["hidden_size"], layer["head_dim"]
        self.heads, self.groups = layer["num_attention_heads"], layer["num_key_value_heads"]
        self.base, bias, rank = sizes["rope_theta"], sizes["attention_bias"], layer["qkv_rank"]
        self.q_proj = Linear(width, self.heads * head, bias, rank)
        self.k_proj = Linear(width, self.groups * head, bias, rank)
        self.v_proj = Linear(width, self.groups * head, bias, rank)
        self.o_proj = nn.Linear(self.heads * head, width, bias=False)

    def forward(self, x):
        q = self.q_proj(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k, v = (f(x).unflatten(2, (self.groups, -1)).transpose(1, 2) for f in (self.k_proj, self.v_proj))
        shared = self.heads // self.groups
        k, v = rotate(k, self.base).repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        x = F.scaled_dot_product_attention(rotate(q, self.base), k, v, is_causal=True)
        return self.o_proj(x.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, hidden = sizes["hidden_size"], layer["intermediate_size"]
        self.gate_proj = Linear(width, hidden, rank=layer["up_rank"])
        self.up_proj = Linear(width, hidden, rank=layer["up_rank"])
        self.down_proj = Linear(hidden, width, rank=sizes["down_rank"])

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width, eps = sizes["hidden_size"], sizes["rms_norm_eps"]
        self.input_layernorm = RMSNorm(width, eps)
        self.self_attn = Attention(sizes, layer)
        self.post_attention_layernorm = RMSNorm(width, eps)
        self.mlp = FeedForward(sizes, layer)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes["hidden_size"]
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(sizes["vocab_size"], width),
            "layers": nn.ModuleList(Block(sizes, layer) for layer in sizes["layers"]),
            "norm": RMSNorm(width, sizes["rms_norm_eps"]),
        })
        self.lm_head = None if sizes["tied"] else nn.Linear(width, sizes["vocab_size"], bias=False)

    def forward(self, ids):
        """The features of all tokens, and the scores of all words after each."""
        words = self.model["embed_tokens"]
        x = words(ids)
        for block in self.model["layers"]:
            x = block(x)
        x = self.model["norm"](x)
        return x, x @ words.weight.T if self.lm_head is None else self.lm_head(x)
