"""Runs that may be compared, by how much they differ and vary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.analysis import paired_bootstrap, paired_tests
from crowdcore.cli.train import accuracy_table as table
from crowdcore.core.errors import DataError
from crowdcore.data import simulate
from crowdcore.exhibits import comparison as exhibits, differences
from crowdcore.learning.comparison import summary
from crowdcore.learning.comparison.comparability import features_seen, warnings
from crowdcore.learning.comparison.significance import rank_changes
from crowdcore.learning.comparison.summary import accuracies
from crowdcore.learning.comparison.variation import along, axes, facts, in_words, names, varying
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.validation import selected_by
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.learning.ratings.crowd import rated_crowd

RATED, _ = rated_crowd()


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(200)


def test_runs_that_saw_features_without_labels_stand_apart(crowd):
    results = {
        name: made_up(crowd, "gaussian-em", draw=k, settings={"unlabelled": seen})
        for k, (name, seen) in enumerate([("all of them", "all"), ("none", "no"), ("none either", "no")])
    }
    assert exhibits.accuracies(results).table["run"].drop_duplicates().tolist()[0] == "none"
    assert exhibits.accuracies(results).table["features without labels"].iloc[-1] == "the test features themselves"
    for shown in differences.tests(results):
        assert shown.table.empty
        assert "against each other" in shown.notes[0]
    assert any("without labels" in words for words in warnings(results))
    alike = {name: results[name] for name in ("none", "none either")}
    assert "features without labels" not in exhibits.accuracies(alike).table
    assert not differences.over_seeds(alike).table.empty


@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ("dl-em", "no"),
        ("gaussian-em unlabelled=all", "all"),
        ("0.6 dl-em^0.6 + 0.4 gaussian-em unlabelled=validation", "validation"),
    ],
)
def test_what_auto_chose_may_have_seen_features_without_labels(crowd, chosen, seen):
    result = made_up(crowd, "auto", settings={"unlabelled": "no", "chosen": chosen})
    assert features_seen(result) == seen


def test_a_table_of_one_kind_tells_it_too(crowd):
    result = made_up(crowd, "gaussian-em", settings={"unlabelled": "all"})
    for told in (exhibits.accuracies({"a": result}).table, table([summary.row(result)])):
        assert set(told["features without labels"]) == {"the test features themselves"}


@pytest.mark.parametrize(
    ("select_on", "way"),
    [
        ("auto", "gold"),
        ("gold", "gold"),
        ("holdout", "training-gold"),
        ("consensus", "crowd"),
        ("crowd", "crowd"),
        ("none", "none"),
    ],
)
def test_every_setting_of_the_trainer_is_one_of_the_ways(select_on: str, way: str) -> None:
    crowd = featured_crowd(200)
    crowd = replace(crowd, split=np.where(np.arange(200) % 5 == 0, 1, crowd.split))
    assert selected_by(make_problem(crowd, TrainSettings(select_on=select_on)).validated_on) == way


def test_tasks_held_out_without_gold_are_judged_by_the_crowd() -> None:
    crowd = featured_crowd(200)
    hidden = replace(crowd, gold=np.where(crowd.split == 0, -1, crowd.gold))
    assert selected_by(make_problem(hidden, TrainSettings(select_on="holdout")).validated_on) == "crowd"


def test_ratings_whose_epoch_gold_selects_are_not_said_to_be_selected_by_the_crowd() -> None:
    words = {s: make_problem(RATED, TrainSettings(select_on=s)).validated_on for s in ("holdout", "crowd", "none")}
    assert {s: selected_by(word) for s, word in words.items()} == {
        "holdout": "training-gold", "crowd": "crowd", "none": "none",
    }  # fmt: skip
    split = np.where(np.arange(RATED.n_tasks) % 5 == 0, 1, 0)
    valid = make_problem(replace(RATED, split=split), TrainSettings(select_on="gold"))
    assert selected_by(valid.validated_on) == "gold"
    silent = replace(RATED, split=split).where(split[RATED.task] == 0)  # nobody rated the valid split
    assert make_problem(silent, TrainSettings(select_on="crowd")).validated_on.startswith("mean ratings of")
    with pytest.raises(DataError, match="no annotations"):
        make_problem(silent, TrainSettings(select_on="consensus"))


CROWD = "majority vote of the valid split"


@pytest.fixture(scope="module")
def tested():
    return featured_crowd(300)


@pytest.fixture(scope="module")
def results(tested):
    sure = {"conal": 1.6, "trace": 1.5, "dl-mv": 1.0}
    by_gold = {m: made_up(tested, m, (0, 1, 2, 3, 4, 5), sure=s, select_on="gold") for m, s in sure.items()}
    by_crowd = {
        f"{m}, crowd": replace(made_up(tested, m, (5, 1, 2, 8), sure=s, draw=7, select_on="crowd"), validated_on=CROWD)
        for m, s in {"conal": 0.8, "trace": 1.5}.items()
    }
    return by_gold | by_crowd


def ranked(values: list[float]) -> list[int]:
    return [1 + sum(other > value for other in values) for value in values]


def test_selected_against_last_of_the_same_run(results):
    change = next(one for one in rank_changes(results) if (one.before, one.after) == ("gold", "none"))
    assert change.runs == change.methods == ("conal", "trace", "dl-mv")
    for column, at in enumerate(("selected", "last")):
        means = [results[m].accuracy("test", at=at).mean() for m in change.runs]
        assert change.accuracy[:, column] == pytest.approx(means)
        assert change.rank[:, column].tolist() == ranked(means)
    for k, method in enumerate(change.runs):
        r = results[method]
        test = r.split == 2
        hits = {at: (p[:, test].argmax(-1) == r.gold[test]).mean(0) for at, p in r.probabilities.items()}
        alone = paired_bootstrap(hits["last"] - hits["selected"])
        assert (change.low[k], change.high[k]) == pytest.approx((alone.low, alone.high))
        assert change.over_tasks[k] >= alone.p_value  # Holm
        pair = paired_tests({"a": r.accuracy("test", at="last"), "b": r.accuracy("test")})
        assert change.over_seeds[k] >= pair.p_value[0]
    assert change.n_seeds.tolist() == [6, 6, 6]


def test_gold_against_crowd_over_the_seeds_and_methods_that_both_have(results):
    change = next(one for one in rank_changes(results) if (one.before, one.after) == ("gold", "crowd"))
    assert change.runs == ("conal", "trace")
    assert change.n_seeds.tolist() == [3, 3]
    gold = [results[m].accuracy("test")[[5, 1, 2]].mean() for m in change.runs]
    tested = [results[f"{m}, crowd"].accuracy("test")[[0, 1, 2]].mean() for m in change.runs]
    assert change.accuracy == pytest.approx(np.stack([gold, tested], 1))
    assert change.rank.tolist() == np.stack([ranked(gold), ranked(tested)], 1).tolist()
    moved = sum(a != b for a, b in change.rank.tolist())
    assert f"{moved} of 2 ranks" in change.sentence


def test_every_two_ways_are_an_exhibit_and_crossing_ranks_cross(results):
    shown = differences.rank_changes(results)
    assert [e.name for e in shown] == ["selection-gold-crowd", "selection-gold-none", "selection-crowd-none"]
    changes = {(one.before, one.after): one for one in rank_changes(results)}[("gold", "crowd")]
    lines = [t for t in shown[0].figure.data if t.mode == "lines+markers"]
    assert [t.name for t in lines] == list(changes.runs)
    assert [[d[1] for d in t.customdata] for t in lines] == changes.rank.tolist()
    assert (np.diff([t.y[0] for t in lines])[0] > 0) == (changes.rank[1, 0] > changes.rank[0, 0])
    assert shown[1].table["from"].unique().tolist() == ["gold of the valid split"]
    [alone] = differences.rank_changes({"trace": results["trace"]})
    assert alone.figure is None
    assert len(alone.table) == 1


def test_equal_methods_share_a_rank_and_runs_again_count_by_themselves(tested, results):
    again = made_up(tested, "conal", (0, 1, 2, 3, 4, 5), sure=1.6, select_on="gold")
    [found] = rank_changes({"conal": results["conal"], "again": again})
    assert found.runs == ("conal (1)", "conal (2)")
    assert found.rank.tolist() == [[1, 1], [1, 1]]


def test_runs_that_keep_their_last_epoch_have_nothing_to_compare(results):
    last = {m: replace(results[m], validated_on="") for m in ("conal", "trace")}
    assert rank_changes(last) == []
    [shown] = differences.rank_changes(last)
    assert "keep their last epoch" in shown.notes[0]


SMALL = {"n_tasks": 120, "n_valid": 20, "n_test": 40, "n_workers": 5}


def sweep(runs, x, at="selected", crowds=None):
    known = [facts(r, crowds[k] if crowds else None) for k, r in enumerate(runs)]
    return known, along(runs, known, x, [accuracies(r)[at] for r in runs])


def test_names_say_what_tells_runs_of_a_method_apart():
    crowd = featured_crowd()
    runs = [
        made_up(crowd, "conal", settings={"regularisation": 1e-5, "embedding": 20}),
        made_up(crowd, "conal", settings={"regularisation": 0.0, "embedding": 20}),
        made_up(crowd, "trace", settings={"strength": 0.01}),
        made_up(crowd, "crowd-layer"),
        made_up(crowd, "crowd-layer"),
        made_up(replace(crowd, name="elsewhere"), "dl-mv"),
    ]
    assert names([facts(r) for r in runs]) == [
        "conal, regularisation 1e-05",
        "conal, regularisation 0",
        "trace",
        "crowd-layer (1)",
        "crowd-layer (2)",
        "dl-mv",
    ]


def test_numbers_that_are_equal_do_not_vary():
    assert varying([{"lr": 1, "a": True}, {"lr": 1.0, "a": 1}, {"b": 3}]) == ["a"]


def test_a_name_that_somebody_gave_comes_first():
    runs = [made_up(featured_crowd(), method) for method in ("conal", "conal", "trace")]
    known = [facts(r) for r in runs]
    assert names(known, ["best", "", ""]) == ["best", "conal", "trace"]
    assert names(known, ["trace", "", ""]) == ["trace (1)", "conal", "trace (2)"]


def test_axes_are_numbers_first_and_never_what_only_names():
    known = [
        {"method": "a", "connection": "mw", "lr": 0.1, "dataset": "x", "fingerprint": "1", "crowd: proportion": 0.1},
        {"method": "b", "connection": "vw", "lr": 0.2, "dataset": "y", "fingerprint": "2", "crowd: proportion": 0.2},
    ]
    assert axes(known) == ["crowd: proportion", "lr", "connection"]
    assert in_words("crowd: common_strength") == "common strength"


def test_table_2_one_curve_along_lambda_and_others_left_out():
    crowd = featured_crowd(200)
    strengths = (1e-4, 0.0, 1e-6)
    runs = [made_up(crowd, "conal", draw=k, settings={"regularisation": s}) for k, s in enumerate(strengths)]
    _, bands = sweep([*runs, made_up(crowd, "trace")], "regularisation")
    [curve] = bands
    assert curve.x.tolist() == [0.0, 1e-6, 1e-4]
    expected = [runs[k].accuracy("test") for k in (1, 2, 0)]
    assert curve.mean == pytest.approx([v.mean() for v in expected])
    assert curve.std == pytest.approx([v.std(ddof=1) for v in expected])


def test_figures_4_and_6_draws_of_one_crowd_meet_in_a_point():
    crowds = [
        simulate.synthetic(common_strength=strength, seed=seed, **SMALL) for strength in (0.4, 0.8) for seed in (0, 1)
    ]
    runs = [made_up(c, m, draw=k) for k, c in enumerate(crowds) for m in ("conal", "trace")]
    known, bands = sweep(runs, "crowd: common strength", crowds=[c for c in crowds for _ in range(2)])
    assert "crowd: common strength" in axes(known)
    assert "crowd: seed" not in axes(known)
    assert [b.name for b in bands] == ["conal", "trace"]
    assert [b.n.tolist() for b in bands] == [[6, 6], [6, 6]]
    conal = [r.accuracy("test") for r in runs if r.method == "conal"]
    assert bands[0].mean == pytest.approx([np.mean(conal[:2]), np.mean(conal[2:])])


def test_crowds_that_differ_otherwise_stay_on_curves_of_their_own():
    crowds = [simulate.synthetic(common_strength=s, proportion=p, **SMALL) for p in (0.3, 0.6) for s in (0.4, 0.8)]
    runs = [made_up(c, "conal") for c in crowds]
    _, bands = sweep(runs, "crowd: common strength", crowds=crowds)
    assert [b.name for b in bands] == ["conal, proportion 0.3", "conal, proportion 0.6"]
    assert [b.n.tolist() for b in bands] == [[3, 3], [3, 3]]


def test_real_datasets_are_never_one_point():
    one = featured_crowd(200)
    other = replace(featured_crowd(200, seed=5), name="other")
    runs = [made_up(c, "conal", lr=lr) for c in (one, other) for lr in (0.1, 0.01)]
    _, bands = sweep(runs, "lr", crowds=[one, one, other, other])
    assert len(bands) == 2
    assert all(b.n.tolist() == [3, 3] for b in bands)
    assert "other" in bands[1].name
    again = replace(made_up(one, "conal", lr=0.1), fingerprint="0" * 32)  # the same name, other content
    _, bands = sweep([*runs[:2], again], "lr")
    assert [b.n.tolist() for b in bands] == [[3, 3], [3]]


def test_numbers_in_the_names_of_datasets_are_an_axis():
    crowds = [replace(featured_crowd(60, seed=k), name=f"labels-{k}-of-9") for k in (1, 3)]
    known, bands = sweep([made_up(c, "conal") for c in crowds], "name: number 1", crowds=crowds)
    assert "name: number 1" in axes(known)
    assert "name: number 2" not in axes(known)
    assert [b.x.tolist() for b in bands] == [[1.0, 3.0]]
    assert in_words("name: number 1") == "number 1 of the dataset's name"


def test_a_seed_that_was_trained_twice_counts_once():
    crowd = featured_crowd(200)
    runs = [made_up(crowd, "conal", (0, 1), lr=0.1), made_up(crowd, "conal", (1, 2), lr=0.1)]
    _, [curve] = sweep([*runs, made_up(crowd, "conal", lr=0.2)], "lr")
    assert curve.n.tolist() == [3, 3]
    first, second = (r.accuracy("test") for r in runs)
    assert curve.mean[0] == pytest.approx(np.mean([first[0], first[1], second[1]]))
