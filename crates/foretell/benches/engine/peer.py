"""The three workloads of main.rs in PyTorch eager: prints `name milliseconds` per run."""
import sys, time, torch
from torch import nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d, heads, ff, causal, post, tanh):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, ff), nn.Linear(ff, d)
        self.heads, self.causal, self.post, self.tanh = heads, causal, post, tanh

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        if self.causal is not None:
            s = s.masked_fill(self.causal, -1e4)
        return self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))

    def feed(self, x):
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh" if self.tanh else "none"))

    def forward(self, x):
        if self.post:
            x = self.n1(x + self.attend(x))
            return self.n2(x + self.feed(x))
        x = x + self.attend(self.n1(x))
        return x + self.feed(self.n2(x))


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        if kind == "A":
            d, t, depth, heads, ff = 192, 197, 12, 3, 768
            self.patch, self.cls = nn.Conv2d(3, d, 16, 16), nn.Parameter(torch.zeros(1, 1, d))
            self.pos, self.norm, self.head = nn.Parameter(torch.randn(1, t, d) * 0.02), nn.LayerNorm(d), nn.Linear(d, 1000)
            causal = None
        elif kind == "B":
            d, t, depth, heads, ff = 256, 128, 4, 4, 1024
            self.words, self.pos, self.norm = nn.Embedding(1000, d), nn.Embedding(t, d), nn.LayerNorm(d)
            causal = None
        else:
            d, t, depth, heads, ff = 512, 192, 8, 8, 2048
            self.words, self.pos, self.norm = nn.Embedding(1000, d), nn.Embedding(t, d), nn.LayerNorm(d)
            causal = torch.ones(t, t).triu(1).bool()
        self.blocks = nn.Sequential(*[Block(d, heads, ff, causal, kind == "B", kind == "C") for _ in range(depth)])
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, 0, 0.02)

    def forward(self, x):
        if self.kind == "A":
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls, x], 1) + self.pos
            return self.head(self.norm(self.blocks(x))[:, 1:].mean(1)).sum()
        x = self.words(x) + self.pos.weight
        if self.kind == "B":
            return (self.blocks(self.norm(x)) * self.cotangent).sum()
        return (self.norm(self.blocks(x)) * self.cotangent).sum()


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for kind in sys.argv[2:] or ["A", "B", "C"]:
        net = Net(kind)
        if kind == "A":
            x = torch.ones(1, 3, 224, 224)
        else:
            b, t, d = (8, 128, 256) if kind == "B" else (1, 192, 512)
            x, net.cotangent = torch.randint(0, 1000, (b, t)), torch.randn(b, t, d)
        for run in range(runs + 3):
            start = time.perf_counter()
            net.zero_grad(set_to_none=True)
            net(x).backward()
            if run >= 3:
                print(kind, f"{(time.perf_counter() - start) * 1e3:.3f}", flush=True)


main()
