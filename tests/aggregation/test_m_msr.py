"""M-MSR against counting by hand, exact rank-one data, adversaries and crowd-kit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.aggregation.m_msr import _pairs, _trimmed_means
from crowdcore.core.errors import DataError
from testkit.crowds import simulate_crowd


def test_agreements_are_counted_over_common_tasks():
    crowd = simulate_crowd(40, 7, 3, per_task=3, accuracy=0.6, seed=2)
    pairs = _pairs(crowd, None)
    given = {(i, r): c for i, r, c in zip(crowd.task, crowd.worker, crowd.label, strict=True)}
    expected = {}
    for r in range(7):
        for s in range(7):
            common = [i for i in range(40) if r != s and (i, r) in given and (i, s) in given]
            if common:
                share = np.mean([given[i, r] == given[i, s] for i in common])
                expected[r, s] = 3 / 2 * share - 1 / 2
    found = dict(zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.agreement, strict=True))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("trim", [0, 1, 3])
def test_trimmed_means_leave_out_the_extremes_on_either_side_of_the_own_value(trim):
    crowd = simulate_crowd(60, 9, 3, per_task=3)
    pairs = _pairs(crowd, None)
    rng = np.random.default_rng(0)
    values, own = rng.random(len(pairs.first)), rng.random(9)
    found = _trimmed_means(pairs, values, own, trim)
    for r in range(9):
        mine = sorted(values[pairs.first == r])
        below = [v for v in mine if v < own[r]][trim:]
        above = [v for v in mine if v > own[r]]
        kept = below + above[: max(len(above) - trim, 0)]
        assert found[r] == pytest.approx(np.mean(kept) if kept else own[r])


def test_skills_are_recovered_with_an_error_that_falls_as_one_over_root_labels():
    rng = np.random.default_rng(1)
    accuracy = rng.uniform(0.45, 0.9, 12)
    sizes, errors = [500, 2_000, 8_000, 32_000], []
    for n in sizes:
        error = []
        for seed in range(4):
            base = simulate_crowd(n, 12, 3, per_task=5, accuracy=1.0, seed=seed)
            draw = np.random.default_rng(100 + seed)
            wrong = (base.label + draw.integers(1, 3, base.n_annotations)) % 3
            right = draw.random(base.n_annotations) < accuracy[base.worker]
            crowd = replace(base, label=np.where(right, base.label, wrong))
            found = cc.aggregation.get("m-msr", corrupted=0).fit(crowd).worker_weight
            error.append((found - (3 * accuracy - 1) / 2) ** 2)
        errors.append(np.sqrt(np.mean(error)))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.12)
    assert errors[-1] < 0.01


def test_colluding_adversaries_do_not_move_the_others():
    base = simulate_crowd(2000, 20, 3, per_task=12, accuracy=0.8, seed=3)
    together = np.random.default_rng(5).integers(3, size=2000)  # six workers give one and the same random answer
    crowd = replace(base, label=np.where(base.worker < 6, together[base.task], base.label))
    found = cc.aggregation.get("m-msr").fit(crowd)
    honest = found.worker_weight[6:]
    np.testing.assert_allclose(honest, (3 * 0.8 - 1) / 2, atol=0.08)
    plain = cc.aggregation.get("m-msr", corrupted=0).fit(crowd)
    assert (found.labels == base.gold).mean() > 0.95 > (plain.labels == base.gold).mean()


@pytest.mark.filterwarnings("ignore")
def test_no_worse_than_crowd_kit(data_folder):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    for name in ("labelme", "leaves"):
        dataset = cc.load_dataset(name)
        seen = dataset.annotated
        theirs = kit.MMSR().fit_predict(dataset.annotations.astype(str)).reindex(dataset.task_ids[seen])
        gold = np.array(dataset.classes)[dataset.gold[seen]]
        ours = np.array(dataset.classes)[cc.aggregation.get("m-msr").fit(dataset).labels[seen]]
        assert (ours == gold).mean() >= (theirs.to_numpy() == gold).mean()
        assert (ours == theirs.to_numpy()).mean() > 0.9


def test_known_tasks_are_answers_of_one_more_worker():
    crowd = simulate_crowd(400, 10, 3, per_task=5, accuracy=0.6)
    known = np.where(np.arange(400) < 200, crowd.gold, -1)
    result = cc.aggregation.get("m-msr").fit(crowd, known=known)
    assert result.worker_weight.shape == (10,)
    np.testing.assert_allclose(result.worker_weight, 0.4, atol=0.12)


@pytest.mark.parametrize(
    ("case", "keep"), [("pair", lambda w: w < 2), ("star", lambda w: np.ones(len(w), bool)), ("alone", lambda w: w < 1)]
)
def test_refuses_workers_whose_skill_no_agreement_tells(case, keep):
    crowd = simulate_crowd(60, 6, 3, per_task=6)
    crowd = crowd.where(keep(crowd.worker))
    if case == "star":  # worker 0 meets each other worker on tasks of their own: only products of two skills are seen
        crowd = crowd.where((crowd.worker == 0) | (crowd.worker == 1 + crowd.task % 5))
    with pytest.raises(DataError, match="too few others"):
        cc.aggregation.get("m-msr").fit(crowd)


def test_a_pair_apart_has_the_mean_skill_of_the_others():
    crowd = simulate_crowd(200, 8, 3, per_task=6)
    apart = crowd.task < 20
    crowd = crowd.where((apart & (crowd.worker < 2)) | (~apart & (crowd.worker >= 2)))
    result = cc.aggregation.get("m-msr").fit(crowd)
    np.testing.assert_allclose(result.worker_weight[:2], result.worker_weight[2:].mean())
    assert result.notes[0].startswith("2 workers ")


def test_sets_of_workers_without_common_tasks_are_judged_apart():
    one, two = (simulate_crowd(2000, 6, 3, per_task=4, accuracy=a, seed=s) for a, s in ((0.9, 0), (0.6, 1)))
    both = cc.CrowdDataset(
        "both",
        one.classes,
        pd.Index([f"t{i}" for i in range(4000)]),
        pd.Index([f"w{r}" for r in range(12)]),
        np.append(one.task, two.task + 2000),
        np.append(one.worker, two.worker + 6),
        np.append(one.label, two.label),
    )
    found = cc.aggregation.get("m-msr").fit(both).worker_weight
    np.testing.assert_allclose(found, np.repeat([0.85, 0.4], 6), atol=0.15)
