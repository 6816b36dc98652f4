"""What is said of panels: planted panels in which each sentence would be false."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.vote import vote_score
from crowdcore.exhibits import panel, view
from tests.analysis.panels.crowds import difficult, independent, judged

MODELS = [f"gpt-{k}" for k in range(3)] + [f"claude-{k}" for k in range(3)] + ["llama-1", "qwen-1"]


def test_an_independent_panel_is_told_so() -> None:
    verdicts, truth = independent(2_000, 8, 1)
    told = panel.headline(view(judged(verdicts, truth, MODELS)))
    assert "no dependence" in told[0]
    assert not any("share mistakes beyond what is hard for all: " in sentence for sentence in told)


def test_twins_and_families_are_told_first_and_cells_lead_to_items() -> None:
    verdicts, truth = difficult(600, 8, 2)
    verdicts[:, 5] = verdicts[:, 7] = verdicts[:, 1]
    seen = view(judged(verdicts, truth, MODELS))
    told = panel.headline(seen)
    assert told[1].startswith("claude-2, gpt-1 and qwen-1 share mistakes")
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
    told = panel.headline(view(judged(verdicts, truth, MODELS)))[-1]
    kept = told.partition(":")[0]
    assert kept.startswith("Keep") and not any(name in kept for name in MODELS[5:])
    assert "points (+" in told


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
    told = panel.headline(view(judged(verdicts, truth)))
    assert told[1].startswith("judge-0") and "nearly the same mistakes" in told[1]


def test_what_is_below_a_limit_looks_so() -> None:
    seen = view(judged(*difficult(600, 8, 6)))
    kish = panel.of_view(seen).votes[0].kish
    assert f"{kish + 1e-3:g}" not in panel.failures(seen, kish + 1e-3, -1)[0].partition(",")[0]


def test_names_of_columns_are_names_of_judges_too() -> None:
    names = ["task", "true", "wrong judges", "given", "worker", "other"]
    seen = view(judged(*difficult(300, 6, 3), names))
    assert len(panel.panel_items(seen, "task", "true").table) > 0
    assert [*panel.of_view(seen).items("task", "given")][:2] == ["task", "true"]
