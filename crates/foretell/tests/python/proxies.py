"""Training-free scores of exported networks by their definitions, for comparison: python proxies.py FOLDER"""
import importlib.util
import json
import os
import sys

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

torch.set_num_threads(1)
IMAGES, ENCODERS = {"vit", "pit", "shunted"}, {"bert", "flexibert"}


def network(folder):
    spec = importlib.util.spec_from_file_location("exported", os.path.join(folder, "pytorch", "model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.load().double().eval()
    for part in model.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.train()
    return model


def words(family, model):
    """The module that looks words up."""
    if family in ENCODERS:
        return model.embeddings.word_embeddings
    if family == "recurrent":
        return model.encoder
    return model.model["embed_tokens"] if family == "llama" else model.transformer["wte"]


def gradients(model, layers, loss):
    weights = dict(model.named_parameters())
    chosen = [weights[layer["name"]] for layer in layers]
    # A pooler, say, is no part of this loss.
    found = torch.autograd.grad(loss, chosen, allow_unused=True, materialize_grads=True)
    return [(layer, weights[layer["name"]].detach(), g) for layer, g in zip(layers, found)]


def natural(family, model, data):
    """The loss that suits the family, on the batch."""
    features, logits = model(data["input"].double() if family in IMAGES else data["input"])
    if family in ENCODERS:
        return (features * data["cotangent"]).sum()
    if family == "recurrent":
        return features.pow(2).sum() / 2
    return F.cross_entropy(logits.flatten(0, -2), data["labels"].flatten())


def linearised(family, model, data):
    """The sum of the outputs for an input of ones, every weight a magnitude."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.abs_()
    if family in IMAGES:
        return model(torch.ones_like(data["input"][:1]).double())[1].sum()
    handle = words(family, model).register_forward_hook(lambda _, __, output: torch.ones_like(output))
    features, logits = model(data["input"][:1])
    handle.remove()
    if family in ENCODERS:
        return (features * data["cotangent"]).sum()
    return features.sum() if family == "recurrent" else logits.sum()


def nuclear(matrix):
    return torch.linalg.matrix_norm(matrix.flatten(1), "nuc").item()


def diversity(layer, weight, gradient):
    if not layer["fused"]:
        return nuclear(weight) * nuclear(gradient)
    across = 1 if layer["transposed"] else 0
    return sum(nuclear(w) * nuclear(g) for w, g in zip(weight.chunk(3, across), gradient.chunk(3, across)))


def scores(folder):
    with open(os.path.join(folder, "facts.json")) as file:
        facts = json.load(file)
    data = load_file(os.path.join(folder, "expected.safetensors"))
    family, layers = facts["family"], facts["layers"]
    model = network(folder)
    seen = gradients(model, layers, natural(family, model, data))
    found = {
        "snip": sum((w * g).abs().sum().item() for _, w, g in seen),
        "grad-norm": sum(g.norm().item() for _, _, g in seen),
    }
    seen = gradients(model, layers, linearised(family, model, data))
    found["synflow"] = sum((w * g).abs().sum().item() for _, w, g in seen)
    found["dss"] = sum(
        diversity(*entry) if entry[0]["part"] == "attention" else (entry[1] * entry[2]).abs().sum().item()
        for entry in seen
        if not entry[0]["convolution"] and entry[0]["part"] in ("attention", "ffn", "cell")
    )
    return family, found, facts["scores"]


root, worst, count = sys.argv[1], {}, 0
for name in sorted(os.listdir(root)):
    folder = os.path.join(root, name)
    if not os.path.exists(os.path.join(folder, "facts.json")):
        continue
    family, found, expected = scores(folder)
    count += 1
    for proxy, value in expected.items():
        far = abs(found[proxy] - value) / max(abs(value), 1e-300)
        worst[proxy] = max(worst.get(proxy, 0.0), far)
        assert far < 1e-6, f"{name}, {family}: {proxy} is {value}, here {found[proxy]}"
print(count, "networks;", ", ".join(f"{proxy} within {far:.1e}" for proxy, far in sorted(worst.items())))
