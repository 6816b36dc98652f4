"""Results describe themselves in a line, and in a notebook by a short table and a figure, whatever their size."""

from __future__ import annotations

import sys
import types
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import aggregation, analysis, exhibits, figures
from crowdcore.core.shown import MOST, ROWS, Shown
from tests.front_door.test_doors import takes_dataset

BAD = "<script>alert('x')</script>"


@cache
def crowd() -> cc.CrowdDataset:
    """Hundreds of tasks, and names that a page would run."""
    rng = np.random.default_rng(8)
    tasks, workers = np.repeat(np.arange(400), 6), np.tile(np.arange(6), 400)
    gold = np.arange(400) % 3
    label = np.where(rng.random(2400) < 0.75, gold[tasks], (gold[tasks] + 1) % 3)
    names = np.array([BAD, "cat", "dog"])
    worker = np.array([BAD, *(f"w{k}" for k in range(1, 6))])
    rows = pd.DataFrame({"task": tasks.astype(str), "worker": worker[workers], "label": names[label]})
    times = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(2400) * 40, unit="s")
    return cc.from_frame(rows.assign(time=times), gold={str(t): names[gold[t]] for t in range(400)}, accept=True)


@cache
def rated() -> cc.RatingDataset:
    return cc.data.simulate.ratings(n_tasks=300, n_workers=6)


@cache
def results() -> dict[str, Any]:
    """Name -> a result of each public function of analysis that a dataset is enough for, of fits and of exhibits."""
    objects: dict[str, Any] = {}
    for name in analysis.__all__:
        make = getattr(analysis, name)
        if not isinstance(make, types.FunctionType) or not takes_dataset(make):
            continue
        for given in (crowd(), rated()):
            try:
                objects[name] = make(given)
                break
            except (cc.CrowdError, TypeError):  # of labels of another kind, or not from a dataset alone
                continue
    fit = aggregation.DawidSkene().fit(crowd())
    objects |= {"fit": fit, "ratings": aggregation.ratings.get("raykar-em").fit(rated())}
    objects |= {"calibration": analysis.calibration(fit, crowd().gold), "intervals": analysis.credible_intervals(fit)}
    objects |= {"recovered": analysis.recovered_confusion(crowd(), fit.confusion[None], seeds=[0])}
    objects |= {"reference": analysis.resolve_reference(crowd(), fit), "what_if": analysis.what_if(crowd(), 1)}
    objects |= {"order": analysis.order_workers(analysis.worker_distance(crowd()))}
    objects |= {"cell": analysis.mistake_cell(crowd(), "gold", "cat", "dog")}
    objects |= {"exhibit": exhibits.mistakes.shared_mistakes(exhibits.view(crowd()))}
    return {name: one for name, one in objects.items() if is_dataclass(one)}


def test_no_result_prints_its_arrays() -> None:
    assert len({type(one) for one in results().values()}) >= 30
    texts = {name: repr(one) for name, one in results().items()}
    assert {name: len(text) for name, text in texts.items() if len(text) > MOST} == {}
    assert [name for name, text in texts.items() if "array(" in text or "\n" in text] == []
    assert [name for name, one in results().items() if not isinstance(one, Shown)] == []


def test_a_page_is_short_and_escaped() -> None:
    for name, one in results().items():
        page = one._repr_html_()
        assert BAD not in page, name
        assert page.count("<tr") <= max(ROWS, len(fields(one))) + 2, name
        assert len(page) < 12_000, name


def test_what_is_left_out_and_what_to_bear_in_mind_is_said() -> None:
    page = results()["fit"]._repr_html_()
    assert "390 more rows" in page
    fit = replace(results()["fit"], notes=(f"Beware of {BAD}.",))
    assert fit._repr_html_().count("Beware of &lt;script&gt;") == 1
    judged = replace(analysis.judge(crowd(), results()["fit"]), warnings=("It is too sure.",))
    assert judged._repr_html_().count("It is too sure.") == 1
    assert "<td>139</td>" in analysis.shared_mistakes("demo")._repr_html_(), "whole numbers have no decimals"


def test_a_result_has_the_figure_that_draws_it() -> None:
    mistakes = analysis.shared_mistakes(crowd())
    assert figures.figure_of(mistakes) == figures.shared_mistakes(mistakes)
    exhibit = results()["exhibit"]
    assert figures.figure_of(exhibit) is exhibit.figure
    assert figures.figure_of(results()["reference"]) is None
    assert len({type(one) for one in results().values() if figures.figure_of(one) is not None}) >= 12


@pytest.mark.parametrize("kernel", [True, False], ids=["in a notebook", "in a terminal"])
def test_notebooks_get_table_and_figure(kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    python, screen = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    python.get_ipython = lambda: types.SimpleNamespace(kernel=object() if kernel else None)  # type: ignore[attr-defined]
    screen.HTML, screen.display = str, shown.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    mistakes = analysis.shared_mistakes(crowd())
    if not kernel:
        with pytest.raises(NotImplementedError):  # IPython then prints the text
            mistakes._ipython_display_()
        return
    mistakes._ipython_display_()
    assert shown == [mistakes._repr_html_(), figures.shared_mistakes(mistakes)]


def test_the_card_of_a_dataset_counts_and_escapes() -> None:
    card = crowd()._repr_html_()
    assert "2,400" in card
    assert BAD not in card
    assert "300" in rated()._repr_html_()
