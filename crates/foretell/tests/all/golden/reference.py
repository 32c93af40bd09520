"""Writes the golden cases of families without an original to run: BERT and LLaMA from Hugging Face `transformers`,
Transformer-XL and Shunted ViT from short definitions in plain PyTorch.

usage: python reference.py ../fixtures/golden     (torch, transformers, safetensors, numpy)

Weights are drawn once, stored in f32 under our names and cast to f64; every expected value is computed in f64.
"""
import json, math, sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_num_threads(1)


def checksum(name, x):
    x = x.detach().double()
    return {"name": name, "shape": list(x.shape), "sum": x.sum().item(), "l2": x.norm().item()}


def draw(shapes, seed):
    """Normal weights of fan-in scale, gains around one, biases around zero: f32 values in f64."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        x = torch.randn(shape, generator=generator)
        if len(shape) > 1:
            x *= 0.5 if "embed" in name or "wte" in name else math.prod(shape[1:]) ** -0.5
        else:
            x *= 0.2
            x += 1.0 if "norm" in name.lower() and name.endswith("weight") or ".stem." in name and name.endswith("weight") else 0.0
        weights[name] = x.double().requires_grad_()
    return weights


def write(folder, arch, weights, inputs, states, features, cotangent, about):
    """Runs backward from <features, cotangent> and stores the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (features * cotangent).sum().backward()
    norms = [{"name": n, "f64": 0.0 if w.grad is None else w.grad.norm().item()} for n, w in weights.items()]
    expected = {"forward": {"f64": {"output": checksum("output", features), "layers": states}}, "grad_l2_cotangent": norms}
    single = {n: w.detach().float().contiguous() for n, w in weights.items()}
    save_file(single, folder / "weights.safetensors")
    save_file({**inputs, "cotangent": cotangent.float().contiguous()}, folder / "inputs.safetensors")
    (folder / "arch.json").write_text(json.dumps(arch, indent=1) + "\n")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    (folder / "README.md").write_text(about)


