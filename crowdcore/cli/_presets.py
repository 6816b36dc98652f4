"""`--preset` and `--presets`: the runs of a published table from the command line."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pandas as pd
import typer

from crowdcore.cli._output import print_table
from crowdcore.core.errors import SettingError
from crowdcore.data.ratings import Labelled
from crowdcore.learning import presets

Row = tuple[str, str, dict[str, Any]]
"""What to call it, method, settings."""


def _list(asked: bool) -> None:
    if not asked:
        return
    rows = [
        {"preset": p.name, "table": p.title, "dataset": p.dataset, "methods": len(p.methods), "seeds": len(p.seeds)}
        for p in presets.PRESETS.values()
    ]
    print_table(pd.DataFrame(rows), "Presets", tuple(f"{p.name}: {p.note}" for p in presets.PRESETS.values() if p.note))
    raise typer.Exit()


OptionalDataset = Annotated[
    str | None,
    typer.Argument(
        metavar="DATASET", help="Name of a dataset or a path to one; default: the preset's.", show_default=False
    ),
]
PresetName = Annotated[str | None, typer.Option("--preset", help="All runs of a table; --presets lists them.")]
ListPresets = Annotated[bool, typer.Option("--presets", callback=_list, is_eager=True, help="List the presets.")]


def rows_of(
    preset: str | None,
    dataset: str | None,
    method: list[str] | None,
    given: Mapping[str, Any],
    n: int,
    seeds: list[int] | None,
    read: Callable[[str], Labelled],
) -> tuple[str, Labelled, list[Row], tuple[int, ...]]:
    """Name of a dataset, the dataset, runs and seeds that a command asks for, by a preset or by methods.

    Args:
        preset: name of a preset.
        dataset: as given.
        method: as given; default: the usual one of the dataset's labels.
        given: settings, which win over a preset's.
        n: how many seeds; 0: the preset's, or as many as usual.
        seeds: which seeds, if given.
        read: opens a dataset by name.

    Raises:
        SettingError: neither dataset nor preset, or both preset and methods.
    """
    from crowdcore.learning.learners import usual_method
    from crowdcore.learning.settings import SEEDS

    if preset is None:
        if dataset is None:
            raise SettingError("DATASET", "be given, unless a preset is", None, "`crowdcore datasets` lists them.")
        opened = read(dataset)
        rows = [(name, name, dict(given)) for name in method or [usual_method(opened)]]
        return dataset, opened, rows, tuple(seeds or range(n or SEEDS))
    if method:
        raise SettingError("--method", "be left out with --preset, which has methods of its own", method[0])
    found = presets.get(preset)
    rows = [
        (label, name, {**settings, **given}) for label, (name, settings) in zip(found.labels, found.runs, strict=True)
    ]
    name = dataset or found.dataset
    return name, read(name), rows, tuple(seeds or (range(n) if n else found.seeds))
