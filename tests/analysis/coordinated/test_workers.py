"""Planted attacks are found with what they push and change; honest crowds and odd ones are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdcore import DataError, SettingError, analysis, read_dataset
from crowdcore.analysis.coordinated.groups import BEYOND, PUSH, REST
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.verdicts import reasons
from testkit.planted import ATTACKED, attacked_crowd, caught, honest_crowd, own_confusions

SPARSE = ATTACKED["4 classes, sparse"]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize(("attack", "by"), [("copy", BEYOND), ("push", PUSH), ("imitate", PUSH)])
def test_each_attack_is_found_and_nobody_else(attack: str, by: str, reference: str) -> None:
    crowd = attacked_crowd(1, attack, 3, 0.9, **SPARSE)
    found = analysis.coordinated_workers(crowd, reference)
    assert [group.members.tolist() for group in found.groups] == [[0, 1, 2]]
    assert by in found.groups[0].found_by
    assert found.groups[0].adjusted <= 0.05
    if attack == "push":
        assert found.groups[0].pushed[0, :2].tolist() == [0, 1]


def test_copiers_who_become_the_truth_are_found_without_it() -> None:
    crowd = attacked_crowd(3, "copy", 3, 1.0, **ATTACKED["2 classes, sparse"])
    found = analysis.coordinated_workers(crowd, "dawid-skene")
    assert caught(found, 3) == (1.0, False)
    assert found.groups[0].found_by == (BEYOND, REST)
    assert any("With two classes" in note for note in found.notes)


def test_honest_workers_are_not_drawn_in_where_attackers_win_the_vote_among_foils() -> None:
    for seed in (20003, 20005):  # eight of twenty imitate the common confusion: by the vote honest ones err alike
        crowd = replace(attacked_crowd(seed, "imitate", 8, 0.9, **ATTACKED["4 classes, dense, foils"]), gold=None)
        found = analysis.worker_verdicts(crowd, "dawid-skene")
        assert [group.members.tolist() for group in found.groups] == [list(range(8))]
        assert not found.together[8:].any()
        assert (found.copies.partner[8:] < 0).all()


def test_a_pair_that_only_the_others_vote_gives_away_is_told_as_one() -> None:
    crowd = replace(attacked_crowd(20000, "copy", 8, 0.9, **ATTACKED["4 classes, dense, foils"]), gold=None)
    found = analysis.worker_verdicts(crowd, "majority-vote")
    for r in np.flatnonzero(found.together):
        assert "One of " in reasons(found)[r] or "Agrees with " in reasons(found)[r]


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_honest_crowds_are_left_alone(reference: str) -> None:
    crowds = [honest_crowd(11), honest_crowd(12, n_tasks=150, per_task=20, foils=0.7), own_confusions(13)]
    for crowd in crowds:
        found = analysis.coordinated_workers(crowd, reference)
        assert found.groups == ()
        assert found.frame().empty and found.changed_labels().empty


def test_two_groups_stay_two() -> None:
    crowd = simulate.copy_leader(honest_crowd(4, **SPARSE), [1], 0, 1.0, 4)
    crowd = simulate.copy_leader(crowd, [8], 7, 1.0, 5)
    members = [group.members.tolist() for group in analysis.coordinated_workers(crowd).groups]
    assert sorted(members) == [[0, 1], [7, 8]]


def test_what_changes_without_a_group_is_counted_literally() -> None:
    crowd = attacked_crowd(2, "push", 4, 0.9, **SPARSE)
    (group,) = analysis.coordinated_workers(crowd).groups
    of, rest = group.influence, crowd.without_workers(group.members)
    before, after = (vote(one) for one in (crowd, rest))
    changed = [i for i in range(crowd.n_tasks) if after[i] >= 0 and before[i] != after[i]]
    assert of.changed.tolist() == changed
    assert of.become_right == sum(after[i] == crowd.gold[i] for i in changed) > 0
    assert of.become_wrong == sum(before[i] == crowd.gold[i] for i in changed)
    common, without = (shares(one) for one in (crowd, rest))
    assert of.common == pytest.approx(common)
    assert of.common_without == pytest.approx(without)
    assert of.row_difference == pytest.approx(np.abs(common - without).sum(1) / 2)
    assert of.largest_cell[0] == 0
    pushed = {task for task, worker, label in rows(crowd) if worker < 4 and label == 1 and crowd.gold[task] == 0}
    assert group.pushed[0, 2] == len(pushed)


def rows(crowd: CrowdDataset) -> list[tuple[int, int, int]]:
    return list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True))


def vote(crowd: CrowdDataset) -> list[int]:
    """Majority vote, ties to the lowest class."""
    labels = [[0] * crowd.n_classes for _ in range(crowd.n_tasks)]
    for task, _, label in rows(crowd):
        labels[task][label] += 1
    return [counts.index(max(counts)) if any(counts) else -1 for counts in labels]


def shares(crowd: CrowdDataset) -> np.ndarray:
    counts = np.zeros((crowd.n_classes, crowd.n_classes))
    for task, _, label in rows(crowd):
        counts[crowd.gold[task], label] += 1
    return counts / counts.sum(1, keepdims=True)


def test_without_gold_nobody_says_what_becomes_right() -> None:
    crowd = replace(attacked_crowd(1, "push", 3, 0.9, **SPARSE), gold=None)
    found = analysis.coordinated_workers(crowd, "majority-vote")
    assert [group.members.tolist() for group in found.groups] == [[0, 1, 2]]
    assert found.frame()[["become right", "become wrong"]].isna().all(axis=None)
    assert any("not refitted" in note for note in found.notes)


def test_workers_in_another_order_make_the_same_groups() -> None:
    crowd = attacked_crowd(6, "copy", 3, 0.9, **SPARSE)
    place = np.random.default_rng(0).permutation(crowd.n_workers)
    moved = replace(crowd, worker=place[crowd.worker], worker_ids=crowd.worker_ids[np.argsort(place)])
    first, second = (analysis.coordinated_workers(one).frame() for one in (crowd, moved))
    assert first.drop(columns=["p_value", "adjusted p"]).equals(second.drop(columns=["p_value", "adjusted p"]))
    assert first["p_value"].to_numpy() == pytest.approx(second["p_value"].to_numpy(), rel=1e-6)


def test_odd_crowds_are_no_trouble() -> None:
    crowd = honest_crowd(7, n_tasks=30, n_workers=3, per_task=2)
    for odd in (
        replace(crowd, classes=("only",), label=np.zeros_like(crowd.label), gold=np.zeros_like(crowd.gold)),
        replace(crowd, label=np.zeros_like(crowd.label)),
        crowd.where(crowd.worker == 0),
        replace(crowd, gold=np.where(np.arange(30) < 3, crowd.gold, -1)),
    ):
        for reference in ("gold", "majority-vote"):
            assert analysis.coordinated_workers(odd, reference).groups == ()


def test_more_than_half_of_a_crowd_is_no_group_and_the_notes_say_so() -> None:
    crowd = simulate.copy_leader(honest_crowd(4, n_tasks=400, n_workers=3, per_task=3), [1], 0, 1.0)
    found = analysis.coordinated_workers(crowd)
    assert found.groups == ()
    assert any("more than half" in note for note in found.notes)


@pytest.mark.parametrize("name", ["labelme", "music"])
def test_the_real_crowds_hold_no_group(name: str, data_folder: Path) -> None:
    crowd = read_dataset(data_folder / name)
    for reference in ("gold", "majority-vote"):
        assert analysis.coordinated_workers(crowd, reference).groups == ()


def test_what_cannot_be_is_refused() -> None:
    crowd = honest_crowd(0, n_tasks=20)
    with pytest.raises(DataError, match="tags tokens"):
        analysis.coordinated_workers(simulate.tags(n_sentences=5, n_workers=4))
    with pytest.raises(SettingError, match="lie between 0 and 1"):
        analysis.coordinated_workers(crowd, level=0)
    with pytest.raises(DataError, match="no gold"):
        analysis.coordinated_workers(replace(crowd, gold=None))


@pytest.mark.parametrize(("size", "rate"), [(5, 0.9), (3, 0.5)])
def test_copiers_among_foils_are_found_without_gold(size: int, rate: float) -> None:
    found = [
        caught(analysis.coordinated_workers(crowd, "majority-vote"), size)
        for crowd in (attacked_crowd(s, "copy", size, rate, **ATTACKED["4 classes, dense, foils"]) for s in range(5))
    ]
    assert np.mean([share for share, _ in found]) >= 0.8
    assert not any(honest for _, honest in found)


def test_half_copies_of_two_classes_are_found_without_gold() -> None:
    crowds = [attacked_crowd(s, "copy", 2, 0.5, **ATTACKED["2 classes, sparse"]) for s in range(6)]
    found = [caught(analysis.coordinated_workers(crowd, "majority-vote"), 2) for crowd in crowds]
    assert np.mean([share for share, _ in found]) >= 0.5
    assert not any(honest for _, honest in found)
