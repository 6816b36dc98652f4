"""Results of this workspace's runs for the papers' tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import dataset_folders, upload_folder
from crowdcore.exhibits.view import cached
from dashboard.services.opening import dataset
from dashboard.services.runs import all_runs, result

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore import CrowdDataset
    from crowdcore.exhibits import Exhibit
    from crowdcore.reproduce import Found, Scale


@dataclass(frozen=True)
class Outcome:
    """Results for a table or figure of a paper.

    Args:
        parts: the result of each part.
        table: paper | ours | why different.
        footnoted: the same with marks for what is long, and what they refer to.
        figures: ours.
    """

    parts: list[Found]
    table: Exhibit
    footnoted: tuple[pd.DataFrame, tuple[str, ...]]
    figures: list[Exhibit]


def outcome(id: str, scale: Scale) -> Outcome:
    """Results for an entry so far; made anew when a run begins or ends, or a dataset is added."""
    return _outcome(id, scale, tuple((run.id, run.state) for run in all_runs()), tuple(dataset_folders()))


@cached
def _outcome(id: str, scale: Scale, known: tuple[tuple[str, str], ...], datasets: tuple[str, ...]) -> Outcome:
    from crowdcore import reproduce

    entry = reproduce.get(id)
    progress = reproduce.look(entry, scale, open_=_open_dataset, result=result)
    table, drawn = reproduce.told(entry, scale, progress), reproduce.our_figures(entry, scale, progress)
    return Outcome(progress, table, reproduce.footnoted(table.table, progress), drawn)


def _open_dataset(name: str) -> CrowdDataset:
    if upload_folder(name) is None and name not in dataset_folders():
        raise CrowdError(
            f"the dataset {name} is not here. Fetch it with `crowdcore fetch`, or set CROWDCORE_DATA to its folder."
        )
    return dataset(name)
