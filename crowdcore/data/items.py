"""Task media, ready to be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crowdcore.data.arrays import MAX_PIXELS
from crowdcore.data.dataset import Media
from crowdcore.data.images import FORMATS
from crowdcore.data.ratings import Labelled

if TYPE_CHECKING:
    from PIL.Image import Image

_CHARACTERS = 200_000  # of a text; what is longer is cut
_BYTES = 100 << 20  # a larger file is not opened


@dataclass(frozen=True)
class Item:
    """A task's picture, text, sound file and the address of a picture elsewhere; None or empty: it has none."""

    image: Image | None = None
    text: str = ""
    audio: str | None = None
    link: str | None = None


def has_media(dataset: Labelled) -> bool:
    """Whether any task has something to look at, read or hear."""
    return dataset.media is not None and (dataset.media.images is not None or dataset.media.columns is not None)


def item_of(dataset: Labelled, task: int, side: int) -> Item:
    """The media of task number ``task``, pictures scaled to about ``side`` pixels."""
    if (media := dataset.media) is None:
        return Item()
    columns = {} if media.columns is None else media.columns.iloc[task].dropna().to_dict()
    image = _stored(media, task) or _opened(media, columns.get("image"))
    audio = _inside(media, columns.get("audio"))
    text, there = str(columns.get("text", ""))[:_CHARACTERS], str(columns.get("image", ""))
    link = there if re.match(r"https?://[^\s/]", there) else None
    return Item(image and _scaled(image, side), text, str(audio) if audio else None, link)


def _stored(media: Media, task: int) -> Image | None:
    from PIL import Image

    if media.images is None or not media.images.present[task]:
        return None
    return Image.fromarray(media.images[np.array([task])][0])


def _opened(media: Media, path: object) -> Image | None:
    from PIL import Image

    file = _inside(media, path)
    if file is None:
        return None
    try:
        picture = Image.open(file, formats=FORMATS)
        if picture.width * picture.height > MAX_PIXELS:
            return None
        return picture.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _inside(media: Media, path: object) -> Path | None:
    """The file of that relative path if it is one of the dataset's own."""
    if media.folder is None or not isinstance(path, str) or not path:
        return None
    try:
        file = (media.folder / path).resolve()
        own = file.is_relative_to(media.folder.resolve()) and file.is_file() and file.stat().st_size <= _BYTES
    except (OSError, ValueError):  # no path at all, such as a picture's own bytes as text
        return None
    return file if own else None


def _scaled(image: Image, side: int) -> Image:
    """Small pictures by whole factors with their pixels kept sharp, large ones down."""
    longest = max(image.size)
    if longest < side:
        factor = side // longest
        return image.resize((image.width * factor, image.height * factor), 0)
    image.thumbnail((side, side))
    return image
