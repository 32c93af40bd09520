"""The network behind the interface of transformers."""
import torch
from torch import nn
from transformers import PreTrainedModel
from .configuration_foretell_family import FamilyConfig


class FamilyPreTrainedModel(PreTrainedModel):
    config_class = FamilyConfig
    base_model_prefix = "network"

    def _init_weights(self, module):
        """New heads; all of it only where model.safetensors was left out."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(0.0, 0.02)
            if getattr(module, "bias", None) is not None:
                module.bias.data.zero_()
        elif isinstance(module, nn.LayerNorm):
            module.weight.data.fill_(1.0)
            module.bias.data.zero_()
        else:
            for parameter in module.parameters(recurse=False):
                if parameter.dim() > 1:
                    parameter.data.normal_(0.0, 0.02)
