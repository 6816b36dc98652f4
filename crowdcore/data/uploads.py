"""Store, unpack and delete uploads to the app: files and the datasets made of them, folders of the workspace."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from crowdcore.core.files import replacing, workspace, write_json
from crowdcore.data.catalogue import NOTE, Upload, note_of, upload_folder, upload_notes

_CONTENT, _UNPACKED = "content", "unpacked"  # folders beside the note of an upload: the file, and the content of a ZIP
_NAME, _SUFFIX = 100, 16  # bytes of a stored file's name, and letters of its ending
_CHUNK = 1 << 20


def store_upload(name: str, content: BinaryIO, owner: str = "") -> Path:
    """Store an uploaded file, in a folder for each owner ("" where nobody signs in), name and content.

    The folder appears when it is complete, so that readers and other writers of the same file never see a part of it.
    Returns the stored file, whose name is close to the original.
    """
    name = name.replace("\\", "/").rsplit("/", 1)[-1].encode(errors="replace").decode()
    digest = hashlib.blake2b(f"{owner}\0{name}\0".encode(errors="replace"), digest_size=10)
    content.seek(0)
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    home = workspace() / "uploads" / digest.hexdigest()
    stored = _stored_name(name)
    note = {"name": name, "stored": stored, "size": content.tell(), "owner": owner}
    if stored_file(home.name) is None:
        home.parent.mkdir(parents=True, exist_ok=True)
        content.seek(0)
        with _first_to(home) as draft:
            file = draft / _CONTENT / stored
            file.parent.mkdir(parents=True)
            with file.open("wb") as out:
                shutil.copyfileobj(content, out, _CHUNK)
            write_json(draft / NOTE, note | {"when": now()})
    else:
        write_json(home / NOTE, {**note_of(home), "when": now()})
    return home / _CONTENT / stored


def now() -> str:
    """The current time, as written in notes."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _stored_name(name: str) -> str:
    """A name of letters, digits and few other characters, short enough for every file system; keeps its ending."""
    plain = re.sub(r"[^\w. -]", "_", name).strip(". ") or "upload"
    suffix = "".join(Path(plain).suffixes[-2:])
    suffix = suffix if len(suffix) <= _SUFFIX else Path(plain).suffix[:_SUFFIX]
    return plain.removesuffix(suffix).encode()[:_NAME].decode(errors="ignore").strip() + suffix


@contextlib.contextmanager
def _first_to(folder: Path) -> Iterator[Path]:
    """Yield a draft that becomes ``folder``, unless another process has made that meanwhile."""
    try:
        with replacing(folder, overwrite=folder.exists()) as draft:
            yield draft
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not folder.is_dir():
            raise


def unpacked_folder(archive: Path) -> Path:
    """The folder of an unpacked ZIP; it is unpacked as a whole, in a process of bounded memory and time."""
    from crowdcore.core.confined import run_confined  # not needed to list uploads
    from crowdcore.data.unpack import unpack_zip

    home = workspace() / "uploads" / digest_of(str(archive))
    target = home / _UNPACKED / archive.stem
    if not target.is_dir():
        with _first_to(target.parent) as draft:
            draft.mkdir()
            run_confined(unpack_zip, archive, draft / target.name)
    return target


def make_dataset(name: str, fill: Callable[[Path], object]) -> None:
    """Make the dataset of an upload with ``fill``, which writes a folder and its note; it appears as a whole."""
    folder = workspace() / "datasets" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _first_to(folder) as draft:
            fill(draft)


def stored_file(digest: str) -> Path | None:
    """A stored file by its digest; uploads of earlier versions lie beside their note."""
    home = workspace() / "uploads" / digest
    stored = Path(str(note_of(home).get("stored", ""))).name
    if not re.fullmatch("[0-9a-f]{20}", digest) or not stored:
        return None
    files = (home / _CONTENT / stored, home / stored)
    return next((file for file in files if file.is_file() and file != home / NOTE), None)


def digest_of(path: str) -> str:
    """Digest of the stored file at a path, or of which the path was unpacked; empty for another path."""
    home = workspace() / "uploads"
    return Path(path).relative_to(home).parts[0] if Path(path).is_relative_to(home) else ""


def delete_upload(upload: Upload) -> None:
    """Delete the dataset, and the stored file unless another dataset came from it."""
    if upload.dataset and (folder := upload_folder(upload.dataset)):
        _discard(folder)
    others = {note_of(note.parent).get("file") for note in upload_notes("datasets")}
    if upload.file and upload.file not in others:
        _discard(workspace() / "uploads" / upload.file)


def _discard(folder: Path) -> None:
    """Remove a folder atomically."""
    gone = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.deleted")
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
