"""Fetching a named dataset: download it, convert it, and write it into the cache."""

from __future__ import annotations

import tempfile
from pathlib import Path

from crowdcore.core.errors import DataError
from crowdcore.core.places import cache_folder
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.readers.folder import is_dataset_folder
from crowdcore.data.sources._download import Progress, download, remember
from crowdcore.data.sources.base import RemoteFile, Source
from crowdcore.data.writers import write_folder


def fetch_source(
    source: Source, *, url_base: str | None = None, force: bool = False, progress: Progress | None = None
) -> Path:
    """Download and convert a source into the cache; see `crowdcore.data.sources.fetch`."""
    target = cache_folder() / source.name
    if is_dataset_folder(target) and not force:
        return target
    downloads = cache_folder().parent / "downloads" / source.name
    files, digests = {}, {}
    for file in source.files:
        url = file.url if url_base is None else f"{url_base.rstrip('/')}/{file.name}"
        files[file.name] = downloads / file.name
        digests[file.name] = download(url, files[file.name], sha256=file.sha256, progress=progress, limit=file.limit)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="unpacked-", dir=downloads) as work:
            dataset = source.convert(files, Path(work))
            write_folder(dataset, target, readme=_readme(source, dataset, digests), overwrite=True)
    except DataError:
        _delete(files)  # must not be taken for the right files next time
        raise
    for name, digest in digests.items():
        remember(files[name], digest)
    _delete(files)
    return target


def _delete(files: dict[str, Path]) -> None:
    for path in files.values():
        path.unlink()


def _readme(source: Source, dataset: CrowdDataset, digests: dict[str, str]) -> str:
    def line(file: RemoteFile) -> str:
        return f"- {file.url} (SHA-256 `{digests[file.name]}`)"

    return "\n".join(
        [
            f"# {source.title}",
            "",
            f"Paper: {source.paper}. Licence: {source.licence}.",
            "",
            f"{dataset.n_tasks} tasks, {int(dataset.annotated.sum())} of them annotated; {dataset.n_workers} workers, "
            f"{dataset.n_annotations} annotations, {dataset.n_classes} classes.",
            "",
            "Fetched from:",
            "",
            *map(line, source.files),
            "",
        ]
    )