def cotangent(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


def bert(root):
    from transformers import BertConfig, BertModel

    arch = {"family": "bert", "vocab_size": 40, "context_len": 12, "hidden_size": 24, "num_layers": 2, "num_heads": 3, "ffn_dim": 40, "batch": 3}
    config = BertConfig(vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
                        max_position_embeddings=12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
    model = BertModel(config).double().eval()
    weights = draw({n: p.shape for n, p in model.named_parameters()}, 1)
    ids = torch.randint(1, 40, (3, 9), generator=torch.Generator().manual_seed(2))
    types = torch.randint(0, 2, (3, 9), generator=torch.Generator().manual_seed(3))
    out = torch.func.functional_call(model, weights, (ids,), {"token_type_ids": types, "output_hidden_states": True})
    states = [checksum(f"hidden {i}", x) for i, x in enumerate(out.hidden_states)]
    write(root / "bert", arch, weights, {"input_ids": ids, "token_type_ids": types}, states, out.pooler_output,
          cotangent(out.pooler_output.shape, 4), "# bert\n\n`BertModel` of transformers, eager attention; the output is the pooler's. Padding id 0 does not occur.\n")


def llama(root):
    from transformers import LlamaConfig, LlamaForCausalLM

    arch = {"family": "llama", "vocab_size": 40, "context_len": 12, "hidden_size": 24, "num_layers": 2, "num_heads": 4,
            "num_kv_heads": 2, "head_dim": 6, "ffn_dim": 40, "batch": 3}
    config = LlamaConfig(vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         head_dim=6, intermediate_size=40, max_position_embeddings=12, rms_norm_eps=1e-6,
                         tie_word_embeddings=False, attn_implementation="sdpa")
    model = LlamaForCausalLM(config).double().eval()
    # The library computes rotary angles, norms and the softmax of eager attention in f32, whatever the model; in f64 they are what the formulas say.
    half = torch.arange(0, 6, 2, dtype=torch.float64)

    def rotary(x, position_ids):
        angle = position_ids[..., None].double() * 10000.0 ** (-half / 6)
        angle = torch.cat([angle, angle], -1)
        return angle.cos(), angle.sin()

    model.model.rotary_emb.forward = rotary
    weights = draw({n: p.shape for n, p in model.named_parameters()}, 5)
    ids = torch.randint(0, 40, (3, 9), generator=torch.Generator().manual_seed(6))
    for module in model.modules():
        if type(module).__name__ == "LlamaRMSNorm":
            module.forward = lambda x, m=module: m.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + m.variance_epsilon)
    out = torch.func.functional_call(model, weights, (ids,), {"output_hidden_states": True, "use_cache": False})
    states = [checksum(f"hidden {i}", x) for i, x in enumerate(out.hidden_states[:-1])]
    write(root / "llama", arch, weights, {"input_ids": ids}, states, out.logits, cotangent(out.logits.shape, 7),
          "# llama\n\n`LlamaForCausalLM` of transformers with grouped queries, sdpa attention (the eager one has its softmax in f32); rotary angles and the norm, which the\nlibrary computes in f32 whatever the model, in f64. The output is the logits; states are the embedding and every block but the last.\n")


def layer_norm(x, w, name, eps):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def linear(x, w, name):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def transformer_xl(root):
    d, heads, f, layers, vocab, tokens, batch = 24, 3, 40, 2, 40, 9, 3
    arch = {"family": "transformer-xl", "vocab_size": vocab, "context_len": 12, "d_model": d, "d_embed": d, "n_layer": layers,
            "n_head": heads, "d_inner": f, "cutoffs": [], "div_val": 1, "batch": batch}
    shapes = {"model.transformer.wte.emb_layers.0.weight": (vocab, d)}
    for i in range(layers):
        at = f"model.transformer.layers.{i}."
        shapes |= {at + "dec_attn.r_w_bias": (d,), at + "dec_attn.r_r_bias": (d,),
                   at + "dec_attn.qkv_net.weight": (3 * d, d), at + "dec_attn.r_net.weight": (d, d), at + "dec_attn.o_net.weight": (d, d),
                   at + "dec_attn.layer_norm.weight": (d,), at + "dec_attn.layer_norm.bias": (d,),
                   at + "pos_ff.CoreNet.0.weight": (f, d), at + "pos_ff.CoreNet.0.bias": (f,),
                   at + "pos_ff.CoreNet.3.weight": (d, f), at + "pos_ff.CoreNet.3.bias": (d,),
                   at + "pos_ff.layer_norm.weight": (d,), at + "pos_ff.layer_norm.bias": (d,)}
    shapes["model.lm_head.out_layers_biases.0"] = (vocab,)
    w = draw(shapes, 8)
    ids = torch.randint(0, vocab, (batch, tokens), generator=torch.Generator().manual_seed(9))
    x = w["model.transformer.wte.emb_layers.0.weight"][ids] * d**0.5
    states = [checksum("embedded", x)]
    frequencies = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(tokens - 1, -1, -1, dtype=torch.float64)[:, None] * frequencies
    positions = torch.cat([angle.sin(), angle.cos()], -1)
    # Entry (i, j) looks up the row of distance i - j, which is row tokens - 1 - (i - j).
    i, j = torch.meshgrid(torch.arange(tokens), torch.arange(tokens), indexing="ij")
    row, future = (tokens - 1 - (i - j)).clamp(max=tokens - 1), j > i
    for layer in range(layers):
        at = f"model.transformer.layers.{layer}."
        q, k, v = linear(x, w, at + "dec_attn.qkv_net").view(batch, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        r = linear(positions, w, at + "dec_attn.r_net").view(tokens, heads, -1).permute(1, 0, 2)
        content = (q + w[at + "dec_attn.r_w_bias"].view(heads, 1, -1)) @ k.transpose(-2, -1)
        position = torch.einsum("bhid,hijd->bhij", q + w[at + "dec_attn.r_r_bias"].view(heads, 1, -1), r[:, row])
        score = ((content + position) / (d // heads) ** 0.5).masked_fill(future, -1e30)
        context = (score.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, d)
        x = layer_norm(x + linear(context, w, at + "dec_attn.o_net"), w, at + "dec_attn.layer_norm", 1e-5)
        h = linear(linear(x, w, at + "pos_ff.CoreNet.0").relu(), w, at + "pos_ff.CoreNet.3")
        x = layer_norm(x + h, w, at + "pos_ff.layer_norm", 1e-5)
        states.append(checksum(f"block {layer}", x))
    logits = x @ w["model.transformer.wte.emb_layers.0.weight"].T + w["model.lm_head.out_layers_biases.0"]
    write(root / "transformer-xl", arch, w, {"input_ids": ids}, states, logits, cotangent(logits.shape, 10),
          "# transformer-xl\n\nA plain PyTorch definition: one segment without memory, post-norm, relative positions by distance, ReLU, one cluster\nof words tied to the embedding. The output is the logits.\n")


def shunted(root):
    d, batch, side, classes, eps = 6, 2, 64, 5, 1e-6
    depths, heads, ratios, reductions, extra = [1, 2, 1, 1], [2, 2, 4, 2], [2, 1, 2, 1], [4, 2, 2, 1], 1
    arch = {"family": "shunted", "image_size": side, "channels": 1, "num_classes": classes, "base_dim": d, "stem_convs": extra, "sr_ratio": reductions,
            "depth": depths, "num_heads": heads, "mlp_ratio": ratios, "batch": batch}
    shapes = {}

    def both(name, *shape):
        shapes[name + ".weight"] = shape
        shapes[name + ".bias"] = (shape[0],)

    shapes["patch_embed1.stem.0.weight"] = (d, 1, 7, 7)
    both("patch_embed1.stem.1", d)
    for n in range(extra):
        shapes[f"patch_embed1.stem.{3 * n + 3}.weight"] = (d, d, 3, 3)
        both(f"patch_embed1.stem.{3 * n + 4}", d)
    both("patch_embed1.proj", d, d, 2, 2)
    both("patch_embed1.norm", d)
    for s in range(4):
        c = d << s
        if s:
            both(f"patch_embed{s + 1}.proj", c, c // 2, 3, 3)
            both(f"patch_embed{s + 1}.norm", c)
        for b in range(depths[s]):
            at, f = f"block{s + 1}.{b}.", c * ratios[s]
            for norm in ("norm1", "norm2"):
                both(at + norm, c)
            both(at + "attn.q", c, c)
            both(at + "attn.proj", c, c)
            if reductions[s] > 1:
                for n, kernel in ((1, reductions[s]), (2, reductions[s] // 2)):
                    both(at + f"attn.sr{n}", c, c, kernel, kernel)
                    both(at + f"attn.norm{n}", c)
                    both(at + f"attn.kv{n}", c, c)
                    both(at + f"attn.local_conv{n}", c // 2, 1, 3, 3)
            else:
                both(at + "attn.kv", 2 * c, c)
                both(at + "attn.local_conv", c, 1, 3, 3)
            both(at + "mlp.fc1", f, c)
            both(at + "mlp.dwconv.dwconv", f, 1, 3, 3)
            both(at + "mlp.fc2", c, f)
        both(f"norm{s + 1}", c)
    both("head", classes, 8 * d)
    w = draw(shapes, 11)
    images = torch.randn((batch, 1, side, side), generator=torch.Generator().manual_seed(12))

    def conv(x, name, **more):
        return F.conv2d(x, w[name + ".weight"], w.get(name + ".bias"), **more)

    def to_map(x):
        n = math.isqrt(x.shape[1])
        return x.transpose(1, 2).reshape(x.shape[0], -1, n, n)

    def to_tokens(x):
        return x.flatten(2).transpose(1, 2)

    def depthwise(x, name):
        return to_tokens(conv(to_map(x), name, padding=1, groups=x.shape[-1]))

    def attend(q, k, v, h):
        q, k, v = (x.unflatten(-1, (h, -1)).transpose(1, 2) for x in (q, k, v))
        return ((q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v).transpose(1, 2).flatten(2)

    def attention(x, at, h, reduction):
        q = linear(x, w, at + "q")
        if reduction == 1:
            k, v = linear(x, w, at + "kv").chunk(2, -1)
            return linear(attend(q, k, v, h) + depthwise(v, at + "local_conv"), w, at + "proj")
        parts = []
        for n, q in enumerate(q.chunk(2, -1), 1):
            kernel = reduction if n == 1 else reduction // 2
            pooled = to_tokens(conv(to_map(x), at + f"sr{n}", stride=kernel))
            pooled = F.gelu(layer_norm(pooled, w, at + f"norm{n}", eps))
            k, v = linear(pooled, w, at + f"kv{n}").chunk(2, -1)
            parts.append(attend(q, k, v + depthwise(v, at + f"local_conv{n}"), h // 2))
        return linear(torch.cat(parts, -1), w, at + "proj")

    def batch_norm(x, name):
        return F.batch_norm(x, None, None, w[name + ".weight"], w[name + ".bias"], training=True, eps=1e-5).relu()

    x = batch_norm(conv(images.double(), "patch_embed1.stem.0", stride=2, padding=3), "patch_embed1.stem.1")
    for n in range(extra):
        x = batch_norm(conv(x, f"patch_embed1.stem.{3 * n + 3}", padding=1), f"patch_embed1.stem.{3 * n + 4}")
    x = layer_norm(to_tokens(conv(x, "patch_embed1.proj", stride=2)), w, "patch_embed1.norm", eps)
    states = []
    for s in range(4):
        if s:
            x = to_tokens(conv(to_map(x), f"patch_embed{s + 1}.proj", stride=2, padding=1))
            x = layer_norm(x, w, f"patch_embed{s + 1}.norm", eps)
        for b in range(depths[s]):
            at = f"block{s + 1}.{b}."
            x = x + attention(layer_norm(x, w, at + "norm1", eps), at + "attn.", heads[s], reductions[s])
            h = linear(layer_norm(x, w, at + "norm2", eps), w, at + "mlp.fc1")
            x = x + linear(F.gelu(h + depthwise(h, at + "mlp.dwconv.dwconv")), w, at + "mlp.fc2")
            states.append(checksum(at[:-1], x))
        x = layer_norm(x, w, f"norm{s + 1}", eps)
    logits = linear(x.mean(1), w, "head")
    write(root / "shunted", arch, w, {"images": images}, states, logits, cotangent(logits.shape, 13),
          "# shunted\n\nA plain PyTorch definition of the four stages; batch norm by the statistics of the batch. The output is the logits.\nAt width 4 and reductions 8, 4, 2, 1 one gradient norm was off by 1.4e-5 in f32 (f64 agreed),\nso the case is wider.\n")


for case in (bert, llama, transformer_xl, shunted):
    case(Path(sys.argv[1]))
