"""Every column of the tables of runs has a meaning, as those of a dataset have (see test_contract); docs list all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from crowdcore.exhibits import Exhibit, view
from crowdcore.exhibits.catalogue import catalogue
from crowdcore.exhibits.glossary import GLOSSARY, PAGE, glossary, meaning
from crowdcore.exhibits.recovered import of_run
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented
from tests.conftest import ROOT
from tests.exhibits.examples import OF_VIEWS
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

OF_RATINGS = {"rating-biases", "rating-differences", "rating-errors"}  # see test_rating_results
OF_RATINGS |= {"planted-ratings", "rating-recovery", "recovered-biases", "recovered-shared-bias"}  # see test_planted
OF_RATINGS |= {name for name in catalogue() if name.startswith("ratings-")}  # see test_ratings


def untold(exhibits: list[Exhibit | None]) -> set[str]:
    """Columns without a meaning."""
    columns = {str(c) for exhibit in exhibits if exhibit is not None for c in exhibit.table.columns}
    return {column for column in columns if not meaning(column)}


def several(shown: Any) -> list[Exhibit | None]:
    return list(shown) if isinstance(shown, list | tuple) else [shown]


def test_columns_of_exhibits_of_runs_are_explained() -> None:
    of = featured_crowd(200)
    results = {"one": made_up(of, "conal"), "other": made_up(of, "trace", draw=1)}
    plain = simulate_crowd()
    run = of_run(view(plain), invented(plain, "conal"))
    some = {"dataset": of, "first": "one", "second": "other", "by": "class", "worker": 0}

    def call(function: Callable[..., Any]) -> Any:
        kind, *others = inspect.signature(function).parameters.values()
        subject = {"RunView": run, "Sequence[RunView]": [run]}.get(str(kind.annotation), results)
        return function(subject, **{p.name: some[p.name] for p in others if p.default is p.empty})

    functions = [
        function
        for name, function in catalogue().items()
        if name not in {*OF_VIEWS, *OF_RATINGS, "recovery", "truth", "omega-truth"}
    ]
    assert untold([one for function in functions for one in several(call(function))]) == set()


def test_meanings_are_sentences_and_the_docs_hold_each() -> None:
    page = (ROOT / "docs" / "figures" / "glossary.md").read_text()
    for name, words in GLOSSARY.items():
        assert words[0].isupper() and words.endswith("."), name
    assert page == PAGE.read_text(), "copy crowdcore/exhibits/glossary.md to docs/figures/glossary.md"
    assert glossary().table["column"].tolist() == list(GLOSSARY)
    assert meaning("accuracy %") and meaning("skill correlation ±") and not meaning("nonsense")
