"""The network through transformers."""
import os
from transformers import AutoModel


def load():
    return AutoModel.from_pretrained(HERE, trust_remote_code=True)


def scores(output):
    return output.logits
