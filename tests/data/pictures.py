"""Small picture files, good and bad."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from testkit import bombs


def write_pictures(folder: Path, classes: list[int], side: int = 16) -> list[str]:
    """A noisy PNG for each class number, its left part the brighter the higher the class; returns their names."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"p{i:03d}.png" for i in range(len(classes))]
    for name, code in zip(names, classes, strict=True):
        pixels = rng.integers(0, 60, (side, side, 3), dtype=np.uint8)
        pixels[:, : side // 2, code % 3] += 120
        Image.fromarray(pixels).save(folder / name)
    return names


def write_bad_pictures(folder: Path) -> dict[str, str]:
    """Name -> the fault that must be reported."""
    good = Image.new("RGB", (20, 20), "red")
    good.save(folder / "whole.png")
    (folder / "zero.png").write_bytes(b"")
    (folder / "cut.png").write_bytes((folder / "whole.png").read_bytes()[:60])
    (folder / "text.png").write_text("no picture")
    (folder / "bomb.png").write_bytes(bombs.png(40_000, 40_000))
    good.convert("CMYK").save(folder / "print.jpg")
    good.save(folder / "moves.gif", save_all=True, append_images=[Image.new("RGB", (20, 20), "blue")])
    return {
        "zero.png": "zero bytes",
        "cut.png": "cannot be decoded",
        "text.png": "it is not an image",
        "bomb.png": "pixels",
        "print.jpg": "colours CMYK",
        "moves.gif": "animated",
        "gone.png": "is missing",
        "../whole.png": "is outside the folder",
        "https://example.org/a.png": "is a URL",
    }
