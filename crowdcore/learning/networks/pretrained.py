"""Pretrained networks: which are here, and features of images from one, kept on disk. Torch is loaded when needed."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

import numpy as np

from crowdcore.core.errors import CrowdError, DataError, need_extra
from crowdcore.core.files import cache_folder
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

VGG16 = "vgg16-397923af.pth"
_SIZE, _MEAN, _SCALE = 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_HASHED = 1000  # images that go into the cache's key


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


def vgg16_features(
    dataset: CrowdDataset, *, cache: Path | str | None = None, device: str = "auto", batch_size: int = 64
) -> CrowdDataset:
    """The dataset with the average of VGG-16's last convolutions as features, (n_tasks, 512) float32.

    Images are enlarged to 224×224 and standardised as in training on ImageNet. The features are computed once and
    memory-mapped from the cache afterwards.

    Args:
        dataset: tasks with images.
        cache: folder for features; default next to the downloaded datasets.
        device: "auto", "cpu", "cuda".
        batch_size: images per pass.

    Raises:
        DataError: no images.
        MissingExtraError: torchvision is not installed.
        CrowdError: the weights are not here and cannot be fetched.
    """
    from crowdcore.learning.training.device import resolve_device

    images = dataset.media.images if dataset.media else None
    if images is None:
        raise DataError(f"{dataset.name} has no images", "Pretrained features can be computed for images only.")
    present = np.flatnonzero(images.present)
    folder = Path(cache) if cache is not None else cache_folder().parent / "features"
    file = folder / f"{dataset.name}-vgg16-{_key(dataset, images)}.npy"
    if not file.is_file():
        _compute(images, present, file, resolve_device(device), batch_size)
    row_of = np.zeros(dataset.n_tasks, np.int64)
    row_of[present] = np.arange(len(present))
    part_of = np.where(images.present, 0, -1).astype(np.int8)
    return replace(dataset, features=Rows((file,), part_of, row_of))


def _key(dataset: CrowdDataset, images: Rows) -> str:
    """Depends on the tasks and on an even sample of their images."""
    digest = hashlib.blake2b("\x1f".join(map(str, dataset.task_ids)).encode(), digest_size=8)
    present = np.flatnonzero(images.present)
    digest.update(np.ascontiguousarray(images[present[:: max(1, len(present) // _HASHED)]]).data)
    return digest.hexdigest()


def _compute(images: Rows, present: np.ndarray, file: Path, device: torch.device, batch_size: int) -> None:
    import torch

    network = _convolutions().to(device).eval()
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(f".{os.getpid()}.tmp")
    parts = []
    with torch.no_grad():
        for start in range(0, len(present), batch_size):
            rows = torch.from_numpy(np.ascontiguousarray(images[present[start : start + batch_size]])).to(device)
            parts.append(network(_as_imagenet(rows)).mean((-2, -1)).cpu().numpy())
    with temporary.open("wb") as out:
        np.save(out, np.concatenate(parts))
    temporary.replace(file)


def _as_imagenet(rows: Tensor) -> Tensor:
    """(B, H, W) or (B, H, W, channels) of bytes, or of floats in 0…1 -> (B, 3, 224, 224)."""
    import torch
    from torch.nn import functional

    x = rows.float() / (255 if rows.dtype == torch.uint8 else 1)
    x = x.unsqueeze(-1) if x.dim() == 3 else x
    x = x.movedim(-1, 1).expand(-1, 3, -1, -1)
    x = functional.interpolate(x, (_SIZE, _SIZE), mode="bilinear", align_corners=False)
    mean, scale = (torch.tensor(v, device=x.device).view(1, 3, 1, 1) for v in (_MEAN, _SCALE))
    return (x - mean) / scale


def _convolutions() -> nn.Module:
    """VGG-16's convolutions with ImageNet weights."""
    try:
        from torchvision.models import VGG16_Weights, vgg16
    except ModuleNotFoundError as error:
        raise need_extra("Pretrained features", "torchvision") from error
    weights = VGG16_Weights.IMAGENET1K_V1
    place = weights_file()
    try:
        network: nn.Module = vgg16(weights=weights).features
    except (URLError, OSError) as error:
        raise CrowdError(
            f"The pretrained weights could not be fetched from {weights.url}: {error}. Put that file at {place}, or "
            "train a backbone on the images themselves."
        ) from error
    return network
