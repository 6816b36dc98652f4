"""Planted attacks are found, by all labels and by the others' alone; honest crowds and odd ones are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdcore import DataError, SettingError, analysis, read_dataset
from crowdcore.analysis.coordinated.copying import AgreementByOthers, agreement_by_others
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal
from testkit.planted import ATTACKED, attacked_crowd, caught, honest_crowd, own_confusions
from tests.enumerated_tasks import N_TASKS, N_WORKERS, C, chance, random_tasks, states

SPARSE = ATTACKED["4 classes, sparse"]


@pytest.mark.parametrize("reference", ["gold", "majority-vote", "dawid-skene"])
@pytest.mark.parametrize("kind", ["4 classes, sparse", "2 classes, sparse"])
def test_copiers_are_one_group_and_nobody_else_is_in_it(kind: str, reference: str) -> None:
    crowd = attacked_crowd(3, "copy", 3, 1.0, **ATTACKED[kind])
    (group,) = analysis.coordinated_workers(crowd, reference).groups
    assert group.members.tolist() == [0, 1, 2]
    assert group.adjusted <= 0.05


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("attack", ["push", "imitate"])
def test_who_makes_the_same_mistake_is_no_group_for_that(attack: str, reference: str) -> None:
    crowd = attacked_crowd(1, attack, 4, 0.9, **SPARSE)
    assert analysis.coordinated_workers(crowd, reference).groups == ()
    assert analysis.worker_verdicts(crowd, reference).guideline.cells.any() or attack == "imitate"


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
    crowd = attacked_crowd(2, "copy", 4, 0.9, **SPARSE)
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
    a, b = group.pushed[0, :2].tolist()
    pushed = {task for task, worker, label in rows(crowd) if worker < 4 and label == b and crowd.gold[task] == a}
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
    crowd = replace(attacked_crowd(1, "copy", 3, 0.9, **SPARSE), gold=None)
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
        analysis.coordinated_workers(replace(crowd, gold=None), "gold")


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


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2)])
def test_a_pair_is_held_against_the_enumeration_without_it(one: int, other: int) -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    agreed = alike = 0
    literal, least = np.zeros(5), max(0.06 / N_TASKS, 0.001 / C)
    for i in range(N_TASKS):
        both, p_one, p_other, classes = np.zeros(C), np.zeros(C), np.zeros(C), np.zeros(C)
        for p, z, d, foil in states(tasks, model, i, (one, other)):
            classes[z] += p
            for b in range(C):
                x, y = (chance(model, r, b, z, d, None if foil < 0 else foil) for r in (one, other))
                both[b], p_one[b], p_other[b] = both[b] + p * x * y, p_one[b] + p * x, p_other[b] + p * y
        both = np.maximum(both, least)
        ratio = np.log(0.5 + 0.5 * np.sqrt(np.maximum(p_one * p_other, both**2)) / both)
        values, shares = np.append(ratio, np.log(0.5)), np.append(both, 1 - both.sum())
        mean, equal = values @ shares, label[i, one] == label[i, other]
        likely = classes.argmax()
        agreed, alike = agreed + equal, alike + (equal and label[i, one] != likely)
        seen = ratio[label[i, one]] if equal else np.log(0.5)
        literal += (
            *(both.sum(), both.sum() - both[likely], seen - mean),
            *((shares * (values - mean) ** power).sum() for power in (2, 3)),
        )
    counts, moments = np.zeros((1, 3), np.int64), np.zeros((1, 5))
    by_worker, start = np.argsort(tasks[1], kind="stable"), np.arange(N_WORKERS + 1) * N_TASKS
    task = np.repeat(np.arange(N_TASKS), N_WORKERS)
    fill_pairs(0, 1, np.array([one]), np.array([other]), by_worker, start, task, tasks, model, counts, moments)
    assert counts[0].tolist() == [N_TASKS, agreed, alike]
    assert moments[0] == pytest.approx(literal, rel=1e-9)


def by_everybody(crowd: CrowdDataset) -> AgreementByOthers:
    one, other = np.triu_indices(crowd.n_workers, 1)
    return agreement_by_others(crowd, np.ones(crowd.n_workers, bool), one, other)


def test_names_and_repeats_change_nothing() -> None:
    crowd = honest_crowd(3, n_tasks=60, n_workers=6, foils=0.5)
    found = by_everybody(crowd)
    classes = np.array([2, 0, 3, 1])
    renamed = by_everybody(replace(crowd, label=classes[crowd.label]))
    assert renamed.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert renamed.alike.tolist() == found.alike.tolist()
    again = replace(
        crowd,
        task=np.append(crowd.task, 59),
        worker=np.append(crowd.worker, crowd.worker[-1]),
        extra=None,
        label=np.append(crowd.label, 0),
    )
    assert by_everybody(again).p_value.tolist() == found.p_value.tolist()


def test_able_workers_who_contradict_a_foil_that_won_the_vote_agree_no_more_than_expected() -> None:
    rng, least = np.random.default_rng(11), []
    for _ in range(10):
        crowd = unequal(PAIRS["20 workers, 200 × 20, 8 classes"], TASKS["unequal, foils"], rng)
        least.append(np.nanmin(by_everybody(crowd).p_value) * 190)
    assert np.mean(np.array(least) <= 0.05) <= 0.1


def test_copiers_who_won_the_vote_among_foils_agree_more_than_the_others_explain() -> None:
    crowd = attacked_crowd(20001, "copy", 8, 0.9, **ATTACKED["4 classes, dense, foils"])
    one, other = np.triu_indices(8, 1)
    found = agreement_by_others(crowd, np.arange(crowd.n_workers) >= 8, one, other)
    assert (found.p_value < 1e-10).all()
    assert (found.alike >= 2 * found.expected_alike).mean() > 0.9
