"""Significance and Selection on Compare, and what the page says where a comparison has no basis."""

from __future__ import annotations

import pytest

import crowdcore as cc
from crowdcore.learning.comparison import significance
from tests.dashboard.app_page import table, words
from tests.dashboard.compared_runs import METHODS, Recorded, page


def test_significance_is_tested_over_tasks_and_over_seeds_and_says_how_the_two_relate(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Significance", at="last")
    results = {m: recorded.results[m] for m in METHODS}
    seeds = cc.analysis.paired_tests({m: r.accuracy("test", at="last") for m, r in results.items()})
    assert table(test, "seeds")["p"].tolist() == pytest.approx(seeds.p_value.tolist())
    assert table(test, "seeds")["difference (points)"].tolist() == pytest.approx((100 * seeds.difference).tolist())
    assert seeds.caveat in words(test)
    tasks, found = significance.over_tasks(results, "last"), table(test, "McNemar p")
    assert found["low"].tolist() == pytest.approx((100 * tasks.low).tolist())
    assert found["McNemar adjusted p"].tolist() == pytest.approx(tasks.mcnemar_adjusted.tolist(), nan_ok=True)
    assert words(test).count("seeds vary only") == 1
    best = words(page(runs=recorded.of(*METHODS), view="Significance", at="best"))
    assert "use the selected epoch" in best


def test_the_ways_of_selecting_stand_side_by_side(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Selection")
    frame = table(test, "rank from").set_index("run")
    assert list(frame.index) == list(METHODS)
    for method in METHODS:
        for column, at in (("from %", "selected"), ("to %", "last")):
            reached = 100 * recorded.results[method].accuracy("test", at=at).mean()
            assert frame.loc[method, column] == pytest.approx(reached)
    assert "“gold of the valid split”" in words(test)


def test_one_run_of_one_seed_shows_no_deviation_and_no_empty_test(recorded: Recorded) -> None:
    test = page(runs=recorded.of("one seed"))
    assert not [c for frame in test.dataframe for c in frame.value.columns if "±" in c or "std" in c]
    assert not [c for frame in test.dataframe for c in frame.value.columns if frame.value[c].isna().any()]
    assert "ensemble" not in words(test).lower()
    alone = page(runs=recorded.of("one seed"), view="Significance")
    assert words(alone).count("at least two runs") == 1
    assert not alone.dataframe


def test_without_a_test_split_every_tab_says_so(recorded: Recorded) -> None:
    for view in ("Accuracy", "Significance", "Selection", "Calibration"):
        said = words(page(runs=recorded.of("no test"), view=view))
        assert "has no test split" in said, view
