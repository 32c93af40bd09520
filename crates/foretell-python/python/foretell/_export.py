"""Exported networks as torch modules of this process."""

from __future__ import annotations

import os
import sys
import tempfile
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from foretell._native import Architecture


def to_torch(architecture: Architecture, seed: int, weights: bool) -> Any:
    """The module of an export, built from its code, with its weights; or what the function of its space builds."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError("torch is needed for to_torch: pip install 'foretell[torch]'") from error
    if "choices" in architecture.to_dict():
        from foretell.torch._space import known

        return known(architecture.space).build(architecture, seed=seed)
    files = architecture._files("pytorch", seed, weights)
    name = f"foretell_exported_{architecture.id}"
    module = types.ModuleType(name)
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            with open(os.path.join(folder, file), "wb") as out:
                out.write(content)
        # The code looks for weights beside itself.
        module.__file__ = os.path.join(folder, "model.py")
        sys.modules[name] = module
        exec(compile(files["model.py"], f"{name}.py", "exec"), module.__dict__)
        return module.__dict__["initial"]()
