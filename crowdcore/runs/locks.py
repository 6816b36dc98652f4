"""Locks between processes, and the lease of a run: who works on it, and how its process ended.

The system releases a lock when the last process that holds the open file is gone. They are `fcntl.flock` rather than
filelock's: a training process inherits the lock of its run, so that it outlives its supervisor; filelock unlocks the
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
    """Whether some process holds the lock now."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # it may lie where nothing can be written
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
    """Whether a held lock's file is still the one at its path: its folder was not deleted, moved or replaced."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


class Ending(StrEnum):
    """How the training of a run ended; its value is the word in the run's note.

    Attributes:
        state: of the run in the record; see `run.STATUS` for what MLflow calls that.
        code: exit code of a training process that ended so.
    """

    state: State
    code: int

    def __new__(cls, word: str, state: State, code: int) -> Ending:
        """With its two attributes."""
        made = str.__new__(cls, word)
        made._value_, made.state, made.code = word, state, code
        return made

    FINISHED = "ended", "finished", 0
    FAILED = "failed", "failed", 1  # its message says why
    CANCELLED = "cancelled", "cancelled", 3  # by request
    LOST = "", "queued", 4  # without an outcome, or not yet: its supervisor is gone, another process trains it
    STOPPED = "stopped", "queued", 5  # by the engine, to go on later; no process exits so

    @classmethod
    def of(cls, code: int | None) -> Ending:
        """The ending behind an exit code; None and minus a signal are those of a process that was lost."""
        lost = code is None or code < 0
        return cls.LOST if lost else next((one for one in cls if one.code == code), cls.FAILED)


@dataclass(frozen=True)
class Note:
    """Note of a supervisor about its run.

    Args:
        lost: how many processes of the run, training or supervising, died without an outcome since the last checkpoint.
        progress: the checkpoints there were when the last one began; see `progress_of`.
        supervisor: its process.
        child: the process that trains; also its process group.
        host: where both are.
        outcome: how it ended; `Ending.LOST` while it goes on. A child that ended by itself has recorded it.
        message: why; of a process that was lost, one line, and then the last ones of its log.
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
        handle: file descriptor that the child inherits.
    """

    folder: Path
    handle: int

    def write(self, note: Note) -> None:
        """Replace the note; a folder that was deleted meanwhile stays away."""
        if self.folder.is_dir():
            write_json(self.folder / "note.json", asdict(note))

    def begin(self, child: int = 0) -> Note:
        """Start a note of ours; what began before us and left no outcome counts as lost, unless a checkpoint came."""
        before, progress = read_note(self.folder), progress_of(self.folder)
        lost = before.lost if before.progress == progress else 0
        lost += bool(before.supervisor and not before.outcome)
        note = Note(lost, progress, os.getpid(), child, socket.gethostname())
        self.write(note)
        return note


@contextmanager
def leased(folder: Path, wait: float = 0.5) -> Iterator[Lease]:
    """Hold the lease of a run's folder: nobody else trains or ends it. A BlockingIOError after ``wait`` seconds."""
    with locked(folder / "lease", wait) as handle:
        yield Lease(folder, handle)


def is_leased(folder: Path) -> bool:
    """Whether a process supervises or trains the run now."""
    return is_locked(folder / "lease")


def progress_of(folder: Path) -> str:
    """The checkpoints of a run, as one string."""
    return " ".join(sorted(str(path.relative_to(folder)) for path in folder.glob("checkpoint/**/epoch-*.safetensors")))


def read_note(folder: Path) -> Note:
    """What the last supervisor left; an empty note when there was none."""
    try:
        fields = read_json(folder / "note.json")
        return Note(**fields | {"outcome": Ending(fields.get("outcome", ""))})  # type: ignore[call-arg]
    except (TypeError, ValueError):  # what another version left
        return Note()


def forget_note(folder: Path) -> None:
    """Reset the count of lost processes."""
    (folder / "note.json").unlink(missing_ok=True)
