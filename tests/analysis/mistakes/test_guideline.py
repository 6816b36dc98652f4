"""Mistakes of the guideline: planted ones are found, leans of graders and teams on tasks of their own are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore import exhibits
from crowdcore.exhibits import verdicts
from testkit import known_truth
from testkit.known_truth import Known


def cells(known: Known, reference: str) -> list[tuple[int, int]]:
    of = exhibits.view((known if reference == "gold" else known.without_gold()).dataset, reference)
    return [(int(a), int(b)) for a, b in np.argwhere(verdicts.guideline_cells(of))]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_strict_and_lenient_graders_make_no_mistake_of_the_guideline(reference: str) -> None:
    kinds = ({}, {"n_tasks": 200, "per_task": 20})
    crowds = [known_truth.graders(np.random.default_rng([1, seed]), **kind) for kind in kinds for seed in range(4)]
    assert not [cell for known in crowds for cell in cells(known, reference)]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_a_mistake_between_neighbouring_grades_is_found_with_and_without_leans(reference: str) -> None:
    for seed in range(3):
        known, rng = known_truth.guideline(np.random.default_rng(seed)), np.random.default_rng(seed)
        assert (0, 1) in cells(replace(known, dataset=replace(known.dataset, classes=tuple("12345"))), reference)
        graded = known_truth.graders(rng, n_tasks=600)
        ds, carriers = graded.dataset, np.arange(20) < 7
        misled = carriers[ds.worker] & (graded.true[ds.task] == 2) & (rng.random(ds.n_annotations) < 0.9)
        label = np.where(misled, 1, ds.label).astype(np.int32)
        found = cells(replace(graded, dataset=replace(ds, label=label)), reference)
        assert found == [(2, 1)] if reference == "gold" else found in ([], [(2, 1)])


def test_teams_whose_tasks_differ_make_no_mistake_of_the_guideline() -> None:
    crowds = [known_truth.teams(np.random.default_rng([1, seed])) for seed in range(20)]
    assert sum(bool(cells(known, "majority-vote")) for known in crowds) <= 3


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_of_two_classes_a_guideline_is_found_and_readiness_for_one_class_is_none(reference: str) -> None:
    for seed in range(3):
        rng, able = np.random.default_rng(seed), {"n_tasks": 400, "per_task": 6, "skill": (0.85, 0.95), "even": True}
        known = known_truth.honest(rng, n_workers=24, n_classes=2, **able)
        ds, half = known.dataset, rng.random(known.dataset.n_annotations) < 0.5
        misled = half & (ds.worker < 8) & (known.true[ds.task] == 0)
        leaning = np.where(half & (ds.worker < 16), ds.worker < 8, ds.label)
        for label, shared in (
            (np.where(misled, 1, ds.label), [(0, 1)]),
            (np.where(ds.worker < 4, 1, ds.label), []),
            (leaning, []),
        ):
            assert cells(replace(known, dataset=replace(ds, label=label.astype(np.int32))), reference) == shared
