"""Trains the network to foretell the next word of a text: python train.py --data text.txt"""
import torch
from torch.nn import functional as F


def next_word(model, ids):
    logits = scores(model(ids))
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def main():
    # The recipe of nanoGPT for small models; more steps for more text.
    args = arguments(
        steps=5000, batch=32, lr=6e-4, beta2=0.95, weight_decay=0.1, warmup=100, length=CONTEXT, tokenizer="", report=10
    )
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    ids = tokens(args, VOCABULARY)
    train(load(), args, lambda: [windows(ids, args, args.length, generator)], next_word)


if __name__ == "__main__":
    main()
