"""What texts are read from, and how."""
import json
import torch


def tokens(args, vocabulary):
    """Ids of a text: by a tokenizer of the hub if one is named, else its bytes, which any vocabulary of 256 words holds."""
    if args.data is None:
        raise SystemExit("name a text: python train.py --data text.txt")
    with open(args.data, "rb") as file:
        text = file.read()
    if args.tokenizer:
        from transformers import AutoTokenizer

        ids = torch.tensor(AutoTokenizer.from_pretrained(args.tokenizer)(text.decode())["input_ids"])
    else:
        ids = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    if int(ids.max()) >= vocabulary:
        raise SystemExit(f"id {int(ids.max())} is beyond the vocabulary of {vocabulary}: name another tokenizer")
    return ids


def windows(ids, args, length, generator):
    """Random pieces of the text, one a row."""
    length = min(length, len(ids) - 1)
    starts = torch.randint(len(ids) - length, (args.batch,), generator=generator)
    return torch.stack([ids[start : start + length] for start in starts])
