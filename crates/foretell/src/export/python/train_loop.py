"""The loop: AdamW, a linear warm-up, a cosine down to a tenth, gradients cut to norm 1."""
import argparse
import math
import os
import shutil
import time
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments(**recipe):
    """The recipe, any part of which may be changed on the command line."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", help="what to train on; see the beginning of this file")
    parser.add_argument("--out", default=os.path.join(HERE, "trained.pt"), help="where the weights go")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    for name, value in recipe.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    return parser.parse_args()


def rate(step, args):
    """Learning rate of a step, relative to the highest."""
    warmup = min(args.warmup, max(1, args.steps // 10))
    if step < warmup:
        return (step + 1) / warmup
    done = (step - warmup) / max(1, args.steps - warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))


def train(model, args, batch, loss_of):
    """`batch()` draws what `loss_of(model, *batch)` takes."""
    model.to(args.device).train()
    # Matrices are pulled to zero; gains, biases and single vectors are not.
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, args.beta2))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(step, args))
    begun, total, count = time.time(), 0.0, 0
    for step in range(1, args.steps + 1):
        loss = loss_of(model, *(part.to(args.device) for part in batch()))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        total, count = total + loss.item(), count + 1
        if step % args.report == 0 or step == args.steps:
            print(f"step {step} loss {total / count:.4f} {(time.time() - begun) / step:.3f} s a step", flush=True)
            total, count = 0.0, 0
    if hasattr(model, "save_pretrained"):
        folder = os.path.splitext(args.out)[0]
        model.save_pretrained(folder)
        shutil.copy(os.path.join(HERE, "architecture.json"), folder)
        print("saved to", folder)
    else:
        torch.save(model.state_dict(), args.out)
        print("saved to", args.out)
