"""Images and texts of tasks: find, check and show them, and turn images into arrays of one size."""

from __future__ import annotations

import hashlib
import json
import re
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore.core.confined import ConfinedError, run_confined
from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.files import cache_folder, replacing
from crowdcore.core.types import AnyArray
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.data.report import plural
from crowdcore.data.rows import MAX_PIXELS, Rows
from crowdcore.data.times import are_filled

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # that Pillow reads by itself
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
ENDING = f"(?i)(?:{'|'.join(map(re.escape, SUFFIXES))})$"
"""Pattern of the names of image files; `SOUNDS` is that of readable sound files."""
SOUNDS = r"(?i)\.wave?$"
SIDE = 64
"""Default of the most pixels of a side."""
_SIDES = (8, 1024)
_SMALLEST = 16  # pixels that networks for images take
_BYTES = 100 << 20  # of a file
_AT_ONCE = 256  # files for one child process
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")  # plain colours
_NAMED, _FEW = 50, 3  # faults named in a sentence; if no task is left
ADDRESSES = (
    "URLs are not downloaded automatically: put the image files beside the table, or download them with `crowdcore "
    "embed DATASET FOLDER --allow-urls` (allow_urls=True)."
)


def image_names(dataset: Labelled, kind: str = "image") -> pd.Series | None:
    """(n_tasks,) path or address of each task's image (sound, text), missing without one; None if no task has one."""
    columns = dataset.media.columns if dataset.media else None
    if columns is None or kind not in columns:
        return None
    return columns[kind].reindex(range(dataset.n_tasks))


def is_address(name: str) -> bool:
    """Return whether an image lies on a server."""
    return re.match(r"[a-z]+://", name, re.IGNORECASE) is not None


def read_images(
    dataset: CrowdDataset,
    side: int | None = None,
    most: int = SIDE,
    *,
    accept: bool = False,
    allow_urls: bool = False,
    cache: Path | str | None = None,
) -> CrowdDataset:
    """The dataset with the pixels of the image files that its tasks name, (n_tasks, side, side, 3) uint8.

    The middle square of each image is scaled to ``side`` and kept in the cache, from where it is memory-mapped. Files
    are opened in a child process of bounded memory and time.

    Args:
        dataset: tasks with a column ``image``: paths within the folder of the table.
        side, most: pixels; default of side: the shorter side of the first image, between 16 and ``most``.
        accept: leave tasks without a usable image without pixels; ``notes`` of the dataset say which.
        allow_urls: fetch images that are addresses.
        cache: folder for pixels; default next to the downloaded datasets.

    Raises:
        DataError: no image column, or images that are missing, empty, damaged, huge, animated, CMYK or elsewhere, and
            that was not accepted; or none is left.
        SettingError: a side out of bounds.
    """
    names = image_names(dataset)
    if names is None:
        raise DataError(f"{dataset.name} has no images", "Add a column `image` with paths to tasks.* or to the table.")
    if side is not None and not _SIDES[0] <= side <= _SIDES[1]:
        raise SettingError("side", f"be between {_SIDES[0]} and {_SIDES[1]}", side)
    folder = Path(cache) if cache is not None else cache_folder().parent / "images"
    base = (dataset.media.folder if dataset.media else None) or Path()
    files = [file_of(base.resolve(), name, folder, allow_urls) for name in names]
    side = side or _usual_side([path for path, _ in files if path], most)
    file = folder / f"{_key(files, side)}.npy"
    if not file.is_file() or not file.with_suffix(".json").is_file():
        _decode_all(files, side, file)
    reasons: list[str] = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    faulty = {str(dataset.task_ids[i]): reason for i, reason in enumerate(reasons) if reason}
    remedy = "" if allow_urls or not any(is_address(str(name)) for name in names) else ADDRESSES
    note = refuse_unless(accept, faulty, dataset.n_tasks, "image", remedy)
    part_of = np.where([bool(reason) for reason in reasons], -1, 0).astype(np.int8)
    rows = Rows((file,), part_of, np.arange(dataset.n_tasks, dtype=np.int64))
    return replace(dataset, media=replace(dataset.media or Media(), images=rows), notes=(*dataset.notes, *note))


