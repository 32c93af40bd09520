"""Models of others, made from configurations in tiny sizes: nothing is downloaded."""

import torch

IDS = torch.arange(16).view(2, 8) % 30 + 2
LARGE = torch.linspace(-1, 1, 3 * 224 * 224).view(1, 3, 224, 224)
MEDIUM = torch.linspace(-1, 1, 2 * 3 * 64 * 64).view(2, 3, 64, 64)
IMAGES = torch.linspace(-1, 1, 2 * 3 * 32 * 32).view(2, 3, 32, 32)


def hf(name, config, **changes):
    import transformers

    torch.manual_seed(0)
    return getattr(transformers, name)(getattr(transformers, config)(**changes)).eval()


def timm(name, **changes):
    import timm as library

    torch.manual_seed(0)
    return library.create_model(name, pretrained=False, num_classes=10, **changes).eval()


def mixer():
    from timm.models.mlp_mixer import MlpMixer

    torch.manual_seed(0)
    return MlpMixer(num_classes=10, img_size=32, patch_size=8, num_blocks=2, embed_dim=32).eval()


TEXT = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
DECODER = {**TEXT, "max_position_embeddings": 32, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
GROUPED = {**DECODER, "num_key_value_heads": 2}
VIT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
       "patch_size": 8}
WIDE = {"embed_dim": 32, "depth": 2, "num_heads": 4}

