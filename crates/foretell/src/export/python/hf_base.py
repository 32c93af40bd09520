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
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0, 0.02)
            elif name == "weight":
                nn.init.ones_(parameter)
            else:
                nn.init.zeros_(parameter)
