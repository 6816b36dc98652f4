"""Download one file: resumable, limited in size, checked by its SHA-256."""

from __future__ import annotations

import http.client
import json
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import cache_folder, file_sha256
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.readers.folder import is_dataset_folder
from crowdcore.data.sources.base import Source
from crowdcore.data.unpack import leads_outside
from crowdcore.data.writers import write_folder

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes here so far and all of them (None = the server does not say)."""

_CHUNK, _UNPACKED = 1 << 18, 1 << 32  # bytes read at once; most bytes in an archive
_AGENT = "Mozilla/5.0 (compatible; crowdcore)"  # some hosts refuse urllib's default


class DownloadError(CrowdError):
    """A file could not be fetched; the message says what to do."""


class _BrokenOffError(Exception):
    """The connection ended before the file was complete; another attempt continues from there."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress | None = None,
    limit: int = 1 << 31,
    attempts: int = 3,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> str:
    """Fetch ``url`` into ``target``, continuing from ``target.part`` of an interrupted call; returns its SHA-256.

    The digest must be ``sha256``, or by default the one that `remember` recorded. The file has at most ``limit``
    bytes. Each of the ``attempts`` continues the one before, after ``pause`` seconds, doubled each time; a connection
    counts as broken after ``timeout`` seconds without a byte.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"{url} is not an http or https address.")
    target.parent.mkdir(parents=True, exist_ok=True)
    record = _record(target)
    part = _add_suffix(target, ".part")
    if not target.is_file():
        for attempt in range(attempts):
            try:
                _attempt(url, target.name, part, progress, limit, timeout)
                break
            except _BrokenOffError as error:
                if attempt + 1 == attempts:
                    kept = part.stat().st_size if part.is_file() else 0
                    raise DownloadError(
                        f"{url} could not be fetched completely: {error}. {kept} bytes are kept; run the same command "
                        "to resume."
                    ) from error
                time.sleep(pause * 2**attempt)
        part.replace(target)
        _add_suffix(part, ".json").unlink(missing_ok=True)
    digest = file_sha256(target)
    expected = sha256 or (record.read_text().strip() if record.is_file() else None)
    if expected is not None and digest != expected:
        target.unlink()
        known = "pinned" if sha256 else f"recorded in {record} when it was first fetched"
        raise DownloadError(
            f"{url} has the SHA-256 {digest}, but {expected} is {known}: the file was damaged on its way or has "
            "changed. It was deleted; fetch it again" + ("." if sha256 else ", or delete the record to accept it.")
        )
    return digest


def remember(target: Path, sha256: str) -> None:
    """Record the SHA-256 of a good file for the next download; the record stays when the file is deleted."""
    _record(target).write_text(f"{sha256}\n")


def _record(target: Path) -> Path:
    return _add_suffix(target, ".sha256")


def _add_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _attempt(url: str, name: str, part: Path, progress: Progress | None, limit: int, timeout: float) -> None:
    """One connection: append the missing bytes to ``part``, or restart if the server demands it."""
    here, validator = _begun(part, url)
    headers = {"User-Agent": _AGENT, "Accept-Encoding": "identity"}
    if here:
        headers["Range"] = f"bytes={here}-"
    if here and validator:
        headers["If-Range"] = validator
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {here}-")
            if answer.status == 206 and not resumed:
                part.unlink()
                raise _BrokenOffError("the server went on from another place than asked for")
            begin = here if resumed else 0
            length = answer.headers.get("Content-Length")
            total = begin + int(length) if length is not None and length.isdigit() else None
            if (total or 0) > limit:
                raise DownloadError(f"{url} has {total} bytes, more than the {limit} allowed.")
            _add_suffix(part, ".json").write_text(json.dumps({"url": url, "validator": _validator(answer.headers)}))
            with part.open("ab" if resumed else "wb") as out:
                end = _copy(answer, out, name, begin, total, progress, limit)
            if total is not None and end < total:
                raise _BrokenOffError(f"the connection ended after {end} of {total} bytes")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and here:  # no further bytes: the file is complete, or another one by now
            whole = error.headers.get("Content-Range", "").rpartition("/")[2]
            if whole == str(here):
                return
            part.unlink()
            raise _BrokenOffError("the server has another file than the one begun") from error
        if error.code >= 500:
            raise _BrokenOffError(f"the server answered {error.code} ({error.reason})") from error
        raise DownloadError(f"{url} answered {error.code} ({error.reason}): the file is not there any more.") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise _BrokenOffError(str(getattr(error, "reason", None) or error or type(error).__name__)) from error


def _copy(
    answer: http.client.HTTPResponse,
    out: IO[bytes],
    name: str,
    done: int,
    total: int | None,
    progress: Progress | None,
    limit: int,
) -> int:
    while True:
        if progress is not None:
            progress(name, done, total)
        try:
            chunk = answer.read(_CHUNK)
        except http.client.IncompleteRead as error:
            chunk = error.partial
        if not chunk:
            return done
        done += len(chunk)
        if done > limit:
            raise DownloadError(f"The download of {name} passed the {limit} bytes allowed and was stopped.")
        out.write(chunk)


def _validator(headers: http.client.HTTPMessage) -> str | None:
    """The value for `If-Range`, a strong ETag or a date, so that two versions of a file are never joined."""
    etag = headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")


def _begun(part: Path, url: str) -> tuple[int, str | None]:
    """Size and validator of a partial download from this URL; any other partial file is deleted."""
    try:
        note = json.loads(_add_suffix(part, ".json").read_text())
        if note["url"] == url:
            return part.stat().st_size, note["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    part.unlink(missing_ok=True)
    return 0, None


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
        _delete(files)  # the next call must not take them for the right ones
        raise
    for name, digest in digests.items():
        remember(files[name], digest)
    _delete(files)
    return target


def _delete(files: dict[str, Path]) -> None:
    for path in files.values():
        path.unlink()


def _readme(source: Source, dataset: CrowdDataset, digests: dict[str, str]) -> str:
    files = "\n".join(f"- {file.url} (SHA-256 `{digests[file.name]}`)" for file in source.files)
    return f"""# {source.title}

Paper: {source.paper}. Licence: {source.licence}.

{dataset.n_tasks} tasks, {int(dataset.annotated.sum())} of them annotated; {dataset.n_workers} workers, \
{dataset.n_annotations} annotations, {dataset.n_classes} classes.

Fetched from:

{files}
"""


def unpack(archive: Path, place: Callable[[PurePosixPath], Path | None]) -> set[Path]:
    """Write the regular files of a ``.tar.gz`` to the paths that ``place`` returns, and return these.

    ``place`` maps a member's name to its path, or None to skip it. Links and devices are never written, nor more than
    four GiB in all. Any member whose name leads outside of the archive's folder is refused before it is written.
    """
    written, limit = set[Path](), _UNPACKED
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if leads_outside(member.name):
                    raise DataError(
                        f"The archive holds {member.name!r}, which is outside the archive's folder: it was refused",
                        file=archive,
                    )
                target = place(PurePosixPath(member.name)) if member.isfile() else None
                if target is None:
                    continue
                limit -= member.size
                if limit < 0:
                    raise DataError("The archive unpacks to more bytes than such a file should hold", file=archive)
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                if source is None:
                    continue
                with source, target.open("wb") as out:
                    while chunk := source.read(_CHUNK):
                        out.write(chunk)
                written.add(target)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(f"The archive is damaged or cut short ({error})", "Fetch it again.", file=archive) from error
    return written
