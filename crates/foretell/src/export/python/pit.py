"""A pooling vision transformer: three stages, the map halved between them (PiT)."""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, width))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, hidden, eps, drop):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps)
        self.mlp = FeedForward(width, hidden)
        self.drop_path = DropPath(drop)

    def forward(self, x):
        x = x + self.drop_path(self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class Stage(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Pool(nn.Module):
    """Halves the map by a convolution of every channel apart, and widens the class token alike."""

    def __init__(self, width, wider):
        super().__init__()
        self.conv = nn.Conv2d(width, wider, 3, 2, 1, groups=width)
        self.fc = nn.Linear(width, wider)

    def forward(self, x, side):
        token, patches = x[:, :1], x[:, 1:]
        grid = self.conv(patches.transpose(1, 2).unflatten(2, (side, side)))
        return torch.cat([self.fc(token), grid.flatten(2).transpose(1, 2)], 1), grid.shape[-1]


class PatchEmbedding(nn.Module):
    def __init__(self, channels, width, patch, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, patch, stride)

    def forward(self, x):
        return self.conv(x)


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        widths, eps = sizes["hidden_sizes"], sizes["layer_norm_eps"]
        side = (sizes["image_size"] - sizes["patch_size"]) // sizes["stride"] + 1
        self.patch_embed = PatchEmbedding(sizes["num_channels"], widths[0], sizes["patch_size"], sizes["stride"])
        self.pos_embed = nn.Parameter(torch.zeros(1, widths[0], side, side))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, widths[0]))
        rates = iter(torch.linspace(0, sizes["drop_path_rate"], sum(sizes["depths"])).tolist())
        stages = zip(widths, sizes["num_attention_heads"], sizes["intermediate_sizes"], sizes["depths"])
        self.transformers = nn.ModuleList(
            Stage([Block(width, heads, hidden, eps, next(rates)) for _ in range(depth)])
            for width, heads, hidden, depth in stages
        )
        self.pools = nn.ModuleList(Pool(a, b) for a, b in zip(widths, widths[1:]))
        self.norm = nn.LayerNorm(widths[-1], eps)
        self.head = nn.Linear(widths[-1], sizes["num_labels"])

    def forward(self, pixels):
        """The features of the class token, and the logits."""
        x = self.patch_embed(pixels) + self.pos_embed
        side = x.shape[-1]
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1)
        for i, stage in enumerate(self.transformers):
            x = stage(x)
            if i < len(self.pools):
                x, side = self.pools[i](x, side)
        x = self.norm(x[:, :1])
        return x, self.head(x[:, 0])
