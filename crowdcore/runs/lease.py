"""Who works on a run: one lock, which the training process inherits from its supervisor, and one note beside it.

The lock is held as long as the supervisor or the training process lives; the note says what came of it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from crowdcore.core.json_files import read_json, write_json
from crowdcore.runs.locks import is_locked, locked
from crowdcore.runs.run import State


class Ending(StrEnum):
    """How the training of a run ended; its value is the word in the run's note.

    Attributes:
        state: what the record is to say of the run; see `run.STATUS` for what MLflow calls that.
        code: exit code of a training process that tells it.
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
    LOST = "", "queued", 4  # without a word, or not yet: its supervisor is gone, another process trains it
    STOPPED = "stopped", "queued", 5  # by the engine, to go on later; no process tells it

    @classmethod
    def of(cls, code: int | None) -> Ending:
        """What an exit code tells; None and minus a signal are those of a process that was lost."""
        lost = code is None or code < 0
        return cls.LOST if lost else next((one for one in cls if one.code == code), cls.FAILED)


@dataclass(frozen=True)
class Note:
    """What a supervisor left about its run.

    Args:
        lost: how many processes of the run, training or supervising, have vanished without a word since it last got on.
        progress: how far it was when the last one began; see `progress_of`.
        supervisor: its process.
        child: the process that trains; also its process group.
        host: where both are.
        outcome: how it ended; `Ending.LOST` while it goes on. A child that came to an end by itself has recorded it.
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
        """Start a note of ours; what began before us and left no outcome counts as lost, unless the run got on."""
        before, progress = read_note(self.folder), progress_of(self.folder)
        lost = before.lost if before.progress == progress else 0
        lost += bool(before.supervisor and not before.outcome)
        note = Note(lost, progress, os.getpid(), child, socket.gethostname())
        self.write(note)
        return note


@contextmanager
def leased(folder: Path, wait: float = 0.5) -> Iterator[Lease]:
    """Within: nobody else supervises, trains or ends the run.

    Args:
        wait: seconds to wait for its holder.

    Raises:
        BlockingIOError: somebody still does.
    """
    with locked(folder / "lease", wait) as handle:
        yield Lease(folder, handle)


def is_leased(folder: Path) -> bool:
    """Whether somebody supervises or trains the run now."""
    return is_locked(folder / "lease")


def progress_of(folder: Path) -> str:
    """What a run has kept so far: it changes with every checkpoint."""
    return " ".join(sorted(str(path.relative_to(folder)) for path in folder.glob("checkpoint/**/epoch-*.safetensors")))


def read_note(folder: Path) -> Note:
    """What the last supervisor left; an empty note when there was none."""
    try:
        said = read_json(folder / "note.json")
        return Note(**said | {"outcome": Ending(said.get("outcome", ""))})  # type: ignore[call-arg]
    except (TypeError, ValueError):  # what another version left
        return Note()


def forget_note(folder: Path) -> None:
    """Start counting anew."""
    (folder / "note.json").unlink(missing_ok=True)
