"""The papers' tables and figures as they stand in this workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crowdcore.core.errors import CrowdError
from crowdcore.exhibits.view import cached
from dashboard.services._cache import dataset, upload_folder
from dashboard.services.runs import all_runs, result

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.exhibits import Exhibit
    from crowdcore.reproduce import Scale

__all__ = ["Reproduction", "entries", "reproduction"]


class Reproduction(NamedTuple):
    """A table or figure of a paper.

    Attributes:
        table: the paper's numbers beside ours.
        drawn: our figures.
        runs: ids of the runs behind them.
        missing: how many parts could be run and have not come to a number yet.
        parts: how many there are.
    """

    table: Exhibit
    drawn: list[Exhibit]
    runs: list[str]
    missing: int
    parts: int


def entries() -> dict[str, str]:
    """Id -> id and what it shows."""
    from crowdcore.reproduce import ENTRIES

    return {entry.id: f"{entry.id}: {entry.title}" for entry in ENTRIES.values()}


def reproduction(id: str, scale: Scale) -> Reproduction:
    """What an entry came to so far, looked up anew once a run has ended or begun."""
    return _reproduction(id, scale, tuple((run.id, run.state) for run in all_runs()))


@cached
def _reproduction(id: str, scale: Scale, known: tuple[tuple[str, str], ...]) -> Reproduction:
    from crowdcore import reproduce
    from crowdcore.exhibits import Exhibit

    entry = reproduce.get(id)
    found = reproduce.look(entry, scale, open_=_opened, result=result)
    told = reproduce.told(entry, scale, found)
    drawn = [
        Exhibit(f"{id}-{scale}-{k + 1}", f"{entry.title}: {name}", figure, told.table)
        for k, (name, figure) in enumerate(entry.draw(found).items())
    ]
    missing = sum(not one.ours and not one.why.startswith("not run: ") for one in found)
    return Reproduction(told, drawn, list(dict.fromkeys(one.run.id for one in found if one.run)), missing, len(found))


def _opened(name: str) -> CrowdDataset:
    from crowdcore.data.catalogue import dataset_folders

    if upload_folder(name) is None and name not in dataset_folders():
        raise CrowdError(
            f"the dataset {name} is not here. Fetch it with `crowdcore fetch`, or set CROWDCORE_DATA to its folder."
        )
    return dataset(name)
