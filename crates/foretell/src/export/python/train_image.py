"""Trains the network on images in one folder per class: python train.py --data FOLDER (needs torchvision)

Without --data it sees made-up images of few classes, which only shows that everything runs.
"""
import torch
from torch.nn import functional as F


def folder(args, generator):
    """Batches of a folder of images: cropped, mirrored, normalised as usual."""
    from torchvision import datasets, transforms

    change = transforms.Compose([
        transforms.RandomResizedCrop(IMAGE), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])
    images = datasets.ImageFolder(args.data, change)
    if len(images.classes) > CLASSES:
        raise SystemExit(f"{len(images.classes)} classes, but the network tells {CLASSES}")
    loader = torch.utils.data.DataLoader(
        images, args.batch, shuffle=True, num_workers=args.workers, drop_last=True, generator=generator
    )
    while True:
        yield from loader


def made_up(args, generator):
    """Noise around one pattern per class."""
    classes = min(4, CLASSES)
    patterns = torch.randn(classes, CHANNELS, IMAGE, IMAGE, generator=generator)
    while True:
        labels = torch.randint(classes, (args.batch,), generator=generator)
        noise = torch.randn(args.batch, CHANNELS, IMAGE, IMAGE, generator=generator)
        yield patterns[labels] + noise, labels


def mistakes(model, images, labels):
    return F.cross_entropy(scores(model(images)), labels, label_smoothing=0.1)


def main():
    # DeiT's recipe, as AutoFormer retrains: 5e-4 for every 512 images of a batch; 300 epochs of ImageNet are 750,000 steps
    # of 512. Mixing of images and repeated augmentation are left out.
    args = arguments(
        steps=10000, batch=128, lr=1.25e-4, beta2=0.999, weight_decay=0.05, warmup=500, workers=2, report=10
    )
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    batches = folder(args, generator) if args.data else made_up(args, generator)
    train(load(), args, lambda: next(batches), mistakes)


if __name__ == "__main__":
    main()
