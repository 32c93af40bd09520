"""A Transformer-XL decoder, one segment without memory; heads and feed-forward widths are free per layer."""
import torch
from torch import nn
from torch.nn import functional as F


def distances(tokens, width, like):
    """A row per distance, farthest first: sines of all frequencies, then cosines."""
    distance = torch.arange(tokens - 1, -1, -1, device=like.device, dtype=torch.float64)
    k = torch.arange((width + 1) // 2, device=like.device, dtype=torch.float64)
    angle = distance[:, None] * 1e4 ** (-2 * k / width)
    return torch.cat([angle.sin(), angle[:, : width // 2].cos()], 1).to(like.dtype)


class Attention(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads = layer["num_attention_heads"]
        self.qkv_net = nn.Linear(width, 3 * width, bias=False)
        self.r_net = nn.Linear(width, width, bias=False)
        self.o_net = nn.Linear(width, width, bias=False)
        self.r_w_bias = nn.Parameter(torch.zeros(width))
        self.r_r_bias = nn.Parameter(torch.zeros(width))
        self.layer_norm = nn.LayerNorm(width, sizes["layer_norm_eps"])
        self.drop = nn.Dropout(sizes["dropout"])

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def forward(self, x, places):
        tokens = x.shape[1]
        q, k, v = self.qkv_net(x).chunk(3, 2)
        content = self.split(q + self.r_w_bias) @ self.split(k).transpose(-2, -1)
        place = self.split(q + self.r_r_bias) @ self.split(self.r_net(places)).transpose(-2, -1)
        # Query i and key j are i - j apart, and the table counts down to distance 0.
        at = torch.arange(tokens, device=x.device)
        index = (at[None, :] + tokens - 1 - at[:, None]).clamp(max=tokens - 1)
        place = place.gather(-1, index.expand(place.shape))
        later = at[None, :] > at[:, None]
        scores = (content + place) * (x.shape[2] // self.heads) ** -0.5
        seen = scores.masked_fill(later, float("-inf")).softmax(-1)
        context = (seen @ self.split(v)).transpose(1, 2).flatten(2)
        return self.layer_norm(x + self.drop(self.o_net(context)))


class FeedForward(nn.Module):
    def __init__(self, sizes, hidden):
        super().__init__()
        width, drop = sizes["hidden_size"], sizes["dropout"]
        self.CoreNet = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(drop), nn.Linear(hidden, width), nn.Dropout(drop)
        )
        self.layer_norm = nn.LayerNorm(width, sizes["layer_norm_eps"])

    def forward(self, x):
        return self.layer_norm(x + self.CoreNet(x))


class Layer(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        self.dec_attn = Attention(sizes, layer)
        self.pos_ff = FeedForward(sizes, layer["intermediate_size"])

    def forward(self, x, places):
        return self.pos_ff(self.dec_attn(x, places))


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": AdaptiveEmbedding(sizes),
            "layers": nn.ModuleList(Layer(sizes, layer) for layer in sizes["layers"]),
        })
        self.lm_head = AdaptiveSoftmax(sizes)
        self.drop = nn.Dropout(sizes["dropout"])

    def forward(self, ids):
        """The features of all tokens, and the scores of all words after each."""
        body = self.transformer
        x = self.drop(body["wte"](ids))
        places = self.drop(distances(ids.shape[1], x.shape[2], x))
        for layer in body["layers"]:
            x = layer(x, places)
        x = self.drop(x)
        return x, self.lm_head(x, body["wte"])
