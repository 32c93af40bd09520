"""Loads exported networks as users do and compares them with what the engine said: python networks.py FOLDER"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
F32, F64 = 1e-4, 1e-9
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/data/demo/pentateuch.txt")
IMAGES, ENCODERS = {"vit", "pit", "shunted"}, {"bert", "flexibert"}


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def difference(found, expected):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return (found.double() - expected).abs().max().item()


def as_in_the_engine(model):
    """Evaluation, but norms over the batch by the batch."""
    model.eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.train()
    return model


def outputs(family, model, inputs):
    """Features and logits of a model of transformers, as the engine has them."""
    if family in IMAGES:
        return None, model(pixel_values=inputs).logits[:, None]
    if family in ENCODERS:
        found = model(input_ids=inputs)
        return found.last_hidden_state, found.pooler_output[:, None]
    return None, model(input_ids=inputs).logits


def compare(name, family, run, data, limits=(F32, F64)):
    for dtype, limit in zip((torch.float32, torch.float64), limits):
        end = "f32" if dtype == torch.float32 else "f64"
        inputs = data["input"] if data["input"].dtype == torch.int64 else data["input"].to(dtype)
        with torch.no_grad():
            features, logits = run(dtype, inputs)
        loss = None
        if logits is not None and data["labels"].dim() == 2 and logits.shape[1] == data["labels"].shape[1]:
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), data["labels"].flatten())[None]
        for kind, found in (("features", features), ("logits", logits), ("loss", loss)):
            expected = data[f"{kind}_{end}"]
            if found is None or expected.numel() == 0:
                continue
            scale = max(1.0, expected.abs().max().item())
            far = difference(found, expected) / scale
            worst[family, kind, end] = max(worst.get((family, kind, end), 0.0), far)
            assert far <= limit, f"{name}: {kind} in {end} differ by {far}"


def learns(name, model, loss_of, length):
    """One step of this length down the gradient lowers the loss; in f64, since some gradients are tiny."""
    as_in_the_engine(model.double())
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    before = loss_of(model)
    before.backward()
    norm = sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None).sqrt()
    for group in optimiser.param_groups:
        group["lr"] = length / norm.item()
    optimiser.step()
    after = loss_of(model)
    assert after < before, f"{name}: a step changed the loss from {before} to {after}"


def module_of(path):
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location("exported", path)
    module = sys.modules["exported"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(folder):
    with open(os.path.join(folder, "facts.json")) as file:
        facts = json.load(file)
    family, name = facts["family"], folder
    data = load_file(os.path.join(folder, "expected.safetensors"))
    place = os.path.join(folder, "huggingface")
    code = {} if facts["stock"] else {"trust_remote_code": True}
    assert facts["stock"] == (not any(file.startswith("modeling") for file in os.listdir(place)))
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(place, **code)
    task = {"bert": "MaskedLM", "flexibert": "MaskedLM"}.get(family, "ImageClassification" if family in IMAGES else "CausalLM")
    auto = getattr(transformers, f"AutoModelFor{task}")
    main = AutoModel if family in ENCODERS else auto
    model = as_in_the_engine(main.from_pretrained(place, **code))
    assert count(model) == facts["tensors"], f"{name}: {count(model)} parameters, not {facts['tensors']}"
    # The LLaMA of transformers computes norms and rotations in f32, whatever its weights are.
    limits = (F32, F32) if facts["stock"] and family == "llama" else (F32, F64)
    kind = f"{family}, stock" if facts["stock"] else family
    compare(name, kind, lambda dtype, inputs: outputs(family, model.to(dtype), inputs), data, limits)
    # Every other class finds its weights too, and learns.
    heads = {"ImageClassification": ["ImageClassification"], "MaskedLM": ["MaskedLM", "SequenceClassification"],
             "CausalLM": ["CausalLM", "SequenceClassification"]}[task]
    for head in heads:
        change = {"num_labels": 3} if head == "SequenceClassification" else {}
        if facts["stock"] and head == "SequenceClassification":
            change["pad_token_id"] = 0
        model = getattr(transformers, f"AutoModelFor{head}").from_pretrained(place, **code, **change)
        labels = torch.arange(len(data["input"])) % 3 if head == "SequenceClassification" else data["labels"]
        inputs = data["input"] if data["input"].dtype == torch.int64 else data["input"].double()
        learns(f"{name} for {head}", model, lambda model: model(inputs, labels=labels).loss, 1e-3 if facts["stock"] else 1e-5)
    AutoModel.from_config(config, **code)
    # What training saves is found again, by transformers and by nobody else's code.
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        assert count(type(model).from_pretrained(saved)) == count(model)
    if family not in IMAGES | ENCODERS:
        model = main.from_pretrained(place, **code).eval()
        words = model.generate(data["input"][:1, :4], max_new_tokens=3, do_sample=False, pad_token_id=0)
        step = data["input"][:1, :4]
        for _ in range(3):
            step = torch.cat([step, model(step).logits[:, -1:].argmax(-1)], 1)
        assert words.tolist() == step.tolist(), f"{name}: generates {words}, not {step}"
    # The same network without transformers.
    exported = module_of(os.path.join(folder, "pytorch", "model.py"))
    network = as_in_the_engine(exported.load())
    assert count(network) == facts["tensors"]

    def plain(dtype, inputs):
        features, logits = network.to(dtype)(inputs)
        return features, logits[:, None] if family in IMAGES | {"bert"} else None if family == "flexibert" else logits

    compare(f"{name}, plain", family, plain, data)
    if family in IMAGES and timm is not None:
        exported = module_of(os.path.join(folder, "timm", "model.py"))
        model = as_in_the_engine(timm.create_model(f"foretell_{family}", pretrained=True))
        assert count(model) == facts["tensors"]
        compare(f"{name}, timm", family, lambda dtype, inputs: (None, model.to(dtype)(inputs)[:, None]), data)


def trains(folder):
    """The shipped script runs a few steps on the shipped text, and the loss falls."""
    for target in ("huggingface", "pytorch"):
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(os.path.join(folder, target), os.path.join(place, "model"))
            options = ["--steps", "12", "--batch", "8", "--report", "4", "--lr", "3e-3"]
            if os.path.basename(os.path.dirname(folder)) not in IMAGES:
                options += ["--data", DEMO]
            done = subprocess.run(
                [sys.executable, "train.py", *options], cwd=os.path.join(place, "model"), capture_output=True, text=True
            )
            assert done.returncode == 0, f"{folder}, {target}: {done.stdout}{done.stderr}"
            losses = [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step ")]
            assert len(losses) == 3 and losses[-1] < losses[0], f"{folder}, {target}: {done.stdout}"


def main():
    root, only = sys.argv[1], sys.argv[2:]
    for family in sorted(os.listdir(root)):
        place = os.path.join(root, family)
        if not os.path.exists(os.path.join(place, "0", "facts.json")) or only and family not in only:
            continue
        begun, cases = time.time(), sorted(os.listdir(place), key=int)
        for case in cases:
            check(os.path.join(place, case))
        trains(os.path.join(place, cases[1]))
        print(f"{family}: {len(cases)} networks, {time.time() - begun:.0f} s", flush=True)
        for who in (family, f"{family}, stock"):
            far = {end: max((x for (w, _, e), x in worst.items() if (w, e) == (who, end)), default=None) for end in ("f32", "f64")}
            if far["f32"] is not None:
                print(f"  {who}: within {far['f32']:.1e} in f32, {far['f64']:.1e} in f64", flush=True)
    print("torch", torch.__version__, "transformers", transformers.__version__, "timm", timm and timm.__version__)


worst = {}
try:
    import timm
except ImportError:
    timm = None
main()
