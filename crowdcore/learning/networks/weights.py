"""Which pretrained weights are here, found without loading torch."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

VGG16 = "vgg16-397923af.pth"


def weights_file(name: str = VGG16) -> Path:
    """Where torchvision keeps weights of that name, there or not: below ``TORCH_HOME``, else in the user's cache."""
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "torch"
    return Path(home).expanduser() / "hub" / "checkpoints" / name


def sentence_models() -> list[str]:
    """Models of sentence-transformers in Hugging Face's cache, by name; none without the library.

    The cache is at ``HF_HUB_CACHE``, else below ``HF_HOME`` or the user's cache, as `huggingface_hub` has it.
    """
    library = "sentence_transformers"
    if sys.modules.get(library, ...) is None or (library not in sys.modules and find_spec(library) is None):
        return []
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    folders = {file.parents[2].name for file in hub.glob("models--*/snapshots/*/modules.json")}
    return sorted(name.removeprefix("models--").replace("--", "/", 1) for name in folders)
