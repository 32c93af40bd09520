"""Trains the network to restore masked words of a text: python train.py --data text.txt"""
import torch
from torch.nn import functional as F


def masked(ids, args, generator):
    """15 % of the words are to be restored: of these 80 % are masked, 10 % replaced, 10 % left."""
    chance, kind = (torch.rand(ids.shape, generator=generator) for _ in range(2))
    chosen = chance < 0.15
    labels = ids.masked_fill(~chosen, -100)
    other = torch.randint(VOCABULARY, ids.shape, generator=generator)
    ids = torch.where(chosen & (kind < 0.8), args.mask, torch.where(chosen & (kind > 0.9), other, ids))
    return ids, labels


def restored(model, ids, labels):
    return F.cross_entropy(scores(model(ids)).flatten(0, 1), labels.flatten())


def main():
    # BERT's own recipe at a batch for one device; `mask` is the id of the masking word, 103 in BERT's vocabulary.
    args = arguments(
        steps=10000, batch=32, lr=1e-4, beta2=0.999, weight_decay=0.01, warmup=1000, length=min(128, CONTEXT),
        tokenizer="", mask=min(103, VOCABULARY - 1), report=10,
    )
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    ids = tokens(args, VOCABULARY)
    train(load(), args, lambda: masked(windows(ids, args, args.length, generator), args, generator), restored)


if __name__ == "__main__":
    main()
