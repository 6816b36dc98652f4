"""A panel's effective votes, its kin and who can go: against definitions, planted panels and lm-sim."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.kin import kin
from crowdcore.analysis.panels.moments import error_moments
from crowdcore.analysis.panels.panel import DROP, MERGE, RECALIBRATE, UNDECIDED
from crowdcore.analysis.panels.vote import vote_score
from tests.analysis.panels.crowds import difficult, independent, judged

CAPA = json.loads((Path(__file__).parent / "capa.json").read_text())


@pytest.fixture(scope="module")
def civil() -> cc.analysis.Panel:
    return cc.analysis.panel(cc.load_dataset("judges_civil"))


def test_known_panel(civil: cc.analysis.Panel) -> None:
    raw, within = civil.votes
    assert (round(raw.kish, 1), round(within.kish, 1)) == (3.4, 2.9)
    assert (raw.participation, within.participation) == (pytest.approx(4.70, abs=0.01), pytest.approx(6.25, abs=0.01))
    pairs = civil.correlation[np.triu_indices(24, 1)]
    assert round(float(pairs.mean()), 3) == 0.267
    assert (round(100 * civil.many_wrong, 2), round(100 * civil.many_expected, 2)) == (11.84, 0.03)
    assert round(float(civil.accuracy.max()), 3) == 0.772
    part = civil.sub_panel
    assert part is not None and part.low > 0
    both = civil.items("Phi-4-mini-instruct", "Qwen3-8B")
    assert len(both) and (both["Phi-4-mini-instruct"] == both["Qwen3-8B"]).all()


def test_intervals_cover_the_panel_of_all_items() -> None:
    verdicts, truth = difficult(60_000, 8, 1)
    whole = error_moments(verdicts.astype(np.int8), truth)
    from crowdcore.analysis.panels.moments import effective_votes

    goal, hits = effective_votes(whole, "gold", 20), np.zeros((2, 2))
    for part in range(100):
        rows = slice(600 * part, 600 * part + 600)
        votes = effective_votes(error_moments(verdicts[rows].astype(np.int8), truth[rows]), "gold", 200, part)
        for kind in (0, 1):
            one, true = votes[kind], goal[kind]
            hits[kind] += [
                one.kish_low <= true.kish <= one.kish_high,
                one.participation_low <= true.participation <= one.participation_high,
            ]
    assert hits[:, 0].min() >= 89
    assert hits[:, 1].min() >= 80


@pytest.mark.parametrize("case", CAPA, ids=lambda case: case["of"])
def test_kappa_p_equals_its_authors(case: dict) -> None:
    verdicts, truth = np.array(case["verdicts"]), np.array(case["truth"])
    panel = cc.analysis.panel(judged(verdicts, truth))
    assert panel.capa[0, 1] == pytest.approx(case["capa"], abs=1e-6)


def test_planted_trio_is_named_first() -> None:
    for seed in range(5):
        verdicts, truth = difficult(400, 9, seed)
        verdicts[:, 4] = verdicts[:, 7] = verdicts[:, 1]
        panel = cc.analysis.panel(judged(verdicts, truth))
        assert panel.kin[0].members.tolist() == [1, 4, 7]
        assert sorted(panel.verdicts[j] for j in (1, 4, 7)).count(MERGE) == 2
        assert panel.votes[0].kish < 6


def test_planted_family_is_named_first() -> None:
    hits = 0
    for seed in range(10):
        verdicts, truth = difficult(600, 9, seed)
        rng = np.random.default_rng(seed)
        model = verdicts[:, 2].copy()
        for j in (2, 5, 6):
            verdicts[:, j] = np.where(rng.random(600) < 0.75, model, verdicts[:, j])
        panel = cc.analysis.panel(judged(verdicts, truth))
        hits += bool(panel.kin) and panel.kin[0].members.tolist() == [2, 5, 6]
    assert hits >= 9


def test_raters_who_do_not_look_are_never_paired() -> None:
    for seed in range(20):
        verdicts, truth = difficult(500, 8, seed)
        verdicts[:, :2] = np.random.default_rng(seed).random((500, 2)) < 0.9
        panel = cc.analysis.panel(judged(verdicts, truth))
        assert not any({0, 1} & {*one.members.tolist()} for one in panel.kin)
        assert panel.verdicts[:2] == (DROP, DROP)


def test_honest_panels_have_no_kin() -> None:
    named = 0
    for seed in range(40):
        make = difficult if seed % 2 else independent
        verdicts, truth = make(350, 6 + seed % 10, seed)
        named += bool(kin(error_moments(verdicts.astype(np.int8), truth)))
    assert named <= 2


def test_independent_panel_counts_as_all_its_votes() -> None:
    verdicts, truth = independent(2_000, 7, 3)
    panel = cc.analysis.panel(judged(verdicts, truth))
    assert all(one.kish_high > 6.8 for one in panel.votes)
    assert panel.kin == () and MERGE not in panel.verdicts
    assert 0.5 < panel.many_wrong / max(panel.many_expected, 1e-9) < 2


def test_lenient_judge_who_knows_is_recalibrated() -> None:
    verdicts, truth = difficult(2_000, 7, 5)
    rng = np.random.default_rng(5)
    trait = (2 * truth - 1) * 0.8 + rng.normal(0, 1, 2_000)
    verdicts[:, 3] = trait > -1.2
    panel = cc.analysis.panel(judged(verdicts, truth))
    assert panel.verdicts[3] == RECALIBRATE


def test_vote_without_each_equals_votes_counted_again() -> None:
    rng = np.random.default_rng(2)
    votes, truth = rng.integers(-1, 3, (80, 5)).astype(np.int8), rng.integers(0, 3, 80)

    def right(labels: np.ndarray, true: int) -> float:
        if not len(labels):
            return np.nan
        counts = np.bincount(labels, minlength=3)
        return float(counts[true] == counts.max()) / (counts == counts.max()).sum()

    whole, without = vote_score(votes, truth, 3)
    for i in range(80):
        row = votes[i]
        np.testing.assert_allclose(whole[i], right(row[row >= 0], truth[i]), rtol=1e-6)
        for j in range(5):
            rest = np.delete(row, j)
            np.testing.assert_allclose(without[i, j], right(rest[rest >= 0], truth[i]), rtol=1e-6)


def test_missing_verdicts_and_costs() -> None:
    verdicts, truth = independent(800, 5, 9)
    verdicts[np.random.default_rng(1).random(verdicts.shape) < 0.2] = -1
    dear = cc.analysis.panel(judged(verdicts, truth), cost={"judge-0": 50.0}, tolerance=0.05)
    assert dear.sub_panel is not None and 0 not in dear.sub_panel.members and dear.sub_panel.cost < 0.1
    with pytest.raises(cc.SettingError, match="judge"):
        cc.analysis.panel(judged(verdicts, truth), families={"nobody": "x"})


def test_without_gold_nobody_is_dropped_or_kept() -> None:
    verdicts, _ = difficult(400, 6, 4)
    panel = cc.analysis.panel(judged(verdicts, None), "dawid-skene")
    assert {*panel.verdicts} == {UNDECIDED} and panel.sub_panel is None and np.isnan(panel.without).all()
    assert not panel.checked and not any(panel.reasons)
    verdicts[:, 2] = 1 - verdicts[:, 2]
    turned = cc.analysis.panel(judged(verdicts, None), "dawid-skene")
    assert [bool(reason) for reason in turned.reasons] == [False, False, True, False, False, False]


def test_judges_of_one_verdict_are_named() -> None:
    verdicts, truth = independent(300, 4, 2)
    verdicts[:, 1] = 1
    for gold in (truth, None):
        assert sum("judge-1" in note for note in cc.analysis.panel(judged(verdicts, gold)).notes) == 1
    verdicts[0, 1] = 0
    assert not any("judge-1" in note for note in cc.analysis.panel(judged(verdicts, truth)).notes)


def test_judges_at_chance_are_not_kept_without_a_word() -> None:
    rng = np.random.default_rng(7)
    for others in (rng.integers(0, 2, (2_000, 6)), np.zeros((2_000, 6), int)):
        truth = rng.integers(0, 2, 2_000)
        others[:, 2] = np.where(rng.random(2_000) < 0.9, truth, 1 - truth)
        panel = cc.analysis.panel(judged(others, truth))
        assert panel.verdicts == (DROP, DROP, "keep", DROP, DROP, DROP)
    few = cc.analysis.panel(judged(rng.integers(0, 2, (60, 6)), rng.integers(0, 2, 60)))
    assert all(few.reasons) and {*few.verdicts} <= {DROP, UNDECIDED}


def test_a_class_that_is_never_true_hides_no_one() -> None:
    verdicts, truth = difficult(1_000, 6, 3)
    rng = np.random.default_rng(3)
    verdicts[rng.random(verdicts.shape) < 0.1] = 2
    verdicts[:, 0] = rng.integers(0, 3, 1_000)
    panel = cc.analysis.panel(judged(verdicts, truth))
    assert panel.verdicts[0] == DROP and DROP not in panel.verdicts[1:]


def test_a_judge_whose_words_are_turned_round_is_told_so() -> None:
    verdicts, truth = difficult(1_000, 6, 3)
    verdicts[:, 0] = 1 - verdicts[:, 0]
    assert "turned round" in cc.analysis.panel(judged(verdicts, truth)).why[0]


def test_few_items_recalibrate_nobody() -> None:
    for seed in range(20):
        assert RECALIBRATE not in cc.analysis.panel(judged(*independent(12, 6, seed, right=0.85))).verdicts


def test_one_shared_slip_makes_no_kin() -> None:
    verdicts, truth = difficult(500, 8, 2)
    verdicts[:, :2] = truth[:, None]
    verdicts[7, :2] = 1 - truth[7]
    assert not cc.analysis.panel(judged(verdicts, truth)).kin


def test_columns_say_families_and_costs_and_strange_words_are_named() -> None:
    crowd = judged(*difficult(200, 4, 3))
    family = np.array(["x", "x", "y", "y"])[crowd.worker]
    described = replace(
        crowd, extra=pd.DataFrame({"provider": family, "cost": 1.0 + crowd.worker}), classes=("fail", "pass")
    )
    panel = cc.analysis.panel(described)
    assert panel.families == ("x", "x", "y", "y") and panel.notes == ()
    assert cc.analysis.panel(described, families={}).families != panel.families
    assert panel.sub_panel is not None and panel.sub_panel.cost * 10 == pytest.approx(
        (panel.sub_panel.members + 1).sum()
    )
    odd = cc.analysis.panel(replace(described, classes=("fail", "pass", "parse error")))
    assert "'parse error'" in odd.notes[0]