class UnusableError(DataError):
    """Tasks whose image or text cannot be used.

    Args:
        what: how many, one sentence without its full stop.
        faults: faults of the first of them, and the number of others.
        advice: the remedy.
        remedies: settings that help.
    """

    def __init__(self, what: str, faults: Sequence[str], advice: str, remedies: Sequence[Remedy] = ()) -> None:
        self.what, self.faults, self.advice = what, tuple(faults), advice
        super().__init__(f"{what} ({' · '.join(faults)})", advice, remedies=remedies)


def refuse_unless(accept: bool, faulty: dict[str, str], n_tasks: int, noun: str, remedy: str = "") -> tuple[str, ...]:
    """Return a note on what is left out, if anything; refuse where that is not accepted, or nothing is left.

    ``faulty`` maps task ids to faults of the image or text (``noun``); ``remedy`` is further advice.
    """
    if not faulty:
        return ()
    none_left = len(faulty) == n_tasks
    named = list(faulty.items())[: _FEW if none_left else _NAMED]
    faults = [reason if reason.startswith(task) else f"{task!r}: {reason}" for task, reason in named]
    if len(faulty) > len(named):
        faults.append(f"and {len(faulty) - len(named):,} more")
    what = f"{len(faulty):,} of {plural(n_tasks, 'task')} cannot be used for want of a usable {noun}"
    if none_left:
        raise UnusableError(what, faults, f"No task is left. {remedy}".rstrip())
    if not accept:
        leave_out = Remedy.accept("leave these tasks out", when="they cannot be corrected")
        raise UnusableError(what, faults, remedy, [leave_out])
    return (f"Left out: {what} ({' · '.join(faults)}).",)


