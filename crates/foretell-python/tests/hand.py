"""Roles of the weights of models.py, written down by hand: for each name what a person who knows the model would say.

It was written by the person who wrote the finder, whose rules were mended on the same models: it guards what works, and is no
test on models that nobody has looked at. Patterns are tried in order. None is for maps that have no role of ours: routers, state spaces, convolutions of residual nets.
"""

import re

PATTERNS = {
    # Where a name means something else than usual.
    "mamba2": [("conv1d|in_proj|out_proj", None)],
    "mixtral": [(r"mlp\.gate\.", None)],
    "whisper": [(r"encoder\.conv", "patch-embedding")],
    "resnet": [("^conv1", "patch-embedding"), ("conv|downsample", None)],
    "mobilenetv3": [("conv_stem", "patch-embedding"), ("conv_head", "head"), (r"\.conv_pw\.", ("ffn-in", None)),
                    (r"\.conv_dw\.", ("ffn-convolution", None)), (r"\.conv_pwl\.", ("ffn-out", None)), ("blocks", None)],
    "mobilevit": [(r"stem\.", "patch-embedding"), (r"conv1_1x1", ("ffn-in", None)), (r"conv2_kxk", ("ffn-convolution", None)),
                  (r"conv3_1x1", ("ffn-out", None)), (r"conv_(kxk|1x1|proj|fusion)|final_conv", None)],
    "efficientformer": [(r"stem\.", "patch-embedding"), ("downsample", "pooling"), ("attention_biases", "position"),
                        (r"token_mixer\.qkv", "query-key-value"), (r"token_mixer\.proj", "attention-out")],
    "convnext": [("conv_dw", None), (r"stem\.", "patch-embedding"), ("downsample", "pooling")],
    "pvt": [(r"attn\.sr", "attention-convolution"), ("dwconv", "ffn-convolution"), ("downsample", "pooling"), (r"\.kv\.", "key-value")],
    "swin": [("reduction", "pooling"), ("relative_position_bias_table", "position")],
    "mixer": [(r"stem\.", "patch-embedding")],
    "phi": [(r"self_attn\.dense", "attention-out")],
    "gpt-neox": [(r"attention\.dense", "attention-out"), ("embed_in", "embedding")],
    "bloom": [(r"self_attention\.dense", "attention-out")],
    "falcon": [(r"self_attention\.dense", "attention-out")],
    "albert": [(r"attention\.dense", "attention-out"), (r"ffn_output", "ffn-out"), (r"\.ffn\.weight", "ffn-in")],
    "modernbert": [(r"attn\.Wo", "attention-out")],
}
USUAL = [
    (r"relative_attention_bias|position|embed_positions|pos_embed|wpe|token_type", "position"),
    (r"cls_token|dist_token", "class-token"),
    (r"embeddings_project|embedding_hidden_mapping", "embedding-projection"),
    (r"patch_emb", "patch-embedding"),
    (r"word_embeddings|embed_tokens|tok_embeddings|wte|shared|token_embedding|backbone\.embeddings", "embedding"),
    (r"query_key_value|qkv|c_attn|in_proj_weight", "query-key-value"),
    (r"(\.|_)(q|query|q_lin|q_proj|query_proj)\.weight", "query"),
    (r"(\.|_)(k|key|k_lin|k_proj|key_proj)\.weight", "key"),
    (r"(\.|_)(v|value|v_lin|v_proj|value_proj)\.weight", "value"),
    (r"attention\.output|attn\.o\.|o_proj|out_proj|out_lin|attn\.c_proj|Attention\.o\.|attn\.proj", "attention-out"),
    (r"gate_proj", "ffn-gate"),
    (r"intermediate|lin1|fc1|c_fc|fc_in|h_to_4h|up_proj|gate_up|\.Wi\.|\.wi\.|linear1", "ffn-in"),
    (r"\.output\.dense|lin2|fc2|mlp\.c_proj|fc_out|4h_to_h|down_proj|\.Wo\.|\.wo\.|linear2", "ffn-out"),
    (r"pooler|classifier|lm_head|head|fc\.weight|predictions\.transform|_projection", "head"),
]


def expected(model, name):
    """The roles that are right; the last one may be None, which is a refusal."""
    for pattern, role in [*PATTERNS.get(model, []), *USUAL]:
        if re.search(pattern, name):
            return role if isinstance(role, tuple) else (role,)
    raise KeyError(f"{model}: nobody wrote down what {name} does")
