"""Images."""
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput, ImageClassifierOutput


class FamilyModel(FamilyPreTrainedModel):
    """Features of the tokens."""

    main_input_name = "pixel_values"

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.post_init()

    def forward(self, pixel_values, **_):
        return BaseModelOutput(last_hidden_state=self.network(pixel_values)[0])


class FamilyForImageClassification(FamilyModel):
    """A score for each class."""

    def forward(self, pixel_values, labels=None, **_):
        logits = self.network(pixel_values)[1]
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return ImageClassifierOutput(loss=loss, logits=logits)
