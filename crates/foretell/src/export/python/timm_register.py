"""The network as a model of timm."""
import os
from timm.models import register_model
from torch import nn


class FamilyTimm(Network):
    """What timm expects of a model, over the network as it is."""

    def __init__(self, sizes):
        super().__init__(sizes)
        self.num_classes = sizes["num_labels"]
        self.num_features = self.head_hidden_size = self.head.in_features
        size = sizes["num_channels"], sizes["image_size"], sizes["image_size"]
        self.default_cfg = self.pretrained_cfg = {"input_size": size, "num_classes": self.num_classes}

    def forward(self, x):
        return super().forward(x)[1]

    def forward_features(self, x):
        return super().forward(x)[0]

    def get_classifier(self):
        return self.head

    def reset_classifier(self, num_classes, global_pool=None):
        self.num_classes = num_classes
        self.head = nn.Linear(self.num_features, num_classes) if num_classes > 0 else nn.Identity()


@register_model
def foretell_family(pretrained=False, pretrained_cfg=None, pretrained_cfg_overlay=None, cache_dir=None, **changes):
    """timm.create_model("foretell_family"); pretrained=True: the weights it was scored with."""
    names = {"num_classes": "num_labels", "in_chans": "num_channels", "drop_path_rate": "drop_path_rate"}
    given = {names[key]: value for key, value in changes.items() if value is not None}
    network = FamilyTimm({**SIZES, **given})
    if pretrained:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.safetensors")
        network.load_state_dict(dict(weights(path)))
    return network
