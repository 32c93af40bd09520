"""Text, word after word."""
from torch.nn import functional as F
from transformers import GenerationMixin
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput, SequenceClassifierOutput


class FamilyModel(FamilyPreTrainedModel):
    """Features of the tokens."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.post_init()

    def forward(self, input_ids, **_):
        return BaseModelOutput(last_hidden_state=self.network(input_ids)[0])


class FamilyForCausalLM(FamilyPreTrainedModel, GenerationMixin):
    """Scores of the word after each; labels are the words themselves, as everywhere in transformers."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.post_init()

    def prepare_inputs_for_generation(self, input_ids, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, labels=None, **_):
        logits = self.network(input_ids)[1]
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)


class FamilyForSequenceClassification(FamilyPreTrainedModel):
    """A score for each class, from the last token that the mask leaves."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.score = nn.Linear(config.feature_size, config.num_labels, bias=False)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, labels=None, **_):
        features = self.network(input_ids)[0]
        place = torch.full_like(input_ids[:, 0], input_ids.shape[1] - 1)
        if attention_mask is not None:
            at = torch.arange(input_ids.shape[1], device=input_ids.device)
            place = (attention_mask * at).argmax(1)
        logits = self.score(features[torch.arange(len(place), device=place.device), place])
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
