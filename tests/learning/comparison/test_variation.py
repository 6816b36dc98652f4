"""What varies among runs: short names, axes, and no point that mixes what is not alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.data import simulate
from crowdcore.learning.comparison.summary import accuracies
from crowdcore.learning.comparison.variation import along, axes, facts, in_words, names, varying
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

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
