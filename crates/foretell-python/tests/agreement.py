"""Scores of exported networks by torch's passes and by the engine's: python agreement.py prints the table."""

import sys

import torch
from safetensors.torch import save_file

import foretell as ft

NETWORKS = {
    "vit": {"family": "vit", "image_size": 32, "patch_size": 8, "num_classes": 10, "embed_dim": 32, "depth": 2, "num_heads": 4,
            "mlp_ratio": 2},
    "pit": {"family": "pit", "image_size": 32, "patch_size": 8, "stride": 4, "num_classes": 10, "base_dim": 8, "mlp_ratio": 2,
            "num_heads": [2, 2, 4], "depth": [1, 1, 1]},
    "shunted": {"family": "shunted", "image_size": 64, "num_classes": 10, "base_dim": 16, "depth": [1, 1, 1, 1],
                "num_heads": [2, 2, 4, 4], "mlp_ratio": [2, 2, 2, 2], "stem_convs": 0, "sr_ratio": [4, 2, 2, 1]},
    "bert": {"family": "bert", "vocab_size": 60, "context_len": 12, "type_vocab_size": 2, "hidden_size": 32, "num_layers": 2,
             "num_heads": 4, "ffn_dim": [48, 64]},
    "flexibert": {"family": "flexibert", "mode": "spec", "vocab_size": 60, "context_len": 12, "type_vocab_size": 2,
                  "embedding_size": 16, "hidden_size": 32, "num_layers": 2, "operation_type": ["SA", "SA"],
                  "operation_parameter": ["SDP", "SDP"], "num_heads": [2, 4], "ffn_dim": [48, 64], "ffn_stack": [1, 1]},
    "gpt2": {"family": "gpt2", "vocab_size": 60, "context_len": 12, "cutoffs": [], "n_layer": 2, "d_model": 32, "n_head": [4, 2],
             "d_inner": [48, 64]},
    "transformer-xl": {"family": "transformer-xl", "vocab_size": 60, "context_len": 12, "cutoffs": [], "n_layer": 2,
                       "d_model": 32, "n_head": [4, 2], "d_inner": [48, 64]},
    "llama": {"family": "llama", "vocab_size": 60, "context_len": 12, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
              "ffn_dim": [48, 64], "tie_embeddings": False},
    "recurrent": {"family": "recurrent", "vocab_size": 30, "embed_dim": 12, "hidden_size": 16, "num_layers": 2, "context_len": 9,
                  "nodes": [{"name": "a", "op": "linear", "inputs": ["x", "h_prev_0"]},
                            {"name": "h_new_0", "op": "activation_tanh", "inputs": ["a"]}]},
}
# What cannot be found by following the data, set as a user would.
SET = {
    "recurrent": {"^rnns": "cell"},
    "transformer-xl": {"r_net": "relative-position"},
    # The engine counts norms of embeddings as part of these.
    "bert": {"embeddings.LayerNorm": "embedding"},
    "flexibert": {"embeddings.LayerNorm": "embedding"},
}
KINDS = {"recurrent": "recurrent"}
SAMPLES = 4


def batch(name, network):
    """Inputs and labels of a network."""
    torch.manual_seed(1)
    fields = NETWORKS[name]
    if "image_size" in fields:
        images = torch.randn(SAMPLES, 3, fields["image_size"], fields["image_size"], dtype=torch.float64)
        return images, torch.arange(SAMPLES) % fields["num_classes"]
    ids = torch.randint(fields["vocab_size"], (SAMPLES, fields["context_len"]))
    return ids, torch.randint(fields["vocab_size"], ids.shape)


def compared(name, folder, precision, proxies="all"):
    """For each proxy the relative difference, or why torch or the engine give none."""
    network = ft.Architecture(NETWORKS[name])
    inputs, labels = batch(name, network)
    file = str(folder / f"{name}.safetensors")
    if inputs.is_floating_point():
        save_file({"images": inputs.float(), "targets": labels}, file)
        inputs = inputs.float()
    else:
        save_file({"input_ids": inputs, "labels": labels}, file)
    # Weights of an export are of single precision: both compute with those.
    weights = folder / f"{name}-{precision}"
    network.export(weights, target="pytorch")
    engine = ft.score(network, proxies=proxies, seed=0, seeds=1, inputs=file, precision=precision, weights=weights)
    model = network.to_torch(seed=0)
    if precision == "f64":
        model, inputs = model.double(), inputs.double() if inputs.is_floating_point() else inputs
    ours = ft.score(model, (inputs, labels), proxies=proxies, roles=SET.get(name), kind=KINDS.get(name))
    found = {}
    for proxy, theirs in engine._entries.items():
        mine = ours._entries[proxy]
        if "error" in theirs or "error" in mine:
            found[proxy] = (theirs.get("kind"), mine.get("error"))
            continue
        pairs = list(zip(theirs["parts"].values(), mine["parts"].values())) or [(theirs["value"], mine["value"])]
        found[proxy] = max(abs(a - b) / max(abs(a), 1e-12) for a, b in pairs)
    return found


if __name__ == "__main__":
    import pathlib
    import tempfile

    precision = sys.argv[1] if len(sys.argv) > 1 else "f32"
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or NETWORKS:
            found = compared(name, pathlib.Path(folder), precision)
            limit = 1e-5 if precision == "f32" else 1e-9
            good = {proxy: far for proxy, far in found.items() if isinstance(far, float) and far <= limit}
            far = {proxy: far for proxy, far in found.items() if isinstance(far, float) and not far <= limit}
            none = {proxy: why for proxy, why in found.items() if isinstance(why, tuple)}
            print(f"{name}: {len(good)} agree within {max(good.values(), default=0):.1e}")
            for proxy, value in far.items():
                print(f"   {proxy} differs by {value:.1e}")
            for proxy, (theirs, mine) in none.items():
                print(f"   {proxy}: engine {theirs or 'a number'}; torch {mine or 'a number'}")