def image_faults(dataset: Labelled, seconds: float = 10.0) -> tuple[dict[str, str], int]:
    """Faults of the images that tasks name, each opened as training does; and the number of those not opened.

    After some ``seconds`` no further files are opened, but missing ones are still noticed.
    """
    names = image_names(dataset)
    if names is None:
        return {}, 0
    base = ((dataset.media.folder if dataset.media else None) or Path()).resolve()
    files = [file_of(base, name) for name in names]
    reasons = {path: "" for path, _ in files if path}
    there, end, opened = list(reasons), time.monotonic() + seconds, 0
    while opened < len(there) and time.monotonic() < end:
        some = there[opened : opened + _AT_ONCE // 8]
        reasons.update(zip(some, confined(decode_files, some, _SIDES[0])[1], strict=True))
        opened += len(some)
    each = (fault or reasons[path] for path, fault in files)
    return {str(task): fault for task, fault in zip(dataset.task_ids, each, strict=True) if fault}, len(there) - opened


def file_of(base: Path, name: object, cache: Path = Path(), allow_urls: bool = False) -> tuple[str, str]:
    """Path of an image or a sound, or the reason why there is none; the other is empty."""
    if not isinstance(name, str) or not name.strip():
        return "", "none is named"
    if is_address(name):
        if allow_urls and name.lower().startswith(("http://", "https://")):
            return _fetched(name, cache / "fetched")
        return "", f"{name} is a URL, which is not downloaded"
    try:
        file = (base / name).resolve()
        if not file.is_relative_to(base):
            return "", f"{name} is outside the folder"
        if not file.is_file():
            return "", f"{name} is missing"
    except (OSError, ValueError):  # no path at all, such as a picture's own bytes as text
        return "", "the name is not a path"
    return str(file), ""


def _fetched(address: str, folder: Path) -> tuple[str, str]:
    from crowdcore.data.sources._download import DownloadError, download

    file = folder / hashlib.blake2b(address.encode(), digest_size=12).hexdigest()
    try:
        if not file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            download(address, file, limit=_BYTES)
    except (DownloadError, ValueError) as error:
        return "", str(error)
    return str(file), ""


def _key(files: list[tuple[str, str]], side: int) -> str:
    """Key of a cache entry, made of the files' paths, sizes and times."""
    digest = hashlib.blake2b(str(side).encode(), digest_size=12)
    for path, fault in files:
        stat = Path(path).stat() if path else None
        digest.update(f"\x1f{path}\x1f{fault}\x1f{stat and (stat.st_size, stat.st_mtime_ns)}".encode())
    return digest.hexdigest()


def _decode_all(files: list[tuple[str, str]], side: int, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    reasons = [fault for _, fault in files]
    there = [i for i, (path, _) in enumerate(files) if path]
    with replacing(target) as draft:
        pixels = np.lib.format.open_memmap(draft, "w+", np.uint8, (len(files), side, side, 3))
        for first in range(0, len(there), _AT_ONCE):
            some = there[first : first + _AT_ONCE]
            pixels[some], faults = confined(decode_files, [files[i][0] for i in some], side)
            for i, reason in zip(some, faults, strict=True):
                reasons[i] = reason
        pixels.flush()
        target.with_suffix(".json").write_text(json.dumps(reasons), encoding="utf-8")


def confined(work: Callable[..., tuple[AnyArray, list[str]]], files: list[str], *more: Any) -> Any:
    """Rows (n, …) and faults that ``work`` makes of files; a file that crashes the child process is found."""
    try:
        return run_confined(work, files, *more)
    except ConfinedError as error:
        if len(files) == 1:
            rows, _ = work([], *more)
            return np.zeros((1, *rows.shape[1:]), rows.dtype), [f"{Path(files[0]).name}: {error}"]
    alone = [confined(work, [file], *more) for file in files]
    return np.concatenate([rows for rows, _ in alone]), [reason for _, faults in alone for reason in faults]


def _usual_side(files: list[str], most: int) -> int:
    return min(max(next((n for file in files if (n := run_confined(shorter_side, file))), most), _SMALLEST), most)


def shorter_side(file: str) -> int:
    """Pixels of the shorter side, from an image's header; 0 if it is no image."""
    from PIL import Image

    try:
        with Image.open(file, formats=FORMATS) as image:
            return min(image.size)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0


def decode_files(files: Sequence[str], side: int) -> tuple[AnyArray, list[str]]:
    """(n, side, side, 3) uint8 pixels of image files, and the fault of each ("" if none)."""
    pixels, reasons = np.zeros((len(files), side, side, 3), np.uint8), []
    for i, file in enumerate(files):
        image = square(Path(file), side)
        if not isinstance(image, str):
            pixels[i] = image
        reasons.append(image if isinstance(image, str) else "")
    return pixels, reasons


def square(file: Path, side: int) -> AnyArray | str:
    """(side, side, 3) uint8, the scaled middle square of an image; or the fault of the file."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    size = file.stat().st_size
    if not size:
        return f"{file.name} is empty (zero bytes)"
    if size > _BYTES:
        return f"{file.name} has {size >> 20:,} MiB; at most {_BYTES >> 20} MiB are opened"
    try:
        with Image.open(file, formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                return f"{file.name} has {image.width:,} × {image.height:,} pixels; at most {MAX_PIXELS:,} are decoded"
            if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
                return f"{file.name} is animated, or has several pages"
            if image.mode not in _MODES:
                return f"{file.name} has the colours {image.mode}, not RGB or grey"
            image.draft("RGB", (side, side))
            upright = ImageOps.exif_transpose(image).convert("RGB")
            return np.asarray(ImageOps.fit(upright, (side, side), Image.Resampling.BILINEAR))
    except Image.DecompressionBombError:
        return f"{file.name} has too many pixels; at most {MAX_PIXELS:,} are decoded"
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, zlib.error) as error:
        reason = (
            "it is not an image" if isinstance(error, UnidentifiedImageError) else " ".join(str(error).split())[:100]
        )
        return f"{file.name} cannot be decoded: {reason}"


def given_texts(
    dataset: CrowdDataset | RatingDataset, remedy: str = "Add a column `text` to tasks.*."
) -> pd.Series[Any]:
    """(n_tasks,) texts of the tasks, missing for tasks without one; refused if no task has one."""
    texts = _texts(dataset)
    if texts is None:
        raise DataError(f"{dataset.name} has no texts", remedy)
    return texts


def blank_texts(dataset: Labelled) -> dict[str, str]:
    """Task id -> fault of its text; empty where no task has a text."""
    texts = _texts(dataset)
    if texts is None:
        return {}
    return {str(task): "the text is empty" for task in dataset.task_ids[~are_filled(texts)]}


_texts = partial(image_names, kind="text")


def usable_texts(dataset: CrowdDataset, accept: bool = False) -> CrowdDataset:
    """The dataset with blank texts as missing, as its ``notes`` say.

    Refused if there are some and that is not accepted, or no text is left.
    """
    texts = given_texts(dataset, "Add a column `text` to tasks.* or to the table.")
    faulty = blank_texts(dataset)
    if not faulty:
        return dataset
    note = refuse_unless(accept, faulty, dataset.n_tasks, "text")
    assert dataset.media is not None and dataset.media.columns is not None
    columns = dataset.media.columns.reindex(range(dataset.n_tasks)).assign(text=texts.where(are_filled(texts), None))
    return replace(dataset, media=replace(dataset.media, columns=columns), notes=(*dataset.notes, *note))


_CHARACTERS = 200_000  # of a text; longer ones are cut


@dataclass(frozen=True)
class Item:
    """A task's picture, text, sound file and the address of a picture elsewhere; None or empty without one."""

    image: Image | None = None
    text: str = ""
    audio: str | None = None
    link: str | None = None


def has_media(dataset: Labelled) -> bool:
    """Return whether any task has an image, a text or a sound."""
    return dataset.media is not None and (dataset.media.images is not None or dataset.media.columns is not None)


def item_of(dataset: Labelled, task: int, side: int) -> Item:
    """The media of task number ``task``, pictures scaled to about ``side`` pixels."""
    if (media := dataset.media) is None:
        return Item()
    columns = {} if media.columns is None else media.columns.iloc[task].dropna().to_dict()
    image = _stored(media, task, side) or _decode_image(_inside(media, columns.get("image")), side)
    audio = _inside(media, columns.get("audio"))
    text, there = str(columns.get("text", ""))[:_CHARACTERS], str(columns.get("image", ""))
    link = there if re.match(r"https?://[^\s/]", there) else None
    return Item(image and _scaled(image, side), text, str(audio) if audio else None, link)


def _stored(media: Media, task: int, side: int) -> Image | None:
    from PIL import Image

    if media.images is None or not media.images.present[task]:
        return None
    if (encoded := media.images.encoded(task)) is not None:
        return _decode_image(encoded, side)
    return Image.fromarray(media.images[np.array([task])][0])


def _decode_image(file: Path | bytes | None, side: int) -> Image | None:
    """The picture in a file, decoded in a process of bounded memory and time; None if it cannot be shown."""
    if file is None:
        return None
    try:
        return run_confined(decoded, file, side)
    except ConfinedError:
        return None


def decoded(file: Path | bytes, side: int) -> Image | None:
    """A picture, scaled to about ``side`` pixels; None if it is too large or cannot be decoded."""
    from PIL import Image

    try:
        picture = Image.open(BytesIO(file) if isinstance(file, bytes) else file, formats=FORMATS)
        if picture.width * picture.height > MAX_PIXELS:
            return None
        return _scaled(picture.convert("RGB"), side)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _inside(media: Media, path: object) -> Path | None:
    """The file at a relative path inside the dataset's folder, else None."""
    file = "" if media.folder is None else file_of(media.folder.resolve(), path)[0]
    return Path(file) if file and Path(file).stat().st_size <= _BYTES else None


def _scaled(image: Image, side: int) -> Image:
    """Scale small pictures up by whole factors with sharp pixels, and large ones down."""
    longest = max(image.size)
    if longest < side:
        factor = side // longest
        return image.resize((image.width * factor, image.height * factor), 0)
    image.thumbnail((side, side))
    return image
