"""Sentences on panels: planted panels in which each sentence would be false."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.vote import vote_score
from crowdcore.exhibits import panel, view
from tests.analysis.panels.crowds import difficult, independent, judged

MODELS = [f"gpt-{k}" for k in range(3)] + [f"claude-{k}" for k in range(3)] + ["llama-1", "qwen-1"]


def test_an_independent_panel_is_told_so() -> None:
    verdicts, truth = independent(2_000, 8, 1)
    headline = panel.headline(view(judged(verdicts, truth, MODELS)))
    assert "no dependence" in headline[0]
    assert not any("share mistakes beyond what is hard for all: " in sentence for sentence in headline)


def test_twins_and_families_are_told_first_and_cells_lead_to_items() -> None:
    verdicts, truth = difficult(600, 8, 2)
    verdicts[:, 5] = verdicts[:, 7] = verdicts[:, 1]
    seen = view(judged(verdicts, truth, MODELS))
    headline = panel.headline(seen)
    assert headline[1].startswith("claude-2, gpt-1 and qwen-1 share mistakes")
    errors = panel.panel_errors(seen)
    assert errors.click is not None and errors.click(0, 1)["worker"] != errors.click(0, 1)["other"]
    items = panel.panel_items(seen, "gpt-1", "qwen-1")
    wrong = verdicts[:, 1] != truth
    assert len(items.table) == wrong.sum() and (items.table["given"] == items.table["other's label"]).all()
    alone = panel.panel_items(seen, "gpt-0", "gpt-0").table
    right = verdicts == truth[:, None]
    assert len(alone) == (right[:, 0] & (right.sum(1) == 1)).sum()


def test_a_better_part_is_named_and_a_needed_judge_is_not_dropped() -> None:
    rng = np.random.default_rng(99)
    verdicts, truth = independent(3_000, 8, 4, right=0.8)
    verdicts[:, 5:] = rng.integers(0, 2, (3_000, 3))
    headline = panel.headline(view(judged(verdicts, truth, MODELS)))[-1]
    kept = headline.partition(":")[0]
    assert kept.startswith("Keep") and not any(name in kept for name in MODELS[5:])
    assert "points (+" in headline


def test_hidden_names_stay_hidden() -> None:
    verdicts, truth = difficult(300, 8, 5)
    verdicts[:, 5] = verdicts[:, 1]
    seen = view(judged(verdicts, truth, MODELS), hidden=True)
    shown = [panel.panel_errors(seen), panel.panel_judges(seen), panel.panel_alone(seen)]
    text = "".join(one.table.to_csv() + "".join(one.notes) + str(one.figure) for one in shown)
    assert not any(name in text for name in (*MODELS, "OpenAI", "Anthropic"))


def test_limits_of_a_panel() -> None:
    verdicts, truth = difficult(600, 8, 6)
    seen = view(judged(verdicts, truth))
    assert panel.failures(seen, 1, -1) == ()
    assert len(panel.failures(seen, 8, 0.99)) == 2
    with pytest.raises(cc.CrowdError, match="inferred"):
        panel.failures(view(judged(verdicts, truth), "majority-vote"), 1, 0)


def test_who_can_go_is_said_only_where_other_items_bear_it_out() -> None:
    wrong = 0
    for seed in range(12):
        verdicts, truth = independent(20_100, 5 + seed % 3, seed)
        seen = view(judged(verdicts[:100], truth[:100]))
        part = panel.of_view(seen).sub_panel
        assert part is not None
        gap = [vote_score(of, truth[100:], 2)[0].mean() for of in (verdicts[100:, part.members], verdicts[100:])]
        wrong += panel.headline(seen)[-1].startswith(("Drop", "Keep")) and gap[0] < gap[1] - 0.02
    assert wrong <= 1


def test_what_cannot_be_counted_is_not_called_independent() -> None:
    verdicts, truth = independent(400, 6, 2)
    right = np.tile(truth[:, None], (1, 6))
    verdicts[np.arange(400)[:, None] % 6 != np.arange(6)] = -1
    for of in (judged(verdicts, truth), judged(*independent(20, 6, 3)), judged(right, truth)):
        assert panel.headline(view(of))[0].startswith("Effective votes are not known")
        assert panel.failures(view(of), 1, -1)


@pytest.mark.parametrize("judges", [2, 3, 6])
def test_copies_alone_are_named(judges: int) -> None:
    verdicts, truth = independent(500, judges, 4)
    verdicts[:] = verdicts[:, :1]
    headline = panel.headline(view(judged(verdicts, truth)))
    assert headline[1].startswith("judge-0") and "nearly the same mistakes" in headline[1]


def with_gold_of(n: int, seed: int = 3) -> cc.CrowdDataset:
    crowd = judged(*difficult(400, 8, seed), MODELS)
    known = np.random.default_rng(seed).permutation(400)[:n]
    return replace(crowd, gold=np.where(np.isin(np.arange(400), known), crowd.gold, -1))


def test_score_names_items_without_gold_that_narrow_it_honestly() -> None:
    crowd = with_gold_of(60)
    score, after = panel.panel_score(view(crowd)), panel.panel_score_next(view(crowd))
    assert score.notes[0].split(" %")[0] == f"{100 * score.table['score'].iloc[0]:.1f}"
    assert len(after.table) == 40 and (crowd.gold[after.table.index] < 0).all() and "Label these 40" in after.title
    assert (score.table["next low"] >= score.table["score low"]).all()
    shares = [(crowd.label[crowd.task == i] == 1).mean() for i in range(400)]
    assert np.mean([shares[i] for i in after.table.index]) == pytest.approx(np.mean(shares), abs=0.03)
    truth = judged(*difficult(400, 8, 3), MODELS).gold
    more = replace(crowd, gold=np.where(np.isin(np.arange(400), after.table.index), truth, crowd.gold))
    widths = [one.table["score high"] - one.table["score low"] for one in (score, panel.panel_score(view(more)))]
    promised = (score.table["next high"] - score.table["next low"]).iloc[0]
    assert widths[1].iloc[0] < widths[0].iloc[0] and widths[1].iloc[0] == pytest.approx(promised, rel=0.15)
    assert "20 or more" in panel.panel_score(view(with_gold_of(5))).notes[0]
    assert panel.panel_score_next(view(with_gold_of(400))).notes == ("All items have gold.",)


def test_judges_beside_people_are_named_as_they_may_be_read() -> None:
    verdicts, truth = independent(300, 8, 3, right=0.85)
    verdicts[:40, 4:] = 1 - truth[:40, None]
    verdicts[:40, :3] = truth[:40, None]
    crowd = judged(verdicts, truth, ["ann", "ben", "cid", "dee", *MODELS[:4]])
    seen = view(crowd)
    people, items = panel.panel_people(seen), panel.panel_people_items(seen)
    assert "Taken for people: ann, ben, cid and dee." in people.notes and set(people.table["worker"]) == set(MODELS[:4])
    assert set(items.table.index) >= {*range(40)} and items.click is not None and items.click(0) == {"task": "i00000"}
    assert int(items.notes[0].split("right on ")[1].split(",")[0]) >= 40
    assert len(panel.panel_people_confusions(seen).table) == 2
    shown = [make(view(crowd, hidden=True)) for make in (panel.panel_people, panel.panel_people_confusions)]
    text = "".join(one.table.to_csv() + "".join(one.notes) for one in shown)
    assert not any(name in text for name in (*MODELS, "cid", "dee"))
    alone = panel.panel_people(view(with_gold_of(20)))
    assert alone.table.empty and "no people" in alone.notes[0]


def test_what_is_below_a_limit_looks_so() -> None:
    seen = view(judged(*difficult(600, 8, 6)))
    kish = panel.of_view(seen).votes[0].kish
    assert f"{kish + 1e-3:g}" not in panel.failures(seen, kish + 1e-3, -1)[0].partition(",")[0]


def test_names_of_columns_are_names_of_judges_too() -> None:
    names = ["task", "true", "wrong judges", "given", "worker", "other"]
    seen = view(judged(*difficult(300, 6, 3), names))
    assert len(panel.panel_items(seen, "task", "true").table) > 0
    assert [*panel.of_view(seen).items("task", "given")][:2] == ["task", "true"]
