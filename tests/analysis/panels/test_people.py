"""Judges beside people: the alternative-annotator test as its authors compute it, and the choice of the people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.people import who_are_people
from tests.analysis.panels.crowds import judged

PEOPLE, MODELS = ["ann", "ben", "cid", "dee"], ["gpt-4o", "claude-3-haiku", "llama-3-8b"]

THEIRS = [
    (
        0.05,
        {"gpt-4o": (1 / 3, 0.9050882250174702), MODELS[1]: (0, 0.8592155835080364), MODELS[2]: (0, 0.6446235150244585)},
    ),
    (0.20, {"gpt-4o": (1, 0.9050882250174702), MODELS[1]: (1, 0.8592155835080364), MODELS[2]: (0, 0.6446235150244585)}),
]


def mixed(seed: int = 7, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Four people who are right in 80 %, some of their labels missing, and models right in 90, 80 and 50 %."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    right = rng.random((n, 7)) < [0.8, 0.8, 0.75, 0.85, 0.9, 0.8, 0.5]
    verdicts = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, (n, 7))) % 3)
    verdicts[:, :4][rng.random((n, 4)) < 0.2] = -1
    verdicts[:95, 3] = -1
    return verdicts, truth


@pytest.mark.parametrize(("epsilon", "theirs"), THEIRS)
def test_test_is_its_authors(epsilon: float, theirs: dict[str, tuple[float, float]]) -> None:
    """Numbers of alt_test in github.com/nitaytech/AltTest on the same labels."""
    people = cc.analysis.panel_people(judged(*mixed(), PEOPLE + MODELS), epsilon=epsilon)
    assert list(people.worker_ids[people.people]) == PEOPLE and list(people.tested) == [3, 3, 3]
    for name, wins, advantage in zip(people.worker_ids[people.judges], people.wins, people.advantage, strict=True):
        assert (wins, advantage) == pytest.approx(theirs[name], abs=1e-12)


def test_agreement_is_with_the_vote_of_people_and_no_tie_counts() -> None:
    verdicts, truth = mixed()
    people = cc.analysis.panel_people(judged(verdicts, truth, PEOPLE + MODELS))
    counts = np.stack([(verdicts[:, :4] == c).sum(1) for c in range(3)], 1)
    clear = (np.sort(counts, 1)[:, -1] > np.sort(counts, 1)[:, -2]) & (counts.sum(1) > 0)
    at = list(people.worker_ids[people.judges]).index("gpt-4o")
    same = (verdicts[:, 4] == counts.argmax(1))[clear]
    assert people.n[at] == clear.sum() == people.confusion[at].sum() and people.agreement[at] == same.mean()
    assert people.low[at] < people.agreement[at] < people.high[at] and people.kappa[at] < people.agreement[at]


def test_items_on_which_all_judges_contradict_people() -> None:
    verdicts, truth = mixed(n=200)
    truth[:10], verdicts[:10, :3], verdicts[:10, 4:] = 0, 0, 2
    truth[10:15], verdicts[10:15, :3], verdicts[10:15, 4:] = 2, 0, 2
    people = cc.analysis.panel_people(judged(verdicts, truth, PEOPLE + MODELS))
    table = people.items()
    assert {f"i{i:05d}" for i in range(10)} <= set(table["task"][table["who is right"] == "people"])
    assert {f"i{i:05d}" for i in range(10, 15)} <= set(table["task"][table["who is right"] == "judges"])
    assert list(table["who is right"]) == sorted(table["who is right"], key=["people", "judges", ""].index)


def test_a_model_like_the_people_passes_and_one_that_guesses_does_not() -> None:
    passed = np.zeros(2)
    for seed in range(10):
        people = cc.analysis.panel_people(judged(*mixed(seed, 400), PEOPLE + MODELS))
        by = dict(zip(people.worker_ids[people.judges], people.passes, strict=True))
        passed += by["claude-3-haiku"], by["llama-3-8b"]
    assert passed[0] >= 9 and passed[1] == 0
    two = cc.analysis.panel_people(judged(*mixed(), PEOPLE + MODELS), ["ann", "ben"])
    assert not two.passes.any() and "too few" in two.notes[-1]


def test_who_is_a_person_is_said_by_a_column_by_names_or_by_hand() -> None:
    crowd = judged(*mixed(), ["kim", "lou", "max", "nat", "mine", "judge-b", "gpt-4o"])
    called = np.array(crowd.worker_ids, object)
    assert set(called[who_are_people(crowd)]) == {"kim", "lou", "max", "nat", "mine"}
    assert set(called[who_are_people(crowd, ["kim", "lou"])]) == {"kim", "lou"}
    kind = np.where(np.isin(called[crowd.worker], ["mine", "judge-b", "gpt-4o"]), "LLM_JUDGE", "HUMAN")
    data = replace(crowd, extra=pd.DataFrame({"note": "x", "source": kind}))
    assert (
        set(called[who_are_people(data)]) == {"kim", "lou", "max", "nat"} == set(called[who_are_people(data, "source")])
    )
    for wrong in (["nobody"], "note", "nothing"):
        with pytest.raises(cc.SettingError, match="people"):
            who_are_people(data, wrong)


@pytest.mark.parametrize("names", [[*PEOPLE, "eve", "flo", "gus"], [f"gpt-{k}" for k in range(7)]])
def test_one_kind_alone_is_refused(names: list[str]) -> None:
    with pytest.raises(cc.DataError, match=r"no (people|judges)"):
        cc.analysis.panel_people(judged(*mixed(), names))
