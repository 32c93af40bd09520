"""A vision transformer in four stages whose heads see keys pooled at two rates (Shunted ViT)."""
import torch
from torch import nn
from torch.nn import functional as F


def to_map(x, side):
    return x.transpose(1, 2).unflatten(2, (side, side))


def to_tokens(x):
    return x.flatten(2).transpose(1, 2)


def depthwise(width):
    return nn.Conv2d(width, width, 3, padding=1, groups=width)


class Attention(nn.Module):
    def __init__(self, width, heads, reduction, eps):
        super().__init__()
        self.heads, self.reduction = heads, reduction
        self.q = nn.Linear(width, width)
        self.proj = nn.Linear(width, width)
        if reduction > 1:
            self.sr1 = nn.Conv2d(width, width, reduction, reduction)
            self.norm1 = nn.LayerNorm(width, eps)
            self.kv1 = nn.Linear(width, width)
            self.local_conv1 = depthwise(width // 2)
            self.sr2 = nn.Conv2d(width, width, reduction // 2, reduction // 2)
            self.norm2 = nn.LayerNorm(width, eps)
            self.kv2 = nn.Linear(width, width)
            self.local_conv2 = depthwise(width // 2)
        else:
            self.kv = nn.Linear(width, 2 * width)
            self.local_conv = depthwise(width)

    def split(self, x, heads):
        return x.unflatten(2, (heads, -1)).transpose(1, 2)

    def attend(self, q, k, v, heads):
        x = F.scaled_dot_product_attention(self.split(q, heads), self.split(k, heads), self.split(v, heads))
        return x.transpose(1, 2).flatten(2)

    def pooled(self, x, q, pool, norm, kv, local):
        grid = pool(x)
        k, v = kv(F.gelu(norm(to_tokens(grid)))).chunk(2, 2)
        v = v + to_tokens(local(to_map(v, grid.shape[-1])))
        return self.attend(q, k, v, self.heads // 2)

    def forward(self, x, side):
        q = self.q(x)
        if self.reduction > 1:
            coarse, fine = q.chunk(2, 2)
            grid = to_map(x, side)
            coarse = self.pooled(grid, coarse, self.sr1, self.norm1, self.kv1, self.local_conv1)
            fine = self.pooled(grid, fine, self.sr2, self.norm2, self.kv2, self.local_conv2)
            return self.proj(torch.cat([coarse, fine], 2))
        k, v = self.kv(x).chunk(2, 2)
        return self.proj(self.attend(q, k, v, self.heads) + to_tokens(self.local_conv(to_map(v, side))))


class Local(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dwconv = depthwise(width)

    def forward(self, x, side):
        return to_tokens(self.dwconv(to_map(x, side)))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.dwconv = Local(hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x, side):
        x = self.fc1(x)
        return self.fc2(F.gelu(x + self.dwconv(x, side)))


class Block(nn.Module):
    def __init__(self, width, heads, hidden, reduction, eps, drop):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps)
        self.attn = Attention(width, heads, reduction, eps)
        self.norm2 = nn.LayerNorm(width, eps)
        self.mlp = FeedForward(width, hidden)
        self.drop_path = DropPath(drop)

    def forward(self, x, side):
        x = x + self.drop_path(self.attn(self.norm1(x), side))
        return x + self.drop_path(self.mlp(self.norm2(x), side))


class Stem(nn.Module):
    """Convolutions from the image to a map of a quarter of its side."""

    def __init__(self, channels, width, extra, eps):
        super().__init__()
        layers = [nn.Conv2d(channels, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        for _ in range(extra):
            layers += [nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        self.stem = nn.Sequential(*layers)
        self.proj = nn.Conv2d(width, width, 2, 2)
        self.norm = nn.LayerNorm(width, eps)

    def forward(self, x):
        x = self.proj(self.stem(x))
        return self.norm(to_tokens(x)), x.shape[-1]


class Merge(nn.Module):
    """Halves the map by an overlapping convolution."""

    def __init__(self, width, wider, eps):
        super().__init__()
        self.proj = nn.Conv2d(width, wider, 3, 2, 1)
        self.norm = nn.LayerNorm(wider, eps)

    def forward(self, x, side):
        x = self.proj(to_map(x, side))
        return self.norm(to_tokens(x)), x.shape[-1]


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        widths, eps = sizes["hidden_sizes"], sizes["layer_norm_eps"]
        rates = iter(torch.linspace(0, sizes["drop_path_rate"], sum(sizes["depths"])).tolist())
        self.patch_embed1 = Stem(sizes["num_channels"], widths[0], sizes["stem_convs"], eps)
        for s in range(4):
            if s > 0:
                setattr(self, f"patch_embed{s + 1}", Merge(widths[s - 1], widths[s], eps))
            shape = widths[s], sizes["num_attention_heads"][s], sizes["intermediate_sizes"][s], sizes["sr_ratios"][s]
            blocks = [Block(*shape, eps, next(rates)) for _ in range(sizes["depths"][s])]
            setattr(self, f"block{s + 1}", nn.ModuleList(blocks))
            setattr(self, f"norm{s + 1}", nn.LayerNorm(widths[s], eps))
        self.head = nn.Linear(widths[-1], sizes["num_labels"])

    def forward(self, pixels):
        """The features of all tokens, and the logits."""
        x, side = self.patch_embed1(pixels)
        for s in range(4):
            if s > 0:
                x, side = getattr(self, f"patch_embed{s + 1}")(x, side)
            for block in getattr(self, f"block{s + 1}"):
                x = block(x, side)
            x = getattr(self, f"norm{s + 1}")(x)
        return x, self.head(x.mean(1))
