"""Beliefs about tasks: dependent labels, and workers with only one peer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.aggregation._evidence import Evidence, estimate_dependence
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.core.types import IntArray
from crowdcore.data import from_frame
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view, worker_page
from testkit.crowds import simulated
from testkit.planted import HONEST, honest_crowd
from tests.analysis.crowds import make_crowd

FOILS = HONEST["4 classes, hard, own foils"]


def test_the_likelihood_is_that_of_an_urn() -> None:
    crowd = make_crowd([0, 0, 0, 0, 2], [0, 1, 2, 3, 0], [1, 0, 1, 1, 0], 3, 4, 2)
    chance = np.random.default_rng(0).uniform(0.1, 0.9, (5, 2))
    for eta in (0.0, 0.3):
        found = Evidence(crowd, np.log(chance)).log(eta)
        for c in range(2):
            ones, zero = chance[[0, 2, 3], c], chance[1, c]
            mean = ones.prod() ** (1 / 3)
            drawn = [(1 - eta) * mean + eta * k for k in range(3)]
            assert found[0, c] == pytest.approx(np.log(np.prod(drawn) * (1 - eta) * zero))
            assert found[2, c] == pytest.approx(np.log((1 - eta) * chance[4, c]))
        assert np.isnan(found[1]).all()
    product = np.log(chance[:4]).sum(0)
    assert Evidence(crowd, np.log(chance)).log(0.0)[0] == pytest.approx(product)


def test_repeated_labels_never_make_sure() -> None:
    labels = np.ones(400, int)
    crowd = make_crowd(np.zeros(400, int), np.arange(400), labels, 1, 400, 2)
    told = Evidence(crowd, np.log(np.tile([0.4, 0.6], (400, 1))))
    independent, dependent = (told.beliefs(eta, np.zeros(2))[0, 1] for eta in (0.0, 0.3))
    assert independent > 1 - 1e-12
    assert 0.6 < dependent < 0.97


def test_eta_is_the_dependence_that_the_beliefs_leave() -> None:
    crowd = honest_crowd(3, **FOILS)
    found = peer_beliefs(crowd, analysis.resolve_reference(crowd, "dawid-skene"))
    assert found.dependence > 0.05
    assert estimate_dependence(crowd, found.held_out) == pytest.approx(found.dependence, abs=5e-3)


def test_workers_whose_labels_are_copied_within_a_task_agree_beyond_what_they_explain() -> None:
    rng = np.random.default_rng(5)
    n_tasks, per_task = 2000, 5
    gold, task = rng.integers(3, size=n_tasks), np.repeat(np.arange(n_tasks), per_task)
    worker = np.tile(np.arange(per_task), n_tasks)

    def given(n: int) -> IntArray:
        """Labels of tasks 0 … of which 70 % are right."""
        return np.where(rng.random(n) < 0.7, gold[:n], (gold[:n] + rng.integers(1, 3, n)) % 3)

    look = given(n_tasks)[task]
    own = np.stack([given(n_tasks) for _ in range(per_task)], 1).ravel()
    label = np.where(rng.random(len(task)) < 0.6, look, own)
    shared, honest = (make_crowd(task, worker, labels, n_tasks, per_task, 3) for labels in (label, own))
    truth = np.eye(3)[gold]
    assert estimate_dependence(shared, truth) == pytest.approx(0.36, abs=0.04)  # both follow the look: 0.6²
    assert estimate_dependence(honest, truth) < 0.01


def test_a_crowd_without_mistakes_has_no_dependence() -> None:
    task, worker = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    crowd = make_crowd(task, worker, task % 2, 60, 6, 2)
    found = analysis.task_verdicts(crowd, "dawid-skene")
    assert found.dependence < 1e-3
    assert found.in_doubt < 0.01


def test_as_many_labels_are_wrong_as_expected() -> None:
    wrong = expected = 0.0
    for seed in range(40, 46):
        crowd = honest_crowd(seed, **FOILS)
        found = analysis.task_verdicts(crowd, "auto")
        wrong, expected = wrong + (found.label != crowd.gold).sum(), expected + found.in_doubt
    assert 0.6 < expected / wrong < 1.2  # 0.30 if labels are taken as independent given the class
    independent = simulated("large", 3)
    found = analysis.task_verdicts(independent, "auto")
    assert found.in_doubt / (found.label != independent.gold).sum() == pytest.approx(1, abs=0.15)


def test_labels_that_are_independent_have_no_dependence() -> None:
    crowds = [honest_crowd(seed, difficulty=0.0) for seed in range(4)]
    assert np.mean([analysis.task_verdicts(crowd, "auto").dependence for crowd in crowds]) < 0.03


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
