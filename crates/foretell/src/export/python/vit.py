"""A vision transformer whose heads and feed-forward widths are free per layer (AutoFormer)."""
import torch
from torch import nn
from torch.nn import functional as F


class RelativePosition(nn.Module):
    """Two tables of vectors, one for the vertical and one for the horizontal distance of two patches."""

    def __init__(self, head_dim, side, furthest):
        super().__init__()
        self.embeddings_table_v = nn.Parameter(torch.zeros(2 * furthest + 2, head_dim))
        self.embeddings_table_h = nn.Parameter(torch.zeros(2 * furthest + 2, head_dim))
        self.side, self.furthest = side, furthest

    def forward(self):
        """Vectors of all pairs, tokens x tokens x head_dim; entry 0 is for pairs with the class token."""
        place = torch.arange(self.side, device=self.embeddings_table_v.device)
        distance = (place[None, :] - place[:, None]).clamp(-self.furthest, self.furthest) + self.furthest + 1
        side = self.side
        down = distance[:, None, :, None].expand(side, side, side, side).reshape(side * side, -1)
        right = distance[None, :, None, :].expand(side, side, side, side).reshape(side * side, -1)
        down, right = F.pad(down, (1, 0, 1, 0)), F.pad(right, (1, 0, 1, 0))
        return self.embeddings_table_v[down] + self.embeddings_table_h[right]


class Attention(nn.Module):
    def __init__(self, sizes, layer):
        super().__init__()
        self.heads = layer["num_attention_heads"]
        width = layer["attention_size"]
        self.qkv = nn.Linear(sizes["hidden_size"], 3 * width)
        self.proj = nn.Linear(width, sizes["hidden_size"])
        self.relative = sizes["relative_position"]
        if self.relative:
            side = sizes["image_size"] // sizes["patch_size"]
            shape = width // self.heads, side, sizes["max_relative_position"]
            self.rel_pos_embed_k = RelativePosition(*shape)
            self.rel_pos_embed_v = RelativePosition(*shape)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.relative:
            scale = q.shape[-1] ** -0.5
            scores = q @ k.transpose(-2, -1) + torch.einsum("bhqd,qkd->bhqk", q, self.rel_pos_embed_k())
            seen = (scores * scale).softmax(-1)
            x = seen @ v + torch.einsum("bhqk,qkd->bhqd", seen, self.rel_pos_embed_v())
        else:
            x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, -1))


class Block(nn.Module):
    def __init__(self, sizes, layer, drop):
        super().__init__()
        width, eps = sizes["hidden_size"], sizes["layer_norm_eps"]
        self.attn_layer_norm = nn.LayerNorm(width, eps)
        self.attn = Attention(sizes, layer)
        self.ffn_layer_norm = nn.LayerNorm(width, eps)
        self.fc1 = nn.Linear(width, layer["intermediate_size"])
        self.fc2 = nn.Linear(layer["intermediate_size"], width)
        self.drop_path = DropPath(drop)

    def forward(self, x):
        x = x + self.drop_path(self.attn(self.attn_layer_norm(x)))
        return x + self.drop_path(self.fc2(F.gelu(self.fc1(self.ffn_layer_norm(x)))))


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, patch = sizes["hidden_size"], sizes["patch_size"]
        patches = (sizes["image_size"] // patch) ** 2
        self.patch_embed = nn.Conv2d(sizes["num_channels"], width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, patches + 1, width)) if sizes["absolute_position"] else None
        layers, last = sizes["layers"], max(len(sizes["layers"]) - 1, 1)
        drop = sizes["drop_path_rate"]
        self.blocks = nn.ModuleList(Block(sizes, layer, drop * i / last) for i, layer in enumerate(layers))
        self.norm = nn.LayerNorm(width, sizes["layer_norm_eps"])
        self.head = nn.Linear(width, sizes["num_labels"])
        self.pooling = sizes["pooling"]

    def forward(self, pixels):
        """The features of all tokens, and the logits."""
        x = self.patch_embed(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1)
        if self.pos_embed is not None:
            x = x + self.pos_embed
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        pooled = x[:, 1:].mean(1) if self.pooling == "mean" else x[:, 0]
        return x, self.head(pooled)
