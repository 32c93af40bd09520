"""Text, both directions."""
from transformers.modeling_outputs import BaseModelOutputWithPooling, MaskedLMOutput, SequenceClassifierOutput


class FamilyModel(FamilyPreTrainedModel):
    """Features of the tokens."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.post_init()

    def get_input_embeddings(self):
        return self.network.embeddings.word_embeddings

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, **_):
        features, pooled = self.network(input_ids, token_type_ids, attention_mask)
        return BaseModelOutputWithPooling(last_hidden_state=features, pooler_output=pooled)


class FamilyForMaskedLM(FamilyPreTrainedModel):
    """Scores of all words at every token; labels are -100 where nothing was masked."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.cls = MaskedHead(config.sizes())
        self.post_init()

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None, **_):
        features = self.network(input_ids, token_type_ids, attention_mask)[0]
        logits = self.cls(features, self.network.embeddings.word_embeddings.weight)
        loss = None if labels is None else F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return MaskedLMOutput(loss=loss, logits=logits)


class FamilyForSequenceClassification(FamilyPreTrainedModel):
    """A score for each class, from the pooled first token."""

    def __init__(self, config):
        super().__init__(config)
        self.network = Network(config.sizes())
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None, **_):
        pooled = self.network(input_ids, token_type_ids, attention_mask)[1]
        logits = self.classifier(self.dropout(pooled))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
