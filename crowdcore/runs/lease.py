"""Who supervises a run: a lock that its child inherits, so that no run ever has two, and a note beside it.

The lock lives as long as the supervisor or the child does, whichever ends last; the note says what came of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from crowdcore.runs.locks import is_locked

__all__ = ["Lease", "Note", "Outcome", "forget_note", "is_leased", "leased", "read_note"]

Outcome = Literal["", "ended", "failed", "cancelled", "stopped"]


@dataclass(frozen=True)
class Note:
    """What a supervisor left about its run.

    Args:
        lost: how many supervisors before this one vanished without a word.
        supervisor: its process.
        child: the process that trains; also its process group.
        host: where both are.
        outcome: "" while it goes on; "ended" when the child came to an end by itself and recorded it, "failed" and
            "cancelled" when it could not record that, "stopped" when the engine ended it to go on later.
        message: why.
    """

    lost: int = 0
    supervisor: int = 0
    child: int = 0
    host: str = ""
    outcome: Outcome = ""
    message: str = ""


@dataclass(frozen=True)
class Lease:
    """A held lock.

    Args:
        folder: of the run.
        handle: file descriptor to pass on to the child.
    """

    folder: Path
    handle: int

    def write(self, note: Note) -> None:
        """Replace the note."""
        draft = self.folder / ".note.tmp"
        draft.write_text(json.dumps(asdict(note)), encoding="utf-8")
        draft.replace(self.folder / "note.json")

    def begin(self) -> Note:
        """Start a note of ours; counts the supervisor before us as lost when it left no outcome."""
        before = read_note(self.folder)
        lost = before.lost + 1 if before.supervisor and not before.outcome else before.lost
        note = replace(Note(lost=lost), supervisor=os.getpid(), host=socket.gethostname())
        self.write(note)
        return note


@contextmanager
def leased(folder: Path, wait: float = 0.5) -> Iterator[Lease]:
    """Within: nobody else supervises, trains or ends the run.

    Args:
        folder: of the run.
        wait: seconds to wait for its holder.

    Raises:
        BlockingIOError: somebody still does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / "lease", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        yield Lease(folder, handle)
    finally:
        os.close(handle)  # not LOCK_UN, which would take it from the child too


def is_leased(folder: Path) -> bool:
    """Whether somebody supervises or trains the run now."""
    return is_locked(folder / "lease")


def read_note(folder: Path) -> Note:
    """What the last supervisor left; an empty note when there was none."""
    try:
        return Note(**json.loads((folder / "note.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Note()


def forget_note(folder: Path) -> None:
    """Start counting anew."""
    with contextlib.suppress(FileNotFoundError):
        (folder / "note.json").unlink()
