"""Sizes of a network, as config.json has them."""
from transformers import PretrainedConfig

# What may differ from layer to layer: given once, and where it differs in `per_layer_config`.
PER_LAYER = []


class FamilyConfig(PretrainedConfig):
    model_type = "foretell_family"

    def sizes(self):
        """Plain numbers for the network, a dictionary per layer under "layers"."""
        sizes = {key: value for key, value in self.__dict__.items() if key not in PER_LAYER}
        sizes["num_labels"] = self.num_labels
        if PER_LAYER:
            sizes["layers"] = [self.layer(i) for i in range(self.num_hidden_layers)]
        return sizes

    def layer(self, index):
        # Older transformers keep the dictionary as it was read, newer ones give a whole configuration per layer.
        layers = getattr(self, "per_layer_config", None) or {}
        if not isinstance(layers, dict):
            return {key: getattr(layers[index], key) for key in PER_LAYER}
        special = layers.get(str(index), layers.get(index, {}))
        return {key: special[key] if key in special else getattr(self, key) for key in PER_LAYER}
