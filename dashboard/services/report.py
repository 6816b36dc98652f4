"""Reports of a dataset and its runs, made on demand."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdcore import runs as recorded
from crowdcore.data import CrowdDataset
from crowdcore.exhibits.view import cached
from dashboard.services.datasets import reference
from dashboard.services.opening import labelled
from dashboard.services.runs import learnt, spelled

if TYPE_CHECKING:
    from crowdcore.analysis.reference import Reference
    from crowdcore.data.ratings import Labelled
    from crowdcore.learning.api import Learnt
    from crowdcore.runs.report import Report


Names = tuple[str, ...]


def parts(name: str, with_runs: bool) -> dict[str, str]:
    """Part -> title, of those that apply to this dataset and runs on it."""
    from crowdcore.runs.report import parts_of

    available = parts_of(labelled(name), with_runs)
    known = getattr(labelled(name), "truth", None) is not None
    return {part: title for part, (title, _) in available.items() if known or part != "recovery"}


def report(name: str, runs: Names, chosen: Names, which: str, show_names: bool) -> Report:
    """Build a report; cached.

    Args:
        name: of the dataset.
        runs: ids of finished runs on it.
        chosen: the parts.
        which: the reference of the dataset's own figures.
        show_names: show the workers' ids instead of pseudonyms.
    """
    opened, chosen_runs = labelled(name), map(recorded.get_run, runs)
    truth = reference(opened, which) if isinstance(opened, CrowdDataset) else which
    trained = tuple((run.id, learnt(run.id), recorded.command_line(run.spec), run.name) for run in chosen_runs)
    return _report(opened, truth, trained, chosen, show_names, command_line(name, runs, chosen, which, show_names))


@cached
def _report(
    opened: Labelled,
    truth: Reference | str,
    trained: tuple[tuple[str, Learnt, str, str], ...],
    chosen: Names,
    show_names: bool,
    again: str,
) -> Report:
    from crowdcore.runs.report import Trained, build

    runs = [Trained(*run) for run in trained]
    return build(opened, runs, chosen, reference=truth, show_names=show_names, command=again)


@dataclass
class Archiving:
    """The ZIP of a session, and its progress.

    Attributes:
        making: how many are being made; a second click makes a second one.
        made: one was made.
        share: of the figures that are drawn, 0…1.
        words: what goes on.
        began: time (monotonic) at which drawing began.
        until: time (monotonic) at which it may end; 0 while nothing is known.
    """

    making: int = 0
    made: bool = False
    share: float = 0.0
    words: str = ""
    began: float = 0.0
    until: float = 0.0

    def make(self, name: str, runs: Names, chosen: Names, which: str, show_names: bool) -> bytes:
        """The folder as a ZIP, with figures where they can be drawn."""
        from crowdcore.runs.report import drawing_fault, to_archive

        self.share, self.words, self.until = 0.0, "Putting it together", 0.0
        self.making += 1
        try:
            content = report(name, runs, chosen, which, show_names)
            self.began = time.monotonic()
            archive = to_archive(content, not drawing_fault(), self._tell)
            self.made = True
            return archive
        finally:
            self.making -= 1

    def _tell(self, share: float, title: str) -> None:
        self.share, self.words = share, f"Drawing {title}"
        if share:
            self.until = self.began + (time.monotonic() - self.began) / share

    @property
    def remaining(self) -> float | None:
        """Estimated seconds left; None while unknown."""
        return max(self.until - time.monotonic(), 0.0) if self.until else None


def command_line(name: str, runs: Names, chosen: Names, which: str, show_names: bool) -> str:
    """The command that makes the same report."""
    from crowdcore.runs.report import command_line

    everything = set(chosen) == set(parts(name, bool(runs)))
    return command_line(spelled(name), runs, () if everything else chosen, which, show_names, "report")
