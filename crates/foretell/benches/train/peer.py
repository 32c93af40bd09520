"""The three training steps of main.rs in PyTorch eager: prints `name milliseconds` per step. THREADS: how many cores."""
import math, os, sys, time, torch
from torch import nn
import torch.nn.functional as F

torch.set_num_threads(int(os.environ.get("THREADS", "2")))
torch.manual_seed(0)
V, T, B = 257, 128, 16
SIZES = {"S": (2, 64, 4), "M": (4, 128, 4), "L": (6, 384, 6)}


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads = heads
        self.register_buffer("later", torch.ones(T, T).triu(1).bool())

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).reshape(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).masked_fill(self.later, -1e4)
        x = x + self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.fc2(F.gelu(self.fc1(self.n2(x)), approximate="tanh"))


class Net(nn.Module):
    def __init__(self, depth, d, heads):
        super().__init__()
        self.words, self.pos, self.norm = nn.Embedding(V, d), nn.Embedding(T, d), nn.LayerNorm(d)
        self.bias = nn.Parameter(torch.zeros(V))
        self.blocks = nn.Sequential(*[Block(d, heads) for _ in range(depth)])
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, 0, 0.02)
        self.scale = math.sqrt(d)

    def forward(self, ids, labels):
        x = self.norm(self.blocks(self.words(ids) * self.scale + self.pos.weight))
        return F.cross_entropy((x @ self.words.weight.T + self.bias).reshape(-1, V), labels.reshape(-1))


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
for kind in sys.argv[2:] or list(SIZES):
    net = Net(*SIZES[kind])
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, betas=(0.9, 0.99), weight_decay=0.01)
    for step in range(steps + 3):
        text = torch.randint(1, 256, (B, T + 1))
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        net(text[:, :-1], text[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if step >= 3:
            print(kind, f"{(time.perf_counter() - start) * 1e3:.3f}", flush=True)
