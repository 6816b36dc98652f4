"""Locks between processes, and the lease of a run, with a note on its processes and their end.

The system releases a lock when the last process that holds the open file is gone. They are `fcntl.flock` rather than
filelock's: a training process inherits the lock of its run, which thus outlives its supervisor; filelock unlocks the
file itself when one of its holders releases it, and keeps the descriptor private.
"""

from __future__ import annotations

import fcntl
import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from crowdcore.core.files import read_json, write_json
from crowdcore.runs.run import State

_TICK = 0.05  # seconds


@contextmanager
def locked(path: Path, wait: float = math.inf) -> Iterator[int]:
    """Hold a lock that no other process holds, or raise a BlockingIOError after ``wait`` seconds.

    Yields its file descriptor, which a child may inherit. The file and its folder, but not the one around that, are
    created and left there.
    """
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise
                time.sleep(_TICK)
        yield handle
    finally:
        os.close(handle)  # not LOCK_UN, which would take it from a child too


def is_locked(path: Path) -> bool:
    """Return True if a process holds the lock now."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # its folder may be read-only
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def is_in_place(path: Path, handle: int) -> bool:
    """Return True if a held lock's file is still at its path: its folder was not deleted, moved or replaced."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


class Ending(StrEnum):
    """End of the training of a run; its value is the word in the run's note.

    Attributes:
        state: state of the run in the record; see `run.STATUS` for MLflow's name.
        code: exit code of a training process with this end.
    """

    state: State
    code: int

    def __new__(cls, word: str, state: State, code: int) -> Ending:
        """Make a member with its two attributes."""
        member = str.__new__(cls, word)
        member._value_, member.state, member.code = word, state, code
        return member

    FINISHED = "ended", "finished", 0
    FAILED = "failed", "failed", 1  # with the reason in the message
    CANCELLED = "cancelled", "cancelled", 3  # by request
    LOST = "", "queued", 4  # without an outcome, or not yet: its supervisor is gone, another process trains it
    STOPPED = "stopped", "queued", 5  # by the engine, to go on later; no process exits with this code

    @classmethod
    def of(cls, code: int | None) -> Ending:
        """Return the ending behind an exit code; None and minus a signal stand for a lost process."""
        lost = code is None or code < 0
        return cls.LOST if lost else next((one for one in cls if one.code == code), cls.FAILED)


@dataclass(frozen=True)
class Note:
    """Note of a supervisor about its run.

    Args:
        lost: processes of the run, training or supervising, that died without an outcome since the last checkpoint.
        progress: checkpoints when the last process began; see `progress_of`.
        supervisor: id of its process.
        child: id of the training process; also its process group.
        host: host of both.
        outcome: its end; `Ending.LOST` while it goes on. A child that ended by itself has recorded it.
        message: the reason; for a lost process one line, followed by the last lines of its log.
    """

    lost: int = 0
    progress: str = ""
    supervisor: int = 0
    child: int = 0
    host: str = ""
    outcome: Ending = Ending.LOST
    message: str = ""


@dataclass(frozen=True)
class Lease:
    """The held lock of a run.

    Args:
        handle: file descriptor for the child to inherit.
    """

    folder: Path
    handle: int

    def write(self, note: Note) -> None:
        """Replace the note; a folder that was deleted meanwhile is not created again."""
        if self.folder.is_dir():
            write_json(self.folder / "note.json", asdict(note))

    def begin(self, child: int = 0) -> Note:
        """Start a new note; an earlier process without an outcome counts as lost, unless it made a checkpoint."""
        before, progress = read_note(self.folder), progress_of(self.folder)
        lost = before.lost if before.progress == progress else 0
        lost += bool(before.supervisor and not before.outcome)
        note = Note(lost, progress, os.getpid(), child, socket.gethostname())
        self.write(note)
        return note


@contextmanager
def leased(folder: Path, wait: float = 0.5) -> Iterator[Lease]:
    """Hold the lease of a run's folder: no other process trains or ends it. BlockingIOError after ``wait`` seconds."""
    with locked(folder / "lease", wait) as handle:
        yield Lease(folder, handle)


def is_leased(folder: Path) -> bool:
    """Return True if a process supervises or trains the run now."""
    return is_locked(folder / "lease")


def progress_of(folder: Path) -> str:
    """Names of the checkpoints of a run, as one string."""
    return " ".join(sorted(str(path.relative_to(folder)) for path in folder.glob("checkpoint/**/epoch-*.safetensors")))


def read_note(folder: Path) -> Note:
    """Read the note of the last supervisor; an empty one without."""
    try:
        fields = read_json(folder / "note.json")
        return Note(**fields | {"outcome": Ending(fields.get("outcome", ""))})  # type: ignore[call-arg]
    except (TypeError, ValueError):  # of another version
        return Note()


def forget_note(folder: Path) -> None:
    """Reset the count of lost processes."""
    (folder / "note.json").unlink(missing_ok=True)
