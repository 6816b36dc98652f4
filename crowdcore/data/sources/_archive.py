"""Extract chosen members of a tar archive to given paths."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from crowdcore.core.errors import DataError
from crowdcore.data.unpack import leads_outside

_CHUNK = 1 << 20


def unpack(archive: Path, place: Callable[[PurePosixPath], Path | None], limit: int = 1 << 32) -> set[Path]:
    """Write the regular files of a ``.tar.gz`` that ``place`` wants to where it says.

    Links and devices are never written. A member whose name leads outside of the archive's own folder is refused,
    wanted or not, before anything of it is written.

    Args:
        place: takes a member's name and returns its file here, or None to leave it.
        limit: bytes that may be unpacked in all.

    Returns:
        The files written.

    Raises:
        DataError: damaged or cut short, too large, or a name that leads outside.
    """
    written: set[Path] = set()
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