MODELS = {
    # Encoders of text
    "bert": (lambda: hf("BertModel", "BertConfig", **TEXT), IDS),
    "bert-masked": (lambda: hf("BertForMaskedLM", "BertConfig", **TEXT), IDS),
    "bert-classes": (lambda: hf("BertForSequenceClassification", "BertConfig", **TEXT), IDS),
    "roberta": (lambda: hf("RobertaModel", "RobertaConfig", **TEXT, max_position_embeddings=40), IDS),
    "electra": (lambda: hf("ElectraModel", "ElectraConfig", **TEXT, embedding_size=16), IDS),
    "deberta-v2": (lambda: hf("DebertaV2Model", "DebertaV2Config", **TEXT, relative_attention=True, max_relative_positions=8,
                              pos_att_type=["p2c", "c2p"], position_biased_input=False, share_att_key=True), IDS),
    "distilbert": (lambda: hf("DistilBertModel", "DistilBertConfig", vocab_size=64, dim=32, n_layers=2, n_heads=4,
                              hidden_dim=48), IDS),
    "albert": (lambda: hf("AlbertModel", "AlbertConfig", **TEXT, embedding_size=16), IDS),
    "mpnet": (lambda: hf("MPNetModel", "MPNetConfig", **TEXT, max_position_embeddings=40), IDS),
    "modernbert": (lambda: hf("ModernBertModel", "ModernBertConfig", **TEXT, pad_token_id=0, max_position_embeddings=32), IDS),
    # Decoders
    "gpt2": (lambda: hf("GPT2LMHeadModel", "GPT2Config", vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4), IDS),
    "opt": (lambda: hf("OPTForCausalLM", "OPTConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2, ffn_dim=48,
                       num_attention_heads=4, max_position_embeddings=32, word_embed_proj_dim=32), IDS),
    "gpt-neox": (lambda: hf("GPTNeoXForCausalLM", "GPTNeoXConfig", **DECODER), IDS),
    "gpt-neo": (lambda: hf("GPTNeoForCausalLM", "GPTNeoConfig", vocab_size=64, hidden_size=32, num_layers=2, num_heads=4,
                           attention_types=[[["global", "local"], 1]], max_position_embeddings=32), IDS),
    "gptj": (lambda: hf("GPTJForCausalLM", "GPTJConfig", vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4,
                        rotary_dim=4), IDS),
    "bloom": (lambda: hf("BloomForCausalLM", "BloomConfig", vocab_size=64, hidden_size=32, n_layer=2, n_head=4), IDS),
    "falcon": (lambda: hf("FalconForCausalLM", "FalconConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
                          num_attention_heads=4), IDS),
    "llama": (lambda: hf("LlamaForCausalLM", "LlamaConfig", **GROUPED), IDS),
    "mistral": (lambda: hf("MistralForCausalLM", "MistralConfig", **GROUPED), IDS),
    "qwen2": (lambda: hf("Qwen2ForCausalLM", "Qwen2Config", **GROUPED), IDS),
    "qwen3": (lambda: hf("Qwen3ForCausalLM", "Qwen3Config", **GROUPED, head_dim=8), IDS),
    "gemma": (lambda: hf("GemmaForCausalLM", "GemmaConfig", **GROUPED, head_dim=8), IDS),
    "gemma2": (lambda: hf("Gemma2ForCausalLM", "Gemma2Config", **GROUPED, head_dim=8), IDS),
    "phi": (lambda: hf("PhiForCausalLM", "PhiConfig", **DECODER), IDS),
    "phi3": (lambda: hf("Phi3ForCausalLM", "Phi3Config", **GROUPED), IDS),
    "stablelm": (lambda: hf("StableLmForCausalLM", "StableLmConfig", **GROUPED), IDS),
    "olmo2": (lambda: hf("Olmo2ForCausalLM", "Olmo2Config", **GROUPED), IDS),
    "mixtral": (lambda: hf("MixtralForCausalLM", "MixtralConfig", **GROUPED, num_local_experts=4), IDS),
    "mamba2": (lambda: hf("Mamba2ForCausalLM", "Mamba2Config", vocab_size=64, hidden_size=32, num_hidden_layers=2, state_size=8,
                          num_heads=8, head_dim=8, expand=2, n_groups=1, chunk_size=4), IDS),
    # Encoders with decoders
    "t5": (lambda: hf("T5ForConditionalGeneration", "T5Config", vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2,
                      num_heads=4, decoder_start_token_id=0), {"input_ids": IDS, "decoder_input_ids": IDS}),
    "bart": (lambda: hf("BartForConditionalGeneration", "BartConfig", vocab_size=64, d_model=32, encoder_layers=2,
                        decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
                        decoder_ffn_dim=48, max_position_embeddings=32), {"input_ids": IDS, "decoder_input_ids": IDS}),
    "whisper": (lambda: hf("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=64, d_model=32, encoder_layers=2,
                           decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
                           decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0,
                           bos_token_id=0, eos_token_id=1, decoder_start_token_id=2),
                {"input_features": torch.linspace(-1, 1, 2 * 8 * 32).view(2, 8, 32), "decoder_input_ids": IDS}),
    "clip": (lambda: hf("CLIPModel", "CLIPConfig", text_config={**TEXT, "max_position_embeddings": 32, "eos_token_id": 1},
                        vision_config=VIT, projection_dim=16), {"input_ids": IDS, "pixel_values": IMAGES}),
    # Images
    "vit-hf": (lambda: hf("ViTForImageClassification", "ViTConfig", **VIT, num_labels=10), IMAGES),
    "dinov2": (lambda: hf("Dinov2Model", "Dinov2Config", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=32,
                          patch_size=8), IMAGES),
    "vit": (lambda: timm("vit_tiny_patch16_224", img_size=32, patch_size=8, **WIDE), IMAGES),
    "deit": (lambda: timm("deit_tiny_distilled_patch16_224", img_size=32, patch_size=8, **WIDE), IMAGES),
    "swin": (lambda: timm("swin_tiny_patch4_window7_224", img_size=32, patch_size=2, window_size=4, embed_dim=16, depths=(2, 2),
                          num_heads=(2, 4)), IMAGES),
    "mixer": (lambda: mixer(), IMAGES),
    "convnext": (lambda: timm("convnext_tiny", depths=(1, 1, 1, 1), dims=(8, 16, 16, 32)), IMAGES),
    "resnet": (lambda: timm("resnet18", channels=(8, 8, 16, 16)), MEDIUM),
    "efficientformer": (lambda: timm("efficientformer_l1", depths=(1, 1, 1, 2), embed_dims=(8, 16, 16, 32)), LARGE),
    "mobilenetv3": (lambda: timm("mobilenetv3_small_050"), MEDIUM),
    "mobilevit": (lambda: timm("mobilevit_xxs"), MEDIUM),
    "pvt": (lambda: timm("pvt_v2_b0", depths=(1, 1, 1, 1)), IMAGES),
    # Modules of torch itself
    "nn-transformer": (lambda: torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 48, batch_first=True), 2).eval(),
                       torch.linspace(-1, 1, 2 * 8 * 32).view(2, 8, 32)),
}
