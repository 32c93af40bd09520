"""What scores cost on top of torch's own passes: python cost.py prints the table of docs/python.md.

GPT-2 small from its configuration, 124 M parameters, 16 texts of 128 tokens, as scores of our own networks take. CPU time, since machines are shared, with one thread of
torch: threads that wait for each other count as busy.
"""

import copy
import os
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import GPT2Config, GPT2LMHeadModel

import foretell as ft

RUNS = 1


def seconds(work):
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def backward(model, ids, labels):
    """What torch does for a gradient of all weights."""
    with sdpa_kernel(SDPBackend.MATH):
        logits = model(input_ids=ids).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    model.zero_grad(set_to_none=True)


def magnitudes(model, ids):
    """What torch does for synflow: a copy in double precision whose weights are magnitudes, fed with ones."""
    double = copy.deepcopy(model).double()
    with torch.no_grad():
        for weight in double.parameters():
            weight.abs_()
    double.transformer.wte.register_forward_hook(lambda _, __, given: torch.ones_like(given))
    with sdpa_kernel(SDPBackend.MATH):
        double(input_ids=ids[:1]).logits.sum().backward()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="sdpa")).eval()
    ids = torch.randint(50257, (16, 128))
    labels = torch.randint(50257, ids.shape)
    alone = {
        "snip": lambda: backward(model, ids, labels),
        "grad-norm": lambda: backward(model, ids, labels),
        "plain": lambda: backward(model, ids, labels),
        "synflow": lambda: magnitudes(model, ids),
        "dss": lambda: magnitudes(model, ids),
    }
    params = sum(weight.numel() for weight in model.parameters())
    print(f"{params / 1e6:.0f} M parameters, {torch.get_num_threads()} threads of torch, {os.cpu_count()} cores")
    for name in sys.argv[1:] or alone:
        torch_alone, ours = seconds(alone[name]), seconds(lambda: ft.score(model, (ids, labels), proxies=name)[name])
        print(f"| {name} | {torch_alone:.2f} | {ours:.2f} | {ours / torch_alone - 1:+.0%} |")


if __name__ == "__main__":
    main()
