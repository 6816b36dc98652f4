"""Unpack a ZIP of a dataset folder within bounds: nothing leads outside, nothing grows without end."""

from __future__ import annotations

import io
import shutil
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from crowdcore.core.errors import DataError
from crowdcore.core.files import replacing

EXPANDED = 4 << 30  # bytes that an archive may unpack to
RATIO, FREELY = 200, 256 << 20  # times its own size, and bytes up to which that does not matter
MEMBERS = 500_000
_CHUNK = 1 << 20
_ZSTANDARD, _HEAD = 93, 30  # code of the compression, and the bytes before a member's name
_END, _ENTRY = b"PK\x05\x06", 46  # mark of an archive's end, and the least bytes of an entry in its list
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


def is_archive(file: Path) -> bool:
    """Return whether a file is a ZIP, but no spreadsheet, which is a ZIP, too."""
    from crowdcore.data.tables.content import SAMPLE, is_spreadsheet  # not for the process that unpacks

    with file.open("rb") as opened:
        return not is_spreadsheet(file, opened.read(SAMPLE)) and zipfile.is_zipfile(opened)


def leads_outside(name: str) -> bool:
    """Return whether an archive's member of that name would be written outside of its folder."""
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name


def unpack_zip(archive: Path, target: Path) -> None:
    """Write the files of a ZIP below ``target``, which is made; all or nothing."""
    try:
        _refuse_long_list(archive)
        with zipfile.ZipFile(archive) as source, replacing(target) as partial:
            _unpack(source, partial, archive)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        what = "This archive uses one name for a file and a folder"
        raise DataError(what, "Pack it again.", file=archive) from None
    except DataError:
        raise
    except _FAULTS as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"This archive is damaged: {reason}", "Pack the folder again.", file=archive) from None


def _refuse_long_list(archive: Path) -> None:
    """Refuse an archive with too long a list of members before the list is read, which happens at once."""
    with archive.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - (1 << 16) - 22, 0))
        end = file.read()
    at = end.rfind(_END)
    length = int.from_bytes(end[at + 12 : at + 16], "little") if at >= 0 else 0
    if length > MEMBERS * 8 * _ENTRY:
        raise DataError(f"This archive lists more than {MEMBERS:,} files", file=archive)


def _unpack(source: zipfile.ZipFile, target: Path, archive: Path) -> None:
    members = [m for m in source.infolist() if not m.is_dir()]
    most = most_bytes(archive)
    if len(members) > MEMBERS or sum(m.file_size for m in members) > most:
        raise too_large(most, archive)
    target.mkdir(parents=True)
    if sum(m.file_size for m in members) > shutil.disk_usage(target).free // 2:
        raise DataError("There is too little space to unpack this archive", file=archive)
    for member in members:
        if leads_outside(member.filename):
            raise DataError(
                f"The archive holds {member.filename[:200]!r}, which is outside the archive's folder", file=archive
            )
        file = target / member.filename
        file.parent.mkdir(parents=True, exist_ok=True)
        checksum = 0
        with _open_member(source, member) as packed, file.open("xb") as out:
            while chunk := packed.read(_CHUNK):
                most -= len(chunk)  # the size in a header may be false
                if most < 0:
                    raise too_large(EXPANDED, archive)
                checksum = zlib.crc32(chunk, checksum)
                out.write(chunk)
        if checksum != member.CRC:
            raise zipfile.BadZipFile(f"{member.filename[:200]!r} does not match its checksum")


def _open_member(source: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """A member as a stream; also with Zstandard, which `zipfile` lacks before Python 3.14."""
    if member.compress_type != _ZSTANDARD:
        return source.open(member)
    import pyarrow as pa  # not for the process that unpacks other archives

    packed = source.fp
    assert packed is not None
    packed.seek(member.header_offset)
    head = packed.read(_HEAD)
    packed.seek(sum(int.from_bytes(head[at : at + 2], "little") for at in (26, 28)), 1)
    opened: IO[bytes] = pa.CompressedInputStream(pa.BufferReader(packed.read(member.compress_size)), "zstd")
    return opened


def most_bytes(archive: Path) -> int:
    """Number of bytes that a packed file may unpack to."""
    return min(EXPANDED, max(FREELY, RATIO * archive.stat().st_size))


def too_large(most: int, archive: Path) -> DataError:
    """The refusal of an archive that unpacks to more."""
    return DataError(
        f"This archive unpacks to more than {most / 2**30:.3g} GiB, {RATIO} times its own size or {MEMBERS:,} files",
        file=archive,
    )


def pack_zip(folder: Path, within: str = "") -> bytes:
    """The files of a folder as a ZIP; ``within``: the folder of the ZIP that they lie in."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            packed.write(file, Path(within) / file.relative_to(folder))
    return out.getvalue()
