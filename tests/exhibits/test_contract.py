"""Contract of every exhibit of a view: numbers and words, names hidden and escaped once, clicks that lead on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from crowdcore.exhibits import Exhibit, View, view
from crowdcore.exhibits.catalogue import catalogue
from crowdcore.exhibits.glossary import meaning
from crowdcore.marks import add_mark
from testkit.crowds import simulate_crowd
from tests.exhibits.examples import OF_VIEWS, crowd, made, of_tags

NAMES = re.compile(r"<x>|&(?!amp;|lt;|gt;|#)|&amp;(amp|lt|gt);")
"""A name of `crowd` in a figure that is not escaped, or is escaped twice."""
ONE = re.compile(r"(?<![\d,.])1 (?:more )?(?:task|worker|label|annotation|class|pair|group|row|mistake)(?:e?s)\b")
TINY = [n for n, f in OF_VIEWS.items() if not (of_tags(f) or f.__module__.endswith(".coordinated"))]
"""Exhibits that need no more than two workers on one task."""
NAMELESS = {"agreement", "aggregator-calibration", "label-disagreement", "objective"} | {
    "annotations-per-task",
    "annotations-per-worker",
    "tag-recovery",
}
"""Figures that name no class, worker or task."""


@pytest.fixture(scope="module", autouse=True)
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A workspace in which a task is marked: its label is wrong."""
    of = crowd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROWDCORE_WORKSPACE", str(tmp_path_factory.mktemp("marked")))
        worker, label = str(of.worker_ids[of.worker[0]]), of.classes[of.label[0] - 1]
        add_mark(of, str(of.task_ids[of.task[0]]), label, worker=worker, comment=f"see {worker}")
        yield


@cache
def seen(reference: str, hidden: bool = False, tiny: bool = False) -> View:
    """A view whose fits all exhibits share."""
    return view(simulate_crowd(1, n_workers=2, per_task=2) if tiny else crowd(), reference, hidden=hidden)


def texts(exhibit: Exhibit) -> str:
    """Return all text of an exhibit."""
    figure = "" if exhibit.figure is None else str(exhibit.figure.to_plotly_json())
    rows = exhibit.table.to_csv() if len(exhibit.table.columns) else ""
    return "\n".join([exhibit.name, exhibit.title, exhibit.alt, *exhibit.notes, rows, figure])


@pytest.mark.parametrize("name", OF_VIEWS)
def test_what_holds_for_every_exhibit(name: str) -> None:
    function = OF_VIEWS[name]
    exhibit = made(function, seen("gold"))
    assert exhibit.title
    assert exhibit.alt
    assert isinstance(exhibit.table, pd.DataFrame)
    assert len(exhibit.table)
    assert exhibit.table is exhibit.table
    assert {str(column) for column in exhibit.table if not meaning(str(column))} <= {"e-mail"}  # a column of the file
    # Names are escaped once in figures and never in tables.
    assert "&lt;" not in exhibit.table.to_csv() + exhibit.title + "".join(exhibit.notes)
    if exhibit.figure is not None:
        drawn = strings(exhibit.figure.to_plotly_json())
        assert any("&lt;x&gt;" in text for text in drawn) == (name not in NAMELESS)
        assert not [text for text in drawn if NAMES.search(text)]
    assert "anna" not in texts(made(function, seen("majority-vote", hidden=True)))
    if name in TINY:
        for reference in ("gold", "majority-vote"):
            assert not ONE.findall(texts(made(function, seen(reference, tiny=True))))


@cache
def numbered() -> View:
    """The same crowd with names swapped for the numbers of others."""
    plain, turned = crowd(), [str((n + 1) % 60) for n in range(60)]
    called = {"worker_ids": pd.Index([*"12340"]), "task_ids": pd.Index(turned), "classes": tuple("1230")}
    return view(replace(plain, **called), "gold")


@pytest.mark.parametrize("name", OF_VIEWS)
def test_numbers_for_names_are_names(name: str) -> None:
    assert made(OF_VIEWS[name], numbered()).title


def strings(value: object) -> list[str]:
    """All texts within a figure."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if hasattr(value, "tolist"):
        return strings(value.tolist())
    return [text for part in value for text in strings(part)] if isinstance(value, list | tuple) else []


def test_the_catalogue_holds_all_modules() -> None:
    assert {"shared-mistakes", "worker-distances", "aggregators", "accuracies", "ranks"} <= set(catalogue())
