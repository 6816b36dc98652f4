"""Two workers and no gold: where they disagree nobody knows who is wrong, so neither is accused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.data import from_frame
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view, worker_page

REFERENCES = ["auto", "dawid-skene", "majority-vote"]
UNKNOWN = (
    "labelled the same tasks. Where the two differ, labels do not tell who is wrong: gold would, or a third worker."
)


def two(agree: float, *, n: int = 60, n_classes: int = 2, names: tuple[str, str] = ("anna", "ben")) -> CrowdDataset:
    """Two workers who give the same label to a share of the tasks; anna is always right."""
    rng = np.random.default_rng(1)
    true = rng.integers(n_classes, size=n)
    other = np.where(np.arange(n) < agree * n, true, (true + rng.integers(1, n_classes, n)) % n_classes)
    tasks = [f"{names[0]} {i}" for i in range(n)]
    frame = pd.DataFrame(
        {
            "task": tasks * 2,
            "worker": np.repeat(names, n),
            "label": [f"c{label}" for label in np.r_[true, other]],
            "timestamp": 1_700_000_000 + 60 * np.tile(np.arange(n), 2),
        }
    )
    return from_frame(frame, gold={task: f"c{label}" for task, label in zip(tasks, true, strict=True)})


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("agree", [0.0, 0.3, 0.6])
def test_nobody_is_accused(reference: str, n_classes: int, agree: float) -> None:
    found = analysis.worker_verdicts(two(agree, n=200, n_classes=n_classes), reference)
    assert set(found.verdict) <= {"underpowered", "trust"}
    assert len(set(found.verdict)) == 1
    assert agree > 0 or found.verdict[0] == "underpowered"
    assert not found.train.any()
    assert not found.accused.any()


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_reason_says_what_would_tell(reference: str) -> None:
    of = view(two(0.0), reference)
    table = verdicts.worker_verdicts(of).table.set_index("worker")
    assert table["verdict"].tolist() == ["underpowered"] * 2
    assert table["reason"]["anna"] == f"Only ben {UNKNOWN}"
    assert table["reason"]["ben"] == f"Only anna {UNKNOWN}"
    assert verdicts.verdicts(of).notes[1].startswith("Nobody can be accused: every worker shares tasks with one other")
    assert "third opinion" in worker_page.worker_verdict(of, "anna").table["message"].iloc[0]


def test_nobody_is_told_that_more_labels_would_help_where_nobody_else_labels_the_tasks() -> None:
    alone = from_frame(pd.DataFrame({"task": ["a", "b"], "worker": "ann", "label": ["x", "y"]}))
    told = worker_page.worker_verdict(view(alone, "auto"), "ann").table["message"].iloc[0]
    assert told == "Thank you for your 2 labels. To tell you how well they fit, we need other opinions on your tasks."


def test_gold_tells_who_is_wrong_and_agreement_is_trusted() -> None:
    assert analysis.worker_verdicts(two(0.6, n=200), "gold").verdict.tolist() == ["trust", "check"]
    assert analysis.worker_verdicts(two(1.0), "auto").verdict.tolist() == ["trust", "trust"]


def test_two_teams_of_two_without_a_common_task_are_two_such_pairs() -> None:
    teams = [two(0.0), two(0.0, names=("carla", "dan"))]
    frame = pd.concat([team.annotations for team in teams])
    found = analysis.worker_verdicts(from_frame(frame), "auto")
    assert found.only_peer.tolist() == [1, 0, 3, 2]
    assert found.verdict.tolist() == ["underpowered"] * 4


def test_a_third_worker_on_one_of_the_tasks_is_a_judge() -> None:
    frame = two(0.5).annotations
    more = frame[frame["worker"] == "ben"].assign(worker="carla")
    found = analysis.worker_verdicts(from_frame(pd.concat([frame, more])), "majority-vote")
    assert (found.only_peer == -1).all()
