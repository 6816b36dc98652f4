"""Ranks under two ways of selecting, against plain loops over the results' own accuracies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.analysis import paired_bootstrap, paired_tests
from crowdcore.exhibits import differences
from crowdcore.learning.comparison.significance import rank_changes
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

CROWD = "majority vote of the valid split"


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(300)


@pytest.fixture(scope="module")
def results(crowd):
    sure = {"conal": 1.6, "trace": 1.5, "dl-mv": 1.0}
    by_gold = {m: made_up(crowd, m, (0, 1, 2, 3, 4, 5), sure=s, select_on="gold") for m, s in sure.items()}
    by_crowd = {
        f"{m}, crowd": replace(made_up(crowd, m, (5, 1, 2, 8), sure=s, draw=7, select_on="crowd"), validated_on=CROWD)
        for m, s in {"conal": 0.8, "trace": 1.5}.items()
    }
    return by_gold | by_crowd


def ranked(values: list[float]) -> list[int]:
    return [1 + sum(other > value for other in values) for value in values]


def test_selected_against_last_of_the_same_run(results):
    found = next(one for one in rank_changes(results) if (one.before, one.after) == ("gold", "none"))
    assert found.runs == found.methods == ("conal", "trace", "dl-mv")
    for column, at in enumerate(("selected", "last")):
        means = [results[m].accuracy("test", at=at).mean() for m in found.runs]
        assert found.accuracy[:, column] == pytest.approx(means)
        assert found.rank[:, column].tolist() == ranked(means)
    for k, method in enumerate(found.runs):
        r = results[method]
        test = r.split == 2
        hits = {at: (p[:, test].argmax(-1) == r.gold[test]).mean(0) for at, p in r.probabilities.items()}
        alone = paired_bootstrap(hits["last"] - hits["selected"])
        assert (found.low[k], found.high[k]) == pytest.approx((alone.low, alone.high))
        assert found.over_tasks[k] >= alone.p_value  # Holm
        pair = paired_tests({"a": r.accuracy("test", at="last"), "b": r.accuracy("test")})
        assert found.over_seeds[k] >= pair.p_value[0]
    assert found.n_seeds.tolist() == [6, 6, 6]


def test_gold_against_crowd_over_the_seeds_and_methods_that_both_have(results):
    found = next(one for one in rank_changes(results) if (one.before, one.after) == ("gold", "crowd"))
    assert found.runs == ("conal", "trace")
    assert found.n_seeds.tolist() == [3, 3]
    gold = [results[m].accuracy("test")[[5, 1, 2]].mean() for m in found.runs]
    crowd = [results[f"{m}, crowd"].accuracy("test")[[0, 1, 2]].mean() for m in found.runs]
    assert found.accuracy == pytest.approx(np.stack([gold, crowd], 1))
    assert found.rank.tolist() == np.stack([ranked(gold), ranked(crowd)], 1).tolist()
    moved = sum(a != b for a, b in found.rank.tolist())
    assert f"{moved} of 2 ranks" in found.sentence


def test_every_two_ways_are_an_exhibit_and_crossing_ranks_cross(results):
    shown = differences.rank_changes(results)
    assert [e.name for e in shown] == ["selection-gold-crowd", "selection-gold-none", "selection-crowd-none"]
    found = {(one.before, one.after): one for one in rank_changes(results)}[("gold", "crowd")]
    lines = [t for t in shown[0].figure.data if t.mode == "lines+markers"]
    assert [t.name for t in lines] == list(found.runs)
    assert [[d[1] for d in t.customdata] for t in lines] == found.rank.tolist()
    assert (np.diff([t.y[0] for t in lines])[0] > 0) == (found.rank[1, 0] > found.rank[0, 0])
    assert shown[1].table["from"].unique().tolist() == ["gold of the valid split"]
    [alone] = differences.rank_changes({"trace": results["trace"]})
    assert alone.figure is None
    assert len(alone.table) == 1


def test_equal_methods_share_a_rank_and_runs_again_count_by_themselves(crowd, results):
    again = made_up(crowd, "conal", (0, 1, 2, 3, 4, 5), sure=1.6, select_on="gold")
    [found] = rank_changes({"conal": results["conal"], "again": again})
    assert found.runs == ("conal (1)", "conal (2)")
    assert found.rank.tolist() == [[1, 1], [1, 1]]


def test_runs_that_keep_their_last_epoch_have_nothing_to_compare(results):
    last = {m: replace(results[m], validated_on="") for m in ("conal", "trace")}
    assert rank_changes(last) == []
    [shown] = differences.rank_changes(last)
    assert "keep their last epoch" in shown.notes[0]
