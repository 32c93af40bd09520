"""The network on its own."""
import json
import os
import struct
import torch


def weights(path):
    """The tensors of a safetensors file of 32-bit numbers."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    kinds = {"F32": torch.float32, "I64": torch.int64}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensor = torch.frombuffer(bytearray(data[start:end]), dtype=kinds[entry["dtype"]])
            yield name, tensor.reshape(entry["shape"])


WEIGHTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.safetensors")


def load(path=WEIGHTS):
    """The network with the weights it was scored with."""
    network = Network(SIZES)
    network.load_state_dict(dict(weights(path)))
    return network


def initial():
    """The network with the weights it was scored with, or as torch draws them if it was exported without."""
    return load() if os.path.exists(WEIGHTS) else Network(SIZES)
